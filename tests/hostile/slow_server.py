"""A server that counts open connections and responds slowly, partly, or not at all; and sites on it."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

import kit

MAX_WAIT_SECONDS = 10.0
CHILDREN = 3
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: %d\r\n\r\n"


class SlowServer:
    """Answers from `pages`: path -> bytes to send, then whether to hold the connection open.

    Counts open connections.
    """

    def __init__(self) -> None:
        self.pages: dict[str, tuple[bytes, bool]] = {}
        self.requested: list[str] = []
        self.most_open = 0
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept, name="slow-server", daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed
                return
            self._open.add(connection)
            self.most_open = max(self.most_open, len(self._open))
            self._threads.append(threading.Thread(target=self._serve, args=(connection,), name="slow-server"))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        """Waits until the client disconnects."""
        with suppress(OSError), connection:
            head = b""
            while chunk := connection.recv(65536):
                head += chunk
                while b"\r\n\r\n" in head:
                    first, _, head = head.partition(b"\r\n\r\n")
                    path = first.split(b" ")[1].decode()
                    self.requested.append(path)
                    answer, holds = self.pages.get(path, (b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n", False))
                    connection.sendall(answer)
                    if not holds and not answer:
                        return
        self._open.discard(connection)

    @property
    def open(self) -> int:
        return len([each for each in self._open if each.fileno() != -1])

    def __enter__(self) -> SlowServer:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(MAX_WAIT_SECONDS)


def answer(body: bytes, *, more: int = 0) -> tuple[bytes, bool]:
    """A complete response, or one with a Content-Length larger than its body."""
    return HEAD % (len(body) + more) + body, True


def urlset(at: str, count: int = 400) -> bytes:
    return kit.urlset(*(f"{at}/{'x' * 60}/{number}" for number in range(count)))


def bodies(server: SlowServer) -> str:
    """Several documents that all stop in the middle."""
    server.pages["/index.xml"] = answer(kit.index(*(f"{server.url}/{n}.xml" for n in range(CHILDREN))))
    for number in range(CHILDREN):
        server.pages[f"/{number}.xml"] = answer(urlset(server.url), more=10_000)
    return f"{server.url}/index.xml"


def silence_behind_one(server: SlowServer) -> str:
    """A document, and two without a response."""
    target = bodies(server)
    server.pages |= {"/0.xml": answer(urlset(server.url)), "/1.xml": (b"", True), "/2.xml": (b"HTTP/1.1 200", True)}
    return target


def retries_behind_one(server: SlowServer) -> str:
    """A document, and two with Retry-After."""
    busy = b"HTTP/1.1 503 X\r\nRetry-After: 50\r\nContent-Length: 0\r\n\r\n", True
    target = bodies(server)
    server.pages |= {"/0.xml": answer(urlset(server.url)), "/1.xml": busy, "/2.xml": busy}
    return target


def a_large_body(server: SlowServer) -> str:
    """A body larger than any buffer: the server waits too."""
    server.pages["/large.xml"] = answer(urlset(server.url, 60_000), more=10_000)
    return f"{server.url}/large.xml"


SITES = [bodies, silence_behind_one, retries_behind_one, a_large_body]


def silent_robots(server: SlowServer) -> str:
    server.pages["/robots.txt"] = (b"", True)
    return f"{server.url}/index.xml"


def half_a_robots(server: SlowServer) -> str:
    server.pages["/robots.txt"] = answer(b"User-agent: *\nDisallow:\n", more=100)
    return f"{server.url}/index.xml"


def busy_robots(server: SlowServer) -> str:
    server.pages["/robots.txt"] = (b"HTTP/1.1 503 X\r\nRetry-After: 50\r\nContent-Length: 0\r\n\r\n", True)
    return f"{server.url}/index.xml"


BEFORE = [silent_robots, half_a_robots, busy_robots]


def all_is_over(server: SlowServer) -> bool:
    """Waits some seconds until no connection is open and no thread of the package is left."""
    return kit.until(lambda: server.open == 0 and not readers(), MAX_WAIT_SECONDS)


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("sitemap-reader")]


def was_requested(server: SlowServer, path: str) -> None:
    assert kit.until(lambda: path in server.requested, MAX_WAIT_SECONDS), f"{path} was not requested"
