"""The options that commands share, in groups; each decorator adds one group.

In: what was typed. Out: keywords: network() hands on one dict of SitemapReader's keywords.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..limits import MIB, OPTIONS, Limits
from . import typed
from .command import GroupedOption

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")

# As read/scope.py, sinks.py and reader.py have them, which would load much that help has no use for; a test compares.
SCOPES = ("protocol", "host", "domain", "any")
FORMATS = ("jsonl", "csv", "tsv", "txt", "parquet")
PROBES = ("auto", "always", "never")
TRUSTS = ("auto", "always", "never")
# Of what is a table to people.
ROWS_FORMATS = ("table", "tsv", "jsonl")

FILE = typed.Name()

_DEFAULTS = Limits()


def option(heading: str, *names: str, default_is: str | None = None, **kwargs: Any) -> Callable[[Function], Function]:
    """A click option under a heading; `default_is` says in words what happens without it."""
    kwargs["show_default"] = default_is or True
    return click.option(*names, cls=GroupedOption, heading=heading, **kwargs)


def stacked(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Decorators as one; the first one's option stands first in the help."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def _flag(heading: str, *names: str, help: str) -> Callable[[Any], Any]:
    return option(heading, *names, is_flag=True, default_is="off", help=help)


output_file = option(
    "Output",
    "-o",
    "--output",
    metavar="FILE",
    type=FILE,
    default_is="stdout",
    help="Write to FILE; - is stdout.",
)
report = option(
    "Output",
    "--report",
    metavar="FILE",
    type=FILE,
    default_is="none",
    help="Write every problem and outcome to FILE as JSONL; - merges them into stdout.",
)
_QUIET = _flag("Output", "-q", "--quiet", help="Show errors only: no problems, no summary.")
_VERBOSE = _flag("Output", "-v", "--verbose", help="Show infos too, and a line for each finished document.")

def table_format(default: str) -> Callable[[Any], Any]:
    """--format of what is a table to people; `default` says in words how it is written without."""
    choices = click.Choice(ROWS_FORMATS)
    return option("Output", "--format", type=choices, default_is=default, help="How to write the rows.")


def record_format(default: str) -> Callable[[Any], Any]:
    """--format and --fields of URLs; `default` says in words how they are written without."""
    return stacked(
        option(
            "Output",
            "--format",
            type=click.Choice(FORMATS),
            default_is=default,
            help="How to write the URLs; parquet needs pyarrow.",
        ),
        option(
            "Output",
            "--fields",
            metavar="NAMES",
            default_is="all",
            help="Only these, in this order: loc,lastmod,images.loc",
        ),
    )


unique = _flag("Output", "--unique", help="Write each URL once, however many sitemaps list it.")


def scope(default: str) -> Callable[[Any], Any]:
    """--scope, whose default differs."""
    return option(
        "Filter",
        "--scope",
        type=click.Choice(SCOPES),
        default=default,
        help="Which URLs a sitemap may list: by the protocol's host and path rules, by host, by domain, or any.",
    )


loudness = stacked(_QUIET, _VERBOSE)
table_output = stacked(output_file, table_format("table on a terminal, else tsv"), loudness)
quiet = _flag("Output", "-q", "--quiet", help="Show errors only: no summary.")

changed_on = option(
    "Filter",
    "--on",
    type=click.Choice(["any", "lastmod"]),
    default="any",
    help="What makes a URL updated: anything that the site states of it, or its lastmod alone.",
)
state = option(
    "State",
    "--state",
    metavar="FILE",
    type=FILE,
    required=True,
    default_is="must be given",
    help="What is remembered of the sites, in one SQLite file; made if there is none.",
)
following = stacked(
    option(
        "State",
        "--trust-lastmod",
        type=click.Choice(TRUSTS),
        default="auto",
        help="Do not even ask for a sitemap whose index states the same lastmod as before: auto where the index has "
        "proved honest, once a day all the same.",
    ),
    _flag("State", "--dry-run", help="Tell what has changed, and leave FILE as it is."),
    _flag("State", "--full", help="Read everything anew; needed where --scope and other filters are not as before."),
    _flag("State", "--accept-removals", help="Tell of removals even if they are most of the URLs."),
    _flag("State", "--history", help="Only show the runs that FILE knows of, of the TARGETs or of all."),
)
exit_code = _flag("Output", "--exit-code", help="Exit with 1 where there is a difference.")

limit = option(
    "Output", "--limit", metavar="N", type=click.IntRange(min=1), default_is="no limit", help="Stop after N URLs."
)

extras = _flag(
    "Output", "--extras", help="Keep elements of other namespaces too: each line that has some gets its extras."
)

dates = stacked(
    option(
        "Filter",
        "--since",
        metavar="WHEN",
        callback=typed.when,
        default_is="no bound",
        help="URLs with a lastmod of then or later: a date such as 2026-05-31, or an age such as 7d or 12h. "
        "Leaves out sitemaps that their index calls older.",
    ),
    option(
        "Filter",
        "--until",
        metavar="WHEN",
        callback=typed.when,
        default_is="no bound",
        help="URLs with a lastmod of then or earlier; a date takes in its whole day.",
    ),
    option(
        "Filter",
        "--undated",
        type=click.Choice(["keep", "drop"]),
        default="keep",
        help="What to do with URLs without a lastmod.",
    ),
)


def _patterns(name: str, help: str) -> Callable[[Any], Any]:
    return option(
        "Filter",
        name,
        metavar="REGEX",
        multiple=True,
        callback=typed.regular_expressions,
        default_is="none",
        help=f"{help}; may be repeated.",
    )


pages = stacked(
    _patterns("--include", "Only URLs in which this is found"),
    _patterns("--exclude", "No URL in which this is found"),
)
sitemaps = stacked(
    _patterns("--follow", "Of the sitemaps that an index lists, only those in whose URL this is found"),
    _patterns("--no-follow", "No sitemap in whose URL this is found, even if robots.txt names it"),
)

_DOCUMENT_LIMITS = (
    option(
        "Safety",
        "--max-decoded-bytes",
        metavar="SIZE",
        callback=typed.size,
        default=f"{_DEFAULTS.max_decoded_bytes // MIB}M",
        help="Read no more of one document, unpacked; as 500M, 2G or a number of bytes.",
    ),
    option(
        "Safety",
        "--max-urls",
        metavar="N",
        type=click.IntRange(min=1),
        default=_DEFAULTS.max_entries,
        help="Read no more URLs, or sitemaps of an index, of one document.",
    ),
)
# keyword -> field of Limits
_LIMITS = {option.removeprefix("--").replace("-", "_"): field for field, option in OPTIONS.items()}

_NETWORK = (
    option(
        "Network",
        "--concurrency",
        metavar="N",
        type=click.IntRange(min=1),
        default=16,
        help="Requests in flight in all.",
    ),
    option(
        "Network",
        "--per-host",
        metavar="N",
        type=click.IntRange(min=1),
        default=4,
        help="Requests in flight to one host.",
    ),
    option(
        "Network",
        "--timeout",
        metavar="SECONDS",
        type=float,
        callback=typed.length,
        default=_DEFAULTS.read_seconds,
        default_is=f"{_DEFAULTS.read_seconds:g}",
        help="Give a request up after so long without a byte; connecting has "
        f"{_DEFAULTS.connect_seconds:.0f} s at most.",
    ),
    option(
        "Network",
        "--retries",
        metavar="N",
        type=click.IntRange(min=0),
        default=_DEFAULTS.tries - 1,
        help="How often to try again after 5xx, resets and timeouts.",
    ),
    option(
        "Network",
        "--max-wait",
        metavar="SECONDS",
        type=float,
        callback=typed.length,
        default=_DEFAULTS.max_wait_seconds,
        default_is=f"{_DEFAULTS.max_wait_seconds:g}",
        help="The longest Retry-After that is waited for; a host that asks for more is given up.",
    ),
    option(
        "Network",
        "-H",
        "--header",
        "headers",
        metavar="'NAME: VALUE'",
        callback=typed.headers,
        multiple=True,
        default_is="none",
        help="Send a header with every request; may be repeated.",
    ),
    option(
        "Network",
        "-A",
        "--user-agent",
        metavar="TEXT",
        callback=typed.sendable,
        default_is="sitemap-reader/VERSION",
        help="Who to say we are; also whom robots.txt is read for.",
    ),
    option(
        "Network",
        "--proxy",
        metavar="URL",
        default_is="none",
        help="Send every request by this HTTP proxy; names are then resolved by it.",
    ),
    _flag("Network", "--no-robots", help="Fetch also what robots.txt forbids, without its Crawl-delay."),
    option(
        "Network",
        "--probe",
        type=click.Choice(PROBES),
        default="auto",
        help="Try well-known paths such as /sitemap.xml: auto where robots.txt names no sitemap.",
    ),
    option(
        "Network",
        "--record",
        metavar="DIR",
        type=FILE,
        default_is="none",
        help="Write every answer to DIR, which can then be read as a TARGET.",
    ),
    option(
        "Safety",
        "--max-depth",
        metavar="N",
        type=click.IntRange(min=0),
        default=_DEFAULTS.max_index_depth,
        help="How many indexes deep to look for sitemaps.",
    ),
    *_DOCUMENT_LIMITS,
    _flag("Safety", "--allow-private", help="Permit private, loopback and link-local addresses."),
)

document_limits = stacked(*_DOCUMENT_LIMITS)


def limits(kwargs: dict[str, Any], **others: Any) -> Limits:
    """Takes the limits out of `kwargs`; `others` are fields of Limits that come from elsewhere."""
    fields = {field: kwargs.pop(name) for name, field in _LIMITS.items() if name in kwargs}
    return Limits(**fields, **others)


jobs = option(
    "Network",
    "-j",
    "--jobs",
    metavar="N",
    type=click.IntRange(min=1),
    default_is="cores; 1 for small sites",
    help="Processes that read sitemaps, beside the one that fetches and writes.",
)


def network(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of whatever fetches; the function gets them as `reading`, keywords of SitemapReader."""

    @functools.wraps(function)
    def with_reading(**kwargs: Any) -> Any:
        return function(reading=_reading(kwargs), **kwargs)

    return stacked(*_NETWORK)(with_reading)  # type: ignore[no-any-return]


def _reading(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Takes the network options out of `kwargs`."""
    timeout = kwargs.pop("timeout")
    caps = limits(
        kwargs,
        read_seconds=timeout,
        connect_seconds=min(timeout, _DEFAULTS.connect_seconds),
        tries=kwargs.pop("retries") + 1,
    )
    reading = {name: kwargs.pop(name) for name in ("concurrency", "per_host", "headers", "proxy", "probe", "record")}
    reading |= {"limits": caps, "obey_robots": not kwargs.pop("no_robots")}
    reading["allow_private"] = kwargs.pop("allow_private")
    user_agent = kwargs.pop("user_agent")
    return reading if user_agent is None else {**reading, "user_agent": user_agent}


def _targets(*, required: bool) -> Callable[[Any], Any]:
    return click.argument("targets", metavar="TARGET...", type=FILE, nargs=-1, required=required)


targets = _targets(required=True)
targets_if_any = _targets(required=False)
