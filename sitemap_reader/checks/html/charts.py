"""The charts of an audit: Figures of a bounded number of bars, and their SVG by Altair and vl-convert.

The SVG is rebuilt from known elements and attributes only, with classes in place of colours: the page's style sheet
sets them for light, dark and print.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ...model.errors import printable
from ...parser.content.sniff import Format
from .elements import Html, element, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from xml.etree.ElementTree import Element

    from ...client.sitemap_tree import TreeRow
    from ..findings import AuditResult


# The width of a figure and of a gap, in bars.
MAX_WIDTH_UNITS, GAP_WIDTH_UNITS = 60, 6
MAX_NAMES = 12
MAX_SLOWEST = 20
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


def figures(result: AuditResult) -> tuple[Figure, ...]:
    """The figures that are not empty."""
    frequent = (_most_frequent(result, group) for group in _TITLES)
    return tuple(figure for figure in (_months(result), _times(result.sitemaps), *frequent) if figure.total)


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
    note = f"{undated:,} {'URL states' if undated == 1 else 'URLs state'} no lastmod." if undated else ""
    steps = []
    for name, (place_of, name_of) in _TIME_UNITS.items():
        places: Counter[int] = Counter()
        for year, month, count in counts:
            places[place_of(year, month)] += count
        steps.append((name, _bars_with_gaps(places, name_of)))
    unit, bars = next((each for each in steps if width_in_bars(each[1]) <= MAX_WIDTH_UNITS), steps[-1])
    return Figure(f"Lastmod by {unit} (URLs)", unit, "URLs", bars, is_vertical=True, note=note)


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


_WIDTH, _HEIGHT, _BAR_HEIGHT, _MAX_BAR_WIDTH = 400, 190, 22, 44
LABEL_CHARS, _LABEL_WIDTH, _MIN_INNER_WIDTH = 18, 46, 250
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# The width of the label of a month, with its year below it; steps between labels in months.
_MONTH_WIDTH, _MONTH_STEPS = 34, (1, 2, 3, 6, 12)
# Up to this many vertical bars all have labels.
_MAX_LABELLED = 12
# Placeholder colours, replaced by classes of the style sheet.
_INK, _QUIET, _GRID, _BAR = "#000001", "#000002", "#000003", "#000004"
_CLASSES = {_INK: "ink", _QUIET: "quiet", _GRID: "grid", _BAR: "bar"}
_SHAPES = frozenset({"g", "path", "line", "rect", "text", "tspan"})
_PLACED = ("transform", "d", "x", "y", "dy", "x1", "y1", "x2", "y2", "width", "height", "text-anchor", "font-size")
_NAMESPACE = "{http://www.w3.org/2000/svg}"


def can_draw() -> bool:
    """Whether the extra `analysis` is installed."""
    return all(map(find_spec, ("altair", "vl_convert")))


def draw(figures: Sequence[Figure]) -> list[Html] | None:
    """An SVG for each figure; None without the extra `analysis`."""
    if not can_draw():
        return None
    import altair
    import vl_convert

    return [_svg(altair, vl_convert, figure) for figure in figures]


def _svg(altair: Any, vl_convert: Any, figure: Figure) -> Html:
    chart = (_vertical if figure.is_vertical else _horizontal)(altair, figure)
    # All charts have one width, labels included, so that their text has one size on the page.
    chart = chart.properties(autosize=altair.AutoSizeParams(type="fit-x", contains="padding"))
    chart = chart.configure(background="transparent", padding=5).configure_view(stroke=None)
    # Validation would take a third of the time; Altair validates the parts of a chart when they are built.
    version = altair.SCHEMA_VERSION.rpartition(".")[0]  # v6.4: Altair's own, where vl-convert has newer ones too
    svg = vl_convert.vegalite_to_svg(chart.to_dict(validate=False), vl_version=version)
    # For screen readers; the table below it has all numbers.
    most = max(figure.bars, key=lambda bar: bar.count or 0)
    summary = f"{figure.title}: a bar chart; {most.count or 0:,} of {figure.total:,} are {printable(most.name)}."
    return sanitise_svg(svg, summary)


def _vertical(altair: Any, figure: Figure) -> Any:
    """Vertical bars: few with all labels below and numbers above, many with some labels and an axis."""
    bars, broad = figure.bars, width_in_bars(figure.bars)
    many = broad > _MAX_LABELLED
    rows = [{"place": place, "count": bar.count, "text": _abbreviated(bar.count)} for place, bar in _positions(bars)]
    names = _axis_labels(figure, all_of_them=not many)
    below = altair.Axis(
        values=list(names),
        labelExpr=f"{orjson.dumps({str(place): name for place, name in names.items()}).decode()}[datum.value]",
        labelAngle=-45 if figure.column != "month" and not many and len(bars) > 6 and len(bars[0].name) > 5 else 0,
        **_axis(grid=False, ticks=many),
    )
    numbers = {"tickCount": 4, "tickMinStep": 1, "format": "~s", "labelExpr": "datum.value ? datum.label : '0'"}
    beside = altair.Axis(**numbers, **_axis(grid=True, ticks=False)) if many else None
    chart = altair.Chart(altair.Data(values=rows), width=_WIDTH, height=_HEIGHT)
    x = altair.X("place:O", title=figure.column, axis=below, scale=altair.Scale(domain=list(range(broad))))
    y = altair.Y("count:Q", title=None, axis=beside)
    drawn = chart.mark_bar(color=_BAR, size=min(_MAX_BAR_WIDTH, 0.7 * _WIDTH / broad)).encode(x=x, y=y)
    if many:
        return drawn
    return drawn + chart.mark_text(color=_INK, dy=-7, fontSize=12).encode(x=x, y=y, text="text:N")


def _positions(bars: Sequence[Bar]) -> list[tuple[int, Bar]]:
    """Each bar with its position on the axis; a gap has that of its middle."""
    places, end = [], 0
    for bar in bars:
        start, end = end, end + width_in_bars([bar])
        places.append(((start + end - 1) // 2, bar))
    return places


def _axis_labels(figure: Figure, *, all_of_them: bool) -> dict[int, str | list[str]]:
    """Position -> label; a month has the year below its name where the year differs from the label before."""
    placed = _positions(figure.bars)
    named = {place for place, _ in placed} if all_of_them else _labelled_positions(figure)
    names: dict[int, str | list[str]] = {place: bar.name for place, bar in placed if place in named}
    if figure.column == "month":
        before = ""
        for place, name in names.items():
            year, _, month = str(name).partition("-")
            names[place] = [_MONTHS[int(month) - 1], *([year] * (year != before))] if month else str(name)
            before = year
    return names


def _labelled_positions(figure: Figure) -> set[int]:
    """Positions with a label: all gaps; where space permits, the first bar, those at gaps, then every nth."""
    placed = _positions(figure.bars)
    is_of_months = figure.column == "month"
    width, steps = (_MONTH_WIDTH, _MONTH_STEPS) if is_of_months else (_LABEL_WIDTH, (5,))
    apart = width_in_bars(figure.bars) * width / _WIDTH
    step = next((step for step in steps if step >= apart), steps[-1])
    gaps = [number for number, (_, bar) in enumerate(placed) if bar.count is None]
    bars = [(number, bar) for number, (_, bar) in enumerate(placed) if bar.count is not None]
    landmarks = [number for number, bar in bars if (int(bar.name[-2:]) - 1 if is_of_months else number) % step == 0]
    taken: set[int] = set()
    for number in [0, *(gap + 1 for gap in gaps), *(gap - 1 for gap in gaps), *landmarks]:
        place = placed[number][0]
        if all(abs(place - other) >= apart for other in taken):
            taken.add(place)
    return taken | {placed[gap][0] for gap in gaps}


def _horizontal(altair: Any, figure: Figure) -> Any:
    rows = [{"place": place, "count": bar.count, "text": f"{bar.count:,}"} for place, bar in enumerate(figure.bars)]
    # JSON is a literal in a Vega expression, too, so a name from a site can only be text there.
    names = orjson.dumps([shorten(printable(bar.name), LABEL_CHARS) for bar in figure.bars]).decode()
    axis = altair.Axis(labelExpr=f"{names}[datum.value]", labelLimit=160, **_axis(grid=False, ticks=False))
    chart = altair.Chart(altair.Data(values=rows), width=_WIDTH, height=_BAR_HEIGHT * len(rows))
    y = altair.Y("place:O", title=None, axis=axis, scale=altair.Scale(paddingInner=0.3))
    most = max(bar.count or 0 for bar in figure.bars)
    # Space for the number beyond the longest bar.
    scale = altair.Scale(domain=[0, most / (1 - (10 + 7.5 * len(f"{most:,}")) / _MIN_INNER_WIDTH)], nice=False)
    x = altair.X("count:Q", title=None, axis=None, scale=scale)
    bars = chart.mark_bar(color=_BAR).encode(x=x, y=y)
    return bars + chart.mark_text(color=_INK, align="left", dx=5, fontSize=12).encode(x=x, y=y, text="text:N")


def _axis(*, grid: bool, ticks: bool) -> dict[str, Any]:
    return {
        "grid": grid,
        "ticks": ticks,
        "domain": not grid,
        "gridColor": _GRID,
        "domainColor": _GRID,
        "tickColor": _GRID,
        "labelColor": _QUIET,
        "titleColor": _QUIET,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelPadding": 5,
    }


def _abbreviated(count: int | None) -> str:
    """The number above a bar: `950`, `12k`."""
    if not count:
        return ""
    return f"{count:,}" if count < 10_000 else f"{count / 1_000:,.0f}k" if count < 1_000_000 else f"{count / 1e6:,.1f}M"


# --- SVG ---


def sanitise_svg(svg: str, summary: str) -> Html:
    """The SVG rebuilt for the page; anything but shapes of a known colour is left out."""
    from defusedxml.ElementTree import fromstring

    root = fromstring(svg)
    inside = [drawn for child in root if (drawn := _shape(child)) is not None]
    return element("svg", *inside, class_="chart", viewBox=root.get("viewBox"), role="img", aria_label=summary)


def _shape(shape: Element, *, is_line: bool = False) -> Html | None:
    """A visible shape, or a group that has one; None for others. `is_line`: it is in a visible text."""
    name = shape.tag.removeprefix(_NAMESPACE)
    written = shape.text or ""
    css_class = _CLASSES.get(shape.get("fill", ""), _CLASSES.get(shape.get("stroke", "")))
    is_seen = css_class is not None or (is_line and name == "tspan")  # a tspan has the colour of its text
    inside = [drawn for child in shape if (drawn := _shape(child, is_line=is_seen and name == "text")) is not None]
    if name not in _SHAPES or not (inside or (is_seen and (name not in ("text", "tspan") or written))):
        return None
    kept = {place: value for place in _PLACED if (value := shape.get(place)) is not None}
    return element(name, written, *inside, **{"class": css_class}, **kept)
