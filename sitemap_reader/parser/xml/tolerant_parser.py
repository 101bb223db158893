"""A parser for XML that may be damaged: reads on where expat stopped, and gives EntryBuilder the events of expat.

An entry is given to expat first (ExpatDriver.read_entry()); if that stops in it, it is read here: where its tags match
as it stands, but for its characters and undeclared prefixes, else by RULES for broken structure, at the end of this
file. A URL is never guessed: where markup breaks inside a <loc> (or link, guid), the entry is Lost. Where a rule would
concern a tag, the rest of the entry is searched, once, for tags that do not match. So every byte is searched once and
read a few times at most; what waits for more bytes is looked at again when there are twice as many.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape, unescape
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack

import attrs

from ...model.limits import advice, over_limit
from ...model.problems import report
from .elements import ALTERNATE, XML_BASE
from .entry_builder import EventHandlers
from .markup import (
    CONTAINERS,
    DATA,
    ENTRIES,
    FIELDS,
    HARMLESS,
    HTML,
    KNOWN,
    LOCATIONS,
    PREFIXES,
    RESERVED_NAMESPACES,
    ROOTS,
    SECTION,
    TEXTS,
    VOID_EXTENSIONS,
    Attribute,
    Attributes,
    CharacterReader,
    NoCharacter,
    Token,
    TokenReader,
    attributes,
    declares_namespace,
    element_end,
    end_tag,
    has_controls,
    holds_entry,
    holds_part,
    is_element_name,
    is_misspelling,
    local,
    names_location,
    shown,
    special_in,
    without_remnant,
)
from .repairs import CHECK_STEPS, LEVEL_STEPS, REPAIR_STEPS, TOKEN_STEPS, Misplaced, NoRoot, Stop, has_hole

if TYPE_CHECKING:
    from ...model.limits import Limits
    from ...model.problems import Kind, Severity
    from .entry_builder import EntryBuilder, OpenEntry
    from .expat_driver import ExpatDriver
    from .markup import ReplayBuffer
    from .repairs import Budget, RepairLog, XmlFault

    class _Damage(TypedDict, total=False):
        line: int
        code: str
        kind: Kind | None


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


class UndeclaredPrefix(Exception):
    """A prefix that is not declared, where no more of them may be."""


# --- open elements, and what names mean in them ---


@attrs.define
class OpenElement:
    """An open element of the entry: its name as written, without prefix and for the events, and where its tag is.

    `namespaces` are those that it declares, by prefix.
    """

    name: bytes
    local: bytes
    event_name: str
    start: int
    stop: int
    namespaces: dict[str, str]
    is_location: bool
    has_text: bool = False
    has_markup: bool = False

    @property
    def is_empty(self) -> bool:
        return not (self.has_text or self.has_markup)

    def ends_before(self, name: bytes) -> bool:
        """Whether it holds text only, so that a tag of this name can only follow it."""
        if self.local in ENTRIES or self.local in CONTAINERS or self.namespaces:
            return False
        holds_text = self.has_text or self.local in FIELDS
        if name in FIELDS or name in CONTAINERS:
            return holds_text or b":" not in self.name
        return holds_text and b":" in name


_XML_NAMESPACE = XML_BASE.partition("}")[0]
_MAX_NAMES = 1_000  # more than a real document has


class Names:
    """What names mean inside of the open elements: `outer` around entries, `inner` of the entry, its own first."""

    def __init__(self, buffer: ReplayBuffer, builder: EntryBuilder, repairs: RepairLog, max_prefixes: int) -> None:
        self.outer: list[bytes] = []
        self.inner: list[OpenElement] = []
        self.declares_inside = False  # an open element of the entry declares namespaces
        self._buffer = buffer
        self._builder = builder
        self._repairs = repairs
        self._max_prefixes = max_prefixes
        self._prefixes: set[str] = set()  # that were declared
        self._event_names: dict[bytes, str] = {}  # where only elements around entries declare namespaces

    def forget(self) -> None:
        """Forgets what they mean, as elements around entries begin or end."""
        self._event_names = {}

    def knows(self, name: bytes) -> bool:
        """Whether a name has a meaning here: an element of the dialect, of a known extension, or of HTML."""
        prefix, _, own = name.rpartition(b":")
        is_known = not prefix or prefix in PREFIXES
        around = () if is_known else (*self.outer, *(element.name for element in self.inner[:1]))
        is_known = is_known or any(other.startswith(prefix + b":") for other in around)
        is_name = own in KNOWN or own.lower() in LOCATIONS  # which are read in any case
        return (is_name and is_known) or own in ROOTS or name.lower() in HTML

    def event_name(self, name: bytes, namespaces: dict[str, str], offset: int, *, is_attribute: bool = False) -> str:
        """The name at an offset as expat gives it, of an element that declares these namespaces, or its attribute."""
        if is_attribute and b":" not in name:
            return name.decode()
        is_cached = not (namespaces or is_attribute or self.declares_inside)
        if is_cached and name in self._event_names:
            return self._event_names[name]
        prefix, _, own = name.decode().rpartition(":")
        namespace = self._namespace_of(prefix, namespaces)
        if namespace is None:
            namespace = self._declare(prefix, namespaces, offset)
        found = f"{namespace}}}{own}" if namespace else own
        if is_cached and len(self._event_names) < _MAX_NAMES:
            self._event_names[name] = found
        return found

    def tag_of(self, name: bytes, attributes: bytes = b"") -> str:
        """The tag that the builder has for a start tag, by the namespaces with which it will be given."""
        vocabulary = self._builder.vocabulary
        if not self.inner and not attributes and name in self._event_names:
            return vocabulary.tag_of(self._event_names[name])
        prefix, _, own = name.decode().rpartition(":")
        namespace = self._namespace_of(prefix, _namespaces_in(attributes))
        if namespace is None:
            namespace = self._namespace_of_undeclared(prefix)
        return vocabulary.tag_of(f"{namespace}}}{own}" if namespace else own)

    def _namespace_of(self, prefix: str, namespaces: dict[str, str]) -> str | None:
        if prefix == "xml":
            return _XML_NAMESPACE
        for declared in (namespaces, *(element.namespaces for element in reversed(self.inner))):
            if prefix in declared:
                return declared[prefix]
        return self._builder.namespace_of(prefix)

    def _namespace_of_undeclared(self, prefix: str) -> str:
        return self._builder.vocabulary.namespaces.usual.get(prefix) or f"urn:unbound:{prefix}"

    def _declare(self, prefix: str, namespaces: dict[str, str], offset: int) -> str:
        """Declares a prefix on the root: one such as `image` for its usual namespace, others for one of their own."""
        if len(self._prefixes) >= self._max_prefixes:
            raise UndeclaredPrefix("unbound prefix")
        namespace = self._namespace_of_undeclared(prefix)
        what = f'the prefix "{prefix}" is not declared, it was read as {namespace}'
        self._repairs.add("S01", what, self._buffer.line_at(offset), kind="undeclared prefix")
        self._prefixes.add(prefix)
        if self._builder.root_seen:
            self._builder.declare(prefix, namespace)
        else:
            namespaces[prefix] = namespace
        return namespace


def _namespaces_in(written: bytes) -> dict[str, str]:
    return _declared(attributes(written).found) if b"xmlns" in written else {}


def _declared(found: list[Attribute]) -> dict[str, str]:
    """The namespaces that attributes declare, by prefix, but those that expat refuses."""
    declared = {
        each.name[len(b"xmlns:") :].decode(): unescape(each.value.decode())
        for each in found
        if declares_namespace(each.name)
    }
    return {prefix: namespace for prefix, namespace in declared.items() if _is_usable(prefix, namespace)}


def _is_usable(prefix: str, namespace: str) -> bool:
    """Whether expat accepts the declaration, of which `}` is the separator."""
    is_undeclared = prefix and not namespace  # Namespaces 1.0, 2.2: only the default may be
    is_usable = namespace.isprintable() and "}" not in namespace
    return is_usable and not is_undeclared and namespace not in RESERVED_NAMESPACES


def _start_tag(name: bytes, namespaces: dict[str, str], base: str | None) -> bytes:
    """A start tag with what a new parser has to know: namespaces and xml:base."""
    declared = [(f"xmlns:{own}" if own else "xmlns", namespace) for own, namespace in namespaces.items()]
    kept = declared + ([("xml:base", base)] if base is not None and base.isprintable() else [])
    return b"<" + name + "".join(f' {each}="{escape(text)}"' for each, text in kept).encode() + b">"


# --- the parser ---

# Kinds of Problems.
_DECLARATION: Kind = "declaration or instruction skipped"
_COMMENT: Kind = "malformed comment skipped"
_SECTION: Kind = "damaged CDATA section"
_RAW: Kind = "raw < or > read as text"
_MALFORMED: Kind = "malformed tag read as the intended one"
_MISSING: Kind = "missing tag added"
_STRAY: Kind = "stray tag skipped"
_LOST: Kind = "entry lost"
_HIDDEN: Kind = "entry that may be hidden"
# Characters that no undamaged URL holds, and those that one may end in before a damaged end tag.
_NOT_IN_URL = re.compile(rb"[\s<>\"']")
_URL_END = re.compile(rb"[\w/]\Z")
_MARKUP = re.compile(rb"[<>]")
_URL_ATTRIBUTE = re.compile(rb"\b(?:href|url)\s*=", re.IGNORECASE)
_URL_NAMES = frozenset((b"href", b"url"))
_DTD = re.compile(rb"<!doctype\b.*\[", re.IGNORECASE | re.DOTALL)  # with an internal subset
_BEFORE_NEXT = "before the next tag"
_NO_TOKEN = Token("", b"", 0, 0, b"")
_NO_ATTRIBUTES = Attributes([], b"")
_TAGS = frozenset(("start", "stop", "stray"))
_HOLD_FIELDS = CONTAINERS - VOID_EXTENSIONS
_SNIPPET_BYTES = 80
_MAX_WHOLE_BYTES = 16 * 1024  # of an entry that expat is given
_MAX_INTERVAL = 4095  # entries from one that it is given to the next
_MIN_WAKE_BYTES = 64  # a token that has not ended is not looked at with every byte


class TolerantParser(EventHandlers):
    """read() reads the buffer from `position` on, and returns True behind the end of the root element.

    `offset` is that of the present event, and `start_tag` its tag, if that is one around entries.
    """

    def __init__(
        self,
        limits: Limits,
        budget: Budget,
        expat: ExpatDriver,
        buffer: ReplayBuffer,
        builder: EntryBuilder,
        repairs: RepairLog,
    ) -> None:
        self.position = 0  # where the next token is looked for
        self.offset = 0
        self.start_tag = b""
        self._limits = limits
        self._budget = budget
        self._expat = expat
        self._buffer = buffer
        self._builder = builder
        self._repairs = repairs
        self._tokens = TokenReader(buffer, limits, budget)
        self._characters = CharacterReader(buffer, repairs, budget)
        self._names = Names(buffer, builder, repairs, limits.max_prefixes)
        self._outer, self._inner = self._names.outer, self._names.inner
        # of the document
        self._fault: XmlFault | None = None  # what expat refused, until it is repaired
        self._made_at_fault = 0  # repairs before that
        self._faults = 0
        self._unended_names: set[bytes] = set()  # without an end tag in the rest
        self._wake_bytes = 0  # so many unread bytes are waited for
        self._max_whole_bytes = min(_MAX_WHOLE_BYTES, limits.max_token_bytes)
        self._interval = 1  # in entries, of those that expat is given
        self._entries_left = 0  # for the rules, up to the next for expat
        # the present token
        self._token = _NO_TOKEN
        self._kind = _MALFORMED  # of the Problem of its rule
        self._text = b""  # before it, until it is given to the builder
        self._text_start = 0
        self._follows_entry = False
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
    def line(self) -> int:
        return self._buffer.line_at(self.offset)

    def begin(self, fault: XmlFault) -> None:
        """Reads on from the beginning of the buffer, where expat stopped at a fault."""
        self._fault, self._made_at_fault = fault, self._repairs.made
        self._repairs.forget_hiding(self._buffer.start)
        self.attach()
        self.go_on()

    def attach(self) -> None:
        """Goes on inside the elements around entries that the builder has open."""
        self._builder.abandon()
        self._builder.attach(self, self)
        self._outer[:] = self._builder.names
        self._inner.clear()
        self._names.forget()

    def go_on(self, repairs: int = 0) -> None:
        """Reads on from the beginning of the buffer, between two entries; the one before had so many repairs."""
        self._abandon_entry()
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
        if ends and self._inner:
            ends = self._give_rest()
        fields, made = self._intact or (None, None)
        self._repairs.cut(made)
        return self._builder.open_entry(ends=ends, fields=fields)

    def _give_rest(self) -> bool:
        """Gives the text before an end tag that is cut to the builder; whether all of it can be read."""
        data, start = self._buffer.data, self._buffer.relative(self.position)
        try:
            self._give_text(bytes(data[start : data.find(b"<", start)]), self.position)
        except NoCharacter:
            return False
        return True

    @property
    def has_stray_url(self) -> bool:
        """Whether a URL outside of any location waits for the next entry, where it is reported or forgotten."""
        return self._stray_url is not None

    # --- tokens ---

    def _next_token(self, *, final: bool) -> Token | None:
        """The next token; without it, no other is looked for until there are twice as many bytes."""
        buffer = self._buffer
        if self._wake_bytes and buffer.end - self.position < self._wake_bytes and not final:
            return None
        token = self._tokens.at(self.position, self._own, final=final)
        if token and self._is_damaged is None and self._inner and not self._fits(token):
            self._is_damaged = self._is_mismatch(token, final=final)
            if self._is_damaged is None:
                token = None
            elif self._is_damaged:
                self.count_fault(self.entry_start)
        if token and not final and self._awaits_end(token):
            token = None
        self._wake_bytes = 0
        if token is None:
            unread = buffer.end - self.position
            self._budget.spend(TOKEN_STEPS + unread)
            self._wake_bytes = max(2 * unread, _MIN_WAKE_BYTES)
        return token

    def _fits(self, token: Token) -> bool:
        """Whether a token of an entry is what is expected, so that the rules would read it as it stands."""
        innermost = self._inner[-1]
        if token.kind == "stop":
            is_broken = innermost.is_location and (innermost.has_markup or b">" in token.text)
            return token.name == innermost.name and token.is_well_formed and not is_broken
        if token.kind == "start":
            holds_fields = len(self._inner) == 1 or (innermost.local in _HOLD_FIELDS and token.local not in CONTAINERS)
            is_other = token.local in ENTRIES or self._is_location_of_another_entry(token)
            return holds_fields and not is_other and token.is_well_formed and (token.is_empty or not token.is_void)
        return token.is_well_formed

    @property
    def _own(self) -> bytes | None:
        """The name of the innermost element of the entry, if that begins here."""
        return self._inner[-1].name if self._inner and self._inner[-1].stop == self.position else None

    def _is_mismatch(self, token: Token, *, final: bool) -> bool | None:
        """Whether the tags of the entry do not match, from a token on; None: more bytes are needed.

        An entry that is cut, or that ends reading by a limit, is read as it stands.
        """
        names, own = [element.name for element in self._inner], self._own
        matches = self._is_beyond_limits(names, token) or self._matches(names, token)
        elements, most = self._builder.elements, self._limits.max_entry_elements
        position, data, first = self.position, self._buffer.data, self._buffer.start
        following: Token | None = token
        while matches and names and elements <= most and not self._buffer.is_too_long(position):
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

    def _matches(self, names: list[bytes], token: Token) -> bool:
        """Whether a token is well-formed and the builder accepts it inside of these elements."""
        if token.kind == "stop" and token.name != names[-1]:
            return False
        return token.is_well_formed and not (token.kind == "start" and self._is_misplaced(names, token))

    def _is_beyond_limits(self, names: list[bytes], token: Token) -> bool:
        """Whether the builder raises Stop at a well-formed start tag inside of these elements."""
        is_too_deep = len(self._outer) + len(names) >= self._limits.max_xml_depth
        has_many = token.rest.count(b"=") > self._limits.max_attributes
        if token.kind != "start" or not (is_too_deep or has_many) or not token.is_well_formed:
            return False
        others = [each for each in attributes(token.rest).found if not declares_namespace(each.name)]
        return is_too_deep or len(others) > self._limits.max_attributes

    def _is_misplaced(self, names: list[bytes], token: Token) -> bool:
        vocabulary, tag = self._builder.vocabulary, self._names.tag_of(token.name, token.rest)
        is_inside_field = len(names) > 1
        if tag in vocabulary.entries and not (
            is_inside_field and vocabulary.may_hold_entry(self._names.tag_of(names[1]))
        ):
            return True
        return is_inside_field and _is_void(names[-1]) and tag in vocabulary.tags

    def _read_token(self, token: Token) -> bool:
        """Reads a token and the text before it; whether it ends the root element."""
        buffer = self._buffer
        self._token, self._text = token, token.text
        self._text_start, self.position = self.position, buffer.start + token.end
        self.offset = buffer.start + token.start
        if buffer.is_too_long(self.offset):
            raise buffer.too_long()
        self._budget.spend(TOKEN_STEPS + LEVEL_STEPS * len(self._inner) + self.position - self._text_start)
        was_inside = bool(self._inner)
        self._find_stray_url(token.text)
        if token.kind == "start" and token.local == b"link" and not self._inner:
            self._find_stray_url(token.rest)
        if token.text and not token.text.isspace():
            if was_inside:
                self._inner[-1].has_text = True
            elif not self._builder.root_seen:
                raise NoRoot(self.offset - len(token.text.lstrip()))
        if token.kind in _TAGS and has_hole(token.written):
            what = "control characters stand in a tag: entries may be lost there"
            self._note(what, sure=False, kind="control character kept")
        place = "anywhere"
        if token.kind in ("start", "stop"):
            place = "outside" if not was_inside else "damaged" if self._is_damaged else "intact"
        is_whole = self._may_be_whole(token) and self._read_whole(token)
        if not is_whole:
            self._apply_rule(token, place)
        if self._text:
            self._give_pending()
        self._follows_entry = is_whole or (was_inside and not self._inner)
        return not self._inner and self._settle()

    def _apply_rule(self, token: Token, place: str) -> None:
        for applies, act, kind in RULES[token.kind, place]:
            if applies is None or applies(self, token):
                self._kind = kind
                act(self, token)
                return

    def _may_be_whole(self, token: Token) -> bool:
        """Whether expat is given the entry that begins."""
        if self._inner or self._fault or token.kind != "start" or not token.is_well_formed or token.is_empty:
            return False
        return self._entries_left <= 0 and not token.text.strip() and self._is_entry(token)

    def _awaits_end(self, token: Token) -> bool:
        """Whether the end of an entry for expat may come: who reads it must not depend on how the bytes are cut."""
        data, stop = self._buffer.data, token.start + self._max_whole_bytes
        return len(data) < stop and self._may_be_whole(token) and not element_end(data, token.start, token.name, stop)

    def _read_whole(self, token: Token) -> bool:
        """Has expat read the entry that begins, if it is short; False where it is damaged: the rules read it.

        After an attempt that failed, the interval to the next one doubles, and grows by one: else, where every second
        entry is damaged, it would always be a damaged one.
        """
        buffer = self._buffer
        end = element_end(buffer.data, token.start, token.name, token.start + self._max_whole_bytes)
        is_read = False
        if end and not buffer.is_too_long(buffer.start + end):
            self._is_damaged = None
            self._begin_entry()
            is_read = self._expat.read_entry(self.offset, buffer.start + end)
            if is_read:
                self.position = buffer.start + end
            else:
                self._builder.abandon()
                self._repairs.forget_hiding(self.offset + 1)  # at its tag the entry before may have ended
            self._builder.attach(self, self)
        self._interval = 1 if is_read else min(2 * self._interval + 1, _MAX_INTERVAL)
        self._entries_left = 0 if is_read else self._interval
        return is_read

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

    # --- events ---

    def _give_start(self, token: Token, found: list[Attribute], *, is_entry: bool) -> None:
        """Gives a start tag to the builder: of an entry or in one, or around entries. Raises NoCharacter."""
        texts, namespaces = (self._attribute_texts(token, found), _declared(found)) if found else ({}, {})
        self._push(token.name, token.end, texts, namespaces, is_entry=is_entry)

    def _attribute_texts(self, token: Token, found: list[Attribute]) -> dict[bytes, str]:
        first = self.offset + token.written.find(token.name) + len(token.name)
        read = self._characters.attribute
        return {
            each.name: read(each.value, first + each.offset, is_exact=local(each.name) in _URL_NAMES) for each in found
        }

    def _push(
        self, name: bytes, stop: int, texts: dict[bytes, str], namespaces: dict[str, str], *, is_entry: bool
    ) -> None:
        """Gives the start tag of a name to the builder, which ends at `stop` in the buffer."""
        for declaration in namespaces.items():
            self.StartNamespaceDeclHandler(*declaration)
        names = self._names
        event_name = names.event_name(name, namespaces, self.offset)
        values = {
            names.event_name(each, namespaces, self.offset, is_attribute=True): text
            for each, text in texts.items()
            if not declares_namespace(each)
        }
        if not is_entry:
            self.start_tag = _start_tag(name, namespaces, values.get(XML_BASE))
        self.StartElementHandler(event_name, values)
        names.declares_inside = bool(namespaces) or (names.declares_inside and bool(self._inner))
        if is_entry:
            places = self.offset, self._buffer.start + stop
            # The names of entries are read in any case.
            own = local(name) if self._inner else local(name).lower()
            self._inner.append(OpenElement(name, own, event_name, *places, namespaces, names_location(name)))
        else:
            self._outer.append(name)
            names.forget()

    def _pop(self) -> OpenElement:
        element = self._inner.pop()
        self.EndElementHandler(element.event_name)
        return element

    def _pop_outer(self) -> None:
        """Gives the end of the innermost element around entries to the builder."""
        self._outer.pop()
        self._names.forget()
        self.EndElementHandler("")

    def _rename(self, name: bytes) -> None:
        element = self._inner[-1]
        element.name, element.local, element.is_location = name, local(name), names_location(name)
        self._builder.rename(self._names.event_name(name, element.namespaces, self.offset))

    def _give_text(self, written: bytes, offset: int) -> None:
        """Gives text at an offset to the builder. Raises NoCharacter inside of a location."""
        if special_in(written):
            text = self._characters.text(written, offset, is_exact=self._open_location is not None)
        else:
            text = written.decode()
        self.CharacterDataHandler(text)  # outside of entries too: the rest of a tag may stand there

    def _give_pending(self) -> None:
        """Gives the text before the token to the builder, once."""
        if self._text:
            text, self._text = self._text, b""
            if self._inner and (_NOT_IN_URL if self._inner[-1].is_location else _MARKUP).search(text.strip()):
                self._inner[-1].has_markup = True
            self._give_text(text, self._text_start)

    # --- entries ---

    def _begin_entry(self) -> None:
        self._give_pending()
        self._report_stray_url(self._repairs_outside)
        self._builder.out += self._repairs.take()
        self.entry_start = self.offset
        self._entries_left -= 1
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
        is_empty = self._has_empty_location and self._inner[0].stop > self.entry_start and not self._repairs.holds_error
        if not (self._has_location or is_empty):
            raise self._lost("the location of an entry is not certain")
        if self._repairs.made == self._made_outside:
            raise self._lost("the entry is not well-formed")

    def _abandon_entry(self) -> None:
        self._builder.abandon()
        self._inner.clear()

    def _lost(self, reason: str, **how: Any) -> Lost:
        """The exception for the rest of the entry; reading goes on at this token, if it is not part of the entry."""
        token = self._token
        self._fault = None
        is_outside = token.local in (ENTRIES if token.kind == "start" else ROOTS)
        is_next = is_outside and self._inner and self.offset > self.entry_start
        how.setdefault("resume", self.offset if is_next else self.position)
        how.setdefault("line", self.line)
        if not (self._is_damaged and self._inner):
            self.count_fault(self.entry_start if self._inner else None)
        return Lost(reason, **how)

    def _broken(self, element: OpenElement) -> Lost:
        return self._lost(f"the markup breaks inside of <{shown(element.name)}>")

    @property
    def _open_location(self) -> OpenElement | None:
        return next((element for element in self._inner if element.is_location), None)

    def _outside_locations(self) -> None:
        """Raises Lost inside of a location, as its end is unknown."""
        if element := self._open_location:
            raise self._broken(element)

    @property
    def _depth(self) -> int:
        return len(self._outer) + len(self._inner)

    @property
    def remaining_faults(self) -> int:
        return self._limits.max_faults - self._faults

    def count_faults(self, count: int) -> None:
        """Counts those of entries that were read elsewhere."""
        self._faults += count

    def count_fault(self, offset: int | None = None) -> None:
        """Counts one at an offset, or at the present token: Stop above max_faults."""
        self._faults += 1
        if self._faults > self._limits.max_faults:
            what = "place where the markup breaks"
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

    # --- URLs outside of locations ---

    def _find_stray_url(self, written: bytes) -> None:
        """Remembers a URL that is neither in a known field of an entry nor in one of the feed itself."""
        # Before the first repair, expat may have read it.
        if b"://" not in written or self._stray_url is not None or not (self._inner or self._repairs_outside):
            return
        if self._inner:
            name = self._inner[-1].name
            is_known = len(self._inner) > 1 and (b":" in name or self._names.knows(name))
            # So deep in an entry, it may be the location of one whose start is lost.
            is_deep = len(self._inner) > 2 and not any(element.namespaces for element in self._inner)
            is_expected = is_known and not (is_deep and name in (b"loc", b"link"))
        else:
            is_feed = not self._builder.vocabulary.implied_entry
            # The feed's own links precede its items.
            is_expected = (
                is_feed and not self._is_behind_entry and all(b":" in name or name in KNOWN for name in self._outer)
            )
        if not is_expected:
            self._stray_url = self.line, written

    def _report_stray_url(self, repairs: int) -> None:
        """Where the markup around a stray URL was repaired, that may be all that is left of an entry."""
        found, self._stray_url, self._repairs_outside = self._stray_url, None, 0
        if found and repairs and not self._repairs.holds_error:
            line, written = found
            what = "a URL stands outside of any location: an entry may be lost"
            self._note(what, written, line=line, sure=False, kind=_HIDDEN)

    # --- repairs ---

    def _repair(self, message: str, raw: bytes = b"", *, sure: bool = True, **how: Unpack[_Damage]) -> None:
        """Reports a repair of the structure as _note() does; one that is not `sure` may hide more damage."""
        self._give_pending()
        self._budget.spend(REPAIR_STEPS)
        self._structural_repairs += 1
        if not self._inner:
            self._repairs_outside += 1
            self.count_fault()
        elif self._intact is None:
            self._intact = self._builder.complete_fields, self._repairs.made
        if self._structural_repairs > self._limits.max_entry_repairs:
            raise self._lost("the entry breaks in too many places", limit="max_entry_repairs")
        what = message if sure else f"{message}; more may be lost"
        self._note(what, raw, sure=sure, **how)

    def _note(
        self,
        message: str,
        raw: bytes = b"",
        *,
        line: int = 0,
        code: str = "S01",
        sure: bool = True,
        kind: Kind | None = None,
    ) -> None:
        """Reports damage, by default of the kind that the rule for the token has."""
        self._give_pending()
        self._repairs.is_damaged = True
        severity: Severity = "warning" if sure else "error"
        text = raw.decode("utf-8", "ignore") or None
        kind = (kind or self._kind) if code == "S01" else None
        self._repairs.add(code, message, line or self.line, text, severity, kind=kind)

    def _missing(self, written: bytes, place: str, *, line: int = 0, sure: bool = True) -> None:
        self._repair(_missing_tag(shown(written), place), line=line, sure=sure, kind=_MISSING)

    def _read_as(self, token: Token, meant: bytes, *, sure: bool = True, kind: Kind | None = None) -> None:
        self._repair(f"{shown(token.written)} was read as {shown(meant)}", token.written, sure=sure, kind=kind)

    def _skip(self, token: Token, why: str, *, code: str = "S01", sure: bool = True) -> None:
        self._repair(f"{shown(token.written)} {why}: it was skipped", token.written, code=code, sure=sure)

    # --- rules: tokens that are no tags ---

    def _section(self, token: Token) -> None:
        if token.next == b"unended":
            self._lose_section(token)
        if not self._builder.root_seen:
            raise NoRoot(self.offset)
        content, offset = token.rest, self.offset + len(token.written)
        raw = (token.written + content)[:_SNIPPET_BYTES]
        if token.next == b"element":
            content = without_remnant(content)
            self._note("a CDATA section is not closed: it ends with its element", raw)
        elif token.written != SECTION:
            self._note(f"{token.written.decode()} was read as {SECTION.decode()}", raw)
        self._give_pending()
        self._characters.controls(content, offset)
        is_text = len(self._inner) > 1 and self._inner[-1].local not in DATA
        if (holds_entry(content) and not is_text) or (SECTION in content and holds_part(content)):
            self._note("a CDATA section holds entries, which may be lost", raw, sure=False)
        else:
            self._check_hiding("a CDATA section", content)
        if not self._inner:
            return
        innermost = self._inner[-1]
        innermost.has_text = True
        if b"<" in content and innermost.is_location:
            raise self._lost(f"a CDATA section in <{shown(innermost.name)}> holds markup")
        if token.next == b"unsure":
            what = f"a CDATA section holds the end of <{shown(innermost.name)}> and another section"
            what += ": all of it was read as text, entries may be lost in it"
            self._note(what, sure=False)
        self.CharacterDataHandler(content.decode().replace("\r\n", "\n").replace("\r", "\n"))

    def _lose_section(self, token: Token) -> None:
        """Raises Lost for a section without an end; up to the end of its element it is text."""
        resume, position = self.position, self._buffer.relative(self.position)
        name = self._inner[-1].local if self._inner else b""
        if name and name not in self._unended_names:
            end = end_tag(self._buffer.data, position, name)
            self._budget.spend_on_markup(self._buffer.data, position, len(self._buffer) if end < 0 else end, 1)
            if end < 0:
                self._unended_names.add(name)
            elif self._open_location or not holds_part(self._buffer.data, position, end):
                resume = self._buffer.start + end
        raise self._lost("a CDATA section does not end", resume=resume)

    def _comment(self, token: Token) -> None:
        """XML 1.0 2.5: no `--` inside a comment."""
        inner = token.written[4:-3]
        is_hiding = self._check_hiding("a comment", inner)
        if b"--" in inner or inner.endswith(b"-") or has_controls(inner):
            # The end of the first of two may be damaged, with entries between.
            is_one = not (b"<!--" in inner or b"->" in inner or has_hole(inner) or is_hiding)
            more = "" if is_one else ", and what else may stand in it"
            what, raw = f"a malformed comment was skipped{more}", token.written[:_SNIPPET_BYTES]
            self._note(what, raw, sure=is_one)

    def _misspelled_comment(self, token: Token) -> None:
        self._outside_locations()
        self._check_hiding("a comment", token.written)
        self._skip(token, "is no comment")

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
            self._skip(token, "is no instruction", sure=b"://" not in token.written)
        elif holds_entry(token.written):
            what = "a processing instruction holds entries, which may be lost"
            self._note(what, token.written, sure=False)
        else:
            self._check_hiding("an instruction", token.written)
        self._characters.controls(token.written, self.offset)

    def _declaration(self, token: Token) -> None:
        is_doctype = not token.written[:5].lower().startswith((b"<?xml", b"<xml"))
        if self._builder.root_seen or not (is_doctype or self.offset == 0):
            self._outside_locations()
            code = "S01" if is_doctype else "S08"
            self._skip(token, "is not at the start", code=code)
        elif _DTD.match(token.written):
            raise Stop(report("S09", "the DTD has an internal subset: the document is refused"))
        elif self._fault and self.offset <= self._fault.offset < self.position:
            self._skip(token, "is malformed")

    def _stray(self, token: Token) -> None:
        text = token.written.replace(b"<", b"&lt;").replace(b">", b"&gt;")
        is_end = token.written.startswith(b"</")
        self._literal(token, text, sure=not is_end and (self._is_in_text or token.next in HARMLESS))

    def _literal(self, token: Token, meant: bytes, *, sure: bool) -> None:
        """Reads a token as text; before the root element there is none."""
        if not self._builder.root_seen:
            raise NoRoot(self.offset)
        self._outside_locations()
        self._read_as(token, meant, sure=sure)
        if self._inner:
            self._inner[-1].has_markup = True
        self._give_text(token.written, self.offset)

    # --- rules: start tags outside of entries ---

    def _is_no_tag(self, token: Token) -> bool:
        """Whether it is text that begins with `<`: `a <b and`."""
        if token.is_plain:
            return False
        knows = self._names.knows
        is_known = token.has_attributes and knows(token.name) and token.name not in HTML
        return not (is_element_name(token.name) and (token.is_closed or is_known or token.local in ROOTS))

    def _read_as_text(self, token: Token) -> None:
        self._literal(token, b"&lt;" + token.written[1:], sure=self._is_in_text)

    @property
    def _is_in_text(self) -> bool:
        name = self._inner[-1].name if self._inner else self._outer[-1] if self._outer else b""
        return self._names.knows(name) and local(name) in TEXTS

    def _is_entry(self, token: Token) -> bool:
        return self._names.tag_of(token.name, token.rest) in self._builder.vocabulary.entries

    def _open_entry(self, token: Token) -> None:
        self._is_damaged = None if token.is_well_formed else True
        self._begin_entry()
        self._open(token, is_empty=token.is_empty, is_entry=True)

    def _is_location_of_no_entry(self, token: Token) -> bool:
        vocabulary, tag = self._builder.vocabulary, self._names.tag_of(token.name, token.rest)
        return vocabulary.implied_entry is not None and tag == vocabulary.location

    def _imply_entry(self, token: Token) -> None:
        """Begins the entry that a location outside of any belongs to; the location is read after that."""
        self._is_damaged = True
        prefix, colon, _ = token.name.rpartition(b":")
        name = prefix + colon + (self._builder.vocabulary.implied_entry or "").encode()
        self._text = self._text.rstrip().removesuffix(name + b">")  # `url>`: without the `<` it is text
        self._begin_entry()
        self._push(name, token.start, {}, _namespaces_in(token.rest), is_entry=True)
        self._missing(b"<" + name + b">", "before the entry's first field")
        self.position = self.offset

    def _open_outside(self, token: Token) -> None:
        is_empty = token.is_empty and (token.is_closed or token.local not in ROOTS)
        self._open(token, is_empty=is_empty or _lacks_end(token))

    # --- rules: start tags in an entry ---

    def _open_as_written(self, token: Token) -> None:
        self._open(token, is_empty=token.is_empty)

    def _open_inside(self, token: Token) -> None:
        self._open(token, is_empty=token.is_empty or token.is_void or _lacks_end(token))

    def _open(self, token: Token, *, is_empty: bool, is_entry: bool = False) -> None:
        """Gives a start tag to the builder, and its end where it `is_empty`."""
        found, written, is_whole, _ = attributes(token.rest) if token.rest else _NO_ATTRIBUTES
        read = b"<" + token.name + written + (b"/>" if is_empty else b">")
        is_inside = bool(self._inner)
        if is_inside and not is_whole and _URL_ATTRIBUTE.search(token.rest):
            raise self._lost(f"the URL of {shown(token.written)} is not certain")
        if is_inside and self._is_damaged and self._depth >= self._limits.max_xml_depth:
            raise self._lost("elements are too many levels deep", limit="max_xml_depth")
        if self._text:
            self._give_pending()
        if is_inside:
            self._inner[-1].has_markup = True
            self._has_fields = self._has_fields or (self._has_location and token.local not in LOCATIONS)
            is_link = len(self._inner) == 1 and token.local == b"link"  # Atom's
            self._has_location = self._has_location or (is_link and (is_empty or _is_alternate(token)))
        self._give_start(token, found, is_entry=is_inside or is_entry)
        if read != token.written or not is_whole:
            self._read_as(token, read, sure=self._names.knows(token.name), kind=_MALFORMED)
        if is_empty and self._inner:
            self._end_innermost()
        elif is_empty:
            self._pop_outer()

    def _is_end_tag_without_slash(self, token: Token) -> bool:
        """Whether the slash is missing: `<loc>https://example.com/a<loc>`, and nothing follows that could be inside."""
        if token.name != self._inner[-1].name or token.local not in KNOWN:
            return False
        if token.local in ENTRIES:
            after, is_end = local(token.next.lstrip(b"</")), token.next.startswith(b"</")
            return self._has_location and (after in ENTRIES or (is_end and after in ROOTS))
        return self._inner[-1].has_text and token.next.startswith(b"<")

    def _is_doubled(self, token: Token) -> bool:
        return token.name == self._inner[-1].name and self._inner[-1].is_empty

    def _skip_doubled(self, token: Token) -> None:
        self._skip(token, "is doubled")

    def _is_named_as_entry(self, token: Token) -> bool:
        return token.local in ENTRIES

    def _follows_empty_entry(self, token: Token) -> bool:
        """Whether it begins an entry inside of one that holds nothing, and whose start tag was there."""
        entry = self._inner[0]
        holds_nothing = len(self._inner) == 1 and entry.is_empty and entry.stop != self.entry_start
        return token.local in ENTRIES and holds_nothing and self._is_entry(token)

    def _replace_entry(self, token: Token) -> None:
        """Skips the entry that holds nothing, and begins the other one."""
        entry = self._inner[0]
        self._abandon_entry()
        self._begin_entry()
        self._open(token, is_empty=token.is_empty, is_entry=True)
        line = self._buffer.line_at(entry.start)
        self._repair(f"<{shown(entry.name)}> holds nothing: it was skipped", line=line)

    def _is_location_of_another_entry(self, token: Token) -> bool:
        """Whether this is a second location after other fields: the tags between two entries may be lost."""
        return (
            self._has_fields
            and token.name in (b"loc", b"link")
            and not token.rest.strip()
            and not any(element.local in CONTAINERS or element.namespaces for element in self._inner)
        )

    def _ends_field(self, token: Token) -> bool:
        """Whether something open cannot contain it: a field, or a container of the same name."""
        is_twice = token.local in CONTAINERS and any(element.name == token.name for element in self._inner)
        return is_twice or self._inner[-1].ends_before(token.name)

    def _end_fields(self, token: Token) -> None:
        """Closes what cannot contain this tag, which is read after that."""
        if token.local in CONTAINERS:
            names = [element.name for element in self._inner]
            if token.name in names:
                self._close_to(names.index(token.name))
        while self._inner and self._inner[-1].ends_before(token.name):
            self._close_to(len(self._inner) - 1)
        self.position = self.offset

    # --- rules: end tags in an entry ---

    def _end_as_written(self, token: Token) -> None:
        self._end_innermost()

    def _is_end_of_innermost(self, token: Token) -> bool:
        innermost = self._inner[-1]
        return token.name == innermost.name and not (innermost.is_location and innermost.has_markup)

    def _stop_innermost(self, token: Token) -> None:
        element = self._inner[-1]
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
            is_other = is_other and not self._names.knows(token.name)
            self._read_as(token, end, sure=is_one_slip and not is_other)
        self._end_innermost()

    def _end_innermost(self) -> None:
        if self._text:
            self._give_pending()
        if len(self._inner) == 1:
            self._check_entry()
        element = self._pop()
        if len(self._inner) == 1 and element.local in LOCATIONS:
            self._has_location = self._has_location or element.has_text
            self._has_empty_location = element.is_empty

    def _is_end_inside(self, token: Token) -> bool:
        return any(element.name == token.name for element in self._inner)

    def _close_inside(self, token: Token) -> None:
        """Ends the elements inside of the one that the tag ends, which is read after that."""
        names = [element.name for element in self._inner]
        self._close_to(len(names) - names[::-1].index(token.name))
        self.position = self.offset

    def _is_end_around(self, token: Token) -> bool:
        return token.name in self._outer or token.local in ROOTS

    def _close_entry(self, token: Token) -> None:
        """Ends the entry before this token, which is read after that."""
        self._close_to(0)
        self.position = self.offset

    def _close_entry_unsurely(self, token: Token) -> None:
        self._close_to(0, sure=False)
        self.position = self.offset

    def _close_to(self, depth: int, *, sure: bool = True) -> None:
        """Closes the open elements from this depth on, innermost first; not where a location holds markup."""
        for element in self._inner[max(0, depth - 1) :]:
            if element.is_location and element.has_markup:
                raise self._broken(element)
        while len(self._inner) > depth:
            self._close_innermost(sure=sure)

    def _close_innermost(self, *, sure: bool) -> None:
        element, text = self._inner[-1], self._text.rstrip()
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
            self._missing(b"<" + tail, _BEFORE_NEXT, sure=sure and self._names.knows(element.name) and not is_lost)
        self._end_innermost()
        if element.is_location:  # where it ends is not certain
            self._has_empty_location = False

    def _is_misspelled(self, token: Token) -> bool:
        """Whether it is most likely a misspelling of the innermost element's end; two known names never are."""
        meant = self._inner[-1].name if self._inner else self._outer[-1] if self._outer else b""
        is_other = token.local in KNOWN and local(meant) in KNOWN and token.local != local(meant)
        return bool(meant) and not is_other and is_misspelling(token.name, meant)

    def _stop_misspelled(self, token: Token) -> None:
        self._rename_unknown(token)
        self._stop_innermost(token)

    def _rename_unknown(self, stop: Token) -> None:
        """Renames the open element where its name is unknown, and that of the end tag is known."""
        element = self._inner[-1]
        if self._names.knows(stop.name) and not self._names.knows(element.name):
            if names_location(stop.name) and (element.has_markup or _MARKUP.search(self._text)):
                raise self._broken(element)
            line = self._buffer.line_at(element.start)
            what = f"<{shown(element.name)}> was read as <{shown(stop.name)}>"
            self._repair(what, line=line)
            self._rename(stop.name)
            if not self._has_location and len(self._inner) == 2:
                self._stray_url = None

    def _is_container(self, token: Token) -> bool:
        return token.name in CONTAINERS

    def _lose_entry(self, token: Token) -> None:
        """The locations before a stray `</image:image>` may all be those of images."""
        self._outside_locations()
        raise self._lost(f"{shown(token.written)} ends nothing", keeps_entry=False)

    def _skip_end_inside(self, token: Token) -> None:
        self._outside_locations()
        is_remnant = token.local in LOCATIONS and self._inner[-1].has_text
        self._skip(token, "ends nothing", sure=self._names.knows(token.name) and not is_remnant)

    # --- rules: end tags outside of entries ---

    def _is_before_root(self, token: Token) -> bool:
        return not self._builder.root_seen

    def _lack_root(self, token: Token) -> None:
        raise NoRoot(self.offset)

    def _is_end_of_outermost(self, token: Token) -> bool:
        return bool(self._outer) and token.name == self._outer[-1]

    def _end_outer(self, token: Token) -> None:
        if not token.is_well_formed:
            self._read_as(token, b"</" + token.name + b">")
        self._give_pending()
        self._pop_outer()

    def _is_end_outside(self, token: Token) -> bool:
        return token.name in self._outer

    def _close_outside(self, token: Token) -> None:
        """Ends the elements inside of the one that the tag ends, which is read after that."""
        while self._outer[-1] != token.name:
            self._close_outer()
        self.position = self.offset

    def _is_end_of_another_root(self, token: Token) -> bool:
        return bool(self._outer) and token.local in ROOTS

    def _end_root(self, token: Token) -> None:
        while self._outer:
            self._close_outer()
        self._skip(token, "is the end of another root element")

    def _close_outer(self) -> None:
        end = b"</" + self._outer[-1] + b">"
        self._missing(end, "before the end of the enclosing element", sure=self._names.knows(self._outer[-1]))
        self._pop_outer()

    def _end_misspelled_outer(self, token: Token) -> None:
        is_sure = self._names.knows(self._outer[-1]) and token.local not in ENTRIES  # else it may be the entry
        self._read_as(token, b"</" + self._outer[-1] + b">", sure=is_sure)
        self._give_pending()
        self._pop_outer()

    def _skip_end_outside(self, token: Token) -> None:
        is_doubled = token.local in ENTRIES and self._follows_entry and not self._text.strip()
        is_sure = self._names.knows(token.name) and (is_doubled or token.name in HTML)
        self._skip(token, "ends nothing", sure=is_sure)


