"""Charset detection and transcoding: the first bytes and a label in, a codec and a note out; then bytes in, UTF-8 out.

Labels are those of the WHATWG Encoding Standard, 4.2; any other is unknown, and none is guessed. Between the two, the
words of a document decide whether it is UTF-8 against its declaration. Transcoding drops no byte: invalid ones are read
as windows-1252 (in UTF-16 and UTF-32: U+FFFD) and counted, however the input is cut.
"""

from __future__ import annotations

import codecs
import re
import string
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Protocol

import attrs
import webencodings

HEAD_BYTES = 1024  # where BOM and XML declaration are looked for, as HTML's prescan does

# Codecs that read less than the standard's decoders: GBK is read as GB18030 (10.1.1), ISO-2022-JP has Kana (12.2.1).
_WIDER_CODECS = {"gbk": "gb18030", "iso2022_jp": "iso2022_jp_ext"}
# Encodings of the standard that are not for text. UTF-7 it bans, as it hides markup in ASCII.
_NO_TEXT = frozenset({"replacement", "x-user-defined"})

_UTF_16_AND_32 = frozenset({"utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"})
_ISO_2022_JP = "iso2022_jp_ext"
# Codecs whose invalid data is replaced by U+FFFD, to stay aligned with what follows -> for messages: unit, stand-in.
REPLACED_CODECS = {
    **dict.fromkeys(_UTF_16_AND_32, ("unit", "U+FFFD")),
    _ISO_2022_JP: ("byte", "windows-1252 or U+FFFD"),
}

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
# Linear: what may repeat is possessive, or cannot begin again inside itself.
_DECLARATION = re.compile(rb"""<\?xml\s[^<>]*?\bencoding\s*+=\s*+(["'])\s*+([^"'<>]++)\1""")
_HEADER_CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s"';]+)""", re.IGNORECASE)
_MAX_LABEL = 80


@attrs.frozen
class Charset:
    """The codec of a document, after `skip` bytes of BOM. `note` is a message for S07, None if all is in order.

    `label` is the declared label that was used, or that the note is about.
    """

    codec: str
    skip: int = 0
    note: str | None = None
    label: str | None = None


def declared_charset(content_type: str) -> str | None:
    """The label in a Content-Type header."""
    charset = _HEADER_CHARSET.search(content_type)
    return charset[1] if charset else None


def decode_body(body: bytes, *labels: str | None) -> str:
    """The text of a whole body without an XML declaration, such as HTML: by BOM, by the first known label, or UTF-8.

    Invalid bytes become U+FFFD.
    """
    bom, codec = _bom(body)
    codec = codec or _from_labels([label for label in labels if label]).codec
    return body[len(bom) :].decode(codec, "replace")


def _bom(data: bytes) -> tuple[bytes, str]:
    return next(((bom, codec) for bom, codec in _BOMS if data.startswith(bom)), (b"", ""))


def detect(head: bytes, http_charset: str | None = None) -> Charset:
    """The charset by BOM, by the pattern of the first characters, by XML declaration, by HTTP, or else UTF-8.

    A BOM that contradicts the bytes, such as FF FE before UTF-8, is skipped, and the other sources decide.

    `head` is the first HEAD_BYTES, or all bytes of a shorter document.
    """
    declaration = _DECLARATION.search(head)
    declared = declaration[2].decode("latin-1").rstrip() if declaration else None
    if declared and len(declared) > _MAX_LABEL:
        declared = None
    labels = [label for label in (declared, http_charset) if label]
    bom, codec = _bom(head)
    text = head[len(bom) :]
    detected = next((codec for pattern, codec in _PATTERNS if pattern.match(text)), None)
    found = _from_bytes(detected, 0, None) if detected else _from_labels(labels)
    if not bom:
        return found
    # The markup of a sitemap is ASCII: in UTF-16 and UTF-32 each character of that has a NUL beside it.
    is_narrow = codec in _UTF_16_AND_32 and text != b"" and b"\0" not in text
    if not is_narrow and detected in (None, codec):
        return _from_bytes(codec, len(bom), declared)
    note = f"begins with the byte-order mark of {codec}, which it is not; read as {found.codec}"
    return Charset(found.codec, len(bom), note, found.label)


def _from_bytes(codec: str, skip: int, declared: str | None) -> Charset:
    """The charset that the bytes themselves show. (Only behind a UTF-8 BOM is a declaration readable here.)"""
    if codec != "utf-8":
        return Charset(codec, skip, f"begins as {codec}, {_UTF8_REQUIRED}")
    if declared is None or codec_of(declared) == codec:
        return Charset(codec, skip)
    return Charset(codec, skip, f"declared {declared}, but begins as utf-8 and is read as utf-8", declared)


