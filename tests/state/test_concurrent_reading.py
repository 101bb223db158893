"""A state that is read while a run writes it: what is read is one commit, and the run goes on."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from changing_sites import SITE, Document, World, entries
from small_disks import mounted

import sitemap_reader as sr
from sitemap_reader.compare import diff as comparison
from sitemap_reader.state import schema

ADD = "INSERT INTO site (name, settings, secret, first_seen, last_seen) VALUES (?, '{}', randomblob(16), 0, 0)"


@pytest.fixture
def site(state: Path) -> World:
    """A site whose first run has ended."""
    site = World({"a.xml": Document(entries("a1", "a2"))}, listed=["a.xml"])
    site.run(state)
    return site


def names(state: sr.state.State) -> list[str]:
    return [each.name for each in state.sites()]


def write(state: sr.state.State, name: str) -> None:
    state.db.execute("BEGIN IMMEDIATE")
    state.db.execute(ADD, (name,))
    state.db.execute("COMMIT")


def files(state: Path) -> list[str]:
    return sorted(path.name for path in state.parent.iterdir())


# --- one commit ---


def test_every_reader_takes_a_state_in_use(site: World, state: Path) -> None:
    """Between the changes of a run, of which the first document is not committed yet."""
    shutil.copy(state, other := state.with_name("other.db"))
    site.documents["a.xml"].entries |= entries("a3")
    with site.changes(state) as changes:
        assert next(iter(changes)).record.loc == f"{SITE}/a3"
        assert sorted(sr.load(state).urls.to_arrow()["loc"].to_pylist()) == [f"{SITE}/a1", f"{SITE}/a2"]
        with sr.diff(state, other) as found:
            assert len(found) == 0
        with sr.state.State(state) as opened:
            assert len([*opened.entries()]) == 2
        with sr.state.State(state, scratch=True) as copy:
            assert len([*copy.entries()]) == 2
        assert [*changes] == []
    assert len(sr.load(state).urls) == 3
    assert files(state) == ["other.db", "state.db"]


def test_an_open_state_stays_at_its_commit(site: World, state: Path) -> None:
    with sr.state.State(state, create=True) as writer, sr.state.State(state) as before:
        write(writer, "https://new.example/")
        assert names(before) == [f"{SITE}/"]
        with sr.state.State(state) as after:
            assert names(after) == ["https://new.example/", f"{SITE}/"]
    assert files(state) == ["state.db"]


def test_a_reader_neither_stops_a_run_nor_its_end(site: World, state: Path) -> None:
    """Its end leaves the commits in the WAL, and the reader copies them into the file at its own."""
    with sr.state.State(state) as reader:
        site.documents["a.xml"].entries |= entries("a3")
        assert site.run(state).reported == ({"a3"}, set(), set())
        site.documents["a.xml"].entries |= entries("a4")
        assert site.run(state).reported == ({"a4"}, set(), set())
        assert len([*reader.entries()]) == 2
    assert files(state) == ["state.db"]
    assert len(sr.load(state).urls) == 4


def test_what_a_reader_keeps_in_the_wal_goes_into_the_file_later(state: Path) -> None:
    with sr.state.State(state, create=True) as writer:
        writer.db.execute("PRAGMA wal_autocheckpoint = 1")
        with sr.state.State(state):
            for number in range(20):
                write(writer, str(number))
            size = state.with_name("state.db-wal").stat().st_size
        for number in range(20, 40):
            write(writer, str(number))
        assert state.with_name("state.db-wal").stat().st_size < 1.5 * size  # written again from its beginning


# --- one writer ---


def test_another_run_is_refused_also_between_transactions(site: World, state: Path) -> None:
    with sr.state.State(state, create=True) as writer:
        for _ in range(2):
            with pytest.raises(sr.StateError, match="is in use by another run, or by a stream that was not closed"):
                site.run(state)
            with sr.state.State(state) as reader:
                with pytest.raises(sr.StateError, match="is in use by another run"):
                    site.run(reader)
                assert [each.name for each in reader.sites()][:1] == ["https://shop.example/"]
            write(writer, "https://new.example/")
            writer.db.execute("DELETE FROM site WHERE name LIKE '%new%'")
    assert site.run(state).changes == []


def test_a_state_that_was_read_can_be_used_by_a_run(site: World, state: Path) -> None:
    with sr.state.State(state) as opened:
        assert len([*opened.entries()]) == 2
        site.documents["a.xml"].entries |= entries("a3")
        assert site.run(opened).reported == ({"a3"}, set(), set())
        assert len([*opened.entries()]) == 3
        with pytest.raises(sr.StateError, match="is in use by another run"):
            site.run(state)


def test_a_sealed_state_has_no_lock(state: Path, site: World) -> None:
    with sr.state.State(state, create=True) as writer:
        writer.seal()
        assert site.run(state).changes == []


OPEN_AND_CLOSE = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('SELECT * FROM site'); db.close()"


def test_recognising_a_state_releases_no_lock(site: World, state: Path) -> None:
    """The file is not opened but by SQLite: else the next process that closes it would delete the WAL of this run."""
    with sr.state.State(state, create=True) as writer:
        write(writer, "https://new.example/")
        assert comparison.is_state(str(state))
        sr.load(state)
        subprocess.run([sys.executable, "-c", OPEN_AND_CLOSE, str(state)], check=True)
        assert files(state) == ["state.db", "state.db-shm", "state.db-wal"]


# --- where SQLite cannot share a WAL ---


def lock_all(state: Path) -> None:
    """Nothing can read a state beside its run."""
    with sr.state.State(state, create=True) as writer:
        assert names(writer) == [f"{SITE}/"]
        with pytest.raises(sr.StateError, match="is in use by another run"):
            sr.state.State(state)
        with pytest.raises(sr.StateError, match="is in use by another run"):
            sr.state.State(state, create=True)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "_BUSY_SECONDS", 0.0)


@pytest.mark.usefixtures("impatient")
def test_without_shared_memory_a_state_is_read_between_runs(site: World, state: Path) -> None:
    (state.parent / "state.db-shm").symlink_to("nowhere")
    lock_all(state)
    site.documents["a.xml"].entries |= entries("a3")
    assert site.run(state).reported == ({"a3"}, set(), set())
    assert len(sr.load(state).urls) == 3


@pytest.mark.usefixtures("impatient")
def test_without_flock_a_state_is_read_between_runs(
    site: World, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema.sys, "platform", "win32")
    lock_all(state)
    assert len(sr.load(state).urls) == 2
    assert site.run(state).changes == []
    assert files(state) == ["state.db"]


def test_a_disk_without_locks_is_reported(site: World, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def flock(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(sr.StateError, match=r"state\.db cannot be locked: Function not implemented"):
        site.run(state)


def test_a_state_on_a_full_disk_can_be_read(site: World, state: Path, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "256k") as disk:
        full = shutil.copy(state, disk / "state.db")
        with suppress(OSError), (disk / "other").open("wb", buffering=0) as other:
            while other.write(b"x" * 512):
                pass
        assert len(sr.load(full).urls) == 2


# --- without permission ---


def test_a_run_while_a_state_without_permission_is_read(
    site: World, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read is what the run has committed, not pages of two times."""
    copy, access = schema._copy, os.access

    def copy_and_run(name: str) -> sqlite3.Connection:
        copied = copy(name)
        with monkeypatch.context() as patch:
            patch.setattr(schema, "_copy", copy)
            patch.setattr(schema.os, "access", access)
            site.documents["a.xml"].entries |= entries("a3")
            site.run(state)
        monkeypatch.setattr(schema, "_copy", copy)
        return copied

    monkeypatch.setattr(schema, "_copy", copy_and_run)
    monkeypatch.setattr(schema.os, "access", lambda *_: False)
    with sr.state.State(state) as opened:
        assert len([*opened.entries()]) == 3
    assert files(state) == ["state.db"]


