"""Buffered writing of whole records to a binary stream, and gzip and zstd streams.

A record is buffered for a fraction of a second at most, so that writing is cheap and a pipe is up to date. zstd is in
Python from 3.14 on; before, it needs backports.zstd, which is imported on first use.
"""

from __future__ import annotations

import gzip
import os
import time
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from itertools import accumulate
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import attrs

from ..model.errors import UsageError
from ..parser.content.codings import zstd_module

if TYPE_CHECKING:
    from ..model.records import Change
    from ..model.url_batch import UrlBatch


BLOCK_BYTES = 64 * 1024
# A caller that waits for the next record calls flush() too: together the delay is below half a second.
FLUSH_SECONDS = 0.25


class ByteStream(Protocol):
    """A file or pipe; `write` may take only a part, and returns its size."""

    def write(self, data: bytes, /) -> int | None: ...
    def flush(self) -> None: ...


@attrs.define(eq=False)
class Blocks:
    """Writes records to a stream in blocks of some 64 KiB, or after FLUSH_SECONDS.

    `hold` is entered around each write, to defer interrupts until a block is recorded as written. OSError, with `name`
    as its file, where the stream fails: the rest of the block is lost, `has_failed` is set, and `take_back` is called
    with the size of the incomplete record at the end of the stream. After an interrupted write, which would have to
    wait for the reader of a pipe, nothing more is written. `escape` is called with the records, one or many. `head` is
    written before the first.
    """

    _stream: ByteStream
    _name: str = "stdout"
    _clock: Callable[[], float] = attrs.field(default=time.monotonic, kw_only=True)
    hold: Callable[[], AbstractContextManager[object]] = attrs.field(default=nullcontext, kw_only=True)
    _take_back: Callable[[int], object] = attrs.field(default=lambda size: None, kw_only=True)
    _escape: Callable[[bytes], bytes] | None = attrs.field(default=None, kw_only=True)
    _head: bytes = attrs.field(default=b"", kw_only=True)
    has_begun: bool = attrs.field(default=False, init=False)
    has_failed: bool = attrs.field(default=False, init=False)
    _is_aborted: bool = attrs.field(default=False, init=False)
    _records: list[bytes] = attrs.field(factory=list, init=False)
    _bytes: int = attrs.field(default=0, init=False)
    _flush_at: float = attrs.field(default=0.0, init=False)

    def write(self, record: bytes) -> None:
        record = self._begun(record)
        if not self._records:
            self._flush_at = self._clock() + FLUSH_SECONDS
        record = self._escape(record) if self._escape else record
        self._records.append(record)
        self._bytes += len(record)
        if self._bytes >= BLOCK_BYTES or self._clock() >= self._flush_at:
            self.flush()

    def _begun(self, data: bytes) -> bytes:
        is_first = bool(data) and not self.has_begun
        self.has_begun = self.has_begun or bool(data)
        return self._head + data if is_first else data

    def write_lines(self, lines: bytes) -> None:
        """Writes many whole lines at once; each has a newline only at its end."""
        self.flush()
        lines = self._begun(lines)
        lines = self._escape(lines) if self._escape else lines
        with self.hold():
            self._put(lines, lambda taken: lines.rfind(b"\n", 0, taken) + 1)

    def flush(self) -> None:
        if not self._records:
            return
        with self.hold():
            records, self._records, self._bytes = self._records, [], 0
            ends = accumulate(map(len, records))
            self._put(b"".join(records), lambda taken: max((end for end in ends if end <= taken), default=0))

    def _put(self, block: bytes, whole: Callable[[int], int]) -> None:
        """Writes a block; `whole(taken)` is the size of the whole records in its first `taken` bytes."""
        if self._is_aborted:
            return
        size = len(block)
        try:
            while block:
                block = block[self._stream.write(block) or 0 :]
            self._stream.flush()
        except BaseException as exc:
            self.has_failed = True
            taken = size - len(block)
            self._take_back(taken - whole(taken))
            if not isinstance(exc, OSError):
                self._is_aborted = True
                raise
            # OSError() picks the subclass of the number: a broken pipe stays a BrokenPipeError.
            raise OSError(exc.errno, exc.strerror or str(exc), self._name) from exc


