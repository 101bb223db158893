"""Two sides in, their differences out, by way of a temporary SQLite database: memory stays flat.

The database is a file that has no name, so that it is gone with the Changes, or with the process.
"""

from __future__ import annotations

import weakref
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Self

import attrs
import orjson

from ..client.summary import count_of
from ..model.errors import UsageError
from ..model.records import Change
from ..serialize.jsonl import COMPARED, REMOVED
from ..serialize.restore import from_json
from ..state.scratch import on_disk, temporary_database
from .sides import digester, key_of, value_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    from ..serialize.dumps import Form
    from ..serialize.jsonl import On
    from .sides import Side


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
