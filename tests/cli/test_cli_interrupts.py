"""Interrupted commands keep what they have written, say so, and exit with 130."""

import csv
import fcntl
import gzip
import json
import os
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_runs import OLD, PROGRAM, SITES, alone, old_file, unfinished, zstd
from kit import dump, objects, robots, urlset

from sitemap_reader.cli import Exit

pytestmark = pytest.mark.slow

UNPACK: dict[str, Callable[[], Callable[[bytes], bytes]]] = {
    "": lambda: bytes,
    ".csv.gz": lambda: gzip.decompress,
    ".jsonl.zst": lambda: zstd().decompress,
}
URLS = (SITES / "shop.jsonl").read_text("utf-8").splitlines()
# Content-Length is larger than the body: after these entries the reader waits.
CUT = (
    200,
    {"Content-Length": "99999", "Content-Type": "text/xml"},
    urlset(*["/page"] * 900).removesuffix(b"</urlset>\n"),
)


@pytest.fixture
def endless(site_server: Any) -> str:
    """The URL of a sitemap that never ends."""
    return f"{site_server({'/s.xml': CUT}).url}/s.xml"


def wait_for(is_so: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_until_read(pipe: Any) -> None:
    """Waits until the process has read all bytes of the pipe."""
    wait_for(lambda: not struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0])


@pytest.mark.smoke("SIGINT")
@pytest.mark.parametrize(("number", "send"), [
    (signal.SIGINT, os.kill), (signal.SIGTERM, os.kill), (signal.SIGINT, os.killpg),
], ids=["SIGINT", "SIGTERM", "group"])
def test_an_interrupt_keeps_what_was_read(endless: str, number: signal.Signals, send: Callable[..., None]) -> None:
    """Also if the whole process group receives the signal, as on a terminal."""
    command = [*PROGRAM, "dump", endless, "--allow-private"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True, start_new_session=True) as running:  # type: ignore[call-overload]
        first = running.stdout.readline()  # flushed before the document has ended
        send(running.pid, number)
        rest, reported = running.stdout.read(), running.stderr.read()
    locs = [form["loc"] for form in objects(first + rest)]
    assert locs == [endless.replace("s.xml", "page")] * len(locs)
    assert locs
    assert running.returncode == 130
    assert reported.splitlines()[-2].startswith(f"{len(locs)} URLs from ")
    assert "; stopped; " in reported.splitlines()[-2]
    assert reported.splitlines()[-1] == "partial: interrupted (exit 130)"
    assert "Traceback" not in reported


