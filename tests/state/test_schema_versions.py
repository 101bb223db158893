"""Unusable state files: each has a message with advice, and is left unchanged."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from changing_sites import Document, World, entries
from small_disks import mounted

import sitemap_reader as sr
from sitemap_reader.state import schema as statefile


@pytest.fixture
def site() -> World:
    return World({"a.xml": Document(entries("a1", "a2"))}, listed=["a.xml"])


@pytest.fixture
def state(tmp_path: Path, site: World) -> Path:
    """A state after a run."""
    site.run(tmp_path / "state.db")
    return tmp_path / "state.db"


def foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE bookmarks (url TEXT)")
    db.close()


def newer(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {len(statefile._MIGRATIONS) + 1}")
    db.close()


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def corrupt(path: Path) -> None:
    body = bytearray(path.read_bytes())
    for start in range(4096, len(body), 4096):
        body[start : start + 200] = b"\xff" * 200
    path.write_bytes(body)


def text(path: Path) -> None:
    path.write_text("https://example.com/\n")


def short(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(("spoil", "reported"), [
    (text, "is no state file; give one that `sync` has made, or a name that is free"),
    (short, "is no state file; give one"),
    (foreign, "is an SQLite database of another program; give a name that is free"),
    (newer, "was written by a newer version of sitemap-reader"),
    (truncated, "is damaged; move it away, and the next sync starts anew"),
    (corrupt, "is damaged; move it away, and the next sync starts anew"),
    (folder, "is a folder; name a file in it"),
])
def test_a_file_that_is_no_state_raises_and_is_left_alone(
    state: Path, site: World, spoil: Callable[[Path], None], reported: str
) -> None:
    spoil(state)
    before = state.read_bytes() if state.is_file() else None
    with pytest.raises(sr.StateError, match=reported) as caught:
        site.run(state)
    assert str(state) in str(caught.value)
    assert not caught.value.is_unwritable
    assert before is None or state.read_bytes() == before
    assert not [*state.parent.glob("*-journal")]


def test_an_empty_file_becomes_a_state(tmp_path: Path, site: World) -> None:
    """As created by mktemp."""
    file = tmp_path / "new.db"
    file.touch()
    assert site.run(file).stream.counts.new == 2
    assert site.run(file).stream.counts.new == 0


def test_only_sync_makes_a_state(tmp_path: Path) -> None:
    empty = tmp_path / "empty.db"
    empty.touch()
    with pytest.raises(sr.StateError, match=r"empty\.db is empty; `sync` \(sr\.changes\(\)\) writes it"):
        sr.state.State(empty)
    assert empty.read_bytes() == b""
    empty.unlink()
    with pytest.raises(sr.StateError, match=r"there is no state file .*none\.db"):
        sr.state.State(tmp_path / "none.db")
    with pytest.raises(sr.StateError, match="the name of the state file is empty"):
        sr.state.State("")
    assert not [*tmp_path.iterdir()]


def test_a_missing_folder_raises(tmp_path: Path, site: World) -> None:
    with pytest.raises(sr.StateError, match="cannot be opened; check its folder") as caught:
        site.run(tmp_path / "none" / "state.db")
    assert caught.value.is_unwritable


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_file_raises(state: Path, site: World) -> None:
    state.chmod(0o444)
    with pytest.raises(sr.StateError, match="cannot be written; check who may write it") as caught:
        site.run(state)
    assert caught.value.is_unwritable


def test_a_dry_run_needs_no_permission_to_write(state: Path, site: World, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state.read_bytes()
    expected = site.run(state, dry_run=True).changes
    monkeypatch.setattr(statefile.os, "access", lambda *_: False)
    assert site.run(state, dry_run=True).changes == expected
    assert state.read_bytes() == before
    assert [*state.parent.iterdir()] == [state]


def test_read_only_state_can_be_opened_for_reading(state: Path, site: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is left beside it, which its owner might not be able to write."""
    before = state.read_bytes()
    monkeypatch.setattr(statefile.os, "access", lambda *_: False)
    with sr.state.State(state) as opened, sr.state.State(state) as other:
        assert len([*opened.entries()]) == len([*other.entries()]) == 2
        with pytest.raises(sr.StateError, match="cannot be written; check who may write it") as caught:
            site.changes(opened)
        assert caught.value.is_unwritable
    assert state.read_bytes() == before
    assert [*state.parent.iterdir()] == [state]
    for log in (state.with_name("state.db-wal"), state.with_name("state.db-journal")):
        log.write_bytes(b"")
        with pytest.raises(sr.StateError, match="is in use, or was left by a run that was killed") as caught:
            sr.state.State(state)
        assert f"({log})" in str(caught.value)
        assert caught.value.is_unwritable
        log.unlink()
    monkeypatch.setattr(statefile, "_MIGRATIONS", (*statefile._MIGRATIONS, "CREATE TABLE more (a);\n"))
    with pytest.raises(sr.StateError, match="was written by an older version"):
        sr.state.State(state)


