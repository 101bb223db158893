"""The words of slugs and titles of pages, without stop words and ids. Measures of words count them.

A stop word of one language is a product in another (hat, car, polo, bra): a word is a stop word or not by the language
of the page that has it.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any
from unicodedata import category, normalize

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from ..model.errors import UsageError, install_hint
from .languages import page_languages
from .measure import name_some, page_frame, quote
from .tables import once
from .url_parts import INDEX_NAMES, decode, texts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .tables import SnapshotTables

MAX_TEXT_WORDS = 100
Array = np.ndarray[Any, Any]


@attrs.frozen
class Words:
    """The words of texts: `texts[i]` is the number of the text that has the word `vocabulary[codes[i]]`, in order."""

    texts: Array
    codes: Array
    vocabulary: Any  # a pyarrow.StringArray

    def where(self, keep: Array) -> Words:
        """Some of them; the vocabulary stays."""
        return self if keep.all() else Words(self.texts[keep], self.codes[keep], self.vocabulary)

    def ngrams(self, n: int, is_word: Array) -> Words:
        """Runs of `n` words of a text, joined by blanks. `is_word`, for each of the vocabulary: another ends a run."""
        texts, codes, size = self.texts, self.codes, len(self.vocabulary)
        count = max(len(codes) - n + 1, 0)
        is_run = np.ones(count, bool)
        for at in range(n):
            is_run &= is_word[codes[at : at + count]] & (texts[at : at + count] == texts[:count])
        starts = np.flatnonzero(is_run)
        numbers = codes[starts].astype(np.int64)
        for at in range(1, n):
            numbers = pd.factorize(numbers * size + codes[starts + at])[0].astype(np.int64)
        first = np.full(numbers.max(initial=-1) + 1, -1)  # of each distinct run
        first[numbers[::-1]] = starts[::-1]
        parts = [self.vocabulary.take(pa.array(codes[first + at], mask=first < 0)) for at in range(n)]
        return Words(texts[starts], numbers, compute.binary_join_element_wise(*parts, " "))

    def page_counts(self, weights: Array | None = None) -> pd.DataFrame:
        """`word pages` of texts that are the slugs of pages; with weights of the pages their sum as `weight`."""
        size = len(self.vocabulary) or 1
        keys = np.sort(self.texts.astype(np.int64) * size + self.codes)
        keys = keys[np.diff(keys, prepend=-1) > 0]
        return _counts(self.vocabulary, keys % size, weights, keys // size)


def _counts(vocabulary: Any, codes: Array, weights: Array | None, texts: Array) -> pd.DataFrame:
    """`word code pages`, and `weight` if there are weights."""
    pages = np.bincount(codes, minlength=len(vocabulary))
    found = np.flatnonzero(pages)
    frame = pd.DataFrame({"word": vocabulary.take(pa.array(found)).to_pandas(), "code": found, "pages": pages[found]})
    if weights is None:
        return frame
    return frame.assign(weight=np.bincount(codes, weights[texts], len(vocabulary))[found])


@attrs.frozen
class SiteWords:
    """The words of the pages of one site.

    A text is a page: its place in `rows`, which are rows of Snapshot.pages. `slugs` are all words of the slugs, in
    their order; `words` those of slugs and titles that are words by `is_word` (for each of the vocabulary), each once
    per page, with where it stands. `repeated` are parts of titles that were left out.
    """

    rows: Array
    slugs: Words
    words: Words
    in_slug: Array
    in_title: Array
    is_word: Array
    repeated: tuple[str, ...]

    def where(self, keep: Array) -> SiteWords:
        """With some of `words`."""
        if keep.all():
            return self
        return attrs.evolve(
            self, words=self.words.where(keep), in_slug=self.in_slug[keep], in_title=self.in_title[keep]
        )

    def divide(self, labels: pd.Series[str]) -> Iterator[tuple[str, SiteWords]]:
        """The words of the pages with each label; `slugs` are not divided."""
        codes, names = pd.factorize(labels)
        order = np.argsort(codes, kind="stable")
        starts = np.append(0, np.cumsum(np.bincount(codes)))
        place = np.empty(len(codes), np.int64)
        place[order] = np.arange(len(codes)) - starts[codes[order]]
        pairs = np.argsort(codes[self.words.texts], kind="stable")
        edges = np.searchsorted(codes[self.words.texts][pairs], np.arange(len(names) + 1))
        for code, name in enumerate(names):
            some = pairs[edges[code] : edges[code + 1]]
            words = Words(place[self.words.texts[some]], self.words.codes[some], self.words.vocabulary)
            rows = self.rows[order[starts[code] : starts[code + 1]]]
            yield (
                str(name),
                attrs.evolve(self, rows=rows, words=words, in_slug=self.in_slug[some], in_title=self.in_title[some]),
            )

    def counts(self, weights: Array | None = None) -> pd.DataFrame:
        """A row per word: `word code pages slugs titles first`, the last the row of the first page that has it.

        With weights, for each of `rows`, their sum as `weight`.
        """
        texts, codes, size = self.words.texts, self.words.codes, len(self.words.vocabulary)
        frame = _counts(self.words.vocabulary, codes, weights, texts)
        first = np.zeros(size, np.int64)
        first[codes[::-1]] = self.rows[texts[::-1]]
        columns = {"slugs": self.in_slug, "titles": self.in_title}
        counted = {name: np.bincount(codes[where], minlength=size) for name, where in columns.items()}
        return frame.assign(**{name: numbers[frame["code"]] for name, numbers in (counted | {"first": first}).items()})


# --- words of a Snapshot -----------------------------------------------------------------------------------------

_UUID = "(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


@once
def site_words(snapshot: SnapshotTables) -> dict[str, SiteWords]:
    """Site -> the words of its pages, with stop words."""
    pages = page_frame(snapshot, "slug")
    titles = _titles(snapshot)
    titles["site"] = pages["site"].to_numpy()[titles["page"]]
    of_sites = dict([*titles.groupby("site", sort=False)])
    none = titles[:0]
    return {
        str(site): _site_words(part.index.to_numpy(), part["slug"], of_sites.get(site, none))
        for site, part in pages.groupby("site", sort=False)
    }


def _site_words(rows: Array, slugs: pd.Series[str], titles: pd.DataFrame) -> SiteWords:
    """`rows` are the row numbers of the pages, in order; `titles` has `page` (a row number) and `title`."""
    names = texts_of(slugs)
    names = compute.if_else(compute.is_in(compute.ascii_lower(names), pa.array(INDEX_NAMES)), None, names)
    if compute.any(compute.match_substring_regex(names, _UUID)).as_py():
        names = compute.replace_substring_regex(names, _UUID, "0")
    of_slugs = split_words(names, is_encoded=True)
    titles, repeated = _without_repeated(titles)
    of_titles = split_words(texts_of(titles["title"]), is_encoded=False)
    vocabulary = pa.concat_arrays([of_slugs.vocabulary, of_titles.vocabulary]).unique()
    codes = compute.index_in(of_titles.vocabulary, vocabulary).to_numpy(zero_copy_only=False)[of_titles.codes]
    pages = np.searchsorted(rows, titles["page"].to_numpy())[of_titles.texts]
    size = len(vocabulary) or 1
    # One number for all three: sorted, those of a page and word are beside each other, that of the slug first.
    keys = np.concatenate(
        [(of_slugs.texts * size + of_slugs.codes) * 2, (pages * size + codes) * 2 + 1], dtype=np.int64, casting="unsafe"
    )
    keys.sort()
    pairs = keys >> 1
    is_first, is_last = (np.diff(pairs, **edge) != 0 for edge in ({"prepend": -1}, {"append": -1}))
    in_slug, in_title = keys[is_first] & 1 == 0, keys[is_last] & 1 == 1
    pairs = pairs[is_first]
    words = Words(pairs // size, (pairs % size).astype(np.int32), vocabulary)
    is_word = _is_word(vocabulary, np.bincount(words.codes, minlength=len(vocabulary)))
    of_slugs = Words(of_slugs.texts, of_slugs.codes, vocabulary)  # which begins with that of the slugs
    return SiteWords(rows, of_slugs, words, in_slug, in_title, is_word, repeated).where(is_word[words.codes])


_TITLED = (("news", False), ("videos", True), ("images", True))


def _titles(snapshot: SnapshotTables) -> pd.DataFrame:
    """`page title` of the news, videos and images of all pages, and keywords of news; `page` is a row number."""
    keywords: Any = compute.struct_field(snapshot.pages.stored["news"].combine_chunks(), "keywords")
    pages = compute.list_parent_indices(keywords).cast(pa.int64())
    tables = [pa.table({"page": pages, "title": compute.list_flatten(keywords)})]
    for name, is_list in _TITLED:
        column = snapshot.pages.stored[name].combine_chunks()
        rows = compute.list_parent_indices(column) if is_list else pa.array(np.arange(len(column)))
        items: Any = compute.list_flatten(column) if is_list else column
        table = pa.table({"page": rows.cast(pa.int64()), "title": compute.struct_field(items, "title")})
        tables.append(table.filter(compute.is_valid(table["title"])))
    return pa.concat_tables(tables).to_pandas()


_TITLE_PARTS = r"\s+[-|:/–—·•»]+\s+"
# A part of so many titled pages is of the template of the site: "Video Transcript" in "A Talk - Video Transcript".
_MIN_TITLED, _REPEATED_SHARE = 10, 0.5


def _without_repeated(titles: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The parts of the titles, as `page title`, without those that more than half of the titled pages have."""
    titled = titles["page"].nunique()
    if titled < _MIN_TITLED:
        return titles, ()
    lists = compute.split_pattern_regex(texts_of(titles["title"]), _TITLE_PARTS)
    numbers = compute.list_parent_indices(lists).to_numpy()
    parts = pd.DataFrame({"page": titles["page"].to_numpy()[numbers], "title": compute.list_flatten(lists).to_pandas()})
    counts = parts.drop_duplicates()["title"].value_counts()
    repeated = counts.index[counts > _REPEATED_SHARE * titled]
    return (parts[~parts["title"].isin(repeated)], (*repeated,)) if len(repeated) else (titles, ())


