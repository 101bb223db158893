"""The streams of URL records: async, and the same for callers without a loop or inside a running one.

In: a Run. Out: its records one by one; beside them progress, problems, outcomes and a summary. Both end by raising
where there was nothing at all, and both stop every request when they are left.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from contextlib import aclosing, suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Self, TypeVar

import attrs

from .errors import PartialRead

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator
    from types import TracebackType

    from .crawl.reading import Batch
    from .crawl.run import Run
    from .ledger import Ledger, Problems, Progress, Summary
    from .records import Outcome, UrlRecord

Argument = TypeVar("Argument")
Result = TypeVar("Result")

# Batches that may wait between the reading thread and its consumer.
_WAITING_BATCHES = 8
# How long a consumer waits for records before it hears that it is waiting.
_WAIT_SECONDS = 0.2


class _Told:
    """What both streams tell beside the records."""

    def __init__(self, target: str, run: Run, ledger: Ledger) -> None:
        self._target = target
        self._run = run
        self._ledger = ledger
        self._started: float | None = None

    @property
    def progress(self) -> Progress:
        """How far the run is."""
        progress, frontier = self._ledger.progress, self._run.frontier
        progress.documents_done, progress.documents_known = frontier.documents_done, frontier.documents_known
        progress.bytes_wire = self._run.bytes_wire
        return progress

    @property
    def problems(self) -> Problems:
        """Exact counts by code, and samples: five a code and document."""
        return self._ledger.problems

    @property
    def outcomes(self) -> list[Outcome]:
        """One for each document that has come to its end."""
        return self._ledger.outcomes

    @property
    def complete(self) -> bool:
        """Whether nothing is missing in what was read so far."""
        return self._ledger.complete

    @property
    def summary(self) -> Summary:
        """The numbers so far; str() makes them a line."""
        self._ledger.pruned = self._run.frontier.pruned
        return self._ledger.summary()

    def raise_for_partial(self) -> None:
        """Raises PartialRead, with the outcomes, if anything is missing."""
        missing = self.summary.partial_line()
        if missing:
            raise PartialRead(f"{self._target}: {missing}", self.outcomes)

    def _take(self, batch: Batch) -> list[UrlRecord]:
        now = time.monotonic()
        self._started = self._started or now
        self._ledger.seconds = now - self._started
        return self._ledger.take(batch)

    def _end(self) -> None:
        """What a walk that was left early has still to say."""
        self._take([*self._run.frontier.abandon()])

    def _counted(self, records: list[UrlRecord]) -> Iterator[UrlRecord]:
        for record in records:
            self._ledger.progress.urls += 1
            yield record

    def _raise_verdict(self) -> None:
        self._ledger.pruned = self._run.frontier.pruned
        verdict = self._ledger.verdict(self._target)
        if verdict is not None:
            raise verdict


class _Carried(Exception):
    """What a function of the caller's raised in the middle of a walk, on its way out."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def carried(function: Callable[[Argument], Result]) -> Callable[[Argument], Result]:
    """Wraps what is called inside a walk: what it raises comes out of batches_of() as it is, whoever it passes.

    asyncio would take a KeyboardInterrupt for one of its own, and end the loop before anything is closed; a
    CancelledError would end a task that nobody cancelled; a FetchError would pass for the network's.
    """

    def call(argument: Argument) -> Result:
        try:
            return function(argument)
        except BaseException as error:
            raise _Carried(error) from error

    return call


@attrs.define
class Listening:
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


async def batches_of(run: Run) -> AsyncGenerator[Batch, None]:
    """Its batches. What ends it is the first failure itself, not what tasks and carried() wrap it in.

    It is raised where nothing else is being handled, so that its cause and context stay what they are.
    """
    failure: BaseException | None = None
    async with aclosing(run.batches()) as batches:
        try:
            async for batch in batches:
                yield batch
        except (BaseExceptionGroup, _Carried) as error:
            failure = _first(error)
    if failure is not None:
        raise failure


def _first(failure: BaseException) -> BaseException:
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure.error if isinstance(failure, _Carried) else failure


