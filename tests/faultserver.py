"""A web server on 127.0.0.1 with faults of connections: path -> scripts, functions that write to the connection.

It records requests, when each arrived and ended, and how many were in flight. Leaving its block ends
every connection and joins every thread at once, also while scripts wait.
"""

from __future__ import annotations

import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import attrs

Script = Callable[["Wire"], object]

# Scripts that still run when a test ends are disconnected; a thread that takes longer is a bug of the server.
JOIN_SECONDS = 10.0


@attrs.define(eq=False)
class Exchange:
    """One request and its response as the server sees them; times are time.monotonic()."""

    path: str
    headers: dict[str, str]
    connection: int
    started: float
    ended: float | None = None
    hung_up: bool = False  # by the client, during the response


class Stopped(Exception):
    """The test is over, or the client has gone."""


@attrs.define(eq=False)
class Wire:
    """The server's end of a connection during one request. A script returns whether the connection stays open."""

    server: FaultServer
    socket: socket.socket
    exchange: Exchange

    def send(self, *parts: bytes) -> None:
        for part in parts:
            self.socket.sendall(part)

    def answer(self, data: bytes) -> bool:
        """Sends the last bytes of a response, which counts as ended before the client can read them.

        The connection stays open.
        """
        self.server.end(self.exchange)
        self.send(data)
        return True

    def drip(self, data: bytes, seconds: float) -> None:
        """Sends one byte at a time, with so many seconds in between."""
        for byte in data:
            self.send(bytes([byte]))
            self.pause(seconds)

    def pause(self, seconds: float) -> None:
        if select.select([self.server.stopped], [], [], seconds)[0]:
            raise Stopped

    def hold(self) -> None:
        """Sends nothing more until the client disconnects or the test ends."""
        while self.server.stopped not in select.select([self.server.stopped, self.socket], [], [])[0]:
            if not self.socket.recv(65_536):
                self.exchange.hung_up = True
                break
        raise Stopped

    def reset(self) -> None:
        """Closes with RST instead of FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


class FaultServer:
    """Answers GET from `scripts`: path -> scripts, used one by one; the last one stays. Else 404.

    With `tls` every connection begins with a handshake; with `greet` that function gets each new connection, and
    nothing is read from it. Without a `port` it takes a free one. `scripts` may be changed while it runs. Used as a
    context manager; `url` is the origin.
    """

    def __init__(
        self,
        scripts: Mapping[str, Script | Sequence[Script]] | None = None,
        *,
        tls: ssl.SSLContext | None = None,
        greet: Callable[[socket.socket], object] | None = None,
        port: int = 0,
    ) -> None:
        self.scripts: dict[str, list[Script]] = {}
        for path, given in (scripts or {}).items():
            self.play(path, *([given] if callable(given) else given))
        self.log: list[Exchange] = []
        self.connections = 0
        self.stopped, self._stop = socket.socketpair()
        self._tls = tls
        self._greet = greet
        self._lock = threading.Lock()
        self._open: dict[threading.Thread, socket.socket] = {}
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.port = int(self._listener.getsockname()[1])
        self.place = f"127.0.0.1:{self.port}"
        self.url = f"{'https' if tls else 'http'}://{self.place}"
        self._acceptor = threading.Thread(target=self._accept, name="faults-accept")

    def play(self, path: str, *scripts: Script) -> None:
        """Sets the scripts of a path: for the first request, the second, and so on."""
        self.scripts[path] = list(scripts)

    def requests(self, path: str | None = None) -> list[Exchange]:
        """The requests so far in order of arrival; only those of `path`, if given."""
        with self._lock:
            return [each for each in self.log if path in (None, each.path)]

    def in_flight(self) -> int:
        """The number of requests whose response has not ended."""
        with self._lock:
            return sum(each.ended is None for each in self.log)

    def end(self, exchange: Exchange) -> None:
        """Marks a response as ended."""
        exchange.ended = exchange.ended or time.monotonic()

    def __enter__(self) -> FaultServer:
        self._acceptor.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stop.close()  # wakes up waiters on `stopped`
        self._acceptor.join(JOIN_SECONDS)
        self._listener.close()
        with self._lock:
            threads = dict(self._open)
        for each in threads.values():
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)  # wakes up reads from the client
        for thread in threads:
            thread.join(JOIN_SECONDS)
        self.stopped.close()
        alive = [thread.name for thread in (self._acceptor, *threads) if thread.is_alive()]
        if alive:
            raise RuntimeError(f"threads of the fault server go on: {alive}")

    def _accept(self) -> None:
        while self._listener in select.select([self._listener, self.stopped], [], [])[0]:
            connection = self._listener.accept()[0]
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self.connections += 1
                thread = threading.Thread(target=self._serve, args=(connection, self.connections), name="faults-serve")
                self._open[thread] = connection
            thread.start()
            if select.select([self.stopped], [], [], 0)[0]:
                break

    def _serve(self, connection: socket.socket, number: int) -> None:
        try:
            with connection, suppress(OSError, Stopped):
                if self._greet:
                    self._greet(connection)
                elif self._tls:
                    with self._tls.wrap_socket(connection, server_side=True) as wrapped:
                        with self._lock:
                            self._open[threading.current_thread()] = wrapped
                        self._converse(wrapped, number)
                else:
                    self._converse(connection, number)
        finally:
            with self._lock:
                del self._open[threading.current_thread()]

    def _converse(self, connection: socket.socket, number: int) -> None:
        pending = b""
        while True:
            while b"\r\n\r\n" not in pending:
                data = connection.recv(65_536)
                if not data:
                    return
                pending += data
            head, _, pending = pending.partition(b"\r\n\r\n")
            exchange = self._begin(head.decode("latin-1"), number)
            try:
                if not self._script(exchange.path)(Wire(self, connection, exchange)):
                    return
            except ConnectionError:
                exchange.hung_up = True
                raise
            finally:
                self.end(exchange)

    def _begin(self, head: str, number: int) -> Exchange:
        first, *lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        exchange = Exchange(first.split(" ")[1], headers, number, time.monotonic())
        with self._lock:
            self.log.append(exchange)
        return exchange

    def _script(self, path: str) -> Script:
        with self._lock:
            scripts = self.scripts.get(path, [missing])
            return scripts.pop(0) if len(scripts) > 1 else scripts[0]


def overlap(*servers: FaultServer) -> int:
    """The most requests that were in flight at one time, on all the servers together."""
    exchanges = [each for server in servers for each in server.requests()]
    ends = [(each.ended, -1) for each in exchanges if each.ended is not None]
    now = most = 0
    for _, step in sorted([*ends, *((each.started, 1) for each in exchanges)]):
        now += step
        most = max(most, now)
    return most


# --- scripts -----------------------------------------------------------------------------------


def head(status: object = "200 OK", *lines: str) -> bytes:
    """A status line and headers, with the blank line behind them."""
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode("latin-1")


def whole(body: bytes, *lines: str, status: object = "200 OK") -> bytes:
    """A complete, correct response."""
    return head(status, f"Content-Length: {len(body)}", *lines) + body


def page(body: bytes, *lines: str, status: object = "200 OK") -> Script:
    """Sends that body; the connection stays open."""
    return lambda wire: wire.answer(whole(body, *lines, status=status))


def status(line: object, *lines: str) -> Script:
    """Sends that status without a body."""
    return page(b"", *lines, status=line)


missing = status("404 Not Found")


def raw(*parts: bytes, then: Callable[[Wire], object] | None = None) -> Script:
    """Sends those parts, one write each; then closes, or runs `then`."""

    def play(wire: Wire) -> object:
        for number, part in enumerate(parts):
            if number:
                wire.pause(0.02)  # otherwise the client may receive two writes as one
            wire.send(part)
        return then(wire) if then else None

    return play


def keep(wire: Wire) -> bool:
    """Waits for the next request on the same connection."""
    wire.server.end(wire.exchange)
    return True


def hold(wire: Wire) -> None:
    wire.hold()


def reset(wire: Wire) -> None:
    wire.pause(0.05)  # lets the sent bytes arrive
    wire.reset()


def dripping(before: bytes, slow: bytes, seconds: float) -> Script:
    """Sends the first bytes at once, and the others one by one, repeatedly."""

    def play(wire: Wire) -> None:
        wire.send(before)
        while True:
            wire.drip(slow, seconds)

    return play


def endless(before: bytes, again: bytes, seconds: float = 0.0) -> Script:
    """Sends the first bytes, and then the others forever, at once or with so many seconds in between."""

    def play(wire: Wire) -> None:
        wire.send(before)
        while True:
            wire.send(again)
            wire.pause(seconds)

    return play
