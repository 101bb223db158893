"""Keywords of the functions that read a site: the meaning of each, for help(), and a suggestion for unknown ones.

In: a function and the tables below. Out: the function with its keywords listed in its docstring, raising UnknownKeyword
for any other, with a suggestion: names of other libraries come from a table, misspelt ones are matched by similarity.
UsageError for values of a wrong type.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache, partial, wraps
from inspect import Parameter, cleandoc, isasyncgenfunction, isawaitable, iscoroutine, iscoroutinefunction, signature
from textwrap import fill
from types import NoneType
from typing import TYPE_CHECKING, Any, ParamSpec, TypedDict, TypeVar

import attrs

from ..fetch.request_headers import Logins
from ..model.errors import UnknownKeyword, UsageError
from ..model.limits import Limits
from .dedupe import UrlSet

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import datetime
    from pathlib import Path

    from ..fetch.client import Fetcher
    from ..frontier.filters import Moment, Pattern, Undated
    from ..frontier.revalidation import Trust
    from ..frontier.seeds import Probe
    from ..model.records import Item, Outcome, SitemapRef
    from ..parser.dialects.feed_fallback import FeedFallback
    from ..parser.normalise.scope import ScopeMode
    from ..serialize.jsonl import On
    from ..state.documents import StoredDocument
    from .summary import Progress

P = ParamSpec("P")
R = TypeVar("R")


class ReaderOptions(TypedDict, total=False):
    """The keywords of SitemapReader, for the functions that pass them on: all but `session`."""

    user_agent: str
    headers: Mapping[str, str] | Iterable[tuple[str, str]]
    scope: ScopeMode
    probe: Probe
    obey_robots: bool
    allow_private: bool
    auth: str | tuple[str, str] | None
    netrc: bool | str | Path | Logins
    proxy: str | None
    cacert: str | Path | None
    insecure: bool
    concurrency: int
    per_host: int
    delay: float
    limits: Limits
    fetcher: Fetcher | None
    extras: bool
    feed_fallback: FeedFallback | None
    record: str | Path | None
    base: str | None
    host_map: Mapping[str, str] | None


class PatternOptions(TypedDict, total=False):
    """Which URLs and sitemaps are read, whatever their dates."""

    include: Pattern | Iterable[Pattern] | None
    exclude: Pattern | Iterable[Pattern] | None
    follow: Callable[[SitemapRef], bool] | Pattern | Iterable[Pattern] | None
    no_follow: Pattern | Iterable[Pattern] | None


class FilterOptions(PatternOptions, total=False):
    """Which URLs and sitemaps are read."""

    since: Moment | None
    until: Moment | None
    undated: Undated
    trust_lastmod: Trust


class CallbackOptions(TypedDict, total=False):
    """What a run reports while it reads."""

    on_outcome: Callable[[Outcome], None] | None
    on_item: Callable[[Item], None] | None
    on_progress: Callable[[Progress], None] | None
    show_progress: bool


class QueryOptions(FilterOptions, CallbackOptions, total=False):
    """The keywords of SitemapReader.urls(), which are the fields of UrlQuery."""

    unique: bool | UrlSet
    limit: int | None


class SyncOptions(PatternOptions, CallbackOptions, total=False):
    """The keywords of SitemapReader.changes(), without `state`."""

    trust_lastmod: Trust
    full: bool
    dry_run: bool
    on: On
    accept_removals: bool
    on_document: Callable[[StoredDocument], None] | None
    clock: Callable[[], datetime]


class SiteOptions(FilterOptions, ReaderOptions, total=False):
    """The keywords of what reads whole sites: snapshot(), harvest()."""


class UrlsOptions(QueryOptions, ReaderOptions, total=False):
    """The keywords of urls()."""


class ChangesOptions(SyncOptions, ReaderOptions, total=False):
    """The keywords of changes(), without `state`."""


# Keyword -> its default as Python text ("" if it has none), and its meaning. Docstrings are completed from here.
KEYWORDS: Mapping[str, tuple[str, str]] = {
    # of SitemapReader
    "user_agent": (
        '"sitemap-reader/VERSION"',
        "The User-Agent header, also matched against robots.txt groups.",
    ),
    "headers": (
        "()",
        "Request headers, a dict or pairs. They go to the registrable domain of the target only, and never over http "
        "if the target is https; a User-Agent goes to every host.",
    ),
    "scope": (
        '"protocol"',
        "Which URLs a sitemap may list: protocol (sitemaps.org: its own host and path, or hosts whose robots.txt names "
        "it), host, domain or any.",
    ),
    "probe": (
        '"auto"',
        "When well-known paths are tried: auto (if robots.txt names no readable sitemap), always, never.",
    ),
    "obey_robots": ("True", "False also fetches sitemaps that robots.txt disallows."),
    "allow_private": ("False", "Permits private, loopback and link-local addresses."),
    "auth": (
        "None",
        'Basic authentication, "user:password" or a pair, for the hosts that `headers` go to. `user:password@` in a '
        "target goes to its host only.",
    ),
    "netrc": (
        "False",
        "Logins from a netrc file: its path, or True for $NETRC or ~/.netrc. Each login goes to its host over https, "
        "and over http only if the target is that host on http.",
    ),
    "proxy": ("None", "URL of an HTTP proxy, http://HOST:PORT or http://USER:PASSWORD@HOST:PORT."),
    "cacert": ("None", "PEM file of certificates that are trusted in place of the system's."),
    "insecure": ("False", "True verifies no TLS certificate."),
    "concurrency": ("16", "Requests at once, to all hosts; the streams of a SitemapReader share them."),
    "per_host": ("4", "Requests at once to one host; the streams of a SitemapReader share them."),
    "delay": (
        "0",
        "Seconds, up to 3,600, between the starts of two requests to one host, which are then one at a time, of all "
        "streams of a SitemapReader; a longer Crawl-delay of robots.txt replaces it.",
    ),
    "limits": ("Limits()", "Limits of sizes, counts and seconds, each with its unit in its name: see help(sr.Limits)."),
    "session": (
        "None",
        "Your aiohttp.ClientSession, which stays open; its connector has to be a sr.fetch.guarded_connector(). Its "
        "User-Agent, if it has one, is the default of `user_agent`.",
    ),
    "fetcher": ("None", "A sr.fetch.Fetcher that replaces the network."),
    "extras": ("False", "True keeps elements without a field of their own in UrlRecord.extras."),
    "feed_fallback": (
        "feedparser_fallback",
        "Reads a feed from which the streaming parser gets nothing; None leaves such feeds unread.",
    ),
    "record": (
        "None",
        "A folder, or a file named .warc or .warc.gz, to which every response is written; it can be read as a target.",
    ),
    "base": (
        "None",
        "The URL that the target, a folder or a file on the disk, will have: it is read as that site, and no request "
        "is made.",
    ),
    "host_map": (
        "None",
        'Where the requests for a site go, such as {"https://www.example.com": "https://staging.example.com"}: '
        "records and problems have the URLs of the first; `headers`, `auth` and `netrc` go to the second only.",
    ),
    # of snapshot()
    "at": (
        "None",
        'When files, or a recorded site, were read: a date, a datetime or text; "name": the names of files state it.',
    ),
    # of urls(): which URLs
    "since": (
        "None",
        'Keeps URLs modified at or after this: a date, a datetime, an age (timedelta, "7d", "12h") or text as in '
        'sitemaps ("2026-10"). A lastmod matches if the period that it states overlaps. Sitemaps with an earlier index '
        "lastmod are skipped: see trust_lastmod.",
    ),
    "until": ("None", "Keeps URLs modified at or before this; the same values as `since`."),
    "undated": ('"keep"', "With since or until: keep or drop URLs without a lastmod."),
    "include": ("None", "A regular expression or several: keeps URLs in which one is found."),
    "exclude": ("None", "A regular expression or several: drops URLs in which one is found."),
    "unique": (
        "False",
        "True yields each URL once, however many sitemaps list it; a UrlSet, once over all streams that share it.",
    ),
    "limit": ("None", "The most URLs to yield: after them the stream ends."),
    # of urls(): which sitemaps
    "trust_lastmod": (
        '"auto"',
        "With `since`, whether sitemaps are skipped by the lastmod in their index. auto: up to three of them are read "
        "first; if a URL in one is newer than the index states, or has no lastmod and undated URLs are kept, none of "
        "that index is skipped (D05). always: skips without a check. never: reads all. `summary` counts those skipped, "
        '`pruned["since"]`, and those read for the check, `checked`.',
    ),
    "follow": (
        "None",
        "Which children of an index are read: a function of the SitemapRef, or regular expressions of which one must "
        "be found in the child's URL.",
    ),
    "no_follow": (
        "None",
        "Regular expressions: sitemaps in whose URL one is found are never read, even if robots.txt names them.",
    ),
    # callbacks: an exception in one ends the run, and is raised to the caller unchanged
    "on_outcome": ("None", "Called with the Outcome of each document when it ends."),
    "on_item": ("None", "Called with each item that is not a URL: SitemapRef, Problem, Outcome."),
    "on_progress": ("None", "Called with a Progress, a few times a second."),
    "show_progress": (
        "False",
        "True shows a progress bar: a widget in a notebook, a line on a terminal, nothing elsewhere.",
    ),
    "on_wait": ("None", "Called a few times a second while there is nothing to yield."),
}

# Those of changes() that are not in KEYWORDS, or mean something else there.
CHANGES_KEYWORDS: Mapping[str, tuple[str, str]] = {
    **KEYWORDS,
    "state": ("", "The state file, which is created if it does not exist, or an open sr.state.State."),
    "trust_lastmod": (
        '"auto"',
        "Whether a sitemap whose index states the same lastmod as before is skipped without a request. auto: if the "
        "lastmods of that index have proved accurate. always: yes. never: it is requested, under conditions (ETag, "
        "Last-Modified).",
    ),
    "full": ("False", "True reads every sitemap, without conditional requests."),
    "dry_run": ("False", "True leaves the state as it is."),
    "on": ('"any"', "What makes a URL updated: any difference, or lastmod only."),
    "accept_removals": (
        "False",
        "True removes URLs even if they are all of a site or of a sitemap, or more than 10 and more than half of the "
        "site; otherwise a run 24 hours later has to find the same, and until then they are held back, with an X01.",
    ),
    "on_document": ("None", "Called with the StoredDocument of each sitemap, which rates how accurate its dates are."),
    "clock": ("", "Returns the current time as an aware datetime; by default the system's."),
}

# Keyword -> the types of its values, and what to give. Other keywords are checked where they are used.
_FUNCTIONS = "on_outcome on_item on_progress on_document on_checked on_occurrence on_wait stop clock feed_fallback"
_CALLED = frozenset({*_FUNCTIONS.split(), "follow"})
_FILES = "cacert crawl baseline_crawl known save_checks"
_VALUES: Mapping[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(_FUNCTIONS.split(), ((Callable, NoneType), "a function")),  # type: ignore[arg-type]
    **dict.fromkeys(_FILES.split(), ((str, os.PathLike, NoneType), "the name of a file")),
    "netrc": ((bool, str, os.PathLike, Logins, NoneType), "True or the name of a netrc file"),
    "host_map": ((Mapping, NoneType), "a dict of hosts"),
    "record": ((str, os.PathLike, NoneType), "the name of a folder or a WARC file"),
    "user_agent": ((str,), "text"),
    "unique": ((bool, UrlSet), "True, False or a UrlSet"),
}

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
    "fetcher= or session=": "client http_client web_client",
    "concurrency={}, the requests at once": "workers max_workers threads connections max_connections",
    "delay={}": "crawl_delay download_delay rate_limit throttle",
    "obey_robots=True or False": "robots respect_robots respect_robots_txt robotstxt_obey",
    "obey_robots=False": "ignore_robots no_robots",
    'probe="always" or "never"': "use_known_paths",
    "user_agent={}": "agent ua",
    "follow=lambda ref: False to read no children of an index": "recursive",
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
    options: type | None = None,
    *,
    meanings: Mapping[str, tuple[str, str]] = KEYWORDS,
    elsewhere: Mapping[str, Collection[str]] | None = None,
    values: Mapping[str, tuple[tuple[type, ...], str]] = {},
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator that lists the keywords of a function in its docstring, and raises UnknownKeyword for any other.

    `options` is the TypedDict of the function's `**options`, which are in its signature then, where notebooks complete
    them. Keywords without an entry in `meanings` are not listed.
    `elsewhere` maps what takes other keywords of this package to their names, for the suggestion: `SitemapReader`.
    `values` has the types of the function's own keywords, and what to give.
    """
    values = {**_VALUES, **values}

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        stated = signature(function)
        own = {name: each for name, each in stated.parameters.items() if each.kind is not Parameter.VAR_KEYWORD}
        passed_on: Mapping[str, Any] = options.__annotations__ if options else {}
        allowed = {*own, *passed_on}

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            if not kwargs.keys() <= allowed:
                name = min(kwargs.keys() - allowed)
                known = [each for each in (*own, *passed_on) if each != "self"]
                raise UnknownKeyword(_message(_display_name(function), name, kwargs[name], known, elsewhere or {}))
            for name, value in kwargs.items():
                types, wanted = values.get(name, ((object,), ""))
                if not isinstance(value, types):
                    raise UsageError(keyword=name, value=value, allowed=wanted)
                check_is_called(name, value)
                if name in _CALLED and callable(value):
                    kwargs[name] = CheckedCallback.of(name, value)
            return function(*args, **kwargs)

        expanded = [_parameter(name, kind, meanings) for name, kind in passed_on.items()]
        checked.__signature__ = stated.replace(parameters=[*own.values(), *expanded])  # type: ignore[attr-defined]
        if function.__doc__ is not None and meanings:  # python -OO removes docstrings
            checked.__doc__ = f"{cleandoc(function.__doc__)}\n\nKeywords:\n{_help_text(own, passed_on, meanings)}"
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
    """A callback that looks like any other and may return what has to be awaited: UsageError at the first such call.

    As `lambda ref: wanted(ref)` does if `wanted` is made by async def, and many decorators around such functions do.
    """

    _name: str
    _function: Callable[..., Any]

    @classmethod
    def of(cls, name: str, function: Callable[..., Any]) -> CheckedCallback:
        return function if isinstance(function, cls) else cls(name, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self._function(*args, **kwargs)
        if not isawaitable(result):
            return result
        if self._name.startswith("on_") and asyncio.isfuture(result):
            return None  # a task: it runs by itself, and no result of this callback is used
        if iscoroutine(result):
            result.close()  # otherwise Python warns that it was never awaited
        raise _not_awaited(self._name)


def _not_awaited(name: str) -> UsageError:
    return UsageError(f"{name} is called, and not awaited: give a function made by def, not by async def")


def is_async(function: object) -> bool:
    """Whether a function is made by async def, as far as can be seen; one that returns an awaitable may be another."""
    return iscoroutinefunction(function) or isasyncgenfunction(function)


class _Default:
    """A default in a signature, as text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _parameter(name: str, kind: object, meanings: Mapping[str, tuple[str, str]]) -> Parameter:
    """A keyword of a TypedDict, as it is in a signature."""
    default = _Default(meanings.get(name, ("", ""))[0] or "...")
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=getattr(kind, "__forward_arg__", kind))


def _help_text(
    own: Mapping[str, Parameter], passed_on: Mapping[str, Any], meanings: Mapping[str, tuple[str, str]]
) -> str:
    """`name: type = default` and, indented, the meaning, of each keyword that has one."""
    lines = []
    for name in (*own, *sorted(passed_on, key=ReaderOptions.__annotations__.__contains__)):  # those of the reader last
        if name not in meanings:
            continue
        default, meaning = meanings[name]
        if name in own:
            kind, value = own[name].annotation, own[name].default
            default = repr(value) if isinstance(value, bool) else default
        else:
            kind = passed_on[name]
        heading = f"    {name}: {getattr(kind, '__forward_arg__', kind)}"
        lines += [f"{heading} = {default}" if default else heading, _wrapped(meaning)]
    return "\n".join(lines)


@cache
def _wrapped(meaning: str) -> str:
    return fill(meaning, 100, initial_indent=" " * 8, subsequent_indent=" " * 8)


def _display_name(function: Callable[..., object]) -> str:
    """`urls()`; for a constructor the name of the class."""
    return f"{function.__qualname__.removesuffix('.__init__').rpartition('.')[2]}()"


def _message(
    function: str, name: str, value: object, known: list[str], elsewhere: Mapping[str, Collection[str]]
) -> str:
    """The text of the error: the keyword that is unknown, and what to write in its place."""
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
    next_value = _value_text(value + 1) if isinstance(value, int) else "…"
    if name not in FOREIGN_KEYWORDS:
        return None
    return FOREIGN_KEYWORDS[name].format(_value_text(value), next=next_value)


def _value_text(value: object) -> str:
    text = repr(value) if isinstance(value, int | float | str) else "…"
    return text if len(text) <= _MAX_VALUE_CHARACTERS else "…"
