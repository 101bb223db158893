"""Measures of dates.

One function decides for all of them which date of a page counts: no conclusion is drawn from lastmods that cannot be
trusted, nor from those of a build. The rule is that of frontier/lastmod_trust.py for a single reading: whether a
lastmod changes together with its page takes two. No date is treated as more precise than it was stated: one without a
day has no weekday, one without a time no hour.

When a page appeared, a publication date of news states, and a date in its URL. A first-seen date, from an archive or a
state, is that of the first reading which found the page: it appeared after the reading before. A lastmod is the last
change only.
"""

from __future__ import annotations

from functools import partial
from itertools import groupby
from math import inf, sqrt
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
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
    score_in_words,
    total,
    trust_class,
    trust_in_words,
)
from ..model.columns import SUBSECOND
from ..model.problems import percent
from ..model.url_batch import PRECISION_CODES
from ..parser.normalise.dates import DAY, HINTS, TIMED, URL_DATE, date_in_url
from .archive import every_page
from .chart_spec import ChartSpec, shares_of_pages
from .measure import (
    MAX_SITES,
    count_sites,
    days_between,
    find_in_words,
    first_seen,
    groups_of,
    in_site_order,
    is_future,
    is_in,
    measure,
    most_frequent,
    name_some,
    news_dates,
    page_frame,
    part_of,
    rank_sites,
    share_of_site,
    sites_by_label,
)
from .periods import MAX_PERIODS, PERIODS, counts_by_period, freq_name, in_zone, period_count, period_end, time_zone
from .tables import once

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from zoneinfo import ZoneInfo

    from .measure import Groups, Measure
    from .tables import SnapshotTables

# --- which date of a page counts ---

NEWS, URL, SEEN, LASTMOD = "news", "url", "first seen", "lastmod"
# Below it lastmods cannot be trusted: their dates say nothing about the pages.
_LEAST_SCORE = 0.5
# Fewer dates than this may be chance in any case: neither are lastmods of a sitemap judged by them, but by those of all
# sitemaps of its site, nor does a weekday stand out.
_LEAST_DATES = 10
# Why a page is not counted, after `5 pages`.
_UNDATED = "without a date"
_UNTRUSTED = f"of sitemaps whose lastmods cannot be trusted (below {_LEAST_SCORE:g})"
_BUILT = f"with the lastmod of a build or an import, of sitemaps whose lastmods are doubtful (below {TRUSTED_SCORE:g})"
_IN_FUTURE = "whose date is in the future"
_EVIDENCE_SHARE = 1 - TRUSTED_SCORE  # from which on dates are doubtful, or URLs state no dates of publication
_NEWS_DATE = "publication date"

Dates = tuple[Any, Any]  # dates in UTC, null if unknown, and their precisions


@once
def _lastmods(snapshot: SnapshotTables) -> pd.DataFrame:
    """`date precision is_doubtful left_out`: the lastmod of each page; null where it does not count, with the reason.

    That of a sitemap which cannot be trusted does not count, nor of a doubtful one that of a build or an import.
    """
    pages = page_frame(snapshot, "sitemap", "lastmod", "lastmod_precision")
    seconds = pages["lastmod"].astype("int64").to_numpy() // 1_000_000
    reasons, is_doubtful = np.zeros(len(pages), "int8"), np.zeros(len(pages), bool)
    of_sites, of_sitemaps = site_histories(snapshot), sitemap_histories(snapshot)
    for key, rows in pages.fillna({"sitemap": ""}).groupby(["site", "sitemap"], sort=False).indices.items():
        history = of_sitemaps[key]
        history = history if history.dated >= _LEAST_DATES else of_sites[key[0]]
        score = judge_history(history).score
        if score is None or score >= TRUSTED_SCORE:
            continue
        is_doubtful[rows] = True
        for batch in history.batches:
            reasons[rows[(batch.first <= seconds[rows]) & (seconds[rows] <= batch.last)]] = 2
        if score < _LEAST_SCORE:
            reasons[rows] = 1
    read_until = snapshot.read_until or snapshot.at
    late = is_future(pages["lastmod"], pages["lastmod_precision"], read_until)  # which is a reason of its own
    reasons[pages["lastmod"].isna() | late] = 0
    left_out = pd.Categorical.from_codes(reasons - 1, [_UNTRUSTED, _BUILT])
    return pd.DataFrame(
        {
            "date": pages["lastmod"].where(reasons == 0),
            "precision": pages["lastmod_precision"],
            "is_doubtful": is_doubtful,
            "left_out": left_out,
        }
    )


def usable_lastmods(snapshot: SnapshotTables) -> pd.Series[bool]:
    """Whether the lastmod of each page may be the date of a change."""
    return _lastmods(snapshot)["left_out"].isna()


def _last_changes(snapshot: SnapshotTables) -> dict[str, Dates]:
    lastmods = _lastmods(snapshot)
    return {LASTMOD: (lastmods["date"], lastmods["precision"]), NEWS: news_dates(snapshot)}


