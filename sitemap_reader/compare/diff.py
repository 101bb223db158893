"""Two sides in, their differences out, by way of a temporary SQLite database: memory stays flat.

The database is a file that has no name, so that it is gone with the Changes, or with the process.
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
from ..model.records import Change
from ..serialize.dumps import SQLITE, Dump, checked, numbered_forms, open_file
from ..serialize.jsonl import ALWAYS, COMPARED, NESTED, REMOVED, STATED, On, from_json, json_form
from ..state.schema import on_disk, temporary_database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..model.records import SitemapRef, UrlRecord
    from ..serialize.dumps import Form
    from ..state.state import State

    Source = str | os.PathLike[str] | Dump | State | BinaryIO | Iterable[UrlRecord | SitemapRef | Form]
    import sqlite3
    from collections.abc import Iterable
    from types import TracebackType


# ----------------------------------------------------------------------------------------------------
# One side of a comparison: a path, a Snapshot, a State, a stream or records in, rows for SQL to sort and compare out.
#
# What a row says is a place, a key, how new it is, a digest of what the site states, and the line itself. On the way it
# notes what the side holds. Never has more than one line in memory.


_EVERY_LINE = (*ALWAYS, "sitemap", "line")


@attrs.define
class Side:
    """One of the dumps: its lines with their numbers, and, once they are read, what there was among them."""

    name: str
    numbered: Iterator[tuple[int, Form]]
    before: int = 0  # places are numbers of lines; those of NEW come behind all of OLD's
    last: int = 0
    urls: int = 0
    keys: set[str] = attrs.field(factory=set)
    others: dict[str, int] = attrs.field(factory=dict)
    failed: int = 0  # documents that gave nothing
    incomplete: int = 0  # documents that gave a part

    def rows(self, compared: tuple[str, ...]) -> Iterator[tuple[int, bytes, str, bytes, bytes]]:
        """Place, key, newest, stated, line of each URL."""
        keys, digest = self.keys, digester(compared)
        for number, form in self.numbered:
            self.last = number
            if "type" in form:
                self._pass_over(number, form)
                continue
            self.urls += 1
            if not keys.issuperset(form):
                keys.update(form)
            try:
                line = orjson.dumps(form)
            except TypeError as exc:  # a record of somebody's own, with what JSON cannot hold
                raise UsageError(f"{self.name}:{number}: {exc}") from exc
            lastmod = form.get("lastmod")
            # Without the Z: 00.25 is behind 00, and "00.25Z" before "00Z".
            newest = lastmod[:-1] if isinstance(lastmod, str) else ""
            yield self.before + number, key_of(form, by_site=True), newest, digest(form), line

    def place(self, place: int) -> str:
        """`file:line`."""
        return f"{self.name}:{place - self.before}"

    def known(self) -> frozenset[str]:
        """The keys that it can speak of: all, unless it has been written with some of them only.

        Extras are read on request only: where there are none, nobody knows.
        """
        if self.urls and not self.keys.issuperset(_EVERY_LINE):
            return frozenset(self.keys)
        return frozenset(name for name in STATED if name != "extras" or name in self.keys or not self.urls)

    def check(self) -> None:
        """UsageError where there is something, but no URL."""
        if self.others and not self.urls:
            kinds = ", ".join(f"{count:,} of type {kind}" for kind, count in self.others.items())
            raise UsageError(f"{self.name} has no URL, only lines of other types ({kinds}): compare dumps of URLs")

    def _pass_over(self, number: int, form: Form) -> None:
        kind = form["type"]
        if kind == "change":
            raise UsageError(f"{self.name}:{number}: that is a list of changes, and no dump: compare the dumps instead")
        self.others[kind] = self.others.get(kind, 0) + 1
        if kind == "outcome" and form.get("complete") is False:
            gave_some = bool(form.get("entries"))
            self.incomplete += gave_some
            self.failed += not gave_some


def open_side(source: Source, name: str, files: ExitStack) -> Side:
    """A side that is not read yet; `name` is for what has none of its own."""
    if isinstance(source, Dump):
        return Side(source.name, source.numbered())
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if is_state(path):
            return _state_side(files.enter_context(_states()(path)))
        return Side(path, numbered_forms(files.enter_context(open_file(path)), path))
    if hasattr(source, "read"):
        return stream_side(cast("BinaryIO", source), str(getattr(source, "name", name)))
    if isinstance(source, _states()):
        return _state_side(source)
    if not hasattr(source, "__iter__"):
        told = "give a path, a Snapshot, a binary stream, or UrlRecords"
        raise UsageError(f"{name} is a {type(source).__name__}; {told}")
    items = cast("Iterable[Any]", source)
    forms = enumerate((item if isinstance(item, dict) else json_form(item) for item in items), 1)
    return Side(name, ((number, checked({**form}, name, number)) for number, form in forms))


def is_state(path: str) -> bool:
    """Whether it is a state, or another database of SQLite's, by its first bytes."""
    with open_file(path) as file:
        return file.read(len(SQLITE)) == SQLITE


