"""The result of a harvest: sums up the manifests in its folder as a Harvest, which prints as one line."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from ..client.summary import count_of
from ..model.errors import UsageError
from .folder import INCOMPLETE, SUMS, HarvestFolder

if TYPE_CHECKING:
    import os

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
    URL in them), blocked (the host refused, or did not answer), unreadable, given_up, failed. `rows` counts the rows of
    each table; `urls` counts URLs read, `bytes_wire` bytes received. `given_up` are the hosts that were skipped for
    time or size, or failed. `failed` maps the number of a shard to why it is not done, `again` to how often it was
    begun again after a worker died, both in this run. `refused` are lines of the list that are no hosts (line number,
    reason); `repeated` counts hosts that the list has more than once.
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
        urls = f"{count_of(self.urls, 'URL')} from {self._hosts()}"
        parts = [f"{count_of(self.rows.get('urls', 0), 'change')}; {urls} read" if self.has_state else urls]
        parts += [
            f"{self.verdicts[name]:,} {words}" for name, words in VERDICT_WORDS.items() if self.verdicts.get(name)
        ]
        if self.problems:
            parts.append(count_of(self.problems, "problem"))
        if self.seconds is not None:
            parts.append(f"{self.seconds:.1f} s")
        return "; ".join(parts)

    def missing(self) -> str:
        """What is missing, as `2 hosts unreadable, 1 of 12 shards not done`; empty if nothing is."""
        parts = [
            f"{count_of(self.verdicts[name], 'host')} {VERDICT_WORDS[name]}"
            for name in INCOMPLETE
            if self.verdicts.get(name)
        ]
        if self.hosts_done != self.hosts:
            parts.append(f"{count_of(self.hosts - self.hosts_done, 'host')} not read")
        if self.shards_done != self.shards:
            parts.append(f"{self.shards - self.shards_done:,} of {count_of(self.shards, 'shard')} not done")
        return ", ".join(parts)

    def _hosts(self) -> str:
        done = self.hosts_done
        return count_of(done, "host") if done == self.hosts else f"{done:,} of {count_of(self.hosts, 'host')}"


def load_harvest(folder: str | os.PathLike[str]) -> Harvest:
    """The result so far of the harvest in a folder, also while it runs; UsageError where there is none."""
    harvest_folder = HarvestFolder(Path(folder))
    plan = harvest_folder.plan()
    if plan is None:
        raise UsageError(f"there is no harvest in {folder}")
    found = (harvest_folder.manifest(shard) for shard in range(plan.shards))
    manifests = [manifest for manifest in found if manifest is not None]
    verdicts, rows, sums = Counter[str](), Counter[str](), Counter[str]()
    for manifest in manifests:
        verdicts.update(manifest["verdicts"])
        rows.update(manifest["rows"])
        sums.update({name: manifest[name] for name in SUMS})
    given_up = tuple(SkippedHost(**host) for manifest in manifests for host in manifest["given_up"])
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
        given_up=given_up,
    )
