"""How a measure is drawn, as data: which column is where, and what the axes are called. charts.py draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["columns", "rows", "lines", "heat"]


@attrs.frozen
class Drawing:
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
