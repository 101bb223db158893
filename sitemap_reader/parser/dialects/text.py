"""Text sitemaps, one URL per line: UTF-8 chunks in, raw entries out, or blocks of them where there is a scanner.

Lines end in CR, LF or both; blank ones are skipped. A line without a scheme is not resolved, and so is rejected, unless
it begins with the document's own host. A line with a hole in it is lost: what stands on both sides may be two lines.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...model.limits import over_limit
from ...model.problems import Problem, report
from ..content.sniff import FIRST_LINES, WINDOW_BYTES
from ..fast_path import line_scanner
from ..normalise.entry import RawEntry
from ..normalise.urls import clean_url
from ..xml.repairs import LINE_IN_HOLE, has_hole

if TYPE_CHECKING:
    from ...model.limits import Limits
    from ..normalise.scope import Scope
    from ..scanner import ScannedEntries

_NEWLINE = re.compile(rb"\r\n|\n|\r")
_BOM_TWICE = codecs.BOM_UTF8.decode("latin-1").encode()  # taken for Latin-1, and encoded once more


class TextReader:
    """feed() and close() return complete lines; a line over max_token_bytes stops the reader.

    `scopes` are those of pages and sitemaps, by which the scanner judges URLs; None: it is not used. The first line
    that it is given follows so many `skipped_lines`; the first bytes are enough to show a byte-order mark.
    """

    def __init__(self, limits: Limits, *, scopes: Mapping[str, Scope] | None = None, skipped_lines: int = 0) -> None:
        self.complete = True
        self.stopped = False
        self._limit = limits.max_token_bytes
        self._scanner = line_scanner(scopes)
        self._buffer = b""
        self._has_begun = False
        self._line = skipped_lines

    def feed(self, data: bytes) -> list[RawEntry | ScannedEntries | Problem]:
        found: list[RawEntry | ScannedEntries | Problem] = []
        if not self._has_begun and data.startswith(_BOM_TWICE):
            data = data.removeprefix(_BOM_TWICE)
            message = f"{len(_BOM_TWICE)} bytes stand before the document: a byte-order mark that was encoded twice"
            found.append(report("S08", message, line=self._line + 1))
        self._has_begun = True
        data = self._buffer + data
        if self._scanner is not None:
            block = self._scanner.scan_lines(data, self._line + 1, self._limit)
            block.template = _entry(None)
            self._line += block.breaks
            if block:
                found.append(block)
            data = data[block.size :]
        # A CR at the end may be the first half of a CRLF.
        ready = data[:-1] if data.endswith(b"\r") else data
        lines = _NEWLINE.split(ready) if b"\r" in ready else ready.split(b"\n")
        rest = lines.pop() + data[len(ready) :]
        return found + self._entries(lines, rest)

    def close(self, *, cut: bool) -> list[RawEntry | Problem]:
        """The last line; left out if the document was cut, as it may be half a URL."""
        if cut and not self._buffer.endswith(b"\r"):
            return []
        return self._entries([self._buffer.rstrip(b"\r")], b"")

    def _entries(self, lines: list[bytes], rest: bytes) -> list[RawEntry | Problem]:
        found: list[RawEntry | Problem] = []
        for number, line in enumerate(lines, self._line + 1):
            if len(line) > self._limit:
                return [*found, self._stop(number)]
            if has_hole(line):
                self.complete = False
                found.append(report("S01", LINE_IN_HOLE, line=number, kind="entry lost"))
            elif text := line.decode("utf-8", "replace").strip():
                found.append(_entry(text, number))
        self._line += len(lines)
        self._buffer = rest
        return [*found, self._stop(self._line + 1)] if len(rest) > self._limit else found

    def _stop(self, line: int) -> Problem:
        self.stopped, self.complete, self._buffer = True, False, b""
        return over_limit("max_token_bytes", self._limit, "byte in one line", line)


def lists_own_host(head: bytes, base: str) -> bool:
    """Whether most of the first lines are URLs of the host of `base` that lack nothing but the scheme.

    Or one URL with a scheme, behind a byte-order mark that was encoded twice. No line may have a space or a tag:
    messages and scripts begin with the name of their host, too.
    """
    lines = head[:WINDOW_BYTES].removeprefix(_BOM_TWICE).decode("utf-8", "replace").splitlines()[:FIRST_LINES]
    words = [line.strip() for line in lines if line.strip()]
    if any(re.search(r"[\s<>]", word) for word in words):
        return False
    found = sum("/" in word and clean_url(word, base, paths=False).url is not None for word in words)
    return 2 * found > len(words)


def _entry(text: str | None, line: int | None = None) -> RawEntry:
    return RawEntry("url", text, line, relative="rejected", no_markup=True)
