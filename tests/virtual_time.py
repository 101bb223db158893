"""An event loop whose time jumps to the next timer where nothing else could happen: delays and backoffs take no time.

It jumps only while it waits for no socket, and no executor has work: what other threads or the network do takes as long
as it takes. What the thread of the loop computes takes no time, so a busy machine changes nothing. Tests read the time
of the loop, not time.monotonic().
"""

import asyncio
import selectors
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, thread
from typing import Any

import pytest

_JOB_SECONDS = 0.0005


class _Time:
    """The time of all loops of a test, and the calls that run in thread pools."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = time.monotonic()
        self._jobs: set[Future[Any]] = set()
        self.idle: list[asyncio.Future[None]] = []  # wait until the time could jump
        submit, run, lock = ThreadPoolExecutor.submit, thread._WorkItem.run, threading.Lock()

        def noted_submit(pool: ThreadPoolExecutor, *args: Any, **kwargs: Any) -> Future[Any]:
            with lock:
                job = submit(pool, *args, **kwargs)
                self._jobs.add(job)
            return job

        def noted_run(item: Any, *context: Any) -> None:
            try:
                run(item, *context)  # calls the callbacks of its future, too
            finally:
                with lock:
                    self._jobs.discard(item.future)

        patch.setattr(ThreadPoolExecutor, "submit", noted_submit)
        patch.setattr(thread._WorkItem, "run", noted_run)

    @property
    def has_jobs(self) -> bool:
        """Whether a call runs; those that shutdown() cancelled never do."""
        return not all(job.cancelled() for job in self._jobs.copy())


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, virtual: _Time) -> None:
        super().__init__()
        self._time = virtual

    def select(self, timeout: float | None = None) -> list[Any]:
        """What is ready; in place of waiting for a timer the time jumps."""
        idle = self._time.idle
        if timeout is not None and timeout <= 0:
            return super().select(timeout)
        if len(self.get_map()) > 1:  # one wakes the loop
            return self._wait(timeout)
        if self._time.has_jobs:  # not for long: the end of a job is noted after it has woken the loop
            return self._wait(min(timeout or _JOB_SECONDS, _JOB_SECONDS))
        if not idle and timeout is None:
            return self._wait(None)
        ready = super().select(0)
        if not ready and idle:
            idle.pop().set_result(None)
        elif not ready:
            self._time.now += timeout or 0.0
        return ready

    def _wait(self, timeout: float | None) -> list[Any]:
        began = time.monotonic()
        try:
            return super().select(timeout)
        finally:
            self._time.now += time.monotonic() - began


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self, virtual: _Time) -> None:
        self._time = virtual
        super().__init__(_JumpingSelector(virtual))

    def time(self) -> float:
        """Seconds in which loops waited, or that they jumped over."""
        return self._time.now

    async def idle(self) -> None:
        """Waits until the loop could but wait for a timer."""
        future = self.create_future()
        self._time.idle.append(future)
        await future


@pytest.fixture
def virtual_time() -> Iterator[None]:
    """New event loops, also those of threads, have a time that jumps."""
    with pytest.MonkeyPatch.context() as patch:
        virtual = _Time(patch)
        patch.setattr(asyncio.events, "new_event_loop", lambda: VirtualTimeLoop(virtual))
        yield
