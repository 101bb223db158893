"""The task: one shard, from the list of its hosts to its parts. Runs on a worker, a few hosts at once.

In: a folder that every worker sees, the number of a shard, and what is asked. Out: the shard's manifest, and its files
in their places. A shard that is done already is not done again; what stops it leaves nothing of it behind.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import attrs

from ..client.callbacks import first_failure
from ..model.errors import StateError
from ..pipeline.aside import Aside
from .hosts import by_domain
from .parts import Parts
from .site import read_site
from .tables import NAMED, NOT_WHOLE, SUMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .folder import Folder
    from .options import Order
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

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Tally:
        """What a manifest tells, or what will be one."""
        not_whole = sum(told["verdicts"].get(name, 0) for name in NOT_WHOLE)
        return cls(told["hosts"], told["urls"], told["bytes_wire"], not_whole)


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
            return await self._aside.do(parts.publish, {**self._told, "seconds": seconds})
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
            raise first_failure(group) from None  # the others were cancelled for it
        self._tell(self._tally())

    async def _read_some(self, parts: Parts, waiting: Iterable[tuple[str, list[str]]]) -> None:
        """One domain after the other; of a domain one host after the other."""
        for domain, targets in waiting:
            for target in targets:
                tally = self._running[target] = Tally()
                row = await read_site(target, domain, self._order, parts, self._aside, tally)
                await self._aside.do(parts.host, row)
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
