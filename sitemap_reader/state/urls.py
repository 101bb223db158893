"""The URLs of one site in a state: what documents list now, against what they and others listed before.

In: what a document lists, as it is read; that it has come to its end. Out: what is new and updated by that, and at the
end of all what is removed. Never commits.
"""

from __future__ import annotations

import os.path
from functools import cache
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

import attrs
import orjson

from ..model.records import Change
from ..parser.fast_scanner import Entries
from ..serialize.jsonl import COMPARED, from_json
from .diff_rules import MOST_AT_ONCE, Before, at_once, mixed, without_repeated
from .rows import (
    HAS_NEWS,
    Keys,
    Listing,
    Stated,
    best,
    columns_of,
    lastmod_of,
    micros,
    record_of,
    stated_by_entries,
    stated_by_records,
)
from .schema import execute_all

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from ..model.records import UrlRecord
    from ..serialize.jsonl import On
    from .diff_rules import Changed, ChangePiece
    from .document_buffer import Said


_PIECE_CHANGES = 1_000
# New URLs of documents that are older than the run, remembered as such until its end: some 64 bytes each. Of more than
# that one may be reported as updated, too, when another document of the run has a newer listing of it.
_MOST_NEW = 100_000

_STATED = ("lastmod", "precision", "changefreq", "priority", "nested")
_COLUMNS = ", ".join(_STATED)
_VALUES = "SELECT value FROM json_each(:keys)"
_KEYS = f"({_VALUES})"


def _columns(table: str) -> str:
    return ", ".join(f"{table}.{name}" for name in _STATED)


_OTHER = _columns("other")
_OTHERWISE = " OR ".join(
    f"own.{name} IS NOT json_extract(given.value, '$[{place}]')" for place, name in enumerate(_STATED, 1)
)
_TABLES = """
CREATE TEMP TABLE IF NOT EXISTS kept (key INTEGER PRIMARY KEY);
DELETE FROM kept;
"""
_KEEP = f"INSERT OR IGNORE INTO kept {_VALUES}"
# What is found comes as one value: row by row, each would wait until whoever reads lets go of Python.
# CROSS: from the few to the many, whatever the planner thinks.
_STORED = f"""
SELECT json_group_array(json_array(other.key, {_OTHER})) FROM json_each(:keys) CROSS JOIN entry AS other
ON other.document = :document AND other.key = value
"""
_LISTED_ELSEWHERE = f"""
SELECT json_group_array(json_array(other.key, 0, other.document, {_OTHER}))
FROM json_each(:keys) CROSS JOIN entry AS other INDEXED BY entry_key
ON other.key = value AND other.document <> :document
"""
_UNLISTED = f"""
SELECT json_group_array(json_array(other.key, 1 + other.expired, other.document, {_OTHER}))
FROM json_each(:keys) CROSS JOIN unlisted AS other
ON other.site = :site AND other.key = value AND NOT other.told
"""
_UNLIKE = f"""
SELECT json_group_array(json_array(given.key, own.key IS NOT NULL)) FROM json_each(:rows) AS given
LEFT JOIN entry AS own ON own.document = :document AND own.key = json_extract(given.value, '$[0]')
WHERE own.key IS NULL OR {_OTHERWISE}
"""
# Many rows with each statement: between two of them, others may have Python. A power of two, as are all parts.
_ROWS_AT_ONCE = 512
_STORE = f"""
INSERT INTO entry (document, key, {_COLUMNS}, loc) VALUES %s
ON CONFLICT (document, key) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _STATED)}
"""
# What is listed again is no more what it was when it left; what expired is nothing beside what is listed.
_RELIST = f"""
DELETE FROM unlisted WHERE site = :site AND (document = :document OR expired OR told)
AND key IN {_KEYS}
"""
_LEFT = "FROM entry WHERE entry.document = :document AND entry.key NOT IN (SELECT key FROM kept)"
# What expires while others list it is nobody's loss.
_UNLIST = f"""
INSERT OR REPLACE INTO unlisted (site, key, document, {_COLUMNS}, loc, sitemap, expired, left_at)
SELECT :site, key, document, {_COLUMNS}, :prefix || loc, :sitemap, :expires OR {HAS_NEWS}, :now {_LEFT}
AND NOT ((:expires OR {HAS_NEWS}) AND EXISTS (
  SELECT 1 FROM entry AS other INDEXED BY entry_key WHERE other.key = entry.key AND other.document <> entry.document))
"""
_IS_GOING = """
site = :site AND NOT expired
AND NOT EXISTS (SELECT 1 FROM entry INDEXED BY entry_key WHERE entry.key = unlisted.key)
"""
_ANNOUNCE = f"""
UPDATE unlisted SET told = 1 WHERE site = :site AND key IN (SELECT key FROM unlisted WHERE {_IS_GOING})
"""
_UNDECIDED = f"""
SELECT gone.key, gone.loc, gone.sitemap, gone.document, {_columns("gone")},
  kept.document, {_columns("kept")}
FROM unlisted AS gone LEFT JOIN entry AS kept INDEXED BY entry_key ON kept.key = gone.key
WHERE gone.site = :site AND NOT gone.expired ORDER BY gone.key
"""
_DECIDED = """
DELETE FROM unlisted WHERE site = :site AND key IN (SELECT key FROM unlisted WHERE site = :site AND NOT expired)
"""


