"""The body of one answer: wire bytes in, items out, to the frontier what it must know.

Bytes become items beside the event loop; what is done on it is done in slices, so that everybody else has his turn.
Never decides whether to try again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from ..errors import DocumentChanged
from ..read.sniff import SITEMAP_FORMATS
from ..records import Outcome, SitemapRef, UrlRecord
from ..walk.visit import Reached
from .aside import Aside
from .feedchild import Children

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from ..problems import Problem
    from ..read.document import SitemapParser
    from ..records import Item
    from ..walk.again import Again
    from ..walk.selection import Selection
    from ..walk.visit import Visit

Batch = list["Item"]

# How many problems may wait for the first entry of their document.
_HELD_ITEMS = 64
# How many items are dealt with in one turn on the loop: a child of an index takes some tens of microseconds.
_SLICE_ITEMS = 256


class Reading:
    """read() the chunks, then end() for the outcome. `given` says whether anything is out that must not come twice.

    A visit that was `reached` before is read anew up to there, and nothing of it given again. One that is read `again`
    gives what was dropped the first time, and nothing else. The parser works in `aside`. `found(ref)` hears of each
    child at once; `put(batch)` takes the rest, and may make this wait.
    """

    def __init__(
        self,
        visit: Visit,
        parser: SitemapParser,
        *,
        aside: Aside,
        selection: Selection,
        found: Callable[[SitemapRef], object],
        put: Callable[[Batch], Awaitable[None]],
        peek: bool,
    ) -> None:
        self.given = visit.reached is not None or visit.again is not None
        self._items = 0
        self._skipped = visit.reached.items if visit.reached else 0
        self._visit = visit
        self._parser = parser
        self._aside = aside
        self._selection = selection
        self._found = found
        self._put = put
        self._peek = peek and not visit.is_robots
        self._held: Batch = []  # before the first entry, and of a guess that has not proved right yet
        self._unwanted: Counter[str] = Counter()

    @property
    def robots_text(self) -> str:
        """The body of a robots.txt."""
        return self._parser.robots_text

    async def read(self, chunks: AsyncIterator[bytes]) -> None:
        """Feeds until the bytes end or the parser needs no more."""
        parser = self._parser
        async for chunk in chunks:
            pieces = parser.pieces(chunk)
            while (piece := await self._aside.do(next, pieces, None)) is not None:
                await self._give(piece)
                if self._seen_enough:
                    return
            if parser.stopped:
                return

    @property
    def has_caught_up(self) -> bool:
        """Whether it is at least as far as an earlier try was."""
        return self._items >= self._skipped and not self._parser.is_shorter

    def reached(self) -> Reached:
        """How far it is."""
        return Reached(self._parser.prefix, self._items, self._outcome())

    async def end(self, *, cut: bool = False) -> Outcome:
        """The last items, then what became of the document; `cut` where its bytes broke off."""
        if not self._seen_enough:
            await self._give(await self._closed(cut), final=True)
        if self._parser.is_shorter and not cut:
            raise DocumentChanged("the document became shorter between two tries; what was read of it stands")
        return self._outcome()

    async def _closed(self, cut: bool) -> list[Item]:
        """The parser's last items. Who is cancelled while feedparser is at work ends it.

        feedparser has a thread of its own: it may take long, and other documents are read meanwhile.
        """
        steps = self._parser.closing(cut=cut)
        items = await self._aside.do(_step, steps)
        if not self._parser.awaits_fallback:
            return items + _step(steps)
        children, aside = Children(), Aside("sitemap-reader-fallback")
        try:
            return items + await aside.do(children.watch, partial(_step, steps))
        finally:
            children.kill()
            await aside.close()

    def _outcome(self) -> Outcome:
        outcome = self._parser.outcome
        outcome.dropped.update(self._unwanted)
        outcome.kept -= self._unwanted.total()
        return outcome

    @property
    def _seen_enough(self) -> bool:
        return self._peek and self._parser.format is not None

    async def _give(self, items: list[Item], *, final: bool = False) -> None:
        """Passes on, but for what another try might have to say again."""
        again = self._visit.again
        for start in range(0, len(items), _SLICE_ITEMS):
            some = items[start : start + _SLICE_ITEMS]
            self._held += self._regained(some, again) if again else [item for item in some if self._wanted(item)]
            await asyncio.sleep(0)
        if not (final or self.given or len(self._held) >= _HELD_ITEMS):
            return
        if self._held and not (self._visit.is_guess and self._parser.format not in SITEMAP_FORMATS):
            batch, self._held = self._held, []
            self.given = True
            await self._put(batch)

    def _wanted(self, item: Item) -> bool:
        """Whether an item goes out; children are told to the frontier on the way."""
        self._items += 1
        is_new = self._items > self._skipped
        if isinstance(item, SitemapRef):
            self.given = True
            if is_new:
                self._found(item)
            return is_new
        if not isinstance(item, UrlRecord):
            return is_new
        self.given = True
        return self._chosen(item) and is_new and not self._peek

    def _chosen(self, record: UrlRecord) -> bool:
        """Whether the caller wants it; what he does not is counted."""
        reason = self._selection.refuses(record)
        if reason:
            self._unwanted[reason] += 1
        return reason is None

    def _regained(self, items: list[Item], again: Again) -> list[Item]:
        """What an earlier reading dropped, each with the problems that could not come up then."""
        regained: list[Item] = []
        for item in items:
            self._items += 1
            if not isinstance(item, UrlRecord):
                continue
            reason = again.former.reason(item.loc)
            if self._chosen(item) and reason is not None and self._items > self._skipped:
                again.regained[reason] += 1
                regained += [problem for problem in item.problems if not _was_told(problem)]
                regained.append(item)
        return regained


def _step(steps: Iterator[list[Item]]) -> list[Item]:
    return next(steps, [])


def _was_told(problem: Problem) -> bool:
    """Of an entry that was dropped: its markup and its location had been looked at by then, and nothing else."""
    return problem.field == "loc" or problem.code.startswith("S")
