"""Each page in Chromium: on a wide screen and a phone, light and dark, and on paper, all text can be read."""

import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from browser import open_page
from click.testing import CliRunner
from generated import make_site
from page_layout import A4, layout_faults
from reports import EMPTY, large, of_urls, small, stamped
from tiers import needs

import sitemap_reader as sr
from sitemap_reader.checks.report import ReportSet
from sitemap_reader.cli.main import main

pytestmark = pytest.mark.slow

CORPUS = Path(__file__).parents[2] / "corpus"
HOSTS = [f"shop-{number:02}.example" for number in range(30)]
LOOKS: dict[str, dict[str, Any]] = {
    "1440": {"width": 1440},
    "390": {"width": 390},
    "1440-dark": {"width": 1440, "scheme": "dark"},
    "390-dark": {"width": 390, "scheme": "dark"},
    "print": {"media": "print"},
}


# --- the pages ---


def audit_of_a_site(folder: Path) -> str:
    """With all places of its findings, as the command line writes it."""
    broken, page = CORPUS / "sites" / "broken", folder / "page.html"
    CliRunner().invoke(main, ["audit", str(broken), "-q", "-o", str(page)])
    return page.read_text("utf-8")


def market(sites: int) -> sr.Snapshot:
    names = ("tealeaf", "kettle", "samovar")[:sites]
    return sr.snapshot([CORPUS / "market" / name for name in names], show_progress=False)


def thirty(folder: Path) -> sr.Snapshot:
    """Shops from 20 to 194 URLs; every second one has hreflang, every third images and news."""
    for number, host in enumerate(HOSTS):
        extensions = (*(["hreflang"] if number % 2 else []), *([] if number % 3 else ["image", "news"]))
        urls = 20 + 6 * number
        make_site(folder / host, base=f"https://{host}", urls=urls, seed=number, extensions=extensions, truth=False)
    return sr.snapshot([folder / host for host in HOSTS], show_progress=False)


def compared(site: sr.Snapshot, folder: Path) -> str:
    site.report(folder / "page.html")
    return (folder / "page.html").read_text("utf-8")


def in_a_notebook(output: Any) -> str:
    """The HTML of an output cell, on the background of a light or dark theme."""
    style = "<style>:root { color-scheme: light dark; } body { font: 14px/1.3 sans-serif; margin: 1rem; }</style>"
    return f"<!DOCTYPE html><meta charset=utf-8>{style}<body>{output._repr_html_()}"


def sixteen() -> sr.Report:
    """16 findings, each with some places, and a small tree."""
    return attrs.evolve(large(), findings=large().findings[:16], sitemaps=small().sitemaps, facts=small().facts)


PAGES: dict[str, Callable[[Path], str]] = {
    "audit": lambda _: small().to_html(),
    "audit-large": lambda _: large().to_html(),
    "audit-sixteen": lambda _: sixteen().to_html(),
    "audit-empty": lambda _: EMPTY.to_html(),
    "audit-of-urls": lambda _: of_urls().to_html(),
    "audit-stamped": lambda _: stamped().to_html(),
    "audit-of-a-site": audit_of_a_site,
    "audit-3": lambda _: ReportSet((small(), large(), EMPTY)).to_html(),
    "audit-30": lambda _: ReportSet(tuple(attrs.evolve(small(), target=host) for host in HOSTS)).to_html(),
    "notebook-audit": lambda _: in_a_notebook(small()),
    "notebook-audit-large": lambda _: in_a_notebook(large()),
    "notebook-audit-empty": lambda _: in_a_notebook(EMPTY),
    "notebook-card": lambda _: in_a_notebook(market(3)),
    "compared-1": lambda folder: compared(market(1), folder),
    "compared-3": lambda folder: compared(market(3), folder),
    "compared-30": lambda folder: compared(thirty(folder), folder),
}


# A notebook scrolls a table that is wider than its cell.
CASES = [(name, look) for name in PAGES for look in LOOKS if not (name == "notebook-card" and look.startswith("390"))]


@pytest.fixture(scope="module")
def tab_of(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Any]]:
    """`tab_of(name)`: the tab of a page, which is rendered once."""
    tabs: dict[str, Any] = {}

    def opened(name: str) -> Any:
        if name.startswith(("compared", "notebook-card")):
            needs("altair")
        if name not in tabs:
            tabs[name] = open_page(chromium, PAGES[name](tmp_path_factory.mktemp(name)))
        return tabs[name]

    yield opened
    for tab in tabs.values():
        tab.context.close()


@pytest.mark.smoke("audit-1440", "notebook-audit-1440")
@pytest.mark.parametrize(("name", "look"), CASES, ids=map("-".join, CASES))
def test_all_text_of_a_page_can_be_read(tab_of, name, look):
    assert layout_faults(tab_of(name), **LOOKS[look]) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_filter_that_is_off_can_be_read(chromium, scheme):
    tab = open_page(chromium, small().to_html())
    tab.get_by_role("button", name="Errors").click()
    assert layout_faults(tab, scheme=scheme) == []


# --- paper ---


