"""The options of whatever fetches, or reads a document, and their defaults, which are those of Limits.

In: what was typed. Out: keywords: network() hands on one dict of SitemapReader's keywords.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import click

from ..model.limits import MIB, MOST_CRAWL_DELAY_SECONDS, OPTIONS, Limits
from . import options as typed
from .options import FILE, flag, number, option, stacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# As reader.py has them, which would load much that help has no use for; a test compares.
PROBES = ("auto", "always", "never")

_DEFAULTS = Limits()

_DOCUMENT_LIMITS = (
    option(
        "Safety",
        "--max-decoded-bytes",
        metavar="SIZE",
        callback=typed.size,
        default=f"{_DEFAULTS.max_decoded_bytes // MIB}M",
        help="Maximum decompressed size per sitemap, as 500M, 2G or a number of bytes.",
    ),
    option(
        "Safety",
        "--max-wire-bytes",
        metavar="SIZE",
        callback=typed.size,
        default_is=f"{_DEFAULTS.max_wire_bytes // MIB}M, or --max-decoded-bytes where that is more",
        help="Maximum size per sitemap as it is sent, compressed or not.",
    ),
    number(
        "Safety",
        "--max-urls",
        default=_DEFAULTS.max_entries,
        help="Read no more URLs, or sitemaps of an index, of one document.",
    ),
)
# keyword -> field of Limits
_LIMITS = {option.removeprefix("--").replace("-", "_"): field for field, option in OPTIONS.items()}

_CONCURRENCY = number(
    "Network",
    "--concurrency",
    default=16,
    help="Requests in flight in all.",
)
_RECORD = option(
    "Network",
    "--record",
    metavar="DIR|FILE.warc[.gz]",
    type=FILE,
    default_is="none",
    help="Write every answer to a folder, or to a WARC file, which can then be read as a TARGET.",
)
_NETWORK = (
    _CONCURRENCY,
    number(
        "Network",
        "--per-host",
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
        help=f"Read timeout (connect timeout: {_DEFAULTS.connect_seconds:.0f} s).",
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
        "--max-crawl-delay",
        metavar="SECONDS",
        type=float,
        callback=typed.crawl_delay,
        default=_DEFAULTS.max_crawl_delay_seconds,
        default_is=f"{_DEFAULTS.max_crawl_delay_seconds:g}",
        help="The longest Crawl-delay that is kept, up to "
        f"{MOST_CRAWL_DELAY_SECONDS:g}; a host that asks for more is skipped.",
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
        help="Send a header to the site of each TARGET, and to no other; may be repeated.",
    ),
    option(
        "Network",
        "--auth",
        metavar="USER:PASSWORD",
        callback=typed.login,
        default_is="none",
        help="Log in to the site of each TARGET by basic authentication. Process lists show it; --netrc avoids that.",
    ),
    flag("Network", "--netrc", help="Take logins by host from the file that $NETRC names, or from ~/.netrc."),
    option(
        "Network",
        "--netrc-file",
        metavar="FILE",
        type=FILE,
        default_is="none",
        help="Take logins by host from this netrc file.",
    ),
    option(
        "Network",
        "-A",
        "--user-agent",
        metavar="TEXT",
        callback=typed.sendable,
        default_is="sitemap-reader/VERSION",
        help="User-Agent header, also matched against robots.txt groups.",
    ),
    option(
        "Network",
        "--proxy",
        metavar="URL",
        default_is="none",
        help="Send every request by this HTTP proxy; names are then resolved by it.",
    ),
    option(
        "Network",
        "--cacert",
        metavar="FILE",
        type=FILE,
        default_is="the system's certificates",
        help="Trust the certificates in this PEM file, and no others.",
    ),
    flag("Network", "--insecure", help="Do not verify TLS certificates, so that any server may pose as the site."),
    flag("Network", "--no-robots", help="Fetch also what robots.txt forbids, without its Crawl-delay."),
    option(
        "Network",
        "--probe",
        type=click.Choice(PROBES),
        default="auto",
        help="Try well-known paths such as /sitemap.xml: auto where robots.txt names no sitemap.",
    ),
    _RECORD,
    option(
        "Safety",
        "--max-depth",
        metavar="N",
        type=click.IntRange(min=0),
        default=_DEFAULTS.max_index_depth,
        help="How many indexes deep to look for sitemaps.",
    ),
    *_DOCUMENT_LIMITS,
    flag("Safety", "--allow-private", help="Permit private, loopback and link-local addresses."),
)

document_limits = stacked(*_DOCUMENT_LIMITS)


def limits(kwargs: dict[str, Any], **others: Any) -> Limits:
    """Takes the limits out of `kwargs`; `others` are fields of Limits that come from elsewhere."""
    fields = {field: kwargs.pop(name) for name, field in _LIMITS.items() if name in kwargs}
    if fields.get("max_wire_bytes", 0) is None:
        fields["max_wire_bytes"] = max(_DEFAULTS.max_wire_bytes, fields["max_decoded_bytes"])
    return Limits(**fields, **others)


jobs = number(
    "Network",
    "-j",
    "--jobs",
    default_is="cores; 1 for small sites",
    help="Processes that read sitemaps, beside the one that fetches and writes.",
)


def _network(options: Iterable[Callable[[Any], Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """These options; a function gets what was typed as `reading`, keywords of SitemapReader."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def with_reading(**kwargs: Any) -> Any:
            return function(reading=_reading(kwargs), **kwargs)

        return stacked(*options)(with_reading)  # type: ignore[no-any-return]

    return decorate


# The options of whatever fetches; and of what reads many sites at once, in other processes.
network = _network(_NETWORK)
network_of_many = _network(each for each in _NETWORK if each not in (_CONCURRENCY, _RECORD))


def _reading(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Takes the network options out of `kwargs`."""
    timeout = kwargs.pop("timeout")
    caps = limits(
        kwargs,
        read_seconds=timeout,
        connect_seconds=min(timeout, _DEFAULTS.connect_seconds),
        tries=kwargs.pop("retries") + 1,
    )
    if kwargs["insecure"]:
        _say_insecure(quiet=kwargs["quiet"])
    names = ("concurrency", "per_host", "headers", "auth", "proxy", "cacert", "insecure", "probe", "record")
    reading = {name: kwargs.pop(name) for name in names if name in kwargs}
    reading |= {"limits": caps, "obey_robots": not kwargs.pop("no_robots")}
    reading["allow_private"] = kwargs.pop("allow_private")
    has_netrc, netrc_file = kwargs.pop("netrc"), kwargs.pop("netrc_file")
    reading["netrc"] = has_netrc if netrc_file is None else netrc_file
    user_agent = kwargs.pop("user_agent")
    return reading if user_agent is None else {**reading, "user_agent": user_agent}


def _say_insecure(*, quiet: bool) -> None:
    if not quiet:
        from .messages import Console  # here: help has no use for it

        Console().line("warning TLS certificates are not verified (--insecure)")
