"""Limits for requests from untrusted clients: rates, sets with expiry of bounded size, and bounds of the server.

No clock is read here. The oldest key goes where a table is full: forgetting only gives a key its first tokens again.
"""

from __future__ import annotations

from collections import OrderedDict

import attrs

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
