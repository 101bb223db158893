"""The task: one shard, from the list of its hosts to its parts. Runs on a worker, a few hosts at once.

In: a folder that every worker sees, the number of a shard, and what is asked. Out: the shard's manifest, and its files
in their places. A shard that is done already is not done again; what stops it leaves nothing of it behind.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import attrs

from ..crawl.aside import Aside
from ..errors import StateError
from .hosts import by_domain
from .parts import Parts
from .site import read_site
from .tables import NAMED, NOT_WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .folder import Folder
    from .order import Order
    from .tables import HostRow

# How often is told how far it is.
TELL_SECONDS = 1.0


@attrs.define
class Tally:
    """How far a try at a shard is. Of hosts that are `not_whole` something may be missing."""

    hosts: int = 0
    urls: int = 0
    bytes_wire: int = 0
    not_whole: int = 0


def harvest_shard(
    folder: Folder, shard: int, order: Order, tell: Callable[[Tally], None] = lambda tally: None
) -> dict[str, Any]:
    """Reads its hosts. OSError or StateError where its files cannot be written, CalledOff where nobody wants them."""
    return folder.manifest(shard) or asyncio.run(_Shard(folder, shard, order, tell).read())


class _Shard:
    """One try."""

    def __init__(self, folder: Folder, shard: int, order: Order, tell: Callable[[Tally], None]) -> None:
        self._folder = folder
        self._number = shard
        self._order = order
        self._tell = tell
        self._domains = by_domain(folder.targets(shard))
        # Files are written, and the state is asked, in one thread: one host after the other.
        self._aside = Aside("sitemap-reader-parts")
        self._running: dict[str, Tally] = {}
        self._done = Tally()
        self._verdicts: dict[str, int] = {}
        self._sums = {"urls": 0, "sitemaps": 0, "problems": 0, "bytes_wire": 0}
        self._given_up: list[dict[str, str | None]] = []

    async def read(self) -> dict[str, Any]:
        """All its hosts, and then its files into their places."""
        started = time.monotonic()
        shared_by = self._order.hosts_at_once if self._order.state else None
        parts = Parts(self._folder, self._number, state_shared_by=shared_by)
        try:
            await self._read_all(parts)
            told = {
                "hosts": self._done.hosts,
                "verdicts": self._verdicts,
                **self._sums,
                "seconds": round(time.monotonic() - started, 3),
                "given_up": self._given_up,
            }
            return await self._aside.do(parts.publish, told)
        except (OSError, StateError):
            if parts.are_gone:  # then they cannot be written either
                raise self._folder.called_off() from None
            raise
        finally:
            try:
                await self._aside.do(parts.close)  # behind what hosts that were left have begun
            finally:
                await self._aside.close()

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
            raise _first(group) from None
        self._tell(self._tally())

    async def _read_some(self, parts: Parts, waiting: Iterable[tuple[str, list[str]]]) -> None:
        """One domain after the other; of a domain one host after the other."""
        for domain, targets in waiting:
            for target in targets:
                tally = self._running[target] = Tally()
                row = await read_site(target, domain, self._order, parts, self._aside, tally)
                del self._running[target]
                await self._aside.do(parts.host, row)
                self._enter(row)

    def _enter(self, row: HostRow) -> None:
        self._verdicts[row.verdict] = self._verdicts.get(row.verdict, 0) + 1
        for name in self._sums:
            self._sums[name] += getattr(row, name)
        self._done.hosts += 1
        self._done.urls += row.urls
        self._done.bytes_wire += row.bytes_wire
        self._done.not_whole += row.verdict in NOT_WHOLE
        if row.verdict in NAMED:
            self._given_up.append({"site": row.site, "verdict": row.verdict, "why": row.why})

    def _tally(self) -> Tally:
        tally = attrs.evolve(self._done)
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


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    """What ended it: the others were cancelled for it."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
