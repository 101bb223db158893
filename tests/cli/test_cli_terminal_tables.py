"""Tables on a wide or narrow terminal, and in a pipe from it."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_runs import BROKEN, PROGRAM, SHOP
from golden_tables import GOLDEN
from kit import dump

if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals", allow_module_level=True)


from terminals import Terminal, on_terminal

pytestmark = pytest.mark.slow

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}


def ended(*arguments: str, code: int | None = 0, environment: dict[str, str] | None = None, **options: Any) -> Terminal:
    """A command that has ended on a terminal."""
    environment = {"COLUMNS": "", **(environment or {})}
    with on_terminal([*PROGRAM, *arguments], environment=environment, **options) as terminal:
        assert terminal.end() == code or code is None
    return terminal


def lines(*arguments: str, **options: Any) -> list[str]:
    """The output before the terminal wraps long lines."""
    return ended(*arguments, "-q", **options).written.replace("\r\n", "\n").splitlines()


@pytest.mark.parametrize("command", ["tree", "discover"])
def test_a_wide_terminal_gets_the_whole_table(command: str) -> None:
    golden = (GOLDEN / f"{command}-shop.txt").read_text("utf-8")
    assert lines(command, SHOP, columns=200) == golden.splitlines()


@pytest.mark.parametrize(("site", "columns"), [(SHOP, 100), (SHOP, 80), (SHOP, 72), (BROKEN, 100)])
def test_a_table_is_as_wide_as_the_terminal(site: str, columns: int) -> None:
    assert max(map(len, lines("tree", site, columns=columns, code=None))) <= columns


def test_a_narrow_terminal_keeps_the_end_of_each_url_and_leaves_out_what_is_always_the_same() -> None:
    header, first, second, *_ = lines("tree", SHOP, columns=80)
    assert header.split() == ["sitemap", "format", "entries", "lastmod", "newest"]
    assert first.split()[0] == "…ps://shop.example/robots.txt"
    assert second.startswith("├── …")
    assert second.split()[1].endswith("/sitemap_index.xml")


def test_a_very_narrow_terminal_wraps_lines() -> None:
    table = lines("tree", SHOP, columns=30)
    assert len(table) == 12
    assert max(map(len, table)) > 30


def test_a_file_has_the_whole_table(tmp_path: Path) -> None:
    assert lines("tree", SHOP, "-o", str(tmp_path / "tree.txt"), columns=40, environment={"FORCE_COLOR": "1"}) == []
    assert (tmp_path / "tree.txt").read_bytes() == (GOLDEN / "tree-shop.txt").read_bytes()


@pytest.mark.smoke("tree")
@pytest.mark.parametrize("command", ["tree", "discover"])
def test_a_pipe_from_a_terminal_gets_tsv(command: str) -> None:
    terminal = ended(command, SHOP, "-q", pipes_stdout=True)
    assert terminal.output == (GOLDEN / f"{command}-shop.tsv").read_bytes()
    assert terminal.written == ""


def test_ascii_terminal_gets_an_ascii_tree() -> None:
    table = lines("tree", SHOP, columns=200, environment=ASCII)
    golden = (GOLDEN / "tree-shop.txt").read_text("utf-8")
    assert table == golden.translate(str.maketrans("└├│─", "`||-")).splitlines()


def test_stats_are_side_by_side_on_a_wide_terminal() -> None:
    wide, narrow = (lines("stats", f"{SHOP}.jsonl", columns=columns) for columns in (100, 60))
    assert max(map(len, wide)) <= 100
    assert max(map(len, narrow)) <= 60
    assert len(wide) <= 45 < len(narrow)
    assert sorted(" ".join(wide).split()) == sorted(" ".join(narrow).split())


def test_stats_end_with_shares_below_each_other() -> None:
    shares = [line for line in lines("stats", f"{SHOP}.jsonl", columns=60) if line.endswith("%")]
    assert len({len(line) for line in shares}) == 1


COLORS = {"NO_COLOR": "", "TERM": "xterm"}
FORCED = {**COLORS, "FORCE_COLOR": "1"}


def test_severities_have_colours_on_a_terminal() -> None:
    terminal = ended("audit", BROKEN, code=1, environment=COLORS)
    assert "\x1b[38;5;160merror  \x1b[0m  F01" in terminal.written
    assert "\x1b[38;5;166mU04 warning: " in terminal.written
    assert "\x1b[38;5;160mpartial:\x1b[0m 3 documents" in terminal.written


def test_headings_and_failures_of_a_table_have_styles() -> None:
    header, *rows = lines("tree", BROKEN, code=3, columns=300, environment=COLORS)
    assert header.startswith("\x1b[1msitemap")
    assert any(re.search(r"\x1b\[38;5;160m +404", row) for row in rows)
    assert any("\x1b[38;5;160mno" in row for row in rows)


def test_changes_have_a_sign_and_a_colour(tmp_path: Path) -> None:
    files = [dump(tmp_path / f"{number}.jsonl", {"loc": f"https://a.example/{number}"}) for number in (1, 2)]
    assert sorted(lines("diff", *map(str, files), environment=COLORS)) == [
        "\x1b[38;5;160m- https://a.example/1\x1b[0m",
        "\x1b[38;5;28m+ https://a.example/2\x1b[0m",
    ]


@pytest.mark.parametrize("format", ["tsv", "csv", "jsonl"])
def test_data_is_never_coloured(format: str) -> None:
    assert "\x1b" not in ended("tree", SHOP, "--format", format, "-q", environment=FORCED).written


def test_colours_can_be_forced_into_a_pipe() -> None:
    terminal = ended("audit", BROKEN, "-q", code=1, pipes_stdout=True, environment=FORCED)
    assert b"\x1b[38;5;160merror" in terminal.output


def test_help_has_bold_headings_on_a_terminal() -> None:
    for environment, heading in ((COLORS, "\x1b[1mUsage:\x1b[0m"), ({**COLORS, "NO_COLOR": "1"}, "Usage:")):
        assert ended("tree", "--help", environment=environment).written.startswith(f"{heading} sitemap-reader tree ")


@pytest.mark.parametrize("environment", [{**COLORS, "NO_COLOR": "1"}, {**COLORS, "TERM": "dumb"}])
def test_colours_can_be_switched_off(environment: dict[str, str]) -> None:
    assert "\x1b[3" not in ended("audit", BROKEN, code=1, environment=environment).written


def test_a_pipe_from_a_terminal_has_no_colours() -> None:
    terminal = ended("audit", BROKEN, code=1, pipes_stdout=True, environment=COLORS)
    assert b"\x1b" not in terminal.output
    assert "\x1b[38;5;160mpartial:\x1b[0m" in terminal.written


@pytest.mark.parametrize(("columns", "most"), [(80, 80), (200, 80), (60, 60)])
def test_an_audit_fits_80_columns_or_a_narrower_terminal(columns: int, most: int) -> None:
    _, *rest = lines("audit", BROKEN, code=1, columns=columns)  # the first line has the target
    sentences = [line for line in rest if "://" not in line and not line.startswith(("error", "warning", "notice"))]
    assert max(map(len, sentences)) <= most
