"""Every fault of a document's content: read alone, in any chunks, and as one child of three.

Each gives an outcome with the URL and completeness, all entries before the fault, and complete siblings.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from bombs import BOMBS, CHUNK, FIRST, HEAD, KIB, LAST, TAIL, Bomb, codes, packed
from corpus_cases import CORPUS
from pages import Pages

import sitemap_reader as sr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pages import Answer

FAULT = "https://example.com/fault.xml"
INDEX = "https://example.com/index.xml"
SIBLINGS = ("https://example.com/before.xml", "https://example.com/behind.xml")


@attrs.frozen
class Case:
    """The expected result of a corpus case that shows a row."""

    name: str
    codes: str
    complete: bool
    entries: int


# Fault -> the cases of the corpus that show it: name, codes, completeness, entries.
ROWS: dict[str, list[Case]] = {
    "empty": [Case("other/empty.xml", "F11", False, 0)],
    "white space": [Case("other/white-space.xml", "F11", False, 0)],
    "BOM only": [Case("other/bom-only.xml", "F11", False, 0)],
    "gzip cut": [
        Case("gzip/truncated.xml.gz", "F07 S01", False, 2),
        Case("gzip/truncated-text.txt.gz", "F07", False, 1),
    ],
    "gzip without trailer": [Case("gzip/without-trailer.xml.gz", "F07", False, 7)],
    "gzip bad CRC": [Case("gzip/bad-crc.xml.gz", "F07", False, 7)],
    "gzip bad size": [Case("gzip/bad-size.xml.gz", "F07", False, 4)],
    "gzip trailing junk": [Case("gzip/trailing-junk.xml.gz", "F07", True, 7)],
    "gzip NUL padding": [Case("gzip/nul-padding.xml.gz", "", True, 7)],
    "gzip several members": [Case("gzip/two-members.xml.gz", "", True, 7)],
    "gzip one empty member": [Case("gzip/empty-member.xml.gz", "F11", False, 0)],
    "gzip corrupt in the middle": [Case("gzip/corrupt-middle.xml.gz", "F07 S01", False, 0)],
    "gzip double": [Case("gzip/double.xml.gz", "", True, 7)],
    "gzip triple": [Case("gzip/triple.xml.gz", "S16", False, 0)],
    ".gz that is plain": [Case("gzip/not-packed.xml.gz", "", True, 4)],
    ".xml that is gzip": [Case("gzip/packed-without-the-name.xml", "", True, 1)],
    "billion laughs": [Case("dtd/billion-laughs.xml", "S09", False, 0)],
    "entity": [Case("dtd/entities.xml", "S09", False, 0)],
    "ATTLIST": [Case("dtd/attlist.xml", "S09", False, 0)],
    "parameter entity": [Case("dtd/parameter-entity.xml", "S09", False, 0)],
    "XXE": [Case("dtd/external-entity.xml", "S09", False, 0)],
    "RSS 0.91 DOCTYPE": [
        Case("feed/rss-0.91.xml", "S01", True, 2),
        Case("dtd/bare-doctype.xml", "S01", True, 2),
    ],
    "DOCTYPE after the root": [Case("dtd/doctype-behind-the-root.xml", "S01", True, 1)],
    "UTF-16 with BOM": [
        Case("charset/utf-16-le-bom.xml", "S07", True, 2),
        Case("charset/utf-16-be-bom-declared-utf-8.xml", "S07", True, 1),
    ],
    "UTF-16 without BOM": [Case("charset/utf-16-be-without-bom.xml", "S07", True, 2)],
    "declared UTF-16 but ASCII": [Case("charset/utf-16-declared-but-ascii.xml", "S07", True, 1)],
    "GB2312": [Case("charset/gb2312.xml", "S07", True, 1)],
    "Shift_JIS": [Case("charset/shift-jis.xml", "S07", True, 1)],
    "unknown encoding": [Case("charset/unknown.xml", "S07", True, 1)],
    "utf-7": [Case("charset/utf-7.xml", "S07", True, 1)],
    "Latin-1 undeclared": [
        Case("charset/windows-1252-undeclared.xml", "S07", True, 3),
        Case("text/latin-1-path.txt", "S07", True, 2),
    ],
    "NUL": [Case("damage/nul-bytes.xml", "S01", True, 3)],
    "control characters": [Case("damage/control-character.xml", "S01", True, 4)],
    "bare &": [Case("damage/bare-ampersand.xml", "S01", True, 4)],
    "&nbsp;": [Case("damage/html-entities.xml", "S01", True, 3)],
    "unbound prefix": [Case("damage/unbound-prefix.xml", "S01", True, 3)],
    "blank line before the declaration": [Case("damage/blank-line-before-declaration.xml", "S08", True, 1)],
    "cut inside loc": [Case("damage/cut-inside-loc.xml", "S01", False, 1)],
    "cut between entries": [Case("damage/cut-between-entries.xml", "S01", False, 2)],
    "junk after the end": [Case("damage/junk-after-end.xml", "S01", True, 1)],
    "second root after the end": [Case("damage/second-root.xml", "S01", True, 2)],
    "urlset inside sitemapindex": [Case("index/urls-inside.xml", "", True, 2)],
    "self-referencing index, read alone": [Case("index/lists-itself.xml", "", True, 2)],
    "URL over 2,048": [Case("urls/long.xml", "U03", True, 3)],
    "relative": [Case("urls/relative.xml", "U01", True, 6), Case("text/no-scheme.txt", "U01", True, 5)],
    "javascript:, data:": [Case("urls/other-schemes.xml", "U02", True, 7)],
    "userinfo": [Case("urls/userinfo.xml", "U14", True, 2)],
    "port 99999": [Case("urls/unusable.xml", "U15", True, 7), Case("urls/ports.xml", "U15", True, 9)],
    "backslash authority": [Case("urls/hosts.xml", "U15", True, 13)],
    "IDN": [Case("urls/idn.xml", "", True, 4)],
    "%zz": [Case("urls/percent.xml", "U10", True, 10)],
    "surrogates": [
        Case("damage/bad-character-reference-in-loc.xml", "S01", False, 2),
        Case("damage/half-a-surrogate-pair-in-a-title.xml", "S01", True, 3),
    ],
    "other host": [Case("scope/protocol.xml", "U04", True, 9), Case("index/other-host.xml", "U04", True, 2)],
    "above the path": [Case("scope/protocol.xml", "U05", True, 9)],
    "duplicates": [
        Case("urlset/duplicate-entries.xml", "", True, 2),
        Case("index/listed-twice.xml", "", True, 3),
    ],
    "bad lastmod": [Case("dates/unreadable.xml", "D01", True, 12)],
    "bad priority": [Case("hints/priority.xml", "H02", True, 16)],
    "text with BOM": [Case("text/bom.txt", "", True, 2)],
    "text with CRLF and blanks": [Case("text/crlf-cr-and-blanks.txt", "", True, 5)],
    "text with HTML lines": [Case("text/html-lines.txt", "U15", True, 4)],
    "feed body /etc/passwd": [Case("other/path-of-a-file.xml", "S15", False, 0)],
    "item without link": [Case("feed/rss-guid-is-no-url.xml", "S11", True, 1)],
    "bad and good items mixed": [Case("feed/rss-guid-rules.xml", "S11", True, 11)],
}
PROOFS = [pytest.param(case, id=f"{row}: {case.name}") for row, cases in ROWS.items() for case in cases]


@pytest.mark.parametrize("case", PROOFS)
def test_case_of_the_corpus_proves_its_row(case: Case) -> None:
    lines = (CORPUS / f"{case.name}.jsonl").read_text("utf-8").splitlines()
    assert (CORPUS / case.name).is_file()
    outcome = json.loads(lines[-1])
    assert set(case.codes.split()) <= outcome["problems"].keys()
    assert (outcome["complete"], outcome["entries"]) == (case.complete, case.entries)
    if not case.codes:
        assert not outcome["problems"]


# --- generated: alone, in pieces ---

every_bomb = pytest.mark.parametrize("name", BOMBS)


def read(pieces: Iterable[bytes], **options: Any) -> tuple[list[Any], sr.SitemapParser]:
    parser = sr.SitemapParser(url=FAULT, **options)
    items: list[Any] = []
    for piece in pieces:
        items += parser.feed(piece)
        if parser.stopped:
            break
    return items + parser.close(), parser


def is_problem(item: Any) -> bool:
    return isinstance(item, sr.Problem)


def assert_is(bomb: Bomb, items: list[Any], outcome: sr.Outcome) -> None:
    """Asserts codes with the URL, the number of entries, the first entry, and completeness."""
    problems = [item for item in items if is_problem(item)]
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
        items, parser = read(body[at : at + size] for at in range(0, len(body), size))
        assert sorted(items, key=is_problem) == [*whole.urls, *whole.problems], size
        assert (parser.outcome.problems, parser.outcome.complete) == (whole.outcome.problems, whole.outcome.complete)


# --- generated: as one child of three ---


def index(*children: str) -> bytes:
    entries = "".join(f"<sitemap><loc>{child}</loc></sitemap>" for child in children)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</sitemapindex>'.encode()


def walk(fetcher: Any, **options: Any) -> tuple[list[sr.UrlRecord], sr.AsyncStream[sr.UrlRecord]]:
    async def all_of_it() -> tuple[list[sr.UrlRecord], sr.AsyncStream[sr.UrlRecord]]:
        async with sr.SitemapReader(fetcher=fetcher, **options) as reader, reader.urls(INDEX) as urls:
            return [url async for url in urls], urls

    return asyncio.run(asyncio.wait_for(all_of_it(), 120))


def among_siblings(
    chunks: Callable[[], Iterable[bytes]], headers: dict[str, str] | None = None
) -> tuple[list[sr.UrlRecord], sr.Outcome, sr.AsyncStream[sr.UrlRecord], Pages]:
    """The records and the outcome of a document between two good siblings, which are complete."""
    good = {url: HEAD + b"<url><loc>%s/1</loc></url>" % url.encode() + LAST + TAIL for url in SIBLINGS}
    bodies = {url: [body] for url, body in good.items()} | {INDEX: [index(SIBLINGS[0], FAULT, SIBLINGS[1])]}

    def answer(url: str) -> Answer | None:
        if url == FAULT:
            return 200, headers or {}, chunks()
        return (200, {}, bodies[url]) if url in bodies else None

    site = Pages(answer)
    records, urls = walk(site, feed_fallback=None)
    outcomes = {outcome.url: outcome for outcome in urls.outcomes}
    for sibling in SIBLINGS:
        locs = [record.loc for record in records if record.sitemap == sibling]
        assert locs == [f"{sibling}/1", "https://example.com/last"]
        assert outcomes[sibling].complete
    return [record for record in records if record.sitemap == FAULT], outcomes[FAULT], urls, site


@pytest.mark.slow
@every_bomb
def test_siblings_are_unaffected_and_the_summary_names_the_partial_document(name: str) -> None:
    bomb = BOMBS[name]
    records, outcome, urls, site = among_siblings(bomb.chunks)
    samples = [sample for sample in outcome.samples if sample.code in bomb.codes]
    assert_is(bomb, [*records, *samples], outcome)
    assert urls.complete is bomb.complete
    if bomb.taken is not None:
        assert site.taken[FAULT] <= bomb.taken


# --- Content-Encoding headers ---

WHOLE = HEAD + FIRST + LAST + TAIL


def twice(body: bytes) -> bytes:
    return b"".join(packed(packed([body])))


@pytest.mark.parametrize(
    ("body", "encoding", "expected"),
    [
        pytest.param(WHOLE, "gzip", Bomb(list, codes(), 2, complete=True), id="Content-Encoding on plain"),
        pytest.param(gzip.compress(WHOLE), "x-gzip", Bomb(list, codes(), 2, complete=True), id="x-gzip"),
        pytest.param(twice(WHOLE), "gzip, gzip", Bomb(list, codes(), 2, complete=True), id="gzip, gzip"),
        pytest.param(gzip.compress(WHOLE), "identity", Bomb(list, codes(), 2, complete=True), id="identity on gzip"),
        pytest.param(
            b"\x1b\x9d\x00\xf8\x8d\x94\xee\x52\x3c\xa1\x93\xb5\x1c" * 9, "br",
            Bomb(list, codes("S15", "S07"), 0, first=False), id="br unasked",
        ),
    ],
)  # fmt: skip
def test_content_encoding_is_detected_from_the_content(body: bytes, encoding: str, expected: Bomb) -> None:
    records, outcome, urls, _ = among_siblings(lambda: [body], {"Content-Encoding": encoding})
    assert_is(expected, [*records, *outcome.samples], outcome)
    assert urls.complete is expected.complete
