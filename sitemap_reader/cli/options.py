"""The options that commands share, in groups; each decorator adds one group.

In: what was typed. Out: keywords: network() hands on one dict of SitemapReader's keywords.
"""

from __future__ import annotations

import functools
import math
import re
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..limits import GIB, KIB, MIB, OPTIONS, Limits
from ..read.scope import MODES
from .command import GroupedOption

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")

_DEFAULTS = Limits()
# RFC 9110 5.6.2: a field name is a token.
_HEADER = re.compile(r"\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*([^\x00-\x08\x0a-\x1f\x7f]*?)\s*")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BYTES = re.compile(r"([0-9]{1,18}) *(|[kmg])(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": KIB, "m": MIB, "g": GIB}


def _length(context: click.Context, param: click.Parameter, seconds: float) -> float:
    """A length of time: 0 only where waiting not at all makes sense."""
    if not math.isfinite(seconds) or seconds < 0 or (seconds == 0 and param.name == "timeout"):
        raise click.BadParameter(f"{seconds:g} is no length of time; give a number of seconds", context, param)
    return seconds


def _headers(context: click.Context, param: click.Parameter, lines: tuple[str, ...]) -> list[tuple[str, str]]:
    """`Name: value` -> (name, value)."""
    matches = [_HEADER.fullmatch(line) for line in lines]
    for line, match in zip(lines, matches, strict=True):
        if match is None:
            raise click.BadParameter(f"{line!r} is no header; write it as 'Name: value'", context, param)
    return [(match[1], match[2]) for match in matches if match]


def _bytes(context: click.Context, param: click.Parameter, text: str) -> int:
    """`500M`, `2 GiB` or `1000000`: how many bytes."""
    size = _BYTES.fullmatch(text.strip())
    if size is None or not int(size[1]):
        raise click.BadParameter(f"{text!r} is no size; write it as 500M, 2G or a number of bytes", context, param)
    return int(size[1]) * _UNITS[size[2].lower()]


def _sendable(context: click.Context, param: click.Parameter, text: str | None) -> str | None:
    if text is not None and (not text.strip() or _CONTROL.search(text)):
        raise click.BadParameter(f"{text!r} cannot be sent", context, param)
    return text


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
    "Output", "-o", "--output", metavar="FILE", default_is="stdout", help="Write to FILE; - is stdout."
)
_REPORT = option(
    "Output",
    "--report",
    metavar="FILE",
    default_is="none",
    help="Write every problem and outcome to FILE as JSONL; - merges them into stdout.",
)
_QUIET = _flag("Output", "-q", "--quiet", help="Show errors only: no problems, no summary.")
_VERBOSE = _flag("Output", "-v", "--verbose", help="Show infos too, and a line for each finished document.")
_FORMAT = option(
    "Output",
    "--format",
    type=click.Choice(["table", "tsv", "jsonl"]),
    default_is="table on a terminal, else tsv",
    help="How to write the rows.",
)


def scope(default: str) -> Callable[[Any], Any]:
    """--scope, whose default differs."""
    return option(
        "Filter",
        "--scope",
        type=click.Choice(MODES),
        default=default,
        help="Which URLs a sitemap may list: by the protocol's host and path rules, by host, by domain, or any.",
    )


line_output = stacked(output_file, _REPORT, _QUIET, _VERBOSE)
table_output = stacked(output_file, _FORMAT, _QUIET, _VERBOSE)

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
        default_is="no bound",
        help="URLs with a lastmod of then or later: a date such as 2026-05-31, or an age such as 7d or 12h. "
        "Leaves out sitemaps that their index calls older.",
    ),
    option(
        "Filter",
        "--until",
        metavar="WHEN",
        default_is="no bound",
        help="URLs with a lastmod of then or earlier; a date takes in its whole day.",
    ),
    option(
        "Filter",
        "--undated",
        type=click.Choice(["keep", "drop"]),
        default="keep",
        help="What to do with URLs without a lastmod when --since or --until is given.",
    ),
)

_DOCUMENT_LIMITS = (
    option(
        "Safety",
        "--max-decoded-bytes",
        metavar="SIZE",
        callback=_bytes,
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
        callback=_length,
        default=_DEFAULTS.read_seconds,
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
        callback=_length,
        default=_DEFAULTS.max_wait_seconds,
        help="The longest Retry-After that is waited for; a host that asks for more is given up.",
    ),
    option(
        "Network",
        "-H",
        "--header",
        "headers",
        metavar="'NAME: VALUE'",
        callback=_headers,
        multiple=True,
        default_is="none",
        help="Send a header with every request; may be repeated.",
    ),
    option(
        "Network",
        "-A",
        "--user-agent",
        metavar="TEXT",
        callback=_sendable,
        default_is="sitemap-reader/VERSION",
        help="Who to say we are; also whom robots.txt is read for.",
    ),
    _flag("Network", "--no-robots", help="Fetch also what robots.txt forbids, without its Crawl-delay."),
    option(
        "Network",
        "--probe",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        help="Try well-known paths such as /sitemap.xml: auto where robots.txt names no sitemap.",
    ),
    option(
        "Network",
        "--record",
        metavar="DIR",
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
    reading = {name: kwargs.pop(name) for name in ("concurrency", "per_host", "headers", "probe", "record")}
    reading |= {"limits": caps, "obey_robots": not kwargs.pop("no_robots")}
    reading["allow_private"] = kwargs.pop("allow_private")
    user_agent = kwargs.pop("user_agent")
    return reading if user_agent is None else {**reading, "user_agent": user_agent}


targets = click.argument("targets", metavar="TARGET...", nargs=-1, required=True)
