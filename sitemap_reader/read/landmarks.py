"""Where things are in markup that may be damaged: bytes and an offset in, offsets and names out. Changes nothing."""

from __future__ import annotations

import re

import attrs

# A name as written, prefix and all; no tag has another.
NAME = rb"[A-Za-z_\x80-\xff][\w.:\x80-\xff-]*+"
_PREFIX = re.compile(rb"[<\s/](?P<prefix>[A-Za-z_][\w.-]*):[\w.-]+(?=[\s/>=])")


def local(name: bytes) -> bytes:
    """The name without its prefix."""
    return name.rpartition(b":")[2]


def names_location(name: bytes) -> bool:
    """Whether the element of this name holds a URL, and nothing else."""
    return local(name).endswith((b"loc", b"link", b"guid"))


def unbound_prefixes(data: bytes | bytearray, position: int) -> list[str]:
    """The prefixes of the tag at `position` that nothing before its end declares."""
    end = tag_end(data, position)
    used = dict.fromkeys(match.group("prefix") for match in _PREFIX.finditer(data, position, end))
    return [
        prefix.decode()
        for prefix in used
        if prefix not in (b"xml", b"xmlns") and data.find(b"xmlns:" + prefix, 0, end) < 0
    ]


_LANDMARK = re.compile(
    rb"""
      (?P<aside> <!--.*?--> | <!\[CDATA\[.*?\]\]> | <\?.*?\?> )
    | (?P<open>  <!-- | <!\[CDATA\[ | <\? )
    | (?P<entry> < (?:[\w.-]+:)? (?:(?i:url|sitemap)|item|entry) (?=[\s/>"'<]) )
    | (?P<end>   </ (?:[\w.-]+:)? (?:urlset|sitemapindex|rss|RDF|feed|channel) (?=[\s>]) )
    | (?P<location> < (?P<field> (?:[\w.-]+:)? (?:loc|link) ) (?=[\s>]) )
    """,
    re.VERBOSE | re.DOTALL,
)
_TAG = re.compile(rb"""<(?:"[^"]*"|'[^']*'|[^>"'])*>""")
_TAG_NAME = re.compile(rb"<(%s)" % NAME)
# The longest beginning of a landmark that may stand at the end of a chunk.
_TAG_START_BYTES = 64


@attrs.frozen
class Landmark:
    """Where reading can go on: at an entry, or at the end of an element around (`found`); None: not in sight.

    Up to `searched` all was looked through, and on the way a location was passed or not.
    """

    found: int | None
    searched: int
    passed_location: bool = False


def next_landmark(
    data: bytes | bytearray, start: int, stop: int | None = None, *, ends: bool, location: bytes = b""
) -> Landmark:
    """The next entry from `start` up to `stop`, or with `ends` the end of what is around; comments, CDATA stepped over.

    `location` is the name of the field whose passing matters.
    """
    passed, behind = False, start
    for match in _LANDMARK.finditer(data, start, len(data) if stop is None else stop):
        if match.lastgroup == "entry" or (ends and match.lastgroup == "end"):
            return Landmark(match.start(), match.start(), passed)
        if match.lastgroup == "open":
            return Landmark(None, match.start(), passed)
        passed = passed or match.group("field") == location
        behind = match.end()
    return Landmark(None, max(behind, len(data) - _TAG_START_BYTES), passed)


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
