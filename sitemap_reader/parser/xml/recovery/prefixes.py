"""Prefixes that nobody declared: which ones a tag uses, and what declares them for the rest of the document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....model.problems import report
from ..scan import declared_prefixes, tag_name, unbound_prefixes
from .edits import Edit

if TYPE_CHECKING:
    from ..entry_builder import Builder
    from ..errors import Fault


class Prefixes:
    """Declares no more than `limit` of them; each is read as what it usually means, or as a namespace of its own."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._declared: set[str] = set()

    def declare(self, data: bytes | bytearray, fault: Fault, builder: Builder) -> list[Edit]:
        """At the root, through `builder`, or in the root's tag; the edits that say so, none where that is no help."""
        prefixes = unbound_prefixes(data, fault.position) - self._declared - builder.declared
        before = declared_prefixes(data[: fault.position])  # by the entry, around the tag or beside it
        prefixes = prefixes - before or prefixes
        if len(self._declared) + len(prefixes) > self._limit:
            fault.limit = "max_prefixes"
            return []
        self._declared |= prefixes
        edits = []
        for prefix in sorted(prefixes):
            namespace = builder.prefixes.get(prefix) or f"urn:unbound:{prefix}"
            attribute = f' xmlns:{prefix}="{namespace}"'.encode()
            message = f'the prefix "{prefix}" is not declared, it was read as {namespace}'
            problem = report("S01", message, severity="warning")
            place = fault.position + 1 + len(tag_name(data, fault.position))
            edits.append(Edit(place, place, b"" if builder.root_seen else attribute, problem))
            if builder.root_seen:
                builder.declare(attribute)
        return edits
