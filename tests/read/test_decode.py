"""Bytes to UTF-8: layers, caps, charsets; and that nothing depends on how the input was cut."""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sitemap_reader.limits import PROTOCOL_MAX_BYTES, Limits
from sitemap_reader.read.charset import LABELS
from sitemap_reader.read.decode import Decoder

BODY = b"<?xml version='1.0'?>\n<urlset>" + b"<url><loc>https://example.com/</loc></url>" * 3000 + b"</urlset>"


def decode(
    data: bytes, charset: str | None = None, limits: Limits | None = None, size: int = 1 << 30
) -> tuple[bytes, Decoder]:
    decoder = Decoder(limits or Limits(), charset)
    out = b"".join(b"".join(decoder.feed(data[at : at + size])) for at in range(0, len(data), size))
    return out + b"".join(decoder.close()), decoder


def view(out: bytes, decoder: Decoder) -> tuple[object, ...]:
    counters = (decoder.bytes_wire, decoder.bytes_decoded, decoder.gzip_layers, decoder.sha256)
    return out, decoder.faults, decoder.complete, decoder.stopped, counters


def codes(decoder: Decoder) -> list[str]:
    return [fault.code for fault in decoder.faults]


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_gzip_layers_are_opened_up_to_the_limit(layers: int) -> None:
    data = BODY
    for _ in range(layers):
        data = gzip.compress(data)
    out, decoder = decode(data)
    assert out == BODY
    assert (decoder.gzip_layers, decoder.complete, decoder.faults) == (layers, True, [])
    assert (decoder.bytes_wire, decoder.bytes_decoded) == (len(data), len(BODY))
    assert decoder.sha256 == hashlib.sha256(BODY).hexdigest()


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
def test_one_layer_more_is_refused(limit: int) -> None:
    data = BODY
    for _ in range(limit + 1):
        data = gzip.compress(data)
    out, decoder = decode(data, limits=Limits(max_gzip_layers=limit))
    assert (out, decoder.complete, decoder.stopped, decoder.gzip_layers) == (b"", False, True, limit)
    assert [fault.message for fault in decoder.faults] == [f"gzip layers are over max_gzip_layers ({limit})"]


def test_an_inner_layer_that_is_huge_is_capped_too() -> None:
    # Inner members that hold nothing: 20 bytes each of the outer layer's output.
    data = gzip.compress(gzip.compress(b"") * 1000)
    out, decoder = decode(data, limits=Limits(max_decoded_bytes=10_000))
    assert (out, codes(decoder)) == (b"", ["S16"])


def test_the_cut_of_the_outer_layer_is_told_once() -> None:
    data = gzip.compress(gzip.compress(BODY), compresslevel=0)[:-60]
    out, decoder = decode(data)
    assert BODY.startswith(out)
    assert len(out) > 1000
    assert (codes(decoder), decoder.complete) == (["F07"], False)


def test_a_cut_inner_layer_is_told() -> None:
    _, decoder = decode(gzip.compress(gzip.compress(BODY)[:-20]))
    assert (codes(decoder), decoder.complete) == (["F07"], False)


def test_junk_behind_the_data_leaves_it_complete() -> None:
    out, decoder = decode(gzip.compress(BODY) + b"junk")
    assert (out, codes(decoder), decoder.complete) == (BODY, ["F07"], True)


def test_what_is_fed_after_the_stop_is_only_counted() -> None:
    decoder = Decoder(Limits(max_decoded_bytes=10))
    assert list(decoder.feed(b"x" * 11)) == []
    assert decoder.stopped
    assert list(decoder.feed(b"y" * 5)) == []
    assert b"".join(decoder.close()) == b"x" * 10
    assert (decoder.bytes_wire, decoder.bytes_decoded, codes(decoder)) == (16, 10, ["S16"])


@pytest.mark.parametrize(("length", "over"), [(PROTOCOL_MAX_BYTES, False), (PROTOCOL_MAX_BYTES + 1, True)])
def test_over_50_mib_is_a_note_and_reading_goes_on(length: int, over: bool) -> None:
    decoder = Decoder(Limits())
    total = sum(map(len, decoder.feed(bytes(length)))) + sum(map(len, decoder.close()))
    assert (total, decoder.complete) == (length, True)
    assert codes(decoder) == (["F08"] if over else [])


def test_chunks_are_bounded() -> None:
    decoder = Decoder(Limits())
    assert max(map(len, decoder.feed(BODY * 10))) <= 64 * 1024


def test_a_valid_chunk_is_passed_and_not_copied() -> None:
    decoder = Decoder(Limits())
    list(decoder.feed(BODY[:2000]))
    chunk = "müller".encode() * 100
    assert next(iter(decoder.feed(chunk))) is chunk


# --- charset ---

TEXT = '<?xml version="1.0"?>\n<loc>https://example.com/caf\u00e9/\u65e5\u672c/\U0001f600</loc>' + "x" * 2000


