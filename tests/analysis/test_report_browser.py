"""The page that compares sites in a browser: phones, light and dark, print; it requests nothing and logs no error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sitemap_reader as sr

pytest.importorskip("altair")

from sitemap_reader.analysis import render_report

pytestmark = pytest.mark.slow

MARKET = [Path(__file__).parents[2] / "corpus" / "market" / name for name in ("tealeaf", "kettle", "samovar")]


@pytest.fixture(scope="module")
def page() -> str:
    return render_report(sr.snapshot(MARKET, show_progress=False))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_every_chart_is_there_and_a_phone_says_that_it_scrolls(show: Any, page: str, width: int, scheme: str) -> None:
    tab = show(page, viewport={"width": width, "height": 900}, color_scheme=scheme)
    sizes = tab.locator(".drawn svg").evaluate_all("(all) => all.map((each) => each.getBoundingClientRect().width)")
    assert len(sizes) == 10
    assert min(sizes) > 300
    assert tab.locator(".hint").first.is_visible() == (width == 390)


def test_search_hides_the_other_rows(show: Any, page: str) -> None:
    tab = show(page, viewport={"width": 1440, "height": 900})
    tab.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    part = tab.locator("#topics .searchable")
    rows = part.locator("tbody tr:visible").count()
    part.locator("input").fill("samovar MATCHA")
    shown = part.locator("tbody tr:visible")
    assert 0 < shown.count() < rows
    assert all("matcha" in text and "samovar" in text for text in shown.all_inner_texts())
    assert part.locator("[role=status]").inner_text() == f"{shown.count()} of {rows} rows"
    part.locator("input").press("Escape")
    assert part.locator("tbody tr:visible").count() == rows
    tab.emulate_media(media="print")
    assert not part.locator("input").is_visible()


def test_without_its_script_all_rows_are_shown(show: Any, page: str) -> None:
    tab = show(page, java_script_enabled=False)
    assert not tab.locator(".filters").first.is_visible()
    assert tab.locator("#sites tbody tr").count() == 3
