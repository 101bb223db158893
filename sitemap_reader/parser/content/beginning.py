"""Finds where a document begins behind what does not belong to it: UTF-8 bytes in, a Beginning out.

The first root element of a known format begins it, or an entry if the beginning of the document is lost. What stands
in comments, sections, instructions and scripts is passed over. The result for bytes is also that for more of them.
"""

from __future__ import annotations

import re
from typing import Literal

import attrs

MAX_JUNK_BYTES = 64 * 1024  # before the beginning; some notices of PHP hold a whole stack

_PREFIX = rb"(?:[A-Za-z_][\w.-]*+:)?"
# `feed` and `RDF` are also elements of other formats, such as SVG: these have to declare their namespace.
_ROOT = rb"""
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
    % {b"root": _ROOT, b"prefix": _PREFIX, b"value": _VALUE},
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
