"""load() gives the same tables for every kind of file, and names the place of a fault."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import kit
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kit import files, gz
from recorded import RECORDED, SITES, URL, comparable, dump, snapshot
from tiers import needs

import sitemap_reader as sr
from sitemap_reader import schema

# --- of files ---


def test_a_list_of_a_files_records_needs_no_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """list() calls __len__ first if there is one, which would read the whole file into tables."""
    jsonl = dump(tmp_path, "broken")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert len(list(sr.load(jsonl))) == 146


def test_every_kind_of_file_gives_the_same_tables(tmp_path: Path) -> None:
    jsonl = dump(tmp_path, "broken")
    packed = files(tmp_path, {"packed.jsonl.gz": gz(jsonl.read_bytes())}) / "packed.jsonl.gz"
    loaded = sr.load(jsonl, at="2026-01-01")
    loaded.to_parquet(tmp_path / "urls.parquet")
    loaded.to_parquet(tmp_path / "folder")
    for place in (packed, tmp_path / "urls.parquet", tmp_path / "folder"):
        again = sr.load(place)
        assert again.urls.to_arrow().equals(loaded.urls.to_arrow()), place
        if place.suffix != ".parquet":
            assert again.problems.to_arrow().equals(loaded.problems.to_arrow())
            assert again.sitemaps.to_arrow().equals(loaded.sitemaps.to_arrow())
            assert comparable(again.dicts()) == comparable(loaded.dicts())
    assert len(sr.load(tmp_path / "urls.parquet").sitemaps) == 0
    assert comparable(form for form in loaded.dicts() if "type" not in form) == comparable(
        sr.load(tmp_path / "urls.parquet").dicts()
    )


@pytest.mark.parametrize("name", ["urls.parquet", "folder"])
def test_time_and_completeness_survive(name: str, tmp_path: Path) -> None:
    some = sr.snapshot(SITES / "broken", show_progress=False)
    some.to_parquet(tmp_path / name)
    again = sr.load(tmp_path / name)
    assert (again.at, again.read_at, again.complete) == (RECORDED, RECORDED, False)
    given = datetime(2020, 1, 2, 12, tzinfo=UTC)
    assert sr.load(tmp_path / name, at="2020-01-02T12:00:00Z").at == sr.load(tmp_path / name, at=given).at == given
    assert sr.load(tmp_path / name, at=given).read_at == given
    snapshot("shop").to_parquet(tmp_path / name)
    assert sr.load(tmp_path / name).complete is True
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_completeness_of_a_dump_is_known_from_its_report_only(tmp_path: Path) -> None:
    shop, broken = dump(tmp_path, "shop"), dump(tmp_path, "broken")
    assert sr.load(shop).complete is True
    assert sr.load(broken).complete is False
    assert sr.load(SITES / "shop.jsonl").complete is None


def test_unknown_values_are_none_and_ages_count_from_now() -> None:
    before = datetime.now(UTC)
    loaded = sr.load(SITES / "shop.jsonl")
    assert loaded.read_at is None
    assert before <= loaded.at <= datetime.now(UTC)
    assert loaded.at == loaded.at


def test_failed_write_keeps_the_previous_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "urls.parquet"
    snapshot("nesting").to_parquet(file)
    before = file.read_bytes()

    def full(table: Any, place: Any, **options: Any) -> None:
        Path(place).write_bytes(b"PAR1half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(OSError, match="No space left"):
        snapshot("shop").to_parquet(file)
    assert file.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["urls.parquet"]


DAMAGED = {
    "damaged Parquet": ("urls.parquet", b"PAR1" + b"\0" * 100),
    "Parquet without its end": ("urls.parquet", None),
    "Parquet by its name alone": ("urls.parquet", b"hello\n"),
    "a bad line": ("old.jsonl", URL + b"hello\n"),
    "a report that is cut": ("old.jsonl", URL + b'{"type":"problem","code"'),
    "a problem that is none": ("old.jsonl", URL + b'{"type":"problem","code":5}\n'),
    "a type that is an object": ("old.jsonl", URL + b'{"type":{},"loc":"a"}\n'),
    "a type that is a number": ("old.jsonl", URL + b'{"type":5,"loc":"a"}\n'),
    "changes": ("old.jsonl", b'{"type":"change","change":"new","loc":"a"}\n'),
    "changes behind URLs": ("old.jsonl", URL + b'{"type":"change","change":"new","loc":"a"}\n'),
    "candidates": ("old.jsonl", b'{"type":"candidate","url":"a","why":"robots"}\n'),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_invalid_dump_is_reported_with_its_place(name: str, tmp_path: Path) -> None:
    file, data = DAMAGED[name]
    path = tmp_path / file
    if data is None:
        snapshot("nesting").to_parquet(path)
        data = path.read_bytes()[:-20]
    path.write_bytes(data)
    with pytest.raises(sr.UsageError) as reported:
        len(sr.load(path).urls)
    line = data.count(b"\n") if file.endswith("l") and data.endswith(b"\n") else data.count(b"\n") + 1
    assert str(reported.value).startswith(f"{path}:{line}: " if file.endswith("l") else f"{path}: ")


def test_parquet_row_without_loc_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "urls.parquet"
    pq.write_table(pa.table({"loc": ["https://a.example/", None]}), path)
    with pytest.raises(sr.UsageError, match=r'urls\.parquet:2: .* has no "loc"'):
        len(sr.load(path).urls)


def test_null_type_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    path.write_bytes(URL + b'{"type":null,"loc":"https://a.example/2"}\n')
    assert [record.loc for record in sr.load(path)] == ["https://a.example/1", "https://a.example/2"]
    assert len(sr.load(path).urls) == 2


def test_missing_file_is_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(sr.UsageError, match=r"there is no file .*nothing\.jsonl"):
        sr.load(tmp_path / "nothing.jsonl")
    with pytest.raises(sr.UsageError, match=r"there is neither a sitemap nor a dump in .*; give sitemaps "):
        sr.load(tmp_path)


@pytest.mark.slow
def test_parquet_that_duckdb_wrote_is_read(tmp_path: Path) -> None:
    """DuckDB's TIMESTAMP has no zone."""
    columns = schema("duckdb")
    duckdb = needs("duckdb")
    with duckdb.connect() as database:
        source = f"read_json('{SITES / 'shop.jsonl'}', format='newline_delimited', columns={columns})"
        database.execute(f"COPY (FROM {source}) TO '{tmp_path / 'urls.parquet'}'")
    assert pq.read_schema(tmp_path / "urls.parquet").field("lastmod").type.tz is None
    loaded, usual = sr.load(tmp_path / "urls.parquet"), sr.load(SITES / "shop.jsonl")
    assert loaded.urls.to_arrow().schema == usual.urls.to_arrow().schema
    assert [record.lastmod for record in loaded] == [record.lastmod for record in usual]
    assert loaded.urls.to_pandas(["lastmod"]).equals(usual.urls.to_pandas(["lastmod"]))


