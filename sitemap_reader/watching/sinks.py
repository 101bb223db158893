"""The sinks of a watch: what receives its changes. Files, stdout, webhooks, Redis streams, and objects of the caller.

A file has whole lines, each once: after a kill, a full disk or a restart, an incomplete line is removed, and writing
goes on behind the last complete one. A webhook and a stream get each entry at least once, with an id by which the
receiver knows it again.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import hmac
import os
import re
import select
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from inspect import isroutine, unwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import attrs
import orjson

from ..client.keywords import is_async
from ..frontier.host_queue import retry_after
from ..frontier.plan import login_of
from ..frontier.responses import BUSY
from ..model.errors import (
    SitemapReaderError,
    UsageError,
    install_hint,
    json_on_terminal,
    json_without_commands,
    masked,
    printable,
)
from ..parser.normalise.urls import clean_url, origin, without_userinfo
from ..pipeline.executor import ThreadPool
from ..serialize.byte_streams import split_compression
from ..serialize.jsonl import stamp
from ..version import __version__

if TYPE_CHECKING:
    import aiohttp

    from ..state.state import LogEntry


class DeliveryFailed(SitemapReaderError):
    """An entry that the receiver does not have yet, and is delivered again; the message says why.

    `retry_after` is the seconds until the receiver wants the next try. `is_rejected`: the receiver answers, and refuses
    this entry; with dead letters, the entries behind it are delivered after some tries. `is_permanent`: the receiver
    wants no more changes at all, so delivery to it ends.
    """

    def __init__(
        self, message: str, *, retry_after: float | None = None, is_rejected: bool = False, is_permanent: bool = False
    ) -> None:
        self.message = printable(masked(message))
        super().__init__(self.message)
        self.retry_after = retry_after
        self.is_rejected = is_rejected
        self.is_permanent = is_permanent


class Sink(Protocol):
    """A receiver of changes; a class with these three members is one.

    All calls come from one task, in the order of the log, the next one after the previous one has ended. An entry comes
    again after DeliveryFailed, and after a process that was killed: `entry.key` is the same then, and no other entry
    has it. Any other exception ends the watch.
    """

    @property
    def name(self) -> str:
        """The key under which the state keeps how far the sink is: the same in each run, and without secrets.

        /healthz shows it to anyone, unless the class has a `public_name` for that.
        """
        ...

    async def deliver(self, entry: LogEntry, /) -> None:
        """Returns when the receiver has the changes durably; DeliveryFailed where it does not.

        It may be cancelled, and the entry then comes again in a later run.
        """
        ...

    async def close(self) -> None:
        """Releases connections and files; called once, after the last delivery."""
        ...


# --- files and stdout ---

_BLOCK_BYTES = 64 * 1024
# A pipe that select() reports as writable takes so many bytes without blocking (POSIX: PIPE_BUF is 512 at least).
_PIPE_BYTES = select.PIPE_BUF if hasattr(select, "PIPE_BUF") else 512
_POLL_SECONDS = 0.2


@attrs.frozen
class Rotation:
    """When a file is renamed to `NAME-20261127T084500Z.jsonl`, by the time of its last change, and a new one begun.

    Before an entry with which it would have over `max_bytes`; and if `is_daily`, before the first change of another day
    (UTC). An entry is never divided. With `is_compressed` the renamed file is gzipped.
    """

    max_bytes: int | None = None
    is_daily: bool = False
    is_compressed: bool = False

    def __attrs_post_init__(self) -> None:
        if self.max_bytes is not None and self.max_bytes < 1:
            raise UsageError(f"a file cannot be rotated at {self.max_bytes} bytes: give the bytes that it may have")
        if self.is_compressed and self.max_bytes is None and not self.is_daily:
            raise UsageError("only rotated files are compressed: say when, by size or daily")

    def is_due(self, size: int, more: int, last: datetime, now: datetime) -> bool:
        """Whether a file of `size` bytes, with a last change at `last`, is renamed before `more` bytes are added."""
        is_full = self.max_bytes is not None and size + more > self.max_bytes
        return size > 0 and (is_full or (self.is_daily and last.date() != now.date()))


@attrs.define
class _OpenFile:
    """A locked file that ends with a whole line: its size, that line, and when the change in it was found."""

    file: BinaryIO
    size: int
    last_line: bytes
    last_at: datetime


class FileSink:
    """Appends to a file, and returns when the lines are on the disk (fsync); the file is made if it is missing.

    It may be renamed or deleted at any time, as logrotate does: the next entry begins a new one. Other processes cannot
    write it at the same time, where the system has flock(). UsageError for something that is no regular file.
    """

    def __init__(self, path: str | os.PathLike[str], *, rotation: Rotation | None = None) -> None:
        self._path = Path(os.path.realpath(path))
        self.name = f"file {self._path}"
        self.public_name = f"file {self._path.name}"  # for /healthz, which anyone may see
        if self._path.exists() and not self._path.is_file():
            raise UsageError(f"{os.fspath(path)} is no file: name a file for the changes, or - for stdout")
        if not self._path.parent.is_dir():
            raise UsageError(f"there is no folder {self._path.parent}: make it first")
        if compression := split_compression(path)[1]:
            raise UsageError(f"{os.fspath(path)} cannot be written with {compression}: name it without the suffix")
        self._rotation = rotation or Rotation()
        self._thread = ThreadPool("file-sink")
        self._open: _OpenFile | None = None

    async def deliver(self, entry: LogEntry) -> None:
        """Appends the lines of an entry that the file does not have yet."""
        try:
            await self._thread.run(self._append, entry)
        except OSError as exc:
            raise DeliveryFailed(f"cannot write {exc.filename or self._path}: {exc.strerror or exc}") from exc

    async def close(self) -> None:
        await self._thread.run(self._close)
        await self._thread.close()

    def _append(self, entry: LogEntry) -> None:
        try:
            now = self._opened()
            lines = lines_behind(entry.lines, now.last_line)
            if lines and self._rotation.is_due(now.size, len(lines), now.last_at, entry.at):
                self._rotate(now)
                now = self._opened()
            write_all(now.file.fileno(), lines)
            os.fsync(now.file.fileno())
        except OSError:
            self._close()
            raise
        if lines:
            now.size += len(lines)
            now.last_line, now.last_at = lines[lines.rfind(b"\n", 0, -1) + 1 :], entry.at

    def _opened(self) -> _OpenFile:
        if self._open is not None and not is_at(self._open.file.fileno(), self._path):
            self._close()
        if self._open is None:
            if self._rotation.is_compressed:
                self._compress_rotated()
            file = open_locked(self._path, is_waiting=False)
            try:
                last_line = remove_incomplete_line(file)
                status = os.fstat(file.fileno())
                sync_folder(self._path.parent)
            except BaseException:
                file.close()
                raise
            self._open = _OpenFile(file, status.st_size, last_line, _at_of(last_line, status.st_mtime))
        return self._open

    def _close(self) -> None:
        if self._open is not None:
            file, self._open = self._open.file, None
            with suppress(OSError):  # else the next one to open the file does it
                remove_incomplete_line(file)
            with suppress(OSError):
                file.close()

    def _rotate(self, now: _OpenFile) -> None:
        time = f"{now.last_at:%Y%m%dT%H%M%SZ}"
        base, suffix = self._path.stem, self._path.suffix
        number = 1
        while True:
            target = self._path.with_name(f"{base}-{time}{f'-{number}' if number > 1 else ''}{suffix}")
            if not target.exists() and not _gzipped(target).exists():
                break
            number += 1
        if sys.platform == "win32":  # an open file cannot be renamed there
            self._close()
        self._path.rename(target)
        sync_folder(self._path.parent)
        self._close()

    def _compress_rotated(self) -> None:
        """Compresses renamed files; also those of a process that was killed before."""
        rotated = re.compile(rf"{re.escape(self._path.stem)}-\d{{8}}T\d{{6}}Z(-\d+)?{re.escape(self._path.suffix)}")
        for path in sorted(self._path.parent.iterdir()):
            if rotated.fullmatch(path.name):
                if not _gzipped(path).exists():
                    _compress(path)
                path.unlink()


class StdoutSink:
    """Writes to stdout, or another file descriptor, without waiting in the event loop for the reader of a pipe.

    BrokenPipeError where the reader has ended.
    """

    name = "stdout"

    def __init__(self, descriptor: int = 1) -> None:
        self._descriptor = descriptor
        self._thread = ThreadPool("stdout-sink")
        self._key = ""
        self._rest = b""  # what was not written of the entry with this key
        self._is_closing = False

    async def deliver(self, entry: LogEntry) -> None:
        """Returns when the lines are in the pipe or the file."""
        if entry.key != self._key:
            lines = json_without_commands(entry.lines)
            self._key, self._rest = entry.key, json_on_terminal(lines) if os.isatty(self._descriptor) else lines
        try:
            await self._thread.run(self._write)
        except BrokenPipeError:
            raise
        except OSError as exc:
            raise DeliveryFailed(f"cannot write stdout: {exc.strerror or exc}") from exc

    async def close(self) -> None:
        """Ends a write that waits for the reader."""
        self._is_closing = True
        await self._thread.close()

    def _write(self) -> None:
        while self._rest and not self._is_closing:
            # select() of Windows takes sockets only: there a write waits until the pipe is read.
            if sys.platform != "win32" and not select.select([], [self._descriptor], [], _POLL_SECONDS)[1]:
                continue
            with suppress(BlockingIOError):
                self._rest = self._rest[os.write(self._descriptor, self._rest[:_PIPE_BYTES]) :]


# --- files of lines ---


def open_locked(path: Path, *, is_waiting: bool) -> BinaryIO:
    """Opens a file to read it and to append, and locks it against other processes, where the system has flock().

    OSError, with its name, where it cannot be opened, or is locked and `is_waiting` is false.
    """
    while True:
        file = path.open("ab+", buffering=0)
        try:
            if sys.platform != "win32":
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | (0 if is_waiting else fcntl.LOCK_NB))
        except BaseException as exc:
            file.close()
            if isinstance(exc, BlockingIOError):
                raise OSError(exc.errno, "another process writes it", str(path)) from exc
            raise
        if is_at(file.fileno(), path):  # else it was renamed before it was locked
            return file
        file.close()


def is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def remove_incomplete_line(file: BinaryIO) -> bytes:
    """Truncates a file behind its last line break; returns its last line, with the line break, b"" if there is none."""
    tail = b""
    start = file.seek(0, os.SEEK_END)
    while start and tail.count(b"\n") < 2:
        length = min(start, _BLOCK_BYTES)
        start = file.seek(start - length)
        tail = file.read(length) + tail
    whole = tail.rfind(b"\n") + 1
    if whole < len(tail):
        file.truncate(start + whole)
        os.fsync(file.fileno())
    return tail[tail.rfind(b"\n", 0, max(whole - 1, 0)) + 1 : whole]


def lines_behind(lines: bytes, last_line: bytes) -> bytes:
    """The lines that follow a certain one; all, if it is not one of them.

    >>> lines_behind(b"1\\n2\\n3\\n", b"2\\n"), lines_behind(b"12\\n3\\n", b"2\\n")
    (b'3\\n', b'12\\n3\\n')
    """
    _, found, behind = (b"\n" + lines).partition(b"\n" + last_line)
    return behind if found else lines


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(folder: Path) -> None:
    """Makes new and changed names in a folder durable, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _at_of(line: bytes, otherwise: float) -> datetime:
    """When a change was found; for another line, a time in seconds since 1970."""
    try:
        return datetime.fromisoformat(orjson.loads(line)["at"]).astimezone(UTC)
    except (ValueError, KeyError, TypeError):
        return datetime.fromtimestamp(otherwise, UTC)


