"""Charts of measures: Altair describes them, vl-convert draws them locally, without a browser or network access.

In: the rows of a measure, and a ChartSpec. Out: an Altair chart, which lays out its axes, panels and texts: no width of
a text is computed here. Readable without colour: each mark has its number beside it, or an axis.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

import altair as alt
import attrs
import pandas as pd
import vl_convert

from ..model.errors import UsageError, printable
from .chart_spec import cell_number, cell_percent, cell_points
from .notes import SITE_SEPARATOR
from .periods import period_count, period_ends

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from .chart_spec import Canvas, ChartSpec

_FORMATS = ("png", "svg", "html", "json")
_VEGA_LITE = f"application/vnd.vegalite.v{alt.SCHEMA_VERSION[1]}+json"
_MAX_NOTEBOOK_CHARS = 200_000  # of a description with tooltips in a notebook, which has the SVG, too


class Chart:
    """A chart of a Measure: shown in a notebook without external resources; save() writes it to a file.

    `altair` is the altair object, to be customised.
    """

    def __init__(
        self, rows: pd.DataFrame, spec: ChartSpec, canvas: Canvas, *, title: str, notes: Sequence[str] = ()
    ) -> None:
        """Created by Measure.chart(). `notes` stand below the title, without which the background is transparent."""
        self.title = printable(title)
        self.altair: Any = _chart(rows, spec, title, notes, canvas)

    def to_svg(self) -> str:
        """The chart as SVG without styles, scripts, links and ids: it may stand in any page."""
        svg = str(vl_convert.vegalite_to_svg(_with_larger_fonts(self.altair.to_dict(validate=False))))
        return _FONT_SIZE.sub(lambda found: f"{found[1]}{float(found[2]) / _FONT_FACTOR:g}", svg)

    def to_png(self, scale: float = 2.0) -> bytes:
        """The chart as PNG, with `scale` pixels per unit of width."""
        return bytes(vl_convert.svg_to_png(self.to_svg(), scale=scale))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file in the format of its suffix: .png, .svg, .html (interactive, self-contained) or .json."""
        file = Path(path)
        kind = file.suffix.lower().lstrip(".")
        if kind not in _FORMATS:
            raise UsageError(f"{file}: a chart is saved as {', '.join(_FORMATS)}")
        if kind in ("png", "svg"):
            file.write_bytes(self.to_png() if kind == "png" else self.to_svg().encode())
        else:
            self.altair.save(str(file), format=kind, **({"inline": True} if kind == "html" else {}))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """As Vega-Lite too, which JupyterLab draws with tooltips; others show the SVG."""
        shown = {"image/svg+xml": self.to_svg(), "text/plain": self.title}
        described = self.altair.to_dict(validate=False)
        return shown | ({_VEGA_LITE: described} if len(json.dumps(described)) <= _MAX_NOTEBOOK_CHARS else {})

    def __repr__(self) -> str:
        return f"<Chart: {self.title}>"


# An SVG is laid out here, but its texts are drawn in a font of the viewer, which may be wider (DejaVu Sans by 15% than
# Arial): they get the space of larger ones. A "<" in the text of a site is escaped, so no text can match.
_FONT_FACTOR = 1.25
_FONT_SIZE = re.compile(r'(<text [^<>]*font-size=")([0-9.]+)')
_FONT = "system-ui, Segoe UI, Roboto, Helvetica, Arial, sans-serif"


def _with_larger_fonts(part: Any, name: str = "") -> Any:
    if isinstance(part, list):
        return [_with_larger_fonts(each) for each in part]
    if isinstance(part, dict):
        return {name: _with_larger_fonts(value, name) for name, value in part.items()}
    return part * _FONT_FACTOR if name.lower().endswith("fontsize") else part


# --- layout ------------------------------------------------------------------------------------------------------

