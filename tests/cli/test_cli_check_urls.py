"""`audit --check-urls`: mistakes, the progress bar, --quiet, and an interrupt, which keeps what is known."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_runs import PROGRAM, HeldPages
from kit import robots, run, urlset, xml

if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals", allow_module_level=True)


from servers import SiteServer
from terminals import on_terminal

PAGES = 12


@pytest.fixture
def server(site_server: Any) -> Iterator[SiteServer]:
    """A site with pages that all answer 404, half of them late."""
    started, early = site_server({}), iter(range(PAGES // 2))
    started.pages = HeldPages(
        {
            "/robots.txt": (200, {}, robots(f"{started.url}/map.xml")),
            "/map.xml": xml(urlset(*(f"{started.url}/page{n}" for n in range(PAGES)))),
        },
        lambda path: path.startswith("/page") and next(early, None) is None,
    )
    yield started
    started.pages.free.set()


def audit(server: SiteServer, *arguments: str | Path) -> list[str]:
    command = [*PROGRAM, "audit", server.url, "--allow-private", "--check-urls", "all", "--select", "C"]
    return [*command, *map(str, arguments)]


@pytest.mark.slow
def test_a_terminal_shows_what_is_done_and_the_time_left(server: SiteServer, tmp_path: Path) -> None:
    with on_terminal(audit(server, "-o", tmp_path / "report.txt")) as terminal:
        terminal.wait_for(r"URLs checked  6/12 \[00:\d\d, \d+:\d\d left\]")
        server.pages.free.set()  # type: ignore[attr-defined]
        assert terminal.end() == 1
    assert "URLs checked  " not in "\n".join(terminal.screen())
    assert "12 of 12 unique URLs checked" in (tmp_path / "report.txt").read_text()


@pytest.mark.slow
def test_quiet_shows_nothing(server: SiteServer, tmp_path: Path) -> None:
    server.pages.free.set()  # type: ignore[attr-defined]
    with on_terminal(audit(server, "-o", tmp_path / "report.txt", "-q")) as terminal:
        assert terminal.end() == 1
    assert terminal.screen() == []


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_known(server: SiteServer, tmp_path: Path) -> None:
    report, checks = tmp_path / "report.json", tmp_path / "checks.jsonl"
    with on_terminal(audit(server, "-o", report, "--save-checks", checks)) as terminal:
        terminal.wait_for(r"URLs checked  6/12")
        terminal.type(b"\x03")
        assert terminal.end() == 130
    known = json.loads(report.read_text())["url_checks"]
    assert (known["checked"], known["complete"]) == (6, False)
    assert [json.loads(line)["status"] for line in checks.read_text().splitlines()] == [404] * 6


def test_html_has_the_result(server: SiteServer, tmp_path: Path) -> None:
    server.pages.free.set()  # type: ignore[attr-defined]
    page = tmp_path / "report.html"
    assert run(*audit(server, "-o", page)[len(PROGRAM) :]).exit_code == 1
    assert "Page returns 4xx or 5xx" in page.read_text("utf-8")
