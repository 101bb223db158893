"""Measures as pictures: a frame and how it is to be drawn in, a chart of Altair out, and SVG and PNG of it.

Readable without colour: every number that matters stands at its mark, sites have panels, shapes and dashes of their
own. Drawn on this machine, without a browser or a network.
"""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

import attrs
import pandas as pd

from ..model.errors import UsageError, install_hint, printable
from .measure import BETWEEN_SITES

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from .measure import Measure


_BAR, _INK, _QUIET, _GRID = "#3d6b99", "#222222", "#5b6470", "#dfe3e8"
_WIDTH, _HEIGHT, _ROW_HEIGHT, _SQUARE = 640, 240, 22, 26
_PANEL_WIDTH = 300
# Of letters as wide as a reader's font may have them: where a picture is shown it is not known which there are.
_TITLE_CHAR_PIXELS, _RULE_CHAR_PIXELS, _LABEL_CHAR_PIXELS = 9.4, 7.2, 7.6
_LEAST_WIDTH, _LABELS_WIDTH = 560, 90
_LABEL_PIXELS, _CHAR_PIXELS = 240, 7.2
_FEW_BARS, _MOST_BESIDE = 16, 8
# Beyond these nobody reads a picture: the table has all.
_MOST_ROWS, _MOST_SQUARES, _MOST_PANELS = 40, 30, 24
# Of long names the end tells more: they begin alike.
_END_OF_NAME = "length(datum.label) > 31 ? '…' + slice(datum.label, -30) : datum.label"
_FORMATS = ("png", "svg", "html", "json")


class Chart:
    """A chart in a notebook (SVG: nothing is loaded from anywhere), save() for a file, `altair` to change it."""

    def __init__(self, measure: Measure, rows: pd.DataFrame, drawing: ChartSpec) -> None:
        """A measure's chart() makes it; UsageError without the extra `analysis`."""
        _require_altair()
        self.title = measure.finding
        self.altair: Any = _chart(measure, rows, drawing)

    def to_svg(self) -> str:
        """The picture."""
        import vl_convert

        return str(vl_convert.vegalite_to_svg(self.altair.to_dict(validate=False)))

    def to_png(self, scale: float = 2.0) -> bytes:
        """The picture, `scale` times as many pixels wide."""
        import vl_convert

        return bytes(vl_convert.vegalite_to_png(self.altair.to_dict(validate=False), scale=scale))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it as the name's suffix says: .png, .svg, .html (interactive, whole in one file) or .json."""
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


# --- what all charts have ----------------------------------------------------------------------------------------


def _chart(measure: Measure, rows: pd.DataFrame, drawing: ChartSpec) -> Any:
    """The whole: panels under a title."""
    import altair as alt

    frame = _rows(rows, drawing)
    if len(frame):
        frame = frame.assign(_text=drawing.numbers(frame))
        longest = int(frame["_text"].str.len().max())
        drawing = attrs.evolve(drawing, ends=drawing.ends or _ends(frame, drawing), most_chars=longest)
    parts = _panels(frame, drawing)
    panels = [_KINDS[drawing.kind](part, drawing, title) for title, part in parts[:_MOST_PANELS]]
    more = [f"{len(parts) - len(panels):,} more panels' worth in the table."] if len(parts) > len(panels) else []
    is_wide = drawing.kind == "columns" or len(drawing.x_order or ()) > _MOST_BESIDE
    body = _arranged(panels, is_wide=is_wide) if panels else _nothing()
    width = _breadth(panels, is_wide=is_wide)
    broad = max(width, _LEAST_WIDTH)
    chars, small_chars = int(broad / _TITLE_CHAR_PIXELS), int(broad / _RULE_CHAR_PIXELS)
    title = alt.TitleParams(
        _lines_of(measure.finding, chars),
        subtitle=_lines_of(measure.rule, small_chars) + _lines_of(measure.verdict or "", small_chars) + more,
        anchor="start",
        fontSize=15,
        color=_INK,
        subtitleColor=_QUIET,
        subtitleFontSize=11.5,
        offset=14,
    )
    padding = {"left": 14, "top": 14, "bottom": 14, "right": 14 + broad - width}
    style: dict[str, Any] = {"labelColor": _INK, "titleColor": _QUIET, "labelFontSize": 12, "titleFontSize": 12}
    return (
        body.properties(title=title, background="white", padding=padding)
        .configure_view(stroke=None)
        .configure_axis(domainColor=_GRID, gridColor=_GRID, tickColor=_GRID, titleFontWeight="normal", **style)
        .configure_header(labelFontSize=13, labelColor=_INK)
        .configure_legend(labelFontSize=12, titleFontSize=12)
    )


