"""Content-Encoding br and zstd: decoded as gzip is; cut, damaged, or declared by mistake; and without packages."""

import builtins
import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from kit import decode, parse

import sitemap_reader as sr
from sitemap_reader.parser import Decoder, zstd_module

brotli = pytest.importorskip("brotli")
try:
    zstd = zstd_module()
except ImportError:
    pytest.skip("zstd is not installed", allow_module_level=True)

ENTRIES = "".join(f"<url><loc>https://example.com/{n}/{n * n % 997}</loc></url>\n" for n in range(4_000))
BODY = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{ENTRIES}</urlset>'.encode()


def brotli_fast(data: bytes) -> bytes:
    return bytes(brotli.compress(data, quality=3))


def checked_zstd(data: bytes) -> bytes:
    return bytes(zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1}))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "br": brotli_fast,
    "zstd": checked_zstd,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br, gzip": lambda data: gzip.compress(brotli_fast(data)),
    "gzip, br": lambda data: brotli_fast(gzip.compress(data)),
    "zstd, br": lambda data: brotli_fast(checked_zstd(data)),
    "identity, BR": brotli_fast,
}
ALONE = ("br", "zstd")


def decoded(data: bytes, coding: str, size: int = 0, limits: sr.Limits | None = None) -> tuple[Any, ...]:
    """The output, the faults, and whether it is complete."""
    out, decoder = decode(data, size=size, limits=limits, content_encoding=coding)
    return out, [(fault.code, fault.message) for fault in decoder.faults], decoder.complete


def same(data: bytes, coding: str, limits: sr.Limits | None = None) -> tuple[Any, ...]:
    """decoded(), which does not depend on how the input was cut."""
    whole = decoded(data, coding, limits=limits)
    for size in (1, 63, 64, 65, 1_000):
        assert decoded(data, coding, size, limits) == whole, size
    return whole


@pytest.mark.slow
@pytest.mark.parametrize("coding", PACKERS)
def test_a_body_is_decoded_however_it_is_cut(coding: str) -> None:
    assert same(PACKERS[coding](BODY), coding) == (BODY, [], True)
    assert same(PACKERS[coding](b"User-agent: *"), coding) == (b"User-agent: *", [], True)


@pytest.mark.parametrize("coding", ALONE)
@pytest.mark.parametrize("share", [0.02, 0.5, 0.99])
def test_what_comes_before_a_cut_is_kept(coding: str, share: float) -> None:
    packed = PACKERS[coding](BODY)
    out, faults, complete = same(packed[: int(len(packed) * share)], coding)
    assert BODY.startswith(out)
    assert faults == [("F07", f"{coding} data is cut off, its end is missing")]
    assert not complete
    if share > 0.9 and coding == "br":
        assert len(out) > 0.9 * len(BODY)


def test_a_cut_body_without_its_last_byte_gives_its_entries() -> None:
    for coding in ALONE:
        frames = b"".join(PACKERS[coding](part) for part in (BODY[:60_000], BODY[60_000:]))
        packed = PACKERS[coding](BODY) if coding == "br" else frames
        found = parse(packed[:-1], url="https://example.com/a.xml", content_encoding=coding)
        assert len(found.locs) > 1_000, coding
        assert not found.outcome().complete
        assert "F07" in found.outcome().problems


@pytest.mark.parametrize("at", [0.3, 0.6, 0.9])
def test_what_comes_before_damage_is_kept(at: float) -> None:
    packed = brotli_fast(BODY)
    place = int(len(packed) * at)
    out, faults, complete = same(packed[:place] + b"\xff" * 200 + packed[place:], "br")
    assert [code for code, _ in faults] == ["F07"]
    assert not complete
    start = int(len(BODY) * (at - 0.1))
    assert out[:start] == BODY[:start]


def test_a_wrong_checksum_of_zstd_is_a_fault() -> None:
    packed = checked_zstd(BODY)
    out, faults, complete = same(packed[:-1] + bytes([packed[-1] ^ 1]), "zstd")
    assert BODY.startswith(out)
    assert (faults, complete) == ([("F07", "zstd data is corrupt, the rest cannot be read")], False)


@pytest.mark.slow
@pytest.mark.parametrize("coding", ALONE)
@pytest.mark.parametrize("body", [BODY, b"Sitemap: https://example.com/sitemap.xml\n" * 9, b"https://example.com/\n"])
def test_a_body_that_is_declared_so_by_mistake_is_read(coding: str, body: bytes) -> None:
    assert same(body, coding) == (body, [], True)


@pytest.mark.slow
def test_all_frames_of_zstd_are_read() -> None:
    halves = checked_zstd(BODY[:99]) + checked_zstd(b"") + checked_zstd(BODY[99:])
    assert same(halves, "zstd") == (BODY, [], True)
    assert same(halves, "zstd", sr.Limits(max_gzip_members=3))[2]
    out, faults, complete = same(halves, "zstd", sr.Limits(max_gzip_members=2))
    assert (out, [code for code, _ in faults], complete) == (BODY[:99], ["S16"], False)
    out, faults, complete = same(checked_zstd(BODY) + b"junk", "zstd")
    assert (out, faults, complete) == (BODY, [("F07", "junk behind the zstd data, which was complete")], True)


@pytest.mark.slow
@pytest.mark.parametrize("coding", ALONE)
def test_limits_hold_for_every_coding(coding: str) -> None:
    assert same(PACKERS[coding](BODY), coding, sr.Limits(max_decoded_bytes=len(BODY)))[2]
    out, faults, complete = same(PACKERS[coding](BODY), coding, sr.Limits(max_decoded_bytes=len(BODY) - 1))
    assert (out, [code for code, _ in faults], complete) == (BODY[:-1], ["S16"], False)


@pytest.mark.parametrize("coding", ALONE)
def test_a_bomb_takes_little_memory(coding: str) -> None:
    bomb = PACKERS[coding](b" " * 50_000_000)
    tracemalloc.start()
    decoder = Decoder(sr.Limits(max_decoded_bytes=20_000_000), content_encoding=coding)
    assert sum(map(len, decoder.feed(bomb))) + sum(map(len, decoder.close())) == 20_000_000
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()


def test_a_window_of_zstd_is_limited_as_in_browsers() -> None:
    options = {zstd.CompressionParameter.window_log: 27, zstd.CompressionParameter.content_size_flag: 0}
    compressor = zstd.ZstdCompressor(options=options)
    wide = compressor.compress(BODY) + compressor.flush()
    assert not decoded(wide, "zstd")[0].startswith(b"<urlset")


@pytest.mark.parametrize(("coding", "module"), [("br", "brotli"), ("zstd", "backports"), ("gzip, br", "brotli")])
def test_what_to_install_is_named(coding: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real, packed = builtins.__import__, PACKERS[coding](BODY)

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] in (module, "compression"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    found = parse(packed, url="https://example.com/a.xml", content_encoding=coding)
    name = coding.rpartition(" ")[2]
    assert found.messages()[0].endswith(
        f"Content-Encoding {name} is not read without a package: pip install 'sitemap-reader[warc]'"
    )
