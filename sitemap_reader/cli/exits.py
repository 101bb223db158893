"""Exit codes, and signals: SIGINT, SIGTERM and SIGHUP become KeyboardInterrupt, where output and summary agree."""

from __future__ import annotations

import atexit
import os
import signal
import stat
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NoReturn, Self

from ..model.errors import NothingFound

if TYPE_CHECKING:
    from ..model.summary import Summary


class Exit(IntEnum):
    COMPLETE = 0
    THRESHOLD = 1
    USAGE = 2
    PARTIAL = 3
    NOTHING = 4
    UNREADABLE = 5
    UNWRITABLE = 6
    INTERNAL = 7
    INTERRUPTED = 130


def judge(target: str, summary: Summary) -> Exit:
    """The code of a target that was read without an exception; NothingFound if its sitemaps list no URL."""
    if not summary.complete:
        return Exit.PARTIAL
    if summary.urls or summary.dropped or summary.unwanted or summary.pruned or summary.repeated:
        return Exit.COMPLETE
    raise NothingFound(f"{target} lists no URL: its sitemaps are empty; -v shows each of them")


# Codes of commands that have read something, so that what they wrote is their result.
_READ = frozenset({Exit.COMPLETE, Exit.THRESHOLD, Exit.PARTIAL})

# Of several targets, the first of these that occurs is the code of the command.
PRECEDENCE = (
    Exit.INTERRUPTED,
    Exit.USAGE,
    Exit.INTERNAL,
    Exit.UNWRITABLE,
    Exit.UNREADABLE,
    Exit.NOTHING,
    Exit.THRESHOLD,
    Exit.PARTIAL,
    Exit.COMPLETE,
)


def worst(codes: Iterable[Exit]) -> Exit:
    """The code of a command with several targets: the most severe one.

    >>> worst([Exit.COMPLETE, Exit.PARTIAL, Exit.NOTHING]).name
    'NOTHING'
    """
    return min(codes, key=PRECEDENCE.index, default=Exit.COMPLETE)


def any_read(codes: Iterable[Exit]) -> bool:
    """Whether any target gave something.

    >>> any_read([Exit.UNREADABLE, Exit.PARTIAL]), any_read([Exit.NOTHING, Exit.INTERRUPTED])
    (True, False)
    """
    return not _READ.isdisjoint(codes)


_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name))
# How long a write to a full pipe may wait after a signal.
GRACE_SECONDS = 0.7


class Interrupts:
    """Handles the signals while it is entered; deferred() delays one, but no second one, until check() or its end.

    A signal that was ignored from the start (a background job of a script, nohup) stays ignored. From the first signal
    on pipes do not block, as they may never be read, and the writer calls check_write().
    """

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}
        self._holding = 0
        self.is_pending = False  # whether a signal is delayed
        self._came_at: float | None = None
        self._has_aborted = False
        self.pipes: list[int] = []  # what is written to

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # others cannot set handlers
            handled = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
            self._before = {number: signal.signal(number, self._handle) for number in handled}
        return self

    def __exit__(self, *exc_info: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """A signal in this block is raised at its end, or at the end of the outermost such block."""
        self._holding += 1
        try:
            yield
        finally:
            self._holding -= 1
        if not self._holding:
            self.check()

    def check(self) -> None:
        """Raises KeyboardInterrupt for a delayed signal."""
        if self.is_pending:
            self._raise()

    def check_write(self, since: float) -> None:
        """Raises KeyboardInterrupt in a write that waits since then (time.monotonic) if a signal came meanwhile."""
        if self._came_at is None:
            return
        if self._has_aborted or time.monotonic() - max(since, self._came_at) > GRACE_SECONDS:
            self._has_aborted = True  # later writes do not wait
            self._raise()

    def _raise(self) -> NoReturn:
        self.is_pending = False  # raised once
        raise KeyboardInterrupt

    def _handle(self, number: int, frame: object) -> None:
        if self._came_at is None:
            self._came_at = time.monotonic()
            self._unblock()
        if self._holding and not self.is_pending:
            self.is_pending = True
            return
        self._raise()

    def _unblock(self) -> None:
        """Makes pipes non-blocking; a write that waits now is retried by Python (PEP 475), and no longer waits."""
        if sys.platform == "win32":  # where select() takes no pipe
            return
        with suppress(OSError, ValueError, AttributeError):  # stderr is closed, or not a file
            self.pipes.append(sys.stderr.fileno())
        for number in self.pipes:
            with suppress(OSError):  # closed
                mode = os.fstat(number).st_mode
                if (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)) and os.get_blocking(number):
                    os.set_blocking(number, False)
                    atexit.register(_block, number)  # other processes may write to the same pipe


def _block(number: int) -> None:
    if sys.platform != "win32":
        with suppress(OSError):  # closed by now
            os.set_blocking(number, True)
