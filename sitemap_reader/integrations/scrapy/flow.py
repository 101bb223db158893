"""When Scrapy has room for one more request: what waits in its scheduler takes memory.

Signals of a crawler in, waiting out. Knows neither requests nor records.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy import signals

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class Flow:
    """room() waits until Scrapy has started all that it was given, and says False once the spider is closed."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._news = asyncio.Event()
        self._is_closed = False
        crawler.signals.connect(self._note_empty, signals.scheduler_empty)
        crawler.signals.connect(self._close, signals.spider_closed)

    async def room(self) -> bool:
        """Whether there is room: now, or when it has come to be."""
        if not self._is_closed and self._crawler.engine.needs_backout():
            self._news.clear()
            await self._news.wait()
        return not self._is_closed

    def _note_empty(self) -> None:
        self._news.set()

    def _close(self) -> None:
        self._is_closed = True
        self._news.set()
