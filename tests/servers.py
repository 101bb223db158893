"""Servers on 127.0.0.1 for tests: nginx with a document root, one that answers from a dict, and a SOCKS proxy.

They record what is requested. None listens on another address.
"""

from __future__ import annotations

import http.client
import secrets
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import BinaryIO, Self
from urllib.parse import urlsplit

import attrs

START_SECONDS = 10.0
# Requested before the log is read, and not logged itself. One process serves all requests: when this one is answered,
# all earlier ones are in the log.
SETTLED = "/-settled-"

NGINX_CONF = """\
daemon off;
master_process off;  # one process, one pid: ended by ending it
pid {work}/nginx.pid;
error_log {work}/error.log;
events {{ worker_connections 256; }}
http {{
  types {{
    text/html html;
    text/plain txt;
    application/xml xml;
    application/rss+xml rss;
    application/atom+xml atom;
    application/gzip gz;
  }}
  default_type application/octet-stream;
  log_format requested '$status $request_uri';
  access_log {work}/access.log requested;
  client_body_temp_path {work}/body;
  proxy_temp_path {work}/proxy;
  fastcgi_temp_path {work}/fastcgi;
  uwsgi_temp_path {work}/uwsgi;
  scgi_temp_path {work}/scgi;
  server {{
    listen 127.0.0.1:{port};
    root {root};
    location = {settled} {{ access_log off; return 204; }}
  }}
}}
"""


@attrs.frozen
class Answer:
    """A line of the access log."""

    status: int
    path: str


@attrs.frozen
class NginxServer:
    """A running nginx; `url` is its origin, without a slash at the end."""

    url: str
    access_log: Path

    def answers(self) -> list[Answer]:
        """The requests so far in order, with their statuses."""
        _get_status(self.url, SETTLED)
        lines = self.access_log.read_text().splitlines()
        return [Answer(int(status), path) for status, _, path in (line.partition(" ") for line in lines)]

    def requests(self) -> list[str]:
        """The requested paths (with queries) so far, in order."""
        return [answer.path for answer in self.answers()]


# Below the ephemeral ports, so that no connection of another process gets one meanwhile.
PORTS = range(20_000, 32_000)


def free_port() -> int:
    """A random port that nothing listens on, so that concurrent test processes hardly ever get the same."""
    while True:
        with socket.socket() as probe, suppress(OSError):
            port = PORTS[secrets.randbelow(len(PORTS))]
            probe.bind(("127.0.0.1", port))
            return port


@contextmanager
def run_nginx(root: Path, work: Path, port: int | None = None) -> Iterator[NginxServer]:
    """Runs nginx with `root`; its files are in `work`. A port is given if pages contain it in URLs."""
    program = nginx_program()
    if program is None:
        raise FileNotFoundError("nginx")
    port = port or free_port()
    work.mkdir(parents=True)
    conf = work / "nginx.conf"
    conf.write_text(NGINX_CONF.format(work=work, port=port, root=root, settled=SETTLED))
    command = [program, "-p", str(work), "-c", str(conf), "-e", str(work / "error.log")]
    with (work / "stderr").open("wb") as stderr, subprocess.Popen(command, stderr=stderr) as process:
        try:
            _wait_until_ready(process, port, work)
            yield NginxServer(f"http://127.0.0.1:{port}", work / "access.log")
        finally:
            process.terminate()


def nginx_program() -> str | None:
    # Debian installs it in /usr/sbin, which may not be on PATH.
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


def _wait_until_ready(process: subprocess.Popen[bytes], port: int, work: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.01)
        else:
            return
    raise RuntimeError(f"nginx did not start: {(work / 'stderr').read_text()}")


