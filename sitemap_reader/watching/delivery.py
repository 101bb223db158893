"""Delivery: passes the change log to one sink, entry by entry, and keeps in the state how far the sink is.

Each sink has its own Delivery and its own task, so that a slow one never delays another. Failed deliveries are repeated
without end, or until the entry is a dead letter.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import attrs
import orjson

from ..frontier.host_queue import MAX_RETRY_AFTER_SECONDS
from ..model.errors import StateError, UsageError, printable
from ..pipeline.pacing import is_cancelled
from ..serialize.jsonl import stamp
from ..state.state import LogEntry
from .change_feed import first_of
from .sinks import DeliveryFailed, open_locked, remove_incomplete_line, sync_folder, write_all

if TYPE_CHECKING:
    from .change_feed import ChangeFeed
    from .sinks import Sink

Result = TypeVar("Result")

FIRST_BACKOFF_SECONDS = 1.0
MAX_BACKOFF_SECONDS = 300.0
CLOSE_SECONDS = 3.0  # for close() of a sink: with all else it has to fit into the 10 s of docker stop
ENTRIES_AT_ONCE = 100  # are read from the log, which is written to the disk before


@attrs.define
class DeliveryStatus:
    """What a Delivery has done since its start."""

    seq: int = 0  # of the last change that the sink has
    delivered: int = 0  # changes
    dead_letters: int = 0
    failures: int = 0
    last_error: str | None = None  # without secrets
    is_failing: bool = False  # the last try failed, and the next one waits
    is_stopped: bool = False  # the receiver wants no more changes


@attrs.define(eq=False, slots=False)
class Delivery:
    """Delivers the changes of a feed to a sink, from start() to drain().

    `report` receives a message when a sink begins to fail, fails for another reason, works again, or is stopped.
    """

    _feed: ChangeFeed
    sink: Sink
    _dead_letters: DeadLetters | None = None
    _report: Callable[[str], object] = attrs.field(default=lambda text: None, kw_only=True)
    _sleep: Callable[[float], Awaitable[object]] = attrs.field(default=asyncio.sleep, kw_only=True)
    _clock: Callable[[], datetime] = attrs.field(default=lambda: datetime.now(UTC), kw_only=True)
    _jitter: Callable[[], float] = attrs.field(default=random.random, kw_only=True)  # from 0 to 1
    status: DeliveryStatus = attrs.field(factory=DeliveryStatus, init=False)
    _task: asyncio.Task[None] | None = attrs.field(default=None, init=False)
    _entry: LogEntry | None = attrs.field(default=None, init=False)  # which is being delivered
    _rejections: int = attrs.field(default=0, init=False)  # of this entry, by the receiver
    _is_dead: bool = attrs.field(default=False, init=False)  # whether this entry is a dead letter
    _trouble: str = attrs.field(default="", init=False)  # the failure that was reported, until the sink works again
    _draining: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)
    _failing: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)

    @property
    def lag_changes(self) -> int:
        return max(0, self._feed.last_seq - self.status.seq)

    @property
    def lag_seconds(self) -> float:
        """How long ago the oldest change was found that the sink does not have yet; 0 if it has all."""
        return 0.0 if self._entry is None else max(0.0, (self._clock() - self._entry.at).total_seconds())

    def start(self) -> asyncio.Task[None]:
        """Begins to deliver, once; the task raises BrokenPipeError where stdout's reader has ended, StateError."""
        self._task = asyncio.create_task(self._run(), name=self.sink.name)
        return self._task

    async def drain(self, seconds: float) -> bool:
        """Delivers what is logged by now, and closes the sink; whether it has all. One that fails is not waited for.

        DeliveryFailed where the sink does not end within CLOSE_SECONDS.
        """
        self._draining.set()
        if self._task is not None:
            await first_of(self._task, self._failing.wait(), seconds=seconds)
        try:
            async with asyncio.timeout(CLOSE_SECONDS) as limit:
                await self._call(self.sink.close())
        except TimeoutError as exc:
            if not limit.expired():
                raise
            raise DeliveryFailed(f"{self.sink.name}: its close() was cancelled after {CLOSE_SECONDS:g} s") from exc
        return self.lag_changes == 0

    async def _run(self) -> None:
        try:
            self.status.seq = await self._until_done(lambda: self._feed.cursor(self.sink.name))
            while await self._has_more():
                for entry in await self._until_done(lambda: self._feed.after(self.status.seq, ENTRIES_AT_ONCE)):
                    await self._pass_on(entry)
        except DeliveryFailed as exc:  # a permanent one
            self._note(exc)
            self.status.is_stopped = True
            self._report(f"{self.sink.name}: {exc}; no more changes are delivered to it in this run")

    async def _has_more(self) -> bool:
        """Waits for changes behind the cursor; false if there are none when draining."""
        while self._feed.last_seq <= self.status.seq:
            if self._draining.is_set():
                return False
            await first_of(self._feed.wait_beyond(self.status.seq), self._draining.wait())
        return True

    async def _pass_on(self, entry: LogEntry) -> None:
        self._entry, self._rejections, self._is_dead = entry, 0, False
        await self._until_done(lambda: self._deliver(entry), DeliveryFailed)
        await self._until_done(lambda: self._feed.move_cursor(self.sink.name, entry.last_seq))
        self.status.seq = entry.last_seq
        self._entry = None
        if self._trouble and not self._is_dead:
            self._report(f"{self.sink.name}: works again")
            self._trouble = ""

    async def _deliver(self, entry: LogEntry) -> None:
        try:
            await self._call(self.sink.deliver(entry))
        except DeliveryFailed as exc:
            self._rejections += exc.is_rejected
            letters, now = self._dead_letters, self._clock()
            if exc.is_permanent or letters is None or not letters.is_due(entry, self._rejections, now):
                raise
            await letters.add(entry, exc.message, now)
            self._note(exc)
            self.status.dead_letters += 1
            self._is_dead = True
            changes = f"changes {entry.first_seq} to {entry.last_seq}"
            self._report(f"{self.sink.name}: {exc}; {changes} were added to the dead letters {letters.path}")
        else:
            self.status.delivered += entry.last_seq - entry.first_seq + 1

    async def _call(self, result: Awaitable[None]) -> None:
        """Awaits a call of the sink. A cancellation of something in it, and not of the delivery, is a failure."""
        try:
            await result
        except asyncio.CancelledError as exc:
            if is_cancelled():
                raise
            raise DeliveryFailed("a task of the sink was cancelled") from exc

    async def _until_done(
        self, action: Callable[[], Awaitable[Result]], failure: type[DeliveryFailed | StateError] = StateError
    ) -> Result:
        """Repeats an action that ends with a `failure`, unless that is permanent; a StateError of a sink is none."""
        tries = 0
        while True:
            tries += 1
            try:
                return await action()
            except failure as exc:
                if exc.is_permanent if isinstance(exc, DeliveryFailed) else not exc.is_unwritable:
                    raise
                self._note(exc)
                if self._trouble != (trouble := printable(str(exc))):
                    self._trouble = trouble
                    self._report(f"{self.sink.name}: {exc}; {self.lag_changes:,} changes wait, and are tried again")
                self.status.is_failing = True
                self._failing.set()
                await self._sleep(self._backoff(tries, exc))
                self._failing.clear()
                self.status.is_failing = False

    def _backoff(self, tries: int, exc: Exception) -> float:
        """Seconds until the next try: between half and all of 1, 2, 4… 300, but what the receiver wants if it says."""
        longest = min(FIRST_BACKOFF_SECONDS * 2.0 ** min(tries - 1, 20), MAX_BACKOFF_SECONDS)
        wanted = getattr(exc, "retry_after", None) or 0.0
        return max(min(wanted, MAX_RETRY_AFTER_SECONDS), longest * (0.5 + self._jitter() / 2))

    def _note(self, exc: Exception) -> None:
        self.status.failures += 1
        self.status.last_error = printable(str(exc))