def _gzipped(path: Path) -> Path:
    return path.with_name(f"{path.name}.gz")


def _compress(path: Path) -> None:
    """Writes the gzipped copy of a file: whole, or not at all."""
    part = path.with_name(f"{path.name}.gz.part")
    try:
        with path.open("rb") as source, part.open("wb") as out:
            with gzip.GzipFile("", "wb", fileobj=out, mtime=0) as compressed:
                shutil.copyfileobj(source, compressed, _BLOCK_BYTES)
            out.flush()
            os.fsync(out.fileno())
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    part.replace(_gzipped(path))
    sync_folder(path.parent)


# --- webhooks (Standard Webhooks) ---

# nginx takes bodies of 1 MB by default, as aiohttp does.
MAX_BODY_BYTES = 500_000
TIMEOUT_SECONDS = 30.0
EVENT_TYPE = "sitemap.changes"
_SECRET_PREFIX = "whsec_"  # noqa: S105 - by which the specification marks a secret
_MIN_SECRET_BYTES, _MAX_SECRET_BYTES = 24, 64  # Standard Webhooks, "Signature scheme"
# Answers about this body. Others, such as 401 and 404, are about the URL or the receiver: the next body has the same.
_REJECTED = {400, 409, 413, 415, 422}
_GONE = 410  # Standard Webhooks: the receiver wants no more


