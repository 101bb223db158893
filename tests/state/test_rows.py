"""Rows of a state: the stored fields of a URL, and the comparison of two listings."""

import hashlib
import json
import os.path
import random
import sqlite3
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import orjson
import pytest
from corpus_cases import record_of_everything
from hypothesis import given
from hypothesis import strategies as st
from tiers import needs_scanner

import sitemap_reader as sr
from sitemap_reader.frontier import History
from sitemap_reader.model import (
    CHANGEFREQS,
    EXTENSIONS,
    PRECISIONS,
    ObjectColumns,
    UrlBatch,
    lastmod_columns,
    lastmod_of,
    micros,
)
from sitemap_reader.parser import batch_of, scanner
from sitemap_reader.pipeline import SpillBuffer
from sitemap_reader.serialize import STATED, encode_urls
from sitemap_reader.state import (
    DocumentBuffer,
    DocumentChanges,
    DocumentRow,
    Listing,
    Rows,
    SiteUrls,
    StoredDocument,
    StoredRows,
    moment,
    newest_listing,
    open_temporary_state,
    pack_stated,
    record_of,
    stored_authorities,
    unpack_stated,
    url_keys,
)

SECRET = b"0123456789abcdef"
MAP = "https://a.example/map.xml"
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


def rows_of(*records: sr.UrlRecord, secret: bytes = SECRET) -> Rows:
    return Rows.of(batch_of(MAP, records), secret)


@given(dates())
def test_lastmod_round_trip(date: tuple[datetime | None, str | None]) -> None:
    assert lastmod_of(*lastmod_columns(*date)) == date


@given(st.datetimes(timezones=st.just(UTC)))
def test_instant_round_trip(when: datetime) -> None:
    assert moment(micros(when)) == when


WHOLE = record_of_everything()
NESTED = {name: getattr(WHOLE, name) for name in EXTENSIONS} | {"extras": (sr.Extra("urn:x", "a"),)}


@st.composite
def records(draw: st.DrawFn) -> sr.UrlRecord:
    """Records of which some have nested values, or another text in their loc."""
    record = draw(plain_records())
    for name in draw(st.sets(st.sampled_from([*NESTED]))):
        setattr(record, name, NESTED[name])
    if draw(st.booleans()):
        record.images = (sr.Image(draw(st.text(max_size=300)), title=draw(st.none() | st.text())),)
    record.loc += draw(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5))  # it is %00 in a URL
    return record


@needs_scanner
@given(st.lists(records(), min_size=1, max_size=6), st.binary(min_size=16, max_size=16), st.integers(0, 5))
def test_rows_are_the_same_with_and_without_the_compiled_scanner(
    given: list[sr.UrlRecord], secret: bytes, start: int
) -> None:
    objects = ObjectColumns()
    for record in given:
        objects.append(record)
    batches = batch_of(MAP, given), UrlBatch(MAP, objects)
    start = min(start, len(given) - 1)
    compiled, plain = (Rows.of(each.part(start, len(given)), secret) for each in batches)
    assert (compiled.keys, compiled.stated, compiled.nested) == (plain.keys, plain.stated, plain.nested)
    prefix = os.path.commonprefix([record.loc for record in given[start:]])  # noqa: RUF071 - of text
    assert prefix.startswith(compiled.prefix())
    assert len(prefix) - len(compiled.prefix()) <= (0 if prefix.isascii() else len(prefix))
    assert compiled.sorted(compiled.prefix()) == plain.sorted(compiled.prefix())


@needs_scanner
def test_digests_of_texts_of_all_lengths_are_those_of_hashlib() -> None:
    chance = random.Random(1)  # noqa: S311 - the same each time
    texts = ["".join(map(chr, chance.choices(range(1, 0x3000), k=length))) for length in range(1000)]
    secret = chance.randbytes(16)
    rows = rows_of(*map(sr.UrlRecord, texts), secret=secret)
    assert rows.keys == url_keys(texts, secret)
    titled = rows_of(*(sr.UrlRecord("x", images=(sr.Image("i", title=text),)) for text in texts))
    for text, nested in zip(texts, titled.nested or (), strict=True):
        values = [{"loc": "i", "title": text, "caption": None, "geo_location": None, "license": None}]
        digest = hashlib.blake2b(orjson.dumps(values), digest_size=6).digest()
        assert nested == f"{EXTENSIONS['images'].state_code}{b64encode(digest).decode()}"


