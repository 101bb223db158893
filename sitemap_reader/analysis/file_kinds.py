"""What a path is: paths, folders and patterns in; the sources that load() reads out, each with its kind and reader.

Files are recognised by their content, so that a name says nothing but its date. FOLDERS and FILES are the tables of all
kinds: a new one is a row there.
"""

from __future__ import annotations

import glob
import os
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from ..client.summary import count_of
from ..client.targets import find_target
from ..fetch.replay import SEEDS_FILE
from ..frontier.filters import make_moment
from ..frontier.seeds import SCHEME
from ..model.errors import UsageError
from ..model.messages import Keyword
from ..parser.content.sniff import SITEMAP_FORMATS, Format
from ..parser.parser import SitemapParser
from ..serialize.byte_streams import MAGIC, damage, decompressed
from ..serialize.dumps import DUMP_SUFFIXES, SQLITE, is_warc_name, open_file
from .export import PARQUET, read, read_metadata
from .harvest_tables import read_harvest
from .notes import named
from .path_dates import ACCEPTED as ACCEPTED_DATES
from .path_dates import date_in_path
from .sitemap_files import read_sitemaps
from .state_tables import read_state
from .states import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..frontier.filters import Moment
    from .sitemap_files import FileOptions
    from .tables import SnapshotMetadata, Tables

    Reader = Callable[[Sequence[Path], FileOptions], Part]
    Names = tuple[str, ...]

# What can be loaded, for messages.
ACCEPTED = (
    "sitemaps (XML, text, RSS, Atom; also .gz), dumps (.jsonl, .jsonl.gz, .parquet), folders and patterns of these, "
    "states of sync, or the folder of a saved Snapshot, a harvest or a recorded site"
)

# The value of `at` with which each name states its time.
BY_NAME = "name"
_DAY = re.compile(r"[0-9]{4}(-[0-9]{1,2}){0,2}")

_HEAD_BYTES = 16 * 1024
_SITEMAP_SUFFIXES, _TEXT_SUFFIXES = (".xml", ".xml.gz"), (".txt", ".txt.gz")
_URL_FIRST = re.compile(rb"\s*https?://", re.IGNORECASE)
_LINE_KEY = re.compile(rb'\s*\{[^\n]*?"(?:loc|type)"\s*:')
_BOM = b"\xef\xbb\xbf"


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
    """The sources that one argument names, in groups of one site each, and files left out as they are of no kind."""

    name: str
    groups: Sequence[Sequence[Source]]
    left_out: Sequence[Path] = ()

    @property
    def has_files(self) -> bool:
        """Whether some of it is not read as a site is."""
        return any(source.kind.read for group in self.groups for source in group)

    @property
    def notes(self) -> list[str]:
        """A sentence on what was left out."""
        if not self.left_out:
            return []
        names = named([path.name for path in self.left_out], ", ")
        return [f"{count_of(len(self.left_out), 'file')} left out, neither sitemap nor dump: {names}"]


# --- the kinds -------------------------------------------------------------------------------------------------------


def _alone(read: Callable[[Path], tuple[Tables, SnapshotMetadata]]) -> Reader:
    """The reader of a kind that gets one path."""
    return lambda paths, _: Part(*read(*paths))


def _read_tables(path: Path) -> tuple[Tables, SnapshotMetadata]:
    """A dump, or what to_parquet() wrote."""
    return read(path), read_metadata(path)


def _holds(name: str) -> Callable[[Path, bytes], bool]:
    return lambda folder, _: (folder / name).is_file()


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


def _recorded(path: Path) -> object:
    return find_target(path).recorded


def _stored(path: Path) -> object:
    return read_metadata(path).at


FOLDERS = (
    Kind("recording", _holds(SEEDS_FILE), None, stored_time=_recorded),
    Kind("Snapshot", _holds(f"urls{PARQUET}"), _alone(_read_tables), is_lazy=True, stored_time=_stored),
    Kind("harvest", _holds("harvest.json"), _alone(read_harvest), stored_time=lambda _: True),
)
FILES = (
    Kind("WARC", lambda path, _: is_warc_name(path.name), None, stored_time=_recorded),
    Kind("Parquet", _is_parquet, _alone(_read_tables), is_lazy=True, stored_time=_stored),
    Kind("State", lambda _, head: head.startswith(SQLITE), _alone(read_state), stored_time=lambda _: True),
    DUMP := Kind("dump", _is_dump, _alone(_read_tables), is_lazy=True),
    Kind("sitemap", _is_sitemap, read_sitemaps, is_sitemap=True),
)
# What snapshot() reads by the network; and files that are left out.
SITE, OTHER = (Kind(name, lambda *_: False, None) for name in ("site", "other"))


def kind_of(path: Path) -> Kind:
    """The kind of an existing file or folder; OTHER if it is of none."""
    kinds, head = (FOLDERS, b"") if path.is_dir() else (FILES, _head(path))
    return next((kind for kind in kinds if kind.recognises(path, head)), OTHER)


def _head(path: Path) -> bytes:
    """The first bytes of a file, decompressed where that is possible; empty if it cannot be read."""
    with suppress(OSError), path.open("rb") as file:
        raw = file.read(_HEAD_BYTES)
        file.seek(0)
        for compression in [name for name, magic in MAGIC.items() if raw.startswith(magic)]:
            with suppress(UsageError, *damage()):
                return bytes(decompressed(file, compression, str(path)).read1(_HEAD_BYTES))
        return raw
    return b""


# --- paths, folders, patterns ----------------------------------------------------------------------------------------


def find_sources(name: str | os.PathLike[str], at: Moment | None = None) -> Found:
    """The sources that a path or pattern names. UsageError, with what is accepted, where there is none.

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
    """What a name means, also what is of no kind, and what to say if nothing else is there."""
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
        open_file(path).close()  # UsageError if it cannot be read
        kind = kind_of(path)
    if kind is OTHER and path.name.lower().endswith(DUMP_SUFFIXES):
        kind = DUMP  # it is reported as one, with the line that is wrong
    return Source(path, kind, ((path.name,), (path.absolute().parent.name,)))


def _sources_in(folder: Path, names: Names) -> list[Source]:
    """The folder, if it is of a kind, or else its files."""
    kind = kind_of(folder)
    if kind is not OTHER:
        return [Source(folder, kind, (names,))]
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and not path.name.startswith(".")]
    return [Source(path, kind_of(path), ((*names, path.name),)) for path in files]


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
    """The fields of SnapshotMetadata for a time that is stated; of a day, or a longer period, it is the end."""
    moment = make_moment("at", at, datetime.now(UTC)).astimezone(UTC)
    is_day = not isinstance(at, datetime | timedelta) and bool(_DAY.fullmatch(str(at)))
    return {"at": moment, "until": moment, "is_day": is_day}


def _time_in_name(source: Source) -> dict[str, Any]:
    """The time that the name states, or none where one is stored in the source; UsageError without either."""
    date = next(filter(None, map(date_in_path, source.dated)), None)
    if date is None and not source.kind.stored_time(source.path):
        raise UsageError.of(
            "{path} has no date in its name, as {by_name} needs: a date is written {form}; or give {at=} the time "
            "itself",
            path=source.path,
            by_name=Keyword("at", f'"{BY_NAME}"'),
            form=ACCEPTED_DATES,
        )
    return {} if date is None else _time(date)
