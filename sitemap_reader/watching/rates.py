"""How often a document changes: what checks found comes in; expected changes and delays of any period go out.

A rate is a gamma distribution (events, seconds). It begins with what a document's kind and headers suggest, and how
much documents differ from that; each check of the document revises it, and old checks count less and less. Where the
times of changes are known, the rate also has a profile by hour of the day. Times are seconds since 1970, UTC.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import expm1, floor, fsum, inf, isclose, log, log1p, sqrt
from typing import Any, Final

import attrs

from .budget import HOUR

DAY: Final = 24 * HOUR
HALF_LIFE_SECONDS: Final = 30 * DAY
SAME_CHANGE_SECONDS: Final = 60.0  # a build writes many lastmods within seconds
_PROFILE_PRIOR: Final = 4.0  # changes, spread over the day, that a profile starts from
_PROFILE_MAX: Final = 40.0  # changes; beyond that older ones count less
_PEAK_WEIGHT: Final = 4.0
_LEAST_KEPT: Final = 0.1  # of a prior: a check that finds a change after a long time can lower the seconds
_ASSUMED: Final = 10.0  # documents, before there are others
_MIN_SHAPE, _MAX_SHAPE = 0.1, 20.0
_MAX_EVENTS: Final = 1e6
_MAX_COUNT: Final = 1e12
_MIN_PRECISION: Final = 0.2
_FREE_SIGNALS: Final = 3.0
_MAX_SENT_SHARE: Final = 0.8  # one that signals a change of nearly every child at nearly every look distinguishes none
_MAX_SIGNALS: Final = 200.0  # beyond that older ones count less


@attrs.frozen
class Prior:
    """Changes in a number of seconds that are assumed before the first check: the fewer, the sooner checks prevail."""

    events: float
    seconds: float


# Format -> changes, seconds. Half a change: the first check that finds one triples the rate, a day without one halves
# that of a feed.
_START_EVENTS: Final = 0.5
_FORMATS: Final = {
    "news": Prior(_START_EVENTS, HOUR), "rss": Prior(_START_EVENTS, 12 * HOUR), "atom": Prior(_START_EVENTS, 12 * HOUR),
}  # fmt: skip
_OTHER_FORMAT: Final = Prior(_START_EVENTS, 36 * HOUR)
_MAX_AGE_EVENTS: Final = 0.25  # the weight of max-age: often it is the default of a program
_MAX_PRIOR_SECONDS: Final = 3 * DAY
_MIN_MAX_AGE_SECONDS: Final = 60.0  # a shorter one only says that nothing may be cached
_NEWEST_ITEMS, _LEAST_ITEMS = 6, 4


def prior_for(
    format: str, *, is_news: bool = False, max_age_seconds: float | None = None, age_seconds: float | None = None
) -> Prior:
    """The rate to assume for a document before it was checked twice.

    `max_age_seconds` is Cache-Control's: a quarter of a change in a quarter of that period. `age_seconds`, since the
    lastmod that an index states, is half a change in that time, so that years leave a low rate. The weight of the whole
    is at most that of three days of checks.

    >>> prior_for("urlset").seconds / 3600
    36.0
    """
    start = _FORMATS.get("news" if is_news else format, _OTHER_FORMAT)
    events, seconds = start.events, start.seconds
    if max_age_seconds is not None and _MIN_MAX_AGE_SECONDS <= max_age_seconds < inf:
        events, seconds = events + _MAX_AGE_EVENTS, seconds + _MAX_AGE_EVENTS * max_age_seconds
    if age_seconds is not None and 0 <= age_seconds < inf:
        events, seconds = events + 0.5, seconds + age_seconds
    weight = min(_MAX_PRIOR_SECONDS / seconds, 1.0)
    return Prior(events * weight, seconds * weight)


def prior_of_dates(dates: Sequence[float], now: float) -> Prior | None:
    """The rate to assume for a feed, by the dates of its items; None with fewer than four dates."""
    # It is a change in the mean of the last five gaps and the time since the newest item, with a weight of 30 days at
    # most. Of 144 published feeds this predicted the items to come better than a fixed rate, the median gap or all
    # gaps. The ttl of a channel and sy:updatePeriod add nothing to it: most are constants of a program.
    newest = [*_distinct(each for each in dates if each < now)][-_NEWEST_ITEMS:]
    if len(newest) < _LEAST_ITEMS:
        return None
    seconds = (now - newest[0]) / len(newest)
    weight = min(HALF_LIFE_SECONDS / seconds, 1.0)
    return Prior(weight, seconds * weight)


@attrs.define
class ChangeRate:
    """The estimated changes of one document: `events` and `seconds` are shape and rate of the gamma distribution."""

    start: Prior = _OTHER_FORMAT  # what kind and headers suggest
    prior: Prior = attrs.field(default=attrs.Factory(lambda self: self.start, takes_self=True), kw_only=True)
    events: float = attrs.field(default=attrs.Factory(lambda self: self.prior.events, takes_self=True))
    seconds: float = attrs.field(default=attrs.Factory(lambda self: self.prior.seconds, takes_self=True))
    hours: array[float] | None = None  # changes by hour of the day (UTC); None while no time of a change is known

    def observe(
        self, since: float, until: float, *, changed: bool, moments: Sequence[float] = (), count: float | None = None
    ) -> None:
        """Adds a check at `until` that is the next one after `since`.

        `moments` are the times of the changes in between, where lastmods state them and can be trusted; `count` is
        their number, where it is known without times. With neither, a check that found a change shows that there was at
        least one.
        """
        if not since < until < inf:
            return
        kept = 0.5 ** ((until - since) / HALF_LIFE_SECONDS)
        self.events = self.prior.events + (self.events - self.prior.events) * kept
        self.seconds = self.prior.seconds + (self.seconds - self.prior.seconds) * kept
        exposure = self._exposure(since, until)
        known = [*_distinct(each for each in moments if since < each <= until)] if changed else []
        if known or not changed or count is not None:
            self.events = min(self.events + (len(known) or (count or 0.0) * changed), _MAX_EVENTS)
            self.seconds += exposure
        else:
            self._add_at_least_one(exposure)
        for each in known:
            self._add_to_profile(each)

    def _add_at_least_one(self, exposure: float) -> None:
        """Takes the gamma distribution with the mean and the variance of the posterior."""
        # The likelihood of at least one change in t seconds at the rate r is 1 - exp(-r t). The moments of a gamma
        # density times this have a closed form: with q = seconds / (seconds + t), those of the density are multiplied
        # by (1 - q ** (events + k)) / (1 - q ** events) for the k-th. So a change after a long time, which was to be
        # expected anyway, adds little.
        shape, rate, log_q = self.events, self.seconds, -log1p(exposure / self.seconds)
        any_change, first, second = (-expm1((shape + k) * log_q) for k in range(3))
        mean = shape / rate * first / any_change
        variance = shape * (shape + 1) / rate**2 * second / any_change - mean**2
        self.seconds = mean / variance
        self.events = min(mean * self.seconds, _MAX_EVENTS)

    @property
    def is_checked(self) -> bool:
        return not isclose(self.seconds, self.prior.seconds, rel_tol=1e-4)

    def move_to(self, prior: Prior) -> None:
        """Replaces the prior, and keeps what the checks have added to it."""
        events, seconds = self.events - self.prior.events, self.seconds - self.prior.seconds
        self.events = max(prior.events + events, prior.events * _LEAST_KEPT)
        self.seconds = max(prior.seconds + seconds, prior.seconds * _LEAST_KEPT)
        self.prior = prior

    def reset(self) -> None:
        self.events, self.seconds, self.hours = self.prior.events, self.prior.seconds, None

    def _add_to_profile(self, moment: float) -> None:
        hours = self.hours = self.hours or array("f", bytes(4 * 24))
        total = fsum(hours)
        if total >= _PROFILE_MAX:
            hours[:] = array("f", (count * (_PROFILE_MAX - 1) / total for count in hours))
        hours[floor(moment / HOUR) % 24] += 1

    @property
    def per_second(self) -> float:
        """The mean number of changes a second, over whole days."""
        return self.events / self.seconds

    def expected(self, since: float, until: float) -> float:
        return self.per_second * self._exposure(since, until)

    def delay(self, since: float, until: float) -> float:
        """The integral of rate(s) * (s - since) over a period: the index by which schedule.py compares documents."""
        if self.hours is None:
            return self.per_second * max(until - since, 0.0) ** 2 / 2
        return self.per_second * max(self._weighted(since, until)[1], 0.0)

    def reached(self, since: float, delay: float) -> float:
        amount = max(delay, 0.0) / self.per_second
        if self.hours is None:
            return since + sqrt(2 * amount)

        def weighted(hours: int) -> float:
            return self._weighted(since, (first + hours) * HOUR)[1]

        first = floor(since / HOUR)
        hours = floor(sqrt(2 * amount) / HOUR)  # without a profile
        least, most = max(hours - 48, 1), hours + 48
        hours = least + bisect_right(range(least, most), amount, key=weighted)
        begin = max((first + hours - 1) * HOUR, since)
        weight = self._weighted(begin, begin + 1.0)[0]
        missing = amount - self._weighted(since, begin)[1]
        return since + sqrt((begin - since) ** 2 + 2 * missing / weight)

    def after_peak(self, at: float) -> float:
        """The end of the peak in which a time lies, or the time itself."""
        # A peak are hours that have over four times as many changes as the mean: those of a daily build, which comes at
        # the same minute every day. A look within them could miss it every day.
        if self.hours is None:
            return at
        hour = floor(at / HOUR)
        total = _PROFILE_PRIOR + fsum(self.hours)
        for hours in range(6):
            if (_PROFILE_PRIOR / 24 + self.hours[(hour + hours) % 24]) * 24 < _PEAK_WEIGHT * total:
                return max(at, (hour + hours) * HOUR)
        return at

    def _exposure(self, since: float, until: float) -> float:
        """The seconds of a period, each weighted by its hour of the day."""
        return max(until - since, 0.0) if self.hours is None else self._weighted(since, until)[0]

    def _weighted(self, since: float, until: float) -> tuple[float, float]:
        """The integrals of weight(s) and of weight(s) * (s - since) over a period."""
        origin = floor(since / DAY) * DAY
        table = _table((self.hours or array("f")).tobytes())
        before, until_then = _sums(table, since - origin), _sums(table, until - origin)
        exposure = until_then[0] - before[0]
        return exposure, until_then[1] - before[1] - (since - origin) * exposure

    def to_json(self) -> dict[str, Any]:
        values: dict[str, Any] = {"events": _rounded(self.events), "seconds": _rounded(self.seconds)}
        for name, prior in (("start", self.start), ("prior", self.prior)):
            values[name] = [_rounded(prior.events), _rounded(prior.seconds)]
        if self.hours is not None:
            values["hours"] = [_rounded(count) for count in self.hours]
        return values

    @classmethod
    def from_json(cls, values: object, start: Prior = _OTHER_FORMAT) -> ChangeRate:
        """The estimate that to_json() returned; `start` stands for what is missing, or what it cannot have returned."""
        known: dict[str, Any] = values if isinstance(values, dict) else {}
        totals: Any = [known.get(name) for name in ("events", "seconds")]
        hours: Any = known.get("hours")
        if not _are_counts(totals) or min(totals) == 0:
            return cls(start)
        start = _stored_prior(known.get("start")) or start
        has_profile = _are_counts(hours) and len(hours) == 24
        return cls(
            start,
            float(totals[0]),
            float(totals[1]),
            array("f", hours) if has_profile else None,
            prior=_stored_prior(known.get("prior")) or start,
        )


@attrs.define
class Population:
    """How much the rates of documents differ from what their kinds and headers suggest.

    The ratio of both, the factor, is taken to be gamma distributed over the documents. Its distribution is estimated by
    EM: from the expected factor of each document and its expected logarithm, both given the checks so far. If documents
    are alike, few checks of one say little; if they differ by orders of magnitude, a few say much. A document with a
    weak start counts less. The fields are sums, with those of ten assumed documents.
    """

    documents: float = _ASSUMED
    factors: float = _ASSUMED
    logs: float = attrs.field(default=attrs.Factory(lambda: _ASSUMED * (_digamma(_START_EVENTS) - log(_START_EVENTS))))

    def add(self, rate: ChangeRate, sign: int = 1) -> None:
        """Adds the present estimate of a document, or takes it back with the sign -1; without a check it is ignored."""
        if not rate.is_checked:
            return
        weight = sign * min(rate.start.events / _START_EVENTS, 1.0)
        start = rate.start.events / rate.start.seconds
        self.documents += weight
        self.factors += weight * rate.per_second / start
        self.logs += weight * (_digamma(rate.events) - log(rate.seconds * start))

    def prior(self, start: Prior) -> Prior:
        mean = self.factors / self.documents
        spread = max(log(mean) - self.logs / self.documents, 0.0)  # of the logarithms: log(shape) - digamma(shape)
        # Within 1.5 % of the shape: Minka 2002, "Estimating a Gamma distribution"
        shape = (3 - spread + sqrt((spread - 3) ** 2 + 24 * spread)) / (12 * spread) if spread else inf
        weight = min(max(shape, _MIN_SHAPE), _MAX_SHAPE) / _START_EVENTS
        return Prior(start.events * weight, start.seconds * weight / mean)


@attrs.define
class SignalRecord:
    """How often the signals of one source were followed by changes, and how many changes it signalled.

    A source is an index, whose lastmods signal changes of its children, or a host that pings. The counts begin with a
    few assumed ones: a quarter of the signals are right, a quarter of the changes are signalled.
    """

    signals: float = 0.0
    right: float = 0.0
    changes: float = 0.0
    signalled: float = 0.0
    sent: float = 0.0  # by looks at an index
    possible: float = 0.0  # as many as it has children

    @property
    def precision(self) -> float:
        return (self.right + 0.5) / (self.signals + 2.0)

    @property
    def recall(self) -> float:
        return (self.signalled + 0.5) / (self.changes + 2.0)

    @property
    def is_trusted(self) -> bool:
        """Whether signals count at all; those of an index that always states the current time do not."""
        return self.precision >= _MIN_PRECISION and (self.sent + 1.0) / (self.possible + 2.0) <= _MAX_SENT_SHARE

    @property
    def excess(self) -> float:
        """How many signals are too many for those that were right; a few are always allowed."""
        return max(0.0, self.signals - self.right / _MIN_PRECISION - _FREE_SIGNALS)

    def add(self, signals: int, *, changed: bool, share: float = 1.0) -> None:
        """Adds a check of a document that had so many signals since its last one."""
        # `share` is the part of the time since then in which the source could have sent a signal. Of several signals
        # before a check that finds a change at least one was right: their expected number is counted.
        if max(self.signals, self.changes) >= _MAX_SIGNALS:
            self.signals, self.right = self.signals / 2, self.right / 2
            self.changes, self.signalled = self.changes / 2, self.signalled / 2
        if changed:
            precision = self.precision
            self.right += signals * precision / -expm1(signals * log1p(-precision)) if signals else 0.0
            self.changes += 1.0 if signals else min(max(share, 0.0), 1.0)
            self.signalled += 1.0 if signals else 0.0
        self.signals += signals

    def add_look(self, sent: int, possible: int) -> None:
        if self.possible >= _MAX_SIGNALS:
            self.sent, self.possible = self.sent / 2, self.possible / 2
        self.sent += sent
        self.possible += possible

    def to_json(self) -> dict[str, float]:
        return {name: _rounded(count) for name, count in attrs.asdict(self).items()}

    @classmethod
    def from_json(cls, values: object) -> SignalRecord:
        """The counts that to_json() returned; zeros for values that it cannot have returned."""
        known: dict[str, Any] = values if isinstance(values, dict) else {}
        counts: list[Any] = [known.get(field.name) for field in attrs.fields(cls)]
        if not _are_counts(counts) or any(
            part > whole for whole, part in ((counts[0], counts[1]), (counts[2], counts[3]))
        ):
            return cls()
        return cls(*(float(count) for count in counts))


@lru_cache(1_000)  # of the documents of some hundred visits: all of them would need as much memory as all the rest
def _table(profile: bytes) -> array[float]:
    """For each hour its weight (mean 1), the integrals of weight(s) and weight(s) * s until then; last of a day."""
    counts = array("f", profile)
    scale = 24 / (_PROFILE_PRIOR + fsum(counts))
    table, exposure, moment = array("d"), 0.0, 0.0
    for hour, count in enumerate(counts):
        weight = (_PROFILE_PRIOR / 24 + count) * scale
        table.extend((weight, exposure, moment))
        exposure += weight * HOUR
        moment += weight * HOUR * HOUR * (hour + 0.5)
    table.append(moment)
    return table


def _sums(table: array[float], seconds: float) -> tuple[float, float]:
    """The integrals of weight(s) and of weight(s) * s from the begin of a day to so many seconds later."""
    days, rest = divmod(seconds, DAY)
    hour = int(rest // HOUR)
    weight, exposure, moment = table[3 * hour : 3 * hour + 3]
    begin = hour * HOUR
    exposure += weight * (rest - begin)
    moment += weight * (rest * rest - begin * begin) / 2
    whole = days * table[-1] + DAY * DAY * days * (days - 1) / 2
    return days * DAY + exposure, whole + days * DAY * exposure + moment


def _digamma(x: float) -> float:
    below = 0.0
    while x < 6:
        below += 1 / x
        x += 1
    square = 1 / (x * x)
    return log(x) - 1 / (2 * x) - square * (1 / 12 - square * (1 / 120 - square / 252)) - below


def _distinct(moments: Iterable[float]) -> Iterator[float]:
    """The moments in their order, without those that follow another within a minute."""
    last = -inf
    for moment in sorted(moments):
        if moment - last >= SAME_CHANGE_SECONDS:
            yield moment
        last = moment


def _rounded(number: float) -> float:
    return float(f"{number:.5g}")


def _stored_prior(values: Any) -> Prior | None:
    return Prior(*map(float, values)) if _are_counts(values) and len(values) == 2 and min(values) > 0 else None


def _are_counts(values: Any) -> bool:
    """Whether it is a list of finite numbers that are not negative."""
    return isinstance(values, list) and all(
        isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MAX_COUNT for value in values
    )
