import gc
import io
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus_cases import CORPUS
from tiers import needs

from sitemap_reader import UsageError, schema
from sitemap_reader.serialize import (
    Blocks,
    Fields,
    ParquetSink,
    all_fields,
    arrow_schema,
    numbered_objects,
    parse_fields,
)
from sitemap_reader.serialize import arrow as batches
from sitemap_reader.serialize import arrow as room

Form = dict[str, Any]


def written(forms: Iterable[Form], fields: Fields | None = None) -> bytes:
    stream = io.BytesIO()
    sink = ParquetSink(Blocks(stream), fields or all_fields())
    write_all(sink, forms)
    sink.close()
    return stream.getvalue()


def write_all(sink: ParquetSink, forms: Iterable[Form]) -> None:
    for form in forms:
        sink.write(form)


def corpus_lines() -> list[bytes]:
    files = [CORPUS / "sites" / "shop.jsonl", *sorted((CORPUS / "extensions").glob("*.jsonl"))]
    return [line for file in files for line in file.read_bytes().splitlines() if b'"type":' not in line[:8]]


LINES = corpus_lines()
FORMS = [orjson.loads(line) for line in LINES]


# --- readers ---


def test_json_objects_round_trip() -> None:
    assert [form for _, form in numbered_objects(io.BytesIO(written(FORMS)), "urls.parquet")] == FORMS


@pytest.mark.slow
def test_polars_reads_what_it_reads_of_the_jsonl(tmp_path: Path) -> None:
    pl = needs("polars")
    declared = eval(schema("polars"), {"pl": pl})  # noqa: S307 - our own words
    usual = pl.read_ndjson(io.BytesIO(b"\n".join(LINES)), schema=declared)
    frame = pl.read_parquet(io.BytesIO(written(FORMS)))
    assert frame.schema == usual.schema
    assert frame.rows() == usual.rows()


@pytest.mark.slow
def test_duckdb_reads_what_it_reads_of_the_jsonl(tmp_path: Path) -> None:
    (tmp_path / "urls.jsonl").write_bytes(b"\n".join(LINES))
    (tmp_path / "urls.parquet").write_bytes(written(FORMS))
    duckdb = needs("duckdb")
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    columns = schema("duckdb")
    usual = f"read_json('{tmp_path}/urls.jsonl', format='newline_delimited', columns={columns})"
    ours = f"read_parquet('{tmp_path}/urls.parquet')"
    values = "loc, lastmod::TIMESTAMP, priority, line, images, alternates, news.keywords, mobile, problems, extras"
    inside = "[v.publication_date::TIMESTAMP for v in videos], [v.player_loc.value for v in videos]"
    queries = [f"SELECT {values}, {inside} FROM {table}" for table in (ours, usual)]  # noqa: S608 - our own words
    rows = [database.execute(query).fetchall() for query in queries]
    assert rows[0] == rows[1]
    assert len(rows[0]) == len(FORMS)


@pytest.mark.parametrize("fields", [None, "loc,videos.price.value,news.publication_date", "images.0"])
def test_schema_is_the_declared_one_for_any_data(fields: str | None) -> None:
    wanted = parse_fields(fields) if fields else all_fields()
    for forms in ([], FORMS[:1], FORMS):
        table = pq.read_table(io.BytesIO(written(forms, wanted)))
        assert table.schema == arrow_schema(wanted)
        assert table.num_rows == len(forms)


def test_types_are_those_of_schema_arrow() -> None:
    assert arrow_schema(all_fields()) == eval(schema("arrow"), {"pa": pa})  # noqa: S307 - our own words


def test_the_type_of_a_path_over_a_list_is_a_list() -> None:
    fields = parse_fields("images.loc,videos.price.value,videos.publication_date,images.0.loc,videos.0.price,site")
    assert arrow_schema(fields) == pa.schema([
        ("images.loc", pa.list_(pa.string())),
        ("videos.price.value", pa.list_(pa.list_(pa.float64()))),
        ("videos.publication_date", pa.list_(pa.timestamp("us", "UTC"))),
        ("images.0.loc", pa.string()),
        ("videos.0.price", arrow_schema(all_fields()).field("videos").type.value_type.field("price").type),
        ("site", pa.string()),
    ])


