"""Buffers the URLs of a document until its end, and counts its lastmods.

In: UrlBatches as they are read. Out, at the end of the document: the same, joined. SpillBuffer holds them in memory up
to a limit, beyond that in a temporary file.
"""

from __future__ import annotations

import pickle
import sys
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

import attrs

from ..frontier.lastmod_trust import LastmodEvidence
from ..model.errors import StateError
from ..model.url_batch import UrlBatch
from .diff_rules import MAX_BATCH_URLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.columns import UrlColumns


# Many documents may be deferred until robots.txt is verified: their URLs together may be most of a site.
SPILL_MEMORY_BYTES = 48 * 1024 * 1024


@attrs.frozen(eq=False)
class SpillHandle:
    """A stored store of URLs: `bytes` in memory, or in the temporary file from `start` on."""

    bytes: int
    store: UrlColumns | None = None
    start: int = 0


class SpillBuffer:
    """Keeps stores of URLs: put() returns a handle, get() reads it any number of times, drop() frees it.

    Up to some `memory_bytes` are in memory, all beyond in a temporary file, which close() removes.
    """

    def __init__(self, memory_bytes: int = SPILL_MEMORY_BYTES) -> None:
        self._free_bytes = memory_bytes
        self._file: IO[bytes] | None = None
        self._live_in_file = 0  # handles that were put and not dropped

    def put(self, store: UrlColumns) -> SpillHandle:
        """Keeps a store and returns its handle. StateError where the disk is full."""
        size = sys.getsizeof(store)
        if size <= self._free_bytes:
            self._free_bytes -= size
            return SpillHandle(size, store)
        data = pickle.dumps(store)
        with _file_errors():
            if self._file is None:
                self._file = TemporaryFile(buffering=0)  # noqa: SIM115 - closed by close()
            start = self._file.seek(0, 2)
            left = memoryview(data)
            while left:
                left = left[self._file.write(left) :]
        self._live_in_file += 1
        return SpillHandle(len(data), start=start)

    def get(self, handle: SpillHandle) -> UrlColumns:
        """The store of a handle that was not dropped."""
        if handle.store is not None:
            return handle.store
        assert self._file is not None  # noqa: S101 - for the type checker: put() made it
        with _file_errors():
            self._file.seek(handle.start)
            store: UrlColumns = pickle.loads(self._file.read(handle.bytes))  # noqa: S301 - our own
            return store

    def drop(self, handle: SpillHandle) -> None:
        """Frees the store of a handle; the file is emptied when its last handle is dropped."""
        if handle.store is not None:
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


@contextmanager
def _file_errors() -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        message = f"cannot write a temporary file: {exc.strerror}; free some space, or name a folder in TMPDIR"
        raise StateError(message, is_unwritable=True) from exc


class DocumentBuffer:
    """The URLs of one document: add() while it is read, then batches() in its order.

    `cut_locs`: URLs of entries at which the document was cut off, so that not all that they state was read.
    """

    def __init__(self, spill: SpillBuffer) -> None:
        self.lastmods = LastmodEvidence()
        self.cut_locs: set[str] = set()
        self._spill = spill
        self._handles: list[SpillHandle] = []

    def add(self, urls: UrlBatch, now: int) -> None:
        """Adds URLs that were read at `now`, in seconds since 1970."""
        self.lastmods.add(urls.lastmods, urls.precisions, now)
        for index, problems in urls.problems.items():
            if any(problem.code == "S01" and problem.severity == "error" for problem in problems):
                self.cut_locs.add(urls.locs[index])
        store = urls.store
        if len(urls) < len(store):
            store = store.empty()
            store.extend(urls.store, urls.start, urls.stop)
        self._handles.append(self._spill.put(store))

    def batches(self, sitemap: str) -> Iterator[UrlBatch]:
        """What was added, in batches of at least MAX_BATCH_URLS; the last may have fewer."""
        joined: UrlColumns | None = None
        for store in map(self._spill.get, self._handles):
            joined = joined or store.empty()
            joined.extend(store, 0, len(store))
            if len(joined) >= MAX_BATCH_URLS:
                yield UrlBatch(sitemap, joined)
                joined = None
        if joined:
            yield UrlBatch(sitemap, joined)

    def release(self) -> None:
        """Frees what was added. May be called twice."""
        for handle in self._handles:
            self._spill.drop(handle)
        self._handles = []
