"""The one place of contenders' names, of the rows of the table, and of their bars, as data.

A row states a figure of one contender, or its ratio to that of another, and the bar that it has to meet. Each row is
measured with the compiled scanner and, as contender `NAME, expat only`, without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from .rounds import Spread, figures, ratios

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .rounds import FigureName, Series

EXPAT_ONLY = ", expat only"
EXPAT, SPLIT, UNPACK, IDEAL = "bare expat", "decode + split", "gunzip + bare expat", "the ideal"
BATCHES, RECORDS = "to batches", "to records"
DUMP, AUDIT = "dump", "audit"
LATE = "dump behind 100 ms of latency"
FIRST, UNCHANGED, CHANGED = "sync, first run", "sync, nothing changed", "sync, 1% changed"
ONE_THREAD, TWO_THREADS = "1 thread", "2 threads"
# Contender -> what it does for its time.
WORK = {
    BATCHES: "`SitemapParser.batches()` with all rules on; scanned entries are not made into records",
    RECORDS: "the same, with a UrlRecord for each entry",
    DUMP: "`sitemap-reader dump`: starts at robots.txt, obeys it, guards addresses, types every field, judges each URL "
    "(syntax, canonical form, scope), reports every fault with its line, and writes all fields as JSON lines",
    EXPAT: "the limit: expat without handlers, fed in 64 KiB; nothing comes out",
    SPLIT: "the limit of a list: bytes to text, text to lines",
    UNPACK: "the limit of a site: bare expat behind zlib, over the children of the site, from memory",
    "ultimate-sitemap-parser": "builds a tree of page objects with dates and priorities, stores the pages on disk "
    "and reads them back; fills in what an entry leaves out; starts at robots.txt, one document after the other",
    "Scrapy": "a dict of strings for each entry from lxml with recovery; no value is interpreted, no URL judged; its "
    "SitemapSpider starts at robots.txt and obeys it; the lines are written where the spider asks which pages to visit",
    "Crawlee": "Crawlee for Python: the core fields from a SAX parser, dates and priority converted, what does not "
    "convert is left out; parse_sitemap compares host names and starts at the index, one document after the other",
    "Crawlee for Node": "@crawlee/utils: the core fields from a SAX parser; parseSitemap compares host names and "
    "starts at the index, one document after the other",
}


@attrs.frozen
class Row:
    """The figure of `upper`, divided by that of `lower` if there is one, is to be at most or at least the bar.

    `table` is where both are measured. A row without a bar is only shown.
    """

    table: str
    upper: str
    lower: str | None
    figure: FigureName
    bar: float | None = None
    stretch: float | None = None
    direction: Literal["at most", "at least"] = "at most"

    @property
    def unit(self) -> str:
        return "x" if self.lower else {"megabytes": "MB", "state_bytes": "bytes a URL", "silence_ms": "ms"}[self.figure]

    def measured(self, series: Mapping[str, Series], suffix: str = "") -> Spread | str:
        """The figure, or why there is none; with the suffix EXPAT_ONLY that of the contenders that have it."""
        if suffix and not any(f"{name}{suffix}" in series for name in (self.upper, self.lower)):
            return "-"
        found = [series.get(f"{name}{suffix}", series.get(name)) for name in (self.upper, self.lower) if name]
        if failures := [each.failure if each else "not run" for each in found if each is None or each.failure]:
            return str(failures[0])
        measured = [each for each in found if each]
        numbers = ratios(*measured, self.figure) if self.lower else figures(*measured, self.figure)
        return Spread.of(numbers) if numbers else "not known here"

    def verdict(self, measured: Spread) -> str:
        """`stretch`, `yes`, or `NO`."""
        if self.stretch is not None and self._is_met(measured.median, self.stretch):
            return "stretch"
        return "-" if self.bar is None else "yes" if self._is_met(measured.median, self.bar) else "NO"

    def _is_met(self, figure: float, bar: float) -> bool:
        return figure <= bar if self.direction == "at most" else figure >= bar


def _peer(name: str, bar: float) -> tuple[Row, Row]:
    return Row("dump", name, DUMP, "wall", bar, None, "at least"), Row("dump", name, DUMP, "cpu", bar, None, "at least")


ROWS = (
    Row("parse: plain", BATCHES, EXPAT, "cpu", 0.6, 0.3),
    Row("parse: plain", RECORDS, EXPAT, "cpu", 1.5, 1),
    Row("parse: rich", BATCHES, EXPAT, "cpu", 1, 0.6),
    Row("parse: rich", RECORDS, EXPAT, "cpu"),
    Row("parse: video", BATCHES, EXPAT, "cpu", 2, 1),
    Row("parse: video", RECORDS, EXPAT, "cpu"),
    Row("parse: video, all tags", BATCHES, EXPAT, "cpu", 2, 1),
    Row("parse: video, all tags", RECORDS, EXPAT, "cpu"),
    Row("parse: text", BATCHES, SPLIT, "cpu", 3, 1.5),
    Row("parse: RSS", BATCHES, EXPAT, "cpu", 3, 1.5),
    Row("parse: Atom", BATCHES, EXPAT, "cpu", 3, 1.5),
    Row("repair: a raw & in every tenth entry", BATCHES, EXPAT, "cpu", 1.2, 1),
    Row("dump", DUMP, UNPACK, "cpu", 1.5, 1),
    Row("dump", DUMP, UNPACK, "wall", 1.5, 1),
    *_peer("ultimate-sitemap-parser", 25),
    *_peer("Crawlee", 12),
    *_peer("Scrapy", 8),
    *_peer("Crawlee for Node", 8),
    Row("dump", DUMP, None, "megabytes", 60, 45),
    Row(LATE, DUMP, IDEAL, "wall", 1.1, 1.05),
    Row("sync", FIRST, UNPACK, "cpu", 5, 4),
    # 2.9% and 35% of a first run that takes ten times as long as UNPACK; of a faster one they would be larger shares.
    Row("sync", UNCHANGED, UNPACK, "cpu", 0.29, 0.15),
    Row("sync", CHANGED, UNPACK, "cpu", 3.5, 2.5),
    Row("sync", FIRST, None, "state_bytes", 100, 90),
    Row("audit", AUDIT, UNPACK, "cpu", 4, 2.5),
    Row("threads", TWO_THREADS, ONE_THREAD, "wall"),
    Row("threads", TWO_THREADS, None, "silence_ms", 200),
)
