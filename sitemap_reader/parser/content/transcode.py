"""Transcoders: bytes in one charset in, cut anyhow, UTF-8 out.

No byte is dropped: what is invalid in the charset is read as windows-1252 (in UTF-16 and 32: U+FFFD) and counted.
What comes out, and the counts, do not depend on how the input was cut.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, ClassVar, Protocol

from .charset import WIDE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Transcoder(Protocol):
    """Bytes in, UTF-8 out.

    `invalid` counts the bytes that are none in the charset (code units in UTF-16 and 32), `utf8` the characters that
    were read as UTF-8 in spite of it.
    """

    invalid: int = 0
    utf8: int = 0

    def feed(self, data: bytes) -> bytes:
        """The UTF-8 of these bytes; the beginning of a character waits for its end."""

    def close(self) -> bytes:
        """The UTF-8 of a beginning that is still waiting: it is invalid."""


def transcoder(codec: str) -> Transcoder:
    """A fresh transcoder for one of the codecs in charset.LABELS."""
    if codec == "utf-8":
        return _Utf8()
    if codec == "iso2022_jp":
        return _Iso2022Jp()
    if codec in _WESTERN:
        return _Western(codec)
    if codec in WIDE:
        return _Wide(codec)
    return _Multibyte(codec) if codec in _MULTIBYTE else _SingleByte(codec)


_MULTIBYTE = frozenset({"gb18030", "big5hkscs", "euc_jp", "cp932", "cp949"})

# Where a declaration is not believed against well-formed UTF-8. Servers and templates say ISO-8859-1 of whatever they
# send, and UTF-8 read as that gives URLs that no server knows (/caf%C3%83%C2%A9). Such a sequence begins with C2 to F4
# and goes on with 80 to BF. In these two charsets that is an accented letter with quotes, currency or other signs
# behind it (the few letters from 80 to BF, like Š and œ, follow none in the languages that are written with them): a
# lower-case letter with two or three of them, a capital with one, as in `ROSÉ®`, which is rare enough to be a price.
# The one lower-case letter that needs but one is ß: see _SHARP_S.
# Elsewhere it is not so. In windows-1251, KOI8 and ISO-8859-5, C3 A0 and D0 B0 are letters beside letters; 1250 and
# 8859-2 have Polish ones in 80 to BF (`KÓŁ` is D3 A3), Turkish writes `BEŞİKTAŞ’IN` (DE 92), and in the multi-byte
# ones nearly every pair is a character. To tell those apart takes the whole document, so their declaration holds.
_WESTERN = frozenset({"cp1252", "iso8859-15"})


def _as_windows_1252(byte: int) -> str:
    # WHATWG's index maps the five bytes that Python leaves undefined to the C1 controls of the same number.
    try:
        return bytes((byte,)).decode("cp1252")
    except UnicodeDecodeError:
        return chr(byte)


_WINDOWS_1252 = "".join(map(_as_windows_1252, range(256)))
# What the error handler "surrogateescape" leaves of an invalid byte.
_ESCAPED = re.compile("[\udc80-\udcff]+")


def _is_utf8(text: str) -> bool:
    """Whether nothing was escaped."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escapes(table: str) -> dict[int, str]:
    """What is left of each invalid byte -> what it says in a table of 256 characters."""
    return {0xDC00 + byte: table[byte] for byte in range(0x80, 0x100)}


_IN_WINDOWS_1252 = _escapes(_WINDOWS_1252)


def _unescape(text: str, escapes: dict[int, str]) -> tuple[str, int]:
    """The text with its escaped bytes read by a table, and their number."""
    count = 0

    def unescape(match: re.Match[str]) -> str:
        nonlocal count
        count += len(match[0])
        return match[0].translate(escapes)

    return _ESCAPED.sub(unescape, text), count


# The Unicode Standard, table 3-7: well-formed UTF-8 that lacks its end.
_UTF8_BEGINNING = re.compile(
    rb"""
    (?: [\xc2-\xdf]
      | \xe0[\xa0-\xbf]? | [\xe1-\xec\xee\xef][\x80-\xbf]? | \xed[\x80-\x9f]?
      | \xf0(?:[\x90-\xbf][\x80-\xbf]?)? | [\xf1-\xf3][\x80-\xbf]{0,2} | \xf4(?:[\x80-\x8f][\x80-\xbf]?)?
    )\Z
    """,
    re.VERBOSE,
)


