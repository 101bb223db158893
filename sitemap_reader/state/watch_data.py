"""What a watch stores in a state beside the URLs: the ChangeLog, and its WatchData as JSON, of which broken is none.

The log has the changes that a watch has found, numbered, and how far each sink has received them. Entries are on the
disk before they can be read: so after a power failure no number is used again that a receiver has.
"""

from __future__ import annotations

import zlib
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import attrs
import msgspec
import orjson

from ..model.columns import micros
from ..serialize.jsonl import encode_changes, watched_keys
from .documents import stored_documents
from .rows import moment
from .schema import decode_value, json_text, only_row, sqlite_errors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from datetime import datetime

    from .diff_rules import ChangePiece
    from .documents import StoredDocument
    from .state import State

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
