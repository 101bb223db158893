"""What a walk has to say: Problems as they come up, an Outcome for each document that has come to its end.

In: visits, and what happened to them. Out: take(). A guess that proves wrong is nobody's business: it leaves no trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..problems import Problem, report
from ..read.sniff import SITEMAP_FORMATS
from ..read.urls import origin

if TYPE_CHECKING:
    from ..records import Outcome, SitemapRef
    from .visit import Visit


class Telling:
    """Collects what take() gives, in the order in which it came up."""

    def __init__(self) -> None:
        self._out: list[Problem | Outcome] = []

    def take(self) -> list[Problem | Outcome]:
        """What is new since the last call."""
        out, self._out = self._out, []
        return out

    def note(self, visit: Visit, code: str, message: str, ref: SitemapRef | None = None) -> None:
        """A Problem of the visit; of a guess it is held back until the guess proves right."""
        line, raw = (ref.line, ref.loc) if ref else (None, None)
        problem = report(code, message, sitemap=visit.asked, line=line, raw=raw)
        visit.tally.add(problem)
        (visit.held if visit.is_guess else self._out).append(problem)

    def settle(self, visit: Visit, outcome: Outcome) -> None:
        """The parser's outcome, with what only the walk knows."""
        outcome.url, outcome.final_url = visit.asked, visit.url
        outcome.parents, outcome.why, outcome.status = visit.parents, visit.why, visit.status
        outcome.etag, outcome.last_modified = visit.etag, visit.last_modified
        outcome.complete = outcome.complete and not visit.missing
        for code, count in visit.tally.counts.items():
            outcome.problems[code] = outcome.problems.get(code, 0) + count
        outcome.samples = (*outcome.samples, *visit.tally.samples)
        visit.outcome = outcome

    def finish(self, visit: Visit, outcome: Outcome) -> None:
        """The end of a document."""
        self.settle(visit, outcome)
        if not (visit.is_guess and outcome.format not in SITEMAP_FORMATS):
            self._out += [*visit.held, outcome]
        visit.held = []

    def add_earlier(self, earlier: Outcome, later: Outcome) -> None:
        """The end of a try that `later` followed. What both have to say was said once."""
        told = {problem.message for problem in later.samples}
        self._out += [problem for problem in earlier.samples if problem.message not in told]
        self._out.append(earlier)


def place(ref: SitemapRef) -> str | None:
    """`sitemap_index.xml:12`: where a child is listed, for a message that names the child in full."""
    if ref.sitemap is None:
        return None
    name = ref.sitemap
    if origin(name) == origin(ref.loc):
        name = name.rpartition("/")[2] or name
    return name if ref.line is None else f"{name}:{ref.line}"
