"""What lastmods are worth: the dates of each sitemap in, a score with its reasons out; and a verdict on a site's.

The score is walk/honesty's, of one look: whether a lastmod moves with its page can only be told from two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..frontier.lastmod_trust import FEW_ALIKE, History, honesty, in_words
from ..parser.normalise.dates import EXACT, TOLERANCE
from .drawings import Drawing
from .findings import finding_of, percent
from .measure import measure
from .pages import lies_ahead, ordered

if TYPE_CHECKING:
    import pandas as pd

    from .measure import Measure
    from .snapshot import Snapshot

_NOTHING = "there is no URL"
_RULE = (
    "Each sitemap's lastmods: how many are alike (the most frequent one, if ten or more have it), in the future, or "
    "the time of the request. The score is 1 where nothing speaks against them, 0 where they say nothing."
)
_DRAWING = Drawing(
    "rows", x="score", y="sitemap", x_title="score (0 to 1)", text="reasons", format=".2f", ends=(0, 1), most=20
)


def lastmod_trust(snapshot: Snapshot) -> Measure:
    """See Snapshot.lastmod_trust()."""
    frame = _frame(snapshot)
    finding = finding_of(frame, snapshot.sites, lambda part: f"lastmods {verdict_on(part)}", _NOTHING)
    return measure(frame, rule=_RULE, finding=finding, drawing=_DRAWING)


def verdict(snapshot: Snapshot) -> str:
    """See Snapshot.verdict."""
    return finding_of(_frame(snapshot), snapshot.sites, _with_share, _NOTHING)


def _with_share(part: pd.DataFrame) -> str:
    share = part["dated"].sum() / part["urls"].sum()
    stated = f"; {percent(share)} of URLs have one" if share else ""
    return f"lastmods {verdict_on(part)}{stated}"


def verdict_on(part: pd.DataFrame) -> str:
    """What the sitemaps of one site come to together."""
    sums = {name: int(part[name].sum()) for name in ("dated", "identical", "future", "at_fetch")}
    judged = honesty(History(entries=int(part["urls"].sum()), **sums))
    if not sums["dated"]:
        return "are missing: no URL has one"
    return f"{in_words(judged)}: {', '.join(judged.reasons) or 'nothing speaks against them'}"


def _frame(snapshot: Snapshot) -> pd.DataFrame:
    urls = snapshot.urls.to_pandas(["site", "sitemap", "lastmod", "lastmod_precision"])
    urls["sitemap"] = urls["sitemap"].fillna("")
    is_exact = urls["lastmod_precision"].isin(EXACT)
    urls["dated"] = urls["lastmod"].notna()
    end = snapshot.read_until or snapshot.at
    urls["future"] = lies_ahead(urls, end)
    urls["at_fetch"] = is_exact & _is_at_fetch(snapshot, urls["lastmod"])
    by = urls.groupby(["site", "sitemap"], sort=False)
    frame = by[["dated", "future", "at_fetch"]].sum()
    frame.insert(0, "urls", by.size())
    frame.insert(2, "identical", _identical(urls).reindex(frame.index).fillna(0).astype("int64"))
    judged = [honesty(_history(row)) for row in frame.to_dict("records")]
    frame["score"] = [each.score for each in judged]
    frame["reasons"] = ["; ".join(each.reasons) for each in judged]
    worst_first = frame.sort_values(["score", "urls"], ascending=[True, False], kind="stable")
    return ordered(worst_first.reset_index(), snapshot)


def _history(row: dict[str, Any]) -> History:
    return History(entries=row.pop("urls"), **row)


def _identical(urls: pd.DataFrame) -> pd.Series[int]:
    """How many of a sitemap's URLs have its most frequent lastmod; fewer than ten alike are no sign of anything."""
    dated = urls[urls["dated"]]
    most = dated.groupby(["site", "sitemap", "lastmod"], sort=False).size().groupby(level=[0, 1], sort=False).max()
    return most.where(most >= FEW_ALIKE, 0)


def _is_at_fetch(snapshot: Snapshot, lastmods: pd.Series[Any]) -> Any:
    """False for all where nobody knows when it was read."""
    if snapshot.read_at is None or snapshot.read_until is None:
        return False
    return lastmods.between(snapshot.read_at - TOLERANCE, snapshot.read_until + TOLERANCE)
