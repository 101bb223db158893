"""Delivery to one sink: order, cursors, repetitions, dead letters, draining."""

import asyncio
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from change_logs import NOON, Clock, ListSink, LoggedChanges, entry_of, failed, logged

from sitemap_reader import StateError, UsageError
from sitemap_reader.state import LogEntry
from sitemap_reader.state import state as state_module
from sitemap_reader.watching import DeadLetters, Delivery, Redelivered, redeliver


def delivery_of(changes: LoggedChanges, sink: Any, clock: Clock, **more: Any) -> Delivery:
    return Delivery(changes.feed, sink, sleep=clock.sleep, clock=clock, jitter=lambda: 1.0, **more)


async def deliver_all(changes: LoggedChanges, delivery: Delivery, counts: list[int]) -> bool:
    """Starts a delivery, logs entries of so many changes, waits until the sink has them, and drains."""
    await changes.feed.cursor(delivery.sink.name)
    for count in counts:
        await changes.add(count)
    task = delivery.start()
    while delivery.lag_changes and not task.done():  # noqa: ASYNC110 - a failing sink is not drained
        await asyncio.sleep(0)
    drained = await delivery.drain(60)
    await task
    return drained


@pytest.mark.parametrize(("max_bytes", "sizes"), [(1, [1, 1, 1, 0]), (2**20, [3, 0])])
async def test_a_read_of_the_log_takes_a_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, max_bytes: int, sizes: list[int]
) -> None:
    monkeypatch.setattr(state_module, "_MAX_READ_BYTES", max_bytes)
    async with logged(tmp_path / "state.db") as changes:
        for number in (2, 1, 3):
            await changes.add(number)
        found, seq = [], 0
        for _ in sizes:
            entries = await changes.feed.after(seq, 100)
            seq = entries[-1].last_seq if entries else seq
            found.append(len(entries))
        assert (found, seq) == (sizes, 6)


async def test_each_entry_is_delivered_once_and_in_order(tmp_path: Path) -> None:
    sink = ListSink()
    async with logged(tmp_path / "state.db") as changes:
        delivery = delivery_of(changes, sink, Clock())
        assert await deliver_all(changes, delivery, [2, 1, 3])
        assert delivery.status.delivered == 6
        assert (delivery.lag_changes, delivery.lag_seconds) == (0, 0)
        assert await changes.feed.cursor("list") == 6
    assert sink.received == [1, 2, 3, 4, 5, 6]
    assert sink.is_closed


async def test_a_new_sink_begins_behind_the_newest_change_and_a_known_one_where_it_was(tmp_path: Path) -> None:
    first, second = ListSink(), ListSink()
    async with logged(tmp_path / "state.db") as changes:
        await changes.add(3)
        await deliver_all(changes, delivery_of(changes, first, Clock()), [2])
        await changes.add(1)
    async with logged(tmp_path / "state.db") as changes:
        await deliver_all(changes, delivery_of(changes, second, Clock()), [1])
    assert (first.received, second.received) == ([4, 5], [6, 7])


async def test_a_failed_entry_is_repeated_after_longer_and_longer_waits(tmp_path: Path) -> None:
    sink, clock, reports = ListSink(*[failed("no route")] * 11, failed("refused")), Clock(), list[str]()
    async with logged(tmp_path / "state.db") as changes:
        delivery = delivery_of(changes, sink, clock, report=reports.append)
        await deliver_all(changes, delivery, [1, 2])
        assert delivery.status.failures == 12
        assert (delivery.status.last_error, delivery.status.is_failing) == ("refused", False)
    assert sink.received == [1, 2, 3]
    assert clock.slept == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
    assert reports == [
        "list: no route; 3 changes wait, and are tried again",
        "list: refused; 3 changes wait, and are tried again",
        "list: works again",
    ]


async def test_a_dead_letter_is_no_sign_that_the_receiver_works_again(tmp_path: Path) -> None:
    reports: list[str] = []
    async with logged(tmp_path / "state.db") as changes:
        letters = DeadLetters(tmp_path / "letters.jsonl", max_rejections=2)
        rejections = [failed("answers 413", is_rejected=True) for _ in range(5)]
        delivery = delivery_of(changes, ListSink(*rejections), Clock(), dead_letters=letters, report=reports.append)
        await deliver_all(changes, delivery, [1, 1, 1, 1])
    letter = f"were added to the dead letters {tmp_path}/letters.jsonl"
    assert reports == [
        "list: answers 413; 4 changes wait, and are tried again",
        f"list: answers 413; changes 1 to 1 {letter}",
        f"list: answers 413; changes 2 to 2 {letter}",
        "list: works again",
    ]


