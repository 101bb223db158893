"""Text and attribute values that XML may not allow: UTF-8 bytes in, the text that they stand for out.

A bare `&`, an HTML entity and a control character are read as such, and each is a Problem. Nothing is dropped. Each
byte is searched once, and once more for a line break.
"""

from __future__ import annotations

import re
from html.entities import html5
from typing import TYPE_CHECKING

from ..errors import CHARACTER_REPAIR_STEPS

if TYPE_CHECKING:
    from ....model.problems import Kind, Severity
    from ..errors import Budget
    from ..repair_log import RepairLog
    from ..replay_buffer import ReplayBuffer

_CONTROLS = rb"(?: [\x00-\x08\x0b\x0c\x0e-\x1f] | \xef\xbf[\xbe\xbf] )+"  # not allowed by XML 1.0 2.2
# The halves of a surrogate pair, U+D800 to U+DBFF and U+DC00 to U+DFFF, as numbers.
_HIGH_HALF = rb"0* (?: x0*[dD][89abAB][0-9a-fA-F]{2} | 55(?:29[6-9]|[3-9][0-9]{2}) | 56(?:[0-2][0-9]{2}|3[01][0-9]) )"
_LOW_HALF = rb"0* (?: x0*[dD][c-fC-F][0-9a-fA-F]{2} | 5(?:63[2-9]|6[4-9][0-9]|7[0-2][0-9]|73[0-3])[0-9] | 5734[0-3] )"
# %s: what white space XML replaces, by a line feed in text (2.11), by a space in attributes (3.3.3).
_SPECIAL = (
    rb"(?P<controls> "
    + _CONTROLS
    + rb""" )
    | (?P<space> \r\n? | %s )
    | & (?: (?P<plain> amp | lt | gt | quot | apos ) ;              # XML 1.0 4.6: these need no declaration
          | \# (?P<pair> """
    + _HIGH_HALF
    + rb" ; &\# "
    + _LOW_HALF
    + rb""" ) ;
          | \# (?P<number> [0-9]+ | x[0-9a-fA-F]+ ) (?P<end> ; )?
          | (?P<name> [A-Za-z][A-Za-z0-9]{0,31} ) ;
          )?                                                        # none of these: a bare ampersand
    """
)
_CONTROL = re.compile(_CONTROLS, re.VERBOSE)
# So many in a row are no text: a hole in a file, in which the end of an entry and the beginning of another fit.
_HOLE_BYTES = 16
has_hole = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]{%d}" % _HOLE_BYTES).search
# The message where one is in a document of lines.
LINE_IN_HOLE = "a hole of control characters in a line: it is lost, and others may be"
_IN_TEXT = re.compile(_SPECIAL % rb"(?!)", re.VERBOSE), b"\n"
_IN_ATTRIBUTE = re.compile(_SPECIAL % rb"[\t\n]", re.VERBOSE), b" "
# Most text has none of them, and needs no CharacterReader.
special_in = re.compile(rb"[&\x00-\x08\x0b-\x1f\xef]").search
_ANY_IN_ATTRIBUTE = re.compile(rb"[&\x00-\x1f\xef]")
_PLAIN = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'"}
_MAX_DIGITS = 9
_SNIPPET_BYTES = 80


def has_controls(written: bytes) -> bool:
    """Whether there are characters that XML does not allow."""
    return _CONTROL.search(written) is not None


class NoCharacter(Exception):
    """What stands for no character, at an `offset`, where that is not read as text."""

    def __init__(self, what: str, offset: int) -> None:
        super().__init__(what)
        self.offset = offset


