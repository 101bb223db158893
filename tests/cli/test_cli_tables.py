from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from cli_runs import BROKEN, SHOP, SITES, index, replay, run, urlset

from sitemap_reader.cli.nesting import Nesting
from sitemap_reader.cli.table import aligned, tsv
from sitemap_reader.records import Outcome, SitemapRef

if TYPE_CHECKING:
    from pathlib import Path

A = "https://a.example"
GONE = "F01 404 Not Found (listed in robots.txt:1)"
TREE = """\
sitemap                                                      format        entries  lastmod               newest                complete
https://shop.example/robots.txt                              robots              1  -                     -                     yes
└── https://shop.example/sitemap_index.xml                   sitemapindex        7  -                     -                     yes
    ├── https://shop.example/sitemaps/products-index.xml     sitemapindex        2  2026-10-23T05:24:00Z  -                     yes
    │   ├── https://shop.example/sitemaps/products-1.xml.gz  urlset            195  2026-10-23T05:24:00Z  2026-10-23T05:24:00Z  yes
    │   └── https://shop.example/sitemaps/products-2.xml.gz  urlset            195  2026-04-11T05:09:00Z  2026-04-11T05:09:00Z  yes
    ├── https://shop.example/sitemaps/categories.xml         urlset             50  2026-10-26T00:00:00Z  2026-10-26T00:00:00Z  yes
    ├── https://shop.example/sitemaps/magazine.xml           urlset             60  2026-08-21T06:33:00Z  2026-08-21T06:33:00Z  yes
    ├── https://shop.example/sitemaps/pages.txt              text               60  -                     -                     yes
    ├── https://shop.example/sitemaps/news.xml               urlset             30  2026-10-26T06:00:00Z  2026-10-26T06:00:00Z  yes
    ├── https://shop.example/blog/feed.rss                   rss                25  2026-10-25T06:38:00Z  2026-10-25T06:38:00Z  yes
    └── https://shop.example/journal/feed.atom               atom               25  2026-10-25T06:38:00Z  2026-10-25T06:38:00Z  yes
"""  # noqa: E501 - as it is printed


def test_tree_draws_the_nesting() -> None:
    result = run("tree", SHOP, "--format", "table")
    assert result.stdout == TREE
    assert result.exit_code == 0


def test_tree_is_tsv_when_piped() -> None:
    rows = [line.split("\t") for line in run("tree", BROKEN).stdout.splitlines()]
    assert rows[0] == ["depth", "url", "format", "entries", "lastmod", "newest", "complete", "kept"]
    by_url = {row[1].rpartition("/")[2]: row for row in rows[1:]}
    maps = "https://broken.example/maps"
    assert by_url["robots.txt"] == ["0", "https://broken.example/robots.txt", "robots", "1", "", "", "yes", "1"]
    newest = "2026-10-25T06:38:00Z"
    assert by_url["offhost.xml"] == ["2", f"{maps}/offhost.xml", "urlset", "30", "", newest, "yes", "20"]
    assert by_url["gone.xml"] == ["2", f"{maps}/gone.xml", "", "0", "", "", "no", "0"]


def test_tree_as_json() -> None:
    rows = [json.loads(line) for line in run("tree", SHOP, "--format", "jsonl").stdout.splitlines()]
    assert len(rows) == 11
    assert rows[4] == {
        "type": "node",
        "depth": 3,
        "url": "https://shop.example/sitemaps/products-2.xml.gz",
        "format": "urlset",
        "entries": 195,
        "kept": 195,
        "lastmod": "2026-04-11T05:09:00Z",
        "newest": "2026-04-11T05:09:00Z",
        "complete": "yes",
    }


def test_tree_of_a_partial_site_exits_3_and_shows_what_was_kept() -> None:
    result = run("tree", BROKEN, "--format", "table")
    assert result.exit_code == 3
    assert "30 (kept 20)" in result.stdout


def test_tree_of_what_cannot_be_read_shows_what_was_tried() -> None:
    result = run("tree", "no-such-host.invalid")
    assert result.exit_code == 5
    assert "//no-such-host.invalid/robots.txt\t" in result.stdout
    assert sum(line.startswith("error: ") for line in result.stderr.splitlines()) == 1


def test_tree_names_sites_in_json_where_there_are_several() -> None:
    rows = [json.loads(line) for line in run("tree", SHOP, BROKEN, "--format", "jsonl").stdout.splitlines()]
    assert [row["site"] for row in rows] == [SHOP] * 11 + [BROKEN] * 9


