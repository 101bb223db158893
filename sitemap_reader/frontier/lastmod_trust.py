"""Lastmod trust: the lastmods of a document in, a score from 0 to 1 with its reasons out. Reads no clock.

LastmodEvidence counts the lastmods of one document as they are read. Its History, to which a sync adds which of the
lastmods changed together with their entries, is judged by judge_history(). The rule is the same for a urlset, whose
entries are pages, and for an index, whose entries are sitemaps.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from itertools import compress, repeat
from math import ceil, inf, prod
from operator import eq, sub
from typing import TYPE_CHECKING, Literal

import attrs

from ..model.columns import EPOCH, SUBSECOND
from ..model.problems import percent
from ..model.records import Precision
from ..model.url_batch import lastmod_of, precision_of, states_time
from ..parser.normalise.dates import PRECISION_CHARACTERS, format_date, period_end, tolerance

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# A lastmod: the moment, and which of its fields were given.
Lastmod = tuple[datetime, Precision]
Kind = Literal["dense", "future", "at_fetch", "entry_only", "lastmod_only"]

# Fewer entries than this are not counted, as they may be chance: ten pages that changed at once, or five that changed
# in the minute of the request.
_MIN_ENTRIES = {"dense": 10, "at_fetch": 5}
# A build or an import writes its dates within minutes: of the real sites examined, the slowest took less than ten.
_DENSE_SECONDS = 600
# How many batches of a document are named, the largest ones, and the least share of the dates that each has.
_MAX_BATCHES, _MIN_BATCH_SHARE = 3, 0.05
# For clocks that differ. A site that changes all the time has pages that did change in the ten minutes before.
_FETCH_MARGIN_SECONDS = 60
# Distinct dates that are counted as they are. If there are more, all are rounded down to the smallest of these units of
# which there are no more; the last one has 365 in all the years of the calendar.
_MAX_DATES = 10_000
_UNIT_SECONDS = (0, 1, 60, 3_600, 86_400, 8_640_000, 864_000_000)
_SECOND = 1_000_000  # in microseconds
# A finding of an audit asks the owner of a site to change something, which takes more evidence than a lower score.
# Kind -> the least share of the dates, and the least number of dates.
_FINDINGS: dict[Kind, tuple[float, int]] = {"dense": (0.9, 20), "at_fetch": (1.0, 0)}
# Most entries of a sitemap can be dated: with less than half something is left out.
_DATED_SHARE = 0.5
# An index must have dated this many changes correctly before an unchanged lastmod is a reason not to fetch a child.
_PROVEN_CHANGES = 3
TRUSTED_SCORE = 0.9
# Lowest score -> wording.
_VERDICTS = ((TRUSTED_SCORE, "can be trusted"), (0.5, "are doubtful"), (0.0, "cannot be trusted"))
_MISSING = "are missing"
TRUST_CLASSES = (*(words for _, words in _VERDICTS), _MISSING)


@attrs.frozen
class Batch:
    """Entries whose lastmods lie within ten minutes, as a build or an import writes them: `count` of them."""

    date: str  # that all have, as it was stated, or the day of the first
    first: int  # in seconds since 1970, as `last`
    last: int
    count: int

    def __str__(self) -> str:
        minutes = -(-(self.last - self.first) // 60)
        return f"within {minutes or 1} min on {self.date}" if self.last > self.first else self.date


@attrs.frozen
class History:
    """Observations of one document's lastmods, as numbers of entries.

    From the last time that it was read: `dated` have a lastmod; `dense` have one of the ten minutes that hold most;
    `future` have one after the time of reading, `at_fetch` one at that time. `batches` are the (at most three) largest
    batches, which do not overlap, the largest first.
    From all times together: `both` entry and lastmod changed; `lastmod_only` changed while the entry did not;
    `entry_only` changed while its lastmod did not.
    """

    entries: int = 0
    dated: int = 0
    future: int = 0
    at_fetch: int = 0
    both: int = 0
    lastmod_only: int = 0
    entry_only: int = 0
    dense: int = 0
    batches: tuple[Batch, ...] = ()

    def counting(self, entry: bool, lastmod: bool) -> History:
        """A copy with one more observation: whether an entry changed, and whether its lastmod did."""
        return attrs.evolve(
            self,
            both=self.both + (entry and lastmod),
            lastmod_only=self.lastmod_only + (lastmod and not entry),
            entry_only=self.entry_only + (entry and not lastmod),
        )

    @property
    def changes(self) -> int:
        """The number of observed changes of an entry or its lastmod."""
        return self.both + self.lastmod_only + self.entry_only


def total(histories: Iterable[History]) -> History:
    """The history of several documents, each counted alone; batches within the same ten minutes are joined."""
    histories = [*histories]
    sums = {name: sum(getattr(history, name) for history in histories) for name in _COUNTS}
    return History(**sums, batches=_joined(batch for history in histories for batch in history.batches))


_COUNTS = [field.name for field in attrs.fields(History) if field.name != "batches"]


def _joined(batches: Iterable[Batch]) -> tuple[Batch, ...]:
    joined: list[Batch] = []
    for batch in sorted(batches, key=lambda batch: (batch.first, batch.last)):
        if joined and batch.last - joined[-1].first < _DENSE_SECONDS:
            last, count = max(joined[-1].last, batch.last), joined[-1].count + batch.count
            joined[-1] = attrs.evolve(joined[-1], last=last, count=count)
        else:
            joined.append(batch)
    return _largest(joined)


def _largest(batches: list[Batch]) -> tuple[Batch, ...]:
    return tuple(sorted(batches, key=lambda batch: (-batch.count, batch.first))[:_MAX_BATCHES])


@attrs.frozen
class LastmodSummary:
    """The lastmods of one document: the newest, the latest end of a period, and how many URLs have none."""

    newest: Lastmod | None = None
    latest_end: datetime | None = None
    undated: int = 0


@attrs.define
class LastmodEvidence:
    """Counts the lastmods of one document: add() the columns of its URLs, merge() its other parts, then history().

    Takes the memory of _MAX_DATES dates. The result depends neither on the order nor on the size of the parts.
    """

    entries: int = 0
    dated: int = 0
    _began: float = inf  # of the reading, in seconds since 1970
    _ended: float = -inf
    _counts: dict[int | None, Counter[int]] = attrs.field(factory=dict)  # by precision; dates as multiples of _unit()
    _newest: dict[int | None, int] = attrs.field(factory=dict)  # by precision, once the dates are rounded
    _level: int = 0  # index in _UNIT_SECONDS

    def add(
        self, lastmods: Sequence[int | None], precisions: Sequence[int | None], read_at: float | None = None
    ) -> None:
        """Adds URLs that were read at this time (seconds since 1970); the columns are those of a UrlBatch."""
        undated = lastmods.count(None)
        self.entries += len(lastmods)
        self.dated += len(lastmods) - undated
        if read_at is not None:
            self.read(read_at)
        codes = {*precisions}
        if undated == precisions.count(None):
            codes.discard(None)
        for code in codes:
            # Nearly all documents have dates of one precision: then Python looks at none of them.
            has_one = len(codes) == 1
            self._count(code, lastmods if has_one else [*compress(lastmods, map(eq, precisions, repeat(code)))])
        self._limit()

    def read(self, at: float, seconds: float = 0.0) -> None:
        """Notes that the document was read at this time, and in the `seconds` before."""
        self._began = min(self._began, at - seconds)
        self._ended = max(self._ended, at)

    def merge(self, other: LastmodEvidence) -> None:
        self.entries += other.entries
        self.dated += other.dated
        self._began, self._ended = min(self._began, other._began), max(self._ended, other._ended)
        self._limit(other._level)
        for code, number in other._maxima().items():
            self._newest[code] = max(number, self._newest.get(code, number))
        for code, counts in other._counts.items():
            rounded = _rounded(counts, self._unit(code) // other._unit(code))
            self._counts.setdefault(code, Counter()).update(rounded)
        self._limit()

    def _count(self, code: int | None, lastmods: Sequence[int | None]) -> None:
        counts = self._counts.setdefault(code, Counter())
        if not self._level:
            counts.update(lastmods)  # type: ignore[arg-type]
            del counts[None]
            return
        dated = [number for number in lastmods if number is not None]
        if dated:
            unit, newest = self._unit(code), max(dated)
            self._newest[code] = max(newest, self._newest.get(code, newest))
            counts.update([number // unit for number in dated])

    def _limit(self, level: int = 0) -> None:
        """Rounds the dates until there are no more than the limit, at least to this level."""
        while self._level < level or sum(map(len, self._counts.values())) > _MAX_DATES:
            self._newest, units = self._maxima(), {code: self._unit(code) for code in self._counts}
            self._level += 1
            for code, unit in units.items():
                self._counts[code] = _rounded(self._counts[code], self._unit(code) // unit)

    def _unit(self, code: int | None) -> int:
        return _UNIT_SECONDS[self._level] * _scale(code) or 1

    def _maxima(self) -> dict[int | None, int]:
        return self._newest if self._level else {code: max(counts) for code, counts in self._counts.items() if counts}

    @property
    def precision(self) -> Precision | None:
        """The precision of the dates; None if they have several."""
        codes = [code for code, counts in self._counts.items() if counts]
        return precision_of(codes[0]) if len(codes) == 1 else None

    def newest(self, until: datetime | None = None) -> Lastmod | None:
        """The newest lastmod, of those that are not after `until`; of equal ones that of the longest period."""
        known = {code: [number] for code, number in self._newest.items()} if self._level else self._counts
        limit = inf if until is None else until.timestamp()
        found = []
        for code, numbers in known.items():
            last = limit * _scale(code)
            newest = max(numbers, default=None)
            if newest is not None and newest > last:
                newest = max((each for each in numbers if each <= last), default=None)
            if newest is not None:
                found.append(_lastmod(newest, code))
        return max(found, key=lambda lastmod: (lastmod[0], period_end(*lastmod)), default=None)

    def summary(self) -> LastmodSummary:
        ends = [period_end(*_lastmod(number, code)) for code, number in self._maxima().items()]
        return LastmodSummary(self.newest(), max(ends, default=None), self.entries - self.dated)

    def history(self, before: History | None = None, *, as_of: float | None = None) -> History:
        """The counts, in place of the last ones of a document that was read `before`; its counts of changes stay.

        Dates after `as_of` (seconds since 1970) are in the future; None: those after the document was read.
        """
        batches, at_fetch = self._batches(), self._at_fetch()
        return attrs.evolve(
            before or History(),
            entries=self.entries,
            dated=self.dated,
            dense=batches[0].count if batches else 0,
            future=self._future(self._ended if as_of is None else as_of),
            at_fetch=at_fetch if at_fetch >= _MIN_ENTRIES["at_fetch"] else 0,
            batches=batches,
        )

    def _future(self, now: float) -> int:
        """The number of lastmods after `now`; 0 if that is -inf, as it is unknown."""
        late = 0
        for code, counts in self._counts.items() if now > -inf else ():
            latest = (now + tolerance(precision_of(code)).total_seconds()) * _scale(code) / self._unit(code)
            if max(counts, default=0) > latest:
                late += sum([count for number, count in counts.items() if number > latest])
        return late

    def _at_fetch(self) -> int:
        """The number of lastmods that state a time at which the document was read."""
        read = 0
        for code, counts in self._counts.items():
            per_second = _scale(code) / self._unit(code)
            first = (self._began - _FETCH_MARGIN_SECONDS) * per_second
            last = (self._ended + _FETCH_MARGIN_SECONDS) * per_second
            if states_time(code) and max(counts, default=0) >= first:
                read += sum([count for number, count in counts.items() if first <= number <= last])
        return read

    def _batches(self) -> tuple[Batch, ...]:
        """The batches that are large enough, found one after the other, each among the dates that are left."""
        scale = max(map(_scale, self._counts), default=1)  # of the moments
        moments: Counter[int] = Counter()  # lastmod -> number of entries
        for code, counts in self._counts.items():
            length = self._unit(code) * scale // _scale(code)
            moments.update(counts if length == 1 else {number * length: count for number, count in counts.items()})
        batches: list[Batch] = []
        while len(batches) < _MAX_BATCHES:
            least_share = _MIN_BATCH_SHARE if batches else 0
            least = ceil(max(_MIN_ENTRIES["dense"], least_share * self.dated))
            found = _densest(moments, max(_DENSE_SECONDS, _UNIT_SECONDS[self._level]) * scale, least)
            if found is None:
                break
            first, last, count = found
            end = last // scale + max(_UNIT_SECONDS[self._level] - 1, 0)
            # The date that all have, as it was stated; of several the day of the first.
            is_exact = first == last and _UNIT_SECONDS[self._level] <= 1
            date = format_date(EPOCH + timedelta(microseconds=first * _SECOND // scale), self.precision or "day")
            date = date if is_exact else date[: PRECISION_CHARACTERS["day"]]
            batches.append(Batch(date, first // scale, end, count))
            moments = Counter({number: count for number, count in moments.items() if not first <= number <= last})
        return _largest(batches)


def _densest(moments: Counter[int], length: int, least: int) -> tuple[int, int, int] | None:
    """The moments within this length that most entries have: first, last and the number of entries.

    Of equals the shortest; None if the number is less than `least`.
    """
    numbers = sorted(moments)
    # As many entries have at least so many moments: mostly these are nowhere within this length, which takes no loop.
    distinct = -(-least // max(moments.values(), default=1))
    if min(map(sub, numbers[distinct - 1 :], numbers), default=length) >= length:
        return None
    first, last, most, start, held = 0, 0, 0, 0, 0
    for number in numbers:
        held += moments[number]
        while number - numbers[start] >= length:
            held -= moments[numbers[start]]
            start += 1
        if held > most or (held == most and number - numbers[start] < last - first):
            first, last, most = numbers[start], number, held
    return (first, last, most) if most >= least else None


def _scale(code: int | None) -> int:
    """How many of a lastmod's numbers are a second."""
    return _SECOND if code == SUBSECOND else 1


