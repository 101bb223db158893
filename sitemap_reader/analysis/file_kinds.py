"""What a path is: paths, folders and patterns in; the sources that load() reads out, each with its kind and reader.

Files are recognised by their content, so that a name says nothing but its date. KINDS is the table of all kinds: a new
one is a row there.
"""

from __future__ import annotations

import glob
import os
import re
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from ..client.summary import count_of
from ..client.targets import find_target
from ..fetch.replay import is_recording
from ..model.errors import UsageError
from ..parser.content.sniff import SITEMAP_FORMATS, Format
from ..parser.parser import SitemapParser
from ..serialize.byte_streams import MAGIC, damage, decompressed
from ..serialize.dumps import DUMP_SUFFIXES, SQLITE, is_warc_name, open_file
from .export import PARQUET, read, read_metadata, read_table
from .notes import MAX_NAMED
from .sitemap_files import read_sitemaps
from .state_tables import read_state
from .states import Part, join_parts
from .tables import SnapshotMetadata, Tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..scale.folder import HarvestFolder
    from .sitemap_files import FileOptions

# What load() takes, for messages.
ACCEPTED = (
    "sitemaps (XML, text, RSS, Atom; also .gz), dumps (.jsonl, .jsonl.gz, .parquet), folders and patterns of these, "
    "states of sync, folders of to_parquet(), of a harvest, or of a recorded site"
)

_HEAD_BYTES = 16 * 1024
_SITEMAP_SUFFIXES, _TEXT_SUFFIXES = (".xml", ".xml.gz"), (".txt", ".txt.gz")
_URL_FIRST = re.compile(rb"\s*https?://", re.IGNORECASE)
_LINE_KEY = re.compile(rb'\s*\{[^\n]*?"(?:loc|type)"\s*:')
_BOM = b"\xef\xbb\xbf"


@attrs.frozen
class Kind:
    """A kind of file, or of folder. `recognises` gets the path, and of a file its first bytes, decompressed.

    `read` gets the paths of the kind in one state of one site; None: it is read as a site is, by its fetcher.
    `is_tolerant`: it gets all of them at once, and makes a note of each that cannot be read; otherwise it raises, and
    gets one at a time. `is_lazy`: a single one is read when its tables are needed, or line by line. `states_time`:
    whether the time of reading is stored in it.
    """

    name: str
    is_folder: bool
    recognises: Callable[[Path, bytes], bool]
    read: Callable[[Sequence[Path], FileOptions], Part] | None
    is_tolerant: bool = False
    is_lazy: bool = False
    states_time: Callable[[Path], bool] = lambda _: False


@attrs.frozen
class Source:
    """A file or folder to read. `dated`: paths as names from outside; the first with a date states the time."""

    path: Path
    kind: Kind
    dated: tuple[tuple[str, ...], ...]


@attrs.frozen
class Found:
    """The sources that one argument names, in groups of one site each, and files left out as they are of no kind.

    `is_file`: the argument is one file, so that the children of an index are looked for beside it.
    """

    groups: tuple[tuple[Source, ...], ...]
    left_out: tuple[Path, ...] = ()
    is_file: bool = False

    @property
    def notes(self) -> list[str]:
        """A sentence on what was left out."""
        names = [path.name for path in self.left_out[:MAX_NAMED]]
        more = [f"and {len(self.left_out) - MAX_NAMED:,} more"] if len(self.left_out) > MAX_NAMED else []
        count = count_of(len(self.left_out), "file")
        return [f"{count} left out, neither sitemap nor dump: {', '.join([*names, *more])}"] if names else []


# --- the kinds -------------------------------------------------------------------------------------------------------


def _read_tables(paths: Sequence[Path], options: FileOptions) -> Part:
    """Dumps, and what to_parquet() wrote."""
    return join_parts([Part(read(path), read_metadata(path)) for path in paths])


def _is_harvest(folder: Path, _: bytes) -> bool:
    return (folder / "harvest.json").is_file()


def _read_harvests(paths: Sequence[Path], options: FileOptions) -> Part:
    """The tables of all shards, at the time when the harvest began; its missing shards are a note."""
    return join_parts([_read_harvest(path, options) for path in paths])


