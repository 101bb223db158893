"""The queue between the thread of an event loop and its consumer."""

import os
import signal
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from queue import Empty
from typing import Any

import pytest

import sitemap_reader as sr
from sitemap_reader.client import TimedQueue


def test_items_come_in_order_and_waiting_ends() -> None:
    queue: TimedQueue[int] = TimedQueue()
    for number in range(3):
        queue.put(number)
    assert [queue.get(0) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(Empty):
        queue.get(0.01)
    threading.Timer(0.05, queue.put, [3]).start()
    assert queue.get(10) == 3


@pytest.mark.slow
def test_a_signal_handler_that_outlasts_the_timeout_does_not_delay_its_end() -> None:
    """SimpleQueue.get(timeout=) of Python 3.11 and 3.12 then waits for an item."""
    queue: TimedQueue[str] = TimedQueue()
    before = signal.signal(signal.SIGTERM, lambda *_: time.sleep(0.4))
    late = threading.Timer(10, queue.put, ["too late"])
    try:
        threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGTERM]).start()
        late.start()
        with pytest.raises(Empty):
            queue.get(0.2)
    finally:
        late.cancel()
        signal.signal(signal.SIGTERM, before)


SPAN: ContextVar[str] = ContextVar("SPAN", default="none")


class TracingFetcher:
    """Answers from the recorded shop, and notes the span in which each request is made."""

    def __init__(self) -> None:
        self.spans: set[str] = set()
        self._pages = sr.fetch.ReplayFetcher(Path(__file__).parents[2] / "corpus" / "sites" / "shop")

    @asynccontextmanager
    async def fetch(self, url: str, headers: Any) -> AsyncIterator[Any]:
        self.spans.add(SPAN.get())
        async with self._pages.fetch(url, headers) as response:
            yield response


def test_requests_and_callbacks_of_a_sync_stream_have_the_contextvars_of_its_caller(tmp_path: Path) -> None:
    """A trace of the requests has the caller's span as its parent."""
    fetcher, documents = TracingFetcher(), set()
    token = SPAN.set("crawl")
    try:
        assert len(list(sr.urls("shop.example", fetcher=fetcher))) == 640
        sr.discover("shop.example", fetcher=fetcher)
        state = tmp_path / "state.db"
        changes = sr.changes(
            "shop.example", state=state, fetcher=fetcher, on_document=lambda _: documents.add(SPAN.get())
        )
        list(changes)
    finally:
        SPAN.reset(token)
    assert (fetcher.spans, documents) == ({"crawl"}, {"crawl"})


async def test_callbacks_of_changes_have_the_contextvars_of_their_task(tmp_path: Path) -> None:
    documents: set[str] = set()
    SPAN.set("task")
    async with sr.SitemapReader(fetcher=TracingFetcher()) as reader:
        on_document = lambda _: documents.add(SPAN.get())  # noqa: E731
        async with reader.changes("shop.example", state=tmp_path / "s.db", on_document=on_document) as changes:
            async for _ in changes:
                pass
    assert documents == {"task"}
