"""Namespaces, tag names and entry elements: what entry_builder.py makes, and the dialects read.

A Vocabulary maps expat's `namespace}name` to the tag that a dialect knows: `loc`, `image:loc`. An Entry is a small tree
of ElementTree elements with such tags; `text` precedes the first child, and the `tail` of a child follows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

import attrs

from ...model.problems import report
from ...model.records import EXTENSIONS

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from ...model.problems import Kind, Problem


# --- namespaces, and the prefix of their tags ---

# Sources: sitemaps.org 0.9, Google's and Baidu's schemas of the extensions, the RSS and Atom specifications. XML
# compares namespaces as strings (Namespaces 2.3): these are right, all others that are read have a Problem (S02).

CORE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def _with_scheme(*names: str) -> list[str]:
    """Namespaces that are written without their scheme, which is http, or with another one."""
    return [name if "://" in name else f"http://{name}" for name in names]


# Prefix -> its namespaces, the canonical one first.
_EXTENSIONS = {
    **{each.prefix: _with_scheme(each.namespace, *each.also) for each in EXTENSIONS.values()},
    "pagemap": _with_scheme("www.google.com/schemas/sitemap-pagemap/1.0"),
}
_ATOM = _with_scheme("www.w3.org/2005/Atom", "purl.org/atom/ns#")
_RSS = _with_scheme(
    "purl.org/rss/1.0/",
    "my.netscape.com/rdf/simple/0.9/",
    "channel.netscape.com/rdf/simple/0.9/",
    "backend.userland.com/rss2",
    "backend.userland.com/RSS2",
    "purl.org/rss/2.0/",
    "backend.userland.com/rss",
    "blogs.law.harvard.edu/tech/rss",
)
_FEED_EXTENSIONS = {
    "dc": _with_scheme("purl.org/dc/elements/1.1/"),
    "media": _with_scheme("search.yahoo.com/mrss/", "search.yahoo.com/mrss"),
    "atom": _ATOM,
}
# Others that generators write: Google's for the protocol, which has the version 0.9 since 2006; the URLs of the
# specification of Media RSS, now and before.
_MISTAKEN = {
    "": ["www.google.com/schemas/sitemap"],
    **{each.prefix: list(each.mistaken) for each in EXTENSIONS.values()},
}
_MISTAKEN_FEED_EXTENSIONS = {"media": ["www.rssboard.org/media-rss", "video.search.yahoo.com/mrss/"]}

# What an Atom link to the page itself may have for its rel: a registered name stands for the IRI (RFC 4287 4.2.7.2).
ALTERNATE = frozenset({"alternate", "http://www.iana.org/assignments/relation/alternate"})

_VERSION = re.compile(r"/[\d.]+\Z")
_MAX_NEAR_CHARACTERS = 200  # a longer one is no misspelling


def _near(namespace: str) -> str:
    """What is left of a namespace without the parts that are often wrong: scheme, `www.`, case, version, last slash."""
    if len(namespace) > _MAX_NEAR_CHARACTERS:
        return ""
    name = namespace.strip().lower()
    name = name.removeprefix("http:").removeprefix("https:").lstrip("/").removeprefix("www.").rstrip("/#")
    return _VERSION.sub("", name)


@attrs.frozen
class Namespaces:
    """The namespaces that a kind of document has, with the prefix of their tags ("": the document's own).

    `exact` are the right ones, `near` what _near() leaves of these and of mistaken ones. Where one that is not read
    matches `similar`, that is a Problem.
    """

    exact: Mapping[str, str]
    near: Mapping[str, str]
    similar: re.Pattern[str] | None = None

    def prefix_of(self, namespace: str) -> str | None:
        """The prefix of its tags; None where it is unknown."""
        found = self.exact.get(namespace)
        return self.near.get(_near(namespace)) if found is None else found

    @property
    def usual(self) -> dict[str, str]:
        """Prefix -> its canonical namespace."""
        found: dict[str, str] = {}
        for namespace, prefix in self.exact.items():
            found.setdefault(prefix, namespace)
        return found

    @property
    def own(self) -> list[str]:
        """The right namespaces of the document's own tags."""
        return [namespace for namespace, prefix in self.exact.items() if not prefix]

    def looks_known(self, namespace: str) -> bool:
        """Whether an unknown one is most likely meant to be one of these."""
        return self.similar is not None and self.similar.search(namespace, 0, _MAX_NEAR_CHARACTERS) is not None


def _namespaces(
    tables: list[dict[str, list[str]]], mistaken: dict[str, list[str]], similar: re.Pattern[str] | None = None
) -> Namespaces:
    exact = {name: prefix for table in tables for prefix, names in table.items() for name in names}
    others = {name: prefix for prefix, names in mistaken.items() for name in names}
    return Namespaces(exact, {_near(name): prefix for name, prefix in {**exact, **others}.items()}, similar)


_LOOKS_LIKE_EXTENSION = re.compile(r"schemas/sitemap-|/xhtml", re.IGNORECASE)
SITEMAP = _namespaces([{"": [CORE]}, _EXTENSIONS], _MISTAKEN, _LOOKS_LIKE_EXTENSION)
RSS = _namespaces([{"": _RSS}, _FEED_EXTENSIONS], _MISTAKEN_FEED_EXTENSIONS)
ATOM = _namespaces([{**_FEED_EXTENSIONS, "": _ATOM}], _MISTAKEN_FEED_EXTENSIONS)
NO_NAMESPACES = _namespaces([], {})

EXTENSION_PREFIXES = frozenset(each.prefix for each in EXTENSIONS.values())
_CANONICAL = {prefix: names[0] for table in (_EXTENSIONS, _FEED_EXTENSIONS) for prefix, names in table.items()}


def clark(tag: str) -> tuple[str, str]:
    """A vocabulary's tag as (namespace, local name): of `image:loc` the canonical namespace, of `uri}x` as written."""
    namespace, brace, local = tag.rpartition("}")
    if brace:
        return namespace, local
    prefix, _, local = tag.rpartition(":")
    return _CANONICAL.get(prefix, ""), local


@cache
def _by_small_letters(tags: frozenset[str]) -> Mapping[str, str]:
    return {tag.lower(): tag for tag in tags}


# To a parser of XML these are elements that no sitemap has.
WRONG_CASE: Final = "root, entry or location not in small letters"
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


def wrong_root(namespace: str, whose: str) -> Problem:
    """The S02 of a root whose namespace is not the one that it should have."""
    which = f'the namespace "{namespace[:_MAX_NEAR_CHARACTERS]}" is not {whose}'
    what = which if namespace else "the root has no namespace"
    return report("S02", f"{what}; the document is read anyway", raw=namespace, kind="namespace of the document")


def is_link_to_page(link: Element) -> bool:
    """Whether a link of Atom has an href that is the page: with the rel `alternate`, or without one."""
    return bool(href_of(link)) and relation(link) in ALTERNATE


def href_of(link: Element) -> str:
    """The href of a link of Atom, stripped; empty without one."""
    return (link.get("href") or "").strip()


def relation(link: Element) -> str:
    """The rel of a link of Atom."""
    return (link.get("rel") or "alternate").strip().lower()


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
    says whether an element of an entry links to its page, if the first such one counts.

    `extensions` are tags that are also known by the prefix that the document writes: where it declares `image` for a
    wrong namespace, the first `<image:image>` shows what is meant. `declared` has the prefixes of these tags by the
    namespace that they are declared for. `note(name, code, message, field)` gets what is wrong with a name, once each.
    `root_problems` are those of the root element.
    """

    def __init__(
        self,
        namespaces: Namespaces,
        root_namespace: str,
        entries: frozenset[str],
        location: str,
        implied_entry: str | None = None,
        tags: frozenset[str] = frozenset(),
        void_tags: frozenset[str] = frozenset(),
        is_link: Callable[[Element], bool] | None = None,
        extensions: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__()
        self.declared: Mapping[str, set[str]] = {}
        self.note: Callable[[str, str, str, str, Kind | None], None] = lambda *noted: None
        self.root_problems: list[Problem] = []
        self.entries = entries
        self.tags = tags
        self._written = _by_small_letters(tags)
        self.void_tags = void_tags
        self.is_link = is_link
        self._extensions = extensions
        self._mistaken: dict[str, str] = {}  # wrong namespace -> the prefix that shows what is meant
        self._judged: dict[str, str] = {}  # namespace -> the name with which it was judged
        self.location = location
        self.implied_entry = implied_entry
        self.namespaces = namespaces
        self._root_namespace = root_namespace

    def prefix_of(self, namespace: str) -> str | None:
        """The prefix of the tags in a namespace; "" for core tags, None for a namespace that is unknown."""
        if namespace in ("", self._root_namespace):
            return ""
        return self._mistaken.get(namespace) or self.namespaces.prefix_of(namespace)

    def may_hold_entry(self, field: str) -> bool:
        """Whether an element with the name of an entry may be part of a field: not in one of the protocol.

        `<url><loc>https://example.com/a<loc /><url />` is well-formed, and each entry would be inside of the first.
        """
        return self.implied_entry is None or field not in self.tags or not is_core(field)

    def would_note(self, namespace: str) -> bool:
        """Whether the next element in a namespace is the first one, and may have a Problem for that."""
        return namespace not in self._judged and bool(self._fault(namespace) or self._declared_as(namespace))

    def _declared_as(self, namespace: str) -> str | None:
        """The prefix that shows what is meant by a wrong namespace; None without one, or where there are several."""
        prefixes = self.declared.get(namespace, ())
        if len(prefixes) != 1 or namespace in self._mistaken:
            return None
        (prefix,) = prefixes
        return None if self.prefix_of(namespace) in ("", prefix) else prefix

    def _fault(self, namespace: str) -> str | None:
        is_exact = namespace in self.namespaces.exact and namespace not in self._mistaken
        if is_exact or namespace == self._root_namespace:
            return None
        if not namespace:
            is_strict = self.implied_entry is not None
            return "elements without a namespace are read as if they had that of the root" if is_strict else None
        prefix = self.prefix_of(namespace)
        what = f'namespace "{namespace[:_MAX_NEAR_CHARACTERS]}"'
        if prefix is not None:
            return f"the {what} is wrong; it is read as {prefix or 'one of the document itself'}"
        is_meant = self.namespaces.looks_known(namespace) or len(self.declared.get(namespace, ())) > 1
        return f"unknown {what}: its elements are skipped" if is_meant else None

    def forget(self, name: str) -> None:
        """Forgets a name, so that what is wrong with it is noted again."""
        self.pop(name, None)
        namespace = name.rpartition("}")[0]
        if self._judged.get(namespace) == name:
            del self._judged[namespace]

    def tag_of(self, name: str) -> str:
        """The tag of a name, without a note on how it is written."""
        tag = self.get(name) or self._plain_tag(name)
        return tag if tag in self.tags else self._written.get(tag.lower(), tag)

    def _plain_tag(self, name: str) -> str:
        namespace, _, local = name.rpartition("}")
        prefix = self.prefix_of(namespace)
        return name if prefix is None else f"{prefix}:{local}" if prefix else local

    def __missing__(self, name: str) -> str:
        if not self.tags:  # before the root
            return name
        namespace, _, local = name.rpartition("}")
        self._recognise(name, namespace, local)
        tag = self._plain_tag(name)
        if tag not in self.tags and (meant := self._written.get(tag.lower())):
            why = "names are in small letters" if meant.islower() else "that is how it is written"
            kind: Kind | None = WRONG_CASE if meant in self.entries or meant == self.location else None
            self.note(name, "S10", f"<{tag[:80]}> was read as <{meant}>: {why}", tag[:80], kind)
            tag = meant
        if namespace not in self._judged and len(self._judged) < _MAX_NAMES and (fault := self._fault(namespace)):
            self._judged[namespace] = name
            self.note(name, "S02", fault, local[:80], None)
        if len(self) < _MAX_NAMES:
            self[name] = tag
        return tag

    def _recognise(self, name: str, namespace: str, local: str) -> None:
        """Learns what a wrong namespace means, from an element whose prefix and name are those of an extension."""
        prefix = self._declared_as(namespace)
        if not prefix or self._plain_tag(name) in self.tags:
            return
        if f"{prefix}:{local}".lower() in self._extensions:
            self._mistaken[namespace] = prefix
            for tag in self.tags:  # that were unknown so far
                self.pop(f"{namespace}}}{tag.rpartition(':')[2]}", None)
