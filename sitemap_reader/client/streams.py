"""Streams of URL records, of changes and of batches, for `async for` and, over a thread, for `for`.

A change counts as delivered when the next one is requested; a document is committed when all its changes are. With
ack="manual" nothing is committed but by commit().

Bridge runs a coroutine on an event loop in a thread, for callers without one or inside a running one: in a thread of
its own, or in the LoopThread of a Reader.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import aclosing, closing, contextmanager, nullcontext, suppress
from contextvars import copy_context
from datetime import UTC, datetime
from functools import partial
from inspect import GEN_CLOSED, GEN_RUNNING, getgeneratorstate
from itertools import chain
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import attrs

from ..model.errors import PartialRead, UsageError
from ..model.records import Change, ChangeCounts
from ..pipeline.crawl import WAITING_BATCHES, first_failure
from ..pipeline.executor import ThreadPool
from ..serialize.jsonl import changes_of

if TYPE_CHECKING:
    import pyarrow as pa

    from ..frontier.robots_rules import Rules
    from ..model.errors import ReadError
    from ..model.problems import Problems
    from ..model.records import Outcome, UrlRecord
    from ..model.summary import Summary
    from ..model.url_batch import BatchItem, UrlBatch
    from ..pipeline.crawl import Crawl
    from ..pipeline.document_parser import Batch
    from ..state.diff_rules import ChangePiece
    from ..state.documents import StoredDocument
    from ..state.sync import StateSync
    from .progressbar import ProgressBar
    from .summary import Progress, SummaryBuilder


Result = TypeVar("Result")
Answer = TypeVar("Answer")

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


class LoopThread:
    """An event loop in a thread for several Bridges, from the first one to close(); `end` is awaited before its end."""

    def __init__(self, end: Callable[[], Awaitable[None]]) -> None:
        self._end = end
        self._thread = threading.Thread(target=self._work, name=THREADS, daemon=True)
        self._starting = threading.RLock()  # a signal handler may close it
        self._is_ready = threading.Event()
        self.is_closed = False
        self._error: BaseException | None = None  # for which there is no loop
        self._loop: asyncio.AbstractEventLoop
        self._closing: asyncio.Event

    def call(self, function: Callable[[], object]) -> None:
        """Calls a function in the loop, soon, with the contextvars of the caller; UsageError once it is closed."""
        with self._starting:  # also while the call is added: the loop may not end before
            if self.is_closed:
                raise UsageError("this Reader is closed: make another one")
            if self._thread.ident is None:
                self._thread.start()
            elif not self._thread.is_alive():
                raise UsageError("the thread of this Reader is in another process: make a Reader in each")
            self._is_ready.wait()
            if self._error is not None:
                raise self._error
            self._loop.call_soon_threadsafe(function)

    def _work(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:
            self._error = error
            self._is_ready.set()

    async def _main(self) -> None:
        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        self._is_ready.set()
        await self._closing.wait()
        await self._end()

    def close(self) -> None:
        """Cancels the tasks, and joins the thread. May be called twice, and by the garbage collector."""
        with self._starting:
            was_closed, self.is_closed = self.is_closed, True
        if not self._thread.is_alive():
            return
        if not was_closed:
            self._is_ready.wait()
            if self._error is None:
                self._loop.call_soon_threadsafe(self._closing.set)
        join(self._thread)


class _LoopTask:
    """A task in a LoopThread, with the methods of a thread of its own; `on_end` is called in the loop."""

    def __init__(self, loop: LoopThread, main: Callable[[], Coroutine[Any, Any, None]], on_end: Callable[[], object]):
        self._loop = loop
        self._main = main
        self._on_end = on_end
        self._is_running = False
        self._has_ended = threading.Event()

    def start(self) -> None:
        self._loop.call(self._start)
        self._is_running = True

    def _start(self) -> None:
        asyncio.create_task(self._main()).add_done_callback(self._note_end)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._on_end()  # it may have been cancelled before it began
        self._has_ended.set()

    def is_alive(self) -> bool:
        return self._is_running and not self._has_ended.is_set()

    def join(self) -> None:
        self._has_ended.wait()


def join(thread: threading.Thread | _LoopTask) -> None:
    """Waits for the end of a thread, but not in one of this package: the collector may run there, and it may wait."""
    if not threading.current_thread().name.startswith(THREADS):
        thread.join()


class Bridge(Generic[Result]):
    """Passes batches from an event loop in a thread to a consumer; with 4 in the queue, the loop waits.

    `loop` is one that others use, too; by default it has a thread of its own.
    """

    def __init__(
        self,
        pump: Callable[[Callable[[Result], Awaitable[None]]], Awaitable[None]],
        stop: Callable[[], object] | None = None,
        loop: LoopThread | None = None,
    ) -> None:
        self._pump = pump
        self._stop = stop  # ends it in order; without it, its task is cancelled
        self._shared_loop = loop
        self._queue: TimedQueue[Result | None] = TimedQueue()  # None at the end
        self._error: BaseException | None = None  # that ended the pump, and was not raised yet
        self._thread: threading.Thread | _LoopTask | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._was_taken: asyncio.Event | None = None  # while a put() waits: set when a batch is taken
        self._putting = asyncio.Lock()
        self._closing = threading.Event()
        self.was_cancelled = False

    def batches(self, on_wait: Callable[[], None]) -> Iterator[Result]:
        """The batches, once; `on_wait` is called every 0.2 s while there is none."""
        thread: threading.Thread | _LoopTask
        if self._shared_loop is not None:
            thread = _LoopTask(self._shared_loop, self._main, on_end=lambda: self._queue.put(None))
        else:
            # The caller's context: a trace of the requests has the span around this loop as its parent.
            thread = threading.Thread(target=copy_context().run, args=(self._work,), name=THREADS, daemon=True)
        try:
            thread.start()
        finally:
            if thread.is_alive():  # start() may be interrupted: without a thread there is nothing to join
                self._thread = thread
        while (batch := self._next(on_wait)) is not None:
            if (was_taken := self._was_taken) is not None:  # waking the loop each time would dominate the cost
                self.call(was_taken.set)
            yield batch
        self.raise_error()

    def raise_error(self) -> None:
        """Raises what ended the pump, in a thread of the caller; once."""
        error, self._error = self._error, None
        if error is not None:
            raise first_failure(error)

    def _next(self, on_wait: Callable[[], None]) -> Result | None:
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
        if self._thread is not None:
            join(self._thread)

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def call(self, function: Callable[[], object]) -> None:
        """Calls a function in the loop, soon, unless that has ended."""
        with suppress(RuntimeError):  # the loop has ended
            if self._loop is not None:
                self._loop.call_soon_threadsafe(function)

    def ask(self, question: Callable[[], Answer]) -> Answer:
        """The result of a call in the loop; in this thread if that is the one of the loop, or there is none."""
        answer: Future[Answer] = Future()

        def give() -> None:
            try:
                answer.set_result(question())
            except BaseException as error:
                answer.set_exception(error)

        if threading.current_thread() is not self._thread:
            self.call(give)
            while self.is_running:
                with suppress(TimeoutError):
                    return answer.result(_WAIT_SECONDS)
        return question()

    def _work(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:
            if self._loop is None:  # else _main() has noted how it ended
                self._end(error)

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        try:
            if self._closing.is_set():  # closed before there was a task to cancel
                raise asyncio.CancelledError
            await self._pump(self._put)
        except asyncio.CancelledError:
            self.was_cancelled = True
            self._end()
        except BaseException as error:
            self._end(error)
        else:
            self._end()

    def _end(self, error: BaseException | None = None) -> None:
        if type(error) is RuntimeError and not threading.main_thread().is_alive():
            # Python starts no thread any more, of which the state and the parser need some.
            remedy = "join the thread that reads, so that the main thread ends last"
            self._error = UsageError("the main thread has ended, and with it what reading needs", remedy=remedy)
            self._error.__cause__ = error
        else:
            self._error = error
        self._queue.put(None)

    async def _put(self, batch: Result) -> None:
        async with self._putting:  # many documents put their batches
            self._was_taken = asyncio.Event()  # before qsize(): a batch taken from here on sets it
            if self._queue.qsize() >= WAITING_BATCHES:
                await self._was_taken.wait()
            self._was_taken = None
            self._queue.put(batch)


Output = TypeVar("Output")  # the type of item that a stream yields

# The error of a second pass, and of one over a stream that was closed.
_ENDED = "this stream was read to its end or closed: keep list(stream) for a second pass, or ask for another stream"

_BEGUN = "this stream is being read: ask for its batches() or its arrow() at first, or for another stream"

# How often the progress bar of an async stream is drawn.
_TICK_SECONDS = 0.2


@attrs.define(eq=False)
class CrawlRun:
    """What all streams do with a Crawl: take its batches, count the URLs, report progress, raise at the end."""

    # It holds no reference to its stream, so that a stream is closed as soon as it is garbage.
    target: str
    crawl: Crawl
    summary_builder: SummaryBuilder
    on_progress: Callable[[Progress], None] | None = None
    bar: ProgressBar | None = None
    started: float = 0.0  # of the monotonic clock
    began: datetime | None = None
    has_ended: bool = False  # read to its end

    def progress(self) -> Progress:
        progress, frontier = self.summary_builder.progress, self.crawl.frontier
        progress.documents_done, progress.documents_known = frontier.documents_done, frontier.documents_known
        progress.bytes_wire, progress.delay = self.crawl.bytes_wire, self.crawl.delay()
        progress.retries, progress.waits = frontier.retries, self.crawl.waits()
        return progress

    def summary(self) -> Summary:
        self._add_pruned()
        return attrs.evolve(self.summary_builder.summary(), stopped=self.is_stopped)

    @property
    def is_stopped(self) -> bool:
        """Whether it has not come to its end, nor to its `limit`."""
        is_at_end = self.has_ended and not self.crawl.is_cut
        return not (is_at_end or self.summary_builder.is_full)

    @property
    def complete(self) -> bool:
        """Whether it came to its end, or its `limit`, and each document was read whole."""
        return self.summary_builder.complete and not self.is_stopped

    def _add_pruned(self) -> None:
        frontier = self.crawl.frontier
        self.summary_builder.pruned, self.summary_builder.checked = frontier.pruned, frontier.checked
        self.summary_builder.since = frontier.plan.selection.window.since

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A context around the whole run; at its end the last items of a frontier that stopped early are recorded."""
        self.started, self.began = time.monotonic(), datetime.now(UTC)
        with self.bar or nullcontext():
            try:
                yield
            finally:
                for batch in self.crawl.abandon():
                    self.record(batch)

    def record(self, items: Iterable[BatchItem]) -> list[UrlBatch]:
        """The UrlBatches; all other items are recorded, and passed to the callbacks."""
        self.summary_builder.seconds = time.monotonic() - self.started
        return self.summary_builder.record(items)

    # What a stream yields for a batch, and at its end for None; then progress is reported. A URL is counted when it is
    # yielded: a stream that is left has counted no more.

    def pieces(self, batch: Batch | None) -> Iterator[Any]:
        yield from map(self.summary_builder.count_batch, self.record(batch or ()))
        self.report_progress()

    def records(self, batch: Batch | None) -> Iterator[Any]:
        """The items of urls() or changes()."""
        return chain.from_iterable(self.parts(batch))

    def lists(self, batch: Batch | None) -> Iterator[list[Any]]:
        """The same as lists; those of changes are committed one by one."""
        return filter(None, map(list, self.parts(batch)))

    def items(self, batch: Batch | None) -> Iterator[Batch]:
        if batch is not None:
            self.count(batch)
            yield batch
        self.report_progress()

    def count(self, batch: Batch) -> None:
        """Counts the URLs of a batch without yielding them; records its other items."""
        self.summary_builder.progress.urls += sum(map(len, self.record(batch)))

    def parts(self, batch: Batch | None) -> Iterator[Iterable[Any]]:
        """What urls() or changes() yields, as iterables, of which an AsyncStream takes each by next_part()."""
        yield self._counted_records(batch)

    def _counted_records(self, batch: Batch | None) -> Iterator[UrlRecord]:
        for urls in self.record(batch or ()):
            for record in urls.records():
                if self.summary_builder.count_url(record.loc):
                    yield record
        self.report_progress()

    def deliver_lists(self) -> None:
        """The stream yields lists(); called before the first batch."""

    async def next_part(self, parts: Iterator[Iterable[Any]]) -> Iterable[Any] | None:
        return next(parts, None)

    async def close(self) -> None:
        """Ends what next_part() uses."""

    def release(self) -> None:
        """Ends what the run holds beside the crawl, once its stream is closed. May be called twice."""

    def report_progress(self) -> None:
        self.show_progress()
        if self.on_progress is not None:
            self.on_progress(attrs.evolve(self.progress()))  # a copy: the caller may keep it

    def show_progress(self) -> None:
        if self.bar is not None:
            self.bar(self.progress())

    def verdict(self) -> ReadError | None:
        self._add_pruned()
        return self.summary_builder.verdict(self.target)

    def end(self) -> None:
        """The run came to its end: reports progress a last time, and raises the verdict if there is one."""
        self.has_ended = True
        self.report_progress()
        verdict = self.verdict()
        if verdict is not None and not self.crawl.is_stopped:
            raise verdict


