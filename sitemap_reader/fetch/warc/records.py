"""Reads records of a WARC file (ISO 28500), plain or gzipped, and the HTTP responses in them.

A file and an offset go in, the record at that offset comes out; end() returns the offset of the next one. Blocks and
bodies are read in chunks, never as a whole. DamagedRecord is raised where the bytes are not a record. warcio, which
writes the files of --record, and fastwarc can read too, but both end silently at most truncated records.
"""

from __future__ import annotations

import os
import re
import zlib
from contextlib import suppress
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, BinaryIO, Protocol

import attrs

from ...model.errors import FetchError
from ...model.limits import CHUNK_BYTES, Limits
from ...parser.content.codings import Decompressor
from ..client import header_text, response_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


GZIP_MAGIC = b"\x1f\x8b"
MAX_HEAD_BYTES = 256 * 1024  # of a record, and of an HTTP response
# Read from the file at once; small, as zlib copies what follows the end of a gzip member (`unused_data`).
_PIECE_BYTES = 16 * 1024
_MAX_LINE_BYTES = 1_024
_VERSION = re.compile(rb"WARC/[0-9]+\.[0-9]+[ \t]*\r?\n")
_NUMBER = re.compile(r"[0-9]{1,18}")
_FOLD = re.compile(r"\n[ \t]+")
_FIELD = re.compile(r"^([^:\n]+):(.*)$", re.MULTILINE)


class DamagedRecord(Exception):
    """The bytes at `offset` are not a complete record; the message states why."""

    def __init__(self, offset: int, why: str) -> None:
        super().__init__(why)
        self.offset = offset


class MultiRecordMember(DamagedRecord):
    """One gzip member holds several records: those behind the first have no offset in the file."""


class ByteSource(Protocol):
    """The bytes of a record's block: read() and readline() return up to `size` of them, b"" at the end."""

    def read(self, size: int, /) -> bytes: ...
    def readline(self, size: int, /) -> bytes: ...


class WarcRecord:
    """One record: its `headers` (lower-case names), and its block, which is read once, from the start.

    Only one record of a file can be read at a time. Raises DamagedRecord where there is no record, and while the block
    is read, where it breaks off.
    """

    def __init__(self, file: BinaryIO, offset: int) -> None:
        self.offset = offset
        self._file = file
        file.seek(offset)
        self.has_crc = file.read(2) == GZIP_MAGIC  # checked once the gzip member was read to its end
        file.seek(offset)
        self._member = _GzipMember(file, offset) if self.has_crc else None
        self._source: BinaryIO = BufferedReader(self._member, _PIECE_BYTES) if self._member else file
        self.headers = self._headers()
        self.type, self.id = self.headers["warc-type"], self.headers.get("warc-record-id", "")
        if not _NUMBER.fullmatch(self.headers.get("content-length", "")):
            raise DamagedRecord(offset, "its record has no Content-Length")
        self._left = int(self.headers["content-length"])

    @property
    def url(self) -> str:
        """WARC-Target-URI, without the angle brackets of some writers."""
        url = self.headers.get("warc-target-uri", "")
        return url[1:-1] if url.startswith("<") and url.endswith(">") else url

    def read(self, size: int = CHUNK_BYTES, /) -> bytes:
        """Returns up to `size` bytes of the block; b"" at its end."""
        return self._taken(self._source.read, size)

    def readline(self, size: int, /) -> bytes:
        """Returns the bytes up to the next line end, or `size` of them."""
        return self._taken(self._source.readline, size)

    def end(self) -> int:
        """Skips the rest of the block, and returns the offset of the next record."""
        return self._end_of_plain() if self._member is None else self._end_of_member(self._member)

    def _headers(self) -> dict[str, str]:
        if not _VERSION.match(self._source.readline(_MAX_LINE_BYTES)):
            raise DamagedRecord(self.offset, "no record begins there")
        head = read_head(self._source)
        if len(head) > MAX_HEAD_BYTES or not head.endswith((b"\n\r\n", b"\n\n")):
            raise DamagedRecord(self.offset, "the head of its record does not end")
        headers = {name.lower(): value for name, value in reversed(header_pairs(head))}
        if "warc-type" not in headers:
            raise DamagedRecord(self.offset, "its record has no WARC-Type")
        return headers

    def _taken(self, read: Callable[[int], bytes], size: int) -> bytes:
        wanted = min(size, self._left)
        data = read(wanted)
        if wanted and not data:
            raise DamagedRecord(self.offset, "its record is cut off")
        self._left -= len(data)
        return data

    def _end_of_plain(self) -> int:
        end = self._file.tell() + self._left
        if end >= os.fstat(self._file.fileno()).st_size:
            raise DamagedRecord(self.offset, "its record is cut off")
        self._file.seek(end)
        behind = self._file.read(4)
        line_ends = len(behind) - len(behind.lstrip(b"\r\n"))
        if line_ends < 2:
            raise DamagedRecord(self.offset, "its record does not end where it says")
        return end + line_ends

    def _end_of_member(self, member: _GzipMember) -> int:
        while self.read():
            pass
        while rest := self._source.read(CHUNK_BYTES):
            if rest := rest.lstrip(b"\r\n"):
                kind = MultiRecordMember if rest.startswith(b"WARC/"[: len(rest)]) else DamagedRecord
                raise kind(self.offset, "its record does not end where it says")
        return member.end()


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


