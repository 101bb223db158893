"""What one document lists now, while it is read: what of it is not as it was stored, and what its dates look like.

In: what it states, some URLs at a time, and how that differs from what is stored. Out: the same at the end of the
document. A URL takes some 120 bytes as long as that lasts, one that is as it was eight, and some 70 more at the end.
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
from .rows import SUBSECOND, Stated, is_exact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..frontier.lastmod_trust import History


# ----------------------------------------------------------------------------------------------------
# What is put away until its document comes to its end: bytes in, and the same back, as often as they are wanted.
#
# So much of it is in memory, and all beyond that in a temporary file: where the ends of many documents wait for a
# proof,
# what they list may be most of a site.


# Where the bytes are in the file, and how many; or they themselves.
Put: TypeAlias = bytes | tuple[int, int]

SHELF_BYTES = 48 * 1024 * 1024


class SpillBuffer:
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
        with _events():
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
        with _events():
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
def _events() -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        told = f"what is read cannot be put aside: {exc.strerror}; free some space, or name a folder in TMPDIR"
        raise StateError(told, is_unwritable=True) from exc


# A clock may be wrong by as much, and an answer be so late.
_MARGIN_SECONDS = 60
# Distinct dates that are counted: one that stands in most entries comes up early.
_MOST_DATES = 10_000


@attrs.define
class Dates:
    """What the lastmods look like, seen from a request that `began` when it did, in seconds since 1970."""

    began: int
    entries: int = 0
    dated: int = 0
    future: int = 0
    at_fetch: int = 0
    _counts: Counter[int] = attrs.field(factory=Counter)

    def add(self, stated: Stated, now: int) -> None:
        """Some entries that were read just `now`."""
        self.entries += len(stated.keys)
        dates = zip(stated.lastmods, stated.precisions, strict=True)
        seconds = [
            lastmod // 1_000_000 if precision == SUBSECOND else lastmod
            for lastmod, precision in dates
            if lastmod is not None
        ]
        self.dated += len(seconds)
        if len(self._counts) < _MOST_DATES:
            self._counts.update(seconds)
        if seconds and max(seconds) >= self.began - _MARGIN_SECONDS:
            self._look(stated, now)

    def _look(self, stated: Stated, now: int) -> None:
        for lastmod, precision in zip(stated.lastmods, stated.precisions, strict=True):
            if lastmod is not None:
                second = lastmod // 1_000_000 if precision == SUBSECOND else lastmod
                self.future += second > now + _MARGIN_SECONDS
                self.at_fetch += is_exact(precision) and -_MARGIN_SECONDS <= second - self.began <= (
                    now - self.began + _MARGIN_SECONDS
                )

    def history(self, before: History) -> History:
        """These in place of those of the reading before; what was seen to change stands."""
        identical = max(self._counts.values(), default=0)
        return attrs.evolve(
            before,
            entries=self.entries,
            dated=self.dated,
            identical=identical,
            future=self.future,
            at_fetch=self.at_fetch,
        )


class Said:
    """add() what the document lists; then `same`, the keys of what is as it was, and changed(), which is the rest."""

    def __init__(self, began: int, shelf: SpillBuffer) -> None:
        self.dates = Dates(began)
        self._shelf = shelf
        self.same = array("q")
        self._otherwise: set[int] = set()  # of the changed ones those that were stored
        self.changed_urls = 0
        self._changed: list[Put] = []

    def add(self, stated: Stated, unlike: Mapping[int, bool] | None, now: int) -> None:
        """Some entries. `unlike` are the places of those that are not stored as they are, and whether they are stored.

        With None nothing at all is stored.
        """
        self.dates.add(stated, now)
        if unlike is None:
            self._keep(stated)
            return
        self._otherwise.update(stated.keys[place] for place, is_stored in unlike.items() if is_stored)
        # What is listed as it was behind a listing that says otherwise has to be weighed against that.
        differs = [place in unlike or key in self._otherwise for place, key in enumerate(stated.keys)]
        self.same.extend(compress(stated.keys, map(not_, differs)))
        if any(differs):
            self._keep(stated.only(differs))

    @property
    def stored_urls(self) -> int:
        """How many that were stored are listed again."""
        return len(self._otherwise.union(self.same))

    def _keep(self, stated: Stated) -> None:
        self.changed_urls += len(stated.keys)
        self._changed.append(self._shelf.put(marshal.dumps([*stated])))

    def changed(self) -> Iterator[Stated]:
        """What was not stored, or otherwise, in the order of the document."""
        return (Stated(*marshal.loads(self._shelf.get(each))) for each in self._changed)  # noqa: S302 - our own

    def release(self) -> None:
        """Nobody wants more of it."""
        for each in self._changed:
            self._shelf.drop(each)
        self._changed = []
