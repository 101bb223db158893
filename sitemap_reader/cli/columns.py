"""Columns of a terminal: how many of them a text takes, and what the terminal can show of it.

In: text. Out: numbers, text. East Asian characters take two columns. Never cuts.
"""

from __future__ import annotations

import sys
from unicodedata import category, east_asian_width

from ..model.escapes import printable
from .output import is_terminal

_MARKS = frozenset({"Mn", "Me"})  # they stand over the character before


def width(text: str) -> int:
    """The columns of a text without control characters.

    >>> width("shop"), width("商店")
    (4, 4)
    """
    if text.isascii():
        return len(text)
    return sum(0 if category(char) in _MARKS else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """The text with blanks behind it, or before it where it goes to the right."""
    blanks = " " * (columns - width(text))
    return blanks + text if right else text + blanks


def shown(text: str, encoding: str = "utf-8") -> str:
    """The text on one line, with `?` for what the encoding has no character for."""
    return printable(text).encode(encoding, "replace").decode(encoding)


def encoding_of(output: str | None) -> str:
    """How text is written there: as the terminal wants it, elsewhere in UTF-8."""
    return sys.stdout.encoding if is_terminal(output) else "utf-8"
