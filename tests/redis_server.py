"""A redis-server on loopback that writes every command to its disk, and can be killed and started again."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import redis
from servers import free_port

START_SECONDS = 20.0
PROGRAM = shutil.which("redis-server") or shutil.which("redis-server", path="/usr/sbin")
CHECK = shutil.which("redis-check-aof")


class RedisServer:
    """Started on entering; `password` is that of the default user."""

    def __init__(self, work: Path, password: str = "") -> None:
        self.port = free_port()
        self.url = f"redis://{f':{password}@' if password else ''}127.0.0.1:{self.port}"
        self._work = work
        self._password = password
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> RedisServer:
        self._work.mkdir(exist_ok=True)
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.kill()

    @property
    def file(self) -> Path:
        """The commands since the first start, as Redis 7 names it."""
        return self._work / "appendonlydir" / "appendonly.aof.1.incr.aof"

    def start(self) -> None:
        """Starts with a checked file: 7.0.15 drops half of a transaction only until the start after the next."""
        assert PROGRAM is not None
        if CHECK is not None and (files := self.file.with_name("appendonly.aof.manifest")).exists():
            subprocess.run([CHECK, "--fix", files], input=b"y\n", stdout=subprocess.DEVNULL, check=True)
        options = {"bind": "127.0.0.1", "port": self.port, "dir": self._work, "save": "", "appendonly": "yes",
                   "appendfsync": "always", "requirepass": self._password, "logfile": self._work / "log"}  # fmt: skip
        command = [PROGRAM, *(str(part) for name, value in options.items() for part in (f"--{name}", value))]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            with suppress(redis.RedisError), self.client() as client:  # refused, or it still reads its file
                client.ping()
                return
            time.sleep(0.01)
        raise RuntimeError(f"redis-server did not start: {(self._work / 'log').read_text()}")

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def client(self) -> Any:
        return redis.Redis.from_url(self.url)

    def messages(self, stream: str = "sitemap-changes") -> list[dict[bytes, bytes]]:
        """The fields of the messages of a stream, oldest first."""
        with self.client() as client:
            return [fields for _, fields in client.xrange(stream)]
