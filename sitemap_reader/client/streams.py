"""Streams of URL records and of changes, for `async for` and, over a thread, for `for`.

In: a Crawl, and for changes a StateSync. Out: records or changes one by one, or JSON lines; beside them progress,
problems, outcomes and a summary. A stream that ends without any URL raises the reason. Closing a stream cancels its
requests. A change counts as delivered when the next one is requested; a document is committed when all its changes are
delivered.
"""

from __future__ import annotations

import asyncio
import sys
import time
import weakref
from contextlib import aclosing, closing, contextmanager, nullcontext
from functools import partial
from inspect import GEN_CLOSED, GEN_RUNNING, getgeneratorstate
from typing import TYPE_CHECKING, Generic, Self

import attrs

from ..model.errors import PartialRead, UsageError
from ..model.records import Change, UrlRecord
from ..parser.url_batch import UrlBatch
from ..pipeline.document_parser import UrlGroup
from ..pipeline.thread_pool import ThreadPool
from ..serialize.jsonl import Lines, from_json, joined, json_line, new_lines, new_lines_of
from .summary import Output
from .thread_bridge import Bridge, CallbackError, first_failure

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
    from types import TracebackType

    from ..frontier.robots_rules import Rules
    from ..model.errors import ReadError
    from ..model.problems import Problem
    from ..model.records import ChangeCounts, Outcome
    from ..pipeline.crawl import Crawl
    from ..pipeline.document_parser import Batch
    from ..state.diff_rules import ChangePiece
    from ..state.documents import StoredDocument
    from ..state.sync import StateSync
    from .progressbar import ProgressBar
    from .summary import Problems, Progress, Summary, SummaryBuilder


# The error of a second pass, and of one over a stream that was closed.
_ENDED = "this stream was read to its end or closed: keep list(stream) for a second pass, or ask for another stream"

# How often the progress bar of an async stream is drawn.
_TICK_SECONDS = 0.2


@attrs.define(eq=False)
class CrawlRun:
    """What all streams do with a Crawl: take its batches, count the records, report progress, raise at the end.

    It holds no reference to its stream, so that a stream is closed as soon as it is garbage.
    """

    target: str
    crawl: Crawl
    summary_builder: SummaryBuilder
    on_progress: Callable[[Progress], None] | None = None
    bar: ProgressBar | None = None
    started: float = 0.0

    def progress(self) -> Progress:
        """The numbers so far."""
        progress, frontier = self.summary_builder.progress, self.crawl.frontier
        progress.documents_done, progress.documents_known = frontier.documents_done, frontier.documents_known
        progress.bytes_wire, progress.delay = self.crawl.bytes_wire, self.crawl.delay()
        return progress

    def summary(self) -> Summary:
        self._add_pruned()
        return self.summary_builder.summary()

    def _add_pruned(self) -> None:
        """Copies what the frontier skipped, and why, into the summary."""
        frontier = self.crawl.frontier
        self.summary_builder.pruned, self.summary_builder.checked = frontier.pruned, frontier.checked
        self.summary_builder.since = frontier.plan.selection.window.since

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A context around the whole run; at its end the last items of a frontier that stopped early are recorded."""
        self.started = time.monotonic()
        with self.bar or nullcontext():
            try:
                yield
            finally:
                self.take([*self.crawl.frontier.abandon()], UrlRecord)

    def records(self, batch: Batch) -> Iterator[UrlRecord]:
        """The URL records of a batch, each counted when it is yielded; then progress is reported."""
        for record in self.take(batch, UrlRecord):
            if self.summary_builder.count_url(record):
                yield record
        self.report_progress()

    def lines(self, batch: Batch) -> Iterator[Lines]:
        """The JSON lines of a batch, counted likewise, for a run with as_lines."""
        for lines in self.take(batch, Lines):
            yield self.summary_builder.count_lines(lines)
        self.report_progress()

    def items(self, batch: Batch) -> Iterator[Batch]:
        """The batch itself, with its URLs counted."""
        self.count(batch)
        yield batch
        self.report_progress()

    def count(self, batch: Batch) -> None:
        """Counts the URLs of a batch without yielding them; records its other items."""
        self.take(batch, UrlRecord)
        self.summary_builder.progress.urls += sum(
            item.urls if isinstance(item, UrlGroup) else isinstance(item, UrlRecord) for item in batch
        )

    def report_progress(self) -> None:
        """To the progress bar and the on_progress callback."""
        self.show_progress()
        if self.on_progress is not None:
            self.on_progress(attrs.evolve(self.progress()))  # a copy: the caller may keep it

    def show_progress(self) -> None:
        """To the progress bar."""
        if self.bar is not None:
            self.bar(self.progress())

    def verdict(self) -> ReadError | None:
        """The error to raise at the end of a run without any URL; None if there is none to raise."""
        self._add_pruned()
        return self.summary_builder.verdict(self.target)

    def raise_verdict(self) -> None:
        """Reports progress a last time, and raises the verdict if there is one."""
        self.report_progress()
        verdict = self.verdict()
        if verdict is not None:
            raise verdict

    def take(self, batch: Batch, output: type[Output]) -> list[Output]:
        """The items of type `output` in a batch; all others are recorded, and passed to the callbacks."""
        self.summary_builder.seconds = time.monotonic() - self.started
        return self.summary_builder.take(batch, output)


class Stream:
    """What all streams have beside the records."""

    _run: CrawlRun

    @property
    def progress(self) -> Progress:
        """The numbers of documents, URLs and bytes so far."""
        return self._run.progress()

    @property
    def problems(self) -> Problems:
        """Exact counts by code, and samples: five per code and document."""
        return self._run.summary_builder.problems

    @property
    def outcomes(self) -> list[Outcome]:
        """One for each document that has ended."""
        return self._run.summary_builder.outcomes

    @property
    def complete(self) -> bool:
        """Whether every document so far was read whole."""
        return self._run.summary_builder.complete

    @property
    def summary(self) -> Summary:
        """The numbers so far; str() makes them a line."""
        return self._run.summary()

    def raise_for_partial(self) -> None:
        """Raises PartialRead, with the outcomes, if anything is missing."""
        missing = self.summary.missing()
        if missing:
            raise PartialRead(f"{self._run.target}: {missing}", self.outcomes)


class _Batches:
    """The batches of a crawl, for `async for`; a failure of the crawl is raised without the groups around it.

    At the end of a loop asyncio closes all async generators at once that its hooks have seen start. One inside another
    would be closed twice, so this is no generator, and the hooks are off while the crawl's own generator starts.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._batches = crawl.batches()

    def __aiter__(self) -> AsyncIterator[Batch]:
        return self

    async def __anext__(self) -> Batch:
        try:
            return await self._next()
        except (BaseExceptionGroup, CallbackError) as error:
            failure = first_failure(error)
        raise failure  # outside of the except block: it keeps its own cause and context

    async def aclose(self) -> None:
        """Cancels the pending requests."""
        await self._batches.aclose()

    def _next(self) -> Awaitable[Batch]:
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(None, None)
        try:
            return anext(self._batches)
        finally:
            sys.set_asyncgen_hooks(*hooks)


