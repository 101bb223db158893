"""Lists of slow tests, and shared fixtures: servers on loopback, stopped when the test ends."""

from __future__ import annotations

import gc
import os
import signal
import socket
from contextlib import ExitStack
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import chromium, show  # noqa: F401 - fixtures
from servers import NginxServer, SiteServer, nginx_program, run_nginx
from tiers import FULL, examples
from webhook_receiver import receiver  # noqa: F401 - a fixture

from sitemap_reader.model.internal_errors import RAISE_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from redis_server import RedisServer
    from servers import Page

ROOT = Path(__file__).parent.parent
# What only `pytest --full` runs: folders, files, tests. A file that is named on the command line runs whole.
SLOW = (
    "tests/analysis/test_charts.py::test_hostile_text_stays_text_in_the_chart",
    "tests/analysis/test_charts.py::test_characters_that_xml_forbids_do_not_break_the_chart",
    "tests/analysis/test_charts.py::test_each_mark_has_its_number_beside_it",
    "tests/analysis/test_charts.py::test_png_is_made_without_a_browser",
    "tests/analysis/test_charts.py::test_chart_shows_the_numbers_of_the_frame",
    "tests/analysis/test_charts.py::test_chart_shows_the_finding_and_the_counts",
    "tests/analysis/test_every_measure.py::test_pages_without_optional_fields_are_counted",
    "tests/analysis/test_report_browser.py",
    "tests/checks/test_audit.py::test_a_large_site_is_the_same_by_several_threads_and_by_a_dump",
    "tests/checks/test_browser.py",
    "tests/checks/test_crawled.py::test_a_crawl_takes_little_memory",
    "tests/checks/test_messy_site.py::test_every_format_has_all",
    "tests/checks/test_messy_site.py::test_each_card_of_the_page_shows_its_count_and_its_places",
    "tests/checks/test_page.py::test_charts_show_text_of_a_site_as_it_is",
    "tests/checks/test_page.py::test_number_of_bars_is_bounded_for_any_dates",
    "tests/checks/test_staging.py::test_private_target_is_not_reported[127.0.0.1]",
    "tests/cli/test_cli_audit.py::test_closed_pipe_ends_the_command_without_an_error",
    "tests/cli/test_cli_convert.py::test_write_error_is_not_reported_as_a_read_error",
    "tests/cli/test_cli_convert.py::test_a_full_disk_is_exit_6",
    "tests/cli/test_cli_convert.py::test_parquet_can_go_through_a_pipe",
    "tests/cli/test_cli_credentials.py::test_harvest_sends_credentials_and_writes_none",
    "tests/cli/test_cli_credentials.py::test_credentials_are_never_shown_or_written",
    "tests/cli/test_cli_diff.py::test_closed_pipe_ends_the_command_without_an_error",
    "tests/cli/test_cli_foreign_text.py::test_a_terminal_gets_no_control_character",
    "tests/cli/test_cli_full_pipe.py",
    "tests/cli/test_cli_interrupts.py",
    "tests/cli/test_cli_outputs.py::test_output_dev_stdout_is_stdout",
    "tests/cli/test_cli_outputs.py::test_incomplete_parquet_does_not_replace_the_file",
    "tests/cli/test_cli_process.py",
    "tests/cli/test_cli_progress.py",
    "tests/cli/test_cli_terminal_tables.py",
    "tests/cli/test_cli_threads.py",
    "tests/pipeline/test_fallback_run.py",
    "tests/pipeline/test_feedparser_process.py::test_long_base_before_many_links_is_bounded",
    "tests/fetch/test_client.py::test_tls_to_a_server_without_it",
    "tests/fetch/test_warc.py::test_response_takes_at_most_32_bytes_of_memory",
    "tests/fetch/test_warc.py::test_memory_is_flat_over_a_large_file",
    "tests/fuzz/test_found.py::test_known_faults_still_fail",
    "tests/fuzz/test_found.py::test_short_run_finds_nothing_new[growth]",
    "tests/hostile/test_bomb_memory.py",
    "tests/hostile/test_heartbeat.py",
    "tests/hostile/test_leaving.py",
    "tests/hostile/test_leaving_processes.py",
    "tests/hostile/test_network.py::test_a_child_on_a_host_that_cannot_be_reached",
    "tests/hostile/test_network.py::test_failed_child_is_named_and_siblings_are_read",
    "tests/hostile/test_output.py",
    "tests/hostile/test_politeness.py",
    "tests/hostile/test_robots.py::test_hostile_file_is_parsed_in_seconds_and_matched_in_less",
    "tests/hostile/test_robots.py::test_thousands_of_sitemap_lines_are_requested_once_in_linear_time",
    "tests/hostile/test_robots.py::"
    "test_rules_and_sitemaps_of_odd_robots_txt_are_read[10 MB of newlines]",
    "tests/integrations/test_airflow.py",
    "tests/integrations/test_crawlee.py",
    "tests/integrations/test_crawlee_page.py",
    "tests/integrations/test_scrapy.py",
    "tests/parser/test_linear.py",
    "tests/parser/test_structure.py::test_pieces_of_any_size_give_the_same",
    "tests/parser/test_structure.py::test_restarts_grow_with_the_damaged_entries_and_no_faster",
    "tests/parser/test_structure.py::test_tokens_are_visited_a_few_times_an_entry",
    "tests/parser/test_work.py::test_four_times_the_bytes_take_no_more_than_four_times_the_work",
    "tests/scale/test_folder.py::test_archive_of_a_harvest_is_complete_after_any_kills",
    "tests/scale/test_folder.py::test_killed_clean_up_is_repeated",
    "tests/scale/test_harvest.py",
    "tests/scale/test_shard.py::test_writing_attempt_whose_folder_is_removed_ends",
    "tests/scale/test_shard.py::test_progress_includes_hosts_in_progress",
    "tests/scale/test_state.py",
    "tests/scale/test_state_kills.py",
    "tests/state/test_change_streams.py::test_changes_are_the_same_with_any_number_of_threads",
    "tests/state/test_kills.py",
    "tests/serialize/test_arrow.py::test_memory_of_converting_does_not_grow_with_the_dump",
    "tests/test_compare.py::test_how_the_json_is_written_makes_no_difference",
    "tests/test_compare.py::test_temporary_file_is_deleted_with_the_object",
    "tests/test_compare.py::test_memory_stays_flat",
    "tests/test_compare.py::test_abandoned_comparison_leaves_no_file",
    "tests/test_credentials.py::test_retry_sends_the_same_headers",
    "tests/test_docs_cli_examples.py",
    "tests/test_docs_examples.py",
    "tests/test_docs_pages.py::test_the_first_examples_of_a_page_print_what_it_shows[docs/python.md-1]",
    "tests/serialize/test_dumps.py::test_memory_stays_flat",
    "tests/test_hostfarm.py",
    "tests/test_notebook_runs.py",
    "tests/serialize/test_parquet.py::test_memory_does_not_grow_with_the_rows",
    "tests/test_problem_docs.py::test_example_line_is_reported_for_its_file",
    "tests/client/test_progressbar.py::test_the_bar_of_a_stream_ends_with_it",
    "tests/client/test_progressbar.py::test_elapsed_time_of_an_async_bar_advances_while_waiting",
    "tests/client/test_reader.py::test_a_retry_before_any_entry_gives_each_record_once",
    "tests/test_records_examples.py",
    "tests/client/test_dedupe.py::test_a_url_takes_16_bytes_at_most",
    "tests/client/test_streams.py::test_a_program_may_end_while_a_stream_is_open",
    "tests/client/test_streams.py::test_reading_to_the_end_gives_no_warning",
    "tests/frontier/test_frontier.py::test_expensive_rules_are_matched_for_a_few_documents_in_one_call",
    "tests/frontier/test_frontier.py::test_waiting_documents_end_in_batches",
    "tests/frontier/test_frontier.py::test_forbidden_documents_are_reported_in_batches",
    "tests/frontier/test_host_queue.py::test_crawl_delays_of_many_hosts_cost_linear_work",
    "tests/frontier/test_index_dates.py::test_since_equals_a_filter_of_everything_or_counts_the_skipped",
    "tests/frontier/test_authority.py::test_repeated_sitemap_lines_cost_as_much_as_one",
    "tests/frontier/test_authority.py::test_cost_of_a_propagation_step_is_constant",
    "tests/frontier/test_authority.py::test_unverified_children_are_reported_in_batches",
    "tests/frontier/test_authority.py::test_dropped_urls_wait_until_authorities_are_propagated",
    "tests/watching/test_full_disk.py::test_a_disk_that_is_full_for_a_while_delays_changes_and_loses_none",
    "tests/watching/test_status_page.py",
    "tests/watching/test_server.py::test_10000_pings_over_loopback_cause_no_request_that_should_not_be",
    "tests/watching/test_watch_kills.py::test_sigterm_at_any_moment_ends_a_watch_in_order",
)
# Of these, the tests that always run: one of each kind.
SMOKE = (
    "tests/analysis/test_charts.py::test_chart_shows_the_numbers_of_the_frame[sections-one]",
    "tests/analysis/test_charts.py::test_chart_shows_the_finding_and_the_counts[cadence-one]",
    "tests/analysis/test_every_measure.py::test_pages_without_optional_fields_are_counted[no path-sections]",
    "tests/checks/test_browser.py::test_hostile_text_stays_text",
    "tests/checks/test_messy_site.py::test_every_format_has_all[text0]",
    "tests/checks/test_messy_site.py::test_every_format_has_all[csv]",
    "tests/cli/test_cli_convert.py::test_a_full_disk_is_exit_6[parquet]",
    "tests/cli/test_cli_credentials.py::test_credentials_are_never_shown_or_written[audit-netrc]",
    "tests/cli/test_cli_credentials.py::test_credentials_are_never_shown_or_written[discover-userinfo]",
    "tests/cli/test_cli_credentials.py::test_credentials_are_never_shown_or_written[sync-header]",
    "tests/cli/test_cli_full_pipe.py::test_reader_that_resumes_gets_complete_lines",
    "tests/cli/test_cli_interrupts.py::test_an_interrupt_keeps_what_was_read[2]",
    "tests/cli/test_cli_process.py::test_closed_pipe_ends_the_command_without_an_error",
    "tests/cli/test_cli_progress.py::test_terminal_shows_a_progress_bar",
    "tests/cli/test_cli_terminal_tables.py::test_a_pipe_from_a_terminal_gets_tsv[tree]",
    "tests/cli/test_cli_threads.py::test_a_dump_in_a_process_is_the_truth",
    "tests/pipeline/test_fallback_run.py::test_leaving_the_async_block_kills_feedparser",
    "tests/hostile/test_bomb_memory.py::test_memory_stays_flat_and_reading_stops_early[documents]",
    "tests/hostile/test_heartbeat.py::test_documents_are_parsed_beside_the_loop",
    "tests/hostile/test_leaving.py::test_left_stream_ends_at_once",
    "tests/hostile/test_leaving.py::test_left_async_stream_cancels_its_requests[async_break-bodies]",
    "tests/hostile/test_leaving.py::test_exception_in_on_wait_ends_the_stream",
    "tests/hostile/test_leaving_processes.py::"
    "test_left_stream_of_a_large_site_leaves_nothing_open[sync-20000-40000-20 gzipped children]",
    "tests/hostile/test_network.py::test_failed_child_is_named_and_siblings_are_read[503 always]",
    "tests/hostile/test_network.py::test_failed_child_is_named_and_siblings_are_read[503, 503, 200]",
    "tests/hostile/test_network.py::test_failed_child_is_named_and_siblings_are_read[RST in mid-body]",
    "tests/hostile/test_network.py::test_failed_child_is_named_and_siblings_are_read[chunked cut]",
    "tests/hostile/test_network.py::test_failed_child_is_named_and_siblings_are_read[cut, then 503, then whole]",
    "tests/hostile/test_network.py::test_failed_child_is_named_and_siblings_are_read[stalled, then whole]",
    "tests/hostile/test_output.py::test_interrupt_between_documents_keeps_the_received_ones[2]",
    "tests/hostile/test_politeness.py::test_slow_host_does_not_delay_others",
    "tests/hostile/test_robots.py::test_hostile_file_is_parsed_in_seconds_and_matched_in_less[groups]",
    "tests/integrations/test_crawlee.py::test_the_record_survives_a_queue_on_disk",
    "tests/integrations/test_scrapy.py::test_a_callback_has_the_record_also_from_a_queue_on_disk",
    "tests/parser/test_linear.py::test_twice_the_document_takes_twice_the_work[an unclosed entry]",
    "tests/parser/test_structure.py::test_pieces_of_any_size_give_the_same[1]",
    "tests/parser/test_work.py::test_four_times_the_bytes_take_no_more_than_four_times_the_work[bare &]",
    "tests/scale/test_harvest.py::test_killed_worker_loses_no_row",
    "tests/scale/test_state.py::test_a_host_that_fails_removes_nothing",
    "tests/scale/test_state.py::test_first_harvest_is_all_new_then_only_changes",
    "tests/scale/test_state.py::test_documents_that_have_not_changed_are_not_read_again",
    "tests/scale/test_state_kills.py::test_killed_anywhere_no_change_is_lost_or_repeated[39]",
    "tests/state/test_kills.py::test_killed_at_each_write_and_each_commit[write-behind]",
    "tests/test_compare.py::test_abandoned_comparison_leaves_no_file[pass]",
    "tests/test_credentials.py::test_retry_sends_the_same_headers[header]",
    "tests/test_notebook_runs.py::test_notebook_cells_run[01_one_site]",
    "tests/client/test_progressbar.py::test_the_bar_of_a_stream_ends_with_it[sync-640]",
    "tests/client/test_reader.py::test_a_retry_before_any_entry_gives_each_record_once[first2]",
    "tests/client/test_dedupe.py::test_a_url_takes_16_bytes_at_most[100000]",
    "tests/frontier/test_index_dates.py::test_since_equals_a_filter_of_everything_or_counts_the_skipped[frozen-20-20]",
)

