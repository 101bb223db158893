"""JSON objects and UrlBatches become the same rows, and rows become the lines again."""

import io
import subprocess
import sys
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

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
from test_parquet import written
from tiers import examples

import sitemap_reader as sr
from sitemap_reader import Change
from sitemap_reader.model import NESTED, Attribute, ObjectColumns, UrlBatch, report
from sitemap_reader.parser import batch_of
from sitemap_reader.serialize import (
    Batches,
    Blocks,
    Fields,
    ParquetSink,
    all_fields,
    encode_urls,
    fields_of,
    in_batches,
    numbered_objects,
    parse_fields,
    row_object,
)
from sitemap_reader.serialize import arrow as room

CHANGES = fields_of(Change)
unix = pytest.mark.skipif(sys.platform == "win32", reason="there is no module resource")


def rows_of(lines: bytes, fields: Fields | None = None) -> pa.Table:
    """The table of the JSON objects of lines."""
    batches = Batches(fields or all_fields())
    for _, form in numbered_objects(io.BytesIO(lines), "made.jsonl"):
        batches.add(form)
    return through(batches)


def same(one: pa.Table | None, other: pa.Table) -> bool:
    return one is not None and one.combine_chunks().equals(other.combine_chunks())


def through(batches: Batches) -> pa.Table:
    batches.end()
    return pa.Table.from_batches(batches.take(), batches.schema)


# --- lines ---


def urls_of(file: Path) -> bytes:
    """Some files are crawl files, with other keys."""
    pairs = [(line, orjson.loads(line)) for line in file.read_bytes().splitlines(keepends=True)]
    return b"".join(line for line, form in pairs if "type" not in form and "loc" in form)


def lines_again(table: pa.Table) -> bytes:
    """The lines of the URLs in a table."""
    return b"".join(orjson.dumps(row_object(row)) + b"\n" for row in table.to_pylist())


@pytest.mark.slow
@pytest.mark.parametrize("folder", sorted({file.parent for file in CORPUS.rglob("*.jsonl")}), ids=lambda it: it.name)
def test_lines_of_the_corpus_come_back_from_their_rows(folder: Path) -> None:
    for file in sorted(folder.glob("*.jsonl")):
        assert lines_again(rows_of(urls_of(file))) == urls_of(file), file.name


@pytest.mark.slow
@given(st.lists(records, min_size=1, max_size=3))
@settings(max_examples=examples(60, 25), deadline=None)
def test_lines_of_any_records_come_back_from_their_rows(made: list[sr.UrlRecord]) -> None:
    table = rows_of(b"".join(map(sr.json_line, made)))
    assert [sr.from_json(line) for line in lines_again(table).splitlines()] == [
        sr.from_json(sr.json_line(record)) for record in made
    ]


# Characters that JSON escapes, that end a line for some readers, or that look like JSON syntax.
HOSTILE = ['"', "\\", '\\"', "a\nb\r\n", "\u2028\u2029\x85", "\x00\x1f\x7f", "🎬 世界", "\ufeff", "}\n{", '{"loc":', ""]
HOSTILE += ['Z","lastmod_precision":', '"type":"problem"', "null", "[1,2]", "2024-01-31", " "]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_comes_back_from_its_row(text: str) -> None:
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
    lines = sr.json_line(record, site=f"a{text}") * 2
    table = rows_of(lines)
    assert lines_again(table) == lines
    assert table.column("loc").to_pylist() == [text, text]


def test_numbers_come_through_to_the_last_digit() -> None:
    numbers = ["0.1", "1", "0", "-0.0", "0.30000000000000004", "1e-320", "0.1234567890123456789", "9007199254740993"]
    table = rows_of(
        b"".join(b'{"loc":"a","priority":%s,"line":9007199254740993}\n' % number.encode() for number in numbers)
    )
    assert list(map(repr, table["priority"].to_pylist())) == [repr(float(number)) for number in numbers]
    assert set(table["line"].to_pylist()) == {9007199254740993}


