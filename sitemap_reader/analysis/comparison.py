"""Measures that compare sites, or one Snapshot with another."""

from __future__ import annotations

from functools import partial
from itertools import permutations
from math import nan
from os import PathLike
from typing import TYPE_CHECKING, Any
from unicodedata import normalize
from urllib.parse import unquote

import pandas as pd
import pyarrow as pa
from pyarrow import compute

from ..client.summary import count_of
from ..compare.diff import diff
from ..model.errors import UsageError
from .chart_spec import ChartSpec
from .languages import language_level
from .measure import (
    NEWEST_RULE,
    find_in_words,
    in_site_order,
    is_in,
    leading,
    measure,
    most_widespread,
    page_frame,
    pages_with_newest,
    part_of,
    quote,
    rank_sites,
)
from .sections import section_of
from .tables import PAGE_KEY, Tables, json_objects
from .topics import StopWords, site_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .measure import Measure
    from .tables import SnapshotTables


_OVERLAPS = ("path", "slug")


def overlap(snapshot: SnapshotTables, by: str) -> Measure:
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
    finding = f"No {by} is shared"
    if frame["shared"].any():
        tied = frame[frame["share"] == frame["share"].max()]
        first, more = tied.iloc[0], f"; {count_of(len(tied) - 1, 'other pair')} as much" if len(tied) > 1 else ""
        share = part_of(first["shared"], first[by + "s"], by)
        finding = f"Largest overlap: {first['other']} has {share} of {first['site']}{more}"
    rule = f"How many different {by}s of a site another site has too, by {KEYS[by]}."
    spec = ChartSpec(
        "heat",
        x="other",
        y="site",
        x_title=f"{by}s of the site in each row that the site in the column has too",
        part="share",
        format="%",
        max_rows=24,
        is_by_site=False,
    )
    return measure(frame, rule=rule, finding=finding, spec=spec)


def growth(snapshot: SnapshotTables, others: Any) -> Measure:
    is_one = hasattr(others, "pages") or isinstance(others, str) or not hasattr(others, "__iter__")
    snapshots: list[Any] = [snapshot, *([others] if is_one else others)]
    for each in snapshots:
        if not hasattr(each, "pages"):
            raise UsageError(f"growth() takes Snapshots, and not {each!r}: {_how_to_load(each)}")
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
    finding = find_in_words(frame, snapshot.sites, _grown, _pages_of_many)
    spec = ChartSpec("lines", x="at", y="pages", x_title="pages by time of reading (UTC)", sites=snapshot.sites)
    return measure(frame, rule=rule, finding=finding, spec=spec)


def _how_to_load(other: object) -> str:
    return f"give sr.load({str(other)!r})" if isinstance(other, str | PathLike) else "sr.load() opens an earlier one"


def _sizes(snapshot: SnapshotTables) -> pd.DataFrame:
    pages = pages_with_newest(snapshot).groupby("site", sort=False)
    frame = pages.agg(pages=("site", "size"), dated=("lastmod", "count"), newest=("newest", "max")).reset_index()
    listed = snapshot.urls.to_pandas(["site", "sitemap"]).groupby("site")["sitemap"].nunique()
    frame["sitemaps"] = frame["site"].map(listed)
    frame["complete"] = pd.array([snapshot.complete] * len(frame), dtype="boolean")
    moment = pd.Timestamp(snapshot.at).as_unit("us")
    is_day = snapshot.read_at is not None and snapshot.read_until is None
    frame.insert(1, "at", moment.normalize() if is_day else moment)
    return frame


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


def _pages_of_many(frame: pd.DataFrame) -> str:
    if frame["at"].nunique() == 1:
        return rank_sites("pages:", lambda part: part["pages"].iloc[-1], frame)

    def more(part: pd.DataFrame) -> Any:
        return part["pages"].iloc[-1] - part["pages"].iloc[0]

    return rank_sites("pages more than at first:", more, frame, write="{:+,}".format)


_CHANGE_KINDS = ("new", "updated", "removed")
_RULE = (
    "Pages compared with those of an earlier snapshot. Updated: any field differs (lastmod, changefreq, priority, "
    "images, …), as in diff()."
)


