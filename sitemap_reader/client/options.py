"""The keywords of the functions that read a site: types for type checkers, and an Option of each.

Not `from __future__ import annotations`: the annotations are read at run time, with model/options.py. The command line
imports this module at its start, so types that need other modules are texts.
"""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import attrs

from ..model.errors import UsageError
from ..model.limits import MOST_DELAY_SECONDS, Limits, checked_limits
from ..model.options import (
    FUNCTION,
    TEXT,
    Ack,
    AutoMode,
    On,
    Option,
    ScopeMode,
    Undated,
    callback,
    one_of_types,
    positive,
    seconds_up_to,
)
from ..version import USER_AGENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    import aiohttp

    from ..fetch.client import Fetcher
    from ..fetch.request_headers import Logins
    from ..frontier.plan import Moment, Pattern
    from ..frontier.robots_rules import RobotsPolicy
    from ..model.records import Item, Outcome, SitemapRef
    from ..parser.dialects.feed_fallback import FeedFallback
    from ..state.documents import StoredDocument
    from ..state.state import State
    from .summary import Progress, UrlSet

FILE = one_of_types("the name of a file", str, os.PathLike, NoneType)
_RECORDING = one_of_types("the name of a folder or a WARC file", str, os.PathLike, NoneType)


# Checks of texts, whose modules --help does not need.


def moment(name: str, value: Any) -> None:
    """UsageError for what is no date, age or None."""
    from ..frontier.plan import make_moment

    if value is not None:
        make_moment(name, value, datetime.now(UTC))


def _patterns(name: str, value: Any) -> None:
    from ..frontier.plan import make_patterns

    if not callable(value) and not hasattr(value, "__next__"):  # an iterator can be read once
        make_patterns(name, value)


def _patterns_or_function(name: str, value: Any) -> None:
    try:
        _patterns(name, value)
    except UsageError as error:
        if not error.allowed:
            raise
        allowed = f"{error.allowed}, or one function of a SitemapRef"
        raise UsageError(keyword=name, value=error.value, allowed=allowed) from None


def _agents(name: str, value: Any) -> None:
    from ..frontier.robots_rules import agent_names

    if value is not None:
        agent_names(value)


def _robots_policy(name: str, value: Any) -> None:
    from ..frontier.robots_rules import check_policy

    check_policy(name, value)


def _login(name: str, value: Any) -> None:
    from ..fetch.request_headers import make_headers

    make_headers((), value)


def _base(name: str, value: Any) -> None:
    from .targets import clean_base

    if value is not None:
        clean_base(value)


_ON_PROGRESS = callback("Called with a Progress, a few times a second.")
SHOW_PROGRESS = Option("Show a progress bar: a widget in a notebook, a line on a terminal, nothing elsewhere.", False)
_FOUND = "this regular expression is found, or one of several"


