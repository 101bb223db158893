"""Where a crawl starts, and which of the caller's headers go with its requests.

In: a target such as `example.com` or a URL. Out: a Seed; the well-known paths for sites whose robots.txt names no
readable sitemap. A header goes to the registrable domain of the target that it was given for, credentials to its host,
neither from https to http. No value of a header is in a repr or in an error.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote

import attrs

from ..model.errors import UsageError
from ..model.limits import AutoMode
from ..parser.normalise.urls import (
    clean_url,
    host,
    origin,
    registrable_domain_or_none,
    without_credentials,
    without_userinfo,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # a token of RFC 9110 5.6.2
_UNSENDABLE_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udc7f\udd00-\udfff]")  # and lone surrogates, which have no bytes
_AUTHORIZATION = "Authorization"


@attrs.frozen
class Logins:
    """The credentials of a netrc file: host -> the value of its Authorization header."""

    by_host: Mapping[str, str] = attrs.field(factory=dict, repr=False)


@attrs.frozen
class CallerHeaders:
    """The headers for all targets of a reader; made by make_headers(), which checks them."""

    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    user_agent: str | None = attrs.field(default=None, repr=False)
    logins: Logins = attrs.field(factory=Logins)


def make_headers(
    headers: Mapping[str, str] | Iterable[tuple[str, str]],
    auth: str | tuple[str, str] | None,
    logins: Logins = Logins(),
) -> CallerHeaders:
    """The headers to send. UsageError for one that cannot be sent, and for two values of Authorization."""
    sent: dict[str, str] = {}
    names: dict[str, str] = {}  # lower case -> as first written
    for name, value in _pairs(headers):
        check_header(name, value)
        name = names.setdefault(name.lower(), name)
        # RFC 9110 5.3: lines of one name are one list; RFC 6265 5.4: cookies are joined by "; ".
        comma = "; " if name.lower() == "cookie" else ", "
        sent[name] = f"{sent[name]}{comma}{value}" if name in sent else value
    if auth is not None:
        if _AUTHORIZATION.lower() in names:
            raise UsageError("--auth (auth=) and an Authorization header exclude each other; give one of them")
        sent[_AUTHORIZATION] = basic(*_user_and_password(auth))
    user_agent = sent.pop(names.get("user-agent", ""), None)
    return CallerHeaders(sent, user_agent, logins)


def _pairs(headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Pairs of name and value. UsageError for anything else; it repeats no value, as one may be a secret."""
    if isinstance(headers, str):
        name, colon, _ = headers.partition(":")
        name = name.strip() if colon else "NAME"  # without a colon the text may be a token
        raise UsageError(f'headers is a dict, not text: give headers={{"{name:.80}": "…"}}')
    wrong = UsageError('headers is a dict of texts, such as {"Accept-Language": "en"}, or pairs of texts')
    try:
        pairs = tuple((name, value) for name, value in (headers.items() if isinstance(headers, Mapping) else headers))
    except (TypeError, ValueError):  # not iterable, or not pairs
        raise wrong from None
    if not all(isinstance(part, str) for pair in pairs for part in pair):
        raise wrong
    return pairs


def check_header(name: str, value: str) -> None:
    """UsageError for a header that cannot be sent; its value is not shown, as it may be a secret."""
    if not HEADER_NAME.fullmatch(name):
        raise UsageError("headers: a name cannot be sent; it is empty, or holds a blank, a colon or another separator")
    if _UNSENDABLE_VALUE.search(value):
        raise UsageError(f"header {name!r}: its value cannot be sent; it holds a control character")


def _user_and_password(auth: object) -> tuple[str, str]:
    parts = auth.partition(":")[::2] if isinstance(auth, str) and ":" in auth else auth
    if isinstance(parts, tuple | list) and len(parts) == 2 and all(isinstance(each, str) for each in parts):
        user, password = parts
        if ":" not in user and not _CONTROL.search(user + password):  # RFC 7617 2
            return user, password
    raise UsageError("auth: write it as USER:PASSWORD, without control characters")


def basic(user: str, password: str) -> str:
    """The value of an Authorization header (RFC 7617).

    >>> basic("Aladdin", "open sesame")
    'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=='
    """
    return f"Basic {b64encode(f'{user}:{password}'.encode('utf-8', 'surrogateescape')).decode()}"


def login_of(url: str) -> str | None:
    """The value of an Authorization header for the userinfo of a clean URL, if it has one."""
    userinfo = url[: url.index("/", 8)].partition("//")[2].rpartition("@")[0]
    user, _, password = userinfo.partition(":")
    return basic(unquote(user), unquote(password)) if userinfo else None


