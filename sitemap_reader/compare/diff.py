"""diff(): compares dumps, states, sitemaps, lists or streams of URLs by the rules of a sync and in constant memory.

New and updated URLs come in the order of NEW, then removed ones in the order of OLD. Both sides are read into a
temporary SQLite database, which sorts their listings by URL. SiteParts sums changes by section and by sitemap: how many
URLs each had, and how many of these left or came. check_pages() requests removed URLs: whether each redirects now, and
where; a target on another site is requested in a second round, under the robots.txt of that site.
"""

from __future__ import annotations

import heapq
import os
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from hashlib import blake2b
from http import HTTPStatus
from itertools import chain, groupby, islice, starmap
from operator import itemgetter
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, Self, TypeAlias, Unpack, cast
from urllib.parse import urlsplit

import attrs
import orjson

from ..client.summary import count_of
from ..client.targets import find_target
from ..frontier.responses import is_success
from ..model.errors import UsageError
from ..model.records import Change, ChangeCounts, RemovedPage, UrlRecord
from ..parser.fast_path import batch_of
from ..parser.normalise.urls import clean_url, origin
from ..serialize.dumps import SQLITE, Dump, checked, is_open_database, is_pipe, open_file, record_at
from ..serialize.jsonl import ALWAYS, COMPARED, STATED, from_json, json_line, stamp, to_dict
from ..serialize.schema import REMOVED, keys_of, line_type, make_fields
from ..state.rows import Listing, Rows, nested_digests, newest_listing, record_of, url_keys
from ..state.schema import temp_database_errors, temporary_database
from ..state.state import State
from ..statistics.sections import SectionCounts, place_of
from .url_files import read_once, url_objects

if TYPE_CHECKING:
    import sqlite3

    import pandas as pd

    from ..client.options import ReaderOptions
    from ..model.options import On
    from ..model.records import SitemapRef
    from ..model.url_batch import UrlBatch
    from ..pipeline.page_fetcher import PageResponse
    from ..serialize.dumps import JsonObject

    Source = str | os.PathLike[str] | Dump | State | BinaryIO | Iterable[UrlRecord | SitemapRef | JsonObject]


# Pairs of a place and a sitemap; URLs of further ones are counted together.
_MAX_PARTS = 100_000


@attrs.frozen
class PartChanges:
    """A section or a sitemap: the URLs that it had `before`, those of them that are `removed`, and `new` ones.

    >>> print(PartChanges("/blog/", before=60, removed=45, new=3))
    /blog/: 45 removed of 60, 3 new
    """

    name: str
    before: int
    removed: int
    new: int = 0

    def __str__(self) -> str:
        parts = [f"{self.removed:,} removed of {self.before:,}"] if self.removed else []
        parts += [f"{self.new:,} new"] if self.new else []
        return f"{self.name}: {', '.join(parts)}"


class SiteParts:
    """Numbers the pairs of section and sitemap of URLs: numbers_of() all, then sections() and sitemaps() of counts."""

    def __init__(self) -> None:
        self._sections = SectionCounts()
        self._numbers: dict[tuple[str, str], int] = {}  # (place, sitemap) -> its number

    def numbers_of(self, records: Sequence[UrlRecord], batch: UrlBatch | None = None) -> list[int]:
        """The number of each record; `batch` has the same URLs."""
        self._sections.add(batch or batch_of(None, records))
        return [self._number(place_of(each.loc), each.sitemap or "") for each in records]

    def _number(self, place: str, sitemap: str) -> int:
        if len(self._numbers) >= _MAX_PARTS and (place, sitemap) not in self._numbers:
            place = sitemap = ""
        return self._numbers.setdefault((place, sitemap), len(self._numbers))

    def sections(
        self, before: Counter[int], removed: Counter[int], new: Counter[int] | None = None
    ) -> tuple[PartChanges, ...]:
        """The sections that lost or won URLs, by the counts of each number; empty if there is one section only."""
        return _changes(self._sections.names_of(place for place, _ in self._numbers), before, removed, new)

    def sitemaps(
        self, before: Counter[int], removed: Counter[int], new: Counter[int] | None = None
    ) -> tuple[PartChanges, ...]:
        """As sections(), by sitemap; URLs whose sitemap is not known are left out."""
        return _changes((sitemap for _, sitemap in self._numbers), before, removed, new)


