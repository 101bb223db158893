"""Measures of slugs, of languages and of several snapshots, compared with counts made here from the same pages."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from recorded import AT, pages, rows, snapshot_of

import sitemap_reader as sr

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd


def words(made: pd.DataFrame) -> dict[str, int]:
    return dict(rows(made, "words", "pages"))


# --- slugs ---


@pytest.mark.parametrize(("slug", "n", "expected"), [
    ("red-shoes", 1, {"red", "shoes"}),
    ("red_shoes+and.more~", 1, {"red", "shoes", "and", "more"}),
    ("Red-RED-red", 1, {"red"}),
    ("red-shoes-42", 1, {"red", "shoes"}),
    ("iphone-15-4k-3d", 1, {"iphone", "4k", "3d"}),
    ("2024", 1, set()),
    ("---", 1, set()),
    ("caf%C3%A9-%E6%9D%B1%E4%BA%AC", 1, {"café", "東京"}),
    ("ÉCLAIR", 1, {"éclair"}),
    ("cafe%CC%81", 1, {"caf\u00e9"}),  # the same word in both Unicode compositions
    ("%E0%A4%B9%E0%A4%BF%E0%A4%A8%E0%A5%8D%E0%A4%A6%E0%A5%80", 1, {"हिन्दी"}),
    ("it%27s-o%E2%80%99clock", 1, {"it's", "o’clock"}),
    ("%ff%fe-broken", 1, {"broken"}),
    ("٤٢-عدد", 1, {"عدد"}),
    ("a-b-c", 2, {"a b", "b c"}),
    ("a-b-c", 3, {"a b c"}),
    ("a-b-c", 4, set()),
    ("a-7-b-c", 2, {"b c"}),
    ("red-shoes.html", 1, {"red", "shoes"}),
])
def test_the_words_of_a_slug(slug: str, n: int, expected: set[str], tmp_path: Path) -> None:
    made = snapshot_of(tmp_path, *pages(f"shop/{slug}")).slug_ngrams(n, stop_words=False)
    assert words(made) == dict.fromkeys(expected, 1)


def test_a_page_counts_once_for_each_and_shares_are_of_all_pages(tmp_path: Path) -> None:
    some = snapshot_of(tmp_path, *pages("a/red-red-shoes", "b/red-shoes", "c/blue-shoes/", "d/17", ""))
    made = some.slug_ngrams()
    assert rows(made, "words", "pages", "share") == [("shoes", 3, 0.6), ("red", 2, 0.4), ("blue", 1, 0.2)]
    assert made.finding == 'Most frequent: "shoes" with 60% (3 of 5 pages)'
    assert words(some.slug_ngrams(2)) == {"red shoes": 2, "red red": 1, "blue shoes": 1}


@pytest.mark.slow
def test_words_can_be_skipped_and_top_limits_the_rows(tmp_path: Path) -> None:
    some = snapshot_of(tmp_path, *pages("the-red-shoe", "the-blue-shoe", "a-red-hat", "x-of-y"))
    assert list(words(some.slug_ngrams(top=2, stop_words=False))) == ["red", "shoe"]
    skipped = some.slug_ngrams(skip=["the", "OF", "a"], top=3, stop_words=False)
    assert words(skipped) == {"red": 2, "shoe": 2, "blue": 1}
    assert words(some.slug_ngrams(2, skip="of", stop_words=False))["x y"] == 1
    assert len(some.slug_ngrams(top=100, stop_words=False)) == 9
    assert words(some.slug_ngrams(top=3)) == words(skipped)
    some = snapshot_of(tmp_path, *pages("caf%C3%A9-x"))
    assert words(some.slug_ngrams(skip=["CAF\u00c9"])) == words(some.slug_ngrams(skip=["cafe\u0301"])) == {"x": 1}


# --- languages ---

PAGE = "https://a.example/{}".format


def linked(name: str, **languages: str) -> sr.UrlRecord:
    """A page with these alternates, their languages with underscores."""
    links = tuple(sr.Alternate(language.replace("_", "-"), PAGE(href)) for language, href in languages.items())
    return sr.UrlRecord(PAGE(name), alternates=links)


LINKED = [
    linked("en/1", en="en/1", de="de/1", x_default="en/1"),
    linked("de/1", en="en/1", DE="de/1"),
    linked("en/2", en="en/2", de="de/2"),  # which does not link back
    linked("de/2", de="de/2"),
    linked("en/3", en="en/3", de="de/missing"),
    linked("fr/4", de="de/1", x_default="en/1"),  # no link to itself
    linked("xx/5", x_default="xx/5", fr="en/1"),
    sr.UrlRecord(PAGE("6"), alternates=(sr.Alternate(None, PAGE("7")),)),
    sr.UrlRecord(PAGE("plain")),
]


def by_hand(records: list[sr.UrlRecord]) -> dict[tuple[str, str], tuple[int, int]]:
    """The rule in plain Python: language and alternate -> links, and returned links."""
    links = {each.loc: [(a.hreflang.lower(), a.href) for a in each.alternates if a.hreflang] for each in records}
    found: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for loc, named in links.items():
        own = [language for language, href in named if href == loc and language != "x-default"]
        for language, href in named:
            if href != loc:
                count = found[own[0] if own else "none", language]
                count[0] += 1
                count[1] += any(back == loc for _, back in links.get(href, ()))
    return {pair: (links, returned) for pair, (links, returned) in found.items()}


def test_links_are_counted_by_the_language_of_both_pages(tmp_path: Path) -> None:
    made = snapshot_of(tmp_path, *LINKED).hreflang()
    reported = {tuple(row[:2]): tuple(row[2:]) for row in rows(made, "language", "alternate", "links", "returned")}
    assert reported == by_hand(LINKED)
    assert reported["en", "de"] == (3, 1)
    assert reported["none", "fr"] == (1, 0)
    assert reported["none", "x-default"] == (1, 0)
    assert made.finding == 'Not returned: 71% (5 of 7 hreflang links), most often from "en" to "de" (2)'


def test_a_site_without_alternates_has_no_links(tmp_path: Path) -> None:
    for records in ([sr.UrlRecord(PAGE(1))], [sr.UrlRecord(PAGE(6), alternates=(sr.Alternate(None, PAGE(7)),))]):
        made = snapshot_of(tmp_path, *records).hreflang()
        assert len(made) == 0
        assert list(made.columns) == ["site", "language", "alternate", "links", "returned"]
        assert made.finding == "No page has an hreflang link to another"


def test_alternates_of_one_site_are_returned_by_another(tmp_path: Path) -> None:
    """A language may have a domain of its own."""
    made = snapshot_of(tmp_path, one=[LINKED[0]], two=[LINKED[1]]).hreflang()
    assert made["returned"].sum() == 2
    assert rows(made, "site", "language", "alternate", "links") == [("one", "en", "de", 1), ("two", "de", "en", 1)]


# --- overlap ---


def test_shared_paths_and_slugs_are_those_of_both(tmp_path: Path) -> None:
    first = pages("", "a/red.html", "a/blue", "a/blue?x=1", "b/green")
    second = pages("", "a/red.html", "z/blue", host="b.example")
    third = pages("q", host="c.example")
    some = snapshot_of(tmp_path, first=first, second=second, third=third)
    paths = {
        "first": {"/", "/a/red.html", "/a/blue", "/b/green"},
        "second": {"/", "/a/red.html", "/z/blue"},
        "third": {"/q"},
    }
    slugs = {"first": {"red", "blue", "green"}, "second": {"red", "blue"}, "third": {"q"}}
    for by, values in (("path", paths), ("slug", slugs)):
        made = some.overlap(by)  # type: ignore[arg-type]
        reported = {tuple(row[:2]): tuple(row[2:]) for row in rows(made, "site", "other", f"{by}s", "shared", "share")}
        expected = {
            (one, other): (len(mine), len(mine & theirs), len(mine & theirs) / len(mine))
            for one, mine in values.items()
            for other, theirs in values.items()
            if one != other
        }
        assert reported == expected
    assert some.overlap("slug").finding == "Largest overlap: first has 100% (2 of 2 slugs) of second: blue and red"


def test_overlap_of_disjoint_sites_says_so(tmp_path: Path) -> None:
    some = snapshot_of(tmp_path, one=pages("a"), two=pages("b"))
    assert some.overlap().finding == "No path is shared"
    some = snapshot_of(tmp_path, one=pages("a"), two=pages(""), name="rootless")
    made = some.overlap("slug")
    assert made["shared"].sum() == 0
    assert made.finding == "No slug is shared"


# --- growth ---


def test_growth_has_each_snapshot_at_its_time(tmp_path: Path) -> None:
    moments = [datetime(2026, month, 1, tzinfo=UTC) for month in (1, 2, 4)]
    sizes = (4, 6, 3)
    every = [
        snapshot_of(tmp_path, *pages(*map(str, range(size)), lastmod=AT, sitemap=f"s{size}"), at=at, name=f"{size}")
        for size, at in zip(sizes, moments, strict=True)
    ]
    made = every[2].growth([every[1], every[0]])
    assert rows(made, "at", "pages", "dated", "sitemaps") == [
        (at, size, size, 1) for at, size in zip(moments, sizes, strict=True)
    ]
    assert made.finding == (
        "From 4 to 3 pages (-1, -25%) in 90 days: 2 new, 3 removed; largest step: -3 on 2026-04-01"
    )
    assert rows(every[0].growth(every[1]), "pages") == [(4,), (6,)]
    assert "is unknown" not in made.rule
    unknown = snapshot_of(tmp_path, *pages("a"), at=None, name="unknown")
    assert "For 1 that time is unknown: give it to load(path, at=...)." in every[0].growth(unknown).rule


def test_growth_is_counted_by_site(tmp_path: Path) -> None:
    old = snapshot_of(tmp_path, one=pages("a"), two=pages("a", "b"), at=datetime(2026, 1, 1, tzinfo=UTC), name="old")
    new = snapshot_of(tmp_path, one=pages("a", "b", "c"), two=pages("a"), name="new")
    made = new.growth(old)
    assert rows(made, "site", "pages") == [("one", 1), ("one", 3), ("two", 2), ("two", 1)]
    one = "from 1 to 3 pages (+2, +200%) in 165 days: 2 new, 0 removed"
    assert made.finding == f"one: {one} | two: from 2 to 1 page (-1, -50%) in 165 days: 0 new, 1 removed"


def test_growth_counts_incomplete_snapshots(tmp_path: Path) -> None:
    """Also if each of them has several sites."""
    old = snapshot_of(tmp_path, one=pages("a"), two=pages("a"), at=datetime(2026, 1, 1, tzinfo=UTC), name="old")
    assert "read completely" not in old.growth([]).rule
    partial = sr.json_line(sr.Outcome("https://a.example/s.xml", complete=False))
    (tmp_path / "new.jsonl").write_bytes((tmp_path / "old.jsonl").read_bytes() + partial)
    assert old.growth(sr.load(tmp_path / "new.jsonl", at=AT)).rule.count("1 could not be read completely: ") == 1


# --- churn ---

OLD = [
    *pages("blog/1", "blog/2", "shop/1", "gone/1", "gone/2", "root"),
    *pages("blog/3", priority=0.5),
    *pages("blog/moved", sitemap="one", line=1),
]
NEW = [
    *pages("blog/1", "shop/1", "shop/2", "root", "new/1"),
    *pages("blog/2", lastmod=AT, lastmod_precision="second"),
    *pages("blog/3", priority=0.6),
    *pages("blog/moved", sitemap="two", line=7),
]


def test_churn_is_what_diff_says_by_section(tmp_path: Path) -> None:
    old, new = snapshot_of(tmp_path, *OLD, name="old"), snapshot_of(tmp_path, *NEW, name="new")
    made = new.churn(old)
    reported = {row[0]: tuple(row[1:]) for row in rows(made, "section", "new", "updated", "removed", "unchanged")}
    assert reported == {
        "/blog/": (0, 2, 0, 2), "/shop/": (1, 0, 0, 1), "/gone/": (0, 0, 2, 0), "/new/": (1, 0, 0, 0),
        "/": (0, 0, 0, 1),
    }
    with sr.diff(old, new) as changes:
        list(changes)
        counts = changes.counts
    assert tuple(made[["new", "updated", "removed"]].sum()) == (counts.new, counts.updated, counts.removed)
    assert made.finding == "2 new pages; of 8 earlier pages 2 updated, 2 removed"
    assert rows(new.churn(new), "new", "updated", "removed") == [(0, 0, 0)] * 4


@pytest.mark.slow
def test_churn_names_incomplete_snapshots(tmp_path: Path) -> None:
    partial = sr.json_line(sr.Outcome("https://a.example/s.xml", complete=False))
    old, new = snapshot_of(tmp_path, *OLD, name="old"), snapshot_of(tmp_path, *NEW, name="new")
    assert "was not read completely" not in new.churn(old).rule
    (tmp_path / "old.jsonl").write_bytes((tmp_path / "old.jsonl").read_bytes() + partial)
    rule = new.churn(sr.load(old.name)).rule
    assert "old.jsonl was not read completely: it may have had pages that count as new" in rule
    (tmp_path / "new.jsonl").write_bytes((tmp_path / "new.jsonl").read_bytes() + partial)
    cut = sr.load(new.name)
    made = cut.churn(old)
    assert "Not counted as removed: 2 pages missing from " in made.rule
    assert made["removed"].sum() == 0


def test_a_page_has_what_any_listing_of_it_states(tmp_path: Path) -> None:
    """Its lastmod is the newest; images and news come from the sitemaps that state them."""
    day = datetime(2026, 2, 1, tzinfo=UTC)
    news = sr.News("Name", "de", "Title", day, "day")
    listings = [
        *pages("a", images=(sr.Image(PAGE("1.png")),), sitemap=PAGE("images.xml")),
        *pages("a", lastmod=day, lastmod_precision="day", priority=0.5, sitemap=PAGE("pages.xml")),
        *pages("b", lastmod=day, lastmod_precision="day"),
        *pages("a", news=news, priority=0.9, images=(sr.Image(PAGE("2.png")),), sitemap=PAGE("news.xml")),
    ]
    made = snapshot_of(tmp_path, *listings)
    first, second = made.pages.to_arrow().to_pylist()
    assert [first["sitemap"], first["lastmod"], first["priority"]] == [PAGE("pages.xml"), day, 0.5]
    assert [first["images"][0]["loc"], first["news"]["title"]] == [PAGE("1.png"), "Title"]
    assert [second["lastmod"], second["priority"], second["news"], second["images"]] == [day, None, None, None]
    assert made.media_coverage()[["pages", "images", "news"]].to_numpy().tolist() == [[2, 1, 1]]
    assert rows(made.languages(), "language", "pages", "source")[0] == ("de", 1, "news")
    assert ("news", 1) in rows(made.calendar(), "source", "pages")


def test_links_of_all_listings_of_a_page_count(tmp_path: Path) -> None:
    """A page that two sitemaps list with other links; the same link in both counts once."""
    own = sr.Alternate("en", PAGE("a"))
    listings = [
        *pages("a", alternates=(own, sr.Alternate("de", PAGE("b")))),
        *pages("a", alternates=(own, sr.Alternate("de", PAGE("b")), sr.Alternate("fr", PAGE("c")))),
        *pages("b", alternates=(sr.Alternate("de", PAGE("b")), sr.Alternate("en", PAGE("a")))),
        *pages("c", alternates=(sr.Alternate("fr", PAGE("c")), sr.Alternate("en", PAGE("a")))),
    ]
    made = snapshot_of(tmp_path, *listings)
    assert rows(made.hreflang(), "language", "alternate", "links", "returned") == [
        ("de", "en", 1, 1), ("en", "de", 1, 1), ("en", "fr", 1, 1), ("fr", "en", 1, 1),
    ]


def test_churn_is_counted_by_site(tmp_path: Path) -> None:
    old = snapshot_of(tmp_path, one=pages("a/1"), two=pages("a/1", "a/2"), name="old")
    new = snapshot_of(tmp_path, one=pages("a/1", "a/2"), two=pages("a/1"), name="new")
    made = new.churn(old)
    assert rows(made, "site", "section", "new", "updated", "removed", "unchanged") == [
        ("one", "/a/", 1, 0, 0, 1),
        ("two", "/a/", 0, 0, 1, 1),
    ]


def test_a_churn_of_changed_listings_counts_pages(tmp_path: Path) -> None:
    """In both, the listing with the newest lastmod counts for the page."""
    stamped = [datetime(2026, month, 1, tzinfo=UTC) for month in (1, 2)]
    old = snapshot_of(tmp_path, *[page for when in stamped for page in pages("x/a", lastmod=when)], name="old")
    new = snapshot_of(tmp_path, *pages("x/a", lastmod=stamped[1]), name="new")
    assert rows(new.churn(old), "new", "updated", "removed", "unchanged") == [(0, 0, 0, 1)]
