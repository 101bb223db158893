"""Replaces the network by a WARC file: a URL goes in, the Response that was recorded for it comes out.

The file may be from --record or any other crawler, with any number of hosts. It is indexed in one pass; then each
response is read from its offset, in pieces. Never writes, and returns no response whose digest does not match.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import attrs

from ...model.errors import FetchError
from ..client import Response, http_url_parts
from ..replay import pop_error
from .index import WINDOW_BYTES, parse_warc_fields, read_index, url_key
from .records import DamagedRecord, Digest, HttpHead, WarcRecord, body_chunks, content_codings, http_head

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from datetime import datetime

    from ...frontier.seeds import Seed

_CHANGED_BY_DECODING = ("content-encoding", "content-length")


@attrs.frozen
class _RecordedResponse:
    """A response whose head was read."""

    head: HttpHead
    chunks: Iterator[bytes]


class WarcFetcher:
    """A Fetcher that reads from a WARC file, plain or gzipped record by record; a URL that is not in it is a 404.

    Raises UsageError when created, where the file is no WARC, cannot be read, or has no seeds.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._index = read_index(self._path)

    @property
    def seeds(self) -> tuple[Seed, ...]:
        """The seeds of the recorded crawl; in files of other crawlers, the sites and sitemaps that were found."""
        return self._index.seeds

    @property
    def recorded(self) -> datetime | None:
        """When the last response was recorded, in UTC, to the second."""
        return self._index.recorded

    @property
    def damage(self) -> str | None:
        """Where and how the file is damaged, or None; only records before that are read."""
        return self._index.damage

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        """Opens the recorded response; the request `headers` are ignored."""
        rest = http_url_parts(url)["rest"]
        with self._open_file() as file:
            found = self._find(file, url_key(url) or "")
            if (
                found is None and self.damage and rest != "/robots.txt"
            ):  # a robots.txt that cannot be fetched would forbid all
                raise FetchError(f"not found; {self.damage}", transient=False, remedy="")
            found = found or _RecordedResponse(HttpHead(404, {}), iter(()))
            yield Response(found.head.status, found.head.headers, _AsyncChunks(found.chunks), url)

    def _find(self, file: BinaryIO, key: str) -> _RecordedResponse | None:
        """Returns the response for a URL, or None; raises FetchError for a recorded failure or an unreadable record."""
        response_offset, failure_offset = self._index.responses.get(key), self._index.failures.get(key)
        with self._translated_errors():
            record = None if response_offset is None else self._record(file, response_offset, key)
            if record is not None and (failure_offset is None or failure_offset < record.offset):
                return self._open_response(file, record)
            failure_record = None if failure_offset is None else self._record(file, failure_offset, key)
            if failure_record is None:
                return None
            error = pop_error(parse_warc_fields(failure_record.block.lookahead(WINDOW_BYTES)))
            if record is None or failure_record.headers.get("warc-concurrent-to") != record.id:
                raise error
            return self._open_response(file, WarcRecord(file, record.offset), error)

    def _record(self, file: BinaryIO, offset: int, key: str) -> WarcRecord | None:
        """Returns the record, or None where it is of another URL with the same hash."""
        record = WarcRecord(file, offset)
        return record if url_key(record.url) == key else None

    def _open_response(self, file: BinaryIO, record: WarcRecord, error: FetchError | None = None) -> _RecordedResponse:
        record = self._verified(file, record)
        head = http_head(record)
        if record.type == "revisit" and (head is None or head.status != 304):
            record = self._revisited_record(file, record)
            payload_head = http_head(record)
            head = head or payload_head
        else:
            payload_head = head
        if head is None or payload_head is None:
            raise self._record_error("holds no HTTP answer")
        if not self._index.is_own_recording and content_codings(payload_head.headers):
            kept = {name: value for name, value in head.headers.items() if name not in _CHANGED_BY_DECODING}
            head = attrs.evolve(head, headers=kept)
        return _RecordedResponse(head, self._chunks(record, payload_head.headers, error))

    def _revisited_record(self, file: BinaryIO, revisit: WarcRecord) -> WarcRecord:
        """Returns the record with the payload that a revisit record refers to."""
        digest = revisit.headers.get("warc-payload-digest", "")
        offset = self._index.payload_offsets.get(str(revisit.offset))
        record = None if offset is None else WarcRecord(file, offset)
        if record is None or digest not in ("", record.headers.get("warc-payload-digest", digest)):
            offset = self._index.offset_of_payload(digest)
            record = None if offset is None else WarcRecord(file, offset)
        if record is None or record.type == "revisit":
            raise self._record_error("is the same as one that is not in this file")
        return self._verified(file, record)

    def _verified(self, file: BinaryIO, record: WarcRecord) -> WarcRecord:
        """Returns the record, unread; FetchError where it has digests of which none matches, and no CRC of gzip."""
        if not (record.has_crc or _matches_digest(file, record.offset)):
            raise self._record_error("is damaged: what it holds does not match its digest")
        return WarcRecord(file, record.offset)

    def _chunks(self, record: WarcRecord, headers: Mapping[str, str], error: FetchError | None) -> Iterator[bytes]:
        received = 0
        with self._translated_errors():
            for chunk in body_chunks(
                record.block, headers, decompress=not self._index.is_own_recording, archive=str(self._path)
            ):
                received += len(chunk)
                yield chunk
        if error is not None:
            raise error
        for name in ("warc-truncated", "warc-segment-number"):
            if name in record.headers:
                raise self._record_error(f"ends after {received:,} bytes ({name}: {record.headers[name]})")

    @contextmanager
    def _open_file(self) -> Iterator[BinaryIO]:
        with self._translated_errors():
            file = self._path.open("rb")
        with file:
            yield file

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


class _AsyncChunks:
    """An asynchronous iterator over a synchronous one."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks

    def __aiter__(self) -> _AsyncChunks:
        return self

    async def __anext__(self) -> bytes:
        for chunk in self._chunks:
            return chunk
        raise StopAsyncIteration


def _matches_digest(file: BinaryIO, offset: int) -> bool:
    """Whether one of two digests matches, or there is none: writers disagree on what a payload is."""
    record = WarcRecord(file, offset)
    block, payload = (Digest.parse(record.headers.get(f"warc-{name}-digest", "")) for name in ("block", "payload"))
    if record.type == "revisit":  # its payload is in another record
        payload = None
    known = [digest for digest in (block, payload) if digest is not None]
    head_left = 0 if record.type == "resource" else record.block.head_length()
    while known and (chunk := record.block.read()):
        if block is not None:
            block.update(chunk)
        if payload is not None:
            payload.update(chunk[head_left:])
        head_left = max(0, head_left - len(chunk))
    return not known or any(digest.matches for digest in known)