def _publications(snapshot: SnapshotTables) -> dict[str, Dates]:
    """In the order of trust."""
    lastmods, seen = _lastmods(snapshot), first_seen(snapshot)
    # A page of the oldest state with a later lastmod was updated then, and published before.
    began = seen.groupby(page_frame(snapshot)["site"]).transform("min")
    lastmod = lastmods["date"].where(~(lastmods["date"] > began))
    second = pd.Series("second", index=seen.index)
    return {
        NEWS: news_dates(snapshot),
        URL: _url_dates(snapshot),
        SEEN: (seen, second),
        LASTMOD: (lastmod, lastmods["precision"]),
    }


@once
def _url_dates(snapshot: SnapshotTables) -> Dates:
    """The dates in URLs of sites where these are of publication: nearly none is later than the page is known to be."""
    dates, precisions = url_dates(snapshot.pages.stored["loc"])
    is_late = dates > snapshot.at + DAY
    for known in (first_seen(snapshot), _lastmods(snapshot)["date"]):
        is_late |= dates > known + DAY
    late_share = is_late[dates.notna()].groupby(page_frame(snapshot)["site"]).mean()
    is_event = page_frame(snapshot)["site"].map(late_share) > _EVIDENCE_SHARE
    return dates.where(~is_late & ~is_event), precisions


def _first_dates(sources: dict[str, Dates], too_coarse: Collection[str]) -> pd.DataFrame:
    """`date precision source`: of each page the first date that is known and fine enough, or if none is, the first."""
    (date, precision), *others = sources.values()
    codes = np.full(len(date), -1)
    for coarse in (too_coarse, ()):
        for code, (dates, precisions) in enumerate(sources.values()):
            codes[(codes < 0) & (dates.notna() & ~is_in(precisions, [*coarse])).to_numpy()] = code
    date, precision = date.where(codes == 0), precision.where(codes == 0)
    for code, (dates, precisions) in enumerate(others, 1):
        date, precision = date.mask(codes == code, dates), precision.mask(codes == code, precisions)
    source = pd.Categorical.from_codes(codes, [*sources], ordered=True)
    return pd.DataFrame({"date": date, "precision": precision, "source": source})


@attrs.frozen
class _DatedPages:
    """The pages of which a measure of dates is, and how it says so.

    `pages` has `site date precision source is_doubtful left_out local`: the first date that is known and fine enough,
    why it does not count, else null, and the date in the time zone, if it counts. `rest` has sentences of a rule: which
    pages count although they are no longer listed, and why others do not count.
    """

    snapshot: SnapshotTables
    groups: Groups
    pages: pd.DataFrame
    zone: ZoneInfo
    rest: str

    @property
    def counted(self) -> pd.DataFrame:
        return self.pages[self.pages["left_out"].isna()]

    def what(self, names: Mapping[str, str]) -> str:
        """The dates that count, as `names` has them: `lastmod or publication date`."""
        sources = {*self.counted["source"]}
        known = dict.fromkeys(name for source, name in names.items() if source in sources)  # several may have one
        return " or ".join(known) or next(iter(names.values()))

    def measure(self, frame: pd.DataFrame, *, rule: str, has_verdict: bool = True, **parts: Any) -> Measure:
        """The Measure of a frame, with the keywords of measure()."""
        news = self.counted.loc[self.counted["source"] == NEWS, "site"].unique()
        published = {self.groups.site(label) for label in news}
        trust = verdict(site_histories(self.snapshot), published) if has_verdict else None
        return measure(self.groups.divide(frame), rule=rule + self.rest, verdict=trust, **parts)

    def find_in_words(
        self,
        frame: pd.DataFrame,
        describe: Callable[[pd.DataFrame], str],
        describe_many: Callable[[pd.DataFrame], str],
        undated: str = "no page has a lastmod",
        *,
        is_calendar: bool = False,
    ) -> str:
        """As Groups.find_in_words(); each sentence begins with what its dates are, if not lastmods to be trusted.

        `undated` is that of a group of which no page has a date. A calendar names its dates, and concludes from the
        best.
        """
        counted = self.counted
        kinds = counted.assign(is_lastmod=counted["source"] == LASTMOD, is_news=counted["source"] == NEWS)
        shares = kinds.groupby("site")[["is_doubtful", "is_lastmod", "is_news"]].mean().itertuples()
        voices = {label: self._voice(label, *each, is_calendar=is_calendar) for label, *each in shares}
        others = self.pages[~is_in(self.pages["site"], [*voices])]
        reasons = others.groupby(["site", "left_out"], observed=True).size()

        def conclude(part: pd.DataFrame) -> str:
            return ", ".join(filter(None, [voices[part["site"].iloc[0]], describe(part)]))

        def conclude_many(frame: pd.DataFrame) -> str:
            stated = pd.Series({label: voice for label, voice in voices.items() if voice}, dtype=object)
            return "; ".join([describe_many(frame), *sites_by_label(stated)])

        def without(label: str) -> str:
            if label and not self.groups.sizes[label]:
                return "there is no page"
            return self._no_conclusion(label, reasons[label] if label else pd.Series({_UNDATED: 0}), undated)

        return self.groups.find_in_words(frame[is_in(frame["site"], [*voices])], conclude, conclude_many, without)

    def _voice(self, label: str, doubtful: float, lastmod: float, news: float, *, is_calendar: bool) -> str:
        kinds = []
        if lastmod == 1 if is_calendar else lastmod >= _EVIDENCE_SHARE:
            degree = "partly doubtful" if doubtful < TRUSTED_SCORE * lastmod else "doubtful"
            is_doubtful = doubtful >= _EVIDENCE_SHARE
            kinds = [f"{degree} lastmods{self._score(label, 'are doubtful')}" if is_doubtful else "lastmod"]
        if news >= _EVIDENCE_SHARE and not is_calendar:
            kinds.append(_NEWS_DATE)
        return f"by {' and '.join(kinds)}" if kinds not in ([], ["lastmod"]) else ""

    def _no_conclusion(self, label: str, counts: pd.Series[int], undated: str) -> str:
        if _UNTRUSTED in counts:
            return f"no conclusion: lastmods cannot be trusted{self._score(label, 'cannot be trusted')}"
        if _BUILT in counts:
            score = self._score(label, "are doubtful")
            return f"no conclusion: lastmods are doubtful{score}, and all are of builds or imports"
        if [*counts.index] == [_UNDATED]:
            return undated
        return "no date counts" + ("" if len(self.groups.sites) > MAX_SITES else f": {_numbers(counts)}")

    def _score(self, label: str, judgement: str) -> str:
        """The score of the site, if that is its trust_class(), and the finding is of few sites."""
        trust = judge_history(site_histories(self.snapshot)[self.groups.site(label)])
        is_of_site = self.groups.by is None and len(self.groups.sites) <= MAX_SITES
        return score_in_words(trust) if is_of_site and trust_class(trust) == judgement else ""


