"""What to mend in XML that is not well-formed, and how to say so.

In: UTF-8 bytes behind a fault. Out: the same bytes with bare `&` and HTML entities mended, and a Mend for each.
It never drops a byte: what cannot be mended stays, and the driver goes on at the next entry.
"""

from __future__ import annotations

import re
from collections import deque
from html.entities import html5
from typing import TYPE_CHECKING

import attrs

from ..problems import Problem, report

if TYPE_CHECKING:
    from collections.abc import Iterable

# XML 1.0 4.6: the five that need no declaration.
_PREDEFINED = frozenset({b"amp", b"lt", b"gt", b"quot", b"apos"})

_FAULT = re.compile(
    rb"""
      (?P<aside> <!--.*?--> | <!\[CDATA\[.*?\]\]> | <\?.*?\?> )   # nothing in here is a reference
    | (?P<open>  <!-- | <!\[CDATA\[ | <\? )                       # one that has not ended yet
    | & (?: (?P<number> \#[0-9]{1,8} | \#x[0-9a-fA-F]{1,6} ) ;
          | (?P<name> [A-Za-z][A-Za-z0-9]{0,31} ) ;
          )?                                                      # neither: a bare ampersand
    """,
    re.VERBOSE | re.DOTALL,
)
# What a chunk may end in without it being clear yet what it is.
_UNCLEAR_END = re.compile(rb"(?:&[#A-Za-z0-9]{0,33}|<!?[-\[A-Z]{0,8})\Z")
_SNIPPET_BYTES = 40


@attrs.frozen
class Mend:
    """One mended place: where it ends in the mended bytes, and what to report."""

    end: int
    problem: Problem


class Mender:
    """Filters a stream that begins on `line`: feed() gives the mended bytes, taken() what was mended."""

    def __init__(self, line: int) -> None:
        self._mends: deque[Mend] = deque()
        self._offset = 0
        self._line = line
        self._held = b""

    @property
    def held_bytes(self) -> int:
        """How much waits for the end of a comment or a CDATA section."""
        return len(self._held)

    def taken(self, until: int | None) -> list[Problem]:
        """Takes out what was mended up to the offset `until` of the mended bytes; None: all."""
        taken = []
        while self._mends and (until is None or self._mends[0].end <= until):
            taken.append(self._mends.popleft().problem)
        return taken

    def feed(self, data: bytes, *, final: bool = False) -> bytes:
        data = self._held + data
        end = len(data) if final else self._clear_end(data)
        self._held = data[end:]
        return b"".join(self._mended(data[:end], final=final))

    @staticmethod
    def _clear_end(data: bytes) -> int:
        unclear = _UNCLEAR_END.search(data, max(0, len(data) - 40))
        return unclear.start() if unclear else len(data)

    def _mended(self, data: bytes, *, final: bool) -> Iterable[bytes]:
        done = 0
        for match in _FAULT.finditer(data):
            if match.group("open"):
                if final:
                    break
                # The rest waits until the comment, CDATA section or instruction has ended.
                self._held = data[match.start() :] + self._held
                data = data[: match.start()]
                break
            replacement = _replacement(match)
            if replacement is None:
                continue
            yield self._pass(data[done : match.start()])
            yield self._mend(data, match, replacement)
            done = match.end()
        yield self._pass(data[done:])

    def _pass(self, data: bytes) -> bytes:
        self._offset += len(data)
        self._line += data.count(b"\n")
        return data

    def _mend(self, data: bytes, match: re.Match[bytes], replacement: bytes) -> bytes:
        self._offset += len(replacement)
        written = match.group().decode()
        snippet = data[max(0, match.start() - _SNIPPET_BYTES) : match.end() + _SNIPPET_BYTES]
        message = (
            "a bare & was read as &amp;"
            if replacement == b"&amp;"
            else f"the HTML entity {written} was read as {replacement.decode()}"
        )
        problem = report(
            "S01", message, severity="warning", line=self._line, raw=snippet.decode("utf-8", "replace").strip()
        )
        self._mends.append(Mend(self._offset, problem))
        return replacement


def _replacement(match: re.Match[bytes]) -> bytes | None:
    """What stands in for the match; None leaves it as it is."""
    if match.group("aside") or match.group("number"):
        return None
    name = match.group("name")
    if name is None:
        return b"&amp;"
    if name in _PREDEFINED:
        return None
    characters = html5.get(name.decode() + ";")
    if characters is None:
        # `&region;` is no entity of HTML either: the & is a bare one, and the rest text.
        return b"&amp;" + match.group()[1:]
    return "".join(f"&#{ord(character)};" for character in characters).encode()


_NEXT_ENTRY = re.compile(
    rb"""
      (?P<aside> <!--.*?--> | <!\[CDATA\[.*?\]\]> )
    | (?P<open>  <!-- | <!\[CDATA\[ )
    | (?P<entry> < (?:[\w.-]+:)? (?:url|sitemap|item|entry) (?=[\s/>]) )
    """,
    re.VERBOSE | re.DOTALL,
)
_DOCTYPE = re.compile(rb"""<!DOCTYPE(?:"[^"]*"|'[^']*'|[^>"'\[])*>""")
_TAG = re.compile(rb"""<(?:"[^"]*"|'[^']*'|[^>"'])*>""")
# The longest beginning of an entry's tag that may stand at the end of a chunk.
_TAG_START_BYTES = 64


def next_entry(data: bytes | bytearray, start: int) -> tuple[int | None, int]:
    """Where the next entry begins at or behind `start`, comments and CDATA stepped over.

    Without one: None, and from which offset on the bytes are still needed.
    """
    for match in _NEXT_ENTRY.finditer(data, start):
        if match.group("entry"):
            return match.start(), match.start()
        if match.group("open"):
            return None, match.start()
    return None, max(start, len(data) - _TAG_START_BYTES)


def blank_doctype(data: bytes) -> bytes:
    """The same bytes with the DOCTYPE turned into blanks, so that lines and offsets stay.

    With an external subset named, expat drops undefined entities in silence (XML 1.0 4.1, WFC Entity Declared).
    """
    return _DOCTYPE.sub(lambda match: re.sub(rb"[^\r\n]", b" ", match.group()), data, count=1)


def tag_end(data: bytes | bytearray, start: int) -> int:
    """The offset behind the tag that begins at `start`; a `>` inside quotes does not end it."""
    match = _TAG.match(data, start)
    return match.end() if match else len(data)