def _changes(
    names: Iterable[str], before: Counter[int], removed: Counter[int], new: Counter[int] | None
) -> tuple[PartChanges, ...]:
    """Those with most removed URLs first."""
    named = [*names]
    had, lost, won = (_by_name(named, counts) for counts in (before, removed, new or Counter()))
    if len({*had, *won} - {""}) < 2:
        return ()
    found = (PartChanges(name, had[name], lost[name], won[name]) for name in {*lost, *won} - {""})
    return tuple(sorted(found, key=lambda each: (-each.removed, -each.new, each.name)))


def _by_name(names: Sequence[str], counts: Counter[int]) -> Counter[str]:
    total: Counter[str] = Counter()
    for number, count in counts.items():
        total[names[number]] += count
    return +total


_EVERY_LINE = (*ALWAYS, "sitemap", "line")
_BATCH_URLS = 1_000

# Of some URLs: place in the side, site, record, JSON line; nested values of rows, where the records have none.
Batch: TypeAlias = (
    "tuple[Sequence[int], Sequence[str | None], Sequence[UrlRecord], Sequence[bytes], Sequence[str | None] | None]"
)


@attrs.define
class Side:
    """What is counted of a side is complete once batches() was read."""

    name: str
    last: int = attrs.field(default=0, init=False)  # the place of the last URL
    urls: int = attrs.field(default=0, init=False)
    keys: set[str] = attrs.field(factory=set, init=False)
    others: Counter[str] = attrs.field(factory=Counter, init=False)
    failed: int = attrs.field(default=0, init=False)  # documents without any entry
    incomplete: int = attrs.field(default=0, init=False)  # documents that were read in part

    def batches(self) -> Iterator[Batch]:
        """All URLs, in order."""
        raise NotImplementedError

    def rows(self, secret: bytes, before: int, parts: SiteParts) -> Iterator[tuple[Any, ...]]:
        """Rows of the table `listing`, with places behind `before`."""
        for places, sites, records, lines, digests in self.batches():
            batch = batch_of(None, records)
            rows = Rows.of(batch, secret)
            nested = digests or rows.nested or [None] * len(places)
            moved, numbers = [before + place for place in places], parts.numbers_of(records, batch)
            yield from zip(moved, rows.keys, sites, numbers, rows.stated, nested, lines, strict=True)

    def known(self) -> frozenset[str]:
        """The keys that can be compared: all, unless the dump was written with some fields only.

        `extras` are read on request only, so a dump without any may not have looked for them.
        """
        if self.urls and not self.keys.issuperset(_EVERY_LINE):
            return frozenset(self.keys)
        return frozenset(name for name in STATED if name != "extras" or name in self.keys or not self.urls)


