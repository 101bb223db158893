"""What a measure is: a frame of pandas that knows its rule, what it finds, and how it is drawn."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

if TYPE_CHECKING:
    from .charts import Chart
    from .drawings import Drawing


class Measure(pd.DataFrame):  # type: ignore[misc]
    """A pandas.DataFrame, all of whose methods give plain ones.

    `rule` says what was counted, `finding` what comes of it, `verdict` what lastmods are worth, where it goes by them.
    """

    _metadata: ClassVar[list[str]] = ["rule", "finding", "verdict", "_drawing"]
    rule: str
    finding: str
    verdict: str | None
    _drawing: Drawing

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    def chart(self, rows: pd.DataFrame | None = None) -> Chart:
        """The same as a picture, titled with the finding; `rows` are those of its own to be drawn, if not all are.

        Needs the extra `analysis`.
        """
        from .charts import Chart

        return Chart(self, self if rows is None else rows, self._drawing)

    def _repr_html_(self) -> str:
        told = [f"<strong>{escape(self.finding)}</strong>", escape(self.rule)]
        if self.verdict:
            told.append(escape(self.verdict))
        table = super()._repr_html_() or ""
        return f"<p>{'<br>'.join(told)}</p>\n{table}"


def measure(
    frame: pd.DataFrame, *, rule: str, finding: str, drawing: Drawing, verdict: str | None = None
) -> Measure:
    """A Measure of the frame's rows."""
    made = Measure(frame.reset_index(drop=True))
    told: dict[str, Any] = {"rule": rule, "finding": finding, "verdict": verdict, "_drawing": drawing}
    for name, value in told.items():
        object.__setattr__(made, name, value)
    return made