@given(st.lists(plain_records(), min_size=1))
def test_stated_values_round_trip(given: list[sr.UrlRecord]) -> None:
    rows = rows_of(*given)
    for index, record in enumerate(given):
        back = record_of(record.loc, rows.listing(1, index), record.sitemap)
        assert attrs.evolve(back, line=record.line) == record
    # As a row holds them, and as a query returns them.
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE entry (stated NOT NULL)")
    db.executemany("INSERT INTO entry VALUES (?)", [(value,) for value in rows.stated])
    assert json.loads(db.execute("SELECT json_group_array(stated) FROM entry").fetchone()[0]) == rows.stated
    db.close()


@pytest.mark.parametrize(("date", "priority", "is_integer"), [
    ((None, None), None, True),
    ((-62_135_596_800, "year"), 0.0, True),
    ((253_402_300_799, "second"), 1.0, True),
    ((253_402_300_799_999_000, "subsecond"), 0.29, True),
    ((-62_135_596_800_000_000, "subsecond"), 0.07, True),
    ((1_700_000_000_000_001, "subsecond"), 0.5, False),
    ((1_700_000_000, "second"), 0.125, False),
])
def test_usual_values_are_integers(
    date: tuple[int | None, str | None], priority: float | None, is_integer: bool
) -> None:
    precision = None if date[1] is None else PRECISIONS.index(date[1])
    packed = pack_stated(date[0], precision, 6, priority)
    record = sr.UrlRecord("x", *lastmod_of(date[0], precision), CHANGEFREQS[6], priority)
    assert rows_of(record).stated == [packed]
    assert unpack_stated(packed) == (date[0], precision, 6, priority)
    assert isinstance(packed, int) is is_integer
    assert not isinstance(packed, int) or -(2**63) <= packed < 2**63


@given(st.lists(records(), min_size=1, unique_by=lambda record: record.loc), st.integers(1, 3))
def test_rows_are_stored_as_they_are(given: list[sr.UrlRecord], most: int) -> None:
    """In the order of their keys, so that they go to the end of the table."""
    document = DocumentInState()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sitemap_reader.state.urls._ROWS_AT_ONCE", most)
        _, diff = document.read(given)
    rows = rows_of(*given)
    assert rows.sorted("")[:: 4 if rows.nested else 3] == sorted(rows.keys)
    stored = {key: values for key, *values in document.db.execute("SELECT key, stated, nested, loc FROM entry")}
    nested = rows.nested or [None] * len(given)
    columns = zip(rows.keys, rows.stated, nested, [record.loc for record in given], strict=True)
    prefix = diff.prefix or ""
    assert stored == {key: [stated, digests, loc[len(prefix) :]] for key, stated, digests, loc in columns}
    document.db.close()


@needs_scanner
def test_columns_of_another_length_are_refused() -> None:
    assert scanner is not None
    store: Any = batch_of(MAP, [sr.UrlRecord("x"), sr.UrlRecord("y")]).store
    with pytest.raises(ValueError, match="not one value for each of 2 keys"):
        scanner.sorted_rows(store, 0, [2, 1], [1], None, 0)
    with pytest.raises(IndexError, match="URLs 1 to 3 of 2"):
        scanner.sorted_rows(store, 1, [2, 1], [1, 2], None, 0)
    with pytest.raises(OverflowError):
        scanner.sorted_rows(store, 0, [2**63], [1], None, 0)
    with pytest.raises(ValueError, match="16 bytes, not 3"):
        scanner.row_columns(store, 0, 2, b"xyz")


@given(st.lists(plain_records(), min_size=1), st.none() | st.just("a.example"))
def test_the_lines_of_new_urls_are_those_of_their_changes(given: list[sr.UrlRecord], site: str | None) -> None:
    expected = b"".join(sr.json_line(sr.Change("new", record), site=site) for record in given)
    assert encode_urls(batch_of(MAP, given), site=site, is_new=True) == expected


def listing(**fields: object) -> Listing:
    record = sr.UrlRecord("https://a.example/", **fields)  # type: ignore[arg-type]
    return rows_of(record).listing(1, 0)


