"""State: the public, read-only view of a state file, in which sync keeps sites from run to run; sync.py writes it.

What a watch stores beside the URLs: the ChangeLog, and its WatchData as JSON, of which broken is none. The log has the
changes that a watch has found, numbered, and how far each sink has received them. Entries are on the disk before they
can be read: so after a power failure no number is used again that a receiver has.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self

import attrs
import msgspec
import orjson

from ..frontier.plan import parse_target
from ..model.columns import micros
from ..model.errors import StateError, UsageError
from ..model.options import FILE_NAME
from ..serialize.dumps import wal_name
from ..serialize.jsonl import encode_changes, watched_keys
from .diff_rules import MAX_BATCH_URLS
from .documents import StoredDocument, stored_documents
from .rows import Listing, check_stated, moment, newest_listing, record_of
from .schema import (
    DamagedValue,
    decode_value,
    json_text,
    only_row,
    open_for_writing,
    open_state,
    open_temporary_state,
    sqlite_errors,
    unlock,
)

if TYPE_CHECKING:
    import sqlite3

    from ..frontier.plan import Seed
    from ..model.records import UrlRecord
    from .diff_rules import ChangePiece
    from .rows import Stated


_MAX_SEQ = 2**63 - 1
_MAX_READ_BYTES = 2**20
_LEVEL = 1  # of zlib: half the time of the default, and a tenth larger


@attrs.frozen
class LogEntry:
    """Changes of one document of a site that were found together: at most MAX_PIECE_URLS.

    They have the numbers `first_seq` to `last_seq`. `lines` are JSON lines in UTF-8, one for each change, each ending
    with a line break. `log_id` is a random text that the log of no other state has.
    """

    first_seq: int
    last_seq: int
    at: datetime
    site: str
    lines: bytes
    log_id: str = ""

    @property
    def key(self) -> str:
        """A text of letters, digits and `_` that no other entry has, also of other states and of a restored backup.

        It is the same whenever the entry is delivered, so that receivers can drop repetitions.
        """
        return f"{self.log_id}_{micros(self.at):x}_{self.last_seq}"


class ChangeLog:
    """The log of a state that is open. StateError where the state cannot be read or written."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.last_seq = self._last_at = self._synced_seq = 0  # last_seq: of the newest change; 0 if there is none yet
        with sqlite_errors(state.name):
            self._id: str = only_row(state.db.execute("SELECT id FROM log_id"))[0]
        self.reload()

    def reload(self) -> None:
        """Continues behind the newest entry of the state, after a rollback."""
        query = "SELECT last_seq, at FROM change_log ORDER BY last_seq DESC LIMIT 1"
        with sqlite_errors(self._state.name):
            self.last_seq, self._last_at = self._state.db.execute(query).fetchone() or (0, 0)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """State.transaction() for append(); after a failure the log continues behind its newest stored entry."""
        try:
            with self._state.transaction():
                yield
        except BaseException:
            self.reload()
            raise

    def append(self, piece: ChangePiece, site: str, at: datetime, *, first_reading: bool = False) -> int:
        """Adds changes to the transaction in progress, and returns how many; `at` never decreases in the log."""
        lines = encode_changes(piece, site=site).splitlines()
        at_micros = max(self._last_at, micros(at))
        numbered = []
        for seq, line in enumerate(lines, self.last_seq + 1):
            head = orjson.dumps(watched_keys(seq, moment(at_micros), first_reading=first_reading))
            numbered.append(b"%s,%s\n" % (head[:-1], line[1:]))
        last_seq = self.last_seq + len(lines)
        row = (last_seq, len(lines), at_micros, site, zlib.compress(b"".join(numbered), _LEVEL))
        with sqlite_errors(self._state.name):
            self._state.db.execute("INSERT INTO change_log VALUES (?, ?, ?, ?, ?)", row)
        self.last_seq, self._last_at = last_seq, at_micros
        return len(lines)

    def after(self, seq: int, entries: int) -> Iterator[LogEntry]:
        """Up to so many entries with changes after `seq`, oldest first; fewer if they have over a MiB."""
        if self._synced_seq < self.last_seq:
            self._state.sync()
            self._synced_seq = self.last_seq
        query = "SELECT * FROM change_log WHERE last_seq > ? ORDER BY last_seq LIMIT ?"
        size = 0
        with sqlite_errors(self._state.name), closing(self._state.db.execute(query, (seq, entries))) as rows:
            for last_seq, changes, at, site, lines in rows:
                size += len(lines)
                if size > max(len(lines), _MAX_READ_BYTES):
                    return
                lines = decode_value(zlib.decompress, lines)
                yield LogEntry(last_seq - changes + 1, last_seq, moment(at), site, lines, self._id)

    def cursor(self, sink: str, at: datetime) -> int:
        """The number of the last change that a sink has received; a new sink begins behind the newest change."""
        with self._state.transaction():
            values = (sink, self.last_seq, micros(at))
            self._state.db.execute("INSERT INTO sink VALUES (?, ?, ?) ON CONFLICT DO NOTHING", values)
            return int(only_row(self._state.db.execute("SELECT seq FROM sink WHERE name = ?", (sink,)))[0])

    def move_cursor(self, sink: str, seq: int, at: datetime) -> None:
        """Records that a sink has received all changes up to this number, and commits."""
        with self._state.transaction():
            self._state.db.execute("UPDATE sink SET seq = ?, at = ? WHERE name = ?", (seq, micros(at), sink))

    def prune(self, before: datetime, sinks: Collection[str]) -> None:
        """Deletes entries from before a time that all of these sinks have received, but the newest; commits."""
        # Sinks of earlier runs do not count, or the log would grow without end.
        marks = ", ".join("?" * len(sinks))
        query = (
            "DELETE FROM change_log WHERE at < ? AND last_seq < (SELECT max(last_seq) FROM change_log)"
            f" AND last_seq <= (SELECT coalesce(min(seq), {_MAX_SEQ}) FROM sink WHERE name IN ({marks}))"
        )
        with self._state.transaction():
            self._state.db.execute(query, (micros(before), *sinks))


