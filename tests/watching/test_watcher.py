"""The watcher against sites in memory: what it requests when, and which changes it logs."""

import asyncio
import json
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from watched_sites import START, MemoryWeb, VirtualClock, Watch, failing, index, urlset, watching

from sitemap_reader import Limits, SitemapReader, StateError
from sitemap_reader.pipeline import ThreadPool
from sitemap_reader.state import State
from sitemap_reader.watching import Delivery, FileSink, Ping, SiteQuery, Stores, watcher

pytestmark = pytest.mark.usefixtures("virtual_time")

ROBOTS = "https://a.test/robots.txt"
ONE = "https://a.test/one.xml"
TWO = "https://a.test/two.xml"
INDEX = "https://a.test/index.xml"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def web(clock: VirtualClock) -> MemoryWeb:
    """A site whose robots.txt names two sitemaps."""
    web = MemoryWeb(clock)
    web.pages[ROBOTS] = f"Sitemap: {ONE}\nSitemap: {TWO}\n".encode()
    web.pages[ONE] = urlset("https://a.test/a", "https://a.test/b")
    web.pages[TWO] = urlset("https://a.test/c")
    return web


async def test_a_first_visit_reports_all_urls(tmp_path: Path, web: MemoryWeb) -> None:
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(minutes=1)
        assert await watch.changes() == [("new", "a.test/a"), ("new", "a.test/b"), ("new", "a.test/c")]
        lines = await watch.lines()
        assert [line["seq"] for line in lines] == [1, 2, 3]
        assert {line["site"] for line in lines} == {"https://a.test/"}
        assert {line["at"] for line in lines} == {"2026-03-02T00:00:00Z"}
    assert web.requested() == ["a.test/robots.txt", "a.test/one.xml", "a.test/two.xml"]


async def first_readings(watch: Watch) -> list[str]:
    return [line["loc"].partition("//")[2] for line in await watch.lines() if line.get("first_reading")]


async def test_the_first_reading_of_a_site_counts_apart_from_changes(tmp_path: Path, web: MemoryWeb) -> None:
    async with watching(tmp_path / "s.db", web) as watch:
        assert watch.watcher.totals().not_visited == 1
        await watch.run(minutes=1)
        totals = watch.watcher.totals()
        (status,) = watch.watcher.sites(SiteQuery()).sites
        assert (totals.new, totals.first_reading, totals.not_visited) == (0, 3, 0)
        assert (status.new, status.first_reading, status.last_change) == (0, 3, None)
        assert watch.watcher.counters.changes == {"new": 0, "updated": 0, "removed": 0, "first_reading": 3}
        # From now on what is new to the watch is new: in a document that it knows, and in one that it does not.
        web.pages[ONE] = urlset("https://a.test/a", "https://a.test/b", "https://a.test/new")
        web.pages[ROBOTS] = f"Sitemap: {ONE}\nSitemap: {TWO}\nSitemap: https://a.test/three.xml\n".encode()
        web.pages["https://a.test/three.xml"] = urlset("https://a.test/three")
        await watch.run(days=1)
        assert await first_readings(watch) == ["a.test/a", "a.test/b", "a.test/c"]
        assert (await watch.changes())[3:] == [("new", "a.test/new"), ("new", "a.test/three")]
        (status,) = watch.watcher.sites(SiteQuery()).sites
        assert status.last_change is not None


async def test_a_first_reading_may_take_several_visits(tmp_path: Path, web: MemoryWeb) -> None:
    """As long as a document of the site was not read, others that are read for the first time belong to it."""
    web.pages[TWO] = 503
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(minutes=1)
        web.pages[ONE] = urlset("https://a.test/a", "https://a.test/b", "https://a.test/new")
        await watch.run(hours=10)
        web.pages[TWO] = urlset("https://a.test/c")
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(days=2)
        assert await first_readings(watch) == ["a.test/a", "a.test/b", "a.test/c"]
        assert ("new", "a.test/new") in await watch.changes()


async def test_after_a_sync_there_is_no_first_reading(tmp_path: Path, web: MemoryWeb) -> None:
    async with SitemapReader(fetcher=web) as reader:
        assert len([change async for change in reader.changes("https://a.test/", state=tmp_path / "s.db")]) == 3
    web.pages[TWO] = urlset("https://a.test/c", "https://a.test/d")
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(hours=5)
        assert await first_readings(watch) == []
        assert await watch.changes() == [("new", "a.test/d")]
        assert watch.watcher.totals().new == 1


