"""The tree of sitemaps, compared with the parents of the outcomes."""

from __future__ import annotations

from pathlib import Path

import kit
import pytest
from recorded import snapshot as recorded
from recorded import snapshot_of

import sitemap_reader as sr


@pytest.mark.parametrize("name", ["shop", "nesting", "once", "broken", "cross-submission"])
def test_each_document_is_below_the_first_that_lists_it(name: str) -> None:
    site = recorded(name)
    made = site.tree()
    outcomes = {row["url"]: row for row in site.sitemaps.to_arrow().to_pylist()}
    assert sorted(made["sitemap"]) == sorted(outcomes)
    depths: dict[str, int] = {}
    for row in made.astype(object).where(made.notna(), None).to_dict("records"):
        parents = [each for each in outcomes[row["sitemap"]]["parents"] if each != row["sitemap"] and each in outcomes]
        in_circle = any(row["sitemap"] in outcomes[each]["parents"] for each in parents) and not row["depth"]
        assert row["parent"] == (parents[0] if parents and not in_circle else None)
        assert row["depth"] == (depths[row["parent"]] + 1 if row["parent"] else 0)  # the parent stands before it
        depths[row["sitemap"]] = row["depth"]
        assert row["complete"] == outcomes[row["sitemap"]]["complete"]
    assert made["urls"].sum() == len(site.urls)


def tree(folder: Path, parents: dict[str, list[str]], *listed: str) -> sr.Snapshot:
    outcomes = [sr.Outcome(name, parents=above, format="urlset") for name, above in parents.items()]
    records = [sr.UrlRecord(f"https://a.example/{number}", sitemap=name) for number, name in enumerate(listed)]
    return snapshot_of(folder, *records, *outcomes)


SHAPES = {
    "siblings keep their order": (
        {"i": [], "b": ["i"], "a": ["i"], "x": ["b"]},
        [("i", 0), ("b", 1), ("x", 2), ("a", 1)],
    ),
    "two parents": ({"i": [], "j": [], "a": ["i", "j"]}, [("i", 0), ("a", 1), ("j", 0)]),
    "a parent that was not read": ({"a": ["gone"]}, [("a", 0)]),
    "itself": ({"a": ["a"]}, [("a", 0)]),
    "a circle": ({"a": ["b"], "b": ["a"]}, [("a", 0), ("b", 1)]),
}


@pytest.mark.parametrize("case", SHAPES)
def test_shapes_of_trees(case: str, tmp_path: Path) -> None:
    parents, expected = SHAPES[case]
    made = tree(tmp_path, parents, "a").tree()
    assert list(zip(made["sitemap"], made["depth"], strict=True)) == expected


def test_sitemaps_of_a_dump_without_report_are_there(tmp_path: Path) -> None:
    made = tree(tmp_path, {}, "a", "a", "b").tree()
    assert made[["sitemap", "urls"]].to_numpy().tolist() == [["a", 2], ["b", 1]]
    assert made["complete"].isna().all()
    assert made.finding == "3 URLs in 2 of 2 sitemaps; unknown whether 2 were read completely"


def test_an_index_without_urls_is_stated(tmp_path: Path) -> None:
    made = tree(tmp_path, {"i": [], "a": ["i"]}).tree()
    assert made["depth"].tolist() == [0, 1]
    assert made.finding == "No URL in 2 sitemaps; all were read completely"
    assert tree(tmp_path, {}).tree().finding == "There is no sitemap"


def test_missing_sitemaps_are_stated_beside_complete_ones(tmp_path: Path) -> None:
    (tmp_path / "map.xml").write_bytes(kit.index(*(f"https://a.example/{name}.xml" for name in "ab")))
    alone = sr.load(tmp_path / "map.xml")
    assert (alone.complete, alone.tree().finding) == (False, "No URL in 1 sitemap; others are missing")
    (tmp_path / "a.xml").write_bytes(kit.urlset("https://a.example/1"))
    loaded = sr.load(tmp_path)
    assert loaded.tree().finding == "1 URL in 1 of 2 sitemaps; others are missing"
    assert "2, of which 1 have URLs; others are missing" in str(loaded)


def test_a_deep_tree_is_no_recursion(tmp_path: Path) -> None:
    parents = {str(number): [str(number - 1)] if number else [] for number in range(3_000)}
    assert tree(tmp_path, parents, "0").tree()["depth"].max() == 2_999
