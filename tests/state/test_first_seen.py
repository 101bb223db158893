"""When a URL was first seen: kept wherever it is listed, unknown for what the first complete run found."""

from pathlib import Path
from typing import Any

import pytest
from changing_sites import DAY, START, Document, World, entries, first_seen, loc
from test_migrations import as_version

import sitemap_reader as sr

FIRST, SECOND, THIRD, FOURTH = (START + number * DAY for number in range(4))


@pytest.fixture
def site() -> World:
    """Of two sitemaps and a feed."""
    documents = {"a.xml": Document(entries("a1", "a2")), "b.xml": Document(entries("b1"))}
    return World(documents | {"f.xml": Document(is_feed=True)}, listed=["a.xml", "b.xml", "f.xml"])


def next_run(site: World, state: Path, **options: object) -> None:
    """A run on the following day."""
    site.later()
    site.run(state, **options)


def add(site: World, document: str, *names: str) -> None:
    site.documents[document].entries |= entries(*names)


def drop(site: World, document: str, name: str) -> None:
    del site.documents[document].entries[loc(name)]


UNKNOWN = dict.fromkeys(("a1", "a2", "b1"))
BEGIN: tuple[dict[str, str], dict[str, Any] | None] = {}, UNKNOWN
MOVED = {**UNKNOWN, "x": SECOND, "y": SECOND, "z": THIRD}
# For each day what is added and dropped, or the status of a sitemap, and when the URLs were first seen (None: any).
HISTORIES: dict[str, list[tuple[dict[str, str], dict[str, Any] | None]]] = {
    "only what appears after the first complete run has a date": [
        BEGIN, ({"a": "+a3"}, None), ({"b": "+b2", "c": "+c1"}, None),
        ({}, {**UNKNOWN, "a3": SECOND, "b2": THIRD, "c1": THIRD}),
    ],
    # What such a run newly finds may have been in a sitemap that it could not read.
    "runs before the first complete one leave it unknown": [
        ({"b": "500"}, None), ({"a": "+a3"}, None), ({"b": "200"}, {**UNKNOWN, "a3": None}),
        ({"a": "500", "b": "+b2"}, {**UNKNOWN, "a3": None, "b2": FOURTH}),
    ],
    **{f"a URL that moves from {old} to {new}, or is listed twice": [
        BEGIN, ({old: "+x +y"}, None), ({old: "-x", new: "+x +y +z"}, MOVED),
        ({old: "-y", new: "+x@2026-01-03 +y@2026-01-03"}, MOVED),
    ] for old, new in ("ab", "ba")},
    **{f"a URL that is missing, undecided whether removed, and returns to {min(back)}": [
        BEGIN, ({"a": "+a3"}, None), ({"a": "-a1 -a3", "b": "500"}, dict.fromkeys(("a2", "b1"))),
        (back, {**UNKNOWN, "a3": SECOND}),
    ] for back in ({"b": "200", "a": "+a1 +a3"}, {"b": "200 +a1 +a3"})},
    "a removed URL that returns is new": [BEGIN, ({"a": "-a1"}, None), ({"b": "+a1"}, {**UNKNOWN, "a1": THIRD})],
    **{f"a URL that left a feed and returns to {to}": [
        BEGIN, ({"f": "+f1"}, None), ({"f": "-f1"}, None), ({to: "+f1"}, {**UNKNOWN, "f1": SECOND}),
    ] for to in "fa"},
    "URLs whose removal is held back": [
        BEGIN, ({"b": "+b2"}, None), ({"a": "-a1 -a2", "b": "-b1 -b2"}, {}),
        ({"a": "+a1 +a2", "b": "+b1 +b2 +b3"}, {**UNKNOWN, "b2": SECOND, "b3": FOURTH}),
    ],
}


@pytest.mark.parametrize("case", HISTORIES)
def test_when_urls_of_a_history_were_first_seen(site: World, state: Path, case: str) -> None:
    for changes, seen in HISTORIES[case]:
        for name, change in changes.items():
            document = site.documents.setdefault(f"{name}.xml", Document())
            for each in change.split():
                page, _, date = each[1:].partition("@")
                if each.isdecimal():
                    document.status = int(each)
                elif each[0] == "-":
                    del document.entries[loc(page)]
                else:
                    document.entries |= entries(page, lastmod=date or None)
        site.listed = [*site.documents]
        site.run(state)
        assert seen is None or first_seen(state) == seen
        site.later()


