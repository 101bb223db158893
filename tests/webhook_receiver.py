"""A receiver of webhooks on loopback."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import orjson
import pytest


class Receiver:
    """Receives webhooks in threads: the numbers in each request, by its id.

    It answers with `status`, after so many seconds; `requests` are those that it answered with success.
    """

    def __init__(self) -> None:
        self.status = 204
        self.seconds = 0.0
        self.requests: list[tuple[str, tuple[int, ...]]] = []
        self.ended = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 10

            def do_POST(self) -> None:
                body = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
                numbers = tuple(change["seq"] for change in body["data"]["changes"])
                status = receiver.status
                if status < 300:
                    receiver.requests.append((self.headers["webhook-id"], numbers))
                receiver.ended.wait(receiver.seconds)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Logs nothing."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """Ignores clients that were killed."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A Receiver that listens."""
    started = Receiver()
    thread = threading.Thread(target=started.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield started
    finally:
        started.ended.set()
        started.server.shutdown()
        thread.join()
        started.server.server_close()
