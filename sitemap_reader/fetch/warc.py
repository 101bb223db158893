"""Replaces the network by a WARC file (ISO 28500): a URL goes in, the Response that was recorded for it comes out.

The file may be from --record or any other crawler, with any number of hosts. It is indexed in one pass: a response
takes some 25 bytes of memory, regardless of its URL, and as much again for a payload digest. Damage ends the pass and
is noted; what precedes it is indexed. Then each response is read from its offset, in chunks; none is returned whose
digest does not match.

warcio reads the heads. Its ArchiveIterator would end at damage without an error, print to stderr, and hold lines of any
length; its ChunkedDataReader holds chunks of up to 2 GiB. So blocks, gzip members and chunks are read here, in pieces.

WarcRecorder writes such files, for WarcFetcher and any other reader. Each response becomes one response record, in a
gzip member of its own where the file's name ends in .gz; errors of the connection go to a metadata record. warcio
formats the records. Requests are never written, as they hold the user's headers, and a record is never left incomplete.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import secrets
import sys
import weakref
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from hashlib import blake2b
from http import HTTPStatus
from io import BufferedReader, BytesIO, RawIOBase
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, BinaryIO, cast

import attrs
import orjson

from ..frontier.documents import Head
from ..frontier.plan import WELL_KNOWN, Seed, parse_target
from ..frontier.responses import is_success
from ..model.errors import FetchError, UsageError, install_hint
from ..model.limits import CHUNK_BYTES, Limits
from ..parser.content.codings import Decompressor
from ..parser.content.sniff import sniff
from ..parser.normalise.urls import clean_url, is_clean, origin
from ..serialize.byte_streams import MAGIC
from ..version import __version__
from .client import Response, http_url_parts, response_headers
from .replay import ERROR_FIELD, AsyncChunks, RecordedBody, RecordingFetcher, error_fields, one_line, pop_error
from .request_headers import HEADER_NAME

SEEDS_FIELD = "sitemap-reader-seeds"  # of a warcinfo record: JSON
RECOMPRESS = "`warcio recompress {path} NEW.warc.gz` (pip install warcio)"


def check_warcio(purpose: str) -> None:
    """Raises UsageError where warcio is not installed; `purpose` is the beginning of its message."""
    try:
        import warcio  # noqa: F401
    except ImportError as exc:
        raise UsageError(f"{purpose} needs warcio: {install_hint('warc')}") from exc


class WarcFetcher:
    """A Fetcher that reads from a WARC file, plain or gzipped record by record; a URL that is not in it is a 404.

    `seeds` are those of the recorded crawl; in files of other crawlers, the sites and sitemaps that were found.
    `recorded`: when the last response was recorded, in UTC, to the second. `damage`: where and how the file is damaged,
    or None; only records before that are read. Raises UsageError when created, where the file is no WARC, cannot be
    read, or has no seeds, and without warcio.
    """

    def __init__(self, path: str | Path) -> None:
        check_warcio("to read a WARC")
        self._path = Path(path)
        self._index = WarcIndex(self._path)
        self._index.read()
        self.damage: str | None = self._index.damage
        self.recorded: datetime | None = self._index.recorded()
        self.seeds: tuple[Seed, ...] = self._index.seeds()
        if not self.seeds:
            nothing = "nothing to start from: it holds no robots.txt, no sitemap, and no seeds of a recording of ours"
            raise UsageError(self.damage or f"{self._path}: {nothing}")

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
            yield response or Response(404, {}, AsyncChunks(), url)

    def has(self, url: str) -> bool:
        """Whether a response for a URL was recorded, or why there was none."""
        tables = (self._index.responses, self._index.failures)
        return any(offsets.get(url_key(url) or "") is not None for offsets in tables)

    def _find(self, file: BinaryIO, url: str) -> Response | None:
        """Returns the response for a URL, or None; raises FetchError for a recorded failure or an unreadable record."""
        record = self._record(file, self._index.responses, url)
        failure = self._record(file, self._index.failures, url)
        if failure is None or (record is not None and record.offset > failure.offset):
            return None if record is None else self._response(file, record, url)
        error = pop_error(parse_warc_fields(failure.block.read(WINDOW_BYTES)))
        if record is None or failure.headers.get("warc-concurrent-to") != record.id:
            raise error
        return self._response(file, record, url, error)

    def _record(self, file: BinaryIO, offsets: OffsetTable, url: str) -> WarcRecord | None:
        offset = offsets.get(url_key(url) or "")
        record = None if offset is None else WarcRecord(file, offset)
        return record if record and url_key(record.url) == url_key(url) else None  # another may have the same hash

    def _response(self, file: BinaryIO, record: WarcRecord, url: str, error: FetchError | None = None) -> Response:
        """Returns the response of a record, whose body ends with `error`, if there is one."""
        record = self._verified(file, record)
        head = payload_head = record.http_head()
        if record.type == "revisit" and (head is None or head.status != 304):
            digest = record.headers.get("warc-payload-digest", "")
            offset = self._index.payloads.get(digest)
            original = None if offset is None else WarcRecord(file, offset)
            if original is None or original.headers.get("warc-payload-digest") != digest:
                raise self._record_error("is the same as one that is not in this file")
            record = self._verified(file, original)
            payload_head = record.http_head()
            head = head or payload_head
        if head is None or payload_head is None:
            raise self._record_error("holds no HTTP answer")
        coding = payload_head.headers.get("content-encoding")  # that of the body, which a revisit record may not have
        headers = {**head.headers, **({"content-encoding": coding} if coding else {})}
        return Response(head.status, headers, AsyncChunks(self._chunks(record, payload_head, error)), url)

    def _verified(self, file: BinaryIO, record: WarcRecord) -> WarcRecord:
        """Returns the record, unread; FetchError where it has a digest that does not match, and no CRC of gzip."""
        if not (record.has_crc or WarcRecord(file, record.offset).matches_digest()):
            raise self._record_error("is damaged: what it holds does not match its digest")
        return WarcRecord(file, record.offset)

    def _chunks(self, record: WarcRecord, head: Head, error: FetchError | None) -> Iterator[bytes]:
        received = 0
        with self._translated_errors():
            for chunk in body_chunks(record.block, head):
                received += len(chunk)
                yield chunk
            if record.block.limit and not record.block.read(1):
                raise DamagedRecord(record.offset, "its record is cut off")
        if error is not None:
            raise error
        for name in ("warc-truncated", "warc-segment-number"):
            if name in record.headers:
                raise self._record_error(f"ends after {received:,} bytes ({name}: {record.headers[name]})")

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            message = f"cannot read {self._path}: {exc.strerror or exc}"
            raise FetchError(message, transient=False, remedy="") from exc
        except DamagedRecord as exc:
            raise FetchError(f"{self._path} is damaged at {exc}", transient=False, remedy="") from exc

    def _record_error(self, problem: str) -> FetchError:
        return FetchError(f"its record in {self._path} {problem}", transient=False, remedy="")


WINDOW_BYTES = 16 * 1024  # read of a response, with its head, and of a metadata record


def url_key(url: str) -> str | None:
    """Returns a URL as in the index and in WARC-Target-URI: normalised, without userinfo; None for an invalid one."""
    if is_clean(url):
        return url
    try:
        parts = http_url_parts(url)
    except FetchError:
        return None
    return clean_url(f"{parts['scheme']}://{parts['host']}{parts['rest']}").url


class OffsetTable:
    """Maps texts to numbers in some 25 bytes a text: a table of SQLite in memory that keeps hashes, not texts."""

    def __init__(self) -> None:
        import sqlite3  # here: few targets are WARC files

        # A random key: URLs that collide cannot be constructed. Readers compare the URL of the record all the same.
        self._key = secrets.token_bytes(16)
        self._table = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._table.execute("CREATE TABLE offsets (hash INTEGER PRIMARY KEY, number INTEGER)")
        weakref.finalize(self, self._table.close)

    def put(self, text: str, number: int | None) -> None:
        """Sets the number of a text; None removes it."""
        self._table.execute("REPLACE INTO offsets VALUES (?, ?)", (self._hash(text), number))

    def get(self, text: str) -> int | None:
        query = self._table.execute("SELECT number FROM offsets WHERE hash = ?", (self._hash(text),))
        return next((number for (number,) in query), None)

    def _hash(self, text: str) -> int:
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=self._key).digest()
        return int.from_bytes(digest, signed=True)


class WarcIndex:
    """The index of a WARC file, which read() makes: offsets by URL.

    `failures` are metadata records with an error, beside or instead of a response. `payloads` has the offsets of
    responses by WARC-Payload-Digest.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.damage: str | None = None
        self.responses, self.failures, self.payloads = OffsetTable(), OffsetTable(), OffsetTable()
        self._found = _SeedFinder()
        self._recorded_seeds: dict[str, None] = {}
        self._latest = ""
        # Request and response are written one after the other, in any order.
        self._last_response: tuple[set[str], str, int | None] = (set(), "", None)  # ids, URL, previous offset
        self._last_not_get: set[str] = set()  # ids of a request, and of its response

    def read(self) -> None:
        """Adds the records of the file. UsageError where it is no WARC, or cannot be read."""
        path = self._path
        try:
            if path.exists() and not path.is_file():  # a pipe would be waited for
                raise UsageError(f"{path} is no file, and a WARC is read from a file only")
            with path.open("rb") as file:
                self._add_records(file)
        except FileNotFoundError:
            raise UsageError(f"there is no file {path}") from None
        except OSError as exc:
            raise UsageError(f"{path} cannot be read: {exc.strerror or exc}") from exc
        except DamagedRecord as exc:
            if exc.offset == 0:
                remedy = f"if it is an ARC, or a WARC in one gzip member, {RECOMPRESS.format(path=path)} converts it"
                raise UsageError(f"{path} is no WARC that can be read ({exc.why})", remedy=remedy) from exc
            self.damage = f"{path} is damaged at {exc}: what follows is lost"

    def seeds(self) -> tuple[Seed, ...]:
        """Returns the recorded seeds, and what was found otherwise; UsageError for an invalid one."""
        try:
            return (*map(parse_target, self._recorded_seeds), *self._found.seeds())
        except UsageError as exc:
            raise UsageError(f"{self._path}: {SEEDS_FIELD}: {exc}") from exc

    def recorded(self) -> datetime | None:
        try:
            return datetime.fromisoformat(self._latest).replace(tzinfo=UTC)
        except ValueError:
            return None

    def _add_records(self, file: BinaryIO) -> None:
        size = os.fstat(file.fileno()).st_size
        offset = 0
        while offset < size or not size:
            record = WarcRecord(file, offset)
            window_bytes, add = _HANDLERS.get(record.type, (0, None))
            window = record.block.read(window_bytes)
            offset = record.end()
            if add is not None:  # here: only complete records are added
                add(self, record, window)

    def _add_response(self, record: WarcRecord, window: bytes) -> None:
        source = BytesIO(window)
        head = Head(200, {}) if record.type == "resource" else http_head(source) or Head(0, {})
        url = self._put(record, is_not_modified=head.status == 304)
        if url and not self._recorded_seeds:
            self._found.add(url, head, source)
        if digest := record.headers.get("warc-payload-digest"):
            self.payloads.put(digest, record.offset)

    def _add_revisit(self, record: WarcRecord, window: bytes) -> None:
        self._put(record, is_not_modified="not-modified" in record.headers.get("warc-profile", ""))

    def _add_request(self, record: WarcRecord, window: bytes) -> None:
        """Drops the response to a method other than GET."""
        if window and not window.startswith((b"GET ", b"GET\t")):
            self._last_not_get = record.ids
            ids, url, before = self._last_response
            if ids & self._last_not_get:
                self.responses.put(url, before)

    def _add_metadata(self, record: WarcRecord, window: bytes) -> None:
        url = url_key(record.url)
        if url is not None and ERROR_FIELD in parse_warc_fields(window):
            self.failures.put(url, record.offset)
            self._latest = max(self._latest, record.time)

    def _add_warcinfo(self, record: WarcRecord, window: bytes) -> None:
        with suppress(ValueError):
            seeds = orjson.loads(parse_warc_fields(window).get(SEEDS_FIELD, "[]"))
            if isinstance(seeds, list):
                self._recorded_seeds |= dict.fromkeys(seed for seed in seeds if isinstance(seed, str))

    def _put(self, record: WarcRecord, *, is_not_modified: bool) -> str | None:
        """Puts a response in the index, and returns its URL; None where it does not replace an earlier one."""
        url = url_key(record.url)
        before = self.responses.get(url) if url else None
        if url is None or record.ids & self._last_not_get or (is_not_modified and before is not None):
            return None
        self.responses.put(url, record.offset)
        self._last_response = record.ids, url, before
        self._latest = max(self._latest, record.time)
        return url


