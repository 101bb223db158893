"""Documents take linear time and bounded memory; work is measured in calls, not in seconds."""

import cProfile
import pstats
import tracemalloc
from collections.abc import Callable
from time import process_time
from typing import Any

import pytest
from kit import parse

import sitemap_reader as sr
from sitemap_reader.parser import clean_url, comparable, detect

pytestmark = pytest.mark.slow

ROOT = (
    b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"'
    b' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">'
)
END = b"</urlset>"
LOC = b"<loc>https://example.com/%d</loc>"
ONE = b"<url>" + LOC + b"</url>\n"
URL = ONE % 1
MIB = 1 << 20


def entries(inside: bytes) -> Callable[[int], bytes]:
    """A document of so many entries, all damaged in the same way: `%d` is their number."""
    return lambda count: ROOT + b"".join(inside.replace(b"%d", b"%d" % number) for number in range(count)) + END


def entry(inside: bytes, *, last: bytes = b"</url>" + END) -> Callable[[int], bytes]:
    """A document of one entry with ten times as many of these."""
    return lambda count: ROOT + b"<url><loc>https://example.com/a</loc>" + inside * (10 * count) + last


def read(data: bytes, size: int = 1 << 16, **options: Any) -> sr.SitemapParser:
    return parse(data, size, url="https://example.com/sitemap.xml", **options).parser


def calls(data: bytes, size: int = 1 << 16, *, of: str = "", **options: Any) -> int:
    """The number of calls, of all functions or of one, to read a document."""
    profile = cProfile.Profile()
    profile.runcall(read, data, size, **options)
    rows: dict[tuple[str, int, str], tuple[int, ...]] = vars(pstats.Stats(profile))["stats"]
    return sum(row[1] for (_, _, name), row in rows.items() if of in name)


DAMAGE = {
    "nothing": entries(ONE),
    "a bare &": entries(b"<url>" + LOC + b"<x>&</x></url>"),
    "a bare <": entries(b"<url>" + LOC + b"<image:image><image:title>a < b</image:title></image:image></url>"),
    "an attribute twice": entries(b"<url>" + LOC + b'<xhtml:link rel="a" rel="b"/></url>'),
    "an unclosed link": entries(b"<url>" + LOC + b'<xhtml:link rel="alternate" hreflang="de" href="/de"></url>'),
    "an unclosed field": entries(b"<url>" + LOC + b"<lastmod>2026-01-01</url>"),
    "an unclosed entry": entries(b"<url>" + LOC),
    "an unclosed comment": entries(b"<url>" + LOC + b"<!-- a </url>"),
    "a malformed comment": entries(b"<url>" + LOC + b"<!-- a -- b --></url>"),
    "a stray end tag": entries(b"<url>" + LOC + b"</b></url>"),
    "an end tag between": entries(ONE + b"</b>"),
    "a lost start tag": entries(LOC + b"</url>"),
    "an unclosed section": entries(b"<url><loc><![CDATA[https://example.com/%d</loc></url>"),
    "a section in a section": entries(b"<url>" + LOC + b"<x><![CDATA[a<![CDATA[b]]>]]></x></url>"),
    "a section that quotes its end": entries(b"<url>" + LOC + b"<x>&<![CDATA[</x>]]><i/></x></url>"),
    "nesting that does not match": entries(b"<url>" + LOC + b"<b>" * 55 + b"</c>" * 55 + b"</url>"),
    "an unbound prefix": entries(b"<url>" + LOC + b"<p%d:a>x</p%d:a></url>"),
    "a declaration": entries(b'<?xml version="1.0"?>' + ONE),
    "a root that ends": entries(ONE + END),
    "a location that cannot be read": entries(b"<url><loc>https://example.com/%d<b></loc></url>"),
    "entries in entries": entries(b"<url><loc>https://example.com/a</loc>"),
    "many bare &": entry(b"& "),
    "many stray end tags": entry(b"</b>"),
    "many stray <": entry(b"< "),
    "many fields that are containers": entry(b"<image:image>x</image:image>", last=b"</b></url>" + END),
    "many fields in fields": entry(b"<lastmod>2026-01-01<priority>0.5</priority>"),
    "many elements": entry(b"<a/>"),
    "an entry without end": entry(b"<i>x</i>", last=b""),
    "many sections that quote": entry(b"<![CDATA[</x>]]>", last=b""),
    "many comments without end": entry(b"<!--", last=b""),
}


@pytest.mark.smoke("an unclosed entry")
@pytest.mark.parametrize("name", DAMAGE)
def test_twice_the_document_takes_twice_the_work(name: str) -> None:
    one, two = (calls(DAMAGE[name](count)) for count in (300, 600))
    assert two < 2.3 * one


@pytest.mark.parametrize("name", ["an unclosed section", "an unclosed entry", "a bare &", "many comments without end"])
def test_small_pieces_take_no_more_than_so_much_work_each(name: str) -> None:
    one, two = (calls(DAMAGE[name](count), 256) for count in (300, 600))
    assert two < 2.3 * one


def test_unclosed_sections_are_all_found_in_one_pass() -> None:
    data = DAMAGE["an unclosed section"](500)
    parser = read(data)
    assert parser.outcome.entries == 500
    assert parser.outcome.complete
    assert calls(data, of="restart") <= 2