def _breadth(panels: list[Any], *, is_wide: bool) -> float:
    """About how many pixels wide they are together, labels and all."""
    widths = [panel.width + _LABELS_WIDTH if hasattr(panel, "width") else _WIDTH for panel in panels] or [_WIDTH]
    return float(max(widths) if is_wide else sum(sorted(widths)[-2:]))


def _lines_of(text: str, chars: int) -> list[str]:
    """A line or more for each site where there are several."""
    return [part for line in printable(text).split(BETWEEN_SITES) for part in wrap(line, chars)]


def _ends(frame: pd.DataFrame, drawing: ChartSpec) -> tuple[Any, Any]:
    """Of the axis of the numbers, or of time: the same in all panels, as they are to be compared."""
    if drawing.kind in ("columns", "lines"):
        return frame[drawing.x].min().isoformat(), frame[drawing.x].max().isoformat()
    return 0, frame[drawing.value or drawing.x].max() or 1


def _rows(rows: pd.DataFrame, drawing: ChartSpec) -> pd.DataFrame:
    """The frame as it is drawn: columns that are rows of the picture made so."""
    frame = pd.DataFrame(rows)
    if drawing.melt is not None:
        value, name = (drawing.value, drawing.x) if drawing.kind == "heat" else (drawing.x, drawing.split)
        others = [column for column in ("site", drawing.y) if column in frame]
        frame = frame.melt(others, [*drawing.melt], var_name=name, value_name=value)
        frame[name] = frame[name].map(drawing.melt)
    texts = [name for name in frame if pd.api.types.is_string_dtype(frame[name])]
    # A character that XML does not know would have the library that draws end the whole process.
    return frame.assign(**{name: frame[name].map(printable, na_action="ignore") for name in texts})


def _panels(frame: pd.DataFrame, drawing: ChartSpec) -> list[tuple[str | None, pd.DataFrame]]:
    """A panel each site, and each value of `split`; lines share one."""
    by = ["site"] if drawing.is_by_site and drawing.kind != "lines" and frame["site"].nunique() > 1 else []
    by += [drawing.split] if drawing.split else []
    if not by or not len(frame):
        return [(None, frame)] if len(frame) else []
    return [(", ".join(map(str, keys)), part) for keys, part in frame.groupby(by, sort=False)]


def _arranged(panels: list[Any], *, is_wide: bool) -> Any:
    import altair as alt

    if len(panels) == 1:
        return panels[0]
    return alt.vconcat(*panels) if is_wide else alt.concat(*panels, columns=2)


def _nothing() -> Any:
    import altair as alt

    return (
        alt.Chart(alt.Data(values=[{"text": "nothing to draw"}]), width=_WIDTH, height=40)
        .mark_text(color=_QUIET, align="left")
        .encode(text="text:N", x=alt.value(0))
    )


def _data(frame: pd.DataFrame) -> Any:
    """Rows as JSON has them: instants and nulls too."""
    import altair as alt

    return alt.Data(values=[*map(_plain, frame.to_dict("records"))])


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {str(name): _value(value) for name, value in row.items()}


def _value(value: Any) -> Any:
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    if pd.isna(value):
        return None
    return value.item() if hasattr(value, "item") else value


def _panel(frame: pd.DataFrame, title: str | None, width: float, height: float) -> Any:
    """One without marks as yet."""
    import altair as alt

    chart = alt.Chart(_data(frame), width=width, height=height)
    if title is None:
        return chart
    style = {"anchor": "start", "fontSize": 13, "color": _INK, "fontWeight": "normal"}
    return chart.properties(title=alt.TitleParams(title, subtitle=[], **style))


# --- the kinds ---------------------------------------------------------------------------------------------------


