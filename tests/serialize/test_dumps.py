"""Dumps are read back in every compression; invalid files are reported with advice."""

import gzip
import io
import json
import re
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from corpus_cases import CORPUS
from endless import Endless
from tiers import needs

import sitemap_reader as sr
from sitemap_reader import Change, schema
from sitemap_reader.model import Attribute, Price, printable, report
from sitemap_reader.serialize import DumpFile, is_dump_name, numbered_objects, open_file
from sitemap_reader.serialize import dumps as dump_lines
from sitemap_reader.serialize.byte_streams import zstd_module

SHOP = CORPUS / "sites" / "shop.jsonl"
LINES = SHOP.read_bytes()
FORMS = [json.loads(line) for line in LINES.splitlines()]
RECORDS = [sr.from_json(form) for form in FORMS]
A, B, C = (f'{{"loc":"https://example.com/{name}"}}'.encode() for name in "abc")
ZSTD = zstd_module().compress(b"\n".join([A, B, C]))
LOCS = [f"https://example.com/{name}" for name in "abc"]


def read_forms(stream: Any, name: str) -> Iterator[dict[str, Any]]:
    for _, form in numbered_objects(stream, name):
        yield form


def locs(data: bytes) -> list[str]:
    return [form["loc"] for form in read_forms(io.BytesIO(data), "old.jsonl")]


def failure(data: bytes, name: str = "old.jsonl") -> str:
    with pytest.raises(sr.UsageError) as reported:
        list(read_forms(io.BytesIO(data), name))
    return str(reported.value)


def given_before(data: bytes) -> list[str]:
    """The items before the error."""
    found: list[str] = []
    with pytest.raises(sr.UsageError):
        found.extend(form["loc"] for form in read_forms(io.BytesIO(data), "old.jsonl"))
    return found


# --- JSON lines ---


@pytest.mark.parametrize("data", [
    b"\n".join([A, B, C]),
    b"\n".join([A, B, C, b""]),
    b"\r\n".join([A, B, C, b""]),
    b"\xef\xbb\xbf" + b"\n".join([A, B, C]),
    b"\xef\xbb\xbf\n" + b"\n".join([A, B, C]),
    A + b"\n\n \n\t\r\n" + B + b"\n" + b"\xef\xbb\xbf" + C + b"\n\n",  # cat of two files
    b"  " + A + b"  \n" + B + b"\n" + C,
])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_line_ends_blank_lines_and_marks_are_harmless(data: bytes, pack: Callable[[bytes], bytes]) -> None:
    assert locs(pack(data)) == LOCS


def test_all_members_of_a_gzip_file_are_read() -> None:
    assert locs(gzip.compress(A + b"\n") + gzip.compress(B + b"\n") + gzip.compress(C)) == LOCS