def test_urls_of_a_renamed_sitemap_keep_their_dates(site: World, state: Path) -> None:
    site.run(state)
    add(site, "a.xml", "a3")
    next_run(site, state)
    site.documents["new.xml"] = site.documents.pop("a.xml")
    site.listed = ["new.xml", "b.xml", "f.xml"]
    add(site, "new.xml", "a4")
    next_run(site, state)
    assert first_seen(state) == {"a1": None, "a2": None, "b1": None, "a3": SECOND, "a4": THIRD}


def test_what_other_settings_include_has_no_date(site: World, state: Path) -> None:
    """Until a complete run with these settings; known dates stay."""
    site.run(state, include="/a")
    add(site, "a.xml", "a3")
    next_run(site, state, include="/a")
    site.documents["a.xml"].status = 500
    next_run(site, state, full=True)
    add(site, "b.xml", "b2")
    next_run(site, state)
    assert first_seen(state) == {"a1": None, "a2": None, "a3": SECOND, "b1": None, "b2": None}
    site.documents["a.xml"].status = 200
    next_run(site, state)
    add(site, "b.xml", "b3")
    next_run(site, state)
    assert first_seen(state)["b3"] == START + 5 * DAY


def test_narrower_settings_with_removals_held_back_lose_no_date(site: World, state: Path) -> None:
    """All was read, though the run is not complete."""
    add(site, "a.xml", *(f"a{number}" for number in range(20)))
    site.run(state)
    site.later()
    assert site.run(state, full=True, include="/b").stream.counts.held_back == 20
    add(site, "b.xml", "b2")
    next_run(site, state, include="/b")
    assert first_seen(state) == {"b1": None, "b2": THIRD}


def test_run_that_is_left_early_gives_the_date_to_what_it_stored(site: World, state: Path) -> None:
    site.run(state)
    add(site, "a.xml", "a3")
    add(site, "b.xml", "b2")
    site.later()
    with site.changes(state) as changes:
        names = [change.record.loc for _, change in zip(range(2), changes, strict=False)]
    assert names == [loc("a3"), loc("b2")]  # asking for b2 commits a.xml
    next_run(site, state)
    assert first_seen(state) == {"a1": None, "a2": None, "b1": None, "a3": SECOND, "b2": THIRD}


def test_a_dry_run_gives_no_date(site: World, state: Path) -> None:
    site.run(state)
    add(site, "a.xml", "a3")
    next_run(site, state, dry_run=True)
    next_run(site, state)
    assert first_seen(state)["a3"] == THIRD
    with sr.state.State(state) as opened:
        assert opened.db.execute("SELECT baseline FROM site").fetchall() == [(1,)]  # dates begin behind the first run


def test_sites_of_a_state_are_dated_by_their_own_runs(tmp_path: Path, site: World) -> None:
    with sr.state.State(tmp_path / "state.db", create=True) as state:
        with sr.changes("https://shop.example/a.xml", state=state, fetcher=site, clock=lambda: site.now) as changes:
            assert len([*changes]) == 2
        site.later()
        site.run(state)
        assert next(state.columns("https://shop.example/a.xml")).first_seen == [None, None]
        assert {at for columns in state.columns("https://shop.example/") for at in columns.first_seen} == {None}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("was_complete", [True, False])
def test_states_of_earlier_versions_date_what_appears_from_now_on(
    site: World, state: Path, version: int, was_complete: bool
) -> None:
    site.documents["b.xml"].status = 200 if was_complete else 500
    site.run(state)
    as_version(state, version)
    assert set(first_seen(state).values()) == {None}
    add(site, "a.xml", "a3")
    next_run(site, state)
    drop(site, "a.xml", "a1")
    add(site, "b.xml", "a1", "b2")
    site.documents["b.xml"].status = 200
    next_run(site, state)
    dated = {"a3": SECOND, "b2": THIRD} if was_complete else {"a3": None, "b2": None}
    assert first_seen(state) == {"a1": None, "a2": None, "b1": None} | dated


def test_columns_of_a_sitemap_come_in_pieces(site: World, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site.documents["a.xml"].entries = entries("a1", "a2", "a3", "a4", "a5")
    site.run(state)
    for size, pieces in ((1, 5), (2, 3), (4, 2), (5, 1), (6, 1)):
        monkeypatch.setattr("sitemap_reader.state.state.MAX_BATCH_URLS", size)
        with sr.state.State(state) as opened:
            found = [columns for columns in opened.columns() if columns.sitemap.endswith("a.xml")]
        assert [len(columns.locs) for columns in found] == [size] * (5 // size) + [5 % size] * (5 % size > 0)
        assert len(found) == pieces
        assert sorted(url for columns in found for url in columns.locs) == [loc(f"a{n}") for n in range(1, 6)]