def _date_pages(
    snapshot: SnapshotTables,
    by: str | None,
    sources: Callable[[SnapshotTables], dict[str, Dates]],
    *,
    tz: str = "UTC",
    too_coarse: Collection[str] = (),
) -> _DatedPages:
    """The pages by their dates in a time zone; a stated day, month or year is that in every zone."""
    zone, groups, lastmods = time_zone(tz), groups_of(snapshot, by), _lastmods(snapshot)
    pages = _first_dates(sources(snapshot), too_coarse)
    utc, precision = pages["date"], pages["precision"]
    reasons = {
        _IN_FUTURE: is_future(utc, precision, snapshot.read_until or snapshot.at),
        f"whose date states only the {' or '.join(too_coarse)}": is_in(precision, [*too_coarse]),
        # In another zone that may be year 0, which datetime lacks.
        "whose date is in the year 1": utc.dt.year == 1,
    }
    left_out = lastmods["left_out"].cat.add_categories([_UNDATED, *reasons]).fillna(_UNDATED).where(utc.isna())
    for reason, is_so in reasons.items():
        left_out = left_out.mask(left_out.isna() & is_so, reason)
    utc = utc.where(left_out.isna())
    local = utc.dt.tz_convert(zone).dt.tz_localize(None).where(is_in(precision, [*TIMED]), utc.dt.tz_localize(None))
    is_doubtful = lastmods["is_doubtful"] & (pages["source"] == LASTMOD)
    pages = pages.assign(site=groups.labels, is_doubtful=is_doubtful, left_out=left_out, local=local)
    numbers = _numbers(left_out.value_counts(sort=False))
    return _DatedPages(snapshot, groups, pages, zone, f" Not counted: {numbers}." if numbers else "")


def _date_every_page(snapshot: SnapshotTables, by: str | None, sources: Any, **options: Any) -> _DatedPages:
    """Also of the pages of an archive that are no longer listed."""
    every, removed = every_page(snapshot)
    dated = _date_pages(every, by, sources, **options)
    return attrs.evolve(dated, rest=removed + dated.rest)


def _numbers(reasons: pd.Series[int]) -> str:
    return ", ".join(f"{count_of(count, 'page')} {reason}" for reason, count in reasons.items() if count)


# --- when pages changed ---

# The dates of which a measure of changes is, in its rule and its chart.
_CHANGES = {LASTMOD: "lastmod", NEWS: _NEWS_DATE}


def cadence(snapshot: SnapshotTables, freq: str, *, tz: str = "UTC", by: str | None = None) -> Measure:
    freq = freq_name(freq)
    period = PERIODS[freq]
    dated = _date_every_page(snapshot, by, _last_changes, tz=tz, too_coarse=period.too_coarse)
    counted, what = dated.counted, dated.what(_CHANGES)
    frame = dated.groups.sort(counts_by_period(counted[["site", "local"]], "local", period))

    def describe(part: pd.DataFrame) -> str:
        return _busiest(part, counted, freq=freq, tz=tz) + _median(part.set_index("period")["pages"], freq)

    finding = dated.find_in_words(frame, describe, partial(_busiest_of_many, freq=freq))
    rule = f"{dated.groups.pages} by the {freq} of their {what} ({tz}).{_change_rule(counted)}"
    if any(_has_gaps(part["period"], freq) for _, part in frame.groupby("site", sort=False)):
        rule += f" The dates span more than {MAX_PERIODS:,} {freq}s: those without a page have no row."
    frame["period"] = in_zone(frame["period"], dated.zone)
    title = f"pages by {freq} of {what} ({tz})"
    spec = ChartSpec("columns", x="period", y="pages", x_title=title, period=freq, **dated.groups.panels)
    return dated.measure(frame, rule=rule, finding=finding, spec=spec)


