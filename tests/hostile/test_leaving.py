"""Ways to leave a stream: its connections are closed and its thread has ended within seconds.

The server counts open connections; it responds slowly, partly, or not at all.
"""

import _thread
import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from kit import until
from slow_server import (
    BEFORE,
    MAX_WAIT_SECONDS,
    SITES,
    SlowServer,
    a_large_body,
    all_is_over,
    answer,
    bodies,
    readers,
    retries_behind_one,
    silence_behind_one,
    silent_robots,
    urlset,
    was_requested,
)

import sitemap_reader as sr

pytestmark = pytest.mark.slow


@pytest.fixture
def server() -> Iterator[SlowServer]:
    with SlowServer() as server:
        yield server


# --- the sync stream --------------------------------------------------------------------------------------------


def by_break(stream: sr.Stream[sr.UrlRecord]) -> None:
    with stream:
        for _ in stream:
            break


def by_exception(stream: sr.Stream[sr.UrlRecord]) -> None:
    def read() -> None:
        with stream:
            for url in stream:
                raise KeyError(url.loc)

    with pytest.raises(KeyError):
        read()


def by_close_of_the_stream(stream: sr.Stream[sr.UrlRecord]) -> None:
    next(iter(stream))
    stream.close()


def by_close_of_the_iterator(stream: sr.Stream[sr.UrlRecord]) -> None:
    iterator = iter(stream)
    next(iterator)
    iterator.close()  # type: ignore[attr-defined]


def by_return_from_a_generator(stream: sr.Stream[sr.UrlRecord]) -> None:
    def locs() -> Iterator[str]:
        with stream:
            for url in stream:
                yield url.loc

    generator = locs()
    next(generator)
    generator.close()


WAYS_OUT = [by_break, by_exception, by_close_of_the_stream, by_close_of_the_iterator, by_return_from_a_generator]


@pytest.mark.smoke
@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("leave", WAYS_OUT)
def test_left_stream_ends_at_once(
    server: SlowServer, site: Callable[[SlowServer], str], leave: Callable[[sr.Stream[sr.UrlRecord]], None]
) -> None:
    stream = sr.urls(site(server), allow_private=True)
    leave(stream)
    assert [thread for thread in readers() if thread.name == "sitemap-reader"] == [], "it is joined"
    assert all_is_over(server)
    assert server.most_open >= 1
    with pytest.raises(sr.UsageError, match="read to its end or closed"):
        list(stream)
    assert stream.progress.urls == 1


@pytest.mark.smoke("bodies")
@pytest.mark.parametrize("site", SITES)
def test_unreferenced_stream_is_closed(server: SlowServer, site: Callable[[SlowServer], str]) -> None:
    def first() -> weakref.ref[sr.Stream[sr.UrlRecord]]:
        stream = sr.urls(site(server), allow_private=True)
        next(iter(stream))
        assert readers()
        return weakref.ref(stream)

    dropped = first()
    gc.collect()
    assert dropped() is None
    assert all_is_over(server)


def test_stream_in_a_reference_cycle_is_closed_by_the_collector(server: SlowServer) -> None:
    class Holder:
        pass

    def first() -> None:
        holder = Holder()
        holder.itself, holder.stream = holder, sr.urls(bodies(server), allow_private=True)  # type: ignore[attr-defined]
        next(iter(holder.stream))  # type: ignore[attr-defined]

    first()
    gc.collect()
    assert all_is_over(server)


def test_collector_may_close_a_stream_in_its_own_thread(server: SlowServer) -> None:
    """The thread of the stream waits for that of feedparser."""
    is_dropped, requested = threading.Event(), threading.Event()

    def fallback(*_: object, **__: object) -> sr.pipeline.FallbackResult:
        requested.set()
        is_dropped.wait(MAX_WAIT_SECONDS)
        gc.collect()
        return sr.pipeline.FallbackResult()

    def first() -> None:
        circle: list[Any] = [sr.urls(server.url, allow_private=True, feed_fallback=fallback)]
        circle.append(circle)
        next(iter(circle[0]))
        assert requested.wait(MAX_WAIT_SECONDS)

    lines = "".join(f"Sitemap: {server.url}/{name}\n" for name in ("feed.xml", "0.xml"))
    server.pages["/robots.txt"] = answer(lines.encode())
    server.pages["/feed.xml"] = answer(b"<CHANNEL/>")  # the streaming parser does not read CDF
    server.pages["/0.xml"] = answer(urlset(server.url))
    gc.disable()  # not earlier, and in no other thread
    try:
        first()
        is_dropped.set()
        assert all_is_over(server)
    finally:
        gc.enable()


