"""snapshot() and load(): sites to read, or files that are there, in; a Snapshot out.

Both take both, one or several: load() takes a name as a path, snapshot() a name that is not on the disk as a site. Each
name gives Sources in groups, each Source a Part of its group, and the Parts are joined in the order of the names.
"""

from __future__ import annotations

import glob
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import attrs

from ..client.keywords import checked_keywords
from ..client.options import PatternOptions, SiteOptions, SnapshotOptions
from ..client.targets import find_target, is_host_name, reject_document
from ..fetch.replay import is_recording
from ..frontier.seeds import SCHEME
from ..model.errors import SitemapReaderError, UsageError
from ..model.options import part_of
from ..serialize.arrow import require_pyarrow
from ..serialize.dumps import DumpFile, is_dump_name, is_warc_name
from .export import read, read_metadata
from .file_kinds import ACCEPTED, BY_NAME, SITE, Found, Source, find_sources
from .notes import FILTERS, named
from .site_crawls import read_sites
from .sitemap_files import FileOptions
from .snapshot import Snapshot
from .states import combine
from .tables import SnapshotMetadata, as_reusable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..client.targets import Target
    from ..frontier.filters import Moment
    from ..parser.normalise.scope import ScopeMode
    from .site_crawls import CrawledSites
    from .states import Part

    Name = str | os.PathLike[str]

# Keywords of snapshot() that select URLs, which files do not take.
_FOR_SITES = (*FILTERS, "undated", "trust_lastmod")


@checked_keywords(SnapshotOptions)
def snapshot(target: Name | Iterable[Name], **options: Unpack[SnapshotOptions]) -> Snapshot:
    """Reads a site, or several at once, into the tables of a Snapshot; a target is what urls() takes, or load().

    Several sites are read in parallel, within the same `concurrency` in all; those of one registrable domain one after
    the other. Each has its progress bar, and `on_progress` gets the sums of all. The order is that of the targets.

    Interrupted, by Ctrl-C or a notebook's stop button, it returns what was read by then: `complete` is False, and
    `notes` says so. Of several sites one that cannot be read is a note too; NothingFound or NothingReadable if none
    can be read.

    Files, folders and patterns are read as by load(), with `at`, `scope`, `extras` and `limits`; with `base` a folder
    or a file is read as the site at that URL. Needs the extra
    `analysis`. Memory is some 300 bytes per URL.
    """
    require_pyarrow("a Snapshot needs", "analysis")
    patterns = PatternOptions.__annotations__  # iterables, which are needed again for each site
    given: dict[str, Any] = {**part_of(SiteOptions, options)}
    given |= {name: as_reusable(value) for name, value in given.items() if name in patterns}
    at = options.get("at")
    # All targets first: an invalid one is an error before anything is read.
    base = given.get("base")
    found = [
        find_sources(name, at) if base is None and _is_on_disk(name) else _site(name, at, base)
        for name in _names(target)
    ]
    files = next((each.name for each in found if each.has_files), None)
    if files is not None and (wrong := [name for name in _FOR_SITES if given.get(name) is not None]):
        raise UsageError.of(
            "{keyword} is for sites, and {files} is on the disk: filter({include=}…, {exclude=}…) selects URLs",
            keyword=wrong[0],
            files=files,
        )
    file_options = FileOptions(**{name: given[name] for name in ("scope", "extras", "limits") if name in given})
    crawl = partial(
        read_sites,
        on_progress=options.get("on_progress"),
        show_progress=options.get("show_progress", True),
        options=given,
    )
    return _read(found, file_options, crawl, by_time=at == BY_NAME)


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
    found = [find_sources(name, at) for name in _names(path, what="path")]
    site_options = {} if scope is None else {"scope": scope}
    crawl = partial(read_sites, on_progress=None, show_progress=True, options=site_options)
    return _read(found, FileOptions(scope, site), crawl, by_time=at == BY_NAME)


# --- arguments -------------------------------------------------------------------------------------------------------

# Argument -> what it is, and what to give where it is empty.
_ARGUMENTS = {
    "target": ("a host, a URL, a file or a folder", "name a site, such as example.com"),
    "path": ("a file, a folder or a pattern", f"give {ACCEPTED}"),
}


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


