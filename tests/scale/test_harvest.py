"""Harvests on real worker processes: killed, interrupted, and on a full disk."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import pytest
from harvests import files, table, tables
from hostfarm import make_hosts, run_farm
from inline_cluster import harvest_inline
from servers import free_port
from tiers import needs

import sitemap_reader as sr
from sitemap_reader.scale import HarvestFolder, ProgressTracker, load_harvest
from sitemap_reader.scale import api as workers_of

pytestmark = pytest.mark.slow

needs("distributed")
psutil = needs("psutil")

KINDS = {"robots": 5, "index": 3, "text": 1, "feed": 1, "none": 1, "broken": 1, "error": 1}
HOSTS = 60
SHARDS = 12
HASTY = sr.Limits(tries=1)
MAX_WAIT_SECONDS = 60.0
# Few hosts at once, so that a harvest takes seconds.
SLOWLY = {"shards": SHARDS, "hosts_at_once": 1, "limits": HASTY}
PROGRAM = [sys.executable, "-m", "sitemap_reader", "harvest"]
OPTIONS = ["--allow-private", "--shards", str(SHARDS), "--hosts-at-once", "1", "--retries", "0", "--workers", "1"]

SAFE_PATH = "PYTHONSAFEPATH"

unix = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")


@pytest.fixture(scope="module")
def hosts():
    port = free_port()
    return make_hosts(HOSTS, seed=11, port=port, kinds=KINDS, median_urls=60, median_latency=0.02, most_latency=0.03)


@pytest.fixture(scope="module")
def farm(hosts, tmp_path_factory):
    with run_farm(hosts, tmp_path_factory.mktemp("farm") / "work") as running:
        running.warm()
        yield running


@pytest.fixture(scope="module")
def right(farm, hosts, tmp_path_factory):
    """The tables of an undisturbed harvest."""
    out = tmp_path_factory.mktemp("right") / "out"
    harvest_inline(hosts, out, shards=1, limits=HASTY)
    return tables(out)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def listed(hosts, tmp_path):
    file = tmp_path / "hosts.txt"
    file.write_text("".join(f"{host.target}\n" for host in hosts))
    return file


def wait_for(condition, *, of):
    """Waits until the condition holds; its value."""
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline, of
        time.sleep(0.02)
    return found


def done_shards(out):
    return [shard for shard in range(SHARDS) if HarvestFolder(out).manifest(shard) is not None]


def workers_below(process):
    """The worker processes among the children of a process."""
    return [child for child in process.children(recursive=True) if "spawn_main" in " ".join(cmdline(child))]


def cmdline(process):
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@contextmanager
def running(*arguments, **options):
    """Runs the command; at the end it and its child processes are killed."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen([*map(str, arguments)], **pipes, **options) as process:
        children = []
        try:
            yield process, children
        finally:
            if process.poll() is None:
                children += psutil.Process(process.pid).children(recursive=True)
                process.kill()
            for child in children:
                if child.is_running():
                    child.kill()


def begun(process, children, out, shards=2):
    """Waits until some shards are done and others are not; adds the child processes to `children`."""
    wait_for(lambda: process.poll() is not None or len(done_shards(out)) >= shards, of=process)
    assert process.poll() is None, process.communicate()
    children += psutil.Process(process.pid).children(recursive=True)
    assert len(done_shards(out)) < SHARDS


def end(process):
    stdout, stderr = process.communicate(timeout=MAX_WAIT_SECONDS)
    assert stdout == ""
    return process.returncode, stderr


def run(*arguments, **options):
    with running(*arguments, **options) as (process, _):
        return end(process)


# --- the local cluster ---


