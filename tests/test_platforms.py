"""What differs on Windows, as far as it can be tried elsewhere: names of files, targets, pipes and signals."""

import asyncio
import errno
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sitemap_reader as sr
from sitemap_reader.cli import Interrupts
from sitemap_reader.client import find_target
from sitemap_reader.fetch import replay, replay_path
from sitemap_reader.serialize import output_files
from sitemap_reader.watching import api

URLS = [
    "http://shop.example:8080/",
    "https://shop.example/CON",
    "https://shop.example/con.xml",
    "https://shop.example/com1.xml",
    "https://shop.example/%43ON",
    "https://shop.example/console",
    "https://shop.example/map",
    "https://shop.example/map.",
    "https://shop.example/map..",
    "https://shop.example/map%2E",
    "https://shop.example/a:b/c*d?e=<f>|\"g'",
    "https://shop.example/nul/a.xml",
]


def test_names_of_a_recording_are_valid_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "_ON_WINDOWS", True)
    paths = [replay_path(Path("site"), url).as_posix() for url in URLS]
    assert paths[:3] == [
        "site/http/shop.example%3A8080/%2F",
        "site/https/shop.example/%%43ON",
        "site/https/shop.example/%%63on.xml",
    ]
    assert len({path.lower() for path in paths}) == len(URLS)
    names = [name for path in paths for name in path.split("/")]
    assert not [name for name in names if set(name) & set('<>:"|?*\\') or name.endswith((".", " "))]
    assert not [name for name in names if name.partition(".")[0].upper() in ("CON", "NUL", "AUX", "PRN", "COM1")]


@pytest.mark.parametrize("name", ["C:\\sites\\shop", "C:/sites/shop.d", "c:shop.d", "sites\\shop.d", "a\\b.xml"])
def test_a_path_of_windows_is_never_a_host(name: str) -> None:
    with pytest.raises(sr.UsageError, match="there is no file or folder"):
        find_target(name)


@pytest.mark.parametrize("name", ["localhost:8080", "x.example:8080/map.xml"])
def test_a_port_is_no_drive(name: str) -> None:
    assert find_target(name).seeds


class _ClosedPipe:
    """What writing to a pipe without a reader raises on Windows."""

    def write(self, data: bytes) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")


@pytest.mark.parametrize(
    ("platform", "error", "number"), [("win32", BrokenPipeError, errno.EPIPE), ("linux", OSError, errno.EINVAL)]
)
def test_a_pipe_that_is_not_read_any_more_is_a_broken_pipe(
    monkeypatch: pytest.MonkeyPatch, platform: str, error: type[OSError], number: int
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with output_files.OutputStream(writing, Interrupts()) as stream:
        monkeypatch.setattr(output_files, "sys", SimpleNamespace(platform=platform))
        monkeypatch.setattr(output_files, "super", _ClosedPipe, raising=False)
        with pytest.raises(error, match=rf"^\[Errno {number}\]"):
            stream.write(b"x")


@pytest.fixture
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
async def test_a_signal_stops_a_watch_where_the_loop_takes_no_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[str] = []
    watcher: Any = SimpleNamespace(stop=lambda: stopped.append("stop"))
    loop = asyncio.get_running_loop()

    def refuse(*arguments: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(loop, "add_signal_handler", refuse)
    monkeypatch.setattr(loop, "remove_signal_handler", refuse)
    with api._StoppedBySignals(watcher):
        signal.raise_signal(signal.SIGTERM)
        await asyncio.sleep(0.05)
        assert stopped == ["stop"]
