"""audit(): the Report of a site or a dump. AuditRunner passes each item, in their order, to the checks that take it."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import closing, nullcontext
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack
from urllib.parse import urlsplit

import attrs

from ..client.keywords import checked_keywords
from ..client.options import PatternOptions, ProgressOptions, ReaderOptions, RobotsOptions
from ..client.sitemap_tree import SitemapTree
from ..client.summary import sitemaps_of
from ..client.targets import Target, find_target, reject_document, reject_sitemap_file
from ..frontier.lastmod_trust import judge_history
from ..frontier.plan import WELL_KNOWN, Selection, has_filter_drops, make_moment, make_patterns
from ..frontier.robots_rules import SEARCH_ENGINES, AgentRules, agent_names
from ..model.columns import EPOCH, SUBSECOND
from ..model.errors import NothingFound, NothingReadable, UsageError
from ..model.limits import Limits
from ..model.messages import Keyword, Message
from ..model.options import part_of, with_defaults
from ..model.problems import CATALOGUE, SAMPLES_PER_CODE, Problem, count_of, report, report_as
from ..model.records import Outcome, SitemapRef, UrlRecord
from ..model.url_batch import PRECISION_CODES, UrlBatch
from ..parser.content.sniff import SITEMAP_FORMATS, Format
from ..parser.normalise.urls import host, is_clean, listed_url, origin
from ..serialize.dumps import STDIN, Dump, DumpFile, in_batches, is_dump_name, numbered_records, only_dump_lines
from ..state.state import site_name
from ..statistics.facts import Fact, facts, share
from ..statistics.sections import SectionCounts
from . import dates, documents, extensions, robots, spellings, urls
from .baseline import BaselineCheck, open_baseline
from .crawled import CrawlCheck, UnchangedContentCheck
from .dates import SitemapLastmods
from .documents import AuditContext, DuplicateUrls
from .extensions import OF_PAGES, UNINDEXABLE_ALTERNATE
from .findings import NO_SITEMAP, Check, CheckedPart, Findings, find_fixed
from .occurrences import KnownFindings
from .options import AuditOptions, ComparisonOptions, RequestOptions, removed_threshold
from .policy import parse_codes, read_policy
from .report import Report
from .robots import DisallowedSitemaps, RefusedRobots, UrlsElsewhere
from .rule_docs import comparing, explain, needing
from .url_checks import UrlChecks, check_bar
from .urls import find_development_host

if TYPE_CHECKING:
    from ..client.sitemap_tree import TreeRow
    from ..client.streams import Stream
    from ..frontier.plan import Seed
    from ..frontier.robots_rules import Rules
    from ..model.url_batch import BatchItem
    from ..pipeline.document_parser import Batch
    from ..pipeline.page_fetcher import PageResponse
    from ..serialize.dumps import JsonObject
    from .baseline import Source
    from .url_checks import CheckProgress

    DumpItem = UrlRecord | SitemapRef | Problem | Outcome


@attrs.frozen
class ComparisonSources:
    """What an audit compares with: a crawl file; an earlier dump or a state, and the crawl file of its time."""

    given: ComparisonOptions  # all of them

    def validate(self, selected: Iterable[str] = ()) -> None:
        """Raises UsageError for sources that exclude each other, and for selected codes whose source is missing."""
        given = self.given
        if given["baseline"] is not None and given["state"] is not None:
            raise UsageError.of("{baseline=} and {state=} both give the earlier URLs: give one of them")
        if given["baseline_crawl"] is not None and (self._baseline_source is None or given["crawl"] is None):
            message = "{baseline_crawl=} is compared with a crawl and a baseline: give {crawl=} and {baseline=} too"
            raise UsageError.of(message)
        if given["check_urls"] is None and given["save_checks"] is not None:
            raise UsageError.of("{save_checks=} keeps what {check_urls=} finds: give {check_urls=} too")
        needs = self.unavailable
        for beginning in selected:
            meant = [code for code in CATALOGUE if code.startswith(beginning)]
            if needs.keys() >= {*meant}:
                sources = Message.joined(", and ", sorted({needs[code] for code in meant}))
                raise UsageError.of("{beginning} needs {sources}", beginning=beginning, sources=sources)

    @property
    def unavailable(self) -> dict[str, str]:
        """Codes that cannot be checked -> the source that they need."""
        given = self.given
        sources = {
            "pages": given["crawl"] if given["check_urls"] is None else given["check_urls"],
            "checked pages": given["check_urls"],
            "a crawl": given["crawl"],
            "a baseline": self._baseline_source,
            "two crawls": given["baseline_crawl"],
        }
        missing = _needs(name for name, source in sources.items() if source is None)
        return {code: _SOURCES[name] for code, name in missing.items()}

    def rules(self, findings: Findings, unchecked: Mapping[str, str] | None = None) -> dict[str, str]:
        """Report.rules: the selected codes -> why one was not checked; `unchecked` has further reasons."""
        reasons = {code: f"needs {what}" for code, what in self.unavailable.items()}
        reasons |= {**(unchecked or {}), **findings.excluded}
        selected = [code for code in CATALOGUE if findings.includes([code]) or code in findings.excluded]
        return {code: reasons.get(code, "") for code in selected}

    def checks(self, findings: Findings, site: str | None, *, seeds: str | None = None) -> Iterator[Check]:
        """The checks of these sources, which are read. `site` selects one site of a dump, `seeds` one of a state."""
        source, crawl, earlier_crawl = self._baseline_source, self.given["crawl"], self.given["baseline_crawl"]
        if crawl is not None and findings.includes((*CrawlCheck.codes, UNINDEXABLE_ALTERNATE)):
            yield CrawlCheck.read(crawl)
        if source is None:
            return
        baseline = open_baseline(source, site, seeds=seeds, must_be_state=self.given["state"] is not None)
        if findings.includes(BaselineCheck.codes):
            yield BaselineCheck.read(baseline, removed_threshold(self.given["max_removed"]))
        if crawl is not None and earlier_crawl is not None and findings.includes(UnchangedContentCheck.codes):
            yield UnchangedContentCheck.read(baseline, earlier_crawl, crawl)

    def url_checks(self, findings: Findings, checks: Iterable[Check]) -> UrlChecks | None:
        """The check of URLs, if it is wanted; `checks` are those of checks(). UsageError for invalid options."""
        size, crawl_file = self.given["check_urls"], self.given["crawl"]
        if size is None:
            return None
        codes = (*UrlChecks.codes, *OF_PAGES)
        if not findings.includes(codes):
            raise UsageError.of(
                "{check_urls=} finds {codes}: select one of them, and ignore not all", codes=", ".join(codes)
            )
        crawl = next((each for each in checks if isinstance(each, CrawlCheck)), None)
        crawl_name = None if crawl_file is None else os.fspath(crawl_file)
        return UrlChecks(size, self.given["save_checks"], self.given["seed"], crawl, crawl_name)

    @property
    def _baseline_source(self) -> Source | None:
        return self.given["baseline"] if self.given["baseline"] is not None else self.given["state"]


# What codes need -> how it is given.
_SOURCES = {
    "pages": Message.of("responses of the pages ({check_urls=N} or {crawl=FILE})"),
    "checked pages": Message.of("responses of the pages ({check_urls=N})"),
    "a crawl": Message.of("a crawl of the site ({crawl=FILE})"),
    "a baseline": Message.of("an earlier dump or a state ({baseline=DUMP}, {state=FILE})"),
    "two crawls": Message.of("an earlier crawl and dump ({baseline_crawl=FILE}, {baseline=DUMP}, {crawl=FILE})"),
}
_INDEX_DATES = "what an index states"
# What dumps, and files without a server, lack.
_NOT_IN_A_DUMP = ("robots.txt", "the time of the request", _INDEX_DATES)
_NOT_IN_FILES = ("headers", "the time of the request")


def _needs(whats: Iterable[str]) -> dict[str, str]:
    return {code: what for what in whats for code in needing(what)}


@attrs.frozen
class AuditFilter:
    """The filters of an audit; none by default. `names` are those given, as notes show them."""

    selection: Selection = attrs.field(factory=Selection)
    keywords: dict[str, Any] = attrs.field(factory=dict)
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, **given: Any) -> AuditFilter:
        """From the keywords include, exclude, follow and no_follow; UsageError for an invalid regular expression."""
        patterns = {name: make_patterns(name, value) for name, value in given.items() if not callable(value)}
        keywords = {name: value for name, value in given.items() if callable(value) or patterns[name]}
        texts = {name: (each.pattern for each in found.patterns) for name, found in patterns.items()}
        names = [f"{name} {' or '.join(texts.get(name, ('a function',)))}" for name in keywords]
        return cls(Selection(include=patterns["include"], exclude=patterns["exclude"]), keywords, tuple(names))

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Codes that are not checked: with filters they would report what is filtered out."""
        return needing("the whole site") if self.keywords else ()

    def validate(self, selected: Iterable[str]) -> None:
        """UsageError for selected codes, or beginnings of codes, all of which need the whole site."""
        for beginning in selected:
            if {code for code in CATALOGUE if code.startswith(beginning)} <= {*self.unchecked}:
                given = Message.joined(" and ", map(Keyword, self.keywords))
                message = "{beginning} needs the whole site: leave out {given}"
                raise UsageError.of(message, beginning=beginning, given=given)

    def takes(self, item: object) -> bool:
        loc = item.loc if isinstance(item, UrlRecord) else item.url if isinstance(item, Problem) else None
        return loc is None or self.selection.takes(loc)

    def notes(self, wanted: Findings, unavailable: Collection[str] = ()) -> Iterator[str]:
        """What the report covers. `wanted` has the codes that count without filters, `unavailable` lack a source."""
        if not self.keywords:
            return
        # What these report is right, but they see only what matches.
        codes = (*comparing("URLs"), *(comparing("shares") if self.selection != Selection() else ()))
        seen = ", ".join(sorted(code for code in codes if wanted.includes([code])))
        yield f"filtered by {'; '.join(self.names)}: only what matches was checked" + (
            f", and {seen} compare only the URLs that match" if seen else ""
        )
        whole = ", ".join(code for code in self.unchecked if wanted.includes([code]) and code not in unavailable)
        if whole:
            yield f"not checked, as a filter leaves out a part of the site: {whole}"


