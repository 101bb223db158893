"""What the lines of a dump tell an audit: forms in, what a run would have given out; and what a dump cannot tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from ..client.summary import count_of
from ..model.errors import UsageError
from ..model.problems import Problem, report
from ..model.records import Candidate, Change, Outcome, SitemapRef, UrlRecord
from ..parser.normalise.urls import clean_url, is_clean
from ..serialize.restore import from_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..serialize.dumps import Form
    from .findings import Findings

    Taken = UrlRecord | SitemapRef | Problem | Outcome

# Codes that a dump cannot show -> what they need.
_NEED = {"U12": "robots.txt", "D04": "the time of the request", "D05": "what an index states"}
# Of URLs that name no sitemap.
_BY_SITEMAP = ("U06", "U07", "D03", "D07", "H03", "N01")


@attrs.define
class Dumped:
    """items() of the lines, then end(), which enters the problems of URLs where no line told of them.

    With a report among its lines each problem has one of its own; without, there are those of the URLs, and nobody
    knows what became of the sitemaps.
    """

    name: str
    _found: Findings
    _complete: bool = True
    _has_run: bool = False
    _has_refs: bool = False
    _of_urls: Findings = attrs.field(init=False)
    _unnamed: int = 0

    @_of_urls.default
    def _nothing_yet(self) -> Findings:
        return self._found.like()

    def items(self, forms: Iterable[tuple[int, Form]]) -> Iterator[Taken]:
        """What an audit takes; UsageError for a line that is none, and for a list of changes."""
        for number, form in forms:
            try:
                item = from_json(form)
            except UsageError as exc:
                raise UsageError(f"{self.name}:{number}: {exc}") from None
            if isinstance(item, Change | Candidate):
                what = "list of changes" if isinstance(item, Change) else "list of sitemaps"
                hint = "`sitemap-reader dump` makes one"
                raise UsageError(f"{self.name}:{number}: that is a {what}, and no dump: {hint}")
            if isinstance(item, UrlRecord):
                yield from self._record(item, number)
            else:
                self._note(item)
                yield item

    def _note(self, item: SitemapRef | Problem | Outcome) -> None:
        self._has_refs = self._has_refs or isinstance(item, SitemapRef)
        self._has_run = self._has_run or not isinstance(item, SitemapRef)
        self._complete = self._complete and not (isinstance(item, Outcome) and not item.complete)

    def _record(self, record: UrlRecord, number: int) -> Iterator[UrlRecord]:
        place: dict[str, Any] = {"sitemap": record.sitemap, "line": record.line}
        if not record.sitemap:  # it was written with some fields only
            self._unnamed += 1
            record.line = number
            place = {"sitemap": self.name, "line": number}
        for problem in record.problems:
            # What could not be mended is no URL: of XML that is not well-formed, the worse half is not here.
            severity = "warning" if problem.code == "S01" else problem.severity
            self._of_urls.add(attrs.evolve(problem, severity=severity, **place))
        if not is_clean(record.loc):  # others than we wrote it
            told = clean_url(record.loc)
            if told.url is None:
                self._found.add(report("U15", f"{record.loc} is no URL", field="loc", raw=record.loc, **place))
                return
            record.loc = told.url
        yield record

    def end(self) -> None:
        """All lines have passed."""
        if not self._has_run:
            self._found.absorb(self._of_urls)

    @property
    def complete(self) -> bool | None:
        """Whether all sitemaps were read whole, as far as that is known."""
        return self._complete if self._has_run else None

    def notes(self) -> Iterator[str]:
        """What cannot be known."""
        if not self._has_run:
            yield (
                f"{self.name} has no lines of sitemaps, which a dump with its report has: the sitemaps themselves were "
                "not judged, and nobody knows whether any is missing"
            )
        judged = ", ".join(code for code in _BY_SITEMAP if self._found.wants([code]))
        if self._unnamed and judged:
            yield f"{count_of(self._unnamed, 'URL')} of {self.name} without its sitemap: {judged} not judged there"
        unknown = {code: needed for code, needed in _NEED.items() if code != "D05" or not self._has_refs}
        needs = [f"{code} ({needed})" for code, needed in unknown.items() if self._found.wants([code])]
        if needs:
            yield f"{self.name} is a dump, which cannot tell of {', '.join(needs)}"
