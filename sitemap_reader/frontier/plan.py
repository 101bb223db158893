"""Where a crawl begins, and its settings: a target such as `example.com` or a URL in, a Seed out; the Plan.

Credentials in a target are in the `login` of its Seed only.
"""

from __future__ import annotations

import re
from base64 import b64encode
from typing import TYPE_CHECKING
from urllib.parse import unquote

import attrs

from ..model.errors import UsageError
from ..model.limits import Limits
from ..model.options import AutoMode
from ..parser.normalise.urls import clean_url, host, origin, without_credentials, without_userinfo
from .filters import Patterns, Selection

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model.records import SitemapRef
    from ..parser.normalise.scope import ScopeMode

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

    With `robots_only` no well-known path is tried, only the Sitemap lines of robots.txt count. `base_path` is the path
    of a site that has only a part of its host, such as `/project`: well-known paths are tried below it. `login` is the
    Authorization header for `user:password@` in the target; no other field has these credentials.
    """

    target: str
    origins: tuple[str, ...]
    document: str | None = None
    robots_only: bool = False
    base_path: str = ""
    login: str | None = attrs.field(default=None, repr=False)


SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def parse_target(target: str) -> Seed:
    """`example.com` is a site (https, then http); a URL with a path is a document; UsageError for the rest."""
    text = target.strip()
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise UsageError(f"{target!a} is no text that a URL could hold: it is not UTF-8")
    if not text:
        raise UsageError("the target is empty: give a host such as example.com, or a URL")
    schemes = ("",) if SCHEME.match(text) else ("https://", "http://")
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
        raise UsageError(f"{shown!r} is neither a host nor an http or https URL: {loc.notes[-1][1]}")
    name = host(loc.url)
    parts = name.split(".")
    is_numeric = len(parts) >= 4 and all(map(str.isdecimal, parts))
    if is_numeric and (len(parts) > 4 or max(map(int, parts)) > 255):
        raise UsageError(f"{name} is no IP address: it has four numbers from 0 to 255")
    return loc.url


def basic(user: str, password: str) -> str:
    """The value of an Authorization header (RFC 7617).

    >>> basic("Aladdin", "open sesame")
    'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=='
    """
    return f"Basic {b64encode(f'{user}:{password}'.encode('utf-8', 'surrogateescape')).decode()}"


def login_of(url: str) -> str | None:
    userinfo = url[: url.index("/", 8)].partition("//")[2].rpartition("@")[0]
    user, _, password = userinfo.partition(":")
    return basic(unquote(user), unquote(password)) if userinfo else None


@attrs.frozen
class Plan:
    """What a crawl fetches, and how."""

    scope: ScopeMode = "protocol"
    selection: Selection = attrs.field(factory=Selection)
    trust_lastmod: AutoMode = "auto"  # skip children that an index calls older than the selection: see index_dates.py
    probe: Probe = "auto"
    obey_robots: bool = True
    is_recording: bool = False  # the answers are recorded ones: no delay is kept, so no Crawl-delay is too long
    follow: Callable[[SitemapRef], bool] | None = None  # which children of an index to read
    no_follow: Patterns = attrs.field(factory=Patterns)  # sitemaps that are never read
    user_agent: str = "sitemap-reader"
    sends_user_agent: bool = True  # False: the caller's fetcher sends one of its own
    concurrency: int = 16
    per_host: int = 4
    delay_seconds: float = 0.0  # between the starts of two requests to a host; a longer Crawl-delay replaces it
    extras: bool = False  # elements without a field are kept
    sniff_only: bool = False  # a document is read until its format is known, and gives no records
    descend: bool = True  # False: the candidates only, not their children
    former_sitemaps: frozenset[str] = frozenset()  # URLs that an earlier crawl read: their failures are reported
    limits: Limits = attrs.field(factory=Limits)
