"""How long the network may take over a document: the answer to one try in, the same out, or a FetchError.

Only waiting for the network counts, never the time that whoever asks for the next chunk takes.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from ..model.errors import FetchError
from ..model.limits import advice

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from ..fetch.client import Response
    from ..frontier.document_request import Visit
    from ..model.limits import Limits

T = TypeVar("T")


class Patience:
    """answer() for the head, then chunks() for the body: together they have document_seconds, silence included.

    The whole head must be here within connect_seconds + read_seconds + min_rate_after_seconds: time to connect, time
    to the first byte, and then as long as a body has before its rate is looked at. Each single byte restarts what
    a fetcher calls silence, so without this a head may drip for ever. `count` hears of the length of each chunk.
    What it cost is added to the visit's network_seconds: earlier tries and redirects count.
    """

    def __init__(
        self, visit: Visit, limits: Limits, clock: Callable[[], float], count: Callable[[int], None]
    ) -> None:
        self._visit = visit
        self._limits = limits
        self._clock = clock
        self._count = count

    @asynccontextmanager
    async def answer(self, asking: AbstractAsyncContextManager[Response]) -> AsyncIterator[Response]:
        """What a fetcher opens, within the time for a head."""
        async with AsyncExitStack() as opened:
            yield await self._waited(opened.enter_async_context(asking), self._head_seconds, self._slow_head)

    async def chunks(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        """The body, while the network keeps the minimum rate and the time for a document lasts.

        A chunk may be read_seconds in coming whatever the rate is, and no longer than the rate allows if it drips.
        """
        limits, iterator = self._limits, aiter(chunks)
        visit, before, wire_bytes = self._visit, self._visit.network_seconds, 0
        while True:
            left = limits.document_seconds - visit.network_seconds
            at_rate = max(limits.read_seconds, self._rate_seconds(wire_bytes) - (visit.network_seconds - before))
            fault = self._over if left <= at_rate else self._too_slow
            chunk = await self._waited(anext(iterator, None), min(left, at_rate), fault)
            if chunk is None:
                return
            wire_bytes += len(chunk)
            self._count(len(chunk))
            if visit.network_seconds > limits.document_seconds:
                raise self._over()
            if visit.network_seconds - before > self._rate_seconds(wire_bytes):
                raise self._too_slow()
            yield chunk

    async def _waited(self, awaited: Awaitable[T], seconds: float, fault: Callable[[], FetchError]) -> T:
        """What is awaited, if it comes in time; the clock tells what it cost."""
        asked = self._clock()
        try:
            async with asyncio.timeout(seconds) as deadline:
                return await awaited
        except TimeoutError:
            if deadline.expired():
                raise fault() from None
            raise
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task and task.cancelling():
                raise
            # Nobody cancelled this request: it was a task of the fetcher's own, and its visit must end all the same.
            raise FetchError("the fetcher gave up: its request was cancelled") from None
        finally:
            self._visit.network_seconds += self._clock() - asked

    @property
    def _head_seconds(self) -> float:
        limits = self._limits
        whole_head = limits.connect_seconds + limits.read_seconds + limits.min_rate_after_seconds
        return min(whole_head, limits.document_seconds - self._visit.network_seconds)

    def _rate_seconds(self, wire_bytes: int) -> float:
        """How long so many bytes of a body may take."""
        rate = self._limits.min_bytes_per_second
        return max(self._limits.min_rate_after_seconds, wire_bytes / rate) if rate > 0 else math.inf

    def _slow_head(self) -> FetchError:
        if self._visit.network_seconds >= self._limits.document_seconds:
            return self._over()
        fields = "connect_seconds + read_seconds + min_rate_after_seconds"
        return FetchError(f"the head of the answer was not here after {self._head_seconds:g} s ({fields})")

    def _too_slow(self) -> FetchError:
        rate = self._limits.min_bytes_per_second
        return FetchError(f"slower than {rate:,} bytes a second (min_bytes_per_second)")

    def _over(self) -> FetchError:
        # Another try would need as long.
        message = f"not done after {self._limits.document_seconds:,g} s; {advice('document_seconds')}"
        return FetchError(message, transient=False)
