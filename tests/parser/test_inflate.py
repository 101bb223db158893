"""Content-Encoding: deflate, with or without zlib's header, and data declared so by mistake."""

import gzip
import zlib

import pytest
from kit import decode, parse

import sitemap_reader as sr
from sitemap_reader.parser import IDLE_SLICES, SLICE_BYTES, Decoder

BODY = b"<?xml version='1.0'?>\n<urlset>" + b"<url><loc>https://example.com/a</loc></url>" * 1600 + b"</urlset>"
SHORT = b"https://e.com/"


def raw(text: bytes, level: int = 9) -> bytes:
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    return packer.compress(text) + packer.flush()


def begun(text: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(text) + packer.flush(zlib.Z_FULL_FLUSH)


def inflate(data: bytes, size: int = 0, limits: sr.Limits | None = None) -> tuple[bytes, list[str], Decoder]:
    out, decoder = decode(data, size=size, limits=limits, content_encoding="deflate")
    return out, [fault.message for fault in decoder.faults], decoder


@pytest.mark.parametrize(("data", "text"), [
    (zlib.compress(BODY), BODY), (zlib.compress(BODY, 0), BODY), (zlib.compress(SHORT), SHORT),
    (raw(BODY), BODY), (raw(BODY, 0), BODY), (raw(BODY, 1), BODY), (raw(SHORT), SHORT), (raw(b""), b""),
    (gzip.compress(zlib.compress(BODY)), zlib.compress(BODY)),  # an inner layer is not declared
    (zlib.compress(gzip.compress(BODY)), BODY),
])
def test_both_forms_are_read(data: bytes, text: bytes) -> None:
    for size in (9, 63, 64, 0):
        out, faults, decoder = inflate(data, size)
        assert (decoder.bytes_decoded, decoder.complete) == (len(text), True), size
        if text.isascii():
            assert (out, faults) == (text, []), size


@pytest.mark.parametrize(
    "data", [BODY, SHORT, b"", b"\n" + BODY, b"\xef\xbb\xbf" + BODY, b"User-agent: *\n", gzip.compress(BODY)]
)
def test_data_that_is_not_deflate_passes_unchanged(data: bytes) -> None:
    out, _ = decode(data)
    for size in (9, 64, 0):
        assert inflate(data, size)[:2] == (out, []), size


@pytest.mark.parametrize("pack", [zlib.compress, raw, gzip.compress, bytes])
@pytest.mark.parametrize("text", [SHORT, b"", b"User-agent: *\n", BODY[:300], b"\xef\xbb\xbf\n" + BODY[:300]])
def test_byte_by_byte_input_gives_the_same(text: bytes, pack: object) -> None:
    data = pack(text)  # type: ignore[operator]
    assert inflate(data, 1)[:2] == inflate(data, 2)[:2] == inflate(data)[:2]


@pytest.mark.parametrize("pack", [zlib.compress, raw])
@pytest.mark.parametrize("size", [1, 0])
def test_truncated_or_damaged_data_gives_the_output_before(pack: object, size: int) -> None:
    data = pack(BODY)  # type: ignore[operator]
    out, faults, decoder = inflate(data[:-8], size)
    assert BODY.startswith(out)
    assert (faults, decoder.complete) == (["deflate data is cut off, its end is missing"], False)
    damaged = data[:2] if pack is zlib.compress else b""
    damaged += begun(BODY) + b"\7 reserved block type"
    out, faults, decoder = inflate(damaged, size)
    assert BODY.startswith(out)
    assert len(out) >= len(BODY) - 1
    assert (faults, decoder.complete) == (["deflate data is corrupt, the rest cannot be read"], False)


@pytest.mark.parametrize("size", [1, 0])
def test_junk_after_the_data_ends_reading(size: int) -> None:
    assert inflate(zlib.compress(BODY) + bytes(100), size)[:2] == (BODY, [])
    out, faults, decoder = inflate(zlib.compress(BODY) + b"junk" * 100, size)
    assert (out, faults) == (BODY, ["junk behind the deflate data, which was complete"])
    assert (decoder.complete, decoder.stopped) == (True, True)


def test_blocks_without_content_end_the_data() -> None:
    out, faults, decoder = inflate(begun(BODY) + b"\0\0\0\xff\xff" * (IDLE_SLICES * SLICE_BYTES // 4))
    assert (out, decoder.complete, decoder.stopped) == (BODY, False, True)
    assert faults == ["deflate data: 1,048,576 bytes gave no content, the rest is not read"]


def test_a_bomb_is_capped() -> None:
    out, faults, decoder = inflate(raw(bytes(2_000_000)), limits=sr.Limits(max_decoded_bytes=1_000_000))
    assert (len(out), decoder.stopped, len(faults)) == (1_000_000, True, 1)


def read(body: bytes, encoding: str) -> sr.Outcome:
    return parse(body, url="https://example.com/sitemap.xml", content_encoding=encoding).outcome()


@pytest.mark.parametrize("encoding", ["deflate", "Deflate "])
def test_parser_takes_the_content_encoding(encoding: str) -> None:
    outcome = read(zlib.compress(BODY), encoding)
    assert (outcome.format, outcome.kept, outcome.complete) == ("urlset", 1600, True)
    assert outcome.bytes_wire < outcome.bytes_decoded


@pytest.mark.parametrize(("encoding", "ends"), [
    ("compress", "not a sitemap; Content-Encoding compress is not read"),
    ("br, AES128GCM", "not a sitemap; Content-Encoding aes128gcm is not read"),
    ("br, br, br", "not a sitemap; Content-Encoding br, br, br is not read"),
    ("br", "not a sitemap"),
    ("gzip", "not a sitemap"),
    ("", "not a sitemap"),
])
def test_another_encoding_is_named_where_it_cannot_be_read(encoding: str, ends: str) -> None:
    problems = read(b"\x00\x02\x80\x03" * 100, encoding).samples
    reported = [problem.message for problem in problems if problem.code == "S15"]
    assert reported == [f"neither XML nor a list of URLs: {ends}"]
    assert read(BODY, encoding).kept == 1600
