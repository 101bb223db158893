"""The streams of URL records: async, and the same for callers without a loop or inside a running one.

In: a Crawl. Out: its records one by one; beside them progress, problems, outcomes and a summary. Both end by raising
where there was nothing at all, and both stop every request when they are left.
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
from ..parser.fast_scanner import Entries, records_of
from ..pipeline.document_parser import UrlGroup
from ..pipeline.executor import WorkerThread
from ..serialize.jsonl import NEW, Lines, from_json, joined, json_line, lines_of_columns, new_lines
from .summary import Given
from .thread_bridge import Bridge, CallbackError, first_failure

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
    from types import TracebackType

    from ..frontier.robots_rules import Rules
    from ..model.errors import ReadError
    from ..model.problems import Problem
    from ..model.records import Outcome
    from ..pipeline.crawl import Crawl
    from ..pipeline.document_parser import Batch
    from ..state.diff_rules import ChangePiece
    from ..state.documents import StoredDocument
    from ..state.sync import Counted, StateSync
    from .progressbar import ProgressBar
    from .summary import Problems, Progress, Summary, SummaryBuilder


# To a second pass, and to one over a stream whose block was left.
_ENDED = "this stream was read to its end or closed: keep list(stream) for a second pass, or ask for another stream"

# How often the bar of an async stream is looked after.
_TICK_SECONDS = 0.2


@attrs.define(eq=False)
class Walk:
    """What all streams do with a Crawl: take its batches, count the records, tell how far it is, and judge at its end.

    It knows none of the streams: one that nobody holds any more is over at once.
    """

    target: str
    run: Crawl
    ledger: SummaryBuilder
    on_progress: Callable[[Progress], None] | None = None
    bar: ProgressBar | None = None
    started: float = 0.0

    def progress(self) -> Progress:
        """The numbers as they stand."""
        progress, frontier = self.ledger.progress, self.run.frontier
        progress.documents_done, progress.documents_known = frontier.documents_done, frontier.documents_known
        progress.bytes_wire, progress.delay = self.run.bytes_wire, self.run.delay()
        return progress

    def summary(self) -> Summary:
        self._enter_pruned()
        return self.ledger.summary()

    def _enter_pruned(self) -> None:
        """What was not asked for, and why."""
        frontier = self.run.frontier
        self.ledger.pruned, self.ledger.checked = frontier.pruned, frontier.checked
        self.ledger.since = frontier.plan.selection.window.since

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Around all of it. At the end what a walk that was left early has still to say is entered."""
        self.started = time.monotonic()
        with self.bar or nullcontext():
            try:
                yield
            finally:
                self.take([*self.run.frontier.abandon()], UrlRecord)

    def records(self, batch: Batch) -> Iterator[UrlRecord]:
        """Those of one batch, each counted as it is given; then whoever wants to hears how far it is."""
        for record in self.take(batch, UrlRecord):
            if self.ledger.counts(record):
                yield record
        self.tell_progress()

    def lines(self, batch: Batch) -> Iterator[Lines]:
        """The same for a run whose records come as lines."""
        for lines in self.take(batch, Lines):
            yield self.ledger.counted(lines)
        self.tell_progress()

    def whole(self, batch: Batch) -> Iterator[Batch]:
        """All of it, with its URLs counted."""
        self.enter(batch)
        yield batch
        self.tell_progress()

    def enter(self, batch: Batch) -> None:
        """Counts the URLs of a batch whose records are nobody's here; all else is entered, and told."""
        self.take(batch, UrlRecord)
        self.ledger.progress.urls += sum(
            item.urls if isinstance(item, UrlGroup) else isinstance(item, UrlRecord) for item in batch
        )

    def tell_progress(self) -> None:
        """On the bar, and to the caller."""
        self.show_progress()
        if self.on_progress is not None:
            self.on_progress(attrs.evolve(self.progress()))  # what is told stays as it was told

    def show_progress(self) -> None:
        """On the bar."""
        if self.bar is not None:
            self.bar(self.progress())

    def verdict(self) -> ReadError | None:
        """At the end: what there is to raise, where there was nothing at all."""
        self._enter_pruned()
        return self.ledger.verdict(self.target)

    def judge(self) -> None:
        """At the end: raises the verdict, if there is one."""
        self.tell_progress()
        verdict = self.verdict()
        if verdict is not None:
            raise verdict

    def take(self, batch: Batch, given: type[Given]) -> list[Given]:
        """What is to be given of a batch; all else is entered, and told."""
        self.ledger.seconds = time.monotonic() - self.started
        return self.ledger.take(batch, given)