def _change_rule(counted: pd.DataFrame) -> str:
    sources = counted["source"].value_counts()
    last = " A lastmod is the last change only: earlier ones are unknown." if sources[LASTMOD] else ""
    news = f" {count_of(int(sources[NEWS]), 'page')} of news have no lastmod that counts." if sources[NEWS] else ""
    return last + (news if last else "")


def _has_gaps(starts: pd.Series[Any], freq: str) -> bool:
    return period_count(starts, freq) > len(starts)


def _busiest(part: pd.DataFrame, counted: pd.DataFrame, *, freq: str, tz: str) -> str:
    counts, name = part.groupby("period", sort=False)["pages"].sum(), PERIODS[freq].name
    most = counts[counts == counts.max()]
    if counts.max() == 1:
        names = name_some([*map(name, most.index)])
        return f"no {freq} has several dated pages, {names} {'has 1' if len(most) == 1 else 'have 1 each'}"
    if len(most) > _MAX_TIED:
        share = part_of(int(most.iloc[0]), int(counts.sum()), "dated page", each=" each")
        first, last = name(most.index.min()), name(most.index.max())
        return f"busiest: {len(most):,} {freq}s between {first} and {last} with {share}"
    found = f"busiest {freq}{'s' * (len(most) > 1)}: {most_frequent(counts, int(counts.sum()), 'dated page', name)}"
    pages = counted[counted["site"] == part["site"].iloc[0]]
    start, end = most.index[0], period_end(most.index[0], freq)
    of_period = (pages["local"] >= start) & (pages["local"] < end)
    return found if len(most) > 1 else found + _batch(pages[of_period], freq, tz)


def _batch(pages: pd.DataFrame, freq: str, tz: str) -> str:
    """`, 118 of them on 2026-03-04`, if half of the pages of a period or more have one day, or one time of a day."""
    has_day = ~is_in(pages["precision"], ["year", "month"] if freq != "day" else ["day"])
    has_day &= (freq != "day") | (pages["source"] != SEEN)  # all pages that a reading finds have its time
    moments = pages.loc[has_day, "local"]
    counts = (moments if freq == "day" else moments.dt.floor("D")).value_counts()
    if counts.empty or counts.iloc[0] < max(2, len(pages) / 2):
        return ""
    moment = counts.index[0]
    when = f"at {moment:%H:%M} {tz}" if freq == "day" else f"on {moment:%Y-%m-%d}"
    # A page that was first seen appeared at some time after the reading before.
    seen = "first seen " * bool((pages["source"] == SEEN).all())
    return f", {'all' if counts.iloc[0] == len(pages) else f'{counts.iloc[0]:,} of them'} {seen}{when}"


def _median(counts: pd.Series[int], freq: str) -> str:
    """The first period and the last one are incomplete."""
    between = len(counts) - 2
    if between < _LEAST_PERIODS or _has_gaps(counts.index.to_series(), freq):
        return ""
    pages = float(counts[1:-1].median())
    return f"; median of the {between:,} {freq}s between the first and the last: {pages:,g} page{'s' * (pages != 1)}"


_LEAST_PERIODS = 3
_MAX_TIED = 3  # periods that a finding names one by one


def _busiest_of_many(frame: pd.DataFrame, *, freq: str) -> str:
    def name(part: pd.DataFrame) -> str:
        published = part[part["source"] != LASTMOD] if "source" in part else part
        counts = (published if len(published) else part).groupby("period", sort=False)["pages"].sum()
        if counts.max() == 1:
            return "none with several pages"
        most = counts.index[counts == counts.max()]
        return PERIODS[freq].name(most[0]) if len(most) == 1 else f"several {freq}s alike"

    return count_sites(f"busiest {freq}:", name, frame)


# A value stands out if chance would make it as frequent, or as rare, in one of some hundred sites: its distance from
# the mean, in standard deviations of evenly spread days.
_LEAST_DEVIATION = 3.0
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_HOURS = {hour: f"{hour:02}:00" for hour in range(24)}
_DATED = {"weekday": "dated page", "hour": "time"}
_VALUES = {"weekday": [*_WEEKDAYS], "hour": [*_HOURS.values()]}
_MAX_RUNS = 2


def _stands_out(counts: pd.Series[Any], sizes: pd.Series[Any]) -> bool:
    """Whether the most frequent value is too frequent for chance, also without its largest day.

    `sizes` are the pages of each day, by value and day. Pages of a day are no independent dates, as one edit or import
    changes many: the days are spread evenly over the values, each with all its pages. Days of equal size count as so
    many dates, a few large ones as fewer than there are.
    """
    largest = int(sizes[counts.idxmax()].max())
    mean, deviation = _chance(counts, sizes, largest)
    is_enough = counts.max() * counts.sum() / int((sizes**2).sum()) >= _LEAST_DATES
    return bool(is_enough and counts.max() - largest - mean >= _LEAST_DEVIATION * deviation)


