"""The events that a frontier reports: Listed documents, Problems as they come up, an Outcome for each that has ended.

In: documents, and what happened to them. Out: take(). A probe that is no sitemap leaves no Outcome.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

from ..model.problems import Problem, report
from ..parser.content.sniff import SITEMAP_FORMATS
from ..parser.normalise.urls import origin
from .document_request import Listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..model.problems import Severity
    from ..model.records import Outcome, SitemapRef
    from .document_request import Document

Event: TypeAlias = "Listed | Problem | Outcome"


class Events:
    """Collects what take() returns, in the order in which it came up."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self.unanswered = 0  # Listed documents that were neither requested nor skipped

    def take(self) -> list[Event]:
        """The events since the last call."""
        events, self._events = self._events, []
        return events

    def list(self, document: Document) -> None:
        """Has the caller decide whether a document is requested."""
        self.unanswered += 1
        self._events.append(Listed(document))

    def note(
        self,
        document: Document,
        code: str,
        message: str,
        ref: SitemapRef | None = None,
        *,
        field: str | None = None,
        severity: Severity | None = None,
        incomplete: bool = False,
        remedy: str | None = None,
    ) -> None:
        """Reports a Problem of a document; that of a probe waits until it proves to be a sitemap.

        `incomplete`: entries of the document may be missing.
        """
        line, loc = (ref.line, ref.loc) if ref else (None, None)
        sitemap, decided = document.original_url, document.report
        place: dict[str, Any] = {"sitemap": sitemap, "line": line, "field": field, "raw": loc, "url": loc}
        problem = report(code, message, severity=severity, remedy=remedy, **place)
        is_sample = decided.problems.add(problem)
        decided.is_incomplete = decided.is_incomplete or incomplete
        if decided.outcome:  # it has ended, but for robots.txt verification
            _add_problems(decided.outcome, {code: 1}, [problem] if is_sample else [])
        (decided.probe_problems if document.is_probe else self._events).append(problem)

    def set_outcome(self, document: Document, outcome: Outcome) -> None:
        """Gives the document the parser's outcome, with what only the frontier knows; reports nothing yet."""
        decided, received = document.report, document.received
        outcome.url, outcome.final_url = document.original_url, document.url
        outcome.parents = document.parents = [*document.parents]
        outcome.why, outcome.status = document.why, received.status
        outcome.etag = received.etag or outcome.etag
        outcome.last_modified = received.last_modified or outcome.last_modified
        outcome.authorities = document.authorities
        outcome.lastmod, outcome.lastmod_precision = document.listed_lastmod or (None, None)
        outcome.complete = outcome.complete and not decided.is_incomplete
        _add_problems(outcome, decided.problems.counts, decided.problems.samples)
        decided.outcome = outcome

    def report_end(self, document: Document) -> None:
        """Reports the end of a document that has its outcome."""
        document.take("report")
        decided, outcome = document.report, document.report.outcome
        assert outcome is not None  # noqa: S101 - for the type checker
        outcome.skipped = decided.skipped
        if decided.unread_children:
            outcome.kept -= decided.unread_children.total()
            outcome.dropped = dict(Counter(outcome.dropped) + decided.unread_children)
        outcome.complete = outcome.complete and not decided.is_incomplete
        if not (document.is_probe and outcome.format not in SITEMAP_FORMATS):
            self._events += [*decided.probe_problems, outcome]
        decided.probe_problems = []
        document.forget()

    def report_probe(self, document: Document) -> None:
        """Reports a probe like any other document from now on, as something lists or needs it; even if it has ended."""
        if document.is_probe:
            outcome = document.outcome
            if outcome and outcome.format not in SITEMAP_FORMATS:
                self._events += [*outcome.samples, outcome]
            document.report.reports_failure = True

    def report_first_failure(self, outcome: Outcome) -> None:
        """Reports the end of a failed robots.txt whose successor, at another origin, has a message for both."""
        self._events.append(outcome)


def _add_problems(outcome: Outcome, counts: Mapping[str, int], samples: Sequence[Problem]) -> None:
    for code, count in counts.items():
        outcome.problems[code] = outcome.problems.get(code, 0) + count
    outcome.samples = (*outcome.samples, *samples)


def listing_place(ref: SitemapRef | None) -> str | None:
    """`sitemap_index.xml:12`: where a child is listed, for a message that has the child's full URL."""
    if ref is None or ref.sitemap is None:
        return None
    name = ref.sitemap
    if origin(name) == origin(ref.loc):
        name = name.rpartition("/")[2] or name
    return name if ref.line is None else f"{name}:{ref.line}"
