"""The task of docs/integrations.md, run by Celery in this process; Celery is not part of test-full."""

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from docs_runs import meant
from kit import index, urlset
from servers import Page, Received, SiteServer

pytest.importorskip("celery", reason="Celery is not installed, and not of test-full")

TEXT = meant(("docs/integrations.md", "import Celery")).text


class Shop(SiteServer):
    """Two sitemaps of 500 URLs; `on_request` is called for the second, before it is answered."""

    def __init__(self) -> None:
        super().__init__({})
        self.on_request = lambda: None
        self.pages["/sitemap.xml"] = (200, {}, index(f"{self.url}/a.xml", f"{self.url}/b.xml"))
        for name in "ab":
            self.pages[f"/{name}.xml"] = (200, {}, urlset(*(f"{self.url}/{name}/{number}" for number in range(500))))

    def page(self, request: Received) -> Page:
        if request.path == "/b.xml":
            self.on_request()
        return super().page(request)


@pytest.fixture
def shop() -> Any:
    with Shop() as server:
        yield server


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    text = TEXT.replace("redis://localhost", "memory://").replace("limits=LIMITS", "allow_private=True, limits=LIMITS")
    names: dict[str, Any] = {"__name__": "tasks"}
    exec(text.replace("site_seconds=540", "site_seconds=540, tries=1"), names)  # noqa: S102 - our own
    return names["read_changes"]


def lines() -> int:
    return sum(path.read_bytes().count(b"\n") for path in Path("states").glob("*.jsonl"))


def test_a_task_appends_the_changes_since_the_last_one(task: Any, shop: Shop) -> None:
    site = shop.url.removeprefix("http://")
    result = task.apply(args=[site]).get()
    assert (result["site"], result["complete"], lines()) == (site, True, 1000)
    assert task.apply(args=[site]).get()["complete"]
    assert lines() == 1000


def test_a_soft_time_limit_leaves_it_incomplete_and_the_next_run_continues(task: Any, shop: Shop) -> None:
    """Celery raises it in a handler of SIGUSR1, as here."""
    from celery.exceptions import SoftTimeLimitExceeded

    site, goes_on = shop.url.removeprefix("http://"), threading.Event()

    def limit(*args: Any) -> None:
        raise SoftTimeLimitExceeded

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        goes_on.wait(10)

    before = signal.signal(signal.SIGUSR1, limit)
    try:
        shop.on_request = interrupt
        result = task.apply(args=[site]).get()
    finally:
        signal.signal(signal.SIGUSR1, before)
        goes_on.set()
    assert not result["complete"]
    assert lines() in (0, 500)
    shop.on_request = lambda: None
    assert task.apply(args=[site]).get()["complete"]
    assert lines() == 1000
