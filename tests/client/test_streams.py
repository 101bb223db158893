"""Sync and async streams: same results, same errors, and closed when unreferenced."""

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from kit import HOST, Site, urlset, xml
from servers import Page, SiteServer

import sitemap_reader as sr
from sitemap_reader.client import url_batches

Serve = Callable[[Mapping[str, Page]], SiteServer]
Stream = sr.Stream[Any] | sr.AsyncStream[Any]
Read = Callable[..., tuple[list[str], Stream]]

SITES = Path(__file__).parents[2] / "corpus" / "sites"
SHOP, BROKEN = SITES / "shop", SITES / "broken"
XML = {"Content-Type": "application/xml"}
WAIT_SECONDS = 10.0
# A response that never ends: less comes than its length says.
CUT = (200, XML | {"Content-Length": "99999"}, urlset(*["/a"] * 100))
READ = "this stream was read to its end or closed: keep list"


def read_sync(target: str | Path, *, leave_after: int | None = None, **options: Any) -> tuple[list[str], Stream]:
    """The URLs, and their stream, which is left after some where that is wanted."""
    found: list[str] = []
    with sr.urls(target, allow_private=True, **options) as stream:
        for url in stream:
            found.append(url.loc)
            if len(found) == leave_after:
                break
    return found, stream


def read_async(target: str | Path, *, leave_after: int | None = None, **options: Any) -> tuple[list[str], Stream]:
    async def main() -> tuple[list[str], Stream]:
        found: list[str] = []
        async with sr.SitemapReader(allow_private=True) as reader, reader.urls(target, **options) as stream:
            async for url in stream:
                found.append(url.loc)
                if len(found) == leave_after:
                    break
        return found, stream

    return asyncio.run(main())


def read_sync_in_a_loop(target: str | Path, **options: Any) -> tuple[list[str], Stream]:
    """As in a cell of a notebook."""

    async def cell() -> tuple[list[str], Stream]:
        return read_sync(target, **options)

    return asyncio.run(cell())


def read_sync_in_a_thread(target: str | Path, **options: Any) -> tuple[list[str], Stream]:
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(read_sync, target, **options).result()


def read_batches(target: str | Path, **options: Any) -> tuple[list[str], Stream]:
    found: list[str] = []
    with url_batches(target, allow_private=True, **options) as stream:
        for some in stream:
            found += some.locs
    return found, stream


both = pytest.mark.parametrize("read", [read_sync, read_async, read_batches])
everywhere = pytest.mark.parametrize(
    "read", [read_sync, read_sync_in_a_loop, read_sync_in_a_thread, read_async, read_batches]
)


@pytest.fixture(autouse=True)
def _no_stray_threads() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert [thread.name for thread in set(threading.enumerate()) - before if "sitemap-reader" in thread.name] == []


# --- results ---------------------------------------------------------------------------------------------


@everywhere
def test_a_complete_site(read: Read) -> None:
    found, stream = read(SHOP)
    assert len(found) == 640
    assert (stream.complete, stream.summary.urls, stream.progress.urls) == (True, 640, 640)
    assert stream.summary.complete
    stream.raise_for_partial()


@everywhere
def test_a_partial_site(read: Read) -> None:
    received: list[sr.Outcome] = []
    found, stream = read(BROKEN, on_outcome=received.append)
    assert len(found) == 146
    assert not stream.complete
    assert received == stream.outcomes
    assert (stream.problems.counts["U04"], len(stream.problems.samples)) == (10, 15)
    assert str(stream.summary).startswith("146 URLs from 5 of 8 sitemaps; 10 dropped")
    with pytest.raises(sr.PartialRead, match="3 sitemaps could not be read, 1 sitemap could be read in part") as raised:
        stream.raise_for_partial()
    assert raised.value.outcomes == tuple(stream.outcomes)


@pytest.mark.parametrize("read", [read_sync, read_async])
def test_summary_of_a_partial_read_counts_that_part(read: Read) -> None:
    found, stream = read(SHOP, leave_after=100)
    assert (len(found), stream.progress.urls, stream.summary.urls) == (100, 100, 100)
    assert stream.progress.documents_done <= stream.progress.documents_known
    assert len(stream.outcomes) < 9


@everywhere
def test_errors_of_the_site_are_raised_at_the_end(read: Read, site_server: Serve) -> None:
    with pytest.raises(sr.NothingFound, match="give its URL"):
        read(site_server({}).url)
    broken = site_server({"/s.xml": (200, XML, b"<urlset><url><loc>http")})
    with pytest.raises(sr.NothingReadable, match="S01") as raised:
        read(f"{broken.url}/s.xml")
    assert [outcome.complete for outcome in raised.value.outcomes if outcome.format == "urlset"] == [False]


