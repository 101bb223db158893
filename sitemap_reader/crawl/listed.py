"""The URLs of one site in a state: what documents list now, against what they and others listed before.

In: what a document lists, as it is read; that it has come to its end. Out: what is new and updated by that, and at the
end of all what is removed. What is being read is in a temporary table, so memory stays flat. Never commits.
"""

from __future__ import annotations

import os.path
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import attrs

from ..jsonl import COMPARED, Lines
from ..read.plain_records import Columns, Entries
from ..records import Change
from ..restore import from_json
from ..walk.honesty import History
from .rows import (
    HAS_NEWS,
    PRECISIONS,
    Keys,
    Listing,
    best,
    changefreq_of,
    lastmod_of,
    micros,
    record_of,
    rows_of_entries,
    rows_of_records,
)
from .statefile import execute_all

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from ..jsonl import On
    from ..records import UrlRecord
# New URLs come many at once: plain ones as Entries, the rest as Lines of their records.
ChangePiece: TypeAlias = "Entries | Lines | list[Change]"

_PIECE_ROWS = 1_000
_STATED = ("lastmod", "precision", "changefreq", "priority", "nested")
# `=` would not find two nulls equal.
_SAME = " AND ".join(f"{{0}}.{name} IS {{1}}.{name}" for name in _STATED)
_COLUMNS = ", ".join(_STATED)
_SECONDS_OF_FETCH = 60
_SUBSECOND = PRECISIONS.index("subsecond")

_TABLES = """
CREATE TEMP TABLE IF NOT EXISTS said (
  document INTEGER NOT NULL, key INTEGER NOT NULL, lastmod INTEGER, precision INTEGER, changefreq INTEGER,
  priority REAL, nested BLOB, loc TEXT NOT NULL, line INTEGER, form BLOB, PRIMARY KEY (document, key)
) WITHOUT ROWID;
DELETE FROM said;
"""
# Of one document's listings of a URL the newest counts, of equal ones the first.
_SAY = f"""
INSERT INTO said (document, key, lastmod, precision, changefreq, priority, nested, loc, line, form)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (document, key) DO UPDATE SET lastmod = excluded.lastmod,
  precision = excluded.precision, changefreq = excluded.changefreq, priority = excluded.priority,
  nested = excluded.nested, line = excluded.line, form = excluded.form
WHERE coalesce(excluded.lastmod, -1e15) * iif(excluded.precision IS {_SUBSECOND}, 1, 1000000)
  > coalesce(said.lastmod, -1e15) * iif(said.precision IS {_SUBSECOND}, 1, 1000000)
"""
# What the document itself lists otherwise than before, or did not list.
_DIFFERENT = f"""
FROM said LEFT JOIN entry AS own ON own.document = said.document AND own.key = said.key
WHERE said.document = :document AND (own.key IS NULL OR NOT ({_SAME.format("own", "said")}))
"""
_NEWS = f"""
SELECT said.key, said.line, said.form, said.loc, {", ".join(f"said.{name}" for name in _STATED)},
  own.key, {", ".join(f"own.{name}" for name in _STATED)}
{_DIFFERENT} ORDER BY said.line
"""
_ELSEWHERE = f"""
SELECT said.key, 0 AS kind, other.document, {", ".join(f"other.{name}" for name in _STATED)}
FROM said JOIN entry AS other INDEXED BY entry_key ON other.key = said.key AND other.document <> said.document
LEFT JOIN entry AS own ON own.document = said.document AND own.key = said.key
WHERE said.document = :document AND (own.key IS NULL OR NOT ({_SAME.format("own", "said")}))
UNION ALL
SELECT said.key, 1 + other.expired, other.document, {", ".join(f"other.{name}" for name in _STATED)}
FROM said JOIN unlisted AS other ON other.site = :site AND other.key = said.key WHERE said.document = :document
"""
_STORE = f"""
INSERT INTO entry (document, key, {_COLUMNS}, loc)
SELECT document, key, {_COLUMNS}, substr(loc, :behind) FROM said WHERE document = :document ORDER BY key
ON CONFLICT (document, key) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _STATED)}
WHERE NOT ({_SAME.format("entry", "excluded")})
"""
_LEFT = """
FROM entry WHERE entry.document = :document
AND NOT EXISTS (SELECT 1 FROM said WHERE said.document = entry.document AND said.key = entry.key)
"""
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


