"""A raw entry -> a clean record and its problems, or none and the reason.

In: RawEntry, text as the document has it. Out: Problems, then the UrlRecord or SitemapRef they belong to.
Nothing is guessed: a value that cannot be read is None, with a Problem that keeps the raw text.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Literal, get_args

import attrs

from ...model.problems import MAX_RAW_CHARACTERS, Problem, placed, report
from ...model.records import ChangeFreq, SitemapRef, UrlRecord
from ..dialects.extensions import EntryContext, read_date, read_extensions
from .urls import clean_url, is_clean

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from ...model.records import Extra
    from .scope import Scope

_CHANGEFREQS: dict[str, ChangeFreq] = {each: each for each in get_args(ChangeFreq)}
# What nearly everybody writes.
_PRIORITIES = {f"{tenths / 10:.1f}": tenths / 10 for tenths in range(11)}
_TAG = re.compile(r"</?[A-Za-z]|[A-Za-z]/?>")
# xsd:decimal, as the schema says; a comma or an exponent is no number.
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")

# Why a URL is out of scope -> the code and what to say.
_DROPS = {
    "host": ("U04", "is on another host than the sitemap may speak for"),
    "scheme": ("U04", "has another scheme than the sitemap may speak for"),
    "port": ("U04", "has another port than the sitemap may speak for"),
    "path": ("U05", "is above the sitemap's directory"),
}


@attrs.define
class RawEntry:
    """What one entry of a document says, unread.

    `bases` are xml:base values, outermost first, `loc_base` that of the loc alone. A `relative` loc is refused, noted
    (U01), or as it may be. `no_markup`: a loc that holds a tag is none.
    `extensions` are the elements of other namespaces, known or not; `problems` is what the parser noticed.
    """

    kind: Literal["url", "sitemap"]
    loc: str | None
    line: int | None = None
    lastmod: str | None = None
    changefreq: str | None = None
    priority: str | None = None
    extensions: list[Element] = attrs.field(factory=list)
    problems: list[Problem] = attrs.field(factory=list)
    bases: tuple[str, ...] = ()
    loc_base: str | None = None
    relative: Literal["refused", "noted", "allowed"] = "noted"
    no_markup: bool = False
    date_dialect: Literal["w3c", "rss"] = "w3c"


class Normaliser:
    """Cleans the entries of one document.

    `sitemap` is the URL it was asked for under, `base` the one it came from, `scope` what it may speak for,
    `child_scope` where its children may lie: they inherit its authorities. `extras`: what no field is for is wanted
    too. `max_problems` is how many are told of each entry; what there is more of them is in `untold`, by code.
    `entries`, `kept` and `dropped` count.
    """

    def __init__(
        self,
        *,
        sitemap: str | None,
        base: str | None,
        scope: Scope,
        child_scope: Scope,
        max_problems: int,
        extras: bool = False,
    ) -> None:
        self.entries = 0
        self.kept = 0
        self.dropped: Counter[str] = Counter()
        self.unreported: Counter[str] = Counter()
        self.sitemap = sitemap
        self.max_problems = max_problems
        self._base = base
        self._scopes = {"url": scope, "sitemap": child_scope}
        self._extras = extras
        self._notes = _Notes(self)
        self._inherited = tuple(dict.fromkeys(child_scope.prefixes))

    def clean(self, raw: RawEntry) -> list[UrlRecord | SitemapRef | Problem]:
        """The entry's problems in the order of its fields, then its record, if it has one."""
        self.entries += 1
        notes = self._notes
        notes.begin(raw)
        base = _resolved(self._base, raw.bases) if raw.bases else self._base
        loc = self._loc(raw, base, notes)
        if loc is None:
            return [*notes.closed()]
        self.kept += 1
        record = self._record(raw, loc, base, notes)
        if not notes.problems:
            return [record]
        problems = notes.closed()
        record.problems = tuple(problems)
        return [*problems, record]

    def bare_record(self, loc: str, line: int) -> UrlRecord | None:
        """The record of an entry with nothing but a URL; None where that is not clean or not covered: clean() it."""
        if not is_clean(loc) or self._scopes["url"].reason(loc) is not None:
            return None
        self.entries += 1
        self.kept += 1
        record = UrlRecord(loc)
        record.sitemap = self.sitemap
        record.line = line
        return record

    def _loc(self, raw: RawEntry, base: str | None, notes: _Notes) -> str | None:
        """The URL of the entry; None, noted, where there is none or where it is out of scope."""
        text = raw.loc
        if not text:
            notes.add("S11", "an entry without a location", "loc")
            return None
        url: str | None = text
        if not is_clean(text):
            if raw.no_markup and _TAG.search(text):
                notes.add("U15", "markup in a list of URLs", "loc", text)
                return None
            own_base = _resolved(base, (raw.loc_base,)) if raw.loc_base else base
            loc = clean_url(text, None if raw.relative == "refused" else own_base)
            url = loc.url
            for code, message in loc.faults(may_be_relative=raw.relative == "allowed"):
                notes.add(code, message, "loc", text)
        if url is None:
            return None
        reason = self._scopes[raw.kind].reason(url)
        # sitemaps.org: pages lie below their sitemap's directory, the sitemaps of an index on its host.
        if reason is None or (reason == "path" and raw.kind == "sitemap"):
            return url
        self.dropped[reason] += 1
        code, message = _DROPS[reason]
        notes.add(code, f"{url[:MAX_RAW_CHARACTERS]} {message}: dropped", "loc", text)
        return None

    def _record(self, raw: RawEntry, loc: str, base: str | None, notes: _Notes) -> UrlRecord | SitemapRef:
        date = read_date(raw.lastmod, "lastmod", raw.date_dialect, notes.add) if raw.lastmod else None
        lastmod, precision = (date.moment, date.precision) if date else (None, None)
        if raw.kind == "sitemap":
            return SitemapRef(loc, lastmod, precision, self.sitemap, raw.line, (), self._inherited)
        changefreq = _changefreq(raw.changefreq, notes) if raw.changefreq else None
        priority = _priority(raw.priority, notes) if raw.priority else None
        record = UrlRecord(loc, lastmod, precision, changefreq, priority)
        record.sitemap = self.sitemap
        record.line = raw.line
        if raw.extensions:
            extras: list[Extra] | None = [] if self._extras else None
            context = EntryContext(base, notes.add, raw.date_dialect, extras, bool(raw.bases))
            for field, value in read_extensions(raw.extensions, context).items():
                setattr(record, field, value)
        return record