class RequestHeaders:
    """The caller's headers for each request of a crawl from `seeds`.

    A seed is https if https is tried first. Of a host without a registrable domain, such as an IP address or
    localhost, the domain is host and port.
    """

    def __init__(self, caller: CallerHeaders, seeds: Sequence[Seed]) -> None:
        self._caller = caller
        plain = [seed for seed in seeds if _is_plain(_start(seed))]
        self._scopes = {False: _HeaderScope.of(seeds), True: _HeaderScope.of(plain)}  # by whether the request is http

    def headers_for(self, url: str, own: Mapping[str, str]) -> dict[str, str]:
        """The headers of a request for `url`: the caller's, as far as they may go there, overridden by its `own`."""
        sent = self._sent(url, is_plain=_is_plain(url))
        if self._caller.user_agent is not None:
            sent["User-Agent"] = self._caller.user_agent
        replaced = {name.lower() for name in own}
        return {**{name: value for name, value in sent.items() if name.lower() not in replaced}, **own}

    def withholds(self, url: str) -> bool:
        """Whether a header is not sent only because the URL is http."""
        return _is_plain(url) and self._sent(url, is_plain=False) != self._sent(url, is_plain=True)

    def _sent(self, url: str, *, is_plain: bool) -> dict[str, str]:
        scope, place = self._scopes[is_plain], _place(url)
        is_ours = _domain(url) in scope.domains
        sent = dict(self._caller.headers) if is_ours else {}
        given = next((name for name in sent if name.lower() == _AUTHORIZATION.lower()), None)
        login = scope.logins.get(place)
        if login is None and given is None and is_ours and (place in scope.places or not is_plain):
            by_host = self._caller.logins.by_host
            login = by_host.get(place) or by_host.get(host(url).strip("[]"))
        if login is not None:
            sent[given or _AUTHORIZATION] = login
        return sent


@attrs.frozen
class _HeaderScope:
    """The domains and hosts to which headers may go."""

    domains: frozenset[str]
    places: frozenset[str]
    logins: Mapping[str, str] = attrs.field(repr=False)

    @classmethod
    def of(cls, seeds: Sequence[Seed]) -> _HeaderScope:
        starts = [_start(seed) for seed in seeds]
        logins = {_place(_start(seed)): seed.login for seed in seeds if seed.login}
        return cls(frozenset(map(_domain, starts)), frozenset(map(_place, starts)), logins)


def _start(seed: Seed) -> str:
    return f"{seed.origins[0]}/"


def _is_plain(url: str) -> bool:
    return url.startswith("http://")


def _place(url: str) -> str:
    """Host, and port unless it is the default of the scheme."""
    return origin(url).partition("//")[2]


def _domain(url: str) -> str:
    return registrable_domain_or_none(host(url)) or _place(url)


Probe = AutoMode

# Tried in this order, up to the first that is a sitemap.
WELL_KNOWN = (
    "/sitemap.xml",
    "/sitemap_index.xml",
    "/sitemap-index.xml",
    "/wp-sitemap.xml",
    "/sitemap.xml.gz",
    "/sitemap.gz",
    "/sitemap_index.xml.gz",
    "/sitemap.txt",
    "/sitemaps.xml",
    "/sitemap/index.xml",
    "/sitemap/sitemap.xml",
    "/news-sitemap.xml",
    "/sitemap-news.xml",
    "/sitemap.php",
)


@attrs.frozen
class Seed:
    """Where a crawl starts: a site, whose `origins` are tried in order until one answers, or a single `document`.

    With `robots_only` no well-known path is tried, only the Sitemap lines of robots.txt count. `login` is the
    Authorization header for `user:password@` in the target; no other field has these credentials.
    """

    target: str
    origins: tuple[str, ...]
    document: str | None = None
    robots_only: bool = False
    login: str | None = attrs.field(default=None, repr=False)


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def parse_target(target: str) -> Seed:
    """`example.com` is a site (https, then http); a URL with a path is a document; UsageError for the rest."""
    text = target.strip()
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise UsageError(f"{target!a} is no text that a URL could hold: it is not UTF-8")
    if not text:
        raise UsageError("the target is empty: give a host such as example.com, or a URL")
    schemes = ("",) if _SCHEME.match(text) else ("https://", "http://")
    given = [_absolute(scheme + text, target) for scheme in schemes]
    name, login = without_credentials(target), login_of(given[0])
    first = without_userinfo(given[0])
    path = first[len(origin(first)) :]
    origins = tuple(origin(url) for url in given)
    if path == "/":
        return Seed(name, origins, login=login)
    if path == "/robots.txt":
        return Seed(name, origins, robots_only=True, login=login)
    # A document is one URL: without a scheme it is taken for https.
    return Seed(name, origins[:1], document=first, login=login)


def _absolute(url: str, target: str) -> str:
    loc = clean_url(url)
    if loc.url is None:
        shown = without_credentials(target)
        raise UsageError(f"{shown!r} is neither a host, nor an http or https URL, nor a folder: {loc.notes[-1][1]}")
    return loc.url
