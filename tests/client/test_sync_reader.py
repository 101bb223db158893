"""Reader: several sites without asyncio, with one thread, one network and one pacing."""

import asyncio
import gc
import os
import re
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest
from kit import Site, robots, serve, until, urlset

import sitemap_reader as sr
from sitemap_reader.client import THREADS

HOSTS = [f"https://{name}.example" for name in "abcdef"]
SPAN: ContextVar[str] = ContextVar("SPAN", default="none")


class Hosts(Site):
    """The same two URLs on every host; notes the threads, the spans, and how many requests were open at once."""

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__(self._page)
        self.seconds = seconds
        self.open = self.most = 0
        self.threads: set[str] = set()
        self.spans: list[str] = []

    @staticmethod
    def _page(url: str) -> Any:
        host, _, path = url.removeprefix("https://").partition("/")
        if path == "robots.txt":
            return robots(f"https://{host}/s.xml")
        return urlset(f"https://{host}/1", f"https://{host}/2") if path == "s.xml" else 404

    @asynccontextmanager
    async def fetch(self, url: str, headers: Any) -> AsyncIterator[Any]:
        self.open += 1
        self.most = max(self.most, self.open)
        self.threads.add(str(threading.get_ident()))
        self.spans.append(SPAN.get())
        try:
            await asyncio.sleep(self.seconds)
            async with super().fetch(url, headers) as response:
                yield response
        finally:
            self.open -= 1


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == THREADS]


def test_streams_one_after_the_other_and_at_once_use_one_thread() -> None:
    with sr.Reader(fetcher=(hosts := Hosts())) as reader:
        assert [url.loc for url in reader.urls(HOSTS[0])] == [f"{HOSTS[0]}/1", f"{HOSTS[0]}/2"]
        streams = [reader.urls(host) for host in HOSTS]
        assert [len([*stream]) for stream in streams] == [2] * 6
        assert all(stream.complete for stream in streams)
        one, two = reader.urls(HOSTS[0]), reader.urls(HOSTS[1])
        assert [next(one).loc, next(two).loc, next(one).loc] == [f"{HOSTS[0]}/1", f"{HOSTS[1]}/1", f"{HOSTS[0]}/2"]
        assert (len(hosts.threads), len(threads())) == (1, 1)
    assert threads() == []


def test_connections_are_used_again() -> None:
    pages = {"/robots.txt": robots("https://x.test/s.xml"), "/s.xml": urlset("https://x.test/1")}
    with serve(Site(pages, "https://x.test")) as server, sr.Reader(allow_private=True) as reader:
        for _ in range(5):
            assert len([*reader.urls(server.url)]) == 1
        assert len(server.clients) == 1


def test_its_limits_hold_for_all_streams() -> None:
    with sr.Reader(fetcher=(hosts := Hosts(0.005)), concurrency=2) as reader, ThreadPoolExecutor(6) as pool:
        assert [*pool.map(lambda host: len([*reader.urls(host)]), HOSTS)] == [2] * 6
    assert hosts.most == 2


def test_changes_and_discover(tmp_path: Path) -> None:
    with sr.Reader(fetcher=Hosts()) as reader:
        for found in (2, 0):
            with reader.changes(HOSTS[0], state=tmp_path / "s.db") as changes:
                assert len([*changes]) == found
            assert changes.counts.new == found
        (candidate,) = reader.discover(HOSTS[0])
        assert (candidate.url, candidate.why) == (f"{HOSTS[0]}/s.xml", "robots")


def test_a_stream_that_is_left_leaves_the_reader_as_it_is() -> None:
    with sr.Reader(fetcher=Hosts()) as reader:
        with reader.urls(HOSTS[0]) as urls:
            next(urls)
        assert not urls.complete
        assert len([*reader.urls(HOSTS[0])]) == 2


def test_the_end_of_the_reader_ends_its_streams() -> None:
    reader = sr.Reader(fetcher=(hosts := Hosts(60.0)))
    urls = reader.urls(HOSTS[0])
    threading.Timer(0.2, reader.close).start()
    started = time.monotonic()
    assert [*urls] == []
    assert time.monotonic() - started < 30
    assert not urls.complete
    assert "stopped" in str(urls.summary)
    assert until(lambda: hosts.open == 0 and not threads())


def test_a_closed_reader_makes_no_stream() -> None:
    reader = sr.Reader(fetcher=Hosts())
    assert len([*reader.urls(HOSTS[0])]) == 2
    reader.close()
    reader.close()
    for read in (lambda: [*reader.urls(HOSTS[0])], lambda: reader.discover(HOSTS[0])):
        with pytest.raises(sr.UsageError, match=r"^this Reader is closed: make another one"):
            read()


