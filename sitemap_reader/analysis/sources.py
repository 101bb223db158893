"""snapshot() and load(): load() takes a name as a path, snapshot() one that is not on the disk as a site.

Each name gives Sources in groups, each Source a Part of its group, and the Parts are joined in the order of the names.
Files are recognised by their content. FOLDERS and FILES are the tables of all kinds.
"""

from __future__ import annotations

import glob
import os
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Unpack

import attrs

from ..client.keywords import checked_keywords
from ..client.options import PatternOptions, SiteOptions, SnapshotOptions
from ..client.summary import count_of
from ..client.targets import find_target, is_host_name, reject_document
from ..compare.url_files import table_header
from ..fetch.replay import SEEDS_FILE, is_recording
from ..frontier.plan import SCHEME, make_moment
from ..model.errors import SitemapReaderError, UsageError
from ..model.messages import Keyword
from ..model.options import part_of
from ..model.records import UrlRecord
from ..parser.content.sniff import SITEMAP_FORMATS, Format
from ..parser.normalise.dates import parse_date, period_end
from ..parser.parser import SitemapParser
from ..serialize.arrow import require_pyarrow
from ..serialize.byte_streams import compression_of, damage, decompressed
from ..serialize.dumps import (
    DUMP_SUFFIXES,
    SQLITE,
    DumpFile,
    in_batches,
    is_dump_name,
    is_open_database,
    is_warc_name,
    open_file,
)
from .notes import FILTERS, name_first
from .parts import FileOptions, Part, combine, name_domains, read_harvest, read_sitemaps, read_sites, read_state
from .snapshot import Snapshot
from .tables import PARQUET, SnapshotMetadata, TableBuilder, as_reusable, read_metadata, read_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..client.targets import Target
    from ..frontier.plan import Moment
    from ..parser.normalise.scope import ScopeMode
    from .parts import CrawledSites

    class ArrowTable(Protocol):
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

    Name = str | os.PathLike[str]
    Names = tuple[str, ...]
    Reader = Callable[[Sequence[Path], FileOptions], Part]

# What can be loaded, for messages.
ACCEPTED = (
    "sitemaps (XML, text, RSS, Atom; also .gz), dumps (.jsonl, .jsonl.gz, .parquet), tables with a column of URLs "
    "(.csv, .tsv), folders and patterns of these, states of sync, or the folder of a saved Snapshot, a harvest or a "
    "recorded site"
)

# The value of `at` with which each name states its time.
BY_NAME = "name"
_DAY = re.compile(r"[0-9]{4}(-[0-9]{1,2}){0,2}")

