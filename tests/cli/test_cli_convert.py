import csv
import io
import os
import pty
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli_runs import PROGRAM, SITES, refusal
from kit import dump, gz, objects, run

from sitemap_reader import UsageError
from sitemap_reader.cli import Exit, open_outputs
from sitemap_reader.serialize import FORMATS, all_fields, parse_fields

pq = pytest.importorskip("pyarrow.parquet")

SHOP_DUMP = SITES / "shop.jsonl"
URLS = objects(SHOP_DUMP.read_text("utf-8"))
LOCS = [url["loc"] for url in URLS]
OTHER = {"type": "outcome", "url": "https://shop.example/"}
ALL = list(all_fields().names)


# --- formats ---


def urls_file(folder: Path, *forms: dict[str, Any]) -> Path:
    return dump(folder / "urls.jsonl", *forms)


def read_csv(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def test_format_wins_over_the_suffix(tmp_path: Path) -> None:
    file = tmp_path / "urls.csv"
    assert run("convert", SHOP_DUMP, "-o", file, "--format", "txt").exit_code == 0
    assert file.read_text().splitlines() == LOCS


@pytest.mark.parametrize(("options", "told"), [
    ([], "no output format; give --format, or -o with a name in one of .jsonl, .csv, .tsv, .txt, .parquet"),
    (["-o", "-"], "no output format; give --format"),
    (["-o", "urls.out"], "the suffix of urls.out is no format; give --format"),
    (["-o", "urls.xlsx"], "-o urls.xlsx: .xlsx is not written; spreadsheets read .csv"),
    (["-o", "urls.csv.xz"], "-o urls.csv.xz: files are compressed as .gz or .zst, not as .xz"),
    (["-o", "urls.parquet.gz"], "urls.parquet.gz: Parquet is compressed already; give a name in .parquet"),
    (["-o", "urls.html"], "-o urls.html: .html is not a format of this command; give --format jsonl|csv|tsv"),
    (["-o", "urls.xml"], "-o urls.xml: .xml is not a format of this command; give --format jsonl|csv|tsv"),
    (["--format", "txt", "--fields", "loc"], "txt is the locs alone, without fields; --format tsv has fields"),
    (["--format", "csv", "--fields", "loc,title"], "--fields: there is no title; do you mean images.title"),
    (["--format", "csv", "--fields", ""], "--fields: which ones? there are loc, lastmod"),
])
def test_invalid_arguments_create_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refusal("convert", SHOP_DUMP, *options).startswith(f"error: {told}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize("between", [".jsonl", ".parquet"])
def test_convert_of_a_dump_with_fields_keeps_them_or_needs_fields(tmp_path: Path, between: str, suffix: str) -> None:
    some, out = tmp_path / f"some{between}", tmp_path / f"out{suffix}"
    fields = "loc,news.title,images.loc"
    assert run("convert", SHOP_DUMP, "--fields", fields, "-o", some).exit_code == 0
    asked = run("convert", some, "-o", out)
    assert (asked.exit_code, out.exists()) == (2, False)
    assert asked.stderr.endswith(f"--fields {fields}\n")
    assert run("convert", some, "--fields", fields, "-o", out).exit_code == 0
    whole = tmp_path / f"whole{suffix}"
    run("convert", SHOP_DUMP, "--fields", fields, "-o", whole)
    assert out.read_bytes() == whole.read_bytes()


def test_without_pyarrow_parquet_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    line = refusal("convert", SHOP_DUMP, "-o", tmp_path / "urls.parquet")
    assert line == "error: parquet needs pyarrow: pip install 'sitemap-reader[parquet]'"
    assert list(tmp_path.iterdir()) == []


# --- output ---


def test_jsonl_whole_is_the_dump_again(tmp_path: Path) -> None:
    forms = [OTHER, *URLS, OTHER]
    result = run("convert", urls_file(tmp_path, *forms), "--format", "jsonl")
    assert objects(result.stdout) == forms
    assert run("convert", SHOP_DUMP, "--format", "jsonl").stdout == SHOP_DUMP.read_text("utf-8")
    assert result.stderr.startswith(f"{len(URLS)} URLs and 2 other lines written to stdout; ")


def test_other_lines_are_left_out_and_counted(tmp_path: Path) -> None:
    output = tmp_path / "urls.csv"
    result = run("convert", urls_file(tmp_path, OTHER, *URLS, OTHER), "-o", output)
    assert result.stderr.startswith(f"{len(URLS)} URLs written to {output}; 2 other lines left out; ")
    assert [row[0] for row in read_csv(output.read_text())] == ["loc", *LOCS]
    one = run("convert", urls_file(tmp_path, URLS[0], OTHER), "--format", "txt")
    assert one.stderr.startswith("1 URL written to stdout; 1 other line left out; ")


def test_fields_are_selected_in_the_order_typed(tmp_path: Path) -> None:
    file = urls_file(tmp_path, {"loc": "https://a.example/", "images": [{"loc": "1"}, {"loc": "2"}]}, OTHER)
    result = run("convert", file, "--format", "jsonl", "--fields", "images.loc, loc,news.title")
    assert result.stdout == '{"images.loc":["1","2"],"loc":"https://a.example/","news.title":null}\n'
    assert result.stderr.startswith("1 URL written to stdout; 1 other line left out; ")
    result = run("convert", file, "--format", "tsv", "--fields", "images.1.loc,loc")
    assert result.stdout == "images.1.loc\tloc\n2\thttps://a.example/\n"


def test_table_has_every_column_for_any_dump(tmp_path: Path) -> None:
    file = urls_file(tmp_path, {"loc": "https://a.example/", "site": "a", "extras": []})
    header, row = read_csv(run("convert", file, "--format", "csv").stdout)
    assert header == ALL
    assert dict(zip(header, row, strict=True))["site"] == "a"


def test_unique_writes_each_url_once(tmp_path: Path) -> None:
    one, two = {"loc": "https://a.example/1", "line": 1}, {"loc": "https://a.example/2", "line": 2}
    outcome = {"type": "outcome", "loc": "https://a.example/1"}
    file = urls_file(tmp_path, one, {**one, "line": 3}, outcome, two, outcome, {**two, "line": 4}, {**one, "line": 5})
    result = run("convert", file, "--format", "jsonl", "--unique")
    assert objects(result.stdout) == [one, outcome, two, outcome]
    assert result.stderr.startswith("2 URLs and 2 other lines written to stdout; 3 listed again; ")
    assert run("convert", file, "--format", "txt").stdout.count("\n") == 5


def test_parquet_and_back_is_the_same(tmp_path: Path) -> None:
    there, back = tmp_path / "urls.parquet", tmp_path / "back.jsonl"
    assert run("convert", SHOP_DUMP, "-o", there).exit_code == 0
    assert run("convert", there, "-o", back).exit_code == 0
    assert back.read_text("utf-8") == SHOP_DUMP.read_text("utf-8")


def test_a_gzipped_dump_and_stdin_are_read(tmp_path: Path) -> None:
    body = urls_file(tmp_path, *URLS, OTHER).read_bytes()
    (tmp_path / "urls.jsonl.gz").write_bytes(gz(body))
    for source, stdin in ((tmp_path / "urls.jsonl.gz", b""), ("-", body), ("-", gz(body))):
        result = run("convert", source, "--format", "txt", stdin=stdin)
        assert (result.stdout.splitlines(), result.exit_code) == (LOCS, 0)


def test_quiet_writes_nothing_to_stderr() -> None:
    result = run("convert", SHOP_DUMP, "--format", "txt", "-q")
    assert (result.exit_code, result.stderr) == (0, "")


# --- empty and incomplete results ---


@pytest.mark.parametrize(("lines", "told"), [
    ([], "stdin holds no URL"),
    (['{"type":"outcome"}'], "stdin holds no URL, but 1 other line"),
    (
        ['{"type":"change"}'],
        "stdin holds no URL, but 1 other line; `schema duckdb --of changes` has the types of changes, for DuckDB "
        "to convert",
    ),
])
@pytest.mark.parametrize(("format", "output"), [("csv", ",".join(ALL) + "\n"), ("txt", "")])
def test_convert_without_urls_exits_4_with_the_header(lines: list[str], told: str, format: str, output: str) -> None:
    result = run("convert", "-", "--format", format, stdin="\n".join(lines))
    assert (result.exit_code, result.stdout) == (4, output)
    assert result.stderr.splitlines()[0] == f"error: {told}"


def test_convert_without_urls_writes_parquet_to_stdout_and_no_file(tmp_path: Path) -> None:
    table = pq.read_table(io.BytesIO(run("convert", "-", "--format", "parquet", stdin="").stdout_bytes))
    assert (table.column_names, table.num_rows) == (ALL, 0)
    assert run("convert", "-", "-o", tmp_path / "urls.parquet", stdin="").exit_code == 4
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", ["jsonl", "csv", "txt", "parquet"])
def test_bad_line_is_named_and_the_lines_before_are_written(tmp_path: Path, format: str) -> None:
    file = urls_file(tmp_path, *URLS[:5])
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:3], "{", *lines[3:]]))
    output = tmp_path / f"out.{format}"
    result = run("convert", file, "-o", output)
    assert result.exit_code == 2
    error, summary = result.stderr.splitlines()
    assert error.startswith(f"error: {file}:4: ")
    assert summary.startswith(f"3 URLs written to {output}; ")
    if format == "parquet":
        assert pq.read_table(output).column("loc").to_pylist() == LOCS[:3]
    else:
        assert len(output.read_text().splitlines()) == {"csv": 4}.get(format, 3)


