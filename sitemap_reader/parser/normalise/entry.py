"""Normalises entries: a RawEntry, text as in the document, in; its Problems, then its UrlRecord or SitemapRef, out.

Nothing is guessed: an unreadable value is None, with a Problem that holds the raw text. An entry without a usable URL,
or with one out of scope, gives Problems only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Literal, get_args

import attrs

from ...model.limits import advice
from ...model.problems import MAX_RAW_CHARACTERS, Problem, placed, report
from ...model.records import ChangeFreq, SitemapRef, UrlRecord
from ...model.url_batch import OutOfScope
from ..dialects.extensions import EntryContext, read_date, read_extensions
from .urls import clean_url, is_clean, listed_url, origin

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from ...model.records import Extra
    from .scope import DropReason, Scope

EntryKind = Literal["url", "sitemap"]
Relative = Literal["rejected", "reported", "allowed"]

_CHANGEFREQS: dict[str, ChangeFreq] = {value: value for value in get_args(ChangeFreq)}
# The usual spellings.
_PRIORITIES = {f"{tenths / 10:.1f}": tenths / 10 for tenths in range(11)}
_TAG = re.compile(r"</?[A-Za-z]|[A-Za-z]/?>")
# xsd:decimal, as in the schema: no comma, no exponent.
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")

# Reason why a URL is out of scope -> problem code and message.
_DROPS = {
    "host": ("U04", "is on a host outside the sitemap's scope"),
    "scheme": ("U04", "has a scheme outside the sitemap's scope"),
    "port": ("U04", "has a port outside the sitemap's scope"),
    "path": ("U05", "is above the sitemap's directory"),
}

# The problems of pages that are out of scope.
SCOPE_CODES = frozenset(code for code, _ in _DROPS.values())
_MAX_DROPPED_ORIGINS = 1_000


@attrs.define
class RawEntry:
    """One entry of a document with its values as text.

    `bases` are xml:base values, outermost first, `loc_base` that of the loc alone. `relative`: whether a relative loc
    is rejected, resolved with a U01, or resolved silently. `no_markup`: a loc that contains a tag is rejected.
    `extensions` are all elements of other namespaces; `problems` are those that the dialect found.
    """

    kind: EntryKind
    loc: str | None
    line: int | None = None
    lastmod: str | None = None
    changefreq: str | None = None
    priority: str | None = None
    extensions: list[Element] = attrs.field(factory=list)
    problems: list[Problem] = attrs.field(factory=list)
    bases: tuple[str, ...] = ()
    loc_base: str | None = None
    relative: Relative = "reported"
    no_markup: bool = False
    date_dialect: Literal["w3c", "rss"] = "w3c"


class Normaliser:
    """Normalises the entries of one document.

    `sitemap` is the requested URL of the document, `base` the final one. `scope` limits its pages, `child_scope` its
    child sitemaps, which inherit the URL prefixes. `extras`: collect elements without a field, too. `max_problems` per
    entry are reported; `unreported` counts the others by code. `entries`, `kept` and `dropped` (by reason) are counts.
    `dropped_origins` are the first origins whose pages were dropped as on a host out of scope. `keeps_out_of_scope`:
    a page that is dropped comes as an OutOfScope in place of the Problem.
    `scopes` has both scopes by kind, `child_prefixes` are the authorities of child sitemaps.
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
        keeps_out_of_scope: bool = False,
    ) -> None:
        self.entries = 0
        self.kept = 0
        self.dropped: dict[str, int] = defaultdict(int)
        self.dropped_origins: dict[str, None] = {}
        self.unreported: dict[str, int] = defaultdict(int)
        self.empty_lastmods = 0
        self.empty_lastmod_line: int | None = None  # of the first
        self.sitemap = sitemap
        self._base = base
        self.scopes = {"url": scope, "sitemap": child_scope}
        self._extras = extras
        self._keeps_out_of_scope = keeps_out_of_scope
        self._problems = _EntryProblems(sitemap, max_problems, self.unreported)
        self.child_prefixes = tuple(dict.fromkeys(child_scope.prefixes))

    def clean(self, raw: RawEntry) -> list[UrlRecord | SitemapRef | Problem | OutOfScope]:
        """The entry's problems in the order of its fields, then its record, if it has one."""
        self.entries += 1
        problems = self._problems
        problems.start(raw)
        base = _resolved(self._base, raw.bases) if raw.bases else self._base
        loc = self._loc(raw, base, problems)
        if loc is None:
            return [*problems.finish(None)]
        reason = self.scopes[raw.kind].reason(loc)
        # sitemaps.org: pages are below their sitemap's directory, the sitemaps of an index only on its host.
        if reason is not None and not (reason == "path" and raw.kind == "sitemap"):
            return self._dropped(raw, loc, base, reason)
        self.kept += 1
        record = self._record(raw, loc, base, problems)
        if not problems.found:
            return [record]
        found = problems.finish(loc)
        record.problems = tuple(found)
        return [*found, record]

    def note_empty_lastmods(self, count: int, line: int | None) -> None:
        """Counts entries with a `<lastmod>` without text; `line` is that of the first."""
        if count and not self.empty_lastmods:
            self.empty_lastmod_line = line
        self.empty_lastmods += count

    def _dropped(
        self, raw: RawEntry, loc: str, base: str | None, reason: DropReason
    ) -> list[UrlRecord | SitemapRef | Problem | OutOfScope]:
        """What an entry out of scope gives; what is wrong with its other values concerns only an entry in scope."""
        self.dropped[reason] += 1
        if reason == "host" and len(self.dropped_origins) < _MAX_DROPPED_ORIGINS:
            self.dropped_origins[origin(loc)] = None
        problems = self._problems
        problems.add(*_drop(reason, loc), "loc", raw.loc, loc)
        found = problems.finish(None)
        if raw.kind != "url" or not self._keeps_out_of_scope:
            return [*found]
        others = [problem for problem in found if problem.code not in SCOPE_CODES]
        own = [problem for problem in found if problem.code in SCOPE_CODES]
        problems.clear()
        record = self._record(raw, loc, base, problems)
        assert isinstance(record, UrlRecord)  # noqa: S101 - for the type checker: it is a page
        before = (placed(each, sitemap=self.sitemap, url=loc) for each in others)
        record.problems = (*before, *own, *problems.finish(loc))
        return [*others, OutOfScope(record, own[0] if own else None)]

    def _loc(self, raw: RawEntry, base: str | None, problems: _EntryProblems) -> str | None:
        """The canonical URL of the entry; None, with a problem, if it has none."""
        text = raw.loc
        if not text:
            problems.add("S11", "an entry without a location", "loc")
            return None
        url: str | None = text
        if not is_clean(text):
            if raw.no_markup and _TAG.search(text):
                problems.add("U15", "markup in a list of URLs", "loc", text)
                return None
            own_base = _resolved(base, (raw.loc_base,)) if raw.loc_base else base
            loc = listed_url(text, own_base, paths=raw.relative != "rejected")
            url = loc.url
            for code, message in loc.faults(may_be_relative=raw.relative == "allowed"):
                problems.add(code, message, "loc", text)
        return url

    def _record(self, raw: RawEntry, loc: str, base: str | None, problems: _EntryProblems) -> UrlRecord | SitemapRef:
        date = read_date(raw.lastmod, "lastmod", raw.date_dialect, problems.add) if raw.lastmod else None
        is_empty = raw.lastmod == "" and raw.date_dialect != "rss"  # feeds have pubDate
        if is_empty and not any(each.kind == "document cut off" for each in raw.problems):
            self.note_empty_lastmods(1, raw.line)
        lastmod, precision = (date.moment, date.precision) if date else (None, None)
        if raw.kind == "sitemap":
            return SitemapRef(loc, lastmod, precision, self.sitemap, raw.line, (), self.child_prefixes)
        changefreq = _changefreq(raw.changefreq, problems) if raw.changefreq else None
        priority = _priority(raw.priority, problems) if raw.priority else None
        record = UrlRecord(loc, lastmod, precision, changefreq, priority)
        record.sitemap = self.sitemap
        record.line = raw.line
        if raw.extensions:
            extras: list[Extra] | None = [] if self._extras else None
            context = EntryContext(base, problems.add, raw.date_dialect, extras, bool(raw.bases))
            for field, value in read_extensions(raw.extensions, context).items():
                setattr(record, field, value)
        return record


