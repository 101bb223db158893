"""watch() from Python: how it ends, what it raises, where it continues, and what it takes as a sink."""

import asyncio
import functools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from change_logs import ListSink
from kit import Site, index, robots, urlset

import sitemap_reader as sr
from sitemap_reader.model import RAISE_VARIABLE

SITE = "https://a.example"
URLS = 1_500  # two entries of the log: 1,000 changes are the most of one


class Pages(Site):
    """A site with so many URLs."""

    def __init__(self, urls: int = URLS) -> None:
        listed = urlset(*(f"{SITE}/{number}" for number in range(urls)))
        super().__init__({"/robots.txt": robots(f"{SITE}/s.xml"), "/s.xml": listed}, SITE)


class Bug(Exception):
    """Of the caller's own code."""


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., sr.watching.WatchStream]:
    """sr.watch() on SITE, with the same state each time; internal errors do not raise, as for users."""
    monkeypatch.delenv(RAISE_VARIABLE)

    def make(**options: Any) -> sr.watching.WatchStream:
        return sr.watch([SITE], **{"state": tmp_path / "s.db", "fetcher": Pages(), **options})

    return make


Watch = Callable[..., sr.watching.WatchStream]
Read = Callable[[sr.watching.WatchStream], None]


def is_locked(path: Path) -> bool:
    try:
        sr.watch([SITE], state=path, fetcher=Pages()).close()
    except sr.StateError:
        return True
    return False


def seqs_until(stream: sr.watching.WatchStream, last: int) -> list[int]:
    """The numbers up to one at which the loop is left by `break`."""
    seqs = []
    for change in stream:
        seqs.append(change.seq)
        if change.seq == last:
            break
    return seqs


# --- the end ---


class SlowSink(ListSink):
    """Takes its time for the last entry, and notes whether the state was locked until its end."""

    def __init__(self, state: Path) -> None:
        super().__init__()
        self.state = state
        self.has_begun = threading.Event()
        self.was_locked: bool | None = None

    async def deliver(self, entry: Any) -> None:
        self.has_begun.set()
        await super().deliver(entry)

    async def close(self) -> None:
        self.was_locked = is_locked(self.state)
        await super().close()


def test_close_ends_run_in_another_thread_closes_the_sinks_and_then_the_state(watch: Watch, tmp_path: Path) -> None:
    sink = SlowSink(tmp_path / "s.db")
    stream = watch(sinks=[sink])
    running = threading.Thread(target=stream.run)
    running.start()
    assert sink.has_begun.wait(20)
    stream.close()
    running.join(1)
    assert not running.is_alive()
    assert sink.is_closed
    assert sink.was_locked
    assert not is_locked(tmp_path / "s.db")
    assert not [each for each in threading.enumerate() if each.name.startswith("sitemap-reader")]
    stream.close()


def test_run_ends_at_once_after_close(watch: Watch) -> None:
    stream = watch(sinks=[ListSink()])
    stream.close()
    stream.run()
    with pytest.raises(sr.UsageError, match="this watch has ended"):
        list(stream)


def test_a_watch_that_is_under_way_is_not_run_a_second_time(watch: Watch, tmp_path: Path) -> None:
    stream = watch(sinks=[sink := SlowSink(tmp_path / "s.db")])
    running = threading.Thread(target=stream.run)
    running.start()
    assert sink.has_begun.wait(20)
    for again in (stream.run, lambda: list(stream)):
        with pytest.raises(sr.UsageError, match="this watch is under way"):
            again()
    stream.close()
    running.join(1)
    assert not running.is_alive()
    assert sink.is_closed
    assert not is_locked(tmp_path / "s.db")
    assert not [each for each in threading.enumerate() if each.name.startswith("sitemap-reader")]
    stream.run()  # after close() it returns


def test_a_sink_may_close_the_stream_and_the_watch_ends_in_order(watch: Watch, tmp_path: Path) -> None:
    class Closing(SlowSink):
        async def deliver(self, entry: Any) -> None:
            await super().deliver(entry)
            stream.close()

    sink = Closing(tmp_path / "s.db")
    stream = watch(sinks=[sink])
    stream.run()
    assert sink.received == [*range(1, URLS + 1)]
    assert sink.was_locked
    assert not is_locked(tmp_path / "s.db")