@pytest.mark.slow
async def test_a_change_is_found_and_reported_once(tmp_path: Path, web: MemoryWeb) -> None:
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(hours=3)
        web.pages[ONE] = urlset("https://a.test/a", "https://a.test/b", "https://a.test/new")
        changed_at = await watch.run(days=2)
        assert (await watch.changes())[3:] == [("new", "a.test/new")]
        found = (await watch.lines())[-1]["at"]
        assert changed_at.isoformat() <= found < (changed_at + timedelta(hours=12)).isoformat()


@pytest.mark.slow
async def test_robots_txt_is_requested_once_a_day(tmp_path: Path, web: MemoryWeb) -> None:
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(hours=17.9)
        assert web.requested().count("a.test/robots.txt") == 1
        assert len(web.requests) > 10
        await watch.run(days=4)
        times = [at for at, url in web.requests if url == ROBOTS]
        gaps = [(later - earlier).total_seconds() / 3600 for earlier, later in pairwise(times)]
        assert len(gaps) >= 4
        assert 18 <= min(gaps) <= max(gaps) <= 24.1


@pytest.mark.slow
async def test_rules_of_a_stored_robots_txt_hold(tmp_path: Path, web: MemoryWeb) -> None:
    web.pages[ROBOTS] = f"User-agent: *\nDisallow: /two\nSitemap: {ONE}\nSitemap: {TWO}\n".encode()
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(days=5)
    assert set(web.requested()) == {"a.test/robots.txt", "a.test/one.xml"}


@pytest.mark.slow
async def test_a_sitemap_that_changes_is_requested_more_often(tmp_path: Path, web: MemoryWeb) -> None:
    async with watching(tmp_path / "s.db", web, budget=3) as watch:
        for number in range(5 * 24):
            web.pages[ONE] = urlset(f"https://a.test/{number}")
            await watch.run(hours=1)
        half = web.clock.now - timedelta(days=2)
        counts = Counter(web.requested(half))
        assert counts["a.test/one.xml"] > 3 * counts["a.test/two.xml"] > 0


@pytest.mark.slow
async def test_lastmods_of_an_index_decide_what_is_requested(tmp_path: Path, web: MemoryWeb) -> None:
    """Children whose lastmods are right are requested when these change, and hardly in between."""
    children = [f"https://a.test/child{number}.xml" for number in range(10)]
    dates = dict.fromkeys(children, START - timedelta(days=30))
    web.pages[ROBOTS] = f"Sitemap: {INDEX}\n".encode()
    web.pages.update({child: urlset(f"{child}/page") for child in children})
    web.pages[INDEX] = index(dates)
    async with watching(tmp_path / "s.db", web, budget=6) as watch:
        await watch.run(hours=2)
        for number in range(48):
            dates[children[number % 2]] = web.clock.now
            web.pages[children[number % 2]] = urlset(f"{children[0]}/{number}")
            web.pages[INDEX] = index(dates)
            await watch.run(hours=2)
        counts = Counter(web.requested(web.clock.now - timedelta(days=2)))
        quiet = [counts[child.partition("//")[2]] for child in children[2:]]
        busy = [counts[child.partition("//")[2]] for child in children[:2]]
        assert min(busy) >= 8
        assert max(quiet) * 2 <= min(busy)
        assert len([change for change in await watch.changes() if change[0] == "new"]) >= 10 + 40


@pytest.mark.slow
async def test_a_url_that_moves_to_another_sitemap_is_no_change(tmp_path: Path, web: MemoryWeb) -> None:
    """Also if the sitemap that it left is looked at long before the other one."""
    async with watching(tmp_path / "s.db", web, budget=1) as watch:
        for number in range(40):  # ONE often changes, TWO never
            web.pages[ONE] = urlset("https://a.test/moves", f"https://a.test/{number}")
            await watch.run(hours=2)
        before = len(await watch.changes())
        web.pages[ONE] = urlset("https://a.test/stays")
        web.pages[TWO] = urlset("https://a.test/c", "https://a.test/moves")
        moved_at = await watch.run(days=10)
        assert ("new", "a.test/stays") in (await watch.changes())[before:]
        assert "a.test/moves" not in [loc for _, loc in (await watch.changes())[before:]]
        looked = [at for at, url in web.requests if url == TWO and at >= moved_at]
        first = [at for at, url in web.requests if url == ONE and at >= moved_at]
        assert first[0] < looked[0]


