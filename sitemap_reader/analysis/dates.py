"""Measures of dates.

No conclusion is drawn from lastmods that cannot be trusted, or from one batch of them. The rule is that of
frontier/lastmod_trust.py for a single reading: whether a lastmod changes together with its page takes two. No date is
treated as more precise than it was stated: one without a day has no weekday, one without a time no hour.

When a page appeared, a publication date of news states. A first-seen date, from an archive or a state, is that of the
first reading which found the page: it appeared after the reading before. A lastmod is the last change only, and counts
where it is trusted.
"""

from __future__ import annotations

from functools import partial
from math import sqrt
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pandas as pd
import pyarrow as pa
from pyarrow import compute

from ..client.summary import count_of
from ..frontier.lastmod_trust import (
    TRUST_CLASSES,
    TRUSTED_SCORE,
    History,
    LastmodEvidence,
    judge_history,
    total,
    trust_class,
    trust_in_words,
)
from ..model.columns import SUBSECOND
from ..model.errors import UsageError
from ..model.problems import percent
from ..model.url_batch import PRECISION_CODES
from ..parser.normalise.dates import DAY, TIMED
from ..parser.normalise.url_dates import HINTS, URL_DATE, date_in_url
from .chart_spec import ChartSpec, shares_of_pages
from .measure import (
    count_sites,
    dated_pages,
    days_between,
    find_in_words,
    first_seen,
    groups_of,
    in_site_order,
    is_future,
    measure,
    most_frequent,
    name_few,
    news_dates,
    news_rule,
    no_date,
    page_frame,
    part_of,
    rank_sites,
    share_of_site,
    without,
)
from .periods import MAX_PERIODS, PERIODS, counts_by_period, freq_name
from .tables import once

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .measure import Groups, Measure
    from .tables import SnapshotTables


# Below it lastmods cannot be trusted: their dates say nothing about the pages.
_LEAST_SCORE = 0.5
# A value stands out if chance would make it as frequent in one of some hundred sites: its distance from the mean, in
# standard deviations of evenly spread days. Fewer dates than this may be chance in any case.
_LEAST_DEVIATION, _LEAST_DATES = 3.0, 10


def _find_in_words(
    frame: pd.DataFrame,
    snapshot: SnapshotTables,
    groups: Groups,
    describe: Callable[[pd.DataFrame], str],
    describe_many: Callable[[pd.DataFrame], str],
) -> str:
    """As Groups.find_in_words(), without the sites whose dates allow no conclusion."""
    trusts = {site: judge_history(history) for site, history in site_histories(snapshot).items()}

    def conclude(part: pd.DataFrame) -> str:
        trust = trusts[groups.site(part["site"].iloc[0])]
        if trust.score is None:
            return "no page has a lastmod"
        return describe(part) if trust.score >= _LEAST_SCORE else f"no conclusion: lastmods {trust_in_words(trust)}"

    def conclude_many(frame: pd.DataFrame) -> str:
        is_usable = frame["site"].map(lambda site: (trusts[site].score or 0.0) >= _LEAST_SCORE)
        rest = f"no conclusion from the lastmods of {name_few([*frame.loc[~is_usable, 'site'].unique()])}"
        found = [describe_many(frame[is_usable])] if is_usable.any() else []
        return "; ".join(found if is_usable.all() else [*found, rest])

    is_dated = any(trust.score is not None for trust in trusts.values())
    none = f"no page has a lastmod{' that counts here' if is_dated else ''}"
    return groups.find_in_words(frame, conclude, conclude_many, none)


def _stands_out(counts: pd.Series[Any], sizes: pd.Series[Any]) -> bool:
    """Whether the most frequent value is too frequent for chance, also without its largest day.

    `sizes` are the pages of each day, by value and day. Pages of a day are no independent dates, as one edit or import
    changes many: the days are spread evenly over the values, each with all its pages. Days of equal size count as so
    many dates, a few large ones as fewer than there are.
    """
    largest, share, squares = int(sizes[counts.idxmax()].max()), 1 / len(counts), int((sizes**2).sum())
    if counts.max() * counts.sum() / squares < _LEAST_DATES:
        return False
    top, total = counts.max() - largest, counts.sum() - largest
    return bool(top - total * share >= _LEAST_DEVIATION * sqrt(share * (1 - share) * (squares - largest**2)))


