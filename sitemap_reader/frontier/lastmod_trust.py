"""Lastmod trust: the lastmods of a document in, a score from 0 to 1 with its reasons out. Reads no clock.

LastmodEvidence counts the lastmods of one document as they are read. Its History, to which a sync adds which of the
lastmods changed together with their entries, is judged by judge_history(). The rule is the same for a urlset, whose
entries are pages, and for an index, whose entries are sitemaps.

A batch is what a build or an import writes: many equal dates, or many within minutes. A page that was published on the
day of its lastmod, by its URL or as news, is no evidence for one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import chain, compress, repeat
from math import ceil, inf, prod
from operator import eq, sub
from typing import TYPE_CHECKING, Literal

import attrs

from ..model.columns import EPOCH, SUBSECOND
from ..model.problems import percent
from ..model.records import Precision
from ..model.url_batch import lastmod_of, precision_of, states_time
from ..parser.normalise.dates import PRECISION_CHARACTERS, TIMED, days_in_urls, format_date, period_end, tolerance

if TYPE_CHECKING:
    from ..model.url_batch import UrlBatch

# A lastmod: the moment, and which of its fields were given.
Lastmod = tuple[datetime, Precision]
# Of lastmods that are counted together: the code of their precision, and whether they are confirmed.
_Kind = tuple[int | None, bool]
Kind = Literal["dense", "future", "at_fetch", "entry_only", "lastmod_only"]

# Fewer entries than this are not counted, as they may be chance: ten pages that changed at once, or five that changed
# in the minute of the request.
_MIN_ENTRIES = {"dense": 10, "at_fetch": 5}
# A build or an import writes its dates within minutes: of the real sites examined, the slowest took less than ten.
_DENSE_SECONDS = 600
# The least share of the dates that a batch has, within minutes and of one date that states none: a day, or a full or
# half hour (midnight in any zone, the time of a planned post). Many pages change on one day: on a news site of five
# days 32% of the pages, on blogs 11, 16, 18, 32 and 38%; the builds and imports among 330 real sitemaps have 60% of
# such dates, 81, 92 to 99%, and all of them in 24. A site of documents whose texts were kept changed half of them in 13
# of 41 periods of some days, 76% at most: if that was one day, its dates tell as little about the pages as a build's.
_MIN_SHARE, _MIN_DAY_SHARE = 0.05, 0.5
_HALF_HOUR = 1_800
# Batches of a history, the largest ones; each document has 20 at most. So many are named.
_MAX_BATCHES, _MAX_NAMED = 100, 3
# For clocks that differ. A site that changes all the time has pages that did change in the ten minutes before.
_FETCH_MARGIN_SECONDS = 60
# Distinct dates that are counted as they are, 54 years of days. If there are more, all are rounded down to the smallest
# of these units of which there are no more; the last one has 365 in all the years of the calendar. Where that is an
# hour or a day, there are over 300 hours or 800 days with a date, of which one with 5% has 16 or 40 times the mean: it
# is a batch, too, though not known to be one within minutes. Of longer units none is.
_MAX_DATES = 20_000
_UNIT_SECONDS = (0, 1, 60, 3_600, 86_400, 8_640_000, 864_000_000)
_DAY_SECONDS = 86_400
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
    """Entries of one build or import, by their lastmods: `count` of them, equal or within ten minutes.

    Of very many different lastmods they may be of one hour or day.
    """

    date: str  # that all have, as it was stated, or the day of the first
    first: int  # in seconds since 1970, as `last`
    last: int
    count: int

    @property
    def has_one_date(self) -> bool:
        """Whether `date` is all that is known of its lastmods: they are equal, or were counted by the day."""
        return self.last - self.first in (0, _DAY_SECONDS - 1)

    def __str__(self) -> str:
        return self.date if self.has_one_date else f"within {-(-(self.last - self.first) // 60)} min on {self.date}"


@attrs.frozen
class History:
    """Observations of one document's lastmods, as numbers of entries.

    From the last time that it was read: `dated` have a lastmod; `dense` have one of the largest batch; `future` have
    one after the time of reading, `at_fetch` one at that time. `batches` do not overlap, the largest first.
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
    def named(self) -> list[Batch]:
        """At most three batches, those with 5% of the dates or more."""
        return [batch for batch in self.batches[:_MAX_NAMED] if batch.count >= _MIN_SHARE * self.dated]

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
            first, last, count = joined[-1].first, max(joined[-1].last, batch.last), joined[-1].count + batch.count
            date = batch.date if first == last else batch.date[: PRECISION_CHARACTERS["day"]]
            joined[-1] = Batch(date, first, last, count)
        else:
            joined.append(batch)
    return _largest(joined)


