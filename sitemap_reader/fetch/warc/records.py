"""Reads records of a WARC file (ISO 28500), plain or gzipped, and the HTTP responses in them.

A file and an offset go in, the record at that offset comes out; end() returns the offset of the next one. Blocks and
bodies are read in pieces, never as a whole. DamagedRecord is raised where the bytes are not a record. warcio, which
writes the files of --record, can read too, but ends silently, or with a line on stderr, at a truncated record.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import zlib
from typing import TYPE_CHECKING, BinaryIO, Protocol

import attrs

from ...model.errors import FetchError, install_hint
from ...model.limits import CHUNK_BYTES
from ...serialize.byte_streams import zstd_module
from ..client import header_text, response_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


GZIP_MAGIC = b"\x1f\x8b"
MAX_HEAD_BYTES = 256 * 1024  # of a record, and of an HTTP response
# Read from the file at once; small, as zlib copies what follows the end of a gzip member (`unused_data`).
_PIECE_BYTES = 16 * 1024
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_VERSION = re.compile(rb"WARC/[0-9]+\.[0-9]+[ \t]*\r?\n")
_NUMBER = re.compile(r"[0-9]{1,18}")


class DamagedRecord(Exception):
    """The bytes at `offset` are not a complete record; the message states why."""

    def __init__(self, offset: int, why: str) -> None:
        super().__init__(why)
        self.offset = offset


class MultiRecordMember(DamagedRecord):
    """One gzip member holds several records: those behind the first have no offset in the file."""


class PeekableReader:
    """A reader with lookahead; `read_more()` returns the next bytes, b"" at the end."""

    def __init__(self, read_more: Callable[[], bytes]) -> None:
        self._read_more = read_more
        self._buffer = b""

    @property
    def buffered(self) -> int:
        """How many bytes the buffer holds."""
        return len(self._buffer)

    def lookahead(self, size: int) -> bytes:
        """Returns the next `size` bytes, fewer at the end, without consuming them."""
        while len(self._buffer) < size and (piece := self._read_more()):
            self._buffer += piece
        return self._buffer[:size]

    def read(self, size: int = CHUNK_BYTES) -> bytes:
        """Returns 1 to `size` bytes; b"" at the end."""
        buffered = self._buffer or self._read_more()
        self._buffer = buffered[size:]
        return buffered[:size]

    def read_line(self, max_bytes: int) -> bytes:
        """Returns the bytes up to the next line end, or `max_bytes` of them."""
        seen = 0
        while (end := self._buffer.find(b"\n", seen)) < 0 and len(self._buffer) < max_bytes:
            seen = len(self._buffer)
            if not (piece := self._read_more()):
                break
            self._buffer += piece
        size = min(max_bytes, end + 1 if end >= 0 else max_bytes)
        line, self._buffer = self._buffer[:size], self._buffer[size:]
        return line

    def read_head(self) -> bytes | None:
        """Returns the bytes up to a blank line, which is consumed too; None if there is none in MAX_HEAD_BYTES."""
        length = self.head_length()
        head, self._buffer = self._buffer[:length], self._buffer[length:]
        return head.rstrip(b"\r\n") if length else None

    def head_length(self) -> int:
        """Returns the length of the head with its blank line; 0 where there is none."""
        seen = 0
        while not (match := _BLANK_LINE.search(self._buffer, max(0, seen - 3))):
            seen = len(self._buffer)
            if seen > MAX_HEAD_BYTES or not (piece := self._read_more()):
                return 0
            self._buffer += piece
        return match.end()


class _RecordBytes(Protocol):
    """The bytes of a file from a record's offset on: _PlainFile or _GzipMember."""

    def read(self) -> bytes: ...

    def skip(self, size: int) -> int: ...

    def end(self, source: PeekableReader) -> int: ...


