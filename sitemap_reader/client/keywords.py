"""Keywords of the functions that read a site, checked and listed in help(); those of urls() as a UrlQuery.

For an unknown keyword there is a suggestion: names of other libraries come from a table, misspelt ones are matched by
similarity.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from difflib import get_close_matches
from functools import cache, partial, wraps
from inspect import Parameter, cleandoc, isasyncgenfunction, isawaitable, iscoroutine, iscoroutinefunction, signature
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, Unpack

import attrs

from ..frontier.plan import make_patterns, make_selection
from ..model.errors import UnknownKeyword, UsageError
from ..model.limits import Limits
from ..model.options import options_of, with_defaults
from ..pipeline.crawl import CallbackError
from .options import PatternOptions, QueryOptions, SessionOptions
from .summary import SummaryBuilder, UrlSet

if TYPE_CHECKING:
    from ..frontier.robots_rules import RobotsPolicy
    from ..model.options import Declared
    from ..model.records import SitemapRef

P = ParamSpec("P")
R = TypeVar("R")
Argument = TypeVar("Argument")

# What to write here -> the keywords of other libraries for it; {} is the given value, {next} the next integer.
_OTHER_NAMES = {
    "limits=Limits(read_seconds={})": "timeout read_timeout request_timeout",
    "limits=Limits(connect_seconds={})": "connect_timeout",
    "limits=Limits(tries={next}), the first try included": "retries retry max_retries",
    "limits=Limits(max_index_depth={})": "max_depth depth",
    "limits=Limits(max_entries={})": "max_urls",
    "limits=Limits(max_decoded_bytes={})": "max_bytes max_size",
    "limits=Limits(max_wait_seconds={})": "max_wait",
    'auth="USER:PASSWORD"': "login credentials",
    'headers={{"Cookie": "…"}}': "cookies",
    "insecure=True, or cacert=FILE": "verify ssl",
    "cacert={}": "ca_file",
    "limits=Limits(max_crawl_delay_seconds={})": "max_crawl_delay",
    'proxy="http://HOST:PORT"': "proxies",
    'proxy="env"': "trust_env",
    "fetcher= or session=": "client http_client web_client",
    "concurrency={}, the requests at once": "workers max_workers threads connections max_connections",
    "delay={}": "crawl_delay download_delay rate_limit throttle",
    "obey_robots=True or False": "robots respect_robots respect_robots_txt robotstxt_obey",
    "obey_robots=False": "ignore_robots no_robots",
    'probe="always" or "never"': "use_known_paths",
    "user_agent={}": "agent ua",
    "follow=lambda ref: False to read nothing that an index or robots.txt lists": "recursive",
    "since={}": "after start start_date from_date modified_since",
    "until={}": "before end end_date to_date",
    "include={}, a regular expression": "filter pattern regex",
    "exclude={}, a regular expression": "skip",
    "unique=True": "dedupe distinct",
    "show_progress=True": "progress progress_bar verbose",
    "state={}": "db database state_file",
}
FOREIGN_KEYWORDS = {name: ours for ours, names in _OTHER_NAMES.items() for name in names.split()}
_MAX_VALUE_CHARACTERS = 40  # a longer value is not repeated in a message


def checked_keywords(
    options: type, *, elsewhere: Mapping[str, Collection[str]] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator for a function whose `**options` are those of a TypedDict: it checks them.

    They are in its docstring, and in its signature, where notebooks complete them; UnknownKeyword for any other.
    `elsewhere` maps what takes other keywords of this package to their names, for the suggestion: `SitemapReader`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        declared, stated = options_of(options), signature(function)
        shown = f"{function.__qualname__.removesuffix('.__init__').rpartition('.')[2]}()"  # of a constructor the class
        own = {name: each for name, each in stated.parameters.items() if each.kind is not Parameter.VAR_KEYWORD}
        # Those of the reader last.
        names = sorted(declared, key=lambda name: name in SessionOptions.__annotations__)

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            if unknown := kwargs.keys() - declared.keys() - own.keys():
                name = min(unknown)
                known = [each for each in (*own, *names) if each != "self"]
                raise UnknownKeyword(_message(shown, name, kwargs[name], known, elsewhere or {}))
            for name, value in [(name, value) for name, value in kwargs.items() if name in declared]:
                declared[name].check(name, value)
                check_is_called(name, value)
                if declared[name].option.is_called and callable(value) and not isinstance(value, CheckedCallback):
                    kwargs[name] = CheckedCallback(name, value)
            if missing := [name for name, each in declared.items() if each.is_required and name not in kwargs]:
                raise TypeError(f"{shown} needs the keyword {missing[0]}")
            return function(*args, **kwargs)

        keywords = []  # as they are in a signature
        for name in names:
            each = declared[name]
            default = Parameter.empty if each.is_required else _Default(each.default_text)
            keywords.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=each.type_text))
        checked.__signature__ = stated.replace(parameters=[*own.values(), *keywords])  # type: ignore[attr-defined]
        if function.__doc__ is not None:  # python -OO removes docstrings
            text = "\n".join(_help_lines(name, declared[name]) for name in names)
            checked.__doc__ = f"{cleandoc(function.__doc__)}\n\nKeywords:\n{text}"
        return checked

    return decorate


def check_is_called(name: str, value: object) -> None:
    """UsageError for an async function: it is called as any other, and what it returns is never awaited."""
    while isinstance(value, partial):
        value = value.func
    if any(map(is_async, (value, getattr(value, "__call__", None)))):  # noqa: B004 - not whether it can be called
        raise _not_awaited(name)


@attrs.frozen
class CheckedCallback:
    """UsageError at the first call of what returns something to await, as `lambda ref: wanted(ref)` may do."""

    _name: str
    _function: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self._function(*args, **kwargs)
        if not isawaitable(result):
            return result
        if self._name.startswith("on_") and asyncio.isfuture(result):
            return None  # a task: it runs by itself, and no result of this callback is used
        if iscoroutine(result):
            result.close()  # otherwise Python warns that it was never awaited
        raise _not_awaited(self._name)


def called_in_crawl(function: Callable[P, R]) -> Callable[P, R]:
    """A function of the caller as a crawl calls it: its exceptions end the crawl, and reach the caller unchanged."""

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        # As it is, a KeyboardInterrupt would end the event loop before anything is closed, a CancelledError a task
        # that was not cancelled, and a FetchError would be taken for one of the network.
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            raise CallbackError(error) from error

    return call


def policy_in_crawl(given: bool | RobotsPolicy) -> bool | RobotsPolicy:
    """A value of `obey_robots` as a crawl calls it; UsageError for async methods."""
    return given if isinstance(given, bool) else _CallersPolicy(given)


class _CallersPolicy:
    def __init__(self, policy: RobotsPolicy) -> None:
        self.allows, self.crawl_delay = map(partial(self._method, policy), ("allows", "crawl_delay"))

    @staticmethod
    def _method(policy: RobotsPolicy, name: str) -> Callable[..., Any]:
        method, shown = getattr(policy, name), f"obey_robots.{name}"
        check_is_called(shown, method)
        return called_in_crawl(CheckedCallback(shown, method))


def _not_awaited(name: str) -> UsageError:
    return UsageError(f"{name} is called, and not awaited: give a function made by def, not by async def")


def is_async(function: object) -> bool:
    """Whether a function is made by async def, as far as can be seen; one that returns an awaitable may be another."""
    return iscoroutinefunction(function) or isasyncgenfunction(function)


@attrs.frozen(repr=False)
class _Default:
    """A default in a signature, as text."""

    text: str

    def __repr__(self) -> str:
        return self.text


@cache
def _help_lines(name: str, declared: Declared) -> str:
    """`name: type = default` and, indented, the meaning."""
    default = "" if declared.is_required else f" = {declared.default_text}"
    meaning = fill(
        f"{declared.option.help} {declared.option.in_python}", 100, initial_indent=" " * 8, subsequent_indent=" " * 8
    )
    return f"    {name}: {declared.type_text}{default}\n{meaning}"


def _message(
    function: str, name: str, value: object, known: list[str], elsewhere: Mapping[str, Collection[str]]
) -> str:
    start = f"{function} has no keyword {name}"
    if name == "session" and name not in known and not elsewhere:
        return f"{start}, which belongs to the loop that made it: use `async with SitemapReader(session=...)`"
    if suggested := _suggestion(name, value):
        keyword = suggested.partition("=")[0]
        if keyword in known:
            return f"{start}; give {suggested}"
        for owner, names in elsewhere.items():
            if keyword in names:
                return f"{start}; {owner} takes {suggested}"
    for owner, names in elsewhere.items():
        if name in names:
            return f"{start}; {owner} takes it"
    if close := get_close_matches(name, known, n=1, cutoff=0.7):
        return f"{start}; did you mean {close[0]}?"
    return f"{start}; it has {', '.join(sorted(known))}"


def _suggestion(name: str, value: object) -> str | None:
    """`limits=Limits(read_seconds=3)`; None where no table has the name."""
    if name in attrs.fields_dict(Limits):
        return f"limits=Limits({name}={_value_text(value)})"
    if name not in FOREIGN_KEYWORDS:
        return None
    next_value = _value_text(value + 1) if isinstance(value, int) else "…"
    return FOREIGN_KEYWORDS[name].format(_value_text(value), next=next_value)


def _value_text(value: object) -> str:
    text = repr(value) if isinstance(value, int | float | str) else "…"
    return text if len(text) <= _MAX_VALUE_CHARACTERS else "…"


# --- the keywords of urls() ---


class UrlQuery:
    """Which URLs and sitemaps a caller wants, and its callbacks: `options` has all keywords of urls()."""

    def __init__(self, **options: Unpack[QueryOptions]) -> None:
        self.options = with_defaults(QueryOptions, options)
        unique = self.options["unique"]
        if not isinstance(unique, bool | UrlSet):
            raise UsageError(keyword="unique", value=unique, allowed="True, False or a UrlSet")
        self._has_raised = False  # a callback

    def changed(self, **options: Unpack[QueryOptions]) -> UrlQuery:
        """The same with other values of these keywords."""
        changed: QueryOptions = {**self.options, **options}
        return UrlQuery(**changed)

    def plan_fields(self, now: datetime) -> dict[str, Any]:
        """The fields of Plan that the query decides; UsageError for dates and patterns that are not valid."""
        dates = ("since", "until", "undated")
        selected = {name: self.options[name] for name in (*dates, "include", "exclude")}  # type: ignore[literal-required]
        return {
            "trust_lastmod": self.options["trust_lastmod"],
            "selection": make_selection(now, **selected),
            "follow": self._test_of("follow"),
            "follow_by_name": not callable(self.options["follow"]),
            "no_follow": self._test_of("no_follow"),
        }

    def summary_builder(self) -> SummaryBuilder:
        """A SummaryBuilder that calls the query's callbacks."""
        given = self.options
        seen = (UrlSet() if given["unique"] else None) if isinstance(given["unique"], bool) else given["unique"]
        on_outcome, on_item = self.guarded(given["on_outcome"]), self.guarded(given["on_item"])
        return SummaryBuilder(on_outcome, on_item, seen=seen, limit=given["limit"])

    def guarded(self, callback: Callable[[Argument], None] | None) -> Callable[[Argument], None] | None:
        """The callback, which is not called any more once it or another callback of the query has raised."""
        if callback is None:
            return None

        def call(argument: Argument) -> None:
            if self._has_raised:  # the run still records its last items, and the caller sees the first exception
                return
            try:
                callback(argument)
            except BaseException:
                self._has_raised = True
                raise

        return call

    def _test_of(self, name: Literal["follow", "no_follow"]) -> Callable[[SitemapRef], bool] | None:
        given = self.options[name]
        if not callable(given):
            patterns = make_patterns(name, given)
            return (lambda ref: patterns.find_in(ref.loc)) if patterns else None
        check_is_called(name, given)
        function: Callable[[SitemapRef], object] = given

        def decide(ref: SitemapRef) -> bool:
            result = function(ref)
            if result in (True, False):
                return bool(result)
            raise UsageError(f"the function of {name} returned {result!r:.60}", remedy="let it return True or False")

        return called_in_crawl(decide)

    def settings(self) -> dict[str, Any]:
        """The patterns that decide what is read, as JSON values; a state can only be compared under the same ones."""
        given = {name: self.options[name] for name in PatternOptions.__annotations__}  # type: ignore[literal-required]
        settings: dict[str, Any] = {
            name: ["a function"]
            if callable(each)
            else [pattern.pattern for pattern in make_patterns(name, each).patterns]
            for name, each in given.items()
        }
        if settings["follow"]:  # in states of version 0.2 it applied to indexes alone
            settings["follow_applies_to"] = "indexes and robots.txt"
        return settings
