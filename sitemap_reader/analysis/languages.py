"""The language of each page, and the measures of languages.

Sources, in order of trust: the page's hreflang link to itself, the first or second segment of its path, the first
label of its host, the language of its news entry. A segment or label that looks like a language code may be a word
(/it/, /my/) or a country (/uk/): statistics/sections.py decides which codes of a host are languages, from its counts.
Nothing is guessed from words or from country domains.
"""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from ..client.summary import count_of
from ..statistics.sections import X_DEFAULT, CodeCounts, language_code
from .chart_spec import ChartSpec, shares_of_pages
from .measure import (
    UNKNOWN,
    as_texts,
    find_in_words,
    in_site_order,
    leading,
    measure,
    most_widespread,
    part_of,
    parts_in_words,
    quote,
    rank_sites,
    rest_last,
    share_of_site,
)
from .tables import PAGE_KEY, once, page_ids, rows_in_whole
from .url_parts import place_columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from .measure import Measure
    from .tables import SnapshotTables

SOURCES = ("hreflang", "path", "host", "news")  # in order of trust
_LIKE_CODE = "[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,4}){0,2}"  # language_code() decides


def page_languages(snapshot: SnapshotTables) -> pd.DataFrame:
    """One row per page: `site`, `language` (a tag in lower case) and `source`, one of SOURCES; both null if unknown."""
    places, codes = page_places(snapshot), place_languages(snapshot)
    news = compute.utf8_lower(compute.struct_field(snapshot.pages.stored["news"], "language")).combine_chunks()
    below = [places.of_pages(codes[name]) for name in ("segment", "label")]
    columns = dict(zip(SOURCES, (own_languages(snapshot), *below, news), strict=True))
    names = [compute.if_else(compute.is_valid(column), name, None) for name, column in columns.items()]
    language, source = compute.coalesce(*columns.values()), compute.coalesce(*names)
    site = snapshot.pages.stored["site"].to_pandas()
    return pd.DataFrame({"site": site, "language": as_texts(language), "source": as_texts(source)})


def base_languages(tags: pd.Series[str]) -> pd.Series[str]:
    """The languages without their regions: `pt` of `pt-br`."""
    return tags.str.replace("-.*", "", regex=True)


def language_level(snapshot: SnapshotTables) -> pd.Series[int]:
    """Which segment of each page's path states its language: 1 in /de/shop/, 2 in /docs/de/; 0 if none does."""
    return pd.Series(place_languages(snapshot)["level"].to_numpy()[page_places(snapshot).codes])


# --- hreflang links ----------------------------------------------------------------------------------------------


@once
def hreflang_links(snapshot: SnapshotTables) -> tuple[pd.DataFrame, Any]:
    """One row per different link with a language, of all listings: `site loc hreflang href`; and the different URLs.

    `loc` and `href` are numbers of these URLs, an Arrow array; hreflang is in lower case.
    """
    stored = snapshot.urls.stored.select(["site", "loc", "alternates"]).combine_chunks()
    alternates = stored["alternates"].combine_chunks()
    items: Any = compute.list_flatten(alternates)
    language = compute.utf8_lower(compute.struct_field(items, "hreflang"))
    has_language = compute.is_valid(language)
    rows = compute.list_parent_indices(alternates).filter(has_language)
    locs, hrefs = stored["loc"].take(rows), compute.struct_field(items, "href").filter(has_language)
    urls = pa.chunked_array([*locs.chunks, hrefs]).dictionary_encode().combine_chunks()
    numbers = urls.indices.to_numpy()
    columns = {"site": stored["site"].take(rows), "hreflang": language.filter(has_language)}
    links = pd.DataFrame({name: column.dictionary_encode().to_pandas() for name, column in columns.items()})
    links = links.assign(loc=numbers[: len(rows)], href=numbers[len(rows) :])
    return links.drop_duplicates(ignore_index=True), urls.dictionary


