"""Rules for an entry whose tags do not match: which element a tag begins or ends, each repair with a Problem.

A URL is never guessed: where markup breaks inside a <loc> (or link, guid), the entry is Lost.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ....model.limits import advice, over_limit
from ..elements import ALTERNATE
from ..errors import REPAIR_STEPS, NoRoot, Stop
from ..scan import ROOTS, local, names_location
from .event_source import EventSource, OpenElement, namespaces_in
from .tokenizer import (
    CONTAINERS,
    ENTRIES,
    HTML,
    KNOWN,
    LOCATIONS,
    TEXTS,
    Attributes,
    Token,
    attributes,
    is_element_name,
    is_misspelling,
    shown,
)

if TYPE_CHECKING:
    from ....model.limits import Limits
    from ....model.problems import Kind, Severity
    from ..entry_builder import EntryBuilder
    from ..errors import Budget, XmlFault
    from ..repair_log import RepairLog
    from ..replay_buffer import ReplayBuffer


class Lost(Exception):
    """The rest of the entry cannot be read, or what stands between entries, from `line` on.

    Reading can go on at the offset `resume`. `limit` is the one that prevents a repair. The fields before the damage
    are those of the entry, if it `keeps_entry`.
    """

    def __init__(
        self, reason: str, line: int, resume: int, *, limit: str | None = None, keeps_entry: bool = True
    ) -> None:
        super().__init__(reason)
        self.line = line
        self.resume = resume
        self.remedy = advice(limit, "have more repaired") if limit else None
        self.keeps_entry = keeps_entry


# Characters that no undamaged URL holds, and those that one may end in before a damaged end tag.
_NOT_IN_URL = re.compile(rb"[\s<>\"']")
_URL_END = re.compile(rb"[\w/]\Z")
_MARKUP = re.compile(rb"[<>]")
_MISSING_TAG: Kind = "missing tag added"
_BEFORE_NEXT = "before the next tag"
NO_TOKEN = Token("", b"", 0, 0, b"")
_NO_ATTRIBUTES = Attributes([], b"")
_URL_ATTRIBUTE = re.compile(rb"\b(?:href|url)\s*=", re.IGNORECASE)


class StructureRules(EventSource):
    """Holds the present token and entry, and the rules for tags in it; TolerantParser reads the tokens."""

    def __init__(
        self, limits: Limits, budget: Budget, buffer: ReplayBuffer, builder: EntryBuilder, repairs: RepairLog
    ) -> None:
        super().__init__(limits, budget, buffer, builder, repairs)
        self.position = 0  # where the next token is looked for
        self._limits = limits
        self._budget = budget
        self._fault: XmlFault | None = None  # what expat refused, until it is repaired
        self._made_at_fault = 0  # repairs before that
        self._faults = 0  # of the document
        # the present token
        self._token = NO_TOKEN
        self._text = b""  # before it, until it is given to the builder
        self._text_start = 0
        # where no URL is expected, of the present entry or before it
        self._stray_url: tuple[int, bytes] | None = None  # line and text
        self._repairs_outside = 0  # since the last entry, and of that
        self._is_behind_entry = False
        # the present entry, or what stands before it
        self.entry_start = 0
        self._is_damaged: bool | None = None  # its tags do not match; None: they did so far
        self._made_outside = 0  # repairs, when it began
        self._structural_repairs = 0
        self._intact: tuple[int, int] | None = None  # complete fields and repairs before its first structural one
        self._has_location = self._has_empty_location = False
        self._has_fields = False  # after the location

    @property
    def has_stray_url(self) -> bool:
        """Whether a URL outside of any location waits for the next entry, where it is reported or forgotten."""
        return self._stray_url is not None

    # --- entries ---

    def _begin_entry(self) -> None:
        self._give_pending()
        self._report_stray_url(self._repairs_outside)
        self._builder.out += self._repairs.take()
        self.entry_start = self.offset
        self._has_location = self._has_fields = self._has_empty_location = False
        self._made_outside, self._structural_repairs = self._repairs.made, 0
        if self._is_damaged:
            self.count_fault()

    def _check_entry(self) -> None:
        """Before the end of the entry: raises Lost where it holds no location, or where no repair was made."""
        self._explain_fault()
        self._report_stray_url(self._structural_repairs)
        if not self._is_damaged:
            return
        # Of an empty location nothing can be lost, unless the start of the entry was not there.
        is_empty = self._has_empty_location and self.inner[0].stop > self.entry_start and not self._repairs.holds_error
        if not (self._has_location or is_empty):
            raise self._lost("the location of an entry is not certain")
        if self._repairs.made == self._made_outside:
            raise self._lost("the entry is not well-formed")

    def _lost(self, reason: str, **how: Any) -> Lost:
        """The exception for the rest of the entry; reading goes on at this token, if it is not part of the entry."""
        token = self._token
        self._fault = None
        is_outside = token.local in (ENTRIES if token.kind == "start" else ROOTS)
        is_next = is_outside and self.inner and self.offset > self.entry_start
        how.setdefault("resume", self.offset if is_next else self.position)
        how.setdefault("line", self.line)
        if not (self._is_damaged and self.inner):
            self.count_fault(self.entry_start if self.inner else None)
        return Lost(reason, **how)

    def _broken(self, element: OpenElement) -> Lost:
        return self._lost(f"the markup breaks inside of <{shown(element.name)}>")

    @property
    def remaining_faults(self) -> int:
        """How many more there may be."""
        return self._limits.max_faults - self._faults

    def count_faults(self, count: int) -> None:
        """Counts those of entries that were read elsewhere."""
        self._faults += count

    def count_fault(self, offset: int | None = None) -> None:
        """Counts one at an offset, or at the present token: Stop above max_faults."""
        self._faults += 1
        if self._faults > self._limits.max_faults:
            what = "places where the markup breaks"
            line = self._buffer.line_at(self.offset if offset is None else offset)
            raise Stop(over_limit("max_faults", self._limits.max_faults, what, line))

    def _explain_fault(self) -> None:
        """Raises Lost if nothing was repaired up to behind the place where expat stopped."""
        fault = self._fault
        if fault is None or fault.offset >= self.position:
            return
        if fault.code is not None and self._repairs.made == self._made_at_fault:
            raise self._lost(fault.what)
        self._fault = None

    def _find_stray_url(self, written: bytes) -> None:
        """Remembers a URL that is neither in a known field of an entry nor in one of the feed itself."""
        # Before the first repair, expat may have read it.
        if b"://" not in written or self._stray_url is not None or not (self.inner or self._repairs_outside):
            return
        if self.inner:
            name = self.inner[-1].name
            is_known = len(self.inner) > 1 and (b":" in name or self.knows(name))
            is_expected = is_known and not self._is_inner_location(name, len(self.inner) - 1)
        else:
            is_feed = not self._builder.vocabulary.implied_entry
            # The feed's own links precede its items.
            is_expected = (
                is_feed and not self._is_behind_entry and all(b":" in name or name in KNOWN for name in self.outer)
            )
        if not is_expected:
            self._stray_url = self.line, written

    def _is_inner_location(self, name: bytes, depth: int) -> bool:
        """Whether an element of this name, so deep in the entry, may locate an entry whose start is lost."""
        return name in (b"loc", b"link") and depth > 1 and not any(element.namespaces for element in self.inner)

    def _report_stray_url(self, repairs: int) -> None:
        """Where the markup around a stray URL was repaired, that may be all that is left of an entry."""
        found, self._stray_url, self._repairs_outside = self._stray_url, None, 0
        if found and repairs and not self._repairs.holds_error:
            line, written = found
            what = "a URL stands outside of any location: an entry may be lost"
            self._note("entry that may be hidden", what, written, line=line, sure=False)

    # --- repairs ---

    def _repair(
        self, kind: Kind, message: str, raw: bytes = b"", *, line: int = 0, code: str = "S01", sure: bool = True
    ) -> None:
        """Reports a repair of the structure; one that is not `sure` may hide more damage."""
        self._give_pending()
        self._budget.spend(REPAIR_STEPS)
        self._structural_repairs += 1
        if not self.inner:
            self._repairs_outside += 1
            self.count_fault()
        elif self._intact is None:
            self._intact = self._builder.complete_fields, self._repairs.made
        if self._structural_repairs > self._limits.max_entry_repairs:
            raise self._lost("the entry breaks in too many places", limit="max_entry_repairs")
        self._note(kind, message if sure else f"{message}; more may be lost", raw, line=line, code=code, sure=sure)

    def _note(
        self, kind: Kind, message: str, raw: bytes = b"", *, line: int = 0, code: str = "S01", sure: bool = True
    ) -> None:
        self._give_pending()
        self._repairs.is_damaged = True
        severity: Severity = "warning" if sure else "error"
        text = raw.decode("utf-8", "ignore") or None
        self._repairs.add(code, message, line or self.line, text, severity, kind=kind if code == "S01" else None)

    def _missing(self, written: bytes, place: str, *, line: int = 0, sure: bool = True) -> None:
        self._repair(_MISSING_TAG, _missing_tag(shown(written), place), line=line, sure=sure)

    def _read_as(
        self, token: Token, meant: bytes, *, sure: bool = True, kind: Kind = "malformed tag read as the intended one"
    ) -> None:
        self._repair(kind, f"{shown(token.written)} was read as {shown(meant)}", token.written, sure=sure)

    def _skip(
        self, token: Token, why: str, *, code: str = "S01", sure: bool = True, kind: Kind = "stray tag skipped"
    ) -> None:
        self._repair(kind, f"{shown(token.written)} {why}: it was skipped", token.written, code=code, sure=sure)

    def _literal(self, token: Token, meant: bytes, *, sure: bool) -> None:
        """Reads a token as text; before the root element there is none."""
        if not self._builder.root_seen:
            raise NoRoot(self.offset)
        self._outside_locations()
        self._read_as(token, meant, sure=sure, kind="raw < or > read as text")
        if self.inner:
            self.inner[-1].has_markup = True
        self.give_text(token.written, self.offset)

    def _outside_locations(self) -> None:
        """Raises Lost inside of a location, as its end is unknown."""
        if element := self.open_location:
            raise self._broken(element)

    def _give_pending(self) -> None:
        """Gives the text before the token to the builder, once."""
        if self._text:
            text, self._text = self._text, b""
            if self.inner and (_NOT_IN_URL if self.inner[-1].is_location else _MARKUP).search(text.strip()):
                self.inner[-1].has_markup = True
            self.give_text(text, self._text_start)

    # --- start tags ---

    def _imply(self, token: Token, entry: str) -> None:
        """Begins the entry that a location outside of any belongs to; the location is read after that."""
        self._is_damaged = True
        prefix, colon, _ = token.name.rpartition(b":")
        name = prefix + colon + entry.encode()
        self._text = self._text.rstrip().removesuffix(name + b">")  # `url>`: without the `<` it is text
        self._begin_entry()
        self.push(name, token.start, {}, namespaces_in(token), is_entry=True)
        self._missing(b"<" + name + b">", "before the entry's first field")
        self.position = self.offset

    def _start_inside(self, token: Token) -> None:
        innermost = self.inner[-1]
        if self._is_end_tag_without_slash(token):
            self._stop_innermost(token)
        elif token.name == innermost.name and innermost.is_empty:
            self._skip(token, "is doubled")
        elif token.local in ENTRIES:
            self._begin_another_entry(token)
        elif self._is_location_of_another_entry(token):
            self._close_entry(sure=False)
        elif not self._is_tag(token):  # `a <b and`
            self._literal(token, b"&lt;" + token.written[1:], sure=self._is_in_text)
        elif self._close_before(token):
            self.position = self.offset
        else:
            self._open(token, is_empty=token.is_empty or token.is_void or lacks_end(token))

    def _is_tag(self, token: Token) -> bool:
        """Whether it is a start tag, and no text that begins with `<`."""
        if token.is_plain:
            return True
        is_known = token.has_attributes and self.knows(token.name) and token.name not in HTML
        return is_element_name(token.name) and (token.is_closed or is_known or token.local in ROOTS)

    def _begin_another_entry(self, token: Token) -> None:
        """Ends the entry before another one; one that holds nothing is skipped."""
        entry, is_other = self.inner[0], self.tag_of(token) not in self._builder.vocabulary.entries
        if len(self.inner) > 1 or not entry.is_empty or entry.stop == self.entry_start or is_other:
            self._close_entry()
            return
        self.abandon_entry()
        self._begin_entry()
        self._open(token, is_empty=token.is_empty, is_entry=True)
        line = self._buffer.line_at(entry.start)
        self._repair("stray tag skipped", f"<{shown(entry.name)}> holds nothing: it was skipped", line=line)

    def _is_end_tag_without_slash(self, token: Token) -> bool:
        """Whether the slash is missing: `<loc>https://example.com/a<loc>`, and nothing follows that could be inside."""
        if token.name != self.inner[-1].name or token.local not in KNOWN:
            return False
        if token.local in ENTRIES:
            after, is_end = local(token.next.lstrip(b"</")), token.next.startswith(b"</")
            return self._has_location and (after in ENTRIES or (is_end and after in ROOTS))
        return self.inner[-1].has_text and token.next.startswith(b"<")

    def _is_location_of_another_entry(self, token: Token) -> bool:
        """Whether this is a second location after other fields: the tags between two entries may be lost."""
        return (
            self._may_locate_another_entry(token.name)
            and not token.rest.strip()
            and not any(element.local in CONTAINERS or element.namespaces for element in self.inner)
        )

    def _may_locate_another_entry(self, name: bytes) -> bool:
        return self._has_fields and name in (b"loc", b"link")

    def _close_before(self, token: Token) -> bool:
        """Closes what cannot contain this tag, which is read after that: a field, or a container of the same name."""
        depth = len(self.inner)
        if token.local in CONTAINERS:
            names = [element.name for element in self.inner]
            if token.name in names:
                self._close_to(names.index(token.name))
        while self.inner and self.inner[-1].ends_before(token.name):
            self._close_to(len(self.inner) - 1)
        return len(self.inner) < depth

    def _open(self, token: Token, *, is_empty: bool, is_entry: bool = False) -> None:
        """Gives a start tag to the builder, and its end where it `is_empty`."""
        found, written, is_whole, _ = attributes(token.rest) if token.rest else _NO_ATTRIBUTES
        read = b"<" + token.name + written + (b"/>" if is_empty else b">")
        is_inside = bool(self.inner)
        if is_inside and not is_whole and _URL_ATTRIBUTE.search(token.rest):
            raise self._lost(f"the URL of {shown(token.written)} is not certain")
        if is_inside and self._is_damaged and self._depth >= self._limits.max_xml_depth:
            raise self._lost("elements are too many levels deep", limit="max_xml_depth")
        if self._text:
            self._give_pending()
        if is_inside:
            self.inner[-1].has_markup = True
            self._has_fields = self._has_fields or (self._has_location and token.local not in LOCATIONS)
            is_link = len(self.inner) == 1 and token.local == b"link"  # Atom's
            self._has_location = self._has_location or (is_link and (is_empty or is_alternate(token)))
        self.give_start(token, found, is_entry=is_inside or is_entry)
        if read != token.written or not is_whole:
            self._read_as(token, read, sure=self.knows(token.name))
        if is_empty and self.inner:
            self._end_innermost()
        elif is_empty:
            self.pop_outer()

    @property
    def _depth(self) -> int:
        return len(self.outer) + len(self.inner)

    # --- end tags ---

    def _stop_inside(self, token: Token) -> None:
        innermost = self.inner[-1]
        if token.name == innermost.name and not (innermost.is_location and innermost.has_markup):
            self._stop_innermost(token)
            return
        names = [element.name for element in self.inner]
        if token.name in names:
            self._close_to(len(names) - names[::-1].index(token.name))
            self._stop_innermost(token)
        elif token.name in self.outer or token.local in ROOTS:
            self._close_entry()
        elif self._is_misspelling(token, names[-1]):
            self._rename_unknown(token)
            self._stop_innermost(token)
        else:
            self._outside_locations()
            if token.name in CONTAINERS:  # the locations before a stray `</image:image>` may all be those of images
                raise self._lost(f"{shown(token.written)} ends nothing", keeps_entry=False)
            is_remnant = token.local in LOCATIONS and self.inner[-1].has_text
            self._skip(token, "ends nothing", sure=self.knows(token.name) and not is_remnant)

    def _stop_innermost(self, token: Token) -> None:
        element = self.inner[-1]
        end, text = b"</" + element.name + b">", self._text
        if element.is_location and _MARKUP.search(text):
            raise self._broken(element)
        if token.kind == "start":
            if element.is_location and text.rstrip().endswith(b"/"):
                # `https://example.com/<loc>`: the slash may belong to the URL or to the tag.
                raise self._lost(f"the end of <{shown(element.name)}> is not certain")
            self._read_as(token, end)
        elif not token.is_well_formed or token.name != element.name:
            is_one_slip = not token.rest.strip() and (token.is_closed or token.name == element.name)
            prefix = token.name.rpartition(b":")[0]
            is_other = prefix not in (b"", element.name.rpartition(b":")[0])
            if is_other and self._has_location and element.name in LOCATIONS:  # the URL of an image, perhaps
                raise self._broken(element)
            is_other = is_other and not self.knows(token.name)
            self._read_as(token, end, sure=is_one_slip and not is_other)
        self._end_innermost()

    def _end_innermost(self) -> None:
        if self._text:
            self._give_pending()
        if len(self.inner) == 1:
            self._check_entry()
        element = self.pop()
        if len(self.inner) == 1 and element.local in LOCATIONS:
            self._has_location = self._has_location or element.has_text
            self._has_empty_location = element.is_empty

    def _close_entry(self, *, sure: bool = True) -> None:
        """Ends the entry before this token, which is read after that."""
        self._close_to(0, sure=sure)
        self.position = self.offset

    def _close_to(self, depth: int, *, sure: bool = True) -> None:
        """Closes the open elements from this depth on, innermost first; not where a location holds markup."""
        for element in self.inner[max(0, depth - 1) :]:
            if element.is_location and element.has_markup:
                raise self._broken(element)
        while len(self.inner) > depth:
            self._close_innermost(sure=sure)

    def _close_innermost(self, *, sure: bool) -> None:
        element, text = self.inner[-1], self._text.rstrip()
        tail = b"/" + element.name + b">"
        has_tail = text.endswith(tail)
        if has_tail:
            text = text.removesuffix(tail)
        if element.is_location and (
            _NOT_IN_URL.search(text.strip())
            or (has_tail and not _URL_END.search(text))
            or (text and b"://" not in text and element.local != b"guid")
        ):
            raise self._lost(f"the end of <{shown(element.name)}> is not certain")
        if has_tail:
            self._text = text
            line = self._buffer.line_at(self._text_start + len(text))
            self._missing(b"<", f"before {shown(tail)}", line=line, sure=sure)
        else:
            is_lost = element.is_location and not element.has_text
            self._missing(b"<" + tail, _BEFORE_NEXT, sure=sure and self.knows(element.name) and not is_lost)
        self._end_innermost()
        if element.is_location:  # where it ends is not certain
            self._has_empty_location = False

    # --- names ---

    def _is_misspelling(self, stop: Token, meant: bytes) -> bool:
        """Whether an end tag is most likely a misspelling of `meant`; two known names never are."""
        is_other = stop.local in KNOWN and local(meant) in KNOWN and stop.local != local(meant)
        return not is_other and is_misspelling(stop.name, meant)

    def _rename_unknown(self, stop: Token) -> None:
        """Renames the open element where its name is unknown, and that of the end tag is known."""
        element = self.inner[-1]
        if self.knows(stop.name) and not self.knows(element.name):
            if names_location(stop.name) and (element.has_markup or _MARKUP.search(self._text)):
                raise self._broken(element)
            line = self._buffer.line_at(element.start)
            what = f"<{shown(element.name)}> was read as <{shown(stop.name)}>"
            self._repair("malformed tag read as the intended one", what, line=line)
            self.rename(stop.name)
            if not self._has_location and len(self.inner) == 2:
                self._stray_url = None

    @property
    def _is_in_text(self) -> bool:
        """Whether the innermost element is a text field, in which any character may stand."""
        name = self.inner[-1].name if self.inner else self.outer[-1] if self.outer else b""
        return self.knows(name) and local(name) in TEXTS


def missing_tag_repair(tag: str) -> tuple[str, Kind, None]:
    """Message and kind for the Problem of an end tag that is missing before the next tag."""
    return _missing_tag(tag, _BEFORE_NEXT), _MISSING_TAG, None


def _missing_tag(tag: str, place: str) -> str:
    return f"{tag} is missing: it was added {place}"


def is_alternate(token: Token) -> bool:
    """Whether a link of Atom locates its entry (RFC 4287 4.2.7.2)."""
    found = {each.name: each.value.decode().strip().lower() for each in attributes(token.rest).found}
    return b"href" in found and found.get(b"rel", "alternate") in ALTERNATE


def lacks_end(token: Token) -> bool:
    """Whether `<a b="c"` without its `>` is more likely an empty element than `<a`."""
    holds_more = token.local in ROOTS or token.local in ENTRIES or token.local in CONTAINERS
    return bool(token.rest.strip()) and not (token.is_closed or holds_more)
