"""help() of each function that reads a site lists its keywords, with type, default and meaning."""

from __future__ import annotations

import inspect
import pydoc
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import sitemap_reader as sr
from sitemap_reader.analysis.sources import SnapshotOptions
from sitemap_reader.client.keywords import CHANGES_KEYWORDS, KEYWORDS, ReaderOptions
from sitemap_reader.client.sync_api import ChangesOptions

if TYPE_CHECKING:
    from collections.abc import Callable

# Function -> the TypedDict of its **options.
FUNCTIONS: list[tuple[Callable[..., Any], type | None]] = [
    (sr.urls, ReaderOptions),
    (sr.changes, ChangesOptions),
    (sr.discover, ReaderOptions),
    (sr.snapshot, SnapshotOptions),
    (sr.audit, ReaderOptions),
    (sr.SitemapReader, None),
    (sr.SitemapReader.urls, None),
    (sr.SitemapReader.changes, None),
    (sr.SitemapReader.discover, None),
]


def keywords_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(function).parameters
    return {name: each for name, each in parameters.items() if each.kind is inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize(("function", "options"), FUNCTIONS, ids=[each.__qualname__ for each, _ in FUNCTIONS])
def test_help_lists_each_keyword(function: Callable[..., Any], options: type | None) -> None:
    text = re.sub(r"(?m)^ *\| ?", "", pydoc.plain(pydoc.render_doc(function)))
    names = {*keywords_of(function), *(options.__annotations__ if options else ())}
    assert [name for name in sorted(names) if not re.search(rf"(?m)^ +{name}: \S.*\n +\S", text)] == []


def test_defaults_in_the_tables_are_those_of_the_functions() -> None:
    for function, table in [
        (sr.SitemapReader, KEYWORDS),
        (sr.SitemapReader.urls, KEYWORDS),
        (sr.urls, KEYWORDS),
        (sr.SitemapReader.changes, CHANGES_KEYWORDS),
    ]:
        for name, parameter in keywords_of(function).items():
            default, _ = table[name]
            if name == "user_agent":
                assert (default, parameter.default) == ('"sitemap-reader/VERSION"', f"sitemap-reader/{sr.__version__}")
            elif name == "feed_fallback":
                assert default == parameter.default.__name__
            elif name not in ("state", "clock"):
                assert eval(default, {"Limits": sr.Limits}) == parameter.default, name  # noqa: S307


def test_options_of_the_reader_are_its_keywords() -> None:
    assert {*ReaderOptions.__annotations__} == {*keywords_of(sr.SitemapReader)}


def test_without_docstrings_the_functions_work() -> None:
    program = "import sitemap_reader as sr; assert sr.urls.__doc__ is None; sr.SitemapReader().urls('example.com')"
    subprocess.run([sys.executable, "-OO", "-c", program], check=True, timeout=60)
