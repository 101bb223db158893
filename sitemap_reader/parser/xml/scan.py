"""Searches in markup that may not be well-formed: bytes and an offset in, offsets and names out.

Nothing is changed. Also holds the placeholders for control characters, which expat does not accept.
"""

from __future__ import annotations

import re

import attrs

# --- control characters, which XML does not allow ---

# A placeholder is two of Unicode's noncharacters (23.7): a mark, and one for the character. The mark has a placeholder
# too, so that one in the document is kept.
_MARK = "\ufdd0"
_CONTROLS = (*(number for number in range(0x20) if number not in (0x9, 0xA, 0xD)), 0xFFFE, 0xFFFF)
_SECOND = {number: chr(ord(_MARK) + place) for place, number in enumerate(_CONTROLS, 1)} | {ord(_MARK): "\U0001fffe"}
_NUMBERS = {second: chr(number) for number, second in _SECOND.items()}
_PLACEHOLDERS = {number: _MARK + second for number, second in _SECOND.items()}
_PLACEHOLDER = re.compile(f"{_MARK}(.)", re.DOTALL)

# Not allowed by XML 1.0 2.2, nor as `&#1;`; and the mark, which is.
CONTROL = rb"[\x00-\x08\x0b\x0c\x0e-\x1f] | \xef\xbf[\xbe\xbf] | \xef\xb7\x90"


def needs_placeholder(number: int) -> bool:
    """Whether the character of this code point is replaced before expat reads it."""
    return number in _SECOND


def placeholder(text: str) -> bytes:
    """The placeholders of such characters, as UTF-8."""
    return text.translate(_PLACEHOLDERS).encode()


def restore_controls(text: str) -> str:
    """The text with placeholders replaced by the characters."""
    return _PLACEHOLDER.sub(lambda match: _NUMBERS.get(match.group(1), match.group()), text) if _MARK in text else text


# --- tags ---

# A qualified name.
NAME = rb"[A-Za-z_\x80-\xff][\w.:\x80-\xff-]*+"
_ATTRIBUTE = re.compile(rb"""\s(%s)\s*=\s*(?:"[^"]*"|'[^']*')""" % NAME)


def local(name: bytes) -> bytes:
    """The name without its prefix."""
    return name.rpartition(b":")[2]


def names_location(name: bytes) -> bool:
    """Whether the element of this name holds a URL only."""
    return local(name).endswith((b"loc", b"link", b"guid"))


def unbound_prefixes(data: bytes | bytearray, position: int) -> set[str]:
    """The prefixes that the well-formed tag at `position` uses and does not declare."""
    tag = data[position : tag_end(data, position)]
    names = [tag_name(tag, 0), *_attribute_names(tag)]
    used = {name.partition(b":")[0].decode() for name in names if b":" in name}
    return used - declared_prefixes(tag) - {"xml", "xmlns"}


def declared_prefixes(tag: bytes | bytearray) -> set[str]:
    """The prefixes that a tag declares."""
    parts = (name.partition(b":") for name in _attribute_names(tag))
    return {own.decode() for prefix, _, own in parts if prefix == b"xmlns" and own}


def _attribute_names(tag: bytes | bytearray) -> list[bytes]:
    return [match.group(1) for match in _ATTRIBUTE.finditer(tag)]


_CANDIDATE = re.compile(
    rb"""
    < (?:                                                  # a literal first: the search is fast
      (?P<delimited> !--.*?--> | !\[CDATA\[.*?\]\]> | \?.*?\?> )
    | (?P<open>  !-- | !\[CDATA\[ | \? )
    | (?P<entry> (?:[\w.-]+:)? (?:(?i:url|sitemap)|item|entry) (?=[\s/>"'<]) )
    | (?P<end>   / (?:[\w.-]+:)? (?:urlset|sitemapindex|rss|RDF|feed|channel) (?=[\s>]) )
    | (?P<location> /? (?P<field> (?:[\w.-]+:)? (?:loc|link) ) (?=[\s>]) )  # an end tag, where the start tag is missing
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_TAG = re.compile(rb"""<(?:"[^"]*"|'[^']*'|[^>"']++)*+>""")
_TAG_NAME = re.compile(rb"<(%s)" % NAME)
# The longest beginning of a resume point at the end of a chunk.
_TAG_START_BYTES = 64


@attrs.frozen
class ResumePoint:
    """The offset where reading can go on: an entry, or the end of an ancestor; None: not found in the bytes.

    All up to `searched` was searched; `passed_location` where that holds a location, or a part of one. `is_unended`:
    at `searched` a comment, CDATA section or processing instruction begins that has not ended, or is too long.
    """

    offset: int | None
    searched: int
    passed_location: bool = False
    is_unended: bool = False


def next_resume_point(
    data: bytes | bytearray,
    start: int,
    stop: int | None = None,
    *,
    ends: bool,
    location: bytes = b"",
    max_delimited_bytes: int | None = None,
) -> ResumePoint:
    """The next entry from `start` up to `stop`, or with `ends` the end of an ancestor; outside comments and CDATA.

    `location` is the field that sets `passed_location`. Comments, CDATA sections and instructions longer than
    `max_delimited_bytes` are not skipped.
    """
    passed, searched = False, start
    for match in _CANDIDATE.finditer(data, start, len(data) if stop is None else stop):
        if match.lastgroup == "entry" or (ends and match.lastgroup == "end"):
            return ResumePoint(match.start(), match.start(), passed)
        if match.lastgroup == "open" or (max_delimited_bytes and match.end() - match.start() > max_delimited_bytes):
            return ResumePoint(None, match.start(), passed, is_unended=True)
        passed = passed or match.group("field") == location
        searched = match.end()
    return ResumePoint(None, max(searched, len(data) - _TAG_START_BYTES), passed)


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


def tag_end(data: bytes | bytearray, start: int) -> int:
    """The offset after the tag at `start`; a `>` inside quotes does not end it."""
    match = _TAG.match(data, start)
    return match.end() if match else len(data)
