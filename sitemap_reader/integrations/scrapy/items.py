"""Adapts records and documents to `sitemap_filter` of Scrapy's SitemapSpider, which takes whole documents of dicts.

entry_of(): a UrlRecord or SitemapRef in, a dict of text out, dates in UTC at their precision. FilteredFrontier and
DocumentGrouper collect the children of an index and the URLs of a sitemap until their document ends.
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


# --- whole documents, for `sitemap_filter` ---


class FilteredFrontier(Frontier):
    """Passes all children of an index to `choose`, which returns those to read; not lines of robots.txt."""

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
        """Defers the children of an index until its end."""
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


class DocumentGrouper:
    """Groups records by document: take() yields those of documents that end() was called for."""

    def __init__(self) -> None:
        self._records: dict[str | None, list[UrlRecord]] = {}
        self._ended: list[str | None] = []

    def end(self, outcome: Outcome) -> None:
        """Marks a document as ended; its last records may come with the next take()."""
        self._ended.append(outcome.url)

    def take(self, records: Iterable[UrlRecord]) -> Iterator[list[UrlRecord]]:
        """Adds records, and yields the lists of the documents that have ended."""
        for record in records:
            self._records.setdefault(record.sitemap, []).append(record)
        for url in self._ended:
            if url in self._records:
                yield self._records.pop(url)
        self._ended.clear()

    def rest(self) -> Iterator[list[UrlRecord]]:
        """The lists of documents without an outcome."""
        while self._records:
            yield self._records.popitem()[1]
