"""The folder of a harvest: the plan, and the files of each shard, written atomically.

A shard is done when its manifest is there: it is written last, and names complete files. Files are written under
`unfinished/`, in a folder for each attempt, and then renamed; what a killed attempt leaves is deleted. A shard that is
read again is compared with the same state as before: a harvest never writes the state that it reads.

::

    harvest.json              the settings, and the number of hosts
    plan/part-00000.txt       the hosts of a shard
    urls/part-00000.parquet   its tables: urls, sitemaps, problems, hosts
    state/part-00000.sqlite   the state of its hosts; part-00000.before.sqlite: that of the harvest before
    manifests/part-00000.json
    summary.html              the result, written at the end
    earlier/2026-11-23T04-05-06Z/   the tables and the summary of a harvest before, where there is a state
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from errno import EEXIST, ENOTEMPTY
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs
import orjson

from ..model.errors import SitemapReaderError, UsageError
from ..model.problems import Problem
from ..model.records import Change, Outcome
from ..model.url_batch import UrlBatch
from ..serialize.arrow import ParquetSink
from ..serialize.byte_streams import Blocks
from ..serialize.jsonl import to_dict
from ..serialize.schema import all_fields, columns_of, fields_of
from ..state.state import State

if TYPE_CHECKING:
    from ..model.records import Item
    from ..serialize.schema import Fields
    from ..state.diff_rules import ChangePiece


# --- the tables, with the same columns in every shard ---

# `nothing`: it has no sitemap, or they list no URL; `blocked`: it refused robots.txt or the well-known paths, or could
# not be connected to; `unreadable`: no URL because of other errors; `given_up`: skipped for its time or number of URLs;
# `failed`: a defect of this package.
HostVerdict = Literal["complete", "partial", "nothing", "blocked", "unreadable", "given_up", "failed"]
# Verdicts on hosts of which something may be missing.
INCOMPLETE: tuple[HostVerdict, ...] = ("partial", "blocked", "unreadable", "given_up", "failed")
# Verdicts on hosts that the manifest names.
NAMED: tuple[HostVerdict, ...] = ("given_up", "failed")

# The tables, each a folder of the harvest; and the counts of hosts that the manifest sums up.
TABLES = ("urls", "sitemaps", "problems", "hosts")
SUMS = ("urls", "sitemaps", "problems", "bytes_wire")


@attrs.define
class HostRow:
    """The result of reading a host, from `read_at` on, which took `seconds`."""

    site: str
    domain: str
    verdict: HostVerdict
    why: str | None
    urls: int
    sitemaps: int
    problems: int
    bytes_wire: int
    read_at: datetime
    seconds: float


def tables(*, of_changes: bool) -> dict[str, Fields]:
    """Table -> its columns, in order; `of_changes`: the rows of urls/ are changes."""
    urls = fields_of(Change) if of_changes else all_fields()
    return dict(zip(TABLES, (urls, fields_of(Outcome), fields_of(Problem), columns_of(HostRow)), strict=True))


# Moved to earlier/ by the next harvest with a state; the state stays.
_ARCHIVED = (*TABLES, "manifests", "plan", "summary.html")
_KNOWN = {*_ARCHIVED, "state", "unfinished", "earlier"}
_CREATED_FIRST = {"plan", "unfinished"}
# The keys of every manifest.
MANIFEST = {"shard", "hosts", "verdicts", *SUMS, "given_up", "rows", "bytes"}
VERSION = 1


class HarvestCancelled(SitemapReaderError):
    """The folder of an attempt at a shard was removed: its run was cancelled, or another attempt has the shard."""


@attrs.frozen
class HarvestPlan:
    """`settings` are those that rows depend on, `dates` the filters resolved when it began, `started` in UTC."""

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
class HarvestFolder:
    """The paths in a harvest's folder; shards count from 0. Each command that writes has a `run` of its own."""

    path: Path
    run: str = ""

    def plan_of(self, shard: int) -> Path:
        return self.path / "plan" / f"{part_name(shard)}.txt"

    def table(self, name: str, shard: int) -> Path:
        return self.path / name / f"{part_name(shard)}.parquet"

    def state(self, shard: int) -> Path:
        return self.path / "state" / f"{part_name(shard)}.sqlite"

    def state_before(self, shard: int) -> Path:
        return self.state(shard).with_suffix(".before.sqlite")

    def manifest_path(self, shard: int) -> Path:
        return self.path / "manifests" / f"{part_name(shard)}.json"

    @property
    def unfinished(self) -> Path:
        return self.path / "unfinished"

    @property
    def attempts(self) -> Path:
        return self.unfinished / self.run

    # --- the plan ---

    def plan(self) -> HarvestPlan | None:
        """The plan of the harvest in the folder, None for an empty one; UsageError where it holds something else."""
        path = self.path / "harvest.json"
        try:
            json_object = orjson.loads(path.read_bytes())
            if json_object.get("version") != VERSION:
                raise UsageError(f"{path} is of another version of sitemap-reader", remedy="name another folder")
            return _plan(json_object)
        except FileNotFoundError:
            self._check_empty()
            return None
        except NotADirectoryError:
            what = f"{self.path} is a file, or in one"
            raise UsageError(f"{what}", remedy="name a folder, which is made if there is none") from None
        except (orjson.JSONDecodeError, AttributeError, TypeError, ValueError) as exc:
            raise UsageError(f"{path} is damaged: {exc}", remedy="name another folder") from exc

    def _check_empty(self) -> None:
        """UsageError where a folder without a plan holds more than the beginning of one."""
        for path in self.path.iterdir() if self.path.is_dir() else ():
            is_begun = path.name in _CREATED_FIRST or (path.name in _KNOWN and not any(path.iterdir()))
            if not is_begun:
                what = "something else than a harvest, or one without its harvest.json"
                raise UsageError(f"{self.path} holds {what}", remedy="name a folder that is empty, or new")

    def begin(self, plan: HarvestPlan, shards: Sequence[Sequence[str]]) -> None:
        for name in (*TABLES, "manifests", "plan", "state", "unfinished"):
            if name != "state" or plan.has_state:
                (self.path / name).mkdir(parents=True, exist_ok=True)
        for shard, targets in enumerate(shards):
            write_synced(self.plan_of(shard), "".join(f"{target}\n" for target in targets).encode())
        unfinished = self.unfinished / "harvest.json"
        write_synced(unfinished, orjson.dumps(attrs.asdict(plan), option=orjson.OPT_INDENT_2))
        unfinished.replace(self.path / "harvest.json")

    def archive_path(self, plan: HarvestPlan) -> Path:
        """The folder to archive a harvest in; archiving has begun if it exists."""
        return self.path / "earlier" / plan.started.replace(":", "-")

    def archive(self, plan: HarvestPlan) -> None:
        """Makes the current state the one that the next harvest reads. Can be repeated after it was killed."""
        archive_path = self.archive_path(plan)
        archive_path.mkdir(parents=True, exist_ok=True)
        for name in _ARCHIVED:
            if (archive_path / name).exists():  # this one is of a next harvest that was killed as it began
                shutil.rmtree(self.path / name, ignore_errors=True)
            elif (self.path / name).exists():
                (self.path / name).rename(archive_path / name)
        for shard in range(plan.shards):
            if self.state(shard).exists():
                self.state(shard).replace(self.state_before(shard))
        shutil.copyfile(self.path / "harvest.json", archive_path / "harvest.json")

    def targets(self, shard: int) -> list[str]:
        return self.plan_of(shard).read_text("utf-8").splitlines()

    # --- what is done ---

    def manifest(self, shard: int) -> dict[str, Any] | None:
        """The manifest of a shard; None where it is not done, or a file is missing or has another size."""
        try:
            json_object = orjson.loads(self.manifest_path(shard).read_bytes())
            if not (isinstance(json_object, dict) and json_object.keys() >= MANIFEST):
                return None
            files = {name: self.table(name, shard) for name in TABLES}
            if self.state(shard).parent.exists():  # an archived harvest has none
                files["state"] = self.state(shard)
            sizes = {name: file.stat().st_size for name, file in files.items()}
            return json_object if sizes == {name: json_object["bytes"][name] for name in files} else None
        except (FileNotFoundError, orjson.JSONDecodeError, TypeError, KeyError):
            return None

    def pending_shards(self, shards: int) -> list[int]:
        return [shard for shard in range(shards) if self.manifest(shard) is None]

    def clean_up(self, shards: int) -> list[int]:
        """Deletes what a killed harvest left unfinished; the shards that are not done."""
        left = self.pending_shards(shards)
        for shard in left:
            for path in (self.manifest_path(shard), self.state(shard), *(self.table(name, shard) for name in TABLES)):
                path.unlink(missing_ok=True)
        shutil.rmtree(self.unfinished, ignore_errors=True)
        self.attempts.mkdir(parents=True, exist_ok=True)
        return left

    def new_attempt(self, shard: int) -> Path:
        """Removes those of earlier attempts, so that they cannot publish; HarvestCancelled where this run was."""
        for other in self.attempts.glob(f"{part_name(shard)}.*"):
            _remove_folder(other)
        path = self.attempts / f"{part_name(shard)}.{os.urandom(6).hex()}"
        try:
            path.mkdir()
        except FileNotFoundError:
            raise self.cancelled() from None
        return path

    def cancelled(self) -> HarvestCancelled:
        return HarvestCancelled(f"another harvest has taken {self.path} over")

    def cancel(self) -> None:
        """Ends workers that still write."""
        _remove_folder(self.attempts)
        with suppress(OSError):  # another run has attempts there
            self.unfinished.rmdir()