def _columns(frame: pd.DataFrame, drawing: ChartSpec, title: str | None) -> Any:
    """Bars over time, with their numbers where there are few."""
    import altair as alt

    few = len(frame) <= _FEW_BARS
    chart = _panel(frame, title, _WIDTH, _HEIGHT if title is None else _HEIGHT // 2)
    width = max(1.0, min(28.0, 0.7 * _WIDTH / _periods(frame[drawing.x], drawing)))
    axis = _time_axis(min(len(frame), 8))
    x = alt.X(f"{drawing.x}:T", title=drawing.x_title, axis=axis, scale=_time(drawing))
    y = alt.Y(f"{drawing.y}:Q", title=drawing.y_title, axis=alt.Axis(tickCount=4, tickMinStep=1, format="~s"))
    bars = chart.mark_bar(color=_BAR, width=width).encode(x=x, y=y)
    if not few:
        return bars
    return bars + chart.mark_text(dy=-7, color=_INK).encode(x=x, y=y, text="_text:N")


def _lying(frame: pd.DataFrame, drawing: ChartSpec, title: str | None) -> Any:
    """Bars below each other, each with its number."""
    import altair as alt

    every = [*frame[drawing.y].drop_duplicates()]
    order = every[: min(drawing.most or _MOST_ROWS, _MOST_ROWS)]
    left_out = len(every) - len(order)
    frame = frame[frame[drawing.y].isin(order)]
    width = _WIDTH if title is None else _PANEL_WIDTH
    chart = _panel(frame, title, width, _ROW_HEIGHT * max(len(order), 1))
    # Beyond the longest bar there is room for its number, in all panels alike.
    beyond = min(_CHAR_PIXELS * drawing.most_chars + 8, 0.66 * width)
    end = (drawing.ends or (0, 1))[1]
    scale = alt.Scale(domain=[0, end * width / (width - beyond)], nice=False)
    name = drawing.x_title if left_out <= 0 else f"{drawing.x_title} ({left_out:,} more rows in the table)"
    x = alt.X(f"{drawing.x}:Q", title=name, scale=scale, axis=alt.Axis(grid=False, labels=False, ticks=False))
    labels = alt.Axis(labelExpr=_END_OF_NAME, labelLimit=_LABEL_PIXELS, ticks=False, domain=False)
    y = alt.Y(f"{drawing.y}:N", title=drawing.y_title, sort=order, axis=labels)
    bars = chart.mark_bar(color=_BAR, height={"band": 0.7}).encode(x=x, y=y)
    return bars + chart.mark_text(align="left", dx=4, color=_INK).encode(x=x, y=y, text="_text:N")


def _lines(frame: pd.DataFrame, drawing: ChartSpec, title: str | None) -> Any:
    """A line a site, each with a dash and a shape of its own, and with its name and number at the end."""
    import altair as alt

    several = frame["site"].nunique() > 1
    last = frame.groupby("site", sort=False).tail(1)
    last = last.assign(_text=last["site"] + " " + last["_text"] if several else last["_text"])
    x = alt.X(f"{drawing.x}:T", title=drawing.x_title, axis=_time_axis(8), scale=_time(drawing))
    y = alt.Y(f"{drawing.y}:Q", title=drawing.y_title, axis=alt.Axis(tickCount=5, format=",d", tickMinStep=1))
    chart = alt.Chart(_data(frame), width=_WIDTH, height=_HEIGHT).encode(x=x, y=y)
    dash = {"strokeDash": alt.StrokeDash("site:N", legend=None)} if several else {}
    shape = {"shape": alt.Shape("site:N", legend=None)} if several else {}
    lines = chart.mark_line(color=_BAR).encode(detail="site:N", **dash)
    points = chart.mark_point(color=_BAR, filled=True, size=60, opacity=1).encode(detail="site:N", **shape)
    ends = alt.Chart(_data(last)).mark_text(align="left", dx=8, color=_INK).encode(x=x, y=y, text="_text:N")
    return lines + points + ends


def _time_axis(ticks: int) -> Any:
    """Names that would touch are left out, also in a wider font."""
    import altair as alt

    return alt.Axis(grid=False, tickCount=ticks, labelOverlap=True, labelSeparation=16)


def _periods(starts: pd.Series[Any], drawing: ChartSpec) -> float:
    """How many bars there would be from end to end."""
    first, last = map(pd.Timestamp, drawing.ends or (starts.min(), starts.max()))
    step = starts.sort_values().diff().min()
    return 1.0 if pd.isna(step) else max(float((last - first) / step), 1.0) + 1


def _time(drawing: ChartSpec) -> Any:
    """From end to end, with room for half a bar."""
    import altair as alt

    return alt.Scale(domain=drawing.ends, padding=16, type="utc") if drawing.ends else alt.Scale(type="utc")


def _heat(frame: pd.DataFrame, drawing: ChartSpec, title: str | None) -> Any:
    """A square for each two, the darker the more, with its number."""
    import altair as alt

    frame = frame.assign(
        _x=frame[drawing.x].astype(object).map(str, na_action="ignore").fillna(drawing.missing or ""),
        _y=frame[drawing.y].map(str),
    )
    x_order, x_more = _largest(frame, "_x", drawing.x_order, drawing, _MOST_SQUARES)
    y_order, y_more = _largest(frame, "_y", drawing.y_order, drawing, drawing.most or _MOST_ROWS)
    frame = frame[frame["_y"].isin(y_order) & frame["_x"].isin(x_order)]
    end = float((drawing.ends or (0, 1))[1])
    longest = max(map(len, x_order), default=0) if len(x_order) <= _MOST_BESIDE else 0
    square = max(_SQUARE, min(96, _WIDTH // (2 * max(len(x_order), 1))), int(longest * _LABEL_CHAR_PIXELS) + 8)
    chart = _panel(frame, title, square * len(x_order), 30 * len(y_order))
    axis = alt.Axis(labelAngle=0, ticks=False, orient="bottom")
    told = [drawing.x_title or "", *([f"{x_more:,} more columns in the table"] if x_more else [])]
    told += [f"{y_more:,} more rows in the table"] if y_more else []
    x = alt.X("_x:N", title=", ".join(filter(None, told)), axis=axis, scale=alt.Scale(domain=x_order))
    labels = alt.Axis(labelLimit=_LABEL_PIXELS, ticks=False)
    y = alt.Y("_y:N", title=drawing.y_title, axis=labels, scale=alt.Scale(domain=y_order))
    scale = alt.Scale(domain=[0, end], range=["#f3f6f9", "#2b557f"])
    squares = chart.mark_rect(stroke="white").encode(
        x=x, y=y, color=alt.Color(f"{drawing.value}:Q", scale=scale, legend=None)
    )
    dark = alt.condition(f"datum[{drawing.value!r}] > {end / 2}", alt.value("white"), alt.value(_INK))
    return squares + chart.mark_text(fontSize=11).encode(x=x, y=y, text="_text:N", color=dark)


def _largest(
    frame: pd.DataFrame, name: str, given: tuple[str, ...] | None, drawing: ChartSpec, most: int
) -> tuple[list[str], int]:
    """The values of an axis, those with most where there are too many, and how many are left out."""
    if given is not None:
        return [*given], 0
    sums = frame.groupby(name, sort=False)[drawing.value].sum()
    kept = {*sums.sort_values(ascending=False, kind="stable").index[:most]}
    names = sorted(sums.index) if name == "_x" else [*sums.index]
    return [each for each in names if each in kept], len(names) - len(kept)


_KINDS: dict[str, Callable[[pd.DataFrame, ChartSpec, str | None], Any]] = {
    "columns": _columns,
    "rows": _lying,
    "lines": _lines,
    "heat": _heat,
}


# ----------------------------------------------------------------------------------------------------
# How a measure is drawn, as data: which column is where, and what the axes are called. charts.py draws it.


Kind = Literal["columns", "rows", "lines", "heat"]


@attrs.frozen
class ChartSpec:
    """`columns`: bars over time. `rows`: bars below each other. `lines`: over time. `heat`: a number in each square.

    `x` and `y` are the columns of the frame, `x_title` and `y_title` what they mean, with the unit. `text` is the
    column whose values stand at the marks, without it their numbers; `value` that of the numbers of a heat map.
    `split` has a picture of its own for each of its values, beside those of each site. `x_order` and `y_order` are
    all the values of a heat map's axes, where these are not those of the rows. `missing` is
    what null is called. `ends` are those of the axis. `melt`: columns that are rows of the
    picture, under these names: `x` of a heat map, else `split`. No more than `most` values of `y` are drawn.
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
    most: int | None = None
    is_by_site: bool = True
    most_chars: int = 0  # of the numbers

    def numbers(self, frame: pd.DataFrame) -> pd.Series[str]:
        """What stands at the marks."""
        column = {"heat": self.value, "rows": self.x}.get(self.kind) or self.y
        shown = frame[column].map(lambda number: format(number, self.format), na_action="ignore").fillna("")
        return shown if self.text is None else shown.str.cat(frame[self.text], sep="  ").str.rstrip()
