"""Adapts records and documents to `sitemap_filter` of Scrapy's SitemapSpider, which takes whole documents of dicts.

entry_of(): a UrlRecord or SitemapRef in, a dict of text out, dates in UTC at their precision. FilteredFrontier
collects the children of an index until its document ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...frontier.document_request import Failed, Finished
from ...frontier.frontier import Frontier
from ...model.records import SitemapRef, UrlRecord
from ...parser.normalise.dates import PRECISION_CHARACTERS, TIMED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from ...frontier.document_request import Answer, DocumentRequest
    from ...frontier.plan import Plan
    from ...frontier.seeds import Seed


RECORD = "sitemap_record"  # in an entry, and in the meta of a request


def entry_of(record: UrlRecord | SitemapRef) -> dict[str, Any]:
    """`loc`, `lastmod`, `changefreq`, `priority`, `alternate`; and the record itself, as `sitemap_record`."""
    entry: dict[str, Any] = {"loc": record.loc}
    if record.lastmod is not None and record.lastmod_precision is not None:
        text = record.lastmod.isoformat(timespec="microseconds")[: PRECISION_CHARACTERS[record.lastmod_precision]]
        entry["lastmod"] = f"{text}+00:00" if record.lastmod_precision in TIMED else text
    if isinstance(record, UrlRecord):
        if record.changefreq is not None:
            entry["changefreq"] = record.changefreq
        if record.priority is not None:
            entry["priority"] = str(record.priority)
        if record.alternates:
            entry["alternate"] = [alternate.href for alternate in record.alternates]
    entry[RECORD] = record
    return entry


class FilteredFrontier(Frontier):
    """Passes all children of an index to `choose`, which returns those to read; not lines of robots.txt."""

    def __init__(
        self, seeds: Sequence[Seed], plan: Plan, *, choose: Callable[[Iterable[SitemapRef]], Iterable[SitemapRef]]
    ) -> None:
        super().__init__(seeds, plan)
        self._choose = choose
        self._listed: dict[DocumentRequest, list[SitemapRef]] = {}

    def receive(self, request: DocumentRequest, answer: Answer, now: float, today: datetime) -> bool:
        """Defers the children of an index until its end."""
        if isinstance(answer, SitemapRef) and not request.document.is_robots:
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