NUMBER = "0"  # stands for all numbers
# Keys of databases and hashes: eight hexadecimal digits, six digits in a row, or letters and digits that alternate. The
# latter in less than six characters may be a name: r2d2, b2b2c.
_ID, _ALTERNATING, _MIN_ALTERNATING = r"^[0-9a-f]{8,}$|\d{6}", r"\d\D+\d+\D|\D\d+\D+\d", 6
_MAX_NAME = 3  # such as 3d, 4k, 2xl, mp3, b2b: a longer one on one page only is an id, too
_NUMBERED = r"^(?P<name>\D+)(?P<number>\d{1,3})$"
_SERIES = 8  # numbers from 1 on with one name, such as day1 to day13


def _is_word(vocabulary: Any, pages: Array) -> Array:
    """For each of the vocabulary: whether it has no digit, or else is neither a number, an id, nor one of a series."""
    has_digit = _matches(vocabulary, r"\d")
    places = np.flatnonzero(has_digit)
    mixed = vocabulary.take(pa.array(places))
    length = compute.utf8_length(mixed).to_numpy()
    is_id = _matches(mixed, _ID) | (_matches(mixed, _ALTERNATING) & (length >= _MIN_ALTERNATING))
    is_frequent = (pages[places] > 1) | (length <= _MAX_NAME)
    parts = compute.extract_regex(mixed, _NUMBERED)
    series = pd.DataFrame({name: compute.struct_field(parts, name).to_pandas() for name in ("name", "number")})
    numbers = series.dropna().astype({"number": "int64"}).drop_duplicates()
    first = numbers[numbers["number"].between(1, _SERIES)].value_counts("name")
    is_part = series["name"].isin(first.index[first == _SERIES]).to_numpy()
    is_word: Array = ~has_digit
    is_word[places] = is_frequent & ~is_id & ~is_part & ~_matches(mixed, f"^{NUMBER}$")
    return is_word


