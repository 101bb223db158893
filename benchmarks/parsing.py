"""One reader times itself over one document: `python parsing.py READER URL FILE`.

Prints {"seconds", "urls"}: the median of as many readings as go into a second, behind a first one that does not
count, because things load; and how many entries came out. Runs in the environment of the reader and imports that
reader only. Nothing of what is read is kept. The limits are here too: they count nothing, so their urls is null.
"""

# What is imported here is installed elsewhere: .peers, which mypy does not see.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import json
import logging
import statistics
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.parsers import expat

from readers import scrapy_entries, usp_tree

CHUNK_BYTES = 64 * 1024
LEAST_SECONDS = 1.0

# Body, URL -> how many entries.
Reading = Callable[[bytes, str], int | None]


def chunks(body: bytes) -> Iterator[bytes]:
    for begin in range(0, len(body), CHUNK_BYTES):
        yield body[begin : begin + CHUNK_BYTES]


def bare_expat() -> Reading:
    """The parser alone: nothing is called back, so nothing comes out."""

    def read(body: bytes, url: str) -> None:
        parser = expat.ParserCreate()
        for chunk in chunks(body):
            parser.Parse(chunk, False)
        parser.Parse(b"", True)

    return read


def gunzip_and_bare_expat() -> Reading:
    def read(body: bytes, url: str) -> None:
        unpacker, parser = zlib.decompressobj(31), expat.ParserCreate()
        while body:
            parser.Parse(unpacker.decompress(body, CHUNK_BYTES), False)
            body = unpacker.unconsumed_tail
        parser.Parse(unpacker.flush(), True)

    return read


def decode_and_split() -> Reading:
    """The least that a list of URLs takes."""
    return lambda body, url: len(body.decode().splitlines())


def sitemap_reader() -> Reading:
    from sitemap_reader import SitemapParser, UrlRecord

    def read(body: bytes, url: str) -> int:
        parser = SitemapParser(url=url, scope="protocol")
        records = 0
        for chunk in chunks(body):
            for items in parser.pieces(chunk):
                records += sum(isinstance(item, UrlRecord) for item in items)
        return records + sum(isinstance(item, UrlRecord) for item in parser.close())

    return read


def ultimate_sitemap_parser() -> Reading:
    tree = usp_tree()
    return lambda body, url: sum(1 for _ in tree(body, url).all_pages())


def scrapy() -> Reading:
    entries = scrapy_entries()
    return lambda body, url: sum(1 for _ in entries(body))


def crawlee() -> Reading:
    """Its parsers alone, without the loader around them, which takes twice as long."""
    import asyncio

    from crawlee._utils.sitemap import _get_parser

    async def count(body: bytes, url: str) -> int:
        parser, items = _get_parser(url=url), 0
        for chunk in chunks(body):
            async for _ in parser.process_chunk(chunk.decode()):
                items += 1
        async for _ in parser.flush():
            items += 1
        return items

    return lambda body, url: asyncio.run(count(body, url))


def advertools() -> Reading:
    from xml.etree import ElementTree

    from advertools.sitemaps import _parse_sitemap

    return lambda body, url: len(_parse_sitemap(ElementTree.fromstring(body)))  # noqa: S314


def feedparser() -> Reading:
    from io import BytesIO

    from feedparser import parse

    return lambda body, url: len(parse(BytesIO(body)).entries)


READINGS: dict[str, Callable[[], Reading]] = {
    "bare expat": bare_expat,
    "gunzip + bare expat": gunzip_and_bare_expat,
    "decode + split": decode_and_split,
    "sitemap-reader": sitemap_reader,
    "ultimate-sitemap-parser": ultimate_sitemap_parser,
    "Scrapy": scrapy,
    "Crawlee": crawlee,
    "advertools": advertools,
    "feedparser": feedparser,
}


def main(name: str, url: str, *files: str) -> None:
    """Several files are read one after the other, and their times added up."""
    logging.disable(logging.CRITICAL)
    read = READINGS[name]()
    bodies = [Path(file).read_bytes() for file in files]
    took: list[float] = []
    while len(took) < 2 or sum(took[1:]) < LEAST_SECONDS:
        started = time.perf_counter()
        urls = [read(body, url) for body in bodies]
        took.append(time.perf_counter() - started)
    print(json.dumps({"seconds": statistics.median(took[1:]), "urls": None if None in urls else sum(urls)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