def _peak(pages: pd.DataFrame, noun: str) -> str:
    counts, sizes = _counts_and_sizes(pages, noun)
    if (dates := int(counts.sum())) < _LEAST_DATES:
        return f"too few dates ({dates}) to compare {noun}s"
    if _stands_out(counts, sizes):
        return f"most frequent {noun}: {most_frequent(counts, dates, _DATED[noun])}"
    of_most = sizes[counts.idxmax()]
    if (largest := int(of_most.max())) > counts.max() / 2:
        top = f"{counts.max():,} pages of {counts.idxmax()}"
        return f"no {noun} stands out: {largest:,} of {top} are of one day, {of_most.idxmax():%Y-%m-%d}"
    return f"no {noun} has clearly more pages than the others"


def _counts_and_sizes(pages: pd.DataFrame, noun: str) -> tuple[pd.Series[Any], pd.Series[Any]]:
    """The pages by weekday or by hour, and by that and day."""
    sizes = pages.dropna(subset=noun).groupby([noun, "day"])["pages"].sum()
    return sizes.groupby(level=0).sum().reindex(_VALUES[noun], fill_value=0), sizes


def cadence(snapshot: SnapshotTables, freq: str, by: str | None = None) -> Measure:
    histories, groups = site_histories(snapshot), groups_of(snapshot, by)
    freq = freq_name(freq, PERIODS)
    period = PERIODS[freq]
    pages = dated_pages(snapshot).assign(site=groups.labels)
    left_out = {
        "without a lastmod": pages["lastmod"].isna(),
        f"whose lastmod states only the {' or '.join(period.too_coarse)}": pages["lastmod_precision"].isin(
            period.too_coarse
        ),
        "whose lastmod is in the future": pages["lastmod"] > snapshot.at + DAY,
    }
    counted, not_counted = without(pages, left_out)
    frame = groups.sort(counts_by_period(counted[["site", "lastmod"]], "lastmod", period))
    rule = f"{groups.pages} by the {freq} of their lastmod (UTC). A lastmod is the last change only."
    rule += news_rule(pages) + not_counted
    describe = partial(_busiest, histories=histories, groups=groups, freq=freq)
    finding = _find_in_words(frame, snapshot, groups, describe, partial(_busiest_of_many, freq=freq))
    if any(_has_gaps(part["period"]) for _, part in frame.groupby("site", sort=False)):
        rule += f" The dates span more than {MAX_PERIODS:,} {freq}s: those without a page have no row."
    frame["period"] = frame["period"].dt.start_time
    title = f"pages by {freq} of lastmod (UTC)"
    spec = ChartSpec("columns", x="period", y="pages", x_title=title, period=freq, **groups.panels)
    return measure(groups.divide(frame), rule=rule, finding=finding, spec=spec, verdict=verdict(histories))


def _has_gaps(periods: pd.Series[Any]) -> bool:
    return bool((periods.iloc[-1] - periods.iloc[0]).n + 1 > len(periods))


def _busiest(part: pd.DataFrame, *, histories: Mapping[str, History], groups: Groups, freq: str) -> str:
    counts = part.set_index(part["period"].dt.start_time)["pages"]
    busiest, in_batch, median = part.loc[part["pages"].idxmax(), "period"], "", ""
    for batch in histories[groups.site(part["site"].iloc[0])].batches[:1]:
        if not _is_tied(counts) and busiest.start_time.timestamp() <= batch.first <= busiest.end_time.timestamp():
            in_batch = f", where {batch.count:,} lastmods are {batch}"
    # The first period and the last one are incomplete.
    if (between := len(counts) - 2) >= _LEAST_PERIODS and not _has_gaps(part["period"]):
        median = f"; median of the {between:,} {freq}s between the first and the last: {counts[1:-1].median():,g} pages"
    most = most_frequent(counts, int(counts.sum()), "dated page", PERIODS[freq].name)
    return f"busiest {freq}: {most}{in_batch}{median}"


