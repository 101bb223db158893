"""DocumentParser and DocumentTask: batches of bounded size, and memory that is free without a garbage collection."""

from __future__ import annotations

import asyncio
import gc
import threading
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from scripted_fetcher import MAP, many, packed

from sitemap_reader.frontier.document_request import DocumentRequest
from sitemap_reader.frontier.filters import Selection, make_patterns
from sitemap_reader.model.limits import MIB, Limits
from sitemap_reader.model.url_batch import UrlBatch, unbatched
from sitemap_reader.parser.content.decoder import Decoder
from sitemap_reader.parser.content.gzip import GzipDecoder
from sitemap_reader.parser.parser import SitemapParser
from sitemap_reader.pipeline.document_parser import DocumentParser, take_batch
from sitemap_reader.pipeline.document_task import DocumentTask
from sitemap_reader.pipeline.thread_pool import ThreadPool
from sitemap_reader.serialize.jsonl import encode_urls

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from sitemap_reader.pipeline.document_parser import Batch

BODY = packed(many(3000))
MOST_SECONDS = 10.0


def parser_of(**options: Any) -> DocumentParser:
    """A parser of MAP."""
    options = {"selection": Selection(), **options}
    return DocumentParser(
        url=MAP, final_url=MAP, content_type=None, scope="any", authorities=(), limits=Limits(), **options
    )


def task_of(parser: DocumentParser, pool: ThreadPool, received: list[Any]) -> DocumentTask:
    async def receive(batch: Batch) -> None:
        received.extend(unbatched(batch))

    async def ask(body: bytes, url: str | None) -> Any:
        raise AssertionError("no feed fallback is needed")

    return DocumentTask(
        DocumentRequest(MAP, MAP, "given"),
        parser,
        pool,
        pool,
        on_link=received.append,
        on_batch=receive,
        ask_fallback=ask,
    )


async def chunks(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


# --- batches ----------------------------------------------------------------------------------------------------


def batches(parser: DocumentParser, chunk: bytes) -> Iterator[Batch]:
    """The batches of one chunk."""
    parsed, is_done = parser.parse(chunk), False
    while not is_done:
        batch, is_done = take_batch(parsed)
        yield batch


def test_chunk_with_a_large_decoded_size_gives_many_batches() -> None:
    found = batches(parser_of(), packed(many(50_000)))
    given = [[item for item in batch if isinstance(item, UrlBatch)] for batch in found]
    sizes = [sum(len(encode_urls(urls)) for urls in batch) for batch in given]
    assert len(sizes) > 20
    assert max(sizes) < 600_000
    assert sum(len(urls) for batch in given for urls in batch) > 49_000


def test_decompression_without_output_is_done_in_turns() -> None:
    unwanted = Selection(include=make_patterns("include", "nowhere"))
    parser = parser_of(selection=unwanted)
    decoded = [0, *(parser.outcome.bytes_decoded for _ in batches(parser, packed(many(200_000))))]
    assert len(decoded) > 4
    assert max(after - before for before, after in pairwise(decoded)) < 5 * MIB


# --- memory -----------------------------------------------------------------------------------------------------


def parsers_in_memory() -> int:
    """Counts the large objects of parsers in memory."""
    return sum(isinstance(each, SitemapParser | Decoder | GzipDecoder) for each in gc.get_objects())


@contextmanager
def uncollected() -> Iterator[None]:
    """Disables garbage collection; objects from before are not counted."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.parametrize("ends", [True, False])
def test_a_document_is_freed_when_its_task_releases_it(ends: bool) -> None:
    async def main() -> None:
        pool = ThreadPool("own", 2)
        received: list[Any] = []
        try:
            task = task_of(parser_of(), pool, received)
            await task.read(chunks(*(BODY[at : at + 1000] for at in range(0, len(BODY), 1000))))
            if ends:
                await task.end()
            task.release()
            assert len(received) >= 2_900
        finally:
            await pool.close()

    with uncollected():
        before = parsers_in_memory()
        asyncio.run(main())
        assert parsers_in_memory() == before


def test_a_cancelled_document_is_freed_when_its_call_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, goes_on = threading.Event(), threading.Event()
    parse = DocumentParser.parse
    items: list[int] = []

    def slow(self: DocumentParser, chunk: bytes) -> Iterator[Batch]:
        begun.set()
        assert goes_on.wait(MOST_SECONDS)
        for batch in parse(self, chunk):
            items.append(self.items)
            yield batch

    monkeypatch.setattr(DocumentParser, "parse", slow)

    async def main() -> None:
        pool = ThreadPool("own")
        failures: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: failures.append(context))
        task = task_of(parser_of(), pool, [])
        reading = asyncio.ensure_future(task.read(chunks(BODY)))
        assert await asyncio.to_thread(begun.wait, MOST_SECONDS)
        reading.cancel()
        await asyncio.wait([reading])
        assert reading.cancelled()
        task.release()
        goes_on.set()
        await pool.close()
        assert failures == []
        assert items[0] > 0, "the call went on to its end"

    with uncollected():
        before = parsers_in_memory()
        asyncio.run(main())
        assert parsers_in_memory() == before
