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
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..model.errors import SitemapReaderError, UsageError
from .tables import SUMS, TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# What a new harvest with a state puts aside; the state stays where it is.
_PUT_ASIDE = (*TABLES, "manifests", "plan")
_OURS = {*_PUT_ASIDE, "state", "unfinished", "earlier"}
_OF_A_BEGINNING = {"plan", "unfinished"}
# What every manifest has.
MANIFEST = {"shard", "hosts", "verdicts", *SUMS, "given_up", "rows", "bytes"}
VERSION = 1


class CalledOff(SitemapReaderError):
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

    def called_off(self) -> CalledOff:
        """What a try is told whose folder is gone."""
        return CalledOff(f"another harvest has taken {self.path} over")

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