@attrs.frozen
class StoredResponse:
    """A response that need not be requested again for some time; `headers` with names in lower case."""

    url: str
    at: datetime
    status: int
    headers: Mapping[str, str]
    body: bytes


class WatchData:
    """Reads and writes the values of a watch in a state that is open; StateError where that fails."""

    def __init__(self, state: State) -> None:
        self._state = state

    def sites(self) -> dict[str, dict[str, Any]]:
        """Name of each site in the state -> the watch's values of it."""
        with sqlite_errors(self._state.name):
            rows = self._state.db.execute("SELECT name, watch FROM site").fetchall()
        return {name: _object(text) for name, text in rows}

    def documents(self, site: str) -> Iterator[tuple[StoredDocument, dict[str, Any]]]:
        db = self._state.db
        with sqlite_errors(self._state.name):
            (site_id,) = only_row(db.execute("SELECT id FROM site WHERE name = ?", (site,)))
            values = dict(db.execute("SELECT id, watch FROM document WHERE site = ?", (site_id,)).fetchall())
            for row in stored_documents(db, site_id):
                yield row.stored, _object(values[row.id])

    def save(self, site: str, values: Mapping[str, Any], documents: Mapping[str, Mapping[str, Any]]) -> None:
        """Stores the values of a site, and of documents by URL, after a visit; commits."""
        # Deletes the runs of the site that found no change, as there are as many as visits, but the first, the
        # baseline, the last and the last complete one: later runs refer to them.
        with self._state.transaction():
            self._state.db.execute("UPDATE site SET watch = ? WHERE name = ?", (json_text(values), site))
            rows = [(json_text(document), url, site) for url, document in documents.items()]
            self._state.db.executemany(_SAVE, rows)
            self._state.db.execute(_DELETE_IDLE_RUNS, {"site": site})

    def responses(self, site: str, since: datetime) -> dict[str, StoredResponse]:
        """URL -> response, of those that a site's visits received since a time."""
        with sqlite_errors(self._state.name):
            rows = self._state.db.execute(_RESPONSES, (site, micros(since))).fetchall()
            return {
                url: StoredResponse(url, moment(at), status, *decode_value(_headers_and_body, (headers, body)))
                for url, at, status, headers, body in rows
            }

    def keep_response(self, site: str, response: StoredResponse) -> None:
        """Stores a response in place of an earlier one; commits."""
        values = (response.url, micros(response.at), response.status, json_text(response.headers))
        with self._state.transaction():
            self._state.db.execute(
                "INSERT OR REPLACE INTO response SELECT id, ?, ?, ?, ?, ? FROM site WHERE name = ?",
                (*values, zlib.compress(response.body), site),
            )

    def forget_responses(self, site: str, urls: Iterable[str]) -> None:
        """Deletes the responses of these URLs; commits."""
        with self._state.transaction():
            self._state.db.executemany(
                "DELETE FROM response WHERE url = ? AND site = (SELECT id FROM site WHERE name = ?)",
                [(url, site) for url in urls],
            )


