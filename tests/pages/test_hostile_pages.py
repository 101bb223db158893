"""Text of a site stays text in each page: in Chromium nothing of it runs, is requested, or becomes an element."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path
from typing import Any

import pytest
from browser import open_page
from hostile_text import TEXTS, assert_harmless, census
from kit import urlset
from reports import SHOP, hostile
from tiers import needs

import sitemap_reader as sr
from sitemap_reader.checks import Occurrence
from sitemap_reader.checks.report import ReportSet
from sitemap_reader.model import printable, report

pytestmark = pytest.mark.slow

PLAIN = "PLAIN"
AT = datetime(2026, 6, 15, 12, tzinfo=UTC)
Open = Callable[..., tuple[Any, list[str]]]


@pytest.fixture(scope="module")
def opened(chromium: Any) -> Iterator[Open]:
    """`opened(html)` -> its tab, and the list of all that it logs, opens and requests."""
    tabs = []

    def shown(html: str) -> tuple[Any, list[str]]:
        events: list[str] = []
        while tabs:
            tabs.pop().context.close()
        tabs.append(open_page(chromium, html, events))
        return tabs[0], events

    yield shown
    for tab in tabs:
        tab.context.close()


# --- audits ---


def occurrences(text: str) -> list[Occurrence]:
    fields = {"code": "D01", "severity": "error", "value": text, "title": text, "message": text, "field": text}
    places = ((text, text, 3), (f"{SHOP}/{text}", f"{SHOP}/{text}", None), (None, None, None))
    return [Occurrence(url=url, sitemap=sitemap, line=line, **fields) for url, sitemap, line in places]


def in_a_notebook(result: Any) -> str:
    return f"<!DOCTYPE html><meta charset=utf-8><title>Notebook</title><body>{result._repr_html_()}"


AUDITS: dict[str, Callable[[str], str]] = {
    "page": lambda text: hostile(text).to_html(),
    "page-of-all-places": lambda text: hostile(text).to_html(occurrences(text), file=f"{text[:50]}.jsonl"),
    "page-of-several": lambda text: ReportSet((hostile(text), hostile(f"{text} 2"))).to_html(),
    "notebook": lambda text: in_a_notebook(hostile(text)),
}
WRITTEN_BY_A_SCRIPT = "page-of-all-places"


@pytest.fixture(scope="module")
def plain(opened: Open) -> dict[str, dict[str, Any]]:
    return {name: census(opened(page(PLAIN))[0]) for name, page in AUDITS.items()}


@pytest.mark.smoke("script-page", "invisible-page")
@pytest.mark.parametrize("name", AUDITS)
@pytest.mark.parametrize("kind", TEXTS)
def test_text_stays_text_in_an_audit(opened, plain, name, kind):
    text = TEXTS[kind]
    found = assert_harmless(*opened(AUDITS[name](text)), plain[name])
    if name == WRITTEN_BY_A_SCRIPT:
        return
    assert found["elements"] == plain[name]["elements"]
    if kind != "long":  # which is shown with a gap
        assert found["text"] == plain[name]["text"].replace(PLAIN, printable(text))


def test_a_search_for_hostile_text_finds_it_as_text(opened, plain):
    text = TEXTS["elements"]
    tab, events = opened(AUDITS[WRITTEN_BY_A_SCRIPT](text))
    tab.get_by_label("Search").fill(text)
    assert tab.locator(".finding:visible").count() >= 1
    assert_harmless(tab, events, plain[WRITTEN_BY_A_SCRIPT])


# --- comparisons of sites ---


def records(host: str, texts: list[str]) -> Iterator[sr.UrlRecord]:
    """Pages with a text in each field."""
    pages = [f"https://{host}/{text}/{text}-page/{number}" for number, text in enumerate(texts)]
    for number, (page, text) in enumerate(zip(pages, texts, strict=True)):
        yield sr.UrlRecord(
            page, AT - timedelta(days=9 * number), "second", "daily", 0.5,
            images=(sr.Image(page, text, text, text, text),), news=sr.News(text, text, f"{text} red", AT, "second"),
            alternates=(sr.Alternate("en", page), sr.Alternate(text, pages[0]), sr.Alternate("de", pages[-1])),
            sitemap=f"https://{host}/{text}.xml", problems=(report("D01", text, sitemap=text, raw=text),),
        )  # fmt: skip


def dumped(texts: list[str], folder: Path) -> sr.Snapshot:
    """A dump of two sites; the names of both are hostile."""
    sites = [(f"{texts[0]} ours", "ours.example"), (f"{texts[-1]} theirs", f"{texts[1]}.example")]
    parts = [(name, records(host, texts[number :: 3 * number + 1])) for number, (name, host) in enumerate(sites)]
    lines = [sr.json_line(each, site=name) for name, some in parts for each in some]
    (folder / "two.jsonl").write_bytes(b"".join(lines))
    return sr.load(folder / "two.jsonl", at=AT)


def of_sitemaps(texts: list[str], folder: Path) -> sr.Snapshot:
    """The sitemaps of two sites, with the characters that XML forbids, too."""
    for host, some in (("ours", texts), ("theirs", texts[1:])):
        entries = []
        for number, text in enumerate(some):
            word = escape(text)
            loc = f"https://{host}.example/{word}/page-{number}"
            link = f'<link xmlns="http://www.w3.org/1999/xhtml" rel="alternate" hreflang="{word}" href="{loc}"/>'
            inside = f"<loc>{loc}.png</loc><title>{word}</title>"
            image = f'<image xmlns="http://www.google.com/schemas/sitemap-image/1.1">{inside}</image>'
            date = f"<lastmod>{AT - timedelta(days=number):%Y-%m-%d}</lastmod><changefreq>{word}</changefreq>"
            entries.append(f"<url><loc>{loc}</loc>{date}{image}{link}</url>")
        (folder / host).mkdir()
        (folder / host / "sitemap.xml").write_bytes(urlset("\n".join(entries)))
    return sr.load([folder / "ours", folder / "theirs"], at=AT)


def card(site: sr.Snapshot, _: Path) -> str:
    return in_a_notebook(site)


def page(site: sr.Snapshot, folder: Path) -> str:
    site.report(folder / "page.html")
    return (folder / "page.html").read_text("utf-8")


@pytest.mark.parametrize(("made", "render"), [(dumped, page), (dumped, card), (of_sitemaps, page)])
def test_text_stays_text_in_a_comparison(opened, tmp_path, made, render):
    needs("altair")
    for name in ("plain", "hostile"):
        (tmp_path / name).mkdir()
    words = [f"plain{'x' * number}" for number in range(len(TEXTS))]
    plain = census(opened(render(made(words, tmp_path / "plain"), tmp_path))[0])
    texts = [text.encode("utf-8", "replace").decode() for text in TEXTS.values()]
    tab, events = opened(render(made(texts, tmp_path / "hostile"), tmp_path))
    found = assert_harmless(tab, events, plain)
    assert TEXTS["script"] in found["text"]


@pytest.mark.parametrize("bad", [
    "<script>1</script>", "<p onclick='1'>x", "<a href=javascript:1>x</a>", "<a href='data:text/html,1'>x</a>",
    "<i>new</i>", "<p title='\u202ex'>x", "x\u200by", "<img src=/x>", "<title>bad</title>", "7331 * 7 = 51317",
    "<script>alert(1)</script>", "<script>console.log(1)</script>",
])  # fmt: skip
def test_what_a_page_must_not_have_is_found(opened, bad):
    plain = census(opened("<!DOCTYPE html><p>x <a href=https://a.example/>x</a><p title=x>")[0])
    tab, events = opened(f"<!DOCTYPE html><p>x{bad}")
    with pytest.raises(AssertionError):
        assert_harmless(tab, events, plain)