class _Utf8(Transcoder):
    """Checks; valid chunks pass as the objects they are."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        if self._held:
            data = self._held + data
            self._held = b""
        if data.isascii():
            return data
        beginning = _UTF8_BEGINNING.search(data, max(0, len(data) - 3))
        if beginning:
            self._held = beginning[0]
            data = data[: beginning.start()]
        return self._checked(data)

    def close(self) -> bytes:
        held, self._held = self._held, b""
        return self._checked(held)

    def _checked(self, data: bytes) -> bytes:
        try:
            data.decode()
        except UnicodeDecodeError:
            text, invalid = _unescape(data.decode("utf-8", "surrogateescape"), _IN_WINDOWS_1252)
            self.invalid += invalid
            return text.encode()
        return data


# DF begins the sequences of U+07C0 to U+07FF, N'Ko. It is also the ß that stands before the closing quote of a German
# headline, before an ellipsis or a no-break space: in a document that says it is Western, it is that.
_SHARP_S = re.compile("[\u07c0-\u07ff]")
_ASCII = bytes(range(0x80))
_NOT_CONTINUING = bytes(byte for byte in range(256) if not 0x80 <= byte <= 0xBF)


class _Western(_Utf8):
    """Well-formed UTF-8 as that, every other byte by the table: none is invalid. `others` counts the latter."""

    def __init__(self, codec: str) -> None:
        super().__init__()
        self.others = 0
        self._table = _table(codec)
        self._escapes = _escapes(self._table)

    def _checked(self, data: bytes) -> bytes:
        high = len(data.translate(None, _ASCII))
        if not data.translate(None, _NOT_CONTINUING):  # no UTF-8: what is usual where the declaration is true
            self.others += high
            return codecs.charmap_decode(data, "strict", self._table)[0].encode()
        text, others = self._read(data)
        self.utf8 += len(text) - (len(data) - high) - others
        self.others += others
        return text.encode()

    def _read(self, data: bytes) -> tuple[str, int]:
        """The text, and how many of its characters are of the table."""
        text, others = data.decode("utf-8", "surrogateescape"), 0
        if not _is_utf8(text):
            text, others = _unescape(text, self._escapes)
        if b"\xdf" in data:
            text, sharp = _SHARP_S.subn(self._by_the_table, text)
            others += 2 * sharp
        return text, others

    def _by_the_table(self, match: re.Match[str]) -> str:
        return "".join(self._table[byte] for byte in match[0].encode())


def _table(codec: str) -> str:
    """What each byte says in a single-byte codec; windows-1252's character where the codec has none."""
    table = bytes(range(256)).decode(codec, "replace")
    return "".join(mine if mine != "\ufffd" else other for mine, other in zip(table, _WINDOWS_1252, strict=True))


class _SingleByte(Transcoder):
    """One table of 256 characters."""

    def __init__(self, codec: str) -> None:
        self._table = _table(codec)
        self._valid = bytes(range(256)).decode(codec, "ignore").encode(codec)

    def feed(self, data: bytes) -> bytes:
        self.invalid += len(data.translate(None, self._valid))
        return codecs.charmap_decode(data, "strict", self._table)[0].encode()

    def close(self) -> bytes:
        return b""


class _Multibyte(Transcoder):
    """Python's incremental decoder. An invalid byte stands for itself alone, the next may begin a character."""

    def __init__(self, codec: str) -> None:
        self._decoder = codecs.getincrementaldecoder(codec)("surrogateescape")

    def feed(self, data: bytes) -> bytes:
        text = self._decoder.decode(data)
        if not _is_utf8(text):
            text, invalid = _unescape(text, _IN_WINDOWS_1252)
            self.invalid += invalid
        return text.encode()

    def close(self) -> bytes:
        waiting = self._decoder.getstate()[0]
        self.invalid += len(waiting)
        return "".join(_WINDOWS_1252[byte] for byte in waiting).encode()


class _Wide(Transcoder):
    """UTF-16 and UTF-32: what is invalid goes by code units, or all that follows would be out of step.

    A U+FFFD of the document's own counts as well: it stands for the same damage, done earlier.
    """

    def __init__(self, codec: str) -> None:
        self._decoder = codecs.getincrementaldecoder(codec)("replace")

    def feed(self, data: bytes) -> bytes:
        return self._count(self._decoder.decode(data))

    def close(self) -> bytes:
        return self._count(self._decoder.decode(b"", final=True))

    def _count(self, text: str) -> bytes:
        self.invalid += text.count("\ufffd")
        return text.encode()


