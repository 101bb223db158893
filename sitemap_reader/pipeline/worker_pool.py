"""Parses documents in worker processes: chunks of bodies go to them as they arrive, batches of items come back.

A worker parses several documents in turns. If one dies, the document it was parsing fails; its others are retried.
Workers never fetch or write files, and end with the process that started them.
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
from .feedparser_process import module_command
from .worker_main import HEADER, Message, Reply, decode_message, encode_message

if TYPE_CHECKING:
    from asyncio import StreamReader
    from asyncio.subprocess import Process

    from .document_parser import Batch, FallbackAnswer, ParseProgress, ParseTask

_STDERR_TAIL_BYTES = 2_000
# A worker takes as long to start as parsing some ten thousand URLs.
_SMALL_SITE_URLS = 20_000


def pool_for_jobs(jobs: int | None) -> WorkerPool | None:
    """Returns a pool of `jobs` workers, None for one job; by default one per core, used once a site proves large."""
    max_workers = _cores() if jobs is None else jobs
    return WorkerPool(max_workers, after_urls=_SMALL_SITE_URLS if jobs is None else 0) if max_workers > 1 else None


def _cores() -> int:
    """Returns how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class WorkerPool:
    """Up to `max_workers` processes, each started when all others are busy; close() ends them.

    `after_urls`: crawls of up to so many URLs are faster without workers.
    """

    def __init__(self, max_workers: int, *, after_urls: int = 0) -> None:
        self.after_urls = after_urls
        self._max_workers = max_workers
        self._workers: list[Worker] = []

    async def executor_for(self, task: ParseTask) -> WorkerExecutor:
        """Returns an executor for one document, in the process that has the fewest.

        Raises UsageError if no process can be started, FetchError if it dies.
        """
        worker = self._least_busy()
        worker.documents += 1
        try:
            await worker.started()
            return await WorkerExecutor.open(worker, task)
        except BaseException:
            worker.documents -= 1
            raise

    async def close(self) -> None:
        """Kills all workers. A caller that is cancelled meanwhile still waits for that."""
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

    def _least_busy(self) -> Worker:
        alive = [worker for worker in self._workers if not worker.is_dead]
        least_busy = min(alive, key=lambda worker: worker.documents, default=None)
        if least_busy is None or (least_busy.documents and len(alive) < self._max_workers):
            least_busy = Worker()
            self._workers.append(least_busy)
        return least_busy


