"""Documents that have ended, but for what may be proven yet: another site's robots.txt may let them speak for more.

In: visits with their outcomes; that no more proof can come. Out: each of them told, or to be read once more first.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from ..parser.normalise.scope import Scope
from ..parser.normalise.urls import directory
from .document_request import has_drops, plan_reread

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model.records import Outcome
    from .authority import Authorities
    from .document_request import DocumentRequest
    from .events import Events
    from .links import Listings
    from .plan import Plan


class DeferredDocuments:
    """end() each document; when all has been read, settle() until it is_empty. `queue` hears what is read again."""

    def __init__(
        self,
        plan: Plan,
        proofs: Authorities,
        listings: Listings,
        events: Events,
        queue: Callable[[DocumentRequest], None],
    ) -> None:
        self._plan = plan
        self._authorities = proofs
        self._listings = listings
        self._events = events
        self._queue = queue
        self._waiting: deque[DocumentRequest] = deque()
        self._read_again: dict[DocumentRequest, None] = {}

    @property
    def is_empty(self) -> bool:
        """Nothing waits; what is being read again may be on its way."""
        return not self._waiting

    def end(self, request: DocumentRequest, outcome: Outcome) -> None:
        """Tells of the end of a document, at once if no proof could change it."""
        if self._plan.descend and (request.unproven or has_drops(outcome)):
            self._waiting.append(request)
        else:
            self._events.tell(request)

    def settle(self, steps: int) -> None:
        """All has been read, so no more proof will come: the last word on what was dropped, some of it a turn.

        A document is read again once at most, however often it gained authorities: by now it has gained them all.
        """
        while self._waiting and steps > 0:
            request = self._waiting[0]
            steps -= 1 + self._listings.give_up_unproven(request, steps)
            if request.unproven:
                return
            self._waiting.popleft()
            former = Scope(self._plan.scope, (*request.holds, directory(request.url)))
            request.again = plan_reread(request.outcome, former, self._authorities.of(request))
            if request.again:
                request.reached, request.tries, request.not_before, request.network_seconds = None, 0, 0.0, 0.0
                self._read_again[request] = None
                self._queue(request)
            else:
                self._events.tell(request)

    def end_again(self, request: DocumentRequest, outcome: Outcome) -> None:
        """The end of a second reading."""
        assert request.again is not None  # noqa: S101 - for the type checker: it is one
        del self._read_again[request]
        self._events.end_reread(request, request.again, outcome)

    def abandon(self) -> None:
        """Nothing more will be asked: tells of all as they stand."""
        for request in (*self._waiting, *self._read_again):
            self._events.tell(request)
        self._waiting.clear()
        self._read_again.clear()
