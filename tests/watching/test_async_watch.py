"""SitemapReader.watch(): changes for `async for`, in the caller's loop; and what a watch says of itself."""

import asyncio
import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from change_logs import ListSink
from kit import Site, robots, until, urlset
from servers import free_port

import sitemap_reader as sr

SITE = "https://a.example"
MAP = f"{SITE}/s.xml"
URLS = 1_500  # two entries of the log: 1,000 changes are the most of one


class Pages(Site):
    """A site with so many URLs."""

    def __init__(self, urls: int = URLS) -> None:
        super().__init__({"/robots.txt": robots(MAP), "/s.xml": self.listing(urls)}, SITE)

    @staticmethod
    def listing(urls: int) -> bytes:
        return urlset(*(f"{SITE}/{number}" for number in range(urls)))


class Bug(Exception):
    """Of the caller's own code."""


class Broken(Site):
    def answer(self, url: str, headers: Any) -> Any:
        raise Bug(url)


@asynccontextmanager
async def watching(path: Path, fetcher: Any = None, **options: Any) -> AsyncIterator[Any]:
    reader = sr.SitemapReader(fetcher=fetcher or Pages())
    async with reader, reader.watch([SITE], state=path / "s.db", **options) as changes:
        yield changes


async def seqs_until(changes: AsyncIterator[sr.WatchedChange], last: int) -> list[int]:
    seqs = []
    async for change in changes:
        seqs.append(change.seq)
        if change.seq == last:
            break
    return seqs


async def test_changes_come_in_the_loop_and_the_next_watch_continues_behind_them(tmp_path: Path) -> None:
    async with watching(tmp_path) as changes:
        assert await seqs_until(changes, 700) == [*range(1, 701)]
    async with watching(tmp_path) as changes:
        assert await seqs_until(changes, 1_500) == [*range(701, 1_501)]


async def test_what_the_reader_reads_meanwhile_uses_the_same_loop_and_stays_open(tmp_path: Path) -> None:
    async with sr.SitemapReader(fetcher=Pages()) as reader:
        async with reader.watch([SITE], state=tmp_path / "s.db") as changes:
            first = await anext(changes)
            assert (first.seq, first.site, first.record.loc) == (1, SITE, f"{SITE}/0")
            async with reader.urls(SITE) as urls:
                assert len([url async for url in urls]) == URLS
        async with reader.urls(SITE) as urls:
            assert len([url async for url in urls]) == URLS


class LoopSink(ListSink):
    """Notes the thread and the loop that it is called in."""

    async def deliver(self, entry: Any) -> None:
        self.place = threading.get_ident(), asyncio.get_running_loop()
        await super().deliver(entry)


async def test_sinks_and_callbacks_run_in_the_loop_of_the_caller(tmp_path: Path) -> None:
    sink, visits = LoopSink(), []
    note = lambda visit: visits.append((visit, threading.get_ident()))  # noqa: E731
    async with watching(tmp_path, sinks=[sink, tmp_path / "c.jsonl"], on_visit=note) as changes:
        await seqs_until(changes, URLS)
    assert sink.place == (threading.get_ident(), asyncio.get_running_loop())
    assert len((tmp_path / "c.jsonl").read_text().splitlines()) == URLS
    ((visit, thread),) = visits
    assert thread == threading.get_ident()
    assert (visit.site, visit.requests, visit.first_reading, visit.failures) == (SITE, 2, URLS, 0)


async def test_run_delivers_to_the_sinks_until_close(tmp_path: Path) -> None:
    async with watching(tmp_path, sinks=[tmp_path / "c.jsonl"]) as changes:
        running = asyncio.create_task(changes.run())
        while changes.totals.urls < URLS:  # noqa: ASYNC110 - no event has the number
            await asyncio.sleep(0.01)
        for read in (changes.run, changes.__anext__):
            with pytest.raises(sr.UsageError, match="this watch is under way"):
                await read()
        assert not running.done()
        await changes.close()
        await running
        await changes.close()
    assert len((tmp_path / "c.jsonl").read_text().splitlines()) == URLS