_WIDTH = 640  # of the marks
_TITLE_CHARS, _NOTE_CHARS = 84, 112  # of a line
_MAX_SITES, _MAX_PANELS, _MAX_COLUMNS, _MAX_RANKS = 60, 6, 24, 5
_MAX_RATIO = 10  # of the largest numbers of two sites on one scale
_MAX_MOMENTS = 16  # that have a tick each
_TEXT_PIXELS = 14  # of the number of a bar
_ROW_PIXELS, _BAR_PIXELS, _LEAST_SQUARE, _MOST_SQUARE, _CHAR_PIXELS = 22, 76, 30, 128, 7
_SHADES = [0.04, 0.45]  # opacities; at the second one ink has a contrast of 4.5 to 1 in each theme
# Names that differ at their end are cut at the start: those of one site begin alike.
_MAX_LABEL_CHARS, _MAX_RANK_CHARS = 40, 14
_LABEL = f"length(datum.label) > {_MAX_LABEL_CHARS} ? '…' + slice(datum.label, {1 - _MAX_LABEL_CHARS}) : datum.label"
_NAMES: dict[str, Any] = {"labelExpr": _LABEL, "labelLimit": 320, "labelPadding": 5, "ticks": False, "domain": False}


def _chart(rows: pd.DataFrame, spec: ChartSpec, finding: str, notes: Sequence[str], canvas: Canvas) -> Any:
    colors = canvas.colors
    x_title = spec.x_title and printable(spec.x_title)  # which may name sites
    spec = attrs.evolve(spec, sites=tuple(map(printable, spec.sites)), x_title=x_title)
    drawn, own_notes = _draw(_printable(rows, spec), spec, canvas)
    small = [line for note in (*notes, *own_notes) for line in _wrap(note, _NOTE_CHARS)]
    title = alt.TitleParams(_wrap(finding, _TITLE_CHARS), subtitle=small)
    if not finding:
        title = alt.TitleParams(small, fontSize=11, fontWeight="normal", color=colors.quiet)
    text = {"labelColor": colors.ink, "labelFontSize": 11, "titleColor": colors.quiet, "titleFontSize": 11}
    subtitle = {"subtitleColor": colors.quiet, "subtitleFontSize": 11, "subtitlePadding": 6}
    lines = {"domainColor": colors.line, "gridColor": colors.line, "tickColor": colors.line}
    return (
        drawn.properties(padding=12, title=title)
        # Without the descriptions of marks for screen readers, which are longer than the marks: the title is the text.
        .configure(aria=False, font=_FONT, background=colors.card if finding else "transparent")
        .configure_title(anchor="start", frame="bounds", offset=14, color=colors.ink, fontSize=14, **subtitle)
        .configure_view(stroke=None)
        .configure_axis(titleFontWeight="normal", titlePadding=8, **text, **lines)
        .configure_header(title=None, labelFontWeight="bold", labelLimit=240, **text)
        .configure_legend(title=None, orient="top", symbolType="square", symbolStrokeColor=colors.accent, **text)
        .configure_text(color=colors.ink, fontSize=11)
        .configure_mark(color=colors.accent)
    )


def _wrap(text: str, chars: int) -> list[str]:
    """Lines of at most `chars` characters; each site begins one."""
    lines = printable(text).split(SITE_SEPARATOR)
    return [part for line in lines for part in wrap(line, chars, break_on_hyphens=False)]


def _printable(rows: pd.DataFrame, spec: ChartSpec) -> pd.DataFrame:
    """The rows with printable texts: vl-convert aborts the process on a character that XML does not allow."""
    frame = pd.DataFrame(rows)
    frame = frame[[name for name in frame if name in (*spec.columns, spec.share)]]
    for name, column in frame.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            values = dict.fromkeys(map(printable, map(str, column.cat.categories)))
            frame[name] = pd.Categorical(column.astype(str).map(printable), [*values], ordered=True)
        elif pd.api.types.is_string_dtype(column):
            frame[name] = column.map(printable, na_action="ignore")
    return frame


def _data(frame: pd.DataFrame) -> Any:
    rows = frame.to_dict("records")
    return alt.Data(values=[{str(name): _json_value(value) for name, value in row.items()} for row in rows])


def _json_value(value: Any) -> Any:
    if pd.isna(value):
        return None
    if isinstance(value, pd.Timestamp):  # a time without a zone would be one of the viewer's
        return value.tz_localize("UTC").isoformat() if value.tz is None else value.isoformat()
    return value.item() if hasattr(value, "item") else value


