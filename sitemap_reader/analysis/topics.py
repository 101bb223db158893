"""Measures of words: topics of slugs and titles, with clusters of words that occur together; n-grams of slugs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from ..client.summary import count_of
from ..model.errors import UsageError
from .chart_spec import CellGroup, ChartSpec
from .measure import finding_per_site, in_site_order, measure, most_frequent, page_frame
from .page_language import page_languages
from .words import MAX_TEXT_WORDS, Words, find_stop_words, lower, split_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from .measure import Measure
    from .tables import SnapshotTables

_MAX_N = 5


# --- n-grams of slugs --------------------------------------------------------------------------------------------


def slug_ngrams(snapshot: SnapshotTables, n: int, *, top: int, skip: Iterable[str], stop_words: bool) -> Measure:
    """See Snapshot.slug_ngrams()."""
    if type(n) is not int or not 1 <= n <= _MAX_N:
        raise UsageError(keyword="n", value=n, allowed=f"a number of words from 1 to {_MAX_N}")
    _check_top(top)
    skipped = words_to_skip(skip)
    stated = stated_languages(snapshot) if stop_words else {}
    pages = page_frame(snapshot, "slug")
    frames, used = [pd.DataFrame(columns=["site", "words", "pages", "share"])], {}
    for site, part in pages.groupby("site", sort=False):
        counts = part["slug"].dropna().value_counts(sort=False)
        found = split_words(_as_arrow(counts.index), is_encoded=True)
        weights = counts.to_numpy()
        if stop_words:
            counted = page_counts(found.distinct(), weights)
            stops, used[site] = stop_words_of(counted, len(part), stated.get(site, ()))
            found = found.without(stops)
        numbers = page_counts(found.without(skipped).ngrams(n).distinct(), weights)
        frame = _most_frequent(numbers, top).rename(columns={"word": "words"})
        frames.append(frame.assign(site=site, share=frame["pages"] / len(part))[["site", "words", "pages", "share"]])
    frame = in_site_order(pd.concat(frames[1:] or frames), snapshot)
    finding = finding_per_site(frame, snapshot.sites, _first_words, "no page has a slug with words", _SHARE_OF_FIRST)
    row = "Words" if n == 1 else f"{n} words in a row"
    rule = (
        f"{row}, of the first {MAX_TEXT_WORDS} in the slug (the last segment of the path), decoded, in lower case. "
        f"Numbers are not words, and separate the words around them. A page counts once for each row.{stop_rule(used)}"
    )
    return measure(frame, rule=rule, finding=finding, spec=_rank_spec("words", top, max_rows=top))


def _rank_spec(name: str, top: int, *, max_rows: int) -> ChartSpec:
    """The chart of the `top` values of the column `name`: as bars of pages, and of several sites as shares."""
    return ChartSpec(
        "rows",
        x="pages",
        y=name,
        x_title="pages",
        max_rows=max_rows,
        comparison="ranks",
        groups=(CellGroup("share", name),),
        matrix_title=f"share of the site's pages; empty if not in its first {top}",
    )


def _check_top(top: int) -> None:
    if type(top) is not int or top < 1:
        raise UsageError(keyword="top", value=top, allowed="a number, 1 or more")


def words_to_skip(skip: Iterable[str]) -> frozenset[str]:
    """The words of an argument `skip`, in lower case."""
    try:
        return frozenset(lower(word) for word in ([skip] if isinstance(skip, str) else skip))
    except (TypeError, AttributeError):
        raise UsageError(keyword="skip", value=skip, allowed="a word or several") from None


def _as_arrow(texts: Any) -> Any:
    return pa.array(texts, pa.string())


def page_counts(words: Words, weights: np.ndarray[Any, Any]) -> pd.DataFrame:
    """`word pages` of the words of texts that as many pages have as `weights` says; each word is once in a text."""
    counts = np.bincount(words.codes, weights[words.texts], len(words.vocabulary)).astype(np.int64)
    frame = pd.DataFrame({"word": pd.Series(words.vocabulary, dtype="str"), "pages": counts})
    return frame[frame["pages"] > 0]


def _most_frequent(counts: pd.DataFrame, top: int) -> pd.DataFrame:
    return counts.sort_values(["pages", "word"], ascending=[False, True]).head(top)


def stop_words_of(counts: pd.DataFrame, pages: int, stated: Iterable[str]) -> tuple[frozenset[str], list[str]]:
    """The stop words of a site whose words have these counts, `word pages`, and the languages whose lists they are."""
    return find_stop_words(dict(zip(counts["word"], counts["pages"], strict=True)), pages, stated)


def stated_languages(snapshot: SnapshotTables) -> dict[str, list[str]]:
    """Site -> the languages of its pages."""
    known = page_languages(snapshot)[["site", "language"]].dropna().drop_duplicates()
    return {site: [*part["language"]] for site, part in known.groupby("site")}


def stop_rule(used: dict[str, list[str]]) -> str:
    """The sentence that names the lists of stop words."""
    names = sorted({language for languages in used.values() for language in languages})
    return (
        f" Left out: names of files, and the stop words of the languages found ({', '.join(names)})." if names else ""
    )


_SHARE_OF_FIRST = ("pages with the most frequent word", lambda part: part["share"].max())


def _first_words(part: pd.DataFrame, name: str = "words") -> str:
    pages = part.set_index(name)["pages"]
    return most_frequent(pages, round(pages.max() / part["share"].max()), "page", write='"{}"'.format)


# --- topics ------------------------------------------------------------------------------------------------------

# A word joins a more frequent one if it occurs with it on this part of its pages, and so many times as often as
# chance would have it.
_MIN_TOGETHER, _MIN_LIFT = 0.5, 2.0
_BLOCK = 1 << 16
_COLUMNS = ["site", "topic", "pages", "share", "slugs", "titles", "cluster"]


@attrs.frozen
class SiteWords:
    """The words of the pages of one site.

    Pages with one slug and no title are one document. `words.texts` are numbers of documents in order, each word once
    per document; `in_slug` and `in_title` say where it stands. `weights` are the pages of each document, `first` the
    row of its first page.
    """

    words: Words
    in_slug: np.ndarray[Any, Any]
    in_title: np.ndarray[Any, Any]
    weights: np.ndarray[Any, Any]
    first: np.ndarray[Any, Any]
    pages: int

    def counts(self) -> pd.DataFrame:
        """A row per word: `word code pages slugs titles first`, the last the row of the first page that has it."""
        codes, size = self.words.codes, len(self.words.vocabulary)
        weight = self.weights[self.words.texts]
        first = np.full(size, np.iinfo(np.int64).max)
        np.minimum.at(first, codes, self.first[self.words.texts])
        frame = pd.DataFrame(
            {
                "word": pd.Series(self.words.vocabulary, dtype="str"),
                "code": np.arange(size),
                "pages": np.bincount(codes, weight, size).astype(np.int64),
                "slugs": np.bincount(codes, weight * self.in_slug, size).astype(np.int64),
                "titles": np.bincount(codes, weight * self.in_title, size).astype(np.int64),
                "first": first,
            }
        )
        return frame[(frame["pages"] > 0) & ~self.words.is_number[frame["code"]]]


def site_words(snapshot: SnapshotTables, sites: Collection[str] | None = None) -> Iterator[tuple[str, SiteWords]]:
    """(site, words) of each site of the Snapshot, or of some."""
    pages = page_frame(snapshot, "slug")
    titles = _titles(snapshot)
    for site, part in pages.groupby("site", sort=False):
        if sites is not None and site not in sites:
            continue
        rows = part.index.to_numpy()
        of_site = titles[titles["page"].isin(part.index)] if snapshot.sites[1:] else titles
        yield site, _site_words(rows, part["slug"], of_site)


def _site_words(rows: np.ndarray[Any, Any], slugs: pd.Series[str], titles: pd.DataFrame) -> SiteWords:
    """`rows` are the row numbers of the pages, in order; `titles` has `page` (a row number) and `title`."""
    codes, names = pd.factorize(slugs)
    codes = np.where(codes < 0, len(names), codes)  # the last one: pages without a slug
    titled_rows = np.searchsorted(rows, titles["page"].to_numpy())
    titled = np.unique(titled_rows)
    documents = codes.copy()
    documents[titled] = len(names) + 1 + np.arange(len(titled))
    count = len(names) + 1 + len(titled)
    weights = np.bincount(documents, minlength=count)
    first = np.full(count, -1)
    first[documents[::-1]] = rows[::-1]
    texts, title_names = pd.factorize(titles["title"])
    of_slugs = split_words(_as_arrow(names), is_encoded=True)
    of_titles = split_words(_as_arrow(title_names), is_encoded=False)
    vocabulary = [*dict.fromkeys([*of_slugs.vocabulary, *of_titles.vocabulary])]
    codes_of_titles = pd.Index(vocabulary, dtype="str").get_indexer(of_titles.vocabulary)[of_titles.codes]
    pairs = [
        (of_slugs.texts, of_slugs.codes, False),
        (*_joined(documents[titled], codes[titled], of_slugs.texts, of_slugs.codes), False),
        (*_joined(documents[titled_rows], texts, of_titles.texts, codes_of_titles), True),
    ]
    return _merged(pairs, vocabulary, weights, first, len(rows))


def _joined(
    documents: np.ndarray[Any, Any], texts: np.ndarray[Any, Any], of: np.ndarray[Any, Any], codes: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(document, code) for each word of the text of each document; `of` are the texts, in order, of the `codes`."""
    starts = np.searchsorted(of, texts)
    counts = np.searchsorted(of, texts, "right") - starts
    places = np.repeat(starts - np.append(0, np.cumsum(counts)[:-1]), counts) + np.arange(counts.sum())
    return np.repeat(documents, counts), codes[places]