_LEAST_PERIODS = 3


def _is_tied(counts: pd.Series[int]) -> bool:
    """Whether several have the greatest count."""
    return bool((counts == counts.max()).sum() > 1)


def _busiest_of_many(frame: pd.DataFrame, *, freq: str) -> str:
    def name(part: pd.DataFrame) -> str:
        published = part[part["source"] != LASTMOD] if "source" in part else part
        counts = (published if len(published) else part).groupby("period", sort=False)["pages"].sum()
        if _is_tied(counts):
            return f"several {freq}s alike"
        return PERIODS[freq].name(getattr(counts.idxmax(), "start_time", counts.idxmax()))

    return count_sites(f"busiest {freq}:", name, frame)


_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_HOURS = {hour: f"{hour:02}:00" for hour in range(24)}
_DATED = {"weekday": "dated page", "hour": "time"}
_VALUES = {"weekday": [*_WEEKDAYS], "hour": [*_HOURS.values()]}


def weekday_hour(snapshot: SnapshotTables, tz: str) -> Measure:
    histories = site_histories(snapshot)
    try:
        zone = ZoneInfo(tz)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise UsageError(keyword="tz", value=tz, allowed='a time zone such as "Europe/Oslo" or "UTC"') from None
    pages = dated_pages(snapshot)
    left_out = {
        "without a lastmod": pages["lastmod"].isna(),
        "whose lastmod states only the year or month": pages["lastmod_precision"].isin(["year", "month"]),
        "whose lastmod is in the future": pages["lastmod"] > snapshot.at + DAY,
        # In another zone that may be year 0, which datetime lacks.
        "whose lastmod is in the year 1": pages["lastmod"].dt.year == 1,
    }
    counted, not_counted = without(pages, left_out)
    has_time = counted["lastmod_precision"].isin(TIMED)
    local = counted["lastmod"].dt.tz_convert(zone)
    # A stated day is that day in every time zone.
    weekday = local.dt.day_of_week.where(has_time, counted["lastmod"].dt.day_of_week)
    hour = local.dt.hour.where(has_time).astype("Int64")
    counted = counted.assign(
        weekday=pd.Categorical(weekday.map(dict(enumerate(_WEEKDAYS))), _WEEKDAYS, ordered=True),
        hour=hour,
        day=local.dt.tz_localize(None).where(has_time, counted["lastmod"].dt.tz_localize(None)).dt.normalize(),
    )
    by_day = counted.groupby(["site", "weekday", "hour", "day"], dropna=False).size().rename("pages").reset_index()
    frame = by_day.groupby(["site", "weekday", "hour"], dropna=False)["pages"].sum().reset_index()
    frame = in_site_order(frame, snapshot)
    finding = _find_in_words(
        by_day, snapshot, groups_of(snapshot, None), partial(_busiest_hours, tz=tz), _CLEAR_WEEKDAYS
    )
    rule = f"Pages by weekday and hour ({tz}) of their lastmod; a lastmod without a time has no hour."
    rule += news_rule(pages) + not_counted
    spec = ChartSpec(
        "heat",
        x="hour",
        y="weekday",
        x_title=f"hour ({tz})",
        part="pages",
        across={"weekday": "weekday", "hour": f"hour ({tz})"},
        cells="share of the site's pages with a day",
        sites=snapshot.sites,
    )
    return measure(frame, rule=rule, finding=finding, spec=spec, verdict=verdict(histories))


def _clear_weekday(part: pd.DataFrame) -> str:
    counts, sizes = _counts_and_sizes(part, "weekday")
    return str(counts.idxmax()) if _stands_out(counts, sizes) else "none"


_CLEAR_WEEKDAYS = partial(count_sites, "weekday with clearly more pages than others:", _clear_weekday)


def _busiest_hours(pages: pd.DataFrame, *, tz: str) -> str:
    if pages["hour"].isna().all():
        return f"{_peak(pages, 'weekday')}; no lastmod states a time"
    hours = pages.assign(hour=pages["hour"].map(_HOURS.get))
    return f"{_peak(pages, 'weekday')}; in {tz}, {_peak(hours, 'hour')}"


