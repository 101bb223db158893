"""A filtered measure keeps its rule and chart, and claims nothing that its rows do not show."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from recorded import AT, pages, snapshot_of

import sitemap_reader as sr


def snapshot(folder: Path, **sections: int) -> sr.Snapshot:
    """A site with so many pages in each of its sections."""
    paths = [f"{name}/{number}" for name, count in sections.items() for number in range(count)]
    return snapshot_of(folder, **{"a.example": pages(*paths, lastmod=AT, lastmod_precision="second")})


@pytest.fixture
def sections(tmp_path: Path) -> sr.Measure:
    return snapshot(tmp_path, a=4, b=3, c=2, d=1).sections()


WHOLE = "Largest of 4 sections: /a/ with 40% (4 of 10 pages)"
CHANGED = "4 rows, with other values than those measured"
TWICE = "2 rows, with other values than those measured"
FILTERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "nothing": (lambda made: made, WHOLE),
    "copy": (lambda made: made.copy(), WHOLE),
    "sort_values": (lambda made: made.sort_values("section", ascending=False), WHOLE),
    "reset_index": (lambda made: made.sort_values("pages").reset_index(drop=True), WHOLE),
    "another column": (lambda made: made.assign(new=1), WHOLE),
    "fewer columns": (lambda made: made[["site", "section", "pages", "share"]], WHOLE),
    "all rows": (lambda made: made[made["pages"] > 0], WHOLE),
    "mask": (lambda made: made[made["pages"] > 1], "3 of 4 rows"),
    "query": (lambda made: made.query("pages < 3"), "2 of 4 rows"),
    "head": (lambda made: made.head(1), "1 of 4 rows"),
    "loc": (lambda made: made.loc[[3, 0]], "2 of 4 rows"),
    "iloc": (lambda made: made.iloc[1:], "3 of 4 rows"),
    "no row": (lambda made: made[made["pages"] > 9], "0 of 4 rows"),
    "twice": (lambda made: made[made["pages"] > 1].head(2), "2 of 4 rows"),
    "half, sorted": (lambda made: made.nsmallest(2, "pages").reset_index(drop=True), "2 of 4 rows"),
    "other values": (lambda made: made.assign(pages=7), CHANGED),
    "rounded": (lambda made: made.assign(share=made["share"].round() + 1).round({"share": 1}), CHANGED),
    "the same row twice": (lambda made: pd.concat([made.head(1), made.head(1)]), TWICE),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("filtered", FILTERS)
def test_the_finding_is_claimed_only_for_all_rows(filtered: str, sections: sr.Measure) -> None:
    change, finding = FILTERS[filtered]
    part = change(sections)
    assert isinstance(part, sr.Measure)
    assert part.finding == finding
    assert part.rule == sections.rule
    assert part.chart().title == finding
    assert finding in part._repr_html_()


def test_rows_given_to_chart_are_what_is_drawn_and_titled(sections: sr.Measure) -> None:
    rows = pd.DataFrame(sections)[["site", "section", "pages", "share"]]
    assert sections.chart(rows).title == WHOLE
    assert sections.chart(rows[rows["pages"] > 2]).title == "2 of 4 rows"
    assert sections.chart(sections.head(1)).title == "1 of 4 rows"


def test_rows_of_one_of_several_sites_name_it(tmp_path: Path) -> None:
    made = snapshot_of(tmp_path, **{site: pages("x/y", host=site) for site in ("a.example", "b.example")}).sections()
    assert made[made["site"] == "b.example"].finding == "1 of 2 rows (b.example only)"
    assert made.finding.startswith("a.example: the only section: /x/ with 100% (1 of 1 page) | b.example: ")
    assert made.head(0).finding == "0 of 2 rows"


def test_changes_in_place_withdraw_the_finding(sections: sr.Measure) -> None:
    sections.loc[0, "pages"] = 99
    assert sections.finding == CHANGED
    del sections["section"]
    with pytest.raises(sr.UsageError, match=r"needs columns that are missing or of another type: section$"):
        sections.chart()


def test_missing_columns_of_rows_are_named(sections: sr.Measure) -> None:
    with pytest.raises(sr.UsageError, match=r"or of another type: pages, section$"):
        sections.chart(sections[["site"]])
    with pytest.raises(sr.UsageError, match=r"or of another type: pages$"):
        sections.chart(sections.astype({"pages": str}))
    with pytest.raises(sr.UsageError, match=r"or of another type: pages, section$"):
        sections.chart(sections.rename(columns={"section": "folder", "pages": "count"}))
    for rows in ("all", 5, [1, 2], sections["pages"]):
        with pytest.raises(sr.UsageError, match=r"^rows is a DataFrame with rows of the measure, and not "):
            sections.chart(rows)  # type: ignore[arg-type]


def test_numbers_may_be_of_another_type(sections: sr.Measure) -> None:
    assert isinstance(sections.astype({"pages": float}), sr.Measure)


@pytest.mark.slow
@pytest.mark.parametrize("keep", [copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])  # noqa: S301
def test_copies_and_pickles_keep_the_texts(keep: Callable[[Any], Any], sections: sr.Measure, tmp_path: Path) -> None:
    for made in (sections, sections.head(2), snapshot(tmp_path, a=1).cadence()):
        kept = keep(made)
        assert type(kept) is sr.Measure
        assert (kept.rule, kept.finding, kept.verdict) == (made.rule, made.finding, made.verdict)
        assert kept.chart().altair.to_dict() == made.chart().altair.to_dict()
    assert keep(sections.head(2)).finding == "2 of 4 rows"


def test_a_frame_that_pandas_made_without_texts_is_shown_as_a_table() -> None:
    made = sr.Measure({"site": ["a"]})
    assert made._repr_html_().lstrip().startswith("<div>")
    with pytest.raises(sr.UsageError, match="this frame has no chart"):
        made.chart()


# --- freq ---

ALIASES = {"day": "Dd", "week": "Ww", "month": "Mm", "quarter": "Qq", "year": "Yy"}


@pytest.mark.parametrize("freq", ALIASES)
def test_freq_may_be_its_first_letter_in_any_case(freq: Any, tmp_path: Path) -> None:
    site = snapshot(tmp_path, a=1)
    made = site.cadence(freq)
    for alias in (*ALIASES[freq], freq.upper()):
        again = site.cadence(alias)
        assert again.equals(made)
        assert (again.rule, again.finding) == (made.rule, made.finding)
        assert f"by the {freq} of" in again.rule
