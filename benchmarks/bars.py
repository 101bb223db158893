"""Targets: measured series come in; a row for each bar, met or missed, goes out.

The figures are those of the design: how many times the limit, the ideal or the clean document we may take at most,
how many times longer a peer has to take at least, and how much memory is too much.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from .rounds import Series, Spread, ratios

if TYPE_CHECKING:
    from collections.abc import Mapping

Direction = Literal["at most", "at least"]
ONE_WORKER, TWO_WORKERS = "sitemap-reader -j 1", "sitemap-reader -j 2"
OURS, IDEAL, CLEAN = "sitemap-reader", "the ideal", "clean"
AUDIT, AUDIT_TWO_WORKERS = "audit -j 1", "audit -j 2"
CONVERT, PANDAS, SNAPSHOT = "convert to Parquet", "pandas", "Snapshot.to_pandas"
FIRST, UNCHANGED, CHANGED = "sync, first run", "sync, nothing changed", "sync, 1% changed"
EXPAT, UNPACK = "bare expat", "gunzip + bare expat"


@attrs.frozen
class Bar:
    """`upper` over `lower`, both names of contenders, is to be at most or at least the bar, if possible the stretch."""

    upper: str
    lower: str
    direction: Direction
    bar: float
    stretch: float | None = None


# Table -> its bars.
BARS: dict[str, tuple[Bar, ...]] = {
    "parse: plain": (
        Bar(OURS, EXPAT, "at most", 3.5, 2.2),
        Bar("ultimate-sitemap-parser", OURS, "at least", 12),
        Bar("Scrapy", OURS, "at least", 3),
        Bar("Crawlee", OURS, "at least", 3),
    ),
    "parse: rich": (Bar(OURS, EXPAT, "at most", 8, 5),),
    "parse: video": (Bar(OURS, EXPAT, "at most", 8, 5),),
    "dump: 20 x 50,000": (
        Bar(ONE_WORKER, UNPACK, "at most", 5, 3.5),
        Bar("ultimate-sitemap-parser", ONE_WORKER, "at least", 8, 10),
        Bar("Crawlee", ONE_WORKER, "at least", 3),
        Bar("Scrapy", ONE_WORKER, "at least", 3),
        Bar("Crawlee for Node", ONE_WORKER, "at least", 2),
        Bar(TWO_WORKERS, UNPACK, "at most", 3.5, 2.5),
        Bar("ultimate-sitemap-parser", TWO_WORKERS, "at least", 12),
        Bar("Crawlee", TWO_WORKERS, "at least", 5),
        Bar("Scrapy", TWO_WORKERS, "at least", 4),
        Bar("Crawlee for Node", TWO_WORKERS, "at least", 3.5),
    ),
    "200 children behind 100 ms": (Bar(ONE_WORKER, IDEAL, "at most", 1.15, 1.05),),
    "sync: 20 x 50,000": (
        Bar(FIRST, ONE_WORKER, "at most", 2.5, 1.7),
        Bar(UNCHANGED, FIRST, "at most", 0.03, 0.005),
        Bar(CHANGED, FIRST, "at most", 0.8, 0.6),
    ),
    "audit: 20 x 50,000": (
        Bar(AUDIT, ONE_WORKER, "at most", 2),
        Bar(AUDIT_TWO_WORKERS, TWO_WORKERS, "at most", 2),
    ),
    "Parquet: 20 x 50,000": (
        Bar(CONVERT, ONE_WORKER, "at most", 1),
        Bar(CONVERT, TWO_WORKERS, "at most", 1),
    ),
    "Parquet to pandas": (Bar(SNAPSHOT, PANDAS, "at most", 3),),
    "repair: a raw & in every tenth entry": (Bar("damaged", CLEAN, "at most", 1.5, 1.2),),
}
PEAK_MB, PEAK_STRETCH_MB = 60, 45
WORKER_MB = 35
GROWTH_MB, GROWTH_STRETCH_MB = 2, 0.5
STATE_BYTES, STATE_STRETCH_BYTES = 150, 90
AUDIT_MB = 150


@attrs.frozen
class Row:
    """A bar with its result. Without a measured figure `why` is the reason."""

    work: str
    ours: str
    against: str
    direction: Direction
    bar: float
    stretch: float | None
    unit: str = "x"
    measured: Spread | None = None
    why: str = ""

    @property
    def verdict(self) -> str:
        """`stretch`, `yes`, or `NO`."""
        if self.measured is None:
            return f"? {self.why}"
        if self.stretch is not None and self._meets(self.stretch):
            return "stretch"
        return "yes" if self._meets(self.bar) else "NO"

    def _meets(self, most: float) -> bool:
        if self.measured is None:
            return False
        return self.measured.median <= most if self.direction == "at most" else self.measured.median >= most


def rows(table: str, series: Mapping[str, Series]) -> list[Row]:
    """The bars of a table, over its series."""
    return [_row(table, bar, series) for bar in BARS.get(table, ()) if {bar.upper, bar.lower} <= series.keys()]


def _row(table: str, bar: Bar, series: Mapping[str, Series]) -> Row:
    upper, lower = series[bar.upper], series[bar.lower]
    ours, against = (bar.upper, bar.lower) if bar.direction == "at most" else (bar.lower, bar.upper)
    return Row(
        work=table,
        ours=ours,
        against=against,
        direction=bar.direction,
        bar=bar.bar,
        stretch=bar.stretch,
        measured=ratios(upper, lower),
        why=upper.failure or lower.failure or "",
    )


def state_row(table: str, bytes_a_url: list[float]) -> Row:
    """The size of a state on disk, by the URLs in it."""
    measured = Spread.of(bytes_a_url) if bytes_a_url else None
    bar, stretch = STATE_BYTES, STATE_STRETCH_BYTES
    return Row(table, "the state", "a URL", "at most", bar, stretch, "bytes", measured, "the first run failed")


def audit_row(table: str, dump: Series, audit: Series) -> Row:
    """The time of an audit beyond the dump."""
    more = [
        other.megabytes - one.megabytes
        for one, other in zip(dump.measures, audit.measures, strict=False)
        if one.megabytes is not None and other.megabytes is not None
    ]
    why = dump.failure or audit.failure or "memory is not known here"
    return _memory(table, AUDIT, f"above {ONE_WORKER}", AUDIT_MB, None, more, why)


def memory_rows(table: str, small: str, large: str, series: Mapping[tuple[int, str], Series]) -> list[Row]:
    """Peaks at the larger of two sites, and by how much they are above those at the smaller, by number of workers."""
    found = []
    for count, name in ((1, ONE_WORKER), (2, TWO_WORKERS)):
        less, more = series[count, small], series[count, large]
        why = less.failure or more.failure or "memory is not known here"
        peaks = [each.megabytes for each in more.measures if each.megabytes is not None]
        growth = [
            other.megabytes - one.megabytes
            for one, other in zip(less.measures, more.measures, strict=False)
            if one.megabytes is not None and other.megabytes is not None
        ]
        found += [
            _memory(table, name, large, PEAK_MB, PEAK_STRETCH_MB, peaks, why),
            _memory(table, name, f"{large}, above {small}", GROWTH_MB, GROWTH_STRETCH_MB, growth, why),
        ]
    workers = [each.child_megabytes for each in series[2, large].measures if each.child_megabytes is not None]
    why = series[2, large].failure or "no worker was seen"
    return [*found, _memory(table, f"{TWO_WORKERS}, its largest worker", large, WORKER_MB, None, workers, why)]


def _memory(
    table: str, ours: str, against: str, bar: float, stretch: float | None, figures: list[float], why: str
) -> Row:
    measured = Spread.of(figures) if figures else None
    return Row(table, ours, against, "at most", bar, stretch, "MB", measured, why)
