"""Damaged sitemaps with known truth: nothing is misread, losses are reported, and lxml finds no more."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from generated import DAMAGES, Damaged, damaged
from hypothesis import given, settings
from hypothesis import strategies as st
from kit import parse, without_bytes_taken
from tiers import examples, needs

import sitemap_reader as sr
from sitemap_reader.parser import Loc, clean_url

URL = "https://shop.example/sitemap.xml"
SEEDS = range(examples(25, 10))
# Elements of these namespaces are no pages, whatever their names.
EXTENSIONS = ("/schemas/sitemap-", "/1999/xhtml")

every_kind = pytest.mark.parametrize("kind", DAMAGES)


@cache
def documents(kind: str) -> list[tuple[Damaged, sr.Document]]:
    drawn = [damaged(kind, seed) for seed in SEEDS]
    return [(document, sr.parse(document.body, url=URL)) for document in drawn]


def locs(document: sr.Document) -> list[str]:
    return [url.loc for url in document.urls]


@pytest.fixture
def etree() -> Any:
    return needs("lxml.etree")


def lxml_locs(etree: Any, body: bytes) -> Iterator[str]:
    """What lxml's recovery finds, counted generously: every loc in a url, and every other one outside extensions."""
    try:
        root = etree.fromstring(body, etree.XMLParser(recover=True, resolve_entities=False))
    except etree.XMLSyntaxError:
        return
    for element in [] if root is None else root.iter("{*}loc"):
        parent = element.getparent()
        in_entry = parent is not None and parent.tag.rpartition("}")[2] == "url"
        url = clean_url("".join(element.itertext()), URL).url
        if url and (in_entry or not any(name in element.tag for name in EXTENSIONS)):
            yield url


# --- reading ---


@pytest.mark.slow
@every_kind
def test_only_listed_urls_are_returned_in_order_and_losses_are_reported(kind: str) -> None:
    for seed, (document, found) in enumerate(documents(kind)):
        listed = locs(found)
        assert listed == [url for url in document.truth if url in listed], seed
        if found.outcome.complete:
            assert listed == list(document.truth), seed
        else:
            assert any(problem.severity == "error" for problem in found.problems), seed


@pytest.mark.slow
@every_kind
def test_finds_as_much_as_lxml_recovers(kind: str, etree: Any) -> None:
    ours = sum(len(set(locs(found)) & set(document.truth)) for document, found in documents(kind))
    theirs = sum(len({*lxml_locs(etree, document.body)} & set(document.truth)) for document, _ in documents(kind))
    assert ours >= theirs


def test_clean_documents_come_out_whole_and_without_a_problem() -> None:
    for document, found in documents("nothing"):
        assert locs(found) == list(document.truth)
        assert found.outcome.complete
        assert not found.problems


@pytest.mark.slow
@given(st.sampled_from(sorted(DAMAGES)), st.integers(0, 10**6), st.integers(1, 600), st.integers(1, 8))
@settings(max_examples=examples(200), deadline=None)
def test_chunks_do_not_matter_and_no_url_is_invented(kind: str, seed: int, size: int, entries: int) -> None:
    document = damaged(kind, seed, entries)
    body = document.body
    whole = parse(body, url=URL)
    assert without_bytes_taken(parse(body, size, url=URL).items) == without_bytes_taken(whole.items)
    found = set(whole.locs)
    assert found <= set(document.truth)
    # Bytes lost from after one location to after another leave a valid entry.
    assert not whole.outcome().complete or found == set(document.truth) or kind == "hole"


# --- the damaged documents themselves ---


@every_kind
def test_truth_is_clean_urls_each_once(kind: str) -> None:
    for document in map(damaged, [kind] * 3, SEEDS):
        assert [clean_url(url) for url in document.truth] == [Loc(url) for url in document.truth]
        assert len(set(document.truth)) == 20


# With a bare DOCTYPE, entities may be declared externally: well-formed, but without a value.
@pytest.mark.parametrize("kind", sorted(DAMAGES.keys() - {"bare-doctype"}))
def test_well_formed_damaged_documents_give_the_truth(kind: str, etree: Any) -> None:
    for seed in SEEDS:
        document = damaged(kind, seed)
        try:
            etree.fromstring(document.body, etree.XMLParser(resolve_entities=False, no_network=True))
        except etree.XMLSyntaxError:
            continue
        assert list(lxml_locs(etree, document.body)) == list(document.truth)


ROOT = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
ENTRY = "<url><loc>https://shop.example/a</loc></url>"
# Tags with which the builder of entries and the tolerant parser, or that and expat, once disagreed.
TAGS = {
    "a namespace without quotes": "<uRl'xmlns=x></ul<",
    "a namespace behind a control character": "<uRl\x1bxmlns=x></ul></urlset>",
    "a namespace of a byte-order mark": '<url xmlns="\ufeff"<url</urlset>',
    "a namespace that ends in a tag": '<url xmlns="}"<url></ul></urlset>',
    "an empty namespace of a prefix": "<e\x0cxmlns:a=&#1><loc<url><loc></loc></url>",
    "a name that ends in a colon": "<\u00c4: ><loc<url><loc></loc></url>",
    "a name that is only a colon": "<\u00c4:: ><loc<url><loc></loc></url>",
    "the namespace of xmlns": '<x s=""\rxmlns:a="http://www.w3.org/2000/xmlns/"<url><loc></loc></url>',
    "the namespace of xml": '<x s=""xmlns:a="http://www.w3.org/XML/1998/namespace"><url><loc></loc></url>',
    "that in references": '<x s=""xmlns:a="http&#58;//www.w3.org/2000/xmlns/"><url><loc></loc></url>',
    "an entry with an undeclared prefix": "<url><loc>/b</loc><x:url></url></x:url><x:url><loc></x:url>",
}


@pytest.mark.parametrize("scans", [True, False])
@pytest.mark.parametrize("name", TAGS)
def test_tags_that_only_the_tolerant_parser_accepts_end_nothing(name: str, scans: bool) -> None:
    """Before the root's other entries, and as the root."""
    for body, count in ((ROOT + ENTRY + TAGS[name], 1), ("<urlset" + TAGS[name], 0)):
        found = parse(body, url=URL, scans=scans)
        assert found.locs[:count] == ["https://shop.example/a"] * count
        assert "S01" in found.codes
        assert not found.outcome().complete
