"""Receivers of changes on loopback, stopped when the test ends."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from webhook_receiver import Receiver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from redis_server import RedisServer


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    started = Receiver()
    thread = threading.Thread(target=started.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield started
    finally:
        started.ended.set()
        started.server.shutdown()
        thread.join()
        started.server.server_close()


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    from redis_server import PROGRAM, RedisServer

    if PROGRAM is None:
        pytest.skip("redis-server is not installed (Debian: redis-server)")
    with RedisServer(tmp_path / "redis") as running:
        yield running
