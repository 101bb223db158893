"""Rows of a state: the stored fields of a URL, and the comparison of two listings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import attrs
import pytest
from corpus_cases import record_of_everything
from hypothesis import given
from hypothesis import strategies as st

import sitemap_reader as sr
from sitemap_reader.model.records import EXTENSIONS
from sitemap_reader.parser.fast_scanner import Columns, Entries, merged, records_of
from sitemap_reader.serialize.jsonl import STATED, Lines, json_lines, lines_of_columns, new_lines
from sitemap_reader.state.diff_rules import DocumentChanges
from sitemap_reader.state.document_buffer import DocumentBuffer, SpillBuffer
from sitemap_reader.state.documents import stored_authorities
from sitemap_reader.state.rows import (
    CHANGEFREQS,
    PRECISIONS,
    Keys,
    Listing,
    columns_of_entries,
    columns_of_records,
    entry_columns,
    lastmod_columns,
    lastmod_of,
    micros,
    moment,
    newest_listing,
    record_of,
)
from sitemap_reader.state.schema import open_temporary_state
from sitemap_reader.state.urls import ListingDocument, SiteUrls, _insert

KEYS = Keys(b"0123456789abcdef")
precisions = st.sampled_from(PRECISIONS)


@st.composite
def dates(draw: st.DrawFn) -> tuple[datetime | None, str | None]:
    """Dates of records: a fraction only with that precision."""
    if draw(st.booleans()):
        return None, None
    precision = draw(precisions)
    found = draw(st.datetimes(timezones=st.just(UTC)))
    return (found if precision == "subsecond" else found.replace(microsecond=0)), precision


@st.composite
def plain_records(draw: st.DrawFn) -> sr.UrlRecord:
    lastmod, precision = draw(dates())
    number = draw(st.integers(0, 10**6))
    return sr.UrlRecord(
        f"https://a.example/{number}",
        lastmod,
        precision,  # type: ignore[arg-type]
        draw(st.none() | st.sampled_from(CHANGEFREQS)),
        draw(st.none() | st.floats(0, 1)),
        sitemap="https://a.example/map.xml",
        line=draw(st.integers(1, 99)),
    )


def entries_of(records: list[sr.UrlRecord]) -> Entries:
    names = ("loc", "lastmod", "lastmod_precision", "changefreq", "priority", "line")
    columns = [[getattr(record, name) for record in records] for name in names]
    return Entries(Columns(*columns, None), "https://a.example/map.xml")  # type: ignore[arg-type]


@given(dates())
def test_lastmod_round_trip(date: tuple[datetime | None, str | None]) -> None:
    assert lastmod_of(*lastmod_columns(*date)) == date


@given(st.datetimes(timezones=st.just(UTC)))
def test_instant_round_trip(when: datetime) -> None:
    assert moment(micros(when)) == when


@given(st.lists(plain_records(), min_size=1))
def test_plain_entries_are_the_same_rows_as_their_records(records: list[sr.UrlRecord]) -> None:
    entries = entries_of(records)
    by_entries, by_records = columns_of_entries(entries, KEYS), columns_of_records(records, KEYS)
    for one, other in zip(by_entries, by_records, strict=True):
        assert list(one or [None] * len(records)) == list(other or [None] * len(records))
    assert [*records_of(entry_columns(by_entries), entries.sitemap)] == records
    for index, record in enumerate(records):
        back = record_of(record.loc, by_entries.listing(1, index)[1:5], record.sitemap)
        assert attrs.evolve(back, line=record.line) == record


@given(st.lists(st.lists(plain_records(), min_size=1, max_size=5), min_size=1, max_size=5))
def test_entries_are_merged_in_their_order(several: list[list[sr.UrlRecord]]) -> None:
    together = merged([entries_of(records) for records in several])
    assert [*records_of(together.columns, together.sitemap)] == [record for records in several for record in records]


@given(st.lists(plain_records(), min_size=1), st.none() | st.just("a.example"))
def test_the_lines_of_new_urls_are_those_of_their_changes(records: list[sr.UrlRecord], site: str | None) -> None:
    expected = b"".join(sr.json_line(sr.Change("new", record), site=site) for record in records)
    assert new_lines(json_lines(records), site=site).data == expected
    columns = entries_of(records).columns[:-1]
    head = '"type":"change","change":"new",'
    lines = lines_of_columns(*columns, sitemap="https://a.example/map.xml", site=site, head=head)
    assert lines.data == expected


WHOLE = record_of_everything()
NESTED = {name: getattr(WHOLE, name) for name in EXTENSIONS} | {"extras": (sr.Extra("urn:x", "a"),)}


def listing(**fields: object) -> Listing:
    record = sr.UrlRecord("https://a.example/", **fields)  # type: ignore[arg-type]
    return columns_of_records([record], KEYS).listing(1, 0)


DAY = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("name", STATED)
def test_every_field_that_a_site_states_makes_a_difference(name: str) -> None:
    values: dict[str, object] = {
        "lastmod": DAY, "lastmod_precision": "day", "changefreq": "daily", "priority": 0.5, **NESTED,
    }  # fmt: skip
    assert listing().differences(listing(**{name: values[name]})) == (name,)
    assert listing(**values).differences(listing(**values)) == ()


def test_differences_stand_in_the_order_of_a_record() -> None:
    values: dict[str, object] = {"lastmod": DAY, "lastmod_precision": "day", "changefreq": "daily", "priority": 0.5}
    assert listing().differences(listing(**values, **NESTED)) == STATED


def test_the_same_instant_in_seconds_and_in_microseconds_is_the_same_lastmod() -> None:
    one, other = (listing(lastmod=DAY, lastmod_precision=precision) for precision in ("second", "subsecond"))
    assert one.differences(other) == ("lastmod_precision",)


def test_the_newest_listing_counts_and_of_equal_ones_that_of_the_first_document() -> None:
    undated = Listing(1, None, None, None, None, None)
    hours = {number: lastmod_columns(DAY + timedelta(hours=number), "minute") for number in (2, 3)}
    day, hour = (Listing(number, *date, None, None, None) for number, date in hours.items())
    half = Listing(4, *lastmod_columns(DAY + timedelta(hours=3, microseconds=1), "subsecond"), *[None] * 3)
    assert newest_listing([undated, day, hour]) is hour
    assert newest_listing([hour, half]) is half
    assert newest_listing([hour._replace(document=9), hour, hour._replace(document=5)]) is hour


def test_keys_depend_on_a_secret() -> None:
    """A site that can compute keys could create a collision."""
    urls = [f"https://a.example/{number}" for number in range(1000)]
    one, other = (Keys(secret).digests(urls) for secret in (b"0123456789abcdef", b"fedcba9876543210"))
    assert len({*one, *other}) == 2000
    assert Keys(b"0123456789abcdef").digests(urls) == one


def test_an_unchanged_url_takes_eight_bytes() -> None:
    records = [sr.UrlRecord(f"https://a.example/{number}", priority=0.5) for number in range(3)]
    stated = columns_of_records(records, KEYS)
    buffer = DocumentBuffer(0, SpillBuffer())
    buffer.add(stated, {}, 0)
    assert (buffer.changed_urls, [*buffer.changed()]) == (0, [])
    assert [*buffer.unchanged] == [*stated.keys]
    assert buffer.stored_urls == 3


@st.composite
def twice(draw: st.DrawFn) -> list[tuple[sr.UrlRecord, sr.UrlRecord, bool]]:
    """Records, the expected change of each, and whether there are none before."""
    found = []
    for number in range(draw(st.integers(1, 8))):
        record = attrs.evolve(draw(plain_records()), loc=f"https://a.example/{number}", **draw(st.sampled_from(SOME)))
        later = draw(st.just(record) | plain_records())
        found.append((record, attrs.evolve(later, loc=record.loc), draw(st.booleans())))
    return found


SOME: list[dict[str, object]] = [{}, {"images": (sr.Image("https://a.example/i.png"),)}, {"mobile": True}]


@given(twice())
def test_sqlite_finds_changed_rows(pairs: list[tuple[sr.UrlRecord, sr.UrlRecord, bool]]) -> None:
    """All columns of a row are parameters, and are compared as JSON."""
    db = open_temporary_state()
    listed = SiteUrls(db, 1, b"0123456789abcdef", "any")
    before = [record for record, _, is_new in pairs if not is_new]
    place, seen = ListingDocument(1, "https://a.example/map.xml", "", 0), DocumentChanges()
    if before:
        buffer = DocumentBuffer(0, SpillBuffer())
        listed.add(place, buffer, before, DAY)
        assert buffer.stored_urls == 0
        reported = [*listed.changes(place, buffer, seen)]
        assert sum(each.urls for each in reported if isinstance(each, Entries | Lines)) == len(before)
    buffer, place = (
        DocumentBuffer(0, SpillBuffer()),
        attrs.evolve(place, prefix=seen.prefix or "", stored_urls=len(before)),
    )
    listed.add(place, buffer, [new for _, new, _ in pairs], DAY)
    same = [is_new is False and stated_of(old) == stated_of(new) for old, new, is_new in pairs]
    assert [*buffer.unchanged] == [
        *KEYS.digests([new.loc for (_, new, _), is_same in zip(pairs, same, strict=True) if is_same])
    ]
    changed = [new.loc for (_, new, _), is_same in zip(pairs, same, strict=True) if not is_same]
    assert [loc for stated in buffer.changed() for loc in stated.locs] == changed
    assert buffer.stored_urls == len(before)
    db.close()


def test_first_listing_of_a_document_wins_a_tie_for_any_stored_row() -> None:
    plain, other = sr.UrlRecord("https://a.example/", priority=0.2), sr.UrlRecord("https://a.example/", priority=0.9)
    for listed, reported in (([other, plain], [0.9]), ([plain, other], []), ([plain], []), ([other], [0.9])):
        for is_one_batch in (True, False):
            db = open_temporary_state()
            lists = SiteUrls(db, 1, b"0123456789abcdef", "any")
            place, buffer = ListingDocument(1, "https://a.example/map.xml", "", 0), DocumentBuffer(0, SpillBuffer())
            lists.add(place, buffer, [plain], DAY)
            seen = DocumentChanges()
            assert len([*lists.changes(place, buffer, seen)]) == 1
            told_of = "INSERT INTO document (site, url, first_seen, last_seen, run) VALUES (1, ?, 0, 0, 1)"
            db.execute(told_of, (place.sitemap,))
            lists = SiteUrls(db, 1, b"0123456789abcdef", "any")  # the next run
            place, buffer = (
                attrs.evolve(place, prefix=seen.prefix or "", stored_urls=1),
                DocumentBuffer(0, SpillBuffer()),
            )
            for some in [listed] if is_one_batch else [[record] for record in listed]:
                lists.add(place, buffer, some, DAY)
            changes = [change for piece in lists.changes(place, buffer, DocumentChanges()) for change in piece]  # type: ignore[union-attr]
            assert [change.record.priority for change in changes] == reported
            assert buffer.stored_urls == 1
            db.close()


def test_documents_of_any_size_make_few_statements() -> None:
    """SQLite caches prepared statements."""
    _insert.cache_clear()
    db = open_temporary_state()
    lists = SiteUrls(db, 1, b"0123456789abcdef", "any")
    for number, size in enumerate([1, 2, 3, 511, 512, 513, 700, 1023, 1500], 1):
        place, buffer = ListingDocument(number, "https://a.example/map.xml", "", 0), DocumentBuffer(0, SpillBuffer())
        records = [sr.UrlRecord(f"https://a.example/{number}/{page}") for page in range(size)]
        lists.add(place, buffer, records, DAY)
        assert sum(piece.urls for piece in lists.changes(place, buffer, DocumentChanges())) == size  # type: ignore[union-attr]
        assert lists.count(number) == size
    assert _insert.cache_info().currsize <= 10
    db.close()


def stated_of(record: sr.UrlRecord) -> tuple[object, ...]:
    return columns_of_records([record], KEYS).listing(1, 0)[1:]


@pytest.mark.parametrize(
    ("authorities", "dropped", "stored"),
    [((), {}, "[]"), (("b", "a"), {}, '["a","b"]'), (("a",), {"path": 1}, None)],
)
def test_scope_of_a_document_is_stored_even_if_empty(authorities, dropped, stored):
    outcome = sr.Outcome("https://a.example/", authorities=authorities, dropped=dropped)
    assert stored_authorities(outcome) == stored