# Type of record -> how many bytes of its block are read, and what takes them.
_HANDLERS: dict[str, tuple[int, Callable[[WarcIndex, WarcRecord, bytes], None]]] = {
    "response": (WINDOW_BYTES, WarcIndex._add_response),
    "resource": (WINDOW_BYTES, WarcIndex._add_response),
    "revisit": (0, WarcIndex._add_revisit),
    "request": (4, WarcIndex._add_request),
    "metadata": (WINDOW_BYTES, WarcIndex._add_metadata),
    "warcinfo": (16 * 1024 * 1024, WarcIndex._add_warcinfo),
}


# --- seeds of files that do not state them ----------------------------------------------------------------------

_PATHS = frozenset({"/robots.txt", *WELL_KNOWN})
# Possessive (*+): a document that is no sitemap, with many comments, would otherwise take exponential time.
_SITEMAP = re.compile(
    rb"""(?:\xef\xbb\xbf)? \s*
    (?: <\?.*?\?> \s* | <!--.*?--> \s* | <!DOCTYPE [^\[>]* > \s* | (?!) )*+
    < (?: [\w.-]+: )? (?: urlset | sitemapindex ) [\s/>]""",
    re.VERBOSE | re.DOTALL,
)


class _SeedFinder:
    """Finds seeds: add() takes each response of a file, seeds() returns what to start from.

    A host whose robots.txt or well-known path leads to a sitemap is a site; of other hosts each sitemap is a document.
    """

    def __init__(self) -> None:
        self._tried: dict[str, str] = {}  # host -> its origin, https before http
        self._leads: dict[str, str] = {}  # the same for origins that lead to a sitemap
        self._documents: dict[str, set[str]] = {}  # host -> URLs of its sitemaps

    def add(self, url: str, head: Head, body: BytesIO) -> None:
        """Takes a response with a normalised URL, and the beginning of its body."""
        site = origin(url)
        host = site.partition("://")[2]
        path = url[len(site) :]
        if path in _PATHS:
            self._tried[host] = max(site, self._tried.get(host, ""))
            if _leads_to_sitemap(path, head, body):
                self._leads[host] = max(site, self._leads.get(host, ""))
        elif host not in self._leads and is_success(head.status) and _SITEMAP.match(_document_start(body, head)):
            self._documents.setdefault(host, set()).add(url)

    def seeds(self) -> tuple[Seed, ...]:
        """Returns the seeds, sorted by host, documents also by URL: the order in the file is arbitrary."""
        hosts = sorted(self._tried.keys() | self._documents)
        return tuple(seed for host in hosts for seed in self._seeds_of(host))

    def _seeds_of(self, host: str) -> list[Seed]:
        if host in self._documents and host not in self._leads:
            return [Seed(url, (origin(url),), document=url) for url in sorted(self._documents[host])]
        site = self._leads.get(host) or self._tried[host]
        return [Seed(f"{site}/", (site,))]


