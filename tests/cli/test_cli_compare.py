"""`compare`: sites, files and archives on one page; errors that name what is wrong; nothing read is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runs import run

import sitemap_reader as sr
from sitemap_reader.cli.exits import Exit

pytest.importorskip("altair")

MARKET = Path(__file__).parents[2] / "corpus" / "market"


def lines(path: Path, host: str, count: int) -> Path:
    path.write_bytes(b"".join(sr.json_line(sr.UrlRecord(f"https://{host}/{each}")) for each in range(count)))
    return path


def test_sites_and_files_are_compared(tmp_path: Path) -> None:
    page = tmp_path / "market.html"
    rival = lines(tmp_path / "rival.jsonl", "rival.example", 3)
    result = run("compare", f"{MARKET / 'tealeaf'}/", rival, "-o", page)
    assert (result.exit_code, result.stdout) == (Exit.COMPLETE, "")
    assert result.stderr.startswith("106 pages of 2 sites; ")
    html = page.read_text("utf-8")
    assert "What others have and tealeaf.example has not" in html
    assert "3 of 3 pages (100%) with a path that no page of tealeaf.example has" in html


def test_states_in_time_have_their_growth(tmp_path: Path) -> None:
    for day in (1, 2):
        lines(tmp_path / f"2026-05-0{day}.jsonl", "a.example", day)
    result = run("compare", tmp_path / "*.jsonl", "--at", "name", "-o", tmp_path / "growth.html")
    assert result.exit_code == Exit.COMPLETE
    assert "from 1 to 2 pages (+1, +100%) in 1 day" in (tmp_path / "growth.html").read_text("utf-8")


def test_a_part_that_cannot_be_read_is_a_note_and_exit_3(tmp_path: Path) -> None:
    page = tmp_path / "m.html"
    known = lines(tmp_path / "a.jsonl", "a.example", 2)
    result = run("compare", known, "127.0.0.1:1", "--allow-private", "--retries", "0", "-o", page)
    assert result.exit_code == Exit.PARTIAL
    assert "connection refused by 127.0.0.1:1" in result.stderr
    assert result.stderr.splitlines()[-1] == "partial: some sitemaps could not be read (exit 3)"
    assert "connection refused" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["127.0.0.1:1", "--allow-private", "--retries", "0"], Exit.UNREADABLE, "connection refused by 127.0.0.1:1"),
        (["missing.jsonl"], Exit.USAGE, "there is no file or folder missing.jsonl"),
        (["example.com", "--at", "2026-01-01"], Exit.USAGE, "at is for files, and example.com is a site"),
    ],
)
def test_nothing_read_is_an_error_and_no_page(arguments: list[str], code: Exit, words: str, tmp_path: Path) -> None:
    page = tmp_path / "m.html"
    result = run("compare", *arguments, "-o", page)
    assert (result.exit_code, page.exists()) == (code, False)
    assert words in result.stderr
    assert "Traceback" not in result.stderr