# --- ISO-2022-JP -----------------------------------------------------------------------------------------------

# RFC 1468, and the Encoding Standard 12.2: what an escape sequence switches to. JIS-Roman differs from ASCII in `\`
# and `~`, but is written where ASCII is meant: WHATWG reads the same two bytes of Shift_JIS as ASCII, too.
_CHARACTER_SETS = {b"\x1b(B": "ascii", b"\x1b(J": "ascii", b"\x1b(I": "kana", b"\x1b$@": "kanji", b"\x1b$B": "kanji"}


def _tokens(text: bytes, beginning: bytes) -> re.Pattern[bytes]:
    """An escape sequence; what may be the beginning of something; text of a character set; any other byte."""
    escape = rb"(?P<escape> \x1b \( [BIJ] | \x1b \$ [@B] ) | (?P<waiting> (?: \x1b [($]? | %b ) \Z )"
    return re.compile(rb"%b | (?P<text> %b ) | ." % (escape % beginning, text), re.VERBOSE | re.DOTALL)


_TOKENS = {
    "ascii": _tokens(rb"[^\x1b]+", rb"\x1b"),
    "kana": _tokens(rb"[\x21-\x5f]+", rb"\x1b"),
    "kanji": _tokens(rb"(?: [\x21-\x7e]{2} )+", rb"[\x21-\x7e]"),
}
_HIGH = bytes(byte | 0x80 for byte in range(256))


class _Kanji(dict[int, str]):
    """Two bytes of JIS X 0208, as one number -> the character that Shift_JIS has there, or the two as ASCII."""

    def __missing__(self, code: int) -> str:
        row, cell = divmod(code, 256)
        lead = (row + 1) // 2 + (0x70 if row < 0x5F else 0xB0)
        trail = cell + (0x1F + (cell >= 0x60) if row % 2 else 0x7E)
        try:
            self[code] = bytes((lead, trail)).decode("cp932")
        except UnicodeDecodeError:
            self[code] = chr(row) + chr(cell)
        return self[code]


class _Iso2022Jp(Transcoder):
    """Not Python's decoder: at what it does not know it gives up, or drops it.

    A line begins in ASCII (RFC 1468), so that a lost escape sequence harms the rest of one line only. Bytes from 80
    on are none in a charset of 7 bits, and are read as the UTF-8 that they mostly are.
    """

    def __init__(self) -> None:
        self._set = "ascii"
        self._held = b""
        self._ascii = _Western("cp1252")
        self._kanji = _Kanji()
        self._misplaced = 0

    def feed(self, data: bytes) -> bytes:
        return self._count(self._read(data, final=False))

    def close(self) -> bytes:
        return self._count((*self._read(b"", final=True), self._ascii.close()))

    def _count(self, read: Iterable[bytes]) -> bytes:
        out = b"".join(read)
        self.utf8, self.invalid = self._ascii.utf8, self._ascii.others + self._misplaced
        return out

    def _read(self, data: bytes, *, final: bool) -> Iterator[bytes]:
        data, self._held = self._held + data, b""
        at = 0
        while at < len(data):
            token = _TOKENS[self._set].match(data, at)
            assert token is not None  # noqa: S101 - any byte is one
            at, kind, text = token.end(), token.lastgroup, token[0]
            if kind == "escape":
                yield self._ascii.close()
                self._set = _CHARACTER_SETS[text]
            elif kind == "waiting" and not final:
                self._held = text
            elif kind == "text":
                yield from self._READERS[self._set](self, text)
            else:
                yield self._stray(text)

    def _read_ascii(self, text: bytes) -> tuple[bytes, ...]:
        return (self._ascii.feed(text),)

    def _read_kana(self, text: bytes) -> tuple[bytes, ...]:
        return (self._ascii.close(), text.translate(_HIGH).decode("cp932").encode())

    def _read_kanji(self, pairs: bytes) -> tuple[bytes, ...]:
        text = pairs.decode("utf-16-be").translate(self._kanji)
        self._misplaced += 2 * (len(text) - len(pairs) // 2)  # no other pair gives two characters
        return (self._ascii.close(), text.encode())

    _READERS: ClassVar = {"ascii": _read_ascii, "kana": _read_kana, "kanji": _read_kanji}

    def _stray(self, text: bytes) -> bytes:
        """What belongs to no character: itself, as ASCII, or a part of some UTF-8."""
        self._misplaced += text.isascii()
        if text in b"\r\n":
            self._set = "ascii"
        return self._ascii.feed(text)
