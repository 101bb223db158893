"""The documents of one site in a state: how each was left, and what becomes of it in this run.

In: outcomes, and the children that indexes name. Out: a Memory for the next walk; which documents are as they were,
which are gone, and which keep it open what is removed. Never commits.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..frontier.document_request import has_scope_drops
from ..frontier.lastmod_trust import History, LastmodTrust, honesty, is_proven
from ..frontier.revalidation import CachedDocument, DocumentCache, is_strong
from ..model.records import Outcome, SitemapRef
from ..parser.content.sniff import FEEDS, Format
from ..parser.normalise.dates import period_end
from .rows import lastmod_of, lastmod_row, micros, moment
from .schema import execute_all

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Container, Iterator, Sequence

    from ..frontier.revalidation import Trust
    from ..model.records import Precision

# How long nothing but 404 and 410 must come before a document counts as gone.
GONE_AFTER = timedelta(hours=24)
_GONE_STATUSES = frozenset({404, 410})
# An index with more is read anew each time: what it lists would not fit into memory.
_MOST_CHILDREN = 100_000


@attrs.frozen
class StoredDocument:
    """A document as a state has it.

    `complete`: what is stored is all that it listed; `entries` counts that. `lastmod` is what its index stated when it
    was last read whole, which was at `read_at`; it was asked for, and answered, last at `looked_at`. `gone_since` is
    when it was first missing, if it is. `honesty` says how far its own lastmods can be believed.
    """

    url: str
    format: str | None
    complete: bool
    entries: int
    etag: str | None
    last_modified: str | None
    sha256: str | None
    lastmod: datetime | None
    lastmod_precision: Precision | None
    first_seen: datetime
    last_seen: datetime
    read_at: datetime | None
    looked_at: datetime | None
    gone_since: datetime | None
    honesty: LastmodTrust
    parents: tuple[str, ...] = ()


@attrs.define
class Row:
    """A document's row: its number, the stored document, and what only the comparison needs."""

    number: int
    stored: StoredDocument
    prefix: str
    authorities: frozenset[str] | None
    history: History


_COLUMNS = """id, url, format, complete, entries, etag, last_modified, sha256, lastmod, precision, first_seen,
last_seen, read_at, looked_at, gone_since, parents, prefix, authorities, history"""
_TABLES = """
CREATE TEMP TABLE IF NOT EXISTS named (
  run INTEGER NOT NULL, sitemap TEXT NOT NULL, place INTEGER NOT NULL,
  loc TEXT NOT NULL, lastmod INTEGER, precision INTEGER, line INTEGER,
  PRIMARY KEY (run, sitemap, place)
) WITHOUT ROWID;
"""
_NAMES_SEEN = """
SELECT coalesce(sum(same), 0), coalesce(sum(same) FILTER (WHERE lastmod IS NOT NULL), 0),
  coalesce(max(same) FILTER (WHERE lastmod IS NOT NULL), 0)
FROM (SELECT lastmod, count(*) AS same FROM named WHERE run = :run AND sitemap = :url GROUP BY lastmod)
"""


