"""Each keyword is declared once: help(), signatures and the command line say the same of it."""

import inspect
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable
from types import NoneType
from typing import Any, get_args

import attrs
import click
import pytest

import sitemap_reader as sr
from sitemap_reader.checks import AuditOptions
from sitemap_reader.cli.main import main
from sitemap_reader.client import UrlQuery, options
from sitemap_reader.model import options_of
from sitemap_reader.scale import HarvestOptions, PlanOptions
from sitemap_reader.state import SyncPlan
from sitemap_reader.watching import WatchOptions

# Function -> the TypedDict of its **options.
FUNCTIONS: list[tuple[Callable[..., Any], type]] = [
    (sr.urls, options.UrlsOptions),
    (sr.changes, options.ChangesOptions),
    (sr.discover, options.DiscoverOptions),
    (sr.snapshot, options.SnapshotOptions),
    (sr.audit, AuditOptions),
    (sr.watch, WatchOptions),
    (sr.scale.harvest, HarvestOptions),
    (sr.scale.plan_harvest, PlanOptions),
    (sr.SitemapReader, options.SessionOptions),
    (sr.SitemapReader.urls, options.QueryOptions),
    (sr.SitemapReader.changes, options.StateSyncOptions),
    (sr.SitemapReader.discover, options.ItemOptions),
]
of_each_function = pytest.mark.parametrize(
    ("function", "declared"), FUNCTIONS, ids=[each.__qualname__ for each, _ in FUNCTIONS]
)


def in_one_line(text: str) -> str:
    return " ".join(re.sub(r"(?m)^ *\| ?", "", text).split())


@of_each_function
def test_help_has_type_default_and_meaning_of_each_keyword(function: Callable[..., Any], declared: type) -> None:
    text = in_one_line(pydoc.plain(pydoc.render_doc(function)))
    for name, each in options_of(declared).items():
        default = "" if each.is_required else f" = {each.default_text}"
        assert in_one_line(f"{name}: {each.type_text}{default} {each.option.help}") in text


@of_each_function
def test_keywords_are_in_the_signature(function: Callable[..., Any], declared: type) -> None:
    """Notebooks complete them there."""
    parameters = inspect.signature(function).parameters
    keywords = {name: each for name, each in parameters.items() if each.kind is inspect.Parameter.KEYWORD_ONLY}
    assert keywords.keys() == options_of(declared).keys()
    assert not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    for name, each in options_of(declared).items():
        assert keywords[name].annotation == each.type_text
        assert (keywords[name].default is inspect.Parameter.empty) == each.is_required
        assert each.is_required or repr(keywords[name].default) == each.default_text


@of_each_function
def test_defaults_and_their_texts_agree_with_the_types(function: Callable[..., Any], declared: type) -> None:
    for name, each in options_of(declared).items():
        default = each.option.default
        if isinstance(each.type, type):
            assert isinstance(default, (int, float) if each.type is float else each.type), name
        if each.choices:
            assert default in each.choices, name
        if default is None and not each.is_required and name != "clock":
            assert NoneType in get_args(each.type) or each.type_text.endswith("| None"), name
        if name not in ("user_agent", "feed_fallback", "clock") and not each.is_required:
            assert eval(each.default_text, {"Limits": sr.Limits}) == default, name  # noqa: S307


def test_defaults_of_a_sync_are_those_declared() -> None:
    declared = options_of(options.StateSyncOptions)
    for field in attrs.fields(SyncPlan):
        if field.name not in ("is_due", "clock"):
            assert field.default == declared[field.name].option.default


def test_a_query_has_each_keyword() -> None:
    assert UrlQuery(limit=3).options.keys() == options_of(options.QueryOptions).keys()


# --- the command line ---

# Command -> the functions, one of which declares its keywords.
COMMANDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("dump", "parse", "tree", "stats", "convert"), (options.UrlsOptions,)),
    **dict.fromkeys(("sync", "diff"), (options.ChangesOptions,)),
    "discover": (options.DiscoverOptions,),
    "compare": (options.SnapshotOptions,),
    "audit": (AuditOptions,),
    "harvest": (HarvestOptions,),
    "watch": (WatchOptions, options.ChangesOptions),
}
SHARED = [
    (command, param, declared)
    for command, kinds in COMMANDS.items()
    for param in main.commands[command].params
    if isinstance(param, click.Option)
    for declared in [options_of(kind)[param.name] for kind in kinds if param.name in options_of(kind)][-1:]
]


@pytest.mark.parametrize(
    ("command", "param", "declared"), SHARED, ids=[f"{command} {param.name}" for command, param, _ in SHARED]
)
def test_a_command_says_what_help_says(command: str, param: click.Option, declared: Any) -> None:
    flags = declared.option.flags.split() or [f"--{param.name}".replace("_", "-")]
    assert param.opts == flags
    said = re.sub(r"--([a-z-]+)", lambda found: found[1].replace("-", "_"), param.help or "")
    meant = re.sub(r"`(\w+)`", lambda found: {"headers": "header"}.get(found[1], found[1]), declared.option.help)
    meant = re.sub(r"--([a-z-]+)", lambda found: found[1].replace("-", "_"), meant)
    assert said.removesuffix(" (repeatable).").removesuffix(".") == meant.removesuffix(".")


def test_most_options_of_dump_are_keywords() -> None:
    shared = {param.name for command, param, _ in SHARED if command == "dump"}
    assert len(shared) > 20
    assert {"scope", "since", "proxy", "headers", "host_map", "unique"} <= shared


def test_an_option_that_turns_off_says_so() -> None:
    (param,) = [each for each in main.commands["dump"].params if each.name == "no_robots"]
    said, meant = getattr(param, "help", ""), options_of(options.ReaderOptions)["obey_robots"].option.help
    assert said == f"Do not {meant[0].lower()}{meant[1:]}"


# --- the functions ---

SYNC = [sr.urls, sr.changes, sr.discover, sr.audit, sr.snapshot, sr.watch, sr.scale.harvest]


@pytest.mark.parametrize("function", SYNC)
def test_a_session_is_for_a_reader_of_its_loop_only(function: Callable[..., Any]) -> None:
    assert "session" not in inspect.signature(function).parameters
    assert "session" not in (function.__doc__ or "").replace("but for session,", "")
    remedy = r"session, which belongs to the loop .* `async with SitemapReader\(session="
    with pytest.raises(sr.UsageError, match=remedy):
        function("example.com", session=object())
    assert "session" in inspect.signature(sr.SitemapReader).parameters


def test_a_keyword_that_is_needed_is_named() -> None:
    with pytest.raises(TypeError, match=r"^changes\(\) needs the keyword state$"):
        sr.changes("example.com")  # type: ignore[call-arg]


@pytest.mark.slow
def test_without_docstrings_the_functions_work() -> None:
    program = "import sitemap_reader as sr; assert sr.urls.__doc__ is None; sr.SitemapReader().urls('example.com')"
    subprocess.run([sys.executable, "-OO", "-c", program], check=True, timeout=60)
