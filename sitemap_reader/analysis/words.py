"""What pages are about: slugs in; their words, some in a row, out."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pandas as pd

from ..errors import UsageError
from .drawings import Drawing
from .measure import each_site, measure, percent
from .pages import ordered, pages_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .measure import Measure
    from .snapshot import Snapshot

_MOST_WORDS = 5
# Letters and digits of any script, with the marks that belong to them; what stands between parts words.
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def slug_ngrams(snapshot: Snapshot, n: int, *, top: int, skip: Iterable[str]) -> Measure:
    """See Snapshot.slug_ngrams()."""
    if type(n) is not int or not 1 <= n <= _MOST_WORDS:
        raise UsageError(f"n is a number of words from 1 to {_MOST_WORDS}, and not {n!r}")
    if type(top) is not int or top < 1:
        raise UsageError(f"top is a number from 1 on, and not {top!r}")
    left_out = frozenset([skip.casefold()] if isinstance(skip, str) else map(str.casefold, skip))
    pages = pages_of(snapshot, "slug")
    frames = [_counted(part, site, n, top, left_out) for site, part in pages.groupby("site", sort=False)]
    frame = ordered(pd.concat(frames or [pd.DataFrame(columns=["site", "words", "pages", "share"])]), snapshot)
    told = {site: _most(part) for site, part in frame.groupby("site", sort=False)}
    row = "Words" if n == 1 else f"{n} words in a row"
    rule = f"{row} of the path's last name, decoded, in lower case, without bare numbers; a page counts once for each."
    drawing = Drawing("rows", x="pages", y="words", x_title="pages", most=top)
    return measure(frame, rule=rule, finding=each_site(told) or "no page has a slug with words", drawing=drawing)


def _counted(part: pd.DataFrame, site: str, n: int, top: int, skip: frozenset[str]) -> pd.DataFrame:
    counts: Counter[str] = Counter()
    for slug, pages in part["slug"].dropna().value_counts(sort=False).items():
        for words in {*_ngrams(slug, n, skip)}:
            counts[words] += pages
    most = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:top]
    frame = pd.DataFrame(most, columns=["words", "pages"])
    return frame.assign(site=site, share=frame["pages"] / len(part))[["site", "words", "pages", "share"]]


def _ngrams(slug: str, n: int, skip: frozenset[str]) -> Iterator[str]:
    text = unquote(slug, errors="replace").casefold()
    words = [word for word in _WORD.findall(text) if not word.isdigit() and word not in skip]
    return (" ".join(words[at : at + n]) for at in range(len(words) - n + 1))


def _most(part: pd.DataFrame) -> str:
    first = part.iloc[0]
    return f'most frequent is "{first["words"]}" ({percent(first["share"])} of pages)'
