"""Measures of change over time: which pages came, changed and went, from one state of a site to the next."""

from __future__ import annotations

from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from ..client.summary import count_of
from ..frontier.plan import make_window
from ..model.errors import UsageError
from ..model.problems import percent
from ..parser.normalise.dates import DAY
from .archive import NEW, REMOVED, RETURNED, archive_of, make_archive
from .chart_spec import ChartSpec
from .dates import NEWS, SEEN, usable_lastmods
from .measure import (
    GROUPS,
    NEWEST_RULE,
    UNKNOWN,
    find_in_words,
    first_seen,
    in_site_order,
    leading,
    measure,
    name_few,
    news_dates,
    page_frame,
    pages_with_newest,
    rank_sites,
)
from .periods import PERIODS, counts_by_period, freq_name, in_zone, time_zone
from .sections import section_of
from .tables import Table, run_query
from .url_parts import texts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from .archive import Archive
    from .measure import Groups, Measure
    from .tables import SnapshotTables


# --- growth ------------------------------------------------------------------------------------------------------


def growth(snapshot: SnapshotTables, others: Any, by: str | None = None) -> Measure:
    is_one = hasattr(others, "pages") or isinstance(others, str) or not hasattr(others, "__iter__")
    snapshots: list[Any] = [snapshot, *([others] if is_one else others)]
    for each in snapshots:
        _check_snapshot(each, "growth() takes Snapshots")
    archive = _archive(snapshot, snapshots)
    groups, labels = archive.groups(by)
    sizes = pd.concat([_sizes(archive, number, labels, by) for number in range(len(archive.states))])
    frame = _readings(archive, groups)
    for part in (sizes, _steps(archive, labels)):
        frame = frame.merge(part.astype({"site": "str"}), how="left", on=["state", "site"])
    counts = ["pages", "new", "removed", "dated", "sitemaps"]
    frame[counts] = frame[counts].fillna(0).astype("Int64")
    frame[["new", "removed"]] = frame[["new", "removed"]].mask(frame.pop("is_first"))
    frame = frame.astype(dict.fromkeys(["pages", "dated", "sitemaps"], "int64"))
    frame = groups.sort(frame)[["site", "at", *counts[:3], "dated", "newest", "sitemaps", "complete"]]
    undated = sum(each.read_at is None for each in snapshots)
    rule = f"{groups.pages} of each snapshot, at the time when it was read. {NEWEST_RULE}"
    if len(snapshots) > 1:
        rule += _TOTALS_RULE
    rule += _choices(snapshots)
    if undated:
        rule += f" For {undated} that time is unknown: give it to load(path, at=...)."
    partial_count = sum(each.complete is False for each in snapshots)
    if partial_count:
        rule += f" {partial_count} could not be read completely: a page that such a snapshot lacks is not removed."
    describe = partial(_grown, totals=_totals(archive, labels))
    finding = groups.find_in_words(frame, describe, _pages_of_many)
    spec = ChartSpec("lines", x="at", y="pages", x_title="pages by time of reading (UTC)", **groups.panels)
    return measure(groups.divide(frame), rule=rule, finding=finding, spec=spec)


_PAGE_RULE = (
    "URLs are one page, also in two readings, if host and path are equal, without www. and a slash at the end, and "
    "where a site moved, if the path is."
)
_TOTALS_RULE = (
    f" {_PAGE_RULE} The columns new and removed are since the reading before; the finding counts a page once, as new "
    "if the first reading lacks it, and as removed if the last one does, also if it came between them."
)


def _archive(snapshot: SnapshotTables, snapshots: list[SnapshotTables]) -> Archive:
    if [*map(id, snapshots)] == [*map(id, (snapshot, *snapshot.earlier))]:
        return archive_of(snapshot)
    newest, *others = snapshots
    is_known = all(each.read_at is not None for each in snapshots)
    return make_archive(sorted(snapshots, key=lambda each: each.at) if is_known else [*others, newest])


def _check_snapshot(other: object, expected: str) -> None:
    if not hasattr(other, "pages"):
        hint = (
            f"give sr.load({str(other)!r})" if isinstance(other, str | PathLike) else "sr.load() opens an earlier one"
        )
        raise UsageError(f"{expected}, and not {other!r}: {hint}")


