"""The outputs of a command: -o and --report, and the format of each. Also opens input files.

A file is replaced at the end, if anything was read.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import attrs

from ..client.terminal import FILE, columns_of, screen_of
from ..model.errors import UsageError, json_on_terminal, json_without_commands, text_on_terminal
from ..model.problems import Problem
from ..model.records import Outcome
from ..serialize.byte_streams import Blocks, Sink, split_compression
from ..serialize.dumps import STDIN, STDIN_NAME, open_file
from ..serialize.jsonl import json_line
from ..serialize.output_files import OutputFile, OutputStream, open_output_file
from ..serialize.writers import FORMATS, check_format, check_name, make_sink
from .exits import Exit, Interrupts, any_read
from .options import ROWS_FORMATS

if TYPE_CHECKING:
    from ..client.terminal import Screen
    from ..model.records import Item
    from ..serialize.byte_streams import ByteStream
    from ..serialize.schema import Fields
    from .messages import Console
    from .options import OutputOptions


# Suffix, without that of a compression -> the formats that it may stand for; a command has one of them, or none.
SUFFIXES = {
    **{suffix: (name,) for name, format in FORMATS.items() for suffix in format.suffixes},
    ".txt": ("txt", "table", "text"),
    ".json": ("json",),
    ".html": ("html",),
    ".htm": ("html",),
    ".sarif": ("sarif",),
    ".xml": ("junit",),
    ".md": ("markdown",),
}
# Suffix that no command writes -> what to do instead.
_OTHERS = {
    ".json": "the suffix of JSON lines is .jsonl; give --format jsonl to write them to {0}",
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "{1} is not written; spreadsheets read .csv"),
    **dict.fromkeys((".bz2", ".xz", ".zip", ".7z"), "files are compressed as .gz or .zst, not as {1}"),
    ".pdf": "{1} is not written; give a name in .html, and print that page to PDF",
}


def suffix_formats(output: str | None) -> tuple[str, ...]:
    """The formats that the suffix of a name may stand for.

    >>> suffix_formats("urls.ndjson"), suffix_formats("URLS.CSV.gz"), suffix_formats("report.htm"), suffix_formats("-")
    (('jsonl',), ('csv',), ('html',), ())
    """
    return SUFFIXES.get(_suffix(output), ())


def format_for(output: str | None, format: str | None, formats: Collection[str]) -> str | None:
    """`format`, else the one of `formats` that the suffix of -o stands for, else None."""
    if format is not None:
        return format
    by_suffix = [each for each in suffix_formats(output) if each in formats]
    if by_suffix:
        return by_suffix[0]
    suffix = _suffix(output)
    if suffix in _OTHERS:
        raise UsageError(f"-o {output}: {_OTHERS[suffix].format(output, suffix)}")
    if suffix in SUFFIXES:
        raise UsageError(
            f"-o {output}: {suffix} is not a format of this command", remedy=f"give --format {'|'.join(formats)}"
        )
    return None


def _suffix(output: str | None) -> str:
    return os.path.splitext(split_compression(output or "")[0])[1].lower()


def display_name(name: str) -> str:
    """The name of an input in messages: `-` is stdin."""
    return STDIN_NAME if name == STDIN else name


@contextmanager
def open_input(name: str, open_name: Callable[[str], BinaryIO] = open_file) -> Iterator[BinaryIO]:
    """Opens an input, `-` for stdin, until the block ends; UsageError if it cannot be read."""
    if name != STDIN:
        with open_name(name) as body:
            yield body
    elif sys.stdin is None:
        raise UsageError("stdin is closed", remedy="give a file")
    else:
        yield sys.stdin.buffer


STDOUT = "-"
# Formats whose suffixes --report accepts: it writes JSON lines, which are text.
_REPORTS = {"jsonl", "json", "txt", "table", "text"}


@attrs.define
class Outputs:
    """`sink` takes URLs as JSON objects; `records` is its stream, for lines that are not URLs."""

    records: Blocks
    report: Blocks | None  # for problems and outcomes; it may be the same as `records`
    sink: Sink
    interrupts: Interrupts  # handles the signals until the outputs are closed
    _outputs: tuple[OutputFile, ...] = ()
    _may_lack_report: bool = False
    _keep: bool | None = None
    _has_tried: bool = False

    def keep(self) -> None:
        """Keeps what is written, even if it is empty: it replaces the file."""
        self._keep = True

    def decide(self, codes: Sequence[Exit], urls: int = 0) -> None:
        """Decides whether the output replaces the file: if something was read or, after an interrupt, written."""
        self._has_tried = set(codes) != {Exit.USAGE}
        if any_read(codes) or urls:
            self._keep = True
        elif Exit.INTERRUPTED not in codes:
            self._keep = False

    def report_on(self, item: Item, site: str | None) -> None:
        if self.report is not None and isinstance(item, Problem | Outcome):
            self.report.write(json_line(item, site=site))

    def callbacks(self, site: str | None, console: Console) -> dict[str, Any]:
        """Of a stream: `on_item` shows and reports items, `on_wait` flushes the outputs."""

        def take(item: Item) -> None:
            console.show(item)
            self.report_on(item, site)

        def wait() -> None:
            self.flush()
            self.interrupts.check()

        return {"on_item": take, "on_wait": wait}

    def flush(self) -> None:
        try:
            self.records.flush()
        finally:
            if self.report is not None:
                self.report.flush()

    def close(self) -> None:
        keep = self.records.has_begun if self._keep is None else self._keep
        with ExitStack() as rest:
            for each in self._outputs:
                is_report = each.blocks is not self.records
                is_needed = keep and not (is_report and self._may_lack_report)
                rest.callback(each.close, is_needed or (is_report and each.blocks.has_begun))
            if keep or (self._has_tried and self._outputs[0].name == STDOUT):
                self.sink.close()


@contextmanager
def open_outputs(
    output: str | None,
    report: str | None = None,
    *,
    format: str = "jsonl",
    fields: Fields | None = None,
    guard: bool = True,
    in_place: bool = False,
    report_format: str | None = None,
    may_lack_report: bool = False,
    is_json: bool | None = None,
    bom: bool = False,
    report_bom: bool = False,
) -> Iterator[Outputs]:
    """Opens -o and --report. A path that cannot be written fails here, before any request.

    `report_format` is that of `report`, if it is not the JSONL of --report; with `may_lack_report` a file is made only
    if something is written to it. With `in_place`, -o is the named file itself from the first record on, so that what
    was written stays. `is_json`: -o gets JSON, by default if the format is; then no runner of a CI system finds a
    command in it, and a terminal no control character. Other text is escaped where it is made, but for tables of URLs.
    `bom` and `report_bom`: the output begins with a byte-order mark, unless it is a terminal.
    """
    output = output or STDOUT
    _refuse(output, report, format, report_format)
    check_format(format, fields)
    names = dict.fromkeys(each for each in (output, report) if each)
    with Interrupts() as interrupts, ExitStack() as files:
        opened = {}
        for name in names:
            written = format if name == output else report_format or "jsonl"
            has_json = written == "jsonl" if is_json is None or name != output else is_json
            escape = _escape(written, has_json, is_terminal(name))
            marked = (bom if name == output else report_bom) and not is_terminal(name)
            head = codecs.BOM_UTF8 if marked else b""
            opened[name] = _open(name, interrupts, files, written, in_place and name == output, escape, head)
        records = opened[output].blocks
        sink = make_sink(format, records, fields=fields, guard=guard)
        reported = opened[report].blocks if report else None
        outputs = Outputs(records, reported, sink, interrupts, tuple(opened.values()), may_lack_report)
        try:
            yield outputs
        finally:
            with interrupts.deferred():
                outputs.close()


def _escape(format: str, is_json: bool, is_terminal: bool) -> Callable[[bytes], bytes] | None:
    """What is done to the records: JSON keeps its values, and a table of URLs its bytes, but on a terminal."""
    if is_json:
        return (lambda json: json_on_terminal(json_without_commands(json))) if is_terminal else json_without_commands
    return text_on_terminal if is_terminal and format in ("csv", "tsv", "txt") else None


def _open(
    name: str,
    interrupts: Interrupts,
    files: ExitStack,
    format: str,
    in_place: bool,
    escape: Callable[[bytes], bytes] | None,
    head: bytes,
) -> OutputFile:
    with interrupts.deferred():  # so that a new file is closed
        if name == STDOUT:
            stream, compression = _stdout(interrupts), None
        else:
            stream, compression = open_output_file(name, interrupts, in_place=in_place), split_compression(name)[1]
        if isinstance(stream, OutputStream):
            files.callback(stream.finish, False)
    options: dict[str, Any] = {"hold": interrupts.deferred, "escape": escape, "head": head}
    return OutputFile.of(stream, name, format, compression, shown="stdout" if name == STDOUT else name, **options)


def _refuse(output: str, report: str | None, format: str, report_format: str | None) -> None:
    if report is not None and report != STDOUT and Path(report).resolve() == Path(output).resolve():
        option = "--findings" if report_format else "--report"
        raise UsageError(f"-o and {option} are the same file, {report}", remedy="give it to one of them")
    if report == output == STDOUT and format != "jsonl":
        raise UsageError(
            f"--report - writes JSONL to stdout, where the {format} goes", remedy="give -o FILE or --report FILE"
        )
    if report_format is None and {*suffix_formats(report)} - _REPORTS:
        raise UsageError(f"--report {report}: a report is JSONL", remedy="give a name in .jsonl")
    if FORMATS[format].is_binary and is_terminal(output):
        raise UsageError(f"{format} is binary: give -o FILE")
    check_name(output, format)
    check_name(report or STDOUT, "jsonl")


def rows_format_for(to: OutputOptions, elsewhere: str = "tsv") -> str:
    """The format of a table: --format, else by the suffix of -o, else `table` on a terminal and `elsewhere` if not."""
    return format_for(to.output, to.format, ROWS_FORMATS) or ("table" if is_terminal(to.output) else elsewhere)


def screen_for(output: str | None) -> Screen:
    """What the output shows: stdout may be a terminal, and what is named is a file."""
    return screen_of(sys.stdout) if output in (None, STDOUT) else attrs.evolve(FILE, columns=columns_of(None))


def is_terminal(output: str | None) -> bool:
    return screen_for(output).is_terminal


def _stdout(interrupts: Interrupts) -> ByteStream:
    if sys.stdout is None:
        raise OSError(0, "it is closed", "stdout")
    if sys.platform == "win32" and is_terminal(STDOUT):  # a descriptor takes the code page of the console
        console: ByteStream = sys.stdout.buffer.raw  # type: ignore[union-attr]
        return console
    try:
        number = sys.stdout.fileno()
    except OSError:  # an object of a caller in place of stdout
        return sys.stdout.buffer
    return OutputStream(number, interrupts, closefd=False)
