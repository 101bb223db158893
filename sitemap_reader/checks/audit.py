"""audit(): a site or a dump in, a Report out."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import attrs

from ..client.keywords import KEYWORDS, ReaderOptions, checked_keywords
from ..client.summary import count_of
from ..client.targets import find_target, reject_document
from ..frontier.filters import make_moment
from ..model.errors import NothingFound, NothingReadable, UsageError
from ..model.problems import CATALOGUE, Problem, report
from ..model.records import Candidate, Change, Outcome, SitemapRef, UrlRecord
from ..parser.normalise.urls import clean_url, host, is_clean
from ..serialize.dumps import Dump, DumpFile, is_dump_name
from ..serialize.jsonl import from_json
from ..state.state import site_name
from .baseline import BaselineCheck, open_baseline
from .crawled import Crawl, Unchanged
from .findings import SAMPLES, Findings
from .runner import AuditRunner
from .urls import Forbidden

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..serialize.dumps import Form
    from ..state.state import State
    from .baseline import Source
    from .findings import Check

    Taken = UrlRecord | SitemapRef | Problem | Outcome
    from collections.abc import Callable

    from ..client.summary import Progress
    from ..client.targets import Target
    from ..frontier.filters import Moment
    from .report import Report


# ----------------------------------------------------------------------------------------------------
# What a site is held against besides its own rules: files, a Snapshot or a State in, the checks that do so out.


@attrs.frozen
class Against:
    """The export of a crawler; an earlier dump or a state, and the export of that time."""

    crawl: str | os.PathLike[str] | None = None
    baseline: Source | None = None
    state: str | os.PathLike[str] | State | None = None
    baseline_crawl: str | os.PathLike[str] | None = None

    def refuse(self, selected: Iterable[str] = ()) -> None:
        """UsageError for what does not go together, and for selected codes that need what is not given."""
        if self.baseline is not None and self.state is not None:
            raise UsageError("a baseline and a state both say what was there before: give one of them")
        if self.baseline_crawl is not None and (self._earlier is None or self.crawl is None):
            raise UsageError("baseline_crawl= is compared with a crawl and a baseline: give crawl= and baseline= too")
        needs = {code: what for codes, what in self._missing() for code in codes}
        for beginning in selected:
            meant = [code for code in CATALOGUE if code.startswith(beginning)]
            if needs.keys() >= {*meant}:
                raise UsageError(f"{beginning} needs {', and '.join(sorted({needs[code] for code in meant}))}")

    def _missing(self) -> list[tuple[tuple[str, ...], str]]:
        """Codes that cannot be found, and what they need."""
        given = (self.crawl, self._earlier, self.baseline_crawl)
        return [needs for needs, file in zip(_NEEDS, given, strict=True) if file is None]

    def checks(self, found: Findings, site: str | None, *, seeds: str | None = None) -> Iterator[Check]:
        """Those that are asked for, their files read. A dump of several sites has `site`; a state calls it `seeds`."""
        if self.crawl is not None and found.wants(Crawl.codes):
            yield Crawl.read(self.crawl)
        if self._earlier is None:
            return
        baseline = open_baseline(self._earlier, site, seeds=seeds, is_kept=self.state is not None)
        if found.wants(BaselineCheck.codes):
            yield BaselineCheck.read(baseline)
        if self.baseline_crawl is not None and self.crawl is not None and found.wants(Unchanged.codes):
            yield Unchanged.read(baseline, self.baseline_crawl, self.crawl)

    @property
    def _earlier(self) -> Source | None:
        return self.baseline if self.baseline is not None else self.state


# In the order of _missing().
_NEEDS = (
    (Crawl.codes, "what a crawler found (crawl=FILE)"),
    (BaselineCheck.codes, "an earlier dump or a state (baseline=DUMP, state=FILE)"),
    (Unchanged.codes, "an earlier crawl and dump (baseline_crawl=FILE, baseline=DUMP, crawl=FILE)"),
)


# ----------------------------------------------------------------------------------------------------
# What the lines of a dump tell an audit: forms in, what a run would have given out; and what a dump cannot tell.


# Codes that a dump cannot show -> what they need.
_NEED = {"U12": "robots.txt", "D04": "the time of the request", "D05": "what an index states"}
# Of URLs that name no sitemap.
_BY_SITEMAP = ("U06", "U07", "D03", "D07", "H03", "N01")


@attrs.define
class Dumped:
    """items() of the lines, then end(), which enters the problems of URLs where no line told of them.

    With a report among its lines each problem has one of its own; without, there are those of the URLs, and nobody
    knows what became of the sitemaps.
    """

    name: str
    _found: Findings
    _complete: bool = True
    _has_run: bool = False
    _has_refs: bool = False
    _of_urls: Findings = attrs.field(init=False)
    _unnamed: int = 0

    @_of_urls.default
    def _nothing_yet(self) -> Findings:
        return self._found.like()

    def items(self, forms: Iterable[tuple[int, Form]]) -> Iterator[Taken]:
        """What an audit takes; UsageError for a line that is none, and for a list of changes."""
        for number, form in forms:
            try:
                item = from_json(form)
            except UsageError as exc:
                raise UsageError(f"{self.name}:{number}: {exc}") from None
            if isinstance(item, Change | Candidate):
                what = "list of changes" if isinstance(item, Change) else "list of sitemaps"
                hint = "`sitemap-reader dump` makes one"
                raise UsageError(f"{self.name}:{number}: that is a {what}, and no dump: {hint}")
            if isinstance(item, UrlRecord):
                yield from self._record(item, number)
            else:
                self._note(item)
                yield item

    def _note(self, item: SitemapRef | Problem | Outcome) -> None:
        self._has_refs = self._has_refs or isinstance(item, SitemapRef)
        self._has_run = self._has_run or not isinstance(item, SitemapRef)
        self._complete = self._complete and not (isinstance(item, Outcome) and not item.complete)

    def _record(self, record: UrlRecord, number: int) -> Iterator[UrlRecord]:
        place: dict[str, Any] = {"sitemap": record.sitemap, "line": record.line}
        if not record.sitemap:  # it was written with some fields only
            self._unnamed += 1
            record.line = number
            place = {"sitemap": self.name, "line": number}
        for problem in record.problems:
            # What could not be mended is no URL: of XML that is not well-formed, the worse half is not here.
            severity = "warning" if problem.code == "S01" else problem.severity
            self._of_urls.add(attrs.evolve(problem, severity=severity, **place))
        if not is_clean(record.loc):  # others than we wrote it
            told = clean_url(record.loc)
            if told.url is None:
                self._found.add(report("U15", f"{record.loc} is no URL", field="loc", raw=record.loc, **place))
                return
            record.loc = told.url
        yield record

    def end(self) -> None:
        """All lines have passed."""
        if not self._has_run:
            self._found.absorb(self._of_urls)

    @property
    def complete(self) -> bool | None:
        """Whether all sitemaps were read whole, as far as that is known."""
        return self._complete if self._has_run else None

    def notes(self) -> Iterator[str]:
        """What cannot be known."""
        if not self._has_run:
            yield (
                f"{self.name} has no lines of sitemaps, which a dump with its report has: the sitemaps themselves were "
                "not judged, and nobody knows whether any is missing"
            )
        judged = ", ".join(code for code in _BY_SITEMAP if self._found.wants([code]))
        if self._unnamed and judged:
            yield f"{count_of(self._unnamed, 'URL')} of {self.name} without its sitemap: {judged} not judged there"
        unknown = {code: needed for code, needed in _NEED.items() if code != "D05" or not self._has_refs}
        needs = [f"{code} ({needed})" for code, needed in unknown.items() if self._found.wants([code])]
        if needs:
            yield f"{self.name} is a dump, which cannot tell of {', '.join(needs)}"


_AT_ONCE = 2_000


# The keywords of audit() that no other function has, or that mean something else here.
_AUDIT_KEYWORDS = {
    **KEYWORDS,
    "crawl": (
        "None",
        "File that a crawler has exported, CSV or JSON lines: what its pages answer is compared with the sitemaps.",
    ),
    "baseline": (
        "None",
        "An earlier dump (its file, a Snapshot, or what load() returns), or a state as in `state`: which URLs have "
        "vanished since.",
    ),
    "baseline_crawl": (
        "None",
        "An earlier `crawl`: pages whose lastmod has changed, and whose content has not. Needs crawl and baseline.",
    ),
    "state": ("None", "A state that changes() keeps, its file or an open State: which URLs have vanished since."),
    "select": ("()", 'Codes to report, or beginnings of codes: "L" is all of hreflang, "D,L" two groups.'),
    "ignore": ("()", "Codes not to report, as in `select`."),
    "samples": (str(SAMPLES), "How many places of each finding are kept; their number is exact."),
    "as_of": (
        "None",
        "The time by which ages go: a date, a datetime or text; None: the time of a recording, or else now.",
    ),
    "stop": ("None", "A function, called a few times a second: once it returns True, the Report is of what was read."),
}


@checked_keywords(ReaderOptions, meanings=_AUDIT_KEYWORDS)
def audit(
    source: str | os.PathLike[str] | Dump,
    *,
    crawl: str | os.PathLike[str] | None = None,
    baseline: str | os.PathLike[str] | Dump | State | None = None,
    baseline_crawl: str | os.PathLike[str] | None = None,
    state: str | os.PathLike[str] | State | None = None,
    select: str | Iterable[str] = (),
    ignore: str | Iterable[str] = (),
    samples: int = SAMPLES,
    as_of: Moment | None = None,
    jobs: int | None = None,
    on_outcome: Callable[[Outcome], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    show_progress: bool = False,
    stop: Callable[[], bool] | None = None,
    **options: Unpack[ReaderOptions],
) -> Report:
    """A Report of what is wrong with the sitemaps of a site, or with those that a dump was made of.

    `source` is a target, as urls() takes it, or a dump: the name of a file, or what load() returns. `jobs` and the
    options of SitemapReader are for a target only.

    UsageError for values that are not allowed. Where there is no sitemap, or none can be read, the Report says so.
    """
    _check_source(source)
    now = datetime.now(UTC)
    moment = None if as_of is None else make_moment("as_of", as_of, now).astimezone(UTC)
    found = make_findings(select, ignore, samples)
    against = Against(crawl, baseline, state, baseline_crawl)
    against.refuse(parse_codes(select))
    if not isinstance(source, Dump) and not is_dump_name(os.fspath(source)):
        reading: dict[str, Any] = {"jobs": jobs, "on_outcome": on_outcome}
        reading |= {"on_progress": on_progress, "show_progress": show_progress}
        target = source if isinstance(source, str) else Path(source)
        return _audit_site(target, found, against, moment, stop or _never, {**reading, **options})
    dump = source if isinstance(source, Dump) else DumpFile(Path(source))
    if options or jobs is not None:
        named = ", ".join([*options, *(["jobs"] if jobs is not None else [])])
        raise UsageError(f"{named}: that is for what is read from a site, and {dump.name} is a dump")
    moment = moment or dump.read_at
    return audit_lines(dump.numbered(), dump.name, found, against, as_of=moment, stop=stop or _never)


def _check_source(source: object) -> None:
    reject_document(source)
    if not isinstance(source, str | os.PathLike | Dump):
        raise UsageError(f"a site is named by its host, URL or folder, a dump by its file, and not by {source!r}")


def make_findings(select: str | Iterable[str], ignore: str | Iterable[str], samples: int) -> Findings:
    """Empty ones; UsageError for codes that are none, and for fewer than no samples."""
    if type(samples) is not int or samples < 0:
        raise UsageError(f"samples must be a number, 0 or more, not {samples!r}")
    return Findings(select=parse_codes(select), ignore=parse_codes(ignore), samples=samples)


def _never() -> bool:
    return False


class _Stopped(Exception):
    """Somebody wants no more."""


_STOPPED = "stopped before the end: what follows is of what was read by then"


def _audit_site(
    source: str | Path,
    found: Findings,
    against: Against,
    as_of: datetime | None,
    stop: Callable[[], bool],
    reading: dict[str, Any],
) -> Report:
    from ..client.sync_api import batches  # a dump needs no network library

    target = find_target(source)

    def fetched() -> datetime:
        return target.recorded or datetime.now(UTC)

    def check() -> None:
        if stop():
            raise _Stopped

    others = [*against.checks(found, target.name, seeds=site_name(target.seeds))]
    with batches(target, on_wait=check, **reading) as stream:
        others.append(Forbidden(stream.rules))
        auditing = AuditRunner(
            target.name, found, as_of=as_of, fetched=fetched, others=others, permitted=_permitted(target, reading)
        )
        notes: list[str] = []
        try:
            for batch in stream:
                auditing.take(batch)
                check()
        except NothingFound as exc:
            notes.append(str(exc))
        except NothingReadable:
            pass  # why that is so, is what was found
        except _Stopped:
            auditing.break_off()
            return auditing.report(complete=False, notes=[_STOPPED])
        return auditing.report(complete=stream.complete, notes=notes)


def _permitted(target: Target, reading: dict[str, Any]) -> frozenset[str]:
    """Hosts of which the caller knows that they are private: named, and with leave to ask private addresses."""
    origins = [each for seed in target.seeds for each in seed.origins] if reading.get("allow_private") else []
    return frozenset(host(f"{each}/") for each in origins)


def audit_lines(
    numbered: Iterable[tuple[int, Form]],
    name: str,
    found: Findings,
    against: Against,
    *,
    as_of: datetime | None = None,
    stop: Callable[[], bool] = _never,
) -> Report:
    """What is wrong with what the lines of a dump say, to their end; `name` is what the report calls it."""
    others = [*against.checks(found, None)]
    auditing = AuditRunner(name, found, as_of=as_of, fetched=None, others=others)
    dumped = Dumped(name, found)
    items = dumped.items(numbered)
    while batch := [*islice(items, _AT_ONCE)]:
        auditing.take(batch)
        if stop():
            auditing.break_off()
            dumped.end()
            return auditing.report(complete=False, notes=[_STOPPED])
    dumped.end()
    return auditing.report(complete=dumped.complete, notes=dumped.notes())


def parse_codes(wanted: str | Iterable[str]) -> tuple[str, ...]:
    """Codes, or beginnings of some, in any case; text has commas or blanks between them.

    >>> parse_codes("D03, l")
    ('D03', 'L')
    """
    try:
        names = wanted.replace(",", " ").split() if isinstance(wanted, str) else [*wanted]
        found = tuple(name.strip().upper() for name in names)
    except (TypeError, AttributeError):
        raise UsageError(f"codes are text, or a list of texts, and not {wanted!r}") from None
    for name in found:
        if not name or not any(code.startswith(name) for code in CATALOGUE):
            raise UsageError(f"{name!r} is no code, nor the beginning of some: U06 is one, U stands for all of URLs")
    return found
