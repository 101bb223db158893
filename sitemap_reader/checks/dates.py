"""Dates and hints: lastmods and priorities in, what makes them useless out (D02 to D05, D07, D08, H03)."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import attrs

from ..parser.content.sniff import Format
from ..parser.normalise.dates import CLOCK_TOLERANCE, TIMED, format_date, period_end, tolerance
from ..serialize.jsonl import stamp
from .documents import ByDocument
from .findings import Check

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model.records import Outcome, SitemapRef, UrlRecord
    from .findings import Findings, Listed

_AT_ONCE = timedelta(minutes=1)
_YEAR = timedelta(days=365)
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

_FEWEST_ALIKE = 20
_ALIKE = 0.9
_FEWEST_AT_FETCH = 5
_FEWEST_PRIORITIES = 10
# Distinct dates that are counted. Where there are more, nine in ten can only be alike among 100,000 entries and more.
_MOST_DATES = 10_000


class Future(Check):
    """Lastmods that lie ahead (D02)."""

    codes = ("D02",)

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock

    def urls(self, listed: Listed, found: Findings) -> None:
        """Mostly not one of them does."""
        now = self._clock()
        if not listed.dated or max(listed.dated) - now <= CLOCK_TOLERANCE:
            return
        rows = zip(listed.locs, listed.lastmods, listed.precisions, listed.lines, strict=True)
        for loc, lastmod, precision, line in rows:
            if lastmod is not None and lastmod - now > tolerance(precision):
                date = format_date(lastmod, precision)
                told = f"{loc}: lastmod {date} is in the future"
                found.note("D02", told, sitemap=listed.sitemap, line=line, field="lastmod", raw=date)


@attrs.define
class _Dated:
    """What the lastmods of a sitemap look like."""

    urls: int = 0
    dated: int = 0
    oldest: datetime = _LAST
    newest: datetime = _FIRST
    newest_precision: str | None = None
    precisions: set[str] = attrs.field(factory=set)
    has_news: bool = False
    counts: Counter[datetime] = attrs.field(factory=Counter)


class SitemapDates(ByDocument[_Dated]):
    """Those of a sitemap, together (D03, D04, D05, D07); `clock` tells when it was fetched, None if that is unknown."""

    codes = ("D03", "D04", "D05", "D07")

    def __init__(self, clock: Callable[[], datetime] | None) -> None:
        super().__init__()
        self._clock = clock
        self._stated: dict[str, SitemapRef] = {}

    def new(self) -> _Dated:
        """Nothing yet."""
        return _Dated()

    def ref(self, ref: SitemapRef, found: Findings) -> None:
        """What an index states; the first one counts."""
        if ref.lastmod is not None:
            self._stated.setdefault(ref.loc, ref)

    def urls(self, listed: Listed, found: Findings) -> None:
        """Counts them."""
        seen = self.of(listed.sitemap)
        seen.urls += len(listed.lines)
        if not listed.dated:
            return
        seen.dated += len(listed.dated)
        if len(seen.counts) < _MOST_DATES:
            seen.counts.update(listed.dated)
        seen.oldest = min(seen.oldest, min(listed.dated))
        newest = max(listed.dated)
        if newest > seen.newest:
            seen.newest, seen.newest_precision = newest, listed.precisions[listed.lastmods.index(newest)]
        seen.precisions.update(filter(None, listed.precisions))

    def record(self, record: UrlRecord, found: Findings) -> None:
        """Of news alone there is something to know."""
        if record.news is not None and record.sitemap is not None:
            self.of(record.sitemap).has_news = True

    def judge(self, sitemap: str, gathered: _Dated, outcome: Outcome | None, found: Findings) -> None:
        """All rules, one after the other."""
        told = {
            "D03": self._alike(gathered),
            "D04": self._at_fetch(gathered, outcome),
            "D07": self._undated(gathered, outcome),
        }
        for code, message in told.items():
            if message:
                found.note(code, message, sitemap=sitemap, field="lastmod")
        self._against_index(sitemap, gathered, found)

    def _alike(self, seen: _Dated) -> str | None:
        if seen.has_news or seen.dated < _FEWEST_ALIKE:
            return None
        lastmod, count = seen.counts.most_common(1)[0]
        if count < _ALIKE * seen.dated:
            return None
        precision = next(iter(seen.precisions)) if len(seen.precisions) == 1 else "second"
        return f"{count:,} of {seen.dated:,} lastmods are {format_date(lastmod, precision)}"

    def _at_fetch(self, seen: _Dated, outcome: Outcome | None) -> str | None:
        if self._clock is None or outcome is None or not seen.precisions <= TIMED or seen.dated < _FEWEST_AT_FETCH:
            return None
        now = self._clock()
        took = timedelta(seconds=outcome.seconds or 0.0)
        if now - seen.oldest > took + _AT_ONCE or seen.newest - now > _AT_ONCE:
            return None
        return f"all {seen.dated:,} lastmods are the time of the request, {stamp(now.replace(microsecond=0))}"

    def _undated(self, seen: _Dated, outcome: Outcome | None) -> str | None:
        # A text sitemap has no place for dates; of a dump it may not be known what was one.
        cannot = outcome.format == Format.TEXT if outcome else not seen.dated
        if cannot or seen.has_news or seen.dated * 2 >= seen.urls:  # of news the time of publication counts
            return None
        return f"{seen.dated:,} of {seen.urls:,} URLs have a lastmod"

    def _against_index(self, sitemap: str, seen: _Dated, found: Findings) -> None:
        ref = self._stated.pop(sitemap, None)
        if ref is None or ref.lastmod is None or not seen.dated:
            return
        end = period_end(ref.lastmod, ref.lastmod_precision or "second")
        if seen.newest - end < max(tolerance(ref.lastmod_precision), tolerance(seen.newest_precision)):
            return
        date = format_date(ref.lastmod, ref.lastmod_precision)
        told = (
            f"{sitemap} is said to be of {date}, and has an entry of {format_date(seen.newest, seen.newest_precision)}"
        )
        found.note("D05", told, sitemap=ref.sitemap, line=ref.line, field="lastmod", raw=date)


@attrs.frozen
class _Newest:
    """A lastmod, by the end of its period, and where it stands."""

    end: datetime
    date: str
    sitemap: str
    line: int | None


class Age(Check):
    """The newest lastmod of all (D08)."""

    codes = ("D08",)

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._newest: _Newest | None = None

    def urls(self, listed: Listed, found: Findings) -> None:
        """As soon as one is new enough, all others are nobody's concern."""
        if self._newest is not None and self._now - self._newest.end <= _YEAR:
            return
        rows = zip(listed.lastmods, listed.precisions, listed.lines, strict=True)
        for lastmod, precision, line in rows:
            if lastmod is None:
                continue
            end = period_end(lastmod, precision or "second")
            if self._newest is None or end > self._newest.end:
                self._newest = _Newest(end, format_date(lastmod, precision), listed.sitemap, line)

    def end(self, found: Findings) -> None:
        """Judges it."""
        newest = self._newest
        if newest is not None and self._now - newest.end > _YEAR:
            told = f"the newest lastmod of all is {newest.date}"
            found.note("D08", told, sitemap=newest.sitemap, line=newest.line, field="lastmod", raw=newest.date)


class Priorities(ByDocument[Counter[float]]):
    """Those of a sitemap, together (H03)."""

    codes = ("H03",)

    def new(self) -> Counter[float]:
        """Nothing yet."""
        return Counter()

    def urls(self, listed: Listed, found: Findings) -> None:
        """There are at most a few different ones."""
        self.of(listed.sitemap).update(priority for priority in listed.priorities if priority is not None)

    def judge(self, sitemap: str, gathered: Counter[float], outcome: Outcome | None, found: Findings) -> None:
        """One for all tells nothing."""
        count = gathered.total()
        if len(gathered) == 1 and count >= _FEWEST_PRIORITIES:
            told = f"all {count:,} priorities are {next(iter(gathered)):g}"
            found.note("H03", told, sitemap=sitemap, field="priority")
