"""RSS 0.9x, 1.0, 2.0 and Atom 0.3, 1.0 as sitemaps: items of the tree -> raw entries.

The channel's own link, image, date and media belong to no item, and never come here. Of an item's own text the title
goes on, as an element that no field is for; else what goes on is of another namespace. Sources: the specifications of
RSS 0.90 to 2.0, RFC 4287 (Atom).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from ...model.problems import report
from ..normalise.entry import RawEntry
from ..normalise.urls import is_web_url
from ..xml.elements import XML_BASE, Entry, Vocabulary, is_core, stripped
from ..xml.namespaces import ALTERNATE, ATOM, RSS, judge_mistaken
from .mediarss import media_extensions

if TYPE_CHECKING:
    from ...model.limits import Limits
    from ...model.problems import Problem

# The first of these that says anything is the item's date. One that cannot be read is a fault of the feed's: another,
# which means something else, does not take its place.
_RSS_DATES = ("pubDate", "dc:date", "atom:updated")
_ATOM_DATES = ("updated", "modified", "published", "issued")
# What is known in other capitals too.
_RSS_TAGS = frozenset({"item", "link", "guid", *_RSS_DATES})
_ATOM_TAGS = frozenset({"entry", "link", *_ATOM_DATES})


def rss_vocabulary(namespace: str) -> Vocabulary:
    """The names of a document whose root is `<rss>` or `<RDF>`."""
    return Vocabulary(RSS, namespace, frozenset({"item"}), "link", tags=_RSS_TAGS, judge=judge_mistaken)


def atom_vocabulary(namespace: str) -> Vocabulary:
    """The names of a document whose root is `<feed>`."""
    return Vocabulary(ATOM, namespace, frozenset({"entry"}), "link", tags=_ATOM_TAGS, judge=judge_mistaken)


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
    return (
        child.tag == "link" and (child.get("rel") or "alternate").strip().lower() in ALTERNATE and bool(_href(child))
    )


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
