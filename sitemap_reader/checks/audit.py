"""audit(): a site or a dump in, a Report out."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ..client.keywords import checked_keywords
from ..client.targets import find_target, refuse_document
from ..frontier.window import make_moment
from ..model.errors import NothingFound, NothingReadable, UsageError
from ..model.problems import CATALOGUE
from ..parser.normalise.urls import host
from ..serialize.dumps_part import Dump, DumpFile, is_dump_name
from ..state.state import site_name
from .dumped import Dumped
from .findings import SAMPLES, Findings
from .robots import Forbidden
from .runner import Auditing
from .sources import Against

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..client.reader import ReaderOptions
    from ..client.summary import Progress
    from ..client.targets import Target
    from ..frontier.window import Moment
    from ..model.records import Outcome
    from ..serialize.dumps import Form
    from ..state.state import State
    from .report import Report

_AT_ONCE = 2_000


def _reader_keywords() -> Iterable[str]:
    from ..client.reader import ReaderOptions  # a dump needs no network library

    return ReaderOptions.__annotations__


@checked_keywords(_reader_keywords)
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
    """What is wrong with the sitemaps of a site, or with those that a dump was made of.

    `source` is a target, as urls() takes it, or a dump: the name of a file, or what load() gives. `options` are
    SitemapReader's, `jobs` the processes that read (None: as many as there are cores, once a site proves large).

    `crawl` is the name of a file that a crawler has exported (CSV or JSON lines): what its pages answer is held against
    what the sitemaps say. `baseline` is an earlier dump: its file, a Snapshot, or what load() gives; or it is a state
    that changes() keeps, its file or an open State, as `state` always is: what vanished since. With
    `baseline_crawl` too, an earlier export, pages whose lastmod changed and content did not.

    `select` and `ignore` are codes, or beginnings of codes: `"L"` is all of hreflang. `samples` of the places of each
    are kept, their number is exact. Ages go by `as_of`, a date, a datetime or text; without it, by the time of a
    recording, or else by the clock.

    `on_outcome`, `on_progress` and `show_progress` are as in urls(). `stop` is asked a few times a second: as soon as
    it says so, the Report is of what was read by then.

    UsageError for what cannot be. Where there is no sitemap, or none can be read, the Report says so.
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
    refuse_document(source)
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
        auditing = Auditing(
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
    auditing = Auditing(name, found, as_of=as_of, fetched=None, others=others)
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
