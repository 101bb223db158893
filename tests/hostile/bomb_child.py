"""Reads bombs, each in a process that does nothing else: `python bomb_child.py NAME...` prints a line of JSON for each.

It has the seconds, the memory beyond that of a small document, and the result. The processes are forks of this one: the
peak memory of a fork starts at its memory at the fork.
"""

import itertools
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import IO

from bombs import ALL, CHUNK, FIRST, HEAD, TAIL

import sitemap_reader as sr


def peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def read(chunks: Iterator[bytes]) -> tuple[int, sr.SitemapParser]:
    """The number of bytes taken when reading stopped, and the closed parser."""
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
    # Everything is imported before measuring.
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