def _rare_values(counts: pd.Series[Any], sizes: pd.Series[Any]) -> list[str]:
    """The values that are too rare for chance, also without the largest day of all; none if they lie scattered."""
    mean, deviation = _chance(counts, sizes, int(sizes.max()))
    rare = [*counts.index[mean - counts >= _LEAST_DEVIATION * deviation]] if deviation else []
    return rare if len(_runs(rare, [*counts.index])) <= _MAX_RUNS else []


def _chance(counts: pd.Series[Any], sizes: pd.Series[Any], without: int) -> tuple[float, float]:
    """The mean of evenly spread days without one of this size, and the standard deviation."""
    share, squares = 1 / len(counts), int((sizes**2).sum()) - without**2
    return (counts.sum() - without) * share, sqrt(share * (1 - share) * squares)


def _rhythm(pages: pd.DataFrame, noun: str) -> tuple[pd.Series[Any], pd.Series[Any], list[str], list[str], list[str]]:
    """The dates of each weekday or hour, and of each of its days; then the most frequent values if they stand out,
    those that are clearly more frequent than others, and those that are clearly rarer."""
    sizes = pages.dropna(subset=noun).groupby([noun, "day"], observed=True)["pages"].sum()
    counts = sizes.groupby(level=0).sum().reindex(_VALUES[noun], fill_value=0)
    rare = _rare_values(counts, sizes)
    rest = counts.drop(rare)
    of_rest = sizes[sizes.index.get_level_values(0).isin(rest.index)]
    is_peak = len(rest) == 1 or _stands_out(rest, of_rest)
    return counts, sizes, [*rest.index[rest == rest.max()]] if is_peak else [], [*rest.index] if rare else [], rare


def _runs(values: list[str], every: list[str]) -> list[list[str]]:
    """The values, those together that follow each other, also over the end: Sat, Sun and Mon."""
    start = next((number for number, value in enumerate(every) if value not in values), 0)
    turned = groupby([*every[start:], *every[:start]], values.__contains__)
    return [[*run] for is_among, run in turned if is_among]


def _spans(values: list[str], noun: str) -> str:
    """`Mon to Fri`, `Sat and Sun`, `08:00 to 17:59`."""
    runs = _runs(values, _VALUES[noun])
    if noun == "hour":
        return " and ".join(f"{run[0]} to {run[-1][:2]}:59" for run in runs)
    names = [name for run in runs for name in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else run)]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _rhythm_in_words(pages: pd.DataFrame, noun: str) -> str:
    counts, sizes, most, often, rare = _rhythm(pages, noun)
    if (dates := int(counts.sum())) < _LEAST_DATES:
        return f"too few dates ({dates}) to compare {noun}s"
    few = f"{'fewest' if counts[rare].any() else 'none'} {'on' if noun == 'weekday' else 'from'}"
    fewest = f"; {few} {_spans(rare, noun)}" if len(rare) < len(often) else ""
    if most:
        found = most_frequent(counts[most], dates, _DATED[noun])
        return f"most frequent {noun}{'s' * (len(most) > 1)}: {found}{fewest}"
    if often:
        part = part_of(int(counts[often].sum()), dates, _DATED[noun])
        return f"{'the hours ' * (noun == 'hour')}{_spans(often, noun)} have {part}{fewest}"
    days = sizes[counts.idxmax()]
    if (largest := int(days.max())) > counts.max() / 2:
        top = f"{counts.max():,} pages of {counts.idxmax()}"
        return f"no {noun} stands out: {largest:,} of {top} are of one day, {days.idxmax():%Y-%m-%d}"
    if (count := sizes.index.get_level_values("day").nunique()) < _LEAST_DATES:
        return f"too few days ({count}) to compare {noun}s"
    return f"no {noun} has clearly more pages than the others"


def weekday_hour(snapshot: SnapshotTables, *, tz: str = "UTC") -> Measure:
    dated = _date_every_page(snapshot, None, _last_changes, tz=tz, too_coarse=("year", "month"))
    counted = dated.counted
    moments = {"": counted["local"], "utc_": counted["date"].dt.tz_localize(None)}
    has_hour = is_in(counted["precision"], [*TIMED]) & ~_is_midnight(counted)
    weekday = pd.Categorical.from_codes(counted["local"].dt.day_of_week.astype("int8"), _WEEKDAYS, ordered=True)
    by_day = pd.DataFrame({"site": counted["site"], "weekday": weekday})
    for clock, times in moments.items():
        by_day[f"{clock}hour"] = times.dt.hour.where(has_hour).astype("Int64")
        by_day[f"{clock}day"] = times.dt.normalize()
    by_day = by_day.groupby([*by_day], dropna=False, observed=True).size().rename("pages").reset_index()
    frame = by_day.groupby(["site", "weekday", "hour"], dropna=False, observed=True)["pages"].sum().reset_index()
    finding = dated.find_in_words(by_day, partial(_rhythms, tz=tz), _CLEAR_WEEKDAYS)
    rule = (
        f"Pages by weekday and hour ({tz}) of their {dated.what(_CHANGES)}; one without a time has no hour, nor has "
        "one of a site whose times are nearly all midnight, or two full hours that follow each other, as midnight "
        f"elsewhere in summer and winter.{_change_rule(counted)}"
    )
    spec = ChartSpec(
        "heat",
        x="hour",
        y="weekday",
        x_title=f"hour ({tz})",
        part="pages",
        across={"weekday": "weekday", "hour": f"hour ({tz})"},
        cells="share of the site's pages with a day",
        **dated.groups.panels,
    )
    return dated.measure(dated.groups.sort(frame), rule=rule, finding=finding, spec=spec)


