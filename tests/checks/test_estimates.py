"""Shares of all URLs, estimated from a sample: their intervals hold, also for rare and clustered faults."""

import random
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import comb
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_reader.checks import (
    FaultEstimate,
    SampledStratum,
    Share,
    StratumCounts,
    UrlCheckSummary,
    UrlSample,
    estimate,
)
from sitemap_reader.checks.url_sample import _at_most


@given(st.integers(1, 60), st.data())
def test_chances_are_those_of_drawing_without_replacement(size: int, data: st.DataObject) -> None:
    total, drawn = data.draw(st.integers(0, size)), data.draw(st.integers(1, size))
    count = data.draw(st.integers(-1, drawn))
    ways = sum(comb(total, each) * comb(size - total, drawn - each) for each in range(count + 1))
    assert _at_most(count, size, total, drawn) == pytest.approx(float(Fraction(ways, comb(size, drawn))), abs=1e-9)


@pytest.mark.parametrize(("counts", "expected"), [
    ([StratumCounts(100, 100, 7)], Share(0.07, 0.07, 0.07)),  # all: exact
    ([StratumCounts(50, 50, 50), StratumCounts(50, 50, 0)], Share(0.5, 0.5, 0.5)),
    ([StratumCounts(10_000, 500, 0)], Share(0, 0, 0.0071)),
    ([StratumCounts(10_000, 500, 500)], Share(1, 0.9929, 1)),
    ([StratumCounts(10, 0, 0), StratumCounts(30, 30, 3)], Share(0.1, 0.1, 0.1)),  # the first: as the others
])
def test_a_share_and_its_interval(counts: list[StratumCounts], expected: Share) -> None:
    found = estimate(counts)
    assert [found.share, found.low, found.high] == pytest.approx([expected.share, expected.low, expected.high])


@pytest.mark.parametrize("counts", [[], [StratumCounts(10, 0, 0)]])
def test_nothing_checked_is_no_estimate(counts: list[StratumCounts]) -> None:
    assert estimate(counts) is None


def test_a_stratum_counts_by_its_size() -> None:
    found = estimate([StratumCounts(900, 10, 0), StratumCounts(100, 10, 10)])
    assert found.share == pytest.approx(0.1)
    assert found.low <= 0.1 <= found.high


def test_faults_that_were_found_are_in_the_interval() -> None:
    found = estimate([StratumCounts(9_990, 499, 0), StratumCounts(10, 1, 1)])
    assert found.low >= 1 / 10_000


# A fifth of the size of what docs/accuracy.md states; benchmarks/url_checks.py runs that.
SITE = tuple((f"s{n}.xml", f"https://e.example/{n % 7}/{n}-{i}") for n in range(20) for i in range(100))
UNEVEN = (
    *(("big.xml", f"https://e.example/big/{i}") for i in range(1_980)),
    *((f"t{n}.xml", f"https://e.example/t/{n}") for n in range(20)),
)


@cache
def samples(listed: tuple[tuple[str, str], ...]) -> list[list[SampledStratum]]:
    """Those of a hundred URLs for each of 100 seeds."""
    locs: dict[str, list[str]] = {}
    for sitemap, loc in listed:
        locs.setdefault(sitemap, []).append(loc)
    drawn = []
    for seed in range(100):
        sample = UrlSample(100, seed)
        for sitemap, each in locs.items():
            sample.add(sitemap, each, [*map(hash, each)], [None] * len(each))
        drawn.append(sample.draw())
    return drawn


def some(urls: Sequence[tuple[str, str]], count: int) -> set[str]:
    return {loc for _, loc in random.Random(5).sample(urls, count)}  # noqa: S311


WORLDS = {
    "two": (SITE, some(SITE, 2)),
    "1%": (SITE, some(SITE, 20)),
    "5%": (SITE, some(SITE, 100)),
    "half": (SITE, some(SITE, 1_000)),
    "one sitemap": (SITE, {loc for sitemap, loc in SITE if sitemap == "s3.xml"}),
    "most of one sitemap": (SITE, some([each for each in SITE if each[0] == "s3.xml"], 80)),
    "spread, with many small sitemaps": (UNEVEN, some(UNEVEN, 100)),
    "the small sitemaps only": (UNEVEN, {loc for sitemap, loc in UNEVEN if sitemap != "big.xml"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_intervals_hold_for_95_of_100_seeds(world: str) -> None:
    listed, faulty = WORLDS[world]
    held, shares = 0, []
    for strata in samples(listed):
        found = estimate([StratumCounts(each.size, len(each.urls), _faulty(each, faulty)) for each in strata])
        held += found.low <= len(faulty) / len(listed) <= found.high
        shares.append(found.share)
    assert held >= 95
    assert fmean(shares) == pytest.approx(len(faulty) / len(listed), rel=0.3, abs=0.001)


def _faulty(stratum: SampledStratum, faulty: set[str]) -> int:
    return sum(url.loc in faulty for url in stratum.urls)


def summary(**changes: object) -> UrlCheckSummary:
    fields = {
        "urls": 10_000, "sampled": 500, "checked": 500, "reused": 0, "disallowed": 0, "strata": 3, "seed": 7,
        "complete": True,
    }  # fmt: skip
    return UrlCheckSummary(**{**fields, **changes})  # type: ignore[arg-type]


def test_the_text_of_estimates() -> None:
    estimates = (
        FaultEstimate("C01", 6, 0.012, 0.0049, 0.0269, 120),
        FaultEstimate("C02", 50, 0.1, 0.1, 0.1, 1000),
        FaultEstimate("C03", 0, 0.0, 0.0, 0.0071, 0),
        FaultEstimate("C07", 1, 0.0004, 0.0001, 0.9999, 4),
    )
    assert summary(estimates=estimates).lines() == [
        "1,000 of 10,000 URLs redirect (C02)",
        "1.2% (0.5 to 2.7%) of 10,000 URLs: about 120 answer 4xx or 5xx (C01)",
        "under 0.1% (under 0.1 to over 99.9%) of 10,000 URLs: about 4 are soft 404s (C07)",
        "none found, each at most 0.7%: noindex (C03)",
    ]


def test_of_all_urls_the_text_has_counts_and_no_estimates() -> None:
    estimates = (
        FaultEstimate("C01", 2, 2 / 89, 2 / 90, 3 / 90, 2),
        FaultEstimate("C07", 1, 1 / 89, 1 / 90, 2 / 90, 1),
        FaultEstimate("C03", 0, 0.0, 0.0, 1 / 90, 0),
    )
    assert summary(urls=90, sampled=90, checked=89, estimates=estimates).lines() == [
        "2 of 89 checked URLs answer 4xx or 5xx (C01)", "1 of 89 checked URLs is a soft 404 (C07)",
        "none found: noindex (C03)",
    ]


@pytest.mark.parametrize(("changes", "expected"), [
    ({}, "500 of 10,000 unique URLs checked (sample by sitemap and section, seed 7)"),
    ({"urls": 500}, "500 of 500 unique URLs checked"),
    (
        {"urls": 500, "reused": 3, "disallowed": 2, "checked": 497},
        "497 of 500 unique URLs checked; 3 of these known from the crawl file; 2 not fetched, as robots.txt disallows "
        "them; 1 not checked",
    ),
    ({"urls": 500, "checked": 1, "complete": False}, "1 of 500 unique URLs checked; 499 not checked, as it was "
     "stopped"),
])
def test_the_headline(changes: dict[str, object], expected: str) -> None:
    assert summary(**changes).headline == expected