class WorkerKiller:
    """Collects progress; after five hosts checks the processes and the dashboard, then kills a worker with a shard."""

    def __init__(self, out):
        self.out = out
        self.worker_of = {}  # shard -> address of the worker that reported it last
        self.listen_addresses = None
        self.dashboard = None
        self.killed = None
        self.progress = []

    def on_event(self, event):
        self.worker_of[event["shard"]] = event["worker"]

    def on_progress(self, progress):
        self.progress.append(progress)
        if self.killed is not None or progress.hosts_done <= 5:
            return
        if self.dashboard is None:
            us = psutil.Process()
            self.listen_addresses = self._listen_addresses([us, *us.children(recursive=True)])
            with urllib.request.urlopen(progress.dashboard, timeout=MAX_WAIT_SECONDS) as answer:  # noqa: S310
                self.dashboard = (answer.status, b"Dask" in answer.read())
        self.killed = self._kill_worker()

    def _listen_addresses(self, processes):
        try:
            return {ip for process in processes for ip, _ in listening(process)}
        except (psutil.AccessDenied, PermissionError):
            return None

    def _kill_worker(self):
        """The killed process; None if no worker has a shard now.

        A worker has a shard if it has reported progress of it and there is no manifest. It is suspended before the
        manifest is looked for, so that it cannot finish the shard in between.
        """
        for worker in workers_below(psutil.Process()):
            ports = {port for _, port in listening(worker)}
            worker.suspend()
            wait_for(lambda worker=worker: worker.status() == psutil.STATUS_STOPPED, of=worker)
            done = done_shards(self.out)
            for shard, address in self.worker_of.copy().items():
                if shard not in done and int(address.rpartition(":")[2]) in ports:
                    worker.kill()
                    return worker
            worker.resume()
        return None


def listening(process):
    """(address, port) of each socket on which the process listens."""
    return {tuple(each.laddr) for each in process.net_connections("inet") if each.status == psutil.CONN_LISTEN}


@pytest.fixture(scope="module")
def disturbed(farm, hosts, right, tmp_path_factory):
    """A harvest during which one of its two workers was killed: its folder, its result, and the WorkerKiller."""
    out = tmp_path_factory.mktemp("disturbed") / "out"
    killer = WorkerKiller(out)
    update = ProgressTracker.update

    def update_and_record(tracker, event):
        update(tracker, event)
        killer.on_event(event)

    targets = [host.target for host in hosts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProgressTracker, "update", update_and_record)
        found = sr.scale.harvest(targets, out, workers=2, allow_private=True, on_progress=killer.on_progress, **SLOWLY)
    return out, found, killer


def test_killed_worker_loses_no_row(disturbed, right):
    out, found, killer = disturbed
    assert killer.killed is not None
    assert tables(out) == right
    assert sum(found.again.values()) >= 1
    assert (found.failed, found.shards_done, found.hosts_done) == ({}, SHARDS, HOSTS)


def test_all_processes_listen_on_loopback_only(disturbed):
    _, _, killer = disturbed
    if killer.listen_addresses is None:
        pytest.skip("the sockets of processes cannot be listed here")
    assert killer.listen_addresses
    assert all(address.startswith("127.") for address in killer.listen_addresses)


def test_the_dashboard_answers(disturbed):
    assert disturbed[2].dashboard == (200, True)


def test_progress_reaches_all_hosts_and_estimates_the_time(disturbed):
    _, found, killer = disturbed
    first, last = killer.progress[0], killer.progress[-1]
    assert (first.hosts, first.shards, first.shards_at_once) == (HOSTS, SHARDS, 4)
    assert (last.hosts_done, last.shards_done, last.urls) == (HOSTS, SHARDS, found.urls)
    assert last.eta_seconds == 0
    assert any(progress.eta_seconds for progress in killer.progress)
    assert last.not_whole == sum(found.verdicts.get(name, 0) for name in ("partial", "blocked", "unreadable"))


def test_no_worker_process_is_left(disturbed):
    assert workers_below(psutil.Process()) == []
    assert not disturbed[0].joinpath("unfinished").exists()


