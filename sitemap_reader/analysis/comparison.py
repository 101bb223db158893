"""Measures that compare sites, or one Snapshot with another."""

from __future__ import annotations

from functools import partial
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..client.summary import count_of
from ..model.errors import UsageError
from .chart_spec import ChartSpec
from .languages import base_languages, language_level, page_languages
from .measure import (
    as_texts,
    find_in_words,
    in_site_order,
    is_in,
    leading,
    measure,
    most_frequent,
    most_widespread,
    name_some,
    page_frame,
    part_of,
    quote,
    rank_sites,
)
from .page_types import are_usual
from .url_parts import INDEX_NAMES, decode, texts_of
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
    pages = keyed_pages(snapshot, by)[["site", "key"]].dropna().drop_duplicates()
    common = pages[pages["key"].duplicated(keep=False)]
    numbers, keys = pd.factorize(common["key"])
    common = common.assign(number=numbers, usual=are_usual(pd.Series(keys, dtype="str"))[numbers].array)
    pairs = pd.DataFrame([*permutations(snapshot.sites, 2)], columns=["site", "other"])
    frame = pairs.assign(**{by + "s": pairs["site"].map(pages["site"].value_counts()).fillna(0).astype("int64")})
    shared = [_shared_counts(common, *each) for each in [("", []), *common.groupby("site")["number"]]]
    frame = frame.merge(pd.concat(shared), how="left", on=["site", "other"])
    frame = frame.fillna({"shared": 0, "usual": 0}).astype({"shared": "int64", "usual": "int64"})
    frame["share"] = frame["shared"] / frame[by + "s"].where(frame[by + "s"] > 0)
    finding = _largest_overlap(frame, common, by) if frame["shared"].any() else f"No {by} is shared"
    rule = (
        f"How many different {by}s of a site another site has too, by {KEYS[by]}. Usual ones have a name as on "
        "most sites, such as /about; the largest overlap is that of the others, if any."
    )
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


def _shared_counts(common: pd.DataFrame, site: str, keys: Any) -> pd.DataFrame:
    """`site other shared usual`: how many of the keys of a site each site has."""
    by = common[common["number"].isin(keys)].groupby("site")["usual"]
    return by.agg(shared="size", usual="sum").rename_axis("other").reset_index().assign(site=site)


def _largest_overlap(frame: pd.DataFrame, common: pd.DataFrame, by: str) -> str:
    unusual = (frame["shared"] - frame["usual"]) / frame[by + "s"]
    share = unusual if unusual.any() else frame["share"]
    tied = frame[share == share.max()]
    first = tied.iloc[0]
    mine, theirs = (common[common["site"] == first[name]] for name in ("site", "other"))
    shared = mine[mine["number"].isin(theirs["number"])].sort_values("key")
    others, usual = ([*shared.loc[shared["usual"] == is_usual, "key"]] for is_usual in (False, True))
    names = [name_some(others)] if others else []
    words = "usual ones" if others else "all of them usual ones" if len(usual) > 1 else "a usual one"
    names += [f"{words}: {name_some(usual)}"] if usual else []
    part = part_of(first["shared"], first[by + "s"], by)
    more = f"; {count_of(len(tied) - 1, 'other pair')} as much" if len(tied) > 1 else ""
    start = ": " if others else ", "
    return f"Largest overlap: {first['other']} has {part} of {first['site']}{start}{'; '.join(names)}{more}"


_COLUMNS = ["site", "key", "pages", "share", "loc"]
_MAX_NAMED = 3
KEYS = {
    "path": "path (decoded, in its case; without host, query, slash, index file, and segment that states a language)",
    "slug": "slug (decoded, in its case; the last segment of the path, without its extension)",
    "topic": "topic (a word as in topics(), in lower case; no number or id)",
    "language": "language (without its region: pt of pt-br)",
}
_IF_NONE = {"language": "no language is known"}
_WITHOUT = {"path": "", "slug": "without a slug", "language": "of unknown language"}


