"""Charts of measures: a frame and a ChartSpec in; an Altair chart out, and its SVG, PNG, HTML and JSON.

Readable without colour: each mark has its number beside it, each site its own panel, or its own shape and dash.
Rendered locally, without a browser or network access.
"""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

import attrs
import pandas as pd

from ..model.errors import UsageError, install_hint, printable

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence


# Between the findings of several sites in one line; a chart begins a new line there.
SITE_SEPARATOR = " | "

_BAR, _INK, _QUIET, _GRID = "#3d6b99", "#222222", "#5b6470", "#dfe3e8"
_WIDTH, _HEIGHT, _ROW_HEIGHT, _SQUARE = 640, 240, 22, 26
_PANEL_WIDTH = 300
# Widths of a character in the widest fonts: which font the viewer has is unknown.
_TITLE_CHAR_PIXELS, _RULE_CHAR_PIXELS, _LABEL_CHAR_PIXELS = 9.4, 7.2, 7.6
_MIN_WIDTH, _AXIS_LABELS_WIDTH = 560, 90
_LABEL_PIXELS, _CHAR_PIXELS = 240, 7.2
_MAX_LABELLED_BARS, _MAX_SIDE_BY_SIDE = 16, 8
# More than this is unreadable in a chart: the table has all rows.
_MAX_ROWS, _MAX_SQUARES, _MAX_PANELS = 40, 30, 24
# Long names are cut at the start: names of one site begin alike.
_END_OF_NAME = "length(datum.label) > 31 ? '…' + slice(datum.label, -30) : datum.label"
_FORMATS = ("png", "svg", "html", "json")

Kind = Literal["columns", "rows", "lines", "heat"]


@attrs.frozen
class ChartSpec:
    """How a frame is drawn: the kind of chart, and which column is where.

    `kind`: `columns` are vertical bars over time, `rows` horizontal bars, `lines` one line per site over time, `heat` a
    matrix of squares with a number in each.
    `x` and `y` are columns of the frame, `x_title` and `y_title` the titles of the axes, with the unit. `value` is the
    column of a heat map's numbers; `format` formats the numbers. `text` is a column whose values stand after them.
    `split` is a column with one panel per value, besides the panels per site (`is_by_site`). `x_order` and `y_order`
    are the values of a heat map's axes, if not those of the rows. `missing` is the label for null. `ends` are the
    limits of the axis. `melt` maps columns to labels: they become values of `x` (heat map) or of `split`. `max_rows`
    limits the values of `y`. `max_chars` is the length of the longest number, which is computed from the frame.
    """

    kind: Kind
    x: str
    y: str
    x_title: str | None = None
    y_title: str | None = None
    value: str | None = None
    text: str | None = None
    format: str = ","
    split: str | None = None
    x_order: tuple[str, ...] | None = None
    y_order: tuple[str, ...] | None = None
    missing: str | None = None
    ends: tuple[Any, Any] | None = None
    melt: dict[str, str] | None = None
    max_rows: int | None = None
    is_by_site: bool = True
    max_chars: int = 0

    def labels(self, frame: pd.DataFrame) -> pd.Series[str]:
        """The label of each mark: its number, and `text` after it."""
        column = {"heat": self.value, "rows": self.x}.get(self.kind) or self.y
        shown = frame[column].map(lambda number: format(number, self.format), na_action="ignore").fillna("")
        return shown if self.text is None else shown.str.cat(frame[self.text], sep="  ").str.rstrip()


