"""The options of commands that fetch or read documents; their defaults are those of Limits.

In: the values of the command line. Out: keywords of SitemapReader.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import click

from ..model.limits import AUTO_MODES, MIB, MOST_CRAWL_DELAY_SECONDS, MOST_DELAY_SECONDS, OPTIONS, Limits
from . import option_types as types
from . import options
from .options import flag, number, option, seconds, stacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_DEFAULTS = Limits()

_DOCUMENT_LIMITS = (
    option(
        "Safety",
        "--max-decoded-bytes",
        metavar="SIZE",
        type=types.SIZE,
        callback=options.size,
        default=f"{_DEFAULTS.max_decoded_bytes // MIB}M",
        help="Maximum decompressed size per sitemap, such as 500M, 2G or a number of bytes.",
    ),
    option(
        "Safety",
        "--max-wire-bytes",
        metavar="SIZE",
        type=types.SIZE,
        callback=options.size,
        default_is=f"{_DEFAULTS.max_wire_bytes // MIB}M, or --max-decoded-bytes if that is more",
        help="Maximum size per sitemap as transferred, compressed or not.",
    ),
    number(
        "Safety",
        "--max-urls",
        default=_DEFAULTS.max_entries,
        help="Maximum number of URLs, or children of an index, per document.",
    ),
)
# keyword -> field of Limits
_LIMITS = {name.removeprefix("--").replace("-", "_"): field for field, name in OPTIONS.items()}

_CONCURRENCY = number("Network", "--concurrency", default=16, help="Maximum number of requests in flight.")
_SITE_SECONDS = seconds(
    "Network",
    "--site-seconds",
    default=_DEFAULTS.site_seconds,
    help="Longest time for the sitemaps of one site, from its first request on; what was read by then is kept.",
)
_RECORD = option(
    "Network",
    "--record",
    metavar="DIR|FILE.warc[.gz]",
    type=types.FOLDER_WRITTEN,
    help="Write every response to a folder, or to a WARC file; either can then be read as a TARGET.",
)
_MAP = option(
    "Network",
    "--map",
    "host_map",
    metavar="A=B",
    type=types.ADDRESS,
    callback=options.host_map,
    multiple=True,
    help="Send requests for host A to host B: https://www.example.com=https://staging.example.com. All that is written "
    "has the URLs of A; --auth, --netrc and headers go to B only (repeatable).",
)
_NETWORK = (
    _CONCURRENCY,
    number("Network", "--per-host", default=4, help="Maximum number of requests in flight to one host."),
    seconds(
        "Network",
        "--timeout",
        default=_DEFAULTS.read_seconds,
        help=f"Read timeout (connect timeout: {_DEFAULTS.connect_seconds:.0f} s).",
    ),
    number(
        "Network",
        "--retries",
        least=0,
        default=_DEFAULTS.tries - 1,
        help="Retries after 5xx, resets and timeouts.",
    ),
    seconds(
        "Network",
        "--max-wait",
        default=_DEFAULTS.max_wait_seconds,
        help="Longest Retry-After to wait for; a host that asks for more is skipped.",
    ),
    _SITE_SECONDS,
    seconds(
        "Network",
        "--delay",
        default=0.0,
        help=f"Time between two requests to a host, up to {MOST_DELAY_SECONDS:g}; a longer Crawl-delay of robots.txt "
        "replaces it.",
    ),
    seconds(
        "Network",
        "--max-crawl-delay",
        default=_DEFAULTS.max_crawl_delay_seconds,
        help=f"Longest Crawl-delay to obey, up to {MOST_CRAWL_DELAY_SECONDS:g}; a host that asks for more is skipped.",
    ),
    option(
        "Network",
        "-H",
        "--header",
        "headers",
        metavar="'NAME: VALUE'",
        type=types.HEADER,
        callback=options.headers,
        multiple=True,
        help="Send a header, only to the site of each TARGET (repeatable).",
    ),
    option(
        "Network",
        "--auth",
        metavar="USER:PASSWORD",
        type=types.LOGIN,
        callback=options.login,
        help="Basic authentication, only for the site of each TARGET. Other users can see it in process lists; --netrc "
        "avoids that.",
    ),
    flag(
        "Network",
        "--netrc",
        type=types.LOGINS_SWITCH,
        help="Read logins by host from the file named by $NETRC, or from ~/.netrc.",
    ),
    option("Network", "--netrc-file", type=types.NETRC, help="Read logins by host from this netrc file."),
    option(
        "Network",
        "-A",
        "--user-agent",
        metavar="TEXT",
        type=types.USER_AGENT,
        callback=options.header_text,
        default_is="sitemap-reader/VERSION",
        help="User-Agent header, also matched against robots.txt groups.",
    ),
    option(
        "Network",
        "--proxy",
        metavar="URL",
        type=types.ADDRESS,
        help="HTTP proxy for all requests; it resolves the host names.",
    ),
    option(
        "Network",
        "--cacert",
        type=types.CERTIFICATES,
        default_is="the system's certificates",
        help="Trust only the certificates in this PEM file.",
    ),
    flag("Network", "--insecure", type=types.TRUST_SWITCH, help="Do not verify TLS certificates."),
    flag("Network", "--no-robots", help="Ignore Disallow rules and Crawl-delay of robots.txt."),
    option(
        "Network",
        "--probe",
        type=click.Choice(AUTO_MODES),
        default="auto",
        help="Try well-known paths such as /sitemap.xml; auto: only if robots.txt names no readable sitemap.",
    ),
    _RECORD,
    _MAP,
    number(
        "Safety",
        "--max-depth",
        least=0,
        default=_DEFAULTS.max_index_depth,
        help="Maximum nesting depth of indexes.",
    ),
    *_DOCUMENT_LIMITS,
    flag(
        "Safety",
        "--allow-private",
        type=types.TRUST_SWITCH,
        help="Allow private, loopback and link-local addresses.",
    ),
)

document_limits = stacked(*_DOCUMENT_LIMITS)


def limits(kwargs: dict[str, Any], **others: Any) -> Limits:
    """Removes the options of limits from `kwargs` and returns them as Limits, with the fields `others`."""
    fields = {field: kwargs.pop(name) for name, field in _LIMITS.items() if name in kwargs}
    if fields.get("max_wire_bytes", 0) is None:
        fields["max_wire_bytes"] = max(_DEFAULTS.max_wire_bytes, fields["max_decoded_bytes"])
    return Limits(**fields, **others)


def _network(decorators: Iterable[Callable[[Any], Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds these options; the function gets their values as keywords of SitemapReader."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def with_keywords(**kwargs: Any) -> Any:
            _convert(kwargs)
            return function(**kwargs)

        return stacked(*decorators)(with_keywords)  # type: ignore[no-any-return]

    return decorate


# watch and harvest read many sites at once: these options have no meaning there, or, in harvest, another name.
network = _network(_NETWORK)
watch_network = _network([each for each in _NETWORK if each not in (_CONCURRENCY, _RECORD, _MAP)])
harvest_network = _network([each for each in _NETWORK if each not in (_CONCURRENCY, _SITE_SECONDS, _RECORD, _MAP)])


def _convert(kwargs: dict[str, Any]) -> None:
    """Puts keywords of SitemapReader in place of the options that are named or given otherwise."""
    timeout, user_agent, netrc_file = kwargs.pop("timeout"), kwargs.pop("user_agent"), kwargs.pop("netrc_file")
    kwargs["limits"] = limits(
        kwargs,
        read_seconds=timeout,
        connect_seconds=min(timeout, _DEFAULTS.connect_seconds),
        tries=kwargs.pop("retries") + 1,
    )
    kwargs["obey_robots"] = not kwargs.pop("no_robots")
    if netrc_file is not None:
        kwargs["netrc"] = netrc_file
    if user_agent is not None:
        kwargs["user_agent"] = user_agent
    if kwargs["insecure"]:
        from .messages import Console  # imported late: --help does not need it

        Console(quiet=kwargs["quiet"]).note("warning TLS certificates are not verified (--insecure)")
