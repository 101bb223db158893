"""FileSink and StdoutSink: changes as JSON Lines in a file, which may be rotated, or on stdout.

In: entries of the change log. Out: whole lines, each once: after a kill, a full disk or a restart, an incomplete line
is removed, and writing goes on behind the last complete one. All writing is in a thread beside the event loop.
"""

from __future__ import annotations

import gzip
import os
import re
import select
import shutil
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import attrs
import orjson

from ..model.errors import UsageError, json_on_terminal, json_without_commands
from ..pipeline.executor import ThreadPool
from ..serialize.byte_streams import split_compression
from .sinks import DeliveryFailed

if TYPE_CHECKING:
    from ..state.change_log import LogEntry

_BLOCK_BYTES = 64 * 1024
# A pipe that select() reports as writable takes so many bytes without blocking (POSIX: PIPE_BUF is 512 at least).
_PIPE_BYTES = select.PIPE_BUF if hasattr(select, "PIPE_BUF") else 512
_POLL_SECONDS = 0.2


@attrs.frozen
class Rotation:
    """When a file is renamed to `NAME-20261127T084500Z.jsonl`, by the time of its last change, and a new one begun.

    Before an entry with which it would have over `max_bytes`; and if `is_daily`, before the first change of another day
    (UTC). An entry is never divided. With `is_compressed` the renamed file is gzipped.
    """

    max_bytes: int | None = None
    is_daily: bool = False
    is_compressed: bool = False

    def __attrs_post_init__(self) -> None:
        if self.max_bytes is not None and self.max_bytes < 1:
            raise UsageError(f"a file cannot be rotated at {self.max_bytes} bytes: give the bytes that it may have")
        if self.is_compressed and self.max_bytes is None and not self.is_daily:
            raise UsageError("only rotated files are compressed: say when, by size or daily")

    def is_due(self, size: int, more: int, last: datetime, now: datetime) -> bool:
        """Whether a file of `size` bytes, with a last change at `last`, is renamed before `more` bytes are added."""
        is_full = self.max_bytes is not None and size + more > self.max_bytes
        return size > 0 and (is_full or (self.is_daily and last.date() != now.date()))


@attrs.define
class _OpenFile:
    """A locked file that ends with a whole line: its size, that line, and when the change in it was found."""

    file: BinaryIO
    size: int
    last_line: bytes
    last_at: datetime


class FileSink:
    """Appends to a file, and returns when the lines are on the disk (fsync); the file is made if it is missing.

    It may be renamed or deleted at any time, as logrotate does: the next entry begins a new one. Other processes cannot
    write it at the same time, where the system has flock(). UsageError for something that is no regular file.
    """

    def __init__(self, path: str | os.PathLike[str], *, rotation: Rotation | None = None) -> None:
        self._path = Path(os.path.realpath(path))
        self.name = f"file {self._path}"
        self.public_name = f"file {self._path.name}"  # for /healthz, which anyone may see
        if self._path.exists() and not self._path.is_file():
            raise UsageError(f"{os.fspath(path)} is no file: name a file for the changes, or - for stdout")
        if not self._path.parent.is_dir():
            raise UsageError(f"there is no folder {self._path.parent}: make it first")
        if compression := split_compression(path)[1]:
            raise UsageError(f"{os.fspath(path)} cannot be written with {compression}: name it without the suffix")
        self._rotation = rotation or Rotation()
        self._thread = ThreadPool("file-sink")
        self._open: _OpenFile | None = None

    async def deliver(self, entry: LogEntry) -> None:
        """Appends the lines of an entry that the file does not have yet."""
        try:
            await self._thread.run(self._append, entry)
        except OSError as exc:
            raise DeliveryFailed(f"cannot write {exc.filename or self._path}: {exc.strerror or exc}") from exc

    async def close(self) -> None:
        await self._thread.run(self._close)
        await self._thread.close()

    def _append(self, entry: LogEntry) -> None:
        try:
            now = self._opened()
            lines = lines_behind(entry.lines, now.last_line)
            if lines and self._rotation.is_due(now.size, len(lines), now.last_at, entry.at):
                self._rotate(now)
                now = self._opened()
            write_all(now.file.fileno(), lines)
            os.fsync(now.file.fileno())
        except OSError:
            self._close()
            raise
        if lines:
            now.size += len(lines)
            now.last_line, now.last_at = lines[lines.rfind(b"\n", 0, -1) + 1 :], entry.at

    def _opened(self) -> _OpenFile:
        """The open file, or a new one if it was renamed."""
        if self._open is not None and not is_at(self._open.file.fileno(), self._path):
            self._close()
        if self._open is None:
            if self._rotation.is_compressed:
                self._compress_rotated()
            file = open_locked(self._path, is_waiting=False)
            try:
                last_line = remove_incomplete_line(file)
                status = os.fstat(file.fileno())
                sync_folder(self._path.parent)
            except BaseException:
                file.close()
                raise
            self._open = _OpenFile(file, status.st_size, last_line, _at_of(last_line, status.st_mtime))
        return self._open

    def _close(self) -> None:
        if self._open is not None:
            file, self._open = self._open.file, None
            with suppress(OSError):  # else the next one to open the file does it
                remove_incomplete_line(file)
            with suppress(OSError):
                file.close()

    def _rotate(self, now: _OpenFile) -> None:
        time = f"{now.last_at:%Y%m%dT%H%M%SZ}"
        base, suffix = self._path.stem, self._path.suffix
        number = 1
        while True:
            target = self._path.with_name(f"{base}-{time}{f'-{number}' if number > 1 else ''}{suffix}")
            if not target.exists() and not _gzipped(target).exists():
                break
            number += 1
        if sys.platform == "win32":  # an open file cannot be renamed there
            self._close()
        self._path.rename(target)
        sync_folder(self._path.parent)
        self._close()

    def _compress_rotated(self) -> None:
        """Compresses renamed files; also those of a process that was killed before."""
        rotated = re.compile(rf"{re.escape(self._path.stem)}-\d{{8}}T\d{{6}}Z(-\d+)?{re.escape(self._path.suffix)}")
        for path in sorted(self._path.parent.iterdir()):
            if rotated.fullmatch(path.name):
                if not _gzipped(path).exists():
                    _compress(path)
                path.unlink()