class Listed:
    """The entries of one site. `on` says what makes a URL updated; documents go by their numbers in the state."""

    def __init__(self, db: sqlite3.Connection, site: int, secret: bytes, on: On) -> None:
        self._db = db
        self._site = site
        self._keys = Keys(secret)
        self._compared = frozenset(COMPARED[on])
        execute_all(db, _TABLES)

    # --- while documents are read ---

    def say(self, document: int, listed: Entries | Sequence[UrlRecord]) -> None:
        """A document lists these now."""
        if isinstance(listed, Entries):
            rows = rows_of_entries(listed, self._keys)
        else:
            rows = rows_of_records(listed, self._keys)
        self._db.executemany(_SAY, ((document, *row) for row in rows))

    def forget(self, document: int) -> None:
        """What a document lists now is of no more interest."""
        self._db.execute("DELETE FROM said WHERE document = ?", (document,))

    # --- at the end of one ---

    def changes(self, document: int, sitemap: str) -> Iterator[ChangePiece]:
        """What is new and updated by what the document lists now, in its order. Stores nothing."""
        elsewhere = self._elsewhere(document)
        rows = self._db.execute(_NEWS, {"document": document})
        while some := rows.fetchmany(_PIECE_ROWS):
            for kind, group in groupby(some, lambda row: _kind(row, elsewhere)):
                if kind == "plain":
                    yield _entries([*group], sitemap)
                elif kind == "rich":
                    yield _lines([row[2] for row in group])
                else:
                    changes = (self._change(document, sitemap, row, elsewhere.get(row[0], [])) for row in group)
                    yield [change for change in changes if change is not None]

    def _elsewhere(self, document: int) -> dict[int, list[tuple[int, Listing]]]:
        """Key -> where else what has changed is listed, or was: 0 listed, 1 unlisted, 2 expired."""
        found: dict[int, list[tuple[int, Listing]]] = {}
        for key, kind, *listing in self._db.execute(_ELSEWHERE, {"document": document, "site": self._site}):
            found.setdefault(key, []).append((kind, Listing(*listing)))
        return found

    def _change(
        self, document: int, sitemap: str, row: tuple[Any, ...], elsewhere: list[tuple[int, Listing]]
    ) -> Change | None:
        """What becomes of a URL that was listed before, by this document or by others."""
        line, form, loc = row[1:4]
        said, own = Listing(document, *row[4:9]), Listing(document, *row[10:15])
        others = [listing for kind, listing in elsewhere if kind == 0]
        left = [listing for kind, listing in elsewhere if kind == 1]
        before = [own] if row[9] is not None else []
        before += others + left
        before = before or [listing for _, listing in elsewhere]
        after = [said, *others, *(listing for listing in left if listing.document != document)]
        old, new = best(before), best(after)
        changed = tuple(name for name in old.differences(new) if name in self._compared)
        if not changed:
            return None
        if new is not said:
            return self._changed(record_of(loc, new[1:5], self._sitemap(new.document)), changed, old)
        record = _record(form) if form else record_of(loc, said[1:5], sitemap)
        record.line = line
        return self._changed(record, changed, old)

    def _changed(self, record: UrlRecord, changed: tuple[str, ...], old: Listing) -> Change:
        return Change("updated", record, changed, *lastmod_of(old.lastmod, old.precision))

    def _sitemap(self, document: int) -> str | None:
        found = self._db.execute("SELECT url FROM document WHERE id = ?", (document,)).fetchone()
        return found and str(found[0])

    def store(self, document: int, prefix: str, *, is_new: bool) -> str:
        """What the document lists now is what it listed last; its locs' common beginning, which rows leave out."""
        shorter = self._prefix(document, None if is_new else prefix)
        if not is_new and len(shorter) < len(prefix):
            told = {"document": document, "middle": prefix[len(shorter) :]}
            self._db.execute("UPDATE entry SET loc = :middle || loc WHERE document = :document", told)
        self._db.execute(_STORE, {"document": document, "behind": len(shorter) + 1})
        if self.has_unlisted:  # what is listed again is no more what it was when it left
            self._db.execute(
                "DELETE FROM unlisted WHERE site = :site AND (document = :document OR expired)"
                " AND key IN (SELECT key FROM said WHERE document = :document)",
                {"site": self._site, "document": document},
            )
        return shorter

    def _prefix(self, document: int, prefix: str | None) -> str:
        ends = self._db.execute("SELECT min(loc), max(loc) FROM said WHERE document = ?", (document,)).fetchone()
        known = [each for each in (prefix, *ends) if each is not None]
        return str(os.path.commonprefix(known))  # noqa: RUF071 - of text, and no path

    def leave(self, document: int, prefix: str, sitemap: str, now: datetime, *, expires: bool) -> None:
        """What the document lists no more: decided on at the end. With `expires` that is in its nature."""
        told = {"document": document, "site": self._site, "prefix": prefix, "sitemap": sitemap}
        self._db.execute(_UNLIST, {**told, "expires": expires, "now": micros(now)})
        self._db.execute(f"DELETE {_LEFT}", {"document": document})

    def count(self, document: int) -> int:
        """How many URLs are stored of it."""
        return int(self._db.execute("SELECT count(*) FROM entry WHERE document = ?", (document,)).fetchone()[0])

    # --- what was seen of the dates ---

    def history(self, document: int, before: History, started: datetime, now: datetime) -> History:
        """What the document's dates look like now, and how they changed since; to be asked before it is stored."""
        told = {"document": document, "now": micros(now), "started": micros(started)}
        seen = self._db.execute(_SEEN, {**told, "margin": _SECONDS_OF_FETCH * 1_000_000}).fetchone()
        common = self._db.execute(_COMMON, told).fetchone()
        changed = self._db.execute(_CHANGED, told).fetchone()
        history = History(seen[0], seen[1], common[0] if common else 0, seen[2], seen[3])
        both, alone, entry_only = (each or 0 for each in changed)
        # Pages change all the time, and their dates with them: that most do at once is how a generated stamp looks.
        alone = alone if alone * 2 > seen[0] else 0
        return attrs.evolve(
            history,
            both=before.both + both,
            lastmod_only=before.lastmod_only + alone,
            entry_only=before.entry_only + entry_only,
        )

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
            if len(changes) >= _PIECE_ROWS:
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
        changed = tuple(name for name in old.differences(new) if name in self._compared)
        return self._changed(record_of(loc, new[1:5], self._sitemap(new.document)), changed, old) if changed else None

    def settle(self, forget_before: datetime) -> None:
        """All of that is decided; what expired long ago is forgotten."""
        self._db.execute(_DECIDED, {"site": self._site})
        told = (self._site, micros(forget_before))
        self._db.execute("DELETE FROM unlisted WHERE site = ? AND expired AND left_at < ?", told)


