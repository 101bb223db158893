"""Charts of the rows of one site, and of pairs of sites: bars, lines and heat maps.

A prepared frame, its ChartSpec and a Canvas in; a Drawing out. Readable without colour: each mark has its number
beside it, or an axis.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any

import altair as alt
import attrs
import pandas as pd

from .chart_spec import AXIS_LABEL, LABEL_CHAR_PIXELS, Drawing, label_width
from .periods import period_count, period_ends, period_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .chart_spec import Canvas, ChartSpec

WIDTH, _HEIGHT, _ROW_HEIGHT, _SQUARE = 640, 240, 22, 30
_MAX_BARS_WITH_NAMES, _BAR_STEP = 16, 64
# More than this is unreadable in a chart: the table has all rows.
MAX_ROWS, MAX_SQUARES = 40, 30
_LABEL_PIXELS = 260
_LINE_GAP = 15  # between the texts at the ends of two lines
_LEAST_PREFIX = 6  # a shorter one is not worth its explanation

# --- bars over time ----------------------------------------------------------------------------------------------


def columns(frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas) -> Drawing:
    """Vertical bars over time: a few with their names and numbers, many on an axis of time."""
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
    frame = frame.assign(_name=[period_name(start, spec.period or "") for start in frame[spec.x]])
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
    """The look of whole bars, whose solid part is drawn over them."""
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
    """Horizontal bars, each with its number; a panel per value of `split`, side by side."""
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
    """The sentence that so many are in the table only; none for 0."""
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
    """The rows as data of an Altair chart, in types of JSON."""
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
