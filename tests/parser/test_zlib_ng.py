"""zlib-ng and the standard library's zlib give the same output, faults and counters."""

import zlib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kit import decode
from tiers import examples
from zlib_ng import zlib_ng

from sitemap_reader import Limits
from sitemap_reader.parser.content import codings as layer

WHOLE = 0
HEADER = b"\x1f\x8b\x08" + bytes(7)
BODY = b"<urlset>" + b"".join(b"<url><loc>https://e.com/%d</loc></url>" % (n * 7919) for n in range(6000))


def decoded(library: object, data: bytes, size: int, *, content_encoding: str = "") -> tuple[object, ...]:
    """All that comes out, with this library in place of zlib."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layer, "zlib", library)
        out, decoder = decode(data, size=size, limits=Limits(max_gzip_members=4), content_encoding=content_encoding)
    counters = (decoder.bytes_wire, decoder.bytes_decoded, decoder.sha256)
    return out, decoder.faults, decoder.complete, decoder.stopped, counters


def assert_same(data: bytes, *sizes: int, content_encoding: str = "") -> None:
    expected = decoded(zlib, data, WHOLE, content_encoding=content_encoding)
    for size in sizes:
        assert decoded(zlib, data, size, content_encoding=content_encoding) == expected, size
        assert decoded(zlib_ng, data, size, content_encoding=content_encoding) == expected, size


def packed(text: bytes, level: int, wbits: int = 31, strategy: int = zlib.Z_DEFAULT_STRATEGY) -> bytes:
    packer = zlib.compressobj(level, zlib.DEFLATED, wbits, strategy=strategy)
    return packer.compress(text) + packer.flush()


def test_zlib_ng_is_used() -> None:
    assert layer.zlib is zlib_ng


@pytest.mark.slow
@pytest.mark.parametrize("level", [0, 1, 6, 9])
@pytest.mark.parametrize("size", [13, 997, 16_384, WHOLE])
def test_whole_documents(level: int, size: int) -> None:
    data = packed(BODY, level) + bytes(3) + packed(b"\xe9" * 70_000, level)
    assert decoded(zlib_ng, data, size)[1] != [], "it is not UTF-8, the only fault"
    assert_same(data, size)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED], ids=["dynamic", "fixed"])
def test_a_cut_and_damage_at_every_byte(strategy: int) -> None:
    data = packed(BODY[:400], 9, strategy=strategy) + packed(b"next", 9)
    for at in range(len(data)):
        assert_same(data[:at], 1, WHOLE)
        for bit in (0, 5) if at % 4 else range(8):
            assert_same(data[:at] + bytes((data[at] ^ 1 << bit,)) + data[at + 1 :], WHOLE)


def block(literals: list[int], distances: list[int], body: bytes) -> bytes:
    """A dynamic block (RFC 1951 3.2.7) with these code lengths, right or wrong, each written with four bits."""
    fields = [(1, 1), (2, 2), (len(literals) - 257, 5), (len(distances) - 1, 5), (15, 4), *[(0, 3)] * 3, *[(4, 3)] * 16]
    fields += [(int(f"{length:04b}"[::-1], 2), 4) for length in literals + distances]
    number = shift = 0
    for value, width in fields:
        number |= value << shift
        shift += width
    number |= int.from_bytes(body, "little") << shift
    return number.to_bytes(shift // 8 + len(body) + 1, "little")


LITERALS = [8] * 255 + [9, 9]  # a complete code, for 257 symbols
DISTANCES = [[1], [0], [1, 1], [2] * 4, [5] * 30 + [5, 5], [4] * 14 + [5] * 4, [3] * 7, [1] * 3]
CHANGES = st.lists(st.tuples(st.integers(0, 285), st.integers(0, 15)), max_size=4)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(300))
@given(unused=st.integers(0, 31), changes=CHANGES, distances=st.sampled_from(DISTANCES), body=st.binary(max_size=80),
       before=st.sampled_from([b"", BODY[:40]]))
@example(unused=29, changes=[], distances=[1], body=bytes(9), before=b"")
@example(unused=30, changes=[], distances=[1], body=bytes(9), before=b"")
@example(unused=0, changes=[(256, 0)], distances=[1], body=bytes(9), before=b"")
@example(unused=0, changes=[(0, 0)], distances=[1], body=bytes(9), before=b"")
@example(unused=0, changes=[(0, 7)], distances=[1], body=bytes(9), before=b"")
def test_wrong_code_lengths(
    unused: int, changes: list[tuple[int, int]], distances: list[int], body: bytes, before: bytes
) -> None:
    # RFC 1951 3.2.7 allows 286 literal codes and 30 distance codes; more can be written.
    literals = LITERALS + [0] * unused
    for symbol, length in changes:
        literals[symbol % len(literals)] = length
    stored = b"\0" + len(before).to_bytes(2, "little") + (len(before) ^ 0xFFFF).to_bytes(2, "little") + before
    assert_same(HEADER + stored + block(literals, distances, body) + body, 1, WHOLE)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(200))
@given(start=st.integers(0, len(BODY)), length=st.sampled_from([0, 60, 3000, 70_000, 300_000]),
       level=st.sampled_from([0, 1, 9]), wbits=st.sampled_from([31, 25, 15, 9, -15, -9]),
       damage=st.lists(st.tuples(st.integers(0, 1 << 20), st.binary(max_size=2)), max_size=3), cut=st.integers(0, 20),
       size=st.sampled_from([31, 1000, 20_000, WHOLE]))
@example(start=0, length=0, level=0, wbits=15, damage=[(0, b"\x58\x85")], cut=0, size=31)
@example(start=0, length=0, level=1, wbits=-15, damage=[(0, b"")] * 3, cut=0, size=31)
def test_damaged_data(
    start: int, length: int, level: int, wbits: int, damage: list[tuple[int, bytes]], cut: int, size: int
) -> None:
    data = bytearray(packed(BODY[start : start + length], level, wbits))
    for at, harm in damage:
        at %= len(data) or 1  # damage can remove all
        data[at : at + 1] = harm
    del data[len(data) - cut :]
    assert_same(bytes(data), size, WHOLE, content_encoding="deflate" if wbits < 16 else "")


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(300))
@given(head=st.sampled_from(range(8)), noise=st.binary(max_size=120))
def test_noise(head: int, noise: bytes) -> None:
    assert_same(HEADER + bytes((head,)) + noise, 1, WHOLE)
