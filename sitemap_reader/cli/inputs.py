"""Opens what a command reads: a file, or stdin for `-`.

In: what was typed. Out: a binary stream, and what messages call it.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from ..model.errors import UsageError
from ..serialize.dumps import STDIN, STDIN_NAME
from ..serialize.dumps_part import open_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def called(name: str) -> str:
    """The name that messages give it."""
    return STDIN_NAME if name == STDIN else name


@contextmanager
def opened(name: str, open_name: Callable[[str], BinaryIO] = open_file) -> Iterator[BinaryIO]:
    """The stream; a file is closed when the block ends. UsageError where it cannot be read."""
    if name == STDIN:
        yield _stdin()
        return
    with open_name(name) as body:
        yield body


def _stdin() -> BinaryIO:
    if sys.stdin is None:
        raise UsageError("stdin is closed; give a file")
    return sys.stdin.buffer