def stated_languages(links: pd.DataFrame) -> pd.DataFrame:
    """`site loc language` of pages that link to themselves: the language of the first such link."""
    own = links[(links["loc"] == links["href"]) & (links["hreflang"] != X_DEFAULT)].drop_duplicates(PAGE_KEY)
    return own[[*PAGE_KEY, "hreflang"]].rename(columns={"hreflang": "language"})


def are_returned(links: pd.DataFrame) -> pd.Series[bool]:
    """Whether the page to which a link points links back, across the sites of the Snapshot: each may be a language."""
    size = links[["loc", "href"]].to_numpy().max(initial=0) + 1
    there, back = links["loc"] * size + links["href"], links["href"] * size + links["loc"]
    return back.isin(there)


@once
def own_languages(snapshot: SnapshotTables) -> Any:
    """For each page the language that it states of itself, as an Arrow array."""
    if snapshot.whole is not None:
        return own_languages(snapshot.whole).take(pa.array(rows_in_whole(snapshot)))
    urls, pages = snapshot.urls.stored, snapshot.pages.stored
    batches = urls.select(["loc", "alternates"]).to_batches(max_chunksize=_BATCH_ROWS)
    own = pa.chunked_array([_own_language(*batch.columns) for batch in batches], pa.string())
    if pages is urls:
        return own.combine_chunks()
    stated = urls.select(PAGE_KEY).append_column("language", own).filter(own.is_valid())
    return stated["language"].take(compute.index_in(page_ids(pages), page_ids(stated))).combine_chunks()


_BATCH_ROWS = 1 << 16  # of 3,000,000 URLs with three links each the columns of all links take 1.3 GB


def _own_language(locs: Any, alternates: Any) -> Any:
    """Of each listing the language of its first link to itself."""
    items, rows = compute.list_flatten(alternates), compute.list_parent_indices(alternates)
    language = compute.utf8_lower(compute.struct_field(items, "hreflang"))
    is_own = compute.equal(compute.struct_field(items, "href"), locs.take(rows))
    is_own = compute.and_(is_own, compute.not_equal(language, X_DEFAULT)).fill_null(False)
    first, at = np.unique(rows.filter(is_own).to_numpy(), return_index=True)
    number = np.full(len(locs), -1)
    number[first] = at
    return language.filter(is_own).take(pa.array(number, mask=number < 0))


# --- codes in paths and hosts ------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Places:
    """Where pages are: `frame` has a row for each host with folders, `codes` the number of its row for each page.

    `frame`: `host domain dir_1 …`, at least three folders, and `home`, the last segment of a path of one or two if it
    may be a language: that of /de and /docs/de, which are in no folder below it. Few rows stand for many pages.
    """

    codes: Any
    frame: pd.DataFrame

    def of_pages(self, values: Any) -> Any:
        """A text of each place, or null, as an Arrow array with one for each page."""
        return pa.array(values, pa.string()).take(pa.array(self.codes))


@once
def page_places(snapshot: SnapshotTables) -> Places:
    if snapshot.whole is not None:  # codes are those of the whole site
        whole = page_places(snapshot.whole)
        return attrs.evolve(whole, codes=whole.codes[rows_in_whole(snapshot)])
    codes, columns = place_columns(snapshot.pages.stored["loc"], _LIKE_CODE)
    folders = [name for name in columns if name.startswith("dir_")]
    texts = ["host", "domain", *folders, *("dir_2", "dir_3")[len(folders) - 1 :], "home"]
    frame = pd.DataFrame({name: columns[name].to_pandas() for name in columns})
    return Places(codes, frame.reindex(columns=texts).astype("str"))  # not inferred: all may be null


