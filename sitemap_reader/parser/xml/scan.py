"""Where things are in markup that may be damaged: bytes and an offset in, offsets and names out. Changes nothing."""

from __future__ import annotations

import re

import attrs

# ----------------------------------------------------------------------------------------------------
# Control characters, which no XML document may hold, and what stands for each of them while expat reads.
#
# Two code points that Unicode keeps free of text (23.7): the first marks a stand-in, the second says for what. The mark
# itself has one too, so that what the document holds of them stays what it is.


_MARK = "\ufdd0"
_CONTROLS = (*(number for number in range(0x20) if number not in (0x9, 0xA, 0xD)), 0xFFFE, 0xFFFF)
_SECONDS = {number: chr(ord(_MARK) + place) for place, number in enumerate(_CONTROLS, 1)} | {ord(_MARK): "\U0001fffe"}
_NUMBERS = {second: chr(number) for number, second in _SECONDS.items()}
_STAND_INS = {number: _MARK + second for number, second in _SECONDS.items()}
_STAND_IN = re.compile(f"{_MARK}(.)", re.DOTALL)

# XML 1.0 2.2: these may not stand in a document, nor `&#1;`; and the mark, which may.
CONTROL = rb"[\x00-\x08\x0b\x0c\x0e-\x1f] | \xef\xbf[\xbe\xbf] | \xef\xb7\x90"


def needs_stand_in(number: int) -> bool:
    """Whether expat is not shown the character of this number."""
    return number in _SECONDS


def stand_in(text: str) -> bytes:
    """What expat is shown for such characters."""
    return text.translate(_STAND_INS).encode()


def controls_back(text: str) -> str:
    """The characters that stand-ins stand for."""
    return _STAND_IN.sub(lambda match: _NUMBERS.get(match.group(1), match.group()), text) if _MARK in text else text


# A name as written, prefix and all; no tag has another.
NAME = rb"[A-Za-z_\x80-\xff][\w.:\x80-\xff-]*+"
_ATTRIBUTE = re.compile(rb"""\s(%s)\s*=\s*(?:"[^"]*"|'[^']*')""" % NAME)


def local(name: bytes) -> bytes:
    """The name without its prefix."""
    return name.rpartition(b":")[2]


def names_location(name: bytes) -> bool:
    """Whether the element of this name holds a URL, and nothing else."""
    return local(name).endswith((b"loc", b"link", b"guid"))


def unbound_prefixes(data: bytes | bytearray, position: int) -> set[str]:
    """The prefixes of the tag at `position`, which is well-formed by itself, that it does not declare."""
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


_LANDMARK = re.compile(
    rb"""
    < (?:                                                  # the search leaps from one to the next
      (?P<aside> !--.*?--> | !\[CDATA\[.*?\]\]> | \?.*?\?> )
    | (?P<open>  !-- | !\[CDATA\[ | \? )
    | (?P<entry> (?:[\w.-]+:)? (?:(?i:url|sitemap)|item|entry) (?=[\s/>"'<]) )
    | (?P<end>   / (?:[\w.-]+:)? (?:urlset|sitemapindex|rss|RDF|feed|channel) (?=[\s>]) )
    | (?P<location> /? (?P<field> (?:[\w.-]+:)? (?:loc|link) ) (?=[\s>]) )  # one end, where the beginning is missing
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_TAG = re.compile(rb"""<(?:"[^"]*"|'[^']*'|[^>"']++)*+>""")
_TAG_NAME = re.compile(rb"<(%s)" % NAME)
# The longest beginning of a landmark that may stand at the end of a chunk.
_TAG_START_BYTES = 64


@attrs.frozen
class Landmark:
    """Where reading can go on: at an entry, or at the end of an element around (`found`); None: not in sight.

    Up to `searched` all was looked through, and on the way a location was passed, or a part of one, or not. `is_aside`:
    there something begins, a comment or the like, that has not ended, or is too long.
    """

    found: int | None
    searched: int
    passed_location: bool = False
    is_aside: bool = False


def next_landmark(
    data: bytes | bytearray,
    start: int,
    stop: int | None = None,
    *,
    ends: bool,
    location: bytes = b"",
    longest: int | None = None,
) -> Landmark:
    """The next entry from `start` up to `stop`, or with `ends` the end of what is around; comments, CDATA stepped over.

    `location` is the name of the field whose passing matters. What is longer than `longest` bytes is not stepped over.
    """
    passed, behind = False, start
    for match in _LANDMARK.finditer(data, start, len(data) if stop is None else stop):
        if match.lastgroup == "entry" or (ends and match.lastgroup == "end"):
            return Landmark(match.start(), match.start(), passed)
        if match.lastgroup == "open" or (longest and match.end() - match.start() > longest):
            return Landmark(None, match.start(), passed, is_aside=True)
        passed = passed or match.group("field") == location
        behind = match.end()
    return Landmark(None, max(behind, len(data) - _TAG_START_BYTES), passed)


_EPILOG = re.compile(rb"(?:\s++|<!--.*?-->|<\?.*?\?>)*+", re.DOTALL)


def epilog_end(data: bytes | bytearray, stop: int) -> int:
    """Up to where, and `stop`, there is nothing but what may stand behind the root element (XML 1.0, 2.8: Misc)."""
    match = _EPILOG.match(data, 0, stop)
    return match.end() if match else 0


def tag_name(data: bytes | bytearray, position: int) -> bytes:
    """The name, as written, of the tag that begins there."""
    match = _TAG_NAME.match(data, position)
    return match.group(1) if match else b""


def end_tag(data: bytes | bytearray, start: int, local: bytes) -> int:
    """Where the next end tag of this name begins, whatever its prefix; -1: nowhere."""
    match = re.compile(rb"</(?:[\w.-]+:)?%s\s*>" % re.escape(local)).search(data, start)
    return match.start() if match else -1


def tag_end(data: bytes | bytearray, start: int) -> int:
    """The offset behind the tag that begins at `start`; a `>` inside quotes does not end it."""
    match = _TAG.match(data, start)
    return match.end() if match else len(data)
