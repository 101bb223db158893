"""The table of exit codes in docs/cli.md: each case of each row is a command here."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from cli_runs import replay
from kit import files, index, robots, run, urlset

from sitemap_reader.cli import PRECEDENCE, Exit

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
A = "https://a.example"
ONE = f"{A}/1"
MAPS = {"robots.txt": robots(f"{A}/s.xml"), "s.xml": urlset(ONE)}
EMPTY = {**MAPS, "s.xml": urlset()}
MISSING = {"robots.txt": MAPS["robots.txt"]}
# Sites by name; robots.txt names s.xml unless a page replaces it.
SITES: dict[str, Mapping[str, str | bytes]] = {
    "whole": MAPS,
    "empty": EMPTY,
    "none": {"robots.txt": ""},
    "missing": MISSING,
    "child-missing": {**MAPS, "s.xml": index(f"{A}/1.xml", f"{A}/no.xml"), "1.xml": urlset(ONE)},
    "forbidden": {**MAPS, "robots.txt": f"Sitemap: {A}/s.xml\nSitemap: {A}/no.xml\nUser-agent: *\nDisallow: /no.xml\n"},
    "cut": {**MAPS, "s.xml": urlset(ONE, "https://a.example/2")[:-40]},
    "lost": {**MAPS, "s.xml": urlset(ONE, "https://a.example/<b>2</i>/x</b>")},
    "out-of-scope": {**MAPS, "s.xml": urlset("https://b.example/1")},
    "guessed": {"sitemap_index.xml": urlset(ONE)},
    "circle": {**MAPS, "s.xml": index(f"{A}/s.xml", f"{A}/1.xml"), "1.xml": urlset(ONE)},
    "html": {**MAPS, "s.xml": "<!doctype html><html><body><a href='/'>home</a></body></html>"},
}

OLD_DUMP, NEW_DUMP = (f'{{"loc":"https://a.example/{number}"}}\n' for number in (1, 2))

# Code -> case of the table -> a command; a word in braces is a folder of SITES, or a file made below.
COMMANDS: dict[Exit, dict[str, str]] = {
    Exit.COMPLETE: {
        "complete": "dump {whole}",
        "--limit": "dump {whole} {child-missing} --limit 1",
        "pruned": "dump {circle} --no-follow 1.xml",
        "failed guesses": "dump {guessed}",
        "out of scope": "dump {out-of-scope}",
        "outside the dates": "dump {whole} --since 1d --undated drop",
        "outside the patterns": "dump {whole} --include /nothing/",
        "circle": "dump {circle}",
        "one document": "parse {file}",
        "no difference": "diff {old} {old} --exit-code",
        "differences": "diff {old} {new}",
        "tree": "tree {whole}",
        "discover": "discover {whole}",
        "stats": "stats {whole}",
        "convert": "convert {old} --format txt",
        "schema": "schema json",
    },
    Exit.THRESHOLD: {"differences": "diff {old} {new} --exit-code"},
    Exit.USAGE: {
        "option": "dump {whole} --frob", "target": "dump wort", "no dump": "stats {file}",
        "no reader for it": "dump {nowhere}/",
    },
    Exit.PARTIAL: {
        "missing": "dump {child-missing}",
        "forbidden": "dump {forbidden}",
        "cut": "dump {cut}",
        "lost entries": "dump {lost}",
        "tree": "tree {child-missing}",
        "stats": "stats {child-missing}",
        "discover": "discover {forbidden}",
        "one document": "parse {cut}/https/a.example/s.xml",
    },
    Exit.NOTHING: {
        "no sitemap": "dump {none}",
        "empty": "dump {empty}",
        "one document": "parse {empty}/https/a.example/s.xml",
        "discover": "discover {none}",
        "stats": "stats {none}",
        "no lines": "convert {nothing} --format csv",
    },
    Exit.UNREADABLE: {
        "missing": "dump {missing}",
        "no sitemap": "dump {html}",
        "refused": "dump 127.0.0.1:9",
        "one document": "parse {html}/https/a.example/s.xml",
    },
    Exit.UNWRITABLE: {
        "output": "dump {whole} -o {nowhere}/out.jsonl",
        "report": "dump {whole} --report {nowhere}/out.jsonl",
        "recording": "dump {whole} --record /dev/null/x",
        "convert": "convert {old} -o {nowhere}/out.csv",
        "diff": "diff {old} {new} -o {nowhere}/out.jsonl",
    },
}
# With several causes the first of the precedence wins.
TOGETHER = {
    "dump {whole} {child-missing}": Exit.PARTIAL,
    "dump {child-missing} {none}": Exit.NOTHING,
    "dump {none} {missing} {cut}": Exit.UNREADABLE,
    "dump {missing} {none} wort": Exit.USAGE,
}


@pytest.fixture
def command(tmp_path: Path) -> Callable[[str], list[str]]:
    """A command line -> its arguments; creates the sites and files that it names."""

    def arguments(typed: str) -> list[str]:
        places = {name: tmp_path / name for name in (*SITES, "file", "old", "new", "nothing", "nowhere")}
        for name, pages in SITES.items():
            if f"{{{name}}}" in typed:
                replay(places[name], pages)
        files(tmp_path, {"file": urlset(ONE), "old": OLD_DUMP, "new": NEW_DUMP, "nothing": b""})
        return [word.format(**places) for word in typed.split()]

    return arguments


@pytest.mark.parametrize(("code", "typed"), [
    *((code, typed) for code, named in COMMANDS.items() for typed in named.values()),
    *((code, typed) for typed, code in TOGETHER.items()),
], ids=lambda value: value if isinstance(value, str) else value.name)
def test_exit_code_of_each_command_in_the_table(code: Exit, typed: str, command: Callable[[str], list[str]]) -> None:
    result = run(*command(typed))
    assert result.exit_code == code, result.stderr
    if code not in (Exit.COMPLETE, Exit.THRESHOLD):
        assert result.stderr, "it says why"
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    is_error = code in (Exit.USAGE, Exit.NOTHING, Exit.UNREADABLE, Exit.UNWRITABLE)
    assert len(errors) == is_error or typed in TOGETHER or "127.0.0.1" in typed, "a problem of a host is an error too"


def test_the_table_in_the_docs_has_each_code_and_the_order_in_which_they_win() -> None:
    rows = [int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)]
    assert rows == sorted(Exit)
    assert set(COMMANDS) | {Exit.INTERNAL, Exit.INTERRUPTED} == set(Exit)  # 7: tests/test_internal_errors.py
    assert ", ".join(str(int(code)) for code in PRECEDENCE) in PAGE
