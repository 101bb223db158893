"""A bar that shows how far a run is: Progress values in; out a line on a terminal's stderr, or a widget in a notebook.

Where there is neither it shows nothing. Nobody who cannot read it hears of that, and it never leaves a thread behind.
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
    from types import TracebackType
    from typing import TextIO

_DRAW_SECONDS = 0.1
_COLUMNS, _LINES = 80, 24  # of a terminal that does not tell
_UNITS = ("kB", "MB", "GB", "TB")
# tqdm draws nothing by itself before this is over: what is interrupted in its constructor would keep its lock.
_DELAY_SECONDS = 1e-9


@attrs.frozen
class BarState:
    """What a bar has of some progress: how much is done of how much is known, and what is `told` behind."""

    done: int
    known: int
    told: str


def _sitemaps(progress: Progress) -> BarState:
    told = f"{count_of(progress.urls, 'URL')}, {size_of(progress.bytes_wire)}"
    if progress.delay is not None:
        told += f", Crawl-delay {progress.delay.delay_seconds:g} s, {duration_of(progress.delay.seconds_left)} left"
    return BarState(progress.documents_done, progress.documents_known, told)


class ProgressBar:
    """Shows what it is called with, a few times a second: `sitemaps  12/40 [00:03, 51,204 URLs, 8.1 MB]`.

    `noun` is what is counted, and `shown` makes of progress what is to be seen; they are those of one site's.
    As a context manager, or from open() to close(). On a terminal nothing of it stays; a notebook keeps its last state.
    """

    def __init__(self, noun: str = "sitemaps", shown: Callable[[Any], BarState] = _sitemaps) -> None:
        self._bar: Any = None
        self._noun = noun
        self._make_shown = shown
        self._shown = _sitemaps(Progress())
        self._draw_at = 0.0

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(self, progress: Any) -> None:
        """Takes the newest numbers."""
        self._shown = self._make_shown(progress)
        if self._bar is not None and time.monotonic() >= self._draw_at:
            self._draw(self._bar)

    def open(self) -> None:
        """Shows it, where there is a notebook or a terminal."""
        if self._bar is None and (bar := _make_bar()) is not None:
            self._bar = bar
            self._draw(bar)

    def close(self) -> None:
        """Takes it away; in a notebook it shows the last numbers for good. May be called twice."""
        bar, self._bar = self._bar, None
        if bar is None:
            return
        if bar.leave:
            self._draw(bar)
        _erase(bar)
        bar.close()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Gives its line to what is written in this block."""
        if self._bar is not None:
            _erase(self._bar)
        yield
        if self._bar is not None:
            self._draw(self._bar)

    def _draw(self, bar: Any) -> None:
        self._draw_at = time.monotonic() + _DRAW_SECONDS
        if bar.disable:  # TQDM_DISABLE: whoever wants no bar of tqdm's wants none of ours
            return
        done, known = self._shown.done, self._shown.known
        bar.n, bar.total = done, known
        bar.desc = f"{self._noun}  {done:,}/{f'{known:,}' if known else '?'}"
        bar.postfix = self._shown.told
        with bar.get_lock():  # tqdm would keep it, were it interrupted
            if bar.gui:
                bar.container.children[1].max = max(known, 1)
            else:
                bar.ncols, bar.nrows = _shape(bar.fp)
            bar.refresh(nolock=True)


def _erase(bar: Any) -> None:
    """Blanks its whole line: a terminal echoes ^C behind the bar."""
    if bar.disable or bar.gui:
        return
    with bar.get_lock():
        bar.display(msg=" " * bar.ncols)
        bar.clear(nolock=True)


def _make_bar() -> Any:
    """tqdm's bar for where this runs; None where nobody would see it."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(shell, "kernel"):
        bar = _widget()
        return _line() if bar is None else bar  # a bar of nothing yet is false
    with suppress(OSError, ValueError):  # stderr is closed
        if sys.stderr is not None and sys.stderr.isatty():
            return _line()
    return None


def _widget() -> Any:
    """None for a kernel without widgets, or whose console would show the repr of one."""
    notebook = import_module("tqdm.notebook")
    if notebook.IProgress is None or any(name.startswith("SPYDER") for name in os.environ):
        return None
    return _own(notebook.tqdm)(leave=True, bar_format="{desc} {bar} [{elapsed}{postfix}]", delay=_DELAY_SECONDS)


def _line() -> Any:
    bar = _own(import_module("tqdm.std").tqdm)
    file, form = _Deaf(sys.stderr), "{desc} [{elapsed}{postfix}]"
    columns, lines = _shape(file)
    return bar(file=file, leave=False, bar_format=form, ncols=columns, nrows=lines, delay=_DELAY_SECONDS)


def _own(base: type) -> Any:
    """tqdm's class without the thread that it has to watch over bars; the classes of other people stay as they are.

    Bars share the screen with those of other people, and so their lock between threads; not that between processes,
    for which Python may start another one.
    """
    own: Any = type("Bar", (base,), {"monitor_interval": 0})
    own.set_lock(import_module("tqdm.std").TqdmDefaultWriteLock.th_lock)
    return own


class _Deaf:
    """A text stream that takes what cannot be written for written. For tqdm it is the stream itself."""

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


def _shape(stream: Any) -> tuple[int, int]:
    """Columns and lines that may be written to: the last column would wrap."""
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
