"""Measures that compare sites, or one Snapshot with another."""

from __future__ import annotations

from functools import partial
from itertools import permutations
from math import nan
from typing import TYPE_CHECKING, Any
from unicodedata import normalize
from urllib.parse import unquote

import pandas as pd
import pyarrow as pa
from pyarrow import compute

from ..client.summary import count_of
from ..model.errors import UsageError
from .chart_spec import ChartSpec
from .languages import language_level
from .measure import (
    find_in_words,
    in_site_order,
    is_in,
    measure,
    most_frequent,
    most_widespread,
    page_frame,
    part_of,
    quote,
    rank_sites,
)
from .words import site_words, topical_words

if TYPE_CHECKING:
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


_COLUMNS = ["site", "key", "pages", "share", "loc"]
_MAX_NAMED = 3
KEYS = {
    "path": "path (decoded, in its case; without host, query, slash at the end, and segment that states a language)",
    "slug": "slug (decoded, in its case; the last segment of the path, without its extension)",
    "topic": "topic (a word of slugs and of the titles of news, videos and images, in lower case; no number or id)",
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
        spec = ChartSpec("rows", x="pages", y="key", x_title=title, share="share", max_rows=20, sites=tuple(sites))
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
    rows = part[part["_found"]]
    most = ""
    if noun == "topic" and len(rows):
        pages = rows.set_index("key")["pages"].sort_index()
        most = f"; most frequent: {most_frequent(pages, round(pages.max() / rows['share'].max()), write=quote)}"
    return f"{things}: {part_of(len(rows), len(part), noun)}{most}"


def _widest_topic(frame: pd.DataFrame, *, things: str) -> str:
    sites = frame["site"].nunique()
    return most_widespread(f"{things}:", "key", frame[frame["_found"]], sites=sites)


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
    """_COLUMNS of the pages of these sites, and what the rule has to say about them."""
    pages = keyed[keyed["site"].isin(sites)]
    pages = pages.assign(share=1 / pages.groupby("site")["loc"].transform("size"))
    without = int(pages["key"].isna().sum())
    pages = pages[pages["key"].notna()]
    pages = pages.assign(pages=pages.groupby(["site", "key"], sort=False)["loc"].transform("size"))
    pages["share"] *= pages["pages"]
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
    words, rule = (site_words(snapshot), "") if is_own else topical_words(snapshot)
    locs = snapshot.pages.stored["loc"]
    frames = [pd.DataFrame(columns=_COLUMNS)]
    for site in sites:
        counts = words[site].counts()
        first = locs.take(counts["first"].to_numpy()).to_pandas()
        share = counts["pages"] / len(words[site].rows)
        frames.append(counts.assign(site=site, key=counts["word"], share=share, loc=first.array)[_COLUMNS])
    return pd.concat(frames[1:] or frames), rule
