"""The streams of URL records: async, and the same for callers without a loop or inside a running one.

In: a Run. Out: its records one by one; beside them progress, problems, outcomes and a summary. Both end by raising
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
from ..model.records import UrlRecord
from ..pipeline.document_parser import Many
from ..serialize.jsonl import Lines
from .callbacks import Carried, first_failure
from .summary import Given
from .thread_bridge import Bridge

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
    from types import TracebackType

    from ..frontier.robots_rules import Rules
    from ..model.errors import ReadError
    from ..model.records import Outcome
    from ..pipeline.crawl import Batch, Run
    from .progressbar import ProgressBar
    from .summary import Ledger, Problems, Progress, Summary


# To a second pass, and to one over a stream whose block was left.
_ENDED = "this stream was read to its end or closed: keep list(stream) for a second pass, or ask for another stream"

# How often the bar of an async stream is looked after.
_TICK_SECONDS = 0.2


@attrs.define(eq=False)
class Walk:
    """What all streams do with a Run: take its batches, count the records, tell how far it is, and judge at its end.

    It knows none of the streams: one that nobody holds any more is over at once.
    """

    target: str
    run: Run
    ledger: Ledger
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
            item.urls if isinstance(item, Many) else isinstance(item, UrlRecord) for item in batch
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

    def __init__(self, run: Run) -> None:
        self._batches = run.batches()

    def __aiter__(self) -> AsyncIterator[Batch]:
        return self

    async def __anext__(self) -> Batch:
        try:
            return await self._next()
        except (BaseExceptionGroup, Carried) as error:
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


def batches_of(run: Run) -> _Batches:
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


async def _pump(run: Run, close: Callable[[], Awaitable[None]], put: Callable[[Batch], Awaitable[None]]) -> None:
    try:
        async with aclosing(run.batches()) as batches:
            async for batch in batches:
                await put(batch)
    finally:
        await close()
