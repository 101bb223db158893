"""Archives: the states of sites over time. Which pages each lists, when they appeared and left, and moves of sites.

A page is the same in two states if its page_key() is. Where a site moved, the old host of a key is the new one: most
paths of a host are listed at another one from one state to the next, and few are left at the old one.
"""

from __future__ import annotations

from functools import cached_property, partial
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from ..client.summary import count_of
from .measure import first_seen, groups_of
from .tables import FIRST_SEEN, PAGE_KEY, Tables, loaded, once
from .url_parts import page_key_parts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from .measure import Groups
    from .tables import SnapshotTables

    Ints = np.ndarray[Any, np.dtype[np.int64]]

# A host moved if so large a part of its paths is at another one, and less than so much is left at the old one. Fewer
# paths than the last number, besides the start page, which each host has, are no evidence.
_MIN_MOVED, _MAX_LEFT, _MIN_PATHS = 0.5, 0.1, 2
_MAX_OWNERS = 10


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
    (site, sites), (loc, locs), slices = _code_rows(states)
    # The keys of different URLs only: states have most URLs in common.
    (host, hosts), (path, paths) = map(_coded, page_key_parts(pa.chunked_array([locs]), moves))
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


def _code_rows(states: Sequence[Any]) -> tuple[tuple[Ints, Any], tuple[Ints, Any], list[slice]]:
    """Of all rows the numbers of their sites and of their locs, with the names of these; and the rows of each state."""
    ends = accumulate(map(len, states), initial=0)
    site, loc = (_codes([table[name] for table in states]) for name in PAGE_KEY)
    return site, loc, [slice(*each) for each in pairwise(ends)]


def _codes(columns: Sequence[Any]) -> tuple[Ints, Any]:
    # All texts together may exceed 2 GiB.
    chunks = [chunk.cast(pa.large_string()) for column in columns for chunk in column.chunks]
    codes, texts = _coded(pa.chunked_array(chunks, pa.large_string()))
    return codes, texts.cast(pa.string())


def _coded(texts: Any) -> tuple[Ints, Any]:
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    coded = (compute.fill_null(texts, "") if texts.null_count else texts).dictionary_encode()
    return coded.indices.to_numpy().astype(np.int64), coded.dictionary


def find_renames(states: Sequence[Any]) -> dict[str, str]:
    """Sites that go on under another name from one state to the next: old name -> the last one."""
    if len({frozenset(table["site"].unique().to_pylist()) for table in states}) == 1:
        return {}
    (site, sites), (loc, locs), slices = _code_rows(states)
    path, names = _coded(page_key_parts(pa.chunked_array([locs]))[1])
    root = compute.index(names, "/").as_py()
    path = np.where(path == root, -1, path)[loc]
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
    for number, (before, after) in enumerate(pairwise(map(_owned_paths, states)), 1):
        sizes = before["owner"].value_counts()
        left = after["owner"].value_counts().reindex(sizes.index, fill_value=0)
        gone = before[before["owner"].isin(sizes.index[(left <= _MAX_LEFT * sizes) & (sizes >= _MIN_PATHS)])]
        shared, was_there = _shared_paths(gone, after), _shared_paths(gone, before)
        enough = np.maximum(2 * was_there.reindex(shared.index, fill_value=0), 1)
        shared = shared[(shared >= enough) & (shared >= _MIN_MOVED * sizes.reindex(shared.index, level="owner"))]
        for old, new in shared.sort_values(kind="stable").index:  # the largest is the last, and stays
            last = {each: (new if to == old else to, at) for each, (to, at) in last.items()} | {old: (new, number)}
            last.pop(new, None)
    return last


def _owned_paths(state: tuple[Ints, Ints]) -> pd.DataFrame:
    owners, paths = state
    pairs = pd.DataFrame({"owner": owners, "path": paths}).drop_duplicates()
    return pairs[pairs["path"] >= 0]


