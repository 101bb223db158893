"""snapshot() and load(): sites, or what was written of them, in; a Snapshot out."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import attrs

from ..client.keywords import ReaderOptions, checked_keywords
from ..client.summary import count_of, dropped_text, first_reason, sitemaps_of
from ..client.targets import find_target, reject_document
from ..frontier.filters import UNWANTED, make_moment
from ..model.errors import NothingFound, NothingReadable, UsageError
from ..parser.content.sniff import Format
from ..serialize.arrow import require_pyarrow
from ..serialize.dumps import DumpFile, is_dump_name, open_file
from .parquet_io import SnapshotMetadata, circumstances_of, read
from .snapshot import Snapshot, same
from .tables import TableBuilder, choice_of, repeatable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..client.summary import Problems, Progress, Summary
    from ..client.targets import Target
    from ..frontier.filters import Moment, Pattern, Undated
    from ..model.errors import ReadError
    from ..model.records import Outcome, SitemapRef


# ----------------------------------------------------------------------------------------------------
# What a reading left out, or could not read: a run's Summary, outcomes and problems in, sentences out.
#
# Its numbers are those of the Summary.


# How many documents, and codes of problems, are named.
_NAMED = 3
# What leaves URLs out, beside the reasons of UNWANTED.
_KEYWORDS = {"date": "since, until, undated", "pattern": "include, exclude"}


def omissions(summary: Summary, outcomes: Iterable[Outcome], problems: Problems) -> Iterator[str]:
    """A sentence for each reason why something that the site lists may not be there."""
    outcomes = [*outcomes]
    if summary.sitemaps and not summary.urls:
        most = ", ".join(f"{code} {count:,}" for code, count in problems.counts.most_common(_NAMED))
        yield f"no URL in {count_of(summary.sitemaps, 'sitemap')}" + (f"; problems: {most}" if most else "")
    if summary.dropped:
        yield f"out of scope: {dropped_text(summary.dropped)}"
    for reason, words in UNWANTED.items():
        if reason in summary.unwanted:
            yield f"{count_of(summary.unwanted[reason], 'URL')} {words} ({_KEYWORDS[reason]})"
    for reason, count in sorted(summary.pruned.items()):
        yield f"{count_of(count, 'sitemap')} left out ({reason.replace('-', '_')})"
    broken = [outcome for outcome in sitemaps_of(outcomes) if not outcome.complete]
    failed = [outcome for outcome in broken if not outcome.entries]
    partial = [outcome for outcome in broken if outcome.entries]
    robots = [outcome for outcome in outcomes if outcome.format == Format.ROBOTS and not outcome.complete]
    yield from _named(failed, "sitemap", "could not be read")
    yield from _named(partial, "sitemap", "could be read in part only")
    yield from _named(robots, "robots.txt file", "could not be read")


def _named(broken: list[Outcome], noun: str, what: str) -> Iterator[str]:
    """`2 sitemaps could not be read: F01 https://…: 404 Not Found; …`."""
    if broken:
        reasons = [first_reason([outcome]) or str(outcome.url) for outcome in broken[:_NAMED]]
        more = [f"and {len(broken) - _NAMED:,} more"] if len(broken) > _NAMED else []
        yield f"{count_of(len(broken), noun)} {what}: {'; '.join([*reasons, *more])}"


# Keywords that leave URLs out.
_CHOOSING = ("since", "until", "include", "exclude", "follow", "no_follow")
_SEVERAL = ("include", "exclude", "follow", "no_follow")  # each of the sites needs all of their values
_DAY = re.compile(r"[0-9]{4}(-[0-9]{1,2}){0,2}")
_STOPPED = "stopped before the end: there is what was read by then"


class SnapshotOptions(ReaderOptions, total=False):
    """The keywords of SitemapReader and of its urls(), those that choose what is read."""

    jobs: int | None
    since: Moment | None
    until: Moment | None
    undated: Undated
    include: Pattern | Iterable[Pattern] | None
    exclude: Pattern | Iterable[Pattern] | None
    follow: Callable[[SitemapRef], bool] | Pattern | Iterable[Pattern] | None
    no_follow: Pattern | Iterable[Pattern] | None
    on_progress: Callable[[Progress], None] | None


@checked_keywords(SnapshotOptions)
def snapshot(
    target: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    show_progress: bool = True,
    **options: Unpack[SnapshotOptions],
) -> Snapshot:
    """Reads a site, or several one after the other, into the tables of a Snapshot; a target is what urls() takes.

    Interrupted, by Ctrl-C or a notebook's stop button, it returns what was read by then: `complete` is False, and
    `notes` says so. Of several sites one that cannot be read is a note too; NothingFound or NothingReadable if none
    can be read.

    Needs the extra `analysis`. Memory is some 300 bytes per URL.
    """
    require_pyarrow("a Snapshot needs", "analysis")
    # All of them at once: what cannot be is told before anything is read.
    targets = {name: find_target(name) for name in _names(target)}
    given = {name: repeatable(value) if name in _SEVERAL else value for name, value in options.items()}
    reading = _Reading({"show_progress": show_progress, **given})
    for found in targets.values():
        if not reading.is_stopped:
            reading.site(found)
    return reading.snapshot()


def _names(target: Any) -> list[str | Path]:
    """The targets, each once; UsageError for what is none."""
    reject_document(target)
    names = [target] if isinstance(target, str | bytes | os.PathLike) or not hasattr(target, "__iter__") else [*target]
    if not names:
        raise UsageError("there is no target; name a site, such as example.com")
    for name in names:
        if not isinstance(name, str | os.PathLike):
            raise UsageError(f"a target is a host, a URL or a folder, not {name!r}")
        if is_dump_name(os.fspath(name)):
            raise UsageError(f"{os.fspath(name)} is a file, and no site: sr.load() opens a dump")
    return [*dict.fromkeys(name if isinstance(name, str) else Path(name) for name in names)]


def load(path: str | os.PathLike[str], *, at: Moment | None = None, site: str | None = None) -> Snapshot:
    """Opens what was written before: a dump (JSON lines, also compressed, or Parquet), or a folder of to_parquet().

    Iterating over it reads line by line, and needs nothing; its tables and measures need the extra `analysis`.

    `at` is when the site was read, a date (its end), a datetime or text: ages go by it. Without it, what the file tells
    counts; dumps tell nothing, and then it is now. `site` is what the site is called, where the lines do not name
    theirs; without it, the host on which most URLs are.

    UsageError at once where there is no such file; what is wrong inside is told when it is read.
    """
    place = Path(path)
    if not place.is_fifo() and not place.is_dir():  # whoever writes to a pipe would see its only reader leave
        open_file(path).close()
    circumstances = SnapshotMetadata() if place.is_fifo() else circumstances_of(place)
    if at is not None:
        moment = make_moment("at", at, datetime.now(UTC)).astimezone(UTC)
        is_day = not isinstance(at, datetime | timedelta) and bool(_DAY.fullmatch(str(at)))
        circumstances = attrs.evolve(circumstances, at=moment, until=moment, is_day=is_day)
    file = None if place.is_dir() else DumpFile(place)
    return Snapshot(str(place), partial(read, place), circumstances, file=file, site=site)


@attrs.define
class _Reading:
    """Several sites on their way into one Snapshot."""

    options: dict[str, Any]
    is_stopped: bool = False
    _gathering: TableBuilder = attrs.field(factory=TableBuilder)
    _names: list[str] = attrs.field(factory=list)
    _notes: list[str] = attrs.field(factory=list)
    _omissions: list[tuple[str, list[str]]] = attrs.field(factory=list)  # of each site
    _failures: list[ReadError] = attrs.field(factory=list)
    _complete: bool = True
    _moments: list[datetime] = attrs.field(factory=list)

    def site(self, target: Target) -> None:
        """Reads one to its end, or until somebody has enough."""
        from ..client.sync_api import lines

        site = _site_name(target)
        self._names.append(site)
        self._moments.append(target.recorded or datetime.now(UTC))
        gathering = self._gathering
        try:
            with lines(target, site=site, on_item=lambda item: gathering.hear(item, site), **self.options) as stream:
                try:
                    for some in stream:
                        gathering.lines(some.data)
                finally:
                    self._complete = self._complete and stream.complete
                    sentences = [*omissions(stream.summary, stream.outcomes, stream.problems)]
                    self._omissions.append((site, sentences))
        except KeyboardInterrupt:
            self.is_stopped = True
            self._notes.append(_STOPPED)
        except (NothingFound, NothingReadable) as exc:
            self._failures.append(exc)
            self._omissions.pop()  # the failure says why
        self._moments.append(target.recorded or datetime.now(UTC))

    def snapshot(self) -> Snapshot:
        """What came of it."""
        gathered = self._gathering.gathered()
        if self._failures and not len(gathered.urls) and not self.is_stopped:
            raise self._failures[0]
        self._notes += map(str, self._failures)
        for site, sentences in self._omissions:
            self._notes += [f"{site}: {each}" if len(self._names) > 1 else each for each in sentences]
        complete = self._complete and not self.is_stopped and not self._failures
        choice = choice_of({name: self.options.get(name) for name in _CHOOSING}) or None
        circumstances = SnapshotMetadata(
            min(self._moments), max(self._moments), complete=complete, choice=choice, notes=tuple(self._notes)
        )
        return Snapshot(", ".join(self._names), partial(same, gathered), circumstances)


def _site_name(target: Target) -> str:
    """`shop.example`; a document by its URL, without the scheme."""
    from ..state.state import site_name

    return site_name(target.seeds).replace("https://", "").removesuffix("/")