@pytest.mark.parametrize("data", [b"", b"\n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_an_empty_file_has_no_lines(data: bytes) -> None:
    assert locs(data) == []


def test_every_line_is_given_with_its_number() -> None:
    data = A + b'\n\n{"type":"problem"}\n' + B
    assert list(numbered_objects(io.BytesIO(data), "x")) == [
        (1, {"loc": LOCS[0]}), (3, {"type": "problem"}), (4, {"loc": LOCS[1]}),
    ]


def test_a_type_of_null_is_none() -> None:
    assert list(read_forms(io.BytesIO(b'{"type":null,"loc":"a"}'), "x")) == [{"loc": "a"}]


class Dribble(io.RawIOBase):
    """A pipe that gives one byte at a time, and cannot seek."""

    def __init__(self, data: bytes) -> None:
        self._rest = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._rest.read(1)
        buffer[: len(data)] = data
        return len(data)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("buffered", [True, False])
def test_a_pipe_is_read_however_it_comes(pack: Callable[[bytes], bytes], buffered: bool) -> None:
    pipe: Any = Dribble(pack(b"\n".join([A, B, C])))
    assert [form["loc"] for form in read_forms(io.BufferedReader(pipe) if buffered else pipe, "stdin")] == LOCS


def test_a_line_is_given_as_soon_as_it_is_there() -> None:
    class Pipe(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            requested.append(len(buffer))
            data = A + b"\n" if len(requested) == 1 else b""
            buffer[: len(data)] = data
            return len(data)

    requested: list[int] = []
    forms = read_forms(io.BufferedReader(Pipe()), "stdin")
    assert next(forms)["loc"] == LOCS[0]
    assert len(requested) == 1


# --- invalid dumps ---

NO_DUMPS: dict[str, tuple[bytes, str]] = {
    "XML": (b'<?xml version="1.0"?>\n<urlset/>', ":1: no JSON object: '<?xml version=\"1.0\"?>'; that is XML: "
            "`sitemap-reader parse old.jsonl` reads a document"),
    "packed XML": (gzip.compress(b"<urlset/>"), ":1: no JSON object: '<urlset/>'; that is XML: "),
    "URLs": (b"https://example.com/\n", ":1: no JSON object: 'https://example.com/'; that is a list of URLs: "
             "`sitemap-reader parse old.jsonl` writes it as JSONL"),
    "CSV": (b"loc,lastmod\nhttps://example.com/,\n", ":1: no JSON object: 'loc,lastmod'; that is a table: "
            "dump to JSONL or Parquet"),
    "TSV": (b"loc\tlastmod\n", ":1: no JSON object: 'loc\\tlastmod'; that is a table: "),
    "a JSON array": (b'[{"loc":"a"}]', ":1: no JSON object: '[{\"loc\":\"a\"}]'; that is a JSON array: "
                     "`jq -c '.[]' old.jsonl` writes a line for each"),
    "JSON over several lines": (b'{\n  "loc": "a"\n}\n', ":1: no JSON object: '{'; if it is JSON over several lines, "
                                "`jq -c . old.jsonl` writes each object on one"),
    "UTF-16": ('\ufeff{"loc":"a"}\n'.encode("utf-16-le"), ":1: no JSON object: "),
    "a zstd file that is cut": (ZSTD[:-9], "the zstd file is cut"),
    "a damaged zstd file": (ZSTD[:5] + b"\xff" * 30, "the zstd file is damaged ("),
    "bzip2": (b"BZh91AY", ":1: no JSON object: "),
    "gzip in gzip": (gzip.compress(gzip.compress(A)), ":1: no JSON object: "),
    "SQLite": (b"SQLite format 3\0", ":1: no JSON object: 'SQLite format 3\\x00'; that is an SQLite database"),
    "prose": (b"hello\n", ":1: no JSON object: 'hello'; a dump has one on each line"),
    "a number behind lines": (A + b"\n\n5\n", ":3: no JSON object: '5'; a dump has one on each line"),
    "a URL behind lines": (A + b"\nhttps://example.com/\n", ":2: no JSON object: 'https://example.com/'; a dump has"),
    "two objects on a line": (A + B + b"\n", ":1: no JSON object: "),
    "no loc": (A + b'\n{"url":"a"}\n', ':2: a line without "type" is a URL, and this one has no "loc": '
               "'{\"url\":\"a\"}'"),
    "a loc that is a number": (b'{"loc":5}', ':1: a line without "type" is a URL, and this one has a "loc" that is '
                               "not text: '{\"loc\":5}'"),
    "a loc of null": (b'{"loc":null}', ':1: a line without "type" is a URL, and this one has no "loc": '),
    "a type that is a number": (b'{"type":1}', ':1: "type" is not text: '),
    "Latin-1": (A + b'\n{"loc":"\xe9"}\n', ":2: not UTF-8: '{\"loc\":\"\ufffd\"}'; if it is Latin-1, "
                "`iconv -f ISO-8859-1 -t UTF-8 old.jsonl` converts it"),
    "Latin-1 on the first line": (b'{"loc":"\xe9"}\n', ":1: not UTF-8: "),
    "a last line that is cut": (A + b"\n" + B[:-5], ":2: the last line is cut, as where a dump is stopped: "
                                "'{\"loc\":\"https://example.co'; the lines before are whole"),
    "a gzip file that is cut": (gzip.compress(b"\n".join([A, B, C]))[:-9], "the gzip file is cut"),
    "a gzip file with a wrong sum": (gzip.compress(A)[:-8] + b"\0" * 8, "the gzip file is damaged (CRC check failed"),
    "damaged gzip": (gzip.compress(A)[:10] + b"\xff" * 30, "the gzip file is damaged ("),
    "junk behind gzip": (gzip.compress(A + b"\n") + b"junk", ":2: the gzip file is damaged (Not a gzipped file"),
}


@pytest.mark.parametrize("name", NO_DUMPS)
def test_invalid_dump_is_reported_with_place_and_advice(name: str) -> None:
    data, reported = NO_DUMPS[name]
    message = failure(data)
    assert message.startswith("old.jsonl:")
    assert reported in message
    assert message.isprintable()
    assert len(message) < 300


def test_utf_16_and_other_compressions_are_reported() -> None:
    assert "that is UTF-16" in failure(NO_DUMPS["UTF-16"][0])
    for name in ("bzip2", "gzip in gzip"):
        assert "it is packed: unpack it first" in failure(NO_DUMPS[name][0])


def test_advice_for_stdin_names_a_dash() -> None:
    assert failure(b"<urlset/>", "stdin").endswith("`sitemap-reader parse -` reads a document")


@pytest.mark.parametrize("name", ["a last line that is cut", "a number behind lines", "junk behind gzip", "no loc"])
def test_lines_before_the_fault_are_returned(name: str) -> None:
    assert given_before(NO_DUMPS[name][0]) == [LOCS[0]]


def test_a_line_at_the_limit_is_read_and_one_beyond_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_lines, "MAX_LINE_BYTES", len(A) + 1)
    assert locs(A + b"\n" + B) == LOCS[:2]
    message = failure(A + b"\n " + B + b"\n")
    assert message.startswith(f"old.jsonl:2: more than {len(A) + 1} bytes without a line end: ")


def test_garbage_without_line_ends_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_lines, "MAX_LINE_BYTES", 1 << 20)

    endless: Any = Endless()
    with pytest.raises(sr.UsageError, match="more than 1,048,576 bytes without a line end"):
        next(read_forms(endless, "zero"))
    assert endless.given < 2 << 20


def test_text_mode_file_is_refused() -> None:
    stream: Any = io.StringIO("{}")
    with pytest.raises(sr.UsageError, match=r'gives text, and a dump is read as bytes: open it with "rb"'):
        list(read_forms(stream, "old.jsonl"))


def test_a_read_that_fails_names_the_file() -> None:
    class Broken(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            raise OSError(5, "Input/output error")

    broken: Any = Broken()
    with pytest.raises(sr.UsageError, match=r"^cannot read old.jsonl: Input/output error$"):
        list(read_forms(broken, "old.jsonl"))


# --- Parquet ---

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

OWN = sr.json_line(
    sr.UrlRecord(
        "https://example.com/é",
        datetime(2024, 1, 31, 8, 30, 0, 250_000, UTC),
        "subsecond",
        "daily",
        0.0,
        videos=(sr.Video(tag=("a",), live=False, price=(Price(value=1.0, currency=None, type="", resolution=None),)),),
        news=sr.News(publication_date=datetime(2024, 1, 31, tzinfo=UTC)),
        alternates=(sr.Alternate(None, "https://example.com/de"),),
        mobile=True,
        extras=(sr.Extra("urn:x", "a", "", (Attribute("b", ""),)),),
        problems=(report("D06", "odd", field="lastmod", raw="2024"),),
        sitemap="s",
        line=3,
    ),
    site="example.com",
)
DUMPED = LINES + OWN + sr.json_line(sr.UrlRecord("a"))


def by_arrow(jsonl: Path, parquet: Path) -> None:
    reader = pytest.importorskip("pyarrow.json")
    options = reader.ParseOptions(explicit_schema=eval(schema("arrow"), {"pa": pa}))  # noqa: S307
    pq.write_table(reader.read_json(jsonl, parse_options=options), parquet)


def by_duckdb(jsonl: Path, parquet: Path) -> None:
    duckdb = needs("duckdb")
    columns = schema("duckdb")
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (FROM read_json('{jsonl}', format='newline_delimited', columns={columns})) TO '{parquet}'"
        )


def by_polars(jsonl: Path, parquet: Path) -> None:
    pl = needs("polars")
    pl.read_ndjson(jsonl, schema=eval(schema("polars"), {"pl": pl})).write_parquet(parquet)  # noqa: S307


WRITERS = {"arrow": by_arrow, "duckdb": by_duckdb, "polars": by_polars}


@pytest.mark.slow
@pytest.mark.parametrize("writer", WRITERS)
def test_rows_of_parquet_are_the_lines(writer: str, tmp_path: Path) -> None:
    jsonl, parquet = tmp_path / "urls.jsonl", tmp_path / "urls.parquet"
    jsonl.write_bytes(DUMPED)
    WRITERS[writer](jsonl, parquet)
    assert list(DumpFile(parquet).dicts()) == list(DumpFile(jsonl).dicts())
    assert list(DumpFile(parquet)) == list(DumpFile(jsonl))
    assert sr.json_line(next(iter(DumpFile(parquet)))) == LINES.splitlines(keepends=True)[0]


def parquet_of(columns: dict[str, Any], **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, **options)
    return out.getvalue()


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "+02:00"])
def test_dates_of_parquet_are_stamps_again(unit: str, zone: str | None) -> None:
    moment = datetime(2024, 1, 31, 8, 30, tzinfo=UTC)
    dates = pa.array([moment, None], pa.timestamp("us", "UTC")).cast(pa.timestamp(unit, zone))
    rows = list(read_forms(io.BytesIO(parquet_of({"loc": ["a", "b"], "lastmod": dates})), "x"))
    assert rows == [{"loc": "a", "lastmod": "2024-01-31T08:30:00Z"}, {"loc": "b", "lastmod": None}]


