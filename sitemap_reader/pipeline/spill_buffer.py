"""Keeps stores of URLs until they are needed: in memory up to a limit, beyond that in a temporary file."""

from __future__ import annotations

import pickle
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

import attrs

from ..model.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.columns import UrlColumns


# Many documents may wait until robots.txt is verified: their URLs together may be most of a site.
SPILL_MEMORY_BYTES = 48 * 1024 * 1024
_PROBLEM_BYTES = 700  # of a URL with one


@attrs.frozen(eq=False)
class SpillHandle:
    """A stored store of URLs: `bytes` in memory, or in the temporary file from `start` on."""

    bytes: int
    store: UrlColumns | None = None
    start: int = 0


class SpillBuffer:
    """Keeps stores of URLs: put() returns a handle, get() reads it any number of times, drop() frees it."""

    def __init__(self, memory_bytes: int = SPILL_MEMORY_BYTES) -> None:
        self._free_bytes = memory_bytes
        self._file: IO[bytes] | None = None
        self._live_in_file = 0  # handles that were put and not dropped

    def put(self, store: UrlColumns) -> SpillHandle:
        """Keeps a store and returns its handle. StateError where the disk is full."""
        size = sys.getsizeof(store) + _PROBLEM_BYTES * len(store.problems)
        if size <= self._free_bytes:
            self._free_bytes -= size
            return SpillHandle(size, store)
        data = pickle.dumps(store)
        with _file_errors():
            if self._file is None:
                from tempfile import TemporaryFile  # here: most crawls need none

                self._file = TemporaryFile(buffering=0)  # noqa: SIM115 - closed by close()
            start = self._file.seek(0, 2)
            left = memoryview(data)
            while left:
                left = left[self._file.write(left) :]
        self._live_in_file += 1
        return SpillHandle(len(data), start=start)

    def get(self, handle: SpillHandle) -> UrlColumns:
        if handle.store is not None:
            return handle.store
        assert self._file is not None  # noqa: S101 - for the type checker: put() made it
        with _file_errors():
            self._file.seek(handle.start)
            store: UrlColumns = pickle.loads(self._file.read(handle.bytes))  # noqa: S301 - our own
            return store

    def drop(self, handle: SpillHandle) -> None:
        """Frees the store of a handle; the file is removed when its last handle is dropped."""
        if handle.store is not None:
            self._free_bytes += handle.bytes
            return
        self._live_in_file -= 1
        if not self._live_in_file:
            self.close()

    def close(self) -> None:
        """Removes the file. May be called twice."""
        if self._file is not None:
            self._file.close()
            self._file = None


@contextmanager
def _file_errors() -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        message = f"cannot write a temporary file: {exc.strerror}; free some space, or name a folder in TMPDIR"
        raise StateError(message, is_unwritable=True) from exc
