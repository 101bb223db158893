"""Filters of an audit: what it covers, which rules are left out, and what the report says of it."""

from pathlib import Path
from typing import Any

import pytest
from kit import dump, dumped

import sitemap_reader as sr
from sitemap_reader import Report
from sitemap_reader.checks import needing

CORPUS = Path(__file__).parents[2] / "corpus"
BROKEN, SHOP = CORPUS / "sites" / "broken", CORPUS / "sites" / "shop"
SITEMAP = "https://a.example/s.xml"


def counts(report: Report) -> dict[tuple[str, str], int]:
    return {(each.code, each.severity): each.count for each in report.findings}


def url(path: str, **fields: Any) -> dict[str, Any]:
    return {"sitemap": SITEMAP, "loc": f"https://a.example{path}", "line": 1, **fields}


@pytest.mark.parametrize(("filters", "urls"), [
    ({"include": "/mixed/"}, 20),
    ({"exclude": "/mixed/"}, 126),
    ({"follow": ["offhost", "index"]}, 20),
    ({"no_follow": "offhost"}, 126),
    ({"follow": lambda ref: "offhost" in ref.loc or "index" in ref.loc}, 20),
    ({"include": ["/mixed/", "/list/"], "exclude": "/list/1"}, 20 + 30 - 11),
])
def test_only_what_matches_is_audited(filters: dict[str, Any], urls: int) -> None:
    assert sr.audit(BROKEN, **filters).urls == urls


def test_problem_of_a_url_that_does_not_match_is_left_out() -> None:
    everything, some = counts(sr.audit(BROKEN)), counts(sr.audit(BROKEN, exclude="/mixed/"))
    assert everything["U04", "warning"] == 10
    assert ("U04", "warning") not in some
    assert some["S01", "error"] == everything["S01", "error"]


def test_problem_without_a_url_is_kept() -> None:
    """A sitemap that cannot be read may list what matches."""
    assert counts(sr.audit(BROKEN, include="no such page"))["F01", "error"] == 2


def test_dump_is_filtered_like_its_site(tmp_path: Path) -> None:
    file = dumped(BROKEN, tmp_path / "dump.jsonl")
    for filters in ({"include": "/list/"}, {"exclude": ["/list/", "/mixed/"]}):
        site, of_dump = sr.audit(BROKEN, **filters), sr.audit(file, **filters)
        assert (of_dump.urls, counts(of_dump)) == (site.urls, counts(site))


def test_problems_in_records_of_a_dump_are_filtered(tmp_path: Path) -> None:
    faults = [{"code": "D01", "field": "lastmod", "raw": "Mon"}]
    path = dump(tmp_path / "dump.jsonl", url("/a", problems=faults), url("/b", problems=faults))
    assert counts(sr.audit(path, include="/a$"))["D01", "error"] == 1


@pytest.mark.parametrize("keyword", ["follow", "no_follow"])
def test_dump_has_no_sitemaps_to_follow(tmp_path: Path, keyword: str) -> None:
    with pytest.raises(sr.UsageError, match=rf"{keyword}= applies to sites only, and .*: give include= or exclude="):
        sr.audit(dump(tmp_path / "dump.jsonl", url("/a")), **{keyword: "x"})


def test_note_states_the_filter_and_the_rules_without_a_verdict() -> None:
    report = sr.audit(SHOP, include=["/product", "/kategorie"], no_follow="magazine")
    assert report.notes == (
        "filtered by include /product or /kategorie; no_follow magazine: only what matches was checked, and C13, D03, "
        "D07, H03, L03, L08, L10, U06, U07, U11, U16, U18 compare only the URLs that match",
        "not checked, as a filter leaves out a part of the site: D08, L07",
    )


def test_note_of_a_filter_on_sitemaps_leaves_out_rules_on_single_sitemaps() -> None:
    """What is read of a sitemap is all of it."""
    (first, _) = sr.audit(SHOP, follow=lambda ref: True).notes
    assert first == (
        "filtered by follow a function: only what matches was checked, and C13, L03, L08, L10, U06, U07, U11, U16, U18 "
        "compare only the URLs that match"
    )


def test_notes_name_only_rules_that_would_be_checked(tmp_path: Path) -> None:
    assert sr.audit(SHOP, include="/", select="U01").notes == ("filtered by include /: only what matches was checked",)
    crawl = tmp_path / "crawl.csv"
    crawl.write_text("url,status\nhttps://shop.example/c/kitchen/tea-pot/,200\nhttps://shop.example/x,200\n")
    report = sr.audit(SHOP, include="/", crawl=crawl, ignore="D08")
    assert "not checked, as a filter leaves out a part of the site: L07, C06" in report.notes
    assert "C06" not in {each.code for each in report.findings}
    assert "C06" in {each.code for each in sr.audit(SHOP, crawl=crawl).findings}


def test_stale_site_and_vanished_urls_are_not_reported_of_a_part(tmp_path: Path) -> None:
    stale = {"lastmod": "2020-01-01T00:00:00Z", "lastmod_precision": "day"}
    old = dump(tmp_path / "dump.jsonl", *(url(f"/{number}", **stale) for number in range(40)))
    baseline = tmp_path / "baseline.jsonl"
    baseline.write_text(old.read_text())
    assert ("D08", "notice") in counts(sr.audit(old))
    codes = {code for code, _ in counts(sr.audit(old, include="/1$", baseline=baseline))}
    assert codes.isdisjoint({"D08", "X01"})


@pytest.mark.parametrize("code", needing("the whole site"))
def test_selecting_a_rule_that_needs_the_whole_site_is_refused(tmp_path: Path, code: str) -> None:
    path = dump(tmp_path / "dump.jsonl", url("/a"))
    sources = {"crawl": path, "baseline": path}
    with pytest.raises(sr.UsageError, match=rf"{code} needs the whole site: leave out include= and exclude="):
        sr.audit(path, select=code, include="a", exclude="b", **sources)


def test_family_with_other_rules_is_not_refused() -> None:
    assert sr.audit(SHOP, select="D", include="/").urls == 640


def test_the_filter_of_a_dump_is_noted(tmp_path: Path) -> None:
    entries = [url(f"/{number}") for number in range(3)]
    outcome = {"type": "outcome", "url": SITEMAP, "format": "urlset", "entries": 9, "kept": 3, "dropped": {"date": 6}}
    report = sr.audit(dump(tmp_path / "dump.jsonl", *entries, outcome), select=["D07", "H03"])
    assert report.notes == (
        f"{tmp_path / 'dump.jsonl'} was made with a filter: D07, H03 compare only the URLs that it has",
    )


def test_without_filters_there_is_no_note() -> None:
    assert sr.audit(SHOP, include=(), exclude=None).notes == ()
