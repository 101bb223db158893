"""The fast path for what stands in an entry behind the protocol's own fields: regular expressions in place of expat.

In: that text, as bytes in Latin-1. Out: the values of the fields of EXTENSIONS, for images, videos, news and alternates
in their usual form; elements, for read_extensions(), where a tag or value is unusual or is a problem; None where the
text is not well-formed XML or has a name that is new in the document: then expat reads the entry
(xml/entry_builder.py). Reports nothing.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, ParseError, XMLParser

import attrs

from ..model.limits import PROTOCOL_MAX_LOC_CHARACTERS as _MAX_URL_CHARACTERS
from ..model.records import NO_EXTENSIONS, Alternate, Image
from .dialects.extensions import (
    ELEMENT_FIELDS,
    FIELD_OF_TAG,
    LIST_FIELDS,
    PUBLICATION_FIELDS,
    RECORD_CLASSES,
    TAG_RULES,
    EntryContext,
    add_value,
    alternate,
    date,
    text,
    url,
    with_tuples,
)
from .normalise.dates import STAMP, read_stamp
from .normalise.urls import CANONICAL_IN_XML
from .xml.elements import is_core

if TYPE_CHECKING:
    from ..model.limits import Limits
    from .dialects.extensions import TagRule, ValueParser
    from .xml.elements import Vocabulary

# The values of the fields of EXTENSIONS, in their order; then the elements to be read in place of them, or None.
Extensions = tuple[Any, ...]

# Each name that is looked up, and each text with elements, parses the head again: longer ones are left to expat.
_MAX_HEAD_BYTES = 1024
# A document may spell a name in any number of ways, with a prefix for each: no more are remembered.
_MAX_NAMES = 10_000
# Elements nested deeper in an entry are left to expat.
_MAX_DEPTH = 16
_MAX_ATTRIBUTES = 8
# Characters that the repair would examine (xml/recovery/), or that XML forbids; no number of four digits is of one.
_UNREAD_CHARACTER = re.compile("[\ufdd0\ufffe\uffff]")
_UNREAD_REFERENCE = re.compile("&#(?![0-9]{1,4};)")

_GAP = r"[ \t\r\n]*+"
_NAME = r"[a-z]+:[a-z_]+"
# Neither `\r`, which expat would replace with a line feed, nor what XML forbids; `&amp;` is the only reference.
_CHARACTERS = r"\ !\#-%'-;=?-\ufffd\U00010000-\U0010ffff"
_TEXT = rf"""[\t\n"{_CHARACTERS}]*+ (?: &amp; [\t\n"{_CHARACTERS}]*+ )*"""
_QUOTED = rf'"[{_CHARACTERS}]*+ (?: &amp; [{_CHARACTERS}]*+ )*"'
_ATTRIBUTES = rf"(?: [ ] (?!xmlns) [a-z_]+ = {_QUOTED} ){{0,{_MAX_ATTRIBUTES}}}"

# The end of an element that holds tags.
_END = rf"/[a-z]+:(?:{'|'.join(tag.partition(':')[2] for tag in RECORD_CLASSES)})>"
# An image with or without a title: the names of it and its loc, the URL, the title's name, the title; an alternate: its
# name, language and URL, or its attributes; another element: its name and its content; anything else.
_ELEMENTS = rf"""
    (?: < ([a-z]+:image) > {_GAP} < ([a-z]+:loc) > {_GAP} ({CANONICAL_IN_XML}) {_GAP} </\2> {_GAP}
          (?: < ([a-z]+:title) > ({_TEXT}) </\4> {_GAP} | ) </\1>
      | < ({_NAME}) (?: [ ] rel="alternate" [ ] hreflang="([A-Za-z0-9-]+)" [ ] href="({CANONICAL_IN_XML})"
                      | ( {_ATTRIBUTES} ) ) [ ]? />
      | < ({_NAME}) > {_GAP} ( [^<]*+ (?: < (?! {_END} ) [^<]*+ )* ) </\10>
    ) {_GAP}
    | ( .+ )
