"""Searches in markup that may not be well-formed: bytes and an offset in, offsets and names out. Nothing is changed."""

from __future__ import annotations

import re
from html import unescape

import attrs

# A qualified name.
NAME = rb"[A-Za-z_\x80-\xff][\w.:\x80-\xff-]*+"
_DECLARATION = re.compile(rb"""\sxmlns(?::([\w.\x80-\xff-]+))?\s*=\s*(?:"([^"]*)"|'([^']*)')""")


def line_breaks(data: bytes | bytearray, start: int, stop: int) -> int:
    """The number of line breaks, as expat counts them: `\\n`, `\\r\\n`, and a `\\r` alone."""
    breaks = data.count(b"\n", start, stop)
    if data.find(b"\r", start, stop) >= 0:
        breaks += data.count(b"\r", start, stop) - data.count(b"\r\n", start, stop + 1)
    return breaks


def local(name: bytes) -> bytes:
    """The name without its prefix."""
    return name.rpartition(b":")[2]


def names_location(name: bytes) -> bool:
    """Whether the element of this name holds a URL only."""
    return name.endswith((b"loc", b"link", b"guid"))


# Elements around entries.
ROOTS = frozenset(b"urlset sitemapindex rss RDF feed channel".split())
# Fields that hold neither a URL nor text.
DATA = frozenset(b"lastmod changefreq priority pubDate".split())
# Whether there is the start tag of an entry, or of the location of one.
holds_entry = re.compile(rb"<(?:[\w.-]+:)?(?:(?i:url|sitemap)|item|entry|loc)[\s/>]").search
# A tag of an entry or of its location; not that of HTML's <link>, which has no end tag.
find_part = re.compile(rb"<(?:/?(?:[\w.-]+:)?(?:(?i:url|sitemap)|item|entry|loc)[\s/>]|/link[\s>])").search
# A URL in a tag without a prefix, or in the text behind it: not that of an extension.
tags_with_urls = re.compile(rb"<(?![\w.-]+:)[^<>]*(?:>[^<]*)?://").findall


def holds_part(data: bytes | bytearray, start: int = 0, stop: int | None = None) -> bool:
    """Whether there may be an entry, or a part of one with its URL."""
    stop = len(data) if stop is None else stop
    return data.find(b"://", start, stop) >= 0 and find_part(data, start, stop) is not None


def declared_namespaces(tag: bytes) -> dict[str, str]:
    """The prefixes that a well-formed tag declares, "" for the default, and their namespaces."""
    return {
        match.group(1).decode() if match.group(1) else "": unescape((match.group(2) or match.group(3) or b"").decode())
        for match in _DECLARATION.finditer(tag)
    }


_CANDIDATE = re.compile(
    rb"""
    < (?:                                                  # a literal first: the search is fast
      (?P<opening> !-- | !\[CDATA\[ | \? )
    | (?P<entry> (?:[\w.-]+:)? (?:(?i:url|sitemap)|item|entry) (?=[\s/>"'<]) )
    | (?P<end>   / (?:[\w.-]+:)? (?:urlset|sitemapindex|rss|RDF|feed|channel) (?=[\s>]) )
    | (?P<location> /? (?P<field> (?:[\w.-]+:)? (?:loc|link) ) (?=[\s>]) )  # an end tag, where the start tag is missing
    )
    """,
    re.VERBOSE,
)
_ENDS = {b"!--": b"-->", b"![CDATA[": b"]]>", b"?": b"?>"}
_TAG = re.compile(rb"""<(?:"[^"]*"|'[^']*'|[^>"']++)*+>""")
_TAG_NAME = re.compile(rb"<(%s)" % NAME)
# The longest beginning of a resume point at the end of a chunk.
_TAG_START_BYTES = 64


@attrs.frozen
class ResumePoint:
    """The offset where reading can go on: an entry, or the end of an ancestor; None: not found in the bytes.

    All up to `searched` was searched; `passed_location` where that holds a location, a part of one, or an entry inside
    of a comment, CDATA section or processing instruction. `is_unended`:
    at `searched` a comment, CDATA section or processing instruction begins that has not ended, or is too long.
    """

    offset: int | None
    searched: int
    passed_location: bool = False
    is_unended: bool = False


