"""The commands of each reader: a document or a site comes in, a command for a separate process goes out.

A reader that is not in a table cannot do that. The environments of the peers are made here, on first use.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from .peers import OURS, node_script, python_of
from .rounds import Measure
from .watching import Watched, watched

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .data import Document, Served

HERE = Path(__file__).parent
MOST_SECONDS = 900.0
PACKAGE = HERE.parent / "sitemap_reader"
ENVIRONMENT = {"PYTHONPATH": str(PACKAGE.parent)}  # for our own commands: the package in this checkout is measured
OURS_COMMAND = [sys.executable, "-m", "sitemap_reader"]
# Lower limits that no reader can undercut: names of ../parsing.py.
LIMITS = ("bare expat", "decode + split", "gunzip + bare expat")
_OUR_PYTHON = {OURS, "feedparser", *LIMITS}

# Kind of document -> its readers, ours first. Other readers read none of its entries.
PARSERS = {
    "plain": ("ultimate-sitemap-parser", "Scrapy", "Crawlee", "advertools", "Crawlee for Node", "sitemap.js"),
    "rich": ("ultimate-sitemap-parser", "Scrapy", "Crawlee", "advertools", "Crawlee for Node", "sitemap.js"),
    "video": ("ultimate-sitemap-parser", "Scrapy", "Crawlee", "advertools", "Crawlee for Node", "sitemap.js"),
    "text": ("ultimate-sitemap-parser", "Crawlee", "Crawlee for Node"),
    "RSS": ("ultimate-sitemap-parser", "feedparser"),
}
LIMIT_OF = {"text": "decode + split"}  # else bare expat
_NODE_PARSERS = {"Crawlee for Node": "parse-crawlee.mjs", "sitemap.js": "parse-sitemap.mjs"}
_NODE_DUMPERS = {"Crawlee for Node": "dump-crawlee.mjs", "sitemapper": "dump-sitemapper.mjs"}
DUMPERS = ("ultimate-sitemap-parser", "Scrapy", "Scrapy, items", "Crawlee", "advertools", *_NODE_DUMPERS)
IMPORTS = {
    "ultimate-sitemap-parser": "import usp.tree",
    "Scrapy": "import scrapy.spiders",
    "Crawlee": "import crawlee.request_loaders",
    "advertools": "import advertools",
}


def run(command: Sequence[str | Path], reader: str = OURS) -> Watched:
    """Runs a command; ours see the package in this checkout, the peers do not."""
    return watched(command, most_seconds=MOST_SECONDS, environment=ENVIRONMENT if reader in _OUR_PYTHON else {})


def _interpreter(reader: str) -> str:
    return sys.executable if reader in _OUR_PYTHON else python_of(reader)


def parse(reader: str, document: Document) -> Measure:
    """The seconds that it takes inside of its process."""
    return _timed(reader, document.url, [document.file])


def unpack(served: Served) -> Measure:
    """gunzip + bare expat over the children of a site."""
    return _timed("gunzip + bare expat", served.sitemap, served.children)


def _timed(reader: str, url: str, files: Sequence[Path]) -> Measure:
    if reader in _NODE_PARSERS:
        command = [*node_script(_NODE_PARSERS[reader]), *map(str, files)]
    else:
        command = [_interpreter(reader), str(HERE / "parsing.py"), reader, url, *map(str, files)]
    done = run(command, reader)
    result = json.loads(done.printed)
    return Measure(result["seconds"], result["urls"], done.megabytes)


@cache
def has_workers() -> bool:
    """Whether our dump knows -j."""
    command = [*OURS_COMMAND, "dump", "--help"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE.parent)  # noqa: S603
    return "-j" in done.stdout.split() or "-j," in done.stdout.split()


def dump_ours(served: Served, out: Path, workers: int, *, keep: bool = False) -> Measure:
    """Our command from its start to its end. Where it knows no workers it is the same as with one."""
    jobs = ["-j", str(workers)] if has_workers() else []
    command = [*OURS_COMMAND, "dump", f"{served.origin}/", "--allow-private", "-o", str(out), *jobs]
    return _written(run(command), out, keep=keep)


def sync_ours(served: Served, state: Path, out: Path, workers: int) -> Measure:
    """Our sync from its start to its end; what it counts are changes."""
    command = [*OURS_COMMAND, "sync", f"{served.origin}/", "--allow-private", "-j", str(workers)]
    return _written(run([*command, "--state", str(state), "-o", str(out), "--format", "jsonl"]), out)


def audit_ours(served: Served, out: Path, workers: int) -> Measure:
    """Our audit from its start to its end; the report counts the URLs."""
    command = [*OURS_COMMAND, "audit", f"{served.origin}/", "--allow-private", "-j", str(workers)]
    done = run([*command, "--fail-on", "never", "--format", "json", "-o", str(out)])
    urls = json.loads(out.read_bytes())["urls"]
    out.unlink()
    return Measure(done.seconds, urls, done.megabytes, done.child_megabytes)


def convert_ours(dump: Path, out: Path, urls: int) -> Measure:
    """A dump to Parquet, from the command's start to its end."""
    done = run([*OURS_COMMAND, "convert", str(dump), "-o", str(out)])
    return Measure(done.seconds, urls, done.megabytes)


def table(reader: str, file: Path) -> Measure:
    """Parquet to a frame of pandas; the seconds that it takes inside of its process."""
    done = run([sys.executable, str(HERE / "tabling.py"), reader, str(file)])
    result = json.loads(done.printed)
    return Measure(result["seconds"], result["urls"], done.megabytes)


def dump_peer(peer: str, served: Served, out: Path, in_flight: int) -> Measure:
    """The peer's program from its start to its end."""
    requested = [served.sitemap, str(out), str(in_flight)]
    if peer in _NODE_DUMPERS:
        command = [*node_script(_NODE_DUMPERS[peer]), *requested]
    else:
        command = [python_of(peer), str(HERE / "dumping.py"), peer, served.origin, *requested]
    return _written(run(command, peer), out)


def _written(done: Watched, out: Path, *, keep: bool = False) -> Measure:
    """Removes the file unless it is kept, so that the next run does not overwrite it."""
    with out.open("rb") as lines:
        urls = sum(1 for _ in lines)
    if not keep:
        out.unlink()
    return Measure(done.seconds, urls, done.megabytes, done.child_megabytes)


def start(code: str, reader: str = OURS) -> Measure:
    """An interpreter that runs one line."""
    done = run([_interpreter(reader), "-c", code], reader)
    return Measure(done.seconds, None, done.megabytes)


def start_help() -> Measure:
    done = run([*OURS_COMMAND, "--help"])
    return Measure(done.seconds, None, done.megabytes)
