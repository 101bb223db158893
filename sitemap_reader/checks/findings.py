"""Findings, which counts the problems of an audit; Check, the base class of its rules; AuditResult, which is rendered.

`Findings` counts problems exactly and keeps a few samples of each code, spread over the documents that have it; its
memory grows with codes and documents, not with URLs. Which samples it keeps does not depend on the order of documents.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, TypeVar
from urllib.parse import urlsplit

import attrs

from ..model.problems import CATALOGUE, SAMPLES_PER_CODE, Problem, Severity, count_of, report
from ..parser.content.sniff import SITEMAP_FORMATS
from ..parser.normalise.urls import comparable
from .occurrences import Fixed, FixedFindings, Occurrence, with_url
from .policy import Policy
from .rule_docs import explain, impact_of

if TYPE_CHECKING:
    from ..client.sitemap_tree import TreeRow
    from ..frontier.lastmod_trust import LastmodTrust
    from ..model.problems import Kind as ProblemKind
    from ..model.records import Outcome, SitemapRef
    from ..model.url_batch import UrlBatch
    from ..statistics.facts import Fact
    from .occurrences import KnownFindings
    from .policy import Ignore
    from .url_sample import UrlCheckSummary


# In the order of a report.
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "notice")
# What problems cost with search engines, the gravest first.
IMPACTS = {
    "unread": "Sitemaps that search engines cannot read",
    "lost": "URLs that search engines may ignore",
    "unindexed": "Listed pages that cannot be indexed",
    "media": "Images and videos that search engines may ignore",
    "gone": "URLs and sitemaps that are no longer listed",
    "unchecked": "Sitemaps that this audit did not read",
    "signal": "Wrong signals",
    "notice": "Notices",
}


NO_SITEMAP = "F19"
MAX_KINDS = 10  # of a finding; the others are one

_Fault = TypeVar("_Fault")
FindingKey = tuple[str, Severity, str]  # code, severity and impact
Description = tuple[str, str, str | None]  # message, field and raw text of a problem


@attrs.frozen
class Kind:
    """The part of a finding that is of one kind: its exact count, and the number of documents that have it."""

    kind: str
    count: int
    documents: int


@attrs.frozen
class Finding:
    """All problems of one code, severity and impact: the exact number of places, that of documents, and samples.

    A code that can have two severities (F05: a sitemap, or robots.txt), or two impacts (U15: a page, or its image),
    gives two findings. `impact` is a key of IMPACTS. `new` counts those that the known findings lack; None without
    such. `kinds` divides them by kind, the most frequent first; `samples` are in its order, and as many kinds as
    possible have one.
    """

    code: str
    severity: Severity
    count: int
    documents: int
    samples: tuple[Problem, ...]
    new: int | None = None
    kinds: tuple[Kind, ...] = ()
    impact: str = attrs.field()

    @impact.default
    def _usual_impact(self) -> str:
        return impact_of(self.code, self.severity)

    @property
    def counted(self) -> int:
        """The number of new problems, or of all if there are no known findings."""
        return self.count if self.new is None else self.new

    @property
    def title(self) -> str:
        """The name of the problem, from CATALOGUE."""
        return CATALOGUE[self.code].title

    @property
    def key(self) -> FindingKey:
        """What no other finding of a report has."""
        return self.code, self.severity, self.impact

    def has(self, found: Occurrence) -> bool:
        """Whether it is one of these problems."""
        return (found.code, found.severity, found.impact) == self.key

    @property
    def occurrences(self) -> str:
        """`1,200 places in 3 sitemaps`; with known findings also how many are new."""
        new = "" if self.new is None else f", {self.new:,} new"
        return f"{count_of(self.count, 'place')} in {self.documents_of(self.documents)}{new}"

    def documents_of(self, count: int) -> str:
        """`3 sitemaps`, or `3 documents` of a code that is not in sitemaps only."""
        return count_of(count, explain(self.code).found_in)


def _rest(kinds: Sequence[Kind]) -> Kind:
    return Kind("others", sum(each.count for each in kinds), max(each.documents for each in kinds))


class Findings:
    """Collects problems by code and severity: add() or report() each, then ranked().

    With `select` only those codes count; codes in `ignore` never do. Both take codes or their first letters. The
    `policy` may change the severity of a problem, or ignore it: `ignored` counts those. What makes search engines
    refuse a sitemap is one problem of the sitemap for each kind, however many places have it, and an error.
    """

    def __init__(
        self,
        *,
        select: Collection[str] = (),
        ignore: Collection[str] = (),
        samples: int = SAMPLES_PER_CODE,
        on_occurrence: Callable[[Occurrence], None] | None = None,
        known: KnownFindings | None = None,
        policy: Policy | None = None,
    ) -> None:
        selected = {code for code in CATALOGUE if not select or code.startswith(tuple(select))}
        self._codes = {code for code in selected if not code.startswith(tuple(ignore))}
        self.policy = policy
        self._rules = policy or Policy()
        self._codes -= self._rules.off
        self.ignored: Counter[Ignore] = Counter()  # the problems that each has suppressed
        self.excluded: dict[str, str] = {}
        self._max_samples = samples
        self._on_occurrence = on_occurrence
        self._known = known
        self._pending: list[tuple[Problem, int]] | None = None  # of an empty_copy(): merge() passes them on
        # Code, kind and sitemap -> the first problem, and the number of them; until end().
        self._refused: dict[tuple[str, str | None, str | None], tuple[Problem, int]] = {}
        # The last is the kind.
        self._by_code: defaultdict[tuple[FindingKey, str], _Collected] = defaultdict(_Collected)

    @property
    def needs_each(self) -> bool:
        """Whether a check reports each problem by itself, where it could report the first with their number."""
        return self._needs_problems or self._rules.needs_each

    @property
    def _needs_problems(self) -> bool:
        return self._on_occurrence is not None or self._known is not None or self._pending is not None

    def exclude(self, reasons: Mapping[str, str]) -> None:
        """Leaves these codes out from now on: code -> why it is not checked."""
        self.excluded.update({code: why for code, why in reasons.items() if code in self._codes})
        self._codes -= reasons.keys()

    def includes(self, codes: Iterable[str]) -> bool:
        """Whether any of these codes counts."""
        return not self._codes.isdisjoint(codes)

    def report(
        self,
        code: str,
        message: str | Callable[[], str],
        *,
        sitemap: str | None,
        line: int | None = None,
        field: str | None = None,
        raw: str | None = None,
        url: str | None = None,
        count: int = 1,
        usual: Severity | None = None,
        kind: ProblemKind | None = None,
    ) -> None:
        """Adds a problem that the audit found, or the first of `count`. A `message` is made of a kept one only.

        `usual` is its severity without a policy, if that is not the one of its code.
        """
        if code not in self._codes:
            return
        severity = self._severity(code, usual or CATALOGUE[code].severity, url, sitemap, count)
        if severity is None:
            return
        collected = self._collected(code, severity, kind, field)
        if self._needs_problems or collected.keeps(sitemap, self._max_samples):
            text = message if isinstance(message, str) else message()
            place: Any = {"sitemap": sitemap, "line": line, "field": field, "raw": raw, "url": url}
            problem = report(code, text, severity=severity, kind=kind, **place)
            self._add(problem, collected, count)
        else:
            collected.documents[sitemap] += count

    def report_urls(
        self, code: str, batch: UrlBatch, faults: Mapping[int, _Fault], describe: Callable[[str, _Fault], Description]
    ) -> None:
        """Adds a problem of the page at each of these indexes; `describe` takes loc and fault, of samples only."""
        is_counted = code in self._codes and code not in self._rules.codes and not self._needs_problems
        for number, (index, fault) in enumerate(faults.items()):
            if is_counted:
                collected = self._collected(code, CATALOGUE[code].severity)
                if not collected.keeps(batch.sitemap, self._max_samples):
                    collected.documents[batch.sitemap] += len(faults) - number
                    return
            message, field, raw = describe(batch.locs[index], fault)
            self.report(code, message, **place_of(batch, index), field=field, raw=raw)

    def add(self, problem: Problem) -> None:
        """Adds a problem that the parser or the crawl reported."""
        if problem.code not in self._codes:
            return
        if explain(problem.code).refuses(problem.kind):
            key = problem.code, problem.kind, problem.sitemap
            first, count = self._refused.get(key, (problem, 0))
            self._refused[key] = first, count + 1
            return
        self._judge(problem, problem.severity)

    def end(self) -> None:
        """Adds the problems for which search engines refuse a sitemap: their numbers are known by now."""
        for problem, count in self._refused.values():
            self._judge(attrs.evolve(problem, url=None), "error", count)
        self._refused.clear()

    def _judge(self, problem: Problem, severity: Severity, count: int = 1) -> None:
        judged = self._severity(problem.code, severity, problem.url, problem.sitemap, count)
        if judged is not None:
            same = problem if judged == problem.severity else attrs.evolve(problem, severity=judged)
            self._add(same, self._of(same), count)

    def _severity(
        self, code: str, severity: Severity, url: str | None, sitemap: str | None, count: int = 1
    ) -> Severity | None:
        """None if the policy ignores it."""
        if code not in self._rules.codes:  # as most
            return severity
        ignore = self._rules.ignore_of(code, url, sitemap)
        if ignore is not None:
            self.ignored[ignore] += count
            return None
        return self._rules.severity_of(code, severity)

    def _add(self, problem: Problem, collected: _Collected, count: int = 1) -> None:
        collected.keep(problem, self._max_samples)
        collected.documents[problem.sitemap] += count
        if self._pending is not None:
            self._pending.append((problem, count))
        elif self._needs_problems:
            self._add_occurrence(problem, collected, count)

    def _add_occurrence(self, problem: Problem, collected: _Collected, count: int) -> None:
        is_new = None if self._known is None else not self._known.recognise(problem)
        collected.new += count if is_new else 0
        if self._on_occurrence is not None:
            self._on_occurrence(Occurrence.of(problem, count=count, new=is_new))

    def empty_copy(self) -> Findings:
        """An empty collector with the same codes and number of samples, whose problems merge() passes on."""
        other = Findings(samples=self._max_samples, policy=self.policy)
        other._codes = self._codes
        other._pending = [] if self._needs_problems else None
        return other

    def merge(self, other: Findings) -> None:
        for place, theirs in other._by_code.items():
            self._by_code[place].merge(theirs, self._max_samples)
        self.ignored.update(other.ignored)
        for key, (problem, count) in other._refused.items():
            first, known = self._refused.get(key, (problem, 0))
            self._refused[key] = first, known + count
        for problem, count in other._pending or ():
            self._add_occurrence(problem, self._of(problem), count)

    def documents_of(self, impact: str) -> set[str | None]:
        """The documents that have a problem of this impact."""
        found = (each.documents for ((*_, cost), _), each in self._by_code.items() if cost == impact)
        return set().union(*found)

    def by_document(self) -> Counter[str | None]:
        total: Counter[str | None] = Counter()
        for collected in self._by_code.values():
            total.update(collected.documents)
        return total

    def ranked(self) -> tuple[Finding, ...]:
        """The findings by impact, then by severity, then the most frequent first."""
        kinds: dict[FindingKey, dict[str, _Collected]] = {}
        for (key, kind), collected in self._by_code.items():
            kinds.setdefault(key, {})[kind] = collected
        findings = [self._finding(*each) for each in kinds.items()]
        impacts = [*IMPACTS]

        def rank(each: Finding) -> tuple[int, int, int, str]:
            return impacts.index(each.impact), SEVERITIES.index(each.severity), -each.count, each.code

        return tuple(sorted(findings, key=rank))

    def _finding(self, key: FindingKey, by_kind: dict[str, _Collected]) -> Finding:
        code, severity, impact = key
        ranked = sorted(by_kind.items(), key=lambda pair: (-pair[1].documents.total(), pair[0]))
        documents: Counter[str | None] = Counter()
        for _, each in ranked:
            documents.update(each.documents)
        new = None if self._known is None else sum(each.new for _, each in ranked)
        kinds = [Kind(kind, each.documents.total(), len(each.documents)) for kind, each in ranked if kind]
        if others := kinds[MAX_KINDS:]:
            kinds[MAX_KINDS:] = [_rest(others)]
        samples = _evenly([each.in_order for _, each in ranked], self._max_samples)
        return Finding(code, severity, documents.total(), len(documents), samples, new, tuple(kinds), impact)

    def _of(self, problem: Problem) -> _Collected:
        return self._collected(problem.code, problem.severity, problem.kind, problem.field)

    def _collected(
        self, code: str, severity: Severity, kind: str | None = None, field: str | None = None
    ) -> _Collected:
        return self._by_code[(code, severity, impact_of(code, severity, field)), kind or ""]


@attrs.define
class _Collected:
    """The problems of one code, severity and kind: their number in each document, samples, and how many are new.

    The samples are the first problem of each document, in the order of their URLs, then the second of each, and so on:
    each with its number in its document, those of the lowest number first.
    """

    documents: Counter[str | None] = attrs.field(factory=Counter)
    samples: list[tuple[int, str, Problem]] = attrs.field(factory=list)
    new: int = 0

    def keeps(self, sitemap: str | None, limit: int) -> bool:
        """Whether a problem of this document would be kept as a sample."""
        if len(self.samples) < limit:
            return True
        return bool(limit) and (self.documents[sitemap], sitemap or "") < self.samples[-1][:2]

    def keep(self, problem: Problem, limit: int) -> None:
        """Keeps a sample if it keeps() it, in place of the last one."""
        if self.keeps(problem.sitemap, limit):
            self._insert((self.documents[problem.sitemap], problem.sitemap or "", problem), limit)

    def _insert(self, sample: tuple[int, str, Problem], limit: int) -> None:
        insort(self.samples, sample, key=itemgetter(0, 1))
        del self.samples[limit:]

    def merge(self, other: _Collected, limit: int) -> None:
        for number, document, problem in other.samples:
            self._insert((self.documents[problem.sitemap] + number, document, problem), limit)
        self.documents.update(other.documents)

    @property
    def in_order(self) -> list[Problem]:
        """The samples by document, and by their order in it."""
        return [problem for *_, problem in sorted(self.samples, key=itemgetter(1, 0))]


def _evenly(lists: Sequence[Sequence[Problem]], limit: int) -> tuple[Problem, ...]:
    """The first of each list, then the second of each, up to the limit; in the order of the lists."""
    turns = sorted((turn, number) for number, each in enumerate(lists) for turn in range(len(each)))
    counts = Counter(number for _, number in turns[:limit])
    return tuple(problem for number, each in enumerate(lists) for problem in each[: counts[number]])


# --- checks ---


class Place(TypedDict):
    """The listing that has a problem, as keywords of Findings.report()."""

    sitemap: str | None
    line: int | None
    url: str


class Location(Place):
    """The listed URL that is the problem, as keywords of Findings.report()."""

    field: str
    raw: str


def url_key(url: str) -> int:
    """A 64-bit hash by which URLs are compared: of a million, two have the same with a chance of one in 37 million.

    Equivalent escapes do not differ (RFC 3986 6.2.2): crawlers write `%C3%A9` where WordPress lists `%c3%a9`.
    """
    try:
        return hash(comparable(url) if "%" in url else url)
    except (KeyError, ValueError):  # a dump of another program may have text that is no URL
        return hash(url)


def url_keys(urls: Sequence[str]) -> list[int]:
    return [*map(url_key if "%" in "".join(urls) else hash, urls)]


def place_of(batch: UrlBatch, index: int) -> Place:
    return {"sitemap": batch.sitemap, "line": batch.lines[index], "url": batch.locs[index]}


def location(sitemap: str | None, line: int | None, loc: str) -> Location:
    """Where a URL is listed."""
    return {"sitemap": sitemap, "line": line, "url": loc, "field": "loc", "raw": loc}


def location_of(batch: UrlBatch, index: int) -> Location:
    return location(batch.sitemap, batch.lines[index], batch.locs[index])


def listing_of(ref: SitemapRef) -> Location:
    return location(ref.sitemap, ref.line, ref.loc)


class Check:
    """Base class of audit rules, in the CHECKS of the modules; only methods that a subclass overrides are called."""

    codes: ClassVar[tuple[str, ...]]
    unchecked: Mapping[str, str] = MappingProxyType({})  # code -> why it was not checked; complete after on_end()
    is_by_sitemap: ClassVar[bool] = False  # judges each sitemap, so URLs without one are left out

    def on_urls(self, batch: UrlBatch, findings: Findings) -> None:
        """Receives consecutive URLs of one sitemap; a URL that is listed several times comes several times."""

    def on_ref(self, ref: SitemapRef, findings: Findings) -> None:
        """Receives a sitemap that an index or robots.txt lists."""

    def on_outcome(self, outcome: Outcome, findings: Findings) -> None:
        """Receives the outcome of a document, after all that the document lists."""

    def on_end(self, findings: Findings) -> None:
        """Called once, after all items."""


# --- the result ---


@attrs.frozen
class AuditResult:
    """The findings of an audit and the counts beside them; Report documents the fields."""

    target: str
    at: datetime
    urls: int
    pages: int
    complete: bool | None
    findings: tuple[Finding, ...]
    sitemaps: tuple[TreeRow, ...]
    facts: tuple[Fact, ...]
    notes: tuple[str, ...] = ()
    unnamed: tuple[Outcome, ...] = ()
    lastmod_trust: Mapping[str, LastmodTrust] = attrs.field(factory=dict, hash=False)
    policy: Policy | None = None
    ignored: Mapping[Ignore, int] = attrs.field(factory=dict, hash=False)
    rules: Mapping[str, str] = attrs.field(factory=dict, hash=False)
    url_checks: UrlCheckSummary | None = None
    site: str | None = None
    dropped: int | None = None
    not_checked: int = 0
    unread: int | None = None
    fixed: FixedFindings | None = None

    @property
    def name(self) -> str:
        """The title of a report: the host of a recording, else the target as given."""
        return self.site or self.target

    @property
    def url_counts(self) -> str:
        """`156 URLs listed, 146 valid, 10 that search engines may ignore, 140 pages`, as far as it is known.

        `146 valid (40 of them in sitemaps that search engines cannot read)` if they refuse any.
        """
        pages = f", {count_of(self.pages, 'page')}" if self.pages != self.urls else ""
        if self.dropped is None:
            return f"{count_of(self.urls, 'URL')}{pages}"
        listed = count_of(self.listed, "URL")
        unread = f" ({self.unread:,} of them in sitemaps that search engines cannot read)" if self.unread else ""
        elsewhere = f", {self.not_checked:,} of other hosts not checked" if self.not_checked else ""
        ignored = f"{self.dropped:,} that search engines may ignore"
        return f"{listed} listed, {self.urls:,} valid{unread}, {ignored}{elsewhere}{pages}"

    @property
    def listed(self) -> int:
        """The number of entries of sitemaps, whatever became of them."""
        return self.urls + (self.dropped or 0) + self.not_checked

    @property
    def coverage(self) -> list[str]:
        """What a check of URLs covered, and what follows for all of them."""
        return [] if self.url_checks is None else [self.url_checks.headline, *self.url_checks.lines()]

    @property
    def has_no_sitemap(self) -> bool:
        return any(finding.code == NO_SITEMAP for finding in self.findings)

    def count(self, severity: Severity) -> int:
        """The number of problems of a severity: a finding is one, however many places have it."""
        return sum(finding.severity == severity for finding in self.findings)

    def count_new(self, severity: Severity) -> int:
        """The number of problems of a severity with places that the known findings lack; all, without these."""
        return sum(finding.severity == severity and finding.counted > 0 for finding in self.findings)

    @property
    def places(self) -> int:
        """The number of places with a problem, over all findings."""
        return sum(finding.count for finding in self.findings)

    def failing(self, severities: Collection[Severity]) -> tuple[Finding, ...]:
        """The findings of these severities that are new, if there are known ones, and more than the policy allows.

        Not the S17: an error of this reader is none of the site.
        """
        found = [each for each in self.findings if each.severity in severities and each.counted and each.code != "S17"]
        counts: Counter[str] = Counter()
        for finding in found:  # S01 may have two
            counts[finding.code] += finding.counted
        policy = self.policy or Policy()
        return tuple(each for each in found if not policy.allows(each.code, counts[each.code], self.urls))

    @property
    def headline(self) -> str:
        """`2 errors, 4 warnings and 3 notices (1,204 places) in 640 URLs`; with known findings `2 errors (1 new), …`.

        If URLs were dropped it ends with `(10 of 650 may be ignored)`; if hosts were not looked at, with `(10 of 650
        of other hosts, not checked)`.
        """
        counts = {severity: self.count(severity) for severity in SEVERITIES}
        urls = count_of(self.urls, "URL")
        counted = ((self.dropped, "may be ignored"), (self.not_checked, "of other hosts, not checked"))
        if left_out := "; ".join(f"{count:,} of {self.listed:,} {what}" for count, what in counted if count):
            urls += f" ({left_out})"
        checks = self.url_checks
        if checks is not None and checks.checked < checks.urls:
            urls += f", of which {checks.checked:,} {'was' if checks.checked == 1 else 'were'} checked"
        if not any(counts.values()):
            if self.complete is False and not self.listed:
                return "nothing was checked: no URL could be read"
            return f"no problems found in {urls}"
        has_known = any(finding.new is not None for finding in self.findings)
        words = []
        for severity, count in counts.items():
            new = f" ({self.count_new(severity):,} new)" if has_known and count else ""
            words.append(count_of(count, severity) + new)
        return f"{words[0]}, {words[1]} and {words[2]} ({count_of(self.places, 'place')}) in {urls}"

    @property
    def missing(self) -> str:
        """How many documents could not be read, or only in part, in words; empty if all were read."""
        incomplete = [row for row in self.sitemaps if row.complete == "no"] + [*self.unnamed]
        failed = sum(not each.entries for each in incomplete)
        counts = ((failed, "could not be read"), (len(incomplete) - failed, "could be read in part only"))
        return ", ".join(f"{count_of(count, 'document')} {what}" for count, what in counts if count)

    @property
    def partial(self) -> str:
        """Why the result is partial, where `complete` is False."""
        return self.missing or "it was stopped"


# --- what an earlier audit found and this one no longer finds: fixed, or not checked again ---


@attrs.frozen
class CheckedPart:
    """What an audit has looked at, as far as it decides whether a known occurrence would have been found again.

    `rules` as in Report; `documents` are those that were read now, and whether completely; `is_whole`: these are all of
    the site. `is_page_known`: whether a page was checked for a code.
    """

    rules: Mapping[str, str]
    documents: Mapping[str, bool]
    is_whole: bool
    listed: Set[int]  # keys of URLs
    policy: Policy | None = None
    takes_url: Callable[[str], bool] = lambda url: True
    is_page_known: Callable[[str, str], bool] = lambda url, code: False

    @classmethod
    def of(cls, outcomes: Iterable[Outcome], sitemaps: Iterable[str], **others: Any) -> CheckedPart:
        """From the outcomes of an audit; `sitemaps` are those with URLs, which stand in for them in a dump without."""
        read = {each.url: each for each in outcomes if each.url is not None}
        is_of_site = any(
            each.why not in ("index", "given") and each.format in SITEMAP_FORMATS for each in read.values()
        )
        is_whole = is_of_site and all(each.complete for each in read.values())
        documents = {url: each.complete for url, each in read.items()} or dict.fromkeys(sitemaps, True)
        return cls(documents=documents, is_whole=is_whole, **others)

    def is_of_site(self, found: Occurrence) -> bool:
        hosts = {netloc(url) for url in self.documents}
        return not hosts.isdisjoint({netloc(found.sitemap or ""), netloc(found.url or "")} - {""})

    def covers(self, found: Occurrence) -> bool:
        """Whether an occurrence would have been found, were it still there."""
        url, document = found.url, found.sitemap
        is_left_out = self.policy is not None and self.policy.ignore_of(found.code, url, document) is not None
        if self.rules.get(found.code, "not selected") or is_left_out or not (url is None or self.takes_url(url)):
            return False
        needs = explain(found.code).needs
        if "a baseline" in needs or "two crawls" in needs:  # another baseline may not have it
            return url is not None and url_key(url) in self.listed
        is_read = self.documents.get(document or "", self.is_whole)
        is_of_page = "checked pages" in needs and found.field == "loc"
        if is_of_page or "pages" in needs or "a crawl" in needs:
            page = found.value if found.field == "loc" and found.value else url or ""
            return self.is_page_known(page, found.code) or (is_read and url_key(page) not in self.listed)
        return is_read


def netloc(url: str) -> str:
    """Host and port of a text that may be no URL; empty where there is none."""
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def find_fixed(known: KnownFindings, part: CheckedPart, samples: int) -> FixedFindings:
    """Call it once all problems were compared with the known findings."""
    counts: Counter[tuple[str, Severity]] = Counter()
    first: dict[tuple[str, Severity], list[Occurrence]] = {}
    unchecked: Counter[str] = Counter()
    for found in known.missing():
        if not part.is_of_site(found):
            continue
        if not part.covers(found):
            unchecked[found.code] += found.count
            continue
        key = found.code, found.severity
        counts[key] += found.count
        if len(kept := first.setdefault(key, [])) < samples:
            kept.append(found)
    ranked = sorted(counts, key=lambda key: (SEVERITIES.index(key[1]), -counts[key], key[0]))
    fixed = tuple(Fixed(*key, counts[key], tuple(first[key])) for key in ranked)
    return FixedFindings(known.name, fixed, unchecked)


# --- in a report ---


def fixed_lines(fixed: FixedFindings | None) -> Iterator[str]:
    """The part of a report in text: a headline, a line for each code, and its first occurrences below."""
    if fixed is None:
        return
    yield fixed.headline + (f"; {fixed.not_checked}" if fixed.not_checked else "")
    for each in fixed.findings:
        yield f"  {each.severity}  {each.code}  {each.count:,}  {each.title}"
        yield from (f"    - {with_url(sample.message, sample.url)}" for sample in each.samples)
        if more := each.count - sum(sample.count for sample in each.samples):
            yield f"    - and {more:,} more"
