"""The budget of work: steps are counted, permitted in proportion to the bytes, and end any document."""

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit import parse
from tiers import examples

import sitemap_reader as sr
from sitemap_reader import Limits
from sitemap_reader.parser import ALLOWED_BYTES, Budget, BudgetExceeded, TolerantParser, scanner

sys.path.insert(0, str(Path(__file__).parent.parent / "fuzz"))

from pieces import FEED, MARKUP, ROBOTS, TEXT  # the pieces of the fuzz targets

URL = "https://example.com/sitemap.xml"
URLSET = b"<urlset>"
BROKEN = "<urlset é".encode()
RDF = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">'
ATOM = b'<feed xmlns="http://www.w3.org/2005/Atom">'
LIST = b"https://example.com/\n"
UFFFF = "\uffff".encode()


def read(data: bytes, size: int = 1 << 16, url: str = URL, **limits: int) -> tuple[int, sr.SitemapParser, list[str]]:
    """The steps of work, the parser after its end, and the records."""
    found = parse(data, size, url=url, limits=sr.Limits(**limits))
    locs = [item.loc for item in found.items if isinstance(item, sr.UrlRecord | sr.SitemapRef)]
    return found.parser._budget.steps, found.parser, locs


def of_work(parser: sr.SitemapParser) -> list[sr.Problem]:
    return [problem for problem in parser.outcome.samples if "max_work_per_byte" in problem.message]


# --- the budget ---


def test_budget_grows_with_the_bytes_from_an_initial_allowance() -> None:
    budget = Budget(Limits(max_work_per_byte=3))
    budget.receive(10)
    budget.spend(3 * (10 + ALLOWED_BYTES))
    with pytest.raises(BudgetExceeded):
        budget.spend(1)


def test_exhausted_budget_is_reported_once() -> None:
    budget = Budget(Limits(max_work_per_byte=0))
    assert not budget.is_exceeded()
    budget.count(1)
    assert budget.is_exceeded()
    assert not budget.is_exceeded()
    budget.spend(1_000_000)
    assert budget.steps == 1_000_001


def test_bytes_and_tags_are_steps() -> None:
    budget = Budget(Limits())
    budget.spend_on_markup(b"<a>b</a>c<d", 1, 9, 100)
    assert budget.steps == 8 + 100
    budget.spend_on_markup(b"<a>", 3, 1, 100)
    assert budget.steps == 108


def test_problem_names_the_field_and_the_line() -> None:
    problem = Budget(Limits(max_work_per_byte=7)).problem(3)
    assert (problem.code, problem.severity, problem.line) == ("S16", "error", 3)
    assert problem.message == (
        "more than 7 steps of work for each byte read: reading stops here; raise max_work_per_byte to go on"
    )


# --- work grows with the bytes ---

# Head, repeated part, tail: each of these once took quadratic time.
SHAPES = {
    "a reference and characters that are none, in an attribute": (b'<urlset><url a="', b"&#xffff;" + UFFFF, b"<!-- ["),
    "characters that are none, in a broken root": (b"<urlset <?xml?>&gt;<lo</x>", b"\0", b"'daily'<guid>"),
    "levels in a broken root": (BROKEN + b">", b"<a><b>", b"</urlset>"),
    "levels in an unended root": (BROKEN + b"https://a.example/", b'<a b="c">', b"</a>"),
    "levels behind an unclosed DOCTYPE": (b"<!DOCTYPE <m:g><!DOCTYPE x [", b"locloc<a b='c'><sitemapindex>", b"</x>"),
    "levels of two fields": (b"<sitemapindex><image:loc></news:news>", b"#<guid><news:keywords>", b"\0</x>"),
    "levels of fields and end tags": (b"<urlset ", b"<changefreq><changefreq></x:y>'<link>", b"<guid>&gt;"),
    "roots in roots": (b"<urlset></x:y>", b'<urlset><priority> xmlns="u"&</priority>&nbsp;=', b""),
    "sections without an end, in items": (RDF, b"https://a.example/<loc><item><![CDATA[&#\xe2\x80\xa8", b"</loc>"),
    "sections without an end, in entries": (
        b"<urlset><url><loc>http://a.example/</loc><", b"<url><![CDATA[2024-01-01\n< loc>", b"\t<url><!\n"),
    "entries that are begun again": (ATOM, b"&lt;<entry><entry>< loc>-->]", b""),
    "entries that are begun many times": (b'<urlset><url a="', b"<x:y>" + b"<url>" * 30 + b"<image:loc></link>", b""),
    "stray ends of entries": (b"<urlset><![CDATA[</sitemap>", b'<priority>0.5</url></url><url>"', b""),
    "end tags that end nothing": (b"<urlset><url>", b"</b>", b""),
    "sections with another one's end": (URLSET + b"<url>&", b"<x><![CDATA[a</x>", b"]]>" + b"b" * 9_999 + b"</url>"),
    "bare &": (b"<urlset><url><loc>https://a.example/</loc><x>", b"&", b"</x></url></urlset>"),
    "comments in comments": (b"<urlset>&", b"<!-- --", b"-->"),
    "lines of nothing": (LIST, b"x\n", b""),
}


