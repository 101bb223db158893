"""The outputs of a command: -o and --report, and the format of each. Also opens input files.

A new file is written beside the one that is named and replaces it at the end, if anything was read.
"""

from __future__ import annotations

import codecs
import errno
import os
import secrets
import select
import shutil
import stat
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import attrs

from ..client.terminal import FILE, columns_of, screen_of
from ..model.errors import UsageError, json_on_terminal, json_without_commands, text_on_terminal
from ..model.problems import Problem
from ..model.records import Outcome
from ..serialize.byte_streams import Blocks, Compressed, Sink, check_compression, split_compression
from ..serialize.dumps import STDIN, STDIN_NAME, open_file
from ..serialize.jsonl import json_line
from ..serialize.writers import FORMATS, check_format, make_sink
from .exits import Exit, Interrupts, any_read
from .options import ROWS_FORMATS

if TYPE_CHECKING:
    from typing_extensions import Buffer

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


# Suffix of a file that is being written: urls.jsonl.<six hex digits>.unfinished.
UNFINISHED = ".unfinished"
_WAIT_SECONDS = 0.1
_FLAGS = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0)
# Names of open files, which no other file can replace.
_OPEN_FILES = ("/dev/std", "/dev/fd/", "/proc/")


def open_output_file(name: str, interrupts: Interrupts, *, in_place: bool = False) -> OutputStream:
    """Opens a new file beside the named one if its folder allows it; else, or with `in_place`, the named one itself."""
    place = None if in_place else _replaceable(name)
    if place is not None:
        with suppress(OSError):  # the folder is not writable; the file in it may be
            return _Beside(name, place, interrupts)
    return _InPlace(name, interrupts)


def _replaceable(name: str) -> str | None:
    """The real path of a file that can be replaced or created; None for devices, pipes and read-only files."""
    if name.endswith(("/", os.sep)) or os.path.abspath(name).startswith(_OPEN_FILES):
        return None
    try:
        is_file = stat.S_ISREG(os.stat(name).st_mode)
    except OSError as exc:
        return os.path.realpath(name) if isinstance(exc, FileNotFoundError) else None
    return os.path.realpath(name) if is_file and os.access(name, os.W_OK) else None


class OutputStream(FileIO):
    """An open file or pipe; write() may take a part of the data, and is interrupted if a full pipe is not read."""

    def __init__(self, number: int, interrupts: Interrupts, *, closefd: bool = True) -> None:
        super().__init__(number, "w", closefd=closefd)
        self._interrupts = interrupts
        interrupts.pipes.append(number)

    def write(self, data: Buffer, /) -> int:
        try:
            written = super().write(data)
        except OSError as exc:
            if sys.platform == "win32" and exc.errno == errno.EINVAL:  # there, a pipe that is not read any more
                raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from exc
            raise
        while written is None:  # a full pipe that does not block
            since = time.monotonic()
            while not select.select([], [self], [], _WAIT_SECONDS)[1]:
                self._interrupts.check_write(since)
            written = super().write(data)
        return written

    def take_back(self, size: int) -> None:
        """Truncates the last `size` bytes of a file, unless another program has written behind them."""
        with suppress(OSError):  # the failure to write is reported
            end = os.fstat(self.fileno())
            if size and stat.S_ISREG(end.st_mode) and end.st_size == os.lseek(self.fileno(), 0, os.SEEK_CUR):
                os.ftruncate(self.fileno(), end.st_size - size)

    def finish(self, keep: bool) -> None:
        """Closes the stream; without `keep`, what was written is discarded as far as possible. May be called twice."""
        self.close()


class _InPlace(OutputStream):
    """The named file itself, which is truncated at the first write; or a pipe or a device."""

    def __init__(self, name: str, interrupts: Interrupts) -> None:
        self._made = None if os.path.lexists(name) else name
        super().__init__(os.open(name, _FLAGS, 0o666), interrupts)
        self._is_emptied = False

    def write(self, data: Buffer, /) -> int:
        self._empty()
        return super().write(data)

    def finish(self, keep: bool) -> None:
        if self.closed:
            return
        if keep:
            self._empty()
        self.close()
        if not keep and self._made and not self._is_emptied:
            os.unlink(self._made)

    def _empty(self) -> None:
        if not self._is_emptied and stat.S_ISREG(os.fstat(self.fileno()).st_mode):
            self.truncate(0)
        self._is_emptied = True