def _left_out(count: int, noun: str) -> tuple[str, ...]:
    return (f"{count:,} more {noun}{'s' * (count != 1)} in the table.",) if count > 0 else ()


# --- one site, and several ---------------------------------------------------------------------------------------

Notes = tuple[str, ...]  # what to say of a chart
_BARS_OF_SITES: dict[str, Any] = {"kind": "rows", "y": "site", "max_rows": _MAX_SITES, "is_by_site": False}


def _draw(frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas) -> tuple[Any, Notes]:
    if spec.group:  # with its site if there are several
        names = frame[spec.group].astype(str)
        frame = frame.assign(site=names if frame["site"].nunique() == 1 else frame["site"].str.cat(names, sep=" "))
    if spec.kind == "counts":
        counts = frame.groupby(["site", spec.y]).size().sort_values(ascending=False, kind="stable")
        frame = counts.rename("rows").reset_index()
        spec = attrs.evolve(spec, kind="rows", x="rows")
    if not len(frame):
        nothing = alt.Chart(alt.Data(values=[{}]), width=canvas.width or _WIDTH, height=40)
        return nothing.mark_text(text="nothing to draw", color=canvas.colors.quiet), ()
    if spec.kind == "lines" and frame[spec.x].nunique() == 1:  # a line has two ends
        spec = attrs.evolve(spec, x=spec.y, x_title=spec.y, **_BARS_OF_SITES)
    sizes = _sizes(frame, spec)
    frame = _melted(frame, spec)
    sites = [*dict.fromkeys([*sizes.index, *spec.sites])] if spec.is_by_site else []
    limit = canvas.max_rows(_MAX_PANELS if spec.group and spec.kind in ("columns", "lines") else _MAX_SITES)
    more, sites = _left_out(len(sites) - limit, spec.group or "site"), sites[:limit] if len(sites) > 1 else []
    frame = frame[frame["site"].isin(sites)] if sites else frame
    if spec.kind == "heat" or (spec.across and sites):
        drawn, notes = _matrix(frame, spec, canvas, sites, sizes)
    elif spec.kind == "rows" and len(sites) > _MAX_PANELS:
        drawn, notes = _ranks(frame, sites, spec, canvas)
    else:
        drawn, notes = _panels(frame, sites, spec, canvas)
    return drawn, (*notes, *more)


def _sizes(frame: pd.DataFrame, spec: ChartSpec) -> pd.Series[Any]:
    """The size of each site, the largest first."""
    if spec.split:  # each of its values has all pages
        frame = frame[frame[spec.split] == frame[spec.split].iloc[0]]
    sizes = frame.groupby("site", sort=False)[spec.size].sum().sum(axis=1)
    return sizes.sort_values(ascending=False, kind="stable")


def _melted(frame: pd.DataFrame, spec: ChartSpec) -> pd.DataFrame:
    """Columns in `melt` as rows; and the denominator in a column `_whole`."""
    if spec.whole:
        frame = frame.assign(_whole=frame[[*spec.whole]].sum(axis=1))
    if not spec.melt:
        return frame
    name, number = spec.melted
    others = [name for name in frame if name not in spec.melt]
    frame = frame.melt(others, [*spec.melt], name, number)
    return frame.assign(**{str(name): pd.Categorical(frame[name], spec.melt, ordered=True)})


def _panels(frame: pd.DataFrame, sites: Sequence[str], spec: ChartSpec, canvas: Canvas) -> tuple[Any, Notes]:
    """Marks of one site, or a panel for each site, one below the other, also for one without a row.

    Each has a scale of its own if one would look flat because another site is much larger.
    """
    chart, frame, notes = _MARKS[spec.kind](frame, spec, canvas, max(len(sites), 1))
    if not sites and spec.split is None:
        return chart.properties(data=_data(frame)), notes
    frame = frame.assign(_panel=frame["site" if sites else spec.split])
    empty = [site for site in sites if site not in {*frame["site"]}]
    nothing = [{"site": site, "_panel": f"{site}: nothing to draw", "_name": ""} for site in empty]
    frame = pd.concat([frame, pd.DataFrame(nothing)]) if empty else frame
    number, channel = (spec.x, "x") if spec.kind == "rows" else (spec.y, "y")
    most = frame.groupby("site")[number].max()
    is_alike = spec.ends is not None or not (most * _MAX_RATIO < most.max())[most > 0].any()
    order = [*frame["_panel"].unique()]
    order.sort(key=lambda name: sites.index(name) if name in sites else len(sites))
    row = alt.Row("_panel:N", sort=order, header=alt.Header(labelAngle=0, labelAlign="left"))
    facet = {"row": row} if sites else {"column": alt.Column("_panel:N", sort=order)}
    drawn = chart.facet(data=_data(frame), spacing=16, **facet)
    scales = {} if is_alike else {channel: "independent"}
    scales |= {"y": "independent"} if spec.kind == "rows" else {}
    own = () if is_alike else (f"Each {spec.group or 'site'} is on its own scale.",)
    return drawn.resolve_scale(**scales), (*notes, *own)


