"""The charset of a document, its problems, and invalid bytes."""

import codecs

import kit
import pytest
from hypothesis import given
from hypothesis import strategies as st
from webencodings.labels import LABELS

import sitemap_reader as sr
from sitemap_reader import Limits
from sitemap_reader.model import count_of
from sitemap_reader.parser import HELD_BYTES, Decoder, codec_of

CAFE = "https://example.com/caf\u00e9"
JAPANESE = "\u65e5\u672c"
RUSSIAN = "\u043f\u0440\u0438\u0432\u0435\u0442"
UTF_8_BOM = codecs.BOM_UTF8


def decode(data: bytes, http: str | None = None, size: int = 0) -> tuple[str, Decoder]:
    out, decoder = kit.decode(data, http, size=size)
    return out.decode(), decoder


def notes(decoder: Decoder) -> list[str]:
    assert {fault.code for fault in decoder.faults} <= {"S07"}
    assert decoder.complete
    return [fault.message for fault in decoder.faults]


def xml(label: str | None, text: str = CAFE) -> str:
    encoding = "" if label is None else f' encoding="{label}"'
    return f'<?xml version="1.0"{encoding}?><loc>{text}</loc>'


def begins(codec: str) -> list[str]:
    return [f"begins as {codec}, the protocol asks for UTF-8"]


def false_mark(codec: str, label: str) -> list[str]:
    return [f"begins with the byte-order mark of {codec}, which it is not; read as {label}"]


def declared(label: str) -> list[str]:
    return [f"declared {label}, the protocol asks for UTF-8"]


def lies(label: str, characters: int) -> list[str]:
    return [f"declared {label}, but it holds UTF-8: {count_of(characters, 'character')} read as UTF-8"]


def invalid(codec: str, count: int, stand_in: str = "windows-1252") -> list[str]:
    unit = "unit" if stand_in == "U+FFFD" else "byte"
    return [f"invalid in {codec}, read as {stand_in}: {count_of(count, unit)}"]


def true(text: str, codec: str, label: str) -> tuple[bytes, str, str, list[str]]:
    """The row of a document whose HTTP charset is right."""
    return text.encode(codec), label, text, declared(label)


