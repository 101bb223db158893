"""`harvest`: messages and exit codes. Its tasks run in this process."""

import errno
import logging
import sys
from importlib import import_module

import attrs
import pytest
from inline_cluster import inline_cluster
from kit import robots, run, urlset

from sitemap_reader.cli import Console, Exit
from sitemap_reader.cli.harvest import _ProgressLines
from sitemap_reader.scale import HarvestProgress, HarvestTasks, ShardWriter

pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def client():
    """Replaces the cluster."""
    with inline_cluster() as running:
        yield running


@pytest.fixture
def site(site_server):
    """`site(*paths, status=200)` -> the URL of a host that lists them."""

    def serve(*paths, status=200):
        server = site_server({})
        body = urlset(*(f"{server.url}/{path}" for path in paths))
        server.pages["/robots.txt"] = (200, {}, robots(f"{server.url}/map.xml"))
        if paths or status != 200:
            server.pages["/map.xml"] = (status, {}, body)
        return server.url

    return serve


@pytest.fixture
def harvest(tmp_path):
    """`harvest(lines, *options)` -> the result of the command; the folder is tmp_path/out."""
    file = tmp_path / "hosts.txt"

    def command(lines, *options):
        file.write_text("".join(f"{line}\n" for line in lines))
        return run("harvest", file, "-o", tmp_path / "out", "--allow-private", "--retries", "0", *options)

    return command


def lines(result):
    """The lines of stderr, without seconds."""
    return [line.rpartition("; ")[0] if line.endswith(" s") else line for line in result.stderr.splitlines()]


# --- messages ---


def test_harvest_prints_its_plan_and_its_result(harvest, site):
    result = harvest([site("a", "b"), site("c")])
    assert (result.exit_code, result.stdout) == (Exit.COMPLETE, "")
    assert lines(result) == [
        "1 shard to do, 2 at once; http://127.0.0.1:8787/status",
        "3 URLs from 2 hosts; 2 complete",
    ]


def test_harvest_with_a_state_prints_the_number_of_changes(harvest, site):
    host = site("a", "b")
    assert lines(harvest([host], "--state"))[-1] == "2 changes; 2 URLs from 1 host read; 1 complete"
    assert lines(harvest([host], "--state"))[-1].startswith("0 changes; ")


@pytest.mark.slow
def test_skipped_hosts_are_named_up_to_five_and_all_with_verbose(harvest, site, tmp_path):
    hosts = [site(*"abcdef") for _ in range(7)]
    result = harvest(hosts, "--host-urls", "5")
    assert result.exit_code == Exit.PARTIAL
    reported = lines(result)
    more = "reading stops here; raise host_urls (--host-urls) to go on"
    assert {line.partition(": ")[2] for line in reported[1:6]} == {f"after 6 URLs: {more}"}
    assert sum(line.startswith("cut short ") for line in reported) == 5
    assert reported[6] == "2 more; -v shows them all"
    assert reported[-1] == "partial: 7 hosts cut short (exit 3)"
    again = harvest(hosts, "--host-urls", "5", "-v", "-o", tmp_path / "other")
    assert sum(line.startswith("cut short ") for line in lines(again)) == 7


def test_quiet_shows_errors_only(harvest, site, tmp_path):
    assert harvest([site("a")], "-q").stderr == ""
    result = harvest(["no host", site("a")], "-q", "-o", tmp_path / "other")
    assert "is no host such as example.com" in result.stderr


def test_quiet_names_no_skipped_host(harvest, site):
    result = harvest([site("a", "b")], "-q", "--host-urls", "1")
    assert (result.exit_code, result.stderr) == (Exit.PARTIAL, "")


def test_scheduler_without_workers_is_reported(harvest, site, client):
    client.workers = 0
    reported = lines(harvest([site("a")]))
    assert reported[0].startswith("1 shard to do, 0 at once; ")
    assert reported[1] == "note the scheduler has no worker yet; `dask worker ADDRESS` starts one"


def test_without_a_terminal_progress_is_one_line_a_minute(capsys):
    progress = HarvestProgress(3, 1_000, 1_204_331, 88_100_000, 2, 0, 4, 2, "http://127.0.0.1:8787", 10.0, 58.4)
    events = _ProgressLines(Console(quiet=False, verbose=False))
    for seconds in (10.0, 59.0, 61.0, 62.0, 119.0, 121.0, 200.0):
        events(attrs.evolve(progress, seconds=seconds))
    reported = capsys.readouterr().err.splitlines()
    assert reported[0] == "4 shards to do, 2 at once; http://127.0.0.1:8787"
    assert reported[1:] == ["3 of 1,000 hosts; 1,204,331 URLs, 88.1 MB, 2 not whole, 00:58 left"] * 3


