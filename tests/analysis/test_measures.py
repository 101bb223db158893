"""Measures of dates and of sections, compared with counts made here page by page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from recorded import AT, rows, snapshot_of

import sitemap_reader as sr

Load = Callable[..., sr.Snapshot]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """`load(*records, at=AT)`."""
    return partial(snapshot_of, tmp_path, site="a")


def page(number: object, lastmod: datetime | None = None, precision: Any = "second", **more: Any) -> sr.UrlRecord:
    stated = None if lastmod is None else precision
    return sr.UrlRecord(f"https://a.example/{number}", lastmod, stated, **more)


def day(month: int, number: int, hour: int = 0, year: int = 2026) -> datetime:
    return datetime(year, month, number, hour, tzinfo=UTC)


# --- cadence ---

STARTS: dict[str, Callable[[date], date]] = {
    "day": lambda when: when,
    "week": lambda when: when - timedelta(days=when.weekday()),
    "month": lambda when: when.replace(day=1),
    "quarter": lambda when: when.replace(month=when.month - (when.month - 1) % 3, day=1),
    "year": lambda when: when.replace(month=1, day=1),
}


@pytest.mark.parametrize("freq", STARTS)
def test_cadence_counts_each_period_and_has_a_row_for_those_without_a_page(freq: str, load: Load) -> None:
    dates = [day(1, 1), day(1, 1, 23), day(1, 4, 23), day(1, 5), day(3, 31, 23), day(6, 14), day(12, 31, 23, 2025)]
    frame = load(*[page(number, when) for number, when in enumerate(dates)]).cadence(freq)
    start = STARTS[freq]
    expected = Counter(start(when.date()) for when in dates)
    assert {period.date(): pages for _, period, pages in rows(frame, "site", "period", "pages") if pages} == expected
    every = sorted({start(date(2025, 12, 31) + timedelta(days=n)) for n in range((day(6, 14) - dates[-1]).days + 2)})
    assert [period.date() for period in frame["period"]] == every
    assert set(frame["site"]) == {"a"}
    assert frame["pages"].sum() == len(dates)


def test_cadence_leaves_out_coarse_and_future_dates(load: Load) -> None:
    records = [page(1, day(5, 1)), page(2, day(5, 1), "day"), page(3, day(5, 1), "month"), page(4, day(1, 1), "year")]
    ahead = [page(6, AT + timedelta(minutes=9)), page(7, AT + timedelta(minutes=11))]
    snapshot = load(*records, page(5), *ahead, page(8, day(1, 1, year=2030), "year"))
    monthly = snapshot.cadence()
    assert rows(monthly[monthly["pages"] > 0], "period", "pages") == [
        (pd.Timestamp(2026, 5, 1, tz="UTC"), 3),
        (pd.Timestamp(2026, 6, 1, tz="UTC"), 1),
    ]
    assert "1 page without a date" in monthly.rule
    assert "1 page whose date states only the year" in monthly.rule
    assert "2 pages whose date is in the future" in monthly.rule
    assert snapshot.cadence("day")["pages"].sum() == 3
    assert "2 pages whose date states only the year or month" in snapshot.cadence("day").rule
    assert snapshot.cadence("year")["pages"].sum() == 5
    assert "states only" not in snapshot.cadence("year").rule


def test_cadence_names_the_median_and_the_busiest_period(load: Load) -> None:
    records = [page(n, day(3, 1)) for n in range(5)] + [page(n, day(5, 1)) for n in range(10, 12)]
    share = "with 71% (5 of 7 dated pages), all on 2026-03-01"
    assert load(*records).cadence().finding == f"Busiest month: 2026-03 {share}"
    only = "Busiest month: 2026-03 with 100% (5 of 5 dated pages), all on 2026-03-01"
    assert load(*records[:5]).cadence().finding == only
    assert load(*records).cadence("quarter").finding == f"Busiest quarter: 2026-Q1 {share}"
    median = "; median of the 8 weeks between the first and the last: 0 pages"  # whole weeks, also without a change
    assert load(*records).cadence("week").finding == f"Busiest week: 2026-02-23 {share}{median}"


def test_months_with_the_same_number_are_named_with_their_share(load: Load) -> None:
    records = [page(n, day(3 + n % 2, 1)) for n in range(4)] + [page(9, day(5, 1))]
    assert load(*records).cadence().finding == "Busiest months: 2026-03 and 2026-04 with 40% each (2 of 5 dated pages)"


def test_many_periods_with_the_same_number_are_named_by_the_first_and_the_last(load: Load) -> None:
    records = [page(10 * n + m, day(1 + n, 1 + m)) for n in range(4) for m in range(2)]
    median = "; median of the 3 months between the first and the last: 1 page"
    some = load(*records[::2], page(5, day(5, 1)), page(6, day(5, 2)), page(7, day(1, 2)))
    assert some.cadence().finding == f"Busiest months: 2026-01 and 2026-05 with 29% each (2 of 7 dated pages){median}"
    all_alike = load(*records).cadence().finding
    assert all_alike == "Busiest: 4 months between 2026-01 and 2026-04 with 25% each (2 of 8 dated pages)"


@pytest.mark.slow
def test_dates_at_the_ends_of_the_calendar_are_counted(load: Load) -> None:
    """A single very old date gives no million rows."""
    ends = [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC), day(5, 1)]
    snapshot = load(*[page(number, when) for number, when in enumerate(ends)])
    for freq in STARTS:
        frame = snapshot.cadence(freq)
        assert frame["pages"].sum() == 1
        assert len(frame) < 30_000
    assert snapshot.freshness()["pages"].sum() == 3
    for tz in ("UTC", "America/New_York", "Pacific/Kiritimati"):
        hours = snapshot.weekday_hour(tz=tz)
        assert hours["pages"].sum() == 1
        assert "1 page whose date is in the future, 1 page whose date is in the year 1" in hours.rule
    assert snapshot.sections()["newest"].tolist() == [pd.Timestamp(ends[2])]
    assert snapshot.changefreq_priority()["pages"].sum() == 6
    assert snapshot.lastmod_trust()["future"].tolist() == [1]


# --- weekday and hour ---


def test_hours_are_in_the_zone_and_dates_keep_their_day(load: Load) -> None:
    moments = [day(6, 7, 23), day(6, 8, 1), day(1, 4, 23), day(6, 7)]  # a Sunday, in summer and in winter
    records = [page(number, when) for number, when in enumerate(moments)]
    records += [page("d", day(6, 7), "day"), page("m", day(6, 1), "month"), page("none")]
    for tz in ("UTC", "Europe/Oslo", "America/New_York"):
        local = [when.astimezone(ZoneInfo(tz)) for when in moments]
        expected = Counter((each.strftime("%a"), each.hour) for each in local)
        frame = load(*records).weekday_hour(tz=tz)
        timed = frame[frame["hour"].notna()]
        assert {(weekday, hour): pages for weekday, hour, pages in rows(timed, "weekday", "hour", "pages")} == expected
        assert rows(frame[frame["hour"].isna()], "weekday", "pages") == [("Sun", 1)]
        assert "1 page without a date, 1 page whose date states only the year or month" in frame.rule
        assert f"({tz})" in frame.rule


def test_peak_of_the_week_is_in_the_finding(load: Load) -> None:
    tuesdays = [page(n, day(1, 6, 8) + timedelta(days=7 * n)) for n in range(10)]
    others = [page(f"x{n}", day(1, 7, 17) + timedelta(days=7 * n)) for n in range(4)]
    assert load(*tuesdays, *others).weekday_hour().finding == (
        "Most frequent weekday: Tue with 71% (10 of 14 dated pages); "
        "in UTC, most frequent hour: 08:00 with 71% (10 of 14 times)"
    )
    days = [page(n, day(1, 6) + timedelta(days=7 * n), "day") for n in range(10)]
    finding = "Most frequent weekday: Tue with 100% (10 of 10 dated pages); no date states a time"
    assert load(*days).weekday_hour().finding == finding


MIDNIGHTS = {
    "of the zone": ("UTC", [0] * 10, True),
    "of a zone with summer time": ("UTC", [17, 18] * 6, True),
    "of another zone, over the end of the day": ("UTC", [23, 0] * 6, True),
    "of the zone that is asked for": ("Asia/Tokyo", [15] * 12, True),
    "planned": ("UTC", [9] * 12, False),
    "with others": ("UTC", [0] * 8 + [7] * 3, False),
    "few": ("UTC", [0] * 9, False),
}


@pytest.mark.parametrize("case", MIDNIGHTS)
def test_days_that_are_written_as_midnight_state_no_hour(case: str, load: Load) -> None:
    tz, hours, is_midnight = MIDNIGHTS[case]
    records = [page(n, day(1, 6, hour) + timedelta(days=9 * n)) for n, hour in enumerate(hours)]
    made = load(*records).weekday_hour(tz=tz)
    assert made["pages"].sum() == len(hours)
    assert made["hour"].isna().all() == is_midnight
    assert made.finding.endswith("; no date states a time") == is_midnight


def test_an_hour_of_utc_is_found_in_a_zone_with_summer_time(load: Load) -> None:
    """A page each third day at 09:00 UTC, and one at another hour; in Berlin that is 10:00 or 11:00."""
    days = [day(1, 1) + timedelta(days=3 * n) for n in range(48)]
    records = [page(f"{n}-{hour}", when.replace(hour=hour)) for n, when in enumerate(days) for hour in (9, n % 24)]
    peak = "09:00 UTC (10:00 or 11:00 Europe/Berlin) with 51% (48 of 94 times)"
    assert load(*records).weekday_hour(tz="Europe/Berlin").finding.endswith(f"; most frequent hour: {peak}")
    local = [page(n, when.replace(hour=9, tzinfo=ZoneInfo("Europe/Berlin"))) for n, when in enumerate(days)]
    local = [*local, *(page(f"x{n}", when.replace(hour=n % 24)) for n, when in enumerate(days))]
    found = load(*local).weekday_hour(tz="Europe/Berlin").finding
    assert "in Europe/Berlin, most frequent hour: 09:00 with 5" in found
    tokyo = "in Asia/Tokyo, most frequent hour: 18:00 with 51% (48 of 94 times)"
    assert load(*records).weekday_hour(tz="Asia/Tokyo").finding.endswith(tokyo)


def test_no_weekday_stands_out_by_chance(load: Load) -> None:
    few = [page(n, day(1, 6) + timedelta(days=7 * n), "day") for n in range(9)]
    assert load(*few).weekday_hour().finding == "Too few dates (9) to compare weekdays; no date states a time"
    even = [page(n, day(1, 1) + timedelta(days=n), "day") for n in range(70)]
    assert load(*even).weekday_hour().finding.startswith("No weekday has clearly more pages than the others; ")


@pytest.mark.slow
def test_pages_of_a_day_are_one_date_for_the_rhythm(load: Load) -> None:
    """Three Mondays with twelve pages each among twelve days: chance, which twelve such Mondays are not."""
    others = [page(f"x{n}", day(1, 6) + timedelta(days=8 * n), "day") for n in range(12)]
    mondays = [page(f"{n}-{m}", day(1, 5) + timedelta(days=7 * n), "day") for n in range(12) for m in range(12)]
    few = load(*mondays[:36], *others).weekday_hour().finding
    assert few.startswith("No weekday has clearly more pages than the others; ")
    many = load(*mondays, *others).weekday_hour().finding
    assert many.startswith("Most frequent weekday: Mon with 93% (145 of 156 dated pages)")
    hours = [page(f"{n}-{m}", day(1, n + 1, 9), "second") for n in range(2) for m in range(5)]
    timed = [page(f"t{n}", day(2, 1, n % 24) + timedelta(days=n), "second") for n in range(24)]
    finding = "in UTC, no hour has clearly more pages than the others"
    assert finding in load(*hours, *timed).weekday_hour().finding


def test_neither_untrusted_dates_nor_one_batch_allow_a_conclusion(load: Load) -> None:
    spread = [page(n, day(1, 1) + timedelta(days=n), "day") for n in range(70)]
    batch = [page(f"b{n}", day(3, 3), "day") for n in range(50)]
    some = load(*spread, *(page(f"b{n}", day(3, 3, 9) + timedelta(seconds=n), "second") for n in range(50)))
    month = "busiest month: 2026-01 with 44% (31 of 70 dated pages)"
    assert some.cadence().finding == f"By doubtful lastmods (0.58), {month}"
    built = "50 pages with the lastmod of a build or an import, of sitemaps whose lastmods are doubtful (below 0.9)"
    for made in (some.cadence(), some.weekday_hour(), some.freshness(), some.calendar()):
        assert f"Not counted: {built}." in made.rule
        assert made.finding.startswith("By doubtful lastmods (0.58), ")
    assert rows(some.freshness(), "age", "pages")[-1] == ("untrusted", 50)
    more = [page(f"m{n}", day(3, 3), "day") for n in range(30)]
    untrusted = load(*spread, *batch, *more)
    for made in (untrusted.weekday_hour(), untrusted.cadence(), untrusted.freshness(), untrusted.calendar()):
        assert made.finding == "No conclusion: lastmods cannot be trusted (0.46)"
        assert "Not counted: 150 pages of sitemaps whose lastmods cannot be trusted (below 0.5)." in made.rule
    undated = load(page("a"), page("b"))
    for made in (undated.weekday_hour(), undated.cadence(), undated.freshness()):
        assert made.finding == "No page has a lastmod"


def test_one_day_of_many_pages_is_no_weekday(load: Load) -> None:
    published = [day(1, 1) + timedelta(days=n) for n in range(70)] + [day(3, 3)] * 50
    news = [sr.News(publication_date=when, publication_date_precision="day") for when in published]
    made = load(*[page(number, news=each) for number, each in enumerate(news)]).weekday_hour()
    reason = "no weekday stands out: 51 of 60 pages of Tue are of one day, 2026-03-03"
    assert made.finding == f"By publication date, {reason}; no date states a time"


def test_rare_weekdays_and_hours_are_named(load: Load) -> None:
    half_a_year = [day(1, 5) + timedelta(days=n) for n in range(160)]
    kept = [when for n, when in enumerate(half_a_year) if when.weekday() < 5 or not n % 5]
    found = load(*[page(number, when, "day") for number, when in enumerate(kept)]).weekday_hour().finding
    assert found.startswith("Mon to Fri have 93% (115 of 124 dated pages); fewest on Sat and Sun; ")
    days = [day(1, 1, year=2025) + timedelta(days=n) for n in range(400)]
    timed = [page(n, when.replace(hour=8 + n % 10)) for n, when in enumerate(days)]
    hours = "in UTC, the hours 08:00 to 17:59 have 100% (400 of 400 times)"
    assert load(*timed).weekday_hour().finding == f"No weekday has clearly more pages than the others; {hours}"


def test_a_weekday_that_stands_out_among_the_frequent_ones_is_named_first(load: Load) -> None:
    days = [day(1, 1, year=2024) + timedelta(days=n) for n in range(366)]
    busy = [when for n, when in enumerate(days) if (when.weekday() == 1) or (when.weekday() < 5 and n % 3 == 0)]
    rare = [when for when in days[:14] if when.weekday() > 4]
    found = load(*[page(n, when, "day") for n, when in enumerate(busy + rare)]).weekday_hour().finding
    assert found.startswith("Most frequent weekday: Tue with 42% (53 of 127 dated pages); fewest on Sat and Sun; ")


def test_small_sitemaps_are_judged_by_those_of_the_site(load: Load) -> None:
    """Of eight equal dates nothing is known; beside two hundred that a build wrote they are no evidence."""
    built = [page(f"b{n}", day(6, 1), "day", sitemap="built") for n in range(200)]
    few = [page(f"f{n}", day(6, 2), "day", sitemap="few") for n in range(8)]
    for name in ("cadence", "weekday_hour", "freshness", "calendar"):
        found = getattr(load(*built, *few), name)().finding
        assert found == "No conclusion: lastmods cannot be trusted (0.03)"
        assert not getattr(load(*few), name)().finding.startswith("No")
    assert "208 pages of sitemaps whose lastmods cannot be trusted" in load(*built, *few).calendar().rule


def test_the_dates_of_one_untrusted_sitemap_are_left_out_by_all_measures(load: Load) -> None:
    built = [page(f"b{n}", day(6, 10), "day", sitemap="built") for n in range(40)]
    posts = [page(f"p{n}", day(1, 1) - timedelta(days=5 * n), "day", sitemap="posts") for n in range(400)]
    site = load(*built, *posts)
    assert site.freshness().finding == (
        "0% (0 of 400 dated pages) changed within 30 days, 10% (41 of 400) within a year; "
        "of 440 pages, 40 have a date that does not count"
    )
    counted = [site.cadence()["pages"].sum(), site.weekday_hour()["pages"].sum(), site.calendar()["pages"].sum()]
    assert counted == [400, 400, 400]
    assert site.verdict.startswith("Lastmods can be trusted (0.90)")


def test_ages_say_on_which_day_if_the_time_of_reading_is_unknown(load: Load) -> None:
    today = datetime.now(UTC).date()
    found = load(page(1, day(1, 1)), page(2, day(1, 9)), at=None).freshness().finding
    assert f"changed within 30 days of {today} (as the time of reading is unknown: give at=), " in found
    assert "unknown" not in load(page(1, day(1, 1))).freshness().finding


@pytest.mark.parametrize("name", ["cadence", "calendar"])
def test_periods_are_those_of_a_time_zone(name: str, load: Load) -> None:
    site = load(page(1, day(4, 30, 23)), page(2, day(4, 30), "day"), page(3, day(5, 1, 21)))
    for tz, counts in {"UTC": [2, 1], "Europe/Oslo": [1, 2], "America/New_York": [2, 1]}.items():
        made = getattr(site, name)(tz=tz)
        assert made["pages"].tolist() == counts
        assert f"({tz})" in made.rule
        starts = [datetime(2026, month, 1, tzinfo=ZoneInfo(tz)) for month in (4, 5)]
        assert made["period"].tolist() == starts
        assert (made["period"] < site.sections()["newest"].max()).all()  # in UTC
    assert len(getattr(site, name)("Q", tz="Asia/Tokyo")) == 1


# --- freshness ---


def test_freshness_ages_have_exact_bounds(load: Load) -> None:
    ends = {"0-7 days": 7, "8-30 days": 30, "31-90 days": 90, "91-365 days": 365}
    records, expected = [], Counter({"older": 0})
    for (name, days), after in zip(ends.items(), [*list(ends)[1:], "older"], strict=True):
        end = AT - timedelta(days=days)
        records += [page(f"in{days}", end), page(f"out{days}", end - timedelta(seconds=1))]
        expected += Counter([name, after])
    records += [page("none"), page("f", AT + timedelta(minutes=11)), page("clock", AT + timedelta(minutes=9))]
    expected += Counter(["undated", "in the future", "0-7 days"])
    frame = load(*records).freshness()
    assert dict(rows(frame, "age", "pages")) == expected
    assert frame["share"].sum() == pytest.approx(1)
    assert frame["age"].tolist() == [*ends, "older", "undated", "in the future"]
    assert f"{AT:%Y-%m-%d}" in frame.rule


@pytest.mark.parametrize(("lastmod", "precision", "age"), [
    (day(6, 8), "day", "0-7 days"),  # its last second is less than 7 days ago
    (day(6, 8), "second", "8-30 days"),
    (day(6, 1), "month", "8-30 days"),
    (day(1, 1), "year", "91-365 days"),
    (day(6, 16), "day", "0-7 days"),  # where the day has already begun
    (day(6, 17), "day", "in the future"),
    (day(7, 1), "month", "in the future"),
])
def test_coarse_date_has_the_age_of_its_rule(lastmod: datetime, precision: str, age: str, load: Load) -> None:
    frame = load(page(1, lastmod, precision)).freshness()
    assert rows(frame[frame["pages"] > 0], "age", "pages", "share") == [(age, 1, 1.0)]


def test_freshness_has_a_row_for_each_age_but_the_future(load: Load) -> None:
    frame = load(page(1, day(6, 14)), page(2)).freshness()
    assert rows(frame, "age", "pages") == [
        ("0-7 days", 1), ("8-30 days", 0), ("31-90 days", 0), ("91-365 days", 0), ("older", 0), ("undated", 1)
    ]  # fmt: skip
    recent = "100% (1 of 1 dated page) changed within 30 days, 100% (1 of 1) within a year"
    assert frame.finding == f"{recent}; of 2 pages, 1 has no date"


# --- trust ---


def test_each_sitemap_is_judged_by_its_own_dates(load: Load) -> None:
    alike = [page(f"i{n}", day(1, 2), sitemap="alike") for n in range(10)] + [page("i10", day(1, 3), sitemap="alike")]
    few = [page(f"w{n}", day(1, 2), sitemap="few") for n in range(9)]
    ahead = [page("h1", AT + timedelta(minutes=11), sitemap="ahead"), page("h2", day(6, 17), "day", sitemap="ahead")]
    ahead += [page("h3", day(6, 16), "day", sitemap="ahead"), page("h4", day(2, 1), sitemap="ahead")]
    now = [page(f"n{n}", AT - timedelta(seconds=15 * n), sitemap="now") for n in range(5)]
    now += [page("n5", AT - timedelta(seconds=61), sitemap="now"), page("n6", sitemap="now")]
    near = [page(f"b{n}", day(1, 2) + timedelta(seconds=66 * n), sitemap="near") for n in range(10)]
    frame = load(*alike, *few, *ahead, *now, *near, page("none", sitemap="none"), page("nowhere")).lastmod_trust()
    reported = {row["sitemap"]: row for row in frame.to_dict("records")}
    counted = ("urls", "dated", "dense", "future", "at_fetch")
    assert {name: tuple(row[each] for each in counted) for name, row in reported.items()} == {
        "alike": (11, 11, 10, 0, 0), "few": (9, 9, 0, 0, 0), "ahead": (4, 4, 0, 2, 0), "now": (7, 6, 0, 0, 5),
        "near": (10, 10, 10, 0, 0), "none": (1, 0, 0, 0, 0), "": (1, 0, 0, 0, 0),
    }
    scores = {name: (row["score"], row["coverage"], row["reasons"]) for name, row in reported.items() if row["dated"]}
    assert scores == {
        "alike": (0.091, 1.0, "91% have the same lastmod, 2026-01-02T00:00:00Z: a build or an import"),
        "few": (1.0, 1.0, ""),
        "ahead": (0.5, 1.0, "50% have a lastmod in the future"),
        "now": (0.167, 6 / 7, "83% have the time of the request as their lastmod"),
        "near": (0.0, 1.0, "100% within 10 min on 2026-01-02: a build or an import"),
    }
    undated = frame[frame["dated"] == 0]
    assert undated["score"].isna().all()
    assert (undated["coverage"] == 0).all()
    assert set(frame.dropna(subset="batch")["sitemap"]) == {"alike", "near"}


def test_request_time_dates_need_a_known_crawl_time(load: Load) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    records = [page(number, now, "second") for number in range(5)]
    assert load(*records, at=None).lastmod_trust()["at_fetch"].tolist() == [0]
    assert load(*records, at=now).lastmod_trust()["at_fetch"].tolist() == [5]
    assert load(*records[:4], at=now).lastmod_trust()["at_fetch"].tolist() == [0]
    midnight = now.replace(hour=0, minute=0, second=0)  # of a page with a date without a time
    records = [page(0, midnight, "day"), *(page(number, midnight, "minute") for number in range(1, 6))]
    assert load(*records, at=midnight + timedelta(minutes=1)).lastmod_trust()["at_fetch"].tolist() == [5]
    assert load(*records, at=midnight + timedelta(minutes=2)).lastmod_trust()["at_fetch"].tolist() == [0]


@pytest.mark.slow
def test_measures_of_dates_state_the_trust_in_dates(load: Load) -> None:
    snapshot = load(*[page(n, day(1, 2)) for n in range(20)])
    for made in (snapshot.cadence(), snapshot.weekday_hour(), snapshot.freshness()):
        assert made.verdict.startswith("Lastmods cannot be trusted (0.00): they are hardly dates of changes; 100%")
        assert made.verdict.endswith("2026-01-02T00:00:00Z: a build or an import")
    assert snapshot.lastmod_trust().finding.startswith("Lastmods cannot be trusted (0.00)")
    assert load(page(1)).freshness().verdict == "Lastmods are missing: no URL has one"


# --- sections ---


def test_sections_are_the_folders_before_the_last_name(load: Load) -> None:
    paths = ["", "about", "blog/", "blog/one", "blog/two/", "blog/2024/three", "shop/x/y/z", "a//b"]
    snapshot = load(*[page(path, day(1, number + 1)) for number, path in enumerate(paths[:-1])], page(paths[-1]))
    first = snapshot.sections()
    assert dict(rows(first, "section", "pages")) == {"/": 3, "/blog/": 3, "/shop/": 1, "/a/": 1}
    assert first["section"].tolist() == ["/", "/blog/", "/a/", "/shop/"]
    second = dict(rows(snapshot.sections(2), "section", "pages"))
    assert second == {"/": 3, "/blog/": 2, "/blog/2024/": 1, "/shop/x/": 1, "/a/": 1}
    reported = {row["section"]: row for row in first.to_dict("records")}
    assert reported["/blog/"]["newest"] == pd.Timestamp(day(1, 6))
    assert (reported["/blog/"]["share"], reported["/blog/"]["dated"]) == (3 / 8, 3)
    assert reported["/a/"]["dated"] == 0
    assert pd.isna(reported["/a/"]["newest"])
    assert first.finding == "Largest of 4 sections: / and /blog/ with 38% each (3 of 8 pages)"


def test_a_folder_deeper_than_any_changes_nothing(load: Load) -> None:
    snapshot = load(page("blog/one"), page("two"))
    assert rows(snapshot.sections(9), "section", "pages") == rows(snapshot.sections(), "section", "pages")


def test_media_are_counted_by_page_and_section(load: Load) -> None:
    image, video = (sr.Image("i"), sr.Image("j")), (sr.Video(title="v"),)
    snapshot = load(
        page("blog/1", images=image, news=sr.News(title="n")),
        page("blog/2", images=image, videos=video),
        page("blog/3"),
        page("4", alternates=(sr.Alternate("de", "https://a.example/de"),)),
    )
    frame = snapshot.media_coverage()
    media = ("images", "videos", "news", "alternates")
    assert rows(frame, "section", "pages", *media) == [("/blog/", 3, 2, 1, 1, 0), ("/", 1, 0, 0, 0, 1)]
    for name in media:
        assert frame[f"{name}_share"].tolist() == [count / pages for count, pages in rows(frame, name, "pages")]
    assert frame.finding == (
        "4 images on 50% (2 of 4 pages), 1 video on 25% (1 of 4 pages), news on 25% (1 of 4 pages), "
        "alternates on 25% (1 of 4 pages)"
    )
    assert rows(frame, "images_listed", "videos_listed") == [(4, 1), (0, 0)]
    assert load(page(1)).media_coverage().finding == "No page has images, videos, news or alternates"


def test_changefreq_and_priority_have_the_share_and_the_age_of_each_value(load: Load) -> None:
    frame = load(
        page(1, AT - timedelta(days=2), changefreq="daily", priority=0.5),
        page(2, AT - timedelta(days=4), changefreq="daily", priority=1.0),
        page(5, AT - timedelta(days=20), changefreq="daily", priority=1.0),
        page(3, AT - timedelta(days=9), changefreq="never"),
        page(4),
    ).changefreq_priority()
    reported = {tuple(row[:2]): tuple(row[2:]) for row in rows(frame, "field", "value", "pages", "share")}
    assert reported == {
        ("changefreq", "daily"): (3, 0.6), ("changefreq", "never"): (1, 0.2), ("changefreq", "none"): (1, 0.2),
        ("priority", "none"): (2, 0.4), ("priority", "1"): (2, 0.4), ("priority", "0.5"): (1, 0.2),
    }
    ages = {(field, value): age for field, value, age in rows(frame, "field", "value", "median_age_days")}
    assert ages["changefreq", "daily"] == pytest.approx(4)
    assert ages["priority", "none"] == pytest.approx(9)
    assert pd.isna(ages["changefreq", "none"])
    assert frame.finding == (
        'Changefreq on 80% (4 of 5 pages), most often "daily"; priority on 60% (3 of 5 pages), most often "1"'
    )
    assert load(page(1)).changefreq_priority().finding == "No page states a changefreq or a priority"