def _readings(archive: Archive, groups: Groups) -> pd.DataFrame:
    """`site state at complete is_first` for each state of the site of each group; one may have no page then."""
    rows = []
    for number, state in enumerate(archive.states):
        moment = pd.Timestamp(state.at).as_unit("us")
        is_day = state.read_at is not None and state.read_until is None
        at = moment.normalize() if is_day else moment
        known = [label for label in groups.sizes if groups.site(label) in archive.read[number]]
        rows += [(label, number, at, state.complete) for label in known]
    frame = pd.DataFrame(rows, columns=["site", "state", "at", "complete"])
    frame = frame.astype({"site": "str", "state": "int64", "at": "datetime64[us, UTC]", "complete": "boolean"})
    return frame.assign(is_first=~frame["site"].duplicated())


def _sizes(archive: Archive, number: int, labels: pd.Categorical, by: str | None) -> pd.DataFrame:
    """`state site pages dated newest sitemaps` of one state."""
    snapshot, pages = archive.states[number], archive.numbers.pages[number]
    rows = pages_with_newest(snapshot).assign(site=labels[pages])
    if by is None:  # also sitemaps that list only what others list, too
        listed = snapshot.urls.stored.select(["site", "sitemap"]).group_by(["site", "sitemap"]).aggregate([])
        listed = listed.to_pandas().replace({"site": dict(archive.names[number])})
    else:
        listed = rows.assign(sitemap=snapshot.pages["sitemap"])
    if len(archive.states) == 1:  # each URL is a page, as in all other measures
        labels, pages = labels[pages], np.arange(len(pages))
    newest = rows.groupby("site", observed=True)["newest"].max()
    sitemaps = listed.groupby("site", observed=True)["sitemap"].nunique()
    sizes = {
        "pages": _page_counts(labels, pages),
        "dated": _page_counts(labels, pages[rows["lastmod"].notna()]),
        "newest": newest.set_axis(newest.index.astype("str")),
        "sitemaps": sitemaps.set_axis(sitemaps.index.astype("str")),
    }
    return pd.DataFrame(sizes).rename_axis("site").reset_index().assign(state=number)


def _page_counts(labels: pd.Categorical, pages: Any) -> pd.Series[int]:
    """How many different pages of each label are among these."""
    is_listed = np.zeros(len(labels), bool)
    is_listed[pages] = True
    counts = np.bincount(labels.codes[is_listed], minlength=len(labels.categories))
    return pd.Series(counts, labels.categories.astype("str"))


def _steps(archive: Archive, labels: pd.Categorical) -> pd.DataFrame:
    """`state site new removed`: how many pages came and went since the state before."""
    events = archive.events.assign(site=labels[archive.events["page"]])
    events["change"] = events["change"].replace(RETURNED, NEW)
    counts = events.groupby(["state", "site", "change"], observed=True).size().unstack(fill_value=0)
    return counts.reindex(columns=[NEW, REMOVED], fill_value=0).rename_axis(columns=None).reset_index()


def _totals(archive: Archive, labels: pd.Categorical) -> pd.DataFrame:
    """`new removed` by site: pages that appeared after the first state, and those that are no longer listed."""
    pages = pd.DataFrame({"site": labels, "new": archive.is_new, "removed": archive.is_removed})
    return pages.groupby("site", observed=True).sum()


def _grown(part: pd.DataFrame, *, totals: pd.DataFrame) -> str:
    first, last = part.iloc[0], part.iloc[-1]
    pages, days = count_of(last["pages"], "page"), count_of((last["at"] - first["at"]).days, "day")
    if not part["pages"].any():
        return "there is no page"
    if len(part) == 1:
        return f"{pages} in one snapshot"
    more = int(last["pages"] - first["pages"])
    by = f", {_change_share(more / first['pages'])}" if first["pages"] else ""
    found = f"from {first['pages']:,} to {pages} ({more:+,}{by}) in {days}"
    found = found if more else f"{pages} at the beginning and at the end of {days}"
    new, removed = totals.loc[last["site"]]
    found += f": {new:,} new, {removed:,} removed" if new or removed else "" if more else ": the same ones"
    steps = part["pages"].diff().dropna()
    largest = steps.loc[steps.abs().idxmax()]
    if len(part) > 2 and abs(largest) >= _LARGE_STEP * part["pages"].max():
        found += f"; largest step: {largest:+,.0f} on {part.loc[steps.abs().idxmax(), 'at']:%Y-%m-%d}"
    return found


