"""The table of docs/questions.md: its calls, and what they say; as a program it writes the third columns anew."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

import sitemap_reader as sr
from sitemap_reader.client.summary import count_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "questions.md"
_ROW = re.compile(r"^\| (?P<question>[^|]+\?) \| `(?P<call>[^`]+)` \| ?(?P<answer>.*?) ?\|$", re.MULTILINE)


def rows() -> dict[str, tuple[str, str]]:
    """question -> its call, and what the page says that it says."""
    found = _ROW.finditer(PAGE.read_text("utf-8"))
    return {each["question"]: (each["call"], each["answer"].replace(r"\|", "|")) for each in found}


def variables() -> dict[str, Any]:
    """Those of the first block of the page; the folders are those of the repository."""
    block = re.search(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert block
    names: dict[str, Any] = {}
    exec(block[1], names)  # noqa: S102 - our own page
    return names


def text_of(value: Any) -> str:
    if isinstance(value, sr.Measure):
        return value.finding
    if isinstance(value, pd.DataFrame):
        return f"{count_of(len(value), 'row')}: {', '.join(value.columns)}"
    if isinstance(value, tuple):
        return ", ".join(value)
    return "a file" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def answer(call: str, names: dict[str, Any]) -> str:
    return text_of(eval(call.replace('"market.html"', "FILE"), names))  # noqa: S307 - our own page


def main() -> None:
    os.chdir(ROOT)
    names = variables()
    with tempfile.TemporaryDirectory() as folder:
        names["FILE"] = f"{folder}/market.html"

        def write(row: re.Match[str]) -> str:
            words = answer(row["call"], names).replace("|", r"\|")
            return f"| {row['question']} | `{row['call']}` | {words} |"

        PAGE.write_text(_ROW.sub(write, PAGE.read_text("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