def _matches(texts: Any, pattern: str) -> Array:
    found: Array = compute.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False)
    return found


# --- splitting ---------------------------------------------------------------------------------------------------

# What separates words: all but letters, digits, combining marks, and the apostrophes inside of a word.
_SEPARATORS, _APOSTROPHES = r"[^\p{L}\p{N}\p{M}'’]+", "'’"


def split_words(texts: Any, *, is_encoded: bool) -> Words:
    """The first MAX_TEXT_WORDS words of each text of a pyarrow.Array; percent-decoded first if `is_encoded`.

    Words are in lower case and NFC, of letters, digits and combining marks, with apostrophes inside. NUMBER stands for
    each number.

    >>> split_words(pa.array(["Caf%C3%A9-o'clock-2"]), is_encoded=True).vocabulary.to_pylist()
    ['café', "o'clock", '0']
    """
    lists = compute.split_pattern_regex(compute.utf8_lower(decode(texts) if is_encoded else texts), _SEPARATORS)
    parts = compute.list_flatten(lists).dictionary_encode()  # few different ones
    words = decode(compute.utf8_trim(parts.dictionary, _APOSTROPHES))  # in NFC; none has a %
    words = compute.if_else(compute.utf8_is_digit(words), NUMBER, words)
    coded = compute.if_else(compute.equal(words, ""), None, words).dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy()[parts.indices.to_numpy()]
    is_word = codes >= 0
    numbers, codes = compute.list_parent_indices(lists).to_numpy()[is_word], codes[is_word]
    is_early = np.arange(len(numbers)) - np.searchsorted(numbers, numbers) < MAX_TEXT_WORDS
    return Words(numbers[is_early], codes[is_early], coded.dictionary)


