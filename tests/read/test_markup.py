"""Bounds of the XML driver: how much mending one entry gets, and how many names of a document are remembered."""

from __future__ import annotations

import pytest

import sitemap_reader as sr
from sitemap_reader.read.tree import Vocabulary

CURES = 8  # in one entry
NAMES = 10_000


def entry(number: int, prefixes: int) -> bytes:
    """An entry with so many prefixes that nobody has declared."""
    unbound = b"".join(b"<p%d:x/>" % prefix for prefix in range(prefixes))
    return b"<url><loc>https://example.com/%d</loc>%s</url>" % (number, unbound)


def read(*entries: bytes) -> sr.Document:
    return sr.parse(b"<urlset>" + b"".join(entries) + b"</urlset>")


def locs(document: sr.Document) -> list[str]:
    return [url.loc.removeprefix("https://example.com/") for url in document.urls]


@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize(("prefixes", "kept"), [(CURES, True), (CURES + 1, False), (300, False)])
def test_an_entry_is_mended_so_often_and_no_more(prefixes: int, kept: bool, size: int) -> None:
    """Each restart reads the entry again: without a bound the time would grow with the square of its faults."""
    body = b"<urlset>" + entry(1, 0) + entry(2, prefixes) + entry(3, 0) + b"</urlset>"
    items = list(sr.iter_parse(body[at : at + size] for at in range(0, len(body), size)))
    found = [item.loc[-1] for item in items if isinstance(item, sr.UrlRecord)]
    assert found == (["1", "2", "3"] if kept else ["1", "3"])
    (outcome,) = [item for item in items if isinstance(item, sr.Outcome)]
    assert outcome.complete is kept
    lost = [item for item in items if isinstance(item, sr.Problem) and "lost up to the next entry" in item.message]
    assert len(lost) == (0 if kept else 1)
    mends = [problem for item in items if isinstance(item, sr.UrlRecord) for problem in item.problems]
    assert len(mends) == (prefixes if kept else 0)


def test_every_entry_is_mended_as_often() -> None:
    document = read(*(entry(number, CURES) for number in range(5)))
    assert locs(document) == ["0", "1", "2", "3", "4"]
    assert [len(url.problems) for url in document.urls] == [CURES] * 5
    assert document.outcome.complete


def test_no_more_names_are_remembered_than_a_real_document_has() -> None:
    vocabulary = Vocabulary({"urn:image": "image"}, "urn:root", frozenset({"url"}))
    assert vocabulary["urn:root}loc"] == "loc"
    for number in range(2 * NAMES):
        name = f"urn:foreign}}n{number}"
        assert vocabulary[name] == name
    assert len(vocabulary) == NAMES


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("url", "url"),
        ("urn:root}url", "url"),
        ("urn:image}loc", "image:loc"),
        ("urn:foreign}url", "urn:foreign}url"),
        ("urn:root}known", "known"),
    ],
)
def test_a_name_means_the_same_when_no_more_are_remembered(name: str, tag: str) -> None:
    vocabulary = Vocabulary({"urn:image": "image"}, "urn:root", frozenset({"url"}))
    assert vocabulary["urn:root}known"] == "known"
    for number in range(NAMES):
        assert vocabulary[f"x{number}"] == f"x{number}"
    assert (vocabulary[name], vocabulary[name]) == (tag, tag)
    assert len(vocabulary) == NAMES


def test_entries_behind_very_many_names_are_read_right() -> None:
    foreign = b"".join(b'<x%d xmlns="urn:x"/>' % number for number in range(NAMES + 10))
    document = read(entry(1, 0), foreign, b'<url xmlns="urn:y"><loc>https://example.com/2</loc></url>', entry(3, 0))
    assert locs(document) == ["1", "3"]


def test_a_doctype_is_found_behind_comments_that_speak_of_one() -> None:
    """Only the DOCTYPE itself is blanked, at once: one restart a comment would take hours."""
    comments = "<!-- <!DOCTYPE a> -->\n" * 40_000
    feed = f'{comments}<!DOCTYPE rss PUBLIC "-//x" "http://dtd.example/rss.dtd">\n<rss><channel><item>'
    feed += "<link>https://example.com/1</link></item></channel></rss>"
    document = sr.parse(feed, url="https://example.com/feed.xml")
    assert [(url.loc, url.line) for url in document.urls] == [("https://example.com/1", 40_002)]
