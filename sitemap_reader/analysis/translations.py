"""Which pages lack a translation: pages are one in all languages by their path, or by hreflang links that are returned.

Links that are not returned do not join pages: many sites link each page to the home page of the other languages.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from ..client.summary import count_of
from ..model.errors import UsageError
from .chart_spec import ChartSpec
from .comparison import keyed_pages
from .languages import are_returned, hreflang_links, page_languages, page_places, place_languages, row_numbers
from .measure import UNKNOWN, find_in_words, in_site_order, leading, measure, name_some, part_of, quote, rank_sites
from .tables import PAGE_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .measure import Measure
    from .tables import SnapshotTables

_LEAST_OF_LARGEST, _LEAST_JOINED = 0.1, 0.1
_RULE = (
    "Pages of the same path, on the same host or on hosts whose first label is the language, without the segment that "
    "states it, are one page in several languages; so are pages whose hreflang links are returned. "
)
_COLUMNS = ["site", "key", "languages", "missing", "loc"]


def translations(snapshot: SnapshotTables, languages: Iterable[str] | None) -> Measure:
    names = _language_names(languages)
    pages = keyed_pages(snapshot, "path")[["site", "loc", "key"]].assign(language=page_languages(snapshot)["language"])
    pages["group"] = _groups(snapshot, pages)
    unknown, pages = int(pages["language"].isna().sum()), pages.dropna()
    sites = [*pages.groupby("site", sort=False)]
    found = [_of_site(part, names) for _, part in sites]
    groups = pd.concat([pd.DataFrame(columns=_COLUMNS), *(groups for groups, _ in found)])
    groups = groups.astype({name: "str" for name in _COLUMNS})
    several = int(pages[pages.duplicated(["group", "language"])]["group"].nunique())
    frame = in_site_order(groups[groups["missing"] != ""], snapshot)
    chosen = "" if names else " Compared are the languages that have a tenth of the pages of the largest one, or more."
    left_out = [f"{count_of(unknown, 'page')} of {UNKNOWN} language"] if unknown else []
    texts = zip((name for name, _ in sites), (text for _, text in found), strict=True)
    left_out += [f"{name}: {text}" if len(sites) > 1 else text for name, text in texts if text]
    doubles = f", also {several:,} with several URLs in a language" if several else ""
    rule = f"{_RULE}Each of them counts once{doubles}.{chosen}"
    rule += f" Not compared: {'; '.join(left_out)}." if left_out else ""
    many = partial(rank_sites, "pages without a translation:", lambda part: int((part["missing"] != "").sum()))
    finding = find_in_words(groups, snapshot.sites, _untranslated, many, "no page is known in several languages")
    title = "pages by the languages that they lack"
    spec = ChartSpec("counts", x="missing", y="missing", x_title=title, max_rows=15, sites=snapshot.sites)
    return measure(frame, rule=rule, finding=finding, spec=spec)


def _language_names(languages: Iterable[str] | None) -> list[str] | None:
    if languages is None:
        return None
    is_list = hasattr(languages, "__iter__") and not isinstance(languages, str)
    names = [*dict.fromkeys(name.lower() for name in languages)] if is_list else []
    if len(names) < 2:
        raise UsageError(keyword="languages", value=languages, allowed='two languages or more, such as ["en", "de"]')
    return names


def _of_site(pages: pd.DataFrame, names: list[str] | None) -> tuple[pd.DataFrame, str]:
    """_COLUMNS of all groups of a site, `missing` is empty where none is; and which languages are not chosen."""
    counts = pages["language"].value_counts()
    several = pages.groupby("group")["language"].transform("nunique") > 1
    joined = several.groupby(pages["language"]).mean()
    large = {*names} if names else {*counts.index[counts >= _LEAST_OF_LARGEST * counts.max()]}
    alone = sorted(large & {*joined.index[joined < _LEAST_JOINED]})
    chosen = sorted(large - {*alone})
    few = "of which under a tenth have the path of a page in another language, or a returned link to one"
    text = f"pages in {name_some([*map(quote, alone)])}, {few}" if alone and len(counts) > 1 else ""
    pages = pages[pages["language"].isin(chosen)]
    if len(chosen) < 2:
        return pages.head(0).reindex(columns=_COLUMNS), text
    first = pages.drop_duplicates("group")
    group = pd.Categorical(pages["group"], first["group"]).codes
    has = np.zeros((len(first), len(chosen)), bool)
    has[group, pd.Categorical(pages["language"], chosen).codes] = True
    number = row_numbers(pd.DataFrame(has))
    combinations = has[~pd.Series(number).duplicated()]
    for column, is_in in (("languages", combinations), ("missing", ~combinations)):
        texts = np.array([", ".join(np.array(chosen)[row]) for row in is_in], object)
        first = first.assign(**{column: texts[number]})
    return first.sort_values(["key", "loc"])[_COLUMNS], text


def _untranslated(part: pd.DataFrame) -> str:
    lacking = part.loc[part["missing"] != "", "missing"].value_counts()
    if not len(lacking):
        languages = part["languages"].iloc[0].split(", ")
        return f"in {name_some([*map(quote, languages)])}: all of {count_of(len(part), 'page')}"
    counts = pd.Series(lacking.index).str.get_dummies(", ").mul(lacking.array, axis=0).sum()
    names, each = leading(counts, quote)
    share = part_of(int(lacking.sum()), len(part), "page")
    return f"without a translation: {share}, most often into {names} ({counts.max():,}{each})"


def _groups(snapshot: SnapshotTables, pages: pd.DataFrame) -> Any:
    """A number for each page, the same for those that are one page in several languages."""
    places, label = page_places(snapshot), place_languages(snapshot)["label"]
    hosts = places.frame["host"].str.removeprefix("www.").where(label.isna(), places.frame["domain"])
    host = places.of_pages(hosts).to_pandas()
    number = row_numbers(pages[["site", "key"]].assign(host=host))
    links, urls = hreflang_links(snapshot)
    links = links[(links["loc"] != links["href"]) & are_returned(links)]
    if not len(links):
        return number
    at = compute.index_in(pa.array(pages["loc"], pa.string()), urls).fill_null(-1).to_numpy()
    keys = pd.DataFrame({"site": pages["site"], "loc": at, "number": number})
    ends = [
        links[["site", name]].astype({"site": "str"}).set_axis(PAGE_KEY, axis=1).merge(keys, how="left", on=PAGE_KEY)
        for name in ("loc", "href")
    ]
    pairs = pd.concat([end["number"] for end in ends], axis=1).dropna().astype("int64").to_numpy()
    return _joined(number, *pairs.T)


def _joined(number: Any, first: Any, second: Any) -> Any:
    """The numbers, the same for those that pairs connect: each takes the least one, in some rounds."""
    root = np.arange(number.max(initial=-1) + 1)
    while True:
        one, other = root[first], root[second]
        if (one == other).all():
            return root[number]
        np.minimum.at(root, np.maximum(one, other), np.minimum(one, other))
        while (root[root] != root).any():
            root = root[root]