READ = """
import os, sys, sitemap_reader as sr
sr.state.State(sys.argv[2]).close()  # loads what this user may load
os.setuid(65534)
try:
    with sr.state.State(sys.argv[1]) as state:
        print(len(state.sites()))
except sr.StateError as error:
    print(error)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that each user may read."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root may act as another user")
def test_another_user_reads_a_state_in_use(site: World, state: Path, open_folder: Path) -> None:
    shared = Path(shutil.copy(state, open_folder))

    def read() -> str:
        command = [sys.executable, "-c", READ, str(shared), str(state)]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout

    assert read() == "1\n"
    with sr.state.State(shared, create=True) as writer:
        write(writer, "https://new.example/")
        assert read() == "2\n"
        shared.with_name("state.db-shm").chmod(0o600)
        assert "state.db is in use, or was left by a run that was killed" in read()
        shared.with_name("state.db-shm").chmod(0o644)
        write(writer, "https://other.example/")
        left = {path.name: path.read_bytes() for path in open_folder.glob("state.db-*")}
    assert read() == "3\n"
    assert files(shared) == ["state.db"]
    for name, body in left.items():  # of a run that was killed
        (open_folder / name).write_bytes(body)
    assert read() == "3\n"


# --- earlier versions ---


@pytest.mark.usefixtures("impatient")
def test_an_older_file_in_use_is_not_migrated(
    site: World, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sr.state.State(state, create=True) as writer:
        monkeypatch.setattr(schema, "_MIGRATIONS", (*schema._MIGRATIONS, "CREATE TABLE more (a);\n"))
        with pytest.raises(sr.StateError, match="is in use by another run"):
            sr.state.State(state)
        write(writer, "https://new.example/")
    with sr.state.State(state) as reader:
        assert reader.db.execute("SELECT count(*) FROM more").fetchone() == (0,)


@pytest.mark.usefixtures("impatient")
def test_a_run_of_an_earlier_release_locks_out_readers(site: World, state: Path) -> None:
    """It locked the file for as long as it was open."""
    with closing(sqlite3.connect(state, isolation_level=None)) as db:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(sr.StateError, match="is in use by another run"):
            sr.load(state)
        with pytest.raises(sr.StateError, match="is in use by another run"):
            site.run(state)


# --- stress ---

# Commits again and again: rows come and go, but each commit has as many sites as its last run says.
WRITER = """
import random, sys
from sitemap_reader.state import State
ADD = "INSERT INTO site (name, settings, secret, first_seen, last_seen) VALUES (?, '{}', randomblob(16), 0, ?)"
chance = random.Random()
number = 0
while True:
    with State(sys.argv[1], create=True) as state:
        state.db.execute("PRAGMA wal_autocheckpoint = 20")
        for _ in range(chance.randrange(1, 200)):
            number += 1
            count = chance.randrange(1, 100)
            state.db.execute("BEGIN IMMEDIATE")
            state.db.execute("DELETE FROM run")
            state.db.execute("DELETE FROM site")
            state.db.executemany(ADD, [(f"https://s{each}.example/", number) for each in range(count)])
            state.db.execute("INSERT INTO run (id, site, started, ended, new, updated) VALUES (1, (SELECT min(id) FROM "
                "site), 0, 0, ?, ?)", (count, number))
            state.db.execute("COMMIT")
            if number == 1:
                print("begun", flush=True)
"""


@pytest.mark.slow
def test_each_reading_is_a_commit_of_a_writer_that_is_killed_now_and_then(state: Path) -> None:
    chance = random.Random(5)  # noqa: S311 - the same each time
    numbers = []
    for _ in range(5):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(state)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"begun\n"
            for _ in range(10 + chance.randrange(5)):
                with sr.state.State(state) as opened:
                    (run,) = opened.runs()
                    sites = opened.sites()
                    assert len(sites) == run.new
                    assert len({each.last_seen for each in sites}) == 1
                    numbers.append(run.updated)
                    assert opened.runs() == [run]
            assert writer.poll() is None
            writer.send_signal(signal.SIGKILL)
        with sr.state.State(state) as opened:
            assert opened.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert len(opened.sites()) == opened.runs()[0].new
    assert len({*numbers}) > 5
    assert files(state) == ["state.db"]


def test_completion_shows_what_is_for_users(tmp_path: Path) -> None:
    with sr.state.State(tmp_path / "s.db", create=True) as state:
        assert {"sites", "documents", "entries", "runs", "close"} <= {*dir(state)}
        assert {*dir(state)}.isdisjoint({"db", "lock", "commit", "rollback", "seal", "transaction"})