def lower(text: str) -> str:
    """Lower case in NFC, so that composed and decomposed letters are equal."""
    return normalize("NFC", text.lower())


# --- stop words --------------------------------------------------------------------------------------------------

# Extensions and protocols in slugs and titles.
_FILE_WORDS = frozenset(["html", "htm", "php", "asp", "aspx", "jsp", "www", "http", "https"])
_ENGLISH = "en"
# The function words of English: the list of stopwordsiso has 1,298 words, such as top, men, case, ring and research,
# which 2% to 20% of the pages of shops have.
ENGLISH_WORDS = """
    a about above after again against all also am an and any are as at be because been before being below between both
    but by can cannot could did do does doing don down during each few for from further had has have having he her here
    hers herself him himself his how i if in into is it its itself just me might more most must my myself no nor not of
    off on once only or other our ours ourselves out over own same shall she should so some such than that the their
    theirs them themselves then there these they this those through to too under until up upon very via vs was we were
    what when where which while who whom whose why will with within without would you your yours yourself yourselves
"""
# A language shows itself by so many different stop words: the pages with all but the most frequent one, added up, as a
# share of the pages. Of words that are in no other list less is enough, unless English ones are far more frequent: the
# Malay list has program, global and media. Below that they are names and other words.
_MIN_WORDS, _MIN_SHARE, _MIN_OWN_SHARE, _MIN_OF_ENGLISH = 5, 0.2, 0.02, 0.1
_OTHER_CODES = {"nb": "no", "nn": "no"}


@once
def topical_words(snapshot: SnapshotTables) -> tuple[dict[str, SiteWords], str]:
    """Site -> the words of its pages without stop words; and what a rule has to say of these.

    A page has the stop words of English, of the language that it states, and of those that show themselves in the words
    of the pages with this language. A slug that pages in several languages have is in none of them.
    """
    codes, tags = pd.factorize(page_languages(snapshot)["language"], use_na_sentinel=False)
    bases = ["" if pd.isna(tag) else tag.partition("-")[0] for tag in tags]
    groups, names = pd.factorize(np.array([_OTHER_CODES.get(base, base) for base in bases], object)[codes])
    slugs = page_frame(snapshot, "slug")["slug"]
    topical, found = {}, {_ENGLISH}
    for site, words in site_words(snapshot).items():
        stops = _StopWords(words, _groups_of_slugs(groups[words.rows], slugs.iloc[words.rows]), names)
        found |= stops.languages
        kept = words.where(~stops.are(words.words))
        topical[site] = attrs.evolve(kept, slugs=words.slugs.where(~stops.are(words.slugs)))
    known, unknown = (sorted(found & {*_lists()}), sorted(found - {*_lists()}))
    rule = f" Left out: names of files, and stop words of English and of the language of each page ({', '.join(known)})"
    return topical, rule + (f"; of {name_some(unknown)} no stop words are known." if unknown else ".")


