"""Damaged dumps give the lines before the fault, with its line number; `convert` writes these."""

import gzip
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from corpus_cases import CORPUS

import sitemap_reader as sr
from sitemap_reader.cli.main import main
from sitemap_reader.serialize import numbered_objects

Numbered = list[tuple[int, dict[str, Any]]]

LINES = (CORPUS / "sites" / "shop.jsonl").read_bytes().splitlines(keepends=True)[::8]
SHOP = b"".join(LINES)
TYPED = b'{"type":"problem","code":"S01","severity":"error","message":"m"}\n'


def line(number: int) -> bytes:
    return b'{"loc":"https://example.com/%d"}\n' % number


MANY = b"".join(map(line, range(2_000)))


def read(numbered: Iterator[tuple[int, dict[str, Any]]]) -> tuple[Numbered, str | None]:
    """The items, and the error after them, if any."""
    found: Numbered = []
    try:
        found.extend(numbered)
    except sr.UsageError as exc:
        return found, str(exc)
    return found, None


def by_line(data: bytes) -> tuple[Numbered, str | None]:
    return read(numbered_objects(io.BytesIO(data), "old.jsonl"))


def place(reported: str | None) -> str:
    """`old.jsonl:7` of an error."""
    assert reported is not None
    found = re.match(r"old\.jsonl:\d+", reported)
    assert found is not None, reported
    return found.group()


# --- damaged dumps ---

FAULTS = {
    "no JSON": b"hello\n",
    "XML": b"<urlset/>\n",
    "a number": b"5\n",
    "two objects": line(1)[:-1] + line(2),
    "no loc": b'{"url":"a"}\n',
    "a loc of null": b'{"loc":null}\n',
    "a type that is a number": b'{"type":1}\n',
    "no UTF-8": b'{"loc":"\xff"}\n',
}


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_gzip_file_that_is_cut_gives_the_lines_before(share: float) -> None:
    whole = gzip.compress(SHOP, 1)
    found, reported = by_line(whole[: int(len(whole) * share)])
    assert found == by_line(SHOP)[0][: len(found)]
    assert place(reported) == f"old.jsonl:{len(found) + 1}"
    assert len(found) > share * len(LINES) / 2


def test_a_gzip_file_cut_at_the_end_of_a_line_says_that_it_is_cut() -> None:
    found, reported = by_line(gzip.compress(SHOP, 1)[:-8])
    assert len(found) == len(LINES)
    assert reported == f"old.jsonl:{len(LINES) + 1}: here the gzip file is cut; the lines before are whole"


@pytest.mark.parametrize("damaged", [
    gzip.compress(SHOP, 1)[:-8] + b"\0" * 8,
    gzip.compress(SHOP, 1) + b"junk",
    gzip.compress(SHOP, 1)[:3_000] + b"\xff" * 300,
], ids=["a wrong sum", "junk behind it", "damage within"])
def test_a_damaged_gzip_file_gives_the_lines_before(damaged: bytes) -> None:
    found, reported = by_line(damaged)
    assert place(reported) == f"old.jsonl:{len(found) + 1}"
    assert found
    assert found == by_line(SHOP)[0][: len(found)]


# --- convert ---


def convert(file: Path, *options: str) -> tuple[int, str, pa.Table]:
    out = file.with_suffix(".parquet")
    result = CliRunner().invoke(main, ["convert", str(file), "-o", str(out), *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stderr, pq.read_table(out)


@pytest.mark.parametrize("fault", [*FAULTS.values(), b'{"loc":"a","lastmod":"2024-01-31"}\n'])
def test_convert_writes_the_lines_before_a_bad_line(tmp_path: Path, fault: bytes) -> None:
    file = tmp_path / "old.jsonl"
    file.write_bytes(b"".join(map(line, range(1_000))) + fault + line(1_001))
    code, reported, table = convert(file)
    assert code == 2
    assert f"{file}:1001: " in reported
    assert table["loc"].to_pylist() == [f"https://example.com/{number}" for number in range(1_000)]


def test_convert_takes_all_urls_among_other_lines(tmp_path: Path) -> None:
    foreign = b'{"loc": "https://example.com/x", "lastmod": "2024-01-31T10:30:00+02:00"}\n'
    lines = [*map(line, range(2_000))]
    lines[300:300], lines[900:900], lines[1_700:1_700] = [TYPED], [foreign], [b"\n", TYPED]
    file = tmp_path / "old.jsonl"
    file.write_bytes(b"".join(lines))
    code, reported, table = convert(file)
    locs = [form["loc"] for _, form in numbered_objects(io.BytesIO(b"".join(lines)), "x") if "type" not in form]
    assert code == 0
    assert table["loc"].to_pylist() == locs
    assert table["lastmod"].null_count == len(locs) - 1
    assert "2,001 URLs" in reported
    assert "2 other lines left out" in reported


def test_convert_with_unique_writes_a_url_once(tmp_path: Path) -> None:
    file = tmp_path / "old.jsonl"
    file.write_bytes(MANY + MANY)
    code, reported, table = convert(file, "--unique")
    assert (code, table.num_rows) == (0, 2_000)
    assert "2,000 listed again" in reported


def test_convert_of_parquet_and_of_gzip_comes_to_the_same(tmp_path: Path) -> None:
    tables = []
    for name, data in (("plain.jsonl", SHOP), ("packed.jsonl.gz", gzip.compress(SHOP, 1))):
        (tmp_path / name).write_bytes(data)
        tables.append(convert(tmp_path / name)[2])
    again = tmp_path / "again.jsonl"  # the suffix does not match the content
    again.write_bytes((tmp_path / "plain.parquet").read_bytes())
    tables.append(convert(again)[2])
    assert tables[0].num_rows == len(LINES)
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
