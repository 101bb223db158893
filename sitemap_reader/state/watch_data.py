"""WatchData: what a watch stores in a state beside the URLs, as JSON. Broken JSON counts as none."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import attrs
import msgspec
import orjson

from ..model.columns import micros
from .documents import stored_documents
from .rows import moment
from .schema import decode_value, json_text, only_row, sqlite_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from .documents import StoredDocument
    from .state import State


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
