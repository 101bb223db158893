"""The language of each page, and the measures of languages.

Sources, in order of trust: the page's hreflang link to itself, the first or second segment of its path, the first
label of its host, the language of its news entry. A segment or label that looks like a language code may be a word
(/it/, /my/) or a country (/uk/): statistics/sections.py decides which codes of a host are languages, from its counts.
Nothing is guessed from words or from country domains.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from pyarrow import compute

from ..client.summary import count_of
from ..statistics.sections import X_DEFAULT, CodeCounts, language_code
from .chart_spec import ChartSpec, shares_of_pages
from .measure import (
    find_in_words,
    in_site_order,
    leading,
    measure,
    most_widespread,
    name_some,
    part_of,
    quote,
    rank_sites,
    share_of_site,
)
from .tables import PAGE_KEY, once_per_page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .measure import Measure
    from .tables import SnapshotTables

SOURCES = ("hreflang", "path", "host", "news")  # in order of trust


def page_languages(snapshot: SnapshotTables) -> pd.DataFrame:
    """One row per page: `site`, `language` (a tag in lower case) and `source`, one of SOURCES; both null if unknown."""
    pages = language_codes(snapshot)
    news = compute.utf8_lower(compute.struct_field(snapshot.pages.stored["news"], "language")).to_pandas().astype("str")
    columns = dict(zip(SOURCES, (pages["own"], pages["segment"], pages["label"], news), strict=True))
    language = pd.Series(None, index=pages.index, dtype="str")
    source = pd.Series(None, index=pages.index, dtype="str")
    for name, column in columns.items():
        is_new = language.isna() & column.notna()
        language, source = language.where(~is_new, column), source.mask(is_new, name)
    return pd.DataFrame({"site": pages["site"], "language": language, "source": source})


def language_level(snapshot: SnapshotTables) -> pd.Series[int]:
    """Which segment of each page's path states its language: 1 in /de/shop/, 2 in /docs/de/; 0 if none does."""
    return language_codes(snapshot)["level"]


def hreflang_links(snapshot: SnapshotTables) -> pd.DataFrame:
    """One row per different link with a language, of all listings: `site loc hreflang href`; hreflang in lower case."""
    stored = snapshot.urls.stored.select(["site", "loc", "alternates"]).combine_chunks()
    alternates = stored["alternates"]
    rows = compute.list_parent_indices(alternates)
    items: Any = compute.list_flatten(alternates)
    table = pa.table(
        {
            "site": stored["site"].take(rows),
            "loc": stored["loc"].take(rows),
            "hreflang": compute.utf8_lower(compute.struct_field(items, "hreflang")),
            "href": compute.struct_field(items, "href"),
        }
    )
    return table.filter(compute.is_valid(table["hreflang"])).to_pandas().drop_duplicates(ignore_index=True)


def own_languages(links: pd.DataFrame, pages: pd.DataFrame) -> pd.Series[str]:
    """For each of `pages` (`site loc`) the language that it states of itself: that of its first link to itself."""
    own = links[(links["loc"] == links["href"]) & (links["hreflang"] != X_DEFAULT)].drop_duplicates(PAGE_KEY)
    found = pages[PAGE_KEY].merge(own[[*PAGE_KEY, "hreflang"]], how="left", on=PAGE_KEY)["hreflang"]
    return found.set_axis(pages.index).astype("str")


# --- codes in paths and hosts ------------------------------------------------------------------------------------


@once_per_page
def language_codes(snapshot: SnapshotTables) -> pd.DataFrame:
    """Of each page `site`; its languages by hreflang (`own`), path (`segment`) and host (`label`), or null.

    `level` says which segment of the path it is, 0 for none.
    """
    pages = _page_parts(snapshot)
    first = _accepted(_with_codes(pages, 1, pages["host"]))
    # /docs/de/ and /docs/fr/ are languages if they are most of /docs/: elsewhere /tag/de/ is a tag.
    below = _with_codes(pages[first.isna()], 2, pages["host"] + "/" + pages["dir_1"])
    second = _accepted(below, partial(CodeCounts, 2, 0.5)).reindex(pages.index)
    known = pages[["host", "domain"]].dropna().drop_duplicates("host")
    labels = {host: _label(host, domain) for host, domain in zip(known["host"], known["domain"], strict=True)}
    hosts = pages.assign(code=_looked_up(pages["host"], labels), group=pages["domain"])
    label = _accepted(hosts, partial(CodeCounts, has_folders=False))
    level = first.notna().astype("int64") + 2 * second.notna()
    return pages[["site", "own"]].assign(segment=first.where(first.notna(), second), level=level, label=label)


def _page_parts(snapshot: SnapshotTables) -> pd.DataFrame:
    """`site own` of each page, and the parts of its URL that codes are looked for in."""
    folders = [f"dir_{level}" for level in range(1, 4)]
    known = [name for name in folders if name in snapshot.pages.columns]
    pages: pd.DataFrame = snapshot.pages.to_pandas([*PAGE_KEY, "host", "domain", "depth", "slug", "extension", *known])
    texts = [*folders, "host", "domain"]
    pages[texts] = pages.reindex(columns=texts).astype("str")  # not inferred: all may be null
    return pages.assign(own=own_languages(hreflang_links(snapshot), pages))


def _with_codes(pages: pd.DataFrame, level: int, group: pd.Series[str]) -> pd.DataFrame:
    """With `code`, that of a segment of the path; `name` and `below`, the folders there and below it; and the group."""
    name = pages[f"dir_{level}"]
    segment = name.fillna(pages["slug"].where((pages["depth"] == level) & pages["extension"].isna()).astype("str"))
    codes = {each: language_code(each) for each in segment.dropna().unique()}
    return pages.assign(code=_looked_up(segment, codes), name=name, below=pages[f"dir_{level + 1}"], group=group)


