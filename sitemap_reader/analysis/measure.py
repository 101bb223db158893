"""A measure: a pandas frame that carries its rule, its finding in words, and the specification of its chart."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from .charts import SITE_SEPARATOR, Chart

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .charts import ChartSpec


class Measure(pd.DataFrame):  # type: ignore[misc]
    """A pandas.DataFrame with texts; its methods return plain DataFrames.

    `rule` states what was counted and what was left out, `finding` the result in words. `verdict` states how reliable
    the lastmods are, for a measure that depends on them.
    """

    _metadata: ClassVar[list[str]] = ["rule", "finding", "verdict", "_spec"]
    rule: str
    finding: str
    verdict: str | None
    _spec: ChartSpec

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    def chart(self, rows: pd.DataFrame | None = None) -> Chart:
        """The chart of this measure, titled with the finding; `rows`: a subset of its rows to draw, if not all.

        Needs the extra `analysis`.
        """
        notes = [self.rule, *([self.verdict] if self.verdict else [])]
        return Chart(self if rows is None else rows, self._spec, title=self.finding, notes=notes)

    def _repr_html_(self) -> str:
        texts = [f"<strong>{escape(self.finding)}</strong>", escape(self.rule)]
        if self.verdict:
            texts.append(escape(self.verdict))
        table = super()._repr_html_() or ""
        return f"<p>{'<br>'.join(texts)}</p>\n{table}"


def measure(frame: pd.DataFrame, *, rule: str, finding: str, spec: ChartSpec, verdict: str | None = None) -> Measure:
    """A Measure with the rows of `frame`."""
    result = Measure(frame.reset_index(drop=True))
    texts: dict[str, Any] = {"rule": rule, "finding": finding, "verdict": verdict, "_spec": spec}
    for name, value in texts.items():
        object.__setattr__(result, name, value)
    return result


# --- findings in words ---

MAX_SITES = 4


def join_findings(findings: dict[str, str], sites: Sequence[str]) -> str:
    """The findings of all sites in one line: `a.example: x | b.example: y`, or `x` for a Snapshot of one site.

    >>> join_findings({"a.example": "12 pages"}, ["a.example"])
    '12 pages'
    >>> join_findings({"a.example": "12 pages"}, ["a.example", "b.example"])
    'a.example: 12 pages'
    """
    if len(sites) <= 1:
        return next(iter(findings.values()), "")
    parts = [f"{site}: {words}" for site, words in findings.items()]
    more = len(parts) - MAX_SITES
    return SITE_SEPARATOR.join([*parts[:MAX_SITES], *([f"{more} more"] if more > 0 else [])])


def finding_per_site(
    frame: pd.DataFrame,
    sites: Sequence[str],
    describe: Callable[[pd.DataFrame], str],
    if_empty: str = "there is no page",
) -> str:
    """The finding that `describe` gives for the rows of each site, joined; `if_empty` for a frame without rows."""
    findings = {site: describe(part) for site, part in frame.groupby("site", sort=False)}
    return join_findings(findings, sites) or if_empty


def percent(share: float) -> str:
    """A share as whole percent; never 0% for more than nothing, never 100% for less than all.

    >>> percent(0.124), percent(0.0004), percent(0.9999)
    ('12%', 'under 1%', '99%')
    """
    if 0 < share < 0.01:
        return "under 1%"
    return f"{99 if 0.99 < share < 1 else round(share * 100)}%"
