"""URL patterns: paths in which segments of many values are placeholders, as /blog/{year}/{slug}; and lengths of slugs.

A pattern is found folder by folder, then word by word of the last segment from both its ends. What most pages of a
group have stays, so that each group has few patterns: the time is linear, and the rows are few.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import pandas as pd
from pyarrow import compute

from ..client.summary import count_of
from .chart_spec import ChartSpec, shares_of_pages
from .languages import language_level, page_places, place_languages
from .measure import (
    as_texts,
    count_sites,
    distinct_rows,
    find_in_words,
    in_site_order,
    leading,
    measure,
    most_frequent,
    page_frame,
    rank_sites,
    rest_last,
    share_of_site,
)
from .page_types import FOLDER_TYPES, OTHER
from .topics import check_top
from .url_parts import decode, texts_of

if TYPE_CHECKING:
    from .measure import Measure
    from .tables import SnapshotTables

# A folder stays if it has 1% of the pages of the site, and is one of 15 in its place, or has 5% of the pages there and
# ten times the median: cities and films are alike in size, and sections are not.
_LEAST_OF_SITE, _MAX_FOLDERS, _LEAST_OF_GROUP, _TIMES_MEDIAN = 0.01, 15, 0.05, 10
# A word at an end of the last segment stays if a quarter of the pages in the folder have it, ten pages and 1% of those
# of the site or more; a number, if half have it.
_LEAST_OF_WORDS, _LEAST_OF_NUMBERS, _LEAST_PAGES, _MAX_WORDS = 0.25, 0.5, 10, 6
_YEAR, _MONTH_DAY = "(?:19|20)[0-9]{2}", "(?:0[0-9]|1[0-2])[-_]?(?:[0-2][0-9]|3[01])"
_KINDS = {
    f"{_YEAR}[-_]?{_MONTH_DAY}": "{date}",
    _YEAR: "{year}",
    "[0-9]{1,2}": "{n}",
    "[0-9]+|[0-9a-fA-F]{8,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}": "{id}",
}
_DATE_IN_SLUG = f"(^|[-_.]){_YEAR}[-_]?{_MONTH_DAY}($|[-_.])"
_FIRST_WORD, _LAST_WORD = "^(?P<word>[^-_.]*[-_.])", "(?P<word>[-_.]?[^-_.]*)$"
_RULE = (
    "Paths without host and slash at the end. A folder stays if it has 1% of the pages of the site, and is one of 15 "
    "in its place, or has 5% of the pages there and ten times the median; or if a page type has its name. Others are "
    "{slug}, {id} (a number, or hexadecimal), {year}, {month}, {day}, {date}, {n} (a number of one or two digits, or "
    "in a word) or {lang}. Of the last segment those words at its ends stay that a quarter of the pages there have."
)


def patterns(snapshot: SnapshotTables, top: int) -> Measure:
    check_top(top)
    pages = page_frame(snapshot, "loc")
    pages["pattern"] = _patterns(snapshot).array
    by = pages.groupby(["site", "pattern"], sort=False)
    frame = by.agg(pages=("site", "size"), example=("loc", "first")).reset_index()
    frame = frame.sort_values(["pages", "pattern"], ascending=[False, True])
    found = frame["site"].value_counts()
    frame["pattern"] = frame["pattern"].where(frame.groupby("site").cumcount() < top, OTHER)
    by = frame.groupby(["site", "pattern"], sort=False)
    frame = by.agg(pages=("pages", "sum"), example=("example", "first")).reset_index()
    frame.insert(3, "share", share_of_site(frame))
    frame = in_site_order(rest_last(frame, "pattern", OTHER), snapshot)
    finding = find_in_words(frame, snapshot.sites, partial(_most_frequent, found), _MOST_FREQUENT)
    spec = ChartSpec("rows", x="pages", y="pattern", x_title="pages by pattern", share="share", max_rows=15)
    return measure(frame, rule=_RULE, finding=finding, spec=spec)


def _most_frequent(found: pd.Series[int], part: pd.DataFrame) -> str:
    """`found`: the number of patterns of each site."""
    known = part[part["pattern"] != OTHER].set_index("pattern")["pages"]
    count = int(found[part["site"].iloc[0]])
    what = f"most frequent of {count:,} URL patterns" if count > 1 else "the only URL pattern"
    return f"{what}: {most_frequent(known, int(part['pages'].sum()))}"


def _leading_pattern(part: pd.DataFrame) -> str:
    return leading(part[part["pattern"] != OTHER].set_index("pattern")["pages"])[0]


_MOST_FREQUENT = partial(count_sites, "most frequent URL pattern:", _leading_pattern)


def _patterns(snapshot: SnapshotTables) -> pd.Series[str]:
    """The pattern of each page."""
    pages = page_frame(snapshot, "depth", "slug", "extension", "query_keys")
    folder, texts = _folder_patterns(snapshot, pages["site"])
    slug = pages["slug"].astype("str").fillna("")
    level = language_level(snapshot)
    slug = slug.mask((level > 0) & (level == pages["depth"]), "{lang}")
    kinds = _kinds_of(slug, folder, np.ones(len(slug)))
    slug = slug.mask(kinds != "{slug}", kinds)
    slug = slug.str.replace(_DATE_IN_SLUG, r"\1{date}\2", regex=True)
    is_whole = slug.str.startswith("{") & slug.str.endswith("}") | (slug == "")
    rest = slug.where(~is_whole, "")
    least = np.maximum(_LEAST_PAGES, _LEAST_OF_SITE * pages.groupby("site")["site"].transform("size")).to_numpy()
    rest, end = _split_words(rest, folder, least, _LAST_WORD, is_end=True)
    rest, start = _split_words(rest, folder, least, _FIRST_WORD, is_end=False)
    queries = pages["query_keys"].map(lambda names: f"?{'=&'.join(dict.fromkeys(names))}=", na_action="ignore")
    slug = start.mask(is_whole, slug) + rest.mask(rest != "", "{slug}") + end
    name = slug + ("." + pages["extension"].astype("str")).fillna("") + queries.astype("str").fillna("")
    number, first = distinct_rows(pd.DataFrame({"folder": folder, "name": name}))
    found = pd.Series(texts, dtype="str")[first["folder"]].array + "/" + first["name"]
    found = found.str.replace("{year}/{n}", "{year}/{month}", regex=False)
    found = found.str.replace("{month}/{n}", "{month}/{day}", regex=False)
    return found.map(unquote)[number]


def _folder_patterns(snapshot: SnapshotTables, site: pd.Series[str]) -> tuple[Any, list[str]]:
    """For each page the number of the pattern of its folders, and these patterns."""
    places = page_places(snapshot)
    number, rows = distinct_rows(pd.DataFrame({"site": site, "place": places.codes}))
    folders = places.frame.filter(like="dir_").loc[rows["place"]].reset_index(drop=True)
    level = place_languages(snapshot)["level"].to_numpy()[rows["place"]]
    pages = np.bincount(number, minlength=len(rows))
    group, names = pd.factorize(rows["site"])
    of_site = np.bincount(group, pages)[group]
    texts = [""] * len(names)
    for depth, column in enumerate(folders, 1):
        folder = folders[column].dropna()
        at = folder.index.to_numpy()
        if not len(at):
            break
        kinds = _kinds_of(folder, group[at], pages[at])
        kept = _kept_folders(folder, group[at], pages[at], of_site[at]) & (kinds == "{slug}").to_numpy()
        label = folder.mask(~kept, kinds).mask(level[at] == depth, "{lang}")
        of_row, first = distinct_rows(pd.DataFrame({"group": group[at], "label": label.array}))
        group[at] = len(texts) + of_row
        texts += [f"{texts[above]}/{name}" for above, name in zip(first["group"], first["label"], strict=True)]
    return group[number], texts


def _kept_folders(folder: pd.Series[str], group: Any, pages: Any, of_site: Any) -> Any:
    number, first = distinct_rows(pd.DataFrame({"group": group, "folder": folder.array}))
    sizes = np.bincount(number, pages)
    by = pd.Series(sizes).groupby(first["group"])
    most = np.maximum(_LEAST_OF_GROUP * by.transform("sum"), _TIMES_MEDIAN * by.transform("median"))
    is_kept = ((by.transform("size") <= _MAX_FOLDERS) | (sizes >= most)).to_numpy()
    is_large = sizes[number] >= np.maximum(2, _LEAST_OF_SITE * of_site)
    is_named = folder.str.lower().isin([*FOLDER_TYPES]).to_numpy()
    return is_kept[number] & is_large | is_named


def _kinds_of(names: pd.Series[str], group: Any, pages: Any) -> pd.Series[str]:
    """The placeholder of each name. Where most numbers of a group are {id}, all are: 7 and 2010 among 13047."""
    kinds = pd.Series("{slug}", index=names.index, dtype="str")
    for pattern, name in reversed(_KINDS.items()):
        kinds = kinds.mask(names.str.fullmatch(pattern), name)
    is_id, is_number = (kinds.isin(some).to_numpy() for some in (["{id}"], ["{n}", "{year}"]))
    ids, numbers = (np.bincount(group, pages * some) for some in (is_id, is_number))
    return kinds.mask(is_number & (ids >= numbers)[group], "{id}")


def _split_words(
    texts: pd.Series[str], group: Any, least: Any, pattern: str, *, is_end: bool
) -> tuple[pd.Series[str], pd.Series[str]]:
    """What remains of the texts without the words at one end that stay; and these words, numbers in them as {n}."""
    total = np.bincount(group)[group]
    rest, words = texts.copy(), pd.Series("", index=texts.index, dtype="str")
    some = texts[texts != ""]
    for _ in range(_MAX_WORDS):
        # extract() of pandas takes a Python object for each text.
        found = compute.struct_field(compute.extract_regex(texts_of(some), pattern), "word")
        word = as_texts(found).set_axis(some.index).fillna("")
        label = word.str.replace("[0-9]+", "{n}", regex=True)
        is_number = label.str.strip("-_.") == "{n}"
        number, _ = distinct_rows(
            pd.DataFrame({"group": group[some.index], "words": words[some.index], "label": label})
        )
        part = total[some.index] * np.where(is_number, _LEAST_OF_NUMBERS, _LEAST_OF_WORDS)
        kept = (np.bincount(number)[number] >= np.maximum(part, least[some.index])) & (word != "").to_numpy()
        if not kept.any():
            break
        some, label = some[kept], label[kept]
        some = as_texts(compute.replace_substring_regex(texts_of(some), pattern, "")).set_axis(some.index)
        words[some.index] = label + words[some.index] if is_end else words[some.index] + label
        rest[some.index] = some
    return rest, words


# --- lengths of slugs --------------------------------------------------------------------------------------------

_MAX_SLUG_WORDS = 20


def slug_lengths(snapshot: SnapshotTables) -> Measure:
    pages = page_frame(snapshot, "slug").dropna()
    slug = as_texts(decode(texts_of(pages["slug"])))
    pages["characters"] = slug.str.len()
    pages["words"] = slug.str.count("[^-_.+ ]+").clip(lower=1).astype("int64")
    by = pages.groupby(["site", pages["words"].clip(upper=_MAX_SLUG_WORDS)])["characters"]
    frame = by.agg(pages="size", characters="median").reset_index()
    frame.insert(3, "share", share_of_site(frame))
    frame = in_site_order(frame, snapshot)
    many = partial(rank_sites, "words of a slug in the median:", lambda part: int(part["words"].median()))
    finding = find_in_words(pages, snapshot.sites, _usual_length, many, "no page has a slug")
    rule = (
        "Pages by the number of words in the slug (the last segment of the path, decoded, without its extension), "
        f"between -, _, ., + and spaces; {_MAX_SLUG_WORDS} are {_MAX_SLUG_WORDS} or more. Characters are in the median."
    )
    return measure(frame, rule=rule, finding=finding, spec=shares_of_pages("words", "words of the slug"))


def _usual_length(part: pd.DataFrame) -> str:
    words, characters = (part[name].quantile([0.5, 0.9], interpolation="higher") for name in ("words", "characters"))
    usual = f"{count_of(int(words[0.5]), 'word')} and {count_of(int(characters[0.5]), 'character')} in the median"
    most = f"90% of the pages have at most {words[0.9]:,.0f} and {characters[0.9]:,.0f}"
    return f"slugs: {usual}; {most}; the longest has {count_of(int(part['characters'].max()), 'character')}"
