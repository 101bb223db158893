"""Pages that are listed in two spellings (U16), and hosts in several variants (U11) or on http alone (U18)."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_reader import Problem, UrlRecord
from sitemap_reader.checks import DuplicateUrls, Findings, Spellings, UrlVariants
from sitemap_reader.parser import batch_of

A = "https://a.example"
MAP, OTHER = f"{A}/sitemap.xml", f"{A}/other.xml"
Part = tuple[str, Sequence[str]]


def audited(*parts: Part) -> list[Problem]:
    """The problems of sitemaps with these URLs, each given by its path; parts of one continue it."""
    listings, findings = DuplicateUrls(), Findings(samples=1_000)
    checks, lines = (listings, Spellings(listings), UrlVariants()), dict.fromkeys((name for name, _ in parts), 0)
    for name, pages in parts:
        locs = [page if "://" in page[:8] else f"{A}/{page}" for page in pages]
        start = lines[name] + 1
        lines[name] += len(locs)
        for check in checks:
            check.on_urls(batch_of(name, [UrlRecord(loc, line=at) for at, loc in enumerate(locs, start)]), findings)
    for check in checks:
        check.on_end(findings)
    return [each for finding in findings.ranked() for each in finding.samples]


def of_code(code: str, *parts: Part) -> list[Problem]:
    return [each for each in audited(*parts) if each.code == code]


def accused(*pages: str) -> list[tuple[str, str]]:
    """The URLs that are reported, by their paths, and why."""
    return [((each.url or "").removeprefix(f"{A}/"), str(each.kind)) for each in of_code("U16", (MAP, pages))]


CASES: dict[str, tuple[str, str, str]] = {
    "capitals": ("PPM/docs/516-8.html", "PPM/DOCS/516-8.html", "upper and lower case"),
    "a capital": ("about", "About", "upper and lower case"),
    "a name in capitals": ("wheeler/sso-rules/", "wheeler/SSO-rules/", "upper and lower case"),
    "two words": ("John-smith", "John-Smith", "upper and lower case"),
    "the home page": ("", "index.html", "index file"),
    "an index file": ("sdta/", "sdta/index.html", "index file"),
    "an index file without a folder": ("sdta", "sdta/index.php", "index file"),
    "a default file": ("shop/", "shop/Default.aspx", "index file"),
    "order": ("shoes?color=red&size=9", "shoes?size=9&color=red", "order of parameters"),
    "a donation": ("giving/", "giving/?ac=140126", "added parameter"),
    "a campaign": ("a?id=1", "a?id=1&ref=x", "added parameter"),
    "a sort": ("shoes", "shoes?sort=price", "added parameter"),
    "a direction": ("shoes?page=2", "shoes?page=2&order=ASC", "added parameter"),
    "no value": ("contact.html", "contact.html?", "added parameter"),
    "an empty value": ("list?a=1", "list?a=1&b=", "added parameter"),
    "slashes": ("blog/post", "blog//post", "double slash"),
    "slashes at the start": ("blog/post", "/blog//post", "double slash"),
    "slashes at the end": ("", "/", "double slash"),
    "a slash": ("sofas/oak", "sofas/oak/", "trailing slash"),
    "escapes": ("caf%C3%A9/oak", "CAF%c3%a9/oak", "upper and lower case"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_less_usual_spelling_is_reported_where_it_is_listed_first(name: str) -> None:
    usual, other, kind = CASES[name]
    for pages in permutations(["x", usual, other, other]):
        (found,) = [each for each in of_code("U16", (MAP, pages))]
        assert (found.url, found.line, found.kind) == (f"{A}/{other}", pages.index(other) + 1, kind)
        assert found.message.startswith(f"{A}/{other} and {A}/{usual} are both listed: ")
    for first, second in ((usual, other), (other, usual)):
        assert [each.kind for each in of_code("U16", (OTHER, [first]), (MAP, [second]))] == [kind]


@pytest.mark.parametrize("pages", [
    ("d/aB3xQ", "d/Ab3xQ"), ("watch?v=aBc", "watch?v=AbC"), ("item", "item?id=1"), ("item", "item?id=1", "item?id=2"),
    ("", "?about"), ("news", "news?order=12"), ("news", "news?page=1"), ("a?x", "a/?x"), ("", "a"), ("a", "b/"),
    ("list", "list?sid=4"), ("web/https://b.example/", "web/https:/b.example/"), ("a?b=index.html", "a?b="),
    ("index.html",), ("About",), ("a?b=1&a=2",), ("a//b",), ("x?sort=price",), ("a/indexes.html", "a/"),
    ("~user", "%7Euser"), ("2011/11/11/11/x",), ("a/a/a/a",),
    ("blog/blog/x",), ("blog/blog/blog",), ("x?y=/blog/blog/blog/blog/",),
])  # fmt: skip
def test_what_may_be_two_pages_is_not_reported(pages: tuple[str, ...]) -> None:
    assert accused(*pages) == []


def test_a_folder_three_times_in_a_row_is_reported_by_itself() -> None:
    pages = ["blog/blog/blog/x", "a", "de/shop/shop/shop/shop/"]
    assert accused(*pages) == [(pages[0], "repeated folder"), (pages[2], "repeated folder")]


def test_of_a_trailing_slash_the_kind_that_is_rarer_is_reported() -> None:
    assert accused("a", "a/", "b/", "c/") == [("a", "trailing slash")]
    assert accused("a", "a/", "b", "c") == [("a/", "trailing slash")]


def test_each_of_several_spellings_is_reported() -> None:
    pages = ["shop", "Shop", "SHOP/", "shop/index.html", "shop?ref=x"]
    assert {page for page, _ in accused(*pages)} == {*pages[1:]}


def test_an_escape_may_have_capitals() -> None:
    assert accused("caf%C3%A9", "caf%c3%a9") == []  # which is U06


pieces = st.sampled_from(["a", "B", "b", "index.html", "", "a/b", "A/b", "a//b"])
queries = st.sampled_from(["", "?", "?a=1&b=2", "?b=2&a=1", "?a=1", "?sort=x", "?a=1&utm_source=x"])
paths = st.builds(lambda path, slash, query: f"{path}{slash}{query}", pieces, st.sampled_from(["", "/"]), queries)
listed = st.lists(st.tuples(st.sampled_from([MAP, OTHER]), st.lists(paths, min_size=1, max_size=4)), max_size=5)


@given(listed)
def test_the_order_of_sitemaps_has_no_effect(parts: list[Any]) -> None:
    def reported(parts: list[Any]) -> list[tuple[Any, ...]]:
        return [(each.code, each.sitemap, each.line, each.url, each.message, each.kind) for each in audited(*parts)]

    of_one = {name: [part for part in parts if part[0] == name] for name in (MAP, OTHER)}
    assert reported(parts) == reported([*of_one[MAP], *of_one[OTHER]]) == reported([*of_one[OTHER], *of_one[MAP]])


# --- hosts ---


def test_the_first_url_of_a_rarer_host_is_named_whichever_sitemap_is_read_first() -> None:
    parts = (MAP, ["a", "http://a.example/b"]), (OTHER, ["c", "http://a.example/d"])
    for given_so in (parts, parts[::-1]):
        (found,) = of_code("U11", *given_so)
        assert (found.sitemap, found.line, found.url) == (OTHER, 2, "http://a.example/d")


def test_hosts_without_a_url_on_https_are_reported_once() -> None:
    pages = ["http://b.example/1", "a", "http://b.example/2", "http://www.c.example/", "https://c.example/"]
    assert [(each.line, each.message) for each in of_code("U18", (MAP, pages))] == [
        (1, "2 URLs on http://b.example, none on https")
    ]


@pytest.mark.parametrize("host", ["localhost:1313", "127.0.0.1", "10.0.0.1:8080"])
def test_a_private_host_needs_no_https(host: str) -> None:
    assert of_code("U18", (MAP, [f"http://{host}/"])) == []