_HEAD_BYTES = 16 * 1024
_SITEMAP_SUFFIXES, _TEXT_SUFFIXES = (".xml", ".xml.gz"), (".txt", ".txt.gz")
_TABLE_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_CELLS = re.compile(rb"[^\r\n,;\t]*+[,;\t]")
_URL_FIRST = re.compile(rb"(?:\xef\xbb\xbf)?\s*https?://", re.IGNORECASE)
_LINE_KEY = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{[^\n]*?"(?:loc|type)"\s*:')
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
    path: Name | Iterable[Name] | Iterable[UrlRecord] | ArrowTable,
    *,
    at: Moment | None = None,
    site: str | None = None,
    scope: ScopeMode | None = None,
) -> Snapshot:
    """Opens files: sitemaps, dumps, folders or patterns of them (`archive/*.xml`, `**`), or several of these.

    Sitemaps are XML, text, RSS or Atom, also compressed with gzip; dumps JSON lines, also compressed, or Parquet; CSV
    and TSV of other tools need a column of URLs. A folder may also be that of to_parquet(), of a harvest (all its
    shards), or a recorded site, which is read as by snapshot(). Files are recognised by their content. Each item of an
    iterable is a site of its own, as is each folder that a pattern matches; files of several registrable domains in one
    folder are a site for each of these, unless an index lists them.

    Instead of files it takes a table with a column of URLs (a DataFrame of pandas or polars, an Arrow table, a relation
    of DuckDB: all with `__arrow_c_stream__`), or an iterable of UrlRecords or of URLs, with https://. Columns with the
    names of ours count, such as lastmod; the others are left out, with a note.

    `at` is when the site was read, the reference time for ages: a date (its end), a datetime or text. Without it, the
    time stored in the file is used; dumps and sitemaps store none, and then it is now. With `at="name"` the name of
    each file, or of its folder, states the time (2026-01-15T104346, 20260115, 2026-01): files of one time are a state
    of the site. The result is the newest one, `earlier` has the others, and `urls` the column `first_seen`.

    `site` names the site for lines that do not; without it, that is the most frequent host. `scope` is for sitemaps:
    "any" keeps all URLs, "host" and "domain" those of the site.

    A single dump is read on first use: iterating streams the lines, and needs no extra; tables and measures need the
    extra `analysis`. UsageError at once if there is no such file. Of several files one that cannot be read is a note.
    """
    is_one = isinstance(path, str | bytes | os.PathLike) or hasattr(path, _STREAM) or not hasattr(path, "__iter__")
    given: Any = path if is_one else [*path]  # type: ignore[misc] # an iterable
    if (rows := _rows(given)) is not None:
        if at == BY_NAME or scope is not None:
            raise UsageError.of(
                "{keyword} is for files, and not for a table or URLs", keyword="scope" if scope else "at"
            )
        name, part = rows
        return combine([part.move(0, {} if at is None else _time(at))], name=name, site=site)
    found = [find_sources(name, at) for name in _names(given, what="path")]
    site_options = {} if scope is None else {"scope": scope}
    crawl = partial(read_sites, on_progress=None, show_progress=True, options=site_options)
    return _read(found, FileOptions(scope, site), crawl, by_time=at == BY_NAME)


_STREAM = "__arrow_c_stream__"


def _rows(given: Any) -> tuple[str, Part] | None:
    """The name and Part of a table, or of a list of UrlRecords or URLs; None for names of files."""
    is_list = isinstance(given, list) and bool(given)
    name = count_of(len(given), "URL") if is_list else type(given).__name__
    if is_list and all(isinstance(each, UrlRecord) for each in given):
        builder = TableBuilder()
        for items in in_batches(given):
            for item in items:
                builder.add_urls(item)  # type: ignore[arg-type] # of UrlRecords there are only batches
        return name, Part(builder.tables(), SnapshotMetadata())
    if hasattr(given, _STREAM) or (is_list and all(isinstance(each, str) and SCHEME.match(each) for each in given)):
        require_pyarrow("a Snapshot needs", "analysis")
        import pyarrow as pa

        from .url_frames import frame_tables

        tables, notes = frame_tables(pa.table({"loc": given}) if is_list else given)
        return name, Part(tables, SnapshotMetadata(notes=tuple(notes)))
    return None


# Argument -> what it is, and what to give where it is empty.
_ARGUMENTS = {
    "target": ("a host, a URL, a file or a folder", "name a site, such as example.com"),
    "path": ("a file, a folder or a pattern", f"give {ACCEPTED}"),
}


def _names(given: Any, what: str = "target") -> list[str | Path]:
    reject_document(given)
    if hasattr(given, _STREAM):
        raise UsageError(f"a {type(given).__name__} is no {what}: sr.load() takes tables")
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


