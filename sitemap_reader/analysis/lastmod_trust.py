"""How far lastmods can be trusted: a Snapshot in, the history of each sitemap and site, and a measure of them, out.

The rule is that of frontier/lastmod_trust.py for a single reading: whether a lastmod changes together with its page
takes two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ..client.summary import count_of
from ..frontier.lastmod_trust import History, LastmodEvidence, judge_history, total, trust_in_words
from ..model.columns import SUBSECOND
from ..model.problems import percent
from ..model.url_batch import PRECISION_CODES
from .chart_spec import ChartSpec
from .measure import MAX_SITES, in_site_order, join_findings, measure, name_some
from .tables import once

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .measure import Measure
    from .tables import SnapshotTables

Histories = dict[tuple[str, str], History]

_NO_URLS = "there is no URL"
_RULE = (
    "Each sitemap's lastmods: how many lie within the ten minutes that hold most (dense), if ten or more do; in the "
    "future; or at the time of the request, if five or more do. The column batch has the date of the largest one. "
    "The score is 1 if none of this is found, 0 if they carry no information, and empty if there are none; coverage is "
    "the share of URLs that have one."
)
_COUNTED = ("dated", "dense", "future", "at_fetch")  # of History
_COLUMNS = ("site", "sitemap", "urls", "dated", "coverage", "dense", "batch", "future", "at_fetch", "score", "reasons")
_SPEC = ChartSpec(
    "rows",
    x="score",
    y="sitemap",
    x_title="score (0 to 1)",
    y_title="sitemap",
    text="reasons",
    format=".2f",
    ends=(0, 1),
    max_rows=20,
    comparison="dots",
    size="urls",
)


@once
def sitemap_histories(snapshot: SnapshotTables) -> Histories:
    """The history of each (site, sitemap): counts of its lastmods, those of listings."""
    urls = snapshot.urls.to_pandas(["site", "sitemap", "lastmod", "lastmod_precision"])
    urls["sitemap"] = urls["sitemap"].fillna("")
    codes = urls["lastmod_precision"].map(PRECISION_CODES)
    micros = urls["lastmod"].astype("int64")
    urls["number"] = micros.where(codes == SUBSECOND, micros // 1_000_000)
    urls["code"] = codes.astype("Int64")
    groups = urls.groupby(["site", "sitemap"], sort=False)
    return {(str(site), str(sitemap)): _history(part, snapshot) for (site, sitemap), part in groups}


def _history(urls: pd.DataFrame, snapshot: SnapshotTables) -> History:
    evidence = LastmodEvidence(entries=int(urls["lastmod"].isna().sum()))
    dated = urls[urls["lastmod"].notna()]
    evidence.add(dated["number"].tolist(), [None if code is pd.NA else code for code in dated["code"].tolist()])
    if snapshot.read_at is not None and snapshot.read_until is not None:
        for moment in (snapshot.read_at, snapshot.read_until):
            evidence.read(moment.timestamp())
    return evidence.history(as_of=(snapshot.read_until or snapshot.at).timestamp())


@once
def site_histories(snapshot: SnapshotTables) -> dict[str, History]:
    """Site -> the history of all its sitemaps together."""
    parts: dict[str, list[History]] = {site: [] for site in snapshot.sites}
    for (site, _), history in sitemap_histories(snapshot).items():
        parts[site].append(history)
    return {site: total(some) for site, some in parts.items()}


def verdict(sites: Mapping[str, History]) -> str:
    """See Snapshot.verdict; of many sites how many have which."""
    if len(sites) > MAX_SITES:
        return _verdict_of_many(sites)
    verdicts = {site: f"lastmods {_verdict(history)}" for site, history in sites.items()}
    return join_findings(verdicts, [*sites]) or _NO_URLS


def _verdict_of_many(sites: Mapping[str, History]) -> str:
    """`lastmods can be trusted at 2 sites (a.example and b.example), are missing at 5 sites (…)`, the best first."""
    trusts = {site: judge_history(history) for site, history in sites.items()}
    scores = pd.Series({site: trust.score for site, trust in trusts.items()}, dtype=float)
    same: dict[str, list[str]] = {}
    for site in scores.sort_values(ascending=False, kind="stable").index:
        same.setdefault(trust_in_words(trusts[site]).partition(" (")[0], []).append(site)
    parts = (f"{words} at {count_of(len(names), 'site')} ({name_some(names)})" for words, names in same.items())
    return f"lastmods {', '.join(parts)}"


def _verdict(history: History) -> str:
    trust = judge_history(history)
    if trust.score is None:
        return f"{trust_in_words(trust)}: no URL has one"
    share = percent(history.dated / history.entries)
    dated = f" for the {share} of URLs that have one" if history.dated < history.entries else ""
    return f"{trust_in_words(trust)}{dated}: {'; '.join(trust.reasons) or 'no fault was found'}"


def lastmod_trust(snapshot: SnapshotTables) -> Measure:
    """See Snapshot.lastmod_trust()."""
    histories = sitemap_histories(snapshot)
    rows = [{"site": site, "sitemap": sitemap, **_row(history)} for (site, sitemap), history in histories.items()]
    frame = pd.DataFrame(rows, columns=[*_COLUMNS]).astype({"score": float, "coverage": float})
    worst_first = frame.sort_values(["score", "urls"], ascending=[True, False], kind="stable")
    frame = in_site_order(worst_first, snapshot)
    return measure(frame, rule=_RULE, finding=verdict(site_histories(snapshot)), spec=_SPEC)


def _row(history: History) -> dict[str, Any]:
    trust = judge_history(history)
    counts = {name: getattr(history, name) for name in _COUNTED}
    texts = {"batch": history.batches[0].date if history.batches else None, "reasons": "; ".join(trust.reasons)}
    return {"urls": history.entries, **counts, **texts, "score": trust.score, "coverage": trust.coverage}