def _is_on_disk(name: str | Path) -> bool:
    """Whether a target is read as by load(): it is no URL, and no host, even where a folder has its name."""
    text, may_be_site = str(name), isinstance(name, str)
    if may_be_site and SCHEME.match(text.strip()):
        return False
    if os.path.isdir(name):
        return not (may_be_site and is_host_name(text)) or is_recording(Path(name))
    if is_warc_name(text):
        return os.path.exists(name)
    if not may_be_site or text.startswith((".", "/")):
        return True
    return is_dump_name(text) or (glob.has_magic(text) and ("*" in text or bool(glob.glob(text))))


def _site(name: str | Path, at: Moment | None, base: str | None) -> Found:
    target = find_target(name, base)
    if at is not None:
        raise UsageError.of("{at=} is for files, and {name} is a site, which is read now: leave it out", name=name)
    return Found(str(name), [[Source(target, SITE)]])


# --- reading ---------------------------------------------------------------------------------------------------------


def _read(
    found: Sequence[Found],
    options: FileOptions,
    crawl: Callable[[Sequence[Target]], CrawledSites],
    *,
    by_time: bool,
) -> Snapshot:
    """The Snapshot of all sources; what cannot be read is a note, if anything can. All sites are read at once."""
    groups = [(each.name, group) for each in found for group in each.groups]
    sources = [source for _, group in groups for source in group]
    _check_scope(sources, options.scope)
    if len(sources) == len(found) == 1 and sources[0].kind.is_lazy:
        return _lazy(sources[0], options.site)
    require_pyarrow("a Snapshot needs", "analysis")
    parts: list[Part] = []
    failures: list[SitemapReaderError] = []
    sites: list[tuple[int, Source]] = []
    for number, (name, group) in enumerate(groups):
        file_options = attrs.evolve(options, with_children=os.path.isfile(name))
        for alike in _batches(group):
            source = alike[0]
            if source.kind.read is None:
                sites.append((number, source))
                continue
            try:
                part = source.kind.read([each.path for each in alike], file_options)
            except SitemapReaderError as exc:
                failures.append(exc)
            else:
                parts.append(part.placed(number, source.time))
    crawled = crawl([find_target(source.path) for _, source in sites])
    for part in crawled.parts:
        number, source = sites[part.group]
        parts.append(part.placed(number, source.time))
    notes = [*crawled.notes, *map(str, failures), *(note for each in found for note in each.notes)]
    failures += crawled.failures
    if failures and not crawled.is_stopped and not any(len(part.tables.urls) for part in parts):
        raise failures[0]
    names = dict.fromkeys([*(each.name for each in found if each.has_files), *crawled.names])
    name = named([*names], ", ")
    is_partial = crawled.is_stopped or (bool(failures) and not by_time)  # a state that cannot be read is left out
    return combine(parts, name=name, site=options.site, by_time=by_time, is_partial=is_partial, notes=notes)


def _batches(group: Iterable[Source]) -> Iterable[list[Source]]:
    """What is read in one call: the sitemaps of one time, and each other source alone."""
    batches: dict[object, list[Source]] = {}
    for number, source in enumerate(group):
        batches.setdefault((*source.time.values(),) if source.kind.is_sitemap else number, []).append(source)
    return batches.values()


def _lazy(source: Source, site: str | None) -> Snapshot:
    """The Snapshot of a dump, which is read on first use."""
    path = source.path
    metadata = SnapshotMetadata() if path.is_fifo() else read_metadata(path)  # to open a pipe would end its writer
    file = None if path.is_dir() else DumpFile(path)
    return Snapshot(str(path), partial(read, path), attrs.evolve(metadata, **source.time), file=file, site=site)


def _check_scope(sources: Iterable[Source], scope: ScopeMode | None) -> None:
    """UsageError for a scope that files of a kind cannot have."""
    for source in sources if scope not in (None, "any") else ():
        if source.kind.read and not source.kind.is_sitemap:
            what = "{scope=} is for sitemaps, and {path} holds URLs that are read already: leave it out"
            raise UsageError.of(what, path=source.path)
        if source.kind.is_sitemap and scope == "protocol":
            raise UsageError.of(
                '{scope="protocol"} compares each URL with that of its sitemap, and a file has none: {scope="host"} '
                'and {scope="domain"} keep the URLs of the site'
            )
