"""RSS 0.9x, 1.0, 2.0 and Atom 0.3, 1.0 as sitemaps: items of the tree -> raw entries.

The channel's own link, image, date and media belong to no item, and never come here. Of an item's own text the title
goes on, as an element that no field is for; else what goes on is of another namespace. Sources: the specifications of
RSS 0.90 to 2.0, RFC 4287 (Atom).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

import attrs

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
    is_core,
    stripped,
    text_of,
    wrong_namespace,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ...model.limits import Limits
    from ...model.problems import Problem


# ----------------------------------------------------------------------------------------------------
# Media RSS in the words of the sitemap extensions: an item's foreign elements -> elements of both kinds.
#
# ROWS says which element of Media RSS becomes which tag. The values are not judged here: they go the way of a sitemap's
# own, and a fault names the tag of the extension, as that of a pubDate names lastmod. What there is no tag for, or what
# could only be guessed, stays what it is: an extra. Source: Media RSS 1.5.1.


# What stands in a group or an item counts for each media object in it. A hostile item makes gigabytes of that, so
# Limits.max_shared_characters is a bound, and each element counts as this many.
_ELEMENT_CHARACTERS = 100

_RATINGS = {"adult": "no", "nonadult": "yes"}


def _is_of_the_simple_scheme(rating: Element) -> bool:
    """Media RSS: the scheme of a rating that names none is urn:simple. Others have other words."""
    return (rating.get("scheme") or "urn:simple") == "urn:simple" and stripped(rating).lower() in _RATINGS


def _is_of_five(stars: Element) -> bool:
    return (stars.get("max") or "5").strip() in ("5", "5.0", "5.00")


def _is_of_countries(restriction: Element) -> bool:
    return (restriction.get("type") or "").strip().lower() == "country"


@attrs.frozen
class MediaMapping:
    """One `tag` of the extensions, and what says it in Media RSS: the text of the element at `path`, or an attribute.

    The path `.` is the media:content itself. `attributes` are called the same on both sides; the text is translated by
    `words`; `applies` leaves elements out that mean something else; `many` takes all that a level has, else the first.
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
    MediaMapping("video:thumbnail_loc", "media:thumbnail", "url"),  # several stand in order of importance
    MediaMapping("video:title", "media:title"),
    MediaMapping("video:description", "media:description"),
    MediaMapping("video:tag", "media:keywords", separator=",", many=True),
    MediaMapping("video:category", "media:category"),
    MediaMapping("video:rating", "media:community/media:starRating", "average", applies=_is_of_five),
    MediaMapping("video:view_count", "media:community/media:statistics", "views"),
    MediaMapping("video:family_friendly", "media:rating", words=_RATINGS, applies=_is_of_the_simple_scheme),
    MediaMapping("video:restriction", "media:restriction", attributes=("relationship",), applies=_is_of_countries),
    MediaMapping("video:price", "media:price", "price", ("currency", "type"), many=True),
)
# By medium, the tags that locate an object: one of them there must be. Other media are nothing a sitemap lists.
_LOCATIONS = {"image": ("image:loc",), "video": ("video:content_loc", "video:player_loc")}
_Rows = dict[str, list[MediaMapping]]  # by path


def _by_path(rows: Iterable[MediaMapping]) -> _Rows:
    found: _Rows = {}
    for row in rows:
        found.setdefault(row.path, []).append(row)
    return found


_ALL_ROWS = _by_path(MEDIA_MAPPINGS)
_ROWS_OF = {
    medium: _by_path(row for row in MEDIA_MAPPINGS if row.tag.startswith(f"{medium}:")) for medium in _LOCATIONS
}
_TAGS_OF = {medium: [row.tag for row in MEDIA_MAPPINGS if row.tag.startswith(f"{medium}:")] for medium in _LOCATIONS}
_CONTAINERS = ("media:group", "media:community")


@attrs.define
class _Said:
    """What one level says for a row: in the extension's words, how much that is, and the elements that said it."""

    elements: list[Element] = attrs.field(factory=list)
    sources: list[Element] = attrs.field(factory=list)
    characters: int = 0


_Level = dict[str, _Said]