@pytest.mark.smoke("silence_behind_one")
@pytest.mark.parametrize("site", [*BEFORE, silence_behind_one, retries_behind_one])
def test_another_thread_may_close_a_stream_that_waits(server: SlowServer, site: Callable[[SlowServer], str]) -> None:
    """Waiting for robots.txt, for a document without a response, or for a retry."""
    target = site(server)
    stream, found = sr.urls(target, allow_private=True), list[str]()
    reading = threading.Thread(target=lambda: found.extend(url.loc for url in stream))
    reading.start()
    was_requested(server, "/robots.txt" if site in BEFORE else "/2.xml")
    time.sleep(0.3)
    stream.close()
    reading.join(MAX_WAIT_SECONDS)
    assert not reading.is_alive()
    assert len(found) == (0 if site in BEFORE else 400)
    assert all_is_over(server)


@pytest.mark.smoke
def test_exception_in_on_wait_ends_the_stream(server: SlowServer) -> None:
    """The command line checks for interrupts in on_wait."""
    silent_robots(server)

    def wait() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), sr.urls(server.url, allow_private=True, on_wait=wait) as stream:
        list(stream)
    assert all_is_over(server)


def test_many_streams_leave_nothing_open(server: SlowServer) -> None:
    target, before = bodies(server), set(threading.enumerate())
    for _ in range(20):
        with sr.urls(target, allow_private=True) as stream:
            next(iter(stream))
    assert all_is_over(server)
    assert until(lambda: not set(threading.enumerate()) - before, MAX_WAIT_SECONDS)


# --- the async stream -------------------------------------------------------------------------------------------


async def async_break(reader: sr.SitemapReader, target: str) -> None:
    async with reader.urls(target) as stream:
        async for _ in stream:
            break


async def async_exception(reader: sr.SitemapReader, target: str) -> None:
    with suppress(KeyError):
        async with reader.urls(target) as stream:
            async for url in stream:
                raise KeyError(url.loc)


async def async_cancelled(reader: sr.SitemapReader, target: str) -> None:
    began = asyncio.Event()

    async def read() -> None:
        async with reader.urls(target) as stream:
            async for _ in stream:
                began.set()

    task = asyncio.create_task(read())
    await asyncio.wait_for(began.wait(), MAX_WAIT_SECONDS)
    await asyncio.sleep(0.2)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def async_timed_out(reader: sr.SitemapReader, target: str) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(1.0):
            async with reader.urls(target) as stream:
                async for _ in stream:
                    await asyncio.sleep(0.5)


async def async_close(reader: sr.SitemapReader, target: str) -> None:
    stream = reader.urls(target)
    await anext(aiter(stream))
    await stream.close()


async def async_generator(reader: sr.SitemapReader, target: str) -> None:
    async def locs():
        async with reader.urls(target) as stream:
            async for url in stream:
                yield url.loc

    generator = locs()
    await anext(generator)
    await generator.aclose()


ASYNC_WAYS_OUT = [async_break, async_exception, async_cancelled, async_timed_out, async_close, async_generator]


@pytest.mark.smoke("async_break-bodies")
@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("leave", ASYNC_WAYS_OUT)
def test_left_async_stream_cancels_its_requests(
    server: SlowServer, site: Callable[[SlowServer], str], leave: Callable[..., object]
) -> None:
    async def main() -> int:
        async with sr.SitemapReader(allow_private=True) as reader:
            await leave(reader, site(server))  # type: ignore[misc]
            return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1
    assert all_is_over(server)


@pytest.mark.parametrize("site", BEFORE)
def test_an_async_stream_that_waits_for_robots_txt_is_cancelled(
    server: SlowServer, site: Callable[[SlowServer], str]
) -> None:
    async def main() -> int:
        async with sr.SitemapReader(allow_private=True) as reader:
            with suppress(TimeoutError):
                async with asyncio.timeout(0.5), reader.urls(site(server)) as stream:
                    await anext(aiter(stream))
            return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1
    assert all_is_over(server)


def test_connections_are_closed_with_the_stream(server: SlowServer) -> None:
    """A connection with an unread body cannot be reused: it is closed at once."""

    def only_one_is_open() -> bool:
        return until(lambda: server.open <= 1)  # the one of robots.txt is kept for the next request

    async def main() -> bool:
        async with sr.SitemapReader(allow_private=True) as reader:
            await async_break(reader, a_large_body(server))
            return await asyncio.to_thread(only_one_is_open)

    assert asyncio.run(main())
    assert all_is_over(server)


