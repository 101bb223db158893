"""Tokenizer for markup that may not be well-formed, and the element names of all dialects.

next_token() takes bytes and an offset and returns the next token that is not text; it never changes the bytes.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from ....model.records import EXTENSIONS
from ...dialects.extensions import INNER_TAGS
from ..scan import NAME, local

# --- element names, without prefixes ---

ROOTS = frozenset(b"urlset sitemapindex rss RDF feed channel".split())
ENTRIES = frozenset(b"url sitemap item entry".split())
LOCATIONS = frozenset(b"loc link guid".split())
CONTAINERS = {extension.name.encode() for extension in EXTENSIONS.values()} - LOCATIONS
_VOID_EXTENSIONS = {extension.name.encode() for extension in EXTENSIONS.values() if extension.is_void} - LOCATIONS
CONTAINERS |= frozenset(b"publication tvshow group content".split())
_DATA = frozenset(b"lastmod changefreq priority pubDate".split())
FIELDS = LOCATIONS | _DATA | frozenset(b"title description summary updated published id author category".split())
VOID = frozenset(b"br hr img input meta wbr".split())  # HTML's, which have no end tag
HTML = VOID | frozenset(b"a b body center code div em font head html i li ol p pre span strong ul".split())
KNOWN = ROOTS | ENTRIES | CONTAINERS | FIELDS | {part.rpartition(":")[2].encode() for part in INNER_TAGS}
TEXTS = KNOWN - ROOTS - ENTRIES - CONTAINERS - LOCATIONS - _DATA  # fields of free text
PREFIXES = {extension.prefix.encode() for extension in EXTENSIONS.values()} | {b"media", b"dc", b"atom", b"content"}

# The ratio of difflib from which on a name is a misspelling: `lok` is one of `loc`, `b` is not.
_MIN_SIMILARITY = 0.65
_MAX_COMPARED_CHARACTERS = 20

# --- tokens ---

# A token matches only where no further byte could change it: else it is `unended`.
_TOKEN = re.compile(
    rb"""
      (?P<delimited> <!--.*?--> | <!\[CDATA\[.*?\]\]> | <\?(?!(?i:xml)\s).*?\?> )
    | (?P<declaration> <\?(?i:xml)\s[^<>]*> | <xml\s[^<>]*> | <!(?!-|\[CDATA\[)[^<>]*> )
    | (?P<comment> <!-(?!-) .*? -> )                                # its opening is damaged
    | (?P<opening> <!-- | <!\[CDATA\[ | <\? | <!- )
    # end tags: `</loc>`, `</ loc>`, `<\/loc>`, and without their `>` where another tag follows
    | (?P<stop> < \s*+ [/\\]++ \s*+ (?P<stopped> %(name)s ) (?P<rest> [^<>]*+ ) (?: > | (?=<) ) )
    # start tags, `< loc>` too, with what follows; a `>` in quotes does not end one, unless quotes do not match
    | (?P<start> < (?> \s++ (?= (?:[\w.-]+:)? (?:%(known)s) [\s/>] ) | ) (?P<name> %(name)s )
        (?P<attributes> (?> (?: [^<>"']++ | "[^"<]*" | '[^'<]*' )*+ (?=>) | [^<>]*+ (?=[<>]) (?=[^<]*+<) ) ) >?+
        (?= \s*+ (?P<next> < /?+ [\w.:-]*+ (?=[^\w.:-]) | [^<\s] ) ) )
    | (?P<stray> (?: < (?=[^A-Za-z_/\\!?\s\x80-\xff])
                   | < (?=\s++ (?!(?:[\w.-]+:)?(?:%(known)s)[\s/>]) [\w.:\x80-\xff-]++[^\w.:\x80-\xff-])
                   | <\s++ (?=[^\s/\\\w.:\x80-\xff-])
                   | <\s*+[/\\]++\s*+(?=[^\sA-Za-z_\x80-\xff])
                   | <!(?=[^<>]*+<) ) (?=(?P<after>.)) | \]\]> )
    | (?P<reference> &\# (?: x[0-9a-fA-F]++ | [0-9]++ ) (?: ; | (?=[^0-9a-fA-F;]) ) )
    | (?P<unended> < )
    """
    % {b"name": NAME, b"known": b"|".join(sorted(KNOWN))},
    re.VERBOSE | re.DOTALL,
)
# The search skips from one beginning of a token to the next.
_BEGINNING = re.compile(rb"<|\]\]>|&\#")
# Name, rest and what follows, for each kind of token that has them.
_PARTS_OF = {"start": ("name", "attributes", "next"), "stop": ("stopped", "rest", "next")}
_STRAY = ("name", "attributes", "after")
# After a stray `<`: it is doubled, or begins a tag of a template language.
_HARMLESS = frozenset((b"<", b"%", b"#", b"$", b"{"))
_INSTRUCTION = re.compile(rb"<\?%s[\s?]" % NAME)
_END_TAG = re.compile(rb"</%s\s*>" % NAME)
# `(?!)`: CPython before 3.11.5 does not go back where a possessive group fails, but before each alternative.
_ATTRIBUTES = re.compile(
    rb"""(?: \s++ %s \s*+ = \s*+ (?: "[^"<]*+" | '[^'<]*+' ) | (?!) )*+ \s*+ /? \s*+""" % NAME, re.VERBOSE
)
_ATTRIBUTE = re.compile(
    rb"""(?P<name> %s ) (?: \s*+ = \s*+ (?P<value> "[^"]*" | '[^']*' | [^\s"'<>]+ ) )?""" % NAME, re.VERBOSE
)
# A value without its closing quote runs on to the opening quote of the next one.
_SWALLOWED = re.compile(rb"\s%s\s*=\s*[\"']\Z" % NAME)
_MAX_DIGITS = 9
_SHOWN_BYTES = 80


class Token(NamedTuple):
    """A piece of markup; `kind` is the name of a group of _TOKEN."""

    kind: str
    start: int
    end: int
    written: bytes
    name: bytes  # of a tag, prefix and all
    local: bytes  # the name without its prefix
    rest: bytes  # of a tag, after the name
    next: bytes  # after a start tag or a stray character: a character, or the beginning of a tag

    @property
    def is_spaced(self) -> bool:
        """Whether white space stands before a start tag's name."""
        return not self.written.startswith(self.name, 1)

    @property
    def is_closed(self) -> bool:
        """Whether a tag has its `>`."""
        return self.written.endswith(b">")

    @property
    def is_well_formed(self) -> bool:
        """Whether an end tag or a processing instruction is well-formed."""
        return bool((_END_TAG if self.kind == "stop" else _INSTRUCTION).match(self.written))

    @property
    def has_attributes(self) -> bool:
        """Whether all that follows the name in a start tag is well-formed attributes."""
        return _ATTRIBUTES.fullmatch(self.rest) is not None

    @property
    def is_void(self) -> bool:
        """Whether the element is always empty, so that a missing slash is added, unless its end tag follows."""
        is_link = self.local == b"link" and b"href" in self.rest
        is_extension = (is_link or self.local in _VOID_EXTENSIONS) and self.next != b"</" + self.name
        return is_extension or self.name in VOID

    @property
    def is_harmless(self) -> bool:
        """Whether a stray character is doubled, or belongs to a template."""
        return self.next in _HARMLESS


def next_token(data: bytes | bytearray, start: int) -> Token | None:
    """The next token at or after `start`; None where there is none, or where it has not ended."""
    match, beginning = None, _BEGINNING.search(data, start)
    while beginning and not match:
        match = _TOKEN.match(data, beginning.start())
        beginning = None if match else _BEGINNING.search(data, beginning.end())
    kind = match.lastgroup if match else None
    if match is None or kind is None or kind in ("opening", "unended"):
        return None
    written = match.group()
    name, rest, following = match.group(*_PARTS_OF.get(kind, _STRAY))
    name, rest = name or b"", rest or b""
    return Token(kind, match.start(), match.end(), written, name, local(name), rest, following or b"")


def is_misspelling(name: bytes, meant: bytes) -> bool:
    """Whether `name` is most likely a misspelling of `meant`; prefixes do not count."""
    return _are_similar(*(local(tag).lower().decode()[:_MAX_COMPARED_CHARACTERS] for tag in (name, meant)))


@lru_cache(maxsize=1024)  # the same misspelling is repeated; names are short
def _are_similar(name: str, other: str) -> bool:
    return SequenceMatcher(None, name, other).ratio() >= _MIN_SIMILARITY


def character_number(reference: bytes) -> int | None:
    """The code point of `&#65;` or `&#x41;`; None where it has no `;`, or too many digits."""
    digits = reference[2:-1].decode()
    if not reference.endswith(b";") or len(digits) > _MAX_DIGITS:
        return None
    return int(digits[1:], 16) if digits.startswith("x") else int(digits)


def is_character(reference: bytes) -> bool:
    """Whether a reference is a character that XML allows (1.0, 2.2)."""
    code = character_number(reference)
    if code is None:
        return False
    return code in (0x9, 0xA, 0xD) or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0x10000 <= code < 0x110000


def attributes(written: bytes) -> tuple[bytes, bool]:
    """A tag's attributes made well-formed (quoted, each once, spaced), without the last slash; whether all were kept.

    Ambiguous ones are left out: in `href=https://example.com/a/>` the slash may belong to the URL or to the tag.
    """
    trimmed = written.rstrip()
    if not trimmed:
        return written, True
    body = trimmed[:-1] if trimmed.endswith(b"/") else written
    matches = list(_ATTRIBUTE.finditer(body))
    found: dict[bytes, bytes] = {}
    for match in matches:
        name, value = match.group("name"), match.group("value")
        is_quoted = value is not None and value[:1] in b"\"'"
        is_clear = is_quoted or match.end() < len(body) or body == written
        if value and is_clear and not _SWALLOWED.search(value):
            found.setdefault(name, value if is_quoted else b'"' + value + b'"')
    if _ATTRIBUTES.fullmatch(written) and len(found) == len(matches):
        return body, True
    is_whole = not _ATTRIBUTE.sub(b"", body).strip() and found.keys() == {match.group("name") for match in matches}
    return b"".join(b" " + name + b"=" + value for name, value in found.items()), is_whole


def blank(written: bytes) -> bytes:
    """Spaces of the same length; line breaks stay."""
    return re.sub(rb"[^\r\n]", b" ", written)


def shown(written: bytes) -> str:
    """An excerpt for a message, on one line."""
    return " ".join(written[:_SHOWN_BYTES].decode("utf-8", "ignore").split())


_DOCTYPE = re.compile(
    rb"""<!--.*?--> | <\?.*?\?> | (?P<doctype> <!DOCTYPE (?: "[^"]*" | '[^']*' | [^>"'\[] )* > )""",
    re.VERBOSE | re.DOTALL,
)


def blank_doctype(data: bytes) -> bytes:
    """The bytes with the DOCTYPE replaced by spaces, so that lines and offsets stay.

    Where an external subset is named, expat silently drops undefined entities (XML 1.0 4.1, WFC Entity Declared).
    """
    for match in _DOCTYPE.finditer(data):
        if match.group("doctype"):
            return data[: match.start()] + blank(match.group()) + data[match.end() :]
    return data
