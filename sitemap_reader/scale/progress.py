"""Progress of a harvest: events of workers and manifests of shards in, totals and an estimated end out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import attrs
from tqdm.std import tqdm

from ..client.progressbar import BarState, size_of
from .shard import ShardProgress

if TYPE_CHECKING:
    from collections.abc import Iterable


@attrs.frozen
class HarvestProgress:
    """Totals of a harvest so far; `not_whole` counts hosts of which something may be missing.

    `shards_at_once` shards are read at the same time. `dashboard` is the URL of Dask's dashboard. `eta_seconds` is the
    estimated time left; None until a host is done.
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


class ProgressTracker:
    """Adds up the progress of shards; now() returns the totals."""

    def __init__(self, hosts: int, shards: int, finished: Iterable[dict[str, Any]], dashboard: str) -> None:
        """`finished` are the manifests of an earlier run of the harvest."""
        self._hosts = hosts
        self._shards = shards
        self._dashboard = dashboard
        self._done: dict[int, ShardProgress] = {}
        self._running: dict[int, ShardProgress] = {}
        self._failed: set[int] = set()
        self._workers: dict[int, set[str]] = {}
        self._started = time.monotonic()
        for manifest in finished:
            self.done(manifest)
        self._hosts_before = sum(progress.hosts for progress in self._done.values())

    def update(self, event: dict[str, Any]) -> None:
        """Takes an event of a worker: its progress with a shard. May come from another thread, and late."""
        shard = event["shard"]
        self._workers.setdefault(shard, set()).add(event["worker"])
        self._running[shard] = ShardProgress(**{field.name: event[field.name] for field in attrs.fields(ShardProgress)})

    def done(self, manifest: dict[str, Any]) -> None:
        """Takes the manifest of a shard that is done."""
        self._done[manifest["shard"]] = ShardProgress.of(manifest)

    def failed(self, shard: int) -> None:
        """Leaves a shard out of the totals."""
        self._failed.add(shard)

    @property
    def restarts(self) -> dict[int, int]:
        """Shard -> how often it was begun again, by another worker."""
        return {shard: len(workers) - 1 for shard, workers in self._workers.items() if len(workers) > 1}

    def now(self, shards_at_once: int) -> HarvestProgress:
        """The totals."""
        over = self._done.keys() | self._failed
        running = self._running.copy()
        tallies = [*self._done.values(), *(progress for shard, progress in running.items() if shard not in over)]
        seconds = time.monotonic() - self._started
        hosts = sum(progress.hosts for progress in tallies)
        read = hosts - self._hosts_before
        return HarvestProgress(
            hosts_done=hosts,
            hosts=self._hosts,
            urls=sum(progress.urls for progress in tallies),
            bytes_wire=sum(progress.bytes_wire for progress in tallies),
            not_whole=sum(progress.not_whole for progress in tallies),
            shards_done=len(self._done),
            shards=self._shards,
            shards_at_once=shards_at_once,
            dashboard=self._dashboard,
            seconds=seconds,
            eta_seconds=seconds * (self._hosts - hosts) / read if read else None,
        )


def bar_state(progress: HarvestProgress) -> BarState:
    """The state of a progress bar: `hosts  312/1,000 [00:41, 1,204,331 URLs, 88.1 MB, 3 not whole, 00:58 left]`."""
    text = f"{progress.urls:,} URLs, {size_of(progress.bytes_wire)}"
    if progress.not_whole:
        text += f", {progress.not_whole:,} not whole"
    if progress.eta_seconds is not None:
        text += f", {tqdm.format_interval(round(progress.eta_seconds))} left"
    return BarState(progress.hosts_done, progress.hosts, text)
