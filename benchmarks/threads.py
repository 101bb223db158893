"""Documents parsed in so many threads beside an event loop: `python -m benchmarks.threads THREADS URL FILE...`.

Prints {"wall", "cpu", "urls", "silence_ms"}: the last is the longest time for which the loop did not run its timer.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .heartbeat import Heartbeat
from .parsing import to_batches


async def measure(threads: int, url: str, bodies: list[bytes]) -> dict[str, float]:
    """The figures of one run, by name."""
    to_batches(min(bodies, key=len), url)  # things load
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(threads) as pool:
        async with Heartbeat() as heartbeat:
            started = time.perf_counter(), time.process_time()
            urls = await asyncio.gather(*(loop.run_in_executor(pool, to_batches, body, url) for body in bodies))
            wall, cpu = time.perf_counter() - started[0], time.process_time() - started[1]
    silence_ms = heartbeat.longest_silence * 1000
    return {"wall": wall, "cpu": cpu, "urls": sum(urls), "silence_ms": silence_ms}


def main(threads: str, url: str, *files: str) -> None:
    print(json.dumps(asyncio.run(measure(int(threads), url, [Path(file).read_bytes() for file in files]))))


if __name__ == "__main__":
    main(*sys.argv[1:])
