"""The fast path gives the same as expat and the Normaliser, and is used where possible.

PLAIN_DOCUMENTS=100000 in the environment sets the number of random documents, instead of some hundred.
"""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING, Any
from zlib import crc32

import attrs
import plain_documents
import pytest
from calls import calls_of
from corpus_cases import Case, cases_by_group
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

import sitemap_reader as sr
from sitemap_reader.parser import fast_scanner as plain
from sitemap_reader.testing import DAMAGES, damaged

if TYPE_CHECKING:
    from collections.abc import Iterable


HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
ENTRY = b"""  <url>
    <loc>https://example.com/shop/%d?a=1&amp;b=2</loc>
    <lastmod>2026-11-20T10:20:%02d+00:00</lastmod>
    <changefreq>daily</changefreq>
    <priority>0.5</priority>
  </url>
"""
URL = "https://example.com/shop/sitemap.xml"
WINDOWS = (512, 1024, plain.WINDOW_BYTES)


def entries(count: int, entry: bytes = ENTRY) -> bytes:
    return HEAD + b"".join(entry % (number, number % 60) for number in range(count)) + b"</urlset>\n"


def read(pieces: Iterable[bytes], *, is_plain: bool, **options: Any) -> list[Any]:
    """The items and the outcome."""
    parser = sr.SitemapParser(**options, _plain=is_plain)
    items: list[Any] = []
    for piece in pieces:
        items += parser.feed(piece)
        if parser.stopped:
            break
    return [*items, *parser.close(), parser.outcome]


# Codes about the bytes taken, not about what was read.
OF_BYTES = frozenset({"S07", "F07", "F08"})


def check_same(pieces: list[bytes], **options: Any) -> None:
    check_equal(read(pieces, is_plain=True, **options), read(pieces, is_plain=False, **options))


def check_equal(on: list[Any], off: list[Any]) -> None:
    """If reading stops early, the number of bytes taken depends on how expat is fed."""
    if not off[-1].complete and on[-1].bytes_wire != off[-1].bytes_wire:
        on, off = map(of_what_was_read, (on, off))
    assert on == off


def of_what_was_read(items: list[Any]) -> list[Any]:
    *found, outcome = items
    reported = {code: count for code, count in outcome.problems.items() if code not in OF_BYTES}
    samples = tuple(problem for problem in outcome.samples if problem.code not in OF_BYTES)
    outcome = attrs.evolve(outcome, bytes_wire=0, bytes_decoded=0, sha256=None, problems=reported, samples=samples)
    return [*(item for item in found if not (isinstance(item, sr.Problem) and item.code in OF_BYTES)), outcome]