@pytest.mark.slow
async def test_a_removal_waits_until_all_sitemaps_were_looked_at(tmp_path: Path, web: MemoryWeb) -> None:
    async with watching(tmp_path / "s.db", web, budget=1) as watch:
        await watch.run(days=2)
        web.pages[ONE] = urlset("https://a.test/a")
        removed_at = await watch.run(days=8)
        assert (await watch.changes())[3:] == [("removed", "a.test/b")]
        reported_at = (await watch.lines())[-1]["at"]
        looks = {url: min(at for at, each in web.requests if each == url and at > removed_at) for url in (ONE, TWO)}
        assert datetime.fromisoformat(reported_at) == max(looks.values())


@pytest.mark.slow
async def test_requests_keep_to_the_budget(tmp_path: Path, clock: VirtualClock) -> None:
    """With five times as many sitemaps as requests an hour: after the first ones, no hour has more."""
    web, budget = MemoryWeb(clock), 12
    children = [f"https://a.test/{number}.xml" for number in range(budget * 5)]
    web.pages[ROBOTS] = f"Sitemap: {INDEX}\n".encode()
    web.pages[INDEX] = index(dict.fromkeys(children))
    web.pages.update({child: urlset(f"{child}/page") for child in children})
    async with watching(tmp_path / "s.db", web, budget=budget) as watch:
        await watch.run(hours=8)
        assert len(await watch.changes()) == len(children)
    hours = Counter(int((at - START).total_seconds() // 3600) for at, _ in web.requests)
    burst = max(budget / 4, 4)
    assert max(hours.values()) <= budget + burst + 1
    assert sum(hours.values()) <= budget * 8 + burst + 1
    assert hours[3] > budget * 0.7


@pytest.mark.slow
async def test_a_domain_keeps_to_its_own_budget(tmp_path: Path, clock: VirtualClock) -> None:
    web = MemoryWeb(clock)
    hosts = ["https://a.test/", "https://www.b.test/", "https://shop.b.test/"]
    for host in hosts:
        web.pages[f"{host}robots.txt"] = f"Sitemap: {host}s.xml\n".encode()
        web.pages[f"{host}s.xml"] = index({f"{host}{number}.xml": None for number in range(40)})
        web.pages.update({f"{host}{number}.xml": urlset(f"{host}{number}") for number in range(40)})
    async with watching(tmp_path / "s.db", web, hosts, budget=10_000, host_budget=20) as watch:
        await watch.run(hours=10)
    by_domain = Counter(url.split("/")[2].removeprefix("www.").removeprefix("shop.") for _, url in web.requests)
    burst = 5  # of a quarter of an hour; robots.txt and the index are requested without a look at the budget
    assert by_domain["a.test"] <= 20 * 10 + burst + 2
    assert by_domain["b.test"] <= 20 * 10 + burst + 4
    assert by_domain["b.test"] > 20 * 8


@pytest.mark.slow
async def test_a_host_in_trouble_backs_off(tmp_path: Path, web: MemoryWeb) -> None:
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(hours=5)
        for url in (ROBOTS, ONE, TWO):
            web.pages[url] = failing()
        failed_at = await watch.run(days=4)
        visits = sorted({at for at, _ in web.requests if at >= failed_at})
        gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(visits)]
        gaps = [gap for gap in gaps if gap > 60]  # of one visit
        assert 8 <= len(gaps) <= 16
        assert gaps == sorted(gaps) or max(gaps) > 12 * 3600
        assert max(gaps) <= 86_400 * 1.3
        (status,) = watch.watcher.sites(SiteQuery()).sites
        assert status.failing_since is not None
        assert status.backoff_until is not None
        assert "connection refused" in status.faults[0].message
        web.pages[ROBOTS] = f"Sitemap: {ONE}\nSitemap: {TWO}\n".encode()
        web.pages[ONE] = urlset("https://a.test/a", "https://a.test/b", "https://a.test/again")
        web.pages[TWO] = urlset("https://a.test/c")
        await watch.run(days=2)
        assert (await watch.changes())[3:] == [("new", "a.test/again")]
        (status,) = watch.watcher.sites(SiteQuery()).sites
        assert (status.failing_since, status.backoff_until) == (None, None)


@pytest.mark.slow
async def test_a_retry_after_is_waited_for(tmp_path: Path, web: MemoryWeb) -> None:
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(hours=2)
        for url in (ONE, TWO):
            web.pages[url] = 503, {"Retry-After": "20000"}
        refused_at = await watch.run(hours=5)
        requests = [at for at, _ in web.requests if at >= refused_at]
        web.pages[ONE] = web.pages[TWO] = urlset("https://a.test/a")
        await watch.run(hours=5)
        later = [at for at, _ in web.requests if at > requests[-1]]
        assert later[0] - requests[0] >= timedelta(seconds=20_000)


FAR = ["99999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"]


@pytest.mark.slow
@pytest.mark.parametrize("value", FAR)
async def test_a_retry_after_counts_as_a_day_at_most(tmp_path: Path, web: MemoryWeb, value: str) -> None:
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(hours=2)
        for url in (ROBOTS, ONE, TWO):
            web.pages[url] = 503, {"Retry-After": value}
        refused_at = await watch.run(hours=30)
        (status,) = watch.watcher.sites(SiteQuery()).sites
        assert status.next_visit is not None
        assert status.backoff_until is not None
        assert max(status.next_visit, status.backoff_until) <= web.clock() + timedelta(days=1)
        web.pages[ROBOTS] = f"Sitemap: {ONE}\nSitemap: {TWO}\n".encode()
        web.pages[ONE] = web.pages[TWO] = urlset("https://a.test/later")
        await watch.run(hours=30)
        assert any(at > refused_at for at, _ in web.requests)
        assert ("new", "a.test/later") in await watch.changes()


STORED = ("added_at", "visited_at", "changed_at", "failing_since", "failures", "paused_until", "robots_at")


@pytest.mark.slow
@pytest.mark.parametrize("number", [253_402_300_799.0, 1e300, -1e300, 10**400])
async def test_stored_times_of_a_wrong_clock_end_no_visits(tmp_path: Path, web: MemoryWeb, number: float) -> None:
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(hours=2)
    with closing(sqlite3.connect(tmp_path / "s.db")) as state, state:
        (values,) = state.execute("SELECT watch FROM site").fetchone()
        stored = json.dumps(json.loads(values) | dict.fromkeys(STORED, number))
        state.execute("UPDATE site SET watch = ?", (stored,))
    web.pages[ONE] = urlset("https://a.test/later")
    async with watching(tmp_path / "s.db", web) as watch:
        (status,) = watch.watcher.sites(SiteQuery()).sites
        assert status.next_visit is not None
        assert status.next_visit <= web.clock() + timedelta(days=1)
        await watch.run(hours=30)
        assert ("new", "a.test/later") in await watch.changes()


@pytest.mark.slow
async def test_a_visit_that_is_out_of_time_is_a_failed_one(tmp_path: Path, web: MemoryWeb) -> None:
    """What it has read is logged, and no sooner than after the backoff is the rest looked for again."""
    web.silent.add(TWO)
    async with watching(tmp_path / "s.db", web, limits=Limits(site_seconds=0.3)) as watch:
        await watch.run(minutes=1)
        assert await watch.changes() == [("new", "a.test/a"), ("new", "a.test/b")]
        (status,) = watch.watcher.sites(SiteQuery()).sites
        assert status.failing_since == START
        assert status.backoff_until is not None
        assert "S16" in {fault.code for fault in status.faults}
        web.silent.clear()
        healed_at = await watch.run(days=1)
        assert min(at for at, url in web.requests if at >= healed_at) >= status.backoff_until
        assert (await watch.changes())[2:] == [("new", "a.test/c")]
        (status,) = watch.watcher.sites(SiteQuery()).sites
        assert (status.failing_since, status.backoff_until) == (None, None)


def slow_site(web: MemoryWeb, silent: range, children: int = 8) -> list[str]:
    """A site with an index, of whose children some never answer; all children."""
    urls = [f"https://a.test/{number}.xml" for number in range(children)]
    web.pages[ROBOTS] = f"Sitemap: {INDEX}\n".encode()
    web.pages[INDEX] = index(dict.fromkeys(urls))
    web.pages.update({url: urlset(f"{url}/page") for url in urls})
    web.silent.update(urls[number] for number in silent)
    return urls


@pytest.mark.slow
async def test_what_a_visit_has_read_until_its_time_was_over_counts(tmp_path: Path, web: MemoryWeb) -> None:
    """Its documents are known, with their next looks, also those that it had no time for; pings of them, too."""
    children = slow_site(web, range(3, 7))
    async with watching(tmp_path / "s.db", web, budget=3_600, limits=Limits(site_seconds=0.3)) as watch:
        await watch.run(minutes=1)
        totals = watch.watcher.totals()
        assert (totals.documents, totals.urls) == (9, 3)
        assert children[7] not in [url for _, url in web.requests]
        assert all([await watch.watcher.knows(url) for url in (INDEX, *children)])
        (status,) = watch.watcher.sites(SiteQuery()).sites
        assert status.backoff_until is not None
        pinged_at = web.clock.now
        web.silent.clear()
        await watch.watcher.ping(Ping(children[0], web.clock.now, known=True))
        await watch.run(minutes=7)
        again = [url for at, url in web.requests if at > pinged_at]
        assert min(at for at, _ in web.requests if at > pinged_at) >= status.backoff_until
        assert {*again[:6]} == {children[0], *children[3:]}
        assert len(await watch.changes()) == 8
    async with watching(tmp_path / "s.db", web, budget=3_600) as watch:
        assert watch.watcher.totals().documents == 9


@pytest.mark.slow
async def test_the_next_visit_is_for_what_the_last_one_had_no_time_for(tmp_path: Path, web: MemoryWeb) -> None:
    """Also where all documents are due again; those that never answer are not waited for each time."""
    children = slow_site(web, range(4, 8), 12)
    visits: list[tuple[datetime, int]] = []
    note = lambda visit: visits.append((web.clock.now, visit.failures))  # noqa: E731
    limits = Limits(site_seconds=0.3)
    async with watching(
        tmp_path / "s.db", web, budget=36_000, host_budget=36_000, limits=limits, on_visit=note
    ) as watch:
        await watch.run(minutes=1)
        assert {*web.requested()} == {url.partition("//")[2] for url in (ROBOTS, INDEX, *children[:8])}
        for number in range(4):
            web.pages[children[number]] = urlset(f"https://a.test/later/{number}")
        began = await watch.run(minutes=7)
        assert [url for at, url in web.requests if at >= began] == children[4:8]  # these have a second try
        began = await watch.run(minutes=14)
        again = [url for at, url in web.requests if at >= began]
        assert {*again} >= {*children[8:]}
        await watch.run(hours=1)
        assert {loc for _, loc in await watch.changes() if "later" in loc} == {
            f"a.test/later/{number}" for number in range(4)
        }
        assert max(failures for _, failures in visits[2:]) == 1
        gaps = [(later - earlier).total_seconds() for (earlier, _), (later, _) in pairwise(visits[2:])]
        assert max(gaps) <= 300 * 1.25 + 60


@pytest.mark.slow
async def test_a_robots_txt_behind_a_cookie_is_stored_without_its_redirect(tmp_path: Path, web: MemoryWeb) -> None:
    web.cookies[ROBOTS] = "seen=1"
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(hours=17.9)
        assert len(await watch.changes()) == 3
        assert web.requested().count("a.test/robots.txt") == 2
        assert web.requested().count("a.test/one.xml") > 2
        await watch.run(hours=8)
        assert web.requested().count("a.test/robots.txt") == 4


@pytest.mark.slow
async def test_a_crawl_delay_holds_between_visits(tmp_path: Path, web: MemoryWeb) -> None:
    """Within a visit the crawl waits in real time; the next visit begins no sooner either."""
    web.pages[ROBOTS] = f"User-agent: *\nCrawl-delay: 0.5\nSitemap: {ONE}\n".encode()
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(minutes=1)
        (site,) = watch.watcher.watched
        assert site.paused_until == web.requests[-1][0].timestamp() + 0.5


@pytest.mark.slow
async def test_a_restart_continues(tmp_path: Path, web: MemoryWeb) -> None:
    async with watching(tmp_path / "s.db", web, budget=2) as watch:
        for number in range(30):
            web.pages[ONE] = urlset(f"https://a.test/{number}")
            await watch.run(hours=1)
        before = await watch.changes()
        site = watch.watcher.watched[0]
        rate = site.schedule.rate(site.key(ONE)).to_json()
    web.requests.clear()
    async with watching(tmp_path / "s.db", web, budget=2) as watch:
        await watch.run(minutes=1)
        assert await watch.changes() == before
        assert web.requested() == [] or "a.test/robots.txt" not in web.requested()
        site = watch.watcher.watched[0]
        assert site.schedule.rate(site.key(ONE)).to_json() == rate or web.requests
        assert set(site.documents) == {ONE, TWO}


@pytest.mark.slow
async def test_well_known_paths_are_tried_once_a_day(tmp_path: Path, clock: VirtualClock) -> None:
    web = MemoryWeb(clock)
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(hours=17.9)
        first = len(web.requests)
        assert first >= 3
        await watch.run(hours=7)
        assert len(web.requests) == first * 2
        web.pages["https://a.test/sitemap.xml"] = urlset("https://a.test/x")
        await watch.run(hours=24)
        assert await watch.changes() == [("new", "a.test/x")]


@pytest.mark.slow
async def test_a_full_disk_loses_nothing(tmp_path: Path, web: MemoryWeb) -> None:
    state = State(tmp_path / "s.db", create=True, shared_by=4)
    async with watching(tmp_path / "s.db", web, state=state) as watch:
        await watch.run(hours=1)
        pages = state.db.execute("PRAGMA page_count").fetchone()[0]
        state.db.execute(f"PRAGMA max_page_count = {pages}")
        web.pages[ONE] = urlset(*(f"https://a.test/{number}" for number in range(20_000)))
        faults: set[str] = set()
        health: set[str] = set()
        for _ in range(60):
            await watch.run(minutes=5)
            faults.update(watch.watcher.totals().faults)
            health.update(watch.watcher.health().faults)
        (fault,) = faults
        assert "the disk is full" in fault
        assert health == {"the state cannot be read or written"}
        assert len(await watch.changes()) == 3
        state.db.execute("PRAGMA max_page_count = 1000000")
        await watch.run(hours=2)
        assert watch.watcher.health().faults == ()
        new = [loc for kind, loc in await watch.changes() if kind == "new"]
        assert len(new) == len(set(new)) == 20_003


async def test_health_has_no_folder_of_a_sink(tmp_path: Path, web: MemoryWeb) -> None:
    (tmp_path / "out").mkdir()
    sink = FileSink(tmp_path / "out" / "changes.jsonl")
    async with watching(tmp_path / "s.db", web) as watch:
        delivery = Delivery(watch.watcher.feed, sink)
        delivery.status.is_failing, delivery.status.last_error = True, f"cannot write {tmp_path}: disk full"
        watch.watcher.deliveries = [delivery]
        (public,) = watch.watcher.health().sinks
        (status,) = watch.watcher.totals().sinks
        assert (public.name, status.name) == ("file changes.jsonl", sink.name)
        assert public.fault == "its changes are not delivered at present"
        assert status.fault == delivery.status.last_error
        delivery.status.is_failing = False
        assert watch.watcher.health().sinks[0].fault is None
    await sink.close()


async def test_stop_cancels_visits(tmp_path: Path, web: MemoryWeb) -> None:
    async with watching(tmp_path / "s.db", web) as watch:
        web.gate = asyncio.Event()
        while not web.requests:  # noqa: ASYNC110 - a list has no event
            await asyncio.sleep(0.001)
        watch.watcher.stop()
        await asyncio.wait_for(watch.task, 10)


@pytest.mark.slow
async def test_visits_without_a_change_leave_few_runs(tmp_path: Path, web: MemoryWeb) -> None:
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(days=2)
        web.pages[ONE] = urlset("https://a.test/a", "https://a.test/b", "https://a.test/new")
        await watch.run(days=2)
    assert len(web.requests) > 30
    with State(tmp_path / "s.db") as state:
        runs = state.runs()
    assert len(runs) <= 4
    assert [run.new for run in runs if run.new] == [1, 3]


async def test_the_dates_of_a_feed_say_how_often_it_changes(tmp_path: Path, web: MemoryWeb) -> None:
    def feed(name: str, gap: timedelta) -> bytes:
        dates = [format_datetime(web.clock.now - gap * (number + 1), usegmt=True) for number in range(10)]
        link = f"https://a.test/{name}"
        items = [f"<item><link>{link}{n}</link><pubDate>{at}</pubDate></item>" for n, at in enumerate(dates)]
        return f"<rss version='2.0'><channel><title>t</title>{''.join(items)}</channel></rss>".encode()

    web.pages[ONE], web.pages[TWO] = feed("a", timedelta(minutes=20)), feed("b", timedelta(days=5))
    async with watching(tmp_path / "s.db", web, budget=1000) as watch:
        await watch.run(minutes=1)
        (site,) = watch.watcher.watched
        gaps = [1 / site.schedule.rate(site.key(url)).per_second for url in (ONE, TWO)]
        assert gaps == pytest.approx([20 * 60, 5 * 86_400], rel=0.1)


async def test_a_sink_does_not_wait_for_all_visits() -> None:
    thread, done = ThreadPool("state"), list[str]()
    stores = Stores(cast("Any", None), cast("Any", None), cast("Any", None), thread, cast("Any", None))
    visits = [asyncio.create_task(stores.run(done.append, f"visit {number}")) for number in range(50)]
    await asyncio.sleep(0)
    await thread.run(done.append, "sink")
    await asyncio.gather(*visits)
    await thread.close()
    assert done.index("sink") <= 3
    assert [each for each in done if each != "sink"] == [f"visit {number}" for number in range(50)]


@pytest.mark.slow
async def test_a_ping_brings_a_visit(tmp_path: Path, web: MemoryWeb) -> None:
    async with watching(tmp_path / "s.db", web, budget=1) as watch:
        await watch.run(days=3)
        web.pages[TWO] = urlset("https://a.test/c", "https://a.test/pinged")
        await watch.watcher.ping(Ping(TWO, web.clock.now, known=True))
        await watch.run(minutes=61)  # the budget of an hour is used up
        assert (await watch.changes())[-1] == ("new", "a.test/pinged")


async def test_a_ping_of_a_new_sitemap_has_robots_txt_read(tmp_path: Path, web: MemoryWeb) -> None:
    three = "https://a.test/three.xml"
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(hours=2)
        assert not await watch.watcher.knows(three)
        web.pages[ROBOTS] = f"Sitemap: {ONE}\nSitemap: {TWO}\nSitemap: {three}\n".encode()
        web.pages[three] = urlset("https://a.test/third")
        await watch.watcher.ping(Ping(three, web.clock.now, known=False))
        await watch.run(minutes=20)
        assert (await watch.changes())[-1] == ("new", "a.test/third")
        assert await watch.watcher.knows(three)


@pytest.mark.slow
async def test_a_verified_ping_adds_a_site(tmp_path: Path, web: MemoryWeb) -> None:
    url = "https://other.test/s.xml"
    web.pages["https://other.test/robots.txt"] = f"Sitemap: {url}\n".encode()
    web.pages[url] = urlset("https://other.test/page")
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(hours=1)
        await watch.watcher.ping(Ping(url, web.clock.now, known=False))
        await watch.run(minutes=5)
        assert ("new", "other.test/page") in await watch.changes()
        assert watch.watcher.totals().sites == 2
    web.pages[url] = urlset("https://other.test/later")
    async with watching(tmp_path / "s.db", web) as watch:  # it stays one
        assert watch.watcher.totals().sites == 2
        await watch.run(days=2)
        assert ("new", "other.test/later") in await watch.changes()


@pytest.mark.slow
async def test_how_often_pings_were_right_is_known_after_a_restart(tmp_path: Path, web: MemoryWeb) -> None:
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(hours=1)
        for _ in range(8):  # without a change
            await watch.watcher.ping(Ping(TWO, web.clock.now, known=True))
            await watch.run(hours=6)
        before = watch.watcher.watched[0].schedule.source(("ping", "https://a.test/")).precision
        assert before < 0.2
    async with watching(tmp_path / "s.db", web) as watch:
        record = watch.watcher.watched[0].schedule.source(("ping", "https://a.test/"))
        assert record.precision == pytest.approx(before)


async def test_pings_add_a_bounded_number_of_sites(
    tmp_path: Path, web: MemoryWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "MAX_ADDED_SITES", 2)
    async with watching(tmp_path / "s.db", web) as watch:
        for number in range(4):
            await watch.watcher.ping(Ping(f"https://other{number}.test/s.xml", web.clock.now, known=False))
        await watch.run(minutes=1)
        assert watch.watcher.totals().sites == 3


@pytest.mark.slow
async def test_sites_have_their_next_visit_in_any_order(tmp_path: Path, web: MemoryWeb) -> None:
    hosts = ["https://a.test/", "https://b.test/", "https://c.test/"]
    async with watching(tmp_path / "s.db", web, hosts) as watch:
        await watch.run(hours=30)
        by_name = watch.watcher.sites(SiteQuery()).sites
        by_time = watch.watcher.sites(SiteQuery(order="next_visit")).sites
        assert [status.site for status in by_name] == hosts
        assert sorted(by_name, key=lambda status: (status.next_visit, status.site)) == [*by_time]
        assert all(web.clock.now <= status.next_visit <= web.clock.now + timedelta(hours=24) for status in by_name)
        page = watch.watcher.sites(SiteQuery(limit=1, offset=1))
        assert (page.sites, page.total) == (by_name[1:2], 3)


async def test_the_state_is_locked(tmp_path: Path, web: MemoryWeb) -> None:
    async with watching(tmp_path / "s.db", web) as watch:
        await watch.run(minutes=1)
        with pytest.raises(StateError, match="is in use by another run"):
            State(tmp_path / "s.db", create=True)
        with State(tmp_path / "s.db") as opened:
            assert len([*opened.sites()]) == 1


@pytest.mark.slow
async def test_a_robots_txt_of_a_visit_that_was_killed_is_used_for_its_day(tmp_path: Path, web: MemoryWeb) -> None:
    """Its response was stored, but not the values of the site."""
    async with watching(tmp_path / "s.db", web, budget=0.01) as watch:
        await watch.run(minutes=1)
    with sqlite3.connect(tmp_path / "s.db") as db:
        db.execute("UPDATE site SET watch = '{}'")
    db.close()
    visits = []
    note = lambda visit: visits.append(watch.watcher.watched[0].next_robots)  # noqa: E731
    async with watching(tmp_path / "s.db", web, budget=0.01, on_visit=note) as watch:
        began = await watch.run(hours=17.9)
        (at,) = visits
        assert START + timedelta(hours=18) <= datetime.fromtimestamp(at, UTC) <= START + timedelta(hours=24)
        assert web.requested(began) == []
        await watch.run(hours=7)
        assert ROBOTS.partition("//")[2] in web.requested(began)


@pytest.mark.slow
async def test_two_hosts_whose_robots_txt_was_read_at_different_times_are_visited_once_a_day(
    tmp_path: Path, web: MemoryWeb
) -> None:
    web.pages[ROBOTS] = b"Sitemap: https://b.test/b.xml\n"
    web.pages["https://b.test/robots.txt"] = b""
    web.pages["https://b.test/b.xml"] = urlset("https://b.test/1")
    visits = []
    note = lambda visit: visits.append(web.clock.now)  # noqa: E731
    async with watching(tmp_path / "s.db", web, budget=60, on_visit=note) as watch:
        await watch.run(hours=20)
    with sqlite3.connect(tmp_path / "s.db") as db:
        moved = "UPDATE response SET at = at + 3600000000 WHERE url = 'https://b.test/robots.txt'"
        assert db.execute(moved).rowcount == 1
    db.close()
    visits.clear()
    async with watching(tmp_path / "s.db", web, budget=0.01, on_visit=note) as watch:
        await watch.run(hours=72)
    assert len(visits) <= 8


@pytest.mark.parametrize("moved", [False, True])
async def test_a_start_page_is_requested_once_a_day_like_robots_txt(
    tmp_path: Path, web: MemoryWeb, moved: bool
) -> None:
    home, page = "https://a.test/", b"<html><a href='https://a.test/one-sitemap.xml'>Sitemap</a></html>"
    web.pages = {ROBOTS: b"User-agent: *\nAllow: /\n", home: page, "https://a.test/one-sitemap.xml": web.pages[ONE]}
    if moved:
        web.pages |= {home: (301, {"location": "https://www.a.test/"}), "https://www.a.test/": page}
    async with watching(tmp_path / "s.db", web, budget=60) as watch:
        await watch.run(hours=12)
        web.pages["https://a.test/one-sitemap.xml"] = urlset("https://a.test/b", "https://a.test/z")
        await watch.run(hours=60)
        changes = [("new", "a.test/a"), ("new", "a.test/b"), ("new", "a.test/z"), ("removed", "a.test/a")]
        assert sorted(await watch.changes()) == sorted(changes)
    counts = Counter(web.requested())
    starts = [counts[url.partition("//")[2]] for url in (home, "https://www.a.test/") if url in web.pages]
    assert all(3 <= count <= counts["a.test/robots.txt"] <= 5 for count in starts)
    assert counts["a.test/one-sitemap.xml"] > 5
