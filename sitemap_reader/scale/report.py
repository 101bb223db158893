"""What a harvest came to, by the manifests in its folder: a Harvest out, and the line that ends it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from ..client.summary import count_of
from ..model.errors import UsageError
from .folder import NOT_WHOLE, SUMS, Folder

if TYPE_CHECKING:
    import os

_WORDS = {
    "complete": "complete",
    "partial": "partial",
    "nothing": "without URLs",
    "blocked": "blocked",
    "unreadable": "unreadable",
    "given_up": "given up",
    "failed": "failed",
}


@attrs.frozen
class SkippedHost:
    """A host that was given up, or that we failed with, and why."""

    site: str
    verdict: str
    why: str


@attrs.frozen
class Harvest:
    """What there is in `folder`: `hosts` were asked for, of which each shard that is done tells what became.

    `has_state`: the rows of urls/ are changes. `verdicts` counts the hosts: complete, partial, nothing (no sitemap, or
    no URL in them), blocked (the host refused, or did not answer), unreadable, given_up, failed. `rows` counts those of
    each table; `urls` are those that were read, `bytes_wire` as they came. `given_up` are hosts that were, each with
    why. `failed` says why shards could not be done (the number of a shard -> why), `again` how often one was begun anew
    as its worker was lost, both in this run. `refused` are entries of the list that are no hosts, with the number of
    their line; `repeated` counts those that stood there before.
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
        """Every host was read, and nothing is missing of any."""
        return not self.missing()

    @property
    def hosts_done(self) -> int:
        return sum(self.verdicts.values())

    def __str__(self) -> str:
        urls = f"{count_of(self.urls, 'URL')} from {self._hosts()}"
        parts = [f"{count_of(self.rows.get('urls', 0), 'change')}; {urls} read" if self.has_state else urls]
        parts += [f"{self.verdicts[name]:,} {words}" for name, words in _WORDS.items() if self.verdicts.get(name)]
        if self.problems:
            parts.append(count_of(self.problems, "problem"))
        if self.seconds is not None:
            parts.append(f"{self.seconds:.1f} s")
        return "; ".join(parts)

    def missing(self) -> str:
        """`2 hosts unreadable, 1 shard of 12 not done`; nothing if nothing is missing."""
        parts = [
            f"{count_of(self.verdicts[name], 'host')} {_WORDS[name]}" for name in NOT_WHOLE if self.verdicts.get(name)
        ]
        if self.hosts_done != self.hosts:
            parts.append(f"{count_of(self.hosts - self.hosts_done, 'host')} not read")
        if self.shards_done != self.shards:
            parts.append(f"{self.shards - self.shards_done:,} of {count_of(self.shards, 'shard')} not done")
        return ", ".join(parts)

    def _hosts(self) -> str:
        done = self.hosts_done
        return count_of(done, "host") if done == self.hosts else f"{done:,} of {count_of(self.hosts, 'host')}"


def account(folder: str | os.PathLike[str]) -> Harvest:
    """What the harvest in a folder has come to so far. UsageError where there is none."""
    place = Folder(Path(folder))
    plan = place.plan()
    if plan is None:
        raise UsageError(f"there is no harvest in {folder}")
    found = (place.manifest(shard) for shard in range(plan.shards))
    manifests = [manifest for manifest in found if manifest is not None]
    verdicts, rows, sums = Counter[str](), Counter[str](), Counter[str]()
    for manifest in manifests:
        verdicts.update(manifest["verdicts"])
        rows.update(manifest["rows"])
        sums.update({name: manifest[name] for name in SUMS})
    given_up = tuple(SkippedHost(**each) for manifest in manifests for each in manifest["given_up"])
    summed: dict[str, Any] = {name: sums[name] for name in SUMS}
    return Harvest(
        place.path,
        plan.has_state,
        plan.hosts,
        plan.shards,
        len(manifests),
        {name: verdicts[name] for name in _WORDS if name in verdicts},
        dict(rows),
        **summed,
        given_up=given_up,
    )
