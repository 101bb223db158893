"""RedisStreamSink: adds changes to a stream of Redis, one message for each, with the JSON line as its field `data`.

In: entries of the change log. Out: messages, each once: a script of the server adds an entry and records its key in one
step, and does nothing if that key is recorded already. So a killed watch repeats no messages, nor does a killed server
whose file is checked before it starts (docs/sinks.md), and several watches can add to one stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from ..model.errors import UsageError, install_hint
from .sinks import DeliveryFailed

if TYPE_CHECKING:
    from ..state.change_log import LogEntry

DEFAULT_STREAM = "sitemap-changes"
DEFAULT_PORT = 6379
TIMEOUT_SECONDS = 30.0
SCHEMES = ("redis", "rediss")
_OPTIONS = ("stream", "maxlen")

# KEYS: the stream, and the key of this log's newest entry in it. ARGV: the entry's key, the length to which the stream
# is trimmed (0: never), the messages. An error ends the script, and nothing is recorded then.
_SCRIPT = """
if redis.call('GET', KEYS[2]) == ARGV[1] then return 0 end
for i = 3, #ARGV do
  if ARGV[2] == '0' then
    redis.call('XADD', KEYS[1], '*', 'data', ARGV[i])
  else
    redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', 'data', ARGV[i])
  end
end
redis.call('SET', KEYS[2], ARGV[1])
return #ARGV - 2
"""


class RedisStreamSink:
    """Adds each entry to the stream of a URL like `redis://user:password@host:6379/0?stream=changes&maxlen=1000000`.

    The path is the number of the database; `stream` is `sitemap-changes` by default; `maxlen` is about how many of the
    newest messages the stream keeps, by default all. UsageError for another URL, or without the package redis. How
    durable a message is, the server's settings decide (appendonly, appendfsync).
    """

    def __init__(self, url: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        parts = urlsplit(url)
        options = _options_of(parts.query)
        database = parts.path.strip("/") or "0"
        if parts.scheme not in SCHEMES or not _has_host_and_port(url) or not database.isdecimal():
            raise UsageError(f"{url} is no URL of Redis: give one like redis://localhost:{DEFAULT_PORT}/0?stream=NAME")
        self._stream = options.get("stream", DEFAULT_STREAM)
        self._maxlen = options.get("maxlen", "0")
        self.name = f"redis {parts.hostname}:{parts.port or DEFAULT_PORT}/{database} {self._stream}"
        self._client = _client(urlunsplit((parts.scheme, parts.netloc, f"/{database}", "", "")), timeout_seconds)

    async def deliver(self, entry: LogEntry) -> None:
        """Adds the changes of an entry: all or none."""
        import redis

        # With braces both keys are on one node of a cluster.
        keys = (self._stream, f"{{{self._stream}}}:sitemap-reader:{entry.log_id}")
        try:
            await self._client.execute_command(
                "EVAL", _SCRIPT, len(keys), *keys, entry.key, self._maxlen, *entry.lines.splitlines()
            )
        except (redis.RedisError, OSError) as exc:
            raise DeliveryFailed(str(exc).rstrip(".") or type(exc).__name__) from None

    async def close(self) -> None:
        await self._client.aclose()


def _client(url: str, timeout_seconds: float) -> Any:
    """A client that connects on first use; if it repeats the script by itself, that does nothing."""
    try:
        from redis.asyncio import Redis
    except ImportError:
        raise UsageError(f"changes to Redis need the package redis: {install_hint('watch')}") from None
    return Redis.from_url(url, socket_timeout=timeout_seconds, socket_connect_timeout=timeout_seconds)


def _options_of(query: str) -> dict[str, str]:
    """The options in a URL; UsageError for unknown ones and invalid values."""
    options = dict(parse_qsl(query, keep_blank_values=True))
    if unknown := [*options.keys() - {*_OPTIONS}]:
        raise UsageError(f"{', '.join(sorted(unknown))}: a URL of Redis has the options {' and '.join(_OPTIONS)}")
    if "stream" in options and not options["stream"]:
        raise UsageError("stream= is empty: name the stream of Redis")
    maxlen = options.get("maxlen", "1")
    if not (maxlen.isascii() and maxlen.isdecimal() and 0 < int(maxlen) < 2**63):
        raise UsageError(f"maxlen={maxlen} is no length of a stream: give the number of messages that it keeps")
    return options


def _has_host_and_port(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        return False
