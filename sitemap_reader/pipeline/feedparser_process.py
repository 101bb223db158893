"""Runs feedparser in a child process: the bytes of a feed go in, links with their dates as written come out.

The child has limits of memory and time, reads the bytes from stdin, can be killed, and never opens a file or a URL.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import attrs

from ..model.errors import FallbackFailed
from ..model.limits import MIB, Limits

FeedLink = tuple[str, str | None]  # link, date text as written

# How many children run at once, in this whole process: more would compete for time and memory.
MAX_CHILDREN = 2
_CHILD_SLOTS = threading.BoundedSemaphore(MAX_CHILDREN)
_POLL_SECONDS = 0.1

# Set by the caller of feedparser_fallback() in its context: once this event is set, the child is killed.
CANCELLED: ContextVar[threading.Event | None] = ContextVar("CANCELLED", default=None)

# -I keeps PYTHON* variables and the current folder out; sys.path is the parent's. The child ignores the interrupt of a
# terminal, which goes to both: the parent ends it.
_PROGRAM = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "sys.path[:] = {paths!r}; from {package}.feedparser_main import main; sys.exit(main())"
)


@attrs.frozen
class FallbackResult:
    """What feedparser found: `links` in document order, as written.

    `dropped` are links and dates that are not in the feed as feedparser returns them: it corrupts a raw `&`, removes
    markup within a link, and joins a relative one with an xml:base, not always its own. `without_link` counts the
    entries without a link.
    """

    links: tuple[FeedLink, ...] = ()
    dropped: tuple[str, ...] = ()
    without_link: int = 0


def feedparser_fallback(
    body: bytes,
    url: str | None = None,
    *,
    limits: Limits = Limits(),  # noqa: B008  frozen
) -> FallbackResult:
    """The links of a feed that only feedparser can read; its bytes are UTF-8, and `url` is not needed for them.

    Waits until fewer than two children run, then blocks for at most `limits.fallback_seconds`. FallbackFailed where the
    body is over `limits.max_fallback_bytes`, or the child needs too much time or memory.
    """
    if len(body) > limits.max_fallback_bytes:
        raise FallbackFailed(
            f"the feed has {len(body):,} bytes, feedparser is given {limits.max_fallback_bytes:,}; "
            "max_fallback_bytes permits more"
        )
    request = json.dumps([limits.fallback_seconds, limits.fallback_memory_bytes]).encode() + b"\n" + body
    cancelled = CANCELLED.get() or threading.Event()
    with _child_slot(cancelled), _start(request) as child:
        try:
            answer, errors = _communicate(child, limits.fallback_seconds, cancelled)
        finally:
            child.kill()  # no effect if it has ended
            child.wait()  # Popen.__exit__ does not reap it after an interrupt
    return _result(child.returncode, answer, errors, limits)


@contextmanager
def _child_slot(cancelled: threading.Event) -> Iterator[None]:
    while not _CHILD_SLOTS.acquire(timeout=_POLL_SECONDS):
        _check(cancelled)
    try:
        _check(cancelled)
        yield
    finally:
        _CHILD_SLOTS.release()


def _check(cancelled: threading.Event) -> None:
    if cancelled.is_set():
        raise FallbackFailed("feedparser was stopped: the run was cancelled")


def _start(request: bytes) -> subprocess.Popen[bytes]:
    import tempfile  # lazy: hardly any crawl needs it

    package, _, _ = __name__.rpartition(".")
    pipe = subprocess.PIPE
    try:
        if not sys.executable:  # Python is embedded in another program
            raise OSError("sys.executable does not say where Python is")
        paths = [*(path for path in sys.path if path), str(Path(__file__).resolve().parents[2])]
        command = [sys.executable, "-I", "-c", _PROGRAM.format(paths=paths, package=package)]
        # A file: communicate() sends no input after a timeout.
        with tempfile.TemporaryFile() as stdin:
            stdin.write(request)
            stdin.seek(0)
            return subprocess.Popen(command, stdin=stdin, stdout=pipe, stderr=pipe)  # noqa: S603  our own
    except OSError as exc:
        raise FallbackFailed(f"feedparser could not be started: {exc}") from exc


def _communicate(child: subprocess.Popen[bytes], seconds: float, cancelled: threading.Event) -> tuple[bytes, bytes]:
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        try:
            return child.communicate(timeout=min(left, _POLL_SECONDS))
        except subprocess.TimeoutExpired:
            _check(cancelled)
    raise FallbackFailed(f"feedparser was stopped after {seconds:g} s; fallback_seconds permits more")


def _result(code: int, answer: bytes, errors: bytes, limits: Limits) -> FallbackResult:
    if code != 0:
        last = (errors.decode("utf-8", "replace").strip().splitlines() or [f"exit {code}"])[-1]
        memory = f"{limits.fallback_memory_bytes / MIB:,g} MiB of memory"
        more = f"it needs more than {memory}; fallback_memory_bytes permits more"
        raise FallbackFailed(f"feedparser gave up: {more if 'MemoryError' in last else last[:200]}")
    result = json.loads(answer)
    links = tuple((link, date) for link, date in result["links"])
    return FallbackResult(links, tuple(result["dropped"]), result["without_link"])