class Stream:
    """What all streams tell beside the records."""

    _walk: Walk

    @property
    def progress(self) -> Progress:
        """How far the run is."""
        return self._walk.progress()

    @property
    def problems(self) -> Problems:
        """Exact counts by code, and samples: five a code and document."""
        return self._walk.ledger.problems

    @property
    def outcomes(self) -> list[Outcome]:
        """One for each document that has come to its end."""
        return self._walk.ledger.outcomes

    @property
    def complete(self) -> bool:
        """Whether nothing is missing in what was read so far."""
        return self._walk.ledger.complete

    @property
    def summary(self) -> Summary:
        """The numbers so far; str() makes them a line."""
        return self._walk.summary()

    def raise_for_partial(self) -> None:
        """Raises PartialRead, with the outcomes, if anything is missing."""
        missing = self.summary.missing()
        if missing:
            raise PartialRead(f"{self._walk.target}: {missing}", self.outcomes)


class _Batches:
    """Those of a run, for `async for`. What ends them is the first failure, not what tasks and carried() wrap it in.

    At the end of a loop asyncio closes all at once the generators that it saw begin. One inside of another would be
    closed twice then, so this is none, and nobody sees its own begin.
    """

    def __init__(self, run: Crawl) -> None:
        self._batches = run.batches()

    def __aiter__(self) -> AsyncIterator[Batch]:
        return self

    async def __anext__(self) -> Batch:
        try:
            return await self._next()
        except (BaseExceptionGroup, CallbackError) as error:
            failure = first_failure(error)
        raise failure  # where nothing else is being handled: its cause and context stay what they are

    async def aclose(self) -> None:
        """Cancels what is on its way."""
        await self._batches.aclose()

    def _next(self) -> Awaitable[Batch]:
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(None, None)
        try:
            return anext(self._batches)
        finally:
            sys.set_asyncgen_hooks(*hooks)


def batches_of(run: Crawl) -> _Batches:
    """Its batches; to be closed by whoever stops before their end."""
    return _Batches(run)


class AsyncStream(Stream, Generic[Given]):
    """What is given by `async for`, once; leaving its block cancels what is still on its way.

    UsageError for a pass over a stream that has come to its end, or is closed.
    """

    def __init__(self, walk: Walk, given: AsyncGenerator[Given, None]) -> None:
        self._walk = walk
        self._given = given

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[Given]:
        if self._given.ag_frame is None:  # type: ignore[attr-defined] # inspect tells of these from Python 3.12 on
            raise UsageError(_ENDED)
        return self._given

    async def close(self) -> None:
        """Cancels every request of this stream. May be called twice."""
        await self._given.aclose()


class AsyncUrlStream(AsyncStream[UrlRecord]):
    """UrlRecords by `async for`; leaving its block cancels what is still on its way.

    At the end it raises NothingFound or NothingReadable where there was not one URL.
    """

    def __init__(self, walk: Walk) -> None:
        super().__init__(walk, _read_async(walk))


async def _read_async(walk: Walk) -> AsyncGenerator[UrlRecord, None]:
    with walk.reading(), ticking(walk) if walk.bar else nullcontext():
        async with aclosing(batches_of(walk.run)) as batches:
            async for batch in batches:
                for record in walk.records(batch):
                    yield record
    walk.judge()


@contextmanager
def ticking(walk: Walk) -> Iterator[None]:
    """While nothing comes the bar goes on; and a notebook sees to an interrupt only where its loop is busy."""
    loop = asyncio.get_running_loop()
    handle: asyncio.Handle

    def tick() -> None:
        nonlocal handle
        walk.show_progress()
        handle = loop.call_later(_TICK_SECONDS, tick)

    handle = loop.call_soon(tick)
    try:
        yield
    finally:
        handle.cancel()


