"""Text of a site as it is shown: without characters that a terminal would obey, or that are not seen.

Text in, text out. Other modules import these from errors.py; problems.py, which errors.py needs, from here.
"""

from __future__ import annotations


def printable(text: str) -> str:
    r"""The text on one line, with control and other unprintable characters as escapes.

    >>> printable("a\x1b[31m\nb")
    'a\\x1b[31m\\nb'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def printable_lines(text: str) -> str:
    r"""The same of each line.

    >>> printable_lines("a\x1b\nb")
    'a\\x1b\nb'
    """
    return "\n".join(map(printable, text.split("\n")))