def _read_harvest(path: Path, options: FileOptions) -> Part:
    from ..scale.folder import HarvestFolder  # here: few folders are one

    folder = HarvestFolder(path)
    plan = folder.plan()
    if plan is None:  # it was removed meanwhile
        raise UsageError(f"there is no harvest in {path}")
    pending = folder.pending_shards(plan.shards)
    shards = [shard for shard in range(plan.shards) if shard not in {*pending}]
    started = datetime.fromisoformat(plan.started)
    notes = (
        [f"{count_of(len(pending), 'shard')} of {plan.shards:,} not done: harvest(…, resume=True) reads them"]
        if pending
        else []
    )
    if plan.has_state:
        part = _read_states([folder.state(shard) for shard in shards], options)
    else:
        part = join_parts([_shard(folder, shard) for shard in shards])
    complete = False if pending else None
    return attrs.evolve(part, metadata=SnapshotMetadata(started, started, complete=complete, notes=tuple(notes)))


def _shard(folder: HarvestFolder, shard: int) -> Part:
    tables = {name: read_table(folder.table(name, shard), name) for name in attrs.fields_dict(Tables)}
    return Part(Tables(**tables), SnapshotMetadata())


def _read_states(paths: Sequence[Path], options: FileOptions) -> Part:
    """States of sync, and those of a harvest, whose tables are changes."""
    return join_parts([Part(*read_state(path)) for path in paths])


def _is_snapshot(folder: Path, _: bytes) -> bool:
    return (folder / f"urls{PARQUET}").is_file()


def _is_stored_with_time(path: Path) -> bool:
    return read_metadata(path).at is not None


def _is_recorded_with_time(path: Path) -> bool:
    return find_target(path).recorded is not None


def _is_parquet(path: Path, head: bytes) -> bool:
    return head.startswith(b"PAR1") or path.suffix.lower() == PARQUET


def _is_dump(path: Path, head: bytes) -> bool:
    return bool(_LINE_KEY.match(head.removeprefix(_BOM)))


def _is_sitemap(path: Path, head: bytes) -> bool:
    parser = SitemapParser(name=str(path))
    parser.feed(head)
    parser.close(cut=True)
    if parser.format == Format.TEXT and not _URL_FIRST.match(head.removeprefix(_BOM)):
        return path.name.lower().endswith(_TEXT_SUFFIXES)  # other texts have URLs, too
    return parser.format in SITEMAP_FORMATS or path.name.lower().endswith(_SITEMAP_SUFFIXES)


KINDS = (
    Kind("recording", True, lambda path, _: is_recording(path), None, states_time=_is_recorded_with_time),
    Kind("Snapshot", True, _is_snapshot, _read_tables, is_lazy=True, states_time=_is_stored_with_time),
    Kind("harvest", True, _is_harvest, _read_harvests, states_time=lambda _: True),
    Kind("WARC", False, lambda path, _: is_warc_name(path.name), None, states_time=_is_recorded_with_time),
    Kind("Parquet", False, _is_parquet, _read_tables, is_lazy=True, states_time=_is_stored_with_time),
    Kind("State", False, lambda _, head: head.startswith(SQLITE), _read_states, states_time=lambda _: True),
    Kind("dump", False, _is_dump, _read_tables, is_lazy=True),
    Kind("sitemap", False, _is_sitemap, read_sitemaps, is_tolerant=True),
)


def kind_of(path: Path) -> Kind | None:
    """The kind of an existing file or folder; None if it is of none."""
    is_folder = path.is_dir()
    head = b"" if is_folder else _head(path)
    return next((kind for kind in KINDS if kind.is_folder == is_folder and kind.recognises(path, head)), None)


