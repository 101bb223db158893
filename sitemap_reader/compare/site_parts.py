"""Sums changes by section and by sitemap: how many URLs each had, and how many of these left or came."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs

from ..parser.compiled import batch_of
from ..statistics.sections import SectionCounts, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..model.records import UrlRecord
    from ..model.url_batch import UrlBatch

# Pairs of a place and a sitemap; URLs of further ones are counted together.
_MAX_PARTS = 100_000


@attrs.frozen
class PartChanges:
    """A section or a sitemap: the URLs that it had `before`, those of them that are `removed`, and `new` ones.

    >>> print(PartChanges("/blog/", before=60, removed=45, new=3))
    /blog/: 45 removed of 60, 3 new
    """

    name: str
    before: int
    removed: int
    new: int = 0

    def __str__(self) -> str:
        parts = [f"{self.removed:,} removed of {self.before:,}"] if self.removed else []
        parts += [f"{self.new:,} new"] if self.new else []
        return f"{self.name}: {', '.join(parts)}"


class SiteParts:
    """Numbers the pairs of section and sitemap of URLs: numbers_of() all, then sections() and sitemaps() of counts."""

    def __init__(self) -> None:
        self._sections = SectionCounts()
        self._numbers: dict[tuple[str, str], int] = {}  # (place, sitemap) -> its number

    def numbers_of(self, records: Sequence[UrlRecord], batch: UrlBatch | None = None) -> list[int]:
        """The number of each record; `batch` has the same URLs."""
        self._sections.add(batch or batch_of(None, records))
        return [self._number(place_of(each.loc), each.sitemap or "") for each in records]

    def _number(self, place: str, sitemap: str) -> int:
        if len(self._numbers) >= _MAX_PARTS and (place, sitemap) not in self._numbers:
            place = sitemap = ""
        return self._numbers.setdefault((place, sitemap), len(self._numbers))

    def sections(
        self, before: Counter[int], removed: Counter[int], new: Counter[int] | None = None
    ) -> tuple[PartChanges, ...]:
        """The sections that lost or won URLs, by the counts of each number; empty if there is one section only."""
        return _changes(self._sections.names_of(place for place, _ in self._numbers), before, removed, new)

    def sitemaps(
        self, before: Counter[int], removed: Counter[int], new: Counter[int] | None = None
    ) -> tuple[PartChanges, ...]:
        """As sections(), by sitemap; URLs whose sitemap is not known are left out."""
        return _changes((sitemap for _, sitemap in self._numbers), before, removed, new)


def _changes(
    names: Iterable[str], before: Counter[int], removed: Counter[int], new: Counter[int] | None
) -> tuple[PartChanges, ...]:
    """Those with most removed URLs first."""
    named = [*names]
    had, lost, won = (_by_name(named, counts) for counts in (before, removed, new or Counter()))
    if len({*had, *won} - {""}) < 2:
        return ()
    found = (PartChanges(name, had[name], lost[name], won[name]) for name in {*lost, *won} - {""})
    return tuple(sorted(found, key=lambda each: (-each.removed, -each.new, each.name)))


def _by_name(names: Sequence[str], counts: Counter[int]) -> Counter[str]:
    total: Counter[str] = Counter()
    for number, count in counts.items():
        total[names[number]] += count
    return +total