def _read(
    found: Sequence[Found], options: FileOptions, crawl: Callable[[Sequence[Target]], CrawledSites], *, by_time: bool
) -> Snapshot:
    """The Snapshot of all sources; what cannot be read is a note, if anything can. All sites are read at once."""
    groups = [(each.name, group) for each in found for group in each.groups]
    sources = [source for _, group in groups for source in group]
    are_sites = not by_time and options.site is None
    _check_scope(sources, options.scope)
    if len(sources) == len(found) == 1 and sources[0].kind.is_lazy:
        path = sources[0].path
        metadata = SnapshotMetadata() if path.is_fifo() else read_metadata(path)  # to open a pipe would end its writer
        metadata = attrs.evolve(metadata, **sources[0].time)
        file = None if path.is_dir() else DumpFile(path)
        return Snapshot(str(path), partial(read_tables, path), metadata, file=file, site=options.site)
    require_pyarrow("a Snapshot needs", "analysis")
    parts: list[Part] = []
    failures: list[SitemapReaderError] = []
    host_notes: list[str] = []
    sites: list[tuple[int, Source]] = []
    for number, (name, group) in enumerate(groups):
        file_options = attrs.evolve(options, with_children=os.path.isfile(name))
        of_group: list[Part] = []
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
                of_group.append(part.move(number, source.time))
        if are_sites:
            of_group, notes = name_domains(of_group, name)
            host_notes += notes
        parts += of_group
    crawled = crawl([find_target(source.path) for _, source in sites])
    for part in crawled.parts:
        number, source = sites[part.group]
        parts.append(part.move(number, source.time))
    notes = [*crawled.notes, *map(str, failures), *host_notes, *(note for each in found for note in each.notes)]
    failures += crawled.failures
    if failures and not crawled.is_stopped and not any(len(part.tables.urls) for part in parts):
        raise failures[0]
    names = dict.fromkeys([*(each.name for each in found if each.has_files), *crawled.names])
    name = name_first([*names], ", ")
    is_partial = crawled.is_stopped or (bool(failures) and not by_time)  # a state that cannot be read is left out
    return combine(parts, name=name, site=options.site, by_time=by_time, is_partial=is_partial, notes=notes)


def _batches(group: Iterable[Source]) -> Iterable[list[Source]]:
    """What is read in one call: the sitemaps of one time, and each other source alone."""
    batches: dict[object, list[Source]] = {}
    for number, source in enumerate(group):
        batches.setdefault((*source.time.values(),) if source.kind.is_sitemap else number, []).append(source)
    return batches.values()


def _check_scope(sources: Iterable[Source], scope: ScopeMode | None) -> None:
    for source in sources if scope not in (None, "any") else ():
        if source.kind.read and not source.kind.is_sitemap:
            what = "{scope=} is for sitemaps, and {path} holds URLs that are read already: leave it out"
            raise UsageError.of(what, path=source.path)
        if source.kind.is_sitemap and scope == "protocol":
            raise UsageError.of(
                '{scope="protocol"} compares each URL with that of its sitemap, and a file has none: {scope="host"} '
                'and {scope="domain"} keep the URLs of the site'
            )


@attrs.frozen
class Kind:
    """A kind of folder or file. `recognises` gets the path, and of a file its first bytes, decompressed.

    `read` gets one path, of sitemaps all paths of one state of a site; None: it is read as a site is, by its fetcher.
    `is_lazy`: a single one is read when its tables are needed, or line by line. `stored_time`: the time of reading that
    is stored in it, or True if there always is one.
    """

    name: str
    recognises: Callable[[Path, bytes], bool]
    read: Reader | None
    is_sitemap: bool = False
    is_lazy: bool = False
    stored_time: Callable[[Path], object] = lambda _: None


