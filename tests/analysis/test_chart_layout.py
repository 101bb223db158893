"""Where the marks of a chart are: sites in rows of one chart, order, axes, labels, sizes and colours."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from recorded import AT, snapshot_of

import sitemap_reader as sr
from sitemap_reader.analysis.chart_spec import cell_percent
from sitemap_reader.analysis.charts import apart, without_common_prefix


def load(folder: Path, sites: dict[str, list[sr.UrlRecord]], **options: Any) -> sr.Snapshot:
    return snapshot_of(folder, **options, **sites)


def page(site: str, path: str, age: int | None = None, **fields: Any) -> sr.UrlRecord:
    if age is not None:
        fields |= {"lastmod": AT - timedelta(days=age), "lastmod_precision": "second"}
    return sr.UrlRecord(f"https://{site}.example/{path}", **fields)


def pages(site: str, count: int) -> list[sr.UrlRecord]:
    """So many pages, the younger the more, with a field for every measure."""
    links = (sr.Alternate("en", f"https://{site}.example/en/p0"), sr.Alternate("de", f"https://{site}.example/en/p1"))
    fields = {"sitemap": "s", "changefreq": "daily", "alternates": links}
    return [page(site, f"{'en' if n % 3 else 'de'}/p{n}", age=n * n, **fields) for n in range(count)]


SIZES = {"small": 2, "large": 9, "middle": 5}
BY_SIZE = ["large", "middle", "small"]


@pytest.fixture
def three(tmp_path: Path) -> sr.Snapshot:
    return load(tmp_path, {name: pages(name, count) for name, count in SIZES.items()})


def parts_of(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a description of a chart."""
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from parts_of(part)


def spec(measure: sr.Measure, **options: Any) -> dict[str, Any]:
    return measure.chart(**options).altair.to_dict()


def marks(measure: sr.Measure, column: str, **options: Any) -> list[dict[str, Any]]:
    """The rows of the layer whose rows have that column."""
    values = (part["data"]["values"] for part in parts_of(spec(measure, **options)) if "data" in part)
    return next(rows for rows in values if rows and column in rows[0])


def axis(measure: sr.Measure, name: str) -> dict[str, Any]:
    return next(part["encoding"][name] for part in parts_of(spec(measure)) if name in part.get("encoding", {}))


def cells(measure: sr.Measure) -> dict[tuple[str, str], str]:
    return {(row["site"], row["_x"].rstrip()): row["_text"] for row in marks(measure, "_x")}


MEASURES: dict[str, Callable[[sr.Snapshot], sr.Measure]] = {
    name: lambda site, name=name: getattr(site, name)()  # type: ignore[misc]
    for name in (
        *("cadence", "weekday_hour", "freshness", "lastmod_trust", "sections", "media_coverage", "changefreq_priority"),
        *("slug_ngrams", "hreflang", "overlap", "growth"),
    )
}
MEASURES["churn"] = lambda site: site.churn(site)


# --- several sites in one chart ---


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
def test_sites_are_rows_of_one_chart(name: str, three: sr.Snapshot) -> None:
    described = spec(MEASURES[name](three))
    assert not {"concat", "vconcat", "hconcat", "facet"} & {*described}
    rows = [row for part in parts_of(described) for row in part.get("data", {}).get("values", ())]
    assert {row.get("site") for row in rows} >= {*SIZES}


@pytest.mark.parametrize("name", ["weekday_hour", "freshness", "media_coverage", "hreflang", "sections"])
def test_the_largest_site_is_first(name: str, three: sr.Snapshot) -> None:
    assert axis(MEASURES[name](three), "y")["scale"]["domain"] == BY_SIZE


def test_sites_of_bands_are_in_order_of_size(three: sr.Snapshot) -> None:
    names = [row["text"] for row in marks(three.cadence(), "text")]
    assert names == BY_SIZE


@pytest.mark.slow
def test_overlap_has_one_order_for_rows_and_columns(three: sr.Snapshot) -> None:
    made = three.overlap(by="slug")
    assert axis(made, "x")["scale"]["domain"] == axis(made, "y")["scale"]["domain"] == BY_SIZE
    assert {row["_text"] for row in marks(made, "_x") if row["site"] == "small"} == {"100%"}


