"""diff(): compares two dumps, states or streams of records by URL, in constant memory.

In: OLD and NEW, each a path, Snapshot, State, binary stream or iterable of records. Out: Changes, new and updated ones
in the order of NEW, then removed ones in the order of OLD. Both sides are read into a temporary SQLite database, which
sorts them by URL.
"""

from __future__ import annotations

import os
import weakref
from contextlib import ExitStack
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, BinaryIO, Self, cast

import attrs
import orjson

from ..client.summary import count_of
from ..model.errors import UsageError
from ..model.records import Change, ChangeCounts
from ..serialize.dumps import SQLITE, Dump, checked, numbered_objects, open_file
from ..serialize.jsonl import ALWAYS, COMPARED, NESTED, REMOVED, STATED, On, from_json, to_dict
from ..state.schema import temp_database_errors, temporary_database

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator

    from ..model.records import SitemapRef, UrlRecord
    from ..serialize.dumps import JsonObject
    from ..state.state import State

    Source = str | os.PathLike[str] | Dump | State | BinaryIO | Iterable[UrlRecord | SitemapRef | JsonObject]


__all__ = ["COMPARED", "STATED", "Changes", "On", "compare", "diff", "is_state", "open_side", "stream_side"]

_EVERY_LINE = (*ALWAYS, "sitemap", "line")


# --- one side of the comparison ---


@attrs.define
class Side:
    """One of the two dumps: its numbered lines, and, once they are read, counts of them and the keys that they have."""

    name: str
    numbered: Iterator[tuple[int, JsonObject]]
    before: int = 0  # added to line numbers, so that positions in NEW are behind all of OLD
    last: int = 0
    urls: int = 0
    keys: set[str] = attrs.field(factory=set)
    others: dict[str, int] = attrs.field(factory=dict)
    failed: int = 0  # documents without any entry
    incomplete: int = 0  # documents that were read in part

    def rows(self, compared: tuple[str, ...]) -> Iterator[tuple[int, bytes, str, bytes, bytes]]:
        """The rows of the table `listing`: position, key, newest, stated, line."""
        keys, digest = self.keys, digester(compared)
        for number, json_object in self.numbered:
            self.last = number
            if "type" in json_object:
                self._count_other(number, json_object)
                continue
            self.urls += 1
            if not keys.issuperset(json_object):
                keys.update(json_object)
            try:
                line = orjson.dumps(json_object)
            except TypeError as exc:  # a record of the caller, with a value that JSON cannot hold
                raise UsageError(f"{self.name}:{number}: {exc}") from exc
            lastmod = json_object.get("lastmod")
            # Without the Z: 00.25 is behind 00, and "00.25Z" before "00Z".
            newest = lastmod[:-1] if isinstance(lastmod, str) else ""
            yield self.before + number, key_of(json_object, by_site=True), newest, digest(json_object), line

    def position(self, position: int) -> str:
        """`file:line`."""
        return f"{self.name}:{position - self.before}"

    def known(self) -> frozenset[str]:
        """The keys that can be compared: all, unless the dump was written with some fields only.

        `extras` are read on request only, so a dump without any may not have looked for them.
        """
        if self.urls and not self.keys.issuperset(_EVERY_LINE):
            return frozenset(self.keys)
        return frozenset(name for name in STATED if name != "extras" or name in self.keys or not self.urls)

    def check(self) -> None:
        """UsageError where there are lines, and none of a URL."""
        if self.others and not self.urls:
            kinds = ", ".join(f"{count:,} of type {kind}" for kind, count in self.others.items())
            raise UsageError(f"{self.name} has no URL, only lines of other types ({kinds}): compare dumps of URLs")

    def _count_other(self, number: int, json_object: JsonObject) -> None:
        kind = json_object["type"]
        if kind == "change":
            raise UsageError(f"{self.name}:{number}: that is a list of changes, and no dump: compare the dumps instead")
        self.others[kind] = self.others.get(kind, 0) + 1
        if kind == "outcome" and json_object.get("complete") is False:
            has_entries = bool(json_object.get("entries"))
            self.incomplete += has_entries
            self.failed += not has_entries


