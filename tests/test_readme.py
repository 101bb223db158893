"""The README: first commands, links, length. test_docs_examples.py runs its examples."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from sitemap_reader.cli.main import main
from sitemap_reader.version import __version__

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")

# Both are copied from the README and run, each in a fresh clone.
COMMANDS = (
    "python3 -m venv .venv && .venv/bin/pip install . && "
    ".venv/bin/sitemap-reader dump corpus/sites/shop -o shop.jsonl\n",
    "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/pytest\n",
)


def test_readme_has_two_commands_for_a_clone() -> None:
    assert "".join(COMMANDS) in re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_commands_in_the_readme_exist() -> None:
    named = set(re.findall(r"\bsitemap-reader ([a-z]+)\b", README))
    assert {"dump", "tree", "stats", "diff"} <= named <= set(main.commands)


def test_readme_links_to_every_page() -> None:
    pages = {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}
    assert pages <= set(re.findall(r"\]\(([^)#]+)", README))


def test_readme_is_short() -> None:
    lines = README.splitlines()
    assert len(lines) < 90
    assert max(map(len, lines)) <= 120


def test_links_can_be_made_absolute_for_a_package_index() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "absolute_links"))
    text = script["absolute"](README)
    assert README.count("](") == len(re.findall(r"\]\(https?://", text))
    assert f"](https://github.com/sitemap-reader/sitemap-reader/raw/v{__version__}/docs/images/terminal.svg)" in text
    assert f"](https://github.com/sitemap-reader/sitemap-reader/blob/v{__version__}/docs/comparison.md)" in text


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_the_picture_of_a_terminal_shows_what_the_commands_print() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "write_terminal_image"))
    assert script["picture"]() == (ROOT / "docs" / "images" / "terminal.svg").read_text("utf-8")