# A robots.txt of nearly the largest size, in lines that a pattern may read again from each character.
LONG_ROBOTS = {"letters": b"User-agent: *\nd" + b"l" * 490_000, "blanks": b"User-agent: *\nDisallow" + b" " * 490_000}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("robots", LONG_ROBOTS)
def test_a_long_line_of_a_robots_txt_delays_no_interrupt(
    site_server: Any, endless: str, robots: str, number: signal.Signals
) -> None:
    server = site_server({"/robots.txt": (200, {}, LONG_ROBOTS[robots]), "/sitemap.xml": CUT})
    command = [*PROGRAM, "dump", server.url, endless, "--allow-private"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        wait_for(lambda: server.received or running.poll() is not None)
        time.sleep(0.2)  # it is read, or being read
        running.send_signal(number)
        _, reported = running.communicate(timeout=20)  # half a second; quadratic patterns take minutes
    finally:
        running.kill()
    assert running.returncode == 130
    assert b"Traceback" not in reported


def test_an_interrupt_before_any_answer_is_130(site_server: Any) -> None:
    server = site_server({"/robots.txt": (200, {"Content-Length": "99"}, b"never whole")})
    command = [*PROGRAM, "dump", server.url, "--allow-private"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: server.received or running.poll() is not None)
    running.send_signal(signal.SIGINT)
    _, reported = running.communicate(timeout=30)
    assert running.returncode == Exit.INTERRUPTED
    assert reported.decode().splitlines()[-1] == "partial: interrupted (exit 130)"


# --- output files ---


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return old_file(tmp_path / "out")


@pytest.fixture
def dumping(endless: str) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """`dumping(file)` -> a process that has begun to write, and waits for more."""
    running: list[subprocess.Popen[bytes]] = []

    def begin(file: Path) -> subprocess.Popen[bytes]:
        command = [*PROGRAM, "dump", endless, "--allow-private", "-q", "-o", str(file)]
        running.append(subprocess.Popen(command))
        wait_for(lambda: any(part.stat().st_size for part in unfinished(file)))
        return running[-1]

    yield begin
    for each in running:
        each.kill()
        each.wait()


@pytest.mark.parametrize(("suffix", "number"), [
    *(("", getattr(signal, name)) for name in ("SIGINT", "SIGTERM", "SIGHUP")), (".csv.gz", 15), (".jsonl.zst", 2),
])
def test_an_interrupt_leaves_a_whole_file_of_what_was_fetched(
    old: Path, dumping: Callable[..., Any], suffix: str, number: signal.Signals
) -> None:
    unpack = UNPACK[suffix]()
    file = old.rename(f"{old}{suffix}")
    process = dumping(file)
    assert file.read_bytes() == OLD
    process.send_signal(number)
    assert process.wait(30) == 130
    assert alone(file)
    data = unpack(file.read_bytes())
    assert data.endswith(b"\n")
    lines = data.splitlines()[suffix == ".csv.gz" :]
    assert 0 < len(lines) <= 900
    assert all(b"/page" in line for line in lines)


def test_an_interrupt_before_anything_was_read_leaves_the_file(old: Path) -> None:
    command = [*PROGRAM, "parse", "-", "-o", str(old), "-q"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        wait_for(lambda: unfinished(old))
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 130
    assert (old.read_bytes(), alone(old)) == (OLD, True)


def test_kill_keeps_the_file_and_leaves_a_temporary_file(old: Path, dumping: Callable[..., Any]) -> None:
    process = dumping(old)
    process.kill()
    process.wait()
    assert old.read_bytes() == OLD
    (part,) = (each for each in old.parent.iterdir() if each != old)
    assert part in unfinished(old)
    whole = part.read_bytes().rpartition(b"\n")[0]  # followed by a line that the kill truncated
    assert all(json.loads(line)["loc"].endswith("/page") for line in whole.splitlines())


def rows_of(file: Path) -> list[Any]:
    if file.suffix == ".csv":
        return list(csv.reader(file.read_text().splitlines(), strict=True))[1:]
    from pyarrow import parquet

    return parquet.read_table(file).to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(("format", "number"), [("csv", signal.SIGINT), ("parquet", signal.SIGTERM)])
def test_an_interrupt_leaves_a_whole_file_of_what_was_converted(
    tmp_path: Path, format: str, number: signal.Signals
) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow")
    output = tmp_path / f"urls.{format}"
    command = [*PROGRAM, "convert", "-", "-o", str(output)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stderr is not None
        for line in URLS * 10:
            running.stdin.write(f"{line}\n".encode())
        running.stdin.flush()
        wait_until_read(running.stdin)
        running.send_signal(number)
        reported = running.stderr.read().decode().splitlines()
    assert running.returncode == 130
    rows = rows_of(output)
    assert reported == [f"{len(rows):,} URLs written to {output}; {reported[0].split('; ')[-1]}", reported[1]]
    assert reported[1] == "partial: interrupted (exit 130)"
    assert len(rows) > 5_000  # all except what is in buffers


def test_interrupted_diff_keeps_the_previous_output(tmp_path: Path) -> None:
    out = tmp_path / "changes.jsonl"
    out.write_bytes(b"of before")
    dump(tmp_path / "old.jsonl", *map(json.loads, URLS[:9]))
    command = [*PROGRAM, "diff", tmp_path / "old.jsonl", "-", "-o", out]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdin.write(b"{}")  # which is not a whole line yet
        child.stdin.flush()
        wait_for(lambda: len(list(tmp_path.glob("changes.jsonl*"))) > 1)
        time.sleep(0.1)
        child.send_signal(signal.SIGTERM)
        _, reported = child.communicate(timeout=60)
    assert (child.returncode, reported) == (Exit.INTERRUPTED, b"partial: interrupted (exit 130)\n")
    assert out.read_bytes() == b"of before"
    assert list(tmp_path.glob("changes.jsonl*")) == [out]


# --- tables and reports ---


def test_interrupted_stats_prints_what_was_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [*PROGRAM, "stats", str(pipe), "--format", "jsonl"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running,
        pipe.open("w") as writer,  # blocks until the FIFO is opened for reading
    ):
        writer.write(URLS[0] + "\n")
        writer.flush()
        wait_until_read(writer)
        running.send_signal(signal.SIGINT)
        reported, errors = running.communicate(timeout=30)
    assert running.returncode == 130
    assert errors == "partial: interrupted (exit 130)\n"
    assert reported == "" or json.loads(reported.splitlines()[0])["count"] == 1


def test_an_interrupt_of_an_audit_leaves_a_report_of_what_was_read(site_server: Any) -> None:
    server = site_server({})
    whole = urlset(*(f"{server.url}/{number}" for number in range(700)))
    lines = robots(f"{server.url}/whole.xml", f"{server.url}/s.xml")
    server.pages |= {"/robots.txt": (200, {}, lines), "/whole.xml": (200, {}, whole), "/s.xml": CUT}
    command = [*PROGRAM, "audit", server.url, "--allow-private", "--per-host", "1", "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        wait_for(lambda: "/s.xml" in server.requests() or running.poll() is not None)
        running.send_signal(signal.SIGINT)
        report, reported = running.communicate(timeout=60)
    assert running.returncode == 130
    form = json.loads(report)
    assert 700 <= form["urls"] <= 1600
    assert not form["complete"]
    assert form["notes"][0].startswith("stopped before the end")
    assert reported.splitlines()[-1] == "partial: interrupted (exit 130)"
    assert "Traceback" not in reported
