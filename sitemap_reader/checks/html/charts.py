"""Figures as drawings: Figures in, SVG out, through Altair and vl-convert, which are imported when they are needed.

An SVG that comes out holds shapes and text only, of elements and attributes that are known here, and classes in place
of colours: the page's style has them in light, dark and print.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from ...model.errors import install_hint, printable
from ...parser.content.sniff import Format
from .elements import Html, element, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from xml.etree.ElementTree import Element

    from ...client.sitemap_tree import TreeRow
    from ..report import Report


# ----------------------------------------------------------------------------------------------------
# The numbers that a report draws: a Report in, Figures out, each of a bounded number of bars, whatever the site has.
#
# Knows neither HTML nor charts.


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


def slowest(rows: Iterable[TreeRow]) -> list[tuple[str, float]]:
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


def _times(rows: Iterable[TreeRow]) -> Figure:
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


def _seconds(row: TreeRow) -> float | None:
    """A time of a sitemap that can be drawn."""
    seconds = row.seconds
    if seconds is None or row.format == Format.ROBOTS:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


INSTALL = install_hint("analysis")
_WIDTH, _HEIGHT, _BAR_HEIGHT, _MAX_BAR_WIDTH = 400, 190, 22, 44
LABEL_CHARS, _LABEL_WIDTH, _MIN_INNER_WIDTH = 18, 46, 250
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# The name of a month, with its year below it; from one to the next that is named.
_MONTH_WIDTH, _MONTH_STEPS = 34, (1, 2, 3, 6, 12)
# So many bars side by side have all of their names.
_FEW = 12
# Colours that stand for classes of the style sheet while the chart is drawn.
_INK, _QUIET, _GRID, _BAR = "#000001", "#000002", "#000003", "#000004"
_CLASSES = {_INK: "ink", _QUIET: "quiet", _GRID: "grid", _BAR: "bar"}
_SHAPES = frozenset({"g", "path", "line", "rect", "text", "tspan"})
_PLACED = ("transform", "d", "x", "y", "dy", "x1", "y1", "x2", "y2", "width", "height", "text-anchor", "font-size")
_NAMESPACE = "{http://www.w3.org/2000/svg}"


def draw(figures: Sequence[Figure]) -> list[Html] | None:
    """One drawing for each; None without the extra `analysis`."""
    try:
        import altair
        import vl_convert
    except ImportError:
        return None
    return [_svg(altair, vl_convert, figure) for figure in figures]


def _svg(altair: Any, vl_convert: Any, figure: Figure) -> Html:
    chart = (_upright if figure.upright else _lying)(altair, figure)
    # All are of one width, labels included: then all of their text is of one size on the page.
    chart = chart.properties(autosize=altair.AutoSizeParams(type="fit-x", contains="padding"))
    chart = chart.configure(background="transparent", padding=5).configure_view(stroke=None)
    # Validation takes a third of the time; the parts of a chart are validated as they are made.
    version = altair.SCHEMA_VERSION.rpartition(".")[0]  # v6.4: Altair's own, where vl-convert has newer ones too
    return redrawn(vl_convert.vegalite_to_svg(chart.to_dict(validate=False), vl_version=version), _summary(figure))


def _upright(altair: Any, figure: Figure) -> Any:
    """Bars side by side; few of them have all names below and their numbers above, many some names and an axis."""
    bars, broad = figure.bars, breadth(figure.bars)
    many = broad > _FEW
    rows = [{"place": place, "count": bar.count, "text": _short(bar.count)} for place, bar in _placed(bars)]
    names = _names_below(figure, all_of_them=not many)
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


def _placed(bars: Sequence[Bar]) -> list[tuple[int, Bar]]:
    """Each bar with its place on the axis; that of a gap is its middle."""
    places, end = [], 0
    for bar in bars:
        start, end = end, end + breadth([bar])
        places.append(((start + end - 1) // 2, bar))
    return places


def _names_below(figure: Figure, *, all_of_them: bool) -> dict[int, str | list[str]]:
    """Place -> name, for as many as have room; of months their names, and below them the year where it is another."""
    placed = _placed(figure.bars)
    named = {place for place, _ in placed} if all_of_them else _named_places(figure)
    names: dict[int, str | list[str]] = {place: bar.name for place, bar in placed if place in named}
    if figure.column == "month":
        before = ""
        for place, name in names.items():
            year, _, month = str(name).partition("-")
            names[place] = [_MONTHS[int(month) - 1], *([year] * (year != before))] if month else str(name)
            before = year
    return names


def _named_places(figure: Figure) -> set[int]:
    """Of many bars, those that are named: gaps; as there is room the first, those beside gaps, then each so many."""
    placed = _placed(figure.bars)
    is_of_months = figure.column == "month"
    width, steps = (_MONTH_WIDTH, _MONTH_STEPS) if is_of_months else (_LABEL_WIDTH, (5,))
    apart = breadth(figure.bars) * width / _WIDTH
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


def _lying(altair: Any, figure: Figure) -> Any:
    """Bars below each other, names at the left, numbers at their ends."""
    rows = [{"place": place, "count": bar.count, "text": f"{bar.count:,}"} for place, bar in enumerate(figure.bars)]
    # As JSON, which is a literal of an expression too, names of a site are never more than text of it.
    names = orjson.dumps([shortened(printable(bar.name), LABEL_CHARS) for bar in figure.bars]).decode()
    axis = altair.Axis(labelExpr=f"{names}[datum.value]", labelLimit=160, **_axis(grid=False, ticks=False))
    chart = altair.Chart(altair.Data(values=rows), width=_WIDTH, height=_BAR_HEIGHT * len(rows))
    y = altair.Y("place:O", title=None, axis=axis, scale=altair.Scale(paddingInner=0.3))
    most = max(bar.count or 0 for bar in figure.bars)
    # Beyond the longest bar there is room for its number.
    room = altair.Scale(domain=[0, most / (1 - (10 + 7.5 * len(f"{most:,}")) / _MIN_INNER_WIDTH)], nice=False)
    x = altair.X("count:Q", title=None, axis=None, scale=room)
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


def _short(count: int | None) -> str:
    """A number over a bar: `950`, `12k`."""
    if not count:
        return ""
    return f"{count:,}" if count < 10_000 else f"{count / 1_000:,.0f}k" if count < 1_000_000 else f"{count / 1e6:,.1f}M"


def _summary(figure: Figure) -> str:
    """The chart in a sentence, for those who do not see it; all numbers stand in the table below it."""
    most = max(figure.bars, key=lambda bar: bar.count or 0)
    return f"{figure.title}: a bar chart; {most.count or 0:,} of {figure.total:,} are {printable(most.name)}."


# --- what was drawn, written anew ---


def redrawn(svg: str, summary: str) -> Html:
    """An SVG as this page has it: what is no shape of a known colour is left out."""
    from defusedxml.ElementTree import fromstring

    root = fromstring(svg)
    inside = [drawn for child in root if (drawn := _shape(child)) is not None]
    return element("svg", *inside, class_="chart", viewBox=root.get("viewBox"), role="img", aria_label=summary)


def _shape(shape: Element, *, is_line: bool = False) -> Html | None:
    """A shape that can be seen, or a group that has one; `is_line`: it stands in a text that is seen."""
    name = shape.tag.removeprefix(_NAMESPACE)
    written = shape.text or ""
    css_class = _CLASSES.get(shape.get("fill", ""), _CLASSES.get(shape.get("stroke", "")))
    is_seen = css_class is not None or (is_line and name == "tspan")  # a line has the colour of its text
    inside = [drawn for child in shape if (drawn := _shape(child, is_line=is_seen and name == "text")) is not None]
    if name not in _SHAPES or not (inside or (is_seen and (name not in ("text", "tspan") or written))):
        return None
    kept = {place: value for place in _PLACED if (value := shape.get(place)) is not None}
    return element(name, written, *inside, **{"class": css_class}, **kept)
