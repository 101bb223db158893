"""What a chart shows, and on what."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import attrs

from ..model.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

Theme = Literal["light", "dark"]
Kind = Literal["columns", "rows", "lines", "heat"]
Comparison = Literal["bands", "stack", "dots", "matrix", "ranks"]

# --- size and colours --------------------------------------------------------------------------------------------

_SIZES = {"width": (200, 4_000), "height": (60, 8_000)}  # least and most pixels
_LEAST_ROW_HEIGHT = 14  # of a text of 11 pixels


@attrs.frozen
class Colors:
    """The colours of a theme. `low` and `high` are the ends of a scale of shades, `on_high` the text on dark shades."""

    background: str
    ink: str
    quiet: str
    grid: str
    mark: str
    low: str
    high: str
    on_high: str


_THEMES = {
    "light": Colors("#ffffff", "#222222", "#5b6470", "#dfe3e8", "#3d6b99", "#f1f5f9", "#2b557f", "#ffffff"),
    "dark": Colors("#14181d", "#e8eaed", "#a3adb8", "#39424d", "#7fb0de", "#222b35", "#9cc8f0", "#10151a"),
}


@attrs.frozen
class Canvas:
    """The area of the marks in pixels, None for the default of the kind of chart; and the colours."""

    width: int | None
    height: int | None
    colors: Colors

    def row_height(self, rows: int, default: int) -> float:
        return self.height / max(rows, 1) if self.height else default

    def max_rows(self, limit: int) -> int:
        return min(limit, self.height // _LEAST_ROW_HEIGHT) if self.height else limit


def make_canvas(width: Any, height: Any, theme: Any) -> Canvas:
    for name, value in (("width", width), ("height", height)):
        least, most = _SIZES[name]
        if value is not None and (type(value) is not int or not least <= value <= most):
            raise UsageError(f"{name} is a number of pixels from {least:,} to {most:,}, and not {value!r}")
    if theme not in [*_THEMES]:  # a list: the value may be unhashable
        raise UsageError(keyword="theme", value=theme, allowed=f"one of {', '.join(_THEMES)}")
    return Canvas(width, height, _THEMES[theme])


@attrs.frozen
class Drawing:
    """An Altair chart, its approximate width with labels in pixels, and what it leaves out, as sentences."""

    chart: Any
    width: float
    left_out: tuple[str, ...] = ()


# --- what is drawn -----------------------------------------------------------------------------------------------


@attrs.frozen
class CellGroup:
    """A group of columns in a matrix of sites: one per value of the column `by`, or one that is named `label`.

    A cell is the sum of the column `part` in the rows of its site and value, divided by the sum of the columns `whole`:
    in the same rows if `is_of_cell`, else in all rows of the site. Without `whole`, `part` holds shares. `where` is a
    column and its value, if not all rows belong to the group. `order` are the values, which all have a column; without
    it, those of most sites are first, and the first of each site is among them. With `is_counted` a cell also states
    its sum.
    """

    part: str
    by: str | None = None
    label: str = ""
    whole: tuple[str, ...] = ()
    is_of_cell: bool = False
    where: tuple[str, str] | None = None
    order: tuple[str, ...] | None = None
    is_counted: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.part, *self.whole, *([self.by] if self.by else []), *(self.where[:1] if self.where else []))


@attrs.frozen
class ChartSpec:
    """How a frame is drawn: the kind of chart, and which column is where.

    `kind` is that of one site: `columns` are vertical bars over time, `rows` horizontal bars, `lines` one line per site
    over time, `heat` a matrix of squares with a number in each. `comparison` is that of several, with a row per site:
    `bands` are bars or lines over time, `stack` a bar of shares with their names, `dots` the values on one scale,
    `matrix` a cell per value of `groups` with its share, `ranks` a cell per place with the value that has it.

    `x` and `y` are columns of the frame, `x_title` and `y_title` the titles of the axes, with the unit. `value` is the
    column of a heat map's numbers, or `share` the columns of their parts and wholes. `format` formats the numbers, `%`
    as cell_percent() does. `text` is a column whose values stand after them. `period` is the length of a bar of time,
    such as "month". `split` is a column with one panel per value. `x_order` and `y_order` are the values of a heat
    map's axes, if not those of the rows. `hollow` is a column, and its value in the rows whose part of a bar over time
    is drawn as an outline. `missing` is the label for null. `ends` are the limits of the axis. `melt`
    maps columns to labels, which become values of `x`. `max_rows` limits the values of `y`.

    `size` is the column whose sum states the size of a site, and orders the sites. `matrix_title` is the title of the
    columns of a matrix. A measure that is not `is_by_site` has pairs of sites in its rows.
    """

    kind: Kind
    x: str
    y: str
    x_title: str | None = None
    y_title: str | None = None
    value: str | None = None
    share: tuple[str, str] | None = None
    text: str | None = None
    format: str = ","
    period: str | None = None
    split: str | None = None
    x_order: tuple[str, ...] | None = None
    y_order: tuple[str, ...] | None = None
    missing: str | None = None
    hollow: tuple[str, str] | None = None
    ends: tuple[float, float] | None = None
    melt: dict[str, str] | None = None
    max_rows: int | None = None
    comparison: Comparison = "matrix"
    groups: tuple[CellGroup, ...] = ()
    matrix_title: str | None = None
    size: str | None = None
    is_by_site: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that a frame must have to be drawn, for one site or several."""
        melted = (self.x, self.value) if self.melt else ()
        roles = [self.x, self.y, self.value, self.text, self.split, self.size]
        roles += [*(self.hollow or ())[:1], *(self.share or ()), *(self.melt or ())]
        names = chain(["site"], roles, *(group.columns for group in self.groups))
        return tuple(dict.fromkeys(name for name in names if name and name not in melted))

    def labels(self, frame: pd.DataFrame) -> pd.Series[str]:
        """The label of each mark: its number, and `text` after it."""
        column = {"heat": "_value", "rows": self.x}.get(self.kind) or self.y
        write = cell_percent if self.format == "%" else lambda number: format(number, self.format)
        shown = frame[column].map(write, na_action="ignore").astype(object).fillna(self.missing or "")
        return shown if self.text is None else shown.str.cat(frame[self.text], sep="  ").str.rstrip()