class StreamInfo:
    """What streams have beside their items."""

    _run: CrawlRun
    _generator: AsyncGenerator[Any, None] | Generator[Any, None, None] | None = None

    def _is_over(self) -> bool:
        """Whether it was read to its end, or closed."""
        raise NotImplementedError

    def _check_unread(self) -> None:
        """UsageError if it is being read, or was."""
        if self._generator is not None:
            raise UsageError(_ENDED if self._is_over() else _BEGUN)

    def __repr__(self) -> str:
        start = f"<{type(self).__name__} of {self._run.target}"
        if self._generator is None:
            return f"{start}, not begun>"
        if self._is_over():
            return f"{start}, ended: {self.summary}>"
        return f"{start}, under way: {attrs.evolve(self.summary, stopped=False)}>"

    @property
    def progress(self) -> Progress:
        """The numbers of documents, URLs and bytes so far."""
        return self._run.progress()

    @property
    def problems(self) -> Problems:
        """Exact counts by code, and samples: five per code and document; with those callbacks 1,000 per code."""
        return self._run.summary_builder.problems

    @property
    def outcomes(self) -> list[Outcome]:
        """One for each document that has ended.

        With `on_outcome` or `on_item`, which get all of them, the first 1,000, and 1,000 more that are not complete.
        """
        return self._run.summary_builder.outcomes

    @property
    def complete(self) -> bool:
        """Whether the stream was read to its end, or its `limit`, and each document whole.

        False before the end: in the loop, and behind one that was left by `break`, even at the last item.
        """
        return self._run.complete

    @property
    def summary(self) -> Summary:
        """The numbers so far; str() makes them a line, which says `stopped` before the end of the stream."""
        return self._run.summary()

    def raise_for_partial(self) -> None:
        """Raises PartialRead, with the outcomes, if anything is missing: a document, or the end of the stream."""
        missing = self.summary.missing()
        if missing:
            raise PartialRead(f"{self._run.target}: {missing}", self.outcomes)

    def rules(self, url: str) -> Rules | None:
        """The rules of the robots.txt of the URL's host; None if it was not read."""
        return self._run.crawl.frontier.policy.rules(url)


