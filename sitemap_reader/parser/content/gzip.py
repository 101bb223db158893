"""One gzip layer, or none: bytes in, the unpacked bytes out in pieces of at most 64 KiB, faults beside them.

Data that is not gzip passes as it is. Output, faults and counters never depend on how the input was cut,
nothing that could be unpacked is held back because of a fault behind it, and no zlib.error gets out.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import attrs

from ...model.limits import over_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from ...model.limits import Limits
    from ...model.problems import Severity

    Part = Callable[["GzipDecoder", bytes], bytes]


MAGIC = b"\x1f\x8b\x08"  # RFC 1952 2.3.1: ID1, ID2, and deflate, the only method there is
STEP_BYTES = 64 * 1024  # the most that one step unpacks
SLICE_BYTES = 16 * 1024  # the most that one step reads
RESERVED_FLAGS = 0xE0
HEADER_BYTES = 10
TRAILER_BYTES = 8
IDLE_SLICES = 64  # of input in a row that may give nothing: 1 MiB


@attrs.frozen
class DecodeFault:
    """What is wrong with the bytes of a document; `lossy` where something of it may be missing.

    `severity` is None where the catalogue's usual one holds.
    """

    code: str
    message: str
    raw: str | None = None
    severity: Severity | None = None
    lossy: bool = False


class BoundedInflater:
    """Deflate in bounded steps that loses no output to an error: raw, unless the window bits say otherwise.

    zlib throws away what a failing call had unpacked. So a copy of the decompressor is kept from time to time,
    with what was fed since; after an error that stretch is gone over again in the smallest steps there are.
    """

    def __init__(self, window_bits: int = -zlib.MAX_WBITS) -> None:
        self._stream = zlib.decompressobj(window_bits)
        self._mark = self._stream.copy()
        self._fed = bytearray()  # since the mark
        self._given = 0

    def step(self, data: bytes) -> tuple[bytes, bytes]:
        """At most 64 KiB of output, and the input that is still to be read. zlib.error: see `salvage`."""
        if len(self._fed) >= SLICE_BYTES or self._given >= STEP_BYTES:
            self._mark = self._stream.copy()
            self._fed.clear()
            self._given = 0
        out = self._stream.decompress(data, STEP_BYTES)
        rest = self._stream.unconsumed_tail
        self._fed += data[: len(data) - len(rest)]
        self._given += len(out)
        return out, rest

    def salvage(self, data: bytes) -> bytes:
        """After `step(data)` failed: the output in front of the error that was not given out yet."""
        out = bytearray()
        again = bytes(self._fed) + data
        # First nothing: what the mark has unpacked and not given out would be lost with an error behind it.
        for at in range(-1, len(again)):
            if not _squeeze(self._mark, again[max(0, at) : at + 1], out):
                break
        return bytes(out[self._given :])

    @property
    def done(self) -> bool:
        """True behind the last deflate block of the member."""
        return self._stream.eof

    @property
    def unused(self) -> bytes:
        """The input behind the last block."""
        return self._stream.unused_data


def _squeeze(stream: zlib._Decompress, byte: bytes, out: bytearray) -> bool:
    """Feed one byte, or none, and take the output byte by byte; False at an error."""
    try:
        piece = stream.decompress(byte, 1)
        while piece:
            out += piece
            piece = stream.decompress(stream.unconsumed_tail, 1)
    except zlib.error:
        return False
    return True


class GzipDecoder:
    """Reads one layer of gzip. Faults go to the list it is given, in the order of the data.

    `opened` is True once gzip was recognised, `stopped` where no more input is wanted; `refuse` makes gzip itself
    the fault (one layer too many). 1 MiB of packed input that gives no output ends the layer: a name or padding
    without end, or deflate blocks that hold nothing.
    """

    _NAME = "gzip"
    _HAS_MEMBERS = True  # each with a header and a trailer

    def __init__(self, limits: Limits, faults: list[DecodeFault], *, refuse: bool = False) -> None:
        self.opened = False
        self.stopped = False
        self.cut = False  # the data behind this point is missing or unusable
        self._limits = limits
        self._faults = faults
        self._refuse = refuse
        self._plain = False
        self._bytes_out = 0
        self._members = 0
        self._held = b""  # the beginning of a field that came in pieces
        self._skip = 0
        # Not bound: an object that holds its own methods waits for a garbage collection, and its windows with it.
        self._fields: list[Part] = []  # optional header fields still to come
        self._read: Part | None = GzipDecoder._header  # None: in the deflate data
        # Input is judged in slices that begin at the same bytes however it was cut.
        self._slice_left = SLICE_BYTES
        self._bytes_before = 0  # what had come out before this slice
        self._idle_slices = 0
        self._inflater: BoundedInflater  # of the member
        self._crc = 0
        self._size = 0
        self._bad_trailer = False

    def feed(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """What comes out of these chunks, piece by piece."""
        if self.stopped:
            return
        for chunk in chunks:
            data = chunk if self.opened or self._plain else self._recognise(chunk)
            yield from self._pass(data) if self._plain else self._unpack(data)
            if self.stopped:
                return

    def close(self, *, cut: bool = False) -> Iterator[bytes]:
        """The rest. With `cut` the layer around this one has said already that the end is missing."""
        if self.stopped:
            return
        if not self.opened:
            yield from self._emit(self._held)
        elif not self._is_between or self._held:
            if not cut:
                self._fault(f"{self._NAME} data is cut off, its end is missing")
            self.cut = True

    # --- the layer as a whole ---

    def _recognise(self, data: bytes) -> bytes:
        data = self._held + data
        self._held = b""
        if len(data) < len(MAGIC) and MAGIC.startswith(data):
            self._held = data
            return b""
        if not data.startswith(MAGIC):
            self._plain = True
        elif self._refuse:
            self._stop_at("max_gzip_layers", self._limits.max_gzip_layers, "layers of gzip")
        else:
            self.opened = True
        return data

    def _pass(self, data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), STEP_BYTES):
            # The usual chunk is short enough, and slicing all of a bytes object copies nothing.
            yield from self._emit(data[start : start + STEP_BYTES])
            if self.stopped:
                return

    def _emit(self, data: bytes) -> Iterator[bytes]:
        room = self._limits.max_decoded_bytes - self._bytes_out
        piece = data if len(data) <= room else data[:room]
        self._bytes_out += len(piece)
        if piece:
            yield piece
        if len(data) > room:
            # Behind the yield: faults stand in the order of the data, and what reads the piece comes first.
            self._stop_at("max_decoded_bytes", self._limits.max_decoded_bytes, "bytes decoded")

    def _unpack(self, data: bytes) -> Iterator[bytes]:
        start = 0
        while start < len(data) and not self.stopped:
            rest = data[start : start + self._slice_left]
            start += len(rest)
            self._slice_left -= len(rest)
            while rest and not self.stopped:
                if self._read is None:
                    rest = yield from self._inflate(rest)
                else:
                    rest = self._read(self, rest)
            if not (self._slice_left or self.stopped):
                self._end_slice()

    def _end_slice(self) -> None:
        self._slice_left = SLICE_BYTES
        self._idle_slices = 0 if self._bytes_out > self._bytes_before else self._idle_slices + 1
        self._bytes_before = self._bytes_out
        if self._idle_slices < IDLE_SLICES:
            return
        if self._is_between:
            self._stop_behind()
        else:
            size = IDLE_SLICES * SLICE_BYTES
            self._stop("F07", f"{self._part}: {size:,} bytes gave no content, the rest is not read")

    def _fault(self, message: str) -> None:
        self._faults.append(DecodeFault("F07", message, lossy=True))

    def _stop(self, code: str, message: str) -> None:
        self._faults.append(DecodeFault(code, message, lossy=True))
        self.stopped = self.cut = True

    def _stop_behind(self) -> None:
        """At what follows data that has come to its end."""
        state = "is damaged" if self._bad_trailer else "was complete"
        self._faults.append(DecodeFault("F07", f"junk behind the {self._NAME} data, which {state}", severity="warning"))
        self.stopped = True

    def _stop_at(self, name: str, limit: int, what: str) -> None:
        problem = over_limit(name, limit, what)
        self._stop(problem.code, problem.message)

    @property
    def _part(self) -> str:
        return f"gzip member {self._members:,}"

    @property
    def _is_between(self) -> bool:
        """Whether all that was begun has come to its end."""
        return self._read == GzipDecoder._between

    # --- one member: header, deflate data, trailer. Each reader returns what it leaves of the input ---

    def _collect(self, data: bytes, size: int) -> tuple[bytes | None, bytes]:
        """The next `size` bytes once they are all there, else None; and the rest."""
        missing = size - len(self._held)
        field = self._held + data[:missing]
        self._held = field if len(field) < size else b""
        return (field if len(field) == size else None), data[missing:]

    def _header(self, data: bytes) -> bytes:
        field, rest = self._collect(data, HEADER_BYTES)
        if field is None:
            return rest
        self._members += 1
        flags = field[3]
        if self._members > self._limits.max_gzip_members:
            self._stop_at("max_gzip_members", self._limits.max_gzip_members, "members of gzip")
        elif flags & RESERVED_FLAGS:  # RFC 1952 2.3.1.2: an error, the layout is unknown then
            self._stop("F07", f"{self._part} has an unreadable header")
        # RFC 1952 2.3: FEXTRA, FNAME, FCOMMENT, FHCRC in this order. The header's own CRC guards no data.
        optional = (
            (4, GzipDecoder._extra),
            (8, GzipDecoder._text),
            (16, GzipDecoder._text),
            (2, GzipDecoder._header_crc),
        )
        self._fields = [reader for bit, reader in optional if flags & bit]
        self._inflater = BoundedInflater()
        self._crc = self._size = 0
        self._next_field()
        return rest

    def _next_field(self) -> None:
        self._read = self._fields.pop(0) if self._fields else None

    def _extra(self, data: bytes) -> bytes:
        field, rest = self._collect(data, 2)
        if field is not None:
            self._skip_bytes(int.from_bytes(field, "little"))
        return rest

    def _header_crc(self, data: bytes) -> bytes:
        self._skip_bytes(2)
        return data

    def _skip_bytes(self, count: int) -> None:
        self._skip = count
        self._read = GzipDecoder._skipped
        if not count:
            self._next_field()

    def _skipped(self, data: bytes) -> bytes:
        rest = data[self._skip :]
        self._skip -= len(data) - len(rest)
        if not self._skip:
            self._next_field()
        return rest

    def _text(self, data: bytes) -> bytes:
        # A name may be of any length: it is stepped over, never kept.
        end = data.find(0)
        if end < 0:
            return b""
        self._next_field()
        return data[end + 1 :]

    def _inflate(self, data: bytes) -> Generator[bytes, None, bytes]:
        while True:
            try:
                piece, data = self._inflater.step(data)
            except zlib.error:
                yield from self._unpacked(self._inflater.salvage(data))
                if not self.stopped:
                    self._stop("F07", f"{self._part} is corrupt, the rest cannot be read")
                return b""
            yield from self._unpacked(piece)
            if self._inflater.done:
                self._read = GzipDecoder._trailer if self._HAS_MEMBERS else GzipDecoder._between
                return self._inflater.unused
            if self.stopped or (not data and len(piece) < STEP_BYTES):
                return b""

    def _unpacked(self, piece: bytes) -> Iterator[bytes]:
        self._crc = zlib.crc32(piece, self._crc)
        self._size += len(piece)
        return self._emit(piece)

    def _trailer(self, data: bytes) -> bytes:
        field, rest = self._collect(data, TRAILER_BYTES)
        if field is None:
            return rest
        self._read = GzipDecoder._between
        crc, size = int.from_bytes(field[:4], "little"), int.from_bytes(field[4:], "little")
        wrong = "CRC" if crc != self._crc else "size" if size != self._size & 0xFFFFFFFF else None
        if wrong and not self._bad_trailer:  # the first says it all
            self._bad_trailer = True
            self._fault(f"{self._part} is damaged: wrong {wrong}")
        return rest

    def _between(self, data: bytes) -> bytes:
        # NULs pad the end (tapes, blocks), and a member may still follow them.
        data = (self._held + data).lstrip(b"\0")
        may_follow = self._HAS_MEMBERS and MAGIC.startswith(data[: len(MAGIC)])
        self._held = data if may_follow and len(data) < len(MAGIC) else b""
        if self._held or not data:
            return b""
        if not (self._HAS_MEMBERS and data.startswith(MAGIC)):
            self._stop_behind()
        self._read = GzipDecoder._header
        return data


# ----------------------------------------------------------------------------------------------------
# A body that was sent with Content-Encoding: deflate: bytes in, the unpacked bytes out in pieces, faults beside them.
#
# RFC 9110 8.4.1.2 means the zlib format (RFC 1950); many servers send raw deflate (RFC 1951), and browsers read both.
# Raw deflate has no magic, so only the header says so; a body that does not unpack passes as it is.


# How many bytes are unpacked on trial: no text that was declared deflate by mistake comes that far.
HEAD_BYTES = 64
_METHOD = 8  # RFC 1950 2.2: CM, in the low four bits
_MULTIPLE = 31  # RFC 1950 2.2: FCHECK makes the first two bytes one of it


class DeflateDecoder(GzipDecoder):
    """Reads one layer of deflate, with zlib's header and checksum or without; faults and limits are those of gzip."""

    _NAME = "deflate"
    _HAS_MEMBERS = False  # and zlib itself compares the checksum, where there is one

    def close(self, *, cut: bool = False) -> Iterator[bytes]:
        """The rest, and of a short body all."""
        held, self._held = self._held, b""
        if held and not (self.opened or self.stopped):
            self._open(held)
            yield from self._pass(held) if self._plain else self._unpack(held)
        yield from super().close(cut=cut)

    def _recognise(self, data: bytes) -> bytes:
        data, self._held = self._held + data, b""
        if len(data) < HEAD_BYTES:
            self._held = data
            return b""
        self._open(data)
        return data

    def _open(self, head: bytes) -> None:
        is_zlib = head[0] & 15 == _METHOD and int.from_bytes(head[:2]) % _MULTIPLE == 0
        window_bits = zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS
        try:
            zlib.decompressobj(window_bits).decompress(head[:HEAD_BYTES])
        except zlib.error:
            self._plain = True
            return
        self.opened, self._read = True, None
        self._inflater = BoundedInflater(window_bits)

    @property
    def _part(self) -> str:
        return "deflate data"
