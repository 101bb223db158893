"""Reading a dump in blocks equals reading it in lines: the same JSON objects, line numbers, and errors."""

from __future__ import annotations

import gzip
import io
import os
import re
import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from corpus_cases import CORPUS
from endless import Endless

import sitemap_reader as sr
from sitemap_reader.cli.main import main
from sitemap_reader.serialize import dumps as dump_lines
from sitemap_reader.serialize.dumps import numbered_blocks, numbered_objects

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Numbered = list[tuple[int, dict[str, Any]]]

LINES = (CORPUS / "sites" / "shop.jsonl").read_bytes().splitlines(keepends=True)[::8]
SHOP = b"".join(LINES)
TYPED = b'{"type":"problem","code":"S01","severity":"error","message":"m"}\n'


def line(number: int) -> bytes:
    return b'{"loc":"https://example.com/%d"}\n' % number


MANY = b"".join(map(line, range(2_000)))


def through_blocks(stream: Any, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for block in numbered_blocks(stream, name):
        yield from block.numbered()


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


def by_block(data: bytes) -> tuple[Numbered, str | None]:
    return read(through_blocks(io.BytesIO(data), "old.jsonl"))


def place(reported: str | None) -> str:
    """`old.jsonl:7` of an error."""
    assert reported is not None
    found = re.match(r"old\.jsonl:\d+", reported)
    assert found is not None, reported
    return found.group()


@pytest.fixture(params=[(1 << 15, 8 << 20), (1, 5), (7, 400), (1_000, 3_000)], ids=str)
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the sizes of the first block and of the others."""
    first, others = request.param
    monkeypatch.setattr(dump_lines, "FIRST_BYTES", first)
    monkeypatch.setattr(dump_lines, "BLOCK_BYTES", others)


# --- complete dumps ---

WHOLE = {
    "a dump": SHOP,
    "without a last line feed": SHOP[:-1],
    "a byte order mark": b"\xef\xbb\xbf" + SHOP,
    "carriage returns": SHOP.replace(b"\n", b"\r\n"),
    "blank lines": b"\n\n" + SHOP.replace(b"\n", b"\n \r\n\n", 20) + b"\n\n",
    "lines of a report": TYPED + SHOP + TYPED * 3,
    "a line feed alone": b"\n",
    "nothing": b"",
    "one line": line(1)[:-1],
}


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("name", WHOLE)
def test_blocks_have_the_lines_under_their_numbers(name: str) -> None:
    for data in (WHOLE[name], gzip.compress(WHOLE[name], 1)):
        assert by_block(data) == by_line(data)


@pytest.mark.usefixtures("sizes")
def test_the_lines_of_blocks_stand_one_behind_the_other() -> None:
    before, joined = 0, b""
    for block in numbered_blocks(io.BytesIO(SHOP), "old.jsonl"):
        assert block.lines
        assert block.before == before == joined.count(b"\n")
        joined += block.lines
        before += block.lines.count(b"\n")
    assert joined == SHOP


@pytest.mark.usefixtures("sizes")
def test_a_packed_file_of_several_parts_is_one() -> None:
    parts = b"".join(gzip.compress(b"".join(LINES[at : at + 30]), 1) for at in range(0, len(LINES), 30))
    assert by_block(parts) == by_line(SHOP)


def test_parquet_is_one_block_without_lines() -> None:
    out = io.BytesIO()
    pq.write_table(pa.table({"loc": [str(number) for number in range(3_000)]}), out, row_group_size=700)
    blocks = list(numbered_blocks(io.BytesIO(out.getvalue()), "old.parquet"))
    assert [(block.lines, block.before) for block in blocks] == [(None, 0)]
    assert by_block(out.getvalue()) == by_line(out.getvalue())
    assert len(by_block(out.getvalue())[0]) == 3_000


def test_the_first_block_is_small_and_the_others_are_not() -> None:
    """The first lines come soon, and later blocks are efficient."""
    blocks = [block.lines or b"" for block in numbered_blocks(io.BytesIO(MANY * 400), "old.jsonl")]
    first, *others, _ = map(len, blocks)
    assert dump_lines.FIRST_BYTES / 2 < first < 4 * dump_lines.FIRST_BYTES
    assert len(others) >= 2
    assert all(dump_lines.BLOCK_BYTES - 100 < size < 1.5 * dump_lines.BLOCK_BYTES for size in others)


def test_pipe_is_read_as_data_arrives(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()

    def write() -> None:
        with os.fdopen(write_end, "wb", buffering=0) as out:
            for start in range(0, len(SHOP), 999):
                out.write(SHOP[start : start + 999])

    writer = threading.Thread(target=write)
    writer.start()
    with os.fdopen(read_end, "rb") as stream:
        found = read(through_blocks(stream, "stdin"))
    writer.join()
    assert found == by_line(SHOP)


def test_callback_runs_before_each_read_that_may_block() -> None:
    requested: list[int] = []
    blocks = numbered_blocks(io.BytesIO(MANY), "old.jsonl", before_read=lambda: requested.append(1))
    next(blocks)
    assert 1 <= len(requested) <= 3
    assert len(list(blocks)) >= 1
    assert len(requested) >= 2


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


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_reported_with_its_line_number(name: str) -> None:
    for before in (0, 1, 70):
        data = b"".join(LINES[:before]) + FAULTS[name] + LINES[0]
        found, reported = by_block(data)
        assert (found, reported) == by_line(data)
        assert place(reported) == f"old.jsonl:{before + 1}"
        assert len(found) == before


@pytest.mark.usefixtures("sizes")
def test_truncated_last_line_is_reported() -> None:
    found, reported = by_block(SHOP[:-20])
    assert (found, reported) == by_line(SHOP[:-20])
    assert "the last line is cut" in str(reported)
    assert len(found) == len(LINES) - 1


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_gzip_file_that_is_cut_gives_the_lines_before(share: float) -> None:
    whole = gzip.compress(SHOP, 1)
    cut = whole[: int(len(whole) * share)]
    found, reported = by_block(cut)
    usual, expected = by_line(cut)
    assert place(reported) == place(expected)
    assert found == usual
    assert len(found) > share * len(LINES) / 2


@pytest.mark.usefixtures("sizes")
def test_a_gzip_file_cut_at_the_end_of_a_line_says_that_it_is_cut() -> None:
    found, reported = by_block(gzip.compress(SHOP, 1)[:-8])
    assert len(found) == len(LINES)
    assert reported == f"old.jsonl:{len(LINES) + 1}: here the gzip file is cut; the lines before were read"


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize(
    "damaged",
    [
        gzip.compress(SHOP, 1)[:-8] + b"\0" * 8,
        gzip.compress(SHOP, 1) + b"junk",
        gzip.compress(SHOP, 1)[:3_000] + b"\xff" * 300,
    ],
    ids=["a wrong sum", "junk behind it", "damage within"],
)
def test_a_damaged_gzip_file_gives_the_lines_before(damaged: bytes) -> None:
    found, reported = by_block(damaged)
    usual, expected = by_line(damaged)
    assert place(reported) == place(expected)
    assert found == usual
    assert found


@pytest.mark.parametrize("behind", [0, 1, 3, 20])
@pytest.mark.parametrize("blanks", [0, 1])
def test_a_line_at_the_limit_is_read_and_one_beyond_is_not(
    blanks: int, behind: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any block size; the text after a long line does not count."""
    longest = b'{"loc":"https://example.com/%s"}\n' % (b"a" * 900)
    monkeypatch.setattr(dump_lines, "MAX_LINE_BYTES", len(longest))
    monkeypatch.setattr(dump_lines, "FIRST_BYTES", 10)
    for size in range(90, 130):
        monkeypatch.setattr(dump_lines, "BLOCK_BYTES", size)
        data = line(0) * 10 + b" " * blanks + longest + line(1) * behind
        found, reported = by_block(data)
        usual, expected = by_line(data)
        assert found == usual
        assert reported == expected
        assert (reported is None) is (blanks == 0)


def test_garbage_without_line_ends_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_lines, "MAX_LINE_BYTES", 1 << 20)

    endless = Endless()
    assert "more than 1,048,576 bytes without a line end" in str(read(through_blocks(endless, "zero"))[1])
    assert endless.given < 16 << 20


