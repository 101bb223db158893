"""One host of a harvest, from its name to its row: what it gives goes to the parts on the way.

A host that hangs, or never ends, is left when its time or its URLs are up, and what it gave is kept. Its time is that
in which it is waited for: it does not pay for the others of its shard. What goes wrong with it is said in its row; only
what goes wrong here, with files or memory, is raised.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack, aclosing
from errno import EMFILE, ENFILE, ENOMEM, ENOSPC
from typing import TYPE_CHECKING

from ..client.query import Asked
from ..client.reader import SitemapReader
from ..client.streams import batches_of
from ..client.syncing import ChangeWalk
from ..client.targets import site_target
from ..model.errors import NothingFound
from ..model.problems import report
from ..pipeline.document_parser import AsLines
from ..state.sync import SyncPlan
from .tables import HostRow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..client.streams import Walk
    from ..pipeline.aside import Aside
    from ..pipeline.crawl import Batch
    from ..serialize.jsonl import Lines
    from .options import Order
    from .parts import Parts
    from .shard import Tally
    from .tables import Verdict


async def read_site(
    target: str, domain: str, order: Order, parts: Parts, aside: Aside, tally: Tally
) -> HostRow:
    """Reads a host; the `tally` tells meanwhile how far it is."""
    return await _Site(target, domain, order, parts, aside, tally).read()


class _Site:
    """What belongs to one host. What touches the parts runs in the thread beside the loop."""

    def __init__(
        self, target: str, domain: str, order: Order, parts: Parts, aside: Aside, tally: Tally
    ) -> None:
        self._target = target
        self._domain = domain
        self._order = order
        self._parts = parts
        self._aside = aside
        self._tally = tally

    async def read(self) -> HostRow:
        started = time.monotonic()
        async with SitemapReader(**self._order.reading) as reader:
            walk = await self._aside.do(self._walk, reader)
            verdict, why = await self._walked(walk)
        summary = walk.summary()
        return HostRow(
            self._target,
            self._domain,
            verdict,
            why,
            urls=summary.urls,
            sitemaps=summary.sitemaps,
            problems=summary.problems,
            bytes_wire=walk.progress().bytes_wire,
            seconds=round(time.monotonic() - started, 3),
        )

    def _walk(self, reader: SitemapReader) -> Walk:
        asked = Asked(**self._order.filters, on_item=lambda item: self._parts.hear(item, self._target))
        site, state = site_target(self._target), self._parts.state
        if state is None:
            return reader.walk(site, asked, as_lines=AsLines(self._target))
        plan = SyncPlan(asked.trust_lastmod, accept_removals=self._order.accept_removals)
        return reader.change_walk(site, asked, state, plan, None, site=self._target)

    async def _walked(self, walk: Walk) -> tuple[Verdict, str | None]:
        """What it comes to, and why."""
        ending = ExitStack()
        ending.enter_context(walk.reading())
        try:
            left = await self._take_all(walk)
            if left is None and isinstance(walk, ChangeWalk):
                await self._aside.do(self._write, walk.last_lines())
        finally:
            await asyncio.shield(self._aside.do(ending.close))  # also of a host that is left while it ends
        return left or _verdict(walk)

    async def _take_all(self, walk: Walk) -> tuple[Verdict, str] | None:
        """All that it gives; why it was left, if it was."""
        order, seconds = self._order, self._order.host_seconds
        async with aclosing(batches_of(walk.run)) as batches:
            while True:
                asked = time.monotonic()
                try:
                    async with asyncio.timeout(seconds) as waiting:
                        batch = await anext(batches)
                except StopAsyncIteration:
                    return None
                except Exception as exc:
                    if waiting.expired():
                        return await self._give_up(walk, f"{order.host_seconds:g} s are up", "host_seconds")
                    if _is_ours(exc):
                        raise
                    # Not all others are to be lost for this one.
                    return "failed", f"please report it: {type(exc).__name__}: {exc}"
                seconds -= time.monotonic() - asked
                await self._aside.do(self._take, walk, batch)
                if self._tally.urls > order.host_urls:
                    return await self._give_up(walk, f"it has given {self._tally.urls:,} URLs", "host_urls")

    async def _give_up(self, walk: Walk, why: str, option: str) -> tuple[Verdict, str]:
        told = f"{why}: read no further; a later harvest may have more {option} (--{option.replace('_', '-')})"
        await self._aside.do(walk.enter, [report("S16", told, sitemap=self._target)])
        return "given_up", told

    def _take(self, walk: Walk, batch: Batch) -> None:
        self._write(walk.change_lines(batch) if isinstance(walk, ChangeWalk) else walk.lines(batch))
        progress = walk.progress()
        self._tally.urls, self._tally.bytes_wire = progress.urls, progress.bytes_wire

    def _write(self, lines: Iterator[Lines]) -> None:
        for some in lines:
            self._parts.urls(some.data, some.urls)


def _is_ours(error: Exception) -> bool:
    """Whether it is this machine that has no more to give."""
    return isinstance(error, MemoryError) or getattr(error, "errno", None) in (EMFILE, ENFILE, ENOMEM, ENOSPC)


def _verdict(walk: Walk) -> tuple[Verdict, str | None]:
    """Of a host that was read to its end."""
    summary, error = walk.summary(), walk.verdict()
    if error is not None:
        if isinstance(error, NothingFound):
            return "nothing", str(error)
        return ("blocked" if walk.ledger.blocked else "unreadable"), str(error)
    held_back = walk.following.counts.held_back if isinstance(walk, ChangeWalk) else 0
    if held_back:
        return "partial", f"{held_back:,} removals are held back"
    if not summary.complete:
        return "partial", summary.missing()
    if summary.urls or summary.dropped or summary.unwanted or summary.pruned or summary.not_modified:
        return "complete", None
    return "nothing", "its sitemaps list no URL"
