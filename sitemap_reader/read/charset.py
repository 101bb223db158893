"""Charsets: the first bytes and a label in, a codec's name and a transcoder to UTF-8 out.

No byte is dropped: what is invalid in the charset is read as windows-1252 (in UTF-16 and 32: U+FFFD) and counted.
Labels are those of the WHATWG Encoding Standard, 4.2; any other is unknown, and none is guessed.
"""

from __future__ import annotations

import codecs
import re
from typing import Protocol

import attrs

HEAD_BYTES = 1024  # where BOM and XML declaration are looked for, as HTML's prescan does

# Python's codec, and the labels that name it. Left out: ISO-2022-JP, whose escapes turn ASCII into something else
# (read as UTF-8 its URLs are right), and the labels that stand for no text at all (replacement, x-user-defined).
_LABELS_BY_CODEC = {
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": "iso-8859-2 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 latin2 l2 csisolatin2 "
    "iso-ir-101",
    "iso8859-3": "iso-8859-3 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 latin3 l3 csisolatin3 "
    "iso-ir-109",
    "iso8859-4": "iso-8859-4 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 latin4 l4 csisolatin4 "
    "iso-ir-110",
    "iso8859-5": "iso-8859-5 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988 cyrillic "
    "csisolatincyrillic iso-ir-144",
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
    "cp932": "shift_jis shift-jis sjis x-sjis windows-31j ms932 ms_kanji csshiftjis",
    "cp949": "euc-kr windows-949 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 cseuckr "
    "csksc56011987 iso-ir-149",
    "utf-16-le": "utf-16 utf-16le unicode unicodefeff ucs-2 iso-10646-ucs-2 csunicode",
    "utf-16-be": "utf-16be unicodefffe",
    # Not among WHATWG's, but read all the same.
    "utf-32-le": "utf-32 utf-32le ucs-4 iso-10646-ucs-4",
    "utf-32-be": "utf-32be",
}
LABELS = {label: codec for codec, labels in _LABELS_BY_CODEC.items() for label in labels.split()}

WIDE = frozenset({"utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"})
_MULTIBYTE = frozenset({"gb18030", "big5hkscs", "euc_jp", "cp932", "cp949"})

# UTF-32's little-endian BOM begins with UTF-16's: the longer ones first.
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# XML 1.0, appendix F: how the first characters look without a BOM, if they are ASCII.
_SHAPES = (
    (re.compile(rb"[\t-~]\0\0\0"), "utf-32-le"),
    (re.compile(rb"\0\0\0[\t-~]"), "utf-32-be"),
    (re.compile(rb"[\t-~]\0(?:[^\0]\0|\Z)"), "utf-16-le"),
    (re.compile(rb"\0[\t-~](?:\0[^\0]|\Z)"), "utf-16-be"),
)
_DECLARATION = re.compile(rb"""<\?xml\s[^>]*?\bencoding\s*=\s*(["'])\s*([^"'<>]{1,80}?)\s*\1""")


@attrs.frozen
class Charset:
    """What the bytes are to be read as; `skip` bytes of BOM come first. `note` says what is not as it should be."""

    codec: str
    skip: int = 0
    note: str | None = None
    raw: str | None = None


def detect(head: bytes, http_charset: str | None = None) -> Charset:
    """The charset by BOM, by the look of the first characters, by XML declaration, by HTTP, or UTF-8.

    `head` is the first 1,024 bytes, or all where there are fewer.
    """
    for bom, codec in _BOMS:
        if head.startswith(bom):
            return Charset(codec, len(bom), _not_utf8(f"begins as {codec}", codec))
    for shape, codec in _SHAPES:
        if shape.match(head):
            return Charset(codec, 0, _not_utf8(f"begins as {codec}", codec))
    declaration = _DECLARATION.search(head)
    labels = [declaration[2].decode("latin-1")] if declaration else []
    labels += [http_charset] if http_charset else []
    lie: Charset | None = None
    for label in labels:
        codec = LABELS.get(label.strip().strip("\"'").lower(), "")
        if codec not in WIDE:
            return lie if lie and codec == "utf-8" else _declared(label, codec)
        # What was readable as ASCII is neither UTF-16 nor UTF-32 (nor did it look like that without).
        lie = lie or Charset("utf-8", 0, f"declared {label}, which it is not; read as UTF-8", label)
    return lie or Charset("utf-8")


def _declared(label: str, codec: str) -> Charset:
    if not codec:
        return Charset("utf-8", 0, f'unknown charset "{label}", read as UTF-8', label)
    return Charset(codec, 0, _not_utf8(f"declared {label}", codec), None if codec == "utf-8" else label)