def test_languages_have_one_order_for_rows_and_columns(tmp_path: Path) -> None:
    made = load(tmp_path, {"a": pages("a", 6)}).hreflang()
    rows, columns = (axis(made, name)["scale"]["domain"] for name in "yx")
    assert [name for name in rows if name in columns] == [name for name in columns if name in rows]


@pytest.mark.slow
def test_many_sites_are_counted(tmp_path: Path) -> None:
    for count, note in ((60, False), (61, True)):
        site = load(tmp_path, {f"s{n:02}": [page(f"s{n:02}", "x/y", age=n)] for n in range(count)})
        for made in (site.sections(), site.freshness(), site.cadence("D"), site.lastmod_trust()):
            assert ("1 more site in the table." in json.dumps(spec(made))) is note


# --- the numbers in the cells ---


@pytest.mark.slow
def test_cells_are_shares_of_the_site(three: sr.Snapshot) -> None:
    frame = pd.DataFrame(three.weekday_hour())
    shown = cells(three.weekday_hour())
    for site, part in frame.groupby("site"):
        for column in ("weekday", "hour"):
            for value, count in part.groupby(column)["pages"].sum().items():
                assert shown[str(site), str(value)] == cell_percent(count / part["pages"].sum())
    ages = three.freshness()
    assert cells(ages) == {(row.site, row.age): cell_percent(row.share) for row in ages.itertuples()}
    media = three.media_coverage()
    assert cells(media)["large", "alternates"] == "100%"
    assert cells(media)["large", "images"] == "0%"


@pytest.mark.slow
def test_media_of_sections_are_weighted_by_their_pages(tmp_path: Path) -> None:
    images = (sr.Image("i"),)
    rows = [page("a", f"x/{n}") for n in range(3)] + [page("a", "y/1", images=images)]
    made = load(tmp_path, {"a": rows, "b": rows[:1]}).media_coverage()
    assert cells(made)["a", "images"] == "25%"


@pytest.mark.slow
def test_equal_values_of_changefreq_and_priority_are_two_columns(tmp_path: Path) -> None:
    rows = [page("a", "1", changefreq="daily"), page("a", "2", priority=0.5), page("a", "3")]
    made = load(tmp_path, {"a": rows, "b": rows[:1]}).changefreq_priority()
    shown = {(row["site"], row["_x"]): row["_text"] for row in marks(made, "_x")}
    assert shown == {
        ("a", "none"): "67%", ("a", "daily"): "33%", ("b", "daily"): "100%",
        ("a", "none\xa0"): "67%", ("a", "0.5\xa0"): "33%", ("b", "none\xa0"): "100%",
    }  # fmt: skip
    assert axis(made, "x")["scale"]["domain"] == ["daily", "none", "\xa0", "none\xa0", "0.5\xa0"]


def test_links_of_a_language_show_the_share_that_is_returned(tmp_path: Path) -> None:
    def linked(site: str, path: str, *languages: str) -> sr.UrlRecord:
        hrefs = {name: f"https://{site}.example/{name}" for name in languages}
        return page(site, path, alternates=tuple(sr.Alternate(name, href) for name, href in hrefs.items()))

    rows = [linked("a", "en", "en", "de", "fr"), linked("a", "de", "en", "de"), page("a", "fr")]
    alone = load(tmp_path, {"a": rows}).hreflang()
    assert {(row["language"], row["alternate"]): row["_text"] for row in marks(alone, "_x")} == {
        ("en", "de"): "100%\nof 1", ("de", "en"): "100%\nof 1", ("en", "fr"): "0%\nof 1"
    }  # fmt: skip
    both = load(tmp_path, {"a": rows, "b": [linked("b", "en", "en", "de")]}).hreflang()
    assert cells(both) == {("a", "en"): "100%", ("a", "de"): "100%", ("a", "fr"): "0%", ("b", "de"): "0%"}


def test_churn_states_counts_and_shares_of_all_pages(tmp_path: Path) -> None:
    old = {"a": [page("a", "x/1"), page("a", "x/2")], "b": [page("b", "x/1")]}
    new = {"a": [page("a", "x/1"), page("a", "x/3")], "b": [page("b", "x/1")]}
    earlier = load(tmp_path, old, name="old", at=AT - timedelta(days=1))
    shown = cells(load(tmp_path, new).churn(earlier))
    assert [shown["a", kind] for kind in ("new", "updated", "removed")] == ["33%\n1", "0%\n0", "33%\n1"]
    assert shown["b", "new"] == "0%\n0"


