"""Estimates shares of all URLs from a stratified sample: counts of strata in, a share with its 95% interval out.

The share is the mean of the strata's shares, weighted by their sizes. The interval is the exact one of a simple random
sample without replacement (hypergeometric, as Clopper and Pearson do for the binomial), of the effective size by Kish,
(sum of weights)^2 / (sum of squared weights). A sample in proportion to the strata is at least as precise as a simple
random one of its size, so the interval holds for rare faults, and for faults of one stratum alone. Of all URLs, the
interval is the share itself.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs

from .rule_docs import explain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    low, high = _interval(size, effective, share * effective)
    # Faulty URLs that were found are there, and so are those without a fault.
    low, high = max(low, faulty), min(high, size - (checked - faulty))
    return Share(share, min(low / size, share), max(high / size, share))


def _interval(size: int, drawn: int, faulty: float) -> tuple[int, int]:
    """The least and greatest number of faulty URLs that a sample with `faulty` ones does not rule out.

    `faulty` is a fraction where weights differ: each end is computed from the whole number on its side.
    """
    tail = (1 - LEVEL) / 2
    least, most = math.floor(faulty + 1e-9), math.ceil(faulty - 1e-9)
    low = _first(size, lambda total: 1 - _at_most(least - 1, size, total, drawn) > tail)
    high = _first(size, lambda total: _at_most(most, size, total, drawn) <= tail) - 1
    return low, high


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
    crawl file; `disallowed` of these were not requested because of robots.txt, and count as URLs without a fault.
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
        counts = (
            (self.reused, "known from the crawl file"),
            (self.disallowed, "not fetched, as robots.txt disallows them"),
            (self.sampled - self.checked, "not checked" if self.complete else "not checked, as it was stopped"),
        )
        return "; ".join([*parts, *(f"{count:,} {what}" for count, what in counts if count)])

    def lines(self) -> list[str]:
        """The estimates as lines of text, the greatest share first."""
        found = sorted((each for each in self.estimates if each.found), key=lambda each: (-each.share, each.code))
        none = [each for each in self.estimates if not each.found]
        lines = [self._line(each) for each in found]
        if none and self.checked:
            names = ", ".join(f"{explain(each.code).short_title} ({each.code})" for each in none)
            most = max(each.high for each in none)
            lines.append(f"none found{f', each at most {_percent(most)}%' if most else ''}: {names}")
        return lines

    def _line(self, each: FaultEstimate) -> str:
        what = f"{explain(each.code).faulty_urls} ({each.code})"
        if each.low == each.high:
            return f"{_percent(each.share)}% of {self.urls:,} URLs: {each.urls:,} {what}"
        interval = f"{_percent(each.low)} to {_percent(each.high)}%"
        return f"{_percent(each.share)}% ({interval}) of {self.urls:,} URLs: about {each.urls:,} {what}"


def _percent(share: float) -> str:
    """`1.2`; never 0 for more than nothing, never 100 for less than all."""
    if 0 < share < 0.0005:
        return "under 0.1"
    if 0.9995 <= share < 1:
        return "over 99.9"
    return f"{share * 100:.1f}".removesuffix(".0")
