"""Docs, help and messages use the words of the field: a list of private words, with what to write instead."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click
import pytest
from test_layout import MODULES, PAGES, ROOT, failing, messages_of

from sitemap_reader.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

# What not to write -> what to write.
PRIVATE_WORDS = {
    r"whoever|whomever|nobody|somebody|anybody": "name the caller, the process or the user",
    r"(?:may|might|can|could|to) speak for|speaks for": "may list (scope)",
    r"mend|mends|mended|mending": "repair, fix",
    r"set straight|sets straight|setting straight": "repair",
    r"(?:is|are|was|were|be|being) told|tells of|told of|what there is to tell|telling": "reported",
    r"given up|gives? (?:it|them|a host) up": "skipped, cut short",
    r"gives? out|given out|hands? out|handed out": "return, yield",
    r"peek|peeks|aloud|patience": "sniff, reported, timeout",
    r"honest|honesty": "accurate",
    r"in silence": "silently",
    r"strangers?": "untrusted",
    r"manners": "politeness",
    r"infos": "notices",
    r"the house|rooms?": "package, module",
    r"him|his": "they, it, the caller",
    r"goes by it|go by it": "is computed from",
}
_RX = {re.compile(rf"\b(?:{words})\b", re.IGNORECASE): instead for words, instead in PRIVATE_WORDS.items()}
# Code, JSON, tables of options and output of commands are not prose.
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
TEXTS = [*PAGES, *(ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"))]


def private_words(text: str) -> set[str]:
    return {f"{match[0]}: write {instead}" for rx, instead in _RX.items() for match in rx.finditer(text)}


def test_docs_use_no_private_words() -> None:
    assert failing(lambda path: private_words(_CODE.sub("`x`", path.read_text("utf-8"))), TEXTS) == {}


def test_messages_use_no_private_words() -> None:
    def found(path: Path) -> set[str]:
        return {word for text in messages_of(path) for word in private_words(text)}

    assert failing(found, MODULES) == {}


@pytest.mark.parametrize("name", ["", *main.commands])
def test_help_uses_no_private_words(name: str) -> None:
    command = main.commands[name] if name else main
    with click.Context(command, info_name="sitemap-reader") as context:
        assert private_words(command.get_help(context)) == set()