def test_a_reader_that_is_garbage_ends_its_thread() -> None:
    reader = sr.Reader(fetcher=Hosts())
    [*reader.urls(HOSTS[0])]
    del reader
    gc.collect()
    assert until(lambda: not threads())


async def test_it_works_inside_a_running_loop_and_keeps_the_contextvars() -> None:
    hosts = Hosts()
    with sr.Reader(fetcher=hosts) as reader:
        for span in ("one", "two"):
            SPAN.set(span)
            assert len([*reader.urls(HOSTS[0])]) == 2
    assert hosts.spans == ["one"] * 2 + ["two"] * 2


def test_an_exception_of_the_fetcher_ends_its_stream_alone() -> None:
    class Broken(Hosts):
        def answer(self, url: str, headers: Any) -> Any:
            if "a.example" in url:
                raise RuntimeError("a bug")
            return super().answer(url, headers)

    with sr.Reader(fetcher=Broken()) as reader:
        with pytest.raises(RuntimeError, match="a bug"):
            list(reader.urls(HOSTS[0]))
        assert len([*reader.urls(HOSTS[1])]) == 2


def test_keywords_are_where_they_belong() -> None:
    with sr.Reader(fetcher=Hosts()) as reader, pytest.raises(sr.UsageError, match="Reader takes it"):
        reader.urls(HOSTS[0], scope="any")  # type: ignore[call-arg]
    with pytest.raises(sr.UsageError, match="belongs to the loop that made it"):
        sr.Reader(session=object())  # type: ignore[call-arg]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_needs_a_reader_of_its_own() -> None:
    with sr.Reader(fetcher=Hosts()) as reader:
        assert len([*reader.urls(HOSTS[0])]) == 2
        if (child := os.fork()) == 0:
            try:
                list(reader.urls(HOSTS[0]))
            except sr.UsageError as error:
                os._exit(42 if "make a Reader in each" in str(error) else 1)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
        assert len([*reader.urls(HOSTS[0])]) == 2


def test_where_there_can_be_no_loop_its_error_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> None:
        raise OSError(24, "Too many open files")

    with sr.Reader(fetcher=Hosts()) as reader:
        monkeypatch.setattr(asyncio, "run", fail)
        with pytest.raises(OSError, match="Too many open files"):
            list(reader.urls(HOSTS[0]))


# --- what an interactive session shows ---


def test_repr_of_a_stream_says_how_far_it_is() -> None:
    with sr.Reader(fetcher=Hosts()) as reader:
        urls = reader.urls(HOSTS[0])
        assert repr(urls) == "<Stream of https://a.example, not begun>"
        next(urls)
        assert repr(urls).startswith("<Stream of https://a.example, under way: 1 URL from ")
        assert "stopped" not in repr(urls)
        urls.close()
        assert re.fullmatch(r"<Stream of https://a.example, ended: 1 URL from .*; stopped; .* s>", repr(urls))
        whole = reader.urls(HOSTS[0])
        assert len(list(whole)) == 2
        assert re.fullmatch(r"<Stream of https://a.example, ended: 2 URLs from 1 sitemap; .* s>", repr(whole))
        for ask in (whole.batches, urls.batches, whole.arrow):
            with pytest.raises(sr.UsageError, match="this stream was read to its end or closed"):
                ask()


def test_repr_of_a_reader_has_its_limits() -> None:
    reader = sr.Reader(delay=0.5)
    assert repr(reader) == "<Reader: up to 16 requests at once, 4 to a host, 0.5 s between them>"
    reader.close()
    assert repr(reader).startswith("<Reader, closed: ")
    assert repr(sr.SitemapReader(per_host=2)) == "<SitemapReader: up to 16 requests at once, 2 to a host>"


def test_repr_of_problems_counts_by_code() -> None:
    pages = sr.fetch.DictFetcher({"https://a.example/s.xml": "<urlset><url><loc>https://b.example/</loc></url>"})
    with sr.urls("https://a.example/s.xml", fetcher=pages) as urls:
        assert repr(urls.problems) == "<Problems: none>"
        assert list(urls) == []
    assert re.fullmatch(r"<Problems: [A-Z]\d\d 1(, [A-Z]\d\d 1)+>", repr(urls.problems))
    assert repr(pages) == "<DictFetcher of 1 URL, 2 requests so far>"
