"""What stdout or stderr shows: a Screen, by which every command lays out and colours its text.

It depends on the stream, and on NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, TERM and COLUMNS. No meaning is in a colour
alone.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

import attrs

from ..model.errors import printable, without_commands

if TYPE_CHECKING:
    from typing import TextIO

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