def batches_of(crawl: Crawl) -> _Batches:
    """The batches of a crawl; a caller that stops before their end has to close them."""
    return _Batches(crawl)


class AsyncStream(Stream, Generic[Output]):
    """Records for one `async for`; the end of its `async with` block cancels the pending requests.

    UsageError for a pass over a stream that has ended, or is closed.
    """

    def __init__(self, run: CrawlRun, generator: AsyncGenerator[Output, None]) -> None:
        self._run = run
        self._generator = generator

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[Output]:
        if self._generator.ag_frame is None:  # type: ignore[attr-defined] # inspect.getasyncgenstate is new in Python 3.12
            raise UsageError(_ENDED)
        return self._generator

    async def close(self) -> None:
        """Cancels every request of this stream. May be called twice."""
        await self._generator.aclose()


class AsyncUrlStream(AsyncStream[UrlRecord]):
    """UrlRecords for one `async for`; the end of its `async with` block cancels the pending requests.

    A stream without one URL ends by raising NothingFound or NothingReadable.
    """

    def __init__(self, run: CrawlRun) -> None:
        super().__init__(run, _read_async(run))


async def _read_async(run: CrawlRun) -> AsyncGenerator[UrlRecord, None]:
    with run.reading(), ticking(run) if run.bar else nullcontext():
        async with aclosing(batches_of(run.crawl)) as batches:
            async for batch in batches:
                for record in run.records(batch):
                    yield record
    run.raise_verdict()


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


