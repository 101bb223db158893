"""One gzip layer: members, headers, damage, limits; independent of the chunks."""

import gzip
import random
import zlib
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kit import gz, parse, urlset
from tiers import examples

import sitemap_reader as sr
from sitemap_reader import Limits
from sitemap_reader.model import over_limit
from sitemap_reader.parser import IDLE_SLICES, SLICE_BYTES, STEP_BYTES, DecodeFault, GzipDecoder

TEXT = b"".join(b"<url><loc>https://example.com/%d</loc></url>\n" % (n * 7919) for n in range(5000))
FEXTRA, FNAME, FCOMMENT, FHCRC = 4, 8, 16, 2


def unpack(
    data: bytes, limits: Limits | None = None, size: int = 1 << 30
) -> tuple[bytes, list[DecodeFault], GzipDecoder]:
    faults: list[DecodeFault] = []
    layer = GzipDecoder(limits or Limits(), faults)
    out = b"".join(piece for at in range(0, len(data), size) for piece in layer.feed(data[at : at + size]))
    return out + b"".join(layer.close()), faults, layer


def member(text: bytes, flags: int = 0, fields: bytes = b"") -> bytes:
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    header = b"\x1f\x8b\x08" + bytes((flags,)) + bytes(6)
    trailer = zlib.crc32(text).to_bytes(4, "little") + len(text).to_bytes(4, "little")
    return header + fields + deflate.compress(text) + deflate.flush() + trailer


@pytest.mark.parametrize("data", [b"", b"\x1f", b"\x1f\x8b", b"\x1f\x8b\x07 plain", b"<urlset/>", b"\x1f\x1f\x8b\x08"])
def test_data_that_is_not_gzip_passes_unchanged(data: bytes) -> None:
    for size in (1, 1000):
        out, faults, layer = unpack(data, size=size)
        assert (out, faults, layer.opened) == (data, [], False)


@pytest.mark.parametrize(("flags", "fields"), [
    (FEXTRA, b"\x03\x00abc"), (FEXTRA, b"\x00\x00"), (FNAME, b"sitemap.xml\0"), (FCOMMENT, b"\0"),
    (FHCRC, b"\x12\x34"), (FEXTRA | FNAME | FCOMMENT | FHCRC, b"\x01\x00xname\0comment\0\x00\x00"),
    (FNAME, b"n" * 1_000_000 + b"\0"),
])
def test_optional_header_fields_are_stepped_over(flags: int, fields: bytes) -> None:
    packed = member(TEXT, flags, fields)
    if flags & FHCRC:  # RFC 1952 2.3.1: the low half of the CRC of what precedes it
        size = 10 + len(fields) - 2
        packed = packed[:size] + (zlib.crc32(packed[:size]) & 0xFFFF).to_bytes(2, "little") + packed[size + 2 :]
    out, faults, layer = unpack(packed)
    assert (out, faults, layer.opened) == (TEXT, [], True)


def test_a_long_file_name_is_not_kept() -> None:
    layer = GzipDecoder(Limits(), [])
    list(layer.feed(b"\x1f\x8b\x08\x08" + bytes(6)))
    for _ in range(15):
        assert list(layer.feed(b"n" * STEP_BYTES)) == []
    assert layer._buffer == b""
    assert b"".join(layer.feed(b"\0" + member(b"text")[10:])) == b"text"


@pytest.mark.parametrize("padding", [b"", b"\0", bytes(1000)])
def test_second_gzip_member_is_read(padding: bytes) -> None:
    out, faults, _ = unpack(member(b"one") + padding + member(b"") + member(b"two") + padding)
    assert (out, faults) == (b"onetwo", [])


def test_junk_behind_the_last_member_loses_nothing() -> None:
    out, faults, layer = unpack(member(TEXT) + b"\0\0junk")
    assert out == TEXT
    assert [(fault.code, fault.severity, fault.lossy) for fault in faults] == [("F07", "warning", False)]
    assert "complete" in faults[0].message
    assert layer.stopped


# --- input that gives nothing ---

IDLE_BYTES = IDLE_SLICES * SLICE_BYTES
HEADER = b"\x1f\x8b\x08" + bytes(7)
STORED = b"\0\0\0\xff\xff"  # RFC 1951 3.2.4: a block of length 0, and not the last
FIXED = b"\x02\x08\x20\x80\0"  # 3.2.6: four blocks with only their end code, 10 bits each


