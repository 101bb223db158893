"""Measures of what other sites have and ours lacks, or has too: by path, slug or topic, compared over all pages."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from unicodedata import normalize
from urllib.parse import unquote

import pandas as pd
import pyarrow as pa
from pyarrow import compute

from ..client.summary import count_of
from ..model.errors import UsageError
from ..model.problems import percent
from .chart_spec import CellGroup, ChartSpec
from .languages import language_level
from .measure import finding_per_site, in_site_order, is_in, leading, measure, page_frame
from .topics import site_words, stated_languages, stop_rule, stop_words_of

if TYPE_CHECKING:
    from .measure import Measure
    from .tables import SnapshotTables

_COLUMNS = ["site", "key", "pages", "loc"]
_MAX_NAMED = 3
KEYS = {
    "path": "path (decoded, in its case; without host, query, slash at the end, and segment that states a language)",
    "slug": "slug (decoded, in its case; the last segment of the path, without its extension)",
    "topic": "topic (a word of slugs and of the titles of news, videos and images, in lower case; no number)",
}


def gaps(snapshot: SnapshotTables, ours: Any, by: str, *, is_shared: bool = False) -> Measure:
    """See Snapshot.gaps(), and with `is_shared` Snapshot.shared()."""
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
    things = f"topics that {what}" if by == "topic" else f"pages with a {by} that {what}"
    describe = partial(_described, by=by, name=name, is_shared=is_shared)
    share = (things, lambda part: part["_found"].mean())
    finding = finding_per_site(theirs, sites, describe, f"no page has a {by}", share)
    row = "A row is a word" if by == "topic" else "A row is a page"
    rule = f"What other sites have that {what}, by {KEYS[by]}. All pages of both are compared. {row}.{note}"
    for each in {id(side): side for side in (snapshot, own)}.values():
        rule += f" {each.name} has only some URLs ({each.choice})." if each.choice else ""
        rule += f" {each.name} was not read completely." if each.complete is False else ""
    spec = ChartSpec(
        "rows",
        x="pages",
        y="key",
        x_title=f"pages of the site with this {by}",
        max_rows=20,
        comparison="ranks",
        groups=(CellGroup("pages", "key", whole=("pages",), is_counted=True),),
        matrix_title="number of pages of the site; share of all in this table",
        size="pages",
    )
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


def _described(part: pd.DataFrame, *, by: str, name: str, is_shared: bool) -> str:
    total, part = len(part), part[part["_found"]]
    has = f"{name} has" if is_shared else f"no page of {name} has"
    share = f" ({percent(len(part) / total)})" if len(part) else ""
    if by != "topic":
        return f"{len(part):,} of {count_of(total, 'page')}{share} with a {by} that {has}"
    found = f"{len(part):,} of {count_of(total, 'topic')}{share} that {has}"
    if not len(part):
        return found
    words, each = leading(part.set_index("key")["pages"].sort_index(), '"{}"'.format)
    return (
        f"{found}; most frequent {'are' if each else 'is'} {words} ({count_of(int(part['pages'].max()), 'page')}{each})"
    )


# --- keys --------------------------------------------------------------------------------------------------------


def keyed_pages(snapshot: SnapshotTables, by: str) -> pd.DataFrame:
    """`site loc key` of all pages; the key, a path or a slug, may be null."""
    pages = page_frame(snapshot, "loc", "path", "slug", "depth")
    level = language_level(snapshot)
    return pages.assign(key=(_paths if by == "path" else _slugs)(pages, level))[["site", "loc", "key"]]


def _pages_of(keyed: pd.DataFrame, sites: list[str]) -> tuple[pd.DataFrame, str]:
    """`site key pages loc` of these sites, and what the rule has to say about them."""
    pages = keyed[keyed["site"].isin(sites)]
    without = int(pages["key"].isna().sum())
    pages = pages[pages["key"].notna()]
    pages = pages.assign(pages=pages.groupby(["site", "key"], sort=False)["loc"].transform("size"))
    note = f" Not compared: {count_of(without, 'page')} without a slug." if without else ""
    return pages[_COLUMNS], note


def _paths(pages: pd.DataFrame, level: pd.Series[int]) -> pd.Series[str]:
    """Without the segment that states the language, which is the first or the second one."""
    paths = pages["path"].fillna("").str.strip("/")
    paths = paths.where(level != 1, paths.str.replace(r"^[^/]*/?", "", n=1, regex=True))
    paths = paths.where(level != 2, paths.str.replace(r"^([^/]*)/[^/]*", r"\1", n=1, regex=True))
    return "/" + _decoded(paths)


def _slugs(pages: pd.DataFrame, level: pd.Series[int]) -> pd.Series[str]:
    is_home = (level > 0) & (pages["depth"] == level)  # /de is the home page of a language
    return _decoded(pages["slug"].astype("str").where(~is_home))


def _decoded(texts: pd.Series[str]) -> pd.Series[str]:
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
    """As _pages_of(), by word. Of our own pages all words: a stop word of one language is a topic in another."""
    stated = {} if is_own else stated_languages(snapshot)
    locs = snapshot.pages.stored["loc"]
    frames, used = [pd.DataFrame(columns=_COLUMNS)], {}
    for site, found in site_words(snapshot, sites):
        counts = found.counts()
        if not is_own:
            stops, used[site] = stop_words_of(counts, found.pages, stated.get(site, ()))
            counts = counts[~counts["word"].isin(stops)]
        first = locs.take(counts["first"].to_numpy()).to_pandas()
        frames.append(counts.assign(site=site, key=counts["word"], loc=first.array)[_COLUMNS])
    return pd.concat(frames[1:] or frames), stop_rule(used)
