"""Refuses to write a file that the same command reads, before it is opened."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import attrs
import click

from ..model.errors import UsageError
from ..serialize.dumps import STDIN, STDIN_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO

# Parameters that name what is written; other ones whose type is a file name what is read.
_WRITTEN = ("output", "also", "findings", "report", "save_checks", "record", "sinks")
# Those that are stdout if they are not given.
_STDOUT = ("output", "sinks")
# (read, written) that may be the same: results are added to a crawl; `harvest` itself says that -o is a folder.
_MAY_BE_SAME = (("crawl", "save_checks"), ("hosts", "output"))


@attrs.frozen
class _File:
    """A file that a parameter names. `path` is None for stdin, stdout and arguments, which may be hosts."""

    param: str
    name: str
    path: str | None
    status: os.stat_result | None

    @classmethod
    def of(cls, param: str, name: str, stream: TextIO | None, *, is_path: bool = False) -> _File:
        path = status = None
        with suppress(OSError, ValueError, AttributeError):  # no file, or a stream that is closed or none of the system
            path = os.path.realpath(name) if is_path and name != STDIN else None
            status = os.fstat(stream.fileno()) if name == STDIN else os.stat(name)  # type: ignore[union-attr]
        return cls(param, name, path, status)

    def is_same(self, other: _File) -> bool:
        """Whether both are one file or pipe, or will be. A terminal or a socket may be read and written."""
        if self.path is not None and self.path == other.path:
            return True
        if self.status is None or other.status is None:
            return False
        is_file = stat.S_ISREG(self.status.st_mode) or stat.S_ISFIFO(self.status.st_mode)
        # On Windows all pipes have the number 0.
        return is_file and self.status.st_ino != 0 and os.path.samestat(self.status, other.status)


def refuse_same_files(context: click.Context, listed: Iterable[str] = ()) -> None:
    """Raises UsageError if a file that the command reads, or one of the `listed` targets, is one that it writes."""
    read, written = list[_File](), list[_File]()
    for param, name in _named(context):
        if param.name in _WRITTEN:
            written.append(_File.of(str(param.name), name, sys.stdout, is_path=True))
        else:
            read.append(_File.of(str(param.name), name, sys.stdin, is_path=isinstance(param, click.Option)))
    for one in (*read, *(_File.of("targets", name, None) for name in listed)):
        if any(one.is_same(other) and (one.param, other.param) not in _MAY_BE_SAME for other in written):
            shown = STDIN_NAME if one.name == STDIN else one.name
            raise UsageError(f"{shown} is read and written at once", remedy="write to another file")


def _named(context: click.Context) -> Iterator[tuple[click.Parameter, str]]:
    for param in context.command.params:
        value = context.params.get(str(param.name))
        if param.name in _STDOUT:
            value = value or STDIN
        if param.name in _WRITTEN or param.type.name == "file":
            for name in value if isinstance(value, list | tuple) else [value]:
                if name:
                    yield param, name
