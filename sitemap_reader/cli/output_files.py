"""What a command writes to, as streams that take bytes: a file beside the one that is meant, that file itself, a pipe.

In: a name, or the number of an open file. Out: a stream; settle() says at its end whether what was written takes the
place of what the file held. Nothing is held back here, or written at exit.
"""

from __future__ import annotations

import os
import secrets
import select
import shutil
import stat
import time
from contextlib import suppress
from io import FileIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from .interrupts import Interrupts

# What the name of a file ends in that is not complete: of urls.jsonl it is urls.jsonl.<six digits>.unfinished.
UNFINISHED = ".unfinished"
_WAIT_SECONDS = 0.1
_FLAGS = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0)
# Names of files that are open already: no other file can take their place.
_OPEN_FILES = ("/dev/std", "/dev/fd/", "/proc/")


def open_output_file(name: str, interrupts: Interrupts, *, in_place: bool = False) -> OutputStream:
    """The stream for a file name; OSError, with the name, where it cannot be written.

    Written beside the file that is meant, where its folder takes a new file; else, or `in_place`, into it.
    """
    place = None if in_place else _replaceable(name)
    if place is not None:
        with suppress(OSError):  # the folder is not writable: what it holds may be
            return _Beside(name, place, interrupts)
    return _InPlace(name, interrupts)


def _replaceable(name: str) -> str | None:
    """Where the file is, links followed, if another one can take its place, or there is none as yet."""
    if name.endswith(os.sep) or os.path.abspath(name).startswith(_OPEN_FILES):
        return None
    try:
        is_file = stat.S_ISREG(os.stat(name).st_mode)
    except OSError as exc:
        return os.path.realpath(name) if isinstance(exc, FileNotFoundError) else None
    return os.path.realpath(name) if is_file and os.access(name, os.W_OK) else None


class OutputStream(FileIO):
    """An open file or pipe; a write may take a part of what it is given.

    KeyboardInterrupt where a pipe is full, and its reader takes nothing more after a signal.
    """

    def __init__(self, number: int, interrupts: Interrupts, *, closefd: bool = True) -> None:
        super().__init__(number, "w", closefd=closefd)
        self._interrupts = interrupts
        interrupts.writes_to(number)

    def write(self, data: Buffer, /) -> int:
        written = super().write(data)
        while written is None:  # a pipe that does not block, and is full
            self._wait()
            written = super().write(data)
        return written

    def _wait(self) -> None:
        since = time.monotonic()
        while not select.select([], [self], [], _WAIT_SECONDS)[1]:
            if self._interrupts.is_stalled(since):
                self._interrupts.abort_write()

    def is_same(self, file: os.stat_result) -> bool:
        """Whether it is this file, or is to take its place."""
        return os.path.samestat(os.fstat(self.fileno()), file)

    def take_back(self, size: int) -> None:
        """Cuts off its last bytes, if this is a file, and no other program has written behind them."""
        with suppress(OSError):  # the failure itself is reported
            end = os.fstat(self.fileno())
            if size and stat.S_ISREG(end.st_mode) and end.st_size == os.lseek(self.fileno(), 0, os.SEEK_CUR):
                os.ftruncate(self.fileno(), end.st_size - size)

    def settle(self, keep: bool) -> None:
        """Ends it: what was written counts, or is gone as far as it can be. May be called twice: the first counts."""
        self.close()


class _InPlace(OutputStream):
    """A file that keeps what it held until something is written to it; a pipe or a device holds nothing."""

    def __init__(self, name: str, interrupts: Interrupts) -> None:
        self._made = None if os.path.lexists(name) else name
        super().__init__(os.open(name, _FLAGS, 0o666), interrupts)
        self._is_emptied = False

    def write(self, data: Buffer, /) -> int:
        self._empty()
        return super().write(data)

    def settle(self, keep: bool) -> None:
        if self.closed:
            return
        if keep:
            self._empty()
        elif self._made and not self._is_emptied:
            os.unlink(self._made)
        self.close()

    def _empty(self) -> None:
        if not self._is_emptied and stat.S_ISREG(os.fstat(self.fileno()).st_mode):
            self.truncate(0)
        self._is_emptied = True


class _Beside(OutputStream):
    """A new file in the folder of the one that is meant, whose place and mode it takes at the end."""

    def __init__(self, name: str, place: str, interrupts: Interrupts) -> None:
        self._name = name
        self._place = place
        self._file = f"{place}.{secrets.token_hex(3)}{UNFINISHED}"
        self._old: os.stat_result | None = None
        with suppress(FileNotFoundError):
            self._old = os.stat(place)
        super().__init__(os.open(self._file, _FLAGS | os.O_EXCL, 0o666), interrupts)
        if self._old is not None:
            try:
                _make_alike(self.fileno(), self._old)
            except OSError:  # another user's file: it stays that user's, and is written to as it is
                self.settle(keep=False)
                raise

    def is_same(self, file: os.stat_result) -> bool:
        return self._old is not None and os.path.samestat(self._old, file)

    def settle(self, keep: bool) -> None:
        if self.closed:
            return
        self.close()
        if not keep:
            with suppress(FileNotFoundError):
                os.unlink(self._file)
            return
        try:
            os.replace(self._file, self._place)
        except OSError:  # a folder like /tmp, where it belongs to another user; a file that is mounted by itself
            self._copy()

    def _copy(self) -> None:
        try:
            shutil.copyfile(self._file, self._place)
        except OSError as exc:
            reason = f"{exc.strerror or exc}; what was written is in {self._file}"
            raise OSError(exc.errno, reason, self._name) from exc
        os.unlink(self._file)


def _make_alike(number: int, old: os.stat_result) -> None:
    """Owner and mode of the file before; OSError where that is not permitted."""
    made = os.fstat(number)
    if hasattr(os, "fchown") and (made.st_uid, made.st_gid) != (old.st_uid, old.st_gid):
        os.fchown(number, old.st_uid, old.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(number, stat.S_IMODE(old.st_mode))