def next_resume_point(
    data: bytes | bytearray,
    start: int,
    *,
    ends: bool,
    location: bytes = b"",
    max_delimited_bytes: int | None = None,
) -> ResumePoint:
    """The next entry from `start` on, or with `ends` the end of an ancestor; outside comments and CDATA.

    `location` is the field that sets `passed_location`. Comments, CDATA sections and instructions longer than
    `max_delimited_bytes` are not skipped.
    """
    passed, searched = False, start
    while match := _CANDIDATE.search(data, searched):
        if match.lastgroup == "entry" or (ends and match.lastgroup == "end"):
            return ResumePoint(match.start(), match.start(), passed)
        searched = match.end()
        if opening := match.group("opening"):
            end = data.find(_ENDS[opening], searched)
            after = end + len(_ENDS[opening])
            if end < 0 or (max_delimited_bytes and after - match.start() > max_delimited_bytes):
                return ResumePoint(None, match.start(), passed, is_unended=True)
            passed = passed or holds_entry(data, searched, end) is not None
            searched = after
        passed = passed or match.group("field") == location
    return ResumePoint(None, max(searched, len(data) - _TAG_START_BYTES), passed)


# What may surround the root element (XML 1.0 2.8: Misc).
# `(?!)`: CPython before 3.11.5 does not go back where a possessive group fails, but before each alternative.
_EPILOG = re.compile(rb"(?:\s++|<!--.*?-->|<\?.*?\?>|(?!))*+", re.DOTALL)


def epilog_end(data: bytes | bytearray, stop: int) -> int:
    """Where, up to `stop`, something begins that may not follow the root element (XML 1.0 2.8: Misc)."""
    match = _EPILOG.match(data, 0, stop)
    return match.end() if match else 0


def tag_name(data: bytes | bytearray, position: int) -> bytes:
    """The qualified name of the tag at `position`."""
    match = _TAG_NAME.match(data, position)
    return match.group(1) if match else b""


def end_tag(data: bytes | bytearray, start: int, local: bytes) -> int:
    """The offset of the next end tag with this local name; -1: none."""
    match = re.compile(rb"</(?:[\w.-]+:)?%s\s*>" % re.escape(local)).search(data, start)
    return match.start() if match else -1


def element_end(data: bytes | bytearray, start: int, name: bytes, stop: int) -> int | None:
    """The offset after the element of this name whose tag is at `start`; None where that does not end up to `stop`."""
    end = tag_end(data, start)
    if data[end - 2 : end] == b"/>":
        return end if end <= stop else None
    match = re.compile(rb"</%s\s*>" % re.escape(name)).search(data, end, stop)
    return match.end() if match else None


def tag_end(data: bytes | bytearray, start: int) -> int:
    """The offset after the tag at `start`; a `>` inside quotes does not end it."""
    match = _TAG.match(data, start)
    return match.end() if match else len(data)


# An element's start tag, and what comes first in it: a `root` of the protocol, or something else. No match where that
# has not ended.
first_child = re.compile(
    _TAG.pattern
    + _EPILOG.pattern
    + rb"""(?:(?P<root><(?:[\w.-]+:)?(?i:urlset|sitemapindex)(?=[\s/>])[^<>]*+>)|<[^!?][^<>]*+[<>]|<!-?[^-]|[^<])""",
    re.DOTALL,
).match


_DOCTYPE = re.compile(_EPILOG.pattern + rb"""(?P<doctype><!DOCTYPE(?:"[^"]*"|'[^']*'|[^>"'\[])*>)""", re.DOTALL)


def blank_doctype(data: bytes) -> bytes:
    """The bytes with the DOCTYPE replaced by spaces, so that lines and offsets stay.

    Where an external subset is named, expat silently drops undefined entities (XML 1.0 4.1, WFC Entity Declared).
    """
    match = _DOCTYPE.match(data)
    if match is None:
        return data
    start, end = match.span("doctype")
    return data[:start] + re.sub(rb"[^\r\n]", b" ", data[start:end]) + data[end:]