class ThreadStream(Stream, Generic[Output]):
    """Records for one `for`; the end of its `with` block cancels the pending requests and joins the reading thread.

    A stream without one URL ends by raising NothingFound or NothingReadable. UsageError for a pass over a stream that
    has ended, or is closed.
    """

    def __init__(
        self,
        run: CrawlRun,
        close: Callable[[], Awaitable[None]],
        on_wait: Callable[[], None] | None,
        parts: Callable[[Batch], Iterator[Output]],
        last_parts: Callable[[], Iterator[Output]] = lambda: iter(()),
    ) -> None:
        """`parts` yields the output of a batch, `last_parts` that which follows the last batch."""
        self._run = run
        self._bridge = Bridge(partial(_pump, run.crawl, close))
        self._generator: Generator[Output, None, None] = _read(run, self._bridge, on_wait, parts, last_parts)
        # At interpreter exit the thread has to end before the modules that it uses.
        weakref.finalize(self._generator, self._bridge.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Output]:
        if getgeneratorstate(self._generator) == GEN_CLOSED:
            raise UsageError(_ENDED)
        return self._generator

    def close(self) -> None:
        """Cancels every request of this stream and joins its thread; may be called from any thread, and twice."""
        self._bridge.close()
        if getgeneratorstate(self._generator) == GEN_RUNNING:  # another thread is in next(), which ends the stream
            return  # closing a generator that runs has been seen to crash CPython 3.11
        try:
            self._generator.close()
        except ValueError as error:
            if error.__traceback__ and error.__traceback__.tb_next:  # raised in the generator, by the caller's code
                raise
            # Otherwise another thread has entered next() since.


class UrlStream(ThreadStream[UrlRecord]):
    """UrlRecords for one `for`; the end of its `with` block cancels the pending requests and joins the thread.

    A stream without one URL ends by raising NothingFound or NothingReadable.
    """

    def __init__(
        self, run: CrawlRun, close: Callable[[], Awaitable[None]], on_wait: Callable[[], None] | None = None
    ) -> None:
        super().__init__(run, close, on_wait, run.records)


class LineStream(ThreadStream[Lines]):
    """The JSON lines of many records at a time."""

    def __init__(
        self, run: CrawlRun, close: Callable[[], Awaitable[None]], on_wait: Callable[[], None] | None = None
    ) -> None:
        super().__init__(run, close, on_wait, run.lines)

    @property
    def is_full(self) -> bool:
        """Whether the limit of the query is reached."""
        return self._run.summary_builder.is_full


class BatchStream(ThreadStream["Batch"]):
    """The batches of a run: records or UrlBatches of many, references, problems and outcomes."""

    def __init__(
        self, run: CrawlRun, close: Callable[[], Awaitable[None]], on_wait: Callable[[], None] | None = None
    ) -> None:
        super().__init__(run, close, on_wait, run.items)

    def rules(self, url: str) -> Rules | None:
        """The rules of the robots.txt of the URL's host; None if it was not read."""
        return self._run.crawl.frontier.rules(url)


def _read(
    run: CrawlRun,
    bridge: Bridge,
    on_wait: Callable[[], None] | None,
    parts: Callable[[Batch], Iterator[Output]],
    last_parts: Callable[[], Iterator[Output]],
) -> Generator[Output, None, None]:
    def wait() -> None:
        run.report_progress()
        if on_wait is not None:
            on_wait()

    with run.reading(), closing(bridge):
        for batch in bridge.batches(wait):
            yield from parts(batch)
        if not bridge.was_cancelled:
            yield from last_parts()
    if not bridge.was_cancelled:
        run.raise_verdict()


async def _pump(crawl: Crawl, close: Callable[[], Awaitable[None]], put: Callable[[Batch], Awaitable[None]]) -> None:
    try:
        async with aclosing(crawl.batches()) as batches:
            async for batch in batches:
                await put(batch)
    finally:
        await close()


# --- changes -----------------------------------------------------------------------------------------------------


@attrs.define(eq=False)
class ChangeRun(CrawlRun):
    """A CrawlRun whose batches are compared with a state; `site` becomes a key of each JSON line."""

    state_sync: StateSync = attrs.field(kw_only=True)
    on_document: Callable[[StoredDocument], None] | None = attrs.field(default=None, kw_only=True)
    site: str | None = attrs.field(default=None, kw_only=True)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """As in CrawlRun; at the end, changes that were not delivered are rolled back."""
        with closing(self.state_sync), CrawlRun.reading(self):
            yield

    def pieces(self, batch: Batch) -> Iterator[ChangePiece]:
        """The changes that a batch shows; then progress is reported."""
        self.count(batch)
        yield from self.state_sync.take(batch, self.on_document)
        self.report_progress()

    def last_pieces(self) -> Iterator[ChangePiece]:
        """The changes that are known at the end only: removals."""
        return self.state_sync.finish(self._record_problem)

    def changes(self, batch: Batch) -> Iterator[Change]:
        """pieces() as single changes."""
        return _changes(self.pieces(batch))

    def last_changes(self) -> Iterator[Change]:
        """last_pieces() as single changes."""
        return _changes(self.last_pieces())

    def change_lines(self, batch: Batch) -> Iterator[Lines]:
        """pieces() as JSON lines."""
        return (_lines(piece, self.site) for piece in self.pieces(batch))

    def last_lines(self) -> Iterator[Lines]:
        """last_pieces() as JSON lines."""
        return (_lines(piece, self.site) for piece in self.last_pieces())

    def verdict(self) -> ReadError | None:
        """As in CrawlRun, but None if there was any change."""
        return None if any(attrs.astuple(self.state_sync.counts)) else CrawlRun.verdict(self)

    def _record_problem(self, problem: Problem) -> None:
        self.take([problem], UrlRecord)