def gaps(snapshot: SnapshotTables, ours: Any, by: str, *, is_shared: bool = False) -> Measure:
    """With `is_shared` Snapshot.shared()."""
    if by not in [*KEYS]:  # a list: the value may be unhashable
        raise UsageError(keyword="by", value=by, allowed=f"one of {', '.join(KEYS)}")
    if hasattr(ours, "pages"):
        own, own_sites, sites = ours, [*ours.sites], [*snapshot.sites]
        is_named = own_sites and len(own_sites) <= _MAX_NAMED and not {*own_sites} & {*sites}
        name = name_some(own_sites) if is_named else "ours"
    else:
        own, own_sites = snapshot, _own_sites(snapshot, ours)
        sites, name = [site for site in snapshot.sites if site not in own_sites], name_some(own_sites)
    if by == "topic":
        theirs, note = _topics(snapshot, sites, is_own=False)
        mine, _ = _topics(own, own_sites, is_own=True)
    else:
        keyed = keyed_pages(snapshot, by, "section")
        theirs, without = _pages_of(keyed, sites)
        mine, without_ours = _pages_of(keyed if own is snapshot else keyed_pages(own, by, "section"), own_sites)
        counts = {"": without, f" of {name}": without_ours}
        left_out = [f"{count_of(count, 'page')}{of} {_WITHOUT[by]}" for of, count in counts.items() if count]
        note = f" Not compared: {' and '.join(left_out)}." if left_out else ""
    if by == "language":
        theirs = theirs.drop_duplicates(["site", "key"])
    first = mine.drop_duplicates("key").set_index("key")["loc"]
    theirs = theirs.assign(_found=is_in(theirs["key"], first.index) == is_shared)
    frame = theirs.loc[theirs["_found"], [*_COLUMNS, *(["section"] if by in _OVERLAPS else [])]]
    frame = in_site_order(frame.sort_values(["pages", "key"], ascending=[False, True], kind="stable"), snapshot)
    if is_shared:
        frame.insert(5, "ours", first.reindex(frame["key"]).array)
    what = f"{name} has too" if is_shared else f"no page of {name} has"
    noun, things = (by, f"{by}s that {what}") if by not in _OVERLAPS else ("page", f"pages with a {by} that {what}")
    if by == "language" and without_ours and not is_shared:
        unknown = f"unknown for {without_ours:,} of {count_of(without_ours + len(mine), 'page')}"
        things = f"{by}s that no page of {name} is known to have ({unknown})"
    describe = partial(_FOUND[by], things=things, noun=noun)
    describe_many = partial(rank_sites, f"{things}:", lambda part: int(part["_found"].sum()))
    if by not in _OVERLAPS:
        describe_many = partial(_widest_key, things=things, count=1 if by == "topic" else 3)
    finding = find_in_words(theirs, sites, describe, describe_many, _IF_NONE.get(by, f"no page has a {by}"))
    if by == "language" and mine.empty:
        finding = f"No language is known of {name}, so there is nothing to compare with"
    rule = f"What other sites have that {what}, by {KEYS[by]}. All pages of both are compared.{note}"
    for each in {id(side): side for side in (snapshot, own)}.values():
        rule += f" Of {each.name} only some URLs are compared ({each.choice})." if each.choice else ""
        rule += f" {each.name} was not read completely." if each.complete is False else ""
    # Pages are a list, which is not drawn: only how many there are.
    title = f"pages with a {by} that {what}, by section"
    spec = ChartSpec("counts", x="section", y="section", x_title=title, max_rows=15, sites=tuple(sites))
    if by not in _OVERLAPS:
        title = f"pages of the site {'with this topic' if by == 'topic' else 'in this language'}"
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


def _topics_found(part: pd.DataFrame, *, things: str, noun: str) -> str:
    rows = part[part["_found"]]
    most = ""
    if len(rows):
        pages = rows.set_index("key")["pages"].sort_index()
        most = f"; most frequent: {most_frequent(pages, round(pages.max() / rows['share'].max()), write=quote)}"
    return f"{things}: {part_of(len(rows), len(part), noun)}{most}"


