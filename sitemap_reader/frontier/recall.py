"""What a walk does with its memory: asks under conditions, or not at all; what is unchanged lists what it did.

In: visits. Out: the headers to ask with; the children of what is unchanged, some a turn, as an index may list a great
many; then the visits that are through.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from ..model.records import Outcome
from .revalidation import conditions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ..model.records import SitemapRef
    from .authority import Proofs
    from .document_request import Visit
    from .revalidation import Known, Memory


class Recall:
    """Documents that are unchanged go through go_on() until it is_idle. `enter` hears of each child."""

    def __init__(self, memory: Memory, proofs: Proofs, enter: Callable[[Visit, SitemapRef], None]) -> None:
        self._memory = memory
        self._proofs = proofs
        self._enter = enter
        self._waiting: deque[tuple[Visit, Known, int]] = deque()  # and how many of its children are entered

    @property
    def is_idle(self) -> bool:
        """Nothing is left to enter."""
        return not self._waiting

    def conditions(self, visit: Visit) -> dict[str, str]:
        """Under which a document is asked for: one of which a part is here already is needed whole."""
        if not self._memory.documents or visit.is_robots or visit.again or visit.reached:
            return {}
        known = self._memory.known(visit.asked, self._proofs.of(visit))
        return {} if known is None else conditions(known)

    def skips(self, visit: Visit) -> bool:
        """Whether a document that is named now need not be asked for; it is unchanged then."""
        if self._memory.skips_none:
            return False
        known = self._memory.skipped(visit.asked, visit.stated, self._proofs.of(visit))
        if known is not None:
            self._add(visit, known)
        return known is not None

    def confirm(self, visit: Visit, headers: Mapping[str, str]) -> None:
        """The server says that a document is unchanged."""
        visit.etag, visit.last_modified = headers.get("etag"), headers.get("last-modified")
        visit.holds = self._proofs.of(visit)
        self._add(visit, self._memory.documents[visit.asked])

    def _add(self, visit: Visit, known: Known) -> None:
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
