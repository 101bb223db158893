"""URL scope: which URLs a document may list (sitemaps.org: location, cross-submission).

In: the URL of a document or robots.txt; or a URL that a document lists. Out: the URL prefixes in scope; or the reason
why the URL is out of scope. A prefix is a clean URL (`https://example.com/shop/`), always with a path, so that
`https://example.com` never covers `https://example.com.evil.example/`. entry.py drops and
counts page URLs, frontier/links.py child sitemaps.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal, NamedTuple, get_args

import attrs

from ...model.errors import UsageError
from ...model.options import ScopeMode as ScopeMode
from .urls import DEFAULT_PORTS, clean_url, comparable, host, origin, registrable_domain, without_userinfo

DropReason = Literal["scheme", "host", "port", "path"]
SCOPE_MODES: tuple[ScopeMode, ...] = get_args(ScopeMode)


def host_prefixes(url: str) -> tuple[str, ...]:
    """The prefixes that a robots.txt on the URL's host, or a submitted document, verifies: both schemes, default ports.

    If the URL has another port, that origin, too.

    >>> host_prefixes("http://example.com:8080/sitemap.xml")
    ('http://example.com/', 'https://example.com/', 'http://example.com:8080/')
    """
    name = host(url)
    return tuple(dict.fromkeys((f"http://{name}/", f"https://{name}/", origin(url) + "/")))


def verified_prefixes(requested: str, final: str) -> tuple[str, ...]:
    """The prefixes that a robots.txt verifies if `requested` redirects to `final`: of both hosts in one domain.

    With another registrable domain, those of the requested host only. Its owner chose the location of the file (RFC
    9309 2.3.1.2), but a redirect proves nothing about the target: anyone can redirect to another site's file.

    >>> verified_prefixes("https://example.com/robots.txt", "https://www.example.com/robots.txt")[2:]
    ('http://www.example.com/', 'https://www.example.com/')
    """
    prefixes = host_prefixes(requested)
    # The public suffix list is slow to load: equal hosts, the usual case, do without.
    if host(requested) == host(final) or registrable_domain(host(requested)) == registrable_domain(host(final)):
        prefixes += host_prefixes(final)
    return tuple(dict.fromkeys(prefixes))


def clean_prefix(prefix: str) -> str:
    """A prefix that the user gave, canonical and ending in a slash, so that /shop does not cover /shopping.

    UsageError unless it is an http or https URL.
    """
    url = clean_url(prefix).url
    if url is None:
        raise UsageError(
            f"authority {prefix!r} is not an http or https URL", remedy="write it as https://example.com/shop/"
        )
    url = without_userinfo(url)
    return url if url.endswith("/") else url + "/"


@attrs.frozen
class Scope:
    """A scope rule (`mode`) and the URL prefixes it compares with.

    `protocol`: scheme, host, port and path of a URL must match a prefix; `host`: host and port; `domain`: the
    registrable domain; `any`: all URLs are in scope. Without prefixes, only `any` has URLs in scope.
    """

    mode: ScopeMode
    prefixes: tuple[str, ...]

    @property
    def covered(self) -> tuple[str, ...]:
        """A URL that begins with one of these is in scope, unless it contains `%2`: then reason() decides."""
        return ("http",) if self.mode == "any" else self.prefixes

    def reason(self, url: str) -> DropReason | None:
        """None if a clean URL is in scope, else the part in which it differs from the nearest prefix."""
        # An escaped dot segment may lead out of the directory.
        if self.mode == "any" or (url.startswith(self.prefixes) and "%2" not in url):
            return None
        return _REASONS[self.mode](self, url)

    @cached_property
    def _comparable_prefixes(self) -> tuple[str, ...]:
        return tuple(map(comparable, self.prefixes))

    @cached_property
    def _origins(self) -> frozenset[_Origin]:
        return frozenset(map(_origin, self.prefixes))

    @cached_property
    def _domains(self) -> frozenset[str]:
        return frozenset(registrable_domain(host(prefix)) for prefix in self.prefixes)


class _Origin(NamedTuple):
    scheme: str
    host: str
    port: int | None  # None: the default of the scheme


def _origin(url: str) -> _Origin:
    scheme, _, rest = origin(url).partition("://")
    name = host(url)
    digits = rest[len(name) + 1 :]
    return _Origin(scheme, name, int(digits) if digits else None)


def _by_protocol(scope: Scope, url: str) -> DropReason | None:
    # Userinfo does not identify the resource.
    if comparable(without_userinfo(url)).startswith(scope._comparable_prefixes):
        return None
    own = _origin(url)
    near = [other for other in scope._origins if other.host == own.host]
    if own in near:
        return "path"
    if any(_same_port(own, other) for other in near):
        return "scheme"
    return "port" if near else "host"


def _by_host(scope: Scope, url: str) -> DropReason | None:
    own = _origin(url)
    near = [other for other in scope._origins if other.host == own.host]
    if any(_same_port(own, other) for other in near):
        return None
    return "port" if near else "host"


def _by_domain(scope: Scope, url: str) -> DropReason | None:
    return None if registrable_domain(host(url)) in scope._domains else "host"


_REASONS = {"protocol": _by_protocol, "host": _by_host, "domain": _by_domain}


def _same_port(one: _Origin, other: _Origin) -> bool:
    """Whether the ports are equal, or both are defaults: http and https then differ by scheme only."""
    return one.port == other.port or _port(one) == _port(other)


def _port(origin: _Origin) -> int:
    return DEFAULT_PORTS[origin.scheme] if origin.port is None else origin.port
