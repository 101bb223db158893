"""The filters of `audit` as options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli_runs import BROKEN, SHOP, run

if TYPE_CHECKING:
    from pathlib import Path


def test_filters_are_options_and_stand_in_a_note() -> None:
    result = run("audit", BROKEN, "--include", "/list/", "--exclude", "/list/1", "-q")
    text = " ".join(result.stdout.split())
    assert " in 19 URLs 19 URLs; 9 documents; " in text
    assert " note: filtered by include /list/; exclude /list/1: only what matches was checked" in text
    assert run("audit", SHOP, "--follow", "no such sitemap", "-q").exit_code == 4


def test_dump_takes_include_and_refuses_follow(tmp_path: Path) -> None:
    file = tmp_path / "dump.jsonl"
    run("dump", BROKEN, "-q", "-o", file)
    result = run("audit", file, "--include", "/list/", "-q")
    assert " in 30 URLs" in " ".join(result.stdout.split())
    result = run("audit", file, "--no-follow", "x")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--no-follow applies to sites only" in result.stderr
    assert "give --include or --exclude, for its URLs" in result.stderr


def test_no_match_says_so() -> None:
    result = run("audit", SHOP, "--include", "no such page", "-q")
    assert result.exit_code == 4
    assert result.stderr == f"error: no URL matches the filters in {SHOP}\n"


def test_invalid_regex_names_its_option() -> None:
    result = run("audit", SHOP, "--include", "*.xml")
    assert result.exit_code == 2
    assert "--include" in result.stderr