def _leads_to_sitemap(path: str, head: Head, body: BytesIO) -> bool:
    if not is_success(head.status):
        return 300 <= head.status <= 399
    document = _document_start(body, head)
    if path == "/robots.txt":
        return b"sitemap" in document.lower() or body.getbuffer().nbytes >= WINDOW_BYTES
    verdict = sniff(document, final=True)
    return verdict is not None and verdict.kind in ("xml", "text")


def _document_start(body: BytesIO, head: Head) -> bytes:
    """Returns the first WINDOW_BYTES of a document, decompressed; fewer where the body breaks off."""
    limits = Limits(max_decoded_bytes=WINDOW_BYTES)
    decompressor = Decompressor(limits, head.headers.get("content-encoding", ""), [])
    document = bytearray()
    with suppress(FetchError):
        for chunk in body_chunks(body, head):
            document += b"".join(decompressor.feed(chunk))
    return bytes(document + b"".join(decompressor.close()))


# --- records --------------------------------------------------------------------------------------------------------

# Of a record, and of an HTTP response. warcio takes 0.1 s for so many short lines.
MAX_HEAD_BYTES = 64 * 1024
# Read from the file at once; small, as zlib copies what follows the end of a gzip member (`unused_data`).
_PIECE_BYTES = 16 * 1024
_NUMBER = re.compile(r"[0-9]{1,18}")
_STATUS = re.compile(r"[0-9.]+[ \t]+([0-9]{1,3})(?![0-9])")  # behind HTTP/
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?\r?\n")
_MAX_CHUNK_LINE_BYTES = 1_024