def _pages_found(part: pd.DataFrame, *, things: str, noun: str) -> str:
    found = part.loc[part["_found"], "section"].value_counts()
    names, each = leading(found)
    where = (
        f", all in {names}" if len(found) == 1 else f", most in {names} ({found.max():,}{each})" if len(found) else ""
    )
    return f"{things}: {part_of(int(found.sum()), len(part), noun)}{where}"


def _languages_found(part: pd.DataFrame, *, things: str, noun: str) -> str:
    found = part[part["_found"]].sort_values("pages", ascending=False, kind="stable")
    counts = [f"{quote(row.key)} ({count_of(row.pages, 'page')})" for row in found.itertuples()]
    return f"{things}: {name_some(counts) if counts else f'none of {count_of(len(part), noun)}'}"


_FOUND = {"path": _pages_found, "slug": _pages_found, "topic": _topics_found, "language": _languages_found}


def _widest_key(frame: pd.DataFrame, *, things: str, count: int) -> str:
    sites = frame["site"].nunique()
    return most_widespread(f"{things}:", "key", frame[frame["_found"]], sites=sites, count=count)


# --- keys --------------------------------------------------------------------------------------------------------


def keyed_pages(snapshot: SnapshotTables, by: str, *columns: str) -> pd.DataFrame:
    """`site loc key` and these columns of all pages; the key, a path, a slug or a base language, may be null."""
    pages = page_frame(snapshot, "loc", "path", "slug", "depth", *columns)
    level = language_level(snapshot)  # of the segment that states the language, the first or the second one
    is_index = pages["slug"].astype("str").str.lower().isin(INDEX_NAMES)
    paths = pages["path"].astype("str").fillna("").str.strip("/")
    if by == "language":
        key = base_languages(page_languages(snapshot)["language"])
    elif by == "path":
        parts = ((level == 1, r"^[^/]*/?", ""), (level == 2, r"^([^/]*)/[^/]*", r"\1"), (is_index, "/?[^/]*$", ""))
        for rows, pattern, text in parts:
            paths[rows] = paths[rows].str.replace(pattern, text, n=1, regex=True)
        key = "/" + as_texts(decode(texts_of(paths)))
    else:
        slug = pages["slug"].astype("str")
        slug[is_index] = paths[is_index].str.extract("([^/]*)/[^/]*$", expand=False)
        is_home = (level > 0) & (pages["depth"] - is_index == level)  # /de is the home page of a language
        key = as_texts(decode(texts_of(slug.where(~is_home & (slug != "")))))
    return pages.assign(key=key)[["site", "loc", "key", *columns]]


def _pages_of(keyed: pd.DataFrame, sites: list[str]) -> tuple[pd.DataFrame, int]:
    """_COLUMNS and `section` of the pages of these sites, and how many pages have no key."""
    pages = keyed[keyed["site"].isin(sites)]
    counts, sizes = (pages.groupby(by, sort=False)["loc"].transform("size") for by in (["site", "key"], "site"))
    known = pages.assign(pages=counts, share=counts / sizes).dropna(subset="key")
    return known.astype({"pages": "int64"}), len(pages) - len(known)


def _topics(snapshot: SnapshotTables, sites: list[str], *, is_own: bool) -> tuple[pd.DataFrame, str]:
    """As _pages_of(). Of our own pages all words: a stop word of one language is a topic in another."""
    words, rule = (site_words(snapshot), "") if is_own else topical_words(snapshot)
    locs = snapshot.pages.stored["loc"]
    frames = [pd.DataFrame(columns=_COLUMNS)]
    for site in [site for site in sites if site in words]:
        counts = words[site].counts()
        first = locs.take(counts["first"].to_numpy()).to_pandas()
        share = counts["pages"] / len(words[site].rows)
        frames.append(counts.assign(site=site, key=counts["word"], share=share, loc=first.array)[_COLUMNS])
    return pd.concat(frames[1:] or frames), rule
