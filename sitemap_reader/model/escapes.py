"""Text that may be shown: without what a terminal obeys, and without passwords in what was typed."""

from __future__ import annotations

import re

# `user:password@`, also where the password holds a slash, so that no URL can be made of it.
_LOGIN = re.compile(r"(?:(?<=//)|(?<=\./)|(?<![^\s'\"]))(?!USER:)[^\s@/'\"]*:(?!//)[^\s@]*@(?:[^\s@/]*@)*")


def printable(text: str) -> str:
    r"""The text with control characters and the like as escapes, on one line.

    >>> printable("a\x1b[31m\nb")
    'a\\x1b[31m\\nb'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def masked(text: str) -> str:
    """A message without the logins of URLs that were typed.

    >>> masked("no folder https://me:secret@example.com/a, nor 'me:secret@intranet'")
    "no folder https://…@example.com/a, nor '…@intranet'"
    """
    return _LOGIN.sub("…@", text)
