"""Authorities: which URLs a document may speak for.

In: the URL of a document or robots.txt (what it proves), or a record's URL (is it covered?). Out: authorities, or
the reason for a drop. An authority is a clean URL used as a prefix (`https://example.com/shop/`), always with a
path, so that `https://example.com` never covers `https://example.com.evil.example/`. Never drops by itself: it
says why, and the caller counts.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal, NamedTuple, get_args

import attrs

from ...model.errors import UsageError
from .urls import DEFAULT_PORTS, clean_url, comparable, host, origin, registrable_domain, without_userinfo

ScopeMode = Literal["protocol", "host", "domain", "any"]
DropReason = Literal["scheme", "host", "port", "path"]
SCOPE_MODES: tuple[ScopeMode, ...] = get_args(ScopeMode)


def host_prefixes(url: str) -> tuple[str, ...]:
    """What a robots.txt proof, or a submitted document, of the URL's host gives: both schemes, default ports.

    Where the URL has another port, that origin too: it is the one that was asked.

    >>> host_authorities("http://example.com:8080/sitemap.xml")
    ('http://example.com/', 'https://example.com/', 'http://example.com:8080/')
    """
    name = host(url)
    return tuple(dict.fromkeys((f"http://{name}/", f"https://{name}/", origin(url) + "/")))


def verified_prefixes(asked: str, final: str) -> tuple[str, ...]:
    """What robots.txt proves when `asked` was redirected to `final`: both hosts within one registrable domain.

    Elsewhere the asked host only. Its owner chose where the file lives, so the file is its word (RFC 9309
    2.3.1.2); but a redirect shows nothing of the other side: anyone can redirect to a file that a stranger serves.

    >>> proof_authorities("https://example.com/robots.txt", "https://www.example.com/robots.txt")[2:]
    ('http://www.example.com/', 'https://www.example.com/')
    """
    proven = host_prefixes(asked)
    # The list of public suffixes takes its time to load: most files stay where they are.
    if host(asked) == host(final) or registrable_domain(host(asked)) == registrable_domain(host(final)):
        proven += host_prefixes(final)
    return tuple(dict.fromkeys(proven))


def clean_prefix(prefix: str) -> str:
    """A prefix that a user gives, as an authority: clean, and a folder, so that /shop does not cover /shopping.

    UsageError for what is no http or https URL.
    """
    url = clean_url(prefix).url
    if url is None:
        raise UsageError(f"authority {prefix!r} is no http or https URL; write it as https://example.com/shop/")
    url = without_userinfo(url)
    return url if url.endswith("/") else url + "/"


@attrs.frozen
class Scope:
    """A rule (`mode`) and the authorities that it measures by.

    `protocol`: scheme, host, port and path as authorities have them; `host`: host and port; `domain`: the
    registrable domain; `any`: all is covered. Without authorities nothing is covered but by `any`.
    """

    mode: ScopeMode
    prefixes: tuple[str, ...]

    @property
    def covered(self) -> tuple[str, ...]:
        """What begins with one of these is covered, unless it has a `%2`: then reason() says more."""
        return ("http",) if self.mode == "any" else self.prefixes

    def reason(self, url: str) -> DropReason | None:
        """None where a clean URL is covered, else what the nearest authority differs in."""
        # An escaped dot may lead out of the directory again.
        if self.mode == "any" or (url.startswith(self.prefixes) and "%2" not in url):
            return None
        return _REASONS[self.mode](self, url)

    @cached_property
    def _comparable_prefixes(self) -> tuple[str, ...]:
        return tuple(map(comparable, self.prefixes))

    @cached_property
    def _places(self) -> frozenset[_Place]:
        return frozenset(_place(authority) for authority in self.prefixes)

    @cached_property
    def _domains(self) -> frozenset[str]:
        return frozenset(registrable_domain(host(authority)) for authority in self.prefixes)


class _Place(NamedTuple):
    scheme: str
    host: str
    port: int | None  # None: the scheme's default


def _place(url: str) -> _Place:
    scheme, _, rest = origin(url).partition("://")
    name = host(url)
    digits = rest[len(name) + 1 :]
    return _Place(scheme, name, int(digits) if digits else None)


def _by_protocol(scope: Scope, url: str) -> DropReason | None:
    # Userinfo says who asks, not what is asked for.
    if comparable(without_userinfo(url)).startswith(scope._comparable_prefixes):
        return None
    place = _place(url)
    near = [other for other in scope._places if other.host == place.host]
    if place in near:
        return "path"
    if any(_same_port(place, other) for other in near):
        return "scheme"
    return "port" if near else "host"


def _by_host(scope: Scope, url: str) -> DropReason | None:
    place = _place(url)
    near = [other for other in scope._places if other.host == place.host]
    if any(_same_port(place, other) for other in near):
        return None
    return "port" if near else "host"


def _by_domain(scope: Scope, url: str) -> DropReason | None:
    return None if registrable_domain(host(url)) in scope._domains else "host"


_REASONS = {"protocol": _by_protocol, "host": _by_host, "domain": _by_domain}


def _same_port(one: _Place, other: _Place) -> bool:
    """Two default ports count as the same: http and https differ by scheme only."""
    return one.port == other.port or _number(one) == _number(other)


def _number(place: _Place) -> int:
    return DEFAULT_PORTS[place.scheme] if place.port is None else place.port
