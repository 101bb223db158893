"""One URL per line: UTF-8 chunks -> its lines.

Any newline; blank lines are skipped. Lines are never resolved: what has no scheme is no URL here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ...model.limits import over_limit
from ..normalise.entry import RawEntry

if TYPE_CHECKING:
    from ...model.limits import Limits
    from ...model.problems import Problem

_NEWLINE = re.compile(rb"\r\n|\n|\r")


class TextLines(NamedTuple):
    """Lines that are not blank: what stands in each, and its number."""

    texts: list[str]
    lines: list[int]


def text_entry(text: str, line: int) -> RawEntry:
    """What one line says."""
    return RawEntry("url", text, line, relative="refused", no_markup=True)


class TextReader:
    """feed() and close() give the lines that are complete; a line over max_token_bytes stops it."""

    def __init__(self, limits: Limits) -> None:
        self.complete = True
        self.stopped = False
        self._limit = limits.max_token_bytes
        self._held = b""
        self._line = 0

    def feed(self, data: bytes) -> list[TextLines | Problem]:
        data = self._held + data
        # A CR at the very end may be half of a CRLF: it waits.
        ready = data[:-1] if data.endswith(b"\r") else data
        lines = _NEWLINE.split(ready) if b"\r" in ready else ready.split(b"\n")
        rest = lines.pop() + data[len(ready) :]
        return self._given(lines, rest)

    def close(self, *, cut: bool) -> list[TextLines | Problem]:
        """The last line; where the document was cut off, a line without an end may be half a URL: left out."""
        if cut and not self._held.endswith(b"\r"):
            return []
        return self._given([self._held.rstrip(b"\r")], b"")

    def _given(self, lines: list[bytes], rest: bytes) -> list[TextLines | Problem]:
        listing = TextLines([], [])
        for number, line in enumerate(lines, self._line + 1):
            if len(line) > self._limit:
                return [listing, self._stop(number)]
            text = line.decode("utf-8", "replace").strip()
            if text:
                listing.texts.append(text)
                listing.lines.append(number)
        self._line += len(lines)
        self._held = rest
        return [listing, self._stop(self._line + 1)] if len(rest) > self._limit else [listing]

    def _stop(self, line: int) -> Problem:
        self.stopped, self.complete, self._held = True, False, b""
        return over_limit("max_token_bytes", self._limit, "bytes in one line", line)