def _groups_of_slugs(groups: Array, slugs: pd.Series[str]) -> Array:
    """For each page its language, as a number; -1 if a page in another language has the same slug.

    A shop that translates its pages and not their slugs has English words on German pages: a hat, and not "has".
    """
    if (groups == groups[0]).all():
        return groups
    codes, names = pd.factorize(slugs)
    size, has_slug = groups.max() + 1, codes >= 0
    different = np.unique(codes[has_slug] * size + groups[has_slug])
    is_shared = np.bincount(different // size, minlength=len(names) + 1) > 1
    return np.where(is_shared[codes], -1, groups)  # the last one, of -1, is of pages without a slug


class _StopWords:
    """The stop words of each group of pages of a site, and the languages whose lists they are."""

    def __init__(self, words: SiteWords, groups: Array, names: Sequence[str]) -> None:
        """`groups` has the place in `names`, or -1, of the language of each page; "" is an unknown one."""
        self._groups = groups + 1
        vocabulary = words.words.vocabulary
        is_listed = compute.is_in(vocabulary, _all_words()).to_numpy(zero_copy_only=False)
        listed = vocabulary.filter(pa.array(is_listed)).to_pylist()
        self._places = np.where(is_listed, np.cumsum(is_listed) - 1, len(listed))
        self._table = np.zeros((len(names) + 1, len(listed) + 1), bool)
        self.languages: set[str] = set()
        shape = self._table.shape
        keys = self._groups[words.words.texts] * shape[1] + self._places[words.words.codes]
        counts = np.bincount(keys, minlength=shape[0] * shape[1]).reshape(shape)
        for group, size in enumerate(np.bincount(self._groups)):
            some = np.flatnonzero(counts[group, :-1])
            shown = find_languages({listed[place]: int(counts[group, place]) for place in some}, int(size))
            stated = names[group - 1] if group else ""
            used = {_ENGLISH, *shown, *([stated] if stated else [])} if size else set()
            stops = _FILE_WORDS.union(*(_lists().get(each, ()) for each in used))
            self.languages |= used
            self._table[group, :-1] = [word in stops for word in listed]

    def are(self, words: Words) -> Array:
        """Whether each of these words is a stop word where it stands."""
        found: Array = self._table[self._groups[words.texts], self._places[words.codes]]
        return found


def find_languages(counts: Mapping[str, int], pages: int) -> list[str]:
    """The languages other than English that show themselves in words: `counts` are the pages that have each word.

    By words that are in no other list; then, from the one with most stop words on, by those that no language before
    has: "con" and "para" are Spanish as well as Portuguese.
    """

    def evidence(words: frozenset[str]) -> int:
        occurrences = sorted(counts[word] for word in words)
        return sum(occurrences[:-1]) if len(occurrences) >= _MIN_WORDS else 0

    def present(lists: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
        return {language: words.intersection(counts) for language, words in lists.items() if language != _ENGLISH}

    own, left = present(_own_words()), present(_long_words())
    english = evidence(_lists()[_ENGLISH].intersection(counts))
    least = max(_MIN_OWN_SHARE * pages, _MIN_OF_ENGLISH * english, 1)
    found = [language for language, words in own.items() if evidence(words) >= least]
    taken = _lists()[_ENGLISH].union(*(left.pop(language) for language in found))
    while left:
        language = max(left, key=lambda each: evidence(left[each] - taken))
        if evidence(left[language] - taken) < max(_MIN_SHARE * pages, 1):
            break
        found.append(language)
        taken |= left.pop(language)
    return found


@cache
def _all_lists() -> dict[str, frozenset[str]]:
    """ISO 639-1 code -> its stop words, from the package `stopwordsiso`, with and without accents."""
    try:
        import stopwordsiso
    except ImportError as exc:
        raise UsageError(f"stop words need the package stopwordsiso: {install_hint('analysis')}") from exc
    found = {}
    for language in stopwordsiso.langs():
        words = split_words(pa.array(sorted(stopwordsiso.stopwords(language))), is_encoded=False).vocabulary.to_pylist()
        found[language] = frozenset(chain(words, *map(_ascii_forms, words)))
    return found


def _ascii_forms(word: str) -> Iterator[str]:
    """In the two ways that slugs have (für: fur, fuer)."""
    for table in _ASCII:
        plain = "".join(char for char in normalize("NFD", word.translate(table)) if category(char) != "Mn")
        if plain.isascii():
            yield plain


_LETTERS = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ı": "i"}
_ASCII = [str.maketrans(_LETTERS | more) for more in ({}, {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})]


@cache
def _lists() -> dict[str, frozenset[str]]:
    return {**_all_lists(), _ENGLISH: frozenset(ENGLISH_WORDS.split())}


@cache
def _all_words() -> Any:
    return pa.array(sorted(_FILE_WORDS.union(*_lists().values())), pa.string())


@cache
def _long_words() -> dict[str, frozenset[str]]:
    """Language -> the words of its list that have two letters or more."""
    return {
        language: frozenset(word for word in words if len(word) > 1 and word.isalpha())
        for language, words in _all_lists().items()
    }


@cache
def _own_words() -> dict[str, frozenset[str]]:
    """Language -> those of its _long_words() that are in no other list."""
    every = Counter(chain.from_iterable(_all_lists().values()))
    return {language: frozenset(w for w in words if every[w] == 1) for language, words in _long_words().items()}


def words_to_skip(skip: Iterable[str]) -> frozenset[str]:
    try:
        return frozenset(lower(word) for word in ([skip] if isinstance(skip, str) else skip))
    except (TypeError, AttributeError):
        raise UsageError(keyword="skip", value=skip, allowed="a word or several") from None


def repeated_rule(sites: Iterable[SiteWords]) -> str:
    """What a rule has to say of parts of titles that were left out."""
    parts = [*dict.fromkeys(quote(part) for words in sites for part in words.repeated)]
    named = name_some(parts)
    return f" Not counted: what more than half of the titles of a site have ({named})." if parts else ""
