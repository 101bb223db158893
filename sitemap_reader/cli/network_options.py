"""The options of commands that fetch or read documents; their defaults are those of Limits.

In: the values of the command line. Out: keywords of SitemapReader.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from ..client.options import ReaderOptions
from ..model.limits import MIB, OPTIONS, Limits
from . import option_types as types
from . import options
from .options import number, option, stacked

if TYPE_CHECKING:
    from collections.abc import Callable

_DEFAULTS = Limits()


def _limit(name: str, heading: str = "Network", **changes: Any) -> Callable[[Any], Any]:
    """The option that sets a field of Limits, after which it is named."""
    return options.of_declaration(heading, name, OPTIONS[name], **changes)


def _reader(name: str, heading: str = "Network", **changes: Any) -> Callable[[Any], Any]:
    return options.keyword(heading, ReaderOptions, name, **changes)


_SIZE: dict[str, Any] = {"metavar": "SIZE", "type": types.SIZE, "callback": options.size}
_DOCUMENT_LIMITS = (
    _limit("max_decoded_bytes", "Safety", default=f"{_DEFAULTS.max_decoded_bytes // MIB}M", **_SIZE),
    _limit(
        "max_wire_bytes",
        "Safety",
        default=None,
        default_is=f"{_DEFAULTS.max_wire_bytes // MIB}M, or --max-decoded-bytes if that is more",
        **_SIZE,
    ),
    _limit("max_entries", "Safety"),
)

_CONCURRENCY = _reader("concurrency")
_SITE_SECONDS = _limit("site_seconds")
_RECORD = _reader("record", type=types.FOLDER_WRITTEN, metavar="DIR|FILE.warc[.gz]")
_MAP = _reader("host_map", type=types.ADDRESS, callback=options.host_map, multiple=True, metavar="A=B")
_NETWORK = (
    _CONCURRENCY,
    _reader("per_host"),
    option(
        "Network",
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=_DEFAULTS.read_seconds,
        default_is=f"{_DEFAULTS.read_seconds:g}",
        callback=options.seconds_value,
        help=f"Read timeout (connect timeout: {_DEFAULTS.connect_seconds:.0f} s).",
    ),
    number(
        "Network", "--retries", least=0, default=_DEFAULTS.tries - 1, help="Retries after 5xx, resets and timeouts."
    ),
    _limit("max_wait_seconds"),
    _SITE_SECONDS,
    _reader("delay"),
    _limit("max_crawl_delay_seconds"),
    _reader("headers", type=types.HEADER, callback=options.headers, multiple=True),
    _reader("auth", type=types.LOGIN),
    _reader("netrc", type=types.LOGINS_SWITCH),
    option("Network", "--netrc-file", type=types.NETRC, help="Read logins by host from this netrc file."),
    _reader("user_agent", type=types.USER_AGENT, callback=options.header_text, default_is="sitemap-reader/VERSION"),
    _reader("proxy", type=types.ADDRESS, metavar="URL"),
    _reader("cacert", type=types.CERTIFICATES, default_is="the system's certificates"),
    _reader("insecure", type=types.TRUST_SWITCH),
    _reader("obey_robots"),
    _reader("probe"),
    _RECORD,
    _MAP,
    _limit("max_index_depth", "Safety", type=click.IntRange(0)),
    *_DOCUMENT_LIMITS,
    _reader("allow_private", "Safety", type=types.TRUST_SWITCH),
)

document_limits = stacked(*_DOCUMENT_LIMITS)


def limits(kwargs: dict[str, Any], **others: Any) -> Limits:
    """Removes the options of limits from `kwargs` and returns them as Limits, with the fields `others`."""
    fields = {name: kwargs.pop(name) for name in OPTIONS if name in kwargs}
    if fields.get("max_wire_bytes", 0) is None:
        fields["max_wire_bytes"] = max(_DEFAULTS.max_wire_bytes, fields["max_decoded_bytes"])
    return Limits(**fields, **others)


def _with_keywords(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which gets keywords of SitemapReader in place of the values of these options."""

    @wraps(function)
    def with_keywords(**kwargs: Any) -> Any:
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
        return function(**kwargs)

    return with_keywords


# watch and harvest read many sites at once: these options have no meaning there, or, in harvest, another name.
_OF_ONE_SITE = (_CONCURRENCY, _RECORD, _MAP)
network = stacked(*_NETWORK, _with_keywords)
watch_network = stacked(*(each for each in _NETWORK if each not in _OF_ONE_SITE), _with_keywords)
harvest_network = stacked(*(each for each in _NETWORK if each not in (*_OF_ONE_SITE, _SITE_SECONDS)), _with_keywords)
