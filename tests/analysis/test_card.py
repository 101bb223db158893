"""The HTML card of a Snapshot in a notebook: the verdict on its dates, ten facts, and notes."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from kit import Site, dump
from recorded import snapshot_of

import sitemap_reader as sr

AT = datetime(2026, 6, 15, 12, 34, tzinfo=UTC)
FACTS = [
    "pages", "sitemaps", "hosts", "newest lastmod", "lastmod stated", "sections", "images, videos, news", "hreflang",
    "changefreq, priority", "problems",
]  # fmt: skip


def of(folder: Path, *items: object, at: datetime | None = AT, **options: Any) -> str:
    return snapshot_of(folder, *items, at=at, **options)._repr_html_()


def table(html: str) -> dict[str, list[str]]:
    """Fact -> the cells of its row."""
    rows = [re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]
    return {name: [unescape(cell) for cell in cells] for name, *cells in rows}


def url(path: str, lastmod: datetime | None = None, **more: object) -> sr.UrlRecord:
    return sr.UrlRecord(f"https://a.example/{path}", lastmod, "second" if lastmod else None, **more)  # type: ignore[arg-type]


PAGES = [
    url("blog/1", AT - timedelta(days=2), changefreq="daily", sitemap="s", images=(sr.Image("i"),)),
    url("blog/1", AT - timedelta(days=9), sitemap="s"),
    url("blog/2", AT - timedelta(days=5), priority=0.5, sitemap="t", news=sr.News(title="n")),
    url("about", alternates=(sr.Alternate("de", "https://a.example/de"),), sitemap="t"),
    sr.UrlRecord("https://b.example/", sitemap="t"),
]
REPORT = [
    sr.Outcome("https://a.example/s.xml"),
    sr.Outcome("https://a.example/t.xml", complete=False),
    sr.Problem("D01", "warning", "no date", "https://a.example/s.xml"),
    sr.Problem("D01", "warning", "no date", "https://a.example/s.xml"),
    sr.Problem("F01", "error", "404 Not Found", "https://a.example/t.xml"),
]


def test_card_begins_with_the_verdict_on_dates(tmp_path: Path) -> None:
    html = of(tmp_path, *PAGES)
    (verdict,) = re.findall(r"<strong>(.*?)</strong>", html)
    assert "astmods can be trusted (1.00) for the 60% of URLs that have one: no fault was found" in verdict
    assert html.index("<strong>") < html.index("<table>")


def test_card_has_ten_facts_of_each_site(tmp_path: Path) -> None:
    reported = table(of(tmp_path, *PAGES, *REPORT))
    assert [name for name in reported if name] == FACTS
    assert reported[""] == ["a.example"]
    assert {name: cells[0] for name, cells in reported.items() if name} == {
        "pages": "4 in 5 listings",
        "sitemaps": "2, of which 2 have URLs; 1 incomplete",
        "hosts": "2: a.example (3), b.example (1)",
        "newest lastmod": "2026-06-13T12:34:00Z",
        "lastmod stated": "50%",
        "sections": "2: /blog/ (2), / (2)",
        "images, videos, news": "25%, 0%, 25%",
        "hreflang": "25%",
        "changefreq, priority": "25%, 25%",
        "problems": "2: D01 (2), F01 (1)",
    }


def test_card_shows_dates_with_their_stated_precision(tmp_path: Path) -> None:
    day = sr.UrlRecord("https://a.example/", datetime(2026, 6, 1, tzinfo=UTC), "day")
    month = sr.UrlRecord("https://a.example/", datetime(2026, 6, 1, tzinfo=UTC), "month")
    assert table(of(tmp_path, day))["newest lastmod"] == ["2026-06-01"]
    assert table(of(tmp_path, month))["newest lastmod"] == ["2026-06"]
    assert table(of(tmp_path, url("a")))["newest lastmod"] == ["none"]


def test_card_has_a_column_for_each_site_up_to_a_limit(tmp_path: Path) -> None:
    reported = table(of(tmp_path, one=PAGES[:1], two=PAGES))
    assert reported[""] == ["one", "two"]
    assert reported["pages"] == ["1", "4 in 5 listings"]
    assert [len(cells) for cells in reported.values()] == [2] * 11
    many = {f"s{number}": PAGES[:1] for number in range(8)}
    html = of(tmp_path, **many)
    assert table(html)[""] == [f"s{number}" for number in range(6)]
    assert "2 sites more" in html


@pytest.mark.slow
def test_card_names_what_is_incomplete_or_unknown(tmp_path: Path) -> None:
    partial = of(tmp_path, *PAGES, *REPORT)
    assert "read 2026-06-15 12:34 UTC: partial" in partial
    assert "read 2026-06-15 12:34 UTC: complete" in of(tmp_path, *PAGES, REPORT[0])
    assert "time of reading unknown: completeness unknown" in of(tmp_path, *PAGES, at=None)
    reported = table(of(tmp_path, *PAGES))
    assert (reported["sitemaps"], reported["problems"]) == (["2 with URLs"], ["none reported"])


def test_card_shows_notes(tmp_path: Path) -> None:
    def at_once(progress: sr.client.Progress) -> None:
        raise KeyboardInterrupt

    html = sr.snapshot(Site().write(tmp_path / "site"), show_progress=False, on_progress=at_once)._repr_html_()
    assert "stopped before the end: only what was read until then is here" in html
    assert "partial" in html


def test_empty_snapshot_has_a_card(tmp_path: Path) -> None:
    assert "here is no URL" in of(tmp_path)
    assert "here is no URL" in of(tmp_path, REPORT[0])
    reported = table(of(tmp_path, sr.UrlRecord("hello")))
    assert reported["pages"] == ["1"]
    assert "None" not in str(reported["hosts"])


def test_printing_a_snapshot_shows_the_card_as_text(tmp_path: Path) -> None:
    some = snapshot_of(tmp_path, *PAGES, *REPORT, url("\x1b[31m/x"), at=AT)
    lines = str(some).splitlines()
    assert lines[0].startswith("Lastmods can be trusted (1.00)")
    assert [line.partition("  ")[0] for line in lines[3:13]] == FACTS
    assert lines[7].split() == ["lastmod", "stated", "40%"]
    assert lines[-1].endswith("read 2026-06-15 12:34 UTC: partial")
    assert "\x1b" not in str(some)
    assert repr(some) == f"<Snapshot of a.example ({some.name}): 6 URLs; read 2026-06-15 12:34 UTC>"


@pytest.mark.slow
@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_without_pandas_a_snapshot_is_printed_as_one_line(package: str, tmp_path: Path) -> None:
    dump(tmp_path / "urls.jsonl", PAGES[0])
    program = f"""
import sys
sys.modules[{package!r}] = None
import sitemap_reader as sr
some = sr.load("urls.jsonl")
print(some)
print(repr(some), some._repr_html_())
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    shown = "<Snapshot of urls.jsonl: not loaded yet>"
    assert ran.stdout == f"{shown}\n{shown} None\n"


def test_tags_are_closed(tmp_path: Path) -> None:
    html = of(tmp_path, *PAGES, *REPORT, one=PAGES, two=PAGES)
    for tag in ("div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"):
        assert len(re.findall(f"<{tag}>", html)) == html.count(f"</{tag}>"), tag
