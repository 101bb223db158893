"""The watch command as a process: lines on stdout, a server, signals, and what it says about mistakes."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from cli_runs import PROGRAM
from kit import objects, robots, run, urlset, xml
from servers import SiteServer, free_port

PATIENCE_SECONDS = 60.0
DRAIN_SECONDS = 10.0  # SIGTERM ends a watch within this


@contextmanager
def site(*locs: str) -> Iterator[SiteServer]:
    """A site with one sitemap."""
    with SiteServer({}) as server:
        server.pages["/robots.txt"] = 200, {}, robots(f"{server.url}/s.xml")
        server.pages["/s.xml"] = xml(urlset(*(f"{server.url}/{loc}" for loc in locs)))
        yield server


@contextmanager
def watching(*arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    """A watch as a process."""
    command = [*PROGRAM, "watch", *map(str, arguments), "--allow-private"]
    environment = {**os.environ, "NO_COLOR": "1"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def until(process: subprocess.Popen[str], words: str) -> str:
    """The first line on stderr that has the words."""
    while words not in (line := process.stderr.readline()):
        assert line
    return line


def lines_of(process: subprocess.Popen[str], number: int) -> list[dict[str, object]]:
    return [json.loads(process.stdout.readline()) for _ in range(number)]


@pytest.mark.slow
def test_a_visit_ends_after_site_seconds(tmp_path: Path) -> None:
    with site("a") as server:
        server.pages["/robots.txt"] = 200, {}, robots(f"{server.url}/s.xml", rules="User-agent: *\nCrawl-delay: 20\n")
        with watching(f"{server.url}/", "--state", tmp_path / "s.db", "-v", "--site-seconds", "0.5") as process:
            lines = [process.stderr.readline() for _ in range(2)]
    assert "1 request, fails: " in lines[1]
    assert "after 0.5 s of waiting" in lines[1]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_watch(tmp_path: Path, number: signal.Signals) -> None:
    with site("a", "b") as server, watching(f"{server.url}/", "--state", tmp_path / "s.db", "-v") as process:
        lines = lines_of(process, 2)
        began = time.monotonic()
        process.send_signal(number)
        time.sleep(0.02)
        if process.poll() is None:  # `timeout` sends it twice
            process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
        assert (process.returncode, out) == (0, "")
        assert time.monotonic() - began < DRAIN_SECONDS
    found = [(line["seq"], line["change"], line["site"]) for line in lines]
    assert found == [(number, "new", f"{server.url}/") for number in (1, 2)]
    assert err.splitlines() == [
        "watching 1 site, 0 sitemaps known; up to 3,600 requests an hour, 120 a domain",
        f"{server.url}/: 2 requests, 2 in a first reading",
        "2 in a first reading; 1 visit, 2 requests",
    ]


@pytest.mark.slow
def test_a_killed_watch_continues(tmp_path: Path) -> None:
    """Its changes are delivered by the next one, and robots.txt is not requested again."""
    changes = tmp_path / "changes.jsonl"
    arguments = ["--state", tmp_path / "s.db", "--to", changes]
    with site("a", "b") as server:
        with watching(f"{server.url}/", *arguments) as process:
            while len(server.received) < 2:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            process.wait()
        with watching(f"{server.url}/", *arguments, "--to", "-"):
            while not changes.exists() or changes.read_bytes().count(b"\n") < 2:
                time.sleep(0.01)
    assert [(line["seq"], line["change"]) for line in objects(changes.read_bytes())] == [(1, "new"), (2, "new")]


@pytest.mark.slow
def test_the_server_answers(tmp_path: Path) -> None:
    port = free_port()
    with (
        site("a") as server,
        watching(f"{server.url}/", "--state", tmp_path / "s.db", "--listen", f"127.0.0.1:{port}") as process,
    ):
        until(process, "listening on")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/changes?after=0&wait=30", timeout=60) as response:
            (change,) = response.read().splitlines()
        assert json.loads(change)["loc"] == f"{server.url}/a"
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/sites", timeout=60) as response:
            assert json.loads(response.read())["site"] == f"{server.url}/"
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (0, ""), "with --listen alone nothing is printed"


@pytest.mark.slow
def test_the_server_answers_beside_a_site_whose_robots_txt_is_a_long_line(tmp_path: Path) -> None:
    port, robots = free_port(), b"User-agent: *\nd" + b"l" * 490_000
    with SiteServer({"/robots.txt": (200, {}, robots)}) as hostile, site("a") as server, watching(
        f"{hostile.url}/", f"{server.url}/", "--state", tmp_path / "s.db", "--listen", f"127.0.0.1:{port}"
    ) as process:
        until(process, "listening on")
        while len(hostile.received) < 2:  # a well-known path is requested when robots.txt has been read
            began = time.monotonic()
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=20) as response:
                assert response.status == 200
            assert time.monotonic() - began < 10  # some milliseconds
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (0, "")


@pytest.mark.slow
def test_a_reader_of_stdout_that_ends_is_no_error(tmp_path: Path) -> None:
    with site("a") as server, watching(f"{server.url}/", "--state", tmp_path / "s.db") as process:
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait(PATIENCE_SECONDS) == 0
        assert "Traceback" not in err


@pytest.mark.slow
def test_hosts_come_from_arguments_files_and_stdin(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.txt"
    with site("a") as one, site("b") as two:
        hosts.write_text(f"# two hosts\n{one.url}/\n\n{two.url}/\n")
        with watching(hosts, f"{one.url}/", "--state", tmp_path / "s.db") as process:
            locs = {line["loc"] for line in lines_of(process, 2)}
    assert locs == {f"{one.url}/a", f"{two.url}/b"}


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["-q"]])
def test_a_host_that_was_never_read_is_an_error_with_its_cause(tmp_path: Path, options: list[str]) -> None:
    with SiteServer({}) as server:
        server.pages["/robots.txt"] = 500, {}, b""
        with watching(f"{server.url}/", "--state", tmp_path / "s.db", "--retries", "0", *options) as process:
            line = until(process, "error: ")
    name = f"{server.url}/"
    assert line.startswith(f"error: {name} cannot be read, and is tried again later: F18 {name}robots.txt: ")


@pytest.mark.slow
def test_shards_divide_the_hosts(tmp_path: Path) -> None:
    with site("a") as server:
        results = []
        for number in (1, 2):
            arguments = ["--state", tmp_path / "states", "--shard", f"{number}/2", "--to", tmp_path / f"{number}.jsonl"]
            with watching(f"{server.url}/", *arguments) as process:
                results.append("watching 1 site" in process.stderr.readline())
    assert sorted(results) == [False, True]
    assert sorted(path.name for path in (tmp_path / "states").glob("*.sqlite")) == [
        "part-00000.sqlite", "part-00001.sqlite",
    ]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), [
    ("--state {0}/s.db", "give HOSTS: hosts such as example.com, or a file with one a line"),
    ("nosuch.txt --state {0}/s.db", "cannot read nosuch.txt: No such file or directory; give a file with one host"),
    ("a.example nosuch.csv --state {0}/s.db", "cannot read nosuch.csv: "),
    ("nothing://x --state {0}/s.db", "nothing://x"),
    ("a.example --state {0}/s.db --shard 3/2", "error: --shard: '3/2' is not a part of the hosts; write the"),
    ("a.example --state {0}/s.db --shard 0/2", "'0/2' is not a part of the hosts"),
    ("a.example --state {0} ", "is a folder; name a file in it"),
    ("a.example --state {0}/s.db --rotate often --to {0}/c", "error: --rotate: 'often' is neither daily"),
    ("a.example --state {0}/s.db --rotate daily", "only a file is rotated"),
    ("a.example --state {0}/s.db --gzip --to {0}/c", "only rotated files are compressed"),
    ("a.example --state {0}/s.db --to ftp://b.example/", "changes cannot be delivered to ftp://b.example/"),
    ("a.example --state {0}/s.db --listen 0.0.0.0:0", "set the environment variable SITEMAP_READER_TOKEN to it"),
    ("a.example --state {0}/s.db --listen nowhere", "'nowhere' is not HOST:PORT"),
    ("a.example --state {0}/s.db --redeliver", "error: --redeliver: only webhooks have dead letters"),
])
def test_mistakes_are_one_line(tmp_path: Path, arguments: str, message: str) -> None:
    result = run("watch", *arguments.format(tmp_path).split())
    (error,) = [line for line in result.stderr.splitlines() if line.startswith("error")]
    assert (result.exit_code, message in error) == (2, True), error


def test_redelivery_without_dead_letters(tmp_path: Path) -> None:
    result = run("watch", "--state", tmp_path / "s.db", "--webhook", "http://127.0.0.1:1/hook", "--redeliver")
    assert result.exit_code == 0
    assert "0 delivered, 0 failed" in result.stderr


@pytest.mark.slow
def test_a_state_in_use_is_refused(tmp_path: Path) -> None:
    with site("a") as server, watching(f"{server.url}/", "--state", tmp_path / "s.db") as process:
        lines_of(process, 1)
        result = run("watch", f"{server.url}/", "--state", tmp_path / "s.db")
    assert result.exit_code == 6
    assert "is in use by another run" in result.stderr


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sets the size of a pipe")
def test_a_full_stderr_stops_neither_the_server_nor_the_end(tmp_path: Path) -> None:
    """Nor do the lines of visits, of which there are more than the pipe takes."""
    import fcntl

    port, changes = free_port(), tmp_path / "changes.jsonl"
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    hosts = [f"127.0.1.{number}:{port}" for number in range(1, 41)]  # where nothing listens
    options = ["--state", tmp_path / "s.db", "--to", changes, "--listen", f"127.0.0.1:{port}", "-v", "--allow-private"]
    command = [*PROGRAM, "watch", *hosts, *map(str, options)]
    with subprocess.Popen(command, stderr=write) as process:
        try:
            os.close(write)
            health = {}
            while health.get("last_visit") is None:
                with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
                    health = json.loads(answer.read())
                assert process.poll() is None
            _until_full(read)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
                assert answer.status == 200
            process.send_signal(signal.SIGTERM)
            assert process.wait(DRAIN_SECONDS) == 0
        finally:
            process.kill()
            os.close(read)


def _until_full(pipe: int) -> None:
    """Waits until no more bytes come into a pipe that is nearly full."""
    import fcntl
    import termios

    def waiting() -> int:
        return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)

    deadline = time.monotonic() + PATIENCE_SECONDS
    while waiting() < 3_500:  # a line has up to 200 bytes
        assert time.monotonic() < deadline, waiting()
        time.sleep(0.05)
    time.sleep(0.3)