def test_unnamed_site_is_named_by_its_most_frequent_host(tmp_path: Path) -> None:
    records = [sr.UrlRecord(f"https://{host}/{n}") for n, host in enumerate(["a.example", "b.example", "b.example"])]
    path = kit.dump(tmp_path / "old.jsonl", *records)
    assert sr.load(path).sites == ("b.example",)
    assert sr.load(path, site="mine").sites == ("mine",)
    kit.dump(path, *records, named=records[:1])
    assert sr.load(path, site="mine").sites == ("mine", "named")
    assert sr.load(path, site="mine").pages.to_pandas(["site"])["site"].tolist() == ["mine"] * 3 + ["named"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    loaded = sr.load(tmp_path / "pipe")
    writer = subprocess.Popen(["cp", SITES / "shop.jsonl", tmp_path / "pipe"])
    assert sum(1 for _ in loaded) == 640
    assert writer.wait() == 0


WITHOUT = """
import sys
sys.modules.update(dict.fromkeys({without!r}.split()))
import sitemap_reader as sr
loaded = sr.load({file!r})
assert sum(1 for _ in loaded) == 640
with sr.diff(loaded, loaded) as changes:
    assert not list(changes)
for ask in {asks!r}:
    try:
        eval(ask)
    except sr.UsageError as exc:
        print(exc)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("without", "reported"), [
    ("pyarrow pandas", {"loaded.urls": "a Snapshot's tables need", "sr.snapshot('a.example')": "a Snapshot needs"}),
    ("pandas", {"loaded.cadence()": "measures need"}),
], ids=["pyarrow pandas", "pandas"])
def test_without_pyarrow_lines_are_read_and_tables_say_what_to_install(without: str, reported: dict[str, str]) -> None:
    program = WITHOUT.format(without=without, file=str(SITES / "shop.jsonl"), asks=[*reported])
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    for line, begin in zip(ran.stdout.splitlines(), reported.values(), strict=True):
        assert line.startswith(begin)
        assert ": pip install 'sitemap-reader[" in line