def _not_utf8(finding: str, codec: str) -> str | None:
    return None if codec == "utf-8" else f"{finding}, the protocol asks for UTF-8"


# --- to UTF-8 --------------------------------------------------------------------------------------------------


class Transcoder(Protocol):
    """Bytes in, UTF-8 out; `invalid` counts the bytes that are none in the charset (code units in UTF-16 and 32)."""

    invalid: int

    def feed(self, data: bytes) -> bytes:
        """The UTF-8 of these bytes; the beginning of a character waits for its end."""

    def close(self) -> bytes:
        """The UTF-8 of a beginning that is still waiting: it is invalid."""


def transcoder(codec: str) -> Transcoder:
    """A fresh transcoder for one of the codecs in LABELS."""
    if codec == "utf-8":
        return _Utf8()
    if codec in WIDE:
        return _Wide(codec)
    return _Multibyte(codec) if codec in _MULTIBYTE else _SingleByte(codec)


def _as_windows_1252(byte: int) -> str:
    # WHATWG's index maps the five bytes that Python leaves undefined to the C1 controls of the same number.
    try:
        return bytes((byte,)).decode("cp1252")
    except UnicodeDecodeError:
        return chr(byte)


_WINDOWS_1252 = [_as_windows_1252(byte) for byte in range(256)]
# What the error handler "surrogateescape" leaves of an invalid byte, and what the byte says in windows-1252.
_ESCAPED = re.compile("[\udc80-\udcff]+")
_UNESCAPE = {0xDC00 + byte: _WINDOWS_1252[byte] for byte in range(0x80, 0x100)}


def _unescape(text: str) -> tuple[str, int]:
    """The text with its escaped bytes read as windows-1252, and their number."""
    invalid = 0

    def unescaped(match: re.Match[str]) -> str:
        nonlocal invalid
        invalid += len(match[0])
        return match[0].translate(_UNESCAPE)

    return _ESCAPED.sub(unescaped, text), invalid


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


class _Utf8:
    """Checks; valid chunks pass as the objects they are."""

    def __init__(self) -> None:
        self.invalid = 0
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
        try:
            data.decode()
        except UnicodeDecodeError:
            return self._mend(data)
        return data

    def close(self) -> bytes:
        held, self._held = self._held, b""
        return self._mend(held)

    def _mend(self, data: bytes) -> bytes:
        text, invalid = _unescape(data.decode("utf-8", "surrogateescape"))
        self.invalid += invalid
        return text.encode()


class _SingleByte:
    """One table of 256 characters."""

    def __init__(self, codec: str) -> None:
        self.invalid = 0
        table = bytes(range(256)).decode(codec, "replace")
        undefined = [byte for byte in range(256) if table[byte] == "\ufffd"]
        self._table = "".join(_WINDOWS_1252[byte] if byte in undefined else table[byte] for byte in range(256))
        # windows-1252 itself has no invalid bytes: see _as_windows_1252.
        invalid = [] if codec == "cp1252" else undefined
        self._valid = bytes(byte for byte in range(256) if byte not in invalid)

    def feed(self, data: bytes) -> bytes:
        self.invalid += len(data.translate(None, self._valid))
        return codecs.charmap_decode(data, "strict", self._table)[0].encode()

    def close(self) -> bytes:
        return b""


class _Multibyte:
    """Python's incremental decoder. An invalid byte stands for itself alone, the next may begin a character."""

    def __init__(self, codec: str) -> None:
        self.invalid = 0
        self._decoder = codecs.getincrementaldecoder(codec)("surrogateescape")

    def feed(self, data: bytes) -> bytes:
        text = self._decoder.decode(data)
        try:
            return text.encode()
        except UnicodeEncodeError:  # escaped bytes are in it
            text, invalid = _unescape(text)
            self.invalid += invalid
            return text.encode()

    def close(self) -> bytes:
        waiting = self._decoder.getstate()[0]
        self.invalid += len(waiting)
        return "".join(_WINDOWS_1252[byte] for byte in waiting).encode()


class _Wide:
    """UTF-16 and UTF-32: what is invalid goes by code units, or all that follows would be out of step.

    A U+FFFD of the document's own counts as well: it stands for the same damage, done earlier.
    """

    def __init__(self, codec: str) -> None:
        self.invalid = 0
        self._decoder = codecs.getincrementaldecoder(codec)("replace")

    def feed(self, data: bytes) -> bytes:
        return self._count(self._decoder.decode(data))

    def close(self) -> bytes:
        return self._count(self._decoder.decode(b"", final=True))

    def _count(self, text: str) -> bytes:
        self.invalid += text.count("\ufffd")
        return text.encode()
