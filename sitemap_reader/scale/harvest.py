"""harvest(): a list of hosts in; a folder of Parquet, and what it came to, out. Dask does the distributing.

A new harvest lays its plan out in the folder; one that is resumed finds it there. What is left to do is for tasks.py.
"""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import attrs

from ..client.keywords import ReaderOptions, checked_keywords
from ..client.progressbar import ProgressBar
from ..client.query import check_positive
from ..client.summary import count_of
from ..model.errors import UsageError
from ..serialize.jsonl import stamp
from ..state.sync import told_differences
from .cluster import Tasks, connected, require_dask, shards_at_once
from .folder import Folder, Plan
from .hosts import HostList, read_hosts, sharded
from .options import make_order
from .progress import shown
from .report import account

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..frontier.filters import Moment, Pattern, Undated
    from ..frontier.revalidation import Trust
    from .options import HarvestOrder
    from .progress import HarvestProgress
    from .report import Harvest

HOSTS_AT_ONCE = 50
HOST_SECONDS = 1_800.0
HOST_URLS = 10_000_000
# A shard is some minutes' work, at whose end the slowest of its hosts is waited for.
_HOSTS_OF_A_SHARD = 5_000
_AT_ONCE_UNKNOWN = 8  # where the workers are still to come


class HarvestOptions(ReaderOptions, total=False):
    """The keywords of SitemapReader, and the filters of its urls()."""

    since: Moment | None
    until: Moment | None
    undated: Undated
    trust_lastmod: Trust
    include: Pattern | Iterable[Pattern] | None
    exclude: Pattern | Iterable[Pattern] | None
    follow: Pattern | Iterable[Pattern] | None
    no_follow: Pattern | Iterable[Pattern] | None


@checked_keywords(HarvestOptions, meanings={})
def harvest(
    hosts: str | Path | Iterable[str] | HostList,
    output: str | Path,
    *,
    shards: int | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    state: bool = False,
    accept_removals: bool = False,
    resume: bool = False,
    hosts_at_once: int = HOSTS_AT_ONCE,
    host_seconds: float = HOST_SECONDS,
    host_urls: int = HOST_URLS,
    on_progress: Callable[[HarvestProgress], None] | None = None,
    show_progress: bool = False,
    **options: Unpack[HarvestOptions],
) -> Harvest:
    """Reads the sitemaps of many hosts into a folder: urls/, sitemaps/, problems/ and hosts/, a Parquet file a shard.

    `hosts` is a file with one a line, or the hosts themselves. All hosts of a registrable domain are of one shard, and
    read one after the other. `scheduler` is the address of Dask's, whose workers see the folder under the same name;
    without it there are `workers` processes here (as many as cores), which listen on 127.0.0.1 alone.

    A worker reads `hosts_at_once` of a shard. It waits for each no longer than `host_seconds` in all, and takes hardly
    more than `host_urls` of it: then the host is given up, and what it gave is kept. `resume` does the shards that are
    not done. With `state` the URLs are changes since the last harvest in the same folder, whose tables go to earlier/;
    `accept_removals` is as in changes(). `options` are the keywords of SitemapReader (but for session, fetcher, record)
    and the filters of urls(); an age such as since="7d" counts from now, also for who resumes later.

    A shard that could not be done is in Harvest.failed. UsageError for what cannot be carried out; OSError, or
    StateError, where the folder cannot be written: the shards that were done by then stay, and `resume` does the rest.
    """
    require_dask()
    check_positive(shards=shards, workers=workers)
    if not str(output):
        raise UsageError("output is the name of a folder, and empty")
    now = datetime.now(UTC)
    order = make_order(
        dict(options),
        state=state,
        accept_removals=accept_removals,
        hosts_at_once=hosts_at_once,
        host_seconds=host_seconds,
        host_urls=host_urls,
    )
    folder = Folder(Path(output).absolute())
    listed = hosts if isinstance(hosts, HostList) else read_hosts(hosts)
    before = folder.plan()
    plan = _resumed(folder, before, listed, order, shards) if resume else None
    if plan is None:
        _check_room(folder, before, order, shards)
    started = time.monotonic()
    told: dict[str, Any] = {}
    if plan is None or folder.settle(plan.shards):
        with connected(scheduler, workers) as client:
            if plan is None:
                plan = _begun(folder, before, listed, order, shards or _shards_for(listed, client), now)
            with ProgressBar("hosts", shown) if show_progress else nullcontext() as bar:
                hears = [each for each in (bar, on_progress) if each is not None]
                tasks = Tasks(client, folder, plan, order, hears)
                tasks.carry_out()
            told = {"failed": tasks.failed, "again": tasks.counting.again}
    seconds = time.monotonic() - started
    return attrs.evolve(account(folder.path), refused=listed.refused, repeated=listed.repeated, seconds=seconds, **told)


def _resumed(folder: Folder, before: Plan | None, listed: HostList, order: HarvestOrder, shards: int | None) -> Plan:
    """The plan of the harvest that is to go on; UsageError where there is none, or it is another."""
    if before is None or folder.earlier(before).exists():
        raise UsageError(f"there is no harvest in {folder.path} to be resumed: leave out resume=True")
    if listed.sha256 != before.hosts_sha256:
        raise UsageError(f"the harvest in {folder.path} has another list of hosts; resume it with that")
    _check_settings(before, {**order.settings(), "shards": shards or before.shards}, f"the harvest in {folder.path}")
    return before


def _check_settings(before: Plan, wanted: dict[str, Any], what: str) -> None:
    """UsageError where it was something else before."""
    told = told_differences({**before.settings, "shards": before.shards}, wanted)
    if told:
        raise UsageError(f"{what} {told}; go on as it was, or name another folder")


def _check_room(folder: Folder, before: Plan | None, order: HarvestOrder, shards: int | None) -> None:
    """UsageError where a new harvest would go over another one."""
    if before is None:
        return
    undone = () if folder.earlier(before).exists() else folder.undone(before.shards)
    if undone:
        told = f"{len(undone):,} of {count_of(before.shards, 'shard')}"
        raise UsageError(
            f"{folder.path} holds a harvest that is not done, {told} left: resume=True goes on with it; "
            "or name another folder"
        )
    if not (order.state and before.has_state):
        raise UsageError(f"{folder.path} holds a harvest that is done; name another folder")
    wanted = {**order.followed(), "shards": shards or before.shards}
    _check_settings(before, wanted, f"what {folder.path} remembers")


def _begun(
    folder: Folder, before: Plan | None, listed: HostList, order: HarvestOrder, shards: int, now: datetime
) -> Plan:
    """The plan of a new harvest, laid out in the folder; one before it, whose state it takes over, is put aside."""
    if before is not None:
        folder.put_aside(before)
        shards = before.shards
    started = stamp(now) or ""
    plan = Plan(len(listed.targets), listed.sha256, shards, order.settings(), order.dates(now), started)
    folder.begin(plan, sharded(listed, shards))
    return plan


def _shards_for(listed: HostList, client: Any) -> int:
    """Enough that all workers have one, and none is too long."""
    domains, at_once = len(set(listed.domains)), shards_at_once(client) or _AT_ONCE_UNKNOWN
    return max(1, min(domains, max(at_once, math.ceil(len(listed.targets) / _HOSTS_OF_A_SHARD))))