class DamagedRecord(Exception):
    """The bytes at `offset` are not a complete record; the message states where and why."""

    def __init__(self, offset: int, why: str) -> None:
        super().__init__(f"byte {offset:,} ({why})")
        self.offset, self.why = offset, why


class WarcRecord:
    """One record: its `headers` (lower-case names), and its `block`, which is read once, from the start.

    Only one record of a file can be read at a time. DamagedRecord where there is none. `has_crc`: it is a gzip member,
    which is checked once it was read to its end.
    """

    def __init__(self, file: BinaryIO, offset: int) -> None:
        from warcio.limitreader import LimitReader

        self.offset = offset
        self._file = file
        file.seek(offset)
        self.has_crc = file.read(2) == MAGIC["gzip"]
        file.seek(offset)
        self._member = _GzipMember(file, offset) if self.has_crc else None
        self._source: BinaryIO = BufferedReader(self._member, _PIECE_BYTES) if self._member else file
        head = _read_head(self._source, "WARC/")
        if head is None:
            raise DamagedRecord(offset, "no head of a record begins there, or it does not end")
        self.headers: dict[str, str] = {name.lower(): value for name, value in reversed(head.headers)}
        if not _NUMBER.fullmatch(self.headers.get("content-length", "")):
            raise DamagedRecord(offset, "its record has no Content-Length")
        self.block: Any = LimitReader(self._source, int(self.headers["content-length"]))
        self.type, self.id = self.headers.get("warc-type", ""), self.headers.get("warc-record-id", "")
        self.ids = {self.id, self.headers.get("warc-concurrent-to", "")} - {""}
        self.url = self.headers.get("warc-target-uri", "").removeprefix("<").removesuffix(">")  # wget has them
        self.time = self.headers.get("warc-date", "")[:19]  # to the second

    def end(self) -> int:
        """Skips the rest of the block, and returns the offset of the next record."""
        if self._member is not None:
            while self.block.read(CHUNK_BYTES):
                pass
            if self.block.limit:
                raise DamagedRecord(self.offset, "its record is cut off")
            while rest := self._source.read(CHUNK_BYTES):
                if rest.strip(b"\r\n"):
                    raise DamagedRecord(self.offset, "its gzip member holds more than the record")
            return self._member.end()
        end: int = self._file.tell() + self.block.limit
        if end >= os.fstat(self._file.fileno()).st_size:
            raise DamagedRecord(self.offset, "its record is cut off")
        self._file.seek(end)
        behind = self._file.read(4)
        line_ends = len(behind) - len(behind.lstrip(b"\r\n"))
        if line_ends < 2:
            raise DamagedRecord(self.offset, "its record does not end where it says")
        return end + line_ends

    def http_head(self) -> Head | None:
        """Reads the head of the response; a resource is a document without one. None where there is none."""
        if self.type != "resource":
            return http_head(self.block)
        kind = self.headers.get("content-type")
        return Head(200, {"content-type": kind} if kind else {})

    def matches_digest(self) -> bool:
        """Reads the block, and returns whether it matches its digest; True without one in base 32 or 16."""
        written = self.headers.get("warc-block-digest")
        if written is None and self.type != "revisit":  # whose payload is in another record
            self.http_head()
            written = self.headers.get("warc-payload-digest")
        label, _, written = (written or "").partition(":")
        name, written = label.lower().replace("-", ""), written.strip().lower()
        if name not in hashlib.algorithms_guaranteed or name.startswith("shake"):
            return True
        state = hashlib.new(name, usedforsecurity=False)
        while chunk := self.block.read(CHUNK_BYTES):
            state.update(chunk)
        forms = (state.hexdigest(), base64.b32encode(state.digest()).decode().lower())
        return written in forms or len(written) not in map(len, forms)