def _drop(reason: DropReason, url: str) -> tuple[str, str]:
    """Code and message for a page that is out of scope."""
    code, message = _DROPS[reason]
    return code, f"{url[:MAX_RAW_CHARACTERS]} {message}: dropped"


def scope_problem(reason: DropReason, former: Problem) -> Problem:
    """The problem of a page that is out of scope for this reason, in place of one for another."""
    code, message = _drop(reason, former.url or "")
    return report(
        code, message, sitemap=former.sitemap, line=former.line, field=former.field, raw=former.raw, url=former.url
    )


def _resolved(base: str | None, bases: tuple[str, ...]) -> str | None:
    """The base URL after these values of xml:base; invalid ones are ignored."""
    for xml_base in bases:
        base = clean_url(xml_base, base).url or base
    return base


class _EntryProblems:
    """The problems of the current entry, with their position; at most max_problems."""

    __slots__ = ("_all_unreported", "_line", "_max_problems", "_sitemap", "_unreported", "found")

    def __init__(self, sitemap: str | None, max_problems: int, unreported: dict[str, int]) -> None:
        self._sitemap = sitemap
        self._max_problems = max_problems
        self._all_unreported = unreported

    def start(self, raw: RawEntry) -> None:
        """Begins an entry; its first problems are those that the dialect found."""
        self._line = raw.line
        self.clear()
        for problem in raw.problems:
            if self._count(problem.code):
                self.found.append(problem)

    def clear(self) -> None:
        self.found: list[Problem] = []
        self._unreported = 0

    def add(
        self, code: str, message: str, field: str | None = None, text: str | None = None, url: str | None = None
    ) -> None:
        if self._count(code):
            self.found.append(report(code, message, line=self._line, field=field, raw=text, url=url))

    def finish(self, url: str | None) -> list[Problem]:
        """The problems of the entry with this URL; the last one counts those left out."""
        if self._unreported:
            what, remedy = f"{self._unreported:,} more problems of this entry", advice("max_entry_problems", "see each")
            self.found.append(report("S16", what, line=self._line, severity="warning", remedy=remedy))
        return [placed(problem, sitemap=self._sitemap, url=url) for problem in self.found]

    def _count(self, code: str) -> bool:
        """Whether one more problem may be reported; if not, it is counted."""
        if len(self.found) < self._max_problems:
            return True
        self._unreported += 1
        self._all_unreported[code] += 1
        return False


def _changefreq(text: str, problems: _EntryProblems) -> ChangeFreq | None:
    if value := _CHANGEFREQS.get(text) or _CHANGEFREQS.get(text.lower()):
        return value
    problems.add("H01", f'changefreq "{text[:80]}" is none of the seven', "changefreq", text)
    return None


def _priority(text: str, problems: _EntryProblems) -> float | None:
    if (usual := _PRIORITIES.get(text)) is not None:
        return usual
    if _DECIMAL.fullmatch(text) and 0 <= (value := float(text)) <= 1:
        return abs(value)  # -0 is 0
    problems.add("H02", f'priority "{text[:80]}" is not between 0 and 1', "priority", text)
    return None