def _states() -> type[State]:
    """Only where one may be meant: dumps need nothing of what it is made of."""
    from ..state.state import State

    return State


def _state_side(state: State) -> Side:
    """The URLs of a state, with what it keeps of them; its sites are named if there are several."""
    sites = [site.name for site in state.sites()]
    forms = (
        {name: form[name] for name in REMOVED} | ({"site": site} if len(sites) > 1 else {})
        for site in sites
        for form in map(json_form, state.entries(site))
    )
    return Side(state.name, enumerate(forms, 1))


def stream_side(stream: BinaryIO, name: str) -> Side:
    """The same of a stream that stays open."""
    return Side(name, numbered_forms(stream, name))


def key_of(form: Form, *, by_site: bool) -> bytes:
    site = form.get("site") or "" if by_site else ""
    return blake2b(f"{site}\n{form['loc']}".encode(), digest_size=16).digest()


def digester(names: tuple[str, ...]) -> Callable[[Form], bytes]:
    """The same bytes for the same statements: they are what is sorted, and compared."""
    always = [name for name in names if name in ALWAYS]
    sometimes = [name for name in names if name in NESTED]
    seldom = frozenset(sometimes)

    def digest(form: Form) -> bytes:
        values = [value_of(form, name) for name in always]
        if not seldom.isdisjoint(form):
            values += [[name, value] for name in sometimes if (value := value_of(form, name)) is not None]
        return blake2b(orjson.dumps(values), digest_size=16).digest()

    return digest


def value_of(form: Form, name: str) -> Any:
    """What is stated under a name, None for nothing."""
    value = form.get(name)
    if type(value) is str or value is None:
        return value
    if name in NESTED and not value:
        return None  # false and empty are what absence is
    return _canonical(value)


def _canonical(value: Any) -> Any:
    """Without what says nothing, in one order of keys: other tools leave nulls out, or put them in."""
    if isinstance(value, list):
        return [_canonical(each) for each in value] or None
    if isinstance(value, dict):
        stated = ((key, _canonical(value[key])) for key in sorted(value))
        return {key: each for key, each in stated if each is not None}
    return _number(value) if type(value) is float else value


