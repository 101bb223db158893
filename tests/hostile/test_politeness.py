"""Politeness measured by server logs: concurrent requests, delays, and retries.

Times are those of the server's clock; no test requires speed.
"""

import asyncio
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import kit
import pytest
from faultserver import FaultServer, Script, Wire, overlap, page, status
from kit import index, robots, urlset

import sitemap_reader as sr
from sitemap_reader.fetch import AiohttpFetcher
from sitemap_reader.frontier import Frontier, Plan, parse_target
from sitemap_reader.pipeline import Crawl

pytestmark = pytest.mark.slow

MOST_SECONDS = 30.0
# How long a server waits for one request too many: long enough for it to arrive.
LINGER_SECONDS = 0.05


def children(count: int) -> list[str]:
    return [f"/{number}.xml" for number in range(count)]


def crawl_delay(seconds: float) -> Script:
    return page(robots(rules=f"User-agent: *\nCrawl-delay: {seconds}\n"))


def small(wire: Wire) -> object:
    """A sitemap of one page, named like it."""
    return page(urlset(f"{wire.server.url}{wire.exchange.path}.html"))(wire)


def with_index(count: int, child: Script = small, **more: Script) -> Mapping[str, Script]:
    return {"/index.xml": page(index(*children(count))), **dict.fromkeys(children(count), child), **more}


def read(target: str, **options: Any) -> tuple[list[str], sr.Stream[sr.UrlRecord]]:
    found = kit.read(target, scope="any", limits=sr.Limits(), **options)
    return found.locs, found.stream


def starts(server: FaultServer) -> list[float]:
    return [exchange.started for exchange in server.requests()]


class Crowd:
    """A script that responds when `size` requests are in flight, and waits a little for one too many.

    It waits for them only once; at the end there are too few.
    """

    def __init__(self, size: int, *servers: FaultServer) -> None:
        self.size = size
        self.servers = servers
        self.was_there = False

    def __call__(self, wire: Wire) -> object:
        deadline = time.monotonic() + MOST_SECONDS / 3
        while not self.was_there and time.monotonic() < deadline:
            self.was_there = sum(server.in_flight() for server in self.servers) >= self.size
            wire.pause(0.005)
        wire.pause(LINGER_SECONDS)
        return small(wire)


# --- how many at once -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"per_host": 2}, {"per_host": 1}], ids=str)
def test_no_more_requests_are_in_flight_on_a_host_than_per_host(options: dict[str, int]) -> None:
    most = options.get("per_host", 4)
    with FaultServer() as server:
        server.scripts.update({path: [script] for path, script in with_index(15, Crowd(most, server)).items()})
        locs, stream = read(server.url + "/index.xml", **options)
        assert overlap(server) == most
        assert server.connections <= most
    assert (len(locs), stream.complete) == (15, True)


@pytest.mark.parametrize("concurrency", [3, 6])
def test_no_more_requests_are_in_flight_in_all_than_concurrency(concurrency: int) -> None:
    with ExitStack() as running:
        servers = [running.enter_context(FaultServer()) for _ in range(3)]
        crowd = Crowd(concurrency, *servers)
        for server in servers:
            server.scripts.update({path: [crowd] for path in children(4)})
        first = servers[0]
        first.play("/index.xml", page(index(*(server.url + path for server in servers for path in children(4)))))
        locs, stream = read(first.url + "/index.xml", concurrency=concurrency)
        assert overlap(*servers) == concurrency
        assert max(overlap(server) for server in servers) <= min(4, concurrency)
    assert (len(locs), stream.complete) == (12, True)


# --- how far apart --------------------------------------------------------------------------------------------


def test_a_crawl_delay_makes_it_one_in_flight_and_spaces_the_starts() -> None:
    delay, count = 0.2, 5

    def slow(wire: Wire) -> object:
        wire.pause(1.5 * delay)  # by then a second request would be due
        return small(wire)

    with FaultServer(with_index(count)) as server:
        server.play("/robots.txt", crawl_delay(delay))
        server.play("/0.xml", slow)
        locs, _ = read(server.url + "/index.xml")
        assert overlap(server) == 1
        # robots.txt, the index and the children. One may arrive late, and so too close to the next.
        first, *_, last = starts(server)
        assert last - first >= (count + 1) * delay * 0.8
        assert min(later - earlier for earlier, later in pairwise(starts(server))) >= delay * 0.2
    assert len(locs) == count