class WarcRecord:
    """One record: its `headers` (lower-case names), and its `block` of `length` bytes.

    Raises DamagedRecord where there is no record, and while the block is read, where it breaks off.
    """

    def __init__(self, file: BinaryIO, offset: int) -> None:
        self.offset = offset
        file.seek(offset)
        first = file.read(_PIECE_BYTES)
        self.has_crc = first[:2] == GZIP_MAGIC  # checked once the gzip member was read to its end
        self._bytes: _RecordBytes = (_GzipMember if self.has_crc else _PlainFile)(file, offset, first)
        self._source = PeekableReader(self._bytes.read)
        self.headers = self._headers()
        self.length = self._length()
        self._block = _BlockReader(self._source, self.length, offset)
        self.block = PeekableReader(self._block.read)

    @property
    def type(self) -> str:
        return self.headers["warc-type"]

    @property
    def id(self) -> str:
        return self.headers.get("warc-record-id", "")

    @property
    def url(self) -> str:
        """WARC-Target-URI, without the angle brackets of some writers."""
        return without_brackets(self.headers.get("warc-target-uri", ""))

    def end(self) -> int:
        """Skips the rest of the block, and returns the offset of the next record."""
        block = self._block
        while block.read():
            block.remaining -= self._bytes.skip(block.remaining)
        return self._bytes.end(self._source)

    def _headers(self) -> dict[str, str]:
        if not _VERSION.match(self._source.lookahead(16)):
            raise DamagedRecord(self.offset, "no record begins there")
        head = self._source.read_head()
        if head is None:
            raise DamagedRecord(self.offset, "the head of its record does not end")
        headers = {name.lower(): value for name, value in reversed(header_pairs(head))}
        if "warc-type" not in headers:
            raise DamagedRecord(self.offset, "its record has no WARC-Type")
        return headers

    def _length(self) -> int:
        length = self.headers.get("content-length", "")
        if not _NUMBER.fullmatch(length):
            raise DamagedRecord(self.offset, "its record has no Content-Length")
        return int(length)


class _BlockReader:
    """Reads the rest of a block. It does not refer to its record: a cycle would keep both until garbage collection."""

    def __init__(self, source: PeekableReader, remaining: int, offset: int) -> None:
        self.remaining = remaining
        self._source = source
        self._offset = offset

    def read(self) -> bytes:
        """Returns the next bytes; b"" at the end."""
        if not self.remaining:
            return b""
        piece = self._source.read(min(self.remaining, CHUNK_BYTES))
        if not piece:
            raise DamagedRecord(self._offset, "its record is cut off")
        self.remaining -= len(piece)
        return piece


class _PlainFile:
    """Reads an uncompressed file from an offset on."""

    def __init__(self, file: BinaryIO, offset: int, first: bytes) -> None:
        self._file = file
        self._offset = offset
        self._first = first

    def read(self) -> bytes:
        first, self._first = self._first, b""
        return first or self._file.read(_PIECE_BYTES)

    def skip(self, size: int) -> int:
        """Seeks up to `size` bytes forward, and returns how many those were; 0 where reading is as fast."""
        if size < _PIECE_BYTES:
            return 0
        here = self._file.tell()
        end = os.fstat(self._file.fileno()).st_size
        return self._file.seek(min(here + size, end)) - here

    def end(self, source: PeekableReader) -> int:
        """Returns the offset behind the two line ends that follow each record."""
        behind = source.lookahead(4)
        blank = len(behind) - len(behind.lstrip(b"\r\n"))
        if blank < 2:
            raise DamagedRecord(
                self._offset, "its record does not end where it says" if behind else "its record is cut off"
            )
        return self._file.tell() - source.buffered + blank


class _GzipMember:
    """Reads and decompresses one gzip member of a file."""

    def __init__(self, file: BinaryIO, offset: int, first: bytes) -> None:
        self._file = file
        self._offset = offset
        self._compressed = first
        self._decompressor = zlib.decompressobj(wbits=31)

    def read(self) -> bytes:
        decompressor = self._decompressor
        while not decompressor.eof:
            compressed = self._compressed or self._file.read(_PIECE_BYTES)
            if not compressed:
                raise DamagedRecord(self._offset, "its gzip member is cut off")
            try:
                data = decompressor.decompress(compressed, CHUNK_BYTES)
            except zlib.error as exc:
                raise DamagedRecord(self._offset, f"its gzip member is broken ({exc})") from exc
            self._compressed = decompressor.unconsumed_tail
            if data:
                return data
        return b""

    def skip(self, size: int) -> int:
        return 0

    def end(self, source: PeekableReader) -> int:
        """Returns the offset behind the member; what is left of it must be line ends."""
        while remaining := source.read():
            remaining = remaining.lstrip(b"\r\n")
            if remaining:
                kind = MultiRecordMember if remaining.startswith(b"WARC/"[: len(remaining)]) else DamagedRecord
                raise kind(self._offset, "its record does not end where it says")
        return self._file.tell() - len(self._decompressor.unused_data)


def header_pairs(head: bytes) -> list[tuple[str, str]]:
    """Returns names and values of the lines after the first; continuation lines are joined, invalid ones left out."""
    pairs: list[tuple[str, str]] = []
    for line in header_text(head).split("\n")[1:]:
        if line[:1] in (" ", "\t") and pairs:
            name, value = pairs.pop()
            pairs.append((name, f"{value} {line.strip()}"))
            continue
        name, colon, value = line.partition(":")
        if colon and name.strip():
            pairs.append((name.strip(), value.strip()))
    return pairs


def without_brackets(url: str) -> str:
    return url[1:-1] if url.startswith("<") and url.endswith(">") else url


# --- digests ----------------------------------------------------------------------------------------------------

