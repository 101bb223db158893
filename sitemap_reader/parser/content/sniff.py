"""Detects the kind of a document from its first bytes, and where it begins behind what does not belong to it.

In: UTF-8 bytes from the start. Out: a SniffResult, or None while more bytes are needed. The result depends only on the
first WINDOW_BYTES, or MAX_JUNK_BYTES where those tell nothing; not on how the bytes are cut. The root element
determines the kind of XML: see ROOTS. The first root element of a known format begins a document, or an entry if its
beginning is lost. What stands in comments, sections, instructions and scripts is passed over.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Literal

import attrs

WINDOW_BYTES = 4096
FIRST_LINES = 20


class Format(StrEnum):
    """The format of a document; the value is that of Outcome.format."""

    URLSET = "urlset"
    INDEX = "sitemapindex"
    TEXT = "text"
    RSS = "rss"
    ATOM = "atom"
    ROBOTS = "robots"
    HTML = "html"


FEEDS = frozenset({Format.RSS, Format.ATOM})  # they list only recent pages
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
_COMPRESSED_TYPES = frozenset(
    {"application/gzip", "application/x-gzip", "application/octet-stream", "binary/octet-stream"}
)
# Content types that are correct for each format; any other is F06.
CONTENT_TYPES: dict[Format, frozenset[str]] = {
    Format.URLSET: _XML_TYPES | _COMPRESSED_TYPES,
    Format.INDEX: _XML_TYPES | _COMPRESSED_TYPES,
    Format.RSS: _XML_TYPES | _COMPRESSED_TYPES,
    Format.ATOM: _XML_TYPES | _COMPRESSED_TYPES,
    Format.TEXT: frozenset({"text/plain", "text/csv", "text/uri-list"}) | _COMPRESSED_TYPES,
}

Kind = Literal["xml", "text", "html", "empty", "unknown"]


@attrs.frozen
class SniffResult:
    """`kind`, and how many bytes precede the document proper."""

    kind: Kind
    skip_bytes: int = 0


_DECLARATION = re.compile(rb"<\?xml[\s?]")
_ANGLE = re.compile(rb"[<>]")
_ROOT = re.compile(rb"<(?:[\w.-]+:)?(?:urlset|sitemapindex|rss|RDF|feed)[\s/>]")
_HTML = re.compile(rb"\s*(?:<!--(?:(?!-->).)*-->\s*)*<!doctype\s+html", re.DOTALL | re.IGNORECASE)
# The rest of a doctype that a template printed before a sitemap. `(?!)`: see _EPILOG in xml/scan.py.
_PRINTED_DOCTYPE = re.compile(rb"[^<>\[]*+>\s*+(?=(?:\s++|<!--.*?-->|<\?.*?\?>|(?!))*+%s)" % _ROOT.pattern, re.DOTALL)
# A line of HTML, or of a message of PHP in plain text, from the script that writes the list of URLs.
_JUNK_LINE = re.compile(
    rb"\s*+(?:<(?:/|!--|(?:br|b|p|pre|div|font|table|hr|span|head|strong|script|style|link|meta)\b).*"
    rb"|(?:PHP )?(?:Warning|Notice|Deprecated|Fatal error|Parse error): .* on line \d+\s*+)?",
    re.IGNORECASE,
)
# Alone before XML, a URL is what a program printed.
_FIRST_LINES_ARE_URLS = re.compile(rb"(?:https?://[^\s<>\"]++[ \t]*+[\r\n]++){2}", re.IGNORECASE)
_URL_LINE = re.compile(rb"^[^\S\r\n]*(?:https?|ftp)://\S", re.IGNORECASE | re.MULTILINE)


def sniff(data: bytes | bytearray, *, final: bool) -> SniffResult | None:
    """The kind of the document that begins with `data`; None if more bytes are needed. `final`: there are no more."""
    if _DECLARATION.match(data):
        return _judge_declaration(data, final=final)
    if _ROOT.match(data):
        return SniffResult("xml")
    if _FIRST_LINES_ARE_URLS.match(data):
        return SniffResult("text")
    for size in (WINDOW_BYTES, MAX_JUNK_BYTES):
        if len(data) < size and not final:
            return None
        if judged := _judge(bytes(data[:size]), complete=final and len(data) <= size):
            return judged
    return SniffResult("unknown")


def _judge_declaration(data: bytes | bytearray, *, final: bool) -> SniffResult | None:
    """XML; a declaration that is not closed by `?>` is skipped, as it would swallow the document."""
    end = _ANGLE.search(data, 1, WINDOW_BYTES)
    if end is None:
        return SniffResult("xml") if final or len(data) >= WINDOW_BYTES else None
    is_closed = data[end.start() - 1 : end.end()] == b"?>"
    return SniffResult("xml", 0 if is_closed else end.start() + (end.group() == b">"))


@lru_cache(maxsize=1)  # called again with each piece, while more bytes are waited for
def _judge(window: bytes, *, complete: bool) -> SniffResult | None:
    """The kind by the first bytes; None where they tell nothing, such as messages before the document."""
    stripped = window.lstrip()
    if not stripped:
        # White space may exceed the window: allowed in XML, skipped in text.
        return SniffResult("empty" if complete else "xml")
    if html := _HTML.match(window):
        printed = _PRINTED_DOCTYPE.match(window, html.end())
        return SniffResult("xml", printed.end()) if printed else SniffResult("html")
    declaration = _DECLARATION.search(window)
    if declaration:
        return SniffResult("xml", declaration.start())
    junk_bytes = _junk_before_urls(window)
    if stripped.startswith(b"<") and not junk_bytes:
        return SniffResult("xml")
    return SniffResult("text", junk_bytes) if junk_bytes else _judge_text(window)


def _judge_text(window: bytes) -> SniffResult | None:
    """Without a tag at the start: XML after junk, even if that is a URL; a list of URLs, or unknown."""
    beginning = find_beginning(window, final=True)
    if beginning and beginning.kind in ("entry", "location"):
        return SniffResult("xml")
    if beginning and beginning.kind != "html":
        return SniffResult("xml", beginning.offset)
    url = _URL_LINE.search(b"\n".join(window.splitlines()[:FIRST_LINES]))
    if url and not (beginning and beginning.offset < url.start()):
        return SniffResult("text")
    return SniffResult("unknown") if beginning else None


def _junk_before_urls(window: bytes) -> int:
    """How many bytes of HTML or messages stand before a list of URLs, in lines of their own; 0: none, or no list."""
    url = _URL_LINE.search(window)
    if url is None or b"<" in window[url.start() :]:
        return 0
    before = window[: url.start()].splitlines()[:FIRST_LINES]
    return url.start() if any(map(bytes.strip, before)) and all(map(_JUNK_LINE.fullmatch, before)) else 0


# --- the beginning of a document ---


MAX_JUNK_BYTES = 64 * 1024  # before the beginning; some notices of PHP hold a whole stack

_PREFIX = rb"(?:[A-Za-z_][\w.-]*+:)?"
# `feed` and `RDF` are also elements of other formats, such as SVG: these have to declare their namespace.
_KNOWN_ROOT = rb"""
    %(prefix)s(?:(?i:urlset|sitemapindex)|rss)[\s/>]
  | %(prefix)s(?:feed|RDF)\s[^<>]*?(?:/2005/Atom|/atom/ns|/rss/|/rdf/simple/)
