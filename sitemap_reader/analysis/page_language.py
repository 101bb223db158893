"""The language of each page: a Snapshot in; a language and its source for every page out.

Sources, in order of trust: the page's hreflang link to itself, the first or second segment of its path, the first
label of its host, the language of its news entry. A segment or label that looks like a language code may be a word
(/it/, /my/) or a country (/uk/): statistics/sections.py decides which codes of a host are languages, from its counts.
Nothing is guessed from words or from country domains.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from pyarrow import compute

from ..statistics.sections import X_DEFAULT, CodeCounts, CodePlace, language_code
from .tables import PAGE_KEY, once

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .tables import SnapshotTables

HREFLANG, PATH, HOST, NEWS = "hreflang", "path", "host", "news"
SOURCES = (HREFLANG, PATH, HOST, NEWS)


def page_languages(snapshot: SnapshotTables) -> pd.DataFrame:
    """One row per page: `site`, `language` (a tag in lower case) and `source`, one of SOURCES; both null if unknown."""
    pages = language_codes(snapshot)
    columns = {HREFLANG: pages["own"], PATH: pages["segment"], HOST: pages["label"], NEWS: _news_languages(snapshot)}
    language = pd.Series(None, index=pages.index, dtype="str")
    source = pd.Series(None, index=pages.index, dtype="str")
    for name, column in columns.items():
        is_new = language.isna() & column.notna()
        language, source = language.where(~is_new, column), source.mask(is_new, name)
    return pd.DataFrame({"site": pages["site"], "language": language, "source": source})


def language_level(snapshot: SnapshotTables) -> pd.Series[int]:
    """Which segment of each page's path states its language: 1 in /de/shop/, 2 in /docs/de/; 0 if none does."""
    levels: pd.Series[int] = language_codes(snapshot)["level"]
    return levels


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
    frame: pd.DataFrame = table.filter(compute.is_valid(table["hreflang"])).to_pandas()
    return frame.drop_duplicates(ignore_index=True)


def own_languages(links: pd.DataFrame, pages: pd.DataFrame) -> pd.Series[str]:
    """For each of `pages` (`site loc`) the language that it states of itself: that of its first link to itself."""
    own = links[(links["loc"] == links["href"]) & (links["hreflang"] != X_DEFAULT)].drop_duplicates(PAGE_KEY)
    found = pages[PAGE_KEY].merge(own[[*PAGE_KEY, "hreflang"]], how="left", on=PAGE_KEY)["hreflang"]
    return found.set_axis(pages.index).astype("str")


# --- codes in paths and hosts ------------------------------------------------------------------------------------


@once
def language_codes(snapshot: SnapshotTables) -> pd.DataFrame:
    """One row per page: `site`; the languages `own` (hreflang), `segment` (of the path) and `label` (of the host).

    Each is null if there is none. `level` says which segment of the path it is, 0 for none.
    """
    pages = _page_parts(snapshot)
    first = _accepted(_with_codes(pages, 1, pages["host"]), _FIRST)
    second = _accepted(_with_codes(pages[first.isna()], 2, pages["host"] + "/" + pages["dir_1"]), _SECOND)
    second = second.reindex(pages.index)
    known = pages[["host", "domain"]].dropna().drop_duplicates("host")
    labels = {host: _label(host, domain) for host, domain in zip(known["host"], known["domain"], strict=True)}
    label = _accepted(pages.assign(code=_looked_up(pages["host"], labels), group=pages["domain"]), _HOSTS)
    level = first.notna().astype("int64") + 2 * second.notna()
    return pages[["site", "own"]].assign(segment=first.where(first.notna(), second), level=level, label=label)


def _page_parts(snapshot: SnapshotTables) -> pd.DataFrame:
    """A row per page: `site own`, and the parts of its URL that codes are looked for in."""
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
    """The value for each key, with one look-up per distinct key."""
    codes, names = pd.factorize(keys)
    found = pd.Series([values.get(name) for name in names], dtype="str")
    return found.reindex(pd.Series(codes).replace(-1, len(found))).set_axis(keys.index)


# /docs/de/ and /docs/fr/ are languages if they are most of /docs/: elsewhere /tag/de/ is a tag.
_FIRST, _SECOND, _HOSTS = CodePlace(), CodePlace(2, 0.5), CodePlace(has_folders=False)


def _accepted(pages: pd.DataFrame, place: CodePlace) -> pd.Series[str]:
    """The code of each page where it is a language of its group, else null.

    `pages` has `group code own`, and where folders are compared `name`, the folder at the place of the code, and
    `below`, the next one.
    """
    groups: dict[str, CodeCounts] = {name: CodeCounts(place) for name in pages["group"][pages["code"].notna()].unique()}
    some = pages[pages["group"].isin([*groups])]
    folder = some["below"].where(some["code"].notna(), some["name"]) if place.has_folders else some["code"].str[:0]
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


def _news_languages(snapshot: SnapshotTables) -> pd.Series[str]:
    news = snapshot.pages.stored["news"]
    languages = compute.utf8_lower(compute.struct_field(news, "language"))
    result: pd.Series[str] = languages.to_pandas().astype("str")
    return result