@pytest.mark.slow
def test_close_in_another_thread_ends_a_loop_that_waits(watch: Watch) -> None:
    stream = watch()
    threading.Timer(0.5, stream.close).start()
    received = [change.seq for change in stream]
    assert received == [*range(1, len(received) + 1)]


def test_an_interrupt_ends_run_in_order(watch: Watch) -> None:
    class Interrupting(ListSink):
        async def deliver(self, entry: Any) -> None:
            await super().deliver(entry)
            if len(self.received) == URLS:
                os.kill(os.getpid(), signal.SIGINT)

    sink = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        watch(sinks=[sink]).run()
    assert sink.is_closed


def test_a_signal_handler_may_close_the_stream(watch: Watch) -> None:
    stream = watch()
    before = signal.signal(signal.SIGTERM, lambda *_: stream.close())
    try:
        received = []
        for change in stream:
            received.append(change.seq)
            if change.seq == 700:
                os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    with watch() as again:
        assert seqs_until(again, received[-1] + 1)[0] == received[-1] + 1


# --- exceptions ---


class Broken(Pages):
    """Raises at a place."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self.place = place

    def fetch(self, url: str, headers: Mapping[str, str]) -> Any:
        if self.place == "call" or (self.place == "sitemap" and url.endswith("s.xml")):
            raise Bug
        return super().fetch(url, headers)


def by_loop(stream: sr.watching.WatchStream) -> None:
    with stream as changes:
        for _ in changes:
            pass


def by_run(stream: sr.watching.WatchStream) -> None:
    with closing(stream):
        stream.run()


@pytest.mark.parametrize("read", [by_loop, by_run])
@pytest.mark.parametrize("place", ["call", "sitemap"])
def test_an_exception_of_the_callers_fetcher_is_raised(watch: Watch, tmp_path: Path, read: Read, place: str) -> None:
    sink = ListSink()
    with pytest.raises(Bug):
        read(watch(fetcher=Broken(place), sinks=[sink]))
    assert sink.is_closed
    assert not is_locked(tmp_path / "s.db")


ERRORS = [Bug("mine"), sr.StateError("my own state is full", is_unwritable=True)]


@pytest.mark.parametrize("error", ERRORS)
def test_an_exception_of_a_callers_function_is_raised(watch: Watch, error: Exception) -> None:
    def follow(ref: object) -> bool:
        raise error

    pages = Pages()
    pages.pages["/s.xml"] = index(f"{SITE}/t.xml")
    with pytest.raises(type(error), match=str(error)):
        by_loop(watch(fetcher=pages, follow=follow))


class Odd(Pages):
    """Answers with a Response that is wrong in one way."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[sr.fetch.Response]:
        if self.fault == "StateError":
            raise sr.StateError("my cache is closed", is_unwritable=True)
        body, is_odd = self.urls()[url], self.fault == "chunks" or url.endswith(".xml")

        async def chunks() -> AsyncIterator[Any]:
            yield body.decode() if is_odd and "chunks" in self.fault else body

        status: Any = str(200) if self.fault == "status" else 200
        yield sr.fetch.Response(status, {"Content-Length": str(len(body))}, chunks(), url)


