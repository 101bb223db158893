"""write(): streams and other items to files of all formats, and what a file has when something fails."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from changing_sites import Document, World, entries
from kit import run

import sitemap_reader as sr

SHOP = Path(__file__).parents[2] / "corpus" / "sites" / "shop"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def site() -> World:
    return World({"a.xml": Document(entries("a1", "a2")), "b.xml": Document(entries("b1"))}, listed=["a.xml", "b.xml"])


def locs(path: Path) -> list[str]:
    return [json.loads(line)["loc"] for line in path.read_bytes().splitlines()]


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- what is written ---


@pytest.mark.parametrize("name", [
    "urls.jsonl", "urls.ndjson.gz", "urls.csv", "urls.csv.zst", "urls.tsv", "urls.txt", "urls.txt.gz", "urls.parquet",
])
def test_a_stream_is_written_as_dump_writes_it(tmp_path: Path, name: str) -> None:
    path, by_dump = tmp_path / name, tmp_path / f"by-dump-{name}"
    assert sr.write(sr.urls(SHOP, concurrency=1), path) == 640
    run("dump", SHOP, "--concurrency", "1", "-q", "-o", by_dump)
    assert path.read_bytes() == by_dump.read_bytes()
    records = tmp_path / f"records-{name}"
    assert sr.write(iter(list(sr.urls(SHOP, concurrency=1))), records) == 640
    if name.endswith((".jsonl", ".csv", ".tsv", ".txt")):  # others have blocks of other sizes
        assert records.read_bytes() == path.read_bytes()


def test_fields_and_format(tmp_path: Path) -> None:
    path = tmp_path / "urls"
    assert sr.write(sr.urls(SHOP, limit=2), path, format="csv", fields=["priority", "loc"]) == 2
    header, *rows = path.read_text().splitlines()
    assert header == "priority,loc"
    assert len(rows) == 2


def test_what_load_returns_is_written(tmp_path: Path) -> None:
    sr.write(sr.urls(SHOP, concurrency=1), tmp_path / "a.jsonl")
    assert sr.write(sr.load(tmp_path / "a.jsonl"), tmp_path / "b.jsonl") == 640
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert sr.write(sr.snapshot(SHOP), tmp_path / "c.txt") == 640


def test_the_rest_of_a_stream_that_has_begun(tmp_path: Path, site: World) -> None:
    stream = sr.urls(SHOP)
    first = next(iter(stream))
    assert sr.write(stream, tmp_path / "rest.jsonl") == 639
    assert first.loc not in locs(tmp_path / "rest.jsonl")
    with pytest.raises(sr.UsageError, match="this stream was read to its end"):
        sr.write(stream, tmp_path / "rest.jsonl")
    assert len(locs(tmp_path / "rest.jsonl")) == 639


def test_summary_and_problems_of_the_stream_stay(tmp_path: Path) -> None:
    stream = sr.urls(SHOP, limit=5)
    assert sr.write(stream, tmp_path / "a.jsonl") == 5
    assert (stream.summary.urls, stream.complete) == (5, True)


# --- changes ---


def test_changes_are_written_as_sync_writes_them(tmp_path: Path, site: World, state: Path) -> None:
    path = tmp_path / "changes.jsonl"
    assert sr.write(site.changes(state), path) == 3
    assert {(line["type"], line["change"]) for line in map(json.loads, path.read_text().splitlines())} == {
        ("change", "new")
    }
    del site.documents["a.xml"].entries["https://shop.example/a2"]
    site.documents["b.xml"].entries = entries("b1", priority="0.5")
    assert sr.write(site.changes(state), tmp_path / "next.csv") == 2
    header, *rows = (tmp_path / "next.csv").read_text().splitlines()
    assert header.startswith("change,loc,lastmod,")
    assert [row.split(",")[:2] for row in rows] == [
        ["updated", "https://shop.example/b1"],
        ["removed", "https://shop.example/a2"],
    ]
    assert sr.write(site.changes(state), tmp_path / "none.tsv") == 0
    assert (tmp_path / "none.tsv").read_text().startswith("change\tloc\t")


def test_changes_are_in_the_file_before_they_count_as_delivered(
    tmp_path: Path, site: World, state: Path
) -> None:
    """In place: a process that is killed leaves the lines whose delivery is in the state."""
    path = tmp_path / "changes.csv"
    seen = []

    def note(document: object) -> None:
        seen.append(path.read_text().count("new,") if path.exists() else 0)

    assert sr.write(site.changes(state, on_document=note), path) == 3
    assert seen[-1] == 3


@pytest.mark.parametrize("name", ["changes.jsonl.gz", "changes.txt", "changes.csv.zst"])
def test_changes_in_each_format(tmp_path: Path, site: World, state: Path, name: str) -> None:
    assert sr.write(site.changes(state), tmp_path / name) == 3


@pytest.mark.parametrize(("arguments", "message"), [
    ({"path": "changes.parquet"}, "a Parquet file that a kill cuts cannot be read"),
    ({"path": "changes.csv", "fields": ["loc"]}, "fields is for URLs only; a change has all"),
])
def test_what_would_lose_changes_requests_nothing(
    tmp_path: Path, site: World, state: Path, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(sr.UsageError, match=message):
        sr.write(site.changes(state), **{**arguments, "path": tmp_path / arguments["path"]})
    assert site.times_requested == 0
    assert len(list(site.changes(state))) == 3


def test_differences_are_written(tmp_path: Path) -> None:
    a, b = sr.UrlRecord("https://e.example/a"), sr.UrlRecord("https://e.example/b")
    with sr.diff([a], [b]) as changes:
        assert sr.write(changes, tmp_path / "changes.jsonl") == 2
    with sr.diff([a], [b]) as changes:  # no state counts them as delivered
        assert sr.write(changes, tmp_path / "changes.parquet") == 2
    assert {json.loads(line)["change"] for line in (tmp_path / "changes.jsonl").read_text().splitlines()} == {
        "new", "removed"
    }  # fmt: skip


# --- what a file has after a failure ---


class Failed(Exception):
    pass


def failing(count: int) -> Iterator[sr.UrlRecord]:
    for number in range(count):
        yield sr.UrlRecord(f"https://e.example/{number}")
    raise Failed


@pytest.mark.parametrize("name", ["urls.jsonl", "urls.csv.gz", "urls.parquet"])
def test_an_exception_keeps_what_was_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("before")
    with pytest.raises(Failed):
        sr.write(failing(3), tmp_path / name)
    assert len(sr.load(tmp_path / name).urls) == 3
    assert files(tmp_path) == [name]


@pytest.mark.parametrize("name", ["urls.jsonl", "urls.csv.gz", "urls.parquet"])
def test_a_run_that_read_nothing_leaves_the_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("before")
    with pytest.raises(Failed):
        sr.write(failing(0), tmp_path / name)
    nothing = World(listed=["none.xml"])
    with pytest.raises(sr.NothingReadable):
        sr.write(sr.urls("https://shop.example", fetcher=nothing, limits=sr.Limits(tries=1)), tmp_path / name)
    assert (tmp_path / name).read_text() == "before"
    assert files(tmp_path) == [name]


def test_no_url_is_a_file_without_lines(tmp_path: Path) -> None:
    assert sr.write([], tmp_path / "none.csv") == 0
    assert (tmp_path / "none.csv").read_text().startswith("loc,lastmod,")
    (tmp_path / "none.jsonl").write_text("before")
    assert sr.write(sr.urls(SHOP, include=["nowhere"]), tmp_path / "none.jsonl") == 0
    assert (tmp_path / "none.jsonl").read_text() == ""


def test_the_file_stays_as_it_was_until_the_end(tmp_path: Path) -> None:
    path = tmp_path / "urls.jsonl"
    path.write_text("before")

    def items() -> Iterator[sr.UrlRecord]:
        yield sr.UrlRecord("https://e.example/")
        assert path.read_text() == "before"

    assert sr.write(items(), path) == 1
    assert locs(path) == ["https://e.example/"]


# --- wrong arguments ---


def test_wrong_arguments_request_nothing(tmp_path: Path, site: World) -> None:
    def stream() -> sr.Stream[sr.UrlRecord]:
        return sr.urls("https://shop.example", fetcher=site)

    wrong = {
        "the suffix of .*urls.xml is no format; give `format`, or a name in .jsonl": {"path": tmp_path / "urls.xml"},
        "there is no format 'xml'; there are jsonl": {"path": tmp_path / "urls", "format": "xml"},
        "Parquet is compressed already; give a name in .parquet": {"path": tmp_path / "urls.parquet.gz"},
        "fields: there is no lok; there are loc, lastmod": {"path": tmp_path / "urls.csv", "fields": ["lok"]},
        "txt is the locs alone, without fields": {"path": tmp_path / "urls.txt", "fields": ["loc"]},
        "path is the name of a file, and empty": {"path": "", "format": "csv"},
    }
    for message, arguments in wrong.items():
        with pytest.raises(sr.UsageError, match=message):
            sr.write(stream(), **arguments)  # type: ignore[arg-type]
    with pytest.raises(OSError, match="none"):
        sr.write(stream(), tmp_path / "none" / "urls.csv")
    assert (site.times_requested, files(tmp_path)) == (0, [])


@pytest.mark.parametrize(("items", "message"), [
    (5, "items is a stream, or an iterable of UrlRecords or Changes, not 5"),
    ([[sr.UrlRecord("https://e.example/")]], "a list is neither a UrlRecord nor a Change; give the stream itself"),
    ("https://e.example/", "items is a stream"),
    (["https://e.example/"], "a str is neither a UrlRecord nor a Change"),
    ([sr.UrlRecord("https://e.example/"), sr.Change("new", sr.UrlRecord("https://e.example/"))], "URLs and changes"),
])
def test_wrong_items(tmp_path: Path, items: object, message: str) -> None:
    with pytest.raises(sr.UsageError, match=message):
        sr.write(items, tmp_path / "urls.jsonl")  # type: ignore[arg-type]


def test_fields_are_those_of_urls(tmp_path: Path, site: World, state: Path) -> None:
    with pytest.raises(sr.UsageError, match="fields is for URLs only"):
        sr.write(site.changes(state), tmp_path / "urls.csv", fields=["loc"])
    assert site.run(state).stream.counts.new == 3


async def test_a_stream_of_a_session_is_refused(tmp_path: Path) -> None:
    async with sr.SitemapReader() as reader:
        with pytest.raises(sr.UsageError, match=r"takes no stream of a SitemapReader; give it sr\.urls\(\)"):
            sr.write(reader.urls(SHOP), tmp_path / "urls.jsonl")  # type: ignore[arg-type]
    assert not os.listdir(tmp_path)


# --- Arrow ---


def test_record_batches_have_the_columns_of_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sr.write(sr.urls(SHOP, concurrency=1), tmp_path / "urls.parquet")
    stored = pq.read_table(tmp_path / "urls.parquet")
    reader = sr.urls(SHOP, concurrency=1).arrow()
    assert reader.schema.equals(stored.schema)
    assert pa.Table.from_batches(reader).equals(stored)


def test_record_batches_of_changes_are_delivered_one_by_one(site: World, state: Path) -> None:
    site.run(state)
    site.documents["a.xml"].entries = entries("a1", "a3", priority="0.5")
    for _ in range(2):  # left amid the first batch
        with site.changes(state) as changes:
            batch = changes.arrow().read_next_batch()
            assert {(row["change"], row["loc"][-2:]) for row in batch.to_pylist()} == {("new", "a3"), ("updated", "a1")}
    with site.changes(state) as changes:
        rows = [(row["change"], row["loc"][-2:]) for batch in changes.arrow() for row in batch.to_pylist()]
    assert sorted(rows) == [("new", "a3"), ("removed", "a2"), ("updated", "a1")]
    with site.changes(state) as changes:
        (batch,) = changes.arrow()  # polars.from_arrow() fails on none
        assert (batch.num_rows, "change" in batch.schema.names) == (0, True)


def test_a_stream_that_is_being_read_has_no_record_batches() -> None:
    with sr.urls(SHOP) as urls:
        next(urls)
        with pytest.raises(sr.UsageError, match="is being read: ask for"):
            urls.arrow()


def test_changes_that_the_caller_commits_are_not_written(site: World, state: Path, tmp_path: Path) -> None:
    with site.changes(state, ack="manual") as changes, pytest.raises(sr.UsageError, match="delivers changes itself"):
        sr.write(changes, tmp_path / "c.jsonl")


@pytest.mark.parametrize(("options", "message"), [
    ({"path": object()}, "^path is the name of a file, not"),
    ({"fields": "loc"}, "^fields is a list of names"),
    ({"fields": 3}, "^fields is a list of names"),
    ({"fields": [3]}, "^fields is a list of names"),
])
def test_arguments_that_are_not_allowed(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(sr.UsageError, match=message):
        sr.write([], **{"path": tmp_path / "u.csv", **options})


def test_a_stream_that_is_not_written_is_closed(site: World, state: Path, tmp_path: Path) -> None:
    for name in ("c.xyz", "c.jsonl"):
        with pytest.raises(sr.UsageError):
            sr.write(site.changes(state, ack="manual"), tmp_path / name)
    assert sr.write(site.changes(state), tmp_path / "c.jsonl") == 3
