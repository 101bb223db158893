"""The elements that are open where markup broke: those around by their names, and those of the entry at fault.

Knows what they hold and which names mean something there; decides nothing.
"""

from __future__ import annotations

import attrs

from ..scan import local, names_location
from .tokenizer import CONTAINERS, ENTRIES, FIELDS, HTML, KNOWN, PREFIXES, ROOTS, TEXTS


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
class Nest:
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