def media_extensions(
    item: Entry, foreign: list[Element], problems: list[Problem], max_shared_characters: int
) -> list[Element]:
    """The foreign elements of an item: images and videos first, then all that did not become part of one.

    Adds S16 to the problems where the media of the item have too much in common to be written out for each.
    """
    used: set[int] = set()  # ids of what became part of an object
    built: list[Element] = []
    room = max_shared_characters
    for content, around in _contents(foreign):
        medium = _medium(content)
        if medium not in _LOCATIONS:
            continue
        room -= sum(said.characters for tag, said in around.items() if tag.startswith(medium))
        if room < 0:
            what = f"more than {max_shared_characters:,} characters that the media of one item share"
            what += ": the rest is left out; raise max_shared_characters to have it"
            problems.append(report("S16", what, line=item.line, field="media:content"))
            break
        built += _built(medium, content, around, used)
    if not built:
        built += _lone_thumbnails(foreign, used)
    return [*built, *_unused(foreign, used)]


def _contents(foreign: list[Element]) -> Iterator[tuple[Element, _Level]]:
    """Each media:content, and what the levels around it say."""
    of_item = _said(_ALL_ROWS, foreign)
    for element in foreign:
        if element.tag == "media:content":
            yield element, of_item
        elif element.tag == "media:group":
            around = {**of_item, **_said(_ALL_ROWS, element)}
            yield from ((child, around) for child in element if child.tag == "media:content")


def _medium(content: Element) -> str:
    """`medium`, else the first half of the MIME `type`; where neither says it, nobody does."""
    return (content.get("medium") or (content.get("type") or "").partition("/")[0]).strip().lower()


def _built(medium: str, content: Element, around: _Level, used: set[int]) -> list[Element]:
    """The image or video that a media:content is; none where nothing says where it lies."""
    level = {**around, **_said(_ROWS_OF[medium], content, content)}  # the inner one has priority
    if level.keys().isdisjoint(_LOCATIONS[medium]):
        return []
    element = Element(f"{medium}:{medium}")
    used.add(id(content))
    for said in (level[tag] for tag in _TAGS_OF[medium] if tag in level):
        element.extend(said.elements)
        used.update(map(id, said.sources))
    return [element]


def _said(rows: _Rows, children: Iterable[Element], content: Element | None = None) -> _Level:
    """What one level says, by tag of the extension: `children` are those of the item, a group, or the content."""
    places: dict[str, list[Element]] = {} if content is None else {".": [content]}
    for child in children:
        if child.tag in _ALL_ROWS:
            places.setdefault(child.tag, []).append(child)
        elif child.tag == "media:community":
            for inside in child:
                places.setdefault(f"{child.tag}/{inside.tag}", []).append(inside)
    level = ((row.tag, _translated(row, found)) for path, found in places.items() for row in rows.get(path, ()))
    return {tag: said for tag, said in level if said.elements}


def _translated(row: MediaMapping, elements: list[Element]) -> _Said:
    said = _Said()
    for element in elements:
        text = (text_of(element) if row.attribute is None else element.get(row.attribute) or "").strip()
        if not text or not (row.applies is None or row.applies(element)):
            continue
        words = [text] if row.separator is None else filter(None, map(str.strip, text.split(row.separator)))
        attributes = {name: element.get(name) or "" for name in row.attributes}
        shared = _ELEMENT_CHARACTERS + sum(map(len, (*attributes, *attributes.values())))
        before = len(said.elements)
        for word in words:
            said.elements.append(_element(row.tag, row.words.get(word.lower(), word), attributes))
            said.characters += shared + len(word)
        if len(said.elements) > before:
            said.sources.append(element)
            if not row.many:
                break
    return said


def _element(tag: str, text: str, attributes: dict[str, str] = {}) -> Element:  # noqa: B006 - copied
    element = Element(tag, attributes)
    element.text = text
    return element


def _lone_thumbnails(elements: Iterable[Element], used: set[int]) -> Iterator[Element]:
    """Without any image or video a thumbnail is what there is to see of the item."""
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
    """What became no part of an object; of what holds such parts, the rest."""
    for element in elements:
        if is_core(element.tag):
            continue
        holds = element.tag in _CONTAINERS and any(id(child) in used for child in element)
        if holds or id(element) in used:
            yield from _unused(element, used)
        else:
            yield element


# The first of these that says anything is the item's date. One that cannot be read is a fault of the feed's: another,
# which means something else, does not take its place.
_RSS_DATES = ("pubDate", "dc:date", "atom:updated")
_ATOM_DATES = ("updated", "modified", "published", "issued")
# What is known in other capitals too.
_RSS_TAGS = frozenset({"item", "link", "guid", *_RSS_DATES})
_ATOM_TAGS = frozenset({"entry", "link", *_ATOM_DATES})


