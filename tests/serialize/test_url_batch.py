"""UrlBatch: a scanned block, records and columns agree, as objects, as columns and as JSON lines."""

from __future__ import annotations

from html import escape
from itertools import chain, pairwise
from typing import Any, get_args

import attrs
import pytest
from corpus_cases import record_of_everything
from hypothesis import given, settings
from hypothesis import strategies as st
from test_jsonl import problems, refs, urls
from tiers import examples, needs_scanner

import sitemap_reader as sr
from sitemap_reader import Change
from sitemap_reader.model import EXTENSIONS, ChangeFreq, UrlBatch, batched, unbatched
from sitemap_reader.serialize import encode_changes, encode_urls

SITEMAP = "https://shop.example/sitemap.xml"
START = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" '
    'xmlns:mobile="http://www.google.com/schemas/sitemap-mobile/1.0" '
    'xmlns:xhtml="http://www.w3.org/1999/xhtml">\n'
)
SITES = (None, "shop.example", 'a"\\\n}\n{')
paths = st.text("abcxyz/-._~", max_size=12) | st.text("abcxyz/-._~é字&'\"", max_size=12)
LASTMODS = (
    "2026-01-31", "2026-01", "2026", "2026-01-31T08:30Z", "2026-01-31T08:30:00+02:00", "2026-01-31T08:30:00.25Z",
)
EXTRAS = (
    "<image:image><image:loc>https://shop.example/i.png</image:loc></image:image>",
    "<mobile:mobile/>",
    '<xhtml:link rel="alternate" hreflang="de" href="https://shop.example/de"/>',
)


@st.composite
def entries(draw: st.DrawFn) -> str:
    """An entry of a urlset without a fault; every second one has no extension."""
    fields = {
        "lastmod": draw(st.none() | st.sampled_from(LASTMODS)),
        "changefreq": draw(st.none() | st.sampled_from(get_args(ChangeFreq))),
        "priority": draw(st.none() | st.sampled_from(["0", "0.5", "0.29", "1.0"])),
    }
    stated = "".join(f"<{name}>{value}</{name}>" for name, value in fields.items() if value is not None)
    extra = draw(st.sampled_from(["", *EXTRAS]))
    return f"<url><loc>https://shop.example/{escape(draw(paths))}</loc>{stated}{extra}</url>\n"


def items_of(body: str) -> list[Any]:
    """The items of a document, with UrlBatches."""
    parser = sr.SitemapParser(url=SITEMAP)
    return [*chain.from_iterable(parser.batches(body.encode())), *batched(parser.close())]


def batches_of(body: str) -> list[UrlBatch]:
    return [item for item in items_of(body) if isinstance(item, UrlBatch)]


def read_by_expat(body: str) -> list[sr.UrlRecord]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sitemap_reader.parser.fast_path.scanner", None)
        return sr.parse(body, url=SITEMAP).urls


def of_parser(record: sr.UrlRecord, number: int) -> sr.UrlRecord:
    """The record with a canonical loc, its line, and a lastmod that the precision allows."""
    lastmod, precision = record.lastmod, record.lastmod_precision
    if lastmod is None or precision is None:
        lastmod = precision = None
    elif precision != "subsecond":
        lastmod = lastmod.replace(microsecond=0)
    loc, dates = f"https://shop.example/{number}", {"lastmod": lastmod, "lastmod_precision": precision}
    return attrs.evolve(record, loc=loc, **dates, sitemap=SITEMAP, line=number)


def check_agree(batch: UrlBatch, records: list[sr.UrlRecord]) -> None:
    """A batch, and one of its records, are equal in all that a UrlBatch has."""
    reference = UrlBatch(batch.sitemap, records=records)
    assert len(batch) == len(reference) == len(records)
    assert batch.records() == records
    assert [*map(list, batch.columns)] == [*map(list, reference.columns)]
    assert batch.datetimes() == reference.datetimes() == [record.lastmod for record in records]
    assert batch.detailed == reference.detailed
    assert batch.detailed == {index: record for index, record in enumerate(records) if is_detailed(record)}
    for mask in ([True] * len(records), [False] * len(records), [index % 2 == 0 for index in range(len(records))]):
        wanted = [record for record, is_wanted in zip(records, mask, strict=True) if is_wanted]
        some = batch.only(mask)
        assert (some.sitemap, len(some), some.records()) == (batch.sitemap, len(wanted), wanted)
        assert [*map(list, some.columns)] == [*map(list, reference.only(mask).columns)]
        assert some.detailed == reference.only(mask).detailed


def is_detailed(record: sr.UrlRecord) -> bool:
    return any(getattr(record, name) for name in (*EXTENSIONS, "extras", "problems"))


def check_lines(batch: UrlBatch, records: list[sr.UrlRecord]) -> None:
    """The lines of a batch are those of its records."""
    for site in SITES:
        lines = b"".join(sr.json_line(record, site=site) for record in records)
        assert encode_urls(batch, site=site) == lines
        lines = b"".join(sr.json_line(Change("new", record), site=site) for record in records)
        assert encode_urls(batch, site=site, is_new=True) == encode_changes(batch, site=site) == lines


