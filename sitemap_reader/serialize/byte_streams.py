"""Whole records to a binary stream: bytes in, blocks out.

Records are held back for a fraction of a second at most, so that writing is cheap and a pipe still sees them come.
Never opens or closes the stream, and never looks into a record.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCK_BYTES = 64 * 1024
# flush() is also called by whoever waits for the next record: together they stay below half a second.
FLUSH_SECONDS = 0.25


class ByteStream(Protocol):
    """What is needed of a file or pipe; `write` may take a part only, and says how much."""

    def write(self, data: bytes, /) -> int | None: ...
    def flush(self) -> None: ...


class Blocks:
    """Records to a stream, in blocks of some 64 KiB, or sooner where time passes.

    `hold` is entered around each write: whatever must not strike between the writing of a block and the note that
    it is written. OSError, with `name` as its file, where the stream takes no more: what it refused is then gone,
    `has_failed` says so from then on, and `take_back` is told how much of a record that is not whole it has taken.
    Where an interrupt ended a write, for which its reader would have to be waited for, nothing more is written.
    """

    def __init__(
        self,
        stream: ByteStream,
        name: str = "stdout",
        *,
        clock: Callable[[], float] = time.monotonic,
        hold: Callable[[], AbstractContextManager[object]] = nullcontext,
        take_back: Callable[[int], object] = lambda size: None,
    ) -> None:
        self.hold = hold
        self.has_begun = False
        self.has_failed = False
        self._is_aborted = False
        self._stream = stream
        self._name = name
        self._clock = clock
        self._take_back = take_back
        self._records: list[bytes] = []
        self._bytes = 0
        self._flush_at = 0.0

    def write(self, record: bytes) -> None:
        """Takes a whole record: a line with its newline, or whatever else stands for itself."""
        self.has_begun = self.has_begun or bool(record)
        if not self._records:
            self._flush_at = self._clock() + FLUSH_SECONDS
        self._records.append(record)
        self._bytes += len(record)
        if self._bytes >= BLOCK_BYTES or self._clock() >= self._flush_at:
            self.flush()

    def write_lines(self, lines: bytes) -> None:
        """Takes many whole lines, which hold no newline but their ends, and writes them at once."""
        self.flush()
        self.has_begun = self.has_begun or bool(lines)
        with self.hold():
            self._put(lines, lambda taken: lines.rfind(b"\n", 0, taken) + 1)

    def flush(self) -> None:
        """Writes what was held back."""
        if not self._records:
            return
        with self.hold():
            records, self._records, self._bytes = self._records, [], 0
            ends = accumulate(map(len, records))
            self._put(b"".join(records), lambda taken: max((end for end in ends if end <= taken), default=0))

    def _put(self, block: bytes, whole: Callable[[int], int]) -> None:
        """Writes all of it; `whole(taken)` says how much of what was taken are whole records."""
        if self._is_aborted:
            return
        size = len(block)
        try:
            while block:
                block = block[self._stream.write(block) or 0 :]
            self._stream.flush()
        except BaseException as exc:
            self.has_failed = True
            taken = size - len(block)
            self._take_back(taken - whole(taken))
            if not isinstance(exc, OSError):
                self._is_aborted = True
                raise
            # OSError() picks the subclass of the number: a broken pipe stays a BrokenPipeError.
            raise OSError(exc.errno, exc.strerror or str(exc), self._name) from exc