@attrs.define
class DumpSide(Side):
    numbered: Iterator[tuple[int, JsonObject]]

    def batches(self) -> Iterator[Batch]:
        """UsageError for an invalid line, and where there are lines, and none of a URL."""
        urls = self._urls()
        while batch := [*islice(urls, _BATCH_URLS)]:
            places, sites, records, lines = zip(*batch, strict=True)
            yield places, sites, records, lines, None
        if self.others and not self.urls:
            kinds = ", ".join(f"{count:,} of type {kind}" for kind, count in self.others.items())
            raise UsageError(f"{self.name} has no URL, only lines of other types ({kinds}): compare dumps of URLs")

    def _urls(self) -> Iterator[tuple[int, str | None, UrlRecord, bytes]]:
        for number, json_object in self.numbered:
            if "type" in json_object:
                self._count_other(number, json_object)
                continue
            self.urls += 1
            self.last = self.urls  # a line of a sitemap may have several
            if not self.keys.issuperset(json_object):
                self.keys.update(json_object)
            json_object = with_stamp(json_object)
            record = cast("UrlRecord", record_at(self.name, number, json_object))
            if record.lastmod and record.lastmod.microsecond:  # other tools may leave the precision out
                record.lastmod_precision = "subsecond"
            site = json_object.get("site")
            yield self.last, site if site is None else str(site), record, orjson.dumps(json_object, default=repr)

    def _count_other(self, number: int, json_object: JsonObject) -> None:
        kind = json_object["type"]
        if kind == "change":
            place = f"{self.name}:{number}"
            raise UsageError(f"{place}: that is a list of changes, and no dump: compare the dumps instead")
        self.others[kind] += 1
        if kind == "outcome" and json_object.get("complete") is False:
            has_entries = bool(json_object.get("entries"))
            self.incomplete += has_entries
            self.failed += not has_entries


@attrs.define
class StateSide(Side):
    """A state: each URL once, with the digests of its nested values; with `site` if there are several."""

    state: State

    def batches(self) -> Iterator[Batch]:
        """StateError for the file."""
        sites = [site.name for site in self.state.sites()]
        self.keys |= {*_EVERY_LINE} | ({"site"} if len(sites) > 1 else set())
        for site in sites:
            listings = self.state.listings(site)
            while batch := [*islice(listings, _BATCH_URLS)]:
                nested = [listing.nested for _, _, listing in batch]
                self.keys.update(*map(nested_digests, nested))
                places = range(self.last + 1, self.last + 1 + len(batch))
                self.last, self.urls = places[-1], self.urls + len(batch)
                records = [record_of(loc, listing, sitemap) for loc, sitemap, listing in batch]
                names = [site if len(sites) > 1 else None] * len(batch)
                yield places, names, records, [*map(json_line, records)], nested


def open_side(source: Source, name: str, files: ExitStack) -> Side:
    """Opens a side without reading it; `name` stands for a source without a name."""
    if isinstance(source, Dump):
        return DumpSide(source.name, source.numbered())
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if is_state(path):
            return StateSide(path, files.enter_context(State(path)))
        if is_pipe(
            path
        ):  # opened when it is read: to open it waits for its writer, which may write the other side first
            return DumpSide(path, read_once(path))
        return DumpSide(path, url_objects(files.enter_context(open_file(path)), path))
    if hasattr(source, "read"):
        name = str(getattr(source, "name", name))
        return DumpSide(name, url_objects(cast("BinaryIO", source), name))
    if isinstance(source, State):
        return StateSide(source.name, source)
    if not hasattr(source, "__iter__"):
        hint = "give a path, a Snapshot, a binary stream, or UrlRecords"
        raise UsageError(f"{name} is a {type(source).__name__}; {hint}")
    items = cast("Iterable[Any]", source)
    json_objects = enumerate((item if isinstance(item, dict) else to_dict(item) for item in items), 1)
    return DumpSide(name, ((number, checked({**json_object}, name, number)) for number, json_object in json_objects))


def with_stamp(json_object: JsonObject) -> JsonObject:
    """The line with a lastmod as a dump has it: other tools may leave out the zone, or the time."""
    lastmod = json_object.get("lastmod")
    if not isinstance(lastmod, str) or lastmod.endswith("Z"):
        return json_object
    try:
        moment = datetime.fromisoformat(lastmod)
        return {**json_object, "lastmod": stamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))}
    except (ValueError, OverflowError):
        return json_object


def is_state(path: str) -> bool:
    if is_pipe(path):  # a database is a file
        return False
    if is_open_database(path):
        return True
    with open_file(path) as file:
        return file.read(len(SQLITE)) == SQLITE