# --- bars and lines ----------------------------------------------------------------------------------------------


def _columns(frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas, panels: int) -> tuple[Any, pd.DataFrame, Notes]:
    """Bars over time, with the number of each if they are few, else of the largest."""
    frame = frame[frame[spec.y] > 0].sort_values(spec.x, kind="stable", ignore_index=True)
    frame[spec.x] = frame[spec.x].dt.tz_localize(None)  # as local times
    count = period_count(frame[spec.x], spec.period)
    ends = period_ends(frame[spec.x], spec.period)
    middles = frame[spec.x] + (ends - frame[spec.x]) / 2
    is_below = frame[spec.source] == spec.below if spec.below else pd.Series(False, frame.index)
    period = [frame["site"], frame[spec.x], is_below]  # which has a row for each source
    totals = frame.groupby(period)[spec.y].transform("sum")
    is_few = count <= _MAX_MOMENTS and panels == 1
    is_largest = frame.index.isin(totals.groupby([frame["site"], is_below]).idxmax())
    has_text = ~pd.concat(period, axis=1).duplicated() & (is_few | is_largest)
    texts = totals.map("{:,}".format).where(has_text, "")
    sign = 1 - 2 * is_below
    frame = frame.assign(_end=ends, _middle=middles, _total=totals * sign, _text=texts)
    frame[spec.y] *= sign
    pattern = {"month": "%Y-%m", "quarter": "%Y-Q%q", "year": "%Y"}.get(spec.period, "%Y-%m-%d")
    ticks = middles if spec.period != "week" else frame[spec.x]  # a week is named after its first day
    scale = alt.Scale(type="utc", domain=[_json_value(frame[spec.x].min()), _json_value(ends.max())])
    x = alt.X(
        spec.x,
        type="temporal",
        bin="binned",
        title=spec.x_title,
        axis=_time_axis(ticks, pattern, "parity", offset=_TEXT_PIXELS if spec.below else 0),
        scale=scale,
    )
    width = canvas.width or min(_WIDTH, _BAR_PIXELS * count)
    base = alt.Chart(width=width, height=canvas.panel_height(panels)).encode(x=x, tooltip=_tooltips(spec))
    y = alt.Y(spec.y, type="quantitative", title=None, stack="zero", axis=_number_axis(4 if panels < 4 else 2, spec))
    gap = 3 if count <= _MAX_MOMENTS * 2 else 0
    bars = base.mark_bar(stroke=canvas.colors.accent, strokeWidth=0.6, binSpacing=gap).encode(x2="_end:T", y=y)
    if spec.source and frame[spec.source].nunique() > 1:
        source = _used(frame[spec.source])
        names, last = [*source.cat.categories], frame[spec.source].astype("category").cat.categories[-1]
        is_hollow = bool(names[-1] == last)
        fills = [canvas.colors.accent, canvas.colors.quiet, canvas.colors.line][: len(names) - is_hollow]
        shades = alt.Scale(domain=names, range=[*fills, *["transparent"] * is_hollow])
        frame = frame.assign(_place=source.cat.codes)
        bars = bars.encode(fill=alt.Fill(f"{spec.source}:N", scale=shades), order="_place:Q")
    top = alt.Y("_total:Q", title=None)
    over, under = (
        base.mark_text(dy=dy)
        .encode(x="_middle:T", y=top, text="_text:N")
        .transform_filter(f"datum._text && datum._total {side} 0")
        for dy, side in ((-7, ">"), (8, "<"))
    )
    numbers = over + under if spec.below else over
    return bars + numbers + _NO_MARK.encode(x=alt.value(0), y=_ONE), frame, ()


