"""Renders frames as HTML tables: a DataFrame in; a table of a bounded number of rows with a search field out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...checks.html.document import scrolling_table
from ...checks.html.elements import Html, element, is_address, link, site_text
from ...model.problems import percent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_ROWS = 500
# Fewer rows are read faster than searched.
_SEARCHED_ROWS = 10
_NONE = "–"
# How the names of columns that hold a share of 0 to 1 end.
_SHARES = ("share", "coverage")


def frame_table(frame: pd.DataFrame, title: str) -> Html:
    """The first rows of each site as a table in a box that scrolls, with a search field if there are many."""
    place = frame.groupby("site", sort=False).cumcount()
    shown = frame.iloc[sorted(place.argsort(kind="stable")[:MAX_ROWS])]
    renderers = [_renderer(str(name), frame[name]) for name in frame]
    columns = [(str(name).replace("_", " "), is_number) for name, (_, is_number) in zip(frame, renderers, strict=True)]
    rows = [_row(values, renderers) for values in shown.itertuples(index=False, name=None)]
    more = len(frame) - len(shown)
    left_out = element("p", f"{more:,} more rows are not shown.", class_="more") if more else None
    table = scrolling_table(title, columns, rows)
    return element("div", _search(title, len(shown)), table, left_out, class_="searchable")


def _search(title: str, rows: int) -> Html | None:
    """A field that the script shows: it is needed to search."""
    if rows < _SEARCHED_ROWS:
        return None
    field = element("input", type="search", aria_label=f"Search in {title}", autocomplete="off")
    status = element("span", f"{rows:,} rows", role="status", class_="shown")
    return element("p", element("label", element("span", "Search"), field), status, class_="filters", hidden=True)


def _renderer(name: str, column: pd.Series[Any]) -> tuple[Callable[[Any], Html | str], bool]:
    """How the values of a column are written, and whether they are numbers."""
    kind = pd.api.types
    if name.endswith(_SHARES):
        return percent, True
    if kind.is_bool_dtype(column):
        return lambda value: "yes" if value else "no", False
    if kind.is_integer_dtype(column):
        return "{:,}".format, True
    if kind.is_float_dtype(column):
        return "{:,.4g}".format, True
    if kind.is_datetime64_any_dtype(column):
        return _moment, False
    return _text, False


def _moment(value: pd.Timestamp) -> str:
    return f"{value:%Y-%m-%d}" if value == value.normalize() else f"{value:%Y-%m-%d %H:%M}"


def _text(value: Any) -> Html:
    written = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return link(written) if is_address(written) else site_text(written)


def _row(values: Sequence[Any], renderers: Sequence[tuple[Callable[[Any], Html | str], bool]]) -> list[Html]:
    cells = []
    for number, (value, (render, is_number)) in enumerate(zip(values, renderers, strict=True)):
        is_missing = not isinstance(value, list | tuple) and pd.isna(value)
        inside = _NONE if is_missing else render(value)
        name, scope = ("td", None) if number else ("th", "row")
        cells.append(element(name, inside, scope=scope, class_="number" if is_number else None))
    return cells
