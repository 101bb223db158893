"""The change log of a state for asyncio: ChangeFeed, for the sinks and the server of a watch; GET /changes.

All that touches the state runs in one thread, so that a document is stored and logged between two calls, never during
one. /changes reads the log in pieces, each after the client has taken the one before, so a client that reads slowly
takes the memory of one piece.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs
from aiohttp import web

from ..model.errors import StateError, UsageError

if TYPE_CHECKING:
    from ..pipeline.executor import ThreadPool
    from ..state.state import ChangeLog, LogEntry
    from .budget import ServerLimits


async def first_of(*events: Awaitable[Any], seconds: float | None = None) -> bool:
    """Waits until one of these is done, for so many seconds at most, and cancels the others; whether the first is."""
    tasks = [asyncio.ensure_future(each) for each in events]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return tasks[0].done()
    finally:
        await end(tasks)


async def end(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancels tasks, and waits for their end; what they raise is theirs."""
    tasks = [*tasks]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@attrs.define(eq=False, slots=False)
class ChangeFeed:
    """Reads a ChangeLog in `thread`, which has one worker and is the only one that uses the state."""

    _log: ChangeLog
    _thread: ThreadPool
    _clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _grown: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)
    _entry: LogEntry | None = attrs.field(default=None, init=False)  # that entry_after() has read last

    @property
    def last_seq(self) -> int:
        return self._log.last_seq

    def notify(self) -> None:
        """Wakes those that wait; to be called in the event loop after changes were committed."""
        self._grown.set()
        self._grown = asyncio.Event()

    async def wait_beyond(self, seq: int) -> None:
        while self._log.last_seq <= seq:
            await self._grown.wait()

    async def after(self, seq: int, entries: int = 1) -> list[LogEntry]:
        """As ChangeLog.after(); empty at the end."""
        return await self._thread.run(lambda: [*self._log.after(seq, entries)])

    async def entry_after(self, seq: int) -> LogEntry | None:
        """The first of after(); the same one is kept for further calls, as it is read in pieces, and by many."""
        kept = self._entry
        if kept is None or not kept.first_seq <= seq + 1 <= kept.last_seq:
            kept = self._entry = next(iter(await self.after(seq)), None)
        return kept

    async def stored_seq(self) -> int:
        """The number of the newest change that is stored; last_seq may be of a transaction in progress."""
        return await self._thread.run(lambda: self._log.last_seq)

    async def cursor(self, sink: str) -> int:
        """As ChangeLog.cursor()."""
        return await self._thread.run(self._log.cursor, sink, self._clock())

    async def move_cursor(self, sink: str, seq: int) -> None:
        """Records durably that a sink has received all changes up to this number."""
        await self._thread.run(self._log.move_cursor, sink, seq, self._clock())

    async def prune(self, before: datetime, sinks: Collection[str]) -> None:
        """Deletes entries from before a time that all of these sinks have received."""
        await self._thread.run(self._log.prune, before, sinks)


DEFAULT_CHANGES = 1_000
RETRY_MILLISECONDS = 3_000
JSON_LINES = "application/jsonl; charset=utf-8"
PIECE_BYTES = 64 * 1024  # aiohttp waits for the client once it was given more than that
_OLDEST = -1  # a cursor before all changes that the log has, whatever their numbers are


class ChangesDeleted(Exception):
    """The log begins after the cursor; `oldest` is the number of its first change."""

    def __init__(self, oldest: int) -> None:
        super().__init__(oldest)
        self.oldest = oldest


async def read_changes(feed: ChangeFeed, seq: int, limit: int) -> tuple[list[bytes], int]:
    """Up to `limit` lines after a cursor, and the cursor behind them; fewer if these have PIECE_BYTES."""
    found: list[bytes] = []
    size = 0
    while len(found) < limit and size < PIECE_BYTES and (entry := await feed.entry_after(seq)):
        if entry.first_seq > seq + 1 and seq != _OLDEST:
            raise ChangesDeleted(entry.first_seq)
        lines = entry.lines.splitlines(keepends=True)[max(0, seq + 1 - entry.first_seq) :]
        seq = max(seq, entry.first_seq - 1)
        for line in lines[: limit - len(found)]:
            found.append(line)
            size += len(line)
            seq += 1
            if size >= PIECE_BYTES:
                break
    return found, seq


async def send(request: web.Request, headers: Mapping[str, str], pieces: AsyncIterator[bytes]) -> web.StreamResponse:
    """Answers with these pieces, each of which is made when the client has taken the one before."""
    # An error behind the first PIECE_BYTES breaks the connection off: the client sees that the answer is incomplete.
    data, response = bytearray(), None
    try:
        async for piece in pieces:
            data += piece
            if len(data) >= PIECE_BYTES:
                if response is None:
                    response = web.StreamResponse(headers=headers)
                    await response.prepare(request)
                await response.write(data)
                data = bytearray()
        if response is None:
            return web.Response(headers=headers, body=bytes(data))
        await response.write(data)
    except (ChangesDeleted, StateError, ConnectionError):
        if response is None:
            raise
        break_off(request)
    return response


def break_off(request: web.Request) -> None:
    if request.transport:
        request.transport.abort()


