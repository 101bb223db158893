"""The language of pages: which codes in paths and hosts are languages, and which are words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from recorded import pages, rows, snapshot_of

import sitemap_reader as sr


def found(folder: Path, *records: sr.UrlRecord) -> dict[str, int]:
    """Language -> pages."""
    return dict(rows(snapshot_of(folder, *records).languages(), "language", "pages"))


def below(code: str, *names: str) -> list[str]:
    return [f"{code}/{name}" for name in names]


SHOP = ("shop/a", "shop/b", "blog/c")
# What the paths are -> the languages found, without unknown.
PATHS: dict[str, tuple[list[str], dict[str, int]]] = {
    "languages": ([*below("de", *SHOP), *below("fr", *SHOP)], {"de": 3, "fr": 3}),
    "home pages": (["de", "de/a", "fr/", "fr/b"], {"de": 2, "fr": 2}),
    "upper case, regions and scripts": (
        [*below("en-US", *SHOP), *below("pt_BR", *SHOP), *below("zh-Hant-TW", *SHOP)],
        {"en-us": 3, "pt-br": 3, "zh-hant-tw": 3},
    ),
    "no region": ([*below("de-line", *SHOP), *below("fr-omage", *SHOP)], {}),
    "one language, two pages": (["fr/a", "fr/b", "x/c", "d"], {"fr": 2}),
    "one language, one page": (["fr/a", "x/b", "c"], {}),
    "states": ([*below("de", "a", "b"), "ny/a", "tx/a", "fl/a"], {}),
    "as many languages as others": ([*below("de", "a", "b"), "us/a"], {"de": 2}),
    "folders that are words": ([*below("it", "desk", "mail"), *below("my", "account", "orders"), "x/a"], {}),
    "departments with the same pages": (
        [*below("it", "contact", "team"), *below("hr", "contact", "team"), *below("law", "contact", "team")],
        {},
    ),
    "words beside languages": (
        [*below("de", *SHOP), *below("en", *SHOP), "my/account", "my/orders"],
        {"de": 3, "en": 3},
    ),
    "a word with the paths of a language": (
        [*below("de", *SHOP), *below("it", *SHOP), "x/1", "x/2", "x/3", "x/4"],
        {"de": 3, "it": 3},
    ),
    "a word with the paths of no language": ([*SHOP, *below("it", *SHOP), "x/1"], {"it": 3}),
    "a word with half of the folders": ([*SHOP, *below("it", "shop/a", "blog/b", "q/c", "r/d", "e")], {"it": 5}),
    "a word with less than half": ([*SHOP, *below("it", "shop/a", "blog/b", "q/c", "r/d", "s/e")], {}),
    "a word with one folder": ([*SHOP, *below("it", "shop/a", "shop/b")], {}),
    "departments with folders of the site": (
        [*SHOP, "x/1", "x/2", "x/3", "x/4", *below("it", "shop/1", "blog/2"), *below("law", "shop/1", "blog/2")],
        {},
    ),
    "a word in proportion": (
        [*below("de", *map(str, range(20))), *below("en", *map(str, range(20, 40))), *below("it", "p", "q")],
        {"de": 20, "en": 20, "it": 2},
    ),
    "a word out of proportion": (
        [*below("de", *map(str, range(20))), *below("en", *map(str, range(20, 40))), *below("it", "p")],
        {"de": 20, "en": 20},
    ),
    "words beside countries": (
        [*below("de", *SHOP), *below("fr", *SHOP), *below("it", *SHOP), "us/a"],
        {"de": 3, "fr": 3},
    ),
    "a country": ([*below("uk", *SHOP), *SHOP], {}),
    "the second segment": ([*below("docs/de", *SHOP), *below("docs/en", *SHOP), "docs/x"], {"de": 3, "en": 3}),
    "home pages in the second segment": (["docs/de", "docs/de/a", "docs/en", "docs/en/a"], {"de": 2, "en": 2}),
    "one language in the second segment": (below("docs/de", *SHOP), {}),
    "tags": (["tag/de", "tag/en", *(f"tag/{number}" for number in range(3))], {}),
    "a file": (["de.html", "fr.html", "en.html"], {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", PATHS)
def test_codes_in_paths_are_languages_if_the_site_shows_it(case: str, tmp_path: Path) -> None:
    paths, expected = PATHS[case]
    languages = found(tmp_path, *pages(*paths))
    assert languages.pop("unknown", 0) == len(paths) - sum(expected.values())
    assert languages == expected


def test_each_host_is_looked_at_alone(tmp_path: Path) -> None:
    some = [*pages(*below("de", *SHOP)), *pages(*below("de", *SHOP), "ny/a", "tx/a", host="b.example")]
    assert found(tmp_path, *some) == {"de": 3, "unknown": 5}


HOSTS = {
    "fr.a.example": "fr",
    "www.fr.a.example": "fr",
    "de-at.a.example:8080": "de-at",
    "a.example": None,
    "www.a.example": None,
    "it.a.example": None,
    "example.fr": None,
    "de.example": None,  # the name of the domain itself
}


@pytest.mark.parametrize("host", HOSTS)
def test_the_first_label_of_a_host_may_be_a_language(host: str, tmp_path: Path) -> None:
    assert found(tmp_path, *pages("x", host=host)) == {HOSTS[host] or "unknown": 1}


def test_a_label_that_is_a_word_is_a_language_among_languages(tmp_path: Path) -> None:
    others = [page for code in ("de", "fr") for page in pages("x", "y", host=f"{code}.a.example")]
    assert found(tmp_path, *others, *pages("x", host="it.a.example")) == {"de": 2, "fr": 2, "it": 1}


def own(path: str, language: str) -> sr.UrlRecord:
    loc = f"https://a.example/{path}"
    return sr.UrlRecord(loc, alternates=(sr.Alternate("x-default", loc), sr.Alternate(language, loc)))


def test_hreflang_is_trusted_most_and_news_least(tmp_path: Path) -> None:
    news = sr.News(language="EN")
    some = snapshot_of(
        tmp_path,
        own("de/1", "de-AT"),
        *pages("de/2", "de/3", news=news),
        *pages("x", news=news),
        *pages("y"),
    ).languages()
    assert rows(some, "language", "pages", "share", "source") == [
        ("de", 2, 0.4, "path"),
        ("de-at", 1, 0.2, "hreflang"),
        ("en", 1, 0.2, "news"),
        ("unknown", 1, 0.2, None if some["source"].iloc[3] is None else some["source"].iloc[3]),
    ]
    assert some["source"].isna().tolist() == [False, False, False, True]
    assert some.rule.endswith("Found: 1 page by hreflang, 2 pages by path, 1 page by news.")
    assert some.finding == (
        'Languages: "de" 40% (2 of 5 pages), "de-at" 20% (1 of 5 pages) and "en" 20% (1 of 5 pages); '
        "unknown for 20% (1 of 5 pages)"
    )


def test_hreflang_shows_which_codes_of_a_path_are_languages(tmp_path: Path) -> None:
    """Also of pages without a link to themselves, and of codes that would be accepted without it."""
    assert found(tmp_path, own("uk/1", "uk"), *pages("uk/2")) == {"uk": 2}
    assert found(tmp_path, own("de/1", "en"), *pages("de/2", "de/3")) == {"en": 1, "unknown": 2}


TIES: dict[str, tuple[list[str], str]] = {
    "all known": (["de/a", "de/b"], 'Languages: "de" 100% (2 of 2 pages)'),
    "a tie": (["de/a", "de/b", "fr/a", "fr/b"], 'Languages: "de" 50% (2 of 4 pages) and "fr" 50% (2 of 4 pages)'),
    "nothing": (["a"], "No language is known of 1 page"),
}


@pytest.mark.parametrize("case", TIES)
def test_finding_of_languages(case: str, tmp_path: Path) -> None:
    paths, finding = TIES[case]
    assert snapshot_of(tmp_path, *pages(*paths)).languages().finding == finding


# --- sections below the language ---

SECTIONS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "first": ([*below("de", "shop/x/1", "2"), *below("fr", "shop/x/1", "shop/3"), "de"], {"/shop/": 3, "/": 2}),
    "second": ([*below("docs/de", "api/1", "2"), *below("docs/fr", "api/1")], {"/docs/": 3}),
    "none": (["shop/1", "it/2"], {"/shop/": 1, "/it/": 1}),
}


@pytest.mark.parametrize("case", SECTIONS)
def test_sections_are_those_below_the_language(case: str, tmp_path: Path) -> None:
    paths, expected = SECTIONS[case]
    assert dict(rows(snapshot_of(tmp_path, *pages(*paths)).sections(), "section", "pages")) == expected


@pytest.mark.slow
def test_sections_by_language_count_each_folder(tmp_path: Path) -> None:
    some = snapshot_of(tmp_path, *pages(*below("docs/de", "api/1", "2"), *below("docs/fr", "api/1"), "docs/de/api/x/4"))
    assert dict(rows(some.sections(2), "section", "pages")) == {"/docs/api/": 3, "/docs/": 1}
    assert dict(rows(some.sections(3), "section", "pages")) == {"/docs/api/": 2, "/docs/": 1, "/docs/api/x/": 1}
    by_language = some.sections(2, by_language=True)
    assert dict(rows(by_language, "section", "pages")) == {"/docs/de/": 3, "/docs/fr/": 1}
    assert "states a language" in some.sections().rule
    assert "states a language" not in by_language.rule
    assert rows(some.media_coverage(2), "section", "pages") == rows(some.sections(2), "section", "pages")
    assert rows(some.media_coverage(2, by_language=True), "section") == rows(by_language, "section")
