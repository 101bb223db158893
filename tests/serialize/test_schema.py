"""The declared schemas: every line conforms, and a dump read with them has the values of its records.

Type inference fails on the dump: 30,000 plain lines, and nested values only at the end.
"""

import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import attrs
import jsonschema
import pytest
from corpus_cases import CORPUS, record_of_everything
from tiers import needs

import sitemap_reader as sr
from sitemap_reader import Change, schema
from sitemap_reader.client import SummaryBuilder
from sitemap_reader.model import (
    NESTED,
    Attribute,
    PlayerLoc,
    Price,
    Restriction,
    Segment,
    TvShow,
    Uploader,
    VideoId,
    is_object,
    item_of,
    report,
    without_null,
)
from sitemap_reader.serialize import TYPES, Language, keys_of, line_type

RECORDS = (sr.UrlRecord, *TYPES.values())
COLUMNS = [*keys_of(line_type(sr.UrlRecord))]
# Keys that only some lines have.
SOMETIMES = {*NESTED, "problems", "site"}


# --- records ---

MOMENT = datetime(2026, 10, 31, 23, 59, 59, 250_001, UTC)
VIDEO = sr.Video(
    thumbnail_loc="https://example.com/1.jpg",
    title="Grüße, 世界 🎬",
    description='says "yes", \\ and \u2028',
    content_loc="https://cdn.example/1.mp4",
    player_loc=PlayerLoc(value="https://example.com/player?v=1", allow_embed=True, autoplay="ap=1"),
    duration=28_800,
    content_segment_loc=(
        Segment(value="https://cdn.example/1a.mp4", duration=300),
        Segment(value="https://cdn.example/1b.mp4", duration=None),
    ),
    expiration_date=datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC),
    expiration_date_precision="subsecond",
    publication_date=datetime(2025, 11, 5, tzinfo=UTC),
    publication_date_precision="day",
    rating=4.2,
    view_count=999_999_999_999_999_999,
    family_friendly=False,
    tag=("steak", "grill", "été"),
    category="Cooking",
    restriction=Restriction(value="IE GB", relationship="allow"),
    platform=Restriction(value="web tv", relationship="deny"),
    gallery_loc={"value": "https://example.com/videos", "title": "All films"},
    price=(
        Price(value=1.99, currency="EUR", type="rent", resolution="hd"),
        Price(value=123456789.12345679, currency=None, type=None, resolution=None),
    ),
    requires_subscription=True,
    uploader=Uploader(value="Alkis", info="https://example.com/users/alkis"),
    live=False,
    tvshow=TvShow(
        show_title="Fire",
        video_type="full",
        episode_title="2024-01-31T08:30:00Z",  # text, whatever it looks like
        season_number=2,
        episode_number=7,
        premier_date=datetime(2025, 11, 1, tzinfo=UTC),
        premier_date_precision="month",
    ),
    id=(VideoId(value="SH012345", type="tms:series"), VideoId(value="1", type=None)),
)
NEWS = sr.News(
    name="The Example Times", language="zh-cn", title="Companies A, B in merger talks",
    publication_date=datetime(2026, 10, 31, 22, 59, tzinfo=UTC), publication_date_precision="minute",
    keywords=("business", "merger"), genres=("PressRelease", "Blog"), stock_tickers=("NASDAQ:A", "NASDAQ:B"),
    access="Subscription", geo_targeting="London, United Kingdom", amp="https://example.com/amp",
)
WHOLE = attrs.evolve(
    record_of_everything(),
    loc="https://example.com/whole",
    lastmod=MOMENT,
    lastmod_precision="subsecond",
    changefreq="daily",
    priority=0.1,
    images=(
        sr.Image("https://example.com/1.png", "Title", "Caption", "Limerick, Ireland", "https://example.com/license"),
        sr.Image("https://example.com/2.png"),
    ),
    videos=(VIDEO, sr.Video()),
    news=NEWS,
    alternates=(
        sr.Alternate("de-CH", "https://example.com/de-ch/", "only screen"),
        sr.Alternate(None, "https://m.example.com/"),
    ),
    extras=(
        sr.Extra("https://shop.example/ns", "stock", "7", (Attribute("unit", "pair"), Attribute("{urn:x}lang", ""))),
        sr.Extra("", "bare"),
    ),
    sitemap="https://example.com/sitemap.xml",
    line=1_000_000,
    problems=(report("D01", "no date", field="lastmod", raw="Mon"), report("S10", "repeated")),
)
EARLY = [
    (sr.UrlRecord(f"https://example.com/é/{number}", moment, precision, "weekly", 0.7, sitemap="s", line=number), None)
    for number, (moment, precision) in enumerate(
        [
            (datetime(2024, 1, 1, tzinfo=UTC), "year"),
            (datetime(2024, 2, 1, tzinfo=UTC), "month"),
            (datetime(2024, 2, 29, 1, 2, 3, 500_000, UTC), "subsecond"),
        ]
        * 10_000,
        start=1,
    )
]
LATE = [
    (sr.UrlRecord("https://example.com/", datetime(1, 1, 1, tzinfo=UTC), "year"), None),
    (sr.UrlRecord("https://example.com/empty", news=sr.News(), videos=(sr.Video(),)), "example.com"),
    (sr.UrlRecord("https://example.com/mobile", priority=1.0, mobile=True), "example.com"),
    (WHOLE, "https://example.com/"),
]
EMPTY_SUMMARY = SummaryBuilder().summary()
OTHERS = (
    sr.SitemapRef("https://example.com/a.xml", MOMENT, "subsecond", "https://example.com/", 3, WHOLE.problems),
    sr.SitemapRef("https://example.com/b.xml"),
    sr.Problem("F01", "error", "404 Not Found", "https://example.com/a.xml", 3, "loc", "raw"),
    sr.Outcome(),
    sr.Outcome(
        url="https://example.com/a.xml", final_url="https://example.com/b.xml", parents=["https://example.com/"],
        why="well-known", format="urlset", status=200, dropped={"host": 1}, etag='"1"',
        last_modified="Sat, 31 Oct 2026 00:00:00 GMT", sha256="0" * 64, seconds=0.25, problems={"U04": 1},
        samples=(report("U04", "on another host"),), tries=3,
    ),
    EMPTY_SUMMARY,
    attrs.evolve(EMPTY_SUMMARY, dropped={"host": 1}, pruned={"since": 2}, since=MOMENT),
    sr.Candidate("https://example.com/a.xml", "robots", 404, "html", "F01 404 Not Found"),
    sr.Candidate("https://example.com/b.xml", "index"),
    Change("new", WHOLE),
    Change("updated", WHOLE, ("lastmod", "images"), MOMENT, "subsecond"),
    Change("updated", sr.UrlRecord("https://example.com/"), ("lastmod", "lastmod_precision")),
    Change("removed", WHOLE),
)