@attrs.frozen
class Place:
    """A document that lists: its number in the state, its URL, and what all its stored locs begin with.

    `stored` is how many of them there are.
    """

    document: int
    sitemap: str
    prefix: str
    stored: int


class Listed:
    """The entries of one site. `on` says what makes a URL updated."""

    def __init__(self, db: sqlite3.Connection, site: int, secret: bytes, on: On) -> None:
        self._db = db
        self._site = site
        self._keys = Keys(secret)
        self._compared = frozenset(COMPARED[on])
        # What is new in this run is reported once, by the first listing that is read; others only change the state.
        self._first_new_document = 1 + int(db.execute("SELECT coalesce(max(id), 0) FROM document").fetchone()[0])
        self._new: set[int] = set()
        execute_all(db, _TABLES)

    def say(self, place: Place, said: Said, listed: Entries | Sequence[UrlRecord], now: datetime) -> None:
        """A document lists these now."""
        if isinstance(listed, Entries):
            stated = stated_by_entries(listed, self._keys)
        else:
            stated = stated_by_records(listed, self._keys)
        unlike: dict[int, bool] | None = None
        if place.stored:
            unlike = dict(self._found(_UNLIKE, {"document": place.document, "rows": _json([*stated.values()])}))
        said.add(stated, unlike, micros(now) // 1_000_000)

    # --- at the end of a document ---

    def changes(self, place: Place, said: Said, seen: Changed) -> Iterator[ChangePiece]:
        """What is new and updated by what the document lists now, in its order; that is what is stored then.

        `seen` is told how it differs from before.
        """
        same = frozenset(said.same) if said.changed_urls else frozenset()
        seen.prefix = place.prefix if place.stored else None
        for some in at_once(said.changed()):
            yield from self._changes(place, some, same, seen)

    def _changes(self, place: Place, some: list[Stated], same: frozenset[int], seen: Changed) -> Iterator[ChangePiece]:
        keys = [key for stated in some for key in stated.keys]
        told = {"document": place.document, "site": self._site, "keys": _json(sorted(keys))}
        before = self._before(told, has_own=bool(place.stored or seen.stored))
        earlier = same | seen.stored
        if len({*keys}) < len(keys) or not earlier.isdisjoint(keys):
            some = without_repeated(some, before.own, earlier)
        for stated in some:
            yield from self._pieces(place, stated, before, seen)
        self._store(place, some, seen)
        if len(keys) >= MOST_AT_ONCE:
            seen.stored.update(keys)
        if self.has_unlisted:
            self._db.execute(_RELIST, told)

    def _before(self, told: dict[str, Any], *, has_own: bool) -> Before:
        rows = self._found(_STORED, told) if has_own else ()
        before = Before({key: Listing(told["document"], *row) for key, *row in rows})
        for query in (_LISTED_ELSEWHERE, _UNLISTED) if self.has_unlisted else (_LISTED_ELSEWHERE,):
            for key, kind, *listing in self._found(query, told):
                before.elsewhere.setdefault(key, []).append((kind, Listing(*listing)))
        return before

    def _pieces(self, place: Place, stated: Stated, before: Before, seen: Changed) -> Iterator[ChangePiece]:
        """What changed of those that were listed before, then those that were not."""
        is_known = [key in before.own or key in before.elsewhere for key in stated.keys]
        if any(is_known):
            known = (index for index, is_one in enumerate(is_known) if is_one)
            found = (self._change(place, stated, index, before, seen) for index in known)
            if changes := [change for change in found if change is not None]:
                yield changes
            stated = stated.only([not each for each in is_known])
        if place.document < self._first_new_document and len(self._new) < _MOST_NEW:
            self._new.update(stated.keys)
        if stated.forms is not None:
            yield from mixed(stated, place.sitemap)
        elif stated.keys:
            yield Entries(columns_of(stated), place.sitemap)

    def _change(self, place: Place, stated: Stated, index: int, before: Before, seen: Changed) -> Change | None:
        """What becomes of a URL that was listed before, by this document or by others."""
        key, loc = stated.keys[index], stated.locs[index]
        listing = stated.listing(place.document, index)
        if key in before.own:
            seen.count(before.own[key], listing)
        old, new = best(before.of(key)), best([listing, *before.beside(key, place.document)])
        changed = self._differences(old, new)
        if not changed or self._is_new(key, before):
            return None
        if new is not listing:
            return _updated(record_of(loc, new[1:5], self._sitemap(new.document)), changed, old)
        form = stated.forms[index] if stated.forms else None
        record = _record(form) if form else record_of(loc, listing[1:5], place.sitemap)
        record.line = stated.lines[index]
        return _updated(record, changed, old)

    def _is_new(self, key: int, before: Before) -> bool:
        """Whether a URL that is listed by now was not when the run began."""
        return key in self._new or all(document >= self._first_new_document for document in before.documents(key))

    def _differences(self, old: Listing, new: Listing) -> tuple[str, ...]:
        return tuple(name for name in old.differences(new) if name in self._compared)

    def _sitemap(self, document: int) -> str | None:
        found = self._db.execute("SELECT url FROM document WHERE id = ?", (document,)).fetchone()
        return found and str(found[0])

    def _store(self, place: Place, some: list[Stated], seen: Changed) -> None:
        ends = [end(stated.locs) for stated in some if stated.locs for end in (min, max)]
        known = [] if seen.prefix is None else [seen.prefix]
        prefix = str(os.path.commonprefix(known + ends))  # noqa: RUF071 - of text, and no path
        if seen.prefix is not None and len(prefix) < len(seen.prefix):
            told = {"document": place.document, "middle": seen.prefix[len(prefix) :]}
            self._db.execute("UPDATE entry SET loc = :middle || loc WHERE document = :document", told)
        seen.prefix = prefix
        has_nested = any(stated.nested for stated in some)
        rows = [row for stated in some for row in stated.rows(len(prefix), has_nested=has_nested)]
        rows.sort(key=itemgetter(0))  # in the order in which they lie
        start = 0
        while left := len(rows) - start:
            size = min(_ROWS_AT_ONCE, 1 << left.bit_length() - 1)  # few sizes: SQLite keeps what it makes of each
            part = chain.from_iterable(rows[start : start + size])
            self._db.execute(_insert(size, has_nested=has_nested), [place.document, *part])
            start += size

    def leave(self, place: Place, said: Said | None, now: datetime, *, expires: bool) -> None:
        """What the document lists no more, or with None all of it: decided on at the end.

        With `expires` it is in its nature that it leaves.
        """
        self._db.execute("DELETE FROM kept")
        if said is not None:
            self._db.execute(_KEEP, {"keys": _json([*said.same])})
            for stated in said.changed():
                self._db.execute(_KEEP, {"keys": _json(stated.keys)})
        told = {"document": place.document, "site": self._site, "prefix": place.prefix, "sitemap": place.sitemap}
        self._db.execute(_UNLIST, {**told, "expires": expires, "now": micros(now)})
        self._db.execute(f"DELETE {_LEFT}", {"document": place.document})

    def count(self, document: int) -> int:
        """How many URLs are stored of it."""
        return int(self._db.execute("SELECT count(*) FROM entry WHERE document = ?", (document,)).fetchone()[0])

    def _found(self, query: str, told: dict[str, Any]) -> list[list[Any]]:
        """The rows that it finds, of which it makes one value."""
        found: list[list[Any]] = orjson.loads(self._db.execute(query, told).fetchone()[0])
        return found

    # --- at the end of all ---

    @property
    def has_unlisted(self) -> bool:
        """Whether anything is undecided, or expired."""
        return bool(self._db.execute("SELECT 1 FROM unlisted WHERE site = ? LIMIT 1", (self._site,)).fetchone())

    def going(self) -> tuple[int, int]:
        """How many URLs nobody lists any more, and how many listings they had."""
        found = f"SELECT count(DISTINCT key), count(*) FROM unlisted WHERE {_IS_GOING}"
        urls, listings = self._db.execute(found, {"site": self._site}).fetchone()
        return urls, listings

    def announce(self) -> None:
        """What is going is told as removed next: from here on it is new if it is listed again, however that ends."""
        self._db.execute(_ANNOUNCE, {"site": self._site})

    def removals(self) -> Iterator[list[Change]]:
        """What is removed, and what is updated as the listing that counted is gone."""
        changes: list[Change] = []
        rows = self._db.execute(_UNDECIDED, {"site": self._site})
        for _, group in groupby(rows, itemgetter(0)):
            change = self._decided([*group])
            if change is not None:
                changes.append(change)
            if len(changes) >= _PIECE_CHANGES:
                yield changes
                changes = []
        if changes:
            yield changes

    def _decided(self, rows: list[tuple[Any, ...]]) -> Change | None:
        loc = rows[0][1]
        sitemaps = {row[3]: row[2] for row in rows}
        gone = {Listing(*row[3:9]) for row in rows}
        kept = {Listing(*row[9:15]) for row in rows if row[9] is not None}
        old = best(gone | kept)
        if not kept:
            return Change("removed", record_of(loc, old[1:5], sitemaps[old.document]))
        new = best(kept)
        changed = self._differences(old, new)
        return _updated(record_of(loc, new[1:5], self._sitemap(new.document)), changed, old) if changed else None

    def settle(self, forget_before: datetime) -> None:
        """All of that is decided; what expired long ago is forgotten."""
        self._db.execute(_DECIDED, {"site": self._site})
        told = (self._site, micros(forget_before))
        self._db.execute("DELETE FROM unlisted WHERE site = ? AND expired AND left_at < ?", told)


def _updated(record: UrlRecord, changed: tuple[str, ...], old: Listing) -> Change:
    return Change("updated", record, changed, *lastmod_of(old.lastmod, old.precision))


def _record(form: bytes) -> UrlRecord:
    """What a line of ours says."""
    return cast("UrlRecord", from_json(form))


@cache
def _insert(rows: int, *, has_nested: bool) -> str:
    """A statement that stores so many rows of a document, which is its first parameter."""
    marks = "(?1, ?, ?, ?, ?, ?, ?, ?)" if has_nested else "(?1, ?, ?, ?, ?, ?, NULL, ?)"
    return _STORE % ", ".join([marks] * rows)


def _json(values: Sequence[Any]) -> str:
    return orjson.dumps(values).decode()
