"""Builds entries from expat's events: each `url`, `sitemap`, `item` or `entry` becomes a small element tree.

An entry is complete at its end tag; open_entry() returns one that was cut. Of elements outside entries only the start
tags are kept, which a new parser reads first.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol
from xml.etree.ElementTree import Element, SubElement

import attrs

from ...model.limits import over_limit
from ...model.problems import Problem, report
from .elements import (
    EXTENSION_PREFIXES,
    NO_NAMESPACES,
    XML_BASE,
    Entry,
    Vocabulary,
    clark,
    is_core,
    is_link_to_page,
    text_of,
)
from .markup import (
    DATA,
    ROOTS,
    declared_namespaces,
    holds_entry,
    holds_part,
    local,
    names_location,
    tag_name,
)
from .repairs import EVENT_STEPS, Misplaced, NoRoot, Stop

if TYPE_CHECKING:
    from xml.parsers.expat import XMLParserType

    from ...model.limits import Limits
    from ...model.problems import Kind
    from .markup import ReplayBuffer
    from .repairs import Budget, RepairLog

# The end of a tag whose beginning is lost, as in `item>` or `/url>`.
_REMNANT = re.compile(r"[\w\"'/]>")
_EXCERPT_CHARACTERS = 40
_MAX_STRAY_CHARACTERS = 500
# What is no text between entries: white space, and what is not seen.
_BLANK = " \t\r\n\xa0\u200b\u2060\ufeff"
_MAX_NAMESPACES = 1_000  # more than a real document declares
# Elements of a feed that have a link of their own (RSS 2.0).
_WITH_LINK = frozenset((b"image", b"textInput", b"textinput"))


@attrs.define
class Ancestor:
    """An open element around entries: its start tag as written, its xml:base, and the namespaces that it declares."""

    written: bytes
    base: str | None
    namespaces: dict[str, str]
    name: bytes = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.name = tag_name(self.written, 0)

    @property
    def is_empty(self) -> bool:
        return self.written.endswith(b"/>")


@attrs.frozen
class OpenEntry:
    """An entry with the fields that have ended; whether a location is among them, and whether one has not ended."""

    entry: Entry
    has_location: bool
    is_location_open: bool


class EventHandlers:
    """The handlers that EntryBuilder sets, by the names that expat has for them."""

    StartNamespaceDeclHandler: Any
    StartElementHandler: Any
    EndElementHandler: Any
    CharacterDataHandler: Any
    StartCdataSectionHandler: Any
    EndCdataSectionHandler: Any
    ProcessingInstructionHandler: Any
    CommentHandler: Any
    ordered_attributes: bool


class EventPlace(Protocol):
    """Where the present event is: its offset in the document, its line, and the tag, if it is one."""

    @property
    def offset(self) -> int: ...
    @property
    def line(self) -> int: ...
    @property
    def start_tag(self) -> bytes: ...


class EntryBuilder:
    """Appends Entries and Problems to `out`, from the events of the parser that it is attached to.

    That is expat, or the tolerant parser. The Problems of an entry's `repairs` become its own. `elements` is the number
    of those in the open entry, in all depths.
    """

    def __init__(
        self,
        limits: Limits,
        open_root: Callable[[str, str], Vocabulary | None],
        buffer: ReplayBuffer,
        repairs: RepairLog,
        budget: Budget,
    ) -> None:
        self.out: list[Entry | Problem] = []
        self.root_seen = False
        self._limits = limits
        self._open_root = open_root
        self._buffer = buffer
        self._repairs = repairs
        self._budget = budget
        self._max_elements, self._max_text = limits.max_entry_elements, limits.max_token_bytes
        self._place: EventPlace  # set by attach()
        self._entries_only = False
        self.vocabulary = Vocabulary(NO_NAMESPACES, "", frozenset(), "")
        self._declared: dict[str, set[str]] = {}  # namespace -> the prefixes of extensions that stand for it
        self.lost_location = False  # an entry that was repaired or cut has none
        self.in_section = False
        self.section_start = 0  # offset of the last CDATA section
        # around entries
        self._ancestors: list[Ancestor] = []
        self._depth_left = 0  # levels that may be open inside of them
        self._head: bytes | None = b""  # None: to be joined anew
        self._root: Ancestor | None = None
        self.bases: tuple[str, ...] = ()  # the xml:base values, outermost first
        self._has_feed_link = self._has_stray_text = self._has_foreign_entry = False
        # since the last event outside entries
        self._noted: list[tuple[str, Problem]] = []  # of names
        self._remnants: list[tuple[int, str]] = []  # lines and rests of tags
        self._stray_text: list[tuple[int, str]] = []  # lines and other texts
        self._feed_links: list[tuple[int, int]] = []  # lines and offsets
        # the open entry
        self._entry: Entry | None = None
        self._stack: list[Element] = []  # the open elements, its own first
        self._closed: Element | None = None  # the element that the last tag ended; None where it began one
        self.elements = 0
        self._stray_inside: list[tuple[int, str]] = []  # lines and texts outside of its fields
        self._text: list[str] = []  # since the last tag
        self._section = 0  # where in it the last CDATA section begins

    @property
    def location(self) -> bytes:
        """The tag that each entry needs, with the prefix of the root."""
        prefix, colon, _ = (self.names or [b""])[0].rpartition(b":")
        return prefix + colon + self.vocabulary.location.encode()

    @property
    def names(self) -> list[bytes]:
        return [ancestor.name for ancestor in self._ancestors]

    @property
    def is_over(self) -> bool:
        return self.root_seen and not self._ancestors

    @property
    def line(self) -> int:
        """The line of the present event."""
        return self._place.line

    def report_noted(self) -> None:
        """Reports what was noted of names: what expat read of an entry up to a fault is read again."""
        self.out.extend(problem for _, problem in self._noted)
        self._noted.clear()

    def forget_noted(self) -> None:
        """Forgets what was noted of names since the last event outside entries."""
        for name, _ in self._noted:
            self.vocabulary.forget(name)
        self._noted.clear()

    def take(self) -> list[Entry | Problem]:
        """The Entries and Problems since the last call."""
        out, self.out[:] = self.out[:], []
        return out

    def free(self) -> None:
        """Frees what is kept of a document that has ended: the parts refer to each other."""
        del self._place, self._open_root, self.vocabulary

    @property
    def namespaces(self) -> dict[str, str]:
        """Prefix -> namespace inside the open elements around entries; "" is that of names without a prefix."""
        found = {"": ""}
        for ancestor in self._ancestors:
            found |= ancestor.namespaces
        return found

    def namespace_of(self, prefix: str) -> str | None:
        """The namespace of a prefix there; None where it is not declared."""
        declaring = (each.namespaces for each in reversed(self._ancestors) if prefix in each.namespaces)
        return next(declaring, {"": ""}).get(prefix)

    def declare(self, prefix: str, namespace: str) -> None:
        """Declares a prefix on the root."""
        if self._root:
            end = 1 + len(self._root.name)
            declaration = f' xmlns:{prefix}="{namespace}"'.encode()
            self._root.written = self._root.written[:end] + declaration + self._root.written[end:]
            self._root.namespaces[prefix] = namespace
            self._head = None

    def reopen_root(self) -> None:
        """Makes the root the open element again, after its end."""
        if self._root:
            if self._root.is_empty:
                self._root.written = self._root.written[:-2] + b">"
            self._ancestors.append(self._root)
            self._note_ancestors()

    def _note_ancestors(self) -> None:
        self._head = None
        self._depth_left = self._limits.max_xml_depth - len(self._ancestors)
        self.bases = tuple([ancestor.base for ancestor in self._ancestors if ancestor.base is not None])

    @property
    def head(self) -> bytes:
        """The start tags of the open elements around entries."""
        if self._head is None:
            self._head = b"".join([ancestor.written for ancestor in self._ancestors])
        return self._head

    def _note(self, name: str, code: str, message: str, field: str, kind: Kind | None) -> None:
        self._noted.append((name, report(code, message, line=self.line, field=field, kind=kind)))

    # --- a parser ---

    def attach(self, parser: XMLParserType | EventHandlers, place: EventPlace, *, entries_only: bool = False) -> None:
        """Takes the events of a parser from now on, inside the elements that are open around entries.

        `entries_only`: Misplaced at any other element there.
        """
        self._place, self._entries_only = place, entries_only
        self._depth_left = self._limits.max_xml_depth - len(self._ancestors)
        self.in_section = False
        parser.StartCdataSectionHandler = self._start_section
        parser.EndCdataSectionHandler = self._end_section
        parser.ProcessingInstructionHandler = self._instruction
        parser.CommentHandler = partial(self._check_hiding, "a comment")
        parser.ordered_attributes = False
        parser.StartNamespaceDeclHandler = self._declare_namespace
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text.append

    def abandon(self) -> None:
        """Forgets the open entry, and what follows the last tag outside entries."""
        self._entry = self._closed = None
        self._stack.clear()
        self._text.clear()
        self._stray_inside.clear()
        self._forget_between()
        self.forget_noted()
        self._buffer.forget_tag()

    # --- elements ---

    def _declare_namespace(self, prefix: str | None, namespace: str | None) -> None:
        usual = (prefix or "").lower()
        if namespace and usual in EXTENSION_PREFIXES and len(self._declared) < _MAX_NAMESPACES:
            self._declared.setdefault(namespace, set()).add(usual)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if attributes and len(attributes) > (limit := self._limits.max_attributes):
            raise Stop(over_limit("max_attributes", limit, "attribute in one element", self.line))
        stack = self._stack
        depth = len(stack)
        if depth >= self._depth_left:
            raise Stop(over_limit("max_xml_depth", self._limits.max_xml_depth, "level of elements", self.line))
        vocabulary = self.vocabulary
        tag = vocabulary[name]
        if not depth:
            if tag in vocabulary.entries:
                self._start_entry(tag, attributes)
            elif self._entries_only:
                raise Misplaced(f"<{tag}> begins no entry", self._place.offset)
            else:
                self._start_ancestor(name, tag, attributes)
            return
        parent = stack[-1]
        if tag in vocabulary.entries and not (depth > 1 and vocabulary.may_hold_entry(stack[1].tag)):
            raise Misplaced("an entry begins inside another", self._place.offset)
        if depth > 1 and parent.tag in vocabulary.void_tags and tag in vocabulary.tags:
            raise Misplaced(f"<{tag}> begins inside of <{parent.tag}>", self._place.offset)
        self.elements += 1
        if self.elements > self._max_elements:
            raise Stop(over_limit("max_entry_elements", self._max_elements, "element in one entry", self.line))
        text = self._text
        if text:
            read = "".join(text)
            if self._closed is None:
                parent.text = read
            else:
                self._closed.tail = read
            text.clear()
            if depth == 1 and not read.isspace():
                self._check_outside(read, self._stray_inside)
        self._closed = None
        stack.append(SubElement(parent, tag, attributes) if attributes else SubElement(parent, tag))

    def _end(self, name: str) -> None:
        stack, text, closed = self._stack, self._text, self._closed
        if not stack:
            self._end_ancestor()
            return
        element = stack.pop()
        if closed is not None:
            if text:
                closed.tail = read = "".join(text)
                text.clear()
                if not stack and not read.isspace():
                    self._check_outside(read, self._stray_inside)
            # No text has more characters than bytes.
            if self._place.offset - self._buffer.tag > self._max_text and _own_characters(element) > self._max_text:
                raise self._too_long_text()
            if self._is_location(element) and ">" in text_of(element):
                stack.append(element)  # it is not complete
                raise Misplaced(f"the markup breaks inside of <{element.tag}>", self._place.offset)
        elif text:
            element.text = read = "".join(text)
            text.clear()
            if ">" in read and self._is_location(element):
                self._note_hiding("a location")
            if len(read) > self._max_text:
                raise self._too_long_text()
        self._closed = element
        if not stack and self._entry is not None:
            self._end_entry(self._entry)

    def _too_long_text(self) -> Stop:
        return Stop(over_limit("max_token_bytes", self._max_text, "character in one element", self.line))

    def rename(self, name: str) -> None:
        """Gives the open element in an entry another name."""
        self._stack[-1].tag = self.vocabulary[name]

    # --- entries ---

    def _start_entry(self, tag: str, attributes: dict[str, str]) -> None:
        self._check_between()
        self._closed = None
        self._entry = Entry(Element(tag, attributes), self.line, self.bases)
        self._stack.append(self._entry.element)
        self.elements = 0
        self._text.clear()
        self._stray_inside.clear()

    def _end_entry(self, entry: Entry) -> None:
        element, buffer = entry.element, self._buffer
        self._settle()
        if not len(element):
            buffer.is_tag = bool(element.text) or buffer.bytes_before(buffer.tag) != b"/>"
        buffer.is_after_entry = True
        if self._stray_inside and any(map(self._locates, element)):  # else it may be the location
            self._stray_text.extend(self._stray_inside)
        self._report_between()
        entry.problems = self._repairs.take()
        if entry.problems:
            self.lost_location = self.lost_location or not any(map(self._locates_or_is_empty, element))
        is_link = self.vocabulary.is_link
        if is_link and sum(map(is_link, element)) > 1:
            self._note_hiding("a second link of an entry")
        self.out.append(entry)

    @property
    def is_in_entry(self) -> bool:
        return bool(self._stack)

    @property
    def complete_fields(self) -> int:
        """How many of the open entry have ended."""
        return len(self._stack[0]) - (len(self._stack) > 1) if self._stack else 0

    def open_entry(self, *, ends: bool = False, fields: int | None = None) -> OpenEntry | None:
        """The open entry with its complete fields, or the first `fields`; None without one.

        `ends`: the end tag of the innermost element begins here.
        """
        self.report_noted()
        entry, stack = self._entry, self._stack
        if not stack or entry is None:
            return None
        if self._closed is None:
            stack[-1].text = "".join(self._text)
        else:
            self._closed.tail = "".join(self._text)
        if ends and len(stack) > 1:
            stack.pop()
        kept = self.complete_fields if fields is None else fields
        dropped = [*entry.element[kept:], *stack[2:]]
        del entry.element[kept:]
        is_location_open = any(each.tag == self.vocabulary.location for each in dropped)
        entry.is_cut = True
        entry.problems = self._repairs.take()
        return OpenEntry(entry, any(map(self._is_location, entry.element)), is_location_open)

    def _locates(self, child: Element) -> bool:
        """Whether it locates the entry: RSS has items with nothing but a guid or a link of Atom."""
        return self._is_location(child) or child.tag == "guid" or (child.tag == "atom:link" and is_link_to_page(child))

    def _locates_or_is_empty(self, child: Element) -> bool:
        return self._locates(child) or (child.tag == self.vocabulary.location and not len(child))

    def _is_location(self, child: Element) -> bool:
        return child.tag == self.vocabulary.location and bool(text_of(child).strip() or child.get("href"))

    # --- around entries ---

    def _start_ancestor(self, name: str, tag: str, attributes: dict[str, str]) -> None:
        vocabulary, written = self.vocabulary, self._place.start_tag
        if vocabulary.implied_entry and tag == vocabulary.location:
            raise Misplaced(f"<{vocabulary.location}> is outside of any entry", self._place.offset)
        if not self.root_seen:
            vocabulary = self._start_root(name, written)
        self._check_between()
        self._settle()
        ancestor = Ancestor(written, attributes.get(XML_BASE), declared_namespaces(written))
        self._ancestors.append(ancestor)
        limit = self._limits.max_entry_bytes
        if sum([len(each.written) for each in self._ancestors]) > limit:  # a new parser reads all of them
            raise Stop(over_limit("max_entry_bytes", limit, "byte in the tags around", self.line))
        self._note_ancestors()
        is_named = tag in vocabulary.tags
        if vocabulary.implied_entry and len(self._ancestors) == 2 and (is_core(tag) or is_named):
            what = "is outside of any entry" if is_named else "is unknown: it is no entry"
            self.out.append(report("S10", f"<{tag[:80]}> {what}", line=self.line, field=tag[:80]))
        self._note_foreign_entry(tag)
        if not self.root_seen:
            self._root, self.root_seen = ancestor, True
            self._buffer.is_after_root = vocabulary.implied_entry is not None
        self._report_repairs()

    def _start_root(self, name: str, written: bytes) -> Vocabulary:
        namespace, _, local = name.rpartition("}")
        opened = self._open_root(namespace, local)
        if opened is None:
            raise NoRoot(self._place.offset, tag_name(written, 0))
        self.vocabulary = opened
        self.out.extend(opened.root_problems)
        opened.note, opened.declared = self._note, self._declared
        return opened

    def _end_ancestor(self) -> None:
        self._check_between()
        ancestor = self._ancestors.pop()
        self._note_ancestors()
        self._settle()
        self._buffer.is_tag = not ancestor.is_empty
        self._report_repairs()

    def _note_foreign_entry(self, tag: str) -> None:
        """Reports the first element that would be an entry but for its namespace."""
        namespace, brace, name = tag.rpartition("}")
        ancestors = self._ancestors
        if not brace or name not in self.vocabulary.entries or self._has_foreign_entry:
            return
        if len(ancestors) > 1 and (ancestors[-2] is self._root or local(ancestors[-2].name) == b"channel"):
            what = f'<{name}> is in the namespace "{namespace[:200]}": it is no entry'
            self.out.append(report("S10", what, line=self.line, field=name))
            self._has_foreign_entry = True

    def _settle(self) -> None:
        """At a tag outside entries, or the end of one: what is before it is not read again."""
        self._budget.count(EVENT_STEPS)
        self._buffer.note_tag(self._place.offset)
        self._text.clear()

    def _report_repairs(self) -> None:
        self._report_between()
        self.out.extend(self._repairs.take())

    # --- text outside of fields ---

    def settle_text(self) -> None:
        """Looks at the text before other markup outside entries."""
        self._check_between()
        self._report_between()

    def _check_between(self) -> None:
        """Looks at the text since the last tag, which is outside entries."""
        text, ancestors = self._text, self._ancestors
        if not (text and ancestors):
            return
        read, name = "".join(text), ancestors[-1].name
        if local(name) in ROOTS:
            text[:] = "<" if "<" in read else ""  # _check_outside() needs no more of it
            self._check_outside(read, self._stray_text)
        elif name == b"link":
            text.clear()
            if "://" in read and not (len(ancestors) > 1 and ancestors[-2].name in _WITH_LINK):
                self._feed_links.append((self.line, self._place.offset))

    def _check_outside(self, read: str, found: list[tuple[int, str]]) -> None:
        """Looks at a text outside of any field, which `found` gets if it is no rest of a tag."""
        match = _REMNANT.search(read) if ">" in read else None
        if match and "<" not in read[: match.start()]:  # else a tag of a template, which was read as text
            raw = read[max(0, match.end() - _EXCERPT_CHARACTERS) : match.end()].replace("\0", " ").split()[-1]
            self._remnants.append((self.line, raw))
        elif "<" not in read and (stray := read.strip(_BLANK)) and not self._repairs.is_damaged:
            found.append((self.line - read[read.index(stray) :].count("\n"), stray[:_MAX_STRAY_CHARACTERS]))

    def _report_between(self) -> None:
        """At an event that is final: what expat read of an entry up to a fault is read again."""
        what = "the rest of a tag stands outside of any field: an entry may be lost"
        for at, raw in self._remnants:
            self._repairs.add("S01", what, at, raw, "error", kind="entry that may be hidden")
        for place in self._feed_links:
            if self._has_feed_link:  # a second one may be the link of an entry
                self._repairs.note_hiding("a link outside of entries", *place)
            self._has_feed_link = True
        if self._stray_text and not self._has_stray_text:
            at, raw = self._stray_text[0]
            self.out.append(report("S10", "text stands outside of any field: it is skipped", line=at, raw=raw))
            self._has_stray_text = True
        self._forget_between()
        self.report_noted()

    def _forget_between(self) -> None:
        self._remnants.clear()
        self._feed_links.clear()
        self._stray_text.clear()

    # --- sections, comments, instructions ---

    def _start_section(self) -> None:
        self._section, self.section_start, self.in_section = len(self._text), self._place.offset, True

    def _end_section(self) -> None:
        self.in_section = False
        content, stack = "".join(self._text[self._section :]), self._stack
        if "<" not in content:
            return
        is_core_location = stack and "}" not in stack[-1].tag and names_location(clark(stack[-1].tag)[1].encode())
        holds_section = stack and "<![CDATA[" in content
        # A text may quote entries.
        is_text = len(stack) > 1 and stack[-1].tag.encode() not in DATA
        if is_core_location or holds_section or (not is_text and holds_entry(content.encode())):
            raise Misplaced("a CDATA section holds markup", self.section_start)
        self._check_hiding("a CDATA section", content)

    def _instruction(self, target: str, content: str) -> None:
        if "<" in content and holds_entry(content.encode()):
            raise Misplaced("a processing instruction holds entries", self._place.offset)
        self._check_hiding("an instruction", content)

    def _check_hiding(self, what: str, content: str) -> None:
        if holds_part(content.encode()):
            self._note_hiding(what)

    def _note_hiding(self, what: str) -> None:
        self._repairs.note_hiding(what, self.line, self._place.offset)


def _own_characters(element: Element) -> int:
    """The length of its text without that of its children, each of which has a limit of its own."""
    return len(element.text or "") + sum(len(child.tail or "") for child in element)