WRONG_DATES: dict[str, str] = {
    "without a zone": '{"lastmod":"2024-01-31T08:30:00"}',
    "a day alone": '{"lastmod":"2024-01-31"}',
    "a year that Python has not": '{"lastmod":"0000-01-31T08:30:00Z"}',
    "a date that the calendar has not": '{"lastmod":"2024-02-31T08:30:00Z"}',
    "a number": '{"lastmod":20240131}',
    "news without a zone": '{"news":{"publication_date":"2024-01-31T08:30:00"}}',
    "news of the year 0": '{"news":{"publication_date":"0000-01-31T00:00:00Z"}}',
    "a video without a zone": '{"videos":[{"expiration_date":"2024-01-31"}]}',
    "a show without a zone": '{"videos":[{"tvshow":{"premier_date":"2024-01-31"}}]}',
}


@pytest.mark.parametrize("name", WRONG_DATES)
def test_dates_that_are_no_moments_are_refused(name: str) -> None:
    with pytest.raises(sr.UsageError, match="datetime"):
        Batches(all_fields()).add({"loc": "a", **orjson.loads(WRONG_DATES[name])})


# --- changes ---


def changes_again(table: pa.Table) -> list[Change]:
    forms = ({"type": "change", **row_object(row)} for row in table.to_pylist())
    return [sr.from_json(form) for form in forms]  # type: ignore[misc]


@pytest.mark.slow
@given(st.lists(changes_of, min_size=1, max_size=3), st.sampled_from([None, "example.com", 'a"\\\n}\n{']))
@settings(max_examples=examples(60, 25), deadline=None)
def test_lines_of_any_changes_come_back_from_their_rows(made: list[Change], site: str | None) -> None:
    lines = [sr.json_line(change, site=site) for change in made]
    table = rows_of(b"".join(lines), CHANGES)
    assert changes_again(table) == [*map(sr.from_json, lines)]
    assert table["site"].to_pylist() == [site] * len(made)


@pytest.mark.parametrize("site", [None, "example.com"])
def test_changes_of_each_kind_have_their_columns(site: str | None) -> None:
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
    lines += encode_urls(batch_of(None, [whole, sr.UrlRecord("e")]), site=site, is_new=True)
    table = rows_of(lines, CHANGES)
    assert table["change"].to_pylist() == ["new", "updated", "updated", "updated", "removed", "new", "new"]
    assert table["site"].to_pylist() == [site] * 7
    assert table["previous_lastmod"].to_pylist() == [None, before, before, None, None, None, None]
    assert "type" not in table.column_names
    assert changes_again(table)[:5] == made


# --- Batches ---


def locs(batches: Batches) -> list[str]:
    return list(through(batches)["loc"].to_pylist())


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


def as_parsed(record: sr.UrlRecord) -> sr.UrlRecord:
    """A fraction of a second is in lastmods of that precision only."""
    lastmod = record.lastmod
    if lastmod and record.lastmod_precision != "subsecond":
        lastmod = lastmod.replace(microsecond=0)
    return attrs.evolve(record, lastmod=lastmod, sitemap=SITEMAP)


batched_records = st.lists(records.map(as_parsed), max_size=4).map(lambda made: batch_of(SITEMAP, made))


def in_objects(urls: UrlBatch) -> UrlBatch:
    """The same in the store of installations without a compiler."""
    store = ObjectColumns()
    for record in urls.records():
        store.append(record)
    return UrlBatch(urls.sitemap, store)


@pytest.mark.slow
@given(batched_records, st.none() | st.sampled_from(HOSTILE), st.booleans())
@settings(max_examples=examples(60, 25), deadline=None)
def test_urls_give_the_rows_of_their_records(urls: UrlBatch, site: str | None, is_new: bool) -> None:
    fields = CHANGES if is_new else all_fields()
    for batch in (urls, in_objects(urls)):
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
        urls = batch_of(SITEMAP, made)
        for batch in (urls, in_objects(urls)):
            one_by_one, at_once = Batches(parse_fields(fields)), Batches(parse_fields(fields))
            for record in batch.records():
                one_by_one.add(sr.to_dict(record, site="a.example"))
            at_once.add_urls(batch, site="a.example")
            assert through(at_once).to_pylist() == through(one_by_one).to_pylist()


