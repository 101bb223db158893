"""SIGINT and SIGTERM -> KeyboardInterrupt, but never in the middle of a write, or between reading and writing."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """As a context manager it handles both signals; `held()` puts one off to check() or the end of its block.

    A second signal is not put off: it may be a write that hangs. One that is ignored from the start (a job in the
    background of a script) stays ignored.
    """

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}
        self._holding = 0
        self._pending = False

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
            self._pending = False
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: object) -> None:
        if self._holding and not self._pending:
            self._pending = True
            return
        self._pending = False  # it comes now, and once
        raise KeyboardInterrupt
