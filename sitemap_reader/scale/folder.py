"""The folder of a harvest: what is planned and what is done, by the files that are there.

A shard is done when its manifest is there: that is written last, and what it names is whole. Everything is made under
`unfinished/`, a folder for each try, and renamed into its place; what a killed try leaves there is swept away.

::

    harvest.json              what was asked for, and of how many hosts
    plan/part-00000.txt       the hosts of a shard
    urls/part-00000.parquet   its tables: urls, sitemaps, problems, hosts
    state/part-00000.sqlite   what is remembered of its hosts
    manifests/part-00000.json
    earlier/2026-11-23T04-05-06Z/   the tables of a harvest before, where there is a state
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ..errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

TABLES = ("urls", "sitemaps", "problems", "hosts")
# What a new harvest with a state puts aside; the state stays where it is.
_PUT_ASIDE = (*TABLES, "manifests", "plan")
_OURS = {*_PUT_ASIDE, "state", "unfinished", "earlier"}
VERSION = 1


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
    """The places in it; a shard is a number from 0."""

    path: Path

    def plan_of(self, shard: int) -> Path:
        return self.path / "plan" / f"{part(shard)}.txt"

    def table(self, name: str, shard: int) -> Path:
        return self.path / name / f"{part(shard)}.parquet"

    def state(self, shard: int) -> Path:
        return self.path / "state" / f"{part(shard)}.sqlite"

    def next_state(self, shard: int) -> Path:
        """It takes the place of the state once the manifest is there."""
        return self.state(shard).with_suffix(".next")

    def manifest_path(self, shard: int) -> Path:
        return self.path / "manifests" / f"{part(shard)}.json"

    @property
    def unfinished(self) -> Path:
        return self.path / "unfinished"

    # --- the plan ---

    def plan(self) -> Plan | None:
        """That of the harvest which is here; UsageError for a folder that holds something else."""
        path = self.path / "harvest.json"
        try:
            form = orjson.loads(path.read_bytes())
            if form.get("version") != VERSION:
                raise UsageError(f"{path} is of another version of sitemap-reader; name another folder")
            return Plan(**form)
        except FileNotFoundError:
            self._check_empty()
            return None
        except NotADirectoryError:
            raise UsageError(f"{self.path} is a file; name a folder, which is made if there is none") from None
        except (orjson.JSONDecodeError, AttributeError, TypeError) as exc:
            raise UsageError(f"{path} is damaged: {exc}; name another folder") from exc

    def _check_empty(self) -> None:
        """There is no harvest: then there may be nothing else either, but for a beginning of one."""
        if self.path.is_dir() and any(each.name not in _OURS for each in self.path.iterdir()):
            raise UsageError(f"{self.path} holds something else than a harvest; name a folder that is empty, or new")

    def begin(self, plan: Plan, shards: Sequence[Sequence[str]]) -> None:
        """Lays out a new harvest: the hosts of each shard, then the plan."""
        for name in (*TABLES, "manifests", "plan", "state", "unfinished"):
            if name != "state" or plan.has_state:
                (self.path / name).mkdir(parents=True, exist_ok=True)
        for shard, targets in enumerate(shards):
            self.plan_of(shard).write_text("".join(f"{target}\n" for target in targets), "utf-8")
        unfinished = self.unfinished / "harvest.json"
        write_synced(unfinished, orjson.dumps(attrs.asdict(plan), option=orjson.OPT_INDENT_2))
        unfinished.replace(self.path / "harvest.json")

    def earlier(self, plan: Plan) -> Path:
        """Where a harvest is put aside; it has begun to be if there is such a folder."""
        return self.path / "earlier" / plan.started.replace(":", "-")

    def put_aside(self, plan: Plan) -> None:
        """Makes room for the next harvest with the same state. What a kill leaves of it to do is done next time."""
        earlier = self.earlier(plan)
        earlier.mkdir(parents=True, exist_ok=True)
        for name in _PUT_ASIDE:
            if (earlier / name).exists():  # and what is here is of a beginning that was killed
                shutil.rmtree(self.path / name, ignore_errors=True)
            elif (self.path / name).exists():
                (self.path / name).rename(earlier / name)
        shutil.copyfile(self.path / "harvest.json", earlier / "harvest.json")

    def targets(self, shard: int) -> list[str]:
        """The hosts of a shard."""
        return self.plan_of(shard).read_text("utf-8").splitlines()

    # --- what is done ---

    def manifest(self, shard: int) -> dict[str, Any] | None:
        """What a shard came to; None where it is not done, or a file that it names is not there."""
        try:
            form = orjson.loads(self.manifest_path(shard).read_bytes())
            sizes = {name: self.table(name, shard).stat().st_size for name in TABLES}
        except (FileNotFoundError, orjson.JSONDecodeError):
            return None
        return form if isinstance(form, dict) and form.get("bytes") == sizes else None

    def settle(self, shards: int) -> list[int]:
        """Ends what a killed harvest left half done. The shards that are left to do."""
        left = []
        for shard in range(shards):
            if self.manifest(shard) is None:
                left.append(shard)
                self.take_back(shard)
            else:
                self.accept_state(shard)
        shutil.rmtree(self.unfinished, ignore_errors=True)
        self.unfinished.mkdir(exist_ok=True)
        return left

    def take_back(self, shard: int) -> None:
        """Of a shard that is not done nobody is to see a part."""
        self.manifest_path(shard).unlink(missing_ok=True)
        self.next_state(shard).unlink(missing_ok=True)
        for name in TABLES:
            self.table(name, shard).unlink(missing_ok=True)

    def accept_state(self, shard: int) -> None:
        """The shard's manifest is there: its new state counts."""
        if self.next_state(shard).exists():
            self.next_state(shard).replace(self.state(shard))

    def attempt(self, shard: int) -> Path:
        """A folder to make a shard's files in. Earlier tries have lost theirs: whatever still writes there fails."""
        for other in self.unfinished.glob(f"{part(shard)}.*"):
            shutil.rmtree(other, ignore_errors=True)
        path = self.unfinished / f"{part(shard)}.{os.urandom(6).hex()}"
        path.mkdir(parents=True)
        return path


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


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """`since 2026-01-01, not 2026-02-01; scope host, not any`: what was asked for otherwise."""
    return "; ".join(
        f"{name} {_shown(before.get(name))}, not {_shown(now[name])}"
        for name in now
        if now[name] != before.get(name)
    )


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return " ".join(map(str, value)) if isinstance(value, list) and value else str(value or "none")
