"""The documents of one site in a state: their validators, completeness and lastmod history, updated by each run."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import attrs
import msgspec

from ..frontier.documents import has_scope_drops, http_date
from ..frontier.lastmod_trust import History, LastmodEvidence, LastmodTrust, is_behind, is_proven, judge_history
from ..frontier.revalidation import CachedDocument, DocumentCache, is_strong
from ..model.columns import micros
from ..model.records import Outcome, SitemapRef
from ..model.url_batch import lastmod_columns, lastmod_of
from ..parser.content.sniff import FEEDS, Format
from ..parser.normalise.dates import period_end
from .diff_rules import Departure
from .rows import moment
from .schema import DamagedValue, decode_value, execute_all, json_text

if TYPE_CHECKING:
    import sqlite3

    from ..frontier.lastmod_trust import Lastmod
    from ..frontier.revalidation import Trust
    from ..model.records import Precision

# How long a document must answer with 404 or 410 only before it counts as gone.
GONE_AFTER = timedelta(hours=24)
_GONE_STATUSES = frozenset({404, 410})
_CHILDREN_AT_ONCE = 10_000
# An index with more is fetched anew each time: its children would not fit into memory.
_MAX_CHILDREN = 100_000
_MAX_VALIDATOR_CHARACTERS = 1_024


@attrs.frozen
class StoredDocument:
    """A document in a state.

    `complete`: all that it listed is stored; `entries` is the number of URLs that are. `lastmod` is what its index
    stated when it was last read whole, at `read_at`; `looked_at` is the time of the last response. `gone_since` is when
    it was first missing, None if it is not. `lastmod_trust` says how far its own lastmods can be trusted.
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
    lastmod_trust: LastmodTrust
    parents: tuple[str, ...] = ()


@attrs.define
class DocumentRow:
    """A row of the table `document`: the stored document, and the columns that only a sync needs."""

    id: int
    stored: StoredDocument
    prefix: str  # the common beginning of its locs, which their rows omit
    authorities: frozenset[str] | None  # its scope besides its directory; None: it listed URLs outside its scope
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


