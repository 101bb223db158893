"""The worker thread: calls run in order, and the thread ends with close()."""

from __future__ import annotations

import asyncio
import threading

import pytest

from sitemap_reader.pipeline.executor import WorkerThread

NAME = "thread-under-test"
MOST_SECONDS = 10.0


def threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name.startswith(NAME)]


class Slow:
    """A call that takes until it is released."""

    def __init__(self) -> None:
        self.begun, self.released, self.ended = threading.Event(), threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.begun.set()
        assert self.released.wait(MOST_SECONDS)
        self.ended.set()


async def abandoned(worker_thread: WorkerThread, slow: Slow) -> None:
    """Starts a call and cancels its caller."""
    waiting = asyncio.create_task(worker_thread.run(slow))
    assert await asyncio.to_thread(slow.begun.wait, MOST_SECONDS)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0.001)


def test_a_call_gives_its_result_or_raises_in_a_thread_of_its_own() -> None:
    async def main() -> None:
        worker_thread = WorkerThread(NAME)
        assert await worker_thread.run(lambda: threading.current_thread()) in threads()
        assert await worker_thread.run(divmod, 7, 2) == (3, 1)
        with pytest.raises(ZeroDivisionError):
            await worker_thread.run(divmod, 1, 0)
        await worker_thread.close()
        assert threads() == []

    asyncio.run(main())


def test_without_a_call_no_thread_is_started() -> None:
    async def main() -> None:
        worker_thread = WorkerThread(NAME)
        assert threads() == []
        await worker_thread.close()
        assert threads() == []

    asyncio.run(main())


def test_close_waits_for_the_running_call_without_blocking_the_loop() -> None:
    async def main() -> None:
        worker_thread, slow = WorkerThread(NAME), Slow()
        await abandoned(worker_thread, slow)
        closing = asyncio.create_task(worker_thread.close())
        await turns()
        assert not closing.done()
        slow.released.set()
        async with asyncio.timeout(MOST_SECONDS):
            await closing
        assert slow.ended.is_set()
        assert threads() == [], "joined, not only signalled"

    asyncio.run(main())


def test_a_cancelled_close_does_not_wait_and_the_thread_ends_after_its_call() -> None:
    async def main() -> None:
        worker_thread, slow = WorkerThread(NAME), Slow()
        await abandoned(worker_thread, slow)
        closing = asyncio.create_task(worker_thread.close())
        await turns()
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert not slow.ended.is_set()
        (thread,) = threads()
        slow.released.set()
        await asyncio.to_thread(thread.join, MOST_SECONDS)
        assert slow.ended.is_set()

    asyncio.run(main())
