"""The sinks of a watch: those that texts name, `-` (stdout), a URL or the path of a file; and objects of the caller."""

from __future__ import annotations

import os
import re
from collections import Counter
from inspect import isroutine, unwrap
from typing import TYPE_CHECKING

from ..client.keywords import is_async
from ..model.errors import UsageError
from .file_sink import FileSink, StdoutSink
from .redis_streams import RedisStreamSink
from .webhook import WebhookSink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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


def sinks_of(values: Iterable[Sink | str | os.PathLike[str]], *taken: str) -> list[Sink]:
    """The sinks of objects, and of texts as in sink_for(); one of them may stand for a list.

    UsageError for what is none, and for two with the same name or a name that is taken: the state keeps by its name how
    far a sink is.
    """
    given = [*values] if hasattr(values, "__iter__") and not isinstance(values, str) else [values]
    sinks = [_sink_of(each) for each in given]
    names = Counter([*taken, *(sink.name for sink in sinks)])
    if repeated := [name for name, times in names.items() if times > 1]:
        raise UsageError(f"two have the name {repeated[0]!r}", keyword="sinks", remedy="give each one of its own")
    return sinks


def _sink_of(value: object) -> Sink:
    if isinstance(value, str | os.PathLike):
        return sink_for(os.fspath(value))
    is_sink = callable(getattr(value, "deliver", None)) and callable(getattr(value, "close", None))
    if is_sink and not isinstance(value, type) and isinstance(getattr(value, "name", None), str):
        _check_is_awaited(value, "deliver")
        _check_is_awaited(value, "close")
        return value  # type: ignore[return-value]  # checked
    raise UsageError(
        f"{value!r:.60} is none",
        keyword="sinks",
        remedy=f"give {_FORMS}, or an object with name, deliver() and close()",
    )


def _check_is_awaited(sink: object, name: str) -> None:
    """UsageError for a method made by def, unless it wraps an async one: what it returns would be awaited."""
    method = getattr(sink, name)
    if isroutine(method) and not is_async(unwrap(method)):
        raise UsageError(f"{name}() of {sink!r:.60} is awaited: make it by async def, not by def", keyword="sinks")
