"""Draws the URLs to check: all listed URLs in, a stratified sample without replacement out; estimates shares from it.

A stratum is a sitemap and a section by language: the first folder of the path, as only the whole site shows which
folders state a language. Each URL has a pseudo-random rank, a hash of the seed and the URL, and a stratum's sample are
its URLs of lowest rank. So the sample depends on the seed and the URLs alone, not on the order in which sitemaps
arrive, and a later run draws mostly the same URLs. Fetches nothing. Memory grows with the size of the sample, except
for the set of keys by which repeated URLs are recognised.

An estimated share is the mean of the strata's shares, weighted by their sizes. Its 95% interval is the exact one of a
simple random sample without replacement (hypergeometric, as Clopper and Pearson do for the binomial), of the effective
size by Kish, (sum of weights)^2 / (sum of squared weights). A sample in proportion to the strata is at least as precise
as a simple random one of its size, so the interval holds for rare faults, and for faults of one stratum alone. Of all
URLs, the interval is the share itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import repeat
from operator import attrgetter

import attrs

from ..model.problems import count_of
from ..statistics.sections import first_folder
from .rule_docs import explain

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
    rank: float
    loc: str
    sitemap: str
    line: int | None = None
    lastmod: tuple[int | None, int | None] = (None, None)  # as in the columns of a UrlBatch


@attrs.define
class SampledStratum:
    """A stratum: the number of its URLs, and those of them whose rank is below `limit`, in the end those to check."""

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


def rank_of(url: str, key: bytes) -> float:
    """A pseudo-random number from 0 to 1."""
    return int.from_bytes(blake2b(url.encode(), digest_size=8, key=key).digest()) / _RANKS


class UrlSample:
    """Takes listed URLs by add(), and returns the sample by draw(). `size` is None for all URLs."""

    def __init__(self, size: int | None, seed: int = 0, *, max_strata: int = MAX_STRATA) -> None:
        self.urls = 0  # unique ones
        self._size = size
        self._key = str(seed).encode()[:64]
        self._max_strata = max_strata
        self._sitemaps: dict[int, str] = {}  # key of a URL -> the first of its sitemaps, in the order of their URLs
        self._moved: set[tuple[str, str]] = set()  # URLs that are no longer of a sitemap, but of an earlier one
        self._strata: dict[Stratum, SampledStratum] = {}
        self._has_sitemaps = self._has_sections = True
        self._limit = 1.0
        self._kept = 0

    def add(
        self,
        sitemap: str,
        locs: Sequence[str],
        keys: Sequence[int],
        lines: Sequence[int | None],
        lastmods: Iterable[tuple[int | None, int | None]] = repeat((None, None)),
    ) -> None:
        """Adds URLs of a sitemap; `keys` are hashes of them.

        A URL in several sitemaps belongs to the first of them in the order of their URLs, whichever comes first.
        """
        size = self._size
        for loc, key, line, lastmod in zip(locs, keys, lines, lastmods, strict=False):
            known = self._sitemaps.get(key)
            if known is not None:
                if known <= sitemap:
                    continue
                self._stratum(known, loc).size -= 1
                self._moved.add((loc, known))
            self._sitemaps[key] = sitemap
            stratum = self._stratum(sitemap, loc)
            stratum.size += 1
            rank = rank_of(loc, self._key)
            if rank < stratum.limit:
                stratum.urls.append(ListedUrl(rank, loc, sitemap, line, lastmod))
                self._kept += 1
                if size is not None and self._kept > _KEPT_PER_SAMPLED * size + 2 * _LEAST_KEPT * len(self._strata):
                    self._limit /= 2
                    self._drop_moved()
                    for each in self._strata.values():
                        each.lower(self._limit)
                    self._kept = sum(len(each.urls) for each in self._strata.values())
        self.urls = len(self._sitemaps)

    def _drop_moved(self) -> None:
        """Removes the listings of URLs for which an earlier sitemap was found."""
        if self._moved:
            for each in self._strata.values():
                each.urls = [url for url in each.urls if (url.loc, url.sitemap) not in self._moved]
            self._moved.clear()

    def _stratum(self, sitemap: str, loc: str) -> SampledStratum:
        name = (sitemap if self._has_sitemaps else "", first_folder(loc) if self._has_sections else "")
        stratum = self._strata.get(name)
        if stratum is None:
            stratum = self._strata[name] = SampledStratum()
            if len(self._strata) > self._max_strata:
                self._coarsen()
                return self._stratum(sitemap, loc)
        return stratum

    def _coarsen(self) -> None:
        """Merges the sitemaps of each section, then all sections."""
        self._drop_moved()
        self._has_sections = self._has_sitemaps
        self._has_sitemaps = False
        groups: dict[Stratum, list[SampledStratum]] = {}
        for (_, name), stratum in self._strata.items():
            groups.setdefault(("", name if self._has_sections else ""), []).append(stratum)
        self._strata = {name: _merge(strata) for name, strata in groups.items()}
        self._kept = sum(len(each.urls) for each in self._strata.values())
        if len(self._strata) > self._max_strata:
            self._coarsen()

    def draw(self) -> list[SampledStratum]:
        """The strata with their part of the sample; proportional, at least one URL each."""
        self._drop_moved()
        strata = sorted(
            (each for each in self._strata.items() if each[1].size), key=lambda each: (-each[1].size, each[0])
        )
        kept = [each for _, each in strata]
        if self._size is None:
            numbers = [each.size for each in kept]
        else:
            most = max(self._size // URLS_PER_STRATUM, 1)
            if len(kept) > most:
                kept = [*kept[: most - 1], _merge(kept[most - 1 :])]
            numbers = allocate([each.size for each in kept], self._size)
        drawn = zip(kept, numbers, strict=True)
        return [attrs.evolve(each, urls=sorted(each.urls, key=_rank)[:number]) for each, number in drawn]


def _merge(strata: Iterable[SampledStratum]) -> SampledStratum:
    """Strata as one: the ranks that all of them have kept."""
    strata = [*strata]
    limit = min(each.limit for each in strata)
    urls = [url for each in strata for url in each.urls if url.rank < limit]
    return SampledStratum(sum(each.size for each in strata), limit, urls)


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


LEVEL = 0.95


@attrs.frozen
class StratumCounts:
    """Of a stratum: the number of its URLs, how many of these were checked, and how many of those have the fault."""

    size: int
    checked: int
    faulty: int


@attrs.frozen
class Share:
    """An estimated share of all URLs, and its 95% confidence interval from `low` to `high`; all from 0 to 1."""

    share: float
    low: float
    high: float


def estimate(strata: Sequence[StratumCounts]) -> Share | None:
    """The share of faulty URLs; None where none was checked. A stratum without a checked URL is taken to be average.

    >>> estimate([StratumCounts(100, 100, 7)])
    Share(share=0.07, low=0.07, high=0.07)
    """
    known = [each for each in strata if each.checked]
    if not known:
        return None
    size = sum(each.size for each in known)
    share = math.fsum(each.size * each.faulty / each.checked for each in known) / size
    checked, faulty = sum(each.checked for each in known), sum(each.faulty for each in known)
    effective = int(size**2 / math.fsum(each.size**2 / each.checked for each in known) + 1e-9)
    effective = min(max(effective, 1), checked)
    # A fraction where weights differ: each end is computed from the whole number on its side.
    least, most = math.floor(share * effective + 1e-9), math.ceil(share * effective - 1e-9)
    tail = (1 - LEVEL) / 2
    low = _first(size, lambda total: 1 - _at_most(least - 1, size, total, effective) > tail)
    high = _first(size, lambda total: _at_most(most, size, total, effective) <= tail) - 1
    # Faulty URLs that were found are there, and so are those without a fault.
    low, high = max(low, faulty), min(high, size - (checked - faulty))
    return Share(share, min(low / size, share), max(high / size, share))


def _first(size: int, holds: Callable[[int], bool]) -> int:
    """The first number from 0 to `size` for which it holds, as for all greater ones; else `size` + 1."""
    low, high = 0, size + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _at_most(count: int, size: int, total: int, drawn: int) -> float:
    """The chance of at most `count` faulty ones among `drawn` of `size`, of which `total` are faulty."""
    least, most = max(0, drawn - (size - total)), min(drawn, total)
    if count < least:
        return 0.0
    if count >= most:
        return 1.0
    term = math.exp(_log_choose(total, count) + _log_choose(size - total, drawn - count) - _log_choose(size, drawn))
    added = term
    for each in range(count, least, -1):  # from one count to the next lower one
        ratio = each * (size - total - drawn + each) / ((total - each + 1) * (drawn - each + 1))
        term *= ratio
        added += term
        if ratio < 1 and term < added * 1e-16:
            break
    return min(added, 1.0)


def _log_choose(number: int, chosen: int) -> float:
    return math.lgamma(number + 1) - math.lgamma(chosen + 1) - math.lgamma(number - chosen + 1)


# --- what a check of URLs found ---


@attrs.frozen
class FaultEstimate:
    """The share of a site's listed URLs that have a fault, estimated from the checked ones.

    `code` is that of the finding, `found` the number of checked URLs that have it; `share`, and its 95% confidence
    interval from `low` to `high`, are fractions of all unique listed URLs, about `urls` of them.
    """

    code: str
    found: int
    share: float
    low: float
    high: float
    urls: int


@attrs.frozen
class UrlCheckSummary:
    """What a check of listed URLs covered.

    `urls` counts unique listed URLs, `sampled` those that were to be checked (all of them with check_urls="all"), drawn
    from `strata` parts of the site with `seed`. `checked` have a result, if only a status, `reused` of these from the
    crawl file. `disallowed` were not requested because of robots.txt, and count in the shares as URLs without a fault.
    `complete` is False if the check was stopped.
    """

    urls: int
    sampled: int
    checked: int
    reused: int
    disallowed: int
    strata: int
    seed: int
    complete: bool
    estimates: tuple[FaultEstimate, ...] = ()

    @property
    def headline(self) -> str:
        """`500 of 10,000 unique URLs checked (sample by sitemap and section, seed 0)`."""
        kind = "" if self.sampled == self.urls else f" (sample by sitemap and section, seed {self.seed})"
        parts = [f"{self.checked:,} of {self.urls:,} unique URLs checked{kind}"]
        them = "it" if self.disallowed == 1 else "them"
        left = self.sampled - self.checked - self.disallowed
        counts = (
            (self.reused, "of these known from the crawl file"),
            (self.disallowed, f"not fetched, as robots.txt disallows {them}"),
            (left, "not checked" if self.complete else "not checked, as it was stopped"),
        )
        return "; ".join([*parts, *(f"{count:,} {what}" for count, what in counts if count)])

    def lines(self) -> list[str]:
        found = sorted((each for each in self.estimates if each.found), key=lambda each: (-each.share, each.code))
        none = [each for each in self.estimates if not each.found]
        lines = [self._line(each) for each in found]
        if none and self.checked:
            names = ", ".join(f"{explain(each.code).short_title} ({each.code})" for each in none)
            most = 0.0 if self.sampled == self.urls else max(each.high for each in none)
            lines.append(f"none found{f', each at most {_percent(most)}%' if most else ''}: {names}")
        return lines

    def _line(self, each: FaultEstimate) -> str:
        row = explain(each.code)
        if self.sampled == self.urls:
            are = row.faulty_url if each.found == 1 else row.faulty_urls
            return f"{each.found:,} of {count_of(self.checked, 'checked URL')} {are} ({each.code})"
        are = row.faulty_url if each.urls == 1 else row.faulty_urls
        if each.low == each.high:
            return f"{each.urls:,} of {count_of(self.urls, 'URL')} {are} ({each.code})"
        share = f"{_percent(each.share)}% ({_percent(each.low)} to {_percent(each.high)}%) of {self.urls:,} URLs"
        return f"{share}: about {each.urls:,} {are} ({each.code})"


def _percent(share: float) -> str:
    """`1.2`; never 0 for more than nothing, never 100 for less than all."""
    if 0 < share < 0.0005:
        return "under 0.1"
    if 0.9995 <= share < 1:
        return "over 99.9"
    return f"{share * 100:.1f}".removesuffix(".0")
