"""What the shell is told: exit codes, and which of several wins."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Exit(IntEnum):
    """Exit codes; the same for every command."""

    COMPLETE = 0
    THRESHOLD = 1
    USAGE = 2
    PARTIAL = 3
    NOTHING = 4
    UNREADABLE = 5
    UNWRITABLE = 6
    INTERRUPTED = 130


# Something was read: what a command writes is its result.
_READ = frozenset({Exit.COMPLETE, Exit.THRESHOLD, Exit.PARTIAL})

# Of several targets the first of these that occurs.
PRECEDENCE = (
    Exit.INTERRUPTED,
    Exit.USAGE,
    Exit.UNWRITABLE,
    Exit.UNREADABLE,
    Exit.NOTHING,
    Exit.THRESHOLD,
    Exit.PARTIAL,
    Exit.COMPLETE,
)


def worst(codes: Iterable[Exit]) -> Exit:
    """The code that counts.

    >>> worst([Exit.COMPLETE, Exit.PARTIAL, Exit.NOTHING]).name
    'NOTHING'
    """
    return min(codes, key=PRECEDENCE.index, default=Exit.COMPLETE)


def has_read(codes: Iterable[Exit]) -> bool:
    """Whether anything was read of what was asked for.

    >>> has_read([Exit.UNREADABLE, Exit.PARTIAL]), has_read([Exit.NOTHING, Exit.INTERRUPTED])
    (True, False)
    """
    return not _READ.isdisjoint(codes)