@pytest.mark.slow
def test_words_of_most_sites_are_first_and_the_rest_is_counted(tmp_path: Path) -> None:
    sites = {name: [page(name, "shared")] + [page(name, f"{name}{'x' * n}") for n in range(13)] for name in "ab"}
    made = load(tmp_path, sites).slug_ngrams(stop_words=False)
    assert axis(made, "x")["scale"]["domain"][0] == "shared"
    assert len(axis(made, "x")["scale"]["domain"]) == 24
    assert "3 more columns in the table." in json.dumps(spec(made))


@pytest.mark.parametrize("count", [6, 7])
def test_the_most_frequent_words_of_many_sites_are_in_their_order(count: int, tmp_path: Path) -> None:
    words = {f"s{n}": [f"word{chr(97 + n)}-{x}" for x in ("same", "last", "same")] for n in range(count)}
    sites = {name: [page(name, f"{n}-{slug}") for n, slug in enumerate(slugs)] for name, slugs in words.items()}
    made = load(tmp_path, sites).slug_ngrams(stop_words=False)
    if count == 6:
        assert {"words", "last", "same", "worda"} >= {*axis(made, "x")["scale"]["domain"][:2]}
        assert len(axis(made, "x")["scale"]["domain"]) == 8
        return
    assert axis(made, "x")["scale"]["domain"] == ["1", "2", "3"]
    shown = {(row["site"], row["_x"]): row["_text"] for row in marks(made, "_x")}
    assert [shown["s0", place] for place in "123"] == ["worda 100%", "same 67%", "last 33%"]
    assert shown["s6", "1"] == "wordg 100%"


@pytest.mark.slow
def test_what_many_others_have_is_shown_with_numbers_of_pages_the_largest_site_first(tmp_path: Path) -> None:
    sites = {f"s{n}": [page(f"s{n}", f"{x}-word{'abcdefgh'[n]}") for x in range(n + 1)] for n in range(8)}
    market = load(tmp_path, sites)
    made = market.gaps("s0", by="topic")
    assert {row["site"]: row["_text"] for row in marks(made, "_x")}["s7"] == "wordh 8"
    assert made.finding == 'Topics that no page of s0 has: "wordh" at 1 of 7 sites, 8 pages at s7'
    assert market.topics().finding == 'Among the most frequent: "worda" at 1 of 8 sites, 100% of the pages at s0'
    for each in (made, market.topics()):
        assert axis(each, "y")["scale"]["domain"][:2] == ["s7", "s6"]


def test_the_first_word_of_each_site_has_a_column(tmp_path: Path) -> None:
    """As the finding names it, whatever other sites share."""
    common = [f"c{chr(97 + n)}" for n in range(24)]
    slugs = {name: [f"only{name}", "-".join([f"only{name}", *common])] for name in "ab"}
    sites = {name: [page(name, slug) for slug in some] for name, some in slugs.items()}
    made = load(tmp_path, sites).slug_ngrams(top=25)
    domain = axis(made, "x")["scale"]["domain"]
    assert {"onlya", "onlyb"} <= {*domain}
    assert len(domain) == 24


@pytest.mark.slow
def test_names_of_parts_are_cut_where_they_do_not_fit(tmp_path: Path) -> None:
    long = [page("a", f"{'n' * 40}{k}/x") for k in range(4)]
    made = load(tmp_path, {"a": long, "b": [page("b", "x/1")]}).sections()
    texts = [row["_text"] for row in marks(made, "_from", width=400) if row["site"] == "a"]
    assert texts == ["/nnnnnnn… 25%"] * 4
    assert [row["_text"] for row in marks(made, "_from", width=200) if row["site"] == "a"] == ["25%"] * 4


@pytest.mark.parametrize(("share", "text"), [
    (0.0, "0%"), (0.004, "<1%"), (0.005, "<1%"), (0.006, "1%"), (0.994, "99%"), (0.995, "99%"), (1.0, "100%"),
])
def test_a_cell_is_0_or_100_percent_only_if_it_is(share: float, text: str) -> None:
    assert cell_percent(share) == text


# --- bands, parts and dots ---


