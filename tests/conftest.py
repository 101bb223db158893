"""Which tests are slow, and what several tests share: servers on loopback, stopped when the test ends."""

from __future__ import annotations

import os
import signal
import socket
from contextlib import ExitStack
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from servers import NginxServer, SiteServer, nginx_program, run_nginx
from tiers import FULL_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from servers import Page

# What only `pytest --full` runs: folders, files, tests. A file that is named on the command line runs whole.
SLOW = (
    "tests/analysis/test_charts.py::test_any_text_of_a_site_is_text_in_the_picture",
    "tests/analysis/test_charts.py::test_characters_that_xml_has_not_end_no_picture",
    "tests/checks/test_audit.py::test_a_large_site_is_the_same_by_worker_processes_and_by_a_dump",
    "tests/checks/test_audit.py::test_worker_processes_find_the_same",
    "tests/checks/test_browser.py",
    "tests/checks/test_page.py::test_charts_show_text_of_a_site_as_it_is",
    "tests/cli/test_cli_credentials.py::test_a_harvest_sends_what_is_given_and_writes_nothing_of_it",
    "tests/cli/test_cli_full_pipe.py",
    "tests/cli/test_cli_interrupts.py",
    "tests/cli/test_cli_jobs.py",
    "tests/cli/test_cli_process.py",
    "tests/cli/test_cli_progress.py",
    "tests/cli/test_cli_terminal_tables.py",
    "tests/crawl/test_fallback_run.py",
    "tests/crawl/test_feedchild.py::test_long_base_before_many_links_is_bounded",
    "tests/crawl/test_worker_deaths.py",
    "tests/crawl/test_workers.py",
    "tests/hostile/test_bomb_memory.py",
    "tests/hostile/test_heartbeat.py",
    "tests/hostile/test_leaving_processes.py",
    "tests/hostile/test_output.py",
    "tests/integrations/test_airflow.py",
    "tests/integrations/test_crawlee.py",
    "tests/integrations/test_crawlee_page.py",
    "tests/integrations/test_scrapy.py",
    "tests/read/test_linear.py",
    "tests/scale/test_harvest.py",
    "tests/scale/test_state_kills.py",
    "tests/sync/test_kills.py",
    "tests/test_docs_cli_examples.py",
    "tests/test_docs_examples.py",
    "tests/test_notebook_runs.py",
    "tests/test_records_examples.py",
)
# Of these, what runs always: a test of each kind.
SMOKE = (
    "tests/analysis/test_charts.py::test_any_text_of_a_site_is_text_in_the_picture[hints]",
    "tests/checks/test_audit.py::test_worker_processes_find_the_same[sites-shop]",
    "tests/checks/test_browser.py::test_hostile_text_stays_text",
    "tests/cli/test_cli_full_pipe.py::test_a_reader_that_takes_up_again_gets_whole_lines",
    "tests/cli/test_cli_interrupts.py::test_an_interrupt_keeps_what_was_read[2]",
    "tests/cli/test_cli_jobs.py::test_a_dump_in_processes_is_the_truth",
    "tests/cli/test_cli_process.py::test_head_ends_it_quietly",
    "tests/cli/test_cli_progress.py::test_on_a_terminal_a_bar_shows_how_far_it_is",
    "tests/cli/test_cli_terminal_tables.py::test_a_pipe_from_a_terminal_gets_tsv[tree]",
    "tests/crawl/test_fallback_run.py::test_leaving_the_async_block_kills_feedparser",
    "tests/crawl/test_worker_deaths.py::"
    "test_a_worker_that_is_killed_from_outside_loses_the_document_that_it_is_at",
    "tests/crawl/test_workers.py::test_a_walk_gives_the_same_with_workers[several]",
    "tests/hostile/test_bomb_memory.py::test_memory_stays_flat_and_reading_stops_early[documents]",
    "tests/hostile/test_heartbeat.py::test_documents_are_parsed_beside_the_loop",
    "tests/hostile/test_leaving_processes.py::"
    "test_nothing_of_a_large_site_is_left[sync-20000-40000-20 gzipped children]",
    "tests/hostile/test_output.py::test_an_interrupt_between_documents_keeps_those_that_came[2]",
    "tests/integrations/test_crawlee.py::test_the_record_survives_a_queue_on_disk",
    "tests/integrations/test_scrapy.py::test_a_callback_has_the_record_also_from_a_queue_on_disk",
    "tests/read/test_linear.py::test_twice_the_document_takes_twice_the_work[an unclosed entry]",
    "tests/scale/test_harvest.py::test_a_worker_that_is_killed_costs_no_row",
    "tests/scale/test_state_kills.py::test_wherever_it_is_killed_nothing_is_told_twice_and_nothing_is_lost[39]",
    "tests/sync/test_kills.py::test_killed_at_each_write_and_each_commit[write-behind]",
    "tests/test_notebook_runs.py::test_its_cells_run_and_what_they_say_is_so[01_one_site]",
)


@cache
def beginnings(paths: tuple[str, ...]) -> tuple[str, ...]:
    """What the ids of all tests in these folders, files and parametrised tests begin with, and a `[` behind each id."""
    return tuple(path + mark for path in paths for mark in ("/", "::", "["))


def runs(name: str, config: pytest.Config) -> bool:
    """Whether a test is to run; of a file or a folder, whether any of it is."""
    if config.getoption("--full") or not f"{name}[".startswith(beginnings(SLOW)):
        return True
    named = tuple(each.partition("::")[0] for each in config.args if ".py" in each)
    has_smoke_test = any(each.startswith(beginnings((name,))) for each in SMOKE)
    return has_smoke_test or f"{name}[".startswith(beginnings(SMOKE + named))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the slow tests too: those of SLOW in tests/conftest.py")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file of which nothing runs is not imported."""
    return None if runs(collection_path.relative_to(config.rootpath).as_posix(), config) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if not runs(item.nodeid, config)])
    items[:] = [item for item in items if runs(item.nodeid, config)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("--full"):
        terminalreporter.write_line("slow tests were left out: --full runs them")


def pytest_configure(config: pytest.Config) -> None:
    """Sets the tier, and sees that programs which a test starts are as users have them.

    In the background of a script SIGINT is ignored, and so it would be by them; and where PYTHONUNBUFFERED is set, as
    in many containers, nothing is ever left in a buffer that cannot be written.
    """
    if config.getoption("--full"):
        os.environ[FULL_VARIABLE] = "1"
    if find_spec("hypothesis"):  # the environment of the Airflow test is without
        from hypothesis import settings

        # How long a busy machine takes decides no test.
        settings.register_profile("tier", deadline=None, max_examples=100 if config.getoption("--full") else 25)
        settings.load_profile("tier")
    os.environ.pop("PYTHONUNBUFFERED", None)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


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
def site_server() -> Iterator[Callable[[Mapping[str, Page]], SiteServer]]:
    """`serve(pages)` -> SiteServer, started."""
    with ExitStack() as running:

        def serve(pages: Mapping[str, Page]) -> SiteServer:
            return running.enter_context(SiteServer(pages))

        yield serve


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A port that nobody should connect to: see servers.is_untouched()."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server
