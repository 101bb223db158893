"""Many hosts: `python -m benchmarks.harvesting [--short] [--hosts N] [--workers 1,2] [--only start,late,large]`.

The farm of tests/hostfarm.py is read by `dump`, one host after the other, and by `harvest` with so many workers: first
a single host, which shows what it costs to begin; then many that are late, each in its measure, and of which some fail,
as many at once as harvest would, and few at once, so that waiting for most of them concurrently is faster; then larger
ones that answer at once. The farm uses the same cores; its CPU time is shown beside. A reader that did not give each
URL once, or requested a document twice, ends the program with 1; else the last line begins with "ok".
--short takes less than a minute, and its figures are not significant.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from hostfarm import KINDS, locs_of, make_hosts, run_farm  # of the tests

from .commands import ENVIRONMENT, OURS_COMMAND
from .serving import free_port
from .tables import aligned
from .watching import CommandFailed, Watched, watched

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hostfarm import Farm, FarmHost

MOST_SECONDS = 3_600.0
PER_HOST = 4  # requests in flight, the default
# Some hosts are unreadable: exit codes of a reader for these.
CODES = (0, 3, 4, 5)
HEADINGS = ["hosts", "reader", "s", "times dump", "hosts/s", "URLs/s", "URLs", "requests", "most at once", "CPU s",
            "CPU s per M URLs", "CPU ms per host", "farm's CPU s", "MB", "MB, largest child", "MB, all"]  # fmt: skip
_LARGE_KINDS = {"robots": 0.4, "index": 0.4, "wellknown": 0.1, "text": 0.1}


@attrs.frozen
class World:
    """A farm to be read; it has `share` of the requested number of hosts, but at least one."""

    name: str
    share: float
    median_urls: int
    median_latency: float
    sigma: float
    kinds: Mapping[str, float]
    at_once: int = 50  # of a shard

    def hosts(self, count: int) -> list[FarmHost]:
        return make_hosts(
            max(1, round(count * self.share)),
            seed=1,
            port=free_port(),
            kinds=self.kinds,
            median_urls=self.median_urls,
            median_latency=self.median_latency,
            sigma=self.sigma,
        )


START = World("start", 0.0, 10, 0.0, 0.0, {"robots": 1.0})
WORLDS = (
    START,
    World("late", 1.0, 300, 0.15, 0.8, KINDS),
    World("few at once", 1.0, 300, 0.15, 0.8, KINDS, at_once=10),
    World("large", 0.12, 25_000, 0.0, 0.8, _LARGE_KINDS),
)
SHORT_WORLDS = (
    START,
    World("late", 1.0, 50, 0.03, 0.8, KINDS),
    World("few at once", 1.0, 50, 0.03, 0.8, KINDS, at_once=5),
    World("large", 0.12, 1_000, 0.0, 0.8, _LARGE_KINDS),
)
HOSTS, SHORT_HOSTS = 400, 20
WORKERS, SHORT_WORKERS = "1,2", "2"


@attrs.frozen
class Run:
    """The time and output of a reader, and its requests as seen by the farm."""

    reader: str
    done: Watched
    urls: int
    requests: int
    max_in_flight: int
    farm_seconds: float
    faults: tuple[str, ...]


def dump(hosts: Path, out: Path) -> list[str | Path]:
    """One host after the other. The list of hosts comes on stdin."""
    return [*OURS_COMMAND, "dump", "-", "--allow-private", "-q", "--format", "parquet", "-o", out]


def harvest(hosts: Path, out: Path, workers: int, at_once: int) -> list[str | Path]:
    numbers = ["--workers", str(workers), "--hosts-at-once", str(at_once)]
    return [*OURS_COMMAND, "harvest", hosts, "--allow-private", *numbers, "-q", "-o", out]


def rows_of(out: Path) -> int:
    """The number of rows in the file of dump, or in the folder of harvest."""
    from pyarrow.parquet import read_metadata

    files = (out / "urls").glob("*.parquet") if out.is_dir() else [out]
    return sum(read_metadata(file).num_rows for file in files)


def measured(reader: str, command: list[str | Path], farm: Farm, hosts: list[FarmHost], listed: Path, out: Path) -> Run:
    """The command from its start to its end, and whether it did what it should."""
    farm.reset()
    used = farm.cpu_seconds()
    done = watched(command, most_seconds=MOST_SECONDS, environment=ENVIRONMENT, stdin=listed, codes=CODES)
    used = farm.cpu_seconds() - used
    urls, requested, max_in_flight_by_host = rows_of(out), farm.requested(), farm.max_in_flight_by_host()
    faults = []
    if urls != (expected := sum(len(locs_of(host) or ()) for host in hosts)):
        faults.append(f"gave {urls:,} of {expected:,} URLs")
    if more := [target for target, most in max_in_flight_by_host.items() if most > PER_HOST]:
        faults.append(f"{len(more)} hosts had more than {PER_HOST} requests at once, such as {more[0]}")
    # A sitemap that fails is requested again.
    once = [host.target for host in hosts if host.kind != "error"]
    if twice := [target for target in once if len(requested[target]) > len(set(requested[target]))]:
        faults.append(f"{len(twice)} hosts got a request for a document twice, such as {twice[0]}")
    return Run(reader, done, urls, sum(map(len, requested.values())), farm.max_in_flight(), used, tuple(faults))


def run_world(world: World, count: int, workers: list[int], folder: Path) -> tuple[int, list[Run]]:
    """How many hosts there were, and each reader's run, dump first."""
    hosts = world.hosts(count)
    listed = folder / f"{world.name}.txt"
    listed.write_text("".join(f"{host.target}\n" for host in hosts))
    runs = []
    with run_farm(hosts, folder / world.name) as farm:
        farm.warm()
        out = folder / f"{world.name}.parquet"
        plans = {"dump": (dump(listed, out), out)}
        for each in workers:
            out = folder / f"{world.name}-{each}"
            plans[f"harvest --workers {each}"] = (harvest(listed, out, each, world.at_once), out)
        for reader, (command, out) in plans.items():
            started = time.monotonic()
            runs.append(measured(reader, command, farm, hosts, listed, out))
            print(f"  {world.name}: {reader}: {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)
    return len(hosts), runs


def cells(world: World, hosts: int, run: Run, first: Run) -> list[str]:
    done = run.done
    memory = (done.megabytes, done.child_megabytes, done.all_megabytes)
    return [
        f"{world.name}: {hosts:,}",
        run.reader,
        f"{done.seconds:.2f}",
        f"{first.done.seconds / done.seconds:.2f}",
        f"{hosts / done.seconds:.1f}",
        f"{run.urls / done.seconds:,.0f}",
        f"{run.urls:,}",
        f"{run.requests:,}",
        str(run.max_in_flight),
        f"{done.cpu_seconds:.2f}",
        f"{done.cpu_seconds / max(run.urls, 1) * 1_000_000:.1f}",
        f"{done.cpu_seconds / hosts * 1000:.1f}",
        f"{run.farm_seconds:.2f}",
        *("-" if each is None else f"{each:.0f}" for each in memory),
    ]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.harvesting", description=__doc__)
    parser.add_argument("--short", action="store_true", help="few hosts, small and hardly late")
    parser.add_argument("--hosts", type=int, metavar="N", help=f"late ones (default: {HOSTS}, short {SHORT_HOSTS})")
    parser.add_argument("--workers", metavar="N,...", help=f"of harvest (default: {WORKERS}, short {SHORT_WORKERS})")
    names = ",".join(world.name for world in WORLDS)
    parser.add_argument("--only", default=names, metavar="NAME,...", help="these farms (default: %(default)s)")
    chosen = parser.parse_args()
    chosen.hosts = chosen.hosts or (SHORT_HOSTS if chosen.short else HOSTS)
    workers = chosen.workers or (SHORT_WORKERS if chosen.short else WORKERS)
    chosen.workers = [int(each) for each in workers.split(",")]
    return chosen


def main() -> int:
    chosen = options()
    worlds = [world for world in (SHORT_WORLDS if chosen.short else WORLDS) if world.name in chosen.only.split(",")]
    rows, faults = [HEADINGS], []
    with tempfile.TemporaryDirectory() as folder:
        for world in worlds:
            try:
                hosts, runs = run_world(world, chosen.hosts, chosen.workers, Path(folder))
            except CommandFailed as exc:
                faults.append(f"{world.name}: {exc}")
                continue
            rows += [cells(world, hosts, run, runs[0]) for run in runs]
            faults += [f"{world.name}: {run.reader} {fault}" for run in runs for fault in run.faults]
    # A column for each reader: there are more figures than a terminal is wide.
    print(aligned([list(row) for row in zip(*rows, strict=True)]))
    for fault in faults:
        print(fault, file=sys.stderr)
    if not faults:
        print(f"ok  {len(rows) - 1} readings, each gave every URL{': short form, no verdict' if chosen.short else ''}")
    return int(bool(faults))


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it quietly
    sys.exit(main())
