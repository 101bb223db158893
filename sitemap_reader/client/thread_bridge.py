"""A loop in a thread of its own, for callers without one and inside a running one.

In: what is to run on it. Out: its batches one by one, or its one result. Ended and joined whenever it is left.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator

    from ..pipeline.document_parser import Batch


# ----------------------------------------------------------------------------------------------------
# The functions of the caller's that a walk calls: wrapped, so that what they raise reaches him as it is.
#
# In: a function. Out: one to pass on. Whoever gets a failure in the end unwraps it with first_failure().


Argument = TypeVar("Argument")
Returned = TypeVar("Returned")


class CallbackError(Exception):
    """What a function of the caller's raised in the middle of a walk, on its way out."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def carried(function: Callable[[Argument], Returned]) -> Callable[[Argument], Returned]:
    """Wraps what is called inside a walk: what it raises comes out of batches_of() as it is, whoever it passes.

    asyncio would take a KeyboardInterrupt for one of its own, and end the loop before anything is closed; a
    CancelledError would end a task that nobody cancelled; a FetchError would pass for the network's.
    """

    def call(argument: Argument) -> Returned:
        try:
            return function(argument)
        except BaseException as error:
            raise CallbackError(error) from error

    return call


@attrs.define
class CallbackGuard:
    """Guards the functions of the caller's that only hear: once one has raised, it is that which he hears of.

    None is called any more then, though what a walk has still to say at its end is entered.
    """

    has_raised: bool = False

    def guarded(self, function: Callable[[Argument], None]) -> Callable[[Argument], None]:
        """Wraps one of them: it is called as long as none has raised."""

        def call(argument: Argument) -> None:
            if self.has_raised:
                return
            try:
                function(argument)
            except BaseException:
                self.has_raised = True
                raise

        return call


def first_failure(failure: BaseException) -> BaseException:
    """What failed first, without what tasks and carried() wrap it in."""
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure.error if isinstance(failure, CallbackError) else failure


Result = TypeVar("Result")

# Batches that may wait between the reading thread and its consumer.
_WAITING_BATCHES = 8
# How the names of all our threads begin, those of crawl/ included.
THREADS = "sitemap-reader"
# How long a consumer waits for records before it hears that it is waiting.
_WAIT_SECONDS = 0.2


class Bridge:
    """Batches out of a loop in a thread of its own, a few at a time: what is not taken makes the loop wait."""

    def __init__(self, pump: Callable[[Callable[[Batch], Awaitable[None]]], Awaitable[None]]) -> None:
        self._pump = pump
        self._queue: SimpleQueue[Batch | BaseException | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._room: asyncio.Event | None = None  # set when a batch was taken, while one is to be put
        self._closing = threading.Event()
        self.was_cancelled = False

    def batches(self, on_wait: Callable[[], None]) -> Iterator[Batch]:
        """What comes, once; a consumer that has to wait hears of it a few times a second."""
        thread = threading.Thread(target=self._work, name=THREADS, daemon=True)
        try:
            thread.start()
        finally:
            if thread.is_alive():  # else there is nothing to join; start() waits, and may be interrupted
                self._thread = thread
        while (batch := self._next(on_wait)) is not None:
            if isinstance(batch, BaseException):
                raise first_failure(batch)  # only here: it is nothing to the loop in the thread either
            if (room := self._room) is not None:  # to wake the loop for nothing would take longer than the rest
                self._soon(room.set)
            yield batch

    def _next(self, on_wait: Callable[[], None]) -> Batch | BaseException | None:
        while True:
            try:
                return self._queue.get(timeout=_WAIT_SECONDS)
            except Empty:
                on_wait()

    def close(self) -> None:
        """Ends the loop, whatever it is doing, and waits for the thread. May be called twice, and by the collector.

        That may run in any thread, also in one of ours, which that loop may be waiting for: then nobody waits.
        """
        self._closing.set()
        if self._task is not None:
            self._soon(self._task.cancel)
        if self._thread is not None and not threading.current_thread().name.startswith(THREADS):
            self._thread.join()

    def _soon(self, function: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop has ended by itself
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
        if not self._closing.is_set():
            await self._pump(self._put)

    async def _put(self, batch: Batch) -> None:
        self._room = asyncio.Event()  # before the look at the queue: whoever takes one from here on sets it
        if self._queue.qsize() >= _WAITING_BATCHES:
            await self._room.wait()
        self._room = None
        self._queue.put(batch)


def call(ask: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """What `ask` gives, from a loop in a thread of its own, so that a running loop does not matter.

    Who is interrupted while he waits ends it.
    """
    results: list[Result] = []
    failures: list[BaseException] = []
    tasks: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = []

    async def main() -> Result:
        tasks.append((asyncio.get_running_loop(), asyncio.current_task()))
        return await ask()

    def work() -> None:
        try:
            results.append(asyncio.run(main()))
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work, name=THREADS, daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:
        for loop, task in tasks:
            with suppress(RuntimeError):  # the loop has ended by itself
                loop.call_soon_threadsafe(task.cancel if task else loop.stop)
        thread.join()
        raise
    if failures:
        raise failures[0]
    return results[0]
