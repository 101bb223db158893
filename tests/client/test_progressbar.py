"""ProgressBar: its text, where it is shown, its effect on other output; and the bar of a stream."""

from __future__ import annotations

import errno
import io
import json
import re
import subprocess
import sys
import threading
import time
import types
from pathlib import Path
from typing import Any

import pytest
import tqdm.auto
import tqdm.std

if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals", allow_module_level=True)

from faultserver import FaultServer, Wire, whole
from terminals import on_terminal, screen

from sitemap_reader.client import Progress, ProgressBar, progressbar, size_of
from sitemap_reader.frontier import CrawlDelay, Wait

WAIT_SECONDS = 20.0
SHOP = Path(__file__).parents[2] / "corpus" / "sites" / "shop"


class Terminal(io.StringIO):
    """Collects writes; isatty() is True."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError(errno.ENOTTY, "no terminal after all")


class Refusing(Terminal):
    """A terminal that refuses writes after some."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def write(self, text: str) -> int:
        raise self.error


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    terminal = Terminal()
    has_stderr(monkeypatch, terminal)
    return terminal


def has_stderr(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO | None) -> None:
    """Replaces sys.stderr for the bar only; pytest replaces it for everything."""
    monkeypatch.setattr(progressbar, "sys", types.SimpleNamespace(stderr=stream, modules=sys.modules))


def shown(terminal: Terminal) -> list[str]:
    """The drawn texts, without blanks."""
    return [text.rstrip() for text in terminal.getvalue().split("\r") if text.strip()]


@pytest.mark.parametrize(("progress", "reported"), [
    (Progress(), "sitemaps  0/? [00:00, 0 URLs, 0 B]"),
    (Progress(0, 1, 0, 999), "sitemaps  0/1 [00:00, 0 URLs, 999 B]"),
    (Progress(1, 2, 1, 1_000), "sitemaps  1/2 [00:00, 1 URL, 1.0 kB]"),
    (Progress(12, 40, 51_204, 8_123_456), "sitemaps  12/40 [00:00, 51,204 URLs, 8.1 MB]"),
    (Progress(1_200, 40_000, 60_000_000, 10**10), "sitemaps  1,200/40,000 [00:00, 60,000,000 URLs, 10.0 GB]"),
    (
        Progress(1, 40, 9, 999, CrawlDelay("https://a.example", 7.5, 39)),
        "sitemaps  1/40 [00:00, 9 URLs, 999 B, Crawl-delay 7.5 s, 4:53 left]",
    ),
    (
        Progress(1, 900, 9, 999, CrawlDelay("https://a.example", 10.0, 899)),
        "sitemaps  1/900 [00:00, 9 URLs, 999 B, Crawl-delay 10 s, 2:29:50 left]",
    ),
    (
        Progress(1, 9, 9, 999, waits=(
            Wait("https://b.example", "delay", 1.0), Wait("https://a.example", "backoff", 4.5, 429),
            Wait("https://c.example", "per-host"), Wait("https://d.example", "crawl-delay", 9.0),
        )),
        "sitemaps  1/9 [00:00, 9 URLs, 999 B, waiting 5 s for a.example (429, retry)]",
    ),
    (Progress(1, 9, waits=(Wait("https://a.example", "backoff", 0.9),)), "sitemaps  1/9 [00:00, 0 URLs, 0 B]"),
])
def test_bar_shows_progress(terminal: Terminal, progress: Progress, reported: str) -> None:
    bar = ProgressBar()
    bar(progress)
    with bar:
        assert shown(terminal) == [reported]


@pytest.mark.parametrize(("number", "reported"), [
    (0, "0 B"),
    (999, "999 B"),
    (1_000, "1.0 kB"),
    (999_949, "999.9 kB"),
    (999_951, "1.0 MB"),
    (5 * 10**15, "5,000.0 TB"),
])
def test_sizes_are_short(number: int, reported: str) -> None:
    assert size_of(number) == reported


@pytest.mark.slow
def test_bar_is_drawn_a_few_times_a_second(terminal: Terminal) -> None:
    with ProgressBar() as bar:
        started = time.monotonic()
        for number in range(100_000):
            bar(Progress(urls=number))
        drawn, seconds = len(shown(terminal)), time.monotonic() - started
        assert drawn < 100 * max(1, seconds)
        time.sleep(0.15)
        bar(Progress(urls=100_000))
        assert re.fullmatch(r"sitemaps  0/\? \[00:\d\d, 100,000 URLs, 0 B\]", shown(terminal)[-1])


