"""Documents that are as they were: what they list comes out of memory, and is entered as if it had been read.

In: visits, and what is known of them. Out: their children, some a turn, as an index may list a great many; then the
visits that are through.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from ..records import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..records import SitemapRef
    from .memory import Known
    from .visit import Visit


class Recall:
    """add() documents, then go_on() until it is_idle. `enter` hears of each child."""

    def __init__(self, enter: Callable[[Visit, SitemapRef], None]) -> None:
        self._enter = enter
        self._waiting: deque[tuple[Visit, Known, int]] = deque()  # and how many of its children are entered

    @property
    def is_idle(self) -> bool:
        """Nothing is left to enter."""
        return not self._waiting

    def add(self, visit: Visit, known: Known) -> None:
        """A document that need not be read."""
        visit.etag = visit.etag or known.etag
        visit.last_modified = visit.last_modified or known.last_modified
        self._waiting.append((visit, known, 0))

    def go_on(self, steps: int) -> Iterator[tuple[Visit, Outcome]]:
        """Enters about so many children; gives the documents that have no more, with their outcomes."""
        while self._waiting and steps > 0:
            visit, known, start = self._waiting.popleft()
            some = known.children[start : start + steps]
            steps -= 1 + len(some)
            for ref in some:
                self._enter(visit, ref)
            if start + len(some) < len(known.children):
                self._waiting.appendleft((visit, known, start + len(some)))
            else:
                yield visit, Outcome(format=known.format, sha256=known.sha256, not_modified=True)
