"""snapshot() and load(): sites to read, or a file that was written before, in; a Snapshot out."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import attrs

from ..client.keywords import PatternOptions, SiteOptions, checked_keywords
from ..client.summary import count_of, dropped_text, first_reason, sitemaps_of
from ..client.targets import find_target, reject_document
from ..compare.diff import is_state
from ..frontier.filters import UNWANTED, make_moment
from ..model.errors import NothingFound, NothingReadable, UsageError
from ..parser.content.sniff import Format
from ..serialize.arrow import require_pyarrow
from ..serialize.dumps import DumpFile, is_dump_name
from .export import read, read_metadata
from .snapshot import Snapshot, loaded
from .state_tables import read_state
from .tables import SnapshotMetadata, TableBuilder, as_reusable, selection_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..client.summary import Problems, Progress, Summary
    from ..client.targets import Target
    from ..frontier.filters import Moment
    from ..model.errors import ReadError
    from ..model.records import Outcome


# How many documents, and problem codes, a note names.
_MAX_NAMED = 3
# Reason of UNWANTED -> the keywords that filter for it.
_KEYWORDS = {"date": "since, until, undated", "pattern": "include, exclude"}


def omissions(summary: Summary, outcomes: Iterable[Outcome], problems: Problems) -> Iterator[str]:
    """A note for each reason why a URL of the site may be missing; the counts are those of the Summary."""
    outcomes = [*outcomes]
    if summary.sitemaps and not summary.urls:
        codes = ", ".join(f"{code} {count:,}" for code, count in problems.counts.most_common(_MAX_NAMED))
        yield f"no URL in {count_of(summary.sitemaps, 'sitemap')}" + (f"; problems: {codes}" if codes else "")
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
    yield from _named_documents(failed, "sitemap", "could not be read")
    yield from _named_documents(partial, "sitemap", "could be read in part only")
    yield from _named_documents(robots, "robots.txt file", "could not be read")


def _named_documents(broken: list[Outcome], noun: str, what: str) -> Iterator[str]:
    """`2 sitemaps could not be read: F01 https://…: 404 Not Found; …`."""
    if broken:
        reasons = [first_reason([outcome]) or str(outcome.url) for outcome in broken[:_MAX_NAMED]]
        more = [f"and {len(broken) - _MAX_NAMED:,} more"] if len(broken) > _MAX_NAMED else []
        yield f"{count_of(len(broken), noun)} {what}: {'; '.join([*reasons, *more])}"


# Keywords that filter URLs, in the order in which a Snapshot names them.
_FILTERS = ("since", "until", *PatternOptions.__annotations__)
_DAY = re.compile(r"[0-9]{4}(-[0-9]{1,2}){0,2}")
_STOPPED = "stopped before the end: only what was read until then is here"


@checked_keywords(SiteOptions)
def snapshot(
    target: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    on_progress: Callable[[Progress], None] | None = None,
    show_progress: bool = True,
    **options: Unpack[SiteOptions],
) -> Snapshot:
    """Reads a site, or several one after the other, into the tables of a Snapshot; a target is what urls() takes.

    Interrupted, by Ctrl-C or a notebook's stop button, it returns what was read by then: `complete` is False, and
    `notes` says so. Of several sites one that cannot be read is a note too; NothingFound or NothingReadable if none
    can be read.

    Needs the extra `analysis`. Memory is some 300 bytes per URL.
    """
    require_pyarrow("a Snapshot needs", "analysis")
    # All targets first: an invalid one is an error before anything is read.
    targets = {name: find_target(name) for name in _target_names(target)}
    patterns = PatternOptions.__annotations__  # iterables, which are needed again for each site
    reusable = {name: as_reusable(value) if name in patterns else value for name, value in options.items()}
    reading = _Reading({"on_progress": on_progress, "show_progress": show_progress, **reusable})
    for found in targets.values():
        if not reading.is_stopped:
            reading.read_site(found)
    return reading.snapshot()


def _target_names(target: Any) -> list[str | Path]:
    """The distinct targets; UsageError for a value that is not a target."""
    reject_document(target)
    names = [target] if isinstance(target, str | bytes | os.PathLike) or not hasattr(target, "__iter__") else [*target]
    if not names:
        raise UsageError("there is no target; name a site, such as example.com")
    for name in names:
        if not isinstance(name, str | os.PathLike):
            raise UsageError(f"a target is a host, a URL or a folder, not {name!r}")
        if is_dump_name(os.fspath(name)):
            raise UsageError(f"{os.fspath(name)} is a file, not a site: sr.load() opens a dump")
    return [*dict.fromkeys(name if isinstance(name, str) else Path(name) for name in names)]


def load(path: str | os.PathLike[str], *, at: Moment | None = None, site: str | None = None) -> Snapshot:
    """Opens a dump (JSON lines, also compressed, or Parquet), a folder that to_parquet() wrote, or a state of sync.

    Iterating streams the lines of a dump, and needs no extra; tables and measures need the extra `analysis`. A state is
    read at once, as its sites were at the end of the last run; `urls` then has a column `first_seen`.

    `at` is when the site was read, the reference time for ages: a date (its end), a datetime or text. Without it, the
    time stored in the file is used; dumps store none, and then it is now. `site` names the site for lines that do not;
    without it, that is the most frequent host.

    UsageError at once if there is no such file; damage inside is reported when it is read.
    """
    file_path = Path(path)
    tables = None
    if file_path.is_fifo():  # opening and closing a pipe would end its writer
        metadata = SnapshotMetadata()
    elif not file_path.is_dir() and is_state(str(path)):
        tables, metadata = read_state(path)
    else:
        metadata = read_metadata(file_path)
    if at is not None:
        moment = make_moment("at", at, datetime.now(UTC)).astimezone(UTC)
        is_day = not isinstance(at, datetime | timedelta) and bool(_DAY.fullmatch(str(at)))
        metadata = attrs.evolve(metadata, at=moment, until=moment, is_day=is_day)
    if tables is not None:
        return Snapshot(str(file_path), partial(loaded, tables), metadata, site=site)
    file = None if file_path.is_dir() else DumpFile(file_path)
    return Snapshot(str(file_path), partial(read, file_path), metadata, file=file, site=site)


@attrs.define
class _Reading:
    """Reads sites one after the other, and builds one Snapshot of them."""

    options: dict[str, Any]
    is_stopped: bool = False
    _builder: TableBuilder = attrs.field(factory=TableBuilder)
    _names: list[str] = attrs.field(factory=list)
    _notes: list[str] = attrs.field(factory=list)
    _omissions: list[tuple[str, list[str]]] = attrs.field(factory=list)  # (site, notes)
    _failures: list[ReadError] = attrs.field(factory=list)
    _complete: bool = True
    _moments: list[datetime] = attrs.field(factory=list)

    def read_site(self, target: Target) -> None:
        """Reads one site to its end, or until it is interrupted."""
        from ..client.sync_api import url_batches

        site = _site_name(target)
        self._names.append(site)
        self._moments.append(target.recorded or datetime.now(UTC))
        builder = self._builder
        try:
            with url_batches(target, on_item=lambda item: builder.add_item(item, site), **self.options) as stream:
                try:
                    for urls in stream:
                        builder.add_urls(urls, site)
                finally:
                    self._complete = self._complete and stream.complete
                    notes = [*omissions(stream.summary, stream.outcomes, stream.problems)]
                    self._omissions.append((site, notes))
        except KeyboardInterrupt:
            self.is_stopped = True
            self._notes.append(_STOPPED)
        except (NothingFound, NothingReadable) as exc:
            self._failures.append(exc)
            self._omissions.pop()  # the failure says why
        self._moments.append(target.recorded or datetime.now(UTC))

    def snapshot(self) -> Snapshot:
        """The Snapshot; raises the first failure if no site could be read."""
        tables = self._builder.tables()
        if self._failures and not len(tables.urls) and not self.is_stopped:
            raise self._failures[0]
        self._notes += map(str, self._failures)
        for site, notes in self._omissions:
            self._notes += [f"{site}: {note}" if len(self._names) > 1 else note for note in notes]
        complete = self._complete and not self.is_stopped and not self._failures
        choice = selection_text({name: self.options.get(name) for name in _FILTERS}) or None
        metadata = SnapshotMetadata(
            min(self._moments), max(self._moments), complete=complete, choice=choice, notes=tuple(self._notes)
        )
        return Snapshot(", ".join(self._names), partial(loaded, tables), metadata)


def _site_name(target: Target) -> str:
    """`shop.example`, or the URL of a document, without the scheme."""
    from ..state.state import site_name

    return site_name(target.seeds).replace("https://", "").removesuffix("/")
