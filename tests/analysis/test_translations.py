"""Which pages lack a language, and which languages another site has."""

from __future__ import annotations

from pathlib import Path

from recorded import pages, rows, snapshot_of

import sitemap_reader as sr

LANGUAGES = ("en", "de", "fr")


def linked(*links: tuple[str, str]) -> list[sr.UrlRecord]:
    """A page for each of the links to alternates, which all of them have."""
    alternates = tuple(sr.Alternate(language, f"https://a.example/{path}") for language, path in links)
    return [sr.UrlRecord(each.href, alternates=alternates) for each in alternates if each.href]


def test_pages_of_one_path_are_one_page(tmp_path: Path) -> None:
    paths = [f"docs/{code}/{number}" for code in LANGUAGES for number in range(8)]
    made = snapshot_of(tmp_path, *pages(*paths, "docs/en/new", "docs/fr/8", "docs/en/8")).translations()
    assert rows(made, "key", "languages", "missing", "loc") == [
        ("/docs/8", "en, fr", "de", "https://a.example/docs/fr/8"),
        ("/docs/new", "en", "de, fr", "https://a.example/docs/en/new"),
    ]
    assert made.finding == 'Without a translation: 20% (2 of 10 pages), most often into "de" (2)'
    bars = made.chart().altair.to_dict()["data"]["values"]
    assert {bar["missing"]: bar["rows"] for bar in bars} == {"de": 1, "de, fr": 1}


def test_a_host_may_state_the_language(tmp_path: Path) -> None:
    records = [page for code in ("de", "fr") for page in pages("x", "y", "z", host=f"{code}.a.example")]
    more = pages("only", host="de.a.example") + pages("x", host="shop.a.example")
    made = snapshot_of(tmp_path, *records, *more).translations()
    assert rows(made, "key", "missing", "loc") == [("/only", "fr", "https://de.a.example/only")]
    assert "Not compared: 1 page of unknown language." in made.rule


def test_links_join_pages_if_they_are_returned(tmp_path: Path) -> None:
    """A link of each page to the home page of the other language joins nothing."""
    joined = [page for name in "abcd" for page in linked(("en", f"red-{name}"), ("de", f"rot-{name}"))]
    alone = [
        sr.UrlRecord(f"https://a.example/{name}", alternates=(
            sr.Alternate("en", f"https://a.example/{name}"), sr.Alternate("de", "https://a.example/rot-a"),
        ))
        for name in ("x", "y")
    ]
    made = snapshot_of(tmp_path, *joined, *alone).translations()
    assert rows(made, "key", "languages", "missing") == [("/x", "en", "de"), ("/y", "en", "de")]
    assert made.finding == 'Without a translation: 33% (2 of 6 pages), most often into "de" (2)'


def test_several_urls_of_one_language_are_in_the_rule(tmp_path: Path) -> None:
    """Two English pages claim one French page, which lists both."""
    two = [page for name in ("red", "blue") for page in linked(("en", name), ("fr", "rouge"))]
    more = linked(("en", "green"), ("fr", "vert"))
    urls = {page.loc: page for page in two}
    rouge = urls["https://a.example/rouge"]
    both = (*rouge.alternates, sr.Alternate("en", "https://a.example/red"))
    urls[rouge.loc] = sr.UrlRecord(rouge.loc, alternates=both)
    made = snapshot_of(tmp_path, *urls.values(), *more).translations()
    assert made.finding == 'In "en" and "fr": all of 2 pages'
    assert "Each of them counts once, also 1 with several URLs in a language." in made.rule
    assert "several URLs" not in snapshot_of(tmp_path, *more, name="more").translations().rule


def test_a_chain_of_links_is_one_page(tmp_path: Path) -> None:
    def page(name: str, language: str, *others: tuple[str, str]) -> sr.UrlRecord:
        links = [(language, name), *others]
        alternates = tuple(sr.Alternate(code, f"https://a.example/{path}") for code, path in links)
        return sr.UrlRecord(f"https://a.example/{name}", alternates=alternates)

    chain = [
        page("one", "en", ("de", "eins")),
        page("eins", "de", ("en", "one"), ("fr", "un")),
        page("un", "fr", ("de", "eins")),
    ]
    made = snapshot_of(tmp_path, *chain).translations()
    assert len(made) == 0
    assert made.finding == 'In "de", "en" and "fr": all of 1 page'


