"""Killed deliveries: together they deliver every change to a file, a webhook and Redis, and repeat next to none.

SINK_KILLS=1000 kills 1000 times instead of 20, or 200 with --full.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import pytest
from change_logs import logged, seqs_of
from tiers import examples, needs

needs("redis")

from redis_server import PROGRAM, RedisServer  # noqa: E402 - imports redis

if TYPE_CHECKING:
    from collections.abc import Iterator

KILLS = int(os.environ.get("SINK_KILLS") or examples(200, fast=20))
HERE = Path(__file__).parent


class Receiver:
    """Receives webhooks in threads: the numbers in each request, by its id."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, tuple[int, ...]]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 10

            def do_POST(self) -> None:
                body = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
                numbers = tuple(change["seq"] for change in body["data"]["changes"])
                receiver.requests.append((self.headers["webhook-id"], numbers))
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Logs nothing."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """Ignores clients that were killed."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    started = Receiver()
    thread = threading.Thread(target=started.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield started
    finally:
        started.server.shutdown()
        thread.join()
        started.server.server_close()


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    if PROGRAM is None:
        pytest.skip("redis-server is not installed (Debian: redis-server)")
    with RedisServer(tmp_path / "redis") as running:
        yield running


async def logged_entries(state: Path) -> list[tuple[int, int]]:
    async with logged(state) as changes:
        return [(entry.first_seq, entry.last_seq) for entry in await changes.feed.after(0, 1_000_000)]


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