def open_side(source: Source, name: str, files: ExitStack) -> Side:
    """Opens a side without reading it; `name` stands for a source without a name."""
    if isinstance(source, Dump):
        return Side(source.name, source.numbered())
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if is_state(path):
            return _state_side(files.enter_context(_state_class()(path)))
        return Side(path, numbered_objects(files.enter_context(open_file(path)), path))
    if hasattr(source, "read"):
        return stream_side(cast("BinaryIO", source), str(getattr(source, "name", name)))
    if isinstance(source, _state_class()):
        return _state_side(source)
    if not hasattr(source, "__iter__"):
        hint = "give a path, a Snapshot, a binary stream, or UrlRecords"
        raise UsageError(f"{name} is a {type(source).__name__}; {hint}")
    items = cast("Iterable[Any]", source)
    json_objects = enumerate((item if isinstance(item, dict) else to_dict(item) for item in items), 1)
    return Side(name, ((number, checked({**json_object}, name, number)) for number, json_object in json_objects))


def is_state(path: str) -> bool:
    """Whether the file is an SQLite database, by its first bytes."""
    with open_file(path) as file:
        return file.read(len(SQLITE)) == SQLITE


def _state_class() -> type[State]:
    """Imported only when a source may be a state: comparing dumps does not need it."""
    from ..state.state import State

    return State


def _state_side(state: State) -> Side:
    """The URLs of a state with the fields that it keeps; with `site` if it has several."""
    sites = [site.name for site in state.sites()]
    json_objects = (
        {name: json_object[name] for name in REMOVED} | ({"site": site} if len(sites) > 1 else {})
        for site in sites
        for json_object in map(to_dict, state.entries(site))
    )
    return Side(state.name, enumerate(json_objects, 1))


def stream_side(stream: BinaryIO, name: str) -> Side:
    """The side of a binary stream, which stays open."""
    return Side(name, numbered_objects(stream, name))


def key_of(json_object: JsonObject, *, by_site: bool) -> bytes:
    """A digest of the loc, and with `by_site` of the site."""
    site = json_object.get("site") or "" if by_site else ""
    return blake2b(f"{site}\n{json_object['loc']}".encode(), digest_size=16).digest()


def digester(names: tuple[str, ...]) -> Callable[[JsonObject], bytes]:
    """A function that digests the values under these names, equal for equal values."""
    always = [name for name in names if name in ALWAYS]
    sometimes = [name for name in names if name in NESTED]
    seldom = frozenset(sometimes)

    def digest(json_object: JsonObject) -> bytes:
        values = [value_of(json_object, name) for name in always]
        if not seldom.isdisjoint(json_object):
            values += [[name, value] for name in sometimes if (value := value_of(json_object, name)) is not None]
        return blake2b(orjson.dumps(values), digest_size=16).digest()

    return digest


def value_of(json_object: JsonObject, name: str) -> Any:
    """The value under a name in one normalised type; None where there is none."""
    value = json_object.get(name)
    if type(value) is str or value is None:
        return value
    if name in NESTED and not value:
        return None  # false and empty values equal a missing key
    return _canonical(value)


def _canonical(value: Any) -> Any:
    """Without nulls and empty lists, keys sorted: other tools omit nulls, or add them."""
    if isinstance(value, list):
        return [_canonical(each) for each in value] or None
    if isinstance(value, dict):
        stated = ((key, _canonical(value[key])) for key in sorted(value))
        return {key: each for key, each in stated if each is not None}
    return _number(value) if type(value) is float else value


