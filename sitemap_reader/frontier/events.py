"""The events that a frontier reports: Problems as they come up, and an Outcome for each document that has ended.

In: requests, and what happened to them. Out: take(). A probe that is no sitemap leaves no event.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ..model.problems import SAMPLES_PER_CODE, Problem, report
from ..parser.content.sniff import SITEMAP_FORMATS
from ..parser.normalise.urls import origin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..model.problems import Severity
    from ..model.records import Outcome, SitemapRef
    from .document_request import DocumentRequest, Reread


class Events:
    """Collects what take() returns, in the order in which it came up."""

    def __init__(self) -> None:
        self._events: list[Problem | Outcome] = []

    def take(self) -> list[Problem | Outcome]:
        """The events since the last call."""
        events, self._events = self._events, []
        return events

    def note(
        self,
        request: DocumentRequest,
        code: str,
        message: str,
        ref: SitemapRef | None = None,
        *,
        field: str | None = None,
        severity: Severity | None = None,
    ) -> None:
        """Reports a Problem of a document; that of a probe is deferred until it proves to be a sitemap."""
        line, raw = (ref.line, ref.loc) if ref else (None, None)
        problem = report(
            code, message, sitemap=request.original_url, line=line, field=field, raw=raw, severity=severity
        )
        request.tally.add(problem)
        if request.outcome:  # it has ended, but for robots.txt verification
            sampled = request.tally.counts[code] <= SAMPLES_PER_CODE
            _add_problems(request.outcome, {code: 1}, [problem] if sampled else [])
        (request.deferred_problems if request.is_probe else self._events).append(problem)

    def set_outcome(self, request: DocumentRequest, outcome: Outcome) -> None:
        """Gives the request the parser's outcome, with what only the frontier knows; reports nothing yet."""
        outcome.url, outcome.final_url = request.original_url, request.url
        outcome.parents, outcome.why, outcome.status = request.parents, request.why, request.status
        outcome.etag, outcome.last_modified = request.etag, request.last_modified
        outcome.authorities = request.authorities
        outcome.lastmod, outcome.lastmod_precision = request.listed_lastmod or (None, None)
        outcome.complete = outcome.complete and not request.is_incomplete
        _add_problems(outcome, request.tally.counts, request.tally.samples)
        request.outcome = outcome

    def report_end(self, request: DocumentRequest) -> None:
        """Reports the end of a document that has its outcome."""
        outcome = request.outcome
        assert outcome is not None  # noqa: S101 - for the type checker
        outcome.skipped = request.skipped
        outcome.kept -= request.unread_children.total()
        outcome.dropped = dict(Counter(outcome.dropped) + request.unread_children)
        outcome.complete = outcome.complete and not request.is_incomplete
        if not (request.is_probe and outcome.format not in SITEMAP_FORMATS):
            self._events += [*request.deferred_problems, outcome]
        request.deferred_problems = []

    def report_reread_end(self, request: DocumentRequest, reread: Reread, second: Outcome) -> None:
        """Reports the end of a document that was read twice and has the outcome of the first reading."""
        if reread.merge(second) is second:
            self.set_outcome(request, second)
        self.report_end(request)

    def report_probe(self, request: DocumentRequest) -> None:
        """Reports a probe like any other document from now on, as something lists or needs it; even if it has ended."""
        outcome = request.outcome
        if outcome and request.is_probe and outcome.format not in SITEMAP_FORMATS:
            self._events += [*outcome.samples, outcome]
        request.reports_failure = True

    def report_first_failure(self, outcome: Outcome) -> None:
        """Reports the end of a failed robots.txt whose successor, at another origin, has a message for both."""
        self._events.append(outcome)


def _add_problems(outcome: Outcome, counts: Mapping[str, int], samples: Sequence[Problem]) -> None:
    """Adds the frontier's Problems to those of the parser."""
    for code, count in counts.items():
        outcome.problems[code] = outcome.problems.get(code, 0) + count
    outcome.samples = (*outcome.samples, *samples)


def listing_place(ref: SitemapRef) -> str | None:
    """`sitemap_index.xml:12`: where a child is listed, for a message that has the child's full URL."""
    if ref.sitemap is None:
        return None
    name = ref.sitemap
    if origin(name) == origin(ref.loc):
        name = name.rpartition("/")[2] or name
    return name if ref.line is None else f"{name}:{ref.line}"
