"""What a walk has to say: Problems as they come up, an Outcome for each document that has come to its end.

In: visits, and what happened to them. Out: take(). A guess that proves wrong is nobody's business: it leaves no trace.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ..model.problems import SAMPLES_PER_CODE, Problem, report
from ..parser.content.sniff import SITEMAP_FORMATS
from ..parser.normalise.urls import origin
from .document_request import outcome_of_both

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..model.problems import Severity
    from ..model.records import Outcome, SitemapRef
    from .document_request import DocumentRequest, Reread


class Events:
    """Collects what take() gives, in the order in which it came up."""

    def __init__(self) -> None:
        self._out: list[Problem | Outcome] = []

    def take(self) -> list[Problem | Outcome]:
        """What is new since the last call."""
        out, self._out = self._out, []
        return out

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
        """A Problem of the visit; of a guess it is held back until the guess proves right."""
        line, raw = (ref.line, ref.loc) if ref else (None, None)
        problem = report(code, message, sitemap=request.asked, line=line, field=field, raw=raw, severity=severity)
        request.tally.add(problem)
        if request.outcome:  # it is held back, and this came up since
            sampled = request.tally.counts[code] <= SAMPLES_PER_CODE
            _enter(request.outcome, {code: 1}, [problem] if sampled else [])
        (request.held if request.is_guess else self._out).append(problem)

    def settle(self, request: DocumentRequest, outcome: Outcome) -> None:
        """The parser's outcome, with what only the walk knows. Not told yet."""
        outcome.url, outcome.final_url = request.asked, request.url
        outcome.parents, outcome.why, outcome.status = request.parents, request.why, request.status
        outcome.etag, outcome.last_modified = request.etag, request.last_modified
        outcome.authorities = request.holds
        outcome.lastmod, outcome.lastmod_precision = request.stated or (None, None)
        outcome.complete = outcome.complete and not request.missing
        _enter(outcome, request.tally.counts, request.tally.samples)
        request.outcome = outcome

    def tell(self, request: DocumentRequest) -> None:
        """The end of a document, which has been settled."""
        outcome = request.outcome
        assert outcome is not None  # noqa: S101 - for the type checker
        outcome.skipped = request.skipped
        outcome.kept -= request.forgone.total()
        outcome.dropped = dict(Counter(outcome.dropped) + request.forgone)
        outcome.complete = outcome.complete and not request.missing
        if not (request.is_guess and outcome.format not in SITEMAP_FORMATS):
            self._out += [*request.held, outcome]
        request.held = []

    def end_reread(self, request: DocumentRequest, again: Reread, second: Outcome) -> None:
        """The end of a document that was read twice; the first reading has been settled."""
        if outcome_of_both(again, second) is second:
            self.settle(request, second)
        self.tell(request)

    def report_guess(self, request: DocumentRequest) -> None:
        """Somebody names it, or needs it: what was nobody's business is told after all, even if it is over."""
        outcome = request.outcome
        if outcome and request.is_guess and outcome.format not in SITEMAP_FORMATS:
            self._out += [*outcome.samples, outcome]
        request.is_reported = True

    def add_earlier(self, earlier: Outcome) -> None:
        """The end of a try that another one followed, whose message says what both came to."""
        self._out.append(earlier)


def _enter(outcome: Outcome, counts: Mapping[str, int], samples: Sequence[Problem]) -> None:
    """Problems of the walk, beside those of the parser."""
    for code, count in counts.items():
        outcome.problems[code] = outcome.problems.get(code, 0) + count
    outcome.samples = (*outcome.samples, *samples)


def place(ref: SitemapRef) -> str | None:
    """`sitemap_index.xml:12`: where a child is listed, for a message that names the child in full."""
    if ref.sitemap is None:
        return None
    name = ref.sitemap
    if origin(name) == origin(ref.loc):
        name = name.rpartition("/")[2] or name
    return name if ref.line is None else f"{name}:{ref.line}"