def _number(value: float) -> float:
    """1.0 as 1, as other tools write it."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


@attrs.define(eq=False)
class Changes:
    """The differences of two dumps: iterable more than once, yields Changes; len() is their number.

    `counts` has the numbers by kind; `notes` are sentences on what could not be compared. The temporary file is deleted
    by close(), at the end of a `with` block, or with the object.
    """

    counts: ChangeCounts
    notes: tuple[str, ...]
    _old: Side = attrs.field(repr=False)
    _new: Side = attrs.field(repr=False)
    _compared: tuple[str, ...] = attrs.field(repr=False)
    _db: sqlite3.Connection = attrs.field(repr=False)

    def __len__(self) -> int:
        return self.counts.new + self.counts.updated + self.counts.removed

    def __iter__(self) -> Iterator[Change]:
        for old_number, new_number, json_object in self._changes():
            try:
                change = from_json(json_object)
            except UsageError as exc:
                side, number = (self._old, old_number) if new_number is None else (self._new, new_number)
                raise UsageError(f"{side.position(number)}: {exc}") from None
            if isinstance(change, Change):
                yield change

    def dicts(self) -> Iterator[JsonObject]:
        """Yields each change as the dict of its JSON line, with the `site` of the dump."""
        for _, _, json_object in self._changes():
            yield json_object

    @property
    def summary(self) -> str:
        """`3 new, 2 updated, 1 removed; 636 unchanged`."""
        return str(self.counts)

    @property
    def names_sites(self) -> bool:
        """Whether lines of either dump have a `site`."""
        return "site" in self._old.keys | self._new.keys

    def close(self) -> None:
        """Deletes the temporary file; the changes cannot be iterated afterwards."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _changes(self) -> Iterator[tuple[int, int | None, JsonObject]]:
        """Positions in OLD and NEW, and the JSON object, of each change."""
        with temp_database_errors():
            for old_place, new_place, old_line, new_line in self._db.execute(_DIFFERENCES):
                old = None if old_line is None else orjson.loads(old_line)
                new = None if new_line is None else orjson.loads(new_line)
                yield old_place, new_place, _change_object(old, new, self._compared)


def _change_object(old: JsonObject | None, new: JsonObject | None, compared: tuple[str, ...]) -> JsonObject:
    site = (new or old or {}).get("site")
    site_field: JsonObject = {} if site is None else {"site": site}
    if new is None:
        old = old or {}
        record = {name: old[name] for name in REMOVED if name in old}
        return {"type": "change", "change": "removed", **record, **site_field}
    record = {name: value for name, value in new.items() if name != "site"}
    if old is None:
        return {"type": "change", "change": "new", **record, **site_field}
    extra: JsonObject = {"changed": [name for name in compared if value_of(old, name) != value_of(new, name)]}
    extra["previous_lastmod"] = old.get("lastmod")
    extra["previous_lastmod_precision"] = old.get("lastmod_precision")
    return {"type": "change", "change": "updated", **record, **extra, **site_field}


# --- the comparison ---

_SCHEMA = """
CREATE TABLE listing (place INTEGER PRIMARY KEY, key BLOB, newest TEXT, stated BLOB, line BLOB);
CREATE TABLE difference (rank INTEGER PRIMARY KEY, old INTEGER, new INTEGER);
"""
_LIST = "INSERT INTO listing VALUES (?, ?, ?, ?, ?)"
_RELIST = "UPDATE listing SET key = ?, stated = ? WHERE place = ?"
_SORTED = "SELECT key, place, stated FROM listing ORDER BY key, newest DESC, place"
_INSERT = "INSERT INTO difference VALUES (?, ?, ?)"
_DIFFERENCES = """
SELECT difference.old, difference.new, older.line, newer.line FROM difference
LEFT JOIN listing AS older ON older.place = difference.old
LEFT JOIN listing AS newer ON newer.place = difference.new
ORDER BY difference.rank
"""


def compare(old: Side, new: Side, on: On) -> Changes:
    """Reads both sides to their ends, and finds the differences."""
    db = temporary_database(_SCHEMA)
    try:
        with temp_database_errors():
            return _compare(db, old, new, on)
    except BaseException:
        db.close()
        raise


