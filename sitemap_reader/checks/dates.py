"""Checks of lastmods and priorities that carry no information (D02 to D05, D07, D08, H03)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import attrs

from ..frontier.lastmod_trust import LastmodEvidence, is_behind, is_future, needs_finding, total
from ..model.columns import SUBSECOND, lastmod_number
from ..model.url_batch import lastmod_of, precision_of
from ..parser.content.sniff import Format
from ..parser.normalise.dates import PRECISION_CHARACTERS, format_date, has_local_time, period_end, tolerance
from ..serialize.jsonl import stamp
from ..statistics.facts import trust_facts
from .documents import INCOMPLETE, PerSitemapCheck, WholeSiteCheck
from .findings import Check, place_of

if TYPE_CHECKING:
    from ..frontier.lastmod_trust import History, Lastmod
    from ..model.problems import Problem
    from ..model.records import Outcome, Precision, SitemapRef
    from ..model.url_batch import UrlBatch
    from ..statistics.facts import Fact
    from .documents import CheckFactories
    from .findings import Description, Findings, Place

_YEAR = timedelta(days=365)
_MIN_PRIORITIES = 10
# How far the zones of the world are from UTC: a time without a zone, which is read as UTC, may be so much earlier.
_MOST_OFF = timedelta(hours=14)


def zone_doubt(problems: Iterable[Problem], field: str) -> timedelta:
    """How much earlier or later a date may be than it was read: its text has a time, but no zone (D06)."""
    has_none = any(each.code == "D06" and each.field == field and has_local_time(each.raw or "") for each in problems)
    return _MOST_OFF if has_none else timedelta()


class FutureDates(Check):
    """Lastmods in the future (D02), of pages and of the sitemaps of an index."""

    codes = ("D02",)

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        now = self._clock()
        if not any(is_future(lastmod, precision, now) for _, lastmod, precision in batch.newest):
            return
        latest = {code: _latest(now, code) for code in batch.dates}
        stated = enumerate(zip(batch.lastmods, batch.precisions, strict=True))
        late = {index: each for index, each in stated if each[0] is not None and each[0] > latest[each[1]]}
        future = {index: each for index, each in late.items() if self._is_certain(batch, index, *lastmod_of(*each))}
        findings.report_urls("D02", batch, future, lambda loc, each: _describe_future(loc, *lastmod_of(*each)))

    def _is_certain(self, batch: UrlBatch, index: int, lastmod: datetime | None, precision: Precision | None) -> bool:
        doubt = zone_doubt(batch.problems.get(index, ()), "lastmod")
        return not doubt or (lastmod is not None and is_future(lastmod - doubt, precision, self._clock()))

    def on_ref(self, ref: SitemapRef, findings: Findings) -> None:
        if ref.lastmod is None or not is_future(ref.lastmod, ref.lastmod_precision, self._clock()):
            return
        if is_future(ref.lastmod - zone_doubt(ref.problems, "lastmod"), ref.lastmod_precision, self._clock()):
            message, field, date = _describe_future(ref.loc, ref.lastmod, ref.lastmod_precision)
            findings.report("D02", message, sitemap=ref.sitemap, line=ref.line, url=ref.loc, field=field, raw=date)


def _latest(now: datetime, code: int | None) -> int:
    """The greatest number of a lastmod of this precision that is_future() denies."""
    unit = timedelta(microseconds=1) if code == SUBSECOND else timedelta(seconds=1)
    return (lastmod_number(now, code) or 0) + tolerance(precision_of(code)) // unit


def _describe_future(loc: str, lastmod: datetime | None, precision: Precision | None) -> Description:
    date = format_date(lastmod, precision) if lastmod else ""
    return f"{loc}: lastmod {date} is in the future", "lastmod", date


@attrs.define
class _LastmodStats:
    evidence: LastmodEvidence = attrs.field(factory=LastmodEvidence)
    unreadable: int = 0  # URLs whose lastmod is a D01
    has_news: bool = False


class SitemapLastmods(PerSitemapCheck[_LastmodStats]):
    """The lastmods of a sitemap together (D03, D04, D05, D07), and how far they can be trusted.

    `clock` is the time of the fetch, None if unknown. After `as_of`, by default the fetch, lastmods are in the future.
    """

    codes = ("D03", "D04", "D05", "D07")
    new_stats = _LastmodStats

    def __init__(self, clock: Callable[[], datetime] | None, as_of: datetime | None = None) -> None:
        super().__init__()
        self._clock = clock
        self._as_of = None if as_of is None else as_of.timestamp()
        self._refs: list[tuple[SitemapRef, datetime | None]] = []  # and when the index was read
        self._newest: dict[str, Lastmod] = {}  # by sitemap, of the lastmods that are not in the future
        self.histories: dict[str, History] = {}  # by sitemap

    def on_ref(self, ref: SitemapRef, findings: Findings) -> None:
        if ref.lastmod is not None:
            self._refs.append((ref, self._clock and self._clock()))

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        stats = self.stats[batch.sitemap or ""]
        stats.evidence.add_urls(batch, self._clock and self._clock().timestamp())
        stats.unreadable += sum(
            batch.lastmods[index] is None and any(each.code == "D01" and each.field == "lastmod" for each in problems)
            for index, problems in batch.problems.items()
        )
        stats.has_news = stats.has_news or any(batch.counts("news"))

    def check_sitemap(self, sitemap: str, stats: _LastmodStats, outcome: Outcome | None, findings: Findings) -> None:
        evidence = stats.evidence
        now = self._clock and self._clock()
        if now and outcome:
            evidence.read(now.timestamp(), outcome.seconds or 0.0)
        history = self.histories[sitemap] = evidence.history(as_of=self._as_of)
        # News have a publication date, and are all of the last days. A text sitemap cannot state dates; a dump may not
        # state the format.
        exempt = {"dense", "undated"} if stats.has_news else set[str]()
        if _is_of_one_day(sitemap, history):
            exempt.add("dense")
        if outcome.format == Format.TEXT if outcome else not history.dated:
            exempt.add("undated")
        if "undated" not in needs_finding(attrs.evolve(history, dated=history.dated + stats.unreadable)):
            exempt.add("undated")
        for kind in needs_finding(history) - exempt:
            code, message = _MESSAGES[kind]
            text = message(history, stamp(now and now.replace(microsecond=0)), stats.unreadable)
            findings.report(code, text, sitemap=sitemap, field="lastmod")
        if newest := evidence.newest(now):
            self._newest[sitemap] = newest

    def facts(self) -> Iterator[Fact]:
        """The verdict on the lastmods of all sitemaps together, and the evidence against them."""
        history = total(history for _, history in sorted(self.histories.items()))
        if history.dated:
            yield from trust_facts(history, history.entries)

    def on_end(self, findings: Findings) -> None:
        super().on_end(findings)
        for ref, read_at in self._refs:
            newest = self._newest.get(ref.loc)
            if newest is None or ref.lastmod is None or (read_at and newest[0] > read_at):  # the index may be older
                continue
            if is_behind((ref.lastmod, ref.lastmod_precision or "second"), newest):
                date = format_date(ref.lastmod, ref.lastmod_precision)
                message = f"{ref.loc} has the index lastmod {date}, but an entry of {format_date(*newest)}"
                findings.report(
                    "D05", message, sitemap=ref.sitemap, line=ref.line, field="lastmod", raw=date, url=ref.loc
                )


def _is_of_one_day(sitemap: str, history: History) -> bool:
    """Whether it is the archive of one day: all lastmods are that day, which its URL names."""
    first = history.batches[0] if history.batches else None
    day = first.date if first and first.first == first.last else ""
    is_day = len(day) == PRECISION_CHARACTERS["day"]
    return is_day and day.replace("-", "") in "".join(filter(str.isdecimal, sitemap))


def _describe_undated(history: History, _: str | None, unreadable: int) -> str:
    stated = f"{history.dated + unreadable:,} of {history.entries:,} URLs have a lastmod"
    return f"{stated}, {unreadable:,} of them an unreadable one" if unreadable else stated


# Kind of evidence -> the code that reports it, and the message. The arguments after the history are the time of the
# request, and the number of lastmods that cannot be read.
_MESSAGES: dict[str, tuple[str, Callable[[History, str | None, int], str]]] = {
    "dense": ("D03", lambda history, *_: f"{history.dense:,} of {history.dated:,} lastmods are {history.batches[0]}"),
    "at_fetch": ("D04", lambda history, at, _: f"all {history.dated:,} lastmods are the time of the request, {at}"),
    "undated": ("D07", _describe_undated),
}


class StaleSite(WholeSiteCheck):
    """Sites whose newest lastmod is over a year old (D08)."""

    codes = ("D08",)

    def __init__(self, now: datetime) -> None:
        super().__init__()
        self._now = now
        # The end of the period of the newest lastmod, its text and its place.
        self._newest: tuple[datetime, str, Place] | None = None

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        if self._newest is not None and self._now - self._newest[0] <= _YEAR:
            return
        for index, lastmod, precision in batch.newest:
            end = period_end(lastmod, precision or "second")
            place = place_of(batch, index)
            is_first = self._newest is not None and (batch.sitemap or "") < (self._newest[2]["sitemap"] or "")
            if self._newest is None or end > self._newest[0] or (end == self._newest[0] and is_first):
                self._newest = end, format_date(lastmod, precision), place

    def on_end(self, findings: Findings) -> None:
        if self._newest is None or self._now - self._newest[0] <= _YEAR:
            return
        _, date, place = self._newest
        if self.has_whole_site:
            findings.report("D08", f"the newest lastmod of all is {date}", **place, field="lastmod", raw=date)
        else:  # what was not read may have a newer one
            self.leave_out(self.codes, f"{INCOMPLETE}: D08 not checked")


class EqualPriorities(PerSitemapCheck[Counter[float]]):
    """Sitemaps in which all priorities are equal (H03)."""

    codes = ("H03",)
    new_stats = Counter[float]

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        stats = self.stats[batch.sitemap or ""]
        stats.update(batch.priorities)  # type: ignore[arg-type]
        del stats[None]

    def check_sitemap(self, sitemap: str, stats: Counter[float], outcome: Outcome | None, findings: Findings) -> None:
        count = stats.total()
        if len(stats) == 1 and count >= _MIN_PRIORITIES:
            message = f"all {count:,} priorities are {next(iter(stats)):g}"
            findings.report("H03", message, sitemap=sitemap, field="priority")


CHECKS: CheckFactories = (
    lambda context: FutureDates(context.clock),
    lambda context: StaleSite(context.now),
    lambda _: EqualPriorities(),
)
