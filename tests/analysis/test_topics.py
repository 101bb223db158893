"""Topics of slugs and titles, their clusters, and stop words by language."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import pages, rows, snapshot_of
from test_measures_of_words import words

import sitemap_reader as sr
from sitemap_reader.analysis import MAX_TEXT_WORDS, find_stop_words, split_words, words_of_text


def titled(path: str, *titles: str) -> sr.UrlRecord:
    images = tuple(sr.Image("i", title=title) for title in titles[2:])
    video = tuple(sr.Video(title=title) for title in titles[1:2])
    return sr.UrlRecord(f"https://a.example/{path}", news=sr.News(title=titles[0]), videos=video, images=images)


def test_topics_count_pages_in_slugs_and_titles_once(tmp_path: Path) -> None:
    some = [
        titled("red-hat", "The Red Hat", "100% wool", "Hat", "Red%20Scarf"),
        titled("x", "Red"),
        *pages("red-hat?a", "red-hat?b", "hat"),
    ]
    made = snapshot_of(tmp_path, *some).topics()
    assert rows(made, "topic", "pages", "share", "slugs", "titles")[:2] == [
        ("hat", 4, 0.8, 4, 1),
        ("red", 4, 0.8, 3, 2),
    ]
    assert dict(rows(made, "topic", "titles"))["wool"] == 1
    assert "20scarf" in [*made["topic"]]  # a title is not percent-encoded
    assert "100" not in [*made["topic"]]
    assert made.finding == 'Most frequent: "hat" and "red" with 80% each (4 of 5 pages)'
    assert len(snapshot_of(tmp_path, *some).topics(top=1)) == 1


def test_a_word_joins_the_more_frequent_one_with_which_it_occurs(tmp_path: Path) -> None:
    cases = [
        *[f"brand-dress-sheath-{number}" for number in range(4)],
        *[f"brand-dress-plain-{number}" for number in range(2)],
        *[f"brand-top-plain-{number}" for number in range(3)],
        *[f"brand-other{chr(97 + number)}" for number in range(11)],
    ]
    made = snapshot_of(tmp_path, *pages(*cases)).topics(top=5)
    assert dict(rows(made, "topic", "cluster")) == {
        "brand": "brand",  # on all pages: it attracts none
        "dress": "dress",
        "plain": "plain",  # 2 of 5 with dress
        "sheath": "dress",
        "top": "plain",
    }


# --- words ---


@given(st.lists(st.text(st.sampled_from("aB3-_'’%. éß\u0301中"), max_size=12), max_size=8), st.booleans())
def test_words_by_arrow_are_those_of_each_text(texts: list[str], is_encoded: bool) -> None:
    found = split_words(pa.array(texts, pa.string()), is_encoded=is_encoded)
    split = [(text, found.vocabulary[code]) for text, code in zip(found.texts, found.codes, strict=True)]
    assert split == [
        (number, word) for number, text in enumerate(texts) for word in words_of_text(text, is_encoded=is_encoded)
    ]


@pytest.mark.parametrize("letter", ["a", "é"])
def test_so_many_words_of_a_text_are_read(letter: str) -> None:
    texts = pa.array(["-".join([letter] * (MAX_TEXT_WORDS + more)) for more in (0, 1)])
    assert len(split_words(texts, is_encoded=True).codes) == 2 * MAX_TEXT_WORDS


# --- stop words ---

GERMAN = ["der-hut-und-die-maus", "das-haus-mit-der-maus", "wie-wir-sind", "nicht-ohne-den-hund", "auf-und-davon"]
FRENCH = [
    "les-chats-et-les-chiens", "pour-vous-et-nous", "avec-des-fleurs", "dans-le-jardin", "chez-nous-sous-les-arbres",
]


@pytest.mark.slow
def test_stop_words_are_those_of_the_languages_that_a_site_shows(tmp_path: Path) -> None:
    shop = [f"{word}-{number}" for word in ("hat", "car", "polo", "bra", "the") for number in range(9)]
    assert {*words(snapshot_of(tmp_path, *pages(*shop)).slug_ngrams())} == {"hat", "car", "polo", "bra"}
    german = snapshot_of(tmp_path, *pages(*GERMAN), name="german").slug_ngrams()
    assert {"hut", "maus", "haus", "hund"} <= {*words(german)}
    assert not {"der", "die", "das", "und", "mit", "nicht"} & {*words(german)}
    assert "the stop words of the languages found (de, en)" in german.rule
    french = snapshot_of(tmp_path, *pages(*FRENCH), name="french").slug_ngrams()
    assert not {"les", "et", "des", "le", "pour"} & {*words(french)}
    files = snapshot_of(tmp_path, *pages("a/index.html", "b/index.php"), name="files")
    assert "index" not in words(files.slug_ngrams())


# Words and pages -> whether German is found; "und", "nicht", "wir", "sind", "mit" are in no other list.
EVIDENCE = {
    "enough": ({"und": 9, "nicht": 1, "wir": 1, "sind": 1, "oder": 1}, 200, (), True),
    "too few pages": ({"und": 9, "nicht": 1, "wir": 1, "sind": 1, "oder": 1}, 201, (), False),
    "too few words": ({"und": 90, "nicht": 10, "wir": 10, "sind": 10}, 200, (), False),
    "a stated language": ({"und": 1, "nicht": 1}, 200, ["de-at"], True),
    "a stated language on too few pages": ({"und": 1, "nicht": 1}, 201, ["de"], False),
    "a stated language with one word": ({"und": 90}, 200, ["de"], False),
}


@pytest.mark.parametrize("case", EVIDENCE)
def test_a_language_shows_itself_by_its_own_stop_words(case: str) -> None:
    counts, count, stated, expected = EVIDENCE[case]
    stops, languages = find_stop_words(counts, count, stated)
    assert ("de" in languages) == ("der" in stops) == expected
    assert "en" in languages
    assert "the" in stops


def test_there_are_stop_words_of_twenty_languages() -> None:
    from sitemap_reader.analysis.topics import _lists

    assert sum(len(each) > 20 for each in _lists().values()) >= 20
