"""A WARC file in place of the network: a URL goes in, the Response that was recorded for it comes out.

The file may be of --record or of any other crawler, and of many hosts. It is looked through once; then each answer is
read from where it stands, in pieces. Never writes, and gives nothing that its digest contradicts.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import attrs

from ...model.errors import FetchError
from ..client import Response, usable_url
from ..replay import ERROR_FIELD, error_of
from .index import WINDOW_BYTES, fields_of, key_of, read_index
from .records import Damaged, Digest, HttpHead, Record, body, http_head, packings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from datetime import datetime

    from ...frontier.seeds import Seed

_CHANGED_BY_UNPACKING = ("content-encoding", "content-length")


@attrs.frozen
class _Found:
    """An open answer."""

    head: HttpHead
    chunks: Iterator[bytes]


class WarcFetcher:
    """A Fetcher over a WARC file, plain or gzipped record by record. What is not there is a 404.

    UsageError, at once, where the file is no WARC, cannot be read, or gives nothing to start from.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._index = read_index(self._path)

    @property
    def seeds(self) -> tuple[Seed, ...]:
        """Where a walk over it starts: what was asked for, or in files of other crawlers what leads to sitemaps."""
        return self._index.seeds

    @property
    def recorded(self) -> datetime | None:
        """When the last answer was recorded, in UTC, to the second."""
        return self._index.recorded

    @property
    def damage(self) -> str | None:
        """Where and how the file is damaged: only what stands before counts."""
        return self._index.damage

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        """The recorded answer; request `headers` make no difference."""
        rest = usable_url(url)["rest"]
        with self._opened() as file:
            found = self._found(file, key_of(url) or "")
            if found is None and self.damage and rest != "/robots.txt":  # one that is out of reach forbids all
                raise FetchError(f"not found; {self.damage}", transient=False)
            found = found or _Found(HttpHead(404, {}), iter(()))
            yield Response(found.head.status, found.head.headers, _Chunks(found.chunks), url)

    def _found(self, file: BinaryIO, key: str) -> _Found | None:
        """What stands for the URL, if anything does; FetchError where that is a failure, or cannot be read."""
        answer, failure = self._index.answers.get(key), self._index.failures.get(key)
        with self._events():
            record = None if answer is None else self._record(file, answer, key)
            if record is not None and (failure is None or failure < record.offset):
                return self._answer(file, record)
            said = None if failure is None else self._record(file, failure, key)
            if said is None:
                return None
            error = error_of(fields_of(said.block.peek(WINDOW_BYTES)).get(ERROR_FIELD, ""))
            if record is None or said.headers.get("warc-concurrent-to") != record.id:
                raise error
            return self._answer(file, Record(file, record.offset), error)

    def _record(self, file: BinaryIO, offset: int, key: str) -> Record | None:
        """The record, unless it is of another URL that only looks the same to the index."""
        record = Record(file, offset)
        return record if key_of(record.url) == key else None

    def _answer(self, file: BinaryIO, record: Record, error: FetchError | None = None) -> _Found:
        record = self._intact(file, record)
        head = http_head(record)
        if record.type == "revisit" and (head is None or head.status != 304):
            record = self._original(file, record)
            first = http_head(record)
            head = head or first
        else:
            first = head
        if head is None or first is None:
            raise self._failed("holds no HTTP answer")
        if not self._index.is_ours and packings(first.headers):
            kept = {name: value for name, value in head.headers.items() if name not in _CHANGED_BY_UNPACKING}
            head = attrs.evolve(head, headers=kept)
        return _Found(head, self._chunks(record, first.headers, error))

    def _original(self, file: BinaryIO, revisit: Record) -> Record:
        """The record that holds the payload that was found once more."""
        digest = revisit.headers.get("warc-payload-digest", "")
        offset = self._index.originals.get(str(revisit.offset))
        record = None if offset is None else Record(file, offset)
        if record is None or digest not in ("", record.headers.get("warc-payload-digest", digest)):
            offset = self._index.with_digest(digest)
            record = None if offset is None else Record(file, offset)
        if record is None or record.type == "revisit":
            raise self._failed("is the same as one that is not in this file")
        return self._intact(file, record)

    def _intact(self, file: BinaryIO, record: Record) -> Record:
        """The record from its beginning, if its gzip or a digest vouches for it, or nothing speaks against it."""
        if not (record.is_checked or _is_intact(file, record.offset)):
            raise self._failed("is damaged: what it holds does not match its digest")
        return Record(file, record.offset)

    def _chunks(self, record: Record, headers: Mapping[str, str], error: FetchError | None) -> Iterator[bytes]:
        received = 0
        with self._events():
            for chunk in body(record.block, headers, unpack=not self._index.is_ours, place=str(self._path)):
                received += len(chunk)
                yield chunk
        if error is not None:
            raise error
        for name in ("warc-truncated", "warc-segment-number"):
            if name in record.headers:
                raise self._failed(f"ends after {received:,} bytes ({name}: {record.headers[name]})")

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        with self._events():
            file = self._path.open("rb")
        with file:
            yield file

    @contextmanager
    def _events(self) -> Iterator[None]:
        """What goes wrong with the file, as what the URL gets."""
        try:
            yield
        except OSError as exc:
            raise FetchError(f"cannot read {self._path}: {exc.strerror or exc}", transient=False) from exc
        except Damaged as exc:
            message = f"{self._path} is damaged at byte {exc.offset:,} ({exc})"
            raise FetchError(message, transient=False) from exc

    def _failed(self, what: str) -> FetchError:
        return FetchError(f"its record in {self._path} {what}", transient=False)


class _Chunks:
    """Chunks that are there already, for who awaits them."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks

    def __aiter__(self) -> _Chunks:
        return self

    async def __anext__(self) -> bytes:
        for chunk in self._chunks:
            return chunk
        raise StopAsyncIteration


def _is_intact(file: BinaryIO, offset: int) -> bool:
    """Whether a digest of the record fits, or there is none. Two, as writers disagree on what a payload is."""
    record = Record(file, offset)
    block, payload = (Digest.of(record.headers.get(f"warc-{name}-digest", "")) for name in ("block", "payload"))
    if record.type == "revisit":  # its payload stands elsewhere
        payload = None
    known = [each for each in (block, payload) if each is not None]
    left = 0 if record.type == "resource" else record.block.head_length()
    while known and (chunk := record.block.read()):
        if block is not None:
            block.update(chunk)
        if payload is not None:
            payload.update(chunk[left:])
        left = max(0, left - len(chunk))
    return not known or any(each.fits for each in known)
