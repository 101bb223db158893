"""Records as Scrapy's SitemapSpider shows them to `sitemap_filter`: dicts of text, with what is stated and no more.

A UrlRecord or SitemapRef in, a dict out. Dates are at the precision that was stated, in UTC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...model.records import UrlRecord

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from ...model.records import Precision, SitemapRef

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
