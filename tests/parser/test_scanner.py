"""The compiled scanner gives the same as expat and the Normaliser, and is used where possible."""

from __future__ import annotations

from html.entities import name2codepoint
from random import Random
from types import ModuleType
from typing import TYPE_CHECKING, Any
from zlib import crc32

import extension_documents
import feed_documents
import plain_documents
import pytest
from calls import calls_of
from corpus_cases import Case, cases_by_group
from generated import DAMAGES, damaged
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kit import parse, pieces, without_bytes_taken
from tiers import examples, needs_scanner

import sitemap_reader as sr
from sitemap_reader.parser import FastPath

if TYPE_CHECKING:
    from sitemap_reader.parser.scanner import ScannedEntries

pytestmark = needs_scanner

HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
ENTRY = b"""  <url>
    <loc>https://example.com/shop/%d?a=1&amp;b=2</loc>
    <lastmod>2026-11-20T10:20:%02d+00:00</lastmod>
    <changefreq>daily</changefreq>
    <priority>0.5</priority>
  </url>
"""
URL = "https://example.com/shop/sitemap.xml"
DECLARED = "".join(f' xmlns:{prefix}="{name}"' for prefix, name in extension_documents.NAMESPACES.items())
ROOT = HEAD.replace(b"<urlset", b"<urlset" + DECLARED.encode())
LINK = b'<xhtml:link rel="alternate" hreflang="de" href="https://example.com/de?a=1&amp;b=2"/>'
IMAGE = b"<image:image> <image:loc>https://example.com/a.jpg</image:loc> <image:title>A</image:title> </image:image>"
NEWS = (
    b"<news:news><news:publication><news:name>N</news:name><news:language>de</news:language></news:publication>\n"
    b"<news:title>\xc3\x9cber</news:title><news:publication_date>2026-11-20T10:20:30Z</news:publication_date></news:news>"
)
VIDEO = (
    b"<video:video><video:title>T</video:title><video:duration>60</video:duration><video:tag>a</video:tag>"
    b'<video:tag>b</video:tag><video:price currency="EUR">1.5</video:price></video:video>'
)


def entries(count: int, entry: bytes = ENTRY) -> bytes:
    return HEAD + b"".join(entry % (number, number % 60) for number in range(count)) + b"</urlset>\n"


def with_extensions(extensions: bytes, count: int = 400) -> bytes:
    entry = b"<url><loc>https://example.com/shop/%d</loc><lastmod>2026-11-20</lastmod>\n" + extensions + b"</url>"
    return ROOT + b"".join(entry % number for number in range(count)) + b"</urlset>"