def read_head(source: ByteSource) -> bytes:
    """Reads the lines up to and with a blank one, or to the end; stops behind MAX_HEAD_BYTES."""
    head = bytearray()
    while len(head) <= MAX_HEAD_BYTES and (line := source.readline(MAX_HEAD_BYTES)):
        head += line
        if line in (b"\r\n", b"\n"):
            break
    return bytes(head)


def header_pairs(head: bytes) -> list[tuple[str, str]]:
    """Returns the names and values of header lines; continuation lines are joined, invalid ones left out."""
    fields = _FIELD.findall(_FOLD.sub(" ", header_text(head.replace(b"\r\n", b"\n"))))
    return [(name.strip(), value.strip()) for name, value in fields if name.strip()]


# --- HTTP responses ---------------------------------------------------------------------------------------------

_STATUS = re.compile(rb"HTTP/[0-9.]+[ \t]+([0-9]{1,3})(?![0-9])")
_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?\r?\n")


@attrs.frozen
class HttpHead:
    """Status and headers of a response, as Response has them."""

    status: int
    headers: dict[str, str]


def http_head(source: ByteSource) -> HttpHead | None:
    """Reads the head of a response; None where there is none."""
    status = _STATUS.match(source.readline(_MAX_LINE_BYTES))
    head = read_head(source) if status else b""
    if status is None or len(head) > MAX_HEAD_BYTES:
        return None
    return HttpHead(int(status[1]), response_headers(header_pairs(head)))


def body_chunks(source: ByteSource, headers: Mapping[str, str], *, archive: str) -> Iterator[bytes]:
    """Yields the chunks of a body whose head was read, without Transfer-Encoding.

    Raises FetchError, with the name of the `archive`, where the body breaks off.
    """
    is_chunked = "chunked" in headers.get("transfer-encoding", "").lower()
    return _dechunked(source, archive) if is_chunked else _rest(source)


def document_start(source: ByteSource, headers: Mapping[str, str], size: int) -> bytes:
    """Returns the first `size` bytes of a document, without any compression; fewer where the body breaks off."""
    decompressor = Decompressor(Limits(max_decoded_bytes=size), headers.get("content-encoding", ""), [])
    document = bytearray()
    with suppress(FetchError):  # the body breaks off
        for chunk in body_chunks(source, headers, archive=""):
            document += b"".join(decompressor.feed(chunk))
            if decompressor.stopped:
                break
    document += b"".join(decompressor.close())
    return bytes(document)


def _rest(source: ByteSource) -> Iterator[bytes]:
    while chunk := source.read(CHUNK_BYTES):
        yield chunk


def _dechunked(source: ByteSource, archive: str) -> Iterator[bytes]:
    """Undoes Transfer-Encoding: chunked; a body that does not begin with a chunk was stored without it."""
    line = source.readline(_MAX_LINE_BYTES)
    if not _SIZE.fullmatch(line):
        if line:
            yield line
        yield from _rest(source)
        return
    received = 0
    while (match := _SIZE.fullmatch(line)) and (left := int(match[1], 16)):
        while left and (chunk := source.read(min(left, CHUNK_BYTES))):
            left -= len(chunk)
            received += len(chunk)
            yield chunk
        source.readline(2)
        line = source.readline(_MAX_LINE_BYTES)
    if match is None:
        raise FetchError(f"{archive}: its chunks break off after {received:,} bytes", transient=False)
