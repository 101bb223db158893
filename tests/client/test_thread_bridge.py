"""The queue between the thread of an event loop and its consumer."""

from __future__ import annotations

import os
import signal
import threading
import time
from queue import Empty

import pytest

from sitemap_reader.client.thread_bridge import TimedQueue


def test_items_come_in_order_and_waiting_ends() -> None:
    queue: TimedQueue[int] = TimedQueue()
    for number in range(3):
        queue.put(number)
    assert [queue.get(0) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(Empty):
        queue.get(0.01)
    threading.Timer(0.05, queue.put, [3]).start()
    assert queue.get(10) == 3


def test_a_signal_handler_that_outlasts_the_timeout_does_not_delay_its_end() -> None:
    """SimpleQueue.get(timeout=) of Python 3.11 and 3.12 then waits for an item."""
    queue: TimedQueue[str] = TimedQueue()
    before = signal.signal(signal.SIGTERM, lambda *_: time.sleep(0.4))
    late = threading.Timer(10, queue.put, ["too late"])
    try:
        threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGTERM]).start()
        late.start()
        with pytest.raises(Empty):
            queue.get(0.2)
    finally:
        late.cancel()
        signal.signal(signal.SIGTERM, before)
