"""Decompresses one layer of gzip or deflate: bytes in, chunks of at most 64 KiB out, faults in a list.

Data that is not compressed passes unchanged. Output, faults and counters do not depend on how the input was cut; all
output before an error is returned, and zlib.error is never raised.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import attrs

from ...model.limits import over_limit

with suppress(ImportError):  # it gives the same output and errors in half the time
    from zlib_ng import zlib_ng as zlib  # type: ignore[no-redef]

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from ...model.limits import Limits
    from ...model.problems import Kind, Severity

    FieldReader = Callable[["GzipDecoder", bytes], bytes]


MAGIC = b"\x1f\x8b\x08"  # RFC 1952 2.3.1: ID1, ID2, and deflate, the only method there is
STEP_BYTES = 64 * 1024  # the most output of one step
SLICE_BYTES = 16 * 1024  # the most input of one step
RESERVED_FLAGS = 0xE0
HEADER_BYTES = 10
TRAILER_BYTES = 8
IDLE_SLICES = 64  # consecutive slices of input without output before decoding stops: 1 MiB


@attrs.frozen
class DecodeFault:
    """An error in the encoding of a document, to become a Problem; `lossy`: data may be missing.

    `severity` is None for the default of the code.
    """

    code: str
    message: str
    raw: str | None = None
    severity: Severity | None = None
    lossy: bool = False
    kind: Kind | None = None


class Inflater(Protocol):
    """Decompresses one stream in steps of bounded output.

    After `error`, raised by step(), salvage() is called. `has_more`: step(b"") gives more output. `done`: the stream
    has ended, `unused` is what followed.
    """

    error: type[Exception]

    def step(self, data: bytes) -> tuple[bytes, bytes]: ...
    def salvage(self, data: bytes) -> bytes: ...
    @property
    def has_more(self) -> bool: ...
    @property
    def done(self) -> bool: ...
    @property
    def unused(self) -> bytes: ...


class BoundedInflater:
    """Inflates in steps of bounded output, and recovers the output before an error; raw deflate by default.

    zlib discards the output of a call that fails. So a copy of the decompressor is kept at intervals (the checkpoint),
    with the input since; after an error, that input is decompressed again byte by byte.
    """

    def __init__(self, window_bits: int = -zlib.MAX_WBITS) -> None:
        self.error: type[Exception] = zlib.error
        self.has_more = False
        self._stream = zlib.decompressobj(window_bits)
        self._checkpoint = self._stream.copy()
        self._input = bytearray()  # since the checkpoint
        self._output_bytes = 0  # since the checkpoint

    def step(self, data: bytes) -> tuple[bytes, bytes]:
        """(at most 64 KiB of output, unread input). After zlib.error, call salvage()."""
        if len(self._input) >= SLICE_BYTES or self._output_bytes >= STEP_BYTES:
            self._checkpoint = self._stream.copy()
            self._input.clear()
            self._output_bytes = 0
        out = self._stream.decompress(data, STEP_BYTES)
        rest = self._stream.unconsumed_tail
        self._input += data[: len(data) - len(rest)]
        self._output_bytes += len(out)
        self.has_more = len(out) == STEP_BYTES
        return out, rest

    def salvage(self, data: bytes) -> bytes:
        """The output before the error, after `step(data)` failed, without what step() returned already."""
        out = bytearray()
        replayed = bytes(self._input) + data
        # First without input: output pending in the checkpoint would be lost to an error in the next byte.
        for at in range(-1, len(replayed)):
            if not _inflate_byte(self._checkpoint, replayed[max(0, at) : at + 1], out):
                break
        return bytes(out[self._output_bytes :])

    @property
    def done(self) -> bool:
        """True after the last deflate block of the member."""
        return self._stream.eof

    @property
    def unused(self) -> bytes:
        """The input after the last block."""
        return self._stream.unused_data


def _inflate_byte(stream: zlib._Decompress, byte: bytes, out: bytearray) -> bool:
    """Decompresses one byte, or none, appending output byte by byte; False at an error."""
    try:
        piece = stream.decompress(byte, 1)
        while piece:
            out += piece
            piece = stream.decompress(stream.unconsumed_tail, 1)
    except zlib.error:
        return False
    return True


class GzipDecoder:
    """Decodes one layer of gzip; data without the gzip magic passes unchanged.

    Faults are appended to `faults` in the order of the data. `opened`: gzip was detected. `stopped`: no more input is
    read. `inner` gets the output, if it may be compressed too. `layers`: so many of gzip may be undone, this one and
    those in it, for which it makes the `inner` ones; above that, gzip itself is a fault. 1 MiB of input without output
    ends the layer: an endless file name or padding, or empty deflate blocks.
    """

    _NAME = "gzip"
    _MAGIC = MAGIC  # of a further member; b"" where there is one only
    _HAS_TRAILER = True

    def __init__(self, limits: Limits, faults: list[DecodeFault], *, layers: int | None = None) -> None:
        self.inner: GzipDecoder | None = None
        self.opened = False
        self.stopped = False
        self.cut = False  # the rest of the data is missing or unusable
        self._limits = limits
        self._faults = faults
        self._layers = layers
        self._plain = False
        self._bytes_out = 0
        self._members = 0
        self._buffer = b""  # the start of an incomplete field
        self._skip = 0
        # Unbound methods: bound ones would be reference cycles, and keep the zlib windows until a garbage collection.
        self._fields: list[FieldReader] = []  # optional header fields still to come
        self._read: FieldReader | None = GzipDecoder._header  # None: in the deflate data
        # Idle input is counted in slices at fixed offsets, so that the way the input was cut does not matter.
        self._slice_left = SLICE_BYTES
        self._bytes_before = 0  # output before this slice
        self._idle_slices = 0
        self._inflater: Inflater  # of the member
        self._crc = 0
        self._size = 0
        self._bad_trailer = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The output of these bytes, in pieces; to be exhausted."""
        if self.stopped:
            return iter(())
        if not (self.opened or self._plain):
            data = self._recognise(data)
        return self._pass(data) if self._plain else self._unpack(data)

    def close(self, *, cut: bool = False) -> Iterator[bytes]:
        """The rest. `cut`: the layer around this one reported already that the end is missing."""
        if not (self.opened or self.stopped):
            yield from self._pass(self._buffer)
        elif not self.stopped and (self._buffer or not self._is_between):
            if not cut:
                self._faults.append(DecodeFault("F07", f"{self._NAME} data is cut off, its end is missing", lossy=True))
            self.cut = True
        if self.inner:
            yield from self.inner.close(cut=cut or self.cut)
            self.stopped = self.stopped or self.inner.stopped

    # --- the layer as a whole ---

    def _recognise(self, data: bytes) -> bytes:
        data = self._buffer + data
        self._buffer = b""
        if len(data) < len(MAGIC) and MAGIC.startswith(data):
            self._buffer = data
            return b""
        if not data.startswith(MAGIC):
            self._plain = True
        elif self._layers == 0:
            self._stop_at("max_gzip_layers", self._limits.max_gzip_layers, "layers of gzip")
        else:
            self.opened = True
            if self._layers is not None:
                self.inner = GzipDecoder(self._limits, self._faults, layers=self._layers - 1)
        return data

    def _pass(self, data: bytes) -> Iterator[bytes]:
        """The data up to the limit, in pieces, or what an inner layer makes of it."""
        left = self._limits.max_decoded_bytes - self._bytes_out
        for start in range(0, min(len(data), left), STEP_BYTES):
            # The usual chunk is short enough, and a slice of the whole bytes object copies nothing.
            piece = data[start : min(start + STEP_BYTES, left)]
            self._bytes_out += len(piece)
            if self.inner is None:
                yield piece
                continue
            yield from self.inner.feed(piece)
            if self.inner.stopped:
                self.stopped = True
                return
        if len(data) > left:
            # After the yield: faults are in the order of the data, and those of the piece itself come first.
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
            self._stop_at_trailing_data()
        else:
            size = IDLE_SLICES * SLICE_BYTES
            self._stop("F07", f"{self._part}: {size:,} bytes gave no content, the rest is not read")

    def _stop(self, code: str, message: str) -> None:
        self._faults.append(DecodeFault(code, message, lossy=True))
        self.stopped = self.cut = True

    def _stop_at_trailing_data(self) -> None:
        """Ends the layer at data after the end of the compressed data."""
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
        return self._read == GzipDecoder._between

    # --- one member: header, deflate data, trailer. Each reader returns the input that it leaves ---

    def _collect(self, data: bytes, size: int) -> tuple[bytes | None, bytes]:
        """(the next `size` bytes, or None until all have arrived; the rest)."""
        missing = size - len(self._buffer)
        field = self._buffer + data[:missing]
        self._buffer = field if len(field) < size else b""
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
        # A name may be of any length: it is skipped without buffering.
        end = data.find(0)
        if end < 0:
            return b""
        self._next_field()
        return data[end + 1 :]

    def _inflate(self, data: bytes) -> Generator[bytes, None, bytes]:
        while True:
            try:
                piece, data = self._inflater.step(data)
            except self._inflater.error:
                yield from self._unpacked(self._inflater.salvage(data))
                if not self.stopped:
                    self._stop("F07", f"{self._part} is corrupt, the rest cannot be read")
                return b""
            yield from self._unpacked(piece)
            if self._inflater.done:
                self._read = GzipDecoder._trailer if self._HAS_TRAILER else GzipDecoder._between
                return self._inflater.unused
            if self.stopped or not (data or self._inflater.has_more):
                return b""

    def _unpacked(self, piece: bytes) -> Iterator[bytes]:
        self._crc = zlib.crc32(piece, self._crc)
        self._size += len(piece)
        return self._pass(piece)

    def _trailer(self, data: bytes) -> bytes:
        field, rest = self._collect(data, TRAILER_BYTES)
        if field is None:
            return rest
        self._read = GzipDecoder._between
        crc, size = int.from_bytes(field[:4], "little"), int.from_bytes(field[4:], "little")
        wrong = "CRC" if crc != self._crc else "size" if size != self._size & 0xFFFFFFFF else None
        if wrong and not self._bad_trailer:  # one fault for all members
            self._bad_trailer = True
            message = f"{self._part} is damaged: wrong {wrong}"
            self._faults.append(DecodeFault("F07", message, lossy=True, kind="wrong checksum or size"))
        return rest

    def _between(self, data: bytes) -> bytes:
        # NULs pad the end of a tape or disk block; another member may follow them.
        data = (self._buffer + data).lstrip(b"\0")
        may_follow = bool(self._MAGIC) and self._MAGIC.startswith(data[: len(self._MAGIC)])
        self._buffer = data if may_follow and len(data) < len(self._MAGIC) else b""
        if self._buffer or not data:
            return b""
        if not (self._MAGIC and data.startswith(self._MAGIC)):
            self._stop_at_trailing_data()
        self._begin_member()
        return data

    def _begin_member(self) -> None:
        self._read = GzipDecoder._header


