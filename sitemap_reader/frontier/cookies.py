"""The cookies that a server sets while it redirects: Set-Cookie of an answer in, Cookie of the next request out.

They are those of the redirects of one document, and are forgotten with them. A cookie goes only to the host and port
that set it, by its Path, and by its Secure only with https; its Domain is ignored. Source: RFC 6265 5.2 to 5.4.
http.cookies reads no cookie of a header with an attribute that it does not know, such as Partitioned. http_date() reads
the dates of all headers.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import attrs

from ..parser.normalise.urls import origin

if TYPE_CHECKING:
    from collections.abc import Iterator

# A fetcher joins the lines of a header by commas, which are in dates, too: only a cookie begins with a name and `=`.
_COMMA = re.compile(r",\s*+(?=[!#$%&'*+.^_`|~0-9A-Za-z-]++=)")
_PAIR = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]++)[ \t]*+=([\x20-\x7e]*+)")  # no control character, no other script
_SECONDS = re.compile(r"-?[0-9]{1,20}")
_MAX_COOKIES = 20
_MAX_CHARACTERS = 4_096  # of a name with its value: what RFC 6265 6.1 asks of a browser


@attrs.frozen
class Cookie:
    """A cookie with the `place` (host and port) and the path to which it goes."""

    name: str
    value: str = attrs.field(repr=False)
    place: str
    path: str
    is_secure: bool

    def goes_to(self, url: str) -> bool:
        """Whether a request for this URL has it."""
        path = _path(url)
        is_below = path == self.path or path.startswith(self.path if self.path.endswith("/") else f"{self.path}/")
        return is_below and _place(url) == self.place and (url.startswith("https:") or not self.is_secure)


@attrs.frozen
class Cookies:
    """The cookies that a document's redirects have set; `changed_at`: the number of answers at the last change."""

    kept: tuple[Cookie, ...] = ()
    changed_at: int = 0

    def header(self, url: str) -> dict[str, str]:
        """The Cookie header of a request for this URL; empty if none goes there."""
        pairs = "; ".join(f"{each.name}={each.value}" for each in self.kept if each.goes_to(url))
        return {"Cookie": pairs} if pairs else {}

    def after(self, url: str, set_cookie: str | None, answers: int, today: datetime) -> Cookies:
        """The cookies after the answer for a URL, the latest of so many; `set_cookie` is its Set-Cookie."""
        kept = {(each.place, each.path, each.name): each for each in self.kept}
        for cookie, has_expired in _read(set_cookie or "", url, today):
            key = (cookie.place, cookie.path, cookie.name)
            if has_expired:
                kept.pop(key, None)
            elif len(cookie.name) + len(cookie.value) <= _MAX_CHARACTERS and (key in kept or len(kept) < _MAX_COOKIES):
                kept[key] = cookie
        cookies = tuple(kept.values())
        return self if cookies == self.kept else Cookies(cookies, answers)


NO_COOKIES = Cookies()


def _read(set_cookie: str, url: str, today: datetime) -> Iterator[tuple[Cookie, bool]]:
    """Each cookie of a Set-Cookie header, and whether it has expired, by which a server deletes it."""
    for text in _COMMA.split(set_cookie):
        pair, *attributes = text.split(";")
        found = _PAIR.fullmatch(pair.strip())
        if found is None:
            continue
        named = {name.strip().lower(): value.strip() for name, _, value in (each.partition("=") for each in attributes)}
        path = named.get("path", "")
        if not path.startswith("/"):  # RFC 6265 5.1.4: the folder of the URL
            path = _path(url).rpartition("/")[0] or "/"
        yield Cookie(found[1], found[2].strip(), _place(url), path, "secure" in named), _has_expired(named, today)


def _has_expired(attributes: dict[str, str], today: datetime) -> bool:
    age, expires = attributes.get("max-age", ""), http_date(attributes.get("expires", ""))
    if _SECONDS.fullmatch(age):  # RFC 6265 5.3: it has precedence
        return int(age) <= 0
    return expires is not None and expires <= today


def _place(url: str) -> str:
    return origin(url).partition("//")[2]


def _path(url: str) -> str:
    return url[url.index("/", 8) :].partition("?")[0]


def http_date(value: str) -> datetime | None:
    """The timezone-aware moment that a header names; None if unreadable."""
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):  # all that parsedate_to_datetime raises
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)  # RFC 9110 5.6.7: HTTP dates are UTC
