"""What a reading has to say, in the log of the crawler that it is a part of.

Items of a walk in, records of a logging.Logger out, whose levels and handlers are the crawler's. Configures nothing.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ..ledger import Problems
from ..problems import CATALOGUE, Problem

if TYPE_CHECKING:
    from ..errors import ReadError
    from ..ledger import Summary
    from ..records import Item

LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO}


class Log:
    """hear() each item, then end(): five problems of a code and document are told one by one, the rest counted."""

    def __init__(self, logger: logging.Logger | logging.LoggerAdapter[logging.Logger]) -> None:
        self._logger = logger
        self._problems = Problems()

    def hear(self, item: Item) -> None:
        """Tells of a problem."""
        if isinstance(item, Problem) and self._problems.add(item):
            self._logger.log(LEVELS[item.severity], "%s", item)

    def end(self, summary: Summary, verdict: ReadError | None) -> None:
        """The last lines: what was not told one by one, the numbers, and what is missing."""
        for code, document, count in self._problems.unsampled():
            self._logger.log(LEVELS[CATALOGUE[code].severity], "%s %s: %s more", code, document, f"{count:,}")
        self._logger.info("%s", summary)
        if verdict is not None:
            self._logger.error("%s", verdict)
        elif partial := summary.partial_line():
            self._logger.warning("%s", partial)
