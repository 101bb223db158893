"""A parser for XML that may be damaged: reads what expat refused, and gives EntryBuilder the events of expat.

An entry whose tags match is read as it stands, but for its characters and undeclared prefixes; any other one by rules
for broken structure, each with a Problem. A URL is never guessed: where markup breaks inside a <loc> (or link, guid),
the entry is Lost.

Linear: each byte becomes part of a token once. The tokens of an entry are looked at up to the first that does not
match, and each is read once, but for one that a rule puts back or splits; what waits for more bytes is looked at again
when there are twice as many. Entries that are begun inside another are looked at again for each, of which there are
`max_xml_depth` at most.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ....model.problems import report
from ..errors import CHECK_STEPS, LEVEL_STEPS, TOKEN_STEPS, Misplaced, Stop
from ..scan import end_tag, local, names_location
from .characters import NoCharacter, has_controls
from .event_source import UndeclaredPrefix
from .structure import StructureRules, lacks_end
from .tokenizer import (
    CONTAINERS,
    DATA,
    ENTRIES,
    FIELD,
    HTML,
    KNOWN,
    LOCATIONS,
    ROOTS,
    SECTION,
    VOID_EXTENSIONS,
    Token,
    attributes,
    declares_namespace,
    shown,
    without_remnant,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....model.limits import Limits
    from ..entry_builder import EntryBuilder, OpenEntry
    from ..errors import Budget, XmlFault
    from ..repair_log import RepairLog
    from ..replay_buffer import ReplayBuffer
    from .event_source import OpenElement


_DTD = re.compile(rb"<!doctype\b.*\[", re.IGNORECASE | re.DOTALL)  # with an internal subset
_HOLD_FIELDS = CONTAINERS - VOID_EXTENSIONS
_SNIPPET_BYTES = 80
_MIN_WAKE_BYTES = 64  # a token that has not ended is not looked at with every byte


class TolerantParser(StructureRules):
    """read() returns True where expat can go on: behind an entry that was not damaged, or behind the root element.

    It reads the buffer from `position` on.
    """

    def __init__(
        self, limits: Limits, budget: Budget, buffer: ReplayBuffer, builder: EntryBuilder, repairs: RepairLog
    ) -> None:
        super().__init__(limits, budget, buffer, builder, repairs)
        self._wake_bytes = 0  # so many unread bytes are waited for
        self._unended_names: set[bytes] = set()  # without an end tag in the rest of the document
        self._follows_entry = False  # the present token
        self._made_before = 0  # repairs, when the last entry ended

    def begin(self, fault: XmlFault) -> None:
        """Reads on from the beginning of the buffer, where expat stopped at a fault."""
        self._fault, self._made_at_fault = fault, self._repairs.made
        self.attach()
        self.go_on()

    def go_on(self) -> None:
        """Reads on from the beginning of the buffer, between two entries."""
        self.abandon_entry()
        self.position = self.CurrentByteIndex = self._buffer.start
        self._tokens.go_on(self.position)
        self._follows_entry = self._builder.after_entry
        self._made_before, self._structural_repairs, self._wake_bytes = self._repairs.made, 0, 0
        self._expect_entry()

    def read(self, *, final: bool) -> bool:
        """Reads all tokens that have ended; False where more bytes are needed. Raises Lost, and Stop above a limit."""
        ahead = self._tokens.ahead
        try:
            while (ahead and self._is_damaged is not None) or self._read_ahead(final=final):
                if self._read_token(ahead.popleft()):
                    return True
        except NoCharacter as reference:
            raise self._lost(str(reference), line=self._buffer.line_at(reference.offset)) from None
        except UndeclaredPrefix as prefix:
            raise self._lost(str(prefix), limit="max_prefixes") from None
        except Misplaced as misplaced:
            raise self._lost(str(misplaced)) from None
        return False

    def take_opened(self, *, ends: bool = False) -> OpenEntry | None:
        """The open entry with the fields before its damage; None between entries. `ends`: an end tag begins here."""
        if ends and self.inner:
            ends = self._give_rest()
        fields, made = self._intact or (None, None)
        self._repairs.cut(made)
        return self._builder.open_entry(ends=ends, fields=fields)

    def _give_rest(self) -> bool:
        """Gives the text before an end tag that is cut to the builder; whether all of it can be read."""
        data, start = self._buffer.data, self._buffer.relative(self.position)
        try:
            self.give_text(bytes(data[start : data.find(b"<", start)]), self.position)
        except NoCharacter:
            return False
        return True

    # --- tokens ---

    def _read_ahead(self, *, final: bool) -> bool:
        """Whether the next token is in `ahead`; else none is looked for until there are twice as many bytes."""
        unread = self._buffer.end - self.position
        if unread < self._wake_bytes and not final:
            return False
        if self.inner and self._is_damaged is None:
            self._is_damaged = self._is_mismatched(final=final)
            if self._is_damaged:
                self.count_fault(self._entry_start)
        if not self.inner or self._is_damaged is not None:
            self._wake_bytes = 0
            if self._tokens.look(0, final=final):
                return True
        self._budget.spend(TOKEN_STEPS + unread)
        self._wake_bytes = max(2 * unread, _MIN_WAKE_BYTES)
        return False

    def _is_mismatched(self, *, final: bool) -> bool | None:
        """Whether the tags of the entry that has begun do not match; None: more bytes are needed.

        One that is cut, or that ends reading by a limit, is read as it stands.
        """
        names, elements, index = [element.name for element in self.inner], 0, 0
        while elements <= self._limits.max_entry_elements:
            try:
                token = self._tokens.look(index, final=final)
            except Stop:  # once more where it is read
                return False
            index += 1
            self._budget.spend(CHECK_STEPS)
            if token is None:
                return False if final else None
            if token.kind == "fields":
                elements += token.written.count(b"</")
                if _is_void(names[-1]) and any(local(each[1]) in KNOWN for each in FIELD.findall(token.written)):
                    return True
            elif token.kind == "start":
                if not token.is_well_formed or self._is_misplaced(names, token):
                    return True
                if self._is_beyond_limits(len(names), token):
                    return False
                elements += 1
                if not token.is_empty:
                    names.append(token.name)
            elif token.kind == "stop":
                if token.name != names.pop() or not token.is_well_formed:
                    return True
                if not names:
                    return False
            elif not token.is_well_formed:
                return True
            elif token.next == b"unended":
                return False
        return False

    def _is_misplaced(self, names: list[bytes], token: Token) -> bool:
        if len(names) == 1:
            return self.tag_of(token.name, token.written) in self._builder.vocabulary.entries
        return _is_void(names[-1]) and token.local in KNOWN

    def _is_beyond_limits(self, depth: int, token: Token) -> bool:
        """Whether the builder raises Stop at a well-formed start tag inside of so many elements of the entry."""
        if len(self.outer) + depth >= self._limits.max_xml_depth:
            return True
        most = self._limits.max_attributes
        return token.rest.count(b"=") > most and most < sum(
            not declares_namespace(each.name) for each in attributes(token.rest).found
        )

    def _read_token(self, token: Token) -> bool:
        """Reads a token and the text before it; whether expat can go on behind it."""
        buffer, inner, text = self._buffer, self.inner, token.text
        self._token, self._text, self._text_start = token, text, self.position
        self.position, self.CurrentByteIndex = token.end, token.start
        if buffer.is_too_long(token.start):
            raise buffer.too_long()
        self._budget.spend(TOKEN_STEPS + LEVEL_STEPS * len(inner) + token.end - self._text_start)
        if text and not text.isspace():
            if inner:
                inner[-1].has_text = True
            elif not self._builder.root_seen:
                line = buffer.line_at(token.start - len(text.lstrip()))
                raise self._lost("text stands before the root element", line=line)
        was_inside = bool(inner)
        _RULES[token.kind](self, token)
        if self._text:
            self._give_pending()
        self._follows_entry = was_inside and not self.inner
        return not self.inner and self._settle()

    def _fields(self, token: Token) -> None:
        """Reads fields at once, up to one that a rule concerns: its tags are read next."""
        first, is_damaged = token.start, self._is_damaged is not False
        for match in FIELD.finditer(token.written):
            text, name, content = match.groups()
            if match.start():  # the text before the first one is that of the token
                self._text, self._text_start = text, self.position
            start = match.start(2) - 1
            self.CurrentByteIndex = first + start
            if is_damaged and self._concerns_rules(name, content):
                self._tokens.split(token, start, match.end(), self._text)
                self._text, self.position = b"", self._text_start
                return
            if self._text:
                self._give_pending()
            self.position = first + match.end()
            self.give_field(name, content, first + match.start(3))

    def _concerns_rules(self, name: bytes, content: bytes) -> bool:
        """Whether a field is to be read tag by tag; before any other one, what cannot contain it is closed."""
        if not (self.inner or self._implies_entry(name)):
            return True
        innermost = self.inner[-1]
        if name in DATA and len(self.inner) == 1:  # most of them
            innermost.has_markup = True
            self._has_fields = self._has_location
            return False
        own = local(name)
        is_location = own in LOCATIONS
        if name == innermost.name or own in CONTAINERS or (is_location and self._may_locate_another_entry(name)):
            return True
        if b">" in content and names_location(name):
            return True
        if self._text and not self._text.isspace():
            innermost.has_text = True
        if not self._may_hold_fields(innermost):
            self._close_fields_before(name)
            innermost = self.inner[-1]
            if not self._may_hold_fields(innermost):
                return True
        innermost.has_markup = True
        if not is_location:
            self._has_fields = self._has_location
        elif len(self.inner) == 1 and content and not content.isspace():
            self._has_location = True
        return False

    def _may_hold_fields(self, element: OpenElement) -> bool:
        """Whether fields may be in the innermost element of a damaged entry."""
        depth = len(self.inner)
        is_container = depth == 1 or element.local in _HOLD_FIELDS
        return is_container and len(self.outer) + depth < self._limits.max_xml_depth

    def _settle(self) -> bool:
        """Drops what was read, up to a token outside entries; whether expat can go on behind it."""
        self._explain_fault()
        builder, buffer = self._builder, self._buffer
        if builder.last_event is None:
            buffer.drop_until(self.position)
        else:
            buffer.begin_entry(builder.last_event, self.position)
            builder.last_event = None
        if builder.root_seen:
            builder.out += self._repairs.take()
        if not self._follows_entry:
            return builder.is_over
        is_clean = self._repairs.made == self._made_before
        self._made_before, self._structural_repairs = self._repairs.made, 0
        self._expect_entry()
        return is_clean

    def _expect_entry(self) -> None:
        self._is_damaged, self._intact = None, None

    # --- sections ---

    def _section(self, token: Token) -> None:
        if token.next == b"unended":
            self._lose_section(token)
        content, offset = token.rest, self.CurrentByteIndex + len(token.written)
        raw = (token.written + content)[:_SNIPPET_BYTES]
        if token.next == b"element":
            content = without_remnant(content)
            self._note("a CDATA section is not closed: it ends with its element", raw)
        elif token.written != SECTION:
            self._note(f"{token.written.decode()} was read as {SECTION.decode()}", raw)
        self._give_pending()
        self._characters.controls(content, offset)
        if not self.inner:
            return
        innermost = self.inner[-1]
        innermost.has_text = True
        if b"<" in content and innermost.is_location:
            raise self._lost(f"a CDATA section in <{shown(innermost.name)}> holds markup")
        if token.next == b"unsure":
            what = f"a CDATA section holds the end of <{shown(innermost.name)}> and another section"
            self._note(f"{what}: all of it was read as text, entries may be lost in it", sure=False)
        self.CharacterDataHandler(content.decode().replace("\r\n", "\n").replace("\r", "\n"))

    def _lose_section(self, token: Token) -> None:
        """Raises Lost for a section without an end; up to the end of its element it is text."""
        resume, position = self.position, self._buffer.relative(self.position)
        name = self.inner[-1].local if self.inner else b""
        if name and name not in self._unended_names:
            end = end_tag(self._buffer.data, position, name)
            self._budget.spend_on_markup(self._buffer.data, position, len(self._buffer) if end < 0 else end, 1)
            if end < 0:
                self._unended_names.add(name)
            else:
                resume = self._buffer.start + end
        raise self._lost("a CDATA section does not end", resume=resume)

    # --- other tokens that are no tags ---

    def _comment(self, token: Token) -> None:
        """XML 1.0 2.5: no `--` inside a comment."""
        inner = token.written[4:-3]
        if b"--" in inner or inner.endswith(b"-") or has_controls(inner):
            # The end of the first of two may be damaged, with entries between.
            is_one = not (b"<!--" in inner or b"->" in inner)
            more = "" if is_one else ", and what else may stand in it"
            self._note(f"a malformed comment was skipped{more}", token.written[:_SNIPPET_BYTES], sure=is_one)

    def _instruction(self, token: Token) -> None:
        if not token.is_well_formed:
            self._outside_locations()
            self._skip(token, "is no instruction")
        self._characters.controls(token.written, self.CurrentByteIndex)

    def _declaration(self, token: Token) -> None:
        is_doctype = not token.written[:5].lower().startswith((b"<?xml", b"<xml"))
        if self._builder.root_seen or not (is_doctype or self.CurrentByteIndex == 0):
            self._outside_locations()
            self._skip(token, "is not at the start", code="S01" if is_doctype else "S08")
        elif _DTD.match(token.written):
            raise Stop(report("S09", "the DTD has an internal subset: the document is refused"))
        elif self._fault and self.CurrentByteIndex <= self._fault.offset < self.position:
            self._skip(token, "is malformed")

    def _misspelled_comment(self, token: Token) -> None:
        self._outside_locations()
        self._skip(token, "is no comment")

    def _stray(self, token: Token) -> None:
        text = token.written.replace(b"<", b"&lt;").replace(b">", b"&gt;")
        is_end = token.written.startswith(b"</")
        self._literal(token, text, sure=not is_end and (self._is_in_text or token.is_harmless))

    # --- tags ---

    def _start(self, token: Token) -> None:
        if not self.inner:
            self._start_outside(token)
        elif self._is_damaged:
            self._start_inside(token)
        else:
            self._open(token, is_empty=token.is_empty)

    def _start_outside(self, token: Token) -> None:
        if not (token.is_plain or self._is_tag(token)):
            self._literal(token, b"&lt;" + token.written[1:], sure=self._is_in_text)
        elif self.tag_of(token.name, token.written) in self._builder.vocabulary.entries:
            self._is_damaged = None if token.is_well_formed else True
            self._begin_entry()
            self._open(token, is_empty=token.is_empty, is_entry=True)
        elif self._implies_entry(token.name, token.written):
            self._read_again(token)
        else:
            is_empty = token.is_empty and (token.is_closed or token.local not in ROOTS)
            self._open(token, is_empty=is_empty or lacks_end(token))

    def _stop(self, token: Token) -> None:
        if not self.inner:
            self._stop_outside(token)
        elif self._is_damaged:
            self._stop_inside(token)
        else:
            self._end_innermost()

    def _stop_outside(self, token: Token) -> None:
        outer = self.outer
        if outer and (token.name in outer or token.local in ROOTS):
            is_outer = token.name in outer
            depth = len(outer) - outer[::-1].index(token.name) if is_outer else 0
            while len(outer) > depth:
                end = b"</" + outer[-1] + b">"
                self._missing(end, "before the end of the enclosing element", sure=self.knows(outer[-1]))
                self.pop_outer()
            if not is_outer:
                self._skip(token, "is the end of another root element")
                return
            if not token.is_well_formed:
                self._read_as(token, b"</" + token.name + b">")
        elif outer and self._is_misspelling(token, outer[-1]):
            self._read_as(token, b"</" + outer[-1] + b">", sure=self.knows(outer[-1]))
        else:
            is_doubled = token.local in ENTRIES and self._follows_entry and not self._text.strip()
            is_sure = self.knows(token.name) and (is_doubled or token.name in HTML)
            self._skip(token, "ends nothing", sure=is_sure)
            return
        self._give_pending()
        self.pop_outer()


def _is_void(name: bytes) -> bool:
    """Whether an element of an extension is empty; `link` without a prefix is one of a feed."""
    return local(name) in VOID_EXTENSIONS or (name != b"link" and local(name) == b"link")


_RULES: dict[str, Callable[[TolerantParser, Token], None]] = {
    "fields": TolerantParser._fields,
    "comment": TolerantParser._comment,
    "instruction": TolerantParser._instruction,
    "section": TolerantParser._section,
    "declaration": TolerantParser._declaration,
    "misspelled": TolerantParser._misspelled_comment,
    "stray": TolerantParser._stray,
    "start": TolerantParser._start,
    "stop": TolerantParser._stop,
}