def begun(text: bytes) -> bytes:
    """A member up to the end of a block; other blocks may follow."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return HEADER + deflate.compress(text) + deflate.flush(zlib.Z_FULL_FLUSH)


@pytest.mark.parametrize("unit", [STORED, FIXED, zlib.compress(b"")[2:-4]], ids=["stored", "fixed", "last"])
def test_the_units_hold_nothing(unit: bytes) -> None:
    assert zlib.decompressobj(-15).decompress(unit * 10) == b""


@pytest.mark.parametrize(("front", "unit", "severity"), [
    (member(TEXT), b"\0", "warning"),
    (begun(TEXT), STORED, None),
    (begun(TEXT), FIXED, None),
    (member(TEXT) + member(b"", FNAME)[:10], b"n", None),
    (member(TEXT) + member(b"", FCOMMENT)[:10], b"c", None),
    (member(TEXT), member(b"", FEXTRA, b"\xff\xff" + bytes(0xFFFF)), None),
], ids=["padding", "stored", "fixed", "name", "comment", "extra"])
def test_a_mebibyte_that_gives_nothing_ends_the_data(front: bytes, unit: bytes, severity: str | None) -> None:
    lossy = severity is None
    for idle, stops in ((IDLE_BYTES - SLICE_BYTES, False), (IDLE_BYTES + 2 * SLICE_BYTES, True)):
        data = front + unit * -(-idle // len(unit))
        out, faults, layer = unpack(data)
        assert (out, layer.stopped) == (TEXT, stops)
        if stops:
            assert [(fault.code, fault.severity, fault.lossy) for fault in faults] == [("F07", severity, lossy)]
        for size in (997, STEP_BYTES):
            again, reported, other = unpack(data, size=size)
            assert (again, reported, other.stopped) == (out, faults, stops)


def test_input_that_gives_output_now_and_then_is_read_on() -> None:
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = HEADER
    for _ in range(20):
        data += deflate.compress(b"x") + deflate.flush(zlib.Z_FULL_FLUSH) + STORED * (IDLE_BYTES // 10)
    out, faults, layer = unpack(data + deflate.flush() + zlib.crc32(b"x" * 20).to_bytes(4, "little") + b"\x14\0\0\0")
    assert (out, faults, layer.stopped) == (b"x" * 20, [], False)


@pytest.mark.parametrize(("bad", "wording"), [(-8, "CRC"), (-1, "size")])
def test_wrong_trailers_keep_the_output_and_are_reported_once(bad: int, wording: str) -> None:
    broken = bytearray(member(TEXT))
    broken[bad] ^= 0x55
    out, faults, _ = unpack(member(b"first") + bytes(broken) * 3 + member(b"last"))
    assert out == b"first" + TEXT * 3 + b"last"
    assert [(fault.code, fault.lossy) for fault in faults] == [("F07", True)]
    assert "gzip member 2" in faults[0].message
    assert wording in faults[0].message


@pytest.mark.parametrize("keep", [3, 9, 10, 11, 5000, -9, -8, -1])
def test_everything_before_the_cut_comes_out(keep: int) -> None:
    data = member(TEXT)[:keep]
    out, faults, _ = unpack(data)
    assert out == zlib.decompressobj(-15).decompress(data[10:])
    assert [(fault.code, fault.lossy) for fault in faults] == [("F07", True)]


@pytest.mark.parametrize(("data", "text", "stopped"), [
    (member(b"one") + b"\x1f\x8b", b"one", False),
    (member(b"text", 0x20), b"", True),
    (member(b"text", FHCRC, b"\x12\x34"), b"", True),
], ids=["a next member cut in its magic", "reserved flags", "a wrong checksum of the header"])
def test_damaged_headers_lose_their_member(data: bytes, text: bytes, stopped: bool) -> None:
    out, faults, layer = unpack(data)
    assert (out, layer.stopped) == (text, stopped)
    assert [(fault.code, fault.lossy) for fault in faults] == [("F07", True)]


def test_output_in_front_of_corrupt_data_comes_out() -> None:
    out, faults, layer = unpack(begun(TEXT) + b"\x07 reserved block type")
    # zlib reads one symbol ahead, so the last byte before the damage may be lost.
    assert TEXT.startswith(out)
    assert len(out) >= len(TEXT) - 1
    assert [(fault.code, fault.lossy) for fault in faults] == [("F07", True)]
    assert layer.stopped


@pytest.mark.parametrize(("length", "over"), [(999_999, False), (1_000_000, False), (1_000_001, True)])
def test_exactly_max_decoded_bytes_come_out(length: int, over: bool) -> None:
    limits = Limits(max_decoded_bytes=1_000_000)
    half = length // 2
    for data in (member(bytes(length)), b"x" * length, member(bytes(half)) + member(bytes(length - half))):
        out, faults, layer = unpack(data, limits)
        assert len(out) == min(length, 1_000_000)
        assert [fault.code for fault in faults] == (["S16"] if over else [])
        assert layer.stopped is over
    if over:
        assert faults[0].message == over_limit("max_decoded_bytes", 1_000_000, "byte decoded").message


def test_a_bomb_comes_out_in_small_pieces() -> None:
    layer = GzipDecoder(Limits(), [])
    assert max(map(len, layer.feed(gzip.compress(bytes(20_000_000))))) <= STEP_BYTES


# --- compared with inflating byte by byte ---


def byte_by_byte(data: bytes) -> tuple[bytes, bool, bytes]:
    """The output of a deflate stream, whether it is complete, and the bytes after it."""
    stream = zlib.decompressobj(-15)
    out = bytearray()
    for at, byte in enumerate(data):
        piece: bytes | None = None
        rest = bytes((byte,))
        try:
            while piece != b"":
                piece = stream.decompress(rest, 1)
                out += piece
                rest = stream.unconsumed_tail
        except zlib.error:
            break
        if stream.eof:
            return bytes(out), True, data[at + 1 :]
    return bytes(out), False, b""


def thorough(data: bytes) -> tuple[bytes, bool]:
    """The output of the members of `data`, and whether it is certainly complete and right."""
    text, certain = b"", True
    while data.startswith(b"\x1f\x8b\x08"):
        out, ended, data = byte_by_byte(data[10:])
        text += out
        trailer = zlib.crc32(out).to_bytes(4, "little") + len(out).to_bytes(4, "little")
        certain = certain and ended and data[:8] == trailer
        behind = data[8:].lstrip(b"\0")
        if len(data) < 8:
            return text, False
        certain = certain and not (behind and b"\x1f\x8b\x08".startswith(behind))
        data = behind
    return text, certain


DEFLATED = {
    "repeated": b"<url/>" * 40,
    "text": TEXT[:300],
    "zeros": bytes(2000),
    "random": random.Random(2).randbytes(90),  # noqa: S311  # a seeded sequence, no secret
    "over one step": bytes(STEP_BYTES + 50),
}


@pytest.mark.parametrize("text", ["repeated", "text", "zeros", "random"])
@pytest.mark.parametrize("level", [0, 1, 9])
def test_a_cut_at_every_byte_gives_all_that_inflating_byte_by_byte_does(text: str, level: int) -> None:
    data = gzip.compress(DEFLATED[text], level, mtime=0) + bytes(2) + gzip.compress(b"next", mtime=0)
    for cut in range(10, len(data) + 1, 1 if len(data) < 1000 else 7):
        out, faults, _ = unpack(data[:cut])
        expected, certain = thorough(data[:cut])
        assert out == expected, cut
        assert any(fault.lossy for fault in faults) is not certain, cut


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(60))
@given(texts=st.lists(st.sampled_from(sorted(DEFLATED)), min_size=1, max_size=2), level=st.sampled_from([0, 1, 6, 9]),
       harm=st.sampled_from(["flip", "cut", "junk", "padding", "drop", "double", "none"]),
       where=st.integers(0, 1 << 16), bit=st.integers(0, 7), size=st.integers(1, 20_000))
@example(texts=["over one step"], level=6, harm="flip", where=0, bit=0, size=1)
def test_damaged_data_gives_all_that_inflating_byte_by_byte_does(
    texts: list[str], level: int, harm: str, where: int, bit: int, size: int
) -> None:
    members = [gzip.compress(DEFLATED[text], level, mtime=0) for text in texts]
    last = bytearray(members[-1])
    at = 10 + where % (len(last) - 10)  # after the header; damaged headers have other tests
    if harm == "flip":
        last[at] ^= 1 << bit
    elif harm == "cut":
        del last[at:]
    elif harm == "drop":
        del last[at]
    elif harm == "double":
        last.insert(at, last[at])
    elif harm == "junk":
        last += b"junk"
    elif harm == "padding":
        last += bytes(where % 600)
    data = b"".join(members[:-1]) + bytes(last)
    expected, certain = thorough(data)
    out, faults, _ = unpack(data)
    assert out == expected
    assert any(fault.lossy for fault in faults) is not certain
    assert unpack(data, size=size)[:2] == (out, faults)
    if harm in ("none", "padding"):
        assert gzip.decompress(data) == expected


@pytest.mark.parametrize(("layers", "name", "encoding", "found"), [
    (1, "a.xml.gz", None, []),
    (2, "a.xml.gz", None, [("error", "compressed twice")]),
    (2, "a.xml", None, [("error", "compressed twice")]),
    (2, "a.xml.gz", "gzip", []),  # the file's, and the transfer's
    (1, "a.xml.gz", "gzip", []),
    (0, "a.xml.gz", None, [("warning", "not compressed")]),
    (0, "a.XML.GZ?page=2", None, [("warning", "not compressed")]),
    (0, "a.xml?file=b.gz", None, []),
    (0, "a.xml.gz", "br", []),  # the transfer's own
    (0, "a.xml", None, []),
    (1, "a.xml", None, []),
])
def test_a_sitemap_is_compressed_once(layers: int, name: str, encoding: str | None, found: list[Any]) -> None:
    body = urlset("https://a.example/1")
    for _ in range(layers):
        body = gz(body)
    parsing = parse(body, url=f"https://a.example/{name}", content_encoding=encoding)
    problems = [(each.severity, each.kind) for each in parsing.of(sr.Problem) if each.code == "F07"]
    assert (parsing.locs, problems) == (["https://a.example/1"], found)
    assert parsing.outcome().complete
