"""Drives a frontier with a fetcher on asyncio: seeds in, batches of items out.

A batch holds UrlRecords (or Lines or Entries of them), SitemapRefs, Problems and Outcomes; those of one document keep
its order. Nothing is held back but what flow control needs: a consumer that waits makes the network wait.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from ..frontier.document_request import Arrived, DocumentRequest, Failed, Finished, Head
from ..frontier.robots_rules import parse_rules
from ..model.errors import DocumentChanged, FetchError
from ..model.limits import advice
from .document_parser import AsLines, Many, Piece, Task
from .document_task import Reading, ask_fallback
from .executor import LocalExecutor, WorkerLost, WorkerThread

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from ..fetch.client import Fetcher, Response
    from ..frontier.document_request import Answer
    from ..frontier.frontier import Frontier
    from ..frontier.robots_policy import CrawlDelay
    from ..frontier.seeds import RequestHeaders
    from ..model.limits import Limits
    from ..model.problems import Problem
    from ..model.records import Outcome
    from ..parser.dialects.feed_fallback import FeedFallback
    from .document_parser import Answer as FallbackAnswer
    from .executor import ParseExecutor
    from .worker_pool import Workers


# ----------------------------------------------------------------------------------------------------
# How long the network may take over a document: the answer to one try in, the same out, or a FetchError.
#
# Only waiting for the network counts, never the time that whoever asks for the next chunk takes.


T = TypeVar("T")


class DocumentTimeouts:
    """answer() for the head, then chunks() for the body: together they have document_seconds, silence included.

    The whole head must be here within connect_seconds + read_seconds + min_rate_after_seconds: time to connect, time
    to the first byte, and then as long as a body has before its rate is looked at. Each single byte restarts what
    a fetcher calls silence, so without this a head may drip for ever. `count` hears of the length of each chunk.
    What it cost is added to the visit's network_seconds: earlier tries and redirects count.
    """

    def __init__(
        self, request: DocumentRequest, limits: Limits, clock: Callable[[], float], count: Callable[[int], None]
    ) -> None:
        self._request = request
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
        request, before, wire_bytes = self._request, self._request.network_seconds, 0
        while True:
            left = limits.document_seconds - request.network_seconds
            at_rate = max(limits.read_seconds, self._rate_seconds(wire_bytes) - (request.network_seconds - before))
            fault = self._over if left <= at_rate else self._too_slow
            chunk = await self._waited(anext(iterator, None), min(left, at_rate), fault)
            if chunk is None:
                return
            wire_bytes += len(chunk)
            self._count(len(chunk))
            if request.network_seconds > limits.document_seconds:
                raise self._over()
            if request.network_seconds - before > self._rate_seconds(wire_bytes):
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
            self._request.network_seconds += self._clock() - asked

    @property
    def _head_seconds(self) -> float:
        limits = self._limits
        whole_head = limits.connect_seconds + limits.read_seconds + limits.min_rate_after_seconds
        return min(whole_head, limits.document_seconds - self._request.network_seconds)

    def _rate_seconds(self, wire_bytes: int) -> float:
        """How long so many bytes of a body may take."""
        rate = self._limits.min_bytes_per_second
        return max(self._limits.min_rate_after_seconds, wire_bytes / rate) if rate > 0 else math.inf

    def _slow_head(self) -> FetchError:
        if self._request.network_seconds >= self._limits.document_seconds:
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


Batch: TypeAlias = Piece

# How many batches may wait for the consumer.
_WAITING_BATCHES = 8
# Up to so many bytes on the wire, to send a document to a worker and back takes longer than to read it here.
_SMALL_BYTES = 16 * 1024
_SHORT_NUMBER = re.compile("[0-9]{1,9}")


class Run:
    """One walk, from its seeds to its end. `batches()` may be iterated once.

    `peek` reads no further than is needed to know what a document is, and gives no records. `patient=False` is for a
    fetcher that nobody has to be gentle with, such as a replay: waits pass at once, in their order. With `as_lines`
    records come as Lines, with `as_entries` plain ones as Entries, and `workers` may make them. What there is to tell
    beforehand is `told`. Of the caller's `headers` a request gets those that are for its URL.
    """

    def __init__(
        self,
        frontier: Frontier,
        fetcher: Fetcher,
        *,
        extras: bool = False,
        feed_fallback: FeedFallback | None = None,
        peek: bool = False,
        patient: bool = True,
        as_lines: AsLines | None = None,
        as_entries: bool = False,
        workers: Workers | None = None,
        told: Sequence[Problem | Outcome] = (),
        headers: RequestHeaders | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.frontier = frontier
        self.bytes_wire = 0
        self._fetcher = fetcher
        self._extras = extras
        self._fallback = feed_fallback
        self._peek = peek
        self._patient = patient
        self._skipped_seconds = 0.0
        self._clock = clock
        self._as_lines = as_lines
        self._as_entries = as_entries
        self._workers = workers
        self._told = told
        self._headers = headers
        self._withholds = False  # and has said so
        self._urls = 0  # that came many at once
        self._worker_thread = WorkerThread("sitemap-reader-parse")
        self._out: asyncio.Queue[Batch | None] = asyncio.Queue(_WAITING_BATCHES)
        self._news = asyncio.Event()
        self._tasks = asyncio.TaskGroup()

    def delay(self) -> CrawlDelay | None:
        """The Crawl-delay that makes it take longest, if it is kept."""
        return self.frontier.longest_crawl_delay() if self._patient else None

    async def batches(self) -> AsyncGenerator[Batch, None]:
        """What the walk gives, as it comes. Leaving early cancels every request."""
        driver = asyncio.create_task(self._drive())
        try:
            while (batch := await self._out.get()) is not None:
                if batch:
                    yield batch
            await driver
        finally:
            driver.cancel()
            try:
                await asyncio.gather(driver, return_exceptions=True)
            finally:  # also where the loop ends meanwhile
                try:
                    if self._workers is not None:
                        await self._workers.close()
                finally:
                    await self._worker_thread.close()

    async def _drive(self) -> None:
        """The walk; then, unless nobody listens any more, the mark that it is over."""
        try:
            await self._walk()
        except asyncio.CancelledError:
            raise
        except BaseException:
            await self._out.put(None)
            raise
        await self._out.put(None)

    async def _walk(self) -> None:
        """Starts what the frontier permits until it is done; a failure of ours ends it all."""
        frontier = self.frontier
        await self._out.put([*self._told])
        async with self._tasks:
            while not frontier.done:
                self._news.clear()
                now = self._now()
                self._start_requests(now)
                await self._out.put([*frontier.take()])
                if not frontier.done:
                    seconds = frontier.wait(now)
                    if seconds is None and not frontier.awaits_answers:
                        raise RuntimeError("the walk stands still: please report the site")
                    if seconds and not (self._patient or frontier.awaits_answers):
                        self._skipped_seconds += seconds
                    else:
                        await self._await_news(seconds)
        await self._out.put([*frontier.take()])

    def _start_requests(self, now: float) -> None:
        for request in self.frontier.next_requests(now):
            self._tasks.create_task(self._request(request))

    async def _await_news(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return  # the time to look again has come

    def _tell(self, request: DocumentRequest, answer: Answer) -> bool:
        self._news.set()
        return self.frontier.receive(request, answer, self._now(), datetime.now(UTC))

    def _now(self) -> float:
        """The walk's time: the clock's, and what was not waited for."""
        return self._clock() + self._skipped_seconds

    async def _request(self, request: DocumentRequest) -> None:
        """One request: its head to the frontier, its body through a Reading, its end to the frontier."""
        started = self._clock()
        reading: Reading | None = None
        answer: Failed | Finished
        patience = DocumentTimeouts(request, self.frontier.plan.limits, self._clock, self._count)
        try:
            async with patience.answer(self._fetcher.fetch(request.url, self._headers_for(request))) as response:
                if not self._tell(request, Head(response.status, response.headers)):
                    return
                reading = await self._reading(request, response)
                async with aclosing(patience.chunks(response.chunks)) as chunks:
                    await reading.read(self._whole(request, chunks) if _is_small(response) else chunks)
            if reading.lists_pages:
                self._tell(request, Arrived())
            answer = await self._finished(request, reading)
        except FetchError as error:
            answer = await self._broken_off(request, reading, error)
        except DocumentChanged as error:
            answer = Failed("F04", str(error), transient=False)
        finally:
            if reading is not None:
                reading.release()
        if answer.outcome:
            answer.outcome.seconds = round(self._clock() - started, 3)
        self._tell(request, answer)

    def _headers_for(self, request: DocumentRequest) -> dict[str, str]:
        if self._headers is None:
            return request.headers
        if not self._withholds and self._headers.withholds(request.url):
            self._withholds = True
            self.frontier.note_withheld(request)
        return self._headers.headers_for(request.url, request.headers)

    async def _whole(self, request: DocumentRequest, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """A small body, when all of it is here: the next request goes before this one is read, not behind it."""
        body = b""
        try:
            async for chunk in chunks:
                body += chunk
                if len(body) >= _SMALL_BYTES:  # it said something else
                    yield body
                    body = b""
        except FetchError:
            yield body  # what arrived counts
            raise
        self._tell(request, Arrived())
        self._start_requests(self._now())
        await asyncio.sleep(0)
        yield body

    async def _finished(self, request: DocumentRequest, reading: Reading) -> Finished:
        outcome = await reading.end()
        if not request.is_robots:
            return Finished(outcome)
        return Finished(
            outcome, await self._worker_thread.do(parse_rules, reading.robots_text, self.frontier.plan.user_agent)
        )

    async def _reading(self, request: DocumentRequest, response: Response) -> Reading:
        return Reading(
            request,
            await self._hand(request, response),
            found=partial(self._tell, request),
            put=self._put,
            ask=partial(self._ask, request),
        )

    def _task(self, request: DocumentRequest, response: Response) -> Task:
        plan = self.frontier.plan
        return Task(
            url=request.original_url,
            final_url=request.url,
            content_type=None if request.is_robots else response.headers.get("content-type"),
            scope=plan.scope,
            authorities=request.authorities,
            limits=plan.limits,
            selection=plan.selection,
            extras=self._extras,
            asks_fallback=self._fallback is not None,
            prefix=request.resume.prefix if request.resume else None,
            skipped=request.resume.items if request.resume else 0,
            former=request.reread.former if request.reread else None,
            peek=self._peek and not request.is_robots,
            as_lines=self._as_lines,
            as_entries=self._as_entries,
            content_encoding=response.headers.get("content-encoding"),
        )

    async def _hand(self, request: DocumentRequest, response: Response) -> ParseExecutor:
        """One of this process for what is small or special, else that of a worker, if there are any."""
        task, workers = self._task(request, response), self._workers
        is_special = request.is_robots or task.peek or _is_small(response)
        if workers is None or is_special or self._urls < workers.after_urls:
            return LocalExecutor(task, self._worker_thread)
        return await workers.hand(task)

    async def _ask(self, request: DocumentRequest, body: bytes, url: str | None) -> FallbackAnswer:
        assert self._fallback is not None  # noqa: S101 - for the type checker: its task says so
        self._tell(request, Arrived())
        return await ask_fallback(self._fallback, body, url, limits=self.frontier.plan.limits)

    async def _put(self, piece: Piece) -> None:
        if self._workers is not None:
            self._urls += sum(item.urls for item in piece if isinstance(item, Many))
        await self._out.put(piece)

    def _count(self, wire_bytes: int) -> None:
        self.bytes_wire += wire_bytes

    async def _broken_off(self, request: DocumentRequest, reading: Reading | None, error: FetchError) -> Failed:
        """What had arrived still counts: another try goes on from there, and without one it is what there is."""
        failed = Failed(error.code, str(error), error.transient, is_ours=isinstance(error, WorkerLost))
        if reading is None or not reading.has_caught_up:
            return failed
        if self.frontier.tries_again(request, failed):
            request.resume = reading.reached() if reading.given else None
            return failed
        try:
            outcome = await reading.end(cut=True)
        except FetchError as lost:
            message = str(error) if isinstance(lost, WorkerLost) else f"{error}; {lost}"
            return Failed(error.code, message, False, await reading.lost())
        return Failed(error.code, str(error), False, outcome)


def _is_small(response: Response) -> bool:
    """Whether it says so itself."""
    length = response.headers.get("content-length", "")
    return _SHORT_NUMBER.fullmatch(length) is not None and int(length) < _SMALL_BYTES
