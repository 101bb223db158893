"""Lines read as one block give the same rows as one by one; lines in another form are read one by one."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import attrs
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus_cases import CORPUS
from hypothesis import given, settings
from hypothesis import strategies as st
from test_jsonl import changes as changes_of
from test_jsonl import urls as records
from tiers import examples

import sitemap_reader as sr
from sitemap_reader.model.problems import report
from sitemap_reader.model.records import Attribute, Change
from sitemap_reader.model.url_batch import UrlBatch, batched
from sitemap_reader.serialize import arrow as room
from sitemap_reader.serialize.arrow import Batches, ParquetSink, Rows, arrow_schema, lines_table
from sitemap_reader.serialize.byte_streams import Blocks
from sitemap_reader.serialize.dumps import numbered_objects
from sitemap_reader.serialize.jsonl import encode_urls
from sitemap_reader.serialize.projection import all_fields, fields_of, parse_fields

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SCHEMA = arrow_schema(all_fields())
CHANGES = fields_of(Change)
SCHEMA_OF_CHANGES = arrow_schema(CHANGES)
unix = pytest.mark.skipif(sys.platform == "win32", reason="there is no module resource")


def one_by_one(lines: bytes) -> pa.Table:
    """The table of the JSON objects read one by one: the reference."""
    rows = Rows(all_fields())
    values = [rows.row(form) for _, form in numbered_objects(io.BytesIO(lines), "made.jsonl")]
    return pa.Table.from_batches([rows.batch(values)] if values else [], SCHEMA)


def same(one: pa.Table | None, other: pa.Table) -> bool:
    return one is not None and one.combine_chunks().equals(other.combine_chunks())


def add_lines(batches: Batches, lines: bytes) -> None:
    """As a dump is read: in one block if possible, else one by one."""
    if not batches.try_lines(lines):
        for line in lines.splitlines():
            batches.add(orjson.loads(line))


def through(batches: Batches) -> pa.Table:
    batches.end()
    return pa.Table.from_batches(batches.take(), batches.schema)


# --- blocks and single lines ---


def urls_of(file: Path) -> bytes:
    """Some files are crawl files, with other keys."""
    pairs = [(line, orjson.loads(line)) for line in file.read_bytes().splitlines(keepends=True)]
    return b"".join(line for line, form in pairs if "type" not in form and "loc" in form)


@pytest.mark.parametrize("folder", sorted({file.parent for file in CORPUS.rglob("*.jsonl")}), ids=lambda it: it.name)
def test_lines_of_the_corpus_become_the_same_rows(folder: Path) -> None:
    for file in sorted(folder.glob("*.jsonl")):
        lines = urls_of(file)
        if lines:
            assert same(lines_table(lines, SCHEMA), one_by_one(lines)), file.name


@given(st.lists(records, min_size=1, max_size=3))
@settings(max_examples=examples(60, 25), deadline=None)
def test_lines_of_any_records_are_read_in_one_block(made: list[sr.UrlRecord]) -> None:
    lines = b"".join(map(sr.json_line, made))
    assert encode_urls(UrlBatch(None, records=made)) == lines
    table = lines_table(lines, SCHEMA)
    assert same(table, one_by_one(lines)) or (table is None and LOOKS_OTHERWISE.search(lines))


# Texts that look like date keys, numbers or escapes: see below.
LOOKS_OTHERWISE = re.compile(rb'"(?:publication|expiration|premier)_date"[],}]|NaN|Inf|"0000-|\\\\u')
# Characters that JSON escapes, that end a line for some readers, or that look like JSON syntax.
HOSTILE = ['"', "\\", '\\"', "a\nb\r\n", "\u2028\u2029\x85", "\x00\x1f\x7f", "🎬 世界", "\ufeff", "}\n{", '{"loc":', ""]
HOSTILE += ['Z","lastmod_precision":', '"type":"problem"', "null", "[1,2]", "2024-01-31", " "]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_read_in_one_block(text: str) -> None:
    day = datetime(2024, 1, 31, 8, 30, 0, 250_000, UTC)
    record = sr.UrlRecord(
        text,
        day,
        "subsecond",
        images=(sr.Image(text, text, text),),
        videos=(sr.Video(title=text, tag=(text, text), publication_date=day),),
        news=sr.News(title=text, keywords=(text,), publication_date=day),
        alternates=(sr.Alternate(text, text),),
        extras=(sr.Extra(text, text, text, (Attribute(text, text),)),),
        problems=(report("D01", text, field=text, raw=text),),
        sitemap=text,
    )
    lines = sr.json_line(record, site=text) * 2
    table = lines_table(lines, SCHEMA)
    assert same(table, one_by_one(lines))
    assert table.column("loc").to_pylist() == [text, text]


@pytest.mark.parametrize("text", ["a: NaN", "[Infinity", ",-Inf", "publication_date", "0000-01-01T00:00:00Z", "\\u"])
def test_text_like_numbers_or_date_keys_gives_the_same_rows(text: str) -> None:
    """Such lines may be read in a block or not; the rows must be those of the records."""
    news = sr.News(title=text, keywords=(text,), publication_date=datetime(2024, 1, 31, tzinfo=UTC))
    record = sr.UrlRecord("https://example.com/", news=news)
    lines = sr.json_line(record)
    batches, of_urls = Batches(all_fields()), Batches(all_fields())
    add_lines(batches, lines)
    of_urls.add_urls(UrlBatch(None, records=[record]))
    assert same(through(batches), one_by_one(lines))
    assert same(through(of_urls), one_by_one(lines))


def test_numbers_come_through_to_the_last_digit() -> None:
    numbers = ["0.1", "1", "0", "-0.0", "0.30000000000000004", "1e-320", "0.1234567890123456789", "9007199254740993"]
    lines = b"".join(b'{"loc":"a","priority":%s,"line":9007199254740993}\n' % number.encode() for number in numbers)
    table = lines_table(lines, SCHEMA)
    assert table is not None
    assert list(map(repr, table["priority"].to_pylist())) == [repr(float(number)) for number in numbers]
    assert set(table["line"].to_pylist()) == {9007199254740993}


def test_lines_of_several_arrow_blocks_are_one_table() -> None:
    made = (sr.UrlRecord(f"https://example.com/{number}", line=number) for number in range(30_000))
    lines = b"".join(map(sr.json_line, made))
    assert len(lines) > 2 * room._PARSED_AT_ONCE_BYTES
    assert same(lines_table(lines, SCHEMA), one_by_one(lines))


def test_line_longer_than_an_arrow_block_is_read() -> None:
    long = sr.json_line(sr.UrlRecord("https://example.com/" + "a" * 3 * room._PARSED_AT_ONCE_BYTES))
    lines = sr.json_line(sr.UrlRecord("b")) + long + sr.json_line(sr.UrlRecord("c"))
    batches = Batches(all_fields())
    add_lines(batches, lines)
    assert same(through(batches), one_by_one(lines))


# --- lines of other tools ---

A = b'{"loc":"https://example.com/a"}\n'
DATED = b'{"loc":"b","lastmod":"2024-01-31T08:30:00Z","lastmod_precision":"second"}\n'
OTHERS: dict[str, bytes] = {
    "nothing": b"",
    "no line feed at the end": A[:-1],
    "a byte order mark": b"\xef\xbb\xbf" + A,
    "a date without a zone": DATED.replace(b"00Z", b"00"),
    "a day alone": DATED.replace(b"T08:30:00Z", b""),
    "a year that Python has not": DATED.replace(b"2024", b"0000"),
    "a date that the calendar has not": DATED.replace(b"01-31", b"02-31"),
    "a date that is a number": b'{"loc":"a","lastmod":20240131,"lastmod_precision":"day"}\n',
    "a blank behind the colon, and a day": b'{"loc": "a", "lastmod": "2024-01-31", "lastmod_precision": "day"}\n',
    "a day under an escaped name": b'{"loc":"a","\\u006castmod":"2024-01-31"}\n',
    "news without a zone": b'{"loc":"a","news":{"publication_date":"2024-01-31T08:30:00",'
    b'"publication_date_precision":"second"}}\n',
    "news of the year 0": b'{"loc":"a","news":{"publication_date":"0000-01-31T00:00:00Z",'
    b'"publication_date_precision":"second"}}\n',
    "news with blanks": b'{"loc":"a","news":{"publication_date": "2024-01-31"}}\n',
    "news under an escaped name": b'{"loc":"a","news":{"\\u0070ublication_date":"2024-01-31"}}\n',
    "a video without a zone": b'{"loc":"a","videos":[{"expiration_date":"2024-01-31",'
    b'"expiration_date_precision":"day"}]}\n',
    "a show without a zone": b'{"loc":"a","videos":[{"tvshow":{"premier_date":"2024-01-31",'
    b'"premier_date_precision":"day"}}]}\n',
    "a priority that is none": b'{"loc":"a","priority":NaN}\n',
    "a priority without end": b'{"loc":"a","priority":Infinity}\n',
    "a priority below all": b'{"loc":"a","priority":-Infinity}\n',
    "a rating that is none": b'{"loc":"a","videos":[{"rating":NaN}]}\n',
    "a rating without end, behind a blank": b'{"loc":"a","videos":[{"rating": -Inf}]}\n',
    "a price that is none": b'{"loc":"a","videos":[{"price":[{"value":NaN}]}]}\n',
    "an unknown key that is no number": b'{"loc":"a","x":NaN}\n',
    "an unknown key, inside": b'{"loc":"a","x":{"y":[Inf]}}\n',
    "two objects on a line": A[:-1] + A,
    "an object over two lines": b'{"loc":"a",\n"line":1}\n',
    "an object over two lines, and two on one": A + b'{"loc":"b","news":\n{}}{"loc":"c"}\n',
    "an object that begins with a line feed": b'{\n"loc":"a"}\n',
    "bytes that are no UTF-8": b'{"loc":"\xff"}\n',
    "bytes that are no UTF-8, in an unknown key": b'{"loc":"a","x":"\xc3"}\n',
    "half a pair": b'{"loc":"\\ud800"}\n',
    "half a pair, in an unknown key": b'{"loc":"a","x":"\\ud800"}\n',
    "a line with a type": A + b'{"type":"problem","loc":"a","code":"S01"}\n',
    "a type that is escaped": b'{"loc":"a","\\u0074ype":"sitemap"}\n',
    "no loc": A + b'{"url":"a"}\n',
    "a loc that is null": A + b'{"loc":null}\n',
    "a loc that is a number": b'{"loc":5}\n',
    "a number as text": b'{"loc":"a","priority":"0.5"}\n',
    "a line number with a fraction": b'{"loc":"a","line":1.0}\n',
    "a line number of 65 bits": b'{"loc":"a","line":18446744073709551616}\n',
    "an object for a list": b'{"loc":"a","images":{}}\n',
    "a list for an object": b'{"loc":"a","news":[]}\n',
    "a number among the lines": A + b"5\n",
    "a list around them": b"[" + A[:-1] + b"]\n",
    "a comma at the end": b'{"loc":"a",}\n',
    "a line that is cut": A + b'{"loc":"b"\n',
    "a key twice": b'{"loc":"a","loc":"b"}\n',
}


@pytest.mark.parametrize("name", OTHERS)
def test_unusual_lines_are_read_one_by_one(name: str) -> None:
    assert lines_table(OTHERS[name], SCHEMA) is None
    assert lines_table(A + OTHERS[name], SCHEMA) is None or name == "nothing"


@pytest.mark.parametrize("line", [b"\n", b"  \n", b"\r\n"])
def test_blank_lines_give_no_rows(line: bytes) -> None:
    lines = A + line + A
    table = lines_table(lines, SCHEMA)
    assert table is None or same(table, one_by_one(lines))


@given(st.data())
@settings(max_examples=examples(300), deadline=None)
def test_changed_lines_are_read_as_one_by_one_or_refused(data: st.DataObject) -> None:
    """With any byte changed, removed or added a block is read as one by one, or refused."""
    lines = bytearray(SAMPLE)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        end = at + data.draw(st.integers(0, 2))
        lines[at:end] = data.draw(st.sampled_from([b"", b'"', b",", b"\n", b" ", b"}", b"{", b"Z", b"0", b"NaN", b":"]))
    table = lines_table(bytes(lines), SCHEMA)
    if table is not None:
        assert same(table, one_by_one(bytes(lines)))


SAMPLE = DATED + sr.json_line(
    sr.UrlRecord(
        "c",
        priority=0.5,
        images=(sr.Image("i"),),
        videos=(sr.Video(rating=1.5, publication_date=datetime(2024, 1, 31, tzinfo=UTC)),),
        line=3,
    )
)


# --- changes ---


def changes_one_by_one(lines: bytes) -> pa.Table:
    rows = Rows(CHANGES)
    values = [rows.row(orjson.loads(line)) for line in lines.splitlines()]
    return pa.Table.from_batches([rows.batch(values)], SCHEMA_OF_CHANGES)


@given(st.lists(changes_of, min_size=1, max_size=3), st.sampled_from([None, "example.com", 'a"\\\n}\n{']))
@settings(max_examples=examples(60, 25), deadline=None)
def test_lines_of_any_changes_are_read_in_one_block(made: list[Change], site: str | None) -> None:
    lines = b"".join(sr.json_line(change, site=site) for change in made)
    table = lines_table(lines, SCHEMA_OF_CHANGES)
    assert same(table, changes_one_by_one(lines)) or (table is None and LOOKS_OTHERWISE.search(lines))
    batches = Batches(CHANGES)
    add_lines(batches, lines)
    assert same(through(batches), changes_one_by_one(lines))


@pytest.mark.parametrize("site", [None, "example.com"])
def test_changes_of_each_kind_are_read_in_one_block(site: str | None) -> None:
    """A removed URL has few keys, an updated one all of them."""
    day, before = datetime(2024, 1, 31, 8, 30, 0, 250_000, UTC), datetime(2023, 1, 31, tzinfo=UTC)
    video = sr.Video(title="v", publication_date=day, rating=1.5)
    whole = sr.UrlRecord("a", day, "subsecond", priority=0.5, images=(sr.Image("i"),), videos=(video,), line=3)
    made = [
        Change("new", whole),
        Change("updated", whole, ("lastmod", "priority"), before, "day"),
        Change("updated", sr.UrlRecord("b"), ("lastmod",), before, "day"),
        Change("updated", sr.UrlRecord("c", day, "second"), ("lastmod",)),
        Change("removed", sr.UrlRecord("d", sitemap="s")),
    ]
    lines = b"".join(sr.json_line(change, site=site) for change in made)
    lines += encode_urls(UrlBatch(None, records=[whole, sr.UrlRecord("e")]), site=site, is_new=True)
    table = lines_table(lines, SCHEMA_OF_CHANGES)
    assert same(table, changes_one_by_one(lines))
    assert table["change"].to_pylist() == ["new", "updated", "updated", "updated", "removed", "new", "new"]
    assert table["site"].to_pylist() == [site] * 7
    assert table["previous_lastmod"].to_pylist() == [None, before, before, None, None, None, None]
    assert "type" not in table.column_names


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_of_changes_is_read_in_one_block(text: str) -> None:
    day = datetime(2024, 1, 31, 8, 30, tzinfo=UTC)
    record = sr.UrlRecord(text, day, "second", alternates=(sr.Alternate(text, text),), sitemap=text)
    lines = sr.json_line(Change("updated", record, ("lastmod", text), day, "second"), site=text) * 2
    table = lines_table(lines, SCHEMA_OF_CHANGES)
    assert same(table, changes_one_by_one(lines))
    assert table["loc"].to_pylist() == [text, text]


CHANGE = b'{"type":"change","change":"new","loc":"a"}\n'
NO_CHANGES: dict[str, bytes] = {
    "a URL": A,
    "a URL with a date": DATED,
    "another type": b'{"type":"problem","change":"new","loc":"a"}\n',
    "a type that is null": b'{"type":null,"change":"new","loc":"a"}\n',
    "no loc": b'{"type":"change","change":"new"}\n',
    "an unknown key": b'{"type":"change","change":"new","loc":"a","x":1}\n',
    "a date before that has no zone": b'{"type":"change","change":"updated","loc":"a","previous_lastmod":'
    b'"2024-01-31T08:30:00","previous_lastmod_precision":"second"}\n',
    "a day before": b'{"type":"change","change":"updated","loc":"a","previous_lastmod":"2024-01-31",'
    b'"previous_lastmod_precision":"day"}\n',
    "a year before that Python has not": b'{"type":"change","change":"updated","loc":"a","previous_lastmod":'
    b'"0000-01-31T08:30:00Z","previous_lastmod_precision":"second"}\n',
    "two objects on a line": CHANGE[:-1] + CHANGE,
    "what changed as a text": b'{"type":"change","change":"updated","loc":"a","changed":"lastmod"}\n',
    "a priority that is none": b'{"type":"change","change":"new","loc":"a","priority":NaN}\n',
}


@pytest.mark.parametrize("name", NO_CHANGES)
def test_unusual_change_lines_are_refused(name: str) -> None:
    assert lines_table(NO_CHANGES[name], SCHEMA_OF_CHANGES) is None
    assert lines_table(CHANGE + NO_CHANGES[name], SCHEMA_OF_CHANGES) is None


def test_changes_are_not_taken_for_urls() -> None:
    assert lines_table(CHANGE, SCHEMA) is None
    assert lines_table(A + CHANGE, SCHEMA) is None


@given(st.data())
@settings(max_examples=examples(300), deadline=None)
def test_change_lines_read_in_a_block_equal_one_by_one(data: st.DataObject) -> None:
    lines = bytearray(SAMPLE_OF_CHANGES)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        end = at + data.draw(st.integers(0, 2))
        lines[at:end] = data.draw(st.sampled_from([b"", b'"', b",", b"\n", b" ", b"}", b"{", b"Z", b"0", b"NaN", b":"]))
    table = lines_table(bytes(lines), SCHEMA_OF_CHANGES)
    if table is not None:
        assert same(table, changes_one_by_one(bytes(lines)))


SAMPLE_OF_CHANGES = CHANGE + sr.json_line(
    Change(
        "updated",
        sr.UrlRecord("c", datetime(2024, 1, 31, tzinfo=UTC), "day", priority=0.5, images=(sr.Image("i"),)),
        ("lastmod", "priority"),
        datetime(2023, 1, 31, tzinfo=UTC),
        "day",
    )
)


# --- Batches ---


def locs(batches: Batches) -> list[str]:
    return list(through(batches)["loc"].to_pylist())


def test_rows_stand_in_the_order_in_which_they_were_added() -> None:
    batches = Batches(all_fields())
    batches.add({"loc": "1"})
    add_lines(batches, b'{"loc":"2"}\n')
    add_lines(batches, b'{"loc":"3"}\n')
    assert batches.try_lines(b'{"loc":"4"}\n{"loc":"5"}\n') == 2
    batches.add({"loc": "6"})
    assert batches.try_lines(b'{"loc":"no","lastmod":"2024"}\n') == 0
    add_lines(batches, b'{"loc": "7", "lastmod": "2024-01-31T10:30:00+02:00"}\n')
    batches.add({"loc": "8"})
    batches.end()
    add_lines(batches, b'{"loc":"9"}\n')
    assert locs(batches) == list("123456789")
    assert batches.take() == []


def test_json_object_that_does_not_fit_is_refused_and_others_are_kept() -> None:
    batches = Batches(all_fields())
    add_lines(batches, b'{"loc":"1"}\n')
    with pytest.raises(sr.UsageError, match=r"^2: priority: "):
        batches.add({"loc": "2", "priority": "high"})
    batches.add({"loc": "3"})
    assert locs(batches) == ["1", "3"]


@pytest.mark.parametrize("fields", ["loc", "line,loc", "loc,images,lastmod"])
def test_selected_columns_are_read_in_one_block(fields: str) -> None:
    batches = Batches(parse_fields(fields))
    assert batches.try_lines(DATED) == 1
    assert through(batches).to_pylist() == one_by_one(DATED).select(fields.split(",")).to_pylist()


def test_paths_into_columns_are_read_one_by_one() -> None:
    batches = Batches(parse_fields("loc,images.loc"))
    assert batches.try_lines(DATED) == 0
    add_lines(batches, b'{"loc":"a","images":[{"loc":"i"}]}\n')
    assert through(batches).to_pylist() == [{"loc": "a", "images.loc": ["i"]}]


def test_batch_is_full_by_rows_or_row_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, full in (("BATCH_ROWS", 3), ("BATCH_BYTES", 1_000)):
        monkeypatch.setattr(room, name, full)
    batches = Batches(all_fields())
    for number in range(3):
        assert not batches.is_full
        batches.add({"loc": str(number)})
    assert batches.is_full
    batches.end()
    assert not batches.is_full
    batches.add({"loc": "a" * 1_000})
    assert batches.is_full
    batches.end()
    assert not batches.is_full
    assert len(locs(batches)) == 4


# --- UrlBatches ---

SITEMAP = "https://a.example/map.xml"
batched_records = st.lists(records, max_size=4).map(
    lambda made: UrlBatch(SITEMAP, records=[attrs.evolve(record, sitemap=SITEMAP) for record in made])
)


@given(batched_records, st.none() | st.sampled_from(HOSTILE), st.booleans())
@settings(max_examples=examples(60, 25), deadline=None)
def test_urls_give_the_rows_of_their_records(urls: UrlBatch, site: str | None, is_new: bool) -> None:
    fields = CHANGES if is_new else all_fields()
    columns = UrlBatch(SITEMAP, columns=urls.columns)
    for batch in (urls, columns):
        one_by_one, at_once = Batches(fields), Batches(fields)
        for record in batch.records():
            one_by_one.add(sr.to_dict(Change("new", record) if is_new else record, site=site))
        at_once.add_urls(batch, site=site, is_new=is_new)
        assert same(through(at_once), through(one_by_one))


@pytest.mark.parametrize("fields", ["loc", "line,loc", "sitemap,lastmod,images", "loc,site", "loc,images.loc"])
def test_selected_columns_of_urls_are_those_of_their_records(fields: str) -> None:
    day = datetime(2024, 1, 31, tzinfo=UTC)
    plain = sr.UrlRecord("a", day, "day", sitemap=SITEMAP, line=2)
    rich = attrs.evolve(plain, images=(sr.Image("i"),))
    for made in ([plain], [rich, plain]):
        urls = UrlBatch(SITEMAP, records=made)
        for batch in (urls, UrlBatch(SITEMAP, columns=urls.columns)):
            one_by_one, at_once = Batches(parse_fields(fields)), Batches(parse_fields(fields))
            for record in batch.records():
                one_by_one.add(sr.to_dict(record, site="a.example"))
            at_once.add_urls(batch, site="a.example")
            assert through(at_once).to_pylist() == through(one_by_one).to_pylist()


def test_urls_stand_in_the_order_in_which_they_were_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "BATCH_ROWS", 2)
    batches = Batches(all_fields())
    batches.add({"loc": "1"})
    batches.add_urls(UrlBatch(None, columns=UrlBatch(None, records=[sr.UrlRecord("2"), sr.UrlRecord("3")]).columns))
    batches.add_urls(UrlBatch(None, records=[sr.UrlRecord(each, mobile=True) for each in "456"]))
    batches.add({"loc": "7"})
    assert batches.try_lines(b'{"loc":"8"}\n') == 1
    batches.add_urls(UrlBatch(None, records=[]))
    batches.add_urls(UrlBatch(None, records=[sr.UrlRecord("9")]))
    assert locs(batches) == list("123456789")


# --- the file ---


def parquet(lines: Iterable[bytes], *, at_once: bool) -> pa.Table:
    stream = io.BytesIO()
    sink = ParquetSink(Blocks(stream), all_fields())
    for line in lines:
        if not (at_once and sink.try_lines(line)):
            sink.write(orjson.loads(line))
    sink.close()
    return pq.read_table(stream)


def test_file_written_from_lines_equals_one_from_json_objects() -> None:
    shop = (CORPUS / "sites" / "shop.jsonl").read_bytes().splitlines(keepends=True)
    lines = [*shop, b'{"loc": "odd", "lastmod": "2024-01-31T10:30:00+02:00"}\n', *shop]
    assert same(parquet(lines, at_once=True), parquet(lines, at_once=False))
    assert parquet(lines, at_once=True).num_rows == 2 * len(shop) + 1


def test_file_written_from_urls_equals_one_from_json_objects() -> None:
    shop = (CORPUS / "sites" / "shop.jsonl").read_bytes().splitlines(keepends=True)
    made = [record for record in map(sr.from_json, shop) if isinstance(record, sr.UrlRecord)]
    stream = io.BytesIO()
    sink = ParquetSink(Blocks(stream), all_fields())
    for urls in batched(made):
        assert isinstance(urls, UrlBatch)
        plain = [not urls.detailed.get(index) for index in range(len(urls))]
        sink.write_urls(UrlBatch(urls.sitemap, columns=urls.only(plain).columns), site="a.example")
        sink.write_urls(urls.only([not each for each in plain]), site="a.example")
    sink.close()
    expected = parquet([sr.json_line(record, site="a.example") for record in made], at_once=False)
    by_place = [("sitemap", "ascending"), ("line", "ascending")]
    assert same(pq.read_table(stream).sort_by(by_place), expected.sort_by(by_place))


def test_file_of_changes_equals_one_from_json_objects() -> None:
    urls = UrlBatch(SITEMAP, records=[sr.UrlRecord(each, sitemap=SITEMAP, mobile=each == "b") for each in "ab"])
    columns = UrlBatch(SITEMAP, columns=UrlBatch(SITEMAP, records=urls.records()[:1]).columns)
    others = [Change("updated", urls.records()[0], ("lastmod",)), Change("removed", urls.records()[1])]
    changes = [Change("new", record) for record in (*urls.records(), *columns.records())] + others
    stream, one_by_one = io.BytesIO(), io.BytesIO()
    sink, other = ParquetSink(Blocks(stream), CHANGES), ParquetSink(Blocks(one_by_one), CHANGES)
    for piece in (urls, columns, others):
        sink.write_changes(piece, site="a.example")
    for change in changes:
        other.write(sr.to_dict(change, site="a.example"))
    for each in (sink, other):
        each.close()
    assert same(pq.read_table(stream), pq.read_table(one_by_one))
    assert pq.read_table(stream)["change"].to_pylist() == ["new", "new", "new", "updated", "removed"]


@unix
def test_memory_of_converting_does_not_grow_with_the_dump(tmp_path: Path) -> None:
    """Ten times the lines take some 60 MB more; as Python rows they would take a gigabyte."""
    program = (
        "import resource, sys\n"
        "from sitemap_reader.cli.main import main\n"
        "try:\n"
        "    main(['convert', sys.argv[1], '-o', sys.argv[1] + '.parquet', '--quiet'])\n"
        "finally:\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )

    def peak(count: int) -> int:
        file = tmp_path / f"{count}.jsonl"
        with file.open("wb") as out:
            for number in range(count):
                out.write(sr.json_line(sr.UrlRecord(f"https://example.com/{number}", sitemap="s", line=number)))
        ran = subprocess.run([sys.executable, "-c", program, file], capture_output=True, text=True, check=True)
        assert pq.read_metadata(f"{file}.parquet").num_rows == count
        return int(ran.stdout.split()[-1])

    assert peak(300_000) - peak(30_000) < 120 * 1024  # KiB
