"""The URLs of one site in a state: what documents list now, against what they and others listed before.

In: what a document lists, as it is read; that it has come to its end. Out: what is new and updated by that, and at the
end of all what is removed. Never commits.
"""

from __future__ import annotations

import os.path
from functools import cache
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import attrs
import orjson

from ..jsonl import COMPARED, Lines
from ..read.plain_records import Entries
from ..records import Change
from ..restore import from_json
from .rows import (
    HAS_NEWS,
    Keys,
    Listing,
    Stated,
    best,
    columns_of,
    lastmod_of,
    micros,
    newest,
    record_of,
    stated_by_entries,
    stated_by_records,
)
from .statefile import execute_all

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet
    from datetime import datetime

    from ..jsonl import On
    from ..records import UrlRecord
    from ..walk.honesty import History
    from .said import Said

# New URLs come many at once: plain ones as Entries, the rest as Lines of their records.
ChangePiece: TypeAlias = "Entries | Lines | list[Change]"

# What is looked at and stored at once: all of a document, if it has no more than the protocol permits.
_MOST_AT_ONCE = 50_000
_PIECE_CHANGES = 1_000

_STATED = ("lastmod", "precision", "changefreq", "priority", "nested")
_COLUMNS = ", ".join(_STATED)
_OTHER = ", ".join(f"other.{name}" for name in _STATED)
_KEYS = "(SELECT value FROM json_each(:keys))"
_TABLES = """
CREATE TEMP TABLE IF NOT EXISTS kept (key INTEGER PRIMARY KEY);
DELETE FROM kept;
"""
_KEEP = f"INSERT OR IGNORE INTO kept {_KEYS[1:-1]}"
# CROSS: from the few to the many, whatever the planner thinks.
_STORED = f"""
SELECT other.key, {_OTHER} FROM json_each(:keys) CROSS JOIN entry AS other
ON other.document = :document AND other.key = value
"""
_LISTED_ELSEWHERE = f"""
SELECT other.key, 0, other.document, {_OTHER} FROM json_each(:keys) CROSS JOIN entry AS other INDEXED BY entry_key
ON other.key = value AND other.document <> :document
"""
_UNLISTED = f"""
SELECT other.key, 1 + other.expired, other.document, {_OTHER} FROM json_each(:keys) CROSS JOIN unlisted AS other
ON other.site = :site AND other.key = value
"""
# Many rows with each statement: between two of them, others may have Python.
_ROWS_AT_ONCE = 500
_STORE = f"""
INSERT INTO entry (document, key, {_COLUMNS}, loc) VALUES %s
ON CONFLICT (document, key) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _STATED)}
"""
# What is listed again is no more what it was when it left; what expired is nothing beside what is listed.
_RELIST = f"""
DELETE FROM unlisted WHERE site = :site AND (document = :document OR expired)
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
_GOING = """
FROM unlisted WHERE site = :site AND NOT expired
AND NOT EXISTS (SELECT 1 FROM entry INDEXED BY entry_key WHERE entry.key = unlisted.key)
"""
_UNDECIDED = f"""
SELECT gone.key, gone.loc, gone.sitemap, gone.document, {", ".join(f"gone.{name}" for name in _STATED)},
  kept.document, {", ".join(f"kept.{name}" for name in _STATED)}
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
        execute_all(db, _TABLES)

    def say(self, place: Place, said: Said, listed: Entries | Sequence[UrlRecord], now: datetime) -> None:
        """A document lists these now."""
        if isinstance(listed, Entries):
            stated = stated_by_entries(listed, self._keys)
        else:
            stated = stated_by_records(listed, self._keys)
        stored: dict[int, tuple[Any, ...]] = {}
        if place.stored:
            rows = self._db.execute(_STORED, {"document": place.document, "keys": _json(sorted(stated.keys))})
            stored = {key: tuple(values) for key, *values in rows}
        said.add(stated, stored, micros(now) // 1_000_000)

    # --- at the end of a document ---

    def changes(self, place: Place, said: Said, seen: Changed) -> Iterator[ChangePiece]:
        """What is new and updated by what the document lists now, in its order; that is what is stored then.

        `seen` is told how it differs from before.
        """
        same = frozenset(said.same) if said.changed_urls else frozenset()
        seen.prefix = place.prefix if place.stored else None
        for some in _at_once(said.changed()):
            yield from self._changes(place, some, same, seen)

    def _changes(
        self, place: Place, some: list[Stated], same: frozenset[int], seen: Changed
    ) -> Iterator[ChangePiece]:
        keys = [key for stated in some for key in stated.keys]
        told = {"document": place.document, "site": self._site, "keys": _json(sorted(keys))}
        has_own, has_unlisted = place.stored or seen.stored, self.has_unlisted
        rows = self._db.execute(_STORED, told) if has_own else ()
        own = {key: Listing(place.document, *row) for key, *row in rows}
        elsewhere: dict[int, list[tuple[int, Listing]]] = {}
        for query in (_LISTED_ELSEWHERE, _UNLISTED) if has_unlisted else (_LISTED_ELSEWHERE,):
            for key, kind, *listing in self._db.execute(query, told):
                elsewhere.setdefault(key, []).append((kind, Listing(*listing)))
        earlier = same | seen.stored
        if len({*keys}) < len(keys) or not earlier.isdisjoint(keys):
            some = _without_repeated(some, own, earlier)
        for stated in some:
            yield from self._pieces(place, stated, own, elsewhere, seen)
        self._store(place, some, seen)
        if len(keys) >= _MOST_AT_ONCE:
            seen.stored.update(keys)
        if elsewhere and has_unlisted:
            self._db.execute(_RELIST, told)

    def _pieces(
        self,
        place: Place,
        stated: Stated,
        own: dict[int, Listing],
        elsewhere: dict[int, list[tuple[int, Listing]]],
        seen: Changed,
    ) -> Iterator[ChangePiece]:
        is_known = [key in own or key in elsewhere for key in stated.keys]
        if any(is_known):
            changes = []
            for index, known in enumerate(is_known):
                if known:
                    change = self._change(place, stated, index, own, elsewhere, seen)
                    changes += [] if change is None else [change]
            if changes:
                yield changes
            stated = stated.only([not each for each in is_known])
        if stated.forms is None:
            if stated.keys:
                yield Entries(columns_of(stated), place.sitemap)
        else:
            yield from _mixed(stated, place.sitemap)

    def _change(
        self,
        place: Place,
        stated: Stated,
        index: int,
        own: dict[int, Listing],
        elsewhere: dict[int, list[tuple[int, Listing]]],
        seen: Changed,
    ) -> Change | None:
        """What becomes of a URL that was listed before, by this document or by others."""
        key, loc = stated.keys[index], stated.locs[index]
        listing = stated.listing(place.document, index)
        listed = elsewhere.get(key, [])
        before = [own[key]] if key in own else []
        if before:
            seen.count(before[0], listing)
        others = [each for kind, each in listed if kind == 0]
        left = [each for kind, each in listed if kind == 1]
        # What expired counts where nothing else is known.
        before = before + others + left or [each for _, each in listed]
        after = [listing, *others, *(each for each in left if each.document != place.document)]
        old, new = best(before), best(after)
        changed = self._differences(old, new)
        if not changed:
            return None
        if new is not listing:
            return _updated(record_of(loc, new[1:5], self._sitemap(new.document)), changed, old)
        form = stated.forms[index] if stated.forms else None
        record = _record(form) if form else record_of(loc, listing[1:5], place.sitemap)
        record.line = stated.lines[index]
        return _updated(record, changed, old)

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
        rows = [row for stated in some for row in stated.rows(place.document, len(prefix))]
        rows.sort(key=itemgetter(1))
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            part = rows[start : start + _ROWS_AT_ONCE]
            self._db.execute(_STORE % _marks(len(part)), [*chain.from_iterable(part)])

    def leave(self, place: Place, said: Said | None, now: datetime, *, expires: bool) -> None:
        """What the document lists no more, or with None all of it: decided on at the end.

        With `expires` it is in its nature that it leaves.
        """
        self._db.execute("DELETE FROM kept")
        if said is not None:
            self._db.execute(_KEEP, {"keys": _json([*said.seen])})
            for stated in said.changed():
                self._db.execute(_KEEP, {"keys": _json(stated.keys)})
        told = {"document": place.document, "site": self._site, "prefix": place.prefix, "sitemap": place.sitemap}
        self._db.execute(_UNLIST, {**told, "expires": expires, "now": micros(now)})
        self._db.execute(f"DELETE {_LEFT}", {"document": place.document})

    def count(self, document: int) -> int:
        """How many URLs are stored of it."""
        return int(self._db.execute("SELECT count(*) FROM entry WHERE document = ?", (document,)).fetchone()[0])

    # --- at the end of all ---

    @property
    def has_unlisted(self) -> bool:
        """Whether anything is undecided, or expired."""
        return bool(self._db.execute("SELECT 1 FROM unlisted WHERE site = ? LIMIT 1", (self._site,)).fetchone())

    def going(self) -> int:
        """How many URLs nobody lists any more."""
        return int(self._db.execute(f"SELECT count(DISTINCT key) {_GOING}", {"site": self._site}).fetchone()[0])

    def listed(self) -> int:
        """How many URLs are listed."""
        found = "SELECT count(DISTINCT key) FROM entry WHERE document IN (SELECT id FROM document WHERE site = ?)"
        return int(self._db.execute(found, (self._site,)).fetchone()[0])

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


@attrs.define
class Changed:
    """How what a document lists differs from before: `prefix` is what its locs begin with now.

    `stored` are the keys that a document with very many has stored already.
    """

    prefix: str | None = None
    stored: set[int] = attrs.field(factory=set)
    both: int = 0
    lastmod_only: int = 0
    entry_only: int = 0

    def count(self, old: Listing, new: Listing) -> None:
        """One URL that it lists otherwise than before."""
        lastmod = old[1:3] != new[1:3]
        entry = old[3:] != new[3:]
        self.both += lastmod and entry
        self.lastmod_only += lastmod and not entry
        self.entry_only += entry and not lastmod and old.lastmod is not None

    def history(self, before: History, entries: int) -> History:
        """These beside what was seen before.

        Pages change all the time, and their dates with them: that most do at once is how a generated stamp looks.
        """
        alone = self.lastmod_only if self.lastmod_only * 2 > entries else 0
        return attrs.evolve(
            before,
            both=before.both + self.both,
            lastmod_only=before.lastmod_only + alone,
            entry_only=before.entry_only + self.entry_only,
        )


def _at_once(changed: Iterator[Stated]) -> Iterator[list[Stated]]:
    some: list[Stated] = []
    urls = 0
    for stated in changed:
        some.append(stated)
        urls += len(stated.keys)
        if urls >= _MOST_AT_ONCE:
            yield some
            some, urls = [], 0
    if some:
        yield some


def _without_repeated(some: list[Stated], own: dict[int, Listing], earlier: AbstractSet[int]) -> list[Stated]:
    """Each URL once: of one document's listings of it the newest counts, of equal ones the first.

    Those of `earlier` were listed already as they are stored.
    """
    counts: dict[int, int] = {}  # key -> how new its best listing is
    winners: dict[int, tuple[int, int]] = {}
    for number, stated in enumerate(some):
        for index, key in enumerate(stated.keys):
            age = newest(stated.lastmods[index], stated.precisions[index])
            if key not in counts and key in earlier and key in own:
                counts[key] = newest(own[key].lastmod, own[key].precision)
            if key not in counts or age > counts[key]:
                counts[key], winners[key] = age, (number, index)
    kept = frozenset(winners.values())
    return [
        stated.only([(number, index) in kept for index in range(len(stated.keys))])
        for number, stated in enumerate(some)
    ]


def _mixed(stated: Stated, sitemap: str) -> Iterator[ChangePiece]:
    """New ones of which some have a form, in their order."""
    start = 0
    for is_plain, group in groupby(stated.forms or (), lambda form: form is None):
        forms = [*group]
        end = start + len(forms)
        if is_plain:
            yield Entries(columns_of(stated.part(start, end)), sitemap)
        else:
            yield Lines(b"".join(cast("list[bytes]", forms)), len(forms), 0)
        start = end


def _updated(record: UrlRecord, changed: tuple[str, ...], old: Listing) -> Change:
    return Change("updated", record, changed, *lastmod_of(old.lastmod, old.precision))


def _record(form: bytes) -> UrlRecord:
    """What a line of ours says."""
    return cast("UrlRecord", from_json(form))


@cache
def _marks(rows: int) -> str:
    return ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?)"] * rows)


def _json(keys: Sequence[int]) -> str:
    return orjson.dumps(keys).decode()