class Worker:
    """One worker process: send() requests after started(); replies come in their order."""

    def __init__(self) -> None:
        self.documents = 0
        self.is_dead = False
        self._is_killed = False
        self._starting: asyncio.Task[None] | None = None
        self._process: Process | None = None
        self._readers: list[asyncio.Task[None]] = []
        self._stderr_tail = b""
        self._exit_reason: str | None = None  # for messages
        self._waiting: deque[asyncio.Future[Message]] = deque()
        self._numbers = count()

    async def started(self) -> None:
        """Starts the process, once."""
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
        await asyncio.shield(self._starting)

    def number(self) -> int:
        """Returns a number for a new document."""
        return next(self._numbers)

    def send(self, verb: str, number: int, argument: object = None) -> asyncio.Future[Message]:
        """Sends a request about a document, without waiting for the process to read it; returns its reply."""
        request = encode_message((verb, number, argument))
        reply = self._expect_reply()
        stdin = self._process and self._process.stdin
        if self._exit_reason is not None:
            self._settle(self._lost())
        elif stdin and not stdin.is_closing():  # else the process has just died, and _read_replies() sets an exception
            stdin.write(request)
        return reply

    def kill(self) -> None:
        """Kills the process, if it runs."""
        # Only once: Popen.send_signal() polls the process, and may take its exit status away from asyncio.
        if self._process is not None and not self.is_dead and not self._is_killed:
            self._is_killed = True
            with suppress(ProcessLookupError):
                self._process.kill()

    async def close(self) -> None:
        """Kills the process, and waits for its end."""
        if self._starting is not None:
            await asyncio.wait([self._starting])
            self._starting.cancelled() or self._starting.exception()  # raised to the caller of started()
        self.kill()
        if self._readers:
            await asyncio.wait(self._readers)
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    def _expect_reply(self) -> asyncio.Future[Message]:
        reply = asyncio.get_running_loop().create_future()
        self._waiting.append(reply)
        return reply

    async def _start(self) -> None:
        ready = self._expect_reply()
        try:
            command = module_command("worker_main")
            process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        except OSError as exc:
            raise UsageError(f"a worker process could not be started: {exc}; -j 1 needs none") from exc
        self._process = process
        assert process.stdout is not None  # noqa: S101 - for the type checker: they are pipes
        assert process.stderr is not None  # noqa: S101
        self._readers = [
            asyncio.create_task(self._read_replies(process, process.stdout)),
            asyncio.create_task(self._read_stderr(process.stderr)),
        ]
        if await ready is None:
            return
        await asyncio.wait(self._readers)
        if process.returncode is not None and process.returncode < 0:  # killed from outside: another one may live
            raise self._lost()
        reason = self._stderr_tail.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise UsageError(f"a worker process ended at once: {reason or 'it gave no reason'}; -j 1 needs none")

    async def _read_replies(self, process: Process, replies: StreamReader) -> None:
        """Passes each reply to its future, until the process ends."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                header = await replies.readexactly(HEADER.size)
                self._settle(decode_message(await replies.readexactly(*HEADER.unpack(header))))
        self.is_dead = True
        is_at_work = bool(self._waiting)
        self._exit_reason = _exit_reason(await process.wait())
        if is_at_work:
            self._settle(FetchError(f"the process that read it {self._exit_reason}", transient=False))
        while self._waiting:
            self._settle(self._lost())

    async def _read_stderr(self, errors: StreamReader) -> None:
        while data := await errors.read(_STDERR_TAIL_BYTES):
            self._stderr_tail = (self._stderr_tail + data)[-_STDERR_TAIL_BYTES:]

    def _settle(self, reply: Message) -> None:
        waiting = self._waiting.popleft()
        if not waiting.done():  # not cancelled
            waiting.set_result(reply)

    def _lost(self) -> WorkerLost:
        return WorkerLost(f"its worker process, which was parsing another document, {self._exit_reason}")


class WorkerExecutor:
    """A ParseExecutor in a worker process, which parses the next batch while this process handles one."""

    robots_text = ""  # robots.txt is always parsed locally

    def __init__(self, worker: Worker, number: int, progress: ParseProgress) -> None:
        self.progress = progress
        self._worker = worker
        self._number = number
        self._next: asyncio.Future[Message] | None = None

    @classmethod
    async def open(cls, worker: Worker, task: ParseTask) -> WorkerExecutor:
        """Opens a document in a worker."""
        number = worker.number()
        reply = _checked(await worker.send("open", number, task))
        return cls(worker, number, reply.progress)

    def feed(self, chunk: bytes) -> None:
        self._next = self._worker.send("feed", self._number, chunk)

    async def next_batch(self) -> Batch | None:
        """Returns the next items of the chunk, None at its end."""
        if self._next is None:
            return None
        reply, self._next = _checked(await self._next), None
        if not reply.is_done:
            self._next = self._worker.send("more", self._number)
        self.progress = reply.progress
        return reply.batch

    async def end(self, *, cut: bool) -> Batch:
        return await self._request("end", cut)

    async def finish(self, answer: FallbackAnswer) -> Batch:
        return await self._request("finish", answer)

    def release(self) -> None:
        """Closes the document in the worker."""
        self._worker.documents -= 1
        if not self._worker.is_dead:
            self._worker.send("close", self._number)

    async def _request(self, verb: str, argument: object) -> Batch:
        reply = _checked(await self._worker.send(verb, self._number, argument))
        self.progress = reply.progress
        return reply.batch


def _checked(message: Message) -> Reply:
    """Returns a reply, or raises the exception of the worker."""
    if isinstance(message, Exception):
        raise message
    assert message is not None  # noqa: S101 - only "close" has no reply
    return message


_SIGNALS = {number.value: number.name for number in signal.Signals}


def _exit_reason(code: int) -> str:
    """Describes how a process ended."""
    if code < 0:
        return f"was ended by {_SIGNALS.get(-code, f'signal {-code}')}"
    return f"ended by itself, with {code}"
