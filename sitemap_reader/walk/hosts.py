"""One host of a walk: what its robots.txt permits, how fast it may be asked, what waits for it.

In: visits to make, and the clock's time as a number. Out: the visit that may start now, or how long to wait.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from .pacing import HostPace
    from .robots import Rules
    from .visit import Visit


@attrs.define(eq=False)
class Host:
    """An origin. While `rules` is None, documents wait for robots.txt; `given_up` says why nothing more is asked."""

    origin: str
    pace: HostPace
    rules: Rules | None = None
    robots_visit: Visit | None = None  # the one that asks, or asked, for its robots.txt
    given_up: str | None = None
    at_work: int = 0  # documents whose request is over, but not they
    robots: deque[Visit] = attrs.field(factory=deque)
    waiting: deque[Visit] = attrs.field(factory=deque)

    def add(self, visit: Visit) -> None:
        (self.robots if visit.is_robots else self.waiting).append(visit)

    def next(self, now: float, *, robots_only: bool) -> Visit | None:
        """The first visit that may start now; taken out."""
        if not self.pace.ready(now):
            return None
        for queue in self._open_queues(robots_only):
            for visit in queue:
                if visit.not_before <= now:
                    queue.remove(visit)
                    return visit
        return None

    def wait(self, now: float, *, robots_only: bool) -> float | None:
        """Seconds until next() may give something; None while nothing waits that time alone would start."""
        if self.pace.in_flight >= self.pace.slots:
            return None
        due = min((visit.not_before for queue in self._open_queues(robots_only) for visit in queue), default=None)
        return None if due is None else max(self.pace.wait(now), due - now, 0.0)

    def drain(self) -> list[Visit]:
        """Everything that waits, taken out."""
        visits = [*self.robots, *self.waiting]
        self.robots.clear()
        self.waiting.clear()
        return visits

    def _open_queues(self, robots_only: bool) -> list[deque[Visit]]:
        """What permission does not hold back: robots.txt always, documents once it has been read."""
        return [self.robots] if robots_only or self.rules is None else [self.robots, self.waiting]
