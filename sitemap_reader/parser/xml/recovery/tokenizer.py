"""Tokenizer for markup that may not be well-formed, and the element names of all dialects.

next_token() takes bytes and an offset and returns the next token that is not text. Each token is matched at its
beginning only, and where it does not match, up to the next `<` at most: so each byte is looked at a few times.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from xml.parsers import expat

from ....model.records import EXTENSIONS
from ...dialects.extensions import INNER_TAGS
from ..scan import DATA, NAME, ROOTS, local, names_location

if TYPE_CHECKING:
    from ....model.limits import Limits
    from ..errors import Budget
    from ..replay_buffer import ReplayBuffer

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

_NAME_OF_ASCII = rb"[A-Za-z_][\w.-]*+(?::[A-Za-z_][\w.-]*+)?+"
_BLANK = rb"[ \t\r\n]"  # XML 1.0 2.3; `\s` has two more
_PLAIN_NAME = rb"(?!xmlns:)" + _NAME_OF_ASCII
_TEXT = re.compile(rb"(?:[^<\]]++|\](?!\]>))*+")
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
        (?P<attributes> (?> (?: [^<>"']++ | "[^"<]*" | '[^'<]*' )*+ (?=>) | [^<>]*+ (?=[<>]) (?=[^<]*+<) ) ) >?+
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
        """Whether a tag has its `>`."""
        return self.written.endswith(b">")

    @property
    def is_empty(self) -> bool:
        """Whether a start tag ends in a slash."""
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


# Nearly all fields: text in a start tag without attributes and its end tag. Their names are none of an entry.
_PLAIN_FIELD = (
    rb"([^<\]]*+)<((?:(?!(?i:url|sitemap)>|item>|entry>|[\w.-]++:(?i:url|sitemap|item|entry)>)" + _PLAIN_NAME + rb"))>"
    rb"([^<\]]*+)</\2" + _BLANK + rb"*+>"
)
PLAIN_FIELD = re.compile(_PLAIN_FIELD)
PLAIN_FIELDS = re.compile(b"(?:%s)++" % _PLAIN_FIELD)
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
