"""Measures of lastmods: how reliable they are (lastmod_trust), cadence, weekday and hour, freshness.

No date is treated as more precise than it was stated: one without a day has no weekday, one without a time no hour.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import attrs
import pandas as pd

from ..client.summary import count_of
from ..frontier.lastmod_trust import History, LastmodEvidence, judge_history, trust_in_words
from ..model.errors import UsageError
from ..model.problems import percent
from ..model.url_batch import PRECISION_CODES, SUBSECOND
from ..parser.normalise.dates import DAY, TIMED
from .charts import ChartSpec
from .measure import (
    dated_pages,
    days_between,
    finding_per_site,
    in_site_order,
    is_future,
    measure,
    news_rule,
    share_of_site,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from .measure import Measure
    from .tables import SnapshotTables


# --- reliability -------------------------------------------------------------------------------------------------

# The score is that of frontier/lastmod_trust.py for a single read: whether a lastmod changes together with its page
# takes two.
_NO_URLS = "there is no URL"
_RULE = (
    "Each sitemap's lastmods: how many are identical (the most frequent one) or dense (of the ten minutes that hold "
    "most), if ten or more are; in the future; or the time of the request, if five or more are. The score is 1 if none "
    "of this is found, 0 if they carry no information."
)
_COUNTED = ("dated", "identical", "dense", "future", "at_fetch")  # of History
_SPEC = ChartSpec(
    "rows", x="score", y="sitemap", x_title="score (0 to 1)", text="reasons", format=".2f", ends=(0, 1), max_rows=20
)


def lastmod_trust(snapshot: SnapshotTables) -> Measure:
    """See Snapshot.lastmod_trust()."""
    frame = _trust_frame(snapshot)
    finding = finding_per_site(frame, snapshot.sites, lambda part: f"lastmods {site_verdict(part)}", _NO_URLS)
    return measure(frame, rule=_RULE, finding=finding, spec=_SPEC)


def verdict(snapshot: SnapshotTables) -> str:
    """See Snapshot.verdict."""
    return finding_per_site(_trust_frame(snapshot), snapshot.sites, _with_share, _NO_URLS)


def _with_share(part: pd.DataFrame) -> str:
    share = part["dated"].sum() / part["urls"].sum()
    stated = f"; {percent(share)} of URLs have one" if share else ""
    return f"lastmods {site_verdict(part)}{stated}"


def site_verdict(part: pd.DataFrame) -> str:
    """How reliable the lastmods of all sitemaps of one site are together, in words."""
    sums = {name: int(part[name].sum()) for name in _COUNTED}
    judged = judge_history(History(entries=int(part["urls"].sum()), **sums))
    if not sums["dated"]:
        return "are missing: no URL has one"
    return f"{trust_in_words(judged)}: {', '.join(judged.reasons) or 'no fault was found'}"


def _trust_frame(snapshot: SnapshotTables) -> pd.DataFrame:
    urls = snapshot.urls.to_pandas(["site", "sitemap", "lastmod", "lastmod_precision"])
    urls["sitemap"] = urls["sitemap"].fillna("")
    codes = urls["lastmod_precision"].map(PRECISION_CODES)
    micros = urls["lastmod"].astype("int64")
    urls["number"] = micros.where(codes == SUBSECOND, micros // 1_000_000)
    urls["code"] = codes.astype("Int64")
    rows = [
        {"site": site, "sitemap": sitemap, **_judged(part, snapshot)}
        for (site, sitemap), part in urls.groupby(["site", "sitemap"], sort=False)
    ]
    frame = pd.DataFrame(rows, columns=["site", "sitemap", "urls", *_COUNTED, "score", "reasons"])
    worst_first = frame.sort_values(["score", "urls"], ascending=[True, False], kind="stable")
    return in_site_order(worst_first, snapshot)


def _judged(urls: pd.DataFrame, snapshot: SnapshotTables) -> dict[str, Any]:
    """The row of a sitemap: what was counted, and the verdict."""
    evidence = LastmodEvidence(entries=int(urls["lastmod"].isna().sum()))
    dated = urls[urls["lastmod"].notna()]
    evidence.add(dated["number"].tolist(), [None if code is pd.NA else code for code in dated["code"].tolist()])
    if snapshot.read_at is not None and snapshot.read_until is not None:
        for moment in (snapshot.read_at, snapshot.read_until):
            evidence.read(moment.timestamp())
    history = evidence.history(as_of=(snapshot.read_until or snapshot.at).timestamp())
    trust = judge_history(history)
    counts = {name: getattr(history, name) for name in _COUNTED}
    return {"urls": history.entries, **counts, "score": trust.score, "reasons": "; ".join(trust.reasons)}


# --- cadence -----------------------------------------------------------------------------------------------------


@attrs.frozen
class _Freq:
    """A pandas period alias, the lastmod precisions too coarse for it, and how a period is written."""

    alias: str
    too_coarse: tuple[str, ...]
    name: Callable[[Any], str]


def _day(period: Any) -> str:
    return f"{period.year:04}-{period.month:02}-{period.day:02}"


_FREQS = {
    "day": _Freq("D", ("year", "month"), _day),
    "week": _Freq("W-SUN", ("year", "month"), lambda week: _day(week.asfreq("D", "start"))),
    "month": _Freq("M", ("year",), lambda month: f"{month.year:04}-{month.month:02}"),
    "quarter": _Freq("Q", ("year",), lambda quarter: f"{quarter.year:04}-Q{quarter.quarter}"),
    "year": _Freq("Y", (), lambda year: f"{year.year:04}"),
}
_MAX_PERIODS = 5_000


def cadence(snapshot: SnapshotTables, freq: str, *, verdict: str) -> Measure:
    """See Snapshot.cadence()."""
    if freq not in [*_FREQS]:  # a list: the value may be unhashable
        raise UsageError(f"freq is one of {', '.join(_FREQS)}, and not {freq!r}")
    period = _FREQS[freq]
    pages = dated_pages(snapshot)
    left_out = {
        "no lastmod": pages["lastmod"].isna(),
        f"one that states no {freq}": pages["lastmod_precision"].isin(period.too_coarse),
        "one in the future": pages["lastmod"] > snapshot.at + DAY,
    }
    counted = pages[~pd.concat(left_out, axis=1).any(axis=1)]
    periods = counted["lastmod"].dt.tz_localize(None).dt.to_period(period.alias)
    counts = counted.groupby(["site", periods.rename("period")], sort=False).size()
    frame = pd.concat([_filled(part, site) for site, part in counts.groupby(level=0, sort=False)] or [_NO_PERIODS])
    frame = in_site_order(frame, snapshot)
    rule = f"Pages by the {freq} of their lastmod (UTC). A lastmod is the last change only: earlier ones are unknown."
    rule += news_rule(pages) + _not_counted(left_out)
    busiest = partial(_busiest, freq=freq, name=period.name)
    finding = finding_per_site(frame, snapshot.sites, busiest, f"no page states a {freq}")
    if any(_has_gaps(part["period"]) for _, part in frame.groupby("site", sort=False)):
        rule += f" The dates span more than {_MAX_PERIODS:,} {freq}s: those without a page have no row."
    frame["period"] = frame["period"].dt.start_time
    spec = ChartSpec("columns", x="period", y="pages", x_title=f"{freq} of lastmod (UTC)", y_title="pages")
    return measure(frame, rule=rule, finding=finding, spec=spec, verdict=verdict)


_NO_PERIODS = pd.DataFrame({"site": [], "period": pd.PeriodIndex([], freq="D"), "pages": []})


def _filled(counts: Any, site: str) -> pd.DataFrame:
    """A row per period, 0 for those without a page; only periods with pages if the range exceeds the limit."""
    counts = counts.droplevel(0).sort_index()
    periods = pd.period_range(counts.index[0], counts.index[-1], name="period")
    if len(periods) <= _MAX_PERIODS:
        counts = counts.reindex(periods, fill_value=0)
    return counts.rename("pages").reset_index().assign(site=site)[["site", "period", "pages"]]


def _has_gaps(periods: pd.Series[Any]) -> bool:
    return bool((periods.iloc[-1] - periods.iloc[0]).n + 1 > len(periods))


def _busiest(part: pd.DataFrame, freq: str, name: Callable[[Any], str]) -> str:
    busiest = part.loc[part["pages"].idxmax()]
    counts = part.loc[part["pages"] > 0, "pages"]
    which = "" if len(counts) == len(part) and not _has_gaps(part["period"]) else " that has any"
    median = count_of(round(counts.median()), "page")
    return f"{median} in the median {freq}{which}, most in {name(busiest['period'])} ({busiest['pages']:,})"


def _not_counted(left_out: dict[str, Any]) -> str:
    """The sentence that says how many pages are not counted, and why."""
    counts = {words: int(where.sum()) for words, where in left_out.items()}
    parts = [f"{count_of(count, 'page')} with {words}" for words, count in counts.items() if count]
    return f" Not counted: {', '.join(parts)}." if parts else ""


# --- weekday and hour --------------------------------------------------------------------------------------------

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_NO_HOUR = "none"


def weekday_hour(snapshot: SnapshotTables, tz: str, *, verdict: str) -> Measure:
    """See Snapshot.weekday_hour()."""
    try:
        zone = ZoneInfo(tz)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise UsageError(f'tz is a time zone such as "Europe/Oslo" or "UTC", and not {tz!r}') from None
    pages = dated_pages(snapshot)
    left_out = {
        "no lastmod": pages["lastmod"].isna(),
        "one that states no day": pages["lastmod_precision"].isin(["year", "month"]),
        "one in the future": pages["lastmod"] > snapshot.at + DAY,
        "one in the year 1": pages["lastmod"].dt.year == 1,  # in another zone that may be year 0, which datetime lacks
    }
    counted = pages[~pd.concat(left_out, axis=1).any(axis=1)]
    has_time = counted["lastmod_precision"].isin(TIMED)
    local = counted["lastmod"].dt.tz_convert(zone)
    # A stated day is that day in every time zone.
    weekday = local.dt.day_of_week.where(has_time, counted["lastmod"].dt.day_of_week)
    hour = local.dt.hour.where(has_time).astype("Int64")
    by = [counted["site"], weekday.map(dict(enumerate(_WEEKDAYS))).rename("weekday"), hour.rename("hour")]
    frame = counted.groupby(by, sort=False, dropna=False).size().rename("pages").reset_index()
    rank = {weekday: number for number, weekday in enumerate(_WEEKDAYS)}
    frame = frame.assign(_rank=frame["weekday"].map(rank)).sort_values(["_rank", "hour"]).drop(columns="_rank")
    frame = in_site_order(frame, snapshot)
    finding = finding_per_site(frame, snapshot.sites, partial(_peak, tz=tz), "no page states a day")
    rule = f"Pages by weekday and hour ({tz}) of their lastmod; a lastmod without a time has no hour."
    rule += news_rule(pages) + _not_counted(left_out)
    return measure(frame, rule=rule, finding=finding, spec=_hours_spec(tz), verdict=verdict)


def _hours_spec(tz: str) -> ChartSpec:
    return ChartSpec(
        "heat",
        x="hour",
        y="weekday",
        x_title=f"hour ({tz})",
        value="pages",
        x_order=(*map(str, range(24)), _NO_HOUR),
        y_order=_WEEKDAYS,
        missing=_NO_HOUR,
    )


def _peak(part: pd.DataFrame, tz: str) -> str:
    total = part["pages"].sum()
    days = part.groupby("weekday")["pages"].sum()
    day = days.idxmax()
    finding = f"{percent(days[day] / total)} of changes on a {day}"
    hours = part.dropna(subset="hour").groupby("hour")["pages"].sum()
    if not len(hours):
        return f"{finding}; no lastmod states a time"
    return f"{finding}; the busiest hour is {hours.idxmax():02}:00 {tz} ({hours.max():,} of {hours.sum():,})"


# --- freshness ---------------------------------------------------------------------------------------------------

_AGES = {"7 days": 7, "30 days": 30, "90 days": 90, "365 days": 365}
_OLDER, _UNDATED, _FUTURE = "older", "undated", "in the future"
_AGE_CLASSES = (*_AGES, _OLDER, _UNDATED, _FUTURE)


def freshness(snapshot: SnapshotTables, *, verdict: str) -> Measure:
    """See Snapshot.freshness()."""
    pages = dated_pages(snapshot)
    pages["age"] = _age_class(pages, snapshot)
    counts = pages.groupby(["site", "age"], sort=False).size().rename("pages")
    rows = pd.MultiIndex.from_product([snapshot.sites, _AGE_CLASSES], names=["site", "age"])
    frame = counts.reindex(rows, fill_value=0).reset_index()
    frame["share"] = share_of_site(frame)
    frame = frame[(frame["pages"] > 0) | (frame["age"] != _FUTURE)]
    finding = finding_per_site(frame, snapshot.sites, _recent_shares)
    rule = (
        f"Pages by the age of their lastmod on {snapshot.at:%Y-%m-%d}, each in the first class that fits. The age of a "
        "day counts from its end, that of a month or a year from its start."
    )
    rule += news_rule(pages)
    spec = ChartSpec("rows", x="share", y="age", x_title="share of pages", format=".1%", ends=(0.0, 1.0))
    return measure(frame, rule=rule, finding=finding, spec=spec, verdict=verdict)


def _age_class(pages: pd.DataFrame, snapshot: SnapshotTables) -> Any:
    lastmod, precision = pages["lastmod"], pages["lastmod_precision"]
    # As in stats and --since: a day counts if any part of it is within.
    days_old = days_between(lastmod, snapshot.at) - (precision == "day")
    age = pd.Series(_OLDER, index=pages.index)
    for name, days in reversed(_AGES.items()):
        age = age.mask(days_old <= days, name)
    return age.mask(is_future(pages, snapshot.at), _FUTURE).mask(lastmod.isna(), _UNDATED)


def _recent_shares(part: pd.DataFrame) -> str:
    shares = part.set_index("age")["share"]
    within = shares[["7 days", "30 days"]].sum()
    year = within + shares[["90 days", "365 days"]].sum()
    undated = percent(shares[_UNDATED])
    return f"{percent(within)} changed within 30 days, {percent(year)} within a year, {undated} undated"
