"""Opens what a command writes to, and sees to it that all of it is written.

In: the names of -o and --report, and how URLs are to be written. Out: a sink and streams of lines; they are closed or
flushed when the block ends, however it ends. What was written takes the place of a file then, if anything was read.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import attrs
import orjson

from ..model.errors import UsageError
from ..model.problems import Problem
from ..model.records import Outcome
from ..serialize.byte_streams import Blocks
from ..serialize.compression import Compressed, check_compression, split_compression
from ..serialize.jsonl import json_line
from ..serialize.writers import Sink, check_format, make_sink
from .exits import Exit, has_read
from .formats import format_for, suffix_formats
from .options import ROWS_FORMATS
from .output_files import OutputStream, open_output_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..model.records import Item
    from ..serialize.byte_streams import ByteStream
    from ..serialize.projection import Fields
    from .interrupts import Interrupts

STDOUT = "-"
# What the suffix of a report may stand for: it is lines of JSON, which are text.
_REPORTS = {"jsonl", "json", "txt", "table", "text"}


@attrs.define
class _Output:
    """One of the outputs: what takes its records, and the stream behind. `needs_end`: cut off, it cannot be read."""

    name: str
    blocks: Blocks
    stream: ByteStream
    compressed: Compressed | None
    needs_end: bool

    def close(self, keep: bool) -> None:
        """Writes the rest; a file takes its place if it is to be kept, and can be read."""
        is_whole = False
        try:
            self.blocks.flush()
            if keep and self.compressed is not None and not self.blocks.has_failed:
                self._finish(self.compressed)
            is_whole = not self.blocks.has_failed
        finally:
            if isinstance(self.stream, OutputStream):
                self.stream.settle(keep and (is_whole or not self.needs_end))

    def _finish(self, compressed: Compressed) -> None:
        try:
            compressed.finish()
        except OSError as exc:
            raise OSError(exc.errno, exc.strerror or str(exc), self.name) from exc


@attrs.define
class Outputs:
    """`sink` takes the forms of URLs. `records` is where it writes to, for lines that are no URLs.

    `report` takes problems and outcomes, None where nobody asked; it may be the same as `records`.
    """

    records: Blocks
    report: Blocks | None
    sink: Sink
    _outputs: tuple[_Output, ...] = ()
    _keep: bool | None = None
    _has_tried: bool = False

    def keep(self) -> None:
        """What is written is the result, also if it is nothing: it takes the place of the file."""
        self._keep = True

    def decide(self, codes: Sequence[Exit], urls: int = 0) -> None:
        """By what became of the targets, and how many URLs were written: a file stays as it was if nothing was read.

        Of a command that was interrupted it gives way to what was written, if that is anything.
        """
        self._has_tried = set(codes) != {Exit.USAGE}
        if has_read(codes) or urls:
            self._keep = True
        elif Exit.INTERRUPTED not in codes:
            self._keep = False

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
        with suppress(OSError):  # it is no file
            read = os.fstat(body.fileno())
            # Terminals and sockets are read and written all the time.
            is_file = stat.S_ISREG(read.st_mode) or stat.S_ISFIFO(read.st_mode)
            if is_file and any(stream.is_same(read) for stream in self._streams()):
                raise UsageError(f"{name} is read and written at once; write to another file")

    def flush(self) -> None:
        """Writes what is held back."""
        try:
            self.records.flush()
        finally:
            if self.report is not None:
                self.report.flush()

    def close(self) -> None:
        """Writes the rest, and what belongs at the end of a file that is kept."""
        keep = self.records.has_begun if self._keep is None else self._keep
        with ExitStack() as rest:
            for each in self._outputs:
                is_report = each.blocks is not self.records
                rest.callback(each.close, keep or (is_report and each.blocks.has_begun))
            if keep or (self._has_tried and self._outputs[0].name == STDOUT):
                self.sink.close()

    def _streams(self) -> Iterator[OutputStream]:
        return (each.stream for each in self._outputs if isinstance(each.stream, OutputStream))


@contextmanager
def open_outputs(
    output: str | None,
    report: str | None,
    interrupts: Interrupts,
    *,
    format: str = "jsonl",
    fields: Fields | None = None,
    guard: bool = True,
    in_place: bool = False,
) -> Iterator[Outputs]:
    """All outputs. Files are opened at once: a path that cannot be written is known before any request.

    `format`, `fields` and `guard` are those of make_sink(), and for URLs alone. `in_place`: -o is written into the
    file itself from the first record on, so that what was written is there whatever ends the command.
    """
    output = output or STDOUT
    _refuse(output, report, format)
    check_format(format, fields)
    names = dict.fromkeys(each for each in (output, report) if each)
    with ExitStack() as files:
        opened = {}
        for name in names:
            is_parquet = name == output and format == "parquet"
            opened[name] = _open(name, interrupts, files, is_parquet, in_place and name == output)
        records = opened[output].blocks
        sink = make_sink(format, records, fields=fields, guard=guard)
        outputs = Outputs(records, opened[report].blocks if report else None, sink, tuple(opened.values()))
        try:
            yield outputs
        finally:
            with interrupts.held():
                outputs.close()


def _open(name: str, interrupts: Interrupts, files: ExitStack, is_parquet: bool, in_place: bool) -> _Output:
    with interrupts.held():  # a file that is made is closed again
        if name == STDOUT:
            stream, compression = _stdout(interrupts), None
        else:
            stream, compression = open_output_file(name, interrupts, in_place=in_place), split_compression(name)[1]
        if isinstance(stream, OutputStream):
            files.callback(stream.settle, False)
    compressed = Compressed(stream, compression) if compression else None
    shown = "stdout" if name == STDOUT else name
    if isinstance(stream, OutputStream) and compressed is None:
        blocks = Blocks(stream, shown, hold=interrupts.held, take_back=stream.take_back)
    else:
        blocks = Blocks(compressed or stream, shown, hold=interrupts.held)
    return _Output(name, blocks, stream, compressed, is_parquet or compressed is not None)


def _refuse(output: str, report: str | None, format: str) -> None:
    """UsageError for what cannot go together."""
    if report is not None and report != STDOUT and _same(report, output):
        raise UsageError(f"-o and --report are the same file, {report}; give it to one of them")
    if report == output == STDOUT and format != "jsonl":
        raise UsageError(f"--report - writes JSONL to stdout, where the {format} goes; give -o FILE or --report FILE")
    if {*suffix_formats(report)} - _REPORTS:
        raise UsageError(f"--report {report}: a report is JSONL; give a name in .jsonl")
    if format == "parquet" and is_terminal(output):
        raise UsageError("parquet is binary: give -o FILE")
    for name in (output, report or STDOUT):
        compression = split_compression(name)[1]
        check_compression(compression, name)
        if compression and format == "parquet" and name == output:
            raise UsageError(f"-o {name}: Parquet is compressed already; give a name in .parquet")


def rows_format_for(output: str | None, format: str | None, elsewhere: str = "tsv") -> str:
    """How a table is written: as asked for, as the suffix says, aligned on a terminal, or as it is `elsewhere`."""
    return format_for(output, format, ROWS_FORMATS) or ("table" if is_terminal(output) else elsewhere)


def is_terminal(output: str | None) -> bool:
    """Whether people will see it at once."""
    return output in (None, STDOUT) and sys.stdout is not None and sys.stdout.isatty()


def _same(one: str, other: str) -> bool:
    return Path(one).resolve() == Path(other).resolve()


def _stdout(interrupts: Interrupts) -> ByteStream:
    if sys.stdout is None:
        raise OSError(0, "it is closed", "stdout")
    try:
        number = sys.stdout.fileno()
    except OSError:  # no file: somebody collects what is written
        return sys.stdout.buffer
    return OutputStream(number, interrupts, closefd=False)
