"""Generated faults of a document's content: read alone, in any chunks, and as one child of three.

The corpus has the small ones. Each gives an outcome with the URL and completeness, all entries before the fault, and
complete siblings.
"""

import gzip
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from bombs import BOMBS, CHUNK, FIRST, HEAD, KIB, LAST, TAIL, Bomb, codes, packed
from kit import Reading, Site, index, parse, read

import sitemap_reader as sr

FAULT = "https://example.com/fault.xml"
INDEX = "https://example.com/index.xml"
SIBLINGS = ("https://example.com/before.xml", "https://example.com/behind.xml")


# --- generated: alone, in pieces ---

every_bomb = pytest.mark.parametrize("name", BOMBS)


def assert_is(bomb: Bomb, items: list[Any], outcome: sr.Outcome) -> None:
    """Asserts codes with the URL, the number of entries, the first entry, and completeness."""
    problems = [item for item in items if isinstance(item, sr.Problem)]
    records = [item for item in items if isinstance(item, sr.UrlRecord)]
    assert {problem.code for problem in problems} == bomb.codes
    assert {problem.sitemap for problem in problems} <= {FAULT}
    assert (len(records), outcome.entries, outcome.complete) == (bomb.entries, bomb.entries, bomb.complete)
    if bomb.first:
        assert records[0].loc == "https://example.com/first"
        assert records[0].sitemap == FAULT


@pytest.mark.slow
@every_bomb
def test_fault_is_reported_for_any_chunks(name: str) -> None:
    bomb = BOMBS[name]
    body = b"".join(bomb.chunks())
    whole = sr.parse(body, url=FAULT)
    assert_is(bomb, [*whole.urls, *whole.problems], whole.outcome)
    for size in (1, 7 * KIB, CHUNK) if len(body) < 16 * KIB else (CHUNK,):
        cut = parse(body, size, url=FAULT)
        assert [*cut.of(sr.UrlRecord), *cut.of(sr.Problem)] == [*whole.urls, *whole.problems], size
        assert (cut.outcome().problems, cut.outcome().complete) == (whole.outcome.problems, whole.outcome.complete)


# --- generated: as one child of three ---


def among_siblings(
    chunks: Callable[[], Iterable[bytes]], headers: dict[str, str] | None = None
) -> tuple[list[sr.UrlRecord], sr.Outcome, Reading, Site]:
    """The records and the outcome of a document between two good siblings, which are complete."""
    good = {url: HEAD + b"<url><loc>%s/1</loc></url>" % url.encode() + LAST + TAIL for url in SIBLINGS}
    fault = 200, headers or {}, chunks()
    site = Site({**good, INDEX: index(SIBLINGS[0], FAULT, SIBLINGS[1]), FAULT: fault})
    reading = read(site, INDEX, feed_fallback=None)
    for sibling in SIBLINGS:
        locs = [record.loc for record in reading.of(sr.UrlRecord) if record.sitemap == sibling]
        assert locs == [f"{sibling}/1", "https://example.com/last"]
        assert reading.outcome(sibling).complete
    records = [record for record in reading.of(sr.UrlRecord) if record.sitemap == FAULT]
    return records, reading.outcome(FAULT), reading, site


@pytest.mark.slow
@every_bomb
def test_siblings_are_unaffected_and_the_summary_names_the_partial_document(name: str) -> None:
    bomb = BOMBS[name]
    records, outcome, reading, site = among_siblings(bomb.chunks)
    samples = [sample for sample in outcome.samples if sample.code in bomb.codes]
    assert_is(bomb, [*records, *samples], outcome)
    assert reading.stream.complete is bomb.complete
    if bomb.taken is not None:
        assert site.taken[FAULT] <= bomb.taken


# --- Content-Encoding headers ---

WHOLE = HEAD + FIRST + LAST + TAIL


def twice(body: bytes) -> bytes:
    return b"".join(packed(packed([body])))


@pytest.mark.parametrize(("body", "encoding", "expected"), [
    pytest.param(WHOLE, "gzip", Bomb(list, codes(), 2, complete=True), id="Content-Encoding on plain"),
    pytest.param(gzip.compress(WHOLE), "x-gzip", Bomb(list, codes(), 2, complete=True), id="x-gzip"),
    pytest.param(twice(WHOLE), "gzip, gzip", Bomb(list, codes(), 2, complete=True), id="gzip, gzip"),
    pytest.param(gzip.compress(WHOLE), "identity", Bomb(list, codes(), 2, complete=True), id="identity on gzip"),
    pytest.param(b"\x1b\x9d\x00\xf8\x8d\x94\xee\x52\x3c\xa1\x93\xb5\x1c" * 9, "br",
                 Bomb(list, codes("S15", "S07"), 0, first=False), id="br unasked"),
])
def test_content_encoding_is_detected_from_the_content(body: bytes, encoding: str, expected: Bomb) -> None:
    records, outcome, reading, _ = among_siblings(lambda: [body], {"Content-Encoding": encoding})
    assert_is(expected, [*records, *outcome.samples], outcome)
    assert reading.stream.complete is expected.complete
