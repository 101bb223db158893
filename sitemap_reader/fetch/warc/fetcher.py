"""Replaces the network by a WARC file: a URL goes in, the Response that was recorded for it comes out.

The file may be from --record or any other crawler, with any number of hosts. It is indexed in one pass; then each
response is read from its offset, in chunks. Never writes, and returns no response whose digest does not match.
"""

from __future__ import annotations

import base64
import hashlib
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ...model.errors import FetchError
from ..client import Response, http_url_parts
from ..replay import AsyncChunks, pop_error
from .index import WINDOW_BYTES, OffsetTable, parse_warc_fields, read_index, url_key
from .records import DamagedRecord, HttpHead, WarcRecord, body_chunks, http_head, read_head

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from datetime import datetime

    from ...frontier.seeds import Seed


class WarcFetcher:
    """A Fetcher that reads from a WARC file, plain or gzipped record by record; a URL that is not in it is a 404.

    `seeds` are those of the recorded crawl; in files of other crawlers, the sites and sitemaps that were found.
    `recorded`: when the last response was recorded, in UTC, to the second. `damage`: where and how the file is damaged,
    or None; only records before that are read. Raises UsageError when created, where the file is no WARC, cannot be
    read, or has no seeds.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._index = read_index(self._path)
        self.seeds: tuple[Seed, ...] = self._index.seeds
        self.recorded: datetime | None = self._index.recorded
        self.damage: str | None = self._index.damage

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        """Opens the recorded response; the request `headers` are ignored."""
        rest = http_url_parts(url)["rest"]
        with self._translated_errors():
            file = self._path.open("rb")
        with file:
            with self._translated_errors():
                response = self._find(file, url)
            # A robots.txt that cannot be fetched would forbid all.
            if response is None and self.damage and rest != "/robots.txt":
                raise FetchError(f"not found; {self.damage}", transient=False, remedy="")
            yield response or Response(404, {}, AsyncChunks(iter(())), url)

    def has(self, url: str) -> bool:
        """Whether a response for a URL was recorded, or why there was none."""
        key = url_key(url) or ""
        return any(offsets.get(key) is not None for offsets in (self._index.responses, self._index.failures))

    def _find(self, file: BinaryIO, url: str) -> Response | None:
        """Returns the response for a URL, or None; raises FetchError for a recorded failure or an unreadable record."""
        record = self._record(file, self._index.responses, url)
        failure = self._record(file, self._index.failures, url)
        if failure is None or (record is not None and record.offset > failure.offset):
            return None if record is None else self._response(file, record, url)
        error = pop_error(parse_warc_fields(failure.read(WINDOW_BYTES)))
        if record is None or failure.headers.get("warc-concurrent-to") != record.id:
            raise error
        return self._response(file, record, url, error)

    def _record(self, file: BinaryIO, offsets: OffsetTable, url: str) -> WarcRecord | None:
        """Returns the record for a URL; None where there is none, or one of another URL with the same hash."""
        key = url_key(url) or ""
        offset = offsets.get(key)
        record = None if offset is None else WarcRecord(file, offset)
        return record if record is not None and url_key(record.url) == key else None

    def _response(self, file: BinaryIO, record: WarcRecord, url: str, error: FetchError | None = None) -> Response:
        """Returns the response of a record, whose body ends with `error`, if there is one."""
        record = self._verified(file, record)
        head = payload_head = _head(record)
        if record.type == "revisit" and (head is None or head.status != 304):
            record = self._revisited_record(file, record)
            payload_head = _head(record)
            head = head or payload_head
        if head is None or payload_head is None:
            raise self._record_error("holds no HTTP answer")
        coding = payload_head.headers.get("content-encoding")  # that of the body, which a revisit record may not have
        headers = {**head.headers, **({"content-encoding": coding} if coding else {})}
        return Response(head.status, headers, AsyncChunks(self._chunks(record, payload_head.headers, error)), url)

    def _revisited_record(self, file: BinaryIO, revisit: WarcRecord) -> WarcRecord:
        digest = revisit.headers.get("warc-payload-digest", "")
        offset = self._index.payloads.get(digest)
        record = None if offset is None else WarcRecord(file, offset)
        if record is None or record.headers.get("warc-payload-digest") != digest:
            raise self._record_error("is the same as one that is not in this file")
        return self._verified(file, record)

    def _verified(self, file: BinaryIO, record: WarcRecord) -> WarcRecord:
        """Returns the record, unread; FetchError where it has digests of which none matches, and no CRC of gzip."""
        if not (record.has_crc or _matches_digest(WarcRecord(file, record.offset))):
            raise self._record_error("is damaged: what it holds does not match its digest")
        return WarcRecord(file, record.offset)

    def _chunks(self, record: WarcRecord, headers: Mapping[str, str], error: FetchError | None) -> Iterator[bytes]:
        received = 0
        with self._translated_errors():
            for chunk in body_chunks(record, headers, archive=str(self._path)):
                received += len(chunk)
                yield chunk
        if error is not None:
            raise error
        for name in ("warc-truncated", "warc-segment-number"):
            if name in record.headers:
                raise self._record_error(f"ends after {received:,} bytes ({name}: {record.headers[name]})")

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Raises OSError and DamagedRecord as FetchError."""
        try:
            yield
        except OSError as exc:
            message = f"cannot read {self._path}: {exc.strerror or exc}"
            raise FetchError(message, transient=False, remedy="") from exc
        except DamagedRecord as exc:
            message = f"{self._path} is damaged at byte {exc.offset:,} ({exc})"
            raise FetchError(message, transient=False, remedy="") from exc

    def _record_error(self, problem: str) -> FetchError:
        return FetchError(f"its record in {self._path} {problem}", transient=False, remedy="")


def _head(record: WarcRecord) -> HttpHead | None:
    if record.type != "resource":
        return http_head(record)
    kind = record.headers.get("content-type")  # a document without HTTP headers
    return HttpHead(200, {"content-type": kind} if kind else {})


def _matches_digest(record: WarcRecord) -> bool:
    """Whether one of two digests matches, or there is none: writers disagree on what a payload is."""
    block = _digest(record.headers.get("warc-block-digest", ""))
    # The payload of a revisit is in another record.
    payload = None if record.type == "revisit" else _digest(record.headers.get("warc-payload-digest", ""))
    digests = [digest for digest in (block, payload) if digest]
    head = b"" if record.type == "resource" else read_head(record)
    if block:
        block[0].update(head)
    while digests and (chunk := record.read()):
        for state, _ in digests:
            state.update(chunk)
    return not digests or any(state.digest() == value for state, value in digests)


def _digest(text: str) -> tuple[Any, bytes] | None:
    """Returns a hash and its expected value for `sha1:` and base 32 or 16; None for an unknown algorithm or form."""
    label, _, written = text.partition(":")
    name, written = label.lower().replace("-", ""), written.strip()
    if name not in hashlib.algorithms_guaranteed:
        return None
    state = hashlib.new(name, usedforsecurity=False)
    is_hex = len(written) == state.digest_size * 2
    with suppress(ValueError):  # binascii.Error is one
        value = bytes.fromhex(written) if is_hex else base64.b32decode(written.upper())
        if value and len(value) == state.digest_size:
            return state, value
    return None
