"""Seeds -> the places where a site's sitemaps may be.

In: what the user typed. Out: a Seed, and for sites without a named sitemap the well-known paths in order.
"""

from __future__ import annotations

import re
from typing import Literal

import attrs

from ..model.errors import UsageError
from ..parser.normalise.urls import clean_url, origin, without_login, without_userinfo
from .credentials import login_of

Probe = Literal["auto", "always", "never"]

# Tried one after the other, up to the first that holds a sitemap.
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
    """Where a walk starts. `origins` are tried in order until one answers; a `document` is read for itself.

    With `robots_only` nothing but the Sitemap lines of robots.txt counts: no well-known path is tried. `login` is the
    Authorization header for `user:password@` in the target; nothing else here holds that.
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
    name, login = without_login(target), login_of(given[0])
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
        shown = without_login(target)
        raise UsageError(f"{shown!r} is neither a host, nor an http or https URL, nor a folder: {loc.notes[-1][1]}")
    return loc.url
