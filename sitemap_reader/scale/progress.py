"""How far a harvest is: what workers tell and what shards came to in; totals, and when it may be over, out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import attrs
from tqdm.std import tqdm

from ..client.progressbar import BarState, size_of
from .shard import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable


@attrs.frozen
class HarvestProgress:
    """Of hosts that are `not_whole` something may be missing; `shards_at_once` are read at the same time.

    `dashboard` is the URL of Dask's. `eta_seconds`: in how long it may be done, None until that can be told.
    """

    hosts_done: int
    hosts: int
    urls: int
    bytes_wire: int
    not_whole: int
    shards_done: int
    shards: int
    shards_at_once: int
    dashboard: str
    seconds: float
    eta_seconds: float | None


class Counting:
    """hear() what workers tell, done() with a shard; now() tells how far all is."""

    def __init__(self, hosts: int, shards: int, finished: Iterable[dict[str, Any]], dashboard: str) -> None:
        """`finished` are the manifests of an earlier try at the harvest."""
        self._hosts = hosts
        self._shards = shards
        self._dashboard = dashboard
        self._done: dict[int, Tally] = {}
        self._running: dict[int, Tally] = {}
        self._failed: set[int] = set()
        self._workers: dict[int, set[str]] = {}
        self._started = time.monotonic()
        for manifest in finished:
            self.done(manifest)
        self._hosts_before = sum(tally.hosts for tally in self._done.values())

    def hear(self, told: dict[str, Any]) -> None:
        """A worker tells how far it is with a shard. May come from another thread, and late."""
        shard = told["shard"]
        self._workers.setdefault(shard, set()).add(told["worker"])
        self._running[shard] = Tally(**{field.name: told[field.name] for field in attrs.fields(Tally)})

    def done(self, manifest: dict[str, Any]) -> None:
        """A shard is done."""
        self._done[manifest["shard"]] = Tally.of(manifest)

    def failed(self, shard: int) -> None:
        """Nothing of it counts."""
        self._failed.add(shard)

    @property
    def again(self) -> dict[int, int]:
        """Shard -> how often it was begun anew, by another worker."""
        return {shard: len(workers) - 1 for shard, workers in self._workers.items() if len(workers) > 1}

    def now(self, shards_at_once: int) -> HarvestProgress:
        """How far it is."""
        over = self._done.keys() | self._failed
        running = self._running.copy()
        tallies = [*self._done.values(), *(tally for shard, tally in running.items() if shard not in over)]
        seconds = time.monotonic() - self._started
        hosts = sum(tally.hosts for tally in tallies)
        read = hosts - self._hosts_before
        return HarvestProgress(
            hosts_done=hosts,
            hosts=self._hosts,
            urls=sum(tally.urls for tally in tallies),
            bytes_wire=sum(tally.bytes_wire for tally in tallies),
            not_whole=sum(tally.not_whole for tally in tallies),
            shards_done=len(self._done),
            shards=self._shards,
            shards_at_once=shards_at_once,
            dashboard=self._dashboard,
            seconds=seconds,
            eta_seconds=seconds * (self._hosts - hosts) / read if read else None,
        )


def shown(progress: HarvestProgress) -> BarState:
    """On a bar: `hosts  312/1,000 [00:41, 1,204,331 URLs, 88.1 MB, 3 not whole, 00:58 left]`."""
    told = f"{progress.urls:,} URLs, {size_of(progress.bytes_wire)}"
    if progress.not_whole:
        told += f", {progress.not_whole:,} not whole"
    if progress.eta_seconds is not None:
        told += f", {tqdm.format_interval(round(progress.eta_seconds))} left"
    return BarState(progress.hosts_done, progress.hosts, told)
