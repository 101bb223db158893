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
    from collections.abc import Sequence
    from datetime import datetime


@attrs.frozen
class Part:
    """Tables of one source at one time. `group` numbers the argument that named it: the URLs of each are one site."""

    tables: Tables
    metadata: SnapshotMetadata
    group: int = 0

    def placed(self, group: int, time: dict[str, Any]) -> Part:
        """The Part in this group, with fields of its metadata replaced by those of `time`."""
        return attrs.evolve(self, group=group, metadata=attrs.evolve(self.metadata, **time))


def combine(
    parts: Sequence[Part],
    *,
    name: str,
    site: str | None,
    by_time: bool = False,
    is_partial: bool = False,
    notes: Sequence[str] = (),
) -> Snapshot:
    """The Snapshot of all parts, in the order of their groups; `by_time`: of the newest state, the others `earlier`.

    `site` names the sites that have no name; without it, each group is named after the most frequent host of its newest
    parts. `notes` are about all of them; `is_partial`: something that is not among the parts could not be read.
    """
    parts = sorted(parts, key=lambda part: part.group)
    times = sorted({part.metadata.at for part in parts if part.metadata.at}) if by_time else []
    states = [[part for part in parts if part.metadata.at == time] for time in times] if len(times) > 1 else [parts]
    hosts = _main_hosts(states)
    if len(hosts) > 1:
        states = [[_named(part, site or hosts[part.group]) for part in state] for state in states]
    # The rows of a single group keep their nulls: it is named after a host, and not by the caller.
    main = next(iter(hosts.values()), None)
    states = _with_newest_of_each_site(states)
    tables = [join_tables([part.tables for part in state]) for state in states]
    if len(states) > 1:
        tables = with_first_seen([state[0].metadata.at for state in states], tables)
    snapshots: list[Snapshot] = []
    for state, joined in zip(states, tables, strict=True):
        is_newest = state is states[-1]
        metadata = _join_metadata(state, notes if is_newest else (), is_partial=is_partial)
        title = name if is_newest else f"{name} ({stamp(metadata.at)})"
        earlier = tuple(snapshots) if is_newest else ()
        snapshots.append(Snapshot(title, partial(loaded, joined), metadata, site=site, main_host=main, earlier=earlier))
    return snapshots[-1]


def _main_hosts(states: Sequence[Sequence[Part]]) -> dict[int, str | None]:
    """Group -> the most frequent host of its rows without a site in the newest state that has one."""
    hosts: dict[int, str | None] = {part.group: None for state in states for part in state}
    for state in reversed(states):
        for group in [group for group, host in hosts.items() if host is None]:
            tables = [part.tables for part in state if part.group == group]
            hosts[group] = main_host(join_tables(tables).urls) if tables else None
    return hosts


def _named(part: Part, site: str | None) -> Part:
    """The part with each null in its columns `site` replaced."""
    tables = part.tables.urls, part.tables.sitemaps, part.tables.problems
    return attrs.evolve(part, tables=Tables(*(with_site(table, site) for table in tables)))


# --- joining ---------------------------------------------------------------------------------------------------------


def join_tables(tables: Sequence[Tables]) -> Tables:
    """The rows of all, in their order; a column that only some have is null for the others."""
    import pyarrow as pa

    tables = tables or [TableBuilder().tables()]
    joined = [
        pa.concat_tables([getattr(each, name) for each in tables], promote_options="default")
        for name in attrs.fields_dict(Tables)
    ]
    return Tables(*joined) if len(tables) > 1 else tables[0]


def _join_metadata(parts: Sequence[Part], notes: Sequence[str], *, is_partial: bool) -> SnapshotMetadata:
    """What holds for all parts: from the first beginning to the last end; unknown where it is unknown for one."""
    metadata = [part.metadata for part in parts]
    starts, ends = [each.at for each in metadata if each.at], [each.until for each in metadata if each.until]
    is_known = len(starts) == len(metadata)
    states = [each.complete for each in metadata] + [False] * is_partial
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


def with_first_seen(moments: Sequence[datetime | None], states: Sequence[Tables]) -> list[Tables]:
    """The tables of each state, oldest first, with a column FIRST_SEEN in `urls`.

    The time of a URL is that of the first state in which its site lists it; null where that is the oldest state of the
    site.
    """
    import pyarrow as pa
    from pyarrow import compute

    kind, text = pa.timestamp("us", "UTC"), pa.large_string()  # all locs together may exceed 2 GiB
    known_urls, known_times = pa.array([], text), pa.array([], kind)
    known_sites = pa.array([], pa.string())
    found = []
    for moment, tables in zip(moments, states, strict=True):
        sites = compute.fill_null(tables.urls["site"].combine_chunks(), "")
        locs = tables.urls["loc"].cast(text).combine_chunks()
        urls = compute.binary_join_element_wise(sites.cast(text), locs, pa.scalar(" ", text))
        is_first = compute.invert(compute.is_in(sites, known_sites))
        now = compute.if_else(is_first, pa.scalar(None, kind), pa.scalar(moment, kind))
        rows = compute.index_in(urls, known_urls)
        times = compute.if_else(compute.is_null(rows), now, known_times.take(rows))
        others = tables.urls.drop_columns([FIRST_SEEN]) if FIRST_SEEN in tables.urls.column_names else tables.urls
        found.append(attrs.evolve(tables, urls=others.append_column(FIRST_SEEN, pa.chunked_array([times]))))
        is_new = compute.is_null(rows)
        known_urls = pa.concat_arrays([known_urls, urls.filter(is_new)])
        known_times = pa.concat_arrays([known_times, times.filter(is_new)])
        known_sites = pa.concat_arrays([known_sites, sites.unique()]).unique()
    return found
