"""The way through an audit: what a run gives, or a dump holds, in; each check hears what it asked for; a Report out."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import attrs

from ..client.sitemap_tree import SitemapTree
from ..model.problems import Problem
from ..model.records import Outcome, SitemapRef, UrlRecord
from ..parser.content.sniff import SITEMAP_FORMATS
from ..parser.fast_scanner import Entries, merged
from ..statistics.collector import Fact
from ..statistics.facts import Tops, facts, share
from .dates import Age, Future, Priorities, SitemapDates
from .documents import Answers, Emptiness, Listings, Spellings
from .findings import Check, listed
from .languages import Alternates, ReturnLinks
from .media import Images, NewsItems, NewsNumber, Videos
from .report import Report
from .urls import Assets, Hosts, Parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from ..client.sitemap_tree import TreeRow
    from ..model.records import Item
    from ..pipeline.document_parser import Many
    from .findings import Findings, Listed


# ----------------------------------------------------------------------------------------------------
# A site in a few numbers, for the report: URLs in, many at a time; counts by month, by section, by format out.


_MOST_SECTIONS = 15
# A folder is what stands before another name: the last name of a path is the page.
_SECTION = re.compile(r"^[a-z]+://[^/\n]*(/(?:[^/?#\n]*/(?=[^/?#\n]))?)", re.MULTILINE)
_month = attrgetter("year", "month")


def _sections(listed: Listed) -> Counter[str]:
    """The first folders. A sitemap often lists one of them, and then it is enough to count how many begin so."""
    first = _SECTION.search(listed.text)
    if first is not None and len(first[1]) > 1 and listed.text.count(f"\n{first[0]}") == len(listed.locs):
        is_folder = not any(f"{first[0]}{end}" in listed.text for end in "\n/?#")
        if is_folder and not listed.text.endswith(first[0]):
            return Counter({first[1]: len(listed.locs)})
    return Counter(_SECTION.findall(listed.text))


class Survey(Check):
    """Hears all, and judges nothing. Then facts()."""

    codes = ()

    def __init__(self) -> None:
        self._urls = 0
        self._dated = 0
        self._months: Counter[tuple[int, int]] = Counter()
        self._sections = Tops()
        self._formats: Counter[str] = Counter()

    def urls(self, listed: Listed, found: Findings) -> None:
        """Counts them."""
        self._urls += len(listed.locs)
        self._dated += len(listed.dated)
        self._months.update(map(_month, listed.dated))
        for section, count in _sections(listed).items():
            self._sections.add(section, count)

    def outcome(self, outcome: Outcome, found: Findings) -> None:
        """Counts sitemaps."""
        if outcome.format in SITEMAP_FORMATS:
            self._formats[outcome.format] += 1

    def facts(self) -> Iterator[Fact]:
        """As Report.facts has them."""
        urls = self._urls
        months = [(f"{year}-{month:02}", count) for (year, month), count in sorted(self._months.items())]
        yield from facts("lastmod month", months, urls)
        if urls:
            undated = urls - self._dated
            yield Fact("lastmod none", "none", undated, share(undated, urls))
        yield from self._sections.facts("sections", _MOST_SECTIONS, urls)
        yield from facts("formats", self._formats.most_common(), self._formats.total())


class AuditRunner:
    """take() each batch, then report().

    Ages go by `as_of`, or else by the time at which it was `fetched`: a clock, None where nobody knows. `others` are
    checks that need more than the site. Private hosts that are `permitted` are no fault.
    """

    def __init__(
        self,
        target: str,
        found: Findings,
        *,
        as_of: datetime | None = None,
        fetched: Callable[[], datetime] | None = None,
        others: Sequence[Check] = (),
        permitted: Container[str] = (),
    ) -> None:
        clock = _standing(as_of) if as_of else fetched or _now
        now = clock()
        self.target = target
        self.found = found
        self._now = now
        self._scoped: dict[str, Findings] = {}  # what is out of scope, by document
        self._tree = SitemapTree()
        self._unnamed: list[Outcome] = []  # incomplete documents without a URL, which no row of the tree shows
        self._survey = Survey()
        self._listings = Listings()
        checks = [
            Parameters(),
            Assets(),
            Hosts(permitted),
            Spellings(self._listings),
            Future(clock),
            SitemapDates(fetched),
            Age(now),
            Priorities(),
            Answers(),
            Emptiness(),
            Alternates(),
            ReturnLinks(self._listings),
            NewsItems(now),
            NewsNumber(),
            Videos(),
            Images(),
            *others,
        ]
        self._checks = [self._survey, self._listings, *(check for check in checks if found.wants(check.codes))]
        self._hear_urls, self._hear_record, self._hear_ref, self._hear_outcome = (
            _hearing(self._checks, name) for name in ("urls", "record", "ref", "outcome")
        )
        # Of URLs that name no sitemap, as some dumps have them, those do not hear whose rules are of sitemaps.
        rest = [check for check in self._checks if not check.is_by_sitemap]
        self._hear_unnamed_urls, self._hear_unnamed_record = (_hearing(rest, name) for name in ("urls", "record"))

    # --- what comes ---

    def take(self, batch: Sequence[Item | Many]) -> None:
        """Some of what a run gives, in its order."""
        for (kind, sitemap), group in groupby(batch, _whose):
            _TAKERS[kind](self, sitemap, [*group])

    def _entries(self, sitemap: str, several: list[Entries]) -> None:
        self._urls(sitemap, merged(several).columns[:-1])

    def _records(self, sitemap: str, records: list[UrlRecord]) -> None:
        columns = [[getattr(record, name) for record in records] for name in _COLUMNS]
        self._urls(sitemap, columns)
        for record in records:
            if record.alternates or record.images or record.videos or record.news:
                record.sitemap = sitemap or self.target
                for hear in self._hear_record if sitemap else self._hear_unnamed_record:
                    hear(record, self.found)

    def _urls(self, sitemap: str, columns: Sequence[Sequence[Any]]) -> None:
        some = listed(sitemap or self.target, *columns, names_sitemap=bool(sitemap))
        dated = [(lastmod, number) for number, lastmod in enumerate(some.lastmods) if lastmod is not None]
        if dated and sitemap:
            newest, number = max(dated)
            self._tree.note(sitemap, newest, some.precisions[number])
        for hear in self._hear_urls if sitemap else self._hear_unnamed_urls:
            hear(some, self.found)

    def _refs(self, _: str, refs: list[SitemapRef]) -> None:
        for ref in refs:
            self._tree.hear(ref)
            for hear in self._hear_ref:
                hear(ref, self.found)

    def _problems(self, _: str, problems: list[Problem]) -> None:
        for problem in problems:
            if problem.code in _OF_SCOPE and problem.sitemap is not None:
                self._scoped.setdefault(problem.sitemap, self.found.like()).add(problem)
            else:
                self.found.add(problem)

    def _outcomes(self, _: str, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            self._tree.hear(outcome)
            if outcome.url is None and not outcome.complete:
                self._unnamed.append(outcome)
            scoped = self._scoped.pop(outcome.url or "", None)
            if scoped is not None:
                self.found.absorb(scoped, outcome.problems)
            for hear in self._hear_outcome:
                hear(outcome, self.found)

    def break_off(self) -> None:
        """Nothing more comes, though there is more: what was not heard of may be listed all the same."""
        for hear in self._hear_outcome:
            hear(Outcome(complete=False), self.found)

    # --- what it comes to ---

    def report(self, *, complete: bool | None, notes: Iterable[str] = ()) -> Report:
        """The end: what can only be judged now is judged."""
        for scoped in self._scoped.values():
            self.found.absorb(scoped)
        for check in self._checks:
            check.end(self.found)
        told = [note for check in self._checks for note in getattr(check, "notes", ())]
        return Report(
            target=self.target,
            at=self._now,
            urls=self._listings.listings,
            pages=len(self._listings.first),
            complete=complete,
            findings=self.found.findings(),
            sitemaps=tuple(self._rows()),
            facts=tuple(self._survey.facts()),
            notes=(*notes, *told),
            unnamed=tuple(self._unnamed),
        )

    def _rows(self) -> Iterator[TreeRow]:
        """The tree, each document with all problems that were found in it."""
        found = self.found.by_document()
        for row in self._tree.rows():
            problems = found[row.url]
            yield row if row.problems is None and not problems else attrs.evolve(row, problems=problems)


# What was dropped in a first reading may have been kept in a second one: the outcome tells how much was not.
_OF_SCOPE = frozenset({"U04", "U05"})
_COLUMNS = ("loc", "lastmod", "lastmod_precision", "changefreq", "priority", "line")
_TAKERS: dict[type, Callable[[AuditRunner, str, list[Any]], None]] = {
    Entries: AuditRunner._entries,
    UrlRecord: AuditRunner._records,
    SitemapRef: AuditRunner._refs,
    Problem: AuditRunner._problems,
    Outcome: AuditRunner._outcomes,
}


def _now() -> datetime:
    return datetime.now(UTC)


def _standing(moment: datetime) -> Callable[[], datetime]:
    return lambda: moment


def _whose(item: object) -> tuple[type, str]:
    return type(item), getattr(item, "sitemap", None) or ""


def _hearing(checks: Sequence[Check], name: str) -> list[Callable[[Any, Findings], None]]:
    """The methods of those checks that have one of their own."""
    return [getattr(check, name) for check in checks if getattr(type(check), name) is not getattr(Check, name)]
