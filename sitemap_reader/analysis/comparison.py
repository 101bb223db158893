"""Measures that compare sites or Snapshots: overlap of sites; growth and churn from one Snapshot to another."""

from __future__ import annotations

from itertools import permutations
from math import nan
from os import PathLike
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..client.summary import count_of
from ..compare.diff import diff
from ..model.errors import UsageError
from .chart_spec import CellGroup, ChartSpec
from .gaps import KEYS, keyed_pages
from .measure import NEWEST_RULE, finding_per_site, in_site_order, measure, page_frame, pages_with_newest, part_of
from .sections import section_of
from .tables import PAGE_KEY, Tables, json_objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .measure import Measure
    from .tables import SnapshotTables

# --- overlap -----------------------------------------------------------------------------------------------------

_OVERLAPS = ("path", "slug")


def overlap(snapshot: SnapshotTables, by: str) -> Measure:
    """See Snapshot.overlap()."""
    if by not in _OVERLAPS:
        raise UsageError(keyword="by", value=by, allowed=f"one of {', '.join(_OVERLAPS)}")
    if len(snapshot.sites) < 2:
        raise UsageError('overlap() needs two sites or more: sr.snapshot(["a.example", "b.example"])')
    pages = keyed_pages(snapshot, by).dropna()
    values = {site: frozenset(pages.loc[pages["site"] == site, "key"]) for site in snapshot.sites}
    rows = [
        (site, other, len(mine), len(mine & theirs), len(mine & theirs) / (len(mine) or nan))
        for (site, mine), (other, theirs) in permutations(values.items(), 2)
    ]
    frame = pd.DataFrame(rows, columns=["site", "other", by + "s", "shared", "share"])
    finding = f"no {by} is shared"
    if frame["shared"].any():
        tied = frame[frame["share"] == frame["share"].max()]
        first, more = tied.iloc[0], f" (and {len(tied) - 1:,} more pairs as much)" if len(tied) > 1 else ""
        share = part_of(first["shared"], first[by + "s"], by)
        finding = f"largest overlap: {first['other']} has {share} of {first['site']}{more}"
    rule = f"How many different {by}s of a site another site has too, by {KEYS[by]}."
    spec = ChartSpec(
        "heat",
        x="other",
        y="site",
        x_title="is shared by",
        y_title="of the site",
        value="share",
        format="%",
        size=by + "s",
        is_by_site=False,
    )
    return measure(frame, rule=rule, finding=finding, spec=spec)


# --- growth ------------------------------------------------------------------------------------------------------


def growth(snapshot: SnapshotTables, others: SnapshotTables | Iterable[SnapshotTables]) -> Measure:
    """See Snapshot.growth()."""
    snapshots = [snapshot, *_as_snapshots(others)]
    frame = pd.concat([_sizes(each).replace({"site": _site_names(each, snapshot)}) for each in snapshots])
    frame = frame.sort_values("at", kind="stable")
    frame = in_site_order(frame, snapshot)
    undated = sum(each.read_at is None for each in snapshots)
    rule = f"Pages of each snapshot, at the time when it was read. {NEWEST_RULE}{_choices(snapshots)}"
    if undated:
        rule += f" For {undated} that time is unknown: give it to load(path, at=...)."
    partial = sum(each.complete is False for each in snapshots)
    if partial:
        rule += f" {partial} could not be read completely."
    share = ("change in pages", lambda part: part["pages"].iloc[-1] / part["pages"].iloc[0] - 1)
    finding = finding_per_site(frame, snapshot.sites, _grown, share=share if len(snapshots) > 1 else None)
    spec = ChartSpec(
        "lines", x="at", y="pages", x_title="read at (UTC)", y_title="pages", comparison="bands", size="pages"
    )
    return measure(frame, rule=rule, finding=finding, spec=spec)


def _as_snapshots(others: Any) -> list[SnapshotTables]:
    is_one = hasattr(others, "pages") or isinstance(others, str) or not hasattr(others, "__iter__")
    several = [others] if is_one else [*others]
    for each in several:
        if not hasattr(each, "pages"):
            raise UsageError(f"growth() takes Snapshots, and not {each!r}: {_how_to_load(each)}")
    return several


def _how_to_load(other: object) -> str:
    return f"give sr.load({str(other)!r})" if isinstance(other, str | PathLike) else "sr.load() opens an earlier one"


def _sizes(snapshot: SnapshotTables) -> pd.DataFrame:
    pages = pages_with_newest(snapshot).groupby("site", sort=False)
    frame = pages.agg(pages=("site", "size"), dated=("lastmod", "count"), newest=("newest", "max")).reset_index()
    listed = snapshot.urls.to_pandas(["site", "sitemap"]).groupby("site")["sitemap"].nunique()
    frame["sitemaps"] = frame["site"].map(listed)
    frame["complete"] = pd.array([snapshot.complete] * len(frame), dtype="boolean")
    frame.insert(1, "at", _moment(snapshot))
    return frame


def _moment(snapshot: SnapshotTables) -> pd.Timestamp:
    """When the snapshot was read; the start of the day if only that is known."""
    moment = pd.Timestamp(snapshot.at).as_unit("us")
    is_day = snapshot.read_at is not None and snapshot.read_until is None
    return moment.normalize() if is_day else moment


