"""What a WARC record holds of an HTTP answer: a Record in, its head and the chunks of its body out.

A body is as it came over the wire, without Transfer-Encoding; gzip stays, other packings are undone. FetchError where
it breaks off. Never holds more of a body than a chunk.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, Protocol

import attrs

from ...model.errors import FetchError, install_hint
from ...serialize.compression import zstd_module
from ..client import CHUNK_BYTES, plain_headers
from .records import GZIP_MAGIC, MAX_HEAD_BYTES, Source, header_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .records import Record

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
