"""The limits of a SitemapReader hold for all its streams together: in flight, delays, Crawl-delay and Retry-After.

Servers and fetchers keep a log; asserted are the most requests in flight and the least gaps, which a busy machine only
makes smaller and longer.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import pytest
from faultserver import FaultServer, Script, Wire, overlap, page
from kit import index

import sitemap_reader as sr
from sitemap_reader.client import find_target
from sitemap_reader.fetch import Response
from sitemap_reader.frontier import ALLOW_ALL, HostPace, HostQueue, Plan
from sitemap_reader.pipeline import Pacing, Stopwatch

pytestmark = pytest.mark.usefixtures("virtual_time")

A, B = "https://a.example", "https://b.example"
MOST_SECONDS = 30.0
# The log has the time at which a request is sent, the reader the moment before.
EXACT = 0.05


def urlset(*locs: str) -> bytes:
    return f"<urlset>{''.join(f'<url><loc>{loc}</loc></url>' for loc in locs)}</urlset>".encode()


@attrs.define
class Web:
    """A Fetcher of sites with an index of `sitemaps` files; each answer takes some `seconds`.

    `answers` are used once each, in place of the site's. The log has the time and URL of each request.
    """

    sitemaps: int = 2
    seconds: float = 0.01
    robots: str = "User-agent: *"
    answers: dict[str, list[tuple[int, dict[str, str]]]] = attrs.field(factory=dict)
    slow: dict[str, asyncio.Event] = attrs.field(factory=dict)  # host -> what its sitemaps wait for
    urls: int = 1  # in each sitemap
    log: list[tuple[float, str]] = attrs.field(factory=list)
    now: Counter[str] = attrs.field(factory=Counter)
    most: Counter[str] = attrs.field(factory=Counter)
    requested: asyncio.Event = attrs.field(factory=asyncio.Event)

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        self.log.append((asyncio.get_running_loop().time(), url))
        host = url.split("/")[2]
        self.now.update([host, "all"])
        self.most |= self.now
        self.requested.set()
        try:
            await asyncio.sleep(self.seconds)
            if host in self.slow and url.endswith(".xml"):
                await self.slow[host].wait()
            answers = self.answers.get(url)
            status, head = answers.pop(0) if answers else (200, {})
            yield Response(status, head, self.body(url), url)
        finally:
            self.now.subtract([host, "all"])

    async def body(self, url: str) -> AsyncIterator[bytes]:
        (site, _, path), urls = url.rpartition("/"), self.urls
        if path == "robots.txt":
            yield f"{self.robots}\nSitemap: {site}/index.xml\n".encode()
        elif path == "index.xml":
            yield index(*(f"{site}/{number}.xml" for number in range(self.sitemaps)))
        else:
            for part in range(max(1, urls // 1000)):
                locs = [f"{site}/{path}/{part}/{number}" for number in range(min(urls, 1000))]
                yield urlset(*locs).removesuffix(b"</urlset>") if part == 0 else urlset(*locs)[8:-9]
            yield b"</urlset>"

    async def until(self, is_true: Callable[[], bool]) -> None:
        """Waits for a request after which it is true."""
        while not is_true():
            self.requested.clear()
            await self.requested.wait()

    def gaps(self, host: str = A) -> list[float]:
        """The seconds between the requests to a host."""
        return [later - earlier for earlier, later in pairwise(at for at, url in self.log if url.startswith(host))]


def run_async(test: Awaitable[Any]) -> Any:
    return asyncio.run(asyncio.wait_for(test, MOST_SECONDS))


async def count(reader: sr.SitemapReader, target: str) -> int:
    async with reader.urls(target) as urls:
        return sum([1 async for _ in urls])


async def at_once(web: Web, targets: list[str], **options: Any) -> list[int]:
    """The URLs of each target, all read at once by one reader."""
    async with sr.SitemapReader(fetcher=web, **options) as reader:
        return await asyncio.gather(*(count(reader, target) for target in targets))


async def one_by_one(web: Web, targets: list[str], **options: Any) -> list[int]:
    async with sr.SitemapReader(fetcher=web, **options) as reader:
        return [await count(reader, target) for target in targets]


# --- requests in flight ---


def named_here(body: Callable[[str], bytes]) -> Script:
    return lambda wire: page(body(wire.server.url))(wire)


def site(count: int) -> Mapping[str, Script]:
    """Scripts of a site of so many sitemaps, each of which takes a moment."""

    def child(wire: Wire) -> object:
        wire.pause(0.02)
        return page(urlset(f"{wire.server.url}{wire.exchange.path}.html"))(wire)

    return {
        "/robots.txt": named_here(lambda url: f"Sitemap: {url}/index.xml".encode()),
        "/index.xml": named_here(lambda url: index(*(f"{url}/{number}.xml" for number in range(count)))),
        **{f"/{number}.xml": child for number in range(count)},
    }


async def over_http(targets: list[str], **options: Any) -> list[int]:
    async with sr.SitemapReader(allow_private=True, **options) as reader:
        return await asyncio.gather(*(count(reader, target) for target in targets))


async def test_five_streams_of_one_host_keep_its_limit() -> None:
    with FaultServer(site(6)) as server:
        assert await over_http([server.url] * 5, per_host=2) == [6] * 5
        assert overlap(server) == 2


async def test_streams_of_many_hosts_keep_the_limit_of_all() -> None:
    with ExitStack() as running:
        servers = [running.enter_context(FaultServer(site(3))) for _ in range(6)]
        assert await over_http([server.url for server in servers], concurrency=4, per_host=2) == [3] * 6
        assert overlap(*servers) <= 4
        assert max(map(overlap, servers)) <= 2


@pytest.mark.parametrize(("concurrency", "per_host"), [(4, 2), (2, 1), (16, 4), (3, 5)])
async def test_thirty_hosts_at_once(concurrency: int, per_host: int) -> None:
    web, hosts = Web(sitemaps=4, seconds=0.002), [f"https://{number}.example" for number in range(30)]
    assert await at_once(web, hosts, concurrency=concurrency, per_host=per_host) == [4] * 30
    assert 1 < web.most.pop("all") <= concurrency
    assert max(web.most.values()) <= min(per_host, concurrency)


async def test_changes_discover_and_pages_share_the_limits(tmp_path: Any) -> None:
    web = Web(sitemaps=6)

    async def changes(reader: sr.SitemapReader) -> int:
        async with reader.changes(A, state=tmp_path / "state.db") as found:
            return sum([1 async for _ in found])

    async def pages(reader: sr.SitemapReader) -> list[int | None]:
        statuses: list[int | None] = []

        async def put(response: Any) -> None:
            statuses.append(response.status)

        fetcher = reader.crawler.page_fetcher(find_target(A), lambda url: ALLOW_ALL)
        await fetcher.run([f"{A}/page/{number}" for number in range(6)], put)
        return statuses

    async with sr.SitemapReader(fetcher=web, per_host=2) as reader:
        found = await asyncio.gather(count(reader, A), changes(reader), reader.discover(A), pages(reader))
    urls, changed, candidates, statuses = found
    assert (urls, changed, len(candidates), statuses) == (6, 6, 1, [200] * 6)
    assert web.most["a.example"] == 2


# --- delays ---


async def test_delay_holds_between_streams() -> None:
    web = Web()
    assert await at_once(web, [A] * 2, delay=0.15) == [2] * 2
    assert min(web.gaps()) >= 0.15 - EXACT
    assert web.most["a.example"] == 1
    web = Web()
    assert await one_by_one(web, [A] * 2, delay=0.15) == [2] * 2
    assert min(web.gaps()) >= 0.15 - EXACT


@pytest.mark.parametrize("read", [at_once, one_by_one])
async def test_crawl_delay_holds_between_streams(read: Callable[..., Awaitable[list[int]]]) -> None:
    """Before a robots.txt has been read the delay is not known: only one is requested at a time."""
    web = Web(robots="User-agent: *\nCrawl-delay: 0.15")
    assert await read(web, [A] * 3) == [2] * 3
    assert len(web.log) == 12
    assert min(web.gaps()) >= 0.15 - EXACT
    assert web.most["a.example"] == 1


async def test_crawl_delay_of_one_host_does_not_delay_others() -> None:
    web = Web(robots="User-agent: *\nCrawl-delay: 0.2")
    async with sr.SitemapReader(fetcher=web, concurrency=2) as reader:
        await asyncio.gather(*(count(reader, host) for host in (A, A, B)))
    assert max(at for at, url in web.log if url.startswith(B)) < max(at for at, url in web.log if url.startswith(A))


async def test_a_crawl_delay_over_the_limit_delays_no_later_stream() -> None:
    web = Web(robots="User-agent: *\nCrawl-delay: 30")
    async with sr.SitemapReader(fetcher=web, limits=sr.Limits(max_crawl_delay_seconds=1.0)) as reader:
        with pytest.raises(sr.NothingReadable):
            await count(reader, A)
        web.robots = "User-agent: *"
        assert await count(reader, A) == 2


@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_holds_for_the_next_stream(status: int) -> None:
    web = Web(answers={f"{A}/robots.txt": [(status, {"retry-after": "1"})]})
    async with sr.SitemapReader(fetcher=web, limits=sr.Limits(tries=1)) as reader:
        with pytest.raises(sr.NothingReadable):
            await count(reader, A)
        assert await count(reader, A) == 2
    assert web.gaps()[0] >= 1.0


async def test_retry_after_holds_for_a_watch_of_the_reader(tmp_path: Path) -> None:
    web = Web(answers={f"{A}/robots.txt": [(503, {"retry-after": "2"})]})
    async with sr.SitemapReader(fetcher=web, limits=sr.Limits(tries=1)) as reader:
        with pytest.raises(sr.NothingReadable):
            await count(reader, A)
        async with reader.watch([A], state=tmp_path / "s.db") as changes:
            await anext(changes)
    assert web.gaps()[0] >= 2 - EXACT


async def test_retry_after_holds_for_streams_at_once() -> None:
    web = Web(answers={f"{A}/robots.txt": [(503, {"retry-after": "1"})]})
    assert await at_once(web, [A] * 4) == [2] * 4
    assert web.gaps()[0] >= 1.0


async def test_a_refused_request_does_not_lengthen_the_pause() -> None:
    """A stream that asks again and again during a Retry-After over the limit would else never get a request."""
    web = Web(answers={f"{A}/robots.txt": [(503, {"retry-after": "2"})]})
    async with sr.SitemapReader(fetcher=web, limits=sr.Limits(tries=1, max_wait_seconds=0.5)) as reader:
        while len(web.log) < 2:
            with suppress(sr.NothingReadable):
                await count(reader, A)
            await asyncio.sleep(0.2)
    assert web.gaps()[0] >= 2 - EXACT


@pytest.mark.parametrize("status", [429, 503])
async def test_a_host_with_a_long_retry_after_is_skipped_by_all_streams(status: int) -> None:
    """One request learns it; the others have the same error without one."""
    web = Web(answers={f"{A}/robots.txt": [(status, {"retry-after": "3600"})] * 9})

    async def read(reader: sr.SitemapReader) -> str:
        async with reader.urls(A) as urls:
            with pytest.raises(sr.NothingReadable):
                _ = [url async for url in urls]
        (outcome,) = [each for each in urls.outcomes if each.url == f"{A}/robots.txt"]
        assert (outcome.status, outcome.problems) == (status, {"F18": 1})
        return outcome.samples[0].message

    async with sr.SitemapReader(fetcher=web) as reader:
        together = await asyncio.gather(*(read(reader) for _ in range(3)))
        messages = [*together, await read(reader)]
        assert await count(reader, B) == 2
    assert [url for _, url in web.log if url.startswith(A)] == [f"{A}/robots.txt"]
    assert all("is over 60 s; raise max_wait_seconds" in message for message in messages)


# --- fairness, cancelling, back-pressure ---


async def test_a_stream_of_many_sitemaps_lets_a_later_one_through() -> None:
    web = Web(sitemaps=60, seconds=0.005)
    done: list[int] = []

    async def read(reader: sr.SitemapReader, target: str) -> None:
        await count(reader, target)
        done.append(len(web.log))

    async with sr.SitemapReader(fetcher=web, per_host=2) as reader:
        first = asyncio.create_task(read(reader, A))
        await web.until(lambda: len(web.log) >= 8)
        await read(reader, f"{A}/0.xml")
        await first
    assert done[0] < 30 < 60 < done[1]


async def test_a_slow_host_does_not_stop_others() -> None:
    web = Web()
    web.slow["a.example"] = asyncio.Event()
    async with sr.SitemapReader(fetcher=web, concurrency=4, per_host=2) as reader:
        slow = [asyncio.create_task(count(reader, A)) for _ in range(9)]
        await web.until(lambda: web.now["a.example"] == 2)
        found = await count(reader, B)
        assert not any(task.done() for task in slow)
        web.slow["a.example"].set()
        assert found + sum(await asyncio.gather(*slow)) == 10 * 2


@pytest.mark.parametrize("how", ["cancel", "close"])
async def test_streams_that_end_early_give_back_their_slots(how: str) -> None:
    """Some are in flight, others wait for a slot, or for a delay."""
    web = Web(robots="User-agent: *\nCrawl-delay: 0.05")
    web.slow["a.example"] = asyncio.Event()
    async with sr.SitemapReader(fetcher=web, concurrency=1) as reader:
        streams = [reader.urls(A) for _ in range(6)]

        async def read(stream: sr.AsyncStream[sr.UrlRecord]) -> None:
            async for _ in stream:
                pass

        tasks = [asyncio.create_task(read(stream)) for stream in streams]
        await web.until(lambda: f"{A}/index.xml" in [url for _, url in web.log])
        await asyncio.sleep(0.1)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if how == "close":
            for stream in streams:
                await stream.close()
        web.slow["a.example"].set()
        assert await count(reader, A) + await count(reader, B) == 4


async def test_a_stream_that_is_not_read_on_stops_no_other() -> None:
    """Its bodies are left unread for a second, then others are sent; it goes on when it is read again."""
    web = Web(sitemaps=4, urls=30_000)
    async with sr.SitemapReader(fetcher=web, concurrency=2, per_host=1) as reader, reader.urls(A) as first:
        items = aiter(first)
        await anext(items)
        web.urls = 1
        assert await count(reader, A) + await count(reader, B) == 8
        assert sum([1 async for _ in items]) >= 30_000 - 1


async def test_two_streams_of_one_host_can_be_read_in_turns() -> None:
    web = Web(sitemaps=1, urls=20_000)
    async with (
        sr.SitemapReader(fetcher=web, per_host=1) as reader,
        reader.urls(A) as first,
        reader.urls(A) as second,
    ):
        one, two = aiter(first), aiter(second)
        number = 0
        while await anext(one, None) and await anext(two, None):
            number += 1
        assert number == 20_000


async def test_waiting_for_a_slot_is_no_network_time() -> None:
    web = Web(seconds=0.06)
    limits = sr.Limits(document_seconds=1.5, connect_seconds=0.5, read_seconds=0.5, min_rate_after_seconds=0.5)
    async with sr.SitemapReader(fetcher=web, per_host=1, limits=limits) as reader:

        async def longest() -> float:
            async with reader.urls(A) as urls:
                assert sum([1 async for _ in urls]) == 2
            assert urls.complete
            return max(outcome.seconds for outcome in urls.outcomes)

        seconds = await asyncio.gather(*(longest() for _ in range(8)))
    spent = web.log[-1][0] - web.log[0][0]
    assert spent > (8 * 4 - 1) * 0.06 > limits.document_seconds
    assert max(seconds) < spent / 2


async def test_a_replay_has_no_slots_to_wait_for(tmp_path: Any) -> None:
    (tmp_path / "robots.txt").write_text(f"User-agent: *\nCrawl-delay: 20\nSitemap: {A}/s.xml\n")
    (tmp_path / "s.xml").write_bytes(urlset(f"{A}/1"))
    async with sr.SitemapReader(concurrency=1, base=A) as reader:
        assert await asyncio.gather(*(count(reader, str(tmp_path)) for _ in range(3))) == [1] * 3


async def test_hosts_are_forgotten_once_their_waits_are_over() -> None:
    def place(number: int) -> HostQueue:
        return HostQueue(f"https://{number}.example", HostPace(4), rules=ALLOW_ALL)

    pacing = Pacing(Plan())
    paused = place(-1)
    paused.pace.pause(pacing.clock() + 3600)
    pacing.learn([paused])
    for number in range(5_000):
        async with pacing.slot(place(number), is_robots=False):
            pass
    assert len(pacing) < 2_500
    async with pacing.slot(place(-1), is_robots=False) as slot:
        assert slot.refusal is not None


# --- the time of a site ---


async def read_whole(reader: sr.SitemapReader, target: str) -> bool:
    async with reader.urls(target) as urls:
        with suppress(sr.NothingReadable):
            async for _ in urls:
                pass
    return urls.complete


async def whole_at_once(web: Web, targets: list[str], *, site_seconds: float, **options: Any) -> list[bool]:
    """Whether each target was read whole, all at once by one reader."""
    async with sr.SitemapReader(fetcher=web, limits=sr.Limits(site_seconds=site_seconds), **options) as reader:
        return await asyncio.gather(*(read_whole(reader, target) for target in targets))


@pytest.mark.parametrize(("targets", "options"), [
    ([f"https://{number}.example" for number in range(12)], {"concurrency": 2}),
    ([A] * 12, {"per_host": 1}),
    ([A] * 6, {"delay": 0.1}),
], ids=["concurrency", "per_host", "delay"])
async def test_waiting_for_other_streams_is_no_time_of_the_site(targets: list[str], options: dict[str, Any]) -> None:
    web = Web(seconds=0.08)
    assert await whole_at_once(web, targets, site_seconds=1.2, **options) == [True] * len(targets)
    assert web.log[-1][0] - web.log[0][0] > 1.5, "longer than each may take"


async def test_a_stream_that_waits_for_one_that_hangs_has_its_own_time() -> None:
    web = Web()
    web.slow["a.example"] = asyncio.Event()
    async with sr.SitemapReader(fetcher=web, concurrency=1, limits=sr.Limits(site_seconds=1.0)) as reader:
        first = asyncio.create_task(read_whole(reader, A))
        await web.until(lambda: f"{A}/index.xml" in [url for _, url in web.log])
        assert [await read_whole(reader, B), await first] == [True, False]


@pytest.mark.parametrize(("web", "options"), [
    (Web(robots="User-agent: *\nCrawl-delay: 0.3", sitemaps=6), {}),
    (Web(sitemaps=6), {"delay": 0.3}),
    (Web(answers={f"{A}/robots.txt": [(503, {"retry-after": "3"})]}), {}),
], ids=["Crawl-delay", "delay", "Retry-After"])
@pytest.mark.parametrize("streams", [1, 2])
async def test_what_the_site_asks_for_is_its_time(web: Web, options: dict[str, Any], streams: int) -> None:
    web = attrs.evolve(web, answers={url: [*each] for url, each in web.answers.items()}, log=[])
    assert await whole_at_once(web, [A] * streams, site_seconds=0.7, **options) == [False] * streams
    assert web.log[-1][0] - web.log[0][0] < 2.5


def test_the_stopwatch_stands_while_all_requests_wait_for_others() -> None:
    now, pauses_until = [0.0], [-1.0]
    watch = Stopwatch(lambda: now[0])
    watch.start()

    def after(seconds: float) -> float:
        now[0] += seconds
        return watch.look()

    assert after(1) == 1
    with watch.request(), watch.waiting(lambda: pauses_until[0]):
        assert after(10) == 1
        with watch.request():
            assert after(1) == 2, "one is under way"
        pauses_until[0] = now[0] + 2
        assert (after(1), after(10)) == (3, 4), "the pause of the host counts"
        with watch.paused():
            assert after(10) == 4
    assert after(1) == 5


# --- event loops, and close() ---


@pytest.mark.parametrize("options", [{}, {"delay": 0.05}])
def test_a_reader_on_two_event_loops_at_once_is_a_usage_error(options: dict[str, Any]) -> None:
    """A wait of one loop cannot be ended by the other."""
    web, results = Web(), list[object]()
    reader = sr.SitemapReader(fetcher=web, **options)
    began, go_on = threading.Event(), threading.Event()

    def first() -> None:
        async def main() -> int:
            web.slow["a.example"] = asyncio.Event()
            task = asyncio.create_task(count(reader, A))
            await web.until(lambda: f"{A}/index.xml" in [url for _, url in web.log])
            began.set()
            await asyncio.to_thread(go_on.wait, MOST_SECONDS)
            web.slow["a.example"].set()
            return await task

        results.append(run_async(main()))

    thread = threading.Thread(target=first)
    thread.start()
    assert began.wait(MOST_SECONDS)
    requests = len(web.log)
    try:
        for read in (lambda: count(reader, A), lambda: count(reader, B), lambda: reader.discover(B)):
            with pytest.raises(sr.UsageError, match="belongs to the event loop that it was first used on: make one"):
                run_async(read())
        assert len(web.log) == requests
    finally:
        go_on.set()
        thread.join()
    assert results == [2]
    assert run_async(count(reader, B)) == 2, "one after the other is no fault here"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["urls", "changes"])
async def test_closing_a_reader_ends_its_streams(kind: str, tmp_path: Any) -> None:
    """One waits for an answer, one for a slot, one for its consumer, one has not begun; then nothing is sent."""
    web = Web(sitemaps=4, urls=30_000)
    numbers = iter(range(9))

    def stream(reader: sr.SitemapReader, target: str) -> Any:
        if kind == "urls":
            return reader.urls(target)
        return reader.changes(target, state=tmp_path / f"{next(numbers)}.db")

    async def rest(stream: Any) -> int:
        return sum([1 async for _ in stream])

    web.slow["b.example"] = asyncio.Event()
    async with sr.SitemapReader(fetcher=web, per_host=1) as reader:
        waiting = [stream(reader, B), stream(reader, B)]
        tasks = [asyncio.create_task(rest(each)) for each in waiting]
        await web.until(lambda: f"{B}/index.xml" in [url for _, url in web.log])
        unread, unbegun = stream(reader, A), stream(reader, "https://c.example")
        await anext(aiter(unread))
    sent, streams = len(web.log), [*waiting, unread, unbegun]
    assert await asyncio.gather(*tasks) == [0, 0]
    assert await rest(unread) < 120_000
    assert await rest(unbegun) == 0
    for each in streams:
        assert (each.complete, each.summary.stopped) == (False, True)
        await each.close()
    assert len(web.log) == sent
    assert web.now["all"] == 0
    web.slow["b.example"].set()
    assert await rest(stream(reader, B)) > 0, "a later stream is read"
    await reader.close()


async def test_closing_a_reader_leaves_streams_that_have_ended_complete() -> None:
    web = Web()
    async with sr.SitemapReader(fetcher=web) as reader, reader.urls(A) as urls:
        assert sum([1 async for _ in urls]) == 2
    assert urls.complete


async def test_closing_a_reader_ends_the_search_for_sitemaps() -> None:
    web = Web()
    web.slow["a.example"] = asyncio.Event()
    reader = sr.SitemapReader(fetcher=web)
    found = asyncio.create_task(reader.discover(A))
    await web.until(lambda: f"{A}/index.xml" in [url for _, url in web.log])
    await reader.close()
    with pytest.raises(sr.UsageError, match="the reader was closed before it had found the sitemaps"):
        await found