class ReaderOptions(TypedDict, total=False):
    """The keywords of SitemapReader, for the functions that pass them on: all but `session`."""

    user_agent: Annotated[
        str,
        Option(
            "User-Agent header, also matched against robots.txt groups.",
            USER_AGENT,
            default_as='"sitemap-reader/VERSION"',
            flags="-A --user-agent",
            check=TEXT,
        ),
    ]
    headers: Annotated[
        "Mapping[str, str] | Iterable[tuple[str, str]]",
        Option(
            "Request headers, for the registrable domain of the target only, and never over http if that is https; a "
            "User-Agent goes to every host.",
            (),
            flags="-H --header",
        ),
    ]
    scope: Annotated[
        ScopeMode,
        Option(
            "URLs that a sitemap may list: by the protocol (on its host and below its folder, or on hosts whose "
            "robots.txt names it), on its host, on its domain, or any.",
            "protocol",
        ),
    ]
    probe: Annotated[
        AutoMode,
        Option(
            "Try links of the start page, then well-known paths such as /sitemap.xml; auto: only if robots.txt names "
            "no readable sitemap.",
            "auto",
        ),
    ]
    obey_robots: Annotated[
        "bool | RobotsPolicy",
        Option(
            "Keep to the Disallow rules and the Crawl-delay of robots.txt.",
            True,
            in_python="Also a sr.frontier.RobotsPolicy, which decides for each URL and host.",
            flags="--no-robots",
            check=_robots_policy,
        ),
    ]
    allow_private: Annotated[bool, Option("Allow private, loopback and link-local addresses.", False)]
    auth: Annotated[
        "str | tuple[str, str] | None",
        Option(
            "Basic authentication, USER:PASSWORD, for the same hosts as `headers`; USER:PASSWORD@ in a target goes to "
            "its host only. In a command other users can see both; `netrc` avoids that.",
            check=_login,
        ),
    ]
    netrc: Annotated[
        "bool | str | Path | Logins",
        Option(
            "Read logins by host from the file named by $NETRC, or from ~/.netrc. Each goes to its host over https, "
            "and over http only if the target is that host on http.",
            False,
            in_python="Also the name of a netrc file.",
        ),
    ]
    proxy: Annotated[
        "str | Callable[[str], str | None] | None",
        Option(
            "Proxy for all requests, http://HOST:PORT, socks5h://HOST:PORT (or https, socks5, socks4a, socks4), with "
            "USER:PASSWORD@ or not; or env: those of HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, which are not "
            "used otherwise.",
            in_python="Also a function from the URL of a request to that of its proxy, or None.",
            is_called=True,
        ),
    ]
    cacert: Annotated["str | Path | None", Option("Trust only the certificates in this PEM file.", check=FILE)]
    insecure: Annotated[bool, Option("Do not verify TLS certificates.", False)]
    concurrency: Annotated[int, Option("Maximum number of requests at once, to all hosts.", 16, check=positive)]
    per_host: Annotated[int, Option("Maximum number of requests at once to one host.", 4, check=positive)]
    delay: Annotated[
        float,
        Option(
            f"Seconds between the starts of two requests to a host, up to {MOST_DELAY_SECONDS:g}, which are then one "
            "at a time; a longer Crawl-delay of robots.txt replaces it.",
            0.0,
            default_as="0",
            check=seconds_up_to(MOST_DELAY_SECONDS),
        ),
    ]
    limits: Annotated[
        Limits,
        Option(
            "Limits of sizes, counts and seconds, each with its unit in its name: see help(sr.Limits).",
            Limits(),
            default_as="Limits()",
            check=lambda name, value: checked_limits(value) and None,
        ),
    ]
    fetcher: Annotated[
        "Fetcher | None", Option("A sr.fetch.Fetcher that replaces the network, with proxies and TLS of its own.")
    ]
    extras: Annotated[bool, Option("Keep elements of unknown namespaces, as extras of their URL.", False)]
    feed_fallback: Annotated[
        "FeedFallback | None",
        callback(
            "Reads a feed from which the streaming parser gets nothing; None leaves such feeds unread.",
            default_as="feedparser_fallback",
        ),
    ]
    record: Annotated[
        "str | Path | None",
        Option(
            "Write every response to a folder, or to a WARC file; either can then be read as a target.",
            check=_RECORDING,
        ),
    ]
    base: Annotated[
        str | None,
        Option(
            "Read the target, a folder or a file on the disk, as the site that will be at this URL, without any "
            "request; in a command - is then one document on stdin.",
            check=_base,
        ),
    ]
    host_map: Annotated[
        "Mapping[str, str] | None",
        Option(
            "Send requests for host A to host B, as from https://www.example.com to https://staging.example.com. "
            "Records and problems have the URLs of A; `auth`, `netrc` and `headers` go to B only.",
            flags="--map",
            check=one_of_types("a dict of hosts", Mapping, NoneType),
        ),
    ]


class SessionOptions(ReaderOptions, total=False):
    """The keywords of SitemapReader."""

    session: Annotated[
        "aiohttp.ClientSession | None",
        Option(
            "Your aiohttp.ClientSession, which stays open; its connector has to be a sr.fetch.guarded_connector(). Its "
            "User-Agent, if it has one, is the default of `user_agent`."
        ),
    ]


