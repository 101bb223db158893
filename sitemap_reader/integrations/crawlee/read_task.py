"""ReadTask: the asyncio task that reads sites for a loader.

In: targets and filters. Out: Requests into the loader's RequestQueue; problems and outcomes beside them. It has no
reference to the loader, so that garbage collection of the loader can end it. An error that is no fault of a site is
kept as `failure`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import aclosing, nullcontext, suppress
from typing import TYPE_CHECKING, Any

import attrs

from ...client.dedupe import UrlSet
from ...client.query import UrlQuery
from ...client.summary import CrawlLog, Problems, SummaryBuilder
from ...model.problems import Problem
from ...model.records import Outcome, SitemapRef, UrlRecord
from ...parser.content.sniff import SITEMAP_FORMATS, Format
from ...pipeline.thread_pool import ThreadPool
from ...serialize.jsonl import json_line
from .requests import LOGGER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ...client.reader import SitemapReader
    from ...client.streams import ChangeRun, CrawlRun
    from ...client.summary import Summary
    from ...model.errors import ReadError
    from ...model.records import Change, Item
    from ...state.diff_rules import ChangePiece
    from ...state.documents import StoredDocument
    from ...state.state import State
    from ...state.sync import SyncPlan
    from .requests import RequestMaker, RequestQueue


@attrs.frozen
class LoaderConfig:
    """What a loader reads, and its callbacks; `filters` are fields of UrlQuery, `plan` goes with a `state`."""

    targets: tuple[str | Path, ...] = attrs.field(repr=False)  # with user and password, where they have some
    filters: dict[str, Any]
    reader: SitemapReader
    owns_reader: bool
    state: State | str | Path | None
    plan: SyncPlan | None
    on_removed: Callable[[UrlRecord], object] | None
    on_item: Callable[[Item], object] | None
    on_outcome: Callable[[Outcome], object] | None


class ReadTask:
    """start() it, then take from its RequestQueue; close() it, or abandon() it from any thread."""

    def __init__(self, config: LoaderConfig, queue: RequestQueue, maker: RequestMaker) -> None:
        self.problems = Problems()
        self.outcomes: list[Outcome] = []
        self.verdicts: list[ReadError] = []
        self.removed = 0
        self.failure: Exception | None = None
        self.is_over = False
        self._config = config
        self._queue = queue
        self._maker = maker
        self._received: deque[Item] = deque()
        self._indexes: set[str | None] = set()
        self._summaries: list[Summary] = []
        self._crawl_run: CrawlRun | None = None
        self._log = CrawlLog(LOGGER)
        self._keys = UrlSet()
        self._committed: list[str] = []
        self._failure_is_raised = False
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    @property
    def summary(self) -> Summary:
        """The numbers of all targets so far."""
        summaries = [*self._summaries, *([self._crawl_run.summary()] if self._crawl_run else [])]
        return sum(summaries, SummaryBuilder().summary())

    # --- lifecycle ---

    async def load(self) -> None:
        """Loads the state of the last process."""
        self._loop = asyncio.get_running_loop()
        await self._queue.load()

    async def start(self) -> None:
        """Starts the task, once."""
        await self.load()
        if self._task is None and not self._is_closed:
            self._task = asyncio.create_task(self._run(), name="sitemap-reader")

    def raise_failure(self) -> None:
        """Raises the exception that ended the reading, if any."""
        if self.failure is not None:
            self._failure_is_raised = True
            raise self.failure

    async def close(self) -> None:
        """Cancels the task, closes its resources and persists the queue. May be called twice."""
        is_first = not self._is_closed
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._end()
        if is_first:
            await self._queue.close()
            if self.failure is not None and not self._failure_is_raised:
                LOGGER.error("the reading ended before its time", exc_info=self.failure)

    def abandon(self) -> None:
        """Schedules close(), from any thread and without waiting; for a loader that was garbage collected."""
        if self._loop is not None and not self._is_closed:
            with suppress(RuntimeError):  # the loop has ended, and its tasks with it
                self._loop.call_soon_threadsafe(self._close_soon)

    def _close_soon(self) -> None:
        self._closing = asyncio.ensure_future(self.close())

    def _end(self) -> None:
        self.is_over = True
        self._queue.wake()

    async def _run(self) -> None:
        try:
            if not self._queue.value.completed:
                await self._read_all()
        except Exception as error:  # raise_failure() raises it at the next request
            self.failure = error
        finally:
            self._end()

    # --- targets ---

    async def _read_all(self) -> None:
        config = self._config
        async with config.reader if config.owns_reader else nullcontext():
            for target in config.targets:
                await self._read(target)
        self._queue.value.completed = True
        self._queue.value.undelivered.clear()
        await self._queue.persist()

    async def _read(self, target: str | Path) -> None:
        self._log = CrawlLog(LOGGER)
        reading = self._records(target) if self._config.state is None else self._changes(target)
        try:
            run = await reading
        finally:
            self._drain(report=False)
        verdict = run.verdict()
        self.verdicts += [verdict] if verdict else []
        self._crawl_run = None
        self._summaries.append(run.summary())
        self._log.end(self._summaries[-1], verdict)

    async def _records(self, target: str | Path) -> CrawlRun:
        value = self._queue.value
        query = UrlQuery(**self._config.filters, on_item=self._received.append, unique=value.marks)
        self._crawl_run = run = self._config.reader.crawl_run(target, query, settled=value.documents)
        with run.reading():
            async with aclosing(run.crawl.batches()) as batches:
                async for batch in batches:
                    for record in run.take(batch, UrlRecord):
                        await self._queue.wait_for_capacity()
                        self._put_record(run, record)
                    self._drain()
        return run

    def _put_record(self, run: CrawlRun, record: UrlRecord) -> None:
        """Without an await, so that each URL that is marked as queued is in the queue."""
        marks = self._queue.value.marks
        request = None if record.loc in marks else self._maker.make(record, marks)
        if run.summary_builder.count_url(record) and request is not None:
            self._queue.put(request)

    # --- changes ---

    async def _changes(self, target: str | Path) -> ChangeRun:
        """Like AsyncChangeStream: SQLite runs in a thread beside the loop."""
        config = self._config
        assert config.state is not None and config.plan is not None  # noqa: S101, PT018 - for the type checker
        query = UrlQuery(**config.filters, on_item=self._received.append)
        run = config.reader.change_run(target, query, config.state, config.plan, self._note_commit)
        self._crawl_run = run
        state_thread = ThreadPool("sitemap-reader-state")
        with run.reading():
            try:
                async with aclosing(run.crawl.batches()) as batches:
                    async for batch in batches:
                        await self._put_pieces(state_thread, run.pieces(batch))
                await self._put_pieces(state_thread, run.last_pieces())
            finally:
                await state_thread.close()
        return run

    async def _put_pieces(self, state_thread: ThreadPool, pieces: Iterator[ChangePiece]) -> None:
        from ...client.streams import changes_of

        while True:
            await self._queue.secure()  # next() may commit the pieces before
            piece = await state_thread.run(next, pieces, None)
            while self._committed:
                self._queue.value.undelivered.pop(self._committed.pop(), None)
            self._drain()
            if piece is None:
                return
            for change in changes_of(piece):
                await self._queue.wait_for_capacity()
                self._put_change(change)

    def _note_commit(self, document: StoredDocument) -> None:
        self._committed.append(document.url)

    def _put_change(self, change: Change) -> None:
        if change.change == "removed":
            if self._config.on_removed is not None:
                self._config.on_removed(change.record)
            self.removed += 1
            return
        marks = self._queue.value.undelivered.setdefault(change.record.sitemap or "", UrlSet())
        line = json_line(change).decode()
        if line in marks:  # queued by an earlier process
            return
        request = self._maker.make(change.record, self._keys, change)
        self._keys.add(change.record.loc)
        marks.add(line)
        if request is not None:
            self._queue.put(request)

    # --- problems, references and outcomes ---

    def _drain(self, *, report: bool = True) -> None:
        """Handles the items beside the queued URLs; `report` is false after an interruption, which may lose some."""
        while self._received:
            item = self._received.popleft()
            self._log.report(item)
            self._record(item)
            if report:
                self._mark_document(item)
                self._call_back(item)

    def _record(self, item: Item) -> None:
        if isinstance(item, Problem):
            self.problems.add(item)
        elif isinstance(item, SitemapRef):
            self._indexes.add(item.sitemap)
        elif isinstance(item, Outcome):
            self.outcomes.append(item)

    def _call_back(self, item: Item) -> None:
        if self._config.on_item is not None:
            self._config.on_item(item)
        if self._config.on_outcome is not None and isinstance(item, Outcome):
            self._config.on_outcome(item)

    def _mark_document(self, item: Item) -> None:
        """Marks a sitemap that was read whole, so that it is not fetched again; not an index."""
        if self._config.state is not None or not isinstance(item, Outcome) or not item.complete:
            return
        if item.format in SITEMAP_FORMATS and item.format != Format.INDEX and item.url not in self._indexes:
            self._queue.value.documents[item.url or ""] = item.format or ""
