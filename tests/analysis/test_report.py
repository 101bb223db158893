"""The page that compares sites: its parts, its tables, and text of sites as text."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from kit import dump

import sitemap_reader as sr

pytest.importorskip("altair")

from sitemap_reader.analysis import render_report, report, sites_frame

MARKET = [Path(__file__).parents[2] / "corpus" / "market" / name for name in ("tealeaf", "kettle")]
AT = datetime(2026, 6, 15, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def market() -> sr.Snapshot:
    return sr.snapshot(MARKET, show_progress=False)


@pytest.fixture(scope="module")
def page(market: sr.Snapshot) -> str:
    return render_report(market)


def text_of(html: str) -> str:
    return re.sub(r"<[^>]+>", "", re.sub(r'(src|srcset)="[^"]+"', "", html))


@pytest.mark.slow
def test_each_part_has_finding_rule_and_chart(page: str, market: sr.Snapshot) -> None:
    parts = re.findall(r'<section id="(\w+)" class="part">', page)
    assert parts == ["sites", "sections", "rhythm", "languages", "trust", "topics", "gaps", "new"]
    assert re.findall(r'<a href="#(\w+)">', page) == parts
    shown = text_of(page)
    measures = [market.sections(), market.weekday_hour(), market.languages(), market.topics()]
    for made in [*measures, market.gaps("tealeaf.example", "topic")]:
        assert all(line in shown.replace("&quot;", '"') for line in made.finding.split(" | "))
        assert made.rule.split(". ")[0].replace("`", "") in shown.replace("&quot;", '"').replace("&#x27;", "'")
    assert page.count('<div class="drawn"') == page.count("<svg ") == 10


def test_sites_stand_beside_each_other_with_the_numbers_of_their_pages(market: sr.Snapshot) -> None:
    rows = sites_frame(market, market.sections()).set_index("site")
    assert [*rows.index] == ["kettle.example", "tealeaf.example"]  # the largest first
    pages = market.pages.to_pandas(["site", "lastmod"])
    for site, row in rows.iterrows():
        mine = pages[pages["site"] == site]
        assert (row["pages"], row["dated_share"]) == (len(mine), mine["lastmod"].notna().mean())
    assert rows.loc["kettle.example", "lastmods"] == "can be trusted (1.00)"


@pytest.mark.slow
def test_one_site_has_no_gaps(tmp_path: Path) -> None:
    one = sr.load(dump(tmp_path / "one.jsonl", **{"a.example": [sr.UrlRecord("https://a.example/")]}))
    parts = re.findall(r'<section id="(\w+)"', render_report(one))
    assert "gaps" not in parts
    shown = text_of(render_report(one))
    assert "The site" in shown
    assert "compared" not in shown
    assert "Sites" not in shown
    empty = sr.load(dump(tmp_path / "none.jsonl", **{}))
    assert "There is no page" in text_of(render_report(empty))


@pytest.mark.slow
def test_states_of_a_site_have_their_growth(tmp_path: Path) -> None:
    for day, count in ((1, 2), (2, 5)):
        pages = [sr.UrlRecord(f"https://a.example/{each}") for each in range(count)]
        dump(tmp_path / f"2026-05-0{day}.jsonl", **{"a.example": pages})
    shown = text_of(render_report(sr.load(tmp_path / "*.jsonl", at="name")))
    assert "From 2 to 5 pages (+3, +150%) in 1 day" in shown
    assert "New within 30 days" in shown


def test_a_table_shows_at_most_so_many_rows_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd

    names, shares = [f"s{n}" for n in range(12)], [n / 12 for n in range(12)]
    frame = pd.DataFrame({"site": names, "pages": range(12), "page_share": shares})
    monkeypatch.setattr(report, "MAX_ROWS", 11)
    table = report.frame_table(frame)
    assert table.columns == [("Site", False), ("Pages", True), ("Page share", True)]
    assert (table.rows[10], len(table.rows), table.more) == (["s10", "10", "83%"], 11, 1)
    two = pd.DataFrame({"site": ["a"] * 9 + ["b"] * 9, "page": [f"{site}{n}" for site in "ab" for n in range(9)]})
    pages = [page for _, page in report.frame_table(two).rows]
    assert pages == [*(f"a{n}" for n in range(6)), *(f"b{n}" for n in range(5))]  # the first ones of each site


@pytest.mark.slow
def test_wrong_names_are_errors_before_anything_is_written(market: sr.Snapshot, tmp_path: Path) -> None:
    with pytest.raises(sr.UsageError, match="there is no site c"):
        market.report(tmp_path / "m.html", ours="c.example")
    with pytest.raises(sr.UsageError, match=r"m\.png: a report is HTML"):
        market.report(tmp_path / "m.png")
    assert [*tmp_path.iterdir()] == []
    market.report(tmp_path / "m.html", ours="kettle.example")
    assert "What others have and kettle.example has not" in (tmp_path / "m.html").read_text("utf-8")