class RobotsOptions(TypedDict, total=False):
    """The crawlers for which robots.txt is judged; requests obey it for `user_agent`, whatever is given here."""

    robots_for: Annotated[
        "str | Iterable[str] | None",
        Option(
            "Crawlers whose rules in robots.txt count: names such as googlebot,GPTBot, whole User-Agent headers, or * "
            "for crawlers that it does not name.",
            check=_agents,
        ),
    ]


class PatternOptions(TypedDict, total=False):
    """Which URLs and sitemaps are read, whatever their dates."""

    include: Annotated[
        "Pattern | Iterable[Pattern] | None", Option(f"Keep only URLs in which {_FOUND}.", check=_patterns)
    ]
    exclude: Annotated["Pattern | Iterable[Pattern] | None", Option(f"Drop URLs in which {_FOUND}.", check=_patterns)]
    follow: Annotated[
        "Callable[[SitemapRef], bool] | Pattern | Iterable[Pattern] | None",
        Option(
            f"Of the sitemaps that robots.txt and indexes list read only those in whose URL {_FOUND}; all of a "
            "robots.txt if that holds for none of these, which mostly are indexes.",
            in_python="Also a function of the SitemapRef, which returns whether it is read, and decides on each; its "
            "`sitemap` is where it is listed.",
            is_called=True,
            check=_patterns_or_function,
        ),
    ]
    no_follow: Annotated[
        "Callable[[SitemapRef], bool] | Pattern | Iterable[Pattern] | None",
        Option(
            f"Never read sitemaps in whose URL {_FOUND}, however they are found.",
            in_python="Also a function of the SitemapRef, which returns whether it is left out.",
            is_called=True,
            check=_patterns_or_function,
        ),
    ]


class FilterOptions(PatternOptions, total=False):
    """Which URLs and sitemaps are read."""

    since: Annotated[
        "Moment | None",
        Option(
            "Keep only URLs with a lastmod at or after this: a date such as 2026-05-31 or 2026-05, or an age such as "
            "7d or 12h; the period that the lastmod states has to overlap. Also skips sitemaps whose index lastmod is "
            "older: see `trust_lastmod`.",
            check=moment,
        ),
    ]
    until: Annotated[
        "Moment | None",
        Option(
            "Keep only URLs with a lastmod at or before this, as for `since`; a date includes its whole day.",
            check=moment,
        ),
    ]
    undated: Annotated[Undated, Option("With `since` or `until`: keep or drop URLs without a lastmod.", "keep")]
    trust_lastmod: Annotated[
        AutoMode,
        Option(
            "Whether `since` skips sitemaps whose index lastmod is older. auto reads up to three of them first, and "
            "skips the rest if these agree with the index; if not (D05), it reads all. always skips all of them; never "
            "reads them all.",
            "auto",
        ),
    ]


class ItemOptions(TypedDict, total=False):
    """The keyword for what is no URL."""

    on_item: Annotated[
        "Callable[[Item], None] | None",
        callback("Called with each item that is not a URL: SitemapRef, Problem, Outcome."),
    ]


class OutcomeOption(TypedDict, total=False):
    """The keyword for the ends of documents."""

    on_outcome: Annotated[
        "Callable[[Outcome], None] | None", callback("Called with the Outcome of each document when it ends.")
    ]


class ProgressOptions(OutcomeOption, total=False):
    """What a run reports of its progress. An exception in a callback ends the run, and is raised to the caller."""

    on_progress: Annotated["Callable[[Progress], None] | None", _ON_PROGRESS]
    show_progress: Annotated[bool, SHOW_PROGRESS]


class QueryOptions(FilterOptions, ItemOptions, ProgressOptions, total=False):
    """The keywords of SitemapReader.urls()."""

    unique: Annotated[
        "bool | UrlSet",
        Option(
            "Each URL once, however many sitemaps list it.",
            False,
            in_python="With a UrlSet once over all streams that share it.",
        ),
    ]
    limit: Annotated[int | None, Option("Stop after so many URLs.", check=positive)]


