"""Characters that XML does not allow where they stand: UTF-8 bytes behind a fault in, the same bytes mended out.

Bare `&`, HTML entities, control characters, faulty comments, CDATA sections that run past their element. Each mend has
its Problem. Nothing that is text is ever dropped: what has no sure reading stays as it is, for repair.py to judge.
"""

from __future__ import annotations

import re
from html.entities import html5
from typing import TYPE_CHECKING, NamedTuple

import attrs

from ....model.problems import Problem, Severity, report
from ..errors import CHARACTERS, COPIED, REFERENCE
from ..scan import CONTROL, names_location, needs_stand_in, stand_in
from .edits import Repair, RepairLog
from .tokenizer import character_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..errors import Budget

# Each branch begins with a plain character, so that the search leaps from one to the next.
_FAULT = rb"""
      < (?: (?P<comment> !-- ) | (?P<instruction> \? )              # nothing in these is a reference
          | (?P<section> !?\s?\[?(?i:CDATA)\s?\[ ) )                # nor in this, `<![CDATA[` or misspelled
    | & (?! (?: amp | lt | gt | quot | apos ) ; )                   # XML 1.0 4.6: these need no declaration
        (?: (?P<number> \#(?: [0-9]+ | x[0-9a-fA-F]+ ) ) ;?         # without the ; nobody knows where it ends
          | (?P<name> [A-Za-z][A-Za-z0-9]{0,31} ) ;
          )?                                                        # neither: a bare ampersand
    """
# They are rare, and looking for them takes time. Where there is one, there often are very many.
_CONTROLS = b"(?: " + CONTROL + b" )+"
_CONTROL = re.compile(_CONTROLS, re.VERBOSE)
_REFERENCE = re.compile(_FAULT, re.VERBOSE)
_REFERENCE_OR_CONTROL = re.compile(_FAULT + rb"| (?P<control> " + _CONTROLS + rb" )", re.VERBOSE)
_ASIDES = {"comment": b"-->", "section": b"]]>", "instruction": b"?>"}

# What a chunk may end in without it being clear yet what it is.
_UNCLEAR_END = re.compile(rb"(?:&[#A-Za-z0-9]{0,33}|<!?[-\[A-Za-z\s]{0,10}|\xef[\xb7\xbf]?)\Z")
_UNCLEAR_BYTES = 40
_SNIPPET_BYTES = 80
# How many mends are made at once: only of one entry may more be waiting to be told.
_MENDS_AT_ONCE = 4_000
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


