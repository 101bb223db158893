"""The task: one shard, from the list of its hosts to its parts. Runs on a worker, a few hosts at once.

In: a folder that every worker sees, the number of a shard, and what is asked. Out: the shard's manifest, and its files
in their places. A shard that is done already is not done again; what stops it leaves nothing of it behind.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack, aclosing
from errno import EMFILE, ENFILE, ENOMEM, ENOSPC
from typing import TYPE_CHECKING, Any

import attrs

from ..client.query import Query
from ..client.reader import SitemapReader
from ..client.streams import ChangeWalk, batches_of
from ..client.targets import site_target
from ..client.thread_bridge import first_failure
from ..model.errors import NothingFound, StateError
from ..model.problems import report
from ..pipeline.document_parser import LineOptions
from ..pipeline.executor import WorkerThread
from ..state.sync import SyncPlan
from .folder import NAMED, NOT_WHOLE, SUMS, HostRow, Parts
from .hosts import by_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ..client.streams import Walk
    from ..pipeline.document_parser import Batch
    from ..serialize.jsonl import Lines
    from .folder import Folder, Verdict
    from .options import HarvestOrder


# ----------------------------------------------------------------------------------------------------
# One host of a harvest, from its name to its row: what it gives goes to the parts on the way.
#
# A host that hangs, or never ends, is left when its time or its URLs are up, and what it gave is kept. Its time is that
# in which it is waited for: it does not pay for the others of its shard. What goes wrong with it is said in its row;
# only
# what goes wrong here, with files or memory, is raised.


async def read_site(
    target: str, domain: str, order: HarvestOrder, parts: Parts, aside: WorkerThread, tally: Tally
) -> HostRow:
    """Reads a host; the `tally` tells meanwhile how far it is."""
    return await _Site(target, domain, order, parts, aside, tally).read()


class _Site:
    """What belongs to one host. What touches the parts runs in the thread beside the loop."""

    def __init__(
        self, target: str, domain: str, order: HarvestOrder, parts: Parts, aside: WorkerThread, tally: Tally
    ) -> None:
        self._target = target
        self._domain = domain
        self._order = order
        self._parts = parts
        self._worker_thread = aside
        self._tally = tally

    async def read(self) -> HostRow:
        started = time.monotonic()
        async with SitemapReader(**self._order.reading) as reader:
            walk = await self._worker_thread.run(self._walk, reader)
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
        query = Query(**self._order.filters, on_item=lambda item: self._parts.hear(item, self._target))
        site, state = site_target(self._target), self._parts.state
        if state is None:
            return reader.walk(site, query, as_lines=LineOptions(self._target))
        plan = SyncPlan(query.trust_lastmod, accept_removals=self._order.accept_removals)
        return reader.change_walk(site, query, state, plan, None, site=self._target)

    async def _walked(self, walk: Walk) -> tuple[Verdict, str | None]:
        """What it comes to, and why."""
        ending = ExitStack()
        ending.enter_context(walk.reading())
        try:
            left = await self._take_all(walk)
            if left is None and isinstance(walk, ChangeWalk):
                await self._worker_thread.run(self._write, walk.last_lines())
        finally:
            await asyncio.shield(self._worker_thread.run(ending.close))  # also of a host that is left while it ends
        return left or _verdict(walk)

    async def _take_all(self, walk: Walk) -> tuple[Verdict, str] | None:
        """All that it gives; why it was left, if it was."""
        order, seconds = self._order, self._order.host_seconds
        async with aclosing(batches_of(walk.run)) as batches:
            while True:
                since = time.monotonic()
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
                seconds -= time.monotonic() - since
                await self._worker_thread.run(self._take, walk, batch)
                if self._tally.urls > order.host_urls:
                    return await self._give_up(walk, f"it has given {self._tally.urls:,} URLs", "host_urls")

    async def _give_up(self, walk: Walk, why: str, option: str) -> tuple[Verdict, str]:
        told = f"{why}: read no further; a later harvest may have more {option} (--{option.replace('_', '-')})"
        await self._worker_thread.run(walk.count, [report("S16", told, sitemap=self._target)])
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
        return ("blocked" if walk.summary_builder.blocked else "unreadable"), str(error)
    held_back = walk.state_sync.counts.held_back if isinstance(walk, ChangeWalk) else 0
    if held_back:
        return "partial", f"{held_back:,} removals are held back"
    if not summary.complete:
        return "partial", summary.missing()
    if summary.urls or summary.dropped or summary.unwanted or summary.pruned or summary.not_modified:
        return "complete", None
    return "nothing", "its sitemaps list no URL"


# How often is told how far it is.
TELL_SECONDS = 1.0


@attrs.define
class Tally:
    """How far a try at a shard is. Of hosts that are `not_whole` something may be missing."""

    hosts: int = 0
    urls: int = 0
    bytes_wire: int = 0
    not_whole: int = 0

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Tally:
        """What a manifest tells, or what will be one."""
        not_whole = sum(told["verdicts"].get(name, 0) for name in NOT_WHOLE)
        return cls(told["hosts"], told["urls"], told["bytes_wire"], not_whole)


def harvest_shard(
    folder: Folder, shard: int, order: HarvestOrder, tell: Callable[[Tally], None] = lambda tally: None
) -> dict[str, Any]:
    """Reads its hosts. OSError or StateError where its files cannot be written, CalledOff where nobody wants them."""
    return folder.manifest(shard) or asyncio.run(_Shard(folder, shard, order, tell).read())


class _Shard:
    """One try."""

    def __init__(self, folder: Folder, shard: int, order: HarvestOrder, tell: Callable[[Tally], None]) -> None:
        self._folder = folder
        self._number = shard
        self._order = order
        self._tell = tell
        self._domains = by_domain(folder.targets(shard))
        # Files are written, and the state is asked, in one thread: one host after the other.
        self._worker_thread = WorkerThread("sitemap-reader-parts")
        self._running: dict[str, Tally] = {}
        # What the manifest will tell of the hosts that are done.
        self._told: dict[str, Any] = {"hosts": 0, "verdicts": {}, **dict.fromkeys(SUMS, 0), "given_up": []}

    async def read(self) -> dict[str, Any]:
        """All its hosts, and then its files into their places."""
        started = time.monotonic()
        shared_by = self._order.hosts_at_once if self._order.state else None
        parts = Parts(self._folder, self._number, state_shared_by=shared_by)
        try:
            await self._read_all(parts)
            seconds = round(time.monotonic() - started, 3)
            return await self._worker_thread.run(parts.publish, {**self._told, "seconds": seconds})
        except (OSError, StateError):
            if parts.are_gone:  # then they cannot be written either
                raise self._folder.called_off() from None
            raise
        finally:
            try:
                await self._worker_thread.run(parts.close)  # behind what hosts that were left have begun
            finally:
                await self._worker_thread.close()

    async def _read_all(self, parts: Parts) -> None:
        # Of a domain with many hosts each waits for the one before: it begins first.
        waiting = iter(sorted(self._domains.items(), key=lambda each: -len(each[1])))
        try:
            async with asyncio.TaskGroup() as ticking:
                ticks = ticking.create_task(self._tick(parts))
                async with asyncio.TaskGroup() as tasks:
                    for _ in range(min(self._order.hosts_at_once, len(self._domains))):
                        tasks.create_task(self._read_some(parts, waiting))
                ticks.cancel()
        except* Exception as group:
            raise first_failure(group) from None  # the others were cancelled for it
        self._tell(self._tally())

    async def _read_some(self, parts: Parts, waiting: Iterable[tuple[str, list[str]]]) -> None:
        """One domain after the other; of a domain one host after the other."""
        for domain, targets in waiting:
            for target in targets:
                tally = self._running[target] = Tally()
                row = await read_site(target, domain, self._order, parts, self._worker_thread, tally)
                await self._worker_thread.run(parts.host, row)
                del self._running[target]  # until it is entered, what it has given counts here
                self._enter(row)

    def _enter(self, row: HostRow) -> None:
        told, verdicts = self._told, self._told["verdicts"]
        told["hosts"] += 1
        verdicts[row.verdict] = verdicts.get(row.verdict, 0) + 1
        for name in SUMS:
            told[name] += getattr(row, name)
        if row.verdict in NAMED:
            told["given_up"].append({"site": row.site, "verdict": row.verdict, "why": row.why})

    def _tally(self) -> Tally:
        tally = Tally.of(self._told)
        for running in self._running.values():
            tally.urls += running.urls
            tally.bytes_wire += running.bytes_wire
        return tally

    async def _tick(self, parts: Parts) -> None:
        """Tells how far it is; and looks whether anybody still wants that."""
        while True:
            self._tell(self._tally())
            await asyncio.sleep(TELL_SECONDS)
            parts.check()