class SiteDocuments:
    """The documents of one site, during the run that `started` at this time."""

    def __init__(self, db: sqlite3.Connection, site: int, run: int, started: datetime) -> None:
        self._db = db
        self._site = site
        self._run = run
        self._started = started
        self._children_added = 0
        execute_all(db, _TABLES)

    def cache(self, trust: Trust) -> DocumentCache:
        """What the crawl needs for conditional requests, and to skip documents that did not change."""
        rows = self._rows("")
        proven = {row.stored.url for row in rows if is_proven(row.history)}
        children = self._children()
        documents = {}
        for row in rows:
            stored = row.stored
            if not stored.complete:
                continue
            assert stored.read_at is not None and stored.looked_at is not None and stored.format is not None  # noqa: S101, PT018 - of a complete one
            documents[stored.url] = CachedDocument(
                stored.format,
                _sendable(stored.etag),  # an earlier version stored any
                _sendable(stored.last_modified),
                stored.sha256,
                row.authorities,
                _lastmod(stored),
                stored.read_at,
                stored.looked_at,
                index_is_accurate=not proven.isdisjoint(stored.parents),
                children=children.get(row.id, ()),
            )
        names = frozenset(row.stored.url for row in rows if row.stored.format)
        return DocumentCache(self._started, trust, documents, names)

    def get(self, url: str) -> DocumentRow:
        """The row of a document; inserted if there is none."""
        self._insert(url, "NOTHING")
        rows = self._rows("AND url = ?", url)
        if len(rows) != 1:  # the index and the table differ
            raise DamagedValue
        return rows[0]

    def add_children(self, refs: Sequence[SitemapRef]) -> None:
        rows = []
        for ref in refs:
            self._children_added += 1
            lastmod = lastmod_columns(ref.lastmod, ref.lastmod_precision)
            rows.append((self._run, ref.sitemap, self._children_added, ref.loc, *lastmod, ref.line))
        self._db.executemany("INSERT INTO named VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def forget_children(self, url: str) -> None:
        self._db.execute("DELETE FROM named WHERE run = ? AND sitemap = ?", (self._run, url))

    def is_same(self, row: DocumentRow, outcome: Outcome) -> bool:
        stored = row.stored
        same_bytes = stored.complete and outcome.complete and stored.sha256 == outcome.sha256
        return same_bytes and row.authorities is not None and row.authorities == _authorities(outcome)

    def keep(self, row: DocumentRow, outcome: Outcome) -> None:
        """Records that a document is unchanged; it is not `fine` where a limit left out some of its entries."""
        fine = int(outcome.complete)
        validators = _validators(outcome, self._started)
        if outcome.status is None:  # not requested: everything else stays
            now = micros(self._started)
            self._set(row, fine=fine, gone_since=None, run=self._run, last_seen=now, confirmed_at=now)
            return
        self._observe(row, outcome, has_changed=False)
        # The validators of a 304 may belong to another version than the stored body.
        if outcome.not_modified:
            validators = {"etag": row.stored.etag, "last_modified": row.stored.last_modified}
        self._finish(row, outcome, fine=fine, gone_since=None, **validators, **self._stated(outcome))

    def postpone(self, url: str) -> None:
        """Records that a document is listed, and was not due: what is known of it stays."""
        self._insert(url, "UPDATE SET last_seen = excluded.last_seen, run = excluded.run")

    def _insert(self, url: str, on_conflict: str) -> None:
        now, columns = micros(self._started), "site, url, first_seen, last_seen, run"
        query = f"INSERT INTO document ({columns}) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO {on_conflict}"
        self._db.execute(query, (self._site, url, now, now, self._run))

    def replace(
        self, row: DocumentRow, outcome: Outcome, *, entries: int, history: History, newest: Lastmod | None
    ) -> None:
        """Records that a document was read, and its entries are stored behind `row.prefix`.

        Validators are kept only if it was read whole. `newest` is the newest lastmod that is older than the run.
        """
        columns: dict[str, Any] = dict.fromkeys(("etag", "last_modified", "sha256", "authorities"))
        if outcome.complete:
            self._observe(row, outcome, has_changed=True, newest=newest)
            columns |= {**self._stated(outcome), "gone_since": None}
            if outcome.format != Format.INDEX or self._store_children(row, outcome):
                columns |= {**_validators(outcome, self._started), "sha256": outcome.sha256}
                columns["authorities"] = stored_authorities(outcome)
        columns |= {"format": outcome.format, "complete": int(outcome.complete), "prefix": row.prefix}
        columns |= {
            "entries": entries,
            "history": json_text(attrs.asdict(history)),
            "score": judge_history(history).score,
        }
        self._finish(row, outcome, fine=int(outcome.complete), **columns)

    def fail(self, row: DocumentRow, outcome: Outcome) -> bool:
        """Records that nothing of a document could be read. Returns whether it counts as gone now."""
        gone_since, is_gone = row.stored.gone_since, False
        if outcome.status in _GONE_STATUSES:
            gone_since = gone_since or self._started
            is_gone = self._started - gone_since >= GONE_AFTER
        else:
            gone_since = None
        self._finish(row, outcome, fine=int(is_gone), gone_since=gone_since and micros(gone_since))
        return is_gone

    def index_lastmods(self, url: str) -> LastmodEvidence:
        """The lastmods that an index states for its children; _observe() counts the changes."""
        lastmods = LastmodEvidence()
        query = "SELECT lastmod, precision FROM named WHERE run = ? AND sitemap = ?"
        children = self._db.execute(query, (self._run, url))
        while some := children.fetchmany(_CHILDREN_AT_ONCE):
            dates, precisions = zip(*some, strict=True)
            lastmods.add(dates, precisions)
        return lastmods

    def _observe(self, row: DocumentRow, outcome: Outcome, *, has_changed: bool, newest: Lastmod | None = None) -> None:
        """Adds an observation to the history of the index: whether the child changed, and whether its lastmod did."""
        # With an entry that is newer than the lastmod, the child has changed and the lastmod has not.
        before, now = _lastmod(row.stored), _lastmod(outcome)
        if now is None or not outcome.parents:
            return
        hides_change = is_behind(now, newest)
        if not hides_change and (not row.stored.complete or before is None):
            return
        if not hides_change and before == now and row.stored.read_at and row.stored.read_at < period_end(*now):
            return  # the child may have changed twice within the period, such as a day
        for parent in self._rows("AND url = ?", outcome.parents[0]):
            counted = parent.history.counting(has_changed, before != now and not hides_change)
            self._set(parent, history=json_text(attrs.asdict(counted)), score=judge_history(counted).score)

    def _stated(self, outcome: Outcome) -> dict[str, Any]:
        lastmod, precision = lastmod_columns(outcome.lastmod, outcome.lastmod_precision)
        return {"lastmod": lastmod, "precision": precision, "read_at": micros(self._started)}

    def _store_children(self, row: DocumentRow, outcome: Outcome) -> bool:
        """Stores the children of an index; False if they are over _MAX_CHILDREN."""
        self._db.execute("DELETE FROM child WHERE document = ?", (row.id,))
        if outcome.entries > _MAX_CHILDREN:
            return False
        self._db.execute(
            "INSERT INTO child SELECT ?, place, loc, lastmod, precision, line FROM named WHERE run = ? AND sitemap = ?",
            (row.id, self._run, outcome.url),
        )
        return True

    def _finish(self, row: DocumentRow, outcome: Outcome, **columns: Any) -> None:
        now = micros(self._started)
        parents = json_text(outcome.parents)
        self._set(row, **columns, parents=parents, run=self._run, last_seen=now, looked_at=now, confirmed_at=now)

    def _set(self, row: DocumentRow, **columns: Any) -> None:
        names = ", ".join(f"{name} = ?" for name in columns)
        self._db.execute(f"UPDATE document SET {names} WHERE id = ?", (*columns.values(), row.id))

    def vanished(self) -> Iterator[tuple[DocumentRow, Departure]]:
        """Documents that are no longer listed: left out by an index that was read whole, or missing for GONE_AFTER."""
        # Also documents without any response, of runs that were stopped.
        rows = self._rows("AND run <> ?", self._run)
        listed = self._rows("AND run = ?", self._run) if rows else []
        parents = {parent for row in listed for parent in row.stored.parents}
        gone = {row.stored.url for row in listed if self._is_gone(row)}
        for row in rows:
            if self._is_gone(row):
                yield row, Departure.GONE
            elif row.stored.looked_at is None or self._was_left_out(row):
                is_gone, has_siblings = (not each.isdisjoint(row.stored.parents) for each in (gone, parents))
                yield row, Departure.GONE if is_gone else Departure.LEFT if has_siblings else Departure.EMPTIED

    def clear(self, row: DocumentRow) -> None:
        self._db.execute("DELETE FROM child WHERE document = ?", (row.id,))
        self._set(row, complete=0, entries=0, etag=None, last_modified=None, sha256=None)

    def delete(self, row: DocumentRow) -> None:
        self._db.execute("DELETE FROM document WHERE id = ?", (row.id,))

    def mark_missing(self) -> None:
        self._db.execute(
            "UPDATE document SET gone_since = ? WHERE site = ? AND run <> ? AND gone_since IS NULL",
            (micros(self._started), self._site, self._run),
        )

    def listings(self) -> int:
        """The number of listings in all documents but feeds: a URL counts once for each document that lists it."""
        query = "SELECT format, sum(entries) FROM document WHERE site = ? GROUP BY format"
        return sum(count for format, count in self._db.execute(query, (self._site,)) if not expires(format))

    def listings_before(self) -> int | None:
        """listings() at the end of the last complete run, without those removed since; None if there is none."""
        query = "SELECT id, listings FROM run WHERE site = ? AND complete ORDER BY id DESC LIMIT 1"
        row = self._db.execute(query, (self._site,)).fetchone()
        if row is None:
            return None
        removed = "SELECT coalesce(sum(removed), 0) FROM run WHERE site = ? AND id > ?"
        return int(row[1]) - int(self._db.execute(removed, (self._site, row[0])).fetchone()[0])

    def confirmed_at(self) -> datetime:
        """The time since when each document that is stored whole was looked at, or is known to be unchanged."""
        query = "SELECT min(confirmed_at) FROM document WHERE site = ? AND complete"
        confirmed = self._db.execute(query, (self._site,)).fetchone()[0]
        return self._started if confirmed is None else moment(confirmed)

    def any_failed(self) -> bool:
        """Whether a document that is listed was neither read whole nor unchanged."""
        return bool(self._rows("AND run = ? AND NOT fine", self._run))

    def any_missing(self, gone: Container[int]) -> bool:
        """Whether a document is no longer listed and not among `gone`, the ids of those that are gone for good."""
        return any(row.id not in gone for row in self._rows("AND run <> ?", self._run))

    def any_missing_of(self, parents: Sequence[str]) -> bool:
        """Whether a document is no longer listed that one of these parents listed."""
        rows = self._rows("AND run <> ?", self._run) if parents else []
        return any(not set(parents).isdisjoint(row.stored.parents) for row in rows)

    def _was_left_out(self, row: DocumentRow) -> bool:
        marks = ", ".join("?" * len(row.stored.parents))
        query = f"SELECT 1 FROM document WHERE site = ? AND run = ? AND fine AND format = ? AND url IN ({marks})"
        parameters = (self._site, self._run, Format.INDEX.value, *row.stored.parents)
        return self._db.execute(query, parameters).fetchone() is not None

    def _is_gone(self, row: DocumentRow) -> bool:
        since = row.stored.gone_since
        return since is not None and self._started - since >= GONE_AFTER

    def _rows(self, where: str, *parameters: Any) -> list[DocumentRow]:
        return stored_documents(self._db, self._site, where, *parameters)

    def _children(self) -> dict[int, tuple[SitemapRef, ...]]:
        children: dict[int, list[SitemapRef]] = {}
        rows = self._db.execute(
            "SELECT document, document.url, loc, child.lastmod, child.precision, line FROM child"
            " JOIN document ON document.id = child.document WHERE site = ? AND complete ORDER BY document, place",
            (self._site,),
        )
        for document, url, loc, lastmod, precision, line in rows:
            ref = SitemapRef(loc, *lastmod_of(lastmod, precision), sitemap=url, line=line)
            children.setdefault(document, []).append(ref)
        return {document: tuple(refs) for document, refs in children.items()}


def stored_documents(db: sqlite3.Connection, site: int, where: str = "", *parameters: Any) -> list[DocumentRow]:
    """The rows of a site's documents, in the order of their discovery."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM document WHERE site = ? {where} ORDER BY id", (site, *parameters))
    return [decode_value(_row, row) for row in rows.fetchall()]


def expires(format: str | None) -> bool:
    """Whether a format lists recent entries only, so that URLs leave it without being removed."""
    return format in FEEDS


def _row(row: tuple[Any, ...]) -> DocumentRow:
    id, url, format, complete, entries, etag, last_modified, sha256, lastmod, precision, *rest = row
    *times, parents, prefix, authorities, observations = rest
    history = _HISTORY.decode(observations)
    moments = [None if time is None else moment(time) for time in times]
    values: list[Any] = [url, format, bool(complete), entries, etag, last_modified, sha256]
    values += [*lastmod_of(lastmod, precision), *moments, judge_history(history), _PARENTS.decode(parents)]
    scope = None if authorities is None else frozenset(_PARENTS.decode(authorities))
    return DocumentRow(id, StoredDocument(*values), prefix, scope, history)


_HISTORY = msgspec.json.Decoder(History)
_PARENTS = msgspec.json.Decoder(tuple[str, ...])


def stored_authorities(outcome: Outcome) -> str | None:
    """The URL prefixes in the document's scope besides its own directory, as JSON; None as in _authorities()."""
    authorities = _authorities(outcome)
    return None if authorities is None else json_text(sorted(authorities))


def _authorities(outcome: Outcome) -> frozenset[str] | None:
    """The document's URL scope; None where it listed URLs outside it, as a later verification may extend the scope."""
    return None if has_scope_drops(outcome) else frozenset(outcome.authorities)


def _validators(outcome: Outcome, read_at: datetime) -> dict[str, str | None]:
    etag, modified = _sendable(outcome.etag), _sendable(outcome.last_modified)
    if modified is not None and not is_strong(modified, read_at):
        modified = modified if etag is not None and http_date(modified) is not None else None
    return {"etag": etag, "last_modified": modified}


def _sendable(validator: str | None) -> str | None:
    """A validator that can be sent back as it came; None for others."""
    # aiohttp refuses control characters, and encodes others as UTF-8, whatever the bytes were in the response. Servers
    # refuse requests with very long headers (8 KiB in all is a usual limit).
    if validator is None or not 0 < len(validator) <= _MAX_VALIDATOR_CHARACTERS:
        return None
    return validator if validator.isascii() and validator.isprintable() else None


def _lastmod(source: StoredDocument | Outcome) -> Lastmod | None:
    lastmod, precision = source.lastmod, source.lastmod_precision
    return None if lastmod is None or precision is None else (lastmod, precision)
