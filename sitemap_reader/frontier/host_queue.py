"""Politeness: which request may start now, by host; retry delays, Crawl-delay and slots per host.

Times are seconds on any clock that the caller passes in; nothing here reads one or sleeps. A host is examined only when
its state may have changed, so the cost hardly grows with the hosts and requests that wait.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from datetime import datetime
from heapq import heappop, heappush
from http import HTTPStatus
from itertools import count
from typing import TYPE_CHECKING, Literal

import attrs

from ..parser.normalise.urls import origin
from .documents import http_date

if TYPE_CHECKING:
    from .documents import Document, Failed
    from .robots_rules import Rules

BACKOFF_SECONDS = 0.5
MAX_BACKOFF_SECONDS = 30.0
SLOW_DOWN_SECONDS = 5.0
MAX_RETRY_AFTER_SECONDS = 86_400.0  # a longer one counts as this: a typo or a clock must not end all requests


def backoff(tries: int, jitter: float) -> float:
    """Seconds from the `tries`-th failed try to the next one; `jitter` is a random number in [0, 1).

    >>> backoff(1, 0.5), backoff(2, 0.5), backoff(20, 0.5)
    (0.5, 1.0, 30.0)
    """
    doublings = min(max(tries, 1) - 1, 10)
    return min(BACKOFF_SECONDS * 2.0**doublings, MAX_BACKOFF_SECONDS) * (0.5 + jitter)


def slow_down(tries: int) -> float:
    """Seconds to pause a host that answers the `tries`-th try with 429 and no Retry-After.

    >>> slow_down(1), slow_down(2), slow_down(3)
    (5.0, 10.0, 20.0)
    """
    return SLOW_DOWN_SECONDS * 2.0 ** min(max(tries, 1) - 1, 10)


def retry_after(value: str | None, now: datetime) -> float | None:
    """The seconds that a Retry-After asks for (RFC 9110 10.2.3), at most a day; 0 for a past date; None: unreadable."""
    value = (value or "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value), MAX_RETRY_AFTER_SECONDS)
    until = http_date(value)
    return None if until is None else min(max(0.0, (until - now).total_seconds()), MAX_RETRY_AFTER_SECONDS)


# Crawl-delay; the caller's `delay`; what an answer asks for; the time before a retry; slots that other crawls have.
WaitReason = Literal["crawl-delay", "delay", "retry-after", "backoff", "per-host", "concurrency"]
# As text in brackets: by the names of headers, rules and keywords.
_WORDS: dict[WaitReason, str] = {
    "crawl-delay": "Crawl-delay",
    "retry-after": "Retry-After",
    "backoff": "retry",
    "per-host": "per_host: other requests",
    "concurrency": "concurrency: other requests",
}


@attrs.frozen
class Wait:
    """What the next request to a host waits for, and for how long.

    `host` is `https://example.com`. `seconds` are those left; None for "per-host" and "concurrency", which end with
    requests of other streams of the reader. `status` is that of the answer (429, 503) because of which the whole host
    is left alone, None without one.
    """

    host: str
    reason: WaitReason
    seconds: float | None = None
    status: int | None = None

    def __str__(self) -> str:
        """`5 s for example.com (503, Retry-After)`."""
        time = "" if self.seconds is None else f"{math.ceil(self.seconds):,} s "
        status = "" if self.status is None else f"{self.status}, "
        return f"{time}for {self.host.partition('//')[2]} ({status}{_WORDS.get(self.reason, self.reason)})"


@attrs.define
class HostPace:
    """The pace of one host: how many requests are in flight, and when the next may start.

    With a delay (`delay_seconds`: the caller's, or when it becomes known the longer Crawl-delay) one is in flight, and
    the starts of two requests are that far apart.
    """

    per_host: int
    delay_seconds: float = 0.0
    in_flight: int = 0
    paused_until: float = -math.inf
    paused_by: int = HTTPStatus.SERVICE_UNAVAILABLE  # status of the answer that states the pause
    paused_reason: WaitReason = "retry-after"
    has_crawl_delay: bool = False  # longer than the caller's
    last_start: float = -math.inf

    @property
    def slots(self) -> int:
        return 1 if self.delay_seconds else self.per_host

    @property
    def next_at(self) -> float:
        return max(self.paused_until, self.last_start + self.delay_seconds)

    def ready(self, now: float) -> bool:
        """Whether a request may start now; slots are freed by finished() only."""
        return self.in_flight < self.slots and now >= self.next_at

    def started(self, now: float) -> None:
        self.in_flight += 1
        self.last_start = max(self.last_start, now)

    def finished(self) -> None:
        self.in_flight -= 1

    def slow_down(self, delay_seconds: float) -> None:
        """Keeps a Crawl-delay, unless the caller's delay is longer."""
        if delay_seconds > self.delay_seconds:
            self.delay_seconds, self.has_crawl_delay = delay_seconds, True

    def pause(
        self, until: float, status: int = HTTPStatus.SERVICE_UNAVAILABLE, reason: WaitReason = "retry-after"
    ) -> None:
        """Starts nothing before `until` (Retry-After); a shorter pause never ends a longer one."""
        if until > self.paused_until:
            self.paused_until, self.paused_by, self.paused_reason = until, status, reason

    def wait(self, host: str, at: float, now: float) -> Wait:
        """The Wait of a request that may start at this time."""
        if at == self.paused_until:
            return Wait(host, self.paused_reason, at - now, self.paused_by)
        if self.delay_seconds and at == self.last_start + self.delay_seconds:
            return Wait(host, "crawl-delay" if self.has_crawl_delay else "delay", at - now)
        return Wait(host, "backoff", at - now)


_order = count()  # breaks ties between requests that are due at the same time, and between hosts


@attrs.define
class RequestQueue:
    """Documents in the order in which they came; those with a `not_before` join the end when that time has come."""

    _ready: deque[Document] = attrs.field(factory=deque)
    _later: list[tuple[float, int, Document]] = attrs.field(factory=list)

    def __len__(self) -> int:
        return len(self._ready) + len(self._later)

    def add(self, document: Document) -> None:
        if document.request.not_before:
            heappush(self._later, (document.request.not_before, next(_order), document))
        else:
            self._ready.append(document)

    def pop(self, now: float) -> Document | None:
        while self._later and self._later[0][0] <= now:
            self._ready.append(heappop(self._later)[-1])
        return self._ready.popleft() if self._ready else None

    @property
    def due_at(self) -> float | None:
        """The time from which a request may start; None if the queue is empty."""
        if self._ready:
            return -math.inf
        return self._later[0][0] if self._later else None

    def drain(self) -> list[Document]:
        documents = [*self._ready, *(later[-1] for later in sorted(self._later))]
        self._ready.clear()
        self._later.clear()
        return documents


@attrs.define(eq=False)
class HostQueue:
    """The state of one origin, and the requests that wait for it."""

    origin: str
    pace: HostPace
    rules: Rules | None = None  # None: documents wait for robots.txt
    stated_rules: Rules | None = None  # of a robots.txt that was read, also if it is not obeyed
    robots_txt: Document | None = None  # waiting or ended
    skip_failure: Failed | None = None  # why nothing more is requested
    is_blocked: bool = False  # a refusal of this host was reported
    crawl_delay: float | None = None  # that is obeyed; None while its robots.txt is not known
    delay_error: str | None = None  # it is over the limit
    processing: int = 0  # documents that have arrived and are still being parsed
    robots: RequestQueue = attrs.field(factory=RequestQueue)
    documents: RequestQueue = attrs.field(factory=RequestQueue)
    is_queued: bool = False  # in the queue of HostQueues,
    examine_at: float = math.inf  # or in its heap, at this time

    @property
    def is_idle(self) -> bool:
        return not (self.robots or self.documents)

    def pop(self, now: float, *, robots_only: bool) -> Document | None:
        if not self.pace.ready(now):
            return None
        return next((found for queue in self._open(robots_only) if (found := queue.pop(now))), None)

    def due_at(self, *, robots_only: bool) -> float | None:
        """The time from which pop() returns a request; None if that takes more than the passing of time."""
        if self.pace.in_flight >= self.pace.slots:
            return None
        due = min((queue.due_at for queue in self._open(robots_only) if queue.due_at is not None), default=None)
        return None if due is None else max(self.pace.next_at, due)

    def _open(self, robots_only: bool) -> list[RequestQueue]:
        """The queues that may be served: robots.txt always, documents when the rules are known."""
        return [self.robots] if robots_only or self.rules is None else [self.robots, self.documents]


class HostQueues:
    """The hosts of a crawl by origin; up to `per_host` requests to each are in flight, `delay_seconds` apart.

    Hosts that may start something are in a queue, in the order in which they became busy; those that have to wait for a
    time, in a heap by that time; those that wait for an answer, in neither until wake() is called. `skips_all` is why
    all hosts are skipped.
    """

    def __init__(self, per_host: int, delay_seconds: float = 0.0) -> None:
        self._per_host = per_host
        self._delay_seconds = delay_seconds
        self._by_origin: dict[str, HostQueue] = {}
        self._busy: dict[HostQueue, int] = {}  # hosts with waiting requests -> their rank in the queue
        self._queue: list[tuple[int, HostQueue]] = []
        self._later: list[tuple[float, int, HostQueue]] = []  # only entries at the host's `examine_at` count
        self._skipped: list[tuple[Document, Failed]] = []
        self.skips_all: Failed | None = None
        self._robots_only = False
        self._changed: dict[HostQueue, None] = {}

    def __contains__(self, url: str) -> bool:
        return origin(url + "/") in self._by_origin

    def __iter__(self) -> Iterator[HostQueue]:
        return iter(self._by_origin.values())

    def for_url(self, url: str) -> HostQueue:
        key = origin(url + "/")
        host = self._by_origin.get(key)
        if host is None:
            host = self._by_origin[key] = HostQueue(key, HostPace(self._per_host, self._delay_seconds))
            host.skip_failure = self.skips_all
        return host

    def add(self, document: Document) -> None:
        host = self.for_url(document.url)
        if host.skip_failure:
            self._skipped.append((document, host.skip_failure))
            return
        (host.robots if document.is_robots else host.documents).add(document)
        self._busy.setdefault(host, next(_order))
        self.wake(host)

    def wake(self, host: HostQueue) -> None:
        """Examines a host again, as its state has changed: a request ended, or its rules are known."""
        if host in self._busy and not host.is_queued:
            host.is_queued = True
            heappush(self._queue, (self._busy[host], host))

    def slow_down(self, host: HostQueue, delay_seconds: float) -> None:
        host.pace.slow_down(delay_seconds)
        self._changed[host] = None

    def pause(self, host: HostQueue, until: float, status: int, reason: WaitReason) -> None:
        """Starts nothing at a host before `until`; `status` is that of the answer that states it."""
        host.pace.pause(until, status, reason)
        self._changed[host] = None

    def take_changed(self) -> list[HostQueue]:
        """The hosts with a new Crawl-delay or pause since the last call."""
        changed, self._changed = self._changed, {}
        return [*changed]

    def skip(self, host: HostQueue, failed: Failed) -> None:
        host.skip_failure = failed
        self._busy.pop(host, None)
        host.examine_at = math.inf
        self._skipped += ((document, failed) for document in (*host.robots.drain(), *host.documents.drain()))

    def skip_all(self, failed: Failed) -> None:
        self.skips_all = failed
        for host in self._by_origin.values():
            if host.skip_failure is None:
                self.skip(host, failed)

    def has_skipped(self, *, robots_only: bool) -> bool:
        return any(document.is_robots or not robots_only for document, _ in self._skipped)

    def pop_skipped(self, *, robots_only: bool) -> list[tuple[Document, Failed]]:
        """Removes and returns the documents of skipped hosts, each with the reason."""
        taken = [each for each in self._skipped if each[0].is_robots or not robots_only]
        self._skipped = [each for each in self._skipped if robots_only and not each[0].is_robots]
        return taken

    def pop_ready(self, now: float, *, robots_only: bool) -> Iterator[tuple[HostQueue, Document]]:
        """The documents that may be requested now, each removed as it is yielded."""
        while host := self._first(now, robots_only):
            document = host.pop(now, robots_only=robots_only)
            assert document is not None  # noqa: S101 - for the type checker
            if host.is_idle:
                del self._busy[host]
            yield host, document

    @property
    def is_idle(self) -> bool:
        return not (self._busy or self._skipped)

    def wait(self, now: float, *, robots_only: bool) -> float | None:
        """Seconds until a request may start; None if only an answer can change that."""
        if self._first(now, robots_only):
            return 0.0
        while self._later and self._later[0][0] != self._later[0][-1].examine_at:
            heappop(self._later)
        return self._later[0][0] - now if self._later else None

    def waits(self, now: float) -> Iterator[Wait]:
        """Those of the hosts that may start nothing before a certain time, as the last call of pop_ready() found."""
        for at, _, host in self._later:
            if at == host.examine_at and at > now:
                yield host.pace.wait(host.origin, at, now)

    def _first(self, now: float, robots_only: bool) -> HostQueue | None:
        """The first host of the queue that may start a request now; those before it leave the queue."""
        self._wake_due(now, robots_only)
        while self._queue:
            host = self._queue[0][-1]
            due = host.due_at(robots_only=robots_only)
            if due is not None and due <= now:
                return host
            heappop(self._queue)
            host.is_queued = False
            examine_at = math.inf if due is None else due
            if examine_at != host.examine_at:
                host.examine_at = examine_at
                if due is not None:
                    heappush(self._later, (due, next(_order), host))
        return None

    def _wake_due(self, now: float, robots_only: bool) -> None:
        """Wakes the hosts whose time has come, and all hosts when `robots_only` changes."""
        while self._later and self._later[0][0] <= now:
            at, _, host = heappop(self._later)
            if at == host.examine_at:
                host.examine_at = math.inf
                self.wake(host)
        if robots_only != self._robots_only:
            self._robots_only = robots_only
            for host in self._busy:
                self.wake(host)
