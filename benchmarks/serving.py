"""Document roots on 127.0.0.1, each by a server in a process of its own.

serve() is nginx where that is installed, else the small server of this file, which delays each response if SECONDS is
given: `python -m benchmarks.serving ROOT PORT SECONDS`.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from servers import free_port, nginx_program, run_nginx  # of the tests

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent

__all__ = ["free_port", "nginx_program", "serve", "serve_late"]

START_SECONDS = 10.0
_ANSWER = "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
_KINDS = {".txt": "text/plain", ".xml": "application/xml", ".gz": "application/gzip"}


@contextmanager
def serve(root: Path, port: int, work: Path) -> Iterator[None]:
    """The root at the port, as fast as can be; what nginx writes goes to `work`."""
    with run_nginx(root, work, port) if nginx_program() else serve_late(root, port, 0):
        yield


@contextmanager
def serve_late(root: Path, port: int, seconds: float) -> Iterator[None]:
    """The root at the port, every answer so late."""
    command = [sys.executable, "-m", "benchmarks.serving", str(root), str(port), str(seconds)]
    with subprocess.Popen(command, cwd=HERE.parent) as process:  # noqa: S603 - ourselves
        try:
            _wait_until_ready(process, port)
            yield
        finally:
            process.terminate()


def _wait_until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.01)
        else:
            return
    raise RuntimeError("the server did not start")


# --- the small server ---


def _answer(root: Path, path: str) -> tuple[str, bytes]:
    """Head and body. The paths are those of our own readers: files of the root, or nothing."""
    file = root / path.partition("?")[0].lstrip("/")
    if not file.is_file():
        return _ANSWER.format(status="404 Not Found", kind="text/plain", length=0), b""
    body = file.read_bytes()
    kind = _KINDS.get(file.suffix, "application/octet-stream")
    return _ANSWER.format(status="200 OK", kind=kind, length=len(body)), body


async def _listen(root: Path, port: int, seconds: float) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                method, path, _ = request.decode("latin-1").split(" ", 2)
                await asyncio.sleep(seconds)
                head, body = _answer(root, path)
                writer.write(head.encode() + (b"" if method == "HEAD" else body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()  # the reader has disconnected

    server = await asyncio.start_server(talk, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_listen(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
