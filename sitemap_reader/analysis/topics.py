"""Measures of words: topics of slugs and titles, with clusters of words that occur together; n-grams of slugs.

Texts of ASCII letters are split by Arrow; the others one by one, once per distinct text. Stop words are those of the
languages that the words of a site show, as a stop word of one language is a product in another (hat, car, polo, bra).
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any
from unicodedata import category, normalize
from urllib.parse import unquote

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from ..model.errors import UsageError, install_hint
from .chart_spec import ChartSpec
from .languages import page_languages
from .measure import find_in_words, in_site_order, measure, most_frequent, most_widespread, page_frame, quote

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from .measure import Measure
    from .tables import SnapshotTables

_MAX_N = 5


def slug_ngrams(snapshot: SnapshotTables, n: int, *, top: int, skip: Iterable[str], stop_words: bool) -> Measure:
    if type(n) is not int or not 1 <= n <= _MAX_N:
        raise UsageError(keyword="n", value=n, allowed=f"a number of words from 1 to {_MAX_N}")
    _check_top(top)
    skipped = words_to_skip(skip)
    stops = StopWords(snapshot, is_used=stop_words)
    pages = page_frame(snapshot, "slug")
    frames = [pd.DataFrame(columns=["site", "words", "pages", "share"])]
    for site, part in pages.groupby("site", sort=False):
        counts = part["slug"].dropna().value_counts(sort=False)
        found = split_words(pa.array(counts.index, pa.string()), is_encoded=True)
        weights = counts.to_numpy()
        if stop_words:
            found = found.without(stops.find(site, page_counts(found.distinct(), weights), len(part)))
        numbers = page_counts(found.without(skipped).ngrams(n).distinct(), weights)
        frame = _most_frequent(numbers, top).rename(columns={"word": "words"})
        frames.append(frame.assign(site=site, share=frame["pages"] / len(part))[["site", "words", "pages", "share"]])
    frame = in_site_order(pd.concat(frames[1:] or frames), snapshot)
    finding = find_in_words(frame, snapshot.sites, _first_words, _widest_word, "no page has a slug with words")
    row = "Words" if n == 1 else f"{n} words in a row"
    rule = (
        f"{row}, of the first {MAX_TEXT_WORDS} in the slug (the last segment of the path), decoded, in lower case. "
        f"Numbers are not words, and separate the words around them. A page counts once for each of them.{stops.rule}"
    )
    spec = _bars_of_words("words", "pages by words of their slug", snapshot)
    return measure(frame, rule=rule, finding=finding, spec=spec)


def _bars_of_words(name: str, title: str, snapshot: SnapshotTables) -> ChartSpec:
    return ChartSpec("rows", x="pages", y=name, x_title=title, share="share", max_rows=20, sites=snapshot.sites)


def _check_top(top: int) -> None:
    if type(top) is not int or top < 1:
        raise UsageError(keyword="top", value=top, allowed="a number, 1 or more")


def words_to_skip(skip: Iterable[str]) -> frozenset[str]:
    try:
        return frozenset(lower(word) for word in ([skip] if isinstance(skip, str) else skip))
    except (TypeError, AttributeError):
        raise UsageError(keyword="skip", value=skip, allowed="a word or several") from None


def page_counts(words: Words, weights: np.ndarray[Any, Any]) -> pd.DataFrame:
    """`word pages` of the words of texts that as many pages have as `weights` says; each word is once in a text."""
    counts = np.bincount(words.codes, weights[words.texts], len(words.vocabulary)).astype(np.int64)
    frame = pd.DataFrame({"word": pd.Series(words.vocabulary, dtype="str"), "pages": counts})
    return frame[frame["pages"] > 0]


def _most_frequent(counts: pd.DataFrame, top: int) -> pd.DataFrame:
    return counts.sort_values(["pages", "word"], ascending=[False, True]).head(top)


class StopWords:
    """The stop words of each site, with the languages whose lists they are; none if `is_used` is False."""

    def __init__(self, snapshot: SnapshotTables, *, is_used: bool) -> None:
        self._stated: dict[str, list[str]] | None = None
        self._found: set[str] = set()
        if is_used:
            known = page_languages(snapshot)[["site", "language"]].dropna().drop_duplicates()
            self._stated = {site: [*part["language"]] for site, part in known.groupby("site")}

    def find(self, site: str, counts: pd.DataFrame, pages: int) -> frozenset[str]:
        """Those of a site whose words have these counts, `word pages`."""
        if self._stated is None:
            return frozenset()
        by_word = dict(zip(counts["word"], counts["pages"], strict=True))
        words, languages = find_stop_words(by_word, pages, self._stated.get(site, ()))
        self._found |= {*languages}
        return words

    @property
    def rule(self) -> str:
        names = ", ".join(sorted(self._found))
        return f" Left out: names of files, and the stop words of the languages found ({names})." if names else ""


def _first_words(part: pd.DataFrame, name: str = "words") -> str:
    pages = part.set_index(name)["pages"]
    return f"most frequent: {most_frequent(pages, round(pages.max() / part['share'].max()), write=quote)}"


def _widest_word(frame: pd.DataFrame, name: str = "words") -> str:
    return most_widespread("among the most frequent:", name, frame, sites=frame["site"].nunique())


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
    of_slugs = split_words(pa.array(names, pa.string()), is_encoded=True)
    of_titles = split_words(pa.array(title_names, pa.string()), is_encoded=False)
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
    """(document, code) of each word of its text; `of` are the texts, in order, of the `codes`."""
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
    return pa.concat_tables(tables).to_pandas()


def topics(snapshot: SnapshotTables, *, top: int, skip: Iterable[str], stop_words: bool) -> Measure:
    _check_top(top)
    skipped = words_to_skip(skip)
    stops = StopWords(snapshot, is_used=stop_words)
    frames = [pd.DataFrame(columns=_COLUMNS)]
    for site, found in site_words(snapshot):
        counts = found.counts()
        left_out = skipped | stops.find(site, counts, found.pages)
        counts = _most_frequent(counts[~counts["word"].isin(left_out)], top)
        counts = counts.assign(site=site, topic=counts["word"], share=counts["pages"] / found.pages)
        frames.append(counts.assign(cluster=_clusters(found, counts))[_COLUMNS])
    frame = in_site_order(pd.concat(frames[1:] or frames), snapshot)
    none = "no page has a slug or a title with words"
    describe, describe_many = (partial(each, name="topic") for each in (_first_words, _widest_word))
    finding = find_in_words(frame, snapshot.sites, describe, describe_many, none)
    rule = (
        f"Pages by the words of their slugs and of the titles of their news, videos and images: of the first "
        f"{MAX_TEXT_WORDS} of each, decoded, in lower case, without numbers. A page counts once for each word."
        f"{stops.rule} The {top:,} most frequent words of each site. A word is in the cluster of the more "
        "frequent one with which it shares most pages, if these are half of its own and "
        f"{_MIN_LIFT:g} times as many as by chance."
    )
    spec = _bars_of_words("topic", "pages by topic", snapshot)
    return measure(frame, rule=rule, finding=finding, spec=spec)


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


# --- words of texts ----------------------------------------------------------------------------------------------


MAX_TEXT_WORDS = 100
_APOSTROPHES = "'’"
# What Arrow splits as words_of_text() does: ASCII, nothing encoded, no apostrophe.
_PLAIN = "^[ -$&(-~]*$"


@attrs.frozen
class Words:
    """The words of texts: `texts[i]` is the number of the text that has the word `vocabulary[codes[i]]`, in order."""

    texts: np.ndarray[Any, Any]
    codes: np.ndarray[Any, Any]
    vocabulary: list[str]

    @property
    def is_number(self) -> np.ndarray[Any, Any]:
        """For each word of the vocabulary."""
        return np.fromiter((word.isdigit() for word in self.vocabulary), bool, len(self.vocabulary))

    def without(self, words: Iterable[str]) -> Words:
        """The vocabulary stays."""
        left_out = frozenset(words)
        keep = np.fromiter((word not in left_out for word in self.vocabulary), bool, len(self.vocabulary))[self.codes]
        return Words(self.texts[keep], self.codes[keep], self.vocabulary)

    def ngrams(self, n: int) -> Words:
        """Runs of `n` words of a text, joined by blanks; a number ends a run."""
        texts, codes, is_number = self.texts, self.codes, self.is_number
        count = max(len(codes) - n + 1, 0)
        is_run = np.ones(count, bool)
        for at in range(n):
            is_run &= ~is_number[codes[at : at + count]] & (texts[at : at + count] == texts[:count])
        starts = np.flatnonzero(is_run)
        if n == 1:
            return Words(texts[starts], codes[starts], self.vocabulary)
        numbers = codes[starts].astype(np.int64)
        for at in range(1, n):
            numbers = pd.factorize(numbers * len(self.vocabulary) + codes[starts + at])[0].astype(np.int64)
        first = np.unique(numbers, return_index=True)[1]  # of each distinct run
        words = pa.array(self.vocabulary, pa.string())
        parts = [words.take(pa.array(codes[starts[first] + at])) for at in range(n)]
        return Words(texts[starts], numbers, compute.binary_join_element_wise(*parts, " ").to_pylist())

    def distinct(self) -> Words:
        """Each word once per text."""
        size = len(self.vocabulary) or 1
        keys = pd.unique(self.texts.astype(np.int64) * size + self.codes)
        return Words(keys // size, keys % size, self.vocabulary)


def split_words(texts: Any, *, is_encoded: bool) -> Words:
    """The first MAX_TEXT_WORDS words of each text of a pyarrow.Array; percent-decoded first if `is_encoded`.

    Words are in lower case and NFC, of letters, digits and combining marks, with apostrophes inside.
    """
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    is_plain = compute.fill_null(compute.match_substring_regex(texts, _PLAIN), True)
    plain = compute.if_else(is_plain, compute.fill_null(texts, ""), "")
    lists = compute.split_pattern_regex(compute.ascii_lower(plain), "[^a-z0-9]+")
    numbers, found = _flattened(lists)
    rows = compute.filter(pa.array(np.arange(len(texts))), compute.invert(is_plain))
    if len(rows):
        others = [words_of_text(text, is_encoded=is_encoded) for text in texts.take(rows).to_pylist()]
        more, words = _flattened(pa.array(others, pa.list_(pa.string())))
        numbers = np.concatenate([numbers, rows.to_numpy()[more]])
        found = pa.concat_arrays([found, words])
        order = np.argsort(numbers, kind="stable")
        numbers, found = numbers[order], found.take(pa.array(order))
    coded = found.dictionary_encode()
    return Words(numbers, coded.indices.to_numpy(), coded.dictionary.to_pylist())


def _flattened(lists: Any) -> tuple[np.ndarray[Any, Any], Any]:
    """(number of the list, word) of the first MAX_TEXT_WORDS words that are not empty."""
    words = compute.list_flatten(lists)
    numbers = compute.list_parent_indices(lists)
    is_word = compute.not_equal(words, "")
    numbers, words = numbers.filter(is_word).to_numpy(), words.filter(is_word)
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    place = np.arange(len(numbers)) - np.repeat(starts, np.diff(np.append(starts, len(numbers))))
    is_early = place < MAX_TEXT_WORDS
    return (numbers, words) if is_early.all() else (numbers[is_early], words.filter(is_early))


def words_of_text(text: str, *, is_encoded: bool = False) -> list[str]:
    """The words of one text.

    >>> words_of_text("Caf%C3%A9-o'clock-2", is_encoded=True)
    ['café', "o'clock", '2']
    """
    text = lower(unquote(text, errors="replace") if is_encoded else text)
    return [word for part in text.translate(_BLANKED).split() if (word := part.strip(_APOSTROPHES))]


def lower(text: str) -> str:
    """Lower case in NFC, so that composed and decomposed letters are equal."""
    return normalize("NFC", text.lower())


class _Blanked(dict[int, str]):
    """For str.translate(): the characters of words are themselves, all others blanks."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        is_of_word = char.isalnum() or char in _APOSTROPHES or category(char)[0] == "M"
        return self.setdefault(code, char if is_of_word else " ")