WITHOUT_A_TEST = pytest.StashKey[list[str]]()  # names in these that tests/test_layout.py reports


@cache
def id_prefixes(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Prefixes of the ids of all tests in these folders, files and parametrised tests; ids get a `[` at the end.

    With the `[`, test_a does not match test_ab.
    """
    return tuple(path + mark for path in paths for mark in ("/", "::", "["))


@cache
def named_files(config: pytest.Config) -> tuple[str, ...]:
    """The files that are named on the command line, from the root of the project."""
    typed = (config.invocation_params.dir / each.partition("::")[0] for each in config.args)
    files = (Path(os.path.abspath(each)) for each in typed if each.suffix == ".py")
    return tuple(each.relative_to(ROOT).as_posix() for each in files if each.is_relative_to(ROOT))


def runs(name: str, config: pytest.Config) -> bool:
    """Whether a test runs, or any test of a file or a folder."""
    if config.getoption("--full") or not f"{name}[".startswith(id_prefixes(SLOW)):
        return True
    has_smoke_test = any(each.startswith(id_prefixes((name,))) for each in SMOKE)
    return has_smoke_test or f"{name}[".startswith(id_prefixes(SMOKE + named_files(config)))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the slow tests too: those of SLOW in tests/conftest.py")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file of which nothing runs is not imported."""
    return None if runs(collection_path.relative_to(ROOT).as_posix(), config) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[WITHOUT_A_TEST] = without_a_test(items, config)
    chosen = {True: [], False: []}
    for item in items:
        chosen[runs(item.nodeid, config)].append(item)
    items[:] = chosen[True]
    config.hook.pytest_deselected(items=chosen[False])


def without_a_test(items: list[pytest.Item], config: pytest.Config) -> list[str]:
    """The names in SLOW and SMOKE that no test of the collected files has any more."""
    if any("::" in each for each in config.args):
        return []
    ids = {item.nodeid for item in items}
    files = {each.partition("::")[0] for each in ids}
    known = ids | files | {each.partition("[")[0] for each in ids}
    return [name for name in SLOW + SMOKE if name.partition("::")[0] in files and name not in known]


def pytest_collection_finish() -> None:
    """Excludes the collected tests from garbage collection, which some tests call many times."""
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