"""
# A tag: its name, attributes, and text: a clean URL, a stamp, or another; start and end of a tag with tags in it;
# anything else.
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
_NOTHING: Extensions = (*NO_EXTENSIONS, None)
# Element -> the index of its field in Extensions.
_INDEXES = {tag: index for index, tag in enumerate(ELEMENT_FIELDS)}
_IMAGES, _ALTERNATES = _INDEXES["image:image"], _INDEXES["xhtml:link"]
# Element -> the fields that its record cannot do without.
_REQUIRED = {
    tag: [field.name for field in attrs.fields(record) if field.default is attrs.NOTHING]
    for tag, record in RECORD_CLASSES.items()
}
_FLAGS = frozenset(ELEMENT_FIELDS.keys() - RECORD_CLASSES.keys() - {"xhtml:link"})


@cache  # most documents need neither, and compiling them takes as long as reading a thousand entries
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE | re.DOTALL | re.ASCII)


class _NeedsExpat(Exception):
    """The text is not in the form that the regular expressions describe."""


class ExtensionReader:
    """Reads the extensions of entries: the XML text behind the protocol's own fields.

    `head` is the document up to its first entry, from which names take their namespaces.
    """

    def __init__(self, head: bytes, vocabulary: Vocabulary, limits: Limits) -> None:
        self.head = head
        self._vocabulary = vocabulary
        self._names = _Names(head, vocabulary)
        self._tags = {element: _Tags(rules, self._names) for element, rules in TAG_RULES.items()}
        self._is_usable = _allows(limits) and len(head) <= _MAX_HEAD_BYTES
        self._max_depth = min(limits.max_xml_depth - len(("urlset", "url")), _MAX_DEPTH)
        self._max_elements = limits.max_entry_elements - len(("loc", "lastmod", "changefreq", "priority"))
        self._max_attributes = limits.max_attributes
        self._context = EntryContext(None, _raise_needs_expat)

    def read(self, xml_texts: list[str | None], *, with_bare: bool) -> list[Extensions]:
        """The extensions in each text, up to the first that expat has to read. In these texts each byte is a character.

        `with_bare`: every `&` that does not begin `&amp;` is going to be repaired.
        """
        if not any(xml_texts):
            return [_NOTHING] * len(xml_texts)
        found: list[Extensions] = []
        for xml in xml_texts:
            read = self._read(xml) if xml else _NOTHING
            if read is None or (xml and with_bare and xml.count("&") != xml.count("&amp;")):
                break
            found.append(read)
        return found

    def elements(self, xml: str | None) -> list[Element]:
        """The elements of a text that read() has returned extensions for."""
        return self._elements(_decoded(xml)) if xml else []

    def _read(self, xml: str) -> Extensions | None:
        # The shortest element, `<a/>`, has four characters.
        if not self._is_usable or (len(xml) // 4 > self._max_elements and xml.count("<") > self._max_elements):
            return None
        try:
            xml = _decoded(xml)
            try:
                return self._extensions(xml)
            except _NeedsExpat:
                return (*NO_EXTENSIONS, self._elements(xml))
        except (UnicodeDecodeError, ParseError, _NeedsExpat):
            return None

    # --- the usual form ---

    def _extensions(self, xml: str) -> Extensions:
        """The values in a text; _NeedsExpat where an element is unusual, or anything in it is a problem."""
        names = self._names
        images: list[Image] = []
        alternates: list[Alternate] = []
        others: dict[int, Any] = {}  # by the index in Extensions
        for row in _compiled(_ELEMENTS).findall(xml):
            image, loc, source, title, titled, link, language, target, attributes, name, inside, rest = row
            if rest:
                raise _NeedsExpat
            if image:
                tags = names[image], names[loc], names[title] if title else ""
                if tags not in _PLAIN_IMAGES or len(source) >= _MAX_URL_CHARACTERS:
                    raise _NeedsExpat
                images.append(Image(_unescaped(source), _unescaped(titled).strip() or None))
                continue
            tag = names[link or name]
            if target and tag == "xhtml:link" and len(target) < _MAX_URL_CHARACTERS:
                alternates.append(Alternate(language, _unescaped(target) if "&" in target else target))
            elif name and tag == "image:image":
                images.append(Image(**self._fields(tag, inside)))
            elif name and tag in RECORD_CLASSES:
                index, is_list = _INDEXES[tag], ELEMENT_FIELDS[tag][1]
                record = RECORD_CLASSES[tag](**self._fields(tag, inside))
                if is_list:
                    others.setdefault(index, []).append(record)
                elif index not in others:
                    others[index] = record
                else:
                    raise _NeedsExpat
            elif link and not target and tag == "xhtml:link":
                alternates.append(self._alternate(tag, attributes))
            elif link and not attributes and tag in _FLAGS and _INDEXES[tag] not in others:
                others[_INDEXES[tag]] = True
            else:
                raise _NeedsExpat
        values = [*_NOTHING]
        values[_IMAGES], values[_ALTERNATES] = tuple(images), tuple(alternates)
        for index, value in others.items():
            values[index] = tuple(value) if type(value) is list else value
        return tuple(values)

    def _alternate(self, tag: str, attributes: str) -> Alternate:
        found = alternate(Element(tag, _attributes(attributes)), self._context)
        if found is None:
            raise _NeedsExpat
        return found

    def _fields(self, element: str, inside: str) -> dict[str, Any]:
        """The fields that the tags in an element fill."""
        fields: dict[str, Any] = {}
        tags, context = self._tags[element], self._context
        publication = ""  # the name of the open one, as written
        for name, attributes, target, stamp, written, opened, closed, _ in _compiled(_FIELDS).findall(inside):
            if not name:
                publication = self._step(element, publication, opened, closed, fields)
                continue
            tag, field, rule, parse = tags[name]
            if field in fields and not rule.is_list:
                raise _NeedsExpat
            value = target or stamp or written.strip()
            if "&" in value:
                value = _unescaped(value)
            if attributes or not value:
                get = _attributes(attributes).get
                if value or any(map(get, rule.attributes)):
                    add_value(fields, rule, tag, value, get, context)
            elif parse:
                is_parsed = parse is text or (target and parse is url and len(target) < _MAX_URL_CHARACTERS)
                fields[field] = value if is_parsed else parse(context, value, tag)
            elif stamp and rule.parse is date:
                _add_stamp(fields, field, stamp)
            else:
                add_value(fields, rule, tag, value, _NO_ATTRIBUTES.get, context)
        if publication:
            raise _NeedsExpat
        for field in _REQUIRED[element]:
            if field not in fields:
                raise _NeedsExpat
        lists = LIST_FIELDS[element]
        return with_tuples(fields, lists) if lists else fields

    def _step(self, element: str, publication: str, opened: str, closed: str, fields: dict[str, Any]) -> str:
        """The publication that is open behind a start or end tag; its tags belong to the news element."""
        if publication and publication == closed:
            return ""
        is_first = opened and element == "news:news" and not (publication or PUBLICATION_FIELDS & fields.keys())
        if not is_first or self._names[opened] != "news:publication":
            raise _NeedsExpat
        return opened

    # --- any other form ---

    def _elements(self, xml: str) -> list[Element]:
        """The elements as the document's own parser returns them; _NeedsExpat where it would report a problem."""
        # Namespaces are those of the document's own root. There is no DTD.
        root = _parsed(self.head, b"<x>" + xml.encode() + b"</x>")
        if len(root) > 1:  # `</x><x>`
            raise _NeedsExpat
        for element in root[0]:
            self._rename(element, self._max_depth - 1)
            if is_core(element.tag):
                raise _NeedsExpat
        return [*root[0]]

    def _rename(self, element: Element, max_depth: int) -> None:
        """Renames an element, and those in it, to their tags in the document's vocabulary."""
        tag = self._vocabulary.get(_expanded(element.tag))
        if tag is None or max_depth < 0 or len(element.attrib) > self._max_attributes:
            raise _NeedsExpat
        if tag in self._vocabulary.void_tags and len(element):
            raise _NeedsExpat
        element.tag = tag
        element.attrib = {_expanded(name): value for name, value in element.attrib.items()}
        for child in element:
            self._rename(child, max_depth - 1)