class CharacterReader:
    """Reads text and attribute values of the buffer; each repair goes to `repairs`."""

    def __init__(self, buffer: ReplayBuffer, repairs: RepairLog, budget: Budget) -> None:
        self._budget = budget
        self._buffer = buffer
        self._repairs = repairs

    def text(self, written: bytes, offset: int, *, is_exact: bool) -> str:
        """The text at an offset of the document. `is_exact`: NoCharacter at a reference that is none, and at a hole."""
        return self._read(written, offset, _IN_TEXT, is_exact=is_exact)

    def attribute(self, written: bytes, offset: int, *, is_exact: bool) -> str:
        """The same for the value of an attribute, without its quotes."""
        if not _ANY_IN_ATTRIBUTE.search(written):
            return written.decode()
        return self._read(written, offset, _IN_ATTRIBUTE, is_exact=is_exact)

    def controls(self, written: bytes, offset: int) -> None:
        """Reports the control characters of a section or instruction."""
        for match in _CONTROL.finditer(written):
            self._report_controls(match.group(), offset + match.start())

    def _read(self, written: bytes, offset: int, place: tuple[re.Pattern[bytes], bytes], *, is_exact: bool) -> str:
        pattern, space = place

        def read(match: re.Match[bytes]) -> bytes:
            if match.group("plain"):
                return _PLAIN[match.group("plain")]
            if match.group("space"):
                return space
            at = offset + match.start()
            if match.group("controls"):
                if is_exact and len(match.group()) >= _HOLE_BYTES:
                    raise NoCharacter("a URL with a hole of control characters is not certain", at)
                self._report_controls(match.group(), at)
                return match.group()
            if match.group("pair"):
                return self._paired(match, at)
            if match.group("number"):
                return self._numbered(match, at, is_exact=is_exact)
            text, kind, message = _named_reference(match)
            self._report(kind, message, at, match.group())
            return text

        return pattern.sub(read, written).decode()

    def _report_controls(self, written: bytes, offset: int) -> None:
        text = written.decode()
        message = "a control character was kept" if len(text) == 1 else f"{len(text):,} control characters were kept"
        is_hole = has_hole(written) is not None
        if is_hole:
            message += ": entries may be lost there"
        self._report("control character kept", message, offset, text[0].encode(), sure=not is_hole)

    def _numbered(self, match: re.Match[bytes], offset: int, *, is_exact: bool) -> bytes:
        written, digits = match.group(), match.group("number").decode()
        is_short = match.group("end") and len(digits) <= _MAX_DIGITS
        code = _code(digits) if is_short else -1
        if not (0 <= code < 0xD800 or 0xE000 <= code < 0x110000):  # half of a surrogate pair, or beyond Unicode
            if is_exact:
                raise NoCharacter(f"{written.decode()} is no character", offset)
            message = f"{written.decode()} was read as &amp;{written[1:].decode()}"
            self._report("raw & read as &amp;", message, offset, written)
            return written
        if _CONTROL.fullmatch(chr(code).encode()):
            message = f"{written.decode()}, a control character, was kept"
            self._report("control character kept", message, offset, written)
        return chr(code).encode()

    def _paired(self, match: re.Match[bytes], offset: int) -> bytes:
        """The character of two references, each to half of it, as JSON and JavaScript write it."""
        high, low = (_code(half) for half in match.group("pair").decode().split(";&#"))
        code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
        message = f"{match.group().decode()} was read as &#{code};, one character"
        self._report("surrogate pair read as its character", message, offset, match.group())
        return chr(code).encode()

    def _report(self, kind: Kind, message: str, offset: int, written: bytes, *, sure: bool = True) -> None:
        self._budget.spend(CHARACTER_REPAIR_STEPS)
        start = self._buffer.relative(offset)
        raw = None if self._repairs.is_full else excerpt(self._buffer.data, start, start + len(written))
        severity: Severity = "warning" if sure else "error"
        self._repairs.add("S01", message, self._buffer.line_at(offset), raw, severity, kind=kind)


def _named_reference(match: re.Match[bytes]) -> tuple[bytes, Kind, str]:
    """What an HTML entity stands for, the repair's kind, and its message; `&region;` is none: a bare `&`, and text."""
    written, name = match.group(), match.group("name")
    characters = html5.get(name.decode() + ";") if name else None
    if characters is None:
        return written, "raw & read as &amp;", "a bare & was read as &amp;"
    shown = "".join(f"&#{ord(character)};" for character in characters)
    message = f"the HTML entity {written.decode()} was read as {shown}"
    return characters.encode(), "HTML entity read as its character", message


def reference_repair(data: bytes, position: int) -> tuple[str, Kind | None, str]:
    """Message, kind and raw text for the Problem of a reference that is none of XML's."""
    match = _IN_TEXT[0].match(data, position)
    _, kind, message = _named_reference(match) if match else (b"", None, "")
    return message, kind, excerpt(data, position, match.end() if match else position)


def _code(digits: str) -> int:
    """The number of a reference: `128512`, `x1F600`."""
    return int(digits[1:], 16) if digits.startswith("x") else int(digits)


def excerpt(data: bytes | bytearray, start: int, end: int) -> str:
    """What is shown of a fault: its line from the tag before it on, up to its end."""
    first = max(0, start - _SNIPPET_BYTES)
    tag, line = data.rfind(b"<", first, start), data.rfind(b"\n", first, start) + 1
    return data[max(first, tag, line) : min(end, start + _SNIPPET_BYTES)].decode("utf-8", "ignore").strip()