@pytest.mark.parametrize(
    ("bom", "codec"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_bom_beats_everything_and_is_dropped(bom: bytes, codec: str) -> None:
    out, decoder = decode(bom + TEXT.encode(codec), "windows-1251")
    assert out.decode() == TEXT
    assert codes(decoder) == ([] if codec == "utf-8" else ["S07"])
    assert decoder.complete


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_text_is_known_by_its_first_characters(codec: str) -> None:
    for text in (TEXT, "\n<a/>", "https://example.com/", "<"):
        out, decoder = decode(text.encode(codec))
        assert (out.decode(), codes(decoder)) == (text, ["S07"])


DECLARED = '<?xml version="1.0" encoding="{}"?><loc>{}</loc>'


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("latin1", "cp1252", "caf\u00e9 \u20ac"),
        ("ISO-8859-1", "cp1252", "caf\u00e9 \u20ac"),
        ("us-ascii", "cp1252", "caf\u00e9"),
        ("windows-1251", "cp1251", "\u043f\u0440\u0438\u0432\u0435\u0442"),
        ("koi8-r", "koi8-r", "\u043f\u0440\u0438\u0432\u0435\u0442"),
        ("gb2312", "gb18030", "\u65e5\u672c \U0001f600"),
        ("Shift_JIS", "cp932", "\u65e5\u672c"),
        ("euc-jp", "euc_jp", "\u65e5\u672c"),
        ("ks_c_5601-1987", "cp949", "\ud55c\uad6d"),
        ("big5", "big5hkscs", "\u4e2d\u6587"),
    ],
)
def test_whatwg_labels_name_the_codec(label: str, codec: str, text: str) -> None:
    body = DECLARED.format(label, text)
    out, decoder = decode(body.encode(codec))
    assert out.decode() == body
    assert [(fault.code, fault.raw) for fault in decoder.faults] == [("S07", label)]
    assert decoder.complete
    plain, decoder = decode(text.encode(codec), f' "{label}" ')
    assert (plain.decode(), codes(decoder)) == (text, ["S07"])


def test_every_label_leads_to_a_text_codec_of_python() -> None:
    assert len(LABELS) > 200
    for codec in set(LABELS.values()):
        assert codecs.lookup(codec)._is_text_encoding


@pytest.mark.parametrize("label", ["UTF-8", "utf8", "unicode-1-1-utf-8"])
def test_utf_8_by_any_name_is_no_fault(label: str) -> None:
    body = DECLARED.format(label, "caf\u00e9").encode()
    out, decoder = decode(body, "latin1")
    assert (out, decoder.faults) == (body, [])


@pytest.mark.parametrize("label", ["utf-7", "iso-2022-jp", "rot13", "hex", "idna", "x-klingon", "\u00e9", "../etc"])
def test_unknown_charset_is_read_as_utf_8(label: str) -> None:
    for data, http in ((DECLARED.format(label, "caf\u00e9").encode(), None), ("caf\u00e9".encode(), label)):
        out, decoder = decode(data, http)
        assert (out, codes(decoder), decoder.complete) == (data, ["S07"], True)
        assert "unknown charset" in decoder.faults[0].message


@pytest.mark.parametrize("label", ["utf-16", "UTF-16LE", "utf-32"])
@pytest.mark.parametrize("http", [None, "utf-16", "utf-8"])
def test_a_declaration_of_utf_16_that_is_readable_as_ascii_is_a_lie(label: str, http: str | None) -> None:
    body = DECLARED.format(label, "caf\u00e9").encode()
    out, decoder = decode(body, http)
    assert (out, codes(decoder)) == (body, ["S07"])
    assert "is not" in decoder.faults[0].message


def test_behind_a_lie_the_http_charset_counts() -> None:
    out, decoder = decode(DECLARED.format("utf-16", "caf\u00e9").encode("cp1252"), "latin1")
    assert "caf\u00e9" in out.decode()
    assert codes(decoder) == ["S07"]


@pytest.mark.parametrize(
    ("data", "text", "invalid"),
    [
        (b"caf\xe9", "caf\u00e9", 1),
        (b"caf\xe9!", "caf\u00e9!", 1),
        (b"\xe2\x82A", "\u00e2\u201aA", 2),
        (b"\xc3\xc3\xa9", "\u00c3\u00e9", 1),
        (b"\xc0\xaf", "\u00c0\u00af", 2),  # an overlong form
        (b"\xed\xa0\x80", "\u00ed\u00a0\u20ac", 3),  # a surrogate
        (b"\xf5\x90", "\u00f5\u0090", 2),
        (b"\x81\x8d\x8f\x90\x9d", "\x81\x8d\x8f\x90\x9d", 5),
        (b"nul\0 and \x1b", "nul\0 and \x1b", 0),
    ],
)
def test_bytes_invalid_in_utf_8_are_read_as_windows_1252(data: bytes, text: str, invalid: int) -> None:
    for size in (1, 2, 100):
        out, decoder = decode(b"." * 1024 + data, size=size)
        assert out.decode() == "." * 1024 + text
        assert decoder.complete
        assert codes(decoder) == (["S07"] if invalid else [])
        assert not invalid or f": {invalid} bytes" in decoder.faults[0].message