class StdoutSink:
    """Writes to stdout, or another file descriptor, without waiting in the event loop for the reader of a pipe.

    BrokenPipeError where the reader has ended.
    """

    name = "stdout"

    def __init__(self, descriptor: int = 1) -> None:
        self._descriptor = descriptor
        self._thread = ThreadPool("stdout-sink")
        self._key = ""
        self._rest = b""  # what was not written of the entry with this key
        self._is_closing = False

    async def deliver(self, entry: LogEntry) -> None:
        """Returns when the lines are in the pipe or the file."""
        if entry.key != self._key:
            lines = json_without_commands(entry.lines)
            self._key, self._rest = entry.key, json_on_terminal(lines) if os.isatty(self._descriptor) else lines
        try:
            await self._thread.run(self._write)
        except BrokenPipeError:
            raise
        except OSError as exc:
            raise DeliveryFailed(f"cannot write stdout: {exc.strerror or exc}") from exc

    async def close(self) -> None:
        """Ends a write that waits for the reader."""
        self._is_closing = True
        await self._thread.close()

    def _write(self) -> None:
        while self._rest and not self._is_closing:
            # select() of Windows takes sockets only: there a write waits until the pipe is read.
            if sys.platform != "win32" and not select.select([], [self._descriptor], [], _POLL_SECONDS)[1]:
                continue
            with suppress(BlockingIOError):
                self._rest = self._rest[os.write(self._descriptor, self._rest[:_PIPE_BYTES]) :]


# --- files of lines -----------------------------------------------------------------------------------------------


def open_locked(path: Path, *, is_waiting: bool) -> BinaryIO:
    """Opens a file to read it and to append, and locks it against other processes, where the system has flock().

    OSError, with its name, where it cannot be opened, or is locked and `is_waiting` is false.
    """
    while True:
        file = path.open("ab+", buffering=0)
        try:
            if sys.platform != "win32":
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | (0 if is_waiting else fcntl.LOCK_NB))
        except BaseException as exc:
            file.close()
            if isinstance(exc, BlockingIOError):
                raise OSError(exc.errno, "another process writes it", str(path)) from exc
            raise
        if is_at(file.fileno(), path):  # else it was renamed before it was locked
            return file
        file.close()


def is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is still the one at this path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def remove_incomplete_line(file: BinaryIO) -> bytes:
    """Truncates a file behind its last line break, and returns its last line, with the line break; b"" if it has none.

    Reads no more than that line and what is incomplete.
    """
    tail = b""
    start = file.seek(0, os.SEEK_END)
    while start and tail.count(b"\n") < 2:
        length = min(start, _BLOCK_BYTES)
        start = file.seek(start - length)
        tail = file.read(length) + tail
    whole = tail.rfind(b"\n") + 1
    if whole < len(tail):
        file.truncate(start + whole)
        os.fsync(file.fileno())
    return tail[tail.rfind(b"\n", 0, max(whole - 1, 0)) + 1 : whole]


def lines_behind(lines: bytes, last_line: bytes) -> bytes:
    """The lines that follow a certain one; all, if it is not one of them.

    >>> lines_behind(b"1\\n2\\n3\\n", b"2\\n"), lines_behind(b"12\\n3\\n", b"2\\n")
    (b'3\\n', b'12\\n3\\n')
    """
    _, found, behind = (b"\n" + lines).partition(b"\n" + last_line)
    return behind if found else lines


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(folder: Path) -> None:
    """Makes new and changed names in a folder durable, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _at_of(line: bytes, otherwise: float) -> datetime:
    """When a change was found; for another line, a time in seconds since 1970."""
    try:
        return datetime.fromisoformat(orjson.loads(line)["at"]).astimezone(UTC)
    except (ValueError, KeyError, TypeError):
        return datetime.fromtimestamp(otherwise, UTC)


def _gzipped(path: Path) -> Path:
    return path.with_name(f"{path.name}.gz")


def _compress(path: Path) -> None:
    """Writes the gzipped copy of a file: whole, or not at all."""
    part = path.with_name(f"{path.name}.gz.part")
    try:
        with path.open("rb") as source, part.open("wb") as out:
            with gzip.GzipFile("", "wb", fileobj=out, mtime=0) as compressed:
                shutil.copyfileobj(source, compressed, _BLOCK_BYTES)
            out.flush()
            os.fsync(out.fileno())
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    part.replace(_gzipped(path))
    sync_folder(path.parent)