def _label(host: str, domain: str) -> str | None:
    """The code in the first label before the registrable domain; without `www.`."""
    name = re.sub(r":[0-9]*$", "", host).removesuffix(domain).removeprefix("www.").rstrip(".")
    return language_code(name.partition(".")[0])


def _looked_up(keys: pd.Series[str], values: Mapping[str, str | None]) -> pd.Series[str]:
    codes, names = pd.factorize(keys)
    found = pd.Series([values.get(name) for name in names], dtype="str")
    return found.reindex(pd.Series(codes).replace(-1, len(found))).set_axis(keys.index)


def _accepted(pages: pd.DataFrame, make_counts: Callable[[], CodeCounts] = CodeCounts) -> pd.Series[str]:
    """The code of each page, by `group code own`, where it is a language of its group, else null.

    Where folders are compared, `name` is that at the place of the code, and `below` the next one.
    """
    groups: dict[str, CodeCounts] = {name: make_counts() for name in pages["group"][pages["code"].notna()].unique()}
    some = pages[pages["group"].isin([*groups])]
    folder = some["below"].where(some["code"].notna(), some["name"]) if "name" in some else some["code"].str[:0]
    for (group, code, name), count in _sizes(some, folder).items():
        groups[group].add(code, name, count)
    for (group, code, language), count in _sizes(some[some["code"].notna() & some["own"].notna()], some["own"]).items():
        groups[group].add_own(code, language, count)
    found = {f"{name} {code}" for name, counts in groups.items() for code in counts.languages()}
    return pages["code"].where((pages["group"] + " " + pages["code"]).isin(found))


def _sizes(pages: pd.DataFrame, column: pd.Series[str]) -> dict[tuple[str, str, str], int]:
    """The number of pages by group, code and the value of a column, "" where there is none."""
    columns = [pages["group"], pages["code"].fillna(""), column.fillna("")]
    sizes: dict[tuple[str, str, str], int] = pages.groupby(columns, sort=False).size().to_dict()
    return sizes


# --- measures ----------------------------------------------------------------------------------------------------


UNKNOWN = "unknown"
_LANGUAGES_RULE = (
    "Pages by language: that of the hreflang link of a page to itself, else the code that begins its path or its host, "
    "if the pages of the host show that it is one of a language, else that of its news entry. A country domain states "
    "no language."
)


def languages(snapshot: SnapshotTables) -> Measure:
    pages = page_languages(snapshot)
    counts = pages["source"].value_counts()
    pages["language"] = pages["language"].fillna(UNKNOWN)
    by = pages.groupby(["site", "language"], sort=False)
    frame = by.agg(pages=("site", "size"), source=("source", _sources)).reset_index()
    frame.insert(3, "share", share_of_site(frame))
    frame["_last"] = frame["language"] == UNKNOWN
    frame = frame.sort_values(["_last", "pages", "language"], ascending=[True, False, True]).drop(columns="_last")
    frame = in_site_order(frame, snapshot)
    stated = [f"{count_of(int(counts[name]), 'page')} by {name}" for name in SOURCES if counts.get(name)]
    rule = f"{_LANGUAGES_RULE} Found: {', '.join(stated) or 'none'}."
    spec = shares_of_pages("language", "language", missing=UNKNOWN)
    finding = find_in_words(frame, snapshot.sites, _languages_found, _languages_of_many)
    return measure(frame, rule=rule, finding=finding, spec=spec)


def _sources(column: pd.Series[str]) -> str | None:
    found = {*column.dropna().unique()}
    return ", ".join(name for name in SOURCES if name in found) or None


def _languages_found(part: pd.DataFrame) -> str:
    known = part[part["language"] != UNKNOWN]
    total, unknown = int(part["pages"].sum()), int(part["pages"].sum() - known["pages"].sum())
    if not len(known):
        return f"no language is known of {count_of(total, 'page')}"
    named = zip(known["language"], known["pages"], strict=True)
    names = [f"{quote(language)} {part_of(pages, total, 'page')}" for language, pages in named]
    rest = f"; unknown for {part_of(unknown, total, 'page')}" if unknown else ""
    return f"languages: {name_some(names)}{rest}"


def _languages_of_many(frame: pd.DataFrame) -> str:
    known = frame[frame["language"] != UNKNOWN]
    return most_widespread("languages:", "language", known, sites=frame["site"].nunique(), count=3)


_NONE = "none"
_RULE = (
    "hreflang links between pages. The language of a page is that of its link to itself (none if it has no such link). "
    "A link is returned if the page it points to is listed, by any of these sites, and links back."
)


def hreflang(snapshot: SnapshotTables) -> Measure:
    links = hreflang_links(snapshot)
    links = links.assign(language=own_languages(links, links).fillna(_NONE))
    links = links[links["loc"] != links["href"]]
    # Across the sites of the Snapshot: a language may have its own domain.
    back = links[["href", "loc"]].set_axis(["loc", "href"], axis=1).drop_duplicates()
    links = links.merge(back.assign(returned=True), how="left", on=["loc", "href"])
    links["returned"] = links["returned"].eq(True)
    by = links.groupby(["site", "language", "hreflang"])["returned"]
    frame = by.agg(links="size", returned="sum").reset_index().rename(columns={"hreflang": "alternate"})
    frame = in_site_order(frame, snapshot)
    finding = find_in_words(frame, snapshot.sites, _returned, _NOT_RETURNED, "no page has an hreflang link")
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