_RESPONSES = """
SELECT url, at, status, headers, body FROM response JOIN site ON site.id = site WHERE name = ? AND at > ?
"""
_SAVE = "UPDATE document SET watch = ? WHERE url = ? AND site = (SELECT id FROM site WHERE name = ?)"
_DELETE_IDLE_RUNS = """
WITH of_site AS (SELECT id, baseline FROM site WHERE name = :site)
DELETE FROM run WHERE site = (SELECT id FROM of_site) AND NOT (new OR updated OR removed OR held_back)
AND id NOT IN (SELECT coalesce(baseline, 0) FROM of_site)
AND id <> (SELECT min(id) FROM run WHERE site = (SELECT id FROM of_site))
AND id < (SELECT max(id) FROM run WHERE site = (SELECT id FROM of_site))
AND id <> (SELECT coalesce(max(id), 0) FROM run WHERE site = (SELECT id FROM of_site) AND complete)
"""


def _object(text: str | None) -> dict[str, Any]:
    try:
        value = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _headers_and_body(values: tuple[str, bytes]) -> tuple[dict[str, str], bytes]:
    return _HEADERS.decode(values[0]), zlib.decompress(values[1])


_HEADERS = msgspec.json.Decoder(dict[str, str])


@attrs.frozen
class StoredSite:
    """A site in a state: `name` is a URL; `urls` counts the distinct URLs that are listed."""

    name: str
    documents: int
    urls: int
    first_seen: datetime
    last_seen: datetime


@attrs.frozen
class StoredRun:
    """A run of sync and its counts. `ended` is None where it was stopped or killed before its end.

    `complete`: every sitemap could be read. `held_back` counts URLs that are no longer listed and were not reported as
    removed yet, because they are most of the site, or all of a sitemap. `listings` counts what all sitemaps but feeds
    listed at its end, a URL as often as it is listed.
    """

    site: str
    started: datetime
    ended: datetime | None
    complete: bool
    sitemaps: int
    not_modified: int
    new: int
    updated: int
    removed: int
    held_back: int
    listings: int = 0


class StoredColumns(NamedTuple):
    """Columns of URLs that one sitemap lists: each URL, its stated value, and when sync first listed the URL.

    `first_seen` is in microseconds since 1970, UTC: the start of that run; None if it is unknown when the URL appeared.
    """

    sitemap: str
    locs: list[str]
    stated: list[Stated]
    first_seen: list[int | None]


_OF_RUNS = {"commit", "db", "lock", "rollback", "seal", "shared_by", "sync", "transaction"}


