"""What can be raised.

::

    SitemapReaderError
    ├── UsageError           the call cannot be carried out as written; also a ValueError
    │   └── UnknownKeyword   a keyword that the function does not have; also a TypeError, as Python's is
    ├── FetchError           one request got no answer; raised by Fetchers, never out of a stream
    ├── DocumentChanged      another try gave other bytes; becomes an F04
    ├── FallbackFailed       a feed fallback was not asked, was stopped, or gave up; becomes an S01
    ├── StateError           a state file is none, damaged, too new, in use, or cannot be written
    └── ReadError            at the end of a run, with its outcomes
        ├── NothingFound     there is no sitemap
        ├── NothingReadable  there are sitemaps, and none gave a URL because of errors
        └── PartialRead      only from raise_for_partial(): something is missing

Bad data and bad networks are values, not exceptions: see problems.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .records import Outcome


# ----------------------------------------------------------------------------------------------------
# Text that may be shown: without what a terminal obeys, and without passwords in what was typed.


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


class SitemapReaderError(Exception):
    """Base class of everything this package raises on purpose."""


class UsageError(SitemapReaderError, ValueError):
    """An argument that cannot be carried out: the message says which and what would do, and shows no login in a URL."""

    def __init__(self, message: str) -> None:
        super().__init__(masked(message))


class UnknownKeyword(UsageError, TypeError):
    """A keyword argument that the function does not have; the message names the one that does it."""


class FetchError(SitemapReaderError):
    """A request that got no answer, or an answer that broke off.

    `code` is the Problem code it becomes (F04 for networks, F13 for refused addresses);
    `transient` says whether another try may help.
    """

    def __init__(self, message: str, *, code: str = "F04", transient: bool = True) -> None:
        super().__init__(message)
        self.code = code
        self.transient = transient


class DocumentChanged(SitemapReaderError):
    """A document that is read again after a break does not begin as it did before."""


class FallbackFailed(SitemapReaderError):
    """feedparser was not asked, was stopped, or gave up: the message says which and why."""


class StateError(SitemapReaderError):
    """A state file that cannot be used; what it holds is left as it is. The message names it, and says what to do.

    `is_unwritable`: the file is what it should be, but cannot be written: no room, no permission, or in use.
    """

    def __init__(self, message: str, *, is_unwritable: bool = False) -> None:
        super().__init__(message)
        self.is_unwritable = is_unwritable


class ReadError(SitemapReaderError):
    """The end of a run that lacks something; `outcomes` has one Outcome for each document."""

    def __init__(self, message: str, outcomes: Sequence[Outcome] = ()) -> None:
        super().__init__(message)
        self.outcomes = tuple(outcomes)


class NothingFound(ReadError):
    """No sitemap was found, and nothing went wrong on the way."""


class NothingReadable(ReadError):
    """No URL could be read, and errors are the reason."""


class PartialRead(ReadError):
    """Something may be missing: at least one document is incomplete."""


def install_hint(extra: str) -> str:
    """How to install what a feature needs: there is no distribution on PyPI, so from the sources.

    >>> install_hint("parquet")
    "pip install '.[parquet]' in a clone of sitemap-reader"
    """
    return f"pip install '.[{extra}]' in a clone of sitemap-reader"
