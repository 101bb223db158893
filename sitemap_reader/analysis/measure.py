"""A measure: a pandas frame that carries its rule, its finding in words, and the specification of its chart.

Below it, what several measures share: the pages of a Snapshot as frames, and computations on them.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from ..client.summary import count_of
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
    """The finding that `describe` gives for the rows of each site, joined; `if_empty` for a frame without rows."""
    findings = {site: describe(part) for site, part in frame.groupby("site", sort=False)}
    return join_findings(findings, sites) or if_empty


MAX_LEADERS = 3


def leaders(rows: pd.DataFrame, name: str, by: str = "pages") -> str:
    """The value of `name` in the row with most pages; of a tie all of them, or the first few and how many more.

    >>> leaders(pd.DataFrame({"section": ["/a/", "/b/", "/c/"], "pages": [5, 5, 1]}), "section")
    '/a/ and /b/ (tied)'
    """
    first = [str(value) for value in rows.loc[rows[by] == rows[by].max(), name]]
    if len(first) == 1:
        return first[0]
    if len(first) > MAX_LEADERS:
        return f"{', '.join(first[:MAX_LEADERS])} and {len(first) - MAX_LEADERS:,} more (tied)"
    return f"{', '.join(first[:-1])} and {first[-1]} (tied)"


# --- the pages of a Snapshot ---


def page_frame(snapshot: SnapshotTables, *columns: str) -> pd.DataFrame:
    """One row per page: `site` and these columns."""
    frame: pd.DataFrame = snapshot.pages.to_pandas(["site", *columns])
    return frame


def dated_pages(snapshot: SnapshotTables) -> pd.DataFrame:
    """Pages with `lastmod` and `lastmod_precision`; for news without a lastmod both are of the publication date.

    `is_news` says for which pages that is so.
    """
    pages = page_frame(snapshot, "lastmod", "lastmod_precision")
    date, precision = news_dates(snapshot)
    is_news = pages["lastmod"].isna() & date.notna()
    return pages.assign(
        lastmod=pages["lastmod"].where(~is_news, date),
        lastmod_precision=pages["lastmod_precision"].where(~is_news, precision),
        is_news=is_news,
    )


def news_dates(snapshot: SnapshotTables) -> tuple[pd.Series[Any], pd.Series[str]]:
    """The publication date of each page's news entry, and its precision; null for pages without."""
    from pyarrow import compute

    news = snapshot.pages.stored["news"]
    names = ("publication_date", "publication_date_precision")
    date, precision = (compute.struct_field(news, name).to_pandas() for name in names)
    return date, precision


def news_rule(pages: pd.DataFrame) -> str:
    """The sentence on publication dates for `dated_pages()`; empty if none is used."""
    count = int(pages["is_news"].sum())
    return f" For {count_of(count, 'news page')} without a lastmod the publication date counts." if count else ""


NEWEST_RULE = "The newest lastmod is the latest one that states a day and is not in the future."


def pages_with_newest(snapshot: SnapshotTables) -> pd.DataFrame:
    """Pages with `lastmod`, and `newest`: the lastmod if NEWEST_RULE allows it, else null."""
    pages = page_frame(snapshot, "lastmod", "lastmod_precision")
    return pages.assign(newest=pages["lastmod"].where(is_newest(pages, snapshot.at)))


def is_newest(dated: pd.DataFrame, at: datetime) -> pd.Series[bool]:
    """Whether the lastmod of each row can be the newest, by NEWEST_RULE."""
    return ~dated["lastmod_precision"].isin(["year", "month"]) & (dated["lastmod"] <= at + DAY)


def is_future(dated: pd.DataFrame, moment: datetime) -> pd.Series[bool]:
    """Whether the lastmod of each row is later than `moment`, with the tolerance for its precision."""
    has_time = dated["lastmod_precision"].isin(TIMED)
    return dated["lastmod"] > has_time.map({True: moment + CLOCK_TOLERANCE, False: moment + DAY})


def is_in(column: pd.Series[str], values: Any) -> pd.Series[bool]:
    """Whether each text is among the values; `isin()` of pandas takes a Python object for each of them."""
    import pyarrow as pa
    from pyarrow import compute

    found = compute.is_in(pa.array(column, pa.string()), pa.array(values, pa.string()))
    return pd.Series(found.to_numpy(zero_copy_only=False), index=column.index)


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