class _GzipMember(RawIOBase):
    """The decompressed bytes of one gzip member of a file."""

    def __init__(self, file: BinaryIO, offset: int) -> None:
        self._file = file
        self._offset = offset
        self._stream = zlib.decompressobj(wbits=31)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # BufferedReader passes one
        data = b""
        while not (data or self._stream.eof):
            compressed = self._stream.unconsumed_tail or self._file.read(_PIECE_BYTES)
            if not compressed:
                raise DamagedRecord(self._offset, "its gzip member is cut off")
            try:
                data = self._stream.decompress(compressed, len(buffer))
            except zlib.error as exc:
                raise DamagedRecord(self._offset, f"its gzip member is broken ({exc})") from exc
        buffer[: len(data)] = data
        return len(data)

    def end(self) -> int:
        """Returns the offset behind the member, which was read."""
        return self._file.tell() - len(self._stream.unused_data)


@attrs.define
class _HeadLines:
    """The lines of a head for warcio's parser, which would take any number of any length."""

    _source: BinaryIO
    left: int = MAX_HEAD_BYTES

    def readline(self) -> bytes:
        line = self._source.readline(self.left)
        self.left -= len(line)
        return line


def _read_head(source: BinaryIO, protocol: str) -> Any:
    """Reads a head that begins with `protocol`: a StatusAndHeaders of warcio, or None if it is none, or too long."""
    from warcio.statusandheaders import StatusAndHeadersParser, StatusAndHeadersParserException

    lines = _HeadLines(source)
    try:
        head = StatusAndHeadersParser([protocol]).parse(lines)
    except (EOFError, StatusAndHeadersParserException):
        return None
    return head if head.protocol and lines.left else None


