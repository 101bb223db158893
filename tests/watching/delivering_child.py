"""Forks a delivery for each line of stdin, `SECONDS`, and kills the fork after that time; prints its exit status.

A fork logs entries in the state, delivers them to the sinks in argv, and ends when all have them. With 0 seconds it is
not killed, and logs nothing more.
"""

import asyncio
import os
import random
import select
import signal
import sys
from pathlib import Path

from change_logs import logged

from sitemap_reader.watching import Delivery, WebhookSink, sink_for

ENTRIES, MOST_CHANGES = 40, 60
BODY_BYTES = 2_000  # so that most entries are several requests


async def deliver(state: str, targets: list[str], seed: int, entries: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same each time
    async with logged(Path(state)) as changes:
        sinks = [
            WebhookSink(target, max_body_bytes=BODY_BYTES) if target.startswith("http") else sink_for(target)
            for target in targets
        ]
        for sink in sinks:
            await changes.feed.cursor(sink.name)
        deliveries = [Delivery(changes.feed, sink) for sink in sinks]
        tasks = [each.start() for each in deliveries]
        for _ in range(entries):
            await changes.add(chance.randrange(1, MOST_CHANGES))
            await asyncio.sleep(0)
        for each in deliveries:
            assert await each.drain(60)
        await asyncio.gather(*tasks)


def main() -> None:
    import aiohttp  # noqa: F401 - here, so that not each fork has to
    import redis.asyncio  # noqa: F401

    state, *targets = sys.argv[1:]
    for number, line in enumerate(sys.stdin):
        seconds = float(line)
        child = os.fork()
        if child == 0:
            asyncio.run(deliver(state, targets, number, ENTRIES if seconds else 0))
            os._exit(0)
        if seconds:
            waiting = os.pidfd_open(child)
            select.select([waiting], [], [], seconds)
            os.close(waiting)
            os.kill(child, signal.SIGKILL)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
