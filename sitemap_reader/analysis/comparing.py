"""Sites beside each other, and a site beside what it was: Snapshots in; overlap, growth and churn out."""

from __future__ import annotations

from itertools import permutations
from math import nan
from os import PathLike
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..client.summary import count_of
from ..compare.diff import diff
from ..model.errors import UsageError
from .charts import ChartSpec
from .measure import finding_of, measure, percent
from .pages import NEWEST_RULE, PAGE, newest_of, ordered, pages_of
from .sections import section_of
from .tables import Tables, forms_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .measure import Measure
    from .snapshot import Snapshot

# --- overlap -----------------------------------------------------------------------------------------------------

_OVERLAPS = {
    "path": "paths, host and query aside",
    "slug": "slugs, the last names of their paths without extension",
}


def overlap(snapshot: Snapshot, by: str) -> Measure:
    """See Snapshot.overlap()."""
    if by not in [*_OVERLAPS]:  # also what has no hash
        raise UsageError(f"by is one of {', '.join(_OVERLAPS)}, and not {by!r}")
    if len(snapshot.sites) < 2:
        raise UsageError('overlap() compares sites, and here is one: sr.snapshot(["a.example", "b.example"])')
    pages = pages_of(snapshot, by).dropna()
    values = {site: frozenset(pages.loc[pages["site"] == site, by]) for site in snapshot.sites}
    rows = [
        (site, other, len(mine), len(mine & theirs), len(mine & theirs) / (len(mine) or nan))
        for (site, mine), (other, theirs) in permutations(values.items(), 2)
    ]
    frame = pd.DataFrame(rows, columns=["site", "other", by + "s", "shared", "share"])
    first = frame.sort_values("share", ascending=False, na_position="last").iloc[0]
    finding = f"no {by} is shared"
    if first["shared"]:
        most = percent(first["share"])
        finding = f"{first['other']} has {most} of the {by}s of {first['site']}, and that is the most"
    rule = f"How many of a site's different {_OVERLAPS[by]}, another one has too."
    drawing = ChartSpec(
        "heat",
        x="other",
        y="site",
        x_title="is shared by",
        y_title="of the site",
        value="share",
        format=".1%",
        ends=(0.0, 1.0),
        is_by_site=False,
    )
    return measure(frame, rule=rule, finding=finding, drawing=drawing)


# --- growth ------------------------------------------------------------------------------------------------------


def growth(snapshot: Snapshot, others: Snapshot | Iterable[Snapshot]) -> Measure:
    """See Snapshot.growth()."""
    every = [snapshot, *_snapshots(others)]
    frame = pd.concat([_sizes(each).replace({"site": _names_in(each, snapshot)}) for each in every])
    frame = frame.sort_values("at", kind="stable")
    frame = ordered(frame, snapshot)
    unread = [each for each in every if each.read_at is None]
    rule = f"Pages of each snapshot, at the time when it was read. {NEWEST_RULE}{_choices(every)}"
    if unread:
        rule += f" Of {len(unread)} nobody knows that: load(path, at=...) tells it."
    partial = sum(each.complete is False for each in every)
    if partial:
        rule += f" {partial} could not be read whole."
    finding = finding_of(frame, snapshot.sites, _grown)
    drawing = ChartSpec("lines", x="at", y="pages", x_title="read at (UTC)", y_title="pages")
    return measure(frame, rule=rule, finding=finding, drawing=drawing)


def _snapshots(others: Any) -> list[Snapshot]:
    is_one = hasattr(others, "pages") or isinstance(others, str) or not hasattr(others, "__iter__")
    several = [others] if is_one else [*others]
    for each in several:
        if not hasattr(each, "pages"):
            raise UsageError(f"growth() takes Snapshots, and not {each!r}: {_opened(each)}")
    return several


def _opened(other: object) -> str:
    """How a Snapshot is made of what was given."""
    return f"give sr.load({str(other)!r})" if isinstance(other, str | PathLike) else "sr.load() opens an earlier one"


def _sizes(snapshot: Snapshot) -> pd.DataFrame:
    pages = newest_of(snapshot).groupby("site", sort=False)
    frame = pages.agg(pages=("site", "size"), dated=("lastmod", "count"), newest=("newest", "max")).reset_index()
    listed = snapshot.urls.to_pandas(["site", "sitemap"]).groupby("site")["sitemap"].nunique()
    frame["sitemaps"] = frame["site"].map(listed)
    frame["complete"] = pd.array([snapshot.complete] * len(frame), dtype="boolean")
    frame.insert(1, "at", pd.Timestamp(snapshot.at).as_unit("us"))
    return frame