def _largest(batches: Iterable[Batch]) -> tuple[Batch, ...]:
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
    _counts: dict[_Kind, Counter[int]] = attrs.field(factory=dict)  # dates as multiples of _unit()
    _newest: dict[_Kind, int] = attrs.field(factory=dict)  # once the dates are rounded
    _level: int = 0  # index in _UNIT_SECONDS

    def add_urls(self, urls: UrlBatch, read_at: float | None = None) -> None:
        """Adds URLs that were read at this time, in seconds since 1970."""
        self.add(urls.lastmods, urls.precisions, read_at, confirmed_lastmods(urls))

    def add(
        self,
        lastmods: Sequence[int | None],
        precisions: Sequence[int | None],
        read_at: float | None = None,
        confirmed: Sequence[bool] = (),
    ) -> None:
        """Adds columns as those of a UrlBatch; `confirmed` of lastmods that no batch counts, () if none is."""
        undated = lastmods.count(None)
        self.entries += len(lastmods)
        self.dated += len(lastmods) - undated
        if read_at is not None:
            self.read(read_at)
        for flag in {*confirmed}:
            flags = [each is flag for each in confirmed]
            self._add([*compress(lastmods, flags)], [*compress(precisions, flags)], flag)
        if not confirmed:
            self._add(lastmods, precisions, False)
        self._limit()

    def _add(self, lastmods: Sequence[int | None], precisions: Sequence[int | None], is_confirmed: bool) -> None:
        codes = {*precisions}
        if lastmods.count(None) == precisions.count(None):
            codes.discard(None)
        for code in codes:
            # Nearly all documents have dates of one precision: then Python looks at none of them.
            has_one = len(codes) == 1
            some = lastmods if has_one else [*compress(lastmods, map(eq, precisions, repeat(code)))]
            self._count((code, is_confirmed), some)

    def read(self, at: float, seconds: float = 0.0) -> None:
        """Notes that the document was read at this time, and in the `seconds` before."""
        self._began = min(self._began, at - seconds)
        self._ended = max(self._ended, at)

    def merge(self, other: LastmodEvidence) -> None:
        self.entries += other.entries
        self.dated += other.dated
        self._began, self._ended = min(self._began, other._began), max(self._ended, other._ended)
        self._limit(other._level)
        for kind, number in other._maxima().items():
            self._newest[kind] = max(number, self._newest.get(kind, number))
        for kind, counts in other._counts.items():
            rounded = _rounded(counts, self._unit(kind) // other._unit(kind))
            self._counts.setdefault(kind, Counter()).update(rounded)
        self._limit()

    def _count(self, kind: _Kind, lastmods: Sequence[int | None]) -> None:
        counts = self._counts.setdefault(kind, Counter())
        if not self._level:
            counts.update(lastmods)  # type: ignore[arg-type]
            del counts[None]
            return
        dated = [number for number in lastmods if number is not None]
        if dated:
            unit, newest = self._unit(kind), max(dated)
            self._newest[kind] = max(newest, self._newest.get(kind, newest))
            counts.update([number // unit for number in dated])

    def _limit(self, level: int = 0) -> None:
        """Rounds the dates until there are no more than the limit, at least to this level."""
        while self._level < level or sum(map(len, self._counts.values())) > _MAX_DATES:
            self._newest, units = self._maxima(), {kind: self._unit(kind) for kind in self._counts}
            self._level += 1
            for kind, unit in units.items():
                self._counts[kind] = _rounded(self._counts[kind], self._unit(kind) // unit)

    def _unit(self, kind: _Kind) -> int:
        return _UNIT_SECONDS[self._level] * _scale(kind[0]) or 1

    def _maxima(self) -> dict[_Kind, int]:
        return self._newest if self._level else {kind: max(counts) for kind, counts in self._counts.items() if counts}

    def newest(self, until: datetime | None = None) -> Lastmod | None:
        """The newest lastmod, of those that are not after `until`; of equal ones that of the longest period."""
        known = {kind: [number] for kind, number in self._newest.items()} if self._level else self._counts
        limit = inf if until is None else until.timestamp()
        found = []
        for (code, _), numbers in known.items():
            last = limit * _scale(code)
            newest = max(numbers, default=None)
            if newest is not None and newest > last:
                newest = max((each for each in numbers if each <= last), default=None)
            if newest is not None:
                found.append(_lastmod(newest, code))
        return max(found, key=lambda lastmod: (lastmod[0], period_end(*lastmod)), default=None)

    def summary(self) -> LastmodSummary:
        ends = [period_end(*_lastmod(number, code)) for (code, _), number in self._maxima().items()]
        return LastmodSummary(self.newest(), max(ends, default=None), self.entries - self.dated)

    def history(self, before: History | None = None, *, as_of: float | None = None) -> History:
        """The counts, in place of the last ones of a document that was read `before`; its counts of changes stay.

        Dates after `as_of` (seconds since 1970) are in the future; None: those after the document was read.
        """
        batches, at_fetch = _largest(self._batches()), self._at_fetch()
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
        for kind, counts in self._counts.items() if now > -inf else ():
            latest = (now + tolerance(precision_of(kind[0])).total_seconds()) * _scale(kind[0]) / self._unit(kind)
            if max(counts, default=0) > latest:
                late += sum([count for number, count in counts.items() if number > latest])
        return late

    def _at_fetch(self) -> int:
        """The number of lastmods that state a time at which the document was read."""
        read = 0
        for kind, counts in self._counts.items():
            per_second = _scale(kind[0]) / self._unit(kind)
            first = (self._began - _FETCH_MARGIN_SECONDS) * per_second
            last = (self._ended + _FETCH_MARGIN_SECONDS) * per_second
            if states_time(kind[0]) and max(counts, default=0) >= first:
                read += sum([count for number, count in counts.items() if first <= number <= last])
        return read

    def _batches(self) -> Iterator[Batch]:
        """The batches among the lastmods that are not confirmed."""
        unit = _UNIT_SECONDS[self._level]
        if unit > _DAY_SECONDS:
            return
        least, least_of_day = (max(_MIN_ENTRIES["dense"], share * self.dated) for share in (_MIN_SHARE, _MIN_DAY_SHARE))
        counted = {kind[0]: counts for kind, counts in self._counts.items() if not kind[1]}
        times = {code: counts for code, counts in counted.items() if states_time(code) or code is None}
        for code in counted.keys() - times:
            length = self._unit((code, False))
            for number, count in counted[code].items():
                if count >= least_of_day:
                    start = number * length
                    yield Batch(format_date(*_lastmod(start, code)), start, start, count)
        scale, precision = max(map(_scale, times), default=1), precision_of(max(filter(None, times), default=None))
        moments: Counter[int] = Counter()  # lastmod -> number of entries
        for code, counts in times.items():
            length = self._unit((code, False)) * scale // _scale(code)
            moments.update(counts if length == 1 else {number * length: count for number, count in counts.items()})
        while found := _densest(moments, max(_DENSE_SECONDS, unit) * scale, ceil(least)):
            first, last, count = found
            moments = Counter({number: count for number, count in moments.items() if not first <= number <= last})
            is_exact = first == last and unit <= 1
            if is_exact and first % (_HALF_HOUR * scale) == 0 and count < least_of_day:
                continue
            # The date that all have, as it was stated; of several the day of the first.
            date = format_date(EPOCH + timedelta(microseconds=first * _SECOND // scale), precision)
            date = date if is_exact else date[: PRECISION_CHARACTERS["day"]]
            end = first // scale if is_exact else -(-last // scale) + max(unit - 1, 0)
            yield Batch(date, first // scale, end, count)


def confirmed_lastmods(urls: UrlBatch) -> Sequence[bool]:
    """Whether the day of each lastmod is that in the URL, or the publication date of the page as news; () if none is.

    No time confirms another: programs write the time of a build as the publication date, too.
    """
    stated = days_in_urls(urls.text)
    if any(urls.counts("news")):
        keys = ("publication_date", "publication_date_precision")
        news = zip(urls.owners("news"), *(urls.items("news", key) for key in keys), strict=True)
        stated = chain(
            stated,
            (
                (index, moment)
                for index, moment, precision in news
                if moment and not (precision in TIMED and states_time(urls.precisions[index]))
            ),
        )
    confirmed = [False] * len(urls)
    for index, moment in stated:
        number, code = urls.lastmods[index], urls.precisions[index]
        if number is not None and number // (_DAY_SECONDS * _scale(code)) == (moment - EPOCH).days:
            confirmed[index] = True
    return confirmed if any(confirmed) else ()


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
        least_share = _MIN_SHARE if kind == "dense" else 0
        if count >= max(_MIN_ENTRIES.get(kind, 1), least_share * getattr(history, whole)):
            share = count / getattr(history, whole)
            described = _batch_words(history) if kind == "dense" else f"{percent(share)} {words}"
            found.append(Indication(kind, count, share, weight, described))
    return found


def _batch_words(history: History) -> str:
    """`95% within 1 min on 2026-06-13, 10% on 2026-01-02: builds or imports`; the dates of several documents, summed.

    >>> _batch_words(History(dated=100, dense=95, batches=(Batch("2026-06-13", 0, 0, 95),)))
    '95% have the same lastmod, 2026-06-13: a build or an import'
    """
    share, named = percent(history.dense / history.dated), history.named
    if sum(batch.count for batch in named[:1]) < history.dense:
        such = ", such as " + _in_words(named, history) if named else ""
        return f"{share} are of the largest build or import of their sitemap{such}"
    if len(named) == 1 and named[0].first == named[0].last:
        return f"{share} have the same lastmod, {named[0]}: a build or an import"
    return f"{_in_words(named, history)}: {'builds or imports' if named[1:] else 'a build or an import'}"


def _in_words(batches: list[Batch], history: History) -> str:
    words = [(percent(each.count / history.dated), "on " * each.has_one_date, each) for each in batches]
    return ", ".join(f"{share} {on}{each}" for share, on, each in words)


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
    return trust_class(trust) + score_in_words(trust)


def score_in_words(trust: LastmodTrust) -> str:
    """`" (0.49)"`, with two digits; nothing without a score."""
    return "" if trust.score is None else f" ({_rounded_down(trust.score)})"


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
