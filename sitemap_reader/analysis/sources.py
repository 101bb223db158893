"""snapshot() and load(): sites to read, or files that are there, in; a Snapshot out.

Both take both, one or several: load() takes a name as a path, snapshot() a name that is not on the disk as a site.
"""

from __future__ import annotations

import glob
import os
import re
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import attrs

from ..client.keywords import PatternOptions, SiteOptions, checked_keywords
from ..client.targets import find_target, is_host_name, reject_document
from ..fetch.replay import is_recording
from ..frontier.filters import make_moment
from ..frontier.seeds import SCHEME
from ..model.errors import SitemapReaderError, UsageError
from ..serialize.arrow import require_pyarrow
from ..serialize.dumps import DumpFile, is_dump_name, is_warc_name
from .export import read, read_metadata
from .file_kinds import ACCEPTED, Found, find_sources
from .path_dates import ACCEPTED as ACCEPTED_DATES
from .path_dates import date_in_path
from .site_crawls import FILTERS, read_sites
from .sitemap_files import FileOptions
from .snapshot import Snapshot
from .states import combine
from .tables import SnapshotMetadata, as_reusable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ..client.summary import Progress
    from ..client.targets import Target
    from ..frontier.filters import Moment
    from ..parser.normalise.scope import ScopeMode
    from .file_kinds import Source
    from .site_crawls import CrawledSites
    from .states import Part

    Name = str | os.PathLike[str]

# The value of `at` with which each name states its time.
BY_NAME = "name"
_DAY = re.compile(r"[0-9]{4}(-[0-9]{1,2}){0,2}")
_URL = re.compile(r"https?://", re.IGNORECASE)
# Keywords of snapshot() that select URLs, which files do not take.
_FOR_SITES = (*FILTERS, "undated", "trust_lastmod")


@checked_keywords(SiteOptions)
def snapshot(
    target: Name | Iterable[Name],
    *,
    at: Moment | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    show_progress: bool = True,
    **options: Unpack[SiteOptions],
) -> Snapshot:
    """Reads a site, or several at once, into the tables of a Snapshot; a target is what urls() takes, or load().

    Several sites are read in parallel, within the same `concurrency` in all; those of one registrable domain one after
    the other. Each has its progress bar, and `on_progress` gets the sums of all. The order is that of the targets.

    Interrupted, by Ctrl-C or a notebook's stop button, it returns what was read by then: `complete` is False, and
    `notes` says so. Of several sites one that cannot be read is a note too; NothingFound or NothingReadable if none
    can be read.

    Files, folders and patterns are read as by load(), with `at`, `scope`, `extras` and `limits`. Needs the extra
    `analysis`. Memory is some 300 bytes per URL.
    """
    require_pyarrow("a Snapshot needs", "analysis")
    patterns = PatternOptions.__annotations__  # iterables, which are needed again for each site
    given: dict[str, Any] = {name: as_reusable(value) if name in patterns else value for name, value in options.items()}
    # All targets first: an invalid one is an error before anything is read.
    arguments = [_site_or_files(name, at) for name in _names(target)]
    files = next((name for name, found in arguments if isinstance(found, Found)), None)
    if files is not None and (wrong := [name for name in _FOR_SITES if given.get(name) is not None]):
        raise UsageError(
            f"{wrong[0]} is for sites, and {files} is on the disk: filter(include=…, exclude=…) selects URLs"
        )
    for name, found in arguments:
        if at is not None and not isinstance(found, Found) and (found.replay is None or at == BY_NAME):
            raise UsageError(f"at is for files, and {name} is a site, which is read now: leave it out")
    file_options = FileOptions(**{name: given[name] for name in ("scope", "extras", "limits") if name in given})
    reading = _Reading(at, file_options, given, on_progress=on_progress, show_progress=show_progress)
    return reading.read(arguments)


