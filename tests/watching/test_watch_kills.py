"""Killed watches: together they find and deliver what a site lists, to a file, a webhook and Redis.

WATCH_KILLS=1000 kills 1000 times instead of 30; WATCH_SEED=7 kills at other moments.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from change_logs import all_entries, logged, seqs_of
from changing_site import ChangingSite
from servers import SiteServer
from tiers import needs
from watched_sites import FastClock, urlset
from webhook_receiver import Receiver

from sitemap_reader.state import LogEntry

needs("redis")

if TYPE_CHECKING:
    from redis_server import RedisServer

KILLS = int(os.environ.get("WATCH_KILLS") or 30)
SEED = int(os.environ.get("WATCH_SEED") or 20261127)
SPEED = 5_000
HERE = Path(__file__).parent
STOP_SECONDS = 45  # the webhook would take 60, and a process on a busy machine takes some 10


class Watches:
    """Watches of hosts, one after the other, all with the same state, sinks and clock."""

    def __init__(self, state: Path, hosts: list[str], clock: FastClock, sinks: list[str]) -> None:
        command = [sys.executable, HERE / "watching_child.py", state, ",".join(hosts), str(clock.start)]
        self._forks = subprocess.Popen(
            [*command, str(clock.speed), *sinks], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def __enter__(self) -> Watches:
        self._forks.__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        assert self._forks.stdin is not None
        self._forks.stdin.close()
        self._forks.__exit__(None, None, None)

    def run(self, number: int = 0, seconds: float = 0.0, since: str = "") -> tuple[int, float]:
        """One watch, to which a signal is sent: its exit status, and the seconds that it took to end.

        The seconds to the signal count from when the watch has begun, or `since` it was "forked".
        """
        assert self._forks.stdin is not None
        assert self._forks.stdout is not None
        self._forks.stdin.write(f"{int(number)} {seconds} {since}\n")
        status, took = self._forks.stdout.readline().split()
        return int(status), float(took)


async def logged_entries(state: Path) -> list[LogEntry]:
    async with logged(state) as changes:
        assert changes.state.db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return await all_entries(changes.feed)


def lines_of(entries: list[LogEntry]) -> list[bytes]:
    """The lines of the whole log: no number is missing or there twice."""
    lines = b"".join(entry.lines for entry in entries).splitlines(keepends=True)
    assert seqs_of(b"".join(lines)) == [*range(1, len(lines) + 1)]
    return lines


def repeated_entries(entries: list[LogEntry], receiver: Receiver) -> int:
    """How many entries a webhook received again; it has all of the log."""
    ids = Counter(receiver.requests)
    assert len({key for key, _ in ids}) == len(ids), "an id has the same changes each time"
    assert sorted(seq for _, numbers in ids for seq in numbers) == [*range(1, entries[-1].last_seq + 1)], "once an id"
    last_of = {seq: entry.last_seq for entry in entries for seq in range(entry.first_seq, entry.last_seq + 1)}
    return len([last_of[numbers[0]] for (_, numbers), times in ids.items() for _ in range(times - 1)])


pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits by pidfd, which only Linux has")


@pytest.mark.slow
def test_killed_at_any_moment_a_watch_loses_no_change(
    tmp_path: Path, receiver: Receiver, redis_server: RedisServer
) -> None:
    chance = random.Random(SEED)  # noqa: S311 - the same each time
    clock = FastClock(time.time(), SPEED)
    state, file = tmp_path / "sites.db", tmp_path / "changes.jsonl"
    sinks = [str(file), receiver.url, redis_server.url]
    with ChangingSite(clock, SEED) as site, Watches(state, [f"{site.server.url}/"], clock, sinks) as watches:
        for number in range(KILLS):
            most, since = (0.5, "") if number % 4 else (2.0, "forked")
            assert watches.run(signal.SIGKILL, chance.uniform(0, most), since)[0] == -signal.SIGKILL
        site.stop()
        assert watches.run()[0] == 0

    entries = asyncio.run(logged_entries(state))
    lines = lines_of(entries)
    site.assert_replayed(lines)
    kinds = Counter(line.split(b'"change":"')[1].split(b'"')[0].decode() for line in lines)
    assert min(kinds["new"], kinds["updated"], kinds["removed"]) > 0
    assert file.read_bytes() == b"".join(lines)
    assert b"".join(fields[b"data"] + b"\n" for fields in redis_server.messages()) == b"".join(lines)
    repeated = repeated_entries(entries, receiver)
    assert repeated <= KILLS, "at most one entry is repeated for each kill"
    print(f"{KILLS} kills, {sum(site.changes.values())} changes of the site; log: {dict(kinds)} in {len(entries)} "
          f"entries; webhook: {repeated} entries again; file and Redis: none again; "
          f"{len(site.server.received)} requests of sitemaps")  # fmt: skip


@pytest.mark.slow
def test_sigterm_at_any_moment_ends_a_watch_in_order(tmp_path: Path, receiver: Receiver) -> None:
    """Also in a sitemap of 50,000 URLs, and with a webhook that does not answer."""
    chance = random.Random(SEED)  # noqa: S311 - the same each time
    clock = FastClock(time.time(), SPEED)
    state, file = tmp_path / "sites.db", tmp_path / "changes.jsonl"
    slowest = 0.0
    with ChangingSite(clock, SEED) as site, SiteServer({}) as long:
        hosts = [f"{site.server.url}/", f"{long.url}/"]
        with Watches(state, hosts, clock, [str(file), receiver.url]) as watches:
            for number in range(6):
                hangs = number % 3 == 1
                receiver.seconds = 60.0 * hangs
                body = urlset(*(f"{long.url}/{page}" for page in range(50_000)), lastmod=clock().replace(microsecond=0))
                long.pages["/sitemap.xml"] = 200, {"Content-Type": "application/xml"}, body
                status, seconds = watches.run(signal.SIGTERM, chance.uniform(hangs, 2 + hangs))
                assert status == 0
                slowest = max(slowest, seconds)
                asyncio.run(logged_entries(state))
            receiver.seconds = 0.0
            site.stop()
            assert watches.run()[0] == 0
    assert slowest < STOP_SECONDS
    entries = asyncio.run(logged_entries(state))
    lines = lines_of(entries)
    own = [line for line in lines if site.server.url.encode() in line]
    assert len(own) < len(lines) - 50_000 + 1
    site.assert_replayed(own)
    assert file.read_bytes() == b"".join(lines)
    print(f"{len(entries)} entries; webhook: {repeated_entries(entries, receiver)} again; {slowest:.1f} s at most")