@pytest.mark.parametrize("full", [1, 3, 1_000])
def test_urls_of_a_document_give_the_rows_of_their_records(full: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries with and without images alternate; one has a Problem."""
    monkeypatch.setattr(room, "BATCH_ROWS", full)
    image = "<image:image><image:loc>https://a.example/i</image:loc></image:image>"
    entries = [f"<url><loc>https://a.example/{n}</loc>{image if n % 2 else ''}</url>" for n in range(9)]
    entries[4] = entries[4].replace("</loc>", "</loc><priority>7</priority>")
    names = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
    names += 'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    body = f"<urlset {names}>{''.join(entries)}</urlset>".encode()
    parser, at_once, one_by_one = sr.SitemapParser(url=SITEMAP), Batches(all_fields()), Batches(all_fields())
    for item in chain(*parser.batches(body), *parser.closing()):
        if isinstance(item, UrlBatch):
            at_once.add_urls(item)
    for record in sr.parse(body, url=SITEMAP).urls:
        one_by_one.add(sr.to_dict(record))
    made = through(at_once)
    assert made.to_pylist() == through(one_by_one).to_pylist()
    assert len(made) == 9


def test_urls_stand_in_the_order_in_which_they_were_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "BATCH_ROWS", 2)
    batches = Batches(all_fields())
    batches.add({"loc": "1"})
    batches.add_urls(batch_of(None, [sr.UrlRecord("2"), sr.UrlRecord("3")]))
    batches.add_urls(batch_of(None, [sr.UrlRecord(each, mobile=True) for each in "456"]))
    batches.add({"loc": "7"})
    batches.add({"loc": "8"})
    batches.add_urls(batch_of(None, []))
    batches.add_urls(batch_of(None, [sr.UrlRecord("9")]))
    assert locs(batches) == list("123456789")


# --- the file ---


def test_file_written_from_urls_equals_one_from_json_objects() -> None:
    shop = (CORPUS / "sites" / "shop.jsonl").read_bytes().splitlines(keepends=True)
    made = [record for record in map(sr.from_json, shop) if isinstance(record, sr.UrlRecord)]
    stream = io.BytesIO()
    sink = ParquetSink(Blocks(stream), all_fields())
    for urls in chain.from_iterable(in_batches(made)):
        assert isinstance(urls, UrlBatch)
        plain = [not any(row) for row in zip(*map(urls.counts, NESTED), strict=True)]
        sink.write_urls(urls.only(plain), site="a.example")
        sink.write_urls(urls.only([not each for each in plain]), site="a.example")
    sink.close()
    expected = pq.read_table(io.BytesIO(written(sr.to_dict(record, site="a.example") for record in made)))
    by_place = [("sitemap", "ascending"), ("line", "ascending")]
    assert same(pq.read_table(stream).sort_by(by_place), expected.sort_by(by_place))


def test_changes_wait_as_rows_only_until_there_are_enough_for_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "BATCH_ROWS", 2)
    stream = io.BytesIO()
    sink = ParquetSink(Blocks(stream), CHANGES)
    sink.write_changes([Change("removed", sr.UrlRecord(each)) for each in "abcde"], site=None)
    assert not sink._batches.is_full
    sink.close()
    assert pq.read_table(stream)["loc"].to_pylist() == list("abcde")


def test_file_of_changes_equals_one_from_json_objects() -> None:
    urls = batch_of(SITEMAP, [sr.UrlRecord(each, sitemap=SITEMAP, mobile=each == "b") for each in "ab"])
    columns = urls.part(0, 1)
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


@pytest.mark.slow
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