class State:
    """An open state file; a context manager, or close() it.

    It reads the last commit from before it was opened, also while a run or a watch writes the file; one that is kept
    open for long lets the WAL file of that grow. A run makes it the only one that writes, as `create` does at once:
    StateError where another run uses the file. StateError, too, where there is no file (unless it may `create` one),
    where it is no state, damaged, or of a newer version. A file without write permission can be read, but not
    used by a run. With `scratch` the state is temporary, and has no file: it begins with what the named one has.

    `shared_by` is the number of streams that use it at once. With more than one, a stream that is closed early does not
    roll back: each batch has to be taken to its end, and the file should be a copy that can be discarded.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, create: bool = False, scratch: bool = False, shared_by: int = 1
    ) -> None:
        FILE_NAME("state", path)
        self.name = os.fspath(path)
        self.shared_by = shared_by
        self._lock: BinaryIO | None = None
        self._is_file = not scratch
        if scratch:
            self.db: sqlite3.Connection = open_temporary_state(self.name)
        elif create:
            self.db, self._lock = open_for_writing(path)
        else:
            self.db = open_state(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __dir__(self) -> list[str]:  # as completion shows it: what runs write with is not for users
        return [*({*super().__dir__()} - _OF_RUNS)]

    def lock(self) -> None:
        """Makes this the one State that may write the file until it is closed; StateError where there is another.

        After an error it can still be read.
        """
        if self._is_file and self._lock is None:
            with sqlite_errors(self.name):
                self.db.rollback()
            self.db.close()
            try:
                self.db, self._lock = open_for_writing(self.name)
            except BaseException:
                self.db = open_state(self.name)
                raise

    def _unlock(self) -> None:
        if self._lock is not None:
            unlock(self._lock)
            self._lock = None

    def close(self) -> None:
        """Closes the file, and rolls back what was not committed. May be called twice."""
        self._unlock()
        self.db.close()

    def commit(self) -> None:
        """Commits the transaction in progress, and begins the next one."""
        with sqlite_errors(self.name):
            if self.db.in_transaction:
                self.db.execute("COMMIT")
            self.db.execute("BEGIN IMMEDIATE")

    def rollback(self) -> None:
        """Rolls back the transaction in progress, and begins the next one."""
        with sqlite_errors(self.name):
            if self.db.in_transaction:  # SQLite rolls back by itself after some errors
                self.db.execute("ROLLBACK")
            self.db.execute("BEGIN IMMEDIATE")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A context that commits what is written in it, or rolls that back if it fails; then the next one begins.

        Where a COMMIT fails, on a full disk, SQLite rolls back by itself: without another BEGIN, what follows would be
        committed statement by statement.
        """
        try:
            with sqlite_errors(self.name):
                yield
            self.commit()
        except BaseException:
            self.rollback()
            raise

    def sync(self) -> None:
        """Makes all commits so far survive a power failure; StateError where that fails."""
        try:
            with suppress(FileNotFoundError), open(wal_name(self.name), "rb+") as file:
                os.fsync(file.fileno())
        except OSError as exc:
            reason = exc.strerror or exc
            raise StateError(f"{self.name} cannot be written: {reason}", is_unwritable=True) from exc

    def seal(self) -> None:
        """Checkpoints the WAL into the file and closes it, so that the file alone can be copied or moved.

        StateError where the disk is full; close() alone would leave the WAL file, without an error.
        """
        self._unlock()
        with sqlite_errors(self.name):
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            (mode,) = self.db.execute("PRAGMA journal_mode = DELETE").fetchone()
            self.db.close()
        if mode != "delete":
            raise StateError(f"{self.name} cannot be written: not all of it would go into the file", is_unwritable=True)
        with open(self.name, "rb+") as file:
            os.fsync(file.fileno())

    def sites(self) -> list[StoredSite]:
        """The sites, sorted by name."""
        with sqlite_errors(self.name):
            rows = self.db.execute(_SITES).fetchall()
        return [
            StoredSite(name, documents, urls, moment(first), moment(last))
            for name, documents, urls, first, last in rows
        ]

    def documents(self, site: str | None = None) -> list[StoredDocument]:
        """The documents of a site, in the order of their discovery; `site` is optional where there is only one.

        UsageError for an unknown site.
        """
        with sqlite_errors(self.name):
            return [row.stored for row in stored_documents(self.db, self._site_id(site))]

    def entries(self, site: str | None = None) -> Iterator[UrlRecord]:
        """Each URL of a site once, from the listing that counts (the one with the newest lastmod), in no order.

        The records have loc, lastmod, its precision, changefreq, priority and sitemap. UsageError for an unknown site.
        """
        for loc, sitemap, listing in self.listings(site):
            yield record_of(loc, listing, sitemap)

    def listings(self, site: str | None = None) -> Iterator[tuple[str, str, Listing]]:
        """As entries(): the URL, its sitemap, and the Listing, which has digests of images and other nested values."""
        site_id = self._site_id(site)
        with sqlite_errors(self.name):
            for _, rows in groupby(self.db.execute(_ENTRIES, (site_id,)), itemgetter(0)):
                listings = {Listing.of_row(*row[3:6]): (row[1], row[2]) for row in rows}
                listing = newest_listing(listings)
                loc, sitemap = listings[listing]
                if type(loc) is not str:
                    raise DamagedValue
                yield loc, sitemap, listing

    def columns(self, site: str | None = None) -> Iterator[StoredColumns]:
        """All listings of a site by sitemap, in no order of URLs, at most MAX_BATCH_URLS at a time."""
        with sqlite_errors(self.name):
            for row in stored_documents(self.db, self._site_id(site), "AND entries"):
                parameters = {"document": row.id, "prefix": row.prefix, "most": MAX_BATCH_URLS, "first": _LOWEST_KEY}
                while columns := self.db.execute(_COLUMNS, parameters).fetchone()[0]:
                    last, locs, stated, first_seen = decode_value(orjson.loads, columns)
                    if {*map(type, locs)} != {str} or type(last) is not int or last == _HIGHEST_KEY:
                        raise DamagedValue
                    check_stated(stated)
                    yield StoredColumns(row.stored.url, locs, stated, first_seen)
                    parameters["first"] = last + 1

    def has_nested(self) -> bool:
        """Whether any URL has images, news or other nested values, of which a state has only digests."""
        with sqlite_errors(self.name):
            return self.db.execute("SELECT 1 FROM entry WHERE nested IS NOT NULL LIMIT 1").fetchone() is not None

    def settings(self) -> dict[str, dict[str, Any]]:
        """Site -> the scope and the patterns under which it was last read; names are those of runs()."""
        with sqlite_errors(self.name):
            rows = self.db.execute("SELECT name, settings FROM site").fetchall()
            return {name: decode_value(settings_of, text) for name, text in rows}

    def runs(self, site: str | None = None) -> list[StoredRun]:
        """The runs of one site, or of all, latest first."""
        site_id = None if site is None else self._site_id(site)
        with sqlite_errors(self.name):
            rows = self.db.execute(_RUNS, {"site": site_id}).fetchall()
        return [
            StoredRun(name, moment(started), None if ended is None else moment(ended), bool(complete), *counts)
            for name, started, ended, complete, *counts in rows
        ]

    def _site_id(self, site: str | None) -> int:
        with sqlite_errors(self.name):
            ids = dict(self.db.execute("SELECT name, id FROM site ORDER BY name").fetchall())
        if site is None and len(ids) == 1:
            return int(*ids.values())
        for name in () if site is None else (site, name_of_target(site)):
            if name in ids:
                return int(ids[name])
        known = ", ".join(ids) or "no site"
        if site is None:
            raise UsageError(f"which site? {self.name} has {known}")
        raise UsageError(f"{site} is not in {self.name}, which has {known}")


