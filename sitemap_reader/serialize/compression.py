"""gzip and zstd: by the suffix of a name where a file is written, by its first bytes where one is read.

In: a stream that takes bytes. Out: one that takes them before they are compressed. Never opens or closes a file.
zstd is in Python from 3.14 on; before, it needs backports.zstd, which is loaded when it is needed.
"""

from __future__ import annotations

import gzip
import os
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from ..model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .byte_streams import ByteStream

# Of a file's name -> how it is compressed.
SUFFIXES = {".gz": "gzip", ".zst": "zstd"}
# What compressed data begins with (RFC 1952 2.3.1, RFC 8878 3.1.1).
MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}


def split_compression(path: str | os.PathLike[str]) -> tuple[str, str | None]:
    """The name without the suffix of a compression, and that compression.

    >>> split_compression("urls.csv.gz"), split_compression("URLS.JSONL.ZST"), split_compression("urls.csv")
    (('urls.csv', 'gzip'), ('URLS.JSONL', 'zstd'), ('urls.csv', None))
    """
    name = os.fspath(path)
    bare, suffix = os.path.splitext(name)
    compression = SUFFIXES.get(suffix.lower())
    return (bare, compression) if compression else (name, None)


def zstd_module() -> Any:
    """The module; ImportError where there is none."""
    try:
        from compression import zstd  # Python 3.14
    except ImportError:
        from backports import zstd
    return zstd


def check_compression(compression: str | None, name: str) -> None:
    """UsageError where what is called `name` cannot be written or read so."""
    if compression == "zstd":
        try:
            zstd_module()
        except ImportError:
            raise UsageError(f"{name}: zstd needs a module: pip install backports.zstd; or use .gz") from None


class _Compressor(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self, mode: Any = ..., /) -> bytes: ...


def _gzip() -> tuple[_Compressor, Any, Any]:
    # zlib's own head of a gzip file: no name, and no time, so that the same data gives the same file.
    return zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS + 16), zlib.Z_SYNC_FLUSH, zlib.Z_FINISH


def _zstd() -> tuple[_Compressor, Any, Any]:
    compressor = zstd_module().ZstdCompressor()
    return compressor, compressor.FLUSH_BLOCK, compressor.FLUSH_FRAME


_COMPRESSORS: dict[str, Callable[[], tuple[_Compressor, Any, Any]]] = {"gzip": _gzip, "zstd": _zstd}


class Compressed:
    """Compresses what is written, and passes it on; flush() makes all that came so far readable.

    finish() writes the end of the compressed data, without which a reader says that the file is cut.
    """

    def __init__(self, out: ByteStream, compression: str) -> None:
        self._out = out
        self._compressor, self._block, self._end = _COMPRESSORS[compression]()

    def write(self, data: bytes, /) -> int:
        """Takes all of it."""
        self._pass_on(self._compressor.compress(data))
        return len(data)

    def flush(self) -> None:
        """Writes what the compressor holds back."""
        self._pass_on(self._compressor.flush(self._block))
        self._out.flush()

    def finish(self) -> None:
        """Writes the rest, and the end; once."""
        self._pass_on(self._compressor.flush(self._end))
        self._out.flush()

    def _pass_on(self, data: bytes) -> None:
        while data:
            data = data[self._out.write(data) or 0 :]


def decompressed(source: BinaryIO, compression: str, name: str) -> Any:
    """What a compressed stream holds, as a binary stream, members and frames joined; UsageError without the module."""
    if compression == "gzip":
        return gzip.GzipFile(fileobj=source, mode="rb")
    check_compression(compression, name)
    return zstd_module().ZstdFile(source)


def damage() -> tuple[type[BaseException], ...]:
    """What reading compressed data raises where it is cut (EOFError) or damaged."""
    of_gzip = (EOFError, gzip.BadGzipFile, zlib.error)
    try:
        return *of_gzip, zstd_module().ZstdError
    except ImportError:
        return of_gzip
