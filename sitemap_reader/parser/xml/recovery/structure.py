"""Structure that is not well-formed: how the entry at fault, or what stands between entries, is set straight.

In: the bytes behind the last complete entry, and where expat stopped. Out: edits, each with its Problem, or the word
that it is hopeless. A location is never guessed at: where markup breaks inside of one, the entry cannot be read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from ..errors import EDIT, LEVEL, TOKEN
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
    is_slip,
    next_token,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....model.limits import Limits
    from ..errors import Budget


# ----------------------------------------------------------------------------------------------------
# The elements that are open where markup broke: those around by their names, and those of the entry at fault.
#
# Knows what they hold and which names mean something there; decides nothing.


@attrs.define
class Element:
    """An open element of the entry: its name as written and without prefix, and where its tag stands."""

    name: bytes
    local: bytes
    start: int
    stop: int
    is_foreign: bool = False  # it declares a namespace
    has_text: bool = False
    has_markup: bool = False

    @property
    def is_location(self) -> bool:
        return names_location(self.name)

    @property
    def is_bare(self) -> bool:
        """Nothing has stood in it so far."""
        return not (self.has_text or self.has_markup)

    def ends_before(self, name: bytes) -> bool:
        """Whether it holds text only, so that a tag of this name can only stand behind it."""
        if self.local in ENTRIES or self.local in CONTAINERS or self.is_foreign:
            return False
        holds_text = self.has_text or self.local in FIELDS
        if name in FIELDS or name in CONTAINERS:
            return holds_text or b":" not in self.name
        return holds_text and b":" in name


@attrs.define
class ElementStack:
    """Both outermost first: `outer` as written around the entry, and `inner`: the entry and what is in it."""

    outer: list[bytes]
    inner: list[Element] = attrs.field(factory=list)

    @property
    def depth(self) -> int:
        """How many elements are open."""
        return len(self.outer) + len(self.inner)

    @property
    def names(self) -> list[bytes]:
        """Those of `inner`, as written."""
        return [element.name for element in self.inner]

    @property
    def has_location(self) -> bool:
        """Whether a location is open."""
        return any(element.is_location for element in self.inner)

    @property
    def in_text(self) -> bool:
        """Inside of a field where about anything may stand."""
        name = (*self.names[-1:], *self.outer[-1:], b"")[0]
        return self.knows(name) and local(name) in TEXTS

    def knows(self, name: bytes) -> bool:
        """A name that means something here."""
        prefix, _, own = name.rpartition(b":")
        around = (*self.outer, *self.names[:1])
        is_ours = not prefix or prefix in PREFIXES or any(each.startswith(prefix + b":") for each in around)
        return (own in KNOWN and is_ours) or own in ROOTS or name.lower() in HTML


# What no location holds that is not damaged, and what one may end in where its end tag is.
_NO_LOCATION = re.compile(rb"[\s<>\"']")
_SURE_END = re.compile(rb"[\w/]\Z")
_MARKUP = re.compile(rb"[<>]")
_DTD = re.compile(rb"<!doctype\b.*\[", re.IGNORECASE | re.DOTALL)  # it declares something
_URL_ATTRIBUTE = re.compile(rb"\b(?:href|url)\s*=", re.IGNORECASE)


class StructureRepair:
    """go_on() until it is True: then `edits` set the bytes up to `end` straight, or they are `hopeless`.

    It begins at `start`, which is an entry's tag if `inside`, and ends with that entry; else where the next one begins.
    `fault` is where expat stopped, `outer` are the names of the open elements around, outermost first. More edits or
    levels than `limits` permit are hopeless: `limit` is the field. `behind_entry`: what stands before `start` is an
    entry. `loose` is the name of the entry whose start tag is missing. At `begun_again` its start tag stands for the
    last time where it is doubled: what is behind that is all that there is of it.

    An edit is sure where it undoes one slip of the hand. Where it is not, more than it can know of may be gone, and
    its Problem is an error.
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
        behind_entry: bool = False,
        loose: bytes | None = None,
    ) -> None:
        self.end: int | None = None
        self.hopeless = False
        self.limit: str | None = None
        self.begun_again = 0
        self.is_void = False  # what was read of the entry may belong elsewhere
        self.edits = Edits()
        self.at = start  # up to where it has read
        self._before = b""  # what stands between the last token and this one
        self._fault = fault
        self._nest = ElementStack(list(outer))
        self._limits = limits
        self._budget = budget
        self._done = 0  # edits, of which the budget knows
        self._inside = inside
        self._behind_entry = behind_entry
        self._located = False  # the entry has a location
        self._has_fields = False  # and others behind it
        if loose:
            self.edits.put(start, b"<" + loose + b">", "before the entry's first field")
            self._nest.inner.append(Element(loose, local(loose), start, start))

    def go_on(self, data: bytes | bytearray) -> bool:
        """Reads on; False where more bytes are needed to tell."""
        while self.end is None and not self.hopeless:
            token = next_token(data, self.at)
            if token is None:
                self._budget.spend(TOKEN + len(data) - self.at)
                return False
            self._before = bytes(data[self.at : token.start])
            if self._nest.inner and self._before.strip():
                self._nest.inner[-1].has_text = True
            _RULES[token.kind](self, token)
            self._behind_entry = False
            self._judge(token)
            self.at = token.end
        return True

    def _judge(self, token: Token) -> None:
        """Whether what has been done up to the end of this token is more than may be."""
        done, self._done = self._done, len(self.edits)
        depth = self._nest.depth
        self._budget.spend(TOKEN + LEVEL * depth + EDIT * (self._done - done) + token.end - self.at)
        if self._done > self._limits.max_entry_repairs:
            self.limit = "max_entry_repairs"
        elif depth > self._limits.max_xml_depth:
            self.limit = "max_xml_depth"
        if self.limit:
            self.hopeless, self.end = True, token.end

    # --- one rule for each kind of token ---

    def _worker_thread(self, token: Token) -> None:
        if token.written.startswith(b"<?") and not token.is_well_formed:
            if not self._in_location():
                self.edits.pass_over(token, "is no instruction")
        elif self._nest.inner and token.written.startswith(b"<![CDATA["):
            self._nest.inner[-1].has_text = True

    def _declaration(self, token: Token) -> None:
        is_first = not (self._nest.outer or token.start)
        if not self._nest.outer and _DTD.match(token.written):
            self.hopeless = True
        elif is_first and token.end > self._fault:
            self.edits.pass_over(token, "is malformed")
        elif not is_first and not self._in_location():
            code = "S08" if token.written[:5].lower() == b"<?xml" else "S01"
            self.edits.pass_over(token, "is not at the start", code=code)

    def _comment(self, token: Token) -> None:
        if not self._in_location():
            self.edits.pass_over(token, "is no comment")

    def _stray(self, token: Token) -> None:
        if not self._in_location():
            text = token.written.replace(b"<", b"&lt;").replace(b">", b"&gt;")
            is_end = token.written.startswith(b"</")
            self.edits.read_as(token, text, sure=not is_end and (self._nest.in_text or token.is_harmless))

    def _reference(self, token: Token) -> None:
        """A reference to no character, or one without its end: in a text it can stand for itself."""
        if not is_character(token.written) and not self._in_location():
            self.edits.read_as(token, b"&amp;" + token.written[1:])

    def _start(self, token: Token) -> None:
        is_tag = token.is_closed or (token.has_attributes and self._nest.knows(token.name) and token.name not in HTML)
        if self._is_slip_for_its_end(token):
            self._stop_innermost(token)
        elif self._nest.inner and token.name == self._nest.inner[-1].name and self._nest.inner[-1].is_bare:
            self.edits.pass_over(token, "is doubled")
            if len(self._nest.inner) == 1:
                self.begun_again = token.start
        elif token.local in ENTRIES and not (self._is_first() or (token.is_spaced and not self._inside)):
            self._finish(token.start)
        elif token.local == b"loc" and not (self._nest.inner or self._inside):  # an entry's, whose tag is missing
            self._end(token.start)
        elif self._is_of_another_entry(token):
            self._close(0, token.start, sure=False)
            self._end(token.start)
        elif is_tag or token.local in ROOTS:
            self._make_room(token)
            self._write_start(token)
        elif not self._in_location():  # `a <b and`: no tag, or none that anybody could read
            self.edits.read_as(token, b"&lt;" + token.written[1:], sure=self._nest.in_text)

    def _stop(self, token: Token) -> None:
        names, outer = self._nest.names, self._nest.outer
        if token.name in names:
            self._close(len(names) - names[::-1].index(token.name), token.start)
            self._stop_innermost(token)
        elif token.name in outer or token.local in ROOTS:
            self._stop_outer(token)
        elif names and self._is_slip(token, names[-1]):
            self._rename_unknown(token)
            self._stop_innermost(token)
        elif not names and outer and self._is_slip(token, outer[-1]):
            self.edits.read_as(token, b"</" + outer[-1] + b">", sure=self._nest.knows(outer[-1]))
            self._pop_outer(len(outer) - 1, token.end)
        elif not self._in_location():
            # What bare locations stand before the end of an image is not known: they may all be images.
            self.hopeless = self.is_void = bool(names) and token.name in CONTAINERS
            is_sure = self._nest.knows(token.name) and not self._is_remnant(token)
            self.edits.pass_over(token, "ends nothing", sure=is_sure)

    # --- start tags ---

    def _is_slip_for_its_end(self, token: Token) -> bool:
        """`<loc>https://example.com/a<loc>`, with nothing behind it that could stand in it: the slash is missing."""
        if not self._nest.inner or token.name != self._nest.inner[-1].name or token.local not in KNOWN:
            return False
        if token.local in ENTRIES:
            after, is_end = local(token.next.lstrip(b"</")), token.next.startswith(b"</")
            return self._located and (after in ENTRIES or (is_end and after in ROOTS))
        return self._nest.inner[-1].has_text and token.next.startswith(b"<")

    def _is_of_another_entry(self, token: Token) -> bool:
        """A second location behind other fields: where markup is damaged, the tags between two entries may be gone."""
        return (
            self._located
            and token.local in (b"loc", b"link")
            and token.local == token.name
            and not token.rest.strip()
            and self._has_fields
            and not any(element.local in CONTAINERS or element.is_foreign for element in self._nest.inner)
        )

    def _is_first(self) -> bool:
        """Whether an entry begins here, and not a second one. What is still empty was none."""
        elements = self._nest.inner
        if not elements:
            return self._inside
        entry = elements[0]
        if len(elements) == 1 and entry.is_bare and entry.stop > entry.start and not self.edits.has(entry.start):
            message = f"<{shown(entry.name)}> holds nothing: it was passed over"
            self.edits.add(entry.start, entry.stop, b" " * (entry.stop - entry.start), message)
            elements.clear()
        return not elements

    def _make_room(self, token: Token) -> None:
        """Ends what has to be over before this tag: a field, or a container of the same name."""
        names = self._nest.names
        if token.local in CONTAINERS and token.name in names:
            self._close(names.index(token.name), token.start)
        while self._nest.inner and self._nest.inner[-1].ends_before(token.name) and not self.hopeless:
            self._close(len(self._nest.inner) - 1, token.start)

    def _write_start(self, token: Token) -> None:
        # `<a b="c"` without an end is more likely to be empty than `<a`.
        holds_more = token.local in ROOTS or token.local in ENTRIES or token.local in CONTAINERS
        lacks_end = bool(token.rest.strip()) and not (token.is_closed or holds_more)
        is_empty = token.rest.rstrip().endswith(b"/") or token.is_void or lacks_end
        written, is_whole = attributes(token.rest)
        read = b"<" + token.name + written + (b"/>" if is_empty else b">")
        if read != token.written:
            self.edits.read_as(token, read, sure=self._nest.knows(token.name))
            is_url_broken = self._inside and not is_whole and _URL_ATTRIBUTE.search(token.rest)
            self.hopeless = self.hopeless or bool(is_url_broken)
        if self._nest.inner:
            self._nest.inner[-1].has_markup = True
        self._has_fields = self._has_fields or (self._located and token.local not in LOCATIONS)
        if is_empty:
            self._located = self._located or (len(self._nest.inner) == 1 and token.local == b"link")  # Atom's
        elif not self._inside:
            self._nest.outer.append(token.name)
        else:
            is_foreign = b"xmlns" in token.rest
            self._nest.inner.append(Element(token.name, token.local, token.start, token.end, is_foreign))

    # --- end tags ---

    def _stop_innermost(self, token: Token) -> None:
        """This token is the end tag of the innermost open element, whatever it looks like."""
        element = self._pop()
        name = element.name
        if element.is_location and _MARKUP.search(self._before):
            self.hopeless = True
        if token.kind == "start":
            # `https://example.com/<loc>`: the slash may be the URL's or the tag's.
            self.hopeless = self.hopeless or (element.is_location and self._before.rstrip().endswith(b"/"))
            self.edits.read_as(token, b"</" + name + b">")
        elif not token.is_well_formed or token.name != name:
            is_one_slip = not token.rest.strip() and (token.is_closed or token.name == name)
            prefix = token.name.rpartition(b":")[0]
            is_other = prefix not in (b"", name.rpartition(b":")[0]) and not self._nest.knows(token.name)
            self.edits.read_as(token, b"</" + name + b">", sure=is_one_slip and not is_other)
        if not self._nest.inner:
            self._end(token.end)

    def _is_slip(self, stop: Token, meant: bytes) -> bool:
        """Whether an end tag is most likely meant for this element; two names that both mean something differ."""
        is_other = stop.local in KNOWN and local(meant) in KNOWN and stop.local != local(meant)
        return not is_other and is_slip(stop.name, meant)

    def _is_remnant(self, stop: Token) -> bool:
        """Whether an end tag that ends nothing shows that more is gone than its start tag."""
        if not self._nest.inner:
            is_doubled = stop.local in ENTRIES and self._behind_entry and not self._before.strip()
            return not is_doubled and stop.name not in HTML
        return stop.local in LOCATIONS and self._nest.inner[-1].has_text

    def _rename_unknown(self, stop: Token) -> None:
        """Of two tags that do not match the one is misspelled whose name nobody knows: here it may be the first."""
        top = self._nest.inner[-1]
        if self._nest.knows(stop.name) and not self._nest.knows(top.name) and not self.edits.has(top.start):
            begin = top.start + 1
            message = f"<{shown(top.name)}> was read as <{shown(stop.name)}>"
            self.edits.add(begin, begin + len(top.name), stop.name, message)
            top.name, top.local = stop.name, stop.local

    def _stop_outer(self, token: Token) -> None:
        """An element around ends here, so does all inside it."""
        if self._nest.inner:
            self._finish(token.start)
            return
        outer = self._nest.outer
        is_outer = token.name in outer
        depth = outer.index(token.name) if is_outer else 0
        for each in reversed(outer[depth + is_outer :]):
            end = b"</" + each + b">"
            self.edits.put(token.start, end, "before the end of what is around it", sure=self._nest.knows(each))
        if not is_outer:
            self.edits.pass_over(token, "is the end of another root element")
        elif not token.is_well_formed:
            self.edits.read_as(token, b"</" + token.name + b">")
        self._pop_outer(depth, token.end)

    def _pop_outer(self, depth: int, where: int) -> None:
        """Elements around have ended; after the root there is nothing more to set straight."""
        del self._nest.outer[depth:]
        if not self._nest.outer:
            self._end(where)

    def _finish(self, where: int) -> None:
        self._close(0, where)
        self._end(where)

    def _end(self, where: int) -> None:
        """An entry whose location was lost cannot be mended."""
        self.end = where
        self.hopeless = self.hopeless or (self._inside and not self._located)

    def _close(self, depth: int, where: int, *, sure: bool = True) -> None:
        """Ends the open elements from this depth on, the innermost first; but not the markup in a location."""
        broken = self._nest.inner[max(0, depth - 1) :]
        self.hopeless = self.hopeless or any(element.is_location and element.has_markup for element in broken)
        before, self._before = self._before, b""  # it stands in the innermost
        while len(self._nest.inner) > depth:
            self._close_innermost(before, where, sure=sure)
            before = b""

    def _close_innermost(self, before: bytes, where: int, *, sure: bool) -> None:
        element = self._pop()
        text, tail = before.rstrip(), b"/" + element.name + b">"
        has_tail = text.endswith(tail)
        if has_tail:
            text = text.removesuffix(tail)
            self.edits.put(where - len(before) + len(text), b"<", f"before {shown(tail)}", sure=sure)
        else:
            is_lost = element.is_location and not element.has_text
            sure = sure and self._nest.knows(element.name) and not is_lost
            self.edits.put(where, b"<" + tail, "before the next tag", sure=sure)
        if element.is_location and (_NO_LOCATION.search(text.strip()) or (has_tail and not _SURE_END.search(text))):
            self.hopeless = True

    def _pop(self) -> Element:
        """The innermost open element, which ends here."""
        element = self._nest.inner.pop()
        if len(self._nest.inner) == 1 and element.local in LOCATIONS and element.has_text:
            self._located = True
        return element

    # --- what is known here ---

    def _in_location(self) -> bool:
        """A location in which markup breaks cannot be read: nobody knows where it ends."""
        if self._nest.has_location:
            self.hopeless = True
        return self.hopeless


_RULES: dict[str, Callable[[StructureRepair, Token], None]] = {
    "aside": StructureRepair._worker_thread,
    "declaration": StructureRepair._declaration,
    "comment": StructureRepair._comment,
    "stray": StructureRepair._stray,
    "reference": StructureRepair._reference,
    "start": StructureRepair._start,
    "stop": StructureRepair._stop,
}
