"""The URLs of one site in a state: compares what a document lists with the stored listings, and stores it.

In: entries of a document as they are read, then its end. Out: new and updated URLs at the end of each document, and
removed ones at the end of the crawl. Never commits.
"""

from __future__ import annotations

import os.path
from functools import cache
from itertools import chain, compress, count, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

import attrs
import orjson

from ..model.records import Change
from ..parser.fast_scanner import Entries
from ..serialize.jsonl import COMPARED, from_json
from .diff_rules import MAX_BATCH_URLS, PreviousListings, change_pieces, deduplicate, url_batches
from .rows import (
    HAS_NEWS,
    Keys,
    Listing,
    UrlColumns,
    columns_of_entries,
    columns_of_records,
    entry_columns,
    lastmod_of,
    micros,
    newest_listing,
    record_of,
)
from .schema import execute_all

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from ..model.records import UrlRecord
    from ..serialize.jsonl import On
    from .diff_rules import ChangePiece, DocumentChanges
    from .document_buffer import DocumentBuffer


_PIECE_CHANGES = 1_000
# New URLs in documents that are older than the run, remembered until its end: some 64 bytes each. Beyond this number a
# new URL may be reported as updated, too, when a later document of the run has a newer listing of it.
_MAX_NEW_KEYS = 100_000

_STATED = ("lastmod", "precision", "changefreq", "priority", "nested")
_COLUMNS = ", ".join(_STATED)
_VALUES = "SELECT value FROM json_each(:keys)"
_KEYS = f"({_VALUES})"


def _columns(table: str) -> str:
    return ", ".join(f"{table}.{name}" for name in _STATED)