DAY = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("name", STATED)
def test_every_field_that_a_site_states_makes_a_difference(name: str) -> None:
    values: dict[str, object] = {
        "lastmod": DAY, "lastmod_precision": "day", "changefreq": "daily", "priority": 0.5, **NESTED,
    }
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
    one, other = (url_keys(urls, secret) for secret in (b"0123456789abcdef", b"fedcba9876543210"))
    assert len({*one, *other}) == 2000
    assert url_keys(urls, SECRET) == one


@pytest.mark.parametrize("module", [scanner, None])
def test_rows_of_a_document_are_compared_with_its_urls(monkeypatch: pytest.MonkeyPatch, module: object) -> None:
    records = [sr.UrlRecord(f"https://a.example/{number}") for number in range(5)]
    urls = attrs.evolve(rows_of(*records), stated=[1, 2, 3, 4, 5], nested=[None, "0a", "0a", None, None])
    plain = attrs.evolve(urls, nested=None)
    monkeypatch.setattr("sitemap_reader.state.rows.scanner", module)
    keys = urls.keys
    stored = StoredRows.of([*keys[:4], 7], [1, 2, 3, 9, 7], [None, "0a", "0b", None, None])
    assert stored.differences(urls) == ([False, False, True, True, True], 4)
    assert stored.differences(plain) == ([False, True, True, True, True], 4)
    assert StoredRows.of(keys, [1, 2, 3, 4, 5], [None] * 5).differences(plain) == ([False] * 5, 5)
    assert StoredRows.of(keys, [1, 2, 3, 4, 5], [None] * 5).differences(urls) == ([False, True, True, False, False], 5)


@needs_scanner
@given(st.data())
def test_many_rows_are_compared_alike_with_and_without_the_compiled_scanner(data: st.DataObject) -> None:
    keys = st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)
    rows = st.dictionaries(keys, st.tuples(st.sampled_from([1, 2, "[1]"]), st.sampled_from([None, "0a"])), max_size=30)
    listed, stored = data.draw(rows), data.draw(rows)
    (stated, nested), before = ([[pair[at] for pair in each.values()] for at in range(2)] for each in (listed, stored))
    urls = Rows(batch_of(MAP, []), [*listed], stated, nested if any(nested) else None)
    with pytest.MonkeyPatch.context() as patch:
        compiled = StoredRows.of([*stored], *before).differences(urls)
        patch.setattr("sitemap_reader.state.rows.scanner", None)
        assert StoredRows.of([*stored], *before).differences(urls) == compiled
    assert compiled == ([stored.get(key) != value for key, value in listed.items()], len(listed.keys() & stored))


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


def document_row(number: int) -> DocumentRow:
    """A document that has no URLs yet."""
    unknown = dict.fromkeys(each.name for each in attrs.fields(StoredDocument))
    known = {"url": "https://a.example/map.xml", "entries": 0}
    return DocumentRow(number, StoredDocument(**{**unknown, **known}), "", frozenset(), History())


class DocumentInState:
    """A document in a state of its own."""

    def __init__(self) -> None:
        self.db = open_temporary_state()
        self.row = document_row(1)
        self.begin()

    def begin(self) -> None:
        """A run begins."""
        self.urls = SiteUrls(self.db, 1, b"0123456789abcdef", "any", first_run=0)

    def end(self) -> None:
        """The document is known to later runs."""
        row = "INSERT INTO document (site, url, first_seen, last_seen, run) VALUES (1, ?, 0, 0, 1)"
        self.db.execute(row, (self.row.stored.url,))

    def read(self, *several: list[sr.UrlRecord]) -> tuple[list[Any], DocumentChanges]:
        """Its changes, where it lists these records, in so many pieces."""
        buffer, diff = DocumentBuffer(SpillBuffer()), DocumentChanges()
        for records in several:
            buffer.add(batch_of(MAP, records), 0)
        pieces = [*self.urls.changes(self.row, buffer, diff)]
        stored = attrs.evolve(self.row.stored, entries=self.urls.count(self.row.id))
        self.row = attrs.evolve(self.row, prefix=diff.prefix or "", stored=stored)
        return pieces, diff


@pytest.fixture
def document() -> Iterator[DocumentInState]:
    made = DocumentInState()
    yield made
    made.db.close()