class WaitOptions(TypedDict, total=False):
    """The keyword of streams that are read in a thread."""

    on_wait: Annotated[
        "Callable[[], None] | None", callback("Called a few times a second while there is nothing to yield.")
    ]


class RemovalOptions(TypedDict, total=False):
    """What becomes of URLs that are not listed any more."""

    accept_removals: Annotated[
        bool,
        Option(
            "Remove URLs at once, also if they are all of a site or of a sitemap, or more than 10 and more than half "
            "of a site; otherwise a run 24 hours later has to find the same, and until then they are held back (X01).",
            False,
        ),
    ]


class UpdateOptions(RemovalOptions, total=False):
    """What counts as a change."""

    on: Annotated[On, Option("What counts as an update: any field that the site states, or the lastmod alone.", "any")]


class FullOption(TypedDict, total=False):
    """The keyword for a run that reads all."""

    full: Annotated[
        bool,
        Option(
            "Read everything again, without conditional requests; needed after a change of `scope` or other filters.",
            False,
        ),
    ]


class SyncOptions(PatternOptions, ItemOptions, ProgressOptions, UpdateOptions, FullOption, total=False):
    """The keywords of SitemapReader.changes(), without `state`."""

    trust_lastmod: Annotated[
        AutoMode,
        Option(
            "Whether to skip the request for a sitemap whose index lastmod is unchanged; auto: if the dates of that "
            "index proved accurate, for at most a day. Other requests are conditional (ETag, Last-Modified).",
            "auto",
        ),
    ]
    dry_run: Annotated[bool, Option("Find the changes, but do not store them in the state.", False)]
    on_document: Annotated[
        "Callable[[StoredDocument], None] | None",
        callback("Called with the StoredDocument of each sitemap, which rates how accurate its dates are."),
    ]
    clock: Annotated[
        "Callable[[], datetime]",
        Option(
            "Returns the current time as an aware datetime; by default the system's.",
            default_as="...",
            check=FUNCTION,
            is_called=True,
        ),
    ]


class StateOption(TypedDict):
    """The keyword of what is read against a state."""

    state: Annotated[
        "State | str | Path",
        Option(
            "SQLite file with what earlier runs found; created if missing.", in_python="Also an open sr.state.State."
        ),
    ]


class AckOption(TypedDict, total=False):
    """The keyword of the streams of changes."""

    ack: Annotated[
        Ack,
        Option(
            "When changes count as delivered: next, as soon as what follows is requested; manual, by commit(), which "
            "the end of the stream does not replace.",
            "next",
        ),
    ]


class StateSyncOptions(StateOption, SyncOptions, AckOption):
    """The keywords of SitemapReader.changes()."""


class SiteOptions(FilterOptions, ReaderOptions, total=False):
    """The keywords of what reads whole sites: snapshot(), harvest()."""


class SnapshotOptions(SiteOptions, total=False):
    """The keywords of snapshot()."""

    at: Annotated[
        "Moment | None",
        Option(
            "When files were read, from which ages are computed: a date, or name: the date in the name of each file.",
            check=lambda name, value: moment(name, None if value == "name" else value),
        ),
    ]
    on_progress: Annotated["Callable[[Progress], None] | None", _ON_PROGRESS]
    show_progress: Annotated[bool, attrs.evolve(SHOW_PROGRESS, default=True)]


class StreamUrlsOptions(QueryOptions, WaitOptions, total=False):
    """The keywords of Reader.urls()."""


class StreamChangesOptions(StateSyncOptions, WaitOptions):
    """The keywords of Reader.changes()."""


class UrlsOptions(StreamUrlsOptions, ReaderOptions, total=False):
    """The keywords of urls()."""


class ChangesOptions(StreamChangesOptions, ReaderOptions):
    """The keywords of changes()."""


class DiscoverOptions(ItemOptions, ReaderOptions, total=False):
    """The keywords of discover()."""
