"""Builds entries from expat's events: each `url`, `sitemap`, `item` or `entry` becomes a small element tree.

An entry is complete at its end tag; take_open_entry() returns one that was cut. Of elements outside entries only the
start tags are kept, which a new parser reads first.
"""

from __future__ import annotations

import re
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
from .errors import EVENT_STEPS, Misplaced, NoRoot, Stop, TooLong
from .scan import DATA, ROOTS, declared_namespaces, holds_entry, holds_part, local, names_location, tag_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from xml.parsers.expat import XMLParserType

    from ...model.limits import Limits
    from .errors import Budget
    from .repair_log import RepairLog
    from .replay_buffer import ReplayBuffer


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


class EventParser:
    """Gives the events of expat to the handlers that attach() sets; all has the names that expat gives it."""

    StartNamespaceDeclHandler: Any
    StartElementHandler: Any
    EndElementHandler: Any
    CharacterDataHandler: Any
    StartCdataSectionHandler: Any
    EndCdataSectionHandler: Any
    ProcessingInstructionHandler: Any
    CommentHandler: Any
    ordered_attributes: bool
    CurrentByteIndex: int  # of the present event

    @property
    def CurrentLineNumber(self) -> int:
        raise NotImplementedError


class OpenEntryNow(Protocol):
    """The open entry with its complete fields, or the first `fields`; None without one.

    `ends`: the end tag of the innermost element begins here.
    """

    def __call__(self, ends: bool = False, fields: int | None = None) -> OpenEntry | None: ...