# The bytes, the HTTP charset, the decoded text, the problems.
PRECEDENCE = {
    # 1. the BOM, before all
    "utf-8 bom": (UTF_8_BOM + xml("UTF-8").encode(), None, xml("UTF-8"), []),
    "utf-8 bom over http": (UTF_8_BOM + xml(None).encode(), "windows-1251", xml(None), []),
    "utf-8 bom over the declaration": (UTF_8_BOM + xml("iso-8859-1").encode(), None, xml("iso-8859-1"),
                                       ["declared iso-8859-1, but begins as utf-8 and is read as utf-8"]),
    "utf-8 bom over an unknown label": (UTF_8_BOM + xml("x-klingon").encode(), None, xml("x-klingon"),
                                        ["declared x-klingon, but begins as utf-8 and is read as utf-8"]),
    "utf-16-le bom over a declaration of utf-8": (
        codecs.BOM_UTF16_LE + xml("utf-8").encode("utf-16-le"), "utf-8", xml("utf-8"), begins("utf-16-le")),
    "utf-16-be bom, declared little-endian": (
        codecs.BOM_UTF16_BE + xml("UTF-16LE").encode("utf-16-be"), None, xml("UTF-16LE"), begins("utf-16-be")),
    "utf-32-le bom, which begins as utf-16's": (
        codecs.BOM_UTF32_LE + xml("utf-32").encode("utf-32-le"), None, xml("utf-32"), begins("utf-32-le")),
    "utf-32-be bom": (codecs.BOM_UTF32_BE + xml(None).encode("utf-32-be"), "utf-16", xml(None), begins("utf-32-be")),
    # but not if it cannot be true
    "utf-16-le bom before utf-8": (codecs.BOM_UTF16_LE + xml("utf-8").encode(), None, xml("utf-8"),
                                   false_mark("utf-16-le", "utf-8")),
    "utf-16-be bom before utf-8": (codecs.BOM_UTF16_BE + xml(None).encode(), "windows-1251",
                                   f"{xml(None)[:-7]}\u0413\xa9</loc>", false_mark("utf-16-be", "cp1251")),
    "utf-16-le bom before a list of URLs": (
        codecs.BOM_UTF16_LE + CAFE.encode(), "utf-16", CAFE, false_mark("utf-16-le", "utf-8")),
    "utf-32-le bom before a declared charset": (
        codecs.BOM_UTF32_LE + xml("windows-1251", RUSSIAN).encode("cp1251"), None, xml("windows-1251", RUSSIAN),
        false_mark("utf-32-le", "cp1251")),
    "utf-16-le bom before utf-16-be": (codecs.BOM_UTF16_LE + xml(None).encode("utf-16-be"), None, xml(None),
                                       false_mark("utf-16-le", "utf-16-be")),
    "utf-8 bom before utf-16-le": (UTF_8_BOM + xml("utf-16").encode("utf-16-le"), None, xml("utf-16"),
                                   false_mark("utf-8", "utf-16-le")),
    "utf-16-le bom before Japanese": (codecs.BOM_UTF16_LE + f"{JAPANESE} a".encode("utf-16-le"), None, f"{JAPANESE} a",
                                      begins("utf-16-le")),
    # 2. the pattern of the first bytes: XML 1.0, appendix F
    "utf-16-le without bom": (xml("utf-16").encode("utf-16-le"), None, xml("utf-16"), begins("utf-16-le")),
    "utf-16-be without bom": (xml("utf-16").encode("utf-16-be"), None, xml("utf-16"), begins("utf-16-be")),
    "utf-16-le, declared big-endian": (xml("UTF-16BE").encode("utf-16-le"), "utf-16be", xml("UTF-16BE"),
                                       begins("utf-16-le")),
    "utf-16-be, declared little-endian": (
        xml("UTF-16LE").encode("utf-16-be"), None, xml("UTF-16LE"), begins("utf-16-be")),
    "utf-16-le, declared nothing": ((CAFE + "\n").encode("utf-16-le"), None, CAFE + "\n", begins("utf-16-le")),
    "utf-32-le without bom": (xml("utf-32").encode("utf-32-le"), None, xml("utf-32"), begins("utf-32-le")),
    "utf-32-be without bom": (xml("utf-32").encode("utf-32-be"), "utf-8", xml("utf-32"), begins("utf-32-be")),
    # 3. the declaration, before HTTP (RFC 7303 is the other way round; servers guess, documents less often)
    "utf-8 over http": (xml("utf-8").encode(), "iso-8859-1", xml("utf-8"), []),
    "windows-1251 over http": (xml("windows-1251", RUSSIAN).encode("cp1251"), "utf-8", xml("windows-1251", RUSSIAN),
                               declared("windows-1251")),
    "in single quotes and wide": (b"<?xml version = '1.0'\n encoding = ' KOI8-R ' ?>" + RUSSIAN.encode("koi8-r"), None,
                                  f"<?xml version = '1.0'\n encoding = ' KOI8-R ' ?>{RUSSIAN}", declared("KOI8-R")),
    "behind junk": (b"\n junk " + xml("koi8-r", RUSSIAN).encode("koi8-r"), None, "\n junk " + xml("koi8-r", RUSSIAN),
                    declared("koi8-r")),
    "in another instruction": (b"<?xml-stylesheet encoding='koi8-r'?>" + RUSSIAN.encode(), None,
                               f"<?xml-stylesheet encoding='koi8-r'?>{RUSSIAN}", []),
    # 4. HTTP
    "http alone": (RUSSIAN.encode("cp1251"), "windows-1251", RUSSIAN, declared("windows-1251")),
    "http, quoted": (RUSSIAN.encode("koi8-r"), ' "koi8-r" ', RUSSIAN, declared(' "koi8-r" ')),
    "http beside a declaration without a charset": (
        xml(None, RUSSIAN).encode("cp1251"), "windows-1251", xml(None, RUSSIAN), declared("windows-1251")),
    "an empty declaration": (xml("").encode(), None, xml(""), []),
    "http behind an empty declaration": (
        xml("", RUSSIAN).encode("cp1251"), "windows-1251", xml("", RUSSIAN), declared("windows-1251")),
    "http behind an unknown label": (xml("x-klingon", RUSSIAN).encode("cp1251"), "windows-1251",
                                     xml("x-klingon", RUSSIAN), ['unknown charset "x-klingon", read as windows-1251']),
    "http behind a lie": (xml("utf-16", RUSSIAN).encode("cp1251"), "windows-1251", xml("utf-16", RUSSIAN),
                          ["declared utf-16, which it is not; read as windows-1251"]),
    "http that says utf-8 behind a lie": (
        xml("utf-16").encode(), "utf-8", xml("utf-16"), ["declared utf-16, which it is not; read as utf-8"]),
    "an unknown label behind a lie": (xml("utf-16").encode(), "x-klingon", xml("utf-16"),
                                      ["declared utf-16, which it is not; read as UTF-8"]),
    "http that is empty": (CAFE.encode(), "", CAFE, []),
    # 5. UTF-8
    "nothing stated": (CAFE.encode(), None, CAFE, []),
    "nothing there": (b"", None, "", []),
    "nothing there but a bom": (UTF_8_BOM, None, "", []),
    # declarations that cannot be true
    "utf-16 that is ascii": (xml("utf-16", "a").encode(), None, xml("utf-16", "a"),
                             ["declared utf-16, which it is not; read as UTF-8"]),
    "utf-32 by http, that is ascii": (b"<loc>a</loc>", "utf-32", "<loc>a</loc>",
                                      ['unknown charset "utf-32", read as UTF-8']),
}

