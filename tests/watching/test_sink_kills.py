"""Killed deliveries: together they deliver every change to a file, a webhook and Redis, and repeat next to none.

SINK_KILLS=1000 kills 1000 times instead of 30.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from change_logs import all_entries, logged, seqs_of
from tiers import needs
from webhook_receiver import Receiver

if TYPE_CHECKING:
    from redis_server import RedisServer

needs("redis")

KILLS = int(os.environ.get("SINK_KILLS") or 30)
HERE = Path(__file__).parent


async def logged_entries(state: Path) -> list[tuple[int, int]]:
    async with logged(state) as changes:
        return [(entry.first_seq, entry.last_seq) for entry in await all_entries(changes.feed)]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="kills children by pidfd, which only Linux has")
def test_killed_at_any_moment_every_change_is_delivered(
    tmp_path: Path, receiver: Receiver, redis_server: RedisServer
) -> None:
    chance = random.Random(20261127)  # noqa: S311 - the same each time
    state, file = tmp_path / "sites.db", tmp_path / "changes.jsonl"
    command = [sys.executable, HERE / "delivering_child.py", state, file, receiver.url, redis_server.url]
    kills = 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as forks:
        assert forks.stdin is not None
        assert forks.stdout is not None
        while kills < KILLS:
            forks.stdin.write(f"{chance.uniform(0.01, 0.3)}\n")
            status = int(forks.stdout.readline())
            assert status in (0, -signal.SIGKILL)
            kills += status != 0
        forks.stdin.write("0\n")
        assert forks.stdout.readline() == "0\n"
        forks.stdin.close()
    entries = asyncio.run(logged_entries(state))
    everything = [*range(1, entries[-1][1] + 1)]
    assert entries

    in_file = seqs_of(file.read_bytes())
    in_redis = [seq for fields in redis_server.messages() for seq in seqs_of(fields[b"data"] + b"\n")]
    assert in_file == everything
    assert in_redis == everything

    ids = Counter(receiver.requests)
    assert len({key for key, _ in ids}) == len(ids), "an id has the same changes each time"
    assert sorted(seq for _, numbers in ids for seq in numbers) == everything, "once an id"
    last_of = {seq: last for first, last in entries for seq in range(first, last + 1)}
    repeated = [last_of[numbers[0]] for (_, numbers), times in ids.items() for _ in range(times - 1)]
    assert len({*repeated}) <= kills, "at most one entry is repeated for each kill"
    print(f"{kills} kills, {len(everything)} changes in {len(entries)} entries; webhook: {len(ids)} requests and "
          f"{len(repeated)} again; file and Redis: none again")  # fmt: skip
