"""The parts of one shard, while they are made: lines and items of its hosts in, Parquet files and a state out.

Row groups are written as they fill. Nothing is to be seen of it before publish(); what is not published is gone.
"""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from io import FileIO
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..model.problems import Problem
from ..model.records import Outcome
from ..serialize.byte_streams import Blocks
from ..serialize.jsonl import json_form
from ..serialize.parquet import ParquetSink
from ..state.state import State
from .folder import write_synced
from .tables import TABLES, tables

if TYPE_CHECKING:
    from pathlib import Path

    from ..model.records import Item
    from .folder import Folder
    from .tables import HostRow


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
