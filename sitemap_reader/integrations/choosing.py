"""A Frontier whose indexes are chosen from as a whole: which children to read is asked once for each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..records import SitemapRef
from ..walk.frontier import Frontier
from ..walk.visit import Failed, Finished

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from ..walk.discovery import Seed
    from ..walk.plan import Plan
    from ..walk.visit import Answer, Visit


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