def _from_labels(labels: list[str]) -> Charset:
    """The charset of the first label that is known and can be right, else UTF-8."""
    doubt = doubted_label = None
    for label in labels:
        codec = codec_of(label)
        if codec and codec not in _UTF_16_AND_32:
            break
        # A declaration readable as ASCII rules out UTF-16 and UTF-32; an HTTP label, too, as no pattern matched.
        doubt = doubt or (f"declared {label}, which it is not;" if codec else f'unknown charset "{label}",')
        doubted_label = doubted_label or label
    else:
        label, codec = "UTF-8", "utf-8"
    if doubt:
        return Charset(codec, 0, f"{doubt} read as {label}", doubted_label)
    return Charset(codec, 0, None if codec == "utf-8" else f"declared {label}, {_UTF8_REQUIRED}", label)


@lru_cache(64)
def codec_of(label: str) -> str:
    """Returns Python's name of the codec; empty for an unknown label."""
    encoding = webencodings.lookup(label.strip().strip("\"'")) if label.isascii() else None
    if encoding is None or encoding.name in _NO_TEXT:
        return ""
    name = encoding.codec_info.name
    return _WIDER_CODECS.get(name, name)


_UTF8_REQUIRED = "the protocol asks for UTF-8"


# --- UTF-8 against the declaration ------------------------------------------------------------------------------

# Wald's sequential test: the evidence of each different word, in bits, is added up until it passes a bound. A repeated
# word says nothing new. Of the stop words of 40 languages and the words of Sphinx's translations, in small letters,
# capitals and mixed, in all charsets that have their letters (219,000), 192 are valid UTF-8. None of these has more
# than 8 bits, so no single word decides. `python -m benchmarks.charsets` measures documents.
_BITS_FOR_UTF8 = 12
_BITS_AGAINST = -40  # five words that are no UTF-8; in a document that is, some may be damaged
_CONTINUATION_BITS = 2  # for each byte from 80 to BF that continues a character of UTF-8
_IMPROBABLE_BITS = 4  # for each character that makes the text improbable in the declared charset; against: in UTF-8
_NO_UTF8_BITS = -8  # for a word that is not UTF-8, or is cut within a character at its end
_MAX_DIFFERENT_WORDS = 1000  # after which the declaration is used
_MAX_WORD_BYTES = 240  # the rest of a longer word is not weighed
HELD_BYTES = 1 << 20  # the most text that is held back

_LETTERS = string.ascii_letters.encode()
_WORD_BYTES = _LETTERS + bytes(range(0x80, 0x100))
_WORDS = re.compile(rb"[A-Za-z\x80-\xff]++")
_HIGH = re.compile(rb"[\x80-\xff]")


class DeclarationTest:
    """Decides by its words whether a document is UTF-8, although another charset is declared.

    In: its bytes. Out: the same bytes in pieces, and whether each is UTF-8. From the first word that is not ASCII, they
    are held back until they are decided; what is undecided after HELD_BYTES, or at the end, is as declared. The result
    does not depend on how the input is cut.
    """

    def __init__(self, codec: str) -> None:
        # In _WESTERN each character is judged alone; UTF-16 and UTF-32 are only found by the first bytes.
        is_tested = not (codec == "utf-8" or codec in _WESTERN or codec in REPLACED_CODECS)
        self._is_utf8: bool | None = None if is_tested else False
        self._codec = codec
        self._held = bytearray()
        self._weighed = 0  # of the held bytes
        self._words: set[bytes] = set()
        self._bits = 0

    def feed(self, data: bytes) -> Iterable[tuple[bytes, bool]]:
        """The pieces that are ASCII, decided, or more than can be held."""
        return self._tested(data) if self._is_utf8 is None else ((data, self._is_utf8),)

    def _tested(self, data: bytes) -> Iterator[tuple[bytes, bool]]:
        while data and self._is_utf8 is None:
            room = HELD_BYTES - len(self._held)
            piece, data = data[:room], data[room:]
            self._held += piece
            yield self._release(self._word_start()), False
            if piece.strip(_WORD_BYTES):  # else no word ends here
                self._weigh_complete_words()
            if self._is_utf8 is not None:
                yield self._release(len(self._held)), self._is_utf8
            elif len(self._held) == HELD_BYTES:
                yield self._release(self._weighed or HELD_BYTES), False
        if data:
            yield data, bool(self._is_utf8)

    def close(self) -> Iterator[tuple[bytes, bool]]:
        """What is still held back."""
        self._weigh(bytes(self._held[self._weighed :]))
        yield self._release(len(self._held)), bool(self._is_utf8)

    def _release(self, size: int) -> bytes:
        released = bytes(self._held[:size])
        del self._held[:size]
        self._weighed = max(0, self._weighed - size)
        return released

    def _word_start(self) -> int:
        """Where the first word that is not ASCII begins, or that may become one."""
        high = _HIGH.search(self._held)
        end = high.start() if high else len(self._held)
        before = self._held[max(0, end - _MAX_WORD_BYTES) : end]
        return end - len(before) + len(before.rstrip(_LETTERS))

    def _weigh_complete_words(self) -> None:
        complete = bytes(self._held[self._weighed :]).rstrip(_WORD_BYTES)
        self._weighed += len(complete)
        for word in dict.fromkeys(_WORDS.findall(complete)):
            self._weigh(word)

    def _weigh(self, word: bytes) -> None:
        word = word[:_MAX_WORD_BYTES]
        if self._is_utf8 is not None or word.isascii() or word in self._words:
            return
        self._words.add(word)
        self._bits += _bits_for_utf8(word, self._codec)
        if self._bits >= _BITS_FOR_UTF8:
            self._is_utf8 = True
        elif self._bits <= _BITS_AGAINST or len(self._words) == _MAX_DIFFERENT_WORDS:
            self._is_utf8 = False