_LARGE_STEP = 0.05  # of the pages


def _change_share(share: float) -> str:
    """
    >>> _change_share(-0.00105), _change_share(0.24), _change_share(0.00001)
    ('-0.1%', '+24%', 'under 0.1%')
    """
    if abs(share) < 0.001:
        return "under 0.1%"
    return f"{share:+.1%}" if abs(share) < 0.1 else f"{share:+,.0%}"


def _pages_of_many(frame: pd.DataFrame) -> str:
    if frame["at"].nunique() == 1:
        return rank_sites("pages:", lambda part: part["pages"].iloc[-1], frame)

    def more(part: pd.DataFrame) -> Any:
        return part["pages"].iloc[-1] - part["pages"].iloc[0]

    return rank_sites("pages more than at first:", more, frame, write="{:+,}".format)


# --- one state compared with another -----------------------------------------------------------------------------

_CHANGES = ("new", "updated", "redated", "removed")
_KINDS = (*_CHANGES, "unchanged")
_UNREAD = "unread"  # missing from a later reading that is incomplete, or has not the site
_RULE = (
    f"Pages compared with those of an earlier snapshot. {_PAGE_RULE} Updated: any field of the entry differs (lastmod, "
    "changefreq, priority, images, …). Redated: only the lastmod differs, and those of its sitemap cannot be trusted."
)
# What the entry of a page states besides its date.
_STATED = ("changefreq", "priority", "images", "videos", "news", "alternates", "mobile")


def churn(snapshot: SnapshotTables, other: SnapshotTables | None, depth: int) -> Measure:
    if other is None and not snapshot.earlier:
        hint = KEEP_ARCHIVE.format(call="churn()")
        raise UsageError(f"churn() compares with an earlier Snapshot, and none is known: give it one, or {hint}")
    other = snapshot.earlier[-1] if other is None else other
    _check_snapshot(other, "churn() takes an earlier Snapshot")
    if snapshot.read_at and other.read_at and other.read_at > snapshot.read_at:
        hint = "call churn() on the later one, and give it the earlier one"
        raise UsageError(f"{other.name} was read later than {snapshot.name}: {hint}")
    pages = _compare(snapshot, other, depth)
    frame = pages.groupby(["site", "section", "change"], sort=False, observed=True).size().unstack(fill_value=0)
    frame = frame.reindex(columns=[*_KINDS, _UNREAD], fill_value=0).rename_axis(columns=None).reset_index()
    frame = frame.astype({"site": "str", "section": "str"}).sort_values("section")
    most_first = frame[[*_CHANGES]].sum(axis=1).sort_values(ascending=False, kind="stable").index
    frame = in_site_order(frame.loc[most_first], snapshot)
    rule = _RULE + _choices([snapshot, other])
    if other.complete is False:
        rule += f" {other.name} was not read completely: it may have had pages that count as new."
    if unread := int(frame[_UNREAD].sum()):
        why = "was not read completely" if snapshot.complete is False else "lacks their site"
        rule += f" Not counted as removed: {count_of(unread, 'page')} missing from {snapshot.name}, which {why}."
    sites = [*dict.fromkeys([*snapshot.sites, *frame["site"]])]
    describe = partial(_churn_finding, is_surely_new=other.complete is not False)
    finding = find_in_words(frame, sites, describe, _changes_of_many)
    frame = frame[frame[[*_KINDS]].any(axis=1)].drop(columns=_UNREAD)
    spec = ChartSpec(
        "heat",
        x="change",
        y="section",
        x_title="pages by section",
        part="pages",
        whole=_KINDS,
        across={"change": "change"},
        melt=_CHANGES,
        max_rows=15,
    )
    urls = partial(_changed_urls, pages, snapshot, other)
    return measure(frame, rule=rule, finding=finding, spec=spec, urls=urls)