def test_logs_of_dask_are_not_shown(harvest, site, client, monkeypatch, caplog):
    right = client.submit

    def submit(*args, **keywords):
        logging.getLogger("distributed.scheduler").error("a worker is gone")
        return right(*args, **keywords)

    monkeypatch.setattr(type(client), "submit", lambda self, *args, **keywords: submit(*args, **keywords))
    assert harvest([site("a")]).exit_code == Exit.COMPLETE
    assert caplog.records == []
    logging.getLogger("distributed.scheduler").error("now it is logged")
    assert [record.message for record in caplog.records] == ["now it is logged"]


# --- hosts ---


def test_invalid_lines_are_reported_by_number_and_others_are_read(harvest, site, tmp_path):
    bad = [f"no host {number}" for number in range(7)]
    result = harvest(["# hosts", site("a"), "", *bad])
    assert result.exit_code == Exit.USAGE
    reported = lines(result)
    assert reported[0].startswith(f"error: {tmp_path}/hosts.txt:4: 'no host 0' is no host such as example.com; ")
    assert [line.split(":")[2] for line in reported[:5]] == ["4", "5", "6", "7", "8"]
    assert reported[5] == f"error: {tmp_path}/hosts.txt: 2 more lines are not hosts"
    assert reported[-1].startswith("1 URL from 1 host; 1 complete")


def test_hosts_come_from_stdin_too(site, tmp_path):
    text = f"# hosts\n\n{site('a')}\nno host\n"
    result = run("harvest", "-", "-o", tmp_path / "out", "--allow-private", stdin=text)
    assert result.exit_code == Exit.USAGE
    assert lines(result)[0].startswith("error: -:4: 'no host' is no host")
    assert (tmp_path / "out" / "plan" / "part-00000.txt").read_text().startswith("http://127.0.0.1:")