def _resolved(base: str | None, bases: tuple[str, ...]) -> str | None:
    for each in bases:
        base = clean_url(each, base).url or base
    return base


class _Notes:
    """The problems of the entry that was begun last, each with its place; no more than may be told."""

    __slots__ = ("_line", "_normaliser", "_untold", "problems")

    def __init__(self, normaliser: Normaliser) -> None:
        self._normaliser = normaliser

    def begin(self, raw: RawEntry) -> None:
        """The first are those that the parser noticed."""
        self.problems: list[Problem] = []
        self._line = raw.line
        self._untold = 0
        for problem in raw.problems:
            if self._has_room(problem.code):
                self.problems.append(placed(problem, sitemap=self._normaliser.sitemap))

    def add(self, code: str, message: str, field: str | None = None, text: str | None = None) -> None:
        if self._has_room(code):
            sitemap = self._normaliser.sitemap
            self.problems.append(report(code, message, sitemap=sitemap, line=self._line, field=field, raw=text))

    def closed(self) -> list[Problem]:
        """All that are told, and how many are not."""
        if self._untold:
            what = f"{self._untold:,} more problems of this entry; raise max_entry_problems to be told of each"
            told = report("S16", what, sitemap=self._normaliser.sitemap, line=self._line, severity="warning")
            self.problems.append(told)
        return self.problems

    def _has_room(self, code: str) -> bool:
        if len(self.problems) < self._normaliser.max_problems:
            return True
        self._untold += 1
        self._normaliser.unreported[code] += 1
        return False


def _changefreq(text: str, notes: _Notes) -> ChangeFreq | None:
    if value := _CHANGEFREQS.get(text) or _CHANGEFREQS.get(text.lower()):
        return value
    notes.add("H01", f'changefreq "{text[:80]}" is none of the seven', "changefreq", text)
    return None


def _priority(text: str, notes: _Notes) -> float | None:
    if (usual := _PRIORITIES.get(text)) is not None:
        return usual
    if _DECIMAL.fullmatch(text) and 0 <= (value := float(text)) <= 1:
        return abs(value)  # -0 is 0
    notes.add("H02", f'priority "{text[:80]}" is not between 0 and 1', "priority", text)
    return None