def _remove_folder(folder: Path) -> None:
    """Deletes a folder in which a worker may still write; it is renamed first, so that no file is added meanwhile."""
    with suppress(OSError):
        folder = folder.rename(f"{folder}.ended")
    shutil.rmtree(folder, ignore_errors=True)


def part_name(shard: int) -> str:
    return f"part-{shard:05}"


def write_synced(path: Path, data: bytes) -> None:
    """Writes a file to disk, so that it is complete where it is renamed to, also after a power failure."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _plan(json_object: dict[str, Any]) -> HarvestPlan:
    """The plan in a JSON object; ValueError or TypeError."""
    plan = HarvestPlan(**json_object)
    for name, kind in {"hosts": int, "shards": int, "settings": dict, "dates": dict}.items():
        if type(json_object[name]) is not kind:
            raise ValueError(f"{name} is no {kind.__name__}")
    datetime.fromisoformat(plan.started)  # a folder is named by it
    if "state" not in plan.settings or len(json_object) != len(attrs.fields(HarvestPlan)):
        raise ValueError("a setting is missing")
    return plan


class ShardWriter:
    """Writes the Parquet files of one attempt at a shard; nothing is visible before publish().

    `state` is a copy of the shard's, shared by `state_shared_by` hosts; None: without one. OSError or StateError, where
    files cannot be written, end the attempt. close() deletes what was not published.
    """

    def __init__(self, folder: HarvestFolder, shard: int, *, state_shared_by: int | None) -> None:
        self._folder = folder
        self._shard = shard
        self._path = folder.new_attempt(shard)
        self._misses = 0
        self._exit_stack = ExitStack()
        enter = self._exit_stack.enter_context
        self._blocks: dict[str, Blocks] = {}
        self.rows = dict.fromkeys(TABLES, 0)
        self.state: State | None = None
        try:
            fields = tables(of_changes=state_shared_by is not None)
            self._files = {name: enter(FileIO(self._path / f"{name}.parquet", "wb")) for name in fields}
            self._blocks = {name: Blocks(file, str(folder.table(name, shard))) for name, file in self._files.items()}
            self._sinks = {name: ParquetSink(self._blocks[name], columns) for name, columns in fields.items()}
            if state_shared_by is not None:
                if folder.state_before(shard).exists():
                    shutil.copyfile(folder.state_before(shard), self._path / "state.sqlite")
                self.state = enter(State(self._path / "state.sqlite", create=True, shared_by=state_shared_by))
        except BaseException:
            self.close()
            raise

    def add_urls(self, piece: ChangePiece, site: str) -> None:
        """With a state the URLs of a batch are new."""
        urls = self._sinks["urls"]
        if self.state is None and isinstance(piece, UrlBatch):
            urls.write_urls(piece, site=site)
        else:
            urls.write_changes(piece, site=site)
        self.rows["urls"] += len(piece)

    def add_item(self, item: Item, site: str) -> None:
        table = {Outcome: "sitemaps", Problem: "problems"}.get(type(item))
        if table is not None:
            self._write(table, to_dict(item, site=site))

    def add_host(self, row: HostRow) -> None:
        self._write("hosts", attrs.asdict(row))

    @property
    def is_gone(self) -> bool:
        return not self._path.exists()

    def check(self) -> None:
        """HarvestCancelled where the folder is missing twice in a row, as network disks may err."""
        self._misses = self._misses + 1 if self.is_gone else 0
        if self._misses > 1:
            raise self._folder.cancelled()

    def publish(self, totals: dict[str, Any]) -> dict[str, Any]:
        """The manifest, with `totals`; it is the last in place. Where the disk is full, no file is in place."""
        for name, sink in self._sinks.items():
            sink.close()
            os.fsync(self._files[name].fileno())
        if self.state is not None:
            self.state.seal()
        places = {f"{name}.parquet": self._folder.table(name, self._shard) for name in self._sinks}
        if self.state is not None:
            places["state.sqlite"] = self._folder.state(self._shard)
        try:
            sizes = {name.partition(".")[0]: self._path.joinpath(name).stat().st_size for name in places}
            json_object = {"shard": self._shard, **totals, "rows": self.rows, "bytes": sizes}
            write_synced(self._path / "manifest.json", orjson.dumps(json_object, option=orjson.OPT_INDENT_2))
            places["manifest.json"] = self._folder.manifest_path(self._shard)
            self._claim()
            if manifest := self._folder.manifest(self._shard):  # of an attempt that began at the same moment
                return manifest
            for name, place in places.items():
                self._path.joinpath(name).replace(place)
        except FileNotFoundError:
            raise self._folder.cancelled() from None
        return json_object

    def _claim(self) -> None:
        """Of several attempts only one publishes at a time, so that the files in place are all of one."""
        claimed = self._folder.attempts / f"{part_name(self._shard)}.publishing"
        try:
            self._path = self._path.rename(claimed)  # fails where another attempt has done so
        except OSError as exc:
            if exc.errno not in (EEXIST, ENOTEMPTY):
                raise
            raise self._folder.cancelled() from None

    def _write(self, table: str, json_object: dict[str, Any]) -> None:
        self._sinks[table].write(json_object)
        self.rows[table] += 1

    def close(self) -> None:
        for blocks in self._blocks.values():
            blocks.has_failed = True  # else ParquetSink writes a footer as it is freed
        self._exit_stack.close()
        shutil.rmtree(self._path, ignore_errors=True)
