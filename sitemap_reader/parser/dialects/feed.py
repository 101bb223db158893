"""RSS 0.9x, 1.0, 2.0 and Atom 0.3, 1.0 as sitemaps: XML items in, RawEntry objects out.

An item gives its link, its date, its title (an extra) and its elements of other namespaces; Media RSS becomes image and
video extensions. Elements of the channel are ignored. Sources: RSS 0.90 to 2.0, RFC 4287 (Atom), Media RSS 1.5.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

import attrs

from ...model.limits import advice
from ...model.problems import report
from ..normalise.entry import RawEntry
from ..normalise.urls import is_web_url
from ..xml.elements import (
    ALTERNATE,
    ATOM,
    RSS,
    XML_BASE,
    Entry,
    Vocabulary,
    href_of,
    is_core,
    is_link_to_page,
    relation,
    stripped,
    text_of,
    wrong_root,
)

if TYPE_CHECKING:
    from ...model.limits import Limits
    from ...model.problems import Problem


# --- Media RSS ------------------------------------------------------------------------------------------------

# MEDIA_MAPPINGS maps elements of Media RSS to tags of the sitemap extensions. Values are validated later, like those of
# a sitemap, and a problem names the tag of the extension. Elements without a tag stay as they are: extras.

# Elements of a group or an item apply to each media object in it. A hostile item could make gigabytes of that, so
# Limits.max_shared_characters is a bound, and each element counts as this many.
_ELEMENT_CHARACTERS = 100

_RATINGS = {"adult": "no", "nonadult": "yes"}


def _is_simple_rating(rating: Element) -> bool:
    """Whether the scheme is urn:simple, the default; other schemes have other values."""
    return (rating.get("scheme") or "urn:simple") == "urn:simple" and stripped(rating).lower() in _RATINGS


def _is_out_of_five(stars: Element) -> bool:
    return (stars.get("max") or "5").strip() in ("5", "5.0", "5.00")


def _is_by_country(restriction: Element) -> bool:
    return (restriction.get("type") or "").strip().lower() == "country"


@attrs.frozen
class MediaMapping:
    """One `tag` of the extensions, and its source in Media RSS: the text of the element at `path`, or an attribute.

    The path `.` is the media:content itself. `attributes` have the same name on both sides; `words` translates values;
    elements for which `applies` is False are skipped; `many`: take all elements of a level, not only the first.
    """

    tag: str
    path: str
    attribute: str | None = None
    attributes: tuple[str, ...] = ()
    words: Mapping[str, str] = attrs.field(factory=dict)
    applies: Callable[[Element], bool] | None = None
    separator: str | None = None
    many: bool = False


MEDIA_MAPPINGS = (
    MediaMapping("image:loc", ".", "url"),
    MediaMapping("image:title", "media:title"),
    MediaMapping("image:caption", "media:description"),
    MediaMapping("image:license", "media:license", "href"),
    MediaMapping("video:content_loc", ".", "url"),
    MediaMapping("video:duration", ".", "duration"),
    MediaMapping("video:player_loc", "media:player", "url"),
    MediaMapping("video:thumbnail_loc", "media:thumbnail", "url"),  # several are in order of importance
    MediaMapping("video:title", "media:title"),
    MediaMapping("video:description", "media:description"),
    MediaMapping("video:tag", "media:keywords", separator=",", many=True),
    MediaMapping("video:category", "media:category"),
    MediaMapping("video:rating", "media:community/media:starRating", "average", applies=_is_out_of_five),
    MediaMapping("video:view_count", "media:community/media:statistics", "views"),
    MediaMapping("video:family_friendly", "media:rating", words=_RATINGS, applies=_is_simple_rating),
    MediaMapping("video:restriction", "media:restriction", attributes=("relationship",), applies=_is_by_country),
    MediaMapping("video:price", "media:price", "price", ("currency", "type"), many=True),
)
# Medium -> the tags that locate an object, of which one is required. Sitemaps list no other media.
_LOCATIONS = {"image": ("image:loc",), "video": ("video:content_loc", "video:player_loc")}
_Mappings = dict[str, list[MediaMapping]]  # by path


def _by_path(rows: Iterable[MediaMapping]) -> _Mappings:
    found: _Mappings = {}
    for row in rows:
        found.setdefault(row.path, []).append(row)
    return found


_ALL_MAPPINGS = _by_path(MEDIA_MAPPINGS)
_MAPPINGS_OF = {
    medium: _by_path(row for row in MEDIA_MAPPINGS if row.tag.startswith(f"{medium}:")) for medium in _LOCATIONS
}
_TAGS_OF = {medium: [row.tag for row in MEDIA_MAPPINGS if row.tag.startswith(f"{medium}:")] for medium in _LOCATIONS}
_CONTAINERS = ("media:group", "media:community")


@attrs.define
class _Values:
    """The values of one tag on one level: extension elements, their size in characters, and their source elements."""

    elements: list[Element] = attrs.field(factory=list)
    sources: list[Element] = attrs.field(factory=list)
    characters: int = 0


_Level = dict[str, _Values]


def media_extensions(
    item: Entry, foreign: list[Element], problems: list[Problem], max_shared_characters: int
) -> list[Element]:
    """The foreign elements of an item: images and videos first, then the elements that are not part of one.

    Appends an S16 if the elements shared by the media objects of the item exceed `max_shared_characters`.
    """
    used: set[int] = set()  # ids of elements that became part of an object
    built: list[Element] = []
    left = max_shared_characters
    for content, around in _contents(foreign):
        # The attribute, else the first half of the MIME type.
        medium = (content.get("medium") or (content.get("type") or "").partition("/")[0]).strip().lower()
        if medium not in _LOCATIONS:
            continue
        left -= sum(values.characters for tag, values in around.items() if tag.startswith(medium))
        if left < 0:
            what = f"more than {max_shared_characters:,} characters that the media of one item share"
            remedy = advice("max_shared_characters", "have it")
            what += ": the rest is left out"
            problems.append(report("S16", what, line=item.line, field="media:content", remedy=remedy))
            break
        built += _media_object(medium, content, around, used)
    if not built:
        built += _lone_thumbnails(foreign, used)
    return [*built, *_unused(foreign, used)]


def _contents(foreign: list[Element]) -> Iterator[tuple[Element, _Level]]:
    """(element, values of the levels around it) for each media:content."""
    of_item = _level_values(_ALL_MAPPINGS, foreign)
    for element in foreign:
        if element.tag == "media:content":
            yield element, of_item
        elif element.tag == "media:group":
            around = {**of_item, **_level_values(_ALL_MAPPINGS, element)}
            yield from ((child, around) for child in element if child.tag == "media:content")


def _media_object(medium: str, content: Element, around: _Level, used: set[int]) -> list[Element]:
    """The image or video for a media:content; none if it has no location."""
    level = {**around, **_level_values(_MAPPINGS_OF[medium], content, content)}  # the inner level has priority
    if level.keys().isdisjoint(_LOCATIONS[medium]):
        return []
    element = Element(f"{medium}:{medium}")
    used.add(id(content))
    for values in (level[tag] for tag in _TAGS_OF[medium] if tag in level):
        element.extend(values.elements)
        used.update(map(id, values.sources))
    return [element]


def _level_values(rows: _Mappings, children: Iterable[Element], content: Element | None = None) -> _Level:
    """Tag of the extension -> values on one level; `children` are those of the item, a group, or the content."""
    by_path: dict[str, list[Element]] = {} if content is None else {".": [content]}
    for child in children:
        if child.tag in _ALL_MAPPINGS:
            by_path.setdefault(child.tag, []).append(child)
        elif child.tag == "media:community":
            for inside in child:
                by_path.setdefault(f"{child.tag}/{inside.tag}", []).append(inside)
    level = ((row.tag, _translated(row, found)) for path, found in by_path.items() for row in rows.get(path, ()))
    return {tag: values for tag, values in level if values.elements}


def _translated(row: MediaMapping, elements: list[Element]) -> _Values:
    values = _Values()
    for element in elements:
        text = (text_of(element) if row.attribute is None else element.get(row.attribute) or "").strip()
        if not text or not (row.applies is None or row.applies(element)):
            continue
        words = [text] if row.separator is None else filter(None, map(str.strip, text.split(row.separator)))
        attributes = {name: element.get(name) or "" for name in row.attributes}
        shared = _ELEMENT_CHARACTERS + sum(map(len, (*attributes, *attributes.values())))
        before = len(values.elements)
        for word in words:
            values.elements.append(_element(row.tag, row.words.get(word.lower(), word), attributes))
            values.characters += shared + len(word)
        if len(values.elements) > before:
            values.sources.append(element)
            if not row.many:
                break
    return values


def _element(tag: str, text: str, attributes: dict[str, str] = {}) -> Element:  # noqa: B006 - copied
    element = Element(tag, attributes)
    element.text = text
    return element


def _lone_thumbnails(elements: Iterable[Element], used: set[int]) -> Iterator[Element]:
    """An image per thumbnail, for an item without any other image or video."""
    for element in elements:
        if element.tag in ("media:group", "media:content"):
            yield from _lone_thumbnails(element, used)
        url = (element.get("url") or "").strip()
        if element.tag == "media:thumbnail" and url:
            used.add(id(element))
            image = Element("image:image")
            image.append(_element("image:loc", url))
            yield image


def _unused(elements: Iterable[Element], used: set[int]) -> Iterator[Element]:
    """The elements that are not part of an object; of a container with used elements, its other children."""
    for element in elements:
        if is_core(element.tag):
            continue
        holds = element.tag in _CONTAINERS and any(id(child) in used for child in element)
        if holds or id(element) in used:
            yield from _unused(element, used)
        else:
            yield element


# --- items and entries ----------------------------------------------------------------------------------------

# The first of these that is not empty is the date, also if it is unreadable: the others have other meanings.
RSS_DATES = ("pubDate", "dc:date", "atom:updated")
ATOM_DATES = ("updated", "modified", "published", "issued")
# Tags that are recognised in any case.
_RSS_TAGS = frozenset({"item", "link", "guid", *RSS_DATES})
_ATOM_TAGS = frozenset({"entry", "link", *ATOM_DATES})


def rss_vocabulary(namespace: str) -> Vocabulary:
    """The names of a document whose root is `<rss>` or `<RDF>`."""
    return Vocabulary(RSS, namespace, frozenset({"item"}), "link", tags=_RSS_TAGS, is_link=_is_link)


def atom_vocabulary(namespace: str) -> Vocabulary:
    """The names of a document whose root is `<feed>`."""
    return Vocabulary(ATOM, namespace, frozenset({"entry"}), "link", tags=_ATOM_TAGS, is_link=_is_alternate)


# Name of a root -> whose namespace it has, and which are right. RSS 2.0 has none.
_ROOTS = {
    "rss": ("that of RSS", frozenset({"", *RSS.own})),
    "RDF": ("that of RDF", frozenset({"http://www.w3.org/1999/02/22-rdf-syntax-ns#"})),
    "feed": ("that of Atom", frozenset(ATOM.own)),
}


def judge_root(namespace: str, name: str) -> list[Problem]:
    """S02 if the namespace of the root is not that of its format."""
    whose, right = _ROOTS[name]
    return [] if namespace in right else [wrong_root(namespace, whose)]


def rss_entries(item: Entry, limits: Limits) -> list[RawEntry]:
    """The RawEntry of an RSS item: its first `link` that is not empty, else a permalink `guid`, else a link of Atom."""
    links = list(filter(_is_link, item.element))
    link = links[0] if links else _first(item, _is_permalink, _is_atom_link)
    loc = "" if link is None else href_of(link) if link.tag == "atom:link" else stripped(link)
    problems = list(item.problems)
    other = next((text for child in links if (text := stripped(child)) != loc), None)
    if other:
        what = "<link> is repeated: the first counts"
        problems.append(report("S10", what, line=item.line, field="link", raw=other))
    return _raw(item, link, loc, RSS_DATES, problems, limits)


def _is_link(child: Element) -> bool:
    return child.tag == "link" and bool(stripped(child))


def _is_atom_link(child: Element) -> bool:
    return child.tag == "atom:link" and is_link_to_page(child)


def _is_permalink(child: Element) -> bool:
    """RSS 2.0: a guid is a permalink unless declared otherwise; one that is not a URL never is."""
    if child.tag != "guid" or not is_web_url(stripped(child)):
        return False
    declared = [value for name, value in child.items() if name.lower() == "ispermalink"]
    return not any(value.strip().lower() == "false" for value in declared)


def atom_entries(entry: Entry, limits: Limits) -> list[RawEntry]:
    """The RawEntry of an Atom entry: its first alternate link (RFC 4287 4.2.7.2), not one in its `source`.

    Without one, a `link` that is written as in RSS, `<link>https://...</link>`.
    """
    link = _first(entry, _is_alternate, _is_rss_link)
    loc = "" if link is None else href_of(link)
    problems = list(entry.problems)
    if link is not None and not loc:
        loc = stripped(link)
        problems.append(
            report("S11", "a <link> without href: its text is used", line=entry.line, field="link", raw=loc)
        )
    return _raw(entry, link, loc, ATOM_DATES, problems, limits)


def _first(item: Entry, is_usual: Callable[[Element], bool], is_other: Callable[[Element], bool]) -> Element | None:
    """The first usual link of an item; if it has none, the first other one, unless the usual one may be cut off."""
    kinds = (is_usual,) if item.is_cut else (is_usual, is_other)
    return next((child for is_one in kinds for child in item.element if is_one(child)), None)


def _is_alternate(child: Element) -> bool:
    return child.tag == "link" and is_link_to_page(child)


def _is_rss_link(child: Element) -> bool:
    return child.tag == "link" and not href_of(child) and relation(child) in ALTERNATE and is_web_url(stripped(child))


def _raw(
    item: Entry, link: Element | None, loc: str, dates: tuple[str, ...], problems: list[Problem], limits: Limits
) -> list[RawEntry]:
    if item.is_cut:  # the missing part may hold a date with priority
        dates = dates[:1]
    own_base = item.element.get(XML_BASE)
    bases = (*item.bases, own_base) if own_base else item.bases
    raw = RawEntry("url", loc or None, item.line, bases=bases, problems=problems, date_dialect="rss")
    raw.loc_base = link.get(XML_BASE) if link is not None else None
    # Atom links are IRI references (RFC 4287 4.2.7.1), and xml:base implies relative ones.
    raw.relative = "allowed" if item.element.tag == "entry" or raw.bases or raw.loc_base else "reported"
    date = next((child for tag in dates for child in item.element if child.tag == tag and stripped(child)), None)
    raw.lastmod = stripped(date) if date is not None else None
    if not item.is_cut:  # the missing part may belong to the media
        raw.extensions = _extensions(item, date, problems, limits)
    return [raw]


def _extensions(item: Entry, date: Element | None, problems: list[Problem], limits: Limits) -> list[Element]:
    """The item's elements of other namespaces, with Media RSS as sitemap extensions, after its title."""
    foreign = [child for child in item.element if not is_core(child.tag) and child is not date]
    if any(child.tag.startswith("media:") for child in foreign):
        foreign = media_extensions(item, foreign, problems, limits.max_shared_characters)
    original = next((child for child in item.element if child.tag == "title" and stripped(child)), None)
    if original is None:
        return foreign
    # With an empty namespace: to read_extensions(), a title of the protocol itself is unknown.
    title = Element("}title", original.attrib)
    title.text = stripped(original)  # RFC 4287 3.1.1.3: an `xhtml` title contains elements
    return [title, *foreign]
