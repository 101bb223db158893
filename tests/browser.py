"""Fixtures of tests with a real browser: Chromium, and a function that shows a page in it."""

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


PAGE = "http://page.test/"


def open_page(browser: Any, html: str, events: list[str] | None = None, **context: Any) -> Any:
    """A tab with the page, in a context of its own, without a server; other requests fail.

    `events` collects them, and messages of the console, errors, dialogs, and windows that the page opens.
    """
    tab = browser.new_context(**context).new_page()
    tab.set_default_timeout(10_000)
    log = [] if events is None else events

    def answer(route: Any) -> None:
        if route.request.url == PAGE:
            body = html.encode("utf-8", "replace")
            route.fulfill(body=body, content_type="text/html; charset=utf-8")
            return
        if not route.request.url.endswith("/favicon.ico"):
            log.append(f"request: {route.request.url}")
        route.abort()

    def dismiss(dialog: Any) -> None:
        log.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    tab.route("**/*", answer)
    tab.on("dialog", dismiss)
    tab.on("console", lambda message: log.append(f"console: {message.text}"))
    tab.on("pageerror", lambda error: log.append(f"error: {error}"))
    tab.on("popup", lambda other: log.append(f"window: {other.url}"))
    tab.goto(PAGE)
    return tab


@pytest.fixture
def show(chromium: Any) -> Iterator[Callable[..., Any]]:
    """`show(html, **context)`: a tab. At the end each has requested its page only, and logged no error."""
    tabs: list[Any] = []
    events: list[str] = []

    def show_page(html: str, **context: Any) -> Any:
        tabs.append(open_page(chromium, html, events, **context))
        return tabs[-1]

    yield show_page
    for tab in tabs:
        tab.context.close()
    assert events == []