@attrs.define
class DumpItems:
    """Converts the lines of a dump to the items of a crawl: items(), then end(), which adds the problems of records.

    A dump with outcomes has a line for each problem; one of URLs alone has them in its records only.
    """

    name: str
    _findings: Findings
    _chosen: AuditFilter
    _complete: bool = True
    _has_outcomes: bool = False
    _has_refs: bool = False
    _is_filtered: bool = False
    _unnamed: int = 0
    _record_problems: Findings = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._record_problems = self._findings.empty_copy()

    def items(self, json_objects: Iterable[tuple[int, JsonObject]]) -> Iterator[DumpItem]:
        """The items of the lines; UsageError for an invalid line and for a list of changes."""
        for number, item in numbered_records(only_dump_lines(json_objects, self.name), self.name):
            if not self._chosen.takes(item):
                continue
            if isinstance(item, UrlRecord):
                yield from self._record(item, number)
                continue
            self._has_refs = self._has_refs or isinstance(item, SitemapRef)
            self._has_outcomes = self._has_outcomes or isinstance(item, Problem | Outcome)
            if isinstance(item, Outcome):
                self._complete = self._complete and item.complete
                self._is_filtered = self._is_filtered or has_filter_drops(item)
            if isinstance(item, SitemapRef | Problem | Outcome):
                yield item

    def _record(self, record: UrlRecord, number: int) -> Iterator[UrlRecord]:
        place: dict[str, Any] = {"sitemap": record.sitemap, "line": record.line}
        if not record.sitemap:  # the dump has some fields only
            self._unnamed += 1
            record.line = number
            place = {"sitemap": self.name, "line": number}
        for problem in record.problems:
            self._record_problems.add(attrs.evolve(problem, **place))
        if not is_clean(record.loc):  # another tool wrote the dump
            cleaned = listed_url(record.loc)
            if cleaned.url is None:
                self._findings.add(report("U15", f"{record.loc} is no URL", field="loc", raw=record.loc, **place))
                return
            record.loc = cleaned.url
        yield record

    def end(self) -> None:
        if not self._has_outcomes:
            self._findings.merge(self._record_problems)

    @property
    def complete(self) -> bool | None:
        """Whether all sitemaps were read completely; None if the dump does not state it."""
        return self._complete if self._has_outcomes else None

    def unchecked(self) -> dict[str, str]:
        fetched = {} if self._has_outcomes else {code: "outcomes of documents" for code in CATALOGUE if code[0] == "F"}
        return {code: f"needs {what}, which the dump lacks" for code, what in (fetched | self._unknown()).items()}

    def _unknown(self) -> dict[str, str]:
        return _needs(what for what in _NOT_IN_A_DUMP if what != _INDEX_DATES or not self._has_refs)

    def notes(self) -> Iterator[str]:
        if not self._has_outcomes:
            yield f"{self.name} has no outcomes of documents: sitemaps were not checked, completeness unknown"
        seen = ", ".join(code for code in comparing("shares") if self._findings.includes([code]))
        if self._is_filtered and seen:
            yield f"{self.name} was made with a filter: {seen} compare only the URLs that it has"
        checked = ", ".join(code for code in needing("sitemaps") if self._findings.includes([code]))
        if self._unnamed and checked:
            yield f"{count_of(self._unnamed, 'URL')} of {self.name} without its sitemap: {checked} not checked there"
        needs = [f"{code} ({needed})" for code, needed in self._unknown().items() if self._findings.includes([code])]
        if needs:
            yield f"not checked, as {self.name} is a dump: {', '.join(needs)}"


