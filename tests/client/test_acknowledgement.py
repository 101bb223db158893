"""When changes count as delivered: one by one, as lists, or by commit()."""

import itertools
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from kit import Site, index, robots, serve, urlset

import sitemap_reader as sr

SITE = "https://a.example"
MAPS = 3


def site(urls: int = 5, maps: int = MAPS, version: int = 0) -> Site:
    """A site with so many sitemaps of so many URLs; with another version the first URL of each is updated."""
    pages: dict[str, bytes] = {"/robots.txt": robots(f"{SITE}/index.xml")}
    pages["/index.xml"] = index(*(f"{SITE}/{number}.xml" for number in range(maps)))
    for number in range(maps):
        locs = [f"{SITE}/{number}/{n}" for n in range(urls)]
        pages[f"/{number}.xml"] = urlset((locs[0], f"2026-01-{version + 1:02}"), *locs[1:])
    return Site(pages, SITE)


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    return {"state": tmp_path / "s.db", "fetcher": site()}


def locs(changes: Any) -> list[str]:
    return [change.record.loc for change in changes]


def test_a_list_has_the_changes_of_one_sitemap(options: dict[str, Any]) -> None:
    with sr.changes(SITE, **options) as changes:
        lists = [*changes.batches()]
    assert sorted(map(len, lists)) == [5] * MAPS
    assert all(len({change.record.sitemap for change in each}) == 1 for each in lists)
    assert {type(change) for each in lists for change in each} == {sr.Change}
    options["fetcher"] = site(version=1)
    with sr.changes(SITE, **options) as changes:
        assert [[change.change for change in each] for each in changes.batches()] == [["updated"]] * MAPS


def test_a_list_with_new_and_updated_urls_is_one(options: dict[str, Any]) -> None:
    list(sr.changes(SITE, **options))
    options["fetcher"] = site(urls=7, version=1)
    with sr.changes(SITE, **options) as changes:
        kinds = [sorted(change.change for change in each) for each in changes.batches()]
    assert kinds == [["new", "new", "updated"]] * MAPS


def test_a_large_sitemap_comes_in_one_list_and_removed_urls_in_others(options: dict[str, Any]) -> None:
    options["fetcher"] = site(urls=2_500, maps=1)
    with sr.changes(SITE, **options) as changes:
        assert [*map(len, changes.batches())] == [2_500]
    options["fetcher"] = site(urls=1_300, maps=1)
    with sr.changes(SITE, **options) as changes:
        assert [(len(each), {change.change for change in each}) for each in changes.batches()] == [
            (1_000, {"removed"}), (200, {"removed"}),
        ]  # fmt: skip


def test_a_list_is_committed_when_the_next_one_is_requested(options: dict[str, Any]) -> None:
    with sr.changes(SITE, **options) as changes:
        first, _second = itertools.islice(changes.batches(), 2)
    with sr.changes(SITE, **options) as changes:
        again = [loc for each in changes.batches() for loc in locs(each)]
    assert len(again) == 10
    assert {*again}.isdisjoint(locs(first))


@pytest.mark.parametrize("committed", range(1, MAPS + 1))
def test_a_commit_with_a_list_in_hand_stores_it_and_those_before(options: dict[str, Any], committed: int) -> None:
    options["ack"] = "manual"
    with sr.changes(SITE, **options) as changes:
        for number, _ in enumerate(changes.batches(), 1):
            if number == committed:
                changes.commit()
    with sr.changes(SITE, **options) as changes:
        assert [*map(len, changes.batches())] == [5] * (MAPS - committed)


