"""Reads the body of one response: wire bytes in, batches of items and an Outcome out, links to the frontier.

A ParseExecutor turns bytes into items outside the event loop; the work on the loop is done in slices, so that other
tasks have their turn. Never decides about a retry.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from ..frontier.document_request import ResumePoint
from ..model.errors import DocumentChanged, SitemapReaderError
from ..model.problems import Problem
from ..model.records import Outcome, SitemapRef
from ..parser.content.sniff import SITEMAP_FORMATS, Format
from .executor import WorkerThread
from .feedparser_process import ChildProcesses

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from ..frontier.document_request import DocumentRequest
    from ..model.limits import Limits
    from ..parser.dialects.feed_fallback import FeedFallback
    from .document_parser import Batch, FallbackAnswer
    from .executor import ParseExecutor

_PAGES = SITEMAP_FORMATS - {Format.INDEX}
# How many problems may wait for the first entry of their document.
_DEFERRED_ITEMS = 64
# How many links of an index go to the frontier in one turn of the loop: each takes some tens of microseconds.
_SLICE_ITEMS = 256


class DocumentTask:
    """Reads one document: read() the chunks, then end() for the outcome.

    `has_emitted`: items are out that a retry must not repeat. A request with a `resume` point is parsed from its
    beginning, but emits only what follows; one that is read with `reread` emits only what was dropped the first time.
    `on_link(ref)` is called with each child at once; `on_batch(batch)` takes all items, and waits if the consumer is
    slow. `ask_fallback(body, url)` runs the feed fallback.
    """

    def __init__(
        self,
        request: DocumentRequest,
        executor: ParseExecutor,
        *,
        on_link: Callable[[SitemapRef], object],
        on_batch: Callable[[Batch], Awaitable[None]],
        ask_fallback: Callable[[bytes, str | None], Awaitable[FallbackAnswer]],
    ) -> None:
        self.has_emitted = request.resume is not None or request.reread is not None
        self._request = request
        self._executor = executor
        self._on_link = on_link
        self._on_batch = on_batch
        self._ask_fallback = ask_fallback
        self._deferred: Batch = []  # until the first entry; of a probe, until it is a sitemap

    @property
    def robots_text(self) -> str:
        """The body of a robots.txt."""
        return self._executor.robots_text

    async def read(self, chunks: AsyncIterator[bytes]) -> None:
        """Parses chunks and emits their items, until the bytes end or no more are needed."""
        executor = self._executor
        async for chunk in chunks:
            executor.feed(chunk)
            while (batch := await executor.next_batch()) is not None:
                await self._emit(batch)
            if executor.progress.needs_no_more:
                return

    @property
    def lists_pages(self) -> bool:
        """Whether its format is known, and one without links to other documents."""
        return self._executor.progress.format in _PAGES

    @property
    def has_caught_up(self) -> bool:
        """Whether it is at least as far as an earlier try."""
        return self._executor.progress.has_caught_up

    def resume_point(self) -> ResumePoint:
        """Returns where a retry can continue."""
        progress = self._executor.progress
        return ResumePoint(progress.prefix, progress.items, self._outcome())

    async def end(self, *, cut: bool = False) -> Outcome:
        """Emits the last items and returns the outcome; `cut`: the bytes broke off."""
        executor = self._executor
        batch = await executor.end(cut=cut)
        if executor.progress.fallback_request:
            await self._emit(batch)
            batch = await executor.finish(await self._ask_fallback(*executor.progress.fallback_request))
        await self._emit(batch, final=True)
        if executor.progress.is_shorter and not cut:
            raise DocumentChanged("the document became shorter between two tries; the records read before are kept")
        return self._outcome()

    async def lost(self) -> Outcome:
        """Returns the outcome after the executor was lost: what it returned before is kept."""
        await self._emit([], final=True)
        outcome = self._outcome()
        outcome.complete = False
        return outcome

    def release(self) -> None:
        """Frees the memory of the parser; call it once, in the end."""
        self._executor.release()

    def _outcome(self) -> Outcome:
        progress = self._executor.progress
        self._request.dates = progress.dates
        if self._request.reread:
            self._request.reread.regained.update(progress.regained)
        return progress.outcome

    async def _emit(self, batch: Batch, *, final: bool = False) -> None:
        """Passes items on, but defers problems that a retry might repeat, until there is a first entry."""
        progress = self._executor.progress
        self.has_emitted = self.has_emitted or progress.has_yielded
        # The frontier reports an HTML page instead of robots.txt itself: it knows what else was found.
        self._deferred += [item for item in batch if not _is_html_problem(item)] if self._request.is_robots else batch
        for start in range(0, len(batch), _SLICE_ITEMS):
            for item in batch[start : start + _SLICE_ITEMS]:
                if isinstance(item, SitemapRef):
                    self._on_link(item)
            await asyncio.sleep(0)
        if not (final or self.has_emitted or len(self._deferred) >= _DEFERRED_ITEMS):
            return
        if self._deferred and not (self._request.is_probe and progress.format not in SITEMAP_FORMATS):
            batch, self._deferred = self._deferred, []
            self.has_emitted = True
            await self._on_batch(batch)


def _is_html_problem(item: object) -> bool:
    return isinstance(item, Problem) and item.code == "F05"


async def run_fallback(fallback: FeedFallback, body: bytes, url: str | None, *, limits: Limits) -> FallbackAnswer:
    """Returns the result of a feed fallback, or its error. Cancelling this kills feedparser.

    It runs in a thread of its own: it may take long, and other documents are read meanwhile.
    """
    children, thread = ChildProcesses(), WorkerThread("sitemap-reader-fallback")
    try:
        return await thread.run(children.run, partial(fallback, body, url, limits=limits))
    except SitemapReaderError as error:
        return error
    finally:
        children.kill()
        await thread.close()