def _merged(
    pairs: list[tuple[Any, Any, bool]], vocabulary: list[str], weights: Any, first: Any, pages: int
) -> SiteWords:
    """The pairs (document, code, whether in a title), each document and code once, in order."""
    size = len(vocabulary) or 1
    # One number for all three: sorted, those of a document and code are beside each other, that of the slug first.
    keys = np.sort(
        np.concatenate([(np.asarray(texts, np.int64) * size + codes) * 2 + flag for texts, codes, flag in pairs])
    )
    pairs_of_keys = keys >> 1
    is_first, is_last = (np.diff(pairs_of_keys, **edge) != 0 for edge in ({"prepend": -1}, {"append": -1}))
    in_slug, in_title = keys[is_first] & 1 == 0, keys[is_last] & 1 == 1
    distinct = pairs_of_keys[is_first]
    keep = weights[distinct // size] > 0  # a slug of which all pages have titles is no document
    distinct = distinct[keep]
    words = Words(distinct // size, distinct % size, vocabulary)
    return SiteWords(words, in_slug[keep], in_title[keep], weights, first, pages)


_TITLED = (("news", False), ("videos", True), ("images", True))


def _titles(snapshot: SnapshotTables) -> pd.DataFrame:
    """`page title` of the news, videos and images of all pages; `page` is a row number."""
    tables = []
    for name, is_list in _TITLED:
        column = snapshot.pages.stored[name].combine_chunks()
        rows = compute.list_parent_indices(column) if is_list else pa.array(np.arange(len(column)))
        items: Any = compute.list_flatten(column) if is_list else column
        table = pa.table({"page": rows.cast(pa.int64()), "title": compute.struct_field(items, "title")})
        tables.append(table.filter(compute.is_valid(table["title"])))
    frame: pd.DataFrame = pa.concat_tables(tables).to_pandas()
    return frame


def topics(snapshot: SnapshotTables, *, top: int, skip: Iterable[str], stop_words: bool) -> Measure:
    """See Snapshot.topics()."""
    _check_top(top)
    skipped = words_to_skip(skip)
    stated = stated_languages(snapshot) if stop_words else {}
    frames, used = [pd.DataFrame(columns=_COLUMNS)], {}
    for site, found in site_words(snapshot):
        counts = found.counts()
        if stop_words:
            stops, used[site] = stop_words_of(counts, found.pages, stated.get(site, ()))
            counts = counts[~counts["word"].isin(stops)]
        counts = _most_frequent(counts[~counts["word"].isin(skipped)], top)
        counts = counts.assign(site=site, topic=counts["word"], share=counts["pages"] / found.pages)
        frames.append(counts.assign(cluster=_clusters(found, counts))[_COLUMNS])
    frame = in_site_order(pd.concat(frames[1:] or frames), snapshot)
    none = "no page has a slug or a title with words"
    finding = finding_per_site(frame, snapshot.sites, _topics_found, none, _SHARE_OF_FIRST)
    rule = (
        f"Pages by the words of their slugs and of the titles of their news, videos and images: of the first "
        f"{MAX_TEXT_WORDS} of each, decoded, in lower case, without numbers. A page counts once for each word."
        f"{stop_rule(used)} The {top:,} most frequent words of each site. A word is in the cluster of the more "
        "frequent one with which it shares most pages, if these are half of its own and "
        f"{_MIN_LIFT:g} times as many as by chance."
    )
    return measure(frame, rule=rule, finding=finding, spec=_rank_spec("topic", top, max_rows=20))


def _clusters(found: SiteWords, counts: pd.DataFrame) -> list[str]:
    """For each of the most frequent words the first word of its cluster.

    From the most frequent word on, each joins the more frequent word with which it shares most pages, if these are
    _MIN_TOGETHER of its own and _MIN_LIFT times as many as if words were spread by chance; so a word on most pages,
    such as a brand, attracts none. Otherwise it begins a cluster. Pairs are counted by a product of matrices, in
    blocks of documents: linear in the documents.
    """
    together = _together(found, counts["code"].to_numpy())
    names, pages = [*counts["topic"]], counts["pages"].to_numpy()
    first = [*range(len(names))]
    for number in range(1, len(names)):
        shared = together[number, :number]
        is_close = (shared >= _MIN_TOGETHER * pages[number]) & (
            shared * found.pages >= _MIN_LIFT * pages[number] * pages[:number]
        )
        if is_close.any():
            first[number] = first[int(np.where(is_close, shared, -1).argmax())]
    return [names[number] for number in first]


def _together(found: SiteWords, codes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """How many pages have both words, for each pair of these words."""
    places = np.full(len(found.words.vocabulary), -1)
    places[codes] = np.arange(len(codes))
    column = places[found.words.codes]
    keep = column >= 0
    column, texts = column[keep], found.words.texts[keep]
    is_first = np.diff(texts, prepend=-1) > 0
    numbers, weights = np.cumsum(is_first) - 1, found.weights[texts[is_first]]
    total = np.zeros((len(codes), len(codes)))
    for start in range(0, len(weights), _BLOCK):
        low, high = np.searchsorted(numbers, [start, start + _BLOCK])
        block = np.zeros((min(_BLOCK, len(weights) - start), len(codes)), np.float32)
        block[numbers[low:high] - start, column[low:high]] = 1
        total += block.T @ (block * weights[start : start + _BLOCK, None].astype(np.float32))
    return total


def _topics_found(part: pd.DataFrame) -> str:
    clusters = part.groupby("cluster", sort=False).size()
    several = int((clusters > 1).sum())
    found = f"{count_of(len(part), 'word')} in {count_of(len(clusters), 'cluster')}, {several:,} of several words"
    return f"{_first_words(part, 'topic')}; {found}"
