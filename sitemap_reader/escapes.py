"""Text that a site wrote, as text that a terminal may be sent."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""The text with control characters and the like as escapes, on one line.

    >>> printable("a\x1b[31m\nb")
    'a\\x1b[31m\\nb'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
