"""The progress bar of a command: when it is shown, and that it is removed completely."""

import json
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_runs import PROGRAM, HeldPages, process
from kit import index, objects, urlset, xml

if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals", allow_module_level=True)


from terminals import on_terminal, screen

pytestmark = pytest.mark.slow

BAR = r"sitemaps  \d+/(\d+|\?) \[\d\d:\d\d, "


@pytest.fixture
def waiting(site_server: Any) -> Iterator[tuple[str, HeldPages]]:
    """The URL of an index of three sitemaps, and the pages: the last, which is held, has no readable date."""
    server = site_server({})
    at = server.url
    bodies = {
        "/0.xml": urlset(f"{at}/1", f"{at}/2"),
        "/1.xml": urlset(f"{at}/3", f"{at}/4"),
        "/2.xml": urlset((f"{at}/5", "Mon")),
    }
    bodies["/index.xml"] = index(*(at + path for path in bodies))
    server.pages = HeldPages({path: xml(body) for path, body in bodies.items()}, "/2.xml".__eq__)
    yield f"{at}/index.xml", server.pages
    server.pages.free.set()


def dump(target: str, *arguments: str | Path) -> list[str]:
    return [*PROGRAM, "dump", target, "--allow-private", *map(str, arguments)]


@pytest.mark.smoke
def test_terminal_shows_a_progress_bar(waiting: tuple[str, HeldPages], tmp_path: Path) -> None:
    target, pages = waiting
    with on_terminal(dump(target, "-o", tmp_path / "urls.jsonl")) as terminal:
        terminal.wait_for(r"sitemaps  3/4 \[00:\d\d, 4 URLs, \d+ B\]")
        pages.free.set()
        assert terminal.end() == 0
    site = target.removesuffix("/index.xml")
    problem, summary = terminal.screen()
    assert problem == f'error D01 {site}/2.xml:2: lastmod "Mon" is no date'
    assert re.fullmatch(r"5 URLs from 4 sitemaps; 1 problem; \d+\.\d s", summary)
    assert len((tmp_path / "urls.jsonl").read_text().splitlines()) == 5


def test_bar_is_never_wider_than_the_terminal(waiting: tuple[str, HeldPages], tmp_path: Path) -> None:
    target, pages = waiting
    with on_terminal(dump(target, "-o", tmp_path / "urls.jsonl", "-q"), columns=30) as quiet:
        pages.free.set()
        assert quiet.end() == 0
    assert quiet.screen() == []
    pages.free.clear()
    with on_terminal(dump(target, "-o", tmp_path / "urls.jsonl"), columns=30) as terminal:
        terminal.wait_for(r"sitemaps  3/4 \[00:\d\d, 4 URLs")
        assert len(screen(terminal.written, 30)) == 1
        pages.free.set()
        assert terminal.end() == 0
    assert "sitemaps  " not in "\n".join(terminal.screen())


def test_terminal_of_unknown_size_shows_a_bar(waiting: tuple[str, HeldPages], tmp_path: Path) -> None:
    target, pages = waiting
    with on_terminal(dump(target, "-o", tmp_path / "urls.jsonl"), columns=0) as terminal:
        terminal.wait_for(BAR)
        pages.free.set()
        assert terminal.end() == 0


def test_piped_output_has_no_bar(waiting: tuple[str, HeldPages]) -> None:
    target, pages = waiting
    with on_terminal(dump(target), pipes_stdout=True) as terminal:
        terminal.wait_for(BAR)
        pages.free.set()
        assert terminal.end() == 0
    assert len(objects(terminal.output)) == 5
    assert "\r" not in terminal.output.decode()


def test_table_is_printed_after_the_bar_is_removed(waiting: tuple[str, HeldPages]) -> None:
    target, pages = waiting
    with on_terminal([*PROGRAM, "tree", target, "--allow-private"], columns=160) as terminal:
        terminal.wait_for(r"sitemaps  3/4")
        pages.free.set()
        assert terminal.end() == 0
    error, header, *rows, summary = terminal.screen()
    assert error.startswith("error D01 ")
    assert header.split()[:3] == ["sitemap", "format", "entries"]
    assert len(rows) == 4
    assert summary.startswith("5 URLs from 4 sitemaps")


@pytest.mark.parametrize("arguments", [[], ["-o", "FILE", "-q"], ["-q"]], ids=" ".join)
def test_no_bar_with_lines_on_the_terminal_or_quiet(
    waiting: tuple[str, HeldPages], tmp_path: Path, arguments: list[str]
) -> None:
    target, pages = waiting
    pages.free.set()
    given = [str(tmp_path / "urls.jsonl") if argument == "FILE" else argument for argument in arguments]
    with on_terminal(dump(target, *given), columns=400) as terminal:
        assert terminal.end() == 0
    assert "sitemaps  " not in terminal.written
    assert "\r" not in terminal.written.replace("\r\n", "")
    lines = [json.loads(line) for line in terminal.screen() if line.startswith("{")]
    assert len(lines) == (0 if "FILE" in arguments else 5)


def test_no_bar_without_a_terminal_on_stderr(waiting: tuple[str, HeldPages], tmp_path: Path) -> None:
    target, pages = waiting
    threading.Timer(0.6, pages.free.set).start()
    done = process("dump", target, "--allow-private", "-o", tmp_path / "urls.jsonl")
    assert done.returncode == 0
    assert "sitemaps  " not in done.stderr
    assert "\r" not in done.stderr


def test_interrupt_removes_the_bar(waiting: tuple[str, HeldPages], tmp_path: Path) -> None:
    target, _ = waiting
    with on_terminal(dump(target, "-o", tmp_path / "urls.jsonl")) as terminal:
        terminal.wait_for(r"sitemaps  3/4")
        terminal.type(b"\x03")
        assert terminal.end() == 130
    assert "^C" in terminal.written  # the echo of ^C is after the bar
    summary, partial = terminal.screen()
    assert re.fullmatch(r"4 URLs from 3 sitemaps; stopped; \d+\.\d s", summary)
    assert partial == "partial: interrupted (exit 130)"
    assert len((tmp_path / "urls.jsonl").read_text().splitlines()) == 4


def test_closed_terminal_does_not_stop_the_command(waiting: tuple[str, HeldPages], tmp_path: Path) -> None:
    target, pages = waiting
    ignoring = "import os, signal as s, sys; s.signal(s.SIGHUP, s.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    command = dump(target, "-o", tmp_path / "urls.jsonl")
    with on_terminal([sys.executable, "-c", ignoring, *command], pipes_stdout=True) as terminal:
        terminal.wait_for(BAR)
        terminal.hang_up()
        pages.free.set()
        assert terminal.end() == 0
    assert len((tmp_path / "urls.jsonl").read_text().splitlines()) == 5


def test_bar_of_an_empty_target_is_removed(site_server: Any) -> None:
    server = site_server({"/s.xml": xml(urlset()[:-10])})
    with on_terminal(dump(f"{server.url}/s.xml"), columns=200, pipes_stdout=True) as terminal:
        assert terminal.end() == 5
    assert terminal.output == b""
    assert re.search(BAR, terminal.written)
    assert [line.partition(" ")[0] for line in terminal.screen()] == ["error", "error:", "0"]


def test_each_target_has_its_own_bar(waiting: tuple[str, HeldPages], tmp_path: Path) -> None:
    target, pages = waiting
    pages.free.set()
    with on_terminal(dump(target, target, "-o", tmp_path / "urls.jsonl")) as terminal:
        assert terminal.end() == 0
    problem, again, summary = terminal.screen()
    assert problem == again
    assert summary.startswith("10 URLs from 8 sitemaps")
