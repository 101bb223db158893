"""Repair of the element structure of one entry, or of what stands between two.

In: the bytes since the last complete entry, and the offset where expat stopped. Out: edits, each with a Problem, or
`failed`. A URL is never guessed: where markup breaks inside a <loc> (or link, guid), the repair fails.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from ..errors import EDIT_STEPS, LEVEL_STEPS, TOKEN_STEPS
from ..scan import local, names_location
from .edits import Edits
from .tokenizer import (
    CONTAINERS,
    ENTRIES,
    FIELDS,
    HTML,
    KNOWN,
    LOCATIONS,
    PREFIXES,
    ROOTS,
    TEXTS,
    Token,
    attributes,
    is_character,
    is_misspelling,
    next_token,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....model.limits import Limits
    from ..errors import Budget


@attrs.define
class OpenElement:
    """An open element of the entry: its name as written and without prefix, and the offsets of its start tag."""

    name: bytes
    local: bytes
    start: int
    stop: int
    is_foreign: bool = False  # declares a namespace of its own
    has_text: bool = False
    has_markup: bool = False

    @property
    def is_location(self) -> bool:
        return names_location(self.name)

    @property
    def is_empty(self) -> bool:
        """Whether it has had neither text nor markup so far."""
        return not (self.has_text or self.has_markup)

    def ends_before(self, name: bytes) -> bool:
        """Whether it holds text only, so that a tag of this name can only follow it."""
        if self.local in ENTRIES or self.local in CONTAINERS or self.is_foreign:
            return False
        holds_text = self.has_text or self.local in FIELDS
        if name in FIELDS or name in CONTAINERS:
            return holds_text or b":" not in self.name
        return holds_text and b":" in name


@attrs.define
class ElementStack:
    """The open elements, outermost first: `outer` are the names of the ancestors, `inner` the entry and its own."""

    outer: list[bytes]
    inner: list[OpenElement] = attrs.field(factory=list)

    @property
    def depth(self) -> int:
        """How many elements are open."""
        return len(self.outer) + len(self.inner)

    @property
    def names(self) -> list[bytes]:
        """The names of `inner`, as written."""
        return [element.name for element in self.inner]

    @property
    def has_location(self) -> bool:
        """Whether an element that holds a URL is open."""
        return any(element.is_location for element in self.inner)

    @property
    def in_text(self) -> bool:
        """Whether the innermost element is a text field, in which any character may stand."""
        name = (*self.names[-1:], *self.outer[-1:], b"")[0]
        return self.knows(name) and local(name) in TEXTS

    def knows(self, name: bytes) -> bool:
        """Whether a name has a meaning here: an element of the dialect, of a known extension, or of HTML."""
        prefix, _, own = name.rpartition(b":")
        around = (*self.outer, *self.names[:1])
        is_known_prefix = not prefix or prefix in PREFIXES or any(other.startswith(prefix + b":") for other in around)
        return (own in KNOWN and is_known_prefix) or own in ROOTS or name.lower() in HTML


# Characters that no undamaged URL holds, and those that one may end in before a damaged end tag.
_NOT_IN_URL = re.compile(rb"[\s<>\"']")
_URL_END = re.compile(rb"[\w/]\Z")
_MARKUP = re.compile(rb"[<>]")
_DTD = re.compile(rb"<!doctype\b.*\[", re.IGNORECASE | re.DOTALL)  # with an internal subset
_URL_ATTRIBUTE = re.compile(rb"\b(?:href|url)\s*=", re.IGNORECASE)


class StructureRepair:
    """Reads tokens until advance() is True: then `edits` repair the bytes up to `end`, or the repair has `failed`.

    With `inside`, the tag of an entry begins at `start`, and the repair ends with that entry; else it ends where the
    next entry begins. `fault` is where expat stopped, `outer` are the names of the ancestors, outermost first.
    `after_entry`: an entry ends right before `start`. `implied_entry` is the name of an entry whose start tag is
    missing. Where the repair failed for a limit, `limit` is its name. Where the start tag of an entry is repeated,
    `last_duplicate` is the offset of the last one, which holds the entry's fields.
    """

    def __init__(
        self,
        start: int,
        fault: int,
        outer: Sequence[bytes],
        limits: Limits,
        budget: Budget,
        *,
        inside: bool,
        after_entry: bool = False,
        implied_entry: bytes | None = None,
    ) -> None:
        self.end: int | None = None
        self.failed = False
        self.limit: str | None = None
        self.last_duplicate = 0
        self.discard_entry = False  # fields that were read may belong elsewhere
        self.edits = Edits()
        self.position = start  # where the next token is looked for
        self._text_before = b""  # between the last token and this one
        self._fault = fault
        self._stack = ElementStack(list(outer))
        self._limits = limits
        self._budget = budget
        self._counted_edits = 0  # by the budget
        self._inside = inside
        self._after_entry = after_entry
        self._has_location = False  # of the entry
        self._has_fields = False  # after the location
        if implied_entry:
            self.edits.insert(start, b"<" + implied_entry + b">", "before the entry's first field")
            self._stack.inner.append(OpenElement(implied_entry, local(implied_entry), start, start))

    def advance(self, data: bytes | bytearray) -> bool:
        """Reads tokens; False where the next one needs more bytes."""
        while self.end is None and not self.failed:
            token = next_token(data, self.position)
            if token is None:
                self._budget.spend(TOKEN_STEPS + len(data) - self.position)
                return False
            self._text_before = bytes(data[self.position : token.start])
            if self._stack.inner and self._text_before.strip():
                self._stack.inner[-1].has_text = True
            _RULES[token.kind](self, token)
            self._after_entry = False
            self._check_limits(token)
            self.position = token.end
        return True

    def _check_limits(self, token: Token) -> None:
        """Charges the token to the budget; fails where edits or levels are above their limits."""
        counted, self._counted_edits = self._counted_edits, len(self.edits)
        depth = self._stack.depth
        self._budget.spend(
            TOKEN_STEPS + LEVEL_STEPS * depth + EDIT_STEPS * (self._counted_edits - counted) + token.end - self.position
        )
        if self._counted_edits > self._limits.max_entry_repairs:
            self.limit = "max_entry_repairs"
        elif depth > self._limits.max_xml_depth:
            self.limit = "max_xml_depth"
        if self.limit:
            self.failed, self.end = True, token.end

    # --- one rule for each kind of token ---

    def _delimited(self, token: Token) -> None:
        if token.written.startswith(b"<?") and not token.is_well_formed:
            if not self._fails_in_location():
                self.edits.blank_out(token, "is no instruction")
        elif self._stack.inner and token.written.startswith(b"<![CDATA["):
            self._stack.inner[-1].has_text = True

    def _declaration(self, token: Token) -> None:
        is_first = not (self._stack.outer or token.start)
        if not self._stack.outer and _DTD.match(token.written):
            self.failed = True
        elif is_first and token.end > self._fault:
            self.edits.blank_out(token, "is malformed")
        elif not is_first and not self._fails_in_location():
            code = "S08" if token.written[:5].lower() == b"<?xml" else "S01"
            self.edits.blank_out(token, "is not at the start", code=code)

    def _comment(self, token: Token) -> None:
        if not self._fails_in_location():
            self.edits.blank_out(token, "is no comment")

    def _stray(self, token: Token) -> None:
        if not self._fails_in_location():
            text = token.written.replace(b"<", b"&lt;").replace(b">", b"&gt;")
            is_end = token.written.startswith(b"</")
            self.edits.read_as(token, text, sure=not is_end and (self._stack.in_text or token.is_harmless))

    def _reference(self, token: Token) -> None:
        """A reference to no character, or one without its `;`: outside of URLs it is read as text."""
        if not is_character(token.written) and not self._fails_in_location():
            self.edits.read_as(token, b"&amp;" + token.written[1:])

    def _start(self, token: Token) -> None:
        is_tag = token.is_closed or (token.has_attributes and self._stack.knows(token.name) and token.name not in HTML)
        if self._is_end_tag_without_slash(token):
            self._stop_innermost(token)
        elif self._stack.inner and token.name == self._stack.inner[-1].name and self._stack.inner[-1].is_empty:
            self.edits.blank_out(token, "is doubled")
            if len(self._stack.inner) == 1:
                self.last_duplicate = token.start
        elif token.local in ENTRIES and not (self._begins_first_entry() or (token.is_spaced and not self._inside)):
            self._end_entry(token.start)
        elif token.local == b"loc" and not (self._stack.inner or self._inside):  # of an entry without its start tag
            self._end(token.start)
        elif self._begins_another_entry(token):
            self._close(0, token.start, sure=False)
            self._end(token.start)
        elif is_tag or token.local in ROOTS:
            self._close_before(token)
            self._write_start(token)
        elif not self._fails_in_location():  # `a <b and`: no tag
            self.edits.read_as(token, b"&lt;" + token.written[1:], sure=self._stack.in_text)

    def _stop(self, token: Token) -> None:
        names, outer = self._stack.names, self._stack.outer
        if token.name in names:
            self._close(len(names) - names[::-1].index(token.name), token.start)
            self._stop_innermost(token)
        elif token.name in outer or token.local in ROOTS:
            self._stop_outer(token)
        elif names and self._is_misspelling(token, names[-1]):
            self._rename_unknown(token)
            self._stop_innermost(token)
        elif not names and outer and self._is_misspelling(token, outer[-1]):
            self.edits.read_as(token, b"</" + outer[-1] + b">", sure=self._stack.knows(outer[-1]))
            self._pop_outer(len(outer) - 1, token.end)
        elif not self._fails_in_location():
            # The locations before a stray `</image:image>` may all be those of images.
            self.failed = self.discard_entry = bool(names) and token.name in CONTAINERS
            is_sure = self._stack.knows(token.name) and not self._is_remnant(token)
            self.edits.blank_out(token, "ends nothing", sure=is_sure)

    # --- start tags ---

    def _is_end_tag_without_slash(self, token: Token) -> bool:
        """Whether the slash is missing: `<loc>https://example.com/a<loc>`, and nothing follows that could be inside."""
        if not self._stack.inner or token.name != self._stack.inner[-1].name or token.local not in KNOWN:
            return False
        if token.local in ENTRIES:
            after, is_end = local(token.next.lstrip(b"</")), token.next.startswith(b"</")
            return self._has_location and (after in ENTRIES or (is_end and after in ROOTS))
        return self._stack.inner[-1].has_text and token.next.startswith(b"<")

    def _begins_another_entry(self, token: Token) -> bool:
        """Whether this is a second location after other fields: the tags between two entries may be lost."""
        return (
            self._has_location
            and token.local in (b"loc", b"link")
            and token.local == token.name
            and not token.rest.strip()
            and self._has_fields
            and not any(element.local in CONTAINERS or element.is_foreign for element in self._stack.inner)
        )

    def _begins_first_entry(self) -> bool:
        """Whether the first entry begins here; an empty start tag before it is blanked out."""
        elements = self._stack.inner
        if not elements:
            return self._inside
        entry = elements[0]
        if len(elements) == 1 and entry.is_empty and entry.stop > entry.start and not self.edits.has(entry.start):
            message = f"<{shown(entry.name)}> holds nothing: it was skipped"
            self.edits.add(entry.start, entry.stop, b" " * (entry.stop - entry.start), message)
            elements.clear()
        return not elements

    def _close_before(self, token: Token) -> None:
        """Closes what cannot contain this tag: a field, or a container of the same name."""
        names = self._stack.names
        if token.local in CONTAINERS and token.name in names:
            self._close(names.index(token.name), token.start)
        while self._stack.inner and self._stack.inner[-1].ends_before(token.name) and not self.failed:
            self._close(len(self._stack.inner) - 1, token.start)

    def _write_start(self, token: Token) -> None:
        # `<a b="c"` without `>` is more likely an empty element than `<a`.
        holds_more = token.local in ROOTS or token.local in ENTRIES or token.local in CONTAINERS
        lacks_end = bool(token.rest.strip()) and not (token.is_closed or holds_more)
        is_empty = token.rest.rstrip().endswith(b"/") or token.is_void or lacks_end
        written, is_whole = attributes(token.rest)
        read = b"<" + token.name + written + (b"/>" if is_empty else b">")
        if read != token.written:
            self.edits.read_as(token, read, sure=self._stack.knows(token.name))
            is_url_broken = self._inside and not is_whole and _URL_ATTRIBUTE.search(token.rest)
            self.failed = self.failed or bool(is_url_broken)
        if self._stack.inner:
            self._stack.inner[-1].has_markup = True
        self._has_fields = self._has_fields or (self._has_location and token.local not in LOCATIONS)
        if is_empty:
            self._has_location = self._has_location or (
                len(self._stack.inner) == 1 and token.local == b"link"
            )  # Atom's
        elif not self._inside:
            self._stack.outer.append(token.name)
        else:
            is_foreign = b"xmlns" in token.rest
            self._stack.inner.append(OpenElement(token.name, token.local, token.start, token.end, is_foreign))

    # --- end tags ---

    def _stop_innermost(self, token: Token) -> None:
        """Reads the token as the end tag of the innermost open element."""
        element = self._pop()
        name = element.name
        if element.is_location and _MARKUP.search(self._text_before):
            self.failed = True
        if token.kind == "start":
            # `https://example.com/<loc>`: the slash may belong to the URL or to the tag.
            self.failed = self.failed or (element.is_location and self._text_before.rstrip().endswith(b"/"))
            self.edits.read_as(token, b"</" + name + b">")
        elif not token.is_well_formed or token.name != name:
            is_one_slip = not token.rest.strip() and (token.is_closed or token.name == name)
            prefix = token.name.rpartition(b":")[0]
            is_other = prefix not in (b"", name.rpartition(b":")[0]) and not self._stack.knows(token.name)
            self.edits.read_as(token, b"</" + name + b">", sure=is_one_slip and not is_other)
        if not self._stack.inner:
            self._end(token.end)

    def _is_misspelling(self, stop: Token, meant: bytes) -> bool:
        """Whether an end tag is most likely a misspelling of `meant`; two known names never are."""
        is_other = stop.local in KNOWN and local(meant) in KNOWN and stop.local != local(meant)
        return not is_other and is_misspelling(stop.name, meant)

    def _is_remnant(self, stop: Token) -> bool:
        """Whether a stray end tag shows that more is lost than its start tag."""
        if not self._stack.inner:
            is_doubled = stop.local in ENTRIES and self._after_entry and not self._text_before.strip()
            return not is_doubled and stop.name not in HTML
        return stop.local in LOCATIONS and self._stack.inner[-1].has_text

    def _rename_unknown(self, stop: Token) -> None:
        """Renames the open element where its name is unknown, and that of the end tag is known."""
        top = self._stack.inner[-1]
        if self._stack.knows(stop.name) and not self._stack.knows(top.name) and not self.edits.has(top.start):
            begin = top.start + 1
            message = f"<{shown(top.name)}> was read as <{shown(stop.name)}>"
            self.edits.add(begin, begin + len(top.name), stop.name, message)
            top.name, top.local = stop.name, stop.local

    def _stop_outer(self, token: Token) -> None:
        """Ends an ancestor, and all that is open in it."""
        if self._stack.inner:
            self._end_entry(token.start)
            return
        outer = self._stack.outer
        is_outer = token.name in outer
        depth = outer.index(token.name) if is_outer else 0
        for name in reversed(outer[depth + is_outer :]):
            end = b"</" + name + b">"
            self.edits.insert(token.start, end, "before the end of the enclosing element", sure=self._stack.knows(name))
        if not is_outer:
            self.edits.blank_out(token, "is the end of another root element")
        elif not token.is_well_formed:
            self.edits.read_as(token, b"</" + token.name + b">")
        self._pop_outer(depth, token.end)

    def _pop_outer(self, depth: int, offset: int) -> None:
        """Removes ancestors that have ended; after the root the repair ends."""
        del self._stack.outer[depth:]
        if not self._stack.outer:
            self._end(offset)

    def _end_entry(self, offset: int) -> None:
        self._close(0, offset)
        self._end(offset)

    def _end(self, offset: int) -> None:
        """Ends the repair; it fails where the entry has no location."""
        self.end = offset
        self.failed = self.failed or (self._inside and not self._has_location)

    def _close(self, depth: int, offset: int, *, sure: bool = True) -> None:
        """Closes the open elements from this depth on, innermost first; fails where a location holds markup."""
        broken = self._stack.inner[max(0, depth - 1) :]
        self.failed = self.failed or any(element.is_location and element.has_markup for element in broken)
        before, self._text_before = self._text_before, b""  # text of the innermost
        while len(self._stack.inner) > depth:
            self._close_innermost(before, offset, sure=sure)
            before = b""

    def _close_innermost(self, before: bytes, offset: int, *, sure: bool) -> None:
        element = self._pop()
        text, tail = before.rstrip(), b"/" + element.name + b">"
        has_tail = text.endswith(tail)
        if has_tail:
            text = text.removesuffix(tail)
            self.edits.insert(offset - len(before) + len(text), b"<", f"before {shown(tail)}", sure=sure)
        else:
            is_lost = element.is_location and not element.has_text
            sure = sure and self._stack.knows(element.name) and not is_lost
            self.edits.insert(offset, b"<" + tail, "before the next tag", sure=sure)
        if element.is_location and (_NOT_IN_URL.search(text.strip()) or (has_tail and not _URL_END.search(text))):
            self.failed = True

    def _pop(self) -> OpenElement:
        """Removes and returns the innermost open element."""
        element = self._stack.inner.pop()
        if len(self._stack.inner) == 1 and element.local in LOCATIONS and element.has_text:
            self._has_location = True
        return element

    def _fails_in_location(self) -> bool:
        """Whether the token is to be left alone: inside of a location the repair fails, as its end is unknown."""
        if self._stack.has_location:
            self.failed = True
        return self.failed


_RULES: dict[str, Callable[[StructureRepair, Token], None]] = {
    "delimited": StructureRepair._delimited,
    "declaration": StructureRepair._declaration,
    "comment": StructureRepair._comment,
    "stray": StructureRepair._stray,
    "reference": StructureRepair._reference,
    "start": StructureRepair._start,
    "stop": StructureRepair._stop,
}