def values_of(record: sr.UrlRecord, site: str | None) -> dict[str, Any]:
    """The expected value of each column: None if the line lacks the key."""
    values = {name: plain(getattr(record, name)) for name in COLUMNS if name != "site"}
    short = [{"code": each.code, "field": each.field, "raw": each.raw} for each in record.problems]
    values |= {"problems": short, "site": site}
    return {name: (value or None) if name in SOMETIMES else value for name, value in values.items()}


def plain(value: Any) -> Any:
    if attrs.has(type(value)):
        return {field.name: plain(getattr(value, field.name)) for field in attrs.fields(type(value))}
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return {name: plain(each) for name, each in value.items()} if isinstance(value, dict) else value


def in_naive_utc(value: Any) -> Any:
    """DuckDB's TIMESTAMP has no zone."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, list):
        return [in_naive_utc(each) for each in value]
    return {name: in_naive_utc(each) for name, each in value.items()} if isinstance(value, dict) else value


# --- readers, each with the printed schema ---


def by_duckdb(path: Path) -> list[dict[str, Any]]:
    duckdb = needs("duckdb")
    with duckdb.connect() as connection:
        query = f"FROM read_json('{path}', format='newline_delimited', columns={schema('duckdb')})"
        found = connection.sql(query)
        return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


def by_polars(path: Path) -> list[dict[str, Any]]:
    pl = needs("polars")
    return pl.read_ndjson(path, schema=eval(schema("polars"), {"pl": pl})).to_dicts()  # noqa: S307


def by_lazy_polars(path: Path) -> list[dict[str, Any]]:
    pl = needs("polars")
    return pl.scan_ndjson(path, schema=eval(schema("polars"), {"pl": pl})).collect().to_dicts()  # noqa: S307


def by_arrow(path: Path) -> list[dict[str, Any]]:
    pa = pytest.importorskip("pyarrow")
    reader = pytest.importorskip("pyarrow.json")
    explicit = eval(schema("arrow"), {"pa": pa})  # noqa: S307
    options = reader.ParseOptions(explicit_schema=explicit, unexpected_field_behavior="error")
    table = reader.read_json(path, parse_options=options)
    assert table.schema == explicit
    return table.to_pylist()


READERS = {"duckdb": by_duckdb, "polars": by_polars, "polars-lazy": by_lazy_polars, "arrow": by_arrow}
every_reader = pytest.mark.parametrize("name", READERS)


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dump") / "late.jsonl"
    path.write_bytes(b"".join(sr.json_line(record, site=site) for record, site in EARLY + LATE))
    return path


@pytest.fixture(scope="module")
def dumped_values() -> list[dict[str, Any]]:
    return [values_of(record, site) for record, site in EARLY + LATE]


@pytest.mark.slow
@every_reader
def test_late_columns_and_nested_values_survive(
    name: str, dump: Path, dumped_values: list[dict[str, Any]]
) -> None:
    rows, expected = READERS[name](dump), dumped_values
    if name == "duckdb":
        expected = in_naive_utc(expected)
    assert len(rows) == len(expected)
    for row, wanted in zip(rows, expected, strict=True):
        assert row == wanted
    assert list(rows[0]) == COLUMNS


@every_reader
def test_a_recorded_shop_is_read_whole(name: str) -> None:
    path = CORPUS / "sites" / "shop.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows = READERS[name](path)
    assert [row["loc"] for row in rows] == [line["loc"] for line in lines]
    for key in ("images", "alternates", "news"):
        assert [bool(row[key]) for row in rows] == [key in line for line in lines]
        assert any(row[key] for row in rows)


def test_changes_have_columns_of_their_own_and_may_be_none(tmp_path: Path) -> None:
    duckdb = needs("duckdb")
    path = tmp_path / "changes.jsonl"
    columns = [*keys_of(line_type(Change))]
    for changes in ([each for each in OTHERS if isinstance(each, Change)], []):
        path.write_bytes(b"".join(map(sr.json_line, changes)))
        with duckdb.connect() as connection:
            types = schema("duckdb", of="changes")
            found = connection.sql(f"FROM read_json('{path}', format='newline_delimited', columns={types})")
            assert found.columns == columns
            rows = found.fetchall()
        assert [row[1] for row in rows] == [each.change for each in changes]


@pytest.mark.slow
def test_duckdb_without_a_schema_loses_late_columns(dump: Path) -> None:
    duckdb = needs("duckdb")
    with duckdb.connect() as connection:
        guessed = connection.sql(f"FROM read_json('{dump}', sample_size=20_480)")  # its default
        assert set(COLUMNS) - set(guessed.columns) == SOMETIMES


def test_polars_without_a_schema_loses_late_columns(dump: Path) -> None:
    pl = needs("polars")
    guessed = pl.read_ndjson(dump, infer_schema_length=100)  # its default
    assert set(COLUMNS) - set(guessed.columns) == SOMETIMES


def test_the_late_lines_state_every_value() -> None:
    """Otherwise a new field would only be compared with None."""
    form = sr.to_dict(WHOLE, site="example.com")
    assert silent(form, line_type(sr.UrlRecord)) == []


def silent(form: Any, hint: Any, path: str = "line") -> list[str]:
    """Places where the first of a list, or the only value, is empty."""
    hint = without_null(hint)
    if form is None or form == []:
        return [path]
    if item := item_of(hint):
        return silent(form[0], item, path)
    keys = keys_of(hint) if is_object(hint) else {}
    return [each for name, key in keys.items() for each in silent(form[name], key, f"{path}.{name}")]


# --- the types and the lines ---


def every_item() -> list[Any]:
    return [*(record for record, _ in LATE), *OTHERS]


def order_faults(form: Any, hint: Any, path: str = "line") -> list[str]:
    """Places whose keys are not those of the type, in its order."""
    hint = without_null(hint)
    if item := item_of(hint):
        return [fault for each in form for fault in order_faults(each, item, f"{path}[]")]
    if form is None or not is_object(hint):
        return []
    wanted = [name for name in keys_of(hint) if name in form or name not in optional(hint)]
    found = [f"{path}: {list(form)}"] if list(form) != wanted else []
    for name, key in keys_of(hint).items():
        if name in form:
            found += order_faults(form[name], key, f"{path}.{name}")
    return found


def optional(hint: Any) -> frozenset[str]:
    return getattr(hint, "__optional_keys__", frozenset())


@pytest.mark.parametrize("item", every_item(), ids=lambda item: type(item).__name__)
@pytest.mark.parametrize("site", [None, "example.com"])
def test_types_have_the_keys_of_the_lines_in_their_order(item: Any, site: str | None) -> None:
    assert order_faults(sr.to_dict(item, site=site), line_type(type(item))) == []


def test_every_kind_of_line_is_among_the_items() -> None:
    assert {type(item) for item in every_item()} == set(RECORDS)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_optional_keys_are_never_null(record: type) -> None:
    keys = keys_of(line_type(record)).items()
    both = [name for name, hint in keys if name in optional(line_type(record)) and without_null(hint) is not hint]
    assert both == (["line", "previous_lastmod", "previous_lastmod_precision"] if record is Change else [])


# --- JSON Schema ---

JSON_SCHEMA = json.loads(schema("json"))


def misfits(line: Any, name: str = "") -> list[str]:
    """The violations of the JSON Schema, or of its definition of `name`."""
    rules = {"$ref": f"#/$defs/{name}", "$defs": JSON_SCHEMA["$defs"]} if name else JSON_SCHEMA
    validator = jsonschema.Draft202012Validator(rules)
    return [each.message for each in validator.iter_errors(line)]


# Those of audit/ are findings, which are no lines of a dump.
EXPECTATIONS = sorted(path for path in CORPUS.glob("*/*.jsonl") if path.parent.name != "audit")


@pytest.mark.slow
def test_every_line_of_the_corpus_fits_the_json_schema() -> None:
    assert EXPECTATIONS
    for path in EXPECTATIONS:
        for line in path.read_text("utf-8").splitlines():
            assert misfits(json.loads(line)) == [], path


@pytest.mark.parametrize("item", every_item(), ids=lambda item: type(item).__name__)
def test_every_kind_of_line_fits_one_part_of_the_json_schema(item: Any) -> None:
    for site in (None, "example.com"):
        line = json.loads(sr.json_line(item, site=site))
        assert misfits(line) == []
        assert misfits(line, type(item).__name__) == []


UNFIT: dict[str, tuple[Any, dict[str, Any]]] = {
    "a loc of null": (WHOLE, {"loc": None}),
    "a number as text": (WHOLE, {"priority": "0.5"}),
    "a fraction of a line": (WHOLE, {"line": 1.5}),
    "a boolean for a number": (WHOLE, {"line": True}),
    "a date alone": (WHOLE, {"lastmod": "2026-10-31"}),
    "a date with an offset": (WHOLE, {"lastmod": "2026-10-31T00:00:00+00:00"}),
    "a date with trailing zeros": (WHOLE, {"lastmod": "2026-10-31T00:00:00.250Z"}),
    "an unknown precision": (WHOLE, {"lastmod_precision": "week"}),
    "an unknown key": (WHOLE, {"lastMod": None}),
    "images of null": (WHOLE, {"images": None}),
    "an image without its keys": (WHOLE, {"images": [{"loc": "https://example.com/1.png"}]}),
    "an object for a list": (WHOLE, {"videos": {}}),
    "extras whose attributes are an object": (
        WHOLE,
        {"extras": [{"namespace": "n", "name": "a", "text": None, "attributes": {"unit": "pair"}}]},
    ),
    "a problem in full": (WHOLE, {"problems": [sr.to_dict(OTHERS[2])]}),
    "a type that is none": (WHOLE, {"type": "url"}),
    "an unknown severity": (OTHERS[2], {"severity": "fatal"}),
    "an unknown why": (OTHERS[3], {"why": "guess"}),
    "a count that is text": (OTHERS[4], {"dropped": {"host": "1"}}),
    "an unknown change": (OTHERS[-1], {"change": "moved"}),
    "previous dates that are no dates": (OTHERS[-2], {"previous_lastmod": "2024"}),
    "authorities, which lines do not have": (OTHERS[0], {"authorities": []}),
    "samples, which lines do not have": (OTHERS[4], {"samples": []}),
}


@pytest.mark.parametrize("name", UNFIT)
def test_invalid_line_does_not_fit_the_json_schema(name: str) -> None:
    item, change = UNFIT[name]
    line = json.loads(sr.json_line(item))
    assert misfits({**line, **change}) != []


@pytest.mark.parametrize("item", every_item(), ids=lambda item: type(item).__name__)
def test_no_key_that_is_always_there_may_be_missing(item: Any) -> None:
    whole = json.loads(sr.json_line(item))
    for name in keys_of(line_type(type(item))):
        line = copy.copy(whole)
        line.pop(name, None)
        assert (not misfits(line)) == (name in optional(line_type(type(item)))), name


# --- languages ---


def test_every_language_has_a_schema() -> None:
    assert [bool(schema(language)) for language in get_args(Language)] == [True] * 4


def test_an_unknown_language_is_named_with_those_there_are() -> None:
    with pytest.raises(sr.UsageError, match=r"^there is no schema for 'sql'; there is one for json, duckdb, polars, a"):
        schema("sql")  # type: ignore[arg-type]
    with pytest.raises(sr.UsageError, match=r"^there is no schema of 'all'; there is one of urls, changes"):
        schema("polars", of="all")  # type: ignore[arg-type]
