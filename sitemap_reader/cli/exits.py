"""What the shell is told: exit codes, and which of several wins."""

from __future__ import annotations

import atexit
import os
import signal
import stat
import sys
import threading
import time
from contextlib import contextmanager, suppress
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NoReturn, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Exit(IntEnum):
    """Exit codes; the same for every command."""

    COMPLETE = 0
    THRESHOLD = 1
    USAGE = 2
    PARTIAL = 3
    NOTHING = 4
    UNREADABLE = 5
    UNWRITABLE = 6
    INTERRUPTED = 130


# Something was read: what a command writes is its result.
_READ = frozenset({Exit.COMPLETE, Exit.THRESHOLD, Exit.PARTIAL})

# Of several targets the first of these that occurs.
PRECEDENCE = (
    Exit.INTERRUPTED,
    Exit.USAGE,
    Exit.UNWRITABLE,
    Exit.UNREADABLE,
    Exit.NOTHING,
    Exit.THRESHOLD,
    Exit.PARTIAL,
    Exit.COMPLETE,
)


def worst(codes: Iterable[Exit]) -> Exit:
    """The code that counts.

    >>> worst([Exit.COMPLETE, Exit.PARTIAL, Exit.NOTHING]).name
    'NOTHING'
    """
    return min(codes, key=PRECEDENCE.index, default=Exit.COMPLETE)


def has_read(codes: Iterable[Exit]) -> bool:
    """Whether anything was read of what was asked for.

    >>> has_read([Exit.UNREADABLE, Exit.PARTIAL]), has_read([Exit.NOTHING, Exit.INTERRUPTED])
    (True, False)
    """
    return not _READ.isdisjoint(codes)


# ----------------------------------------------------------------------------------------------------
# SIGINT, SIGTERM and SIGHUP -> KeyboardInterrupt, but never in the middle of a write, or between reading and writing.
#
# A write to a pipe that is full would put it off until the pipe is read, which may be never: from the first signal on
# pipes do not block, and the stream that writes asks is_stalled() how long to wait.


_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
# How long a reader that takes nothing is waited for when a signal has come.
GRACE_SECONDS = 0.7


class Interrupts:
    """As a context manager it handles the signals; `held()` puts one off to check() or the end of its block.

    A second signal is not put off. One that is ignored from the start (a job in the background of a script, nohup)
    stays ignored.
    """

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}
        self._holding = 0
        self._pending = False
        self._came_at: float | None = None
        self._has_aborted = False
        self._pipes: list[int] = []

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # others cannot set handlers
            minded = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
            self._before = {number: signal.signal(number, self._handle) for number in minded}
        return self

    def __exit__(self, *exc_info: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def held(self) -> Iterator[None]:
        """A signal in this block is raised at its end, or at that of the block around it."""
        self._holding += 1
        try:
            yield
        finally:
            self._holding -= 1
        if not self._holding:
            self.check()

    @property
    def is_pending(self) -> bool:
        """Whether one is put off."""
        return self._pending

    def check(self) -> None:
        """Raises what was put off."""
        if self._pending:
            self._raise()

    def writes_to(self, number: int) -> None:
        """Takes in the number of an open file that is written to, which may be a pipe."""
        self._pipes.append(number)

    def is_stalled(self, since: float) -> bool:
        """Whether a signal has come, and a write that waits since then (of time.monotonic) is to be aborted."""
        if self._came_at is None:
            return False
        return self._has_aborted or time.monotonic() - max(since, self._came_at) > GRACE_SECONDS

    def abort_write(self) -> NoReturn:
        """Raises what was put off, in the middle of a write; later writes are not waited for."""
        self._has_aborted = True
        self._raise()

    def _raise(self) -> NoReturn:
        self._pending = False  # it comes now, and once
        raise KeyboardInterrupt

    def _handle(self, number: int, frame: object) -> None:
        if self._came_at is None:
            self._came_at = time.monotonic()
            self._unblock()
        if self._holding and not self._pending:
            self._pending = True
            return
        self._raise()

    def _unblock(self) -> None:
        """A write that is waiting now is tried again (PEP 475), and then no longer waits."""
        with suppress(OSError, ValueError, AttributeError):  # stderr is closed, or no file
            self._pipes.append(sys.stderr.fileno())
        for number in self._pipes:
            with suppress(OSError, AttributeError):  # it is closed; a Windows before Python 3.12
                if _is_pipe(number) and os.get_blocking(number):
                    os.set_blocking(number, False)
                    atexit.register(_block, number)  # others may write to the same pipe


def _is_pipe(number: int) -> bool:
    mode = os.fstat(number).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _block(number: int) -> None:
    with suppress(OSError):  # it is closed by now
        os.set_blocking(number, True)
