"""The URLs of one site in a state: compares what a document lists with the stored listings, and stores it."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache, partial
from itertools import chain, compress, count, groupby
from operator import eq, itemgetter
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..frontier.lastmod_trust import LastmodEvidence
from ..model.columns import micros
from ..model.records import Change
from ..model.url_batch import UrlBatch, lastmod_of
from ..serialize.jsonl import COMPARED, changes_of
from .diff_rules import (
    MAX_BATCH_URLS,
    Departure,
    PreviousListings,
    change_pieces,
    counted_places,
    new_pieces,
)
from .rows import HAS_NEWS, Listing, Rows, StoredRows, newest_listing, record_of
from .schema import decode_value, json_text

if TYPE_CHECKING:
    import sqlite3

    from ..model.columns import UrlColumns
    from ..model.options import On
    from ..model.records import UrlRecord
    from ..pipeline.out_of_scope import SpillBuffer, SpillHandle
    from .diff_rules import ChangePiece, DocumentChanges
    from .documents import DocumentRow


class DocumentBuffer:
    """The URLs of one document: add() while it is read, then batches() in its order.

    `cut_locs`: URLs of entries at which the document was cut off, so that not all that they state was read.
    """

    def __init__(self, spill: SpillBuffer) -> None:
        self.lastmods = LastmodEvidence()
        self.cut_locs: set[str] = set()
        self._spill = spill
        self._handles: list[SpillHandle] = []

    def add(self, urls: UrlBatch, now: int) -> None:
        """Adds URLs that were read at `now`, in seconds since 1970."""
        self.lastmods.add_urls(urls, now)
        for index, problems in urls.problems.items():
            if any(problem.code == "S01" and problem.severity == "error" for problem in problems):
                self.cut_locs.add(urls.locs[index])
        store = urls.store
        if len(urls) < len(store):
            store = store.empty()
            store.extend(urls.store, urls.start, urls.stop)
        self._handles.append(self._spill.put(store))

    def batches(self, sitemap: str) -> Iterator[UrlBatch]:
        """What was added, in batches of at least MAX_BATCH_URLS; the last may have fewer."""
        joined: UrlColumns | None = None
        for store in map(self._spill.get, self._handles):
            joined = joined or store.empty()
            joined.extend(store, 0, len(store))
            if len(joined) >= MAX_BATCH_URLS:
                yield UrlBatch(sitemap, joined)
                joined = None
        if joined:
            yield UrlBatch(sitemap, joined)

    def release(self) -> None:
        """Frees what was added. May be called twice."""
        for handle in self._handles:
            self._spill.drop(handle)
        self._handles = []


# New URLs in documents that are older than the run, remembered until its end: some 64 bytes each. Beyond this number a
# new URL may be reported as updated, too, when a later document of the run has a newer listing of it.
_MAX_NEW_KEYS = 100_000

_ALWAYS = 2**63 - 1  # later than any time

_COLUMNS = "stated, nested, first_run"
_KEYS = "(SELECT value FROM json_each(:keys))"
# Rows are returned as one JSON value: fetched one by one, each would wait for the GIL.
# CROSS JOIN fixes the join order: the few given keys first.
_STORED = """
SELECT json_array(json_group_array(entry.key), json_group_array(entry.stated), json_group_array(entry.nested)) FROM
"""
_ALL_STORED = f"{_STORED} entry WHERE document = :document"
_KEYS_STORED = f"{_STORED} json_each(:keys) CROSS JOIN entry ON entry.document = :document AND entry.key = value"
_LISTED_ELSEWHERE = """
SELECT json_group_array(json_array(other.key, 0, other.first_run, other.document, other.stated, other.nested))
FROM json_each(:keys) CROSS JOIN entry AS other INDEXED BY entry_key
ON other.key = value AND other.document <> :document
"""
_UNLISTED = """
SELECT json_group_array(json_array(
  other.key, 1 + other.expired, other.first_run, other.document, other.stated, other.nested))