async def test_entries_that_cannot_be_synced_are_delivered_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink, reports = ListSink(), list[str]()
    errors = [OSError(5, "Input/output error")] * 2

    def sync(descriptor: int) -> None:
        if errors:
            raise errors.pop()

    monkeypatch.setattr(os, "fsync", sync)
    async with logged(tmp_path / "state.db") as changes:
        await deliver_all(changes, delivery_of(changes, sink, Clock(), report=reports.append), [2, 1])
    assert sink.received == [1, 2, 3]
    assert reports == [
        f"list: {tmp_path}/state.db cannot be written: Input/output error; 3 changes wait, and are tried again",
        "list: works again",
    ]


@pytest.mark.parametrize(
    ("wanted", "waited"), [(None, 0.5), (0.4, 0.5), (30.0, 30.0), (86_400.0, 86_400.0), (86_401.0, 86_400.0)]
)
async def test_wait_is_at_least_half_the_backoff_and_what_the_receiver_wants(
    tmp_path: Path, wanted: float | None, waited: float
) -> None:
    clock = Clock()
    async with logged(tmp_path / "state.db") as changes:
        sink = ListSink(failed(retry_after=wanted))
        delivery = Delivery(changes.feed, sink, sleep=clock.sleep, clock=clock, jitter=lambda: 0.0)
        await deliver_all(changes, delivery, [1])
    assert clock.slept == [waited]


async def test_lag_is_that_of_the_oldest_change_which_the_sink_does_not_have(tmp_path: Path) -> None:
    clock = Clock()
    seen = list[tuple[int, float]]()
    async with logged(tmp_path / "state.db") as changes:
        delivery = delivery_of(changes, ListSink(failed(retry_after=40)), clock)

        async def sleep(seconds: float) -> None:
            await clock.sleep(seconds)
            seen.append((delivery.lag_changes, delivery.lag_seconds))
            assert delivery.status.is_failing

        delivery._sleep = sleep
        await deliver_all(changes, delivery, [2, 3])
    assert seen == [(5, 40.0)]


async def test_a_stuck_sink_delays_no_other(tmp_path: Path) -> None:
    class Stuck(ListSink):
        async def deliver(self, entry: LogEntry) -> None:
            await asyncio.Event().wait()

    async with logged(tmp_path / "state.db") as changes:
        stuck, sink = Stuck(name="stuck"), ListSink()
        other = delivery_of(changes, stuck, Clock())
        task = other.start()
        await changes.feed.cursor("stuck")
        await deliver_all(changes, delivery_of(changes, sink, Clock()), [1, 1])
        assert sink.received == [1, 2]
        assert not await other.drain(0.01)
        assert task.cancelled()
        assert stuck.is_closed
        assert await changes.feed.cursor("stuck") == 0


async def test_draining_delivers_what_is_logged_and_does_not_wait_for_a_failing_sink(tmp_path: Path) -> None:
    async with logged(tmp_path / "state.db") as changes:
        forever = asyncio.Event()
        good, bad = ListSink(name="good"), ListSink(*[failed()] * 9, name="bad")
        deliveries = [Delivery(changes.feed, sink, sleep=lambda _: forever.wait()) for sink in (good, bad)]
        for each in deliveries:
            await changes.feed.cursor(each.sink.name)
        tasks = [each.start() for each in deliveries]
        await asyncio.sleep(0)
        await changes.add(2)
        await changes.add(2)
        assert await asyncio.gather(*(each.drain(3600) for each in deliveries)) == [True, False]
        assert good.received == [1, 2, 3, 4]
        assert bad.received == []
        assert len(bad.failures) == 8
        assert all(task.done() for task in tasks)
        assert [each.lag_changes for each in deliveries] == [0, 4]


async def test_a_delivery_that_was_never_started_is_closed(tmp_path: Path) -> None:
    async with logged(tmp_path / "state.db") as changes:
        sink = ListSink()
        assert await delivery_of(changes, sink, Clock()).drain(3600)
        assert sink.is_closed


async def test_draining_at_once_delivers_all(tmp_path: Path) -> None:
    sink = ListSink()
    async with logged(tmp_path / "state.db") as changes:
        delivery = delivery_of(changes, sink, Clock())
        await changes.feed.cursor("list")
        await changes.add(2)
        delivery.start()
        assert await delivery.drain(3600)
    assert sink.received == [1, 2]