@pytest.mark.smoke("bare &")
@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_four_times_the_bytes_take_no_more_than_four_times_the_work(name: str) -> None:
    head, unit, tail = SHAPES[name]
    sizes = (10_000, 40_000)
    one, four = (read(head + unit * (size // len(unit)) + tail, max_work_per_byte=1_000_000)[0] for size in sizes)
    assert four <= 4.5 * one + 100_000
    assert four <= 500 * sizes[1]


@pytest.mark.parametrize("name", [name for name in SHAPES if name.startswith("levels")])
def test_levels_beyond_the_limit_are_not_repaired(name: str) -> None:
    head, unit, tail = SHAPES[name]
    steps, parser, _ = read(head + unit * 5_000 + tail)
    assert not parser.outcome.complete
    assert "DOCTYPE" in name or "raise max_xml_depth to" in str(parser.outcome.samples)
    assert steps < 5_000 * 1_000


@pytest.mark.parametrize(("levels", "is_lost"), [(61, False), (62, True)])
def test_entry_with_too_many_levels_is_lost_but_for_its_location(levels: int, is_lost: bool) -> None:
    one = b"<url><loc>https://example.com/%d</loc></url>"
    deep = b"<url><loc>https://example.com/2</loc></i><x>" + b"<p>t" * levels + b"</x></url>"
    document = sr.parse(URLSET + one % 1 + deep + one % 3 + b"</urlset>")
    assert [record.loc for record in document.urls] == [f"https://example.com/{number}" for number in (1, 2, 3)]
    messages = [problem.message for problem in document.urls[1].problems if "max_xml_depth" in problem.message]
    assert len(messages) == is_lost
    assert "S16" not in document.outcome.problems


# --- no call without progress ---

def test_loop_without_progress_is_ended_by_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """For any defect in the code."""
    lose = TolerantParser._lost

    def stuck(parser: TolerantParser, reason: str, **how: Any) -> Exception:
        return lose(parser, reason, **{**how, "resume": parser.entry_start})

    monkeypatch.setattr(TolerantParser, "_lost", stuck)
    _, parser, locs = read(URLSET + b"<url><loc>https://example.com/<b></loc></url>", max_faults=1_000_000)
    assert len(of_work(parser)) == 1
    assert not locs


# --- the budget ends a document ---

DEAR = {
    "characters": (
        URLSET + b"<url><loc>https://example.com/</loc></url><url><loc>https://example.com/2</loc><x>" + b"&" * 5_000
        + b"</x></url>", 10,
    ),
    "structure": (URLSET + b"<url><loc>https://example.com/</lok></url>" * 500, 10),
    "lost entries": (URLSET + b"<url><loc>https://example.com/<b></loc></url>" * 500, 10),
    "elements between entries": (URLSET + b"<x/>" * 5_000, 3),
    "empty entries": (URLSET + b"<url/>" * 5_000, 3),
    "text": (LIST + b"x\n" * 5_000, 10),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DEAR)
def test_document_that_just_fits_is_read_whole_and_one_step_less_ends_it(name: str) -> None:
    data, limit = DEAR[name]
    steps, whole, all_locs = read(data)
    per_byte = -(-steps // (len(data) + ALLOWED_BYTES))
    assert per_byte >= limit, "it is not as dear as it should be"
    _, fits, locs = read(data, max_work_per_byte=per_byte)
    assert (locs, fits.outcome.problems) == (all_locs, whole.outcome.problems)
    assert len(of_work(read(data, max_work_per_byte=per_byte - 1)[1])) == 1


@pytest.mark.slow
@pytest.mark.parametrize("size", [100, 1 << 16])
@pytest.mark.parametrize("name", DEAR)
def test_document_ends_with_the_budget_and_keeps_what_was_read(name: str, size: int) -> None:
    data, limit = DEAR[name]
    steps, whole, all_locs = read(data, size)
    assert of_work(whole) == []
    spent, parser, locs = read(data, size, max_work_per_byte=limit - 1)
    (problem,) = of_work(parser)
    assert parser.outcome.problems["S16"] == 1
    assert problem.severity == "error"
    assert (problem.sitemap, problem.line is not None) == (URL, True)
    assert not parser.outcome.complete
    assert parser.stopped
    assert locs == all_locs[: len(locs)]
    assert spent <= steps + 1_000


@pytest.mark.slow
def test_robots_txt_ends_with_the_budget() -> None:
    _, parser, locs = read(b"Sitemap: /\n" * 5_000, url="https://example.com/robots.txt", max_work_per_byte=3)
    assert len(of_work(parser)) == 1
    assert 0 < len(locs) < 5_000


ENTRY = b"<url><loc>https://www.example.com/products/%d</loc><lastmod>2024-01-01</lastmod></url>\n"
USUAL = {
    "a bare & in every tenth": (ENTRY * 9 + ENTRY.replace(b"%d", b"?a&b=%d"), 35),
    "a bare & in each": (ENTRY.replace(b"%d", b"?a&b=%d"), 65),
    "an unclosed field in each": (ENTRY.replace(b"</lastmod>", b""), 170),
    "a misspelled end tag in each": (ENTRY.replace(b"</loc>", b"</lok>"), 170),
    "a stray end tag in each": (ENTRY.replace(b"</url>", b"</b></url>"), 170),
    "nothing": (ENTRY, 20 if scanner is None else 1),
}


@pytest.mark.parametrize("name", USUAL)
def test_usual_damage_stays_far_below_the_budget(name: str) -> None:
    """Even without the initial allowance."""
    entry, most = USUAL[name]
    data = URLSET + entry.replace(b"%d", b"12345") * (50_000 // len(entry)) + b"</urlset>"
    steps, parser, _ = read(data)
    assert steps <= most * len(data)
    assert parser.outcome.complete


# --- any document ---

UNITS = st.lists(st.sampled_from([*MARKUP, *FEED, *TEXT, *ROBOTS]), max_size=6).map(b"".join)


@settings(max_examples=examples(150), deadline=None)
@given(head=st.sampled_from([URLSET, BROKEN, RDF, LIST, b"", ATOM, b"<rss><channel>"]),
       units=st.lists(UNITS, min_size=1, max_size=2), tail=UNITS, repeated=st.integers(1, 300),
       limit=st.integers(0, 5))
def test_work_stays_within_the_budget(head: bytes, units: list[bytes], tail: bytes, repeated: int, limit: int) -> None:
    data = head + b"".join(units) * repeated + tail
    steps, parser, locs = read(data, max_work_per_byte=limit)
    most = limit * (len(data) + ALLOWED_BYTES)
    if of_work(parser):
        assert not parser.outcome.complete
        # The last step may be large: a parsed chunk, or cleaned lines.
        assert steps <= most + 1_000 * len(data) + 100_000
    else:
        assert steps <= most + 10_000
        assert locs == read(data)[2]
