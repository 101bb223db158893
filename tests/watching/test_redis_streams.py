"""Redis Streams, by a real redis-server: every change once, also after kills of the server."""

import asyncio
import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from change_logs import deliver_to, entry_of, logged, seqs_of
from tiers import examples, needs

from sitemap_reader import UsageError
from sitemap_reader.state import LogEntry
from sitemap_reader.watching import Delivery, DeliveryFailed, RedisStreamSink

needs("redis")
from redis_server import PROGRAM, RedisServer  # noqa: E402 - imports redis


@pytest.fixture
def server(redis_server: RedisServer) -> RedisServer:
    return redis_server


async def deliver(url: str, *entries: LogEntry) -> None:
    """Delivers the entries in a new process, as it were."""
    await deliver_to(RedisStreamSink(url), *entries)


def seqs_in(server: RedisServer, stream: str = "sitemap-changes") -> list[int]:
    return [seq for fields in server.messages(stream) for seq in seqs_of(fields[b"data"] + b"\n")]


async def test_a_message_for_each_change_has_its_json_line(server: RedisServer) -> None:
    await deliver(server.url, entry_of(1, 2), entry_of(3))
    lines = [line for entry in (entry_of(1, 2), entry_of(3)) for line in entry.lines.splitlines()]
    assert server.messages() == [{b"data": line} for line in lines]
    assert json.loads(lines[0])["loc"] == "https://example.com/1"


async def test_stream_and_database_are_those_of_the_url(server: RedisServer) -> None:
    await deliver(f"{server.url}/3?stream=news%20sites", entry_of(1))
    assert server.messages("news sites") == []
    server.url += "/3"
    assert seqs_in(server, "news sites") == [1]


async def test_repeated_entry_adds_nothing(server: RedisServer) -> None:
    await deliver(server.url, entry_of(1, 2))
    await deliver(server.url, entry_of(1, 2), entry_of(3), entry_of(3))
    assert seqs_in(server) == [1, 2, 3]


async def test_several_watches_add_to_one_stream(server: RedisServer) -> None:
    """Their numbers are the same, and neither hides changes of the other."""
    first, second = [entry_of(1, 2, log_id="a"), entry_of(3, log_id="a")], [entry_of(1, 2, log_id="b")]
    await deliver(server.url, first[0], second[0], second[0], first[0], first[1], first[1])
    assert seqs_in(server) == [1, 2, 1, 2, 3]


async def test_maxlen_keeps_the_newest_messages(server: RedisServer) -> None:
    await deliver(f"{server.url}?maxlen=200", *[entry_of(first, 500) for first in range(1, 3000, 500)])
    kept = seqs_in(server)
    assert 200 <= len(kept) < 400
    assert kept == [*range(3001 - len(kept), 3001)]
    await deliver(f"{server.url}?maxlen=200", entry_of(2501, 500))
    assert seqs_in(server) == kept


async def test_key_of_another_type_fails_and_nothing_counts_as_delivered(server: RedisServer) -> None:
    with server.client() as client:
        client.set("sitemap-changes", "a text")
        with pytest.raises(DeliveryFailed, match="WRONGTYPE"):
            await deliver(server.url, entry_of(1))
        client.delete("sitemap-changes")
    await deliver(server.url, entry_of(1))
    assert seqs_in(server) == [1]


async def test_full_memory_fails_and_nothing_is_added(server: RedisServer) -> None:
    with server.client() as client:
        client.config_set("maxmemory", "1")
        with pytest.raises(DeliveryFailed, match="maxmemory"):
            await deliver(server.url, entry_of(1, 3))
        client.config_set("maxmemory", "0")
    await deliver(server.url, entry_of(1, 3))
    assert seqs_in(server) == [1, 2, 3]


@pytest.mark.skipif(PROGRAM is None, reason="redis-server is not installed (Debian: redis-server)")
async def test_password_is_used_and_never_shown(tmp_path: Path) -> None:
    with RedisServer(tmp_path / "redis", "hunter2") as server:
        await deliver(server.url, entry_of(1))
        assert seqs_in(server) == [1]
        for wrong in (server.url.replace("hunter2", "letmein"), server.url.replace(":hunter2@", "")):
            with pytest.raises(DeliveryFailed) as failure:
                await deliver(wrong, entry_of(2))
            assert "letmein" not in str(failure.value)
        sink = RedisStreamSink(server.url)
        assert "hunter2" not in sink.name + repr(sink)
        await sink.close()


