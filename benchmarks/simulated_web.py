"""Web sites on 127.0.0.1 whose time runs faster: a function of host, path and time in; a port, and an access log out.

One server in a process of its own has all sites, by the Host header; fast_session() connects each name to it, through
the resolver, the connection pool and the parser of aiohttp. The watch and the server share a FastClock.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection
    from pathlib import Path

    import aiohttp

XML = "application/xml"
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
_REASONS = {200: "OK", 301: "Moved Permanently", 304: "Not Modified", 404: "Not Found", 500: "Internal Server Error"}


@attrs.frozen
class FastClock:
    """A clock that showed `began` at `started` (seconds since 1970), and runs `speed` times as fast as the real one."""

    began: datetime
    started: float
    speed: float

    @classmethod
    def start(cls, speed: float, hours: float) -> FastClock:
        """A clock that starts now, and shows no time in the future for so many of its hours."""
        return cls(datetime.now(UTC).replace(microsecond=0) - timedelta(hours=hours + 24), time.time(), speed)

    def __call__(self) -> datetime:
        return self.began + timedelta(seconds=(time.time() - self.started) * self.speed)

    def now(self) -> float:
        """Seconds since 1970."""
        return self().timestamp()

    async def sleep(self, seconds: float) -> None:
        """Waits for seconds of this clock."""
        await asyncio.sleep(seconds / self.speed)


@attrs.frozen
class Page:
    """A response. Without a body its status is sent alone; `seconds` of real time pass before it is sent."""

    body: bytes = b""
    status: int = 200
    media: str = XML
    etag: str = ""
    location: str = ""
    seconds: float = 0.0


def urlset(entries: list[str]) -> bytes:
    """A sitemap of entries that url_entry() has made."""
    return f"<urlset {NAMESPACE}>{''.join(entries)}</urlset>".encode()


def url_entry(loc: str, lastmod: float | None = None, extra: str = "") -> str:
    """A URL; `extra` is XML."""
    return f"<url><loc>{loc}</loc>{_lastmod(lastmod)}{extra}</url>"


def sitemap_index(children: dict[str, float | None]) -> bytes:
    """An index of children with their lastmods."""
    entries = [f"<sitemap><loc>{loc}</loc>{_lastmod(at)}</sitemap>" for loc, at in children.items()]
    return f"<sitemapindex {NAMESPACE}>{''.join(entries)}</sitemapindex>".encode()


def _lastmod(at: float | None) -> str:
    return "" if at is None else f"<lastmod>{datetime.fromtimestamp(at, UTC).isoformat()}</lastmod>"


@contextmanager
def served(respond: Callable[[str, str, float], Page], clock: FastClock, log: Path) -> Iterator[int]:
    """The port of a server; another process must be able to import `respond`. `log`: time, host, path, status."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(respond, clock, log, theirs), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send(None)
        process.join(10)
        process.terminate()


def fast_session() -> aiohttp.ClientSession:
    """A session that connects to 127.0.0.1 for every name; it needs a running event loop."""
    import aiohttp

    from sitemap_reader.fetch import guarded_connector

    connector = guarded_connector(allow_private=True, resolver=_Loopback())
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False)


class _Loopback:
    """A resolver for aiohttp."""

    async def resolve(self, host: str, port: int = 0, family: int = socket.AF_INET) -> list[dict[str, Any]]:
        flags = socket.AI_NUMERICHOST
        return [{"hostname": host, "host": "127.0.0.1", "port": port, "family": family, "proto": 0, "flags": flags}]

    async def close(self) -> None:
        """Nothing is open."""


# --- the process of the server ---


def _serve(respond: Callable[[str, str, float], Page], clock: FastClock, log: Path, pipe: Connection) -> None:
    with suppress(KeyboardInterrupt), log.open("w", buffering=1 << 16) as lines:
        asyncio.run(_listen(respond, clock, lines.write, pipe))


async def _listen(respond: Any, clock: FastClock, write: Callable[[str], Any], pipe: Connection) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(respond, clock, write), "127.0.0.1", 0, backlog=1024)
    pipe.send(server.sockets[0].getsockname()[1])
    ended = asyncio.Event()
    loop.add_reader(pipe.fileno(), ended.set)
    await ended.wait()


class _Connection(asyncio.Protocol):
    """One connection, of a client that sends its next request after the response."""

    def __init__(self, respond: Any, clock: FastClock, write: Callable[[str], Any]) -> None:
        self._respond, self._clock, self._write = respond, clock, write
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._head += data
        if not self._head.endswith(b"\r\n\r\n"):
            return
        first, *fields = self._head.decode("latin-1").split("\r\n")
        self._head = b""
        path = first.split(" ")[1]
        headers = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
        now = self._clock.now()
        page = self._respond(headers["host"], path, now)
        if page.etag and headers.get("if-none-match") == page.etag:
            page = attrs.evolve(page, status=304, body=b"")
        self._write(f"{now:.3f} {headers['host']} {path} {page.status}\n")
        if page.seconds:
            asyncio.get_running_loop().call_later(page.seconds, self._send, page)
        else:
            self._send(page)

    def _send(self, page: Page) -> None:
        fields = {
            "Date": format_datetime(self._clock(), usegmt=True),
            "Content-Type": page.media,
            "ETag": page.etag,
            "Location": page.location,
            "Content-Length": "" if page.status == 304 else str(len(page.body)),
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
        if not self._transport.is_closing():
            self._transport.write(f"HTTP/1.1 {page.status} {_REASONS[page.status]}\r\n{head}\r\n".encode() + page.body)
