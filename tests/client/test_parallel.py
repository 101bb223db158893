"""snapshot() of several sites: at once, in the order given, within the limits of one reader."""

import asyncio
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


from kit import index, robots, urlset

import sitemap_reader as sr
from sitemap_reader.fetch import Response

URLS = 40
REQUESTS = 10  # of each site: robots.txt, an index, eight sitemaps


class Sites:
    """A Fetcher of any host: an index of eight sitemaps; counts the requests at once, in all and of each host."""

    def __init__(self, seconds: float = 0.01, slow: str = "") -> None:
        self.seconds, self.slow = seconds, slow
        self.now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.order: list[str] = []
        self.bodies: Counter[str] = Counter()
        self.begun_at_once: list[int] = []  # sites, whenever a request ends

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        host = url.split("/")[2]
        if host not in self.order:
            self.order.append(host)
        self.now.update([host, "all"])
        for name in (host, "all"):
            self.most[name] = max(self.most[name], self.now[name])
        try:
            await asyncio.sleep(self.seconds * (20 if host == self.slow else 1))
            yield Response(url=url, status=404 if "bad" in host else 200, headers={}, chunks=self.body(url, host))
        finally:
            self.now.subtract([host, "all"])
            self.bodies[host] += 1
            read_whole = sum(count == REQUESTS for count in self.bodies.values())
            self.begun_at_once.append(len(self.order) - read_whole)

    async def body(self, url: str, host: str) -> AsyncIterator[bytes]:
        if "bad" in host:
            yield b"not found"
        elif url.endswith("robots.txt"):
            yield robots(f"https://{host}/map.xml")
        elif url.endswith("map.xml"):
            of = [f"{number}.{host}" if "wide" in host else host for number in range(8)]
            yield index(*(f"https://{each}/{number}.xml" for number, each in enumerate(of)))
        else:
            number = url.rpartition("/")[2]
            yield urlset(*(f"https://{host}/{number}/{each}" for each in range(URLS // 8)))


def hosts(count: int) -> list[str]:
    return [f"site-{number}.example" for number in range(count)]


def read(targets: list[str], fetcher: Sites, **options: Any) -> sr.Snapshot:
    return sr.snapshot(targets, show_progress=False, fetcher=fetcher, **options)


@pytest.mark.slow
def test_sites_are_read_at_once_and_stay_in_their_order() -> None:
    fetcher = Sites(slow="site-0.example")
    some = read(hosts(4), fetcher)
    assert some.sites == tuple(hosts(4))
    assert some.name == f"{', '.join(hosts(3))}, and 1 more"
    assert Counter(some.urls.to_pandas("site")["site"]) == dict.fromkeys(hosts(4), URLS)
    assert fetcher.most["all"] > 4
    assert (some.complete, some.notes) == (True, ())


@pytest.mark.slow
@pytest.mark.parametrize(("concurrency", "per_host"), [(16, 4), (4, 4), (1, 1), (9, 4), (6, 1), (2, 4)])
def test_limits_hold_for_all_sites_together(concurrency: int, per_host: int) -> None:
    fetcher = Sites(seconds=0.002)
    some = read(hosts(6), fetcher, concurrency=concurrency, per_host=per_host)
    assert len(some.urls) == 6 * URLS
    assert fetcher.most["all"] <= concurrency
    assert max(fetcher.most[host] for host in hosts(6)) <= per_host


def test_sites_of_many_hosts_share_the_requests() -> None:
    fetcher = Sites()
    some = read([f"wide-{number}.example" for number in range(3)], fetcher, concurrency=8, scope="any")
    assert len(some.urls) == 3 * URLS
    assert 4 < fetcher.most["all"] <= 8


def test_hosts_of_one_domain_are_read_one_after_the_other() -> None:
    fetcher = Sites()
    some = read([f"{name}.a.example" for name in ("x", "y", "z")], fetcher)
    assert len(some.sites) == 3
    assert fetcher.most["all"] <= 4


@pytest.mark.slow
def test_waiting_sites_are_not_begun() -> None:
    fetcher = Sites()
    read(hosts(40), fetcher)
    assert len(fetcher.order) == 40
    assert max(fetcher.begun_at_once) <= 4


@pytest.mark.slow
def test_site_that_fails_is_a_note_and_the_order_stays() -> None:
    some = read(["site-1.example", "bad.example", "site-0.example"], Sites())
    assert some.sites == ("site-1.example", "site-0.example")
    assert some.complete is False
    (note,) = some.notes
    assert "bad.example" in note
    with pytest.raises(sr.NothingFound):
        read(["bad.example", "bad-2.example"], Sites())


def test_progress_is_the_sum_of_all_sites() -> None:
    received: list[sr.client.Progress] = []
    read(hosts(5), Sites(), on_progress=received.append)
    counts = [progress.urls for progress in received]
    assert counts == sorted(counts)
    assert (received[-1].urls, received[-1].documents_done) == (5 * URLS, 5 * 9)


def test_stop_returns_what_was_read_of_all_sites() -> None:
    def enough(progress: sr.client.Progress) -> None:
        if progress.urls >= 2 * URLS:
            raise KeyboardInterrupt

    before = threading.active_count()
    fetcher = Sites(slow="site-0.example")
    some = read(hosts(30), fetcher, on_progress=enough)
    assert 2 * URLS <= len(some.urls) < 30 * URLS
    assert some.complete is False
    assert "stopped before the end: only what was read until then is here" in some.notes
    assert len(fetcher.order) < 30
    assert threading.active_count() == before


def test_error_of_a_callback_ends_all_and_is_raised() -> None:
    def fails(progress: sr.client.Progress) -> None:
        raise RuntimeError("mine")

    before = threading.active_count()
    with pytest.raises(RuntimeError, match="mine"):
        read(hosts(4), Sites(), on_progress=fails)
    with pytest.raises(ZeroDivisionError):
        read(hosts(4), Sites(), follow=lambda ref: bool(1 / 0))
    assert threading.active_count() == before


def test_wrong_values_are_reported_before_anything_is_read() -> None:
    fetcher = Sites()
    for options in ({"concurrency": 0}, {"per_host": "x"}, {"include": "*"}, {"since": "nonsense"}):
        with pytest.raises(sr.UsageError):
            read(hosts(2), fetcher, **options)
    assert fetcher.order == []


@pytest.mark.slow
def test_sites_take_the_time_of_the_slowest() -> None:
    def seconds(**options: int) -> float:
        started = time.monotonic()
        read(hosts(4), Sites(seconds=0.05), **options)
        return time.monotonic() - started

    seconds()  # imports
    # The least of several: other programs may take the processor for a while.
    assert min(seconds() for _ in range(4)) < 0.7 * min(seconds(concurrency=4) for _ in range(4))


PROGRAM = """
import sys
sys.path[:0] = [{tests!r}, {folder!r}]
from test_parallel import Sites, hosts
import sitemap_reader as sr
some = sr.snapshot(hosts(3), fetcher=Sites(seconds=0.2))
print(len(some.urls), file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_each_site_has_its_bar_on_a_line_of_its_own() -> None:
    from terminals import on_terminal

    here = Path(__file__)
    program = PROGRAM.format(tests=str(here.parents[1]), folder=str(here.parent))
    with on_terminal([sys.executable, "-c", program]) as terminal:
        for host in hosts(3):
            terminal.wait_for(rf"{host}: sitemaps  \d/9 \[")
        lines = [line for line in terminal.screen() if ": sitemaps" in line]
        assert terminal.end() == 0
    assert [line.partition(":")[0] for line in lines] == hosts(3)
    assert terminal.screen() == ["120"]
