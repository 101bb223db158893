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

from ..client import CHUNK_BYTES, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

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
