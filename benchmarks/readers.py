"""One reader over many documents, in a process of its own: `python readers.py READER urls|values < MANIFEST`.

In: JSON lines of {"file", "url"}. Out: for each one JSON line of {"file", "urls", "error"}, as it is done, where urls
are the locs of pages and children, or every value that the reader gives of them, as text. Runs in
the environment of the reader, imports that reader only, and opens no connection: a fetch by the reader gets the
document itself, or 404. A document that takes too long ends the process; the caller starts it again behind it.
"""

# What is imported here is installed elsewhere: .peers, which mypy does not see.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import json
import logging
import signal
import sys
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

SECONDS_A_DOCUMENT = 10

# Body, URL -> the locs of pages and children, or all values, as the reader gives them.
Reader = Callable[[bytes, str], Iterable[str]]


def leaves(value: Any) -> Iterator[str]:
    """Every value in a value, as text."""
    if isinstance(value, dict):
        for each in value.values():
            yield from leaves(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from leaves(each)
    elif value is not None:
        yield value.isoformat() if hasattr(value, "isoformat") else str(value)


def sitemap_reader() -> Reader:
    from sitemap_reader import SitemapRef, UrlRecord, iter_parse
    from sitemap_reader.pipeline import feedparser_fallback

    def read(body: bytes, url: str) -> Iterable[str]:
        items = iter_parse([body], url=url, feed_fallback=feedparser_fallback)
        return (item.loc for item in items if isinstance(item, UrlRecord | SitemapRef))

    return read


def sitemap_reader_values() -> Reader:
    from sitemap_reader import UrlRecord, iter_parse, to_dict
    from sitemap_reader.pipeline import feedparser_fallback

    def read(body: bytes, url: str) -> Iterable[str]:
        items = iter_parse([body], url=url, feed_fallback=feedparser_fallback)
        return leaves([to_dict(item) for item in items if isinstance(item, UrlRecord)])

    return read


def usp_tree() -> Callable[[bytes, str], Any]:
    """ultimate-sitemap-parser's fetcher with a web client that knows one document."""
    from usp.fetch_parse import SitemapFetcher
    from usp.web_client.abstract_client import (
        AbstractWebClient,
        AbstractWebClientSuccessResponse,
        WebClientErrorResponse,
    )

    class Answer(AbstractWebClientSuccessResponse):
        def __init__(self, url: str, body: bytes) -> None:
            self._url, self._body = url, body

        def status_code(self) -> int:
            return 200

        def status_message(self) -> str:
            return "OK"

        def header(self, case_insensitive_name: str) -> str | None:
            return None

        def raw_data(self) -> bytes:
            return self._body

        def url(self) -> str:
            return self._url

    class Client(AbstractWebClient):
        def __init__(self, url: str, body: bytes) -> None:
            self._url, self._body = url, body

        def set_max_response_data_length(self, max_response_data_length: int | None) -> None:
            pass

        def get(self, url: str) -> object:
            if url != self._url:
                return WebClientErrorResponse("404 Not Found", retryable=False)
            return Answer(url, self._body)

    return lambda body, url: SitemapFetcher(url=url, recursion_level=0, web_client=Client(url, body)).sitemap()


def ultimate_sitemap_parser() -> Reader:
    read = usp_tree()

    def urls(body: bytes, url: str) -> Iterable[str]:
        sitemap = read(body, url)
        return [each.url for each in (*sitemap.all_pages(), *sitemap.sub_sitemaps)]

    return urls


def ultimate_sitemap_parser_values() -> Reader:
    read = usp_tree()
    return lambda body, url: leaves([page.to_dict() for page in read(body, url).all_pages()])


def scrapy_entries() -> Callable[[bytes], Iterable[dict[str, Any]]]:
    """As its SitemapSpider handles a body."""
    from scrapy.utils.gz import gunzip
    from scrapy.utils.sitemap import Sitemap

    return lambda body: Sitemap(gunzip(body) if body.startswith(b"\x1f\x8b") else body)


def scrapy() -> Reader:
    read = scrapy_entries()
    return lambda body, url: (entry["loc"] for entry in read(body))


def scrapy_values() -> Reader:
    read = scrapy_entries()
    return lambda body, url: leaves(list(read(body)))


def crawlee_items() -> Callable[[bytes, str], list[Any]]:
    """Its loader with a client that knows one document; children are named, not followed, and no host is left out."""
    import asyncio
    from contextlib import asynccontextmanager
    from types import SimpleNamespace

    from crawlee._utils.sitemap import parse_sitemap

    class Client:
        def __init__(self, body: bytes) -> None:
            self._body = body

        @asynccontextmanager
        async def stream(self, url: str, **_: object) -> AsyncIterator[SimpleNamespace]:
            yield SimpleNamespace(status_code=200, headers={}, read_stream=self._chunks)

        async def _chunks(self) -> AsyncIterator[bytes]:
            yield self._body

    async def collect(body: bytes, url: str) -> list[Any]:
        sources = [{"type": "url", "url": url}]
        options = {"emit_nested_sitemaps": True, "max_depth": 0, "sitemap_retries": 1, "enqueue_strategy": "all"}
        return [item async for item in parse_sitemap(sources, Client(body), options=options)]

    return lambda body, url: asyncio.run(collect(body, url))


def crawlee() -> Reader:
    read = crawlee_items()
    return lambda body, url: (item.loc for item in read(body, url))


def crawlee_values() -> Reader:
    read = crawlee_items()
    return lambda body, url: leaves([vars(item) for item in read(body, url)])


def advertools_values() -> Reader:
    """As its sitemap_to_df handles the tree of a body."""
    from xml.etree import ElementTree

    from advertools.sitemaps import _parse_sitemap

    return lambda body, url: leaves(_parse_sitemap(ElementTree.fromstring(body)).to_dict("records"))  # noqa: S314


def lxml_recover() -> Reader:
    """lxml's recovery, counted generously: every loc of an entry, and every other one outside extensions."""
    from lxml import etree

    def read(body: bytes, url: str) -> Iterable[str]:
        if body.startswith(b"\x1f\x8b"):  # it does not unpack by itself: the first member, as far as it goes
            body = zlib.decompressobj(31).decompress(body)
        root = etree.fromstring(body, etree.XMLParser(recover=True, resolve_entities=False))
        found = []
        for loc in [] if root is None else root.iter("{*}loc"):
            parent = loc.getparent()
            in_entry = parent is not None and parent.tag.rpartition("}")[2] in ("url", "sitemap")
            if in_entry or not ("/schemas/sitemap-" in loc.tag or "/1999/xhtml" in loc.tag):
                found.append("".join(loc.itertext()).strip())
        return found

    return read


READERS: dict[str, Callable[[], Reader]] = {
    "sitemap-reader": sitemap_reader,
    "ultimate-sitemap-parser": ultimate_sitemap_parser,
    "Scrapy": scrapy,
    "Crawlee": crawlee,
    "lxml": lxml_recover,
}
VALUES: dict[str, Callable[[], Reader]] = {
    "sitemap-reader": sitemap_reader_values,
    "ultimate-sitemap-parser": ultimate_sitemap_parser_values,
    "Scrapy": scrapy_values,
    "Crawlee": crawlee_values,
    "advertools": advertools_values,
}


def main(name: str, what: str) -> None:
    logging.disable(logging.CRITICAL)
    read = {"urls": READERS, "values": VALUES}[what][name]()
    for line in sys.stdin:
        document = json.loads(line)
        answer: dict[str, Any] = {"file": document["file"], "urls": [], "error": None}
        signal.alarm(SECONDS_A_DOCUMENT)  # nothing handles it, so it ends the process, in C code too
        try:
            for loc in read(Path(document["file"]).read_bytes(), document["url"]):
                answer["urls"].append(loc)  # one by one: what came before an exception counts
        except Exception as exc:  # any exception of a reader is its result
            answer["error"] = f"{type(exc).__name__}: {exc}"[:200]
        signal.alarm(0)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
