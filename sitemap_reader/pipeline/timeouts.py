"""Measures and limits the time of a crawl: Stopwatch for the whole, DocumentTimeouts for the network of a document."""

from __future__ import annotations

import asyncio
import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from ..model.errors import FetchError
from ..model.limits import advice

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
    from contextlib import AbstractContextManager

    from ..fetch.client import Response
    from ..model.limits import Limits

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


class DocumentTimeouts:
    """Limits the time that the network may take for a document: head() for the head, chunks() for the body.

    Both have document_seconds together. Only waiting for the network counts, not the consumer's time. A head must be
    complete within connect_seconds + read_seconds + min_rate_after_seconds: time to connect, time to the first byte,
    and as long as a body has before its rate is checked. A fetcher restarts read_seconds at each byte, so that without
    this a head could drip forever. `spent` is the time of earlier tries and redirects.
    """

    def __init__(self, spent: float, limits: Limits, clock: Callable[[], float], count: Callable[[int], None]) -> None:
        self.seconds = 0.0
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
        before, wire_bytes = self.seconds, 0
        while True:
            left = self._left - self.seconds
            at_rate = max(limits.read_seconds, self._rate_seconds(wire_bytes) - (self.seconds - before))
            timeout_error = self._document_timeout if left <= at_rate else self._rate_timeout
            chunk = await self._timed(anext(iterator, None), min(left, at_rate), timeout_error)
            if chunk is None:
                return
            wire_bytes += len(chunk)
            self._count(len(chunk))
            if self.seconds > self._left:
                raise self._document_timeout()
            if self.seconds - before > self._rate_seconds(wire_bytes):
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
