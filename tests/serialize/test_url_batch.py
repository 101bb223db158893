"""UrlBatch: what is scanned, what expat reads and records are the same, as objects, as columns and as JSON lines."""

import io
from collections.abc import Callable, Iterable
from itertools import chain, pairwise
from typing import Any, cast

import attrs
import pytest
from corpus_cases import record_of_everything
from hypothesis import given, settings
from hypothesis import strategies as st
from test_jsonl import problems, refs, urls
from tiers import examples, needs_scanner

import sitemap_reader as sr
from sitemap_reader import Change
from sitemap_reader.model import (
    EXTENSIONS,
    NESTED,
    URL_COLUMNS,
    Attribute,
    ObjectColumns,
    UrlBatch,
    UrlColumns,
    changefreq_of,
    items_of,
    joined,
    precision_of,
)
from sitemap_reader.parser import batch_of, new_columns
from sitemap_reader.serialize import Blocks, encode_changes, encode_urls, in_batches, make_sink, parse_fields

SITEMAP = "https://shop.example/sitemap.xml"
START = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" '
    'xmlns:mobile="http://www.google.com/schemas/sitemap-mobile/1.0" '
    'xmlns:xhtml="http://www.w3.org/1999/xhtml">\n'
)
SITES = (None, "shop.example", 'a"\\\n}\n{')
EXTRAS = (
    "<image:image><image:loc>https://shop.example/i.png</image:loc></image:image>",
    "<mobile:mobile/>",
    '<xhtml:link rel="alternate" hreflang="de" href="https://shop.example/de"/>',
)


def batches_of(body: str) -> list[UrlBatch]:
    parser = sr.SitemapParser(url=SITEMAP)
    items = chain.from_iterable([*parser.batches(body.encode()), *parser.closing()])
    return [item for item in items if isinstance(item, UrlBatch)]


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
    """A batch has what its records have, by record, by column and as JSON lines; so have parts of it."""
    assert len(batch) == len(records)
    assert batch.records() == records
    assert batch.locs == [record.loc for record in records]
    assert batch.datetimes == [record.lastmod for record in records]
    assert [*map(precision_of, batch.precisions)] == [record.lastmod_precision for record in records]
    assert [*map(changefreq_of, batch.changefreqs)] == [record.changefreq for record in records]
    assert (batch.priorities, batch.lines) == ([each.priority for each in records], [each.line for each in records])
    assert batch.problems == {index: record.problems for index, record in enumerate(records) if record.problems}
    for name in NESTED:
        values = [getattr(record, name) for record in records]
        items = [each if isinstance(each, tuple) else (each,) if each else () for each in values]
        assert batch.counts(name) == [*map(len, items)]
        (kind,) = (each for each in URL_COLUMNS.children if each.name == name)
        for key in (kind.children[0] if kind.kind == "list" else kind).children:
            assert batch.items(name, key.name) == [getattr(item, key.name) for item in chain(*items)]
    for site in SITES:
        lines = b"".join(sr.json_line(record, site=site) for record in records)
        assert encode_urls(batch, site=site) == lines
        lines = b"".join(sr.json_line(Change("new", record), site=site) for record in records)
        assert encode_urls(batch, site=site, is_new=True) == encode_changes(batch, site=site) == lines


TABLES = [("csv", None), ("tsv", "loc,priority,mobile,images,site"), ("jsonl", "line,loc,news,videos,problems"),
          ("csv", "loc,images.loc"), ("txt", None)]  # fmt: skip


def check_tables(batch: UrlBatch, records: list[sr.UrlRecord]) -> None:
    """A table of a batch is that of the lines of its records."""
    for format, names in TABLES:
        at_once, one_by_one = io.BytesIO(), io.BytesIO()
        fields = parse_fields(names) if names else None
        for stream, some in ((at_once, [batch]), (one_by_one, records)):
            sink = make_sink(format, Blocks(stream), fields=fields)
            for each in some:
                if isinstance(each, UrlBatch):
                    sink.write_urls(each, site="=shop")
                else:
                    sink.write(sr.to_dict(each, site="=shop"))
            sink.close()
        assert at_once.getvalue() == one_by_one.getvalue()


def check_parts(batch: UrlBatch, records: list[sr.UrlRecord]) -> None:
    check_agree(batch, records)
    if all(record.loc.isprintable() for record in records):  # a text file holds no line breaks
        check_tables(batch, records)
    half = len(records) // 2
    check_agree(batch.part(half, len(records)), records[half:])
    for mask in ([True] * len(records), [False] * len(records), [index % 2 == 0 for index in range(len(records))]):
        check_agree(batch.only(mask), [record for record, is_wanted in zip(records, mask, strict=True) if is_wanted])
    for index, record in enumerate(records):
        assert batch.record(index) == record


