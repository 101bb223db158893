"""Statistics of a site: counted facts, their accuracy, and bounded memory."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sitemap_reader import Outcome, UrlRecord, UsageError, from_json, to_dict
from sitemap_reader.frontier import make_window
from sitemap_reader.model import report
from sitemap_reader.serialize import in_batches, stamp
from sitemap_reader.statistics import MAX_NAME_CHARS, MIN_INEXACT_SHARE, Fact, Statistics, TopCounts

NOW = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)
A = "https://a.example"


def url(loc: str = f"{A}/", **fields: Any) -> dict[str, Any]:
    return {"loc": loc, "lastmod": None, "lastmod_precision": None, "changefreq": None, "priority": None, **fields}


def dated(lastmod: str, precision: str = "second") -> dict[str, Any]:
    return url(lastmod=lastmod, lastmod_precision=precision)


def add(statistics: Statistics, *lines: dict[str, Any]) -> None:
    for item in chain.from_iterable(in_batches(map(from_json, lines))):  # type: ignore[arg-type] # no line is of a change
        statistics.add(item)


def facts(*lines: dict[str, Any]) -> list[Fact]:
    statistics = Statistics(NOW)
    add(statistics, *lines)
    return statistics.facts()


def group(name: str, *lines: dict[str, Any]) -> dict[str, int]:
    """Name -> count of a group."""
    return {fact.name: fact.count for fact in facts(*lines) if fact.group == name}


# --- URLs ---


def test_without_lines_there_are_no_facts() -> None:
    assert facts() == []


def test_a_url_that_is_listed_again_is_repeated() -> None:
    two = [url(f"{A}/x", sitemap=f"{A}/1.xml"), url(f"{A}/x", sitemap=f"{A}/2.xml"), url("https://b.example/x")]
    assert group("urls", *two) == {"listed": 3, "repeated": 1, "in sitemaps": 2, "on hosts": 2}


@pytest.mark.parametrize(("loc", "host"), [
    (f"{A}/x", "a.example"),
    ("http://a.example:8080/x", "a.example:8080"),
    (f"{A}?q=/x/y", "a.example"),
    ("https://user:word@a.example/x", "a.example"),
    (f"{A}/mail@b.example/", "a.example"),
])
def test_the_host_of_a_url(loc: str, host: str) -> None:
    assert group("hosts", url(loc)) == {host: 1}


@pytest.mark.parametrize(("path", "section", "depth"), [
    ("", "/", "0"),
    ("/", "/", "0"),
    ("/about", "/", "1"),
    ("/about?from=/a/b/", "/", "1"),
    ("/about#/a/b/", "/", "1"),
    ("/en/", "/", "1"),
    ("/en//", "/", "1"),
    ("/en/p/", "/en/", "2"),
    ("/en/p/lamp", "/en/", "3"),
    ("/a/b/c/d/", "/a/", "4"),
    ("/a/b/c/d/e", "/a/", "5 and more"),
    ("/a/b/c/d/e/f/g", "/a/", "5 and more"),
])
def test_section_and_depth_of_a_path(path: str, section: str, depth: str) -> None:
    assert group("sections", url(A + path)) == {section: 1}
    assert group("depth", url(A + path)) == {depth: 1}


def test_sections_beyond_ten_are_other() -> None:
    lines = [url(f"{A}/{letter}/{number}") for letter in "abcdefghijkl" for number in range(ord(letter) - 96)]
    sections = group("sections", *lines)
    assert list(sections) == [f"/{letter}/" for letter in "lkjihgfedc"] + ["other"]
    assert sections["other"] == 1 + 2


def test_extensions_are_counted_as_urls_and_as_items() -> None:
    image = {"loc": f"{A}/1.jpg"}
    lines = [url(images=[image, image]), url(images=[image], mobile=True), url(news={"name": "N"}), url()]
    assert group("urls with", *lines) == {"images": 2, "news": 1, "mobile": 1}
    assert group("items", *lines) == {"images": 3}


def test_hreflang_counts_each_url_once_a_code() -> None:
    def alternates(*codes: str | None) -> dict[str, Any]:
        return url(alternates=[{"hreflang": code, "href": A, "media": None} for code in codes])

    lines = [alternates("de", "en", "de"), alternates("de", None), alternates("x-default")]
    assert group("hreflang", *lines) == {"de": 2, "en": 1, "x-default": 1}


def test_hints_by_value_and_how_many_have_none() -> None:
    lines = [url(changefreq="daily", priority=0.8), url(changefreq="daily", priority=1.0), url(priority=0.8), url()]
    assert group("changefreq", *lines) == {"daily": 2, "none": 2}
    assert list(group("priority", *lines).items()) == [("1", 1), ("0.8", 2), ("none", 1)]


def test_shares_are_of_all_listings() -> None:
    (fact,) = [fact for fact in facts(dated("2026-11-20T00:00:00Z"), url(), url(), url()) if fact.name == "stated"]
    assert fact == Fact("lastmod", "stated", 1, 0.25)
    assert fact.to_dict() == {"type": "statistic", "group": "lastmod", "name": "stated", "count": 1, "share": 0.25}


# --- dates ---


def test_dates_are_found_as_exactly_as_they_were_stated() -> None:
    lines = [
        dated("2019-01-01T00:00:00Z", "year"),
        dated("2026-11-01T00:00:00Z", "day"),
        dated("2026-11-01T00:00:00Z", "day"),
        dated("2026-11-20T08:30:00Z", "minute"),
    ]
    found = {fact.group: (fact.name, fact.count) for fact in facts(*lines) if fact.group.startswith("lastmod ")}
    assert found["lastmod oldest"] == ("2019", 1)
    assert found["lastmod newest"] == ("2026-11-20T08:30Z", 1)
    assert found["lastmod most common"] == ("2026-11-01", 2)
    assert group("lastmod precision", *lines) == {"year": 1, "day": 2, "minute": 1}


def test_a_day_and_its_first_second_are_two_values() -> None:
    lines = [dated("2026-11-01T00:00:00Z", "day"), dated("2026-11-01T00:00:00Z", "second")]
    assert group("lastmod oldest", *lines) == {"2026-11-01": 1}
    assert group("lastmod newest", *lines) == {"2026-11-01T00:00:00Z": 1}


def test_fractions_stand_in_their_order() -> None:
    lines = [dated(f"2026-11-01T00:00:00{text}Z", "subsecond") for text in (".25", ".5", ".125")]
    assert group("lastmod oldest", *lines) == {"2026-11-01T00:00:00.125Z": 1}
    assert group("lastmod newest", *lines) == {"2026-11-01T00:00:00.5Z": 1}


@pytest.mark.parametrize(("lastmod", "precision", "within"), [
    ("2026-11-21T14:30:00Z", "second", [1, 1, 1]),
    ("2026-11-21T00:00:00Z", "day", [1, 1, 1]),
    ("2026-11-14T14:30:00Z", "second", [1, 1, 1]),
    ("2026-11-14T14:29:59Z", "second", [0, 1, 1]),
    ("2026-11-14T00:00:00Z", "day", [1, 1, 1]),  # the day reaches into the last seven
    ("2026-11-13T00:00:00Z", "day", [0, 1, 1]),
    ("2026-01-01T00:00:00Z", "year", [0, 0, 1]),  # it may be any day of the year
    ("2025-01-01T00:00:00Z", "year", [0, 0, 0]),
    ("2026-11-01T00:00:00Z", "month", [0, 1, 1]),
    ("2025-12-01T00:00:00Z", "month", [0, 0, 1]),
    ("2025-11-01T00:00:00Z", "month", [0, 0, 0]),
    ("2026-11-21T14:40:00Z", "second", [1, 1, 1]),  # clocks differ a little
    ("2026-11-21T14:40:01Z", "second", [0, 0, 0]),  # not yet
    ("2026-11-22T00:00:00Z", "day", [1, 1, 1]),  # it has begun elsewhere
    ("2026-11-23T00:00:00Z", "day", [0, 0, 0]),
])
def test_recent_counts_dates_surely_within_the_last_days(lastmod: str, precision: str, within: list[int]) -> None:
    assert list(group("lastmod within", dated(lastmod, precision)).values()) == within


PRECISIONS = ("year", "month", "day", "minute", "second", "subsecond")
STARTS = {
    "year": {"month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0, "microsecond": 0},
    "month": {"day": 1, "hour": 0, "minute": 0, "second": 0, "microsecond": 0},
    "day": {"hour": 0, "minute": 0, "second": 0, "microsecond": 0},
    "minute": {"second": 0, "microsecond": 0},
    "second": {"microsecond": 0},
    "subsecond": {},
}


@example(datetime(2026, 11, 22), "day")
@example(datetime(2026, 11, 21, 14, 40), "minute")
@given(
    st.datetimes(NOW.replace(tzinfo=None) - timedelta(days=800), NOW.replace(tzinfo=None) + timedelta(days=40)),
    st.sampled_from(PRECISIONS),
)
def test_recent_agrees_with_since(moment: datetime, precision: Any) -> None:
    start = moment.replace(tzinfo=UTC, **STARTS[precision])
    record = UrlRecord(f"{A}/", lastmod=start, lastmod_precision=precision)
    found = group("lastmod within", to_dict(record))
    # Clocks differ by minutes; a day may have begun in another time zone.
    is_timed = precision in ("minute", "second", "subsecond")
    has_begun = start <= NOW + (timedelta(minutes=10) if is_timed else timedelta(days=1))
    for days in (7, 30, 365):
        if precision in ("year", "month"):
            taken = (NOW - timedelta(days=days)).date() <= start.date()
        else:
            taken = make_window(timedelta(days=days), None, "drop", NOW).takes(start, precision)
        assert found[f"{days} days"] == (taken and has_begun)


def test_future_dates_are_counted() -> None:
    this_year, next_year = (dated(f"{year}-01-01T00:00:00Z", "year") for year in (2026, 2027))
    lines = [dated("2026-11-21T23:00:00Z"), this_year, next_year]
    assert group("lastmod", *lines) == {"stated": 3, "in the future": 2}


def test_years_are_the_newest_and_the_rest() -> None:
    lines = [dated(f"{year}-01-01T00:00:00Z", "year") for year in [*range(2010, 2018), 2010]]
    years = [("2017", 1), ("2016", 1), ("2015", 1), ("2014", 1), ("2013", 1), ("other", 4)]
    assert list(group("lastmod year", *lines).items()) == years


# --- counters ---


@given(st.lists(st.integers(0, 30).map(str), max_size=200))
def test_counts_are_never_too_high_and_too_low_by_little(names: list[str]) -> None:
    max_names = 10
    counts = TopCounts(max_names)
    for name in names:
        counts.add(name)
        assert len(counts) <= max_names
    exact = Counter(names)
    found = dict(counts.top(max_names))
    assert counts.total == len(names)
    for name, count in exact.items():
        assert count - (2 / max_names + MIN_INEXACT_SHARE) * len(names) <= found.get(name, 0) <= count
    if len(exact) <= max_names:
        assert counts.is_exact
        assert found == exact


def test_a_frequent_name_is_found_although_it_comes_late() -> None:
    counts = TopCounts(100)
    for number in range(10_000):
        counts.add(f"rare {number}")
    for _ in range(10_000):
        counts.add("frequent")
    ((name, count),) = counts.top(1)
    assert (name, count) == ("frequent", 10_000)
    (_, other) = counts.facts("names", 5, counts.total)  # rare names are counted too low, so none is reported
    assert other == Fact("names", "other", 10_000, 0.5)


def test_names_of_any_length_are_counted_by_their_beginning() -> None:
    counts = TopCounts()
    for name in ("x" * MAX_NAME_CHARS, "x" * 1_000_000 + "1", "x" * 1_000_000 + "2"):
        counts.add(name)
    assert counts.top(3) == [("x" * MAX_NAME_CHARS + "…", 2), ("x" * MAX_NAME_CHARS, 1)]


@pytest.mark.slow
def test_a_most_common_date_is_not_reported_where_it_may_be_another() -> None:
    statistics = Statistics(NOW)
    add(statistics, *(dated(stamp(NOW - timedelta(seconds=number)) or "") for number in range(20_001)))
    assert "lastmod most common" not in {fact.group for fact in statistics.facts()}
    add(statistics, *[dated("2026-11-01T00:00:00Z", "day")] * 1_000)
    (common,) = [fact for fact in statistics.facts() if fact.group == "lastmod most common"]
    assert (common.name, common.count) == ("2026-11-01", 1_000)


# --- runs ---


def outcome(url: str, **fields: Any) -> dict[str, Any]:
    return to_dict(Outcome(url=url, final_url=fields.pop("final_url", url), **fields))


def test_sitemaps_by_state_format_and_size() -> None:
    lines = [
        url(),
        outcome(f"{A}/robots.txt", format="robots", bytes_decoded=99),
        outcome(f"{A}/1.xml", format="urlset", entries=5, bytes_decoded=100),
        outcome(f"{A}/2.xml", format="urlset", entries=5, bytes_decoded=200, complete=False, dropped={"host": 2}),
        outcome(f"{A}/3.xml", complete=False),
        outcome("https://b.example/robots.txt", format="robots", complete=False),
    ]
    assert group("sitemaps", *lines) == {"complete": 1, "partial": 1, "failed": 1, "robots.txt failed": 1}
    assert group("sitemaps format", *lines) == {"urlset": 2, "unknown": 1}
    assert group("sitemaps bytes", *lines) == {"urlset": 300}
    assert group("urls dropped", *lines) == {"host": 2}


@pytest.mark.parametrize("order", [1, -1])
def test_redirected_sitemaps_are_counted_once(order: int) -> None:
    own = outcome(f"{A}/1.xml", format="urlset", entries=5, bytes_decoded=100)
    alias = outcome(f"{A}/old.xml", final_url=f"{A}/1.xml", entries=0)
    assert group("sitemaps format", *[own, alias][::order]) == {"urlset": 1}


def test_problems_of_urls_count_unless_those_of_the_run_are_found() -> None:
    flawed = url(problems=[{"code": code, "field": "loc", "raw": "x"} for code in ("D01", "U08")])
    assert group("problems", flawed, flawed) == {"D01": 2, "U08": 2}
    found = to_dict(report("F01", "404 Not Found", sitemap=f"{A}/1.xml"))
    assert group("problems", flawed, found) == {"F01": 1}


def test_references_are_skipped() -> None:
    assert facts({"type": "sitemap", "loc": A}) == []


WRONG_LINES: list[tuple[dict[str, Any], str]] = [
    ({"loc": 5}, "loc"),
    (url(lastmod="2026-11-01"), "lastmod"),
    (url(lastmod=5), "lastmod"),
    (dated("2026-11-01T00:00:00Z", "century"), "lastmod_precision"),
    (url(priority="high"), "priority"),
    (url(images=5), "images"),
    (url(alternates=["de"]), "alternates"),
    (url(problems=[5]), "problems"),
]


@pytest.mark.parametrize(("form", "found"), WRONG_LINES)
def test_invalid_line_is_a_usage_error(form: dict[str, Any], found: str) -> None:
    with pytest.raises(UsageError, match=found):
        facts(form)
