"""How many requests may be made, and when the next one; limits for requests from untrusted clients.

Times are seconds on any clock that the caller passes in. The oldest key of a table goes where that is full: forgetting
only gives a key its first tokens again.
"""

from __future__ import annotations

from collections import OrderedDict
from math import inf
from typing import Final

import attrs

from ..model.errors import UsageError

HOUR: Final = 3600.0
# The defaults of a watch; budgets are requests an hour.
BUDGET: Final = 3_600
HOST_BUDGET: Final = 120
LEAST_INTERVAL_SECONDS: Final = 60.0
SITES_AT_ONCE: Final = 50
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


MAX_KEYS = 10_000
_ROUNDING_SECONDS = 1e-6  # of sums of floats


@attrs.frozen
class Rate:
    """So many events an hour in the long run, and at most `burst` at once."""

    per_hour: float
    burst: int

    @property
    def seconds(self) -> float:
        """Between two events in the long run."""
        return 3600 / self.per_hour


@attrs.define
class RateTable:
    """A token bucket for each key, by the generic cell rate algorithm (ITU-T I.371): one number for each."""

    rate: Rate
    max_keys: int = MAX_KEYS
    _full_at: OrderedDict[str, float] = attrs.field(factory=OrderedDict, init=False)  # when the bucket is full again

    def wait_seconds(self, key: str, now: float) -> float:
        """How long until the key has a token; 0 where it has one now."""
        full_at = max(self._full_at.get(key, now), now)
        wait = full_at + self.rate.seconds * (1 - self.rate.burst) - now
        return wait if wait > _ROUNDING_SECONDS else 0.0

    def take(self, key: str, now: float) -> float:
        """As wait_seconds(); takes the token where there is one."""
        wait = self.wait_seconds(key, now)
        if not wait:
            self._full_at[key] = max(self._full_at.get(key, now), now) + self.rate.seconds
            self._full_at.move_to_end(key)
            if len(self._full_at) > self.max_keys:
                self._full_at.popitem(last=False)
        return wait

    def __len__(self) -> int:
        return len(self._full_at)


@attrs.define
class ExpiringSet:
    """Keys that were added within the last `seconds`."""

    seconds: float
    max_keys: int = MAX_KEYS
    _added: OrderedDict[str, float] = attrs.field(factory=OrderedDict, init=False)

    def has(self, key: str, now: float) -> bool:
        added = self._added.get(key)
        return added is not None and now - added < self.seconds

    def add(self, key: str, now: float) -> None:
        self._added[key] = now
        self._added.move_to_end(key)
        while len(self._added) > self.max_keys or now - next(iter(self._added.values())) >= self.seconds:
            self._added.popitem(last=False)

    def __len__(self) -> int:
        return len(self._added)


@attrs.frozen
class ServerLimits:
    """Bounds against slow, many and large requests."""

    connections: int = 500  # open at once
    client_connections: int = 100  # of one client address
    head_bytes: int = 8_192
    body_bytes: int = 8_192
    idle_seconds: float = 20.0  # until the head of a request is complete
    body_seconds: float = 10.0  # until its body is complete
    streams: int = 64  # clients that wait for changes at once
    write_seconds: float = 30.0  # until the client has taken a piece of an answer
    heartbeat_seconds: float = 15.0  # without a change, until a comment is sent
    max_wait_seconds: float = 60.0
    max_changes: int = 10_000
    shutdown_seconds: float = 3.0  # for responses in progress, at the end of the watch
