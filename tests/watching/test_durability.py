"""What a state keeps where its disk fails: whole documents with their changes, or nothing of them."""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from change_logs import NOON, LoggedChanges, logged
from watched_sites import MemoryWeb, VirtualClock, urlset, watching

from sitemap_reader import StateError, UsageError
from sitemap_reader.client import Crawler
from sitemap_reader.scale import read_hosts
from sitemap_reader.state import State, StoredResponse, WatchData
from sitemap_reader.watching import make_watcher

pytestmark = pytest.mark.usefixtures("virtual_time")

ONE, TWO = "https://a.test/one.xml", "https://a.test/two.xml"
SITE = "https://a.test/"


def fail(state: State, event: str) -> None:
    """Makes statements fail as on a full disk: SQLite rolls back the transaction by itself."""
    state.db.execute(f"CREATE TEMP TRIGGER fails BEFORE {event} BEGIN SELECT RAISE(ROLLBACK, 'disk full'); END")
    state.commit()


def work_again(state: State) -> None:
    state.db.execute("DROP TRIGGER fails")
    state.commit()


RESPONSE = StoredResponse(ONE, NOON, 200, {}, b"")
WRITES: dict[str, Callable[[LoggedChanges], None]] = {
    "UPDATE ON sink": lambda changes: changes.log.move_cursor("a", 1, NOON),
    "DELETE ON change_log": lambda changes: changes.log.prune(NOON + timedelta(days=1), []),
    "INSERT ON sink": lambda changes: changes.log.cursor("b", NOON),
    "UPDATE ON site": lambda changes: WatchData(changes.state).save(SITE, {}, {}),
    "INSERT ON response": lambda changes: WatchData(changes.state).keep_response(SITE, RESPONSE),
    "DELETE ON run": lambda changes: WatchData(changes.state).save(SITE, {}, {}),
}


@pytest.mark.parametrize("event", WRITES)
async def test_after_a_failed_write_the_next_one_is_a_transaction(tmp_path: Path, event: str) -> None:
    write = WRITES[event]
    async with logged(tmp_path / "s.db") as changes:
        changes.log.cursor("a", NOON)
        await changes.add(1)
        await changes.add(1)
        changes.state.db.execute("INSERT INTO site VALUES (1, ?, '{}', x'', 0, 0, NULL, NULL)", (SITE,))
        changes.state.db.executemany("INSERT INTO run (id, site, started) VALUES (?, 1, 0)", [(1,), (2,), (3,)])
        changes.state.commit()
        fail(changes.state, event)
        with pytest.raises(StateError, match="is damaged"):
            write(changes)
        assert changes.state.db.in_transaction
        work_again(changes.state)
        changes.state.db.execute("UPDATE sink SET seq = 100")
        changes.state.rollback()
        assert changes.log.cursor("a", NOON) == 0
        write(changes)


@pytest.mark.slow
async def test_a_url_whose_removal_could_not_be_logged_is_not_new_when_it_returns(tmp_path: Path) -> None:
    web = MemoryWeb(VirtualClock())
    web.pages[f"{SITE}robots.txt"] = f"Sitemap: {ONE}\n".encode()
    web.pages[ONE] = urlset("https://a.test/a", "https://a.test/b")
    state = State(tmp_path / "s.db", create=True, shared_by=4)
    async with watching(tmp_path / "s.db", web, state=state) as watch:
        await watch.run(hours=2)
        fail(state, "INSERT ON change_log")
        web.pages[ONE] = urlset("https://a.test/a")
        await watch.run(hours=5)
        assert watch.watcher.health().faults
        web.pages[ONE] = urlset("https://a.test/a", "https://a.test/b")
        work_again(state)
        await watch.run(hours=5)
        assert watch.watcher.health().faults == ()
        assert await watch.changes() == [("new", "a.test/a"), ("new", "a.test/b")]


async def test_changes_are_on_the_disk_before_they_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a power failure could take changes back that receivers have, and their numbers would be used again."""
    synced: list[str] = []
    wal = f"{os.path.realpath(tmp_path)}/s.db-wal"  # noqa: ASYNC240 - a moment
    error: OSError | None = None

    def sync(descriptor: int) -> None:
        if error is not None:
            raise error
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))

    monkeypatch.setattr(os, "fsync", sync)
    async with logged(tmp_path / "s.db") as changes:
        await changes.add(3)
        assert synced == []
        assert [entry.last_seq for entry in await changes.feed.after(0)] == [3]
        assert synced == [wal]
        await changes.feed.after(0)
        assert synced == [wal], "once, if nothing was added"
        await changes.add(1)
        error = OSError(28, "No space left on device")
        with pytest.raises(StateError, match=r"s\.db cannot be written: No space left on device") as raised:
            await changes.feed.after(3)
        assert raised.value.is_unwritable
        error = None
        assert [entry.last_seq for entry in await changes.feed.after(3)] == [4]
        assert synced == [wal] * 2


def test_sites_at_once_is_at_least_one(tmp_path: Path) -> None:
    made: dict[str, Any] = {"budget": 10, "host_budget": 10}
    with pytest.raises(UsageError, match="sites_at_once: at most 0 sites at once are none; give 1 or more"):
        make_watcher(read_hosts(["a.test"]), tmp_path / "s.db", Crawler(), sites_at_once=0, **made)
    watcher = make_watcher(read_hosts(["a.test"]), tmp_path / "s.db", Crawler(), sites_at_once=1, **made)
    assert watcher.plan.sites_at_once == 1
    assert watcher._state.shared_by == 2
    watcher.close_state()