def _get_status(origin: str, path: str) -> int:
    connection = http.client.HTTPConnection(urlsplit(origin).netloc, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


# --- a server of a dict -----------------------------------------------------------------------------------

Page = tuple[int, "Mapping[str, str]", bytes]  # status, headers, body


@attrs.frozen
class Received:
    """One request: header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Ignores clients that disconnect, as some tests do, also in the handshake."""
        if not isinstance(sys.exception(), ConnectionError | ssl.SSLError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class SiteServer:
    """Answers GET from `pages`: path (with its query) -> (status, headers, body); 404 for other paths.

    `pages` may be changed while it runs. Used as a context manager; `url` is the origin. With `tls` it is https.
    """

    def __init__(self, pages: Mapping[str, Page], tls: ssl.SSLContext | None = None) -> None:
        self.pages = dict(pages)
        self.received: list[Received] = []
        self.clients: set[int] = set()  # ports, one for each connection
        self._server = _QuietServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self.port = self._server.server_port
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        if tls is not None:
            # The handshake runs in the thread of the connection.
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)

    def requests(self) -> list[str]:
        """The requested paths so far, in order of arrival."""
        return [request.path for request in self.received]

    def page(self, request: Received) -> Page:
        """What is answered."""
        return self.pages.get(request.path, (404, {}, b""))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 16  # head and body in one packet; otherwise the client waits for the second
            timeout = 5  # a client that keeps its connection open does not block the thread forever

            def do_GET(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                site.clients.add(self.client_address[1])
                site.received.append(Received(self.command, self.path, headers))
                status, given, body = site.page(site.received[-1])
                self.send_response(status)
                for name, value in given.items():
                    self.send_header(name, value)
                bodiless = status in (204, 304)  # RFC 9110 15: these never have content
                if not bodiless and "content-length" not in {name.lower() for name in given}:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if not bodiless:
                    self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Logs nothing to stderr; requests are in `received`."""

        return Handler


def is_untouched(listener: socket.socket) -> bool:
    """Whether no connection was made to a listening, non-blocking socket."""
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return True
    return False


# --- a SOCKS proxy ----------------------------------------------------------------------------------------------


@attrs.define
class SocksServer:
    """A SOCKS 4, 4a and 5 proxy that connects to `port` of 127.0.0.1, whatever is requested.

    `requested` has (version, host, port, login) of each connection. With a `login`, "user:password", SOCKS 5 without it
    is refused. `reply` is the code of its answer (RFC 1928 6). Used as a context manager; `place` is its host and port.
    """

    port: int
    login: str = ""
    reply: int = 0
    requested: list[tuple[int, str, int, str]] = attrs.field(factory=list, init=False)
    _server: ThreadingTCPServer = attrs.field(init=False)

    def __enter__(self) -> Self:
        proxy = self

        class Handler(StreamRequestHandler):
            def handle(self) -> None:
                with suppress(ConnectionError, EOFError):
                    proxy.serve(self.request, self.rfile)

        self._server = ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}).start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    def serve(self, client: socket.socket, source: BinaryIO) -> None:
        version, number = source.read(2)
        if version == 4:
            port, address, login = int.from_bytes(source.read(2)), source.read(4), _text_to_nul(source)
            is_named = address[:3] == bytes(3)  # SOCKS 4a: 0.0.0.x, and the name behind
            host = _text_to_nul(source) if is_named else socket.inet_ntoa(address)
            granted, refused = b"\0\x5a" + bytes(6), b"\0\x5b" + bytes(6)
        else:
            login = self._negotiated(client, source, source.read(number))
            if login is None:
                return
            kind = source.read(4)[3]
            raw = source.read({1: 4, 4: 16}.get(kind) or source.read(1)[0])
            host = raw.decode() if kind == 3 else str(ip_address(raw))
            port = int.from_bytes(source.read(2))
            granted, refused = bytes([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]), bytes([5, self.reply, 0, 1, 0, 0, 0, 0, 0, 0])
        self.requested.append((version, host, port, login))
        if self.reply:
            client.sendall(refused)
            return
        with socket.create_connection(("127.0.0.1", self.port)) as server:
            client.sendall(granted)
            back = threading.Thread(target=_copy, args=(server, client))
            back.start()
            _copy(client, server)
            back.join()

    def _negotiated(self, client: socket.socket, source: BinaryIO, methods: bytes) -> str | None:
        """The login; None where it was refused (RFC 1928 3, RFC 1929 2)."""
        method = 2 if self.login else 0
        client.sendall(bytes([5, method if method in methods else 255]))
        if method == 0 or method not in methods:
            return "" if method == 0 else None
        source.read(1)
        login = ":".join(source.read(source.read(1)[0]).decode() for _ in range(2))
        client.sendall(bytes([1, int(login != self.login)]))
        return login if login == self.login else None


def _text_to_nul(source: BinaryIO) -> str:
    return b"".join(iter(lambda: source.read(1), b"\0")).decode()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
