"""Each check alone: what it reports, and the nearest case that it does not report.

corpus/audit has a site for each code; here are the boundaries, and cases of more than one block.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sitemap_reader.checks.audit  # noqa: F401 - imports every check
from sitemap_reader import Alternate, News, Outcome, Problem, SitemapRef, UrlRecord, Video
from sitemap_reader.checks import (
    ASSETS,
    CHECKS,
    DOUBTS,
    INCOMPLETE,
    LANGUAGES,
    REGIONS,
    SHORT_REGIONS,
    AuditContext,
    BaselineCheck,
    Check,
    CrawlCheck,
    DisallowedUrls,
    DoubleEscapes,
    DuplicateUrls,
    EmptySitemaps,
    EqualPriorities,
    Finding,
    Findings,
    FutureDates,
    HreflangAttributes,
    HreflangReturnTags,
    MissingValidators,
    NewsCount,
    NewsItems,
    NonPageFiles,
    PrivateHosts,
    SessionParameters,
    SitemapLastmods,
    SiteOverview,
    StaleSite,
    UnchangedContentCheck,
    UnsetValues,
    UrlChecks,
    UrlVariants,
    Videos,
    hreflang_doubt,
    hreflang_fault,
    is_publication_language,
    url_key,
)
from sitemap_reader.client import SitemapTree
from sitemap_reader.frontier import AgentRules, Rules, parse_rules
from sitemap_reader.model import CATALOGUE, report
from sitemap_reader.parser import batch_of

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
A = "https://a.example"
MAP, OTHER = f"{A}/sitemap.xml", f"{A}/other.xml"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def entries(*pages: str, sitemap: str = MAP, first_line: int = 1, **fields: Any) -> list[UrlRecord]:
    """Records of these paths, one a line; `fields` are those of all of them."""
    paths = (page if "://" in page else f"{A}/{page}" for page in pages)
    return [UrlRecord(page, sitemap=sitemap, line=line, **fields) for line, page in enumerate(paths, first_line)]


def dated(*dates: datetime | str, precision: str = "second", **fields: Any) -> list[UrlRecord]:
    """Records of these lastmods."""
    moments = (at(each) if isinstance(each, str) else each for each in dates)
    return [
        UrlRecord(f"{A}/{line}", lastmod=moment, lastmod_precision=precision, sitemap=MAP, line=line, **fields)  # type: ignore[arg-type]
        for line, moment in enumerate(moments, 1)
    ]


def outcome(url: str = MAP, **fields: Any) -> Outcome:
    value = {"format": "urlset", "status": 200, "entries": 1, "kept": 1, "bytes_decoded": 100} | fields
    return Outcome(url=url, final_url=url, **value)


def found(
    checks: Check | Sequence[Check],
    *parts: list[UrlRecord] | Outcome | SitemapRef,
    samples: int = 100,
    select: Sequence[str] = (),
) -> tuple[Finding, ...]:
    """What the checks find in these items, then at the end. A list is one batch of a sitemap."""
    all_of_them: Iterable[Check] = checks if isinstance(checks, (list, tuple)) else (checks,)  # type: ignore[assignment]
    findings = Findings(samples=samples, select=select)
    for part in parts:
        for check in all_of_them:
            if isinstance(part, Outcome):
                check.on_outcome(part, findings)
            elif isinstance(part, SitemapRef):
                check.on_ref(part, findings)
            else:
                check.on_urls(batch_of(part[0].sitemap, part), findings)
    for check in all_of_them:
        check.on_end(findings)
    return findings.ranked()


def problems(*args: Any, **options: Any) -> list[Problem]:
    return [sample for finding in found(*args, **options) for sample in finding.samples]


def places(*args: Any) -> list[tuple[str, str | None, int | None]]:
    return [(each.code, each.sitemap, each.line) for each in problems(*args)]


# --- findings ---


def problem(code: str, sitemap: str, line: int = 1) -> Problem:
    return report(code, "it is so", sitemap=sitemap, line=line)


def test_findings_stand_by_severity_then_by_number() -> None:
    findings = Findings()
    for code in ("U07", "U06", "U12", "D02", "D02"):
        findings.add(problem(code, MAP))
    assert [(each.code, each.count) for each in findings.ranked()] == [("U12", 1), ("D02", 2), ("U06", 1), ("U07", 1)]


def test_a_code_of_two_severities_gives_two_findings() -> None:
    findings = Findings()
    findings.add(problem("F05", MAP))
    findings.add(report("F05", "a page", sitemap="https://a.example/robots.txt", severity="warning"))
    ranked = [(each.code, each.severity, each.impact) for each in findings.ranked()]
    assert ranked == [("F05", "error", "unread"), ("F05", "warning", "signal")]


def test_samples_are_spread_over_documents() -> None:
    findings = Findings(samples=3)
    for sitemap in ("a", "b", "c", "d"):
        for line in range(1, 6):
            findings.report("U06", "again", sitemap=sitemap, line=line)
    (finding,) = findings.ranked()
    assert (finding.count, finding.documents) == (20, 4)
    assert [sample.sitemap for sample in finding.samples] == ["a", "b", "c"]


def test_messages_are_only_made_for_samples() -> None:
    numbers = count()
    findings = Findings(samples=2)
    for _ in range(10):
        findings.report("U06", lambda: f"no. {next(numbers)}", sitemap=MAP)
    assert [sample.message for sample in findings.ranked()[0].samples] == ["no. 0", "no. 1"]
    assert next(numbers) == 2


def test_without_samples_there_is_still_a_number() -> None:
    findings = Findings(samples=0)
    findings.report("U06", "again", sitemap=MAP, count=7)
    (finding,) = findings.ranked()
    assert (finding.count, finding.documents, finding.samples) == (7, 1, ())


@pytest.mark.parametrize(("select", "ignore", "codes"), [
    ((), (), ["U12", "D02", "U06"]),
    (("U",), (), ["U12", "U06"]),
    (("U06", "D"), (), ["D02", "U06"]),
    ((), ("U",), ["D02"]),
    (("U",), ("U06",), ["U12"]),
])
def test_codes_are_chosen_by_their_beginnings(select: Sequence[str], ignore: Sequence[str], codes: list[str]) -> None:
    findings = Findings(select=select, ignore=ignore)
    for code in ("U12", "U06"):
        findings.report(code, "so", sitemap=MAP)
    findings.add(problem("D02", MAP))
    assert [each.code for each in findings.ranked()] == codes
    assert findings.includes(["D02"]) == ("D02" in codes)


def test_problems_of_other_sources_come_last() -> None:
    one, other = Findings(samples=2), Findings(samples=2)
    one.report("U06", "first", sitemap="a")
    other.report("U06", "second", sitemap="b", count=5)
    other.report("U13", "third", sitemap="c")
    one.merge(other)
    assert [(each.code, each.count, each.documents) for each in one.ranked()] == [("U06", 6, 2), ("U13", 1, 1)]
    assert [sample.message for sample in one.ranked()[0].samples] == ["first", "second"]


# --- listings ---


def test_a_url_listed_again_in_another_block_is_found_with_the_first_line() -> None:
    again = problems(DuplicateUrls(), entries("x", "y"), entries("z", "x", first_line=3))
    assert [(each.code, each.line, each.message) for each in again] == [
        ("U06", 4, f"{A}/x is listed on line 1 already")
    ]


def test_a_url_listed_again_in_the_same_block() -> None:
    again = problems(DuplicateUrls(), entries("x", "x", "x"))
    assert [(each.line, each.message) for each in again] == [
        (2, f"{A}/x is listed on line 1 already"),
        (3, f"{A}/x is listed on line 1 already"),
    ]


def test_twice_in_one_sitemap_and_once_in_another_is_both() -> None:
    parts = entries("x"), entries("x", "x", sitemap=OTHER)
    assert places(DuplicateUrls(), *parts) == [("U06", OTHER, 2), ("U07", MAP, 1)]


def test_each_url_of_two_sitemaps_is_reported_in_the_second_one_by_url() -> None:
    pages = [f"{number}" for number in range(50)]
    parts = entries(*pages), entries(*pages[:20], sitemap=OTHER)
    for listed in (parts, parts[::-1]):
        (finding,) = found(DuplicateUrls(), *listed)
        assert (finding.code, finding.count) == ("U07", 20)
        reported = [(each.sitemap, each.line, each.message) for each in finding.samples]
        assert reported == [(MAP, number + 1, f"{A}/{number} is in {OTHER} too") for number in range(20)]


def test_a_url_whose_escapes_are_spelled_in_two_ways_is_the_same() -> None:
    parts = entries("caf%c3%a9"), entries("caf%C3%A9", sitemap=OTHER)
    for listed in (parts, parts[::-1]):
        (finding,) = found(DuplicateUrls(), *listed)
        assert [each.message for each in finding.samples] == [f"{A}/caf%C3%A9 is in {OTHER} too"]


def test_url_of_a_news_sitemap_is_a_duplicate_of_two_others() -> None:
    news = entries("x", sitemap=f"{A}/news.xml", news=News(title="x"))
    assert places(DuplicateUrls(), news, entries("x"), entries("x", sitemap=OTHER)) == [("U07", MAP, 1)]


@pytest.mark.parametrize("format", ["rss", "atom"])
def test_feeds_may_repeat_what_others_list(format: str) -> None:
    parts = entries("x"), entries("x", sitemap=OTHER), outcome(), outcome(OTHER, format=format)
    assert not found(DuplicateUrls(), *parts)


def test_news_may_be_listed_elsewhere_too() -> None:
    assert not found(DuplicateUrls(), entries("x", news=News(title="x")), entries("x", sitemap=OTHER))


@given(st.lists(st.tuples(st.sampled_from("ab"), st.lists(st.sampled_from("xyz"), min_size=1, max_size=4)), max_size=8))
def test_listings_count_what_a_plain_count_does(parts: list[tuple[str, list[str]]]) -> None:
    listed_so = [entries(*pages, sitemap=name) for name, pages in parts]
    value = {each.code: each.count for each in found(DuplicateUrls(), *listed_so)}
    in_document = [(name, page) for name, pages in parts for page in pages]
    twice = len(in_document) - len({*in_document})
    several = len({*in_document}) - len({page for _, page in in_document})
    assert value == {code: number for code, number in (("U06", twice), ("U07", several)) if number}


# --- spellings ---


def spellings(*parts: list[UrlRecord]) -> list[tuple[int | None, str]]:
    return [(each.line, each.message) for each in problems(UrlVariants(), *parts) if each.code == "U11"]


def test_rarer_scheme_is_reported() -> None:
    pages = entries(f"{A}/1", f"{A}/2", "http://a.example/3")
    assert spellings(pages) == [(3, "1 URL on http://a.example, 2 on https://a.example: http and https are mixed")]


def test_with_equal_counts_one_host_is_reported() -> None:
    pages = entries("https://www.a.example/1", f"{A}/2")
    reported = "1 URL on https://www.a.example, 1 on https://a.example: www and the bare host are mixed"
    assert spellings(pages) == [(1, reported)]


def test_all_spellings_are_held_against_the_most_frequent_one() -> None:
    pages = entries(f"{A}/1", f"{A}/2", "http://www.a.example/3", "http://a.example:8080/4", "https://ida@a.example/5")
    reported = "1 URL on http://www.a.example, 3 on https://a.example: http and https, www and the bare host are mixed"
    assert spellings(pages) == [(3, reported)]


# --- single URLs ---


@pytest.mark.parametrize(("page", "name"), [
    ("a?utm_source=x", "utm_source"), ("a?b=c&amp=1&GCLID=1", "GCLID"), ("a;jsessionid=1F", "jsessionid"),
    ("a?sid=0123456789abcdef", "sid"), ("a?sid=77", None), ("a?sid", None),
    ("a?PHPSESSID=1&b=2", "PHPSESSID"), ("a?side=left", None), ("a?reside=1", None),
    ("sid=1/a", None), ("a?q=utm_source", None), ("a?utm=1", None), ("a?srsltid=AfmB", "srsltid"),
    ("a/?replytocom=12", "replytocom"), ("a?preview=true", "preview"), ("a?x=1&preview=true&y=2", "preview"),
    ("a?preview=trueish", None), ("a?preview=1", None), ("a?preview", None), ("a?preview_id=3", "preview_id"),
    ("a?gad_source=1", "gad_source"),
])
def test_tracking_and_session_parameters(page: str, name: str | None) -> None:
    reported = [each.message for each in problems(SessionParameters(), entries("x", page))]
    assert reported == ([f"{A}/{page} has the parameter {name}"] if name else [])


@pytest.mark.parametrize(("pages", "lines"), [
    (["a", "b", "?p=12", "blog/?page_id=3"], [2, 3]),
    (["a", "?p=12", "?p=13"], []),  # most are of this form
    (["a", "?p=12"], [1]),
    (["a", "b", "c", "?p=12&x=1", "?p=a", "x?p=3", "?q=1&p=2", "?page=2"], []),
])
def test_links_by_number(pages: list[str], lines: list[int]) -> None:
    one_by_one = [[each] for each in entries(*pages, first_line=0)]
    assert [each.line for each in problems(SessionParameters(), entries(*pages, first_line=0))] == lines
    assert [each.line for each in problems(SessionParameters(), *reversed(one_by_one))] == lines


@pytest.mark.parametrize(("page", "word"), [
    ("undefined", "undefined"), ("null/", "null"), ("a/NaN/b", "NaN"), ("a?id=undefined", "undefined"),
    ("a?id=null&b=1", "null"), ("undefined?x=1", "undefined"), ("nullable", None), ("Null", None), ("nan", None),
    ("a/None/b", "None"), ("none", None), ("Nonesuch", None), ("p/:id", ":id"), (":lang/a", ":lang"), ("a/:id?", ":id"),
    ("p/%7Bslug%7D", "{slug}"), ("%5Bslug%5D", "[slug]"),
    ("a/%5B%5B...x%5D%5D/b", "[[...x]]"), ("wiki/Talk:a", None),
    ("a?x%5B%5D=1", None), ("a?q=%7Bslug%7D", None), ("a?q=/:id", None),
    ("a%5B1%5D", None), ("a/:", None), ("a/%7Ba,b%7D", None),
    ("a-undefined", None), ("undefined-a", None), ("a?null=1", None), ("a?q=not+null", None),
])
def test_values_that_were_not_set(page: str, word: str | None) -> None:
    reported = [(each.code, each.severity, each.message) for each in problems(UnsetValues(), entries("x", page))]
    message = f'"{word}" stands in place of a value: {A}/{page}; it may be a page'
    assert reported == ([("U15", "notice", message)] if word else [])


@pytest.mark.parametrize(("page", "escape"), [
    ("a?b=1&amp;c=2", "&amp;"), ("a&amp;b", "&amp;"), ("a?q=x%26amp%3By", "%26amp%3B"), ("a?q=x%26AMP;y", "%26AMP;"),
    ("a?q=x%26%2338%3By", "%26%2338%3B"), ("new%2520arrivals", "%2520"), ("a%252Fb", "%252F"), ("a?q=%2520", "%2520"),
    ("caf%25C3%25A9", "%25C3%25A9"), ("a%25c3%25a9", "%25c3%25a9"), ("a%2520?next=https%3A%2F%2Fb.example", "%2520"),
    ("a?b=1&c=2", None), ("a?amp;b=2", None), ("100%25", None), ("50%25de-descuento", None), ("50%25C3", None),
    ("a?next=https%3A%2F%2Fb.example%2F%2520", None), ("a%2525", None), ("examples%20", None),
])
def test_urls_escaped_twice(page: str, escape: str | None) -> None:
    reported = [each.message for each in problems(DoubleEscapes(), entries("x", page))]
    assert reported == ([f"{A}/{page} holds {escape}, which was escaped twice"] if escape else [])


def test_an_entity_that_began_a_fragment_was_escaped_twice() -> None:
    record, other = entries("a?x=1&", "b")
    record.problems = (report("U08", "fragment dropped", sitemap=MAP, line=1, raw=f"{A}/a?x=1&#038;y=2"),)
    other.problems = (report("U08", "fragment dropped", sitemap=MAP, line=2, raw=f"{A}/b#38"),)
    (found_one,) = problems(DoubleEscapes(), [record, other])
    assert (found_one.code, found_one.line) == ("U17", 1)


@pytest.mark.parametrize(("page", "extension"), [
    ("a.jpg", "jpg"), ("a.JPEG?x=1", "JPEG"), ("b/site.css", "css"), ("feed.xml", "xml"), ("a.pdf", None),
    ("a.html", None), ("a.jpg/b", None), ("a?file=b.jpg", None), ("jpg", None), ("https://b.zip/", None),
    ("https://b.zip/x", None),
])
def test_urls_of_assets(page: str, extension: str | None) -> None:
    reported = [each.message for each in problems(NonPageFiles(), entries("x", page))]
    assert reported == ([f"{A}/{page} ends in .{extension}: not a page"] if extension else [])


def test_every_asset_is_found_among_other_urls() -> None:
    pages = [f"a.{extension}" for extension in sorted(ASSETS)]
    assert len(problems(NonPageFiles(), entries("x", *pages))) == len(pages)
    for page in pages:
        assert [each.raw for each in problems(NonPageFiles(), entries("x", "y.html", page, "z"))] == [f"{A}/{page}"]


@pytest.mark.parametrize(("host", "is_private"), [
    ("10.0.0.1", True), ("192.168.1.7:8080", True), ("[::1]", True), ("localhost", True), ("api.localhost", True),
    ("169.254.169.254", True), ("8.8.8.8", False), ("[2606:4700::1111]", False), ("localhost.example", False),
    ("10.example", False),
])
def test_private_addresses(host: str, is_private: bool) -> None:
    reported = places(PrivateHosts(), entries("x", f"http://{host}/a", f"http://{host}/b"))
    assert reported == ([("U14", MAP, 2), ("U14", MAP, 3)] if is_private else [])


# --- dates ---


@pytest.mark.parametrize(("lastmod", "precision", "is_late"), [
    (NOW + timedelta(minutes=10), "second", False),
    (NOW + timedelta(minutes=10, seconds=1), "second", True),
    (NOW + timedelta(days=1), "day", False),
    (NOW + timedelta(days=1, seconds=1), "day", True),
    (NOW + timedelta(hours=2), "minute", True),
    (NOW + timedelta(hours=2), "month", False),
])
def test_the_future_begins_when_no_clock_can_explain_it(lastmod: datetime, precision: str, is_late: bool) -> None:
    assert bool(found(FutureDates(lambda: NOW), dated(NOW, lastmod, precision=precision))) == is_late
    ref = SitemapRef(MAP, lastmod, precision, f"{A}/index.xml", 7)  # type: ignore[arg-type]
    reported = [(each.code, each.url, each.sitemap, each.line) for each in problems(FutureDates(lambda: NOW), ref)]
    assert reported == [("D02", MAP, f"{A}/index.xml", 7)] * is_late


def test_an_index_may_state_no_lastmod() -> None:
    assert not found(FutureDates(lambda: NOW), SitemapRef(MAP))


def same(number: int, of: int) -> list[UrlRecord]:
    """`count` equal dates, and others."""
    others = [at("2026-09-01") + timedelta(hours=each) for each in range(of - number)]
    return dated(*["2026-10-01"] * number, *others)


@pytest.mark.parametrize(
    ("alike", "of", "is_reported"), [(18, 20, True), (17, 20, False), (19, 19, False), (20, 20, True), (90, 100, True)]
)
def test_same_lastmod_for_nine_in_ten_of_twenty(alike: int, of: int, is_reported: bool) -> None:
    reported = [each.message for each in problems(SitemapLastmods(None), same(alike, of), outcome())]
    assert reported == ([f"{alike} of {of} lastmods are 2026-10-01T00:00:00Z"] if is_reported else [])


def test_dates_of_several_blocks_are_counted_together() -> None:
    blocks = [same(10, 10), same(10, 10)]
    assert [each.code for each in found(SitemapLastmods(None), *blocks, outcome())] == ["D03"]
    assert not found(SitemapLastmods(None), same(10, 10), outcome(), same(10, 10), outcome())


def test_news_may_be_of_the_same_day_and_without_lastmod() -> None:
    news = News(title="x")
    assert not found(SitemapLastmods(None), dated(*["2026-10-01"] * 20, news=news), outcome())
    assert not found(SitemapLastmods(None), entries("a", "b", news=news), outcome())


@pytest.mark.parametrize(("dates", "seconds", "is_reported"), [
    ([NOW] * 5, 0.0, True),
    ([NOW - timedelta(seconds=60)] * 4 + [NOW + timedelta(seconds=60)], 0.0, True),
    ([NOW] * 4, 0.0, False),
    ([NOW] * 9 + [NOW - timedelta(seconds=61)], 0.0, False),
    ([NOW] * 9 + [NOW - timedelta(seconds=61)], 2.0, True),
    ([NOW] * 9 + [NOW + timedelta(seconds=61)], 2.0, False),
])
def test_the_time_of_the_request(dates: list[datetime], seconds: float, is_reported: bool) -> None:
    end = outcome(seconds=seconds)
    assert ("D04" in {each.code for each in found(SitemapLastmods(lambda: NOW), dated(*dates), end)}) == is_reported
    assert not found(SitemapLastmods(None), dated(*dates), end)
    assert not found(SitemapLastmods(lambda: NOW), dated(*dates, precision="day"), end)


@pytest.mark.parametrize(("stated", "precision", "newest", "is_reported"), [
    ("2026-10-01T10:00:00", "second", "2026-10-01T10:10:00", False),
    ("2026-10-01T10:00:00", "second", "2026-10-01T10:10:01", True),
    ("2026-10-01", "day", "2026-10-02T23:59:59", False),
    ("2026-10-01", "day", "2026-10-03T00:00:00", True),
    ("2026-10-01", "month", "2026-10-31T00:00:00", False),
    ("2026-10-01T10:00:00", "second", "2026-09-01", False),
])
def test_index_lastmod_older_than_its_entries(stated: str, precision: str, newest: str, is_reported: bool) -> None:
    ref = SitemapRef(MAP, at(stated), precision, f"{A}/index.xml", 7)  # type: ignore[arg-type]
    reported = places(SitemapLastmods(None), ref, dated(newest, "2020-01-01"), outcome())
    assert reported == ([("D05", f"{A}/index.xml", 7)] if is_reported else [])


def test_a_day_may_have_begun_elsewhere() -> None:
    ref = SitemapRef(MAP, at("2026-05-01T22:30:00"), "second", f"{A}/index.xml", 7)
    assert not found(SitemapLastmods(None), ref, dated("2026-05-02", precision="day"), outcome())
    assert found(SitemapLastmods(None), ref, dated("2026-05-03", precision="day"), outcome())


def test_of_two_indexes_each_is_compared_whenever_it_is_read() -> None:
    first = SitemapRef(MAP, at("2026-10-05"), "day", f"{A}/one.xml", 1)
    second = SitemapRef(MAP, at("2020-10-05"), "day", f"{A}/two.xml", 1)
    read = dated("2026-10-05"), outcome()
    for items in ((first, second, *read), (*read, second, first)):
        assert places(SitemapLastmods(None), *items) == [("D05", f"{A}/two.xml", 1)]


@pytest.mark.parametrize(("dates", "urls", "is_reported"), [(1, 2, False), (1, 3, True), (0, 1, True), (3, 4, False)])
def test_half_of_the_urls_have_a_date(dates: int, urls: int, is_reported: bool) -> None:
    pages = dated(*["2026-10-01"] * dates) + entries(*map(str, range(urls - dates)))
    assert bool(found(SitemapLastmods(None), pages, outcome())) == is_reported
    assert not found(SitemapLastmods(None), pages, outcome(format="text"))


@pytest.mark.parametrize(("lastmod", "precision", "is_reported"), [
    (NOW - timedelta(days=365, seconds=2), "second", True),
    (NOW - timedelta(days=364), "second", False),
    (at("2025-01-01"), "year", False),  # within the limit of a year
    (at("2024-01-01"), "year", True),
])
def test_nothing_newer_than_a_year(lastmod: datetime, precision: str, is_reported: bool) -> None:
    older = dated("2001-01-01", "2001-01-02")
    reported = places(StaleSite(NOW), older, dated(lastmod, precision=precision))
    assert reported == ([("D08", MAP, 1)] if is_reported else [])
    assert not found(StaleSite(NOW), entries("undated"))


@pytest.mark.parametrize("partial", [
    [outcome(OTHER, complete=False, status=503)],
    [outcome(complete=False)],
    [outcome(dropped={"date": 3})],  # of a filtered dump
    [SitemapRef(MAP), SitemapRef(OTHER), outcome()],  # a target that is one of two sitemaps
])
def test_a_site_that_was_read_in_part_may_have_a_newer_lastmod(partial: list[Outcome | SitemapRef]) -> None:
    check = StaleSite(NOW)
    assert not found(check, dated("2020-01-01"), *partial)
    assert check.notes == ["not all sitemaps were read completely: D08 not checked"]
    assert check.unchecked == {"D08": check.notes[0]}
    check = StaleSite(NOW)
    assert not found(check, dated(NOW), *partial)
    assert not check.notes
    assert found(StaleSite(NOW), dated("2020-01-01"), SitemapRef(MAP), outcome())


EQUAL = [0.5] * 9


@pytest.mark.parametrize(("numbers", "is_reported"), [([*EQUAL, 0.5], True), (EQUAL, False), ([*EQUAL, 0.6], False)])
def test_priorities_that_are_all_the_same(numbers: list[float], is_reported: bool) -> None:
    pages = [UrlRecord(f"{A}/{line}", priority=each, sitemap=MAP, line=line) for line, each in enumerate(numbers)]
    reported = problems(EqualPriorities(), pages[:4], pages[4:], outcome())
    assert [each.message for each in reported] == ([f"all {len(numbers)} priorities are 0.5"] if is_reported else [])


# --- documents ---


@pytest.mark.parametrize("fields", [
    {"etag": '"1"'},
    {"last_modified": "Sun, 01 Nov 2026 12:00:00 GMT"},
    {"format": "robots"},
    {"status": 404, "format": None},
    {"status": None},
    {"not_modified": True},
])
def test_response_with_a_validator_is_not_reported(fields: dict[str, Any]) -> None:
    assert [each.code for each in found(MissingValidators(), outcome())] == ["F10"]
    assert not found(MissingValidators(), outcome(**fields))


@pytest.mark.parametrize(("fields", "reported"), [
    ({"entries": 0, "kept": 0}, "it has no entry"),
    ({"entries": 3, "kept": 0}, "search engines can use none of its 3 entries"),
    ({"entries": 3, "kept": 1}, None),
    ({"entries": 0, "kept": 0, "bytes_decoded": 0}, None),  # not read, or an alias of another document
    ({"entries": 0, "kept": 0, "not_modified": True}, None),
    ({"entries": 0, "kept": 0, "format": "robots"}, None),
    ({"entries": 0, "kept": 0, "complete": False}, None),  # it was truncated before its first entry
    ({"entries": 3, "kept": 0, "complete": False}, "search engines can use none of its 3 entries"),
    ({"entries": 3, "kept": 0, "dropped": {"date": 3}}, None),  # dropped by a filter
    ({"entries": 0, "kept": 0, "format": None}, None),
])
def test_a_sitemap_lists_something(fields: dict[str, Any], reported: str | None) -> None:
    assert [each.message for each in problems(EmptySitemaps(), outcome(**fields))] == ([reported] if reported else [])


# --- hreflang ---


@pytest.mark.parametrize("code", [
    "en", "de-AT", "zh-Hant-TW", "x-default", "X-Default", "sr-Latn", "zh-Hans", "es-LA", "kr",
])
def test_codes_that_are_right(code: str) -> None:
    assert hreflang_fault(code) is None


@pytest.mark.parametrize(("code", "fault"), [
    ("en-UK", "uk is no region; GB is meant"),
    ("en_US", "it is written with a hyphen, en-US"),
    ("gb", "gb is no language; en-GB is meant"),
    ("cz", "cz is no language; cs is meant"),
    ("xx", "xx is no language"),
    ("en-XX", "xx is no region"),
    ("english", "no language code"),
    ("de-DEU", "deu is no region; DE is meant"),
    ("en_USA", "usa is no region; US is meant"),
    ("zh-CHN", "chn is no region; CN is meant"),
    ("zh-CHS", "chs is no region; Hans is meant"),
    ("zh-cht", "cht is no region; Hant is meant"),
    ("en-CHS", "chs is no region"),
    ("ar-EGY", "egy is no region; EG is meant"),
    ("ar-UAE", "uae is no region"),
    ("ar-GCC", "gcc is no region"),
    ("ar-yue", "yue is no region"),
    ("zh_cmn", "it is written with a hyphen, zh-cmn"),
    ("x_default", "it is written x-default"),
    ("Xdefault", "it is written x-default"),
    ("en-", "no language code"),
    ("", "no language code"),
    ("en us", "no language code"),
    ("eng", "eng is written with two letters, en"),
    ("GER-at", "ger is written with two letters, de"),
    ("deu", "deu is written with two letters, de"),
    ("sr-SP", "sp is no region; RS is meant"),
    ("es-SP", "sp is no region; ES is meant"),
    ("fr-SP", "sp is no region"),
    ("uk-UK", "uk is no region; UA is meant"),
    ("de-EU", "eu is no region"),
    ("sp", "sp is no language; es is meant"),
    ("es-419", "419 is a UN code of a region, and Google supports countries only"),
    ("en-150", "150 is a UN code of a region, and Google supports countries only"),
    ("de-at-1996", "Google supports language, script and country only, and not 1996"),
    ("zh-yue", "Google supports language, script and country only, and not yue"),
    ("zh-cmn-Hans-CN", "Google supports language, script and country only, and not cmn"),
    ("en-x-us", "Google supports language, script and country only, and not x-us"),
    ("en-us-u-ca-roc", "Google supports language, script and country only, and not u-ca-roc"),
    ("fil", "Google supports languages of two letters (ISO 639-1) only, and not fil; tl is the nearest"),
    ("HAW", "Google supports languages of two letters (ISO 639-1) only, and not HAW"),
])
def test_codes_that_are_wrong(code: str, fault: str) -> None:
    assert hreflang_fault(code) == fault


@pytest.mark.parametrize(("code", "others", "name", "says"), [
    ("es-LA", "en", "a.example", "Spanish in Laos"),
    ("kr", "en", "a.example", "Kanuri"),
    ("KR", "en", "a.example", "Kanuri"),
    ("kr", "en ko-KR", "a.example", None),
    ("kr", "en kr-KR", "a.example", "Kanuri"),
    ("kr-KR", "en kr", "a.example", "Kanuri in Korea"),
    ("be", "nl fr", "a.example", "Belarusian"),
    ("be", "ru en", "a.example", None),
    ("be", "be-BY", "a.example", None),
    ("be", "nl be-BE", "a.example", "Belarusian"),
    ("be", "en", "shop.by", None),
    ("be", "en", "by", "Belarusian"),
    ("se", "nb", "a.example", None),
    ("es-AM", "en", "a.example", "Spanish in Armenia"),
    ("es-SA", "en es", "a.example", "Spanish in Saudi Arabia"),
    ("ar-ME", "ar-AE", "a.example", "Arabic in Montenegro"),
    ("br", "pt en", "a.example", "Breton"),
    ("br", "fr", "a.example", None),
    ("in", "en", "a.example", "Indonesian, by its old code"),
    ("sa", "ar en", "a.example", "Sanskrit"),
    ("sa", "hi en", "a.example", None),
    ("lo-LA", "en", "a.example", None),
    ("de", "en", "a.example", None),
])
def test_codes_that_are_rarely_meant(code: str, others: str, name: str, says: str | None) -> None:
    doubt = hreflang_doubt(code, (*others.split(), code), name)
    assert (doubt is None) == (says is None)
    assert doubt is None or doubt.startswith(f"it says {says}; usually ")


def test_codes_in_doubt_are_valid() -> None:
    assert not [code for code in DOUBTS if hreflang_fault(code)]


@given(st.text(max_size=40))
def test_any_text_as_language_code_is_handled(code: str) -> None:
    fault = hreflang_fault(code)
    assert fault is None or fault


def test_the_registry_has_as_many_as_it_should() -> None:
    assert (len(REGIONS), len(LANGUAGES)) == (250, 190)
    assert all(len(code) == 2 and code.isalpha() and code.islower() for code in REGIONS | LANGUAGES)
    assert {short.lower() for short in SHORT_REGIONS.values()} <= REGIONS
    assert all(len(code) == 3 for code in SHORT_REGIONS)


def page(loc: str, *alternates: tuple[str | None, str], **fields: Any) -> UrlRecord:
    links = tuple(Alternate(code, f"{A}/{href}") for code, href in alternates)
    return UrlRecord(f"{A}/{loc}", alternates=links, **{"sitemap": MAP, "line": 1, **fields})


def test_alternates_without_a_code_are_no_translations() -> None:
    mobile = UrlRecord(f"{A}/x", alternates=(Alternate(None, f"{A}/m/x", "handheld"),) * 2, sitemap=MAP, line=1)
    listings = DuplicateUrls()
    assert not found([listings, HreflangAttributes(), HreflangReturnTags(listings)], [mobile])


def test_links_into_apps_are_no_translations() -> None:
    links = (Alternate("en", "android-app://com.example/x"), Alternate("en", "ios-app://1/x"))
    listings = DuplicateUrls()
    checks = [listings, HreflangAttributes(), HreflangReturnTags(listings)]
    assert not found(checks, [UrlRecord(f"{A}/x", alternates=links, sitemap=MAP, line=1)])


def test_two_pages_for_one_code_on_different_media_are_fine() -> None:
    one, two = Alternate("en", f"{A}/x"), Alternate("EN", f"{A}/m/x", "handheld")
    record = UrlRecord(f"{A}/x", alternates=(one, two, Alternate("x-default", f"{A}/x")), sitemap=MAP, line=1)
    assert not found(HreflangAttributes(), [record])
    two.media = None
    assert [each.code for each in found(HreflangAttributes(), [record])] == ["L05"]


def one_sided(*pages: UrlRecord) -> list[tuple[int | None, str | None]]:
    """Line, and the page without a return link: the same whether the pages come one by one or together."""
    one_by_one, together = (_one_sided(batches) for batches in ([[each] for each in pages], [[*pages]]))
    assert one_by_one == together
    return together


def _one_sided(batches: list[list[UrlRecord]]) -> list[tuple[int | None, str | None]]:
    listings = DuplicateUrls()
    checks = [listings, HreflangReturnTags(listings)]
    return [(each.line, each.raw) for each in problems(checks, *batches) if each.code == "L03"]


EN, DE, FR = ("en", "en"), ("de", "de"), ("fr", "fr")


def test_a_complete_set_is_fine() -> None:
    assert one_sided(*(page(name, EN, DE, FR) for name in ("en", "de", "fr"))) == []


def test_equivalent_escapes_are_the_same_page() -> None:
    lower, upper = ("en", "%c3%a9"), ("en", "%C3%A9")
    pages = [page("%c3%a9", upper, DE), page("de", lower, DE)]
    assert one_sided(*pages) == []
    assert [each.code for each in found(HreflangAttributes(), pages) if each.code == "L02"] == []
    assert [each.code for each in found(HreflangAttributes(), [page("de", lower, upper, DE)])] == ["L04"]


def test_text_that_is_no_url_has_a_key() -> None:
    assert url_key("a%zz/") == hash("a%zz/")
    assert url_key("%41") == hash("%41")


def test_pages_need_not_name_themselves() -> None:
    assert one_sided(page("en", DE), page("de", EN)) == []


def test_missing_return_link_is_reported() -> None:
    assert one_sided(page("en", EN, DE, line=3), page("de", DE, FR, line=5), page("fr", FR, DE, line=9)) == [
        (3, f"{A}/de")
    ]


def test_a_page_without_alternates_does_not_name_back() -> None:
    assert one_sided(page("en", EN, DE, line=2), page("de", line=4)) == [(2, f"{A}/de")]


def test_unlisted_alternates_are_not_judged() -> None:
    assert one_sided(page("en", EN, DE, FR), page("de", EN, DE, FR)) == []


def test_a_page_that_is_listed_twice_does_not_complete_a_set() -> None:
    assert one_sided(page("en", EN, DE, line=1), page("en", EN, DE, line=2), page("de", line=3)) == [(1, f"{A}/de")]


def test_alternates_of_a_second_listing_count() -> None:
    assert one_sided(page("en", EN, DE), page("de", DE, FR), page("de", DE, EN), page("fr", FR, DE)) == []


@pytest.mark.parametrize("partial", [
    [outcome(OTHER, complete=False, status=503)],
    [outcome(None, complete=False)],  # stopped
    [SitemapRef(OTHER), outcome()],  # a target that is one of two sitemaps
])
def test_return_links_that_an_unread_sitemap_may_have_are_not_missing(partial: list[Outcome | SitemapRef]) -> None:
    listings = DuplicateUrls()
    check = HreflangReturnTags(listings)
    pages = [page("en", EN, DE, line=1), page("de", line=2), page("fr", FR, EN, line=3)]
    problem, *others = problems([listings, check], pages, outcome(), *partial)
    assert (problem.line, problem.raw, others) == (3, f"{A}/en", [])  # en states all its alternates
    (note,) = check.notes
    assert note == (
        "not all sitemaps were read completely: L03 not checked for 1 link to pages whose alternates may be in "
        "the others"
    )
    assert {code for code, why in check.unchecked.items() if why == note} == {"L03"}


def test_a_page_that_names_only_itself_does_not_link_back() -> None:
    listings = DuplicateUrls()
    pages, unread = [page("en", EN, DE, line=1), page("de", DE, line=2)], outcome(OTHER, complete=False)
    (problem,) = problems([listings, HreflangReturnTags(listings)], pages, outcome(), unread)
    assert (problem.line, problem.raw) == (1, f"{A}/de")


def test_alternates_in_a_sitemap_that_was_cut_may_be_missing() -> None:
    listings = DuplicateUrls()
    pages = [page("en", EN, DE, line=1), page("de", DE, FR, line=2)]
    assert not problems([listings, HreflangReturnTags(listings)], pages, outcome(complete=False))


def compared(*parts: Any, **options: Any) -> list[tuple[str, int | None, str]]:
    """Code, line and message of what is found when the sets are compared, but L03."""
    listings = DuplicateUrls()
    checks = [listings, HreflangReturnTags(listings, **options)]
    reported = [each for each in problems(checks, *parts) if each.code[0] == "L" and each.code != "L03"]
    return [(each.code, each.line, each.message) for each in reported]


def test_alternates_that_no_sitemap_lists_are_reported_once() -> None:
    pages = [page("en", EN, DE, FR, line=2), page("de", EN, DE, FR, line=5)]
    message = f"{A}/fr is an alternate of {A}/en, and no sitemap lists it"
    assert compared(pages, outcome(), covers_site=True) == [("L07", 2, message)]


def test_unlisted_alternates_come_in_the_order_of_the_sitemaps() -> None:
    """Not in that of their arrival."""
    first, second = [page("de", EN, DE, FR, line=5, sitemap=MAP)], [page("en", EN, DE, FR, line=2, sitemap=OTHER)]
    expected = [("L07", 2, f"{A}/fr is an alternate of {A}/en, and no sitemap lists it")]
    assert compared(first, second, outcome(), outcome(OTHER), covers_site=True) == expected
    assert compared(second, first, outcome(OTHER), outcome(), covers_site=True) == expected


def test_alternates_on_hosts_without_a_listed_url_are_not_reported() -> None:
    record = page("en", EN)
    record.alternates += (Alternate("de", "https://b.example/de"),)
    assert compared([record], outcome(), covers_site=True) == []


@pytest.mark.parametrize(("written", "listed"), [
    ("http://a.example/de", f"{A}/de"),
    (f"{A}/de/", f"{A}/de"),
    (f"{A}/de", f"{A}/de/"),
    ("https://www.a.example/de", f"{A}/de"),
    ("http://www.a.example/de/", f"{A}/de"),
])
def test_another_form_of_a_listed_url_is_named(written: str, listed: str) -> None:
    links = (Alternate("en", f"{A}/en"), Alternate("de", written))
    pages = [
        UrlRecord(f"{A}/en", alternates=links, sitemap=MAP, line=1),
        UrlRecord(listed, alternates=(links[0], Alternate("de", listed)), sitemap=MAP, line=2),
    ]
    (found_one,) = compared(pages, outcome(), covers_site=True)
    message = f"{written} is an alternate of {A}/en, and no sitemap lists it; {listed} is listed"
    assert found_one == ("L07", 1, message)
    listings = DuplicateUrls()
    (back,) = problems([listings, HreflangReturnTags(listings)], pages, outcome())
    message = f"{listed} names {A}/en for en, which does not link back: it names {written} instead"
    assert (back.code, back.message) == ("L03", message)
    listings = [UrlRecord(listed, alternates=links, sitemap=MAP, line=1)]
    (own,) = [each.message for each in problems(HreflangAttributes(), listings) if each.code == "L02"]
    assert own == f"{listed} is not among its own alternates, but {written} is"


@pytest.mark.parametrize(("parts", "options", "note"), [
    ([outcome()], {}, "these may not be all sitemaps of the site: L07 not checked for 1 alternate"),
    ([outcome(), SitemapRef(MAP, sitemap=f"{A}/robots.txt")], {}, None),  # robots.txt names it, and no other
    ([outcome(complete=False)], {"covers_site": True}, f"{INCOMPLETE}: L07 not checked for 1 alternate"),
    (
        [outcome(dropped={"pattern": 1})],
        {"covers_site": True},
        "a filter left out URLs: L07 not checked for 1 alternate",
    ),
])
def test_alternates_that_an_unread_sitemap_may_list_are_a_note(
    parts: list[Any], options: dict[str, Any], note: str | None
) -> None:
    listings = DuplicateUrls()
    check = HreflangReturnTags(listings, **options)
    reported = [each.code for each in problems([listings, check], [page("en", EN, DE)], *parts)]
    assert (reported, check.notes) == (([], [note]) if note else (["L07"], []))


US = ("en-US", "en")


def test_return_link_under_another_code() -> None:
    message = f"{A}/de names {A}/en for en-us, and that itself for en"
    assert compared([page("en", EN, DE, line=1), page("de", US, DE, line=4)]) == [("L08", 4, message)]


@pytest.mark.parametrize("other", [
    [("EN", "en"), DE],
    [EN, US, DE],  # one of them is the same
    [EN, ("x-default", "en"), DE],
    [("x-default", "en"), DE],
])
def test_return_links_under_the_same_code(other: list[tuple[str, str]]) -> None:
    assert compared([page("en", EN, DE), page("de", *other)]) == []


def test_the_order_of_alternates_is_no_difference() -> None:
    listings = DuplicateUrls()
    check = HreflangReturnTags(listings)
    pages = [page("en", EN, DE, FR), page("de", FR, ("DE", "de"), EN)]
    assert not problems([listings, check], pages, [page("fr", DE, FR, EN)])


OTHER_DE = ("de", "de2")


def test_two_listings_with_different_alternates_contradict_each_other() -> None:
    pages = [page("en", EN, DE, line=1), page("en", EN, OTHER_DE, line=5)]
    pages += [page("de", EN, DE), page("de2", EN, OTHER_DE)]
    message = f"{A}/en has {A}/de2 for de, and in {MAP}:1 {A}/de"
    assert compared(pages) == [("L10", 5, message)]
    moved = [page("en", EN, OTHER_DE, line=2, sitemap=OTHER), *pages[3:]]
    message = f"{A}/en has {A}/de for de, and in {OTHER}:2 {A}/de2"
    assert compared(moved, [pages[0], pages[2]]) == compared([pages[0], pages[2]], moved) == [("L10", 1, message)]


@pytest.mark.parametrize("again", [[DE, EN], [EN, DE, FR], [EN], []])
def test_listings_that_do_not_contradict_each_other(again: list[tuple[str, str]]) -> None:
    pages = [page(name, EN, DE, FR) for name in ("en", "de", "fr")]
    assert [each for each in compared([page("en", *again), *pages]) if each[0] == "L10"] == []


class Known:
    """What is known of pages: their codes by path."""

    alternates: ClassVar[dict[int, bytes]] = {}

    def __init__(self, **codes: tuple[str, ...]) -> None:
        self._codes = codes

    def results(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        return ((url_key(f"{A}/{path}"), codes) for path, codes in self._codes.items())


def test_alternates_that_cannot_be_indexed_are_reported_once() -> None:
    pages = [page(name, EN, DE, FR, line=line) for line, name in enumerate(("de", "en", "fr"), 1)]
    known = Known(en=(), de=("C01",), fr=("C03", "C04"))
    assert compared(pages, page_results=[known]) == [
        ("L09", 1, f"{A}/de names {A}/fr for fr, which is noindex (C03)"),
        ("L09", 2, f"{A}/en names {A}/de for de, which answers 4xx or 5xx (C01)"),
    ]


def test_alternates_that_were_not_checked_are_a_note() -> None:
    for known, is_unchecked in ((Known(en=()), False), (Known(), True)):
        listings = DuplicateUrls()
        check = HreflangReturnTags(listings, [known])
        pages = [page("en", EN, DE), page("de", EN, DE)]
        assert not problems([listings, check], pages)
        note = f"{2 + 2 * is_unchecked} of 4 alternates lead to pages that were not checked"
        assert check.notes == [f"L09: {note}"]
        assert check.unchecked.get("L09") == (note if is_unchecked else None)


def test_an_empty_code_is_no_missing_link_to_itself() -> None:
    assert [each.code for each in problems(HreflangAttributes(), [page("en", ("", "en"), DE)])] == ["L01"]


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sets(st.sampled_from("abcdxy"), max_size=4)), min_size=1, max_size=7)
)
def test_return_links_are_those_of_a_plain_comparison(pages: list[tuple[str, set[str]]]) -> None:
    alternates = [[(other, other) for other in sorted(names)] for _, names in pages]
    records = [page(name, *alternates[line], line=line) for line, (name, _) in enumerate(pages)]
    links = {(name, other) for name, names in pages for other in names - {name}}
    known = {name for name, _ in pages}
    missing = {(one, other) for one, other in links if other in known and (other, one) not in links}
    reported = {(pages[line or 0][0], (raw or "")[-1]) for line, raw in one_sided(*records)}
    assert reported == missing


# --- news, videos, images ---

NEWS = {"name": "The Gazette", "language": "en", "title": "New", "publication_date": NOW}


def item(number: int = 1, **fields: Any) -> UrlRecord:
    return UrlRecord(f"{A}/{number}", news=News(**{**NEWS, **fields}), sitemap=MAP, line=number)


@pytest.mark.parametrize(("fields", "code"), [
    ({}, None),
    ({"publication_date": NOW - timedelta(hours=48)}, None),
    ({"publication_date": NOW - timedelta(hours=48, seconds=2), "publication_date_precision": "second"}, "N02"),
    # part of the period is recent
    ({"publication_date": at("2026-10-30"), "publication_date_precision": "day"}, None),
    ({"publication_date": at("2026-10-29"), "publication_date_precision": "day"}, "N02"),
    ({"language": "en-US"}, "N04"),
    ({"language": "fil"}, None),
    ({"publication_date": NOW + timedelta(minutes=10), "publication_date_precision": "second"}, None),
    ({"publication_date": NOW + timedelta(minutes=10, seconds=1), "publication_date_precision": "second"}, "N05"),
    ({"publication_date": at("2026-11-02"), "publication_date_precision": "day"}, None),
    ({"publication_date": at("2026-11-03"), "publication_date_precision": "day"}, "N05"),
])
def test_news(fields: dict[str, Any], code: str | None) -> None:
    assert [each.code for each in found(NewsItems(NOW), [item(**fields)], outcome())] == ([code] if code else [])


def test_unreadable_news_date_is_not_reported_as_missing() -> None:
    unreadable = report("D01", "no date", sitemap=MAP, line=1, field="news:publication_date", raw="soon")
    record = item(publication_date=None)
    record.problems = (unreadable,)
    assert not found(NewsItems(NOW), [record], outcome())


@pytest.mark.parametrize(("number", "is_reported"), [(1_000, False), (1_001, True)])
def test_a_thousand_news(number: int, is_reported: bool) -> None:
    items = [item(each) for each in range(number)]
    reported = problems(NewsCount(), items[:500], items[500:], outcome())
    assert [each.message for each in reported] == (["1,001 news items; Google reads 1,000"] if is_reported else [])


@pytest.mark.parametrize("code", ["english", "gb", "e", "", "en-us", "12", "ger "])
def test_no_language_of_a_publication(code: str) -> None:
    assert not is_publication_language(code)


VIDEO = {"thumbnail_loc": f"{A}/t.jpg", "title": "T", "description": "D", "content_loc": f"{A}/v.mp4"}


@pytest.mark.parametrize(("fields", "reported"), [
    ({}, []),
    ({"title": None, "thumbnail_loc": ""}, [("V01", "a video without thumbnail_loc, title")]),
    ({"content_loc": None}, [("V02", "a video with neither content_loc nor player_loc")]),
    ({"content_loc": f"{A}/x"}, [("V03", "content_loc is the page itself")]),
    (
        {"player_loc": {"value": f"{A}/x", "allow_embed": None, "autoplay": None}},
        [("V03", "player_loc is the page itself")],
    ),
    ({"expiration_date": NOW - timedelta(seconds=1)}, [("V06", "a video that expired on 2026-11-01T11:59:59Z")]),
    ({"expiration_date": NOW}, []),
    ({"expiration_date": at("2026-11-01"), "expiration_date_precision": "day"}, []),
    (
        {"expiration_date": at("2026-10-31"), "expiration_date_precision": "day"},
        [("V06", "a video that expired on 2026-10-31")],
    ),
    ({"description": "d" * 2_049}, [("V04", "a description of 2,049 characters; 2,048 are allowed")]),
])
def test_videos(fields: dict[str, Any], reported: list[tuple[str, str]]) -> None:
    record = UrlRecord(f"{A}/x", videos=(Video(**{**VIDEO, **fields}),), sitemap=MAP, line=3)
    assert [(each.code, each.message) for each in problems(Videos(NOW), [record])] == [
        (code, f"{A}/x: {message}") for code, message in reported
    ]


# --- robots.txt ---

ROBOTS = "User-agent: *\nDisallow: /private/\nDisallow: /*.php$\nUser-agent: other\nDisallow: /\n"
RULES = parse_rules(ROBOTS, "bot/1.0")


def disallowed(rules_of: Callable[[str], Rules | None], **more: Any) -> DisallowedUrls:
    return DisallowedUrls(AgentRules(rules_of, ["bot"]), **more)


def test_urls_forbidden_by_robots_txt_are_reported() -> None:
    check = disallowed(lambda url: RULES)
    pages = entries("a", "private/1", "x.php", "x.php?", "privat", "%70rivate/2", "a/private/")
    assert sorted(each.line for each in problems(check, pages)) == [2, 3, 6]
    assert check.notes == []


@given(
    st.lists(
        st.sampled_from(["", "a", "b/c", "private/", "%70rivate/x", "b%2Fc", "c.php", "d?e=f", "B/C", "%2e%2e/b"]),
        min_size=1,
    ),
    st.lists(
        st.sampled_from(
            [
                "User-agent: *", "User-agent: bot", "User-agent: other", "Disallow: /private", "Disallow: /b/",
                "Allow: /b/c", "Disallow: *.php", "Disallow:", "Disallow: /", "disalow /d", "Dissallow : /a$",
                "Crawl-delay: 3", "Sitemap: https://a.example/s.xml", "", "# Disallow: /c", "Disallow: /%62/",
                "Disallow: //b", "Disallow: b", "Author /x", "Archive: /y", "Noindex: /z", "Host: a.example",
            ]
        )
    ),
)  # fmt: skip
def test_prefix_check_of_rules_changes_no_result(pages: list[str], lines: list[str]) -> None:
    rules = parse_rules("\n".join(lines), "bot/1.0")
    records = entries(*pages)
    reported = sorted(each.line for each in problems(disallowed(lambda url: rules), records, select=["U12"]))
    assert reported == [record.line for record in records if not rules.allows(record.loc)]


def test_beyond_the_budget_of_work_a_sample_is_matched() -> None:
    check = disallowed(lambda url: RULES, budget=1_500_000)
    pages = [entries(*(f"private/{block}/{number}" for number in range(1_000))) for block in range(10)]
    (finding,) = found(check, *pages)
    (note,) = check.notes
    assert note == f"U12 checked {finding.count:,} of 10,000 URLs; its rules are too many to compare more"
    assert 500 < finding.count < 2_000


def test_without_robots_txt_nothing_is_reported() -> None:
    check = disallowed(lambda url: None if "b.example" in url else RULES)
    assert not found(check, entries("a", "https://b.example/private/"))
    reported = "U12 checked 1 of 2 URLs; the robots.txt of the others was not looked at"
    assert check.notes == [reported]


def test_later_robots_txt_applies_to_earlier_urls() -> None:
    known: list[bool] = []
    check = disallowed(lambda url: RULES if known else None)
    findings = Findings()
    for pages in (entries("private/1", "a"), entries("private/2")):
        check.on_urls(batch_of(MAP, pages), findings)
        known.append(True)
    check.on_end(findings)
    assert [(each.count, check.notes) for each in findings.ranked()] == [(2, [])]


def test_a_url_that_takes_too_long_to_compare_is_not_called_forbidden() -> None:
    rules = parse_rules("User-agent: *\n" + "Disallow: /*a*b$\n" * 20_000, "bot/1.0")
    assert not found(disallowed(lambda url: rules), entries("x" * 2_000))


# --- the overview ---


def test_overview_counts_months_sections_and_formats() -> None:
    survey = SiteOverview()
    pages = dated("2026-10-01", "2026-10-31", "2025-01-01") + entries("shop/a/b", "shop/c?x=/y/", "news/")
    ends = [outcome(f"{OTHER}?{each}", format=each) for each in ("urlset", "rss", "robots")]
    found(survey, pages, entries("shop/d", sitemap=OTHER), *ends)
    facts = {(fact.group, fact.name): fact.count for fact in survey.facts(ends)}
    assert facts == {
        ("lastmod month", "2025-01"): 1, ("lastmod month", "2026-10"): 2, ("lastmod none", "none"): 4,
        ("sections", "/"): 4, ("sections", "/shop/"): 3, ("formats", "urlset"): 1, ("formats", "rss"): 1,
    }


def check_classes(base: type[Check]) -> list[type[Check]]:
    """The package's checks, at any depth below the base class."""
    classes = [each for child in base.__subclasses__() for each in (child, *check_classes(child))]
    return [each for each in classes if hasattr(each, "codes") and each.__module__.startswith("sitemap_reader.")]


def test_codes_of_checks_are_in_the_catalogue() -> None:
    # UrlChecks finds by itself what CrawlCheck reads from a file, and more.
    codes = [code for check in check_classes(Check) if check is not UrlChecks for code in check.codes]
    codes += {*UrlChecks.codes} - {*CrawlCheck.codes}
    assert {*UrlChecks.codes} - {"C14", "C15"} < {*CrawlCheck.codes}
    assert len(codes) == len({*codes}) > 0
    assert {*codes} <= {*CATALOGUE}


def test_every_check_of_the_sitemaps_alone_is_in_a_table_of_checks() -> None:
    context = AuditContext(
        NOW, lambda: NOW, DuplicateUrls(), SitemapTree(), AgentRules(lambda url: None), lambda url: True, ()
    )
    always = {DuplicateUrls, SitemapLastmods, SiteOverview}
    of_sources = {BaselineCheck, CrawlCheck, UnchangedContentCheck, UrlChecks}
    assert {*check_classes(Check)} - {type(make(context)) for make in CHECKS} == always | of_sources