def test_a_commit_with_each_list_loses_and_repeats_nothing_where_the_loop_is_left(options: dict[str, Any]) -> None:
    options["ack"] = "manual"
    taken: list[str] = []
    for _ in range(MAPS):
        with sr.changes(SITE, **options) as changes:
            for batch in changes.batches():
                taken += locs(batch)
                changes.commit()
                break
    assert len(taken) == len({*taken}) == 15
    options["fetcher"] = site(urls=3)
    with sr.changes(SITE, **options) as changes:
        (removed,) = changes.batches()
    with sr.changes(SITE, **options) as changes:  # they were not committed
        for batch in changes.batches():
            assert {*locs(batch)} == {*locs(removed)}
            changes.commit()
            break
    with sr.changes(SITE, **options) as changes:
        assert list(changes) == []
    with sr.state.State(options["state"]) as state:
        assert [(run.new, run.removed) for run in reversed(state.runs()) if run.new or run.removed] == [
            *[(5, 0)] * MAPS, (0, 6),
        ]  # fmt: skip


@pytest.mark.slow
def test_the_lists_of_a_large_sitemap_are_committed_with_its_last_one(options: dict[str, Any]) -> None:
    options |= {"ack": "manual", "fetcher": site(urls=100_001, maps=1)}
    for most, again in ((2, 100_001), (3, 0)):
        with sr.changes(SITE, **options) as changes:
            for _ in itertools.islice(changes.batches(), most):
                changes.commit()
        with sr.changes(SITE, **options) as changes:
            assert sum(map(len, changes.batches())) == again


def test_without_a_commit_nothing_is_stored(options: dict[str, Any]) -> None:
    options["ack"] = "manual"
    for _ in range(2):
        with sr.changes(SITE, **options) as changes:
            assert len([*changes]) == 15
        assert changes.complete


def test_a_commit_behind_the_loop_stores_all_and_frees_the_state(options: dict[str, Any]) -> None:
    changes = sr.changes(SITE, **options, ack="manual")
    assert len([*changes]) == 15
    changes.commit()
    changes.commit()
    assert [*sr.changes(SITE, **options)] == []


def test_a_commit_amid_a_sitemap_stores_those_before_it(options: dict[str, Any]) -> None:
    options["ack"] = "manual"
    with sr.changes(SITE, **options) as changes:
        taken = locs(itertools.islice(changes, 12))
        changes.commit()
    with sr.changes(SITE, **options) as changes:
        again = locs(changes)
        assert len(again) == 5
        assert {*taken[10:]} < {*again}
        changes.commit()
    with sr.changes(SITE, **options) as changes:
        assert locs(changes) == []


def test_removed_urls_wait_for_the_commit(options: dict[str, Any]) -> None:
    list(sr.changes(SITE, **options))
    options |= {"fetcher": site(urls=3), "ack": "manual"}
    for is_committed in (False, True):
        with sr.changes(SITE, **options) as changes:
            assert {change.change for change in changes} == {"removed"}
            assert changes.counts.removed == 6
            if is_committed:
                changes.commit()
    with sr.changes(SITE, **options) as changes:
        assert list(changes) == []


def test_a_dry_run_commits_nothing(options: dict[str, Any]) -> None:
    for _ in range(2):
        with sr.changes(SITE, **options, ack="manual", dry_run=True) as changes:
            assert len([*changes]) == 15
            changes.commit()


def test_a_commit_behind_the_block_is_too_late(options: dict[str, Any]) -> None:
    with sr.changes(SITE, **options, ack="manual") as changes:
        assert len([*changes]) == 15
    with pytest.raises(sr.UsageError, match=r"was rolled back; call commit\(\) inside the with block"):
        changes.commit()
    assert len([*sr.changes(SITE, **options)]) == 15


def test_what_is_not_allowed(options: dict[str, Any]) -> None:
    with sr.changes(SITE, **options) as changes:
        with pytest.raises(sr.UsageError, match=r'^commit\(\) is for changes\(…, ack="manual"\); without it'):
            changes.commit()
        next(changes)
        with pytest.raises(sr.UsageError, match=r"is being read: ask for its batches\(\)"):
            changes.batches()
    with pytest.raises(sr.UsageError, match=r"^ack is one of next, manual, not 'auto'"):
        sr.changes(SITE, **options, ack="auto")


