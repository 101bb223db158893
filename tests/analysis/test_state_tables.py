"""A state of sync as a Snapshot, with the time when each URL was first seen."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from changing_sites import DAY, HOUR, START, Document, World, entries, loc

import sitemap_reader as sr
from sitemap_reader.analysis import FIRST_SEEN

SITE = "https://shop.example/"
NAME = "shop.example"
SECOND, THIRD = START + DAY, START + 2 * DAY
FIRST_SEEN_BY_PAGE = {"b1": None, "a3": SECOND, "a2": THIRD, "b2": THIRD}
LASTMODS = ["2026", "2026-02", "2026-01-02", "2026-01-02T03:04Z", "2026-01-02T03:04:05.678Z", "1969-07-20T20:17:40Z"]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def site() -> World:
    return World({"a.xml": Document(entries("a1", "a2")), "b.xml": Document(entries("b1"))}, listed=["a.xml", "b.xml"])


@pytest.fixture
def changed(site: World, state: Path) -> Path:
    """A state after three runs: a3 moved to the other sitemap, a1 was removed, a2 was and returned; two list b1."""
    site.run(state)
    site.documents["a.xml"].entries = entries("a3")
    site.later()
    assert site.run(state).reported == ({"a3"}, set(), {"a1", "a2"})
    site.documents["a.xml"].entries = entries("a2", "b1")
    site.documents["b.xml"].entries = entries("a3", "b1", "b2")
    site.later()
    assert site.run(state).reported == ({"a2", "b2"}, set(), set())
    return state


def first_seen(rows: Any) -> dict[str, datetime | None]:
    """By page; asserts that all listings of a page agree."""
    found: dict[str, datetime | None] = {}
    for row in rows.to_arrow().select(["loc", FIRST_SEEN]).to_pylist():
        assert found.setdefault(row["loc"].removeprefix(SITE), row[FIRST_SEEN]) == row[FIRST_SEEN]
    return found


# --- first_seen ---


def test_each_url_has_the_time_of_the_run_that_first_listed_it(changed: Path) -> None:
    """A page that was removed and returned is new."""
    snapshot = sr.load(changed)
    assert first_seen(snapshot.urls) == FIRST_SEEN_BY_PAGE
    assert len(snapshot.urls) == 5
    assert len(snapshot.pages) == 4
    assert snapshot.urls.to_arrow().schema.field(FIRST_SEEN).type == pa.timestamp("us", "UTC")
    stored = snapshot.urls.stored.column_names
    assert stored[-1] == FIRST_SEEN
    assert snapshot.urls.columns[: len(stored)] == stored


@pytest.mark.slow
def test_first_seen_survives_pages_subsets_and_files(changed: Path, tmp_path: Path) -> None:
    snapshot = sr.load(changed)
    known = first_seen(snapshot.urls)
    snapshot.to_parquet(tmp_path / "urls.parquet")
    snapshot.to_parquet(tmp_path / "folder")
    for again in (snapshot, sr.load(tmp_path / "urls.parquet"), sr.load(tmp_path / "folder")):
        assert first_seen(again.pages) == known
        assert again.urls.stored.equals(snapshot.urls.stored)
        assert first_seen(again.filter(include="/a").urls) == {page: known[page] for page in ("a2", "a3")}
        assert (again.at, again.complete, again.sites) == (THIRD, True, (NAME,))
    assert sr.load(tmp_path / "folder").sitemaps.to_arrow().equals(snapshot.sitemaps.to_arrow())
    again.filter(include="/b").to_parquet(tmp_path / "some.parquet")
    assert first_seen(sr.load(tmp_path / "some.parquet").urls) == {"b1": None, "b2": THIRD}
    assert all(FIRST_SEEN not in line for line in again.dicts())  # no key of a JSON line


def test_other_snapshots_have_no_such_column(tmp_path: Path) -> None:
    (tmp_path / "dump.jsonl").write_text('{"loc":"https://a.example/"}\n')
    assert FIRST_SEEN not in sr.load(tmp_path / "dump.jsonl").urls.columns
    pq.write_table(pa.table({"loc": ["https://a.example/"], FIRST_SEEN: ["long ago"]}), tmp_path / "other.parquet")
    assert sr.load(tmp_path / "other.parquet").urls.to_pandas("loc")["loc"].to_list() == ["https://a.example/"]


def test_patterns_of_a_state_are_stated(site: World, state: Path) -> None:
    site.run(state, include="a[12]", no_follow=["/x/", "/y/"])
    snapshot = sr.load(state)
    assert snapshot.choice == "include 'a[12]', no_follow '/x/' or '/y/'"
    assert snapshot.notes[0] == f"only some of the URLs: {snapshot.choice}"
    site.run(state, full=True)
    assert sr.load(state).choice is None


# --- the other columns ---


def urlset(tags: Iterable[str]) -> Document:
    """A page for each of these tags."""
    urls = "".join(f"<url><loc>{loc(str(number))}</loc>{tag}</url>" for number, tag in enumerate(tags))
    return Document(body=f"<urlset>{urls}</urlset>".encode())


@pytest.mark.parametrize("more", ["", "<priority>0.3333</priority>", "<lastmod>2026-01-02T03:04:05.678901Z</lastmod>"])
def test_stated_values_are_those_of_the_site(site: World, state: Path, more: str) -> None:
    """Also where some do not fit into an integer."""
    tags = ["", "<priority>0</priority>", "<priority>1.0</priority><changefreq>always</changefreq>", more]
    tags += [f"<lastmod>{date}</lastmod>" for date in LASTMODS]
    tags += [f"<lastmod>{date}</lastmod><changefreq>never</changefreq><priority>0.55</priority>" for date in LASTMODS]
    site.documents["a.xml"] = urlset(tags)
    site.run(state)
    names = ["loc", "lastmod", "lastmod_precision", "changefreq", "priority", "sitemap"]
    with sr.state.State(state) as opened:
        stored = {record.loc: [getattr(record, name) for name in names] for record in opened.entries()}
    rows = sr.load(state).urls.stored.select(names).to_pylist()
    assert {row["loc"]: [*row.values()] for row in rows} == stored
    assert len(rows) == len(tags) + 1
    as_read = {record.loc: record for record in sr.urls(SITE, fetcher=site)}
    assert {record.loc: record.lastmod for record in sr.load(state)} == {
        url: record.lastmod for url, record in as_read.items()
    }


def test_sitemaps_have_what_is_known(changed: Path) -> None:
    rows = {row["url"]: row for row in sr.load(changed).sitemaps.to_arrow().to_pylist()}
    index, child = (rows[SITE + name] for name in ("index.xml", "b.xml"))
    assert (index["format"], index["entries"], index["complete"]) == ("sitemapindex", None, True)
    assert (child["format"], child["entries"], child["kept"], child["complete"]) == ("urlset", 3, 3, True)
    assert child["parents"] == [SITE + "index.xml"]
    assert child["etag"].startswith('"')
    assert child["site"] == NAME
    assert (child["status"], child["seconds"], child["bytes_wire"], child["why"]) == (None, None, None, None)
    assert len(sr.load(changed).problems) == 0


def test_note_states_that_nested_values_are_missing(site: World, state: Path) -> None:
    site.run(state)
    assert sr.load(state).notes == ()
    site.documents["a.xml"].body = (
        b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        b'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"><url><loc>https://shop.example/a1</loc>'
        b"<image:image><image:loc>https://shop.example/a1.png</image:loc></image:image></url></urlset>"
    )
    site.run(state)
    (note,) = sr.load(state).notes
    assert note == "a state has no images, videos, news, alternates or extras: these columns are empty"
    assert sr.load(state).urls.stored["images"].null_count == 2


def test_a_state_equals_its_snapshot(changed: Path) -> None:
    assert len(sr.diff(changed, sr.load(changed))) == 0
    records = [*sr.load(changed)]
    assert len(records) == 5
    assert all(isinstance(record, sr.UrlRecord) for record in records)
    assert {outcome.url: outcome.kept for outcome in sr.load(changed).items() if isinstance(outcome, sr.Outcome)} == {
        SITE + "index.xml": 0,
        SITE + "a.xml": 2,
        SITE + "b.xml": 3,
    }


def test_a_card_and_measures_are_made_of_a_state(changed: Path) -> None:
    snapshot = sr.load(changed)
    assert "complete" in snapshot._repr_html_()
    assert snapshot.sections()["pages"].sum() == snapshot.growth()["pages"].sum() == 4


# --- the time of reading, and completeness ---


def test_time_is_the_end_of_the_last_run(site: World, state: Path) -> None:
    site.run(state)
    hours = count()
    with sr.changes(SITE, state=state, fetcher=site, clock=lambda: SECOND + next(hours) * HOUR) as changes:
        assert [*changes] == []
    with sr.state.State(state) as opened:
        last = opened.runs()[0]
    snapshot = sr.load(state)
    assert snapshot.at == snapshot.read_at == snapshot.read_until == last.ended != last.started
    given = sr.load(state, at="2026-03-04")
    assert (given.read_on, given.complete) == ("2026-03-04", True)
    assert first_seen(given.urls) == first_seen(snapshot.urls)


def test_sitemap_that_could_not_be_read_is_a_note(site: World, state: Path) -> None:
    site.run(state)
    site.documents["b.xml"].status = 500
    site.run(state)
    snapshot = sr.load(state)
    assert snapshot.complete is False
    assert snapshot.notes == (f"{NAME}: not every sitemap could be read in the last run",)
    assert len(snapshot.urls) == 3


def test_run_that_was_stopped_is_a_note(site: World, state: Path) -> None:
    site.later()
    with site.changes(state) as changes:
        for change in changes:
            if change.record.loc == loc("b1"):
                break
    snapshot = sr.load(state)
    assert (snapshot.complete, snapshot.at) == (False, SECOND)
    assert snapshot.notes == (f"{NAME}: the last run was stopped before its end",)
    assert set(first_seen(snapshot.urls)) == {"a1", "a2"}


def test_removals_that_were_held_back_are_a_note(site: World, state: Path) -> None:
    site.run(state)
    site.documents["a.xml"].entries = {}
    site.run(state)
    snapshot = sr.load(state)
    assert snapshot.complete is False
    assert snapshot.notes == (f"{NAME}: 2 URLs no longer listed, removal held back: not in these tables",)
    assert set(first_seen(snapshot.urls)) == {"b1"}


@pytest.mark.slow
def test_all_sites_of_a_state_are_one_snapshot(site: World, state: Path) -> None:
    """Each with its own last run."""
    site.run(state)
    site.later()
    with sr.changes(f"{SITE}b.xml", state=state, fetcher=site, clock=lambda: site.now) as changes:
        assert len([*changes]) == 1
    site.documents["a.xml"].status = 500
    with (
        sr.changes(f"{SITE}a.xml", state=state, fetcher=site, clock=lambda: site.now) as changes,
        pytest.raises(sr.NothingReadable),
    ):
        assert [*changes] == []
    snapshot = sr.load(state)
    assert snapshot.sites == (NAME, f"{NAME}/b.xml")
    assert (snapshot.at, snapshot.complete) == (SECOND, True)
    assert len(snapshot.filter(site=f"{NAME}/b.xml").urls) == 1
    assert [row["site"] for row in snapshot.sitemaps.to_arrow().to_pylist()] == [NAME] * 3 + [f"{NAME}/b.xml"]


def test_state_without_a_site_is_empty(state: Path) -> None:
    sr.state.State(state, create=True).close()
    snapshot = sr.load(state)
    assert (len(snapshot.urls), snapshot.complete, snapshot.read_at) == (0, None, None)
    assert FIRST_SEEN in snapshot.urls.stored.column_names


# --- files that are no state ---


def test_unusable_states_raise_what_to_do(site: World, state: Path, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.db") as db:
        db.execute("CREATE TABLE bookmarks (url TEXT)")
    db.close()
    with pytest.raises(sr.StateError, match=r"other\.db is an SQLite database of another program"):
        sr.load(tmp_path / "other.db")
    site.run(state)
    assert sr.load(str(state)).name == str(state)


def test_state_is_not_changed_by_loading(changed: Path) -> None:
    sr.load(changed)
    before = changed.read_bytes()
    assert len(sr.load(changed).urls) == 5
    assert changed.read_bytes() == before
    assert [*changed.parent.iterdir()] == [changed]
    assert datetime.now(UTC) > sr.load(changed).at
