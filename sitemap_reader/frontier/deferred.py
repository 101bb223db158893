"""Documents that have ended, but for what may be proven yet: another site's robots.txt may let them speak for more.

In: visits with their outcomes; that no more proof can come. Out: each of them told, or to be read once more first.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from ..parser.normalise.scope import Scope
from ..parser.normalise.urls import directory
from .document_request import has_drops, second_reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model.records import Outcome
    from .authority import Proofs
    from .document_request import Visit
    from .events import Telling
    from .links import Listings
    from .plan import Plan


class Held:
    """end() each document; when all has been read, settle() until it is_empty. `queue` hears what is read again."""

    def __init__(
        self, plan: Plan, proofs: Proofs, listings: Listings, telling: Telling, queue: Callable[[Visit], None]
    ) -> None:
        self._plan = plan
        self._proofs = proofs
        self._listings = listings
        self._telling = telling
        self._queue = queue
        self._waiting: deque[Visit] = deque()
        self._read_again: dict[Visit, None] = {}

    @property
    def is_empty(self) -> bool:
        """Nothing waits; what is being read again may be on its way."""
        return not self._waiting

    def end(self, visit: Visit, outcome: Outcome) -> None:
        """Tells of the end of a document, at once if no proof could change it."""
        if self._plan.descend and (visit.unproven or has_drops(outcome)):
            self._waiting.append(visit)
        else:
            self._telling.tell(visit)

    def settle(self, steps: int) -> None:
        """All has been read, so no more proof will come: the last word on what was dropped, some of it a turn.

        A document is read again once at most, however often it gained authorities: by now it has gained them all.
        """
        while self._waiting and steps > 0:
            visit = self._waiting[0]
            steps -= 1 + self._listings.give_up_unproven(visit, steps)
            if visit.unproven:
                return
            self._waiting.popleft()
            former = Scope(self._plan.scope, (*visit.holds, directory(visit.url)))
            visit.again = second_reading(visit.outcome, former, self._proofs.of(visit))
            if visit.again:
                visit.reached, visit.tries, visit.not_before, visit.network_seconds = None, 0, 0.0, 0.0
                self._read_again[visit] = None
                self._queue(visit)
            else:
                self._telling.tell(visit)

    def end_again(self, visit: Visit, outcome: Outcome) -> None:
        """The end of a second reading."""
        assert visit.again is not None  # noqa: S101 - for the type checker: it is one
        del self._read_again[visit]
        self._telling.tell_both(visit, visit.again, outcome)

    def abandon(self) -> None:
        """Nothing more will be asked: tells of all as they stand."""
        for visit in (*self._waiting, *self._read_again):
            self._telling.tell(visit)
        self._waiting.clear()
        self._read_again.clear()