@pytest.mark.parametrize("size", [1 << 12, 1 << 16])
def test_unclosed_section_costs_one_search_for_its_end(size: int) -> None:
    """The rest of the document may be of any length."""
    data = DAMAGE["an unclosed section"](1)
    more = b"".join(ONE % number for number in range(110_000))
    parser = read(data.removesuffix(END) + more + END, size)
    assert parser.outcome.entries == 110_001
    assert parser.outcome.complete
    assert parser.outcome.problems == {"S01": 1, "S03": 1}


def test_pending_repairs_of_many_entries_are_all_reported() -> None:
    parser = read(DAMAGE["an unclosed section"](30_000))
    assert parser.outcome.problems == {"S01": 30_000}
    assert parser.outcome.complete


# --- tokens that never end -------------------------------------------------------------------------------------------

BEGINNINGS = {"comment": b"<!--", "instruction": b"<?x ", "attribute": b"<a b='", "tag": b"<a ", "end tag": b"</a"}
PLACES = {
    "prolog": b"<?xml version='1.0'?>",
    "root": ROOT + URL,
    "entry": ROOT + URL + b"<url><loc>https://example.com/a</loc>",
    "behind a fault": ROOT + URL + b"<url><loc>https://example.com/a</loc><x>&</x></url>",
}


@pytest.mark.parametrize("size", [1024, 1 << 16])
@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("place", PLACES)
def test_endless_token_ends_at_the_limit(place: str, beginning: str, size: int) -> None:
    data = PLACES[place] + BEGINNINGS[beginning] + b"x" * (2 * MIB)
    limits = sr.Limits(max_token_bytes=MIB, max_entry_bytes=MIB)
    parser = read(data, size, limits=limits)
    (problem,) = [sample for sample in parser.outcome.samples if sample.code == "S16"]
    assert "raise max_" in problem.message
    assert parser.stopped
    assert not parser.outcome.complete
    assert parser.outcome.entries == PLACES[place].count(b"</url>")
    assert calls(data, size, limits=limits, of="Parse") < 100, "each call looks through all of it again"


# --- memory ----------------------------------------------------------------------------------------------------------


def peak_mib(data: bytes) -> float:
    tracemalloc.start()
    try:
        read(data)
        return tracemalloc.get_traced_memory()[1] / MIB
    finally:
        tracemalloc.stop()


def test_text_of_elements_inside_each_other_is_held_once() -> None:
    nested = b"<a>" * 58 + b"x" * (MIB - 100) + b"</a>" * 58
    assert peak_mib(entry(nested)(0).replace(b"</loc>", b"</loc>" + nested)) < 10


def test_names_of_a_document_are_not_all_remembered() -> None:
    many = [ONE % n + b"<url " + b" ".join(b'a%d=""' % (n * 50 + k) for k in range(50)) + b"/>" for n in range(9_000)]
    half = peak_mib(ROOT + b"".join(many[:4_500]) + END)
    assert peak_mib(ROOT + b"".join(many) + END) < 1.3 * half


# --- URLs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("piece", ["%", "[", "\\", "a[", "%41", "/..", "/../a", "%e9a"])
def test_url_of_a_million_characters_takes_few_calls(piece: str) -> None:
    text = "https://example.com/" + piece * (MIB // len(piece)) + "a"
    profile = cProfile.Profile()
    loc = profile.runcall(clean_url, text)
    assert loc.url is not None
    profile.runcall(comparable, loc.url)
    assert pstats.Stats(profile).total_calls < 1_000 + text.count("/") * 2 + text.count("..") * 2


def seconds(act: Callable[[], object]) -> float:
    """The processor time of the fastest of three."""
    times = []
    for _ in range(3):
        started = process_time()
        act()
        times.append(process_time() - started)
    return min(times)


SEARCHED = {
    "sections without end": lambda count: ROOT + b"<uRl><![CDATA[" * count,
    "sections without end, of other names": lambda count: (
        ROOT + b"<url>" + b"".join(b"<x%d><![CDATA[" % number for number in range(count))),
    "sections without end in entries": lambda count: ROOT + (b"<url>" + LOC + b"<x><![CDATA[") * (count // 3),
    "sections in damaged tags": lambda count: ROOT + b"<url<![CDATA[</ur\xef\xbb\xbfl>" * (count // 2),
    "what has no end behind the root": lambda count: ROOT + END + b"<![CDATA[<url><!--<?x " * count,
    "instructions without end": lambda count: ROOT + b"<url><?x " * count,
}


@pytest.mark.parametrize("name", SEARCHED)
def test_end_that_is_missing_is_not_searched_for_again_and_again(name: str) -> None:
    small, large = (SEARCHED[name](count) for count in (1_500, 6_000))
    assert seconds(lambda: read(large)) < 9 * seconds(lambda: read(small)) + 0.05


@pytest.mark.parametrize("opening", [b'<?xml version="1.0" encoding="', b"<?xml version='1.0' encoding='x", b"<?xml "])
def test_declaration_without_end_is_searched_once(opening: bytes) -> None:
    small, large = (opening + b" " * count for count in (2_000, 8_000))
    assert seconds(lambda: detect(large)) < 9 * seconds(lambda: detect(small)) + 0.005
