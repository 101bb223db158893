"""How many requests may be made, and when the next one. Times are seconds on any clock that the caller passes in."""

from __future__ import annotations

from math import inf
from typing import Final

import attrs

from ..model.errors import UsageError
from .options import LEAST_INTERVAL_SECONDS as LEAST_INTERVAL_SECONDS

HOUR: Final = 3600.0
_BURST_SECONDS: Final = 900.0  # of a budget may be used at once
_MIN_BURST: Final = 4.0  # requests
_MOST_LEAST_INTERVAL_SECONDS: Final = 86_400.0


@attrs.frozen
class Budget:
    """The most requests an hour."""

    per_hour: float  # in all
    host_per_hour: float | None = None  # to each host; None: as many as in all
    least_interval_seconds: float = LEAST_INTERVAL_SECONDS  # between two requests for a document, but for pings

    def __attrs_post_init__(self) -> None:
        host = self.per_hour if self.host_per_hour is None else self.host_per_hour
        most = _MOST_LEAST_INTERVAL_SECONDS
        for name, number in (("budget", self.per_hour), ("budget of a host", host)):
            if not _is_number(number) or not 0 < number < inf:
                raise UsageError(f"the {name} must be a positive number of requests an hour, not {number!r}")
        least = self.least_interval_seconds
        if not _is_number(least) or not 1 <= least <= most:
            raise UsageError(f"the least interval must be from 1 to {most:,.0f} seconds, not {least!r}")

    @property
    def host_rate(self) -> float:
        return self.per_hour if self.host_per_hour is None else min(self.host_per_hour, self.per_hour)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


@attrs.define
class TokenBucket:
    """At most `per_second` requests in the long run, and `burst` at once."""

    per_second: float
    burst: float
    tokens: float
    at: float = -inf

    @classmethod
    def of(cls, per_hour: float) -> TokenBucket:
        burst = max(per_hour / HOUR * _BURST_SECONDS, _MIN_BURST)
        return cls(per_hour / HOUR, burst, burst)

    def available(self, now: float) -> float:
        """The requests that may be made now; negative after more than that."""
        if now > self.at:
            if self.at > -inf:
                self.tokens = min(self.tokens + (now - self.at) * self.per_second, self.burst)
            self.at = now
        return self.tokens

    def available_at(self, now: float, requests: float = 1.0) -> float:
        missing = requests - self.available(now)
        return now if missing <= 1e-9 else now + missing / self.per_second

    def use(self, requests: float, now: float) -> None:
        self.available(now)
        self.tokens -= requests
