"""Threads beside the event loop: ThreadPool for any calls, ParseExecutor for those of the DocumentParsers."""

from __future__ import annotations

import asyncio
import math
import os
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ..model.errors import SitemapReaderError, UsageError
from .feedparser_process import CANCELLED

if TYPE_CHECKING:
    from ..model.limits import Limits
    from ..parser.dialects.feed_fallback import FeedFallback
    from .document_parser import DocumentParser, FallbackAnswer, ParserItems

Params = ParamSpec("Params")
Result = TypeVar("Result")

# So long a small body is parsed in the thread of the loop, up to the end of 64 KiB: where threads take turns with the
# GIL, 200 sitemaps of 1,000 URLs take a third more CPU.
_LOOP_SECONDS = 0.005
# At most so many threads parse.
_MAX_THREADS = 4


class ThreadPool:
    """Runs calls in at most `size` threads, each started when all others are busy; one thread keeps their order.

    Each call has the contextvars of its caller: it may be a callback of the user. Cancelling a caller does not stop its
    call. StopIteration is not supported.
    """

    def __init__(self, name: str, size: int = 1) -> None:
        self._name = name
        self._size = size
        self._executor: ThreadPoolExecutor | None = None
        self._calls: set[Future[Any]] = set()  # not done yet

    async def run(self, function: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs) -> Result:
        return await asyncio.wrap_future(self.submit(function, *args, **kwargs))

    def submit(self, function: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs) -> Future[Result]:
        """Begins a call; its future is also done when the call ends after its caller was cancelled."""
        self._executor = self._executor or ThreadPoolExecutor(self._size, self._name)
        call = self._executor.submit(copy_context().run, partial(function, *args, **kwargs))
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        return call

    async def close(self) -> None:
        """Ends the threads after their current calls; if this is cancelled, without waiting for these.

        A later call starts another one, which then has to be closed.
        """
        executor, self._executor = self._executor, None
        if executor is None:
            return
        is_idle = False
        try:
            await asyncio.gather(*map(asyncio.wrap_future, tuple(self._calls)), return_exceptions=True)
            is_idle = True
        finally:
            executor.shutdown(wait=is_idle, cancel_futures=True)


class ParseExecutor:
    """Runs the calls about each document one after the other, beside the event loop, but for 5 ms of a small body.

    Those of a document that is one chunk and one batch run in a thread of their own, which keeps the order of such
    documents; those of a larger one then in any of the other threads, one for each core.
    """

    def __init__(self) -> None:
        self._first = ThreadPool("sitemap-reader-parse-first")
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._others = ThreadPool("sitemap-reader-parse", min(cores, _MAX_THREADS))

    async def parse(self, parser: DocumentParser, chunks: AsyncIterator[bytes]) -> AsyncGenerator[ParserItems, None]:
        """Yields the items of a body, until the bytes end or no more are needed."""
        async for chunk in chunks:
            parser.is_large = parser.call is not None
            batches, is_done = parser.parse(chunk), False
            if parser.is_last:
                parser.late_at = time.monotonic() + _LOOP_SECONDS
                batch, is_done = next(batches)
                parser.late_at = math.inf
                yield batch
            while not is_done:
                batch, is_done = await self.run(parser, next, batches)
                parser.is_large = parser.is_large or not is_done
                yield batch
            if parser.needs_no_more:
                return

    async def run(
        self, parser: DocumentParser, call: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
    ) -> Result:
        threads = self._others if parser.is_large else self._first
        parser.call = future = threads.submit(call, *args, **kwargs)
        return await asyncio.wrap_future(future)

    async def close(self) -> None:
        """Ends the threads after their current calls; if this is cancelled, without waiting for these."""
        try:
            await self._others.close()
        finally:
            await self._first.close()


async def run_fallback(fallback: FeedFallback, body: bytes, url: str | None, *, limits: Limits) -> FallbackAnswer:
    """The result of a feed fallback, or its error. Cancelling this kills feedparser."""
    # It runs in a thread of its own: it may take long, and other documents are read meanwhile.
    cancelled, context, thread = threading.Event(), copy_context(), ThreadPool("sitemap-reader-fallback")
    context.run(CANCELLED.set, cancelled)
    try:
        return await thread.run(context.run, partial(fallback, body, url, limits=limits))
    except UsageError:
        raise  # a mistake of the caller, and no failure to read this feed
    except SitemapReaderError as error:
        return error
    finally:
        cancelled.set()
        await thread.close()
