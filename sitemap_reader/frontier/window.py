"""Which dates are asked for: since, until, and what to do with URLs that state none.

In: a date, a datetime, a timedelta or text, and the present moment. Out: a Window to judge lastmods by.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Literal

import attrs

from ..model.errors import UsageError
from ..parser.normalise.dates import parse_date, period_end

if TYPE_CHECKING:
    from ..model.records import Precision, SitemapRef, UrlRecord

Undated = Literal["keep", "drop"]
Moment = str | date | datetime | timedelta

_AGO = re.compile(r"(\d{1,6})\s*([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@attrs.frozen
class Window:
    """A stated period matches if it overlaps [since, until)."""

    since: datetime | None = None
    until: datetime | None = None
    undated: Undated = "keep"

    @property
    def takes_all(self) -> bool:
        """Whether no record can lie outside."""
        return self.since is None and self.until is None and self.undated == "keep"

    def takes(self, record: UrlRecord | SitemapRef) -> bool:
        """True for what overlaps; for what has no lastmod, as `undated` says."""
        if record.lastmod is None or record.lastmod_precision is None:
            return self.undated == "keep"
        if self.until is not None and record.lastmod >= self.until:
            return False
        return self.since is None or period_end(record.lastmod, record.lastmod_precision) > self.since

    def prunes(self, ref: SitemapRef) -> bool:
        """True for a child whose index says that it is older than all that is asked for.

        Only `since` prunes: a sitemap changed after `until` may still list older pages.
        """
        if self.since is None or ref.lastmod is None or ref.lastmod_precision is None:
            return False
        return period_end(ref.lastmod, ref.lastmod_precision) <= self.since


@attrs.define
class Dates:
    """The lastmods of one document in short: the newest, the latest end of a period, and how many URLs have none."""

    newest: tuple[datetime, Precision] | None = None
    latest_end: datetime | None = None
    undated: int = 0

    def add(self, record: UrlRecord) -> None:
        """One record more, wanted or not."""
        lastmod, precision = record.lastmod, record.lastmod_precision
        if lastmod is None or precision is None:
            self.undated += 1
            return
        if self.newest is None or lastmod > self.newest[0]:
            self.newest = lastmod, precision
        elif precision == self.newest[1]:  # what began no later ends no later
            return
        end = period_end(lastmod, precision)
        if self.latest_end is None or end > self.latest_end:
            self.latest_end = end


def make_window(since: Moment | None, until: Moment | None, undated: Undated, now: datetime) -> Window:
    """The Window of two moments; `until` as text or date takes in the whole period that it names.

    Text is a date as sitemaps write it, or an age such as `12h`, `7d`, `2w`.
    """
    if undated not in ("keep", "drop"):
        raise UsageError(f"undated must be keep or drop, not {undated!r}")
    start = None if since is None else _period("since", since, now)[0]
    end = None if until is None else _period("until", until, now)[1]
    if start is not None and end is not None and start >= end:
        raise UsageError(f"since ({since}) lies behind until ({until}): no date can match")
    return Window(start, end, undated)


def make_moment(name: str, value: Moment, now: datetime) -> datetime:
    """One moment; of a day, and of any period that text names, its last second."""
    start, end = _period(name, value, now)
    return max(start, end - timedelta(seconds=1))


def _period(name: str, value: Moment, now: datetime) -> tuple[datetime, datetime]:
    """[start, end) of what the value names; moments are as long as nothing."""
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return moment, moment
    if isinstance(value, date):
        day = datetime(value.year, value.month, value.day, tzinfo=UTC)
        return day, period_end(day, "day")
    if isinstance(value, timedelta):
        return _ago(name, value, now)
    if not isinstance(value, str):
        raise UsageError(f"{name} must be a date, a datetime, a timedelta or text, not {value!r}")
    ago = _AGO.fullmatch(value.strip())
    if ago:
        return _ago(name, timedelta(**{_UNITS[ago.group(2)]: int(ago.group(1))}), now)
    stated = parse_date(value.strip())
    if stated is None:
        raise UsageError(f"{name} {value!r} is neither a date such as 2026-05-31 nor an age such as 7d")
    return stated.moment, period_end(stated.moment, stated.precision)


def _ago(name: str, age: timedelta, now: datetime) -> tuple[datetime, datetime]:
    try:
        moment = now - age
    except OverflowError:
        raise UsageError(f"{name}: {age.days:,} days ago lies before the calendar's first year") from None
    return moment, moment
