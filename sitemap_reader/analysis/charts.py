"""Charts of measures, drawn by Altair and rendered locally, without a browser or network access.

Readable without colour: each mark has its number beside it, or an axis.
"""

from __future__ import annotations

from functools import partial
from itertools import takewhile
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import altair as alt
import attrs
import pandas as pd
import vl_convert

from ..client.summary import count_of
from ..model.errors import UsageError, printable
from .chart_spec import AXIS_LABEL, LABEL_CHAR_PIXELS, Drawing, cell_percent, label_width, short_label
from .notes import SITE_SEPARATOR
from .periods import PERIODS, period_count, period_ends

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from .chart_spec import Canvas, CellGroup, ChartSpec


_MAX_LINES, _MAX_RATIO = 6, 10
_MAX_SITES, _ROW_HEIGHT, _BAND_HEIGHT = 60, 24, 28
_BAND = 0.82  # of the height of a row
_MAX_COLUMNS = 24  # of a group of a matrix whose values are not a fixed set
_MAX_RANKS, _RANK_CHARS, _LEAST_NAME = 5, 20, 6
_MAX_PARTS = 12  # of a bar of shares
_REASON_CHARS = 48


def _sites_by_size(frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas) -> tuple[list[str], tuple[str, ...]]:
    """The largest first; and the sentence about the others."""
    if spec.size is not None:
        sizes = frame.groupby("site", sort=False)[spec.size].sum()
    elif spec.comparison == "ranks":  # the numbers and their shares of the site
        sizes = (frame[spec.x] / frame[spec.groups[0].part]).groupby(frame["site"], sort=False).max()
    else:
        sizes = pd.Series(1, index=frame["site"].unique())
    sites = [*sizes.sort_values(ascending=False, kind="stable").index]
    limit = canvas.max_rows(_MAX_SITES)
    return sites[:limit], left_out_text(len(sites) - limit, "site")


# --- a matrix of sites and values --------------------------------------------------------------------------------


def matrix(frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas) -> Drawing:
    sites, left_out = _sites_by_size(frame, spec, canvas)
    sizes = frame.groupby("site", sort=False)[spec.size].sum() if spec.size else None
    groups = [_cells(frame, group, number) for number, group in enumerate(spec.groups)]
    cells = pd.concat([cells for cells, _, _ in groups])
    x_order = [name for number, (_, names, _) in enumerate(groups) for name in _space(names, number, spec)]
    left_out += left_out_text(sum(more for _, _, more in groups), "column")
    cells = cells[cells["site"].isin(sites) & cells["_x"].isin(x_order)]
    cells = cells.assign(_y=cells["site"], _text=cells["_value"].map(cell_percent) + cells["_count"])
    if sizes is not None:
        cells["_size"] = cells["site"].map(lambda site: f"{sizes[site]:,} {spec.size}")
    end = float(spec.ends[1] if spec.ends else cells["_value"].max()) or 1.0
    titled = attrs.evolve(spec, x_title=spec.matrix_title, y_title=None)
    return squares(cells, x_order, sites, end, titled, canvas, left_out)


def _cells(frame: pd.DataFrame, group: CellGroup, number: int) -> tuple[pd.DataFrame, list[str], int]:
    """`site _x _value _count` of each cell of a group, its columns in order, and how many of them are left out."""
    if group.where is not None:
        frame = frame[frame[group.where[0]] == group.where[1]]
    frame = frame.assign(_x=_labels(frame, group) + _NO_BREAK_SPACE * number)
    by = frame.groupby(["site", "_x"], sort=False)
    cells = by[group.part].sum().rename("_value").reset_index()
    cells["_count"] = cells["_value"].map("\n{:,}".format) if group.is_counted else ""
    if group.is_of_cell:
        cells["_value"] /= by[[*group.whole]].sum().sum(axis=1).to_numpy()
    elif group.whole:
        cells["_value"] /= cells["site"].map(frame.groupby("site")[[*group.whole]].sum().sum(axis=1))
    cells = cells[cells["_value"].notna()]
    if group.order is not None:
        given = [name + _NO_BREAK_SPACE * number for name in group.order]
        return cells, [*dict.fromkeys([*given, *cells["_x"]])], 0
    ranked = (
        cells.groupby("_x", sort=False)["_value"].agg(["size", "sum"]).sort_values(["size", "sum"], ascending=False)
    )
    first = cells.loc[cells.groupby("site")["_value"].idxmax(), "_x"]  # of each site, as its finding names it
    shown = {*[*dict.fromkeys([*first, *ranked.index])][:_MAX_COLUMNS]}
    return cells, [name for name in ranked.index if name in shown], len(ranked) - len(shown)


def _labels(frame: pd.DataFrame, group: CellGroup) -> pd.Series[str]:
    if group.by is None:
        return pd.Series(group.label, index=frame.index)
    return frame[group.by].astype(object).map(str, na_action="ignore").fillna("none").astype(str)


# Equal values of two groups, such as "none", are two columns: they differ in the blanks at their end.
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"


def _space(names: list[str], number: int, spec: ChartSpec) -> list[str]:
    """After an empty column if another group of several columns is before them."""
    return [_NO_BREAK_SPACE * number, *names] if number and spec.groups[number].by else names