@both
def test_usage_errors_are_raised_at_once(read: Read) -> None:
    with pytest.raises(sr.UsageError, match="there is no file or folder wort; a site is named by its host"):
        read("wort")


# --- the most URLs ---


@both
@pytest.mark.parametrize("limit", [1, 100])
def test_limit_ends_the_stream(read: Read, limit: int) -> None:
    found, stream = read(SHOP, limit=limit)
    assert (len(found), stream.progress.urls, stream.summary.urls) == (limit, limit, limit)
    assert len(stream.outcomes) < 9, "the rest is not read"


@both
def test_limit_that_is_not_reached(read: Read) -> None:
    found, stream = read(SHOP, limit=641)
    assert (len(found), stream.complete, len(stream.outcomes)) == (640, True, 11)


@both
def test_limit_counts_each_url_once_where_that_is_wanted(read: Read) -> None:
    seen = sr.client.UrlSet()
    first, _ = read(SHOP, limit=30, unique=seen)
    rest, stream = read(SHOP, unique=seen)
    assert (len(first), len({*first, *rest})) == (30, 640)
    assert stream.summary.urls == len(rest) == 610


@both
def test_limit_below_one_raises_at_once(read: Read) -> None:
    with pytest.raises(sr.UsageError, match="limit is a whole number, 1 or more, not 0"):
        read(SHOP, limit=0)
    with pytest.raises(sr.UsageError, match="limit is a whole number, 1 or more, not '5'"):
        read(SHOP, limit="5")


# --- progress -------------------------------------------------------------------------------------------


@everywhere
def test_on_progress_is_called_during_the_run(read: Read) -> None:
    received: list[sr.client.Progress] = []
    found, stream = read(SHOP, on_progress=received.append)
    assert 5 <= len(received) < len(found), "once a batch, not once a record"
    assert [each.urls for each in received] == sorted(each.urls for each in received)
    assert len({each.urls for each in received}) >= 5
    assert all(each.documents_done <= each.documents_known for each in received)
    last = received[-1]
    assert last == stream.progress
    assert (last.documents_done, last.documents_known, last.urls) == (10, 10, 640)
    assert last.bytes_wire > 1_000


@pytest.mark.slow
def test_on_progress_is_called_while_waiting() -> None:
    """For the sync stream, whose caller has no loop; `on_wait` is called as well."""
    free, received, waits = threading.Event(), list[sr.client.Progress](), list[int]()

    async def until_free() -> None:
        await asyncio.to_thread(free.wait, WAIT_SECONDS)

    site = Site({"/s.xml": (200, XML, (until_free, urlset(f"{HOST}/1")))})

    def receive(progress: sr.client.Progress) -> None:
        received.append(progress)
        if len(received) == 3:
            free.set()

    wait = lambda: waits.append(len(received))  # noqa: E731
    with sr.urls(f"{HOST}/s.xml", fetcher=site, on_progress=receive, on_wait=wait) as stream:
        assert [url.loc for url in stream] == [f"{HOST}/1"]
    assert [each.urls for each in received[:3]] == [0, 0, 0]
    assert waits[-1] == 3, "reported before it"
    assert received[-1].urls == 1


@pytest.mark.slow
def test_on_progress_says_what_is_waited_for_meanwhile() -> None:
    busy = 503, {"retry-after": "1"}, b""
    site, received = Site({"/s.xml": [busy, urlset(f"{HOST}/1")]}), list[sr.client.Progress]()
    with sr.urls(f"{HOST}/s.xml", fetcher=site, on_progress=received.append) as stream:
        assert [url.loc for url in stream] == [f"{HOST}/1"]
    waits = [wait for progress in received for wait in progress.waits]
    assert {(wait.host, wait.reason) for wait in waits} == {(HOST, "retry-after")}
    assert 1.0 >= (waits[0].seconds or 0.0) > (waits[-1].seconds or 0.0) >= 0.0
    assert (received[-1].retries, received[-1].waits) == (1, ())


@everywhere
def test_exception_in_on_progress_ends_the_stream(read: Read) -> None:
    def receive(progress: sr.client.Progress) -> None:
        if progress.urls >= 100:
            raise KeyError(progress.urls)

    with pytest.raises(KeyError) as raised:
        read(SHOP, on_progress=receive)
    assert raised.value.args[0] >= 100


# --- the end of a stream -----------------------------------------------------------------------------------------


def test_iterating_again_goes_on() -> None:
    with sr.urls(SHOP) as stream:
        first = next(iter(stream)).loc
        rest = [url.loc for url in stream]
        with pytest.raises(sr.UsageError, match=READ):
            list(stream)
    assert len({first, *rest}) == 640
    with pytest.raises(sr.UsageError, match=READ):
        list(stream)