@checked_keywords(AuditOptions)
def audit(source: str | os.PathLike[str] | Dump | Target, **options: Unpack[AuditOptions]) -> Report:
    """A Report of what is wrong with the sitemaps of a site, or with those that a dump was made of.

    `source` is a target, as urls() takes it, or a dump: the name of a file, or what load() returns. The options
    of SitemapReader, follow and no_follow are for a target only; with `base` the source is a folder or a file of a site
    that is not deployed. With filters, rules that need the whole site are not checked, and a note states them.

    UsageError for values that are not allowed. Where there is no sitemap, or none can be read, the Report says so.
    """
    reject_document(source)
    if not isinstance(source, str | os.PathLike | Dump | Target):
        raise UsageError(f"the source is a site (host, URL or folder) or a dump (file), not {source!r}")
    request = AuditRequest.of(part_of(RequestOptions, options))
    base = options.get("base")
    if isinstance(source, Target) or (
        not isinstance(source, Dump) and (base is not None or not is_dump_name(os.fspath(source)))
    ):
        target = find_target(Path(source) if isinstance(source, os.PathLike) else source, base)
        return SiteAudit(target, request, options).run()
    if not isinstance(source, Dump):
        reject_sitemap_file(os.fspath(source))
    dump = source if isinstance(source, Dump) else DumpFile(Path(source))
    if others := [*part_of(ReaderOptions, options), *part_of(RobotsOptions, options)]:
        raise UsageError(f"{', '.join(others)}: that applies to sites only, and {dump.name} is a dump")
    return audit_lines(dump.numbered(), dump.name, attrs.evolve(request, as_of=request.as_of or dump.read_at))


