"""CrawlLog: logs the problems and the summary of a crawl to the logger of the surrounding crawler.

Items of a crawl in, log records out. Levels and handlers are the crawler's: configures nothing.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ..client.summary import Problems
from ..model.errors import printable
from ..model.problems import CATALOGUE, Problem

if TYPE_CHECKING:
    from ..client.summary import Summary
    from ..model.errors import ReadError
    from ..model.records import Item

LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO}


class CrawlLog:
    """report() each item, then end(): logs five problems of each code and document, and counts the others."""

    def __init__(self, logger: logging.Logger | logging.LoggerAdapter[logging.Logger]) -> None:
        self._logger = logger
        self._problems = Problems()

    def report(self, item: Item) -> None:
        """Logs a problem."""
        if isinstance(item, Problem) and self._problems.add(item):
            self._log(LEVELS[item.severity], str(item))

    def end(self, summary: Summary, verdict: ReadError | None) -> None:
        """Logs the last lines: counts of further problems, the summary, and what is missing."""
        for code, document, count in self._problems.unsampled():
            self._log(LEVELS[CATALOGUE[code].severity], f"{code} {document}: {count:,} more")
        self._log(logging.INFO, str(summary))
        if verdict is not None:
            self._log(logging.ERROR, str(verdict))
        elif partial := summary.partial_line():
            self._log(logging.WARNING, partial)

    def _log(self, level: int, text: str) -> None:
        # One line without control characters: a log may be shown in a terminal.
        self._logger.log(level, "%s", printable(text))