@pytest.mark.slow
@given(twice())
def test_changed_rows_are_found_and_stored(pairs: list[tuple[sr.UrlRecord, sr.UrlRecord, bool]]) -> None:
    document = DocumentInState()
    before = [record for record, _, is_new in pairs if not is_new]
    if before:
        reported, diff = document.read(before)
        assert sum(len(each) for each in reported if isinstance(each, UrlBatch)) == len(before)
        assert diff.still_listed == 0
    document.end()
    document.begin()
    pieces, diff = document.read([new for _, new, _ in pairs])
    changes = [change for piece in pieces if isinstance(piece, list) for change in piece]
    differing = [new for old, new, is_new in pairs if not is_new and stated_of(old) != stated_of(new)]
    assert [change.record for change in changes] == [attrs.evolve(new, line=new.line) for new in differing]
    assert sum(len(piece) for piece in pieces if not isinstance(piece, list)) == len(pairs) - len(before)
    assert diff.still_listed == len(before)
    assert document.read([new for _, new, _ in pairs])[0] == []
    document.db.close()


@pytest.mark.parametrize("batch_urls", [1, 2])
def test_first_listing_of_a_document_wins_a_tie_for_any_stored_row(
    monkeypatch: pytest.MonkeyPatch, batch_urls: int
) -> None:
    monkeypatch.setattr("sitemap_reader.state.urls.MAX_BATCH_URLS", batch_urls)
    plain, other = sr.UrlRecord("https://a.example/", priority=0.2), sr.UrlRecord("https://a.example/", priority=0.9)
    for listed, reported in (([other, plain], [0.9]), ([plain, other], []), ([plain], []), ([other], [0.9])):
        document = DocumentInState()
        assert len(document.read([plain])[0]) == 1
        document.end()
        document.begin()
        pieces, diff = document.read(*([record] for record in listed))
        assert [change.record.priority for piece in pieces for change in piece] == reported
        assert diff.still_listed == 1
        document.db.close()


@pytest.fixture
def batch_urls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sitemap_reader.state.urls.MAX_BATCH_URLS", request.param)


@pytest.mark.parametrize("batch_urls", [1, 3], indirect=True)
@pytest.mark.usefixtures("batch_urls")
def test_large_documents_are_compared_in_batches(document: DocumentInState) -> None:
    """Only the rows of the keys of a batch are read."""
    records = [sr.UrlRecord(f"https://a.example/{number}", priority=0.5) for number in range(7)]
    assert sum(len(piece) for piece in document.read(*([record] for record in records))[0]) == 7
    again = [*records[:4], sr.UrlRecord("https://a.example/new"), records[0]]
    pieces, diff = document.read(*([record] for record in again))
    assert [piece.locs for piece in pieces] == [["https://a.example/new"]]
    assert (diff.still_listed, len(diff.listed)) == (4, 5)


@pytest.mark.parametrize("batch_urls", [1, 100], indirect=True)
@pytest.mark.usefixtures("batch_urls")
def test_an_older_listing_in_an_earlier_batch_is_no_update(document: DocumentInState) -> None:
    old, new = (sr.UrlRecord("https://a.example/x", DAY + timedelta(days=days), "day") for days in (0, 1))
    listed = [[old], [sr.UrlRecord("https://a.example/y")], [new]]
    lastmods = [lastmod for piece in document.read(*listed)[0] for lastmod in piece.lastmods]
    assert sorted(lastmods, key=str) == [micros(DAY + timedelta(days=1)) // 1_000_000, None]
    pieces, diff = document.read(*listed)
    assert pieces == []
    assert (diff.still_listed, len(diff.listed)) == (2, 2)


def stated_of(record: sr.UrlRecord) -> tuple[object, ...]:
    return rows_of(record).listing(1, 0)[1:]


@pytest.mark.parametrize(("authorities", "dropped", "stored"), [
    ((), {}, "[]"), (("b", "a"), {}, '["a","b"]'), (("a",), {"path": 1}, None),
])
def test_scope_of_a_document_is_stored_even_if_empty(authorities, dropped, stored):
    outcome = sr.Outcome("https://a.example/", authorities=authorities, dropped=dropped)
    assert stored_authorities(outcome) == stored
