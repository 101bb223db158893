"""Draws the URLs to check: all listed URLs in, one by one; a stratified sample without replacement out.

A stratum is a sitemap and a section by language: the first folder of the path, as only the whole site shows which
folders state a language. Each URL has a pseudo-random rank, a hash of the seed and the URL, and a stratum's sample are
its URLs of lowest rank. So the sample depends on the seed and the URLs alone, not on the order in which sitemaps
arrive, and a later run draws mostly the same URLs. Fetches nothing.

Memory grows with the size of the sample, except for the set of keys by which repeated URLs are recognised.
"""

from __future__ import annotations

from hashlib import blake2b
from operator import attrgetter
from typing import TYPE_CHECKING

import attrs

from ..statistics.sections import first_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Stratum = tuple[str, str]  # sitemap, section

# While URLs are read. Beyond this, strata are sections of all sitemaps together; beyond it again, there is one.
MAX_STRATA = 2_000
# A stratum for so many URLs of the sample: with more strata, the smallest are one, "other".
URLS_PER_STRATUM = 5
OTHER: Stratum = ("other", "other")
# A stratum keeps at least so many URLs while others are read, and all together so many for each one of the sample. The
# chance that a stratum has fewer than its part of the sample in the end is below 1 in 10**9.
_LEAST_KEPT = 16
_KEPT_PER_SAMPLED = 8
_RANKS = 2.0**64
_rank = attrgetter("rank")


@attrs.frozen
class ListedUrl:
    """A URL, and where it is listed."""

    rank: float
    loc: str
    sitemap: str
    line: int | None = None


@attrs.define
class SampledStratum:
    """A stratum: the number of its URLs, and those of them that are in the sample, by rank."""

    size: int
    urls: list[ListedUrl] = attrs.field(factory=list)


@attrs.define
class _Kept:
    """The URLs of a stratum whose rank is below `limit`, and the number of all its URLs."""

    size: int = 0
    limit: float = 1.0
    urls: list[ListedUrl] = attrs.field(factory=list)

    def lower(self, limit: float) -> None:
        """Keeps the ranks below a limit, but the lowest ones in any case."""
        self.urls.sort(key=_rank)
        below = sum(each.rank < limit for each in self.urls)
        if below >= _LEAST_KEPT:
            self.limit = min(self.limit, limit)
            del self.urls[below:]
        elif len(self.urls) > _LEAST_KEPT:
            self.limit = self.urls[_LEAST_KEPT].rank
            del self.urls[_LEAST_KEPT:]


class UrlSample:
    """Takes listed URLs by add(), and returns the sample by draw(). `size` is None for all URLs."""

    def __init__(self, size: int | None, seed: int = 0, *, max_strata: int = MAX_STRATA) -> None:
        self.urls = 0  # unique ones
        self._size = size
        self._key = str(seed).encode()[:64]
        self._max_strata = max_strata
        self._seen: set[int] = set()
        self._strata: dict[Stratum, _Kept] = {}
        self._has_sitemaps = self._has_sections = True
        self._limit = 1.0
        self._kept = 0

    def add(self, sitemap: str, locs: Sequence[str], keys: Sequence[int], lines: Sequence[int | None]) -> None:
        """Adds URLs of a sitemap; `keys` are hashes of them. One that was added before, for any sitemap, is ignored."""
        seen, size = self._seen, self._size
        for loc, key, line in zip(locs, keys, lines, strict=True):
            if key in seen:
                continue
            seen.add(key)
            stratum = self._stratum(sitemap, loc)
            stratum.size += 1
            rank = int.from_bytes(blake2b(loc.encode(), digest_size=8, key=self._key).digest()) / _RANKS
            if rank < stratum.limit:
                stratum.urls.append(ListedUrl(rank, loc, sitemap, line))
                self._kept += 1
                if size is not None and self._kept > _KEPT_PER_SAMPLED * size + 2 * _LEAST_KEPT * len(self._strata):
                    self._limit /= 2
                    for each in self._strata.values():
                        each.lower(self._limit)
                    self._kept = sum(len(each.urls) for each in self._strata.values())
        self.urls = len(seen)

    def _stratum(self, sitemap: str, loc: str) -> _Kept:
        name = (sitemap if self._has_sitemaps else "", first_folder(loc) if self._has_sections else "")
        stratum = self._strata.get(name)
        if stratum is None:
            stratum = self._strata[name] = _Kept()
            if len(self._strata) > self._max_strata:
                self._coarsen()
                return self._stratum(sitemap, loc)
        return stratum

    def _coarsen(self) -> None:
        """Merges the sitemaps of each section, then all sections."""
        self._has_sections = self._has_sitemaps
        self._has_sitemaps = False
        groups: dict[Stratum, list[_Kept]] = {}
        for (_, name), stratum in self._strata.items():
            groups.setdefault(("", name if self._has_sections else ""), []).append(stratum)
        self._strata = {name: _merged(strata) for name, strata in groups.items()}
        self._kept = sum(len(each.urls) for each in self._strata.values())
        if len(self._strata) > self._max_strata:
            self._coarsen()

    def draw(self) -> list[SampledStratum]:
        """The strata with their part of the sample; proportional, at least one URL each."""
        strata = sorted(self._strata.items(), key=lambda each: (-each[1].size, each[0]))
        kept = [each for _, each in strata]
        if self._size is None:
            numbers = [each.size for each in kept]
        else:
            most = max(self._size // URLS_PER_STRATUM, 1)
            if len(kept) > most:
                kept = [*kept[: most - 1], _merged(kept[most - 1 :])]
            numbers = allocate([each.size for each in kept], self._size)
        return [
            SampledStratum(each.size, sorted(each.urls, key=_rank)[:number])
            for each, number in zip(kept, numbers, strict=True)
        ]


def _merged(strata: Iterable[_Kept]) -> _Kept:
    """Strata as one: the ranks that all of them have kept."""
    strata = [*strata]
    limit = min(each.limit for each in strata)
    urls = [url for each in strata for url in each.urls if url.rank < limit]
    return _Kept(sum(each.size for each in strata), limit, urls)


def allocate(sizes: Sequence[int], total: int) -> list[int]:
    """A sample of `total` in proportion to sizes: none is over its size, and each has 1 if `total` is enough for that.

    >>> allocate([900, 90, 9, 1], 100), allocate([3, 2], 10)
    ([89, 9, 1, 1], [3, 2])
    """
    if sum(sizes) <= total:
        return [*sizes]
    quotas = [total * size / sum(sizes) for size in sizes]
    numbers = [max(int(quota), 1) for quota in quotas]
    while (missing := total - sum(numbers)) != 0:
        step = 1 if missing > 0 else -1
        movable = [
            i for i, number in enumerate(numbers) if (number < sizes[i] if step > 0 else number > (len(sizes) <= total))
        ]
        movable.sort(key=lambda i: step * (numbers[i] - quotas[i]))
        for index in movable[: abs(missing)]:
            numbers[index] += step
    return numbers
