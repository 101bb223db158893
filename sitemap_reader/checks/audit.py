"""audit(): a site or a dump in, a Report out."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Unpack

import attrs

from ..crawl.state import site_name
from ..dumps import Dump, is_dump_name, numbered_forms, open_file
from ..errors import NothingReadable, UsageError
from ..problems import CATALOGUE, Problem
from ..records import Outcome, SitemapRef, UrlRecord
from ..restore import from_json
from ..targets import find_target
from ..walk.window import make_moment
from .against.sources import Against
from .auditing import Auditing
from .findings import SAMPLES, Findings
from .robots import Forbidden

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..dumps import Form
    from ..ledger import Progress
    from ..reader import ReaderOptions
    from ..walk.window import Moment
    from .report import Report

    Taken = UrlRecord | SitemapRef | Problem | Outcome

_AT_ONCE = 2_000


def audit(
    source: str | os.PathLike[str] | Dump,
    *,
    crawl: str | os.PathLike[str] | None = None,
    baseline: str | os.PathLike[str] | None = None,
    baseline_crawl: str | os.PathLike[str] | None = None,
    state: str | os.PathLike[str] | None = None,
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
    """What is wrong with the sitemaps of a site, or with those that a dump was made of.

    `source` is a target, as urls() takes it, or a dump: the name of a file, or what load() gives. `options` are
    SitemapReader's, `jobs` the processes that read (None: as many as there are cores, once a site proves large).

    `crawl` is the name of a file that a crawler has exported (CSV or JSON lines): what its pages answer is held against
    what the sitemaps say. `baseline` is an earlier dump, or `state` a state file that changes() keeps: what vanished
    since. With `baseline_crawl` too, an earlier export, pages whose lastmod changed and content did not.

    `select` and `ignore` are codes, or beginnings of codes: `"L"` is all of hreflang. `samples` of the places of each
    are kept, their number is exact. Ages go by `as_of`, a date, a datetime or text; without it, by the time of a
    recording, or else by the clock.
    `on_outcome`, `on_progress` and `show_progress` are as in urls(). `stop` is asked a few times a second: as soon as
    it says so, the Report is of what was read by then.

    UsageError for what cannot be. NothingFound where there is no sitemap at all; where all that there is cannot be
    read, the Report says so.
    """
    found = make_findings(select, ignore, samples)
    moment = None if as_of is None else make_moment("as_of", as_of, datetime.now(UTC))
    against = Against(crawl, baseline, state, baseline_crawl)
    against.refuse()
    if not isinstance(source, Dump) and not is_dump_name(os.fspath(source)):
        reading: dict[str, Any] = {"jobs": jobs, "on_outcome": on_outcome}
        reading |= {"on_progress": on_progress, "show_progress": show_progress}
        target = source if isinstance(source, str) else Path(source)
        return _audit_site(target, found, against, moment, stop or _never, {**reading, **options})
    path = source.path if isinstance(source, Dump) else Path(source)
    if options or jobs is not None:
        named = ", ".join([*options, *(["jobs"] if jobs is not None else [])])
        raise UsageError(f"{named}: that is for what is read from a site, and {path} is a dump")
    with open_file(path) as body:
        return audit_dump(body, str(path), found, against, as_of=moment, stop=stop or _never)


def make_findings(select: str | Iterable[str], ignore: str | Iterable[str], samples: int) -> Findings:
    """Empty ones; UsageError for codes that are none, and for fewer than no samples."""
    if samples < 0:
        raise UsageError(f"samples must be 0 or more, not {samples}")
    return Findings(select=codes(select), ignore=codes(ignore), samples=samples)


def _never() -> bool:
    return False


class _Stopped(Exception):
    """Somebody wants no more."""


def _audit_site(
    source: str | Path,
    found: Findings,
    against: Against,
    as_of: datetime | None,
    stop: Callable[[], bool],
    reading: dict[str, Any],
) -> Report:
    from ..blocking import batches  # a dump needs no network library

    target = find_target(source)
    given = as_of or target.recorded

    def clock() -> datetime:
        return given or datetime.now(UTC)

    def check() -> None:
        if stop():
            raise _Stopped

    others = [*against.checks(found, target.name, seeds=site_name(target.seeds))]
    with batches(source, on_wait=check, **reading) as stream:
        others.append(Forbidden(stream.rules))
        auditing = Auditing(target.name, found, now=clock(), clock=clock, others=others)
        notes = []
        try:
            for batch in stream:
                auditing.take(batch)
                check()
        except NothingReadable:
            pass  # why that is so, is what was found
        except _Stopped:
            auditing.break_off()
            notes.append(_STOPPED)
        return auditing.report(complete=stream.complete and not notes, notes=notes)


_STOPPED = "stopped before the end: what follows is of what was read by then"


def audit_dump(
    body: BinaryIO,
    name: str,
    found: Findings,
    against: Against,
    *,
    as_of: datetime | None = None,
    stop: Callable[[], bool] = _never,
) -> Report:
    """What is wrong with what a dump says, which is read to its end; `name` is what the report calls it."""
    others = [*against.checks(found, None)]
    auditing = Auditing(name, found, now=as_of or datetime.now(UTC), clock=None, others=others)
    told = _Told(name, found.like())
    items = told.items(numbered_forms(body, name))
    while (batch := [*islice(items, _AT_ONCE)]) and not stop():
        auditing.take(batch)
    if batch:
        auditing.break_off()
    if not told.has_run:
        found.absorb(told.of_urls)
    return auditing.report(
        complete=told.complete and not batch, notes=[*told.notes(), *([_STOPPED] if batch else [])]
    )


@attrs.define
class _Told:
    """What a dump says of the run that it was made in.

    With a report among its lines each problem has one of its own; without, there are those of the URLs, and nobody
    knows what became of the sitemaps.
    """

    name: str
    of_urls: Findings
    complete: bool = True
    has_run: bool = False

    def items(self, forms: Iterable[tuple[int, Form]]) -> Iterator[Taken]:
        """The lines that an audit takes."""
        for number, form in forms:
            try:
                item = from_json(form)
            except UsageError as exc:
                raise UsageError(f"{self.name}:{number}: {exc}") from None
            if isinstance(item, UrlRecord):
                yield self._record(item, number)
            elif isinstance(item, SitemapRef | Problem | Outcome):
                self.has_run = self.has_run or not isinstance(item, SitemapRef)
                self.complete = self.complete and not (isinstance(item, Outcome) and not item.complete)
                yield item

    def _record(self, record: UrlRecord, number: int) -> UrlRecord:
        if record.sitemap is None:  # it was written with some fields only
            record.sitemap, record.line = self.name, number
        for problem in record.problems:
            # What could not be mended is no URL: of XML that is not well-formed, the worse half is not here.
            self.of_urls.add(attrs.evolve(problem, severity="warning") if problem.code == "S01" else problem)
        return record

    def notes(self) -> Iterator[str]:
        """What cannot be known."""
        if not self.has_run:
            yield (
                f"{self.name} has URLs alone: the sitemaps themselves were not judged; `dump --report -` writes both, "
                "and an audit of the site reads all"
            )
        told = "U12 needs robots.txt, D04 the time of the request, D05 what an index states: these were not judged"
        yield f"{self.name} is a dump: {told}"


def codes(wanted: str | Iterable[str]) -> tuple[str, ...]:
    """Codes, or beginnings of some, in any case; text has commas or blanks between them.

    >>> codes("D03, l")
    ('D03', 'L')
    """
    names = wanted.replace(",", " ").split() if isinstance(wanted, str) else wanted
    found = tuple(name.strip().upper() for name in names)
    for name in found:
        if not any(code.startswith(name) for code in CATALOGUE) or not name:
            raise UsageError(f"{name!r} is no code, nor the beginning of one; docs/problems.md lists them: U06, or U")
    return found
