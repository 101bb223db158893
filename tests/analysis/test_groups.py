"""Measures by section, language or host: each group of a site is counted, described and drawn as a site is."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pandas as pd
import pytest
from recorded import AT, rows, snapshot_of

import sitemap_reader as sr


def some(folder: str, count: int, host: str = "a.example", *, days: int = 9) -> list[sr.UrlRecord]:
    """Pages of a folder, each changed some days before the last one."""
    return [
        sr.UrlRecord(f"https://{host}/{folder}{number}", AT - timedelta(days=days * number), "second", sitemap=folder)
        for number in range(count)
    ]


MEASURES = ("cadence", "calendar", "freshness")


@pytest.mark.parametrize("name", MEASURES)
def test_groups_have_the_rows_that_they_have_alone(name: str, tmp_path: Path) -> None:
    listed = {"/p/": some("p/", 9, days=3), "/": some("", 4), "/q/": some("q/", 2)}
    every = [page for records in listed.values() for page in records]
    whole = getattr(snapshot_of(tmp_path, *every, site="s"), name)(by="section")
    assert list(whole.columns[:2]) == ["site", "section"]
    assert list(dict.fromkeys(whole["section"])) == [*listed]  # the largest first
    for section, records in listed.items():
        alone = pd.DataFrame(getattr(snapshot_of(tmp_path, *records, site="s", name="alone"), name)())
        part = pd.DataFrame(whole[whole["section"] == section]).drop(columns="section").reset_index(drop=True)
        assert part.to_dict("list") == alone.to_dict("list")


def test_languages_and_hosts_are_groups_and_the_unknown_is_one(tmp_path: Path) -> None:
    listed = [*some("en/", 3, days=1), *some("x/", 2, "b.example", days=1)]
    site = snapshot_of(tmp_path, *listed, site="s")
    made = site.cadence("year", by="host")
    assert rows(made, "site", "host", "pages") == [("s", "a.example", 3), ("s", "b.example", 2)]
    assert {*site.freshness(by="language")["language"]} == {"en", "unknown"}


def test_the_largest_three_groups_of_a_site_have_a_sentence(tmp_path: Path) -> None:
    listed = [page for number in range(6) for page in some(f"{number}/", 9 - number, days=1)]
    listed += [sr.UrlRecord("https://a.example/bare")]
    one = snapshot_of(tmp_path, *listed, name="one").cadence("year", by="section")
    share = "busiest year: 2026 with 100%"
    assert one.finding.split(" | ") == [
        f"/0/: {share} (9 of 9 dated pages)",
        f"/1/: {share} (8 of 8 dated pages)",
        f"/2/: {share} (7 of 7 dated pages)",
        "3 more sections in the table",
        "/: no page has a lastmod",
    ]
    two = snapshot_of(tmp_path, a=listed[:9], b=some("p/", 2, "b.example"), name="two").cadence("year", by="section")
    assert two.finding.split(" | ") == [f"a /0/: {share} (9 of 9 dated pages)", f"b /p/: {share} (2 of 2 dated pages)"]
    many = {name: some("p/", count, f"{name}.example", days=1) for count, name in enumerate("abcde", 1)}
    lines = snapshot_of(tmp_path, **many, name="many").cadence("year", by="section").finding.split(" | ")
    assert [line.partition(":")[0] for line in lines] == ["e /p/", "d /p/", "c /p/", "2 more sections in the table"]


def test_a_host_with_the_name_of_its_site_is_named_once(tmp_path: Path) -> None:
    sites = {f"{name}.example": some("", 2, f"{name}.example", days=1) for name in "ab"}
    made = snapshot_of(tmp_path, **sites).cadence("year", by="host")
    assert [line.partition(":")[0] for line in made.finding.split(" | ")] == ["a.example", "b.example"]


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
def test_groups_are_drawn_as_panels_or_rows(name: str, tmp_path: Path) -> None:
    listed = [page for number in range(8) for page in some(f"{number}/", 9 - number, days=3)]
    made = getattr(snapshot_of(tmp_path, *listed), name)(by="section")
    svg = made.chart().to_svg()
    drawn = [f"/{number}/" for number in range(8) if f">/{number}/<" in svg or f">/{number}/ (" in svg]
    assert len(drawn) == (8 if name == "freshness" else 6)
    assert ("2 more sections in the table." in svg) == (name != "freshness")
    one = made[made["section"] == "/1/"].chart().to_svg()
    assert "/2/" not in one
