"""Buffers the URLs of a document until its end: those that changed, with their values, and the keys of the others.

In: columns of URLs as they are read, and which of them differ from the state. Out, at the end of the document: the
same columns, and counts of its lastmods. A changed URL takes some 120 bytes; an unchanged one 8, and some 70
more while the end is processed. SpillBuffer holds the columns in memory up to a limit, beyond that in a temporary file.
"""

from __future__ import annotations

import marshal
from array import array
from collections import Counter
from contextlib import contextmanager
from itertools import compress
from operator import not_
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, TypeAlias

import attrs

from ..model.errors import StateError
from .rows import SUBSECOND, UrlColumns, states_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..frontier.lastmod_trust import History


# The bytes themselves, or their offset and length in the temporary file.
SpillHandle: TypeAlias = bytes | tuple[int, int]

# Many documents may be deferred until robots.txt is verified: their URLs together may be most of a site.
SPILL_MEMORY_BYTES = 48 * 1024 * 1024

# Tolerance for a clock that is wrong, and for a slow response.
_MARGIN_SECONDS = 60
# Distinct lastmods that are counted: one that most entries have comes up early.
_MAX_DATES = 10_000


class SpillBuffer:
    """A store of byte strings: put() returns a handle, get() reads it any number of times, drop() frees it.

    Up to `memory_bytes` are in memory, all beyond in a temporary file, which close() removes.
    """

    def __init__(self, memory_bytes: int = SPILL_MEMORY_BYTES) -> None:
        self._free_bytes = memory_bytes
        self._file: IO[bytes] | None = None
        self._live_in_file = 0  # handles that were put and not dropped

    def put(self, data: bytes) -> SpillHandle:
        """Stores the bytes and returns their handle. StateError where the disk is full."""
        if len(data) <= self._free_bytes:
            self._free_bytes -= len(data)
            return data
        with _file_errors():
            start = self._write(data)
        self._live_in_file += 1
        return start, len(data)

    def _write(self, data: bytes) -> int:
        if self._file is None:
            self._file = TemporaryFile(buffering=0)  # noqa: SIM115 - closed by close()
        start = self._file.seek(0, 2)
        left = memoryview(data)
        while left:
            left = left[self._file.write(left) :]
        return start

    def get(self, handle: SpillHandle) -> bytes:
        """The bytes of a handle that was not dropped."""
        if isinstance(handle, bytes):
            return handle
        assert self._file is not None  # noqa: S101 - for the type checker: put() made it
        start, length = handle
        with _file_errors():
            self._file.seek(start)
            return self._file.read(length)

    def drop(self, handle: SpillHandle) -> None:
        """Frees the bytes of a handle; the file is emptied when its last handle is dropped."""
        if isinstance(handle, bytes):
            self._free_bytes += len(handle)
            return
        self._live_in_file -= 1
        if not self._live_in_file and self._file is not None:
            self._file.seek(0)
            self._file.truncate()

    def close(self) -> None:
        """Removes the file. May be called twice."""
        if self._file is not None:
            self._file.close()


@contextmanager
def _file_errors() -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        message = f"cannot write a temporary file: {exc.strerror}; free some space, or name a folder in TMPDIR"
        raise StateError(message, is_unwritable=True) from exc


@attrs.define
class LastmodCounts:
    """Counts of a document's lastmods, as in History; `began` is when the sync began, in seconds since 1970."""

    began: int
    entries: int = 0
    dated: int = 0
    future: int = 0
    at_fetch: int = 0
    _counts: Counter[int] = attrs.field(factory=Counter)

    def add(self, columns: UrlColumns, now: int) -> None:
        """Counts entries that were read at `now`, in seconds since 1970."""
        self.entries += len(columns.keys)
        dates = zip(columns.lastmods, columns.precisions, strict=True)
        seconds = [
            lastmod // 1_000_000 if precision == SUBSECOND else lastmod
            for lastmod, precision in dates
            if lastmod is not None
        ]
        self.dated += len(seconds)
        if len(self._counts) < _MAX_DATES:
            self._counts.update(seconds)
        if seconds and max(seconds) >= self.began - _MARGIN_SECONDS:
            self._count_recent(columns, now)

    def _count_recent(self, columns: UrlColumns, now: int) -> None:
        for lastmod, precision in zip(columns.lastmods, columns.precisions, strict=True):
            if lastmod is not None:
                second = lastmod // 1_000_000 if precision == SUBSECOND else lastmod
                self.future += second > now + _MARGIN_SECONDS
                self.at_fetch += states_time(precision) and -_MARGIN_SECONDS <= second - self.began <= (
                    now - self.began + _MARGIN_SECONDS
                )

    def update_history(self, history: History) -> History:
        """The history with these counts in place of the last ones; its counts of changes stay."""
        identical = max(self._counts.values(), default=0)
        return attrs.evolve(
            history,
            entries=self.entries,
            dated=self.dated,
            identical=identical,
            future=self.future,
            at_fetch=self.at_fetch,
        )


class DocumentBuffer:
    """The URLs of one document: add() while it is read, then changed() and the keys of the `unchanged`."""

    def __init__(self, began: int, spill: SpillBuffer) -> None:
        self.lastmods = LastmodCounts(began)
        self._spill = spill
        self.unchanged = array("q")
        self._stored_otherwise: set[int] = set()  # keys of changed URLs that the state has for this document
        self.changed_urls = 0
        self._changed: list[SpillHandle] = []

    def add(self, columns: UrlColumns, differing: Mapping[int, bool] | None, now: int) -> None:
        """Adds entries that were read at `now`, in seconds since 1970.

        `differing`: index of each entry that differs from the state -> whether the state has its URL at all. None
        stands for a document of which the state has no URL.
        """
        self.lastmods.add(columns, now)
        if differing is None:
            self._keep(columns)
            return
        self._stored_otherwise.update(columns.keys[index] for index, is_stored in differing.items() if is_stored)
        # An unchanged listing that repeats a changed one has to be compared with that at the end.
        is_kept = [index in differing or key in self._stored_otherwise for index, key in enumerate(columns.keys)]
        self.unchanged.extend(compress(columns.keys, map(not_, is_kept)))
        if any(is_kept):
            self._keep(columns.only(is_kept))

    @property
    def stored_urls(self) -> int:
        """The number of URLs that the state has for this document and that it still lists."""
        return len(self._stored_otherwise.union(self.unchanged))

    def _keep(self, columns: UrlColumns) -> None:
        self.changed_urls += len(columns.keys)
        self._changed.append(self._spill.put(marshal.dumps([*columns])))

    def changed(self) -> Iterator[UrlColumns]:
        """The URLs that are new or differ from the state, in document order."""
        return (UrlColumns(*marshal.loads(self._spill.get(handle))) for handle in self._changed)  # noqa: S302 - our own

    def release(self) -> None:
        """Frees the columns."""
        for handle in self._changed:
            self._spill.drop(handle)
        self._changed = []
