"""Forks a watch for each line of stdin, like `9 0.3`: signal 9 ends it after so many seconds; prints its exit status.

In argv: a state, hosts separated by commas, the start and speed of its clock, and sinks. Signal 0 is none: this watch
ends when it has looked at all sitemaps, has decided on all removals, and all sinks have all changes. The seconds to a
signal count from when the watch has begun, or with a third word `forked` from the fork. Prints the exit status, and the
seconds since the signal.
"""

import asyncio
import os
import select
import sys
import time
from datetime import datetime, timedelta
from functools import partial

from watched_sites import FastClock

from sitemap_reader.client import Crawler, site_target
from sitemap_reader.model import micros
from sitemap_reader.state import State
from sitemap_reader.watching import Budget, SinkPlan, Watcher, WatchPlan, run_watch, sink_for

PATIENCE_SECONDS = 120.0
_OPEN = """
SELECT EXISTS (SELECT 1 FROM document WHERE coalesce(confirmed_at, 0) < ?) OR EXISTS (SELECT 1 FROM unlisted)
"""


async def watch(state: State, hosts: str, clock: FastClock, targets: list[str], *, ends: bool, ready: int) -> None:
    plan = WatchPlan(
        Budget(1e6, least_interval_seconds=300.0),  # 60 ms by its clock
        Crawler(allow_private=True),
        {"accept_removals": True},  # between kills too few visits end to decide on them one by one
        keep_log=timedelta(days=100_000),
        clock=clock,
        sleep=clock.sleep,
    )
    watcher = Watcher([site_target(host) for host in hosts.split(",")], state, plan)

    def report(text: str) -> None:
        if text.startswith("watching "):
            os.write(ready, b".")
        else:
            print(text, file=sys.stderr)

    ending = asyncio.create_task(_stop_at_the_end(watcher, state, clock())) if ends else None
    sinks = [SinkPlan(sink_for(target)) for target in targets]
    await run_watch(watcher, sinks, report=report, handles_signals=True)
    if ending is not None:
        await ending


async def _stop_at_the_end(watcher: Watcher, state: State, began: datetime) -> None:
    while not hasattr(watcher, "feed"):  # noqa: ASYNC110 - before that it is not open
        await asyncio.sleep(0.05)
    await until_all_is_found(watcher, state, began)
    watcher.stop()


async def until_all_is_found(watcher: Watcher, state: State, began: datetime) -> None:
    """Waits until all documents were looked at since a time, and all removals are decided on."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    look = partial(state.db.execute, _OPEN, (micros(began),))
    while watcher.is_busy or (await watcher.feed._thread.run(look)).fetchone()[0]:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


def main() -> None:
    import aiohttp  # noqa: F401 - here, so that not each fork has to
    import redis.asyncio  # noqa: F401

    state, hosts, start, speed, *targets = sys.argv[1:]
    clock = FastClock(float(start), float(speed))
    for line in sys.stdin:
        number, seconds, *forked = line.split()
        ready, writes_ready = os.pipe()
        child = os.fork()
        if child == 0:
            opened = State(state, create=True, shared_by=50)
            asyncio.run(watch(opened, hosts, clock, targets, ends=number == "0", ready=writes_ready))
            os._exit(0)
        os.close(writes_ready)
        sent = time.monotonic()
        if int(number):
            if not forked:
                os.read(ready, 1)
            sent = _send(child, int(number), float(seconds))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.close(ready)
        print(status, time.monotonic() - sent, flush=True)


def _send(child: int, number: int, seconds: float) -> float:
    """Sends a signal after so many seconds, and returns when that was."""
    waiting = os.pidfd_open(child)
    select.select([waiting], [], [], seconds)
    os.close(waiting)
    os.kill(child, number)
    return time.monotonic()


if __name__ == "__main__":
    main()
