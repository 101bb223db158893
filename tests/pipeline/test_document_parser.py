"""DocumentParser and ParseExecutor: batches of bounded size, and memory that is free without a garbage collection."""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from itertools import chain, pairwise
from typing import Any

import pytest
from scripted_fetcher import MAP, many, packed

from sitemap_reader.frontier import Document, Plan, Selection, make_patterns
from sitemap_reader.model import MIB, UrlBatch, items_of
from sitemap_reader.pipeline import Batch, DocumentParser, ParseExecutor
from sitemap_reader.serialize import encode_urls

BODY = packed(many(3000))
MOST_SECONDS = 10.0


def parser_of(**options: Any) -> DocumentParser:
    """A parser of MAP."""
    return DocumentParser(Document(MAP, "given").request, Plan(scope="any", **options), {})


async def parsed(parser: DocumentParser, executor: ParseExecutor, body: AsyncIterator[bytes]) -> int:
    """Parses a body without its end; the number of its URLs."""
    async with aclosing(executor.parse(parser, body)) as batches:
        return sum([len(item) async for batch in batches for item in batch if isinstance(item, UrlBatch)])


async def chunks(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


# --- batches ----------------------------------------------------------------------------------------------------


def batches(parser: DocumentParser, chunk: bytes) -> Iterator[Batch]:
    """The batches of one chunk."""
    return (batch for batch, _ in parser.parse(chunk))


def test_chunk_with_a_large_decoded_size_gives_many_batches() -> None:
    found = batches(parser_of(), packed(many(50_000)))
    given = [[item for item in batch if isinstance(item, UrlBatch)] for batch in found]
    sizes = [sum(len(encode_urls(urls)) for urls in batch) for batch in given]
    assert len(sizes) > 20
    assert max(sizes) < 600_000
    assert sum(len(urls) for batch in given for urls in batch) > 49_000


def test_a_batch_ends_where_its_time_is_over() -> None:
    whole, late = parser_of(), parser_of()
    late.late_at = 0.0
    steps = late.parse(packed(many(5_000)))
    first, is_last = next(steps)
    assert not is_last
    assert late.result.outcome.bytes_decoded <= MIB // 16
    rest = [batch for batch, _ in steps]
    assert len(rest) > 5
    given = [[*items_of(chain(*found))] for found in ([first, *rest], batches(whole, packed(many(5_000))))]
    assert given[0] == given[1]


@pytest.mark.slow
def test_decompression_without_output_is_done_in_turns() -> None:
    unwanted = Selection(include=make_patterns("include", "nowhere"))
    parser = parser_of(selection=unwanted)
    decoded = [0, *(parser.result.outcome.bytes_decoded for _ in batches(parser, packed(many(200_000))))]
    assert len(decoded) > 4
    assert max(after - before for before, after in pairwise(decoded)) < 5 * MIB


# --- memory -----------------------------------------------------------------------------------------------------


def parsers_in_memory() -> int:
    """Counts the large objects of parsers in memory."""
    kinds = {"SitemapParser", "Decoder", "GzipDecoder", "EntryParser", "EntryBuilder", "Normaliser"}
    return sum(type(each).__name__ in kinds for each in gc.get_objects())


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
        executor, parser = ParseExecutor(), parser_of()
        try:
            body = chunks(*(BODY[at : at + 1000] for at in range(0, len(BODY), 1000)))
            assert await parsed(parser, executor, body) >= 2_900
            if ends:
                await executor.run(parser, parser.end)
            parser.release()
        finally:
            await executor.close()

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
        executor, parser = ParseExecutor(), parser_of()
        failures: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: failures.append(context))
        reading = asyncio.ensure_future(parsed(parser, executor, chunks(BODY)))
        assert await asyncio.to_thread(begun.wait, MOST_SECONDS)
        reading.cancel()
        await asyncio.wait([reading])
        assert reading.cancelled()
        parser.release()
        goes_on.set()
        await executor.close()
        assert failures == []
        assert items[0] > 0, "the call went on to its end"

    with uncollected():
        before = parsers_in_memory()
        asyncio.run(main())
        assert parsers_in_memory() == before