def _shared_paths(paths: pd.DataFrame, others: pd.DataFrame) -> pd.Series[int]:
    """How many of the paths of each owner each other one has; paths that many have, such as /about, do not count."""
    few = others[others.groupby("path")["owner"].transform("size") <= _MAX_OWNERS]
    pairs = paths.merge(few, on="path", suffixes=("", "_of_other"))
    pairs = pairs[pairs["owner"] != pairs["owner_of_other"]]
    return pairs.groupby(["owner", "owner_of_other"]).size()


# --- the states of a Snapshot ------------------------------------------------------------------------------------

NEW, REMOVED, RETURNED = "new", "removed", "returned"
# What no measure over time needs, and takes most memory.
_LEFT_OUT = ("images", "videos", "extras")


@attrs.frozen(slots=False, eq=False)
class Archive:
    """The states of sites, oldest first.

    `names` has for each state the names of its sites that are others in the newest one, `numbers` its pages, `read` its
    sites, also those of which a filter left no page.
    """

    states: Sequence[SnapshotTables]
    names: list[dict[str, str]]
    numbers: PageNumbers
    read: Sequence[Collection[str]]

    @cached_property
    def began(self) -> Ints:
        """The number of the first state of the site of each page."""
        return self.numbers.first_of_site(self.read)

    @cached_property
    def rows(self) -> Ints:
        """The number of the page of each row of `pages`."""
        return np.argsort(self.numbers.last_states(), kind="stable")

    @cached_property
    def pages(self) -> SnapshotTables:
        """Each page that a state listed, once, as in its last listing, without images, videos and extras."""
        newest, last = self.states[-1], self.numbers.last_states()[self.rows]
        parts = []
        for number, (state, names) in enumerate(zip(self.states, self.names, strict=True)):
            table = state.pages.stored
            table = rename_sites(table.select([name for name in table.column_names if name not in _LEFT_OUT]), names)
            parts.append(table.take(self.numbers.rows(number)[self.rows[last == number]]))
        urls = pa.concat_tables(parts, promote_options="default")
        for name in _LEFT_OUT:
            urls = urls.append_column(name, pa.nulls(len(urls), newest.pages.stored.schema.field(name).type))
        metadata = attrs.evolve(newest._metadata, moves=self.numbers.moves)
        tables = Tables(urls, newest.sitemaps.stored, newest.problems.stored)
        return type(newest)(newest.name, partial(loaded, tables), metadata, newest=newest)

    @cached_property
    def events(self) -> pd.DataFrame:
        """`state page change`: a page is NEW, REMOVED or RETURNED from the state before.

        What the first state of a site lists is no event. A page that an incomplete state lacks, or one without its
        site, is not removed.
        """
        first = self.numbers.first_states()
        present, parts = np.zeros(self.numbers.count, bool), []
        for number, pages in enumerate(self.numbers.pages):
            listed = np.zeros(self.numbers.count, bool)
            listed[pages] = True
            is_read = np.array([site in self.read[number] for site in self.numbers.sites], bool)
            is_whole = self.states[number].complete is not False
            gone = present & ~listed & is_read[self.numbers.site_of] & is_whole
            added = np.flatnonzero(listed & ~present & (self.began < number))
            change = np.concatenate([np.where(first[added] < number, RETURNED, NEW), np.full(gone.sum(), REMOVED)])
            page = np.concatenate([added, np.flatnonzero(gone)])
            parts.append(pd.DataFrame({"state": number, "page": page, "change": change}))
            present = (present | listed) & ~gone
        return pd.concat(parts, ignore_index=True)

    @cached_property
    def moments(self) -> pd.Series[Any]:
        """When each state was read, by its number."""
        return pd.Series([pd.Timestamp(state.at).as_unit("us") for state in self.states])

    @cached_property
    def row_of(self) -> Ints:
        """The row of `pages` that has each page."""
        return np.argsort(self.rows)

    def groups(self, by: str | None) -> tuple[Groups, pd.Categorical]:
        """What measures count separately, and the label of each page."""
        if by is None:
            labels = pd.Categorical.from_codes(self.numbers.site_of, self.numbers.sites)
            return groups_of(self.states[-1], None), labels
        groups = groups_of(self.pages, by)
        return groups, pd.Categorical(groups.labels)[self.row_of]

    @cached_property
    def at_of_events(self) -> pd.Series[Any]:
        return self.events["state"].map(self.moments)

    @cached_property
    def is_new(self) -> np.ndarray[Any, Any]:
        """Of each page whether it appeared after the first state of its site."""
        return self.numbers.first_states() > self.began

    @cached_property
    def is_removed(self) -> np.ndarray[Any, Any]:
        """Of each page whether the last complete state lacks it."""
        return self._removed_in >= 0

    @cached_property
    def _removed_in(self) -> Ints:
        """The state in which each page was found removed; -1 if it is listed."""
        last = self.events.drop_duplicates("page", keep="last")
        removed = last[last["change"] == REMOVED]
        states = np.full(self.numbers.count, -1)
        states[removed["page"]] = removed["state"]
        return states

    def of_pages(self, states: Ints) -> pd.Series[Any]:
        """The moments of states, one for each page; null where it is below 0."""
        return self.moments.reindex(states[self.rows]).reset_index(drop=True)

    @property
    def first_seen(self) -> pd.Series[Any]:
        """Of each row of `pages` when it appeared; null if the first state of its site lists it."""
        return self.of_pages(np.where(self.is_new, self.numbers.first_states(), -1))

    @property
    def removed_at(self) -> pd.Series[Any]:
        """Of each row of `pages` when the first complete state without it was read; null if none was."""
        return self.of_pages(self._removed_in)


