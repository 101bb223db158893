"""When pages appeared: publication dates of news, first-seen dates, trusted lastmods."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from recorded import AT, rows, snapshot_of

import sitemap_reader as sr
from sitemap_reader import Snapshot
from sitemap_reader.analysis import SnapshotMetadata, Tables, loaded


def day(month: int, number: int = 1, hour: int = 0) -> datetime:
    return datetime(2026, month, number, hour, tzinfo=UTC)


def page(name: str, lastmod: Any = None, published: Any = None, precision: Any = "second") -> sr.UrlRecord:
    news = sr.News(publication_date=published, publication_date_precision=precision) if published else None
    stated = "second" if lastmod else None
    return sr.UrlRecord(f"https://a.example/{name}", lastmod, stated, news=news, sitemap="s")


def seen(site: sr.Snapshot, **dates: datetime) -> sr.Snapshot:
    """With a column first_seen, by the last segment of the path."""
    import pyarrow as pa

    urls = site.urls.stored
    column = [dates.get(loc.rpartition("/")[2]) for loc in urls["loc"].to_pylist()]
    urls = urls.append_column("first_seen", pa.array(column, pa.timestamp("us", "UTC")))
    tables = Tables(urls, site.sitemaps.stored, site.problems.stored)
    return Snapshot(site.name, partial(loaded, tables), SnapshotMetadata(at=AT))


def test_the_calendar_takes_the_first_date_that_is_known(tmp_path: Path) -> None:
    listed = [page("n", day(5), day(2, 3)), page("s", day(5)), page("l", day(1)), page("late", day(5)), page("none")]
    some = snapshot_of(tmp_path, *listed)
    made = seen(some, n=day(4), s=day(3, 9)).calendar()
    assert rows(made, "period", "source", "pages") == [
        (day(2), "news", 1),
        (day(3), "first seen", 1),
        (day(1), "lastmod", 1),
    ]
    assert "Dated: 1 by news, 1 by first seen, 1 by lastmod. Not counted: 2 pages without a date." in made.rule
    assert made.finding == (
        "No month has several dated pages, 2026-02 and 2026-03 have 1 each; dated: 1 published as news and 1 first "
        "seen in 1 reading; of 1 other page only the last change is known; not dated: 2 of 5 pages"
    )
    assert rows(some.calendar(), "source", "pages")[0] == ("news", 1)
    assert some.calendar()["pages"].sum() == 4  # without a history, a later lastmod counts


def test_lastmods_count_only_where_they_are_trusted(tmp_path: Path) -> None:
    built = [page(str(number), day(5)) for number in range(20)]
    spread = [page(f"x{number}", day(5) - timedelta(days=9 * number)) for number in range(20)]
    made = snapshot_of(tmp_path, built=built, spread=spread).calendar()
    assert {*made["site"]} == {"spread"}
    assert made["pages"].sum() == 20
    assert "; dated: 20 by the last change, not by publication" in made.finding


@pytest.mark.parametrize(("freq", "periods"), [("day", 10), ("week", 3), ("month", 2)])
def test_periods_without_a_page_have_a_row(freq: Any, periods: int, tmp_path: Path) -> None:
    dates = [day(1, 27), day(2, 5)]  # a Tuesday; a Thursday of the week after next
    if freq == "week":
        dates[1] = day(2, 10)
    some = [page(str(number), published=when) for number, when in enumerate(dates)]
    made = snapshot_of(tmp_path, *some).calendar(freq)
    assert len(made) == periods
    assert made["pages"].sum() == 2


def test_a_calendar_leaves_out_coarse_and_future_dates(tmp_path: Path) -> None:
    some = snapshot_of(
        tmp_path,
        page("y", published=day(1), precision="year"),
        page("m", published=day(1), precision="month"),
        page("f", published=AT + timedelta(days=2)),
        page("d", published=day(1), precision="day"),
    )
    assert some.calendar()["pages"].sum() == 2
    assert some.calendar("day")["pages"].sum() == 1
    left_out = "1 page whose date is in the future, 2 pages whose date states only the year or month"
    assert left_out in some.calendar("day").rule


BATCHES = {
    "one day": ([day(3, 4, hour) for hour in range(4)], "month", "100% (4 of 4 dated pages), all on 2026-03-04"),
    "half on one day": (
        [day(3, 4, 1), day(3, 4, 2), day(3, 5), day(3, 6), day(1)],
        "month",
        "80% (4 of 5 dated pages), 2 of them on 2026-03-04",
    ),
    "fewer": ([day(3, 4), day(3, 4, 1), day(3, 5), day(3, 6), day(3, 7)], "month", "100% (5 of 5 dated pages)"),
    "one time": ([day(3, 4, 5)] * 3 + [day(3, 4, 6)], "day", "100% (4 of 4 dated pages), 3 of them at 05:00 UTC"),
    "a week": ([day(3, 4), day(3, 5), day(3, 6)], "week", "100% (3 of 3 dated pages)"),
}


@pytest.mark.parametrize("case", BATCHES)
def test_the_largest_period_is_named_with_its_batch(case: str, tmp_path: Path) -> None:
    dates, freq, expected = BATCHES[case]
    some = [page(str(number), published=when) for number, when in enumerate(dates)]
    made = snapshot_of(tmp_path, *some).calendar(freq)
    named = {"day": "2026-03-04", "week": "2026-03-02", "month": "2026-03"}[freq]
    assert made.finding == f"Busiest {freq}: {named} with {expected}; dated: {len(dates)} published as news"


def test_one_page_is_no_busiest_period(tmp_path: Path) -> None:
    one = [page("dated", published=day(3, 4)), *(page(str(number)) for number in range(30))]
    expected = "No month has several dated pages, 2026-03 has 1; dated: 1 published as news; not dated: 30 of 31 pages"
    assert snapshot_of(tmp_path, *one).calendar().finding == expected
    two = [page(str(number), published=day(2, 4)) for number in range(2)]
    some = snapshot_of(tmp_path, name="many", a=one, b=two, c=two, d=two).calendar()
    assert some.finding == "Busiest month: 2026-02 at 3 sites; none with several pages at a"


def test_the_time_of_a_reading_is_no_time_of_publication(tmp_path: Path) -> None:
    listed = [page(name) for name in "abcd"]
    made = seen(snapshot_of(tmp_path, *listed), a=day(3, 4, 5), b=day(3, 4, 5)).calendar("day")
    assert made.finding == (
        "Busiest day: 2026-03-04 with 100% (2 of 2 dated pages); dated: 2 first seen in 1 reading; "
        "not dated: 2 of 4 pages"
    )


# --- new ---


def test_new_pages_are_those_first_seen_or_published_since(tmp_path: Path) -> None:
    names = ("a/just", "a/before", "b/oldest", "b/n", "c/old-news")
    records = [page(name) for name in names[:3]]
    records += [page("b/n", published=day(5, 2)), page("c/old-news", published=day(1))]
    since = day(5)
    some = seen(snapshot_of(tmp_path, *records), just=since, before=since - timedelta(seconds=1))
    made = some.new(since)
    assert rows(made, "section", "new", "pages", "unknown") == [("/a/", 1, 2, 0), ("/b/", 1, 2, 0), ("/c/", 0, 1, 0)]
    assert made["source"].tolist()[:2] == ["first seen", "news"]
    assert made.finding == "2 of 5 pages new since 2026-05-01, most of all in /a/ and /b/ (1 each)"
    assert some.new("2026-05-01").equals(made)
    assert some.new(AT - since).equals(made)


@pytest.mark.slow
def test_what_is_older_than_the_history_is_unknown(tmp_path: Path) -> None:
    some = seen(snapshot_of(tmp_path, page("a/new"), page("a/oldest")), new=day(4))
    assert some.new(day(4))["unknown"].sum() == 0
    early = some.new(day(4) - timedelta(seconds=1))
    assert early["unknown"].sum() == 1
    remedy = "only an archive kept since before 2026-03-31 shows it"
    assert early.finding == f"1 of 2 pages new since 2026-03-31, all in /a/; unknown for 1: {remedy}"
    some.earlier = (snapshot_of(tmp_path, page("a/oldest"), at=day(2), name="old", site="a.example"),)  # type: ignore[attr-defined]
    assert some.new(day(3))["unknown"].sum() == 0
    assert some.new(day(1))["unknown"].sum() == 1


def test_without_history_and_news_nothing_is_known(tmp_path: Path) -> None:
    made = snapshot_of(tmp_path, page("a", day(5)), page("b")).new("30d")
    assert made.finding == "Unknown which of 2 pages are new: only an archive kept since before 2026-05-16 shows it"
    assert made["new"].isna().all()


def test_a_published_day_counts_if_any_part_of_it_is_within(tmp_path: Path) -> None:
    some = snapshot_of(tmp_path, page("a", published=day(5, 1), precision="day"))
    assert some.new(day(5, 1, 23))["new"].sum() == 1
    assert some.new(day(5, 2))["new"].sum() == 0


@pytest.mark.slow
def test_sections_of_which_nothing_is_known_are_drawn_as_unknown(tmp_path: Path) -> None:
    some = snapshot_of(tmp_path, page("a/old"), page("b/new", published=day(6, 10)), page("b/old"))
    made = some.new("30d")
    assert rows(made, "section", "pages", "unknown") == [("/b/", 2, 1), ("/a/", 1, 1)]
    assert made["new"].isna().tolist() == [False, True]
    bars = made.chart().altair.to_dict()["data"]["values"]
    assert [(bar["section"], bar["_text"]) for bar in bars] == [("/b/", "1"), ("/a/", "unknown")]
    two = snapshot_of(tmp_path, a=[page("x")], b=[page("y", published=day(6, 10))], name="two").new("30d")
    assert two.chart().to_svg().count(">unknown<") == 1


@pytest.mark.slow
def test_a_calendar_draws_last_changes_as_outlines(tmp_path: Path) -> None:
    news = [page(f"n{number}", published=day(5, 1 + number)) for number in range(3)]
    changed = [page(f"c{number}", day(4, 1 + 3 * number)) for number in range(5)]
    made = snapshot_of(tmp_path, *news, *changed).calendar()
    assert made.finding == (
        "Busiest month: 2026-05 with 100% (3 of 3 dated pages); dated: 3 published as news; "
        "of 5 other pages only the last change is known"
    )
    bars = made.chart().altair.to_dict()["layer"][0]
    assert bars["encoding"]["x"]["title"] == "pages by month published or last changed (UTC)"
    assert bars["encoding"]["fill"]["scale"]["range"][-1] == "transparent"
    assert "stroke" in bars["mark"]
    svg = made.chart(titled=False).to_svg()
    assert ">5<" in svg
    only = snapshot_of(tmp_path, *changed, name="only").calendar()
    assert only.finding == (
        "Busiest month: 2026-04 with 100% (5 of 5 dated pages); dated: 5 by the last change, not by publication"
    )
    assert "pages by month last changed (UTC)" in only.chart().to_svg()


# --- news in the measures of lastmods ---


def test_news_without_a_lastmod_count_by_their_publication_date(tmp_path: Path) -> None:
    some = snapshot_of(
        tmp_path,
        page("n", published=AT - timedelta(days=3)),
        page("m", published=day(3), precision="month"),
        page("l", day(4), day(1)),
        page("x"),
    )
    cadence = some.cadence()
    months = {f"{when:%m}": pages for when, pages in rows(cadence, "period", "pages") if pages}
    assert months == {"03": 1, "04": 1, "06": 1}
    assert some.weekday_hour()["pages"].sum() == 2
    assert dict(rows(some.freshness(), "age", "pages"))["undated"] == 1
    for made, count in ((cadence, "2 pages"), (some.weekday_hour(), "1 page"), (some.freshness(), "2 pages")):
        assert f"{count} of news ha" in made.rule
        assert made.finding.startswith("By lastmod and publication date, ")
    assert "news" not in snapshot_of(tmp_path, page("l", day(4), day(1)), name="dated").cadence().rule


def test_a_site_of_news_only_concludes_from_publication_dates(tmp_path: Path) -> None:
    some = snapshot_of(tmp_path, *[page(str(n), published=AT - timedelta(days=n, hours=n)) for n in range(20)])
    assert some.cadence().finding == "By publication date, busiest month: 2026-06 with 70% (14 of 20 dated pages)"
    assert some.weekday_hour().finding.startswith("By publication date, no weekday has clearly more pages")
    published = "were published within 30 days, 100% (20 of 20) within a year"
    assert some.freshness().finding == f"By publication date, 100% (20 of 20 dated pages) {published}"
    for made in (some.cadence(), some.weekday_hour(), some.freshness()):
        assert made.verdict == "Lastmods are missing: publication dates of news count"
        assert "of their publication date" in made.rule
    assert "pages by month of publication date (UTC)" in some.cadence().chart().to_svg()


# --- dates in URLs ---


def test_a_date_in_the_url_counts_behind_that_of_news(tmp_path: Path) -> None:
    listed = [page("2026/02/04/a", day(5)), page("blog/2026-03-04-b/"), page("2026/04/c", published=day(1)), page("d")]
    made = snapshot_of(tmp_path, *listed).calendar()
    counts = [row for row in rows(made, "period", "source", "pages") if row[2]]
    assert counts == [(day(1), "news", 1), (day(2), "url", 1), (day(3), "url", 1)]
    assert made.finding == (
        "No month has several dated pages, 2026-01, 2026-02 and 2026-03 have 1 each; "
        "dated: 1 published as news and 2 with a date in the URL; not dated: 1 of 4 pages"
    )
    months = snapshot_of(tmp_path, page("2026/04/c"), page("2026/04/02/d"), name="months")
    assert months.calendar()["pages"].sum() == 2
    assert months.calendar("day")["pages"].sum() == 1
    assert "1 page whose date states only the year or month" in months.calendar("day").rule
    fine = snapshot_of(tmp_path, page("2026/04/c", day(4, 9)), name="fine").calendar("day")
    assert rows(fine, "period", "source") == [(day(4, 9), "lastmod")]  # as a day is needed


def test_dates_in_urls_of_events_are_no_publication(tmp_path: Path) -> None:
    """Of a site where a tenth of them or more is later than the page, or than the reading."""
    posts = [page(f"2026/03/{n + 1:02}/post", day(3, n + 1, 9)) for n in range(20)]
    one = [page("2026/12/24/party")]
    some = snapshot_of(tmp_path, *posts, *one, name="one").calendar()
    assert dict(rows(some, "source", "pages")) == {"url": 20}
    events = [page(f"events/2026/05/{n + 1:02}/", day(4, n + 1)) for n in range(20)]
    assert {*snapshot_of(tmp_path, *events, name="events").calendar()["source"]} == {"lastmod"}