def _compare(snapshot: SnapshotTables, other: SnapshotTables, depth: int) -> pd.DataFrame:
    """`site section change before after` of each page; the last two are its rows in the snapshots, -1 for none."""
    archive = make_archive([other, snapshot])
    numbers = archive.numbers
    before, after = (numbers.rows(state) for state in (0, 1))
    both = np.flatnonzero((before >= 0) & (after >= 0))
    rows = before[both], after[both]
    names = _stated_fields(snapshot, other)
    is_restated, is_redated = (
        _hashes(other, fields)[rows[0]] != _hashes(snapshot, fields)[rows[1]] for fields in (names, _DATE)
    )
    is_updated = is_restated | (is_redated & usable_lastmods(snapshot).to_numpy()[rows[1]])
    is_read = np.isin(numbers.sites, [*archive.read[1]])[numbers.site_of] & (snapshot.complete is not False)
    code = {kind: number for number, kind in enumerate((*_KINDS, _UNREAD))}
    change = np.select([before < 0, is_read], [code[NEW], code[REMOVED]], code[_UNREAD])
    change[both] = np.select([is_updated, is_redated], [code["updated"], code["redated"]], code["unchanged"])
    # Of a page of both the section of the later one.
    sections = [
        texts_of(section_of(each, depth)).take(pa.array(rows, mask=rows < 0))
        for each, rows in ((snapshot, after), (other, before))
    ]
    return pd.DataFrame(
        {
            "site": pd.Categorical.from_codes(numbers.site_of, numbers.sites),
            "section": compute.coalesce(*sections).dictionary_encode().to_pandas(),
            "change": pd.Categorical.from_codes(change, [*code]),
            "before": before,
            "after": after,
        }
    )


_DATE = ("lastmod", "lastmod_precision")


def _stated_fields(*snapshots: SnapshotTables) -> list[str]:
    """What is compared besides dates; extras, which are read on request, if both snapshots have some."""
    has_extras = all(snapshot.pages.stored["extras"].null_count < len(snapshot.pages) for snapshot in snapshots)
    return [*_STATED, *(["extras"] if has_extras else [])]


def _hashes(snapshot: SnapshotTables, names: Sequence[str]) -> np.ndarray[Any, Any]:
    """A number for each page, which is equal where the fields are."""
    query = f"SELECT hash({', '.join(names)}) AS hash FROM pages"  # noqa: S608 - our own names
    pages = Table("pages", snapshot.pages.stored.select([*names]))
    hashes: np.ndarray[Any, Any] = run_query(query, {"pages": lambda: pages})["hash"].to_numpy()
    return hashes


def _changed_urls(pages: pd.DataFrame, snapshot: SnapshotTables, other: SnapshotTables) -> pd.DataFrame:
    """`site section change loc page_key lastmod_before lastmod` of each page that changed."""
    changed = pages[pages["change"].isin(_CHANGES)]
    sides = [
        each.pages.to_pandas(["loc", "page_key", "lastmod"]).reindex(changed[name]).set_axis(changed.index)
        for name, each in (("before", other), ("after", snapshot))
    ]
    found = changed[["site", "section", "change"]].assign(**sides[1].combine_first(sides[0])[["loc", "page_key"]])
    texts = dict.fromkeys(["site", "section", "change"], "str")
    found = found.assign(lastmod_before=sides[0]["lastmod"], lastmod=sides[1]["lastmod"]).astype(texts)
    return found.sort_values(["site", "section", "change", "loc"], ignore_index=True)


def _choices(snapshots: Iterable[SnapshotTables]) -> str:
    sentences = dict.fromkeys(
        f" Of {each.name} only some URLs are compared ({each.choice})." for each in snapshots if each.choice
    )
    return "".join(sentences)


def _churn_finding(part: pd.DataFrame, *, is_surely_new: bool) -> str:
    sums = part[[*_KINDS, _UNREAD]].sum()
    before = sums.drop("new").sum()
    redated = f", {sums['redated']:,} with only another lastmod, which cannot be trusted" if sums["redated"] else ""
    unread = f", {sums[_UNREAD]:,} not read again" if sums[_UNREAD] else ""
    changed = f"{sums['updated']:,} updated, {sums['removed']:,} removed{redated}{unread}"
    unsure = "" if is_surely_new or not sums["new"] else ", or not read before"
    return f"{count_of(sums['new'], 'new page')}{unsure}; of {count_of(before, 'earlier page')} {changed}"


