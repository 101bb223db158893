"""Runs harvests for tests, and reads their tables."""

from datetime import UTC, datetime
from pathlib import Path

from hostfarm import changed_locs
from pyarrow import parquet as pq

from sitemap_reader import Limits
from sitemap_reader.scale import (
    TABLES,
    HarvestFolder,
    HarvestPlan,
    Shard,
    harvest_shard,
    make_config,
    read_hosts,
    sharded,
)
from sitemap_reader.serialize import stamp

HASTY = Limits(tries=1, read_seconds=20.0)


def config_of(**keywords):
    """The HarvestConfig of keywords, for hosts on loopback with one try."""
    return make_config({"allow_private": True, "limits": HASTY, **keywords})


def lay_out(path, hosts, config, *, shards=1):
    """Begins a harvest; its folder."""
    listed, folder = read_hosts([getattr(host, "target", host) for host in hosts]), HarvestFolder(path)
    now = datetime.now(UTC)
    plan = HarvestPlan(
        len(listed.targets), listed.sha256, shards, config.settings(), config.dates(now), stamp(now) or ""
    )
    folder.begin(plan, sharded(listed, shards))
    return folder


def one_shard(path, hosts, on_progress=lambda tally: None, **keywords):
    """Reads the hosts as one shard in this process; the folder and the manifest."""
    config = config_of(**keywords)
    folder = lay_out(path, hosts, config)
    return folder, harvest_shard(Shard(folder, 0, config), on_progress)


def table(folder, name):
    """All rows of a table, sorted, without values that differ from run to run."""
    path = _path(folder) / name
    found = [row for part in sorted(path.glob("*.parquet")) for row in pq.read_table(part).to_pylist()]
    return sorted(map(_lasting, found), key=str)


def _path(folder):
    return folder.path if isinstance(folder, HarvestFolder) else Path(folder)


def _lasting(row):
    return {name: value for name, value in row.items() if name not in ("read_at", "seconds")}


def tables(folder):
    """All tables."""
    return {name: table(folder, name) for name in TABLES}


def locs(folder, site=None):
    """The URLs of a host, or of all."""
    return sorted(row["loc"] for row in table(folder, "urls") if site in (None, row["site"]))


def reported(folder):
    """(change, loc) of each URL, sorted."""
    return sorted((row["change"], row["loc"]) for row in table(folder, "urls"))


def verdicts(folder):
    """Host -> verdict."""
    return {row["site"]: row["verdict"] for row in table(folder, "hosts")}


def files(folder):
    """The files in the folder, as relative paths."""
    path = _path(folder)
    return sorted(str(each.relative_to(path)) for each in path.rglob("*") if each.is_file())


def changes_of(hosts, version):
    """(change, loc) of all that a version changes."""
    changed = [changed_locs(host.at(version)) for host in hosts]
    kinds = ("new", "updated", "removed")
    return sorted((kind, loc) for one in changed for kind in kinds for loc in getattr(one, kind))


def next_version(farm, hosts, version=2):
    for host in hosts:
        farm.set_version(host.target, version)
