"""Records as the dicts that `sitemap_filter` of Scrapy's SitemapSpider takes; dates in UTC at their precision."""

from __future__ import annotations

from typing import Any

from ...model.records import SitemapRef, UrlRecord
from ...parser.normalise.dates import PRECISION_CHARACTERS, TIMED

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
