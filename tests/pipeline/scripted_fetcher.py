"""A Fetcher with scripted responses, and crawls with it, for the tests of the pipeline."""

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

import attrs
import kit
from kit import index

from sitemap_reader import Outcome
from sitemap_reader.fetch import Response
from sitemap_reader.frontier import Frontier, Plan, parse_target
from sitemap_reader.model import items_of
from sitemap_reader.parser import FeedFallback
from sitemap_reader.pipeline import Crawl

SITE = "https://shop.example"
ROBOTS = f"{SITE}/robots.txt"
MAP = f"{SITE}/sitemap.xml"


def urlset(*locs: str, **fields: str) -> bytes:
    return kit.urlset(*locs, **{"lastmod": "2026-01-01", **fields})


def many(count: int) -> bytes:
    return urlset(*(f"{SITE}/page/{number}" for number in range(count)))


@attrs.define
class Clock:
    """A clock that advances only with the seconds of a page."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@attrs.define
class Page:
    """A response: a body in chunks, each after some seconds on the clock; then perhaps an error."""

    pieces: list[bytes] = attrs.field(factory=list)
    status: int = 200
    headers: dict[str, str] = attrs.field(factory=dict)
    error: BaseException | None = None
    seconds: float = 0.0
    gate: asyncio.Event | None = None
    prompt: bool = False  # the event loop has no turn between two chunks
    taken: int = 0


@attrs.define
class Played:
    """A Fetcher of URL -> responses, one by one; the last stays. Counts open responses."""

    pages: dict[str, list[Page]]
    clock: Clock = attrs.field(factory=Clock)
    requested: list[str] = attrs.field(factory=list)
    open: set[str] = attrs.field(factory=set)

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        self.requested.append(url)
        answers = self.pages.get(url, [Page(status=404)])
        page = answers.pop(0) if len(answers) > 1 else answers[0]
        if page.error and not page.pieces:
            raise page.error
        self.open.add(url)
        try:
            async with aclosing(self.chunks(page)) as chunks:
                yield Response(page.status, page.headers, chunks, url)
        finally:
            self.open.remove(url)

    async def chunks(self, page: Page) -> AsyncGenerator[bytes, None]:
        for piece in page.pieces:
            if not page.prompt:
                await asyncio.sleep(0)
            if page.gate:
                await page.gate.wait()
            self.clock.now += page.seconds
            page.taken += 1
            yield piece
        if page.error:
            raise page.error


def page(*pieces: bytes, **more: Any) -> list[Page]:
    return [Page(list(pieces), **more)]


def robots(*sitemaps: str) -> list[Page]:
    return page(kit.robots(*sitemaps))


def start(
    target: str, fetcher: Played, *, feed_fallback: FeedFallback | None = None, select_children: Any = None,
    **plan: Any,
) -> Crawl:
    return Crawl(
        Frontier([parse_target(target)], Plan(**plan), jitter=lambda: 0.0),
        fetcher,
        feed_fallback=feed_fallback,
        polite=False,
        clock=fetcher.clock,
        select_children=select_children,
    )


async def everything(run: Crawl) -> list[Any]:
    async with asyncio.timeout(10):
        return [item async for batch in run.batches() for item in items_of(batch)]


def read(target: str, pages: dict[str, list[Page]], **options: Any) -> tuple[list[Any], Played]:
    fetcher = Played(pages)
    return asyncio.run(everything(start(target, fetcher, **options))), fetcher


def of(kind: type, items: list[Any]) -> list[Any]:
    return [item for item in items_of(items) if isinstance(item, kind)]


def outcome_of(url: str, items: list[Any]) -> Outcome:
    (found,) = [item for item in items if isinstance(item, Outcome) and item.url == url]
    return found


async def tick(clock: Clock) -> None:
    """The clock advances while a crawl waits for a retry."""
    while True:
        await asyncio.sleep(0.01)
        clock.now += 0.1


def packed(body: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(body) + packer.flush()


# --- a second reading ---

HOST = "https://host.example"
NARROW, PROVEN, SHARED = f"{HOST}/n/index.xml", f"{HOST}/r.xml", f"{HOST}/x/s.xml"


def proven_late(*answers: Page) -> dict[str, list[Page]]:
    """The pages of a site whose sitemap is read with a narrow authority before a wider one is known."""
    return {
        ROBOTS: robots(NARROW),
        NARROW: page(index(SHARED, PROVEN)),
        f"{HOST}/robots.txt": robots(PROVEN),
        PROVEN: page(index(SHARED)),
        SHARED: list(answers),
    }


def mixed(count: int) -> bytes:
    """A urlset; every second page is outside the sitemap's folder."""
    return urlset(*(f"{HOST}/{'x/' * (number % 2)}{number}" for number in range(count)))
