"""Text sitemaps, one URL per line: UTF-8 chunks in, TextLines out.

Lines end in CR, LF or both; blank ones are skipped. A line without a scheme is not resolved, and so is rejected.
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
    """Lines that are not blank: the text of each, and its number."""

    texts: list[str]
    lines: list[int]


def text_entry(text: str, line: int) -> RawEntry:
    """The RawEntry of one line."""
    return RawEntry("url", text, line, relative="rejected", no_markup=True)


class TextReader:
    """feed() and close() return complete lines; a line over max_token_bytes stops the reader."""

    def __init__(self, limits: Limits) -> None:
        self.complete = True
        self.stopped = False
        self._limit = limits.max_token_bytes
        self._buffer = b""
        self._line = 0

    def feed(self, data: bytes) -> list[TextLines | Problem]:
        data = self._buffer + data
        # A CR at the end may be the first half of a CRLF.
        ready = data[:-1] if data.endswith(b"\r") else data
        lines = _NEWLINE.split(ready) if b"\r" in ready else ready.split(b"\n")
        rest = lines.pop() + data[len(ready) :]
        return self._text_lines(lines, rest)

    def close(self, *, cut: bool) -> list[TextLines | Problem]:
        """The last line; left out if the document was cut, as it may be half a URL."""
        if cut and not self._buffer.endswith(b"\r"):
            return []
        return self._text_lines([self._buffer.rstrip(b"\r")], b"")

    def _text_lines(self, lines: list[bytes], rest: bytes) -> list[TextLines | Problem]:
        found = TextLines([], [])
        for number, line in enumerate(lines, self._line + 1):
            if len(line) > self._limit:
                return [found, self._stop(number)]
            text = line.decode("utf-8", "replace").strip()
            if text:
                found.texts.append(text)
                found.lines.append(number)
        self._line += len(lines)
        self._buffer = rest
        return [found, self._stop(self._line + 1)] if len(rest) > self._limit else [found]

    def _stop(self, line: int) -> Problem:
        self.stopped, self.complete, self._buffer = True, False, b""
        return over_limit("max_token_bytes", self._limit, "bytes in one line", line)