def parse_warc_fields(block: bytes) -> dict[str, str]:
    """Returns the fields of an application/warc-fields block, with lower-case names."""
    from warcio.statusandheaders import StatusAndHeadersParser

    head = StatusAndHeadersParser([], verify=False).parse(BytesIO(block), "fields")
    return {name.lower(): value for name, value in head.headers}


def http_head(source: BinaryIO) -> Head | None:
    head = _read_head(source, "HTTP/")
    status = head and _STATUS.match(head.statusline)
    return Head(int(status[1]), response_headers(head.headers)) if status else None


def body_chunks(source: BinaryIO, head: Head) -> Iterator[bytes]:
    """Yields the chunks of a body whose head was read, without Transfer-Encoding; FetchError where it breaks off."""
    is_chunked = "chunked" in head.headers.get("transfer-encoding", "").lower()
    line = source.readline(_MAX_CHUNK_LINE_BYTES) if is_chunked else b""
    if _CHUNK_SIZE.fullmatch(line):
        yield from _dechunked(source, line)
        return
    if line:  # the body was stored without its chunks
        yield line
    while chunk := source.read(CHUNK_BYTES):
        yield chunk


def _dechunked(source: BinaryIO, line: bytes) -> Iterator[bytes]:
    received = 0
    while (match := _CHUNK_SIZE.fullmatch(line)) and (left := int(match[1], 16)):
        while left and (chunk := source.read(min(left, CHUNK_BYTES))):
            left -= len(chunk)
            received += len(chunk)
            yield chunk
        source.readline(2)
        line = source.readline(_MAX_CHUNK_LINE_BYTES)
    if match is None:
        raise FetchError(f"its chunks break off after {received:,} bytes in the archive", transient=False)