def _compare(db: sqlite3.Connection, old: Side, new: Side, on: On) -> Changes:
    names = COMPARED[on]
    for side in (old, new):
        db.executemany(_LIST, side.rows(names))
        side.check()
        new.before = old.last
    compared = tuple(name for name in names if name in old.known() & new.known())
    for side in (old, new):
        if on == "lastmod" and "lastmod" not in side.known():
            raise UsageError(f"{side.name} has no lastmod at all, so nothing can be compared by it")
    by_site = all("site" in side.keys or not side.urls for side in (old, new))
    left_out = {*names} - {*compared} | (set() if by_site else {"site"})
    if not left_out.isdisjoint(old.keys | new.keys):
        _relist(db, compared, by_site)
    counts = ChangeCounts(unchanged=0)
    db.executemany(_INSERT, _differences(db.execute(_SORTED), counts, last_of_old=old.last, last=new.before + new.last))
    changes = Changes(counts, tuple(_notes(old, new, compared, names)), old, new, compared, db)
    weakref.finalize(changes, db.close)
    return changes


def _relist(db: sqlite3.Connection, compared: tuple[str, ...], by_site: bool) -> None:
    """Computes keys and digests again, from the fields that both sides have."""
    digest = digester(compared)
    lines = db.execute("SELECT place, line FROM listing")
    parsed = ((place, orjson.loads(line)) for place, line in lines)
    rows = ((key_of(each, by_site=by_site), digest(each), place) for place, each in parsed)
    db.executemany(_RELIST, rows)


def _differences(
    listings: Iterable[tuple[bytes, int, bytes]], counts: ChangeCounts, *, last_of_old: int, last: int
) -> Iterator[tuple[int, int | None, int | None]]:
    """Rank, position in OLD and position in NEW of each difference; fills in `counts`.

    `listings` are sorted by key and newest first: of each side the first listing of a key counts.
    """
    assert counts.unchanged is not None  # noqa: S101 - for the type checker
    for _, group in groupby(listings, itemgetter(0)):
        old = new = None
        for _, position, stated in group:
            if position <= last_of_old:
                old = old or (position, stated)
            else:
                new = new or (position, stated)
        if new is None:
            counts.removed += 1
            position = old[0] if old else 0
            yield last + position, position, None
        elif old is None:
            counts.new += 1
            yield new[0], None, new[0]
        elif old[1] != new[1]:
            counts.updated += 1
            yield new[0], old[0], new[0]
        else:
            counts.unchanged += 1


def _notes(old: Side, new: Side, compared: tuple[str, ...], names: tuple[str, ...]) -> Iterator[str]:
    for side, other in ((old, new), (new, old)):
        if missing := [name for name in names if name in other.keys and name not in side.known()]:
            yield f"{side.name} has no {', '.join(missing)}: compared is {', '.join(('loc', *compared))}"
    for side, becomes in ((old, "new"), (new, "removed")):
        if not side.urls:
            yield f"{side.name} is empty: every URL of the other counts as {becomes}"
        counts = ((side.failed, "could not be read"), (side.incomplete, "could be read in part only"))
        if lost := ", ".join(f"{count_of(count, 'document')} {what}" for count, what in counts if count):
            yield f"{side.name}: {lost}; what is missing counts as {becomes}"


def diff(old: Source, new: Source, *, on: On = "any") -> Changes:
    """What is new, updated and removed in `new`, of which `old` is an earlier state.

    Each is the path of a dump or of a state that changes() keeps, a Snapshot, a State, a binary stream of a dump, or an
    iterable of UrlRecords, such as urls(). Both are read to their ends before diff() returns.

    URLs are identified by `loc`, and by `site` in dumps that both have it. Where a dump lists a URL several times, the
    listing with the newest lastmod counts, of equal ones the first. A URL is updated where any field that the site
    states differs, or with `on="lastmod"`, its lastmod or the precision; another sitemap alone is no change. Fields
    that one of the dumps never has, because it was written with some fields only, are not compared; Changes.notes names
    them.

    UsageError for a source that is no dump, lists changes, or has lines but no URL. OSError where the temporary folder
    is full.
    """
    if on not in COMPARED:
        raise UsageError(f"on must be one of {', '.join(COMPARED)}, not {on!r}")
    with ExitStack() as files:
        # Both are opened before one is read: a missing NEW raises at once.
        return compare(open_side(old, "old", files), open_side(new, "new", files), on)