def _head(path: Path) -> bytes:
    """The first bytes of a file, decompressed where that is possible; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            raw = file.read(_HEAD_BYTES)
            compression = next((name for name, magic in MAGIC.items() if raw.startswith(magic)), None)
            if compression is None:
                return raw
            file.seek(0)
            with suppress(UsageError, *damage()):
                return bytes(decompressed(file, compression, str(path)).read1(_HEAD_BYTES))
            return raw
    except OSError:
        return b""


# --- paths, folders, patterns ----------------------------------------------------------------------------------------


def find_sources(name: str | os.PathLike[str], *, as_states: bool = False) -> Found:
    """The sources that a path or pattern names. UsageError, with what is accepted, where there is none.

    The files that a pattern matches are of one site; each folder that it matches is a site of its own, or with
    `as_states` a state of the same one.
    """
    path = Path(name)
    try:
        exists = path.exists()
    except (OSError, ValueError):  # too long, or with a NUL
        exists = False
    if exists and path.is_dir():
        return _in_folder(path)
    if exists:
        return _single(path)
    if glob.has_magic(os.fspath(name)):
        return _matching(os.fspath(name), as_states=as_states)
    raise UsageError(f"there is no file or folder {path}; load() takes {ACCEPTED}")


def _single(path: Path) -> Found:
    # A pipe cannot be read twice. A file that is named as a dump is reported as one, with the line that is wrong.
    kind = None if path.is_fifo() else kind_of(path)
    if path.is_fifo() or (kind is None and path.name.lower().endswith(DUMP_SUFFIXES)):
        kind = next(kind for kind in KINDS if kind.name == "dump")
    if not path.is_fifo():
        open_file(path).close()  # UsageError if it cannot be read
    if kind is None:
        raise UsageError(f"{path} is neither a sitemap nor a dump; load() takes {ACCEPTED}")
    return Found(((Source(path, kind, ((path.name,), (path.absolute().parent.name,))),),), is_file=True)


def _in_folder(folder: Path) -> Found:
    sources, left_out = _sources_in(folder, (folder.absolute().name,))
    if sources:
        return Found((tuple(sources),), tuple(left_out))
    hint = ""
    if any(path.is_dir() for path in folder.iterdir()):
        hint = f"; {os.path.join(folder, '**')!r} also takes its folders"
    raise UsageError(f"there is neither a sitemap nor a dump in {folder}{hint}; load() takes {ACCEPTED}")


def _sources_in(folder: Path, names: tuple[str, ...]) -> tuple[list[Source], list[Path]]:
    """The folder, if it is of a kind, or else its files; and the files that are of none."""
    kind = kind_of(folder)
    if kind is not None:
        return [Source(folder, kind, (names,))], []
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and not path.name.startswith(".")]
    return _of_a_kind((path, ((*names, path.name),)) for path in files)


def _of_a_kind(files: Iterable[tuple[Path, tuple[tuple[str, ...], ...]]]) -> tuple[list[Source], list[Path]]:
    sources, left_out = [], []
    for path, dated in files:
        if kind := kind_of(path):
            sources.append(Source(path, kind, dated))
        else:
            left_out.append(path)
    return sources, left_out


def _matching(pattern: str, *, as_states: bool) -> Found:
    """What a pattern matches: files, and folders of which no file is matched itself."""
    matches = [Path(match) for match in sorted(glob.glob(pattern, recursive=True))]
    if not matches:
        raise UsageError(f"no file matches {pattern}; load() takes {ACCEPTED}")
    parts = Path(pattern).parts
    fixed = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    special = {path for path in matches if path.is_dir() and kind_of(path)}
    outside = [path for path in matches if special.isdisjoint(path.parents)]
    parents = {parent for path in outside for parent in path.parents}
    files = [path for path in outside if path.is_file()]
    found, left_out = _of_a_kind((path, (path.parts[fixed:], parts[fixed - 1 : fixed])) for path in files)
    groups = [found]
    for folder in [path for path in outside if path.is_dir() and (path in special or path not in parents)]:
        sources, others = _sources_in(folder, folder.parts[fixed:])
        groups.append(sources)
        left_out += others
    if as_states:
        groups = [[source for group in groups for source in group]]
    if not any(groups):
        raise UsageError(f"of what {pattern} matches, nothing is a sitemap or a dump; load() takes {ACCEPTED}")
    return Found(tuple(map(tuple, filter(None, groups))), tuple(left_out))
