"""The pages of a Snapshot as pandas frames, and the computations on them that several measures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..parser.normalise.dates import CLOCK_TOLERANCE, DAY, TIMED

if TYPE_CHECKING:
    from datetime import datetime

    import pandas as pd

    from .snapshot_tables import SnapshotTables


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
