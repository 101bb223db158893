"""The folder of a harvest after any interruption: complete shards count, and nothing is repeated."""

import shutil
import sys
import threading
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import attrs
import orjson
import pytest
from harvests import HASTY, config_of, lay_out
from inline_cluster import harvest_inline
from kills import killed_at
from pyarrow import parquet as pq

import sitemap_reader as sr
from sitemap_reader import UrlRecord
from sitemap_reader.parser import batch_of
from sitemap_reader.scale import (
    TABLES,
    HarvestCancelled,
    HarvestFolder,
    HarvestPlan,
    HostRow,
    ShardWriter,
    load_harvest,
)

SHARDS = [["a.example", "b.example"], [], ["c.example"]]
SUMS = {"urls": 1, "sitemaps": 0, "problems": 0, "bytes_wire": 10}
PARTS = ("part-00000", "part-00001", "part-00002")
TOLD = {"hosts": 1, "verdicts": {"complete": 1}, **SUMS, "seconds": 0.1, "given_up": []}


def plan(state=True, started="2026-01-01T08:30:00Z"):
    settings = {"state": state, "since": None, "include": [], "scope": "protocol"}
    return HarvestPlan(3, "00", len(SHARDS), settings, {"since": None, "until": None}, started)


@pytest.fixture
def folder(tmp_path):
    return HarvestFolder(tmp_path / "out")


@pytest.fixture
def begun(folder):
    folder.begin(plan(), SHARDS)
    return folder


def publish(folder, shard, name, *, has_state=True):
    """Publishes a shard of one host with one URL, both called `name`, and its state."""
    with closing(ShardWriter(folder, shard, state_shared_by=1 if has_state else None)) as writer:
        writer.add_urls(batch_of(None, [UrlRecord(name)]), name)
        writer.add_host(HostRow(name, name, "complete", None, 1, 0, 0, 10, datetime.now(UTC), 0.1))
        if writer.state is not None:
            sql = "INSERT INTO site (name, settings, secret, first_seen, last_seen) VALUES (?, '', zeroblob(16), 0, 0)"
            writer.state.db.execute(sql, (name,))
        return writer.publish(TOLD)


@pytest.fixture(scope="module")
def _done(tmp_path_factory):
    folder = HarvestFolder(tmp_path_factory.mktemp("done") / "out")
    folder.begin(plan(), SHARDS)
    for shard in range(3):
        publish(folder, shard, f"host{shard}")
    return folder.path


@pytest.fixture
def done(_done, folder):
    """The folder of a finished harvest of host0, host1 and host2."""
    shutil.copytree(_done, folder.path)
    return folder


def remembered(path):
    """The names in the state of a shard."""
    if not path.exists():
        return []
    with sr.state.State(path) as state:
        return [name for (name,) in state.db.execute("SELECT name FROM site ORDER BY id")]


def rows(folder, table):
    return [row for path in sorted((folder.path / table).glob("*.parquet")) for row in pq.read_table(path).to_pylist()]


def files(path):
    return sorted(str(each.relative_to(path)) for each in path.rglob("*") if each.is_file())


# --- a shard ---


def test_a_shard_is_done_when_its_manifest_is_there(begun):
    assert begun.manifest(0) is None
    reported = publish(begun, 0, "a")
    assert begun.manifest(0) == reported
    assert reported["rows"] == {"urls": 1, "sitemaps": 0, "problems": 0, "hosts": 1}
    assert [row["loc"] for row in rows(begun, "urls")] == ["a"]
    assert begun.state(0).read_bytes()[18:20] == b"\1\1"  # sealed: complete without a journal
    assert remembered(begun.state(0)) == ["a"]
    assert begun.clean_up(3) == [1, 2]
    assert not any(begun.unfinished.iterdir())


def test_shard_is_invisible_before_its_end(begun):
    before = files(begun.path)
    with closing(ShardWriter(begun, 0, state_shared_by=1)) as writer:
        writer.add_urls(batch_of(None, [UrlRecord("a")] * 50_000), "a.example")
        assert {path.partition("/")[0] for path in {*files(begun.path)} - {*before}} == {"unfinished"}
    assert files(begun.path) == before
    assert not any(begun.unfinished.iterdir())