async def test_a_permanent_failure_ends_the_delivery_and_keeps_the_cursor(tmp_path: Path) -> None:
    sink, clock, reports = ListSink(failed("answers 410 Gone", is_permanent=True)), Clock(), list[str]()
    async with logged(tmp_path / "state.db") as changes:
        letters = DeadLetters(tmp_path / "letters.jsonl", max_rejections=0)
        delivery = delivery_of(changes, sink, clock, report=reports.append, dead_letters=letters)
        assert not await deliver_all(changes, delivery, [1])
        assert delivery.status.is_stopped
        assert delivery.status.last_error == "answers 410 Gone"
        assert await changes.feed.cursor("list") == 0
    assert (sink.received, clock.slept) == ([], [])
    assert reports == ["list: answers 410 Gone; no more changes are delivered to it in this run"]
    assert not (tmp_path / "letters.jsonl").exists()


async def test_a_full_disk_of_the_state_delays_the_cursor_and_repeats_nothing(tmp_path: Path) -> None:
    sink, clock = ListSink(), Clock()
    async with logged(tmp_path / "state.db") as changes:
        failures = [StateError("disk full", is_unwritable=True)] * 2
        move = changes.feed.move_cursor

        async def move_cursor(name: str, seq: int) -> None:
            if failures:
                raise failures.pop()
            await move(name, seq)

        changes.feed.move_cursor = move_cursor  # type: ignore[method-assign]
        delivery = delivery_of(changes, sink, clock)
        await deliver_all(changes, delivery, [1])
        assert await changes.feed.cursor("list") == 1
    assert (sink.received, clock.slept) == ([1], [1, 2])


@pytest.mark.parametrize("failure", [StateError("damaged"), BrokenPipeError(32, "Broken pipe"), ValueError("a bug")])
async def test_other_errors_end_the_run(tmp_path: Path, failure: Exception) -> None:
    async with logged(tmp_path / "state.db") as changes:
        with pytest.raises(type(failure)):
            await deliver_all(changes, delivery_of(changes, ListSink(failure), Clock()), [1])


# --- dead letters --------------------------------------------------------------------------------------------------


