"""A parser for XML that may be damaged: reads what expat refused, and gives EntryBuilder the events of expat.

An entry whose tags match is read as it stands, but for its characters and undeclared prefixes; any other one by rules
for broken structure, each with a Problem. A URL is never guessed: where markup breaks inside a <loc> (or link, guid),
the entry is Lost. Where a rule would concern a tag, the rest of the entry is searched, once, for tags that do not
match. So every byte is searched once and read once at most; what waits for more bytes is looked at again when there
are twice as many.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ....model.problems import report
from ..errors import CHECK_STEPS, LEVEL_STEPS, TOKEN_STEPS, Misplaced, NoRoot, Stop
from ..scan import DATA, ROOTS, end_tag, holds_entry, holds_part, local, names_location
from .characters import NoCharacter, has_controls, has_hole, special_in
from .event_source import UndeclaredPrefix
from .structure import NO_TOKEN, StructureRules, lacks_end
from .tokenizer import (
    CONTAINERS,
    ENTRIES,
    HARMLESS,
    HTML,
    LOCATIONS,
    PLAIN_FIELD,
    PLAIN_FIELDS,
    SECTION,
    VOID_EXTENSIONS,
    Token,
    TokenReader,
    attributes,
    declares_namespace,
    shown,
    without_remnant,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....model.limits import Limits
    from ....model.problems import Kind
    from ..entry_builder import EntryBuilder, OpenEntry
    from ..errors import Budget, XmlFault
    from ..repair_log import RepairLog
    from ..replay_buffer import ReplayBuffer


_TAGS = frozenset(("start", "stop", "stray"))
_DTD = re.compile(rb"<!doctype\b.*\[", re.IGNORECASE | re.DOTALL)  # with an internal subset
_HOLD_FIELDS = CONTAINERS - VOID_EXTENSIONS
_DECLARATION_SKIPPED: Kind = "declaration or instruction skipped"
_SNIPPET_BYTES = 80
_MIN_WAKE_BYTES = 64  # a token that has not ended is not looked at with every byte


class TolerantParser(StructureRules):
    """read() reads the buffer from `position` on, and returns True behind the end of the root element."""

    def __init__(
        self, limits: Limits, budget: Budget, buffer: ReplayBuffer, builder: EntryBuilder, repairs: RepairLog
    ) -> None:
        super().__init__(limits, budget, buffer, builder, repairs)
        self._tokens = TokenReader(buffer, limits, budget)
        self._wake_bytes = 0  # so many unread bytes are waited for
        self._unended_names: set[bytes] = set()  # without an end tag in the rest of the document
        self._follows_entry = False  # the present token

    def begin(self, fault: XmlFault) -> None:
        """Reads on from the beginning of the buffer, where expat stopped at a fault."""
        self._fault, self._made_at_fault = fault, self._repairs.made
        self._repairs.forget_hiding(self._buffer.start)
        self.attach()
        self.go_on()

    def go_on(self, repairs: int = 0) -> None:
        """Reads on from the beginning of the buffer, between two entries; the one before had so many repairs."""
        self.abandon_entry()
        self.position = self.offset = self._buffer.start
        self._follows_entry = self._buffer.is_after_entry
        self._stray_url, self._repairs_outside, self._is_behind_entry = None, repairs, self._follows_entry
        self._structural_repairs, self._wake_bytes = 0, 0
        self._is_damaged = self._intact = None

    def read(self, *, final: bool) -> bool:
        """Reads all tokens that have ended; False where more bytes are needed. Raises Lost, and Stop above a limit."""
        try:
            while token := self._next_token(final=final):
                if self._read_token(token):
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

    def _next_token(self, *, final: bool) -> Token | None:
        """The next token; without it, no other is looked for until there are twice as many bytes."""
        buffer = self._buffer
        if self._wake_bytes and buffer.end - self.position < self._wake_bytes and not final:
            return None
        inner = self.inner
        if inner and (len(inner) == 1 or inner[-1].local in _HOLD_FIELDS) and self._depth < self._limits.max_xml_depth:
            self._read_fields()
        token = self._tokens.at(self.position, self._own, final=final)
        if token and self._is_damaged is None and inner and not self._fits(token):
            self._is_damaged = self._is_mismatch(token, final=final)
            if self._is_damaged is None:
                token = None
            elif self._is_damaged:
                self.count_fault(self.entry_start)
        self._wake_bytes = 0
        if token is None:
            unread = buffer.end - self.position
            self._budget.spend(TOKEN_STEPS + unread)
            self._wake_bytes = max(2 * unread, _MIN_WAKE_BYTES)
        return token

    def _fits(self, token: Token) -> bool:
        """Whether a token of an entry is what is expected, so that the rules would read it as it stands."""
        innermost = self.inner[-1]
        if token.kind == "stop":
            is_broken = innermost.is_location and (innermost.has_markup or b">" in token.text)
            return token.name == innermost.name and token.is_well_formed and not is_broken
        if token.kind == "start":
            holds_fields = len(self.inner) == 1 or (innermost.local in _HOLD_FIELDS and token.local not in CONTAINERS)
            is_other = token.local in ENTRIES or self._is_location_of_another_entry(token)
            return holds_fields and not is_other and token.is_well_formed and (token.is_empty or not token.is_void)
        return token.is_well_formed

    @property
    def _own(self) -> bytes | None:
        """The name of the innermost element of the entry, if that begins here."""
        return self.inner[-1].name if self.inner and self.inner[-1].stop == self.position else None

    def _is_mismatch(self, token: Token, *, final: bool) -> bool | None:
        """Whether the tags of the entry do not match, from a token on; None: more bytes are needed.

        An entry that is cut, or that ends reading by a limit, is read as it stands.
        """
        names, own = [element.name for element in self.inner], self._own
        matches = self._is_beyond_limits(names, token) or self._matches(names, token)
        elements, most = self._builder.elements, self._limits.max_entry_elements
        position, data, first = self.position, self._buffer.data, self._buffer.start
        following: Token | None = token
        while matches and names and elements <= most and not self._buffer.is_too_long(position):
            if self._may_hold_fields(names) and (fields := PLAIN_FIELDS.match(data, position - first)):
                elements += data.count(b"</", fields.start(), fields.end())
                position, own = first + fields.end(), None
                continue
            try:
                following = self._tokens.at(position, own, final=final)
            except Stop:  # once more where it is read
                break
            if not following or following.next == b"unended" or self._is_beyond_limits(names, following):
                break
            matches = self._matches(names, following)
            position, own = first + following.end, None
            elements += following.kind == "start"
            if following.kind == "start" and not following.is_empty:
                own = following.name
                names.append(own)
            elif following.kind == "stop":
                names.pop()
        self._budget.spend_on_markup(data, self.position - first, position - first, CHECK_STEPS)
        return not matches if following or final else None

    def _may_hold_fields(self, names: list[bytes]) -> bool:
        """Whether the builder accepts any field inside of these elements."""
        return len(self.outer) + len(names) < self._limits.max_xml_depth and not _is_void(names[-1])

    def _matches(self, names: list[bytes], token: Token) -> bool:
        """Whether a token is well-formed and the builder accepts it inside of these elements."""
        if token.kind == "stop" and token.name != names[-1]:
            return False
        return token.is_well_formed and not (token.kind == "start" and self._is_misplaced(names, token))

    def _is_beyond_limits(self, names: list[bytes], token: Token) -> bool:
        """Whether the builder raises Stop at a well-formed start tag inside of these elements."""
        is_too_deep = len(self.outer) + len(names) >= self._limits.max_xml_depth
        has_many = token.rest.count(b"=") > self._limits.max_attributes
        if token.kind != "start" or not (is_too_deep or has_many) or not token.is_well_formed:
            return False
        others = [each for each in attributes(token.rest).found if not declares_namespace(each.name)]
        return is_too_deep or len(others) > self._limits.max_attributes

    def _is_misplaced(self, names: list[bytes], token: Token) -> bool:
        if len(names) == 1:
            return self.tag_of(token) in self._builder.vocabulary.entries
        return _is_void(names[-1]) and self.tag_of(token) in self._builder.vocabulary.tags

    def _read_token(self, token: Token) -> bool:
        """Reads a token and the text before it; whether it ends the root element."""
        buffer = self._buffer
        self._token, self._text = token, token.text
        self._text_start, self.position = self.position, buffer.start + token.end
        self.offset = buffer.start + token.start
        if buffer.is_too_long(self.offset):
            raise buffer.too_long()
        self._budget.spend(TOKEN_STEPS + LEVEL_STEPS * len(self.inner) + self.position - self._text_start)
        was_inside = bool(self.inner)
        self._find_stray_url(token.text)
        if token.kind == "start" and token.local == b"link" and not self.inner:
            self._find_stray_url(token.rest)
        if token.text and not token.text.isspace():
            if was_inside:
                self.inner[-1].has_text = True
            elif not self._builder.root_seen:
                raise NoRoot(self.offset - len(token.text.lstrip()))
        if token.kind in _TAGS and has_hole(token.written):
            what = "control characters stand in a tag: entries may be lost there"
            self._note("control character kept", what, sure=False)
        _RULES[token.kind](self, token)
        if self._text:
            self._give_pending()
        self._follows_entry = was_inside and not self.inner
        return not self.inner and self._settle()

    def _read_fields(self) -> None:
        """Reads the fields that come next in the entry or a container, as long as no rule concerns them."""
        data, first, element = self._buffer.data, self._buffer.start, self.inner[-1]
        is_entry = len(self.inner) == 1
        begun, self._token = self.position, NO_TOKEN
        while match := PLAIN_FIELD.match(data, self.position - first):
            text, name, content = match.groups()
            own = local(name) if b":" in name else name
            is_location = own in LOCATIONS
            if is_location:
                is_other = is_entry and self._may_locate_another_entry(name)
                is_other = is_other or self._is_inner_location(name, len(self.inner))
            else:
                is_stray = b"://" in content and b":" not in name and not self.knows(name)
                is_other = is_stray or own in CONTAINERS
            is_unusual = is_other or (b">" in content and names_location(name))
            concerns_rules = special_in(text) or (is_unusual and self._is_damaged is not False)
            if concerns_rules or self._buffer.is_too_long(first + match.end(3)):
                break
            if text:
                self.CharacterDataHandler(text.decode())
                element.has_text = element.has_text or not text.isspace()
            self.offset = first + match.start(2) - 1
            self._text_start, self.position = self.position, first + match.end()
            element.has_markup = True
            if not is_location:
                self._has_fields = self._has_location
            elif is_entry:
                is_blank = not content or content.isspace()
                self._has_location, self._has_empty_location = self._has_location or not is_blank, is_blank
            self.give_field(name, content, first + match.start(3))
            self._budget.spend(TOKEN_STEPS)
        self._budget.spend(self.position - begun)

    def _settle(self) -> bool:
        """Drops what was read, up to a token outside entries; whether the root element has ended there."""
        self._explain_fault()
        builder, buffer = self._builder, self._buffer
        if not buffer.drop_read(self.position):
            builder.settle_text()
            buffer.drop_until(self.position)
        if builder.is_over:
            self._report_stray_url(self._repairs_outside)
        if builder.root_seen:
            builder.out += self._repairs.take()
        if self._follows_entry:
            self._repairs_outside, self._is_behind_entry = self._structural_repairs, True
            self._structural_repairs = 0
            self._is_damaged = self._intact = None
        return builder.is_over

    # --- sections ---

    def _section(self, token: Token) -> None:
        if token.next == b"unended":
            self._lose_section(token)
        if not self._builder.root_seen:
            raise NoRoot(self.offset)
        content, offset = token.rest, self.offset + len(token.written)
        raw = (token.written + content)[:_SNIPPET_BYTES]
        if token.next == b"element":
            content = without_remnant(content)
            self._note("damaged CDATA section", "a CDATA section is not closed: it ends with its element", raw)
        elif token.written != SECTION:
            self._note("damaged CDATA section", f"{token.written.decode()} was read as {SECTION.decode()}", raw)
        self._give_pending()
        self._characters.controls(content, offset)
        is_text = len(self.inner) > 1 and self.inner[-1].local not in DATA
        if (holds_entry(content) and not is_text) or (SECTION in content and holds_part(content)):
            self._note("damaged CDATA section", "a CDATA section holds entries, which may be lost", raw, sure=False)
        else:
            self._check_hiding("a CDATA section", content)
        if not self.inner:
            return
        innermost = self.inner[-1]
        innermost.has_text = True
        if b"<" in content and innermost.is_location:
            raise self._lost(f"a CDATA section in <{shown(innermost.name)}> holds markup")
        if token.next == b"unsure":
            what = f"a CDATA section holds the end of <{shown(innermost.name)}> and another section"
            what += ": all of it was read as text, entries may be lost in it"
            self._note("damaged CDATA section", what, sure=False)
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
            elif self.open_location or not holds_part(self._buffer.data, position, end):
                resume = self._buffer.start + end
        raise self._lost("a CDATA section does not end", resume=resume)

    # --- other tokens that are no tags ---

    def _comment(self, token: Token) -> None:
        """XML 1.0 2.5: no `--` inside a comment."""
        inner = token.written[4:-3]
        is_hiding = self._check_hiding("a comment", inner)
        if b"--" in inner or inner.endswith(b"-") or has_controls(inner):
            # The end of the first of two may be damaged, with entries between.
            is_one = not (b"<!--" in inner or b"->" in inner or has_hole(inner) or is_hiding)
            more = "" if is_one else ", and what else may stand in it"
            what, raw = f"a malformed comment was skipped{more}", token.written[:_SNIPPET_BYTES]
            self._note("malformed comment skipped", what, raw, sure=is_one)

    def _check_hiding(self, what: str, content: bytes) -> bool:
        """Notes and returns whether it holds a part of an entry."""
        is_hiding = holds_part(content)
        if is_hiding:
            self._repairs.note_hiding(what, self.line, self.offset)
            self._repairs.is_damaged = self._repairs.is_damaged or has_controls(content)  # at its end, perhaps
        return is_hiding

    def _instruction(self, token: Token) -> None:
        if not token.is_well_formed:
            self._outside_locations()
            self._skip(token, "is no instruction", sure=b"://" not in token.written, kind=_DECLARATION_SKIPPED)
        elif holds_entry(token.written):
            what = "a processing instruction holds entries, which may be lost"
            self._note(_DECLARATION_SKIPPED, what, token.written, sure=False)
        else:
            self._check_hiding("an instruction", token.written)
        self._characters.controls(token.written, self.offset)

    def _declaration(self, token: Token) -> None:
        is_doctype = not token.written[:5].lower().startswith((b"<?xml", b"<xml"))
        if self._builder.root_seen or not (is_doctype or self.offset == 0):
            self._outside_locations()
            code = "S01" if is_doctype else "S08"
            self._skip(token, "is not at the start", code=code, kind=_DECLARATION_SKIPPED)
        elif _DTD.match(token.written):
            raise Stop(report("S09", "the DTD has an internal subset: the document is refused"))
        elif self._fault and self.offset <= self._fault.offset < self.position:
            self._skip(token, "is malformed", kind=_DECLARATION_SKIPPED)

    def _misspelled_comment(self, token: Token) -> None:
        self._outside_locations()
        self._check_hiding("a comment", token.written)
        self._skip(token, "is no comment", kind="malformed comment skipped")

    def _stray(self, token: Token) -> None:
        text = token.written.replace(b"<", b"&lt;").replace(b">", b"&gt;")
        is_end = token.written.startswith(b"</")
        self._literal(token, text, sure=not is_end and (self._is_in_text or token.next in HARMLESS))

    # --- tags ---

    def _start(self, token: Token) -> None:
        if not self.inner:
            self._start_outside(token)
        elif self._is_damaged:
            self._start_inside(token)
        else:
            self._open(token, is_empty=token.is_empty)

    def _start_outside(self, token: Token) -> None:
        vocabulary = self._builder.vocabulary
        if not self._is_tag(token):
            self._literal(token, b"&lt;" + token.written[1:], sure=self._is_in_text)
        elif (tag := self.tag_of(token)) in vocabulary.entries:
            self._is_damaged = None if token.is_well_formed else True
            self._begin_entry()
            self._open(token, is_empty=token.is_empty, is_entry=True)
        elif vocabulary.implied_entry and tag == vocabulary.location:
            self._imply(token, vocabulary.implied_entry)
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
        if not self._builder.root_seen:
            raise NoRoot(self.offset)
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
            is_sure = self.knows(outer[-1]) and token.local not in ENTRIES  # else the element may be the entry
            self._read_as(token, b"</" + outer[-1] + b">", sure=is_sure)
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
    "comment": TolerantParser._comment,
    "instruction": TolerantParser._instruction,
    "section": TolerantParser._section,
    "declaration": TolerantParser._declaration,
    "misspelled": TolerantParser._misspelled_comment,
    "stray": TolerantParser._stray,
    "start": TolerantParser._start,
    "stop": TolerantParser._stop,
}
