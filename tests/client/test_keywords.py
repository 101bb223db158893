"""help() of each function that reads a site lists its keywords, with type, default and meaning."""

from __future__ import annotations

import inspect
import pydoc
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import attrs
import pytest

import sitemap_reader as sr
from sitemap_reader.client.keywords import (
    CHANGES_KEYWORDS,
    KEYWORDS,
    ChangesOptions,
    QueryOptions,
    ReaderOptions,
    SiteOptions,
    SyncOptions,
    UrlsOptions,
)
from sitemap_reader.client.query import UrlQuery
from sitemap_reader.state.sync import SyncPlan

if TYPE_CHECKING:
    from collections.abc import Callable

# Function -> the TypedDict of its **options.
FUNCTIONS: list[tuple[Callable[..., Any], type | None]] = [
    (sr.urls, UrlsOptions),
    (sr.changes, ChangesOptions),
    (sr.discover, ReaderOptions),
    (sr.snapshot, SiteOptions),
    (sr.audit, ReaderOptions),
    (sr.SitemapReader, None),
    (sr.SitemapReader.urls, QueryOptions),
    (sr.SitemapReader.changes, SyncOptions),
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
    reading = {name: parameter.default for name, parameter in keywords_of(sr.SitemapReader).items()}
    query, plan = ({each.name: each.default for each in attrs.fields(kind)} for kind in (UrlQuery, SyncPlan))
    changes = {name: {**query, **plan, "on_document": None}[name] for name in SyncOptions.__annotations__}
    urls = {name: query[name] for name in QueryOptions.__annotations__} | {"on_wait": None}
    for table, defaults in [(KEYWORDS, {**reading, **urls}), (CHANGES_KEYWORDS, {**reading, **changes})]:
        for name, used in defaults.items():
            default, _ = table[name]
            if name == "user_agent":
                assert (default, used) == ('"sitemap-reader/VERSION"', f"sitemap-reader/{sr.__version__}")
            elif name == "feed_fallback":
                assert default == used.__name__
            elif name != "clock":
                assert eval(default, {"Limits": sr.Limits}) == used, name  # noqa: S307


def test_options_of_the_reader_are_its_keywords() -> None:
    assert {*ReaderOptions.__annotations__, "session"} == {*keywords_of(sr.SitemapReader)}


SYNC = [sr.urls, sr.changes, sr.discover, sr.audit, sr.snapshot, sr.watch, sr.scale.harvest]


@pytest.mark.parametrize("function", SYNC)
def test_a_session_is_for_a_reader_of_its_loop_only(function: Callable[..., Any]) -> None:
    assert "session" not in inspect.signature(function).parameters
    assert "session" not in (function.__doc__ or "").replace("(but for session,", "")
    remedy = r"session, which belongs to the loop .* `async with SitemapReader\(session="
    with pytest.raises(sr.UsageError, match=remedy):
        function("example.com", session=object())
    assert "session" in inspect.signature(sr.SitemapReader).parameters


def test_options_of_a_query_are_its_fields() -> None:
    assert {*QueryOptions.__annotations__} == {each.name for each in attrs.fields(UrlQuery) if each.init}
    of_a_watch = {"is_due"}
    assert {each.name for each in attrs.fields(SyncPlan)} - of_a_watch < {*SyncOptions.__annotations__}


@pytest.mark.parametrize(
    ("function", "options", "own"),
    [
        (sr.urls, UrlsOptions, {"on_wait"}),
        (sr.changes, ChangesOptions, {"state", "on_wait"}),
        (sr.discover, ReaderOptions, {"on_item"}),
        (sr.SitemapReader.urls, QueryOptions, set()),
        (sr.SitemapReader.changes, SyncOptions, {"state"}),
    ],
)
def test_options_are_in_the_signature(function: Callable[..., Any], options: type, own: set[str]) -> None:
    """Notebooks complete them there."""
    parameters = keywords_of(function)
    assert {*parameters} == {*options.__annotations__, *own}
    assert not any(
        each.kind is inspect.Parameter.VAR_KEYWORD for each in inspect.signature(function).parameters.values()
    )
    table = CHANGES_KEYWORDS if "state" in own else KEYWORDS
    for name in options.__annotations__:
        assert repr(parameters[name].default) == (table[name][0] or "...")


@pytest.mark.slow
def test_without_docstrings_the_functions_work() -> None:
    program = "import sitemap_reader as sr; assert sr.urls.__doc__ is None; sr.SitemapReader().urls('example.com')"
    subprocess.run([sys.executable, "-OO", "-c", program], check=True, timeout=60)
