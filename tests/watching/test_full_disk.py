"""A watch whose disk, with its state, a file of changes and dead letters, is full for a while, or when it begins."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from change_logs import all_entries, seqs_of
from changing_site import ChangingSite
from small_disks import mounted
from tiers import needs
from watched_sites import FastClock
from watching_child import until_all_is_found
from webhook_receiver import Receiver

from sitemap_reader.client import Crawler, site_target
from sitemap_reader.state import State
from sitemap_reader.watching import Budget, DeadLetters, ServerPlan, SinkPlan, Watcher, WatchPlan, run_watch, sink_for

if TYPE_CHECKING:
    from redis_server import RedisServer

needs("redis")

PATIENCE_SECONDS = 120.0
SPEED = 5_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", "24m") as folder:
        yield folder


def fill(disk: Path) -> Path:
    """Writes a file until the disk is full."""
    filler = disk / "filler"
    with suppress(OSError), filler.open("ab", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    return filler


async def until(is_so: Callable[[], Any]) -> Any:
    """Waits until a function, called in a thread, returns something true, and returns that."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (result := await asyncio.to_thread(is_so)):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)
    return result


def health(url: str) -> tuple[int, dict[str, Any]]:
    """The answer of /healthz."""
    try:
        with urllib.request.urlopen(f"{url}healthz", timeout=30) as response:  # noqa: S310 - loopback
            return response.status, json.load(response)
    except urllib.error.HTTPError as exc:
        with exc:
            return exc.code, json.load(exc)


@pytest.mark.slow
def test_a_disk_that_is_full_for_a_while_delays_changes_and_loses_none(
    tmp_path: Path, disk: Path, receiver: Receiver, redis_server: RedisServer
) -> None:
    clock = FastClock(time.time(), SPEED)
    file, letters = disk / "changes.jsonl", disk / "letters.jsonl"
    reports: list[str] = []
    logged: list[bytes] = []

    async def main(site: ChangingSite) -> None:
        state = State(disk / "sites.db", create=True, shared_by=50)
        plan = WatchPlan(
            Budget(1e6), Crawler(allow_private=True), {"accept_removals": True}, keep_log=timedelta(days=100_000),
            clock=clock, sleep=clock.sleep,
        )  # fmt: skip
        watcher = Watcher([site_target(f"{site.server.url}/")], state, plan)
        sinks = [
            SinkPlan(sink_for(str(file))),
            SinkPlan(sink_for(receiver.url), DeadLetters(letters, max_rejections=2)),
            SinkPlan(sink_for(redis_server.url)),
        ]
        running = asyncio.create_task(run_watch(watcher, sinks, ServerPlan("127.0.0.1:0"), report=reports.append))
        url = (await until(lambda: [text for text in reports if text.startswith("listening on ")]))[0].split()[-1]
        await until(lambda: len(receiver.requests) > 3)
        assert (await asyncio.to_thread(health, url))[0] == 200

        receiver.status = 400  # what comes now is a dead letter
        await until(lambda: letters.exists() and letters.stat().st_size)
        for _ in range(3):
            filler = await asyncio.to_thread(fill, disk)
            status, found = await until(lambda: (answer := health(url))[0] != 200 and answer)
            assert status == 503
            assert found["faults"] == ["the state cannot be read or written"]
            assert str(disk) not in json.dumps(found)
            why = [fault for fault in watcher.totals().faults if "sites.db cannot be written" in fault]
            assert len(why) <= 1, "it may be over by now"
            await asyncio.sleep(1.5)  # more than an hour of the clock
            assert not running.done()
            filler.unlink()
            await until(lambda: health(url)[0] == 200)
        receiver.status = 204
        before = len(receiver.requests)
        await until(lambda: len(receiver.requests) > before)
        await asyncio.to_thread(site.stop)
        await until_all_is_found(watcher, state, clock())
        await until(lambda: all(delivery.lag_changes == 0 for delivery in watcher.deliveries))
        for entry in await all_entries(watcher.feed):
            logged.extend(entry.lines.splitlines(keepends=True))
        watcher.stop()
        await running

    with ChangingSite(clock, 3) as site:
        asyncio.run(asyncio.wait_for(main(site), PATIENCE_SECONDS * 2))
        site.assert_replayed(logged)
    everything = [*range(1, len(logged) + 1)]
    assert seqs_of(b"".join(logged)) == everything
    assert file.read_bytes() == b"".join(logged)
    assert b"".join(fields[b"data"] + b"\n" for fields in redis_server.messages()) == b"".join(logged)
    dead = [change["seq"] for line in letters.read_bytes().splitlines() for change in json.loads(line)["changes"]]
    assert dead
    assert sorted(dead + [seq for _, numbers in receiver.requests for seq in numbers]) == everything
    troubles = [text for text in reports if "dead letters" not in text]
    assert len([text for text in troubles if text.startswith(f"{disk}/sites.db cannot be written")]) >= 3
    assert len(troubles) <= 30, "few for each of the three times, however often it was tried"
    print("\n".join(reports))


@pytest.mark.slow
def test_a_disk_that_is_full_at_the_start(disk: Path) -> None:
    fill(disk)
    command = [sys.executable, "-m", "sitemap_reader", "watch", "a.example", "--state", disk / "sites.db"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert (result.returncode, result.stdout) == (6, "")
    (line,) = result.stderr.splitlines()
    assert line == f"error: {disk}/sites.db cannot be written: the disk is full; free some space"