def missing_tag_repair(tag: str) -> tuple[str, Kind, None]:
    """Message and kind for the Problem of an end tag that is missing before the next tag."""
    return _missing_tag(tag, _BEFORE_NEXT), _MISSING, None


def _missing_tag(tag: str, place: str) -> str:
    return f"{tag} is missing: it was added {place}"


def _is_alternate(token: Token) -> bool:
    """Whether a link of Atom locates its entry (RFC 4287 4.2.7.2)."""
    found = {each.name: each.value.decode().strip().lower() for each in attributes(token.rest).found}
    return b"href" in found and found.get(b"rel", "alternate") in ALTERNATE


def _lacks_end(token: Token) -> bool:
    """Whether `<a b="c"` without its `>` is more likely an empty element than `<a`."""
    holds_more = token.local in ROOTS or token.local in ENTRIES or token.local in CONTAINERS
    return bool(token.rest.strip()) and not (token.is_closed or holds_more)


def _is_void(name: bytes) -> bool:
    """Whether an element of an extension is empty; `link` without a prefix is one of a feed."""
    return local(name) in VOID_EXTENSIONS or (name != b"link" and local(name) == b"link")


# --- what each token does, and where ---


class Rule(NamedTuple):
    """The first rule of a place that `applies` to a token acts on it; `kind` is that of the Problem, if it has one."""

    applies: Callable[[TolerantParser, Token], bool] | None  # None: to all
    act: Callable[[TolerantParser, Token], None]
    kind: Kind