def _is_midnight(pages: pd.DataFrame) -> pd.Series[bool]:
    """Whether each page is of a site whose times are those of a program that writes a day as its midnight.

    It is midnight in `tz`, or of a zone with summer time: then they have two hours that follow each other, no minutes.
    """
    timed = pages.loc[is_in(pages["precision"], [*TIMED]), ["site", "local"]]
    hours = timed["local"].dt.hour.where(timed["local"] == timed["local"].dt.floor("h"))
    return is_in(pages["site"], [site for site, part in hours.groupby(timed["site"]) if _are_midnight(part)])


def _are_midnight(hours: pd.Series[Any]) -> bool:
    counts, dates = hours.value_counts(), len(hours)
    if dates < _LEAST_DATES or counts.empty:
        return False
    one, *other = counts.index[:2]
    is_two = bool(other) and abs(one - other[0]) in (1, 23) and counts.iloc[1] >= (1 - _MIDNIGHT_SHARE) * dates
    return bool(max(counts.get(0, 0), counts.iloc[:2].sum() if is_two else 0) >= _MIDNIGHT_SHARE * dates)


_MIDNIGHT_SHARE = 0.9  # 104 of 106 of a Hugo blog, 103 of 103 of a blog at +06:00 and +07:00


def _clear_weekdays(part: pd.DataFrame) -> str:
    _, _, most, often, _ = _rhythm(part, "weekday")
    return _spans(most or often, "weekday") or "none"


_CLEAR_WEEKDAYS = partial(count_sites, "weekdays with clearly more pages than others:", _clear_weekdays)


def _rhythms(pages: pd.DataFrame, *, tz: str) -> str:
    weekdays = _rhythm_in_words(pages, "weekday")
    if pages["hour"].isna().all():
        return f"{weekdays}; no date states a time"
    local = pages.assign(hour=pages["hour"].map(_HOURS.get))
    return f"{weekdays}; {_hour_of_utc(pages, local, tz) or f'in {tz}, ' + _rhythm_in_words(local, 'hour')}"


def _hour_of_utc(pages: pd.DataFrame, local: pd.DataFrame, tz: str) -> str:
    """The most frequent hour of UTC, if it is two hours in a zone with summer time; else nothing."""
    in_utc = pages.assign(hour=pages["utc_hour"].map(_HOURS.get), day=pages["utc_day"])
    counts, _, most, *_ = _rhythm(in_utc, "hour")
    if len(most) != 1 or counts.max() <= local.groupby("hour")["pages"].sum().max():
        return ""
    names = " or ".join(sorted(local.loc[in_utc["hour"] == most[0], "hour"].unique()))
    part = part_of(int(counts.max()), int(counts.sum()), "time")
    return f"most frequent hour: {most[0]} UTC ({names} {tz}) with {part}"


_AGES = {"0-7 days": 7, "8-30 days": 30, "31-90 days": 90, "91-365 days": 365}
# Untrusted: with a lastmod that does not count.
_OLDER, _UNDATED_AGE, _UNTRUSTED_AGE, _FUTURE = "older", "undated", "untrusted", "in the future"
_NOT_DATED = {_UNDATED_AGE: "no date", _UNTRUSTED_AGE: "a date that does not count", _FUTURE: "a date in the future"}
_AGE_CLASSES = (*_AGES, _OLDER, *_NOT_DATED)


def freshness(snapshot: SnapshotTables, by: str | None = None) -> Measure:
    """Of the pages that are listed now: how old a removed page would be says nothing about the site."""
    dated = _date_pages(snapshot, by, _last_changes)
    pages, counted, what = dated.pages, dated.counted, dated.what(_CHANGES)
    # As in stats and --since: a day counts if any part of it is within.
    days_old = days_between(pages["date"], snapshot.at) - (pages["precision"] == "day")
    age = pd.cut(days_old, [-inf, *_AGES.values(), inf], labels=[*_AGES, _OLDER]).cat.set_categories(_AGE_CLASSES)
    age = age.mask(pages["left_out"].notna(), _UNTRUSTED_AGE)
    age = age.mask(pages["left_out"] == _UNDATED, _UNDATED_AGE).mask(pages["left_out"] == _IN_FUTURE, _FUTURE)
    counts = pages.assign(age=age).groupby(["site", "age"], observed=True).size().rename("pages")
    rows = pd.MultiIndex.from_product([[*dated.groups.sizes], _AGE_CLASSES], names=["site", "age"])
    frame = counts.reindex(rows, fill_value=0).reset_index()
    frame["share"] = share_of_site(frame)
    frame = frame[(frame["pages"] > 0) | ~frame["age"].isin([_UNTRUSTED_AGE, _FUTURE])]
    on = "" if snapshot.read_at else f" of {snapshot.at:%Y-%m-%d} (as the time of reading is unknown: give at=)"
    rule = (
        f"{dated.groups.pages} by the age of their {what} on {snapshot.at:%Y-%m-%d}, each in the first class that "
        "fits. The age of a day counts from its end, that of a month or a year from its start."
        f"{_change_rule(counted)}"
    )
    describe = partial(_recent_shares, on=on, changed={*counted.loc[counted["source"] == LASTMOD, "site"]})
    recent = f"dated pages that changed within 30 days{on}:"
    finding = dated.find_in_words(frame, describe, partial(rank_sites, recent, _share_of_recent, write=itemgetter(1)))
    frame["age"] = pd.Categorical(frame["age"], _AGE_CLASSES, ordered=True).remove_unused_categories()
    spec = shares_of_pages("age", f"age of the {what}", **dated.groups.panels)
    return dated.measure(frame, rule=rule, finding=finding, spec=spec)


