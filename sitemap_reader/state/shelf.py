"""What is put away until its document comes to its end: bytes in, and the same back, as often as they are wanted.

So much of it is in memory, and all beyond that in a temporary file: where the ends of many documents wait for a proof,
what they list may be most of a site.
"""

from __future__ import annotations

from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, TypeAlias

from ..model.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Where the bytes are in the file, and how many; or they themselves.
Put: TypeAlias = bytes | tuple[int, int]

SHELF_BYTES = 48 * 1024 * 1024


class Shelf:
    """put(), then get() any number of times, then drop(); close() at the end of all."""

    def __init__(self, memory_bytes: int = SHELF_BYTES) -> None:
        self._room = memory_bytes
        self._file: IO[bytes] | None = None
        self._in_file = 0  # that were put and not dropped

    def put(self, data: bytes) -> Put:
        """What get() finds them by. StateError where the disk takes no more."""
        if len(data) <= self._room:
            self._room -= len(data)
            return data
        with _telling():
            start = self._write(data)
        self._in_file += 1
        return start, len(data)

    def _write(self, data: bytes) -> int:
        if self._file is None:
            self._file = TemporaryFile(buffering=0)  # noqa: SIM115 - for as long as this
        start = self._file.seek(0, 2)
        left = memoryview(data)
        while left:
            left = left[self._file.write(left) :]
        return start

    def get(self, put: Put) -> bytes:
        """The bytes."""
        if isinstance(put, bytes):
            return put
        assert self._file is not None  # noqa: S101 - for the type checker: there they were put
        start, length = put
        with _telling():
            self._file.seek(start)
            return self._file.read(length)

    def drop(self, put: Put) -> None:
        """They are wanted no more."""
        if isinstance(put, bytes):
            self._room += len(put)
            return
        self._in_file -= 1
        if not self._in_file and self._file is not None:
            self._file.seek(0)
            self._file.truncate()

    def close(self) -> None:
        """Removes the file. May be called twice."""
        if self._file is not None:
            self._file.close()


@contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        told = f"what is read cannot be put aside: {exc.strerror}; free some space, or name a folder in TMPDIR"
        raise StateError(told, is_unwritable=True) from exc
