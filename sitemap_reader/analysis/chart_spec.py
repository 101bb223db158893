"""What a chart shows, and on what."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import attrs

from ..model.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

Theme = Literal["light", "dark", "page"]
Kind = Literal["columns", "lines", "rows", "heat", "counts"]

# --- size and colours --------------------------------------------------------------------------------------------

_SIZES = {"width": (200, 4_000), "height": (60, 8_000)}  # least and most pixels
_LEAST_ROW_HEIGHT = 14  # of a text of 11 pixels


@attrs.frozen
class Colors:
    """The colours of a theme. Shades are opacities of `accent` over `card`, up to one on which `ink` can be read."""

    ink: str
    quiet: str
    line: str
    accent: str
    card: str


_THEMES = {
    "light": Colors("#1d2127", "#5a626c", "#e2dfd8", "#0b6670", "#ffffff"),
    "dark": Colors("#e6e4df", "#a0a9b3", "#2f353c", "#6cc7cd", "#1a1e22"),
    # For a page that has the SVG inline, and these variables in its style sheet.
    "page": Colors(*(f"var(--{field.name})" for field in attrs.fields(Colors))),
}


@attrs.frozen
class Canvas:
    """The area of the marks in pixels, None for the default of the kind of chart; and the colours."""

    width: int | None
    height: int | None
    colors: Colors

    def row_height(self, rows: int, default: int) -> float:
        return self.height / max(rows, 1) if self.height else default

    def panel_height(self, panels: int) -> float:
        return self.row_height(panels, 240 if panels == 1 else max(36, 300 // panels))

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


# --- what is drawn -----------------------------------------------------------------------------------------------


@attrs.frozen
class ChartSpec:
    """How a frame is drawn: the kind of chart, and which column is where.

    `columns` are bars over time and `lines` lines over time: `x` is the time, `y` the number. `rows` are horizontal
    bars: `x` is the number, `y` its label. `heat` is a matrix of squares: `part` is the number at `x` and `y`, with
    `whole` its denominator; `cells` says in words what it is. `counts` are `rows` of how many rows have each `y`.

    Several sites are panels of one chart, one below the other. A spec with `across` is a matrix instead: a row per site
    and a column for each value of the columns that `across` maps to titles. Its cells are `part` as a share of `whole`,
    or else of the sum of the site. A measure that is not `is_by_site` has all sites in one chart. `sites` are all that
    were measured: those without a row are empty. `group` is a column whose values are drawn as sites are.

    `format` formats the numbers, `%` as cell_percent() does, `points` as cell_points(); `ends` are their limits. `text`
    is a column whose values stand after them, `share` one with shares of the site, if it is there. `period` is the
    length of a bar of time, such as "month", `source` a column of its parts, the last of whose categories is hollow;
    the part `below` is drawn below the axis. `split` is a column with a panel per value, `depth` one with the nesting
    of the labels. `missing` is the label for null. `melt` are columns
    that become values of `x`, with their numbers in `part`. `max_rows` limits the values of `y`.
    """

    kind: Kind
    x: str
    y: str
    x_title: str | None = None
    part: str | None = None
    whole: tuple[str, ...] = ()
    cells: str = "share of the site's pages"
    across: dict[str, str] | None = None
    text: str | None = None
    share: str | None = None
    format: str = ","
    period: str = ""
    source: str | None = None
    below: str | None = None
    split: str | None = None
    depth: str | None = None
    missing: str = "none"
    ends: tuple[float, float] | None = None
    melt: tuple[str, ...] = ()
    max_rows: int = 40
    sites: tuple[str, ...] = ()
    group: str | None = None
    is_by_site: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that a frame must have to be drawn, for one site or several."""
        melted = self.melted if self.melt else ()
        roles = [self.x, self.y, self.part, self.text, self.source, self.split, self.depth, self.group]
        names = chain(["site"], roles, self.whole, self.across or (), self.melt)
        return tuple(dict.fromkeys(name for name in names if name and name not in melted))

    @property
    def melted(self) -> tuple[str | None, str | None]:
        """The columns that take the names of those in `melt`, and their numbers."""
        return (self.source, self.y) if self.kind == "columns" else (self.x, self.part)

    @property
    def size(self) -> list[str]:
        """The columns whose sum is the size of a site."""
        if self.kind == "columns" and self.melt:
            return [*self.melt]
        return [*self.whole] or [self.part or (self.x if self.kind == "rows" else self.y)]

    def write(self, numbers: pd.Series[Any]) -> pd.Series[str]:
        """The labels of the marks."""
        one = _WRITERS.get(self.format, lambda number: format(number, self.format))
        return numbers.map(one, na_action="ignore").astype(object).fillna(self.missing)


def shares_of_pages(name: str, what: str, **options: Any) -> ChartSpec:
    """Bars of the column `share` for the values of the column `name`."""
    return ChartSpec(
        "rows",
        x="share",
        y=name,
        x_title=f"share of pages by {what}",
        part="pages",
        format=".1%",
        ends=(0.0, 1.0),
        **{"across": {name: what}, **options},
    )


def cell_percent(share: float) -> str:
    """A share as a whole percentage; 0% and 100% only if they are exact.

    >>> [cell_percent(share) for share in (0, 0.005, 0.006, 0.254, 0.994, 0.995, 1)]
    ['0%', '<1%', '1%', '25%', '99%', '99%', '100%']
    """
    if 0 < share <= 0.005:
        return "<1%"
    return "99%" if 0.995 <= share < 1 else f"{share:.0%}"


def cell_points(share: float) -> str:
    """A difference of shares in percentage points.

    >>> cell_points(0.104), cell_points(-0.157)
    ('+10.4', '-15.7')
    """
    return f"{100 * share:+.1f}"


def cell_number(number: float) -> str:
    """
    >>> cell_number(9_999), cell_number(12_345), cell_number(1_234_567)
    ('9,999', '12k', '1,234k')
    """
    return f"{int(number):,}" if number < 10_000 else f"{int(number) // 1_000:,}k"


_WRITERS = {"%": cell_percent, "points": lambda share: f"{cell_points(share)} points"}
