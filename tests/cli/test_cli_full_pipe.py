"""One signal ends a command whose stdout or stderr is a full pipe without a reader."""

import fcntl
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_runs import PROGRAM, replay
from kit import index, run, urlset

pytestmark = pytest.mark.slow

A = "https://a.example"
ENDS_WITHIN = 3.0  # 2 s on an idle machine
# Enough lines, of every command, for a pipe of 64 KiB.
MANY = 1_000
PIPE_BYTES = 64 * 1024


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of many URLs, a site of many missing sitemaps, a document, and a list of targets."""
    folder = tmp_path_factory.mktemp("full")
    document = urlset(*(f"{A}/{'x' * 80}/{number}" for number in range(MANY)))
    (folder / "map.xml").write_bytes(document)
    replay(folder / "site", {"sitemap.xml": document, "robots.txt": ""})
    children = index(*(f"{A}/{'x' * 80}/{number}.xml" for number in range(MANY)))
    replay(folder / "nested", {"sitemap.xml": children, "robots.txt": ""})
    (folder / "targets.txt").write_text(f"{folder}/site\n")
    return folder


@pytest.fixture
def stuck() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """`stuck(arguments, stdin)` -> the command as a process whose stdout is full."""
    running: list[subprocess.Popen[bytes]] = []

    def begin(*arguments: str | Path, **streams: Any) -> subprocess.Popen[bytes]:
        read, write = os.pipe()
        streams = {"stdout": write, "stderr": subprocess.PIPE, **streams}
        streams["stderr"] = write if streams["stderr"] == subprocess.STDOUT else streams["stderr"]
        process = subprocess.Popen([*PROGRAM, *map(str, arguments)], bufsize=0, **streams)
        os.close(write)
        process.pipe = read  # type: ignore[attr-defined]
        running.append(process)
        _until_full(process, read)
        return process

    yield begin
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()
        os.close(process.pipe)  # type: ignore[attr-defined]


def _until_full(process: subprocess.Popen[bytes], pipe: int) -> None:
    """Waits until the number of bytes in the pipe stays the same."""
    seen, same, deadline = 0, 0, time.monotonic() + 30
    while same < 4 and time.monotonic() < deadline:
        waiting = int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
        same = same + 1 if waiting == seen and seen >= PIPE_BYTES // 2 else 0
        seen = waiting
        time.sleep(0.05)
    assert same == 4, "it never filled the pipe"
    assert process.poll() is None


def end(process: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> None:
    """Sends one signal, which ends the process in time."""
    process.send_signal(number)
    assert process.wait(ENDS_WITHIN) == 130


def rest(pipe: int) -> bytes:
    """The rest of the pipe after its writer has ended."""
    return b"".join(iter(lambda: os.read(pipe, PIPE_BYTES), b""))


# Both signals have the same handler, so each command gets one of them.
COMMANDS = [
    ("dump {}/site", signal.SIGTERM),
    ("dump {}/site", signal.SIGINT),
    ("dump -", signal.SIGTERM),
    ("parse {}/map.xml", signal.SIGINT),
    ("tree -q {}/nested", signal.SIGTERM),
    ("sync {}/site --state {}/sites.db", signal.SIGINT),
]


@pytest.mark.parametrize(("command", "number"), COMMANDS)
def test_one_signal_ends_it(place: Path, stuck: Callable[..., Any], command: str, number: signal.Signals) -> None:
    with (place / "targets.txt").open("rb") as targets:
        process = stuck(*(word.replace("{}", str(place)) for word in command.split()), stdin=targets)
    end(process, number)
    assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize(
    ("words", "streams"), [("dump {}/site -v", {}), ("tree {}/nested -v", {"stdout": subprocess.DEVNULL})]
)
def test_one_signal_ends_it_where_stderr_is_full(place: Path, stuck: Any, words: str, streams: dict[str, int]) -> None:
    """With stdout in the same pipe, or alone."""
    process = stuck(*words.format(place).split(), stderr=subprocess.STDOUT, **streams)
    end(process)


def test_one_signal_ends_it_where_o_is_a_full_pipe(tmp_path: Path, place: Path) -> None:
    fifo = tmp_path / "urls.jsonl"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    process = subprocess.Popen([*PROGRAM, "dump", str(place / "site"), "-o", str(fifo), "-q"])
    _until_full(process, reader)
    end(process)
    os.close(reader)


@pytest.mark.smoke
def test_reader_that_resumes_gets_complete_lines(place: Path, stuck: Callable[..., Any]) -> None:
    process = stuck("dump", place / "site", "-q")
    process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    lines = rest(process.pipe)
    assert process.wait(ENDS_WITHIN) == 130
    assert lines.endswith(b"\n")
    assert len(lines) > PIPE_BYTES


def test_unwritten_changes_come_with_the_next_sync(tmp_path: Path, place: Path, stuck: Callable[..., Any]) -> None:
    state = tmp_path / "sites.db"
    process = stuck("sync", place / "site", "--state", state)
    end(process)
    assert len(run("sync", place / "site", "--state", state, "-q").stdout.splitlines()) == MANY


def test_the_pipe_is_left_as_it_was(place: Path, stuck: Callable[..., Any]) -> None:
    """Other processes may write to it: `(sitemap-reader dump a; cat b) | reader`."""
    read, write = os.pipe()
    process = subprocess.Popen([*PROGRAM, "dump", str(place / "site"), "-q"], stdout=write)
    _until_full(process, read)
    end(process)
    assert os.get_blocking(write)
    os.close(write)
    os.close(read)