def _age_counts(part: pd.DataFrame) -> tuple[int, int, int]:
    """The pages of the last 30 days, of the last year, and all with a date that counts."""
    pages = part.set_index("age")["pages"].reindex([*_AGE_CLASSES], fill_value=0)
    month, year, dated = [*_AGES][:2], [*_AGES], [*_AGES, _OLDER]
    return int(pages[month].sum()), int(pages[year].sum()), int(pages[dated].sum())


def _share_of_recent(part: pd.DataFrame) -> tuple[float, str]:
    """The share, by which sites are ranked, and its words."""
    month, _, dated = _age_counts(part)
    return month / dated, part_of(month, dated)


def _recent_shares(part: pd.DataFrame, *, on: str, changed: Collection[str]) -> str:
    month, year, dated = _age_counts(part)
    pages = part.set_index("age")["pages"]
    others = [
        f"{pages[age]:,} {'has' if pages[age] == 1 else 'have'} {words}"
        for age, words in _NOT_DATED.items()
        if pages.get(age)
    ]
    rest = f"; of {count_of(int(pages.sum()), 'page')}, {' and '.join(others)}" if others else ""
    verb = "changed" if part["site"].iloc[0] in changed else "were published"
    found = f"{part_of(month, dated, 'dated page')} {verb} within 30 days{on}, {part_of(year, dated)} within a year"
    return found + rest


# --- when pages appeared ---

# In the order of trust: what happened to a page on the date of each source, and how it is known.
_VERBS = {NEWS: "published", URL: "published", SEEN: "first seen", LASTMOD: "last changed"}
_FOUND = {
    NEWS: "published as news",
    URL: "with a date in the URL",
    SEEN: "first seen",
    LASTMOD: "by the last change, not by publication",
}


def calendar(snapshot: SnapshotTables, freq: str, *, tz: str = "UTC", by: str | None = None) -> Measure:
    freq = freq_name(freq)
    period = PERIODS[freq]
    dated = _date_every_page(snapshot, by, _publications, tz=tz, too_coarse=period.too_coarse)
    counted, groups = dated.counted, dated.groups
    frame = counts_by_period(counted[["site", "source", "local"]], "local", period)
    frame = frame[["site", "period", "source", "pages"]]
    frame["source"] = pd.Categorical(frame["source"], [*_FOUND], ordered=True)
    frame = groups.sort(frame.sort_values(["source", "period"], kind="stable"))
    describe = partial(_publication, counted=counted, groups=groups, freq=freq, tz=tz)
    describe_many = partial(_busiest_of_many, freq=freq)
    undated = "no page states when it was published"
    finding = dated.find_in_words(frame, describe, describe_many, undated, is_calendar=True)
    frame["period"] = in_zone(frame["period"], dated.zone)
    title = f"pages by {freq} {dated.what(_VERBS)} ({tz})"
    spec = ChartSpec("columns", x="period", y="pages", x_title=title, period=freq, source="source", **groups.panels)
    by_source = counted["source"].value_counts()
    sources = ", ".join(f"{by_source[name]:,} by {name}" for name in _FOUND if by_source[name])
    rule = (
        f"{groups.pages} by the {freq} ({tz}) of the first of these dates that is known: the publication date of news; "
        "the date in the URL, at sites where these are hardly ever later than the page; when the page was first seen "
        "in the archive or state, that is after the reading before; the lastmod, which is the last change and not the "
        f"first, and not if it is later than the first page seen as new. Dated: {sources or 'no page'}."
    )
    return dated.measure(frame, rule=rule, finding=finding, spec=spec, has_verdict=bool(by_source[LASTMOD]))


def page_dates(snapshot: SnapshotTables) -> pd.DataFrame:
    """`site date source …`: when each page was published, as far as it is known, as calendar() counts it."""
    pages = _date_pages(snapshot, None, _publications).pages
    return pages.assign(date=pages["date"].where(pages["left_out"].isna()))


