"""When the next request may go: what happened and the time in, seconds to wait out.

Times are seconds on whatever clock the caller passes in; nothing here reads a clock or sleeps.
"""

from __future__ import annotations

import math
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from datetime import datetime

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
