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
# How much is mended at once, so that not too many mends wait: where a section ends may become clear for many.
_WINDOW_BYTES = 65_536
# What a section does not hold: in a location markup, in a text the tags of entries.
_MARKUP = re.compile(rb"[<>]")
_ENTRY_TAG = re.compile(rb"</?(?:[\w.-]+:)?(?:url|sitemap|item|entry)[\s/>]")
# What may stand between a section and the next tag, besides text; and that tag, if it is an end tag.
_NO_TAG = re.compile(rb"<!\[CDATA\[.*?\]\]>|<!--.*?-->|<\?.*?\?>", re.DOTALL)
_ASIDE_OPENINGS = (b"<!--", b"<![CDATA[", b"<?")
_BEGUN = re.compile(rb"<!?-?|<!\[[A-Z]*")  # an opening that may not be all there
_END_TAG = re.compile(rb"</[^<>]*[<>]")
_NOTHING = re.compile(rb"(?!)")
_TAG_BEFORE = re.compile(rb"<([\w.:-]+)(?:\s[^<>]*)?>\s*\Z")


@attrs.frozen
class Mend:
    """One mended place: where it ends in the mended bytes, and what to report."""

    end: int
    problem: Problem


class Mender:
    """Filters a stream that begins on `line`: feed() gives the mended bytes, taken() what was mended.

    `max_noted` mends may wait for their entry to end, each with its Problem; the rest is counted. No CDATA section has
    more than `max_section_bytes`.
    """

    def __init__(self, line: int, max_noted: int, max_section_bytes: int) -> None:
        self._max_noted = max_noted
        self._max_section_bytes = max_section_bytes
        self._mends: deque[Mend] = deque()
        self._unnoted = 0
        self._unnoted_severity: Severity = "warning"
        self._offset = 0
        self._line = line
        self._held = bytearray()
        self._read = 0  # where what is held begins, in the count of all bytes that came
        self.is_behind = False
        self._waiting = 0  # where in it begins what waits for its end
        self._no_end_before = 0  # up to where, in that count, a CDATA section is known not to end
        self._wake_bytes = 0  # when it pays to look again for the end of what is held
        self._passed = b""  # the last of what needed no mending

    @property
    def held_bytes(self) -> int:
        """How much waits for the end of a comment or a CDATA section."""
        return 0 if self.is_behind else len(self._held)

    def add(self, mends: list[Mend]) -> None:
        """Joins repairs of the structure, at offsets of the mended bytes. Most of what waits stands behind them."""
        last = max(mend.end for mend in mends)
        before: list[Mend] = []
        while self._mends and self._mends[0].end <= last:
            before.append(self._mends.popleft())
        self._mends.extendleft(reversed(sorted((*before, *mends), key=attrgetter("end"))))

    def taken(self, until: int | None) -> list[Problem]:
        """Takes out what was mended up to the offset `until` of the mended bytes; None: all."""
        taken = []
        while self._mends and (until is None or self._mends[0].end <= until):
            taken.append(self._mends.popleft().problem)
        if self._unnoted and not self._mends:
            what = f"{self._unnoted:,} more places were mended; raise max_entry_problems to be told of each"
            taken.append(report("S01", what, severity=self._unnoted_severity, line=self._line))
            self._unnoted, self._unnoted_severity = 0, "warning"
        return taken

    def feed(self, data: bytes, *, final: bool = False) -> bytes:
        """The mended bytes, as far as it is clear by now what they are: `is_behind` where there are more at once."""
        self._held += data
        self.is_behind = False
        if len(self._held) < self._wake_bytes and not final:
            return b""
        data, self._wake_bytes = bytes(self._held), 0
        end = len(data)
        if not final and (unclear := _UNCLEAR_END.search(data, max(0, end - _UNCLEAR_BYTES))):
            end = unclear.start()
        mended = b"".join(self._mended(data[:end], final=final))
        kept = self._waiting if self._wake_bytes or self.is_behind else end
        del self._held[:kept]
        self._read += kept
        return mended

    def _mended(self, data: bytes, *, final: bool) -> Iterator[bytes]:
        fault = _REFERENCE_OR_CONTROL if _CONTROL.search(data) else _REFERENCE
        given = at = 0  # what is out already, and where to look on
        while match := fault.search(data, at):
            if at > _WINDOW_BYTES:
                yield self._pass(data[given:at])
                self._waiting, self.is_behind = at, True
                return
            start, at = match.span()
            if match.lastgroup in _ASIDES:
                yield self._pass(data[given:start])
                given, end = start, self._aside_end(data, match, final=final)
                if end is None and not final:
                    # The rest waits until the comment, CDATA section or instruction has ended.
                    self._waiting = start
                    self._wake_bytes = (len(self._held) - start) * 5 // 4 + 1
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

    def _aside_end(self, data: bytes, opening: re.Match[bytes], *, final: bool) -> int | None:
        """The offset behind a comment, CDATA section or instruction; None where it has not ended yet."""
        if opening.lastgroup == "section":
            return self._section_end(data, opening, final=final)
        terminator = _ASIDES[opening.lastgroup or ""]
        end = data.find(terminator, opening.end())
        return None if end < 0 else end + len(terminator)

    def _section_end(self, data: bytes, opening: re.Match[bytes], *, final: bool) -> int | None:
        """Where a CDATA section ends: behind its `]]>`, or with its element where that `]]>` is another section's.

        Text may quote anything, also the end tag of its own element, further entries and further sections: as long as
        the next end tag behind `]]>` is the element's own, all of it is text.
        """
        end = self._next_section_end(data, opening.end())
        behind = None if end < 0 else end + len(b"]]>")
        latest = opening.start() + self._max_section_bytes
        if end < 0 and len(data) <= latest and not final:
            return None
        tag = _TAG_BEFORE.search(self._passed)
        own = re.compile(rb"</%s\s*>" % re.escape(tag.group(1))) if tag else _NOTHING
        match = own.search(data, opening.end(), end if 0 <= end <= latest else min(len(data), latest))
        wrong = _MARKUP if tag and names_location(tag.group(1)) else _ENTRY_TAG
        if match is None or wrong.search(data, opening.end(), match.start()):
            return behind
        if behind is None or end > latest:
            return match.start()
        following = _next_tag(data, behind)
        if following is None:  # it is still to come
            return behind if final else None
        is_others = following.startswith(b"</") and not own.match(following)
        return match.start() if is_others else behind

    def _next_section_end(self, data: bytes, start: int) -> int:
        """The offset of the next `]]>`; -1: none is there. For many sections without one all is looked through once."""
        end = data.find(b"]]>", max(start, self._no_end_before - self._read))
        self._no_end_before = self._read + (len(data) - len(b"]]") if end < 0 else end)
        return end

    def _pass(self, data: bytes) -> bytes:
        self._offset += len(data)
        self._line += data.count(b"\n")
        self._passed = (self._passed + data[-_SNIPPET_BYTES:])[-_SNIPPET_BYTES:]
        return data

    def _changed(self, written: bytes, change: _Change) -> bytes:
        self._offset += len(change.text)
        if len(self._mends) < self._max_noted:
            # Up to the fault only: what is behind it may not have come yet.
            raw = (self._passed + written[:_SNIPPET_BYTES]).rpartition(b"\n")[2] or written[:_SNIPPET_BYTES]
            text = raw.decode("utf-8", "ignore").strip()
            problem = report("S01", change.message, severity=change.severity, line=self._line, raw=text)
            self._mends.append(Mend(self._offset, problem))
        else:
            self._unnoted += 1
            if change.severity == "error":
                self._unnoted_severity = "error"
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


def _next_tag(data: bytes, start: int) -> bytes | None:
    """The next tag behind text, sections and comments, of a start tag its first bytes; None: it is not all there."""
    at = data.find(b"<", start)
    while at >= 0 and (aside := _NO_TAG.match(data, at)):
        at = data.find(b"<", aside.end())
    if at < 0 or _BEGUN.fullmatch(data, at) or data.startswith(_ASIDE_OPENINGS, at):
        return None
    end = _END_TAG.match(data, at)
    return end.group() if end else None if data.startswith(b"</", at) else b"<"


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