@once
def place_languages(snapshot: SnapshotTables) -> pd.DataFrame:
    """Of each of page_places() its languages by path (`segment`) and host (`label`), or null.

    `level` says which segment of the path it is, 0 for none.
    """
    if snapshot.whole is not None:
        return place_languages(snapshot.whole)
    pages = page_places(snapshot)
    places = pages.frame.assign(pages=np.bincount(pages.codes, minlength=len(pages.frame)))
    own = pd.DataFrame({"place": pages.codes, "own": as_texts(own_languages(snapshot))}).dropna()
    own = own.groupby(["place", "own"], sort=False).size().rename("pages").reset_index()
    first = _accepted(_with_codes(places, 1, places["host"]), own)
    # /docs/de/ and /docs/fr/ are languages if they are most of /docs/: elsewhere /tag/de/ is a tag.
    below = _with_codes(places[first.isna()], 2, places["host"] + "/" + places["dir_1"])
    second = _accepted(below, own, partial(CodeCounts, 2, 0.5)).reindex(places.index)
    labels = [_label(host, domain) for host, domain in zip(places["host"], places["domain"], strict=True)]
    hosts = places.assign(code=pd.Series(labels, dtype="str"), group=places["domain"], folder="")
    label = _accepted(hosts, own, partial(CodeCounts, has_folders=False))
    level = first.notna().astype("int64") + 2 * second.notna()
    return pd.DataFrame({"segment": first.fillna(second), "level": level, "label": label})


def _with_codes(places: pd.DataFrame, level: int, group: pd.Series[str]) -> pd.DataFrame:
    """With `code`, that of a segment of the path; `folder`, the one below it, or where there is no code; the group."""
    name = places[f"dir_{level}"]
    has_home = name.isna() if level == 1 else name.isna() & places[f"dir_{level - 1}"].notna()
    segment = name.fillna(places["home"].where(has_home))
    codes = {each: language_code(each) for each in segment.dropna().unique()}
    code = segment.map(codes).astype("str")
    return places.assign(code=code, folder=places[f"dir_{level + 1}"].where(code.notna(), name).fillna(""), group=group)


@cache
def _label(host: Any, domain: Any) -> str | None:
    """The code in the first label before the registrable domain; without `www.`."""
    if pd.isna(domain):
        return None
    name = re.sub(r":[0-9]*$", "", host).removesuffix(domain).removeprefix("www.").rstrip(".")
    return language_code(name.partition(".")[0])


def _accepted(
    places: pd.DataFrame, own: pd.DataFrame, make_counts: Callable[[], CodeCounts] = CodeCounts
) -> pd.Series[str]:
    """The code of each place, by `group code folder pages`, where it is a language of its group, else null.

    `own`: `place own pages`, the languages that pages state of themselves.
    """
    groups: dict[str, CodeCounts] = {name: make_counts() for name in places["group"][places["code"].notna()].unique()}
    some = places[places["group"].isin([*groups])]
    for (group, code, folder), count in _sizes(some.fillna({"code": ""}), "folder").items():
        groups[group].add(code, folder, count)
    coded = own.merge(some.loc[some["code"].notna(), ["group", "code"]], left_on="place", right_index=True)
    for (group, code, language), count in _sizes(coded, "own").items():
        groups[group].add_own(code, language, count)
    found = {f"{name} {code}" for name, counts in groups.items() for code in counts.languages()}
    return places["code"].where((places["group"] + " " + places["code"]).isin(found))


def _sizes(counted: pd.DataFrame, column: str) -> dict[tuple[str, str, str], int]:
    """The number of pages by group, code and the value of a column."""
    by = counted.groupby(["group", "code", column], sort=False)["pages"].sum()
    sizes: dict[tuple[str, str, str], int] = by.to_dict()
    return sizes


# --- measures ----------------------------------------------------------------------------------------------------


_LANGUAGES_RULE = (
    "Pages by language: that of the hreflang link of a page to itself, else the code that begins its path or its host, "
    "if the pages of the host show that it is one of a language, else that of its news entry. A country domain states "
    "no language. `base` is the language without its region, which findings and charts of several sites count."
)