def letters_of(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


async def test_rejected_entry_becomes_a_dead_letter_and_the_next_ones_are_delivered(tmp_path: Path) -> None:
    path, reports = tmp_path / "letters.jsonl", list[str]()
    sink = ListSink(failed("offline"), *[failed("answers 413", is_rejected=True)] * 3)
    async with logged(tmp_path / "state.db") as changes:
        letters = DeadLetters(path, max_rejections=3)
        clock = Clock()
        delivery = delivery_of(changes, sink, clock, dead_letters=letters, report=reports.append)
        assert await deliver_all(changes, delivery, [2, 1])
        assert clock.slept == [1, 2, 4], "what the receiver does not reject does not count"
        status = delivery.status
        assert (status.dead_letters, status.delivered, status.failures) == (1, 1, 4)
    assert sink.received == [3]
    [letter] = letters_of(path)
    assert (letter["reason"], letter["first_seq"], letter["last_seq"]) == ("answers 413", 1, 2)
    assert [change["loc"] for change in letter["changes"]] == ["https://example.com/1", "https://example.com/2"]
    assert f"list: answers 413; changes 1 to 2 were added to the dead letters {path}" in reports


@pytest.mark.parametrize(("rejections", "hours", "is_due"), [(2, 0, 0), (3, 0, 1), (0, 5.99, 0), (0, 6, 1)])
def test_limits_of_dead_letters(tmp_path: Path, rejections: int, hours: float, is_due: int) -> None:
    letters = DeadLetters(tmp_path / "letters.jsonl", max_rejections=3, max_hours=6)
    assert letters.is_due(entry_of(1), rejections, NOON + timedelta(hours=hours)) == is_due


async def test_old_entries_are_tried_once_each(tmp_path: Path) -> None:
    path, sink = tmp_path / "letters.jsonl", ListSink(failed(), failed())
    async with logged(tmp_path / "state.db") as changes:
        clock = Clock(NOON + timedelta(hours=80))
        await deliver_all(changes, delivery_of(changes, sink, clock, dead_letters=DeadLetters(path)), [1, 1, 1])
        assert clock.slept == []
    assert [letter["first_seq"] for letter in letters_of(path)] == [1, 2]
    assert sink.received == [3]


async def test_dead_letters_that_cannot_be_written_delay_the_delivery(tmp_path: Path) -> None:
    folder, clock = tmp_path / "missing", Clock()
    async with logged(tmp_path / "state.db") as changes:
        async def sleep(seconds: float) -> None:
            await clock.sleep(seconds)
            folder.mkdir()

        letters = DeadLetters(folder / "letters.jsonl", max_rejections=1)
        sink = ListSink(*[failed(is_rejected=True)] * 2)
        delivery = Delivery(changes.feed, sink, dead_letters=letters, sleep=sleep, clock=clock)
        await deliver_all(changes, delivery, [1])
        assert delivery.status.dead_letters == 1
    assert len(letters_of(folder / "letters.jsonl")) == 1


def test_dead_letter_is_on_the_disk_before_the_cursor_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    letters, synced, fsync = DeadLetters(tmp_path / "letters.jsonl"), list[int](), os.fsync

    def noted(descriptor: int) -> None:
        if os.path.samestat(os.fstat(descriptor), letters.path.stat()):
            synced.append(os.fstat(descriptor).st_size)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    asyncio.run(letters.add(entry_of(1), "no", NOON))
    assert synced == [letters.path.stat().st_size]


def test_incomplete_dead_letter_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    letters = DeadLetters(tmp_path / "letters.jsonl")
    asyncio.run(letters.add(entry_of(1), "first", NOON))
    whole = letters.path.read_bytes()
    letters.path.write_bytes(whole + whole[:50])
    asyncio.run(letters.add(entry_of(2), "second", NOON))
    assert [letter["reason"] for letter in letters_of(letters.path)] == ["first", "second"]


async def test_redelivery_keeps_what_fails_again_and_the_keys(tmp_path: Path) -> None:
    letters = DeadLetters(tmp_path / "letters.jsonl")
    entries = [entry_of(1, 2, log_id="a"), entry_of(3, 1, log_id="b"), entry_of(4, 1, log_id="b")]
    received = list[Any]()

    class Sink(ListSink):
        async def deliver(self, entry: LogEntry) -> None:
            await super().deliver(entry)
            received.append(entry)

    for entry in entries:
        await letters.add(entry, "answers 500", NOON)
    assert await redeliver(letters, Sink(failed("answers 502"))) == Redelivered(2, 1)
    assert [letter["reason"] for letter in letters_of(letters.path)] == ["answers 502"]
    assert await redeliver(letters, Sink()) == Redelivered(1, 0)
    assert await redeliver(letters, Sink()) == Redelivered(0, 0)
    assert received == [*entries[1:], entries[0]]
    assert [each.key for each in received] == [each.key for each in (*entries[1:], entries[0])]
    assert os.listdir(tmp_path) == []


async def test_redelivery_that_was_killed_begins_again_and_new_letters_follow(tmp_path: Path) -> None:
    letters, sink = DeadLetters(tmp_path / "letters.jsonl"), ListSink(ZeroDivisionError())
    await letters.add(entry_of(1), "no", NOON)
    with pytest.raises(ZeroDivisionError):
        await redeliver(letters, sink)
    await letters.add(entry_of(2), "no", NOON)
    assert await redeliver(letters, sink) == Redelivered(1, 0)
    assert await redeliver(letters, sink) == Redelivered(1, 0)
    assert sink.received == [1, 2]
    assert sink.is_closed


def test_file_that_holds_no_dead_letters_is_refused_and_kept(tmp_path: Path) -> None:
    letters = DeadLetters(tmp_path / "letters.jsonl")
    letters.path.write_bytes(b'{"loc":"https://example.com/"}\n')
    with pytest.raises(UsageError, match=r"letters.jsonl.redelivery, line 1 is no dead letter: 'changes'"):
        asyncio.run(redeliver(letters, ListSink()))
    assert (tmp_path / "letters.jsonl.redelivery").exists()


def test_name_of_the_file_is_made_from_the_sink(tmp_path: Path) -> None:
    path = DeadLetters.beside(tmp_path / "sites.db", "webhook https://hooks.example.com:8443 1a2b3c4d").path
    assert path.parent == tmp_path
    assert path.name.startswith("sites.db.dead-letters-webhook-https-hooks.example.com-8443-1a2b3c4d-")
    assert DeadLetters.beside("s", "a b").path != DeadLetters.beside("s", "a-b").path
    assert DeadLetters.beside("s", "a b", max_hours=5).max_hours == 5