def test_bar_is_removed_and_leaves_no_thread(terminal: Terminal) -> None:
    before, monitor = threading.active_count(), tqdm.std.tqdm.monitor
    with ProgressBar() as bar:
        bar(Progress(1, 2, 3, 4))
        assert threading.active_count() == before
    assert shown(terminal)
    assert screen(terminal.getvalue(), 80) == []
    bar.close()
    assert threading.active_count() == before
    assert (tqdm.std.tqdm.monitor, tqdm.std.tqdm.monitor_interval) == (monitor, 10)
    assert not tqdm.std.tqdm._instances


def test_bars_of_the_program_are_unchanged(terminal: Terminal) -> None:
    lock = tqdm.std.tqdm.get_lock()
    with ProgressBar():
        assert tqdm.std.tqdm.get_lock() is lock
        with tqdm.std.tqdm(total=2, file=terminal, leave=False) as theirs:
            theirs.update(1)
            assert theirs.pos == 1, "below ours"
    if tqdm.std.tqdm.monitor is not None:
        tqdm.std.tqdm.monitor.exit()


def test_messages_are_written_on_their_own_line(terminal: Terminal) -> None:
    with ProgressBar() as bar:
        with bar.hidden():
            print("reported", file=terminal)
        assert re.search(r"\r {40,}\r(reported\n)\rsitemaps  ", terminal.getvalue())
    with bar.hidden():  # the bar is closed
        print("reported", file=terminal)
    assert terminal.getvalue().endswith("\rreported\n")


def test_messages_of_tqdm_are_on_their_own_line(terminal: Terminal) -> None:
    with ProgressBar() as bar:
        bar(Progress())
        tqdm.std.tqdm.write("reported", file=terminal)
        assert re.search(r"\r +\rreported\n\rsitemaps  ", terminal.getvalue())