class EntryBuilder:
    """Appends Entries and Problems to `out`, from the events of the parser that it is attached to.

    That is expat, or an EventParser. `last_event` is the offset of the last tag outside entries, or of the last
    entry's end tag; None before the first one of this parser. `last_event_is_tag` is False for the end of an empty
    element (`<a/>`), whose offset is after the tag. The Problems of an entry's `repairs` become its own.
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
        self.last_event: int | None = None
        self.last_event_is_tag = True
        self.root_seen = False
        self._limits = limits
        self._open_root = open_root
        self._buffer = buffer
        self._repairs = repairs
        self._budget = budget
        self.vocabulary = Vocabulary(NO_NAMESPACES, "", frozenset(), "")
        self._declared: dict[str, set[str]] = {}  # namespace -> the prefixes of extensions that stand for it
        self.lost_location = False  # an entry that was repaired or cut has none
        self.in_section = False
        self.section_start = 0  # offset of the last CDATA section
        self.after_entry = False  # the last tag outside entries was the end of one
        self.after_root = False  # it was the start of a root that holds entries only
        # Set by attach().
        self.open_entry: OpenEntryNow
        self.complete_fields: Callable[[], int]  # of the open entry
        self.count_elements: Callable[[], int]  # in it, in all depths
        self.abandon: Callable[[], None]  # forgets it
        self.rename: Callable[[str], None]  # gives the open element in an entry another name
        self.line: Callable[[], int]  # the line of the last event
        self.settle_text: Callable[[], None]  # looks at the text before other markup outside entries
        self.skip: Callable[[int, int], None]  # bytes and lines that expat is not given
        self._ancestors: list[Ancestor] = []
        self._head: bytes | None = b""  # None: to be joined anew
        self._root: Ancestor | None = None
        self.bases: tuple[str, ...] = ()  # the xml:base values around entries, outermost first
        self._has_feed_link = self._has_stray_text = self._has_foreign_entry = False
        self._noted: list[tuple[str, Problem]] = []  # of names, since the last event outside entries

    @property
    def location(self) -> bytes:
        """The tag that each entry needs, with the prefix of the root."""
        prefix, colon, _ = (self.names or [b""])[0].rpartition(b":")
        return prefix + colon + self.vocabulary.location.encode()

    @property
    def names(self) -> list[bytes]:
        """The names of the open elements around entries as written, outermost first."""
        return [ancestor.name for ancestor in self._ancestors]

    @property
    def is_over(self) -> bool:
        """The root element has ended."""
        return self.root_seen and not self._ancestors

    def drop_read_bytes(self) -> None:
        """Removes from the buffer what no restart needs: all up to the end of the last tag outside entries."""
        if self.last_event is not None:
            self._buffer.drop_tag(self.last_event, is_tag=self.last_event_is_tag)
            self.last_event = None

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
        self.bases = tuple([ancestor.base for ancestor in self._ancestors if ancestor.base is not None])

    @property
    def head(self) -> bytes:
        """The start tags of the open elements around entries."""
        if self._head is None:
            self._head = b"".join([ancestor.written for ancestor in self._ancestors])
        return self._head

    def _note(self, name: str, code: str, message: str, field: str) -> None:
        self._noted.append((name, report(code, message, line=self.line(), field=field)))

    def attach(
        self, parser: XMLParserType | EventParser, written: Callable[[int], bytes], shift: int = 0, line_shift: int = 0
    ) -> None:
        """Sets the handlers of a parser, inside the elements that are open around entries.

        `shift` and `line_shift` are added to its byte indices and lines, to give those of the document. `written` is
        the start tag at an offset.
        """
        self.forget_noted()
        limits, ancestors, out = self._limits, self._ancestors, self.out
        max_depth, max_attributes = limits.max_xml_depth, limits.max_attributes
        max_text, max_entry = limits.max_token_bytes, limits.max_entry_bytes
        max_elements = limits.max_entry_elements
        vocabulary = self.vocabulary
        entries, tags, void_tags = vocabulary.entries, vocabulary.tags, vocabulary.void_tags
        depth_left = max_depth - len(ancestors)
        entry: Entry | None = None  # the open one
        stack: list[Element] = []  # the open elements in it, its own first
        closed: Element | None = None  # the element that the last tag ended; None where it began one
        elements = 0  # number of elements in it
        text: list[str] = []  # since the last tag
        remnants: list[tuple[int, str]] = []  # lines and rests of tags, since the last event outside entries
        stray_text: list[tuple[int, str]] = []  # lines and other texts there
        stray_inside: list[tuple[int, str]] = []  # the same in the entry, outside of its fields
        feed_links: list[tuple[int, int]] = []  # lines and offsets of links there
        settled = self._buffer.entry_start
        section = 0  # where the last CDATA section begins in text
        self.last_event = None
        self.in_section = False

        def line() -> int:
            return parser.CurrentLineNumber + line_shift

        def skip(size: int, breaks: int) -> None:
            nonlocal shift, line_shift, settled
            shift += size
            line_shift += breaks
            settled, self.after_entry = self._buffer.entry_start, True

        def declare(prefix: str | None, namespace: str | None) -> None:
            usual = (prefix or "").lower()
            if namespace and usual in EXTENSION_PREFIXES and len(self._declared) < _MAX_NAMESPACES:
                self._declared.setdefault(namespace, set()).add(usual)

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal closed, elements
            if attributes and len(attributes) > max_attributes:
                raise Stop(over_limit("max_attributes", max_attributes, "attributes in one element", line()))
            depth = len(stack)
            if depth >= depth_left:
                raise Stop(over_limit("max_xml_depth", max_depth, "levels of elements", line()))
            tag = vocabulary[name]
            if not depth:
                if tag in entries:
                    open_entry(tag, attributes)
                else:
                    open_ancestor(name, tag, attributes)
                return
            parent = stack[-1]
            if depth == 1:
                if tag in entries:
                    raise Misplaced("an entry begins inside another", parser.CurrentByteIndex + shift)
            elif parent.tag in void_tags and tag in tags:
                raise Misplaced(f"<{tag}> begins inside of <{parent.tag}>", parser.CurrentByteIndex + shift)
            elements += 1
            if elements > max_elements:
                raise Stop(over_limit("max_entry_elements", max_elements, "elements in one entry", line()))
            if text:
                read = "".join(text)
                if closed is None:
                    parent.text = read
                else:
                    closed.tail = read
                text.clear()
                if depth == 1 and not read.isspace():
                    check_outside(read, stray_inside)
            closed = None
            stack.append(SubElement(parent, tag, attributes) if attributes else SubElement(parent, tag))

        def end(name: str) -> None:
            nonlocal closed
            if not stack:
                close_ancestor()
                return
            element = stack.pop()
            if closed is not None:
                if text:
                    closed.tail = read = "".join(text)
                    text.clear()
                    if not stack and not read.isspace():
                        check_outside(read, stray_inside)
                # No text has more characters than bytes.
                if parser.CurrentByteIndex + shift - settled > max_text and own_characters(element) > max_text:
                    raise too_long_text()
                if is_location(element) and ">" in text_of(element):
                    stack.append(element)  # it is not complete
                    raise Misplaced(f"the markup breaks inside of <{element.tag}>", parser.CurrentByteIndex + shift)
            elif text:
                element.text = read = "".join(text)
                text.clear()
                if ">" in read and is_location(element):
                    note_hiding("a location")
                if len(read) > max_text:
                    raise too_long_text()
            closed = element
            if not stack and entry is not None:
                close_entry(entry)

        def open_entry(tag: str, attributes: dict[str, str]) -> None:
            nonlocal entry, closed, elements
            check_between()
            closed = None
            entry = Entry(Element(tag, attributes), line(), self.bases)
            stack.append(entry.element)
            elements = 0
            text.clear()
            stray_inside.clear()

        def check_between() -> None:
            """Looks at the text since the last tag, which is outside entries."""
            if not (text and ancestors):
                return
            read, name = "".join(text), ancestors[-1].name
            if local(name) in ROOTS:
                text[:] = "<" if "<" in read else ""  # check_outside() needs no more of it
                check_outside(read, stray_text)
            elif name == b"link":
                text.clear()
                if "://" in read and not (len(ancestors) > 1 and ancestors[-2].name in _WITH_LINK):
                    feed_links.append((line(), parser.CurrentByteIndex + shift))

        def check_outside(read: str, found: list[tuple[int, str]]) -> None:
            """Looks at a text outside of any field, which `found` gets if it is no rest of a tag."""
            match = _REMNANT.search(read) if ">" in read else None
            if match and "<" not in read[: match.start()]:  # else a tag of a template, which was read as text
                raw = read[max(0, match.end() - _EXCERPT_CHARACTERS) : match.end()].replace("\0", " ").split()[-1]
                remnants.append((line(), raw))
            elif "<" not in read and (stray := read.strip(_BLANK)) and not self._repairs.is_damaged:
                found.append((line() - read[read.index(stray) :].count("\n"), stray[:_MAX_STRAY_CHARACTERS]))

        def report_between() -> None:
            """At an event that is final: what expat read of an entry up to a fault is read again."""
            what = "the rest of a tag stands outside of any field: an entry may be lost"
            for at, raw in remnants:
                self._repairs.add("S01", what, at, raw, "error", kind="entry that may be hidden")
            for place in feed_links:
                if self._has_feed_link:  # a second one may be the link of an entry
                    self._repairs.note_hiding("a link outside of entries", *place)
                self._has_feed_link = True
            if stray_text and not self._has_stray_text:
                at, raw = stray_text[0]
                out.append(report("S10", "text stands outside of any field: it is skipped", line=at, raw=raw))
                self._has_stray_text = True
            forget_between()
            self.report_noted()

        def forget_between() -> None:
            remnants.clear()
            feed_links.clear()
            stray_text.clear()

        def settle_text() -> None:
            check_between()
            report_between()

        def close_entry(entry: Entry) -> None:
            settle()
            if not len(entry.element):
                self.last_event_is_tag = bool(entry.element.text) or self._buffer.bytes_before(settled) != b"/>"
            self.after_entry = True
            if stray_inside and any(map(locates, entry.element)):  # else it may be the location
                stray_text.extend(stray_inside)
            report_between()
            entry.problems = self._repairs.take()
            if entry.problems:
                self.lost_location = self.lost_location or not any(map(locates_or_is_empty, entry.element))
            if vocabulary.is_link and sum(map(vocabulary.is_link, entry.element)) > 1:
                note_hiding("a second link of an entry")
            out.append(entry)

        def too_long_text() -> Stop:
            return Stop(over_limit("max_token_bytes", max_text, "characters in one element", line()))

        def own_characters(element: Element) -> int:
            """The length of its text without that of its children, each of which has a limit of its own."""
            return len(element.text or "") + sum(len(child.tail or "") for child in element)

        def locates(child: Element) -> bool:
            """Whether it locates the entry: RSS has items with nothing but a guid or a link of Atom."""
            return is_location(child) or child.tag == "guid" or (child.tag == "atom:link" and is_link_to_page(child))

        def locates_or_is_empty(child: Element) -> bool:
            return locates(child) or (child.tag == vocabulary.location and not len(child))

        def is_location(child: Element) -> bool:
            return child.tag == vocabulary.location and bool(text_of(child).strip() or child.get("href"))

        def abandon() -> None:
            nonlocal entry, closed, settled
            entry, closed, settled = None, None, self._buffer.entry_start
            stack.clear()
            text.clear()
            stray_inside.clear()
            forget_between()
            self.forget_noted()
            self.last_event = None

        def complete_fields() -> int:
            return len(stack[0]) - (len(stack) > 1) if stack else 0

        def open_entry_now(ends: bool = False, fields: int | None = None) -> OpenEntry | None:
            parser.CharacterDataHandler = text.append  # at an error, pyexpat flushes its text buffer here
            self.report_noted()
            if not stack or entry is None:
                return None
            if closed is None:
                stack[-1].text = "".join(text)
            else:
                closed.tail = "".join(text)
            if ends and len(stack) > 1:
                stack.pop()
            kept = complete_fields() if fields is None else fields
            dropped = [*entry.element[kept:], *stack[2:]]
            del entry.element[kept:]
            is_location_open = any(each.tag == vocabulary.location for each in dropped)
            entry.is_cut = True
            entry.problems = self._repairs.take()
            return OpenEntry(entry, any(map(is_location, entry.element)), is_location_open)

        def open_ancestor(name: str, tag: str, attributes: dict[str, str]) -> None:
            nonlocal depth_left
            if vocabulary.implied_entry and tag == vocabulary.location:
                what = f"<{vocabulary.location}> is outside of any entry"
                raise Misplaced(what, parser.CurrentByteIndex + shift)
            if not self.root_seen:
                open_root(name)
            check_between()
            settle()
            depth_left -= 1
            tag_written = written(settled)
            ancestor = Ancestor(tag_written, attributes.get(XML_BASE), declared_namespaces(tag_written))
            ancestors.append(ancestor)
            if sum([len(each.written) for each in ancestors]) > max_entry:  # a new parser reads all of them
                raise Stop(over_limit("max_entry_bytes", max_entry, "bytes in the tags around", line()))
            self._note_ancestors()
            if vocabulary.implied_entry and len(ancestors) == 2 and (is_core(tag) or tag in tags):
                what = "is outside of any entry" if tag in tags else "is unknown: it is no entry"
                out.append(report("S10", f"<{tag[:80]}> {what}", line=line(), field=tag[:80]))
            note_foreign_entry(tag)
            if not self.root_seen:
                self._root, self.root_seen = ancestor, True
                self.after_root = vocabulary.implied_entry is not None
            emit_repairs()

        def note_foreign_entry(tag: str) -> None:
            """Reports the first element that would be an entry but for its namespace."""
            namespace, brace, name = tag.rpartition("}")
            if not brace or name not in entries or self._has_foreign_entry:
                return
            if len(ancestors) > 1 and (ancestors[-2] is self._root or local(ancestors[-2].name) == b"channel"):
                what = f'<{name}> is in the namespace "{namespace[:200]}": it is no entry'
                out.append(report("S10", what, line=line(), field=name))
                self._has_foreign_entry = True

        def open_root(name: str) -> None:
            nonlocal vocabulary, entries, tags, void_tags
            namespace, _, local = name.rpartition("}")
            opened = self._open_root(namespace, local)
            if opened is None:
                offset = parser.CurrentByteIndex + shift
                raise NoRoot(offset, tag_name(written(offset), 0))
            vocabulary = self.vocabulary = opened
            out.extend(opened.root_problems)
            vocabulary.note, vocabulary.declared = self._note, self._declared
            entries, tags, void_tags = vocabulary.entries, vocabulary.tags, vocabulary.void_tags

        def close_ancestor() -> None:
            nonlocal depth_left
            depth_left += 1
            check_between()
            ancestor = ancestors.pop()
            self._note_ancestors()
            settle()
            self.last_event_is_tag = not ancestor.is_empty
            emit_repairs()

        def settle() -> None:
            nonlocal settled
            self._budget.count(EVENT_STEPS)
            offset = parser.CurrentByteIndex + shift
            if offset - settled > max_entry:
                raise TooLong
            settled = self.last_event = offset
            self.last_event_is_tag = True
            self.after_entry = self.after_root = False
            text.clear()

        def emit_repairs() -> None:
            report_between()
            out.extend(self._repairs.take())

        def rename(name: str) -> None:
            stack[-1].tag = vocabulary[name]

        def start_section() -> None:
            nonlocal section
            section, self.section_start, self.in_section = len(text), parser.CurrentByteIndex + shift, True

        def end_section() -> None:
            self.in_section = False
            content = "".join(text[section:])
            if "<" not in content:
                return
            is_core_location = stack and "}" not in stack[-1].tag and names_location(clark(stack[-1].tag)[1].encode())
            holds_section = stack and "<![CDATA[" in content
            # A text may quote entries.
            is_text = len(stack) > 1 and stack[-1].tag.encode() not in DATA
            if is_core_location or holds_section or (not is_text and holds_entry(content.encode())):
                raise Misplaced("a CDATA section holds markup", self.section_start)
            check_hiding("a CDATA section", content)

        def check_hiding(what: str, content: str) -> None:
            if holds_part(content.encode()):
                note_hiding(what)

        def note_hiding(what: str) -> None:
            self._repairs.note_hiding(what, line(), parser.CurrentByteIndex + shift)

        def instruction(target: str, content: str) -> None:
            if "<" in content and holds_entry(content.encode()):
                raise Misplaced("a processing instruction holds entries", parser.CurrentByteIndex + shift)
            check_hiding("an instruction", content)

        self.open_entry, self.abandon = open_entry_now, abandon
        self.complete_fields, self.rename = complete_fields, rename
        self.count_elements = lambda: elements
        self.line, self.skip, self.settle_text = line, skip, settle_text
        parser.StartCdataSectionHandler = start_section
        parser.EndCdataSectionHandler = end_section
        parser.ProcessingInstructionHandler = instruction
        parser.CommentHandler = partial(check_hiding, "a comment")
        parser.ordered_attributes = False
        parser.StartNamespaceDeclHandler = declare
        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = text.append
