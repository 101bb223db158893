"""What hostile documents cost: `python -m benchmarks.hostile [--short] [NAME...]`.

Each is read in a process of its own. Time, and memory beyond that of a small document, are shown beside the permitted
ones. A row over a limit, or with an unexpected result, ends the program with 1. --short
leaves out what takes long to build or to read.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import attrs

from .tables import aligned

HOSTILE = Path(__file__).parent.parent / "tests" / "hostile"
sys.path.insert(0, str(HOSTILE))
os.environ["SITEMAP_READER_TEST_FULL"] = "1"

from bombs import ALL  # noqa: E402  # the bombs that the tests have


@attrs.frozen
class Bar:
    """The most seconds, and MB on top, that a document may take."""

    seconds: float
    megabytes: float = 40.0


USUAL = Bar(2.0)
BARS = {
    "gzip: 160,000 empty members": Bar(0.5),
    "over 50 MiB": Bar(5.0),
    "50,001 URLs": Bar(5.0),
    "long index": Bar(40.0),
}
LONG = frozenset(
    {"long index", "over 50 MiB", "gzip: 1 GB of NUL", "stray end tags", "entries repaired in vain"}
)


@attrs.frozen
class Cost:
    """The time and memory of reading a document, the bytes read, and the problems."""

    seconds: float
    megabytes: float
    taken: int
    size: int
    entries: int
    complete: bool
    codes: list[str]


def measured(names: list[str]) -> dict[str, Cost]:
    command = [sys.executable, HOSTILE / "bomb_child.py", *names]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=True)  # noqa: S603  # this Python, our own file
    results = [json.loads(line) for line in run.stdout.splitlines()]
    return {each.pop("name"): Cost(megabytes=each.pop("extra_kib") / 1024, **each) for each in results}


def verdict(name: str, cost: Cost, bar: Bar) -> str:
    bomb = ALL[name]
    came_out = (cost.entries, cost.complete, frozenset(cost.codes))
    if came_out != (bomb.entries, bomb.complete, bomb.codes):
        return "wrong"
    return "over" if cost.seconds > bar.seconds or cost.megabytes > bar.megabytes else "ok"


def row(name: str, cost: Cost, bar: Bar) -> list[str]:
    read = f"{cost.taken:,} of {cost.size:,}" if cost.taken < cost.size else f"all {cost.size:,}"
    problems = " ".join(cost.codes) or "none"
    return [
        verdict(name, cost, bar),
        name,
        f"{cost.seconds:.2f} s",
        f"{bar.seconds:g} s",
        f"+{cost.megabytes:.1f} MB",
        f"{bar.megabytes:g} MB",
        f"{cost.entries:,}",
        "complete" if cost.complete else "partial",
        problems,
        read,
    ]


HEADINGS = ["", "document", "time", "bar", "memory", "bar", "entries", "", "problems", "bytes read"]


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description=__doc__)
    options.add_argument("names", nargs="*", metavar="NAME", help="only these (default: all)")
    options.add_argument("--short", action="store_true", help="without what takes long")
    chosen = options.parse_args()
    unknown = [name for name in chosen.names if name not in ALL]
    if unknown:
        options.error(f"no such document: {unknown[0]}; there are: {', '.join(ALL)}")
    names = chosen.names or [name for name in ALL if not (chosen.short and name in LONG)]
    rows = [row(name, cost, BARS.get(name, USUAL)) for name, cost in measured(names).items()]
    print(aligned([HEADINGS, *rows]), end="")
    return int(any(cells[0] != "ok" for cells in rows))


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it quietly
    sys.exit(main())
