"""What an audit collects, and what a check is: problems in, Findings out; checks receive URLs and report problems.

`Findings` counts problems exactly and keeps a few samples of each code, spread over the documents that have it; its
memory grows with codes and documents, not with URLs. `Check` is the base class of all audit rules, `AuditResult` what
Report and html/ render.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, TypedDict

import attrs

from ..client.summary import count_of
from ..model.problems import CATALOGUE, Problem, Severity, report
from ..model.url_batch import precision_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from ..client.sitemap_tree import TreeRow
    from ..frontier.lastmod_trust import LastmodTrust
    from ..model.records import Outcome, Precision, SitemapRef, UrlRecord
    from ..model.url_batch import UrlBatch
    from ..statistics.facts import Fact
    from .estimates import UrlCheckSummary


# In the order of a report. Problems of severity `info` are shown as notices.
SEVERITY_NAMES: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "notice"}
SEVERITIES = tuple(SEVERITY_NAMES)
SAMPLES = 5
# Problems of these are in robots.txt, in what a server sent instead of a sitemap, or in the file compared with.
_NOT_IN_SITEMAPS = ("F", "C06", "X01")


@attrs.frozen
class Finding:
    """All problems of one code and severity: their exact count, the number of documents that have it, and samples.

    A code that can have two severities (S01: repaired, or entries lost) gives two findings.
    """

    code: str
    severity: Severity
    count: int
    documents: int
    samples: tuple[Problem, ...]

    @property
    def title(self) -> str:
        """The name of the problem, from CATALOGUE."""
        return CATALOGUE[self.code].title

    @property
    def occurrences(self) -> str:
        """`1,200 occurrences in 3 sitemaps`."""
        unit = "document" if self.code.startswith(_NOT_IN_SITEMAPS) else "sitemap"
        return f"{count_of(self.count, 'occurrence')} in {count_of(self.documents, unit)}"


class Findings:
    """Collects problems by code and severity: add() or report() each, then ranked().

    With `select` only those codes count; codes in `ignore` never do. Both take codes or their first letters. `samples`
    is the number of samples kept for each code.
    """

    def __init__(self, *, select: Collection[str] = (), ignore: Collection[str] = (), samples: int = SAMPLES) -> None:
        self._codes = {
            code for code in CATALOGUE if (not select or _matches(code, select)) and not _matches(code, ignore)
        }
        self._max_samples = samples
        self._by_code: dict[tuple[str, Severity], _Collected] = {}

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
        count: int = 1,
    ) -> None:
        """Adds a problem that the audit found; with `count`, so many of them, of which this is the first.

        A message that is expensive to build is a function: it is called only if the problem is kept as a sample.
        """
        if code not in self._codes:
            return
        collected = self._collected(code, CATALOGUE[code].severity)
        if collected.keeps(sitemap, self._max_samples):
            text = message if isinstance(message, str) else message()
            problem = report(code, text, sitemap=sitemap, line=line, field=field, raw=raw)
            collected.keep(problem, self._max_samples)
        collected.documents[sitemap] += count

    def add(self, problem: Problem) -> None:
        """Adds a problem that the parser or the crawl reported."""
        if problem.code in self._codes:
            collected = self._collected(problem.code, problem.severity)
            if collected.keeps(problem.sitemap, self._max_samples):
                collected.keep(problem, self._max_samples)
            collected.documents[problem.sitemap] += 1

    def empty_copy(self) -> Findings:
        """An empty collector with the same codes and number of samples."""
        other = Findings(samples=self._max_samples)
        other._codes = self._codes
        return other

    def merge(self, other: Findings, limits: Mapping[str, int] | None = None) -> None:
        """Adds the problems of another collector; `limits`, where it is of one document, caps them: code -> count."""
        for (code, severity), theirs in other._by_code.items():
            limit = theirs.documents.total() if limits is None else limits.get(code, 0)
            if not limit:
                continue
            collected = self._collected(code, severity)
            for sample in theirs.samples[:limit]:
                if collected.keeps(sample.sitemap, self._max_samples):
                    collected.keep(sample, self._max_samples)
            for document, count in theirs.documents.items():
                collected.documents[document] += min(count, limit)

    def by_document(self) -> Counter[str | None]:
        """Document -> number of problems."""
        total: Counter[str | None] = Counter()
        for collected in self._by_code.values():
            total.update(collected.documents)
        return total

    def ranked(self) -> tuple[Finding, ...]:
        """The findings: errors first, within a severity the most frequent first."""
        findings = [
            Finding(code, severity, each.documents.total(), len(each.documents), tuple(each.samples))
            for (code, severity), each in self._by_code.items()
        ]
        return tuple(sorted(findings, key=lambda each: (SEVERITIES.index(each.severity), -each.count, each.code)))

    def _collected(self, code: str, severity: Severity) -> _Collected:
        collected = self._by_code.get((code, severity))
        if collected is None:
            collected = self._by_code[code, severity] = _Collected()
        return collected


@attrs.define
class _Collected:
    """The problems of one code and severity: their number in each document, and samples."""

    documents: Counter[str | None] = attrs.field(factory=Counter)
    samples: list[Problem] = attrs.field(factory=list)
    is_spread: bool = False  # each sample is of another document

    def keeps(self, sitemap: str | None, limit: int) -> bool:
        """Whether a problem of this document would be kept as a sample."""
        return len(self.samples) < limit or (sitemap not in self.documents and not self.is_spread)

    def keep(self, problem: Problem, limit: int) -> None:
        """Keeps a sample; beyond the limit it replaces the last sample of the document that has most of them."""
        if len(self.samples) < limit:
            self.samples.append(problem)
            return
        in_document = Counter(sample.sitemap for sample in self.samples)
        document, samples = max(in_document.items(), key=lambda pair: pair[1], default=(None, 0))
        self.is_spread = samples <= 1
        if samples > 1:
            indexes = [index for index, sample in enumerate(self.samples) if sample.sitemap == document]
            del self.samples[indexes[-1]]
            self.samples.append(problem)


def _matches(code: str, prefixes: Iterable[str]) -> bool:
    return any(code.startswith(each) for each in prefixes)


# --- checks ---


class Location(TypedDict):
    """Where a problem is, as keywords of Findings.report()."""

    sitemap: str
    line: int | None
    field: str
    raw: str


@attrs.define
class CheckedUrls:
    """Consecutive URLs of one sitemap, and what several checks derive from them; all columns have equal length."""

    batch: UrlBatch
    sitemap: str
    names_sitemap: bool = True  # False: `sitemap` is a dump whose lines do not state the sitemap

    @property
    def locs(self) -> Sequence[str]:
        """The URLs."""
        return self.batch.columns.locs

    @property
    def priorities(self) -> Sequence[float | None]:
        """The priority of each URL."""
        return self.batch.columns.priorities

    @property
    def lines(self) -> Sequence[int | None]:
        """The line of each URL in the sitemap."""
        return self.batch.columns.lines

    @cached_property
    def lastmods(self) -> Sequence[datetime | None]:
        """The lastmod of each URL."""
        return self.batch.datetimes()

    @property
    def dates(self) -> tuple[Sequence[int | None], Sequence[int | None]]:
        """The columns of the lastmods and their precisions, as in a UrlBatch."""
        return self.batch.columns.lastmods, self.batch.columns.precisions

    @cached_property
    def precisions(self) -> Sequence[Precision | None]:
        """The precision of each lastmod."""
        return [*map(precision_of, self.batch.columns.precisions)]

    @cached_property
    def keys(self) -> Sequence[int]:
        """64-bit hashes of the locs: of a million different ones two are equal with a chance of one in 37 million."""
        return [*map(hash, self.locs)]

    @cached_property
    def text(self) -> str:
        """All locs, each after a line feed."""
        return "\n" + "\n".join(self.locs)

    @cached_property
    def dated(self) -> list[datetime]:
        """The lastmods of the URLs that have one."""
        return [lastmod for lastmod in self.lastmods if lastmod is not None]

    @cached_property
    def newest(self) -> tuple[datetime, Precision | None] | None:
        """The newest lastmod and its precision; None where no URL has one."""
        if not self.dated:
            return None
        newest = max(self.dated)
        return newest, self.precisions[self.lastmods.index(newest)]

    @cached_property
    def origins(self) -> list[tuple[str, list[int]]]:
        """Each origin with the indexes of its URLs."""
        # Nearly all batches have one origin.
        start = self.locs[0][: _path_at(self.locs[0])]
        if self.text.count(f"\n{start}/") == len(self.locs):
            return [(start, [*range(len(self.locs))])]
        indexes: dict[str, list[int]] = {}
        for index, loc in enumerate(self.locs):
            indexes.setdefault(loc[: _path_at(loc)], []).append(index)
        return [*indexes.items()]

    def at(self, index: int) -> Location:
        """The location of a URL."""
        return {"sitemap": self.sitemap, "line": self.lines[index], "field": "loc", "raw": self.locs[index]}


def _path_at(loc: str) -> int:
    """The index at which the path of a clean URL begins."""
    return loc.index("/", loc.index("://") + 3)


class Check:
    """Base class of audit rules: each method receives one kind of item, and reports problems to `findings`.

    AuditRunner calls only the methods that a subclass overrides.
    """

    codes: ClassVar[tuple[str, ...]]
    is_by_sitemap: ClassVar[bool] = False  # judges each sitemap, so URLs without one are left out

    def on_urls(self, batch: CheckedUrls, findings: Findings) -> None:
        """Receives consecutive URLs of one sitemap; a URL that is listed several times comes several times."""

    def on_record(self, record: UrlRecord, findings: Findings) -> None:
        """Receives a record with images, videos, news or alternates, after the batch that has its URL."""

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
    url_checks: UrlCheckSummary | None = None

    def count(self, severity: Severity) -> int:
        """The number of problems of a severity, over all findings."""
        return sum(finding.count for finding in self.findings if finding.severity == severity)

    @property
    def headline(self) -> str:
        """`2 errors, 14 warnings and 3 notices in 640 URLs`."""
        counts = {severity: self.count(severity) for severity in SEVERITY_NAMES}
        if not any(counts.values()):
            return f"nothing found in {count_of(self.urls, 'URL')}"
        errors, warnings, notices = (count_of(count, SEVERITY_NAMES[severity]) for severity, count in counts.items())
        return f"{errors}, {warnings} and {notices} in {count_of(self.urls, 'URL')}"

    @property
    def missing(self) -> str:
        """How many documents could not be read, or only in part, in words; empty if all were read."""
        incomplete = [row for row in self.sitemaps if row.complete == "no"] + [*self.unnamed]
        failed = sum(not each.entries for each in incomplete)
        parts = []
        if failed:
            parts.append(f"{count_of(failed, 'document')} could not be read")
        if len(incomplete) > failed:
            parts.append(f"{count_of(len(incomplete) - failed, 'document')} could be read in part only")
        return ", ".join(parts)

    @property
    def partial(self) -> str:
        """Why the result is partial, where `complete` is False."""
        return self.missing or "it was stopped"