@pytest.mark.parametrize("read", [by_loop, by_run])
@pytest.mark.parametrize(("fault", "error", "message"), [
    ("StateError", sr.StateError, "my cache is closed"),
    ("chunks", sr.UsageError, "chunks of a Response are bytes, not str"),
    ("chunks of a sitemap", sr.UsageError, "chunks of a Response are bytes, not str"),
    ("status", sr.UsageError, "Odd.fetch.. gave a Response with status of type str; yield a sr.fetch.Response"),
])
def test_a_fault_of_the_callers_fetcher_is_raised(
    watch: Watch, read: Read, fault: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        read(watch(fetcher=Odd(fault)))


class Cancelling(ListSink):
    """Waits for a task of its own that is cancelled, the first time in deliver(), or in close()."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self.place: str | None = place

    async def cancel(self, place: str) -> None:
        if self.place == place:
            self.place = None
            task = asyncio.ensure_future(asyncio.sleep(60))
            task.cancel()
            await task

    async def deliver(self, entry: Any) -> None:
        await self.cancel("deliver")
        await super().deliver(entry)
        if entry.last_seq == URLS:
            self.done()

    async def close(self) -> None:
        await super().close()
        await self.cancel("close")


@pytest.mark.slow
def test_a_delivery_in_which_a_task_of_the_sink_was_cancelled_is_tried_again(watch: Watch) -> None:
    sink = Cancelling("deliver")
    stream = watch(sinks=[sink])
    sink.done = stream.close
    stream.run()
    assert sink.received == [*range(1, URLS + 1)]


def test_a_cancelled_task_in_the_end_of_a_sink_is_raised(watch: Watch) -> None:
    sink = Cancelling("close")
    stream = watch(sinks=[sink])
    sink.done = stream.close
    with pytest.raises(sr.watching.DeliveryFailed, match="was cancelled"):
        stream.run()


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("read", [by_loop, by_run])
def test_an_exception_of_a_sink_is_raised(watch: Watch, read: Read, error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        read(watch(sinks=[ListSink(error)]))


@pytest.mark.slow
def test_a_fetch_error_ends_no_watch(watch: Watch) -> None:
    class Away(Pages):
        def fetch(self, url: str, headers: Mapping[str, str]) -> Any:
            self.requests.append(url)
            raise sr.FetchError("away", transient=False)

    pages = Away()
    stream = watch(fetcher=pages)
    threading.Timer(0.5, stream.close).start()
    assert list(stream) == []
    assert pages.requests


# --- where a loop continues ---


def test_a_loop_that_is_left_by_break_repeats_nothing(watch: Watch) -> None:
    with watch() as changes:
        assert seqs_until(changes, 700) == [*range(1, 701)]
    with watch() as changes:
        assert seqs_until(changes, 1_001) == [*range(701, 1_002)]
    with watch() as changes:
        assert seqs_until(changes, URLS) == [*range(1_002, URLS + 1)]


@pytest.mark.slow
def test_close_counts_the_change_in_hand_as_delivered(watch: Watch) -> None:
    stream = watch()
    received = []
    for change in stream:
        received.append(change.seq)
        if change.seq == 300:
            threading.Thread(target=stream.close).start()
            time.sleep(0.3)
    assert received == [*range(1, 301)]
    with watch() as changes:
        assert next(iter(changes)).seq == 301


@pytest.mark.parametrize("error", [Bug, KeyboardInterrupt])
def test_a_change_in_hand_at_an_exception_comes_again_and_no_other(watch: Watch, error: type[BaseException]) -> None:
    def leave() -> None:
        with watch() as changes:
            for change in changes:
                if change.seq == 700:
                    raise error

    with pytest.raises(error):
        leave()
    with watch() as changes:
        assert next(iter(changes)).seq == 700


def test_sinks_get_all_that_was_found_whatever_the_loop_has_taken(watch: Watch) -> None:
    sink = ListSink()
    with watch(sinks=[sink]) as changes:
        seqs_until(changes, 1_001)
    assert sink.received == [*range(1, URLS + 1)]


def test_leaving_the_block_takes_no_time(watch: Watch) -> None:
    with watch() as changes:
        seqs_until(changes, 700)
        began = time.monotonic()
    assert time.monotonic() - began < 5  # it was 6 s, the time for sinks


KILLED = """
import os, sys
import sitemap_reader as sr
with sr.watch([sys.argv[1]], state=sys.argv[2], fetcher=sr.fetch.ReplayFetcher(sys.argv[3])) as changes:
    for change in changes:
        if change.seq == int(sys.argv[4]):
            print(change.seq)
            sys.stdout.flush()
            os._exit(9)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("killed_at", "first"), [(700, 1), (1_200, 1_001)])
def test_a_kill_repeats_the_changes_of_the_entry(watch: Watch, tmp_path: Path, killed_at: int, first: int) -> None:
    arguments = [SITE, tmp_path / "s.db", Pages().write(tmp_path / "site"), str(killed_at)]
    assert subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False).returncode == 9
    with watch() as changes:
        assert next(iter(changes)).seq == first


# --- JSON lines ---


def test_the_line_of_a_change_is_that_of_the_log_and_is_read_back(watch: Watch, tmp_path: Path) -> None:
    log = tmp_path / "changes.jsonl"
    with watch(sinks=[log], fetcher=Pages(20)) as changes:
        seqs = []
        for change in changes:
            seqs.append((change, sr.json_line(change)))
            if change.seq == 20:
                break
    lines = log.read_bytes().splitlines(keepends=True)
    assert [line for _, line in seqs] == lines
    for change, line in seqs:
        again = sr.from_json(line)
        assert isinstance(again, sr.WatchedChange)
        assert again == change
        assert sr.to_dict(change)["site"] == change.site == SITE


