"""Scrapy in a process of its own: a spider's source in, its items, stats and log out.

A reactor starts once in a process, so that no crawl can share one with the tests.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from pathlib import Path

# Each test's spider is the class Tried of a module of that name.
PROGRAM = """
import json, sys, warnings
from scrapy import signals
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import ScrapyDeprecationWarning
from tried import Tried

warnings.simplefilter("error", ScrapyDeprecationWarning)
settings, arguments = json.loads(sys.argv[1]), json.loads(sys.argv[2])
process = CrawlerProcess(settings)
crawler = process.create_crawler(Tried)
items = []
crawler.signals.connect(lambda item: items.append(item), signals.item_scraped, weak=False)
process.crawl(crawler, **arguments)
process.start()
with open("out.json", "w") as file:
    json.dump({"items": items, "stats": crawler.stats.get_stats()}, file, default=str)
"""
SETTINGS = {"LOG_LEVEL": "INFO", "TELNETCONSOLE_ENABLED": False, "HTTPERROR_ALLOW_ALL": True}
HEAD = """
from scrapy import Request
from scrapy.spiders import SitemapSpider
from sitemap_reader.integrations.scrapy import SitemapReaderSpider
"""
SECONDS = 120


@attrs.frozen
class Crawl:
    """What came of one."""

    items: list[Any]
    stats: dict[str, Any]
    log: str


def crawl(folder: Path, spider: str, settings: dict[str, Any] | None = None, **arguments: Any) -> Crawl:
    """Runs `spider`, the source of a class Tried."""
    (folder / "tried.py").write_text(HEAD + spider)
    (folder / "program.py").write_text(PROGRAM)
    told = [json.dumps({**SETTINGS, **(settings or {})}), json.dumps(arguments)]
    ran = subprocess.run(
        [sys.executable, "program.py", *told],
        cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("Traceback") == ran.stderr.count("sitemap_filter failed"), ran.stderr
    return Crawl(**json.loads((folder / "out.json").read_text()), log=ran.stderr)