@pytest.mark.slow
def test_each_band_is_as_high_as_its_largest_period(three: sr.Snapshot) -> None:
    made = three.cadence()
    drawn = marks(made, "_top")
    for row in drawn:
        most = made.loc[made["site"] == row["site"], "pages"].max()
        base = BY_SIZE.index(row["site"]) + 1 - 0.09
        assert row["_base"] == pytest.approx(base)
        assert row["_top"] == pytest.approx(base - 0.82 * row["pages"] / most)
    some = made[made["pages"] > 0]
    assert sorted((row["site"], row["pages"]) for row in drawn) == sorted(zip(some["site"], some["pages"], strict=True))
    assert "9 pages; most 4 in 2026-06" in json.dumps(spec(made))


def test_sites_with_one_common_period_are_bars(tmp_path: Path) -> None:
    sites = {"a": [page("a", "1", age=1)], "b": [page("b", str(n), age=1) for n in range(2)]}
    made = load(tmp_path, sites).cadence()
    assert axis(made, "y")["sort"] == ["b", "a"]
    assert axis(made, "x")["title"] == "pages, month of lastmod (UTC) 2026-06"


def test_parts_of_a_bar_are_the_shares_of_its_sections(tmp_path: Path) -> None:
    rows = [page("a", f"{folder}/{n}") for folder, count in (("x", 1), ("y", 3)) for n in range(count)]
    many = [page("b", f"s{n:02}/{k}") for n in range(14) for k in range(n // 12 + 1)]
    made = load(tmp_path, {"a": rows, "b": many}).sections()
    parts = marks(made, "_from")
    assert [(row["_from"], row["_to"], row["_text"]) for row in parts if row["site"] == "a"] == [
        (0.0, 0.75, "/y/ 75%"), (0.75, 1.0, "/x/ 25%")
    ]  # fmt: skip
    others = [row for row in parts if row["site"] == "b"]
    assert len(others) == 13
    assert [row["_is_rest"] for row in others] == [False] * 12 + [True]
    assert others[-1]["_to"] == pytest.approx(1.0)
    assert others[-1]["_text"] == "2 more 12%"
    assert {row["_size"] for row in parts} == {"4 pages in 2 sections", "16 pages in 14 sections"}


def test_parts_of_a_bar_are_shares_of_the_whole(tmp_path: Path) -> None:
    pages = {"a": [page("a", str(n), age=3, sitemap=f"s{n % 2}") for n in range(5)]}
    pages["b"] = [page("b", "1", age=3, sitemap="t")]
    parts = marks(load(tmp_path, pages).tree(), "_from")
    assert [(row["_to"], row["_text"]) for row in parts if row["site"] == "a"] == [(0.6, "s0 60%"), (1.0, "s1 40%")]


@pytest.mark.slow
def test_the_site_with_the_least_score_is_first(tmp_path: Path) -> None:
    same = [page("bad", str(n), age=3, sitemap="t") for n in range(20)]
    good = [page("good", str(n), age=n, sitemap="u") for n in range(20)]
    made = load(tmp_path, {"good": good, "bad": same}).lastmod_trust()
    assert axis(made, "y")["scale"]["domain"] == ["bad", "good"]
    assert marks(made, "text")[0]["text"] == "1 sitemap, 0.00: 100% have the same lastmod, 2026-06-12T12:00:00…"
    assert axis(made, "x")["scale"]["domain"] == [0, 1]


# --- time ---


def test_rows_of_one_period_are_one_bar(tmp_path: Path) -> None:
    """Of a calendar, which has a row for each source of dates."""
    news = sr.News(publication_date=AT - timedelta(days=1), publication_date_precision="day")
    published = sr.UrlRecord("https://a.example/n", news=news, sitemap="s")
    changed = [page("a", str(n), age=1 + 31 * n) for n in range(3)]
    made = load(tmp_path, {"a": [published, *changed]}).calendar()
    assert made["source"].nunique() == 2
    bars = marks(made, "_name")
    assert [(row["_name"], row["pages"]) for row in bars] == [("2026-04", 1), ("2026-05", 1), ("2026-06", 2)]
    assert [row["_text"] for row in bars] == ["1", "1", "2"]


@pytest.mark.slow
def test_a_single_period_is_a_bar_with_its_name_on_the_axis(tmp_path: Path) -> None:
    site = load(tmp_path, {"a": [page("a", "1", age=1)]})
    for freq, name in (("D", "2026-06-14"), ("W", "2026-06-08"), ("M", "2026-06"), ("Q", "2026-Q2"), ("Y", "2026")):
        made = site.cadence(freq)  # type: ignore[arg-type]
        assert [row["_name"] for row in marks(made, "_name")] == [name]
        assert axis(made, "x")["type"] == "nominal"


@pytest.mark.parametrize(("days", "kind"), [(16, "nominal"), (17, "temporal")])
def test_a_few_periods_have_their_names(days: int, kind: str, tmp_path: Path) -> None:
    made = load(tmp_path, {"a": [page("a", str(n), age=n) for n in range(days)]}).cadence("day")
    assert axis(made, "x")["type"] == kind


def test_periods_with_a_gap_are_on_an_axis_of_time(tmp_path: Path) -> None:
    made = load(tmp_path, {"a": [page("a", str(n), age=2 * n) for n in range(4)]}).cadence("day")
    assert axis(made, "x")["type"] == "nominal"  # days without a page are rows too
    some = made[made["pages"] > 0]
    assert axis(some, "x")["type"] == "temporal"
    drawn = marks(some, "_end")
    assert [row["period"] for row in drawn] == [f"2026-06-{day:02}T00:00:00" for day in (9, 11, 13, 15)]
    assert drawn[0]["_end"] == "2026-06-09T20:24:00"  # 85% of the day


@pytest.mark.slow
@pytest.mark.parametrize(("at", "plotted"), [
    ("2025-08-02", "2025-08-02T00:00:00+00:00"),
    ("2025-08-02T23:59:59Z", "2025-08-02T23:59:59+00:00"),
    (datetime(2025, 8, 2, 18, tzinfo=UTC), "2025-08-02T18:00:00+00:00"),
    (datetime(2025, 8, 2).date(), "2025-08-02T00:00:00+00:00"),
])
def test_a_snapshot_is_plotted_at_the_given_day(at: Any, plotted: str, tmp_path: Path) -> None:
    old = load(tmp_path, {"a": [page("a", "1")]}, at=at, name="old")
    made = load(tmp_path, {"a": [page("a", "1"), page("a", "2")]}, at="2025-08-09").growth(old)
    assert [row["at"] for row in marks(made, "at")] == [plotted, "2025-08-09T00:00:00+00:00"]
    shown = axis(made, "x")["axis"]
    assert shown["values"] == [plotted, "2025-08-09T00:00:00+00:00"]
    assert shown["format"] == "%Y-%m-%d"
    assert "2025-08-02" in made.chart().to_svg()


def test_several_snapshots_of_a_day_have_their_times(tmp_path: Path) -> None:
    old = load(tmp_path, {"a": [page("a", "1")]}, at=AT - timedelta(hours=3), name="old")
    made = load(tmp_path, {"a": [page("a", "1")]}).growth(old)
    assert axis(made, "x")["axis"]["format"] == "%Y-%m-%d %H:%M"


@pytest.mark.parametrize(("largest", "is_lines"), [(20, True), (21, False)])
def test_lines_of_very_different_sites_are_bands(largest: int, is_lines: bool, tmp_path: Path) -> None:
    sites = {"a": pages("a", 2), "b": pages("b", largest)}
    old = load(tmp_path, sites, at=AT - timedelta(days=9), name="old")
    described = json.dumps(spec(load(tmp_path, sites).growth(old)))
    assert ("strokeDash" in described) is is_lines
    assert ('"text": "2 to 2 pages"' in described) is not is_lines


@pytest.mark.parametrize(("count", "is_lines"), [(6, True), (7, False)])
def test_many_lines_are_bands(count: int, is_lines: bool, tmp_path: Path) -> None:
    sites = {f"s{n}": pages(f"s{n}", 3) for n in range(count)}
    old = load(tmp_path, sites, at=AT - timedelta(days=9), name="old")
    described = json.dumps(spec(load(tmp_path, sites).growth(old)))
    assert ("strokeDash" in described) is is_lines


def test_texts_at_the_ends_of_lines_do_not_overlap() -> None:
    assert apart([10.0, 40.0], 15, end=100) == [10, 40]
    assert apart([100.0, 100.0, 100.0], 15, end=100) == [70, 85, 100]
    close = apart([50.0, 51.0, 70.0], 15, end=100)
    assert [round(after - before, 6) for before, after in pairwise(close)] == [15, 15]


# --- labels ---

PREFIXES: dict[str, tuple[list[str], list[str], str]] = {
    "folder": (["https://a.example/m/1.xml", "https://a.example/m/2.xml"], ["…1.xml", "…2.xml"], "https://a.example/m/"),
    "not within a name": (["https://a.example/ab", "https://a.example/ac"], ["…ab", "…ac"], "https://a.example/"),
    "a folder and its page": (["/docs/b/c/", "/docs/b/c/d"], ["…c/", "…c/d"], "/docs/b/"),
    "one": (["https://a.example/m/1.xml"], ["…1.xml"], "https://a.example/m/"),
    "short": (["/de/a", "/de/b"], ["/de/a", "/de/b"], ""),
    "none": (["brick", "bread"], ["brick", "bread"], ""),
    "of two hosts": (["https://a.example/1", "https://b.example/1"], ["…a.example/1", "…b.example/1"], "https://"),
}


@pytest.mark.parametrize("name", PREFIXES)
def test_the_common_folders_of_names_are_stated_once(name: str) -> None:
    names, short, prefix = PREFIXES[name]
    assert without_common_prefix(names) == (short, prefix)


def test_sitemaps_are_named_after_their_folder(tmp_path: Path) -> None:
    rows = [page("a", str(n), sitemap=f"https://a.example/maps/{n}.xml") for n in range(2)]
    made = load(tmp_path, {"a": rows}).lastmod_trust()
    assert axis(made, "y")["title"] == "sitemap (… is https://a.example/maps/)"
    assert axis(made, "y")["sort"] == ["…0.xml", "…1.xml"]


# --- size and theme ---


@pytest.mark.slow
def test_width_and_height_are_those_of_the_marks(tmp_path: Path, three: sr.Snapshot) -> None:
    for made in (load(tmp_path, {"a": pages("a", 9)}).sections(), three.sections(), three.cadence(), three.freshness()):
        parts = parts_of(spec(made, width=400, height=120))
        sizes = [(round(part["width"]), round(part["height"])) for part in parts if {"width", "height"} <= {*part}]
        assert (400, 120) in sizes


def test_rows_that_do_not_fit_the_height_are_counted(tmp_path: Path) -> None:
    made = load(tmp_path, {"a": [page("a", f"s{n}/x") for n in range(10)]}).sections()
    assert len(marks(made, "section")) == 10
    assert len(marks(made, "section", height=100)) == 7  # of 14 pixels
    assert "3 more rows in the table." in json.dumps(spec(made, height=100))


@pytest.mark.slow
def test_themes_differ_in_colours_only(three: sr.Snapshot) -> None:
    light, dark = (json.dumps(spec(three.freshness(), theme=theme)) for theme in ("light", "dark"))
    colour = re.compile(r"#[0-9a-f]{6}")
    assert colour.sub("", light) == colour.sub("", dark)
    assert {*colour.findall(light)}.isdisjoint(colour.findall(dark))
    assert json.loads(light)["background"] == "#ffffff"


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "narrow": ({"width": 199}, "width is a number of pixels from 200 to 4,000, and not 199"),
    "wide": ({"width": 4_001}, "width is a number of pixels from 200 to 4,000, and not 4001"),
    "low": ({"height": 59}, "height is a number of pixels from 60 to 8,000, and not 59"),
    "high": ({"height": 8_001}, "height is a number of pixels from 60 to 8,000, and not 8001"),
    "text": ({"width": "100%"}, "width is a number of pixels from 200 to 4,000, and not '100%'"),
    "truth": ({"height": True}, "height is a number of pixels from 60 to 8,000, and not True"),
    "theme": ({"theme": "blue"}, "theme is one of light, dark, not 'blue'"),
    "themes": ({"theme": ["dark"]}, "theme is one of light, dark, not ['dark']"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_sizes_and_themes_are_checked(wrong: str, three: sr.Snapshot) -> None:
    options, reported = WRONG[wrong]
    with pytest.raises(sr.UsageError) as failure:
        three.sections().chart(**options)
    assert str(failure.value) == reported


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"width": 200}, {"width": 4_000}, {"height": 60}, {"height": 8_000}], ids=str)
def test_sizes_at_the_limits_are_drawn(options: dict[str, Any], three: sr.Snapshot) -> None:
    assert three.sections().chart(**options).to_svg().startswith("<svg")
