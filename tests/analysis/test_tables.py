"""The same table in pandas, polars, DuckDB and pyarrow; and the columns of parts of the URL."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import pages, snapshot_of
from tiers import examples, needs

import sitemap_reader as sr
from sitemap_reader.analysis import MAX_DIRS, url_part_columns
from sitemap_reader.analysis import url_parts as places

# --- readers of Arrow ---

RECORDS = [
    sr.UrlRecord(
        "https://www.example.co.uk/blog/first.html",
        datetime(2024, 1, 31, 8, 30, 0, 250_000, UTC),
        "subsecond",
        "daily",
        0.5,
        images=(sr.Image("https://i.example/1.jpg", "one"), sr.Image("https://i.example/2.jpg")),
        videos=(sr.Video(title="v", tag=("a", "b"), publication_date=datetime(2024, 1, 1, tzinfo=UTC)),),
        news=sr.News(title="n", keywords=("x", "y"), publication_date=datetime(2024, 1, 30, tzinfo=UTC)),
        alternates=(sr.Alternate("de", "https://de.example/"), sr.Alternate(None, "https://x.example/")),
        mobile=True,
        sitemap="https://www.example.co.uk/sitemap.xml",
        line=3,
    ),
    sr.UrlRecord("https://www.example.co.uk/"),
    sr.UrlRecord("https://other.example/a/b/c?x=1", datetime(2024, 2, 29, tzinfo=UTC), "day"),
]


@pytest.fixture
def loaded(tmp_path: Path) -> sr.Snapshot:
    return snapshot_of(tmp_path, *RECORDS, site="mine")


def by_duckdb(urls: Any) -> list[dict[str, Any]]:
    duckdb = needs("duckdb")
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        return database.sql("FROM urls").to_arrow_table().to_pylist()


READERS: dict[str, Callable[[Any], list[dict[str, Any]]]] = {
    "pandas": lambda table: pa.Table.from_pandas(pd.DataFrame.from_arrow(table), preserve_index=False).to_pylist(),
    "polars": lambda table: needs("polars").DataFrame(table).to_dicts(),
    "duckdb": by_duckdb,
    "pyarrow": lambda table: pa.table(table).to_pylist(),
}


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_each_arrow_reader_gives_the_values_of_the_records(reader: str, loaded: sr.Snapshot) -> None:
    for _ in range(2):  # the stream can be exported repeatedly
        rows = READERS[reader](loaded.urls)
        assert [row["loc"] for row in rows] == [record.loc for record in RECORDS]
        assert [row["lastmod"] for row in rows] == [record.lastmod for record in RECORDS]
        assert [row["priority"] for row in rows] == [0.5, None, None]
        assert [row["line"] for row in rows] == [3, None, None]
        assert [row["site"] for row in rows] == ["mine"] * 3
        assert [row["depth"] for row in rows] == [2, 0, 3]
        assert [row["dir_1"] for row in rows] == ["blog", None, "a"]
        first, second, _ = rows
        assert [image["loc"] for image in first["images"]] == ["https://i.example/1.jpg", "https://i.example/2.jpg"]
        assert [image["title"] for image in first["images"]] == ["one", None]
        assert [(each["hreflang"], each["href"]) for each in first["alternates"]] == [
            ("de", "https://de.example/"),
            (None, "https://x.example/"),
        ]
        assert list(first["news"]["keywords"]) == ["x", "y"]
        assert first["news"]["publication_date"] == datetime(2024, 1, 30, tzinfo=UTC)
        assert list(first["videos"][0]["tag"]) == ["a", "b"]
        assert [second[name] for name in ("images", "videos", "news", "alternates", "mobile")] == [None] * 5


def test_types_are_the_declared_ones_in_every_reader(loaded: sr.Snapshot) -> None:
    pl = needs("polars")
    assert pl.DataFrame(loaded.urls).schema["lastmod"] == pl.Datetime("us", "UTC")
    assert pd.DataFrame.from_arrow(loaded.urls)["lastmod"].dt.tz is not None
    assert pa.table(loaded.urls).schema.field("lastmod").type == pa.timestamp("us", "UTC")
    duckdb = needs("duckdb")
    with duckdb.connect() as database:
        urls = loaded.urls  # noqa: F841 - the query names it
        assert database.sql("SELECT DISTINCT typeof(lastmod) FROM urls").fetchall() == [("TIMESTAMP WITH TIME ZONE",)]


def test_duckdb_queries_a_table_by_its_variable_name(loaded: sr.Snapshot) -> None:
    urls, pages = loaded.urls, loaded.pages  # noqa: F841 - the queries name them
    duckdb = needs("duckdb")
    assert duckdb.sql("SELECT count(*), sum(len(images)) FROM urls").fetchall() == [(3, 2)]
    domains = duckdb.sql("SELECT DISTINCT domain FROM pages ORDER BY 1").fetchall()
    assert domains == [("example.co.uk",), ("other.example",)]


def test_columns_and_rows_can_be_selected(loaded: sr.Snapshot) -> None:
    frame = loaded.urls.to_pandas(["host", "loc"])
    assert list(frame.columns) == ["host", "loc"]
    assert frame["host"].tolist() == ["www.example.co.uk", "www.example.co.uk", "other.example"]
    assert loaded.urls.head(2)["loc"].tolist() == [record.loc for record in RECORDS[:2]]
    assert len(loaded.urls) == 3
    assert repr(loaded.urls).startswith("<Table of 3 rows: loc, lastmod, ")
    assert loaded.urls.to_pandas("slug")["slug"].tolist() == loaded.urls.to_pandas(["slug"])["slug"].tolist()


def test_a_table_in_a_notebook_is_its_first_rows_and_says_how_many_there_are(tmp_path: Path) -> None:
    html = snapshot_of(tmp_path, *pages(*(f"<b>{n}" for n in range(7)))).urls._repr_html_()
    assert html.count("https://a.example/&lt;b&gt;") == 5
    assert "<b>" not in html
    assert "<p>7 rows</p>" in html


# --- parts of URLs ---


def reported(*locs: str) -> dict[str, list[Any]]:
    columns = url_part_columns(pa.chunked_array([pa.array(locs, pa.string())]))
    return {name: column.to_pylist() for name, column in columns.items()}


# loc -> host, domain, path, folders, slug, extension, query_keys
Place = tuple[str | None, str | None, str | None, list[str], str | None, str | None, list[str] | None]
PLACES: dict[str, Place] = {
    "https://example.com/": ("example.com", "example.com", "/", [], None, None, None),
    "https://example.com": ("example.com", "example.com", None, [], None, None, None),
    "https://example.com?a=1": ("example.com", "example.com", None, [], None, None, ["a"]),
    "https://example.com/a": ("example.com", "example.com", "/a", [], "a", None, None),
    "https://example.com/a/": ("example.com", "example.com", "/a/", [], "a", None, None),
    "https://example.com/a/b/": ("example.com", "example.com", "/a/b/", ["a"], "b", None, None),
    "https://example.com/a/b/c": ("example.com", "example.com", "/a/b/c", ["a", "b"], "c", None, None),
    "https://example.com/a//b": ("example.com", "example.com", "/a//b", ["a", ""], "b", None, None),
    "https://example.com//": ("example.com", "example.com", "//", [], None, None, None),
    "https://www.example.co.uk/a.html": ("www.example.co.uk", "example.co.uk", "/a.html", [], "a", "html", None),
    "https://example.com/A.HTML": ("example.com", "example.com", "/A.HTML", [], "A", "html", None),
    "https://example.com/v1.2": ("example.com", "example.com", "/v1.2", [], "v1.2", None, None),
    "https://example.com/v1.2/": ("example.com", "example.com", "/v1.2/", [], "v1.2", None, None),
    "https://example.com/v1.2/a": ("example.com", "example.com", "/v1.2/a", ["v1.2"], "a", None, None),
    "https://example.com/a.tar.gz": ("example.com", "example.com", "/a.tar.gz", [], "a.tar", "gz", None),
    "https://example.com/film.mp4": ("example.com", "example.com", "/film.mp4", [], "film", "mp4", None),
    "https://example.com/film.7z": ("example.com", "example.com", "/film.7z", [], "film", "7z", None),
    "https://example.com/.htaccess": ("example.com", "example.com", "/.htaccess", [], ".htaccess", None, None),
    "https://example.com/a.": ("example.com", "example.com", "/a.", [], "a.", None, None),
    "https://example.com/mr.x-goes": ("example.com", "example.com", "/mr.x-goes", [], "mr.x-goes", None, None),
    "https://example.com/%C3%A9%2Fx": ("example.com", "example.com", "/%C3%A9%2Fx", [], "%C3%A9%2Fx", None, None),
    "https://example.com/日本/東京": ("example.com", "example.com", "/日本/東京", ["日本"], "東京", None, None),
    "https://example.com/a?x=1&y=2": ("example.com", "example.com", "/a", [], "a", None, ["x", "y"]),
    "https://example.com/a?x&y=&x=a=b": ("example.com", "example.com", "/a", [], "a", None, ["x", "y", "x"]),
    "https://example.com/a?": ("example.com", "example.com", "/a", [], "a", None, None),
    "https://example.com/a?u=https://b.example/c": ("example.com", "example.com", "/a", [], "a", None, ["u"]),
    "https://example.com/a#b/c?d=e": ("example.com", "example.com", "/a", [], "a", None, None),
    "https://example.com/a?b=c#d?e=f": ("example.com", "example.com", "/a", [], "a", None, ["b"]),
    "https://xn--mnchen-3ya.de/": ("xn--mnchen-3ya.de", "xn--mnchen-3ya.de", "/", [], None, None, None),
    "https://user:secret@example.com/a": ("example.com", "example.com", "/a", [], "a", None, None),
    "https://example.com/a@b/c": ("example.com", "example.com", "/a@b/c", ["a@b"], "c", None, None),
    "http://127.0.0.1/a": ("127.0.0.1", "127.0.0.1", "/a", [], "a", None, None),
}


@pytest.mark.parametrize("loc", PLACES)
def test_the_parts_of_a_url(loc: str) -> None:
    host, domain, path, folders, slug, extension, query_keys = PLACES[loc]
    columns = {name: column[0] for name, column in reported(loc).items()}
    assert [columns[name] for name in ("host", "path", "slug", "extension")] == [host, path, slug, extension]
    assert columns["domain"] == domain
    assert columns["query_keys"] == query_keys
    assert columns["depth"] == len(folders) + (slug is not None)
    dirs = {f"dir_{number + 1}": name for number, name in enumerate(folders)} or {"dir_1": None}
    assert {name: value for name, value in columns.items() if name.startswith("dir_")} == dirs


def test_a_port_is_part_of_the_host_and_not_of_the_domain() -> None:
    columns = reported("https://shop.example.com:8443/a", "http://127.0.0.1:8000/", "http://[::1]:80/a/b")
    assert columns["host"] == ["shop.example.com:8443", "127.0.0.1:8000", "[::1]:80"]
    assert columns["domain"][0] == "example.com"
    assert columns["path"] == ["/a", "/", "/a/b"]


def test_invalid_url_has_no_parts() -> None:
    """Dumps of other tools may hold any text."""
    locs = ["", "hello", "/a/b", "mailto:x@example.com", "//example.com/a", "?a=b", "\n", "\x00", "https//a", " "]
    columns = reported(*locs)
    for name in ("host", "domain", "path", "slug", "extension", "query_keys", "dir_1"):
        assert columns[name] == [None] * len(locs), name
    assert columns["depth"] == [0] * len(locs)


def test_hostile_urls_have_parts_too() -> None:
    columns = reported(
        "https:///a", "https://a b.example/<c>?\n=1", "ftp://a.example/x\ny.txt", "https://a\u2028b/\u2029/c"
    )
    assert columns["host"] == [None, "a b.example", "a.example", "a\u2028b"]
    assert columns["path"] == ["/a", "/<c>", "/x\ny.txt", "/\u2029/c"]
    assert columns["query_keys"] == [None, ["\n"], None, None]
    assert columns["slug"][3] == "c"


def test_empty_table_has_the_columns() -> None:
    empty = {name: column.type for name, column in url_part_columns(pa.chunked_array([], pa.string())).items()}
    usual = {name: column.type for name, column in url_part_columns(pa.chunked_array([["https://a.example/"]])).items()}
    assert empty == usual
    assert list(empty) == ["page_key", "host", "domain", "path", "depth", "dir_1", "slug", "extension", "query_keys"]


def test_rows_of_other_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    locs = [*PLACES] * 3
    whole = reported(*locs)
    monkeypatch.setattr(places, "_BATCH_ROWS", 4)
    begin = pa.array(["https://x.example/y", *locs[:50]]).slice(1)
    sliced = pa.chunked_array([begin, pa.array([], pa.string()), locs[50:]])
    assert {name: column.to_pylist() for name, column in url_part_columns(sliced).items()} == whole


names = st.text(st.characters(exclude_characters="/?#", exclude_categories=["Cs"]), min_size=1, max_size=6)


@pytest.mark.slow
@given(st.lists(st.tuples(st.lists(names, max_size=12), st.sampled_from(["", "/"])), min_size=1, max_size=5))
@settings(max_examples=examples(100), deadline=None)
def test_folders_and_the_last_name_are_the_path(paths: list[tuple[list[str], str]]) -> None:
    locs = ["https://example.com/" + "/".join(parts) + (end if parts else "") for parts, end in paths]
    columns = reported(*locs)
    for row, (parts, _) in enumerate(paths):
        assert columns["depth"][row] == len(parts)
        folders = [columns[f"dir_{level}"][row] for level in range(1, MAX_DIRS + 1) if f"dir_{level}" in columns]
        assert [name for name in folders if name is not None] == parts[:-1][:MAX_DIRS]
        slug, extension = columns["slug"][row], columns["extension"][row]
        if parts:
            assert (slug if extension is None else f"{slug}.{extension}").lower() == parts[-1].lower()
            assert parts[-1].startswith(slug)
        else:
            assert (slug, extension) == (None, None)
