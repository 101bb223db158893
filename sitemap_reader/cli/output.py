"""Opens what a command writes to, and sees to it that all of it is written.

In: the names of -o and --report. Out: sinks; they are flushed when the block ends, however it ends.
"""

from __future__ import annotations

import os
import select
import stat
import sys
from contextlib import ExitStack, contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import attrs

from ..errors import UsageError
from ..sinks import ByteStream, Jsonl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

    from .interrupts import Interrupts

STDOUT = "-"


@attrs.frozen
class Outputs:
    """`records` takes what was asked for; `report` the rest, None where nobody asked; they may be the same."""

    records: Jsonl
    report: Jsonl | None
    files: tuple[_File, ...] = ()

    def begin(self) -> None:
        """Empties the files, also where nothing will be written: what they held is of another command."""
        for file in self.files:
            file.begin()

    def holds(self, body: BinaryIO) -> bool:
        """Whether one of the files is the one that `body` reads."""
        with suppress(OSError):  # it is no file
            return any(os.path.samestat(os.fstat(file.fileno()), os.fstat(body.fileno())) for file in self.files)
        return False

    def flush(self) -> None:
        """Writes what is held back."""
        self.records.flush()
        if self.report is not None:
            self.report.flush()


@contextmanager
def open_outputs(output: str | None, report: str | None, interrupts: Interrupts) -> Iterator[Outputs]:
    """Both sinks. Files are opened at once: a path that cannot be written is known before any request.

    What they held stays until begin() or the first block: a command that cannot be carried out destroys nothing.
    """
    output = output or STDOUT
    if report is not None and report != STDOUT and _same(report, output):
        raise UsageError(f"-o and --report are the same file, {report}; give it to one of them")
    with ExitStack() as files:
        sinks: dict[str, Jsonl] = {}
        opened: list[_File] = []
        for name in dict.fromkeys(each for each in (output, report) if each):
            if name == STDOUT:
                sinks[name] = Jsonl(_stdout(), "stdout", hold=interrupts.held)
                continue
            opened.append(files.enter_context(_File(name)))
            sinks[name] = Jsonl(opened[-1], name, hold=interrupts.held)
        outputs = Outputs(sinks[output], sinks[report] if report else None, tuple(opened))
        try:
            yield outputs
        finally:
            outputs.flush()


def is_terminal(output: str | None) -> bool:
    """Whether people will see it at once."""
    return output in (None, STDOUT) and sys.stdout is not None and sys.stdout.isatty()


class _WholeLines(FileIO):
    """Where a file takes no more, it ends with its last whole line; nothing is held back here, or written at exit."""

    _half = 0  # bytes behind the last line end

    def write(self, data: Buffer, /) -> int:
        view = memoryview(data)
        try:
            written = super().write(view)
            while written is None:  # a pipe that does not block, and is full
                select.select([], [self], [])
                written = super().write(view)
        except OSError:
            self._cut()
            raise
        behind = bytes(view[:written]).rpartition(b"\n")
        self._half = len(behind[2]) + (0 if behind[1] else self._half)
        return written

    def _cut(self) -> None:
        """Takes the half line back, if this is a file, and nobody else has written behind it."""
        with suppress(OSError):  # the failure itself is what is told
            end = os.fstat(self.fileno())
            if self._half and stat.S_ISREG(end.st_mode) and end.st_size == os.lseek(self.fileno(), 0, os.SEEK_CUR):
                os.ftruncate(self.fileno(), end.st_size - self._half)
                self._half = 0


class _File(_WholeLines):
    """A file that keeps what it held until something is written to it."""

    def __init__(self, name: str) -> None:
        super().__init__(os.open(name, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666), "w")
        self._has_begun = False

    def begin(self) -> None:
        """Empties it, once; a pipe or a device holds nothing."""
        if not self._has_begun and stat.S_ISREG(os.fstat(self.fileno()).st_mode):
            self.truncate(0)
        self._has_begun = True

    def write(self, data: Buffer, /) -> int:
        self.begin()
        return super().write(data)


def _same(one: str, other: str) -> bool:
    return Path(one).resolve() == Path(other).resolve()


def _stdout() -> ByteStream:
    if sys.stdout is None:
        raise OSError(0, "it is closed", "stdout")
    try:
        number = sys.stdout.fileno()
    except OSError:  # no file: somebody collects what is written
        return sys.stdout.buffer
    return _WholeLines(number, "w", closefd=False)