def test_selected_columns_hold_what_the_paths_lead_to() -> None:
    fields = parse_fields("images.loc,loc,alternates.0.hreflang,videos.price.value,lastmod")
    table = pq.read_table(io.BytesIO(written(FORMS, fields)))
    names = ["images.loc", "loc", "alternates.0.hreflang", "videos.price.value"]
    assert table.select(names).to_pylist() == [parse_fields(",".join(names)).select(form) for form in FORMS]
    assert table.column_names[-1] == "lastmod"


def test_dates_are_instants_to_the_microsecond() -> None:
    forms = [
        {"loc": "a", "lastmod": "0001-01-01T00:00:00Z"},
        {"loc": "b", "lastmod": "9999-12-31T23:59:59.999999Z"},
        {"loc": "c", "lastmod": "2024-02-29T08:30:00.25Z"},
        {"loc": "d", "lastmod": None},
        {"loc": "e", "lastmod": "2024-01-31T10:30:00+02:00"},
    ]
    table = pq.read_table(io.BytesIO(written(forms, parse_fields("lastmod"))))
    assert table.column("lastmod").to_pylist() == [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC),
        datetime(2024, 2, 29, 8, 30, 0, 250_000, UTC),
        None,
        datetime(2024, 1, 31, 8, 30, tzinfo=UTC),
    ]


# --- row groups ---


def plain(number: int) -> Form:
    return {"loc": f"https://example.com/{number}", "lastmod": "2024-01-31T08:30:00Z", "priority": 0.5, "line": number}


def test_row_groups_are_written_as_they_fill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "ROW_GROUP_ROWS", 2 * batches.BATCH_ROWS)
    stream = io.BytesIO()
    sink = ParquetSink(Blocks(stream), all_fields())
    sizes = []
    for number in range(2 * room.ROW_GROUP_ROWS + 1):
        sink.write(plain(number))
        if number % room.ROW_GROUP_ROWS == room.ROW_GROUP_ROWS - 1:
            sink.flush()
            sizes.append(len(stream.getvalue()))
    assert 0 < sizes[0] < sizes[1]
    sink.close()
    file = pq.ParquetFile(stream)
    groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
    assert [group.num_rows for group in groups] == [room.ROW_GROUP_ROWS, room.ROW_GROUP_ROWS, 1]
    assert {group.column(0).compression for group in groups} == {"ZSTD"}
    assert file.read(["line"]).column("line").to_pylist() == list(range(2 * room.ROW_GROUP_ROWS + 1))