def site_name(seeds: tuple[Seed, ...]) -> str:
    """The name in a state of the site that these seeds lead to; the same for all spellings of a target."""
    return " ".join(_seed_name(seed) for seed in seeds)


def _seed_name(seed: Seed) -> str:
    if seed.document is not None:
        return seed.document
    return f"{seed.origins[0]}{seed.base_path}/{'robots.txt' if seed.robots_only else ''}"


@lru_cache(maxsize=16)  # a dump names its few sites in every line
def name_of_target(target: str) -> str | None:
    """As site_name(), of a target; None for an invalid one."""
    try:
        return _seed_name(parse_target(target))
    except UsageError:
        return None


def settings_of(text: str) -> dict[str, Any]:
    """The settings in the column of that name; an exception for what no state has."""
    settings: Any = json.loads(text)
    for value in settings.values():
        if isinstance(value, dict) or (isinstance(value, list) and not all(isinstance(each, str) for each in value)):
            raise TypeError(value)
    return dict(settings)


_SITES = """
SELECT name, (SELECT count(*) FROM document WHERE site = site.id),
  (SELECT count(DISTINCT key) FROM entry WHERE document IN (SELECT id FROM document WHERE site = site.id)),
  first_seen, last_seen FROM site ORDER BY name
"""
_ENTRIES = """
SELECT key, prefix || loc, url, document.id, stated, nested
FROM entry JOIN document ON document.id = entry.document WHERE site = ? ORDER BY key
"""
# One JSON value without objects for single rows: some three times as fast as rows.
_LOWEST_KEY, _HIGHEST_KEY = -(2**63), 2**63 - 1
_COLUMNS = """
SELECT CASE WHEN count(*) THEN json_array(
  max(key), json_group_array(:prefix || loc), json_group_array(stated), json_group_array(started)) END
FROM (
  SELECT key, loc, stated, started FROM entry LEFT JOIN run ON run.id = first_run
  WHERE document = :document AND key >= :first ORDER BY key LIMIT :most)
"""
_RUNS = """
SELECT name, started, ended, complete, sitemaps, not_modified, new, updated, removed, held_back, listings
FROM run JOIN site ON site.id = run.site WHERE :site IS NULL OR site.id = :site ORDER BY run.id DESC
"""
