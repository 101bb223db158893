"""Checks of lastmods and priorities that carry no information (D02 to D05, D07, D08, H03)."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import attrs

from ..parser.content.sniff import Format
from ..parser.normalise.dates import CLOCK_TOLERANCE, TIMED, format_date, period_end, tolerance
from ..serialize.jsonl import stamp
from .documents import PerSitemapCheck
from .findings import Check

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model.records import Outcome, SitemapRef, UrlRecord
    from .findings import CheckedUrls, Findings

_FETCH_WINDOW = timedelta(minutes=1)
_YEAR = timedelta(days=365)
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

_MIN_DATED = 20
_IDENTICAL_SHARE = 0.9
_MIN_DATED_AT_FETCH = 5
_MIN_PRIORITIES = 10
# Different dates that are counted. With more of them nine in ten can only be identical in over 100,000 entries.
_MAX_DATES = 10_000


class FutureDates(Check):
    """Lastmods in the future (D02)."""

    codes = ("D02",)

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock

    def on_urls(self, batch: CheckedUrls, findings: Findings) -> None:
        """Checks the URLs; most batches have none in the future."""
        now = self._clock()
        if batch.newest is None or batch.newest[0] - now <= CLOCK_TOLERANCE:
            return
        rows = zip(batch.locs, batch.lastmods, batch.precisions, batch.lines, strict=True)
        for loc, lastmod, precision, line in rows:
            if lastmod is not None and lastmod - now > tolerance(precision):
                date = format_date(lastmod, precision)
                message = f"{loc}: lastmod {date} is in the future"
                findings.report("D02", message, sitemap=batch.sitemap, line=line, field="lastmod", raw=date)


@attrs.define
class _LastmodStats:
    """The lastmods of one sitemap."""

    urls: int = 0
    dated: int = 0
    oldest: datetime = _LAST
    newest: datetime = _FIRST
    newest_precision: str | None = None
    precisions: set[str] = attrs.field(factory=set)
    has_news: bool = False
    counts: Counter[datetime] = attrs.field(factory=Counter)


class SitemapLastmods(PerSitemapCheck[_LastmodStats]):
    """The lastmods of a sitemap together (D03, D04, D05, D07); `clock` is the time of the fetch, None if unknown."""

    codes = ("D03", "D04", "D05", "D07")

    def __init__(self, clock: Callable[[], datetime] | None) -> None:
        super().__init__()
        self._clock = clock
        self._refs: dict[str, SitemapRef] = {}

    def new_stats(self) -> _LastmodStats:
        """Empty statistics."""
        return _LastmodStats()

    def on_ref(self, ref: SitemapRef, findings: Findings) -> None:
        """Remembers the lastmod that an index states; of several the first."""
        if ref.lastmod is not None:
            self._refs.setdefault(ref.loc, ref)

    def on_urls(self, batch: CheckedUrls, findings: Findings) -> None:
        """Counts lastmods."""
        stats = self.stats_of(batch.sitemap)
        stats.urls += len(batch.lines)
        if batch.newest is None:
            return
        stats.dated += len(batch.dated)
        if len(stats.counts) < _MAX_DATES:
            stats.counts.update(batch.dated)
        stats.oldest = min(stats.oldest, min(batch.dated))
        if batch.newest[0] > stats.newest:
            stats.newest, stats.newest_precision = batch.newest
        stats.precisions.update(filter(None, batch.precisions))

    def on_record(self, record: UrlRecord, findings: Findings) -> None:
        """Remembers sitemaps with news, to which D03 and D07 do not apply."""
        if record.news is not None and record.sitemap is not None:
            self.stats_of(record.sitemap).has_news = True

    def check_sitemap(self, sitemap: str, stats: _LastmodStats, outcome: Outcome | None, findings: Findings) -> None:
        """Applies the four rules."""
        messages = {
            "D03": self._identical(stats),
            "D04": self._at_fetch(stats, outcome),
            "D07": self._mostly_missing(stats, outcome),
        }
        for code, message in messages.items():
            if message:
                findings.report(code, message, sitemap=sitemap, field="lastmod")
        self._compare_with_index(sitemap, stats, findings)

    def _identical(self, stats: _LastmodStats) -> str | None:
        if stats.has_news or stats.dated < _MIN_DATED:
            return None
        lastmod, count = stats.counts.most_common(1)[0]
        if count < _IDENTICAL_SHARE * stats.dated:
            return None
        precision = next(iter(stats.precisions)) if len(stats.precisions) == 1 else "second"
        return f"{count:,} of {stats.dated:,} lastmods are {format_date(lastmod, precision)}"

    def _at_fetch(self, stats: _LastmodStats, outcome: Outcome | None) -> str | None:
        if self._clock is None or outcome is None or not stats.precisions <= TIMED or stats.dated < _MIN_DATED_AT_FETCH:
            return None
        now = self._clock()
        took = timedelta(seconds=outcome.seconds or 0.0)
        if now - stats.oldest > took + _FETCH_WINDOW or stats.newest - now > _FETCH_WINDOW:
            return None
        return f"all {stats.dated:,} lastmods are the time of the request, {stamp(now.replace(microsecond=0))}"

    def _mostly_missing(self, stats: _LastmodStats, outcome: Outcome | None) -> str | None:
        # A text sitemap cannot state dates; a dump may not state the format.
        cannot = outcome.format == Format.TEXT if outcome else not stats.dated
        if cannot or stats.has_news or stats.dated * 2 >= stats.urls:  # news have a publication date
            return None
        return f"{stats.dated:,} of {stats.urls:,} URLs have a lastmod"

    def _compare_with_index(self, sitemap: str, stats: _LastmodStats, findings: Findings) -> None:
        ref = self._refs.pop(sitemap, None)
        if ref is None or ref.lastmod is None or not stats.dated:
            return
        end = period_end(ref.lastmod, ref.lastmod_precision or "second")
        if stats.newest - end < max(tolerance(ref.lastmod_precision), tolerance(stats.newest_precision)):
            return
        date = format_date(ref.lastmod, ref.lastmod_precision)
        newest = format_date(stats.newest, stats.newest_precision)
        message = f"{sitemap} has the index lastmod {date}, but an entry of {newest}"
        findings.report("D05", message, sitemap=ref.sitemap, line=ref.line, field="lastmod", raw=date)


@attrs.frozen
class _Newest:
    """A lastmod by the end of its period, and its location."""

    end: datetime
    date: str
    sitemap: str
    line: int | None


class StaleSite(Check):
    """Sites whose newest lastmod is over a year old (D08)."""

    codes = ("D08",)

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._newest: _Newest | None = None

    def on_urls(self, batch: CheckedUrls, findings: Findings) -> None:
        """Finds the newest lastmod; stops looking once one is new enough."""
        if self._newest is not None and self._now - self._newest.end <= _YEAR:
            return
        rows = zip(batch.lastmods, batch.precisions, batch.lines, strict=True)
        for lastmod, precision, line in rows:
            if lastmod is None:
                continue
            end = period_end(lastmod, precision or "second")
            if self._newest is None or end > self._newest.end:
                self._newest = _Newest(end, format_date(lastmod, precision), batch.sitemap, line)

    def on_end(self, findings: Findings) -> None:
        """Checks the newest lastmod."""
        newest = self._newest
        if newest is not None and self._now - newest.end > _YEAR:
            message = f"the newest lastmod of all is {newest.date}"
            findings.report("D08", message, sitemap=newest.sitemap, line=newest.line, field="lastmod", raw=newest.date)


class EqualPriorities(PerSitemapCheck[Counter[float]]):
    """Sitemaps in which all priorities are equal (H03)."""

    codes = ("H03",)

    def new_stats(self) -> Counter[float]:
        """Empty statistics."""
        return Counter()

    def on_urls(self, batch: CheckedUrls, findings: Findings) -> None:
        """Counts priorities."""
        self.stats_of(batch.sitemap).update(priority for priority in batch.priorities if priority is not None)

    def check_sitemap(self, sitemap: str, stats: Counter[float], outcome: Outcome | None, findings: Findings) -> None:
        """Reports 10 or more equal priorities."""
        count = stats.total()
        if len(stats) == 1 and count >= _MIN_PRIORITIES:
            message = f"all {count:,} priorities are {next(iter(stats)):g}"
            findings.report("H03", message, sitemap=sitemap, field="priority")