def rss_vocabulary(namespace: str) -> Vocabulary:
    """The names of a document whose root is `<rss>` or `<RDF>`."""
    return Vocabulary(RSS, namespace, frozenset({"item"}), "link", tags=_RSS_TAGS, judge=wrong_namespace)


def atom_vocabulary(namespace: str) -> Vocabulary:
    """The names of a document whose root is `<feed>`."""
    return Vocabulary(ATOM, namespace, frozenset({"entry"}), "link", tags=_ATOM_TAGS, judge=wrong_namespace)


def rss_entries(item: Entry, limits: Limits) -> list[RawEntry]:
    """An item's first `link` that says anything, else a `guid` that is not declared to be no permalink."""
    links = [child for child in item.element if child.tag == "link" and _text(child)]
    link = links[0] if links else next((child for child in item.element if _is_permalink(child)), None)
    loc = _text(link) if link is not None else ""
    problems = list(item.problems)
    other = next((text for each in links if (text := _text(each)) != loc), None)
    if other:
        what = "<link> is repeated: the first counts"
        problems.append(report("S10", what, line=item.line, field="link", raw=other))
    return _raw(item, link, loc, _RSS_DATES, problems, limits)


def _is_permalink(child: Element) -> bool:
    """RSS 2.0: true unless declared otherwise; but `post-17` is an identifier whatever it is declared as."""
    if child.tag != "guid" or not is_web_url(_text(child)):
        return False
    said = [value for name, value in child.items() if name.lower() == "ispermalink"]
    return not any(value.strip().lower() == "false" for value in said)


def atom_entries(entry: Entry, limits: Limits) -> list[RawEntry]:
    """An entry's first link to an alternate (RFC 4287 4.2.7.2); those of its `source` are another feed's."""
    link = next((child for child in entry.element if _is_alternate(child)), None)
    loc = _href(link) if link is not None else ""
    return _raw(entry, link, loc, _ATOM_DATES, list(entry.problems), limits)


def _is_alternate(child: Element) -> bool:
    """A link without `rel` is one."""
    return child.tag == "link" and (child.get("rel") or "alternate").strip().lower() in ALTERNATE and bool(_href(child))


def _raw(
    item: Entry,
    link: Element | None,
    loc: str,
    dates: tuple[str, ...],
    problems: list[Problem],
    limits: Limits,
) -> list[RawEntry]:
    if item.is_cut:  # what is missing may be the date that counts
        dates = dates[:1]
    raw = RawEntry("url", loc or None, item.line, bases=_bases(item), problems=problems, date_dialect="rss")
    raw.loc_base = link.get(XML_BASE) if link is not None else None
    # Atom has IRI references (RFC 4287 4.2.7.1), and who writes an xml:base means them to be relative.
    raw.relative = "allowed" if item.element.tag == "entry" or raw.bases or raw.loc_base else "noted"
    date = next((child for tag in dates for child in item.element if child.tag == tag and _text(child)), None)
    raw.lastmod = _text(date) if date is not None else None
    if not item.is_cut:  # what is missing may say what the media are
        raw.extensions = _extensions(item, date, problems, limits)
    return [raw]


def _extensions(item: Entry, date: Element | None, problems: list[Problem], limits: Limits) -> list[Element]:
    """The item's elements of other namespaces, those of Media RSS in the words of the sitemap extensions."""
    foreign = [child for child in item.element if not is_core(child.tag) and child is not date]
    if any(child.tag.startswith("media:") for child in foreign):
        foreign = media_extensions(item, foreign, problems, limits.max_shared_characters)
    written = next((child for child in item.element if child.tag == "title" and _text(child)), None)
    if written is None:
        return foreign
    # By a name with a namespace, if an empty one: read_extensions() knows no title of the protocol's own.
    title = Element("}title", written.attrib)
    title.text = _text(written)  # RFC 4287 3.1.1.3: that of `xhtml` has elements inside
    return [title, *foreign]


def _text(element: Element) -> str:
    return stripped(element)


def _href(link: Element) -> str:
    return (link.get("href") or "").strip()


def _bases(item: Entry) -> tuple[str, ...]:
    """xml:base of the item, behind the ancestors'."""
    own = item.element.get(XML_BASE)
    return (*item.bases, own) if own else item.bases
