"""A site in numbers: the forms of its lines in, one pass, facts out.

Memory does not grow with what a site writes, but for the fingerprints of what was listed before: see facts.Tops.
Never judges, and asks no clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model.errors import UsageError
from ..serialize.restore import from_json
from .dates import Dates, as_stated
from .facts import Fact
from .hints import Hints
from .places import Places
from .runs import Runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

__all__ = ["Fact", "Statistics", "as_stated"]


class Statistics:
    """add() every line, then facts(). `now` is aware: ages go by it."""

    def __init__(self, now: datetime) -> None:
        self.urls = 0
        self._places = Places()
        self._dates = Dates(now)
        self._hints = Hints()
        self._runs = Runs()
        self._takers: dict[object, Callable[[Mapping[str, Any]], None]] = {
            None: self._take_url,
            "outcome": self._runs.take_outcome,
            "problem": self._runs.take_problem,
        }

    def add(self, form: Mapping[str, Any]) -> None:
        """Takes in a line: URLs, and of a run its outcomes and problems; others are passed over.

        UsageError for a line that is not what it says it is.
        """
        take = self._takers.get(form.get("type"))
        if take is None:
            return
        try:
            take(form)
        except (TypeError, ValueError, KeyError, AttributeError) as exc:
            from_json(form)  # says what is wrong with it
            raise UsageError(f"no line of a dump: {exc}") from exc

    def facts(self) -> list[Fact]:
        """What has come so far, group by group; nothing of nothing."""
        places, runs = self._places, self._runs
        if not self.urls:
            groups: tuple[Callable[[int], Iterator[Fact]], ...] = (runs.dropped, runs.documents, runs.problems)
        else:
            groups = (
                places.counts,
                runs.dropped,
                places.items,
                places.hosts,
                runs.documents,
                self._dates.facts,
                self._hints.facts,
                places.sections,
                places.codes,
                runs.problems,
            )
        return [fact for group in groups for fact in group(self.urls)]

    def _take_url(self, form: Mapping[str, Any]) -> None:
        self.urls += 1
        self._places.take(form)
        self._dates.take(form)
        self._hints.take(form)
        if "problems" in form:
            self._runs.take_url(form)