# --- the three forms ---


@pytest.mark.slow
@needs_scanner
@settings(max_examples=examples(200), deadline=None)
@given(st.lists(entries(), min_size=1, max_size=8))
def test_a_scanned_block_agrees_with_the_records_of_expat(drawn: list[str]) -> None:
    body = f"{START}{''.join(drawn)}</urlset>"
    expected, start = read_by_expat(body), 0
    found = batches_of(body)
    for batch in found:
        records = expected[start : start + len(batch)]
        check_agree(batch, records)
        check_lines(batch, records)
        if batch.is_plain:
            assert not any(map(is_detailed, records))
            check_agree(UrlBatch(SITEMAP, columns=batch.columns), records)
            check_lines(UrlBatch(SITEMAP, columns=batch.columns), records)
        start += len(batch)
    assert start == len(expected) == len(drawn)


@needs_scanner
def test_a_long_document_has_plain_blocks_and_others() -> None:
    plain = [f"<url><loc>https://shop.example/{number}</loc></url>\n" for number in range(40)]
    rich = [each.replace("</url>", f"{EXTRAS[0]}</url>") for each in plain]
    body = f"{START}{''.join(plain + rich)}</urlset>"
    found = batches_of(body)
    assert {batch.is_plain for batch in found if batch.block} == {True, False}
    assert [record for batch in found for record in batch.records()] == read_by_expat(body)


@pytest.mark.slow
@settings(max_examples=examples(60, 25), deadline=None)
@given(st.lists(urls, max_size=6))
def test_records_agree_with_their_columns(drawn: list[sr.UrlRecord]) -> None:
    records = [of_parser(record, number) for number, record in enumerate(drawn, 1)]
    batch = UrlBatch(SITEMAP, records=records)
    assert batch.records() is records
    check_agree(batch, records)
    check_lines(batch, records)
    nothing: dict[str, Any] = {name: attrs.fields_dict(sr.UrlRecord)[name].default for name in (*EXTENSIONS, "extras")}
    bare = [attrs.evolve(record, problems=(), **nothing) for record in records]
    columns = UrlBatch(SITEMAP, columns=batch.columns)
    assert columns.is_plain
    check_agree(columns, bare)
    check_lines(columns, bare)


def test_urls_without_a_line() -> None:
    """As those that feedparser finds."""
    records = [sr.UrlRecord(f"https://shop.example/{number}", sitemap=SITEMAP) for number in range(2)]
    columns = UrlBatch(SITEMAP, columns=UrlBatch(SITEMAP, records=records).columns)
    check_agree(columns, records)
    check_lines(columns, records)


def test_each_field_that_columns_lack_is_detailed() -> None:
    whole = record_of_everything()
    plain = sr.UrlRecord("https://shop.example/", sitemap=SITEMAP)
    values = {name: getattr(whole, name) for name in EXTENSIONS} | {
        "extras": (sr.Extra("urn:x", "a"),),
        "problems": (sr.Problem("D01", "warning", "no date"),),
    }
    records = [attrs.evolve(plain, **{name: value}) for name, value in values.items()]
    batch = UrlBatch(SITEMAP, records=[plain, *records, plain])
    assert batch.detailed == dict(enumerate(records, 1))
    assert not batch.is_plain


@pytest.mark.parametrize("form", ["records", "columns"])
def test_an_empty_batch(form: str) -> None:
    empty = UrlBatch(SITEMAP, records=[])
    batch = empty if form == "records" else UrlBatch(SITEMAP, columns=empty.columns)
    assert not batch
    check_agree(batch, [])
    check_lines(batch, [])


# --- items ---


@pytest.mark.slow
@given(
    st.lists(urls | refs | problems, max_size=8),
    st.lists(st.sampled_from([SITEMAP, None, "b"]), min_size=8, max_size=8),
)
@settings(max_examples=examples(60, 25), deadline=None)
def test_items_are_batched_in_their_order(items: list[Any], sitemaps: list[str | None]) -> None:
    items = [attrs.evolve(item, sitemap=sitemap) for item, sitemap in zip(items, sitemaps, strict=False)]
    found = batched(items)
    assert unbatched(items) == items
    for is_problem in (False, True):  # Problems between the records of a batch are in front of it
        kept = [
            [each for each in some if isinstance(each, sr.Problem) is is_problem] for some in (unbatched(found), items)
        ]
        assert kept[0] == kept[1]
    assert not any(isinstance(item, sr.UrlRecord) for item in found)
    for batch in found:
        if isinstance(batch, UrlBatch):
            assert len(batch)
            assert {record.sitemap for record in batch.records()} == {batch.sitemap}
    pairs = pairwise(found)
    assert not any(
        isinstance(one, UrlBatch) and isinstance(two, UrlBatch) and one.sitemap == two.sitemap for one, two in pairs
    )
    assert batched(found) == found
