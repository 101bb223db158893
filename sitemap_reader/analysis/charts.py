"""Charts of measures: a frame and a ChartSpec in; an Altair chart out, and its SVG, PNG, HTML and JSON.

Rendered locally, without a browser or network access. Here are the preparation of the rows, and what is around the
marks: title, rule, margins, colours; chart_marks.py and chart_comparisons.py draw the marks.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd
import vl_convert

from ..model.errors import UsageError, printable
from .chart_comparisons import COMPARISONS
from .chart_marks import KINDS, WIDTH
from .chart_spec import Drawing, cell_percent
from .notes import SITE_SEPARATOR

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from .chart_spec import Canvas, ChartSpec


# Widths of a character in the widest fonts: which font the viewer has is unknown.
_TITLE_CHAR_PIXELS, _RULE_CHAR_PIXELS = 9.0, 6.8
_MIN_WIDTH = 680
_FORMATS = ("png", "svg", "html", "json")


class Chart:
    """A chart of a Measure: shown in a notebook as SVG without external resources; save() writes it to a file.

    `altair` is the altair object, to be customised.
    """

    def __init__(
        self,
        rows: pd.DataFrame,
        spec: ChartSpec,
        canvas: Canvas,
        *,
        title: str,
        notes: Sequence[str] = (),
    ) -> None:
        """Created by Measure.chart(). `notes` stand below the title, without which the background is transparent."""
        self.title = printable(title)
        self.altair: Any = _chart(rows, spec, title, notes, canvas)

    def to_svg(self) -> str:
        """The chart as SVG."""
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
    """The Altair chart: marks under a title."""
    colors = canvas.colors
    drawing = _drawing(_printable(rows), spec, canvas)
    width = max(drawing.width, _MIN_WIDTH if finding else 0)
    chars, small_chars = int(width / _TITLE_CHAR_PIXELS), int(width / _RULE_CHAR_PIXELS)
    small = [line for note in (*notes, *drawing.left_out) for line in _wrapped(note, small_chars)]
    texts = alt.TitleParams(
        _wrapped(finding, chars),
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
    """The marks: of one site, of pairs of sites, or of several sites in rows."""
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


def _wrapped(text: str, chars: int) -> list[str]:
    """The text in lines of at most `chars` characters; each site begins a line."""
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
