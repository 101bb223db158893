"""What a caller of a stream asks for: his keywords in, the plan of a walk and a ledger that tells him out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, get_args

import attrs

from ..frontier.filters import make_patterns, make_selection
from ..frontier.revalidation import Trust
from ..model.errors import UnknownKeyword, UsageError
from ..model.limits import Limits
from .dedupe import UrlSet
from .summary import SummaryBuilder
from .thread_bridge import CallbackGuard, carried

if TYPE_CHECKING:
    from datetime import datetime

    from ..frontier.filters import Moment, Pattern, Patterns, Undated
    from ..model.records import Item, Outcome, SitemapRef
    from .summary import Progress


Heard = TypeVar("Heard")


def one_of(name: str, value: str, allowed: Iterable[str]) -> None:
    """UsageError for another value."""
    if value not in allowed:
        raise UsageError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


@attrs.frozen
class Asked:
    """What a caller asks for, as he put it; the fields are the keywords of SitemapReader.urls()."""

    since: Moment | None = None
    until: Moment | None = None
    undated: Undated = "keep"
    trust_lastmod: Trust = "auto"
    include: Pattern | Iterable[Pattern] | None = None
    exclude: Pattern | Iterable[Pattern] | None = None
    follow: Callable[[SitemapRef], bool] | Pattern | Iterable[Pattern] | None = None
    no_follow: Pattern | Iterable[Pattern] | None = None
    unique: bool | UrlSet = False
    on_outcome: Callable[[Outcome], None] | None = None
    on_item: Callable[[Item], None] | None = None
    on_progress: Callable[[Progress], None] | None = None
    show_progress: bool = False
    most: int | None = None
    _listening: CallbackGuard = attrs.field(factory=CallbackGuard, init=False)

    def plan(self, now: datetime) -> dict[str, Any]:
        """Fields of Plan; UsageError for what cannot be."""
        one_of("trust_lastmod", self.trust_lastmod, get_args(Trust))
        return {
            "trust_lastmod": self.trust_lastmod,
            "selection": make_selection(
                now,
                since=self.since,
                until=self.until,
                undated=self.undated,
                include=self.include,
                exclude=self.exclude,
            ),
            "follow": self._follow(),
            "no_follow": make_patterns("no_follow", self.no_follow),
        }

    def ledger(self) -> SummaryBuilder:
        """A ledger that tells whom it was asked to tell."""
        seen = (UrlSet() if self.unique else None) if isinstance(self.unique, bool) else self.unique
        return SummaryBuilder(self.hears(self.on_outcome), self.hears(self.on_item), seen=seen, most=self.most)

    def hears(self, function: Callable[[Heard], None] | None) -> Callable[[Heard], None] | None:
        """One of the functions that only hear, guarded together with the others."""
        return function and self._listening.guarded(function)

    def _follow(self) -> Callable[[SitemapRef], bool] | None:
        if callable(self.follow):
            return carried(self.follow)
        patterns = make_patterns("follow", self.follow)
        return (lambda ref: patterns.find_in(ref.loc)) if patterns else None

    def settings(self) -> dict[str, Any]:
        """What decides on what is read, as JSON can hold it: a state is only good for the same."""
        return {
            "include": _texts(make_patterns("include", self.include)),
            "exclude": _texts(make_patterns("exclude", self.exclude)),
            "follow": ["a function"] if callable(self.follow) else _texts(make_patterns("follow", self.follow)),
            "no_follow": _texts(make_patterns("no_follow", self.no_follow)),
        }


def _texts(patterns: Patterns) -> list[str]:
    return [pattern.pattern for pattern in patterns.patterns]


# ----------------------------------------------------------------------------------------------------
# Keywords that a function does not have: names and values in, an UnknownKeyword that says what to give instead out.
#
# Names that other libraries use are in a table; of the rest, one that is spelled much like ours is suggested.


P = ParamSpec("P")
R = TypeVar("R")
Names = Callable[[], Iterable[str]]  # asked for at a mistake only: some are in modules that take long to load

# Of other libraries -> ours; {} is the value that was given, {next} the next number.
FOREIGN: Mapping[str, str] = {
    "timeout": "limits=Limits(read_seconds={})",
    "read_timeout": "limits=Limits(read_seconds={})",
    "request_timeout": "limits=Limits(read_seconds={})",
    "connect_timeout": "limits=Limits(connect_seconds={})",
    "retries": "limits=Limits(tries={next}), the first try included",
    "retry": "limits=Limits(tries={next}), the first try included",
    "max_retries": "limits=Limits(tries={next}), the first try included",
    "max_depth": "limits=Limits(max_index_depth={})",
    "depth": "limits=Limits(max_index_depth={})",
    "max_urls": "limits=Limits(max_entries={})",
    "max_bytes": "limits=Limits(max_decoded_bytes={})",
    "max_size": "limits=Limits(max_decoded_bytes={})",
    "max_wait": "limits=Limits(max_wait_seconds={})",
    "login": 'auth="USER:PASSWORD"',
    "credentials": 'auth="USER:PASSWORD"',
    "cookies": 'headers={{"Cookie": "…"}}',
    "verify": "insecure=True, or cacert=FILE",
    "ssl": "insecure=True, or cacert=FILE",
    "ca_file": "cacert={}",
    "max_crawl_delay": "limits=Limits(max_crawl_delay_seconds={})",
    "proxies": 'proxy="http://HOST:PORT"',
    "client": "fetcher= or session=",
    "http_client": "fetcher= or session=",
    "web_client": "fetcher= or session=",
    "workers": "concurrency={}, the requests at once",
    "max_workers": "concurrency={}, the requests at once",
    "threads": "concurrency={}, the requests at once",
    "connections": "concurrency={}, the requests at once",
    "max_connections": "concurrency={}, the requests at once",
    "delay": "per_host=1, the requests at once to a host; Crawl-delay of robots.txt is kept",
    "crawl_delay": "per_host=1, the requests at once to a host; Crawl-delay of robots.txt is kept",
    "robots": "obey_robots=True or False",
    "respect_robots": "obey_robots=True or False",
    "respect_robots_txt": "obey_robots=True or False",
    "robotstxt_obey": "obey_robots=True or False",
    "ignore_robots": "obey_robots=False",
    "no_robots": "obey_robots=False",
    "use_known_paths": 'probe="always" or "never"',
    "agent": "user_agent={}",
    "ua": "user_agent={}",
    "recursive": "follow=lambda ref: False to read no children of an index",
    "after": "since={}",
    "start": "since={}",
    "start_date": "since={}",
    "from_date": "since={}",
    "modified_since": "since={}",
    "before": "until={}",
    "end": "until={}",
    "end_date": "until={}",
    "to_date": "until={}",
    "filter": "include={}, a regular expression",
    "pattern": "include={}, a regular expression",
    "regex": "include={}, a regular expression",
    "skip": "exclude={}, a regular expression",
    "dedupe": "unique=True",
    "distinct": "unique=True",
    "progress": "show_progress=True",
    "progress_bar": "show_progress=True",
    "verbose": "show_progress=True",
    "db": "state={}",
    "database": "state={}",
    "state_file": "state={}",
}
_LONGEST = 40  # characters of a value that are repeated


def checked_keywords(
    more: Names = tuple, elsewhere: Mapping[str, Names] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: another keyword than those of the function is an UnknownKeyword, and not Python's TypeError.

    `more` are names that it takes as **options. `elsewhere` says what takes other names of ours: `SitemapReader`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        own = frozenset(signature(function).parameters)

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            if not kwargs.keys() <= own and (unknown := kwargs.keys() - {*own, *more()}):
                name = min(unknown)
                known = [each for each in (*own, *more()) if each not in ("self", "options")]
                raise UnknownKeyword(_message(_called(function), name, kwargs[name], known, elsewhere or {}))
            return function(*args, **kwargs)

        return checked

    return decorate


def _called(function: Callable[..., object]) -> str:
    """`urls()`; a class by its name."""
    return f"{function.__qualname__.removesuffix('.__init__').rpartition('.')[2]}()"


def _message(what: str, name: str, value: object, known: list[str], elsewhere: Mapping[str, Names]) -> str:
    """What to give instead."""
    start = f"{what} has no keyword {name}"
    if ours := _in_ours(name, value):
        keyword = ours.partition("=")[0]
        if keyword in known:
            return f"{start}; give {ours}"
        for place, names in elsewhere.items():
            if keyword in names():
                return f"{start}; {place} takes {ours}"
    for place, names in elsewhere.items():
        if name in names():
            return f"{start}; {place} takes it"
    if close := get_close_matches(name, known, n=1, cutoff=0.7):
        return f"{start}; did you mean {close[0]}?"
    return f"{start}; it has {', '.join(sorted(known))}"


def _in_ours(name: str, value: object) -> str | None:
    if name in attrs.fields_dict(Limits):
        return f"limits=Limits({name}={_shown(value)})"
    following = _shown(value + 1) if isinstance(value, int) else "…"
    return FOREIGN[name].format(_shown(value), next=following) if name in FOREIGN else None


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, int | float | str) else "…"
    return text if len(text) <= _LONGEST else "…"
