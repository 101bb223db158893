"""Words of texts as columns: slugs and titles in; numbered words with the number of their text out.

Texts of ASCII letters are split by Arrow; the others one by one, once per distinct text. STOP words are those of the
languages that the words of a site show, as a stop word of one language is a product in another (hat, car, polo, bra).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any
from unicodedata import category, normalize
from urllib.parse import unquote

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from ..model.errors import UsageError, install_hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
        """For each word of the vocabulary whether it consists of digits."""
        return np.fromiter((word.isdigit() for word in self.vocabulary), bool, len(self.vocabulary))

    def without(self, words: Iterable[str]) -> Words:
        """The words that are not among these; the vocabulary stays."""
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
        lists[code] = lists.get(code, frozenset()).union(_listed(stopwords.get_stopwords(name)))
    return lists


def _listed(lines: list[str]) -> Iterator[str]:
    return (lower(word) for line in lines for word in line.split())


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
