"""Which languages a site has, and which name which: hreflang alternates of pages in, a matrix out."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any
from unicodedata import category, normalize
from urllib.parse import unquote

import pandas as pd

from ..client.summary import count_of
from ..model.errors import UsageError
from .charts import ChartSpec
from .measure import finding_of, measure, percent
from .pages import ordered, pages_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .measure import Measure
    from .snapshot import Snapshot


_NONE, _DEFAULT = "none", "x-default"
_RULE = (
    "Links between pages by hreflang: from pages whose link to themselves has this language (none where they have no "
    "such link) to pages in that one. A link is returned where the page that it names is listed, by any "
    "of these sites, and links back."
)


def hreflang_matrix(snapshot: Snapshot) -> Measure:
    """See Snapshot.hreflang_matrix()."""
    links = _links(snapshot)
    own = links[(links["loc"] == links["href"]) & (links["hreflang"] != _DEFAULT)].drop_duplicates(["site", "loc"])
    languages = own.set_index(["site", "loc"])["hreflang"].rename("language")
    links = links[links["loc"] != links["href"]].merge(languages.reset_index(), how="left", on=["site", "loc"])
    links["language"] = links["language"].fillna(_NONE)
    # Also from one site of the Snapshot to another: a language may have a domain of its own.
    back = links[["href", "loc"]].set_axis(["loc", "href"], axis=1).drop_duplicates()
    links = links.merge(back.assign(returned=True), how="left", on=["loc", "href"])
    links["returned"] = links["returned"].eq(True)
    by = links.groupby(["site", "language", "hreflang"])["returned"]
    frame = by.agg(links="size", returned="sum").reset_index().rename(columns={"hreflang": "alternate"})
    frame = ordered(frame, snapshot)
    finding = finding_of(frame, snapshot.sites, _returned, "no page has an alternate")
    drawing = ChartSpec(
        "heat",
        x="alternate",
        y="language",
        x_title="language of the alternate",
        y_title="language of the page",
        value="links",
    )
    return measure(frame, rule=_RULE, finding=finding, drawing=drawing)


def _links(snapshot: Snapshot) -> pd.DataFrame:
    """A row an alternate with a language: `site loc hreflang href`, the language in lower case."""
    import pyarrow as pa
    from pyarrow import compute

    stored = snapshot.pages.stored.select(["site", "loc", "alternates"]).combine_chunks()
    alternates = stored["alternates"]
    rows = compute.list_parent_indices(alternates)
    inside: Any = compute.list_flatten(alternates)
    table = pa.table(
        {
            "site": stored["site"].take(rows),
            "loc": stored["loc"].take(rows),
            "hreflang": compute.utf8_lower(compute.struct_field(inside, "hreflang")),
            "href": compute.struct_field(inside, "href"),
        }
    )
    return table.filter(compute.is_valid(table["hreflang"])).to_pandas()


def _returned(part: pd.DataFrame) -> str:
    links, returned = part["links"].sum(), part["returned"].sum()
    languages = sorted({*part["language"], *part["alternate"]} - {_NONE, _DEFAULT})
    named = ", ".join([*languages[:6], *(["…"] if len(languages) > 6 else [])])
    told = f"{count_of(len(languages), 'language')}{f' ({named})' if named else ''}"
    return f"{told}; {percent(returned / links)} of {count_of(links, 'link')} returned"


# ----------------------------------------------------------------------------------------------------
# What pages are about: slugs in; their words, some in a row, out.


_MOST_WORDS, _MOST_OF_SLUG = 5, 100
# Letters and digits; in scripts beyond ASCII with the marks that belong to them, which Python takes for neither.
_WORD = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
_APOSTROPHES = "'’"


def slug_ngrams(snapshot: Snapshot, n: int, *, top: int, skip: Iterable[str]) -> Measure:
    """See Snapshot.slug_ngrams()."""
    if type(n) is not int or not 1 <= n <= _MOST_WORDS:
        raise UsageError(f"n is a number of words from 1 to {_MOST_WORDS}, and not {n!r}")
    if type(top) is not int or top < 1:
        raise UsageError(f"top is a number from 1 on, and not {top!r}")
    left_out = _skipped(skip)
    pages = pages_of(snapshot, "slug")
    frames = [_counted(part, site, n, top, left_out) for site, part in pages.groupby("site", sort=False)]
    frame = ordered(pd.concat(frames or [pd.DataFrame(columns=["site", "words", "pages", "share"])]), snapshot)
    finding = finding_of(frame, snapshot.sites, _most, "no page has a slug with words")
    row = "Words" if n == 1 else f"{n} words in a row"
    rule = (
        f"{row} of the first {_MOST_OF_SLUG} in the path's last name, decoded, in lower case. A number is no word, and "
        "parts those around it. A page counts once for each."
    )
    drawing = ChartSpec("rows", x="pages", y="words", x_title="pages", most=top)
    return measure(frame, rule=rule, finding=finding, drawing=drawing)


def _skipped(skip: Iterable[str]) -> frozenset[str]:
    try:
        return frozenset(_lower(word) for word in ([skip] if isinstance(skip, str) else skip))
    except (TypeError, AttributeError):
        raise UsageError(f"skip are words, and not {skip!r}") from None


def _counted(part: pd.DataFrame, site: str, n: int, top: int, skip: frozenset[str]) -> pd.DataFrame:
    counts: Counter[str] = Counter()
    for slug, pages in part["slug"].dropna().value_counts(sort=False).items():
        for words in {*_ngrams(slug, n, skip)}:
            counts[words] += pages
    most = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:top]
    frame = pd.DataFrame(most, columns=["words", "pages"])
    return frame.assign(site=site, share=frame["pages"] / len(part))[["site", "words", "pages", "share"]]


def _ngrams(slug: str, n: int, skip: frozenset[str]) -> Iterator[str]:
    words = ["" if word.isdigit() else word for word in _words(slug)[:_MOST_OF_SLUG] if word not in skip]
    runs = (words[at : at + n] for at in range(len(words) - n + 1))
    return (" ".join(run) for run in runs if all(run))


def _words(slug: str) -> list[str]:
    text = _lower(unquote(slug, errors="replace"))
    if text.isascii():
        return _WORD.findall(text)
    parts = "".join(char if _is_of_words(char) else " " for char in text).split()
    return [word for part in parts if (word := part.strip(_APOSTROPHES))]


def _lower(text: str) -> str:
    """The same for the same word, however its letters are composed."""
    return normalize("NFC", text.lower())


def _is_of_words(char: str) -> bool:
    return char.isalnum() or char in _APOSTROPHES or category(char)[0] == "M"


def _most(part: pd.DataFrame) -> str:
    first = part.iloc[0]
    return f'most frequent is "{first["words"]}" ({percent(first["share"])} of pages)'