@attrs.frozen
class DeadLetters:
    """The file, and when an entry goes there: after so many tries that the receiver rejected, or so many hours.

    The hours count from when the change was found; each entry is tried at least once.
    """

    path: Path
    max_rejections: int = 10
    max_hours: float = 72.0

    @classmethod
    def beside(cls, state: str | os.PathLike[str], sink: str, **limits: Any) -> Self:
        """Those of a sink, by its name: `sites.db.dead-letters-webhook-https-example.com-1a2b3c4d.jsonl`."""
        readable = re.sub(r"[^a-z0-9.]+", "-", sink.lower().replace("://", " "))[:60].strip("-.")
        digest = blake2b(sink.encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()
        return cls(Path(f"{os.fspath(state)}.dead-letters-{readable}-{digest}.jsonl"), **limits)

    def is_due(self, entry: LogEntry, rejections: int, now: datetime) -> bool:
        """Whether an entry goes there that was just tried in vain, for the `rejections`-th time by the receiver."""
        return rejections >= self.max_rejections or now - entry.at >= timedelta(hours=self.max_hours)

    async def add(self, entry: LogEntry, reason: str, now: datetime) -> None:
        """Returns when the entry is on the disk; DeliveryFailed where it cannot be written."""
        try:
            await asyncio.to_thread(self._append, _line_of(entry, reason, now))
        except OSError as exc:
            raise DeliveryFailed(f"cannot write the dead letters {self.path}: {exc.strerror or exc}") from exc

    def _append(self, line: bytes) -> None:
        with open_locked(self.path, is_waiting=True) as file:
            remove_incomplete_line(file)
            write_all(file.fileno(), line)
            os.fsync(file.fileno())
        sync_folder(self.path.parent)


@attrs.frozen
class Redelivered:
    """How many entries a redelivery has delivered, and how many are dead letters again."""

    delivered: int
    failed: int


async def redeliver(letters: DeadLetters, sink: Sink) -> Redelivered:
    """Delivers the entries of a file once more, oldest first; those that fail are in it again, with the new reason.

    A watch may add to the file meanwhile. After a kill nothing is lost: the next call begins with the same entries.
    UsageError for a file that holds something else. Closes the sink.
    """
    in_work = letters.path.with_name(f"{letters.path.name}.redelivery")
    delivered = failed = 0
    try:
        if not await asyncio.to_thread(_take, letters.path, in_work):
            return Redelivered(0, 0)
        with await asyncio.to_thread(in_work.open, "rb") as file:
            while (line := await asyncio.to_thread(file.readline)).endswith(b"\n"):
                entry = _entry_of(line, f"{in_work}, line {delivered + failed + 1}")
                try:
                    await sink.deliver(entry)
                    delivered += 1
                except DeliveryFailed as exc:
                    await letters.add(entry, exc.message, datetime.now(UTC))
                    failed += 1
        await asyncio.to_thread(in_work.unlink)
        return Redelivered(delivered, failed)
    finally:
        await sink.close()


def _take(path: Path, in_work: Path) -> bool:
    """Renames the file, so that new letters go to another one; a file that is there from a killed call comes first."""
    if in_work.exists():
        return True
    if not path.exists():
        return False
    with open_locked(path, is_waiting=True):
        path.rename(in_work)
    return True


def _line_of(entry: LogEntry, reason: str, now: datetime) -> bytes:
    head = orjson.dumps(
        {
            "at": stamp(now),
            "reason": reason,
            "key": entry.key,
            "log_id": entry.log_id,
            "first_seq": entry.first_seq,
            "last_seq": entry.last_seq,
            "found_at": stamp(entry.at),
            "site": entry.site,
        }
    )
    return b'%s,"changes":[%s]}\n' % (head[:-1], b",".join(entry.lines.splitlines()))


def _entry_of(line: bytes, place: str) -> LogEntry:
    try:
        letter = orjson.loads(line)
        lines = b"".join(orjson.dumps(change, option=orjson.OPT_APPEND_NEWLINE) for change in letter["changes"])
        at = datetime.fromisoformat(letter["found_at"])
        return LogEntry(letter["first_seq"], letter["last_seq"], at, letter["site"], lines, letter["log_id"])
    except (ValueError, KeyError, TypeError) as exc:
        raise UsageError(f"{printable(place)} is no dead letter: {printable(str(exc))}") from exc
