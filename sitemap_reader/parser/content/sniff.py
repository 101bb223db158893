"""The first bytes of a document -> what it is.

In: UTF-8 bytes from the start. Out: a Verdict, or None while more bytes are needed.
The verdict depends only on the first WINDOW_BYTES, so that it is the same however the bytes are cut.
Which kind of XML it is, the root element says: see ROOTS.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Literal

import attrs

WINDOW_BYTES = 4096
FIRST_LINES = 20


class Format(StrEnum):
    """What a document turned out to be; the value stands in Outcome.format."""

    URLSET = "urlset"
    INDEX = "sitemapindex"
    TEXT = "text"
    RSS = "rss"
    ATOM = "atom"
    ROBOTS = "robots"
    HTML = "html"


FEEDS = frozenset({Format.RSS, Format.ATOM})  # they hold what is recent
SITEMAP_FORMATS = FEEDS | {Format.URLSET, Format.INDEX, Format.TEXT}

# Local name of the root element -> format. RSS 1.0 is RDF.
ROOTS: dict[str, Format] = {
    "urlset": Format.URLSET,
    "sitemapindex": Format.INDEX,
    "rss": Format.RSS,
    "RDF": Format.RSS,
    "feed": Format.ATOM,
}

_XML_TYPES = frozenset(
    {"application/xml", "text/xml", "application/rss+xml", "application/atom+xml", "application/rdf+xml"}
)
_PACKED_TYPES = frozenset({"application/gzip", "application/x-gzip", "application/octet-stream", "binary/octet-stream"})
# What a server may call each format without being wrong (F06).
CONTENT_TYPES: dict[Format, frozenset[str]] = {
    Format.URLSET: _XML_TYPES | _PACKED_TYPES,
    Format.INDEX: _XML_TYPES | _PACKED_TYPES,
    Format.RSS: _XML_TYPES | _PACKED_TYPES,
    Format.ATOM: _XML_TYPES | _PACKED_TYPES,
    Format.TEXT: frozenset({"text/plain", "text/csv", "text/uri-list"}) | _PACKED_TYPES,
}

Kind = Literal["xml", "text", "html", "empty", "unknown"]


@attrs.frozen
class SniffResult:
    """`kind`, and how many bytes stand before the document proper."""

    kind: Kind
    skip_bytes: int = 0


_DECLARATION = re.compile(rb"<\?xml[\s?]")
_MARK = re.compile(rb"[<>]")
_ROOT = re.compile(rb"<(?:[\w.-]+:)?(?:urlset|sitemapindex|rss|RDF|feed)[\s/>]")
# The same behind junk, or a DTD of its own before it, which is not to be passed over: it is refused (S09).
_HEAD = re.compile(rb"<!(?i:DOCTYPE)\s[^<>\[]*\[|" + _ROOT.pattern)
_ENTRY = re.compile(rb"</?(?:[\w.-]+:)?(?:loc|url|sitemap|urlset|sitemapindex)\s*>")
_HTML = re.compile(rb"\s*(?:<!--(?:(?!-->).)*-->\s*)*<!doctype\s+html", re.DOTALL | re.IGNORECASE)
# How PHP begins to say what is wrong with the script that writes the sitemap.
_PHP_NOTICE = re.compile(rb"\s*<(?:br|b|p|pre|div|font|table)\b", re.IGNORECASE)
_FIRST_LINE_IS_A_URL = re.compile(rb"https?://[^\s<>]+[ \t]*[\r\n]", re.IGNORECASE)
_URL_LINE = re.compile(rb"^[^\S\r\n]*(?:https?|ftp)://\S", re.IGNORECASE | re.MULTILINE)


def sniff(data: bytes, *, final: bool) -> SniffResult | None:
    """What `data`, the beginning of a document, is; None asks for more. `final`: there is no more."""
    if _DECLARATION.match(data):
        return _judge_declaration(data, final=final)
    if _ROOT.match(data):
        return SniffResult("xml")
    if _FIRST_LINE_IS_A_URL.match(data):
        return SniffResult("text")
    if len(data) < WINDOW_BYTES and not final:
        return None
    return _judge(data[:WINDOW_BYTES], complete=final and len(data) <= WINDOW_BYTES)


def _judge_declaration(data: bytes, *, final: bool) -> SniffResult | None:
    """XML; a declaration that is not closed by `?>` would swallow the document, and is passed over."""
    end = _MARK.search(data, 1, WINDOW_BYTES)
    if end is None:
        return SniffResult("xml") if final or len(data) >= WINDOW_BYTES else None
    is_closed = data[end.start() - 1 : end.end()] == b"?>"
    return SniffResult("xml", 0 if is_closed else end.start() + (end.group() == b">"))


def _judge(window: bytes, *, complete: bool) -> SniffResult:
    stripped = window.lstrip()
    if not stripped:
        # A document may begin with more blanks than the window holds: XML allows them, text skips them.
        return SniffResult("empty" if complete else "xml")
    if _HTML.match(window):
        return SniffResult("html")
    declaration = _DECLARATION.search(window)
    if declaration:
        return SniffResult("xml", declaration.start())
    if _PHP_NOTICE.match(window) and (root := _HEAD.search(window)):
        return SniffResult("xml", root.start())
    if stripped.startswith(b"<"):
        return SniffResult("xml")
    return _judge_text(window)


def _judge_text(window: bytes) -> SniffResult:
    """Without a tag at the start: a list of URLs, XML behind some junk, or nothing of ours."""
    first_lines = b"\n".join(window.splitlines()[:FIRST_LINES])
    url = _URL_LINE.search(first_lines)
    root = _HEAD.search(window)
    if url and _ENTRY.search(window) and not root:
        return SniffResult("unknown")  # XML that has lost its head
    if url and not (root and root.start() < url.start()):
        return SniffResult("text")
    if root:
        return SniffResult("xml", root.start())
    return SniffResult("unknown")