def languages(snapshot: SnapshotTables) -> Measure:
    pages = page_languages(snapshot)
    counts = pages["source"].value_counts()
    pages["language"] = pages["language"].fillna(UNKNOWN)
    by = pages.groupby(["site", "language"], sort=False)
    frame = by.agg(pages=("site", "size"), source=("source", _sources)).reset_index()
    frame.insert(3, "share", share_of_site(frame))
    frame.insert(2, "base", base_languages(frame["language"]))
    frame = rest_last(frame, "language", UNKNOWN)
    frame = in_site_order(frame, snapshot)
    stated = [f"{count_of(int(counts[name]), 'page')} by {name}" for name in SOURCES if counts.get(name)]
    rule = f"{_LANGUAGES_RULE} Found: {', '.join(stated) or 'none'}."
    spec = shares_of_pages("language", "language", across={"base": "language"}, missing=UNKNOWN)
    describe = partial(parts_in_words, "language", rest=UNKNOWN, write=quote)
    finding = find_in_words(frame, snapshot.sites, describe, _languages_of_many)
    return measure(frame, rule=rule, finding=finding, spec=spec)


def _sources(column: pd.Series[str]) -> str | None:
    found = {*column.dropna().unique()}
    return ", ".join(name for name in SOURCES if name in found) or None


def _languages_of_many(frame: pd.DataFrame) -> str:
    known = frame[frame["language"] != UNKNOWN].groupby(["site", "base"], sort=False)["share"].sum().reset_index()
    return most_widespread("languages:", "base", known, sites=frame["site"].nunique(), count=3)


_NONE = "none"
_RULE = (
    "hreflang links between pages. The language of a page is that of its link to itself (none if it has no such link). "
    "A link is returned if the page it points to is listed, by any of these sites, and links back."
)


def hreflang(snapshot: SnapshotTables) -> Measure:
    links, urls = hreflang_links(snapshot.whole or snapshot)
    links = links.merge(stated_languages(links), how="left", on=PAGE_KEY)
    links = links[links["loc"] != links["href"]].assign(returned=are_returned(links))
    if snapshot.whole is not None:  # a page that a filter leaves out may link back
        pages = compute.index_in(snapshot.pages.stored["loc"].combine_chunks(), urls).drop_null()
        links = links[links["site"].isin(snapshot.sites) & links["loc"].isin(pages.to_numpy())]
    links = links.astype({"site": "str", "language": "str", "hreflang": "str"}).fillna({"language": _NONE})
    by = links.groupby(["site", "language", "hreflang"])["returned"]
    frame = by.agg(links="size", returned="sum").reset_index().rename(columns={"hreflang": "alternate"})
    frame = in_site_order(frame, snapshot)
    finding = find_in_words(frame, snapshot.sites, _returned, _NOT_RETURNED, "no page has an hreflang link to another")
    spec = ChartSpec(
        "heat",
        x="alternate",
        y="language",
        part="returned",
        whole=("links",),
        across={"alternate": "language of the alternate"},
        x_title="rows: language of the page; columns: language of the alternate",
        cells="share of the links that are returned",
        format="%",
        ends=(0.0, 1.0),
        sites=snapshot.sites,
    )
    return measure(frame, rule=_RULE, finding=finding, spec=spec)


def _returned(part: pd.DataFrame) -> str:
    links, missing = int(part["links"].sum()), part["links"] - part["returned"]
    if not missing.any():
        return f"returned: all of {count_of(links, 'hreflang link')}"
    names, each = leading(missing.set_axis(part["language"].map(quote) + " to " + part["alternate"].map(quote)))
    share = part_of(int(missing.sum()), links, "hreflang link")
    return f"not returned: {share}, most often from {names} ({missing.max():,}{each})"


_NOT_RETURNED = partial(
    rank_sites, "hreflang links that are not returned:", lambda part: int(part["links"].sum() - part["returned"].sum())
)
