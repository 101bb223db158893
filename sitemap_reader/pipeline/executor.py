"""Who does the work on one body: a Hand takes its bytes, and gives what its sieve makes of them, beside the event loop.

Here it is a thread of this process; workers.py has hands in other processes. Knows nothing of visits or networks.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

from ..model.errors import FetchError
from .document_parser import Answer, DocumentParser, Piece, State, Task, some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# ----------------------------------------------------------------------------------------------------
# Work that would hold up the event loop, in a thread beside it: calls in, their results out, one after the other.
#
# Documents are read here, so that no document, whatever is in it, keeps the loop from its sockets, timers and users.


Params = ParamSpec("Params")
Result = TypeVar("Result")


class WorkerThread:
    """One thread, started when it is first needed. Who is cancelled while he waits leaves a call that has begun."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread: ThreadPoolExecutor | None = None

    async def do(self, function: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs) -> Result:
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


Made = TypeVar("Made")


class WorkerLost(FetchError):
    """A hand is gone through no fault of its document: another one may read it."""


class ParseExecutor(Protocol):
    """feed() a chunk and take each piece() of it before the next one; then end(), and with a question finish().

    What is wrong with the document is raised by piece(), end() and finish(): DocumentChanged, or FetchError where the
    hand itself is lost (HandLost, where that is not the document's doing). `state` is the one behind what was taken
    last.
    """

    @property
    def state(self) -> State: ...
    @property
    def robots_text(self) -> str: ...
    def feed(self, chunk: bytes) -> None: ...
    async def piece(self) -> Piece | None: ...
    async def end(self, *, cut: bool) -> Piece: ...
    async def finish(self, answer: Answer) -> Piece: ...
    def release(self) -> None: ...


class LocalExecutor:
    """A thread of this process, which others use too."""

    def __init__(self, task: Task, aside: WorkerThread) -> None:
        self._sieve = DocumentParser(task)
        self._worker_thread = aside
        self._pieces: Iterator[Piece] = iter(())
        self._is_done = True  # with the pieces of the last chunk
        self._is_at_work = False
        self.state = self._sieve.state

    @property
    def robots_text(self) -> str:
        return self._sieve.robots_text

    def feed(self, chunk: bytes) -> None:
        self._pieces = self._sieve.pieces(chunk)
        self._is_done = False

    async def piece(self) -> Piece | None:
        """None where the chunk has no more."""
        if self._is_done:
            return None
        piece, self._is_done = await self._made(partial(some, self._pieces))
        return piece

    async def end(self, *, cut: bool) -> Piece:
        return await self._made(partial(self._sieve.end, cut=cut))

    async def finish(self, answer: Answer) -> Piece:
        return await self._made(partial(self._sieve.finish, answer))

    def release(self) -> None:
        """Nobody wants more of it."""
        if not self._is_at_work:  # who is cancelled leaves his call in the thread
            self._sieve.release()

    async def _made(self, make: Callable[[], Made]) -> Made:
        self._is_at_work = True
        made = await self._worker_thread.do(make)
        self._is_at_work = False
        self.state = self._sieve.state
        return made
