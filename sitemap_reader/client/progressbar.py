"""A progress bar: a line on a terminal's stderr, or a widget in a notebook; nothing elsewhere.

Errors of the terminal are ignored, and no thread is started.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self

import attrs

from ..model.problems import count_of
from .summary import Progress
from .terminal import is_redrawn, own_columns

_DRAW_SECONDS = 0.1
_LONG_SECONDS = 1.0


@attrs.frozen
class BarState:
    """What a bar shows: how many units are done of how many known, and the text behind that."""

    done: int
    known: int
    text: str


def _sitemaps(progress: Progress) -> BarState:
    text = f"{count_of(progress.urls, 'URL')}, {size_of(progress.bytes_wire)}"
    if progress.delay is not None:
        text += f", Crawl-delay {progress.delay.delay_seconds:g} s, {duration_of(progress.delay.seconds_left)} left"
    # A short wait would only flicker, and Crawl-delays are in the text already.
    waits = [each for each in progress.waits if each.reason != "crawl-delay" and (each.seconds or 0.0) >= _LONG_SECONDS]
    if waits:
        text += f", waiting {max(waits, key=lambda each: each.seconds or 0.0)}"
    return BarState(progress.documents_done, progress.documents_known, text)


class ProgressBar:
    """Shows the Progress that it is called with: `sitemaps  12/40 [00:03, 51,204 URLs, 8.1 MB]`.

    `noun` is the unit that is counted; `to_state` converts progress; of several bars each has a `position`, from 0 at
    the top. A context manager, or from open() to close(), which clears a terminal; a notebook keeps the last state.
    """

    def __init__(
        self, noun: str = "sitemaps", to_state: Callable[[Any], BarState] = _sitemaps, *, position: int = 0
    ) -> None:
        self._bar: Any = None
        self.position = position
        self._noun = noun
        self._to_state = to_state
        self._state = _sitemaps(Progress())
        self._draw_at = 0.0

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __call__(self, progress: Any) -> None:
        """Sets the newest numbers, and draws them at most ten times a second."""
        self._state = self._to_state(progress)
        if time.monotonic() >= self._draw_at:
            self._draw()

    def open(self) -> None:
        """Shows the bar in a notebook or on a terminal."""
        if self._bar is None:
            with suppress(OSError, ValueError):  # stderr is closed
                self._bar = _new_bar(self.position)
            self._draw()

    def close(self) -> None:
        """May be called twice."""
        self._draw()
        self._erase()
        bar, self._bar = self._bar, None
        if bar is not None:
            with suppress(OSError, ValueError):
                bar.close()

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Clears the line of the bar for output that is written in the block."""
        self._erase()
        yield
        self._draw()

    def _draw(self) -> None:
        bar, state = self._bar, self._state
        if bar is None:
            return
        self._draw_at = time.monotonic() + _DRAW_SECONDS
        bar.n = state.done / max(state.known, 1)
        bar.set_description_str(f"{self._noun}  {state.done:,}/{f'{state.known:,}' if state.known else '?'}", False)
        bar.set_postfix_str(state.text, False)
        with suppress(OSError, ValueError), bar.get_lock():  # tqdm itself would not release it on an interrupt
            bar.refresh(nolock=True)

    def _erase(self) -> None:
        bar = self._bar
        if bar is None:
            return
        with suppress(OSError, ValueError), bar.get_lock():
            if not bar.leave:
                bar.display(" " * (bar.ncols or 0))  # the whole line: a terminal echoes ^C behind the bar
            bar.clear(nolock=True)


def _new_bar(position: int) -> Any:
    """tqdm's bar for a notebook or a terminal; None elsewhere, or if TQDM_DISABLE is set."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    is_kernel = hasattr(shell, "kernel")
    if not is_kernel and not is_redrawn(sys.stderr):
        return None
    from tqdm.auto import tqdm

    # A class of its own leaves other bars as they are. It starts no thread, and creates no lock between processes.
    bar_class: Any = type("Bar", (tqdm,), {"monitor_interval": 0})
    bar_class.set_lock(threading.RLock())
    bar = bar_class(
        total=1,  # a fraction: the number of known sitemaps grows
        bar_format="{desc} [{elapsed}{postfix}]",
        leave=is_kernel,
        file=sys.stderr,
        position=position,
        delay=1e-9,  # is first drawn when it has its text
        # tqdm shows nothing on a terminal that has no size.
        **({"dynamic_ncols": True} if is_kernel or own_columns(sys.stderr) else {"ncols": 79, "nrows": 24}),
    )
    return None if bar.disable else bar


def duration_of(seconds: float) -> str:
    """`0:20`, `1:02:00`."""
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def size_of(number: int) -> str:
    """`512 B`, `8.1 MB`."""
    if number < 1000:
        return f"{number} B"
    power = next((power for power in (1, 2, 3) if number < 999.95 * 1000**power), 4)
    return f"{number / 1000**power:,.1f} {'kMGT'[power - 1]}B"
