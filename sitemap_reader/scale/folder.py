"""The folder of a harvest: what is planned and what is done, by the files that are there.

A shard is done when its manifest is there: that is written last, and what it names is whole. Everything is made under
`unfinished/`, a folder for each try, and renamed into its place; what a killed try leaves there is swept away. A shard
that is done again is held against the same state as before: a harvest writes none that it reads.

::

    harvest.json              what was asked for, and of how many hosts
    plan/part-00000.txt       the hosts of a shard
    urls/part-00000.parquet   its tables: urls, sitemaps, problems, hosts
    state/part-00000.sqlite   what is remembered of its hosts; part-00000.before.sqlite: what was when this one began
    manifests/part-00000.json
    earlier/2026-11-23T04-05-06Z/   the tables of a harvest before, where there is a state
"""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack, suppress
from datetime import datetime
from io import FileIO
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal

import attrs
import orjson

from ..model.errors import SitemapReaderError, UsageError
from ..model.problems import Problem
from ..model.records import Change, Outcome
from ..serialize.arrow import ParquetSink
from ..serialize.byte_streams import Blocks
from ..serialize.jsonl import json_form
from ..serialize.projection import Column, Fields, all_fields, fields_of
from ..serialize.schema import Scalar
from ..state.state import State

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ..model.records import Item
    from ..serialize.schema import Kind


# ----------------------------------------------------------------------------------------------------
# The tables of a harvest: the columns of each, as they are in every part of it.


# What became of a host. `nothing`: it has no sitemap, or these list nothing; `blocked`: it refused robots.txt or the
# well-known paths, or could not be connected to; `unreadable`: other errors are why there is no URL; `given_up`: its
# time or its URLs were up; `failed`: we failed.
Verdict = Literal["complete", "partial", "nothing", "blocked", "unreadable", "given_up", "failed"]
# Of these something may be missing.
NOT_WHOLE: tuple[Verdict, ...] = ("partial", "blocked", "unreadable", "given_up", "failed")
# These are named one by one.
NAMED: tuple[Verdict, ...] = ("given_up", "failed")

# The tables, each a folder of the harvest; and what of each host is summed up by shard.
TABLES = ("urls", "sitemaps", "problems", "hosts")
SUMS = ("urls", "sitemaps", "problems", "bytes_wire")


@attrs.define
class HostRow:
    """What became of a host: a row of the table of hosts. `seconds` is its time from beginning to end."""

    site: str
    domain: str
    verdict: Verdict
    why: str | None
    urls: int
    sitemaps: int
    problems: int
    bytes_wire: int
    seconds: float


_KINDS: dict[str, Kind] = {"str": "text", "Verdict": "text", "str | None": "text", "int": "integer", "float": "number"}
_HOSTS = Fields(
    tuple(
        Column(field.name, Scalar(_KINDS[str(field.type)]), itemgetter(field.name)) for field in attrs.fields(HostRow)
    )
)


def tables(*, of_changes: bool) -> dict[str, Fields]:
    """Table -> its columns, in order; the URLs are changes where there is a state."""
    urls = fields_of(Change) if of_changes else all_fields()
    return dict(zip(TABLES, (urls, fields_of(Outcome), fields_of(Problem), _HOSTS), strict=True))


# What a new harvest with a state puts aside; the state stays where it is.
_PUT_ASIDE = (*TABLES, "manifests", "plan")
_OURS = {*_PUT_ASIDE, "state", "unfinished", "earlier"}
_OF_A_BEGINNING = {"plan", "unfinished"}
# What every manifest has.
MANIFEST = {"shard", "hosts", "verdicts", *SUMS, "given_up", "rows", "bytes"}
VERSION = 1


class HarvestCancelled(SitemapReaderError):
    """A try at a shard whose folder was taken away: nobody waits for it, or another one has the shard."""


