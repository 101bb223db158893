"""Gives EntryBuilder the events of expat, from tags that were read without it: names resolved, elements nested."""

from __future__ import annotations

from html import escape, unescape
from typing import TYPE_CHECKING

import attrs

from ..elements import XML_BASE
from ..entry_builder import EventHandlers
from ..scan import ROOTS, local, names_location
from .characters import CharacterReader, special_in
from .tokenizer import (
    CONTAINERS,
    ENTRIES,
    FIELDS,
    HTML,
    KNOWN,
    LOCATIONS,
    PREFIXES,
    RESERVED_NAMESPACES,
    Attribute,
    Token,
    attributes,
    declares_namespace,
)

if TYPE_CHECKING:
    from ....model.limits import Limits
    from ..entry_builder import EntryBuilder
    from ..errors import Budget
    from ..repair_log import RepairLog
    from ..replay_buffer import ReplayBuffer

_XML_NAMESPACE = XML_BASE.partition("}")[0]
_MAX_NAMES = 1_000  # more than a real document has
_URL_NAMES = frozenset((b"href", b"url"))


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
        """Whether it has had neither text nor markup so far."""
        return not (self.has_text or self.has_markup)

    def ends_before(self, name: bytes) -> bool:
        """Whether it holds text only, so that a tag of this name can only follow it."""
        if self.local in ENTRIES or self.local in CONTAINERS or self.namespaces:
            return False
        holds_text = self.has_text or self.local in FIELDS
        if name in FIELDS or name in CONTAINERS:
            return holds_text or b":" not in self.name
        return holds_text and b":" in name


class UndeclaredPrefix(Exception):
    """A prefix that is not declared, where no more of them may be."""