class ChangeStreams:
    """The handler of /changes, and how many of its clients wait: `open`."""

    def __init__(self, feed: ChangeFeed, limits: ServerLimits) -> None:
        self.open = 0
        self._feed = feed
        self._limits = limits
        self._stopped = asyncio.Event()

    async def stop(self, app: web.Application | None = None) -> None:
        self._stopped.set()

    async def respond(self, request: web.Request) -> web.StreamResponse:
        """Changes after a cursor; status 410 where the log does not have them any more."""
        is_stream = "text/event-stream" in request.headers.get("Accept", "")
        last = self._feed.last_seq
        query = _ChangeQuery.of(request, self._limits, last)
        if query.seq > last:
            return _gone(
                f"the log ends with change {last}: this cursor is of another state; begin again without it", last
            )
        is_waiting = is_stream or query.wait_seconds > 0
        if is_waiting and self.open >= self._limits.streams:
            text = f"{self.open} clients wait for changes already; repeat the request later\n"
            return web.Response(status=503, text=text, headers={"Retry-After": "30"})
        self.open += is_waiting
        try:
            return await (self._stream(request, query) if is_stream else self._lines(request, query))
        except ChangesDeleted as exc:
            text = f"changes before {exc.oldest} were deleted: some are missed; go on with after={exc.oldest - 1}"
            return _gone(text, exc.oldest - 1)
        finally:
            self.open -= is_waiting

    async def _lines(self, request: web.Request, query: _ChangeQuery) -> web.StreamResponse:
        lines, seq = await read_changes(self._feed, query.seq, query.limit)
        if not lines and query.wait_seconds and await self._wait(query.seq, query.wait_seconds):
            lines, seq = await read_changes(self._feed, query.seq, query.limit)
        # The header comes before the lines, and numbers have no gaps.
        last = min(seq - len(lines) + query.limit, await self._feed.stored_seq()) if lines else max(seq, 0)

        async def pieces() -> AsyncIterator[bytes]:
            piece, at = lines, seq
            while piece:
                yield b"".join(piece)
                piece, at = await read_changes(self._feed, at, last - at)

        return await send(request, {"Content-Type": JSON_LINES, "Last-Seq": str(last)}, pieces())

    async def _stream(self, request: web.Request, query: _ChangeQuery) -> web.StreamResponse:
        lines, seq = await read_changes(self._feed, query.seq, 1)  # a 410 has to come before the head
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})
        await response.prepare(request)
        try:
            await response.write(b"retry: %d\n\n" % RETRY_MILLISECONDS)
            while not self._stopped.is_set():
                if lines:
                    numbered = enumerate(lines, seq - len(lines) + 1)  # with its id a client resumes
                    events = (b"id: %d\ndata: %s\n\n" % (number, line.rstrip(b"\n")) for number, line in numbered)
                    await response.write(b"".join(events))
                elif not await self._wait(seq, self._limits.heartbeat_seconds) and not self._stopped.is_set():
                    await response.write(b":\n\n")
                lines, seq = await read_changes(self._feed, seq, DEFAULT_CHANGES)
        except (ConnectionError, StateError):
            break_off(request)
        except ChangesDeleted:
            pass  # while it was waited for: the client gets a 410 when it resumes
        return response

    async def _wait(self, seq: int, seconds: float) -> bool:
        """Waits for a change after `seq`; False where there was none in this time, or the server ends."""
        return await first_of(self._feed.wait_beyond(max(seq, 0)), self._stopped.wait(), seconds=seconds)


@attrs.frozen
class _ChangeQuery:
    """Which changes a request is for: at most `limit` after `seq`; without any, it waits."""

    seq: int
    limit: int
    wait_seconds: float

    @classmethod
    def of(cls, request: web.Request, limits: ServerLimits, last_seq: int) -> _ChangeQuery:
        """That of a request. UsageError for values that are no numbers, or out of range."""
        if unknown := [*request.query.keys() - {"after", "limit", "wait"}]:
            raise UsageError(f"parameter {unknown[0][:40]!r} is unknown: give after, limit or wait")
        # A browser resumes with this header and the first URL.
        after = request.headers.get("Last-Event-ID") or request.query.get("after", "")
        known = {"": _OLDEST, "latest": last_seq}
        try:
            seq = known[after] if after in known else int(after)
            limit = int(request.query.get("limit", DEFAULT_CHANGES))
            wait = float(request.query.get("wait", 0))
        except ValueError:
            raise UsageError("after is the seq of a change, or latest; limit and wait are numbers") from None
        if (seq < 0 and after) or not (1 <= limit <= limits.max_changes and 0 <= wait <= limits.max_wait_seconds):
            raise UsageError(
                f"give an after of at least 0, a limit from 1 to {limits.max_changes:,}, and a wait of at most "
                f"{limits.max_wait_seconds:g} seconds"
            )
        return cls(seq, limit, wait)


def _gone(text: str, last_seq: int) -> web.Response:
    """The answer for a cursor that cannot be used; `last_seq` is one that can."""
    return web.Response(status=410, text=f"{text}\n", headers={"Last-Seq": str(last_seq)})
