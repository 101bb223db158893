"""docs/cli.md: its tables are those of the help, and its exit codes are complete.

Its examples and completion scripts are run by test_docs_cli_examples.py.
"""

import re
import subprocess
import sys

import pytest
from docs_runs import ROOT

from sitemap_reader.cli import PRECEDENCE, Exit
from sitemap_reader.cli.main import main

TEXT = (ROOT / "docs" / "cli.md").read_text("utf-8")


@pytest.mark.slow
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
