"""sink_for(), names_file(): the sink that a text names: `-` for stdout, a URL, or the path of a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..model.errors import UsageError
from .file_sink import FileSink, StdoutSink
from .redis_streams import RedisStreamSink
from .webhook import WebhookSink

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .file_sink import Rotation
    from .sinks import Sink

_FORMS = "a path, - for stdout, https://… for a webhook, or redis://…"
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
# Scheme -> makes the sink of a URL, with the secrets of webhooks.
_OF_SCHEME: dict[str, Callable[[str, Sequence[str]], Sink]] = {
    "http": WebhookSink,
    "https": WebhookSink,
    "redis": lambda url, secrets: RedisStreamSink(url),
    "rediss": lambda url, secrets: RedisStreamSink(url),
}


def names_file(text: str) -> bool:
    """Whether a text names a file, and not stdout or a URL."""
    return text != "-" and _SCHEME.match(text) is None


def sink_for(text: str, *, secrets: Sequence[str] = (), rotation: Rotation | None = None) -> Sink:
    """The sink of `-` (stdout), `https://…` (webhook), `redis://…` or the path of a file.

    `secrets` sign the requests of a webhook; `rotation` is for a file only. UsageError for other schemes, for what the
    sink itself refuses, and for a rotation of something else.
    """
    if names_file(text):
        if not text:
            raise UsageError(f"an empty name of a sink: give {_FORMS}")
        return FileSink(text, rotation=rotation)
    if rotation is not None:
        raise UsageError(f"only a file is rotated, not {text}")
    scheme = _SCHEME.match(text)
    if scheme is None:
        return StdoutSink()
    make = _OF_SCHEME.get(scheme[1].lower())
    if make is None:
        raise UsageError(f"changes cannot be delivered to {text}: give {_FORMS}")
    return make(text, secrets)
