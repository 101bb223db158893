"""What a hand holds is free when its document is over: it is no garbage collection that the memory waits for."""

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
from sitemap_reader.pipeline.worker_pool import Workers

if TYPE_CHECKING:
    from collections.abc import Iterator

BODY = packed(many(3000))


def held() -> int:
    """How many documents are in memory, by what is large of each."""
    return sum(isinstance(each, SitemapParser | Decoder | GzipDecoder) for each in gc.get_objects())


@contextmanager
def uncollected() -> Iterator[None]:
    """Without garbage collection; and what was there before is not looked at by held()."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.parametrize("ends", [True, False])
def test_a_document_is_free_when_its_hand_lets_it_go(ends: bool) -> None:
    async def main() -> None:
        aside = WorkerThread("own")
        try:
            hand = LocalExecutor(task_of(MAP), aside)
            if ends:
                await worked(hand, BODY, 1000)
            else:
                hand.feed(BODY)
                await hand.piece()
                hand.release()
        finally:
            await aside.close()

    with uncollected():
        before = held()
        asyncio.run(main())
        assert held() == before


def test_who_is_cancelled_leaves_his_call_undisturbed() -> None:
    async def main() -> None:
        aside = WorkerThread("own")
        failures: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: failures.append(context))
        hand = LocalExecutor(task_of(MAP), aside)
        hand.feed(BODY)
        waiting = asyncio.ensure_future(hand.piece())
        await asyncio.sleep(0)
        waiting.cancel()
        hand.release()
        await aside.close()
        assert failures == []
        assert hand._sieve.state.items > 0, "it went on to its end"

    asyncio.run(main())


def test_a_document_is_free_when_a_desk_closes_it() -> None:
    with uncollected():
        before = held()
        desk = ParseServer()
        desk.answer(("open", 0, task_of(MAP)))
        desk.answer(("feed", 0, BODY))
        assert held() > before
        desk.answer(("close", 0, None))
        assert held() == before


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a pipe has the size that it has")
def test_the_pipes_of_a_worker_hold_some_messages() -> None:
    import fcntl

    async def main() -> list[int]:
        workers = Workers(2)
        try:
            hand = await workers.hand(task_of(MAP))
            process = hand._worker._process
            assert process is not None
            transport = process._transport  # type: ignore[attr-defined]
            pipes = [transport.get_pipe_transport(number).get_extra_info("pipe") for number in (0, 1)]
            return [fcntl.fcntl(pipe.fileno(), fcntl.F_GETPIPE_SZ) for pipe in pipes]
        finally:
            await workers.close()

    assert asyncio.run(main()) == [1024 * 1024] * 2