def test_unclosed_async_stream_ends_with_its_loop(server: SlowServer) -> None:
    async def main() -> None:
        async with sr.SitemapReader(allow_private=True) as reader:
            await anext(aiter(reader.urls(bodies(server))))

    asyncio.run(main())
    gc.collect()
    assert all_is_over(server)


# --- discovery --------------------------------------------------------------------------------------------------


def test_exception_during_discover_leaves_no_request(server: SlowServer) -> None:
    server.pages["/robots.txt"] = answer(f"Sitemap: {server.url}/a.xml\nSitemap: {server.url}/b.xml\n".encode())
    server.pages |= {"/a.xml": answer(urlset(server.url)), "/b.xml": (b"", True)}

    def receive(item: object) -> None:
        raise KeyError(item)

    async def main() -> int:
        async with sr.SitemapReader(allow_private=True) as reader:
            with pytest.raises(KeyError) as raised:
                await reader.discover(server.url, on_item=receive)
            assert raised.traceback  # whose frames would keep the crawl alive
            return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1
    assert all_is_over(server)


def test_an_interrupt_of_discover_ends_its_thread(server: SlowServer) -> None:
    silent_robots(server)

    def interrupt() -> None:
        """As Ctrl-C: the main thread is interrupted while it waits for the crawl."""
        was_requested(server, "/robots.txt")
        _thread.interrupt_main()

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        sr.discover(server.url, allow_private=True)
    interrupter.join()
    assert readers() == []
    assert all_is_over(server)


def test_an_interrupt_before_the_loop_of_discover_runs_ends_its_thread(
    server: SlowServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent_robots(server)
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        if thread.name == "sitemap-reader":
            raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sr.discover(server.url, allow_private=True)
    assert readers() == []
    assert all_is_over(server)


# --- exceptions in callbacks --------------------------------------------------------------------------


def a_document_that_waits_for_proof(server: SlowServer) -> str:
    """A document that ends when the crawl is over, followed by one with a problem in each entry."""
    target = bodies(server)
    server.pages["/0.xml"] = answer(urlset("https://other.example", 3))
    server.pages["/1.xml"] = answer(urlset(server.url).replace(b"</loc>", b"</loc><lastmod>no</lastmod>"), more=10_000)
    return target


def read_sync(target: str, **options: Any) -> None:
    with sr.urls(target, allow_private=True, per_host=1, **options) as urls:
        list(urls)


def read_async(target: str, **options: Any) -> None:
    async def main() -> None:
        async with sr.SitemapReader(allow_private=True, per_host=1) as reader, reader.urls(target, **options) as urls:
            async for _ in urls:
                pass

    asyncio.run(main())


@pytest.mark.parametrize("read", [read_sync, read_async])
def test_callback_that_raised_is_not_called_again(server: SlowServer, read: Callable[..., None]) -> None:
    """Not even for the last items of a crawl that is left: a second exception would hide the first one."""
    received: list[object] = []

    def receive(item: object) -> None:
        received.append(item)
        if isinstance(item, sr.Problem) and item.code == "D01":
            raise KeyError(len(received))

    target = a_document_that_waits_for_proof(server)
    with pytest.raises(KeyError) as raised:
        read(target, on_item=receive, on_outcome=received.append)
    assert raised.value.args == (len(received),)
    assert all_is_over(server)


def test_exception_in_a_callback_during_close_reaches_the_caller(server: SlowServer) -> None:
    """A ValueError, which Python itself raises for a generator that is closed while it runs."""

    def receive(outcome: sr.Outcome) -> None:
        if outcome.dropped:
            raise ValueError(outcome.dropped)

    target, hasty = a_document_that_waits_for_proof(server), sr.Limits(read_seconds=0.5, tries=1)
    stream = sr.urls(target, allow_private=True, per_host=1, limits=hasty, on_outcome=receive)
    read = iter(stream)
    while next(read) and stream.progress.documents_done < 2:  # the index, and the document after the waiting one
        pass
    with pytest.raises(ValueError, match="host"):
        stream.close()
    assert [outcome.dropped for outcome in stream.outcomes if outcome.url.endswith("/0.xml")] == [{"host": 3}]
    assert all_is_over(server)
