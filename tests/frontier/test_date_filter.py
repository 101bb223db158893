"""since and until: accepted values, and the dates that match."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from sitemap_reader import SitemapRef, UsageError
from sitemap_reader.frontier import Moment, Window, make_window

NOW = datetime(2026, 6, 15, 12, 30, tzinfo=UTC)


def at(year: int, month: int = 1, day: int = 1, hour: int = 0, minute: int = 0, second: int = 0) -> datetime:
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC)


@pytest.mark.parametrize(("since", "until", "window"), [
    # since includes the start of its period
    ("2026-05-31", None, Window(since=at(2026, 5, 31))),
    ("2026-05", None, Window(since=at(2026, 5))),
    ("2026", None, Window(since=at(2026))),
    ("2026-05-31T10:00:00+02:00", None, Window(since=at(2026, 5, 31, 8))),
    ("30s", None, Window(since=at(2026, 6, 15, 12, 29, 30))),
    ("15m", None, Window(since=at(2026, 6, 15, 12, 15))),
    ("12h", None, Window(since=at(2026, 6, 15, 0, 30))),
    ("7d", None, Window(since=at(2026, 6, 8, 12, 30))),
    (" 2w ", None, Window(since=at(2026, 6, 1, 12, 30))),
    ("7days", None, Window(since=at(2026, 6, 8, 12, 30))),
    ("1 Week", None, Window(since=at(2026, 6, 8, 12, 30))),
    ("12 hours ago", None, Window(since=at(2026, 6, 15, 0, 30))),
    ("yesterday", None, Window(since=at(2026, 6, 14))),
    ("Today", None, Window(since=at(2026, 6, 15))),
    (None, "yesterday", Window(until=at(2026, 6, 15))),
    (timedelta(hours=1), None, Window(since=at(2026, 6, 15, 11, 30))),
    (date(2026, 5, 31), None, Window(since=at(2026, 5, 31))),
    (datetime(2026, 5, 31, 10), None, Window(since=at(2026, 5, 31, 10))),
    (datetime(2026, 5, 31, 10, tzinfo=timezone(timedelta(hours=2))), None, Window(since=at(2026, 5, 31, 8))),
    # until includes its whole period
    (None, "2026-05-31", Window(until=at(2026, 6, 1))),
    (None, "2026-05", Window(until=at(2026, 6))),
    (None, "2025", Window(until=at(2026))),
    (None, date(2026, 5, 31), Window(until=at(2026, 6, 1))),
    (None, at(2026, 5, 31, 10), Window(until=at(2026, 5, 31, 10))),
    (None, "7d", Window(until=at(2026, 6, 8, 12, 30))),
])
def test_a_window_includes_its_periods(since: Moment, until: Moment, window: Window) -> None:
    assert make_window(since, until, "keep", NOW) == window


@pytest.mark.parametrize(("since", "until", "undated"), [
    *((since, None, "keep") for since in ("last week", "7y", "7 D", "1M", "2 months", "2026-02-30", "999999w")),
    (timedelta.max, None, "keep"),
    (None, "", "keep"),
    ("2026-05", "2026-04", "keep"),
    (at(2026), at(2026), "keep"),
    (None, None, "maybe"),
])
def test_invalid_date_ranges_are_refused(since: Moment, until: Moment, undated: str) -> None:
    with pytest.raises(UsageError):
        make_window(since, until, undated, NOW)  # type: ignore[arg-type]


DAY = make_window("2026-05-10", "2026-05-10", "keep", NOW)


@pytest.mark.parametrize(("lastmod", "precision", "taken"), [
    (at(2026, 5, 9, 23, 59, 59), "second", False),
    (at(2026, 5, 10), "second", True),
    (at(2026, 5, 10, 23, 59, 59), "second", True),
    (at(2026, 5, 11), "second", False),
    (at(2026, 5, 9), "day", False),
    (at(2026, 5, 10), "day", True),
    (at(2026, 5, 11), "day", False),
    (at(2026, 5), "month", True),
    (at(2026, 4), "month", False),
    (at(2026), "year", True),
    (at(2025), "year", False),
])
def test_a_stated_period_matches_if_it_overlaps(lastmod: datetime, precision: str, taken: bool) -> None:
    assert DAY.takes(lastmod, precision) is taken  # type: ignore[arg-type]


def test_undated_pages_are_kept_or_dropped_also_where_there_is_no_window() -> None:
    assert DAY.takes(None, None)
    assert not make_window("7d", None, "drop", NOW).takes(None, None)
    assert not make_window(None, "7d", "drop", NOW).takes(None, None)
    assert not make_window(None, None, "drop", NOW).takes(None, None)
    assert make_window(None, None, "keep", NOW).takes(None, None)


@pytest.mark.parametrize(("lastmod", "precision", "pruned"), [
    (at(2026, 5, 9), "day", True),
    (at(2026, 5, 10), "day", False),
    (at(2026, 4), "month", True),
    (at(2026, 5), "month", False),
    (at(2026, 5, 9, 23, 59, 59), "second", True),
    (at(2027), "day", False),
    (None, None, False),
])
def test_only_children_that_ended_before_since_are_pruned(
    lastmod: datetime | None, precision: str | None, pruned: bool
) -> None:
    ref = SitemapRef("https://example.com/a.xml", lastmod, precision)  # type: ignore[arg-type]
    assert DAY.prunes(ref) is pruned
    assert not Window(until=at(2000), undated="drop").prunes(ref)
