"""Namespaces, tag names and entry elements: what entry_builder.py makes, and the dialects read.

A Vocabulary maps expat's `namespace}name` to the tag that a dialect knows: `loc`, `image:loc`. An Entry is a small tree
of ElementTree elements with such tags; `text` precedes the first child, and the `tail` of a child follows it.
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


# --- known namespaces, and the prefix of their tags ---

# Sources: sitemaps.org 0.9, Google's schemas of the extensions, the RSS and Atom specifications.


def _spellings(*names: str) -> list[str]:
    """With both schemes, with and without a slash at the end, as found in the wild; the name as given is first."""
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

# Prefix -> its namespaces, the canonical one first.
_EXTENSIONS = {
    **{each.prefix: _spellings(each.namespace, *each.older) for each in EXTENSIONS.values()},
    "pagemap": _spellings("www.google.com/schemas/sitemap-pagemap/1.0"),
}
# Wrong, but unambiguous: generators write these. Read all the same, with a Problem (S02).
_WRONG = {each.prefix: _spellings(*each.mistaken) for each in EXTENSIONS.values()}
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
_FEED_EXTENSIONS = {
    "dc": _spellings("purl.org/dc/elements/1.1/"),
    "media": _spellings("search.yahoo.com/mrss/"),
    "atom": _ATOM,
}
# The URLs of the specification of Media RSS, now and before.
_WRONG_FEED_EXTENSIONS = {
    "media": _spellings("www.rssboard.org/media-rss", "video.search.yahoo.com/mrss/"),
}

# What an Atom link to the page itself may have for its rel: a registered name stands for the IRI (RFC 4287 4.2.7.2).
ALTERNATE = frozenset({"alternate", "http://www.iana.org/assignments/relation/alternate"})


def _prefixes(*tables: dict[str, list[str]]) -> dict[str, str]:
    return {name: prefix for table in tables for prefix, names in table.items() for name in names}


# Namespace -> prefix, for each kind of document; "" for core tags.
SITEMAP = {**_prefixes(_EXTENSIONS, _WRONG), **dict.fromkeys(CORE, "")}
RSS = {**_prefixes(_FEED_EXTENSIONS, _WRONG_FEED_EXTENSIONS), **dict.fromkeys(_RSS, "")}
ATOM = {**_prefixes(_FEED_EXTENSIONS, _WRONG_FEED_EXTENSIONS), **dict.fromkeys(_ATOM, "")}

_CANONICAL = {prefix: names[0] for table in (_EXTENSIONS, _FEED_EXTENSIONS) for prefix, names in table.items()}


def wrong_namespace(namespace: str) -> str | None:
    """Why a namespace that is read is wrong; None where it is right."""
    prefix = _WRONG_PREFIXES.get(namespace)
    return prefix and f'the namespace "{namespace}" is wrong; it is read as {prefix}'


def wrong_sitemap_namespace(namespace: str) -> str | None:
    """The same for a sitemap; also for a namespace that only looks like that of an extension, which is not read."""
    if namespace in SITEMAP or not _LOOKS_LIKE_EXTENSION.search(namespace):
        return wrong_namespace(namespace)
    return f'unknown namespace "{namespace[:200]}": its elements are skipped'


_WRONG_PREFIXES = _prefixes(_WRONG, _WRONG_FEED_EXTENSIONS)
_LOOKS_LIKE_EXTENSION = re.compile(r"schemas/sitemap-|/xhtml", re.IGNORECASE)


def clark(tag: str) -> tuple[str, str]:
    """A vocabulary's tag as (namespace, local name): of `image:loc` the canonical namespace, of `uri}x` as written."""
    namespace, brace, local = tag.rpartition("}")
    if brace:
        return namespace, local
    prefix, _, local = tag.rpartition(":")
    return _CANONICAL.get(prefix, ""), local


XML_BASE = "http://www.w3.org/XML/1998/namespace}base"
# Names come from the document: no more are cached than a real one has.
_MAX_NAMES = 10_000


@attrs.define
class Entry:
    """The element of one entry, its `line`, its ancestors' xml:base (outermost first), and its Problems.

    `is_cut`: its end was not read, and fields may be missing.
    """

    element: Element
    line: int
    bases: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    is_cut: bool = False


def text_of(element: Element) -> str:
    """All text of an element, with that of its children."""
    return "".join(element.itertext()) if len(element) else element.text or ""


def count_urls(element: Element) -> int:
    """How many of its elements hold a URL, in their text or an attribute; not those of extensions."""
    own = (each for each in element.iter() if is_core(each.tag))
    return sum(any("://" in text for text in (each.text or "", *each.attrib.values())) for each in own)


