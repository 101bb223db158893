"""Compares the lastmods of sitemaps with what the pages themselves say of their last change (C15).

A page says it with `dateModified` or `article:modified_time`, or else with the header Last-Modified, which counts only
where it is old: a page that is generated on request is always new. A single difference may have a good reason, so a
sitemap is reported if most of its pages that could be compared contradict it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import attrs

from ..model.problems import report
from ..model.url_batch import lastmod_of
from ..parser.normalise.dates import format_date, parse_date, period_end

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from ..model.problems import PageKind, Problem
    from .findings import Findings, Place
    from .page_signals import PageSignals
    from .url_sample import ListedUrl

# Time zones, caches, and a day that is stated without its time.
TOLERANCE = timedelta(days=2)
LEAST_PAGES = 3
_LEAST_SHARE = 0.5


@attrs.define
class _Compared:
    """Of a sitemap: the number of pages that could be compared, and the contradictions."""

    pages: int = 0
    problems: list[Problem] = attrs.field(factory=list)


class PageDates:
    """add() each page that was checked, then report()."""

    def __init__(self) -> None:
        self._by_sitemap: dict[str, _Compared] = {}

    def add(self, listed: ListedUrl, headers: Mapping[str, str], signals: PageSignals, now: datetime) -> None:
        lastmod, precision = lastmod_of(*listed.lastmod)
        dates, source = _dates(headers, signals, now)
        if lastmod is None or not dates:
            return
        compared = self._by_sitemap.setdefault(listed.sitemap, _Compared())
        compared.pages += 1
        kind: PageKind
        if lastmod - dates[-1] > TOLERANCE:
            kind, changed = "lastmod after the last change", dates[-1]
        elif source != _HEADER and dates[0] - period_end(lastmod, precision or "second") > TOLERANCE:
            kind, changed = "lastmod before the last change", dates[0]
        else:
            return
        text, loc = format_date(lastmod, precision), listed.loc
        message = f"{loc}: the lastmod is {text}, and the page was last changed on {changed:%Y-%m-%d} ({source})"
        place: Place = {"sitemap": listed.sitemap, "line": listed.line, "url": loc}
        compared.problems.append(report("C15", message, **place, field="lastmod", raw=text, kind=kind))

    def report(self, findings: Findings) -> bool:
        """Reports the pages of sitemaps that most pages contradict; whether any page could be compared."""
        for _, compared in sorted(self._by_sitemap.items()):
            found = compared.problems
            if len(found) >= LEAST_PAGES and len(found) >= _LEAST_SHARE * compared.pages:
                for each in sorted(found, key=lambda each: (each.line or 0, each.url or "")):
                    findings.add(each)
        return bool(self._by_sitemap)


_HEADER = "Last-Modified"
_FIRST_YEAR = 1995  # 1970-01-01 is no date of a change


def _dates(headers: Mapping[str, str], signals: PageSignals, now: datetime) -> tuple[tuple[datetime, ...], str]:
    """When a page says that it was changed, the earliest date first, and what says so; none that is about now."""
    stated = tuple(each for each in signals.modified if each < now - TOLERANCE)
    if signals.modified:
        return (stated, "dateModified") if len(stated) == len(signals.modified) else ((), "")
    date = parse_date(headers.get("last-modified", "").strip(), "rss")
    if date is None or date.moment >= now - TOLERANCE or date.moment.year < _FIRST_YEAR:
        return (), ""
    return (date.moment,), _HEADER