def ranks(frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas) -> Drawing:
    """A cell for each of the first values of a site, with its name and share; a matrix of the values of a few sites."""
    if frame["site"].nunique() <= _MAX_LINES:
        return matrix(frame, spec, canvas)
    sites, left_out = _sites_by_size(frame, spec, canvas)
    group = spec.groups[0]
    cells = _cells(frame[frame["site"].isin(sites)], group, 0)[0].sort_values("_value", ascending=False, kind="stable")
    place = cells.groupby("site").cumcount() + 1
    cells = cells.assign(_place=place.astype(str), _y=cells["site"])[place <= _MAX_RANKS]
    numbers = cells["_count"].str.strip() if group.is_counted else cells["_value"].map(cell_percent)
    cells = cells.assign(
        _text=cells["_x"].map(partial(_beginning, chars=_RANK_CHARS)) + " " + numbers, _x=cells["_place"]
    )
    x_order = [str(number + 1) for number in range(int(place.clip(upper=_MAX_RANKS).max()))]
    title = f"the first of each site, with the {(spec.matrix_title or '').partition(';')[0]}"
    titled = attrs.evolve(spec, x_title=title, y_title=None)
    return squares(cells, x_order, sites, float(cells["_value"].max()) or 1.0, titled, canvas, left_out)