class ThreadStream(Stream, Generic[Given]):
    """What is given by `for`, once; a context manager whose end cancels what is on its way and joins its thread.

    At the end it raises NothingFound or NothingReadable where there was not one URL; UsageError for a pass over a
    stream that has come to its end, or is closed.
    """

    def __init__(
        self,
        walk: Walk,
        close: Callable[[], Awaitable[None]],
        on_wait: Callable[[], None] | None,
        parts: Callable[[Batch], Iterator[Given]],
        last_parts: Callable[[], Iterator[Given]] = lambda: iter(()),
    ) -> None:
        """`parts` is what is given of a batch, `last_parts` what there is to give behind them all."""
        self._walk = walk
        self._bridge = Bridge(partial(_pump, walk.run, close))
        self._given: Generator[Given, None, None] = _read(walk, self._bridge, on_wait, parts, last_parts)
        # Where Python ends before it does, its thread must not outlive what it needs.
        weakref.finalize(self._given, self._bridge.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Given]:
        if getgeneratorstate(self._given) == GEN_CLOSED:
            raise UsageError(_ENDED)
        return self._given

    def close(self) -> None:
        """Cancels every request of this stream and joins its thread; may be called from any thread, and twice."""
        self._bridge.close()
        if getgeneratorstate(self._given) == GEN_RUNNING:  # another thread is taking a record: its next one is the end
            return  # closing a generator that runs has been seen to crash CPython 3.11
        try:
            self._given.close()
        except ValueError as error:
            if error.__traceback__ and error.__traceback__.tb_next:  # out of the generator: the caller's own
                raise
            # It has begun to run since.


class UrlStream(ThreadStream[UrlRecord]):
    """UrlRecords by `for`, once; a context manager whose end cancels what is on its way and joins the reading thread.

    At the end it raises NothingFound or NothingReadable where there was not one URL.
    """

    def __init__(
        self, walk: Walk, close: Callable[[], Awaitable[None]], on_wait: Callable[[], None] | None = None
    ) -> None:
        super().__init__(walk, close, on_wait, walk.records)


class LineStream(ThreadStream[Lines]):
    """The same with the JSON lines of many records at a time, which other processes may have made."""

    def __init__(
        self, walk: Walk, close: Callable[[], Awaitable[None]], on_wait: Callable[[], None] | None = None
    ) -> None:
        super().__init__(walk, close, on_wait, walk.lines)

    @property
    def is_full(self) -> bool:
        """Whether no more lines are wanted: then it may be left."""
        return self._walk.ledger.is_full


class BatchStream(ThreadStream["Batch"]):
    """All that a run gives, as it comes: records, or Entries of many; references, problems and outcomes."""

    def __init__(
        self, walk: Walk, close: Callable[[], Awaitable[None]], on_wait: Callable[[], None] | None = None
    ) -> None:
        super().__init__(walk, close, on_wait, walk.whole)

    def rules(self, url: str) -> Rules | None:
        """What the robots.txt of the URL's host permits; None where that was not read."""
        return self._walk.run.frontier.rules(url)


def _read(
    walk: Walk,
    bridge: Bridge,
    on_wait: Callable[[], None] | None,
    parts: Callable[[Batch], Iterator[Given]],
    last_parts: Callable[[], Iterator[Given]],
) -> Generator[Given, None, None]:
    def wait() -> None:
        walk.tell_progress()
        if on_wait is not None:
            on_wait()

    with walk.reading(), closing(bridge):
        for batch in bridge.batches(wait):
            yield from parts(batch)
        if not bridge.was_cancelled:
            yield from last_parts()
    if not bridge.was_cancelled:
        walk.judge()


async def _pump(run: Crawl, close: Callable[[], Awaitable[None]], put: Callable[[Batch], Awaitable[None]]) -> None:
    try:
        async with aclosing(run.batches()) as batches:
            async for batch in batches:
                await put(batch)
    finally:
        await close()


# ----------------------------------------------------------------------------------------------------
# The streams of changes: what a run finds new, updated and removed, for callers with a loop and without one.
#
# In: a Run, and the state that it is held against. Out: Changes one by one, or as JSON lines. A change counts as
# delivered when the next one is asked for; leaving early commits no document of which some were not.


@attrs.define(eq=False)
class ChangeWalk(Walk):
    """A walk whose batches are held against a state; `site` is a key that each JSON line gets."""

    following: StateSync = attrs.field(kw_only=True)
    on_document: Callable[[StoredDocument], None] | None = attrs.field(default=None, kw_only=True)
    site: str | None = attrs.field(default=None, kw_only=True)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """As of any walk; what was not delivered is undone at the end."""
        with closing(self.following), Walk.reading(self):
            yield

    def pieces(self, batch: Batch) -> Iterator[ChangePiece]:
        """What a batch brings to light; then whoever wants to hears how far it is."""
        self.enter(batch)
        yield from self.following.take(batch, self.on_document)
        self.tell_progress()

    def last_pieces(self) -> Iterator[ChangePiece]:
        """What is found at the end of all."""
        return self.following.finish(self._note)

    def changes(self, batch: Batch) -> Iterator[Change]:
        """What a batch brings to light, one by one."""
        return _changes(self.pieces(batch))

    def last_changes(self) -> Iterator[Change]:
        """What is found at the end of all, one by one."""
        return _changes(self.last_pieces())

    def change_lines(self, batch: Batch) -> Iterator[Lines]:
        """What a batch brings to light, as JSON lines."""
        return (_lines(piece, self.site) for piece in self.pieces(batch))

    def last_lines(self) -> Iterator[Lines]:
        """What is found at the end of all, as JSON lines."""
        return (_lines(piece, self.site) for piece in self.last_pieces())

    def verdict(self) -> ReadError | None:
        """The same; there is none where there was anything to tell."""
        return None if any(attrs.astuple(self.following.counts)) else Walk.verdict(self)

    def _note(self, problem: Problem) -> None:
        self.take([problem], UrlRecord)