def test_many_row_groups_are_read_in_order_and_numbered() -> None:
    data = parquet_of({"loc": [str(number) for number in range(5000)]}, row_group_size=700)
    rows = list(numbered_objects(io.BytesIO(data), "x"))
    assert rows == [(number + 1, {"loc": str(number)}) for number in range(5000)]


@pytest.mark.parametrize(("data", "reported"), [
    (parquet_of({"url": ["a"], "n": [1]}), "old.parquet has no column loc, so it is no dump; it has url, n"),
    (parquet_of({"loc": ["a", None]}), 'old.parquet:2: a line without "type" is a URL, and this one has no "loc"'),
    (parquet_of({"loc": ["a"]})[:-10], "old.parquet: damaged Parquet: "),
    (b"PAR1", "old.parquet: damaged Parquet: "),
])
def test_parquet_that_is_no_dump_is_reported(data: bytes, reported: str) -> None:
    assert failure(data, "old.parquet").startswith(reported)


def test_parquet_through_a_pipe_is_refused() -> None:
    pipe: Any = Dribble(parquet_of({"loc": ["a"]}))
    with pytest.raises(sr.UsageError, match=r"^stdin is Parquet, which is read from its end: give it as a file"):
        next(read_forms(pipe, "stdin"))


def test_without_pyarrow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    data = parquet_of({"loc": ["a"]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    reported = "old.parquet is Parquet, which needs pyarrow: pip install 'sitemap-reader[parquet]'"
    assert failure(data, "old.parquet") == reported


# --- load ---

MIXED = (
    sr.UrlRecord("https://example.com/"),
    sr.SitemapRef("https://example.com/a.xml"),
    sr.Problem("F01", "error", "404 Not Found", "https://example.com/a.xml"),
    sr.Candidate("https://example.com/a.xml", "robots"),
    Change("new", sr.UrlRecord("https://example.com/c")),
    sr.UrlRecord("https://example.com/b"),
    sr.Outcome("https://example.com/"),
)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.jsonl"
    path.write_bytes(b"".join(sr.json_line(item, site="example.com") for item in MIXED))
    return path


def test_a_dump_gives_its_urls_each_time(mixed: Path) -> None:
    dump = DumpFile(mixed)
    assert list(dump) == list(dump) == [MIXED[0], MIXED[5]]
    assert dump == DumpFile(mixed)


def test_two_readings_of_a_dump_do_not_disturb_each_other() -> None:
    dump = DumpFile(SHOP)
    pairs = list(zip(dump, dump, strict=True))
    assert [one for one, _ in pairs] == [other for _, other in pairs] == RECORDS


def test_dump_gives_every_line_with_its_type(mixed: Path) -> None:
    assert tuple(DumpFile(mixed).items()) == MIXED


def test_json_objects_keep_unknown_keys(mixed: Path) -> None:
    assert [form["site"] for form in DumpFile(mixed).dicts()] == ["example.com"] * len(MIXED)


def test_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    path.write_bytes(A + b'\n{"type":"node"}\n{"loc":"a","priority":"high"}\n')
    dump = DumpFile(path)
    with pytest.raises(sr.UsageError) as reported:
        list(dump)
    assert str(reported.value) == f"{path}:3: URL record: Expected `float | null`, got `str` - at `$.priority`"
    with pytest.raises(sr.UsageError, match=r":2: type: 'node' is none of "):
        list(dump.items())


def test_a_file_is_closed_also_when_it_is_left(mixed: Path) -> None:
    """Otherwise the ResourceWarning of an open file would fail the test."""
    for _ in DumpFile(mixed):
        break
    records = iter(DumpFile(mixed))
    next(records)
    del records
    forms = DumpFile(mixed).dicts()
    next(forms)
    del forms


@pytest.mark.parametrize(("name", "reported"), [
    (
        "nothing.jsonl",
        "there is no file {}; `sitemap-reader dump HOST > urls.jsonl` (or sr.Snapshot.to_parquet) makes a dump",
    ),
    (
        "",
        "{} is a folder, and a dump is a file: `sitemap-reader dump {} > urls.jsonl` (or sr.Snapshot.to_parquet) "
        "makes one",
    ),
    ("a\0b", "cannot read {}: embedded null byte; give a file that you may read"),
    ("urls.jsonl/inside", "cannot read {}: Not a directory; give a file that you may read"),
])
def test_unreadable_dump_is_reported_at_once(name: str, reported: str, tmp_path: Path) -> None:
    (tmp_path / "urls.jsonl").write_bytes(A)
    path = str(tmp_path / name)
    for give in (str, Path):
        with pytest.raises(sr.UsageError) as failure:
            open_file(give(path))
        assert str(failure.value) == reported.replace("{}", printable(path))


def test_url_is_refused_as_a_file() -> None:
    with pytest.raises(sr.UsageError, match=r"^https://example.com is a URL, and a dump is a file: "):
        open_file("https://example.com")


@pytest.mark.slow
def test_memory_stays_flat(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for number in range(60_000):
            file.write(b'{"loc":"https://example.com/%d"}\n' % number)

    def peak(forms: Iterator[Any]) -> int:
        tracemalloc.start()
        assert sum(1 for _ in forms) == 60_000
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(DumpFile(path).dicts()) < 2 << 20


@pytest.mark.parametrize(("column", "values"), [
    ("lastmod", pa.array([10**15], pa.timestamp("ms"))),
    ("loc", pa.array([b"https://a.example/"], pa.binary())),
    ("extras", pa.array([timedelta(1)], pa.duration("s"))),
])
def test_parquet_of_other_tools_is_refused_by_name(tmp_path: Path, column: str, values: Any) -> None:
    path = tmp_path / "urls.parquet"
    columns = {"loc": pa.array(["https://a.example/"])} | {column: values}
    pq.write_table(pa.table(columns), path)
    with pytest.raises(sr.UsageError, match=re.escape(str(path))):
        list(DumpFile(path))


def test_a_decimal_is_a_number(tmp_path: Path) -> None:
    path = tmp_path / "urls.parquet"
    columns = {"loc": pa.array(["https://a.example/"]), "priority": pa.array([Decimal("0.8")])}
    pq.write_table(pa.table(columns), path)
    assert [record.priority for record in DumpFile(path)] == [0.8]


@pytest.mark.parametrize(("name", "is_dump"), [
    ("-", True), ("none.jsonl", True), ("none.jsonl.gz", True), ("none.xml", True), ("a.example/x.parquet", True),
    ("example.com/sitemap.xml", False), ("example.com/sitemap.xml.gz", False), ("example.com", False),
    ("https://example.com/urls.jsonl", False), ("site.warc.gz", False), ("a\0b", False),
])
def test_missing_files_are_recognised_as_dumps_by_suffix(name: str, is_dump: bool) -> None:
    assert is_dump_name(name) is is_dump
