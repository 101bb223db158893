"""How far a harvest is: what workers tell and what shards came to in; totals, and when it may be over, out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import attrs

from ..progressbar import Shown, size_of
from .shard import FAILURES, Tally

if TYPE_CHECKING:
    from collections.abc import Iterable


@attrs.frozen
class HarvestProgress:
    """`failures` are hosts that could not be read, or not to their end; `at_once` shards are read at the same time.

    `dashboard` is the URL of Dask's. `eta_seconds`: in how long it may be done, None until that can be told.
    """

    hosts_done: int
    hosts: int
    urls: int
    bytes_wire: int
    failures: int
    shards_done: int
    shards: int
    at_once: int
    dashboard: str
    seconds: float
    eta_seconds: float | None


class Counting:
    """hear() what workers tell, done() with a shard; now() tells how far all is."""

    def __init__(self, hosts: int, shards: int, finished: Iterable[dict[str, Any]], dashboard: str) -> None:
        """`finished` are the manifests of an earlier try at the harvest."""
        self.again: dict[int, int] = {}  # shard -> how often it was begun anew
        self._hosts = hosts
        self._shards = shards
        self._dashboard = dashboard
        self._done: dict[int, Tally] = {}
        self._running: dict[int, Tally] = {}
        self._workers: dict[int, str] = {}
        self._started = time.monotonic()
        for manifest in finished:
            self.done(manifest)
        self._hosts_before = sum(tally.hosts for tally in self._done.values())

    def hear(self, told: dict[str, Any]) -> None:
        """A worker tells how far it is with a shard."""
        shard, worker = told["shard"], told["worker"]
        if shard in self._done:
            return
        if self._workers.setdefault(shard, worker) != worker:
            self._workers[shard] = worker
            self.again[shard] = self.again.get(shard, 0) + 1
        self._running[shard] = Tally(**{field.name: told[field.name] for field in attrs.fields(Tally)})

    def done(self, manifest: dict[str, Any]) -> None:
        """A shard is done."""
        shard, verdicts = manifest["shard"], manifest["verdicts"]
        self._running.pop(shard, None)
        failures = sum(verdicts.get(name, 0) for name in FAILURES)
        self._done[shard] = Tally(manifest["hosts"], manifest["urls"], manifest["bytes_wire"], failures)

    def failed(self, shard: int) -> None:
        """Nothing of it counts."""
        self._running.pop(shard, None)

    def now(self, at_once: int) -> HarvestProgress:
        """How far it is."""
        tallies = [*self._done.values(), *self._running.copy().values()]
        seconds = time.monotonic() - self._started
        hosts = sum(tally.hosts for tally in tallies)
        read = hosts - self._hosts_before
        return HarvestProgress(
            hosts_done=hosts,
            hosts=self._hosts,
            urls=sum(tally.urls for tally in tallies),
            bytes_wire=sum(tally.bytes_wire for tally in tallies),
            failures=sum(tally.failures for tally in tallies),
            shards_done=len(self._done),
            shards=self._shards,
            at_once=at_once,
            dashboard=self._dashboard,
            seconds=seconds,
            eta_seconds=seconds * (self._hosts - hosts) / read if read else None,
        )


def shown(progress: HarvestProgress) -> Shown:
    """On a bar: `hosts  312/1,000 [00:41, 1,204,331 URLs, 88.1 MB, 3 failed, 00:58 left]`."""
    told = f"{progress.urls:,} URLs, {size_of(progress.bytes_wire)}"
    if progress.failures:
        told += f", {progress.failures:,} failed"
    if progress.eta_seconds is not None:
        told += f", {_clock(progress.eta_seconds)} left"
    return Shown(progress.hosts_done, progress.hosts, told)


def _clock(seconds: float) -> str:
    """`00:58`, `2:03:10`."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours:,}:{minute:02}:{second:02}" if hours else f"{minute:02}:{second:02}"
