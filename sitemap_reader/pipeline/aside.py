"""Work that would hold up the event loop, in a thread beside it: calls in, their results out, one after the other.

Documents are read here, so that no document, whatever is in it, keeps the loop from its sockets, timers and users.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Params = ParamSpec("Params")
Result = TypeVar("Result")


class Aside:
    """One thread, started when it is first needed. Who is cancelled while he waits leaves a call that has begun."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread: ThreadPoolExecutor | None = None

    async def do(
        self, function: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
    ) -> Result:
        """The result of the call, or what it raises; StopIteration cannot get through."""
        self._thread = self._thread or ThreadPoolExecutor(1, self._name)
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(function, *args, **kwargs))

    async def close(self) -> None:
        """Ends the thread, behind the call that has begun: to wait for that does not hold up the loop."""
        if self._thread is None:
            return
        is_idle = False
        try:
            await self.do(int)  # whose turn comes then
            is_idle = True
        finally:
            self._thread.shutdown(wait=is_idle, cancel_futures=True)