async def test_killed_server_fails_once_for_each_try_and_loses_nothing(server: RedisServer) -> None:
    sink = RedisStreamSink(server.url)
    await sink.deliver(entry_of(1, 2))
    server.kill()
    with pytest.raises(DeliveryFailed):
        await sink.deliver(entry_of(3))
    with pytest.raises(DeliveryFailed, match="connecting to 127"):
        await sink.deliver(entry_of(3))
    server.start()
    await sink.deliver(entry_of(3))
    await sink.close()
    assert seqs_in(server) == [1, 2, 3]


async def test_server_killed_while_it_wrote_an_entry_has_it_once(server: RedisServer) -> None:
    await deliver(server.url, entry_of(1, 3))
    server.kill()
    os.truncate(server.file, server.file.stat().st_size - 25)
    server.start()
    assert seqs_in(server) == []
    await deliver(server.url, entry_of(1, 3))
    server.kill()
    server.start()
    assert seqs_in(server) == [1, 2, 3]


async def test_server_killed_at_random_moments_has_each_change_once(server: RedisServer, tmp_path: Path) -> None:
    chance, kills = random.Random(20261127), examples(40, fast=3)  # noqa: S311 - the same each time
    async with logged(tmp_path / "state.db") as changes:
        sink = RedisStreamSink(server.url)
        await changes.feed.cursor(sink.name)
        delivery = Delivery(changes.feed, sink, sleep=lambda _: asyncio.sleep(0.005))
        task = delivery.start()
        for _ in range(kills):
            for _ in range(chance.randrange(5, 30)):
                await changes.add(chance.randrange(1, 50))
            await asyncio.sleep(chance.uniform(0, 0.02))
            server.kill()
            await changes.add(1)
            await asyncio.to_thread(server.start)
        while delivery.lag_changes:  # noqa: ASYNC110 - a failing sink is not drained
            await asyncio.sleep(0.001)
        await delivery.drain(60)
        await task
        assert seqs_in(server) == [*range(1, changes.feed.last_seq + 1)]
        assert delivery.status.failures >= 1


async def test_connection_lost_before_the_answer_repeats_nothing(server: RedisServer) -> None:
    """What the server has done, only the recorded key says."""
    commands = 0

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal commands
        upstream, out = await asyncio.open_connection("127.0.0.1", server.port)
        while data := await reader.read(65_536):
            out.write(data)
            answer = await upstream.read(65_536)
            if b"EVAL" in data:
                commands += 1
                break  # without an answer
            writer.write(answer)
        writer.close()
        out.close()

    async with await asyncio.start_server(relay, "127.0.0.1", 0) as proxy:
        sink = RedisStreamSink(f"redis://127.0.0.1:{proxy.sockets[0].getsockname()[1]}")
        for _ in range(3):
            with pytest.raises(DeliveryFailed):
                await sink.deliver(entry_of(1, 2))
        await sink.close()
    assert commands >= 3
    assert seqs_in(server) == [1, 2]


@pytest.mark.parametrize(("url", "message"), [
    ("redis://", "is no URL of Redis: give one like redis://localhost:6379/0"),
    ("redis://me:hunter2@localhost:port/", "is no URL of Redis"),
    ("redis://localhost/changes", "is no URL of Redis"),
    ("redis://localhost/?strem=a&x=1", r"strem, x: a URL of Redis has the options stream and maxlen"),
    ("redis://localhost/?stream=", "stream= is empty"),
    ("redis://localhost/?maxlen=0", "maxlen=0 is no length of a stream"),
    ("redis://localhost/?maxlen=1e6", "maxlen=1e6 is no length of a stream"),
    (f"redis://localhost/?maxlen={2**63}", "is no length of a stream"),
])
def test_invalid_url_is_an_error_with_advice(url: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as failure:
        RedisStreamSink(url)
    assert "hunter2" not in str(failure.value)


@pytest.mark.parametrize("maxlen", ["1", str(2**63 - 1)])
def test_lengths_that_redis_takes(maxlen: str) -> None:
    assert RedisStreamSink(f"redis://localhost/?maxlen={maxlen}").name == "redis localhost:6379/0 sitemap-changes"


def test_missing_package_is_an_error_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden: dict[str, Any] = dict.fromkeys(["redis", "redis.asyncio"])
    for name, module in hidden.items():
        monkeypatch.setitem(sys.modules, name, module)
    with pytest.raises(UsageError, match=r"need the package redis: pip install 'sitemap-reader\[watch\]'"):
        RedisStreamSink("redis://localhost/")