_AGES = {"0-7 days": 7, "8-30 days": 30, "31-90 days": 90, "91-365 days": 365}
_OLDER, _UNDATED, _FUTURE = "older", "undated", "in the future"
_AGE_CLASSES = (*_AGES, _OLDER, _UNDATED, _FUTURE)


def freshness(snapshot: SnapshotTables, by: str | None = None) -> Measure:
    histories, groups = site_histories(snapshot), groups_of(snapshot, by)
    pages = dated_pages(snapshot).assign(site=groups.labels)
    # As in stats and --since: a day counts if any part of it is within.
    days_old = days_between(pages["lastmod"], snapshot.at) - (pages["lastmod_precision"] == "day")
    age = pd.Series(_OLDER, index=pages.index)
    for name, days in reversed(_AGES.items()):
        age = age.mask(days_old <= days, name)
    pages["age"] = age.mask(is_future(pages, snapshot.at), _FUTURE).mask(pages["lastmod"].isna(), _UNDATED)
    counts = pages.groupby(["site", "age"], sort=False).size().rename("pages")
    rows = pd.MultiIndex.from_product([[*groups.sizes], _AGE_CLASSES], names=["site", "age"])
    frame = counts.reindex(rows, fill_value=0).reset_index()
    frame["share"] = share_of_site(frame)
    frame = frame[(frame["pages"] > 0) | (frame["age"] != _FUTURE)]
    finding = _find_in_words(frame, snapshot, groups, _recent_shares, _MOST_RECENT)
    rule = (
        f"{groups.pages} by the age of their lastmod on {snapshot.at:%Y-%m-%d}, each in the first class that fits. The "
        "age of a day counts from its end, that of a month or a year from its start."
    )
    rule += news_rule(pages)
    frame["age"] = pd.Categorical(frame["age"], _AGE_CLASSES, ordered=True).remove_unused_categories()
    spec = shares_of_pages("age", "age of the lastmod", **groups.panels)
    return measure(groups.divide(frame), rule=rule, finding=finding, spec=spec, verdict=verdict(histories))


def _share_of_recent(part: pd.DataFrame) -> float:
    pages = part.set_index("age")["pages"]
    return float(pages.reindex([*_AGES][:2]).sum() / pages.drop(_UNDATED).sum())


_MOST_RECENT = partial(rank_sites, "dated pages that changed within 30 days:", _share_of_recent, write=percent)


def _recent_shares(part: pd.DataFrame) -> str:
    pages = part.set_index("age")["pages"].reindex([*_AGE_CLASSES], fill_value=0)
    ages, total = [*_AGES], int(pages.sum())
    dated = total - int(pages[_UNDATED])
    month, year = int(pages[ages[:2]].sum()), int(pages[ages].sum())
    rest = f"; {total - dated:,} of {count_of(total, 'page')} without a lastmod" if dated < total else ""
    return f"{part_of(month, dated, 'dated page')} changed within 30 days, {part_of(year, dated)} within a year{rest}"


# --- when pages appeared ---

NEWS, SEEN, LASTMOD = "news", "first seen", "lastmod"
_FREQS = ("day", "week", "month")
# In the order of trust: what happened to a page on the date of each source.
_VERBS = {NEWS: "published", SEEN: "first seen", LASTMOD: "last changed"}
_FOUND = {NEWS: "published as news", SEEN: "first seen", LASTMOD: "by the last change, not by publication"}


def usable_lastmods(snapshot: SnapshotTables) -> pd.Series[bool]:
    """Whether the lastmod of each page is one of a sitemap whose lastmods can be trusted."""
    histories = sitemap_histories(snapshot).items()
    trusted = [key for key, history in histories if (judge_history(history).score or 0.0) >= TRUSTED_SCORE]
    pages = page_frame(snapshot, "sitemap").fillna({"sitemap": ""})
    return pd.Series(pd.MultiIndex.from_frame(pages).isin(trusted), pages.index)


