"""The body of one answer: wire bytes in, items out, to the frontier what it must know.

Bytes become items beside the event loop, in a Hand; what is done on it is done in slices, so that everybody else has
his turn. Never decides whether to try again.
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
from .feedparser_process import Children

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from ..frontier.document_request import DocumentRequest
    from ..model.limits import Limits
    from ..parser.dialects.feed_fallback import FeedFallback
    from .document_parser import Answer, Piece
    from .executor import ParseExecutor

_PAGES = SITEMAP_FORMATS - {Format.INDEX}
# How many problems may wait for the first entry of their document.
_HELD_ITEMS = 64
# How many children of an index are told in one turn on the loop: each takes some tens of microseconds.
_SLICE_ITEMS = 256


class Reading:
    """read() the chunks, then end() for the outcome. `given` says whether anything is out that must not come twice.

    A visit that was `reached` before is read anew up to there, and nothing of it given again. One that is read `again`
    gives what was dropped the first time, and nothing else: the `hand` sees to that. `found(ref)` hears of each child
    at once, `put(piece)` takes the rest, and may make this wait. `ask(body, url)` is the feed fallback.
    """

    def __init__(
        self,
        request: DocumentRequest,
        hand: ParseExecutor,
        *,
        found: Callable[[SitemapRef], object],
        put: Callable[[Piece], Awaitable[None]],
        ask: Callable[[bytes, str | None], Awaitable[Answer]],
    ) -> None:
        self.given = request.resume is not None or request.reread is not None
        self._request = request
        self._hand = hand
        self._found = found
        self._put = put
        self._ask = ask
        self._held: Piece = []  # before the first entry, and of a guess that has not proved right yet

    @property
    def robots_text(self) -> str:
        """The body of a robots.txt."""
        return self._hand.robots_text

    async def read(self, chunks: AsyncIterator[bytes]) -> None:
        """Feeds until the bytes end or no more are needed."""
        hand = self._hand
        async for chunk in chunks:
            hand.feed(chunk)
            while (piece := await hand.piece()) is not None:
                await self._give(piece)
            if hand.state.needs_no_more:
                return

    @property
    def lists_pages(self) -> bool:
        """Whether it is known to name no other documents: the walk needs nothing more of it to go on."""
        return self._hand.state.format in _PAGES

    @property
    def has_caught_up(self) -> bool:
        """Whether it is at least as far as an earlier try was."""
        return self._hand.state.has_caught_up

    def reached(self) -> ResumePoint:
        """How far it is."""
        state = self._hand.state
        return ResumePoint(state.prefix, state.items, self._outcome())

    async def end(self, *, cut: bool = False) -> Outcome:
        """The last items, then what became of the document; `cut` where its bytes broke off."""
        hand = self._hand
        piece = await hand.end(cut=cut)
        if hand.state.question:
            await self._give(piece)
            piece = await hand.finish(await self._ask(*hand.state.question))
        await self._give(piece, final=True)
        if hand.state.is_shorter and not cut:
            raise DocumentChanged("the document became shorter between two tries; what was read of it stands")
        return self._outcome()

    async def lost(self) -> Outcome:
        """The end where there is no hand any more: what it gave stands."""
        await self._give([], final=True)
        outcome = self._outcome()
        outcome.complete = False
        return outcome

    def release(self) -> None:
        """It is over, however it ended."""
        self._hand.release()

    def _outcome(self) -> Outcome:
        state = self._hand.state
        self._request.dates = state.dates
        if self._request.reread:
            self._request.reread.regained.update(state.regained)
        return state.outcome

    async def _give(self, piece: Piece, *, final: bool = False) -> None:
        """Passes on, but for what another try might have to say again."""
        state = self._hand.state
        self.given = self.given or state.has_given
        # The walk reports an HTML page in place of a robots.txt: it knows what else was found.
        self._held += [item for item in piece if not _is_of_page(item)] if self._request.is_robots else piece
        for start in range(0, len(piece), _SLICE_ITEMS):
            for item in piece[start : start + _SLICE_ITEMS]:
                if isinstance(item, SitemapRef):
                    self._found(item)
            await asyncio.sleep(0)
        if not (final or self.given or len(self._held) >= _HELD_ITEMS):
            return
        if self._held and not (self._request.is_guess and state.format not in SITEMAP_FORMATS):
            batch, self._held = self._held, []
            self.given = True
            await self._put(batch)


def _is_of_page(item: object) -> bool:
    return isinstance(item, Problem) and item.code == "F05"


async def ask_fallback(fallback: FeedFallback, body: bytes, url: str | None, *, limits: Limits) -> Answer:
    """What a feed fallback says, or why it does not. Who is cancelled while feedparser is at work ends it.

    It has a thread of its own: it may take long, and other documents are read meanwhile.
    """
    children, aside = Children(), WorkerThread("sitemap-reader-fallback")
    try:
        return await aside.do(children.watch, partial(fallback, body, url, limits=limits))
    except SitemapReaderError as error:
        return error
    finally:
        children.kill()
        await aside.close()
