"""Records of a WARC file (ISO 28500), plain or gzipped: a file and an offset in, the record that stands there out.

A record's block is read in pieces, or passed over; end() says where the next record stands. Damaged where the bytes
are not what a WARC has there. Never holds more than a piece of a block, and knows nothing of what it means. warcio,
which writes for us, reads too; but what is cut off or broken it ends in silence, or with a line on stderr.
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
from ...serialize.byte_streams import zstd_module
from ..client import CHUNK_BYTES, plain_headers, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


GZIP_MAGIC = b"\x1f\x8b"
MAX_HEAD_BYTES = 256 * 1024  # of a record, and of an HTTP answer
# Of the file at once: what stands behind the end of a gzip member is copied each time.
_PIECE_BYTES = 16 * 1024
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_VERSION = re.compile(rb"WARC/[0-9]+\.[0-9]+[ \t]*\r?\n")
_NUMBER = re.compile(r"[0-9]{1,18}")


class Damaged(Exception):
    """What stands at `offset` is no whole record; says why."""

    def __init__(self, offset: int, why: str) -> None:
        super().__init__(why)
        self.offset = offset


class ManyInOne(Damaged):
    """One gzip member holds several records, none of which can be found but from the beginning."""


class Source:
    """Bytes of which the beginning can be looked at; `more()` gives the next piece, b"" at the end."""

    def __init__(self, more: Callable[[], bytes]) -> None:
        self._more = more
        self._held = b""

    @property
    def held(self) -> int:
        """How many bytes were read and are still to come."""
        return len(self._held)

    def peek(self, size: int) -> bytes:
        """Up to `size` bytes, fewer at the end; they are still to come."""
        while len(self._held) < size and (piece := self._more()):
            self._held += piece
        return self._held[:size]

    def read(self, size: int = CHUNK_BYTES) -> bytes:
        """What comes next, `size` bytes at most; b"" at the end."""
        held = self._held or self._more()
        self._held = held[size:]
        return held[:size]

    def line(self, most: int) -> bytes:
        """Up to the next line end, or `most` bytes."""
        seen = 0
        while (end := self._held.find(b"\n", seen)) < 0 and len(self._held) < most:
            seen = len(self._held)
            if not (piece := self._more()):
                break
            self._held += piece
        size = min(most, end + 1 if end >= 0 else most)
        line, self._held = self._held[:size], self._held[size:]
        return line

    def head(self) -> bytes | None:
        """Up to a blank line, which goes too; None where there is none in MAX_HEAD_BYTES."""
        length = self.head_length()
        head, self._held = self._held[:length], self._held[length:]
        return head.rstrip(b"\r\n") if length else None

    def head_length(self) -> int:
        """How long that is, blank line and all; 0 where there is none."""
        seen = 0
        while not (match := _BLANK_LINE.search(self._held, max(0, seen - 3))):
            seen = len(self._held)
            if seen > MAX_HEAD_BYTES or not (piece := self._more()):
                return 0
            self._held += piece
        return match.end()


class _Bytes(Protocol):
    """What a record is read from: all of its bytes, and perhaps more."""

    def read(self) -> bytes: ...

    def skip(self, size: int) -> int: ...

    def end(self, source: Source) -> int: ...


class Record:
    """One record: its `headers` (lower-case names), and its block, `length` bytes, through `block`.

    Damaged, also while the block is read, where it is none or breaks off.
    """

    def __init__(self, file: BinaryIO, offset: int) -> None:
        self.offset = offset
        file.seek(offset)
        first = file.read(_PIECE_BYTES)
        self.is_checked = first[:2] == GZIP_MAGIC  # by its CRC, once it was read to its end
        self._bytes: _Bytes = (_Member if self.is_checked else _Plain)(file, offset, first)
        self._source = Source(self._bytes.read)
        self.headers = self._headers()
        self.length = self._length()
        self._rest = _Rest(self._source, self.length, offset)
        self.block = Source(self._rest.more)

    @property
    def type(self) -> str:
        return self.headers["warc-type"]

    @property
    def id(self) -> str:
        return self.headers.get("warc-record-id", "")

    @property
    def url(self) -> str:
        """WARC-Target-URI; some writers put it in brackets."""
        return unbracketed(self.headers.get("warc-target-uri", ""))

    def end(self) -> int:
        """Passes over what is left; where the next record stands."""
        rest = self._rest
        while rest.more():
            rest.left -= self._bytes.skip(rest.left)
        return self._bytes.end(self._source)

    def _headers(self) -> dict[str, str]:
        if not _VERSION.match(self._source.peek(16)):
            raise Damaged(self.offset, "no record begins there")
        head = self._source.head()
        if head is None:
            raise Damaged(self.offset, "the head of its record does not end")
        headers = {name.lower(): value for name, value in reversed(header_pairs(head))}
        if "warc-type" not in headers:
            raise Damaged(self.offset, "its record has no WARC-Type")
        return headers

    def _length(self) -> int:
        length = self.headers.get("content-length", "")
        if not _NUMBER.fullmatch(length):
            raise Damaged(self.offset, "its record has no Content-Length")
        return int(length)


class _Rest:
    """What is left of a block. It knows no Record: in a circle both would outlive their use by far."""

    def __init__(self, source: Source, left: int, offset: int) -> None:
        self.left = left
        self._source = source
        self._offset = offset

    def more(self) -> bytes:
        """The next piece; b"" at the end."""
        if not self.left:
            return b""
        piece = self._source.read(min(self.left, CHUNK_BYTES))
        if not piece:
            raise Damaged(self._offset, "its record is cut off")
        self.left -= len(piece)
        return piece


class _Plain:
    """A file without gzip, from an offset on."""

    def __init__(self, file: BinaryIO, offset: int, first: bytes) -> None:
        self._file = file
        self._offset = offset
        self._first = first

    def read(self) -> bytes:
        first, self._first = self._first, b""
        return first or self._file.read(_PIECE_BYTES)

    def skip(self, size: int) -> int:
        """Passes over bytes of the file; how many there were."""
        if size < _PIECE_BYTES:
            return 0
        here = self._file.tell()
        end = os.fstat(self._file.fileno()).st_size
        return self._file.seek(min(here + size, end)) - here

    def end(self, source: Source) -> int:
        """Behind the line ends that follow each record."""
        behind = source.peek(4)
        blank = len(behind) - len(behind.lstrip(b"\r\n"))
        if blank < 2:
            raise Damaged(self._offset, "its record does not end where it says" if behind else "its record is cut off")
        return self._file.tell() - source.held + blank


class _Member:
    """One gzip member of a file."""

    def __init__(self, file: BinaryIO, offset: int, first: bytes) -> None:
        self._file = file
        self._offset = offset
        self._packed = first
        self._unpacking = zlib.decompressobj(wbits=31)

    def read(self) -> bytes:
        unpacking = self._unpacking
        while not unpacking.eof:
            packed = self._packed or self._file.read(_PIECE_BYTES)
            if not packed:
                raise Damaged(self._offset, "its gzip member is cut off")
            try:
                data = unpacking.decompress(packed, CHUNK_BYTES)
            except zlib.error as exc:
                raise Damaged(self._offset, f"its gzip member is broken ({exc})") from exc
            self._packed = unpacking.unconsumed_tail
            if data:
                return data
        return b""

    def skip(self, size: int) -> int:
        return 0

    def end(self, source: Source) -> int:
        """Behind the member, of which nothing but line ends may be left."""
        while left := source.read():
            left = left.lstrip(b"\r\n")
            if left:
                kind = ManyInOne if left.startswith(b"WARC/"[: len(left)]) else Damaged
                raise kind(self._offset, "its record does not end where it says")
        return self._file.tell() - len(self._unpacking.unused_data)


def header_pairs(head: bytes) -> list[tuple[str, str]]:
    """The lines behind the first, as names and values; continued ones are joined, those without a colon left out."""
    pairs: list[tuple[str, str]] = []
    for line in text_of(head).split("\n")[1:]:
        if line[:1] in (" ", "\t") and pairs:
            name, value = pairs.pop()
            pairs.append((name, f"{value} {line.strip()}"))
            continue
        name, colon, value = line.partition(":")
        if colon and name.strip():
            pairs.append((name.strip(), value.strip()))
    return pairs


def unbracketed(url: str) -> str:
    return url[1:-1] if url.startswith("<") and url.endswith(">") else url


# --- digests ----------------------------------------------------------------------------------------------------

_HASHES = {"sha1": 20, "sha-1": 20, "sha256": 32, "sha-256": 32, "sha512": 64, "sha-512": 64, "md5": 16}


class Digest:
    """A labelled digest, as of WARC-Block-Digest, and a hash to check it by; None where nobody knows its like."""

    def __init__(self, name: str, value: bytes) -> None:
        self.value = value
        self._hash = hashlib.new(name, usedforsecurity=False)

    @classmethod
    def of(cls, text: str) -> Digest | None:
        """`sha1:` and base 32, as most write it, or base 16."""
        label, _, written = text.partition(":")
        size = _HASHES.get(label.lower())
        value = _decoded(written.strip(), size) if size else None
        return None if value is None else cls(label.lower().replace("-", ""), value)

    def update(self, data: bytes) -> None:
        self._hash.update(data)

    @property
    def fits(self) -> bool:
        return self._hash.digest() == self.value


def _decoded(written: str, size: int) -> bytes | None:
    try:
        if len(written) == size * 2:
            return bytes.fromhex(written)
        value = base64.b32decode(written.upper())
    except ValueError:  # binascii.Error is one
        return None
    return value if len(value) == size else None


# ----------------------------------------------------------------------------------------------------
# What a WARC record holds of an HTTP answer: a Record in, its head and the chunks of its body out.
#
# A body is as it came over the wire, without Transfer-Encoding; gzip stays, other packings are undone. FetchError where
# it breaks off. Never holds more of a body than a chunk.


_STATUS = re.compile(rb"HTTP/[0-9.]+[ \t]+([0-9]{1,3})(?![0-9])")
_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?\r?\n")
_MAX_LINE_BYTES = 1_024
EXTRA = f"{install_hint('warc')} can unpack it"


@attrs.frozen
class HttpHead:
    """Status and headers of an answer, as a Response has them."""

    status: int
    headers: dict[str, str]


def status_of(window: bytes) -> int | None:
    """The status that the beginning of an HTTP answer states."""
    match = _STATUS.match(window)
    return int(match[1]) if match else None


def http_head(record: Record) -> HttpHead | None:
    """Reads the head of the block; None where the block has none."""
    if record.type == "resource":  # the bare document
        kind = record.headers.get("content-type")
        return HttpHead(200, {"content-type": kind} if kind else {})
    status = status_of(record.block.peek(32))
    if status is None:
        return None
    head = record.block.head()
    if head is None and record.block.held > MAX_HEAD_BYTES:
        return None
    if head is None:  # it has no body, and not even the blank line before it
        head = record.block.read(MAX_HEAD_BYTES)
    return HttpHead(status, plain_headers(header_pairs(head)))


def body(block: Source, headers: Mapping[str, str], *, unpack: bool, place: str) -> Iterator[bytes]:
    """The chunks of a body whose head was read; `place` is what a FetchError calls it.

    `unpack` undoes deflate, br and zstd; without it only the Transfer-Encoding goes.
    """
    chunks = _plain(block)
    if "chunked" in headers.get("transfer-encoding", "").lower():
        chunks = _unchunked(block, place)
    for coding in packings(headers) if unpack else ():
        chunks = _unpacked(chunks, coding, place)
    return chunks


def packings(headers: Mapping[str, str]) -> list[str]:
    """The Content-Encodings to undo, in the order of undoing: all that are on a packing other than gzip.

    >>> packings({"content-encoding": "gzip"}), packings({"content-encoding": "br, gzip"})
    ([], ['gzip', 'br'])
    """
    named = [each.strip().lower() for each in headers.get("content-encoding", "").split(",")]
    known = [each.removeprefix("x-") for each in named if each.removeprefix("x-") in _UNPACKERS]
    while known and known[0] == "gzip":
        known = known[1:]
    return known[::-1]


def peeked(window: bytes, size: int) -> bytes:
    """The beginning of the document that an answer holds whose first bytes are `window`; as far as that goes."""
    pieces = iter((window,))
    block = Source(lambda: next(pieces, b""))
    head = block.head()
    headers = plain_headers(header_pairs(head)) if head else {}
    document = b""
    try:
        for chunk in body(block, headers, unpack=True, place=""):
            document += chunk
            if len(document) >= max(len(window), size):
                break
    except FetchError:
        pass  # the window ends, or it cannot be unpacked here
    if document[:2] == GZIP_MAGIC:
        try:
            document = zlib.decompressobj(wbits=31).decompress(document, size)
        except zlib.error:
            return b""
    return document[:size]


def _plain(block: Source) -> Iterator[bytes]:
    while chunk := block.read():
        yield chunk


def _unchunked(block: Source, place: str) -> Iterator[bytes]:
    """Without Transfer-Encoding: chunked; whatever does not begin so was stored without it."""
    line = block.line(_MAX_LINE_BYTES)
    if not _SIZE.fullmatch(line):
        if line:
            yield line
        yield from _plain(block)
        return
    received = 0
    while size := _size(line, place, received):
        while size:
            piece = block.read(min(size, CHUNK_BYTES))
            if not piece:
                raise _broken_off(place, received)
            size -= len(piece)
            received += len(piece)
            yield piece
        block.line(2)
        line = block.line(_MAX_LINE_BYTES)


def _size(line: bytes, place: str, received: int) -> int:
    match = _SIZE.fullmatch(line)
    if match is None:
        raise _broken_off(place, received)
    return int(match[1], 16)


def _broken_off(place: str, received: int) -> FetchError:
    return FetchError(f"{place}: its chunks break off after {received:,} bytes", transient=False)


# --- packings other than gzip -----------------------------------------------------------------------------------


class _Unpacker(Protocol):
    """Takes packed bytes; `more(b"")` goes on with those it still has. `is_over`: the packing has ended."""

    errors: tuple[type[Exception], ...]

    @property
    def is_over(self) -> bool: ...

    def more(self, data: bytes) -> bytes: ...


class _Zlib:
    errors: tuple[type[Exception], ...] = (zlib.error,)

    def __init__(self, wbits: int) -> None:
        self._zlib = zlib.decompressobj(wbits)
        self._tried_raw = wbits != zlib.MAX_WBITS

    @property
    def is_over(self) -> bool:
        return self._zlib.eof

    def more(self, data: bytes) -> bytes:
        try:
            unpacked = self._zlib.decompress(self._zlib.unconsumed_tail + data, CHUNK_BYTES)
        except zlib.error:
            if self._tried_raw:
                raise
            # RFC 9110 8.4.1.2: some send deflate without the zlib format around it.
            self._zlib, unpacked = zlib.decompressobj(-zlib.MAX_WBITS), b""
            unpacked = self._zlib.decompress(data, CHUNK_BYTES)
        self._tried_raw = True
        return unpacked


class _Brotli:
    def __init__(self) -> None:
        import brotli

        self.errors: tuple[type[Exception], ...] = (brotli.error,)
        self._brotli = brotli.Decompressor()
        self._waiting = b""

    @property
    def is_over(self) -> bool:
        return bool(self._brotli.is_finished())

    def more(self, data: bytes) -> bytes:
        self._waiting += data
        taken = b""
        if self._brotli.can_accept_more_data():
            taken, self._waiting = self._waiting, b""
        unpacked: bytes = self._brotli.process(taken, output_buffer_limit=CHUNK_BYTES)
        return unpacked


class _Zstd:
    def __init__(self) -> None:
        zstd = zstd_module()
        self.errors: tuple[type[Exception], ...] = (zstd.ZstdError,)
        self._zstd = zstd.ZstdDecompressor()

    @property
    def is_over(self) -> bool:
        return bool(self._zstd.eof)

    def more(self, data: bytes) -> bytes:
        if self._zstd.eof:
            return b""
        unpacked: bytes = self._zstd.decompress(data, CHUNK_BYTES)
        return unpacked


_UNPACKERS: dict[str, Callable[[], _Unpacker]] = {
    "gzip": lambda: _Zlib(zlib.MAX_WBITS + 16),
    "deflate": lambda: _Zlib(zlib.MAX_WBITS),
    "br": _Brotli,
    "zstd": _Zstd,
}


def _unpacked(chunks: Iterator[bytes], coding: str, place: str) -> Iterator[bytes]:
    """The chunks without that packing; what does not begin so was stored without it."""
    try:
        unpacker = _UNPACKERS[coding]()
    except ImportError as exc:
        raise FetchError(f"{place}: it is packed with {coding}; {EXTRA}", transient=False) from exc
    taken, received = 0, 0
    for chunk in chunks:
        packed = chunk
        while True:
            try:
                unpacked = unpacker.more(packed)
            except unpacker.errors as exc:
                if taken:
                    raise FetchError(f"{place}: its {coding} is broken ({exc})", transient=False) from exc
                yield chunk
                yield from chunks
                return
            taken += len(packed)
            if not unpacked:
                break
            received, packed = received + len(unpacked), b""
            for start in range(0, len(unpacked), CHUNK_BYTES):  # brotli gives more than it was asked for
                yield unpacked[start : start + CHUNK_BYTES]
        if unpacker.is_over:
            return
    if taken:
        raise FetchError(f"{place}: its {coding} breaks off after {received:,} bytes", transient=False)
