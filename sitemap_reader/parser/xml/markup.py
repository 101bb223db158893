"""Markup and text that may not be well-formed: bytes and an offset in; tokens, characters, offsets out.

Searches for tags; ReplayBuffer, the bytes since the last tag outside entries, which another parser may have to read
again, and all positions in a document, which are byte offsets in its UTF-8 text; next_token() and TokenReader, which
read a tag, comment or section by what is most likely meant; CharacterReader, which reads what XML does not allow in
text. Each byte is looked at a few times at most.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from html import unescape
from html.entities import html5
from typing import TYPE_CHECKING, NamedTuple
from xml.parsers import expat

import attrs

from ...model.limits import over_limit
from ...model.records import EXTENSIONS
from ..dialects.extensions import INNER_TAGS
from .repairs import CHARACTER_REPAIR_STEPS, HOLE_BYTES, Stop, has_hole

if TYPE_CHECKING:
    from ...model.limits import Limits
    from ...model.problems import Kind, Severity
    from .repairs import Budget, RepairLog

# --- searches ---

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


# --- the bytes of a document ---

_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")


class ReplayBuffer:
    """`data` begins at the offset `start` of the document, on `line`.

    `tag` is the offset of the last tag outside entries, or of the last entry's end tag; `is_tag` is False for the end
    of an empty element (`<a/>`), whose offset is after the tag. Bytes count for max_entry_bytes from there on. The tag
    `is_after_entry` if it ended one, `is_after_root` if it began a root that holds entries only. So many bytes were
    `skipped`: they were never in `data`.
    """

    def __init__(self, line: int, limits: Limits) -> None:
        self.data = bytearray()
        self.start = self.tag = self.skipped = 0
        self.line = self._tag_line = line
        self.is_tag = True
        self.is_after_entry = self.is_after_root = False
        self._holds_tag = False  # or what is before it
        self._max_entry_bytes = limits.max_entry_bytes
        self._max_token_bytes = limits.max_token_bytes
        self._reached = (0, line)  # the last offset whose line was counted, and that line

    def __len__(self) -> int:
        return len(self.data)

    @property
    def end(self) -> int:
        return self.start + len(self.data)

    def relative(self, offset: int) -> int:
        return offset - self.start

    def line_at(self, offset: int) -> int:
        """The line at an offset; as offsets mostly grow, each byte is counted once."""
        reached, line = self._reached
        if reached == offset:
            return line
        if not self.start <= reached <= offset:
            reached, line = self.start, self.line
        line += line_breaks(self.data, reached - self.start, offset - self.start)
        self._reached = (offset, line)
        return line

    def tag_at(self, offset: int) -> bytes:
        """The tag that begins at an offset, as written, on one line."""
        start = offset - self.start
        return bytes(self.data[start : tag_end(self.data, start)]).translate(_ONE_LINE)

    def bytes_before(self, offset: int) -> bytes:
        end = offset - self.start
        return bytes(self.data[max(0, end - 2) : end])

    # --- what is read ---

    def note_tag(self, offset: int) -> None:
        """Notes a tag outside entries, or the end tag of one. Stop above max_entry_bytes."""
        if self.is_too_long(offset):
            raise self.too_long()
        self.tag, self.is_tag, self._holds_tag = offset, True, True
        self.is_after_entry = self.is_after_root = False

    def forget_tag(self) -> None:
        """Keeps what is before the last tag that was noted."""
        self._holds_tag = False

    def drop_read(self, end: int | None = None) -> bool:
        """Removes all up to the end of the last tag that was noted, which is the offset `end`; False without one."""
        if not self._holds_tag:
            return False
        if end is None:
            start = self.tag - self.start
            end = self.start + tag_end(self.data, start) if self.is_tag else self.tag
        self.drop_until(end)
        self._tag_line, self._holds_tag = self.line, False
        return True

    def drop_until(self, offset: int) -> None:
        """Removes the bytes before an offset."""
        self.line = self.line_at(offset)
        del self.data[: offset - self.start]
        self.start = offset

    def begin_entry(self, offset: int) -> None:
        """Removes the bytes before an entry or a root at an offset."""
        self.drop_until(offset)
        self.tag, self._tag_line, self._holds_tag = offset, self.line, False

    def prepend(self, data: bytes) -> None:
        """Puts bytes before the others that the document does not have."""
        self.data[:0] = data
        self.start -= len(data)
        self.tag = self.start

    def skip(self, size: int, breaks: int, end_tag_size: int) -> None:
        """Moves past entries that are not put into the buffer, which is empty; the last one has this end tag."""
        self.start += size
        self.skipped += size
        self.line += breaks
        self.tag, self._tag_line = self.start - end_tag_size, self.line
        self.is_after_entry = True

    # --- limits ---

    def is_too_long(self, offset: int) -> bool:
        """Whether an entry that is still open at an offset has more than max_entry_bytes."""
        return offset - self.tag > self._max_entry_bytes

    def too_long(self) -> Stop:
        self.drop_read()
        limit = self._max_entry_bytes
        return Stop(over_limit("max_entry_bytes", limit, "byte without the end of an entry", self._tag_line))

    def unended_token(self, offset: int) -> Stop:
        """The exception for a token from an offset on that is longer than max_token_bytes."""
        limit, line = self._max_token_bytes, self.line_at(offset)
        return Stop(over_limit("max_token_bytes", limit, "byte in one comment, tag or other token", line))


# --- element names, without prefixes ---

ENTRIES = frozenset(b"url sitemap item entry".split())
LOCATIONS = frozenset(b"loc link guid".split())
CONTAINERS = {extension.name.encode() for extension in EXTENSIONS.values()} - LOCATIONS
VOID_EXTENSIONS = {extension.name.encode() for extension in EXTENSIONS.values() if extension.is_void} - LOCATIONS
CONTAINERS |= frozenset(b"publication tvshow group content".split())
FIELDS = LOCATIONS | DATA | frozenset(b"title description summary updated published id author category".split())
VOID = frozenset(b"br hr img input meta wbr".split())  # HTML's, which have no end tag
HTML = VOID | frozenset(b"a b body center code div em font head html i li ol p pre span strong ul".split())
KNOWN = ROOTS | ENTRIES | CONTAINERS | FIELDS | {part.rpartition(":")[2].encode() for part in INNER_TAGS}
TEXTS = KNOWN - ROOTS - ENTRIES - CONTAINERS - LOCATIONS - DATA  # fields of free text
PREFIXES = {extension.prefix.encode() for extension in EXTENSIONS.values()} | {b"media", b"dc", b"atom", b"content"}

# The ratio of difflib from which on a name is a misspelling: `lok` is one of `loc`, `b` is not.
_MIN_SIMILARITY = 0.65
_MAX_COMPARED_BYTES = 20

# --- tokens ---

_NAME_OF_ASCII = rb"[A-Za-z_][\w.-]*+(?::[A-Za-z_][\w.-]*+|(?!))?+"
_BLANK = rb"[ \t\r\n]"  # XML 1.0 2.3; `\s` has two more
_PLAIN_NAME = rb"(?!xmlns:)" + _NAME_OF_ASCII
_TEXT = re.compile(rb"(?:[^<\]]++|\](?!\]>)|(?!))*+")
# A token matches only where no further byte could change it.
_TOKEN = re.compile(
    rb"""
    # Nearly all tags are well-formed.
      </ (?P<ended> %(plain)s ) %(blank)s*+ >
    | < (?P<begun> %(plain)s )
      (?P<exact> (?: %(blank)s++ %(plain)s %(blank)s*+ = %(blank)s*+ (?: "[^"<]*+" | '[^'<]*+' ) | (?!) )*+
                 %(blank)s*+ /?+ ) >
      (?= \s*+ (?P<follows> < /?+ [\w.:-]*+ (?=[^\w.:-]) | [^<\s] ) )
    | (?P<comment> <!--.*?--> )
    | (?P<instruction> <\?(?!(?i:xml)\s).*?\?> )
    | (?P<section> <!?\s?\[?(?i:CDATA)\s?\[ )                      # the opening only; also misspelled
    | (?P<declaration> <\?(?i:xml)\s[^<>]*> | <xml\s[^<>]*> | <!(?!-)[^<>]*> )
    | (?P<misspelled> <!-(?!-) .*? -> )                             # a comment whose opening is damaged
    | (?P<opening> <!-- | <\? | <!- )
    # end tags: `</loc>`, `</ loc>`, `<\/loc>`, and without their `>` where another tag follows
    | (?P<stop> < \s*+ [/\\]++ \s*+ (?P<stopped> %(name)s ) (?P<rest> [^<>]*+ ) (?: > | (?=<) ) )
    # start tags, `< loc>` too, with what follows; a `>` in quotes does not end one, unless quotes do not match
    | (?P<start> < (?> \s++ (?= (?:[\w.-]+:)? (?:%(known)s) [\s/>] ) | ) (?P<name> %(name)s )
        (?P<attributes> (?> (?: [^<>"']++ | "[^"<]*" | '[^'<]*' | (?!) )*+ (?=>) | [^<>]*+ (?=[<>]) (?=[^<]*+<) ) ) >?+
        (?= \s*+ (?P<next> < /?+ [\w.:-]*+ (?=[^\w.:-]) | [^<\s] )?+ ) )
    | (?P<stray> (?: < (?=[^A-Za-z_/\\!?\[\s\x80-\xff])
                   | < (?=\s++ (?!(?:[\w.-]+:)?(?:%(known)s)[\s/>] | (?i:CDATA)\s?\Z)
                       [\w.:\x80-\xff-]++[^\w.:\x80-\xff-])
                   | <\s++ (?=[^\s/\\\[\w.:\x80-\xff-])
                   | <\s*+ (?=\[.{7})                               # no section: `[CDATA [` would be as long
                   | <\s*+[/\\]++\s*+(?=[^\sA-Za-z_\x80-\xff])
                   | <!(?=[^<>]*+<) ) (?=(?P<after>.)) | \]\]> )
    """
    % {b"plain": _PLAIN_NAME, b"blank": _BLANK, b"name": NAME, b"known": b"|".join(sorted(KNOWN))},
    re.VERBOSE | re.DOTALL,
)
# The kind of token for each last group, and the groups of its name, its rest and what follows.
_KINDS = {
    **{kind: (kind, ("name", "rest", "next")) for kind in ("comment", "instruction", "section", "declaration")},
    "misspelled": ("misspelled", ("name", "rest", "next")),
    "ended": ("stop", ("ended", "rest", "next")),
    "follows": ("start", ("begun", "exact", "follows")),
    "start": ("start", ("name", "attributes", "next")),
    "stop": ("stop", ("stopped", "rest", "next")),
    "stray": ("stray", ("name", "rest", "after")),
}
_PLAIN = frozenset(("ended", "follows"))
# After a stray `<`: it is doubled, or begins a tag of a template language.
HARMLESS = frozenset((b"<", b"%", b"#", b"$", b"{"))
_INSTRUCTION = re.compile(rb"<\?%s(?:%s|\?)" % (NAME, _BLANK))
_END_TAG = re.compile(rb"</%s%s*>" % (NAME, _BLANK))
# `(?!)`: CPython before 3.11.5 does not go back where a possessive group fails, but before each alternative.
_ATTRIBUTES = re.compile(
    rb"""(?: %(blank)s++ %(name)s %(blank)s*+ = %(blank)s*+ (?: "[^"<]*+" | '[^'<]*+' ) | (?!) )*+ %(blank)s*+ /?
        %(blank)s*+"""
    % {b"blank": _BLANK, b"name": NAME},
    re.VERBOSE,
)
_ATTRIBUTE = re.compile(
    rb"""(?P<name> %s ) (?: \s*+ = \s*+ (?P<value> "[^"]*" | '[^']*' | [^\s"'<>]+ ) )?""" % NAME, re.VERBOSE
)
# A value without its closing quote runs on to the opening quote of the next one.
_SWALLOWED = re.compile(rb"\s%s\s*=\s*[\"']\Z" % NAME)
_SHOWN_BYTES = 80
_UNLIMITED = 1 << 40


class Token(NamedTuple):
    """A piece of markup, with the text before it; `kind` is the name of a group of _TOKEN."""

    kind: str
    text: bytes
    start: int
    end: int
    written: bytes
    name: bytes = b""  # of a tag, prefix and all
    local: bytes = b""  # the name without its prefix
    rest: bytes = b""  # of a tag, after the name; the content of a section
    next: bytes = b""  # after a start tag or a stray character: a character, or the beginning of a tag
    is_plain: bool = False  # a tag that is known to be well-formed, but for attributes that are doubled or reserved

    @property
    def is_closed(self) -> bool:
        return self.written.endswith(b">")

    @property
    def is_empty(self) -> bool:
        return bool(self.rest) and self.rest.rstrip().endswith(b"/")

    @property
    def is_well_formed(self) -> bool:
        """Whether it is well-formed, but for characters and prefixes; comments and sections have rules of their own."""
        if self.kind in ("comment", "section"):
            return True
        if self.is_plain:
            return not self.rest or attributes(self.rest).is_exact
        if self.kind in ("instruction", "stop"):
            return (_INSTRUCTION if self.kind == "instruction" else _END_TAG).match(self.written) is not None
        is_whole = self.is_closed and self.written.startswith(self.name, 1)
        is_whole = is_whole and self.is_empty == self.rest.endswith(b"/") and is_element_name(self.name)
        return is_whole and attributes(self.rest).is_exact

    @property
    def has_attributes(self) -> bool:
        """Whether all that follows the name in a start tag is well-formed attributes."""
        return not self.rest or _ATTRIBUTES.fullmatch(self.rest) is not None

    @property
    def is_void(self) -> bool:
        """Whether the element is always empty, so that a missing slash is added, unless its end tag follows."""
        is_link = self.local == b"link" and b"href" in self.rest
        is_extension = (is_link or self.local in VOID_EXTENSIONS) and self.next != b"</" + self.name
        return is_extension or self.name in VOID


_token = tuple.__new__  # the constructor of a NamedTuple takes twice as long


def next_token(
    data: bytes | bytearray, start: int, *, final: bool = False, max_bytes: int = _UNLIMITED
) -> Token | None:
    """The next token at or after `start`; None where there is none, or where it has not ended.

    `final`: no further bytes follow, so that a start tag is one whatever would have followed it. `max_bytes` are those
    of a token and of what has to follow it.
    """
    text = _TEXT.match(data, start)
    begun = text.end() if text else start
    match = _TOKEN.match(data, begun, begun + max_bytes)
    last = (match and match.lastgroup) or ""
    if not (text and match and last in _KINDS):
        return None
    kind, groups = _KINDS[last]
    name, rest, following = match.group(*groups)
    if last == "start" and following is None and not (final and len(data) - begun <= max_bytes):
        return None
    name = name or b""
    own = local(name) if b":" in name else name
    if own not in KNOWN and own.lower() in ENTRIES:  # which are read in any case
        own = own.lower()
    parts = match.group(), name, own, rest or b"", following or b"", last in _PLAIN
    return _token(Token, (kind, text.group(), begun, match.end(), *parts))


_RESERVED = frozenset((b"xmlns:xml", b"xmlns:xmlns"))  # not to be declared (Namespaces 3)
# Those of the prefixes `xml` and `xmlns`, which no other prefix may have (Namespaces 3).
RESERVED_NAMESPACES = frozenset(("http://www.w3.org/XML/1998/namespace", "http://www.w3.org/2000/xmlns/"))
_ASCII_NAME = re.compile(_NAME_OF_ASCII)


def is_name(name: bytes) -> bool:
    """Whether XML allows a name (1.0, 2.3; Namespaces 4)."""
    return _ASCII_NAME.fullmatch(name) is not None or (not name.isascii() and _is_name_of_expat(name))


def declares_namespace(name: bytes) -> bool:
    """Whether an attribute of this name is no other one, but a declaration (Namespaces 3)."""
    return name == b"xmlns" or name.startswith(b"xmlns:")


def is_element_name(name: bytes) -> bool:
    """Whether an element may have the name: `xmlns` is no prefix of elements (Namespaces 3)."""
    return is_name(name) and not name.startswith(b"xmlns:")


def _is_name_of_expat(name: bytes) -> bool:
    parts = name.split(b":")
    try:
        for part in parts:  # neither prefix nor local part is empty (Namespaces 4)
            expat.ParserCreate("utf-8").Parse(b"<" + part + b"/>", True)
    except expat.ExpatError:
        return False
    return len(parts) <= 2


def is_misspelling(name: bytes, meant: bytes) -> bool:
    """Whether `name` is most likely a misspelling of `meant`; prefixes do not count."""
    return _are_similar(local(name).lower()[:_MAX_COMPARED_BYTES], local(meant).lower()[:_MAX_COMPARED_BYTES])


@lru_cache(maxsize=1024)  # the same misspelling is repeated; names are short
def _are_similar(name: bytes, other: bytes) -> bool:
    return SequenceMatcher(None, name.decode("latin-1"), other.decode("latin-1")).ratio() >= _MIN_SIMILARITY


class Attribute(NamedTuple):
    """An attribute: its value as written, without quotes, and where that begins after the name of the tag."""

    name: bytes
    value: bytes
    offset: int
    quoted: bytes


class Attributes(NamedTuple):
    """The attributes of a tag, each once, and the same as well-formed markup, without the last slash."""

    found: list[Attribute]
    written: bytes
    is_whole: bool = True  # nothing was left out
    is_exact: bool = True  # nothing was changed


def attributes(written: bytes) -> Attributes:
    """What follows the name of a tag.

    Ambiguous ones are left out: in `href=https://example.com/a/>` the slash may belong to the URL or to the tag.
    """
    return _short_attributes(written) if len(written) <= _MAX_KEPT_BYTES else _attributes(written)


def _attributes(written: bytes) -> Attributes:
    trimmed = written.rstrip()
    body = trimmed[:-1] if trimmed.endswith(b"/") else written
    if not body.strip(b" \t\r\n"):
        return Attributes([], body)
    matches = list(_ATTRIBUTE.finditer(body))
    found: dict[bytes, Attribute] = {}
    for match in matches:
        name, value = match.group("name"), match.group("value")
        is_quoted = value is not None and value[:1] in b"\"'"
        is_clear = is_quoted or match.end() < len(body) or body == written
        is_allowed = is_name(name) and not (name.startswith(b"xmlns:") and value in (b'""', b"''", None))
        if value and is_clear and is_allowed and name not in _RESERVED and not _SWALLOWED.search(value):
            text, quoted = (value[1:-1], value) if is_quoted else (value, b'"' + value + b'"')
            found.setdefault(name, Attribute(name, text, match.start("value") + is_quoted, quoted))
    kept = list(found.values())
    if len(found) == len(matches) and _ATTRIBUTES.fullmatch(written):
        return Attributes(kept, body)
    is_whole = not _ATTRIBUTE.sub(b"", body).strip() and found.keys() == {match.group("name") for match in matches}
    return Attributes(kept, b"".join(b" " + each.name + b"=" + each.quoted for each in kept), is_whole, False)


# A tag is looked at a few times, to check it and to read it, and many have the same attributes.
_MAX_KEPT_BYTES = 256
_short_attributes = lru_cache(maxsize=256)(_attributes)


def shown(written: bytes) -> str:
    """An excerpt for a message, on one line."""
    return " ".join(written[:_SHOWN_BYTES].decode("utf-8", "ignore").split())


SECTION = b"<![CDATA["
_MAX_CHARACTER_BYTES = 4  # of UTF-8
_MAX_SECTION_NAME = 100
_MAX_END_BYTES = 256
_FOLLOWING = re.compile(rb"\s*+(?:</(%s)\s*+>|<?[^</])" % NAME)  # an end tag, or anything else


@lru_cache(maxsize=256)
def _end_of(name: bytes) -> re.Pattern[bytes]:
    """The end tag of an element that holds a section without an end, or what is no part of one.

    Neither is longer than _MAX_END_BYTES.
    """
    wrong = rb"[<>]" if names_location(name) else rb"</?(?:[\w.-]+:)?(?:url|sitemap|item|entry)[\s/>]"
    return re.compile(rb"(?P<own></%s\s{0,99}>)|%s" % (re.escape(name), wrong))


class TokenReader:
    """Reads tokens from the buffer, sections with their ends; Stop above max_token_bytes and max_entry_bytes."""

    def __init__(self, buffer: ReplayBuffer, limits: Limits, budget: Budget) -> None:
        self._buffer = buffer
        self._budget = budget
        self._max_bytes = limits.max_token_bytes
        self._no_section_end = 0, 0  # offsets between which there is no `]]>`
        self._no_element_end = b"", 0, 0  # a name, and offsets between which no match of its _end_of() begins

    def at(self, position: int, own: bytes | None, *, final: bool) -> Token | None:
        """The next token from an offset on; None where more bytes are needed. `own` is the element that begins there.

        Of a section, `rest` is the content. `next` is `element` where it ends with that, `unsure` where it may end
        earlier, or `unended`.
        """
        data, start = self._buffer.data, position - self._buffer.start
        token = next_token(data, start, final=final, max_bytes=self._max_bytes)
        if token is None:
            self._check_unended(data.find(b"<", start))
        elif token.kind == "section":
            return self._whole_section(token, own, final=final)
        return token

    def _check_unended(self, begun: int) -> None:
        """Stop above the limits of an entry and of a token, where one has begun here but not ended, or none has."""
        buffer = self._buffer
        reached = buffer.end if begun < 0 else buffer.start + begun
        if buffer.is_too_long(reached):
            raise buffer.too_long()
        if begun >= 0 and buffer.end - reached > self._max_bytes:
            raise buffer.unended_token(reached)

    def _whole_section(self, opening: Token, own: bytes | None, *, final: bool) -> Token | None:
        """The section whose opening was found, its content as `rest`; None where its end needs more bytes.

        It ends with its `]]>`, or with the element `own` that it begins: where there is no `]]>`, or where another
        section begins before it and the end of this element does not follow. Without either, it is the opening alone.
        """
        data, start = self._buffer.data, opening.end
        limit = opening.start + _MAX_CHARACTER_BYTES * self._max_bytes  # the builder counts characters
        end = self._section_end(start)
        is_closed = 0 <= end <= limit - len(b"]]>")
        if not is_closed and len(data) <= limit and not final:
            return None
        is_first = own is not None and len(own) <= _MAX_SECTION_NAME and not opening.text.strip()
        after, holds_another = end + len(b"]]>"), False
        quoted = self._element_end(own, start, end if is_closed else limit) if own and is_first else None
        if own and quoted and quoted.group("own"):
            holds_another = is_closed and data.find(SECTION, quoted.end(), end) >= 0
            following = _FOLLOWING.match(data, after) if holds_another else None
            if holds_another and following is None and len(data) - after <= limit and not final:
                return None
            if not is_closed or (holds_another and not (following and following.group(1) == own)):
                content = bytes(data[start : quoted.start()])
                return opening._replace(end=quoted.start(), rest=content, next=b"element")
        if is_closed:
            return opening._replace(end=after, rest=bytes(data[start:end]), next=b"unsure" if holds_another else b"")
        if len(data) > limit:
            raise self._buffer.unended_token(self._buffer.start + opening.start)
        return opening._replace(next=b"unended")

    def _element_end(self, name: bytes, start: int, stop: int) -> re.Match[bytes] | None:
        """The first match of _end_of() in these bytes. Those without one are not searched again for the same name."""
        data, first = self._buffer.data, self._buffer.start
        own, begun, until = self._no_element_end
        is_known = own == name and begun <= first + start <= until
        searched = until - first if is_known else start
        found = _end_of(name).search(data, searched, stop)
        reached = found.start() if found else max(searched, min(stop, len(data)) - _MAX_END_BYTES)
        self._no_element_end = name, begun if is_known else first + start, first + reached
        self._budget.spend(max(0, reached - searched))
        return found

    def _section_end(self, start: int) -> int:
        """The next `]]>`; -1: none. Bytes without one are not searched again."""
        data, first = self._buffer.data, self._buffer.start
        begun, until = (offset - first for offset in self._no_section_end)
        is_known = begun <= start <= until
        end = data.find(b"]]>", until if is_known else start)
        reached = end if end >= 0 else max(start, len(data) - len(b"]]"))
        self._no_section_end = first + (begun if is_known else start), first + reached
        return end


def without_remnant(text: bytes) -> bytes:
    """The content of a section without the unmatched brackets at its end, which are left of a damaged `]]>`."""
    opened = text.count(b"[")
    for _ in range(len("]]")):
        if text.endswith(b"]") and text.count(b"]") > opened:
            text = text[:-1]
    return text


# --- characters ---

_CONTROLS = rb"(?: [\x00-\x08\x0b\x0c\x0e-\x1f] | \xef\xbf[\xbe\xbf] )+"  # not allowed by XML 1.0 2.2
# The halves of a surrogate pair, U+D800 to U+DBFF and U+DC00 to U+DFFF, as numbers.
_HIGH_HALF = rb"0* (?: x0*[dD][89abAB][0-9a-fA-F]{2} | 55(?:29[6-9]|[3-9][0-9]{2}) | 56(?:[0-2][0-9]{2}|3[01][0-9]) )"
_LOW_HALF = rb"0* (?: x0*[dD][c-fC-F][0-9a-fA-F]{2} | 5(?:63[2-9]|6[4-9][0-9]|7[0-2][0-9]|73[0-3])[0-9] | 5734[0-3] )"
# %s: what white space XML replaces, by a line feed in text (2.11), by a space in attributes (3.3.3).
_SPECIAL = (
    rb"(?P<controls> "
    + _CONTROLS
    + rb""" )
    | (?P<space> \r\n? | %s )
    | & (?: (?P<plain> amp | lt | gt | quot | apos ) ;              # XML 1.0 4.6: these need no declaration
          | \# (?P<pair> """
    + _HIGH_HALF
    + rb" ; &\# "
    + _LOW_HALF
    + rb""" ) ;
          | \# (?P<number> [0-9]+ | x[0-9a-fA-F]+ ) (?P<end> ; )?
          | (?P<name> [A-Za-z][A-Za-z0-9]{0,31} ) ;
          )?                                                        # none of these: a bare ampersand
    """
)
_CONTROL = re.compile(_CONTROLS, re.VERBOSE)
_IN_TEXT = re.compile(_SPECIAL % rb"(?!)", re.VERBOSE), b"\n"
_IN_ATTRIBUTE = re.compile(_SPECIAL % rb"[\t\n]", re.VERBOSE), b" "
# Most text has none of them, and needs no CharacterReader.
special_in = re.compile(rb"[&\x00-\x08\x0b-\x1f\xef]").search
_ANY_IN_ATTRIBUTE = re.compile(rb"[&\x00-\x1f\xef]")
_PREDEFINED = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'"}
_MAX_DIGITS = 9
_SNIPPET_BYTES = 80


def has_controls(written: bytes) -> bool:
    """Whether there are characters that XML does not allow."""
    return _CONTROL.search(written) is not None


class NoCharacter(Exception):
    """What stands for no character, at an `offset`, where that is not read as text."""

    def __init__(self, what: str, offset: int) -> None:
        super().__init__(what)
        self.offset = offset


class CharacterReader:
    """Reads text and attribute values of the buffer; each repair goes to `repairs`."""

    def __init__(self, buffer: ReplayBuffer, repairs: RepairLog, budget: Budget) -> None:
        self._budget = budget
        self._buffer = buffer
        self._repairs = repairs

    def text(self, written: bytes, offset: int, *, is_exact: bool) -> str:
        """The text at an offset of the document. `is_exact`: NoCharacter at a reference that is none, and at a hole."""
        return self._read(written, offset, _IN_TEXT, is_exact=is_exact)

    def attribute(self, written: bytes, offset: int, *, is_exact: bool) -> str:
        """The same for the value of an attribute, without its quotes."""
        if not _ANY_IN_ATTRIBUTE.search(written):
            return written.decode()
        return self._read(written, offset, _IN_ATTRIBUTE, is_exact=is_exact)

    def controls(self, written: bytes, offset: int) -> None:
        """Reports the control characters of a section or instruction."""
        for match in _CONTROL.finditer(written):
            self._report_controls(match.group(), offset + match.start())

    def _read(self, written: bytes, offset: int, place: tuple[re.Pattern[bytes], bytes], *, is_exact: bool) -> str:
        pattern, space = place

        def read(match: re.Match[bytes]) -> bytes:
            if match.group("plain"):
                return _PREDEFINED[match.group("plain")]
            if match.group("space"):
                return space
            at = offset + match.start()
            if match.group("controls"):
                if is_exact and len(match.group()) >= HOLE_BYTES:
                    raise NoCharacter("a URL with a hole of control characters is not certain", at)
                self._report_controls(match.group(), at)
                return match.group()
            if match.group("pair"):
                return self._paired(match, at)
            if match.group("number"):
                return self._numbered(match, at, is_exact=is_exact)
            text, kind, message = _named_reference(match)
            self._report(kind, message, at, match.group())
            return text

        return pattern.sub(read, written).decode()

    def _report_controls(self, written: bytes, offset: int) -> None:
        text = written.decode()
        message = "a control character was kept" if len(text) == 1 else f"{len(text):,} control characters were kept"
        is_hole = has_hole(written) is not None
        if is_hole:
            message += ": entries may be lost there"
        self._report("control character kept", message, offset, text[0].encode(), sure=not is_hole)

    def _numbered(self, match: re.Match[bytes], offset: int, *, is_exact: bool) -> bytes:
        written, digits = match.group(), match.group("number").decode()
        is_short = match.group("end") and len(digits) <= _MAX_DIGITS
        code = _code(digits) if is_short else -1
        if not (0 <= code < 0xD800 or 0xE000 <= code < 0x110000):  # half of a surrogate pair, or beyond Unicode
            if is_exact:
                raise NoCharacter(f"{written.decode()} is no character", offset)
            message = f"{written.decode()} was read as &amp;{written[1:].decode()}"
            self._report("raw & read as &amp;", message, offset, written)
            return written
        if _CONTROL.fullmatch(chr(code).encode()):
            message = f"{written.decode()}, a control character, was kept"
            self._report("control character kept", message, offset, written)
        return chr(code).encode()

    def _paired(self, match: re.Match[bytes], offset: int) -> bytes:
        """The character of two references, each to half of it, as JSON and JavaScript write it."""
        high, low = (_code(half) for half in match.group("pair").decode().split(";&#"))
        code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
        message = f"{match.group().decode()} was read as &#{code};, one character"
        self._report("surrogate pair read as its character", message, offset, match.group())
        return chr(code).encode()

    def _report(self, kind: Kind, message: str, offset: int, written: bytes, *, sure: bool = True) -> None:
        self._budget.spend(CHARACTER_REPAIR_STEPS)
        start = self._buffer.relative(offset)
        raw = None if self._repairs.is_full else excerpt(self._buffer.data, start, start + len(written))
        severity: Severity = "warning" if sure else "error"
        self._repairs.add("S01", message, self._buffer.line_at(offset), raw, severity, kind=kind)


def _named_reference(match: re.Match[bytes]) -> tuple[bytes, Kind, str]:
    """What an HTML entity stands for, the repair's kind, and its message; `&region;` is none: a bare `&`, and text."""
    written, name = match.group(), match.group("name")
    characters = html5.get(name.decode() + ";") if name else None
    if characters is None:
        return written, "raw & read as &amp;", "a bare & was read as &amp;"
    shown = "".join(f"&#{ord(character)};" for character in characters)
    message = f"the HTML entity {written.decode()} was read as {shown}"
    return characters.encode(), "HTML entity read as its character", message


def reference_repair(data: bytes, position: int) -> tuple[str, Kind | None, str]:
    """Message, kind and raw text for the Problem of a reference that is none of XML's."""
    match = _IN_TEXT[0].match(data, position)
    _, kind, message = _named_reference(match) if match else (b"", None, "")
    return message, kind, excerpt(data, position, match.end() if match else position)


def _code(digits: str) -> int:
    """The number of a reference: `128512`, `x1F600`."""
    return int(digits[1:], 16) if digits.startswith("x") else int(digits)


def excerpt(data: bytes | bytearray, start: int, end: int) -> str:
    """What is shown of a fault: its line from the tag before it on, up to its end."""
    first = max(0, start - _SNIPPET_BYTES)
    tag, line = data.rfind(b"<", first, start), data.rfind(b"\n", first, start) + 1
    return data[max(first, tag, line) : min(end, start + _SNIPPET_BYTES)].decode("utf-8", "ignore").strip()