def test_a_state_whose_pages_were_being_copied_when_it_was_killed_is_whole(state: Path, site: World) -> None:
    """SQLite copies the first page before the file has its new length."""
    with sr.state.State(state, create=True) as opened:
        opened.db.execute("BEGIN")
        rows = ((number, "x" * 2000) for number in range(500))
        opened.db.executemany("INSERT INTO entry (document, key, stated, loc) VALUES (99, ?, 0, ?)", rows)
        opened.db.execute("COMMIT")
        body, log = bytearray(state.read_bytes()), state.with_name("state.db-wal").read_bytes()
    size = int.from_bytes(log[8:12], "big")
    frames = [log[start : start + 24 + size] for start in range(32, len(log), 24 + size)]
    body[:size] = [frame[24:] for frame in frames if int.from_bytes(frame[:4], "big") == 1][-1]
    state.write_bytes(body)
    state.with_name("state.db-wal").write_bytes(log)
    with sr.state.State(state) as opened:
        assert opened.db.execute("SELECT count(*) FROM entry WHERE document = 99").fetchone() == (500,)
        assert opened.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_what_a_first_run_had_written_when_it_was_killed_is_rolled_back(tmp_path: Path, site: World) -> None:
    """Some pages of its transaction are in the file, and the rollback journal knows that it was empty before."""
    whole, killed = tmp_path / "whole.db", tmp_path / "killed.db"
    with closing(sqlite3.connect(whole, isolation_level=None)) as db:
        db.execute("PRAGMA cache_size = 1")  # pages are written before the COMMIT
        db.execute("BEGIN")
        for script in statefile._MIGRATIONS:
            statefile.execute_all(db, script)
        shutil.copy(whole, killed)
        shutil.copy(f"{whole}-journal", f"{killed}-journal")
    with pytest.raises(sr.StateError, match=r"killed\.db is empty"):
        sr.state.State(killed)
    assert site.run(killed).stream.counts.new == 2
    with sr.state.State(killed) as opened:
        assert opened.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_symlink_is_followed(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "state.db"
    link.symlink_to(state)
    state.with_name("state.db-wal").write_bytes(b"")
    monkeypatch.setattr(statefile.os, "access", lambda *_: False)
    with pytest.raises(sr.StateError, match="is in use, or was left by a run that was killed"):
        sr.state.State(link)


def test_reading_leaves_no_file_behind(state: Path) -> None:
    with sr.state.State(state) as opened:
        assert opened.runs()
    assert [*state.parent.iterdir()] == [state]


def test_sqlite_errors_for_unwritable_files_are_translated() -> None:
    """Root may write everywhere, so the errors are simulated."""
    db = sqlite3.connect(":memory:")
    db.execute("PRAGMA query_only = ON")
    with pytest.raises(sr.StateError, match=r"x\.db cannot be written") as caught, statefile.sqlite_errors("x.db"):
        db.execute("CREATE TABLE a (b)")
    assert caught.value.is_unwritable
    db.close()


HOLDER = """
import sys, sitemap_reader as sr
with sr.state.State(sys.argv[1], create=True):
    print("open", flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
def test_a_file_that_another_process_has_open_raises(state: Path, site: World) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(state)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"open\n"
        with pytest.raises(sr.StateError, match="is in use by another run, or by a stream that was not") as caught:
            site.run(state)
        assert caught.value.is_unwritable
        holder.kill()
    assert site.run(state).changes == []  # the lock ends with the process


def test_a_stream_holds_the_file_until_it_is_left(state: Path, site: World) -> None:
    stream = site.changes(state)
    with pytest.raises(sr.StateError, match="in use"):
        site.changes(state)
    stream.close()
    stream.close()
    with sr.state.State(state) as opened:
        assert len(opened.sites()) == 1


def test_what_names_no_file_is_refused() -> None:
    with pytest.raises(sr.UsageError, match="state is the name of a file, not None"):
        sr.state.State(None)  # type: ignore[arg-type]
    with pytest.raises(sr.StateError, match="a state is a file, which the next run reads; give its name, and not :mem"):
        sr.changes("https://a.example", state=":memory:")


def test_invalid_target_closes_the_state(state: Path) -> None:
    with pytest.raises(sr.UsageError):
        sr.changes("not a host", state=state)
    sr.state.State(state).close()


def test_damage_found_later_ends_the_run_and_keeps_reported_changes(tmp_path: Path) -> None:
    """The first pages are intact, and the rest is not."""
    site = World({f"{name}.xml": Document(entries(*(f"{name}{n}" for n in range(500)))) for name in "ab"})
    site.listed = [*site.documents]
    site.run(tmp_path / "state.db")
    file = tmp_path / "state.db"
    body = bytearray(file.read_bytes())
    body[-20 * 4096 :] = b"\xff" * (20 * 4096)
    file.write_bytes(body)
    for document in site.documents.values():
        document.entries = entries(*(f"new{n}" for n in range(500)))
    with pytest.raises(sr.StateError, match="is damaged"):
        site.run(file)


def test_an_older_file_is_brought_to_the_present_schema(
    tmp_path: Path, site: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "state.db"
    site.run(file)
    monkeypatch.setattr(statefile, "_MIGRATIONS", (*statefile._MIGRATIONS, "CREATE TABLE more (a);\n"))
    assert site.run(file).changes == []
    with sr.state.State(file) as state:
        assert state.db.execute("SELECT count(*) FROM more").fetchone() == (0,)
        assert state.db.execute("PRAGMA user_version").fetchone() == (len(statefile._MIGRATIONS),)


def test_summary_of_a_state(state: Path, site: World) -> None:
    site.documents["a.xml"].entries = entries("a1", lastmod="2025-01-01", priority="0.5") | entries("a3")
    site.run(state)
    with sr.state.State(state) as opened:
        assert [(each.name, each.documents, each.urls) for each in opened.sites()] == [("https://shop.example/", 2, 2)]
        index, child = opened.documents()
        assert (index.format, index.complete, index.entries) == ("sitemapindex", True, 0)
        assert (child.format, child.complete, child.entries, child.parents) == ("urlset", True, 2, (index.url,))
        assert child.lastmod_trust.score == 1.0
        records = sorted(opened.entries("shop.example"), key=lambda record: record.loc)
        assert [(each.loc[-2:], str(each.lastmod)[:10], each.priority) for each in records] == [
            ("a1", "2025-01-01", 0.5),
            ("a3", "None", None),
        ]
        assert {record.sitemap for record in records} == {child.url}
        latest, first = opened.runs("https://shop.example/")
        assert (first.new, first.complete, first.ended) == (2, True, site.now)
        assert (latest.new, latest.updated, latest.removed) == (1, 1, 1)
        with pytest.raises(sr.UsageError, match=r"other\.example is not in .*, which has https://shop\.example/"):
            opened.documents("other.example")


def test_sealed_state_is_one_complete_file(tmp_path: Path, site: World) -> None:
    with sr.state.State(tmp_path / "state.db", create=True) as state:
        site.run(state)
        state.db.execute("BEGIN")
        state.db.execute("INSERT INTO site (name, settings, secret, first_seen, last_seen) VALUES ('x', '', '', 0, 0)")
        state.seal()
    assert [file.name for file in tmp_path.iterdir()] == ["state.db"]
    assert (tmp_path / "state.db").read_bytes()[18:20] == b"\1\1"  # without a journal
    (tmp_path / "state.db").rename(tmp_path / "moved.db")
    with sr.state.State(tmp_path / "moved.db") as moved:
        assert [one.urls for one in moved.sites()] == [2]  # without uncommitted rows


def test_a_state_is_not_sealed_on_a_full_disk(tmp_path: Path) -> None:
    """Everything was committed to the journal; close() would leave it there."""
    with mounted(tmp_path / "disk", "1m") as disk, sr.state.State(disk / "state.db", create=True) as state:
        insert = "INSERT INTO site (name, settings, secret, first_seen, last_seen) VALUES (?, ?, '', 0, 0)"
        state.db.execute("BEGIN")
        state.db.executemany(insert, [(str(number), "x" * 1_000) for number in range(300)])
        state.db.execute("COMMIT")
        with suppress(OSError), (disk / "other").open("wb", buffering=0) as other:
            while other.write(b"x" * 512):
                pass
        with pytest.raises(sr.StateError, match="cannot be written") as caught:
            state.seal()
        assert caught.value.is_unwritable