def _bits_for_utf8(word: bytes, codec: str) -> int:
    text, size = codecs.utf_8_decode(word, "surrogateescape", False)
    if _ESCAPED.search(text):
        return _NO_UTF8_BITS
    bits = (size - len(text)) * _CONTINUATION_BITS
    if codec in _FREQUENT:  # one of six Chinese characters in GBK is one of two bytes in UTF-8
        bits -= sum("\x80" <= character < "\u0800" for character in text)
    characters = sum(not character.isascii() for character in text)
    improbable = min(characters, _improbabilities(word[:size].decode(codec, "replace"), codec))
    bits += (improbable - _improbabilities(text, "utf-8")) * _IMPROBABLE_BITS
    return max(_NO_UTF8_BITS, bits if size == len(word) else bits + _NO_UTF8_BITS)


def _improbabilities(word: str, codec: str) -> int:
    """How often this is unlike a word: by its letters, and by each script beside another, unless it is CJK."""
    kinds = "".join(_kind(character, codec) for character in word)
    scripts = {_script(character) for character in word if character.isalpha()} - _CJK
    return len(_IMPROBABLE.findall(kinds)) + max(0, len(scripts) - 1)


# A kind that is no letter; a capital behind a small letter, or two before one; one Chinese character, or a quotation
# mark, between letters.
_IMPROBABLE = re.compile("x|l(?=u)|uu(?=l)|(?<=[lu])k(?=[lu])|(?<=[luo])q(?=[luo])")
# Codec -> the characters of nearly all text: signs, Kana, Hangul, and the more frequent of the two levels of Chinese
# characters. UTF-8 read as one of these has many others.
_FREQUENT = {
    "gb18030": re.compile(rb"[\xa1-\xa9\xb0-\xd7][\xa1-\xfe]"),
    "big5hkscs": re.compile(rb"[\xa1-\xc6][\x40-\xfe]"),
    "cp949": re.compile(rb"[\xa1-\xfe][\xa1-\xfe]"),
    "euc_jp": re.compile(rb"[\xa1-\xa8\xb0-\xcf][\xa1-\xfe]"),
    "cp932": re.compile(rb"[\x81-\x84\x88-\x97][\x40-\xfc]"),
}
# The scripts that sites are written in, by the first word of Unicode's names.
_CJK = frozenset({
    "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "HALFWIDTH", "FULLWIDTH", "IDEOGRAPHIC",
})  # fmt: skip
_SCRIPTS = _CJK | {
    "LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "GEORGIAN", "HEBREW", "ARABIC", "DEVANAGARI", "BENGALI", "GURMUKHI",
    "GUJARATI", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "SINHALA", "THAI", "LAO", "MYANMAR", "KHMER", "ETHIOPIC",
    "COMBINING",
}  # fmt: skip
_KINDS = {"Lu": "u", "Ll": "l", "Lt": "u", "Lm": "o", "Lo": "o", "Mn": "", "Mc": "", "Me": ""}  # else x
_KINDS_OF_OTHERS = {
    **dict.fromkeys("\u2019\xa0\xb7\u2013\u2014\u200c\u200d", ""),  # what may stand between letters
    **dict.fromkeys("\u2018\u201c\u201d\u201e\u201a\xab\xbb\u2026\xa9\xae\xb0\u2122", "q"),
    **dict.fromkeys("\xaa\xba\xb5", "x"),  # signs that are letters in Unicode
}