def test_shard_without_rows_has_its_tables(begun):
    with closing(ShardWriter(begun, 1, state_shared_by=None)) as writer:
        writer.publish({**TOLD, "hosts": 0})
    assert {name: pq.read_table(begun.table(name, 1)).num_rows for name in TABLES} == dict.fromkeys(TABLES, 0)


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(18))
def test_killed_shard_counts_completely_or_not_at_all(begun, moment):
    """With a state of an earlier harvest: the changes are in the new one, or are reported again."""
    publish(begun, 0, "before")
    begun.archive(plan())
    begun.begin(plan(started="2026-01-02T08:30:00Z"), SHARDS)
    with killed_at(moment) as wanted:
        publish(begun, 0, "now")
    is_done = begun.manifest(0) is not None
    if is_done:
        assert [row["loc"] for row in rows(begun, "urls")] == ["now"]
    assert begun.clean_up(3) == ([1, 2] if is_done else [0, 1, 2])
    assert remembered(begun.state(0)) == (["before", "now"] if is_done else [])
    assert remembered(begun.state_before(0)) == ["before"]
    assert (begun.manifest(0) is not None) == is_done
    assert load_harvest(begun.path).shards_done == is_done
    assert len(rows(begun, "urls")) == is_done  # readers of the folder see no rows of incomplete shards
    assert not any(begun.unfinished.iterdir())
    if not is_done:
        publish(begun, 0, "now")
    assert remembered(begun.state(0)) == ["before", "now"]
    assert [row["loc"] for row in rows(begun, "urls")] == ["now"]
    assert len(wanted) <= 17, "there are more moments than are tried"


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(22))
def test_killed_clean_up_is_repeated(begun, moment):
    """Shard 2 was killed before it had its manifest."""
    for shard in (0, 2):
        publish(begun, shard, f"host{shard}")
    begun.manifest_path(2).unlink()
    with killed_at(moment) as wanted:
        begun.clean_up(3)
    assert len(wanted) <= 21, "there are more moments than are tried"
    assert begun.clean_up(3) == [1, 2]
    assert remembered(begun.state(0)) == ["host0"]
    assert {path.partition(".")[0].rpartition("/")[2] for path in files(begun.path)} == {"harvest", *PARTS}
    assert "part-00002" not in " ".join(path for path in files(begun.path) if not path.startswith("plan"))


@pytest.mark.parametrize("table", TABLES)
def test_a_shard_whose_table_is_gone_is_not_done(begun, table):
    publish(begun, 0, "a")
    begun.table(table, 0).unlink()
    assert begun.manifest(0) is None
    assert begun.clean_up(3) == [0, 1, 2]
    assert not begun.manifest_path(0).exists()


@pytest.mark.parametrize("table", TABLES)
def test_shard_with_a_table_of_another_size_is_not_done(begun, table):
    """As after an interrupted copy."""
    publish(begun, 0, "a")
    data = begun.table(table, 0).read_bytes()
    begun.table(table, 0).write_bytes(data[:-1])
    assert begun.manifest(0) is None


@pytest.mark.parametrize("text", ["", "{", '{"bytes', "[]", "null", "{}", "\ufffd"])
def test_shard_with_a_damaged_manifest_is_not_done(begun, text):
    publish(begun, 0, "a")
    begun.manifest_path(0).write_text(text, "utf-8")
    assert begun.manifest(0) is None
    assert begun.clean_up(3) == [0, 1, 2]


def test_attempt_replaces_the_previous_one(begun):
    first = ShardWriter(begun, 0, state_shared_by=None)
    other = ShardWriter(begun, 2, state_shared_by=None)
    first.check()
    with closing(ShardWriter(begun, 0, state_shared_by=None)) as second:
        first.check()  # repeated, as the race may not occur the first time
        with pytest.raises(HarvestCancelled, match="has taken"):
            first.check()
        second.check()
        other.check()
        first.add_urls(batch_of(None, [UrlRecord("a")]), "a.example")
        with pytest.raises(HarvestCancelled):
            first.publish(TOLD)
        first.close()
        second.check()
    other.close()
    assert files(begun.path / "urls") == []


def test_two_runs_in_a_folder_have_separate_attempts(begun):
    runs = [attrs.evolve(begun, run=name) for name in ("one", "two")]
    for run in runs:
        run.attempts.mkdir()
    first, second = (ShardWriter(run, 0, state_shared_by=None) for run in runs)
    runs[1].cancel()
    with pytest.raises(HarvestCancelled):
        ShardWriter(runs[1], 1, state_shared_by=None)
    assert (first.is_gone, second.is_gone) == (False, True)
    second.close()
    first.publish(TOLD)
    first.close()
    runs[0].cancel()
    assert not begun.unfinished.exists()


