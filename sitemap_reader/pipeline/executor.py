"""Runs a DocumentParser outside the event loop: chunks of a body in, batches of items out.

LocalExecutor uses a thread of this process, WorkerExecutor (worker_pool.py) a worker process. Neither knows requests
or networks. Documents are parsed here so that none keeps the event loop from its sockets and timers.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

from ..model.errors import FetchError
from .document_parser import Batch, DocumentParser, FallbackAnswer, ParseProgress, ParseTask, take_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


Params = ParamSpec("Params")
Result = TypeVar("Result")


class WorkerThread:
    """Runs calls one after the other in a thread, which starts with the first one. Cancelling does not stop a call."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread: ThreadPoolExecutor | None = None

    async def run(self, function: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs) -> Result:
        """Returns the result of a call, or raises its exception; StopIteration is not supported."""
        self._thread = self._thread or ThreadPoolExecutor(1, self._name)
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(function, *args, **kwargs))

    async def close(self) -> None:
        """Ends the thread after the current call, without blocking the loop."""
        if self._thread is None:
            return
        is_idle = False
        try:
            await self.run(int)  # waits for the current call
            is_idle = True
        finally:
            self._thread.shutdown(wait=is_idle, cancel_futures=True)


class WorkerLost(FetchError):
    """An executor was lost, not through its document: another one may parse that."""


class ParseExecutor(Protocol):
    """feed() a chunk and take each next_batch() of it, until None; then end(), and with a fallback_request finish().

    next_batch(), end() and finish() raise DocumentChanged, or FetchError where the executor is lost: WorkerLost if not
    through the document. `progress` is that after the last batch taken. Call release() once, in the end.
    """

    @property
    def progress(self) -> ParseProgress: ...
    @property
    def robots_text(self) -> str: ...
    def feed(self, chunk: bytes) -> None: ...
    async def next_batch(self) -> Batch | None: ...
    async def end(self, *, cut: bool) -> Batch: ...
    async def finish(self, answer: FallbackAnswer) -> Batch: ...
    def release(self) -> None: ...


class LocalExecutor:
    """A ParseExecutor in a thread of this process, which other executors share."""

    def __init__(self, task: ParseTask, thread: WorkerThread) -> None:
        self._parser = DocumentParser(task)
        self._worker_thread = thread
        self._batches: Iterator[Batch] = iter(())
        self._is_consumed = True
        self._is_running = False
        self.progress = self._parser.progress

    @property
    def robots_text(self) -> str:
        return self._parser.robots_text

    def feed(self, chunk: bytes) -> None:
        self._batches = self._parser.parse(chunk)
        self._is_consumed = False

    async def next_batch(self) -> Batch | None:
        """Returns the next items of the chunk, None at its end."""
        if self._is_consumed:
            return None
        next_batch, self._is_consumed = await self._run(partial(take_batch, self._batches))
        return next_batch

    async def end(self, *, cut: bool) -> Batch:
        return await self._run(partial(self._parser.end, cut=cut))

    async def finish(self, answer: FallbackAnswer) -> Batch:
        return await self._run(partial(self._parser.finish, answer))

    def release(self) -> None:
        """Frees the parser's memory."""
        if not self._is_running:  # the call of a cancelled task may go on in the thread
            self._parser.release()

    async def _run(self, call: Callable[[], Result]) -> Result:
        self._is_running = True
        value = await self._worker_thread.run(call)
        self._is_running = False
        self.progress = self._parser.progress
        return value
