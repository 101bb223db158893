"""Pacing: the limits of one reader on its requests, over all its crawls: in flight, by host, delays and pauses.

A frontier keeps the same limits, but knows its own crawl alone. Requests of a host get slots in the order in which they
came, and hosts in turn. Waiting for a slot is no network time, nor time of the site unless the host pauses: the
frontier has waited for the delay of its own requests before.

A request holds its slot until its response is read or left. Where a consumer takes nothing for a second, the slot is
lent to other requests, as a stream that is not read would else stop all others of its reader. It is taken back before
the body is read on.

Stopwatch measures the time of a crawl, DocumentTimeouts limit that of the network for a document.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractContextManager, aclosing, asynccontextmanager, contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import attrs

from ..fetch.client import OTHER_LOOP, Response
from ..fetch.replay import AsyncChunks
from ..frontier.host_queue import HostPace, Wait
from ..model.errors import FetchError, UsageError
from ..model.limits import advice

if TYPE_CHECKING:
    from ..frontier.host_queue import HostQueue
    from ..frontier.plan import Plan
    from ..model.limits import Limits

    # Takes what Stopwatch.waiting() takes, and a function from the time to the Wait.
    Waiting = Callable[[Callable[[], float], Callable[[float], Wait]], AbstractContextManager[object]]


T = TypeVar("T")


def loop_seconds() -> float:
    """The time of the running event loop, by which its timers go."""
    return asyncio.get_running_loop().time()


def is_cancelled() -> bool:
    """Whether the current task is being cancelled: else a CancelledError is of something that it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class Stopwatch:
    """The seconds since start(), without those in which it was paused, by one caller or by several at once.

    Nor are those counted in which all open requests are waiting for what others have. Each states until when its site
    would keep it waiting all the same, which may become known meanwhile: so look often.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._pauses: list[None] = []
        self._requests: list[None] = []
        self._waits: list[Callable[[], float]] = []
        self._seconds = 0.0
        self._since = math.inf  # since when it runs

    def start(self) -> None:
        self._since = self._clock()

    def look(self) -> float:
        now = self._clock()
        self._seconds += max(min(now, self._runs_until()) - self._since, 0.0)
        self._since = now
        return self._seconds

    def _runs_until(self) -> float:
        if self._pauses:
            return -math.inf
        if not self._waits or len(self._waits) < len(self._requests):
            return math.inf
        return max(until() for until in self._waits)

    def paused(self) -> AbstractContextManager[None]:
        return self._during(self._pauses, None)

    def request(self) -> AbstractContextManager[None]:
        """A context around a request, from before it waits to its end."""
        return self._during(self._requests, None)

    def waiting(self, until: Callable[[], float]) -> AbstractContextManager[None]:
        """A context around the wait of a request for others; `until` has the time at which its site's own one ends."""
        return self._during(self._waits, until)

    @contextmanager
    def _during(self, states: list[T], state: T) -> Iterator[None]:
        self.look()
        states.append(state)
        try:
            yield
        finally:
            self.look()
            states.remove(state)


def unnoticed(*_: object) -> AbstractContextManager[None]:
    """A context for a wait that its caller does not count."""
    return nullcontext()