def _changes_of_many(frame: pd.DataFrame) -> str:
    kinds = ["new", "updated", "removed"]
    return rank_sites("pages new, updated or removed:", lambda part: int(part[kinds].to_numpy().sum()), frame)


# --- all states --------------------------------------------------------------------------------------------------


def turnover(snapshot: SnapshotTables, freq: str, *, tz: str = "UTC", by: str | None = None) -> Measure:
    freq, zone = freq_name(freq), time_zone(tz)
    archive = _states_of(snapshot, "turnover()")
    groups, labels = archive.groups(by)
    events = archive.events.assign(site=labels[archive.events["page"]], at=_local(archive, zone))
    counts = counts_by_period(events[["site", "change", "at"]], "at", PERIODS[freq])
    counts = counts.set_index(["site", "period", "change"])["pages"].unstack().reindex(columns=[*_EVENTS])
    frame = counts.fillna(0).astype("int64").rename_axis(columns=None).reset_index()
    frame = groups.sort(frame.assign(period=in_zone(frame["period"], zone)))
    finding = groups.find_in_words(frame, partial(_turned_over, freq=freq), _turned_over_of_many, _NO_EVENT)
    rule = (
        f"{groups.pages} by the {freq} ({tz}) of the first reading that found them listed, listed again, or removed; "
        f"each happened after the reading before. {_PAGE_RULE} What the first reading of a site lists is not counted."
    )
    spec = ChartSpec(
        "columns",
        x="period",
        y="pages",
        x_title=f"pages by {freq} of the reading ({tz}); removed ones below",
        period=freq,
        source="change",
        melt=_EVENTS,
        below=REMOVED,
        **groups.panels,
    )
    urls = partial(_event_urls, archive, freq, zone)
    return measure(groups.divide(frame), rule=rule, finding=finding, spec=spec, urls=urls)


_EVENTS = (NEW, RETURNED, REMOVED)
_NO_EVENT = "no page came or went"


def _states_of(snapshot: SnapshotTables, what: str) -> Archive:
    if not snapshot.earlier:
        raise UsageError(f"{what} needs several states of the site: {KEEP_ARCHIVE.format(call=what)}")
    return archive_of(snapshot)


# How to compare with earlier states, where none is known.
KEEP_ARCHIVE = 'keep an archive: site.to_parquet("archive/2026-11-01"); sr.load("archive/*", at="name").{call}'


def _turned_over(part: pd.DataFrame, *, freq: str) -> str:
    sums = part[[*_EVENTS]].sum()
    counted = ", ".join(f"{count_of(count, 'page')} {change}" for change, count in sums.items() if count)
    most = [_most_in(part, change, freq) for change in (NEW, REMOVED) if sums[change]]
    return "; most ".join([counted, *filter(None, [" and ".join(most)])])


def _most_in(part: pd.DataFrame, change: str, freq: str) -> str:
    names, each = leading(part.set_index("period")[change], PERIODS[freq].name)
    return f"{change} {_IN_PERIOD.get(freq, 'in')} {names} ({part[change].max():,}{each})"


_IN_PERIOD = {"day": "on", "week": "in the week from"}


_turned_over_of_many = partial(
    rank_sites, "pages that came or went:", lambda part: int(part[[*_EVENTS]].to_numpy().sum())
)


def _local(archive: Archive, zone: ZoneInfo) -> pd.Series[Any]:
    return archive.at_of_events.dt.tz_convert(zone).dt.tz_localize(None)


def _event_urls(archive: Archive, freq: str, zone: ZoneInfo) -> pd.DataFrame:
    """`site period change at loc page_key section language host`, a row for each event."""
    names = ["site", "loc", "page_key", *GROUPS]
    pages = archive.pages.pages.to_pandas(names).iloc[archive.row_of[archive.events["page"]]].reset_index(drop=True)
    pages[[*GROUPS]] = pages[[*GROUPS]].fillna(UNKNOWN)  # as the rows of the measure name them
    starts = _local(archive, zone).dt.to_period(PERIODS[freq].alias).dt.start_time.dt.as_unit("us")
    events = {"period": in_zone(starts, zone), "change": archive.events["change"], "at": archive.at_of_events}
    return pages.assign(**events)[["site", *events, *names[1:]]]


_DAYS = (7, 30, 90, 180, 365, 730)


