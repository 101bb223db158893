"""What is wrong, gathered by code: problems in, Findings out: exact counts, some samples of each.

The samples are spread over the documents that have the problem; memory grows with codes and documents, not with URLs.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

import attrs

from ..model.problems import CATALOGUE, Problem, Severity, report

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from ..model.records import ChangeFreq, Outcome, Precision, SitemapRef, UrlRecord


SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
SAMPLES = 5


@attrs.frozen
class Finding:
    """All that is wrong in one way: how often, in how many documents, and some of the places.

    `severity` is that of its problems: a code that may have two of them (S01: mended, or lost) gives two findings.
    """

    code: str
    severity: Severity
    count: int
    documents: int
    samples: tuple[Problem, ...]

    @property
    def title(self) -> str:
        """What the code means, in a few words."""
        return CATALOGUE[self.code].title


class Findings:
    """add() each problem, or note() it; then findings().

    With `select` only those codes count, and none that is `ignore`d. `samples` is how many places of each are kept.
    """

    def __init__(self, *, select: Collection[str] = (), ignore: Collection[str] = (), samples: int = SAMPLES) -> None:
        self._wanted = {code for code in CATALOGUE if (not select or _meets(code, select)) and not _meets(code, ignore)}
        self._most = samples
        self._found: dict[tuple[str, Severity], _Found] = {}

    def wants(self, codes: Iterable[str]) -> bool:
        """Whether any of these codes counts."""
        return not self._wanted.isdisjoint(codes)

    def note(
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
        """A problem that the audit found, or `count` of them, of which this is the first.

        A message that takes some looking for is a function: it is called only where the problem is kept as a sample.
        """
        if code not in self._wanted:
            return
        found = self._of(code, CATALOGUE[code].severity)
        if found.keeps(sitemap, self._most):
            told = message if isinstance(message, str) else message()
            found.keep(report(code, told, sitemap=sitemap, line=line, field=field, raw=raw), self._most)
        found.documents[sitemap] += count

    def add(self, problem: Problem) -> None:
        """One that is known already."""
        if problem.code in self._wanted:
            found = self._of(problem.code, problem.severity)
            if found.keeps(problem.sitemap, self._most):
                found.keep(problem, self._most)
            found.documents[problem.sitemap] += 1

    def like(self) -> Findings:
        """Another one that wants the same."""
        other = Findings(samples=self._most)
        other._wanted = self._wanted
        return other

    def absorb(self, other: Findings, most: Mapping[str, int] | None = None) -> None:
        """What the other one has found, behind all here; with `most`, of one document, no more of a code than that."""
        for (code, severity), theirs in other._found.items():
            room = theirs.documents.total() if most is None else most.get(code, 0)
            if not room:
                continue
            found = self._of(code, severity)
            for sample in theirs.samples[:room]:
                if found.keeps(sample.sitemap, self._most):
                    found.keep(sample, self._most)
            for document, count in theirs.documents.items():
                found.documents[document] += min(count, room)

    def by_document(self) -> Counter[str | None]:
        """How many problems each document has."""
        total: Counter[str | None] = Counter()
        for found in self._found.values():
            total.update(found.documents)
        return total

    def _of(self, code: str, severity: Severity) -> _Found:
        found = self._found.get((code, severity))
        if found is None:
            found = self._found[code, severity] = _Found()
        return found

    def findings(self) -> tuple[Finding, ...]:
        """Errors first; of each severity the most frequent first."""
        found = [
            Finding(code, severity, each.documents.total(), len(each.documents), tuple(each.samples))
            for (code, severity), each in self._found.items()
        ]
        return tuple(sorted(found, key=lambda each: (SEVERITIES.index(each.severity), -each.count, each.code)))


@attrs.define
class _Found:
    """Of one code: how many each document has, and some of them."""

    documents: Counter[str | None] = attrs.field(factory=Counter)
    samples: list[Problem] = attrs.field(factory=list)
    is_spread: bool = False  # each sample is of a document of its own

    def keeps(self, sitemap: str | None, most: int) -> bool:
        """Whether a problem of this document may be a sample."""
        return len(self.samples) < most or (sitemap not in self.documents and not self.is_spread)

    def keep(self, problem: Problem, most: int) -> None:
        """Where there is no room, the last sample of the document that has most of them goes, unless each has one."""
        if len(self.samples) < most:
            self.samples.append(problem)
            return
        in_document = Counter(sample.sitemap for sample in self.samples)
        document, several = max(in_document.items(), key=lambda pair: pair[1], default=(None, 0))
        self.is_spread = several <= 1
        if several > 1:
            places = [place for place, sample in enumerate(self.samples) if sample.sitemap == document]
            del self.samples[places[-1]]
            self.samples.append(problem)


def _meets(code: str, wanted: Iterable[str]) -> bool:
    """Whether it is one of them, or begins as one: `L` is all of hreflang."""
    return any(code.startswith(each) for each in wanted)


# ----------------------------------------------------------------------------------------------------
# What a check is given, and what all checks are: rules that hear what an audit reads, and note what is wrong.
#
# In: URLs, some of one sitemap at a time; records that have extensions, one by one; references and outcomes. Out:
# notes.


@attrs.define
class Listed:
    """Some URLs of one sitemap, in its order, column by column; `text` has all locs, each behind a line feed.

    `keys` stand for the locs: hashes of 64 bits. Different locs have different keys, but for one chance in 37 million
    among a million of them.
    """

    sitemap: str
    locs: Sequence[str]
    lastmods: Sequence[datetime | None]
    precisions: Sequence[Precision | None]
    changefreqs: Sequence[ChangeFreq | None]
    priorities: Sequence[float | None]
    lines: Sequence[int | None]
    keys: Sequence[int]
    text: str
    names_sitemap: bool = True  # else `sitemap` is the dump that they stand in, which does not tell

    @cached_property
    def dated(self) -> list[datetime]:
        """The lastmods of those that have one."""
        return [lastmod for lastmod in self.lastmods if lastmod is not None]

    @cached_property
    def origins(self) -> list[tuple[str, list[int]]]:
        """The places of each origin's URLs. Mostly there is one."""
        start = self.locs[0][: _path_at(self.locs[0])]
        if self.text.count(f"\n{start}/") == len(self.locs):
            return [(start, [*range(len(self.locs))])]
        places: dict[str, list[int]] = {}
        for place, loc in enumerate(self.locs):
            places.setdefault(loc[: _path_at(loc)], []).append(place)
        return [*places.items()]

    def at(self, place: int) -> Place:
        """Where a URL stands, as keywords of Findings.note()."""
        return {"sitemap": self.sitemap, "line": self.lines[place], "field": "loc", "raw": self.locs[place]}