_SPEC = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_VERSION = "WARC/1.1"
# Headers about the body as it was transferred: what is written has no Transfer-Encoding, and may be truncated.
_OMITTED = frozenset({"transfer-encoding", "content-length"})
_BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
_IN_MEMORY_BYTES = 1 << 20
# Records of up to so many bytes are written by one call.
_AT_ONCE_BYTES = 16 * 1024 * 1024


@attrs.define(eq=False, repr=False)
class WarcRecorder(RecordingFetcher):
    """Appends to a WARC file; the seeds go to a warcinfo record.

    UsageError when created, for a file that is no WARC, or ends in half a record. After an OSError it is as it was
    before that response.
    """

    _is_gzipped: bool = attrs.field(init=False)
    _has_begun: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._is_gzipped = self._path.name.lower().endswith(".gz")
        check_warcio("to record to a WARC")
        check_tail(self._path, is_gzipped=self._is_gzipped)

    def write_start(self, seeds: Sequence[str]) -> None:
        if self._has_begun:
            return
        fields = {
            "software": f"sitemap-reader/{__version__}",
            "format": "WARC File Format 1.1",
            "conformsTo": _SPEC,
            SEEDS_FIELD: orjson.dumps(seeds).decode(),
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._appended_record() as out:
            self._write(out, "warcinfo", BytesIO(_warc_fields(fields)), {})
        self._has_begun = True

    def open_body_file(self) -> BinaryIO:
        """Opens a file without a name beside the archive: it is deleted even if the process is killed."""
        import tempfile  # here: few crawls are recorded

        folder = str(self._path.parent)
        file = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES, dir=folder)  # noqa: SIM115 - write_response() closes it
        return cast("BinaryIO", file)

    def write_response(self, url: str, body: RecordedBody) -> None:
        """Appends a response record and, after an error, a metadata record."""
        headers = _url_header(url)
        truncated = {} if body.is_complete else {"WARC-Truncated": "disconnect" if body.broken_by else "unspecified"}
        payload = body.file or BytesIO()
        try:
            with self._appended_record() as out:
                record_id = self._write(out, "response", payload, {**headers, **truncated}, body.response)
                if body.error is not None:
                    self._write_error(out, body.error, {**headers, "WARC-Concurrent-To": record_id})
        finally:
            payload.close()

    def write_failure(self, url: str, error: FetchError) -> None:
        """Appends a metadata record with the error."""
        with self._appended_record() as out:
            self._write_error(out, error, _url_header(url))

    def _write_error(self, out: BinaryIO, error: FetchError, headers: Mapping[str, str]) -> None:
        self._write(out, "metadata", BytesIO(_warc_fields(error_fields(error))), headers)

    @contextmanager
    def _appended_record(self) -> Iterator[BinaryIO]:
        """Opens a temporary file, and appends its content to the archive as a whole."""
        with self.open_body_file() as record_file:
            yield record_file
            record_file.seek(0)
            append(self._path, record_file)

    def _write(
        self, out: BinaryIO, kind: str, payload: BinaryIO, headers: Mapping[str, str], response: Response | None = None
    ) -> str:
        """Writes one record of the whole `payload`, behind the head of a response; returns its id."""
        from warcio.warcwriter import WARCWriter

        length = payload.seek(0, 2)
        payload.seek(0)
        written = self._clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        writer = WARCWriter(out, gzip=self._is_gzipped, warc_version=_VERSION)
        record = writer.create_warc_record(
            headers.get("WARC-Target-URI", ""),
            kind,
            payload=payload,
            length=length,
            warc_headers_dict={"WARC-Date": written, **headers},
            http_headers=response and _head(response, length),
        )
        writer.write_record(record)
        return str(record.rec_headers.get_header("WARC-Record-ID"))


