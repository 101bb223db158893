"""Progress and result of a harvest, summed up from events of workers and manifests of shards."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from tqdm.std import tqdm

from ..client.progressbar import BarState, size_of
from ..client.summary import count_of
from ..model.errors import UsageError
from ..model.options import FOLDER_NAME
from ..pages.rendering import render
from .folder import INCOMPLETE, SUMS, HarvestFolder

if TYPE_CHECKING:
    import os


@attrs.define
class ShardProgress:
    """Counts of one shard so far; of hosts that are `not_whole` something may be missing."""

    hosts: int = 0
    urls: int = 0
    bytes_wire: int = 0
    not_whole: int = 0

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> ShardProgress:
        not_whole = sum(manifest["verdicts"].get(name, 0) for name in INCOMPLETE)
        return cls(manifest["hosts"], manifest["urls"], manifest["bytes_wire"], not_whole)


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
        self._done[manifest["shard"]] = ShardProgress.of(manifest)

    def failed(self, shard: int) -> None:
        self._failed.add(shard)

    @property
    def restarts(self) -> dict[int, int]:
        """Shard -> how often another worker began it again."""
        return {shard: len(workers) - 1 for shard, workers in self._workers.items() if len(workers) > 1}

    def now(self, shards_at_once: int) -> HarvestProgress:
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


VERDICT_WORDS = {
    "complete": "complete",
    "partial": "partial",
    "nothing": "without URLs",
    "blocked": "blocked",
    "unreadable": "unreadable",
    "given_up": "cut short",
    "failed": "failed",
}


@attrs.frozen
class SkippedHost:
    """A host with verdict `given_up` or `failed`, and why."""

    site: str
    verdict: str
    why: str


@attrs.frozen
class Harvest:
    """The result of a harvest of `hosts` hosts in `folder`, as far as its shards are done.

    `has_state`: the rows of urls/ are changes. `verdicts` counts hosts: complete, partial, nothing (no sitemap, or no
    URL in them), blocked (the host or a bot wall refused, or it did not answer), unreadable, given_up, failed. `rows`
    counts the rows of each table; `urls` counts URLs read, `bytes_wire` bytes received. `given_up` are the hosts that
    were skipped for time or size, or failed. `failed` maps the number of a shard to why it is not done, `again` to how
    often it was begun again after a worker died, both in this run. `refused` are lines of the list that are no hosts
    (line number, reason); `repeated` counts hosts that the list has more than once.
    """

    folder: Path
    has_state: bool
    hosts: int
    shards: int
    shards_done: int
    verdicts: dict[str, int]
    rows: dict[str, int]
    urls: int
    sitemaps: int
    problems: int
    bytes_wire: int
    given_up: tuple[SkippedHost, ...]
    failed: dict[int, str] = attrs.field(factory=dict)
    again: dict[int, int] = attrs.field(factory=dict)
    refused: tuple[tuple[int, str], ...] = ()
    repeated: int = 0
    seconds: float | None = None

    @property
    def complete(self) -> bool:
        """Whether every host was read, and nothing is missing."""
        return not self.missing()

    @property
    def hosts_done(self) -> int:
        return sum(self.verdicts.values())

    def __str__(self) -> str:
        done, hosts = self.hosts_done, count_of(self.hosts, "host")
        urls = f"{count_of(self.urls, 'URL')} from {hosts if done == self.hosts else f'{done:,} of {hosts}'}"
        parts = [f"{count_of(self.rows.get('urls', 0), 'change')}; {urls} read" if self.has_state else urls]
        found = ((self.verdicts.get(name), words) for name, words in VERDICT_WORDS.items())
        parts += [f"{count:,} {words}" for count, words in found if count]
        if self.problems:
            parts.append(count_of(self.problems, "problem"))
        if self.seconds is not None:
            parts.append(f"{self.seconds:.1f} s")
        return "; ".join(parts)

    def missing(self) -> str:
        """What is missing, as `2 hosts unreadable, 1 of 12 shards not done`; empty if nothing is."""
        found = ((self.verdicts.get(name), VERDICT_WORDS[name]) for name in INCOMPLETE)
        parts = [f"{count_of(count, 'host')} {words}" for count, words in found if count]
        if self.hosts_done != self.hosts:
            parts.append(f"{count_of(self.hosts - self.hosts_done, 'host')} not read")
        if self.shards_done != self.shards:
            parts.append(f"{self.shards - self.shards_done:,} of {count_of(self.shards, 'shard')} not done")
        return ", ".join(parts)


_PAGE_ROWS = 1_000


def harvest_page(harvest: Harvest, started: datetime) -> str:
    """The result as a self-contained HTML page: hosts by result, and what was skipped or failed."""
    verdicts = [(VERDICT_WORDS[name], count) for name, count in harvest.verdicts.items()]
    skipped = [[each.site, VERDICT_WORDS[each.verdict], each.why] for each in harvest.given_up]
    urls = "Changes of URLs" if harvest.has_state else "URLs"
    rows = {urls: "urls", "Sitemaps": "sitemaps", "Problems": "problems"}
    hosts = [("Host", False), ("Result", False), ("Why", False)]
    shards, lines = [("Shard", False), ("Why", False)], [("Line of the list", False), ("Why", False)]
    return render(
        "harvest.html",
        harvest=harvest,
        started=started,
        counts=[("Hosts read", harvest.hosts_done), *((words, harvest.rows.get(name)) for words, name in rows.items())],
        verdicts=verdicts,
        most=max((count for _, count in verdicts), default=1),
        tables=[
            ("Hosts that were cut short, or failed", hosts, skipped),
            ("Shards that are not done", shards, [[str(shard), why] for shard, why in harvest.failed.items()]),
            ("Lines that are no hosts", lines, [[str(line), why] for line, why in harvest.refused]),
        ],
        limit=_PAGE_ROWS,
    )


def load_harvest(folder: str | os.PathLike[str]) -> Harvest:
    """The result so far of the harvest in a folder, also while it runs; UsageError where there is none."""
    FOLDER_NAME("folder", folder)
    harvest_folder = HarvestFolder(Path(folder))
    plan = harvest_folder.plan()
    if plan is None:
        raise UsageError(f"there is no harvest in {folder}")
    manifests = [manifest for shard in range(plan.shards) if (manifest := harvest_folder.manifest(shard))]
    verdicts, rows, sums = Counter[str](), Counter[str](), Counter[str]()
    for manifest in manifests:
        verdicts.update(manifest["verdicts"])
        rows.update(manifest["rows"])
        sums.update({name: manifest[name] for name in SUMS})
    summed: dict[str, Any] = {name: sums[name] for name in SUMS}
    return Harvest(
        harvest_folder.path,
        plan.has_state,
        plan.hosts,
        plan.shards,
        len(manifests),
        {name: verdicts[name] for name in VERDICT_WORDS if name in verdicts},
        dict(rows),
        **summed,
        given_up=tuple(SkippedHost(**host) for manifest in manifests for host in manifest["given_up"]),
    )
