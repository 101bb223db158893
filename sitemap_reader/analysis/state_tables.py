"""A Snapshot's tables from the state of sync, with the column FIRST_SEEN; from the folder of a harvest, with READ_AT.

In: the path of a state file, or of a folder. Out: Tables and SnapshotMetadata. Stated values are unpacked by Arrow,
many URLs at once. Shards that are not done are left out, with a note.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import attrs

from ..client.summary import count_of
from ..model.columns import SUBSECOND
from ..model.errors import UsageError
from ..model.messages import Message
from ..model.problems import Problem
from ..model.records import Outcome
from ..model.url_batch import changefreq_of, precision_of
from ..parser.content.sniff import Format
from ..scale.folder import HarvestFolder
from ..scale.folder import tables as fields_of_tables
from ..serialize.arrow import arrow_schema, require_pyarrow
from ..serialize.projection import all_fields, fields_of
from ..state.rows import CODED, SCALE, unpack_stated
from ..state.state import State
from .export import read_table
from .notes import filter_text
from .states import join_tables
from .tables import FIRST_SEEN, READ_AT, SnapshotMetadata, Tables, site_label

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from ..state.documents import StoredDocument
    from ..state.rows import Stated
    from ..state.state import StoredColumns, StoredRun

_NO_NESTED = "a state has no images, videos, news, alternates or extras: these columns are empty"


def read_state(path: str | os.PathLike[str]) -> tuple[Tables, SnapshotMetadata]:
    """The sites of a state file, as sync last saw them; the metadata has the end of the last run.

    Sites are named as by snapshot(). `first_seen` is the start of the run that first listed the URL; null for those
    that were there before the first complete run ended, or before the state recorded this. Images and other nested
    values are null. StateError where the file cannot be used.
    """
    require_pyarrow("a Snapshot needs", "analysis")
    import pyarrow as pa

    urls = arrow_schema(all_fields()).append(pa.field(FIRST_SEEN, pa.timestamp("us", "UTC")))
    sitemaps = arrow_schema(fields_of(Outcome))
    with State(path) as state:
        last_runs = {run.site: run for run in reversed(state.runs())}
        sites = sorted(last_runs)
        batches = [_batch(columns, site, urls) for site in sites for columns in state.columns(site)]
        rows = [_sitemap_row(document, site) for site in sites for document in state.documents(site)]
        choices = dict.fromkeys(filter(None, map(filter_text, state.settings().values())))
        notes = [*_notes(last_runs)] + [_NO_NESTED] * state.has_nested()
    tables = Tables(
        pa.Table.from_batches(batches, urls),
        pa.Table.from_pylist(rows, sitemaps),
        arrow_schema(fields_of(Problem)).empty_table(),
    )
    at = max((run.ended or run.started for run in last_runs.values()), default=None)
    complete = all(run.complete for run in last_runs.values()) if last_runs else None
    return tables, SnapshotMetadata(at, at, False, complete, "; ".join(choices) or None, tuple(notes))


def _notes(last_runs: dict[str, StoredRun]) -> Iterator[str]:
    for name, run in sorted(last_runs.items()):
        site = site_label(name)
        if run.ended is None:
            yield f"{site}: the last run was stopped before its end"
        elif run.held_back:
            yield f"{site}: {count_of(run.held_back, 'URL')} no longer listed, removal held back: not in these tables"
        elif not run.complete:
            yield f"{site}: not every sitemap could be read in the last run"


def _sitemap_row(document: StoredDocument, site: str) -> dict[str, Any]:
    """What a state knows of a document, as columns of an outcome; of an index it does not count the entries."""
    entries = None if document.format == Format.INDEX else document.entries
    names = ("url", "format", "complete", "etag", "last_modified", "sha256")
    stored = {name: getattr(document, name) for name in names}
    return {**stored, "parents": document.parents, "entries": entries, "kept": entries, "site": site_label(site)}


# --- URLs ---------------------------------------------------------------------------------------------------------


def _batch(columns: StoredColumns, site: str, schema: Any) -> Any:
    import pyarrow as pa

    stated = columns.stated
    is_packed = {*map(type, stated)} == {int}
    values = {
        "loc": columns.locs,
        FIRST_SEEN: columns.first_seen,
        **(_unpacked(stated) if is_packed else _unpacked_singly(stated)),
    }
    constants = {"site": site_label(site), "sitemap": columns.sitemap}

    def array(name: str, kind: Any) -> Any:
        if name not in values:
            return pa.repeat(pa.scalar(constants.get(name), kind), len(stated))
        column = values[name]
        return column.cast(kind) if isinstance(column, pa.Array) else pa.array(column, kind)

    return pa.record_batch([array(field.name, field.type) for field in schema], schema=schema)


def _unpacked(stated: Sequence[Stated]) -> dict[str, Any]:
    """The columns of stated values that are integers."""
    import pyarrow as pa
    from pyarrow import compute

    packed = pa.array(stated, pa.int64())
    unit, *others = _codes().take(compute.bit_wise_and(packed, SCALE - 1)).columns
    # An arithmetic shift rounds down, also below zero.
    lastmod = compute.multiply(compute.shift_right(packed, SCALE.bit_length() - 1), unit)
    return dict(zip(_STATED, (lastmod, *others), strict=True))


def _unpacked_singly(stated: Sequence[Stated]) -> dict[str, Any]:
    """The columns of stated values of which some are text."""
    numbers, precisions, changefreqs, priorities = zip(*map(unpack_stated, stated), strict=True)
    dates = zip(numbers, precisions, strict=True)
    lastmods = [each * 1_000_000 if each is not None and code != SUBSECOND else each for each, code in dates]
    names = [*map(precision_of, precisions)], [*map(changefreq_of, changefreqs)]
    return dict(zip(_STATED, (lastmods, *names, priorities), strict=True))


_STATED = ("lastmod", "lastmod_precision", "changefreq", "priority")


@cache
def _codes() -> Any:
    """Row n: the microseconds in a unit of the lastmod, then precision, changefreq and priority, of code n."""
    import pyarrow as pa

    precisions, changefreqs, priorities = zip(*CODED, strict=True)
    units = [None if code is None else 1_000 if code == SUBSECOND else 1_000_000 for code in precisions]
    columns = {
        "unit": pa.array(units, pa.int64()),
        "lastmod_precision": pa.array([*map(precision_of, precisions)], pa.string()),
        "changefreq": pa.array([*map(changefreq_of, changefreqs)], pa.string()),
        "priority": pa.array(priorities, pa.float64()),
    }
    return pa.record_batch(columns)


# --- harvests -------------------------------------------------------------------------------------------------------


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
