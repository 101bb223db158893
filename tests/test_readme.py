"""What the README shows runs as it stands there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sitemap_reader as sr

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("code", blocks("python"))
def test_python_examples_run(code):
    result = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in result.stderr
    assert "Warning" not in result.stderr
    assert "https://shop.example/" in result.stdout
    assert "from 10 sitemaps" in result.stdout


def test_shell_examples_name_commands_that_exist():
    commands = set(re.findall(r"^sitemap-reader (\w+)", "\n".join(blocks("sh")), re.MULTILINE))
    listed = subprocess.run(
        [sys.executable, "-m", "sitemap_reader", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert commands == {"dump", "tree", "discover", "parse", "schema"}
    assert all(f"  {command} " in listed for command in commands)


def test_the_line_of_json_has_the_form_of_a_record():
    (line,) = blocks("json")
    record = sr.UrlRecord("https://example.com/")
    assert list(json.loads(line)) == list(sr.json_form(record))


def test_it_stays_short_enough_to_be_read():
    assert len(README.splitlines()) <= 80
