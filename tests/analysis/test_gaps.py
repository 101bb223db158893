"""What other sites have that ours lacks, or has too, compared with sets made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from recorded import pages, rows, snapshot_of

import sitemap_reader as sr

OURS = ["", "a/red-shoe", "de/b/blue-shoe", "fr/b/blue-shoe", "caf%C3%A9", "x/same?y=1"]
THEIRS = [
    "", "a/red-shoe/", "en/b/blue-shoe", "en/b/green-shoe", "fr/b/green-shoe", "en", "fr/", "caf%c3%a9", "A/red-shoe",
    "x/same",
]


def market(folder: Path) -> sr.Snapshot:
    return snapshot_of(
        folder, ours=pages(*OURS), theirs=pages(*THEIRS, host="b.example"), third=pages("q", host="c.example")
    )


def locs(*paths: str, host: str = "b.example") -> set[str]:
    return {f"https://{host}/{path}" for path in paths}


EXPECTED: dict[str, set[str]] = {
    "path": locs("en/b/green-shoe", "fr/b/green-shoe", "A/red-shoe") | locs("q", host="c.example"),
    "slug": locs("en/b/green-shoe", "fr/b/green-shoe") | locs("q", host="c.example"),
}


@pytest.mark.parametrize("by", EXPECTED)
def test_gaps_and_shared_pages_are_exact(by: Any, tmp_path: Path) -> None:
    some = market(tmp_path)
    gaps, shared = some.gaps("ours", by), some.shared("ours", by)
    assert {*gaps["loc"]} == EXPECTED[by]
    others = locs(*THEIRS) | locs("q", host="c.example")
    without_slug = locs("", "en", "fr/") if by == "slug" else set()
    assert {*shared["loc"]} == others - EXPECTED[by] - without_slug
    assert len(gaps) + len(shared) == len(others) - len(without_slug)
    assert ("Not compared: 3 pages without a slug and 1 page of ours without a slug." in gaps.rule) == (by == "slug")


def test_rows_name_the_key_its_pages_and_the_first_page_of_ours(tmp_path: Path) -> None:
    some = market(tmp_path)
    gaps = some.gaps("ours")
    assert rows(gaps, "site", "key", "pages", "share")[:3] == [
        ("theirs", "/b/green-shoe", 2, 0.2),
        ("theirs", "/b/green-shoe", 2, 0.2),
        ("theirs", "/A/red-shoe", 1, 0.1),
    ]
    shared = dict(rows(some.shared("ours"), "loc", "ours"))
    assert shared["https://b.example/en/b/blue-shoe"] == "https://a.example/de/b/blue-shoe"
    assert shared["https://b.example/en"] == "https://a.example/"
    assert gaps.finding == (
        "theirs: pages with a path that no page of ours has: 30% (3 of 10 pages), most in /b/ (2) | "
        "third: pages with a path that no page of ours has: 100% (1 of 1 page), all in /"
    )


def test_pages_of_a_section_are_one_bar_of_the_chart(tmp_path: Path) -> None:
    gaps = market(tmp_path).gaps("ours")
    assert [*gaps["section"]] == ["/b/", "/b/", "/A/", "/"]
    bars = gaps.chart().altair.to_dict()["data"]["values"]
    drawn = {(bar["site"], bar["section"]): bar["rows"] for bar in bars}
    assert drawn == {("theirs", "/b/"): 2, ("theirs", "/A/"): 1, ("third", "/"): 1}


@pytest.mark.parametrize("by", ["path", "slug"])
def test_overlap_compares_the_same_keys(by: Any, tmp_path: Path) -> None:
    some = market(tmp_path)
    counted = {(site, other): shared for site, other, shared in rows(some.overlap(by), "site", "other", "shared")}
    assert counted["theirs", "ours"] == some.shared("ours", by).query("site == 'theirs'")["key"].nunique() > 3
    assert counted["ours", "theirs"] == counted["theirs", "ours"]


@pytest.mark.slow
def test_ours_may_be_several_sites_or_another_snapshot(tmp_path: Path) -> None:
    some = market(tmp_path)
    assert {*some.gaps(["ours", "theirs"])["site"]} == {"third"}
    other = snapshot_of(tmp_path, *pages("q"), name="other", site="other")
    gaps = some.gaps(other)
    assert {*gaps["site"]} == {"ours", "theirs"}
    assert "that no page of other has" in gaps.finding
    assert gaps.finding.endswith("third: pages with a path that no page of other has: 0% (0 of 1 page)")
    ours = some.filter(site="ours")
    assert ours.gaps(ours.filter(include="/a/")).finding.startswith("Pages with a path that no page of ours has: ")
    assert some.shared(some)["loc"].nunique() == len(some.pages)
    assert "only some URLs are compared (include '/a/')" in some.gaps(some.filter(include="/a/")).rule


@pytest.mark.slow
def test_a_topic_is_a_gap_only_if_no_page_of_ours_has_it(tmp_path: Path) -> None:
    """Also of ours in titles, as a stop word, and once in a thousand pages."""
    ours = [*pages(*(f"p/common-{number}" for number in range(1_000))), *pages("p/rare", "p/the-hat")]
    ours[-1].images = (sr.Image("i", title="A Titled One"),)
    theirs = pages("rare-hat", "titled-boat", "boat-of-the-sea", "17-boats", host="b.example")
    some = snapshot_of(tmp_path, ours=ours, theirs=theirs)
    gaps, shared = some.gaps("ours", "topic"), some.shared("ours", "topic")
    assert rows(gaps, "key", "pages", "loc") == [
        ("boat", 2, "https://b.example/titled-boat"),
        ("boats", 1, "https://b.example/17-boats"),
        ("sea", 1, "https://b.example/boat-of-the-sea"),
    ]
    assert {*shared["key"]} == {"rare", "hat", "titled"}
    assert dict(rows(shared, "key", "ours"))["rare"] == "https://a.example/p/rare"
    assert gaps.finding == (
        'Topics that no page of ours has: 50% (3 of 6 topics); most frequent: "boat" with 50% (2 of 4 pages)'
    )
    assert {*some.gaps("theirs", "topic")["key"]} == {"common", "one"}
    assert "opics that no page of ours has: 0%" in some.gaps(some, "topic").finding


def test_topics_of_many_sites_are_shares_of_their_pages(tmp_path: Path) -> None:
    """And not of the sum over words, of which a page has several."""
    others = {f"s{number}": pages("red-green-blue", "red", host=f"s{number}.example") for number in range(7)}
    gaps = snapshot_of(tmp_path, ours=pages("x"), **others).gaps("ours", "topic")
    assert rows(gaps, "site", "key", "pages", "share")[:2] == [("s0", "red", 2, 1.0), ("s0", "blue", 1, 0.5)]
    svg = gaps.chart().to_svg()
    assert ">100% red<" in svg
    assert ">50% blue<" in svg
    assert gaps.finding == 'Topics that no page of ours has: "red" at 7 of 7 sites, 100% of the pages at 7 sites'


def test_languages_of_ours_are_unknown(tmp_path: Path) -> None:
    some = snapshot_of(tmp_path, ours=pages("x"), theirs=pages(*(f"de/p/x{n}" for n in range(3)), host="b.example"))
    assert some.gaps("ours", "language").finding == "No language is known of ours, so there is nothing to compare with"
