"""The decoder from bytes to UTF-8: layers, limits, charsets; independent of the chunks."""

import bz2
import gzip
import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit import decode
from tiers import examples
from webencodings.labels import LABELS

from sitemap_reader import Limits
from sitemap_reader.model import PROTOCOL_MAX_BYTES, over_limit
from sitemap_reader.parser import Decoder, codec_of

BODY = b"<?xml version='1.0'?>\n<urlset>" + b"<url><loc>https://example.com/</loc></url>" * 3000 + b"</urlset>"


def view(out: bytes, decoder: Decoder) -> tuple[object, ...]:
    counters = (decoder.bytes_wire, decoder.bytes_decoded, decoder.sha256)
    return out, decoder.faults, decoder.complete, decoder.stopped, counters


def codes(decoder: Decoder) -> list[str]:
    return [fault.code for fault in decoder.faults]


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 7, 0])
def test_wire_bytes_are_counted_packed_or_not(size: int) -> None:
    packed = gzip.compress(BODY)
    for data in (packed, BODY):
        out, decoder = decode(data, limits=Limits(max_wire_bytes=200), size=size)
        assert BODY.startswith(out)
        assert decoder.bytes_decoded == (201 if data is BODY else len(out))
        (fault,) = decoder.faults
        assert (fault.code, fault.lossy, decoder.stopped) == ("S16", True, True)
        assert fault.message == over_limit("max_wire_bytes", 200, "byte as they were sent").message
    _, decoder = decode(BODY, limits=Limits(max_wire_bytes=200, max_decoded_bytes=200), size=size)
    (fault,) = decoder.faults
    assert "max_decoded_bytes" in fault.message


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_gzip_layers_are_opened_up_to_the_limit(layers: int) -> None:
    data = BODY
    for _ in range(layers):
        data = gzip.compress(data)
    out, decoder = decode(data)
    assert out == BODY
    assert (decoder.complete, decoder.faults) == (True, [])
    assert (decoder.bytes_wire, decoder.bytes_decoded) == (len(data), len(BODY))
    assert decoder.sha256 == hashlib.sha256(BODY).hexdigest()


def test_an_inner_layer_that_is_huge_is_capped_too() -> None:
    # Empty inner members: 20 bytes each of the outer layer's output.
    data = gzip.compress(gzip.compress(b"") * 1000)
    out, decoder = decode(data, limits=Limits(max_decoded_bytes=10_000))
    assert (out, codes(decoder)) == (b"", ["S16"])


@pytest.mark.parametrize(("data", "least_bytes", "complete"), [
    (gzip.compress(gzip.compress(BODY), compresslevel=0)[:-60], 1001, False),
    (gzip.compress(gzip.compress(BODY)[:-20]), 0, False),
    (gzip.compress(BODY) + b"junk", len(BODY), True),
], ids=["outer layer cut", "inner layer cut", "junk behind"])
def test_damage_of_a_layer_is_reported_once(data: bytes, least_bytes: int, complete: bool) -> None:
    out, decoder = decode(data)
    assert BODY.startswith(out)
    assert len(out) >= least_bytes
    assert (codes(decoder), decoder.complete) == (["F07"], complete)


def test_input_after_the_stop_is_only_counted() -> None:
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


# --- chunks ---


@pytest.mark.parametrize("name", sorted(set(LABELS.values()) - {"replacement", "x-user-defined"}))
@settings(max_examples=examples(100, 6))
@given(data=st.binary(max_size=50), text=st.text(max_size=20))
def test_every_codec_takes_any_bytes_and_ignores_the_chunks(name: str, data: bytes, text: str) -> None:
    data = data + text.encode(codec_of(name), "ignore") + data[:3]
    whole = view(*decode(data, name))
    assert view(*decode(data, name, size=1)) == whole
    assert view(*decode(data, name, size=3)) == whole


def test_other_compression_is_plain_data_here() -> None:
    out, _ = decode(bz2.compress(b"text"), "latin1")
    assert out.startswith(b"BZh")
