"""Repair of characters that XML does not allow: UTF-8 bytes in, the same bytes with replacements out.

Repairs bare `&`, HTML entities, control characters, malformed comments, and CDATA sections that run past their
element; each repair is a Problem in the log. Text is never dropped: what is ambiguous stays, for structure.py.
"""

from __future__ import annotations

import re
from html.entities import html5
from typing import TYPE_CHECKING, NamedTuple

import attrs

from ....model.problems import Problem, Severity, report
from ..errors import CHARACTER_REPAIR_STEPS, COPIED_BYTES_PER_STEP, REFERENCE_STEPS
from ..scan import CONTROL, names_location, needs_placeholder, placeholder
from .edits import Repair, RepairLog
from .tokenizer import character_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..errors import Budget

# Each branch begins with a literal character, so that the search is fast.
_FAULT = rb"""
      < (?: (?P<comment> !-- ) | (?P<instruction> \? )              # no references inside
          | (?P<section> !?\s?\[?(?i:CDATA)\s?\[ ) )                # nor inside this: `<![CDATA[`, or misspelled
    | & (?! (?: amp | lt | gt | quot | apos ) ; )                   # XML 1.0 4.6: these need no declaration
        (?: (?P<number> \#(?: [0-9]+ | x[0-9a-fA-F]+ ) ) ;?         # without the `;` its end is unknown
          | (?P<name> [A-Za-z][A-Za-z0-9]{0,31} ) ;
          )?                                                        # neither: a bare ampersand
    """
# A pattern of its own: they are rare, and searching for them takes time.
_CONTROLS = b"(?: " + CONTROL + b" )+"
_CONTROL = re.compile(_CONTROLS, re.VERBOSE)
_REFERENCE = re.compile(_FAULT, re.VERBOSE)
_REFERENCE_OR_CONTROL = re.compile(_FAULT + rb"| (?P<control> " + _CONTROLS + rb" )", re.VERBOSE)
_TERMINATORS = {"comment": b"-->", "section": b"]]>", "instruction": b"?>"}

# The end of a chunk whose meaning depends on the next one.
_UNCLEAR_END = re.compile(rb"(?:&[#A-Za-z0-9]{0,33}|<!?[-\[A-Za-z\s]{0,10}|\xef[\xb7\xbf]?)\Z")
_UNCLEAR_BYTES = 40
_SNIPPET_BYTES = 80
# Repairs in one call of feed(); the log holds more of one entry only.
_MAX_REPAIRS_AT_ONCE = 4_000
# Bytes that one call repairs, so that the log stays short.
_WINDOW_BYTES = 65_536
# Not inside of a CDATA section: markup in a location, tags of entries in a text.
_MARKUP = re.compile(rb"[<>]")
_ENTRY_TAG = re.compile(rb"</?(?:[\w.-]+:)?(?:url|sitemap|item|entry)[\s/>]")
# Skipped, besides text, between a section and the next tag; and that tag, if it is an end tag.
_NOT_A_TAG = re.compile(rb"<!\[CDATA\[.*?\]\]>|<!--.*?-->|<\?.*?\?>", re.DOTALL)
_OPENINGS = (b"<!--", b"<![CDATA[", b"<?")
_PARTIAL_OPENING = re.compile(rb"<!?-?|<!\[[A-Z]*")  # an opening that may be incomplete
_END_TAG = re.compile(rb"</[^<>]*[<>]")
_NEVER = re.compile(rb"(?!)")
_TAG_BEFORE = re.compile(rb"<([\w.:-]+)(?:\s[^<>]*)?>\s*\Z")


