"""Opens what a command writes to, and sees to it that all of it is written.

In: the names of -o and --report, and how URLs are to be written. Out: a sink and streams of lines; they are closed or
flushed when the block ends, however it ends.
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
import orjson

from ..blocks import Blocks
from ..errors import UsageError
from ..jsonl import json_line
from ..problems import Problem
from ..records import Outcome
from ..sinks import SUFFIXES, Sink, check_format, format_of, make_sink
from .options import ROWS_FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

    from ..blocks import ByteStream
    from ..fields import Fields
    from ..records import Item
    from .interrupts import Interrupts

STDOUT = "-"


@attrs.define
class Outputs:
    """`sink` takes the forms of URLs. `records` is where it writes to, for lines that are no URLs.

    `report` takes problems and outcomes, None where nobody asked; it may be the same as `records`.
    """

    records: Blocks
    report: Blocks | None
    sink: Sink
    streams: tuple[_Unbuffered, ...] = ()
    _has_begun: bool = False

    def begin(self) -> None:
        """Empties the files, also where no URL will be written: what they held is of another command."""
        self._has_begun = True
        for stream in self.streams:
            stream.begin()

    def write_lines(self, lines: bytes) -> None:
        """Writes the URLs of many JSON lines."""
        if not self.sink.write_lines(lines):
            for line in lines.splitlines():
                self.sink.write(orjson.loads(line))

    def report_on(self, item: Item, site: str | None) -> None:
        """Writes what a report takes, if one is asked for."""
        if self.report is not None and isinstance(item, Problem | Outcome):
            self.report.write(json_line(item, site=site))

    def spare(self, body: BinaryIO, name: str) -> None:
        """UsageError, with its `name`, where what `body` reads is written to."""
        if self._holds(body):
            raise UsageError(f"{name} is read and written at once; write to another file")

    def _holds(self, body: BinaryIO) -> bool:
        """By name or as stdout."""
        with suppress(OSError):  # it is no file
            read = os.fstat(body.fileno())
            # Terminals and sockets are read and written all the time.
            is_file = stat.S_ISREG(read.st_mode) or stat.S_ISFIFO(read.st_mode)
            return is_file and any(stream.is_same(read) for stream in self.streams)
        return False

    def flush(self) -> None:
        """Writes what is held back."""
        try:
            self.records.flush()
        finally:
            if self.report is not None:
                self.report.flush()

    def close(self) -> None:
        """Writes the rest, and what belongs at the end of a file, unless nothing has been begun."""
        try:
            if self._has_begun:
                self.sink.close()
        finally:
            self.flush()


@contextmanager
def open_outputs(
    output: str | None,
    report: str | None,
    interrupts: Interrupts,
    *,
    format: str = "jsonl",
    fields: Fields | None = None,
) -> Iterator[Outputs]:
    """All outputs. Files are opened at once: a path that cannot be written is known before any request.

    What they held stays until begin() or the first block: a command that cannot be carried out destroys nothing.
    The keywords are those of make_sink(), and for URLs alone.
    """
    output = output or STDOUT
    _refuse(output, report, format)
    check_format(format, fields)
    with ExitStack() as files:
        names = dict.fromkeys(each for each in (output, report) if each)
        streams = {name: _stdout() if name == STDOUT else files.enter_context(_File(name)) for name in names}
        blocks = {name: _blocks(stream, name, interrupts) for name, stream in streams.items()}
        sink = make_sink(format, blocks[output], fields=fields)
        own = tuple(stream for stream in streams.values() if isinstance(stream, _Unbuffered))
        outputs = Outputs(blocks[output], blocks[report] if report else None, sink, own)
        try:
            yield outputs
        finally:
            with interrupts.held():
                outputs.close()


def _refuse(output: str, report: str | None, format: str) -> None:
    """UsageError for what cannot go together."""
    if report is not None and report != STDOUT and _same(report, output):
        raise UsageError(f"-o and --report are the same file, {report}; give it to one of them")
    if report == output == STDOUT and format != "jsonl":
        raise UsageError(f"--report - writes JSONL to stdout, where the {format} goes; give -o FILE or --report FILE")
    if format == "parquet" and is_terminal(output):
        raise UsageError("parquet is binary: give -o FILE")


# Of names that stand for what is not written here -> what to do instead.
_OTHERS = {
    ".gz": "nothing is packed here: write to stdout, and add `| gzip > {}`",
    ".json": "JSON lines are called .jsonl; give --format jsonl if {} is meant",
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "spreadsheets read .csv, and {} is none"),
    **dict.fromkeys((".xml", ".html"), "{} is neither of " + ", ".join(SUFFIXES)),
}


def format_for(output: str | None, format: str | None) -> str | None:
    """`format`, else what the suffix of `output` stands for, else None. UsageError for a suffix that misleads."""
    suffix = os.path.splitext(output or "")[1].lower()
    if format is None and suffix in _OTHERS:
        raise UsageError(f"-o {output}: {_OTHERS[suffix].format(output)}")
    return format or format_of(output)


def rows_format_for(output: str | None, format: str | None, elsewhere: str = "tsv") -> str:
    """How a table is written: as asked for, as the suffix says, aligned on a terminal, or as it is `elsewhere`."""
    named = format_for(output, format)
    if named and named not in ROWS_FORMATS:
        raise UsageError(f"-o {output}: rows are written as {', '.join(ROWS_FORMATS)}; --format says as which")
    return named or ("table" if is_terminal(output) else elsewhere)


def is_terminal(output: str | None) -> bool:
    """Whether people will see it at once."""
    return output in (None, STDOUT) and sys.stdout is not None and sys.stdout.isatty()


def _blocks(stream: ByteStream, name: str, interrupts: Interrupts) -> Blocks:
    told = "stdout" if name == STDOUT else name
    if isinstance(stream, _Unbuffered):
        return Blocks(stream, told, hold=interrupts.held, take_back=stream.take_back)
    return Blocks(stream, told, hold=interrupts.held)


class _Unbuffered(FileIO):
    """A file or pipe, which may take a part of what it is given; nothing is held back here, or written at exit."""

    def write(self, data: Buffer, /) -> int:
        written = super().write(data)
        while written is None:  # a pipe that does not block, and is full
            select.select([], [self], [])
            written = super().write(data)
        return written

    def begin(self) -> None:
        """Before anything is written."""

    def is_same(self, file: os.stat_result) -> bool:
        """Whether it is this file."""
        return os.path.samestat(os.fstat(self.fileno()), file)

    def take_back(self, size: int) -> None:
        """Cuts off its last bytes, if this is a file, and nobody else has written behind them."""
        with suppress(OSError):  # the failure itself is what is told
            end = os.fstat(self.fileno())
            if size and stat.S_ISREG(end.st_mode) and end.st_size == os.lseek(self.fileno(), 0, os.SEEK_CUR):
                os.ftruncate(self.fileno(), end.st_size - size)


class _File(_Unbuffered):
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
    return _Unbuffered(number, "w", closefd=False)