def _number(value: float) -> float:
    """1.0 as 1, which other tools make of it."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


@attrs.frozen
class Counts:
    """How many URLs are what."""

    new: int = 0
    updated: int = 0
    removed: int = 0
    unchanged: int = 0

    def __str__(self) -> str:
        changes = f"{self.new:,} new, {self.updated:,} updated, {self.removed:,} removed"
        return f"{changes}; {self.unchanged:,} unchanged"


@attrs.define(eq=False)
class Changes:
    """The differences: iterating gives each as a Change, one at a time, and again from the beginning.

    len() is how many there are, so that it is false where there is none. `counts` has them by kind; `notes` are
    sentences on what the comparison could not see. As a context manager, or by close(), it lets go of its temporary
    file; otherwise that goes with the object.
    """

    counts: Counts
    notes: tuple[str, ...]
    _old: Side = attrs.field(repr=False)
    _new: Side = attrs.field(repr=False)
    _compared: tuple[str, ...] = attrs.field(repr=False)
    _db: sqlite3.Connection = attrs.field(repr=False)

    def __len__(self) -> int:
        return self.counts.new + self.counts.updated + self.counts.removed

    def __iter__(self) -> Iterator[Change]:
        for old_number, new_number, form in self._forms():
            try:
                change = from_json(form)
            except UsageError as exc:
                side, number = (self._old, old_number) if new_number is None else (self._new, new_number)
                raise UsageError(f"{side.place(number)}: {exc}") from None
            if isinstance(change, Change):
                yield change

    def forms(self) -> Iterator[Form]:
        """Each as the dict of its JSON line, with the `site` that is in the dump."""
        for _, _, form in self._forms():
            yield form

    @property
    def summary(self) -> str:
        """`3 new, 2 updated, 1 removed; 636 unchanged`."""
        return str(self.counts)

    @property
    def names_sites(self) -> bool:
        """Whether there is a `site` in lines of theirs."""
        return "site" in self._old.keys | self._new.keys

    def close(self) -> None:
        """Lets go of the temporary file; there is nothing to iterate over then."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _forms(self) -> Iterator[tuple[int, int | None, Form]]:
        """The places of both listings, and the form."""
        with on_disk():
            for old_place, new_place, old_line, new_line in self._db.execute(_DIFFERENCES):
                old = None if old_line is None else orjson.loads(old_line)
                new = None if new_line is None else orjson.loads(new_line)
                yield old_place, new_place, _change_form(old, new, self._compared)


def _change_form(old: Form | None, new: Form | None, compared: tuple[str, ...]) -> Form:
    site = (new or old or {}).get("site")
    behind: Form = {} if site is None else {"site": site}
    if new is None:
        old = old or {}
        record = {name: old[name] for name in REMOVED if name in old}
        return {"type": "change", "change": "removed", **record, **behind}
    record = {name: value for name, value in new.items() if name != "site"}
    if old is None:
        return {"type": "change", "change": "new", **record, **behind}
    differ: Form = {"changed": [name for name in compared if value_of(old, name) != value_of(new, name)]}
    differ["previous_lastmod"] = old.get("lastmod")
    differ["previous_lastmod_precision"] = old.get("lastmod_precision")
    return {"type": "change", "change": "updated", **record, **differ, **behind}


# --- the comparison --------------------------------------------------------------------------------------------

_SCHEMA = """
CREATE TABLE listing (place INTEGER PRIMARY KEY, key BLOB, newest TEXT, stated BLOB, line BLOB);
CREATE TABLE difference (rank INTEGER PRIMARY KEY, old INTEGER, new INTEGER);
"""
_LIST = "INSERT INTO listing VALUES (?, ?, ?, ?, ?)"
_RELIST = "UPDATE listing SET key = ?, stated = ? WHERE place = ?"
_SORTED = "SELECT key, place, stated FROM listing ORDER BY key, newest DESC, place"
_NOTE = "INSERT INTO difference VALUES (?, ?, ?)"
_DIFFERENCES = """
SELECT difference.old, difference.new, older.line, newer.line FROM difference
LEFT JOIN listing AS older ON older.place = difference.old
LEFT JOIN listing AS newer ON newer.place = difference.new
ORDER BY difference.rank
"""


def compare(old: Side, new: Side, on: On) -> Changes:
    """Reads both sides, and finds what differs."""
    db = temporary_database(_SCHEMA)
    try:
        with on_disk():
            return _compare(db, old, new, on)
    except BaseException:
        db.close()
        raise


def _compare(db: sqlite3.Connection, old: Side, new: Side, on: On) -> Changes:
    wanted = COMPARED[on]
    for side in (old, new):
        db.executemany(_LIST, side.rows(wanted))
        side.check()
        new.before = old.last
    compared = tuple(name for name in wanted if name in old.known() & new.known())
    for side in (old, new):
        if on == "lastmod" and "lastmod" not in side.known():
            raise UsageError(f"{side.name} has no lastmod at all, so nothing can be compared by it")
    by_site = all("site" in side.keys or not side.urls for side in (old, new))
    left_out = {*wanted} - {*compared} | (set() if by_site else {"site"})
    if not left_out.isdisjoint(old.keys | new.keys):
        _relist(db, compared, by_site)
    tally = _Tally(last_of_old=old.last, last=new.before + new.last)
    db.executemany(_NOTE, tally.differences(db.execute(_SORTED)))
    changes = Changes(tally.counts(), tuple(_notes(old, new, compared, wanted)), old, new, compared, db)
    weakref.finalize(changes, db.close)
    return changes


