"""Reads the body of one response: wire bytes in, batches of items and an Outcome out, links to the frontier.

A DocumentParser turns bytes into items, in a thread; the work on the event loop is done in slices, so that other tasks
have their turn. Never decides about a retry.
"""

from __future__ import annotations

import asyncio
import threading
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ..frontier.document_request import ResumePoint
from ..model.errors import DocumentChanged, SitemapReaderError
from ..model.problems import Problem
from ..model.records import Outcome, SitemapRef
from ..parser.content.sniff import SITEMAP_FORMATS, Format
from .document_parser import take_batch
from .feedparser_process import CANCELLED
from .thread_pool import ThreadPool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from concurrent.futures import Future

    from ..frontier.document_request import DocumentRequest
    from ..model.limits import Limits
    from ..parser.dialects.feed_fallback import FeedFallback
    from .document_parser import Batch, DocumentParser, FallbackAnswer

Params = ParamSpec("Params")
Result = TypeVar("Result")

_PAGES = SITEMAP_FORMATS - {Format.INDEX}
# How many problems may wait for the first entry of their document.
_DEFERRED_ITEMS = 64
# How many links of an index go to the frontier in one turn of the loop: each takes some tens of microseconds.
_SLICE_ITEMS = 256


class DocumentTask:
    """Reads one document: read() the chunks, then end() for the outcome; release() in any case.

    The calls of the parser run one after the other: of a document that is one chunk and one batch in `thread`, which
    keeps the order of such documents, of a larger one then in any of the `threads`. `has_emitted`: items are out that a
    retry must not repeat. A request with a `resume` point is parsed from its beginning, but emits only what follows;
    one that is read with `reread` emits only what was dropped the first time. `on_link(ref)` is called with each child
    at once; `on_batch(batch)` takes all items, and waits if the consumer is slow. `ask_fallback(body, url)` runs the
    feed fallback.
    """

    def __init__(
        self,
        request: DocumentRequest,
        parser: DocumentParser,
        thread: ThreadPool,
        threads: ThreadPool,
        *,
        on_link: Callable[[SitemapRef], object],
        on_batch: Callable[[Batch], Awaitable[None]],
        ask_fallback: Callable[[bytes, str | None], Awaitable[FallbackAnswer]],
    ) -> None:
        self.has_emitted = request.resume is not None or request.reread is not None
        self._request = request
        self._parser = parser
        self._thread = thread
        self._threads = threads
        self._is_large = False
        self._call: Future[Any] | None = None  # the last one
        self._on_link = on_link
        self._on_batch = on_batch
        self._ask_fallback = ask_fallback
        self._deferred: Batch = []  # until the first entry; of a probe, until it is a sitemap

    @property
    def robots_text(self) -> str:
        """The body of a robots.txt."""
        return self._parser.robots_text

    async def read(self, chunks: AsyncIterator[bytes]) -> None:
        """Parses chunks and emits their items, until the bytes end or no more are needed."""
        async for chunk in chunks:
            self._is_large = self._call is not None
            batches, is_done = self._parser.parse(chunk), False
            while not is_done:
                batch, is_done = await self._run(take_batch, batches)
                self._is_large = self._is_large or not is_done
                await self._emit(batch)
            if self._parser.needs_no_more:
                return

    @property
    def lists_pages(self) -> bool:
        """Whether its format is known, and one without links to other documents."""
        return self._parser.format in _PAGES

    @property
    def has_caught_up(self) -> bool:
        """Whether it is at least as far as an earlier try."""
        return self._parser.has_caught_up

    def resume_point(self) -> ResumePoint:
        """Returns where a retry can continue."""
        return ResumePoint(self._parser.prefix, self._parser.items, self._outcome())

    async def end(self, *, cut: bool = False) -> Outcome:
        """Emits the last items and returns the outcome; `cut`: the bytes broke off."""
        parser = self._parser
        batch = await self._run(parser.end, cut=cut)
        if parser.fallback_request:
            await self._emit(batch)
            batch = await self._run(parser.finish, await self._ask_fallback(*parser.fallback_request))
        await self._emit(batch, final=True)
        if parser.is_shorter and not cut:
            raise DocumentChanged("the document became shorter between two tries; the records read before are kept")
        return self._outcome()

    def release(self) -> None:
        """Frees the memory of the parser; if this task was cancelled, when the parser's current call has ended."""
        parser, call = self._parser, self._call
        if call is None:
            parser.release()
        else:
            call.add_done_callback(lambda _: parser.release())  # with a reference to the task it would be a cycle

    async def _run(self, call: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs) -> Result:
        """Returns the result of a call of the parser in a thread."""
        threads = self._threads if self._is_large else self._thread
        self._call = future = threads.submit(call, *args, **kwargs)
        return await asyncio.wrap_future(future)

    def _outcome(self) -> Outcome:
        self._request.dates = None if self._parser.dates is None else self._parser.dates.summary()
        if self._request.reread:
            self._request.reread.regained.update(self._parser.regained)
        return self._parser.outcome

    async def _emit(self, batch: Batch, *, final: bool = False) -> None:
        """Passes items on, but defers problems that a retry might repeat, until there is a first entry."""
        self.has_emitted = self.has_emitted or self._parser.has_yielded
        # The frontier reports an HTML page instead of robots.txt itself: it knows what else was found.
        self._deferred += [item for item in batch if not _is_html_problem(item)] if self._request.is_robots else batch
        for start in range(0, len(batch), _SLICE_ITEMS):
            for item in batch[start : start + _SLICE_ITEMS]:
                if isinstance(item, SitemapRef):
                    self._on_link(item)
            await asyncio.sleep(0)
        if not (final or self.has_emitted or len(self._deferred) >= _DEFERRED_ITEMS):
            return
        if self._deferred and not (self._request.is_probe and self._parser.format not in SITEMAP_FORMATS):
            batch, self._deferred = self._deferred, []
            self.has_emitted = True
            await self._on_batch(batch)


def _is_html_problem(item: object) -> bool:
    return isinstance(item, Problem) and item.code == "F05"


async def run_fallback(fallback: FeedFallback, body: bytes, url: str | None, *, limits: Limits) -> FallbackAnswer:
    """Returns the result of a feed fallback, or its error. Cancelling this kills feedparser.

    It runs in a thread of its own: it may take long, and other documents are read meanwhile.
    """
    cancelled, context, thread = threading.Event(), copy_context(), ThreadPool("sitemap-reader-fallback")
    context.run(CANCELLED.set, cancelled)
    try:
        return await thread.run(context.run, partial(fallback, body, url, limits=limits))
    except SitemapReaderError as error:
        return error
    finally:
        cancelled.set()
        await thread.close()
