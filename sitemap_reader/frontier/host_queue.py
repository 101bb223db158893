"""The hosts of a walk: what robots.txt permits on each, how fast it may be asked, and what waits for it.

In: visits to make, and the clock's time as a number. Out: the visits that may start now, or how long to wait. A host
is looked at when something may have changed for it: what it takes hardly grows with the hosts and visits that wait.
"""

from __future__ import annotations

import math
from collections import deque
from datetime import UTC
from email.utils import parsedate_to_datetime
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

import attrs

from ..parser.normalise.urls import origin

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from .document_request import DocumentRequest
    from .robots_rules import Rules


# ----------------------------------------------------------------------------------------------------
# When the next request may go: what happened and the time in, seconds to wait out.
#
# Times are seconds on whatever clock the caller passes in; nothing here reads a clock or sleeps.


BACKOFF_SECONDS = 0.5
MAX_BACKOFF_SECONDS = 30.0
SLOW_DOWN_SECONDS = 5.0
_FOREVER_SECONDS = 1e15  # what a longer row of digits stands for


def backoff(tries: int, jitter: float) -> float:
    """Seconds from the `tries`-th failed try to the next one; `jitter` is a random number in [0, 1).

    >>> backoff(1, 0.5), backoff(2, 0.5), backoff(20, 0.5)
    (0.5, 1.0, 30.0)
    """
    doublings = min(max(tries, 1) - 1, 10)
    return min(BACKOFF_SECONDS * 2.0**doublings, MAX_BACKOFF_SECONDS) * (0.5 + jitter)


def slow_down(tries: int) -> float:
    """Seconds for which a host is left alone that says 429 to the `tries`-th try, and not for how long.

    >>> slow_down(1), slow_down(2), slow_down(3)
    (5.0, 10.0, 20.0)
    """
    return SLOW_DOWN_SECONDS * 2.0 ** min(max(tries, 1) - 1, 10)


def retry_after(value: str | None, now: datetime) -> float | None:
    """The seconds that a Retry-After header asks for (RFC 9110 10.2.3); 0 for a past date, None for junk.

    `now` is aware.
    """
    value = (value or "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value), _FOREVER_SECONDS)
    until = http_date(value)
    return None if until is None else max(0.0, (until - now).total_seconds())


def http_date(value: str) -> datetime | None:
    """The moment that a header names, aware; None for junk."""
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):  # the parser's ways of saying "junk"
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)  # RFC 9110 5.6.7: HTTP dates are UTC


@attrs.define
class HostPace:
    """One host: how many requests are in flight, and when the next may start.

    `per_host` requests go at once. A Crawl-delay (`delay_seconds`, may be set when it becomes known) makes that one,
    and keeps the starts of two requests that far apart.
    """

    per_host: int
    delay_seconds: float | None = None
    in_flight: int = 0
    held_until: float = -math.inf
    last_start: float = -math.inf

    @property
    def slots(self) -> int:
        """How many requests may be in flight."""
        return 1 if self.delay_seconds else self.per_host

    @property
    def next_at(self) -> float:
        """The time before which no request may start."""
        return max(self.held_until, self.last_start + (self.delay_seconds or 0.0))

    def ready(self, now: float) -> bool:
        """True if a request may start now; a slot is freed by `finished`, not by waiting."""
        return self.in_flight < self.slots and now >= self.next_at

    def started(self, now: float) -> None:
        """A request went out."""
        self.in_flight += 1
        self.last_start = max(self.last_start, now)

    def finished(self) -> None:
        """A request ended, whatever its end."""
        self.in_flight -= 1

    def hold(self, until: float) -> None:
        """Nothing starts before `until` (Retry-After); a shorter hold never ends a longer one."""
        self.held_until = max(self.held_until, until)


_order = count()  # between visits that are due at the same time, and between hosts


@attrs.define
class Line:
    """Visits in the order in which they came; those that have to wait join its end when their time has come."""

    _ready: deque[DocumentRequest] = attrs.field(factory=deque)
    _later: list[tuple[float, int, DocumentRequest]] = attrs.field(factory=list)

    def __len__(self) -> int:
        return len(self._ready) + len(self._later)

    def add(self, request: DocumentRequest) -> None:
        if request.not_before:
            heappush(self._later, (request.not_before, next(_order), request))
        else:
            self._ready.append(request)

    def next(self, now: float) -> DocumentRequest | None:
        """The first visit that may start now; taken out."""
        while self._later and self._later[0][0] <= now:
            self._ready.append(heappop(self._later)[-1])
        return self._ready.popleft() if self._ready else None

    @property
    def due(self) -> float | None:
        """The time at which the next visit may start; None without one."""
        if self._ready:
            return -math.inf
        return self._later[0][0] if self._later else None

    def drain(self) -> list[DocumentRequest]:
        """All visits, taken out."""
        visits = [*self._ready, *(later[-1] for later in sorted(self._later))]
        self._ready.clear()
        self._later.clear()
        return visits