def _changes(pieces: Iterator[ChangePiece]) -> Iterator[Change]:
    for piece in pieces:
        yield from changes_of(piece)


def changes_of(piece: ChangePiece) -> Iterator[Change]:
    """The changes of a piece, one by one."""
    if isinstance(piece, UrlBatch):
        return (Change("new", record) for record in piece.records())
    if isinstance(piece, Lines):
        records = (from_json(line) for line in piece.data.splitlines())
        return (Change("new", record) for record in records if isinstance(record, UrlRecord))
    return iter(piece)


def _lines(piece: ChangePiece, site: str | None) -> Lines:
    if isinstance(piece, UrlBatch):
        return new_lines_of(piece, site=site)
    if isinstance(piece, Lines):
        return new_lines(piece, site=site)
    return joined([Lines(json_line(change, site=site), 1, 0) for change in piece])


class _ChangeStream(Stream):
    """What streams of changes have beside what all streams have."""

    _run: ChangeRun

    @property
    def counts(self) -> ChangeCounts:
        """How many URLs are new, updated and removed, so far."""
        return self._run.state_sync.counts

    @property
    def removals_suspended(self) -> bool:
        """Whether removals were left undecided, as a document could not be read whole."""
        return self._run.state_sync.removals_suspended


class AsyncChangeStream(_ChangeStream, AsyncStream[Change]):
    """Changes for one `async for`; the end of its block cancels requests, and rolls back what was not delivered.

    A stream without one sitemap ends by raising NothingFound or NothingReadable.
    """

    def __init__(self, run: ChangeRun, before_delivery: Callable[[], Awaitable[None]] | None = None) -> None:
        """`before_delivery` is awaited before the changes yielded so far count as delivered."""
        super().__init__(run, _changes_async(run, before_delivery))

    async def close(self) -> None:
        """Cancels every request of this stream, and releases the state. May be called twice."""
        await super().close()
        self._run.state_sync.close()


async def _changes_async(
    run: ChangeRun, before_delivery: Callable[[], Awaitable[None]] | None
) -> AsyncGenerator[Change, None]:
    """SQLite works in a thread beside the loop. No generator within this one: see _Batches."""
    thread = ThreadPool("sitemap-reader-state")

    async def next_piece(pieces: Iterator[ChangePiece]) -> ChangePiece | None:
        if before_delivery is not None:
            await before_delivery()
        return await thread.run(next, pieces, None)

    with run.reading(), ticking(run) if run.bar else nullcontext():
        try:
            async with aclosing(batches_of(run.crawl)) as batches:
                async for batch in batches:
                    pieces = run.pieces(batch)
                    while (piece := await next_piece(pieces)) is not None:
                        for change in changes_of(piece):
                            yield change
            pieces = run.last_pieces()
            while (piece := await next_piece(pieces)) is not None:
                for change in changes_of(piece):
                    yield change
        finally:
            await thread.close()
    run.raise_verdict()


class _ThreadChanges(_ChangeStream, ThreadStream[Output]):
    """Streams of changes over a thread."""

    _run: ChangeRun

    def close(self) -> None:
        """Cancels every request, joins the thread, releases the state; may be called from any thread, and twice."""
        super().close()
        if getgeneratorstate(self._generator) != GEN_RUNNING:  # otherwise next() in another thread closes it
            self._run.state_sync.close()


class ChangeStream(_ThreadChanges[Change]):
    """Changes for one `for`; the end of its `with` block cancels the pending requests and joins the thread.

    A stream without one sitemap ends by raising NothingFound or NothingReadable.
    """

    def __init__(
        self, run: ChangeRun, close: Callable[[], Awaitable[None]], on_wait: Callable[[], None] | None = None
    ) -> None:
        super().__init__(run, close, on_wait, run.changes, run.last_changes)


class ChangeLineStream(_ThreadChanges[Lines]):
    """Changes as JSON lines, many at a time."""

    def __init__(
        self, run: ChangeRun, close: Callable[[], Awaitable[None]], on_wait: Callable[[], None] | None = None
    ) -> None:
        super().__init__(run, close, on_wait, run.change_lines, run.last_lines)
