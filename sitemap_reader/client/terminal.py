"""What stdout or stderr shows: a Screen, by which every command lays out and colours its text.

It depends on the stream, and on NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, TERM and COLUMNS. No meaning is in a colour
alone.

ProgressBar is a line on the stderr of a terminal, or a widget in a notebook; nothing elsewhere. Errors of the terminal
are ignored, and no thread is started.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Self, TextIO

import attrs

from ..model.errors import printable, without_commands
from ..model.problems import count_of
from .summary import Progress

FILE_COLUMNS = 80
_MIN_COLUMNS = 20
# SGR codes of ECMA-48 8.3.117. Fixed colours of the 256, each with a contrast of 3.8 or more on black and on white: the
# first sixteen depend on the terminal, whose yellow is often unreadable on white.
STYLES = {
    "heading": "1",
    "error": "38;5;160",
    "warning": "38;5;166",
    "notice": "38;5;31",
    "new": "38;5;28",
    "updated": "38;5;166",
    "removed": "38;5;160",
}
# In place of characters that an encoding lacks, such as that of a console in Western Europe.
_SUBSTITUTES = {"└": "`", "├": "|", "│": "|", "─": "-", "…": "...", "’": "'", "–": "-", "→": "->"}


@attrs.frozen
class Screen:
    """What an output shows; the default is a file. Only a terminal needs its lines shortened to `columns`."""

    is_terminal: bool = False
    has_color: bool = False
    columns: int = FILE_COLUMNS
    encoding: str = "utf-8"

    def styled(self, text: str, style: str | None) -> str:
        """The text in a style of STYLES, if there are colours."""
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if style and text and self.has_color else text

    def substituted(self, text: str) -> str:
        """The text with ASCII in place of lines and punctuation that the encoding lacks.

        >>> Screen(encoding="cp1252").substituted("├── a…b")
        '|-- a…b'
        """
        return text if text.isascii() else text.translate(_lacking(self.encoding))

    def shown(self, text: str) -> str:
        """The text on one line, without control characters, commands of CI systems and lacking characters."""
        line = self.substituted(without_commands(printable(text)))
        return line.encode(self.encoding, "replace").decode(self.encoding)


FILE = Screen()


@cache
def _lacking(encoding: str) -> dict[int, str]:
    lacking = {}
    for char, plain in _SUBSTITUTES.items():
        try:
            char.encode(encoding)
        except (UnicodeEncodeError, LookupError):
            lacking[ord(char)] = plain
    return lacking


def screen_of(stream: TextIO | None) -> Screen:
    """The Screen of stdout or stderr; what is not a terminal gets UTF-8."""
    if stream is None or not is_terminal(stream):
        return Screen(has_color=takes_color(stream), columns=columns_of(None))
    return Screen(True, takes_color(stream), columns_of(stream), stream.encoding or "utf-8")


def is_terminal(stream: TextIO | None) -> bool:
    with suppress(ValueError):  # closed
        return stream is not None and stream.isatty()
    return False


def is_redrawn(stream: TextIO | None) -> bool:
    """Whether a line of the stream can be overwritten: a terminal, but not a dumb one such as a shell in Emacs."""
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def takes_color(stream: TextIO | None) -> bool:
    """As $NO_COLOR, else $FORCE_COLOR or $CLICOLOR_FORCE states; else whether it is a terminal that is not dumb."""
    if stream is None or os.environ.get("NO_COLOR"):
        return False
    if any(os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return is_redrawn(stream) and _interprets_codes(stream)


def _interprets_codes(stream: TextIO) -> bool:
    """Whether a terminal interprets SGR codes; a console of Windows has to be switched to that."""
    if sys.platform != "win32":
        return True
    import ctypes  # SetConsoleMode() with ENABLE_VIRTUAL_TERMINAL_PROCESSING, since Windows 10
    import msvcrt

    with suppress(OSError, ValueError):
        handle, mode = msvcrt.get_osfhandle(stream.fileno()), ctypes.c_uint32()
        kernel = ctypes.windll.kernel32
        return bool(kernel.GetConsoleMode(handle, ctypes.byref(mode)) and kernel.SetConsoleMode(handle, mode.value | 4))
    return False


def columns_of(stream: TextIO | None) -> int:
    """$COLUMNS, else the columns of the terminal, else 80; not under 20."""
    named = os.environ.get("COLUMNS", "")
    columns = int(named) if named.isdecimal() else 0
    return max(columns or own_columns(stream) or FILE_COLUMNS, _MIN_COLUMNS)


def own_columns(stream: TextIO | None) -> int:
    """The columns of the terminal; 0 if there is none, or it has no size."""
    with suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(stream.fileno()).columns  # type: ignore[union-attr]
    return 0


_DRAW_SECONDS = 0.1


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
