"""Measures of languages and words: hreflang links between pages, and n-grams of the words in slugs."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any
from unicodedata import category, normalize
from urllib.parse import unquote

import pandas as pd

from ..client.summary import count_of
from ..model.errors import UsageError
from ..model.problems import percent
from .chart_spec import CellGroup, ChartSpec
from .measure import finding_per_site, in_site_order, measure, page_frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .measure import Measure
    from .tables import SnapshotTables


_NONE, _DEFAULT = "none", "x-default"
_RULE = (
    "hreflang links between pages. The language of a page is that of its link to itself (none if it has no such link). "
    "A link is returned if the page it points to is listed, by any of these sites, and links back."
)


def hreflang_matrix(snapshot: SnapshotTables) -> Measure:
    """See Snapshot.hreflang_matrix()."""
    links = _links(snapshot)
    own = links[(links["loc"] == links["href"]) & (links["hreflang"] != _DEFAULT)].drop_duplicates(["site", "loc"])
    languages = own.set_index(["site", "loc"])["hreflang"].rename("language")
    links = links[links["loc"] != links["href"]].merge(languages.reset_index(), how="left", on=["site", "loc"])
    links["language"] = links["language"].fillna(_NONE)
    # Across the sites of the Snapshot: a language may have its own domain.
    back = links[["href", "loc"]].set_axis(["loc", "href"], axis=1).drop_duplicates()
    links = links.merge(back.assign(returned=True), how="left", on=["loc", "href"])
    links["returned"] = links["returned"].eq(True)
    by = links.groupby(["site", "language", "hreflang"])["returned"]
    frame = by.agg(links="size", returned="sum").reset_index().rename(columns={"hreflang": "alternate"})
    frame = in_site_order(frame, snapshot)
    finding = finding_per_site(frame, snapshot.sites, _returned, "no page has an alternate")
    spec = ChartSpec(
        "heat",
        x="alternate",
        y="language",
        x_title="language of the alternate; share of the links that are returned",
        y_title="language of the page",
        share=("returned", "links"),
        ends=(0.0, 1.0),
        groups=(CellGroup("returned", "alternate", whole=("links",), is_of_cell=True),),
        matrix_title="language of the alternate; share of its links that are returned",
        size="links",
    )
    return measure(frame, rule=_RULE, finding=finding, spec=spec)


def _links(snapshot: SnapshotTables) -> pd.DataFrame:
    """One row per alternate that has a language: `site loc hreflang href`, the language in lower case."""
    import pyarrow as pa
    from pyarrow import compute

    stored = snapshot.pages.stored.select(["site", "loc", "alternates"]).combine_chunks()
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
    return table.filter(compute.is_valid(table["hreflang"])).to_pandas()


def _returned(part: pd.DataFrame) -> str:
    links, returned = part["links"].sum(), part["returned"].sum()
    languages = sorted({*part["language"], *part["alternate"]} - {_NONE, _DEFAULT})
    names = ", ".join([*languages[:6], *(["…"] if len(languages) > 6 else [])])
    found = f"{count_of(len(languages), 'language')}{f' ({names})' if names else ''}"
    return f"{found}; {percent(returned / links)} of {count_of(links, 'link')} returned"


# --- words of slugs ----------------------------------------------------------------------------------------------

_MAX_N, _MAX_SLUG_WORDS = 5, 100
# ASCII letters and digits. Words in other scripts also have combining marks: see _is_word_char().
_WORD = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
_APOSTROPHES = "'’"


def slug_ngrams(snapshot: SnapshotTables, n: int, *, top: int, skip: Iterable[str]) -> Measure:
    """See Snapshot.slug_ngrams()."""
    if type(n) is not int or not 1 <= n <= _MAX_N:
        raise UsageError(f"n is a number of words from 1 to {_MAX_N}, and not {n!r}")
    if type(top) is not int or top < 1:
        raise UsageError(f"top is a number, 1 or more, and not {top!r}")
    left_out = _words_to_skip(skip)
    pages = page_frame(snapshot, "slug")
    frames = [_counted(part, site, n, top, left_out) for site, part in pages.groupby("site", sort=False)]
    frame = in_site_order(pd.concat(frames or [pd.DataFrame(columns=["site", "words", "pages", "share"])]), snapshot)
    finding = finding_per_site(frame, snapshot.sites, _most_frequent, "no page has a slug with words")
    row = "Words" if n == 1 else f"{n} words in a row"
    rule = (
        f"{row}, of the first {_MAX_SLUG_WORDS} in the slug (the last segment of the path), decoded, in lower case. "
        "Numbers are not words, and separate the words around them. A page counts once for each row."
    )
    spec = ChartSpec(
        "rows",
        x="pages",
        y="words",
        x_title="pages",
        max_rows=top,
        comparison="ranks",
        groups=(CellGroup("share", "words"),),
        matrix_title=f"share of the site's pages; empty if not in its first {top}",
    )
    return measure(frame, rule=rule, finding=finding, spec=spec)


def _words_to_skip(skip: Iterable[str]) -> frozenset[str]:
    try:
        return frozenset(_lower(word) for word in ([skip] if isinstance(skip, str) else skip))
    except (TypeError, AttributeError):
        raise UsageError(f"skip is a word or several, and not {skip!r}") from None


def _counted(part: pd.DataFrame, site: str, n: int, top: int, skip: frozenset[str]) -> pd.DataFrame:
    counts: Counter[str] = Counter()
    for slug, pages in part["slug"].dropna().value_counts(sort=False).items():
        for words in {*_ngrams(slug, n, skip)}:
            counts[words] += pages
    most_frequent = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:top]
    frame = pd.DataFrame(most_frequent, columns=["words", "pages"])
    return frame.assign(site=site, share=frame["pages"] / len(part))[["site", "words", "pages", "share"]]


def _ngrams(slug: str, n: int, skip: frozenset[str]) -> Iterator[str]:
    words = ["" if word.isdigit() else word for word in _words(slug)[:_MAX_SLUG_WORDS] if word not in skip]
    runs = (words[at : at + n] for at in range(len(words) - n + 1))
    return (" ".join(run) for run in runs if all(run))


def _words(slug: str) -> list[str]:
    text = _lower(unquote(slug, errors="replace"))
    if text.isascii():
        return _WORD.findall(text)
    parts = "".join(char if _is_word_char(char) else " " for char in text).split()
    return [word for part in parts if (word := part.strip(_APOSTROPHES))]


def _lower(text: str) -> str:
    """Lower case in NFC, so that composed and decomposed letters are equal."""
    return normalize("NFC", text.lower())


def _is_word_char(char: str) -> bool:
    return char.isalnum() or char in _APOSTROPHES or category(char)[0] == "M"


def _most_frequent(part: pd.DataFrame) -> str:
    first = part.iloc[0]
    return f'most frequent is "{first["words"]}" ({percent(first["share"])} of pages)'
