"""DeadLetters: a file of the entries that a sink could not deliver, each with its reason; and their redelivery.

In: entries of the change log. Out: a JSON line for each, on the disk before the sink goes on; and the entries again.
"""

from __future__ import annotations

import asyncio
import os
import re
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import attrs
import orjson

from ..model.errors import UsageError, printable
from ..serialize.jsonl import stamp
from ..state.change_log import LogEntry
from .file_sink import open_locked, remove_incomplete_line, sync_folder, write_all
from .sinks import DeliveryFailed

if TYPE_CHECKING:
    from .sinks import Sink


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