@pytest.mark.parametrize("read", [lambda changes: changes.run(), lambda changes: anext(changes)], ids=["run", "loop"])
async def test_a_bug_of_the_fetcher_is_raised(tmp_path: Path, read: Callable[[Any], Any]) -> None:
    async with watching(tmp_path, Broken()) as changes:
        with pytest.raises(Bug):
            await read(changes)
    sr.state.State(tmp_path / "s.db").close()  # not locked any more


@pytest.mark.parametrize("place", ["in the loop", "in another task", "end of the block"])
async def test_a_reader_that_is_closed_ends_its_watches(tmp_path: Path, place: str) -> None:
    """Else it would go on sending requests, and its state would stay locked."""
    seqs = []

    async def read(reader: sr.SitemapReader) -> None:
        async for change in reader.watch([SITE], state=tmp_path / "s.db"):
            seqs.append(change.seq)
            if place == "in the loop":
                await reader.close()

    async with sr.SitemapReader(fetcher=Pages()) as reader:
        reading = asyncio.create_task(read(reader))
        while len(seqs) < (1 if place == "in the loop" else URLS):  # noqa: ASYNC110 - no event has the number
            await asyncio.sleep(0.01)
        if place == "in another task":
            await reader.close()
            await asyncio.wait_for(reading, 5)
    await asyncio.wait_for(reading, 5)
    sr.state.State(tmp_path / "s.db", create=True).close()  # not locked any more


async def test_an_exception_in_the_loop_leaves_its_change_undelivered(tmp_path: Path) -> None:
    async def read() -> None:
        async with watching(tmp_path) as changes:
            async for change in changes:
                if change.seq == 5:
                    raise Bug

    with pytest.raises(Bug):
        await read()
    async with watching(tmp_path) as changes:
        assert (await anext(changes)).seq == 5


async def test_a_watch_that_is_cancelled_ends_and_frees_its_state(tmp_path: Path) -> None:
    async def read() -> None:
        async with watching(tmp_path) as changes:
            async for _ in changes:
                pass

    task = asyncio.create_task(read())
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    sr.state.State(tmp_path / "s.db").close()


async def test_aclosing_closes_it(tmp_path: Path) -> None:
    async with sr.SitemapReader(fetcher=Pages()) as reader:
        async with aclosing(reader.watch([SITE], state=tmp_path / "s.db")) as changes:
            assert (await anext(changes)).seq == 1
        with pytest.raises(sr.UsageError, match="this watch has ended: call watch"):
            aiter(changes)
        async with aclosing(reader.watch([SITE], state=tmp_path / "s.db")):
            pass


async def test_a_sink_may_close_the_stream_and_the_watch_ends_in_order(tmp_path: Path) -> None:
    class Closing(ListSink):
        async def deliver(self, entry: Any) -> None:
            await super().deliver(entry)
            await changes.close()

    sink = Closing()
    async with watching(tmp_path, sinks=[sink]) as changes:
        await asyncio.wait_for(changes.run(), 3)  # a wait for itself would be cancelled after 6 s
    assert sink.received == [*range(1, URLS + 1)]
    assert sink.is_closed


class BadEnd(ListSink):
    async def close(self) -> None:
        raise Bug


class BadLast(ListSink):
    """Raises at the last entry, which a stream that is closed delivers as it ends."""

    async def deliver(self, entry: Any) -> None:
        await asyncio.sleep(0.3)
        if entry.last_seq == URLS:
            raise Bug
        await super().deliver(entry)


def failing(place: str) -> dict[str, Any]:
    """The options of a watch in which this raises a Bug."""
    if place == "visit":
        return {"on_visit": lambda visit: raise_bug()}
    return {"sinks": [{"sink": ListSink(Bug()), "drain": BadLast(), "end": BadEnd()}[place]]}


def raise_bug() -> None:
    raise Bug


