"""Patterns of URLs, lengths of slugs, and types of pages."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from recorded import pages, rows, snapshot_of

CITIES = [f"city-{chr(97 + number)}" for number in range(20)]
FILMS = ["".join(pair) for pair in product("kmp", "aeiouyhlrt")]
# What the paths are -> the patterns and their pages.
PATTERNS: dict[str, tuple[list[str], dict[str, int]]] = {
    "pages": (["", "about", "contact/"], {"/{slug}": 2, "/": 1}),
    "dates in folders": (
        [f"blog/2024/0{month}/{name}.html" for month in (1, 2) for name in "abc"],
        {"/blog/{year}/{month}/{slug}.html": 6},
    ),
    "days": ([f"{name}/2024/05/1{name}/x" for name in "12"], {"/{n}/{year}/{month}/{day}/{slug}": 2}),
    "ids, some of which look like years": (
        [f"p/{number}" for number in (100, 20000, 2000, 7, "0f3a9c12de")],
        {"/p/{id}": 5},
    ),
    "years": ([f"p/{number}" for number in (1999, 2000, 2001, 30000)], {"/p/{year}": 3, "/p/{id}": 1}),
    "languages": (
        [f"{code}/docs/{name}" for code in ("de", "fr") for name in "abc"] + ["de", "fr"],
        {"/{lang}/docs/{slug}": 6, "/{lang}": 2},
    ),
    "few folders stay": (
        [f"{folder}/{number}-x" for folder in ("tea", "cups") for number in range(4)],
        {"/cups/{slug}": 4, "/tea/{slug}": 4},
    ),
    "many folders of one size are values": (
        [f"{city}/{name}{city[-1]}" for city in CITIES for name in FILMS[:3]],
        {"/{slug}/{slug}": 60},
    ),
    "a large one among many stays": (
        [f"{city}/{name}" for city, name in zip(CITIES, FILMS, strict=False)] + [f"show/{name}" for name in FILMS],
        {"/show/{slug}": 30, "/{slug}/{slug}": 20},
    ),
    "a folder of a type stays": (
        [f"{city}/{name}" for city, name in zip(CITIES, FILMS, strict=False)] + ["tag/b"],
        {"/{slug}/{slug}": 20, "/tag/{slug}": 1},
    ),
    "words at both ends": (
        [f"live/the-{film}x-day{number}-live" for number, film in enumerate(FILMS)],
        {"/live/the-{slug}-day{n}-live": 30},
    ),
    "the same name everywhere": (
        [f"m/{city}/repo-{city}/wiki_index" for city in CITIES],
        {"/m/{slug}/{slug}/wiki_index": 20},
    ),
    "numbers at the end of a few": (
        [f"x/{city}-word{city[-1]}q" for city in CITIES] + ["x/lamp-2", "x/lamp-3"],
        {"/x/city-{slug}": 20, "/x/{slug}": 2},
    ),
    "dates in slugs": ([f"posts/2024-01-{10 + n}-{FILMS[n]}" for n in range(12)], {"/posts/{date}-{slug}": 12}),
    "queries": (["shop?id=1&x=2", "shop?id=2&x=3", "shop"], {"/{slug}?id=&x=": 2, "/{slug}": 1}),
    "what is encoded": ([f"caf%C3%A9/{name}" for name in "ab"], {"/café/{slug}": 2}),
}


@pytest.mark.parametrize("kind", PATTERNS)
def test_pages_are_counted_by_the_pattern_of_their_url(kind: str, tmp_path: Path) -> None:
    paths, expected = PATTERNS[kind]
    made = snapshot_of(tmp_path, *pages(*paths)).patterns()
    assert dict(rows(made, "pattern", "pages")) == expected
    assert made["pages"].sum() == len(paths)
    if kind == "queries":
        assert made["example"].tolist() == ["https://a.example/shop?id=1&x=2", "https://a.example/shop"]
        assert made.finding == "Most frequent of 2 URL patterns: /{slug}?id=&x= with 67% (2 of 3 pages)"


def test_patterns_beyond_the_first_are_one_row(tmp_path: Path) -> None:
    made = snapshot_of(tmp_path, *pages("a/1", "a/2", "a/3", "b/x", "b/y", "c", "d/e/f")).patterns(top=2)
    assert rows(made, "pattern", "pages") == [("/a/{n}", 3), ("/b/{slug}", 2), ("other", 2)]
    assert made.finding == "Most frequent of 4 URL patterns: /a/{n} with 43% (3 of 7 pages)"
    one = snapshot_of(tmp_path, *pages("a/1", "a/2"))
    assert one.patterns().finding == "The only URL pattern: /a/{n} with 100% (2 of 2 pages)"


TYPES = {
    "": "home",
    "index.html": "home",
    "de": "home",
    "de/products/lamp": "product",
    "fr/products/lamp": "product",
    "collections/red/products/lamp": "product",
    "collections/red": "category",
    "blog/tag/tea": "tag",
    "tag/tea/page/2": "pagination",
    "blog?page=3": "pagination",
    "author/ann": "author",
    "blog/2024/05/x": "article",
    "2024/05/x": "article",
    "2024/05": "archive",
    "news/2024": "archive",
    "blog": "overview",
    "about-us": "about and legal",
    "privacy.html": "about and legal",
    "blog/feed": "feed",
    "search?q=tea": "search",
    "files/paper.pdf": "file",
    "docs/api/users/get": "help",
    "report/2024/tea": "other",
    "what-is-tea": "other",
}


def test_types_are_those_of_the_names_that_platforms_use(tmp_path: Path) -> None:
    some = snapshot_of(tmp_path, **{f"site{number}": pages(path, "de/a", "fr/a") for number, path in enumerate(TYPES)})
    made = some.page_types()
    found = {site: kind for site, kind, loc in rows(made, "site", "type", "example") if not loc.endswith("/a")}
    assert [found[f"site{number}"] for number in range(len(TYPES))] == [*TYPES.values()]


def test_other_pages_are_last_and_unknown(tmp_path: Path) -> None:
    made = snapshot_of(tmp_path, *pages("x", "y", "tag/z")).page_types()
    assert rows(made, "type", "pages") == [("tag", 1), ("other", 2)]
    assert made.finding == "Page types: tag 33% (1 of 3 pages); unknown for 67% (2 of 3 pages)"
    assert snapshot_of(tmp_path, *pages("x")).page_types().finding == "No page type is known of 1 page"


def test_all_other_patterns_are_not_the_most_frequent_one(tmp_path: Path) -> None:
    some = pages("blog/a", "blog/b", *(f"{folder}/x/{name}" for folder in ("tea", "cups", "pots") for name in "kl"))
    sites = {name: some for name in "abcd"}
    made = snapshot_of(tmp_path, **sites).patterns(top=1)
    assert made.loc[made["pattern"] == "other", "pages"].tolist() == [6] * 4
    assert made.finding == "Most frequent URL pattern: /blog/{slug} at 4 sites"


def test_lengths_of_slugs_are_those_of_the_decoded_words(tmp_path: Path) -> None:
    made = snapshot_of(tmp_path, *pages("a/red-tea.html", "b/caf%C3%A9", "c_d-e", "")).slug_lengths()
    assert rows(made, "words", "pages", "characters") == [(1, 1, 4.0), (2, 1, 7.0), (3, 1, 5.0)]
    assert made.finding == (
        "Slugs: 2 words and 5 characters in the median; 90% of the pages have at most 3 and 7; "
        "the longest has 7 characters"
    )