FROM json_each(:keys) CROSS JOIN unlisted AS other
ON other.site = :site AND other.key = value AND NOT other.reported
"""
_LENGTHEN = "UPDATE entry SET loc = :middle || loc WHERE document = :document"
# Of statements for a quarter as many, a first run takes some 2% longer.
_ROWS_AT_ONCE = 256
_UPDATE = "ON CONFLICT (document, key) DO UPDATE SET stated = excluded.stated, nested = excluded.nested"
# All listings of a URL have the same first_run.
_KEEP_FIRST_RUN = f"UPDATE entry SET first_run = :first_run WHERE document = :document AND key IN {_KEYS}"
# A URL that is listed again: its own former listing, expired ones and reported ones are obsolete.
_RELIST = f"""
DELETE FROM unlisted WHERE site = :site AND (document = :document OR expired OR reported)
AND key IN {_KEYS}
"""
_OF_DOCUMENT = "SELECT json_group_array(key) FROM entry WHERE document = :document"
_LOST = f"FROM entry WHERE entry.document = :document AND entry.key IN {_KEYS}"
# An expiring URL that other documents list is not kept: it is not lost.
_UNLIST = f"""
INSERT OR REPLACE INTO unlisted (site, key, document, {_COLUMNS}, loc, sitemap, expired, left_at, cause)
SELECT :site, key, document, {_COLUMNS}, :prefix || loc, :sitemap, :expires OR {HAS_NEWS}, :now, :cause {_LOST}
AND NOT ((:expires OR {HAS_NEWS}) AND EXISTS (
  SELECT 1 FROM entry AS other INDEXED BY entry_key WHERE other.key = entry.key AND other.document <> entry.document))
"""
# A URL that left a document may be listed in another that was not looked at since, by a watch.
_DECIDABLE = """
NOT expired AND left_at <= (SELECT coalesce(min(confirmed_at), left_at) FROM document WHERE site = :site AND complete)
"""
_NOT_LISTED = "NOT EXISTS (SELECT 1 FROM entry INDEXED BY entry_key WHERE entry.key = unlisted.key)"
_TO_REMOVE = f"site = :site AND {_DECIDABLE} AND {_NOT_LISTED}"
# A removal that no two runs 24 hours apart have found.
_RECENT = f"left_at > :seen_twice AND cause <> {Departure.GONE:d}"
_EMPTIED = f"{_RECENT} AND cause = {Departure.EMPTIED:d}"
_COUNT_REMOVALS = f"""
SELECT coalesce(sum(recent), 0), coalesce(sum(emptied), 0),
  coalesce(sum(listings) FILTER (WHERE recent), 0), coalesce(sum(listings) FILTER (WHERE NOT recent), 0)
FROM (
  SELECT count(*) AS listings, max({_RECENT}) AS recent, max({_EMPTIED}) AS emptied
  FROM unlisted WHERE {_TO_REMOVE} GROUP BY key)
"""
_HELD_BACK = f"SELECT key FROM unlisted WHERE {_TO_REMOVE} AND {_RECENT} AND (:holds_all OR {_EMPTIED})"
_MARK_REPORTED = f"""
UPDATE unlisted SET reported = 1
WHERE site = :site AND key IN (SELECT key FROM unlisted WHERE {_TO_REMOVE}) AND key NOT IN ({_HELD_BACK})
"""
_UNDECIDED = f"""
SELECT gone.key, gone.loc, gone.sitemap, gone.document, gone.stated, gone.nested,
  kept.document, kept.stated, kept.nested