def test_the_folder_is_read_in_one_query(disturbed, right):
    duckdb = needs("duckdb")
    out, found, _ = disturbed
    sql = f"""SELECT verdict, count(DISTINCT site), count(loc) FROM '{out}/urls/*.parquet'
              RIGHT JOIN '{out}/hosts/*.parquet' USING (site) GROUP BY verdict ORDER BY verdict"""  # noqa: S608
    with duckdb.connect() as connection:
        rows = connection.execute(sql).fetchall()
    counts = {verdict: (sites, urls) for verdict, sites, urls in rows}
    assert {verdict: sites for verdict, (sites, _) in counts.items()} == found.verdicts
    assert sum(urls for _, urls in counts.values()) == found.urls == len(right["urls"])


# --- the command ---


@unix
def test_killed_harvest_is_resumed_where_it_was(farm, hosts, listed, out, right):
    with running(*PROGRAM, listed, "-o", out, *OPTIONS) as (process, children):
        begun(process, children, out, shards=3)
        process.send_signal(signal.SIGKILL)
        end(process)
        assert psutil.wait_procs(children, MAX_WAIT_SECONDS)[1] == []
    done = done_shards(out)
    before = {name: (out / name).stat().st_mtime_ns for name in files(out) if name.startswith(("urls", "manifests"))}
    farm.reset()
    code, stderr = run(*PROGRAM, listed, "-o", out, *OPTIONS, "--resume")
    assert code == 3, stderr
    assert tables(out) == right
    read = {target for target, paths in farm.requested().items() if paths}
    left = {target for shard in range(SHARDS) if shard not in done for target in HarvestFolder(out).targets(shard)}
    assert 0 < len(read) < HOSTS
    assert read == left
    after = {name: (out / name).stat().st_mtime_ns for name in before}
    assert {name for name in before if before[name] != after[name]} <= {
        name for name in before if not any(f"part-{shard:05}" in name for shard in done)
    }
    farm.reset()
    assert sr.scale.harvest(listed, out, resume=True, allow_private=True, **SLOWLY).shards_done == SHARDS
    assert not any(farm.requested().values())


