"""Builds entries from expat's events: each `url`, `sitemap`, `item` or `entry` becomes a small element tree.

An entry is complete at its end tag; take_open_entry() returns one that was cut. Of elements outside entries only the
start tags are kept, which a new parser reads first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

import attrs

from ...model.limits import over_limit
from ...model.problems import Problem, report
from .elements import XML_BASE, Entry, Vocabulary, clark, is_core, text_of
from .errors import Misplaced, Stop, TooLong
from .scan import declared_prefixes, end_tag, names_location, restore_controls, tag_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from xml.parsers.expat import XMLParserType

    from ...model.limits import Limits
    from .replay_buffer import ReplayBuffer


@attrs.define
class Ancestor:
    """An open element around the entries: its start tag as written, and its xml:base."""

    written: bytes
    base: str | None

    @property
    def is_empty(self) -> bool:
        return self.written.endswith(b"/>")


class EntryBuilder:
    """Appends Entries and Problems to `out`, from the events of the expat parser that it is attached to.

    `last_event` is the byte index of the last tag outside entries, or of the last entry's end tag; None before the
    first one of this parser. `last_event_is_tag` is False for the end of an empty element (`<a/>`), whose index is
    after the tag. `take_repairs(end, first_line)` returns the Problems of repairs in an entry.
    """

    def __init__(
        self,
        limits: Limits,
        open_root: Callable[[str, str], Vocabulary],
        buffer: ReplayBuffer,
        out: list[Entry | Problem],
        take_repairs: Callable[[int, int], tuple[Problem, ...]],
    ) -> None:
        self.out = out
        self.last_event: int | None = None
        self.last_event_is_tag = True
        self.root_seen = False
        self._limits = limits
        self._open_root = open_root
        self._buffer = buffer
        self._take_repairs = take_repairs
        self._vocabulary = Vocabulary({}, "", frozenset(), "")
        self.lost_location = False  # an entry that was repaired or cut has none
        self.in_section = False
        self.section_index = 0  # byte index of the last CDATA section
        self.section_of = ""  # the name of its element
        self.after_entry = False  # the last tag outside entries was the end of one
        self._take_open: Callable[[int, bool], Entry | None] = lambda index, ends: None
        self.line: Callable[[], int] = lambda: 1  # the line of the last event
        self.skip_lines: Callable[[int], None] = lambda count: None  # that the parser is not given
        self._ancestors: list[Ancestor] = []
        self._root: Ancestor | None = None
        self._bases: tuple[str, ...] = ()

    @property
    def prefixes(self) -> dict[str, str]:
        """Prefix -> namespace of the document's vocabulary."""
        return self._vocabulary.prefixes

    @property
    def location(self) -> bytes:
        """The tag that each entry needs, with the prefix of the root."""
        prefix, colon, _ = (self.names or [b""])[0].rpartition(b":")
        return prefix + colon + self._vocabulary.location.encode()

    @property
    def names(self) -> list[bytes]:
        """The names of the open elements around entries as written, outermost first."""
        return [tag_name(ancestor.written, 0) for ancestor in self._ancestors]

    @property
    def bases(self) -> tuple[str, ...]:
        """The xml:base values around entries, outermost first."""
        return self._bases

    @property
    def vocabulary(self) -> Vocabulary:
        """The names of the document."""
        return self._vocabulary

    @property
    def is_over(self) -> bool:
        """The root element has ended."""
        return self.root_seen and not self._ancestors

    def take_open_entry(self, index: int, *, ends: bool = False) -> Entry | None:
        """The entry that is open at a byte index, with the fields that have ended; None without a location.

        `ends`: the end tag of the innermost element begins there.
        """
        return self._take_open(index, ends)

    def drop_read_bytes(self) -> None:
        """Removes from the buffer what no restart needs: all up to the end of the last tag outside entries."""
        if self.last_event is not None:
            self._buffer.forget_up_to(self.last_event, is_tag=self.last_event_is_tag)
            self.last_event = None

    def take(self) -> list[Entry | Problem]:
        """The Entries and Problems since the last call."""
        out, self.out[:] = self.out[:], []
        return out

    @property
    def declared(self) -> set[str]:
        """The prefixes that the open elements around entries declare."""
        return {prefix for ancestor in self._ancestors for prefix in declared_prefixes(ancestor.written)}

    def declare(self, declaration: bytes) -> None:
        """Adds an attribute to the start tag of the root in head()."""
        if self._root:
            end = 1 + len(tag_name(self._root.written, 0))
            self._root.written = self._root.written[:end] + declaration + self._root.written[end:]

    def head(self) -> bytes:
        """The start tags of the open elements around entries; of the root, where all have ended."""
        if not self._ancestors and self._root:
            if self._root.is_empty:
                self._root.written = self._root.written[:-2] + b">"
            self._ancestors.append(self._root)
            self._bases = _bases(self._ancestors)
        return b"".join(ancestor.written for ancestor in self._ancestors)

    def attach(self, parser: XMLParserType, counted_from: int, line_offset: int) -> None:
        """Sets the handlers of a parser that has read head().

        Bytes of the next entry count from the index `counted_from`; `line_offset` is added to the parser's lines.
        """
        limits, ancestors, out = self._limits, self._ancestors, self.out
        max_depth, max_attributes = limits.max_xml_depth, limits.max_attributes
        max_text, max_entry = limits.max_token_bytes, limits.max_entry_bytes
        max_elements = limits.max_entry_elements
        vocabulary = self._vocabulary
        entries, tags, void_tags = vocabulary.entries, vocabulary.tags, vocabulary.void_tags
        depth_left = max_depth - len(ancestors)
        entry: Entry | None = None  # the open one
        stack: list[Element] = []  # the open elements in it, its own first
        closed: Element | None = None  # the element that the last tag ended; None where it began one
        elements = 0  # number of elements in it
        text: list[str] = []  # since the last tag
        settled = counted_from
        quoted: list[Problem] = []  # Problems of CDATA sections in it
        section = 0  # where the last CDATA section begins in text
        self.last_event = None
        self.in_section = False

        def line() -> int:
            return parser.CurrentLineNumber + line_offset

        def skip_lines(count: int) -> None:
            nonlocal line_offset
            line_offset += count

        def note(code: str, message: str, name: str) -> None:
            out.append(report(code, message, line=line(), field=name))

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
                    raise Misplaced("an entry begins inside another", parser.CurrentByteIndex, is_entry=True)
            elif parent.tag in void_tags and tag in tags:
                raise Misplaced(f"<{tag}> begins inside of <{parent.tag}>", parser.CurrentByteIndex)
            elements += 1
            if elements > max_elements:
                raise Stop(over_limit("max_entry_elements", max_elements, "elements in one entry", line()))
            if text:
                if closed is None:
                    parent.text = "".join(text)
                else:
                    closed.tail = "".join(text)
                text.clear()
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
                    closed.tail = "".join(text)
                    text.clear()
                # No text has more characters than bytes.
                if parser.CurrentByteIndex - settled > max_text and own_characters(element) > max_text:
                    raise too_long_text()
            elif text:
                element.text = read = "".join(text)
                text.clear()
                if len(read) > max_text:
                    raise too_long_text()
            closed = element
            if not stack and entry is not None:
                close_entry(entry)

        def open_entry(tag: str, attributes: dict[str, str]) -> None:
            nonlocal entry, closed, elements
            closed = None
            entry = Entry(Element(tag, attributes), line(), self._bases)
            stack.append(entry.element)
            elements = 0
            quoted.clear()
            text.clear()

        def close_entry(entry: Entry) -> None:
            settle()
            if not len(entry.element):
                self.last_event_is_tag = bool(entry.element.text) or self._buffer.bytes_before(settled) != b"/>"
            self.after_entry = True
            entry.problems = self._take_repairs(settled, entry.line)
            if entry.problems:
                _restore_controls(entry)
                self.lost_location = self.lost_location or not any(map(locates, entry.element))
            take_quoted(entry)
            out.append(entry)

        def too_long_text() -> Stop:
            return Stop(over_limit("max_token_bytes", max_text, "characters in one element", line()))

        def own_characters(element: Element) -> int:
            """The length of its text without that of its children, each of which has a limit of its own."""
            return len(element.text or "") + sum(len(child.tail or "") for child in element)

        def locates(child: Element) -> bool:
            """Whether it locates the entry: RSS has items with nothing but a guid."""
            return is_location(child) or child.tag == "guid"

        def is_location(child: Element) -> bool:
            return child.tag == vocabulary.location and bool(text_of(child).strip() or child.get("href"))

        def take_open(index: int, ends: bool) -> Entry | None:
            parser.CharacterDataHandler = text.append  # at an error, pyexpat flushes its text buffer here
            if not stack or entry is None:
                return None
            if closed is None:
                stack[-1].text = "".join(text)
            else:
                closed.tail = "".join(text)
            if ends and len(stack) > 1:
                stack.pop()
            if len(stack) > 1:  # fields without an end are left out
                entry.element.remove(stack[1])
            if not any(is_location(child) for child in entry.element):
                return None
            self.lost_location = self.lost_location or any(each.tag == vocabulary.location for each in stack[1:])
            entry.is_cut = True
            entry.problems = self._take_repairs(index, entry.line)
            _restore_controls(entry)
            take_quoted(entry)
            return entry

        def take_quoted(entry: Entry) -> None:
            if quoted:
                entry.problems += tuple(quoted)
                self.lost_location = True

        def open_ancestor(name: str, tag: str, attributes: dict[str, str]) -> None:
            nonlocal vocabulary, entries, tags, void_tags, depth_left
            if vocabulary.implied_entry and tag == vocabulary.location:
                what = f"<{vocabulary.location}> is outside of any entry"
                raise Misplaced(what, parser.CurrentByteIndex, implied_entry=vocabulary.implied_entry)
            settle()
            depth_left -= 1
            ancestor = Ancestor(self._buffer.tag_at(settled), attributes.get(XML_BASE))
            ancestors.append(ancestor)
            if sum(len(each.written) for each in ancestors) > max_entry:  # a new parser reads all of them
                raise Stop(over_limit("max_entry_bytes", max_entry, "bytes in the tags around", line()))
            self._bases = _bases(ancestors)
            if vocabulary.implied_entry and len(ancestors) == 2 and (is_core(tag) or tag in tags):
                what = "is outside of any entry" if tag in tags else "is unknown: it is no entry"
                out.append(report("S10", f"<{tag[:80]}> {what}", line=line(), field=tag[:80]))
            if not self.root_seen:
                namespace, _, local = name.rpartition("}")
                vocabulary = self._vocabulary = self._open_root(namespace, local)
                self._root, self.root_seen = ancestor, True
                vocabulary.note = note
                entries, tags, void_tags = vocabulary.entries, vocabulary.tags, vocabulary.void_tags
            emit_repairs()

        def close_ancestor() -> None:
            nonlocal depth_left
            depth_left += 1
            ancestor = ancestors.pop()
            self._bases = _bases(ancestors)
            settle()
            self.last_event_is_tag = not ancestor.is_empty
            emit_repairs()

        def settle() -> None:
            nonlocal settled
            index = parser.CurrentByteIndex
            if index - settled > max_entry:
                raise TooLong
            settled = self.last_event = index
            self.last_event_is_tag = True
            self.after_entry = False
            text.clear()

        def emit_repairs() -> None:
            out.extend(self._take_repairs(settled, line()))

        def start_section() -> None:
            nonlocal section
            section, self.section_index, self.in_section = len(text), parser.CurrentByteIndex, True
            self.section_of = clark(stack[-1].tag)[1] if stack else ""

        def end_section() -> None:
            self.in_section = False
            content = "".join(text[section:])
            if not stack or "<" not in content:
                return
            local = self.section_of.encode()
            if "}" not in stack[-1].tag and names_location(local):
                what = f"a CDATA section in <{self.section_of}> holds markup"
                raise Misplaced(what, self.section_index, section_end=parser.CurrentByteIndex)
            if "<![CDATA[" in content and end_tag(content.encode(), 0, local) >= 0:
                what = f"a CDATA section holds the end of <{self.section_of}> and another section"
                what += ": all of it was read as text, entries may be lost in it"
                quoted.append(report("S01", what, line=line()))

        vocabulary.note = note
        self._take_open = take_open
        self.line, self.skip_lines = line, skip_lines
        parser.StartCdataSectionHandler = start_section
        parser.EndCdataSectionHandler = end_section
        parser.ordered_attributes = False
        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = text.append


def _restore_controls(entry: Entry) -> None:
    """Replaces the placeholders of control characters in an entry that was repaired."""
    for element in entry.element.iter():
        element.text = restore_controls(element.text or "")
        element.tail = restore_controls(element.tail or "")
        for name, value in element.items():
            element.set(name, restore_controls(value))


def _bases(ancestors: list[Ancestor]) -> tuple[str, ...]:
    return tuple(ancestor.base for ancestor in ancestors if ancestor.base is not None)