def churn(snapshot: SnapshotTables, other: SnapshotTables, depth: int) -> Measure:
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
    finding = find_in_words(frame, snapshot.sites, _churn_finding, _changes_of_many)
    spec = ChartSpec(
        "heat",
        x="change",
        y="section",
        x_title="pages by section",
        part="pages",
        whole=counted,
        across={"change": "change"},
        melt=_CHANGE_KINDS,
        max_rows=15,
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


def _churn_finding(part: pd.DataFrame) -> str:
    sums = part[[*_CHANGE_KINDS, "unchanged"]].sum()
    before = sums["updated"] + sums["removed"] + sums["unchanged"]
    changed = f"{sums['updated']:,} updated, {sums['removed']:,} removed"
    return f"{count_of(sums['new'], 'new page')}; of {count_of(before, 'earlier page')} {changed}"


def _changes_of_many(frame: pd.DataFrame) -> str:
    kinds = [*_CHANGE_KINDS]
    return rank_sites("pages new, updated or removed:", lambda part: int(part[kinds].to_numpy().sum()), frame)


_COLUMNS = ["site", "key", "pages", "loc"]
_MAX_NAMED = 3
KEYS = {
    "path": "path (decoded, in its case; without host, query, slash at the end, and segment that states a language)",
    "slug": "slug (decoded, in its case; the last segment of the path, without its extension)",
    "topic": "topic (a word of slugs and of the titles of news, videos and images, in lower case; no number)",
}


def gaps(snapshot: SnapshotTables, ours: Any, by: str, *, is_shared: bool = False) -> Measure:
    """With `is_shared` Snapshot.shared()."""
    if by not in [*KEYS]:  # a list: the value may be unhashable
        raise UsageError(keyword="by", value=by, allowed=f"one of {', '.join(KEYS)}")
    if hasattr(ours, "pages"):
        own, own_sites, sites = ours, [*ours.sites], [*snapshot.sites]
        name = "ours" if {*own_sites} & {*sites} or len(own_sites) > _MAX_NAMED else ", ".join(own_sites)
    else:
        own, own_sites = snapshot, _own_sites(snapshot, ours)
        sites, name = [site for site in snapshot.sites if site not in own_sites], ", ".join(own_sites)
    if by == "topic":
        theirs, note = _topics(snapshot, sites, is_own=False)
        mine, _ = _topics(own, own_sites, is_own=True)
    else:
        keyed = keyed_pages(snapshot, by)
        theirs, note = _pages_of(keyed, sites)
        mine, _ = _pages_of(keyed if own is snapshot else keyed_pages(own, by), own_sites)
    first = mine.drop_duplicates("key").set_index("key")["loc"]
    theirs = theirs.assign(_found=is_in(theirs["key"], first.index) == is_shared)
    frame = theirs.loc[theirs["_found"], _COLUMNS]
    frame = in_site_order(frame.sort_values(["pages", "key"], ascending=[False, True], kind="stable"), snapshot)
    if is_shared:
        frame["ours"] = first.reindex(frame["key"]).array
    what = f"{name} has too" if is_shared else f"no page of {name} has"
    noun, things = ("topic", f"topics that {what}") if by == "topic" else ("page", f"pages with a {by} that {what}")
    describe = partial(_gaps_finding, things=things, noun=noun)
    describe_many = partial(rank_sites, f"{things}:", lambda part: int(part["_found"].sum()))
    if by == "topic":
        describe_many = partial(_widest_topic, things=things)
    finding = find_in_words(theirs, sites, describe, describe_many, f"no page has a {by}")
    rule = f"What other sites have that {what}, by {KEYS[by]}. All pages of both are compared.{note}"
    for each in {id(side): side for side in (snapshot, own)}.values():
        rule += f" {each.name} has only some URLs ({each.choice})." if each.choice else ""
        rule += f" {each.name} was not read completely." if each.complete is False else ""
    # Pages are a list, which is not drawn: only how many there are.
    title = f"pages with a {by} that ours {'has too' if is_shared else 'lacks'}"
    spec = ChartSpec("counts", x="site", y="site", x_title=title, sites=tuple(sites), is_by_site=False)
    if by == "topic":
        title = "pages of the site with this topic"
        spec = ChartSpec("rows", x="pages", y="key", x_title=title, max_rows=20, sites=tuple(sites))
    return measure(frame, rule=rule, finding=finding, spec=spec)


def _own_sites(snapshot: SnapshotTables, ours: Any) -> list[str]:
    sites = [ours] if isinstance(ours, str) else [*ours] if hasattr(ours, "__iter__") else []
    missing = [site for site in sites if site not in snapshot.sites]
    names = ", ".join(snapshot.sites) or "none"
    if missing or not sites:
        wrong = missing[0] if missing else ours
        raise UsageError(keyword="ours", value=wrong, allowed=f"a site of this Snapshot ({names}) or another Snapshot")
    if len({*sites}) == len(snapshot.sites):
        raise UsageError(f"there is no other site to compare: the Snapshot has only {names}")
    return sites


def _gaps_finding(part: pd.DataFrame, *, things: str, noun: str) -> str:
    pages = part[part["_found"]].set_index("key")["pages"].sort_index()
    names, each = leading(pages, quote)
    is_named = noun == "topic" and len(pages)
    most = f"; most frequent: {names} ({count_of(int(pages.max()), 'page')}{each})" if is_named else ""
    return f"{things}: {part_of(len(pages), len(part), noun)}{most}"


def _widest_topic(frame: pd.DataFrame, *, things: str) -> str:
    sites = frame["site"].nunique()
    return most_widespread(f"{things}:", "key", frame[frame["_found"]], sites=sites, number="pages")


# --- keys --------------------------------------------------------------------------------------------------------


def keyed_pages(snapshot: SnapshotTables, by: str) -> pd.DataFrame:
    """`site loc key` of all pages; the key, a path or a slug, may be null."""
    pages = page_frame(snapshot, "loc", "path", "slug", "depth")
    level = language_level(snapshot)  # of the segment that states the language, the first or the second one
    if by == "path":
        paths = pages["path"].fillna("").str.strip("/")
        paths = paths.where(level != 1, paths.str.replace(r"^[^/]*/?", "", n=1, regex=True))
        paths = paths.where(level != 2, paths.str.replace(r"^([^/]*)/[^/]*", r"\1", n=1, regex=True))
        key = "/" + _decode(paths)
    else:
        is_home = (level > 0) & (pages["depth"] == level)  # /de is the home page of a language
        key = _decode(pages["slug"].astype("str").where(~is_home))
    return pages.assign(key=key)[["site", "loc", "key"]]


def _pages_of(keyed: pd.DataFrame, sites: list[str]) -> tuple[pd.DataFrame, str]:
    """`site key pages loc` of these sites, and what the rule has to say about them."""
    pages = keyed[keyed["site"].isin(sites)]
    without = int(pages["key"].isna().sum())
    pages = pages[pages["key"].notna()]
    pages = pages.assign(pages=pages.groupby(["site", "key"], sort=False)["loc"].transform("size"))
    note = f" Not compared: {count_of(without, 'page')} without a slug." if without else ""
    return pages[_COLUMNS], note


def _decode(texts: pd.Series[str]) -> pd.Series[str]:
    """Percent-decoded and in NFC, so that equal names are equal texts."""
    column = pa.array(texts, pa.string())
    is_plain = compute.and_not(compute.string_is_ascii(column), compute.match_substring(column, "%"))
    encoded = texts[~compute.fill_null(is_plain, True).to_numpy(zero_copy_only=False)]
    codes, names = pd.factorize(encoded)
    read = [normalize("NFC", unquote(name, errors="replace")) for name in names]
    decoded = texts.copy()
    decoded.loc[encoded.index] = [read[code] for code in codes]
    return decoded


def _topics(snapshot: SnapshotTables, sites: list[str], *, is_own: bool) -> tuple[pd.DataFrame, str]:
    """As _pages_of(). Of our own pages all words: a stop word of one language is a topic in another."""
    stops = StopWords(snapshot, is_used=not is_own)
    locs = snapshot.pages.stored["loc"]
    frames = [pd.DataFrame(columns=_COLUMNS)]
    for site, found in site_words(snapshot, sites):
        counts = found.counts()
        counts = counts[~counts["word"].isin(stops.find(site, counts, found.pages))]
        first = locs.take(counts["first"].to_numpy()).to_pandas()
        frames.append(counts.assign(site=site, key=counts["word"], loc=first.array)[_COLUMNS])
    return pd.concat(frames[1:] or frames), stops.rule
