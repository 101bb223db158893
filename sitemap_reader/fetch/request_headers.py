"""Which of the caller's headers go with each request of a crawl.

A header goes to the registrable domain of the target that it was given for, credentials to its host, neither from https
to http. No value of a header is in a repr or in an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from ..frontier.plan import basic
from ..model.errors import UsageError
from ..parser.normalise.urls import host, origin, registrable_domain_or_none

if TYPE_CHECKING:
    from ..frontier.plan import Seed


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
            raise UsageError.of("{auth=} and an Authorization header exclude each other; give one of them")
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
        raise UsageError(
            "a name cannot be sent; it is empty, or holds a blank, a colon or another separator", keyword="headers"
        )
    if _UNSENDABLE_VALUE.search(value):
        raise UsageError(f"header {name!r}: its value cannot be sent; it holds a control character")


def _user_and_password(auth: object) -> tuple[str, str]:
    parts = auth.partition(":")[::2] if isinstance(auth, str) and ":" in auth else auth
    if isinstance(parts, tuple | list) and len(parts) == 2 and all(isinstance(each, str) for each in parts):
        user, password = parts
        if ":" not in user and not _CONTROL.search(user + password):  # RFC 7617 2
            return user, password
    raise UsageError("write it as USER:PASSWORD, without control characters", keyword="auth")


class RequestHeaders:
    """The caller's headers for each request of a crawl from `seeds`.

    A seed is https if https is tried first. Of a host without a registrable domain, such as an IP address or localhost,
    the domain is host and port. `real_url` returns the URL that is requested in place of another, as of a staging host,
    and None where no header but the User-Agent may go; `seeds` are then at the hosts of the first.
    """

    def __init__(
        self, caller: CallerHeaders, seeds: Sequence[Seed], real_url: Callable[[str], str | None] = str
    ) -> None:
        self._caller = caller
        self._real_url = real_url
        self._gives_any = bool(caller.headers or caller.logins.by_host or any(seed.login for seed in seeds))
        plain = [seed for seed in seeds if _is_plain(_start(seed))]
        self._scopes = {False: _HeaderScope.of(seeds), True: _HeaderScope.of(plain)}  # by whether the request is http

    def headers_for(self, url: str, own: Mapping[str, str]) -> dict[str, str]:
        """The caller's, as far as they may go there, overridden by its `own`: cookies one by one."""
        real = self._real_url(url)
        sent = {} if real is None else self._sent(real, is_plain=_is_plain(real))
        if self._caller.user_agent is not None:
            sent["User-Agent"] = self._caller.user_agent
        lower = {name.lower(): value for name, value in own.items()}
        for name in [name for name in sent if name.lower() in lower]:
            given = sent.pop(name)
            if name.lower() == "cookie":
                pairs = (pair.strip() for pair in (*given.split(";"), *lower["cookie"].split(";")))
                named = {pair.partition("=")[0].strip(): pair for pair in pairs}
                own = {**own, "Cookie": "; ".join(pair for pair in named.values() if pair)}
        return {**sent, **own}

    def withholds(self, url: str) -> bool:
        """Whether a header is not sent only because the URL is http."""
        real = self._real_url(url)
        if real is None or not _is_plain(real):
            return False
        return self._sent(real, is_plain=False) != self._sent(real, is_plain=True)

    def _sent(self, url: str, *, is_plain: bool) -> dict[str, str]:
        if not self._gives_any:
            return {}
        scope, place = self._scopes[is_plain], _place(url)
        is_ours = domain_of(url) in scope.domains
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
    domains: frozenset[str]
    places: frozenset[str]
    logins: Mapping[str, str] = attrs.field(repr=False)

    @classmethod
    def of(cls, seeds: Sequence[Seed]) -> _HeaderScope:
        starts = [_start(seed) for seed in seeds]
        logins = {_place(_start(seed)): seed.login for seed in seeds if seed.login}
        return cls(frozenset(map(domain_of, starts)), frozenset(map(_place, starts)), logins)


def _start(seed: Seed) -> str:
    return f"{seed.origins[0]}/"


def _is_plain(url: str) -> bool:
    return url.startswith("http://")


def _place(url: str) -> str:
    """Host, and port unless it is the default of the scheme."""
    return origin(url).partition("//")[2]


def domain_of(url: str) -> str:
    return registrable_domain_or_none(host(url)) or _place(url)