_HASHES = {"sha1": 20, "sha-1": 20, "sha256": 32, "sha-256": 32, "sha512": 64, "sha-512": 64, "md5": 16}


class Digest:
    """The value of a digest header such as WARC-Block-Digest, and a hash of data to compare with it."""

    def __init__(self, name: str, value: bytes) -> None:
        self.value = value
        self._hash = hashlib.new(name, usedforsecurity=False)

    @classmethod
    def parse(cls, text: str) -> Digest | None:
        """Parses `sha1:` and base 32, as most writers have it, or base 16; None for an unknown algorithm or form."""
        label, _, written = text.partition(":")
        size = _HASHES.get(label.lower())
        value = _decoded(written.strip(), size) if size else None
        return None if value is None else cls(label.lower().replace("-", ""), value)

    def update(self, data: bytes) -> None:
        self._hash.update(data)

    @property
    def matches(self) -> bool:
        return self._hash.digest() == self.value


def _decoded(written: str, size: int) -> bytes | None:
    try:
        if len(written) == size * 2:
            return bytes.fromhex(written)
        value = base64.b32decode(written.upper())
    except ValueError:  # binascii.Error is one
        return None
    return value if len(value) == size else None


# --- HTTP responses ---------------------------------------------------------------------------------------------

_STATUS = re.compile(rb"HTTP/[0-9.]+[ \t]+([0-9]{1,3})(?![0-9])")
_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?\r?\n")
_MAX_LINE_BYTES = 1_024
_INSTALL_HINT = f"{install_hint('warc')} can unpack it"


@attrs.frozen
class HttpHead:
    """Status and headers of a response, as Response has them."""

    status: int
    headers: dict[str, str]


def status_of(window: bytes) -> int | None:
    """Returns the status in the first line of an HTTP response, or None."""
    match = _STATUS.match(window)
    return int(match[1]) if match else None


def http_head(record: WarcRecord) -> HttpHead | None:
    """Reads the head of the response in a block; None where the block has none."""
    if record.type == "resource":  # a document without HTTP headers
        kind = record.headers.get("content-type")
        return HttpHead(200, {"content-type": kind} if kind else {})
    status = status_of(record.block.lookahead(32))
    if status is None:
        return None
    head = record.block.read_head()
    if head is None and record.block.buffered > MAX_HEAD_BYTES:
        return None
    if head is None:  # no body, and no blank line either
        head = record.block.read(MAX_HEAD_BYTES)
    return HttpHead(status, response_headers(header_pairs(head)))


def body_chunks(
    block: PeekableReader, headers: Mapping[str, str], *, decompress: bool, archive: str
) -> Iterator[bytes]:
    """Yields the chunks of a body whose head was read, without Transfer-Encoding.

    With `decompress`, deflate, br and zstd are undone too. Raises FetchError, with the name of the `archive`, where
    the body breaks off.
    """
    chunks = _identity(block)
    if "chunked" in headers.get("transfer-encoding", "").lower():
        chunks = _dechunked(block, archive)
    for coding in content_codings(headers) if decompress else ():
        chunks = _decompressed_chunks(chunks, coding, archive)
    return chunks


def content_codings(headers: Mapping[str, str]) -> list[str]:
    """Returns the Content-Encodings to undo, in that order: all but a gzip that was applied first.

    >>> content_codings({"content-encoding": "gzip"}), content_codings({"content-encoding": "br, gzip"})
    ([], ['gzip', 'br'])
    """
    named = [coding.strip().lower() for coding in headers.get("content-encoding", "").split(",")]
    known = [coding.removeprefix("x-") for coding in named if coding.removeprefix("x-") in _DECOMPRESSORS]
    while known and known[0] == "gzip":
        known = known[1:]
    return known[::-1]


def document_start(window: bytes, size: int) -> bytes:
    """Returns up to `size` decompressed bytes of the document in a response that begins with `window`."""
    pieces = iter((window,))
    block = PeekableReader(lambda: next(pieces, b""))
    head = block.read_head()
    headers = response_headers(header_pairs(head)) if head else {}
    document = b""
    try:
        for chunk in body_chunks(block, headers, decompress=True, archive=""):
            document += chunk
            if len(document) >= max(len(window), size):
                break
    except FetchError:
        pass  # the window ends, or a decompressor is not installed
    if document[:2] == GZIP_MAGIC:
        try:
            document = zlib.decompressobj(wbits=31).decompress(document, size)
        except zlib.error:
            return b""
    return document[:size]


def _identity(block: PeekableReader) -> Iterator[bytes]:
    while chunk := block.read():
        yield chunk