def test_a_circle_of_indexes_stands_once() -> None:
    nesting = Nesting()
    for one, other in [("a", "b"), ("b", "a"), ("a", "a")]:
        nesting.hear(SitemapRef(f"{A}/{other}", sitemap=f"{A}/{one}"))
        nesting.hear(Outcome(url=f"{A}/{one}"))
    assert [(row.depth, row.url) for row in nesting.rows()] == [(0, f"{A}/a"), (1, f"{A}/b")]


def test_a_sitemap_with_two_parents_stands_under_the_first() -> None:
    nesting = Nesting()
    for parent in "ab":
        nesting.hear(SitemapRef(f"{A}/child", sitemap=f"{A}/{parent}"))
    assert [(row.depth, row.url) for row in nesting.rows()] == [(0, f"{A}/a"), (1, f"{A}/child"), (0, f"{A}/b")]


def test_a_sitemap_that_was_not_asked_for_is_unread(tmp_path: Path) -> None:
    result = run("tree", replay(tmp_path, {"sitemap.xml": index("https://b.example/x.xml")}))
    assert result.stdout.splitlines()[-1].split("\t") == ["1", "https://b.example/x.xml", "", "", "", "", "unread", ""]


def test_discover_lists_what_robots_names() -> None:
    result = run("discover", SHOP)
    assert result.stdout == "url\twhy\tstatus\tformat\tproblem\nhttps://shop.example/sitemap_index.xml\trobots\t200\tsitemapindex\t\n"
    assert result.exit_code == 0
    assert result.stderr.splitlines()[-1] == "1 sitemap found"


def test_discover_as_a_table() -> None:
    assert run("discover", SHOP, "--format", "table").stdout == (
        "url                                     why     status  format        problem\n"
        "https://shop.example/sitemap_index.xml  robots     200  sitemapindex  -\n"
    )


def test_discover_as_json_with_sites() -> None:
    beside = str(SITES / "cross-submission")
    rows = [json.loads(line) for line in run("discover", SHOP, beside, "--format", "jsonl").stdout.splitlines()]
    assert rows[0] == {
        "type": "candidate",
        "url": "https://shop.example/sitemap_index.xml",
        "why": "robots",
        "status": 200,
        "format": "sitemapindex",
        "problem": None,
        "site": SHOP,
    }
    assert [row["site"] for row in rows[1:]] == [beside, beside]


@pytest.mark.parametrize(
    ("pages", "code", "row"),
    [
        ({}, 4, None),
        ({"sitemap.xml": urlset(f"{A}/1")}, 0, [f"{A}/sitemap.xml", "well-known", "200", "urlset", ""]),
        ({"robots.txt": f"Sitemap: {A}/gone.xml\n"}, 5, [f"{A}/gone.xml", "robots", "404", "", GONE]),
        (
            {"robots.txt": f"Sitemap: {A}/gone.xml\nSitemap: {A}/s.xml\n", "s.xml": urlset(f"{A}/1")},
            3,
            [f"{A}/gone.xml", "robots", "404", "", GONE],
        ),
    ],
)
def test_discover_exit_codes(tmp_path: Path, pages: dict[str, str], code: int, row: list[str] | None) -> None:
    result = run("discover", replay(tmp_path, pages))
    assert result.exit_code == code
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert (row in rows) if row else rows == []


def test_tables_escape_what_would_break_them() -> None:
    assert list(tsv(("a", "b"), [("x\ty", None)])) == [b"a\tb\n", b"x\\ty\t\n"]
    assert list(aligned(("a", "n"), [("\x1b[1m", "1"), (None, "22")], right=("n",))) == [
        b"a         n\n",
        b"\\x1b[1m   1\n",
        b"-        22\n",
    ]


@pytest.mark.parametrize("command", ["tree", "discover"])
def test_a_table_replaces_what_its_file_held(command: str, tmp_path: Path) -> None:
    kept = tmp_path / "table.tsv"
    kept.write_text("yesterday's\n" * 1000)
    assert run(command, "no host", "-o", kept).exit_code == 2
    assert len(kept.read_text().splitlines()) == 1000
    assert run(command, SHOP, "-o", kept).exit_code == 0
    assert kept.read_text() == run(command, SHOP).stdout