def _relist(db: sqlite3.Connection, compared: tuple[str, ...], by_site: bool) -> None:
    """The keys and digests once more, now that it is known what both sides have."""
    digest = digester(compared)
    lines = ((place, orjson.loads(line)) for place, line in db.execute("SELECT place, line FROM listing"))
    db.executemany(_RELIST, ((key_of(form, by_site=by_site), digest(form), place) for place, form in lines))


@attrs.define
class _Tally:
    """Finds the differences, and counts."""

    last_of_old: int
    last: int
    new: int = 0
    updated: int = 0
    removed: int = 0
    unchanged: int = 0

    def differences(self, listings: Iterable[tuple[bytes, int, bytes]]) -> Iterator[tuple[int, int | None, int | None]]:
        """Rank, place in OLD, place in NEW of each; of a key the first of a side counts."""
        for _, group in groupby(listings, itemgetter(0)):
            old = new = None
            for _, place, stated in group:
                if place <= self.last_of_old:
                    old = old or (place, stated)
                else:
                    new = new or (place, stated)
            if new is None:
                self.removed += 1
                place = old[0] if old else 0
                yield self.last + place, place, None
            elif old is None:
                self.new += 1
                yield new[0], None, new[0]
            elif old[1] != new[1]:
                self.updated += 1
                yield new[0], old[0], new[0]
            else:
                self.unchanged += 1

    def counts(self) -> Counts:
        return Counts(self.new, self.updated, self.removed, self.unchanged)


def _notes(old: Side, new: Side, compared: tuple[str, ...], wanted: tuple[str, ...]) -> Iterator[str]:
    for side, other in ((old, new), (new, old)):
        if missing := [name for name in wanted if name in other.keys and name not in side.known()]:
            yield f"{side.name} has no {', '.join(missing)}: compared is {', '.join(('loc', *compared))}"
    for side, becomes in ((old, "new"), (new, "removed")):
        if not side.urls:
            yield f"{side.name} is empty: every URL of the other counts as {becomes}"
        counts = ((side.failed, "could not be read"), (side.incomplete, "could be read in part only"))
        if lost := ", ".join(f"{count_of(count, 'document')} {what}" for count, what in counts if count):
            yield f"{side.name}: {lost}; what is missing counts as {becomes}"


# ----------------------------------------------------------------------------------------------------
# What differs between two dumps: their lines in, changes out.
#
# In: paths, Snapshots, States, binary streams or records, OLD and NEW. Out: Changes, new and updated ones in the order
# of
# NEW, then removed ones in the order of OLD.


__all__ = ["COMPARED", "STATED", "Changes", "Counts", "On", "compare", "diff", "is_state", "open_side", "stream_side"]


def diff(old: Source, new: Source, *, on: On = "any") -> Changes:
    """What is new, updated and removed in `new`, of which `old` is an earlier state.

    Each is a path of a dump or of a state that changes() keeps, a Snapshot, a State, a binary stream of a dump, or
    anything that gives UrlRecords, as urls() does. Both are read to their ends at once.

    A URL is its `loc`; in dumps that both name a `site`, each site's URLs are its own. Where a dump lists one several
    times, the listing with the newest lastmod counts, of equal ones the first. It is updated where anything differs
    that the site states of it, or with `on="lastmod"`, its date or the precision; that it moved to another sitemap is
    no change. Keys that one of the dumps never has, because it was written with some fields only, are not compared:
    Changes.notes says so.

    UsageError for what is no dump, lists changes, or has lines but no URL. OSError where the temporary folder is full.
    """
    if on not in COMPARED:
        raise UsageError(f"on must be one of {', '.join(COMPARED)}, not {on!r}")
    with ExitStack() as files:
        # Both are opened before one is read: a NEW that is missing is told at once.
        return compare(open_side(old, "old", files), open_side(new, "new", files), on)
