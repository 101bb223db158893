from pathlib import Path

import pytest
from cli_runs import BROKEN, SHOP, SITES, replay
from golden_tables import GOLDEN, Case, cases
from kit import index, objects, robots, run, urlset

from sitemap_reader import Outcome, SitemapRef
from sitemap_reader.cli import MAX_ALIGNED, aligned, padded, separated, width
from sitemap_reader.client import Screen, SitemapTree

A = "https://a.example"
TWO = robots(f"{A}/gone.xml", f"{A}/s.xml", rules="")
GONE = "F01 404 Not Found (listed in /robots.txt:1)"


# --- as files ---


@pytest.mark.slow
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.file.name)
def test_tables_are_their_golden_files(case: Case) -> None:
    """To change them run `scripts/write_table_expectations` and read what it prints."""
    assert case.stdout().decode() == case.file.read_text("utf-8")


def test_no_golden_file_is_left_over() -> None:
    assert {file.name for file in GOLDEN.iterdir()} == {case.file.name for case in cases()}


# --- tree ---


def test_tree_is_tsv_when_piped() -> None:
    rows = [line.split("\t") for line in run("tree", BROKEN).stdout.splitlines()]
    assert " ".join(rows[0]) == "depth url format entries lastmod newest complete kept status problem"
    by_url = {row[1].rpartition("/")[2]: row for row in rows[1:]}
    maps = "https://broken.example/maps"
    robots = "https://broken.example/robots.txt"
    assert by_url["robots.txt"] == ["0", robots, "robots", "1", "", "", "yes", "1", "200", ""]
    newest = "2026-10-25T06:38:00Z"
    assert by_url["offhost.xml"] == ["2", f"{maps}/offhost.xml", "urlset", "30", "", newest, "yes", "20", "200", ""]
    why = "F01 404 Not Found (listed in /sitemap_index.xml:9)"
    assert by_url["gone.xml"] == ["2", f"{maps}/gone.xml", "", "0", "", "", "no", "0", "404", why]


def test_tree_as_json() -> None:
    assert objects(run("tree", SHOP, "--format", "jsonl").stdout) == objects((GOLDEN / "tree-shop.jsonl").read_text())


def test_tree_of_a_partial_site_exits_3_and_shows_what_was_kept() -> None:
    result = run("tree", BROKEN, "--format", "table")
    assert result.exit_code == 3
    header, *rows = (line.split() for line in result.stdout.splitlines())
    assert header == ["sitemap", "format", "entries", "kept", "lastmod", "newest", "status", "complete", "problem"]
    assert rows[-1][-8:-5] == ["urlset", "30", "20"]


def test_dates_of_a_table_are_as_exact_as_they_were_stated(tmp_path: Path) -> None:
    folder = replay(tmp_path, {"sitemap.xml": urlset((f"{A}/1", "2026-11-01"), (f"{A}/2", "2026-10-31T23:00:00Z"))})
    assert run("tree", folder, "--format", "table").stdout.splitlines()[-1].split()[-3:] == ["2026-11-01", "200", "yes"]
    assert run("tree", folder, "--format", "tsv").stdout.splitlines()[-1].split("\t")[5] == "2026-11-01T00:00:00Z"


def test_tree_names_sites_where_there_are_several() -> None:
    forms = objects(run("tree", SHOP, BROKEN, "--format", "jsonl").stdout)
    assert [form["site"] for form in forms] == [SHOP] * 11 + [BROKEN] * 9
    rows = [line.split("\t") for line in run("tree", SHOP, BROKEN, "--format", "tsv").stdout.splitlines()]
    assert rows[0][:3] == ["site", "depth", "url"]
    assert [row[0] for row in rows[1:]] == [SHOP] * 11 + [BROKEN] * 9
    assert {len(row) for row in rows} == {11}


def test_tree_of_an_unreadable_site_shows_the_tried_urls() -> None:
    result = run("tree", "no-such-host.invalid")
    assert result.exit_code == 5
    assert "//no-such-host.invalid/robots.txt\t" in result.stdout
    assert sum(line.startswith("error") for line in result.stderr.splitlines()) == 1


def test_cycle_of_indexes_is_shown_once() -> None:
    tree = SitemapTree()
    for one, other in [("a", "b"), ("b", "a"), ("a", "a")]:
        tree.add(SitemapRef(f"{A}/{other}", sitemap=f"{A}/{one}"))
        tree.add(Outcome(url=f"{A}/{one}"))
    assert [(row.depth, row.url) for row in tree.rows()] == [(0, f"{A}/a"), (1, f"{A}/b")]


def test_sitemap_with_two_parents_is_shown_under_the_first() -> None:
    tree = SitemapTree()
    for parent in "ab":
        tree.add(SitemapRef(f"{A}/child", sitemap=f"{A}/{parent}"))
    assert [(row.depth, row.url) for row in tree.rows()] == [(0, f"{A}/a"), (1, f"{A}/child"), (0, f"{A}/b")]


def test_roots_are_grouped_by_host_with_robots_txt_without_sitemaps_last() -> None:
    tree = SitemapTree()
    for url in ("https://z.example/robots.txt", f"{A}/sitemap.xml", "https://0.example/robots.txt", f"{A}/robots.txt"):
        tree.add(Outcome(url=url, entries="0.example" not in url, complete="robots.txt" not in url))
    assert [row.url.removeprefix("https://") for row in tree.rows()] == [
        "a.example/robots.txt", "a.example/sitemap.xml", "z.example/robots.txt", "0.example/robots.txt",
    ]  # fmt: skip


