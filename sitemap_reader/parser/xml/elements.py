"""What a document's entries are made of: elements in small trees, and the names that its vocabulary gives their tags.

builder.py makes them, the rooms of the dialects read them. The elements are ElementTree's, which are made in C: `text`
stands before the first child, and behind a child its `tail`. A `tag` is the vocabulary's name for it, or
`namespace}name` where that has none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from ...model.records import EXTENSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from xml.etree.ElementTree import Element

    from ...model.problems import Problem


# ----------------------------------------------------------------------------------------------------
# Every namespace that is known, and the prefix by which its tags are called here.
#
# Both schemes are seen in the wild, with and without a slash at the end. Sources: sitemaps.org 0.9, Google's schemas
# of the extensions, the RSS and Atom specifications.


def _spellings(*names: str) -> list[str]:
    """As given, over http, comes first."""
    found = []
    for name in names:
        other = name.removesuffix("/") if name.endswith("/") else name + "/"
        found += [f"{scheme}://{spelling}" for scheme in ("http", "https") for spelling in (name, other)]
    return found


CORE = frozenset(
    _spellings(
        "www.sitemaps.org/schemas/sitemap/0.9",
        "sitemaps.org/schemas/sitemap/0.9",
        "www.google.com/schemas/sitemap/0.84",
        "www.google.com/schemas/sitemap/0.9",
        "www.google.com/schemas/sitemap/0.90",
    )
)

# Prefix -> the namespaces it stands for, the proper one first.
_EXTENSIONS = {
    **{each.prefix: _spellings(each.namespace, *each.older) for each in EXTENSIONS.values()},
    "pagemap": _spellings("www.google.com/schemas/sitemap-pagemap/1.0"),
}
# Wrong, but unmistakable: generators write these. Read all the same, and noted (S02).
_MISTAKEN = {each.prefix: _spellings(*each.mistaken) for each in EXTENSIONS.values()}
_ATOM = _spellings("www.w3.org/2005/Atom", "purl.org/atom/ns#")
_RSS = _spellings(
    "purl.org/rss/1.0/",
    "my.netscape.com/rdf/simple/0.9/",
    "channel.netscape.com/rdf/simple/0.9/",
    "backend.userland.com/rss2",
    "purl.org/rss/2.0/",
    "backend.userland.com/rss",
    "blogs.law.harvard.edu/tech/rss",
)
_BESIDE_FEEDS = {
    "dc": _spellings("purl.org/dc/elements/1.1/"),
    "media": _spellings("search.yahoo.com/mrss/"),
    "atom": _ATOM,
}
# Where the specification of Media RSS stands, and where it stood.
_MISTAKEN_BESIDE_FEEDS = {
    "media": _spellings("www.rssboard.org/media-rss", "video.search.yahoo.com/mrss/"),
}

# What an Atom link to the page itself may have for its rel: a registered name stands for the IRI (RFC 4287 4.2.7.2).
ALTERNATE = frozenset({"alternate", "http://www.iana.org/assignments/relation/alternate"})


def _prefixes(*tables: dict[str, list[str]]) -> dict[str, str]:
    return {name: prefix for table in tables for prefix, names in table.items() for name in names}


# Namespace -> prefix, in documents of each kind; "" makes tags core.
SITEMAP = {**_prefixes(_EXTENSIONS, _MISTAKEN), **dict.fromkeys(CORE, "")}
RSS = {**_prefixes(_BESIDE_FEEDS, _MISTAKEN_BESIDE_FEEDS), **dict.fromkeys(_RSS, "")}
ATOM = {**_prefixes(_BESIDE_FEEDS, _MISTAKEN_BESIDE_FEEDS), **dict.fromkeys(_ATOM, "")}

_PROPER = {prefix: names[0] for table in (_EXTENSIONS, _BESIDE_FEEDS) for prefix, names in table.items()}


def judge_mistaken(namespace: str) -> str | None:
    """Why a namespace is wrong although it is read; None: it is not."""
    prefix = _MISTAKEN_PREFIXES.get(namespace)
    return prefix and f'the namespace "{namespace}" is wrong: read as {prefix} all the same'


def judge(namespace: str) -> str | None:
    """The same for a sitemap, where one that only looks like an extension's is at fault too."""
    if namespace in SITEMAP or not _LOOKS_LIKE_OURS.search(namespace):
        return judge_mistaken(namespace)
    return f'the namespace "{namespace[:200]}" is none of the extensions\': what is in it is passed over'


_MISTAKEN_PREFIXES = _prefixes(_MISTAKEN, _MISTAKEN_BESIDE_FEEDS)
_LOOKS_LIKE_OURS = re.compile(r"schemas/sitemap-|/xhtml", re.IGNORECASE)


def clark(tag: str) -> tuple[str, str]:
    """A vocabulary's tag as (namespace, local name): of `image:loc` the proper namespace, of `{uri}x` as written."""
    namespace, brace, local = tag.rpartition("}")
    if brace:
        return namespace, local
    prefix, _, local = tag.rpartition(":")
    return _PROPER.get(prefix, ""), local


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