def _changes(pieces: Iterator[ChangePiece]) -> Iterator[Change]:
    for piece in pieces:
        yield from changes_of(piece)


def changes_of(piece: ChangePiece) -> Iterator[Change]:
    """Those of a piece, one by one."""
    if isinstance(piece, Entries):
        return (Change("new", record) for record in records_of(piece.columns, piece.sitemap))
    if isinstance(piece, Lines):
        records = (from_json(line) for line in piece.data.splitlines())
        return (Change("new", record) for record in records if isinstance(record, UrlRecord))
    return iter(piece)


def _lines(piece: ChangePiece, site: str | None) -> Lines:
    if isinstance(piece, Entries):
        return lines_of_columns(*piece.columns[:-1], sitemap=piece.sitemap, site=site, head=NEW)
    if isinstance(piece, Lines):
        return new_lines(piece, site=site)
    return joined([Lines(json_line(change, site=site), 1, 0) for change in piece])


class _ChangeStream(Stream):
    """What these streams tell beside the changes."""

    _walk: ChangeWalk

    @property
    def counts(self) -> Counted:
        """How many URLs were found to be what, so far."""
        return self._walk.following.counts

    @property
    def removals_suspended(self) -> bool:
        """Whether it came to its end without deciding what is removed, as a document could not be read whole."""
        return self._walk.following.removals_suspended


class AsyncChangeStream(_ChangeStream, AsyncStream[Change]):
    """Changes by `async for`; leaving its block cancels what is on its way, and undoes what was not delivered whole.

    At the end it raises NothingFound or NothingReadable where there was not one sitemap.
    """

    def __init__(self, walk: ChangeWalk) -> None:
        super().__init__(walk, _changes_async(walk))

    async def close(self) -> None:
        """Cancels every request of this stream, and lets go of the state. May be called twice."""
        await super().close()
        self._walk.following.close()


async def _changes_async(walk: ChangeWalk) -> AsyncGenerator[Change, None]:
    """SQLite works in a thread beside the loop. No generator within this one: see streams._Batches."""
    aside = WorkerThread("sitemap-reader-state")
    with walk.reading(), ticking(walk) if walk.bar else nullcontext():
        try:
            async with aclosing(batches_of(walk.run)) as batches:
                async for batch in batches:
                    pieces = walk.pieces(batch)
                    while (piece := await aside.run(next, pieces, None)) is not None:
                        for change in changes_of(piece):
                            yield change
            pieces = walk.last_pieces()
            while (piece := await aside.run(next, pieces, None)) is not None:
                for change in changes_of(piece):
                    yield change
        finally:
            await aside.close()
    walk.judge()


class _ThreadChanges(_ChangeStream, ThreadStream[Given]):
    """Those without a loop."""

    _walk: ChangeWalk

    def close(self) -> None:
        """Cancels every request, joins the thread, lets go of the state; may be called from any thread, and twice."""
        super().close()
        if getgeneratorstate(self._given) != GEN_RUNNING:  # else another thread is at it, and lets go at its end
            self._walk.following.close()


class ChangeStream(_ThreadChanges[Change]):
    """Changes by `for`, once; a context manager whose end cancels what is on its way, and joins the reading thread.

    At the end it raises NothingFound or NothingReadable where there was not one sitemap.
    """

    def __init__(
        self, walk: ChangeWalk, close: Callable[[], Awaitable[None]], on_wait: Callable[[], None] | None = None
    ) -> None:
        super().__init__(walk, close, on_wait, walk.changes, walk.last_changes)


class ChangeLineStream(_ThreadChanges[Lines]):
    """The same as JSON lines, many at a time."""

    def __init__(
        self, walk: ChangeWalk, close: Callable[[], Awaitable[None]], on_wait: Callable[[], None] | None = None
    ) -> None:
        super().__init__(walk, close, on_wait, walk.change_lines, walk.last_lines)