_BLANKED = _Blanked()


# --- stop words --------------------------------------------------------------------------------------------------

# Names of files and protocols in slugs and titles.
_FILE_WORDS = frozenset(["index", "html", "htm", "php", "asp", "aspx", "jsp", "www", "http", "https"])
_ENGLISH = "en"
# A language shows itself by words that are stop words of no other list: so many different ones, and the occurrences
# of all but the most frequent one as a share of the pages. Below that they are names, or words of other languages.
_MIN_WORDS, _MIN_SHARE = 5, 0.02
_MIN_STATED_WORDS, _MIN_STATED_SHARE = 2, 0.01  # for a language in which pages are


def find_stop_words(
    counts: dict[str, int], pages: int, languages: Iterable[str] = ()
) -> tuple[frozenset[str], list[str]]:
    """The stop words of a site, and the languages whose lists they are; `counts` are the pages that have each word.

    English is always one, as slugs of any site may be English. Another language is one if its own stop words occur:
    _MIN_WORDS of them, all but the most frequent one on _MIN_SHARE of the pages; less is enough for a language that
    pages state (`languages`).
    """
    stated = {language.partition("-")[0] for language in languages}
    found = [_ENGLISH]
    for language, own in _own_words().items():
        occurrences = sorted(counts[word] for word in own if word in counts)
        is_stated = language in stated
        few, share = (_MIN_STATED_WORDS, _MIN_STATED_SHARE) if is_stated else (_MIN_WORDS, _MIN_SHARE)
        sure = sum(occurrences) if is_stated else sum(occurrences[:-1])
        if language != _ENGLISH and len(occurrences) >= few and sure >= share * pages:
            found.append(language)
    lists = _lists()
    return _FILE_WORDS.union(*(lists[language] for language in found)), found


@cache
def _lists() -> dict[str, frozenset[str]]:
    """ISO 639-1 code -> its stop words, from the package `stopwords`."""
    try:
        import stopwords
    except ImportError as exc:
        raise UsageError(f"stop words need the package stopwords: {install_hint('analysis')}") from exc
    lists: dict[str, frozenset[str]] = {}
    for tag, name in stopwords.LANGUAGE_MAPPING.items():
        code = tag.partition("-")[0]  # pt-BR and pt are one language
        words = (lower(word) for line in stopwords.get_stopwords(name) for word in line.split())
        lists[code] = lists.get(code, frozenset()).union(words)
    return lists


@cache
def _own_words() -> dict[str, frozenset[str]]:
    """Language -> the words of its list, of two letters or more, that are in no other list."""
    lists = _lists()
    return {
        language: frozenset(word for word in words if len(word) > 1).difference(
            *(others for other, others in lists.items() if other != language)
        )
        for language, words in lists.items()
    }
