"""Killed watches: together they find and deliver what a site lists, to a file, a webhook and Redis.

WATCH_KILLS=1000 kills 1000 times instead of 20, or 200 with --full; WATCH_SEED=7 kills at other moments.
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
from change_logs import logged, seqs_of
from changing_site import ChangingSite
from tiers import examples, needs
from watched_sites import FastClock

needs("redis")

if TYPE_CHECKING:
    from redis_server import RedisServer
    from webhook_receiver import Receiver

    from sitemap_reader.state.change_log import LogEntry

KILLS = int(os.environ.get("WATCH_KILLS") or examples(200, fast=20))
SEED = int(os.environ.get("WATCH_SEED") or 20261127)
SPEED = 5_000
HERE = Path(__file__).parent


async def logged_entries(state: Path) -> list[LogEntry]:
    async with logged(state) as changes:
        return await changes.feed.after(0, 1_000_000)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="kills children by pidfd, which only Linux has")
def test_killed_at_any_moment_a_watch_loses_no_change(
    tmp_path: Path, receiver: Receiver, redis_server: RedisServer
) -> None:
    chance = random.Random(SEED)  # noqa: S311 - the same each time
    clock = FastClock(time.time(), SPEED)
    state, file = tmp_path / "sites.db", tmp_path / "changes.jsonl"
    with ChangingSite(clock, SEED) as site:
        command = [sys.executable, HERE / "watching_child.py", state, f"{site.server.url}/", str(clock.start),
                   str(SPEED), file, receiver.url, redis_server.url]  # fmt: skip
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as forks:
            assert forks.stdin is not None
            assert forks.stdout is not None
            for _ in range(KILLS):
                forks.stdin.write(f"{chance.uniform(0.02, 0.6)}\n")
                assert forks.stdout.readline() == f"{-signal.SIGKILL}\n"
            site.stop()
            forks.stdin.write("end\n")
            assert forks.stdout.readline() == "0\n"
            forks.stdin.close()

    entries = asyncio.run(logged_entries(state))
    lines = b"".join(entry.lines for entry in entries).splitlines(keepends=True)
    everything = [*range(1, len(lines) + 1)]
    assert seqs_of(b"".join(lines)) == everything
    site.assert_replayed(lines)
    kinds = Counter(line.split(b'"change":"')[1].split(b'"')[0].decode() for line in lines)
    assert min(kinds["new"], kinds["updated"], kinds["removed"]) > KILLS

    in_redis = [fields[b"data"] + b"\n" for fields in redis_server.messages()]
    assert seqs_of(file.read_bytes()) == everything
    assert seqs_of(b"".join(in_redis)) == everything
    assert file.read_bytes() == b"".join(in_redis) == b"".join(lines)

    ids = Counter(receiver.requests)
    assert len({key for key, _ in ids}) == len(ids), "an id has the same changes each time"
    assert sorted(seq for _, numbers in ids for seq in numbers) == everything, "once an id"
    last_of = {seq: entry.last_seq for entry in entries for seq in range(entry.first_seq, entry.last_seq + 1)}
    repeated = [last_of[numbers[0]] for (_, numbers), times in ids.items() for _ in range(times - 1)]
    assert len(repeated) <= KILLS, "at most one entry is repeated for each kill"
    print(f"{KILLS} kills, {sum(site.changes.values())} changes of the site; log: {dict(kinds)} in {len(entries)} "
          f"entries; webhook: {len(ids)} requests and {len(repeated)} again; file and Redis: none again; "
          f"{len(site.server.received)} requests of sitemaps")  # fmt: skip