# --- convert ---


def convert(file: Path, *options: str) -> tuple[int, str, pa.Table]:
    out = file.with_suffix(".parquet")
    result = CliRunner().invoke(main, ["convert", str(file), "-o", str(out), *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stderr, pq.read_table(out)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_lines, "FIRST_BYTES", 500)
    monkeypatch.setattr(dump_lines, "BLOCK_BYTES", 5_000)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("fault", [*FAULTS.values(), b'{"loc":"a","lastmod":"2024-01-31"}\n'])
def test_convert_writes_the_lines_before_a_bad_line_of_a_later_block(tmp_path: Path, fault: bytes) -> None:
    file = tmp_path / "old.jsonl"
    file.write_bytes(b"".join(map(line, range(1_000))) + fault + line(1_001))
    code, reported, table = convert(file)
    assert code == 2
    assert f"{file}:1001: " in reported
    assert table["loc"].to_pylist() == [f"https://example.com/{number}" for number in range(1_000)]


@pytest.mark.usefixtures("small_blocks")
def test_convert_takes_all_urls_among_other_lines(tmp_path: Path) -> None:
    """Blocks with other lines or unusual dates take another code path, with the same result."""
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


@pytest.mark.usefixtures("small_blocks")
def test_convert_with_unique_writes_a_url_once(tmp_path: Path) -> None:
    file = tmp_path / "old.jsonl"
    file.write_bytes(MANY + MANY)
    code, reported, table = convert(file, "--unique")
    assert (code, table.num_rows) == (0, 2_000)
    assert "2,000 listed again" in reported


@pytest.mark.usefixtures("small_blocks")
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