def test_crawl_delay_applies_to_its_host_only() -> None:
    """The second child of the delayed host is requested after 2 s; by then the other host is finished."""
    with FaultServer({"/robots.txt": crawl_delay(1)}) as calm, FaultServer(with_index(20)) as quick:
        for path in children(2):
            calm.play(path, small)
        listed = [*(calm.url + path for path in children(2)), *(quick.url + path for path in children(20))]
        quick.play("/index.xml", page(index(*listed)))
        locs, _ = read(quick.url + "/index.xml")
        _, _, second, *_ = starts(calm)
        assert max(starts(quick)) < second
        assert overlap(calm) == 1
    assert len(locs) == 22


# --- slow hosts -----------------------------------------------------------------------------------------------


@pytest.mark.smoke
def test_slow_host_does_not_delay_others() -> None:
    """It sends no response until every document of the other host was sent."""
    released = threading.Event()
    waited: list[bool] = []

    def slow(wire: Wire) -> object:
        waited.append(released.wait(MOST_SECONDS / 2))
        return small(wire)

    def counted(wire: Wire) -> object:
        goes_on = small(wire)
        # robots.txt and the index are included
        if sum(each.ended is not None for each in wire.server.requests()) == 32:
            released.set()
        return goes_on

    with FaultServer(dict.fromkeys(children(10), slow)) as slug, FaultServer(with_index(30, counted)) as quick:
        listed = [*(slug.url + path for path in children(10)), *(quick.url + path for path in children(30))]
        quick.play("/index.xml", page(index(*listed)))
        locs, stream = read(quick.url + "/index.xml")
        assert overlap(slug) == 4
        answered = [exchange.ended for exchange in slug.requests() if exchange.path != "/robots.txt"]
        assert max(starts(quick)) < min(answered)
    assert waited == [True] * 10
    assert (len(locs), stream.complete) == (40, True)


# --- retries -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["429 Too Many Requests", "503 Service Unavailable"])
def test_host_gets_no_request_before_its_retry_after_is_over(answer: str) -> None:
    """One of four requests in flight gets a Retry-After; the others end later, and no request is sent meanwhile."""
    crowd = threading.Barrier(4)
    busy: list[float] = []

    def one(wire: Wire) -> object:
        crowd.wait(MOST_SECONDS / 2)
        if wire.exchange.path != "/0.xml":
            wire.pause(0.5)
            return small(wire)
        busy.append(time.monotonic())
        return status(answer, "Retry-After: 1")(wire)

    with FaultServer(with_index(12)) as server:
        for path in children(4):
            server.play(path, one, small)
        locs, stream = read(server.url + "/index.xml")
        reported = busy[0]
        later = [each for each in server.requests() if each.started > reported]
        assert min(each.started for each in later) >= reported + 1
        assert sorted(each.path for each in later) == sorted(["/0.xml", *children(12)[4:]])
    assert (len(locs), stream.complete) == (12, True)


def test_other_hosts_are_requested_during_a_retry_after() -> None:
    with FaultServer() as busy, FaultServer(with_index(8)) as server:
        busy.play("/0.xml", status("429 Too Many Requests", "Retry-After: 1"), small)
        server.play("/index.xml", page(index(busy.url + "/0.xml", *children(8))))
        locs, stream = read(server.url + "/index.xml", per_host=1)
        again = busy.requests("/0.xml")[1].started
        assert max(starts(server)) < again
    assert (len(locs), stream.complete) == (9, True)


def test_retries_of_several_documents_are_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four fail together; each waits for a different, random time."""
    monkeypatch.setattr("sitemap_reader.frontier.host_queue.BACKOFF_SECONDS", 1.0)
    crowd = threading.Barrier(4)

    def fail(wire: Wire) -> object:
        crowd.wait(MOST_SECONDS / 2)
        return status("503 Service Unavailable")(wire)

    chances = iter([0.9, 0.0, 0.3, 0.6])

    async def run(target: str) -> None:
        frontier = Frontier([parse_target(target)], Plan(scope="any"), jitter=lambda: next(chances))
        async with asyncio.timeout(MOST_SECONDS), AiohttpFetcher(user_agent="t", allow_private=True) as fetcher:
            async for _ in Crawl(frontier, fetcher).batches():
                pass

    with FaultServer(with_index(4)) as server:
        for path in children(4):
            server.play(path, fail, small)
        asyncio.run(run(server.url + "/index.xml"))
        tries = [server.requests(path) for path in children(4)]
        assert [len(each) for each in tries] == [2] * 4
        again = sorted(second.started for _, second in tries)
        assert again[0] - max(first.started for first, _ in tries) >= 0.4
        assert min(later - earlier for earlier, later in pairwise(again)) >= 0.1
