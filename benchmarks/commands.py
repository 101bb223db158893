"""The commands of ours and of the peers: a document or a site comes in, a process is run, its Measure goes out."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .peers import PACKAGES, node_script, python_of
from .rounds import Measure
from .watching import Watched, watched

if TYPE_CHECKING:
    from .data import Served

HERE = Path(__file__).parent
MOST_SECONDS = 900.0
# For our own commands: the package in this checkout is measured, with the bytecode that the first run writes.
ENVIRONMENT = {"PYTHONPATH": str(HERE.parent), "PYTHONDONTWRITEBYTECODE": ""}
OURS_COMMAND = [sys.executable, "-m", "sitemap_reader"]
# Runs a module as -m does, in an interpreter in which the compiled scanner cannot be imported.
_EXPAT_ONLY = (
    "import runpy, sys; sys.modules['sitemap_reader.parser.scanner'] = None; "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)


def _ours(module: str, *arguments: str | Path, expat_only: bool) -> Watched:
    """Runs a module of this checkout."""
    command = [sys.executable, *(("-c", _EXPAT_ONLY) if expat_only else ("-m",)), module, *arguments]
    return watched(command, most_seconds=MOST_SECONDS, environment=ENVIRONMENT)


def timed(module: str, *arguments: str | Path, expat_only: bool = False) -> Measure:
    """A program of ours that times itself."""
    done = _ours(f"benchmarks.{module}", *arguments, expat_only=expat_only)
    return Measure(**json.loads(done.printed), megabytes=done.megabytes)


def dump(served: Served, folder: Path, *, expat_only: bool) -> Measure:
    """Our dump from its start to its end."""
    out = folder / "out.jsonl"
    return _written(_dump(served, out, expat_only=expat_only), out)


def discarded_dump(served: Served, folder: Path, *, expat_only: bool) -> Measure:
    """The same, but nothing is stored."""
    done = _dump(served, Path(os.devnull), expat_only=expat_only)
    return Measure(done.seconds, done.cpu_seconds, megabytes=done.megabytes)


def _dump(served: Served, out: Path, *, expat_only: bool) -> Watched:
    return _ours("sitemap_reader", "dump", f"{served.origin}/", "--allow-private", "-o", out, expat_only=expat_only)


def snapshot(served: Served, folder: Path, *, expat_only: bool) -> Measure:
    """A program that makes a snapshot of the site, from its start to its end."""
    done = _ours("benchmarks.snapshots", f"{served.origin}/", expat_only=expat_only)
    return Measure(done.seconds, done.cpu_seconds, int(done.printed), done.megabytes)


def sync(served: Served, out: Path, state: Path, *, expat_only: bool) -> Measure:
    """Our sync from its start to its end; what it counts are changes."""
    options: list[str | Path] = ["--allow-private", "--state", state, "-o", out, "--format", "jsonl"]
    return _written(_ours("sitemap_reader", "sync", f"{served.origin}/", *options, expat_only=expat_only), out)


def audit(served: Served, folder: Path, *, expat_only: bool) -> Measure:
    """Our audit from its start to its end; the report counts the URLs."""
    out = folder / "out.json"
    options: list[str | Path] = ["--allow-private", "--fail-on", "never", "--format", "json", "-o", out]
    done = _ours("sitemap_reader", "audit", f"{served.origin}/", *options, expat_only=expat_only)
    urls = json.loads(out.read_bytes())["urls"]
    out.unlink()
    return Measure(done.seconds, done.cpu_seconds, urls, done.megabytes)


def dump_peer(peer: str, served: Served, folder: Path, in_flight: int) -> Measure:
    """The peer's program from its start to its end."""
    out = folder / "out.jsonl"
    if peer in PACKAGES:
        command = [*node_script("dump-crawlee.mjs"), served.sitemap, str(out)]
    else:
        program = [python_of(peer), str(HERE / "dumping.py"), peer]
        command = [*program, served.origin, served.sitemap, str(out), str(in_flight)]
    return _written(watched(command, most_seconds=MOST_SECONDS, environment={}), out)


def _written(done: Watched, out: Path) -> Measure:
    """Removes the file, so that the next run does not overwrite it."""
    with out.open("rb") as lines:
        urls = sum(1 for _ in lines)
    out.unlink()
    return Measure(done.seconds, done.cpu_seconds, urls, done.megabytes)