def _grown(part: pd.DataFrame) -> str:
    first, last = part.iloc[0], part.iloc[-1]
    days = (last["at"] - first["at"]).days
    by = f" ({last['pages'] / first['pages'] - 1:+.0%})" if first["pages"] else ""
    return f"from {first['pages']:,} to {count_of(last['pages'], 'page')}{by} in {count_of(days, 'day')}"


# --- churn -------------------------------------------------------------------------------------------------------

_KINDS = ("new", "updated", "removed")
_RULE = (
    "Pages beside those of an earlier snapshot. Updated: anything differs that the site states of it (lastmod, "
    "changefreq, priority, images, …), as diff() has it."
)


def churn(snapshot: Snapshot, other: Snapshot, depth: int) -> Measure:
    """See Snapshot.churn()."""
    if not hasattr(other, "pages"):
        raise UsageError(f"churn() takes an earlier Snapshot, and not {other!r}: {_opened(other)}")
    if snapshot.read_at and other.read_at and other.read_at > snapshot.read_at:
        hint = "churn() is of the later one, beside an earlier"
        raise UsageError(f"{other.name} was read later than {snapshot.name}: {hint}")
    earlier = _sections(other, depth).replace({"site": _names_in(other, snapshot)})
    sections = pd.concat([_sections(snapshot, depth), earlier]).drop_duplicates(PAGE)
    changes = [(form.get("site"), form["loc"], form["change"]) for form in _differences(snapshot, other)]
    changed = pd.DataFrame(changes, columns=[*PAGE, "change"])
    every = sections.merge(changed, how="left", on=PAGE)
    every["change"] = every["change"].fillna("unchanged")
    counts = every.groupby(["site", "section", "change"], sort=False).size().unstack(fill_value=0)
    frame = counts.reindex(columns=[*_KINDS, "unchanged"], fill_value=0).rename_axis(columns=None).reset_index()
    frame["_changed"] = frame[[*_KINDS]].sum(axis=1)
    frame = frame.sort_values(["_changed", "section"], ascending=[False, True]).drop(columns="_changed")
    frame = ordered(frame, snapshot)
    rule = _RULE + _choices([snapshot, other])
    for each, becomes in ((other, "new"), (snapshot, "removed")):
        if each.complete is False:
            rule += f" {each.name} was not read whole: what is missing there counts as {becomes}."
    finding = finding_of(frame, snapshot.sites, _churned)
    drawing = ChartSpec(
        "rows",
        x="pages",
        y="section",
        x_title="pages",
        split="change",
        melt={name: name for name in _KINDS},
        most=15,
    )
    return measure(frame, rule=rule, finding=finding, drawing=drawing)


def _sections(snapshot: Snapshot, depth: int) -> pd.DataFrame:
    return pages_of(snapshot, "loc").assign(section=section_of(snapshot, depth))


def _differences(snapshot: Snapshot, other: Snapshot) -> Iterable[dict[str, Any]]:
    """By the site that both tables name, which a file need not."""
    with diff(_forms(other, _names_in(other, snapshot)), _forms(snapshot, {})) as changes:
        yield from changes.forms()


def _forms(snapshot: Snapshot, names: dict[str, str]) -> Iterator[dict[str, Any]]:
    none = snapshot.urls.stored.schema.empty_table()
    for form in forms_of(Tables(snapshot.pages.stored, none, none)):
        yield {**form, "site": names.get(form["site"], form["site"])} if names else form


def _names_in(other: Snapshot, snapshot: Snapshot) -> dict[str, str]:
    """What the only site of one is called in the other, where one of them merely goes by its most frequent host."""
    if len(other.sites) != 1 or len(snapshot.sites) != 1 or (other.is_named and snapshot.is_named):
        return {}
    return {other.sites[0]: snapshot.sites[0]}


def _choices(snapshots: Iterable[Snapshot]) -> str:
    """Of which not all URLs were taken."""
    told = dict.fromkeys(f" {each.name} has only some URLs ({each.choice})." for each in snapshots if each.choice)
    return "".join(told)


def _churned(part: pd.DataFrame) -> str:
    sums = part[[*_KINDS, "unchanged"]].sum()
    before = sums["updated"] + sums["removed"] + sums["unchanged"]
    told = ", ".join(f"{sums[name]:,} {name}" for name in _KINDS)
    return f"{told} of {count_of(before, 'page')}"