class Sink:
    def __init__(self, out: Blocks) -> None:
        self._out = out

    def write(self, json_object: dict[str, Any]) -> None:
        """Writes one object of to_dict(); UsageError for a value that the format cannot hold."""
        raise NotImplementedError

    def write_urls(self, batch: UrlBatch, *, site: str | None = None) -> None:
        from .jsonl import to_dict

        for record in batch.records():
            self.write(to_dict(record, site=site))

    def write_changes(self, piece: UrlBatch | list[Change], *, site: str | None = None) -> None:
        """The URLs of a batch are new."""
        from .jsonl import changes_of, to_dict

        for change in changes_of(piece):
            self.write(to_dict(change, site=site))

    def flush(self) -> None:
        self._out.flush()

    def close(self) -> None:
        """Writes the end of the file, and its header where it has no rows; called once, after all writes."""
        self.flush()


# --- gzip and zstd: chosen by the suffix of a file that is written, by the first bytes of one that is read ------


# Suffix of a file's name -> compression.
SUFFIXES = {".gz": "gzip", ".zst": "zstd"}
# The first bytes of compressed data (RFC 1952 2.3.1, RFC 8878 3.1.1).
MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}


def compression_of(head: bytes) -> str | None:
    """The key of MAGIC with which the first bytes of a file begin; None without compression."""
    return next((name for name, magic in MAGIC.items() if head.startswith(magic)), None)


def split_compression(path: str | os.PathLike[str]) -> tuple[str, str | None]:
    """The name without the suffix of a compression, and the compression; None where it has no such suffix.

    >>> split_compression("urls.csv.gz"), split_compression("URLS.JSONL.ZST"), split_compression("urls.csv")
    (('urls.csv', 'gzip'), ('URLS.JSONL', 'zstd'), ('urls.csv', None))
    """
    name = os.fspath(path)
    bare, suffix = os.path.splitext(name)
    compression = SUFFIXES.get(suffix.lower())
    return (bare, compression) if compression else (name, None)


def check_compression(compression: str | None, name: str) -> None:
    """UsageError, about the file `name`, where the module for a compression is missing."""
    if compression == "zstd":
        try:
            zstd_module()
        except ImportError:
            raise UsageError(f"{name}: zstd needs a module: pip install backports.zstd; or use .gz") from None


class Compressed:
    """A stream that compresses to another; after flush() all that was written can be read.

    finish() writes the end of the compressed data, without which readers report a truncated file.
    """

    def __init__(self, out: ByteStream, compression: str) -> None:
        self._out = out
        self._compressor: Any
        if compression == "gzip":
            # zlib's own header has no name and no time: equal data gives equal files.
            self._compressor = zlib.compressobj(wbits=31)
            self._block, self._end = zlib.Z_SYNC_FLUSH, zlib.Z_FINISH
        else:
            self._compressor = zstd_module().ZstdCompressor()
            self._block, self._end = self._compressor.FLUSH_BLOCK, self._compressor.FLUSH_FRAME

    def write(self, data: bytes, /) -> int:
        self._pass_on(self._compressor.compress(data))
        return len(data)

    def flush(self) -> None:
        self._pass_on(self._compressor.flush(self._block))
        self._out.flush()

    def finish(self) -> None:
        self._pass_on(self._compressor.flush(self._end))
        self._out.flush()

    def _pass_on(self, data: bytes) -> None:
        while data:
            data = data[self._out.write(data) or 0 :]


def decompressed(source: BinaryIO, compression: str, name: str) -> Any:
    """A binary stream of the decompressed data, members and frames joined; UsageError without the module."""
    if compression == "gzip":
        return gzip.GzipFile(fileobj=source, mode="rb")
    check_compression(compression, name)
    return zstd_module().ZstdFile(source)


def damage() -> tuple[type[BaseException], ...]:
    """The exceptions of reading compressed data that is truncated (EOFError) or damaged."""
    of_gzip = (EOFError, gzip.BadGzipFile, zlib.error)
    try:
        return *of_gzip, zstd_module().ZstdError
    except ImportError:
        return of_gzip