def test_long_rows_end_a_batch_and_a_row_group_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "ROW_GROUP_BYTES", 1 << 20)
    monkeypatch.setattr(batches, "BATCH_BYTES", 1 << 18)
    forms = [{"loc": f"https://example.com/{number:0>10000}"} for number in range(300)]
    file = pq.ParquetFile(io.BytesIO(written(forms, parse_fields("loc"))))
    sizes = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    assert len(sizes) == 3
    assert max(sizes) * 10_000 < (1 << 20) + (1 << 18) + 10_000
    assert [row["loc"] for row in file.read().to_pylist()] == [form["loc"] for form in forms]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows() -> None:
    program = (
        "import resource\n"
        "from sitemap_reader.serialize.byte_streams import Blocks\n"
        "from sitemap_reader.serialize.schema import all_fields\n"
        "from sitemap_reader.serialize.arrow import ParquetSink\n"
        "class Nowhere:\n"
        "    def write(self, data): return len(data)\n"
        "    def flush(self): pass\n"
        "sink = ParquetSink(Blocks(Nowhere()), all_fields())\n"
        "for number in range(160_000):\n"
        "    images = [{'loc': f'{number}', 'title': 'x' * 200}]\n"
        "    sink.write({'loc': f'https://example.com/{number}', 'images': images})\n"
        "    if number == 60_000:\n"
        "        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "sink.close()\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    grown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert int(grown) < 16 * 1024  # KiB; 100,000 rows are some 25 MiB


# --- wrong values ---


@pytest.mark.parametrize(("key", "value", "reported"), [
    ("lastmod", "2024-01-31", "Invalid RFC3339 encoded datetime"),
    ("priority", True, "Expected `float | null`, got `bool`"),
    ("line", 2**63, "Expected `int` <= 9223372036854775807"),
    ("images", {}, "Expected `array | null`, got `object`"),
    ("news", [], "Expected `object | null`, got `array`"),
])
def test_a_value_of_another_type_is_an_error_that_names_the_key(key: str, value: Any, reported: str) -> None:
    stream = io.BytesIO()
    sink = ParquetSink(Blocks(stream), all_fields())
    sink.write({"loc": "a"})
    with pytest.raises(UsageError) as failure:
        sink.write({"loc": "b", key: value})
    assert str(failure.value).startswith(f"b: {reported} - at `$.{key}`")
    sink.write({"loc": "c"})
    sink.close()
    assert pq.read_table(stream).column("loc").to_pylist() == ["a", "c"]


@pytest.mark.parametrize(("form", "place"), [
    ({"images": [{"loc": "x"}, {"loc": 3}]}, "images[1].loc"),
    ({"videos": [{"tvshow": {"premier_date": "Mon"}}]}, "videos[0].tvshow.premier_date"),
    ({"news": {"keywords": ["a", 1]}}, "news.keywords[1]"),
])
def test_an_error_says_where_inside_of_a_value(form: Form, place: str) -> None:
    with pytest.raises(UsageError) as failure:
        written([{"loc": "b", **form}])
    assert str(failure.value).endswith(f" - at `$.{place}`")


def test_json_object_may_lack_keys_and_numbers_may_be_integers() -> None:
    forms = [{"loc": "a", "priority": 1, "images": [{"loc": "i"}], "news": {"title": None}}]
    (row,) = pq.read_table(io.BytesIO(written(forms, parse_fields("loc,priority,images.title,news")))).to_pylist()
    assert row["priority"] == 1.0
    assert row["images.title"] == [None]
    assert set(row["news"].values()) == {None}


def test_without_pyarrow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    reported = r"parquet needs pyarrow: pip install 'sitemap-reader\[parquet\]'"
    with pytest.raises(UsageError, match=reported):
        ParquetSink(Blocks(io.BytesIO()), all_fields())


# --- failures ---


class Full(io.BytesIO):
    room = 100_000

    def write(self, data: bytes) -> int:  # type: ignore[override]
        if self.room < len(data):
            raise OSError(28, "No space left on device")
        self.room -= len(data)
        return super().write(data)


@pytest.mark.slow
def test_full_disk_is_reported_and_no_footer_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "ROW_GROUP_ROWS", 2 * batches.BATCH_ROWS)
    stream = Full()
    sink = ParquetSink(Blocks(stream, "urls.parquet"), all_fields())
    forms = ({"loc": f"https://example.com/{hash(number * 1.1)}"} for number in range(10**6))
    with pytest.raises(OSError, match="No space left") as failure:
        write_all(sink, forms)
    assert failure.value.filename == "urls.parquet"
    assert failure.value.errno == 28
    stream.room = 10**9
    before = stream.getvalue()
    sink.close()
    del sink
    gc.collect()
    assert stream.getvalue() == before


def test_interrupts_are_deferred_within_pyarrow() -> None:
    """An exception in the middle of pyarrow leaves a file that cannot be closed."""
    held: list[str] = []

    @contextmanager
    def hold() -> Iterator[None]:
        held.append("")
        yield
        held.pop()
        if strikes and not held:
            strikes.pop()
            raise KeyboardInterrupt

    strikes = [1]
    stream = io.BytesIO()
    sink = ParquetSink(Blocks(stream, hold=hold), all_fields())
    with pytest.raises(KeyboardInterrupt):
        write_all(sink, map(plain, range(room.ROW_GROUP_ROWS)))
    sink.write({"loc": "after"})
    sink.close()
    *before, after = pq.read_table(stream).to_pylist()
    assert [row["line"] for row in before] == list(range(batches.BATCH_ROWS))
    assert after["loc"] == "after"