@pytest.mark.parametrize(("arguments", "code", "words"), [
    ([], Exit.USAGE, "Missing argument 'HOSTS|-'"),
    (["hosts.txt"], Exit.USAGE, "Missing option '-o' / '--output'"),
    (["none.txt", "-o", "out"], Exit.USAGE, "cannot read none.txt: No such file or directory"),
    (["empty.txt", "-o", "out"], Exit.USAGE, "there is no host in empty.txt"),
    (["example.com", "-o", "out"], Exit.USAGE, "cannot read example.com"),
    (["hosts.txt", "-o", ""], Exit.USAGE, "output is the name of a folder, and empty"),
    (["hosts.txt", "-o", "hosts.txt"], Exit.USAGE, "hosts.txt is a file, or in one; name a folder"),
    (["hosts.txt", "-o", "full"], Exit.USAGE, "full holds something else than a harvest"),
    (["hosts.txt", "-o", "out", "--resume"], Exit.USAGE, "no harvest in"),
    (["hosts.txt", "-o", "out", "--shards", "0"], Exit.USAGE, "--shards"),
    (["hosts.txt", "-o", "out", "--workers", "0"], Exit.USAGE, "--workers"),
    (["hosts.txt", "-o", "out", "--hosts-at-once", "0"], Exit.USAGE, "--hosts-at-once"),
    (["hosts.txt", "-o", "out", "--host-seconds", "0"], Exit.USAGE, "host"),
    (["hosts.txt", "-o", "out", "--host-urls", "0"], Exit.USAGE, "--host-urls"),
    (["hosts.txt", "-o", "out", "--state", "--since", "7d"], Exit.USAGE, "give one of them"),
    (["hosts.txt", "-o", "out", "--accept-removals"], Exit.USAGE, "a state"),
    (["hosts.txt", "-o", "out", "--concurrency", "2"], Exit.USAGE, "No such option '--concurrency'"),
    (["hosts.txt", "-o", "out", "--record", "x"], Exit.USAGE, "No such option '--record'"),
    (["hosts.txt", "-o", "out", "-q", "-v"], Exit.USAGE, "-q and -v cannot both be given"),
    (["hosts.txt", "-o", "hosts.txt/out"], Exit.USAGE, "hosts.txt/out is a file, or in one; name a folder"),
])
def test_invalid_arguments_are_one_line_and_change_nothing(tmp_path, monkeypatch, arguments, code, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hosts.txt").write_text("a.example\n")
    (tmp_path / "empty.txt").write_text("# nothing\n")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").write_text("mine")
    result = run("harvest", *arguments)
    assert result.exit_code == code
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()
    assert [each.name for each in (tmp_path / "full").iterdir()] == ["notes"]


@pytest.mark.parametrize("missing", ["distributed", "pyarrow"])
def test_without_dask_the_extra_is_named(harvest, monkeypatch, tmp_path, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    result = harvest(["a.example"])
    assert result.exit_code == Exit.USAGE
    assert result.stderr.startswith("error: harvest needs ")
    assert "pip install 'sitemap-reader[dask]'" in result.stderr
    assert not (tmp_path / "out").exists()


def test_help_names_its_options_and_examples():
    text = run("harvest", "--help").stdout
    for words in ("--resume", "--state", "--scheduler", "--hosts-at-once", "--host-seconds", "harvest hosts.txt -o"):
        assert words in text


# --- exit codes ---


def test_a_host_in_part_is_partial(harvest, site_server, site):
    server = site_server({})
    server.pages["/sitemap.xml"] = (200, {}, urlset(f"{server.url}/a", f"{server.url}/b")[:-30])
    result = harvest([server.url, site("a")])
    assert result.exit_code == Exit.PARTIAL
    assert lines(result)[-1] == "partial: 1 host partial (exit 3)"


def test_no_sitemap_at_all_is_nothing(harvest, site_server):
    assert harvest([site_server({}).url]).exit_code == Exit.NOTHING


def test_one_host_with_a_sitemap_is_enough(harvest, site, site_server):
    result = harvest([site_server({}).url, site("a")])
    assert result.exit_code == Exit.COMPLETE
    assert lines(result)[-1].startswith("1 URL from 2 hosts; 1 complete; 1 without URLs")


def test_nothing_readable_is_unreadable(harvest, site):
    result = harvest([site(status=500)])
    assert result.exit_code == Exit.UNREADABLE
    assert lines(result)[-1] == "partial: 1 host unreadable (exit 5)"


def test_full_disk_exits_6_and_keeps_finished_shards(harvest, site, monkeypatch):
    """The disk is full from the second shard on."""
    hosts = [site("a"), f"http://localhost:{site('b').rpartition(':')[2]}"]
    right, seen = ShardWriter.publish, []

    def full(self, reported):
        seen.append(self)
        if len(seen) > 1:
            raise OSError(errno.ENOSPC, "No space left on device", "out/urls/part-00001.parquet")
        return right(self, reported)

    monkeypatch.setattr(ShardWriter, "publish", full)
    result = harvest(hosts, "--shards", "3")
    assert result.exit_code == Exit.UNWRITABLE
    reported = lines(result)
    assert reported[-2].endswith("; --resume does the rest")
    assert reported[-1].startswith("error: ")
    assert "No space left on device" in reported[-1]
    monkeypatch.setattr(ShardWriter, "publish", right)
    assert harvest(hosts, "--shards", "3", "--resume").exit_code == Exit.COMPLETE


def test_interrupt_is_reported_with_the_results_so_far(harvest, site, monkeypatch):
    def interrupted(self, *args):
        raise KeyboardInterrupt

    monkeypatch.setattr(HarvestTasks, "run", interrupted)
    result = harvest([site("a")])
    assert result.exit_code == Exit.INTERRUPTED
    assert lines(result) == ["0 URLs from 0 of 1 host; --resume does the rest", "partial: interrupted (exit 130)"]


def test_interrupted_before_it_begins_a_harvest_does_not_report_the_one_before(harvest, site, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    host = site("a")
    assert harvest([host], "--state").exit_code == Exit.COMPLETE
    monkeypatch.setattr(import_module("sitemap_reader.scale.api"), "connected", interrupted)
    result = harvest([host], "--state")
    assert (result.exit_code, lines(result)) == (Exit.INTERRUPTED, ["partial: interrupted (exit 130)"])


def test_failed_shard_is_reported_and_not_repeated(harvest, site, monkeypatch, tmp_path):
    def broken(self, row):
        raise ZeroDivisionError("by us")

    host = site("a")
    with monkeypatch.context() as patch:
        patch.setattr(ShardWriter, "add_host", broken)
        result = harvest([host])
    assert result.exit_code == Exit.PARTIAL
    assert "error: shard 0 is not done: ZeroDivisionError: by us; --resume tries it again" in lines(result)
    assert lines(result)[-1] == "partial: 1 host not read, 1 of 1 shard not done (exit 3)"
    assert harvest([host], "--resume").exit_code == Exit.COMPLETE


def test_resume_of_a_finished_harvest_reads_nothing(harvest, site):
    host = site("a")
    harvest([host])
    result = harvest([host], "--resume")
    assert (result.exit_code, lines(result)) == (Exit.COMPLETE, ["1 URL from 1 host; 1 complete"])


def test_another_list_is_not_resumed(harvest, site):
    harvest([site("a")])
    result = harvest([site("b")], "--resume")
    assert result.exit_code == Exit.USAGE
    assert "has another list of hosts; resume it with that" in result.stderr
