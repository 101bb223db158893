"""Which tests run, and shared fixtures: servers on loopback, stopped when the test ends."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import signal
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import chromium, show  # noqa: F401 - fixtures
from servers import NginxServer, Page, SiteServer, nginx_program, run_nginx
from tiers import FULL, examples
from virtual_time import virtual_time  # noqa: F401 - a fixture
from webhook_receiver import receiver  # noqa: F401 - a fixture

from sitemap_reader.model import RAISE_VARIABLE

if TYPE_CHECKING:
    from redis_server import RedisServer

ROOT = Path(__file__).parent.parent


def runs(item: pytest.Item, config: pytest.Config) -> bool:
    """Whether a test runs: with --full all do, else those without the mark `slow`, and those with `smoke`.

    `smoke("a", "b")` marks the cases of a parametrised test with these ids. A file that is named on the command line
    runs whole.
    """
    if config.getoption("--full") or item.get_closest_marker("slow") is None or item.path in named_files(config):
        return True
    smoke = item.get_closest_marker("smoke")
    return smoke is not None and (not smoke.args or item.callspec.id in smoke.args)  # type: ignore[attr-defined]


@cache
def named_files(config: pytest.Config) -> set[Path]:
    """The files that are named on the command line."""
    typed = (config.invocation_params.dir / each.partition("::")[0] for each in config.args)
    return {Path(os.path.abspath(each)) for each in typed if each.suffix == ".py"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the tests with the mark `slow` too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path)  # one order in all workers
    chosen = {True: [], False: []}
    for item in items:
        chosen[runs(item, config)].append(item)
    items[:] = chosen[True]
    config.hook.pytest_deselected(items=chosen[False])


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs an async test on a new event loop, within two minutes, or an hour of virtual time.

    A module may have its own `run_async` for its tests.
    """
    if not inspect.iscoroutinefunction(pyfuncitem.function):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}

    async def test() -> None:
        async with asyncio.timeout(3600 if "virtual_time" in pyfuncitem.fixturenames else 120):
            await pyfuncitem.obj(**given)

    getattr(pyfuncitem.module, "run_async", asyncio.run)(test())
    return True


class _Backwards(pytest.Dir):
    def collect(self) -> list[pytest.Collector]:
        return [*super().collect()][::-1]


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Every second worker imports the test files from the last to the first.

    After a fresh checkout each file's asserts are rewritten once, by the worker that comes to it first, in place of
    once by each worker: that took 25 of the 40 s of a collection.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    return _Backwards.from_parent(parent, path=path) if int(worker.removeprefix("gw")) % 2 else None


def pytest_collection(session: pytest.Session) -> None:
    """Collects no garbage while tests are collected: that was a quarter of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Excludes the collected tests from garbage collection, which some tests call many times."""
    gc.enable()
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("--full"):
        terminalreporter.write_line("slow tests were left out: --full runs them; -rs says why others were skipped")


def pytest_configure(config: pytest.Config) -> None:
    """Sets the tier, and restores the defaults of signals and buffering for programs that a test starts.

    In the background of a script SIGINT is ignored, under nohup SIGHUP, and child processes inherit that. With
    PYTHONUNBUFFERED, as in many containers, no unwritable data would remain in a buffer; CI systems force colours.
    """
    if config.getoption("--full"):
        os.environ[FULL] = "1"
    if find_spec("hypothesis"):  # the environment of the Airflow test has no hypothesis
        from hypothesis import settings

        # No test depends on the load of the machine.
        settings.register_profile("tier", deadline=None, max_examples=examples(100))
        settings.load_profile("tier")
    for name in ("PYTHONUNBUFFERED", "FORCE_COLOR", "CLICOLOR_FORCE"):
        os.environ.pop(name, None)
    os.environ.setdefault(RAISE_VARIABLE, "1")  # an internal error fails the test, and does not become an S17
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


@pytest.fixture
def short_backoffs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed request is tried again at once."""
    monkeypatch.setattr("sitemap_reader.frontier.host_queue.BACKOFF_SECONDS", 0.02)


@pytest.fixture
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., NginxServer]]:
    """`serve(root, port=None)` -> NginxServer; a port can be chosen with servers.free_port()."""
    if nginx_program() is None:
        pytest.skip("nginx is not installed (Debian: nginx-light)")
    with ExitStack() as running:

        def serve(root: Path, port: int | None = None) -> NginxServer:
            return running.enter_context(run_nginx(root, tmp_path_factory.mktemp("nginx") / "work", port))

        yield serve


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A redis-server on loopback, with a file of its commands."""
    pytest.importorskip("redis")
    from redis_server import PROGRAM, RedisServer

    if PROGRAM is None:
        pytest.skip("redis-server is not installed (Debian: redis-server)")
    with RedisServer(tmp_path / "redis") as running:
        yield running


@pytest.fixture
def site_server() -> Iterator[Callable[[Mapping[str, Page]], SiteServer]]:
    """`serve(pages)` -> SiteServer, started."""
    with ExitStack() as running:

        def serve(pages: Mapping[str, Page]) -> SiteServer:
            return running.enter_context(SiteServer(pages))

        yield serve


@pytest.fixture
def use_cores(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """`use(count)` sets how many cores this process may use."""

    def use(count: int) -> None:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(count)), raising=False)

    return use


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A port to which no connection may be made: see servers.is_untouched()."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server