# --- deflate --------------------------------------------------------------------------------------------------

# RFC 9110 8.4.1.2: Content-Encoding deflate is the zlib format (RFC 1950). Many servers send raw deflate (RFC 1951),
# and browsers accept both. Raw deflate has no magic, so only the header declares it.

# How many bytes are decompressed on trial: text that is declared deflate by mistake fails earlier.
HEAD_BYTES = 64
_METHOD = 8  # RFC 1950 2.2: CM, in the low four bits
_MULTIPLE = 31  # RFC 1950 2.2: FCHECK makes the first two bytes a multiple of this


class DeflateDecoder(GzipDecoder):
    """Decodes one layer of deflate, in zlib format or raw; data that does not decompress passes unchanged."""

    _NAME = "deflate"
    _MAGIC = b""
    _HAS_TRAILER = False  # zlib itself verifies the checksum, if there is one

    def close(self, *, cut: bool = False) -> Iterator[bytes]:
        """The rest; a body shorter than HEAD_BYTES is decoded here."""
        body, self._buffer = self._buffer, b""
        if body and not (self.opened or self.stopped):
            self._open(body)
            yield from self._pass(body) if self._plain else self._unpack(body)
        yield from self._flush()
        yield from super().close(cut=cut)

    def _flush(self) -> Iterator[bytes]:
        """What the inflater holds back."""
        return iter(())

    def _recognise(self, data: bytes) -> bytes:
        data, self._buffer = self._buffer + data, b""
        if len(data) < HEAD_BYTES:
            self._buffer = data
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
        return f"{self._NAME} data"