def stripped(element: Element) -> str:
    """text_of() without white space around it."""
    return text_of(element).strip() if len(element) else (element.text or "").strip()


def own_text(element: Element) -> str | None:
    """The text before all children; None where there is text between or after them too."""
    is_mixed = any(child.tail and child.tail.strip() for child in element)
    return None if is_mixed else element.text or ""


def text_without(element: Element, tags: frozenset[str]) -> tuple[str, list[str]]:
    """The stripped text without that of misplaced child elements, whose `tags` are given; and which of these it has."""
    strays = [child.tag for child in element if child.tag in tags]
    return (own_text(element) or "").strip() if strays else stripped(element), strays


def is_core(tag: str) -> bool:
    """Whether a tag is one of the protocol, not of an extension or unknown namespace."""
    return ":" not in tag and "}" not in tag


class Vocabulary(dict[str, str]):
    """expat's `namespace}name` -> the tag of a dialect, computed once for each distinct name.

    Names without a namespace, or of the root's, are core: `name`. Those of known namespaces are `prefix:name`, for any
    prefix of the document ("" makes them core). All others stay as they are. `entries` are the tags of entries,
    `location` is the one that each entry needs. `implied_entry` is the entry that a location outside of any belongs to;
    such a document holds entries only. `tags` are recognised in any case, `void_tags` are empty elements. `is_link`
    says whether an element of an entry links to its page, if the first such one counts. `judge` says what is wrong
    with a namespace; `note(name, code, message, field)` gets that, once each.
    """

    def __init__(
        self,
        namespaces: Mapping[str, str],
        root_namespace: str,
        entries: frozenset[str],
        location: str,
        implied_entry: str | None = None,
        tags: frozenset[str] = frozenset(),
        void_tags: frozenset[str] = frozenset(),
        is_link: Callable[[Element], bool] | None = None,
        judge: Callable[[str], str | None] = lambda namespace: None,
    ) -> None:
        super().__init__()
        self.note: Callable[[str, str, str, str], None] = lambda name, code, message, field: None
        self.entries = entries
        self.tags = tags
        self._written = {tag.lower(): tag for tag in tags}
        self.void_tags = void_tags
        self.is_link = is_link
        self._judge = judge
        self._judged: set[str] = set()
        self.location = location
        self.implied_entry = implied_entry
        self._namespaces = namespaces
        self._root_namespace = root_namespace

    @property
    def prefixes(self) -> dict[str, str]:
        """Prefix -> its usual namespace."""
        found: dict[str, str] = {}
        for namespace, prefix in self._namespaces.items():
            found.setdefault(prefix, namespace)
        return found

    def prefix_of(self, namespace: str) -> str | None:
        """The prefix of the tags in a namespace; "" for core tags, None for a namespace that is unknown."""
        return "" if namespace in ("", self._root_namespace) else self._namespaces.get(namespace)

    def would_note(self, namespace: str) -> bool:
        """Whether the next element in a namespace is the first one, and has a Problem for that."""
        is_judged = self.prefix_of(namespace) == "" or namespace in self._judged
        return not is_judged and self._judge(namespace) is not None

    def forget(self, name: str) -> None:
        """Forgets a name, so that what is wrong with it is noted again."""
        self.pop(name, None)
        self._judged.discard(name.rpartition("}")[0])

    def tag_of(self, name: str) -> str:
        """The tag of a name, without a note on how it is written."""
        tag = self.get(name) or self._plain_tag(name)
        return tag if tag in self.tags else self._written.get(tag.lower(), tag)

    def _plain_tag(self, name: str) -> str:
        namespace, _, local = name.rpartition("}")
        prefix = self.prefix_of(namespace)
        return name if prefix is None else f"{prefix}:{local}" if prefix else local

    def __missing__(self, name: str) -> str:
        namespace, _, local = name.rpartition("}")
        prefix = self.prefix_of(namespace)
        tag = self._plain_tag(name)
        if tag not in self.tags and (meant := self._written.get(tag.lower())):
            why = "names are in small letters" if meant.islower() else "that is how it is written"
            self.note(name, "S10", f"<{tag[:80]}> was read as <{meant}>: {why}", tag[:80])
            tag = meant
        if prefix != "" and namespace not in self._judged and len(self._judged) < _MAX_NAMES:
            self._judged.add(namespace)
            if fault := self._judge(namespace):
                self.note(name, "S02", fault, local[:80])
        if len(self) < _MAX_NAMES:
            self[name] = tag
        return tag
