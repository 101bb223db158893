"""The figures of an audit's page: lastmods by month, response times, sections, formats; each of a few bars."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import attrs

from ..parser.content.sniff import Format

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..client.sitemap_tree import TreeRow
    from .findings import AuditResult


# The width of a figure and of a gap, in bars.
MAX_WIDTH_UNITS, GAP_WIDTH_UNITS = 60, 6
MAX_NAMES = 12
MAX_SLOWEST = 20
# As many labels of a year or a month have space below a figure on a phone.
_MAX_LABELS = 10
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# Longer runs of empty months are drawn as a gap.
_MAX_EMPTY = 12
_MONTH = re.compile(r"([0-9]{1,4})-(0[1-9]|1[0-2])")
# Seconds; a response is in the interval that begins at the last edge it has reached.
_EDGES = (0, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
_SPANS = (*(f"{start:g}–{end:g}" for start, end in pairwise(_EDGES)), f"{_EDGES[-1]:g}+")


@attrs.frozen
class Bar:
    """A name and its count; a count of None is a gap, for a time without URLs."""

    name: str
    count: int | None


@attrs.frozen
class Figure:
    """A bar chart; its title ends with its unit. Vertical bars are in the order of their names."""

    title: str
    column: str  # the heading of the names
    unit: str  # that of the counts
    bars: tuple[Bar, ...]
    is_vertical: bool = False
    note: str = ""

    @property
    def total(self) -> int:
        return sum(bar.count or 0 for bar in self.bars)

    @property
    def most(self) -> int:
        return max(bar.count or 0 for bar in self.bars)

    @property
    def columns(self) -> list[Column]:
        """The bars as columns; few have their numbers, of many some have a label."""
        width = width_in_bars(self.bars)
        apart = math.ceil(width / _MAX_LABELS)
        columns, end, year = [], -apart, ""
        for place, bar in enumerate(self.bars):
            start = width_in_bars(self.bars[:place])
            is_labelled = bar.count is None or (start - end >= apart and self._is_landmark(place, width))
            label = self._label(bar, year) if is_labelled else ()
            if label:
                end, year = start, bar.name[:4] if bar.count is not None else ""
            amount = short_count(bar.count) if width <= _MAX_LABELS else ""
            columns.append(Column(bar.count, (bar.count or 0) / self.most, amount, label))
        return columns

    def _is_landmark(self, place: int, width: int) -> bool:
        """Whether a bar may have a label: any of few, else the first, one after a gap, each January or fifth."""
        bar = self.bars[place]
        if width <= _MAX_LABELS or place == 0 or self.bars[place - 1].count is None:
            return True
        return bar.name.endswith("-01") if self.column == "month" else place % 5 == 0

    def _label(self, bar: Bar, year: str) -> tuple[str, ...]:
        """The lines of a bar's name; of a month the year only where it differs from that of the label before."""
        if self.column != "month" or bar.count is None:
            return tuple(bar.name.replace("–", "–\n").split("\n"))
        month = _MONTHS[int(bar.name[-2:]) - 1]
        return (month,) if bar.name[:4] == year else (month, bar.name[:4])


@attrs.frozen
class Column:
    """A vertical bar: its count, its height as a share of the highest, and the texts above and below it."""

    count: int | None
    share: float
    amount: str
    label: tuple[str, ...]


def short_count(count: int | None) -> str:
    """The number above a column: `950`, `12k`; nothing for none."""
    if not count:
        return ""
    return f"{count:,}" if count < 10_000 else f"{count / 1_000:,.0f}k" if count < 1_000_000 else f"{count / 1e6:,.1f}M"


def figures(result: AuditResult) -> tuple[Figure, ...]:
    """The figures that are not empty."""
    frequent = (_most_frequent(result, group) for group in _TITLES)
    times = _times(result.sitemaps)
    is_spread = len(times.bars) > 1  # one column says less than its table
    return tuple(each for each in (_months(result), *[times] * is_spread, *frequent) if each.total)


