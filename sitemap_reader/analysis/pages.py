"""Listings to pages: which rows of a table stand for a page; and pages as frames of pandas, for the measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..parser.normalise.dates import CLOCK_TOLERANCE, DAY, TIMED

if TYPE_CHECKING:
    from datetime import datetime

    import pandas as pd

    from .snapshot import Snapshot

PAGE = ["site", "loc"]


def page_rows(urls: Any) -> Any:
    """The rows of a pyarrow.Table that count: of a page's listings, the first with the newest lastmod; None for all."""
    import pyarrow as pa

    listed = urls.select([*PAGE, "lastmod"]).to_pandas()
    if not listed.duplicated(PAGE).any():
        return None
    newest_first = listed.sort_values("lastmod", ascending=False, kind="stable", na_position="last")
    return pa.array(newest_first.drop_duplicates(PAGE).index.sort_values())


def pages_of(snapshot: Snapshot, *columns: str) -> pd.DataFrame:
    """Each page with its `site` and these columns."""
    frame: pd.DataFrame = snapshot.pages.to_pandas(["site", *columns])
    return frame


NEWEST_RULE = "The newest lastmod is that of those that state a day, and do not lie ahead."


def newest_of(snapshot: Snapshot) -> pd.DataFrame:
    """Pages with their `lastmod`, and `newest`, the same where it may be called so."""
    pages = pages_of(snapshot, "lastmod", "lastmod_precision")
    counts = ~pages["lastmod_precision"].isin(["year", "month"]) & (pages["lastmod"] <= snapshot.at + DAY)
    return pages.assign(newest=pages["lastmod"].where(counts))


def lies_ahead(dated: pd.DataFrame, moment: datetime) -> pd.Series[bool]:
    """Whether the lastmod of each row is in the future."""
    is_exact = dated["lastmod_precision"].isin(TIMED)
    return dated["lastmod"] > is_exact.map({True: moment + CLOCK_TOLERANCE, False: moment + DAY})


def share_of_site(frame: pd.DataFrame) -> pd.Series[float]:
    """The pages of each row, of all that its site has."""
    return frame["pages"] / frame.groupby("site")["pages"].transform("sum")


def days_between(lastmods: pd.Series[Any], moment: datetime) -> pd.Series[float]:
    """As numbers: durations of pandas are too short for the years 1 and 9999."""
    since = lastmods.astype("int64").where(lastmods.notna()) / 86_400_000_000
    return moment.timestamp() / 86_400 - since


def ordered(frame: pd.DataFrame, snapshot: Snapshot) -> pd.DataFrame:
    """Rows by site, in the order of the snapshot's sites; within a site as they are."""
    rank = {site: number for number, site in enumerate(snapshot.sites)}
    sorted_frame: pd.DataFrame = frame.sort_values("site", key=lambda sites: sites.map(rank), kind="stable")
    return sorted_frame.reset_index(drop=True)