def _grown(part: pd.DataFrame) -> str:
    first, last = part.iloc[0], part.iloc[-1]
    pages, days = count_of(last["pages"], "page"), count_of((last["at"] - first["at"]).days, "day")
    if len(part) == 1:
        return f"{pages} in one snapshot"
    more = int(last["pages"] - first["pages"])
    if not more:
        return f"{pages} at the beginning and at the end of {days}"
    by = f", {_change_share(more / first['pages'])}" if first["pages"] else ""
    return f"from {first['pages']:,} to {pages} ({more:+,}{by}) in {days}"


def _change_share(share: float) -> str:
    """
    >>> _change_share(-0.00105), _change_share(0.24), _change_share(0.00001)
    ('-0.1%', '+24%', 'under 0.1%')
    """
    if abs(share) < 0.001:
        return "under 0.1%"
    return f"{share:+.1%}" if abs(share) < 0.1 else f"{share:+.0%}"


# --- churn -------------------------------------------------------------------------------------------------------

_CHANGE_KINDS = ("new", "updated", "removed")
_RULE = (
    "Pages compared with those of an earlier snapshot. Updated: any field differs (lastmod, changefreq, priority, "
    "images, …), as in diff()."
)


def churn(snapshot: SnapshotTables, other: SnapshotTables, depth: int) -> Measure:
    """See Snapshot.churn()."""
    if not hasattr(other, "pages"):
        raise UsageError(f"churn() takes an earlier Snapshot, and not {other!r}: {_how_to_load(other)}")
    if snapshot.read_at and other.read_at and other.read_at > snapshot.read_at:
        hint = "call churn() on the later one, and give it the earlier one"
        raise UsageError(f"{other.name} was read later than {snapshot.name}: {hint}")
    earlier = _sections(other, depth).replace({"site": _site_names(other, snapshot)})
    sections = pd.concat([_sections(snapshot, depth), earlier]).drop_duplicates(PAGE_KEY)
    before = _listings(other, _site_names(other, snapshot))
    with diff(before, _listings(snapshot, {})) as found:
        changes = [(change.get("site"), change["loc"], change["change"]) for change in found.dicts()]
    changed = pd.DataFrame(changes, columns=[*PAGE_KEY, "change"])
    pages = sections.merge(changed, how="left", on=PAGE_KEY)
    pages["change"] = pages["change"].fillna("unchanged")
    counts = pages.groupby(["site", "section", "change"], sort=False).size().unstack(fill_value=0)
    counted = (*_CHANGE_KINDS, "unchanged")
    frame = counts.reindex(columns=[*counted], fill_value=0).rename_axis(columns=None).reset_index()
    frame["_changed"] = frame[[*_CHANGE_KINDS]].sum(axis=1)
    frame = frame.sort_values(["_changed", "section"], ascending=[False, True]).drop(columns="_changed")
    frame = in_site_order(frame, snapshot)
    rule = _RULE + _choices([snapshot, other])
    for side, change in ((other, "new"), (snapshot, "removed")):
        if side.complete is False:
            rule += f" {side.name} was not read completely: pages missing there count as {change}."
    share = (
        "pages that are new, updated or removed",
        lambda part: 1 - part["unchanged"].sum() / part[[*counted]].to_numpy().sum(),
    )
    finding = finding_per_site(frame, snapshot.sites, _churned, share=share)
    spec = ChartSpec(
        "heat",
        x="change",
        y="section",
        x_title="pages",
        y_title="section",
        value="pages",
        x_order=_CHANGE_KINDS,
        melt={name: name for name in _CHANGE_KINDS},
        max_rows=15,
        groups=tuple(CellGroup(name, label=name, whole=counted, is_counted=True) for name in _CHANGE_KINDS),
        matrix_title="share of the site's pages, and their number",
    )
    return measure(frame, rule=rule, finding=finding, spec=spec)


def _sections(snapshot: SnapshotTables, depth: int) -> pd.DataFrame:
    return page_frame(snapshot, "loc").assign(section=section_of(snapshot, depth))


def _listings(snapshot: SnapshotTables, names: dict[str, str]) -> Iterator[dict[str, Any]]:
    none = snapshot.urls.stored.schema.empty_table()
    for url in json_objects(Tables(snapshot.urls.stored, none, none)):
        yield {**url, "site": names.get(url["site"], url["site"])} if names else url


def _site_names(other: SnapshotTables, snapshot: SnapshotTables) -> dict[str, str]:
    """Name in `other` -> name in `snapshot`, if both have one site and one of them is named after its main host."""
    if len(other.sites) != 1 or len(snapshot.sites) != 1 or (other.is_named and snapshot.is_named):
        return {}
    return {other.sites[0]: snapshot.sites[0]}


def _choices(snapshots: Iterable[SnapshotTables]) -> str:
    sentences = dict.fromkeys(f" {each.name} has only some URLs ({each.choice})." for each in snapshots if each.choice)
    return "".join(sentences)


def _churned(part: pd.DataFrame) -> str:
    sums = part[[*_CHANGE_KINDS, "unchanged"]].sum()
    before = sums["updated"] + sums["removed"] + sums["unchanged"]
    earlier = ", ".join(f"{sums[name]:,} {name}" for name in ("updated", "removed", "unchanged"))
    return f"{sums['new']:,} new; of {count_of(before, 'earlier page')}: {earlier}"