def width_in_bars(bars: Iterable[Bar]) -> int:
    return sum(GAP_WIDTH_UNITS if bar.count is None else 1 for bar in bars)


def slowest(rows: Iterable[TreeRow]) -> list[tuple[str, float]]:
    timed = ((row.url, seconds) for row in rows if (seconds := _seconds(row)) is not None)
    return sorted(timed, key=lambda pair: (-pair[1], pair[0]))[:MAX_SLOWEST]


# The time that a bar stands for -> its number from year and month, and its name from that number.
_TIME_UNITS: dict[str, tuple[Callable[[int, int], int], Callable[[int], str]]] = {
    "month": (lambda year, month: year * 12 + month - 1, lambda place: f"{place // 12:04}-{place % 12 + 1:02}"),
    "year": (lambda year, month: year, lambda place: f"{place:04}"),
    "decade": (lambda year, month: year // 10, lambda place: f"{place:03}0s"),
    "century": (lambda year, month: year // 100, lambda place: f"{place:02}00s"),
}


def _months(result: AuditResult) -> Figure:
    counts = [
        (int(match[1]), int(match[2]), fact.count)
        for fact in result.facts
        if fact.group == "lastmod month" and (match := _MONTH.fullmatch(fact.name))
    ]
    undated = sum(fact.count for fact in result.facts if fact.group == "lastmod none")
    steps = []
    for name, (place_of, name_of) in _TIME_UNITS.items():
        places: Counter[int] = Counter()
        for year, month, count in counts:
            places[place_of(year, month)] += count
        steps.append((name, _bars_with_gaps(places, name_of)))
    unit, bars = next((each for each in steps if width_in_bars(each[1]) <= MAX_WIDTH_UNITS), steps[-1])
    most = max(bars, key=lambda bar: bar.count or 0, default=None)
    notes = [f"Most: {most.count:,} in {most.name}."] if most and width_in_bars(bars) > _MAX_LABELS else []
    notes += [f"{undated:,} {'URL states' if undated == 1 else 'URLs state'} no lastmod."] if undated else []
    return Figure(f"Lastmod by {unit} (URLs)", unit, "URLs", bars, is_vertical=True, note=" ".join(notes))


def _bars_with_gaps(counts: Counter[int], name_of: Callable[[int], str]) -> tuple[Bar, ...]:
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


_TITLES = {"sections": ("Sections (URLs)", "folder", "URLs"), "formats": ("Formats (sitemaps)", "format", "sitemaps")}


def _most_frequent(result: AuditResult, group: str) -> Figure:
    counts: Counter[str] = Counter()
    for fact in result.facts:
        if fact.group == group:
            counts[fact.name] += fact.count
    other = counts.pop("other", 0)
    pairs = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    other += sum(count for _, count in pairs[MAX_NAMES:])
    shown = pairs[:MAX_NAMES] + [("other", other)] * bool(other)
    title, column, unit = _TITLES[group]
    return Figure(title, column, unit, tuple(Bar(name, count) for name, count in shown))


def _times(rows: Iterable[TreeRow]) -> Figure:
    times = [seconds for row in rows if (seconds := _seconds(row)) is not None]
    reached = Counter(bisect_right(_EDGES, seconds) - 1 for seconds in times)
    ends = range(min(reached, default=0), max(reached, default=-1) + 1)
    bars = tuple(Bar(_SPANS[place], reached[place]) for place in ends)
    middle = max(math.ceil(sorted(times)[len(times) // 2] * 100), 1) / 100 if times else 0
    note = f"Half of them took {middle:.2f} s or less, fetched and read." if times else ""
    return Figure("Response times in seconds (sitemaps)", "seconds", "sitemaps", bars, is_vertical=True, note=note)


def _seconds(row: TreeRow) -> float | None:
    """The response time of a sitemap; None if unknown or invalid."""
    seconds = row.seconds
    if seconds is None or row.format == Format.ROBOTS:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
