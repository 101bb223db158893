"""Worker processes: documents out to them, as their bytes come, what they make of these back, a little at a time.

A worker reads several documents by turns, and one that dies costs the document that it was at: the others are tried
again. They never fetch or write, and end with whoever started them.
"""

from __future__ import annotations

import asyncio
import signal
from asyncio.subprocess import PIPE
from collections import deque
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

from ..errors import FetchError, UsageError
from .desk import HEADER, Message, Reply, packed, unpacked
from .programs import command_of

if TYPE_CHECKING:
    from asyncio import StreamReader
    from asyncio.subprocess import Process

    from .sieve import Answer, Piece, State, Task

_LAST_WORDS_BYTES = 2_000


class Workers:
    """Up to `most` processes, each started when all others have something to do. Somebody has to close() them.

    `after_urls`: up to so many, a run does better without them.
    """

    def __init__(self, most: int, *, after_urls: int = 0) -> None:
        self.after_urls = after_urls
        self._most = most
        self._workers: list[Worker] = []

    async def hand(self, task: Task) -> WorkerHand:
        """A hand for one document, in the process that has the fewest.

        UsageError where none can be started, FetchError where it dies.
        """
        worker = self._idlest()
        worker.documents += 1
        try:
            await worker.started()
            return await WorkerHand.of(worker, task)
        except BaseException:
            worker.documents -= 1
            raise

    async def close(self) -> None:
        """Ends them, whatever they are doing."""
        workers, self._workers = self._workers, []
        for worker in workers:
            await worker.close()

    def _idlest(self) -> Worker:
        self._workers = [worker for worker in self._workers if not worker.is_dead]
        idlest = min(self._workers, key=lambda worker: worker.documents, default=None)
        if idlest is None or (idlest.documents and len(self._workers) < self._most):
            idlest = Worker()
            self._workers.append(idlest)
        return idlest


class Worker:
    """One process: ask() it when it has started(), and it replies to each request, in their order."""

    def __init__(self) -> None:
        self.documents = 0
        self.is_dead = False
        self._starting: asyncio.Task[None] | None = None
        self._process: Process | None = None
        self._ears: list[asyncio.Task[None]] = []
        self._last_words = b""
        self._waiting: deque[asyncio.Future[Message]] = deque()
        self._numbers = count()

    async def started(self) -> None:
        """Starts it, once."""
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
        await asyncio.shield(self._starting)

    def number(self) -> int:
        """A number for one document more."""
        return next(self._numbers)

    def ask(self, verb: str, number: int, told: object = None) -> asyncio.Future[Message]:
        """The reply to a request about a document; never waits for the process to take it."""
        reply = self._expected()
        if self.is_dead or self._process is None or self._process.stdin is None:
            self._waiting.pop().set_result(_lost_with_another())
        else:
            self._process.stdin.write(packed((verb, number, told)))
        return reply

    async def close(self) -> None:
        """Ends it."""
        if self._starting is not None:
            with suppress(Exception):  # who asked for it has heard of that
                await self._starting
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            self._process.kill()
        await asyncio.gather(*self._ears)
        if self._process.stdin is not None:
            self._process.stdin.close()

    def _expected(self) -> asyncio.Future[Message]:
        reply = asyncio.get_running_loop().create_future()
        self._waiting.append(reply)
        return reply

    async def _start(self) -> None:
        ready = self._expected()
        try:
            process = await asyncio.create_subprocess_exec(*command_of("desk"), stdin=PIPE, stdout=PIPE, stderr=PIPE)
        except OSError as exc:
            raise UsageError(f"a worker process could not be started: {exc}; -j 1 does without") from exc
        self._process = process
        assert process.stdout is not None  # noqa: S101 - for the type checker: they are pipes
        assert process.stderr is not None  # noqa: S101
        self._ears = [
            asyncio.create_task(self._hear(process, process.stdout)),
            asyncio.create_task(self._hear_errors(process.stderr)),
        ]
        if await ready is not None:
            words = self._last_words.decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise UsageError(f"a worker process ended at once: {words or 'it gave no reason'}; -j 1 does without")

    async def _hear(self, process: Process, replies: StreamReader) -> None:
        """Hands each reply to whoever waits for it, until the process ends."""
        try:
            while True:
                header = await replies.readexactly(HEADER.size)
                reply = unpacked(await replies.readexactly(*HEADER.unpack(header)))
                self._settle(reply)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.is_dead = True
        end = _end(await process.wait())
        if self._waiting:
            self._settle(FetchError(f"the process that read it {end}", transient=False))
        while self._waiting:
            self._settle(_lost_with_another())

    async def _hear_errors(self, errors: StreamReader) -> None:
        while data := await errors.read(_LAST_WORDS_BYTES):
            self._last_words = (self._last_words + data)[-_LAST_WORDS_BYTES:]

    def _settle(self, reply: Message) -> None:
        waiting = self._waiting.popleft()
        if not waiting.done():  # whoever waited may have been cancelled
            waiting.set_result(reply)


class WorkerHand:
    """A Hand (hands.py) in a worker. While a piece is dealt with here, the next one is made there."""

    robots_text = ""  # robots.txt files are read by the process that obeys them

    def __init__(self, worker: Worker, number: int, state: State) -> None:
        self.state = state
        self._worker = worker
        self._number = number
        self._next: asyncio.Future[Message] | None = None

    @classmethod
    async def of(cls, worker: Worker, task: Task) -> WorkerHand:
        """A hand for one document."""
        number = worker.number()
        reply = _checked(await worker.ask("open", number, task))
        return cls(worker, number, reply.state)

    def feed(self, chunk: bytes) -> None:
        self._next = self._worker.ask("feed", self._number, chunk)

    async def piece(self) -> Piece | None:
        """None where the chunk has no more."""
        if self._next is None:
            return None
        reply, self._next = _checked(await self._next), None
        if not reply.is_done:
            self._next = self._worker.ask("more", self._number)
        self.state = reply.state
        return reply.piece

    async def end(self, *, cut: bool) -> Piece:
        if self._worker.is_dead and cut:  # what it was at is lost with it
            self.state.outcome.complete = False
            return []
        return await self._taken("end", cut)

    async def finish(self, answer: Answer) -> Piece:
        return await self._taken("finish", answer)

    def let_go(self) -> None:
        """Nobody wants more of it."""
        self._worker.documents -= 1
        if not self._worker.is_dead:
            self._worker.ask("close", self._number)

    async def _taken(self, verb: str, told: object) -> Piece:
        reply = _checked(await self._worker.ask(verb, self._number, told))
        self.state = reply.state
        return reply.piece


def _checked(message: Message) -> Reply:
    """The reply; raises what was raised there."""
    if isinstance(message, Exception):
        raise message
    assert message is not None  # noqa: S101 - what has no reply is not waited for
    return message


def _lost_with_another() -> FetchError:
    return FetchError("the process that read it died of another document")


def _end(code: int) -> str:
    """How a process ended, in words."""
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended by itself, with {code}"