class _Beside(OutputStream):
    """A new file in the folder of the named one, which it replaces at the end, with its mode and owner."""

    def __init__(self, name: str, place: str, interrupts: Interrupts) -> None:
        self._name = name
        self._place = place
        self._file = f"{place}.{secrets.token_hex(3)}{UNFINISHED}"
        old = None
        with suppress(FileNotFoundError):
            old = os.stat(place)
        super().__init__(os.open(self._file, _FLAGS | os.O_EXCL, 0o666), interrupts)
        if old is not None:
            try:
                _make_alike(self.fileno(), old)
            except OSError:  # another user's file is written in place
                self.finish(keep=False)
                raise

    def finish(self, keep: bool) -> None:
        if self.closed:
            return
        self.close()
        if not keep:
            with suppress(FileNotFoundError):
                os.unlink(self._file)
            return
        with suppress(OSError):  # another user's file in a folder like /tmp; a bind-mounted file
            os.replace(self._file, self._place)
            return
        try:
            shutil.copyfile(self._file, self._place)
        except OSError as exc:
            reason = f"{exc.strerror or exc}; what was written is in {self._file}"
            raise OSError(exc.errno, reason, self._name) from exc
        os.unlink(self._file)


def _make_alike(number: int, old: os.stat_result) -> None:
    """Copies owner and mode of the old file; OSError if that is not permitted."""
    made = os.fstat(number)
    if hasattr(os, "fchown") and (made.st_uid, made.st_gid) != (old.st_uid, old.st_gid):
        os.fchown(number, old.st_uid, old.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(number, stat.S_IMODE(old.st_mode))


STDOUT = "-"
# Formats whose suffixes --report accepts: it writes JSON lines, which are text.
_REPORTS = {"jsonl", "json", "txt", "table", "text"}


@attrs.define
class _Output:
    """One output: its buffer and the stream below. `needs_end`: a file of this format cannot be read if it is cut."""

    name: str
    blocks: Blocks
    stream: ByteStream
    compressed: Compressed | None
    needs_end: bool

    def close(self, keep: bool) -> None:
        """Writes the rest; with `keep`, a file that can be read replaces the one before."""
        is_whole = False
        try:
            self.blocks.flush()
            if keep and self.compressed is not None and not self.blocks.has_failed:
                try:
                    self.compressed.finish()
                except OSError as exc:
                    raise OSError(exc.errno, exc.strerror or str(exc), self.name) from exc
            is_whole = not self.blocks.has_failed
        finally:
            if isinstance(self.stream, OutputStream):
                self.stream.finish(keep and (is_whole or not self.needs_end))


@attrs.define
class Outputs:
    """`sink` takes URLs as JSON objects; `records` is its stream, for lines that are not URLs."""

    records: Blocks
    report: Blocks | None  # for problems and outcomes; it may be the same as `records`
    sink: Sink
    interrupts: Interrupts  # handles the signals until the outputs are closed
    _outputs: tuple[_Output, ...] = ()
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
) -> _Output:
    with interrupts.deferred():  # so that a new file is closed
        if name == STDOUT:
            stream, compression = _stdout(interrupts), None
        else:
            stream, compression = open_output_file(name, interrupts, in_place=in_place), split_compression(name)[1]
        if isinstance(stream, OutputStream):
            files.callback(stream.finish, False)
    compressed = Compressed(stream, compression) if compression else None
    shown = "stdout" if name == STDOUT else name
    options: dict[str, Any] = {"hold": interrupts.deferred, "escape": escape, "head": head}
    if isinstance(stream, OutputStream) and compressed is None:
        options["take_back"] = stream.take_back
    blocks = Blocks(compressed or stream, shown, **options)
    return _Output(name, blocks, stream, compressed, FORMATS[format].is_binary or compressed is not None)


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
    for name in (output, report or STDOUT):
        compression = split_compression(name)[1]
        check_compression(compression, name)
        if compression and FORMATS[format].is_binary and name == output:
            written = FORMATS[format]
            raise UsageError(
                f"-o {name}: {written.title} is compressed already", remedy=f"give a name in {written.suffixes[0]}"
            )


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
