"""Visits many sites when it pays, and delivers their changes to sinks and over HTTP (extra `watch`).

Hosts, a state and a number of requests an hour go in; changes come out, soon after they happen. Imports scale/ and all
folders below it. docs/watch.md is the guide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ..model.records import WatchedChange as WatchedChange
    from .api import WatchStream as WatchStream
    from .dead_letters import DeadLetters as DeadLetters
    from .dead_letters import redeliver as redeliver
    from .file_sink import FileSink as FileSink
    from .file_sink import Rotation as Rotation
    from .redis_streams import RedisStreamSink as RedisStreamSink
    from .sinks import DeliveryFailed as DeliveryFailed
    from .sinks import Sink as Sink
    from .webhook import WebhookSink as WebhookSink

_NAMES = {
    "..model.records": ("WatchedChange",),
    ".api": ("WatchStream",),
    ".dead_letters": ("DeadLetters", "redeliver"),
    ".file_sink": ("FileSink", "Rotation"),
    ".redis_streams": ("RedisStreamSink",),
    ".sinks": ("DeliveryFailed", "Sink"),
    ".webhook": ("WebhookSink",),
}

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, _NAMES)
