"""Measures of what pages and sitemaps state: counts per section (folder), media coverage, hints, and tree."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd
from pyarrow import compute

from ..client.summary import count_of
from ..model.errors import UsageError
from ..parser.content.sniff import Format
from .chart_spec import ChartSpec, shares_of_pages
from .languages import page_places, place_languages
from .measure import (
    NEWEST_RULE,
    as_texts,
    count_sites,
    days_between,
    find_in_words,
    in_site_order,
    is_newest,
    leading,
    measure,
    most_frequent,
    most_widespread,
    page_frame,
    pages_with_newest,
    part_of,
    quote,
    rank_sites,
    share_of_site,
)
from .tables import has_any
from .url_parts import MAX_DIRS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .measure import Measure
    from .tables import SnapshotTables


_MAX_ROWS = 15


def section_of(snapshot: SnapshotTables, depth: int, *, by_language: bool = False) -> pd.Series[str]:
    """The first `depth` folders of each page, such as `/blog/`; `/` for a page in no folder.

    A folder that states a language is left out, unless `by_language`.
    """
    if isinstance(depth, bool) or not hasattr(depth, "__index__") or not 1 <= depth <= MAX_DIRS:
        raise UsageError(keyword="depth", value=depth, allowed=f"a number from 1 to {MAX_DIRS}")
    places = page_places(snapshot)
    folders = places.frame.filter(like="dir_").replace("", None)
    folders[f"dir_{len(folders.columns) + 1}"] = pd.Series(None, index=folders.index, dtype="str")
    level = pd.Series(0, index=folders.index) if by_language else place_languages(snapshot)["level"]
    section = pd.Series("/", index=folders.index, dtype="str")
    for number in range(1, min(depth, len(folders.columns) - 1) + 1):
        is_after = (level > 0) & (level <= number)
        folder = folders[f"dir_{number}"].where(~is_after, folders[f"dir_{number + 1}"])
        section = section.where(folder.isna(), section + folder + "/")
    return as_texts(places.of_pages(section))


def _section_text(depth: int, *, by_language: bool) -> str:
    folders = "the first folder of the path" if depth == 1 else f"the first {depth} folders of the path"
    return folders if by_language else f"{folders} (not counting one that states a language)"


def sections(snapshot: SnapshotTables, depth: int, *, by_language: bool) -> Measure:
    pages = pages_with_newest(snapshot)
    section = section_of(snapshot, depth, by_language=by_language).rename("section")
    by = pages.groupby(["site", section], sort=False)
    frame = by.agg(pages=("site", "size"), dated=("lastmod", "count"), newest=("newest", "max")).reset_index()
    frame.insert(3, "share", share_of_site(frame))
    frame = in_site_order(frame.sort_values(["pages", "section"], ascending=[False, True]), snapshot)
    finding = find_in_words(frame, snapshot.sites, _largest_section, _LARGEST_SECTIONS)
    rule = (
        f"Pages by {_section_text(depth, by_language=by_language)}; / has the pages in no folder. "
        f"The last segment of a path is the page. {NEWEST_RULE}"
    )
    spec = ChartSpec("rows", x="pages", y="section", x_title="pages by section", share="share", max_rows=_MAX_ROWS)
    return measure(frame, rule=rule, finding=finding, spec=spec)


def _largest_section(part: pd.DataFrame) -> str:
    pages = part.set_index("section")["pages"]
    what = f"largest of {len(part):,} sections" if len(part) > 1 else "the only section"
    return f"{what}: {most_frequent(pages, int(pages.sum()))}"


_LARGEST_SECTIONS = partial(
    count_sites, "largest section:", lambda part: leading(part.set_index("section")["pages"])[0]
)


_MEDIA = ("images", "videos", "news", "alternates")
_LISTED = ("images", "videos")  # of which a page has several


def media_coverage(snapshot: SnapshotTables, depth: int, *, by_language: bool) -> Measure:
    pages = page_frame(snapshot)
    pages["section"] = section_of(snapshot, depth, by_language=by_language)
    for name in _MEDIA:
        pages[name] = has_any(snapshot.pages.stored[name]).to_pandas()
    for name in _LISTED:
        items = compute.list_value_length(snapshot.pages.stored[name])
        pages[f"{name}_listed"] = compute.fill_null(items, 0).to_pandas().astype("int64")
    by = pages.groupby(["site", "section"], sort=False)
    listed = [f"{name}_listed" for name in _LISTED]
    sums = by[[*_MEDIA, *listed]].sum()
    shares = sums[[*_MEDIA]].div(by.size(), axis=0).add_suffix("_share")
    frame = pd.concat([by.size().rename("pages"), sums[[*_MEDIA]], shares, sums[listed]], axis=1).reset_index()
    frame = in_site_order(frame.sort_values(["pages", "section"], ascending=[False, True]), snapshot)
    finding = find_in_words(frame, snapshot.sites, _media_shares, _media_of_many)
    where = _section_text(depth, by_language=by_language)
    rule = f"Pages whose sitemap entry has images, videos, news or hreflang alternates, by {where}."
    spec = ChartSpec(
        "heat",
        x="medium",
        y="section",
        part="listed",
        whole=("pages",),
        across={"medium": "in the page's entry"},
        x_title="in the page's entry",
        cells="share of the pages",
        format="%",
        melt=_MEDIA,
        max_rows=_MAX_ROWS,
        ends=(0.0, 1.0),
    )
    return measure(frame, rule=rule, finding=finding, spec=spec)


def _media_shares(part: pd.DataFrame) -> str:
    total = int(part["pages"].sum())
    counts = {name: int(part[name].sum()) for name in _MEDIA}
    names = {name: count_of(int(part[f"{name}_listed"].sum()), name.removesuffix("s")) for name in _LISTED}
    parts = [f"{names.get(name, name)} on {part_of(count, total, 'page')}" for name, count in counts.items() if count]
    return ", ".join(parts) or "no page has images, videos, news or alternates"


def _media_of_many(frame: pd.DataFrame) -> str:
    sums = frame.groupby("site", sort=False)[["pages", *_MEDIA]].sum()
    shares = sums[[*_MEDIA]].div(sums["pages"], axis=0).reset_index().melt("site", value_name="share")
    found = shares[shares["share"] > 0]
    return most_widespread("stated:", "variable", found, sites=len(sums), count=len(_MEDIA))


_FIELDS = ("changefreq", "priority")
_NONE = "none"


def changefreq_priority(snapshot: SnapshotTables) -> Measure:
    pages = page_frame(snapshot, "changefreq", "priority", "lastmod", "lastmod_precision")
    states_day = ~pages["lastmod_precision"].isin(["year", "month"])
    pages["age"] = days_between(pages["lastmod"], snapshot.at).where(states_day)
    pages["priority"] = pages["priority"].map("{:g}".format, na_action="ignore")
    frame = pd.concat([_values(pages, name) for name in _FIELDS])
    frame["value"] = pd.Categorical(frame["value"], _in_order(frame), ordered=True)
    frame = in_site_order(frame.sort_values(["field", "value"]), snapshot)
    frame["median_age_days"] = frame["median_age_days"].round(1)
    finding = find_in_words(frame, snapshot.sites, _stated_shares, _stated_of_many)
    rule = (
        "Pages by the changefreq and priority of their entry; none if it states none. The median age is that of "
        f"lastmods that state a day, on {snapshot.at:%Y-%m-%d}. Search engines say that they ignore both."
    )
    spec = shares_of_pages("value", "value", split="field")
    return measure(frame, rule=rule, finding=finding, spec=spec)


def _values(pages: pd.DataFrame, name: str) -> pd.DataFrame:
    value = pages[name].astype(object).fillna(_NONE).rename("value")
    by = pages.groupby(["site", value], sort=False)["age"]
    frame = by.agg(pages="size", median_age_days="median").reset_index()
    frame.insert(1, "field", name)
    frame.insert(4, "share", share_of_site(frame))
    return frame


_CHANGEFREQS = ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")


def _in_order(frame: pd.DataFrame) -> list[str]:
    """The values: changefreqs from the most frequent change on, priorities from the highest one on, then `none`."""
    stated = {name: {*frame.loc[frame["field"] == name, "value"]} - {_NONE} for name in _FIELDS}
    others = sorted(stated["changefreq"] - {*_CHANGEFREQS})
    known = [name for name in _CHANGEFREQS if name in stated["changefreq"]]
    return [*known, *others, *sorted(stated["priority"], key=float, reverse=True), _NONE]


def _stated_shares(part: pd.DataFrame) -> str:
    parts = []
    for name in _FIELDS:
        rows = part[part["field"] == name].set_index("value")["pages"]
        values = rows.drop(_NONE, errors="ignore")
        if len(values):
            which = f"{'most often' if len(values) > 1 else 'always'} {leading(values, quote)[0]}"
            parts.append(f"{name} on {part_of(int(values.sum()), int(rows.sum()), 'page')}, {which}")
    return "; ".join(parts) or "no page states a changefreq or a priority"


def _stated_of_many(frame: pd.DataFrame) -> str:
    stated = frame[frame["value"] != _NONE].groupby(["site", "field"], sort=False)["share"].sum().reset_index()
    return most_widespread("stated:", "field", stated, sites=frame["site"].nunique(), count=len(_FIELDS))


_TREE_COLUMNS = ["site", "sitemap", "parent", "depth", "format", "urls", "newest", "complete", "entries"]
_TREE_RULE = (
    "Each document that was read, below the first one that lists it; depth 0: none does. Entries are what it states, "
    "urls the listings of the Snapshot that are from it. A sitemap of which only URLs are known has no format."
)


def tree(snapshot: SnapshotTables) -> Measure:
    documents = _documents(snapshot)
    places = [place for _, part in documents.groupby("site", sort=False) for place in _nest(part)]
    order = pd.DataFrame(places, columns=["row", "depth", "parent"]).astype({"depth": "int64", "parent": "str"})
    frame = documents.loc[order["row"]].reset_index(drop=True).join(order)
    frame = in_site_order(frame[_TREE_COLUMNS], snapshot)
    describe = partial(_tree_finding, is_whole=snapshot.complete is not False)
    sites = snapshot.sites or (snapshot.name,)
    finding = find_in_words(frame, sites, describe, _MOST_SITEMAPS, "there is no sitemap")
    spec = ChartSpec("rows", x="urls", y="sitemap", x_title="URLs by sitemap", depth="depth", max_rows=20, sites=sites)
    rule = f"{_TREE_RULE} {NEWEST_RULE}"
    rule += f" Only some URLs are here: {snapshot.choice}." if snapshot.choice else ""
    return measure(frame, rule=rule, finding=finding, spec=spec)


def _documents(snapshot: SnapshotTables) -> pd.DataFrame:
    """A row per document, with `parents` and what its URLs in the Snapshot show; without any the site has no name."""
    outcomes = snapshot.sitemaps.to_pandas(["site", "url", "parents", "format", "entries", "complete"])
    outcomes = outcomes.rename(columns={"url": "sitemap"}).drop_duplicates(["site", "sitemap"])
    urls = snapshot.urls.to_pandas(["site", "sitemap", "lastmod", "lastmod_precision"])
    urls["newest"] = urls["lastmod"].where(is_newest(urls, snapshot.at))
    by = urls.groupby(["site", "sitemap"], sort=False)
    listed = by.agg(urls=("site", "size"), newest=("newest", "max")).reset_index()
    keys = pd.concat([each[["site", "sitemap"]] for each in (outcomes, listed)]).drop_duplicates()
    frame = keys.merge(outcomes, how="left", on=["site", "sitemap"]).merge(listed, how="left", on=["site", "sitemap"])
    types = {"urls": "int64", "entries": "Int64", "complete": "boolean"}
    return frame.fillna({"urls": 0, "site": snapshot.name}).astype(types)


def _nest(part: pd.DataFrame) -> Iterator[tuple[int, int, str | None]]:
    """(row, depth, parent) of each document of a site, children in order below their parent; each once."""
    rows = dict(zip(part["sitemap"], part.index, strict=True))
    parents: dict[str, str | None] = {}
    children: dict[str | None, list[str]] = {}
    for name, listed in zip(part["sitemap"], part["parents"], strict=True):
        others = listed if isinstance(listed, list) or hasattr(listed, "tolist") else ()
        parent = next((other for other in others if other in rows and other != name), None)
        parents[name] = parent
        children.setdefault(parent, []).append(name)
    done: set[str] = set()
    for first in (*children.get(None, ()), *parents):  # then those that list each other in a circle
        waiting = [(first, 0)]
        while waiting:
            name, depth = waiting.pop()
            if name not in done:
                done.add(name)
                yield rows[name], depth, parents[name] if depth else None
                waiting += [(child, depth + 1) for child in reversed(children.get(name, ()))]


def _tree_finding(part: pd.DataFrame, *, is_whole: bool) -> str:
    sitemaps = part[part["format"] != Format.ROBOTS]
    with_urls, urls = int((sitemaps["urls"] > 0).sum()), int(sitemaps["urls"].sum())
    incomplete, unknown = int((part["complete"] == False).sum()), int(part["complete"].isna().sum())  # noqa: E712
    states = [f"{incomplete:,} not read completely"] if incomplete else []
    states += [f"unknown whether {unknown:,} were read completely"] if unknown else []
    state = ", ".join(states) or ("all were read completely" if is_whole else "others are missing")
    where = f"{with_urls:,} of {count_of(len(sitemaps), 'sitemap')}" if urls else count_of(len(sitemaps), "sitemap")
    return f"{count_of(urls, 'URL') if urls else 'no URL'} in {where}; {state}"


_MOST_SITEMAPS = partial(rank_sites, "sitemaps:", lambda part: int((part["format"] != Format.ROBOTS).sum()))
