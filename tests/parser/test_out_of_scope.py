"""A URL that is kept out of scope states what it would state in scope; so do the scanner and the exact reader."""

from random import Random
from typing import Any

import attrs
import extension_documents
import feed_documents
import plain_documents
import pytest

import sitemap_reader as sr
from sitemap_reader.model import OutOfScope, UrlBatch

ELSEWHERE = "https://elsewhere.example/sitemap.xml"
SCOPE_CODES = ("U04", "U05")


def records(body: bytes, **options: Any) -> list[sr.UrlRecord]:
    """All URLs in their order, the ones out of scope without the problem that says so."""
    found: list[sr.UrlRecord] = []
    parser = sr.SitemapParser(**options)
    for items in [*parser.batches(body), *parser.closing()]:
        for item in items:
            if isinstance(item, UrlBatch):
                found += item.records()
            elif isinstance(item, OutOfScope):
                problems = tuple(each for each in item.record.problems if each.code not in SCOPE_CODES)
                found.append(attrs.evolve(item.record, problems=problems))
    return found


@pytest.mark.parametrize("documents", [plain_documents, extension_documents, feed_documents])
def test_urls_out_of_scope_state_what_they_do_in_scope(documents: Any) -> None:
    compared = 0
    for seed in range(150):
        dice = Random(seed)  # noqa: S311 - the same documents each time
        body = documents.document(dice)
        options = documents.options(dice) | {"scope": "any", "limits": sr.Limits()}
        expected = records(body, **options)
        outside = options | {"scope": "protocol", "authorities": ["https://elsewhere.example/none/"]}
        for scans in (True, False):
            kept = records(body, **outside, _keeps_out_of_scope=True, _scans=scans)
            assert sorted(map(repr, kept)) == sorted(map(repr, expected)), seed
        compared += len(expected)
    assert compared > 100