# --- columns ---


@pytest.mark.parametrize("reader", [pytest.param("scanner", marks=needs_scanner), "expat"])
def test_a_document_is_one_batch_whatever_its_entries_hold(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if reader == "expat":
        monkeypatch.setattr("sitemap_reader.parser.fast_path.scanner", None)
    ends = ["", EXTRAS[0], "<lastmod>Mon</lastmod>", EXTRAS[2], "<priority>7</priority>"]
    body = "".join(f"<url><loc>https://shop.example/{at}</loc>{ends[at % 5]}</url>\n" for at in range(40))
    records = read_by_expat(f"{START}{body}</urlset>")
    (batch,) = joined(batches_of(f"{START}{body}</urlset>"))
    check_parts(cast("UrlBatch", batch), records)


STORES = [ObjectColumns, pytest.param(new_columns, marks=needs_scanner, id="NativeColumns")]


def stored(records: Iterable[sr.UrlRecord], make: Callable[[], UrlColumns]) -> UrlBatch:
    store = make()
    for record in records:
        store.append(record)
    return UrlBatch(SITEMAP, store)


@pytest.mark.slow
@pytest.mark.parametrize("make", STORES)
@settings(max_examples=examples(60, 25), deadline=None)
@given(st.lists(urls, max_size=6))
def test_records_come_back_from_a_store(make: Callable[[], UrlColumns], drawn: list[sr.UrlRecord]) -> None:
    records = [of_parser(record, number) for number, record in enumerate(drawn, 1)]
    check_parts(stored(records, make), records)


@pytest.mark.parametrize("make", STORES)
def test_each_field_is_kept(make: Callable[[], UrlColumns]) -> None:
    """Also without a line, as those that feedparser finds, and with a nested value in few of them."""
    whole = record_of_everything()
    plain = sr.UrlRecord("https://shop.example/", sitemap=SITEMAP)
    values = {name: getattr(whole, name) for name in EXTENSIONS} | {
        "extras": (sr.Extra("urn:x", "a", "b", (Attribute("c", "d"),)), sr.Extra("urn:x", "e")),
        "problems": (sr.Problem("D01", "warning", "no date"),),
    }
    records = [attrs.evolve(plain, **{name: value}) for name, value in values.items()]
    check_parts(stored([plain, *records, plain], make), [plain, *records, plain])
    check_parts(stored([], make), [])


@pytest.mark.parametrize("number", [0.1, 0.29, 1 / 3, 1e-5, 1e-6, 123456.789, 1e15, 5e-324, 1.5e300, 0.1 + 0.2, 2.5e14])
def test_decimals_are_written_as_in_json(number: float) -> None:
    record = sr.UrlRecord("https://shop.example/", priority=number, videos=(sr.Video(rating=number),))
    assert encode_urls(batch_of(None, [record])) == sr.json_line(record)


@needs_scanner
def test_urls_that_a_store_does_not_have() -> None:
    batch = batch_of(None, [sr.UrlRecord("a")])
    for start, stop in ((0, 2), (2, 2), (1, 0)):
        with pytest.raises(IndexError, match="of 1"):
            batch.store.records(start, stop, None)


# --- items ---


@pytest.mark.slow
@given(
    st.lists(urls | refs | problems, max_size=8),
    st.lists(st.sampled_from([SITEMAP, None, "b"]), min_size=8, max_size=8),
)
@settings(max_examples=examples(60, 25), deadline=None)
def test_items_are_batched_in_their_order(items: list[Any], sitemaps: list[str | None]) -> None:
    items = [attrs.evolve(item, sitemap=sitemap) for item, sitemap in zip(items, sitemaps, strict=False)]
    found = [*chain.from_iterable(in_batches(items))]
    for is_problem in (False, True):  # Problems between the records of a batch are in front of it
        kept = [
            [each for each in some if isinstance(each, sr.Problem) is is_problem] for some in (items_of(found), items)
        ]
        assert kept[0] == kept[1]
    assert not any(isinstance(item, sr.UrlRecord) for item in found)
    assert all(len(batch) for batch in found if isinstance(batch, UrlBatch))
    pairs = pairwise(found)
    assert not any(
        isinstance(one, UrlBatch) and isinstance(two, UrlBatch) and one.sitemap == two.sitemap for one, two in pairs
    )