def test_a_value_that_the_format_cannot_hold_is_named_with_its_line(tmp_path: Path) -> None:
    file = urls_file(tmp_path, {"loc": "a"}, {"loc": "b", "priority": "high"})
    output = tmp_path / "urls.parquet"
    result = run("convert", file, "-o", output)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[0] == f"error: {file}:2: b: Expected `float | null`, got `str` - at `$.priority`"
    assert pq.read_table(output).column("loc").to_pylist() == ["a"]


@pytest.mark.parametrize("name", ["none.jsonl", ".", "https://a.example/", "a\x00b"])
def test_a_file_that_cannot_be_read_is_an_error_and_makes_none(tmp_path: Path, name: str) -> None:
    output = tmp_path / "urls.csv"
    assert refusal("convert", name, "-o", output).startswith("error: ")
    assert not output.exists()


# --- processes ---


@pytest.mark.slow
def test_lines_are_written_before_the_next_read_blocks() -> None:
    command = [*PROGRAM, "convert", "-", "--format", "csv", "--fields", "loc"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as running:
        running.stdin.write(b'{"loc":"https://a.example/1"}\n')
        running.stdin.flush()
        assert running.stdout.readline() == b"loc\n"
        assert running.stdout.readline() == b"https://a.example/1\n"
        running.stdin.close()
        assert running.stdout.read() == b""
    assert running.returncode == 0


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Within the block no file of this process can exceed the size."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("size", [100, 65_536, 100_001, 123_456])
@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_full_file_ends_with_a_complete_record(tmp_path: Path, size: int, format: str) -> None:
    forms = [{"loc": f"https://a.example/{number}", "news": {"title": 'a\n"b"\n\nc'}} for number in range(10_000)]
    file, output = urls_file(tmp_path, *forms), tmp_path / "out"
    with largest_file(size):
        result = run("convert", file, "-o", output, "--format", format, "--fields", "loc,news.title")
    assert result.exit_code == 6
    text = output.read_text()
    assert size - 200 < len(text) <= size
    rows = [[*form.values()] for form in objects(text)] if format == "jsonl" else read_csv(text)[1:]
    assert {title for _, title in rows} <= {'a\n"b"\n\nc'}
    assert text.endswith("\n")


@pytest.mark.slow
def test_parquet_can_go_through_a_pipe() -> None:
    done = subprocess.run(
        [*PROGRAM, "convert", str(SHOP_DUMP), "--format", "parquet"], capture_output=True, check=False
    )
    assert done.returncode == 0
    assert pq.read_table(io.BytesIO(done.stdout)).num_rows == len(URLS)


# --- outputs of any command ---


@pytest.mark.slow
def test_parquet_is_not_shown_on_a_terminal(tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    command = [*PROGRAM, "convert", str(SHOP_DUMP), "--format", "parquet"]
    done = subprocess.run(command, stdout=terminal, stderr=subprocess.PIPE, text=True, check=False)
    os.close(terminal)
    os.close(controller)
    assert (done.returncode, done.stderr) == (2, "error: parquet is binary: give -o FILE\n")


@pytest.mark.parametrize("format", sorted({*FORMATS} - {"jsonl"}))
def test_a_report_shares_stdout_with_jsonl_alone(tmp_path: Path, format: str) -> None:
    told = f"--report - writes JSONL to stdout, where the {format} goes; give -o FILE or --report FILE"
    with pytest.raises(UsageError) as failure, open_outputs(None, "-", format=format):
        pass
    assert str(failure.value) == told
    with open_outputs(str(tmp_path / "urls"), "-", format=format) as outputs:
        assert outputs.report is not outputs.records


def test_the_file_is_ended_however_the_block_ends(tmp_path: Path) -> None:
    file = tmp_path / "urls.parquet"

    def interrupted() -> None:
        with open_outputs(str(file), None, format="parquet") as outputs:
            outputs.sink.write({"loc": "https://a.example/"})
            outputs.decide([Exit.INTERRUPTED], 1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert pq.read_table(file).column("loc").to_pylist() == ["https://a.example/"]


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_unopened_output_is_not_closed(tmp_path: Path, format: str) -> None:
    file = tmp_path / "urls"
    file.write_text("precious")
    with open_outputs(str(file), None, format=format):
        pass
    assert file.read_text() == "precious"


def test_fields_and_columns_reach_the_sink(tmp_path: Path) -> None:
    file = tmp_path / "urls.csv"
    with open_outputs(str(file), None, format="csv", fields=parse_fields("news.title,loc")) as outputs:
        outputs.keep()
    assert file.read_text() == "news.title,loc\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_report_is_written_whole_even_where_the_records_cannot_be(tmp_path: Path) -> None:
    report = tmp_path / "report.jsonl"

    def write_both() -> None:
        with open_outputs("/dev/full", str(report)) as outputs:
            outputs.records.write(b"{}\n")
            outputs.report.write(b"[]\n")

    with pytest.raises(OSError, match="No space"):
        write_both()
    assert report.read_bytes() == b"[]\n"