FROM unlisted AS gone LEFT JOIN entry AS kept INDEXED BY entry_key ON kept.key = gone.key
WHERE gone.site = :site AND {_DECIDABLE} AND gone.key NOT IN ({_HELD_BACK}) ORDER BY gone.key
"""
_DECIDED = f"""
DELETE FROM unlisted WHERE site = :site
AND key IN (SELECT key FROM unlisted WHERE site = :site AND {_DECIDABLE}) AND key NOT IN ({_HELD_BACK})
"""


@attrs.frozen
class RemovalCounts:
    """What is no longer listed in any document; what two runs 24 hours apart have not found yet is recent."""

    recent: int  # URLs
    emptied: int  # of these, from a document that lists nothing
    recent_listings: int
    other_listings: int  # that two such runs have found


class SiteUrls:
    """The URLs of one site in the state; `on` names the fields whose change makes a URL updated.

    `first_run` is stored with URLs that are new: the id of the run, or 0 where it is unknown when they appeared.
    """

    def __init__(self, db: sqlite3.Connection, site: int, secret: bytes, on: On, first_run: int) -> None:
        self._db = db
        self._site = site
        self._secret = secret
        self._first_run = first_run
        self.joins_pieces = False  # the changes of each batch of a document come as one piece
        self._compared = frozenset(COMPARED[on])
        # A new URL is reported once, at the first listing that is read; later ones only change the state.
        self._first_new_document = 1 + int(db.execute("SELECT coalesce(max(id), 0) FROM document").fetchone()[0])
        self._new: set[int] = set()
        self._decision: dict[str, Any] = {"site": site, "seen_twice": _ALWAYS, "holds_all": False}

    def changes(self, document: DocumentRow, buffer: DocumentBuffer, diff: DocumentChanges) -> Iterator[ChangePiece]:
        """The new and updated URLs of a document that was read, in its order; stores them, and fills in `diff`."""
        diff.prefix = document.prefix if document.stored.entries else None
        # Of a large document the batches are made twice, as all of them may be more than fits into memory.
        batches: Callable[[], Iterator[Rows]] = partial(self._batches, document, buffer)
        if buffer.lastmods.entries <= MAX_BATCH_URLS:
            batches = partial(iter, [*batches()])
            buffer.release()
        counted = counted_places(batches)
        start = 0
        for rows in batches():
            places = range(start, start + len(rows.keys))
            start = places.stop
            if counted:
                rows = rows.only([*map(eq, places, map(counted.get, rows.keys, places))])
            yield from self._batch_changes(document, rows, diff, buffer.cut_locs)

    def _batches(self, document: DocumentRow, buffer: DocumentBuffer) -> Iterator[Rows]:
        return (Rows.of(urls, self._secret) for urls in buffer.batches(document.stored.url))

    def _batch_changes(
        self, document: DocumentRow, rows: Rows, diff: DocumentChanges, cut_locs: Collection[str]
    ) -> Iterator[ChangePiece]:
        """The changes of some URLs of a document; no other batch of it has one of these."""
        # A stored URL of `cut_locs` stays as it is: what its entry lacks may have been cut off.
        stored = self._stored(document, rows.keys, diff)
        if document.stored.entries:
            diff.listed.update(rows.keys)
            differs, known = stored.differences(rows)
            diff.still_listed += known
            for place, loc in enumerate(rows.urls.locs if cut_locs else ()):
                differs[place] &= not (loc in cut_locs and rows.keys[place] in stored.places)
            rows = rows.only(differs)
        if rows.keys:
            prefix = rows.prefix()
            if diff.prefix is not None:
                prefix = os.path.commonprefix([prefix, diff.prefix])  # noqa: RUF071 - of text, and no path
            values = rows.sorted(prefix)
            width = 3 if rows.nested is None else 4
            parameters = self._parameters(document, values[::width])
            before = self._before(parameters, rows, stored)
            pieces = self._pieces(document, rows, before, diff)
            yield from self._joined(pieces) if self.joins_pieces else pieces
            # Nothing is written before: where the consumer left, the documents before this can be committed.
            if diff.prefix is not None and len(prefix) < len(diff.prefix):
                self._db.execute(_LENGTHEN, {**parameters, "middle": diff.prefix[len(prefix) :]})
            diff.prefix = prefix
            self._store(document, values, width)
            for first_run, keys in before.first_runs.items():  # of URLs that were listed elsewhere before
                if first_run != self._first_run:
                    self._db.execute(_KEEP_FIRST_RUN, {**self._parameters(document, keys), "first_run": first_run})
            if self.has_unlisted:
                self._db.execute(_RELIST, parameters)

    def _parameters(self, document: DocumentRow, keys: Sequence[int]) -> dict[str, Any]:
        return {"document": document.id, "site": self._site, "keys": json_text(keys)}

    def _stored(self, document: DocumentRow, keys: Iterable[int], diff: DocumentChanges) -> StoredRows:
        """The rows of a document with these keys; of a small one, all."""
        if not document.stored.entries:
            return StoredRows()
        if document.stored.entries <= MAX_BATCH_URLS and not diff.listed:
            rows = self._select(_ALL_STORED, {"document": document.id})
        else:
            rows = self._select(_KEYS_STORED, self._parameters(document, sorted(keys)))
        return StoredRows.of(*rows)

    def _before(self, parameters: dict[str, Any], rows: Rows, stored: StoredRows) -> PreviousListings:
        own = filter(stored.places.__contains__, rows.keys) if stored.keys else ()
        before = PreviousListings({key: stored.listing(parameters["document"], key) for key in own})
        for query in (_LISTED_ELSEWHERE, _UNLISTED) if self.has_unlisted else (_LISTED_ELSEWHERE,):
            for key, kind, first_run, *row in self._select(query, parameters):
                before.first_runs.setdefault(first_run, []).append(key)
                before.elsewhere.setdefault(key, []).append((kind, Listing.of_row(*row)))
        return before

    def _pieces(
        self, document: DocumentRow, rows: Rows, before: PreviousListings, diff: DocumentChanges
    ) -> Iterator[ChangePiece]:
        is_known = [key in before.own or key in before.elsewhere for key in rows.keys] if before.has_any else ()
        if any(is_known):
            known = compress(count(), is_known)
            yield from change_pieces(self._change(document, rows, index, before, diff) for index in known)
            rows = rows.only([not flag for flag in is_known])
        if document.id < self._first_new_document and len(self._new) < _MAX_NEW_KEYS:
            self._new.update(rows.keys)
        yield from new_pieces(rows.urls)

    def _joined(self, pieces: Iterable[ChangePiece]) -> Iterator[ChangePiece]:
        if joined := [*chain.from_iterable(map(changes_of, pieces))]:
            yield joined

    def _change(
        self, document: DocumentRow, rows: Rows, index: int, before: PreviousListings, diff: DocumentChanges
    ) -> Change | None:
        """The change of a URL that this document or another listed before; None if it is not updated."""
        key = rows.keys[index]
        listing = rows.listing(document.id, index)
        if key in before.own:
            diff.count(before.own[key], listing)
        elsewhere = before.counted_elsewhere(key, document.id)
        old, new = newest_listing(before.counted(key)), newest_listing([listing, *elsewhere])
        changed = old.differences(new, self._compared)
        if not changed or key in self._new:
            return None
        if all(each >= self._first_new_document for each in before.documents(key)):  # it was new in this run
            return None
        if new is not listing:
            return _updated(record_of(rows.urls.locs[index], new, self._sitemap(new.document)), changed, old)
        return _updated(rows.urls.record(index), changed, old)

    def _sitemap(self, document: int) -> str | None:
        row = self._db.execute("SELECT url FROM document WHERE id = ?", (document,)).fetchone()
        return row and str(row[0])

    def _store(self, document: DocumentRow, values: list[Any], width: int) -> None:
        """Stores rows, as Rows.sorted() returns their values: `width` of each, 4 with nested ones."""
        start = 0
        while left := (len(values) - start) // width:
            rows = min(_ROWS_AT_ONCE, 1 << left.bit_length() - 1)  # a power of two, so that there are few statements
            statement = _insert(rows, has_nested=width == 4, is_new=not document.stored.entries)
            self._db.execute(statement, [document.id, self._first_run, *values[start : start + rows * width]])
            start += rows * width

    def unlist(
        self, document: DocumentRow, listed: Collection[int], now: datetime, cause: Departure, *, expires: bool
    ) -> None:
        """Moves URLs of a document that are not `listed` to `unlisted`; with `expires` (a feed) none is removed."""
        stored = self._select(_OF_DOCUMENT, {"document": document.id})
        parameters = {
            **self._parameters(document, [key for key in stored if key not in listed]),
            "prefix": document.prefix,
            "sitemap": document.stored.url,
            "expires": expires,
            "now": micros(now),
            "cause": cause,
        }
        self._db.execute(_UNLIST, parameters)
        self._db.execute(f"DELETE {_LOST}", parameters)

    def count(self, document: int) -> int:
        return int(self._db.execute("SELECT count(*) FROM entry WHERE document = ?", (document,)).fetchone()[0])

    def _select(self, query: str, parameters: dict[str, Any]) -> Any:
        return decode_value(orjson.loads, self._db.execute(query, parameters).fetchone()[0])

    @property
    def has_unlisted(self) -> bool:
        """Whether any URL has left its document and is undecided or expired."""
        return bool(self._db.execute("SELECT 1 FROM unlisted WHERE site = ? LIMIT 1", (self._site,)).fetchone())

    def count_removals(self, seen_twice: datetime) -> RemovalCounts:
        """The removals that are due; recent ones are those of URLs that were still listed after that time."""
        parameters = {**self._decision, "seen_twice": micros(seen_twice)}
        return RemovalCounts(*self._db.execute(_COUNT_REMOVALS, parameters).fetchone())

    def hold_back(self, seen_twice: datetime, *, holds_all: bool) -> None:
        """Leaves the recent removals undecided, all of them, or those that left a document that lists nothing."""
        self._decision |= {"seen_twice": micros(seen_twice), "holds_all": holds_all}

    def mark_reported(self) -> None:
        """Marks the URLs that removals() reports next: listed again they are new, even if this run ends before."""
        self._db.execute(_MARK_REPORTED, self._decision)

    def removals(self) -> Iterator[list[Change]]:
        """Removed URLs, and those updated because the listing that counted is gone."""
        rows = self._db.execute(_UNDECIDED, self._decision)
        yield from change_pieces(self._decide([*group]) for _, group in groupby(rows, itemgetter(0)))

    def _decide(self, rows: list[tuple[Any, ...]]) -> Change | None:
        loc = rows[0][1]
        sitemaps = {row[3]: row[2] for row in rows}
        gone = {Listing.of_row(*row[3:6]) for row in rows}
        kept = {Listing.of_row(*row[6:9]) for row in rows if row[6] is not None}
        old = newest_listing(gone | kept)
        if not kept:
            return Change("removed", record_of(loc, old, sitemaps[old.document]))
        new = newest_listing(kept)
        changed = old.differences(new, self._compared)
        return _updated(record_of(loc, new, self._sitemap(new.document)), changed, old) if changed else None

    def delete_decided(self, expired_before: datetime) -> None:
        """Deletes the URLs that removals() decided on, and those that expired before a time."""
        self._db.execute(_DECIDED, self._decision)
        parameters = (self._site, micros(expired_before))
        self._db.execute("DELETE FROM unlisted WHERE site = ? AND expired AND left_at < ?", parameters)

    def undecided(self) -> int:
        """The number of listings that may still be removed: of URLs that no document lists now."""
        query = f"SELECT count(*) FROM unlisted WHERE site = ? AND NOT expired AND {_NOT_LISTED}"
        return int(self._db.execute(query, (self._site,)).fetchone()[0])


def _updated(record: UrlRecord, changed: tuple[str, ...], old: Listing) -> Change:
    return Change("updated", record, changed, *lastmod_of(old.lastmod, old.precision))


@cache
def _insert(rows: int, *, has_nested: bool, is_new: bool) -> str:
    """The statement that stores so many rows; `is_new` where the document has none yet."""
    # Where a statement could abort, by a conflict or a function, SQLite copies each page before it changes it: for each
    # document nearly all of the index. As it is, a failure leaves a part of the rows, which are not committed.
    values = ", ".join(["(?1, ?2, ?, ?, ?, ?)" if has_nested else "(?1, ?2, ?, ?, NULL, ?)"] * rows)
    columns = "document, first_run, key, stated, nested, loc"
    return f"INSERT OR FAIL INTO entry ({columns}) VALUES {values} {'' if is_new else _UPDATE}"
