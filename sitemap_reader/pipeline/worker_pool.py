"""Worker processes: documents out to them, as their bytes come, what they make of these back, a little at a time.

A worker reads several documents by turns, and one that dies costs the document that it was at: the others are tried
again. They never fetch or write, and end with whoever started them.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE
from collections import deque
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

from ..model.errors import FetchError, UsageError
from .executor import WorkerLost
from .feedparser_process import command_of
from .worker_main import HEADER, Message, Reply, packed, unpacked

if TYPE_CHECKING:
    from asyncio import StreamReader
    from asyncio.subprocess import Process

    from .document_parser import Answer, Piece, State, Task

_LAST_WORDS_BYTES = 2_000
# A worker takes as long to start as some ten thousand URLs to read.
_SMALL_SITE_URLS = 20_000


def workers_for(jobs: int | None) -> Workers | None:
    """So many, none for one job; by default as many as there are cores, once a site proves large."""
    most = _cores() if jobs is None else jobs
    return Workers(most, after_urls=_SMALL_SITE_URLS if jobs is None else 0) if most > 1 else None


def _cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """Up to `most` processes, each started when all others have something to do. Somebody has to close() them.

    `after_urls`: up to so many, a run does better without them.
    """

    def __init__(self, most: int, *, after_urls: int = 0) -> None:
        self.after_urls = after_urls
        self._most = most
        self._workers: list[Worker] = []

    async def hand(self, task: Task) -> WorkerExecutor:
        """A hand for one document, in the process that has the fewest.

        UsageError where none can be started, FetchError where it dies.
        """
        worker = self._idlest()
        worker.documents += 1
        try:
            await worker.started()
            return await WorkerExecutor.of(worker, task)
        except BaseException:
            worker.documents -= 1
            raise

    async def close(self) -> None:
        """Ends them, whatever they are doing. Who is cancelled meanwhile waits all the same: it does not take long."""
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.kill()
        closing = asyncio.gather(*(worker.close() for worker in workers))
        cancelled: asyncio.CancelledError | None = None
        while not closing.done():
            try:
                await asyncio.wait([closing])
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled
        closing.result()

    def _idlest(self) -> Worker:
        alive = [worker for worker in self._workers if not worker.is_dead]
        idlest = min(alive, key=lambda worker: worker.documents, default=None)
        if idlest is None or (idlest.documents and len(alive) < self._most):
            idlest = Worker()
            self._workers.append(idlest)
        return idlest


class Worker:
    """One process: ask() it when it has started(), and it replies to each request, in their order."""

    def __init__(self) -> None:
        self.documents = 0
        self.is_dead = False
        self._is_killed = False
        self._starting: asyncio.Task[None] | None = None
        self._process: Process | None = None
        self._ears: list[asyncio.Task[None]] = []
        self._last_words = b""
        self._end: str | None = None  # how it ended, in words
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
        request = packed((verb, number, told))
        reply = self._expected()
        stdin = self._process and self._process.stdin
        if self._end is not None:
            self._settle(self._lost())
        elif stdin and not stdin.is_closing():  # else it has just died, and the reply will say so
            stdin.write(request)
        return reply

    def kill(self) -> None:
        """Ends it, if it runs."""
        # Once: to send a signal asks for the process's end before, and may take that from whom asyncio has waiting.
        if self._process is not None and not self.is_dead and not self._is_killed:
            self._is_killed = True
            with suppress(ProcessLookupError):
                self._process.kill()

    async def close(self) -> None:
        """Ends it, and waits for that."""
        if self._starting is not None:
            await asyncio.wait([self._starting])
            self._starting.cancelled() or self._starting.exception()  # who asked for it has heard of that
        self.kill()
        if self._ears:
            await asyncio.wait(self._ears)
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    def _expected(self) -> asyncio.Future[Message]:
        reply = asyncio.get_running_loop().create_future()
        self._waiting.append(reply)
        return reply

    async def _start(self) -> None:
        ready = self._expected()
        try:
            command = command_of("worker_main")
            process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        except OSError as exc:
            raise UsageError(f"a worker process could not be started: {exc}; -j 1 does without") from exc
        self._process = process
        assert process.stdout is not None  # noqa: S101 - for the type checker: they are pipes
        assert process.stderr is not None  # noqa: S101
        self._ears = [
            asyncio.create_task(self._hear(process, process.stdout)),
            asyncio.create_task(self._hear_errors(process.stderr)),
        ]
        if await ready is None:
            return
        await asyncio.wait(self._ears)
        if process.returncode is not None and process.returncode < 0:  # by somebody else: the next one may live
            raise self._lost()
        words = self._last_words.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise UsageError(f"a worker process ended at once: {words or 'it gave no reason'}; -j 1 does without")

    async def _hear(self, process: Process, replies: StreamReader) -> None:
        """Hands each reply to whoever waits for it, until the process ends."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                header = await replies.readexactly(HEADER.size)
                self._settle(unpacked(await replies.readexactly(*HEADER.unpack(header))))
        self.is_dead = True
        is_at_work = bool(self._waiting)  # on the first of these
        self._end = _end(await process.wait())
        if is_at_work:
            self._settle(FetchError(f"the process that read it {self._end}", transient=False))
        while self._waiting:
            self._settle(self._lost())

    async def _hear_errors(self, errors: StreamReader) -> None:
        while data := await errors.read(_LAST_WORDS_BYTES):
            self._last_words = (self._last_words + data)[-_LAST_WORDS_BYTES:]

    def _settle(self, reply: Message) -> None:
        waiting = self._waiting.popleft()
        if not waiting.done():  # whoever waited may have been cancelled
            waiting.set_result(reply)

    def _lost(self) -> WorkerLost:
        return WorkerLost(f"the process that had it open, and was not at it, {self._end}")


class WorkerExecutor:
    """A Hand (hands.py) in a worker. While a piece is dealt with here, the next one is made there."""

    robots_text = ""  # robots.txt files are read by the process that obeys them

    def __init__(self, worker: Worker, number: int, state: State) -> None:
        self.state = state
        self._worker = worker
        self._number = number
        self._next: asyncio.Future[Message] | None = None

    @classmethod
    async def of(cls, worker: Worker, task: Task) -> WorkerExecutor:
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
        return await self._taken("end", cut)

    async def finish(self, answer: Answer) -> Piece:
        return await self._taken("finish", answer)

    def release(self) -> None:
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


_SIGNALS = {number.value: number.name for number in signal.Signals}


def _end(code: int) -> str:
    """How a process ended, in words."""
    if code < 0:
        return f"was ended by {_SIGNALS.get(-code, f'signal {-code}')}"
    return f"ended by itself, with {code}"
