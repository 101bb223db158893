"""`<urlset>` and `<sitemapindex>`: XML entries in, RawEntry objects out.

Entries are read by their own name, also a `<url>` in an index. Source of the rules: sitemaps.org 0.9.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Literal

from ...model.problems import report
from ...model.records import EXTENSIONS
from ..content.sniff import Format
from ..normalise.entry import RawEntry
from ..normalise.urls import is_web_url
from ..xml.elements import (
    CORE,
    SITEMAP,
    WRONG_CASE,
    Entry,
    Vocabulary,
    is_core,
    own_text,
    stripped,
    text_without,
    wrong_root,
)
from .extensions import TAGS

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from ...model.limits import Limits
    from ...model.problems import Problem

ROOTS = {"urlset": Format.URLSET, "sitemapindex": Format.INDEX}
_ENTRIES = frozenset({"url", "sitemap"})
_HINTS = ("changefreq", "priority")
_FIELDS = ("lastmod", *_HINTS)
_TAGS = frozenset({*_ENTRIES, "loc", *_FIELDS, *TAGS})
_EXTENSIONS = frozenset(extension.tag for extension in EXTENSIONS.values())
_VOIDS = frozenset(extension.tag for extension in EXTENSIONS.values() if extension.is_void)


def vocabulary(namespace: str, *, implied_entry: str) -> Vocabulary:
    """The names of a document whose root has this namespace; a location outside of any entry implies that one."""
    return Vocabulary(
        SITEMAP,
        namespace,
        _ENTRIES,
        "loc",
        implied_entry=implied_entry,
        tags=_TAGS,
        void_tags=_VOIDS,
        extensions=_EXTENSIONS,
    )


def judge_root(namespace: str, name: str) -> list[Problem]:
    """S02 if the namespace of the root is not one of the protocol, S10 if its name is not in lower case."""
    problems = [] if namespace == CORE else [wrong_root(namespace, "the protocol's")]
    if name not in ROOTS:
        what = f"<{name}> was read as <{name.lower()}>: names are in small letters"
        problems.append(report("S10", what, field=name, kind=WRONG_CASE))
    return problems


def entry_reader() -> Callable[[Entry, Limits], list[RawEntry]]:
    """raw_entries() for the entries of one document."""
    return partial(raw_entries, reported=set())


def raw_entries(entry: Entry, limits: Limits, reported: set[str]) -> list[RawEntry]:
    """One RawEntry per `<loc>`; one without a loc if there is none.

    All share the fields of the entry; only the first has its extensions and problems. `reported` are the tags that were
    reported as being without meaning, which is done once.
    """
    kind: Literal["url", "sitemap"] = "sitemap" if entry.element.tag == "sitemap" else "url"
    locs: list[str] = []
    fields: dict[str, str] = {}
    extensions: list[Element] = []
    problems = list(entry.problems)
    for child in entry.element:
        tag = child.tag
        if kind == "sitemap" and (tag in _HINTS or tag in TAGS):  # siteindex.xsd: it has a loc and a lastmod
            if tag not in reported:
                problems.append(_odd_tag(entry, child, "has no meaning in <sitemap>"))
            reported.add(tag)
        elif not is_core(tag):
            extensions.append(child)
        elif tag == "loc":
            locs.append(_location(entry, child, problems))
        elif tag in _FIELDS and tag not in fields:
            fields[tag] = stripped(child)
        else:
            what = "is repeated: the first counts" if tag in fields else "is unknown"
            problems.append(_odd_tag(entry, child, what))
    if len(locs) > 1:
        locs = list(filter(None, locs)) or locs[:1]
    if not locs:
        locs.append(_bare_location(entry, problems))
    lastmod, changefreq, priority = map(fields.get, _FIELDS)
    raws = [RawEntry(kind, locs[0], entry.line, lastmod, changefreq, priority, extensions, problems)]
    for number, loc in enumerate(locs[1:], 2):
        repeated = report("S10", f"location {number} of one <{kind}>", line=entry.line, field="loc", raw=loc)
        raws.append(RawEntry(kind, loc, entry.line, lastmod, changefreq, priority, [], [repeated]))
    return raws


def _odd_tag(entry: Entry, child: Element, what: str) -> Problem:
    return report("S10", f"<{child.tag[:80]}> {what}", line=entry.line, field=child.tag[:80], raw=stripped(child))


def _location(entry: Entry, loc: Element, problems: list[Problem]) -> str:
    if not len(loc):
        return stripped(loc)
    text, strays = text_without(loc, _TAGS)
    inside = (strays[0] if strays else loc[0].tag)[:80]  # as <a>, of which the text is read
    problems.append(report("S10", f"<{inside}> is inside <loc>", line=entry.line, field=inside, raw=stripped(loc)))
    return text


def _bare_location(entry: Entry, problems: list[Problem]) -> str:
    """The location in `<sitemap>https://...</sitemap>`, a form in use; else empty."""
    text = (own_text(entry.element) or "").strip()
    if entry.element.tag != "sitemap" or not is_web_url(text):
        return ""
    problems.append(report("S11", "a <sitemap> without <loc>: its text is used", line=entry.line, raw=text))
    return text