@pytest.fixture
def plain_lines(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Records the lines of the plain entries found from here on."""
    found: list[int] = []
    block = plain._block

    def noted(*requested: Any) -> plain.EntryBlock | None:
        given = block(*requested)
        found.extend(given.lines if given else ())
        return given

    monkeypatch.setattr(plain, "_block", noted)
    return found


# --- the same with it and without ---


def fallback(body: bytes, url: str | None, /, *, limits: sr.Limits) -> sr.pipeline.FallbackResult:
    """Replaces feedparser: one link that identifies the given bytes."""
    return sr.pipeline.FallbackResult(((f"https://example.com/{len(body)}/{crc32(body)}", None),))


@pytest.mark.parametrize("some", cases_by_group().values(), ids=cases_by_group())
def test_cases_of_the_corpus_give_the_same(some: list[Case], monkeypatch: pytest.MonkeyPatch) -> None:
    for case in some:
        options = {**case.options, "feed_fallback": fallback}
        for size in (len(case.body) or 1, 61):
            pieces = [case.body[at : at + size] for at in range(0, len(case.body), size)]
            off = read(pieces, is_plain=False, **options)
            for window in WINDOWS:
                monkeypatch.setattr(plain, "WINDOW_BYTES", window)
                check_equal(read(pieces, is_plain=True, **options), off)


def check_made_up(seed: int, body: bytes | None = None) -> None:
    dice = Random(seed)  # noqa: S311
    usual, plain.WINDOW_BYTES = plain.WINDOW_BYTES, dice.choice(WINDOWS)
    try:
        made = plain_documents.document(dice) if body is None else body
        check_same(plain_documents.cuts(dice, made), **plain_documents.options(dice))
    finally:
        plain.WINDOW_BYTES = usual


@given(st.integers(0, 2**32))
@settings(max_examples=examples(400, 40))
def test_made_up_documents_give_the_same(seed: int) -> None:
    check_made_up(seed)


@pytest.mark.parametrize("seed", range(int(os.environ.get("PLAIN_DOCUMENTS", "0")) // 1000))
def test_a_thousand_more_give_the_same(seed: int) -> None:
    for each in range(1000 * seed, 1000 * (seed + 1)):
        check_made_up(each)


@given(st.sampled_from([*DAMAGES]), st.integers(0, 2**32))
@settings(max_examples=examples(400, 40))
def test_damaged_documents_give_the_same(kind: str, seed: int) -> None:
    check_made_up(seed, damaged(kind, seed=seed).body)


# --- rules that it must obey ---


@pytest.mark.parametrize("dots", ["..", "%2e%2e", "%2E.", ".%2e"])
def test_a_url_that_leaves_the_folder_by_dots_is_out_of_scope(dots: str) -> None:
    body = entries(300).replace(b"/shop/7?", f"/shop/{dots}/7?".encode())
    check_same([body], url=URL, scope="protocol")
    *_, outcome = read([body], is_plain=True, url=URL, scope="protocol")
    assert outcome.dropped == {"path": 1}


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 7, 150, 299, 300])
def test_the_most_entries_may_end_in_a_block(limit: int) -> None:
    options = {"url": URL, "limits": sr.Limits(max_entries=limit)}
    check_same([entries(300)], **options)
    *items, problem, outcome = read([entries(300)], is_plain=True, **options)
    if limit < 300:
        assert (len(items), problem.code, problem.line) == (limit, "S16", 3 + 6 * limit)
        assert (outcome.entries, outcome.complete) == (limit, False)


@pytest.mark.parametrize("spare", [-1, 0, 1])
@pytest.mark.parametrize("name", ["max_entry_bytes", "max_token_bytes"])
def test_an_entry_behind_plain_ones_has_as_many_bytes_as_any(name: str, spare: int) -> None:
    limit = 2 * plain.WINDOW_BYTES
    gap = b" " * (limit - len(b"</url><url><loc>https://example.com/shop/a</loc>") + spare)
    body = entries(5).replace(b"</urlset>", b"<url><loc>https://example.com/shop/a</loc>" + gap + b"</url></urlset>")
    check_same([body], url=URL, limits=sr.Limits(**{name: limit}))


@pytest.mark.parametrize("break_", [b"\n", b"\r\n", b"\r", b"", b" \t", b"\n\r", b"\n\n"])
def test_lines_are_counted_as_expat_counts_them(break_: bytes) -> None:
    body = entries(200).replace(b"\n", break_)
    body = body[:-30] + b"<x>&</x>" + body[-30:]
    check_same([body], url=URL)
    check_same([body[:7000], body[7000:]], url=URL)


def test_raw_ampersand_problem_shows_the_text_before_it() -> None:
    one = b"<url><loc>https://example.com/shop/%d</loc><lastmod>2026-11-%02d</lastmod></url>"
    body = entries(40, one).replace(b"/7<", b"/7?a&b=c<").replace(b"/21<", b"/21?a&b=c&d<")
    check_same([body], url=URL)
    check_same([body.replace(b"</url>", b"</url><!-- & -->")], url=URL)


# --- use of the fast path ---


@pytest.mark.parametrize(
    "entry",
    [
        ENTRY,
        ENTRY.replace(b"\n", b""),
        ENTRY.replace(b"\n", b"\r\n"),
        ENTRY.replace(b"  ", b"\t"),
        ENTRY.replace(b"<loc>", b"<loc>\n\t").replace(b"</loc>", b" </loc>"),
        ENTRY.replace(b"?a=1&amp;b=2", b"%%20caf%%C3%%A9.html"),
        b"<url><loc>https://example.com/shop/%d</loc><lastmod>2026-11-%02d</lastmod></url>",
        b"<url><loc>http://EXAMPLE.com/shop/%d#a</loc><lastmod>soon %d</lastmod></url>",
    ],
)
def test_plain_entries_take_the_plain_path(entry: bytes, plain_lines: list[int]) -> None:
    body = entries(1000, entry)
    pieces = [body[at : at + 65_536] for at in range(0, len(body), 65_536)]
    check_same(pieces, url=URL)
    assert len(plain_lines) >= 1000 - 2 * len(pieces)


def test_text_between_entries_keeps_the_fast_path(plain_lines: list[int]) -> None:
    body = entries(1000).replace(b"shop/7", b"shop/&7").replace(b"shop/5", b"shop/<!-- a -->5")
    check_same([body], url=URL)
    assert len(plain_lines) >= 700


def test_fast_path_is_hardly_tried_where_no_entry_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    block = plain._block
    monkeypatch.setattr(plain, "_block", lambda *given: tried.append(len(given[0])) or block(*given))
    check_same([entries(2000, b"<url><loc>https://example.com/shop/%d</loc><x>%d</x></url>")], url=URL)
    assert 0 < len(tried) < 15


def test_little_is_scanned_twice_where_one_in_five_entries_is_not_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    block = plain._block
    monkeypatch.setattr(plain, "_block", lambda *given: tried.append(len(given[0])) or block(*given))
    five = b"<url><loc>https://e.com/%d</loc></url>" * 4 + b"<url><loc>https://e.com/%d</loc><z:a/><lastmod/></url>"
    body = b"<urlset>" + five.replace(b"%d", b"a") * 1000 + b"</urlset>"
    check_same([body], url=URL)
    assert sum(tried) < 12 * len(body)


# The calls of Python and C functions for an entry with four fields, in CPython 3.11. If a change needs more, replace
# the number by that of the failed test.
CALLS = 2.6


def test_a_plain_entry_takes_few_calls() -> None:
    short, long = (_calls(entries(count)) for count in (2000, 12_000))
    assert (long - short) / 10_000 <= 1.1 * CALLS


def _calls(body: bytes) -> int:
    pieces = [body[at : at + 65_536] for at in range(0, len(body), 65_536)]
    parser = sr.SitemapParser(url=URL, scope="protocol")

    def feed() -> None:
        for piece in pieces:
            parser.feed(piece)

    calls = calls_of(feed)
    parser.close()
    return calls
