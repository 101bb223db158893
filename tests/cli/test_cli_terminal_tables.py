"""Tables on a wide or narrow terminal, and in a pipe from it."""

from __future__ import annotations

import sys

import pytest
from cli_runs import BROKEN, PROGRAM, SHOP
from golden_tables import GOLDEN

if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals", allow_module_level=True)

from terminals import on_terminal

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}


def lines(*arguments: str, columns: int, environment: dict[str, str] | None = None) -> list[str]:
    """The output before the terminal wraps long lines."""
    command = [*PROGRAM, *arguments, "-q"]
    with on_terminal(command, columns=columns, environment={"COLUMNS": "", **(environment or {})}) as terminal:
        assert terminal.end() == 0
        return terminal.written.replace("\r\n", "\n").splitlines()


@pytest.mark.parametrize("command", ["tree", "discover"])
@pytest.mark.parametrize("columns", [200, 40])
def test_a_terminal_gets_the_whole_table_however_narrow(command: str, columns: int) -> None:
    golden = (GOLDEN / f"{command}-shop.txt").read_text("utf-8")
    assert lines(command, SHOP, columns=columns) == golden.splitlines()


@pytest.mark.parametrize("command", ["tree", "discover"])
def test_a_pipe_from_a_terminal_gets_tsv(command: str) -> None:
    with on_terminal([*PROGRAM, command, SHOP, "-q"], pipes_stdout=True) as terminal:
        assert terminal.end() == 0
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


def test_severities_have_colours_on_a_terminal() -> None:
    with on_terminal([*PROGRAM, "audit", BROKEN], environment=COLORS) as terminal:
        assert terminal.end() == 1
        assert "\x1b[31merror  \x1b[0m  F01" in terminal.written
        assert "\x1b[33mS01 warning: " in terminal.written
        assert "\x1b[31mpartial:\x1b[0m 3 documents" in terminal.written


@pytest.mark.parametrize("environment", [{**COLORS, "NO_COLOR": "1"}, {**COLORS, "TERM": "dumb"}])
def test_colours_can_be_switched_off(environment: dict[str, str]) -> None:
    with on_terminal([*PROGRAM, "audit", BROKEN], environment=environment) as terminal:
        assert terminal.end() == 1
        assert "\x1b[3" not in terminal.written


def test_a_pipe_from_a_terminal_has_no_colours() -> None:
    with on_terminal([*PROGRAM, "audit", BROKEN], pipes_stdout=True, environment=COLORS) as terminal:
        assert terminal.end() == 1
        assert b"\x1b" not in terminal.output
        assert "\x1b[31mpartial:\x1b[0m" in terminal.written


def test_an_audit_fits_80_columns() -> None:
    with on_terminal([*PROGRAM, "audit", BROKEN, "-q"], columns=80) as terminal:
        assert terminal.end() == 1
        _, *lines = terminal.written.splitlines()  # the first one has the target
        assert max(map(len, lines)) <= 80
