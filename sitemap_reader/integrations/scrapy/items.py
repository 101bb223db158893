"""Records as the dicts that `sitemap_filter` of Scrapy's SitemapSpider takes; dates in UTC at their precision."""

from __future__ import annotations

from typing import Any

from ...model.records import Change, SitemapRef, UrlRecord
from ...parser.normalise.dates import PRECISION_CHARACTERS, TIMED

RECORD = "sitemap_record"  # in an entry, and in the meta of a request
CHANGE = "sitemap_change"  # there, too, with a state


def entry_of(item: UrlRecord | SitemapRef | Change) -> dict[str, Any]:
    """`loc`, `lastmod`, `changefreq`, `priority`, `alternate`; and the record itself, and the change, if it is one."""
    if isinstance(item, Change):
        return {**entry_of(item.record), CHANGE: item}
    record = item
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
