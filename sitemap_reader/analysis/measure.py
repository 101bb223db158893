"""A measure: a pandas frame that carries its rule, its finding in words, and the specification of its chart.

Below it, what several measures share: the pages of a Snapshot as frames, and computations on them.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from ..model.problems import percent
from ..parser.normalise.dates import CLOCK_TOLERANCE, DAY, TIMED
from .charts import SITE_SEPARATOR, Chart

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from .charts import ChartSpec
    from .tables import SnapshotTables


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
    """The finding that `describe` gives for the rows of each site, joined; `if_empty` for a site without rows."""
    parts = dict([*frame.groupby("site", sort=False)])
    findings = {site: describe(parts[site]) if site in parts else if_empty for site in sites}
    return join_findings(findings, sites) or if_empty


def part_of(part: int, whole: int, noun: str = "", *, each: str = "") -> str:
    """A share with the numbers behind it.

    >>> part_of(142, 420), part_of(1, 640, "page"), part_of(5, 20, each=" each")
    ('34% (142 of 420)', 'under 1% (1 of 640 pages)', '25% each (5 of 20)')
    """
    counted = f"{whole:,} {noun}{'' if whole == 1 else 's'}" if noun else f"{whole:,}"
    return f"{percent(part / whole if whole else 0.0)}{each} ({part:,} of {counted})"


def leaders(counts: pd.Series[Any]) -> list[Any]:
    """The labels of the greatest value: several if they tie."""
    return [*counts.index[counts == counts.max()]]


def most_frequent(counts: pd.Series[Any], whole: int, noun: str = "") -> str:
    """Which label has the greatest count, or which have, and its share of the whole.

    >>> most_frequent(pd.Series({"/blog/": 5, "/shop/": 2}), 8, "page")
    '/blog/ has 62% (5 of 8 pages)'
    >>> most_frequent(pd.Series({"Mon": 4, "Tue": 4}), 8)
    'Mon and Tue have 50% each (4 of 8)'
    """
    first = leaders(counts)
    verb, each = ("have", " each") if len(first) > 1 else ("has", "")
    return f"{name_some(first)} {verb} {part_of(int(counts.max()), whole, noun, each=each)}"


def name_some(names: Sequence[str]) -> str:
    """The names, or the first three of them.

    >>> name_some(["a", "b"]), name_some(["a", "b", "c", "d", "e"])
    ('a and b', 'a, b, c and 2 more')
    """
    shown = [*names[:_MAX_TIES], *([f"{len(names) - _MAX_TIES:,} more"] if len(names) > _MAX_TIES else [])]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


_MAX_TIES = 3


# --- the pages of a Snapshot ---


def page_frame(snapshot: SnapshotTables, *columns: str) -> pd.DataFrame:
    """One row per page: `site` and these columns."""
    frame: pd.DataFrame = snapshot.pages.to_pandas(["site", *columns])
    return frame


NEWEST_RULE = "The newest lastmod is the latest one that states a day and is not in the future."


def pages_with_newest(snapshot: SnapshotTables) -> pd.DataFrame:
    """Pages with `lastmod`, and `newest`: the lastmod if NEWEST_RULE allows it, else null."""
    pages = page_frame(snapshot, "lastmod", "lastmod_precision")
    counts = ~pages["lastmod_precision"].isin(["year", "month"]) & (pages["lastmod"] <= snapshot.at + DAY)
    return pages.assign(newest=pages["lastmod"].where(counts))


def is_future(dated: pd.DataFrame, moment: datetime) -> pd.Series[bool]:
    """Whether the lastmod of each row is later than `moment`, with the tolerance for its precision."""
    has_time = dated["lastmod_precision"].isin(TIMED)
    return dated["lastmod"] > has_time.map({True: moment + CLOCK_TOLERANCE, False: moment + DAY})


def share_of_site(frame: pd.DataFrame) -> pd.Series[float]:
    """The pages of each row as a share of all pages of its site."""
    return frame["pages"] / frame.groupby("site")["pages"].transform("sum")


def days_between(lastmods: pd.Series[Any], moment: datetime) -> pd.Series[float]:
    """Days from each lastmod to `moment`. Floats: pandas durations overflow for the years 1 and 9999."""
    since = lastmods.astype("int64").where(lastmods.notna()) / 86_400_000_000
    return moment.timestamp() / 86_400 - since


def in_site_order(frame: pd.DataFrame, snapshot: SnapshotTables) -> pd.DataFrame:
    """The rows sorted by site, in the order of the snapshot's sites; stable within a site."""
    rank = {site: number for number, site in enumerate(snapshot.sites)}
    sorted_frame: pd.DataFrame = frame.sort_values("site", key=lambda sites: sites.map(rank), kind="stable")
    return sorted_frame.reset_index(drop=True)
