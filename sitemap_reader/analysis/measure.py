"""What a measure is: a frame of pandas that knows its rule, what it finds, and how it is drawn."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .charts import Chart, ChartSpec


# ----------------------------------------------------------------------------------------------------
# Findings in words: what each site has in, a line out.


MOST_SITES, BETWEEN_SITES = 4, " | "


def each_site(told: dict[str, str], sites: Sequence[str]) -> str:
    """`a.example: x | b.example: y`; of one site alone, what it has.

    >>> each_site({"a.example": "12 pages"}, ["a.example"])
    '12 pages'
    >>> each_site({"a.example": "12 pages"}, ["a.example", "b.example"])
    'a.example: 12 pages'
    """
    if len(sites) <= 1:
        return next(iter(told.values()), "")
    parts = [f"{site}: {words}" for site, words in told.items()]
    left = len(parts) - MOST_SITES
    return BETWEEN_SITES.join([*parts[:MOST_SITES], *([f"{left} more"] if left > 0 else [])])


def finding_of(
    frame: pd.DataFrame, sites: Sequence[str], tell: Callable[[pd.DataFrame], str], nothing: str = "there is no page"
) -> str:
    """What `tell` says of the rows of each site, or that there is `nothing`."""
    told = {site: tell(part) for site, part in frame.groupby("site", sort=False)}
    return each_site(told, sites) or nothing


def percent(share: float) -> str:
    """Neither nothing where there is something, nor all where something is left.

    >>> percent(0.124), percent(0.0004), percent(0.9999)
    ('12%', 'under 1%', '99%')
    """
    if 0 < share < 0.01:
        return "under 1%"
    return f"{99 if 0.99 < share < 1 else round(share * 100)}%"


class Measure(pd.DataFrame):  # type: ignore[misc]
    """A pandas.DataFrame, all of whose methods give plain ones.

    `rule` says what was counted, `finding` what comes of it, `verdict` what lastmods are worth, where it goes by them.
    """

    _metadata: ClassVar[list[str]] = ["rule", "finding", "verdict", "_drawing"]
    rule: str
    finding: str
    verdict: str | None
    _drawing: ChartSpec

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


def measure(frame: pd.DataFrame, *, rule: str, finding: str, drawing: ChartSpec, verdict: str | None = None) -> Measure:
    """A Measure of the frame's rows."""
    made = Measure(frame.reset_index(drop=True))
    told: dict[str, Any] = {"rule": rule, "finding": finding, "verdict": verdict, "_drawing": drawing}
    for name, value in told.items():
        object.__setattr__(made, name, value)
    return made
