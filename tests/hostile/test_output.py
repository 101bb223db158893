"""The command line when output ends early: signals, closed pipes, full disks.

All written lines are complete, what was read is written, and the exit code and the last line state the cause.
"""

import errno
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import kit
import pytest
from servers import Page, SiteServer

from sitemap_reader.cli import Interrupts
from sitemap_reader.serialize import Blocks, OutputStream

Serve = Callable[[Mapping[str, Page]], SiteServer]

pytestmark = pytest.mark.slow

PROGRAM = [sys.executable, "-X", "dev", "-W", "error", "-m", "sitemap_reader"]
SHOP = str(Path(__file__).parents[2] / "corpus" / "sites" / "shop")
PIPE_BYTES = 64 * 1024
SIGNALS = [signal.SIGINT, signal.SIGTERM]
DEADLINE = 60.0

Process = subprocess.Popen[bytes]


def urlset(count: int, host: str = "https://a.example") -> bytes:
    return kit.urlset(*locs_of(count, host))


def locs_of(count: int, host: str = "https://a.example") -> list[str]:
    return [f"{host}/{'x' * 80}/{number}" for number in range(count)]


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    """`start(arguments, ...)` -> a process of the command line, which runs `first` before; killed at the end."""
    running: list[Process] = []

    def begin(*arguments: str | Path, first: str = "", **options: Any) -> Process:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        behind = f"{first}\nimport os, sys\nos.execv(sys.argv[1], sys.argv[1:])"
        launcher = [sys.executable, "-c", behind] if first else []
        running.append(subprocess.Popen([*launcher, *PROGRAM, *map(str, arguments)], bufsize=0, **pipes))
        return running[-1]

    yield begin
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


def locs(output: bytes) -> list[str]:
    """The loc of every line; fails at an incomplete line."""
    assert output.endswith(b"\n") or not output
    return [json.loads(line)["loc"] for line in output.splitlines()]


def is_quiet(reported: str) -> bool:
    return not any(word in reported for word in ("Traceback", "Warning", "Exception", "Fatal"))


def first_lines(process: Process, count: int) -> bytes:
    """Reads so many lines of stdout."""
    lines = b""
    while lines.count(b"\n") < count:
        ready, _, _ = select.select([process.stdout], [], [], DEADLINE)
        assert ready, f"no more was written than {len(lines)} bytes"
        lines += process.stdout.readline()
    return lines


def end(process: Process) -> tuple[bytes, list[str], int]:
    """The rest of stdout, the lines of stderr, the exit code."""
    output, reported = process.communicate(timeout=DEADLINE)
    assert is_quiet(reported.decode()), reported.decode()
    return output, reported.decode().splitlines(), process.returncode


class Slow(dict[str, Any]):
    """Pages of a server: an Event delays its response until it is set."""

    def get(self, path: str, default: Any = None) -> Any:
        page = super().get(path, default)
        if isinstance(page[0], threading.Event):
            page[0].wait(DEADLINE)
            page = page[1]
        return page


# --- signals ----------------------------------------------------------------------------------------------------


@pytest.mark.smoke("2")
@pytest.mark.parametrize("number", SIGNALS)
def test_interrupt_between_documents_keeps_the_received_ones(
    site_server: Serve, start: Callable[..., Process], number: signal.Signals
) -> None:
    site, release = site_server({}), threading.Event()
    site.pages = Slow({
        "/index.xml": (200, {}, kit.index(f"{site.url}/good.xml", f"{site.url}/slow.xml")),
        "/good.xml": (200, {}, urlset(200, site.url)),
        "/slow.xml": (release, (404, {}, b"")),
    })
    process = start("dump", f"{site.url}/index.xml", "--allow-private")
    try:
        first = first_lines(process, 200)  # the command now only waits
        process.send_signal(number)
        rest, reported, code = end(process)
    finally:
        release.set()
    assert locs(first + rest) == locs_of(200, site.url)
    assert code == 130
    assert reported[-2].startswith("200 URLs from ")
    assert reported[-1] == "partial: interrupted (exit 130)"


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(("command", "path"), [
    ("dump", "/robots.txt"), ("dump", "/map.xml"), ("discover", "/robots.txt"), ("tree", "/robots.txt"),
])
def test_interrupt_before_the_first_record_ends_the_command(
    site_server: Serve, start: Callable[..., Process], number: signal.Signals, command: str, path: str
) -> None:
    site, release = site_server({}), threading.Event()
    site.pages = Slow({path: (release, (404, {}, b""))})
    process = start(command, f"{site.url}/map.xml", "--allow-private")
    try:
        assert kit.until(lambda: path in site.requests(), DEADLINE)
        process.send_signal(number)
        started = time.monotonic()
        output, reported, code = end(process)
    finally:
        release.set()
    assert (output, code) == (b"", 130)
    assert reported[-1] == "partial: interrupted (exit 130)"
    assert time.monotonic() - started < 20