def _publication(part: pd.DataFrame, *, counted: pd.DataFrame, groups: Groups, freq: str, tz: str) -> str:
    label = part["site"].iloc[0]
    counted, all_pages = counted[counted["site"] == label], groups.sizes[label]
    by_source, undated, rest = counted["source"].value_counts(), all_pages - len(counted), ""
    if 0 < by_source[LASTMOD] < len(counted):  # which says when a page changed last
        rest = f"; of {count_of(int(by_source[LASTMOD]), 'other page')} only the last change is known"
        counted, part = counted[counted["source"] != LASTMOD], part[part["source"] != LASTMOD]
    if undated:
        rest += f"; not dated: {undated:,} of {count_of(all_pages, 'page')}"
    readings = count_of(counted.loc[counted["source"] == SEEN, "date"].nunique(), "reading")
    names = _FOUND | {SEEN: f"first seen in {readings}"}  # far apart, these say little about days
    found = " and ".join(f"{by_source[name]:,} {words}" for name, words in names.items() if name in {*part["source"]})
    return f"{_busiest(part, counted, freq=freq, tz=tz)}; dated: {found}{rest}"


# --- how far lastmods can be trusted ---

_TRUST_RULE = (
    "Each sitemap's lastmods: how many are of its largest batch (dense), whose date is in the column batch; in the "
    "future; or at the time of the request, if five or more are. A batch is ten or more, and 5%, within ten minutes; "
    "of lastmods without a time half on one day. Those of the day that their URL or news states are no evidence. "
    "The score is 1 if none of this is found, 0 if they carry no information, and empty if there are none; coverage is "
    "the share of URLs that have one."
)
_FAULTS = ["dense", "batch", "future", "at_fetch"]
_TRUST_COLUMNS = ["site", "sitemap", "urls", "dated", "coverage", *_FAULTS, "score", "trust", "reasons"]
_SITEMAP_KEY = ["site", "sitemap"]


@once
def sitemap_histories(snapshot: SnapshotTables) -> dict[tuple[str, str], History]:
    """(site, sitemap) -> counts of its lastmods, those of listings; of a part of a Snapshot those of the whole one."""
    if snapshot.whole is not None:
        mine = snapshot.urls.to_pandas(_SITEMAP_KEY).fillna({"sitemap": ""}).drop_duplicates()
        keys = {*mine.itertuples(index=False, name=None)}
        return {key: history for key, history in sitemap_histories(snapshot.whole).items() if key in keys}
    urls = snapshot.urls.to_pandas([*_SITEMAP_KEY, "lastmod", "lastmod_precision"])
    urls["sitemap"] = urls["sitemap"].fillna("")
    codes = urls["lastmod_precision"].map(PRECISION_CODES)
    micros = urls["lastmod"].astype("int64")
    urls["number"] = micros.where(codes == SUBSECOND, micros // 1_000_000)
    urls["code"] = codes.astype("Int64")
    urls["confirmed"] = _confirmed(snapshot, urls["lastmod"], urls["lastmod_precision"].isin(TIMED))
    groups = urls.groupby(_SITEMAP_KEY, sort=False)
    found = {(str(site), str(sitemap)): _history(part, snapshot) for (site, sitemap), part in groups}
    # A date that a build wrote into a page that was removed meanwhile is not among those of the last build.
    newest = {} if snapshot.newest is None else sitemap_histories(snapshot.newest)
    return found | {key: history for key, history in newest.items() if key in found}


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


def verdict(sites: Mapping[str, History], published: Collection[str] = ()) -> str:
    """Of many: `Lastmods can be trusted at a.example and b.example; are missing at 5 sites`.

    `published`: the sites of which publication dates of news count.
    """

    def describe(part: pd.DataFrame) -> str:
        site = part["site"].iloc[0]
        return f"lastmods {_verdict(sites[site], is_published=site in published)}"

    def name(part: pd.DataFrame) -> str:
        return trust_class(judge_history(sites[part["site"].iloc[0]]))

    frame = pd.DataFrame({"site": [*sites]})
    return find_in_words(frame, [*sites], describe, partial(count_sites, "lastmods", name), "there is no URL")


def _verdict(history: History, *, is_published: bool) -> str:
    trust = judge_history(history)
    if trust.score is None:
        return f"{trust_in_words(trust)}: {'publication dates of news count' if is_published else 'no URL has one'}"
    share = percent(history.dated / history.entries)
    dated = f" for the {share} of URLs that have one" if history.dated < history.entries else ""
    is_usable, reasons = trust.score >= _LEAST_SCORE, "; ".join(trust.reasons) or "no fault was found"
    if trust.score < TRUSTED_SCORE:
        reasons = f"{'some may not be' if is_usable else 'they are hardly'} dates of changes; {reasons}"
    return f"{trust_in_words(trust)}{dated}: {reasons}"


def lastmod_trust(snapshot: SnapshotTables) -> Measure:
    rows = []
    for (site, sitemap), history in sitemap_histories(snapshot).items():
        trust = judge_history(history)
        batch = history.batches[0].date if history.batches else None
        faults = (history.dense, batch, history.future, history.at_fetch)
        judged = (trust.score, trust_class(trust), "; ".join(trust.reasons))
        rows.append((site, sitemap, history.entries, history.dated, trust.coverage, *faults, *judged))
    frame = pd.DataFrame(rows, columns=_TRUST_COLUMNS).astype({"score": float, "coverage": float})
    frame = in_site_order(frame.sort_values(["score", "urls"], ascending=[True, False], kind="stable"), snapshot)
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
