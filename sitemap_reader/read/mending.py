"""Characters that XML does not allow where they stand: UTF-8 bytes behind a fault in, the same bytes mended out.

Bare `&`, HTML entities, control characters, faulty comments, CDATA sections that run past their element. Each mend has
its Problem. Nothing that is text is ever dropped: what has no sure reading stays as it is, for repair.py to judge.
"""

from __future__ import annotations

import re
from collections import deque
from html.entities import html5
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import attrs

from ..problems import Problem, Severity, report
from .landmarks import names_location
from .tokens import character_number

if TYPE_CHECKING:
    from collections.abc import Iterator

# Each branch begins with a plain character, so that the search leaps from one to the next.
_FAULT = rb"""
      < (?: (?P<comment> !-- ) | (?P<instruction> \? )              # nothing in these is a reference
          | (?P<section> !?\s?\[?(?i:CDATA)\s?\[ ) )                # nor in this, `<![CDATA[` or misspelled
    | & (?! (?: amp | lt | gt | quot | apos ) ; )                   # XML 1.0 4.6: these need no declaration
        (?: (?P<number> \#(?: [0-9]+ | x[0-9a-fA-F]+ ) ) ;?         # without the ; nobody knows where it ends
          | (?P<name> [A-Za-z][A-Za-z0-9]{0,31} ) ;
          )?                                                        # neither: a bare ampersand
    """
# XML 1.0 2.2: no document may hold these, not even as `&#1;`. They are rare, and looking for them takes time.
_CONTROLS = rb"[\x00-\x08\x0b\x0c\x0e-\x1f] | \xef\xbf[\xbe\xbf]"
_CONTROL = re.compile(_CONTROLS, re.VERBOSE)
_REFERENCE = re.compile(_FAULT, re.VERBOSE)
_REFERENCE_OR_CONTROL = re.compile(_FAULT + rb"| (?P<control> " + _CONTROLS + rb" )", re.VERBOSE)
_ASIDES = {"comment": b"-->", "section": b"]]>", "instruction": b"?>"}

# What stands for them while expat reads: code points that Unicode keeps free of text (23.7).
_STAND_INS = {number: 0xFDD0 + number for number in range(0x20) if number not in (0x9, 0xA, 0xD)}
_STAND_INS |= {number: 0x10000 + number for number in (0xFFFE, 0xFFFF)}
CONTROLS_BACK = {stand_in: number for number, stand_in in _STAND_INS.items()}

# What a chunk may end in without it being clear yet what it is.
_UNCLEAR_END = re.compile(rb"(?:&[#A-Za-z0-9]{0,33}|<!?[-\[A-Za-z\s]{0,10}|\xef\xbf?)\Z")
_UNCLEAR_BYTES = 40
_SNIPPET_BYTES = 80
# How many mends may wait for their entry to end, each with its Problem: a bound on memory. The rest is counted.
_MAX_NOTED = 10_000
# What a section does not hold: in a location markup, in a text the tags of entries.
_MARKUP = re.compile(rb"[<>]")
_ENTRY_TAG = re.compile(rb"</?(?:[\w.-]+:)?(?:url|sitemap|item|entry)[\s/>]")
_TAG_BEFORE = re.compile(rb"<([\w.:-]+)(?:\s[^<>]*)?>\s*\Z")


@attrs.frozen
class Mend:
    """One mended place: where it ends in the mended bytes, and what to report."""

    end: int
    problem: Problem


