"""A Table is indexed like a frame, and queried by SQL under its own name."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from recorded import snapshot_of
from tiers import needs

import sitemap_reader as sr

LATE = datetime(2024, 1, 31, 23, 30, tzinfo=UTC)
LINES = [
    sr.UrlRecord("https://a.example/blog/1", LATE, "second", priority=0.5, images=(sr.Image("i"),)),
    sr.UrlRecord("https://a.example/blog/1", sitemap="again"),
    sr.UrlRecord("https://a.example/2"),
    sr.Outcome("https://a.example/sitemap.xml"),
    sr.Problem("F01", "error", "404 Not Found", "https://a.example/s.xml"),
]
COUNTS = {"urls": 3, "pages": 2, "sitemaps": 1, "problems": 1}


@pytest.fixture
def site(tmp_path: Path) -> sr.Snapshot:
    return snapshot_of(tmp_path, *LINES, site="mine")


# --- a frame ---


def test_a_name_gives_a_series_and_a_list_of_names_a_frame(site: sr.Snapshot) -> None:
    locs = site.urls["loc"]
    assert type(locs) is pd.Series
    assert locs.tolist() == [line.loc for line in LINES[:3] if isinstance(line, sr.UrlRecord)]
    assert locs.name == "loc"
    frame = site.urls[["loc", "slug"]]
    assert type(frame) is pd.DataFrame
    assert list(frame.columns) == ["loc", "slug"]
    assert frame["slug"].tolist() == ["1", "1", "2"]
    assert site.urls["lastmod"].iloc[0] == LATE
    assert list(site.urls[[]].columns) == []


def test_shape_and_columns(site: sr.Snapshot) -> None:
    assert site.urls.shape == (3, len(site.urls.columns)) == site.urls.to_pandas().shape
    assert site.pages.shape[0] == len(site.pages) == 2
    assert "slug" in site.urls
    assert "loc" in site.urls
    assert "colour" not in site.urls
    assert 0 not in site.urls


@pytest.mark.parametrize("key", [0, slice(0, 2), ("loc", "lastmod"), ["loc", 1], None, True], ids=str)
def test_what_is_no_column_is_refused_with_what_to_use(key: Any, site: sr.Snapshot) -> None:
    reported = r'^a Table is indexed by columns, such as \["loc"\].*to_pandas\(\) or sql\(\)$'
    with pytest.raises(sr.UsageError, match=reported):
        site.urls[key]


def test_an_unknown_column_is_refused_with_those_there_are(site: sr.Snapshot) -> None:
    for key in ("colour", ["loc", "colour"]):
        with pytest.raises(sr.UsageError, match=r"there is no column 'colour'; there are loc, lastmod, "):
            site.urls[key]  # type: ignore[call-overload]


def test_rows_are_iterated_as_dicts(site: sr.Snapshot) -> None:
    rows = list(site.urls)
    assert rows == site.urls.to_arrow().to_pylist()
    assert pd.DataFrame(site.urls)["loc"].tolist() == [row["loc"] for row in rows]


def test_completion_shows_what_users_need(site: sr.Snapshot) -> None:
    assert {"is_named", "is_of_one_site", "numbered", "kept"}.isdisjoint(dir(site))
    assert {"stored", "extended"}.isdisjoint(dir(site.urls))
    assert {"compare", "checks", "client"}.isdisjoint(dir(sr))
    assert {"load", "diff", "Measure", "fetch", "watching"} <= {*dir(sr)}
    assert {"urls", "tree", "earlier"} <= {*dir(site)}
    assert "to_pandas" in dir(site.urls)


@pytest.mark.slow
def test_to_polars_has_the_rows_and_types(site: sr.Snapshot) -> None:
    pl = needs("polars")
    frame = site.urls.to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert frame.schema["lastmod"] == pl.Datetime("us", "UTC")
    assert frame["lastmod"].to_list() == [LATE, None, None]
    assert frame.columns == site.urls.columns


def test_nested_columns_of_pandas_keep_their_types(site: sr.Snapshot) -> None:
    frame = site.to_pandas()
    assert [each["loc"] for each in frame["images"].iloc[0]] == ["i"]
    assert frame["images"].list.len().fillna(0).tolist() == [1, 0, 0]
    assert site.urls.head()["images"].dtype == site.urls["images"].dtype == frame["images"].dtype
    assert len(frame.drop_duplicates("loc")) == 2
    pl = needs("polars")
    assert dict(pl.from_pandas(frame).schema["images"].inner.to_schema())["title"] == pl.String


def test_derived_columns_are_computed_once_for_urls_and_pages(tmp_path: Path) -> None:
    loaded = snapshot_of(tmp_path, LINES[0])
    slugs = [table.to_arrow("slug")["slug"].chunk(0) for table in (loaded.pages, loaded.urls)]
    assert slugs[0].buffers()[2].address == slugs[1].buffers()[2].address
    assert (loaded.pages.name, loaded.urls.name) == ("pages", "urls")


def test_a_snapshot_whose_tables_are_loaded_is_pickled(site: sr.Snapshot) -> None:
    assert len(site.pages["loc"]) == 2
    again = pickle.loads(pickle.dumps(site))  # noqa: S301
    assert again.pages["slug"].tolist() == site.pages["slug"].tolist()


def test_a_table_names_the_way_to_methods_of_a_frame(site: sr.Snapshot) -> None:
    for name in ("to_csv", "to_excel", "groupby"):
        with pytest.raises(AttributeError, match=rf"a Table has no {name}: use \.to_pandas\(\)"):
            getattr(site.urls, name)
    assert not hasattr(site.pages, "iloc")


# --- SQL ---


@pytest.mark.parametrize("name", COUNTS)
def test_a_table_is_queried_by_its_own_name(name: str, site: sr.Snapshot) -> None:
    needs("duckdb")
    table = getattr(site, name)
    query = f"SELECT count(*) AS n FROM {name}"  # noqa: S608
    for result in (table.sql(query), site.sql(query), site.sql(query.upper())):
        assert type(result) is pd.DataFrame
        assert result.iloc[0, 0] == COUNTS[name]
    other = next(each for each in COUNTS if each != name)
    with pytest.raises(sr.UsageError, match=rf"^DuckDB refuses the query; the tables are {name}: .*{other}"):
        table.sql(f"SELECT * FROM {other}")  # noqa: S608


def test_tables_are_joined(site: sr.Snapshot) -> None:
    needs("duckdb")
    result = site.sql("SELECT p.slug, count(*) AS listings FROM pages p JOIN urls u USING (loc) GROUP BY 1 ORDER BY 1")
    assert result.to_dict("list") == {"slug": ["1", "2"], "listings": [2, 1]}


def test_only_the_named_tables_are_computed(site: sr.Snapshot) -> None:
    needs("duckdb")
    site.sql("SELECT count(*) FROM problems")
    assert "urls" not in vars(site)


def test_days_are_those_of_utc_and_need_no_pytz(site: sr.Snapshot) -> None:
    needs("duckdb")
    query = "SELECT lastmod, CAST(lastmod AS DATE) AS day, hour(lastmod) AS hour FROM urls WHERE lastmod IS NOT NULL"
    row = site.sql(query).iloc[0]
    assert row["lastmod"] == LATE
    assert row["day"] == pd.Timestamp(2024, 1, 31)
    assert row["hour"] == 23


QUERY = """
import sys, os, time
os.environ["TZ"] = "Pacific/Auckland"; time.tzset()
sys.modules["pytz"] = None
import sitemap_reader as sr
site = sr.load(sys.argv[1])
query = "SELECT strftime(max(lastmod), '%Y-%m-%d %H:%M') AS text, max(lastmod) AS time FROM urls"
print(site.sql(query).iloc[0].tolist())
print(site.urls.to_polars()["lastmod"].max())
"""


@pytest.mark.slow
def test_the_time_zone_of_the_machine_does_not_matter(tmp_path: Path, site: sr.Snapshot) -> None:
    needs("duckdb"), needs("polars")
    ran = subprocess.run([sys.executable, "-c", QUERY, site.name], capture_output=True, text=True, check=True)
    shown = "['2024-01-31 23:30', Timestamp('2024-01-31 23:30:00+0000', tz='UTC')]"
    assert ran.stdout.splitlines() == [shown, "2024-01-31 23:30:00+00:00"]


def test_wrong_queries_are_reported(site: sr.Snapshot) -> None:
    needs("duckdb")
    with pytest.raises(sr.UsageError, match=r"the tables are urls, pages, sitemaps, problems, history: .*colour"):
        site.sql("SELECT colour FROM urls")
    with pytest.raises(sr.UsageError, match=r"^DuckDB refuses the query; .*(?i:syntax)"):
        site.urls.sql("SELEKT")
    with pytest.raises(sr.UsageError, match=r"^the query returns no rows: sql\(\) takes a SELECT$"):
        site.sql("-- nothing")
    for query in (None, 5, b"SELECT 1"):
        with pytest.raises(sr.UsageError, match=r"^sql\(\) takes a query of urls as text, and not "):
            site.urls.sql(query)  # type: ignore[arg-type]


MISSING: dict[str, tuple[Callable[[sr.Snapshot], object], str, str]] = {
    "sql of a table": (lambda site: site.urls.sql("SELECT 1"), "duckdb", r"sql\(\) needs DuckDB"),
    "sql of a snapshot": (lambda site: site.sql("SELECT 1"), "duckdb", r"sql\(\) needs DuckDB"),
    "to_polars": (lambda site: site.urls.to_polars(), "polars", r"to_polars\(\) needs polars"),
    "to_pandas": (lambda site: site.urls.to_pandas(), "pandas", r"to_pandas\(\) needs pandas"),
    "a column": (lambda site: site.urls["loc"], "pandas", r"to_pandas\(\) needs pandas"),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_package_is_named_with_its_installation(
    name: str, site: sr.Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, package, reported = MISSING[name]
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(sr.UsageError, match=rf"^{reported}: pip install 'sitemap-reader\[analysis\]'"):
        ask(site)
