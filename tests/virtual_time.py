"""An event loop whose time jumps to the next timer where nothing else could happen: delays and backoffs take no time.

It jumps only while it waits for no socket, and no executor has work: what other threads or the network do takes as long
as it takes. Its time() then is ahead of time.monotonic(); so tests read the time of the loop.
"""

from __future__ import annotations

import asyncio
import selectors
from concurrent.futures import ThreadPoolExecutor, thread
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


_JOB_SECONDS = 0.0005


class _Time:
    """The seconds that all loops of a test have jumped over, and the number of calls that run in thread pools."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.ahead = 0.0
        self.jobs = 0
        self.idle: list[asyncio.Future[None]] = []  # wait until the time could jump
        submit, run = ThreadPoolExecutor.submit, thread._WorkItem.run

        def counted_submit(pool: ThreadPoolExecutor, *args: Any, **kwargs: Any) -> Any:
            self.jobs += 1
            return submit(pool, *args, **kwargs)

        def counted_run(item: Any, *context: Any) -> None:
            try:
                run(item, *context)  # calls the callbacks of its future, too
            finally:
                self.jobs -= 1

        patch.setattr(ThreadPoolExecutor, "submit", counted_submit)
        patch.setattr(thread._WorkItem, "run", counted_run)


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, time: _Time) -> None:
        super().__init__()
        self._time = time

    def select(self, timeout: float | None = None) -> list[Any]:
        """What is ready; in place of waiting for a timer the time jumps."""
        idle = self._time.idle
        is_due = timeout is not None and timeout <= 0
        if is_due or len(self.get_map()) > 1:  # one wakes the loop
            return super().select(timeout)
        if self._time.jobs:  # not for long: the end of a job is counted after it has woken the loop
            return super().select(min(timeout or _JOB_SECONDS, _JOB_SECONDS))
        ready = super().select(0 if idle or timeout else None)
        if not ready and idle:
            idle.pop().set_result(None)
        elif not ready and timeout:
            self._time.ahead += timeout
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self, time: _Time) -> None:
        self._time = time
        super().__init__(_JumpingSelector(time))

    def time(self) -> float:
        """Seconds of the monotonic clock, plus those that were jumped over."""
        return super().time() + self._time.ahead

    async def idle(self) -> None:
        """Waits until the loop could but wait for a timer."""
        future = self.create_future()
        self._time.idle.append(future)
        await future


@pytest.fixture
def virtual_time() -> Iterator[None]:
    """New event loops, also those of threads, have a time that jumps."""
    with pytest.MonkeyPatch.context() as patch:
        time = _Time(patch)
        patch.setattr(asyncio.events, "new_event_loop", lambda: VirtualTimeLoop(time))
        yield
