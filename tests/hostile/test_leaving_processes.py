"""Streams that are left, in separate programs: at any place of a large site, and by exceptions in callbacks."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from large_sites import SITES, URLS, leave
from leaving_child import WAYS
from slow_server import SlowServer, all_is_over, silence_behind_one

pytestmark = pytest.mark.slow


@pytest.fixture
def server() -> Iterator[SlowServer]:
    with SlowServer() as server:
        yield server


# Reads a target once for each callback and each exception: the callback raises it while handling another one. Prints
# the exception that reached the caller, and what was still open.
RAISING = """
import asyncio, json, logging, sys, threading
import sitemap_reader as sr

logging.getLogger("asyncio").setLevel(logging.ERROR)  # slow turns of the loop are not checked here
way, target, *names = sys.argv[1:]
told = {name: {} for name in names}

def raising(error):
    def call(item):
        call.count += 1
        try:
            raise LookupError
        except LookupError:
            raise error from cause
    call.count, cause = 0, EOFError()
    return call, cause

async def read(options):
    async with sr.SitemapReader(allow_private=True) as reader, reader.urls(target, **options) as urls:
        return [url async for url in urls]

def read_sync(options):
    with sr.urls(target, allow_private=True, **options) as urls:
        return list(urls)

def errors():
    return (
        KeyboardInterrupt(), SystemExit(7), asyncio.CancelledError(), GeneratorExit(), KeyError(), ValueError(),
        sr.FetchError("theirs"), ExceptionGroup("theirs", [OSError()]), TimeoutError(),
    )

for name, error in ((name, error) for name in names for error in errors()):
    function, cause = raising(error)
    try:
        read_sync({name: function}) if way == "sync" else asyncio.run(read({name: function}))
    except BaseException as caught:
        told[name][repr(error)] = [
            caught is error, error.__cause__ is cause, type(error.__context__).__name__, function.count,
            [thread.name for thread in threading.enumerate()],
        ]
print(json.dumps(told))
"""


@pytest.mark.parametrize("way", ["sync", "async"])
def test_exception_in_a_callback_reaches_the_caller_after_close(server: SlowServer, way: str) -> None:
    names = ["follow", "on_outcome", "on_item", "on_progress"]
    program = [sys.executable, "-X", "dev", "-W", "error", "-c", RAISING, way, silence_behind_one(server), *names]
    done = subprocess.run(program, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    for name, reported in json.loads(done.stdout).items():
        assert len(reported) == 9, name
        assert list(reported.values()) == [[True, True, "LookupError", 1, ["MainThread"]]] * 9, name
    assert all_is_over(server)


# --- large sites ------------------------------------------------------------------------------------------------

GUARD_SECONDS = 30.0  # `python -m benchmarks.leaving` permits one
SMALL = 40_000
PLACES = [
    *((way, 1, URLS) for way in WAYS),  # of a million, generated while they are read
    *((way, at, SMALL) for way in ("sync", "async") for at in (SMALL // 2, SMALL - 1)),
]


@pytest.mark.smoke("sync-20000-40000-20 gzipped children")
@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize(("way", "at", "urls"), PLACES)
def test_left_stream_of_a_large_site_leaves_nothing_open(site: str, way: str, at: int, urls: int) -> None:
    """No thread, no socket and no warning: at its first URL, in the middle, and one before the end."""
    left = leave(site, way, at, urls)
    assert (left.urls, left.threads, left.sockets, left.reported) == (at, [], 0, "")
    assert left.seconds < GUARD_SECONDS