def load(
    path: Name | Iterable[Name], *, at: Moment | None = None, site: str | None = None, scope: ScopeMode | None = None
) -> Snapshot:
    """Opens files: sitemaps, dumps, folders or patterns of them (`archive/*.xml`, `**`), or several of these.

    Sitemaps are XML, text, RSS or Atom, also compressed with gzip; dumps JSON lines, also compressed, or Parquet. A
    folder may also be that of to_parquet(), of a harvest (all its shards), or a recorded site, which is read as by
    snapshot(). Files are recognised by their content. Each item of an iterable is a site of its own, as is each folder
    that a pattern matches.

    `at` is when the site was read, the reference time for ages: a date (its end), a datetime or text. Without it, the
    time stored in the file is used; dumps and sitemaps store none, and then it is now. With `at="name"` the name of
    each file, or of its folder, states the time (2026-01-15T104346, 20260115, 2026-01): files of one time are a state
    of the site. The result is the newest one, `earlier` has the others, and `urls` the column `first_seen`.

    `site` names the site for lines that do not; without it, that is the most frequent host. `scope` is for sitemaps:
    "any" keeps all URLs, "host" and "domain" those of the site.

    A single dump is read on first use: iterating streams the lines, and needs no extra; tables and measures need the
    extra `analysis`. UsageError at once if there is no such file. Of several files one that cannot be read is a note.
    """
    found = [(name, _files(name, at)) for name in _names(path, what="path")]
    reading = _Reading(at, FileOptions(scope, site), {} if scope is None else {"scope": scope}, show_progress=True)
    return reading.read(found, site=site)


# Argument -> what it is, and what to give where it is empty.
_ARGUMENTS = {
    "target": ("a host, a URL, a file or a folder", "name a site, such as example.com"),
    "path": ("a file, a folder or a pattern", f"load() takes {ACCEPTED}"),
}


# --- arguments -------------------------------------------------------------------------------------------------------


def _names(given: Any, what: str = "target") -> list[str | Path]:
    """The distinct names; UsageError for a value that is none."""
    reject_document(given)
    names = [given] if isinstance(given, str | bytes | os.PathLike) or not hasattr(given, "__iter__") else [*given]
    accepted, hint = _ARGUMENTS[what]
    if not names:
        raise UsageError(f"there is no {what}; {hint}")
    for name in names:
        if not isinstance(name, str | os.PathLike):
            raise UsageError(f"a {what} is {accepted}, not {name!r}")
    return [*dict.fromkeys(name if isinstance(name, str) else Path(name) for name in names)]


def _files(name: str | Path, at: Moment | None) -> Found:
    if isinstance(name, str) and _URL.match(name):
        raise UsageError(f"{name} is a URL, and load() reads files: sr.snapshot({name!r}) reads a site")
    return find_sources(name, as_states=at == BY_NAME)


def _site_or_files(name: str | Path, at: Moment | None) -> tuple[str | Path, Found | Target]:
    return name, _files(name, at) if _is_on_disk(name) else find_target(name)


def _is_on_disk(name: str | Path) -> bool:
    """Whether a target is to be read by load(): not a host, a URL or a recording."""
    text = str(name)
    if isinstance(name, str) and SCHEME.match(text.strip()):
        return False
    path = Path(name)
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except (OSError, ValueError):
        return False
    if is_folder:
        return not is_recording(path) and not (isinstance(name, str) and is_host_name(text))
    if is_warc_name(text):
        return False
    if not isinstance(name, str) or text.startswith((".", "/")):
        return True
    return exists or is_dump_name(text) or (glob.has_magic(text) and ("*" in text or bool(glob.glob(text))))


# --- reading ---------------------------------------------------------------------------------------------------------


@attrs.frozen
class _Time:
    """A time of reading; `is_day`: only the day, or a longer period, is known, and `moment` is its end."""

    moment: datetime
    is_day: bool

    def of(self, metadata: SnapshotMetadata) -> SnapshotMetadata:
        return attrs.evolve(metadata, at=self.moment, until=self.moment, is_day=self.is_day)


def _time(at: Moment) -> _Time:
    moment = make_moment("at", at, datetime.now(UTC)).astimezone(UTC)
    return _Time(moment, not isinstance(at, datetime | timedelta) and bool(_DAY.fullmatch(str(at))))