@lru_cache(4096)
def _kind(character: str, codec: str) -> str:
    """l, u: a small or a capital letter; k: CJK; o: another letter; q: a quotation mark; x: hardly part of a word."""
    if character.isascii():
        return "u" if character.isupper() else "l"
    if codec in _FREQUENT:
        return "k" if _FREQUENT[codec].fullmatch(character.encode(codec, "replace")) else "x"
    if character in _KINDS_OF_OTHERS:
        return _KINDS_OF_OTHERS[character]
    script = _script(character)
    kind = _KINDS.get(unicodedata.category(character), "x") if script in _SCRIPTS else "x"
    return "k" if kind == "o" and script in _CJK else kind


def _script(character: str) -> str:
    return unicodedata.name(character, "").partition(" ")[0]


# --- transcoding ----------------------------------------------------------------------------------------------


class Transcoder(Protocol):
    """Bytes in, UTF-8 out.

    `invalid` counts the bytes that are invalid in the charset (with REPLACED_CODECS, also the U+FFFD), `utf8` the
    characters that were read as UTF-8 against the declared charset.
    """

    invalid: int = 0
    utf8: int = 0

    def feed(self, data: bytes) -> bytes:
        """The UTF-8 of these bytes; the start of an incomplete character is buffered."""

    def close(self) -> bytes:
        """The UTF-8 of an incomplete character at the end, which is invalid."""


def transcoder(codec: str) -> Transcoder:
    """A new Transcoder for a codec of codec_of(), or one of REPLACED_CODECS."""
    if codec == "utf-8":
        return _Utf8()
    if codec in _WESTERN:
        return _Western(codec)
    if codec == _ISO_2022_JP:
        return _Iso2022Jp(codec)
    return _Replacing(codec) if codec in REPLACED_CODECS else _Legacy(codec)


# Charsets in which well-formed UTF-8 overrides the declaration. Servers and templates declare ISO-8859-1 for any
# content, and UTF-8 decoded as that gives URLs that no server knows (/caf%C3%83%C2%A9). Such a sequence begins with C2
# to F4 and continues with 80 to BF. In these two charsets that is an accented letter followed by quotes, currency or
# other signs (the few letters from 80 to BF, like Š and œ, follow none in the languages that use them): a lower-case
# letter with two or three of them, or a capital with one, as in `ROSÉ®`, which is rare enough to accept the error. The
# only lower-case letter that needs just one is ß: see _SHARP_S. In other charsets a single character is ambiguous: in
# windows-1251, KOI8 and ISO-8859-5, C3 A0 and D0 B0 are adjacent letters; 1250 and 8859-2 have Polish letters in 80 to
# BF (`KÓŁ` is D3 A3), Turkish has `BEŞİKTAŞ’IN` (DE 92), and in the multi-byte charsets nearly every pair is a
# character. DeclarationTest decides by several words.
_WESTERN = frozenset({"cp1252", "iso8859-15"})


# How the error handler "surrogateescape" represents invalid bytes.
_ESCAPED = re.compile("[\udc80-\udcff]+")


def _escapes(codec: str) -> dict[int, str]:
    """Maps the escape of each byte to its character in a single-byte codec.

    WHATWG's windows-1252 has the C1 controls of the same number where Python's has no character.
    """
    return {0xDC00 + byte: bytes((byte,)).decode(codec, "ignore") or chr(byte) for byte in range(256)}


_IN_WINDOWS_1252 = _escapes("cp1252")


def _unescape(text: str, escapes: dict[int, str]) -> tuple[str, int]:
    """(the text with its escaped bytes replaced by the table, their number)."""
    count = 0

    def unescape(match: re.Match[str]) -> str:
        nonlocal count
        count += len(match[0])
        return match[0].translate(escapes)

    return _ESCAPED.sub(unescape, text), count


