"""What stands in a plain entry behind its own fields, in; the fields of its UrlRecord that extensions fill, out.

Two regular expressions describe images, videos, news and alternates as nearly all of them are written. What is written
otherwise, and whatever there is something to say of, comes out as elements, for read_extensions(). Of what is no XML,
or has a name that the document did not have before, nothing is said: that is for expat to read (builder.py), and
whatever there is to note of a name is noted there.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, ParseError, XMLParser

from ..model.limits import PROTOCOL_MAX_LOC_CHARACTERS as _MOST_CHARACTERS
from ..model.records import Alternate, Image, News, Video
from .dialects.extensions import FIELDS, MANY, PUBLICATION, TABLE, Reading, alternate, date, put, settled, text, url
from .normalise.dates import STAMP, read_stamp
from .normalise.urls import CANONICAL_IN_XML
from .xml.elements import is_core

if TYPE_CHECKING:
    from ..model.limits import Limits
    from .dialects.extensions import Kind, Tag
    from .xml.elements import Vocabulary

# The images, videos, news and alternates of a UrlRecord, and whether it is for mobiles; or the elements that are to be
# read for them.
Extensions = tuple[
    tuple[Image, ...], tuple[Video, ...], "News | None", tuple[Alternate, ...], bool, "list[Element] | None"
]

# The tags around are read again for each name that is looked up, and for elements: where they are longer, none is.
_MOST_HEAD_BYTES = 1024
# Names as written are the stranger's, each prefix of a namespace gives more of them: no more are remembered.
_MOST_NAMES = 10_000
# No element that is further inside an entry is plain.
_DEEPEST = 16
_MOST_ATTRIBUTES = 8
# What the mender would ask about (controls.py), or that no XML may hold; other numbers are of no such characters.
_ODD_CHARACTER = re.compile("[\ufdd0\ufffe\uffff]")
_ODD_NUMBER = re.compile("&#(?![0-9]{1,4};)")

_GAP = r"[ \t\r\n]*+"
_NAME = r"[a-z]+:[a-z_]+"
# Neither `\r`, of which expat would make a line feed, nor what XML forbids; `&amp;` is the only reference.
_CHARACTERS = r"\ !\#-%'-;=?-\ufffd\U00010000-\U0010ffff"
_TEXT = rf"""[\t\n"{_CHARACTERS}]*+ (?: &amp; [\t\n"{_CHARACTERS}]*+ )*"""
_QUOTED = rf'"[{_CHARACTERS}]*+ (?: &amp; [{_CHARACTERS}]*+ )*"'
_ATTRIBUTES = rf"(?: [ ] (?!xmlns) [a-z_]+ = {_QUOTED} ){{0,{_MOST_ATTRIBUTES}}}"

_END = "/[a-z]+:(?:image|video|news)>"
# An image with a title or none: the names of it and its loc, the URL, the name of the title, the title; an alternate:
# its name, language and URL, or its attributes; another element: its name and what is in it; the rest.
_ELEMENTS = rf"""
    (?: < ([a-z]+:image) > {_GAP} < ([a-z]+:loc) > {_GAP} ({CANONICAL_IN_XML}) {_GAP} </\2> {_GAP}
          (?: < ([a-z]+:title) > ({_TEXT}) </\4> {_GAP} | ) </\1>
      | < ({_NAME}) (?: [ ] rel="alternate" [ ] hreflang="([A-Za-z0-9-]+)" [ ] href="({CANONICAL_IN_XML})"
                      | ( {_ATTRIBUTES} ) ) [ ]? />
      | < ({_NAME}) > {_GAP} ( [^<]*+ (?: < (?! {_END} ) [^<]*+ )* ) </\10>
    ) {_GAP}
    | ( .+ )
"""
# A field: its name, attributes, and text: a clean URL, a stamp, or another; where others begin and end; the rest.
_FIELDS = rf"""
    (?: < ({_NAME}) ( {_ATTRIBUTES} ) > (?: {_GAP} ( {CANONICAL_IN_XML} ) {_GAP} | ( {STAMP} ) | ( {_TEXT} ) ) </\1>
      | < ({_NAME}) >
      | </ ({_NAME}) >
    ) {_GAP}
    | ( .+ )
