"""What a reading has to say, in the log of the crawler that it is a part of.

Items of a walk in, records of a logging.Logger out, whose levels and handlers are the crawler's. Configures nothing.
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


class Log:
    """hear() each item, then end(): five problems of a code and document are told one by one, the rest counted."""

    def __init__(self, logger: logging.Logger | logging.LoggerAdapter[logging.Logger]) -> None:
        self._logger = logger
        self._problems = Problems()

    def hear(self, item: Item) -> None:
        """Tells of a problem."""
        if isinstance(item, Problem) and self._problems.add(item):
            self._say(LEVELS[item.severity], str(item))

    def end(self, summary: Summary, verdict: ReadError | None) -> None:
        """The last lines: what was not told one by one, the numbers, and what is missing."""
        for code, document, count in self._problems.unsampled():
            self._say(LEVELS[CATALOGUE[code].severity], f"{code} {document}: {count:,} more")
        self._say(logging.INFO, str(summary))
        if verdict is not None:
            self._say(logging.ERROR, str(verdict))
        elif partial := summary.partial_line():
            self._say(logging.WARNING, partial)

    def _say(self, level: int, text: str) -> None:
        # In one line, and without what a terminal obeys: whoever shows the log has not written it.
        self._logger.log(level, "%s", printable(text))