def interrupted_at_a_full_pipe(site: SiteServer, start: Callable[..., Process], number: signal.Signals) -> Process:
    site.pages["/map.xml"] = (200, {}, urlset(20_000, site.url))
    process = start("dump", f"{site.url}/map.xml", "--allow-private")
    _until_full(process.stdout.fileno())
    process.send_signal(number)
    time.sleep(0.3)
    assert process.poll() is None
    return process


@pytest.mark.parametrize("number", SIGNALS)
def test_an_interrupt_while_a_pipe_is_full_waits_for_its_reader(
    site_server: Serve, start: Callable[..., Process], number: signal.Signals
) -> None:
    """During a write: the block is written completely once the pipe is read, and nothing after it."""
    site = site_server({})
    process = interrupted_at_a_full_pipe(site, start, number)
    output, reported, code = end(process)
    found = locs(output)
    assert found == locs_of(len(found), site.url)
    assert 0 < len(found) < 20_000
    assert code == 130
    assert reported[-2].startswith(f"{len(found):,} URLs from ")
    assert reported[-1] == "partial: interrupted (exit 130)"


@pytest.mark.parametrize("number", SIGNALS)
def test_second_interrupt_ends_the_command_without_a_reader(
    site_server: Serve, start: Callable[..., Process], number: signal.Signals
) -> None:
    site = site_server({})
    process = interrupted_at_a_full_pipe(site, start, number)
    process.send_signal(number)
    assert process.wait(DEADLINE) == 130  # without reading stdout
    _, reported, _ = end(process)
    assert reported[-1] == "partial: interrupted (exit 130)"


def _until_full(pipe: int) -> None:
    """Waits until the number of readable bytes stays the same."""
    import fcntl
    import termios

    seen, quiet, deadline = 0, 0, time.monotonic() + DEADLINE
    while quiet < 10 and time.monotonic() < deadline:
        waiting = int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4), sys.byteorder)
        quiet = quiet + 1 if waiting == seen and seen >= PIPE_BYTES // 2 else 0
        seen = waiting
        time.sleep(0.05)
    assert quiet == 10


@pytest.mark.parametrize("number", SIGNALS)
def test_parse_of_a_pipe_that_never_ends_is_interrupted(start: Callable[..., Process], number: signal.Signals) -> None:
    process = start("parse", "-", stdin=subprocess.PIPE)
    process.stdin.write(urlset(200).removesuffix(b"</urlset>\n"))
    process.stdin.flush()
    first = first_lines(process, 199)  # the end of the last one is unknown
    process.send_signal(number)
    rest = process.stdout.read()
    process.wait(DEADLINE)
    process.stdin.close()
    process.stdin = None
    _, reported, code = end(process)
    found = locs(first + rest)
    assert found == locs_of(len(found))
    assert len(found) >= 199
    assert code == 130
    assert reported[-2].startswith(f"{len(found)} URLs in stdin")
    assert reported[-1] == "partial: interrupted (exit 130)"


# Runs the entry point as its script does, or as -m does, and sends a signal to itself at a place: at the first call of
# a function ("<module>": the first line) of a module after another module has begun to load.
SIGNAL_AT_A_PLACE = """
import os, sys
from importlib.metadata import EntryPoint
from runpy import run_module
entry, number, after, *place = sys.argv[1:6]
begun = False
def look(frame, event, arg):
    global begun
    here = [frame.f_globals.get("__name__"), frame.f_code.co_name]
    begun = begun or here == [after, "<module>"]
    if begun and event == "call" and here == place:
        sys.setprofile(None)
        os.kill(os.getpid(), int(number))
del sys.argv[1:6]
sys.setprofile(look)
if entry == "-m":
    run_module("sitemap_reader", run_name="__main__", alter_sys=True)
else:
    sys.exit(EntryPoint("sitemap-reader", entry, "console_scripts").load()())
"""
# Without -X dev, with which asyncio logs slow turns on a busy machine.
QUIET = [sys.executable, "-W", "error", "-c"]
PROJECT = Path(__file__).parents[2] / "pyproject.toml"
ENTRIES = ["-m", tomllib.loads(PROJECT.read_text("utf-8"))["project"]["scripts"]["sitemap-reader"]]
PLACES = [
    "sitemap_reader.cli.main sitemap_reader.cli.main <module>",
    "sitemap_reader.cli.main importlib._bootstrap cb",  # called by a weak reference: its exceptions are ignored
    "sitemap_reader.cli.main functools __set_name__",  # before Python 3.12 its exceptions become a RuntimeError
    "sitemap_reader.cli.main attr <module>",
    "sitemap_reader.cli.main sitemap_reader.cli.command main",
    "sitemap_reader.cli.dump sitemap_reader.cli.dump <module>",
    "sitemap_reader.cli.main asyncio <module>",
    "sitemap_reader.client.crawler importlib._bootstrap cb",
    "sitemap_reader.cli.dump sitemap_reader.cli.dump run",
]
PLACES_BEHIND = [
    "sitemap_reader.cli.dump sitemap_reader.cli.messages end",
    "sitemap_reader.cli.dump threading _shutdown",
]


