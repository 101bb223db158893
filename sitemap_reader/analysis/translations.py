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
from .languages import are_returned, hreflang_links, page_places, place_languages
from .measure import (
    UNKNOWN,
    distinct_rows,
    find_in_words,
    in_site_order,
    leading,
    measure,
    name_some,
    part_of,
    quote,
    rank_sites,
)

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
    pages = keyed_pages(snapshot, "path", "language")
    pages["group"] = _groups(snapshot, pages)
    unknown, pages = int(pages["language"].isna().sum()), pages.dropna()
    found = {site: _of_site(part, names) for site, part in pages.groupby("site", sort=False)}
    groups = pd.concat([pd.DataFrame(columns=_COLUMNS, dtype="str"), *(groups for groups, _, _ in found.values())])
    several = int(pages[pages.duplicated(["group", "language"])]["group"].nunique())
    frame = in_site_order(groups[groups["missing"] != ""], snapshot)
    chosen = "" if names else " Compared are the languages that have a tenth of the pages of the largest one, or more."
    left_out = [f"{count_of(unknown, 'page')} of {UNKNOWN} language"] if unknown else []
    left_out += [f"{site}: {text}" if len(found) > 1 else text for site, (_, _, text) in found.items() if text]
    doubles = f", also {several:,} with several URLs in a language" if several else ""
    rule = f"{_RULE}Each of them counts once{doubles}.{chosen}"
    rule += f" Not compared: {'; '.join(left_out)}." if left_out else ""
    describe = partial(_untranslated, {site: lacking for site, (_, lacking, _) in found.items()})
    many = partial(rank_sites, "pages without a translation:", lambda part: int((part["missing"] != "").sum()))
    finding = find_in_words(groups, snapshot.sites, describe, many, "no page is known in several languages")
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


def _of_site(pages: pd.DataFrame, names: list[str] | None) -> tuple[pd.DataFrame, pd.Series[int], str]:
    """_COLUMNS of all groups of a site, how many lack each language, and which languages are not compared."""
    counts = pages["language"].value_counts()
    several = pages.groupby("group")["language"].transform("nunique") > 1
    joined = several.groupby(pages["language"]).mean()
    large = {*names} if names else {*counts.index[counts >= _LEAST_OF_LARGEST * counts.max()]}
    alone = sorted(large & {*joined.index[joined < _LEAST_JOINED]})
    chosen = sorted(large - {*alone})
    few = "of which under a tenth have the path of a page in another language, or a returned link to one"
    text = f"pages in {name_some([*map(quote, alone)])}, {few}" if alone and len(counts) > 1 else ""
    pages = pages[pages["language"].isin(chosen)] if len(chosen) > 1 else pages.head(0)
    has = pages.groupby(["group", "language"], sort=False).size().unstack(fill_value=0).reindex(columns=chosen) > 0
    number, kinds = distinct_rows(has)
    first = pages.drop_duplicates("group")
    for column, is_in in (("languages", kinds), ("missing", ~kinds)):
        texts = pd.Series([", ".join(is_in.columns[row]) for row in is_in.to_numpy()], dtype="str")
        first = first.assign(**{column: texts[number].array})
    return first.sort_values(["key", "loc"])[_COLUMNS], (~has).sum(), text


def _untranslated(lacking: dict[str, pd.Series[int]], part: pd.DataFrame) -> str:
    """`lacking`: how many pages of each site lack each language."""
    counts = lacking[part["site"].iloc[0]]
    if not counts.any():
        return f"in {name_some([*map(quote, counts.index)])}: all of {count_of(len(part), 'page')}"
    names, each = leading(counts, quote)
    share = part_of(int((part["missing"] != "").sum()), len(part), "page")
    return f"without a translation: {share}, most often into {names} ({counts.max():,}{each})"


def _groups(snapshot: SnapshotTables, pages: pd.DataFrame) -> Any:
    """A number for each page, the same for those that are one page in several languages."""
    places, label = page_places(snapshot), place_languages(snapshot)["label"]
    hosts = places.frame["host"].str.removeprefix("www.").where(label.isna(), places.frame["domain"])
    number, _ = distinct_rows(pages[["site", "key"]].assign(host=places.of_pages(hosts).to_pandas()))
    links, urls = hreflang_links(snapshot)
    links = links[(links["loc"] != links["href"]) & are_returned(links)].astype({"site": "str"})
    at = compute.index_in(pa.array(pages["loc"], pa.string()), urls).fill_null(-1).to_numpy()
    keys = pd.DataFrame({"site": pages["site"], "end": at, "number": number})
    pairs = [
        links[["site", name]].merge(keys, how="left", left_on=["site", name], right_on=["site", "end"])["number"]
        for name in ("loc", "href")
    ]
    return _joined(number, *pd.concat(pairs, axis=1).dropna().astype("int64").to_numpy().T)


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
