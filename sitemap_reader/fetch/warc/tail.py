"""The end of a WARC file that is to go on: is it whole, so that what is appended can be found; and the appending.

A path in; UsageError where a record would be lost behind what is there. Looks at the last record only.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

from ...model.errors import UsageError
from .records import GZIP_MAGIC, Damaged, Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_WINDOW_BYTES = 1 << 20
# A record of up to so many bytes is written by one call.
_AT_ONCE_BYTES = 16 * 1024 * 1024


def check_tail(path: Path, *, is_packed: bool) -> None:
    """UsageError for a file that is no WARC, ends in half a record, or is not packed as its name says."""
    with suppress(FileNotFoundError, NotADirectoryError), path.open("rb") as file, _locked(file.fileno()):
        size = os.fstat(file.fileno()).st_size
        if size and (file.read(2) == GZIP_MAGIC) != is_packed:
            raise UsageError(f"{path} {'is not' if is_packed else 'is'} gzipped: name another file to record to")
        if size:
            _check_last(file, path, size, GZIP_MAGIC + b"\x08" if is_packed else b"WARC/")


def _check_last(file: BinaryIO, path: Path, size: int, mark: bytes) -> None:
    for offset in _places_of(mark, file, size):
        try:
            record = Record(file, offset)
        except Damaged:
            continue  # it only looks like one
        try:
            end = record.end()
        except Damaged:
            end = offset
        if end == size:
            return
        raise UsageError(
            f"{path} ends in half a record: what is recorded behind it could not be read; "
            f"cut it off (truncate -s {end} {path}), or name another file to record to"
        )
    raise UsageError(f"{path} is no WARC: name another file to record to")


def _places_of(mark: bytes, file: BinaryIO, size: int) -> Iterator[int]:
    """Where the mark stands, from the last place to the first."""
    end = size
    while end > 0:
        start = max(0, end - _WINDOW_BYTES)
        file.seek(start)
        window = file.read(end - start + len(mark) - 1)
        place = len(window)
        while (place := window.rfind(mark, 0, place + len(mark) - 1)) >= 0:
            yield start + place
        end = start


def append(path: Path, piece: BinaryIO) -> None:
    """Puts what `piece` holds behind what is there, all of it or nothing; others who append wait meanwhile."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
        with open(number, "wb", buffering=0) as archive, _locked(number):
            before = os.fstat(number).st_size
            try:
                while chunk := piece.read(_AT_ONCE_BYTES):
                    _write_all(number, chunk)
            except BaseException:
                archive.truncate(before)
                raise
    except OSError as exc:
        raise OSError(exc.errno, exc.strerror or str(exc), str(path)) from exc


def _write_all(number: int, data: bytes) -> None:
    while data:
        data = data[os.write(number, data) :]


@contextmanager
def _locked(number: int) -> Iterator[None]:
    """Of two streams, and of two processes, one at a time."""
    try:
        import fcntl
    except ImportError:  # no Unix
        yield
        return
    fcntl.flock(number, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(number, fcntl.LOCK_UN)
