"""The cases of corpus/: a document, its expected items, and options.

`scripts/write_corpus_expectations` writes the expectations, and test_corpus.py compares them.
"""

import tomllib
import warnings
from collections.abc import Iterable
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import attrs

from sitemap_reader import FallbackFailed, Item, Limits, UrlRecord, iter_parse, json_line, parse
from sitemap_reader.pipeline import FallbackResult, read_links

CORPUS = Path(__file__).parent.parent / "corpus"
EVERYTHING = CORPUS / "extensions" / "every-tag-and-attribute.xml"
COMPANIONS = (".jsonl", ".toml")
# Folders of whole sites, not of documents.
SITES = ("sites", "audit", "market")


@cache
def feedparser_answer(body: bytes) -> FallbackResult | FallbackFailed:
    """The result of feedparser, or its error; run in this process, which is faster than starting one."""
    with warnings.catch_warnings(action="ignore"):
        try:
            return read_links(body)
        except Exception as error:  # its process would have ended with it
            return FallbackFailed(f"feedparser gave up: {error}")


def fallback(body: bytes, url: str | None, /, *, limits: Limits) -> FallbackResult:
    """feedparser_fallback() without its limits; results are cached."""
    answer = feedparser_answer(body)
    if isinstance(answer, FallbackFailed):
        raise FallbackFailed(*answer.args)  # a new exception each time: a raised one keeps its traceback
    return answer


@attrs.define(slots=False)
class Case:
    """One document of the corpus; `name` is its group and file name."""

    path: Path

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.name}"

    @property
    def expectation(self) -> Path:
        return self.path.with_name(self.path.name + ".jsonl")

    @cached_property
    def body(self) -> bytes:
        return self.path.read_bytes()

    @cached_property
    def stated(self) -> dict[str, Any]:
        """The contents of the .toml, if there is one."""
        beside = self.path.with_name(self.path.name + ".toml")
        return tomllib.loads(beside.read_text("utf-8")) if beside.exists() else {}

    @cached_property
    def options(self) -> dict[str, Any]:
        """The keyword arguments of iter_parse(): the defaults, and those of the .toml."""
        stated = {**self.stated, "limits": Limits(**self.stated.get("limits", {}))}
        return {"url": f"https://example.com/{self.path.name}", "feed_fallback": fallback, **stated}

    def items(self, chunks: Iterable[bytes] | None = None) -> list[Item]:
        return list(iter_parse([self.body] if chunks is None else chunks, **self.options))


def record_of_everything() -> UrlRecord:
    """A record with a value in every field of every extension."""
    (record,) = parse(EVERYTHING.read_bytes(), url="https://example.com/sitemap.xml").urls
    return record


def lines(items: Iterable[Item]) -> bytes:
    """The items as `sitemap-reader parse --report -` prints them."""
    return b"".join(json_line(item) for item in items)


def files() -> list[Path]:
    """Every file of the folders of documents; replayed sites are not included."""
    return sorted(path for path in CORPUS.glob("*/*") if path.is_file() and path.parent.name not in SITES)


def cases() -> list[Case]:
    return [Case(path) for path in files() if path.suffix not in COMPANIONS]


def cases_by_group() -> dict[str, list[Case]]:
    """The cases of each folder, by its name; properties of every case are tested one group at a time."""
    return {group: list(some) for group, some in groupby(cases(), key=lambda case: case.path.parent.name)}