@attrs.define
class Source:
    """A file or folder to read; of the kind SITE, `path` is a Target.

    `dated`: paths as names from outside, of which the first with a date states the time for at="name". `time`: fields
    of SnapshotMetadata that `at` states; none where the time counts that is stored in the source.
    """

    path: Any
    kind: Kind
    dated: tuple[Names, ...] = ()
    time: dict[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class Found:
    """The sources that one argument names, in groups of one site each.

    `left_out`: files of no kind, and folders of which only folders have files.
    """

    name: str
    groups: Sequence[Sequence[Source]]
    left_out: Sequence[Path] = ()

    @property
    def has_files(self) -> bool:
        return any(source.kind.read for group in self.groups for source in group)

    @property
    def notes(self) -> list[str]:
        files = [path.name for path in self.left_out if not path.is_dir()]
        folders = [repr(str(path / "**")) for path in self.left_out if path.is_dir()]
        of_files = f"{count_of(len(files), 'file')} left out, neither sitemap nor dump: {name_first(files, ', ')}"
        of_folders = f"{count_of(len(folders), 'folder')} left out, as the files lie deeper: load "
        return [of_files] * bool(files) + [of_folders + name_first(folders, ", ")] * bool(folders)


# --- the kinds -------------------------------------------------------------------------------------------------------


def _alone(read: Callable[[Path], Part]) -> Reader:
    return lambda paths, _: read(*paths)


def _read_stored(path: Path) -> Part:
    return Part(read_tables(path), read_metadata(path))


def _is_csv(path: Path, head: bytes) -> bool:
    if _URL_FIRST.match(head):  # a list of URLs, or rows without a header, which is reported
        return path.name.lower().endswith(_TABLE_SUFFIXES) and bool(_CELLS.match(head))
    return table_header(head) is not None


def _read_csv(path: Path) -> Part:
    from .url_frames import csv_tables

    tables, notes = csv_tables(path, _head(path))
    return Part(tables, SnapshotMetadata(notes=tuple(notes)))


def _holds(name: str) -> Callable[[Path, bytes], bool]:
    return lambda folder, _: (folder / name).is_file()


def _is_sitemap(path: Path, head: bytes) -> bool:
    parser = SitemapParser(name=str(path))
    parser.feed(head)
    parser.close(cut=True)
    if parser.format == Format.TEXT and not _URL_FIRST.match(head):
        return path.name.lower().endswith(_TEXT_SUFFIXES)  # other texts have URLs, too
    return parser.format in SITEMAP_FORMATS or path.name.lower().endswith(_SITEMAP_SUFFIXES)


def _recorded(path: Path) -> object:
    return find_target(path).recorded


def _stored(path: Path) -> object:
    return read_metadata(path).at


FOLDERS = (
    Kind("recording", _holds(SEEDS_FILE), None, stored_time=_recorded),
    Kind("Snapshot", _holds(f"urls{PARQUET}"), _alone(_read_stored), is_lazy=True, stored_time=_stored),
    Kind("harvest", _holds("harvest.json"), _alone(read_harvest), stored_time=lambda _: True),
)
FILES = (
    Kind("WARC", lambda path, _: is_warc_name(path.name), None, stored_time=_recorded),
    Kind(
        "Parquet",
        lambda path, head: head.startswith(b"PAR1") or path.suffix.lower() == PARQUET,
        _alone(_read_stored),
        is_lazy=True,
        stored_time=_stored,
    ),
    Kind("State", lambda _, head: head.startswith(SQLITE), _alone(read_state), stored_time=lambda _: True),
    DUMP := Kind("dump", lambda _, head: bool(_LINE_KEY.match(head)), _alone(_read_stored), is_lazy=True),
    CSV := Kind("CSV", _is_csv, _alone(_read_csv)),
    Kind("sitemap", _is_sitemap, read_sitemaps, is_sitemap=True),
)
# What snapshot() reads by the network; and files that are left out.
SITE, OTHER = (Kind(name, lambda *_: False, None) for name in ("site", "other"))


def kind_of(path: Path) -> Kind:
    """The kind of an existing file or folder; OTHER if it is of none."""
    kinds, head = (FOLDERS, b"") if path.is_dir() else (FILES, _head(path))
    return next((kind for kind in kinds if kind.recognises(path, head)), OTHER)


def _head(path: Path) -> bytes:
    """Decompressed where that is possible; empty if it cannot be read."""
    if is_open_database(path):
        return SQLITE
    with suppress(OSError), path.open("rb") as file:
        raw = file.read(_HEAD_BYTES)
        file.seek(0)
        if compression := compression_of(raw):
            with suppress(UsageError, *damage()):
                return bytes(decompressed(file, compression, str(path)).read1(_HEAD_BYTES))
        return raw
    return b""


# --- paths, folders, patterns ----------------------------------------------------------------------------------------


def find_sources(name: str | os.PathLike[str], at: Moment | None = None) -> Found:
    """UsageError, with what is accepted, where there is none.

    The files that a pattern matches are of one site; each folder that it matches is a site of its own, or, if their
    names state the time, a state of the same one.
    """
    groups, nothing = _groups(os.fspath(name))
    if at == BY_NAME:
        groups = [[source for group in groups for source in group]]
    known = [[source for source in group if source.kind is not OTHER] for group in groups]
    if not any(known):
        raise UsageError(f"{nothing}", remedy=f"give {ACCEPTED}")
    time = {} if at is None or at == BY_NAME else _time(at)
    for source in [source for group in known for source in group]:
        source.time = _time_in_name(source) if at == BY_NAME else time
    left_out = [source.path for group in groups for source in group if source.kind is OTHER]
    return Found(os.fspath(name), [group for group in known if group], left_out)


def _groups(name: str) -> tuple[list[list[Source]], str]:
    """Also what is of no kind; and what to say if nothing else is there."""
    path = Path(name)
    if SCHEME.match(name):
        raise UsageError(f"{name} is a URL, and load() reads files: sr.snapshot({name!r}) reads a site")
    if os.path.isdir(path):
        has_folders = any(each.is_dir() for each in path.iterdir())
        hint = f"; {str(path / '**')!r} also takes its folders" if has_folders else ""
        nothing = f"there is neither a sitemap nor a dump in {path}{hint}"
        return [_sources_in(path, (path.absolute().name,))], nothing
    if os.path.exists(path):
        return [[_single(path)]], f"{path} is neither a sitemap nor a dump"
    if glob.has_magic(name):
        return _matching(name), f"of what {name} matches, nothing is a sitemap or a dump"
    raise UsageError(f"there is no file or folder {path}", remedy=f"give {ACCEPTED}")


def _single(path: Path) -> Source:
    kind = DUMP
    if not path.is_fifo():  # which cannot be read twice
        if not is_open_database(path):
            open_file(path).close()  # UsageError if it cannot be read
        kind = kind_of(path)
    if kind is OTHER and path.name.lower().endswith(DUMP_SUFFIXES):
        kind = DUMP  # it is reported as one, with the line that is wrong
    if kind is OTHER and path.name.lower().endswith(_TABLE_SUFFIXES):
        kind = CSV
    return Source(path, kind, ((path.name,), (path.absolute().parent.name,)))


def _sources_in(folder: Path, names: Names) -> list[Source]:
    kind = kind_of(folder)
    if kind is not OTHER:
        return [Source(folder, kind, (names,))]
    inside = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    sources = [Source(path, kind_of(path), ((*names, path.name),)) for path in inside if path.is_file()]
    is_deeper = all(source.kind is OTHER for source in sources) and any(map(Path.is_dir, inside))
    return sources + [Source(folder, OTHER)] * is_deeper


def _matching(pattern: str) -> list[list[Source]]:
    """What a pattern matches: a group of its files, then each folder of which no file is matched itself."""
    matches = [Path(match) for match in sorted(glob.glob(pattern, recursive=True))]
    if not matches:
        raise UsageError(f"no file matches {pattern}", remedy=f"give {ACCEPTED}")
    parts = Path(pattern).parts
    fixed = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    special = {path for path in matches if path.is_dir() and kind_of(path) is not OTHER}
    outside = [path for path in matches if special.isdisjoint(path.parents)]
    parents = {parent for path in outside for parent in path.parents}
    files = [path for path in outside if path.is_file()]
    folders = [path for path in outside if path.is_dir() and (path in special or path not in parents)]
    in_pattern = [Source(path, kind_of(path), (path.parts[fixed:], parts[fixed - 1 : fixed])) for path in files]
    return [in_pattern, *(_sources_in(folder, folder.parts[fixed:]) for folder in folders)]


# --- the time of reading ---------------------------------------------------------------------------------------------


def _time(at: Moment) -> dict[str, Any]:
    """The fields of SnapshotMetadata; of a day, or a longer period, the time is the end."""
    moment = make_moment("at", at, datetime.now(UTC)).astimezone(UTC)
    is_day = not isinstance(at, datetime | timedelta) and bool(_DAY.fullmatch(str(at)))
    return {"at": moment, "until": moment, "is_day": is_day}


def _time_in_name(source: Source) -> dict[str, Any]:
    date = next(filter(None, map(date_in_path, source.dated)), None)
    if date is None and not source.kind.stored_time(source.path):
        raise UsageError.of(
            "{path} has no date in its name, as {by_name} needs: a date is written {form}; or give {at=} the time "
            "itself",
            path=source.path,
            by_name=Keyword("at", f'"{BY_NAME}"'),
            form=_ACCEPTED_DATES,
        )
    return {} if date is None else _time(date)


# --- dates in names --------------------------------------------------------------------------------------------------


# What at="name" accepts, for messages and docs: the parts of a date may be joined by -, _ or ., or by nothing.
_ACCEPTED_DATES = "2026-01-15T10:43:46Z, 2026-01-15T104346, 20260115104346, 2026-01-15, 20260115 or 2026-01"

_DATE = re.compile(
    r"""
    (?<!\d)
    (?P<year>(?:19|20)\d\d)
    (?P<joint>[-_.]?)
    (?P<month>0[1-9]|1[0-2])
    (?:
        (?P=joint)(?P<day>0[1-9]|[12]\d|3[01])
        (?:
            (?:[T _-]|(?<=\d{8}))                   # nothing, in 20260115104346
            (?P<hour>[01]\d|2[0-3])
            [:._-]?(?P<minute>[0-5]\d)
            (?:[:._-]?(?P<second>[0-5]\d)(?:[.,]\d{1,6})?)?
            (?P<zone>Z|[+-](?:0\d|1[0-4]):?[0-5]\d)?    # without one: UTC
        )?
        | (?<=[-_.]\d\d)                            # a month alone: 2026-01, as 202601 may be any number
    )
    (?!\d)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_DAY_PARTS, _TIME_PARTS = ("year", "month", "day"), ("hour", "minute", "second")


def date_in_name(name: str) -> str | None:
    """The most precise date of a name, of several the first; None without one.

    >>> date_in_name("shop-2026-01-15T104346.xml.gz"), date_in_name("20260115"), date_in_name("shop_2026_01")
    ('2026-01-15T10:43:46Z', '2026-01-15', '2026-01')
    >>> date_in_name("sitemap-2.xml"), date_in_name("2026.xml"), date_in_name("2026-02-31.xml")
    (None, None, None)
    """
    found = [text for match in _DATE.finditer(name) if (text := _text(match)) and parse_date(text) is not None]
    return max(found, key=len, default=None)


def _text(match: re.Match[str]) -> str:
    day = "-".join(filter(None, match.group(*_DAY_PARTS)))
    time = ":".join(filter(None, match.group(*_TIME_PARTS)))
    zone = match["zone"] or "Z"
    zone = zone if ":" in zone or len(zone) == 1 else f"{zone[:3]}:{zone[3:]}"
    return f"{day}T{time}{zone.upper()}" if time else day


def date_in_path(names: Iterable[str]) -> str | None:
    """The date of a path, whose names go from the outermost folder to the file; None without one.

    A date of a folder is that of all files in it; one further in counts only where it lies within the folder's, as a
    day does within its month. So the sitemap of posts of a month does not change the date of a dated folder.

    >>> date_in_path(["2026-01", "2026-01-15.xml"]), date_in_path(["2026-01-15", "posts-2019-03.xml"])
    ('2026-01-15', '2026-01-15')
    """
    stated: str | None = None
    start, end = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    for text in filter(None, map(date_in_name, names)):
        parsed = parse_date(text)
        if parsed is None:
            continue
        first, last = parsed.moment, period_end(parsed.moment, parsed.precision)
        if start <= first and last <= end:
            stated, start, end = text, first, last
    return stated