def _lines(frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas, panels: int) -> tuple[Any, pd.DataFrame, Notes]:
    """A line over time, with its last number."""
    frame = frame.sort_values(spec.x, kind="stable", ignore_index=True)
    frame["_text"] = frame[spec.y].map("{:,}".format).where(~frame.duplicated("site", keep="last"), "")
    moments = frame[spec.x].drop_duplicates()
    several_a_day = moments.dt.normalize().duplicated().any()
    pattern = "%Y-%m-%d %H:%M" if several_a_day and len(moments) <= _MAX_MOMENTS else "%Y-%m-%d"
    scale = alt.Scale(type="utc", domain=[_json_value(moments.min()), _json_value(moments.max())], padding=8)
    x = alt.X(spec.x, type="temporal", title=spec.x_title, axis=_time_axis(moments, pattern, "greedy"), scale=scale)
    y = alt.Y(spec.y, type="quantitative", title=None, axis=_number_axis(4 if panels < 4 else 2, spec))
    base = alt.Chart(width=canvas.width or _WIDTH, height=canvas.panel_height(panels)).encode(x=x, y=y)
    line = base.mark_line(point={"size": 24}).encode(tooltip=_tooltips(spec))
    numbers = base.mark_text(align="left", dx=8).encode(text="_text:N").transform_filter("datum._text")
    return line + numbers + _NO_MARK.encode(x=alt.value(0), y=_ONE), frame, ()


def _time_axis(
    moments: pd.Series[Any], pattern: str, overlap: Literal["parity", "greedy"], offset: int = 0
) -> alt.Axis:
    """A few moments have a tick each. Where labels overlap, every other one goes, or as few as possible."""
    shown = [_json_value(moment) for moment in moments.drop_duplicates()]
    ticks = {"values": shown} if len(shown) <= _MAX_MOMENTS else {"tickCount": 8}
    labels = {"labelOverlap": overlap, "labelSeparation": 8, "labelFlush": False}
    return alt.Axis(grid=False, format=pattern, offset=offset, **labels, **ticks)


def _number_axis(ticks: int, spec: ChartSpec) -> Any:
    if spec.format == "points":
        return alt.Axis(tickCount=ticks, labelExpr="format(100 * datum.value, ',.1~f')", domain=False, ticks=False)
    if spec.ends:
        return alt.Axis(tickCount=ticks, format=".0%" if "%" in spec.format else ",~f", domain=False, ticks=False)
    # Of a scale from 0 to 1 tickMinStep allows 0.5.
    whole = {"condition": {"test": "datum.value % 1", "value": 0}, "value": 1}
    text = "format(abs(datum.value), ',d')" if spec.below else "datum.label"
    label = f"datum.value % 1 ? '' : {text}"
    return alt.Axis(tickCount=ticks, format=",d", domain=False, ticks=False, labelExpr=label, gridOpacity=whole)


# No mark, but a scale that reaches 1 in each panel: one from 0 to 0 has 0 in its middle.
_NO_MARK = alt.Chart(alt.Data(values=[{}])).mark_point(opacity=0)
_ONE = alt.datum(1, type="quantitative")