"""
_PLAIN_IMAGES = {("image:image", "image:loc", ""), ("image:image", "image:loc", "image:title")}
_ATTRIBUTE = re.compile(r' ([a-z_]+)="([^"]*)"')
_NO_ATTRIBUTES: dict[str, str] = {}
_NOTHING: Extensions = (), (), None, (), False, None


@cache  # most documents need neither, and to compile them takes as long as to read a thousand entries
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE | re.DOTALL | re.ASCII)


class _Odd(Exception):
    """Somebody else has to read it."""


class ExtensionReader:
    """Reads the tails of the entries of a document whose root begins with `head`, and has that vocabulary."""

    def __init__(self, head: bytes, vocabulary: Vocabulary, limits: Limits) -> None:
        self.head = head
        self._vocabulary = vocabulary
        self._names = _Names(head, vocabulary)
        self._known = {outer: _Known(table, self._names) for outer, table in TABLE.items()}
        self._is_open = _allows(limits) and len(head) <= _MOST_HEAD_BYTES
        self._depth = min(limits.max_xml_depth - len(("urlset", "url")), _DEEPEST)
        self._max_elements = limits.max_entry_elements - len(("loc", "lastmod", "changefreq", "priority"))
        self._max_attributes = limits.max_attributes
        self._reading = Reading(None, _odd)

    def read(self, tails: list[str | None], *, with_bare: bool) -> list[Extensions]:
        """What each says, up to that of an entry that expat has to read. In them each byte is a character.

        `with_bare`: every `&` that is not `&amp;` is going to be mended.
        """
        if not any(tails):
            return [_NOTHING] * len(tails)
        found: list[Extensions] = []
        for tail in tails:
            read = self._read(tail) if tail else _NOTHING
            if read is None or (tail and with_bare and tail.count("&") != tail.count("&amp;")):
                break
            found.append(read)
        return found

    def elements(self, tail: str | None) -> list[Element]:
        """The elements of a tail that read() has read."""
        return self._elements(_decoded(tail)) if tail else []

    def _read(self, tail: str) -> Extensions | None:
        # No element has fewer characters than `<a/>`.
        if not self._is_open or (len(tail) // 4 > self._max_elements and tail.count("<") > self._max_elements):
            return None
        try:
            tail = _decoded(tail)
            try:
                return self._extensions(tail)
            except _Odd:
                return (), (), None, (), False, self._elements(tail)
        except (UnicodeDecodeError, ParseError, _Odd):
            return None

    # --- what is plain ---

    def _extensions(self, tail: str) -> Extensions:
        """_Odd where there is anything to say of it."""
        names = self._names
        images: list[Image] = []
        videos: list[Video] = []
        news: News | None = None
        alternates: list[Alternate] = []
        mobile = False
        for row in _compiled(_ELEMENTS).findall(tail):
            image, loc, source, title, titled, link, language, target, attributes, name, inside, rest = row
            if rest:
                raise _Odd
            if image:
                tags = names[image], names[loc], names[title] if title else ""
                if tags not in _PLAIN_IMAGES or len(source) >= _MOST_CHARACTERS:
                    raise _Odd
                images.append(Image(_unescaped(source), _unescaped(titled).strip() or None))
                continue
            tag = names[link or name]
            if target and tag == "xhtml:link" and len(target) < _MOST_CHARACTERS:
                alternates.append(Alternate(language, _unescaped(target) if "&" in target else target))
            elif name and tag == "image:image":
                images.append(Image(**self._fields(tag, inside)))
            elif name and tag == "video:video":
                videos.append(Video(**self._fields(tag, inside)))
            elif name and tag == "news:news" and news is None:
                news = News(**self._fields(tag, inside))
            elif link and not target and tag == "xhtml:link":
                alternates.append(self._alternate(tag, attributes))
            elif link and tag == "mobile:mobile" and not (mobile or attributes):
                mobile = True
            else:
                raise _Odd
        return tuple(images), tuple(videos), news, tuple(alternates), mobile, None

    def _alternate(self, tag: str, attributes: str) -> Alternate:
        found = alternate(Element(tag, _attributes(attributes)), self._reading)
        if found is None:
            raise _Odd
        return found

    def _fields(self, outer: str, inside: str) -> dict[str, Any]:
        """What the tags in an element say, by field."""
        fields: dict[str, Any] = {}
        known, reading = self._known[outer], self._reading
        publication = ""  # the name of the open one, as written
        for name, attributes, target, stamp, written, opened, closed, _ in _compiled(_FIELDS).findall(inside):
            if not name:
                publication = self._step(outer, publication, opened, closed, fields)
                continue
            tag, field, how, kind = known[name]
            if field in fields and not how.many:
                raise _Odd
            value = target or stamp or written.strip()
            if "&" in value:
                value = _unescaped(value)
            if attributes or not value:
                get = _attributes(attributes).get
                if value or any(map(get, how.attributes)):
                    put(fields, how, tag, value, get, reading)
            elif kind:
                is_read = kind is text or (target and kind is url and len(target) < _MOST_CHARACTERS)
                fields[field] = value if is_read else kind(reading, value, tag)
            elif stamp and how.kind is date:
                _put_stamp(fields, field, stamp)
            else:
                put(fields, how, tag, value, _NO_ATTRIBUTES.get, reading)
        if publication or (outer == "image:image" and "loc" not in fields):
            raise _Odd
        many = MANY[outer]
        return settled(fields, many) if many else fields

    def _step(self, outer: str, publication: str, opened: str, closed: str, fields: dict[str, Any]) -> str:
        """Into a publication, whose tags count as those of the news element, or out of it."""
        if publication and publication == closed:
            return ""
        is_first = opened and outer == "news:news" and not (publication or PUBLICATION & fields.keys())
        if not is_first or self._names[opened] != "news:publication":
            raise _Odd
        return opened

    # --- what is not ---

    def _elements(self, tail: str) -> list[Element]:
        """The elements as expat gives them; _Odd where it would have more to say."""
        # The document's own root is what stands around them, and there is no DTD.
        root = _parsed(self.head, b"<x>" + tail.encode() + b"</x>")
        if len(root) > 1:  # `</x><x>`
            raise _Odd
        for element in root[0]:
            self._rename(element, self._depth - 1)
            if is_core(element.tag):
                raise _Odd
        return [*root[0]]

    def _rename(self, element: Element, room: int) -> None:
        """Gives an element, and those in it, the names that the document's vocabulary has."""
        tag = self._vocabulary.get(_expanded(element.tag))
        if tag is None or room < 0 or len(element.attrib) > self._max_attributes:
            raise _Odd
        if tag in self._vocabulary.void_tags and len(element):
            raise _Odd
        element.tag = tag
        element.attrib = {_expanded(name): value for name, value in element.attrib.items()}
        for child in element:
            self._rename(child, room - 1)


