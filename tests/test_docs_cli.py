"""docs/cli.md: its tables are what the help says, its codes all that there are, and its completion scripts work."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import attrs
import pytest
from docs_runs import ROOT, Desk, blocks
from docs_site import SITES, DocsSite

from sitemap_reader.cli import main
from sitemap_reader.cli.exits import PRECEDENCE, Exit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = "docs/cli.md"
TEXT = (ROOT / PAGE).read_text("utf-8")


def test_the_page_is_what_the_script_would_write() -> None:
    checked = subprocess.run([sys.executable, ROOT / "scripts" / "write_cli_docs", "--check"], check=False)
    assert checked.returncode == 0, "run scripts/write_cli_docs"


def test_every_command_has_its_part() -> None:
    assert re.findall(r"^<!-- help: (\w+) -->$", TEXT, re.MULTILINE) == ["commands", *main.commands]
    assert re.findall(r"^## (\w+)$", TEXT, re.MULTILINE)[1:-1] == list(main.commands)


def test_every_exit_code_stands_in_the_table() -> None:
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", TEXT, re.MULTILINE)
    assert [(int(code), bool(meaning)) for code, meaning in rows] == [(code.value, True) for code in Exit]
    assert f"the most severe exit code wins: {', '.join(str(code.value) for code in PRECEDENCE)}." in TEXT


# --- completion -------------------------------------------------------------------------------------------------


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with DocsSite(tmp_path) as site:
        yield Desk(tmp_path, site)


SHELLS = {"bash": "complete ", "zsh": "compdef ", "fish": "complete "}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_line_for_a_shell_gives_a_completion_script(desk: Desk, shell: str) -> None:
    (line,) = (block.text for block in blocks(PAGE) if f"{shell}_source" in block.text)
    (command,) = re.findall(r"_SITEMAP_READER_COMPLETE=\w+ sitemap-reader", line)
    ran = desk.do("sh", "-c", command)
    assert (ran.code, ran.stderr) == (0, "")
    assert SHELLS[shell] in ran.stdout


# What is typed -> what is offered.
TYPED = {
    "sitemap-reader di": ["diff", "discover"],
    "sitemap-reader dump --sc": ["--scope"],
    "sitemap-reader dump --scope d": ["domain"],
    "sitemap-reader schema p": ["polars"],
}


@pytest.mark.parametrize("typed", TYPED)
def test_bash_completes_after_the_line_of_the_page(desk: Desk, typed: str) -> None:
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    (line,) = (block.text for block in blocks(PAGE) if "bash_source" in block.text)
    words = typed.split(" ")
    asked = f"COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _sitemap_reader_completion sitemap-reader"
    ran = desk.do("bash", "-c", f"{line}\n{asked}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"")
    assert (ran.code, sorted(ran.stdout.split()), ran.stderr) == (0, TYPED[typed], "")


# --- the examples of the help -----------------------------------------------------------------------------------

SCRIPTS = [block for block in blocks(PAGE) if block.language == "sh" and "_COMPLETE" not in block.text]
EXAMPLES = [line for block in SCRIPTS for line in block.text.splitlines()]
_WRITES = re.compile(r"(?:> |-o )(?P<file>[\w.]+)(?: --.*)?$")


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A desk with the files that the examples read."""
    folder = tmp_path_factory.mktemp("docs")
    with DocsSite(folder) as site:
        desk = Desk(folder, site)
        for name in ("urls", "old", "monday"):
            shutil.copy(SITES / "shop.jsonl", desk.folder / f"{name}.jsonl")
        for name in ("new", "tuesday"):
            lines = (SITES / "shop.jsonl").read_text("utf-8").splitlines(keepends=True)
            (desk.folder / f"{name}.jsonl").write_text("".join(lines[1:]).replace("/about/7", "/about/jobs"))
        assert desk.do("sitemap-reader", "sync", "example.com", "--state", "sites.db").code == 0
        site.next_day()
        (desk.folder / "hosts.txt").write_text("example.com\n")
        crawled = "Address,Status Code,Indexability\nhttps://example.com/about/1,200,Indexable\n"
        (desk.folder / "internal_all.csv").write_text(crawled)
        (desk.folder / "sitemap.xml.gz").write_bytes(gzip.compress(site.pages["example.com", "/sitemap.xml"]))
        yield desk


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_of_the_help_gives_what_it_is_for(kitchen: Desk, line: str) -> None:
    block = next(block for block in SCRIPTS if line in block.text)
    if attrs.evolve(block, text=line).missing or shutil.which("bash") is None:
        pytest.skip("a program is not installed")
    ran = kitchen.do("bash", "-eo", "pipefail", "-c", line)
    assert ran.code == 0, ran.stderr
    assert "error:" not in ran.stderr
    written = _WRITES.search(line)
    assert (kitchen.folder / written["file"]).stat().st_size if written else ran.stdout