@attrs.define(eq=False)
class Host:
    """An origin. While `rules` is None, documents wait for robots.txt; `given_up` says why nothing more is asked.

    `too_slow` says so where its robots.txt asks for a longer Crawl-delay than may be kept.
    """

    origin: str
    pace: HostPace
    rules: Rules | None = None
    robots_request: DocumentRequest | None = None  # the one that asks, or asked, for its robots.txt
    given_up: str | None = None
    blocked: bool = False  # it was reported that it refuses
    too_slow: str | None = None
    at_work: int = 0  # documents whose request is over, but not they
    robots: Line = attrs.field(factory=Line)
    waiting: Line = attrs.field(factory=Line)
    in_queue: bool = False  # it stands in the queue of Hosts,
    look_at: float = math.inf  # or in its heap, at this time

    @property
    def is_idle(self) -> bool:
        """Nothing waits for it."""
        return not (self.robots or self.waiting)

    def next(self, now: float, *, robots_only: bool) -> DocumentRequest | None:
        """The first visit that may start now; taken out."""
        if not self.pace.ready(now):
            return None
        return next((request for line in self._open_lines(robots_only) if (request := line.next(now))), None)

    def due(self, *, robots_only: bool) -> float | None:
        """The time from which next() gives something; None while nothing waits that time alone would start."""
        if self.pace.in_flight >= self.pace.slots:
            return None
        due = min((line.due for line in self._open_lines(robots_only) if line.due is not None), default=None)
        return None if due is None else max(self.pace.next_at, due)

    def _open_lines(self, robots_only: bool) -> list[Line]:
        """What permission does not hold back: robots.txt always, documents once it has been read."""
        return [self.robots] if robots_only or self.rules is None else [self.robots, self.waiting]


class Hosts:
    """Every host of a walk, by its origin; `per_host` requests go to each at once.

    Those that may start something stand in a queue, in the order in which they became busy; those that must let time
    pass, in a heap by the time; those that wait for an answer in neither, until they are roused.
    """

    def __init__(self, per_host: int) -> None:
        self._per_host = per_host
        self._by_origin: dict[str, Host] = {}
        self._busy: dict[Host, int] = {}  # those for which something waits, with their place in the queue
        self._queue: list[tuple[int, Host]] = []
        self._later: list[tuple[float, int, Host]] = []  # a host is at its `look_at`; other times are outdated
        self._robots_only = False

    def __contains__(self, url: str) -> bool:
        return origin(url + "/") in self._by_origin

    def of(self, url: str) -> Host:
        """The host of a URL or an origin."""
        key = origin(url + "/")
        host = self._by_origin.get(key)
        if host is None:
            host = self._by_origin[key] = Host(key, HostPace(self._per_host))
        return host

    def add(self, request: DocumentRequest) -> None:
        """A visit waits for its host from now on."""
        host = self.of(request.url)
        (host.robots if request.is_robots else host.waiting).add(request)
        self._busy.setdefault(host, next(_order))
        self.rouse(host)

    def rouse(self, host: Host) -> None:
        """Something has changed, so that the host may start what it could not: a request ended, rules are known."""
        if host in self._busy and not host.in_queue:
            host.in_queue = True
            heappush(self._queue, (self._busy[host], host))

    def drain(self, host: Host) -> list[DocumentRequest]:
        """Everything that waits for a host, taken out, for good: it is given up."""
        self._busy.pop(host, None)
        host.look_at = math.inf
        return [*host.robots.drain(), *host.waiting.drain()]

    def startable(self, now: float, *, robots_only: bool) -> Iterator[tuple[Host, DocumentRequest]]:
        """The visits that may start now, each taken out when it is asked for."""
        while host := self._first(now, robots_only):
            request = host.next(now, robots_only=robots_only)
            assert request is not None  # noqa: S101 - for the type checker
            if host.is_idle:
                del self._busy[host]
            yield host, request

    @property
    def is_idle(self) -> bool:
        """Nothing waits for any host."""
        return not self._busy

    def wait(self, now: float, *, robots_only: bool) -> float | None:
        """Seconds until some host may be asked for something; None if only an answer can change that."""
        if self._first(now, robots_only):
            return 0.0
        while self._later and self._later[0][0] != self._later[0][-1].look_at:
            heappop(self._later)
        return self._later[0][0] - now if self._later else None

    def _first(self, now: float, robots_only: bool) -> Host | None:
        """The first host of the queue that may start something now; those before it leave the queue."""
        self._rouse_due(now, robots_only)
        while self._queue:
            host = self._queue[0][-1]
            due = host.due(robots_only=robots_only)
            if due is not None and due <= now:
                return host
            heappop(self._queue)
            host.in_queue = False
            look_at = math.inf if due is None else due
            if look_at != host.look_at:
                host.look_at = look_at
                if due is not None:
                    heappush(self._later, (due, next(_order), host))
        return None

    def _rouse_due(self, now: float, robots_only: bool) -> None:
        """Those whose time has come; and all, when documents begin to count, or cease to."""
        while self._later and self._later[0][0] <= now:
            at, _, host = heappop(self._later)
            if at == host.look_at:
                host.look_at = math.inf
                self.rouse(host)
        if robots_only != self._robots_only:
            self._robots_only = robots_only
            for host in self._busy:
                self.rouse(host)
