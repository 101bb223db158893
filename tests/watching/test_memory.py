"""What a watcher keeps in memory does not grow with its visits, nor with pings."""

from itertools import pairwise
from pathlib import Path

import pytest
from watched_sites import MemoryWeb, VirtualClock, urlset, watching

from sitemap_reader.client import site_target
from sitemap_reader.watching import Budget, DayCounts, Ping, Schedule, WatchedSite

pytestmark = pytest.mark.usefixtures("virtual_time")


def a_site() -> MemoryWeb:
    web = MemoryWeb(VirtualClock())
    web.pages["https://a.test/robots.txt"] = b"Sitemap: https://a.test/one.xml\n"
    web.pages["https://a.test/one.xml"] = urlset("https://a.test/a")
    return web


@pytest.mark.slow
async def test_requests_are_remembered_for_an_hour(tmp_path: Path) -> None:
    web = a_site()
    async with watching(tmp_path / "s.db", web, budget=10) as watch:
        await watch.run(hours=12)
        assert len(web.requests) > 60
        assert len(watch.watcher._requests) <= 15
        assert watch.watcher.totals().requests_last_hour <= 15


@pytest.mark.slow
async def test_a_site_has_one_timer_after_any_number_of_pings(tmp_path: Path) -> None:
    web = a_site()
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(minutes=1)
        for number in range(20):
            await watch.watcher.ping(Ping(f"https://a.test/{number}.xml", web.clock.now, known=False))
        await watch.run(hours=25)
        assert len(watch.watcher._timers) == 1


def test_sites_are_not_all_due_at_the_same_time() -> None:
    """robots.txt is due after 18 to 24 hours, spread over sites, and for each site always after the same time."""
    schedule = Schedule(Budget(100))
    names = [f"https://{number}.test/" for number in range(500)]
    sites = [WatchedSite(name, site_target(name), schedule) for name in names]
    for site in sites:
        site.robots_at = 1_000_000.0
    hours = sorted((site.next_robots - 1_000_000.0) / 3600 for site in sites)
    assert 18 <= hours[0] < 18.1
    assert 23.9 < hours[-1] <= 24
    assert max(later - earlier for earlier, later in pairwise(hours)) < 0.2


def test_counts_are_those_of_a_day() -> None:
    day = DayCounts()
    for hour in range(50):
        day.add(hour * 3600.0, (1, 0, 2, 3, 4))
        day.add(hour * 3600.0 + 3599, (0, 1, 0, 0, 0))
    assert day.totals(49 * 3600.0) == (24, 24, 48, 72, 96)
    assert day.totals(60 * 3600.0) == (13, 13, 26, 39, 52)
    assert day.totals(90 * 3600.0) == (0, 0, 0, 0, 0)