def calendar(snapshot: SnapshotTables, freq: str, by: str | None = None) -> Measure:
    if freq not in _FREQS:
        raise UsageError(keyword="freq", value=freq, allowed=f"one of {', '.join(_FREQS)}")
    period = PERIODS[freq]
    groups = groups_of(snapshot, by)
    pages = page_dates(snapshot).assign(site=groups.labels)
    left_out = {
        "without such a date": pages["date"].isna(),
        f"whose date states only the {' or '.join(period.too_coarse)}": pages["precision"].isin(period.too_coarse),
        "whose date is in the future": pages["date"] > snapshot.at + DAY,
    }
    counted, not_counted = without(pages, left_out)
    frame = counts_by_period(counted[["site", "source", "date"]], "date", period)
    frame = frame.assign(period=frame["period"].dt.start_time)[["site", "period", "source", "pages"]]
    counted = counted.assign(period=counted["date"].dt.tz_localize(None).dt.to_period(period.alias).dt.start_time)
    frame["source"] = pd.Categorical(frame["source"], [*_VERBS], ordered=True)
    frame = frame.sort_values(["source", "period"], kind="stable")
    frame = groups.sort(frame)
    totals = pages.groupby("site", sort=False).size()
    describe = partial(_calendar_finding, counted=counted, totals=totals, freq=freq)
    describe_many, none = partial(_busiest_of_many, freq=freq), "no page states when it was published"
    finding = groups.find_in_words(frame, describe, describe_many, none)
    present = [name for name in _VERBS if name in {*frame["source"]}]
    title = f"pages by {freq} {' or '.join(_VERBS[name] for name in present) or _VERBS[NEWS]} (UTC)"
    spec = ChartSpec("columns", x="period", y="pages", x_title=title, period=freq, source="source", **groups.panels)
    by_source = counted["source"].value_counts()
    dated = ", ".join(f"{by_source[name]:,} by {name}" for name in _VERBS if by_source.get(name))
    rule = (
        f"{groups.pages} by the {freq} (UTC) of the first of these dates that is known: the publication date of "
        "news; when the page was first seen in the archive or state, that is after the reading before; the lastmod, if "
        f"those of its sitemap can be trusted ({TRUSTED_SCORE:g} or more), which is the last change and not "
        f"the first, and not if it is later than the first page seen as new. Dated: {dated or 'no page'}."
    )
    return measure(groups.divide(frame), rule=rule + not_counted, finding=finding, spec=spec)


def page_dates(snapshot: SnapshotTables) -> pd.DataFrame:
    """`site date precision source` of each page, null without a date."""
    pages = page_frame(snapshot, "sitemap", "lastmod", "lastmod_precision")
    seen = first_seen(snapshot)
    news, news_precision = news_dates(snapshot)
    histories = sitemap_histories(snapshot).items()
    trusted = [key for key, history in histories if (judge_history(history).score or 0.0) >= TRUSTED_SCORE]
    is_trusted = pd.MultiIndex.from_frame(pages[["site", "sitemap"]].fillna({"sitemap": ""})).isin(trusted)
    # A page of the oldest state with a later lastmod was updated then, and published before.
    began = seen.groupby(pages["site"]).transform("min")
    lastmod = pages["lastmod"].where(is_trusted & ~(pages["lastmod"] > began))
    dates = {NEWS: (news, news_precision), SEEN: (seen, "second"), LASTMOD: (lastmod, pages["lastmod_precision"])}
    found = pages[["site"]].assign(date=no_date(len(pages)), precision=None, source=None)
    found = found.astype({"precision": "str", "source": "str"})
    for source, (date, precision) in dates.items():
        is_new = found["date"].isna() & date.notna()
        found = found.assign(
            date=found["date"].where(~is_new, date),
            precision=found["precision"].where(~is_new, precision),
            source=found["source"].mask(is_new, source),
        )
    return found


