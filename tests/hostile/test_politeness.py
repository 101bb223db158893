"""Politeness measured by server logs: delays and retries.

How many requests are sent at once, tests/client/test_reader_pacing.py has. Times are those of the server's clock; no
test requires speed.
"""

import threading
import time
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import kit
import pytest
from faultserver import FaultServer, Script, Wire, overlap, page, status
from kit import index, robots, urlset

import sitemap_reader as sr

pytestmark = pytest.mark.slow

MOST_SECONDS = 30.0


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