@attrs.define
class _Reading:
    """Reads all arguments of one call into a Snapshot; what cannot be read is a note, if anything can."""

    at: Moment | None
    file_options: FileOptions
    site_options: dict[str, Any]
    on_progress: Callable[[Progress], None] | None = None
    show_progress: bool = True
    _groups: Iterator[int] = attrs.field(factory=count)
    _parts: list[Part] = attrs.field(factory=list)
    _targets: list[tuple[Target, int, _Time | None]] = attrs.field(factory=list)
    _failures: list[SitemapReaderError] = attrs.field(factory=list)
    _notes: list[str] = attrs.field(factory=list)

    def read(self, arguments: Sequence[tuple[str | Path, Found | Target]], site: str | None = None) -> Snapshot:
        """The Snapshot of the arguments, in their order."""
        files = [found for _, found in arguments if isinstance(found, Found)]
        sources = [source for found in files for group in found.groups for source in group]
        _check_scope(sources, self.file_options.scope)
        times = {source.path: self._time_of(source) for source in sources}  # an error before anything is read
        if len(sources) == len(arguments) == 1 and sources[0].kind.is_lazy:
            return _lazy(sources[0], times[sources[0].path], site)
        require_pyarrow("a Snapshot needs", "analysis")
        for _, found in arguments:
            if isinstance(found, Found):
                for group in found.groups:
                    self._read_files(group, times, with_children=found.is_file)
            else:
                self._targets.append((found, next(self._groups), None if self.at is None else _time(self.at)))
        crawled = self._read_targets()
        if self._failures and not crawled.is_stopped and not any(len(part.tables.urls) for part in self._parts):
            raise self._failures[0]
        names = [str(name) for name, found in arguments if isinstance(found, Found)] or crawled.names
        self._notes = [*crawled.notes, *self._notes, *(note for found in files for note in found.notes)]
        parts = sorted(self._parts, key=lambda part: part.group)
        if self._failures and self.at != BY_NAME:  # a state that cannot be read is left out
            parts = [attrs.evolve(part, metadata=attrs.evolve(part.metadata, complete=False)) for part in parts]
        return combine(parts, name=", ".join(names), site=site, by_time=self.at == BY_NAME, notes=self._notes)

    def _time_of(self, source: Source) -> _Time | None:
        """The time that the caller or the name states; None: that which is stored, if any is."""
        if self.at is None or self.at != BY_NAME:
            return None if self.at is None else _time(self.at)
        date = next(filter(None, map(date_in_path, source.dated)), None)
        if date is None and not source.kind.states_time(source.path):
            what = f"{source.path} has no date in its name, as at={BY_NAME!r} needs"
            raise UsageError(f"{what}: a date is written {ACCEPTED_DATES}; or give at= the time itself")
        return None if date is None else _time(date)

    def _read_files(self, sources: Sequence[Source], times: dict[Path, _Time | None], *, with_children: bool) -> None:
        """Reads the sources of one group, those of one time and kind in one call."""
        number = next(self._groups)
        alike: dict[tuple[_Time | None, str], list[Source]] = {}
        for source in sources:
            time = times[source.path]
            if source.kind.read is None:
                self._targets.append((find_target(source.path), next(self._groups), time))
            else:
                alike.setdefault((time, source.kind.name), []).append(source)
        options = attrs.evolve(self.file_options, with_children=with_children)
        for (time, _), some in alike.items():
            read = some[0].kind.read
            batches = [some] if some[0].kind.is_tolerant else [[source] for source in some]
            for batch in batches:
                self._read_alike(read, [source.path for source in batch], options, time, number)

    def _read_alike(self, read: Any, paths: list[Path], options: FileOptions, time: _Time | None, group: int) -> None:
        try:
            part = read(paths, options)
        except SitemapReaderError as exc:
            self._failures.append(exc)
            self._notes.append(str(exc))
            return
        self._add(part, group, time)

    def _add(self, part: Part, group: int, time: _Time | None) -> None:
        metadata = part.metadata if time is None else time.of(part.metadata)
        self._parts.append(attrs.evolve(part, group=group, metadata=metadata))

    def _read_targets(self) -> CrawledSites:
        """Reads all sites at once."""
        targets = [target for target, _, _ in self._targets]
        crawled = read_sites(
            targets, on_progress=self.on_progress, show_progress=self.show_progress, options=self.site_options
        )
        self._failures += crawled.failures
        for part in crawled.parts:
            _, group, time = self._targets[part.group]
            self._add(part, group, time)
        return crawled


def _lazy(source: Source, time: _Time | None, site: str | None) -> Snapshot:
    """The Snapshot of a dump, which is read on first use."""
    path = source.path
    metadata = SnapshotMetadata() if path.is_fifo() else read_metadata(path)  # to open a pipe would end its writer
    file = None if path.is_dir() else DumpFile(path)
    metadata = metadata if time is None else time.of(metadata)
    return Snapshot(str(path), partial(read, path), metadata, file=file, site=site)


def _check_scope(sources: Iterable[Source], scope: ScopeMode | None) -> None:
    """UsageError for a scope that files of a kind cannot have."""
    for source in sources:
        kind = source.kind
        if kind.name == "sitemap" and scope == "protocol":
            what = 'scope "protocol" compares each URL with that of its sitemap, and a file has none'
            raise UsageError(f'{what}: give "any", or "host" or "domain" to keep the URLs of the site')
        if kind.name != "sitemap" and kind.read is not None and scope not in (None, "any"):
            what = f"scope is for sitemaps, and {source.path} holds URLs that are read already"
            raise UsageError(f"{what}: filter(include=…) keeps some of them")
