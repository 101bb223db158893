"""Documents in a declared charset, and UTF-8 that is declared as it: `python -m benchmarks.charsets [--seed N]`.

The words are those of the package `stopwordsiso`, in 12 languages. A document declares one of 22 charsets and is
written in it, in each language whose words it has; or in UTF-8, in each of the languages. The words stand in titles of
images or in the paths of locations. Long documents have 20 entries with four words each, short ones one entry with one
to ten different words, none of them ASCII. Counted are the documents of which any value is read in another charset. A
long one ends the program with 1.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import quote

import stopwordsiso
import webencodings

import sitemap_reader as sr

from .tables import aligned

if TYPE_CHECKING:
    from collections.abc import Iterator

LABELS = (
    "windows-874", "windows-1250", "windows-1251", "windows-1253", "windows-1254", "windows-1256", "windows-1257",
    "iso-8859-2", "iso-8859-4", "iso-8859-5", "iso-8859-6", "iso-8859-7", "iso-8859-13", "koi8-r", "ibm866",
    "macintosh", "gbk", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr",
)  # fmt: skip
LANGUAGES = ("ar", "el", "fi", "ja", "ko", "lv", "pl", "ru", "sk", "th", "tr", "zh")
WRITABLE_SHARE = 0.9  # of its words that are not ASCII, for a charset to be one of the language
DOCUMENTS = 10  # of each kind
KINDS = {"20 entries": (20, 4)} | {f"{words} words": (1, words) for words in (1, 2, 3, 5, 10)}  # entries, words in each
ENTRY = {
    "titles": "<url><loc>https://example.com/{at}</loc><image:image><image:loc>https://example.com/{at}.png</image:loc>"
    "<image:title>{text}</image:title></image:image></url>\n",
    "paths": "<url><loc>https://example.com/{text}/{at}</loc></url>\n",
}
HEAD = """<?xml version="1.0" encoding="{label}"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
    xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
"""


def is_writable(word: str, label: str) -> bool:
    try:
        webencodings.encode(word, label, "strict")
    except UnicodeEncodeError:
        return False
    return True


def cases() -> Iterator[tuple[str, str, list[str]]]:
    """(declared charset, "its own" or "UTF-8", words of a language that can be written in it)."""
    for language in LANGUAGES:
        words = sorted(filter(str.isalpha, stopwordsiso.stopwords(language)))
        foreign = [word for word in words if not word.isascii()]
        for label in LABELS:
            writable = [word for word in words if is_writable(word, label)]
            if len(set(foreign).intersection(writable)) >= WRITABLE_SHARE * len(foreign):
                yield label, "its own", writable
            yield label, "UTF-8", words


def texts(words: list[str], entries: int, words_each: int) -> list[str]:
    """The text of each entry; in a document of one entry none of its words is ASCII."""
    if entries == 1:
        words = [word for word in words if not word.isascii()]
    return ["-".join(random.sample(words, words_each)) for _ in range(entries)]


def is_read(label: str, written: str, place: str, values: list[str]) -> bool:
    """Whether a document of these values is read as it was written."""
    body = "".join(ENTRY[place].format(at=at, text=text) for at, text in enumerate(values))
    text = f"{HEAD.format(label=label)}{body}</urlset>\n"
    data = text.encode() if written == "UTF-8" else webencodings.encode(text, label, "strict")
    records = sr.parse(data, url="https://example.com/sitemap.xml").urls
    if place == "titles":
        return [record.images[0].title for record in records] == values
    return [record.loc for record in records] == [f"https://example.com/{quote(v)}/{at}" for at, v in enumerate(values)]


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.charsets", description=__doc__)
    options.add_argument("--seed", type=int, default=1, metavar="N")
    options.add_argument("--verbose", action="store_true", help="show the documents that are read wrongly")
    given = options.parse_args()
    random.seed(given.seed)
    totals: Counter[tuple[str, str, str]] = Counter()
    wrong: Counter[tuple[str, str, str]] = Counter()
    for label, written, words in cases():
        for kind, place in itertools.product(list(KINDS) * DOCUMENTS, ENTRY):
            values = texts(words, *KINDS[kind])
            totals[written, kind, place] += 1
            if not is_read(label, written, place, values):
                wrong[written, kind, place] += 1
                if given.verbose:
                    print(label, written, place, *values)
    rows = [["written in", "document", "words in", "read wrongly", "of"]]
    rows += [[*key, f"{wrong[key]:,}", f"{total:,}"] for key, total in totals.items()]
    print(aligned(rows), end="")
    return int(any(kind == "20 entries" for _, kind, _ in wrong))


if __name__ == "__main__":
    sys.exit(main())
