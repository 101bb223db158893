"""Runs an audit: items of a crawl or a dump in, in their order; passes each to the checks that take it; a Report out.

Fetches nothing and reads no file.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any

import attrs

from ..client.sitemap_tree import SitemapTree
from ..client.summary import sitemaps_of
from ..frontier.filters import has_filter_drops
from ..frontier.lastmod_trust import judge_history
from ..model.columns import EPOCH, SUBSECOND
from ..model.problems import Problem, counted
from ..model.records import Outcome, SitemapRef
from ..model.url_batch import PRECISION_CODES, UrlBatch
from ..parser.content.sniff import SITEMAP_FORMATS, Format
from ..statistics.facts import Fact, facts, share
from ..statistics.sections import SectionCounts
from . import dates, documents, extensions, urls
from .dates import SitemapLastmods
from .documents import AuditContext, DuplicateUrls
from .findings import Check
from .report import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from ..client.sitemap_tree import TreeRow
    from ..frontier.robots_rules import Rules
    from ..model.url_batch import BatchItem
    from .findings import Findings


CHECKS = (*documents.CHECKS, *dates.CHECKS, *extensions.CHECKS, *urls.CHECKS)
_MAX_SECTIONS = 15


class SiteOverview(Check):
    """Counts URLs by month of their lastmod and by section; reports no problem."""

    codes = ()

    def __init__(self) -> None:
        self._urls = 0
        self._dated = 0
        self._days: Counter[int] = Counter()  # since 1970-01-01
        self._sections = SectionCounts()

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        self._urls += len(batch)
        for code, numbers in batch.dates.items():
            self._dated += len(numbers)
            if code != PRECISION_CODES["year"]:  # a year alone is no January
                length = 86_400 * (1_000_000 if code == SUBSECOND else 1)
                self._days.update([number // length for number in numbers])
        self._sections.add(batch)

    def facts(self, outcomes: Iterable[Outcome]) -> Iterator[Fact]:
        """The counts as Report.facts."""
        urls = self._urls
        counts: Counter[tuple[int, int]] = Counter()
        for day, count in self._days.items():
            date = EPOCH + timedelta(days=day)
            counts[date.year, date.month] += count
        months = [(f"{year}-{month:02}", count) for (year, month), count in sorted(counts.items())]
        yield from facts("lastmod month", months, urls)
        if urls:
            undated = urls - self._dated
            yield Fact("lastmod none", "none", undated, share(undated, urls))
        yield from self._sections.sections().facts("sections", _MAX_SECTIONS, urls)
        # By final URL: redirects to one document count once.
        sitemaps = [each for each in outcomes if each.format in SITEMAP_FORMATS]
        formats = {each.final_url or each.url or number: each.format or "" for number, each in enumerate(sitemaps)}
        yield from facts("formats", Counter(formats.values()).most_common(), len(formats))


class AuditRunner:
    """Runs all checks over what add() receives; report() then returns the Report.

    Ages are computed from `as_of`, or else from `fetched()`, the time of the fetch; None if it is unknown.
    `extra_checks` need more than an AuditContext, of which `rules_of`, `has_headers` and `allowed_hosts` are. `site` is
    that of the Report.
    """

    def __init__(
        self,
        target: str,
        findings: Findings,
        *,
        as_of: datetime | None = None,
        fetched: Callable[[], datetime] | None = None,
        extra_checks: Sequence[Check] = (),
        rules_of: Callable[[str], Rules | None] | None = None,
        has_headers: Callable[[str], bool] = lambda url: True,
        allowed_hosts: Container[str] = (),
        site: str | None = None,
    ) -> None:
        clock: Callable[[], datetime] = fetched or (lambda: datetime.now(UTC))
        now = self._now = as_of or clock()
        self.target = target
        self.site = site
        self.findings = findings
        self._cuts: dict[str, list[Problem]] = {}  # by document: problems of its missing end
        self._causes: dict[str, Problem] = {}  # document -> the one that an S01 for its missing end is a consequence of
        self._outcomes: list[Outcome] = []
        self._tree = SitemapTree()
        self._overview = SiteOverview()
        self._listed = DuplicateUrls()
        self._lastmods = SitemapLastmods(fetched, as_of or (None if fetched else now))
        clock = (lambda: now) if as_of else clock
        context = AuditContext(now, clock, self._listed, rules_of, has_headers, allowed_hosts)
        checks = [*(make(context) for make in CHECKS), *extra_checks]
        always = [self._overview, self._listed, self._lastmods]
        self._checks = [*always, *(each for each in checks if each is not None and findings.includes(each.codes))]
        self._url_checks, self._ref_checks, self._outcome_checks = (
            _overriding(self._checks, name) for name in ("on_urls", "on_ref", "on_outcome")
        )
        # URLs without a sitemap, as in some dumps, are not passed to rules on single sitemaps.
        self._unnamed_checks = _overriding([check for check in self._checks if not check.is_by_sitemap], "on_urls")

    def add(self, items: Iterable[BatchItem]) -> None:
        for item in items:
            _HANDLERS[type(item)](self, item)

    def _urls(self, urls: UrlBatch) -> None:
        if not urls:
            return
        checks = self._url_checks
        if urls.sitemap:
            for _, lastmod, precision in urls.newest:
                self._tree.note(urls.sitemap, lastmod, precision)
        else:
            self._listed.unnamed, checks = self.target, self._unnamed_checks
            urls = UrlBatch(self.target, urls.store, urls.start, urls.stop)
        for on_urls in checks:
            on_urls(urls, self.findings)

    def _ref(self, ref: SitemapRef) -> None:
        self._tree.add(ref)
        for on_ref in self._ref_checks:
            on_ref(ref, self.findings)

    def _problem(self, problem: Problem) -> None:
        if problem.sitemap is not None and _may_cut(problem):
            self._cuts.setdefault(problem.sitemap, []).append(problem)
        # The redirect of a robots.txt is listed nowhere: no listing can be corrected.
        elif not (problem.code == "F03" and (problem.sitemap or "").endswith("/robots.txt")):
            self.findings.add(problem)

    def _outcome(self, outcome: Outcome) -> None:
        self._tree.add(outcome)
        self._outcomes.append(outcome)
        self._cut(outcome)
        for on_outcome in self._outcome_checks:
            on_outcome(outcome, self.findings)

    def _cut(self, outcome: Outcome) -> None:
        """Reports why the end of a document is missing. If data was cut (F04, F07), S01 only repeats that."""
        problems = self._cuts.pop(outcome.url or "", [])
        causes = [each for each in problems if each.code != "S01" and self.findings.includes([each.code])] or problems
        if len(causes) < len(problems):
            self._causes[outcome.url or ""] = causes[0]
        is_cut = outcome.format == Format.TEXT or any(each.code == "S01" for each in problems)
        noun = "sitemaps" if outcome.format == Format.INDEX else "URLs"
        read = counted(outcome.entries, f"{noun} read before that; the number lost is unknown")
        for each in causes:
            self.findings.add(attrs.evolve(each, message=f"{each.message}: {read}") if is_cut else each)

    def abort(self) -> None:
        """Marks the audit as incomplete: further documents exist that were not read."""
        for on_outcome in self._outcome_checks:
            on_outcome(Outcome(complete=False), self.findings)

    def report(
        self, *, complete: bool | None, notes: Iterable[str] = (), rules: Mapping[str, str] | None = None
    ) -> Report:
        """The Report; ends all checks, so it is called once. `rules` are those of the Report."""
        for problem in chain.from_iterable(self._cuts.values()):
            self.findings.add(problem)
        for check in self._checks:
            check.on_end(self.findings)
        unchecked = {code: why for check in self._checks for code, why in check.unchecked.items()}
        check_notes = [note for check in self._checks for note in getattr(check, "notes", ())]
        policy, ignored = self.findings.policy, self.findings.ignored_by_rule()
        policy_notes = policy.notes(ignored) if policy is not None else ()
        return Report(
            target=self.target,
            at=self._now,
            urls=self._listed.listings,
            pages=len(self._listed.first),
            complete=complete,
            findings=self.findings.ranked(),
            sitemaps=tuple(self._rows()),
            facts=(*self._overview.facts(self._outcomes), *self._lastmods.facts()),
            notes=(*notes, *check_notes, *policy_notes),
            # They have no row in the tree.
            unnamed=tuple(each for each in self._outcomes if each.url is None and not each.complete),
            lastmod_trust={url: judge_history(history) for url, history in self._lastmods.histories.items()},
            policy=policy,
            ignored=ignored,
            rules={code: why or unchecked.get(code, "") for code, why in (rules or {}).items()},
            site=self.site,
            dropped=self._dropped(),
        )

    def _dropped(self) -> int | None:
        """The number of entries without a record; None without outcomes, and with filters, which hide some of them."""
        if not self._outcomes or any(map(has_filter_drops, self._outcomes)):
            return None
        return sum(each.entries - each.kept for each in sitemaps_of(self._outcomes) if each.format != Format.INDEX)

    def _rows(self) -> Iterator[TreeRow]:
        """The sitemap tree; each row counts the problems of all findings in its document."""
        by_document = self.findings.by_document()
        for row in self._tree.rows():
            problems, cause = by_document[row.url], self._causes.get(row.url)
            if cause is not None:
                row = attrs.evolve(row, problem=f"{cause.code} {cause.message}")
            yield row if row.problems is None and not problems else attrs.evolve(row, problems=problems)


_HANDLERS: dict[type, Callable[[AuditRunner, Any], None]] = {
    UrlBatch: AuditRunner._urls,
    SitemapRef: AuditRunner._ref,
    Problem: AuditRunner._problem,
    Outcome: AuditRunner._outcome,
}


def _may_cut(problem: Problem) -> bool:
    """Whether it is an error that the end of a document is missing. Data with a wrong CRC or size is all there."""
    if problem.severity != "error":
        return False
    is_gzip_cut = problem.code == "F07" and problem.kind != "wrong checksum or size"
    return problem.code == "F04" or is_gzip_cut or problem.kind == "document cut off"


def _overriding(checks: Sequence[Check], name: str) -> list[Callable[[Any, Findings], None]]:
    """This method of each check that overrides it."""
    return [getattr(check, name) for check in checks if getattr(type(check), name) is not getattr(Check, name)]