def _rows(frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas, panels: int) -> tuple[Any, pd.DataFrame, Notes]:
    """Horizontal bars, each with its number."""
    limit = canvas.max_rows(spec.max_rows) if panels == 1 else max(5, 24 // panels)
    shown = frame.groupby(["site", *([spec.split] if spec.split else [])], sort=False).head(limit)
    more = _left_out(len(frame) - len(shown), "row")
    names, texts = shown[spec.y].astype(str), spec.write(shown[spec.x])
    if spec.depth:
        names = shown[spec.depth].map(lambda depth: "› " * depth) + names
    if spec.text:
        texts = texts.str.cat(shown[spec.text].fillna(""), sep="  ").str.rstrip()
    # An unknown number has no bar: its text says so.
    known = shown[spec.x].fillna(0)
    shown = shown.assign(_name=names, _text=texts, _right=known.clip(lower=0), **{spec.x: known})
    scale = alt.Scale(domain=[*spec.ends]) if spec.ends else alt.Scale(nice=False)
    x = alt.X(f"{spec.x}:Q", title=spec.x_title, scale=scale, axis=_number_axis(3 if spec.split else 5, spec))
    y = alt.Y("_name:N", sort=None, title=None, axis=alt.Axis(**_NAMES))
    width = (canvas.width or 420) // (2 if spec.split else 1)
    base = alt.Chart(width=width, height=alt.Step(canvas.row_height(len(shown), _ROW_PIXELS))).encode(x=x, y=y)
    bars = base.mark_bar(height={"band": 0.7}).encode(tooltip=_tooltips(spec))
    numbers = base.mark_text(align="left", dx=4, limit=480).encode(x="_right:Q", text="_text:N")
    least = alt.layer() if spec.ends else _NO_MARK.encode(x=_ONE, y=alt.value(0))
    return bars + numbers + least, shown, more


def _tooltips(spec: ChartSpec) -> list[str]:
    names = dict.fromkeys(filter(None, ("site", spec.x, spec.y, spec.source, spec.text)))
    return [f"{name}:{'T' if name == spec.x and spec.kind != 'rows' else 'N'}" for name in names]


_MARKS = {"columns": _columns, "lines": _lines, "rows": _rows}

# --- squares -----------------------------------------------------------------------------------------------------


def _matrix(
    frame: pd.DataFrame, spec: ChartSpec, canvas: Canvas, sites: list[str], sizes: pd.Series[Any] | None
) -> tuple[Any, Notes]:
    """A square for each pair of x and y; or of several sites, for each site and value."""
    drawn, hidden, rows = [], 0, 0
    is_share = spec.format == "%" or bool(sites)
    weight = "_whole" if is_share and spec.whole else spec.part
    for title, column, part in _matrices(frame, spec) if sites else [(spec.x_title, frame[spec.x], frame)]:
        y = part["site" if sites else spec.y]
        cells = pd.DataFrame({"_x": _names(column), "_y": _names(y), "_value": part[spec.part], "_sum": part[weight]})
        cells = cells.groupby(["_y", "_x"], sort=False).sum().reset_index()
        xs = _order(column, cells.groupby("_x", sort=False)["_sum"].sum(), _MAX_COLUMNS, spec.missing)
        ys = sites or _order(y, cells.groupby("_y", sort=False)["_sum"].sum(), canvas.max_rows(spec.max_rows), "")
        if weight == "_whole":
            cells["_value"] /= cells["_sum"]
        elif sites:
            cells["_value"] /= cells.groupby("_y")["_value"].transform("sum")
        if not sites:  # values of both axes, such as languages, have the same order on both
            xs = [*(name for name in ys if name in xs), *(name for name in xs if name not in ys)]
            once = cells[cells["_x"] == xs[0]] if spec.melt else cells  # each of the columns has the same whole
            sizes = once.groupby("_y")["_sum"].sum() if weight == "_whole" else None
            rows = y.nunique() - len(ys)
        hidden += len({*cells["_x"]} - {*xs})
        cells["_text"] = cells["_value"].map(cell_percent if is_share else cell_number, na_action="ignore")
        drawn.append(_squares(cells, xs, ys, title, spec.ends, canvas, sizes))
    notes = (*_left_out(hidden, "column"), *_left_out(rows, "row"))
    notes = (f"In the squares: {spec.cells}.", *notes) if sizes is not None else notes
    return drawn[0] if len(drawn) == 1 else alt.vconcat(*drawn, spacing=16), notes


def _matrices(frame: pd.DataFrame, spec: ChartSpec) -> Iterator[tuple[str, pd.Series[Any], pd.DataFrame]]:
    for column, title in (spec.across or {}).items():
        for name, part in frame.groupby(spec.split, sort=False) if spec.split else [(title, frame)]:
            yield str(name), _used(part[column]) if spec.split else part[column], part


def _used(column: pd.Series[Any]) -> pd.Series[Any]:
    return column.astype("category").cat.remove_unused_categories()  # rows of a user may have texts


def _ranks(frame: pd.DataFrame, sites: list[str], spec: ChartSpec, canvas: Canvas) -> tuple[Any, Notes]:
    """A row for each site, and a square for each of its largest numbers, with its name."""
    is_share = spec.share in frame
    numbers = frame[spec.share if is_share else spec.x].astype(float).fillna(0)
    cells = frame.assign(_y=frame["site"], _value=numbers).sort_values("_value", ascending=False, kind="stable")
    place = cells.groupby("site").cumcount() + 1
    write = cell_points if spec.format == "points" else cell_percent if is_share else cell_number
    texts, names = cells["_value"].map(write), cells[spec.y].astype(str)
    names = names.where(names.str.len() <= _MAX_RANK_CHARS, "…" + names.str[1 - _MAX_RANK_CHARS :])
    cells = cells.assign(_x=place.astype(str), _text=texts + " " + names)
    xs = [str(number + 1) for number in range(min(int(place.max()), _MAX_RANKS))]
    return _squares(cells, xs, sites, f"the largest of each site: {spec.x_title}", None, canvas, None), ()


def _names(column: pd.Series[Any]) -> pd.Series[str]:
    return column.astype(object).map(str, na_action="ignore").fillna("none").astype(str)


def _order(column: pd.Series[Any], sums: pd.Series[Any], limit: int, last: str) -> list[str]:
    """The values of an axis: categories in their order, whole numbers without a gap, others the largest first."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return [*map(str, column.cat.categories)]
    if pd.api.types.is_integer_dtype(column):
        known = column.dropna()
        numbers = range(int(known.min()), int(known.max()) + 1) if len(known) else ()
        return [*map(str, numbers), *(["none"] if column.isna().any() else [])]
    return sorted(sums.sort_values(ascending=False, kind="stable").index[:limit], key=lambda name: name == last)


def _squares(
    cells: pd.DataFrame,
    xs: Sequence[str],
    ys: Sequence[str],
    title: str | None,
    ends: tuple[float, float] | None,
    canvas: Canvas,
    sizes: pd.Series[Any] | None,
) -> Any:
    """A square for each cell at `_x` and `_y`, shaded by `_value`, with `_text` in it; `sizes` stand beside `_y`."""
    cells = cells[cells["_x"].isin(xs) & cells["_y"].isin(ys)]
    if sizes is not None:
        labels = {name: f"{name} ({sizes.get(name, 0):,})" for name in ys}
        ys, cells = [labels[name] for name in ys], cells.assign(_y=cells["_y"].map(labels))
    step = canvas.width / len(xs) if canvas.width else max(_LEAST_SQUARE, min(_MOST_SQUARE, _WIDTH / len(xs)))
    height = canvas.row_height(len(ys), _ROW_PIXELS) * len(ys)
    is_upright = max(map(len, xs)) * _CHAR_PIXELS > step  # one that is wider than expected ends with an ellipsis
    angle = {"labelAngle": -90, "labelLimit": 200} if is_upright else {"labelAngle": 0, "labelLimit": step + 2}
    axis = alt.Axis(orient="top", titleAnchor="start", **{**_NAMES, **angle})
    x = alt.X("_x:N", title=title, axis=axis, scale=alt.Scale(domain=xs))
    y = alt.Y("_y:N", title=None, axis=alt.Axis(**_NAMES), scale=alt.Scale(domain=ys))
    words = {"_y": "row", "_x": "column", "_text": "value"}
    tooltips = [alt.Tooltip(f"{name}:N", title=word) for name, word in words.items()]
    data = _data(cells[["_x", "_y", "_value", "_text"]])
    base = alt.Chart(data, width=step * len(xs), height=height).encode(x=x, y=y, tooltip=tooltips)
    top = (ends[1] if ends else cells["_value"].max()) or 1
    shade = alt.FillOpacity("_value:Q", scale=alt.Scale(domain=[0, top], range=_SHADES), legend=None)
    squares = base.mark_rect(stroke=canvas.colors.card).encode(fillOpacity=shade)
    return squares + base.mark_text(fontSize=10, limit=step + 2).encode(text="_text:N")
