"""One reading of documents in memory times itself: `python -m benchmarks.parsing READING SECONDS URL FILE...`.

Prints {"wall", "cpu", "urls"}: the median of as many readings as go into SECONDS, behind a first one that does not
count, because things load; and how many entries came out. Several files are read one after the other. Nothing of what
is read is kept. The limits count nothing, so their urls is null.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers import expat

from sitemap_reader import SitemapParser, UrlRecord
from sitemap_reader.model import UrlBatch

from .rows import BATCHES, EXPAT, RECORDS, SPLIT, UNPACK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

CHUNK_BYTES = 64 * 1024


def chunks(body: bytes) -> Iterator[bytes]:
    for begin in range(0, len(body), CHUNK_BYTES):
        yield body[begin : begin + CHUNK_BYTES]


def bare_expat(body: bytes, url: str) -> None:
    """The parser alone: nothing is called back, so nothing comes out."""
    parser = expat.ParserCreate()
    for chunk in chunks(body):
        parser.Parse(chunk, False)
    parser.Parse(b"", True)


def gunzip_and_bare_expat(body: bytes, url: str) -> None:
    unpacker, parser = zlib.decompressobj(31), expat.ParserCreate()
    while body:
        parser.Parse(unpacker.decompress(body, CHUNK_BYTES), False)
        body = unpacker.unconsumed_tail
    parser.Parse(unpacker.flush(), True)


def decode_and_split(body: bytes, url: str) -> None:
    """The least that a list of URLs takes."""
    body.decode().splitlines()


def to_batches(body: bytes, url: str) -> int:
    return _entries(body, url, SitemapParser.batches)


def to_records(body: bytes, url: str) -> int:
    return _entries(body, url, SitemapParser.pieces)


def _entries(body: bytes, url: str, pieces: Callable[[SitemapParser, bytes], Iterable[list[object]]]) -> int:
    parser = SitemapParser(url=url, scope="protocol")
    found = sum(_count(items) for chunk in chunks(body) for items in pieces(parser, chunk))
    return found + _count(parser.close())


def _count(items: list[object]) -> int:
    return sum(len(item) if isinstance(item, UrlBatch) else isinstance(item, UrlRecord) for item in items)


READINGS: dict[str, Callable[[bytes, str], int | None]] = {
    EXPAT: bare_expat,
    UNPACK: gunzip_and_bare_expat,
    SPLIT: decode_and_split,
    BATCHES: to_batches,
    RECORDS: to_records,
}


def main(name: str, seconds: str, url: str, *files: str) -> None:
    read, bodies = READINGS[name], [Path(file).read_bytes() for file in files]
    took: list[tuple[float, float]] = []
    while len(took) < 2 or sum(wall for wall, _ in took[1:]) < float(seconds):
        started = time.perf_counter(), time.process_time()
        urls = [read(body, url) for body in bodies]
        took.append((time.perf_counter() - started[0], time.process_time() - started[1]))
    wall, cpu = map(statistics.median, zip(*took[1:], strict=True))
    print(json.dumps({"wall": wall, "cpu": cpu, "urls": None if None in urls else sum(map(int, urls))}))


if __name__ == "__main__":
    main(*sys.argv[1:])