_OTHER = _columns("other")
_OTHERWISE = " OR ".join(
    f"own.{name} IS NOT json_extract(given.value, '$[{document}]')" for document, name in enumerate(_STATED, 1)
)
_TABLES = """
CREATE TEMP TABLE IF NOT EXISTS kept (key INTEGER PRIMARY KEY);
DELETE FROM kept;
"""
_KEEP = f"INSERT OR IGNORE INTO kept {_VALUES}"
# Rows are returned as one JSON value: fetched one by one, each would wait for the GIL.
# CROSS JOIN fixes the join order: the few given keys first.
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
_DIFFERING = f"""
SELECT json_group_array(json_array(given.key, own.key IS NOT NULL)) FROM json_each(:rows) AS given
LEFT JOIN entry AS own ON own.document = :document AND own.key = json_extract(given.value, '$[0]')
WHERE own.key IS NULL OR {_OTHERWISE}
"""
# Many rows in each statement, as SQLite releases the GIL in each. A power of two, as are the sizes of the remainder.
_ROWS_AT_ONCE = 512
_STORE = f"""
INSERT INTO entry (document, key, {_COLUMNS}, loc) VALUES %s
ON CONFLICT (document, key) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _STATED)}
"""
# A URL that is listed again: its own former listing, expired ones and reported ones are obsolete.
_RELIST = f"""
DELETE FROM unlisted WHERE site = :site AND (document = :document OR expired OR told)
AND key IN {_KEYS}
"""
_NOT_KEPT = "FROM entry WHERE entry.document = :document AND entry.key NOT IN (SELECT key FROM kept)"
# An expiring URL that other documents list is not kept: it is not lost.
_UNLIST = f"""
INSERT OR REPLACE INTO unlisted (site, key, document, {_COLUMNS}, loc, sitemap, expired, left_at)
SELECT :site, key, document, {_COLUMNS}, :prefix || loc, :sitemap, :expires OR {HAS_NEWS}, :now {_NOT_KEPT}
AND NOT ((:expires OR {HAS_NEWS}) AND EXISTS (
  SELECT 1 FROM entry AS other INDEXED BY entry_key WHERE other.key = entry.key AND other.document <> entry.document))
"""
_TO_REMOVE = """
site = :site AND NOT expired
AND NOT EXISTS (SELECT 1 FROM entry INDEXED BY entry_key WHERE entry.key = unlisted.key)
"""
_MARK_REPORTED = f"""
UPDATE unlisted SET told = 1 WHERE site = :site AND key IN (SELECT key FROM unlisted WHERE {_TO_REMOVE})
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
class ListingDocument:
    """A document in the state: its id, its URL, the common prefix of its stored locs, and their number."""

    id: int
    sitemap: str
    prefix: str
    stored_urls: int


class SiteUrls:
    """The URLs of one site in the state; `on` names the fields whose change makes a URL updated."""

    def __init__(self, db: sqlite3.Connection, site: int, secret: bytes, on: On) -> None:
        self._db = db
        self._site = site
        self._keys = Keys(secret)
        self._compared = frozenset(COMPARED[on])
        # A new URL is reported once, at the first listing that is read; later ones only change the state.
        self._first_new_document = 1 + int(db.execute("SELECT coalesce(max(id), 0) FROM document").fetchone()[0])
        self._new: set[int] = set()
        execute_all(db, _TABLES)

    def add(
        self, document: ListingDocument, buffer: DocumentBuffer, entries: Entries | Sequence[UrlRecord], now: datetime
    ) -> None:
        """Adds entries of a document to its buffer, with the places at which they differ from the state."""
        if isinstance(entries, Entries):
            columns = columns_of_entries(entries, self._keys)
        else:
            columns = columns_of_records(entries, self._keys)
        differing: dict[int, bool] | None = None
        if document.stored_urls:
            rows = _json([*columns.values()])
            differing = dict(self._select(_DIFFERING, {"document": document.id, "rows": rows}))
        buffer.add(columns, differing, micros(now) // 1_000_000)

    # --- at the end of a document ---

    def changes(
        self, document: ListingDocument, buffer: DocumentBuffer, diff: DocumentChanges
    ) -> Iterator[ChangePiece]:
        """The new and updated URLs of a document that was read, in its order; stores them, and fills in `diff`."""
        unchanged = frozenset(buffer.unchanged) if buffer.changed_urls else frozenset()
        diff.prefix = document.prefix if document.stored_urls else None
        for batch in url_batches(buffer.changed()):
            yield from self._batch_changes(document, batch, unchanged, diff)

    def _batch_changes(
        self, document: ListingDocument, batch: list[UrlColumns], unchanged: frozenset[int], diff: DocumentChanges
    ) -> Iterator[ChangePiece]:
        keys = [key for columns in batch for key in columns.keys]
        parameters = {"document": document.id, "site": self._site, "keys": _json(sorted(keys))}
        before = self._before(parameters, has_own=bool(document.stored_urls or diff.stored))
        stored_keys = unchanged | diff.stored
        if len({*keys}) < len(keys) or not stored_keys.isdisjoint(keys):
            batch = deduplicate(batch, before.own, stored_keys)
        for columns in batch:
            yield from self._pieces(document, columns, before, diff)
        self._store(document, batch, diff)
        if len(keys) >= MAX_BATCH_URLS:
            diff.stored.update(keys)
        if self.has_unlisted:
            self._db.execute(_RELIST, parameters)

    def _before(self, parameters: dict[str, Any], *, has_own: bool) -> PreviousListings:
        rows = self._select(_STORED, parameters) if has_own else ()
        before = PreviousListings({key: Listing(parameters["document"], *row) for key, *row in rows})
        for query in (_LISTED_ELSEWHERE, _UNLISTED) if self.has_unlisted else (_LISTED_ELSEWHERE,):
            for key, kind, *listing in self._select(query, parameters):
                before.elsewhere.setdefault(key, []).append((kind, Listing(*listing)))
        return before

    def _pieces(
        self, document: ListingDocument, columns: UrlColumns, before: PreviousListings, diff: DocumentChanges
    ) -> Iterator[ChangePiece]:
        """The updated URLs, then the new ones."""
        is_known = [key in before.own or key in before.elsewhere for key in columns.keys]
        if any(is_known):
            known = compress(count(), is_known)
            compared = (self._change(document, columns, index, before, diff) for index in known)
            if changes := [change for change in compared if change is not None]:
                yield changes
            columns = columns.only([not flag for flag in is_known])
        if document.id < self._first_new_document and len(self._new) < _MAX_NEW_KEYS:
            self._new.update(columns.keys)
        if columns.json_lines is not None:
            yield from change_pieces(columns, document.sitemap)
        elif columns.keys:
            yield Entries(entry_columns(columns), document.sitemap)

    def _change(
        self,
        document: ListingDocument,
        columns: UrlColumns,
        index: int,
        before: PreviousListings,
        diff: DocumentChanges,
    ) -> Change | None:
        """The change of a URL that this document or another listed before; None if it is not updated."""
        key, loc = columns.keys[index], columns.locs[index]
        listing = columns.listing(document.id, index)
        if key in before.own:
            diff.count(before.own[key], listing)
        elsewhere = before.counted_elsewhere(key, document.id)
        old, new = newest_listing(before.counted(key)), newest_listing([listing, *elsewhere])
        changed = self._differences(old, new)
        if not changed or self._is_new(key, before):
            return None
        if new is not listing:
            return _updated(record_of(loc, new[1:5], self._sitemap(new.document)), changed, old)
        line = columns.json_lines[index] if columns.json_lines else None
        record = cast("UrlRecord", from_json(line)) if line else record_of(loc, listing[1:5], document.sitemap)
        record.line = columns.lines[index]
        return _updated(record, changed, old)

    def _is_new(self, key: int, before: PreviousListings) -> bool:
        """Whether a URL that is known now was not when the run began."""
        return key in self._new or all(document >= self._first_new_document for document in before.documents(key))

    def _differences(self, old: Listing, new: Listing) -> tuple[str, ...]:
        return tuple(name for name in old.differences(new) if name in self._compared)

    def _sitemap(self, document: int) -> str | None:
        row = self._db.execute("SELECT url FROM document WHERE id = ?", (document,)).fetchone()
        return row and str(row[0])

    def _store(self, document: ListingDocument, batch: list[UrlColumns], diff: DocumentChanges) -> None:
        ends = [end(columns.locs) for columns in batch if columns.locs for end in (min, max)]
        known = [] if diff.prefix is None else [diff.prefix]
        prefix = str(os.path.commonprefix(known + ends))  # noqa: RUF071 - of text, and no path
        if diff.prefix is not None and len(prefix) < len(diff.prefix):
            parameters = {"document": document.id, "middle": diff.prefix[len(prefix) :]}
            self._db.execute("UPDATE entry SET loc = :middle || loc WHERE document = :document", parameters)
        diff.prefix = prefix
        has_nested = any(columns.nested for columns in batch)
        rows = [row for columns in batch for row in columns.rows(len(prefix), has_nested=has_nested)]
        rows.sort(key=itemgetter(0))  # in the order of the table
        start = 0
        while left := len(rows) - start:
            size = min(_ROWS_AT_ONCE, 1 << left.bit_length() - 1)  # few sizes, as SQLite caches a statement for each
            part = chain.from_iterable(rows[start : start + size])
            self._db.execute(_insert(size, has_nested=has_nested), [document.id, *part])
            start += size

    def unlist(self, document: ListingDocument, buffer: DocumentBuffer | None, now: datetime, *, expires: bool) -> None:
        """Moves the URLs that a document lists no longer, with None all of them, to the table `unlisted`.

        Whether they are removed is decided at the end of the crawl; with `expires` (a feed) they never are.
        """
        self._db.execute("DELETE FROM kept")
        if buffer is not None:
            self._db.execute(_KEEP, {"keys": _json([*buffer.unchanged])})
            for columns in buffer.changed():
                self._db.execute(_KEEP, {"keys": _json(columns.keys)})
        parameters = {
            "document": document.id,
            "site": self._site,
            "prefix": document.prefix,
            "sitemap": document.sitemap,
            "expires": expires,
            "now": micros(now),
        }
        self._db.execute(_UNLIST, parameters)
        self._db.execute(f"DELETE {_NOT_KEPT}", {"document": document.id})

    def count(self, document: int) -> int:
        """The number of URLs that are stored for a document."""
        return int(self._db.execute("SELECT count(*) FROM entry WHERE document = ?", (document,)).fetchone()[0])

    def _select(self, query: str, parameters: dict[str, Any]) -> list[list[Any]]:
        """The rows of a query that returns them as one JSON value."""
        rows: list[list[Any]] = orjson.loads(self._db.execute(query, parameters).fetchone()[0])
        return rows

    # --- at the end of the crawl ---

    @property
    def has_unlisted(self) -> bool:
        """Whether any URL has left its document and is undecided or expired."""
        return bool(self._db.execute("SELECT 1 FROM unlisted WHERE site = ? LIMIT 1", (self._site,)).fetchone())

    def count_removals(self) -> tuple[int, int]:
        """The number of URLs that no document lists any longer, and the number of their listings."""
        query = f"SELECT count(DISTINCT key), count(*) FROM unlisted WHERE {_TO_REMOVE}"
        urls, listings = self._db.execute(query, {"site": self._site}).fetchone()
        return urls, listings

    def mark_reported(self) -> None:
        """Marks the URLs that removals() reports next: listed again they are new, even if this run ends before."""
        self._db.execute(_MARK_REPORTED, {"site": self._site})

    def removals(self) -> Iterator[list[Change]]:
        """Removed URLs, and those updated because the listing that counted is gone."""
        changes: list[Change] = []
        rows = self._db.execute(_UNDECIDED, {"site": self._site})
        for _, group in groupby(rows, itemgetter(0)):
            change = self._decide([*group])
            if change is not None:
                changes.append(change)
            if len(changes) >= _PIECE_CHANGES:
                yield changes
                changes = []
        if changes:
            yield changes

    def _decide(self, rows: list[tuple[Any, ...]]) -> Change | None:
        loc = rows[0][1]
        sitemaps = {row[3]: row[2] for row in rows}
        gone = {Listing(*row[3:9]) for row in rows}
        kept = {Listing(*row[9:15]) for row in rows if row[9] is not None}
        old = newest_listing(gone | kept)
        if not kept:
            return Change("removed", record_of(loc, old[1:5], sitemaps[old.document]))
        new = newest_listing(kept)
        changed = self._differences(old, new)
        return _updated(record_of(loc, new[1:5], self._sitemap(new.document)), changed, old) if changed else None

    def delete_decided(self, expired_before: datetime) -> None:
        """Deletes the URLs that removals() decided on, and those that expired before a time."""
        self._db.execute(_DECIDED, {"site": self._site})
        parameters = (self._site, micros(expired_before))
        self._db.execute("DELETE FROM unlisted WHERE site = ? AND expired AND left_at < ?", parameters)


def _updated(record: UrlRecord, changed: tuple[str, ...], old: Listing) -> Change:
    return Change("updated", record, changed, *lastmod_of(old.lastmod, old.precision))


@cache
def _insert(rows: int, *, has_nested: bool) -> str:
    """The statement that stores this many rows of a document, whose id is the first parameter."""
    marks = "(?1, ?, ?, ?, ?, ?, ?, ?)" if has_nested else "(?1, ?, ?, ?, ?, ?, NULL, ?)"
    return _STORE % ", ".join([marks] * rows)


def _json(values: Sequence[Any]) -> str:
    return orjson.dumps(values).decode()
