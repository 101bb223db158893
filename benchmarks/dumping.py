"""One peer writes a whole site as JSONL, with the least code that a user would write.

    python dumping.py PEER ORIGIN SITEMAP OUT IN_FLIGHT

ORIGIN is where robots.txt is, SITEMAP what it names: the start for peers that do not read it. Runs in the environment
of the peer and imports that peer only.
"""

# What is imported here is installed elsewhere: .peers, which mypy does not see.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Origin, sitemap, file, requests in flight.
Dump = Callable[[str, str, Path, int], None]


def ultimate_sitemap_parser(origin: str, sitemap: str, out: Path, in_flight: int) -> None:
    from usp.tree import sitemap_tree_for_homepage

    tree = sitemap_tree_for_homepage(f"{origin}/", use_known_paths=False)
    with out.open("w") as lines:
        for page in tree.all_pages():
            lines.write(json.dumps(page.to_dict(), default=str) + "\n")


def scrapy(origin: str, sitemap: str, out: Path, in_flight: int) -> None:
    """Writes the lines itself, where the spider asks which pages to visit, and has it visit none."""
    from scrapy.crawler import CrawlerProcess
    from scrapy.spiders import SitemapSpider

    class Entries(SitemapSpider):
        name = "entries"
        sitemap_urls = (f"{origin}/robots.txt",)

        def sitemap_filter(self, entries: Any) -> Iterator[dict[str, Any]]:
            if entries.type == "sitemapindex":
                yield from entries
            else:
                lines.writelines(json.dumps(entry) + "\n" for entry in entries)

    usual = {
        "CONCURRENT_REQUESTS": in_flight,  # by domain alone it goes beyond that at times
        "CONCURRENT_REQUESTS_PER_DOMAIN": in_flight,
        "ROBOTSTXT_OBEY": True,
        "LOG_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
    }
    with out.open("w") as lines:
        process = CrawlerProcess(usual)
        process.crawl(Entries)
        process.start()


def crawlee(origin: str, sitemap: str, out: Path, in_flight: int) -> None:
    from crawlee._utils.sitemap import parse_sitemap
    from crawlee.http_clients import ImpitHttpClient

    async def dump() -> None:
        with out.open("w") as lines:
            async for item in parse_sitemap([{"type": "url", "url": sitemap}], ImpitHttpClient()):
                lines.write(json.dumps(vars(item), default=str) + "\n")

    asyncio.run(dump())


DUMPS: dict[str, Dump] = {
    "ultimate-sitemap-parser": ultimate_sitemap_parser,
    "Scrapy": scrapy,
    "Crawlee": crawlee,
}


def main(peer: str, origin: str, sitemap: str, out: str, in_flight: str) -> None:
    logging.disable(logging.CRITICAL)
    DUMPS[peer](origin, sitemap, Path(out), int(in_flight))


if __name__ == "__main__":
    main(*sys.argv[1:])