@attrs.define(eq=False)
class Changes:
    """The differences of two dumps: iterable more than once, yields Changes; len() is their number.

    `counts` has the numbers by kind; `notes` are sentences on what could not be compared; `names_sites`: either dump
    has a `site`. `sections` and `sitemaps` are those that lost or won URLs, with most removed ones first: each has its
    `name`, the number of URLs `before`, and of `removed` and `new` ones. The temporary file is deleted by close(), at
    the end of a `with` block, or with the object.
    """

    counts: ChangeCounts
    notes: tuple[str, ...]
    sections: tuple[PartChanges, ...] = attrs.field(repr=False)
    sitemaps: tuple[PartChanges, ...] = attrs.field(repr=False)
    names_sites: bool = attrs.field(repr=False)
    _db: sqlite3.Connection = attrs.field(repr=False)
    _secret: bytes = attrs.field(repr=False)  # of the keys
    _last_of_old: int = attrs.field(repr=False)

    def __len__(self) -> int:
        return self.counts.new + self.counts.updated + self.counts.removed

    def __iter__(self) -> Iterator[Change]:
        return (change for change, _ in self._changes())

    def dicts(self) -> Iterator[JsonObject]:
        """Yields each change as the dict of its JSON line, with the `site` of the dump."""
        return (to_dict(change, site=site) for change, site in self._changes())

    def to_arrow(self) -> Any:
        """The changes as a pyarrow.Table: `change site loc changed`, then the values before and after.

        `changed` names the fields that differ, as `lastmod, priority`. `lastmod`, `lastmod_precision`, `changefreq`,
        `priority` and `sitemap` are those of the new side, null where a URL is removed; each has a column `…_before`.
        """
        import pyarrow as pa

        from ..serialize.arrow import Batches  # pyarrow is needed for it alone

        keys = keys_of(line_type(UrlRecord))
        values = {f"{name}{when}": keys[name] for name in _VALUES for when in ("", "_before")}
        batches = Batches(make_fields({"change": str, "site": str | None, "loc": str, "changed": str | None, **values}))
        for changed, site, old, new in self._differences():
            row = {"change": _kind(old, new), "site": site, "changed": ", ".join(changed) or None}
            for line, when in ((old, "_before"), (new, "")):
                row |= {"loc": line["loc"], **{f"{name}{when}": line.get(name) for name in _VALUES}} if line else {}
            batches.add(row)
            if batches.is_full:
                batches.end()
        batches.end()
        return pa.Table.from_batches(batches.take(), batches.schema)

    def to_pandas(self) -> pd.DataFrame:
        """to_arrow() as a pandas.DataFrame; load() takes it too, as the pages that changed."""
        return self.to_arrow().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __array__(self, *args: object, **options: object) -> NoReturn:
        # pandas.DataFrame(changes) would have one column of objects.
        raise UsageError("changes are no array: use to_pandas()")

    @property
    def summary(self) -> str:
        """`3 new, 2 updated, 1 removed; 636 unchanged`."""
        return str(self.counts)

    def is_listed(self, url: str) -> bool:
        """Whether the new side lists a URL."""
        (key,) = url_keys([url], self._secret)
        with temp_database_errors():
            self._db.execute("CREATE INDEX IF NOT EXISTS listing_by_key ON listing (key)")
            query = "SELECT 1 FROM listing WHERE key = ? AND place > ? LIMIT 1"
            return self._db.execute(query, (key, self._last_of_old)).fetchone() is not None

    def check_removed(self, size: int | None = None, **options: Unpack[ReaderOptions]) -> RemovedPages:
        """Requests removed URLs, `size` of them or all: whether they redirect now, and where.

        `pages` of the result has a RemovedPage for each URL, `summary` the counts. The options are those of
        SitemapReader, which hold for pages as for sitemaps.
        """
        from .diff import check_pages  # it needs the network library

        return check_pages(self, self.is_listed, size, **options)

    def close(self) -> None:
        """Deletes the temporary file; the changes cannot be iterated afterwards."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _changes(self) -> Iterator[tuple[Change, str | None]]:
        for changed, site, *lines in self._differences():
            old, new = (None if line is None else cast("UrlRecord", from_json(line)) for line in lines)
            yield _change(old, new, changed), site

    def _differences(self) -> Iterator[tuple[tuple[str, ...], str | None, JsonObject | None, JsonObject | None]]:
        """The changed fields, the site, and the line on each side."""
        with temp_database_errors():
            for changed, site, *lines in self._db.execute(_DIFFERENCES):
                old, new = (None if line is None else orjson.loads(line) for line in lines)
                yield tuple(orjson.loads(changed)), site, old, new


# The columns of to_arrow() before and after.
_VALUES = ("lastmod", "lastmod_precision", "changefreq", "priority", "sitemap")


def _kind(old: object, new: object) -> str:
    return "new" if old is None else "removed" if new is None else "updated"


def _change(old: UrlRecord | None, new: UrlRecord | None, changed: tuple[str, ...]) -> Change:
    if old is None:
        return Change("new", cast("UrlRecord", new))
    if new is None:
        return Change("removed", UrlRecord(**{name: getattr(old, name) for name in REMOVED}))
    return Change("updated", new, changed, old.lastmod, old.lastmod_precision)


# --- the comparison ---

_SCHEMA = """
CREATE TABLE listing (place INTEGER PRIMARY KEY, key INTEGER, site TEXT, part INTEGER, stated, nested TEXT, line BLOB);
CREATE TABLE difference (rank INTEGER PRIMARY KEY, old INTEGER, new INTEGER, changed TEXT);
"""
_LIST = "INSERT INTO listing VALUES (?, ?, ?, ?, ?, ?, ?)"
_SORTED = "SELECT key, CASE WHEN ? THEN site END AS site, part, place, stated, nested FROM listing ORDER BY 1, 2, place"
_INSERT = "INSERT INTO difference VALUES (?, ?, ?, ?)"
_DIFFERENCES = """
SELECT changed, CASE WHEN new IS NULL THEN older.site ELSE newer.site END, older.line, newer.line FROM difference
LEFT JOIN listing AS older ON older.place = difference.old
LEFT JOIN listing AS newer ON newer.place = difference.new
ORDER BY difference.rank
"""


def compare(old: Side, new: Side, on: On) -> Changes:
    """Reads both sides to their ends, and finds the differences."""
    secret = os.urandom(16)
    with temp_database_errors(), ExitStack() as on_error:
        db = temporary_database(_SCHEMA)
        on_error.callback(db.close)
        parts = SiteParts()
        db.executemany(_LIST, old.rows(secret, 0, parts))
        db.executemany(_LIST, new.rows(secret, old.last, parts))
        for side in (old, new):
            if on == "lastmod" and "lastmod" not in side.known():
                raise UsageError(f"{side.name} has no lastmod at all, so nothing can be compared by it")
        compared = [name for name in COMPARED[on] if name in old.known() & new.known()]
        by_site = all("site" in side.keys or not side.urls for side in (old, new))
        counts: dict[str, Counter[int]] = {kind: Counter() for kind in _KINDS}
        listings = db.execute(_SORTED, (by_site,))
        db.executemany(_INSERT, _differences(listings, frozenset(compared), counts, old.last, old.last + new.last))
        notes = *_missing_keys(old, new, compared, COMPARED[on]), *_missing_urls(old, new)
        listed_before = counts["unchanged"] + counts["updated"] + counts["removed"]
        by_part = listed_before, counts["removed"], counts["new"]
        changes = Changes(
            ChangeCounts(**{kind: each.total() for kind, each in counts.items()}),
            notes,
            parts.sections(*by_part),
            parts.sitemaps(*by_part),
            "site" in old.keys | new.keys,
            db,
            secret,
            old.last,
        )
        weakref.finalize(changes, db.close)
        on_error.pop_all()
    return changes


_KINDS = ("unchanged", "new", "updated", "removed")


def _differences(
    rows: Iterable[tuple[Any, ...]],
    compared: frozenset[str],
    counts: Mapping[str, Counter[int]],
    last_of_old: int,
    last: int,
) -> Iterator[tuple[int, int | None, int | None, str]]:
    """The row of each difference; fills in `counts`, by part of the site. `rows` are sorted by key, site and place."""
    unchanged = counts["unchanged"]
    for _, group in groupby(rows, itemgetter(0, 1)):
        first = [*islice(group, 3)]
        part = first[0][2]
        if len(first) == 2 and first[0][3] <= last_of_old < first[1][3] and first[0][4:] == first[1][4:]:
            unchanged[part] += 1  # nearly all
            continue
        listings = starmap(Listing.of_row, (row[3:] for row in chain(first, group)))
        sides = groupby(listings, lambda listing: listing.document > last_of_old)
        newest = {is_new: newest_listing(side) for is_new, side in sides}
        old, new = newest.get(False), newest.get(True)
        changed = old.differences(new, compared) if old and new else ()
        kind = "new" if old is None else "removed" if new is None else "updated" if changed else "unchanged"
        counts[kind][part] += 1
        if kind != "unchanged":
            places = old and old.document, new and new.document
            yield places[1] or last + (places[0] or 0), *places, orjson.dumps(changed).decode()


def _missing_keys(old: Side, new: Side, compared: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    for side, other in ((old, new), (new, old)):
        if missing := [name for name in names if name in other.keys and name not in side.known()]:
            yield f"{side.name} has no {', '.join(missing)}: compared is {', '.join(('loc', *compared))}"


def _missing_urls(old: Side, new: Side) -> Iterator[str]:
    for side, becomes in ((old, "new"), (new, "removed")):
        if not side.urls:
            yield f"{side.name} is empty: every URL of the other counts as {becomes}"
        counts = ((side.failed, "could not be read"), (side.incomplete, "could be read in part only"))
        if lost := ", ".join(f"{count_of(count, 'document')} {what}" for count, what in counts if count):
            yield f"{side.name}: {lost}; what is missing counts as {becomes}"


def diff(old: Source, new: Source, *, on: On = "any") -> Changes:
    """What is new, updated and removed in `new`, of which `old` is an earlier state.

    Each is the path of a dump, of a state that changes() keeps, of a sitemap, of a list of URLs or of a table with a
    column of them; a Snapshot, a State, a binary stream of such a file, or an iterable of UrlRecords, such as urls().
    Both are read to their ends before diff() returns.

    URLs are identified by `loc`, and by `site` in dumps that both have it. Where a dump lists a URL several times, the
    listing with the newest lastmod counts, of equal ones the first. A URL is updated where any field that the site
    states differs, or with `on="lastmod"`, its lastmod or the precision; another sitemap alone is no change. Fields
    that one of the dumps never has, because it was written with some fields only, are not compared; Changes.notes names
    them.

    UsageError for one stream given as both, and for a source that is no dump, lists changes, has an invalid value, or
    has lines but no URL. OSError where the temporary folder is full.
    """
    if on not in COMPARED:
        raise UsageError(keyword="on", value=on, allowed=f"one of {', '.join(COMPARED)}")
    source: Any = old
    if old is new and (hasattr(source, "read") or (hasattr(source, "__iter__") and iter(source) is iter(source))):
        raise UsageError("old and new are the same stream, which can be read only once: give two streams")
    with ExitStack() as files:
        # Both are opened before one is read: a missing NEW raises at once.
        return compare(open_side(old, "old", files), open_side(new, "new", files), on)


# RemovedPage.result -> words of the summary, in its order. Errors are counted by status.
_RESULTS = {
    "listed": ("redirects to a listed page", "redirect to a listed page"),
    "start page": ("redirects to the start page", "redirect to the start page"),
    "elsewhere": ("redirects elsewhere", "redirect elsewhere"),
    "broken": ("redirects to an error", "redirect to an error"),
    "found": ("still answers", "still answer"),
    "error": ("answers {}", "answer {}"),
    "unknown": ("is not known", "are not known"),
}


@attrs.frozen
class RemovedPages:
    """The answers for removed URLs, by URL: of all `removed` ones, or of a sample."""

    removed: int
    pages: Mapping[str, RemovedPage]

    @property
    def summary(self) -> str:
        """`230 removed: 180 redirect to a listed page, 20 redirect elsewhere, 30 answer 404`."""
        counts = Counter((each.result, each.status if each.result == "error" else None) for each in self.pages.values())
        order = [*_RESULTS]
        parts = [
            f"{count:,} {_RESULTS[result][count != 1].format(status)}"
            for (result, status), count in sorted(
                counts.items(), key=lambda each: (order.index(each[0][0]), -each[1], each[0][1] or 0)
            )
        ]
        sample = "" if len(self.pages) == self.removed else f", of which {count_of(len(self.pages), 'URL')} checked"
        return f"{self.removed:,} removed{sample}" + (f": {', '.join(parts)}" if parts else "")


def check_pages(
    changes: Iterable[Change],
    is_listed: Callable[[str], bool],
    size: int | None = None,
    *,
    on_wait: Callable[[], None] = lambda: None,
    on_checked: Callable[[int, int], None] = lambda done, total: None,
    **options: Any,
) -> RemovedPages:
    """Requests `size` of the removed URLs, or all; `options` are those of SitemapReader.

    A sample is drawn by a hash of each URL: the same removals give the same sample.
    """
    if size is not None and (type(size) is not int or size < 1):
        raise UsageError(keyword="size", value=size, allowed="a number of URLs, 1 or more, or None for all")
    removed = 0

    def locs() -> Iterator[str]:
        nonlocal removed
        for change in changes:
            if change.change == "removed":
                removed += 1
                yield change.record.loc

    drawn = list(locs()) if size is None else heapq.nsmallest(size, locs(), key=_rank)
    urls = [url for url in dict.fromkeys(drawn) if clean_url(url).url == url]
    first: dict[str, PageResponse] = {}
    for response in _responses(urls, on_wait, options):
        first[response.url] = attrs.evolve(response, headers={}, body=b"")
        on_checked(len(first), len(urls))
    ends = dict.fromkeys(each.final_url for each in first.values() if each.target and each.final_status is None)
    second = {each.url: each for each in _responses([end for end in ends if end], on_wait, options)}
    pages = {url: _page(first[url], second, is_listed) for url in urls if url in first}
    return RemovedPages(removed, pages)


def _rank(url: str) -> bytes:
    return blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _responses(urls: Sequence[str], on_wait: Callable[[], None], options: Mapping[str, Any]) -> Iterator[PageResponse]:
    from ..client.crawler import page_responses  # a comparison needs no network library

    if not urls:
        return
    target = find_target(f"{origin(urls[0])}/")
    with closing(page_responses(target, urls, lambda url: None, on_wait=on_wait, **options)) as responses:
        yield from responses


def _page(response: PageResponse, ends: Mapping[str, PageResponse], is_listed: Callable[[str], bool]) -> RemovedPage:
    failure = response.failure
    if response.status is None or response.target is None:
        reason = failure.message if failure is not None else None
        return RemovedPage(_result(response.status), response.status, failure=reason)
    end = ends.get(response.final_url or "") if response.final_status is None else response
    url, status = (response.final_url, None) if end is None else (end.final_url, end.final_status)
    reason = end.failure.message if end is not None and end.failure is not None else None
    listed = url is not None and is_listed(clean_url(url).url or url)
    result = "broken"
    if status is not None and is_success(status):
        is_start = url is not None and urlsplit(url).path in ("", "/") and urlsplit(response.url).path not in ("", "/")
        result = "start page" if is_start else "listed" if listed else "elsewhere"
    elif status is None and reason is not None:
        result = "unknown"
    return RemovedPage(result, response.status, response.target, url, status, listed, reason)


def _result(status: int | None) -> str:
    if status is None:
        return "unknown"
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:  # to itself, or nowhere
        return "broken"
    return "found" if is_success(status) else "error"