def _beginning(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[: chars - 1] + "…"


# --- rows over time ----------------------------------------------------------------------------------------------


def bands(frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas) -> Drawing:
    """A band over time for each site, as high as its largest number; few lines share one scale instead."""
    if frame[spec.x].nunique() == 1:
        return _bars_of_sites(frame, spec, canvas)
    if spec.kind == "lines" and _share_a_scale(frame, spec):
        return lines(frame, spec, canvas)
    sites, left_out = _sites_by_size(frame, spec, canvas)
    width = canvas.width or WIDTH
    frame = frame[frame["site"].isin(sites)].sort_values(spec.x, kind="stable")
    row = frame["site"].map({site: number for number, site in enumerate(sites)})
    part = frame[spec.y] / frame.groupby("site")[spec.y].transform("max").clip(lower=1)
    frame = frame.assign(_base=row + 1 - (1 - _BAND) / 2, _top=row + 1 - (1 - _BAND) / 2 - _BAND * part)
    scale = alt.Scale(domain=[0, len(sites)], reverse=True, nice=False, zero=False)
    y = alt.Y("_top:Q", axis=None, scale=scale)
    height = canvas.row_height(len(sites), _BAND_HEIGHT) * len(sites)
    mark = canvas.colors.mark
    if spec.kind == "columns":
        frame = with_bar_ends(frame, spec, width)
        x = period_x(frame, spec)
        some = frame[frame[spec.y] > 0]
        drawn = alt.Chart(json_rows(some), width=width, height=height).mark_rect(color=mark)
        drawn = drawn.encode(x=x, x2="_end:T", y=y, y2="_base:Q")
    else:
        moments = [*frame[spec.x].drop_duplicates().sort_values()]
        x = alt.X(f"{spec.x}:T", title=spec.x_title, axis=moment_axis(moments), scale=alt.Scale(type="utc", padding=6))
        chart = alt.Chart(json_rows(frame), width=width, height=height).encode(x=x, y=y, detail="site:N")
        drawn = chart.mark_line(color=mark) + chart.mark_point(color=mark, filled=True, size=16, opacity=1)
    drawn = _base_lines(len(sites), scale, width, canvas) + drawn
    describe = _most if spec.kind == "columns" else _first_and_last
    texts = [describe(frame[frame["site"] == site], spec) for site in sites]
    names = [short_label(site) for site in sites]
    drawn += _beside(names, "right", -8, scale, canvas.colors.ink) + _beside(
        texts, "left", width + 8, scale, canvas.colors.quiet
    )
    return Drawing(drawn, width + _width_beside(names, texts), left_out)


def _base_lines(count: int, scale: Any, width: float, canvas: Canvas) -> Any:
    frame = pd.DataFrame({"base": [number + 1 - (1 - _BAND) / 2 for number in range(count)]})
    mark = alt.Chart(json_rows(frame)).mark_rule(color=canvas.colors.grid)
    return mark.encode(x=alt.value(0), x2=alt.value(width), y=alt.Y("base:Q", axis=None, scale=scale))


def _beside(texts: list[str], align: str, x: float, scale: Any, color: str) -> Any:
    frame = pd.DataFrame({"text": texts, "middle": [number + 0.5 for number in range(len(texts))]})
    mark = alt.Chart(json_rows(frame)).mark_text(align=align, baseline="middle", color=color)
    return mark.encode(x=alt.value(x), y=alt.Y("middle:Q", axis=None, scale=scale), text="text:N")


def _width_beside(names: list[str], texts: list[str]) -> float:
    return label_width(names) + LABEL_CHAR_PIXELS * max(map(len, texts), default=0) + 28


def _share_a_scale(frame: pd.DataFrame, spec: ChartSpec) -> bool:
    """Whether lines are few, and none is flat only because another site is much larger."""
    most = frame.groupby("site")[spec.y].max()
    return len(most) <= _MAX_LINES and bool(most.max() <= _MAX_RATIO * most.min())


def _most(part: pd.DataFrame, spec: ChartSpec) -> str:
    most = part.loc[part[spec.y].idxmax()]
    return f"{part[spec.y].sum():,} {spec.y}; most {most[spec.y]:,} in {PERIODS[spec.period or ''].name(most[spec.x])}"


def _first_and_last(part: pd.DataFrame, spec: ChartSpec) -> str:
    first, last = part[spec.y].iloc[0], part[spec.y].iloc[-1]
    return f"{last:,} {spec.y}" if len(part) == 1 else f"{first:,} to {last:,} {spec.y}"


def _bars_of_sites(frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas) -> Drawing:
    """A bar for each site, if all have the same period or moment only."""
    only = frame[spec.x].iloc[0]
    name = PERIODS[spec.period].name(only) if spec.period else f"{only:%Y-%m-%d}"
    title = f"{spec.y}, {spec.x_title} {name}"
    frame = frame.sort_values(spec.y, ascending=False, kind="stable")
    return rows(frame, attrs.evolve(spec, kind="rows", x=spec.y, y="site", x_title=title, y_title=None), canvas)


# --- shares ------------------------------------------------------------------------------------------------------


def stack(frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas) -> Drawing:
    """A bar for each site, of its shares with their names, the largest first; the smallest are one part."""
    sites, left_out = _sites_by_size(frame, spec, canvas)
    width = canvas.width or WIDTH
    by = frame.groupby("site", sort=False)
    known = frame.assign(**{spec.size or "": frame[spec.size].fillna(0)})
    parts = pd.concat([_parts(known[known["site"] == site], spec, width) for site in sites])
    sizes, counts = by[spec.size].sum(min_count=1), by.size()
    noun = spec.groups[0].by or ""
    numbers = sizes.map("{:,}".format, na_action="ignore").astype(object).fillna(spec.missing or "0")
    texts = {site: f"{numbers[site]} {spec.size} in {count_of(int(counts[site]), noun)}" for site in sites}
    parts["_size"] = parts["site"].map(texts)
    colors = canvas.colors
    height = canvas.row_height(len(sites), _ROW_HEIGHT)
    y = alt.Y("site:N", title=None, scale=alt.Scale(domain=sites, paddingInner=0.2), axis=_site_axis())
    axis = alt.Axis(format="%", tickCount=5, grid=False)
    x = alt.X("_from:Q", title=spec.matrix_title, scale=alt.Scale(domain=[0, 1]), axis=axis)
    chart = alt.Chart(json_rows(parts), width=width, height=height * len(sites))
    fill = alt.condition("datum._is_rest", alt.value(colors.background), alt.value(colors.low))
    drawn = chart.mark_bar(stroke=colors.mark, strokeWidth=0.8).encode(x=x, x2="_to:Q", y=y, color=fill)
    drawn += chart.mark_text(fontSize=11, color=colors.ink).encode(x="_middle:Q", y=y, text="_text:N")
    sizes_of_sites = alt.Chart(json_rows(parts.drop_duplicates("site"))).mark_text(align="left", color=colors.quiet)
    drawn += sizes_of_sites.encode(x=alt.value(width + 8), y=y, text="_size:N")
    return Drawing(drawn, width + _width_beside(sites, [*texts.values()]), left_out)


def _parts(part: pd.DataFrame, spec: ChartSpec, width: float) -> pd.DataFrame:
    """`site _from _to _middle _text _is_rest` of each part of one site's bar."""
    group = spec.groups[0]
    part = part.sort_values(group.part, ascending=False, kind="stable")
    whole = part[[*group.whole]].to_numpy().sum() if group.whole else 1.0
    shares = [value / whole if whole else 0.0 for value in part[group.part].astype(float)]
    named = [(str(name), share) for name, share in zip(part[group.by], shares, strict=True)]
    rest = named[_MAX_PARTS:]
    named = named[:_MAX_PARTS] + ([(f"{len(rest):,} more", sum(share for _, share in rest))] if rest else [])
    found, at = [], 0.0
    for number, (name, share) in enumerate(named):
        text = _part_text(name, cell_percent(share), share * width - 6)
        found.append((part["site"].iloc[0], at, at + share, at + share / 2, text, number == _MAX_PARTS))
        at += share
    return pd.DataFrame(found, columns=["site", "_from", "_to", "_middle", "_text", "_is_rest"])


def _part_text(name: str, share: str, width: float) -> str:
    """As much of the name and share of a part as its width has space for."""
    chars = int(width / LABEL_CHAR_PIXELS)
    if chars >= len(share) + 1 + min(len(name), _LEAST_NAME):
        return f"{_beginning(name, chars - len(share) - 1)} {share}"
    return next((text for text in (name, share) if len(text) <= chars), "")


def _site_axis() -> Any:
    return alt.Axis(labelExpr=AXIS_LABEL, labelLimit=300, ticks=False, domain=False)


# --- values on one scale -----------------------------------------------------------------------------------------


def dots(frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas) -> Drawing:
    """A circle for each value of a site on one scale, larger if it counts more; the site with the least mean first."""
    by = frame.groupby("site", sort=False)
    means = {site: _mean(part, spec) for site, part in by}
    sites = sorted(means, key=lambda site: (pd.isna(means[site]), means[site]))
    limit = canvas.max_rows(_MAX_SITES)
    left_out, sites = left_out_text(len(sites) - limit, "site"), sites[:limit]
    width = canvas.width or WIDTH // 2
    texts = [_least(frame[frame["site"] == site], spec) for site in sites]
    shown = frame[frame["site"].isin(sites) & frame[spec.x].notna()]
    colors = canvas.colors
    y = alt.Y("site:N", title=None, scale=alt.Scale(domain=sites), axis=_site_axis())
    axis = alt.Axis(tickCount=5, grid=True)
    x = alt.X(f"{spec.x}:Q", title=spec.x_title, scale=alt.Scale(domain=[*(spec.ends or (0, 1))], padding=8), axis=axis)
    chart = alt.Chart(json_rows(shown), width=width, height=canvas.row_height(len(sites), _ROW_HEIGHT) * len(sites))
    size = alt.Size(f"{spec.size}:Q", scale=alt.Scale(range=[20, 200]), legend=None)
    drawn = chart.mark_circle(color=colors.mark, opacity=0.55, stroke=colors.ink).encode(x=x, y=y, size=size)
    labels = alt.Chart(json_rows(pd.DataFrame({"site": sites, "text": texts}))).mark_text(
        align="left", color=colors.quiet
    )
    drawn += labels.encode(x=alt.value(width + 10), y=y, text="text:N")
    return Drawing(drawn, width + _width_beside(sites, texts), left_out)


def _mean(part: pd.DataFrame, spec: ChartSpec) -> float:
    """The mean of the values of a site, weighted by size; NaN if it has none."""
    part = part[part[spec.x].notna()]
    weights = part[spec.size]
    return float((part[spec.x] * weights).sum() / weights.sum()) if weights.sum() else float("nan")


def _least(part: pd.DataFrame, spec: ChartSpec) -> str:
    """How many values a site has, with the least of them and its reasons."""
    values = part[part[spec.x].notna()]
    count = count_of(len(part), spec.y)
    if not len(values):
        return f"{count}, no score"
    least = values.loc[values[spec.x].idxmin()]
    reasons = str(least[spec.text]) if spec.text else ""
    reasons = _beginning(reasons, _REASON_CHARS)
    lowest = "" if len(values) == 1 else "lowest "
    return ": ".join(filter(None, [f"{count}, {lowest}{format(least[spec.x], spec.format)}", reasons]))


COMPARISONS: dict[str, Callable[[pd.DataFrame, ChartSpec, Canvas], Drawing]] = {
    "bands": bands,
    "stack": stack,
    "dots": dots,
    "matrix": matrix,
    "ranks": ranks,
}


# Widths of a character in the widest fonts: which font the viewer has is unknown.
_TITLE_CHAR_PIXELS, _RULE_CHAR_PIXELS = 9.0, 6.8
_MIN_WIDTH = 680
_FORMATS = ("png", "svg", "html", "json")


class Chart:
    """A chart of a Measure: shown in a notebook as SVG without external resources; save() writes it to a file.

    `altair` is the altair object, to be customised.
    """

    def __init__(
        self, rows: pd.DataFrame, spec: ChartSpec, canvas: Canvas, *, title: str, notes: Sequence[str] = ()
    ) -> None:
        """Created by Measure.chart(). `notes` stand below the title, without which the background is transparent."""
        self.title = printable(title)
        self.altair: Any = _chart(rows, spec, title, notes, canvas)

    def to_svg(self) -> str:
        return str(vl_convert.vegalite_to_svg(self.altair.to_dict(validate=False)))

    def to_png(self, scale: float = 2.0) -> bytes:
        """The chart as PNG, with `scale` pixels per unit of width."""
        return bytes(vl_convert.vegalite_to_png(self.altair.to_dict(validate=False), scale=scale))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file in the format of its suffix: .png, .svg, .html (interactive, self-contained) or .json."""
        file = Path(path)
        kind = file.suffix.lower().lstrip(".")
        if kind not in _FORMATS:
            raise UsageError(f"{file}: a chart is saved as {', '.join(_FORMATS)}")
        if kind == "png":
            file.write_bytes(self.to_png())
        elif kind == "svg":
            file.write_text(self.to_svg(), encoding="utf-8")
        else:
            self.altair.save(str(file), format=kind, **({"inline": True} if kind == "html" else {}))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"image/svg+xml": self.to_svg(), "text/plain": self.title}

    def __repr__(self) -> str:
        return f"<Chart: {self.title}>"


# --- layout ------------------------------------------------------------------------------------------------------


def _chart(rows: pd.DataFrame, spec: ChartSpec, finding: str, notes: Sequence[str], canvas: Canvas) -> Any:
    colors = canvas.colors
    drawing = _drawing(_printable(rows), spec, canvas)
    width = max(drawing.width, _MIN_WIDTH if finding else 0)
    chars, small_chars = int(width / _TITLE_CHAR_PIXELS), int(width / _RULE_CHAR_PIXELS)
    small = [line for note in (*notes, *drawing.left_out) for line in _wrap(note, small_chars)]
    texts = alt.TitleParams(
        _wrap(finding, chars),
        subtitle=small,
        anchor="start",
        frame="bounds",
        fontSize=15,
        color=colors.ink,
        subtitleColor=colors.quiet,
        subtitleFontSize=11.5,
        offset=14,
    )
    axis = {"labelColor": colors.ink, "titleColor": colors.quiet, "labelFontSize": 12, "titleFontSize": 12}
    lines = {"domainColor": colors.grid, "gridColor": colors.grid, "tickColor": colors.grid}
    return (
        drawing.chart.properties(
            background=colors.background if finding else "transparent",
            padding=14,
            **({"title": texts} if finding or small else {}),
        )
        .configure_view(stroke=None)
        .configure_axis(titleFontWeight="normal", **axis, **lines)
    )


def _drawing(frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas) -> Drawing:
    if not len(frame):
        return _empty(canvas)
    is_comparison = spec.is_by_site and frame["site"].nunique() > 1
    # A measure may have several rows of a period, such as one for each source of dates: they are one bar.
    if spec.kind == "columns" and frame.duplicated(["site", spec.x]).any():
        solid = frame[spec.y] if spec.hollow is None else frame[spec.y].mask(frame[spec.hollow[0]] == spec.hollow[1], 0)
        by = frame.assign(_solid=solid).groupby(["site", spec.x], sort=False)
        frame = by[[spec.y, "_solid"]].sum().reset_index().sort_values(spec.x, kind="stable")
    # gaps() and shared() have a row for each page: those with the same key are one bar.
    if spec.kind == "rows":
        frame = frame.drop_duplicates([name for name in ("site", spec.split, spec.y) if name])
    if not (is_comparison and spec.comparison in ("matrix", "stack")):
        frame = _with_texts(frame, spec)
    draw = COMPARISONS[spec.comparison] if is_comparison else KINDS[spec.kind]
    return draw(frame, spec, canvas)


def _with_texts(frame: pd.DataFrame, spec: ChartSpec) -> pd.DataFrame:
    """The rows of marks: columns in `melt` become rows; `_value` shades a square, `_text` is beside or in the mark."""
    if spec.melt is not None:
        others = [column for column in ("site", spec.y) if column in frame]
        frame = frame.melt(others, [*spec.melt], var_name=spec.x, value_name=spec.value)
        frame[spec.x] = frame[spec.x].map(spec.melt)
    if spec.kind == "heat":
        part, whole = spec.share or (spec.value, None)
        frame["_value"] = frame[part] / frame[whole] if whole else frame[part]
    if spec.share:
        texts = [
            f"{cell_percent(value)}\nof {count:,}" for value, count in zip(frame["_value"], frame[whole], strict=True)
        ]
        return frame.assign(_text=texts)
    return frame.assign(_text=spec.labels(frame))


def _wrap(text: str, chars: int) -> list[str]:
    """Lines of at most `chars` characters; each site begins one."""
    return [
        part for line in printable(text).split(SITE_SEPARATOR) for part in wrap(line, chars, break_on_hyphens=False)
    ]


def _printable(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with printable texts: vl-convert aborts the process on a character that XML does not allow."""
    frame = pd.DataFrame(rows)
    texts = [name for name in frame if pd.api.types.is_string_dtype(frame[name])]
    return frame.assign(**{name: frame[name].map(printable, na_action="ignore") for name in texts})


def _empty(canvas: Canvas) -> Drawing:
    chart = (
        alt.Chart(alt.Data(values=[{"text": "nothing to draw"}]), width=canvas.width or WIDTH, height=40)
        .mark_text(color=canvas.colors.quiet, align="left")
        .encode(text="text:N", x=alt.value(0))
    )
    return Drawing(chart, canvas.width or WIDTH)


WIDTH, _HEIGHT, _ROW_HEIGHT, _SQUARE = 640, 240, 22, 30
_MAX_BARS_WITH_NAMES, _BAR_STEP = 16, 64
# More than this is unreadable in a chart: the table has all rows.
MAX_ROWS, MAX_SQUARES = 40, 30
_LABEL_PIXELS = 260
_LINE_GAP = 15  # between the texts at the ends of two lines
_LEAST_PREFIX = 6  # a shorter one is not worth its explanation

# --- bars over time ----------------------------------------------------------------------------------------------


def columns(frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas) -> Drawing:
    """A few with their names and numbers, many on an axis of time."""
    assert spec.period is not None  # noqa: S101 - for type checkers: all specs of this kind have it
    frame = frame.sort_values(spec.x, kind="stable")
    if len(frame) <= _MAX_BARS_WITH_NAMES and period_count(frame[spec.x], spec.period) == len(frame):
        return _named_columns(frame, spec, canvas)
    width = canvas.width or WIDTH
    frame = with_bar_ends(frame, spec, width)
    x = period_x(frame, spec)
    y = alt.Y(f"{spec.y}:Q", title=spec.y_title, axis=alt.Axis(tickCount=4, tickMinStep=1, format="~s"))
    chart = alt.Chart(json_rows(frame[frame[spec.y] > 0]), width=width, height=canvas.height or _HEIGHT)
    bars = chart.mark_rect(**_fill(spec, canvas)).encode(x=x, x2="_end:T", y=y, y2=alt.datum(0))
    if spec.hollow:
        bars += chart.mark_rect(color=canvas.colors.mark).encode(x=x, x2="_end:T", y="_solid:Q", y2=alt.datum(0))
    most = frame.nlargest(1, spec.y)
    text = (
        alt.Chart(json_rows(most)).mark_text(dy=-7, color=canvas.colors.ink).encode(x="_middle:T", y=y, text="_text:N")
    )
    return Drawing(bars + text, width + 60)


def _named_columns(frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas) -> Drawing:
    frame = frame.assign(_name=[PERIODS[spec.period or ""].name(start) for start in frame[spec.x]])
    longest = label_width(frame["_name"])
    width = canvas.width or min(WIDTH, max(_BAR_STEP, longest + 8) * len(frame))
    axis = alt.Axis(labelAngle=0 if longest + 8 <= width / max(len(frame), 1) else -45, ticks=False)
    x = alt.X("_name:N", title=spec.x_title, sort=None, axis=axis)
    y = alt.Y(f"{spec.y}:Q", title=spec.y_title, axis=alt.Axis(tickCount=4, tickMinStep=1, format="~s"))
    chart = alt.Chart(json_rows(frame), width=width, height=canvas.height or _HEIGHT)
    bars = chart.mark_bar(**_fill(spec, canvas), width={"band": 0.7}).encode(x=x, y=y)
    if spec.hollow:
        bars += chart.mark_bar(color=canvas.colors.mark, width={"band": 0.7}).encode(x=x, y="_solid:Q")
    return Drawing(bars + chart.mark_text(dy=-7, color=canvas.colors.ink).encode(x=x, y=y, text="_text:N"), width + 60)


def _fill(spec: ChartSpec, canvas: Canvas) -> dict[str, Any]:
    """Of whole bars, whose solid part is drawn over them."""
    colors = canvas.colors
    return {"color": colors.low, "stroke": colors.mark} if spec.hollow else {"color": colors.mark}


def with_bar_ends(frame: pd.DataFrame, spec: ChartSpec, width: float) -> pd.DataFrame:
    """The frame with `_end` and `_middle` of each bar: 85% of its period, and at least a pixel."""
    starts, ends = frame[spec.x], period_ends(frame[spec.x], spec.period or "")
    span = ends - starts
    least = (ends.max() - starts.min()) / width
    shown = (span * 0.85).clip(lower=least)
    return frame.assign(_end=starts + shown, _middle=starts + shown / 2)


def time_axis(ticks: int, **options: Any) -> Any:
    """A time axis that leaves out labels that would overlap, also in a wider font."""
    return alt.Axis(grid=False, tickCount=ticks, labelOverlap=True, labelSeparation=16, **options)


def period_x(frame: pd.DataFrame, spec: ChartSpec) -> Any:
    """The x of bars with ends: from the first start to the last end, with the names of periods."""
    count = period_count(frame[spec.x], spec.period or "")
    pattern = {"day": "%Y-%m-%d", "week": "%Y-%m-%d", "year": "%Y"}.get(spec.period or "", "%Y-%m")
    domain = [frame[spec.x].min().isoformat(), frame["_end"].max().isoformat()]
    scale = alt.Scale(domain=domain, padding=6, type="utc")
    return alt.X(f"{spec.x}:T", title=spec.x_title, axis=time_axis(min(8, count), format=pattern), scale=scale)


# --- bars --------------------------------------------------------------------------------------------------------


def rows(frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas) -> Drawing:
    if spec.split is None:
        return _bars(frame, spec, canvas)
    half = attrs.evolve(canvas, width=(canvas.width or WIDTH) // 2)
    panels = [(attrs.evolve(spec, y_title=str(name)), part) for name, part in frame.groupby(spec.split, sort=False)]
    drawings = [_bars(part, each, half) for each, part in panels]
    left_out = tuple(text for each in drawings for text in each.left_out)
    return Drawing(alt.hconcat(*(each.chart for each in drawings)), sum(each.width for each in drawings), left_out)


def _bars(frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas) -> Drawing:
    names = [*frame[spec.y].drop_duplicates()]
    order = names[: canvas.max_rows(min(spec.max_rows or MAX_ROWS, MAX_ROWS))]
    frame = frame[frame[spec.y].isin(order)]
    short, prefix = without_common_prefix(order)
    names_of = dict(zip(order, short, strict=True))
    # An unknown number has no bar: its text says so.
    frame = frame.assign(_name=frame[spec.y].map(names_of), **{spec.x: frame[spec.x].fillna(0)})
    width = canvas.width or WIDTH
    chart = alt.Chart(json_rows(frame), width=width, height=canvas.row_height(len(order), _ROW_HEIGHT) * len(order))
    # The axis leaves space for the number of the longest bar.
    number_width = min(LABEL_CHAR_PIXELS * int(frame["_text"].str.len().max()) + 8, 0.66 * width)
    end = (spec.ends or (0, frame[spec.x].max()))[1] or 1
    scale = alt.Scale(domain=[0, end * width / (width - number_width)], nice=False)
    x = alt.X(f"{spec.x}:Q", title=spec.x_title, scale=scale, axis=alt.Axis(grid=False, labels=False, ticks=False))
    title = " ".join(filter(None, [spec.y_title, f"(… is {prefix})" if prefix else ""])) or None
    # Vega-Lite 6 puts titles into an expression, for the aria-label, and escapes only their quotes: a backslash would
    # be an escape in it, or end its string.
    title = title and title.replace("\\", "\N{REVERSE SOLIDUS OPERATOR}")
    y = alt.Y("_name:N", title=title, sort=short, axis=_name_axis(label_width(short)))
    bars = chart.mark_bar(color=canvas.colors.mark, height={"band": 0.7}).encode(x=x, y=y)
    texts = chart.mark_text(align="left", dx=4, color=canvas.colors.ink).encode(x=x, y=y, text="_text:N")
    return Drawing(bars + texts, width + label_width(short) + 20, left_out_text(len(names) - len(order), "row"))


def _name_axis(width: float) -> Any:
    title = {"titleAngle": 0, "titleAlign": "left", "titleX": -width, "titleY": -10, "titleBaseline": "bottom"}
    return alt.Axis(labelExpr=AXIS_LABEL, labelLimit=_LABEL_PIXELS, ticks=False, domain=False, **title)


def without_common_prefix(names: Sequence[str]) -> tuple[list[str], str]:
    """The names with `…` instead of the folders that all begin with, and these; the names and "" if there are none.

    >>> without_common_prefix(["https://a.example/maps/1.xml", "https://a.example/maps/2.xml"])
    (['…1.xml', '…2.xml'], 'https://a.example/maps/')
    >>> without_common_prefix(["/a/", "/b/"])
    (['/a/', '/b/'], '')
    """
    # Without the last character: a name must not become empty.
    first, last = min(names)[:-1], max(names)[:-1]  # what these two share, all share
    same = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
    prefix = same.rpartition("/")[0] + "/"
    if len(prefix) < _LEAST_PREFIX:
        return [*names], ""
    return ["…" + name[len(prefix) :] for name in names], prefix


def left_out_text(count: int, noun: str) -> tuple[str, ...]:
    return (f"{count:,} more {noun}{'s' * (count != 1)} in the table.",) if count > 0 else ()


# --- lines -------------------------------------------------------------------------------------------------------


def lines(frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas) -> Drawing:
    """One line per site, each with its own dash and shape, and with its name and number at the end."""
    width, height = canvas.width or WIDTH, canvas.height or _HEIGHT
    several = frame["site"].nunique() > 1
    last = frame.groupby("site", sort=False).tail(1)
    last = last.assign(_text=last["site"] + " " + last["_text"] if several else last["_text"])
    moments = [*frame[spec.x].drop_duplicates().sort_values()]
    x = alt.X(f"{spec.x}:T", title=spec.x_title, axis=moment_axis(moments), scale=_moment_domain(moments))
    top = max(float(frame[spec.y].max()) * 1.05, 1.0)
    scale = alt.Scale(domain=[0, top], nice=False)
    y = alt.Y(f"{spec.y}:Q", title=spec.y_title, axis=alt.Axis(tickCount=5, format=",d", tickMinStep=1), scale=scale)
    chart = alt.Chart(json_rows(frame), width=width, height=height).encode(x=x, y=y)
    color = canvas.colors.mark
    dash = {"strokeDash": alt.StrokeDash("site:N", legend=None)} if several else {}
    shape = {"shape": alt.Shape("site:N", legend=None)} if several else {}
    drawn = chart.mark_line(color=color).encode(detail="site:N", **dash)
    points = chart.mark_point(color=color, filled=True, size=60, opacity=1).encode(detail="site:N", **shape)
    heights = [height * (1 - value / top) for value in last[spec.y]]
    last = last.assign(_y=apart(heights, _LINE_GAP, height))
    ends = alt.Chart(json_rows(last)).mark_text(align="left", dx=8, color=canvas.colors.ink)
    # Pixels: texts of lines that end together stand below each other.
    texts = ends.encode(
        x=x, y=alt.Y("_y:Q", axis=None, scale=alt.Scale(domain=[0, height], range=[0, height])), text="_text:N"
    )
    shown = alt.layer(drawn + points, texts).resolve_scale(y="independent")
    return Drawing(shown, width + 60 + LABEL_CHAR_PIXELS * int(last["_text"].str.len().max()))


def apart(heights: Sequence[float], gap: float, end: float) -> list[float]:
    """The heights moved so that two differ by at least the gap, in the same order; if possible none beyond the end.

    >>> apart([20, 22, 100], 15, end=200)
    [13.5, 28.5, 100.0]
    >>> apart([200, 199], 15, end=200)
    [200.0, 185.0]
    """
    order = sorted(range(len(heights)), key=heights.__getitem__)
    groups: list[tuple[float, list[int]]] = []  # (middle, numbers of the heights)
    for number in order:
        middle, members = float(heights[number]), [number]
        while groups and middle - gap * len(members) / 2 < groups[-1][0] + gap * len(groups[-1][1]) / 2:
            before, others = groups.pop()
            middle = (before * len(others) + middle * len(members)) / (len(others) + len(members))
            members = [*others, *members]
        groups.append((min(middle, end - gap * (len(members) - 1) / 2), members))
    moved = {
        number: middle + gap * (place - (len(members) - 1) / 2)
        for middle, members in groups
        for place, number in enumerate(members)
    }
    return [moved[number] for number in range(len(heights))]


def moment_axis(moments: Sequence[pd.Timestamp]) -> Any:
    """A time axis: a few moments have a tick each, with their day, and their time if any has one."""
    if len(moments) > _MAX_BARS_WITH_NAMES:
        return time_axis(8, format="%Y-%m-%d")
    is_timed = any(moment != moment.normalize() for moment in moments)
    several_a_day = len({moment.normalize() for moment in moments}) < len(moments)
    pattern = "%Y-%m-%d %H:%M" if is_timed and several_a_day else "%Y-%m-%d"
    return time_axis(len(moments), values=[moment.isoformat() for moment in moments], format=pattern)


def _moment_domain(moments: Sequence[pd.Timestamp]) -> Any:
    first, last = moments[0], moments[-1]
    if first == last:  # a scale needs a length
        day = pd.Timedelta(days=1)
        first, last = first - day, last + day
    return alt.Scale(domain=[first.isoformat(), last.isoformat()], padding=16, type="utc")


# --- heat maps ---------------------------------------------------------------------------------------------------


def heat(frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas) -> Drawing:
    """A square for each pair of x and y, darker for larger numbers, with its number."""
    frame = frame.assign(
        _x=frame[spec.x].astype(object).map(str, na_action="ignore").fillna(spec.missing or ""),
        _y=frame[spec.y].map(str),
    )
    if spec.is_by_site:
        sums = frame.assign(_sum=frame[spec.share[1]] if spec.share else frame["_value"])
        x_order = _largest(sums, "_x", spec.x_order, MAX_SQUARES)
        y_order = _largest(sums, "_y", spec.y_order, canvas.max_rows(spec.max_rows or MAX_ROWS))
        # Values of both axes, such as languages, have the same order on both.
        x_order.sort(key=lambda name: y_order.index(name) if name in y_order else len(y_order))
    else:  # pairs of sites: one order, the largest first
        sites = [*frame.sort_values(spec.size, ascending=False, kind="stable")["_y"].drop_duplicates()]
        x_order = y_order = sites[: canvas.max_rows(MAX_ROWS)]
    left_out = left_out_text(frame["_x"].nunique() - len({*x_order} & {*frame["_x"]}), "column")
    left_out += left_out_text(frame["_y"].nunique() - len({*y_order} & {*frame["_y"]}), "row")
    frame = frame[frame["_y"].isin(y_order) & frame["_x"].isin(x_order)]
    end = float(spec.ends[1] if spec.ends else frame["_value"].fillna(0).max()) or 1.0
    return squares(frame, x_order, y_order, end, spec, canvas, left_out)


def _largest(frame: pd.DataFrame, name: str, given: tuple[str, ...] | None, limit: int) -> list[str]:
    """The values of an axis: those given, or the ones with the largest sums, the largest first."""
    if given is not None:
        return [*given]
    sums = frame.groupby(name, sort=False)["_sum"].sum().sort_values(ascending=False, kind="stable")
    return [*sums.index[:limit]]


def squares(
    frame: pd.DataFrame,
    x_order: Sequence[str],
    y_order: Sequence[str],
    end: float,
    spec: ChartSpec,
    canvas: Canvas,
    left_out: tuple[str, ...],
) -> Drawing:
    """A square for each row of the frame at `_x` and `_y`, shaded by `_value` from 0 to `end`, with `_text` in it.

    A column `_size` states the size of each `_y`, to the right of its row.
    """
    colors = canvas.colors
    lines_of_text = 1 + int(frame["_text"].str.contains("\n").any())
    text_width = max((max(map(len, text.split("\n"))) for text in frame["_text"]), default=1) * 6.6 + 6
    square = max(_SQUARE, text_width, min(label_width(x_order) + 4, WIDTH / max(len(x_order), 1)))
    square = canvas.width / len(x_order) if canvas.width else square
    height = canvas.row_height(len(y_order), 14 + 12 * lines_of_text)
    chart = alt.Chart(json_rows(frame), width=square * len(x_order), height=height * len(y_order))
    is_slanted = label_width(x_order) > square
    is_long = len(y_order) > _MAX_BARS_WITH_NAMES or is_slanted
    slant = {"labelAngle": -45, "labelAlign": "left"} if is_slanted else {"labelAngle": 0}
    axis = alt.Axis(
        orient="top" if is_long else "bottom",
        ticks=False,
        labelExpr=AXIS_LABEL,
        labelLimit=_LABEL_PIXELS,
        labelOverlap=False,
        **slant,
    )
    x = alt.X("_x:N", title=spec.x_title, axis=axis, scale=alt.Scale(domain=x_order))
    labels = alt.Axis(labelLimit=_LABEL_PIXELS, labelExpr=AXIS_LABEL, ticks=False)
    y = alt.Y("_y:N", title=spec.y_title, axis=labels, scale=alt.Scale(domain=y_order))
    shades = alt.Color("_value:Q", scale=alt.Scale(domain=[0, end], range=[colors.low, colors.high]), legend=None)
    drawn = chart.mark_rect(stroke=colors.background).encode(x=x, y=y, color=shades)
    ink = alt.condition(f"datum._value > {end * 0.55}", alt.value(colors.on_high), alt.value(colors.ink))
    drawn += chart.mark_text(fontSize=11, lineBreak="\n", lineHeight=12, dy=6 * (1 - lines_of_text)).encode(
        x=x, y=y, text="_text:N", color=ink
    )
    width = square * len(x_order) + label_width(y_order) + 20
    if "_size" in frame:
        sizes = frame.drop_duplicates("_y")
        mark = alt.Chart(json_rows(sizes)).mark_text(align="left", color=colors.quiet)
        drawn += mark.encode(x=alt.value(square * len(x_order) + 8), y=y, text="_size:N")
        width += LABEL_CHAR_PIXELS * int(sizes["_size"].str.len().max()) + 8
    return Drawing(drawn, width, left_out)


def json_rows(frame: pd.DataFrame) -> Any:
    rows = frame.to_dict("records")
    return alt.Data(values=[{str(name): _json_value(value) for name, value in row.items()} for row in rows])


def _json_value(value: Any) -> Any:
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    if pd.isna(value):
        return None
    return value.item() if hasattr(value, "item") else value


KINDS: dict[str, Callable[[pd.DataFrame, ChartSpec, Canvas], Drawing]] = {
    "columns": columns,
    "rows": rows,
    "lines": lines,
    "heat": heat,
}
