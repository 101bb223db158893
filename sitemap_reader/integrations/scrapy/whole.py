"""Documents as a whole, for whoever chooses among all that one lists: the children of an index, the pages of a sitemap.

In: what a walk gives a little at a time. Out: the same, when its document has come to its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...frontier.document_request import Failed, Finished
from ...frontier.frontier import Frontier
from ...model.records import SitemapRef

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from ...frontier.document_request import Answer, Visit
    from ...frontier.plan import Plan
    from ...frontier.seeds import Seed
    from ...model.records import Outcome, UrlRecord


class ChoosingFrontier(Frontier):
    """`choose` gets the children of an index when it was read, and gives those to read. Sitemap lines are not asked."""

    def __init__(
        self,
        seeds: Sequence[Seed],
        plan: Plan,
        *,
        choose: Callable[[Iterable[SitemapRef]], Iterable[SitemapRef]],
    ) -> None:
        super().__init__(seeds, plan)
        self._choose = choose
        self._listed: dict[Visit, list[SitemapRef]] = {}

    def receive(self, visit: Visit, answer: Answer, now: float, today: datetime) -> bool:
        """Holds the children of an index back until its end."""
        if isinstance(answer, SitemapRef) and not visit.is_robots:
            self._listed.setdefault(visit, []).append(answer)
            return True
        if isinstance(answer, Finished | Failed):
            listed = self._listed.pop(visit, [])
            chosen = [*self._choose(listed)]
            if len(chosen) < len(listed):
                self.pruned["filter"] += len(listed) - len(chosen)
            for ref in chosen:
                super().receive(visit, ref, now, today)
        return super().receive(visit, answer, now, today)


class WholeDocuments:
    """Holds the records of documents that are being read, until hear() of their outcomes."""

    def __init__(self) -> None:
        self._records: dict[str | None, list[UrlRecord]] = {}
        self._ended: list[str | None] = []

    def hear(self, outcome: Outcome) -> None:
        """A document has come to its end; its last records may be yet to come."""
        self._ended.append(outcome.url)

    def take(self, records: Iterable[UrlRecord]) -> Iterator[list[UrlRecord]]:
        """Those of the documents that have ended, with these."""
        for record in records:
            self._records.setdefault(record.sitemap, []).append(record)
        for url in self._ended:
            if url in self._records:
                yield self._records.pop(url)
        self._ended.clear()

    def rest(self) -> Iterator[list[UrlRecord]]:
        """Those of documents whose end nobody told of."""
        while self._records:
            yield self._records.popitem()[1]
