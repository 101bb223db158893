"""The lastmods that pages had: added by key, to tell later whether one differs. 64 bits or so for each.

A lastmod is the period that it states: one that only states more of the same time does not differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..parser.normalise.dates import period_end
from ..serialize.jsonl import stamp
from ..state.rows import PRECISIONS, micros, moment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from ..model.records import Precision

_BITS = 3  # for the place of a precision


class FormerLastmods:
    """Of a page that several sitemaps list, all that they state."""

    def __init__(self) -> None:
        self._first: dict[int, int] = {}
        self._more: dict[int, set[int]] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._first

    def add(self, key: int, lastmod: datetime, precision: Precision | None) -> None:
        """One more."""
        packed = _packed(lastmod, precision)
        if self._first.setdefault(key, packed) != packed:
            self._more.setdefault(key, set()).add(packed)

    def other_than(self, key: int, lastmod: datetime, precision: Precision | None) -> str | None:
        """What the page had, if that is another: the first that was added. None for the same, or where it had none."""
        first = self._first.get(key)
        if first is None or first == _packed(lastmod, precision):
            return None
        if any(_overlap(_unpacked(each), (lastmod, precision or "second")) for each in self._all(key, first)):
            return None
        had, stated = _unpacked(first)
        return had.date().isoformat() if stated == "day" else stamp(had)

    def _all(self, key: int, first: int) -> Iterator[int]:
        yield first
        yield from self._more.get(key, ())


def _packed(lastmod: datetime, precision: Precision | None) -> int:
    return (micros(lastmod) << _BITS) + PRECISIONS.index(precision or "second")


def _unpacked(packed: int) -> tuple[datetime, Precision]:
    number, place = divmod(packed, 1 << _BITS)
    return moment(number), PRECISIONS[place]


def _overlap(one: tuple[datetime, Precision], other: tuple[datetime, Precision]) -> bool:
    """Whether two periods have an instant in common."""
    return one[0] < period_end(*other) and other[0] < period_end(*one)
