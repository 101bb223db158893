"""feedparser in a process that can be killed.

The bytes of a feed go in, links with their dates as written come out. The child has a cap on memory and on time,
gets the bytes on its stdin, and never opens a file or a URL, whatever the bytes spell.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import attrs

from ..model.errors import FallbackFailed
from ..model.limits import MIB, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# ----------------------------------------------------------------------------------------------------
# Programs of our own, each in a Python process of its own: the name of a room in, a command to start it out.


# -I keeps PYTHON* variables and the current folder out; what the parent can import, the child can. An interrupt of a
# terminal goes to parent and child: what becomes of it is the parent's to say.
_PROGRAM = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "sys.path[:] = {paths!r}; from {package}.{room} import main; sys.exit(main())"
)


def command_of(room: str) -> list[str]:
    """What runs main() of a room of crawl/; OSError where nobody knows which Python this is."""
    if not sys.executable:  # Python within another program
        raise OSError("sys.executable does not say where Python is")
    package, _, _ = __name__.rpartition(".")
    paths = [*(path for path in sys.path if path), str(Path(__file__).resolve().parents[2])]
    return [sys.executable, "-I", "-c", _PROGRAM.format(paths=paths, package=package, room=room)]


FeedLink = tuple[str, str | None]  # link, date text as written
Result = TypeVar("Result")

# How many there are at once, in all of this process: more would take each other's time, and the machine's memory.
SEATS = 2
_SEATS = threading.BoundedSemaphore(SEATS)
_LOOK_AGAIN_SECONDS = 0.1


@attrs.frozen
class FallbackResult:
    """What feedparser found: `links` in document order, as written unless an xml:base says more.

    `dropped` are links and dates that do not stand in the feed as feedparser gives them: it corrupts a raw `&`, and
    leaves markup within a link out. `without_link` counts the entries that have none.
    """

    links: tuple[FeedLink, ...] = ()
    dropped: tuple[str, ...] = ()
    without_link: int = 0


class Children:
    """The children of one caller, who may end them from another thread: nothing that is killed can be waited for long.

    watch() some work, and every feedparser_fallback() in it is among them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[subprocess.Popen[bytes]] = []
        self._killed = False

    def watch(self, work: Callable[[], Result]) -> Result:
        """What `work` gives, which is called in this thread."""
        token = _WATCHED.set(self)
        try:
            return work()
        finally:
            _WATCHED.reset(token)

    def kill(self) -> None:
        """Ends those that run, and any that are still to begin."""
        with self._lock:
            self._killed = True
            for child in self._running:
                child.kill()
                child.wait()

    @contextmanager
    def started(self, room: str) -> Iterator[subprocess.Popen[bytes]]:
        """The program of a room, with pipes; at the end of the block it is dead. FallbackFailed if it cannot start."""
        with self._seated(), self._begun(room) as child:
            try:
                yield child
            finally:
                with self._lock:
                    self._running.remove(child)
                child.kill()  # does nothing where it has come to its end
                child.wait()  # Popen's own end leaves it unreaped after an interrupt

    @contextmanager
    def _seated(self) -> Iterator[None]:
        while not _SEATS.acquire(timeout=_LOOK_AGAIN_SECONDS):
            self._refuse_if_killed()
        try:
            yield
        finally:
            _SEATS.release()

    def _begun(self, room: str) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        with self._lock:
            self._refuse_if_killed()
            try:
                child = subprocess.Popen(command_of(room), stdin=pipe, stdout=pipe, stderr=pipe)  # noqa: S603  our own
            except OSError as exc:
                raise FallbackFailed(f"feedparser could not be started: {exc}") from exc
            self._running.append(child)
            return child

    def _refuse_if_killed(self) -> None:
        if self._killed:
            raise FallbackFailed("feedparser was not asked: nobody waits for it any more")


# Whose children those are that a thread starts.
_WATCHED: ContextVar[Children | None] = ContextVar("_WATCHED", default=None)


def feedparser_fallback(
    body: bytes,
    url: str | None = None,
    *,
    limits: Limits = Limits(),  # noqa: B008  frozen
) -> FallbackResult:
    """The links of a feed that only feedparser can read; `url` is where it came from. The bytes are UTF-8.

    Blocks for at most `limits.fallback_seconds` once it is its turn: a process has two children at once. FallbackFailed
    where the body is over `limits.max_fallback_bytes`, or the child takes too much time or memory.
    """
    if len(body) > limits.max_fallback_bytes:
        raise FallbackFailed(
            f"the feed has {len(body):,} bytes, feedparser is given {limits.max_fallback_bytes:,}; "
            "max_fallback_bytes permits more"
        )
    request = json.dumps([limits.fallback_seconds, limits.fallback_memory_bytes, url or ""]).encode() + b"\n" + body
    children = _WATCHED.get() or Children()
    with children.started("feedparser_main") as child:
        try:
            answer, errors = child.communicate(request, limits.fallback_seconds)
        except subprocess.TimeoutExpired:
            raise FallbackFailed(
                f"feedparser was stopped after {limits.fallback_seconds:g} s; fallback_seconds permits more"
            ) from None
    return _result(child.returncode, answer, errors, limits)


def _result(code: int, answer: bytes, errors: bytes, limits: Limits) -> FallbackResult:
    if code != 0:
        raise FallbackFailed(f"feedparser gave up: {_last_words(code, errors, limits)}")
    told = json.loads(answer)
    links = tuple((link, date) for link, date in told["links"])
    return FallbackResult(links, tuple(told["dropped"]), told["without_link"])


def _last_words(code: int, errors: bytes, limits: Limits) -> str:
    lines = errors.decode("utf-8", "replace").strip().splitlines() or [f"exit {code}"]
    if "MemoryError" in lines[-1]:
        memory = f"{limits.fallback_memory_bytes / MIB:,g} MiB of memory"
        return f"it needs more than {memory}; fallback_memory_bytes permits more"
    return lines[-1][:200]
