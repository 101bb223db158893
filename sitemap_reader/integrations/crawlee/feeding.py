"""The task that reads sites for a loader: targets in, requests into its Standing, what there is to tell beside them.

It knows no loader, so that one which nobody holds any more can end it. Whatever stops it that is no fault of a site
is kept as `failure`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import aclosing, nullcontext, suppress
from typing import TYPE_CHECKING, Any

import attrs

from ...client.dedupe import UrlSet
from ...client.query import Query
from ...client.streams import batches_of
from ...client.summary import Problems, SummaryBuilder
from ...model.problems import Problem
from ...model.records import Outcome, SitemapRef, UrlRecord
from ...parser.content.sniff import SITEMAP_FORMATS, Format
from ...pipeline.executor import WorkerThread
from ...serialize.jsonl import json_line
from ..log import Log
from .requests import LOGGER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ...client.reader import SitemapReader
    from ...client.streams import ChangeWalk, Walk
    from ...client.summary import Summary
    from ...model.errors import ReadError
    from ...model.records import Change, Item
    from ...state.diff_rules import ChangePiece
    from ...state.documents import StoredDocument
    from ...state.state import State
    from ...state.sync import SyncPlan
    from .requests import RequestMaker, Standing


@attrs.frozen
class Wanted:
    """What a loader is to read, and whom it is to tell; `filters` are fields of Asked, `plan` goes with a `state`."""

    targets: tuple[str | Path, ...] = attrs.field(repr=False)  # with user and password, where they have some
    filters: dict[str, Any]
    reader: SitemapReader
    owns_reader: bool
    state: State | str | Path | None
    plan: SyncPlan | None
    on_removed: Callable[[UrlRecord], object] | None
    on_item: Callable[[Item], object] | None
    on_outcome: Callable[[Outcome], object] | None


class Feeding:
    """start() it, then take from its Standing; close() it, or abandon() it from wherever."""

    def __init__(self, wanted: Wanted, standing: Standing, maker: RequestMaker) -> None:
        self.problems = Problems()
        self.outcomes: list[Outcome] = []
        self.verdicts: list[ReadError] = []
        self.removed = 0
        self.failure: Exception | None = None
        self.is_over = False
        self._wanted = wanted
        self._standing = standing
        self._maker = maker
        self._heard: deque[Item] = deque()
        self._indexes: set[str | None] = set()
        self._summaries: list[Summary] = []
        self._walk: Walk | None = None
        self._log = Log(LOGGER)
        self._keys = UrlSet()
        self._committed: list[str] = []
        self._failure_is_told = False
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    @property
    def summary(self) -> Summary:
        """The numbers of all targets so far."""
        summaries = [*self._summaries, *([self._walk.summary()] if self._walk else [])]
        return sum(summaries, SummaryBuilder().summary())

    # --- its life ---

    async def load(self) -> None:
        """Where the last process left off."""
        self._loop = asyncio.get_running_loop()
        await self._standing.load()

    async def start(self) -> None:
        """Goes on reading in a task, which is begun once."""
        await self.load()
        if self._task is None and not self._is_closed:
            self._task = asyncio.create_task(self._run(), name="sitemap-reader")

    def raise_failure(self) -> None:
        """Raises what ended the reading, if it was no fault of a site."""
        if self.failure is not None:
            self._failure_is_told = True
            raise self.failure

    async def close(self) -> None:
        """Ends the task with all that it has open, and keeps where it stands. May be called twice."""
        is_first = not self._is_closed
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._end()
        if is_first:
            await self._standing.close()
            if self.failure is not None and not self._failure_is_told:
                LOGGER.error("the reading ended before its time", exc_info=self.failure)

    def abandon(self) -> None:
        """The same for a loader that nobody holds any more; from any thread, and without waiting."""
        if self._loop is not None and not self._is_closed:
            with suppress(RuntimeError):  # the loop has ended, and its tasks with it
                self._loop.call_soon_threadsafe(self._close_soon)

    def _close_soon(self) -> None:
        self._closing = asyncio.ensure_future(self.close())

    def _end(self) -> None:
        self.is_over = True
        self._standing.wake()

    async def _run(self) -> None:
        try:
            if not self._standing.value.completed:
                await self._read_all()
        except Exception as error:  # raised by whoever wants the next request
            self.failure = error
        finally:
            self._end()

    # --- targets ---

    async def _read_all(self) -> None:
        wanted = self._wanted
        async with wanted.reader if wanted.owns_reader else nullcontext():
            for target in wanted.targets:
                await self._read(target)
        self._standing.value.completed = True
        self._standing.value.undelivered.clear()
        await self._standing.persist()

    async def _read(self, target: str | Path) -> None:
        self._log = Log(LOGGER)
        reading = self._records(target) if self._wanted.state is None else self._changes(target)
        try:
            walk = await reading
        finally:
            self._hear(tell=False)
        verdict = walk.verdict()
        self.verdicts += [verdict] if verdict else []
        self._walk = None
        self._summaries.append(walk.summary())
        self._log.end(self._summaries[-1], verdict)

    async def _records(self, target: str | Path) -> Walk:
        value = self._standing.value
        query = Query(**self._wanted.filters, on_item=self._heard.append, unique=value.marks)
        self._walk = walk = self._wanted.reader.walk(target, query, settled=value.documents)
        with walk.reading():
            async with aclosing(batches_of(walk.run)) as batches:
                async for batch in batches:
                    for record in walk.take(batch, UrlRecord):
                        await self._standing.room()
                        self._give_record(walk, record)
                    self._hear()
        return walk

    def _give_record(self, walk: Walk, record: UrlRecord) -> None:
        """Without a pause: what is marked as given is in the queue."""
        marks = self._standing.value.marks
        request = None if record.loc in marks else self._maker.make(record, marks)
        if walk.summary_builder.count_url(record) and request is not None:
            self._standing.put(request)

    # --- changes ---

    async def _changes(self, target: str | Path) -> ChangeWalk:
        """As syncing does it: SQLite works in a thread beside the loop."""
        wanted = self._wanted
        assert wanted.state is not None and wanted.plan is not None  # noqa: S101, PT018 - for the type checker
        query = Query(**wanted.filters, on_item=self._heard.append)
        walk = wanted.reader.change_walk(target, query, wanted.state, wanted.plan, self._note_commit)
        self._walk = walk
        aside = WorkerThread("sitemap-reader-state")
        with walk.reading():
            try:
                async with aclosing(batches_of(walk.run)) as batches:
                    async for batch in batches:
                        await self._give_pieces(aside, walk.pieces(batch))
                await self._give_pieces(aside, walk.last_pieces())
            finally:
                await aside.close()
        return walk

    async def _give_pieces(self, aside: WorkerThread, pieces: Iterator[ChangePiece]) -> None:
        from ...client.streams import changes_of

        while True:
            await self._standing.secure()  # to ask for a piece may commit all before it
            piece = await aside.run(next, pieces, None)
            while self._committed:
                self._standing.value.undelivered.pop(self._committed.pop(), None)
            self._hear()
            if piece is None:
                return
            for change in changes_of(piece):
                await self._standing.room()
                self._give_change(change)

    def _note_commit(self, document: StoredDocument) -> None:
        self._committed.append(document.url)

    def _give_change(self, change: Change) -> None:
        if change.change == "removed":
            if self._wanted.on_removed is not None:
                self._wanted.on_removed(change.record)
            self.removed += 1
            return
        marks = self._standing.value.undelivered.setdefault(change.record.sitemap or "", UrlSet())
        line = json_line(change).decode()
        if line in marks:  # given before the last process ended
            return
        request = self._maker.make(change.record, self._keys, change)
        self._keys.add(change.record.loc)
        marks.add(line)
        if request is not None:
            self._standing.put(request)

    # --- what is told beside the URLs ---

    def _hear(self, *, tell: bool = True) -> None:
        """What came beside the URLs that are in the queue; without `tell` the reading was left, and may lack some."""
        while self._heard:
            item = self._heard.popleft()
            self._log.hear(item)
            self._enter(item)
            if tell:
                self._settle(item)
                self._tell(item)

    def _enter(self, item: Item) -> None:
        if isinstance(item, Problem):
            self.problems.add(item)
        elif isinstance(item, SitemapRef):
            self._indexes.add(item.sitemap)
        elif isinstance(item, Outcome):
            self.outcomes.append(item)

    def _tell(self, item: Item) -> None:
        if self._wanted.on_item is not None:
            self._wanted.on_item(item)
        if self._wanted.on_outcome is not None and isinstance(item, Outcome):
            self._wanted.on_outcome(item)

    def _settle(self, item: Item) -> None:
        """A sitemap that was read whole need not be asked for again, but for one that leads to others."""
        if self._wanted.state is not None or not isinstance(item, Outcome) or not item.complete:
            return
        if item.format in SITEMAP_FORMATS and item.format != Format.INDEX and item.url not in self._indexes:
            self._standing.value.documents[item.url or ""] = item.format or ""