class CharacterRepair:
    """Filters a stream that begins on `line`: feed() returns repaired bytes, and each repair goes to `log`.

    The end of a comment, processing instruction or CDATA section is looked for in `max_delimited_bytes`. While it
    `has_more`, feed(b"") returns further bytes, and consumes at least one.
    """

    def __init__(self, line: int, log: RepairLog, max_delimited_bytes: int, budget: Budget) -> None:
        self._max_delimited_bytes = max_delimited_bytes
        self._budget = budget
        self.log = log
        self._repairs_left = 0  # in this call of feed()
        self._count_only = False  # repairs of this call are logged without a Problem
        self._last_repair: Repair | None = None
        self._run_length = 0  # control characters in the present run
        self._offset = 0  # of the output
        self._line = line
        self._input = bytearray()
        self._input_offset = 0  # of _input in the stream
        self.has_more = False
        self._in_section = False  # one longer than max_delimited_bytes: nothing in it is repaired
        self._kept_from = 0  # the offset in _input of a construct without its end
        self._no_end_before = 0  # stream offset up to which there is no `]]>`
        self._no_control_before = 0  # stream offset up to which there is no control character
        self._next_tag_cache: tuple[int, bytes] | None = None  # a stream offset, and the next tag after it
        self._min_bytes = 0  # size of _input from which on its end is looked for again
        self._context = b""  # the last bytes before the next repair, for Problem.raw

    @property
    def is_idle(self) -> bool:
        """Whether all bytes were returned, and all repairs were taken from the log."""
        return not self._input and not self._in_section and not self.has_more and self.log.is_empty

    def max_bare_ampersands(self, line: int) -> int:
        """How many bare `&` skip() may repair, where expat has reached `line`."""
        return self.log.remaining if line == self._line else 0

    def skip(self, data: bytes, ampersands: list[int]) -> list[Problem]:
        """Skips bytes that expat is not given; the Problems of the bare `&` at these offsets of theirs."""
        problems, done = [], 0
        for offset in ampersands:
            self._move_past(data[done:offset])
            problems.append(self._problem(b"&", _BARE_AMPERSAND))
            self._context, done = b"&", offset + 1
        self._move_past(data[done:])
        self.log.count_reported(len(ampersands))
        return problems

    def _move_past(self, data: bytes) -> None:
        self._line += data.count(b"\n")
        self._context = (self._context + data[-_SNIPPET_BYTES:])[-_SNIPPET_BYTES:]

    def feed(self, data: bytes, *, final: bool = False) -> bytes:
        """The repaired bytes up to where their meaning depends on bytes to come."""
        self._input += data
        self.has_more = False
        if len(self._input) < self._min_bytes and not final:
            return b""
        data, self._min_bytes, self._repairs_left = bytes(self._input), 0, _MAX_REPAIRS_AT_ONCE
        self._budget.spend(1 + len(data) // COPIED_BYTES_PER_STEP)
        self.log.condense()
        self._count_only = self.log.is_full and not _ENTRY_TAG.search(data, 0, _WINDOW_BYTES)
        end = len(data)
        if not final and (unclear := _UNCLEAR_END.search(data, max(0, end - _UNCLEAR_BYTES))):
            end = unclear.start()
        repaired = b"".join(self._repaired(data[:end], final=final))
        kept = self._kept_from if self._min_bytes or self.has_more else end
        del self._input[:kept]
        self._input_offset += kept
        return repaired

    def _repaired(self, data: bytes, *, final: bool) -> Iterator[bytes]:
        fault = _REFERENCE_OR_CONTROL if self._has_control(data) else _REFERENCE
        copied = position = self._long_section_end(data, 0, final=final)  # up to here returned; from here on searched
        yield self._copy(data[:position])
        while not self._in_section and (match := fault.search(data, position)):
            start, stop = match.span()
            is_over = position > _WINDOW_BYTES or (self._count_only and stop > _WINDOW_BYTES)
            if start and (is_over or not self._repairs_left):  # at 0 it is repaired: each call consumes bytes
                yield self._copy(data[copied:start])
                self._kept_from, self.has_more = start, True
                return
            self._budget.spend(REFERENCE_STEPS + stop - position)
            position = stop
            if match.lastgroup in _TERMINATORS:
                yield self._copy(data[copied:start])
                copied, end = start, self._delimited_end(data, match, final=final)
                if end is None:  # it needs more bytes
                    self._kept_from = start
                    self._min_bytes = 2 * (len(self._input) - start) + 1
                    return
                position = end if end >= 0 else min(len(data), start + self._max_delimited_bytes)
                replacement = _delimited_repair(match, data[start:position]) if end >= 0 else None
                if end < 0 and match.group() == _SECTION:
                    self._in_section = True
                    position = self._long_section_end(data, match.end(), final=final)
            else:
                replacement = _character_repair(match)
            if replacement is not None:
                self._budget.spend(CHARACTER_REPAIR_STEPS + len(replacement.text))
                if copied < start:
                    yield self._copy(data[copied:start])
                yield self._replace(data[start:position], replacement)
                copied = position
        yield self._copy(data[copied : position if self._in_section else len(data)])

    def _delimited_end(self, data: bytes, opening: re.Match[bytes], *, final: bool) -> int | None:
        """The offset after a comment, CDATA section or instruction; -1: none in reach; None: needs more bytes."""
        if opening.lastgroup == "section":
            return self._section_end(data, opening, final=final)
        terminator, latest = _TERMINATORS[opening.lastgroup or ""], opening.start() + self._max_delimited_bytes
        end = data.find(terminator, opening.end(), latest)
        if end < 0:
            return -1 if final or len(data) > latest else None
        return end + len(terminator)

    def _section_end(self, data: bytes, opening: re.Match[bytes], *, final: bool) -> int | None:
        """Where a CDATA section ends: after its `]]>`, or with its element where that `]]>` belongs to another section.

        Text may quote the end tag of its own element, entries and other sections: as long as the next end tag after
        `]]>` is that of the element, all of it is text.
        """
        end = self._next_section_end(data, opening.end())
        latest = opening.start() + self._max_delimited_bytes
        after = -1 if end < 0 or end + len(b"]]>") > latest else end + len(b"]]>")
        if after < 0 and len(data) <= latest and not final:
            return None
        tag = _TAG_BEFORE.search(self._context)
        own = re.compile(rb"</%s\s*>" % re.escape(tag.group(1))) if tag else _NEVER
        match = own.search(data, opening.end(), min(len(data), latest) if after < 0 else end)
        reached = match.start() if match else min(len(data), latest) if after < 0 else end
        self._budget.spend(2 * (reached - opening.end()))
        wrong = _MARKUP if tag and names_location(tag.group(1)) else _ENTRY_TAG
        if match is None or wrong.search(data, opening.end(), match.start()):
            return after
        if after < 0:
            return match.start()
        next_tag = self._next_tag(data, after)
        if next_tag is None:  # needs more bytes
            return after if final or len(data) - after > self._max_delimited_bytes else None
        is_of_another = next_tag.startswith(b"</") and not own.match(next_tag)
        return match.start() if is_of_another else after

    def _next_tag(self, data: bytes, start: int) -> bytes | None:
        """The next tag; cached, as many unended sections are followed by the same one."""
        offset = self._input_offset + start
        if self._next_tag_cache and self._next_tag_cache[0] == offset:
            return self._next_tag_cache[1]
        next_tag = _find_next_tag(data, start)
        self._budget.spend(len(data) - start if next_tag is None else max(0, data.find(b"<", start) - start))
        if next_tag is not None:
            self._next_tag_cache = (offset, next_tag)
        return next_tag

    def _has_control(self, data: bytes) -> bool:
        """Whether there is a control character; bytes without one are not searched again."""
        match = _CONTROL.search(data, max(0, self._no_control_before - self._input_offset))
        # The last two bytes may begin one.
        self._no_control_before = self._input_offset + (match.start() if match else max(0, len(data) - 2))
        return match is not None

    def _long_section_end(self, data: bytes, start: int, *, final: bool) -> int:
        """Up to where a CDATA section goes on that is longer than max_delimited_bytes; expat_driver.py limits it."""
        if not self._in_section:
            return start
        end = data.find(b"]]>", start)
        if end >= 0:
            self._in_section = False
            return end + len(b"]]>")
        if final:
            return len(data)
        self._kept_from = max(start, len(data) - len(b"]]"))
        self._min_bytes = len(b"]]>")
        return self._kept_from

    def _next_section_end(self, data: bytes, start: int) -> int:
        """The offset of the next `]]>`; -1: none. Bytes without one are searched once."""
        end = data.find(b"]]>", max(start, self._no_end_before - self._input_offset))
        self._no_end_before = self._input_offset + (len(data) - len(b"]]") if end < 0 else end)
        return end

    def _copy(self, data: bytes) -> bytes:
        self._offset += len(data)
        self._move_past(data)
        return data

    def _replace(self, written: bytes, replacement: _Replacement) -> bytes:
        last = self._last_repair
        is_run = replacement.control_count and self._run_length and last and last.end == self._offset
        self._offset += len(replacement.text)
        self._run_length = replacement.control_count + (self._run_length if is_run else 0)
        if is_run and last:
            last.end = self._offset
            message = _CONTROLS_READ.format(self._run_length)
            last.problem = attrs.evolve(last.problem, message=message)
        elif self._count_only:
            self._last_repair = None
            self.log.count(self._offset, self._line, replacement.severity)
        else:
            self._last_repair = Repair(self._offset, self._problem(written, replacement))
            self.log.add(self._last_repair)
            self._repairs_left -= 1
        self._context = ((self._context if is_run else b"") + written)[-_SNIPPET_BYTES:]
        self._line += written.count(b"\n")
        return replacement.text

    def _problem(self, written: bytes, replacement: _Replacement) -> Problem:
        # Up to the fault only: the report must not depend on how the bytes are cut.
        shown = written.decode()[:1].encode() if replacement.control_count else written[:_SNIPPET_BYTES]
        raw = (self._context + shown).rpartition(b"\n")[2] or shown
        text = raw.decode("utf-8", "ignore").strip()
        message = (
            _CONTROLS_READ.format(replacement.control_count) if replacement.control_count > 1 else replacement.message
        )
        return report("S01", message, severity=replacement.severity, line=self._line, raw=text)


class _Replacement(NamedTuple):
    """The replacement of a piece, and its Problem's message."""

    text: bytes
    message: str
    severity: Severity = "warning"
    control_count: int = 0  # of a run of control characters


_BARE_AMPERSAND = _Replacement(b"&amp;", "a bare & was read as &amp;")
_CONTROL_READ = "a control character was kept"
_CONTROLS_READ = "{:,} control characters were kept"
_SECTION = b"<![CDATA["


def _find_next_tag(data: bytes, start: int) -> bytes | None:
    """The next tag after text, sections and comments, of a start tag its `<`; None: it is incomplete."""
    position = data.find(b"<", start)
    while position >= 0 and (text := _NOT_A_TAG.match(data, position)):
        position = data.find(b"<", text.end())
    if position < 0 or _PARTIAL_OPENING.fullmatch(data, position) or data.startswith(_OPENINGS, position):
        return None
    end = _END_TAG.match(data, position)
    return end.group() if end else None if data.startswith(b"</", position) else b"<"


# Each of these returns None where the piece stays as it is.


def _delimited_repair(opening: re.Match[bytes], written: bytes) -> _Replacement | None:
    if opening.lastgroup == "comment":
        return _comment_repair(written)
    repaired = _CONTROL.sub(lambda match: placeholder(match.group().decode()), written)
    if opening.lastgroup == "section":
        inner = repaired[len(opening.group()) :]
        if not inner.endswith(b"]]>"):
            what = "a CDATA section is not closed: it ends with its element"
            return _Replacement(_SECTION + _without_remnant(inner) + b"]]>", what)
        if opening.group() != _SECTION:
            return _Replacement(_SECTION + inner, f"{opening.group().decode()} was read as {_SECTION.decode()}")
    return None if repaired == written else _Replacement(repaired, _CONTROL_READ)


def _comment_repair(written: bytes) -> _Replacement | None:
    """XML 1.0 2.5: no `--` inside a comment. Its text is blanked."""
    inner = written[4:-3]
    faulty = b"--" in inner or inner.endswith(b"-") or _CONTROL.search(inner)
    if not faulty:
        return None
    blanked, message = b"<!--" + re.sub(rb"[^\n]", b" ", inner) + b"-->", "a malformed comment was skipped"
    if b"<!--" in inner or b"->" in inner:  # the end of the first may be damaged, with entries between
        return _Replacement(blanked, f"{message}, and what else may stand in it", "error")
    return _Replacement(blanked, message)


def _without_remnant(text: bytes) -> bytes:
    """Without the unmatched brackets at the end, which are left of a damaged `]]>`."""
    opened = text.count(b"[")
    for _ in range(len("]]")):
        if text.endswith(b"]") and text.count(b"]") > opened:
            text = text[:-1]
    return text


def _character_repair(match: re.Match[bytes]) -> _Replacement | None:
    written, name = match.group(), match.group("name")
    if match.group("number"):
        return _number_repair(written)
    if not written.startswith(b"&"):
        text = written.decode()
        return _Replacement(placeholder(text), _CONTROL_READ, control_count=len(text))
    characters = html5.get(name.decode() + ";") if name else None
    if characters is None:
        # `&region;` is no HTML entity either: a bare `&`, and text.
        return _BARE_AMPERSAND._replace(text=_BARE_AMPERSAND.text + written[1:])
    replacement = "".join(f"&#{ord(character)};" for character in characters)
    return _Replacement(replacement.encode(), f"the HTML entity {written.decode()} was read as {replacement}")


def _number_repair(written: bytes) -> _Replacement | None:
    """`&#1;`, which XML does not allow either. Other numbers stay, valid or not."""
    number = character_number(written)
    if number is None or not needs_placeholder(number):
        return None
    message = f"{written.decode()}, a control character, was kept"
    return _Replacement(placeholder(chr(number)), message)