class DocumentTimeouts:
    """Limits the time that the network may take for a document: head() for the head, chunks() for the body.

    Both have document_seconds together. Only waiting for the network counts, not the consumer's time. A head must be
    complete within connect_seconds + read_seconds + min_rate_after_seconds: time to connect, time to the first byte,
    and as long as a body has before its rate is checked. A fetcher restarts read_seconds at each byte, so that without
    this a head could drip forever. `spent` is the time of earlier tries and redirects; `wire_bytes` of the body came.
    """

    def __init__(self, spent: float, limits: Limits, clock: Callable[[], float], count: Callable[[int], None]) -> None:
        self.seconds = 0.0
        self.wire_bytes = 0
        self._left = limits.document_seconds - spent  # at the beginning
        self._limits = limits
        self._clock = clock
        self._count = count

    async def head(self, opening: Awaitable[Response]) -> Response:
        """Awaits a response within the time for a head; FetchError after that."""
        return await self._timed(opening, self._head_seconds, self._head_timeout)

    async def chunks(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        """Yields a body; FetchError where it is slower than the minimum rate, or over the time for a document."""
        # A chunk may take read_seconds regardless of the rate; many small chunks must keep the rate.
        limits, iterator = self._limits, aiter(chunks)
        before = self.seconds
        while True:
            left = self._left - self.seconds
            at_rate = max(limits.read_seconds, self._rate_seconds(self.wire_bytes) - (self.seconds - before))
            timeout_error = self._document_timeout if left <= at_rate else self._rate_timeout
            chunk = await self._timed(anext(iterator, None), min(left, at_rate), timeout_error)
            if chunk is None:
                return
            self.wire_bytes += len(chunk)
            self._count(len(chunk))
            if self.seconds > self._left:
                raise self._document_timeout()
            if self.seconds - before > self._rate_seconds(self.wire_bytes):
                raise self._rate_timeout()
            yield chunk

    async def _timed(self, awaitable: Awaitable[T], seconds: float, timeout_error: Callable[[], FetchError]) -> T:
        """Awaits with a timeout, and adds the time it took to `seconds`."""
        started = self._clock()
        try:
            async with asyncio.timeout(seconds) as deadline:
                return await awaitable
        except TimeoutError:
            if deadline.expired():
                raise timeout_error() from None
            raise
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            # The request must end all the same.
            raise FetchError("the fetcher cancelled the request") from None
        finally:
            self.seconds += self._clock() - started

    @property
    def _head_seconds(self) -> float:
        limits = self._limits
        whole_head = limits.connect_seconds + limits.read_seconds + limits.min_rate_after_seconds
        return min(whole_head, self._left - self.seconds)

    def _rate_seconds(self, wire_bytes: int) -> float:
        rate = self._limits.min_bytes_per_second
        return max(self._limits.min_rate_after_seconds, wire_bytes / rate) if rate > 0 else math.inf

    def _head_timeout(self) -> FetchError:
        if self.seconds >= self._left:
            return self._document_timeout()
        fields = "connect_seconds + read_seconds + min_rate_after_seconds"
        return FetchError(f"the head of the answer was not here after {self._head_seconds:g} s ({fields})")

    def _rate_timeout(self) -> FetchError:
        rate = self._limits.min_bytes_per_second
        return FetchError(f"slower than {rate:,} bytes a second (min_bytes_per_second)")

    def _document_timeout(self) -> FetchError:
        # Not transient: a retry would take as long.
        message = f"not done after {self._limits.document_seconds:,g} s"
        return FetchError(message, transient=False, remedy=advice("document_seconds"))


LENT_AFTER_SECONDS = 1.0
# Hosts whose waits are over are forgotten at the latest when there are twice as many as after the last time, and these.
_MANY_HOSTS = 1_000

Turn = asyncio.Future[float]  # its result: 0, or the seconds of a pause that is over the limit


@attrs.define(eq=False)
class _Host:
    """The requests to one origin, of all crawls."""

    origin: str
    pace: HostPace
    has_rules: bool = False
    users: int = 0  # requests that wait, or have their response open
    waiting: deque[Turn] = attrs.field(factory=deque)
    resuming: deque[Turn] = attrs.field(factory=deque)  # bodies whose slot was lent
    is_queued: bool = False
    timer: asyncio.TimerHandle | None = None

    @property
    def slots(self) -> int:
        """How many requests may be in flight; one until a robots.txt was read, as it may state a Crawl-delay."""
        return self.pace.slots if self.has_rules else 1

    def wait(self, now: float) -> float | None:
        """Seconds until a request may start; None if that takes more than the passing of time."""
        if self.pace.in_flight >= self.slots or not (self.resuming or self.waiting):
            return None
        return 0.0 if self.resuming else max(0.0, self.pace.next_at - now)  # no delay: it is no new request

    def is_over(self, now: float) -> bool:
        return not self.users and now >= self.pace.next_at

    def stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class Pacing:
    """The slots of one reader. It belongs to the event loop in which it is used, as the reader does."""

    def __init__(self, plan: Plan, clock: Callable[[], float] = loop_seconds) -> None:
        self._plan = plan
        self.clock = clock  # the time by which requests start
        self._in_flight = 0
        self._hosts: dict[str, _Host] = {}
        self._most_hosts = _MANY_HOSTS
        self._queue: deque[_Host] = deque()  # those that may start a request if there is a slot
        self._loops: list[asyncio.AbstractEventLoop] = []  # of the crawls that run
        self._loops_lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._hosts)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """A context around a crawl. UsageError while one runs on another event loop: none could wake the other."""
        loop = asyncio.get_running_loop()
        with self._loops_lock:
            if any(each is not loop and not each.is_closed() for each in self._loops):
                raise UsageError(OTHER_LOOP)
            self._loops.append(loop)
        try:
            yield
        finally:
            with self._loops_lock:
                self._loops.remove(loop)

    @asynccontextmanager
    async def slot(self, place: HostQueue, *, is_robots: bool, waiting: Waiting = unnoticed) -> AsyncIterator[Slot]:
        """Waits for a slot for one request to the host of a crawl; it is returned at the end of the block or before.

        `waiting` is entered while it waits, with functions for the end of the pause of the host, and for the Wait.
        """
        host = self._host_of(place.origin)
        host.users += 1
        slot = Slot(self, host, place, is_robots, waiting)
        try:
            self.learn([place])
            await slot.take()
            yield slot
        finally:
            slot.release()
            host.users -= 1

    def learn(self, places: Iterable[HostQueue]) -> None:
        """Takes over what a crawl knows of the pace of hosts."""
        for place in places:
            host = self._hosts[place.origin] = self._hosts.get(place.origin) or self._new_host(place.origin)
            host.has_rules = host.has_rules or place.rules is not None
            host.pace.slow_down(place.pace.delay_seconds)
            host.pace.pause(place.pace.paused_until, place.pace.paused_by, place.pace.paused_reason)
            self._examine(host)

    def end_pauses(self, origins: Iterable[str]) -> None:
        """Ends the pauses of hosts for which the caller has waited by another clock."""
        for host in filter(None, map(self._hosts.get, origins)):
            host.pace.paused_until = -math.inf
            host.stop_timer()
            self._examine(host)

    def _new_host(self, origin: str) -> _Host:
        return _Host(origin, HostPace(self._plan.per_host, self._plan.delay_seconds))

    def _host_of(self, origin: str) -> _Host:
        """A host; a new one where its waits are over, as its robots.txt may state another delay by now."""
        now = self.clock()
        if len(self._hosts) > self._most_hosts:
            self._hosts = {name: host for name, host in self._hosts.items() if not host.is_over(now)}
            self._most_hosts = 2 * len(self._hosts) + _MANY_HOSTS
        host = self._hosts.get(origin)
        if host is None or host.is_over(now):
            host = self._hosts[origin] = self._new_host(origin)
        return host

    async def turn(self, host: _Host, line: deque[Turn], waiting: Waiting) -> float:
        """Waits in a line of a host until a slot is free, and takes it; see Turn for the result."""
        turn: Turn = asyncio.get_running_loop().create_future()
        line.append(turn)
        self._examine(host)
        if turn.done():
            return turn.result()
        try:
            with waiting(lambda: host.pace.paused_until, partial(_wait_for, host)):
                return await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                with suppress(ValueError):
                    line.remove(turn)
            elif not turn.result():
                self.free(host)  # it got the slot just before
            raise
        finally:
            if not host.waiting:
                host.stop_timer()

    def free(self, host: _Host) -> None:
        self._in_flight -= 1
        host.pace.finished()
        self._examine(host)

    def _examine(self, host: _Host) -> None:
        pause = host.pace.paused_until - self.clock()
        if pause > self._plan.limits.max_wait_seconds:
            while (turn := _first(host.waiting)) is not None:
                turn.set_result(pause)
        self._line_up(host)
        while self._queue and self._in_flight < self._plan.concurrency:
            host = self._queue.popleft()
            host.is_queued = False
            if host.wait(self.clock()) == 0.0:  # a delay may have become known since
                self._start(host)
            self._line_up(host)

    def _line_up(self, host: _Host) -> None:
        seconds = host.wait(self.clock())
        if seconds is None or host.is_queued:
            return
        if not seconds:
            host.is_queued = True
            self._queue.append(host)
        elif host.timer is None:
            host.timer = asyncio.get_running_loop().call_later(seconds, self._on_time, host)

    def _on_time(self, host: _Host) -> None:
        host.timer = None
        self._examine(host)

    def _start(self, host: _Host) -> None:
        is_new = not host.resuming
        turn = _first(host.waiting if is_new else host.resuming)
        if turn is not None:
            self._in_flight += 1
            host.pace.started(self.clock() if is_new else -math.inf)
            turn.set_result(0.0)


