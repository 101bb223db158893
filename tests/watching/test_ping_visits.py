"""What a ping brings: a visit at once, unless the budget, the host or the history of pings holds it back."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from watched_sites import MemoryWeb, VirtualClock, Watch, failing, index, urlset, watching

from sitemap_reader.watching import Ping, SiteQuery, SiteStatus

pytestmark = pytest.mark.usefixtures("virtual_time")

ROBOTS = "https://a.test/robots.txt"
ONE = "https://a.test/one.xml"
TWO = "https://a.test/two.xml"
AT_ONCE = timedelta(seconds=5)


class Site:
    """A watch of a site with two sitemaps, at a clock of its own, with many requests an hour."""

    def __init__(self, watch: Watch, web: MemoryWeb, clock: VirtualClock) -> None:
        self.watch, self.web, self.clock = watch, web, clock
        self._urls = 0

    def change(self, url: str = TWO) -> None:
        self._urls += 1
        self.web.pages[url] = urlset(*(f"https://a.test/{number}" for number in range(self._urls)))

    async def ping(self, url: str = TWO) -> datetime:
        """When it was sent."""
        await self.watch.watcher.ping(Ping(url, self.clock.now, known=True))
        return self.clock.now

    async def run(self, seconds: float) -> None:
        await self.watch.run(minutes=seconds / 60)

    async def wait(self, pinged: datetime, url: str = TWO, most: float = 5) -> timedelta | None:
        """The time from a ping to the request, if it comes within so many seconds."""
        await self.run(most)
        return next((at - pinged for at, each in self.web.requests if each == url and at >= pinged), None)

    async def status(self, site: int = 0) -> SiteStatus:
        return self.watch.watcher.sites(SiteQuery()).sites[site]


@asynccontextmanager
async def watched(folder: Path, pages: Mapping[str, Any] | None = None, **options: Any) -> AsyncIterator[Site]:
    """The watch of the site, which has these pages too, after its first visit."""
    web = MemoryWeb(VirtualClock())
    web.pages[ROBOTS] = f"Sitemap: {ONE}\nSitemap: {TWO}\n".encode()
    web.pages[ONE] = urlset("https://a.test/one")
    web.pages.update(pages or {})
    async with watching(folder / "s.db", web, **{"budget": 3_600, "host_budget": 1_200, **options}) as watch:
        site = Site(watch, web, web.clock)
        site.change()
        await site.run(90)
        yield site


def pages_of(*hosts: str) -> dict[str, bytes]:
    """Sites of one sitemap with one URL."""
    robots = {f"{host}robots.txt": f"Sitemap: {host}s.xml\n".encode() for host in hosts}
    return {**robots, **{f"{host}s.xml": urlset(f"{host}page") for host in hosts}}


@pytest.mark.parametrize("seconds_after_a_visit", [1, 29, 59])
async def test_a_ping_brings_a_visit_at_once_however_short_ago_the_last_one_was(
    tmp_path: Path, seconds_after_a_visit: float
) -> None:
    async with watched(tmp_path, least_interval=60) as site:
        site.change()
        await site.ping()
        await site.run(seconds_after_a_visit)
        site.change()
        assert await site.wait(await site.ping()) == timedelta(0)
        assert (await site.watch.changes())[-1] == ("new", "a.test/2")


async def test_pings_after_which_something_had_changed_are_never_held_back(tmp_path: Path) -> None:
    async with watched(tmp_path) as site:
        for _ in range(12):
            site.change()
            assert await site.wait(await site.ping()) == timedelta(0)
            assert (await site.status()).pings_held_until is None
            await site.run(20)


async def test_a_ping_of_a_child_of_an_index_requests_that_child_alone(tmp_path: Path) -> None:
    listing = "https://a.test/index.xml"
    pages = {ROBOTS: f"Sitemap: {listing}\n".encode(), listing: index({ONE: None, TWO: None})}
    async with watched(tmp_path, pages, least_interval=3_600) as site:
        await site.run(600)
        site.change()
        pinged = await site.ping()
        assert await site.wait(pinged, most=1) == timedelta(0)
        assert [url for at, url in site.web.requests if at == pinged] == [TWO]


async def test_a_ping_during_a_visit_brings_another_one(tmp_path: Path) -> None:
    """The visit may have requested the document before it changed."""
    async with watched(tmp_path, least_interval=86_400) as site:
        site.web.gate = asyncio.Event()
        site.change()
        pinged = await site.ping()
        await site.run(1)  # the request waits for its response
        for _ in range(5):
            await site.ping()
        opened, site.web.gate = site.web.gate, None
        opened.set()
        await site.run(5)
        assert [url for at, url in site.web.requests if at >= pinged] == [TWO, TWO]


async def test_pings_that_were_wrong_hold_later_ones_back_and_sites_state_it(tmp_path: Path) -> None:
    async with watched(tmp_path, least_interval=86_400) as site:
        waits = []
        for _ in range(10):
            status = await site.status()
            pinged = await site.ping()
            waits.append(await site.wait(pinged, most=900))
            if status.pings_held_until is not None:
                assert waits[-1] == status.pings_held_until - pinged
                assert "nothing had changed after" in (status.pings_held_because or "")
            else:
                assert waits[-1] == timedelta(0)
        assert waits[:4] == [timedelta(0)] * 4

        status = await site.status()
        assert status.pings_held_until is None  # the last one was long ago
        pinged = await site.ping()
        assert await site.wait(pinged) == timedelta(0)
        status = await site.status()
        assert status.pings_held_until == pinged + timedelta(minutes=11 - 3)
        assert status.pings_held_because == "nothing had changed after 11 of the last 11 pings"
        site.change()
        pinged = await site.ping()
        assert (await site.status()).next_visit == status.pings_held_until
        assert await site.wait(pinged, most=3_600) == status.pings_held_until - pinged


async def test_wrong_pings_of_a_site_do_not_hold_back_another_of_its_domain(tmp_path: Path) -> None:
    other = "https://shop.a.test/"
    async with watched(tmp_path, pages_of(other), hosts=["https://a.test/", other], least_interval=86_400) as site:
        for _ in range(8):
            await site.ping(f"{other}s.xml")
            await site.run(600)
        await site.ping(f"{other}s.xml")
        await site.run(1)
        assert (await site.status(1)).pings_held_because == "nothing had changed after 9 of the last 9 pings"
        site.change()
        assert await site.wait(await site.ping()) < AT_ONCE
        status = await site.status()
        assert (status.pings_held_until, status.pings_held_because) == (None, None)


async def test_a_history_of_wrong_pings_is_made_good_by_right_ones(tmp_path: Path) -> None:
    async with watched(tmp_path, least_interval=86_400) as site:
        for _ in range(8):
            await site.ping()
            await site.run(1_200)
        for _ in range(2):
            site.change()
            await site.ping()
            await site.run(1_200)
        for _ in range(2):
            site.change()
            assert await site.wait(await site.ping()) == timedelta(0)
        assert (await site.status()).pings_held_until is None


@pytest.mark.slow
async def test_wrong_pings_of_many_documents_bring_few_visits(tmp_path: Path) -> None:
    children = [f"https://a.test/{number}.xml" for number in range(60)]
    robots = "".join(f"Sitemap: {child}\n" for child in children).encode()
    pages = {ROBOTS: robots, **{child: urlset(f"{child}/page") for child in children}}
    async with watched(tmp_path, pages, least_interval=86_400) as site:
        await site.run(3_600)
        began = site.clock.now
        for child in children:
            await site.ping(child)
            await site.run(60)
        times = sorted(at for at, url in site.web.requests if at >= began and url in children)
        assert len(times) <= 20
        gaps = [later - earlier for earlier, later in pairwise(times)]
        assert gaps[-1] >= timedelta(minutes=5)


async def test_the_budget_of_the_host_holds_a_ping_back_no_longer_than_it_must(tmp_path: Path) -> None:
    async with watched(tmp_path, host_budget=60) as site:
        for _ in range(3):
            site.change()
            await site.ping()
            await site.run(61)
        for _ in range(5):
            site.change()
            pinged = await site.ping()
            at = (await site.status()).next_visit
            assert await site.wait(pinged, most=120) == at - pinged <= timedelta(seconds=60.1)


async def test_a_crawl_delay_holds_a_ping_back(tmp_path: Path) -> None:
    robots = f"User-agent: *\nCrawl-delay: 20\nSitemap: {TWO}\n".encode()
    async with watched(tmp_path, {ROBOTS: robots}, least_interval=3_600) as site:
        site.change()
        first = await site.ping()
        await site.wait(first)
        site.change()
        second = await site.ping()
        at = (await site.status()).next_visit
        assert await site.wait(second, most=30) == at - second
        assert timedelta(seconds=10) < at - second <= timedelta(seconds=20)


# --- the least interval ---


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [30.0, 60.0, 300.0])
async def test_a_sitemap_is_requested_once_in_the_least_interval_at_most(tmp_path: Path, seconds: float) -> None:
    async with watched(tmp_path, least_interval=seconds) as site:
        await site.run(900)
        times = [at for at, url in site.web.requests if url == TWO]
        gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
        assert min(gaps) >= seconds
        assert min(gaps) < 1.5 * seconds  # the budget permits so many


# --- when the next visit is ---


@pytest.mark.slow
async def test_the_next_visit_is_when_it_is_reported(tmp_path: Path) -> None:
    hosts = [f"https://{name}.test/" for name in "abcd"]
    pages = {**pages_of(*hosts[1:]), f"{hosts[3]}robots.txt": failing()}
    async with watched(tmp_path, pages, hosts=hosts, budget=36_000, host_budget=3_000) as site:
        for step in range(30):
            stated = [(await site.status(number)) for number in range(4)]
            if step % 4 == 1:
                site.change()
                pinged = await site.ping()
                stated[0] = await site.status()
                assert stated[0].next_visit <= pinged + AT_ONCE
            await site.run(40)
            for status, now in zip(stated, [await site.status(number) for number in range(4)], strict=True):
                if not timedelta(seconds=-2) < status.next_visit - site.clock.now < timedelta(seconds=2):
                    is_due = status.next_visit < site.clock.now
                    assert is_due == (now.last_visit >= status.next_visit), (status, now)


async def test_a_failing_site_of_the_same_domain_delays_nothing(tmp_path: Path) -> None:
    """Its backoff is its own; all sites of the domain had waited for it, with a next visit that was always now."""
    fails = "https://shop.a.test/"
    options = {"hosts": ["https://a.test/", fails], "budget": 36_000, "host_budget": 3_000}
    async with watched(tmp_path, {f"{fails}robots.txt": failing()}, **options) as site:
        assert (await site.status(1)).backoff_until > site.clock.now + timedelta(minutes=1)
        site.change()
        pinged = await site.ping()
        assert await site.wait(pinged) < AT_ONCE
        before = await site.status()
        await site.run(600)
        assert before.next_visit <= (await site.status()).last_visit


async def test_sites_that_wait_for_the_budget_state_until_when(tmp_path: Path) -> None:
    hosts = [f"https://{name}.test/" for name in "abcdefgh"]
    async with watched(tmp_path, pages_of(*hosts), hosts=hosts, budget=12, host_budget=12) as site:
        await site.run(3_600)
        for _ in range(10):
            stated = [(await site.status(number)).next_visit for number in range(8)]
            assert len([at for at in stated if at <= site.clock.now]) <= 1
            await site.run(60)


async def test_a_visit_under_way_is_reported(tmp_path: Path) -> None:
    async with watched(tmp_path) as site:
        site.web.gate = asyncio.Event()
        pinged = await site.ping()
        await site.run(1)
        assert (await site.status()).visiting_since == pinged
        opened, site.web.gate = site.web.gate, None
        opened.set()
        await site.run(1)
        assert (await site.status()).visiting_since is None
