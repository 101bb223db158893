"""Measures of when pages appeared: a calendar of publication, and what is new since a date.

A publication date of news states it. A first-seen date, from an archive or a state, is that of the first reading which
found the page: it appeared after the reading before. A lastmod is the last change only, and counts where it is trusted.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import pandas as pd

from ..client.summary import count_of
from ..frontier.filters import make_window
from ..frontier.lastmod_trust import TRUSTED_SCORE, judge_history
from ..model.errors import UsageError
from ..parser.normalise.dates import DAY
from .chart_spec import pages_over_time, parts_of_sites
from .lastmod_trust import sitemap_histories
from .measure import finding_per_site, in_site_order, leading, measure, news_dates, page_frame, without
from .periods import PERIODS, counts_by_period
from .sections import section_of
from .tables import FIRST_SEEN

if TYPE_CHECKING:
    from datetime import datetime

    from .measure import Measure
    from .tables import SnapshotTables

NEWS, SEEN, LASTMOD = "news", "first seen", "lastmod"
_FREQS = ("day", "week", "month")
# In the order of trust: what happened to a page on the date of each source.
_VERBS = {NEWS: "published", SEEN: "first seen", LASTMOD: "last changed"}
_FOUND = {NEWS: "published as news", SEEN: "first seen", LASTMOD: "with only a last change"}


def _first_seen(snapshot: SnapshotTables) -> pd.Series[Any]:
    """When each page was first seen; null for all pages of a Snapshot that does not know."""
    if FIRST_SEEN in snapshot.pages.columns:
        return snapshot.pages.to_pandas([FIRST_SEEN])[FIRST_SEEN]
    return _no_date(len(snapshot.pages))


def _no_date(rows: int) -> pd.Series[Any]:
    return pd.Series(pd.NaT, index=range(rows), dtype="datetime64[us, UTC]")


# --- calendar ----------------------------------------------------------------------------------------------------


def calendar(snapshot: SnapshotTables, freq: str) -> Measure:
    """See Snapshot.calendar()."""
    if freq not in _FREQS:
        raise UsageError(keyword="freq", value=freq, allowed=f"one of {', '.join(_FREQS)}")
    period = PERIODS[freq]
    pages = _published(snapshot)
    left_out = {
        "without such a date": pages["date"].isna(),
        f"whose date states only the {' or '.join(period.too_coarse)}": pages["precision"].isin(period.too_coarse),
        "whose date is in the future": pages["date"] > snapshot.at + DAY,
    }
    counted, not_counted = without(pages, left_out)
    frame = counts_by_period(counted[["site", "source", "date"]], "date", period)
    frame = frame.assign(period=frame["period"].dt.start_time)[["site", "period", "source", "pages"]]
    counted = counted.assign(period=counted["date"].dt.tz_localize(None).dt.to_period(period.alias).dt.start_time)
    frame = in_site_order(frame.sort_values(["source", "period"], key=_order, kind="stable"), snapshot)
    totals = pages.groupby("site", sort=False).size()
    describe = partial(_dated, counted=counted, totals=totals, freq=freq)
    share = (
        "pages with a date of publication, or of a trusted change",
        lambda part: part["pages"].sum() / totals[part["site"].iloc[0]],
    )
    finding = finding_per_site(frame, snapshot.sites, describe, "no page states when it was published", share)
    present = [name for name in _VERBS if name in {*frame["source"]}]
    title = f"{freq} {' or '.join(_VERBS[name] for name in present) or _VERBS[NEWS]} (UTC)"
    is_mixed = LASTMOD in present and len(present) > 1 and len(snapshot.sites) == 1
    spec = pages_over_time(freq, f"{title}; hollow: {_VERBS[LASTMOD]}" if is_mixed else title)
    spec = attrs.evolve(spec, hollow=("source", LASTMOD) if is_mixed else None)
    by_source = counted["source"].value_counts()
    dated = ", ".join(f"{by_source[name]:,} by {name}" for name in _VERBS if by_source.get(name))
    rule = (
        f"Pages by the {freq} (UTC) of the first of these dates that is known: the publication date of news; when the "
        "page was first seen in the archive or state, that is after the reading before; the lastmod, if those of its "
        f"sitemap can be trusted ({TRUSTED_SCORE:g} or more), which is the last change and not the first, and not if "
        f"it is later than the first page seen as new. Dated: {dated or 'no page'}."
    )
    return measure(frame, rule=rule + not_counted, finding=finding, spec=spec)


def _order(column: pd.Series[Any]) -> pd.Series[Any]:
    rank = {name: number for number, name in enumerate(_VERBS)}
    return column.map(rank) if column.name == "source" else column


def _published(snapshot: SnapshotTables) -> pd.DataFrame:
    """A row per page: `site date precision source`, null without a date."""
    pages = page_frame(snapshot, "sitemap", "lastmod", "lastmod_precision")
    seen = _first_seen(snapshot)
    news, news_precision = news_dates(snapshot)
    scores = {key: judge_history(history).score or 0.0 for key, history in sitemap_histories(snapshot).items()}
    trusted = [key for key, score in scores.items() if score >= TRUSTED_SCORE]
    is_trusted = pd.MultiIndex.from_frame(pages[["site", "sitemap"]].fillna({"sitemap": ""})).isin(trusted)
    # A page of the oldest state with a later lastmod was updated then, and published before.
    began = seen.groupby(pages["site"]).transform("min")
    lastmod = pages["lastmod"].where(is_trusted & ~(pages["lastmod"] > began))
    dates = {NEWS: (news, news_precision), SEEN: (seen, "second"), LASTMOD: (lastmod, pages["lastmod_precision"])}
    found = pages[["site"]].assign(date=_no_date(len(pages)), precision=None, source=None)
    found = found.astype({"precision": "str", "source": "str"})
    for source, (date, precision) in dates.items():
        is_new = found["date"].isna() & date.notna()
        found = found.assign(
            date=found["date"].where(~is_new, date),
            precision=found["precision"].where(~is_new, precision),
            source=found["source"].mask(is_new, source),
        )
    return found


def _dated(part: pd.DataFrame, *, counted: pd.DataFrame, totals: pd.Series[int], freq: str) -> str:
    site = part["site"].iloc[0]
    pages = counted[counted["site"] == site]
    by_source = pages["source"].value_counts()
    rest = ""
    if len(by_source) > 1 and LASTMOD in by_source:  # which says when a page changed last
        rest = f"; of {count_of(int(by_source[LASTMOD]), 'other page')} only the last change is known"
        pages, part = pages[pages["source"] != LASTMOD], part[part["source"] != LASTMOD]
    found = " and ".join(f"{by_source[name]:,} {words}" for name, words in _FOUND.items() if name in {*part["source"]})
    counts = part.groupby("period", sort=False)["pages"].sum()
    week = "the week of " if freq == "week" else ""
    names, each = leading(counts, lambda period: week + PERIODS[freq].name(period))
    number = f"{counts.max():,}{each or _batch(pages, counts.idxmax(), freq)}"
    words = "all" if (counts > 0).sum() == 1 else "most"
    return f"of {count_of(int(totals[site]), 'page')}, {found}, {words} in {names} ({number}){rest}"


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


# --- new ---------------------------------------------------------------------------------------------------------


def new(snapshot: SnapshotTables, since: Any, depth: int, *, by_language: bool) -> Measure:
    """See Snapshot.new()."""
    start = make_window(since, None, "keep", snapshot.at).since
    if start is None:
        raise UsageError(keyword="since", allowed="a date such as 2026-05-31 or an age such as 7d")
    pages = page_frame(snapshot)
    pages["section"] = section_of(snapshot, depth, by_language=by_language)
    seen = _first_seen(snapshot)
    news, precision = news_dates(snapshot)
    news_end = news.where(precision != "day", news + DAY)  # a day counts if any part of it is within
    is_seen, is_news = seen >= start, seen.isna() & (news_end > start)
    began = _history_starts(snapshot, seen, pages["site"])
    is_known = seen.notna() | news.notna() | (began <= start)
    pages = pages.assign(new=is_seen | is_news, unknown=~is_known, _seen=is_seen, _news=is_news)
    by = pages.groupby(["site", "section"], sort=False)
    frame = by.agg(new=("new", "sum"), pages=("new", "size"), unknown=("unknown", "sum")).reset_index()
    sources = zip(by["_seen"].any(), by["_news"].any(), strict=True)
    names = ([name for name, is_one in zip((SEEN, NEWS), pair, strict=True) if is_one] for pair in sources)
    frame["source"] = pd.Series([", ".join(each) or None for each in names], dtype="str")
    frame = frame.sort_values(["new", "pages", "section"], ascending=[False, False, True])
    frame["new"] = frame["new"].astype("Int64").mask(frame["unknown"] == frame["pages"])
    frame = in_site_order(frame, snapshot)
    share = (f"pages that are new since {start:%Y-%m-%d}", _share_of_new)
    finding = finding_per_site(frame, snapshot.sites, partial(_new_found, start=start), share=share)
    rule = (
        f"Pages that were first seen in the archive or state, or else published as news, since {start:%Y-%m-%d %H:%M} "
        "UTC, by section. A page that was first seen then appeared after the reading before, which may be earlier. "
        "Unknown: pages without such a date, unless the history of the site began before. A section of these only has "
        "no number."
    )
    spec = attrs.evolve(parts_of_sites("new", "section", "new pages", max_rows=15), missing="unknown")
    return measure(frame, rule=rule, finding=finding, spec=spec)


def _history_starts(snapshot: SnapshotTables, seen: pd.Series[Any], sites: pd.Series[str]) -> pd.Series[Any]:
    """For each page a time at which its site was read before: the oldest state if known, else the first new page."""
    earlier = [each for each in snapshot.earlier if each.read_at is not None]
    began: pd.Series[Any] = seen.groupby(sites).transform("min")
    for each in reversed(earlier):
        began = began.mask(sites.isin(each.sites), pd.Timestamp(each.read_at))
    return began


def _share_of_new(part: pd.DataFrame) -> float | None:
    sums = part[["new", "pages", "unknown"]].sum()
    return None if sums["unknown"] == sums["pages"] else float(sums["new"] / sums["pages"])


def _new_found(part: pd.DataFrame, *, start: datetime) -> str:
    count, total, unknown = (int(part[name].sum()) for name in ("new", "pages", "unknown"))
    remedy = f"only an archive kept since before {start:%Y-%m-%d} shows it"
    if unknown == total:
        return f"unknown which of {count_of(total, 'page')} are new: {remedy}"
    rest = f"; unknown for {unknown:,}: {remedy}" if unknown else ""
    found = f"{count:,} of {count_of(total, 'page')} new since {start:%Y-%m-%d}"
    if not count:
        return f"{found}{rest}"
    sections = part.set_index("section")["new"].dropna()
    names, each = leading(sections)
    most = "all" if sections.max() == count else "most"
    return f"{found}, {most} in {names} ({sections.max():,}{each}){rest}"