class EventSource(EventHandlers):
    """The open elements, `outer` around entries and `inner` of the entry, its own first; and their events.

    The byte index of the present event is an offset of the document.
    """

    def __init__(
        self, limits: Limits, budget: Budget, buffer: ReplayBuffer, builder: EntryBuilder, repairs: RepairLog
    ) -> None:
        self.offset = 0
        self.outer: list[bytes] = []
        self.inner: list[OpenElement] = []
        self._buffer = buffer
        self._builder = builder
        self._repairs = repairs
        self._characters = CharacterReader(buffer, repairs, budget)
        self._max_prefixes = limits.max_prefixes
        self._prefixes: set[str] = set()  # that were declared
        self._event_names: dict[bytes, str] = {}  # where only elements around entries declare namespaces
        self._declares_inside = False  # an open element of the entry declares namespaces
        self.start_tag = b""  # of the present event, for the elements around entries

    @property
    def line(self) -> int:
        return self._buffer.line_at(self.offset)

    def attach(self) -> None:
        """Goes on inside the elements around entries that the builder has open."""
        self._builder.attach(self, self)
        self.outer, self.inner = self._builder.names, []
        self._event_names = {}

    def abandon_entry(self) -> None:
        self._builder.abandon()
        self.inner = []

    # --- events ---

    def give_start(self, token: Token, found: list[Attribute], *, is_entry: bool) -> None:
        """Gives a start tag to the builder: of an entry or in one, or around entries. Raises NoCharacter."""
        texts = self._attribute_texts(token, found) if found else {}
        self.push(token.name, token.end, texts, _declared(found), is_entry=is_entry)

    def _attribute_texts(self, token: Token, found: list[Attribute]) -> dict[bytes, str]:
        first = self.offset + token.written.find(token.name) + len(token.name)
        read = self._characters.attribute
        return {
            each.name: read(each.value, first + each.offset, is_exact=local(each.name) in _URL_NAMES) for each in found
        }

    def push(
        self, name: bytes, stop: int, texts: dict[bytes, str], namespaces: dict[str, str], *, is_entry: bool
    ) -> None:
        """Gives the start tag of a name to the builder, which ends at `stop` in the buffer."""
        for declaration in namespaces.items():
            self.StartNamespaceDeclHandler(*declaration)
        event_name = self.event_name(name, namespaces)
        values = {
            self.event_name(each, namespaces, is_attribute=True): text
            for each, text in texts.items()
            if not declares_namespace(each)
        }
        if not is_entry:
            self.start_tag = _start_tag(name, namespaces, values.get(XML_BASE))
        self.StartElementHandler(event_name, values)
        self._declares_inside = bool(namespaces) or (self._declares_inside and bool(self.inner))
        if is_entry:
            places = self.offset, self._buffer.start + stop
            # The names of entries are read in any case.
            own = local(name) if self.inner else local(name).lower()
            self.inner.append(OpenElement(name, own, event_name, *places, namespaces, names_location(name)))
        else:
            self.outer.append(name)
            self._event_names = {}

    def give_field(self, name: bytes, content: bytes, offset: int) -> None:
        """Gives a field without attributes to the builder, whose text begins at an offset. Raises NoCharacter."""
        event_name = self.event_name(name, {})
        self.StartElementHandler(event_name, {})
        if special_in(content):
            self.CharacterDataHandler(self._characters.text(content, offset, is_exact=names_location(name)))
        else:
            self.CharacterDataHandler(content.decode())
        self.offset = offset + len(content)
        self.EndElementHandler(event_name)

    def pop(self) -> OpenElement:
        """Gives the end of the innermost element of the entry to the builder."""
        element = self.inner.pop()
        self.EndElementHandler(element.event_name)
        return element

    def pop_outer(self) -> None:
        """Gives the end of the innermost element around entries to the builder."""
        self.outer.pop()
        self._event_names = {}
        self.EndElementHandler("")

    def rename(self, name: bytes) -> None:
        """Gives the innermost element another name."""
        element = self.inner[-1]
        element.name, element.local, element.is_location = name, local(name), names_location(name)
        self._builder.rename(self.event_name(name, element.namespaces))

    def give_text(self, written: bytes, offset: int) -> None:
        """Gives text at an offset to the builder. Raises NoCharacter inside of a location."""
        if special_in(written):
            text = self._characters.text(written, offset, is_exact=self.open_location is not None)
        else:
            text = written.decode()
        self.CharacterDataHandler(text)  # outside of entries too: the rest of a tag may stand there

    @property
    def open_location(self) -> OpenElement | None:
        """An open element that holds a URL."""
        return next((element for element in self.inner if element.is_location), None)

    # --- names ---

    def knows(self, name: bytes) -> bool:
        """Whether a name has a meaning here: an element of the dialect, of a known extension, or of HTML."""
        prefix, _, own = name.rpartition(b":")
        is_known = not prefix or prefix in PREFIXES
        around = () if is_known else (*self.outer, *(element.name for element in self.inner[:1]))
        is_known = is_known or any(other.startswith(prefix + b":") for other in around)
        is_name = own in KNOWN or own.lower() in LOCATIONS  # which are read in any case
        return (is_name and is_known) or own in ROOTS or name.lower() in HTML

    def event_name(self, name: bytes, namespaces: dict[str, str], *, is_attribute: bool = False) -> str:
        """The name as expat gives it, of an element that declares these namespaces, or of its attribute."""
        if is_attribute and b":" not in name:
            return name.decode()
        is_cached = not (namespaces or is_attribute or self._declares_inside)
        if is_cached and name in self._event_names:
            return self._event_names[name]
        prefix, _, own = name.decode().rpartition(":")
        namespace = self._namespace_of(prefix, namespaces)
        if namespace is None:
            namespace = self._declare(prefix, namespaces)
        found = f"{namespace}}}{own}" if namespace else own
        if is_cached and len(self._event_names) < _MAX_NAMES:
            self._event_names[name] = found
        return found

    def tag_of(self, token: Token) -> str:
        """The tag that the builder has for a start tag, by the namespaces with which push() will give it."""
        if not self.inner and not token.rest and token.name in self._event_names:
            return self._builder.vocabulary.tag_of(self._event_names[token.name])
        namespaces = namespaces_in(token)
        prefix, _, own = token.name.decode().rpartition(":")
        namespace = self._namespace_of(prefix, namespaces)
        if namespace is None:
            namespace = self._namespace_of_undeclared(prefix)
        return self._builder.vocabulary.tag_of(f"{namespace}}}{own}" if namespace else own)

    def _namespace_of(self, prefix: str, namespaces: dict[str, str]) -> str | None:
        if prefix == "xml":
            return _XML_NAMESPACE
        for declared in (namespaces, *(element.namespaces for element in reversed(self.inner))):
            if prefix in declared:
                return declared[prefix]
        return self._builder.namespace_of(prefix)

    def _namespace_of_undeclared(self, prefix: str) -> str:
        return self._builder.vocabulary.namespaces.usual.get(prefix) or f"urn:unbound:{prefix}"

    def _declare(self, prefix: str, namespaces: dict[str, str]) -> str:
        """Declares a prefix on the root: one such as `image` for its usual namespace, others for one of their own."""
        if len(self._prefixes) >= self._max_prefixes:
            raise UndeclaredPrefix("unbound prefix")
        namespace = self._namespace_of_undeclared(prefix)
        what = f'the prefix "{prefix}" is not declared, it was read as {namespace}'
        self._repairs.add("S01", what, self.line, kind="undeclared prefix")
        self._prefixes.add(prefix)
        if self._builder.root_seen:
            self._builder.declare(prefix, namespace)
        else:
            namespaces[prefix] = namespace
        return namespace


def namespaces_in(token: Token) -> dict[str, str]:
    """The namespaces that a start tag declares, by prefix."""
    return _declared(attributes(token.rest).found) if b"xmlns" in token.rest else {}


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
