"""Executors free the memory of a document at its end, without a garbage collection."""

from __future__ import annotations

import asyncio
import gc
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from scripted_fetcher import MAP, many, packed
from test_workers import task_of, worked

from sitemap_reader.parser.content.decoder import Decoder
from sitemap_reader.parser.content.gzip import GzipDecoder
from sitemap_reader.parser.parser import SitemapParser
from sitemap_reader.pipeline.executor import LocalExecutor, WorkerThread
from sitemap_reader.pipeline.worker_main import ParseServer
from sitemap_reader.pipeline.worker_pool import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Iterator

BODY = packed(many(3000))


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
def test_a_document_is_freed_when_its_executor_releases_it(ends: bool) -> None:
    async def main() -> None:
        thread = WorkerThread("own")
        try:
            executor = LocalExecutor(task_of(MAP), thread)
            if ends:
                await worked(executor, BODY, 1000)
            else:
                executor.feed(BODY)
                await executor.next_batch()
                executor.release()
        finally:
            await thread.close()

    with uncollected():
        before = parsers_in_memory()
        asyncio.run(main())
        assert parsers_in_memory() == before


def test_a_cancelled_caller_does_not_disturb_the_call() -> None:
    async def main() -> None:
        thread = WorkerThread("own")
        failures: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: failures.append(context))
        executor = LocalExecutor(task_of(MAP), thread)
        executor.feed(BODY)
        waiting = asyncio.ensure_future(executor.next_batch())
        await asyncio.sleep(0)
        waiting.cancel()
        executor.release()
        await thread.close()
        assert failures == []
        assert executor._parser.progress.items > 0, "it went on to its end"

    asyncio.run(main())


def test_a_document_is_freed_when_the_parse_server_closes_it() -> None:
    with uncollected():
        before = parsers_in_memory()
        server = ParseServer()
        server.handle(("open", 0, task_of(MAP)))
        server.handle(("feed", 0, BODY))
        assert parsers_in_memory() > before
        server.handle(("close", 0, None))
        assert parsers_in_memory() == before


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a pipe has the size that it has")
def test_the_pipes_of_a_worker_hold_some_messages() -> None:
    import fcntl

    async def main() -> list[int]:
        workers = WorkerPool(2)
        try:
            executor = await workers.executor_for(task_of(MAP))
            process = executor._worker._process
            assert process is not None
            transport = process._transport  # type: ignore[attr-defined]
            pipes = [transport.get_pipe_transport(number).get_extra_info("pipe") for number in (0, 1)]
            return [fcntl.fcntl(pipe.fileno(), fcntl.F_GETPIPE_SZ) for pipe in pipes]
        finally:
            await workers.close()

    assert asyncio.run(main()) == [1024 * 1024] * 2
