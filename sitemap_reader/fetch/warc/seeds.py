"""Where to start in a WARC that does not say it: the answers in it go by, seeds come out at its end.

A host whose robots.txt or well-known path leads to a sitemap is a site; of the others each sitemap is a document.
Looks at the first bytes of an answer only.
"""

from __future__ import annotations

import re

import attrs

from ...frontier.seeds import WELL_KNOWN, Seed
from ...parser.content.sniff import sniff
from ...parser.normalise.urls import origin
from .bodies import peeked
from .records import GZIP_MAGIC

WINDOW_BYTES = 16 * 1024  # of an answer, head and all
_DOCUMENT_BYTES = 4_096
_ROBOTS = "/robots.txt"
_PATHS = frozenset({_ROBOTS, *WELL_KNOWN})
# Where none of these stands it is no sitemap; that goes for most pages, and is soon seen.
_MARKS = (b"urlset", b"sitemapindex", GZIP_MAGIC)
_PACKED = re.compile(rb"\ncontent-encoding:[ \t]*(?:br|zstd|deflate)", re.IGNORECASE)
_HEAD_BYTES = 2_048
_SITEMAP = re.compile(
    rb"""(?:\xef\xbb\xbf)? \s*
    (?: <\?.*?\?> \s* | <!--.*?--> \s* | <!DOCTYPE [^\[>]* > \s* )*
    < (?: [\w.-]+: )? (?: urlset | sitemapindex ) [\s/>]""",
    re.VERBOSE | re.DOTALL,
)


@attrs.define
class _Host:
    """The origins at which something was found that leads on, and those where it might have been."""

    leads: set[str] = attrs.field(factory=set)
    tried: set[str] = attrs.field(factory=set)
    documents: dict[str, None] = attrs.field(factory=dict)


class Hosts:
    """see() each answer, then seeds()."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Host] = {}

    def __bool__(self) -> bool:
        return bool(self._hosts)

    def see(self, url: str, status: int | None, window: bytes, *, is_bare: bool) -> None:
        """An answer; its URL is clean. `is_bare`: the window begins with the document, not with its head."""
        start = origin(url)
        path = url[len(start) :]
        if path in _PATHS:
            host = self._host(start)
            host.tried.add(start)
            if _leads_on(path, status or 0, window, is_bare):
                host.leads.add(start)
        elif not self._leads(start) and _is_sitemap(status or 0, window, is_bare):
            self._host(start).documents[url] = None

    def seeds(self) -> tuple[Seed, ...]:
        """By host and, of documents, by URL: the order of the file is chance."""
        return tuple(seed for name in sorted(self._hosts) for seed in _seeds_of(self._hosts[name]))

    def _leads(self, start: str) -> bool:
        host = self._hosts.get(start.partition("://")[2])
        return host is not None and bool(host.leads)

    def _host(self, start: str) -> _Host:
        return self._hosts.setdefault(start.partition("://")[2], _Host())


def _seeds_of(host: _Host) -> list[Seed]:
    if host.documents and not host.leads:
        return [Seed(url, (origin(url),), document=url) for url in sorted(host.documents)]
    start = max(host.leads or host.tried)  # https, if there is a choice
    return [Seed(f"{start}/", (start,))]


def _is_sitemap(status: int, window: bytes, is_bare: bool) -> bool:
    if not 200 <= status <= 299:
        return False
    may_be = any(mark in window for mark in _MARKS) or _PACKED.search(window, 0, _HEAD_BYTES)
    return bool(may_be and _SITEMAP.match(_document(window, is_bare)))


def _leads_on(path: str, status: int, window: bytes, is_bare: bool) -> bool:
    if 300 <= status <= 399:
        return True
    if not 200 <= status <= 299:
        return False
    document = _document(window, is_bare)
    if path == _ROBOTS:
        return b"sitemap" in document.lower() or len(window) >= WINDOW_BYTES
    verdict = sniff(document, final=True)
    return verdict is not None and verdict.kind in ("xml", "text")


def _document(window: bytes, is_bare: bool) -> bytes:
    """The beginning of the document, unpacked."""
    if is_bare and window[:2] != GZIP_MAGIC:
        return window[:_DOCUMENT_BYTES]
    return peeked(b"\r\n\r\n" + window if is_bare else window, _DOCUMENT_BYTES)