class AsyncUrlStream(_Told):
    """UrlRecords by `async for`; leaving its block cancels what is still on its way.

    At the end it raises NothingFound or NothingReadable where there was not one URL.
    """

    def __init__(self, target: str, run: Run, ledger: Ledger) -> None:
        super().__init__(target, run, ledger)
        self._records = self._read()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[UrlRecord]:
        return self._records

    async def close(self) -> None:
        """Cancels every request of this stream."""
        await self._records.aclose()  # type: ignore[attr-defined]

    async def _read(self) -> AsyncIterator[UrlRecord]:
        self._started = time.monotonic()
        try:
            async with aclosing(batches_of(self._run)) as batches:
                async for batch in batches:
                    for record in self._counted(self._take(batch)):
                        yield record
        finally:
            self._end()
        self._raise_verdict()


class UrlStream(_Told):
    """UrlRecords by `for`, once; a context manager whose end cancels what is on its way and joins the reading thread.

    At the end it raises NothingFound or NothingReadable where there was not one URL.
    """

    def __init__(
        self,
        target: str,
        run: Run,
        ledger: Ledger,
        close: Callable[[], Awaitable[None]],
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(target, run, ledger)
        # The thread knows the run, never this stream: one that is dropped without being closed is closed by that.
        self._batches = _Bridge(partial(_pump, run, close), on_wait)
        self._records = self._read()
        weakref.finalize(self, self._batches.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[UrlRecord]:
        return self._records

    def close(self) -> None:
        """Cancels every request of this stream and joins its thread; may be called from any thread, and twice."""
        self._batches.close()
        try:
            self._records.close()
        except ValueError as error:
            if error.__traceback__ and error.__traceback__.tb_next:  # out of the generator: the caller's own
                raise
            # Another thread is taking a record: its next one is the end.

    def _read(self) -> Generator[UrlRecord, None, None]:
        self._started = time.monotonic()
        try:
            for batch in self._batches:
                yield from self._counted(self._take(batch))
        finally:
            self._batches.close()
            self._end()
        if not self._batches.was_cancelled:
            self._raise_verdict()


async def _pump(run: Run, close: Callable[[], Awaitable[None]], put: Callable[[Batch], Awaitable[None]]) -> None:
    try:
        async with aclosing(run.batches()) as batches:
            async for batch in batches:
                await put(batch)
    finally:
        await close()


class _Bridge:
    """Batches out of a loop in a thread of its own, a few at a time: what is not taken makes the loop wait."""

    def __init__(
        self,
        pump: Callable[[Callable[[Batch], Awaitable[None]]], Awaitable[None]],
        on_wait: Callable[[], None] | None,
    ) -> None:
        self._pump = pump
        self._on_wait = on_wait
        self._queue: SimpleQueue[Batch | BaseException | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._credits: asyncio.Semaphore | None = None
        self._closing = threading.Event()
        self.was_cancelled = False

    def __iter__(self) -> Iterator[Batch]:
        thread = threading.Thread(target=self._work, name="sitemap-reader", daemon=True)
        thread.start()
        self._thread = thread  # only now: who closes this from another thread joins it
        while (batch := self._next()) is not None:
            if isinstance(batch, BaseException):
                raise _first(batch)  # only here: it is nothing to the loop in the thread either
            if self._loop and self._credits:
                self._soon(self._credits.release)
            yield batch

    def _next(self) -> Batch | BaseException | None:
        """The next of the queue; a consumer that has to wait hears of it a few times a second."""
        while self._on_wait:
            try:
                return self._queue.get(timeout=_WAIT_SECONDS)
            except Empty:
                self._on_wait()
        return self._queue.get()

    def close(self) -> None:
        """Ends the loop, whatever it is doing, and waits for the thread. May be called twice."""
        self._closing.set()
        if self._thread is None:
            return
        if self._task is not None:
            self._soon(self._task.cancel)
        if self._thread is not threading.current_thread():  # the collector may run anywhere
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
        self._credits = asyncio.Semaphore(_WAITING_BATCHES)
        self._task = asyncio.current_task()
        if not self._closing.is_set():
            await self._pump(self._put)

    async def _put(self, batch: Batch) -> None:
        assert self._credits is not None  # noqa: S101 - for the type checker: _main() made it
        await self._credits.acquire()
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

    thread = threading.Thread(target=work, name="sitemap-reader", daemon=True)
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