WESTERN = {
    "declared truly": (xml("iso-8859-1").encode("cp1252"), None, xml("iso-8859-1"), declared("iso-8859-1")),
    "ascii only": (xml("us-ascii", "a").encode(), None, xml("us-ascii", "a"), declared("us-ascii")),
    "declared, and utf-8": (xml("iso-8859-1").encode(), None, xml("iso-8859-1"), lies("iso-8859-1", 1)),
    "us-ascii, and utf-8": (xml("US-ASCII").encode(), None, xml("US-ASCII"), lies("US-ASCII", 1)),
    "windows-1252, and utf-8": (xml("windows-1252").encode(), None, xml("windows-1252"), lies("windows-1252", 1)),
    "iso-8859-15, and utf-8": (xml("iso-8859-15").encode(), None, xml("iso-8859-15"), lies("iso-8859-15", 1)),
    "by http, and utf-8": (xml(None).encode(), "ISO-8859-1", xml(None), lies("ISO-8859-1", 1)),
    "by http behind a lie, and utf-8": (xml("utf-16").encode(), "latin1", xml("utf-16"), lies("utf-16", 1)),
    "any script": (f"{RUSSIAN}{JAPANESE}\U0001f600".encode(), "latin1", f"{RUSSIAN}{JAPANESE}\U0001f600",
                   lies("latin1", 9)),
    "both in one document": (b"\xe9 \xc3\xa9 \xe9\xc3\xa9 \x80", "latin1", "\u00e9 \u00e9 \u00e9\u00e9 \u20ac",
                             lies("latin1", 2)),
    "nothing is invalid": (b"\x81\x8d\x8f\x90\x9d\xff\xc0\xc1", "latin1", "\x81\x8d\x8f\x90\x9d\u00ff\u00c0\u00c1",
                           declared("latin1")),
    "ill-formed utf-8": (b"\xc0\xaf \xed\xa0\x80 \xf5\x80\x80\x80", "latin1",
                         "\u00c0\u00af \u00ed\u00a0\u20ac \u00f5\u20ac\u20ac\u20ac", declared("latin1")),
    "cut within utf-8": (b"\xe2\x82", "latin1", "\u00e2\u201a", declared("latin1")),
    "cut behind utf-8": (b"\xc3\xa9\xe2\x82", "latin1", "\u00e9\u00e2\u201a", lies("latin1", 1)),
    "the euro sign of iso-8859-15": (b"\xa4\x80", "iso-8859-15", "\u20ac\x80", declared("iso-8859-15")),
    # Western letters followed by signs, which are no UTF-8
    "quotes": true("\u00abcaf\u00e9\u00bb \u201c\u00e0\u201d \u00f1\u2019\u2026 1\u00a0\u20ac", "cp1252", "latin1"),
    "French, Finnish": true("c\u0153ur \u0152uvre \u0161akki \u017dena", "cp1252", "latin1"),
    "a German headline": true("\u201eSpa\u00df\u201c \u00bbGru\u00df\u00ab gro\u00df\u00a0\u2026", "cp1252", "latin1"),
    "a German headline in utf-8": ("\u201eSpa\u00df\u201c".encode(), "latin1", "\u201eSpa\u00df\u201c",
                                   lies("latin1", 3)),
    "a capital before a sign is taken for utf-8": (b"NESCAF\xc9\xae", "latin1", "NESCAF\u026e", lies("latin1", 1)),
}