class WebhookSink:
    """Posts each entry to a URL; userinfo in the URL is sent as Authorization, and shown nowhere.

    `secrets` sign each request, all of them, so that a receiver can change from one to the next; without any, requests
    are not signed. UsageError for an invalid URL or secret. An entry is one request, or several if it is large; after
    a failure the first request that failed is repeated.
    """

    def __init__(
        self,
        url: str,
        secrets: Sequence[str] = (),
        *,
        max_body_bytes: int = MAX_BODY_BYTES,
        timeout_seconds: float = TIMEOUT_SECONDS,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        cleaned = clean_url(url).url
        if cleaned is None:
            raise UsageError(f"{url} is no URL of a webhook: give one like https://example.com/hook")
        self._url = without_userinfo(cleaned)
        # With a digest of the URL, as path and query may be secret.
        digest = hashlib.blake2b(self._url.encode(), digest_size=4).hexdigest()
        self.name = f"webhook {origin(self._url)} {digest}"
        self._login = login_of(cleaned)
        self._keys = [_key_of(secret) for secret in secrets]
        self._max_body_bytes = max_body_bytes
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None
        self._delivered = ""  # the key of the last part that was delivered

    async def deliver(self, entry: LogEntry) -> None:
        """Posts an entry; returns after a status of 2xx for each of its requests."""
        parts = [*parts_of(entry, self._max_body_bytes)]
        done = next((number for number, part in enumerate(parts, 1) if part.key == self._delivered), 0)
        for part in parts[done:]:
            await self._post(part)
            self._delivered = part.key

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _post(self, part: LogEntry) -> None:
        import aiohttp

        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=self._timeout_seconds)
            self._session = aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar())
        body = body_of(part)
        headers = self._headers(part.key, body)
        try:
            async with self._session.post(self._url, data=body, headers=headers, allow_redirects=False) as response:
                status, wanted = response.status, response.headers.get("Retry-After")
        except TimeoutError:
            raise DeliveryFailed(f"no answer within {self._timeout_seconds:g} seconds") from None
        except aiohttp.ClientResponseError as exc:  # its text has the URL
            raise DeliveryFailed(f"no valid answer: {exc.message}") from None
        except (aiohttp.ClientError, OSError) as exc:
            number = getattr(exc, "errno", None) or 0  # below 0: of a name that is not resolved
            reason = f"no connection: {os.strerror(number)}" if number > 0 else str(exc) or type(exc).__name__
            raise DeliveryFailed(reason) from None
        self._check(status, wanted)

    def _headers(self, key: str, body: bytes) -> dict[str, str]:
        timestamp = int(self._clock().timestamp())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"sitemap-reader/{__version__}",
            "webhook-id": key,
            "webhook-timestamp": str(timestamp),
        }
        if self._keys:
            headers["webhook-signature"] = " ".join(signature(each, key, timestamp, body) for each in self._keys)
        if self._login:
            headers["Authorization"] = self._login
        return headers

    def _check(self, status: int, wanted: str | None) -> None:
        if 200 <= status < 300:
            return
        if status == _GONE:
            raise DeliveryFailed("answers 410 Gone", is_permanent=True)
        if 300 <= status < 400:
            raise DeliveryFailed(f"answers {status}: redirects are not followed, so name the URL to which it leads")
        seconds = retry_after(wanted, self._clock()) if status in BUSY else None
        raise DeliveryFailed(f"answers {status}", retry_after=seconds, is_rejected=status in _REJECTED)


