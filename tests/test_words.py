"""Docs, help, messages, docstrings, comments and names use the words of the field.

PRIVATE_WORDS lists words that are used nowhere, with what to write instead; PRIVATE_IN_CODE those that are plain
English in the docs, but hide the mechanism in docstrings, comments and names.
"""

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from test_layout import MODULES, PAGES, ROOT, failing, messages_of, nodes_of

from sitemap_reader.analysis import ENGLISH_WORDS
from sitemap_reader.cli.main import main

# What not to write -> what to write.
PRIVATE_WORDS = {
    r"whoever|whomever|nobody|somebody|anybody": "name the caller, the process or the user",
    r"(?:may|might|can|could|to) speak for|speaks for|spoke for": "may list (scope)",
    r"mend|mends|mended|mending|mender|straightener": "repair, fix",
    r"set straight|sets straight|setting straight": "repair",
    r"(?:is|are|was|were|be|being) told|tells of|told of|what there is to tell|telling": "reported",
    r"given up|gives? (?:it|them|a host) up": "skipped, cut short",
    r"gives? out|given out|hands? out|handed out|hands? down|handed down|handing down": "return, yield, propagate",
    r"peek|peeks|peeking|aloud|patience": "sniff, reported, timeout",
    r"honest": "accurate",
    r"in silence": "silently",
    r"strangers?": "untrusted",
    r"manners": "politeness",
    r"infos": "notices",
    r"the house|rooms?": "package, module",
    r"him|his|whom": "they, it, the caller",
    r"goes by it|go by it": "is computed from",
    r"bless|blesses|blessed|blessing": "write the expectation",
}
PRIVATE_IN_CODE = {
    r"told|tells": "reported; distinguish",
    r"said|unsaid": "stated, reported",
    r"asked": "requested, called",
    r"hears?|heard|hearing": "receive, callback",
    r"survey|honesty|desk|sieve|aside": "overview, LastmodTrust, folder, DocumentParser, beside",
    r"he": "it, the caller",
    r"for ever": "forever, endless",
}
# Code, JSON, tables of options and output of commands are not prose.
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
TEXTS = [*PAGES, *(ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"))]
SOURCES = [
    *MODULES,
    *sorted((ROOT / "tests").rglob("*.py")),
    *sorted((ROOT / "benchmarks").glob("*.py")),
    *sorted(path for path in (ROOT / "scripts").iterdir() if path.is_file() and b"python" in path.read_bytes()[:30]),
]


def compiled(words: dict[str, str]) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(rf"\b(?:{each})\b", re.IGNORECASE), instead) for each, instead in words.items()]


_ANYWHERE = compiled(PRIVATE_WORDS)
_IN_CODE = compiled(PRIVATE_WORDS | PRIVATE_IN_CODE)


def private_words(text: str, patterns: list[tuple[re.Pattern[str], str]] = _ANYWHERE) -> set[str]:
    return {f"{match[0]}: write {instead}" for rx, instead in patterns for match in rx.finditer(text)}


def words_of_source(path: Path) -> Iterator[str]:
    """Docstrings, comments, and the names of the module, its functions and classes, as separate words."""
    names = [path.stem]
    for node in nodes_of(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            yield ast.get_docstring(node) or ""
    with path.open("rb") as file:
        yield "\n".join(token.string for token in tokenize.tokenize(file.readline) if token.type == tokenize.COMMENT)
    yield re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", "\n".join(names))


def test_docs_use_no_private_words() -> None:
    assert failing(lambda path: private_words(_CODE.sub("`x`", path.read_text("utf-8"))), TEXTS) == {}


@pytest.mark.slow
def test_messages_use_no_private_words() -> None:
    def found(path: Path) -> set[str]:
        messages = (text for text in messages_of(path) if text != ENGLISH_WORDS)
        return {word for text in messages for word in private_words(text)}

    assert failing(found, MODULES) == {}


@pytest.mark.slow
def test_docstrings_comments_and_names_use_no_private_words() -> None:
    def found(path: Path) -> set[str]:
        return private_words(_CODE.sub("`x`", "\n".join(words_of_source(path))), _IN_CODE)

    assert failing(found, SOURCES) == {}


@pytest.mark.parametrize("name", ["", *main.commands])
def test_help_uses_no_private_words(name: str) -> None:
    command = main.commands[name] if name else main
    with click.Context(command, info_name="sitemap-reader") as context:
        assert private_words(command.get_help(context)) == set()
