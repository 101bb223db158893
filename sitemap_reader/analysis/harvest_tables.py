"""A Snapshot's tables from the folder of a harvest, with the column READ_AT.

In: the path of the folder. Out: Tables and SnapshotMetadata. Shards that are not done are left out, with a note.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs

from ..client.summary import count_of
from ..model.errors import UsageError
from ..model.messages import Message
from ..scale.folder import HarvestFolder
from ..scale.folder import tables as fields_of_tables
from ..serialize.arrow import arrow_schema
from .export import read_table
from .notes import filter_text
from .state_tables import read_state
from .states import join_tables
from .tables import READ_AT, SnapshotMetadata, Tables

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def read_harvest(path: Path) -> tuple[Tables, SnapshotMetadata]:
    """The tables of all shards, read from the beginning of the harvest to the end of its last host.

    A harvest with a state has changes in its tables: then those of its states are read. UsageError where a file cannot
    be used.
    """
    folder = HarvestFolder(path)
    plan = folder.plan()
    if plan is None:  # it was removed meanwhile
        raise UsageError(f"there is no harvest in {path}")
    pending = folder.pending_shards(plan.shards)
    done = [shard for shard in range(plan.shards) if shard not in {*pending}]
    tables = [read_state(folder.state(each))[0] if plan.has_state else _shard(folder, each) for each in done]
    hosts = _hosts(folder.table("hosts", each) for each in done)
    started = datetime.fromisoformat(plan.started)
    missing = Message.of(
        "{pending} of {shards:,} not done: a harvest with {resume=True} reads them",
        pending=count_of(len(pending), "shard"),
        shards=plan.shards,
    )
    metadata = SnapshotMetadata(
        at=started,
        until=_end(hosts) or started,
        complete=False if pending else None,
        choice=filter_text(plan.settings),
        notes=(missing,) if pending else (),
    )
    return _with_read_at(join_tables(tables), hosts), metadata


def _shard(folder: HarvestFolder, shard: int) -> Tables:
    return Tables(**{name: read_table(folder.table(name, shard), name) for name in attrs.fields_dict(Tables)})


def _hosts(paths: Iterable[Path]) -> Any:
    """The rows of all hosts; `read_at` is null where an older version has written them."""
    import pyarrow as pa

    fields = fields_of_tables(of_changes=False)["hosts"]
    return pa.concat_tables(
        [arrow_schema(fields).empty_table(), *(read_table(path, "hosts", fields) for path in paths)]
    )


def _end(hosts: Any) -> datetime | None:
    """When the last host was done; None if that is unknown."""
    import pyarrow as pa
    from pyarrow import compute

    seconds = compute.round(compute.multiply(hosts["seconds"], 1e6)).cast(pa.int64())
    end: datetime | None = compute.max(compute.add(hosts[READ_AT], seconds.cast(pa.duration("us")))).as_py()
    return end


def _with_read_at(tables: Tables, hosts: Any) -> Tables:
    """The tables with the time when the reading of each site began; unchanged if no host states one."""
    from pyarrow import compute

    def with_time(table: Any) -> Any:
        rows = compute.index_in(table["site"], hosts["site"].combine_chunks())
        return table.append_column(READ_AT, hosts[READ_AT].take(rows))

    if hosts[READ_AT].null_count == len(hosts):
        return tables
    return attrs.evolve(tables, urls=with_time(tables.urls), sitemaps=with_time(tables.sitemaps))
