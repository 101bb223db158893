"""The HTML report in a browser: it makes no requests, logs no errors, and its filters work without a mouse."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import pytest
from reports import SHOP, large, of_urls, small, stamped

from sitemap_reader.checks import Occurrence
from sitemap_reader.checks.page import render_fragment, render_page

pytestmark = pytest.mark.slow

SHOWN = ".finding:visible"


@contextmanager
def in_print(tab: Any) -> Iterator[Any]:
    tab.emulate_media(media="print")
    yield tab
    tab.emulate_media(media="screen")


def count(tab: Any, selector: str = SHOWN) -> int:
    return tab.locator(selector).count()


def background(tab: Any) -> str:
    return tab.evaluate("getComputedStyle(document.documentElement).backgroundColor")




def test_full_times_fit_beside_all_other_columns(show):
    tab = show(render_page(stamped()), viewport={"width": 1280, "height": 800})
    assert tab.locator("#sitemaps .scroll").evaluate("(box) => box.scrollWidth <= box.clientWidth")


def test_on_a_phone_a_row_is_a_block_that_names_its_columns(show):
    tab = show(render_page(small()), viewport={"width": 390, "height": 800})
    names = tab.locator("#sitemaps thead th").all_inner_texts()
    cells = tab.locator("#sitemaps tbody tr").first.locator("td")
    content = "(all) => all.map((each) => getComputedStyle(each, '::before').content.slice(1, -1))"
    assert cells.evaluate_all(content) == names[1:]
    assert all(box["x"] + box["width"] <= 390 for box in (each.bounding_box() for each in cells.all()))


def test_filters_work_by_mouse(show):
    tab = show(render_page(small()))
    assert count(tab) == 6
    tab.get_by_role("button", name="Errors").click()
    assert count(tab) == 3
    assert tab.locator(".group:visible").count() == 2  # wrong signals, notices
    assert tab.get_by_role("button", name="Errors").get_attribute("aria-pressed") == "false"
    assert tab.get_by_role("status").inner_text() == "3 of 6 problems shown"
    tab.get_by_role("button", name="Errors").click()
    assert count(tab) == 6


def test_filters_work_by_keyboard(show):
    tab = show(render_page(small()))
    tab.get_by_role("button", name="Errors").focus()
    tab.keyboard.press("Space")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    assert tab.locator(f"{SHOWN} code").first.inner_text() == "F10"
    tab.keyboard.press("Space")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Tab")
    tab.keyboard.type("NEWS.xml track")
    assert count(tab) == 1
    assert tab.get_by_role("status").inner_text() == "1 of 6 problems shown"
    tab.keyboard.press("Escape")
    assert count(tab) == 3


def tallies(tab: Any) -> list[str]:
    return tab.locator(".group:visible h3").all_inner_texts()


def test_headings_count_the_cards_that_are_shown(show):
    tab = show(render_page(small()))
    whole = tallies(tab)
    assert whole == [
        "Sitemaps that search engines cannot read · 1 problem, 1 place",
        "Wrong signals · 4 problems, 1,543 places",
        "Notices · 1 problem, 4 places",
    ]
    tab.get_by_label("Search").fill("products")
    assert tallies(tab) == ["Wrong signals · 2 problems, 1,332 places"]
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    with in_print(tab):
        assert tallies(tab) == whole
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert tallies(tab) == ["Wrong signals · 2 problems, 1,332 places"]


def test_count_of_one_finding_is_singular(show):
    tab = show(render_page(attrs.evolve(small(), findings=small().findings[:1])))
    assert tab.get_by_role("status").inner_text() == "1 of 1 problem shown"


def test_a_line_of_the_overview_leads_to_its_card_also_where_that_is_filtered_away(show):
    tab = show(render_page(of_urls()), viewport={"width": 1280, "height": 400})
    card = tab.locator("#S01-warning")
    line = tab.get_by_role("list", name="First findings").get_by_role("link").nth(2)
    line.click()
    assert card.evaluate("(card) => card.matches(':target')")
    tab.get_by_role("button", name="Warnings").click()
    tab.get_by_label("Search").fill("zzyzx")
    assert count(tab) == 0
    line.click()
    assert count(tab) == 3
    assert tab.get_by_label("Search").input_value() == ""
    assert card.evaluate("(card) => Math.abs(card.getBoundingClientRect().top) < innerHeight")


def test_the_overview_is_aligned(show):
    for width in (1280, 400):
        tab = show(render_page(large()), viewport={"width": width, "height": 800})
        edges = tab.locator(".overview .title").evaluate_all("(all) => all.map((each) => each.offsetLeft)")
        assert len(edges) == 10
        assert len(set(edges)) == 1


# --- every occurrence ---


def found(number: int, **fields: object) -> Occurrence:
    row: dict[str, object] = {
        "code": "D01", "severity": "error", "url": f"{SHOP}/{number}", "value": f"day {number}",
        "sitemap": f"{SHOP}/{number % 3}.xml", "line": number, "title": "Unreadable lastmod",
        "message": f"lastmod no. {number}", "field": "lastmod",
    }  # fmt: skip
    return Occurrence(**{**row, **fields})  # type: ignore[arg-type]


def with_all(rows: list[Occurrence], **options: Any) -> str:
    (dates,) = (each for each in small().findings if each.code == "D01")
    return render_page(attrs.evolve(small(), findings=(attrs.evolve(dates, count=len(rows)),)), rows, **options)


def messages(tab: Any) -> list[str]:
    return tab.locator("#D01 .message").all_inner_texts()


def test_a_card_has_pages_of_all_occurrences(show):
    tab = show(with_all([found(number) for number in range(60)]))
    shown = tab.locator("#D01 .range")
    assert shown.inner_text() == "1–25 of 60 places"
    assert messages(tab) == [f"lastmod no. {number}" for number in range(25)]
    assert tab.locator("#D01 li").nth(1).inner_text().split("\n") == [
        f"{SHOP}/1", "lastmod no. 1", "lastmod: day 1", f"listed in {SHOP}/1.xml:1"
    ]  # fmt: skip
    previous, following = (tab.get_by_role("button", name=name) for name in ("Previous", "Next"))
    assert previous.is_disabled()
    following.click()
    following.click()
    assert shown.inner_text() == "51–60 of 60 places"
    assert following.is_disabled()
    previous.click()
    assert messages(tab)[0] == "lastmod no. 25"


def test_the_search_finds_occurrences_on_all_pages(show):
    tab = show(with_all([found(number) for number in range(60)]))
    tab.get_by_label("Search").fill("NO. 47 2.xml")
    assert messages(tab) == ["lastmod no. 47"]
    assert tab.locator("#D01 .range").inner_text() == "1 place"
    tab.get_by_label("Search").fill("D01 no. 4")  # the code is in the head of the card
    assert len(messages(tab)) == 15
    tab.get_by_label("Search").fill("zzyzx")
    assert count(tab) == 0
    tab.keyboard.press("Escape")
    assert tab.locator("#D01 .range").inner_text() == "1–25 of 60 places"


def test_few_occurrences_have_no_pages_and_new_ones_are_marked(show):
    tab = show(with_all([found(1, new=True), found(2, new=False, sitemap=None, line=None)]))
    assert count(tab, ".pages:visible") == 0
    assert tab.locator("#D01 li").all_inner_texts() == [
        f"new\n{SHOP}/1\nlastmod no. 1\nlastmod: day 1\nlisted in {SHOP}/1.xml:1",
        f"{SHOP}/2\nlastmod no. 2\nlastmod: day 2\nlisted in -",
    ]  # fmt: skip


def test_a_page_that_has_not_all_leads_to_the_file_that_has(show):
    (dates,) = (each for each in small().findings if each.code == "D01")
    result = attrs.evolve(small(), findings=(attrs.evolve(dates, count=9),))
    page = show(render_page(result, [found(1)], "a report.findings.jsonl"))
    line = page.locator(".more", has_text="places")
    assert line.inner_text() == "This page has 1 of 9 places; all are in a report.findings.jsonl."
    assert line.locator("a").get_attribute("href") == "a%20report.findings.jsonl"


def test_without_scripts_everything_is_visible(show):
    tab = show(render_page(small()), java_script_enabled=False)
    assert count(tab) == 6
    assert count(tab, ".filters:visible") == 0
    tab.locator(".finding", has_text="F10").locator("summary").click()
    assert tab.get_by_text("neither ETag nor Last-Modified", exact=True).is_visible()


def test_colours_follow_the_scheme(show):
    light, dark = (show(render_page(small()), color_scheme=scheme) for scheme in ("light", "dark"))
    assert background(light) != background(dark)
    for tab in (light, dark):
        assert background(tab) != tab.evaluate("getComputedStyle(document.querySelector('.bar')).fill")


def test_print_has_all_and_no_filters(show):
    tab = show(render_page(small()), color_scheme="dark")
    tab.get_by_role("button", name="Errors").click()
    assert count(tab) == 3
    with in_print(tab):
        assert count(tab) == 6
        assert count(tab, ".filters:visible, .hint:visible") == 0
        assert background(tab) == "rgb(255, 255, 255)"
        assert tab.locator("#F10 li").is_visible()
        heights = tab.locator("figure > .scroll table").evaluate_all("(all) => all.map((each) => each.offsetHeight)")
        assert all(heights)
    assert count(tab) == 3


def test_closed_details_are_opened_for_print_and_closed_again(show):
    tab = show(render_page(small()))
    closed = count(tab, "details:not([open])")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert count(tab, "details:not([open])") == 0
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert count(tab, "details:not([open])") == closed > 0


@pytest.mark.parametrize("colours", [("white", "black"), ("black", "white")])
def test_the_fragment_takes_the_colours_of_the_page_around_it(show, colours):
    paper, ink = colours
    tab = show(
        f"<!DOCTYPE html><meta charset=utf-8><link rel=icon href='data:,'>"
        f"<body style='background: {paper}; color: {ink}'><p>before</p>{render_fragment(small())}</body>"
    )
    expected = tab.evaluate("getComputedStyle(document.body).color")
    for selector in (".sitemap-reader-audit", ".sitemap-reader-audit a", ".sitemap-reader-audit code"):
        assert tab.locator(selector).first.evaluate("(each) => getComputedStyle(each).color") == expected
    assert tab.title() == ""
