"""Joins what was read into Snapshots: Parts, each with its time, in; the newest state with the earlier ones out.

A Part is what one reader made of files, or of a site. Parts of one time are one state. Where several states are known,
each URL gets the time of the first that lists it. Tables are joined without a copy of their columns.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from ..serialize.jsonl import stamp
from .snapshot import Snapshot, loaded
from .tables import FIRST_SEEN, SnapshotMetadata, TableBuilder, Tables, main_host, with_site

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@attrs.frozen
class Part:
    """Tables of one source at one time. `group` numbers the argument that named it: the URLs of each are one site."""

    tables: Tables
    metadata: SnapshotMetadata
    group: int = 0


def combine(
    parts: Sequence[Part], *, name: str, site: str | None, by_time: bool, notes: Sequence[str] = ()
) -> Snapshot:
    """The Snapshot of all parts; `by_time`: of the newest state, with the others as `earlier`.

    `site` names the sites that have no name; without it, each group is named after the most frequent host of its newest
    part. `notes` are about all of them.
    """
    times = sorted({part.metadata.at for part in parts if part.metadata.at}) if by_time else []
    if len(times) <= 1:
        return _joined(parts, name, site, notes)
    hosts: dict[int, str] = {}
    for part in sorted(parts, key=_time_of, reverse=True):
        if part.group not in hosts and (host := main_host(part.tables.urls)):
            hosts[part.group] = host
    is_one = (
        len({part.group for part in parts}) == 1
    )  # the rows keep their nulls: they are named after a host, and not by the caller
    named = parts if is_one else [_named(part, site or hosts.get(part.group)) for part in parts]
    main = next(iter(hosts.values()), None) if is_one else None
    groups = _with_newest_of_each_site([[part for part in named if part.metadata.at == time] for time in times])
    tables = with_first_seen([(group[0].metadata.at, _join_tables(group)) for group in groups])
    snapshots: list[Snapshot] = []
    for number, (group, joined) in enumerate(zip(groups, tables, strict=True)):
        is_newest = number == len(groups) - 1
        metadata = _join_metadata(group, notes if is_newest else ())
        title = name if is_newest else f"{name} ({stamp(metadata.at)})"
        earlier = tuple(snapshots) if is_newest else ()
        snapshots.append(Snapshot(title, partial(loaded, joined), metadata, site=site, main_host=main, earlier=earlier))
    return snapshots[-1]


def _joined(parts: Sequence[Part], name: str, site: str | None, notes: Sequence[str]) -> Snapshot:
    """One Snapshot of all parts."""
    groups = {part.group for part in parts}
    if len(groups) > 1 and site is None:
        parts = [_named(part, _main_host_of(parts, part.group)) for part in parts]
    return Snapshot(name, partial(loaded, _join_tables(parts)), _join_metadata(parts, notes), site=site)


def _main_host_of(parts: Iterable[Part], group: int) -> str | None:
    return main_host(_join_tables([part for part in parts if part.group == group]).urls)


def _time_of(part: Part) -> float:
    return part.metadata.at.timestamp() if part.metadata.at else 0.0


def _named(part: Part, site: str | None) -> Part:
    """The part with each null in its columns `site` replaced."""
    tables = part.tables.urls, part.tables.sitemaps, part.tables.problems
    return attrs.evolve(part, tables=Tables(*(with_site(table, site) for table in tables)))


# --- joining ---------------------------------------------------------------------------------------------------------


def join_parts(parts: Sequence[Part]) -> Part:
    """One Part with the rows of all, in their order."""
    return Part(_join_tables(parts), _join_metadata(parts, ()))


def _join_tables(parts: Sequence[Part]) -> Tables:
    """The rows of all parts, in their order; a column that only some have is null for the others."""
    import pyarrow as pa

    if len(parts) == 1:
        return parts[0].tables
    tables = [part.tables for part in parts] or [TableBuilder().tables()]
    joined = [
        pa.concat_tables([getattr(each, name) for each in tables], promote_options="default")
        for name in attrs.fields_dict(Tables)
    ]
    return Tables(*joined)


def _join_metadata(parts: Sequence[Part], notes: Sequence[str]) -> SnapshotMetadata:
    """What holds for all parts: from the first beginning to the last end; unknown where it is unknown for one."""
    metadata = [part.metadata for part in parts]
    starts, ends = [each.at for each in metadata if each.at], [each.until for each in metadata if each.until]
    is_known = len(starts) == len(metadata)
    states = [each.complete for each in metadata]
    all_notes = dict.fromkeys([*notes, *(note for each in metadata for note in each.notes)])
    return SnapshotMetadata(
        at=min(starts, default=None) if is_known else None,
        until=max(ends, default=None) if is_known else None,
        is_day=any(each.is_day for each in metadata),
        complete=False if False in states or not states else None if None in states else True,
        choice="; ".join(dict.fromkeys(each.choice for each in metadata if each.choice)) or None,
        notes=tuple(all_notes),
    )


def _with_newest_of_each_site(groups: list[list[Part]]) -> list[list[Part]]:
    """The states, oldest first; parts of a site that the last one lacks are moved there from its own last state."""
    *earlier, newest = groups
    present = {site for part in newest for site in _sites(part)}
    for group in reversed(earlier):
        moved = [part for part in group if present.isdisjoint(_sites(part))]
        present |= {site for part in moved for site in _sites(part)}
        newest = [*newest, *moved]
        group[:] = [part for part in group if all(part is not each for each in moved)]
    return [*filter(None, earlier), sorted(newest, key=lambda part: part.group)]


def _sites(part: Part) -> list[str | None]:
    sites: list[str | None] = part.tables.urls["site"].unique().to_pylist()
    return sites


# --- several states --------------------------------------------------------------------------------------------------


def with_first_seen(states: Sequence[tuple[Any, Tables]]) -> list[Tables]:
    """The tables of each state, oldest first, with a column FIRST_SEEN in `urls`.

    `states` are (time, Tables). The time of a URL is that of the first state in which its site lists it; null where
    that is the oldest state of the site.
    """
    import pyarrow as pa
    from pyarrow import compute

    kind, text = pa.timestamp("us", "UTC"), pa.large_string()  # all locs together may exceed 2 GiB
    known_urls, known_times = pa.array([], text), pa.array([], kind)
    known_sites = pa.array([], pa.string())
    found = []
    for time, tables in states:
        sites = compute.fill_null(tables.urls["site"].combine_chunks(), "")
        locs = tables.urls["loc"].cast(text).combine_chunks()
        urls = compute.binary_join_element_wise(sites.cast(text), locs, pa.scalar(" ", text))
        is_first = compute.invert(compute.is_in(sites, known_sites))
        now = compute.if_else(is_first, pa.scalar(None, kind), pa.scalar(time, kind))
        rows = compute.index_in(urls, known_urls)
        times = compute.if_else(compute.is_null(rows), now, known_times.take(rows))
        column = pa.chunked_array([times])
        found.append(attrs.evolve(tables, urls=_append(tables.urls, FIRST_SEEN, column)))
        is_new = compute.is_null(rows)
        known_urls = pa.concat_arrays([known_urls, urls.filter(is_new)])
        known_times = pa.concat_arrays([known_times, times.filter(is_new)])
        known_sites = pa.concat_arrays([known_sites, sites.unique()]).unique()
    return found


def _append(table: Any, name: str, column: Any) -> Any:
    """The table with this column at its end, in place of one of that name."""
    kept = table.drop_columns([name]) if name in table.column_names else table
    return kept.append_column(name, column)
