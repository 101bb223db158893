"""Reads bombs, each in a process that does nothing else: `python bomb_child.py NAME...` prints a line of JSON for each.

It says how long that took, how much memory came on top of what a small document takes, and what became of it. The
processes are forks of this one: a fork's peak of memory begins at what it has when it begins.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import sys
import tempfile
import time
from typing import TYPE_CHECKING

from bombs import ALL, CHUNK, FIRST, HEAD, TAIL

import sitemap_reader as sr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO


def peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def read(chunks: Iterator[bytes]) -> tuple[int, sr.SitemapParser]:
    """How many bytes had been taken when reading stopped, and the parser, closed."""
    parser = sr.SitemapParser(url="https://example.com/sitemap.xml")
    taken = 0
    for chunk in chunks:
        taken += len(chunk)
        for _ in parser.pieces(chunk):
            pass
        if parser.stopped:
            break
    parser.close()
    return taken, parser


def chunks_of(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk


def measure(name: str) -> None:
    with tempfile.TemporaryFile() as file:
        file.writelines(ALL[name].chunks())
        size = file.tell()
        file.seek(0)
        before, started = peak_kib(), time.perf_counter()
        taken, parser = read(chunks_of(file))
        seconds, extra = time.perf_counter() - started, peak_kib() - before
    outcome = parser.outcome
    result = {
        "name": name,
        "seconds": seconds,
        "extra_kib": extra,
        "size": size,
        "taken": taken,
        "entries": outcome.entries,
        "complete": outcome.complete,
        "codes": sorted(outcome.problems),
    }
    print(json.dumps(result), flush=True)


def main(names: list[str]) -> int:
    # All that is loaded on the way is there before it counts.
    read(itertools.chain([HEAD, FIRST * 2000, b"<url><loc>https://example.com/?&a=</loc></url>", TAIL]))
    for name in names:
        if not (child := os.fork()):
            measure(name)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
