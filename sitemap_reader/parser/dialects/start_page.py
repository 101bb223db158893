"""The sitemaps to which the start page of a site links: HTML, in bytes of UTF-8, in; their URLs with lines out.

Those are `<link rel="sitemap">`, and links whose names are those of sitemaps. Only tags are read, and none in scripts
and comments. Each byte is looked at a few times at most, whatever is wrong with the markup: a tag, comment or script
without its end is the rest of the page (HTML Living Standard 13.2.5).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import TYPE_CHECKING

from ...model.limits import KIB
from ..normalise.entry import RawEntry
from ..normalise.urls import clean_url

if TYPE_CHECKING:
    from ...model.problems import Problem

# Heads with 200 KiB of inlined styles exist; for a footer behind this, the rest of the page would be too much.
MAX_BYTES = 512 * KIB
_MAX_LINKS = 20
_MAX_CANDIDATES = 200
_MAX_CHARACTERS = 2_048  # of a URL
# A quote begins a value only behind "="; without its end it is a character of the value.
_TAG = re.compile(rb"""<([a-z][^\s/>]*+)((?:[^=>]++|=\s*+(?:"[^"]*+"|'[^']*+'|(?!))?+)*+)>""", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"""([^\s=/]++)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|\S*+)|(?!))?+""")
_READ = frozenset({b"base", b"link", b"a"})
_RAW_TEXT = frozenset({b"script", b"style", b"textarea", b"title", b"iframe", b"xmp", b"noembed", b"noframes"})
# The path of /wp-sitemap.xml, /maps/site_map-2.xml.gz, /products.xml.gz, /sitemap.txt; not of /sitemap/, /sitemap.html.
_LIKELY = re.compile(r"map|\.gz", re.IGNORECASE)
_SITEMAP = re.compile(
    r"[^?#]*/(?:[^/?#]*site[-_]?map[^/?#]*\.(?:xml|txt)(?:\.gz)?|[^/?#]+\.xml\.gz)(?:\?|\Z)", re.IGNORECASE
)


def sitemap_links(body: bytes, url: str) -> list[tuple[str, int]]:
    """(URL, line) of each sitemap to which a page at this URL links, those of `<link rel="sitemap">` first.

    >>> sitemap_links(b'<base href="/en/"><a href="sitemap.xml">Sitemap</a>', "https://example.com/")
    [('https://example.com/en/sitemap.xml', 1)]
    """
    bases: list[str] = []
    stated: list[tuple[str, int]] = []
    others: list[tuple[str, int]] = []
    for name, attributes, at in _tags(body):
        href = attributes.get("href", "").strip()
        if not href or len(href) > _MAX_CHARACTERS:
            continue
        if name == b"base":
            bases.append(href)
        elif name == b"a":
            others.append((href, at))
        elif "sitemap" in attributes.get("rel", "").lower().split():
            stated.append((href, at))
    base = (clean_url(bases[0], url).url if bases else None) or url
    found: dict[str, int] = {}
    for is_stated, links in ((True, stated), (False, others)):
        # A page may have 100,000 links, each of which takes some microseconds.
        likely = [(href, at) for href, at in links if is_stated or _LIKELY.search(href)]
        for href, at in likely[:_MAX_CANDIDATES]:
            loc = (clean_url(href, base).url or "").partition("#")[0]
            if loc and (is_stated or _SITEMAP.match(loc)):
                found.setdefault(loc, at)
    return [(loc, body.count(b"\n", 0, at) + 1) for loc, at in [*found.items()][:_MAX_LINKS]]


def _tags(body: bytes) -> Iterator[tuple[bytes, dict[str, str], int]]:
    """(name, attributes, offset) of each start tag that is read."""
    lowered = body.lower()  # of ASCII alone: offsets are those of the body
    at = 0
    while (at := body.find(b"<", at)) >= 0:
        if body.startswith(b"<!--", at):
            at = body.find(b"-->", at + 2) + 3
            if at < 3:
                return
            continue
        tag = _TAG.match(body, at)
        if tag is None:
            if body[at + 1 : at + 2].isalpha():  # a tag without its end
                return
            at += 1
            continue
        name = tag[1].lower()
        if name in _READ:
            yield name, _attributes(tag[2]), at
        at = tag.end()
        if name in _RAW_TEXT:
            at = lowered.find(b"</" + name, at)
            if at < 0:
                return


def _attributes(text: bytes) -> dict[str, str]:
    """The attributes of a tag; of two with one name the first counts."""
    attributes: dict[str, str] = {}
    for found in _ATTRIBUTE.finditer(text):
        value = found[2] or b""
        value = value[1:-1] if value[:1] in (b'"', b"'") and value[-1:] == value[:1] and len(value) > 1 else value
        attributes.setdefault(found[1].decode("utf-8", "replace").lower(), unescape(value.decode("utf-8", "replace")))
    return attributes


class StartPageReader:
    """Reads a start page: close() returns an entry for each sitemap to which it links; no more than MAX_BYTES count."""

    complete = True

    def __init__(self, url: str) -> None:
        self._url = url
        self._body = bytearray()

    @property
    def stopped(self) -> bool:
        return len(self._body) >= MAX_BYTES

    def feed(self, data: bytes) -> list[RawEntry | Problem]:
        self._body += data[: MAX_BYTES - len(self._body)]
        return []

    def close(self, *, cut: bool) -> list[RawEntry | Problem]:
        return [RawEntry("sitemap", loc, line) for loc, line in sitemap_links(bytes(self._body), self._url)]