@pytest.mark.parametrize("place", ["sink", "visit", "drain", "end"])
@pytest.mark.parametrize("end", ["block", "close"])
async def test_what_ended_it_is_raised_behind_a_break_too(tmp_path: Path, place: str, end: str) -> None:
    """Once: by the block or by close(), whichever comes first."""
    async with sr.SitemapReader(fetcher=Pages()) as reader:
        changes = reader.watch([SITE], state=tmp_path / "s.db", **failing(place))

        async def leave() -> None:
            async with changes:
                await seqs_until(changes, 700)
                if end == "close":
                    await changes.close()

        with pytest.raises(Bug):
            await leave()
        await changes.close()


@pytest.mark.parametrize("place", ["sink", "visit", "drain", "end"])
@pytest.mark.parametrize("end", ["block", "close"])
def test_what_ended_one_in_a_thread_is_raised_behind_a_break_too(tmp_path: Path, place: str, end: str) -> None:
    changes = sr.watch([SITE], state=tmp_path / "s.db", fetcher=Pages(), **failing(place))

    def leave() -> None:
        with changes:
            for change in changes:
                if change.seq == 700:
                    break
            if end == "close":
                changes.close()

    with pytest.raises(Bug):
        leave()
    changes.close()


def test_close_in_another_thread_during_a_loop_loses_no_error(tmp_path: Path) -> None:
    """It is raised once: in the loop, or by close() where the loop is in its body."""

    class SlowBadEnd(BadEnd):
        async def close(self) -> None:
            await asyncio.sleep(0.3)  # so that the loop comes back meanwhile
            await super().close()

    changes = sr.watch([SITE], state=tmp_path / "s.db", fetcher=Pages(), sinks=[SlowBadEnd()])
    raised: list[str] = []

    def close() -> None:
        try:
            changes.close()
        except Bug:
            raised.append("close")

    closing = threading.Thread(target=close)
    try:
        for change in changes:
            if change.seq == 10:
                closing.start()
                time.sleep(0.05)
    except Bug:
        raised.append("loop")
    closing.join()
    assert len(raised) == 1


def test_sinks_beside_one_that_fails_at_the_end_get_all_and_are_closed(tmp_path: Path) -> None:
    class Slow(ListSink):
        async def deliver(self, entry: Any) -> None:
            await asyncio.sleep(0.2)
            await super().deliver(entry)

    slow = Slow()
    changes = sr.watch([SITE], state=tmp_path / "s.db", fetcher=Pages(), sinks=[BadEnd(name="bad"), slow])
    with pytest.raises(Bug), changes:
        next(changes)
    assert slow.received == [*range(1, URLS + 1)]
    assert slow.is_closed


@pytest.mark.slow
def test_a_sink_that_does_not_end_is_cancelled(tmp_path: Path) -> None:
    class Endless(ListSink):
        async def close(self) -> None:
            await asyncio.sleep(60)

    started = time.monotonic()
    changes = sr.watch([SITE], state=tmp_path / "s.db", fetcher=Pages(), sinks=[Endless()])
    next(changes)
    with pytest.raises(sr.watching.DeliveryFailed, match=r"^list: its close\(\) was cancelled after 3 s$"):
        changes.close()
    assert time.monotonic() - started < 30


async def test_run_of_a_watch_that_was_cancelled_alone_is_cancelled(tmp_path: Path) -> None:
    async with watching(tmp_path) as changes:
        mine = {*asyncio.all_tasks()}
        running = asyncio.create_task(changes.run())
        while changes.totals.urls < URLS:  # noqa: ASYNC110 - no event has the number
            await asyncio.sleep(0.01)
        for task in asyncio.all_tasks() - mine - {running}:
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_an_exception_of_the_block_comes_before_one_of_the_watch(tmp_path: Path, error: type[BaseException]) -> None:
    def leave() -> None:
        with sr.watch([SITE], state=tmp_path / "s.db", fetcher=Pages(), sinks=[BadEnd()]) as changes:
            next(changes)
            raise error

    with pytest.raises(error):
        leave()


# --- what a watch says of itself, for both kinds ---