@attrs.frozen
class AuditRequest:
    """What an audit reports, and what it compares with: `as_of` is None for now, `stop` ends it once it is True."""

    findings: Findings
    compared_with: ComparisonSources
    chosen: AuditFilter
    as_of: datetime | None
    stop: Callable[[], bool]
    known: KnownFindings | None = None
    samples: int = SAMPLES_PER_CODE

    @classmethod
    def of(cls, options: RequestOptions) -> Self:
        """From keywords of audit(); UsageError for values that are not allowed."""
        given = with_defaults(RequestOptions, options)
        as_of, samples, policy = given["as_of"], given["samples"], given["policy"]
        moment = None if as_of is None else make_moment("as_of", as_of, datetime.now(UTC)).astimezone(UTC)
        if type(samples) is not int or samples < 0:
            raise UsageError(keyword="samples", value=samples, allowed="a number, 0 or more")
        codes = parse_codes(given["select"])
        known = None if given["known"] is None else KnownFindings.read(given["known"])
        findings = Findings(
            select=codes,
            ignore=parse_codes(given["ignore"]),
            samples=samples,
            known=known,
            on_occurrence=given["on_occurrence"],
            policy=None if policy is None else read_policy(policy),
        )
        compared_with = ComparisonSources(part_of(ComparisonOptions, given))
        compared_with.validate(codes)
        chosen = AuditFilter.of(**part_of(PatternOptions, given))
        chosen.validate(codes)
        stop = given["stop"] or (lambda: False)
        return cls(findings, compared_with, chosen, moment, stop, known, samples)

    def compare_known(self, runner: AuditRunner, result: Report, extra_checks: Iterable[Check] = ()) -> Report:
        """The result with what was fixed since the known findings, if there are any."""
        if self.known is None:
            return result
        pages = [each for each in extra_checks if isinstance(each, CrawlCheck | UrlChecks)]
        part = CheckedPart.of(
            runner.outcomes,
            runner.sitemaps,
            rules=result.rules,
            listed=runner.listed,
            policy=self.findings.policy,
            takes_url=self.chosen.selection.takes,
            is_page_known=lambda url, code: any(each.is_page_known(url, code) for each in pages),
        )
        if self.chosen.keywords or result.complete is False:
            part = attrs.evolve(part, is_whole=False)
        return attrs.evolve(result, fixed=find_fixed(self.known, part, self.samples))

    def apply_filters(self) -> list[str]:
        """Excludes the codes that the filters make impossible; the notes on that."""
        notes = [*self.chosen.notes(self.findings, self.compared_with.unavailable)]
        self.findings.exclude(dict.fromkeys(self.chosen.unchecked, "needs the whole site, without filters"))
        return notes


def _files_notes(target: Target, findings: Findings) -> Iterator[str]:
    """Excludes the codes that files without a server lack; `read from public/; not checked there: F06 (headers), …`."""
    if target.local is None:
        return
    needed = _needs(_NOT_IN_FILES)
    needs = [f"{code} ({what})" for code, what in needed.items() if findings.includes([code])]
    place = "stdin" if target.local == STDIN else target.local
    yield f"read from {place}" + (f"; not checked there: {', '.join(needs)}" if needs else "")
    findings.exclude({code: f"needs {what}, which files lack" for code, what in needed.items()})


