"""URLs of a sitemap grouped by document, as `sitemap_filter` takes them."""

from __future__ import annotations

from scrapy_parts import items

from sitemap_reader.model.records import Outcome, UrlRecord


def record(sitemap: str, name: str) -> UrlRecord:
    return UrlRecord(loc=f"https://e.com/{name}", sitemap=sitemap)


def test_document_is_returned_at_its_end_with_all_its_urls() -> None:
    documents = items.DocumentGrouper()
    a, b, c = record("A", "1"), record("B", "1"), record("A", "2")
    assert list(documents.take([a, b])) == []
    documents.end(Outcome(url="A"))  # before the last of its records, like SummaryBuilder
    assert list(documents.take([c])) == [[a, c]]
    documents.end(Outcome(url="B"))
    documents.end(Outcome(url="empty"))
    assert list(documents.take([])) == [[b]]
    assert list(documents.rest()) == []


def test_unfinished_documents_are_returned_last() -> None:
    documents = items.DocumentGrouper()
    a, b = record("A", "1"), record("B", "1")
    assert list(documents.take([a, b])) == []
    assert sorted(documents.rest(), key=str) == [[a], [b]]
    assert list(documents.rest()) == []