def _wait_for(host: _Host, now: float) -> Wait:
    if host.waiting and host.pace.next_at > now:
        return host.pace.wait(host.origin, host.pace.next_at, now)
    return Wait(host.origin, "per-host" if host.pace.in_flight >= host.slots else "concurrency")


def _first(line: deque[Turn]) -> Turn | None:
    """Removes and returns the first turn that was not cancelled."""
    while line:
        turn = line.popleft()
        if not turn.done():
            return turn
    return None


@attrs.define(eq=False)
class Slot:
    """The permission to send one request and to read its response."""

    _pacing: Pacing
    _host: _Host
    _place: HostQueue
    _is_robots: bool  # kept after its body, until its rules are known
    _waiting: Waiting
    refusal: Response | None = None  # in place of a request while the host pauses for longer than max_wait_seconds
    _is_held: bool = False
    _lending: asyncio.TimerHandle | None = None

    async def take(self) -> None:
        host = self._host
        pause = await self._pacing.turn(host, host.waiting, self._waiting)
        if pause:
            headers = {"retry-after": str(math.floor(pause))}  # rounded up, each refusal would lengthen the pause
            self.refusal = Response(host.pace.paused_by, headers, AsyncChunks(), "")
            return
        self._is_held = True
        # The request is sent here: it got its turn a moment before, and the crawl may have wanted it long before.
        host.pace.last_start = self._place.pace.last_start = self._pacing.clock()

    async def chunks(self, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """Yields the chunks of the body; the slot is lent while the next one is not wanted."""
        async with aclosing(chunks):
            async for chunk in chunks:
                self._lend_soon()
                yield chunk
                self._stop_lending()
                if not self._is_held:
                    await self._pacing.turn(self._host, self._host.resuming, self._waiting)
                    self._is_held = True
        self.end()

    def end(self) -> None:
        """Returns the slot, as the response has ended; may be called twice."""
        if self._is_robots:
            self._lend_soon()
        else:
            self.release()

    def release(self) -> None:
        self._stop_lending()
        self._free()

    def _lend_soon(self) -> None:
        self._stop_lending()
        self._lending = asyncio.get_running_loop().call_later(LENT_AFTER_SECONDS, self._free)

    def _stop_lending(self) -> None:
        if self._lending is not None:
            self._lending.cancel()
            self._lending = None

    def _free(self) -> None:
        if self._is_held:
            self._is_held = False
            self._pacing.free(self._host)