# In other charsets one word that is UTF-8 too is as declared.
OTHERS = {
    "Cyrillic that is utf-8 too": true("\u0413\u00a9 \u0420\u00b0", "cp1251", "windows-1251"),
    "Polish that is utf-8 too": true("K\u00d3\u0141", "cp1250", "windows-1250"),
    "Turkish that is utf-8 too": true("BE\u015e\u0130KTA\u015e\u2019IN", "cp1254", "iso-8859-9"),
    "Shift_JIS that is utf-8 too": true("\uff83\uff69", "cp932", "shift_jis"),
    "utf-8 declared windows-1251": ("\u00e9".encode(), "windows-1251", "\u0413\u00a9", declared("windows-1251")),
    # labels that name no charset
    "utf-7": (b"<a>+AOk-</a>", "utf-7", "<a>+AOk-</a>", ['unknown charset "utf-7", read as UTF-8']),
    "x-user-defined": (CAFE.encode(), "x-user-defined", CAFE, ['unknown charset "x-user-defined", read as UTF-8']),
    # ends and odd bytes
    "utf-8 cut within a character": (b"caf\xc3", None, "caf\u00c3", invalid("utf-8", 1)),
    "utf-8 cut within four bytes": (b"\xf0\x9f\x98", None, "\u00f0\u0178\u02dc", invalid("utf-8", 3)),
    "Shift_JIS cut within a character": (JAPANESE.encode("cp932") + b"\x93", "shift_jis", JAPANESE + "\u201c",
                                         declared("shift_jis") + invalid("cp932", 1)),
    "utf-16 cut within a character": (codecs.BOM_UTF16_LE + "ab".encode("utf-16-le") + b"c", None, "ab\ufffd",
                                      begins("utf-16-le") + invalid("utf-16-le", 1, "U+FFFD")),
    "utf-16 cut within a pair": (codecs.BOM_UTF16_BE + "a\U0001f600".encode("utf-16-be")[:-2], None, "a\ufffd",
                                 begins("utf-16-be") + invalid("utf-16-be", 1, "U+FFFD")),
    "utf-32 beyond Unicode": (codecs.BOM_UTF32_BE + b"\0\x11\0\0\0\0\0a", None, "\ufffda",
                              begins("utf-32-be") + invalid("utf-32-be", 1, "U+FFFD")),
    "NUL bytes": (b"<\0a>\0\0", None, "<\0a>\0\0", []),
    "NUL bytes at the start": (b"\0\0\0\0<a>", None, "\0\0\0\0<a>", []),
    "two boms": (UTF_8_BOM * 2 + b"<a>", None, "\ufeff<a>", []),
    "a bom in the middle": (b"<a>\xef\xbb\xbf</a>", None, "<a>\ufeff</a>", []),
    "a bom in the middle of utf-16": (codecs.BOM_UTF16_LE + "a\ufeffb".encode("utf-16-le"), None, "a\ufeffb",
                                      begins("utf-16-le")),
    "half a bom": (b"\xef\xbb<a>", None, "\u00ef\u00bb<a>", invalid("utf-8", 2)),
    "a bom behind a blank": (b" \xef\xbb\xbf<a>", None, " \ufeff<a>", []),
}

ISO_2022_JP = {
    "Kanji": (f"<a>{JAPANESE}</a>~\\".encode("iso2022_jp"), f"<a>{JAPANESE}</a>~\\", 0),
    "markup in Kanji": ("\u3002<\u3042&\u65e5>".encode("iso2022_jp"), "\u3002<\u3042&\u65e5>", 0),
    "the older set of Kanji": (b"\x1b$@F|K\\\x1b(J/a", "\u65e5\u672c/a", 0),
    "half-width Kana": (b"\x1b(I\x31\x32\x1b(B/", "\uff71\uff72/", 0),
    "an odd byte at the end": (b"\x1b$BF|K", "\u65e5\ufffd", 1),
    "no such character": (b"\x1b$B){F|\x1b(B", "\ufffd\u65e5", 1),
    "another escape": (b"a\x1b$Cb", "a\ufffdb", 1),
    "windows-1252": (b"caf\xe9 \x1b$BF|\xe9K\\", "caf\u00e9 \u65e5\u00e9\u672c", 2),
    "windows-1252 at the end": (b"caf\xe9", "caf\u00e9", 1),
}


def check(data: bytes, http: str | None, text: str, noted: list[str]) -> None:
    """The text and the problems, in pieces of any size."""
    for size in (1, 2, 3, 1_500, 0):
        out, decoder = decode(data, http, size)
        assert (out, notes(decoder)) == (text, noted), size


@pytest.mark.parametrize(
    ("data", "http", "text", "noted"),
    [pytest.param(*row, id=name) for rows in (PRECEDENCE, WESTERN, OTHERS) for name, row in rows.items()],
)
def test_a_document_is_read_as(data: bytes, http: str | None, text: str, noted: list[str]) -> None:
    check(data, http, text, noted)