async def test_iterating_an_async_stream_again_goes_on() -> None:
    async with sr.SitemapReader() as reader, reader.urls(SHOP) as stream:
        first = (await anext(aiter(stream))).loc
        rest = [url.loc async for url in stream]
        with pytest.raises(sr.UsageError, match=READ):
            [url async for url in stream]
        assert len({first, *rest}) == 640


@pytest.mark.parametrize("begin", [False, True], ids=["unread", "begun"])
async def test_left_stream_yields_nothing_more_and_is_incomplete(begin: bool, tmp_path: Path) -> None:
    for stream in (sr.urls(SHOP), url_batches(SHOP), sr.changes(SHOP, state=tmp_path / "state.db")):
        with stream:
            if begin:
                next(iter(stream))
        with pytest.raises(sr.UsageError, match=READ):
            iter(stream)
    async with sr.SitemapReader() as reader:
        changes = reader.changes(SHOP, state=tmp_path / "state.db")
        for each in (reader.urls(SHOP), changes):
            async with each:
                if begin:
                    await anext(aiter(each))
            with pytest.raises(sr.UsageError, match=READ):
                aiter(each)


STOPPED = "stopped before its end"


def assert_stopped(stream: Stream) -> None:
    assert (stream.complete, stream.summary.complete, stream.summary.stopped) == (False, False, True)
    assert "; stopped; " in str(stream.summary)
    assert stream.summary.partial_line() == f"partial: {STOPPED}"
    with pytest.raises(sr.PartialRead, match=STOPPED):
        stream.raise_for_partial()


@both
@pytest.mark.parametrize("limit", [1, 100])
def test_a_stream_that_is_left_before_its_end_is_not_complete(read: Read, limit: int) -> None:
    assert_stopped(read(SHOP, leave_after=limit)[1] if read is not read_batches else read_one_batch())


def read_one_batch() -> Stream:
    with url_batches(SHOP) as stream:
        next(iter(stream))
    return stream


def test_a_stream_is_not_complete_before_its_last_item_was_followed_by_the_end() -> None:
    stream = sr.urls(SHOP)
    assert_stopped(stream)
    for number, _ in enumerate(stream, 1):
        assert not stream.complete
        if number == 640:  # the last one, which only the next request shows
            break
    assert_stopped(stream)
    assert list(stream) == []
    assert (stream.complete, stream.summary.stopped) == (True, False)
    stream.close()
    assert stream.complete
    stream.raise_for_partial()


def test_a_stream_that_is_closed_unread_is_not_complete(tmp_path: Path) -> None:
    for stream in (sr.urls(SHOP), url_batches(SHOP), sr.changes(SHOP, state=tmp_path / "state.db")):
        stream.close()
        assert_stopped(stream)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["urls", "changes"])
def test_a_stream_that_another_thread_closes_is_not_complete(kind: str, site_server: Serve, tmp_path: Path) -> None:
    target = f"{site_server({'/s.xml': CUT}).url}/s.xml"
    if kind == "urls":
        stream: Any = sr.urls(target, allow_private=True)
    else:
        stream = sr.changes(target, state=tmp_path / "state.db", allow_private=True)
    timer = threading.Timer(0.3, stream.close)
    timer.start()
    list(stream)  # ends without an exception
    timer.join()
    assert_stopped(stream)


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError, asyncio.CancelledError])
def test_a_stream_that_an_exception_ends_is_not_complete(error: type[BaseException]) -> None:
    with suppress(error), sr.urls(SHOP) as stream:
        for _ in stream:
            raise error
    assert_stopped(stream)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["urls", "changes"])
async def test_an_async_stream_that_times_out_or_is_cancelled_is_not_complete(
    kind: str, site_server: Serve, tmp_path: Path
) -> None:
    target = f"{site_server({'/s.xml': CUT}).url}/s.xml"
    streams: list[Any] = []

    async def read(reader: sr.SitemapReader) -> None:
        stream = reader.urls(target) if kind == "urls" else reader.changes(target, state=tmp_path / "state.db")
        streams.append(stream)
        async with stream:
            async for _ in stream:
                pass

    async with sr.SitemapReader(allow_private=True) as reader:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await read(reader)
        task = asyncio.create_task(read(reader))
        await asyncio.sleep(0.3)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    for stream in streams:
        assert_stopped(stream)


@pytest.mark.parametrize("left", [False, True])
def test_a_stream_that_reached_its_limit_is_complete(left: bool) -> None:
    with sr.urls(SHOP, limit=3) as stream:
        urls = iter(stream)
        for _ in range(3):
            next(urls)
        if not left:
            assert next(urls, None) is None
            with pytest.raises(sr.UsageError, match=READ):
                iter(stream)
    assert (stream.complete, stream.summary.limited, stream.summary.stopped) == (True, True, False)
    assert str(stream.summary).startswith("the first 3 URLs; ")
    stream.raise_for_partial()


