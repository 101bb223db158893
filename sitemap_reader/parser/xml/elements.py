"""What a document's entries are made of: elements in small trees, and the names that its vocabulary gives their tags.

builder.py makes them, the rooms of the dialects read them. The elements are ElementTree's, which are made in C: `text`
stands before the first child, and behind a child its `tail`. A `tag` is the vocabulary's name for it, or
`namespace}name` where that has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from xml.etree.ElementTree import Element

    from ...model.problems import Problem

XML_BASE = "http://www.w3.org/XML/1998/namespace}base"
# Names are the stranger's: remember no more of them than a real document has.
_MAX_NAMES = 10_000


@attrs.define
class Entry:
    """An element that lists something: its `line`, its ancestors' xml:base (outermost first), what was mended.

    `is_cut`: its end has not been seen, and fields may be missing.
    """

    element: Element
    line: int
    bases: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    is_cut: bool = False


def text_of(element: Element) -> str:
    """All text inside, its children's too."""
    return "".join(element.itertext()) if len(element) else element.text or ""


def stripped(element: Element) -> str:
    """The same without the white space around it."""
    return text_of(element).strip() if len(element) else (element.text or "").strip()


def own_text(element: Element) -> str | None:
    """The text that stands before all children; None where more of it stands between or behind them."""
    is_mixed = any(child.tail and child.tail.strip() for child in element)
    return None if is_mixed else element.text or ""


def text_without(element: Element, tags: frozenset[str]) -> tuple[str, list[str]]:
    """All its text, inline markup and all, stripped; but not that of tags that only slipped into it: which did."""
    strays = [child.tag for child in element if child.tag in tags]
    return (own_text(element) or "").strip() if strays else stripped(element), strays


def is_core(tag: str) -> bool:
    """Whether a vocabulary's tag is the protocol's own, of no other namespace."""
    return ":" not in tag and "}" not in tag


class Vocabulary(dict[str, str]):
    """expat's `namespace}name` -> a document's own tag, worked out once for each distinct name.

    The root's namespace and none are core: plain `name`. Known namespaces give `prefix:name`, whatever prefix
    the document uses ("" makes them core). Everything else stays as it is, so is never taken for a core element.
    `location` is the tag that an entry cannot do without. `loose_entry`: the entry that a location belongs to which
    stands outside of any; such a document holds entries only. `tags` are those that are known in capitals too, `voids`
    hold nothing, and `judge(namespace)` says what is wrong with one: `note(code, message, name)` hears of each once.
    """

    def __init__(
        self,
        namespaces: Mapping[str, str],
        root_namespace: str,
        entries: frozenset[str],
        location: str,
        loose_entry: str | None = None,
        tags: frozenset[str] = frozenset(),
        voids: frozenset[str] = frozenset(),
        judge: Callable[[str], str | None] = lambda namespace: None,
    ) -> None:
        super().__init__()
        self.note: Callable[[str, str, str], None] = lambda code, message, name: None
        self.entries = entries
        self.tags = tags
        self._written = {tag.lower(): tag for tag in tags}
        self.voids = voids
        self._judge = judge
        self._judged: set[str] = set()
        self.location = location
        self.loose_entry = loose_entry
        self._namespaces = namespaces
        self._root_namespace = root_namespace

    @property
    def prefixes(self) -> dict[str, str]:
        """What a prefix usually means: a namespace for each."""
        found: dict[str, str] = {}
        for namespace, prefix in self._namespaces.items():
            found.setdefault(prefix, namespace)
        return found

    def __missing__(self, name: str) -> str:
        namespace, _, local = name.rpartition("}")
        prefix = "" if namespace in ("", self._root_namespace) else self._namespaces.get(namespace)
        tag = name if prefix is None else f"{prefix}:{local}" if prefix else local
        if tag not in self.tags and (meant := self._written.get(tag.lower())):
            why = "names are in small letters" if meant.islower() else "that is how it is written"
            self.note("S10", f"<{tag[:80]}> was read as <{meant}>: {why}", tag[:80])
            tag = meant
        if prefix != "" and namespace not in self._judged and len(self._judged) < _MAX_NAMES:
            self._judged.add(namespace)
            if fault := self._judge(namespace):
                self.note("S02", fault, local[:80])
        if len(self) < _MAX_NAMES:
            self[name] = tag
        return tag
