"""Reads COUNT URLs, leaves the stream, and prints what is still open: `leaving_child.py WAY COUNT TARGET`."""

import asyncio
import json
import logging
import os
import sys
import threading
import time
from pathlib import Path

import sitemap_reader as sr

MAX_WAIT_SECONDS = 30.0


class Left:
    """When the last URL came, and how many there were."""

    urls = 0
    at = 0.0

    def take(self) -> bool:
        """Counts a URL; whether it is the last to read."""
        self.urls += 1
        if self.urls == COUNT:
            self.at = time.perf_counter()
        return self.urls == COUNT


def sync(left: Left) -> None:
    with sr.urls(TARGET, allow_private=True) as urls:
        for _ in urls:
            if left.take():
                break


def sync_without_a_block(left: Left) -> None:
    for _ in sr.urls(TARGET, allow_private=True):
        if left.take():
            break


def sync_in_a_thread(left: Left) -> None:
    thread = threading.Thread(target=sync, args=(left,))
    thread.start()
    thread.join()


def sync_in_a_loop(left: Left) -> None:
    async def cell() -> None:
        sync(left)

    asyncio.run(cell())


async def _leave_a_block(left: Left) -> None:
    async with sr.SitemapReader(allow_private=True) as reader, reader.urls(TARGET) as urls:
        async for _ in urls:
            if left.take():
                break


async def _leave(left: Left) -> None:
    async with sr.SitemapReader(allow_private=True) as reader:
        async for _ in reader.urls(TARGET):
            if left.take():
                break


async def _cancel(left: Left) -> None:
    reached = asyncio.Event()

    async def read() -> None:
        async with sr.SitemapReader(allow_private=True) as reader:
            async for _ in reader.urls(TARGET):
                if left.take():
                    reached.set()
                    await asyncio.Event().wait()

    task = asyncio.create_task(read())
    await reached.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def asynchronous(left: Left) -> None:
    asyncio.run(_leave_a_block(left))


def async_without_a_block(left: Left) -> None:
    asyncio.run(_leave(left))


def async_cancelled(left: Left) -> None:
    asyncio.run(_cancel(left))


WAYS = {"sync": sync, "sync, without a block": sync_without_a_block, "sync, in a thread": sync_in_a_thread,
        "sync, in a running loop": sync_in_a_loop, "async": asynchronous,
        "async, without a block": async_without_a_block, "async, cancelled": async_cancelled}


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]


def sockets() -> int:
    """The number of open sockets, where the system shows it."""
    folder = Path("/proc/self/fd")
    links = [os.readlink(path) for path in folder.iterdir() if path.is_symlink()] if folder.is_dir() else []
    return sum(link.startswith("socket:") for link in links)


def main() -> None:
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # slow turns of the loop are not checked here
    before, left = sockets(), Left()
    WAYS[sys.argv[1]](left)
    deadline = time.perf_counter() + MAX_WAIT_SECONDS
    while (threads() or sockets() > before) and time.perf_counter() < deadline:
        time.sleep(0.001)
    seconds = time.perf_counter() - left.at
    print(json.dumps({"urls": left.urls, "seconds": seconds, "threads": threads(), "sockets": sockets() - before}))


if __name__ == "__main__":
    COUNT, TARGET = int(sys.argv[2]), sys.argv[3]
    main()