def page_fills(pdf: bytes) -> list[float]:
    """For each page of a PDF that Chromium wrote: where its last line of text is, as a share of the height."""
    fills = []
    for page in re.finditer(rb"/Type /Page\b.*?/MediaBox \[0 0 [\d.]+ ([\d.]+)\].*?/Contents (\d+) 0 R", pdf, re.S):
        start = re.search(rb"\n%s 0 obj\n<<.*?>>\s*stream\n" % page[2], pdf, re.S)
        assert start
        content = zlib.decompressobj().decompress(pdf[start.end() :])
        scale, shift, stack, lines = 1.0, 0.0, [], []
        # The vertical part of the matrices, and of the positions of text; q and Q keep and restore them.
        for found in re.finditer(rb"(?:[-.\d]+ ){3}([-.\d]+) [-.\d]+ ([-.\d]+) (cm|Tm)\b|\b(q|Q)\n", content):
            if found[4] == b"q":
                stack.append((scale, shift))
            elif found[4]:
                scale, shift = stack.pop()
            elif found[3] == b"cm":
                scale, shift = scale * float(found[1]), scale * float(found[2]) + shift
            else:
                lines.append(scale * float(found[2]) + shift)
        fills.append(1 - min(lines) / float(page[1]) if lines else 0.0)
    return fills


def printed(tab: Any) -> list[float]:
    tab.emulate_media(media="print")
    tab.evaluate("document.documentElement.style.width = ''")
    return page_fills(tab.pdf(prefer_css_page_size=True, width=f"{A4['width']}px", height=f"{A4['height']}px"))


@pytest.mark.parametrize(("name", "least"), [
    ("audit", 0.6), ("audit-sixteen", 0.6), ("audit-of-a-site", 0.6), ("audit-3", 0.6),
    ("compared-3", 0.4),  # a chart is not divided
])  # fmt: skip
def test_printed_pages_are_full(tab_of, name, least):
    fills = printed(tab_of(name))
    assert len(fills) > 2
    assert [fill for fill in fills[:-1] if fill < least] == []


def test_a_page_that_is_half_empty_is_found(chromium):
    tab = open_page(chromium, "<!DOCTYPE html>" + "<p style='height: 500px; break-inside: avoid'>a" * 4)
    first, second, *_ = printed(tab)
    assert first < 0.6
    assert second < 0.6


# --- that faults are found ---

CLEAN = """<!DOCTYPE html><meta charset=utf-8><style>
  body { font: 16px/1.4 sans-serif; color: #222; background: white; }
  .box { width: 300px; overflow-x: auto; background: linear-gradient(to right, #ccc, transparent) local; }
  .few { color: #767676; } .big { color: #949494; font-size: 24px; }
  .name { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
</style><h1>A page</h1><p class=few>grey: 4.54:1</p><p class=big>large: 3.03:1</p><p class=name>for screen readers</p>
<div class=box tabindex=0><div style="width: 900px">a wide <b style="margin-left: 700px">table</b></div></div>
<svg viewBox="0 0 200 40" width=200><rect width=100 height=20 fill="#024" /><text y=14 x=2 fill="#fff">on dark</text>
<text y=36 x=2>below</text></svg><details><summary>more</summary>inside</details>
"""
PLANTED = {
    "wide": ("<p style='width: 2000px'>w", "wide: "),
    "beyond the window": ("<p style='position: fixed; left: -20px'>left", 'clipped: "left" in '),
    "in a box": ("<p style='width: 90px; overflow: hidden; white-space: nowrap'>a long line of text", "clipped: "),
    "in a low box": ("<p style='height: 10px; overflow: hidden'>low", 'clipped: "low" in '),
    "in an SVG": ("<svg width=90 height=20><text x=60 y=14>beyond</text></svg>", 'clipped: "beyond" in body > svg'),
    "no hint": ("<div style='overflow: auto' tabindex=0><p style='width: 900px; text-align: right'>end", "clipped: 1 "),
    "overlap": ("<p style='margin: 0'>above<p style='margin: -14px 0 0'>below", 'overlapping: "above" and "below"'),
    "slanted": (
        "<svg width=90 height=90><text x=20 y=70 transform='rotate(-45 20 70)'>slanted</text><text x=30 y=60>on it",
        'overlapping: "slanted" and "on it"',
    ),
    "contrast": ("<p style='color: #7f7f7f'>4.0:1", 'contrast: "4.0:1" in html > body > p: 4.0'),
    "opacity": ("<p style='opacity: 0.5'>faded", 'contrast: "faded"'),
    "on a shape": ("<svg width=90 height=20><rect width=90 height=20 fill='#555'/><text y=14>dark", "contrast: "),
    "on a bar": (
        "<p style='position: relative'><i style='position: absolute; inset: 0; background: #555'></i>"
        "<b style='position: relative'>dark",
        'contrast: "dark"',
    ),
    "mixed": ("<p style='color: color-mix(in srgb, black 40%, white)'>mixed", 'contrast: "mixed"'),
    "small": ("<p style='font-size: 7px'>small", "small: "),
    "broken": ("<p style='width: 40px; overflow-wrap: anywhere'>unreadable", 'broken: "unreadable"'),
}  # fmt: skip


@pytest.fixture(scope="module")
def plain(chromium: Any) -> Iterator[Any]:
    tab = open_page(chromium, "")
    yield tab
    tab.context.close()


@pytest.mark.smoke
def test_a_page_without_faults_has_none(plain):
    for look in LOOKS.values():
        plain.set_content(CLEAN)
        if look.get("media") != "print":
            assert layout_faults(plain, **look) == []


@pytest.mark.smoke
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(plain, name):
    markup, fault = PLANTED[name]
    plain.set_content(CLEAN + markup)
    found = layout_faults(plain, width=800)
    assert [each[: len(fault)] for each in found] == [fault]


def test_a_box_that_scrolls_hides_text_on_paper(plain):
    plain.set_content(CLEAN)
    assert layout_faults(plain, media="print")[0].startswith('clipped: "table" in ')
