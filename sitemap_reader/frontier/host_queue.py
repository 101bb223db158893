"""The hosts of a walk: what robots.txt permits on each, how fast it may be asked, and what waits for it.

In: visits to make, and the clock's time as a number. Out: the visits that may start now, or how long to wait. A host
is looked at when something may have changed for it: what it takes hardly grows with the hosts and visits that wait.
"""

from __future__ import annotations

import math
from collections import deque
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

import attrs

from ..parser.normalise.urls import origin
from .pacing import HostPace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .document_request import Visit
    from .robots_rules import Rules

_order = count()  # between visits that are due at the same time, and between hosts


@attrs.define
class Line:
    """Visits in the order in which they came; those that have to wait join its end when their time has come."""

    _ready: deque[Visit] = attrs.field(factory=deque)
    _later: list[tuple[float, int, Visit]] = attrs.field(factory=list)

    def __len__(self) -> int:
        return len(self._ready) + len(self._later)

    def add(self, visit: Visit) -> None:
        if visit.not_before:
            heappush(self._later, (visit.not_before, next(_order), visit))
        else:
            self._ready.append(visit)

    def next(self, now: float) -> Visit | None:
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

    def drain(self) -> list[Visit]:
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
    robots_visit: Visit | None = None  # the one that asks, or asked, for its robots.txt
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

    def next(self, now: float, *, robots_only: bool) -> Visit | None:
        """The first visit that may start now; taken out."""
        if not self.pace.ready(now):
            return None
        return next((visit for line in self._open_lines(robots_only) if (visit := line.next(now))), None)

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

    def add(self, visit: Visit) -> None:
        """A visit waits for its host from now on."""
        host = self.of(visit.url)
        (host.robots if visit.is_robots else host.waiting).add(visit)
        self._busy.setdefault(host, next(_order))
        self.rouse(host)

    def rouse(self, host: Host) -> None:
        """Something has changed, so that the host may start what it could not: a request ended, rules are known."""
        if host in self._busy and not host.in_queue:
            host.in_queue = True
            heappush(self._queue, (self._busy[host], host))

    def drain(self, host: Host) -> list[Visit]:
        """Everything that waits for a host, taken out, for good: it is given up."""
        self._busy.pop(host, None)
        host.look_at = math.inf
        return [*host.robots.drain(), *host.waiting.drain()]

    def startable(self, now: float, *, robots_only: bool) -> Iterator[tuple[Host, Visit]]:
        """The visits that may start now, each taken out when it is asked for."""
        while host := self._first(now, robots_only):
            visit = host.next(now, robots_only=robots_only)
            assert visit is not None  # noqa: S101 - for the type checker
            if host.is_idle:
                del self._busy[host]
            yield host, visit

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
