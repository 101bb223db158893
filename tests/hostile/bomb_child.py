"""Reads one bomb in this process, which does nothing else: `python bomb_child.py NAME` prints a line of JSON.

It says how long that took, how much memory came on top of what a small document takes, and what became of it.
"""

from __future__ import annotations

import itertools
import json
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


def main(name: str) -> None:
    with tempfile.TemporaryFile() as file:
        file.writelines(ALL[name].chunks())
        size = file.tell()
        file.seek(0)
        # All that is loaded on the way is there before it counts.
        read(itertools.chain([HEAD, FIRST * 2000, b"<url><loc>https://example.com/?&a=</loc></url>", TAIL]))
        before, started = peak_kib(), time.perf_counter()
        taken, parser = read(chunks_of(file))
        seconds, extra = time.perf_counter() - started, peak_kib() - before
    outcome = parser.outcome
    result = {
        "seconds": seconds,
        "extra_kib": extra,
        "size": size,
        "taken": taken,
        "entries": outcome.entries,
        "complete": outcome.complete,
        "codes": sorted(outcome.problems),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1])
