"""Fixtures of tests with a real browser: Chromium, and a function that shows a page in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tiers import needs

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed (Debian: chromium)")
    sync_api = needs("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def show(chromium: Any, site_server: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """`show(html, **context)`: a tab. At the end each has requested its page only, and logged no error."""
    contexts, complaints, servers = [], [], []

    def open_page(html: str, **options: Any) -> Any:
        server = site_server({"/": (200, {"Content-Type": "text/html; charset=utf-8"}, html.encode())})
        context = chromium.new_context(**options)
        tab = context.new_page()
        tab.set_default_timeout(10_000)
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.goto(f"{server.url}/")
        contexts.append(context)
        servers.append(server)
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert [server.requests() for server in servers] == [["/"]] * len(servers)