def _unrecorded_notes(target: Target, outcomes: Iterable[Outcome]) -> Iterator[str]:
    """A note that names documents that a recording lacks: their answers are unknown."""
    urls = [each.url for each in outcomes if each.url is not None and each.status == HTTPStatus.NOT_FOUND]
    missing = sorted(url for url in urls if target.is_unrecorded(url))
    if missing:
        what = f"{count_of(len(missing), 'document')} not in the recording, and so read as missing (404)"
        yield f"{what}: {', '.join(missing[:3])}{' …' * (len(missing) > 3)}"


def _no_sitemap(target: str, outcomes: Sequence[Outcome], *, is_probed: bool) -> str:
    """`no sitemap found for example.com: robots.txt is missing (404), and none of 14 well-known paths is a sitemap`."""
    found = [each for each in outcomes if each.format == Format.ROBOTS]
    status = next((each.status for each in found), None)
    robots = "robots.txt names none" if status == HTTPStatus.OK else f"robots.txt is missing ({status or 'not read'})"
    probed = f", and none of {len(WELL_KNOWN)} well-known paths is a sitemap" if is_probed else ""
    if any(sample.code == "F09" and sample.remedy for each in found for sample in each.samples):
        probed = ", and forbids the well-known paths to this reader"
    return f"no sitemap found for {target}: {robots}{probed}; if you know where it is, give its URL"


def _unread_codes() -> list[str]:
    return [code for code in CATALOGUE if explain(code).impact in ("unread", "unchecked")]


class _Stopped(Exception):
    """By stop(), or because the time for the site is over."""


_STAGING_ROBOTS = (
    "F02, F20 and U12 are of the robots.txt of the staging host, which forbids what that of production may not: "
    "--no-robots (obey_robots=False) reads it"
)
_STOPPED = "stopped before the end: the report covers what was read by then"