_P = TolerantParser
# (kind of token, where it stands) -> rules. In an entry that is `intact` all tags match; what is not in its place there
# makes the entry `damaged`. A token before which something is closed is read once more after that.
RULES: dict[tuple[str, str], tuple[Rule, ...]] = {
    ("comment", "anywhere"): (Rule(None, _P._comment, _COMMENT),),
    ("misspelled", "anywhere"): (Rule(None, _P._misspelled_comment, _COMMENT),),
    ("instruction", "anywhere"): (Rule(None, _P._instruction, _DECLARATION),),
    ("declaration", "anywhere"): (Rule(None, _P._declaration, _DECLARATION),),
    ("section", "anywhere"): (Rule(None, _P._section, _SECTION),),
    ("stray", "anywhere"): (Rule(None, _P._stray, _RAW),),  # a `<` that begins no tag, a `]]>`
    ("start", "outside"): (
        Rule(_P._is_no_tag, _P._read_as_text, _RAW),
        Rule(_P._is_entry, _P._open_entry, _MALFORMED),
        Rule(_P._is_location_of_no_entry, _P._imply_entry, _MISSING),
        Rule(None, _P._open_outside, _MALFORMED),
    ),
    ("start", "intact"): (Rule(None, _P._open_as_written, _MALFORMED),),
    ("start", "damaged"): (
        Rule(_P._is_end_tag_without_slash, _P._stop_innermost, _MALFORMED),  # <loc>https://example.com/a<loc>
        Rule(_P._is_doubled, _P._skip_doubled, _STRAY),  # <loc><loc>
        Rule(_P._follows_empty_entry, _P._replace_entry, _STRAY),  # <url><url><loc>
        Rule(_P._is_named_as_entry, _P._close_entry, _MISSING),  # <url><loc>…</loc><url>
        Rule(_P._is_location_of_another_entry, _P._close_entry_unsurely, _MISSING),  # …</loc><lastmod>…</lastmod><loc>
        Rule(_P._is_no_tag, _P._read_as_text, _RAW),  # a <b and
        Rule(_P._ends_field, _P._end_fields, _MISSING),  # <lastmod>2026<priority>
        Rule(None, _P._open_inside, _MALFORMED),
    ),
    ("stop", "outside"): (
        Rule(_P._is_before_root, _P._lack_root, _STRAY),
        Rule(_P._is_end_of_outermost, _P._end_outer, _MALFORMED),
        Rule(_P._is_end_outside, _P._close_outside, _MISSING),  # <rss><channel></rss>
        Rule(_P._is_end_of_another_root, _P._end_root, _STRAY),  # <urlset></sitemapindex>
        Rule(_P._is_misspelled, _P._end_misspelled_outer, _MALFORMED),
        Rule(None, _P._skip_end_outside, _STRAY),  # </url></url>
    ),
    ("stop", "intact"): (Rule(None, _P._end_as_written, _MALFORMED),),
    ("stop", "damaged"): (
        Rule(_P._is_end_of_innermost, _P._stop_innermost, _MALFORMED),
        Rule(_P._is_end_inside, _P._close_inside, _MISSING),  # <image:image><image:loc>…</image:image>
        Rule(_P._is_end_around, _P._close_entry, _MISSING),  # <url><loc>…</loc></urlset>
        Rule(_P._is_misspelled, _P._stop_misspelled, _MALFORMED),  # <loc>…</lok>
        Rule(_P._is_container, _P._lose_entry, _LOST),
        Rule(None, _P._skip_end_inside, _STRAY),
    ),
}
