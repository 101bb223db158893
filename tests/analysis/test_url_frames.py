"""load() of tables of URLs: DataFrames, Arrow tables, CSV, and lists of URLs or records."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

import duckdb
import kit
import pandas as pd
import polars as pl
import pyarrow as pa
from kit import gz
from recorded import SITES, snapshot

import sitemap_reader as sr

HOME = "https://a.example/"

ROUND_TRIPS: dict[str, Callable[[sr.Snapshot], Any]] = {
    "pandas": lambda site: site.to_pandas(),
    "polars": lambda site: site.urls.to_polars(),
    "Arrow": lambda site: site.urls.to_arrow(),
    "a Table": lambda site: site.urls,
    "DuckDB": lambda site: duckdb.from_arrow(site.urls.to_arrow()),
    "records": list,
    "an iterator": iter,
}


@pytest.mark.parametrize("kind", ROUND_TRIPS)
@pytest.mark.parametrize("name", ["nesting", "broken"])
def test_urls_come_back_as_they_were(name: str, kind: str) -> None:
    site = snapshot(name)
    again = sr.load(ROUND_TRIPS[kind](site))
    assert again.pages.to_arrow().equals(site.pages.to_arrow())
    assert again.notes == ()


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
@pytest.mark.parametrize("name", ["nesting", "broken"])
def test_the_csv_of_dump_comes_back(name: str, suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"urls.{suffix}"
    assert kit.run("dump", str(SITES / name), "-o", str(file)).exit_code in (0, 3)
    site = snapshot(name)
    for loaded in (sr.load(file), sr.snapshot(str(file)), sr.load(pd.read_csv(file)) if suffix == "csv" else None):
        if loaded is not None:
            assert loaded.pages.to_arrow().equals(site.pages.to_arrow())
            assert (loaded.sites, loaded.notes) == (site.sites, ())


TABLES: dict[str, tuple[str, bytes]] = {
    "some fields": ("x.csv", b"loc,lastmod\nhttps://a.example/1,2026-01-02T00:00:00Z\n"),
    "Search Console": ("x.csv", b"Top pages,Clicks,Last mod\nhttps://a.example/1,5,2026-01-02\n"),
    "a title, semicolons, quotes": ("x.csv", b'Report\nAddress;lastmod\n"HTTPS://A.example/1";2.1.2026;\n'.replace(
        b"2.1.2026;", b"2026-01-02")),
    "an unknown name": ("x.csv", b"Seite,lastmod\nhttps://a.example/1,2026-01-02\n"),
    "UTF-16 with tabs": ("x.txt", "URL\tlastmod\nhttps://a.example/1\t2026-01-02\n".encode("utf-16")),
    "gzip": ("x.csv.gz", gz(b"loc,lastmod\nhttps://a.example/1,2026-01-02\n")),
    "no suffix": ("x", b"\xef\xbb\xbfpage,lastmod\nhttps://a.example/1,2026-01-02\n"),
    "a name that is there twice": ("x.csv", b"url,Clicks,Clicks,lastmod\nhttps://a.example/1,5,6,2026-01-02\n"),
    "a row that is too short": ("x.csv", b"loc,lastmod,c\nhttps://a.example/1,2026-01-02,\nhttps://a.example/2\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_other_tools(name: str, tmp_path: Path) -> None:
    file, body = TABLES[name]
    (tmp_path / file).write_bytes(body)
    for path in (tmp_path / file, tmp_path):
        (row,) = sr.load(path).pages.to_pandas(["loc", "lastmod", "lastmod_precision"]).itertuples(index=False)
        assert tuple(row) == (f"{HOME}1", pd.Timestamp("2026-01-02", tz="UTC"), "day")


def test_what_is_left_out_is_noted(tmp_path: Path) -> None:
    rows = [(f"{HOME}1", "2026-01-02", 5), ("/2", "", 6), (None, None, 7), (f"{HOME}3", "soon", 8)]
    frame = pd.DataFrame(rows, columns=["Top pages", "lastmod", "Clicks"])
    frame.to_csv(tmp_path / "x.csv", index=False)
    for given in (frame, pl.DataFrame(frame), frame.set_index("Top pages"), tmp_path / "x.csv"):
        loaded = sr.load(given)
        assert tuple(note.removeprefix(f"{tmp_path / 'x.csv'}: ") for note in loaded.notes) == (
            "1 value left out of 'lastmod': 'soon'",
            "2 rows left out, without a URL in 'Top pages'",
            "1 column left out: Clicks",
        )
        assert loaded.pages["loc"].tolist() == [f"{HOME}1", f"{HOME}3"]
    (tmp_path / "x.csv").write_text("loc,x\nhttps://a.example/1,2\nhttps://a.example/1,2,3\n")
    assert "1 row left out, with other numbers of cells" in sr.load(tmp_path / "x.csv").notes[-1]


def test_values_that_no_sitemap_may_have_are_left_out() -> None:
    frame = pd.DataFrame({"loc": [f"{HOME}1", f"{HOME}2"], "Change freq": ["Daily", "often"], "priority": [7, 0.5]})
    loaded = sr.load(frame)
    assert loaded.notes == ("1 value left out of 'Change freq': 'often'", "1 value left out of 'priority': 7.0")
    assert [(each.changefreq, each.priority) for each in loaded] == [("daily", None), (None, 0.5)]


def test_objects_of_other_columns_do_not_matter() -> None:
    frame = pd.DataFrame({"url": [HOME, HOME], "mixed": [1, "x"], "kind": pd.Categorical(["a", "b"])})
    assert len(sr.load(frame).pages) == 1
    assert len(sr.load(frame["url"]).urls) == 2


DATES: dict[str, tuple[list[Any], list[Any]]] = {
    "days": ([date(2026, 1, 2), None], ["day", None]),
    "times": ([datetime(2026, 1, 2, 10), datetime(2026, 1, 2)], ["second", "second"]),
    "times that are days": ([datetime(2026, 1, 2), datetime(2026, 1, 3)], ["day", "day"]),
    "texts": (["2026-01", "2026-01-02T10:00+02:00"], ["month", "minute"]),
    "nothing": ([None, None], [None, None]),
}


@pytest.mark.parametrize("name", DATES)
def test_precision_of_dates_is_that_of_the_column(name: str) -> None:
    dates, precisions = DATES[name]
    loaded = sr.load(pa.table({"loc": [f"{HOME}1", f"{HOME}2"], "lastmod": dates}))
    assert loaded.urls.to_arrow()["lastmod_precision"].to_pylist() == precisions
    assert str(loaded.urls.to_arrow().schema.field("lastmod").type) == "timestamp[us, tz=UTC]"


def test_times_with_a_zone_are_converted() -> None:
    times = pd.to_datetime(["2026-01-02 10:00", "2026-01-02 11:30"]).tz_localize("Europe/Oslo")
    loaded = sr.load(pd.DataFrame({"loc": [f"{HOME}1", f"{HOME}2"], "lastmod": times}))
    assert loaded.urls["lastmod"].dt.hour.tolist() == [9, 10]


def test_site_and_time_of_a_table_are_given() -> None:
    loaded = sr.load(pd.DataFrame({"url": [HOME]}), site="mine", at="2026-01-02")
    assert (loaded.sites, loaded.read_on, loaded.name) == (("mine",), "2026-01-02", "DataFrame")
    two = sr.load(pd.DataFrame({"url": [HOME, "https://b.example/"], "site": ["a", "b"]}))
    assert two.sites == ("a", "b")
    urls = sr.load([HOME, "https://www.b.example/1", "https://www.b.example/2"])
    assert (urls.name, urls.sites, len(urls.pages)) == ("3 URLs", ("www.b.example",), 3)


WRONG: dict[str, tuple[Any, str]] = {
    "no URL": (pd.DataFrame({"a": ["x"], "b": [1]}), "no column of URLs in this table; it has a, b; name it loc"),
    "paths": (pd.DataFrame({"url": ["/x"]}), r"no URL in the column 'url': the first value is '/x'; give absolute"),
    "numbers": (pa.table({"url": [1]}), "no URL in the column 'url': the first value is '1'"),
    "a wrong value": (pd.DataFrame({"url": [HOME], "Priority": ["high"]}), "'Priority' cannot be read as double"),
    "a wrong type": (pd.DataFrame({"url": [HOME], "images": [3]}), "column 'images' cannot be read as list"),
    "an array": (pl.Series([HOME]), "this Series is no table"),
    "URLs and files": ([HOME, "x.xml"], r"is a URL, and load\(\) reads files"),
    "records and files": ([sr.UrlRecord(HOME), "x.xml"], "a path is a file, a folder or a pattern, not UrlRecord"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_table_of_urls_is_reported(name: str) -> None:
    given, message = WRONG[name]
    with pytest.raises(sr.UsageError, match=message):
        sr.load(given)


def test_keywords_for_files_are_refused_for_tables() -> None:
    frame: Any = pd.DataFrame({"url": [HOME]})
    with pytest.raises(sr.UsageError, match="at is for files"):
        sr.load(frame, at="name")
    with pytest.raises(sr.UsageError, match="scope is for files"):
        sr.load(frame, scope="host")
    with pytest.raises(sr.UsageError, match=r"sr\.load\(\) takes tables"):
        sr.snapshot(frame)


BROKEN: dict[str, tuple[str, bytes, str]] = {
    "Latin-1": ("x.csv", b"loc,title\nhttps://a.example/1,caf\xe9\n", "read as a table: .*; save it as CSV in UTF-8"),
    "cut": ("x.csv.gz", gz(b"loc\n" + b"https://a.example/1\n" * 9999)[:-20], "cannot be read as a table"),
    "no header": ("x.csv", b"https://a.example/1,5\n", "no column of URLs with a name; name it loc, in the first"),
    "no URL": ("x.tsv", b"a\tb\n1\t2\n", "has no column of URLs with a name"),
    "paths": ("x.csv", b"page,b\n/1,2\n", r"x.csv: there is no URL in the column 'page': the first value is '/1'"),
    "a template": ("x.csv", b"---\n<urlset>\n<url>\n<loc>{{ url }}</loc>\n", "the root element was not reached"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_table_is_reported(name: str, tmp_path: Path) -> None:
    file, body, message = BROKEN[name]
    (tmp_path / file).write_bytes(body)
    with pytest.raises(sr.SitemapReaderError, match=message):
        sr.load(tmp_path / file)


def test_tables_in_a_folder_do_not_matter_unless_they_have_urls(tmp_path: Path) -> None:
    kit.files(tmp_path, {"map.xml": kit.urlset(f"{HOME}1"), "a.csv": b"a,b\n1,2\n", "b.csv": b"url\n"})
    loaded = sr.load(tmp_path)
    assert loaded.complete
    assert loaded.notes == (
        "1 file left out, neither sitemap nor dump: a.csv",
        f"{tmp_path / 'b.csv'}: there is no row",
    )