def _allows(limits: Limits) -> bool:
    """Whether the limits, that of elements apart, permit all that the regular expressions match."""
    deepest = ("urlset", "url", "news:news", "news:publication", "news:name")
    return limits.max_xml_depth >= len(deepest) and limits.max_attributes >= _MAX_ATTRIBUTES


class _Names(dict[str, str]):
    """Name as written in the document -> its tag in the vocabulary; _NeedsExpat where expat has not read it before."""

    def __init__(self, head: bytes, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._head = head
        self._vocabulary = vocabulary

    def __missing__(self, written: str) -> str:
        (element,) = _parsed(self._head, f"<{written}/>".encode())
        tag = self._vocabulary.get(_expanded(element.tag))
        if tag is None:
            raise _NeedsExpat
        if len(self) < _MAX_NAMES:
            self[written] = tag
        return tag


class _Tags(dict[str, "tuple[str, str, TagRule, ValueParser | None]"]):
    """A name as written in an element -> its tag, field and rule, and the parser where the rule is nothing else."""

    def __init__(self, rules: dict[str, TagRule], names: _Names) -> None:
        super().__init__()
        self._rules = rules
        self._names = names

    def __missing__(self, written: str) -> tuple[str, str, TagRule, ValueParser | None]:
        tag = self._names[written]
        rule = self._rules.get(tag)
        if rule is None:
            raise _NeedsExpat
        is_bare = not (rule.is_list or rule.attributes or rule.parse is date)
        found = tag, FIELD_OF_TAG[tag], rule, rule.parse if is_bare else None
        if len(self) < _MAX_NAMES:
            self[written] = found
        return found


def _parsed(head: bytes, inside: bytes) -> Element:
    """The root element that begins with `head`."""
    parser = XMLParser(encoding="utf-8")  # noqa: S314 - a start tag and elements hold no DTD
    parser.feed(head + inside + b"</urlset>")
    root: Element = parser.close()
    return root


def _expanded(name: str) -> str:
    """ElementTree's `{namespace}name` as expat gives it."""
    return name.removeprefix("{")


def _decoded(xml: str) -> str:
    """The text of bytes in Latin-1; _NeedsExpat where it holds a character that the fast path does not take."""
    if not xml.isascii():
        xml = xml.encode("latin-1").decode()
        if _UNREAD_CHARACTER.search(xml):
            raise _NeedsExpat
    if "&#" in xml and _UNREAD_REFERENCE.search(xml):
        raise _NeedsExpat
    return xml


def _raise_needs_expat(code: str, message: str, field: str, raw: str) -> None:
    raise _NeedsExpat


def _add_stamp(fields: dict[str, Any], field: str, stamp: str) -> None:
    found = read_stamp(stamp)
    if found is None:
        raise _NeedsExpat
    fields[field], fields[f"{field}_precision"] = found.moment, found.precision


def _unescaped(written: str) -> str:
    return written.replace("&amp;", "&")


def _attributes(written: str) -> dict[str, str]:
    """Attributes by name; _NeedsExpat where one is repeated."""
    pairs = _ATTRIBUTE.findall(written)
    found = {name: _unescaped(value) for name, value in pairs}
    if len(found) < len(pairs):
        raise _NeedsExpat
    return found
