"""A progress bar: Progress values in; a line on a terminal's stderr, or a widget in a notebook, out.

Shows nothing elsewhere. Errors of the terminal are ignored, and no thread is started.
"""

from __future__ import annotations

import math
import os
import sys
import time
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import attrs

from .summary import Progress, count_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TextIO

_DRAW_SECONDS = 0.1
_COLUMNS, _LINES = 80, 24  # of a terminal of unknown size
_UNITS = ("kB", "MB", "GB", "TB")
# Keeps tqdm from drawing in its constructor: an interrupt there would leave its lock held.
_DELAY_SECONDS = 1e-9


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
    return BarState(progress.documents_done, progress.documents_known, text)


class ProgressBar:
    """Shows the Progress that it is called with: `sitemaps  12/40 [00:03, 51,204 URLs, 8.1 MB]`.

    `noun` is the unit that is counted; `to_state` converts progress. A context manager, or from open() to close(). A
    terminal is cleared at the end; a notebook keeps the last state.
    """

    def __init__(self, noun: str = "sitemaps", to_state: Callable[[Any], BarState] = _sitemaps) -> None:
        self._bar: Any = None
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
        if self._bar is not None and time.monotonic() >= self._draw_at:
            self._draw(self._bar)

    def open(self) -> None:
        """Shows the bar in a notebook or on a terminal."""
        if self._bar is None and (bar := _make_bar()) is not None:
            self._bar = bar
            self._draw(bar)

    def close(self) -> None:
        """Removes the bar; in a notebook it stays with the last numbers. May be called twice."""
        bar, self._bar = self._bar, None
        if bar is None:
            return
        if bar.leave:
            self._draw(bar)
        _erase(bar)
        bar.close()

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Clears the line of the bar for output that is written in the block."""
        if self._bar is not None:
            _erase(self._bar)
        yield
        if self._bar is not None:
            self._draw(self._bar)

    def _draw(self, bar: Any) -> None:
        self._draw_at = time.monotonic() + _DRAW_SECONDS
        if bar.disable:  # TQDM_DISABLE is set
            return
        done, known = self._state.done, self._state.known
        bar.n, bar.total = done, known
        bar.desc = f"{self._noun}  {done:,}/{f'{known:,}' if known else '?'}"
        bar.postfix = self._state.text
        with bar.get_lock():  # tqdm itself would not release it on an interrupt
            if bar.gui:
                bar.container.children[1].max = max(known, 1)
            else:
                bar.ncols, bar.nrows = _terminal_size(bar.fp)
            bar.refresh(nolock=True)


def _erase(bar: Any) -> None:
    """Blanks the whole line: a terminal echoes ^C behind the bar."""
    if bar.disable or bar.gui:
        return
    with bar.get_lock():
        bar.display(msg=" " * bar.ncols)
        bar.clear(nolock=True)


def _make_bar() -> Any:
    """tqdm's bar for a notebook or a terminal; None elsewhere."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(shell, "kernel"):
        bar = _widget()
        return _line() if bar is None else bar  # an empty tqdm is falsy
    with suppress(OSError, ValueError):  # stderr is closed
        if sys.stderr is not None and sys.stderr.isatty():
            return _line()
    return None


def _widget() -> Any:
    """None for a kernel without widgets, or with a console that shows their repr only."""
    notebook = import_module("tqdm.notebook")
    if notebook.IProgress is None or any(name.startswith("SPYDER") for name in os.environ):
        return None
    return _bar_class(notebook.tqdm)(leave=True, bar_format="{desc} {bar} [{elapsed}{postfix}]", delay=_DELAY_SECONDS)


def _line() -> Any:
    bar = _bar_class(import_module("tqdm.std").tqdm)
    file, bar_format = _ErrorIgnoringStream(sys.stderr), "{desc} [{elapsed}{postfix}]"
    columns, lines = _terminal_size(file)
    return bar(file=file, leave=False, bar_format=bar_format, ncols=columns, nrows=lines, delay=_DELAY_SECONDS)


def _bar_class(base: type) -> Any:
    """A subclass of tqdm's class without its monitor thread; tqdm's own class is unchanged.

    It shares tqdm's lock between threads, as other bars may be on the screen; not the one between processes, for which
    Python may start a process.
    """
    bar_class: Any = type("Bar", (base,), {"monitor_interval": 0})
    bar_class.set_lock(import_module("tqdm.std").TqdmDefaultWriteLock.th_lock)
    return bar_class


class _ErrorIgnoringStream:
    """A text stream that ignores errors of writing; equal to the stream itself, as tqdm compares them."""

    def __init__(self, stream: TextIO) -> None:
        self._wrapped = stream

    def __eq__(self, other: object) -> bool:
        return self._wrapped is getattr(other, "_wrapped", other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def encoding(self) -> str:
        return self._wrapped.encoding

    def write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            self._wrapped.write(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._wrapped.flush()

    def fileno(self) -> int:
        return self._wrapped.fileno()


def _terminal_size(stream: Any) -> tuple[int, int]:
    """Usable columns and lines: without the last column, where a terminal wraps."""
    try:
        columns, lines = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        columns = lines = 0
    return (columns or _COLUMNS) - 1, lines or _LINES


def duration_of(seconds: float) -> str:
    """`0:20`, `1:02:00`."""
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def size_of(number: int) -> str:
    """`512 B`, `8.1 MB`."""
    if number < 1000:
        return f"{number} B"
    size = float(number)
    for unit in _UNITS:
        size /= 1000
        if size < 999.95 or unit == _UNITS[-1]:
            break
    return f"{size:,.1f} {unit}"
