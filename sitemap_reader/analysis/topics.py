"""Measures of the words of pages: topics, with clusters of words that occur together; n-grams of slugs; trends."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from ..client.summary import count_of
from ..model.errors import UsageError
from ..model.problems import percent
from .changes import history_starts, start_time
from .chart_spec import ChartSpec
from .comparison import keyed_pages
from .dates import page_dates
from .measure import (
    find_in_words,
    first_seen,
    groups_of,
    in_site_order,
    leading,
    measure,
    most_frequent,
    most_widespread,
    name_some,
    quote,
)
from .url_parts import page_key, texts_of
from .words import MAX_TEXT_WORDS, repeated_rule, site_words, topical_words, words_to_skip

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from .measure import Groups, Measure
    from .tables import SnapshotTables
    from .words import Array, SiteWords

_MAX_N = 5


def words_of_sites(snapshot: SnapshotTables, *, stop_words: bool) -> tuple[dict[str, SiteWords], str]:
    """Site -> the words of its pages, and what the rule has to say of those that were left out."""
    words, rule = topical_words(snapshot) if stop_words else (site_words(snapshot), "")
    return words, repeated_rule(words.values()) + rule


NO_WORDS = (
    "Numbers, ids, words with a number of a series (day1, day2, …) and longer words with digits that only one page has "
    "are no words"
)


def slug_ngrams(
    snapshot: SnapshotTables, n: int, *, top: int, skip: Iterable[str], stop_words: bool, weights: Any
) -> Measure:
    if type(n) is not int or not 1 <= n <= _MAX_N:
        raise UsageError(keyword="n", value=n, allowed=f"a number of words from 1 to {_MAX_N}")
    check_top(top)
    skipped = words_to_skip(skip)
    weighting = Weighting(snapshot, weights)
    groups = groups_of(snapshot, None)
    words, rule = words_of_sites(snapshot, stop_words=stop_words)
    frames = [pd.DataFrame(columns=["site", "words", *weighting.columns])]
    for site, found in words.items():
        kept = np.isin(found.slugs.vocabulary.to_numpy(zero_copy_only=False), [*skipped])[found.slugs.codes]
        runs = found.slugs.where(~kept).ngrams(n, found.is_word)
        counts = weighting.most_frequent(runs.page_counts(weighting.of(found)), found, top)
        frames.append(counts.assign(site=site, words=counts["word"])[[*frames[0]]])
    frame = in_site_order(pd.concat(frames[1:] or frames), snapshot)
    finding = weighting.find_in_words(frame, groups, "words", "no page has a slug with words")
    row = "Words" if n == 1 else f"{n} words in a row"
    rule = (
        f"{row}, of the first {MAX_TEXT_WORDS} in the slug (the last segment of the path), decoded, in lower case. "
        f"{NO_WORDS}, and separate the words around them. A page counts once for each of them.{rule}{weighting.rule}"
    )
    return measure(frame, rule=rule, finding=finding, spec=weighting.spec("words", "words of their slug", groups))


def check_top(top: int) -> None:
    if type(top) is not int or top < 1:
        raise UsageError(keyword="top", value=top, allowed="a number, 1 or more")


# A word joins a more frequent one if it occurs with it on this part of its pages, and so many times as often as
# chance would have it.
_MIN_TOGETHER, _MIN_LIFT = 0.5, 2.0
_BLOCK = 1 << 16


def topics(
    snapshot: SnapshotTables,
    *,
    top: int,
    skip: Iterable[str],
    stop_words: bool,
    weights: Any = None,
    by: str | None = None,
) -> Measure:
    check_top(top)
    skipped = words_to_skip(skip)
    groups = groups_of(snapshot, by)
    weighting = Weighting(snapshot, weights)
    words, rule = words_of_sites(snapshot, stop_words=stop_words)
    frames = [pd.DataFrame(columns=["site", "topic", *weighting.columns, "slugs", "titles", "cluster"])]
    for label, found in _of_groups(words, groups):
        counts = found.counts(weighting.of(found))
        counts = weighting.most_frequent(counts[~counts["word"].isin(skipped)], found, top)
        frames.append(
            counts.assign(site=label, topic=counts["word"], cluster=pd.array(_clusters(found, counts), "str"))[
                [*frames[0]]
            ]
        )
    frame = groups.sort(pd.concat(frames[1:] or frames))
    finding = weighting.find_in_words(frame, groups, "topic", "no page has a slug or a title with words")
    rule = (
        f"{groups.pages} by the words of their slugs, of the titles of their news, videos and images, and of the "
        f"keywords of news: of the first {MAX_TEXT_WORDS} of each, decoded, in lower case. {NO_WORDS}. A page counts "
        f"once for each word.{rule} The {top:,} most frequent words of each {by or 'site'}. A word is in the cluster "
        "of the more frequent one with which it shares most pages, if these are half of its own and "
        f"{_MIN_LIFT:g} times as many as by chance.{weighting.rule}"
    )
    return measure(groups.divide(frame), rule=rule, finding=finding, spec=weighting.spec("topic", "topic", groups))


def _of_groups(words: dict[str, SiteWords], groups: Groups) -> Iterator[tuple[str, SiteWords]]:
    if groups.by is None:
        yield from words.items()
        return
    for found in words.values():
        yield from found.divide(groups.labels.iloc[found.rows])


def _clusters(found: SiteWords, counts: pd.DataFrame) -> list[str]:
    """For each of the most frequent words the first word of its cluster.

    From the most frequent word on, each joins the more frequent word with which it shares most pages, if these are
    _MIN_TOGETHER of its own and _MIN_LIFT times as many as if words were spread by chance; so a word on most pages,
    such as a brand, attracts none. Otherwise it begins a cluster. Pairs are counted by a product of matrices, in
    blocks of pages: linear in the pages.
    """
    together = _together(found, counts["code"].to_numpy())
    names, pages = [*counts["word"]], counts["pages"].to_numpy()
    first = [*range(len(names))]
    for number in range(1, len(names)):
        shared = together[number, :number]
        is_close = (shared >= _MIN_TOGETHER * pages[number]) & (
            shared * len(found.rows) >= _MIN_LIFT * pages[number] * pages[:number]
        )
        if is_close.any():
            first[number] = first[int(np.where(is_close, shared, -1).argmax())]
    return [names[number] for number in first]


def _together(found: SiteWords, codes: Array) -> Array:
    """How many pages have both words, for each pair of these words."""
    places = np.full(len(found.words.vocabulary), -1)
    places[codes] = np.arange(len(codes))
    column = places[found.words.codes]
    keep = column >= 0
    column, texts = column[keep], found.words.texts[keep]
    total = np.zeros((len(codes), len(codes)))
    for start in range(0, len(found.rows), _BLOCK):
        low, high = np.searchsorted(texts, [start, start + _BLOCK])
        block = np.zeros((min(_BLOCK, len(found.rows) - start), len(codes)), np.float32)
        block[texts[low:high] - start, column[low:high]] = 1
        total += block.T @ block
    return total


# --- weights of pages --------------------------------------------------------------------------------------------


class Weighting:
    """By what the words are counted: by pages, or by the sum of their weights, such as clicks."""

    def __init__(self, snapshot: SnapshotTables, weights: Any) -> None:
        self.columns, self.rule, self._name = ["pages", "share"], "", ""
        self._weights: Array | None = None
        if weights is None:
            return
        given = _as_series(weights)
        self._name = str(given.name or "weight")
        self.columns = ["pages", "weight", "share"]
        by_key = given.groupby(page_key(given.index.to_series().astype("str")).array).sum()
        keys = texts_of(snapshot.pages.to_pandas(["page_key"])["page_key"])
        places = compute.index_in(keys, pa.array(by_key.index, pa.string())).fill_null(-1).to_numpy()
        # Of pages with one key, such as those of http and https, the first one counts.
        found, first = np.unique(places, return_index=True)
        first, found = first[found >= 0], found[found >= 0]
        self._weights = np.zeros(len(keys))
        self._weights[first] = by_key.to_numpy()[found]
        self.rule = (
            f" Counted by {self._name}; the share is that of the sum over all pages. Pages match without scheme, www., "
            "slash at the end and fragment: "
            f"{len(found):,} of {count_of(len(by_key), 'page')} with a number are listed."
        )

    def of(self, found: SiteWords) -> Array | None:
        return None if self._weights is None else self._weights[found.rows]

    def most_frequent(self, counts: pd.DataFrame, found: SiteWords, top: int) -> pd.DataFrame:
        """The first `top` rows of `word pages`, with `share`."""
        weights = self.of(found)
        number, whole = ("pages", len(found.rows)) if weights is None else ("weight", weights.sum())
        counts = counts[counts[number] > 0].sort_values([number, "word"], ascending=[False, True]).head(top)
        return counts.assign(share=counts[number] / whole)

    def find_in_words(self, frame: pd.DataFrame, groups: Groups, name: str, none: str) -> str:
        by = f" by {self._name}" if self._name else ""

        def first_words(part: pd.DataFrame) -> str:
            numbers = part.set_index(name)["weight" if by else "pages"]
            if by:
                names, each = leading(numbers, quote)
                most, share = numbers.max(), part["share"].max()
                return f"most frequent{by}: {names} with {percent(share)}{each} ({most:,g} of {most / share:,g})"
            return f"most frequent: {most_frequent(numbers, round(numbers.max() / part['share'].max()), write=quote)}"

        def widest(frame: pd.DataFrame) -> str:
            of = self._name or "pages"
            return most_widespread(f"among the most frequent{by}:", name, frame, sites=len(groups.sites), of=of)

        return groups.find_in_words(
            frame, first_words, widest, f"no page with words has a {self._name}" if by else none
        )

    def spec(self, name: str, what: str, groups: Groups) -> ChartSpec:
        number, title = ("weight", f"{self._name} of pages") if self._name else ("pages", "pages")
        return ChartSpec(
            "rows",
            x=number,
            y=name,
            x_title=f"{title} by {what}",
            share="share",
            format=",.12g" if self._name else ",",
            max_rows=20,
            **groups.panels,
        )


def _as_series(weights: Any) -> pd.Series[float]:
    """Numbers by URL; UsageError for what are none."""
    if isinstance(weights, pd.DataFrame) and weights.shape[1] == 2:
        weights = weights.set_index(weights.columns[0]).iloc[:, 0]
    try:
        if isinstance(weights, pd.Series | Mapping):
            return pd.Series(weights, dtype="float64").fillna(0.0)
    except (TypeError, ValueError):
        pass
    allowed = "numbers by URL: a mapping, a Series, or a DataFrame of two columns, the URL and the number"
    raise UsageError(keyword="weights", value=type(weights).__name__, allowed=allowed)


# --- trends ------------------------------------------------------------------------------------------------------

_MIN_PAGES = 5  # that have a word
_CHANCE = 0.05  # that any word of a site is named although its share is the same as before
_TREND_COLUMNS = ["new", "before", "new_share", "before_share", "change"]


def trends(snapshot: SnapshotTables, since: Any, *, top: int, skip: Iterable[str], stop_words: bool) -> Measure:
    check_top(top)
    skipped = words_to_skip(skip)
    start = start_time(snapshot, since)
    pages = page_dates(snapshot)
    was_listed = history_starts(snapshot, first_seen(snapshot), pages["site"]) <= start
    pages["new"] = pages["date"] >= start
    pages["before"] = (pages["date"] < start) | (pages["date"].isna() & was_listed)
    paths = keyed_pages(snapshot, "path")["key"]
    words, rule = words_of_sites(snapshot, stop_words=stop_words)
    frames = [pd.DataFrame(columns=["site", "topic", *_TREND_COLUMNS])]
    for site, found in words.items():
        is_new, was_before = (pages[name].to_numpy()[found.rows] for name in ("new", "before"))
        counts = _changed_words(found, is_new, was_before, len(found.rows) / paths.iloc[found.rows].nunique())
        counts = counts[~counts["word"].isin(skipped)]
        counts = counts.sort_values(["_strength", "word"], ascending=[False, True]).head(top)
        frames.append(counts.assign(site=site, topic=counts["word"])[[*frames[0]]])
    frame = in_site_order(pd.concat(frames[1:] or frames), snapshot)
    sizes = pages.groupby("site")[["new", "before"]].sum()
    describe = partial(_trends_found, sizes=sizes, start=start)
    risen = f"more frequent since {start:%Y-%m-%d} than before:"
    describe_many = partial(_widest_trend, what=risen, sites=len(snapshot.sites))
    finding = find_in_words(frame, snapshot.sites, describe, describe_many, _no_trend(sizes, start))
    counted = pages[pages["new"] | pages["before"]]
    by = [f"{count:,} by {name}" for name, count in counted["source"].value_counts().items() if count]
    listed = int(counted["source"].isna().sum())
    sources = ", ".join([*by, *([f"{listed:,} as listed in the first state"] if listed else [])])
    rule = (
        f"Words of pages that appeared since {start:%Y-%m-%d %H:%M} UTC, by their share of these pages, compared with "
        f"that of the pages before that are still listed. Dated as in calendar(): {sources or 'no page'}; a lastmod "
        f"is the last change of a page. Not counted: {count_of(len(pages) - len(counted), 'page')} without a date. "
        f"Words are those of topics() on {_MIN_PAGES} pages or more whose shares differ more than by chance, with the "
        f"translations of a page as one: at one site in {1 / _CHANCE:.0f} a word is named that did not change. The "
        f"{top:,} clearest of each site.{rule}"
    )
    low, high = min(0.0, frame["change"].min()), max(0.01, frame["change"].max())
    spec = ChartSpec(
        "rows",
        x="change",
        y="topic",
        x_title=f"percentage points: share of the pages since {start:%Y-%m-%d}, less that of the pages before",
        part="new",
        share="change",
        format="points",
        ends=(low, high) if len(frame) else None,
        sites=snapshot.sites,
    )
    return measure(frame, rule=rule, finding=finding, spec=spec)


def _changed_words(found: SiteWords, is_new: Array, was_before: Array, translations: float) -> pd.DataFrame:
    """`word` and _TREND_COLUMNS of the words whose shares differ more than by chance, and `_strength`.

    This is the root of the likelihood ratio, a standard normal number if the shares are equal, also of few pages. It is
    compared with the greatest of so many such numbers. A page in ten languages has not ten times the weight: the ratio
    is divided by `translations`, the mean number of pages with one path.
    """
    codes, texts, size = found.words.codes, found.words.texts, len(found.words.vocabulary)
    new, before = (np.bincount(codes[where[texts]], minlength=size) for where in (is_new, was_before))
    some = np.flatnonzero(new + before >= _MIN_PAGES)
    new, before, all_new, all_before = new[some], before[some], is_new.sum(), was_before.sum()
    frame = pd.DataFrame(
        {"word": found.words.vocabulary.take(pa.array(some)).to_pandas(), "new": new, "before": before}
    )
    if not len(frame) or not all_new or not all_before:
        return frame[:0].assign(**dict.fromkeys([*_TREND_COLUMNS[2:], "_strength"], 0.0))
    frame = frame.assign(new_share=new / all_new, before_share=before / all_before)
    frame["change"] = frame["new_share"] - frame["before_share"]
    together = (new + before) / (all_new + all_before)
    ratio = sum(
        _times_log(part, whole * share)
        for number, whole in ((new, all_new), (before, all_before))
        for part, share in ((number, together), (whole - number, 1 - together))
    )
    frame["_strength"] = np.sqrt(2 * np.maximum(ratio, 0) / translations)
    return frame[frame["_strength"] > NormalDist().inv_cdf(1 - _CHANCE / 2 / len(frame))]


def _times_log(number: Array, expected: Array) -> Array:
    return number * np.log(np.where(number > 0, number, 1) / np.where(number > 0, expected, 1))


def _trends_found(part: pd.DataFrame, *, sizes: pd.DataFrame, start: datetime) -> str:
    new, before = sizes.loc[part["site"].iloc[0]]

    def names(rows: pd.DataFrame) -> str:
        shares = zip(rows["topic"], rows["new_share"], rows["before_share"], strict=True)
        words = [f"{quote(word)} ({percent(now)}, before {percent(then)})" for word, now, then in shares]
        return name_some(words[:_MAX_NAMED])

    kinds = {"more": part[part["change"] > 0], "fewer": part[part["change"] < 0]}
    found = [f"{kind} have {names(rows)}" for kind, rows in kinds.items() if len(rows)]
    return f"of {new:,} pages since {start:%Y-%m-%d}, compared with {before:,} before, {'; '.join(found)}"


_MAX_NAMED = 2


def _widest_trend(frame: pd.DataFrame, *, what: str, sites: int) -> str:
    return most_widespread(what, "topic", frame[frame["change"] > 0], sites=sites, number="new", count=2)


def _no_trend(sizes: pd.DataFrame, start: datetime) -> str:
    if not sizes["new"].any():
        return f"no page is known to be new since {start:%Y-%m-%d}"
    if not sizes["before"].any():
        return f"no page is known from before {start:%Y-%m-%d}"
    return "no word is known to be more or less frequent than before"