async def test_with_asyncio(options: dict[str, Any]) -> None:
    fetcher = options.pop("fetcher")
    async with sr.SitemapReader(fetcher=fetcher) as reader:
        async with reader.changes(SITE, **options, ack="manual") as changes:
            assert len([change async for change in changes]) == 15
        async with reader.changes(SITE, **options, ack="manual") as changes:
            assert [len(each) async for each in changes.batches()] == [5] * MAPS
            await changes.commit()
        async with reader.changes(SITE, **options) as changes:
            assert [each async for each in changes.batches()] == []
            with pytest.raises(sr.UsageError, match="ack="):
                await changes.commit()


async def test_lists_with_asyncio_are_committed_one_by_one(options: dict[str, Any]) -> None:
    async with sr.SitemapReader(fetcher=options.pop("fetcher")) as reader:
        async with reader.changes(SITE, **options) as changes:
            taken = changes.batches()
            await anext(taken), await anext(taken)
        async with reader.changes(SITE, **options) as changes:
            assert [len(each) async for each in changes.batches()] == [5, 5]


async def test_lists_of_urls() -> None:
    with sr.urls(SITE, fetcher=site(), limit=12) as urls:
        lists = [*urls.batches()]
    assert {type(url) for each in lists for url in each} == {sr.UrlRecord}
    assert sum(map(len, lists)) == 12 == urls.progress.urls
    assert all(lists)
    assert urls.complete
    async with sr.SitemapReader(fetcher=site()) as reader, reader.urls(SITE) as stream:
        assert sum([len(each) async for each in stream.batches()]) == 15


# --- a database that fails, and a process that is killed ---

CONSUMER = """
import itertools, random, sqlite3, sys, time
import sitemap_reader as sr

origin, state, seed = sys.argv[1:]
dice = random.Random(int(seed))
db = sqlite3.connect("urls.db", isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS received (loc TEXT, batch INTEGER)")
with sr.changes(origin, state=state, allow_private=True, ack="manual") as changes:
    taken = iter(changes)
    batches = iter(lambda: [*itertools.islice(taken, 700)], [])  # itertools.batched() is new in Python 3.12
    for number, batch in enumerate(batches):
        if dice.random() < 0.2:
            raise SystemExit("the database is away")
        db.execute("BEGIN")
        db.executemany("INSERT INTO received VALUES (?, ?)", [(change.record.loc, number) for change in batch])
        db.execute("COMMIT")
        time.sleep(dice.random() / 10)
        changes.commit()
        time.sleep(dice.random() / 10)
    changes.commit()
"""


def kill_at_random(folder: Path, kills: int, seed: int) -> int:
    """Runs the consumer and kills it, so often, then until it ends; returns how many changes came again."""
    dice = random.Random(seed)  # noqa: S311
    with serve(site(urls=500)) as server:
        for number in itertools.count():
            command = [sys.executable, "-c", CONSUMER, server.url, "s.db", str(dice.random())[2:]]
            process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE)
            if number < kills:
                time.sleep(dice.uniform(0.2, 0.9))
                process.send_signal(signal.SIGKILL)
            error = process.communicate()[1]
            assert b"Traceback" not in error, error
            if process.returncode == 0 and number >= kills:
                break
    with sqlite3.connect(folder / "urls.db") as db:
        received = [loc for (loc,) in db.execute("SELECT loc FROM received")]
    db.close()
    assert len({*received}) == 1_500, "nothing is lost"
    return len(received) - 1_500


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_nothing_is_lost_when_the_database_fails_and_the_process_is_killed(tmp_path: Path) -> None:
    repeated = kill_at_random(tmp_path, kills=int(os.environ.get("KILLS", "15")), seed=4)
    print(f"{repeated} changes came again")
