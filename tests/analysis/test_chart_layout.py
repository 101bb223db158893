"""How a chart is laid out: sites as panels or rows, order, scales, axes, labels, sizes and colours; and in Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from page_layout import layout_faults
from recorded import AT, snapshot_of
from test_charts import MEASURES

import sitemap_reader as sr
from sitemap_reader.analysis.chart_spec import cell_percent


def load(folder: Path, sites: dict[str, list[sr.UrlRecord]], **options: Any) -> sr.Snapshot:
    return snapshot_of(folder, **options, **sites)


def page(site: str, path: str, age: float | None = None, **fields: Any) -> sr.UrlRecord:
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
    """The rows with that column."""
    values = (part["data"]["values"] for part in parts_of(spec(measure, **options)) if "data" in part)
    return [row for rows in values for row in rows if column in row]


def axes(measure: sr.Measure, name: str) -> list[dict[str, Any]]:
    return [part["encoding"][name] for part in parts_of(spec(measure)) if name in part.get("encoding", {})]


def domain(measure: sr.Measure, name: str) -> list[str]:
    return axes(measure, name)[0]["scale"]["domain"]


def cells(measure: sr.Measure) -> dict[tuple[str, str], str]:
    return {(row["_y"].partition(" (")[0], row["_x"]): row["_text"] for row in marks(measure, "_x")}


# --- several sites in one chart ---


@pytest.mark.parametrize("name", ["weekday_hour", "freshness", "media_coverage", "hreflang", "languages"])
def test_sites_are_rows_of_a_matrix_the_largest_first(name: str, three: sr.Snapshot) -> None:
    assert [label.partition(" (")[0] for label in domain(getattr(three, name)(), "y")] == BY_SIZE


@pytest.mark.parametrize("name", ["cadence", "sections", "growth"])
def test_sites_are_panels_the_largest_first(name: str, three: sr.Snapshot, tmp_path: Path) -> None:
    old = load(tmp_path, {name: pages(name, 2) for name in SIZES}, at=AT - timedelta(days=9), name="old")
    made = three.growth(old) if name == "growth" else getattr(three, name)()
    assert spec(made)["facet"]["row"]["sort"] == BY_SIZE


def test_labels_of_sites_have_their_sizes(three: sr.Snapshot) -> None:
    assert domain(three.media_coverage(), "y") == ["large (9)", "middle (5)", "small (2)"]
    assert domain(three.changefreq_priority(), "y") == ["large (9)", "middle (5)", "small (2)"]


def test_a_site_without_a_row_is_empty(tmp_path: Path) -> None:
    site = load(tmp_path, {"a": pages("a", 4), "b": [page("b", "x/1")], "c": pages("c", 3)})
    made = site.cadence()
    assert "b" not in {*made["site"]}
    assert spec(made)["facet"]["row"]["sort"] == ["a", "c", "b: nothing to draw"]
    assert domain(site.weekday_hour(), "y") == ["a (4)", "c (3)", "b (0)"]
    assert "facet" not in spec(made[made["site"] == "a"])


@pytest.mark.parametrize(("largest", "is_shared"), [(20, True), (21, False)])
@pytest.mark.parametrize("name", ["cadence", "sections"])
def test_a_much_larger_site_has_its_own_scale(name: str, largest: int, is_shared: bool, tmp_path: Path) -> None:
    counts = {"a": 2, "b": largest}
    sites = {site: [page(site, f"x/{n}", age=2 + n / 4) for n in range(count)] for site, count in counts.items()}
    described = spec(getattr(load(tmp_path, sites), name)())
    channel = "y" if name == "cadence" else "x"
    assert (described.get("resolve", {}).get("scale", {}).get(channel) == "independent") is not is_shared
    assert ("Each site is on its own scale." in described["title"]["subtitle"]) is not is_shared


def test_overlap_has_one_order_for_rows_and_columns(three: sr.Snapshot) -> None:
    made = three.overlap(by="slug")
    assert domain(made, "x") == domain(made, "y")
    assert {row["_text"] for row in marks(made, "_x") if row["_y"] == "small"} == {"100%"}


def test_languages_have_one_order_for_rows_and_columns(tmp_path: Path) -> None:
    made = load(tmp_path, {"a": pages("a", 6)}).hreflang()
    rows, columns = ([name.partition(" (")[0] for name in domain(made, axis)] for axis in "yx")
    assert [name for name in rows if name in columns] == [name for name in columns if name in rows]


@pytest.mark.slow
def test_many_sites_are_counted(tmp_path: Path) -> None:
    for count, note in ((60, False), (61, True)):
        site = load(tmp_path, {f"s{n:02}": [page(f"s{n:02}", "x/y", age=n)] for n in range(count)})
        for made in (site.sections(), site.freshness(), site.cadence("D"), site.lastmod_trust()):
            assert ("1 more site in the table." in json.dumps(spec(made))) is note


# --- the numbers in the squares ---


@pytest.mark.slow
def test_squares_are_shares_of_the_site(three: sr.Snapshot) -> None:
    frame = pd.DataFrame(three.weekday_hour())
    shown = cells(three.weekday_hour())
    for site, part in frame.groupby("site"):
        for column in ("weekday", "hour"):
            for value, count in part.groupby(column)["pages"].sum().items():
                assert shown[str(site), str(value)] == cell_percent(count / part["pages"].sum())
    ages = three.freshness()
    assert cells(ages) == {(row.site, row.age): cell_percent(row.share) for row in ages.itertuples()}
    trust = three.lastmod_trust()
    assert cells(trust)["small", trust.loc[trust["site"] == "small", "trust"].item()] == "100%"


def test_media_of_sections_are_weighted_by_their_pages(tmp_path: Path) -> None:
    images = (sr.Image("i"),)
    rows = [page("a", f"x/{n}") for n in range(3)] + [page("a", "y/1", images=images)]
    made = load(tmp_path, {"a": rows, "b": rows[:1]}).media_coverage()
    assert cells(made)["a", "images"] == "25%"


def test_changefreq_and_priority_are_two_matrices_in_their_orders(tmp_path: Path) -> None:
    some = [{"changefreq": "weekly"}, {"changefreq": "always"}, {"priority": 0.5}, {"priority": 1.0}, {}]
    rows = [page("a", str(n), **fields) for n, fields in enumerate(some)]
    made = load(tmp_path, {"a": rows, "b": rows[:1]}).changefreq_priority()
    orders = [each["scale"]["domain"] for each in axes(made, "x")[::2]]
    assert orders == [["always", "weekly", "none"], ["1", "0.5", "none"]]
    assert [*made[made["site"] == "a"].groupby("value").groups] == ["always", "weekly", "1", "0.5", "none"]


def test_links_of_a_language_show_the_share_that_is_returned(tmp_path: Path) -> None:
    def linked(site: str, path: str, *languages: str) -> sr.UrlRecord:
        hrefs = {name: f"https://{site}.example/{name}" for name in languages}
        return page(site, path, alternates=tuple(sr.Alternate(name, href) for name, href in hrefs.items()))

    rows = [linked("a", "en", "en", "de", "fr"), linked("a", "de", "en", "de"), page("a", "fr")]
    alone = load(tmp_path, {"a": rows}).hreflang()
    assert cells(alone) == {("en", "de"): "100%", ("de", "en"): "100%", ("en", "fr"): "0%"}
    assert {*domain(alone, "y")} == {"en (2)", "de (1)"}
    both = load(tmp_path, {"a": rows, "b": [linked("b", "en", "en", "de")]}).hreflang()
    assert cells(both) == {("a", "en"): "100%", ("a", "de"): "100%", ("a", "fr"): "0%", ("b", "de"): "0%"}


def test_churn_states_counts_of_one_site_and_shares_of_several(tmp_path: Path) -> None:
    old = {"a": [page("a", "x/1"), page("a", "x/2")], "b": [page("b", "x/1")]}
    new = {"a": [page("a", "x/1"), page("a", "x/3")], "b": [page("b", "x/1")]}
    earlier = load(tmp_path, old, name="old", at=AT - timedelta(days=1))
    made = load(tmp_path, new).churn(earlier)
    assert [cells(made)["a", kind] for kind in ("new", "redated", "removed")] == ["33%", "0%", "33%"]
    assert [row["_text"] for row in marks(made[made["site"] == "a"], "_x")] == ["1", "0", "0", "1"]


def test_numbers_of_many_digits_fit_their_square(tmp_path: Path) -> None:
    made = load(tmp_path, {"a": [page("a", "1", age=1)]}).weekday_hour()
    assert [row["_text"] for row in marks(made.assign(pages=12_345), "_x")] == ["12k"]


@pytest.mark.parametrize("count", [6, 7])
def test_the_most_frequent_words_of_many_sites_are_in_their_order(count: int, tmp_path: Path) -> None:
    words = {f"s{n}": [f"word{chr(97 + n)}-{x}" for x in ("same", "last", "same")] for n in range(count)}
    sites = {name: [page(name, f"{n}-{slug}") for n, slug in enumerate(slugs)] for name, slugs in words.items()}
    made = load(tmp_path, sites).slug_ngrams(stop_words=False)
    if count == 6:
        assert [row["_name"] for row in marks(made, "_name") if row["site"] == "s0"] == ["worda", "same", "last"]
        return
    assert domain(made, "x") == ["1", "2", "3"]
    assert [row["_text"] for row in marks(made, "_x") if row["_y"] == "s0"] == ["100% worda", "67% same", "33% last"]


def test_lists_of_pages_are_drawn_as_their_lengths_by_section(tmp_path: Path) -> None:
    sites = {f"s{n}": [page(f"s{n}", f"{'x/' * (x % 2)}{x}") for x in range(n + 1)] for n in range(4)}
    market = load(tmp_path, sites)
    bars = [(row["site"], row["_name"], row["rows"]) for row in marks(market.gaps("s1"), "rows")]
    assert bars == [("s2", "/", 1), ("s3", "/", 1), ("s3", "/x/", 1), ("s0", "", None)]
    topics = market.gaps("s1", by="topic")
    assert not len(topics)
    assert "nothing to draw" in topics.chart().to_svg()


# --- order ---


def test_rows_with_texts_in_place_of_categories_are_drawn(three: sr.Snapshot) -> None:
    for name in ("changefreq_priority", "calendar", "freshness", "weekday_hour"):
        made = getattr(three, name)()
        texts = {column: str for column in ("value", "source", "age", "weekday") if column in made}
        assert made.chart(pd.DataFrame(made).astype(texts)).to_svg().startswith("<svg")


def test_classes_are_in_their_order(tmp_path: Path) -> None:
    """Also in what pandas groups."""
    site = load(tmp_path, {"a": [page("a", str(n), age=age) for n, age in enumerate((0, 1, 2, 3, 40, 400))]})
    assert [*site.freshness().groupby("age").groups] == [
        "0-7 days", "8-30 days", "31-90 days", "91-365 days", "older", "undated"
    ]  # fmt: skip
    days = [*site.weekday_hour().groupby("weekday").groups]
    assert days == sorted(days, key=["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].index)
    assert len(days) > 3


def test_hours_that_no_page_states_have_no_column(tmp_path: Path) -> None:
    dated = [page("a", str(n), lastmod=AT - timedelta(days=n), lastmod_precision="day") for n in range(3)]
    made = load(tmp_path, {"a": dated}).weekday_hour()
    assert domain(made, "x") == ["none"]
    assert domain(made, "y") == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    some = load(tmp_path, {"a": [*dated, page("a", "x", age=1)]}).weekday_hour()
    assert domain(some, "x") == ["12", "none"]


def test_sitemaps_stand_below_their_index(tmp_path: Path) -> None:
    made = load(tmp_path, {"a": [page("a", "1", sitemap="s0")]}).tree()
    row = pd.DataFrame(made).assign(sitemap="s1", depth=1)
    frame = pd.concat([pd.DataFrame(made), row], ignore_index=True)
    drawn = made.chart(frame).altair.to_dict()["data"]["values"]
    assert [row["_name"] for row in drawn] == ["s0", "› s1"]


# --- time ---


def test_sources_of_dates_are_parts_of_a_bar(tmp_path: Path) -> None:
    news = sr.News(publication_date=AT - timedelta(days=1), publication_date_precision="day")
    published = sr.UrlRecord("https://a.example/n", news=news, sitemap="s")
    changed = [page("a", str(n), age=1 + 31 * n) for n in range(3)]
    made = load(tmp_path, {"a": [published, *changed]}).calendar()
    bars = marks(made, "_total")
    assert [(row["period"][:7], row["source"], row["pages"], row["_text"]) for row in bars] == [
        ("2026-04", "lastmod", 1, "1"), ("2026-05", "lastmod", 1, "1"),
        ("2026-06", "news", 1, "2"), ("2026-06", "lastmod", 1, ""),
    ]  # fmt: skip
    assert next(part["fill"] for part in parts_of(spec(made)) if "fill" in part)["scale"] == {
        "domain": ["news", "lastmod"], "range": ["#0b6670", "transparent"]
    }  # fmt: skip


def test_a_date_in_the_url_is_no_outline(tmp_path: Path) -> None:
    news = sr.News(publication_date=AT - timedelta(days=1), publication_date_precision="day")
    written = [sr.UrlRecord(f"https://a.example/2026/0{month}/01/x", sitemap="s") for month in (3, 4, 5)]
    made = load(tmp_path, {"a": [sr.UrlRecord("https://a.example/n", news=news, sitemap="s"), *written]}).calendar()
    scale = next(part["fill"] for part in parts_of(spec(made)) if "fill" in part)["scale"]
    assert scale["domain"] == ["news", "url"]
    assert "transparent" not in scale["range"]


@pytest.mark.slow
def test_a_single_period_has_its_name_on_the_axis(tmp_path: Path) -> None:
    site = load(tmp_path, {"a": [page("a", "1", age=1)]})
    for freq, name in (("D", "2026-06-14"), ("W", "2026-06-08"), ("M", "2026-06"), ("Q", "2026-Q2"), ("Y", "2026")):
        assert f">{name}<" in site.cadence(freq).chart().to_svg()  # type: ignore[arg-type]


@pytest.mark.parametrize(("days", "ticks"), [(16, 16), (17, None)])
def test_a_few_periods_have_their_names_and_numbers(days: int, ticks: int | None, tmp_path: Path) -> None:
    made = load(tmp_path, {"a": [page("a", str(n), age=n) for n in range(days)]}).cadence("day")
    values = axes(made, "x")[0]["axis"].get("values")
    assert (values and len(values)) == ticks
    assert sum(row["_text"] == "1" for row in marks(made, "_total")) == (ticks or 1)


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
    shown = axes(made, "x")[0]["axis"]
    assert shown["values"] == [plotted, "2025-08-09T00:00:00+00:00"]
    assert shown["format"] == "%Y-%m-%d"
    assert "2025-08-02" in made.chart().to_svg()


def test_several_snapshots_of_a_day_have_their_times(tmp_path: Path) -> None:
    old = load(tmp_path, {"a": [page("a", "1")]}, at=AT - timedelta(hours=3), name="old")
    made = load(tmp_path, {"a": [page("a", "1")]}).growth(old)
    assert axes(made, "x")[0]["axis"]["format"] == "%Y-%m-%d %H:%M"


def test_one_snapshot_is_bars_of_its_sites(three: sr.Snapshot) -> None:
    bars = marks(three.growth([]), "_name")
    assert sorted((row["_name"], row["_text"]) for row in bars) == [("large", "9"), ("middle", "5"), ("small", "2")]


# --- size and theme ---


def test_width_and_height_are_those_of_the_marks(tmp_path: Path, three: sr.Snapshot) -> None:
    bars = load(tmp_path, {"a": pages("a", 9)}, name="one").sections()
    for made, size in ((bars, (400, {"step": 60.0})), (three.cadence(), (400, 40)), (three.freshness(), (400, 120))):
        parts = parts_of(spec(made, width=400, height=120))
        assert size in [(part["width"], part["height"]) for part in parts if {"width", "height"} <= {*part}]


def test_rows_that_do_not_fit_the_height_are_counted(tmp_path: Path) -> None:
    made = load(tmp_path, {"a": [page("a", f"s{n}/x") for n in range(10)]}).sections()
    assert len(marks(made, "section")) == 10
    assert len(marks(made, "section", height=100)) == 7  # of 14 pixels
    assert "3 more rows in the table." in json.dumps(spec(made, height=100))


@pytest.mark.slow
def test_themes_differ_in_colours_only(three: sr.Snapshot) -> None:
    light, dark, page = (json.dumps(spec(three.freshness(), theme=theme)) for theme in ("light", "dark", "page"))
    colour = re.compile(r"#[0-9a-f]{6}|var\(--[a-z]+\)")
    assert colour.sub("", light) == colour.sub("", dark) == colour.sub("", page)
    assert {*colour.findall(light)}.isdisjoint(colour.findall(dark))
    assert json.loads(light)["config"]["background"] == "#ffffff"


def luminance(colour: tuple[float, ...]) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_numbers_can_be_read_on_the_darkest_square(theme: str, three: sr.Snapshot) -> None:
    opacity = axes(three.freshness(), "fillOpacity")[0]["scale"]["range"][1]
    config = spec(three.freshness(), theme=theme)["config"]
    colours = (config["background"], config["mark"]["color"], config["text"]["color"])
    card, accent, ink = ([int(name[n : n + 2], 16) / 255 for n in (1, 3, 5)] for name in colours)
    square = luminance(tuple(a * opacity + c * (1 - opacity) for a, c in zip(accent, card, strict=True)))
    low, high = sorted((square, luminance(tuple(ink))))
    assert (high + 0.05) / (low + 0.05) >= 4.5


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "narrow": ({"width": 199}, "width is a number of pixels from 200 to 4,000, and not 199"),
    "wide": ({"width": 4_001}, "width is a number of pixels from 200 to 4,000, and not 4001"),
    "low": ({"height": 59}, "height is a number of pixels from 60 to 8,000, and not 59"),
    "high": ({"height": 8_001}, "height is a number of pixels from 60 to 8,000, and not 8001"),
    "text": ({"width": "100%"}, "width is a number of pixels from 200 to 4,000, and not '100%'"),
    "truth": ({"height": True}, "height is a number of pixels from 60 to 8,000, and not True"),
    "theme": ({"theme": "blue"}, "theme is one of light, dark, page, not 'blue'"),
    "themes": ({"theme": ["dark"]}, "theme is one of light, dark, page, not ['dark']"),
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


# --- in a page ---

HEAD = """<!DOCTYPE html><meta charset="utf-8"><title>charts</title><link rel="icon" href="data:,">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'nonce-n'">
<style nonce="n">
:root { --ink: #1d2127; --quiet: #5a626c; --line: #e2dfd8; --accent: #0b6670; --card: #ffffff }
</style>"""


def long_named(number: int, count: int) -> list[sr.UrlRecord]:
    """Pages with names that are too long for a chart."""
    host = f"shop-{number:02}-with-a-long-name.example"
    links = tuple(sr.Alternate(code, f"https://{host}/{code}/1") for code in ("en", "zh-hant-tw", "de", "x-default"))
    found = []
    for n in range(count):
        folder = f"a-folder-with-a-name-that-is-far-too-long-{n % 11}"
        loc = f"https://{host}/{folder}/wonderfulness-of-things-{n % 7}-日本語の製品"
        when = AT - timedelta(days=n * n % 900, hours=n)
        sitemap = f"https://{host}/sitemaps/of/the/current/year/sitemap-of-products-{n % 5}.xml.gz"
        record = sr.UrlRecord(f"{loc}-{n}", when, "second", "monthly", n % 11 / 10, sitemap=sitemap)
        record.alternates = links if n % 3 else ()
        found.append(record)
    return found


CALLS: dict[str, Callable[[sr.Snapshot, sr.Snapshot], sr.Measure]] = MEASURES | {
    "translations": lambda new, old: new.translations(),
    "trends": lambda new, old: new.trends("300d"),
    "gaps": lambda new, old: new.gaps(old),
    "gaps by topic": lambda new, old: new.gaps(old, by="topic"),
    "shared": lambda new, old: new.shared(old, by="slug"),
}


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3, 30])
def test_no_text_is_cut_or_lies_on_another_one(count: int, show: Callable[..., Any], tmp_path: Path) -> None:
    """In Chromium, whose fonts are not those of the layout."""
    sizes = {number: 2 + number**2 * 300 // count**2 for number in range(1, count + 1)}
    sites = {f"shop-{number:02}-with-a-long-name.example": long_named(number, size) for number, size in sizes.items()}
    old = load(tmp_path, {name: some[::2] for name, some in sites.items()}, name="old", at=AT - timedelta(days=9))
    new = load(tmp_path, sites)
    drawn = []
    for name, call in CALLS.items():
        if (name, count) != ("overlap", 1):
            for titled in (True, False):
                svg = call(new, old).chart(theme="page", titled=titled).to_svg()  # type: ignore[arg-type]
                drawn.append(f'<div id="{name} of {count}, {titled}">{svg}</div>')
    tab = show(HEAD + "".join(drawn))
    assert layout_faults(tab, width=1440) == []
    assert tab.locator("svg:has(text)").count() == len(drawn)
    colours = "[...document.querySelectorAll('text')].map(text => getComputedStyle(text).fill)"
    assert {*tab.evaluate(f"() => {colours}")} == {"rgb(29, 33, 39)", "rgb(90, 98, 108)"}


def test_a_chart_in_a_page_has_no_styles_scripts_links_and_ids(three: sr.Snapshot) -> None:
    for made in (three.cadence(), three.freshness(), three.sections()):
        svg = made.chart(theme="page", titled=False).to_svg()  # type: ignore[arg-type]
        assert 'fill="var(--accent)"' in svg
        assert not re.search(r"<(?:style|script|a|image|foreignObject)\b| (?:style|href|id|on\w+)=|#[0-9a-f]{6}", svg)