# Both signals and both entry points at each place; each pair of these at half of the places.
INTERRUPTS = [
    (place, entry, SIGNALS[(number + turn) % 2])
    for number, place in enumerate(PLACES + PLACES_BEHIND)
    for turn, entry in enumerate(ENTRIES)
]


@pytest.mark.parametrize(("place", "entry", "number"), INTERRUPTS)
def test_an_interrupt_before_or_behind_the_work_ends_it_at_once(
    place: str, entry: str, number: signal.Signals
) -> None:
    program = [*QUIET, SIGNAL_AT_A_PLACE, entry, str(int(number)), *place.split(), "dump", SHOP, "-q"]
    done = subprocess.run(program, check=False, capture_output=True, timeout=DEADLINE)
    assert (done.returncode, done.stderr) == (130, b"")
    assert len(locs(done.stdout)) == (640 if place in PLACES_BEHIND else 0)


@pytest.mark.parametrize("place", [PLACES[0], "sitemap_reader.cli.dump sitemap_reader.cli.dump site"])
def test_an_interrupt_that_is_ignored_from_the_start_stays_ignored(place: str) -> None:
    """As in the background of a script, where Ctrl-C is meant for the foreground."""
    ignored = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    arguments = ["-m", str(int(signal.SIGINT)), *place.split(), "dump", SHOP, "-q"]
    program = [*QUIET, ignored + SIGNAL_AT_A_PLACE, *arguments]
    done = subprocess.run(program, check=False, capture_output=True, timeout=DEADLINE)
    assert (done.returncode, done.stderr, len(locs(done.stdout))) == (0, b"", 640)


# --- pipes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lines", [0, 1, 400])
def test_closed_pipe_ends_dump_without_an_error(start: Callable[..., Process], lines: int) -> None:
    process = start("dump", SHOP)
    for _ in range(lines):
        process.stdout.readline()
    process.stdout.close()
    reported = process.stderr.read()
    assert process.wait(DEADLINE) == 0
    assert b"error" not in reported.lower().replace(b"errors", b"")
    assert is_quiet(reported.decode())
    process.stdout = None


def test_a_pipe_that_does_not_block_gets_every_line(start: Callable[..., Process], tmp_path: Path) -> None:
    """Some programs make a shared pipe non-blocking for all its users."""
    document = tmp_path / "map.xml"
    document.write_bytes(urlset(5_000))
    read, write = os.pipe()
    os.set_blocking(write, False)
    process = start("parse", document, stdout=write)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        _until_full(read)
        assert len(locs(pipe.read())) == 5_000
    assert process.wait(DEADLINE) == 0


# --- disks ------------------------------------------------------------------------------------------------------

FULL_BYTES = 100_000


# A limit of bytes a file simulates a full disk; Python ignores the signal that comes with it.
SMALL_FILES = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({FULL_BYTES}, {FULL_BYTES}))"


@pytest.mark.parametrize("way", ["-o", ">", ">>"])
@pytest.mark.parametrize("command", ["parse", "dump"])
def test_a_disk_that_fills_up_leaves_whole_lines(
    start: Callable[..., Process], tmp_path: Path, way: str, command: str
) -> None:
    output, document = tmp_path / "urls.jsonl", tmp_path / "map.xml"
    document.write_bytes(urlset(2_000))
    before = b'{"loc":"https://a.example/before"}\n' if way == ">>" else b""
    output.write_bytes(before)
    if command == "dump":
        document = kit.Site({"/sitemap.xml": document.read_bytes()}).write(tmp_path / "site")
    if way == "-o":
        process = start(command, document, "-o", output, first=SMALL_FILES)
    else:
        with output.open("ab" if way == ">>" else "wb") as file:
            process = start(command, document, stdout=file, first=SMALL_FILES)
    _, reported, code = end(process)
    name = str(output) if way == "-o" else "stdout"
    assert code == 6
    assert [line for line in reported if line.startswith("error: ")] == [f"error: cannot write {name}: File too large"]
    written = output.read_bytes()
    assert written.startswith(before)
    found = locs(written.removeprefix(before))
    assert found == locs_of(len(found))
    assert FULL_BYTES - 1000 < len(written) <= FULL_BYTES