def test_languages_with_other_names_for_all_pages_are_not_compared(tmp_path: Path) -> None:
    paths = [f"de/rot-{number}" for number in range(5)] + [f"fr/rouge-{number}" for number in range(5)]
    made = snapshot_of(tmp_path, *pages(*paths)).translations()
    assert len(made) == 0
    assert made.finding == "No page is known in several languages"
    assert 'Not compared: pages in "de" and "fr", of which under a tenth have the path of a page in' in made.rule


def test_small_languages_are_compared_if_they_are_named(tmp_path: Path) -> None:
    paths = [f"{code}/{number}" for code in ("de", "en") for number in range(30)] + ["fr/1"]
    some = snapshot_of(tmp_path, *pages(*paths))
    assert some.translations().finding == 'In "de" and "en": all of 30 pages'
    made = some.translations(["EN", "fr"])
    assert made.finding == 'Without a translation: 97% (29 of 30 pages), most often into "fr" (29)'
    assert {*made["missing"]} == {"fr"}


# --- languages of other sites ---


def test_a_region_is_no_language_of_its_own(tmp_path: Path) -> None:
    theirs = pages("pt/a", "pt/b", "en/a", "fr/a", "fr/b", "fr/c", "x", host="b.example")
    some = snapshot_of(tmp_path, ours=pages("pt-br/a", "pt-br/b", "en/a", "en/b"), theirs=theirs)
    languages = some.languages()
    assert rows(languages, "language", "base")[:2] == [("en", "en"), ("pt-br", "pt")]
    gaps = some.gaps("ours", "language")
    assert rows(gaps, "key", "pages", "loc") == [("fr", 3, "https://b.example/fr/a")]
    assert gaps.finding == 'Languages that no page of ours has: "fr" (3 pages)'
    assert "Not compared: 1 page of unknown language." in gaps.rule
    assert {*some.shared("ours", "language")["key"]} == {"pt", "en"}
    assert some.filter(include="/(en|pt)").gaps("ours", "language").finding == (
        "Languages that no page of ours has: none of 2 languages"
    )


# --- what most sites have ---


def test_an_overlap_names_what_is_shared_and_what_all_sites_have(tmp_path: Path) -> None:
    usual = ["", "contact-us", "privacy-policy/"]
    some = snapshot_of(tmp_path, one=pages(*usual, "x", "y", "z"), two=pages(*usual, "q", host="b.example"))
    overlap = some.overlap()
    assert rows(overlap, "shared", "usual") == [(3, 3), (3, 3)]
    assert overlap.finding == (
        "Largest overlap: one has 75% (3 of 4 paths) of two, all of them usual ones: /, /contact-us and /privacy-policy"
    )
    more = pages(*usual, "x", "y", "w", "v", "u", "t", "s", host="c.example")
    some = snapshot_of(tmp_path, one=pages(*usual, "x", "y", "z"), two=pages(*usual, host="b.example"), three=more)
    assert some.overlap().finding == (
        "Largest overlap: three has 83% (5 of 6 paths) of one: /x and /y; "
        "usual ones: /, /contact-us and /privacy-policy"
    )


def test_a_file_that_a_server_sends_for_a_folder_is_the_folder(tmp_path: Path) -> None:
    ours = pages("tea/index.html", "index.php", "de/index.html", "fr/x", "de/x")
    some = snapshot_of(tmp_path, ours=ours, theirs=pages("tea/", "", "cups/default.aspx", host="b.example"))
    assert rows(some.gaps("ours"), "key") == [("/cups",)]
    assert {*some.gaps("ours", "slug")["key"]} == {"cups"}
    assert {*some.shared("ours", "slug")["key"]} == {"tea"}