# --- what is given ---


def test_sinks_are_those_of_the_command_line_too(watch: Watch, tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    with watch(sinks=[str(one), two, ListSink()]) as changes:
        seqs_until(changes, 3)
    assert one.read_bytes() == two.read_bytes() != b""


def test_one_sink_may_stand_for_a_list(watch: Watch, tmp_path: Path) -> None:
    with watch(sinks=str(tmp_path / "one.jsonl")) as changes:
        seqs_until(changes, 3)
    assert (tmp_path / "one.jsonl").read_bytes().count(b"\n") == URLS


class PlainDeliver(ListSink):
    def deliver(self, entry: Any) -> None:  # type: ignore[override]
        pass


class PlainClose(ListSink):
    def close(self) -> None:  # type: ignore[override]
        pass


class WrappedDeliver(ListSink):
    """As by a decorator for functions of both kinds."""

    @functools.wraps(ListSink.deliver)
    def deliver(self, entry: Any) -> Any:
        return super().deliver(entry)


class AsyncFetch:
    async def fetch(self, url: str, headers: Mapping[str, str]) -> None:
        pass


class GeneratorFetch:
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[None]:
        yield


def test_a_sink_may_wrap_an_async_function(watch: Watch) -> None:
    with watch(sinks=[sink := WrappedDeliver()]) as changes:
        seqs_until(changes, 3)
    assert sink.received == [*range(1, URLS + 1)]


@pytest.mark.parametrize(("options", "message"), [
    ({"sinks": [object()]}, "sinks: <object .* is none; give a path, - for stdout"),
    ({"sinks": [ListSink]}, "sinks: <class .* is none"),
    ({"sinks": None}, "sinks: None is none"),
    ({"sinks": [PlainDeliver()]}, r"deliver\(\) of <.* is awaited: make it by async def"),
    ({"sinks": [PlainClose()]}, r"close\(\) of <.* is awaited: make it by async def"),
    ({"fetcher": AsyncFetch()}, "fetch needs @asynccontextmanager"),
    ({"fetcher": GeneratorFetch()}, "fetch needs @asynccontextmanager"),
    ({"sinks": ["ftp://a.example/"]}, "cannot be delivered to ftp"),
    ({"sinks": [ListSink(), ListSink()]}, "two have the name 'list'"),
    ({"sinks": [ListSink(name="python")]}, "two have the name 'python'"),
    ({"state": None}, "state is the name of a file, not None"),
    ({"session": object()}, "session, which belongs to the loop that made it"),
    ({"name": None}, "name is text, not None"),
    ({"budget": "many"}, "the budget must be a positive number of requests an hour, not 'many'"),
    ({"host_budget": 0}, "the budget of a host must be"),
    ({"sites_at_once": "1"}, "sites_at_once is a whole number"),
    ({"shard": 3}, "shard is text such as 3/16"),
    ({"least_interval": 0.9}, "the least interval must be from 1 to 86,400 seconds, not 0.9"),
    ({"least_interval": 86_401}, "the least interval must be"),
    ({"least_interval": None}, "the least interval must be"),
])
def test_values_that_are_not_allowed_are_usage_errors_at_the_call(
    watch: Watch, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(sr.UsageError, match=message):
        watch(**options)
    assert not is_locked(tmp_path / "s.db")


def test_hosts_that_are_none_are_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(sr.UsageError, match="hosts are a file with one a line"):
        sr.watch(None, state=tmp_path / "s.db")  # type: ignore[arg-type]


@pytest.mark.parametrize("seconds", [1, 86_400])
def test_the_least_interval_may_be_from_a_second_to_a_day(watch: Watch, seconds: float) -> None:
    watch(least_interval=seconds).close()


def test_help_says_what_the_keywords_are() -> None:
    text = sr.watch.__doc__ or ""
    for name in ("state", "budget", "host_budget", "least_interval", "shard", "sites_at_once", "name", "sinks"):
        assert f"\n    {name}: " in text
    assert "sr.state.State" not in text
