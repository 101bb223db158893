"""Charts show the numbers of their measures and their findings, and escape any text of a site."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest
from corpus_cases import CORPUS
from recorded import AT, snapshot_of
from test_every_measure import COLUMNS

import sitemap_reader as sr
from sitemap_reader import Chart, Measure
from sitemap_reader.analysis.chart_spec import cell_percent


def site(host: str, count: int = 12) -> list[sr.UrlRecord]:
    """Pages for every chart; no two of the sites have the same numbers."""
    links = (sr.Alternate("en", f"https://{host}/en/a-1"), sr.Alternate("de", f"https://{host}/de/b-2"))
    found = []
    for number in range(count):
        folder = ("en", "de", "")[number % 3]
        loc = f"https://{host}/{folder}{'/' * bool(folder)}red-shoe-{'x' * number}"
        when = AT - timedelta(days=11 * number, hours=number)
        precision: Any = "second" if number % 4 else "day"
        record = sr.UrlRecord(loc, when, precision, "daily", number / 20, sitemap=f"s{number % 2}")
        record.images = (sr.Image("i"),) * (number % 2)
        record.alternates = links if number % 3 else ()
        found.append(record)
    return [*found, sr.UrlRecord(f"https://{host}/undated")]


def of(folder: Path, sites: dict[str, list[sr.UrlRecord]], name: str = "urls") -> sr.Snapshot:
    return snapshot_of(folder, name=name, **sites)


ONE = {"one.example": site("one.example")}
THREE = {f"{name}.example": site(f"{name}.example", 9 + number) for number, name in enumerate(("a", "b", "c"))}


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[sr.Snapshot, sr.Snapshot]]:
    """Each with an earlier snapshot."""
    folder = tmp_path_factory.mktemp("charts")
    made = {}
    for name, sites in (("one", ONE), ("three", THREE)):
        old = of(folder, {host: some[1:-3] for host, some in sites.items()}, f"old-{name}")
        made[name] = of(folder, sites, name), sr.load(old.name, at=AT - timedelta(days=30))
    return made


# These sites have too few pages, or states: test_translations.py, test_topics.py and test_archive.py draw them.
OTHERS = ("translations", "trends", "turnover", "survival")
MEASURES: dict[str, Callable[[sr.Snapshot, sr.Snapshot], Measure]] = {
    **{name: lambda new, old, name=name: getattr(new, name)() for name in COLUMNS if name not in OTHERS},
    "cadence by day": lambda new, old: new.cadence("day"),
    "new": lambda new, old: new.new("300d"),
    "gaps": lambda new, old: old.gaps(new.filter(include="/en/")),
    "shared": lambda new, old: old.shared(new),
    "growth": lambda new, old: new.growth(old),
    "churn": lambda new, old: new.churn(old),
}
CASES = [(name, size) for name in MEASURES for size in ("one", "three") if (name, size) != ("overlap", "one")]
every = pytest.mark.parametrize(("name", "size"), CASES, ids=str)
Snapshots = dict[str, tuple[sr.Snapshot, sr.Snapshot]]


def text_of(svg: str) -> str:
    """The text of the SVG, joined by blanks; an error if it is no XML."""
    return " ".join(" ".join(ElementTree.fromstring(svg).itertext()).split())  # noqa: S314 - our own picture


def drawn(chart: Chart) -> list[dict[str, Any]]:
    """The rows of all panels without repetition; bars and their labels share rows."""
    found: dict[str, dict[str, Any]] = {}

    def look_in(part: Any) -> None:
        if isinstance(part, dict):
            found.update({json.dumps(row): row for row in part.get("data", {}).get("values", ())})
        for inside in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
            look_in(inside)

    look_in(chart.altair.to_dict())
    return list(found.values())


# --- every chart ---


def test_the_docs_show_the_chart_of_each_measure() -> None:
    headings = re.findall("^## (\\w+)$", (CORPUS.parent / "docs" / "charts.md").read_text(), re.MULTILINE)
    assert {*headings} == {*COLUMNS}


@pytest.mark.smoke("cadence-one")
@pytest.mark.slow
@every
def test_chart_shows_the_finding_and_the_counts(name: str, size: str, snapshots: Snapshots) -> None:
    made = MEASURES[name](*snapshots[size])
    written = text_of(made.chart().to_svg())
    verdict = [made.verdict.replace(" | ", " ")] if made.verdict else []
    reported = [made.finding.replace(" | ", " "), made.rule, *verdict]
    for text in reported:
        assert text in written
    for host in THREE if size == "three" else ():
        assert host in written


# Of each measure the columns that its bars and lines show; and of squares those of row, column and number.
SHOWN = {
    "cadence": ("site", "period", "pages"),
    "cadence by day": ("site", "period", "pages"),
    "freshness": ("site", "age", "share"),
    "lastmod_trust": ("site", "sitemap", "score", "reasons"),
    "sections": ("site", "section", "pages"),
    "changefreq_priority": ("site", "field", "value", "share"),
    "slug_ngrams": ("site", "words", "pages"),
    "languages": ("site", "language", "share"),
    "topics": ("site", "topic", "pages"),
    "calendar": ("site", "period", "source", "pages"),
    "new": ("site", "section", "new"),
    "tree": ("site", "sitemap", "urls"),
    "growth": ("site", "at", "pages"),
}
MEDIA, KINDS = ("images", "videos", "news", "alternates"), ("new", "updated", "redated", "removed")
SQUARES: dict[str, Callable[[Any], list[tuple[str, str, str]]]] = {
    "weekday_hour": lambda row: [(row.weekday, "none" if pd.isna(row.hour) else str(row.hour), str(row.pages))],
    "hreflang": lambda row: [(row.language, row.alternate, cell_percent(row.returned / row.links))],
    "overlap": lambda row: [(row.site, row.other, cell_percent(row.share))],
    "media_coverage": lambda row: [
        (row.section, kind, cell_percent(getattr(row, f"{kind}_share"))) for kind in MEDIA
    ],
    "churn": lambda row: [(row.section, kind, str(getattr(row, kind))) for kind in KINDS],
}


def plain(value: Any) -> Any:
    if isinstance(value, pd.Timestamp):  # a time without a zone is UTC
        return (value.tz_localize("UTC") if value.tz is None else value).isoformat()
    return None if pd.isna(value) else value


@pytest.mark.smoke("sections")
@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWN)
def test_bars_and_lines_show_the_numbers_of_the_frame(name: str, snapshots: Snapshots) -> None:
    made = MEASURES[name](*snapshots["one"])
    expected = {tuple(plain(row[column]) for column in SHOWN[name]) for row in made.to_dict("records")}
    assert len(made) == len(expected)
    if name.startswith("cadence"):  # a period without a page has no bar
        expected = {each for each in expected if 0 not in each}
    if name in ("new", "lastmod_trust"):  # a bar of an unknown number has no length
        expected = {tuple(0 if each is None else each for each in row) for row in expected}
    assert {tuple(row.get(column) for column in SHOWN[name]) for row in drawn(made.chart()) if row} == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", SQUARES)
def test_squares_show_the_numbers_of_the_frame(name: str, snapshots: Snapshots) -> None:
    made = MEASURES[name](*snapshots["three" if name == "overlap" else "one"])
    expected = {cell for row in made.itertuples() for cell in SQUARES[name](row)}
    shown = {(row["_y"].partition(" (")[0], row["_x"], row["_text"]) for row in drawn(made.chart())}
    assert shown == expected
    picture = text_of(made.chart().to_svg())
    assert all(text in picture for *_, text in expected)


def test_chart_of_many_rows_draws_some_and_counts_the_rest(tmp_path: Path) -> None:
    records = [sr.UrlRecord(f"https://a.example/s{number}/x") for number in range(40)]
    made = of(tmp_path, {"a": records}).sections()
    assert len(made) == 40
    assert sum("section" in row for row in drawn(made.chart())) == 15
    assert "25 more rows in the table." in text_of(made.chart().to_svg())


@pytest.mark.slow
def test_chart_of_thousands_of_sitemaps_is_drawn(tmp_path: Path) -> None:
    records = [sr.UrlRecord(f"https://a.example/{n}", AT, "second", sitemap=f"s{n}") for n in range(2_500)]
    made = of(tmp_path, {"a": records}).lastmod_trust()
    assert len(made) == 2_500
    assert made.finding in text_of(made.chart().to_svg())


# --- files and notebooks ---


@pytest.mark.slow
def test_save_writes_the_format_of_the_suffix(tmp_path: Path, snapshots: Snapshots) -> None:
    made = snapshots["one"][0].sections()
    chart = made.chart()
    for kind in ("png", "SVG", "html", "json"):
        chart.save(tmp_path / f"chart.{kind}")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    assert made.finding in text_of((tmp_path / "chart.SVG").read_text(encoding="utf-8"))
    spec = json.loads((tmp_path / "chart.json").read_text(encoding="utf-8"))
    assert spec["title"]["text"] == [made.finding]
    html = (tmp_path / "chart.html").read_text(encoding="utf-8")
    assert made.finding in html
    assert len(html) > 100_000  # the SVG has its fonts
    assert not re.search(r"<(?:script|link|iframe)[^>]*(?:src|href)\s*=", html)
    assert not re.search(r"(?:import\s*\(|importScripts|from)\s*[\"']https?:", html)


@pytest.mark.parametrize("name", ["chart", "chart.gif", "chart.pdf", "png", "chart.png.gz"])
def test_save_refuses_another_suffix(name: str, tmp_path: Path, snapshots: Snapshots) -> None:
    with pytest.raises(sr.UsageError, match=r": a chart is saved as png, svg, html, json$"):
        snapshots["one"][0].sections().chart().save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_notebook_gets_an_image_and_text(snapshots: Snapshots) -> None:
    made = snapshots["one"][0].sections()
    bundle = made.chart()._repr_mimebundle_()
    assert made.finding in text_of(bundle["image/svg+xml"])
    assert bundle["text/plain"] == made.finding
    described = next(value for kind, value in bundle.items() if "vegalite" in kind)  # with tooltips
    assert described["$schema"].startswith("https://vega.github.io/schema/vega-lite/v")
    assert [each["field"] for each in described["layer"][0]["encoding"]["tooltip"]] == ["site", "pages", "section"]
    assert repr(made.chart()) == f"<Chart: {made.finding}>"


def test_a_large_description_is_not_in_the_notebook(tmp_path: Path) -> None:
    records = [sr.UrlRecord(f"https://a.example/{n}", AT - timedelta(days=n), "day") for n in range(2_000)]
    bundle = of(tmp_path, {"a": records}).cadence("day").chart()._repr_mimebundle_()
    assert {*bundle} == {"image/svg+xml", "text/plain"}


def test_a_larger_scale_has_more_pixels(snapshots: Snapshots) -> None:
    chart = snapshots["one"][0].sections().chart()
    widths = [int.from_bytes(chart.to_png(scale)[16:20]) for scale in (1.0, 2.0)]
    assert widths[1] == pytest.approx(2 * widths[0], abs=2)


@pytest.mark.parametrize("missing", ["altair", "vl_convert"])
def test_chart_without_its_extra_says_what_to_install(
    missing: str, monkeypatch: pytest.MonkeyPatch, snapshots: Snapshots
) -> None:
    made = snapshots["one"][0].sections()
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(sr.UsageError, match=r"charts need .*: pip install 'sitemap-reader\[analysis\]'"):
        made.chart()


# --- any text ---

HOSTILE = {
    "markup": "<b>&amp;</b>",
    "quotes": '"it\'s" `${x}`',
    "a line feed": "one\ntwo",
    "an expression": "datum.label'] + signal(x)",
    "dots and brackets": "a.b[0]\\.c",
    "what parts sites": "a | b",
    "a font": '<text font-size="12px',
    "other letters": "日本 🎬 עברית",
}
DRAWN = [name for name in MEASURES if name != "cadence by day"]


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN)
def test_hostile_text_stays_text_in_the_chart(name: str, tmp_path: Path) -> None:
    """Unchanged, or escaped if it is invisible."""
    sites = {}
    for text in HOSTILE.values():
        path = text.replace("/", "")
        locs = [f"https://a.example/{path}/{path}-{number}" for number in range(2)]
        links = (sr.Alternate(text, locs[0]), sr.Alternate(f"{text}2", locs[1]))
        sites[text] = [sr.UrlRecord(loc, AT, "second", alternates=links, sitemap=text) for loc in locs]
    snapshot = of(tmp_path, sites)
    written = text_of(MEASURES[name](snapshot, snapshot).chart().to_svg())
    for text in HOSTILE.values():
        assert " ".join(text.split()) in written or repr(text)[1:-1] in written


NO_XML = "".join(map(chr, [*range(9), 11, 12, *range(14, 32), 0x7F, 0x85, 0xFFFE, 0xFFFF]))
DRAWING = """
import sys
from xml.etree import ElementTree
import sitemap_reader as sr
snapshot = sr.load(sys.argv[1])
for made in (snapshot.sections(), snapshot.hreflang(), snapshot.lastmod_trust(), snapshot.growth([])):
    ElementTree.fromstring(made.chart().to_svg())
    print(type(made).__name__)
"""


@pytest.mark.slow
def test_characters_that_xml_forbids_do_not_break_the_chart(tmp_path: Path) -> None:
    """A sitemap can have them in an hreflang. Runs in its own process, as vl-convert may end it."""
    links = (sr.Alternate(f"d{NO_XML}e", "https://a.example/x"),)
    record = sr.UrlRecord(f"https://a.example/f{NO_XML}/x", alternates=links, sitemap=f"s{NO_XML}")
    of(tmp_path, {f"a{NO_XML}": [record], "b": [record]})
    command = [sys.executable, "-c", DRAWING, tmp_path / "urls.jsonl"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.split()) == (0, ["Measure"] * 4)