class _Utf8(Transcoder):
    """Validates UTF-8; valid chunks are returned without a copy."""

    _buffer = b""

    def feed(self, data: bytes) -> bytes:
        return self._read(self._buffer + data, final=False)

    def close(self) -> bytes:
        return self._read(self._buffer, final=True)

    def _read(self, data: bytes, *, final: bool) -> bytes:
        if data.isascii():
            self._buffer = b""
            return data
        try:
            size = codecs.utf_8_decode(data, "strict", final)[1]
        except UnicodeDecodeError:
            text, size = codecs.utf_8_decode(data, "surrogateescape", final)
            text, invalid = _unescape(text, _IN_WINDOWS_1252)
            self.invalid += invalid
            self._buffer = data[size:]
            return text.encode()
        self._buffer = data[size:]
        return data[:size]


class CountedUtf8(_Utf8):
    """UTF-8 that is declared as another charset."""

    def _read(self, data: bytes, *, final: bool) -> bytes:
        invalid = self.invalid
        out = super()._read(data, final=final)
        text = out.decode()
        self.utf8 += len(text) - len(text.encode("ascii", "ignore")) - (self.invalid - invalid)
        return out


# DF begins the sequences of U+07C0 to U+07FF, N'Ko. It is also ß, which may precede a closing quote, an ellipsis or a
# no-break space in German: in a document that is declared Western, it is ß.
_SHARP_S = re.compile("[\u07c0-\u07ff]")
_ASCII = bytes(range(0x80))


class _Western(_Utf8):
    """Well-formed UTF-8 is kept, every other byte is decoded by the table; `others` counts these. None is invalid."""

    others = 0

    def __init__(self, codec: str) -> None:
        self._escapes = _escapes(codec)

    def _read(self, data: bytes, *, final: bool) -> bytes:
        text, size = codecs.utf_8_decode(data, "surrogateescape", final)
        self._buffer = data[size:]
        text, others = _unescape(text, self._escapes)
        if b"\xdf" in data:
            text, sharp = _SHARP_S.subn(self._by_the_table, text)
            others += 2 * sharp
        self.others += others
        self.utf8 += len(text) - (size - len(data[:size].translate(None, _ASCII))) - others
        return text.encode()

    def _by_the_table(self, match: re.Match[str]) -> str:
        return "".join(self._escapes[0xDC00 + byte] for byte in match[0].encode())


class _Legacy(Transcoder):
    """Any other charset, by Python's incremental decoder; after an invalid byte, the next may begin a character."""

    def __init__(self, codec: str) -> None:
        self._decoder = codecs.getincrementaldecoder(codec)("surrogateescape")

    def feed(self, data: bytes) -> bytes:
        return self._to_utf8(self._decoder.decode(data))

    def close(self) -> bytes:
        return self._to_utf8(self._decoder.getstate()[0].decode("ascii", "surrogateescape"))

    def _to_utf8(self, text: str) -> bytes:
        text, invalid = _unescape(text, _IN_WINDOWS_1252)
        self.invalid += invalid
        return text.encode()


class _Replacing(Transcoder):
    """A charset of REPLACED_CODECS. A U+FFFD in the document counts as invalid, too: it is the trace of damage."""

    def __init__(self, codec: str) -> None:
        self._decoder = codecs.getincrementaldecoder(codec)("replace")

    def feed(self, data: bytes) -> bytes:
        return self._count(self._decoder.decode(data))

    def close(self) -> bytes:
        return self._count(self._decoder.decode(b"", final=True))

    def _count(self, text: str) -> bytes:
        self.invalid += text.count("\ufffd")
        return text.encode()


# Bytes that ISO-2022-JP, a 7-bit charset, does not have; or those that it may have.
_RUN = re.compile(rb"[\x80-\xff]+|[\0-\x7f]+")


class _Iso2022Jp(_Replacing):
    """ISO-2022-JP. Bytes from 80 on are invalid, and are read as UTF-8, which they usually are, or windows-1252."""

    def __init__(self, codec: str) -> None:
        super().__init__(codec)
        self._high = _Western("cp1252")

    def feed(self, data: bytes) -> bytes:
        return b"".join(map(self._feed_run, _RUN.findall(data)))

    def close(self) -> bytes:
        return self._close_high() + super().close()

    def _feed_run(self, run: bytes) -> bytes:
        return self._close_high() + super().feed(run) if run.isascii() else self._count_high(self._high.feed(run))

    def _close_high(self) -> bytes:
        return self._count_high(self._high.close())

    def _count_high(self, out: bytes) -> bytes:
        self.invalid += self._high.others
        self.utf8 += self._high.utf8
        self._high.others = self._high.utf8 = 0
        return out
