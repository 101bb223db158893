"""Buffers the URLs of a document until its end, and counts its lastmods.

In: columns of URLs as they are read. Out, at the end of the document: the same. SpillBuffer holds them in memory up to
a limit, beyond that in a temporary file.
"""

from __future__ import annotations

import marshal
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

import attrs

from ..frontier.lastmod_trust import LastmodEvidence
from ..model.errors import StateError
from .rows import RowColumns

if TYPE_CHECKING:
    from collections.abc import Iterator


# Many documents may be deferred until robots.txt is verified: their URLs together may be most of a site.
SPILL_MEMORY_BYTES = 48 * 1024 * 1024
# A URL in memory: its number in the document, its lastmod, the object of its loc, and references to these and others.
_URL_BYTES = 32 + 32 + 49 + 7 * 8


@attrs.frozen(eq=False)
class SpillHandle:
    """A stored piece: `bytes` in memory, or in the temporary file from `start` on."""

    bytes: int
    piece: RowColumns | None = None
    start: int = 0


class SpillBuffer:
    """A store of pieces: put() returns a handle, get() reads it any number of times, drop() frees it.

    Up to some `memory_bytes` are in memory, all beyond in a temporary file, which close() removes.
    """

    def __init__(self, memory_bytes: int = SPILL_MEMORY_BYTES) -> None:
        self._free_bytes = memory_bytes
        self._file: IO[bytes] | None = None
        self._live_in_file = 0  # handles that were put and not dropped

    def put(self, piece: RowColumns) -> SpillHandle:
        """Stores a piece and returns its handle. StateError where the disk is full."""
        size = bytes_in_memory(piece)
        if size <= self._free_bytes:
            self._free_bytes -= size
            return SpillHandle(size, piece)
        data = marshal.dumps([*piece])
        with _file_errors():
            if self._file is None:
                self._file = TemporaryFile(buffering=0)  # noqa: SIM115 - closed by close()
            start = self._file.seek(0, 2)
            left = memoryview(data)
            while left:
                left = left[self._file.write(left) :]
        self._live_in_file += 1
        return SpillHandle(len(data), start=start)

    def get(self, handle: SpillHandle) -> RowColumns:
        """The piece of a handle that was not dropped."""
        if handle.piece is not None:
            return handle.piece
        assert self._file is not None  # noqa: S101 - for the type checker: put() made it
        with _file_errors():
            self._file.seek(handle.start)
            return RowColumns(*marshal.loads(self._file.read(handle.bytes)))  # noqa: S302 - our own

    def drop(self, handle: SpillHandle) -> None:
        """Frees the piece of a handle; the file is emptied when its last handle is dropped."""
        if handle.piece is not None:
            self._free_bytes += handle.bytes
            return
        self._live_in_file -= 1
        if not self._live_in_file and self._file is not None:
            self._file.seek(0)
            self._file.truncate()

    def close(self) -> None:
        """Removes the file. May be called twice."""
        if self._file is not None:
            self._file.close()


def bytes_in_memory(piece: RowColumns) -> int:
    """About what a piece takes in memory."""
    texts = [piece.locs, *(filter(None, column) for column in (piece.nested, piece.json_lines) if column)]
    return _URL_BYTES * len(piece.locs) + sum(sum(map(len, each)) for each in texts)


@contextmanager
def _file_errors() -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        message = f"cannot write a temporary file: {exc.strerror}; free some space, or name a folder in TMPDIR"
        raise StateError(message, is_unwritable=True) from exc


class DocumentBuffer:
    """The URLs of one document: add() while it is read, then pieces() in its order.

    `cut_locs`: URLs of entries at which the document was cut off, so that not all that they state was read.
    """

    def __init__(self, spill: SpillBuffer) -> None:
        self.lastmods = LastmodEvidence()
        self.cut_locs: set[str] = set()
        self._spill = spill
        self._handles: list[SpillHandle] = []

    def add(self, piece: RowColumns, now: int) -> None:
        """Adds entries that were read at `now`, in seconds since 1970."""
        self.lastmods.add(piece.lastmods, piece.precisions, now)
        self._handles.append(self._spill.put(piece))

    def pieces(self) -> Iterator[RowColumns]:
        """What was added."""
        return map(self._spill.get, self._handles)

    def release(self) -> None:
        """Frees the pieces."""
        for handle in self._handles:
            self._spill.drop(handle)
        self._handles = []