def _allows(limits: Limits) -> bool:
    """Whether every limit but that of elements lets pass what the regular expressions describe."""
    deepest = ("urlset", "url", "news:news", "news:publication", "news:name")
    return limits.max_xml_depth >= len(deepest) and limits.max_attributes >= _MOST_ATTRIBUTES


class _Names(dict[str, str]):
    """A name as written in the document -> the vocabulary's, once expat has seen it; _Odd before."""

    def __init__(self, head: bytes, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._head = head
        self._vocabulary = vocabulary

    def __missing__(self, written: str) -> str:
        (element,) = _parsed(self._head, f"<{written}/>".encode())
        tag = self._vocabulary.get(_expanded(element.tag))
        if tag is None:
            raise _Odd
        if len(self) < _MOST_NAMES:
            self[written] = tag
        return tag


class _Known(dict[str, "tuple[str, str, Tag, Kind | None]"]):
    """A name as written -> the tag, its field, how it is read, and the kind where that is all there is to it."""

    def __init__(self, table: dict[str, Tag], names: _Names) -> None:
        super().__init__()
        self._table = table
        self._names = names

    def __missing__(self, written: str) -> tuple[str, str, Tag, Kind | None]:
        name = self._names[written]
        tag = self._table.get(name)
        if tag is None:
            raise _Odd
        is_bare = not (tag.many or tag.attributes or tag.kind is date)
        found = name, FIELDS[name], tag, tag.kind if is_bare else None
        if len(self) < _MOST_NAMES:
            self[written] = found
        return found


def _parsed(head: bytes, inside: bytes) -> Element:
    """The root element that begins with `head`."""
    parser = XMLParser(encoding="utf-8")  # noqa: S314 - a tag and what stands behind it hold no DTD
    parser.feed(head + inside + b"</urlset>")
    root: Element = parser.close()
    return root


def _expanded(name: str) -> str:
    """ElementTree's `{namespace}name` as expat gives it."""
    return name.removeprefix("{")


def _decoded(tail: str) -> str:
    """From Latin-1, in which each byte is a character; _Odd where it holds what is not for the plain path."""
    if not tail.isascii():
        tail = tail.encode("latin-1").decode()
        if _ODD_CHARACTER.search(tail):
            raise _Odd
    if "&#" in tail and _ODD_NUMBER.search(tail):
        raise _Odd
    return tail


def _odd(code: str, message: str, field: str, raw: str) -> None:
    raise _Odd


def _put_stamp(fields: dict[str, Any], field: str, stamp: str) -> None:
    found = read_stamp(stamp)
    if found is None:
        raise _Odd
    fields[field], fields[f"{field}_precision"] = found.moment, found.precision


def _unescaped(written: str) -> str:
    return written.replace("&amp;", "&")


def _attributes(written: str) -> dict[str, str]:
    """_Odd where one is repeated."""
    pairs = _ATTRIBUTE.findall(written)
    found = {name: _unescaped(value) for name, value in pairs}
    if len(found) < len(pairs):
        raise _Odd
    return found