_MICROS = f"lastmod * iif(precision IS {_SUBSECOND}, 1, 1000000)"
_IS_EXACT = f"precision >= {PRECISIONS.index('minute')}"
_SEEN = f"""
SELECT count(*), count(lastmod), coalesce(sum({_MICROS} > :now + :margin), 0),
  coalesce(sum({_IS_EXACT} AND {_MICROS} BETWEEN :started - :margin AND :now + :margin), 0)
FROM said WHERE document = :document
"""
_COMMON = """
SELECT count(*) FROM said WHERE document = :document AND lastmod IS NOT NULL
GROUP BY lastmod ORDER BY 1 DESC LIMIT 1
"""
_DATES_DIFFER = "(own.lastmod IS NOT said.lastmod OR own.precision IS NOT said.precision)"
_REST_DIFFERS = " OR ".join(f"own.{name} IS NOT said.{name}" for name in ("changefreq", "priority", "nested"))
_CHANGED = f"""
SELECT sum({_DATES_DIFFER} AND ({_REST_DIFFERS})), sum({_DATES_DIFFER} AND NOT ({_REST_DIFFERS})),
  sum(NOT {_DATES_DIFFER} AND own.lastmod IS NOT NULL AND ({_REST_DIFFERS}))
FROM said JOIN entry AS own ON own.document = said.document AND own.key = said.key WHERE said.document = :document
"""


def _kind(row: tuple[Any, ...], elsewhere: dict[int, list[tuple[int, Listing]]]) -> str:
    if row[9] is not None or row[0] in elsewhere:
        return "known"
    return "plain" if row[2] is None else "rich"


def _entries(rows: list[tuple[Any, ...]], sitemap: str) -> Entries:
    _, lines, _, locs, lastmods, precisions, changefreqs, priorities, *_ = zip(*rows, strict=True)
    moments, names = zip(*map(lastmod_of, lastmods, precisions), strict=True)
    return Entries(Columns(locs, moments, names, [*map(changefreq_of, changefreqs)], priorities, lines, None), sitemap)


def _record(form: bytes) -> UrlRecord:
    """What a line of ours says."""
    return cast("UrlRecord", from_json(form))


def _lines(forms: list[bytes]) -> Lines:
    return Lines(b"".join(forms), len(forms), 0)