class AsyncStream(StreamInfo, Generic[Output]):
    """Items for one `async for`; the end of its `async with` block cancels the pending requests.

    Changes that were not delivered until then are rolled back. A stream without one sitemap ends by raising
    NothingFound or NothingReadable. UsageError for a pass over a stream that has ended, or is closed.
    """

    def __init__(self, run: CrawlRun) -> None:
        self._run = run
        self._generator: AsyncGenerator[Any, None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[Output]:
        if self._generator is None:
            self._generator = _read_async(self._run)
        if self._is_over():
            raise UsageError(_ENDED)
        return self._generator

    def _is_over(self) -> bool:
        # inspect.getasyncgenstate() is new in Python 3.12.
        return self._generator is not None and self._generator.ag_frame is None  # type: ignore[attr-defined]

    async def __anext__(self) -> Output:
        return await anext(self._generator or aiter(self))

    def batches(self) -> AsyncIterator[list[Output]]:
        """The same items as lists, as they come, for one `async for`: see Stream.batches()."""
        self._check_unread()
        self._generator = _read_async(self._run, as_lists=True)
        return self._generator

    async def close(self) -> None:
        """Cancels every request of this stream, and releases its state. May be called twice."""
        self._generator = self._generator or _read_async(self._run)
        await self._generator.aclose()
        self._run.release()

    aclose = close  # for contextlib.aclosing()


async def _read_async(run: CrawlRun, *, as_lists: bool = False) -> AsyncGenerator[Any, None]:
    if as_lists:
        run.deliver_lists()
    with run.reading(), ticking(run) if run.bar else nullcontext():
        try:
            async with aclosing(run.crawl.batches()) as batches:
                batch: Batch | None = []
                while batch is not None:
                    batch = await anext(batches, None)
                    parts = run.lists(batch) if as_lists else run.parts(batch)
                    while (part := await run.next_part(parts)) is not None:
                        for item in [part] if as_lists else part:
                            yield item
                    if run.summary_builder.is_full:
                        return
        finally:
            await run.close()
    run.end()


@contextmanager
def ticking(run: CrawlRun) -> Iterator[None]:
    """Draws the bar while no batch arrives; a notebook handles an interrupt only while its loop is busy."""
    loop = asyncio.get_running_loop()
    handle: asyncio.Handle

    def tick() -> None:
        nonlocal handle
        run.show_progress()
        handle = loop.call_later(_TICK_SECONDS, tick)

    handle = loop.call_soon(tick)
    try:
        yield
    finally:
        handle.cancel()


class Stream(StreamInfo, Generic[Output]):
    """Items for one `for`; the end of its `with` block cancels the pending requests and joins the reading thread.

    Changes that were not delivered until then are rolled back. A stream without one sitemap ends by raising
    NothingFound or NothingReadable. UsageError for a pass over a stream that has ended, or is closed.
    """

    def __init__(
        self,
        run: CrawlRun,
        close: Callable[[], Awaitable[None]] | None = None,
        on_wait: Callable[[], None] | None = None,
        *,
        view: Callable[[Any, Batch | None], Iterator[Output]] = CrawlRun.records,
        loop: LoopThread | None = None,
    ) -> None:
        """`close` ends what the stream owns beside its run; `view` yields what a batch adds, and what follows the last.

        `loop` is the one of a Reader.
        """
        self._run = run
        self._bridge = Bridge(partial(_pump, run.crawl, close), loop=loop)
        self._on_wait = on_wait
        self._view = view
        self._generator: Generator[Any, None, None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Output]:
        if self._generator is None:
            self._begin(self._view)
        return self._not_ended()

    def __next__(self) -> Output:
        return next(self._generator or iter(self))

    def batches(self) -> Iterator[list[Output]]:
        """The same items as lists, as they come, for one `for`.

        Of changes() a list has those of one sitemap, of a large one 50,000 at most, or removed URLs. It counts as
        delivered, and is committed, when the next one is requested, or at the end of the loop. UsageError in a stream
        that is being read.
        """
        self._check_unread()
        self._run.deliver_lists()
        self._begin(CrawlRun.lists)
        return self._not_ended()

    def arrow(self) -> pa.RecordBatchReader:
        """The same items as a pyarrow.RecordBatchReader, as they come, with the columns of `dump --format parquet`.

        DuckDB, polars and pandas take it, or a loop, which gets RecordBatches. Those of changes() have the columns of a
        change, and count as delivered when the next one is requested. UsageError in a stream that is being read, and
        without pyarrow.
        """
        from ..serialize.arrow import record_batches

        self._check_unread()
        return record_batches(pieces_of(self), of_changes=isinstance(self._run, ChangeRun))

    def _begin(self, view: Callable[[Any, Batch | None], Iterator[Any]]) -> Generator[Any, None, None]:
        self._generator = _read(self._run, self._bridge, partial(view, self._run), self._on_wait)
        # At interpreter exit the thread has to end before the modules that it uses.
        weakref.finalize(self._generator, self._bridge.close)
        return self._generator

    def _not_ended(self) -> Iterator[Any]:
        if self._generator is None or self._is_over():
            raise UsageError(_ENDED)
        return self._generator

    def _is_over(self) -> bool:
        return self._generator is not None and getgeneratorstate(self._generator) == GEN_CLOSED

    def close(self) -> None:
        """Cancels every request, joins the thread, releases the state; may be called from any thread, and twice."""
        self._bridge.close()
        generator = self._generator or self._begin(self._view)
        if getgeneratorstate(generator) == GEN_RUNNING:  # another thread is in next(), which ends the stream
            return  # closing a generator that runs has been seen to crash CPython 3.11
        try:
            generator.close()
        except ValueError as error:
            if error.__traceback__ and error.__traceback__.tb_next:  # raised in the generator, by the caller's code
                raise
            return  # another thread has entered next() since
        self._run.release()


def pieces_of(stream: Stream[Any]) -> Iterator[UrlBatch | list[Change]]:
    """What urls() and changes() yield, many at a time; of a stream that is being read the rest, one by one."""
    if stream._generator is not None:
        return iter(stream)
    stream._run.deliver_lists()
    return stream._begin(type(stream._run).pieces)


def _read(
    run: CrawlRun,
    bridge: Bridge[Batch],
    view: Callable[[Batch | None], Iterator[Any]],
    on_wait: Callable[[], None] | None,
) -> Generator[Any, None, None]:
    def wait() -> None:
        run.report_progress()
        if on_wait is not None:
            on_wait()

    with run.reading(), closing(bridge):
        batches = bridge.batches(wait)
        batch: Batch | None = []
        while batch is not None:
            batch = next(batches, None)
            if batch is None and bridge.was_cancelled:
                return
            yield from view(batch)
            if run.summary_builder.is_full:
                return
    run.end()


async def _pump(
    crawl: Crawl, close: Callable[[], Awaitable[None]] | None, put: Callable[[Batch], Awaitable[None]]
) -> None:
    try:
        await crawl.run(put)
    finally:
        if close is not None:
            await close()


# --- changes -----------------------------------------------------------------------------------------------------


@attrs.define(eq=False)
class ChangeRun(CrawlRun):
    """A CrawlRun whose batches are compared with a state, by SQLite in a thread beside an event loop."""

    state_sync: StateSync = attrs.field(kw_only=True)
    on_document: Callable[[StoredDocument], None] | None = attrs.field(default=None, kw_only=True)
    # In an AsyncStream it is awaited before the changes yielded so far count as delivered.
    before_delivery: Callable[[], Awaitable[None]] | None = attrs.field(default=None, kw_only=True)
    has_committed_all: bool = attrs.field(default=False, init=False)
    _thread: ThreadPool = attrs.field(factory=partial(ThreadPool, "sitemap-reader-state"), kw_only=True)

    @property
    def is_manual(self) -> bool:
        """Whether the caller commits."""
        return self.state_sync.plan.ack == "manual"

    @contextmanager
    def reading(self) -> Iterator[None]:
        with nullcontext() if self.is_manual else closing(self.state_sync), CrawlRun.reading(self):
            yield

    def pieces(self, batch: Batch | None) -> Iterator[ChangePiece]:
        """The changes that a batch shows; for None removals, which are known at the end only."""
        if batch is not None:
            self.count(batch)
            yield from self.state_sync.take(batch, self.on_document)
        elif self.crawl.is_cut:
            self.state_sync.suspend_removals()
        else:
            yield from self.state_sync.finish(lambda problem: self.count([problem]))
        self.report_progress()

    def parts(self, batch: Batch | None) -> Iterator[Iterable[Change]]:
        return map(changes_of, self.pieces(batch))

    async def next_part(self, parts: Iterator[Iterable[Change]]) -> Iterable[Change] | None:
        if self.before_delivery is not None:
            await self.before_delivery()
        return await self._thread.run(next, parts, None)

    async def close(self) -> None:
        await self._thread.close()

    def deliver_lists(self) -> None:
        self.state_sync.deliver_documents()

    def commit(self) -> None:
        if not self.is_manual:
            raise UsageError('commit() is for changes(…, ack="manual"); without it changes are committed as they come')
        if self.has_committed_all:
            return
        if not self.state_sync.is_open:
            reason = "this stream is closed, and what was not committed was rolled back"
            raise UsageError(reason, remedy="call commit() inside the with block")
        self.state_sync.commit()
        if self.has_ended:
            self.has_committed_all = True
            self.release()

    async def commit_in_thread(self) -> None:
        await self._thread.run(self.commit)
        if self.has_ended:
            await self._thread.close()

    def release(self) -> None:
        self.state_sync.close()

    def verdict(self) -> ReadError | None:
        """As in CrawlRun, but None if there was any change."""
        return None if any(attrs.astuple(self.state_sync.counts)) else CrawlRun.verdict(self)


class ChangeInfo(StreamInfo):
    """What streams of changes also have."""

    _run: ChangeRun

    @property
    def counts(self) -> ChangeCounts:
        """How many URLs were found to be new, updated and removed, so far."""
        return self._run.state_sync.counts

    @property
    def removals_suspended(self) -> bool:
        """Whether removals were left undecided, as a document could not be read whole, or the time was over."""
        return self._run.state_sync.removals_suspended


class AsyncChangeStream(ChangeInfo, AsyncStream[Change]):
    """The AsyncStream of SitemapReader.changes()."""

    async def commit(self) -> None:
        """Commits to the state that the changes so far were delivered: see ChangeStream.commit()."""
        await self._run.commit_in_thread()


class ChangeStream(ChangeInfo, Stream[Change]):
    """The Stream of changes()."""

    def commit(self) -> None:
        """Commits to the state that the changes so far were delivered; for `ack="manual"`, in the thread of the loop.

        The sitemap whose changes are being delivered is committed as a whole: with its last list of batches() in hand,
        or, of single changes, by the first call after the change that follows its last one, or after the end of the
        loop. Until then its changes come again after a kill. The end of the `with` block rolls back the rest. Nothing
        happens in a dry run. UsageError without `ack="manual"`, and on a closed stream, unless all was committed.
        """
        self._run.commit()


class PieceStream(ChangeInfo, Stream["ChangePiece"]):
    """The changes of a ChangeStream many at a time, new URLs as UrlBatches."""