@unix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_prints_one_line_and_leaves_no_process(farm, listed, out, right, number):
    """SIGINT is sent to all processes of the command, as by a terminal."""
    with running(*PROGRAM, listed, "-o", out, *OPTIONS) as (process, children):
        begun(process, children, out, shards=1)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        code, stderr = end(process)
        assert code == 130, stderr
        assert psutil.wait_procs(children, MAX_WAIT_SECONDS)[1] == []
    assert "Traceback" not in stderr
    assert "Error" not in stderr
    assert stderr.splitlines()[-2].endswith("; --resume does the rest")
    assert stderr.splitlines()[-1] == "partial: interrupted (exit 130)"
    assert load_harvest(out).shards_done == len(done_shards(out)) >= 1
    assert not (out / "unfinished").exists()
    assert len(table(out, "hosts")) == load_harvest(out).hosts_done


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a small disk; `grow()` enlarges it."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(*options):
        command = ["mount", "-t", "tmpfs", *options, "tmpfs", str(place)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    if sys.platform != "linux" or os.geteuid() != 0 or not mount("-o", "size=200k"):
        pytest.skip("no disk can be mounted here")
    yield place, lambda: mount("-o", "remount,size=20m")
    subprocess.run(["umount", str(place)], check=True)


def test_harvest_is_resumed_after_a_full_disk(farm, hosts, listed, right, small_disk):
    place, grow = small_disk
    out = place / "out"
    code, stderr = run(*PROGRAM, listed, "-o", out, *OPTIONS)
    assert code == 6, stderr
    assert "No space left on device" in stderr
    assert "Traceback" not in stderr
    done = done_shards(out)
    assert len(done) < SHARDS
    for name in ("urls", "sitemaps", "problems", "hosts"):
        assert [part.stem for part in sorted((out / name).iterdir())] == [f"part-{shard:05}" for shard in done]
    assert "; --resume does the rest" in stderr
    assert grow()
    harvest_inline(hosts, out, shards=SHARDS, limits=HASTY, resume=True)
    assert tables(out) == right


def test_harvest_at_module_level_is_reported_with_advice(listed, out, tmp_path):
    script = tmp_path / "script.py"
    call = f"sr.scale.harvest({str(listed)!r}, {str(out)!r}, workers=1, allow_private=True)"
    script.write_text(f"import sitemap_reader as sr\n\n{call}\n")
    code, stderr = run(sys.executable, script)
    assert code != 0
    assert 'call harvest() below `if __name__ == "__main__":`' in stderr
    assert not out.exists()


# --- an external scheduler ---


@contextmanager
def dask(*arguments):
    """A command of Dask, with its output."""
    with running(sys.executable, "-m", "dask", *arguments) as (process, _):
        yield process


def wait_for_line(process, words):
    """Waits for a line with these words on stderr; the line."""
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    lines = []
    while time.monotonic() < deadline:
        lines.append(process.stderr.readline())
        if words in lines[-1] or not lines[-1]:
            break
    assert words in lines[-1], lines
    return lines[-1]


@pytest.fixture
def scheduler():
    """The process and the address of a scheduler, with one worker of two threads."""
    quiet = ["--host", "127.0.0.1"]
    with dask("scheduler", *quiet, "--port", "0", "--dashboard-address", "127.0.0.1:0") as process:
        address = wait_for_line(process, "Scheduler at:").split()[-1]
        worker = [address, *quiet, "--nthreads", "2", "--no-dashboard", "--no-nanny", "--death-timeout", "60"]
        with dask("worker", *worker) as helper:
            wait_for_line(helper, "Starting established connection")
            yield process, address


def test_workers_of_another_scheduler_are_used_and_stay(farm, hosts, out, right, scheduler, tmp_path):
    process, address = scheduler
    targets = [host.target for host in hosts]
    found = sr.scale.harvest(targets, out, scheduler=address, allow_private=True, shards=SHARDS, limits=HASTY)
    assert found.shards_done == SHARDS
    assert tables(out) == right
    assert process.poll() is None
    other = tmp_path / "other"

    def kill(progress):
        if progress.shards_done >= 2:
            process.kill()

    lost = sr.scale.harvest(targets, other, scheduler=address, allow_private=True, on_progress=kill, **SLOWLY)
    assert lost.failed
    assert {*lost.failed.values()} == {"the connection to the scheduler was lost"}
    assert lost.shards_done + len(lost.failed) == SHARDS
    harvest_inline(hosts, other, shards=SHARDS, limits=HASTY, resume=True)
    assert tables(other) == right


@pytest.mark.parametrize("address", ["127.0.0.1:1", "tcp://127.0.0.1:1", "tcp://127.0.0.1:x", "nonsense://x", ""])
def test_wrong_scheduler_address_is_reported(out, monkeypatch, address):
    monkeypatch.setattr(workers_of, "CONNECT_SECONDS", 0.5)
    with pytest.raises(sr.UsageError, match=r"no scheduler answers at .*`dask scheduler` starts one"):
        sr.scale.harvest(["a.example"], out, scheduler=address)
    assert not out.exists()


@pytest.mark.parametrize(("of_user", "in_cluster"), [(None, "1"), ("", "1"), ("0", "0")])
def test_processes_of_a_cluster_do_not_import_from_the_working_folder(monkeypatch, of_user, in_cluster):
    seen = []

    @contextmanager
    def started(workers):
        seen.append(os.environ[SAFE_PATH])
        yield None

    @contextmanager
    def client(cluster):
        seen.append(os.environ[SAFE_PATH])  # workers that die are started again
        yield None

    monkeypatch.setattr(workers_of, "_started", started)
    monkeypatch.setattr(workers_of, "_client", client)
    monkeypatch.delenv(SAFE_PATH, raising=False)
    if of_user is not None:
        monkeypatch.setenv(SAFE_PATH, of_user)
    with workers_of.connected(None, 1):
        seen.append(os.environ[SAFE_PATH])
    assert seen == [in_cluster] * 3
    assert os.environ.get(SAFE_PATH) == of_user