def test_report_on_a_full_disk_is_reported_and_ends_with_a_complete_line(
    start: Callable[..., Process], tmp_path: Path
) -> None:
    document, report = tmp_path / "map.xml", tmp_path / "report.jsonl"
    document.write_bytes(kit.urlset(*(f"https://a.example/{number}" for number in range(3_000)), lastmod="Mon"))
    process = start("parse", document, "--report", report, first=SMALL_FILES)
    output, reported, code = end(process)
    assert code == 6
    assert f"error: cannot write {report}: File too large" in reported
    lines = report.read_bytes()
    assert lines.endswith(b"\n")
    assert {json.loads(line)["type"] for line in lines.splitlines()} == {"problem"}
    locs(output)


@pytest.mark.parametrize(("theirs", "left"), [(b"", b"1\n2\n"), (b"theirs", b"1\n2\nhalftheirs")])
def test_partial_line_before_a_foreign_write_is_kept(tmp_path: Path, theirs: bytes, left: bytes) -> None:
    """A partial line is removed only if it is its own and at the end of the file."""
    path = tmp_path / "shared"

    class FullAfter8(OutputStream):
        def write(self, data: Any, /) -> int:
            if not self.tell():
                return super().write(data[:8])
            with path.open("ab") as file:
                file.write(theirs)
            raise OSError(errno.ENOSPC, "No space left on device")

    with FullAfter8(os.open(path, os.O_WRONLY | os.O_CREAT), Interrupts()) as file:
        blocks = Blocks(file, take_back=file.take_back)
        for line in (b"1\n", b"2\n", b"half and more\n"):
            blocks.write(line)
        with pytest.raises(OSError, match="No space left"):
            blocks.flush()
    assert path.read_bytes() == left


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [["dump", SHOP], ["dump", SHOP, "-v"], ["discover", SHOP], ["tree", SHOP]])
def test_full_stdout_and_full_stderr_together_are_exit_6(start: Callable[..., Process], arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        process = start(*arguments, stdout=full, stderr=full)
        assert process.wait(DEADLINE) == 6


@pytest.mark.parametrize("option", ["-o", "--report"])
def test_a_folder_cannot_be_written(start: Callable[..., Process], tmp_path: Path, option: str) -> None:
    _, reported, code = end(start("dump", SHOP, option, tmp_path))
    assert code == 6
    assert reported == [f"error: cannot write {tmp_path}: Is a directory; name a file in it"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("option", ["-o", "--report"])
def test_read_only_folder_is_reported(start: Callable[..., Process], tmp_path: Path, option: str) -> None:
    tmp_path.chmod(0o555)
    try:
        _, reported, code = end(start("dump", SHOP, option, tmp_path / "urls.jsonl"))
    finally:
        tmp_path.chmod(0o755)
    assert code == 6
    assert reported == [f"error: cannot write {tmp_path / 'urls.jsonl'}: Permission denied; check who may write there"]


# --- streams closed at the start --------------------------------------------------------------------------


STREAMS = ("stdin", "stdout", "stderr")


@pytest.mark.parametrize("numbers", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)])
def test_files_are_written_with_any_closed_streams(
    start: Callable[..., Process], tmp_path: Path, numbers: tuple[int, ...]
) -> None:
    """The file of -o then has the number of a standard stream, to which nothing else may be written."""
    output, report = tmp_path / "urls.jsonl", tmp_path / "report.jsonl"
    closing = "import os\n" + "".join(f"os.close({number})\n" for number in numbers)
    unpiped: dict[str, Any] = {STREAMS[number]: None for number in numbers}
    process = start("dump", SHOP, "-v", "-o", output, "--report", report, first=closing, **unpiped)
    assert process.wait(DEADLINE) == 0
    assert len(locs(output.read_bytes())) == 640
    assert all(json.loads(line)["type"] in ("outcome", "problem") for line in report.read_bytes().splitlines())
