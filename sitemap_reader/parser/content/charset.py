"""Charsets: the first bytes and a label in, the name of a codec out, and what is to be said of it.

Labels are those of the WHATWG Encoding Standard, 4.2; any other is unknown, and none is guessed.
"""

from __future__ import annotations

import codecs
import re

import attrs

HEAD_BYTES = 1024  # where BOM and XML declaration are looked for, as HTML's prescan does

# Python's codec, and the labels that name it. Left out: those that stand for no text at all (replacement,
# x-user-defined), and UTF-7, which WHATWG bans: it hides markup in ASCII.
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
    "iso2022_jp": "iso-2022-jp csiso2022jp",
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
    """What the bytes are to be read as; `skip` bytes of BOM come first. `note` says what is not as it should be.

    `label` is the one that was believed, or that the note is about.
    """

    codec: str
    skip: int = 0
    note: str | None = None
    label: str | None = None


def detect(head: bytes, http_charset: str | None = None) -> Charset:
    """The charset by BOM, by the look of the first characters, by XML declaration, by HTTP, or UTF-8.

    A BOM that cannot be true, as FF FE before UTF-8, is stepped over, and the others decide.

    `head` is the first 1,024 bytes, or all where there are fewer.
    """
    declaration = _DECLARATION.search(head)
    declared = declaration[2].decode("latin-1") if declaration else None
    labels = [label for label in (declared, http_charset) if label]
    bom, codec = next(((bom, codec) for bom, codec in _BOMS if head.startswith(bom)), (b"", ""))
    text = head[len(bom) :]
    look = next((codec for shape, codec in _SHAPES if shape.match(text)), None)
    found = _evident(look, 0, None) if look else _stated(labels)
    if not bom:
        return found
    # The markup of a sitemap is ASCII: in UTF-16 and UTF-32 each character of that has a NUL beside it.
    is_narrow = codec in WIDE and text != b"" and b"\0" not in text
    if not is_narrow and look in (None, codec):
        return _evident(codec, len(bom), declared)
    note = f"begins with the byte-order mark of {codec}, which it is not; read as {found.codec}"
    return Charset(found.codec, len(bom), note, found.label)


def _evident(codec: str, skip: int, declared: str | None) -> Charset:
    """What the bytes show by themselves. (A declaration is only readable here behind the BOM of UTF-8.)"""
    if codec != "utf-8":
        return Charset(codec, skip, f"begins as {codec}, {_ASKED}")
    if declared is None or _codec(declared) == codec:
        return Charset(codec, skip)
    return Charset(codec, skip, f"declared {declared}, but begins as utf-8 and is read as that", declared)


def _stated(labels: list[str]) -> Charset:
    """What the first label says that can be true."""
    doubt = doubtful = None
    for label in labels:
        codec = _codec(label)
        if codec and codec not in WIDE:
            break
        # What was readable as ASCII is neither UTF-16 nor UTF-32 (nor did it look like that without).
        doubt = doubt or (f"declared {label}, which it is not;" if codec else f'unknown charset "{label}",')
        doubtful = doubtful or label
    else:
        label, codec = "UTF-8", "utf-8"
    if doubt:
        return Charset(codec, 0, f"{doubt} read as {label}", doubtful)
    return Charset(codec, 0, None if codec == "utf-8" else f"declared {label}, {_ASKED}", label)


def _codec(label: str) -> str:
    """Python's name of a codec, or nothing where the label is unknown."""
    return LABELS.get(label.strip().strip("\"'").lower(), "")


_ASKED = "the protocol asks for UTF-8"