@pytest.mark.parametrize(("data", "text", "misplaced"), ISO_2022_JP.values(), ids=list(ISO_2022_JP))
def test_iso_2022_jp_is_read_and_ascii_stays_ascii(data: bytes, text: str, misplaced: int) -> None:
    stand_in = "windows-1252 or U+FFFD"
    noted = declared("iso-2022-jp") + (invalid("iso2022_jp_ext", misplaced, stand_in) if misplaced else [])
    check(data, "iso-2022-jp", text, noted)


def test_utf_8_that_is_declared_iso_2022_jp_is_read_as_utf_8() -> None:
    check(xml("iso-2022-jp", JAPANESE).encode(), None, xml("iso-2022-jp", JAPANESE), lies("iso-2022-jp", 2))


WITHOUT_NKO = st.characters(exclude_categories=["Cs"], max_codepoint=0x7BF) | st.characters(
    exclude_categories=["Cs"], min_codepoint=0x800)


@pytest.mark.parametrize("label", ["iso-8859-1", "us-ascii", "windows-1252", "iso-8859-15"])
@given(text=st.text(WITHOUT_NKO, max_size=50), size=st.integers(1, 7))
def test_utf_8_comes_through_a_western_label_unharmed(label: str, text: str, size: int) -> None:
    body = xml(label, "." * 1100 + text)  # after the bytes that decide the charset
    out, decoder = decode(body.encode(), None, size)
    characters = len(text) - sum(character.isascii() for character in text)
    assert (out, notes(decoder)) == (body, lies(label, characters) if characters else declared(label))


# Lower-case text as it is written: letters in words, signs outside of them.
words = st.text("abcdefghijklmnopqrstuvwxyzàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿ", min_size=1, max_size=8)
signs = st.sampled_from(["", " ", "\u00a0", ", ", "\u2019", "\u2026", "\u00bb", "\u201d ", "\u00ae", "\u2122"])


western = st.lists(st.tuples(words, signs), max_size=10).map(lambda pairs: "".join(map("".join, pairs)))


@given(western.filter(lambda text: not text.startswith(("þÿ", "ÿþ"))))  # the byte order marks of UTF-16
def test_western_text_in_lower_case_is_never_taken_for_utf_8(text: str) -> None:
    out, decoder = decode(text.encode("cp1252"), "iso-8859-1")
    assert (out, notes(decoder)) == (text, declared("iso-8859-1"))


# --- UTF-8 declared as another charset ---

