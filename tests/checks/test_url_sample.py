"""The sample of listed URLs: seeded, without replacement, in proportion to sitemaps and sections."""

import itertools
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_reader.checks import MAX_STRATA, UrlSample, allocate

SITEMAPS = [f"https://e.example/{name}.xml" for name in "abc"]


def urls_of(sitemap: str, count: int, folder: str = "shop") -> list[str]:
    return [f"https://e.example/{folder}/{sitemap[-5]}{number}" for number in range(count)]


def drawn(listings: list[tuple[str, list[str]]], size: int | None, seed: int = 0, **options: int) -> list[list[str]]:
    sample = UrlSample(size, seed, **options)
    for sitemap, locs in listings:
        sample.add(sitemap, locs, [*map(hash, locs)], range(len(locs)))
    return [[url.loc for url in stratum.urls] for stratum in sample.draw()]


def flat(strata: list[list[str]]) -> list[str]:
    return [loc for stratum in strata for loc in stratum]


@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=8),
    size=st.integers(1, 300),
    seed=st.integers(-5, 5),
    order=st.randoms(use_true_random=False),
)
def test_a_sample_has_its_size_repeats_nothing_and_ignores_the_order(
    sizes: list[int], size: int, seed: int, order: random.Random
) -> None:
    listings = [(f"s{n}.xml", [f"https://e.example/{n}/{i}" for i in range(count)]) for n, count in enumerate(sizes)]
    first = flat(drawn(listings, size, seed))
    assert len(first) == len({*first}) == min(size, sum(sizes))
    order.shuffle(listings)
    assert {*flat(drawn(listings, size, seed))} == {*first}


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30), st.integers(1, 3000))
def test_numbers_are_in_proportion(sizes: list[int], total: int) -> None:
    numbers = allocate(sizes, total)
    assert sum(numbers) == min(total, sum(sizes))
    assert all(number <= size for number, size in zip(numbers, sizes, strict=True))
    if total >= len(sizes):
        assert min(numbers) >= 1
        quotas = [total * size / sum(sizes) for size in sizes]
        # Beyond its quota a stratum gets at most one more, or the one that each gets.
        assert all(number <= max(quota + 1, 1) for number, quota in zip(numbers, quotas, strict=True))


def test_each_sitemap_and_section_has_its_part() -> None:
    listings = [(SITEMAPS[0], urls_of(SITEMAPS[0], 800)), (SITEMAPS[1], urls_of(SITEMAPS[1], 199, "blog"))]
    listings.append((SITEMAPS[1], ["https://e.example/shop/b"]))
    strata = drawn(listings, 100)
    assert [len(stratum) for stratum in strata] == [80, 19, 1]
    assert all("/blog/" in loc for loc in strata[1])


def test_a_repeated_url_counts_once() -> None:
    locs = urls_of(SITEMAPS[0], 10)
    sample = UrlSample(5)
    for sitemap in (SITEMAPS[0], SITEMAPS[0], SITEMAPS[1]):
        sample.add(sitemap, locs, [*map(hash, locs)], [None] * 10)
    assert sample.urls == 10
    assert [stratum.size for stratum in sample.draw()] == [10]


def test_another_seed_is_another_sample_and_a_greater_one_has_the_smaller() -> None:
    listings = [(SITEMAPS[0], urls_of(SITEMAPS[0], 5_000))]
    small, other, great = (flat(drawn(listings, size, seed)) for size, seed in ((50, 1), (50, 2), (500, 1)))
    assert small != other
    assert great[:50] == small


def test_all_urls_are_drawn_without_a_size() -> None:
    listings = [(SITEMAPS[0], urls_of(SITEMAPS[0], 5_000))]
    assert {*flat(drawn(listings, None))} == {*listings[0][1]}


@pytest.mark.slow
def test_each_url_is_drawn_equally_often() -> None:
    listings = [(SITEMAPS[0], urls_of(SITEMAPS[0], 200))]
    times = Counter(loc for seed in range(300) for loc in flat(drawn(listings, 20, seed)))
    assert len(times) == 200
    assert 10 <= min(times.values()) <= max(times.values()) <= 60  # 30 expected, with a deviation of 5.2


def test_memory_is_that_of_the_sample_not_of_the_site() -> None:
    sample = UrlSample(10)
    for start in range(0, 20_000, 1_000):
        locs = [f"https://e.example/{number}" for number in range(start, start + 1_000)]
        sample.add("s.xml", locs, [*map(hash, locs)], [None] * 1_000)
    assert sum(len(kept.urls) for kept in sample._strata.values()) <= 8 * 10 + 2 * 16
    assert [len(stratum.urls) for stratum in sample.draw()] == [10]
    locs = [f"https://e.example/{number}" for number in range(20_000)]
    assert flat(drawn([("s.xml", locs)], 10)) == [url.loc for url in sample.draw()[0].urls]


@pytest.mark.parametrize(("sitemaps", "strata"), [(MAX_STRATA, MAX_STRATA), (MAX_STRATA + 1, 2)])
def test_beyond_a_number_of_sitemaps_the_sections_are_strata(sitemaps: int, strata: int) -> None:
    listings = [(f"{n}.xml", [f"https://e.example/{n % 2}/{n}"]) for n in range(sitemaps)]
    sample = UrlSample(None)
    for sitemap, locs in listings:
        sample.add(sitemap, locs, [*map(hash, locs)], [None])
    assert len(sample.draw()) == strata
    assert sum(stratum.size for stratum in sample.draw()) == sitemaps


def test_too_many_sections_are_one_stratum() -> None:
    locs = [f"https://e.example/{n}/page" for n in range(30)]
    assert [len(each) for each in drawn([("s.xml", locs)], 20, max_strata=20)] == [20]


def test_the_smallest_strata_share_one_where_there_are_many() -> None:
    listings = [(f"{n}.xml", [f"https://e.example/{n}/{i}" for i in range(100 if n == 0 else 2)]) for n in range(50)]
    strata = drawn(listings, 50)
    assert len(strata) == 10
    assert len(flat(strata)) == 50
    assert min(map(len, strata)) >= 1


def test_pages_at_the_top_are_one_section() -> None:
    locs = [f"https://e.example/{name}" for name in ("", "a", "b/", "?q=/a/b", "a/b/c", "a/d")]
    assert [*map(len, drawn([("s.xml", locs)], None))] == [4, 2]


@pytest.mark.parametrize("size", [None, 40])
def test_the_order_of_sitemaps_does_not_change_the_sample(size: int | None) -> None:
    listed = {f"{name}.xml": [f"https://e.example/{(n * step) % 300}" for n in range(200)] for name, step in (
        ("a", 1), ("b", 7), ("c", 11),
    )}  # fmt: skip
    drawn = []
    for order in itertools.permutations(listed):
        sample = UrlSample(size, 1)
        for sitemap in order:
            locs = listed[sitemap]
            sample.add(sitemap, locs, [*map(hash, locs)], range(len(locs)))
        strata = sample.draw()
        drawn.append([(each.size, [(url.loc, url.sitemap, url.line) for url in each.urls]) for each in strata])
    assert all(each == drawn[0] for each in drawn)
    assert sum(size for size, _ in drawn[0]) == sample.urls