def pages_over_time(period: str, title: str) -> ChartSpec:
    """Bars of the columns `period pages`."""
    size = "pages"
    return ChartSpec(
        "columns", x="period", y=size, x_title=title, y_title=size, period=period, comparison="bands", size=size
    )


def shares_of_pages(name: str, matrix_title: str, *groups: CellGroup) -> ChartSpec:
    """Bars of the column `share` for the values of the column `name`."""
    return ChartSpec(
        "rows",
        x="share",
        y=name,
        x_title="share of pages",
        format=".1%",
        ends=(0.0, 1.0),
        groups=groups,
        matrix_title=matrix_title,
        size="pages",
    )


def parts_of_sites(count: str, name: str, noun: str, max_rows: int) -> ChartSpec:
    """Bars of the column `count` for the values of the column `name`; of several sites the shares of each."""
    return ChartSpec(
        "rows",
        x=count,
        y=name,
        x_title=noun,
        y_title=name,
        max_rows=max_rows,
        comparison="stack",
        groups=(CellGroup(count, name, whole=(count,)),),
        matrix_title=f"share of the site's {noun}",
        size=count,
    )


# --- labels ------------------------------------------------------------------------------------------------------

# Widths of a character in the widest fonts: which font the viewer has is unknown.
LABEL_CHAR_PIXELS = 7.2
MAX_LABEL_CHARS = 34
# Names that differ at their end are cut at the start: those of one site begin alike.
AXIS_LABEL = f"length(datum.label) > {MAX_LABEL_CHARS} ? '…' + slice(datum.label, -{MAX_LABEL_CHARS - 1}) : datum.label"


def short_label(text: str) -> str:
    return text if len(text) <= MAX_LABEL_CHARS else "…" + text[1 - MAX_LABEL_CHARS :]


def label_width(labels: Any) -> float:
    """In pixels, of the widest of these labels."""
    return min(max((len(label.rstrip()) for label in labels), default=0), MAX_LABEL_CHARS) * LABEL_CHAR_PIXELS


def cell_percent(share: float) -> str:
    """A share as a whole percentage; 0% and 100% only if they are exact.

    >>> [cell_percent(share) for share in (0, 0.001, 0.254, 0.999, 1)]
    ['0%', '<1%', '25%', '99%', '100%']
    """
    if 0 < share <= 0.005:
        return "<1%"
    return "99%" if 0.995 <= share < 1 else f"{share:.0%}"