@attrs.frozen
class Plan:
    """What a harvest is to be: `settings` decide what its rows are, and `dates` what an age was when it began.

    `started` is a stamp, in UTC.
    """

    hosts: int
    hosts_sha256: str
    shards: int
    settings: dict[str, Any]
    dates: dict[str, str | None]
    started: str
    version: int = VERSION

    @property
    def has_state(self) -> bool:
        return bool(self.settings["state"])


@attrs.frozen
class Folder:
    """The places in it; a shard is a number from 0. Of several commands that write here each has a `run` of its own."""

    path: Path
    run: str = ""

    def plan_of(self, shard: int) -> Path:
        return self.path / "plan" / f"{part(shard)}.txt"

    def table(self, name: str, shard: int) -> Path:
        return self.path / name / f"{part(shard)}.parquet"

    def state(self, shard: int) -> Path:
        return self.path / "state" / f"{part(shard)}.sqlite"

    def state_before(self, shard: int) -> Path:
        """What was remembered when the harvest began."""
        return self.state(shard).with_suffix(".before.sqlite")

    def manifest_path(self, shard: int) -> Path:
        return self.path / "manifests" / f"{part(shard)}.json"

    @property
    def unfinished(self) -> Path:
        return self.path / "unfinished"

    @property
    def tries(self) -> Path:
        """Those of this run."""
        return self.unfinished / self.run

    # --- the plan ---

    def plan(self) -> Plan | None:
        """That of the harvest which is here; UsageError for a folder that holds something else."""
        path = self.path / "harvest.json"
        try:
            form = orjson.loads(path.read_bytes())
            if form.get("version") != VERSION:
                raise UsageError(f"{path} is of another version of sitemap-reader; name another folder")
            return _plan(form)
        except FileNotFoundError:
            self._check_empty()
            return None
        except NotADirectoryError:
            told = f"{self.path} is a file, or in one"
            raise UsageError(f"{told}; name a folder, which is made if there is none") from None
        except (orjson.JSONDecodeError, AttributeError, TypeError, ValueError) as exc:
            raise UsageError(f"{path} is damaged: {exc}; name another folder") from exc

    def _check_empty(self) -> None:
        """There is no harvest: then there may be nothing else either, but for a beginning of one."""
        for each in self.path.iterdir() if self.path.is_dir() else ():
            is_begun = each.name in _OF_A_BEGINNING or (each.name in _OURS and not any(each.iterdir()))
            if not is_begun:
                told = "something else than a harvest, or one without its harvest.json"
                raise UsageError(f"{self.path} holds {told}; name a folder that is empty, or new")

    def begin(self, plan: Plan, shards: Sequence[Sequence[str]]) -> None:
        """Lays out a new harvest: the hosts of each shard, then the plan."""
        for name in (*TABLES, "manifests", "plan", "state", "unfinished"):
            if name != "state" or plan.has_state:
                (self.path / name).mkdir(parents=True, exist_ok=True)
        for shard, targets in enumerate(shards):
            write_synced(self.plan_of(shard), "".join(f"{target}\n" for target in targets).encode())
        unfinished = self.unfinished / "harvest.json"
        write_synced(unfinished, orjson.dumps(attrs.asdict(plan), option=orjson.OPT_INDENT_2))
        unfinished.replace(self.path / "harvest.json")

    def earlier(self, plan: Plan) -> Path:
        """Where a harvest is put aside; it has begun to be if there is such a folder."""
        return self.path / "earlier" / plan.started.replace(":", "-")

    def put_aside(self, plan: Plan) -> None:
        """Makes room for the next harvest: what is remembered by now is what that one goes by.

        What a kill leaves of it to do is done next time.
        """
        earlier = self.earlier(plan)
        earlier.mkdir(parents=True, exist_ok=True)
        for name in _PUT_ASIDE:
            if (earlier / name).exists():  # and what is here is of a beginning that was killed
                shutil.rmtree(self.path / name, ignore_errors=True)
            elif (self.path / name).exists():
                (self.path / name).rename(earlier / name)
        for shard in range(plan.shards):
            if self.state(shard).exists():
                self.state(shard).replace(self.state_before(shard))
        shutil.copyfile(self.path / "harvest.json", earlier / "harvest.json")

    def targets(self, shard: int) -> list[str]:
        """The hosts of a shard."""
        return self.plan_of(shard).read_text("utf-8").splitlines()

    # --- what is done ---

    def manifest(self, shard: int) -> dict[str, Any] | None:
        """What a shard came to; None where it is not done, or a file that it names is not there."""
        try:
            form = orjson.loads(self.manifest_path(shard).read_bytes())
            if not (isinstance(form, dict) and form.keys() >= MANIFEST):
                return None
            files = {name: self.table(name, shard) for name in TABLES}
            if self.state(shard).parent.exists():  # of a harvest that was put aside it is elsewhere
                files["state"] = self.state(shard)
            sizes = {name: file.stat().st_size for name, file in files.items()}
            return form if sizes == {name: form["bytes"][name] for name in files} else None
        except (FileNotFoundError, orjson.JSONDecodeError, TypeError, KeyError):
            return None

    def undone(self, shards: int) -> list[int]:
        """The shards that are left to do."""
        return [shard for shard in range(shards) if self.manifest(shard) is None]

    def settle(self, shards: int) -> list[int]:
        """Sweeps away what a killed harvest left half done. The shards that are left to do."""
        left = self.undone(shards)
        for shard in left:
            self.take_back(shard)
        shutil.rmtree(self.unfinished, ignore_errors=True)
        self.tries.mkdir(parents=True, exist_ok=True)
        return left

    def take_back(self, shard: int) -> None:
        """Of a shard that is not done nobody is to see a part."""
        self.manifest_path(shard).unlink(missing_ok=True)
        self.state(shard).unlink(missing_ok=True)
        for name in TABLES:
            self.table(name, shard).unlink(missing_ok=True)

    def attempt(self, shard: int) -> Path:
        """A folder to make a shard's files in. Earlier tries lose theirs, and put nothing in its place any more.

        CalledOff where nobody waits for this run.
        """
        for other in self.tries.glob(f"{part(shard)}.*"):
            _take_away(other)
        path = self.tries / f"{part(shard)}.{os.urandom(6).hex()}"
        try:
            path.mkdir()
        except FileNotFoundError:
            raise self.called_off() from None
        return path

    def called_off(self) -> HarvestCancelled:
        """What a try is told whose folder is gone."""
        return HarvestCancelled(f"another harvest has taken {self.path} over")

    def call_off(self) -> None:
        """A worker that still writes a shard of this run no longer finds its folder, and ends."""
        _take_away(self.tries)
        with suppress(OSError):  # another run has tries there
            self.unfinished.rmdir()


