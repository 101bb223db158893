"""Where lines go: encoded lines in, blocks out to a binary stream.

Lines are held back for a fraction of a second at most, so that writing is cheap and a pipe still sees them come.
Never opens or closes the stream.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCK_BYTES = 64 * 1024
# flush() is also called by whoever waits for the next line: together they stay below half a second.
FLUSH_SECONDS = 0.25


class ByteStream(Protocol):
    """What a sink needs of a file or pipe; `write` may take a part only, and says how much."""

    def write(self, data: bytes, /) -> int | None: ...
    def flush(self) -> None: ...


class Jsonl:
    """Lines to a stream, in blocks of some 64 KiB, or sooner where time passes.

    `hold` is entered around each write: whatever must not strike between the writing of a block and the note that
    it is written. OSError, with `name` as its file, where the stream takes no more; what it refused is then gone.
    """

    def __init__(
        self,
        stream: ByteStream,
        name: str = "stdout",
        *,
        clock: Callable[[], float] = time.monotonic,
        hold: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._stream = stream
        self._name = name
        self._clock = clock
        self._hold = hold
        self._block = bytearray()
        self._flush_at = 0.0

    def write(self, line: bytes) -> None:
        """Takes a line, newline included."""
        if not self._block:
            self._flush_at = self._clock() + FLUSH_SECONDS
        self._block += line
        if len(self._block) >= BLOCK_BYTES or self._clock() >= self._flush_at:
            self.flush()

    def flush(self) -> None:
        """Writes what was held back."""
        if not self._block:
            return
        with self._hold():
            block, self._block = bytes(self._block), bytearray()
            try:
                while block:
                    block = block[self._stream.write(block) or 0 :]
                self._stream.flush()
            except OSError as exc:
                # OSError() picks the subclass of the number: a broken pipe stays a BrokenPipeError.
                raise OSError(exc.errno, exc.strerror or str(exc), self._name) from exc
