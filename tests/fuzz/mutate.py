"""Mutates inputs of one kind: pieces are inserted, removed, doubled and swapped between tags.

gzip data is decompressed first, and compressed again: a changed byte of a gzip file only breaks it.
"""

import gzip
import re
import zlib
from collections.abc import Callable, Sequence
from random import Random

_SEAM = re.compile(rb"(?=[<&\n\0])|(?<=[>;=\"' /:?])|\Z")
_CHARSETS = ("utf-16", "utf-16-be", "utf-32-le", "utf-8-sig", "latin-1", "iso2022_jp", "cp1251")
MAGIC = b"\x1f\x8b"


def mutate(data: bytes, tokens: Sequence[bytes], rng: Random, max_bytes: int) -> bytes:
    """Applies some random changes; the result has at most max_bytes."""
    if data.startswith(MAGIC) and rng.random() < 0.8 and (inside := _unpacked(data)) is not None:
        return gzip.compress(mutate(inside, tokens, rng, max_bytes), mtime=0)[:max_bytes]
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        data = rng.choice(_CHANGES)(data, tokens, rng)
    if rng.random() < 0.01:
        data = gzip.compress(data, mtime=0)
    return data[:max_bytes]


def _unpacked(data: bytes) -> bytes | None:
    try:
        return gzip.decompress(data)[:100_000]
    except (OSError, EOFError, zlib.error):
        return None


def _seam(data: bytes, rng: Random) -> int:
    """A random position between tags, values or lines; now and then anywhere."""
    place = rng.randrange(len(data) + 1)
    match = _SEAM.search(data, place) if rng.random() < 0.85 else None
    return match.start() if match else place


def _span(data: bytes, rng: Random) -> tuple[int, int]:
    start = _seam(data, rng)
    longest = rng.choice((8, 40, 300))
    match = _SEAM.search(data, min(len(data), start + rng.randrange(longest) + 1))
    return start, match.start() if match else len(data)


def _put_in(data: bytes, tokens: Sequence[bytes], rng: Random) -> bytes:
    place = _seam(data, rng)
    return data[:place] + rng.choice(tokens) + data[place:]


def _replace(data: bytes, tokens: Sequence[bytes], rng: Random) -> bytes:
    start, stop = _span(data, rng)
    return data[:start] + rng.choice(tokens) + data[stop:]


def _take_out(data: bytes, tokens: Sequence[bytes], rng: Random) -> bytes:
    start, stop = _span(data, rng)
    return data[:start] + data[stop:]


def _move(data: bytes, tokens: Sequence[bytes], rng: Random) -> bytes:
    start, stop = _span(data, rng)
    piece, rest = data[start:stop], data if rng.random() < 0.5 else data[:start] + data[stop:]
    place = _seam(rest, rng)
    return rest[:place] + piece + rest[place:]


def _repeat(data: bytes, tokens: Sequence[bytes], rng: Random) -> bytes:
    start, stop = _span(data, rng)
    return data[:start] + data[start:stop] * rng.choice((2, 2, 3, 9, 70)) + data[stop:]


def _drop_bytes(data: bytes, tokens: Sequence[bytes], rng: Random) -> bytes:
    place = _seam(data, rng) - rng.randrange(2)
    return data[: max(0, place)] + data[place + rng.randrange(1, 4) :]


def _change_byte(data: bytes, tokens: Sequence[bytes], rng: Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + bytes((rng.randrange(256),)) + data[place + 1 :]


def _cut(data: bytes, tokens: Sequence[bytes], rng: Random) -> bytes:
    return data[: _seam(data, rng)] if rng.random() < 0.2 else data


def _recode(data: bytes, tokens: Sequence[bytes], rng: Random) -> bytes:
    if rng.random() < 0.9:
        return data
    return data.decode("utf-8", "replace").encode(rng.choice(_CHARSETS), "replace")


_CHANGES: tuple[Callable[[bytes, Sequence[bytes], Random], bytes], ...] = (
    _put_in, _put_in, _put_in, _replace, _take_out, _move, _move, _repeat, _drop_bytes, _change_byte, _cut, _recode,
)
