"""Records as Scrapy's SitemapSpider shows them to `sitemap_filter`: dicts of text, with what is stated and no more.

A UrlRecord or SitemapRef in, a dict out. Dates are at the precision that was stated, in UTC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...frontier.document_request import Failed, Finished
from ...frontier.frontier import Frontier
from ...model.records import SitemapRef, UrlRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from ...frontier.document_request import Answer, DocumentRequest
    from ...frontier.plan import Plan
    from ...frontier.seeds import Seed
    from ...model.records import Outcome, Precision


RECORD = "sitemap_record"  # in an entry, and in the meta of a request
# W3C date and time formats.
_DATES: dict[Precision, Callable[[datetime], str]] = {
    "year": lambda moment: moment.isoformat()[:4],
    "month": lambda moment: moment.isoformat()[:7],
    "day": lambda moment: moment.isoformat()[:10],
    "minute": lambda moment: moment.isoformat(timespec="minutes"),
    "second": lambda moment: moment.isoformat(timespec="seconds"),
    "subsecond": lambda moment: moment.isoformat(timespec="microseconds"),
}


def entry_of(record: UrlRecord | SitemapRef) -> dict[str, Any]:
    """`loc`, `lastmod`, `changefreq`, `priority`, `alternate`; and the record itself, as `sitemap_record`."""
    entry: dict[str, Any] = {"loc": record.loc}
    if record.lastmod is not None and record.lastmod_precision is not None:
        entry["lastmod"] = _DATES[record.lastmod_precision](record.lastmod)
    if isinstance(record, UrlRecord):
        if record.changefreq is not None:
            entry["changefreq"] = record.changefreq
        if record.priority is not None:
            entry["priority"] = str(record.priority)
        if record.alternates:
            entry["alternate"] = [alternate.href for alternate in record.alternates]
    entry[RECORD] = record
    return entry


# ----------------------------------------------------------------------------------------------------
# Documents as a whole, for whoever chooses among all that one lists: the children of an index, the pages of a sitemap.
#
# In: what a walk gives a little at a time. Out: the same, when its document has come to its end.


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
        self._listed: dict[DocumentRequest, list[SitemapRef]] = {}

    def receive(self, request: DocumentRequest, answer: Answer, now: float, today: datetime) -> bool:
        """Holds the children of an index back until its end."""
        if isinstance(answer, SitemapRef) and not request.is_robots:
            self._listed.setdefault(request, []).append(answer)
            return True
        if isinstance(answer, Finished | Failed):
            listed = self._listed.pop(request, [])
            chosen = [*self._choose(listed)]
            if len(chosen) < len(listed):
                self.pruned["filter"] += len(listed) - len(chosen)
            for ref in chosen:
                super().receive(request, ref, now, today)
        return super().receive(request, answer, now, today)


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
