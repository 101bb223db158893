"""Undoes the compression of a body: bytes as they were sent in, decompressed chunks of at most 64 KiB out.

The codings of Content-Encoding come first: gzip, deflate, br and zstd, the last two with the packages of an extra. Then
gzip is undone by its magic, whatever the headers say. Faults go into a list; bad data never raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .gzip import HEAD_BYTES, STEP_BYTES, DeflateDecoder, GzipDecoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...model.limits import Limits
    from .gzip import DecodeFault

# The extra with the packages for br and zstd.
EXTRA = "warc"
# Neither library can be copied as zlib can, so that an error loses the output of a call. Blocks at fixed offsets make
# that little, and the same however the input was cut; they take 2.2 times the CPU of blocks of 64 KiB.
_BLOCK_BYTES = 64
# RFC 9659 3: a window of zstd in HTTP has at most 8 MiB.
_WINDOW_LOG_MAX = 23
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"  # RFC 8878 3.1.1


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
            layer = _LAYERS[coding](coding, limits, faults)
            layer.inner, self._outermost = self._outermost, layer

    @property
    def stopped(self) -> bool:
        """Whether further input gives no more output."""
        return self._outermost.stopped

    @property
    def has_opened(self) -> bool:
        """Whether the outermost layer was compressed as it should be."""
        return self._outermost.opened

    def feed(self, data: bytes) -> Iterator[bytes]:
        return self._outermost.feed(data)

    def close(self, *, cut: bool = False) -> Iterator[bytes]:
        """The rest. `cut`: it is known already that the end is missing."""
        return self._outermost.close(cut=cut)


# --- br and zstd ----------------------------------------------------------------------------------------------


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


class _BlockInflater:
    """The Inflater of br or zstd: in blocks, or byte by byte once the data `is_ending`.

    A whole block waits for more data, so that the last bytes, behind which there may be others, are never in a block.
    """

    def __init__(self, coding: str, *, is_ending: bool = False) -> None:
        self._stream = _STREAMS[coding]()
        self.error = self._stream.error
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

    def salvage(self, data: bytes) -> bytes:
        return b""  # the libraries drop what they had before the error

    @property
    def has_more(self) -> bool:
        return self._stream.has_more

    @property
    def done(self) -> bool:
        return self._stream.done

    @property
    def unused(self) -> bytes:
        return self._stream.unused + self._rest


class CodedDecoder(DeflateDecoder):
    """Decodes one layer of br or zstd; data that does not decompress passes unchanged, as some is declared so falsely.

    zstd may have several frames, as gzip has members.
    """

    def __init__(self, coding: str, limits: Limits, faults: list[DecodeFault]) -> None:
        super().__init__(limits, faults)
        self._NAME = coding
        self._MAGIC = _ZSTD_MAGIC if coding == "zstd" else b""
        self._is_ending = False
        self._inflater: _BlockInflater

    def _open(self, head: bytes) -> None:
        trial = _STREAMS[self._NAME]()
        try:
            trial.step(head[:HEAD_BYTES])
        except trial.error:
            self._plain = True
            return
        self.opened = True
        self._begin_member()

    def _begin_member(self) -> None:
        self._members += 1
        self._inflater = _BlockInflater(self._NAME, is_ending=self._is_ending)
        self._read = None
        if self._members > self._limits.max_gzip_members:
            self._stop_at("max_gzip_members", self._limits.max_gzip_members, f"frames of {self._NAME}")

    def _flush(self) -> Iterator[bytes]:
        self._is_ending = True
        if self._read is None and not self.stopped:
            yield from self._unpack(self._inflater.end())

    def _unpacked(self, piece: bytes) -> Iterator[bytes]:
        return self._pass(piece)  # brotli may return more than its limit


_LAYERS: dict[str, Callable[[str, Limits, list[DecodeFault]], GzipDecoder]] = {
    "gzip": lambda _, limits, faults: GzipDecoder(limits, faults),
    "deflate": lambda _, limits, faults: DeflateDecoder(limits, faults),
    **dict.fromkeys(_STREAMS, CodedDecoder),
}
