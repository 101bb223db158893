"""The pool: calls run in its threads, and the threads end with close()."""

import asyncio
import gc
import threading

import pytest

from sitemap_reader.pipeline import ThreadPool

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


async def abandoned(pool: ThreadPool, slow: Slow) -> None:
    """Starts a call and cancels its caller."""
    waiting = asyncio.create_task(pool.run(slow))
    assert await asyncio.to_thread(slow.begun.wait, MOST_SECONDS)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0.001)


def test_a_call_gives_its_result_or_raises_in_a_thread_of_its_own() -> None:
    async def main() -> None:
        pool = ThreadPool(NAME)
        assert await pool.run(lambda: threading.current_thread()) in threads()
        assert await pool.run(divmod, 7, 2) == (3, 1)
        with pytest.raises(ZeroDivisionError):
            await pool.run(divmod, 1, 0)
        await pool.close()
        assert threads() == []

    asyncio.run(main())


def test_one_thread_keeps_the_order_of_calls() -> None:
    async def main() -> None:
        pool, slow = ThreadPool(NAME), Slow()
        done: list[int] = []
        calls = [pool.run(slow), *(pool.run(done.append, number) for number in range(50))]
        waiting = asyncio.gather(*calls)
        assert await asyncio.to_thread(slow.begun.wait, MOST_SECONDS)
        await turns()
        assert done == []
        slow.released.set()
        await waiting
        assert done == [*range(50)]
        await pool.close()

    asyncio.run(main())


def test_as_many_calls_run_at_once_as_there_are_threads() -> None:
    async def main() -> None:
        pool, slow = ThreadPool(NAME, 3), [Slow() for _ in range(5)]
        waiting = [asyncio.create_task(pool.run(each)) for each in slow]
        for each in slow[:3]:
            assert await asyncio.to_thread(each.begun.wait, MOST_SECONDS)
        await turns()
        assert [each.begun.is_set() for each in slow] == [True, True, True, False, False]
        assert len(threads()) == 3
        for each in slow:
            each.released.set()
        await asyncio.gather(*waiting)
        await pool.close()
        assert threads() == []

    asyncio.run(main())


def test_a_cancelled_caller_that_waits_for_a_thread_is_never_called() -> None:
    async def main() -> None:
        pool, slow, late = ThreadPool(NAME), Slow(), Slow()
        first, second = asyncio.create_task(pool.run(slow)), asyncio.create_task(pool.run(late))
        assert await asyncio.to_thread(slow.begun.wait, MOST_SECONDS)
        second.cancel()
        await asyncio.wait([second])
        slow.released.set()
        await first
        await pool.close()
        assert not late.begun.is_set()

    asyncio.run(main())


def test_without_a_call_no_thread_is_started() -> None:
    async def main() -> None:
        pool = ThreadPool(NAME)
        assert threads() == []
        await pool.close()
        assert threads() == []

    asyncio.run(main())


@pytest.mark.parametrize("size", [1, 2])
def test_close_waits_for_the_running_calls_without_blocking_the_loop(size: int) -> None:
    async def main() -> None:
        pool, slow = ThreadPool(NAME, size), [Slow() for _ in range(size)]
        for each in slow:
            await abandoned(pool, each)
        closing = asyncio.create_task(pool.close())
        for each in slow:
            await turns()
            assert not closing.done()
            each.released.set()
        async with asyncio.timeout(MOST_SECONDS):
            await closing
        assert all(each.ended.is_set() for each in slow)
        assert threads() == [], "joined, not only signalled"

    asyncio.run(main())


def test_a_cancelled_close_does_not_wait_and_the_thread_ends_after_its_call() -> None:
    async def main() -> None:
        pool, slow = ThreadPool(NAME), Slow()
        await abandoned(pool, slow)
        closing = asyncio.create_task(pool.close())
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


def test_close_after_a_call_that_failed_without_its_caller() -> None:
    """Its exception is raised nowhere, and the loop does not report it."""

    async def main() -> None:
        failures: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: failures.append(context))
        pool, slow = ThreadPool(NAME), Slow()

        def fail() -> None:
            slow()
            raise LookupError

        waiting = asyncio.create_task(pool.run(fail))
        assert await asyncio.to_thread(slow.begun.wait, MOST_SECONDS)
        waiting.cancel()
        closing = asyncio.create_task(pool.close())
        await turns()
        slow.released.set()
        await closing
        gc.collect()
        assert failures == []

    asyncio.run(main())