class Place(TypedDict):
    """Where something is wrong."""

    sitemap: str
    line: int | None
    field: str
    raw: str


def listed(sitemap: str, *columns: Sequence[Any], names_sitemap: bool = True) -> Listed:
    """The columns of many URLs: locs, lastmods, precisions, changefreqs, priorities, lines."""
    locs, lastmods, precisions, changefreqs, priorities, lines = columns
    keys, text = [*map(hash, locs)], "\n" + "\n".join(locs)
    return Listed(sitemap, locs, lastmods, precisions, changefreqs, priorities, lines, keys, text, names_sitemap)


def _path_at(loc: str) -> int:
    """Where the path of a clean URL begins."""
    return loc.index("/", loc.index("://") + 3)


class Check:
    """Some rules. A check overrides what it needs to hear; what it does not override costs nothing."""

    codes: ClassVar[tuple[str, ...]]
    is_by_sitemap: ClassVar[bool] = False  # its rules are of what one sitemap lists

    def urls(self, listed: Listed, found: Findings) -> None:
        """Some URLs of one sitemap; each URL of the site passes here once for each listing."""

    def record(self, record: UrlRecord, found: Findings) -> None:
        """A record with images, videos, news or alternates, behind the urls() that it was part of."""

    def ref(self, ref: SitemapRef, found: Findings) -> None:
        """A sitemap that an index or robots.txt names."""

    def outcome(self, outcome: Outcome, found: Findings) -> None:
        """The end of a document, behind all that it lists."""

    def end(self, found: Findings) -> None:
        """The end of all."""