def survival(snapshot: SnapshotTables) -> Measure:
    archive = _states_of(snapshot, "survival()")
    pages = page_frame(archive.pages).assign(first=archive.first_seen, removed=archive.removed_at)
    pages = pages[pages["first"].notna()]
    ends = pages["removed"].fillna(archive.moments.iloc[-1])
    pages = pages.assign(days=(ends - pages["first"]).dt.total_seconds() / 86_400, removed=pages["removed"].notna())
    rows = [row for site, part in pages.groupby("site", sort=False) for row in _survival(str(site), part)]
    types = {"site": "str", "days": "int64", "pages": "int64", "removed": "int64", "share": "float64"}
    frame = pd.DataFrame(rows, columns=[*types]).astype(types)
    frame = in_site_order(frame, snapshot)
    none = "no page appeared after the first reading"
    sites = [*dict.fromkeys([*snapshot.sites, *frame["site"]])]
    finding = find_in_words(frame, sites, _survived, _SURVIVED_MONTH, none)
    rule = (
        "Of the pages that appeared after the first reading, the share that is still listed so many days later; a page "
        "that returns was not removed. Pages that were watched for a shorter time count as long as they were watched "
        "(Kaplan and Meier). `pages` are those of which it is known, `removed` those that were removed by then. Each "
        f"appeared and left between two readings: the times are those of the later one. {_PAGE_RULE}"
    )
    spec = ChartSpec(
        "rows",
        x="share",
        y="days",
        x_title="share of the pages still listed after so many days",
        share="share",
        format="%",
        ends=(0.0, 1.0),
        sites=snapshot.sites,
    )
    return measure(frame, rule=rule, finding=finding, spec=spec)


def _survival(site: str, pages: pd.DataFrame) -> Iterator[tuple[str, int, int, int, float]]:
    """A row for each number of days that some page was watched for."""
    watched = np.sort(pages["days"].to_numpy())
    ends, counts = np.unique(pages.loc[pages["removed"], "days"].to_numpy(), return_counts=True)
    at_risk = len(watched) - np.searchsorted(watched, ends)
    shares = np.append(1.0, np.cumprod(1 - counts / at_risk))
    for days in _DAYS:
        if watched[-1] < days:
            return
        removed = int(counts[ends <= days].sum())
        still = int(((pages["days"] >= days) & ~(pages["removed"] & (pages["days"] == days))).sum())
        yield site, days, int(still + removed), removed, float(shares[np.searchsorted(ends, days, "right")])


def _survived(part: pd.DataFrame) -> str:
    named = part[part["days"].isin((30, 90, 365)) | (part["days"] == part["days"].max())]
    shares = [f"{percent(row.share)} after {row.days} days" for row in named.itertuples()]
    return f"still listed of the pages that appeared: {', '.join(shares)}"


_SURVIVED_MONTH = partial(
    rank_sites,
    "pages still listed after 30 days:",
    lambda part: next(iter(part.loc[part["days"] == 30, "share"]), None),
    write=percent,
)


# --- what is new ---


