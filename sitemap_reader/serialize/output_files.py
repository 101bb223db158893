"""Output files: a new file is written beside the one that is named and replaces it at the end, or is discarded."""

from __future__ import annotations

import errno
import os
import secrets
import select
import shutil
import stat
import sys
import time
from contextlib import suppress
from io import FileIO
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from .byte_streams import Blocks, Compressed
from .writers import FORMATS

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from .byte_streams import ByteStream


class Interrupts(Protocol):
    """What handles signals: `pipes` are written to, and check_write() may raise in a write that waits since then."""

    pipes: list[int]

    def check_write(self, since: float) -> None: ...


# Suffix of a file that is being written: urls.jsonl.<six hex digits>.unfinished.
UNFINISHED = ".unfinished"
_WAIT_SECONDS = 0.1
_FLAGS = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0)
# Names of open files, which no other file can replace.
_OPEN_FILES = ("/dev/std", "/dev/fd/", "/proc/")


def open_output_file(name: str, interrupts: Interrupts | None = None, *, in_place: bool = False) -> OutputStream:
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

    def __init__(self, number: int, interrupts: Interrupts | None = None, *, closefd: bool = True) -> None:
        super().__init__(number, "w", closefd=closefd)
        self._interrupts = interrupts
        if interrupts is not None:
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
                if self._interrupts is not None:
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

    def __init__(self, name: str, interrupts: Interrupts | None) -> None:
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

    def __init__(self, name: str, place: str, interrupts: Interrupts | None) -> None:
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


@attrs.define
class OutputFile:
    """A buffer and the stream below. `needs_end`: a file of this format cannot be read if it is cut."""

    name: str
    blocks: Blocks
    stream: ByteStream
    compressed: Compressed | None
    needs_end: bool

    @classmethod
    def of(
        cls, stream: ByteStream, name: str, format: str, compression: str | None, *, shown: str = "", **options: Any
    ) -> OutputFile:
        """`shown` is the name in errors, if it is another one; `options` are keywords of Blocks."""
        compressed = Compressed(stream, compression) if compression else None
        if isinstance(stream, OutputStream) and compressed is None:
            options["take_back"] = stream.take_back
        blocks = Blocks(compressed or stream, shown or name, **options)
        return cls(name, blocks, stream, compressed, FORMATS[format].is_binary or compressed is not None)

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