def _calendar_finding(part: pd.DataFrame, *, counted: pd.DataFrame, totals: pd.Series[int], freq: str) -> str:
    site = part["site"].iloc[0]
    pages = counted[counted["site"] == site]
    by_source = pages["source"].value_counts()
    rest = ""
    if len(by_source) > 1 and LASTMOD in by_source:  # which says when a page changed last
        rest = f"; of {count_of(int(by_source[LASTMOD]), 'other page')} only the last change is known"
        pages, part = pages[pages["source"] != LASTMOD], part[part["source"] != LASTMOD]
    found = " and ".join(f"{by_source[name]:,} {words}" for name, words in _FOUND.items() if name in {*part["source"]})
    counts = part.groupby("period", sort=False)["pages"].sum()
    most = most_frequent(counts, int(totals[site]), "page", PERIODS[freq].name)
    batch = "" if _is_tied(counts) else _batch(pages, counts.idxmax(), freq)
    return f"busiest {freq}: {most}{batch}; dated: {found}{rest}"


def _batch(pages: pd.DataFrame, period: Any, freq: str) -> str:
    """`, 118 of them on 2026-03-04`, if half of the pages of a period or more have one day, or one time of a day."""
    dates = pages.loc[pages["period"] == period, "date"]
    moments = dates if freq == "day" else dates.dt.floor("D")
    counts = moments.value_counts()
    if len(dates) < 2 or counts.iloc[0] < len(dates) / 2:
        return ""
    moment = counts.index[0]
    when = f"at {moment:%H:%M} UTC" if freq == "day" else f"on {moment:%Y-%m-%d}"
    return f", {'all' if counts.iloc[0] == len(dates) else f'{counts.iloc[0]:,} of them'} {when}"


# --- how far lastmods can be trusted ---

_TRUST_RULE = (
    "Each sitemap's lastmods: how many are of its largest batch (dense), whose date is in the column batch; in the "
    "future; or at the time of the request, if five or more are. A batch is ten or more, and 5%, within ten minutes; "
    "of lastmods without a time half on one day. Those of the day that their URL or news states are no evidence. "
    "The score is 1 if none of this is found, 0 if they carry no information, and empty if there are none; coverage is "
    "the share of URLs that have one."
)
_TRUST_COUNTS = ("dated", "dense", "future", "at_fetch")  # of History
_TRUST_COLUMNS = ["urls", "dated", "coverage", "dense", "batch", "future", "at_fetch", "score", "trust", "reasons"]