def test_a_stream_that_ended_before_its_limit_is_not_limited() -> None:
    with sr.urls(SHOP, limit=641) as stream:
        list(stream)
    assert not stream.summary.limited
    assert str(stream.summary).startswith("640 URLs from 10 sitemaps; ")


def test_a_stream_that_raises_at_its_end_was_read_to_it() -> None:
    stream = sr.urls(HOST, fetcher=Site())
    with pytest.raises(sr.NothingFound):
        list(stream)
    assert not stream.summary.stopped
    with pytest.raises(sr.UsageError, match=READ):
        list(stream)


def test_changes_are_read_once(tmp_path: Path) -> None:
    with sr.changes(SHOP, state=tmp_path / "state.db") as changes:
        assert len(list(changes)) == 640
        with pytest.raises(sr.UsageError, match=READ):
            list(changes)


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collector")
def test_leaving_a_loop_over_an_unreferenced_stream_closes_it_at_once() -> None:
    """Without a `with` block, and without garbage collection."""
    for _ in sr.urls(SHOP):
        assert any(thread.name == "sitemap-reader" for thread in threading.enumerate())
        break
    assert not any(thread.name == "sitemap-reader" for thread in threading.enumerate())

    def fail() -> None:
        for url in sr.urls(SHOP):
            raise KeyError(url.loc)

    with pytest.raises(KeyError) as raised:
        fail()
    assert raised.traceback, "its frames do not hold the stream"
    assert not any(thread.name == "sitemap-reader" for thread in threading.enumerate())


@pytest.mark.usefixtures("without_collector")
async def test_leaving_a_loop_over_an_unreferenced_async_stream_closes_it() -> None:
    async with sr.SitemapReader() as reader:
        async for _ in reader.urls(SHOP):
            break
        await asyncio.sleep(0)  # a task of the loop closes it
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert others
        await asyncio.wait(others, timeout=WAIT_SECONDS)
        assert [str(task) for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


# --- as programs ------------------------------------------------------------------------------------------------

# Slow turns of the loop are not checked here.
QUIET = "import logging; logging.getLogger('asyncio').setLevel(logging.ERROR)\n"

COUNTED = """
import asyncio, sys, threading
import sitemap_reader as sr

shop = sys.argv[1]

def sync():
    with sr.urls(shop) as urls:
        return sum(1 for _ in urls)

async def cell():
    return sync()

async def reading():
    async with sr.SitemapReader() as reader, reader.urls(shop) as urls:
        return len([url async for url in urls])

async def without_blocks():
    reader = sr.SitemapReader()
    return len([url async for url in reader.urls(shop)])

counts = [sync(), sum(1 for _ in sr.urls(shop)), asyncio.run(cell()), asyncio.run(reading())]
counts.append(asyncio.run(without_blocks()))
thread = threading.Thread(target=lambda: counts.append(sync()))
thread.start()
thread.join()
thread = threading.Thread(target=lambda: counts.append(asyncio.run(reading())))
thread.start()
thread.join()
print(counts, threading.active_count())
"""

OPEN_AT_THE_END = """
import sys
import sitemap_reader as sr

stream = sr.urls(sys.argv[1], allow_private=True)
print(next(iter(stream)).loc.rpartition("/")[2])
"""

LEFT_IN_A_LOOP = """
import asyncio, sys
import sitemap_reader as sr

async def main():
    global stream
    stream = sr.SitemapReader().urls(sys.argv[1])
    return (await anext(aiter(stream))).loc

print(asyncio.run(main()).startswith("https://"))
"""


def program(text: str, *arguments: str | Path) -> tuple[int, str, str]:
    """Exit code, stdout and stderr, with every warning an error."""
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", QUIET + text, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout.strip(), done.stderr


@pytest.mark.slow
def test_reading_to_the_end_gives_no_warning() -> None:
    code, counts, reported = program(COUNTED, SHOP)
    assert (code, reported) == (0, "")
    assert counts == f"{[640] * 7} 1"


@pytest.mark.slow
def test_a_program_may_end_while_a_stream_is_open(site_server: Serve) -> None:
    """Its thread ends before the interpreter does."""
    server = site_server({})
    server.pages["/s.xml"] = xml(urlset(*(f"{server.url}/{number}" for number in range(40_000))))
    assert program(OPEN_AT_THE_END, f"{server.url}/s.xml") == (0, "0", "")
    assert program(LEFT_IN_A_LOOP, SHOP) == (0, "True", "")
