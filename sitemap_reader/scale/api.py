"""harvest(): checks the keywords and the plan of a resumed harvest, and has cluster.py read the shards not done."""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import attrs

from ..client.keywords import checked_keywords
from ..client.progressbar import ProgressBar
from ..client.summary import count_of
from ..model.errors import UsageError
from ..model.options import with_defaults
from ..serialize.jsonl import stamp
from ..state.sync import settings_difference
from .cluster import HarvestTasks, connected, require_dask, shards_at_once
from .folder import HarvestFolder, HarvestPlan, write_synced
from .hosts import HostList, read_hosts, sharded
from .options import HarvestOptions
from .report import bar_state, harvest_page, load_harvest
from .shard import make_config

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .report import Harvest
    from .shard import HarvestConfig

# Some minutes of work: at the end of a shard its slowest host is waited for.
_HOSTS_OF_A_SHARD = 5_000
_AT_ONCE_UNKNOWN = 8  # where no worker has connected yet


@checked_keywords(HarvestOptions)
def harvest(
    hosts: str | Path | Iterable[str] | HostList, output: str | Path, **options: Unpack[HarvestOptions]
) -> Harvest:
    """Reads the sitemaps of many hosts into a folder: urls/, sitemaps/, problems/ and hosts/, a Parquet file a shard.

    summary.html there, written at the end, has the result for a browser.
    `hosts` is a file with one a line, or the hosts themselves. All hosts of a registrable domain are of one shard, and
    read one after the other. A worker waits for each host no longer than `host_seconds` in all, and takes hardly more
    than `host_urls` of it: then the host is skipped, and its URLs so far are kept.

    With `state` the URLs are changes since the last harvest in the same folder. The keywords of SitemapReader are taken
    but for session, fetcher and record; an age such as since="7d" counts from now, also when the harvest is resumed
    later.

    A shard that could not be done is in Harvest.failed. UsageError for what cannot be carried out; OSError, or
    StateError, where the folder cannot be written: the shards that were done by then stay, and `resume` does the rest.
    """
    require_dask()
    if not str(output):
        raise UsageError("output is the name of a folder, and empty")
    now = datetime.now(UTC)
    given, config = with_defaults(HarvestOptions, options), make_config(options)
    shards, resume, on_progress = given["shards"], given["resume"], given["on_progress"]
    folder = HarvestFolder(Path(output).absolute())
    listed = hosts if isinstance(hosts, HostList) else read_hosts(hosts)
    previous = folder.plan()
    plan = _resumed_plan(folder, previous, listed, config, shards) if resume else None
    if plan is None:
        _check_new(folder, previous, config, shards)
    started = time.monotonic()
    in_this_run: dict[str, Any] = {}
    if plan is None or folder.clean_up(plan.shards):
        with connected(given["scheduler"], given["workers"]) as client:
            if plan is None:
                plan = _new_plan(folder, previous, listed, config, shards or _shards_for(listed, client), now)
            with ProgressBar("hosts", bar_state) if given["show_progress"] else nullcontext() as bar:
                callbacks = [callback for callback in (bar, on_progress) if callback is not None]
                tasks = HarvestTasks(client, folder, plan, config, callbacks)
                tasks.run()
            in_this_run = {"failed": tasks.failed, "again": tasks.progress_tracker.restarts}
    seconds = time.monotonic() - started
    of_run = {"refused": listed.refused, "repeated": listed.repeated, "seconds": seconds, **in_this_run}
    found = attrs.evolve(load_harvest(folder.path), **of_run)
    page = harvest_page(found, datetime.fromisoformat(plan.started))
    write_synced(folder.path / "summary.html", page.encode("utf-8", "replace"))
    return found


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


def _shards_for(listed: HostList, client: Any) -> int:
    """A number of shards that keeps all workers busy, with none too long."""
    domains, at_once = len(set(listed.domains)), shards_at_once(client) or _AT_ONCE_UNKNOWN
    return max(1, min(domains, max(at_once, math.ceil(len(listed.targets) / _HOSTS_OF_A_SHARD))))