class Documents:
    """Those of one site in one run, which `started` when it did."""

    def __init__(self, db: sqlite3.Connection, site: int, run: int, started: datetime) -> None:
        self._db = db
        self._site = site
        self._run = run
        self._started = started
        self._places = 0
        execute_all(db, _TABLES)

    def memory(self, trust: Trust) -> DocumentCache:
        """What the walk is to know: it asks accordingly."""
        rows = {row.number: row for row in self._rows("")}
        proven = {row.stored.url for row in rows.values() if is_proven(row.history)}
        children = self._children()
        documents = {
            row.stored.url: _known(row, proven, children.get(row.number, ()))
            for row in rows.values()
            if row.stored.complete
        }
        names = frozenset(row.stored.url for row in rows.values() if row.stored.format)
        return DocumentCache(self._started, trust, documents, names)

    def get(self, url: str) -> Row:
        """The document's row, a new one if there was none."""
        told = (self._site, url, micros(self._started), micros(self._started), self._run)
        self._db.execute(
            "INSERT INTO document (site, url, first_seen, last_seen, run) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            told,
        )
        (row,) = self._rows("AND url = ?", url)
        return row

    def name(self, refs: Sequence[SitemapRef]) -> None:
        """An index names these."""
        rows = []
        for ref in refs:
            self._places += 1
            lastmod = lastmod_row(ref.lastmod, ref.lastmod_precision)
            rows.append((self._run, ref.sitemap, self._places, ref.loc, *lastmod, ref.line))
        self._db.executemany("INSERT INTO named VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def forget(self, url: str) -> None:
        """What a document names is of no more interest."""
        self._db.execute("DELETE FROM named WHERE run = ? AND sitemap = ?", (self._run, url))

    # --- the end of a document ---

    def is_same(self, row: Row, outcome: Outcome) -> bool:
        """Whether it is, byte for byte, what is stored, and may list the same."""
        stored = row.stored
        whole = stored.complete and outcome.complete and stored.sha256 == outcome.sha256
        return whole and row.authorities is not None and row.authorities == _authorities(outcome)

    def keep(self, row: Row, outcome: Outcome) -> None:
        """It is as it was: not modified, or the same bytes; not fine where a limit left out some of what it lists."""
        fine = int(outcome.complete)
        validators = _validators(outcome, self._started)
        if outcome.status is None:  # not even asked for: all stays as it is
            self._set(row, fine=fine, gone_since=None, run=self._run, last_seen=micros(self._started))
            return
        self._observe(row, outcome, has_changed=False)
        # Of a 304 with other validators than those of the body nobody knows which version it means.
        if outcome.not_modified:
            validators = {"etag": row.stored.etag, "last_modified": row.stored.last_modified}
        self._finish(row, outcome, fine=fine, gone_since=None, **validators, **self._stated(outcome))

    def replace(self, row: Row, outcome: Outcome, *, prefix: str, entries: int, history: History) -> None:
        """It was read, and what it lists is stored. Of a reading that is not whole no validator is kept."""
        if outcome.complete:
            self._observe(row, outcome, has_changed=True)
        told: dict[str, Any] = {"etag": None, "last_modified": None, "sha256": None, "authorities": None}
        if outcome.complete:
            told = {**_validators(outcome, self._started), **self._stated(outcome), "sha256": outcome.sha256}
            told["authorities"] = stored_authorities(outcome)
            if outcome.format == Format.INDEX and not self._store_children(row, outcome):
                told["etag"] = told["last_modified"] = told["sha256"] = None
                told["authorities"] = None
            gone: dict[str, Any] = {"gone_since": None}
        else:
            gone = {}
        told |= {"format": outcome.format, "complete": int(outcome.complete), "prefix": prefix, "entries": entries}
        told |= {"history": _json(attrs.asdict(history)), "score": honesty(history).score}
        self._finish(row, outcome, fine=int(outcome.complete), **told, **gone)

    def fail(self, row: Row, outcome: Outcome) -> bool:
        """Nothing of it could be read. Whether it is gone for good by now."""
        gone_since, is_gone = row.stored.gone_since, False
        if outcome.status in _GONE_STATUSES:
            gone_since = gone_since or self._started
            is_gone = self._started - gone_since >= GONE_AFTER
        else:
            gone_since = None
        self._finish(row, outcome, fine=int(is_gone), gone_since=gone_since and micros(gone_since))
        return is_gone

    def index_history(self, before: History, url: str) -> History:
        """What an index states of its children now; how their changes went is known already."""
        entries, dated, identical = self._db.execute(_NAMES_SEEN, {"run": self._run, "url": url}).fetchone()
        return attrs.evolve(before, entries=entries, dated=dated, identical=identical, future=0, at_fetch=0)

    def _observe(self, row: Row, outcome: Outcome, *, has_changed: bool) -> None:
        """One more test of what the index says: did the child change, and did its lastmod?"""
        before, now = _lastmod(row.stored), _lastmod(outcome)
        if not row.stored.complete or before is None or now is None or not outcome.parents:
            return
        if before == now and row.stored.read_at and row.stored.read_at < period_end(*before):
            return  # a day may have seen two changes
        for parent in self._rows("AND url = ?", outcome.parents[0]):
            counted = parent.history.counting(has_changed, before != now)
            self._set(parent, history=_json(attrs.asdict(counted)), score=honesty(counted).score)

    def _stated(self, outcome: Outcome) -> dict[str, Any]:
        lastmod, precision = lastmod_row(outcome.lastmod, outcome.lastmod_precision)
        return {"lastmod": lastmod, "precision": precision, "read_at": micros(self._started)}

    def _store_children(self, row: Row, outcome: Outcome) -> bool:
        """The children of an index, if they are not too many to be remembered."""
        self._db.execute("DELETE FROM child WHERE document = ?", (row.number,))
        if outcome.entries > _MOST_CHILDREN:
            return False
        self._db.execute(
            "INSERT INTO child SELECT ?, place, loc, lastmod, precision, line FROM named WHERE run = ? AND sitemap = ?",
            (row.number, self._run, outcome.url),
        )
        return True

    def _finish(self, row: Row, outcome: Outcome, **columns: Any) -> None:
        now = micros(self._started)
        parents = _json(outcome.parents)
        self._set(row, **columns, parents=parents, run=self._run, last_seen=now, looked_at=now)

    def _set(self, row: Row, **columns: Any) -> None:
        names = ", ".join(f"{name} = ?" for name in columns)
        self._db.execute(f"UPDATE document SET {names} WHERE id = ?", (*columns.values(), row.number))

    # --- the end of all ---

    def vanished(self) -> Iterator[Row]:
        """Documents that nobody lists any more, for good: a complete index, or for a day now.

        And those that never came to an end, as that run was left: nothing is known of them.
        """
        for row in self._rows("AND run <> ?", self._run):
            if row.stored.looked_at is None or self._was_left_out(row) or self._is_missing_for_long(row):
                yield row

    def empty(self, row: Row) -> None:
        """What it listed is decided on without it: nothing of it is stored."""
        self._db.execute("DELETE FROM child WHERE document = ?", (row.number,))
        self._set(row, complete=0, entries=0, etag=None, last_modified=None, sha256=None)

    def drop(self, row: Row) -> None:
        """It is known no more."""
        self._db.execute("DELETE FROM document WHERE id = ?", (row.number,))

    def note_missing(self) -> None:
        """From now on those that were not listed in this run are missing."""
        self._db.execute(
            "UPDATE document SET gone_since = ? WHERE site = ? AND run <> ? AND gone_since IS NULL",
            (micros(self._started), self._site, self._run),
        )

    def listings(self) -> int:
        """How many URLs all of them list, each as often as it is listed."""
        found = self._db.execute("SELECT coalesce(sum(entries), 0) FROM document WHERE site = ?", (self._site,))
        return int(found.fetchone()[0])

    def listings_before(self) -> int | None:
        """The same at the end of the last run that was complete."""
        found = "SELECT listings FROM run WHERE site = ? AND complete ORDER BY id DESC LIMIT 1"
        row = self._db.execute(found, (self._site,)).fetchone()
        return row and int(row[0])

    def any_failed(self) -> bool:
        """Whether one that is listed was not read whole, and is not unchanged either."""
        return bool(self._rows("AND run = ? AND NOT fine", self._run))

    def any_missing(self, gone: Container[int]) -> bool:
        """Whether one is listed no more, but not for long enough to be among those that are gone."""
        return any(row.number not in gone for row in self._rows("AND run <> ?", self._run))

    def any_missing_of(self, parents: Sequence[str]) -> bool:
        """Whether one is listed no more that one of these listed."""
        rows = self._rows("AND run <> ?", self._run) if parents else []
        return any(not set(parents).isdisjoint(row.stored.parents) for row in rows)

    def _was_left_out(self, row: Row) -> bool:
        """Whether one of those that listed it does not, in a reading that was whole."""
        marks = ", ".join("?" * len(row.stored.parents))
        found = f"SELECT 1 FROM document WHERE site = ? AND run = ? AND fine AND format = ? AND url IN ({marks})"
        told = (self._site, self._run, Format.INDEX.value, *row.stored.parents)
        return self._db.execute(found, told).fetchone() is not None

    def _is_missing_for_long(self, row: Row) -> bool:
        since = row.stored.gone_since
        return since is not None and self._started - since >= GONE_AFTER

    # --- rows ---

    def _rows(self, where: str, *told: Any) -> list[Row]:
        return stored_documents(self._db, self._site, where, *told)

    def _children(self) -> dict[int, tuple[SitemapRef, ...]]:
        found: dict[int, list[SitemapRef]] = {}
        rows = self._db.execute(
            "SELECT document, document.url, loc, child.lastmod, child.precision, line FROM child"
            " JOIN document ON document.id = child.document WHERE site = ? AND complete ORDER BY document, place",
            (self._site,),
        )
        for number, url, loc, lastmod, precision, line in rows:
            ref = SitemapRef(loc, *lastmod_of(lastmod, precision), sitemap=url, line=line)
            found.setdefault(number, []).append(ref)
        return {number: tuple(refs) for number, refs in found.items()}


def stored_documents(db: sqlite3.Connection, site: int, where: str = "", *told: Any) -> list[Row]:
    """The rows of a site's documents, in the order in which they became known."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM document WHERE site = ? {where} ORDER BY id", (site, *told))
    return [_row(row) for row in rows.fetchall()]


def expires(format: str | None) -> bool:
    """Whether a document holds only what is recent, by its nature."""
    return format in FEEDS


def _row(row: tuple[Any, ...]) -> Row:
    number, url, format, complete, entries, etag, last_modified, sha256, lastmod, precision, *rest = row
    *times, parents, prefix, authorities, history = rest
    seen = History(**orjson.loads(history))
    moments = [None if each is None else moment(each) for each in times]
    stated = lastmod_of(lastmod, precision)
    whose = tuple(orjson.loads(parents))
    about = (url, format, bool(complete), entries, etag, last_modified, sha256)
    values: list[Any] = [*about, *stated, *moments, honesty(seen), whose]
    stored = StoredDocument(*values)
    covers = None if authorities is None else frozenset(orjson.loads(authorities))
    return Row(number, stored, prefix, covers, seen)


def _known(row: Row, proven: set[str], children: tuple[SitemapRef, ...]) -> CachedDocument:
    stored = row.stored
    assert stored.read_at is not None and stored.looked_at is not None and stored.format is not None  # noqa: S101, PT018 - of a complete one
    return CachedDocument(
        stored.format,
        stored.etag,
        stored.last_modified,
        stored.sha256,
        row.authorities,
        _lastmod(stored),
        stored.read_at,
        stored.looked_at,
        index_is_accurate=not proven.isdisjoint(stored.parents),
        children=children,
    )


def stored_authorities(outcome: Outcome) -> str | None:
    """The URL prefixes it may list besides its own directory, as JSON; None where it listed more than it may."""
    authorities = _authorities(outcome)
    return None if authorities is None else orjson.dumps(sorted(authorities)).decode()


def _authorities(outcome: Outcome) -> frozenset[str] | None:
    """What it spoke for; None where it listed more: another time it may be proven to speak for that, too."""
    return None if has_scope_drops(outcome) else frozenset(outcome.authorities)


def _validators(outcome: Outcome, read_at: datetime) -> dict[str, str | None]:
    modified = outcome.last_modified
    strong = modified is not None and (outcome.etag is not None or is_strong(modified, read_at))
    return {"etag": outcome.etag, "last_modified": modified if strong else None}


def _lastmod(of: StoredDocument | Outcome) -> tuple[datetime, Precision] | None:
    return None if of.lastmod is None or of.lastmod_precision is None else (of.lastmod, of.lastmod_precision)


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