@attrs.define
class SiteAudit:
    """The audit of a site: reads its sitemaps, then requests a sample of its pages if that is wanted."""

    _target: Target
    _request: AuditRequest
    _options: AuditOptions
    _notes: list[str] = attrs.field(factory=list)
    _unchecked: dict[str, str] = attrs.field(factory=dict)  # code -> why it was not checked
    _closed: list[str] = attrs.field(factory=list)  # sitemaps where robots.txt forbids to look, if no other was found

    def run(self) -> Report:
        from ..client.crawler import batches  # a dump needs no network library

        target, request = self._target, self._request
        self._notes += [*_files_notes(target, request.findings), *request.apply_filters()]
        extra_checks = [*request.compared_with.checks(request.findings, target.name, seeds=site_name(target.seeds))]
        url_checks = request.compared_with.url_checks(request.findings, extra_checks)
        extra_checks += [] if url_checks is None else [url_checks]
        with batches(target, on_wait=self._check_stop, **self._reading(), **request.chosen.keywords) as stream:
            runner = self._runner(stream, extra_checks)
            try:
                self._read(stream, runner)
            except _Stopped:
                runner.abort()
                unrequested = "stopped before pages were requested"
                self._unchecked |= {} if url_checks is None else dict.fromkeys(url_checks.codes, unrequested)
                self._notes.append(_STOPPED)
                return self._report(runner, extra_checks, complete=False)
        self._notes += _unrecorded_notes(target, stream.outcomes)
        for url in self._unlisted(stream):
            if url not in self._closed:
                message = f"{url} is a sitemap that neither robots.txt nor an index names"
                request.findings.report("S18", message, sitemap=url)
        complete = None if self._unchecked else stream.complete and not self._closed
        checked = None
        if url_checks is not None:
            url_checks.folder, url_checks.base = target.local, target.name
            self._check_pages(url_checks, stream.rules)
            checked = url_checks.summary()
        return attrs.evolve(self._report(runner, extra_checks, complete=complete), url_checks=checked)

    def _reading(self) -> dict[str, Any]:
        """The keywords of the crawl, but for the filters."""
        reading: dict[str, Any] = {**part_of(ProgressOptions, self._options), **part_of(ReaderOptions, self._options)}
        if self._target.local is not None:
            # Other hosts are not in the files: to ask for their robots.txt costs nothing.
            reading["limits"] = attrs.evolve(reading.get("limits") or Limits(), max_proof_hosts=sys.maxsize)
        return reading

    def _runner(self, stream: Stream[Batch], extra_checks: Sequence[Check]) -> AuditRunner:
        target, options = self._target, self._options
        robots = AgentRules(target.known_rules(stream.rules), agent_names(options.get("robots_for") or SEARCH_ENGINES))
        for check in extra_checks:
            if isinstance(check, CrawlCheck):
                check.rules_of = stream.rules
            if isinstance(check, CrawlCheck | UrlChecks) and not options.get("host_map"):
                check.robots = robots  # that of a staging host may forbid all
        # With private addresses allowed, U14 does not report those that the caller named.
        named = [each for seed in target.seeds for each in seed.origins] if options.get("allow_private") else []
        return AuditRunner(
            target.name,
            self._request.findings,
            as_of=self._request.as_of,
            fetched=lambda: target.recorded or datetime.now(UTC),
            extra_checks=extra_checks,
            robots=robots,
            knows=target.knows,
            is_local=target.local is not None,
            is_mapped=bool(options.get("host_map")),
            seeds=target.seeds,
            has_headers=target.has_headers,
            allowed_hosts={host(f"{each}/") for each in named},
            site=target.site,
        )

    def _read(self, stream: Stream[Batch], runner: AuditRunner) -> None:
        """Passes all items to the runner; _Stopped if that is to end before."""
        target, findings = self._target, self._request.findings
        try:
            for batch in stream:
                runner.add(filter(self._request.chosen.takes, batch))
                self._check_stop()
            if stream.summary.stopped:
                raise _Stopped
        except NothingFound:
            self._closed = [url for url in self._unlisted(stream) if runner.is_closed(url)]
            if self._closed:
                runner.add(report("F02", "forbidden by robots.txt", sitemap=url) for url in self._closed)
                return
            is_probed = self._options.get("probe") != "never"
            message = _no_sitemap(target.site or target.name, stream.outcomes, is_probed=is_probed)
            runner.report_missing(message, f"{target.seeds[0].origins[0]}/")
            self._notes += [] if findings.includes([NO_SITEMAP]) else [message]
            self._unchecked = {code: "there is no sitemap" for code in CATALOGUE if code[0] != "F"}
        except NothingReadable as exc:
            self._notes += [] if findings.includes(_unread_codes()) else [str(exc)]  # else the findings have the reason

    def _unlisted(self, stream: Stream[Batch]) -> list[str]:
        return self._target.unlisted({each.url for each in stream.outcomes})

    def _check_pages(self, url_checks: UrlChecks, rules_of: Callable[[str], Rules | None]) -> None:
        """Requests the sample."""
        from ..client.crawler import page_responses

        bar = check_bar() if self._options.get("show_progress") else None

        def fetch(urls: Sequence[str], report_progress: Callable[[], None]) -> Iterator[PageResponse]:
            def wait() -> None:
                self._check_stop()
                report_progress()

            reading = part_of(ReaderOptions, self._options)
            with closing(page_responses(self._target, urls, rules_of, on_wait=wait, **reading)) as responses:
                for response in responses:
                    yield response
                    self._check_stop()

        def report_progress(progress: CheckProgress) -> None:
            for callback in (bar, self._options.get("on_checked")):
                if callback is not None:
                    callback(progress)

        with bar or nullcontext():
            try:
                url_checks.run(fetch, report_progress)
            except _Stopped:
                self._notes.append("the check of URLs was stopped: shares are estimated from those checked by then")

    def _check_stop(self) -> None:
        if self._request.stop():
            raise _Stopped

    def _report(self, runner: AuditRunner, extra_checks: Iterable[Check], *, complete: bool | None) -> Report:
        rules = self._request.compared_with.rules(self._request.findings, self._unchecked)
        result = runner.report(complete=complete, notes=self._notes, rules=rules)
        if self._options.get("host_map") and any(finding.code in ("F02", "F20", "U12") for finding in result.findings):
            result = attrs.evolve(result, notes=(*result.notes, _STAGING_ROBOTS))
        return self._request.compare_known(runner, result, extra_checks)


def audit_lines(numbered: Iterable[tuple[int, JsonObject]], name: str, request: AuditRequest) -> Report:
    """Audits the numbered lines of a dump; `name` is the target of the Report."""
    findings, compared_with, chosen = request.findings, request.compared_with, request.chosen
    if compared_with.given["check_urls"] is not None:
        raise UsageError.of("{check_urls=} fetches the pages of a site, and {name} is a dump: give the site", name=name)
    for keyword in chosen.keywords.keys() & {"follow", "no_follow"}:  # a dump has no sitemaps to follow
        message = "{given} applies to sites only, and {name} is a dump: give {include=} or {exclude=}, for its URLs"
        raise UsageError.of(message, given=Keyword(keyword), name=name)
    notes = request.apply_filters()
    extra_checks = [*compared_with.checks(findings, None)]
    runner = AuditRunner(name, findings, as_of=request.as_of, extra_checks=extra_checks)
    dumped = DumpItems(name, findings, chosen)
    is_stopped = False
    for batch in in_batches(dumped.items(numbered)):
        runner.add(batch)
        if is_stopped := request.stop():
            runner.abort()
            break
    dumped.end()
    rules = compared_with.rules(findings, dumped.unchecked())
    notes += [_STOPPED] if is_stopped else dumped.notes()
    result = runner.report(complete=False if is_stopped else dumped.complete, notes=notes, rules=rules)
    return request.compare_known(runner, result, extra_checks)


