"""Entries of a change log, a state with one, and sinks that a test controls."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson

from sitemap_reader import Change, UrlRecord
from sitemap_reader.pipeline import ThreadPool
from sitemap_reader.serialize import stamp
from sitemap_reader.state import ChangeLog, LogEntry, State
from sitemap_reader.watching import ChangeFeed, DeliveryFailed, Sink

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)


def entry_of(first: int, count: int = 1, at: datetime = NOON, log_id: str = "log", padding: int = 0) -> LogEntry:
    """An entry with the changes `first`, `first + 1`…"""
    lines = [
        orjson.dumps({"seq": seq, "at": stamp(at), "change": "new", "loc": f"https://example.com/{seq}{'x' * padding}"})
        for seq in range(first, first + count)
    ]
    return LogEntry(first, first + count - 1, at, "example.com", b"".join(b"%s\n" % line for line in lines), log_id)


def seqs_of(lines: bytes) -> list[int]:
    """The numbers of the changes in JSON lines, which must all be whole."""
    assert not lines or lines.endswith(b"\n")
    return [orjson.loads(line)["seq"] for line in lines.splitlines()]


class LoggedChanges:
    """A feed of a state, and what adds to it."""

    def __init__(self, state: State, thread: ThreadPool) -> None:
        self.state = state
        self.log = ChangeLog(state)
        self.feed = ChangeFeed(self.log, thread)
        self._thread = thread

    async def add(self, count: int, at: datetime = NOON) -> None:
        """Logs one entry of so many changes."""
        await self._thread.run(self._add, count, at)
        self.feed.notify()

    def _add(self, count: int, at: datetime) -> None:
        first = self.log.last_seq + 1
        records = [UrlRecord(f"https://example.com/{number}") for number in range(first, first + count)]
        self.log.append([Change("new", record) for record in records], "example.com", at)
        self.state.commit()


@asynccontextmanager
async def logged(path: Path) -> AsyncIterator[LoggedChanges]:
    """The log of the state at a path, opened in a thread of its own."""
    thread = ThreadPool("state")
    state = await thread.run(State, path, create=True)
    await thread.run(state.commit)
    try:
        yield await thread.run(LoggedChanges, state, thread)
    finally:
        await thread.run(state.close)
        await thread.close()


async def all_entries(feed: ChangeFeed) -> list[LogEntry]:
    """The whole log."""
    found: list[LogEntry] = []
    while entries := await feed.after(found[-1].last_seq if found else 0, 1_000):
        found += entries
    return found


class ListSink:
    """Receives entries into a list; `failures` are raised first, one for each try."""

    def __init__(self, *failures: Exception, name: str = "list") -> None:
        self.name = name
        self.failures = [*failures]
        self.received: list[int] = []
        self.is_closed = False

    async def deliver(self, entry: LogEntry) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.received += seqs_of(entry.lines)

    async def close(self) -> None:
        self.is_closed = True


async def deliver_to(sink: Sink, *entries: LogEntry) -> None:
    """Delivers the entries, and closes the sink, also after a failure."""
    try:
        for entry in entries:
            await sink.deliver(entry)
    finally:
        await sink.close()


class Clock:
    """A wall clock that only sleeping advances; it notes each sleep."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> datetime:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += timedelta(seconds=seconds)


def failed(message: str = "no", **more: float | bool) -> DeliveryFailed:
    return DeliveryFailed(message, **more)  # type: ignore[arg-type]
