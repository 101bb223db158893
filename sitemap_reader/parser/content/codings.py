"""Undoes the compression of a body: bytes as they were sent in, decompressed chunks of at most 64 KiB out.

The codings of Content-Encoding come first: gzip, deflate, br and zstd, the last two with the packages of an extra. Then
gzip is undone by its magic, whatever the headers say. Output, faults and counters do not depend on how the input was
cut; all output before an error is returned. Faults go into a list; bad data never raises.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

import attrs

from ...model.limits import over_limit

with suppress(ImportError):  # it gives the same output and errors in half the time
    from zlib_ng import zlib_ng as zlib  # type: ignore[no-redef]

if TYPE_CHECKING:
    from ...model.limits import Limits
    from ...model.problems import Kind, Severity

# The extra with the packages for br and zstd.
EXTRA = "warc"
MAGIC = b"\x1f\x8b\x08"  # RFC 1952 2.3.1: ID1, ID2, and deflate, the only method there is
STEP_BYTES = 64 * 1024  # the most output of one step
SLICE_BYTES = 16 * 1024  # the most input of one step
IDLE_SLICES = 64  # consecutive slices of input without output before decoding stops: 1 MiB


INVALID_BYTES: Final = "bytes invalid in the charset"


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


def zstd_module() -> Any:
    """The zstd module; ImportError where none is installed."""
    try:
        from compression import zstd  # Python 3.14
    except ImportError:
        from backports import zstd
    return zstd


def content_codings(content_encoding: str) -> list[str]:
    """The codings to undo, in that order: all but a gzip that was applied first, which its magic shows.

    `x-gzip` is gzip (RFC 9110 8.4.1.3).

    >>> content_codings("gzip"), content_codings("br, gzip"), content_codings("x-deflate")
    ([], ['gzip', 'br'], ['deflate'])
    """
    named = (coding.strip().removeprefix("x-") for coding in content_encoding.lower().split(","))
    codings = [coding for coding in named if coding not in ("", "identity")]
    while codings[:1] == ["gzip"]:
        del codings[0]
    return codings[::-1]


def needs_extra(coding: str) -> bool:
    """Whether packages of EXTRA undo this coding."""
    return coding in _STREAMS


def _is_readable(coding: str) -> bool:
    try:
        return coding in ("gzip", "deflate") or _STREAMS[coding]() is not None
    except (KeyError, ImportError):
        return False


class Decompressor:
    """The layers of compression of one body, outermost first.

    The iterators of `feed` and `close` must be exhausted. `unread_encoding` is what cannot be undone of the codings:
    one that is unknown or needs a package, or all of more than max_gzip_layers. The bytes then are as they were sent.
    """

    def __init__(self, limits: Limits, content_encoding: str, faults: list[DecodeFault]) -> None:
        codings, last = content_codings(content_encoding), limits.max_gzip_layers
        too_many = content_encoding if len(codings) > last else None
        unreadable = (coding for coding in reversed(codings) if not _is_readable(coding))
        self.unread_encoding = next(unreadable, None) or too_many
        self._outermost = GzipDecoder(limits, faults, layers=last)
        for coding in reversed(codings if self.unread_encoding is None else ()):
            layer = GzipDecoder(limits, faults) if coding == "gzip" else DeclaredDecoder(coding, limits, faults)
            layer.inner, self._outermost = self._outermost, layer

    @property
    def stopped(self) -> bool:
        """Whether further input gives no more output."""
        return self._outermost.stopped

    @property
    def has_opened(self) -> bool:
        """Whether the outermost layer was compressed as it should be."""
        return self._outermost.opened

    @property
    def gzip_layers(self) -> int:
        """How many layers of gzip the data has, without those of a Content-Encoding that names others too."""
        layer: GzipDecoder | None = self._outermost
        layers = 0
        while layer is not None:
            layers += layer.opened and not isinstance(layer, DeclaredDecoder)
            layer = layer.inner
        return layers

    def feed(self, data: bytes) -> Iterator[bytes]:
        return self._outermost.feed(data)

    def close(self, *, cut: bool = False) -> Iterator[bytes]:
        """The rest. `cut`: it is known already that the end is missing."""
        return self._outermost.close(cut=cut)


# --- one layer --------------------------------------------------------------------------------------------------


class GzipDecoder:
    """Decodes one layer of gzip; data without the gzip magic passes unchanged.

    Faults are appended to `faults` in the order of the data. `opened`: gzip was detected. `stopped`: no more input is
    read. `inner` gets the output, if it may be compressed too. `layers`: so many of gzip may be undone, this one and
    those in it, for which it makes the `inner` ones; above that, gzip itself is a fault. 1 MiB of input without output
    ends the layer: an endless file name or padding, or empty deflate blocks.
    """

    _NAME = "gzip"
    _MAGIC = MAGIC  # of a further member; b"" where there is one only

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
        self._inflater: Inflater | None = None  # of the member; None between members
        self._buffer = b""  # what may be the start of a member
        self._skip = 0  # bytes of a wrong trailer
        self._bad_trailer = False
        # Idle input is counted in slices at fixed offsets, so that the way the input was cut does not matter.
        self._slice_left = SLICE_BYTES
        self._bytes_before = 0  # output before this slice
        self._idle_slices = 0

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
        elif not self.stopped and (self._inflater or self._buffer or self._skip):
            if not cut:
                self._faults.append(DecodeFault("F07", f"{self._NAME} data is cut off, its end is missing", lossy=True))
            self.cut = True
        if self.inner:
            yield from self.inner.close(cut=cut or self.cut)
            self.stopped = self.stopped or self.inner.stopped

    def _recognise(self, data: bytes) -> bytes:
        data, self._buffer = self._buffer + data, b""
        if len(data) < len(MAGIC) and MAGIC.startswith(data):
            self._buffer = data
            return b""
        if not data.startswith(MAGIC):
            self._plain = True
        elif self._layers == 0:
            self._stop_at("max_gzip_layers", self._limits.max_gzip_layers, "layer of gzip")
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
            self._stop_at("max_decoded_bytes", self._limits.max_decoded_bytes, "byte decoded")

    def _unpack(self, data: bytes) -> Iterator[bytes]:
        start = 0
        while start < len(data) and not self.stopped:
            rest = data[start : start + self._slice_left]
            start += len(rest)
            self._slice_left -= len(rest)
            while rest and not self.stopped:
                rest = (yield from self._inflate(self._inflater, rest)) if self._inflater else self._between(rest)
            if not (self._slice_left or self.stopped):
                self._end_slice()

    def _inflate(self, inflater: Inflater, data: bytes) -> Generator[bytes, None, bytes]:
        """The output of the member; returns the input behind its end."""
        while True:
            try:
                piece, data = inflater.step(data)
            except inflater.error as exc:
                piece, behind = inflater.salvage(data)
                yield from self._pass(piece)
                return b"" if self.stopped else self._behind_error(str(exc), behind)
            yield from self._pass(piece)
            if inflater.done:
                self._inflater = None
                return inflater.unused
            if self.stopped or not (data or inflater.has_more):
                return b""

    def _behind_error(self, message: str, behind: bytes) -> bytes:
        """Goes on behind a wrong trailer of gzip; any other error ends the layer."""
        wrong, skip = next((each for end, each in _TRAILER_ERRORS.items() if message.endswith(end)), ("", 0))
        if not wrong or self._NAME != "gzip":
            self._stop("F07", f"{self._part} is corrupt, the rest cannot be read")
            return b""
        if not self._bad_trailer:  # one fault for all members
            message = f"{self._part} is damaged: wrong {wrong}"
            self._faults.append(DecodeFault("F07", message, lossy=True, kind="wrong checksum or size"))
        self._bad_trailer, self._inflater, self._skip = True, None, skip
        return behind

    def _between(self, data: bytes) -> bytes:
        """Begins the next member, if one begins there; returns its input."""
        skipped = data[: self._skip]
        self._skip -= len(skipped)
        # NULs pad the end of a tape or disk block; another member may follow them.
        data = (self._buffer + data[len(skipped) :]).lstrip(b"\0")
        may_follow = bool(self._MAGIC) and self._MAGIC.startswith(data[: len(self._MAGIC)])
        self._buffer = data if may_follow and len(data) < len(self._MAGIC) else b""
        if self._buffer or not data:
            return b""
        if may_follow:
            self._begin_member()
        else:
            self._stop_at_trailing_data()
        return data

    def _begin_member(self) -> None:
        self._members += 1
        self._inflater = self._new_inflater()
        if self._members > self._limits.max_gzip_members:
            unit = "member" if self._NAME == "gzip" else "frame"
            self._stop_at("max_gzip_members", self._limits.max_gzip_members, f"{unit} of {self._NAME}")

    def _new_inflater(self) -> Inflater:
        return ZlibInflater(16 + zlib.MAX_WBITS)

    def _end_slice(self) -> None:
        self._slice_left = SLICE_BYTES
        self._idle_slices = 0 if self._bytes_out > self._bytes_before else self._idle_slices + 1
        self._bytes_before = self._bytes_out
        if self._idle_slices < IDLE_SLICES:
            return
        if self._inflater is None:
            self._stop_at_trailing_data()
        else:
            size = IDLE_SLICES * SLICE_BYTES
            self._stop("F07", f"{self._part}: {size:,} bytes gave no content, the rest is not read")

    def _stop(self, code: str, message: str) -> None:
        self._faults.append(DecodeFault(code, message, lossy=True))
        self.stopped = self.cut = True

    def _stop_at(self, name: str, limit: int, what: str) -> None:
        problem = over_limit(name, limit, what)
        self._stop(problem.code, problem.message)

    def _stop_at_trailing_data(self) -> None:
        """Ends the layer at data after the end of the compressed data."""
        state = "is damaged" if self._bad_trailer else "was complete"
        self._faults.append(DecodeFault("F07", f"junk behind the {self._NAME} data, which {state}", severity="warning"))
        self.stopped = True

    @property
    def _part(self) -> str:
        return f"gzip member {self._members:,}" if self._NAME == "gzip" else f"{self._NAME} data"


# RFC 9110 8.4.1.2: Content-Encoding deflate is the zlib format (RFC 1950). Many servers send raw deflate (RFC 1951),
# and browsers accept both. Raw deflate has no magic, and br has none, so only the header declares them.

# How many bytes are decompressed on trial: text that is declared so by mistake fails earlier.
HEAD_BYTES = 64
_METHOD = 8  # RFC 1950 2.2: CM, in the low four bits
_MULTIPLE = 31  # RFC 1950 2.2: FCHECK makes the first two bytes a multiple of this


class DeclaredDecoder(GzipDecoder):
    """Decodes one layer of deflate, br or zstd; data that does not decompress passes unchanged.

    zstd may have several frames, as gzip has members.
    """

    def __init__(self, coding: str, limits: Limits, faults: list[DecodeFault]) -> None:
        super().__init__(limits, faults)
        self._NAME = coding
        self._MAGIC = _ZSTD_MAGIC if coding == "zstd" else b""
        self._window_bits = zlib.MAX_WBITS  # of deflate
        self._is_ending = False

    def close(self, *, cut: bool = False) -> Iterator[bytes]:
        """The rest; a body shorter than HEAD_BYTES is decoded here."""
        if self._buffer and not (self.opened or self.stopped):
            body, self._buffer = self._buffer, b""
            self._open(body)
            yield from self._pass(body) if self._plain else self._unpack(body)
        self._is_ending = True
        if isinstance(self._inflater, BlockInflater) and not self.stopped:
            yield from self._unpack(self._inflater.end())
        yield from super().close(cut=cut)

    def _recognise(self, data: bytes) -> bytes:
        data, self._buffer = self._buffer + data, b""
        if len(data) < HEAD_BYTES:
            self._buffer = data
            return b""
        self._open(data)
        return data

    def _open(self, head: bytes) -> None:
        if head[0] & 15 != _METHOD or int.from_bytes(head[:2]) % _MULTIPLE:
            self._window_bits = -zlib.MAX_WBITS
        trial = self._new_stream()
        try:
            trial.step(head[:HEAD_BYTES])
        except trial.error:
            self._plain = True
            return
        self.opened = True
        self._begin_member()

    def _new_stream(self) -> ZlibInflater | _Brotli | _Zstd:
        return ZlibInflater(self._window_bits) if self._NAME == "deflate" else _STREAMS[self._NAME]()

    def _new_inflater(self) -> Inflater:
        stream = self._new_stream()
        return stream if isinstance(stream, ZlibInflater) else BlockInflater(stream, is_ending=self._is_ending)


# --- one stream -------------------------------------------------------------------------------------------------


class Inflater(Protocol):
    """Decompresses one stream in steps of bounded output.

    step() gives (at most 64 KiB of output, unread input). After `error`, which it raises, salvage() is called: it gives
    (the output before the error, the input behind it). `has_more`: step(b"") gives more output. `done`: the stream has
    ended, `unused` is what followed.
    """

    error: type[Exception]

    def step(self, data: bytes) -> tuple[bytes, bytes]: ...
    def salvage(self, data: bytes) -> tuple[bytes, bytes]: ...
    @property
    def has_more(self) -> bool: ...
    @property
    def done(self) -> bool: ...
    @property
    def unused(self) -> bytes: ...


# The end of zlib's message -> what is wrong, and how many bytes of the trailer are behind it (RFC 1952 2.3.1).
_TRAILER_ERRORS = {"incorrect data check": ("CRC", 4), "incorrect length check": ("size", 0)}


class ZlibInflater:
    """A gzip member, the zlib format or raw deflate, by zlib's window bits.

    zlib discards the output of a call that fails. So a copy of the decompressor is kept at intervals (the checkpoint),
    with the input since; after an error, that input is decompressed again, to the byte with the error.
    """

    def __init__(self, window_bits: int) -> None:
        self.error: type[Exception] = zlib.error
        self.has_more = False
        self._stream = zlib.decompressobj(window_bits)
        self._checkpoint = self._stream.copy()
        self._input = bytearray()  # since the checkpoint
        self._output_bytes = 0  # since the checkpoint

    def step(self, data: bytes) -> tuple[bytes, bytes]:
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

    def salvage(self, data: bytes) -> tuple[bytes, bytes]:
        replayed, most = bytes(self._input) + data, self._output_bytes + STEP_BYTES
        good, bad = 0, len(replayed)  # how much input is without the error, and with it
        while bad - good > 1:
            middle = (good + bad) // 2
            try:
                self._checkpoint.copy().decompress(replayed[:middle], most)
                good = middle
            except self.error:
                bad = middle
        out = bytearray(self._checkpoint.decompress(replayed[:good], most))
        rest = self._checkpoint.unconsumed_tail + replayed[good:bad]
        with suppress(self.error):  # the last byte may hold the end of some output, too
            while piece := self._checkpoint.decompress(rest, 1):
                out += piece
                rest = self._checkpoint.unconsumed_tail
        return bytes(out[self._output_bytes :]), replayed[bad:]

    @property
    def done(self) -> bool:
        return self._stream.eof

    @property
    def unused(self) -> bytes:
        return self._stream.unused_data


# Neither library can be copied as zlib can, so that an error loses the output of a call. Blocks at fixed offsets make
# that little, and the same however the input was cut; they take 2.2 times the CPU of blocks of 64 KiB.
_BLOCK_BYTES = 64
# RFC 9659 3: a window of zstd in HTTP has at most 8 MiB.
_WINDOW_LOG_MAX = 23
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"  # RFC 8878 3.1.1


class _Brotli:
    """One compressed stream: step() takes all data and gives some output, and step(b"") more while `has_more`."""

    def __init__(self) -> None:
        import brotli

        self.error: type[Exception] = brotli.error
        self._stream = brotli.Decompressor()
        self.unused = b""  # what follows the end of the stream is an error to brotli

    def step(self, data: bytes) -> bytes:
        return bytes(self._stream.process(data, output_buffer_limit=STEP_BYTES))

    @property
    def has_more(self) -> bool:
        return not self._stream.can_accept_more_data()

    @property
    def done(self) -> bool:
        return bool(self._stream.is_finished())


class _Zstd:
    """The same of zstd."""

    def __init__(self) -> None:
        zstd = zstd_module()
        self.error: type[Exception] = zstd.ZstdError
        options = {zstd.DecompressionParameter.window_log_max: _WINDOW_LOG_MAX}
        self._stream = zstd.ZstdDecompressor(options=options)

    def step(self, data: bytes) -> bytes:
        return bytes(self._stream.decompress(data, STEP_BYTES))

    @property
    def has_more(self) -> bool:
        return not (self._stream.needs_input or self._stream.eof)

    @property
    def done(self) -> bool:
        return bool(self._stream.eof)

    @property
    def unused(self) -> bytes:
        return bytes(self._stream.unused_data)


_STREAMS: dict[str, Callable[[], _Brotli | _Zstd]] = {"br": _Brotli, "zstd": _Zstd}


class BlockInflater:
    """The Inflater of a stream of br or zstd: in blocks, or byte by byte once the data `is_ending`.

    A whole block waits for more data, so that the last bytes, behind which there may be others, are never in a block.
    """

    def __init__(self, stream: _Brotli | _Zstd, *, is_ending: bool) -> None:
        self._stream = stream
        self.error = stream.error
        self._is_ending = is_ending
        self._block = b""
        self._rest = b""  # of the data, behind what the last step took

    def step(self, data: bytes) -> tuple[bytes, bytes]:
        if self.has_more:
            taken = b""
        elif self._is_ending:
            taken, data = data[:1], data[1:]
        elif data and len(self._block) == _BLOCK_BYTES:
            taken, self._block = self._block, b""
        else:
            missing = _BLOCK_BYTES - len(self._block)
            self._block += data[:missing]
            return b"", data[missing:]
        self._rest = data
        return self._stream.step(taken), data

    def end(self) -> bytes:
        """The bytes of the last block, to be given to step() once more."""
        block, self._block, self._is_ending = self._block, b"", True
        return block

    def salvage(self, data: bytes) -> tuple[bytes, bytes]:
        return b"", b""  # the libraries drop what they had before the error

    @property
    def has_more(self) -> bool:
        return self._stream.has_more

    @property
    def done(self) -> bool:
        return self._stream.done

    @property
    def unused(self) -> bytes:
        return self._stream.unused + self._rest