def history_table(snapshot: SnapshotTables) -> Any:
    """The pyarrow.Table of Snapshot.history."""
    archive = archive_of(snapshot)
    times = {
        FIRST_SEEN: archive.first_seen if snapshot.earlier else first_seen(archive.pages),
        "last_seen": archive.of_pages(archive.numbers.last_states()),
        "removed_at": archive.removed_at,
    }
    table = archive.pages.pages.to_arrow(["site", "page_key", "loc", "section", "language"])
    for name, column in times.items():
        table = table.append_column(name, pa.array(column, pa.timestamp("us", "UTC")))
    return table


def every_page(snapshot: SnapshotTables) -> tuple[SnapshotTables, str]:
    """A Snapshot of all pages that any state listed, and the sentence of a rule on those that are no longer listed."""
    if not snapshot.earlier:
        return snapshot, ""
    archive = archive_of(snapshot)
    removed = int(archive.is_removed.sum())
    return archive.pages, f" {count_of(removed, 'page')} no longer listed count, too." if removed else ""


@once
def archive_of(snapshot: SnapshotTables) -> Archive:
    numbers = snapshot._numbers
    if numbers is not None and "" in numbers.sites:  # the rows of a site without a name
        numbers = attrs.evolve(numbers, sites=[*snapshot.sites]) if len(numbers.sites) == 1 else None
    return make_archive([*snapshot.earlier, snapshot], numbers)


def make_archive(states: Sequence[SnapshotTables], numbers: PageNumbers | None = None) -> Archive:
    """`states`, oldest first, are those of one archive, or were read one by one; `numbers` those of their `urls`."""
    newest = states[-1]
    names = [site_names(state, newest) for state in states]
    tables = [rename_sites(state.pages.stored, each) for state, each in zip(states, names, strict=True)]
    known = [state._metadata.moves for state in states]
    moves = None if None in known else dict(chain.from_iterable(each.items() for each in known if each))
    # Of a part of an archive no move is found anew: what one site lost and another one got may be all of the part.
    if moves is None and (renames := find_renames(tables)):
        names = [each | renames for each in names]
        tables = [rename_sites(table, renames) for table in tables]
    # A state that was filtered may have no page of a site that was read.
    whole = [state.whole or state for state in states]
    read = [{renamed.get(site, site) for site in each.sites} for each, renamed in zip(whole, names, strict=True)]
    if numbers is None or not all(state.pages.stored is state.urls.stored for state in states):
        numbers = number_pages(tables, moves)
    return Archive(states, names, numbers, read)
