"""Archives: the states of sites over time. Which pages each lists, when they appeared and left, and moves of sites.

A page is the same in two states if its page_key() is. Where a site moved, the old host of a key is the new one: most
paths of a host are listed at another one from one state to the next, and few are left at the old one.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from .measure import first_seen, page_frame
from .tables import FIRST_SEEN, Tables, loaded, once
from .url_parts import page_keys

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from .tables import SnapshotTables

    Ints = np.ndarray[Any, np.dtype[np.int64]]

# A host moved if so large a part of its paths is at another one, and less than so much is left at the old one. Fewer
# paths than the last number, besides the start page, which each host has, are no evidence.
_MIN_MOVED, _MAX_LEFT, _MIN_PATHS = 0.5, 0.1, 2


@attrs.frozen
class PageNumbers:
    """The pages of several states, oldest first, as numbers: `pages[i]` has that of each row of the state i.

    `count` pages are in all. `moves` maps hosts of keys to those in whose place they stand, `moved_in` to the number of
    the first state after the move. `sites` are the names of the sites, `site_of` the number of that of each page.
    """

    pages: list[Ints]
    count: int
    moves: dict[str, str]
    moved_in: dict[str, int]
    sites: list[str]
    site_of: Ints

    @property
    def presence(self) -> Iterator[tuple[int, Ints]]:
        """For each state its number, and the pages that it lists, each once and in order."""
        return ((number, np.unique(pages)) for number, pages in enumerate(self.pages))

    def rows(self, state: int) -> Ints:
        """For each page its first row in a state, -1 where it is not listed."""
        rows = np.full(self.count, -1)
        rows[self.pages[state][::-1]] = np.arange(len(self.pages[state]))[::-1]
        return rows

    def first_states(self) -> Ints:
        """The number of the first state that lists each page."""
        first = np.zeros(self.count, np.int64)
        for number in reversed(range(len(self.pages))):
            first[self.pages[number]] = number
        return first

    def last_states(self) -> Ints:
        """The number of the last state that lists each page."""
        last = np.zeros(self.count, np.int64)
        for number, pages in enumerate(self.pages):
            last[pages] = number
        return last

    def first_of_site(self, read: Sequence[Collection[str]] | None = None) -> Ints:
        """For each page, the number of the first state of its site; `read` are the sites of each state, if not all
        have a page here."""
        first = np.full(len(self.sites), len(self.pages))
        np.minimum.at(first, self.site_of, self.first_states())
        for number, sites in reversed([*enumerate(read or ())]):
            first[[site in sites for site in self.sites]] = number
        return first[self.site_of]


def number_pages(states: Sequence[Any], moves: Mapping[str, str] | None = None) -> PageNumbers:
    """`states` are pyarrow.Tables with `site` and `loc`; `moves` None: they are found."""
    site, sites = _codes([table["site"] for table in states])
    loc, locs = _codes([table["loc"] for table in states])
    # The keys of different URLs only: states have most URLs in common.
    keys = page_keys(pa.chunked_array([locs]), moves).combine_chunks()
    parts = compute.extract_regex(keys, "^(?P<host>[^/]*)(?P<path>(?s:.*))$")
    host, hosts = _coded(compute.struct_field(parts, "host"))
    path, paths = _coded(compute.struct_field(parts, "path"))
    starts = np.cumsum([0, *(len(table) for table in states)])
    slices = [slice(*ends) for ends in pairwise(starts)]
    found: dict[int, tuple[int, int]] = {}
    if moves is None and len(hosts) > 1:
        is_path = np.append(np.asarray(compute.not_equal(paths, "/")), True)
        rows = host[loc], np.where(is_path[path[loc]], path[loc], -1)
        found = _find_moves([(rows[0][each], rows[1][each]) for each in slices])
        host = np.array([found.get(number, (number, 0))[0] for number in range(len(hosts))])[host]
    page_of_loc = (host * (len(paths) or 1)) + path
    numbers, distinct = pd.factorize(site * (len(hosts) * len(paths) or 1) + page_of_loc[loc])
    names = hosts.to_pylist()
    return PageNumbers(
        [numbers[each] for each in slices],
        len(distinct),
        dict(moves) if moves is not None else {names[old]: names[new] for old, (new, _) in found.items()},
        {names[old]: number for old, (_, number) in found.items()},
        sites.to_pylist(),
        distinct // (len(hosts) * len(paths) or 1),
    )


def _codes(columns: Sequence[Any]) -> tuple[Ints, Any]:
    # All texts together may exceed 2 GiB.
    chunks = [chunk.cast(pa.large_string()) for column in columns for chunk in column.chunks]
    codes, texts = _coded(pa.chunked_array(chunks, pa.large_string()).combine_chunks())
    return codes, texts.cast(pa.string())


def _coded(texts: Any) -> tuple[Ints, Any]:
    coded = compute.fill_null(texts, "").dictionary_encode()
    return coded.indices.to_numpy().astype(np.int64), coded.dictionary


def find_renames(states: Sequence[Any]) -> dict[str, str]:
    """Sites that go on under another name from one state to the next: old name -> the last one."""
    if len({frozenset(table["site"].unique().to_pylist()) for table in states}) == 1:
        return {}
    site, sites = _codes([table["site"] for table in states])
    loc, locs = _codes([table["loc"] for table in states])
    paths = compute.replace_substring_regex(page_keys(pa.chunked_array([locs])).combine_chunks(), "^[^/]*/?", "")
    path, names = _coded(paths)
    root = compute.index(names, "").as_py()
    path = np.where(path == root, -1, path)[loc]
    slices = [slice(*ends) for ends in pairwise(np.cumsum([0, *(len(table) for table in states)]))]
    found = _find_moves([(site[each], path[each]) for each in slices])
    return {sites[old].as_py(): sites[new].as_py() for old, (new, _) in found.items()}


def rename_sites(table: Any, names: Mapping[str, str]) -> Any:
    """The pyarrow.Table with other names in its column `site`."""
    if not names:
        return table
    number, coded = table.schema.get_field_index("site"), table["site"].combine_chunks().dictionary_encode()
    sites = pa.array([names.get(site, site) for site in coded.dictionary.to_pylist()], pa.string())
    return table.set_column(number, table.schema.field("site"), sites.take(coded.indices))


def site_names(other: SnapshotTables, snapshot: SnapshotTables) -> dict[str, str]:
    """Name in `other` -> name in `snapshot`, if both have one site and one of them is named after its main host."""
    if len(other.sites) != 1 or len(snapshot.sites) != 1 or (other.is_named and snapshot.is_named):
        return {}
    return {other.sites[0]: snapshot.sites[0]}


def _find_moves(states: Sequence[tuple[Ints, Ints]]) -> dict[int, tuple[int, int]]:
    """Of the owners of paths (hosts, or sites) those that moved, with the last that they moved to, and in which state.

    Each state has for each of its rows the number of an owner and of a path, -1 for the start page.
    """
    last: dict[int, tuple[int, int]] = {}
    for number, (before, after) in enumerate(pairwise(map(_paths_of_owners, states)), 1):
        for old, paths in before.items():
            if len(after.get(old, ())) > _MAX_LEFT * len(paths) or len(paths) < _MIN_PATHS:
                continue
            shared = {new: len(np.intersect1d(paths, others)) for new, others in after.items() if new != old}
            new = max(shared, key=lambda each: shared[each], default=old)
            was_there = len(np.intersect1d(paths, before.get(new, [])))
            if shared.get(new, 0) >= max(_MIN_MOVED * len(paths), 2 * was_there, 1):
                last = {each: (new if to == old else to, at) for each, (to, at) in last.items()} | {old: (new, number)}
                last.pop(new, None)
    return last


def _paths_of_owners(state: tuple[Ints, Ints]) -> dict[int, Ints]:
    owners, paths = state
    order = np.argsort(owners, kind="stable")
    names, starts = np.unique(owners[order], return_index=True)
    parts = np.split(paths[order], starts)[1:]
    return {int(name): np.setdiff1d(part, [-1]) for name, part in zip(names, parts, strict=True)}


# --- the states of a Snapshot ------------------------------------------------------------------------------------

NEW, REMOVED, RETURNED = "new", "removed", "returned"


@attrs.frozen
class Archive:
    """The states of sites, oldest first; `names` has for each the names of its sites that are others in the newest one.

    `pages` has each page that a state listed, once, as in its last listing; `rows` has the number of the page of each
    row. `events` is a frame `state page change`: a page is NEW, REMOVED or RETURNED from the state before. What the
    first state of a site lists is no event. A page that an incomplete state lacks, or one without its site, is not
    removed. `began` is the number of the first state of the site of each page.
    """

    states: Sequence[SnapshotTables]
    names: list[dict[str, str]]
    pages: SnapshotTables
    numbers: PageNumbers
    events: pd.DataFrame
    rows: Ints
    began: Ints

    @property
    def moments(self) -> pd.Series[Any]:
        """When each state was read, by its number."""
        return pd.Series([pd.Timestamp(state.at).as_unit("us") for state in self.states])

    @property
    def row_of(self) -> Ints:
        """The row of `pages` that has each page."""
        return np.argsort(self.rows)

    @property
    def site_of_events(self) -> pd.Series[str]:
        return page_frame(self.pages)["site"].iloc[self.row_of[self.events["page"]]].reset_index(drop=True)

    @property
    def at_of_events(self) -> pd.Series[Any]:
        return self.events["state"].map(self.moments)

    def came_and_went(self, site: str) -> tuple[int, int]:
        """How many pages of a site appeared after its first state, and how many are no longer listed."""
        is_here = page_frame(self.pages)["site"] == site
        return int((is_here & self.first_seen.notna()).sum()), int((is_here & self.removed_at.notna()).sum())

    def of_pages(self, states: Ints) -> pd.Series[Any]:
        """The moments of states, one for each page; null where it is below 0."""
        return self.moments.reindex(states[self.rows]).reset_index(drop=True)

    @property
    def first_seen(self) -> pd.Series[Any]:
        """Of each row of `pages` when it appeared; null if the first state of its site lists it."""
        first = self.numbers.first_states()
        return self.of_pages(np.where(first > self.began, first, -1))

    @property
    def removed_at(self) -> pd.Series[Any]:
        """Of each row of `pages` when it was found removed; null if it is listed."""
        last = self.events.drop_duplicates("page", keep="last")
        removed = last[last["change"] == REMOVED]
        states = np.full(self.numbers.count, -1)
        states[removed["page"]] = removed["state"]
        return self.of_pages(states)


def history_table(snapshot: SnapshotTables) -> Any:
    """The pyarrow.Table of Snapshot.history."""
    archive = archive_of(snapshot)
    pages = archive.pages.pages.to_arrow()
    times = {
        FIRST_SEEN: archive.first_seen if snapshot.earlier else first_seen(archive.pages),
        "last_seen": archive.of_pages(archive.numbers.last_states()),
        "removed_at": archive.removed_at,
    }
    table = pages.select(["site", "page_key", "loc", "section", "language"])
    for name, column in times.items():
        table = table.append_column(name, pa.array(column, pa.timestamp("us", "UTC")))
    return table


@once
def archive_of(snapshot: SnapshotTables) -> Archive:
    return make_archive([*snapshot.earlier, snapshot])


def make_archive(states: Sequence[SnapshotTables]) -> Archive:
    """`states`, oldest first, are those of one archive, or were read one by one."""
    newest = states[-1]
    names = [site_names(state, newest) for state in states]
    tables = [rename_sites(state.pages.stored, each) for state, each in zip(states, names, strict=True)]
    if renames := find_renames(tables):
        names = [each | renames for each in names]
        tables = [rename_sites(table, renames) for table in tables]
    known = {old: new for state in states for old, new in state._metadata.moves.items()}
    numbers = number_pages(tables, known or None)
    last, parts = numbers.last_states(), []
    for number, table in enumerate(tables):
        page = np.flatnonzero(last == number)
        parts.append((page, table.take(numbers.rows(number)[page])))
    urls = pa.concat_tables([part for _, part in parts], promote_options="default")
    metadata = attrs.evolve(newest._metadata, moves=numbers.moves)
    all_tables = Tables(urls, newest.sitemaps.stored, newest.problems.stored)
    pages = type(newest)(newest.name, partial(loaded, all_tables), metadata)
    rows = np.concatenate([page for page, _ in parts])
    # A state that was filtered may have no page of a site that was read.
    whole = [state._whole or state for state in states]
    read = [{renamed.get(site, site) for site in each.sites} for each, renamed in zip(whole, names, strict=True)]
    began = numbers.first_of_site(read)
    return Archive(states, names, pages, numbers, _events(states, numbers, read, began), rows, began)


def _events(
    states: Sequence[SnapshotTables], numbers: PageNumbers, read: Sequence[Collection[str]], began: Ints
) -> pd.DataFrame:
    first = numbers.first_states()
    present, parts = np.empty(0, np.int64), []
    for number, listed in numbers.presence:
        missing = np.setdiff1d(present, listed, assume_unique=True)
        if states[number].complete is False:
            gone = missing[:0]
        else:
            is_read = np.array([site in read[number] for site in numbers.sites], bool)
            gone = missing[is_read[numbers.site_of[missing]]]
        added = np.setdiff1d(listed, present, assume_unique=True)
        added = added[began[added] < number]
        change = np.concatenate([np.where(first[added] < number, RETURNED, NEW), np.full(len(gone), REMOVED)])
        parts.append(pd.DataFrame({"state": number, "page": np.concatenate([added, gone]), "change": change}))
        present = np.union1d(listed, np.setdiff1d(missing, gone, assume_unique=True))
    return pd.concat(parts, ignore_index=True)
