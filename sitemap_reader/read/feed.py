"""RSS 0.9x, 1.0, 2.0 and Atom 0.3, 1.0 as sitemaps: items of the tree -> raw entries.

The channel's own link, image and date belong to no item, and never come here. Media RSS comes out as images and
videos. Sources: RSS 2.0 specification, RFC 4287 (Atom), Media RSS 1.5.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .namespaces import ATOM, RSS
from .normalise import RawEntry
from .tree import XML_BASE, Element, Entry, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

# The first of these that an item has is its date.
_RSS_DATES = ("pubDate", "dc:date", "atom:updated")
_ATOM_DATES = ("updated", "modified", "published", "issued")


def rss_vocabulary(namespace: str) -> Vocabulary:
    """The names of a document whose root is `<rss>` or `<RDF>`."""
    return Vocabulary(RSS, namespace, frozenset({"item"}), "link")


def atom_vocabulary(namespace: str) -> Vocabulary:
    """The names of a document whose root is `<feed>`."""
    return Vocabulary(ATOM, namespace, frozenset({"entry"}), "link")


def rss_entries(item: Entry) -> list[RawEntry]:
    """An item's `link`, else a `guid` that is not declared to be no permalink."""
    link = _first_text(item, "link")
    if not link:
        guids = [child for child in item.children if child.tag == "guid"]
        link = next((_text(guid) for guid in guids if _is_permalink(guid)), "")
    return [_raw(item, link, _RSS_DATES, _bases(item, "link", "guid"))]


def _is_permalink(guid: Element) -> bool:
    """RSS 2.0: true unless declared otherwise; but `post-17` is an identifier whatever it is declared as."""
    declared = (guid.get("isPermaLink") or "true").lower() != "false"
    return declared and _text(guid).lower().startswith(("http://", "https://"))


def atom_entries(entry: Entry) -> list[RawEntry]:
    """An entry's first link with `rel=alternate` or none (RFC 4287 4.2.7.2)."""
    for child in entry.children:
        if child.tag == "link" and (child.get("rel") or "alternate").lower() == "alternate":
            own = child.get(XML_BASE)
            bases = (*_bases(entry), *((own,) if own else ()))
            return [_raw(entry, (child.get("href") or "").strip(), _ATOM_DATES, bases)]
    return [_raw(entry, "", _ATOM_DATES, ())]


def _raw(item: Entry, link: str, dates: tuple[str, ...], bases: tuple[str, ...]) -> RawEntry:
    raw = RawEntry("url", link or None, item.line, bases=bases, problems=list(item.problems), date_dialect="rss")
    if item.is_cut:  # what it lacks may be the date that counts
        dates = dates[:1]
    raw.lastmod = next((text for tag in dates if (text := _first_text(item, tag))), None)
    raw.extensions = list(_media(item))
    return raw


def _text(element: Element) -> str:
    return element.text.strip()


def _first_text(item: Element, tag: str) -> str:
    return next((_text(child) for child in item.children if child.tag == tag and _text(child)), "")


def _bases(item: Entry, *tags: str) -> tuple[str, ...]:
    """xml:base of the item and of its first child among `tags`, behind the ancestors'."""
    own = [item.get(XML_BASE)]
    own += [child.get(XML_BASE) for child in item.children if child.tag in tags][:1]
    return (*item.bases, *(base for base in own if base))


def _media(item: Entry) -> Iterator[Element]:
    """Media RSS, said in the words of the sitemap extensions."""
    for child in item.children:
        if child.tag in ("media:content", "media:group"):
            contents = child.children if child.tag == "media:group" else [child]
            for content in contents:
                yield from _media_content(content, child, item)


def _media_content(content: Element, group: Element, item: Element) -> Iterator[Element]:
    url = content.get("url")
    medium = content.get("medium") or (content.get("type") or "").partition("/")[0]
    if content.tag != "media:content" or not url or medium not in ("image", "video"):
        return
    places = (content, group, item)
    title = _nearest(places, "media:title")
    description = _nearest(places, "media:description")
    if medium == "image":
        parts = [("image:loc", url), ("image:title", title), ("image:caption", description)]
    else:
        parts = [
            ("video:thumbnail_loc", _nearest(places, "media:thumbnail", "url")),
            ("video:title", title),
            ("video:description", description),
            ("video:content_loc", url),
            ("video:duration", content.get("duration")),
        ]
    built = Element(f"{medium}:{medium}", [])
    built.children = [Element(tag, [], text=text) for tag, text in parts if text]
    yield built


def _nearest(places: tuple[Element, ...], tag: str, attribute: str | None = None) -> str | None:
    """Media RSS 1.5.1: optional elements may stand at the content, its group or the item; the innermost counts."""
    for place in places:
        for child in place.children:
            if child.tag == tag:
                return child.get(attribute) if attribute else _text(child)
    return None