def new(snapshot: SnapshotTables, since: Any, depth: int, *, by_language: bool) -> Measure:
    start = start_time(snapshot, since)
    pages = page_frame(snapshot)
    pages["section"] = section_of(snapshot, depth, by_language=by_language)
    seen = first_seen(snapshot)
    news, precision = news_dates(snapshot)
    news_end = news.where(precision != "day", news + DAY)  # a day counts if any part of it is within
    is_seen, is_news = seen >= start, seen.isna() & (news_end > start)
    began = history_starts(snapshot, seen, pages["site"])
    is_known = seen.notna() | news.notna() | (began <= start)
    pages = pages.assign(new=is_seen | is_news, unknown=~is_known, _seen=is_seen, _news=is_news)
    sums = {"new": ("new", "sum"), "pages": ("new", "size"), "unknown": ("unknown", "sum")}
    sources = {"_seen": ("_seen", "any"), "_news": ("_news", "any")}
    frame = pages.groupby(["site", "section"], sort=False).agg(**sums, **sources).reset_index()
    by_seen, by_news = frame.pop("_seen"), frame.pop("_news")
    source = np.select([by_seen & by_news, by_seen, by_news], [f"{SEEN}, {NEWS}", SEEN, NEWS], "")
    frame["source"] = pd.Series(source, dtype="str").where(by_seen | by_news)
    frame = frame.sort_values(["new", "pages", "section"], ascending=[False, False, True])
    frame["new"] = frame["new"].astype("Int64").mask(frame["unknown"] == frame["pages"])
    frame = in_site_order(frame, snapshot)
    describe_many = partial(_new_of_many, start=start)
    finding = find_in_words(frame, snapshot.sites, partial(_new_found, start=start), describe_many)
    rule = (
        f"Pages that were first seen in the archive or state, or else published as news, since {start:%Y-%m-%d %H:%M} "
        "UTC, by section. A page that was first seen then appeared after the reading before, which may be earlier. "
        "Unknown: pages without such a date, unless the history of the site began before. A section of these only has "
        "no number."
    )
    spec = ChartSpec(
        "rows",
        x="new",
        y="section",
        x_title="new pages by section",
        max_rows=15,
        missing="unknown",
        sites=snapshot.sites,
    )
    dates = pages.assign(source=np.where(is_seen, SEEN, NEWS), date=seen.fillna(news))
    urls = partial(_new_urls, dates[pages["new"]], snapshot)
    return measure(frame, rule=rule, finding=finding, spec=spec, urls=urls)


def start_time(snapshot: SnapshotTables, since: Any) -> datetime:
    """The moment of a date or an age; UsageError if it is later than the last reading."""
    start = make_window(since, None, "keep", snapshot.at).since
    if start is None:
        raise UsageError(keyword="since", allowed="a date such as 2026-05-31 or an age such as 7d")
    if snapshot.read_at is not None and start > (snapshot.read_until or snapshot.read_at):
        read = f"the last reading was on {snapshot.read_on}"
        raise UsageError(f"what is new since {start:%Y-%m-%d %H:%M} UTC is unknown: {read}")
    return start


def _new_urls(pages: pd.DataFrame, snapshot: SnapshotTables) -> pd.DataFrame:
    """`site section loc page_key source date`, the newest first."""
    urls = snapshot.pages.to_pandas(["loc", "page_key"]).reindex(pages.index)
    found = pd.concat([pages[["site", "section"]], urls, pages[["source", "date"]]], axis=1)
    return found.sort_values(["date", "loc"], ascending=[False, True], ignore_index=True)


def history_starts(snapshot: SnapshotTables, seen: pd.Series[Any], sites: pd.Series[str]) -> pd.Series[Any]:
    """For each page a time at which its site was read before: the oldest state if known, else the first new page."""
    earlier = [each for each in snapshot.earlier if each.read_at is not None]
    began: pd.Series[Any] = seen.groupby(sites).transform("min")
    for each in reversed(earlier):
        began = began.mask(sites.isin(each.sites), pd.Timestamp(each.read_at))
    return began


def _new_of_many(frame: pd.DataFrame, *, start: datetime) -> str:
    known = frame[frame["new"].notna().groupby(frame["site"]).transform("any")]
    unknown, pages = int(frame["unknown"].sum()), count_of(int(frame["pages"].sum()), "page")
    sites = name_few([*frame.loc[frame["unknown"] > 0, "site"].unique()])
    missing = f"unknown for {unknown:,} of {pages}, at {sites}" if unknown else ""
    what = f"pages known to be new since {start:%Y-%m-%d}:"
    found = rank_sites(what, lambda part: int(part["new"].sum()), known) if len(known) else f"{what} none"
    return "; ".join(filter(None, [found, missing]))


def _new_found(part: pd.DataFrame, *, start: datetime) -> str:
    count, total, unknown = (int(part[name].sum()) for name in ("new", "pages", "unknown"))
    remedy = f"only an archive kept since before {start:%Y-%m-%d} shows it"
    if unknown == total:
        return f"unknown which of {count_of(total, 'page')} are new: {remedy}"
    found = f"{count:,} of {count_of(total, 'page')} new since {start:%Y-%m-%d}"
    if count:
        sections = part.set_index("section")["new"].dropna()
        names, each = leading(sections)
        most = f"most of all in {names} ({sections.max():,}{each})"
        found += f", {most if sections.max() < count else f'all in {names}'}"
    return found + (f"; unknown for {unknown:,}: {remedy}" if unknown else "")