@once
def sitemap_histories(snapshot: SnapshotTables) -> dict[tuple[str, str], History]:
    """(site, sitemap) -> counts of its lastmods, those of listings."""
    urls = snapshot.urls.to_pandas(["site", "sitemap", "lastmod", "lastmod_precision"])
    urls["sitemap"] = urls["sitemap"].fillna("")
    codes = urls["lastmod_precision"].map(PRECISION_CODES)
    micros = urls["lastmod"].astype("int64")
    urls["number"] = micros.where(codes == SUBSECOND, micros // 1_000_000)
    urls["code"] = codes.astype("Int64")
    urls["confirmed"] = _confirmed(snapshot, urls["lastmod"], urls["lastmod_precision"].isin(TIMED))
    groups = urls.groupby(["site", "sitemap"], sort=False)
    return {(str(site), str(sitemap)): _history(part, snapshot) for (site, sitemap), part in groups}


def _confirmed(snapshot: SnapshotTables, lastmods: pd.Series[Any], has_time: pd.Series[bool]) -> pd.Series[bool]:
    """confirmed_lastmods() of all listings."""
    news = snapshot.urls.stored["news"]
    keys = ("publication_date", "publication_date_precision")
    published, precisions = (compute.struct_field(news, key).to_pandas() for key in keys)
    day = lastmods.dt.floor("D")
    is_news = (published.dt.floor("D") == day) & ~(has_time & precisions.isin(TIMED))
    stated, precisions = url_dates(snapshot.urls.stored["loc"])
    return is_news | ((stated == day) & (precisions == "day"))


def url_dates(locs: pa.ChunkedArray) -> tuple[pd.Series[Any], pd.Series[str]]:
    """The dates that date_in_url() finds in URLs, and their precisions; null where there is none."""
    likely = compute.if_else(compute.match_substring_regex(locs, "|".join(HINTS)), locs, None)
    found = compute.extract_regex(likely, URL_DATE).combine_chunks()
    texts = compute.binary_join_element_wise(*(compute.struct_field(found, name) for name in ("day", "month")), "")
    texts = texts.dictionary_encode()
    stated = [date_in_url(text) or (None, None) for text in texts.dictionary.to_pylist()]
    dates = pa.array([date for date, _ in stated], pa.timestamp("us", "UTC")).take(texts.indices)
    precisions = pa.array([precision for _, precision in stated], pa.string()).take(texts.indices)
    return dates.to_pandas(), precisions.to_pandas()


def _history(urls: pd.DataFrame, snapshot: SnapshotTables) -> History:
    evidence = LastmodEvidence(entries=int(urls["lastmod"].isna().sum()))
    dated = urls[urls["lastmod"].notna()]
    codes = [None if code is pd.NA else code for code in dated["code"].tolist()]
    confirmed = dated["confirmed"].tolist()
    evidence.add(dated["number"].tolist(), codes, confirmed=confirmed if any(confirmed) else ())
    if snapshot.read_at is not None and snapshot.read_until is not None:
        for moment in (snapshot.read_at, snapshot.read_until):
            evidence.read(moment.timestamp())
    return evidence.history(as_of=(snapshot.read_until or snapshot.at).timestamp())


@once
def site_histories(snapshot: SnapshotTables) -> dict[str, History]:
    parts: dict[str, list[History]] = {site: [] for site in snapshot.sites}
    for (site, _), history in sitemap_histories(snapshot).items():
        parts[site].append(history)
    return {site: total(some) for site, some in parts.items()}


def verdict(sites: Mapping[str, History]) -> str:
    """Of many: `Lastmods can be trusted at a.example and b.example; are missing at 5 sites`."""

    def name(part: pd.DataFrame) -> str:
        return trust_class(judge_history(sites[part["site"].iloc[0]]))

    return find_in_words(
        pd.DataFrame({"site": [*sites]}),
        [*sites],
        lambda part: f"lastmods {_verdict(sites[part['site'].iloc[0]])}",
        partial(count_sites, "lastmods", name),
        "there is no URL",
    )


def _verdict(history: History) -> str:
    trust = judge_history(history)
    if trust.score is None:
        return f"{trust_in_words(trust)}: no URL has one"
    share = percent(history.dated / history.entries)
    dated = f" for the {share} of URLs that have one" if history.dated < history.entries else ""
    is_usable, reasons = trust.score >= _LEAST_SCORE, "; ".join(trust.reasons) or "no fault was found"
    if trust.score < TRUSTED_SCORE:
        reasons = f"{'some may not be' if is_usable else 'they are hardly'} dates of changes; {reasons}"
    return f"{trust_in_words(trust)}{dated}: {reasons}"


def lastmod_trust(snapshot: SnapshotTables) -> Measure:
    histories = sitemap_histories(snapshot)
    rows = []
    for (site, sitemap), history in histories.items():
        trust = judge_history(history)
        counts = {name: getattr(history, name) for name in _TRUST_COUNTS}
        row = {"site": site, "sitemap": sitemap, "urls": history.entries, "coverage": trust.coverage, **counts}
        batch = history.batches[0].date if history.batches else None
        rows.append(
            {
                **row,
                "batch": batch,
                "score": trust.score,
                "trust": trust_class(trust),
                "reasons": "; ".join(trust.reasons),
            }
        )
    frame = pd.DataFrame(rows, columns=["site", "sitemap", *_TRUST_COLUMNS]).astype({"score": float, "coverage": float})
    worst_first = frame.sort_values(["score", "urls"], ascending=[True, False], kind="stable")
    frame = in_site_order(worst_first, snapshot)
    frame["trust"] = pd.Categorical(frame["trust"], TRUST_CLASSES, ordered=True)
    spec = ChartSpec(
        "rows",
        x="score",
        y="sitemap",
        x_title="score (0 to 1)",
        part="urls",
        across={"trust": "lastmods"},
        cells="share of the site's URLs, by the score of their sitemap",
        text="reasons",
        format=".2f",
        ends=(0, 1),
        max_rows=20,
        sites=snapshot.sites,
    )
    return measure(frame, rule=_TRUST_RULE, finding=verdict(site_histories(snapshot)), spec=spec)
