"""ChangeFeed: the change log of a state for asyncio, for the sinks and the server of a watch.

All that touches the state runs in one thread, so that a document is stored and logged between two calls, never during
one.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ..pipeline.executor import ThreadPool
    from ..state.watch_data import ChangeLog, LogEntry


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
