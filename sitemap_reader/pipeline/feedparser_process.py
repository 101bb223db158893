"""Runs feedparser in a child process: the bytes of a feed go in, links with their dates as written come out.

The child process has limits of memory and time, reads the bytes from stdin, and can be killed. It never opens a file or
a URL. module_command() starts the other programs of this folder, too.
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

FeedLink = tuple[str, str | None]  # link, date text as written
Result = TypeVar("Result")

# How many children run at once, in this whole process: more would compete for time and memory.
MAX_CHILDREN = 2
_CHILD_SLOTS = threading.BoundedSemaphore(MAX_CHILDREN)
_POLL_SECONDS = 0.1


# -I keeps PYTHON* variables and the current folder out; sys.path is the parent's. The child ignores the interrupt of a
# terminal, which goes to both: the parent ends it.
_PROGRAM = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "sys.path[:] = {paths!r}; from {package}.{module} import main; sys.exit(main())"
)


def module_command(module: str) -> list[str]:
    """Returns the command that runs main() of a module of this folder; OSError if Python's path is unknown."""
    if not sys.executable:  # Python is embedded in another program
        raise OSError("sys.executable does not say where Python is")
    package, _, _ = __name__.rpartition(".")
    paths = [*(path for path in sys.path if path), str(Path(__file__).resolve().parents[2])]
    return [sys.executable, "-I", "-c", _PROGRAM.format(paths=paths, package=package, module=module)]


@attrs.frozen
class FallbackResult:
    """What feedparser found: `links` in document order, as written, or joined with an xml:base.

    `dropped` are links and dates that are not in the feed as feedparser returns them: it corrupts a raw `&`, and
    removes markup within a link. `without_link` counts the entries without a link.
    """

    links: tuple[FeedLink, ...] = ()
    dropped: tuple[str, ...] = ()
    without_link: int = 0


class ChildProcesses:
    """The child processes of one caller, which may kill() them from another thread.

    Those of each feedparser_fallback() within a call of run() are among them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[subprocess.Popen[bytes]] = []
        self._killed = False

    def run(self, work: Callable[[], Result]) -> Result:
        """Calls `work` in this thread, and returns its result."""
        token = _CURRENT.set(self)
        try:
            return work()
        finally:
            _CURRENT.reset(token)

    def kill(self) -> None:
        """Kills those that run, and prevents others from starting."""
        with self._lock:
            self._killed = True
            for child in self._running:
                child.kill()
                child.wait()

    @contextmanager
    def started(self, module: str) -> Iterator[subprocess.Popen[bytes]]:
        """Starts a program, with pipes; kills it at the end of the block. FallbackFailed if it cannot start."""
        with self._child_slot(), self._start(module) as child:
            try:
                yield child
            finally:
                with self._lock:
                    self._running.remove(child)
                child.kill()  # no effect if it has ended
                child.wait()  # Popen.__exit__ does not reap it after an interrupt

    @contextmanager
    def _child_slot(self) -> Iterator[None]:
        while not _CHILD_SLOTS.acquire(timeout=_POLL_SECONDS):
            self._raise_if_killed()
        try:
            yield
        finally:
            _CHILD_SLOTS.release()

    def _start(self, module: str) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        with self._lock:
            self._raise_if_killed()
            try:
                child = subprocess.Popen(module_command(module), stdin=pipe, stdout=pipe, stderr=pipe)  # noqa: S603  our own
            except OSError as exc:
                raise FallbackFailed(f"feedparser could not be started: {exc}") from exc
            self._running.append(child)
            return child

    def _raise_if_killed(self) -> None:
        if self._killed:
            raise FallbackFailed("feedparser was not run: the run was cancelled")


# The ChildProcesses of the current thread.
_CURRENT: ContextVar[ChildProcesses | None] = ContextVar("_CURRENT", default=None)


def feedparser_fallback(
    body: bytes,
    url: str | None = None,
    *,
    limits: Limits = Limits(),  # noqa: B008  frozen
) -> FallbackResult:
    """Returns the links of a feed that only feedparser can read; `url` is its own, its bytes are UTF-8.

    Waits until fewer than two children run, then blocks for at most `limits.fallback_seconds`. Raises FallbackFailed
    where the body is over `limits.max_fallback_bytes`, or the child needs too much time or memory.
    """
    if len(body) > limits.max_fallback_bytes:
        raise FallbackFailed(
            f"the feed has {len(body):,} bytes, feedparser is given {limits.max_fallback_bytes:,}; "
            "max_fallback_bytes permits more"
        )
    request = json.dumps([limits.fallback_seconds, limits.fallback_memory_bytes, url or ""]).encode() + b"\n" + body
    children = _CURRENT.get() or ChildProcesses()
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
        raise FallbackFailed(f"feedparser gave up: {_failure_reason(code, errors, limits)}")
    result = json.loads(answer)
    links = tuple((link, date) for link, date in result["links"])
    return FallbackResult(links, tuple(result["dropped"]), result["without_link"])


def _failure_reason(code: int, errors: bytes, limits: Limits) -> str:
    lines = errors.decode("utf-8", "replace").strip().splitlines() or [f"exit {code}"]
    if "MemoryError" in lines[-1]:
        memory = f"{limits.fallback_memory_bytes / MIB:,g} MiB of memory"
        return f"it needs more than {memory}; fallback_memory_bytes permits more"
    return lines[-1][:200]