class Mender:
    """Filters a stream that begins on `line`: feed() gives the mended bytes, taken() what was mended."""

    def __init__(self, line: int) -> None:
        self._mends: deque[Mend] = deque()
        self._unnoted = 0
        self._offset = 0
        self._line = line
        self._held = b""
        self._wake_bytes = 0  # when it pays to look again for the end of what is held
        self._passed = b""  # the last of what needed no mending

    @property
    def held_bytes(self) -> int:
        """How much waits for the end of a comment or a CDATA section."""
        return len(self._held)

    def add(self, mends: list[Mend]) -> None:
        """Joins repairs of the structure, at offsets of the mended bytes."""
        self._mends = deque(sorted((*self._mends, *mends), key=attrgetter("end")))

    def taken(self, until: int | None) -> list[Problem]:
        """Takes out what was mended up to the offset `until` of the mended bytes; None: all."""
        taken = []
        while self._mends and (until is None or self._mends[0].end <= until):
            taken.append(self._mends.popleft().problem)
        if self._unnoted and not self._mends:
            what = f"{self._unnoted:,} more places were mended"
            taken.append(report("S01", what, severity="warning", line=self._line))
            self._unnoted = 0
        return taken

    def feed(self, data: bytes, *, final: bool = False) -> bytes:
        """The mended bytes, as far as it is clear by now what they are."""
        data = self._held + data
        if len(data) < self._wake_bytes and not final:
            self._held = data
            return b""
        self._wake_bytes = 0
        end = len(data)
        if not final and (unclear := _UNCLEAR_END.search(data, max(0, end - _UNCLEAR_BYTES))):
            end = unclear.start()
        self._held = data[end:]
        return b"".join(self._mended(data[:end], final=final))

    def _mended(self, data: bytes, *, final: bool) -> Iterator[bytes]:
        fault = _REFERENCE_OR_CONTROL if _CONTROL.search(data) else _REFERENCE
        given = at = 0  # what is out already, and where to look on
        while match := fault.search(data, at):
            start, at = match.span()
            if match.lastgroup in _ASIDES:
                yield self._pass(data[given:start])
                given, end = start, self._aside_end(data, match)
                if end is None and not final:
                    # The rest waits until the comment, CDATA section or instruction has ended.
                    self._held = data[start:] + self._held
                    self._wake_bytes = len(self._held) * 5 // 4
                    return
                at = len(data) if end is None else end
                change = None if end is None else _aside_mend(match, data[start:at])
            else:
                change = _character_mend(match)
            if change is not None:
                yield self._pass(data[given:start])
                yield self._changed(data[start:at], change)
                given = at
        yield self._pass(data[given:])

    def _aside_end(self, data: bytes, opening: re.Match[bytes]) -> int | None:
        """The offset behind a comment, CDATA section or instruction; None where it has not ended yet."""
        terminator = _ASIDES[opening.lastgroup or ""]
        end = data.find(terminator, opening.end())
        if opening.lastgroup == "section" and (tag := _TAG_BEFORE.search(self._passed)):
            # A section holds text of its element, so not the element's own end tag: that one ends both, unless it is
            # another's, further on.
            own = re.compile(rb"</%s\s*>" % re.escape(tag.group(1)))
            match = own.search(data, opening.end(), end if end >= 0 else len(data))
            wrong = _MARKUP if names_location(tag.group(1)) else _ENTRY_TAG
            if match and wrong.search(data, opening.end(), match.start()) is None:
                return match.start()
        return None if end < 0 else end + len(terminator)

    def _pass(self, data: bytes) -> bytes:
        self._offset += len(data)
        self._line += data.count(b"\n")
        self._passed = (self._passed + data[-_SNIPPET_BYTES:])[-_SNIPPET_BYTES:]
        return data

    def _changed(self, written: bytes, change: _Change) -> bytes:
        self._offset += len(change.text)
        if len(self._mends) < _MAX_NOTED:
            # Up to the fault only: what is behind it may not have come yet.
            raw = (self._passed + written[:_SNIPPET_BYTES]).rpartition(b"\n")[2] or written[:_SNIPPET_BYTES]
            text = raw.decode("utf-8", "ignore").strip()
            problem = report("S01", change.message, severity=change.severity, line=self._line, raw=text)
            self._mends.append(Mend(self._offset, problem))
        else:
            self._unnoted += 1
        self._passed = written[-_SNIPPET_BYTES:]
        self._line += written.count(b"\n")
        return change.text


class _Change(NamedTuple):
    """What stands in for a piece, and what to say of it."""

    text: bytes
    message: str
    severity: Severity = "warning"


_CONTROL_READ = "a control character was read as it stands"
_SECTION = b"<![CDATA["


# Each of these gives None where the piece may stay as it is.


def _aside_mend(opening: re.Match[bytes], written: bytes) -> _Change | None:
    if opening.lastgroup == "comment":
        return _comment_mend(written)
    mended = _CONTROL.sub(lambda match: _stand_in(match.group()), written)
    if opening.lastgroup == "section":
        inner = mended[len(opening.group()) :]
        if not inner.endswith(b"]]>"):
            what = "a CDATA section is not closed: it ends with its element"
            return _Change(_SECTION + _without_remnant(inner) + b"]]>", what)
        if opening.group() != _SECTION:
            return _Change(_SECTION + inner, f"{opening.group().decode()} was read as {_SECTION.decode()}")
    return None if mended == written else _Change(mended, _CONTROL_READ)


def _comment_mend(written: bytes) -> _Change | None:
    """XML 1.0 2.5: no `--` inside a comment. Its text is of no interest."""
    inner = written[4:-3]
    faulty = b"--" in inner or inner.endswith(b"-") or _CONTROL.search(inner)
    if not faulty:
        return None
    blanked, message = b"<!--" + re.sub(rb"[^\n]", b" ", inner) + b"-->", "a malformed comment was passed over"
    if b"<!--" in inner or b"->" in inner:  # the end of the first may be damaged, and entries may lie between
        return _Change(blanked, f"{message}, and what else may stand in it", "error")
    return _Change(blanked, message)


def _without_remnant(text: bytes) -> bytes:
    """Of the `]]>` that should have ended the section one or two brackets may be there, which match no other."""
    opened = text.count(b"[")
    for _ in range(len("]]")):
        if text.endswith(b"]") and text.count(b"]") > opened:
            text = text[:-1]
    return text


def _character_mend(match: re.Match[bytes]) -> _Change | None:
    written, name = match.group(), match.group("name")
    if match.group("number"):
        return _number_mend(written)
    if not written.startswith(b"&"):
        return _Change(_stand_in(written), _CONTROL_READ)
    characters = html5.get(name.decode() + ";") if name else None
    if characters is None:
        # `&region;` is no entity of HTML either: the & is a bare one, and the rest text.
        return _Change(b"&amp;" + written[1:], "a bare & was read as &amp;")
    replacement = "".join(f"&#{ord(character)};" for character in characters)
    return _Change(replacement.encode(), f"the HTML entity {written.decode()} was read as {replacement}")


def _number_mend(written: bytes) -> _Change | None:
    """`&#1;`, which XML allows no more than the character itself. Other numbers are as they are, right or wrong."""
    number = character_number(written)
    if number not in _STAND_INS:
        return None
    message = f"{written.decode()}, a control character, was read as it stands"
    return _Change(chr(_STAND_INS[number]).encode(), message)


def _stand_in(control: bytes) -> bytes:
    return chr(_STAND_INS[ord(control.decode())]).encode()