@pytest.mark.parametrize("ends", [HarvestFolder.cancel, lambda run: run.new_attempt(0)], ids=["run", "attempt"])
def test_a_worker_that_still_writes_leaves_no_folder(begun, ends):
    """Its files appear while the folder is deleted: five times, as the race may not occur the first time."""
    for number in range(5):
        run = attrs.evolve(begun, run=f"run-{number}")
        run.attempts.mkdir(parents=True)
        new_attempt, is_at_work = run.new_attempt(0), threading.Event()
        worker = threading.Thread(target=write_files, args=(new_attempt, is_at_work))
        worker.start()
        assert is_at_work.wait(30)
        ends(run)
        worker.join()
        assert not new_attempt.exists()
        run.cancel()
        assert not begun.unfinished.exists()


def write_files(folder: Path, is_at_work: threading.Event) -> None:
    """Writes files as long as the folder exists."""
    with suppress(FileNotFoundError):
        for number in range(2_000):
            (folder / f"{number}").touch()
            is_at_work.set()


def test_reading_a_state_keeps_the_shard_done(begun):
    manifest = publish(begun, 0, "a")
    before = begun.state(0).read_bytes()
    with sr.state.State(begun.state(0)) as state:
        state.sites()
        assert begun.manifest(0) == manifest
    assert begun.manifest(0) == manifest
    assert begun.state(0).stat().st_size == len(before)
    assert files(begun.path / "state") == ["part-00000.sqlite"]


# --- a plan ---


def test_plan_round_trip(begun):
    assert begun.plan() == plan()
    assert begun.plan().has_state
    assert [begun.targets(shard) for shard in range(3)] == SHARDS


def test_there_is_no_plan_where_there_is_no_folder_or_an_empty_one(folder):
    assert folder.plan() is None
    folder.path.mkdir()
    assert folder.plan() is None


def test_a_folder_for_states_is_made_where_there_is_one(folder):
    folder.begin(plan(state=False), SHARDS)
    assert not (folder.path / "state").exists()


@pytest.mark.parametrize("moment", range(22))
def test_killed_begin_can_be_repeated(folder, moment):
    with killed_at(moment) as wanted:
        folder.begin(plan(), SHARDS)
    before = folder.plan()
    assert before in (None, plan())
    if before is None:
        folder.begin(plan(), SHARDS)
    assert folder.plan() == plan()
    assert [folder.targets(shard) for shard in range(3)] == SHARDS
    assert folder.clean_up(3) == [0, 1, 2]
    assert len(wanted) <= 21, "there are more moments than are tried"


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(33))
def test_archive_of_a_harvest_is_complete_after_any_kills(done, moment):
    """The earlier tables stay readable, and the next harvest begins with its own rows only."""
    later = plan(started="2026-01-02T08:30:00Z")

    def begin():
        if done.plan() == plan():
            done.archive(plan())
            done.begin(later, SHARDS)

    with killed_at(moment) as wanted:
        begin()
    with killed_at(moment // 3):
        begin()
    begin()
    earlier = done.archive_path(plan())
    assert earlier.name == "2026-01-01T08-30-00Z"
    assert load_harvest(earlier).shards_done == 3
    assert [row["loc"] for row in rows(HarvestFolder(earlier), "urls")] == ["host0", "host1", "host2"]
    assert done.plan() == later
    assert done.clean_up(3) == [0, 1, 2]
    assert [done.targets(shard) for shard in range(3)] == SHARDS
    assert rows(done, "urls") == []
    assert [remembered(done.state_before(shard)) for shard in range(3)] == [["host0"], ["host1"], ["host2"]]
    assert [remembered(done.state(shard)) for shard in range(3)] == [[], [], []]
    assert len(wanted) <= 32, "there are more moments than are tried"


@pytest.mark.parametrize("name", ["notes.txt", "urls.parquet", ".git", "harvest.json.bak"])
def test_a_folder_that_holds_something_else_is_refused_and_left_as_it_is(folder, name):
    folder.path.mkdir()
    (folder.path / name).write_text("mine")
    with pytest.raises(sr.UsageError, match="holds something else than a harvest, or one without its harvest"):
        folder.plan()
    assert files(folder.path) == [name]
    assert (folder.path / name).read_text() == "mine"


def test_a_file_is_no_folder(folder):
    folder.path.write_text("mine")
    with pytest.raises(sr.UsageError, match="is a file, or in one; name a folder"):
        folder.plan()


def test_a_folder_of_a_newer_version_is_refused(begun):
    form = attrs.asdict(plan()) | {"version": 2, "more": 1}
    (begun.path / "harvest.json").write_bytes(orjson.dumps(form))
    with pytest.raises(sr.UsageError, match="is of another version of sitemap-reader; name another folder"):
        begun.plan()
    with pytest.raises(sr.UsageError, match="another version"):
        load_harvest(begun.path)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"5", b'{"version":1}', b'{"version":1,"x":2}', b"\xff", b"x" * 3])
