"""What a reading comes to, in the log and the stats of a Scrapy crawler: `sitemap/problems/F01` and so on.

Items of a walk in, log records and numbers out. Decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals

from ...model.problems import Problem
from ..log import Log

if TYPE_CHECKING:
    from scrapy import Spider

    from ...client.streams import Walk
    from ...model.records import Item


class Account:
    """hear() each item; end() once all is read, or when the spider is closed before."""

    def __init__(self, spider: Spider) -> None:
        self._crawler = spider.crawler
        self._logger = spider.logger
        self._log = Log(spider.logger)
        self._walk: Walk | None = None

    def open(self, walk: Walk) -> None:
        """Of this walk."""
        self._walk = walk
        self._crawler.signals.connect(self._close, signals.spider_closed)

    def hear(self, item: Item) -> None:
        """Tells of a problem, and counts it."""
        self._log.hear(item)
        if isinstance(item, Problem):
            self.count(f"problems/{item.code}")

    def count(self, name: str, number: int = 1) -> None:
        """Adds to a number of the stats."""
        self._crawler.stats.inc_value(f"sitemap/{name}", number)

    def end(self, *, is_whole: bool = True) -> None:
        """The numbers; and, where the walk came to its end, whether there was anything at all."""
        walk, self._walk = self._walk, None
        if walk is None:
            return
        summary = walk.summary()
        self._log.end(summary, walk.verdict() if is_whole else None)
        self.count("urls", summary.urls)
        self.count("sitemaps", summary.sitemaps)
        self.count("sitemaps_incomplete", summary.failed + summary.incomplete)
        for what in ("dropped", "unwanted", "pruned"):
            for reason, number in getattr(summary, what).items():
                self.count(f"{what}/{reason}", number)

    def _close(self) -> None:
        if self._walk is not None:
            self._logger.info("the spider was closed before all of its sitemaps were read")
        self.end(is_whole=False)