def _lastmod(number: int, code: int | None) -> Lastmod:
    moment, precision = lastmod_of(number, code)
    assert moment is not None  # noqa: S101 - for the type checker
    return moment, precision or "second"


def _rounded(counts: Counter[int], times: int) -> Counter[int]:
    """The counts by a unit that is so many times as long."""
    if times == 1:
        return counts
    rounded = Counter([number // times for number in counts])  # most of so many dates occur once
    for number, count in counts.items():
        if count > 1:
            rounded[number // times] += count - 1
    return rounded


@attrs.frozen
class LastmodTrust:
    """How far lastmods can be trusted.

    `score`: 1 without evidence against them, 0 if they carry no information, None if there are none. `reasons`: the
    evidence. `coverage`: the share of the entries that have a lastmod (0 to 1), None without entries.
    """

    score: float | None
    reasons: tuple[str, ...] = ()
    coverage: float | None = None

    def __str__(self) -> str:
        if self.score is None:
            return "none (no entry has a lastmod)"
        dated = [] if self.coverage in (None, 1.0) else [f"only {percent(self.coverage)} have a lastmod"]
        details = [*dated, *self.reasons]
        return _rounded_down(self.score) + (f" ({'; '.join(details)})" if details else "")


@attrs.frozen
class Indication:
    """Evidence against the lastmods, in words: how many entries or changes show it, and their share (over 0 to 1)."""

    kind: Kind
    count: int
    share: float
    weight: float
    words: str


# Kind of evidence -> what it is a share of, its wording, its weight.
_INDICATORS: dict[Kind, tuple[str, str, float]] = {
    # As after a migration, or in a generated file: such dates distinguish no page from another.
    "dense": ("dated", "", 1),
    "future": ("dated", "have a lastmod in the future", 1),
    "at_fetch": ("dated", "have the time of the request as their lastmod", 1),
    "entry_only": ("changes", "of the changes did not change the lastmod", 1),
    # Half the weight: a lastmod that is too new costs a needless fetch, one that is too old hides a change.
    "lastmod_only": ("changes", "of the changes changed only the lastmod", 0.5),
}


def indications(history: History) -> list[Indication]:
    found = []
    for kind, (whole, words, weight) in _INDICATORS.items():
        count = getattr(history, kind)
        if count >= _MIN_ENTRIES.get(kind, 1):
            share = count / getattr(history, whole)
            described = _batch_words(history) if kind == "dense" else f"{percent(share)} {words}"
            found.append(Indication(kind, count, share, weight, described))
    return found


def _batch_words(history: History) -> str:
    """`95% within 1 min on 2026-06-13, 10% on 2026-01-02: builds or imports`; the dates of several documents, summed.

    >>> _batch_words(History(dated=100, dense=95, batches=(Batch("2026-06-13", 0, 0, 95),)))
    '95% have the same lastmod, 2026-06-13: a build or an import'
    """
    largest, *others = history.batches or (None,)
    share = percent(history.dense / history.dated)
    if largest is None:
        return f"{share} within ten minutes: a build or an import"
    if largest.count == history.dense and not others:
        same = "have the same lastmod, " if largest.first == largest.last else ""
        return f"{share} {same}{largest}: a build or an import"
    named = ", ".join(
        f"{percent(batch.count / history.dated)} {'on ' * (batch.first == batch.last)}{batch}"
        for batch in history.batches
    )
    if largest.count < history.dense:
        return f"{share} are of the largest build or import of their sitemap, such as {named}"
    return f"{named}: builds or imports"


def judge_history(history: History) -> LastmodTrust:
    """The trust that a document's lastmods deserve; a document without any lastmod has no score.

    The score is the product of 1 - share * weight over all indications.

    >>> str(judge_history(History(entries=4, dated=4, future=1)))
    '0.75 (25% have a lastmod in the future)'
    """
    coverage = history.dated / history.entries if history.entries else None
    if not history.dated:
        return LastmodTrust(None, coverage=coverage)
    found = indications(history)
    score = prod(1.0 - each.share * each.weight for each in found)
    return LastmodTrust(round(score, 3), tuple(each.words for each in found), coverage)


def trust_in_words(trust: LastmodTrust) -> str:
    """The predicate of a sentence that begins with "lastmods".

    >>> trust_in_words(LastmodTrust(0.95)), trust_in_words(LastmodTrust(None))
    ('can be trusted (0.95)', 'are missing')
    >>> trust_in_words(LastmodTrust(0.498)), trust_in_words(LastmodTrust(0.5))
    ('cannot be trusted (0.49)', 'are doubtful (0.50)')
    """
    return trust_class(trust) + ("" if trust.score is None else f" ({_rounded_down(trust.score)})")


def trust_class(trust: LastmodTrust) -> str:
    """One of TRUST_CLASSES."""
    if trust.score is None:
        return _MISSING
    return next(words for min_score, words in _VERDICTS if trust.score >= min_score)


def _rounded_down(score: float) -> str:
    """With two digits; 0.498 is 0.49, as from 0.5 on the verdict is another."""
    return f"{int(round(score * 1000) / 10) / 100:.2f}"


def is_proven(history: History) -> bool:
    """Whether an index is reliable enough that a child is not fetched while its lastmod stays the same."""
    return history.both >= _PROVEN_CHANGES and (judge_history(history).score or 0.0) >= TRUSTED_SCORE


def needs_finding(history: History) -> set[Kind | Literal["undated"]]:
    """The evidence that is a finding of an audit; "undated": most entries have no lastmod."""
    found: set[Kind | Literal["undated"]] = set()
    for each in indications(history):
        least_share, least_dated = _FINDINGS.get(each.kind, (inf, 0))
        if each.share >= least_share and history.dated >= least_dated:
            found.add(each.kind)
    return found | ({"undated"} if history.dated < history.entries * _DATED_SHARE else set())


def is_future(lastmod: datetime, precision: str | None, now: datetime) -> bool:
    """Whether a lastmod is later than clocks and time zones explain."""
    return lastmod - now > tolerance(precision)


def is_behind(listed: Lastmod, newest: Lastmod | None) -> bool:
    """Whether the lastmod that an index states for a sitemap is too old for the sitemap's newest one."""
    # A stated day, month or year counts by its end. Without a time, the day may have begun earlier in another time
    # zone.
    if newest is None:
        return False
    return newest[0] - period_end(*listed) >= max(tolerance(listed[1]), tolerance(newest[1]))