@pytest.mark.parametrize("error", [
    OSError(errno.ENOSPC, "full"), OSError(errno.EIO, "gone"), BrokenPipeError(), ValueError("I/O on closed file"),
], ids=repr)
def test_unwritable_stderr_does_not_stop_the_run(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    has_stderr(monkeypatch, Refusing(error))
    with ProgressBar() as bar:
        bar(Progress(1, 2, 3, 4))
        with bar.hidden():
            pass
    assert not tqdm.std.tqdm._instances


def closed() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("stream", [None, io.StringIO(), closed()], ids=["none", "no terminal", "closed"])
def test_without_a_terminal_there_is_no_bar(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO | None) -> None:
    has_stderr(monkeypatch, stream)
    with ProgressBar() as bar:
        bar(Progress(1, 2, 3, 4))
    assert stream is None or stream.closed or stream.getvalue() == ""


@pytest.mark.slow
def test_tqdm_disable_is_obeyed() -> None:
    with on_terminal([sys.executable, "-c", DRAWING], environment={"TQDM_DISABLE": "1"}) as terminal:
        assert terminal.end() == 0
    assert terminal.written == "reported\r\n"


DRAWING = """
import sys
from sitemap_reader.client.progressbar import ProgressBar
from sitemap_reader.client.summary import Progress

with ProgressBar() as bar:
    bar(Progress(1, 2, 3, 4))
    with bar.hidden():
        print("reported", file=sys.stderr)
"""


# --- in a kernel ------------------------------------------------------------------------------------------------


class Widget(tqdm.std.tqdm):  # type: ignore[type-arg]
    """Replaces tqdm's widget: ipywidgets need not be installed here."""

    made: list[Widget] = []  # noqa: RUF012 - of one test

    def __init__(self, **options: Any) -> None:
        self.texts: list[str] = []
        super().__init__(**{**options, "gui": True, "file": io.StringIO()})
        self.made.append(self)

    def display(self, *args: Any, **options: Any) -> None:
        self.texts.append(str(self))

    def clear(self, *args: Any, **options: Any) -> None: ...


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulates a notebook, where IPython has a shell with a kernel."""
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setattr(Widget, "made", [])
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))


def test_notebook_shows_a_widget_that_stays(kernel: None, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tqdm.auto, "tqdm", Widget)
    with ProgressBar() as bar:
        bar(Progress(2, 3, 5, 7))
    (widget,) = Widget.made
    assert terminal.getvalue() == ""
    assert re.match(r"sitemaps  0/\? \[00:00, 0 URLs, 0 B\]", widget.texts[0])
    assert re.match(r"sitemaps  2/3 \[00:00, 5 URLs, 7 B\]", widget.texts[-1])
    assert (widget.n, widget.total, widget.leave, widget.disable) == (2 / 3, 1, True, True)


def test_kernel_without_widgets_shows_text(kernel: None, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()  # stderr of a kernel is no terminal
    has_stderr(monkeypatch, stream)
    with ProgressBar() as bar:
        bar(Progress(2, 3, 5, 7))
    assert "sitemaps  0/? [00:00, 0 URLs, 0 B]" in stream.getvalue()
    assert stream.getvalue().endswith("sitemaps  2/3 [00:00, 5 URLs, 7 B]\n")


def test_ipython_on_a_terminal_shows_a_text_bar(monkeypatch: pytest.MonkeyPatch, terminal: Terminal) -> None:
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace()))
    with ProgressBar():
        assert shown(terminal) == ["sitemaps  0/? [00:00, 0 URLs, 0 B]"]


# --- the bar of a stream ----------------------------------------------------------------------------------------

# Reads the shop in one of the ways; prints how it ended, and the remaining bars.
READING = """
import asyncio, json, logging, sys, threading, time
import tqdm.std
import sitemap_reader as sr

logging.getLogger("asyncio").setLevel(logging.ERROR)  # slow turns of the loop are not checked here
way, shop = sys.argv[1:]

def sync(options, raising=False):
    with sr.urls(shop, show_progress=True, **options) as urls:
        for url in urls:
            if raising and urls.progress.urls == 300:
                time.sleep(0.15)
                raise KeyError
    return urls.progress.urls

async def asynchronous(options, raising=False):
    async with sr.SitemapReader() as reader, reader.urls(shop, show_progress=True, **options) as urls:
        async for url in urls:
            if raising and urls.progress.urls == 300:
                raise KeyError
    return urls.progress.urls

def receive(item):
    raise KeyError

try:
    if way == "sync":
        reported = sync({})
    elif way == "async":
        reported = asyncio.run(asynchronous({}))
    elif way == "sync, raising":
        reported = sync({}, True)
    elif way == "async, raising":
        reported = asyncio.run(asynchronous({}, True))
    elif way == "a function raises":
        reported = sync({"on_item": receive})
    else:
        for url in sr.urls(shop, show_progress=True):
            reported = "left"
            break
except KeyError:
    reported = "KeyError"
print(json.dumps([reported, threading.active_count(), len(tqdm.std.tqdm._instances)]))
"""


@pytest.mark.smoke("sync-640")
@pytest.mark.slow
@pytest.mark.parametrize(("way", "reported"), [
    ("sync", 640),
    ("async", 640),
    ("sync, raising", "KeyError"),
    ("async, raising", "KeyError"),
    ("a function raises", "KeyError"),
    ("left without a block", "left"),
])
def test_the_bar_of_a_stream_ends_with_it(way: str, reported: object) -> None:
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", READING, way, str(SHOP)]
    with on_terminal(command, pipes_stdout=True) as terminal:
        assert terminal.end() == 0
    assert json.loads(terminal.output) == [reported, 1, 0]
    assert "sitemaps  0/? [00:00, 0 URLs, 0 B]" in terminal.written
    assert terminal.screen() == []


WAITING = """
import asyncio, sys
import sitemap_reader as sr

async def main():
    async with sr.SitemapReader(allow_private=True) as reader, reader.urls(sys.argv[1], show_progress=True) as urls:
        print([url.loc async for url in urls])

asyncio.run(main())
"""


@pytest.mark.slow
def test_elapsed_time_of_an_async_bar_advances_while_waiting() -> None:
    body = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>/1</loc></url></urlset>'
    free = threading.Event()

    def play(wire: Wire) -> bool:
        free.wait(WAIT_SECONDS)
        return wire.answer(whole(body))

    with FaultServer({"/s.xml": play}) as server:
        with on_terminal([sys.executable, "-c", WAITING, f"{server.url}/s.xml"], pipes_stdout=True) as terminal:
            terminal.wait_for(r"sitemaps  0/1 \[00:01, 0 URLs")
            free.set()
            assert terminal.end() == 0
        assert terminal.output == f"['{server.url}/1']\n".encode()
    assert terminal.screen() == []


@pytest.mark.slow
def test_bar_is_shown_only_on_request() -> None:
    script = f"import sitemap_reader as sr; print(sum(1 for _ in sr.urls({str(SHOP)!r})))"
    with on_terminal([sys.executable, "-c", script]) as terminal:
        assert terminal.end() == 0
    assert terminal.written == "640\r\n"


@pytest.mark.slow
def test_tqdm_is_imported_only_for_a_bar() -> None:
    script = (
        "import sys, sitemap_reader as sr\n"
        f"print(sum(1 for _ in sr.urls({str(SHOP)!r}, show_progress=True)), 'tqdm' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("640 False\n", "")
