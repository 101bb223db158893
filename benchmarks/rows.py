"""The one place of contenders' names, of the rows of the table, and of their bars, as data.

A row states a figure of one contender, or its ratio to that of another, and the bar that it has to meet. Each row is
measured with the compiled scanner and, as contender `NAME, expat only`, without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from .rounds import Spread, differences, figures, ratios
from .site_shapes import SHAPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .rounds import FigureName, Series

EXPAT_ONLY = ", expat only"
EXPAT, SPLIT, UNPACK, IDEAL = "bare expat", "decode + split", "gunzip + bare expat", "the ideal"
BATCHES, RECORDS = "to batches", "to records"
DUMP, AUDIT, SNAPSHOT = "dump", "audit", "snapshot"
DISCARDED, DUMP_OF_A_TENTH = "dump, discarded", "dump of a tenth"
LATE = "dump behind 100 ms of latency"
FIRST, UNCHANGED, CHANGED = "sync, first run", "sync, nothing changed", "sync, 1% changed"
ONE_THREAD, TWO_THREADS = "1 thread", "2 threads"
MANY = "memory: an index of many sitemaps"
# Contender -> what it does for its time.
WORK = {
    BATCHES: "`SitemapParser.batches()` with all rules on; scanned entries are not made into records",
    RECORDS: "the same, with a UrlRecord for each entry",
    DUMP: "`sitemap-reader dump`: starts at robots.txt, obeys it, guards addresses, types every field, judges each URL "
    "(syntax, canonical form, scope), reports every fault with its line, and writes all fields as JSON lines",
    DISCARDED: "the same, and the lines go to /dev/null",
    SNAPSHOT: "a program that imports the package, calls `snapshot()` and ends: all fields of all URLs as columns in "
    "memory, with what is known of the sitemaps",
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

    `table` is where both are measured. A row without a bar is only shown. With `difference` that of `lower` is taken
    off instead.
    """

    table: str
    upper: str
    lower: str | None
    figure: FigureName
    bar: float | None = None
    stretch: float | None = None
    direction: Literal["at most", "at least"] = "at most"
    difference: bool = False

    @property
    def unit(self) -> str:
        if self.lower and not self.difference:
            return "x"
        return {"megabytes": "MB", "state_bytes": "bytes a URL", "silence_ms": "ms"}[self.figure]

    def measured(self, series: Mapping[str, Series], suffix: str = "") -> Spread | str:
        """The figure, or why there is none; with the suffix EXPAT_ONLY that of the contenders that have it."""
        if suffix and not any(f"{name}{suffix}" in series for name in (self.upper, self.lower)):
            return "-"
        found = [series.get(f"{name}{suffix}", series.get(name)) for name in (self.upper, self.lower) if name]
        if failures := [each.failure if each else "not run" for each in found if each is None or each.failure]:
            return str(failures[0])
        upper, *lower = [each for each in found if each]
        compare = differences if self.difference else ratios
        numbers = compare(upper, lower[0], self.figure) if lower else figures(upper, self.figure)
        return Spread.of(numbers) if numbers else "not known here"

    def verdict(self, measured: Spread) -> str:
        """`stretch`, `yes`, or `NO`."""
        if self.stretch is not None and self._is_met(measured.median, self.stretch):
            return "stretch"
        return "-" if self.bar is None else "yes" if self._is_met(measured.median, self.bar) else "NO"

    def _is_met(self, figure: float, bar: float) -> bool:
        return figure <= bar if self.direction == "at most" else figure >= bar


# How many times as long as our dump they take.
PEER_BARS = {"ultimate-sitemap-parser": 25, "Crawlee": 12, "Scrapy": 8, "Crawlee for Node": 8}
# Of a whole site, against UNPACK: bar and stretch.
SITE_BARS: dict[str, tuple[float | None, float | None]] = {
    DUMP: (1.5, 1),
    FIRST: (5, 3.5),
    AUDIT: (4, 2.5),
    SNAPSHOT: (None, None),
}
MEMORY_BARS = (60, 45)
PEER_SHAPES = ("mixed", "yoast")
SNAPSHOT_SHAPES = ("mixed", "hreflang")  # that have a bar for it


def _peers(table: str, figure: FigureName) -> tuple[Row, ...]:
    return tuple(Row(table, name, DUMP, figure, bar, None, "at least") for name, bar in PEER_BARS.items())


def _site(shape: str) -> Iterator[Row]:
    for name, bars in SITE_BARS.items():
        yield Row(f"site: {shape}", name, UNPACK, "cpu", *bars)
    if shape in SNAPSHOT_SHAPES:
        yield Row(f"site: {shape}", SNAPSHOT, DISCARDED, "cpu", 2)


def _memory(table: str) -> tuple[Row, ...]:
    return (
        *(Row(table, name, None, "megabytes", *MEMORY_BARS) for name in (DUMP_OF_A_TENTH, DUMP)),
        Row(table, DUMP, DUMP_OF_A_TENTH, "megabytes", 5, difference=True),
    )


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
    Row("dump", DUMP, UNPACK, "cpu", *SITE_BARS[DUMP]),
    Row("dump", DUMP, UNPACK, "wall", *SITE_BARS[DUMP]),
    *_peers("dump", "wall"),
    *_peers("dump", "cpu"),
    Row("dump", DUMP, None, "megabytes", *MEMORY_BARS),
    *(row for shape in PEER_SHAPES for row in _peers(f"dump: {shape}", "wall")),
    *(row for shape in SHAPES for row in _site(shape)),
    *(row for shape in SHAPES for row in _memory(f"memory: {shape}")),
    Row(MANY, DUMP, None, "megabytes", 120),
    Row(LATE, DUMP, IDEAL, "wall", 1.1, 1.05),
    Row("sync", FIRST, UNPACK, "cpu", *SITE_BARS[FIRST]),
    # 2.9% and 35% of a first run that takes ten times as long as UNPACK; of a faster one they would be larger shares.
    Row("sync", UNCHANGED, UNPACK, "cpu", 0.29, 0.15),
    Row("sync", CHANGED, UNPACK, "cpu", 3.5, 2.5),
    Row("sync", FIRST, None, "state_bytes", 100, 90),
    Row("audit", AUDIT, UNPACK, "cpu", *SITE_BARS[AUDIT]),
    Row("threads", TWO_THREADS, ONE_THREAD, "wall"),
    Row("threads", TWO_THREADS, None, "silence_ms", 200),
)