@pytest.mark.parametrize(
    ("codec", "data", "text", "invalid"),
    [
        ("shift_jis", b"a\x81 b", "a\x81 b", 1),
        ("shift_jis", "\u65e5".encode("cp932") + b"\x81", "\u65e5\x81", 1),
        ("gb18030", b"\x81\x30\x81!", "\x810\x81!", 2),
        ("euc-kr", b"\xff\xb0\xa1", "\u00ff\uac00", 1),
        ("windows-1253", b"\xe1\xd2", "\u03b1\u00d2", 1),
        ("windows-1252", b"\x81\x80", "\x81\u20ac", 0),
    ],
)
def test_bytes_invalid_in_another_charset_are_read_as_windows_1252(
    codec: str, data: bytes, text: str, invalid: int
) -> None:
    for size in (1, 2, 5000):
        out, decoder = decode(b"." * 1500 + data, codec, size=size)
        assert out.decode() == "." * 1500 + text
        assert codes(decoder) == ["S07", "S07"] if invalid else ["S07"]
        assert not invalid or f": {invalid} bytes" in decoder.faults[1].message


def test_an_unpaired_surrogate_leaves_utf_16_in_step() -> None:
    data = codecs.BOM_UTF16_LE + "ab".encode("utf-16-le") + b"\x00\xd8" + "cd".encode("utf-16-le") + b"e"
    for size in (1, 3, 100):
        out, decoder = decode(data, size=size)
        assert out.decode() == "ab\ufffdcd\ufffd"
        assert codes(decoder) == ["S07", "S07"]


def test_half_a_character_at_a_cut_is_no_charset_fault() -> None:
    _, decoder = decode(b"a" * 9 + "\u00e9".encode(), limits=Limits(max_decoded_bytes=10))
    assert codes(decoder) == ["S16"]


# --- chunks ---

PIECES = st.sampled_from(
    [
        b"<?xml version='1.0' encoding='shift_jis'?>",
        b"<?xml version='1.0' encoding='utf-16'?>",
        b"<?xml encoding='gb2312'?>",
        b"caf\xe9",
        b"\xe2\x82",
        b"\xac",
        b"\x81",
        b"\0",
        "\u65e5\u672c\U0001f600".encode(),
        "\u65e5\u672c".encode("cp932"),
        b"a" * 600,
        b"\n",
        codecs.BOM_UTF8,
        codecs.BOM_UTF16_LE,
        codecs.BOM_UTF32_BE,
        gzip.compress(b"inner"),
        b"\x1f\x8b",
    ]
)
BODIES = (st.lists(PIECES, max_size=8).map(b"".join)) | st.binary(max_size=60)
HARM = st.none() | st.tuples(st.integers(0, 1 << 16), st.integers(0, 255))


@given(
    body=BODIES,
    layers=st.integers(0, 3),
    harm=HARM,
    cut=st.integers(0, 30),
    tail=st.sampled_from([b"", b"\0\0", b"junk", gzip.compress(b"next \xe9"), b"\x1f"]),
    charset=st.sampled_from([None, "utf-8", "latin1", "euc-jp", "gbk", "utf-16", "nonsense"]),
    sizes=st.lists(st.integers(1, 700), min_size=1, max_size=12),
    cap=st.sampled_from([0, 7, 1023, 1024, 1 << 20]),
)
@example(
    body=b"a" * 1100, layers=1, harm=(14, 255), cut=0, tail=b"", charset="latin1", sizes=[5], cap=1024
)
def test_result_is_the_same_whole_byte_by_byte_and_at_random(
    body: bytes,
    layers: int,
    harm: tuple[int, int] | None,
    cut: int,
    tail: bytes,
    charset: str | None,
    sizes: list[int],
    cap: int,
) -> None:
    data = body
    for _ in range(layers):
        data = gzip.compress(data, mtime=0)
    data = bytearray(data[: len(data) - cut] + tail)
    if harm and data:
        data[harm[0] % len(data)] = harm[1]
    data = bytes(data)
    limits = Limits(max_decoded_bytes=cap, max_gzip_members=2)
    whole = view(*decode(data, charset, limits))
    assert view(*decode(data, charset, limits, size=1)) == whole

    decoder = Decoder(limits, charset)
    out, at, turn = b"", 0, 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        out += b"".join(decoder.feed(data[at : at + size]))
        at, turn = at + size, turn + 1
    out += b"".join(decoder.close())
    assert view(out, decoder) == whole
    out.decode()  # always UTF-8


@pytest.mark.parametrize("label", sorted(set(LABELS.values())))
@given(data=st.binary(max_size=50), text=st.text(max_size=20))
def test_every_codec_takes_any_bytes_and_ignores_the_chunks(label: str, data: bytes, text: str) -> None:
    name = next(name for name, codec in LABELS.items() if codec == label)
    data = data + text.encode(label, "ignore") + data[:3]
    whole = view(*decode(data, name))
    assert view(*decode(data, name, size=1)) == whole
    assert view(*decode(data, name, size=3)) == whole


def test_other_compression_is_plain_data_here() -> None:
    out, decoder = decode(bz2.compress(b"text"), "latin1")
    assert (out.startswith(b"BZh"), decoder.gzip_layers) == (True, 0)