class Chart:
    """A chart of a Measure: shown in a notebook as SVG without external resources; save() writes it to a file.

    `altair` is the altair object, to be customised.
    """

    def __init__(self, rows: pd.DataFrame, spec: ChartSpec, *, title: str, notes: Sequence[str] = ()) -> None:
        """Created by Measure.chart(). `notes` stand below the title. UsageError without the extra `analysis`."""
        _require_altair()
        self.title = title
        self.altair: Any = _chart(rows, spec, title, notes)

    def to_svg(self) -> str:
        """The chart as SVG."""
        import vl_convert

        return str(vl_convert.vegalite_to_svg(self.altair.to_dict(validate=False)))

    def to_png(self, scale: float = 2.0) -> bytes:
        """The chart as PNG, with `scale` pixels per unit of width."""
        import vl_convert

        return bytes(vl_convert.vegalite_to_png(self.altair.to_dict(validate=False), scale=scale))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file in the format of its suffix: .png, .svg, .html (interactive, self-contained) or .json."""
        from pathlib import Path

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


def _require_altair() -> None:
    try:
        import altair  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as exc:
        raise UsageError(f"charts need Altair and vl-convert: {install_hint('analysis')}") from exc


# --- layout ------------------------------------------------------------------------------------------------------


def _chart(rows: pd.DataFrame, spec: ChartSpec, finding: str, notes: Sequence[str]) -> Any:
    """The Altair chart: panels under a title."""
    import altair as alt

    frame = _rows(rows, spec)
    if len(frame):
        frame = frame.assign(_text=spec.labels(frame))
        max_chars = int(frame["_text"].str.len().max())
        spec = attrs.evolve(spec, ends=spec.ends or _ends(frame, spec), max_chars=max_chars)
    parts = _panels(frame, spec)
    panels = [_KINDS[spec.kind](part, spec, title) for title, part in parts[:_MAX_PANELS]]
    more = (
        [f"{len(parts) - len(panels):,} more panels are left out; the table has all."]
        if len(parts) > len(panels)
        else []
    )
    is_wide = spec.kind == "columns" or len(spec.x_order or ()) > _MAX_SIDE_BY_SIDE
    body = _arranged(panels, is_wide=is_wide) if panels else _empty()
    width = _total_width(panels, is_wide=is_wide)
    title_width = max(width, _MIN_WIDTH)
    chars, small_chars = int(title_width / _TITLE_CHAR_PIXELS), int(title_width / _RULE_CHAR_PIXELS)
    title = alt.TitleParams(
        _wrapped(finding, chars),
        subtitle=[line for note in notes for line in _wrapped(note, small_chars)] + more,
        anchor="start",
        fontSize=15,
        color=_INK,
        subtitleColor=_QUIET,
        subtitleFontSize=11.5,
        offset=14,
    )
    padding = {"left": 14, "top": 14, "bottom": 14, "right": 14 + title_width - width}
    style: dict[str, Any] = {"labelColor": _INK, "titleColor": _QUIET, "labelFontSize": 12, "titleFontSize": 12}
    return (
        body.properties(title=title, background="white", padding=padding)
        .configure_view(stroke=None)
        .configure_axis(domainColor=_GRID, gridColor=_GRID, tickColor=_GRID, titleFontWeight="normal", **style)
        .configure_header(labelFontSize=13, labelColor=_INK)
        .configure_legend(labelFontSize=12, titleFontSize=12)
    )


def _total_width(panels: list[Any], *, is_wide: bool) -> float:
    """The approximate width of the arranged panels in pixels, with labels."""
    widths = [panel.width + _AXIS_LABELS_WIDTH if hasattr(panel, "width") else _WIDTH for panel in panels] or [_WIDTH]
    return float(max(widths) if is_wide else sum(sorted(widths)[-2:]))


def _wrapped(text: str, chars: int) -> list[str]:
    """The text in lines of at most `chars` characters; each site begins a line."""
    return [part for line in printable(text).split(SITE_SEPARATOR) for part in wrap(line, chars)]


def _ends(frame: pd.DataFrame, spec: ChartSpec) -> tuple[Any, Any]:
    """The limits of the axis of numbers, or of time: the same in all panels, so that they can be compared."""
    if spec.kind in ("columns", "lines"):
        return frame[spec.x].min().isoformat(), frame[spec.x].max().isoformat()
    return 0, frame[spec.value or spec.x].max() or 1


def _rows(rows: pd.DataFrame, spec: ChartSpec) -> pd.DataFrame:
    """The rows to draw: columns in `melt` become rows, and texts become printable."""
    frame = pd.DataFrame(rows)
    if spec.melt is not None:
        value, name = (spec.value, spec.x) if spec.kind == "heat" else (spec.x, spec.split)
        others = [column for column in ("site", spec.y) if column in frame]
        frame = frame.melt(others, [*spec.melt], var_name=name, value_name=value)
        frame[name] = frame[name].map(spec.melt)
    texts = [name for name in frame if pd.api.types.is_string_dtype(frame[name])]
    # vl-convert aborts the process on a character that XML does not allow.
    return frame.assign(**{name: frame[name].map(printable, na_action="ignore") for name in texts})


def _panels(frame: pd.DataFrame, spec: ChartSpec) -> list[tuple[str | None, pd.DataFrame]]:
    """(title, rows) of each panel: one per site and value of `split`; lines of all sites share one."""
    by = ["site"] if spec.is_by_site and spec.kind != "lines" and frame["site"].nunique() > 1 else []
    by += [spec.split] if spec.split else []
    if not by or not len(frame):
        return [(None, frame)] if len(frame) else []
    return [(", ".join(map(str, keys)), part) for keys, part in frame.groupby(by, sort=False)]


def _arranged(panels: list[Any], *, is_wide: bool) -> Any:
    import altair as alt

    if len(panels) == 1:
        return panels[0]
    return alt.vconcat(*panels) if is_wide else alt.concat(*panels, columns=2)


def _empty() -> Any:
    import altair as alt

    return (
        alt.Chart(alt.Data(values=[{"text": "nothing to draw"}]), width=_WIDTH, height=40)
        .mark_text(color=_QUIET, align="left")
        .encode(text="text:N", x=alt.value(0))
    )


def _data(frame: pd.DataFrame) -> Any:
    """The rows as data of an Altair chart, in types of JSON."""
    import altair as alt

    return alt.Data(values=[*map(_json_row, frame.to_dict("records"))])


def _json_row(row: dict[str, Any]) -> dict[str, Any]:
    return {str(name): _json_value(value) for name, value in row.items()}


def _json_value(value: Any) -> Any:
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    if pd.isna(value):
        return None
    return value.item() if hasattr(value, "item") else value


def _panel(frame: pd.DataFrame, title: str | None, width: float, height: float) -> Any:
    """An empty panel with its title."""
    import altair as alt

    chart = alt.Chart(_data(frame), width=width, height=height)
    if title is None:
        return chart
    style = {"anchor": "start", "fontSize": 13, "color": _INK, "fontWeight": "normal"}
    return chart.properties(title=alt.TitleParams(title, subtitle=[], **style))


# --- the kinds ---------------------------------------------------------------------------------------------------


def _columns(frame: pd.DataFrame, spec: ChartSpec, title: str | None) -> Any:
    """Vertical bars over time, with numbers if there are few."""
    import altair as alt

    is_labelled = len(frame) <= _MAX_LABELLED_BARS
    chart = _panel(frame, title, _WIDTH, _HEIGHT if title is None else _HEIGHT // 2)
    width = max(1.0, min(28.0, 0.7 * _WIDTH / _bar_count(frame[spec.x], spec)))
    axis = _time_axis(min(len(frame), 8))
    x = alt.X(f"{spec.x}:T", title=spec.x_title, axis=axis, scale=_time_scale(spec))
    y = alt.Y(f"{spec.y}:Q", title=spec.y_title, axis=alt.Axis(tickCount=4, tickMinStep=1, format="~s"))
    bars = chart.mark_bar(color=_BAR, width=width).encode(x=x, y=y)
    if not is_labelled:
        return bars
    return bars + chart.mark_text(dy=-7, color=_INK).encode(x=x, y=y, text="_text:N")


def _rows_chart(frame: pd.DataFrame, spec: ChartSpec, title: str | None) -> Any:
    """Horizontal bars, each with its number."""
    import altair as alt

    names = [*frame[spec.y].drop_duplicates()]
    order = names[: min(spec.max_rows or _MAX_ROWS, _MAX_ROWS)]
    left_out = len(names) - len(order)
    frame = frame[frame[spec.y].isin(order)]
    width = _WIDTH if title is None else _PANEL_WIDTH
    chart = _panel(frame, title, width, _ROW_HEIGHT * max(len(order), 1))
    # The axis leaves space for the number of the longest bar, the same in all panels.
    number_width = min(_CHAR_PIXELS * spec.max_chars + 8, 0.66 * width)
    end = (spec.ends or (0, 1))[1]
    scale = alt.Scale(domain=[0, end * width / (width - number_width)], nice=False)
    title_x = spec.x_title if left_out <= 0 else f"{spec.x_title} ({left_out:,} more rows in the table)"
    x = alt.X(f"{spec.x}:Q", title=title_x, scale=scale, axis=alt.Axis(grid=False, labels=False, ticks=False))
    labels = alt.Axis(labelExpr=_END_OF_NAME, labelLimit=_LABEL_PIXELS, ticks=False, domain=False)
    y = alt.Y(f"{spec.y}:N", title=spec.y_title, sort=order, axis=labels)
    bars = chart.mark_bar(color=_BAR, height={"band": 0.7}).encode(x=x, y=y)
    return bars + chart.mark_text(align="left", dx=4, color=_INK).encode(x=x, y=y, text="_text:N")


def _lines(frame: pd.DataFrame, spec: ChartSpec, title: str | None) -> Any:
    """One line per site, each with its own dash and shape, and with its name and number at the end."""
    import altair as alt

    several = frame["site"].nunique() > 1
    last = frame.groupby("site", sort=False).tail(1)
    last = last.assign(_text=last["site"] + " " + last["_text"] if several else last["_text"])
    x = alt.X(f"{spec.x}:T", title=spec.x_title, axis=_time_axis(8), scale=_time_scale(spec))
    y = alt.Y(f"{spec.y}:Q", title=spec.y_title, axis=alt.Axis(tickCount=5, format=",d", tickMinStep=1))
    chart = alt.Chart(_data(frame), width=_WIDTH, height=_HEIGHT).encode(x=x, y=y)
    dash = {"strokeDash": alt.StrokeDash("site:N", legend=None)} if several else {}
    shape = {"shape": alt.Shape("site:N", legend=None)} if several else {}
    lines = chart.mark_line(color=_BAR).encode(detail="site:N", **dash)
    points = chart.mark_point(color=_BAR, filled=True, size=60, opacity=1).encode(detail="site:N", **shape)
    ends = alt.Chart(_data(last)).mark_text(align="left", dx=8, color=_INK).encode(x=x, y=y, text="_text:N")
    return lines + points + ends


def _time_axis(ticks: int) -> Any:
    """A time axis that leaves out labels that would overlap, also in a wider font."""
    import altair as alt

    return alt.Axis(grid=False, tickCount=ticks, labelOverlap=True, labelSeparation=16)


def _bar_count(starts: pd.Series[Any], spec: ChartSpec) -> float:
    """How many bars of this width fit between the ends."""
    first, last = map(pd.Timestamp, spec.ends or (starts.min(), starts.max()))
    step = starts.sort_values().diff().min()
    return 1.0 if pd.isna(step) else max(float((last - first) / step), 1.0) + 1


def _time_scale(spec: ChartSpec) -> Any:
    """The scale between the ends, with padding for half a bar."""
    import altair as alt

    return alt.Scale(domain=spec.ends, padding=16, type="utc") if spec.ends else alt.Scale(type="utc")


def _heat(frame: pd.DataFrame, spec: ChartSpec, title: str | None) -> Any:
    """A square for each pair of x and y, darker for larger numbers, with its number."""
    import altair as alt

    frame = frame.assign(
        _x=frame[spec.x].astype(object).map(str, na_action="ignore").fillna(spec.missing or ""),
        _y=frame[spec.y].map(str),
    )
    x_order, x_more = _axis_values(frame, "_x", spec.x_order, spec, _MAX_SQUARES)
    y_order, y_more = _axis_values(frame, "_y", spec.y_order, spec, spec.max_rows or _MAX_ROWS)
    frame = frame[frame["_y"].isin(y_order) & frame["_x"].isin(x_order)]
    end = float((spec.ends or (0, 1))[1])
    longest = max(map(len, x_order), default=0) if len(x_order) <= _MAX_SIDE_BY_SIDE else 0
    square = max(_SQUARE, min(96, _WIDTH // (2 * max(len(x_order), 1))), int(longest * _LABEL_CHAR_PIXELS) + 8)
    chart = _panel(frame, title, square * len(x_order), 30 * len(y_order))
    axis = alt.Axis(labelAngle=0, ticks=False, orient="bottom")
    titles = [spec.x_title or "", *([f"{x_more:,} more columns in the table"] if x_more else [])]
    titles += [f"{y_more:,} more rows in the table"] if y_more else []
    x = alt.X("_x:N", title=", ".join(filter(None, titles)), axis=axis, scale=alt.Scale(domain=x_order))
    labels = alt.Axis(labelLimit=_LABEL_PIXELS, ticks=False)
    y = alt.Y("_y:N", title=spec.y_title, axis=labels, scale=alt.Scale(domain=y_order))
    scale = alt.Scale(domain=[0, end], range=["#f3f6f9", "#2b557f"])
    squares = chart.mark_rect(stroke="white").encode(
        x=x, y=y, color=alt.Color(f"{spec.value}:Q", scale=scale, legend=None)
    )
    dark = alt.condition(f"datum[{spec.value!r}] > {end / 2}", alt.value("white"), alt.value(_INK))
    return squares + chart.mark_text(fontSize=11).encode(x=x, y=y, text="_text:N", color=dark)


def _axis_values(
    frame: pd.DataFrame, name: str, given: tuple[str, ...] | None, spec: ChartSpec, limit: int
) -> tuple[list[str], int]:
    """The values of an axis, at most `limit` with the largest sums, and how many are left out."""
    if given is not None:
        return [*given], 0
    sums = frame.groupby(name, sort=False)[spec.value].sum()
    kept = {*sums.sort_values(ascending=False, kind="stable").index[:limit]}
    names = sorted(sums.index) if name == "_x" else [*sums.index]
    return [value for value in names if value in kept], len(names) - len(kept)


_KINDS: dict[str, Callable[[pd.DataFrame, ChartSpec, str | None], Any]] = {
    "columns": _columns,
    "rows": _rows_chart,
    "lines": _lines,
    "heat": _heat,
}