class CharacterRepair:
    """Filters a stream that begins on `line`: feed() gives the mended bytes, `mends` what was mended.

    For the end of a comment, an instruction or a CDATA section is waited up to `max_aside_bytes`. Where it `is_behind`,
    each further call takes at least one byte.
    """

    def __init__(self, line: int, mends: RepairLog, max_aside_bytes: int, budget: Budget) -> None:
        self._max_aside_bytes = max_aside_bytes
        self._budget = budget
        self.mends = mends
        self._room = 0  # for mends of one call of feed()
        self._only_counts = False  # this call
        self._last: Repair | None = None
        self._controls = 0  # how many control characters there are in the present run
        self._offset = 0
        self._line = line
        self._held = bytearray()
        self._read = 0  # where what is held begins, in the count of all bytes that came
        self.is_behind = False
        self._in_section = False  # in one that is longer than is waited for: nothing in it is mended
        self._waiting = 0  # where in it begins what waits for its end
        self._no_end_before = 0  # up to where, in that count, a CDATA section is known not to end
        self._no_control_before = 0  # up to where, in that count, there is no control character
        self._following: tuple[int, bytes] | None = None  # a place in that count, and the next tag behind it
        self._wake_bytes = 0  # when it pays to look again for the end of what is held
        self._passed = b""  # the last of what needed no mending

    @property
    def is_clear(self) -> bool:
        """Whether all that came is out, and all that was mended is told."""
        return not self._held and not self._in_section and not self.is_behind and self.mends.is_empty

    def most_bare(self, line: int) -> int:
        """How many bare `&` pass_over() may be told of, where expat is on this line."""
        return self.mends.room if line == self._line else 0

    def pass_over(self, data: bytes, bare: list[int]) -> list[Problem]:
        """What comes next stands behind this, which is not counted. What there is to tell of the `&` at `bare`."""
        problems, done = [], 0
        for place in bare:
            self._stand_behind(data[done:place])
            problems.append(self._problem(b"&", _BARE))
            self._passed, done = b"&", place + 1
        self._stand_behind(data[done:])
        self.mends.told_at_once(len(bare))
        return problems

    def _stand_behind(self, data: bytes) -> None:
        self._line += data.count(b"\n")
        self._passed = (self._passed + data[-_SNIPPET_BYTES:])[-_SNIPPET_BYTES:]

    def feed(self, data: bytes, *, final: bool = False) -> bytes:
        """The mended bytes, as far as it is clear by now what they are: `is_behind` where there are more at once."""
        self._held += data
        self.is_behind = False
        if len(self._held) < self._wake_bytes and not final:
            return b""
        data, self._wake_bytes, self._room = bytes(self._held), 0, _MENDS_AT_ONCE
        self._budget.spend(1 + len(data) // COPIED)
        self.mends.condense()
        self._only_counts = self.mends.is_full and not _ENTRY_TAG.search(data, 0, _WINDOW_BYTES)
        end = len(data)
        if not final and (unclear := _UNCLEAR_END.search(data, max(0, end - _UNCLEAR_BYTES))):
            end = unclear.start()
        mended = b"".join(self._mended(data[:end], final=final))
        kept = self._waiting if self._wake_bytes or self.is_behind else end
        del self._held[:kept]
        self._read += kept
        return mended

    def _mended(self, data: bytes, *, final: bool) -> Iterator[bytes]:
        fault = _REFERENCE_OR_CONTROL if self._has_control(data) else _REFERENCE
        given = at = self._section_left(data, 0, final=final)  # what is out already, and where to look on
        yield self._pass(data[:at])
        while not self._in_section and (match := fault.search(data, at)):
            start, stop = match.span()
            is_enough = at > _WINDOW_BYTES or not self._room or (self._only_counts and stop > _WINDOW_BYTES)
            if is_enough and start:  # what the next call begins with is taken by it, whatever it is
                yield self._pass(data[given:start])
                self._waiting, self.is_behind = start, True
                return
            self._budget.spend(REFERENCE + stop - at)
            at = stop
            if match.lastgroup in _ASIDES:
                yield self._pass(data[given:start])
                given, end = start, self._aside_end(data, match, final=final)
                if end is None:  # the rest waits
                    self._waiting = start
                    self._wake_bytes = 2 * (len(self._held) - start) + 1
                    return
                at = end if end >= 0 else min(len(data), start + self._max_aside_bytes)
                change = _aside_mend(match, data[start:at]) if end >= 0 else None
                if end < 0 and match.group() == _SECTION:
                    self._in_section = True
                    at = self._section_left(data, match.end(), final=final)
            else:
                change = _character_mend(match)
            if change is not None:
                self._budget.spend(CHARACTERS + len(change.text))
                if given < start:
                    yield self._pass(data[given:start])
                yield self._changed(data[start:at], change)
                given = at
        yield self._pass(data[given : at if self._in_section else len(data)])

    def _aside_end(self, data: bytes, opening: re.Match[bytes], *, final: bool) -> int | None:
        """The offset behind a comment, CDATA section or instruction; -1: none in reach; None: more bytes will tell."""
        if opening.lastgroup == "section":
            return self._section_end(data, opening, final=final)
        terminator, latest = _ASIDES[opening.lastgroup or ""], opening.start() + self._max_aside_bytes
        end = data.find(terminator, opening.end(), latest)
        if end < 0:
            return -1 if final or len(data) > latest else None
        return end + len(terminator)

    def _section_end(self, data: bytes, opening: re.Match[bytes], *, final: bool) -> int | None:
        """Where a CDATA section ends: behind its `]]>`, or with its element where that `]]>` is another section's.

        Text may quote anything, also the end tag of its own element, further entries and further sections: as long as
        the next end tag behind `]]>` is the element's own, all of it is text.
        """
        end = self._next_section_end(data, opening.end())
        latest = opening.start() + self._max_aside_bytes
        behind = -1 if end < 0 or end + len(b"]]>") > latest else end + len(b"]]>")
        if behind < 0 and len(data) <= latest and not final:
            return None
        tag = _TAG_BEFORE.search(self._passed)
        own = re.compile(rb"</%s\s*>" % re.escape(tag.group(1))) if tag else _NOTHING
        match = own.search(data, opening.end(), min(len(data), latest) if behind < 0 else end)
        reached = match.start() if match else min(len(data), latest) if behind < 0 else end
        self._budget.spend(2 * (reached - opening.end()))
        wrong = _MARKUP if tag and names_location(tag.group(1)) else _ENTRY_TAG
        if match is None or wrong.search(data, opening.end(), match.start()):
            return behind
        if behind < 0:
            return match.start()
        following = self._tag_behind(data, behind)
        if following is None:  # it is still to come
            return behind if final or len(data) - behind > self._max_aside_bytes else None
        is_others = following.startswith(b"</") and not own.match(following)
        return match.start() if is_others else behind

    def _tag_behind(self, data: bytes, start: int) -> bytes | None:
        """The next tag; many sections that have no end have the same behind them."""
        place = self._read + start
        if self._following and self._following[0] == place:
            return self._following[1]
        following = _next_tag(data, start)
        self._budget.spend(len(data) - start if following is None else max(0, data.find(b"<", start) - start))
        if following is not None:
            self._following = (place, following)
        return following

    def _has_control(self, data: bytes) -> bool:
        """Whether one is in sight; where not, those bytes are not searched again."""
        match = _CONTROL.search(data, max(0, self._no_control_before - self._read))
        # What the last two bytes may be the beginning of is not known yet.
        self._no_control_before = self._read + (match.start() if match else max(0, len(data) - 2))
        return match is not None

    def _section_left(self, data: bytes, start: int, *, final: bool) -> int:
        """Up to where a section goes on that is longer than is waited for: whoever reads it judges its length."""
        if not self._in_section:
            return start
        end = data.find(b"]]>", start)
        if end >= 0:
            self._in_section = False
            return end + len(b"]]>")
        if final:
            return len(data)
        self._waiting = max(start, len(data) - len(b"]]"))
        self._wake_bytes = len(b"]]>")
        return self._waiting

    def _next_section_end(self, data: bytes, start: int) -> int:
        """The offset of the next `]]>`; -1: none is there. For many sections without one all is looked through once."""
        end = data.find(b"]]>", max(start, self._no_end_before - self._read))
        self._no_end_before = self._read + (len(data) - len(b"]]") if end < 0 else end)
        return end

    def _pass(self, data: bytes) -> bytes:
        self._offset += len(data)
        self._stand_behind(data)
        return data

    def _changed(self, written: bytes, change: _Change) -> bytes:
        is_run = change.controls and self._last and self._controls and self._last.end == self._offset
        self._offset += len(change.text)
        self._controls = change.controls + (self._controls if is_run else 0)
        if is_run and self._last:
            self._last.end = self._offset
            message = _CONTROLS_READ.format(self._controls)
            self._last.problem = attrs.evolve(self._last.problem, message=message)
        elif self._only_counts:
            self._last = None
            self.mends.count(self._offset, self._line, change.severity)
        else:
            self._last = Repair(self._offset, self._problem(written, change))
            self.mends.add(self._last)
            self._room -= 1
        self._passed = ((self._passed if is_run else b"") + written)[-_SNIPPET_BYTES:]
        self._line += written.count(b"\n")
        return change.text

    def _problem(self, written: bytes, change: _Change) -> Problem:
        # Up to the fault only: what is behind it may not have come yet.
        shown = written.decode()[:1].encode() if change.controls else written[:_SNIPPET_BYTES]
        raw = (self._passed + shown).rpartition(b"\n")[2] or shown
        text = raw.decode("utf-8", "ignore").strip()
        message = _CONTROLS_READ.format(change.controls) if change.controls > 1 else change.message
        return report("S01", message, severity=change.severity, line=self._line, raw=text)


class _Change(NamedTuple):
    """What stands in for a piece, and what to say of it."""

    text: bytes
    message: str
    severity: Severity = "warning"
    controls: int = 0  # how many such characters it is a run of


_BARE = _Change(b"&amp;", "a bare & was read as &amp;")
_CONTROL_READ = "a control character was read as it stands"
_CONTROLS_READ = "{:,} control characters were read as they stand"
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
    mended = _CONTROL.sub(lambda match: stand_in(match.group().decode()), written)
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
        text = written.decode()
        return _Change(stand_in(text), _CONTROL_READ, controls=len(text))
    characters = html5.get(name.decode() + ";") if name else None
    if characters is None:
        # `&region;` is no entity of HTML either: the & is a bare one, and the rest text.
        return _BARE._replace(text=_BARE.text + written[1:])
    replacement = "".join(f"&#{ord(character)};" for character in characters)
    return _Change(replacement.encode(), f"the HTML entity {written.decode()} was read as {replacement}")


def _number_mend(written: bytes) -> _Change | None:
    """`&#1;`, which XML allows no more than the character itself. Other numbers are as they are, right or wrong."""
    number = character_number(written)
    if number is None or not needs_stand_in(number):
        return None
    message = f"{written.decode()}, a control character, was read as it stands"
    return _Change(stand_in(chr(number)), message)
