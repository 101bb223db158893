"""The hosts of a walk: what robots.txt permits on each, how fast it may be asked, and what waits for it.

In: visits to make, and the clock's time as a number. Out: the visits that may start now, or how long to wait. The
time it takes does not grow with the hosts and visits that were dealt with, nor with those that wait behind others.
"""

from __future__ import annotations

import math
from collections import deque
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

import attrs

from ..read.urls import origin
from .pacing import HostPace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .robots import Rules
    from .visit import Visit

_order = count()  # between visits that are due at the same time


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
    """An origin. While `rules` is None, documents wait for robots.txt; `given_up` says why nothing more is asked."""

    origin: str
    pace: HostPace
    rules: Rules | None = None
    robots_visit: Visit | None = None  # the one that asks, or asked, for its robots.txt
    given_up: str | None = None
    at_work: int = 0  # documents whose request is over, but not they
    robots: Line = attrs.field(factory=Line)
    waiting: Line = attrs.field(factory=Line)

    @property
    def is_idle(self) -> bool:
        """Nothing waits for it."""
        return not (self.robots or self.waiting)

    def next(self, now: float, *, robots_only: bool) -> Visit | None:
        """The first visit that may start now; taken out."""
        if not self.pace.ready(now):
            return None
        return next((visit for line in self._open_lines(robots_only) if (visit := line.next(now))), None)

    def wait(self, now: float, *, robots_only: bool) -> float | None:
        """Seconds until next() may give something; None while nothing waits that time alone would start."""
        if self.pace.in_flight >= self.pace.slots:
            return None
        due = min((line.due for line in self._open_lines(robots_only) if line.due is not None), default=None)
        return None if due is None else max(self.pace.wait(now), due - now, 0.0)

    def drain(self) -> list[Visit]:
        """Everything that waits, taken out."""
        return [*self.robots.drain(), *self.waiting.drain()]

    def _open_lines(self, robots_only: bool) -> list[Line]:
        """What permission does not hold back: robots.txt always, documents once it has been read."""
        return [self.robots] if robots_only or self.rules is None else [self.robots, self.waiting]


class Hosts:
    """Every host of a walk, by its origin; `per_host` requests go to each at once."""

    def __init__(self, per_host: int) -> None:
        self._per_host = per_host
        self._by_origin: dict[str, Host] = {}
        self._busy: dict[Host, None] = {}  # those for which something waits, and perhaps a few more; in order

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
        self._busy[host] = None

    def startable(self, now: float, *, robots_only: bool) -> Iterator[tuple[Host, Visit]]:
        """The visits that may start now, each taken out when it is asked for."""
        for host in list(self._busy):
            while visit := host.next(now, robots_only=robots_only):
                yield host, visit
            if host.is_idle:
                del self._busy[host]

    @property
    def is_idle(self) -> bool:
        """Nothing waits for any host."""
        return all(host.is_idle for host in self._busy)

    def wait(self, now: float, *, robots_only: bool) -> float | None:
        """Seconds until some host may be asked for something; None if only an answer can change that."""
        waits = (host.wait(now, robots_only=robots_only) for host in self._busy)
        return min((wait for wait in waits if wait is not None), default=None)
