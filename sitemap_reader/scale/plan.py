"""plan_harvest(): the plan of a harvest, and its shards, for Dask or any other engine.

In: hosts, the folder, keywords. Out: the shards that are not done, each a value for harvest_shard() on some worker.
The plan is written before the first shard is returned, so that workers, a resumed harvest and load_harvest() need only
the folder.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Unpack

from ..client.keywords import checked_keywords
from ..client.summary import count_of
from ..model.errors import UsageError
from ..model.options import FOLDER_NAME, with_defaults
from ..serialize.arrow import require_pyarrow
from ..serialize.jsonl import stamp
from ..state.sync import settings_difference
from .folder import HarvestFolder, HarvestPlan
from .hosts import HostList, read_hosts, sharded
from .options import PlanOptions
from .shard import HarvestConfig, Shard, make_config

# Some minutes of work: at the end of a shard its slowest host is waited for.
_HOSTS_OF_A_SHARD = 5_000
_AT_ONCE_UNKNOWN = 8  # where no worker has connected yet


@checked_keywords(PlanOptions)
def plan_harvest(
    hosts: str | Path | Iterable[str] | HostList, output: str | Path, **options: Unpack[PlanOptions]
) -> list[Shard]:
    """Begins a harvest in a folder, or resumes one, and returns the shards that are not done.

    Each is a value that any engine (Ray, Spark, a pool of processes) sends to a worker, which calls harvest_shard()
    with it and sees the folder under the same name. harvest() does so on Dask: `hosts`, keywords, files and errors are
    as there, but for summary.html. load_harvest() has the result. A function among the keywords, such as `proxy`, has
    to be one that the engine can send: for processes, of a module::

        if __name__ == "__main__":  # processes import this file
            shards = sr.scale.plan_harvest("hosts.txt", "harvest", shards=16)
            with ProcessPoolExecutor() as pool:
                manifests = list(pool.map(sr.scale.harvest_shard, shards))
    """
    require_pyarrow("harvest needs", "dask")
    return Planner(hosts, output, options).begin(0)


class Planner:
    """Checks what harvest() and plan_harvest() are given; nothing is written before begin()."""

    def __init__(
        self, hosts: str | Path | Iterable[str] | HostList, output: str | Path, options: Mapping[str, Any]
    ) -> None:
        FOLDER_NAME("output", output)
        if not str(output):
            raise UsageError("output is the name of a folder, and empty")
        self._now = datetime.now(UTC)
        given = with_defaults(PlanOptions, options)
        self._config = make_config(options)
        self._shards: int | None = given["shards"]
        self.folder = HarvestFolder(Path(output).absolute(), run=f"sitemap-reader-{os.urandom(6).hex()}")
        self.hosts = hosts if isinstance(hosts, HostList) else read_hosts(hosts)
        self._previous = self.folder.plan()
        self.plan: HarvestPlan  # of a new harvest from begin() on
        self._is_new = not given["resume"]
        if not self._is_new:
            self.plan = _resumed_plan(self.folder, self._previous, self.hosts, self._config, self._shards)
        else:
            _check_new(self.folder, self._previous, self._config, self._shards)

    def is_done(self) -> bool:
        """Whether a resumed harvest has no shard left."""
        return not self._is_new and not self.folder.clean_up(self.plan.shards)

    def begin(self, shards_at_once: int) -> list[Shard]:
        """The shards that are not done; a new plan has enough of them for so many at once."""
        if self._is_new:
            shards = self._shards or _shards_for(self.hosts, shards_at_once or _AT_ONCE_UNKNOWN)
            self.plan = _new_plan(self.folder, self._previous, self.hosts, self._config, shards, self._now)
        config = self._config.with_dates(self.plan.dates)
        return [Shard(self.folder, number, config) for number in self.folder.clean_up(self.plan.shards)]


def _resumed_plan(
    folder: HarvestFolder, previous: HarvestPlan | None, listed: HostList, config: HarvestConfig, shards: int | None
) -> HarvestPlan:
    """The plan of the harvest to resume; UsageError where there is none, or it has other hosts or settings."""
    if previous is None or folder.archive_path(previous).exists():
        raise UsageError.of("there is no harvest in {path} to be resumed: leave out {resume=True}", path=folder.path)
    if listed.sha256 != previous.hosts_sha256:
        raise UsageError(f"the harvest in {folder.path} has another list of hosts", remedy="resume it with that")
    _check_settings(
        previous, {**config.settings(), "shards": shards or previous.shards}, f"the harvest in {folder.path}"
    )
    return previous


def _check_settings(previous: HarvestPlan, wanted: dict[str, Any], what: str) -> None:
    differences = settings_difference({**previous.settings, "shards": previous.shards}, wanted)
    if differences:
        raise UsageError(f"{what} {differences}", remedy="keep the settings, or name another folder")


def _check_new(folder: HarvestFolder, previous: HarvestPlan | None, config: HarvestConfig, shards: int | None) -> None:
    """UsageError where a new harvest would overwrite another one."""
    if previous is None:
        return
    pending_shards = () if folder.archive_path(previous).exists() else folder.pending_shards(previous.shards)
    if pending_shards:
        count = f"{len(pending_shards):,} of {count_of(previous.shards, 'shard')}"
        raise UsageError.of(
            "{path} holds a harvest that is not done, {count} left: {resume=True} goes on with it; or name "
            "another folder",
            path=folder.path,
            count=count,
        )
    if not (config.hosts["state"] and previous.has_state):
        raise UsageError(f"{folder.path} holds a harvest that is done", remedy="name another folder")
    wanted = {**config.followed(), "shards": shards or previous.shards}
    _check_settings(previous, wanted, f"what {folder.path} remembers")


def _new_plan(
    folder: HarvestFolder,
    previous: HarvestPlan | None,
    listed: HostList,
    config: HarvestConfig,
    shards: int,
    now: datetime,
) -> HarvestPlan:
    """Writes and returns the plan of a new harvest; the previous one, whose state it continues, is archived."""
    if previous is not None:
        folder.archive(previous)
        shards = previous.shards
    started = stamp(now) or ""
    plan = HarvestPlan(len(listed.targets), listed.sha256, shards, config.settings(), config.dates(now), started)
    folder.begin(plan, sharded(listed, shards))
    return plan


def _shards_for(listed: HostList, at_once: int) -> int:
    """A number of shards that keeps all workers busy, with none too long."""
    return max(1, min(len(set(listed.domains)), max(at_once, math.ceil(len(listed.targets) / _HOSTS_OF_A_SHARD))))
