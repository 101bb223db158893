"""Which documents are looked at when: rates, signals and budgets come in; the hosts to visit go out, with documents.

The aim is the least expected delay, from a change to the look that finds it, at a given number of requests. For a
document whose changes are a Poisson process this needs looks in proportion to the square root of its rate: a look every
T seconds costs 1 / T requests and rate * T / 2 of delay a second, and the sum of both, weighted by a price `theta` of a
request, is least at T = sqrt(2 * theta / rate). (The rates of Azar, Horvitz, Lubetzky, Peres and Shahaf 2018,
"Tractable near-optimal policies for crawling", maximise freshness instead: the share of time without an unknown change.
Those give nothing to documents that change much faster than they can be looked at, whose changes matter like others.)

For rates that vary over the day, and for signals, the same price is compared with an index, that of Whittle: after the
last look at t0 it is the integral of rate(s) * (s - t0) ds, plus precision * (t - t0) for each signal at t. A document
is due when its index reaches theta. theta follows from the budget, as (sum of sqrt(rate / 2) / budget) ** 2, corrected
by the requests that were really made, and lower while requests are left over than while they are short. A host whose
documents would exceed its own budget has its own, higher theta. A ping makes its document due at once, unless too many
pings of its source were wrong: then a while after the look of the one before.

Times are seconds on any clock that the caller passes in as `now`, for profiles by the hour seconds since 1970. Every
operation costs O(log n).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from math import floor, inf, sqrt
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from .budget import HOUR, TokenBucket
from .rates import Population, SignalRecord

if TYPE_CHECKING:
    from .budget import Budget
    from .rates import ChangeRate

    Key: TypeAlias = Hashable


@attrs.define(eq=False)
class Document:
    key: Key
    host: Host
    rate: ChangeRate
    looked_at: float
    source: Source | None
    demand: float = 0.0  # sqrt(rate / 2), of the changes that are not signalled
    full_demand: float = 0.0  # of all
    per_second: float = 0.0
    pending: float = 0.0  # what signals since the last look add to the index
    signals: list[tuple[Source, float | None]] = attrs.field(factory=list)
    version: int = -1  # of its valid entry in the heap of its host
    not_before: float = -inf
    pinged_for: float = inf  # from then on it is due, because of a ping


@attrs.define(eq=False)
class Source:
    """What signals changes of documents: an index (`key` is that of its document), or a site that pings."""

    key: Key
    record: SignalRecord = attrs.field(factory=SignalRecord)
    documents: dict[Key, Document] = attrs.field(factory=dict)
    demand: float = 0.0  # the sum of the documents' full_demand
    per_second: float = 0.0  # the sum of their rates
    sent: int = 0  # signals since the last look at the index
    counts: bool = True  # whether the documents wait for its signals
    pinged_for: float = -inf  # the time of the last look that a ping of it is for


@attrs.define(eq=False)
class Host:
    """A host, whose documents are looked at in one visit."""

    name: str
    bucket: TokenBucket
    documents: dict[Key, Document] = attrs.field(factory=dict)
    heap: list[tuple[float, int, Document]] = attrs.field(factory=list)  # by the time at which they are nearly due
    near: dict[Key, Document] = attrs.field(factory=dict)  # nearly due
    visited: dict[Key, Document] | None = None  # while it is visited: those not yet looked at
    reserved: int = 0  # requests of the visit that the buckets have paid for, and that were not made yet
    demand: float = 0.0
    min_theta: float = 0.0
    not_before: float = -inf
    version: int = -1


def drop_outdated(heap: list[tuple[float, int, Any]]) -> None:
    """Removes the first entries whose documents or hosts have later ones."""
    while heap and heap[0][1] != heap[0][2].version:
        heappop(heap)


NEARLY: Final = 0.8  # of theta: a visit also looks at the documents that have reached so much
ADJUST_SECONDS: Final = 1800.0  # between two adjustments of theta
_MAX_CORRECTION: Final = 50.0
_LEAST_THETA: Final = 1e-9
_STEP: Final = 1.25  # the most that an adjustment changes the correction
_MAX_PENDING: Final = 50  # signals of a document that are kept until its next look
_STEP_SECONDS: Final = 1.0  # before the same is computed again
_MIN_EXPECTED: Final = 400.0  # requests before they are compared with the budget: fewer vary by chance
_EXCESS_SECONDS: Final = 60.0  # between two pinged looks, for each ping of the source that is one too many
_MAX_PING_SECONDS: Final = 24 * HOUR  # later than that, a ping brings no look
_FILL_EFFECT: Final = 1.5  # an empty bucket multiplies theta by this, a full one divides it


class Schedule:
    """The documents of many hosts, each with the time of its next look.

    The caller takes visits from pop_due(), or begins one with begin_visit(). For each further document it calls take(),
    for each request that was made requests_made(), after each document looked(), at the end of the visit end_visit(). A
    host is in one visit at a time.
    """

    def __init__(self, budget: Budget, *, nearly: float = NEARLY) -> None:
        self.budget = budget
        self._nearly = nearly
        self._hosts: dict[str, Host] = {}
        self._documents: dict[Key, Document] = {}
        self._sources: dict[Key, Source] = {}
        self._population = Population()
        self._bucket = TokenBucket.of(budget.per_hour)
        self._calendar: list[tuple[float, int, Host]] = []
        self._ready: list[tuple[float, int, Host]] = []  # hosts with a document that is due, by their largest index
        self._versions = count()
        self._demand = 0.0
        self._base_theta = 0.0
        self._correction = 1.0
        self._adjust_at = -inf
        self._adjusted_size = 0
        self._measured_from = -inf
        self._made = 0.0

    def __len__(self) -> int:
        return len(self._documents)

    # --- documents ---

    def add(self, key: Key, host: str, rate: ChangeRate, looked_at: float, *, source: Key | None = None) -> None:
        """Adds or replaces a document, whose `rate` looked() revises; the index `source` signals its changes."""
        self.remove(key)
        place = self._host(host)
        signals = None if source is None else self._source(source)
        document = Document(key, place, rate, looked_at, signals)
        if signals is not None:
            signals.documents[key] = document
        self._documents[key] = place.documents[key] = document
        self._population.add(rate)
        self._plan(document)

    def remove(self, key: Key) -> None:
        """Removes a document, and its host with the last one; an unknown key is ignored."""
        document = self._documents.pop(key, None)
        if document is None:
            return
        host = document.host
        del host.documents[key]
        self._population.add(document.rate, -1)
        self._set_demand(document, 0.0, 0.0)
        if document.source is not None:
            del document.source.documents[key]
        self._unplan(document)
        self._leave_visit(document)
        if not host.documents and host.visited is None:
            del self._hosts[host.name]
            host.version = -1

    def _host(self, name: str) -> Host:
        if name not in self._hosts:
            self._hosts[name] = Host(name, TokenBucket.of(self.budget.host_rate))
        return self._hosts[name]

    def rate(self, key: Key) -> ChangeRate:
        return self._documents[key].rate

    def source(self, source: Key) -> SignalRecord:
        """The record of a source of signals, to be stored; that of a new source is empty."""
        return self._source(source).record

    def set_source(self, source: Key, record: SignalRecord) -> None:
        known = self._source(source)
        known.record, known.counts = record, record.is_trusted
        for document in known.documents.values():
            self._plan(document)

    def _source(self, key: Key) -> Source:
        return self._sources.setdefault(key, Source(key))

    # --- what happened ---

    def looked(
        self, key: Key, now: float, *, changed: bool, moments: Sequence[float] = (), count: float | None = None
    ) -> None:
        """Notes that a document was looked at, with what ChangeRate.observe() takes."""
        # Of an index a change is one that a look can find nowhere else: a new child, or a lastmod that is a trusted
        # signal.
        document = self._documents[key]
        if document.looked_at > -inf:
            trusted = self._judge_signals(document, now, changed)
            if changed and not moments and count is None and trusted:
                moments = [at for at in trusted if at is not None]
                count = float(len(trusted)) if len(moments) < len(trusted) else None
                moments = moments if count is None else ()
            self._population.add(document.rate, -1)
            document.rate.move_to(self._population.prior(document.rate.start))
            document.rate.observe(document.looked_at, now, changed=changed, moments=moments, count=count)
            self._population.add(document.rate)
            if key in self._sources:
                source = self._sources[key]
                source.record.add_look(source.sent, len(source.documents))
                source.sent = 0
                self._judge_source(source, document)
        document.looked_at, document.pending, document.not_before, document.pinged_for = now, 0.0, -inf, inf
        document.signals.clear()
        self._leave_visit(document)
        self._plan(document)

    def _judge_signals(self, document: Document, now: float, changed: bool) -> list[float | None]:
        """Adds the check to the records of the sources; the times of the signals that count."""
        sources = {source for source, _ in document.signals} | ({document.source} if document.source else set())
        for source in sources:
            of_index = self._documents.get(source.key)
            covered = (of_index.looked_at if of_index else now) - document.looked_at
            share = covered / (now - document.looked_at) if now > document.looked_at else 1.0
            signals = sum(each is source for each, _ in document.signals)
            source.record.add(signals, changed=changed, share=share)
            if of_index is None:
                source.counts = source.record.is_trusted
        return [at for source, at in document.signals if source.counts]

    def _judge_source(self, source: Source, index: Document) -> None:
        """Decides whether the children of an index wait for its signals, and plans them anew if that has changed."""
        # A look at the index costs a request, and one more for each child that it signals. If most children change
        # between two looks, it is cheaper to look at them without the index.
        _, interval = self._index_price(source, source.per_second, self._theta_of(index.host))
        without = 2 * sqrt(self._theta_of(index.host)) * source.demand
        counts = source.record.is_trusted and source.per_second * interval <= without
        if counts != source.counts:
            source.counts = counts
            self._population.add(index.rate, -1)
            index.rate.reset()
            for document in source.documents.values():
                document.pending = 0.0
                self._plan(document)

    def _index_price(self, source: Source, per_second: float, theta: float) -> tuple[float, float]:
        """The expected requests of a look at an index and at the children that it signals, and the best interval."""
        # With n children it solves rate * T ** 2 / 2 = theta * (1 + min(n, rate * T)).
        children = len(source.documents)
        interval = theta + sqrt(theta * theta + 2 * theta / per_second) if per_second else inf
        if per_second * interval > children:
            interval = sqrt(2 * theta * (1 + children) / per_second)
        return 1 + min(children, per_second * interval), interval

    def signal(self, key: Key, now: float, source: Key, at: float | None = None) -> bool:
        """Notes that a source signals a change of a document, and returns whether its signals count."""
        # `at` is the time of the change, if the source states one. The signal adds precision * (now - last look) to the
        # index, but at least what it adds on the average, after the mean time between two changes; else one that comes
        # shortly after a look would wait for the next.
        document, sender = self._documents.get(key), self._source(source)
        if document is None:
            return sender.counts
        sender.sent += 1
        if len(document.signals) >= _MAX_PENDING:
            return sender.counts
        document.signals.append((sender, at))
        if sender.counts:
            precision = sender.record.precision
            document.pending += precision * max(now - document.looked_at, 1.0 / document.rate.per_second)
            self._plan(document)
        return sender.counts

    def ping(self, key: Key, now: float, source: Key) -> None:
        """Notes that a source asks for a look at a document, which is due now, or pings_held_until()."""
        document, sender = self._documents.get(key), self._source(source)
        if document is None or document.pinged_for < inf:
            return
        if len(document.signals) < _MAX_PENDING:
            document.signals.append((sender, now))
        at = self.pings_held_until(source, now) or now
        if at - now <= _MAX_PING_SECONDS:
            document.pinged_for = sender.pinged_for = at
            self._plan(document)

    def pings_held_until(self, source: Key, now: float) -> float | None:
        """When the next ping of a source brings a look, if not at once: too many of them were wrong."""
        sender = self._source(source)
        at = sender.pinged_for + _EXCESS_SECONDS * sender.record.excess
        return at if at > now else None

    def pause(self, host: str, until: float) -> None:
        """Makes no visit of a host before a time: the end of its Retry-After or Crawl-delay."""
        place = self._hosts.get(host)
        if place is not None:
            place.not_before = until
            self._call(place)

    def postpone(self, key: Key, until: float) -> None:
        """Has a document looked at no sooner than a time, also where it is pinged; an unknown key is ignored."""
        document = self._documents.get(key)
        if document is not None and until > document.not_before:
            document.not_before = until
            self._plan(document)

    def begin_visit(self, host: str) -> None:
        """Begins a visit without a document that is due; the host need not have documents."""
        place = self._host(host)
        place.visited, place.version = {}, -1

    def end_visit(self, host: str, now: float, *, retry_at: float = -inf) -> None:
        """Ends a visit; its documents that were not looked at are due again, but not before `retry_at`."""
        place = self._hosts.get(host)
        if place is None or place.visited is None:
            return
        self._reserve(place, -place.reserved, now)
        left, place.visited = place.visited, None
        for document in left.values():
            document.not_before = max(retry_at, now)
            self._plan(document)
        if not place.documents:
            del self._hosts[host]
            return
        self._call(place)

    # --- budgets ---

    def take(self, host: str, now: float) -> bool:
        """Whether the visit of a host may make one more request; if so it is reserved, until the end of the visit."""
        if self.available_at(host, now) > now:
            return False
        self._reserve(self._hosts[host], 1, now)
        return True

    def _reserve(self, host: Host, requests: int, now: float) -> None:
        self._bucket.use(requests, now)
        host.bucket.use(requests, now)
        host.reserved += requests

    def available_at(self, host: str, now: float) -> float:
        """When the budgets, and the pause of a host, permit the next request to it."""
        at, place = self._bucket.available_at(now), self._hosts.get(host)
        return at if place is None else max(at, place.bucket.available_at(now), place.not_before)

    def requests_made(self, host: str, requests: int, now: float) -> None:
        """Counts requests that were made; those that were not reserved, as of redirects, come from the budgets."""
        self._made += requests
        place = self._hosts.get(host)
        if place is not None:
            reserved = min(requests, place.reserved)
            requests -= reserved
            place.reserved -= reserved
            place.bucket.use(requests, now)
        self._bucket.use(requests, now)

    def waiting(self, now: float) -> dict[str, float]:
        """When the hosts are visited that have a document due and wait for the budget, unless a larger index comes."""
        self._bucket.available(now)  # theta depends on it
        self._collect(now)
        times, requests = {}, 1.0
        for _, version, host in sorted(self._ready, key=lambda entry: entry[:2]):
            if version == host.version:
                times[host.name] = self._bucket.available_at(now, requests)
                requests += len(host.near)
        return times

    # --- what is due ---

    @property
    def theta(self) -> float:
        """The index at which documents of hosts without a higher one are due, in changes times seconds."""
        fill = min(max(self._bucket.tokens / self._bucket.burst, 0.0), 1.0)
        effect: float = _FILL_EFFECT ** (1 - 2 * fill)
        return max(self._base_theta * self._correction * effect, _LEAST_THETA)

    def next_due(self, now: float) -> float | None:
        """The time from which pop_due() may return a visit; None if there is no document to wait for."""
        self._adjust(now)
        for heap in (self._ready, self._calendar):
            drop_outdated(heap)
        if not self._ready and not self._calendar:
            return None
        first = now if self._ready else self._calendar[0][0]
        return max(first, self._bucket.available_at(now))

    def pop_due(self, now: float, limit: int | None = None) -> list[tuple[str, tuple[Key, ...]]]:
        """The visits to begin now, each a host and its documents, the largest index first.

        In all they have at most `limit` documents, or what the budgets permit; a request for each is reserved.
        """
        self._adjust(now)
        self._collect(now)
        left = floor(self._bucket.available(now) + 1e-9)
        left = left if limit is None else min(left, limit)
        visits = []
        while left > 0 and self._ready:
            _, version, host = heappop(self._ready)
            if version != host.version:
                continue
            due = self._due(host, now)
            most = min(left, floor(host.bucket.available(now) + 1e-9))
            if not due or most <= 0:
                self._call(host, now + _STEP_SECONDS)
                continue
            host.visited = {document.key: document for document in due[:most]}
            for document in due[:most]:
                self._unplan(document)
            host.version = -1
            left -= len(host.visited)
            self._reserve(host, len(host.visited), now)
            visits.append((host.name, tuple(host.visited)))
        return visits

    def is_due(self, key: Key, now: float) -> bool:
        self._adjust(now)
        document = self._documents.get(key)
        return document is not None and self._is_reached(document, self._nearly, now)

    def due_at(self, key: Key, now: float) -> float:
        """When a document will be due, as far as is known now; budgets may delay it."""
        self._adjust(now)
        return self._reached_at(self._documents[key], 1.0)

    def _silent(self, document: Document) -> float:
        """The share of its changes that no signal precedes; for an index, how many changes of children one counts."""
        index = self._sources.get(document.key)
        if index is not None and index.counts and index.documents:
            return max(index.record.recall * index.per_second / document.rate.per_second, 1.0)
        source = document.source
        return 1.0 if source is None or not source.counts else 1.0 - source.record.recall

    def _index(self, document: Document, now: float) -> float:
        """The index, as a multiple of the one at which the document is due."""
        if document.looked_at == -inf:
            return inf
        delay = self._silent(document) * document.rate.delay(document.looked_at, now) + document.pending
        return delay / self._threshold(document)

    def _threshold(self, document: Document) -> float:
        """The index at which a document is due: theta for each request that the look costs."""
        theta, source = self._theta_of(document.host), self._sources.get(document.key)
        if source is None or not source.counts:
            return theta
        return theta * self._index_price(source, source.per_second * source.record.recall, theta)[0]

    def _allowed_at(self, document: Document) -> float:
        return max(document.looked_at + self.budget.least_interval_seconds, document.not_before)

    def _is_pinged(self, document: Document, now: float) -> bool:
        return now >= max(document.pinged_for, document.not_before)

    def _is_reached(self, document: Document, share: float, now: float) -> bool:
        if self._is_pinged(document, now):
            return True
        if now < self._allowed_at(document) or self._index(document, now) < share * (1 - 1e-6):
            return False
        return document.pending > 0 or document.rate.after_peak(now) <= now

    def _reached_at(self, document: Document, share: float, earliest: float = -inf) -> float:
        """When the index of a document reaches a share of its threshold, and the document may be looked at."""
        if document.looked_at == -inf:
            return max(document.not_before, earliest)
        missing, rate = share * self._threshold(document) - document.pending, document.rate
        at = rate.reached(document.looked_at, missing / self._silent(document)) if missing > 0 else -inf
        at = max(at, self._allowed_at(document), earliest)
        at = at if document.pending > 0 else rate.after_peak(at)
        return min(at, max(document.pinged_for, document.not_before, earliest))

    def _theta_of(self, host: Host) -> float:
        return max(self.theta, host.min_theta)

    def _plan(self, document: Document) -> None:
        """Puts a document into the heap of its host, by the time at which it is nearly due."""
        self._set_demand(document, self._silent(document), document.rate.per_second)
        host = document.host
        if host.visited is not None and document.key in host.visited:
            return
        self._unplan(document)
        document.version = next(self._versions)
        at = self._reached_at(document, self._nearly)
        heappush(host.heap, (at, document.version, document))
        if len(host.heap) > 2 * len(host.documents):  # most are of earlier versions
            host.heap = [entry for entry in host.heap if entry[1] == entry[2].version]
            heapify(host.heap)
        drop_outdated(host.heap)
        if host.heap[0][2] is document:
            self._call(host)

    def _leave_visit(self, document: Document) -> None:
        if document.host.visited:
            document.host.visited.pop(document.key, None)

    def _unplan(self, document: Document) -> None:
        document.version = -1
        document.host.near.pop(document.key, None)

    def _set_demand(self, document: Document, silent: float, per_second: float) -> None:
        """Keeps the sums of all documents, of each host and of each source."""
        full = sqrt(per_second / 2)
        if document.source is not None:
            document.source.demand += full - document.full_demand
            document.source.per_second += per_second - document.per_second
        document.full_demand, document.per_second = full, per_second
        change = full * sqrt(silent) - document.demand
        document.demand += change
        document.host.demand += change
        self._demand += change

    def _call(self, host: Host, earliest: float = -inf) -> None:
        """Puts a host into the calendar, by the time at which one of its documents may be due."""
        if host.visited is not None or not host.documents:
            return
        drop_outdated(host.heap)
        due = [self._reached_at(document, 1.0) for document in host.near.values()]
        first = min([*due, *(entry[0] for entry in host.heap[:1])], default=inf)
        if first < inf:
            allowed = host.bucket.available_at(host.bucket.at) if host.bucket.at > -inf else -inf
            host.version = next(self._versions)
            heappush(self._calendar, (max(first, host.not_before, allowed, earliest), host.version, host))

    def _collect(self, now: float) -> None:
        """Moves the hosts whose time has come to the ready ones, if they have a document that is due."""
        while self._calendar and self._calendar[0][0] <= now:
            _, version, host = heappop(self._calendar)
            if version != host.version:
                continue
            due = self._due(host, now)
            if due:
                # theta changes until it is compared with others
                index = inf if self._is_pinged(due[0], now) else self._index(due[0], now) * self.theta
                heappush(self._ready, (-index, version, host))
            else:
                self._call(host, now + _STEP_SECONDS)

    def _approach(self, host: Host, now: float) -> None:
        """Moves the documents that are nearly due from the heap, and those back for which theta has risen meanwhile."""
        for document in [*host.near.values()]:
            if not self._is_reached(document, self._nearly, now):
                del host.near[document.key]
                heappush(host.heap, (self._later(document, now), document.version, document))
        while host.heap and host.heap[0][0] <= now:
            _, version, document = heappop(host.heap)
            if version != document.version:
                continue
            if self._is_reached(document, self._nearly, now):
                host.near[document.key] = document
            else:
                heappush(host.heap, (self._later(document, now), version, document))

    def _later(self, document: Document, now: float) -> float:
        return self._reached_at(document, self._nearly, now + _STEP_SECONDS)

    def _due(self, host: Host, now: float) -> list[Document]:
        """The documents that a visit looks at, the largest index first; empty if none is due."""
        near = self._by_index(host, now)
        return near if near and self._is_reached(near[0], 1.0, now) else []

    def _by_index(self, host: Host, now: float) -> list[Document]:
        """Those that are nearly due, pinged ones first, then the largest index."""
        self._approach(host, now)
        return sorted(
            host.near.values(), key=lambda document: (not self._is_pinged(document, now), -self._index(document, now))
        )

    def _adjust(self, now: float) -> None:
        """Computes theta anew from time to time, and when many documents were added."""
        grown = len(self._documents) > 1.1 * self._adjusted_size
        if now < self._adjust_at and not grown:
            return
        self._adjust_at, self._adjusted_size = now + ADJUST_SECONDS, len(self._documents)
        self._correct(now)
        self._base_theta = self._fill()
        waiting = [host for _, version, host in self._ready if version == host.version]
        self._ready = []
        for host in waiting:
            heappush(self._calendar, (now, host.version, host))

    def _correct(self, now: float) -> None:
        """Compares the requests made, and those that wait, with the budget."""
        if self._measured_from == -inf:
            self._measured_from = now
        expected = self.budget.per_hour / HOUR * (now - self._measured_from)
        if expected >= max(_MIN_EXPECTED, len(self._documents) / 2):  # it takes so long until looks follow theta
            step = (self._made + max(len(self._ready) - self._bucket.burst, 0.0)) / expected
            step = min(max(step, 1 / _STEP), _STEP)
            self._correction = min(max(self._correction * step, 1 / _MAX_CORRECTION), _MAX_CORRECTION)
            self._made, self._measured_from = 0.0, now

    def _fill(self) -> float:
        """Divides the budget, as if it were poured into the hosts until the smaller ones are full (water-filling)."""
        # At theta a host wants demand / sqrt(theta) requests a second. Those that want more than their own budget get
        # that, and a theta of their own, at which they want a little more, so that they use all of it.
        left, demand, own = self.budget.per_hour / HOUR, self._demand, self.budget.host_rate / HOUR
        for host in self._hosts.values():
            host.min_theta = (host.demand / own) ** 2 / _FILL_EFFECT if own < left else 0.0
        for host in sorted(self._hosts.values(), key=lambda host: -host.demand):
            if left > own and host.demand / own > demand / left:
                left -= own
                demand -= host.demand
        return (max(demand, 0.0) / left) ** 2
