"""An event loop in a thread of its own, for callers without one or inside a running one."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

from ..pipeline.crawl import WAITING_BATCHES, first_failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

Result = TypeVar("Result")

# How the names of all threads of this package begin, those of pipeline/ included.
THREADS = "sitemap-reader"
# How long a consumer waits for a batch before on_wait() is called.
_WAIT_SECONDS = 0.2


class TimedQueue(Generic[Result]):
    """A SimpleQueue whose get() always ends in time.

    Up to Python 3.12, SimpleQueue.get(timeout=) waits forever where a signal handler returns after the timeout, as one
    does that has to wait for the GIL. queue.Queue may keep its lock where a handler raises.
    """

    def __init__(self) -> None:
        self._items: SimpleQueue[Result] = SimpleQueue()
        self._has_items = threading.Lock()  # released by put()
        self._has_items.acquire()
        self.qsize = self._items.qsize

    def put(self, item: Result) -> None:
        """Adds an item; never waits."""
        self._items.put(item)
        with suppress(RuntimeError):  # released before, and not yet waited for
            self._has_items.release()

    def get(self, timeout: float) -> Result:
        """Removes and returns the first item; raises queue.Empty after `timeout` seconds without one."""
        deadline = time.monotonic() + timeout
        while True:
            with suppress(Empty):
                return self._items.get_nowait()
            if not self._has_items.acquire(timeout=max(deadline - time.monotonic(), 0)):
                raise Empty


class Bridge(Generic[Result]):
    """Passes batches from an event loop in a thread to a consumer; with 4 in the queue, the loop waits."""

    def __init__(
        self,
        pump: Callable[[Callable[[Result], Awaitable[None]]], Awaitable[None]],
        stop: Callable[[], object] | None = None,
    ) -> None:
        self._pump = pump
        self._stop = stop  # ends it in order; without it, its task is cancelled
        self._queue: TimedQueue[Result | BaseException | None] = TimedQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._was_taken: asyncio.Event | None = None  # while a put() waits: set when a batch is taken
        self._putting = asyncio.Lock()
        self._closing = threading.Event()
        self.was_cancelled = False

    def batches(self, on_wait: Callable[[], None]) -> Iterator[Result]:
        """The batches, once; `on_wait` is called every 0.2 s while there is none."""
        # The caller's context: a trace of the requests has the span around this loop as its parent.
        thread = threading.Thread(target=copy_context().run, args=(self._work,), name=THREADS, daemon=True)
        try:
            thread.start()
        finally:
            if thread.is_alive():  # start() may be interrupted: without a thread there is nothing to join
                self._thread = thread
        while (batch := self._next(on_wait)) is not None:
            if isinstance(batch, BaseException):
                raise first_failure(batch)  # raised only in the consumer's thread
            if (was_taken := self._was_taken) is not None:  # waking the loop each time would dominate the cost
                self.call(was_taken.set)
            yield batch

    def _next(self, on_wait: Callable[[], None]) -> Result | BaseException | None:
        while True:
            try:
                return self._queue.get(_WAIT_SECONDS)
            except Empty:
                on_wait()

    def close(self) -> None:
        """Ends the loop's task and joins the thread. May be called twice, and by the garbage collector."""
        self._closing.set()
        if self._task is not None:
            self.call(self._stop or self._task.cancel)
        # The collector may run in a thread of this package, for which the loop may wait.
        if self._thread is not None and not threading.current_thread().name.startswith(THREADS):
            self._thread.join()

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def call(self, function: Callable[[], object]) -> None:
        """Calls a function in the loop, soon, unless that has ended."""
        with suppress(RuntimeError):  # the loop has ended
            if self._loop is not None:
                self._loop.call_soon_threadsafe(function)

    def _work(self) -> None:
        try:
            asyncio.run(self._main())
        except asyncio.CancelledError:
            self.was_cancelled = True
            self._queue.put(None)
        except BaseException as error:
            self._queue.put(error)
        else:
            self._queue.put(None)

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        if self._closing.is_set():  # closed before there was a task to cancel
            raise asyncio.CancelledError
        await self._pump(self._put)

    async def _put(self, batch: Result) -> None:
        async with self._putting:  # many documents put their batches
            self._was_taken = asyncio.Event()  # before qsize(): a batch taken from here on sets it
            if self._queue.qsize() >= WAITING_BATCHES:
                await self._was_taken.wait()
            self._was_taken = None
            self._queue.put(batch)
