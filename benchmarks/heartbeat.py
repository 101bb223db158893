"""How long a document keeps an event loop from everything else: `python -m benchmarks.heartbeat [NAME...]`.

A timer on the same loop should fire every 5 ms while the document is read; its largest delay is shown beside the
permitted one. A row that is over ends the program with 1.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import time
from pathlib import Path

from .tables import aligned

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "hostile"))

from expensive_documents import (  # the documents that the tests have
    EXPENSIVE_DOCUMENTS,
    MAP,
    SITE,
    entry,
    read,
    read_document,
    urlset,
)

from sitemap_reader import Limits

BEAT_SECONDS = 0.005
BAR_SECONDS = 0.2


class Heartbeat:
    """A timer on the running loop; `longest_silence` is its largest delay, in seconds, inside of the block."""

    def __init__(self) -> None:
        self.longest_silence = 0.0

    async def __aenter__(self) -> Heartbeat:
        self._task = asyncio.create_task(self._beat())
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._task.cancel()

    async def _beat(self) -> None:
        while True:
            due = time.perf_counter() + BEAT_SECONDS
            await asyncio.sleep(BEAT_SECONDS)
            self.longest_silence = max(self.longest_silence, time.perf_counter() - due)


async def measured(name: str) -> tuple[int, float, float]:
    """The number of URLs, the seconds, and the longest silence."""
    await read({MAP: urlset(entry(SITE))}, MAP, Limits())  # all that is loaded on the way
    async with Heartbeat() as heartbeat:
        started = time.perf_counter()
        urls = await read_document(name)
        seconds = time.perf_counter() - started
    return urls, seconds, heartbeat.longest_silence


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.heartbeat", description=__doc__)
    options.add_argument("names", nargs="*", metavar="NAME", help="only these (default: all)")
    names = options.parse_args().names or list(EXPENSIVE_DOCUMENTS)
    unknown = [name for name in names if name not in EXPENSIVE_DOCUMENTS]
    if unknown:
        options.error(f"no such document: {unknown[0]}; there are: {', '.join(EXPENSIVE_DOCUMENTS)}")
    rows, worst = [["", "document", "URLs", "time", "longest silence", "bar"]], 0.0
    for name in names:
        urls, seconds, latest = asyncio.run(measured(name))
        worst = max(worst, latest)
        verdict = "over" if latest > BAR_SECONDS else "ok"
        bar = f"{BAR_SECONDS * 1000:.0f} ms"
        rows.append([verdict, name, f"{urls:,}", f"{seconds:.2f} s", f"{latest * 1000:.0f} ms", bar])
    print(aligned(rows), end="")
    return int(worst > BAR_SECONDS)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it quietly
    sys.exit(main())