def test_totals_sites_and_faults_of_a_watch_in_a_thread(tmp_path: Path) -> None:
    class Full(ListSink):
        async def deliver(self, entry: Any) -> None:
            raise sr.watching.DeliveryFailed("the queue is full")

    with sr.watch([SITE], state=tmp_path / "s.db", fetcher=Pages(), sinks=[Full()]) as changes:
        assert changes.totals.sites == 0
        assert next(changes).seq == 1
        assert until(lambda: changes.faults)
        assert changes.faults == (f"{Full().name}: the queue is full",)
        (site,) = changes.sites
        assert (site.site, site.urls, site.faults) == (SITE, URLS, ())
        assert until(lambda: changes.sites[0].next_visit is not None)
    assert (changes.totals.urls, changes.totals.documents) == (URLS, 1)
    assert [sink.fault for sink in changes.totals.sinks] == [None, "the queue is full"]


def test_a_ping_brings_a_visit(tmp_path: Path) -> None:
    site = Pages(3)
    with sr.watch([SITE], state=tmp_path / "s.db", fetcher=site, budget=36_000, host_budget=36_000) as changes:
        assert [next(changes).seq for _ in range(3)] == [1, 2, 3]
        site.pages["/s.xml"] = site.listing(4)
        assert changes.ping(MAP)
        assert not changes.ping(f"{SITE}/other.xml")
        assert next(changes).record.loc == f"{SITE}/3"
        for wrong in ("ftp://a.example", None, [MAP]):
            with pytest.raises(sr.UsageError, match=r"is not the URL of a sitemap; give one of http"):
                changes.ping(wrong)  # type: ignore[arg-type]
        assert repr(changes) == "<WatchStream of 1 site, under way>"
    assert not changes.ping(MAP)
    assert repr(changes) == "<WatchStream of 1 site, ended>"
    with pytest.raises(sr.UsageError, match="this watch has ended: call watch"):
        iter(changes)
    changes = sr.watch([SITE], state=tmp_path / "s.db", fetcher=site)
    assert repr(changes) == "<WatchStream of 1 site, not begun>"
    changes.close()
    assert repr(changes) == "<WatchStream of 1 site, ended>"


async def test_it_listens(tmp_path: Path) -> None:
    port = free_port()
    async with watching(tmp_path, listen=f"127.0.0.1:{port}") as changes:
        await anext(changes)
        read = lambda: json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/totals"))  # noqa: E731
        assert (await asyncio.to_thread(read))["sites"] == 1


def test_a_listen_that_is_not_allowed(tmp_path: Path) -> None:
    for listen, message in ((8080, "listen is text"), ("8080", "'8080' is not HOST:PORT"), ("0.0.0.0:1", "a token is")):
        with pytest.raises(sr.UsageError, match=message):
            sr.watch([SITE], state=tmp_path / "s.db", fetcher=Pages(), listen=listen)
    sr.watch([SITE], state=tmp_path / "s.db", fetcher=Pages()).close()


def test_a_bug_in_on_visit_ends_the_watch(tmp_path: Path) -> None:
    def note(visit: sr.watching.SiteVisit) -> None:
        raise Bug

    with sr.watch([SITE], state=tmp_path / "s.db", fetcher=Pages(), on_visit=note) as changes, pytest.raises(Bug):
        changes.run()


PROGRAM = """
import sys, threading
import sitemap_reader as sr

site = "https://a.example"
pages = sr.fetch.DictFetcher({f"{site}/robots.txt": f"Sitemap: {site}/s.xml", f"{site}/s.xml": "<urlset/>"})
watch = sr.watch([site], state=sys.argv[1], fetcher=pages)


def run():
    threading.main_thread().join()
    try:
        watch.run()
    except sr.UsageError as error:
        print(error)


threading.Thread(target=run).start()
"""


def test_a_watch_that_outlives_the_main_thread_says_so(tmp_path: Path) -> None:
    """Python starts no thread of a pool any more."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "s.db")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    assert (ran.stdout, ran.stderr) == (
        "the main thread has ended, and with it what reading needs; "
        "join the thread that reads, so that the main thread ends last\n", ""
    )