# The declared charset, and the UTF-8 words that show that it is none of it.
MISDECLARED = {
    "one long word": ("windows-1251", "\u0420\u0443\u0441\u0441\u043a\u0438\u0439"),
    "Russian as KOI8-R": ("koi8-r", "\u043d\u043e\u0432\u043e\u0441\u0442\u0438"),
    "Russian as ISO-8859-5": ("iso-8859-5", "\u043d\u043e\u0432\u043e\u0441\u0442\u0438"),
    "Russian as IBM866": ("ibm866", "\u043d\u043e\u0432\u043e\u0441\u0442\u0438"),
    "Russian as GBK": ("gbk", "\u043d\u043e\u0432\u043e\u0441\u0442\u0438"),
    "Greek": ("windows-1253", "\u03ba\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1"),
    "Greek as ISO-8859-7": ("iso-8859-7", "\u03ba\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1"),
    "Hebrew": ("windows-1255", "\u05e9\u05dc\u05d5\u05dd"),
    "Arabic": ("windows-1256", "\u0627\u0644\u0639\u0631\u0628\u064a\u0629"),
    "Persian with a joiner": ("windows-1256", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
    "Thai": ("windows-874", "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22"),
    "Polish": ("windows-1250", "za\u017c\u00f3\u0142\u0107 g\u0119\u015bl\u0105"),
    "Polish as ISO-8859-2": ("iso-8859-2", "za\u017c\u00f3\u0142\u0107 g\u0119\u015bl\u0105"),
    "Turkish": ("iso-8859-9", "t\u00fcrk\u00e7e \u00f6\u011fren"),
    "Latvian": ("windows-1257", "latvie\u0161u valod\u0101 r\u012bga"),
    "Vietnamese": ("windows-1258", "ti\u1ebfng vi\u1ec7t"),
    "French as KOI8-R": ("koi8-r", "caf\u00e9 fran\u00e7ais"),
    "German as macintosh": ("macintosh", "gr\u00f6\u00dfe \u00fcber stra\u00dfe"),
    "Chinese": ("gbk", "\u65b0\u95fb"),
    "Chinese as GB18030": ("gb18030", "\u65b0\u95fb"),
    "Chinese as Big5": ("big5", "\u65b0\u805e"),
    "Chinese beside Latin": ("gb2312", "iPhone\u624b\u673a\u65b0\u6b3e"),
    "Japanese": ("shift_jis", "\u30cb\u30e5\u30fc\u30b9"),
    "Japanese as EUC-JP": ("euc-jp", "\u65e5\u672c\u8a9e\u306e\u30da\u30fc\u30b8"),
    "Korean": ("euc-kr", "\ud55c\uad6d\uc5b4"),
    "Japanese as windows-1251": ("windows-1251", "\u65e5\u672c"),
    "behind words that are both": ("windows-1251", "caf\u00e9 \u043d\u043e\u0432\u043e\u0441\u0442\u0438"),
}


@pytest.mark.parametrize(("label", "text"), MISDECLARED.values(), ids=MISDECLARED)
def test_utf_8_that_is_improbable_as_declared_is_utf_8(label: str, text: str) -> None:
    characters = sum(not character.isascii() for character in text)
    for body, http in ((xml(label, text), None), (text, label)):
        check(body.encode(), http, body, lies(label, characters))


# Words that are UTF-8 as well.
GENUINE = {
    "Russian": ("koi8-r", "\u0435\u0451 \u043c\u043e\u044f"),
    "Russian in capitals": ("iso-8859-5", "\u0423\u0414\u0410\u0427\u0410 \u0422\u0410 \u0421\u041e \u0422\u041e"),
    "Ukrainian": ("koi8-u", "\u0442\u0456 \u0440\u0456\u0447 \u0446\u0456"),
    "Russian of MS-DOS": ("ibm866", "\u0442\u043e\u043b\u044c\u043a\u043e \u0443\u0436\u0435"),
    "Chinese": ("gbk", "\u56fe\u7247 \u6a21\u5f0f \u4e4b\u4e00 \u76ee\u5f55 \u8c22\u8c22"),
    "Korean": ("euc-kr", "\ud2c8\ud0c0 \ud070 \ud0a4 \ud45c"),
    "Polish in capitals": ("iso-8859-2", "K\u00d3\u0141KO R\u00d3\u017bA WR\u00d3\u017bKA"),
    "Turkish in capitals": ("windows-1254", "BEKTA\u015e\u2019IN ADANI\u015e\u2019IN ULA\u015e\u2019IN"),
    "French with apostrophes": ("macintosh", "l\u2019\u00e9cole d\u2019\u00e9tat"),
    "Greek in GBK": ("gbk", "\u03c3\u03c4\u03bf\u03b9\u03c7\u03b5\u03b9\u03bf\u03c3\u03b5\u03b9\u03c1\u03ac"),
    "one word, again and again": ("iso-8859-2", "K\u00d3\u0141 " * 50),
}


@pytest.mark.parametrize(("label", "text"), GENUINE.values(), ids=GENUINE)
def test_words_that_may_be_utf_8_are_as_declared_if_they_are_probable_so(label: str, text: str) -> None:
    data = text.encode(codec_of(label), "ignore")
    check(data, label, data.decode(codec_of(label)), declared(label))


def test_one_letter_of_utf_8_decides_only_with_others() -> None:
    assert decode("caf\u00e9/1 caf\u00e9/2".encode(), "windows-1251")[0] == "caf\u0413\u00a9/1 caf\u0413\u00a9/2"
    assert decode("caf\u00e9 m\u00eame".encode(), "windows-1251")[0] == "caf\u00e9 m\u00eame"


def test_a_title_that_is_cut_within_a_character_is_no_evidence_against_utf_8() -> None:
    titles = [f"<title>{word}</title>".encode() for word in (f"{RUSSIAN}-{JAPANESE}", JAPANESE, RUSSIAN)]
    data = b"".join([titles[0], titles[1].replace(b"\xac<", b"<"), titles[2]])
    out, decoder = decode(data, "koi8-r")
    assert out == data.decode("utf-8", "surrogateescape").translate({0xDCE6: "\u00e6", 0xDC9C: "\u0153"})
    assert notes(decoder) == lies("koi8-r", 15) + invalid("utf-8", 2)


def is_read_as_utf_8(words: list[bytes]) -> bool:
    """Whether these words are so little evidence that a last one of UTF-8 decides."""
    return " holds UTF-8" in notes(decode(b" ".join([*words, RUSSIAN.encode() * 9, b""]), "windows-1251")[1])[0]


def test_five_different_words_that_are_no_utf_8_decide_against_it() -> None:
    against = [f"{RUSSIAN}{letter}".encode("cp1251") for letter in "abcde"]
    assert is_read_as_utf_8(against[:4] * 9)
    assert not is_read_as_utf_8(against)


def test_after_a_thousand_different_words_the_declaration_is_used() -> None:
    letters = [bytes(97 + int(digit) for digit in str(at)) for at in range(500)]
    in_balance = [word for some in letters for word in (b"\xe0\xe0" + some, JAPANESE[0].encode() + some)]
    assert is_read_as_utf_8(in_balance[:999])
    assert not is_read_as_utf_8(in_balance)


def held(filler: int) -> tuple[str, list[str]]:
    """What is read behind a word that decides nothing and so many bytes, and the problems."""
    out, decoder = decode("\u00e9 ".encode() + b"." * filler + f" {RUSSIAN} ".encode(), "windows-1251", 1 << 16)
    return out, notes(decoder)


def test_text_is_held_back_up_to_its_limit_until_it_is_decided() -> None:
    word, separators = len(RUSSIAN.encode()), len("\u00e9".encode()) + 3
    within = HELD_BYTES - word - separators
    assert held(within) == (f"\u00e9 {'.' * within} {RUSSIAN} ", lies("windows-1251", 7))
    beyond = within + 1
    assert held(beyond) == (f"\u0413\u00a9 {'.' * beyond} {RUSSIAN} ", lies("windows-1251", 6))


def test_ascii_is_not_held_back() -> None:
    decoder = Decoder(Limits(), "windows-1251")
    filler = b"<url></url>" * 200
    assert b"".join(decoder.feed(filler)) == filler
    assert b"".join(decoder.feed(b"\xe0 " + filler)) == b""
    assert b"".join(decoder.close()).decode() == "\u0430 " + filler.decode()


def test_chunks_stay_small_when_held_text_is_decided() -> None:
    decoder = Decoder(Limits(), "windows-1251")
    chunks = [
        *decoder.feed("\u00e9 ".encode() + b"." * 900_000),
        *decoder.feed(f" {RUSSIAN} ".encode()),
        *decoder.close(),
    ]
    assert max(map(len, chunks)) <= 1 << 16
    assert b"".join(chunks).decode() == f"\u00e9 {'.' * 900_000} {RUSSIAN} "


def test_held_text_of_a_truncated_document_is_returned() -> None:
    parser = sr.SitemapParser(url="https://example.com/list.txt", content_type="text/plain; charset=windows-1251")
    items = parser.feed(b"https://example.com/\xe0\nhttps://example.com/b\nhttps://exam") + parser.close(cut=True)
    assert [item.loc for item in items if isinstance(item, sr.UrlRecord)] == [
        "https://example.com/%D0%B0", "https://example.com/b",
    ]


LEGACY = sorted({codec_of(label) for label in LABELS} - {"", "utf-8", "cp1252", "iso8859-15", "utf-16-le", "utf-16-be"})
high = [*(word.encode() for word in (RUSSIAN, JAPANESE, "\u00e9", "\u0142", "\u2019")), RUSSIAN.encode("koi8-r")]
odd = [bytes([byte]) for byte in b"aZ- <.\xe9\xd0\xb3\x81"]


@given(codec=st.sampled_from(LEGACY), words=st.lists(st.sampled_from(high + odd), max_size=30), size=st.integers(1, 9))
def test_the_decision_does_not_depend_on_the_chunks(codec: str, words: list[bytes], size: int) -> None:
    label = next(label for label in LABELS if codec_of(label) == codec)
    data = b" " * 1024 + b"".join(words)
    whole, decoder = decode(data, label)
    out, piecemeal = decode(data, label, size)
    assert (out, piecemeal.faults) == (whole, decoder.faults)


# --- labels ---


@pytest.mark.parametrize(("label", "codec", "text"), [
    ("latin1", "cp1252", "caf\u00e9 \u20ac"),
    ("ISO-8859-1", "cp1252", "caf\u00e9 \u20ac"),
    ("us-ascii", "cp1252", "caf\u00e9"),
    ("windows-1251", "cp1251", RUSSIAN),
    ("koi8-r", "koi8-r", RUSSIAN),
    ("gb2312", "gb18030", "\u65e5\u672c \U0001f600"),
    ("Shift_JIS", "cp932", JAPANESE),
    ("euc-jp", "euc_jp", JAPANESE),
    ("csISO2022JP", "iso2022_jp", JAPANESE),
    ("ks_c_5601-1987", "cp949", "\ud55c\uad6d"),
    ("big5", "big5hkscs", "\u4e2d\u6587"),
])
def test_whatwg_labels_name_the_codec(label: str, codec: str, text: str) -> None:
    body = xml(label, text)
    out, decoder = decode(body.encode(codec))
    assert (out, notes(decoder)) == (body, declared(label))
    assert decoder.faults[0].raw == label
    assert decode(text.encode(codec), label)[0] == text


def test_every_label_leads_to_a_text_codec_of_python() -> None:
    codecs_of_labels = {codec_of(label) for label in LABELS} - {""}
    assert len(codecs_of_labels) > 30
    for codec in codecs_of_labels:
        assert codecs.lookup(codec)._is_text_encoding


@pytest.mark.parametrize("label", ["UTF-8", "utf8", "unicode-1-1-utf-8"])
def test_every_label_of_utf_8_is_accepted(label: str) -> None:
    assert decode(xml(label).encode(), "latin1")[1].faults == []


@pytest.mark.parametrize("label", ["utf-7", "rot13", "hex", "idna", "replacement", "x-klingon", "\u00e9", "../etc"])
def test_unknown_charset_is_read_as_utf_8(label: str) -> None:
    for data, http in ((xml(label).encode(), None), (CAFE.encode(), label)):
        out, decoder = decode(data, http)
        assert out == data.decode()
        assert len(notes(decoder)) == 1
        assert "unknown charset" in notes(decoder)[0]


def test_http_charset_that_is_no_text_is_unknown() -> None:
    out, decoder = decode(CAFE.encode(), "\udce9")
    assert (out, notes(decoder)) == (CAFE, ['unknown charset "\udce9", read as UTF-8'])


def test_the_declaration_stands_in_the_first_1024_bytes() -> None:
    for blanks, label in ((900, ["declared koi8-r, the protocol asks for UTF-8"]), (1024, [])):
        _, decoder = decode(b" " * blanks + xml("koi8-r", "a").encode())
        assert notes(decoder) == label


# --- invalid bytes ---


@pytest.mark.parametrize(("data", "text", "count"), [
    (b"caf\xe9", "caf\u00e9", 1),
    (b"caf\xe9!", "caf\u00e9!", 1),
    (b"\xe2\x82A", "\u00e2\u201aA", 2),
    (b"\xc3\xc3\xa9", "\u00c3\u00e9", 1),
    (b"\xc0\xaf", "\u00c0\u00af", 2),  # an overlong form
    (b"\xed\xa0\x80", "\u00ed\u00a0\u20ac", 3),  # a surrogate
    (b"\xf5\x90", "\u00f5\u0090", 2),
    (b"\x81\x8d\x8f\x90\x9d", "\x81\x8d\x8f\x90\x9d", 5),
    (b"nul\0 and \x1b", "nul\0 and \x1b", 0),
])
def test_bytes_invalid_in_utf_8_are_read_as_windows_1252(data: bytes, text: str, count: int) -> None:
    check(b"." * 1024 + data, None, "." * 1024 + text, invalid("utf-8", count) if count else [])


@pytest.mark.parametrize(("label", "data", "text", "noted"), [
    ("shift_jis", b"a\x81 b", "a\x81 b", invalid("cp932", 1)),
    ("gb18030", b"\x81\x30\x81!", "\x810\x81!", invalid("gb18030", 2)),
    ("euc-kr", b"\xff\xb0\xa1", "\u00ff\uac00", invalid("cp949", 1)),
    ("windows-1253", b"\xe1\xd2", "\u03b1\u00d2", invalid("cp1253", 1)),
    ("windows-1252", b"\x81\x80", "\x81\u20ac", []),
])
def test_bytes_invalid_in_another_charset_are_read_as_windows_1252(
    label: str, data: bytes, text: str, noted: list[str]
) -> None:
    check(b"." * 1500 + data, label, "." * 1500 + text, declared(label) + noted)


def test_an_unpaired_surrogate_leaves_utf_16_in_step() -> None:
    data = codecs.BOM_UTF16_LE + "ab".encode("utf-16-le") + b"\x00\xd8" + "cd".encode("utf-16-le") + b"e"
    check(data, None, "ab\ufffdcd\ufffd", begins("utf-16-le") + invalid("utf-16-le", 2, "U+FFFD"))


def test_character_split_between_chunks_is_no_charset_fault() -> None:
    decoder = Decoder(Limits(max_decoded_bytes=10))
    out = b"".join([*decoder.feed(b"a" * 9 + "\u00e9".encode()), *decoder.close()])
    assert (out, [fault.code for fault in decoder.faults]) == (b"a" * 9, ["S16"])