def test_sitemap_that_was_not_requested_is_unread(tmp_path: Path) -> None:
    result = run("tree", replay(tmp_path, {"sitemap.xml": index("https://b.example/x.xml")}))
    row = result.stdout.splitlines()[-1].split("\t")
    assert row == ["1", "https://b.example/x.xml", *[""] * 4, "unread", *[""] * 3]


def urls(table: str) -> list[str]:
    return [line.split("\t")[1] for line in table.splitlines()[1:]]


def test_robots_txt_read_only_for_its_rules_is_not_in_the_tree(tmp_path: Path) -> None:
    pages = {"robots.txt": robots(f"{A}/s.xml"), "s.xml": urlset(f"{A}/1"), "other.xml": urlset(f"{A}/2")}
    site = replay(tmp_path, pages)
    (site / "site.toml").write_text(f'seeds = ["{A}/other.xml"]\n')
    assert urls(run("tree", site).stdout) == [f"{A}/other.xml"]
    (site / "site.toml").write_text(f'seeds = ["{A}/s.xml"]\n')
    assert urls(run("tree", site).stdout) == [f"{A}/robots.txt", f"{A}/s.xml"]
    (site / "site.toml").write_text(f'seeds = ["{A}/robots.txt"]\n')
    (site / "https/a.example/s.xml").unlink()
    assert "unread" not in run("tree", site).stdout


# --- discover ---


def test_discover_prints_the_number_of_sitemaps() -> None:
    result = run("discover", SHOP)
    assert result.exit_code == 0
    assert result.stderr.splitlines()[-1] == "2 sitemaps found"


def test_discover_without_sitemaps_has_advice(tmp_path: Path) -> None:
    result = run("discover", replay(tmp_path, {}), "--format", "table")
    assert result.exit_code == 4
    assert result.stdout == ""
    assert "error: no sitemap found for " in result.stderr
    assert "if you know where it is, give its URL" in result.stderr


def test_discover_as_json_with_sites() -> None:
    beside = str(SITES / "cross-submission")
    rows = objects(run("discover", SHOP, beside, "--format", "jsonl").stdout)
    assert rows[0] == {**objects((GOLDEN / "discover-shop.jsonl").read_text())[0], "site": SHOP}
    assert [row["site"] for row in rows[1:]] == [SHOP, beside, beside]


@pytest.mark.parametrize(("pages", "code", "row"), [
    ({}, 4, None),
    ({"sitemap.xml": urlset(f"{A}/1")}, 0, [f"{A}/sitemap.xml", "well-known", "200", "urlset", ""]),
    ({"robots.txt": TWO}, 5, [f"{A}/gone.xml", "robots", "404", "", GONE]),
    ({"robots.txt": TWO, "s.xml": urlset(f"{A}/1")}, 3, [f"{A}/gone.xml", "robots", "404", "", GONE]),
])
def test_discover_exit_codes(tmp_path: Path, pages: dict[str, bytes], code: int, row: list[str] | None) -> None:
    result = run("discover", replay(tmp_path, pages))
    assert result.exit_code == code
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert (row in rows) if row else rows == []


# --- tables ---


def test_tables_escape_control_characters() -> None:
    assert list(separated("tsv", ("a", "b"), [("x\ty", None)], guard=True)) == [b"a\tb\n", b"x\\ty\t\n"]
    assert list(separated("csv", ("a", "b"), [("x\ny,z", None)], guard=True)) == [b"a,b\n", b'"x\\ny,z",\n']
    table = b"".join(aligned(("a", "n"), [("\x1b[1m", "1"), (None, "22")], right=("n",)))
    assert table == b"a         n\n\\x1b[1m   1\n-        22\n"


@pytest.mark.parametrize(("guard", "cell"), [(True, b"'=1+1"), (False, b"=1+1")])
@pytest.mark.parametrize("format", ["tsv", "csv"])
def test_formulas_in_tables_are_guarded_by_default(format: str, guard: bool, cell: bytes) -> None:
    assert list(separated(format, ("a",), [("=1+1",), ("0.5",)], guard)) == [b"a\n", cell + b"\n", b"0.5\n"]


WIDTHS = {
    "": 0, "shop": 4, "商店": 4, "ｓｈｏｐ": 8, "ショップ": 8, "ｼｮｯﾌﾟ": 5, "가게": 4, "café": 4, "cafe\u0301": 4,
    "🛒": 2,
}  # fmt: skip


@pytest.mark.parametrize(("text", "columns"), list(WIDTHS.items()))
def test_the_width_of_a_text_is_the_columns_that_it_takes(text: str, columns: int) -> None:
    assert width(text) == columns
    assert width(padded(text, 12)) == 12
    assert padded(text, 12, right=True).endswith(text)


def test_wide_characters_leave_the_columns_below_each_other() -> None:
    rows = [("商店", "1"), ("shop", "20"), ("e\u0301", "3")]
    table = b"".join(aligned(("name", "n"), rows, right=("n",))).decode()
    assert table == "name   n\n商店   1\nshop  20\ne\u0301      3\n"


def test_a_very_long_cell_leaves_the_other_rows_where_they_are() -> None:
    long = "x" * (MAX_ALIGNED + 1)
    lines = [line.decode() for line in aligned(("url", "n"), [("short", "1"), (long, "2"), ("x" * 8, "3")])]
    assert lines == ["url       n\n", "short     1\n", f"{long}  2\n", "xxxxxxxx  3\n"]
    just = "x" * MAX_ALIGNED
    assert next(aligned(("url", "n"), [(just, "1")])).decode() == f"{'url'.ljust(MAX_ALIGNED)}  n\n"


def test_characters_without_width_keep_columns_aligned() -> None:
    table = b"".join(aligned(("a", "b"), [("商店", "x"), ("shop", "y")], screen=Screen(encoding="ascii")))
    assert table == b"a     b\n??    x\nshop  y\n"
