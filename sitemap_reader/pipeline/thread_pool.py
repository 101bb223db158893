"""Runs calls in threads beside the event loop: functions in, their results out. The loop never waits for a thread."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Params = ParamSpec("Params")
Result = TypeVar("Result")


class ThreadPool:
    """Runs calls in at most `size` threads, each started when all others are busy; one thread keeps their order.

    Each call has the contextvars of its caller: it may be a callback of the user.
    Cancelling a caller does not stop its call. StopIteration is not supported.
    """

    def __init__(self, name: str, size: int = 1) -> None:
        self._name = name
        self._size = size
        self._executor: ThreadPoolExecutor | None = None
        self._calls: set[Future[Any]] = set()  # not done yet

    async def run(self, function: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs) -> Result:
        """Returns the result of a call, or raises its exception."""
        return await asyncio.wrap_future(self.submit(function, *args, **kwargs))

    def submit(self, function: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs) -> Future[Result]:
        """Begins a call; its future is also done when the call ends after its caller was cancelled."""
        self._executor = self._executor or ThreadPoolExecutor(self._size, self._name)
        call = self._executor.submit(copy_context().run, partial(function, *args, **kwargs))
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        return call

    async def close(self) -> None:
        """Ends the threads after their current calls; if this is cancelled, without waiting for these."""
        if self._executor is None:
            return
        is_idle = False
        try:
            await asyncio.gather(*map(asyncio.wrap_future, tuple(self._calls)), return_exceptions=True)
            is_idle = True
        finally:
            self._executor.shutdown(wait=is_idle, cancel_futures=True)
