"""The numbers that a report draws: a Report in, Figures out, each of a bounded number of bars, whatever the site has.

Knows neither HTML nor charts.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING

import attrs

from ...parser.content.sniff import Format

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...client.sitemap_tree import Row
    from ..report import Report

# As wide as so many bars may a figure be, and so wide is a gap.
MAX_BREADTH, GAP_BREADTH = 60, 6
MAX_NAMES = 12
MAX_SLOWEST = 20
# So many months without any are drawn as they are; more of them as one gap.
_MAX_EMPTY = 12
_MONTH = re.compile(r"([0-9]{1,4})-(0[1-9]|1[0-2])")
# Seconds; a response belongs to the last edge that it has reached.
_EDGES = (0, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


@attrs.frozen
class Bar:
    """A name and its number; None is a gap: times between its neighbours that have none."""

    name: str
    count: int | None


@attrs.frozen
class Figure:
    """Bars under a title that ends with their unit. `upright` ones stand side by side, in the order of their names.

    `column` says what the names are, `unit` what is counted.
    """

    title: str
    column: str
    unit: str
    bars: tuple[Bar, ...]
    upright: bool = False
    note: str = ""

    @property
    def total(self) -> int:
        """All bars together."""
        return sum(bar.count or 0 for bar in self.bars)


def figures(report: Report) -> tuple[Figure, ...]:
    """Those that have something to show."""
    drawn = (_months(report), _times(report.sitemaps), _named(report, "sections"), _named(report, "formats"))
    return tuple(figure for figure in drawn if figure.total)


def breadth(bars: Iterable[Bar]) -> int:
    """How wide they are, side by side."""
    return sum(GAP_BREADTH if bar.count is None else 1 for bar in bars)


def slowest(rows: Iterable[Row]) -> list[tuple[str, float]]:
    """The sitemaps that took longest, and their seconds."""
    timed = ((row.url, seconds) for row in rows if (seconds := _seconds(row)) is not None)
    return sorted(timed, key=lambda pair: (-pair[1], pair[0]))[:MAX_SLOWEST]


# --- lastmods ---


@attrs.frozen
class _Step:
    """What a bar stands for: its number, from year and month, and its name, from that."""

    unit: str
    place_of: Callable[[int, int], int]
    name_of: Callable[[int], str]


_STEPS = (
    _Step("month", lambda year, month: year * 12 + month - 1, lambda place: f"{place // 12:04}-{place % 12 + 1:02}"),
    _Step("year", lambda year, month: year, lambda place: f"{place:04}"),
    _Step("decade", lambda year, month: year // 10, lambda place: f"{place:03}0s"),
    _Step("century", lambda year, month: year // 100, lambda place: f"{place:02}00s"),
)


def _months(report: Report) -> Figure:
    counts = [
        (int(match[1]), int(match[2]), fact.count)
        for fact in report.facts
        if fact.group == "lastmod month" and (match := _MONTH.fullmatch(fact.name))
    ]
    undated = sum(fact.count for fact in report.facts if fact.group == "lastmod none")
    note = f"{undated:,} {'URL states' if undated == 1 else 'URLs state'} no lastmod." if undated else ""
    steps = [(step.unit, _with_gaps(_counted(counts, step), step.name_of)) for step in _STEPS]
    unit, bars = next((each for each in steps if breadth(each[1]) <= MAX_BREADTH), steps[-1])
    return Figure(f"Lastmod by {unit} (URLs)", unit, "URLs", bars, upright=True, note=note)


def _counted(counts: Iterable[tuple[int, int, int]], step: _Step) -> Counter[int]:
    places: Counter[int] = Counter()
    for year, month, count in counts:
        places[step.place_of(year, month)] += count
    return places


def _with_gaps(counts: Counter[int], name_of: Callable[[int], str]) -> tuple[Bar, ...]:
    bars: list[Bar] = []
    before: int | None = None
    for place in sorted(counts):
        between = range(place if before is None else before + 1, place)
        if len(between) > _MAX_EMPTY:
            bars.append(Bar("…", None))
        else:
            bars += [Bar(name_of(empty), 0) for empty in between]
        bars.append(Bar(name_of(place), counts[place]))
        before = place
    return tuple(bars)


# --- sections, formats ---

_NAMED = {
    "sections": ("Sections by first folder (URLs)", "folder", "URLs"),
    "formats": ("Formats (sitemaps)", "format", "sitemaps"),
}


def _named(report: Report, group: str) -> Figure:
    """The names that have most, `other` at the end."""
    counts: Counter[str] = Counter()
    for fact in report.facts:
        if fact.group == group:
            counts[fact.name] += fact.count
    other = counts.pop("other", 0)
    pairs = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    other += sum(count for _, count in pairs[MAX_NAMES:])
    shown = pairs[:MAX_NAMES] + [("other", other)] * bool(other)
    title, column, unit = _NAMED[group]
    return Figure(title, column, unit, tuple(Bar(name, count) for name, count in shown))


# --- response times ---


def _times(rows: Iterable[Row]) -> Figure:
    times = [seconds for row in rows if (seconds := _seconds(row)) is not None]
    reached = Counter(bisect_right(_EDGES, seconds) - 1 for seconds in times)
    ends = range(min(reached, default=0), max(reached, default=-1) + 1)
    bars = tuple(Bar(_span(place), reached[place]) for place in ends)
    middle = sorted(times)[len(times) // 2] if times else 0
    note = f"Half of them took {middle:.2f} s or less, fetched and read." if times else ""
    return Figure("Response times in seconds (sitemaps)", "seconds", "sitemaps", bars, upright=True, note=note)


def _span(place: int) -> str:
    if place + 1 == len(_EDGES):
        return f"{_EDGES[place]:g}+"
    return f"{_EDGES[place]:g}–{_EDGES[place + 1]:g}"


def _seconds(row: Row) -> float | None:
    """A time of a sitemap that can be drawn."""
    seconds = row.seconds
    if seconds is None or row.format == Format.ROBOTS:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
