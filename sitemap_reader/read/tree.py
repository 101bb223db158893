"""What a document's entries are made of: elements in small trees, and the names that its vocabulary gives their tags.

builder.py makes them, the rooms of the dialects read them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ..problems import Problem

XML_BASE = "http://www.w3.org/XML/1998/namespace}base"
# Names are the stranger's: remember no more of them than a real document has.
_MAX_NAMES = 10_000


class Element:
    """An element of an entry. `tag` is the vocabulary's name for it, or `namespace}name` where that has none.

    `attributes` alternates names and values, as expat gives them. `pieces` are the text of its whole entry, as it was
    read, of which it has those from `mark` to `end`: elements inside each other share it.
    """

    __slots__ = ("attributes", "children", "end", "mark", "pieces", "tag")

    def __init__(self, tag: str, attributes: list[str], pieces: list[str], mark: int = 0) -> None:
        self.tag = tag
        self.attributes = attributes
        self.pieces = pieces
        self.mark = mark
        self.end = mark + len(pieces)
        self.children: list[Element] = []

    @property
    def text(self) -> str:
        """All text inside, its children's too."""
        return "".join(self.pieces[self.mark : self.end])

    def get(self, name: str) -> str | None:
        """The value of an attribute, None where there is none."""
        return attribute(self.attributes, name)

    @property
    def attribute_pairs(self) -> Iterator[tuple[str, str]]:
        """The attributes as (name, value)."""
        return zip(self.attributes[::2], self.attributes[1::2], strict=True)

    def text_without(self, tags: frozenset[str]) -> tuple[str, list[str]]:
        """All its text, inline markup and all, stripped; but not that of tags that only slipped into it: which did."""
        strays = [child.tag for child in self.children if child.tag in tags]
        return ((self.own_text if strays else self.text) or "").strip(), strays

    @property
    def own_text(self) -> str | None:
        """The text that stands before all children; None where more of it stands between or behind them."""
        if not self.children:
            return self.text
        marks = [*(child.mark for child in self.children[1:]), self.end]
        gaps = zip([child.end for child in self.children], marks, strict=True)
        is_mixed = any("".join(self.pieces[end:mark]).strip() for end, mark in gaps if end < mark)
        return None if is_mixed else "".join(self.pieces[self.mark : self.children[0].mark])


class Entry(Element):
    """An element that lists something: its `line`, its ancestors' xml:base (outermost first), what was mended.

    `is_cut`: its end has not been seen, and fields may be missing.
    """

    __slots__ = ("bases", "is_cut", "line", "problems")

    def __init__(self, tag: str, attributes: list[str], line: int, bases: tuple[str, ...] = ()) -> None:
        super().__init__(tag, attributes, [])
        self.line = line
        self.bases = bases
        self.problems: tuple[Problem, ...] = ()
        self.is_cut = False


def is_core(tag: str) -> bool:
    """Whether a vocabulary's tag is the protocol's own, of no other namespace."""
    return ":" not in tag and "}" not in tag


def attribute(attributes: list[str], name: str) -> str | None:
    """The value of one of expat's attributes, None where there is none."""
    for index in range(0, len(attributes), 2):
        if attributes[index] == name:
            return attributes[index + 1]
    return None


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
