"""Charset detection and transcoding: the first bytes and a label in, a codec and a note out; then bytes in, UTF-8 out.

Labels are those of the WHATWG Encoding Standard, 4.2; any other is unknown, and none is guessed. Transcoding drops no
byte: invalid ones are read as windows-1252 (in UTF-16 and UTF-32: U+FFFD) and counted, however the input is cut.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, ClassVar, Protocol

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


HEAD_BYTES = 1024  # where BOM and XML declaration are looked for, as HTML's prescan does

# Python's codec -> its labels. Left out: those that are not for text (replacement, x-user-defined), and UTF-7, which
# WHATWG bans: it hides markup in ASCII.
_LABELS_BY_CODEC = {
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": "iso-8859-2 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 latin2 l2 csisolatin2 iso-ir-101",
    "iso8859-3": "iso-8859-3 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 latin3 l3 csisolatin3 iso-ir-109",
    "iso8859-4": "iso-8859-4 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 latin4 l4 csisolatin4 iso-ir-110",
    "iso8859-5": "iso-8859-5 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988 cyrillic csisolatincyrillic iso-ir-144",
    "iso8859-6": "iso-8859-6 iso-8859-6-e iso-8859-6-i iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987 arabic "
    "asmo-708 ecma-114 csiso88596e csiso88596i csisolatinarabic iso-ir-127",
    "iso8859-7": "iso-8859-7 iso8859-7 iso88597 iso_8859-7 iso_8859-7:1987 greek greek8 sun_eu_greek elot_928 "
    "ecma-118 csisolatingreek iso-ir-126",
    "iso8859-8": "iso-8859-8 iso-8859-8-e iso-8859-8-i iso8859-8 iso88598 iso_8859-8 iso_8859-8:1988 hebrew "
    "visual logical csiso88598e csiso88598i csisolatinhebrew iso-ir-138",
    "iso8859-10": "iso-8859-10 iso8859-10 iso885910 latin6 l6 csisolatin6 iso-ir-157",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9 csisolatin9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "koi8-r koi8 koi8_r koi cskoi8r",
    "koi8-u": "koi8-u koi8-ru",
    "mac-roman": "macintosh mac csmacintosh x-mac-roman",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp874": "windows-874 dos-874 iso-8859-11 iso8859-11 iso885911 tis-620",
    "cp1250": "windows-1250 cp1250 x-cp1250",
    "cp1251": "windows-1251 cp1251 x-cp1251",
    "cp1252": "windows-1252 cp1252 x-cp1252 ascii us-ascii ansi_x3.4-1968 iso-8859-1 iso8859-1 iso88591 "
    "iso_8859-1 iso_8859-1:1987 latin1 l1 csisolatin1 iso-ir-100 cp819 ibm819",
    "cp1253": "windows-1253 cp1253 x-cp1253",
    "cp1254": "windows-1254 cp1254 x-cp1254 iso-8859-9 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 latin5 "
    "l5 csisolatin5 iso-ir-148",
    "cp1255": "windows-1255 cp1255 x-cp1255",
    "cp1256": "windows-1256 cp1256 x-cp1256",
    "cp1257": "windows-1257 cp1257 x-cp1257",
    "cp1258": "windows-1258 cp1258 x-cp1258",
    "gb18030": "gb18030 gbk x-gbk gb2312 gb_2312 gb_2312-80 chinese csgb2312 csiso58gb231280 iso-ir-58",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc_jp": "euc-jp x-euc-jp cseucpkdfmtjapanese",
    "iso2022_jp": "iso-2022-jp csiso2022jp",
    "cp932": "shift_jis shift-jis sjis x-sjis windows-31j ms932 ms_kanji csshiftjis",
    "cp949": "euc-kr windows-949 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 cseuckr "
    "csksc56011987 iso-ir-149",
    "utf-16-le": "utf-16 utf-16le unicode unicodefeff ucs-2 iso-10646-ucs-2 csunicode",
    "utf-16-be": "utf-16be unicodefffe",
    # Not in the standard, but supported.
    "utf-32-le": "utf-32 utf-32le ucs-4 iso-10646-ucs-4",
    "utf-32-be": "utf-32be",
}
LABELS = {label: codec for codec, labels in _LABELS_BY_CODEC.items() for label in labels.split()}

UTF_16_AND_32 = frozenset({"utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"})

# UTF-32's little-endian BOM begins with UTF-16's: the longer ones first.
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# XML 1.0, appendix F: the first characters without a BOM, if they are ASCII.
_PATTERNS = (
    (re.compile(rb"[\t-~]\0\0\0"), "utf-32-le"),
    (re.compile(rb"\0\0\0[\t-~]"), "utf-32-be"),
    (re.compile(rb"[\t-~]\0(?:[^\0]\0|\Z)"), "utf-16-le"),
    (re.compile(rb"\0[\t-~](?:\0[^\0]|\Z)"), "utf-16-be"),
)
_DECLARATION = re.compile(rb"""<\?xml\s[^>]*?\bencoding\s*=\s*(["'])\s*([^"'<>]{1,80}?)\s*\1""")


@attrs.frozen
class Charset:
    """The codec of a document, after `skip` bytes of BOM. `note` is a message for S07, None if all is in order.

    `label` is the declared label that was used, or that the note is about.
    """

    codec: str
    skip: int = 0
    note: str | None = None
    label: str | None = None


def detect(head: bytes, http_charset: str | None = None) -> Charset:
    """The charset by BOM, by the pattern of the first characters, by XML declaration, by HTTP, or else UTF-8.

    A BOM that contradicts the bytes, such as FF FE before UTF-8, is skipped, and the other sources decide.

    `head` is the first HEAD_BYTES, or all bytes of a shorter document.
    """
    declaration = _DECLARATION.search(head)
    declared = declaration[2].decode("latin-1") if declaration else None
    labels = [label for label in (declared, http_charset) if label]
    bom, codec = next(((bom, codec) for bom, codec in _BOMS if head.startswith(bom)), (b"", ""))
    text = head[len(bom) :]
    detected = next((codec for pattern, codec in _PATTERNS if pattern.match(text)), None)
    found = _from_bytes(detected, 0, None) if detected else _from_labels(labels)
    if not bom:
        return found
    # The markup of a sitemap is ASCII: in UTF-16 and UTF-32 each character of that has a NUL beside it.
    is_narrow = codec in UTF_16_AND_32 and text != b"" and b"\0" not in text
    if not is_narrow and detected in (None, codec):
        return _from_bytes(codec, len(bom), declared)
    note = f"begins with the byte-order mark of {codec}, which it is not; read as {found.codec}"
    return Charset(found.codec, len(bom), note, found.label)


def _from_bytes(codec: str, skip: int, declared: str | None) -> Charset:
    """The charset that the bytes themselves show. (Only behind a UTF-8 BOM is a declaration readable here.)"""
    if codec != "utf-8":
        return Charset(codec, skip, f"begins as {codec}, {_UTF8_REQUIRED}")
    if declared is None or _codec(declared) == codec:
        return Charset(codec, skip)
    return Charset(codec, skip, f"declared {declared}, but begins as utf-8 and is read as utf-8", declared)


def _from_labels(labels: list[str]) -> Charset:
    """The charset of the first label that is known and can be right, else UTF-8."""
    doubt = doubted_label = None
    for label in labels:
        codec = _codec(label)
        if codec and codec not in UTF_16_AND_32:
            break
        # A declaration readable as ASCII rules out UTF-16 and UTF-32; an HTTP label, too, as no pattern matched.
        doubt = doubt or (f"declared {label}, which it is not;" if codec else f'unknown charset "{label}",')
        doubted_label = doubted_label or label
    else:
        label, codec = "UTF-8", "utf-8"
    if doubt:
        return Charset(codec, 0, f"{doubt} read as {label}", doubted_label)
    return Charset(codec, 0, None if codec == "utf-8" else f"declared {label}, {_UTF8_REQUIRED}", label)


def _codec(label: str) -> str:
    """Python's name of the codec; empty for an unknown label."""
    return LABELS.get(label.strip().strip("\"'").lower(), "")


_UTF8_REQUIRED = "the protocol asks for UTF-8"


# --- transcoding ----------------------------------------------------------------------------------------------


class Transcoder(Protocol):
    """Bytes in, UTF-8 out.

    `invalid` counts the bytes that are invalid in the charset (code units in UTF-16 and 32), `utf8` the characters that
    were read as UTF-8 against the declared charset.
    """

    invalid: int = 0
    utf8: int = 0

    def feed(self, data: bytes) -> bytes:
        """The UTF-8 of these bytes; the start of an incomplete character is buffered."""

    def close(self) -> bytes:
        """The UTF-8 of an incomplete character at the end, which is invalid."""


def transcoder(codec: str) -> Transcoder:
    """A new Transcoder for one of the codecs in LABELS."""
    if codec == "utf-8":
        return _Utf8()
    if codec == "iso2022_jp":
        return _Iso2022Jp()
    if codec in _WESTERN:
        return _Western(codec)
    if codec in UTF_16_AND_32:
        return _Utf16Or32(codec)
    return _Multibyte(codec) if codec in _MULTIBYTE else _SingleByte(codec)


_MULTIBYTE = frozenset({"gb18030", "big5hkscs", "euc_jp", "cp932", "cp949"})

# Charsets in which well-formed UTF-8 overrides the declaration. Servers and templates declare ISO-8859-1 for any
# content, and UTF-8 decoded as that gives URLs that no server knows (/caf%C3%83%C2%A9). Such a sequence begins with C2
# to F4 and continues with 80 to BF. In these two charsets that is an accented letter followed by quotes, currency or
# other signs (the few letters from 80 to BF, like Š and œ, follow none in the languages that use them): a lower-case
# letter with two or three of them, or a capital with one, as in `ROSÉ®`, which is rare enough to accept the error. The
# only lower-case letter that needs just one is ß: see _SHARP_S. Other charsets are ambiguous. In windows-1251, KOI8 and
# ISO-8859-5, C3 A0 and D0 B0 are adjacent letters; 1250 and 8859-2 have Polish letters in 80 to BF (`KÓŁ` is D3 A3),
# Turkish has `BEŞİKTAŞ’IN` (DE 92), and in the multi-byte charsets nearly every pair is a character. To decide would
# take the whole document, so their declaration holds.
_WESTERN = frozenset({"cp1252", "iso8859-15"})


def _as_windows_1252(byte: int) -> str:
    # WHATWG's index maps the five bytes that Python leaves undefined to the C1 controls of the same number.
    try:
        return bytes((byte,)).decode("cp1252")
    except UnicodeDecodeError:
        return chr(byte)


_WINDOWS_1252 = "".join(map(_as_windows_1252, range(256)))
# How the error handler "surrogateescape" represents invalid bytes.
_ESCAPED = re.compile("[\udc80-\udcff]+")


def _is_utf8(text: str) -> bool:
    """Whether no byte was escaped."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escapes(table: str) -> dict[int, str]:
    """Escape of each invalid byte -> its character in a table of 256 characters."""
    return {0xDC00 + byte: table[byte] for byte in range(0x80, 0x100)}


_IN_WINDOWS_1252 = _escapes(_WINDOWS_1252)


def _unescape(text: str, escapes: dict[int, str]) -> tuple[str, int]:
    """(the text with its escaped bytes replaced by the table, their number)."""
    count = 0

    def unescape(match: re.Match[str]) -> str:
        nonlocal count
        count += len(match[0])
        return match[0].translate(escapes)

    return _ESCAPED.sub(unescape, text), count


# The Unicode Standard, table 3-7: the start of a well-formed sequence that is incomplete.
_INCOMPLETE_UTF8 = re.compile(
    rb"""
    (?: [\xc2-\xdf]
      | \xe0[\xa0-\xbf]? | [\xe1-\xec\xee\xef][\x80-\xbf]? | \xed[\x80-\x9f]?
      | \xf0(?:[\x90-\xbf][\x80-\xbf]?)? | [\xf1-\xf3][\x80-\xbf]{0,2} | \xf4(?:[\x80-\x8f][\x80-\xbf]?)?
    )\Z
    """,
    re.VERBOSE,
)


class _Utf8(Transcoder):
    """Validates UTF-8; valid chunks are returned without a copy."""

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, data: bytes) -> bytes:
        if self._buffer:
            data = self._buffer + data
            self._buffer = b""
        if data.isascii():
            return data
        incomplete = _INCOMPLETE_UTF8.search(data, max(0, len(data) - 3))
        if incomplete:
            self._buffer = incomplete[0]
            data = data[: incomplete.start()]
        return self._validated(data)

    def close(self) -> bytes:
        rest, self._buffer = self._buffer, b""
        return self._validated(rest)

    def _validated(self, data: bytes) -> bytes:
        try:
            data.decode()
        except UnicodeDecodeError:
            text, invalid = _unescape(data.decode("utf-8", "surrogateescape"), _IN_WINDOWS_1252)
            self.invalid += invalid
            return text.encode()
        return data


# DF begins the sequences of U+07C0 to U+07FF, N'Ko. It is also ß, which may precede a closing quote, an ellipsis or a
# no-break space in German: in a document that is declared Western, it is ß.
_SHARP_S = re.compile("[\u07c0-\u07ff]")
_ASCII = bytes(range(0x80))
_NOT_CONTINUING = bytes(byte for byte in range(256) if not 0x80 <= byte <= 0xBF)


class _Western(_Utf8):
    """Well-formed UTF-8 is kept, every other byte is decoded by the table; `others` counts these. None is invalid."""

    def __init__(self, codec: str) -> None:
        super().__init__()
        self.others = 0
        self._table = _table(codec)
        self._escapes = _escapes(self._table)

    def _validated(self, data: bytes) -> bytes:
        high = len(data.translate(None, _ASCII))
        if not data.translate(None, _NOT_CONTINUING):  # no UTF-8: the usual case of a correct declaration
            self.others += high
            return codecs.charmap_decode(data, "strict", self._table)[0].encode()
        text, others = self._read(data)
        self.utf8 += len(text) - (len(data) - high) - others
        self.others += others
        return text.encode()

    def _read(self, data: bytes) -> tuple[str, int]:
        """(the text, how many of its bytes were decoded by the table)."""
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
    """The character of each byte in a single-byte codec; that of windows-1252 where the codec has none."""
    table = bytes(range(256)).decode(codec, "replace")
    return "".join(char if char != "\ufffd" else other for char, other in zip(table, _WINDOWS_1252, strict=True))


class _SingleByte(Transcoder):
    """A single-byte charset: a table of 256 characters."""

    def __init__(self, codec: str) -> None:
        self._table = _table(codec)
        self._valid = bytes(range(256)).decode(codec, "ignore").encode(codec)

    def feed(self, data: bytes) -> bytes:
        self.invalid += len(data.translate(None, self._valid))
        return codecs.charmap_decode(data, "strict", self._table)[0].encode()

    def close(self) -> bytes:
        return b""


class _Multibyte(Transcoder):
    """A multi-byte charset by Python's incremental decoder; after an invalid byte, the next may begin a character."""

    def __init__(self, codec: str) -> None:
        self._decoder = codecs.getincrementaldecoder(codec)("surrogateescape")

    def feed(self, data: bytes) -> bytes:
        text = self._decoder.decode(data)
        if not _is_utf8(text):
            text, invalid = _unescape(text, _IN_WINDOWS_1252)
            self.invalid += invalid
        return text.encode()

    def close(self) -> bytes:
        rest = self._decoder.getstate()[0]
        self.invalid += len(rest)
        return "".join(_WINDOWS_1252[byte] for byte in rest).encode()


class _Utf16Or32(Transcoder):
    """UTF-16 and UTF-32. Invalid data is replaced by whole code units, to stay aligned with those that follow.

    A U+FFFD in the document counts as invalid, too: it is the trace of earlier damage.
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

# RFC 1468, and the Encoding Standard 12.2: the character set that an escape sequence selects. JIS-Roman differs from
# ASCII in `\` and `~`, but is used where ASCII is meant: WHATWG reads these two bytes of Shift_JIS as ASCII, too.
_CHARACTER_SETS = {b"\x1b(B": "ascii", b"\x1b(J": "ascii", b"\x1b(I": "kana", b"\x1b$@": "kanji", b"\x1b$B": "kanji"}


def _tokens(text: bytes, beginning: bytes) -> re.Pattern[bytes]:
    """An escape sequence; the incomplete start of a token; text of a character set; any other byte."""
    escape = rb"(?P<escape> \x1b \( [BIJ] | \x1b \$ [@B] ) | (?P<incomplete> (?: \x1b [($]? | %b ) \Z )"
    return re.compile(rb"%b | (?P<text> %b ) | ." % (escape % beginning, text), re.VERBOSE | re.DOTALL)


_TOKENS = {
    "ascii": _tokens(rb"[^\x1b]+", rb"\x1b"),
    "kana": _tokens(rb"[\x21-\x5f]+", rb"\x1b"),
    "kanji": _tokens(rb"(?: [\x21-\x7e]{2} )+", rb"[\x21-\x7e]"),
}
_HIGH = bytes(byte | 0x80 for byte in range(256))


class _Kanji(dict[int, str]):
    """Two bytes of JIS X 0208, as one number -> the character of Shift_JIS, or the two as ASCII if it has none."""

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
    """ISO-2022-JP. Python's decoder raises at unknown sequences, or drops them.

    Each line begins in ASCII (RFC 1468), so that a lost escape sequence damages only the rest of its line. Bytes from
    80 on are invalid in this 7-bit charset, and are read as UTF-8, which they usually are.
    """

    def __init__(self) -> None:
        self._set = "ascii"
        self._buffer = b""
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
        data, self._buffer = self._buffer + data, b""
        at = 0
        while at < len(data):
            token = _TOKENS[self._set].match(data, at)
            assert token is not None  # noqa: S101 - any byte is one
            at, kind, text = token.end(), token.lastgroup, token[0]
            if kind == "escape":
                yield self._ascii.close()
                self._set = _CHARACTER_SETS[text]
            elif kind == "incomplete" and not final:
                self._buffer = text
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
        """A byte that belongs to no character: ASCII, or part of a UTF-8 sequence."""
        self._misplaced += text.isascii()
        if text in b"\r\n":
            self._set = "ascii"
        return self._ascii.feed(text)