""" % {b"prefix": _PREFIX}
_VALUE = rb"\s*+>\s*+(?:<!\[CDATA\[)?[^<]*+</"  # of a tag, up to the end tag
_CANDIDATE = re.compile(
    rb"""
    < (?:                                                          # a literal first: the search is fast
      !--.*?(?:-->|\Z) | !\[CDATA\[.*?(?:\]\]>|\Z) | \?.*?(?:\?>|\Z)
    | (?i:script)[\s>].*?(?:</(?i:script)|\Z) | (?i:style)[\s>].*?(?:</(?i:style)|\Z)
    | (?P<html> (?i:html|body)[\s>] )
    | (?P<dtd> !(?i:doctype)\s[^<>\[]*+\[ )                        # refused (S09), and so never skipped
    | (?P<root> %(root)s )
    | (?P<entry> %(prefix)s(?:(?i:url|sitemap)|item|entry)(?:\s[^<>]*+)?+> )
    | (?P<location> loc%(value)s )                                 # of an entry whose start is lost
    )
    """
    % {b"root": _KNOWN_ROOT, b"prefix": _PREFIX, b"value": _VALUE},
    re.VERBOSE | re.DOTALL,
)
_LOCATIONS = {b"item": re.compile(rb"<(?:link|guid)[\s>]"), b"entry": re.compile(rb"<link\s")}
_LOCATION = re.compile(rb"<%s(?i:loc)%s" % (_PREFIX, _VALUE))
# The tag of an entry, or of the root around it: the next one behind a location is of the one it belongs to.
_AROUND = re.compile(rb"</?(%s(?i:url|sitemap))(?i:set|index)?[\s/>]" % _PREFIX)


@attrs.frozen
class Beginning:
    """What begins at an offset: a root element, an HTML page, a DTD that is refused, or the first entry.

    That is an `entry`, or the `location` of one whose start is lost; `name` is that of the entry, with its prefix.
    """

    offset: int
    kind: Literal["root", "html", "dtd", "entry", "location"]
    name: bytes = b""


def find_beginning(data: bytes | bytearray, start: int = 0, *, final: bool) -> Beginning | None:
    """The first one from `start` on, within MAX_JUNK_BYTES; None: not found so far. `final`: no more bytes come.

    An entry counts if it has a location, before the next one begins.
    """
    stop = start + MAX_JUNK_BYTES
    entry: re.Match[bytes] | None = None
    for match in _CANDIDATE.finditer(data, start, stop):
        if match.lastgroup is None:
            continue
        if entry and _holds_location(entry, data, match.end()):
            break
        entry = None
        if match.lastgroup == "entry":
            entry = match
        elif match.lastgroup == "location":
            follows = _AROUND.search(data, match.end(), stop)
            if follows is None and len(data) < stop and not final:
                return None
            return Beginning(match.start(), "location", follows.group(1) if follows else b"url")
        else:
            return Beginning(match.start(), match.lastgroup)  # type: ignore[arg-type]  # the names of the groups
    if entry and _holds_location(entry, data, stop):
        return Beginning(entry.start(), "entry", _name(entry))
    return None


def _name(entry: re.Match[bytes]) -> bytes:
    return entry.group().strip(b"<>").split()[0]


def _holds_location(entry: re.Match[bytes], data: bytes | bytearray, stop: int) -> bool:
    location = _LOCATIONS.get(_name(entry).rpartition(b":")[2], _LOCATION)
    return location.search(data, entry.end(), stop) is not None