def _url_header(url: str) -> dict[str, str]:
    return {"WARC-Target-URI": url_key(url) or url}


def _head(response: Response, length: int) -> Any:
    from warcio.statusandheaders import StatusAndHeaders

    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = ""
    pairs = [(name, value) for name, value in response.headers.items() if name not in _OMITTED]
    if response.status not in _BODILESS:
        pairs.append(("content-length", str(length)))
    usable = [(name, _header_value(value)) for name, value in pairs if HEADER_NAME.fullmatch(name)]
    head = StatusAndHeaders(f"{response.status} {phrase}", usable, protocol="HTTP/1.1")
    head.headers_buff = head.to_bytes()
    head.compute_headers_buffer = lambda _: None  # it would percent-encode characters that are not ASCII
    return head


def _warc_fields(fields: Mapping[str, str]) -> bytes:
    return "".join(f"{name}: {_header_value(value)}\r\n" for name, value in fields.items()).encode()


def _header_value(value: str) -> str:
    """Returns a value in one line, without lone surrogates."""
    return one_line(value).encode("utf-8", "replace").decode()


def check_tail(path: Path, *, is_gzipped: bool) -> None:
    """Raises UsageError for a file that is no WARC, ends in half a record, or is not compressed as its name states."""
    with suppress(FileNotFoundError, NotADirectoryError), path.open("rb") as file, _locked(file.fileno()):
        size = os.fstat(file.fileno()).st_size
        if size and (file.read(2) == MAGIC["gzip"]) != is_gzipped:
            raise UsageError(f"{path} {'is not' if is_gzipped else 'is'} gzipped: name another file to record to")
        end = _end_of_records(file, MAGIC["gzip"] + b"\x08" if is_gzipped else b"WARC/") if size else 0
        if end is None:
            raise UsageError(f"{path} is no WARC: name another file to record to")
        if end != size:
            raise UsageError(
                f"{path} ends in half a record: what is recorded behind it could not be read",
                remedy=f"cut it off (truncate -s {end} {path}), or name another file to record to",
            )


def _end_of_records(file: BinaryIO, mark: bytes) -> int | None:
    """Returns where the last record ends, or begins if it is incomplete; None where there is no record."""
    with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        offset = len(data)
        while (offset := data.rfind(mark, 0, offset)) >= 0:
            with suppress(DamagedRecord):  # those bytes are part of a body
                record = WarcRecord(file, offset)
                try:
                    return record.end()
                except DamagedRecord:
                    return offset
    return None


def append(path: Path, record_file: BinaryIO) -> None:
    """Appends the content of `record_file`, all of it or nothing, while the archive is locked."""
    try:
        with path.open("ab", buffering=0) as archive, _locked(archive.fileno()):
            before = os.fstat(archive.fileno()).st_size
            try:
                while chunk := record_file.read(_AT_ONCE_BYTES):
                    while chunk:
                        chunk = chunk[os.write(archive.fileno(), chunk) :]
            except BaseException:
                archive.truncate(before)
                raise
    except OSError as exc:
        raise OSError(exc.errno, exc.strerror or str(exc), str(path)) from exc


@contextmanager
def _locked(descriptor: int) -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