def _take_away(folder: Path) -> None:
    """Deletes a folder in which a worker may still write: it is moved first, so that no file is added meanwhile."""
    with suppress(OSError):
        folder = folder.rename(f"{folder}.ended")
    shutil.rmtree(folder, ignore_errors=True)


def part(shard: int) -> str:
    """What the files of a shard are called.

    >>> part(7)
    'part-00007'
    """
    return f"part-{shard:05}"


def write_synced(path: Path, data: bytes) -> None:
    """A file that is whole, also after a loss of power, where it is then renamed to."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _plan(form: dict[str, Any]) -> Plan:
    """ValueError, or TypeError, where it is none."""
    plan = Plan(**form)
    fields = attrs.fields_dict(Plan)
    for name in ("hosts", "shards"):
        if type(form[name]) is not int:
            raise ValueError(f"{name} is no number")
    for name in ("settings", "dates"):
        if type(form[name]) is not dict:
            raise ValueError(f"{name} is no object")
    datetime.fromisoformat(plan.started)  # a folder is named by it
    if "state" not in plan.settings or len(form) != len(fields):
        raise ValueError("a setting is missing")
    return plan


# ----------------------------------------------------------------------------------------------------
# The parts of one shard, while they are made: lines and items of its hosts in, Parquet files and a state out.
#
# Row groups are written as they fill. Nothing is to be seen of it before publish(); what is not published is gone.


class Parts:
    """Those of one try at a shard, up to close(); `state` is a copy of the shard's, shared by so many hosts.

    OSError, or StateError, where the disk takes no more: then the try is over.
    """

    def __init__(self, folder: Folder, shard: int, *, state_shared_by: int | None) -> None:
        self._folder = folder
        self._shard = shard
        self._place = folder.attempt(shard)
        self._misses = 0
        self._closing = ExitStack()
        self._blocks: dict[str, Blocks] = {}
        self.rows = dict.fromkeys(TABLES, 0)
        self.state: State | None = None
        try:
            fields = tables(of_changes=state_shared_by is not None)
            self._files = {name: self._open(f"{name}.parquet") for name in fields}
            self._blocks = {name: Blocks(file, str(folder.table(name, shard))) for name, file in self._files.items()}
            self._sinks = {name: ParquetSink(self._blocks[name], columns) for name, columns in fields.items()}
            if state_shared_by is not None:
                self.state = self._closing.enter_context(self._copied_state(state_shared_by))
        except BaseException:
            self.close()
            raise

    def urls(self, lines: bytes, count: int) -> None:
        """So many JSON lines of URLs, or of changes."""
        self._sinks["urls"].write_lines(lines)
        self.rows["urls"] += count

    def hear(self, item: Item, site: str) -> None:
        """What is said of a host beside its URLs."""
        table = _TABLES.get(type(item))
        if table is not None:
            self._write(table, json_form(item, site=site))

    def host(self, row: HostRow) -> None:
        """What became of a host."""
        self._write("hosts", attrs.asdict(row))

    @property
    def are_gone(self) -> bool:
        """Whether somebody took their folder away."""
        return not self._place.exists()

    def check(self) -> None:
        """CalledOff where somebody else took the shard, or nobody wants it any more; seen twice, as disks may err."""
        self._misses = self._misses + 1 if self.are_gone else 0
        if self._misses > 1:
            raise self._folder.called_off()

    def publish(self, told: dict[str, Any]) -> dict[str, Any]:
        """Puts all files in their places, the manifest last; what it says, with what was `told`.

        Before that all are written: where the disk is full, none is in its place.
        """
        for name, sink in self._sinks.items():
            sink.close()
            os.fsync(self._files[name].fileno())
        if self.state is not None:
            self.state.seal()
        places = {f"{name}.parquet": self._folder.table(name, self._shard) for name in self._sinks}
        if self.state is not None:
            places["state.sqlite"] = self._folder.state(self._shard)
        try:
            sizes = {name.partition(".")[0]: self._place.joinpath(name).stat().st_size for name in places}
            form = {"shard": self._shard, **told, "rows": self.rows, "bytes": sizes}
            write_synced(self._place / "manifest.json", orjson.dumps(form, option=orjson.OPT_INDENT_2))
            places["manifest.json"] = self._folder.manifest_path(self._shard)
            for name, place in places.items():
                self._place.joinpath(name).replace(place)
        except FileNotFoundError:
            raise self._folder.called_off() from None
        return form

    def _write(self, table: str, form: dict[str, Any]) -> None:
        self._sinks[table].write(form)
        self.rows[table] += 1

    def _open(self, name: str) -> FileIO:
        return self._closing.enter_context(FileIO(self._place / name, "wb"))

    def _copied_state(self, shared_by: int) -> State:
        path: Path = self._place / "state.sqlite"
        before = self._folder.state_before(self._shard)
        if before.exists():
            shutil.copyfile(before, path)
        return State(path, create=True, shared_by=shared_by)

    def close(self) -> None:
        """Throws away what was not published."""
        for blocks in self._blocks.values():
            blocks.has_failed = True  # a writer that is let go of writes its end
        self._closing.close()
        shutil.rmtree(self._place, ignore_errors=True)


_TABLES: dict[type, str] = {Outcome: "sitemaps", Problem: "problems"}