def test_damaged_plan_is_reported(begun, data):
    (begun.path / "harvest.json").write_bytes(data)
    with pytest.raises(sr.UsageError, match=r"harvest\.json is damaged: .*; name another folder"):
        begun.plan()


def test_load_harvest_needs_a_harvest(tmp_path):
    for name in ("none", "."):
        with pytest.raises(sr.UsageError, match="there is no harvest in"):
            load_harvest(tmp_path / name)


def test_the_sum_of_a_harvest_is_that_of_its_shards(begun):
    for shard in (0, 2):
        publish(begun, shard, f"host{shard}")
    found = load_harvest(str(begun.path))
    assert (found.hosts, found.hosts_done, found.shards, found.shards_done) == (3, 2, 3, 2)
    assert (found.urls, found.bytes_wire, found.verdicts) == (2, 20, {"complete": 2})
    assert found.rows == {"urls": 2, "sitemaps": 0, "problems": 0, "hosts": 2}
    assert not found.complete
    assert found.missing() == "1 host not read, 1 of 3 shards not done"
    assert str(found) == "2 changes; 2 URLs from 2 of 3 hosts read; 2 complete"
    publish(begun, 1, "host1")
    assert load_harvest(begun.path).complete
    assert load_harvest(begun.path).missing() == ""


# --- two commands at once ---


@pytest.fixture
def host(site_server):
    """A host with one URL."""
    server = site_server({})
    server.pages["/sitemap.txt"] = (200, {}, f"{server.url}/a\n".encode())
    return server.url


@pytest.mark.parametrize("state", [True, False])
def test_a_second_harvest_in_the_folder_is_refused_and_the_first_goes_on(folder, host, state):
    config = config_of(state=state)
    first = attrs.evolve(lay_out(folder.path, [host], config), run="first")
    first.attempts.mkdir()
    writer = ShardWriter(first, 0, state_shared_by=1 if state else None)
    with pytest.raises(sr.UsageError, match=r"not done, 1 of 1 shard left: resume=True goes on"):
        harvest_inline([host], folder.path, state=state)
    writer.check()
    writer.check()
    writer.publish(TOLD)
    writer.close()
    assert folder.manifest(0) is not None


def test_resume_takes_over_and_ends_the_first_harvest(folder, host):
    config = config_of()
    first = attrs.evolve(lay_out(folder.path, [host], config), run="first")
    first.attempts.mkdir()
    writer = ShardWriter(first, 0, state_shared_by=None)
    found = harvest_inline([host], folder.path, limits=HASTY, resume=True)
    assert (found.complete, found.urls) == (True, 1)
    with pytest.raises(HarvestCancelled):
        writer.publish(TOLD)
    writer.close()
    assert [row["loc"] for row in rows(folder, "urls")] == [f"{host}/a"]
    with pytest.raises(HarvestCancelled):
        ShardWriter(first, 0, state_shared_by=None)
    assert not folder.unfinished.exists()


# --- workers ---


def test_workers_and_a_scheduler_are_not_both_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", ModuleType("distributed"))  # an empty list
    with pytest.raises(sr.UsageError, match="leave one of the two out"):
        sr.scale.harvest(["a.example"], folder.path, scheduler="127.0.0.1:1", workers=2)
    assert not folder.path.exists()


def test_worker_without_the_folder_is_reported(folder, monkeypatch):
    right = Path.is_dir
    monkeypatch.setattr(Path, "is_dir", lambda self: self != folder.path and right(self))
    words = f"sees no folder {folder.path}: all workers must see it under the same name"
    with pytest.raises(sr.UsageError, match=words):
        harvest_inline(["a.example"], folder.path)
