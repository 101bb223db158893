"""What a watcher keeps in memory does not grow with its visits, nor with pings."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from watched_sites import MemoryWeb, VirtualClock, urlset, watching

from sitemap_reader.watching.pings import Ping

if TYPE_CHECKING:
    from pathlib import Path


def a_site(clock: VirtualClock) -> MemoryWeb:
    web = MemoryWeb(clock)
    web.pages["https://a.test/robots.txt"] = b"Sitemap: https://a.test/one.xml\n"
    web.pages["https://a.test/one.xml"] = urlset("https://a.test/a")
    return web


def test_requests_are_remembered_for_an_hour(tmp_path: Path) -> None:
    clock = VirtualClock()
    web = a_site(clock)

    async def main() -> None:
        async with watching(tmp_path / "s.db", web, clock, budget=10) as watch:
            await watch.run(hours=12)
            assert len(web.requests) > 60
            assert len(watch.watcher._requests) <= 15
            assert (await watch.watcher.totals()).requests_last_hour <= 15

    asyncio.run(main())


def test_a_site_has_one_timer_after_any_number_of_pings(tmp_path: Path) -> None:
    clock = VirtualClock()
    web = a_site(clock)

    async def main() -> None:
        async with watching(tmp_path / "s.db", web, clock) as watch:
            await watch.run(minutes=1)
            for number in range(20):
                await watch.watcher.ping(Ping(f"https://a.test/{number}.xml", clock.now, known=False))
            await watch.run(hours=25)
            assert len(watch.watcher._timers) == 1

    asyncio.run(main())