CHECKS = (
    *documents.CHECKS,
    *spellings.CHECKS,
    *dates.CHECKS,
    *extensions.CHECKS,
    *urls.CHECKS,
    *robots.CHECKS,
)
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
        yield from facts(
            "formats", sorted(Counter(formats.values()).items(), key=lambda pair: (-pair[1], pair[0])), len(formats)
        )


class AuditRunner:
    """Runs all checks over what add() receives; report() then returns the Report.

    Ages are computed from `as_of`, or else from `fetched()`, the time of the fetch; None if it is unknown.
    """

    def __init__(
        self,
        target: str,
        findings: Findings,
        *,
        as_of: datetime | None = None,
        fetched: Callable[[], datetime] | None = None,
        extra_checks: Sequence[Check] = (),
        robots: AgentRules | None = None,
        seeds: Sequence[Seed] = (),
        knows: Callable[[str], bool] = lambda url: True,
        is_local: bool = False,
        is_mapped: bool = False,
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
        self._allowed_hosts = allowed_hosts
        self._relisted: list[Problem] = []  # their messages name a listing: which one the whole tree decides
        self._tree = SitemapTree()
        self._overview = SiteOverview()
        self._listed = DuplicateUrls()
        self._lastmods = SitemapLastmods(fetched, as_of or (None if fetched else now))
        clock = (lambda: now) if as_of else clock
        context = AuditContext(
            now,
            clock,
            self._listed,
            self._tree,
            robots,
            has_headers,
            allowed_hosts,
            seeds,
            knows,
            is_mapped,
            is_local,
            page_results=[each for each in extra_checks if isinstance(each, CrawlCheck | UrlChecks)],
        )
        made = (make(context) for make in CHECKS)
        checks = [each for each in made if each is not None and findings.includes(each.codes)]
        self._disallowed = next((each for each in checks if isinstance(each, DisallowedSitemaps)), None)
        self._robots = robots
        self._refused = RefusedRobots()
        self._without_lines: list[Problem] = []  # F09, unless there is no sitemap at all
        self._has_stopped = False
        self._elsewhere = UrlsElsewhere(knows) if is_local else None
        self._checks = [self._overview, self._listed, self._lastmods, *checks, *extra_checks]
        self._url_checks, self._ref_checks, self._outcome_checks = (
            _overriding(self._checks, name) for name in ("on_urls", "on_ref", "on_outcome")
        )
        # URLs without a sitemap, as in some dumps, are not passed to rules on single sitemaps.
        self._unnamed_checks = _overriding([check for check in self._checks if not check.is_by_sitemap], "on_urls")

    @property
    def outcomes(self) -> Sequence[Outcome]:
        return self._outcomes

    @property
    def listed(self) -> Set[int]:
        """The keys of the listed URLs."""
        return self._listed.listed

    @property
    def sitemaps(self) -> Set[str]:
        """Those that list URLs."""
        return self._listed.sitemaps

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
        placed = self._by_host(problem) if problem.code == "U04" else problem
        known = placed if self._elsewhere is None else self._elsewhere.judged(placed)
        if known is None or self._refused.hold(known):
            return
        if known.code == "F09":
            self._without_lines.append(known)
            return
        if self._disallowed is not None and self._disallowed.hold(known):
            return
        if known.sitemap is not None and _may_cut(known):
            self._cuts.setdefault(known.sitemap, []).append(known)
        # The redirect of a robots.txt is listed nowhere: no listing can be corrected.
        elif not (known.code == "F03" and (known.sitemap or "").endswith("/robots.txt")):
            self._add(known)

    def _add(self, problem: Problem) -> None:
        if problem.listed is None:
            self.findings.add(problem)
        else:
            self._relisted.append(problem)

    def _by_host(self, problem: Problem) -> Problem:
        """A U04 with its host as kind; of a host that only developers reach a U14."""
        name = host(problem.url or "")
        found = find_development_host(problem.url or "", problem.sitemap)
        if found is not None and name not in self._allowed_hosts:
            return report_as(problem, "U14", f"{problem.url}: {found}", kind=found.what)
        return attrs.evolve(problem, message=_elsewhere(problem), kind=name or None)

    def _outcome(self, outcome: Outcome) -> None:
        outcome = self._refused.take(outcome)
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
        entries = count_of(outcome.entries, "sitemap" if outcome.format == Format.INDEX else "URL")
        read = f"{entries} read before that; the number lost is unknown"
        for each in causes:
            self._add(attrs.evolve(each, message=f"{each.message}: {read}") if is_cut else each)

    def abort(self) -> None:
        """Marks the audit as incomplete: further documents exist that were not read."""
        self._has_stopped = True
        for on_outcome in self._outcome_checks:
            on_outcome(Outcome(complete=False), self.findings)

    def is_closed(self, url: str) -> bool:
        """Whether a URL is a usual place of a sitemap that robots.txt disallows to this reader."""
        rules = None if self._robots is None else self._robots.rules_of(url)
        return url.removeprefix(origin(url)) in WELL_KNOWN and rules is not None and not rules.allows(url)

    def report_missing(self, message: str, site: str) -> None:
        """Reports that there is no sitemap (F19), which stands for a robots.txt that names none (F09)."""
        if self.findings.includes([NO_SITEMAP]):
            self._without_lines.clear()
            self.findings.report(NO_SITEMAP, message, sitemap=site)

    def report(
        self, *, complete: bool | None, notes: Iterable[str] = (), rules: Mapping[str, str] | None = None
    ) -> Report:
        """The Report; ends all checks, so it is called once. `complete` is that of the crawl."""
        for outcome in self._refused.restored(self._outcomes):
            self._tree.add(outcome)
            self._outcomes = [outcome if each.url == outcome.url else each for each in self._outcomes]
        if complete is False and self._refused and not self._has_stopped:
            complete = all(each.complete for each in self._outcomes)
        for problem in [*self._refused.problems(), *self._without_lines]:
            self._add(problem)
        for problem in [*chain.from_iterable(self._cuts.values()), *self._relisted]:
            self.findings.add(self._tree.relisted(problem))
        if self._disallowed is not None:
            self._disallowed.report_held(self.findings, self._tree.listing)
        for check in self._checks:
            check.on_end(self.findings)
        self.findings.end()
        unchecked = {code: why for check in self._checks for code, why in check.unchecked.items()}
        if self._elsewhere is not None:
            indexes = (each for each in self._outcomes if each.format == Format.INDEX)
            notes = [*notes, *self._elsewhere.notes(indexes)]
        check_notes = [note for check in self._checks for note in getattr(check, "notes", ())]
        policy, ignored = self.findings.policy, self.findings.ignored
        policy_notes = policy.notes(ignored) if policy is not None else ()
        is_known = self._outcomes and not any(map(has_filter_drops, self._outcomes))  # a filter hides dropped entries
        listing = [each for each in sitemaps_of(self._outcomes) if each.format != Format.INDEX]
        unread = self.findings.documents_of("unread")
        elsewhere = self._elsewhere.count(listing) if self._elsewhere is not None and is_known else 0
        return Report(
            target=self.target,
            at=self._now,
            urls=self._listed.listings,
            pages=len(self._listed.listed),
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
            dropped=sum(each.entries - each.kept for each in listing) - elsewhere if is_known else None,
            not_checked=elsewhere,
            unread=sum(each.kept for each in listing if each.url in unread) if is_known else None,
        )

    def _rows(self) -> Iterator[TreeRow]:
        """The sitemap tree; each row counts the problems of all findings in its document."""
        by_document = self.findings.by_document()
        for row in self._tree.rows():
            problems, cause = by_document[row.url], self._causes.get(row.url)
            if cause is not None:
                row = attrs.evolve(row, problem=f"{cause.code} {self._tree.relisted(cause).message}")
            yield row if row.problems is None and not problems else attrs.evolve(row, problems=problems)


_VERIFIED = "Google accepts it if both are verified in one Search Console account"


def _elsewhere(problem: Problem) -> str:
    """The message of a U04: of a page what differs, of the sitemap of an index that it was not read."""
    if problem.field != "loc" or problem.url is None or problem.sitemap is None:
        return f"{problem.message}; {_VERIFIED}"
    there, here = urlsplit(problem.url), urlsplit(problem.sitemap)
    parts = (("host", there.hostname, here.hostname), ("port", there.port, here.port))
    what = next((name for name, one, other in parts if one != other), "scheme")
    return f"{problem.url} has another {what} than its sitemap; {_VERIFIED}"


_HANDLERS: dict[type, Callable[[AuditRunner, Any], None]] = {
    UrlBatch: AuditRunner._urls,
    SitemapRef: AuditRunner._ref,
    Problem: AuditRunner._problem,
    Outcome: AuditRunner._outcome,
}


_ALL_THERE = ("wrong checksum or size", "compressed twice")  # F07 of data of which nothing is missing


def _may_cut(problem: Problem) -> bool:
    """Whether it is an error that the end of a document is missing."""
    if problem.severity != "error":
        return False
    is_gzip_cut = problem.code == "F07" and problem.kind not in _ALL_THERE
    return problem.code == "F04" or is_gzip_cut or problem.kind == "document cut off"


def _overriding(checks: Sequence[Check], name: str) -> list[Callable[[Any, Findings], None]]:
    """This method of each check that overrides it."""
    return [getattr(check, name) for check in checks if getattr(type(check), name) is not getattr(Check, name)]
