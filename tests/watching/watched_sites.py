"""A watch on sites in memory, at a clock of its own: nothing waits for real time.

Tests with watching() need the fixture `virtual_time`, by which the watch knows when all has been done.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import attrs
from change_logs import all_entries

from sitemap_reader import FetchError, Limits
from sitemap_reader.client import Crawler, site_target
from sitemap_reader.fetch import AsyncChunks, Response
from sitemap_reader.state import State
from sitemap_reader.watching import LEAST_INTERVAL_SECONDS, Budget, Watcher, WatchPlan

if TYPE_CHECKING:
    from virtual_time import VirtualTimeLoop  # which a process that imports this module does not find

NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
START = datetime(2026, 3, 2, tzinfo=UTC)


def urlset(*locs: str, lastmod: datetime | None = None) -> bytes:
    """A sitemap of these URLs."""
    date = f"<lastmod>{lastmod.isoformat()}</lastmod>" if lastmod else ""
    return f"<urlset {NAMESPACE}>{''.join(f'<url><loc>{loc}</loc>{date}</url>' for loc in locs)}</urlset>".encode()


def index(children: Mapping[str, datetime | None]) -> bytes:
    """An index of these children with their lastmods."""
    entries = [
        f"<sitemap><loc>{loc}</loc>{f'<lastmod>{at.isoformat()}</lastmod>' if at else ''}</sitemap>"
        for loc, at in children.items()
    ]
    return f"<sitemapindex {NAMESPACE}>{''.join(entries)}</sitemapindex>".encode()


class VirtualClock:
    """The time of a test: sleep() ends when run() has come so far."""

    def __init__(self) -> None:
        self.now = START
        self._sleepers: list[tuple[datetime, int, asyncio.Future[None]]] = []
        self._order = count()

    def __call__(self) -> datetime:
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Waits until the time has come."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._sleepers, (self.now + timedelta(seconds=seconds), next(self._order), woken))
        await woken

    async def run(self, seconds: float, settle: Callable[[], Any]) -> None:
        """Lets the time pass; `settle` waits until what woke up has done its work."""
        end = self.now + timedelta(seconds=seconds)
        await settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            at, _, woken = heappop(self._sleepers)
            if not woken.done():
                self.now = max(self.now, at)
                woken.set_result(None)
                await settle()
        self.now = end


@attrs.frozen
class FastClock:
    """`speed` seconds pass in each second since `start`, in seconds since 1970."""

    start: float
    speed: float

    def __call__(self) -> datetime:
        return datetime.fromtimestamp(self.start + (time.time() - self.start) * self.speed, UTC)

    async def sleep(self, seconds: float) -> None:
        """Waits for so many seconds of this clock."""
        await asyncio.sleep(seconds / self.speed)


class MemoryWeb:
    """A Fetcher for URLs in memory. `pages` has bodies, statuses, headers or exceptions; `requests` what was requested.

    A body is answered with an ETag, and with 304 to a request that has it. Those in `silent` are never answered, those
    in `cookies` send a client without this cookie once more to the same URL.
    """

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.pages: dict[str, bytes | int | Exception | tuple[int, dict[str, str]]] = {}
        self.requests: list[tuple[datetime, str]] = []
        self.headers: dict[str, dict[str, str]] = {}
        self.gate: asyncio.Event | None = None  # responses wait for it
        self.silent: set[str] = set()
        self.cookies: dict[str, str] = {}

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        """The response of a URL; 404 for one that is not there."""
        self.requests.append((self.clock.now, url))
        if self.gate is not None:
            await self.gate.wait()
        if url in self.silent:
            await asyncio.Event().wait()
        page = self.pages.get(url, 404)
        cookie = self.cookies.get(url)
        if cookie and headers.get("Cookie") != cookie:
            page = 302, {"Location": url, "Set-Cookie": f"{cookie}; Path=/"}
        if isinstance(page, Exception):
            raise page
        if isinstance(page, bytes):
            tag = f'"{hash(page)}"'
            status, fields, body = (304 if headers.get("If-None-Match") == tag else 200), {"ETag": tag}, page
        else:
            status, fields, body = *((page, {}) if isinstance(page, int) else page), b""
        fields = {"Date": format_datetime(self.clock.now, usegmt=True), **fields, **self.headers.get(url, {})}
        yield Response(status, fields, AsyncChunks(iter([body] if status == 200 else [])), url)

    def requested(self, since: datetime | None = None) -> list[str]:
        """The URLs of the requests, as paths."""
        return [url.partition("//")[2] for at, url in self.requests if since is None or at >= since]


class Watch:
    """A running watch on a MemoryWeb."""

    def __init__(self, watcher: Watcher, web: MemoryWeb, task: asyncio.Task[None]) -> None:
        self.watcher, self.web, self.clock, self.task = watcher, web, web.clock, task

    async def settle(self) -> None:
        """Waits until no visit is under way, and the watcher sleeps."""
        loop = cast("VirtualTimeLoop", asyncio.get_running_loop())
        await loop.idle()
        while not self.task.done() and self.watcher.is_busy and self.web.gate is None:
            await asyncio.sleep(0.1)  # the visit waits for a delay or a limit of time
            await loop.idle()

    async def run(self, *, minutes: float = 0, hours: float = 0, days: float = 0) -> datetime:
        """Lets the time pass, and returns the time when it began."""
        began = self.clock.now
        await self.clock.run(minutes * 60 + hours * 3600 + days * 86_400, self.settle)
        if self.task.done():
            self.task.result()
        return began

    async def changes(self) -> list[tuple[str, str]]:
        """(kind, URL) of all changes in the log."""
        return [(line["change"], line["loc"].partition("//")[2]) for line in await self.lines()]

    async def lines(self) -> list[dict[str, Any]]:
        """The lines of the log."""
        entries = await all_entries(self.watcher.feed)
        return [json.loads(line) for entry in entries for line in entry.lines.splitlines()]


@asynccontextmanager
async def watching(
    path: Path,
    web: MemoryWeb,
    hosts: Iterable[str] = ("https://a.test/",),
    *,
    budget: float = 4,
    host_budget: float | None = None,
    least_interval: float = LEAST_INTERVAL_SECONDS,
    state: State | None = None,
    keep_log: timedelta = timedelta(days=1_000),
    limits: Limits = Limits(),  # noqa: B008 - frozen
    **plan: Any,
) -> AsyncIterator[Watch]:
    """A watch on hosts of `web` at its clock, with its state in the file `path`."""
    crawler = Crawler(fetcher=web, limits=limits)
    clock = web.clock
    made = WatchPlan(
        Budget(budget, host_budget, least_interval), crawler, keep_log=keep_log, clock=clock, sleep=clock.sleep, **plan
    )
    state = state or State(path, create=True, shared_by=4)
    async with Watcher([site_target(host) for host in hosts], state, made) as watcher:
        task = asyncio.create_task(watcher.run())
        watch = Watch(watcher, web, task)
        try:
            yield watch
        finally:
            watcher.stop()
            if web.gate is None:
                await task
            else:
                await asyncio.gather(task, return_exceptions=True)


def failing(message: str = "connection refused") -> FetchError:
    """A failure that is not repeated at once."""
    return FetchError(message, transient=False)