def check_same(body: bytes | list[bytes], size: int = 0, **options: Any) -> None:
    on, off = (parse(body, size, scans=scans, **options).items for scans in (True, False))
    # If reading stops early, the number of bytes taken depends on how expat is fed.
    if on != off:
        assert without_bytes_taken(on) == without_bytes_taken(off)


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Records the lines of the entries that are scanned from here on; 0 for an attempt that finds none."""
    found: list[int] = []
    block = FastPath._block

    def noted(self: FastPath, data: bytes, start: int) -> ScannedEntries | None:
        given = block(self, data, start)
        found.extend(map(given.line, range(len(given))) if given else [0])
        return given

    monkeypatch.setattr(FastPath, "_block", noted)
    return found


# --- the same with it and without ---


def fallback(body: bytes, url: str | None, /, *, limits: sr.Limits) -> sr.pipeline.FallbackResult:
    """Replaces feedparser: one link that identifies the given bytes."""
    return sr.pipeline.FallbackResult(((f"https://example.com/{len(body)}/{crc32(body)}", None),))


@pytest.mark.slow
@pytest.mark.parametrize("some", cases_by_group().values(), ids=cases_by_group())
def test_cases_of_the_corpus_give_the_same(some: list[Case]) -> None:
    for case in some:
        options = {**case.options, "feed_fallback": fallback}
        for size in (len(case.body) or 1, 61, 1000):
            check_same(case.body, size, **options)


def check_made_up(seed: int, documents: ModuleType, body: bytes | None = None) -> None:
    dice = Random(seed)  # noqa: S311
    made = documents.document(dice) if body is None else body
    check_same(plain_documents.cuts(dice, made), **documents.options(dice))


DOCUMENTS = [plain_documents, extension_documents, feed_documents]


@pytest.mark.slow
@pytest.mark.parametrize("documents", DOCUMENTS)
@given(st.integers(0, 2**32))
@example(1587186)  # cut between the two characters of a line break
@example(14676)  # a name that is read again, in a namespace that another name has shown to be wrong
@settings(max_examples=examples(400, 40))
def test_made_up_documents_give_the_same(documents: ModuleType, seed: int) -> None:
    check_made_up(seed, documents)


@pytest.mark.slow
@given(st.sampled_from([*DAMAGES]), st.integers(0, 2**32))
@settings(max_examples=examples(400, 40))
def test_damaged_documents_give_the_same(kind: str, seed: int) -> None:
    check_made_up(seed, plain_documents, damaged(kind, seed=seed).body)


# --- rules that it must obey ---


@pytest.mark.parametrize("dots", ["..", "%2e%2e", "%2E.", ".%2e"])
def test_a_url_that_leaves_the_folder_by_dots_is_out_of_scope(dots: str) -> None:
    body = entries(300).replace(b"/shop/7?", f"/shop/{dots}/7?".encode())
    check_same(body, url=URL, scope="protocol")
    assert parse(body, url=URL, scope="protocol").outcome().dropped == {"path": 1}


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 7, 150, 299, 300])
def test_the_most_entries_may_end_in_a_block(limit: int) -> None:
    options = {"url": URL, "limits": sr.Limits(max_entries=limit)}
    check_same(entries(300), **options)
    *items, problem, outcome = parse(entries(300), **options).items
    if limit < 300:
        assert (len(items), problem.code, problem.line) == (limit, "S16", 3 + 6 * limit)
        assert (outcome.entries, outcome.complete) == (limit, False)


@pytest.mark.parametrize("spare", [-1, 0, 1])
@pytest.mark.parametrize("name", ["max_entry_bytes", "max_token_bytes"])
def test_an_entry_behind_plain_ones_has_as_many_bytes_as_any(name: str, spare: int) -> None:
    limit = 2 * 64 * 1024
    gap = b" " * (limit - len(b"</url><url><loc>https://example.com/shop/a</loc>") + spare)
    body = entries(5).replace(b"</urlset>", b"<url><loc>https://example.com/shop/a</loc>" + gap + b"</url></urlset>")
    check_same(body, url=URL, limits=sr.Limits(**{name: limit}))


def test_reading_that_ends_in_front_of_the_limit_of_bytes_reports_no_more() -> None:
    """The damage is found later, as an entry that may be cut is held back."""
    markup = (
        b"</url><![CDATA[<url>\n</url>\n<changefreq><![CDATA[daily]]></changefreq>\n<priority>0.5</priority>\n</url>"
    )
    body = b" " * 4096 + HEAD[39:] + markup + b"<url><loc>https://example.com/shop/29</loc>\n"
    options = {"url": URL, "limits": sr.Limits(max_repairs=0, max_decoded_bytes=len(body) - 1)}
    check_same(body, **options)
    assert "max_repairs" in parse(body, **options).items[-2].message


@pytest.mark.parametrize("break_", [b"\n", b"\r\n", b"\r", b"", b" \t", b"\n\r", b"\n\n"])
def test_lines_are_counted_as_expat_counts_them(break_: bytes) -> None:
    body = entries(200).replace(b"\n", break_)
    body = body[:-30] + b"<x>&</x>" + body[-30:]
    check_same(body, url=URL)
    check_same([body[:7000], body[7000:]], url=URL)


def test_raw_ampersand_problem_shows_the_text_before_it() -> None:
    one = b"<url><loc>https://example.com/shop/%d</loc><lastmod>2026-11-%02d</lastmod></url>"
    body = entries(40, one).replace(b"/7<", b"/7?a&b=c<").replace(b"/21<", b"/21?a&b=c&d<")
    check_same(body, url=URL)
    check_same(body.replace(b"</url>", b"</url><!-- & -->"), url=URL)


@pytest.mark.slow
@pytest.mark.parametrize("place", [b"<loc>https://example.com/shop/%d", b"<changefreq>", b"<priority>", b"daily"])
def test_entities_of_html_are_read_as_by_the_exact_reader(place: bytes) -> None:
    for name in [*name2codepoint, "nbs", "nbspx", "NBSP", "region", "thetasymx", "sup1x"]:
        check_same(entries(4, ENTRY.replace(place, place + f"&{name};".encode())), url=URL)


# --- its use ---


@pytest.mark.parametrize("entry", [
    ENTRY,
    ENTRY.replace(b"\n", b""),
    ENTRY.replace(b"\n", b"\r\n"),
    ENTRY.replace(b"  ", b"\t"),
    ENTRY.replace(b"<loc>", b"<loc>\n\t").replace(b"</loc>", b" </loc>"),
    ENTRY.replace(b"?a=1&amp;b=2", b"%%20caf%%C3%%A9.html"),
    ENTRY.replace(b"?a=1&amp;b=2", "café".encode()),
    ENTRY.replace(b"<loc>", b"<loc ><![CDATA[").replace(b"</loc>", b"]]></loc\n>"),
    b"<url id='%d'><lastmod>2026-11-%02d</lastmod><loc>https://example.com/&#97;</loc></url>",
    b"<url><loc>https://example.com/shop/%d</loc><lastmod>2026-11-%02d</lastmod></url>",
    b"<url><loc>http://EXAMPLE.com/shop/%d#a</loc><lastmod>soon %d</lastmod></url>",
    ENTRY.replace(b"?a=1&amp;b=2", b"?a=1&b=2&eacute;"),
])
def test_plain_entries_are_scanned(entry: bytes, scanned: list[int]) -> None:
    body = entries(1000, entry)
    check_same(body, 65_536, url=URL)
    assert sum(map(bool, scanned)) >= 1000 - 2 * len(pieces(body, 65_536))


@pytest.mark.parametrize("extensions",
                         [LINK, IMAGE, NEWS, VIDEO, b"<mobile:mobile/>", LINK + IMAGE + VIDEO + NEWS + LINK])
def test_entries_with_extensions_are_scanned(extensions: bytes, scanned: list[int]) -> None:
    check_same(with_extensions(extensions), url=URL)
    assert sum(map(bool, scanned)) >= 380


@pytest.mark.parametrize("prefix", [b"", b"s:"])
def test_entries_of_an_index_are_scanned(prefix: bytes, scanned: list[int]) -> None:
    entry = b"<sitemap><loc>https://example.com/%d.xml</loc><lastmod>2026-11-20</lastmod></sitemap>"
    body = (
        b"".join(entry % number for number in range(1000))
        .replace(b"<", b"<" + prefix)
        .replace(b"<" + prefix + b"/", b"</" + prefix)
    )
    name = prefix + b"sitemapindex"
    uri = b"http://www.sitemaps.org/schemas/sitemap/0.9"
    colon = b":s" if prefix else b""
    check_same(b"<" + name + b" xmlns" + colon + b'="' + uri + b'">' + body + b"</" + name + b">", url=URL)
    assert sum(map(bool, scanned)) >= 980


def test_text_between_entries_keeps_the_fast_path(scanned: list[int]) -> None:
    body = entries(1000).replace(b"shop/7", b"shop/&7").replace(b"shop/5", b"shop/<!-- a -->5")
    check_same(body, url=URL)
    assert sum(map(bool, scanned)) >= 700


def test_the_scanner_is_hardly_tried_where_no_entry_is_plain(scanned: list[int]) -> None:
    check_same(entries(2000, b"<url><loc>https://example.com/shop/%d</loc><x>%d</x></url>"), url=URL)
    assert 0 < len(scanned) < 15


# --- extensions ---


def test_a_link_with_an_attribute_twice_is_damage_as_it_is_for_expat() -> None:
    twice = LINK.replace(b"hreflang=", b'hreflang="x" hreflang=', 1)
    assert twice != LINK
    check_same(with_extensions(twice), url=URL)


@pytest.mark.parametrize("extensions", [
    LINK.replace(b"https://example.com", b""),
    IMAGE.replace(b">A<", b">A&#39;s &quot;B&quot;<"),
    NEWS.replace(b"2026", b"soon, 2026"),
    VIDEO.replace(b">60<", b">60000<"),
    b"<x:y>z</x:y>" + IMAGE,
    IMAGE.replace(b">A<", b">a <b>bold</b> text<"),
])
def test_uncommon_extensions_give_the_same(extensions: bytes) -> None:
    body = with_extensions(LINK).replace(LINK, extensions, 3)
    check_same(body, url=URL, extras=True)


@pytest.mark.parametrize("port", ["8٠٨٠", "8٠"])
def test_digits_that_are_not_ascii_make_no_port(port: str) -> None:
    for extensions in (LINK, IMAGE):
        body = with_extensions(extensions)
        odd = extensions.replace(b"https://example.com/", f"https://example.com:{port}/".encode())
        assert odd != extensions
        check_same(body.replace(extensions, odd).replace(odd, extensions, 3), url=URL)


def test_a_name_is_noted_where_it_stands_first() -> None:
    body = with_extensions(IMAGE).replace(b"/300</loc>", b"/300</loc><image:LOC>x</image:LOC>")
    check_same(body, url=URL)
    check_same(body.replace(b"image:title>", b"image:Title>"), url=URL)


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("behind", ["", "<changefreq>daily</changefreq>"])
def test_a_tag_in_an_unclosed_field_counts_for_the_depth(behind: str, depth: int) -> None:
    body = f"<url><loc>{URL}</loc></url><url><loc>{URL}</loc><lastmod>2026-11-20{behind}</url>"
    check_same(f"<urlset>{body * 3}</urlset>".encode(), url=URL, limits=sr.Limits(max_xml_depth=depth))


# --- its cost ---

# The calls of Python and C functions for an entry with four fields, in CPython 3.11. If a change needs more, replace
# the number by that of the failed test.
CALLS = 2.6


def test_a_plain_entry_takes_few_calls() -> None:
    short, long = (_calls(entries(count)) for count in (2000, 12_000))
    assert (long - short) / 10_000 <= 1.1 * CALLS


def _calls(body: bytes) -> int:
    chunks = pieces(body, 65_536)
    parser = sr.SitemapParser(url=URL, scope="protocol")

    def feed() -> None:
        for piece in chunks:
            parser.feed(piece)

    calls = calls_of(feed)
    parser.close()
    return calls


def test_length_of_a_url_in_an_entry_with_another_fault_is_that_of_its_text() -> None:
    """The canonical URL has 3 characters for each byte of the path."""
    entries = "".join(
        f"<url><loc>https://example.com/{text}</loc><lastmod>soon</lastmod></url>" for text in ("a", "é" * 500)
    )
    body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'.encode()
    assert [problem.code for problem in sr.parse(body).problems] == ["D01", "D01"]