def _dechunked(block: PeekableReader, archive: str) -> Iterator[bytes]:
    """Undoes Transfer-Encoding: chunked; a body that does not begin with a chunk was stored without it."""
    line = block.read_line(_MAX_LINE_BYTES)
    if not _SIZE.fullmatch(line):
        if line:
            yield line
        yield from _identity(block)
        return
    received = 0
    while size := _chunk_size(line, archive, received):
        while size:
            piece = block.read(min(size, CHUNK_BYTES))
            if not piece:
                raise _broken_off(archive, received)
            size -= len(piece)
            received += len(piece)
            yield piece
        block.read_line(2)
        line = block.read_line(_MAX_LINE_BYTES)


def _chunk_size(line: bytes, archive: str, received: int) -> int:
    match = _SIZE.fullmatch(line)
    if match is None:
        raise _broken_off(archive, received)
    return int(match[1], 16)


def _broken_off(archive: str, received: int) -> FetchError:
    return FetchError(f"{archive}: its chunks break off after {received:,} bytes", transient=False)


# --- decompression -----------------------------------------------------------------------------------


class _Decompressor(Protocol):
    """decompress() returns some of the output; decompress(b"") continues. `at_end`: the compressed stream has ended."""

    errors: tuple[type[Exception], ...]

    @property
    def at_end(self) -> bool: ...

    def decompress(self, data: bytes) -> bytes: ...


class _Zlib:
    errors: tuple[type[Exception], ...] = (zlib.error,)

    def __init__(self, wbits: int) -> None:
        self._zlib = zlib.decompressobj(wbits)
        self._tried_raw = wbits != zlib.MAX_WBITS

    @property
    def at_end(self) -> bool:
        return self._zlib.eof

    def decompress(self, data: bytes) -> bytes:
        try:
            decompressed = self._zlib.decompress(self._zlib.unconsumed_tail + data, CHUNK_BYTES)
        except zlib.error:
            if self._tried_raw:
                raise
            # RFC 9110 8.4.1.2: some servers send deflate without the zlib format around it.
            self._zlib, decompressed = zlib.decompressobj(-zlib.MAX_WBITS), b""
            decompressed = self._zlib.decompress(data, CHUNK_BYTES)
        self._tried_raw = True
        return decompressed


class _Brotli:
    def __init__(self) -> None:
        import brotli

        self.errors: tuple[type[Exception], ...] = (brotli.error,)
        self._brotli = brotli.Decompressor()
        self._pending = b""

    @property
    def at_end(self) -> bool:
        return bool(self._brotli.is_finished())

    def decompress(self, data: bytes) -> bytes:
        self._pending += data
        consumed = b""
        if self._brotli.can_accept_more_data():
            consumed, self._pending = self._pending, b""
        decompressed: bytes = self._brotli.process(consumed, output_buffer_limit=CHUNK_BYTES)
        return decompressed


class _Zstd:
    def __init__(self) -> None:
        zstd = zstd_module()
        self.errors: tuple[type[Exception], ...] = (zstd.ZstdError,)
        self._zstd = zstd.ZstdDecompressor()

    @property
    def at_end(self) -> bool:
        return bool(self._zstd.eof)

    def decompress(self, data: bytes) -> bytes:
        if self._zstd.eof:
            return b""
        decompressed: bytes = self._zstd.decompress(data, CHUNK_BYTES)
        return decompressed


_DECOMPRESSORS: dict[str, Callable[[], _Decompressor]] = {
    "gzip": lambda: _Zlib(zlib.MAX_WBITS + 16),
    "deflate": lambda: _Zlib(zlib.MAX_WBITS),
    "br": _Brotli,
    "zstd": _Zstd,
}


def _decompressed_chunks(chunks: Iterator[bytes], coding: str, archive: str) -> Iterator[bytes]:
    """Yields the chunks decompressed; a body that does not begin as `coding` does was stored without it."""
    try:
        decompressor = _DECOMPRESSORS[coding]()
    except ImportError as exc:
        raise FetchError(f"{archive}: it is packed with {coding}", transient=False, remedy=_INSTALL_HINT) from exc
    consumed, received = 0, 0
    for chunk in chunks:
        compressed = chunk
        while True:
            try:
                decompressed = decompressor.decompress(compressed)
            except decompressor.errors as exc:
                if consumed:
                    raise FetchError(f"{archive}: its {coding} is broken ({exc})", transient=False) from exc
                yield chunk
                yield from chunks
                return
            consumed += len(compressed)
            if not decompressed:
                break
            received, compressed = received + len(decompressed), b""
            for start in range(0, len(decompressed), CHUNK_BYTES):  # brotli may return more than its limit
                yield decompressed[start : start + CHUNK_BYTES]
        if decompressor.at_end:
            return
    if consumed:
        raise FetchError(f"{archive}: its {coding} breaks off after {received:,} bytes", transient=False)
