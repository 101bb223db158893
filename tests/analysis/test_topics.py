"""Topics of slugs and titles, their clusters and trends, weights, and which words are none: stop words and ids."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any
from unicodedata import normalize
from urllib.parse import unquote

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import pages, rows, snapshot_of

import sitemap_reader as sr
from sitemap_reader.analysis import MAX_TEXT_WORDS, NUMBER, find_languages, split_words


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
    assert "scarf" not in [*made["topic"]]  # a title is not percent-encoded: the word is 20scarf
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


def test_topics_of_each_section(tmp_path: Path) -> None:
    """With shares, clusters and titles of the section."""
    slugs = ["hat-red", "hat-red", "hat", "cap", "cup", "mug"]
    some = [titled("blog/red-cup", "Hat"), *pages("hat", *(f"shop/{at}/{slug}" for at, slug in enumerate(slugs)))]
    made = snapshot_of(tmp_path, *some).topics(by="section", top=2)
    assert [*made.columns][:3] == ["site", "section", "topic"]
    assert rows(made, "section", "topic", "pages", "share", "titles", "cluster") == [
        ("/shop/", "hat", 3, 0.5, 0, "hat"),
        ("/shop/", "red", 2, 2 / 6, 0, "hat"),
        ("/", "hat", 1, 1.0, 0, "hat"),
        ("/blog/", "cup", 1, 1.0, 0, "cup"),
        ("/blog/", "hat", 1, 1.0, 1, "hat"),
    ]
    assert made.finding.startswith('/shop/: most frequent: "hat" with 50% (3 of 6 pages) | /: ')
    weights = {"https://a.example/shop/3/cap": 2, "https://a.example/hat": 1}
    made = snapshot_of(tmp_path, *some).topics(by="section", weights=weights)
    assert rows(made, "section", "topic", "weight", "share") == [("/shop/", "cap", 2, 1.0), ("/", "hat", 1, 1.0)]


# --- words ---


@given(st.lists(st.text(st.sampled_from("aB31-_'’%. éß\u0301中"), max_size=12), max_size=8), st.booleans())
def test_words_by_arrow_are_those_of_each_text(texts: list[str], is_encoded: bool) -> None:
    found = split_words(pa.array(texts, pa.string()), is_encoded=is_encoded)
    vocabulary = found.vocabulary.to_pylist()
    split = [(text, vocabulary[code]) for text, code in zip(found.texts, found.codes, strict=True)]
    assert split == [
        (number, NUMBER if word.isdigit() else word)
        for number, text in enumerate(texts)
        for part in re.split(r"[^\w'’\u0301]|_", normalize("NFC", (unquote(text) if is_encoded else text).lower()))
        if (word := part.strip("'’"))
    ]


@pytest.mark.parametrize("letter", ["a", "é"])
def test_so_many_words_of_a_text_are_read(letter: str) -> None:
    texts = pa.array(["-".join([letter] * (MAX_TEXT_WORDS + more)) for more in (0, 1)])
    assert len(split_words(texts, is_encoded=True).codes) == 2 * MAX_TEXT_WORDS


def counted(folder: Path, *some: str | sr.UrlRecord, **more: Any) -> dict[str, int]:
    """Topic -> pages."""
    records = [pages(each)[0] if isinstance(each, str) else each for each in some]
    return dict(rows(snapshot_of(folder, *records).topics(**more), "topic", "pages"))


def test_ids_and_numbered_words_are_no_topics(tmp_path: Path) -> None:
    names = ["iphone15", "3d", "mp3", "b2b", "2xl", "r2d2"]
    slugs = [f"film-day{number}-{name}" for number in range(1, 9) for name in names]
    slugs += [f"film-0043282a{at:02}-9f3c1a7be{at:02}d-p{1000000 + at}" for at in range(2) for _ in "ab"]
    slugs += [f"film-{number}f0e8400-e29b-41d4-a716-4466554{number}0000" for number in range(9)]
    slugs += ["film-part7", "film-part8", "film-x9999"]
    found = counted(tmp_path, *(f"{at}/{slug}" for at, slug in enumerate(slugs)))
    assert found == {"film": len(slugs), **dict.fromkeys(names, 8)}


@pytest.mark.parametrize("count", [7, 8])
def test_words_are_numbered_if_the_first_eight_numbers_occur(count: int, tmp_path: Path) -> None:
    found = counted(tmp_path, *(f"{at}/day{number}" for number in range(1, count + 1) for at in "ab"))
    assert len(found) == (7 if count == 7 else 0)


def test_the_page_of_a_folder_has_no_words(tmp_path: Path) -> None:
    assert counted(tmp_path, "a/index.html", "b/Default.aspx", "c/index-funds") == {"index": 1, "funds": 1}


def test_keywords_of_news_are_topics(tmp_path: Path) -> None:
    listed = [sr.UrlRecord(f"https://a.example/{n}", news=sr.News(keywords=("Ondo Finance", "Credit"))) for n in (1, 2)]
    made = snapshot_of(tmp_path, *listed, *pages("credit")).topics()
    expected = [("credit", 3, 1, 2), ("finance", 2, 0, 2), ("ondo", 2, 0, 2)]
    assert rows(made, "topic", "pages", "slugs", "titles") == expected
    assert "keywords of news" in made.rule


@pytest.mark.parametrize(("count", "is_repeated"), [(9, False), (10, True)])
def test_a_part_that_most_titles_have_is_left_out(count: int, is_repeated: bool, tmp_path: Path) -> None:
    """Of ten titled pages or more; of the words of one part those in other parts count."""
    titles = [f"Talk {chr(97 + number)} video - Acme - Video Transcript" for number in range(count)]
    images = [(sr.Image("i", title=title),) for title in titles]
    records = [sr.UrlRecord(f"https://a.example/?{at}", images=some) for at, some in enumerate(images)]
    made = snapshot_of(tmp_path, *records).topics()
    assert {"acme", "transcript"} & {*made["topic"]} == (set() if is_repeated else {"acme", "transcript"})
    assert dict(rows(made, "topic", "titles"))["video"] == count
    assert ('("Acme" and "Video Transcript")' in made.rule) == is_repeated


# --- stop words ---

GERMAN = ["der-hut-und-die-maus", "das-haus-mit-der-maus", "wie-wir-sind", "nicht-ohne-den-hund", "auf-und-davon"]
SHOPS = {
    "es": ["guia-de-{}-para-la-{}", "como-elegir-{}-y-{}", "las-{}-con-{}-sin-mas", "que-es-{}-y-por-que-{}"],
    "fr": ["guide-de-{}-pour-les-{}", "choisir-un-{}-et-du-{}", "une-{}-aux-{}-avec", "les-plus-{}-de-la-{}-sans"],
    "nl": ["tips-voor-{}-en-{}", "op-zoek-naar-{}-voor-uw-{}", "waarom-{}-niet-{}", "de-{}-van-het-{}-welke"],
    "it": ["guida-per-{}-e-{}", "come-scegliere-{}-per-la-{}", "{}-non-e-nel-{}", "{}-contro-{}-verso-il-piu"],
    "pt": ["guia-de-{}-para-a-{}", "escolher-{}-com-{}", "as-{}-do-{}-por-que", "{}-nao-na-{}-como"],
    "de": ["ratgeber-fuer-{}-und-{}", "die-{}-von-{}", "wie-{}-mit-{}", "{}-ohne-{}-auf-der-was"],
    "pl": ["wybrac-{}-do-{}", "dla-{}-jak-{}", "{}-w-{}-i-na", "czy-{}-jest-od-{}-dlaczego-nie"],
    "sv": ["guide-till-{}-för-{}", "väljer-{}-med-{}", "de-{}-på-{}-och", "varför-{}-inte-{}-när"],
}
CONTENT = {"guia", "guide", "guida", "tips", "zoek", "elegir", "choisir", "scegliere", "escolher", "ratgeber", "wybrac"}
CONTENT |= {"väljer"}


def shop(language: str) -> list[str]:
    words = [f"lamp{one}{other}" for one in "bcd" for other in "xyz"]
    return [form.format(one, other) for form in SHOPS[language] for one in words for other in words if one != other]


@pytest.mark.parametrize("language", SHOPS)
@pytest.mark.parametrize("stated", ["by hreflang", "in the path", "by nothing"])
def test_a_shop_has_no_stop_words_of_its_language(language: str, stated: str, tmp_path: Path) -> None:
    folder = f"{language}/" if stated == "in the path" else ""
    records = pages(*(folder + slug for slug in shop(language)))
    for record in records if stated == "by hreflang" else ():
        record.alternates = (sr.Alternate(language, record.loc),)
    found = {word for word in counted(tmp_path, *records) if not word.startswith("lamp")}
    assert found
    assert found <= CONTENT


def test_the_stop_words_of_a_page_are_those_of_its_language(tmp_path: Path) -> None:
    """A hat is no stop word on English pages, although "hat" is German, and "per" is Italian in news."""
    english = [f"en/the-hat-{at}" for at in "bcdf"]
    news = sr.News(language="it", title="Il Napoli contro la Juve, verso il derby: non è come per gli altri")
    records = [sr.UrlRecord("https://a.example/notizia/per", news=news)]
    found = counted(tmp_path, *english, *(f"de/{slug}-hat" for slug in GERMAN), *records)
    assert found["hat"] == 4
    assert {"napoli", "juve", "derby"} <= {*found}
    assert not {"der", "und", "the", "il", "contro", "verso", "non", "è", "come", "per", "gli"} & {*found}


def test_a_slug_that_is_not_translated_has_no_language(tmp_path: Path) -> None:
    """A shop with English slugs on its Dutch pages sells to men ("men" is Dutch, too)."""
    slugs = ["shirt-for-men", "men-polo", "hat"]
    found = counted(tmp_path, *(f"{language}/{slug}" for language in ("en", "nl", "de") for slug in slugs))
    assert found == {"men": 6, "shirt": 3, "polo": 3, "hat": 3}


def test_the_rule_names_languages_with_stop_words_and_without(tmp_path: Path) -> None:
    records = pages("eins", "zwei")
    for record, language in zip(records, ("de-AT", "xh"), strict=True):
        record.alternates = (sr.Alternate(language, record.loc),)
    rule = snapshot_of(tmp_path, *records).topics().rule
    assert "stop words of English and of the language of each page (de, en); of xh no stop words are known." in rule
    assert "stop words" not in snapshot_of(tmp_path, *records).topics(stop_words=False).rule


OWN = ["und", "nicht", "wir", "sind", "oder"]  # in no other list
COMMON = ["como", "para", "con", "sin", "las"]  # of Spanish and other lists
# Words and pages -> the languages.
EVIDENCE: dict[str, tuple[dict[str, int], int, list[str]]] = {
    "enough": (dict(zip(OWN, (9, 1, 1, 1, 1), strict=True)), 200, ["de"]),
    "too few pages": (dict(zip(OWN, (9, 1, 1, 1, 1), strict=True)), 201, []),
    "too few words": (dict.fromkeys(OWN[:4], 9), 200, []),
    "common words": (dict.fromkeys(COMMON, 10), 200, ["es"]),
    "common words on too few pages": (dict.fromkeys(COMMON, 10), 201, []),
    "too few common words": (dict.fromkeys(COMMON[:4], 99), 200, []),
    "English": ({"the": 9, "how": 9, "with": 9, "are": 9, "your": 9, "why": 9}, 20, []),
}


@pytest.mark.parametrize("case", EVIDENCE)
def test_a_language_shows_itself_by_its_stop_words(case: str) -> None:
    counts, count, expected = EVIDENCE[case]
    assert find_languages(counts, count) == expected


@pytest.mark.slow
def test_english_stop_words_are_no_products(tmp_path: Path) -> None:
    words = ["top", "men", "case", "ring", "research", "home", "polo", "car", "bra", "long"]
    assert counted(tmp_path, *(f"the-{word}-{at}" for word in words for at in range(9))) == dict.fromkeys(words, 9)


# --- weights ---


def test_words_by_weights_of_their_pages(tmp_path: Path) -> None:
    listed = ["shop/caf%C3%A9-red/", "hat-red", "hat", "hat-blue"]
    some = snapshot_of(tmp_path, *pages(*listed, host="www.a.example"), *pages("hat-red", host="a.example"))
    clicks = {
        "http://a.example/shop/café-red#menu": 30,
        "https://a.example/shop/caf%c3%a9-red": 10,  # the same page
        "https://www.a.example/hat-red/": 50,
        "https://a.example/hat": 10,
        "https://a.example/unknown": 7,
    }
    for stated in (clicks, pd.Series(clicks), pd.DataFrame({"Page": [*clicks], "Clicks": [*clicks.values()]})):
        made = some.topics(weights=stated)  # type: ignore[arg-type]
        assert rows(made, "topic", "weight", "share", "pages") == [
            ("red", 90, 0.9, 3), ("hat", 60, 0.6, 4), ("café", 40, 0.4, 1),
        ]
        name = "Clicks" if isinstance(stated, pd.DataFrame) else "weight"
        assert made.finding == f'Most frequent by {name}: "red" with 90% (90 of 100)'
        assert ": 3 of 4 pages with a number are listed." in made.rule
        assert ">hat<" in made.chart().to_svg()
        assert [row["_text"] for row in made.chart().altair.to_dict()["data"]["values"]] == ["90", "60", "40"]
    made = some.slug_ngrams(2, weights=clicks)
    assert rows(made, "words", "weight", "share", "pages") == [("hat red", 50, 0.5, 2), ("café red", 40, 0.4, 1)]
    none = some.topics(weights={"https://b.example/": 1})
    assert len(none) == 0
    assert none.finding == "No page with words has a weight"
    assert none["cluster"].dtype == "str"


# --- trends ---


def test_trends_are_the_words_that_rose_and_fell(tmp_path: Path) -> None:
    """Planted: "agents" from 1% to 20%, "beta" from 20% to 1%; the others occur by chance."""
    chance = Random(1)  # noqa: S311

    def published(count: int, day: datetime, often: str, rarely: str) -> list[sr.UrlRecord]:
        news = sr.News(publication_date=day, publication_date_precision="second")
        return [
            sr.UrlRecord(
                f"https://a.example/{count}-{number}/{often if number % 5 == 0 else 'x'}-"
                f"{rarely if number % 100 == 0 else 'y'}-same-{'-'.join(chance.sample(WORDS, 3))}",
                news=news,
            )
            for number in range(count)
        ]

    before, since = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)
    some = [*published(1_000, before, "beta", "agents"), *published(300, since, "agents", "beta"), *pages("undated")]
    site = snapshot_of(tmp_path, *some)
    made = site.trends("2026-06-01")
    assert rows(made, "topic", "new", "before", "new_share", "before_share") == [
        ("agents", 60, 10, 0.2, 0.01), ("beta", 3, 200, 0.01, 0.2),
    ]
    assert made["change"].to_list() == pytest.approx([0.19, -0.19])
    assert made.finding == (
        'Of 300 pages since 2026-06-01, compared with 1,000 before, more have "agents" (20%, before 1%); '
        'fewer have "beta" (1%, before 20%)'
    )
    assert "Dated as in calendar(): 1,300 by news" in made.rule
    assert "Not counted: 1 page without a date." in made.rule
    svg = made.chart().to_svg()
    assert ">+19.0 points<" in svg
    assert ">-19.0 points<" in svg
    assert [*site.trends("2026-06-01", top=1)["topic"]] == ["agents"]
    assert [*site.trends("2026-06-01", skip="agents")["topic"]] == ["beta"]
    assert site.trends("2026-06-02").finding == "No page is known to be new since 2026-06-02"
    with pytest.raises(sr.UsageError, match="the last reading was on 2026-06-15"):
        site.trends("2026-06-20")
    assert site.trends("2026-01-01").finding == "No page is known from before 2026-01-01"


WORDS = [f"word{one}{other}" for one in "abcdefghij" for other in "abcdefghij"]


def test_trends_of_an_archive_count_the_pages_of_its_first_state(tmp_path: Path) -> None:
    first, later = ([f"{word}-{chr(97 + number)}" for number in range(26)] for word in ("old", "new"))
    for day, slugs in (("2026-01-01", first), ("2026-06-01", [*first, *later])):
        snapshot_of(tmp_path, *pages(*slugs), name=day)
    made = sr.load(tmp_path / "*.jsonl", at="name").trends("2026-03-01")
    assert rows(made, "topic", "new", "before") == [("new", 26, 0), ("old", 0, 26)]
    assert "26 by first seen, 26 as listed in the first state" in made.rule


def test_translations_are_no_evidence_of_a_trend(tmp_path: Path) -> None:
    """Fifteen new pages with "agents" are one in 15 languages, or they are 15."""
    def trends(name: str, slug: Callable[[int, int], str]) -> list[str]:
        folder = tmp_path / name
        folder.mkdir()
        old = [f"{language}/{slug(number, at)}" for at, language in enumerate(LANGUAGES) for number in range(10)]
        new = [f"{language}/{slug(0, at)}-agents" for at, language in enumerate(LANGUAGES)]
        snapshot_of(folder, *pages(*old), name="2026-01-01")
        snapshot_of(folder, *pages(*old, *new), name="2026-06-01")
        return [*sr.load(folder / "*.jsonl", at="name").trends("2026-03-01")["topic"]]

    assert trends("translated", lambda number, _: f"page-{chr(97 + number)}") == []
    assert trends("different", lambda number, at: f"page-{chr(97 + number)}-{chr(97 + at)}") == ["agents"]


LANGUAGES = ["de", "fr", "es", "it", "nl", "pl", "sv", "da", "fi", "cs", "pt", "tr", "ru", "ja", "ko"]