def parts_of(entry: LogEntry, max_bytes: int) -> Iterator[LogEntry]:
    """The entry in parts of at most so many bytes, always the same; a line that is longer is a part of its own."""
    if len(entry.lines) <= max_bytes:
        yield entry
        return
    first, part, size = entry.first_seq, list[bytes](), 0
    for seq, line in enumerate(entry.lines.splitlines(keepends=True), entry.first_seq):
        if part and size + len(line) > max_bytes:
            yield attrs.evolve(entry, first_seq=first, last_seq=seq - 1, lines=b"".join(part))
            first, part, size = seq, [], 0
        part.append(line)
        size += len(line)
    yield attrs.evolve(entry, first_seq=first, lines=b"".join(part))


def body_of(entry: LogEntry) -> bytes:
    """The JSON of a request: `type`, `timestamp`, and `data` with `site` and `changes`, the objects of the log."""
    head = orjson.dumps({"type": EVENT_TYPE, "timestamp": stamp(entry.at), "data": {"site": entry.site}})
    return b'%s,"changes":[%s]}}' % (head[:-2], b",".join(entry.lines.splitlines()))


def signature(key: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """`v1,` and the base64 of the HMAC-SHA256 of id, timestamp and body (Standard Webhooks, "Signature scheme")."""
    content = b"%s.%d.%s" % (message_id.encode(), timestamp, body)
    return f"v1,{base64.b64encode(hmac.digest(key, content, 'sha256')).decode()}"


def _key_of(secret: str) -> bytes:
    """The bytes of a secret; UsageError, without the secret, for an invalid one."""
    try:
        key = base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(_SECRET_PREFIX) or not _MIN_SECRET_BYTES <= len(key) <= _MAX_SECRET_BYTES:
        raise UsageError(
            f"a secret of a webhook is {_SECRET_PREFIX} and the base64 of {_MIN_SECRET_BYTES} to {_MAX_SECRET_BYTES} "
            f'bytes: make one with  echo "{_SECRET_PREFIX}$(openssl rand -base64 32)"'
        )
    return key


# --- Redis streams ---

DEFAULT_STREAM = "sitemap-changes"
DEFAULT_PORT = 6379
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
        try:
            from redis.asyncio import Redis
        except ImportError:
            raise UsageError(f"changes to Redis need the package redis: {install_hint('watch')}") from None
        address = urlunsplit((parts.scheme, parts.netloc, f"/{database}", "", ""))
        # It connects on first use; if it repeats the script by itself, that does nothing.
        self._client: Any = Redis.from_url(
            address, socket_timeout=timeout_seconds, socket_connect_timeout=timeout_seconds
        )

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


# --- sinks of texts ---

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
    """The sink of `-` (stdout), `https://…` (webhook), `redis://…` or the path of a file; UsageError for others.

    `secrets` sign the requests of a webhook; `rotation` is for a file only.
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

    UsageError for what is none, and for a name that is taken: by its name the state keeps how far a sink is.
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
        for name in ("deliver", "close"):
            method = getattr(value, name)
            if isroutine(method) and not is_async(unwrap(method)):  # made by def; what it returns would be awaited
                message = f"{name}() of {value!r:.60} is awaited: make it by async def, not by def"
                raise UsageError(message, keyword="sinks")
        return value  # type: ignore[return-value]  # checked
    raise UsageError(
        f"{value!r:.60} is none",
        keyword="sinks",
        remedy=f"give {_FORMS}, or an object with name, deliver() and close()",
    )
