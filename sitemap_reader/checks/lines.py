"""The lines of a crawl file, whatever it is packed in and however it is written: a path in, text out.

Reads as it is asked to. What is no text is a UsageError that names the file, and from what it holds says what to do.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from typing import BinaryIO, cast

from ..model.errors import UsageError
from ..serialize.dumps import MAX_LINE_BYTES, SHOWN_CHARS, SQLITE

_GZIP, _BOMS_16 = b"\x1f\x8b", (b"\xff\xfe", b"\xfe\xff")
_HEAD_BYTES = 4096


class Lines:
    """The lines of a file as text, with their ends; each is a UsageError where it cannot be read."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._name = name
        self._number = 0
        self._text = self._begin(stream)

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> str:
        try:
            line = self._text.readline(MAX_LINE_BYTES)
        except (UnicodeDecodeError, EOFError, zlib.error, OSError) as exc:
            raise self._unreadable(exc) from exc
        if not line:
            raise StopIteration
        self._number += 1
        if len(line) == MAX_LINE_BYTES:
            told = f"more than {MAX_LINE_BYTES:,} characters without a line end"
            raise UsageError(f"{self._name}:{self._number}: {told}; export the crawl once more")
        return line

    def close(self) -> None:
        """Lets go of the file."""
        self._text.close()

    def _begin(self, stream: BinaryIO) -> io.TextIOWrapper:
        source = cast("io.BufferedReader", stream)
        try:
            if source.peek(len(_GZIP)).startswith(_GZIP):
                source = cast("io.BufferedReader", gzip.GzipFile(fileobj=stream))
            return io.TextIOWrapper(source, _encoding(source.peek(_HEAD_BYTES), self._name), newline="")
        except (EOFError, zlib.error, OSError) as exc:
            raise self._unreadable(exc) from exc

    def _unreadable(self, exc: Exception) -> UsageError:
        place = f"{self._name}:{self._number + 1}"
        if isinstance(exc, UnicodeDecodeError):
            # What was decoded before was given, line by line.
            number = self._number + 1 + exc.object.count(b"\n", 0, exc.start)
            told = "not UTF-8" if exc.encoding == "utf-8" else "damaged UTF-16"
            return UsageError(f'{self._name}:{number}: {told}: save it as UTF-8 (in Excel, "CSV UTF-8")')
        if isinstance(exc, EOFError):
            return UsageError(f"{place}: here the gzip file is cut; pack it once more")
        if isinstance(exc, gzip.BadGzipFile | zlib.error):
            return UsageError(f"{place}: the gzip file is damaged ({exc}); pack it once more")
        reason = getattr(exc, "strerror", None) or exc
        return UsageError(f"cannot read {self._name}: {reason}; give a file that you may read")


# What files begin with that are neither text nor gzip, and what to do about them.
_BINARIES = (
    (b"PK\x03\x04", "that is an Excel workbook, or a ZIP file: save it as CSV, or unpack it"),
    (b"\xd0\xcf\x11\xe0", "that is an Excel workbook: save it as CSV"),
    (SQLITE, "that is an SQLite database: export the crawl as CSV, or as JSON lines"),
    (b"PAR1", "that is Parquet: convert it to CSV, or to JSON lines"),
    ((_GZIP, b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ"), "it is packed: unpack it first"),
)


def _encoding(head: bytes, name: str) -> str:
    if head.startswith(_BOMS_16):
        return "utf-16"
    for beginnings, told in _BINARIES:
        if head.startswith(beginnings):
            raise UsageError(f"{name}: {told}")
    if b"\0" in head:
        raise UsageError(f"{name}: that is no text: export the crawl as CSV, or as JSON lines, in UTF-8")
    return "utf-8-sig"


def opened(name: str) -> BinaryIO:
    """The file, from its beginning; UsageError where there is none that can be read twice."""
    try:
        mode = os.stat(name).st_mode
        if stat.S_ISREG(mode):
            return open(name, "rb")
    except FileNotFoundError:
        raise UsageError(f"there is no file {name}; export one from the crawler, as CSV or JSON lines") from None
    except (OSError, ValueError) as exc:  # ValueError: the name holds a NUL
        reason = getattr(exc, "strerror", None) or exc
        raise UsageError(f"cannot read {name}: {reason}; give a file that you may read") from exc
    if stat.S_ISDIR(mode):
        raise UsageError(f"{name} is a folder; give the file of the crawl")
    raise UsageError(f"{name} is no file, and a crawl is read more than once: write it to a file, and give that")


def shown(text: str) -> str:
    """A text in a message, between quotes, and not all of a long one."""
    return repr(text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…")
