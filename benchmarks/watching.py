"""Runs a command to its end: a command in; its time, the peak memory of its processes, and what it printed out.

Memory is what Linux calls VmHWM, read while the processes live; elsewhere it is not known. A command that takes too
long is ended with all that it started. A number other than 0 is a CommandFailed, unless others are expected.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

PROC = Path("/proc")
SAMPLE_SECONDS = 0.05
SAMPLES_A_SEARCH = 8  # searching for new processes costs as much as sampling fifty
_TOLD = 300  # characters of an error


class CommandFailed(Exception):
    """It ended with an error, or did not end."""


@attrs.frozen
class Watched:
    """The result of a command.

    The peaks are in MB: of the process itself, of the largest that it started, and their sum.

    `cpu_seconds` are those of all its processes, as far as each was waited for by the one that started it.
    """

    seconds: float
    printed: str
    megabytes: float | None = None
    child_megabytes: float | None = None
    all_megabytes: float | None = None
    cpu_seconds: float = 0.0


class _Peaks:
    """Samples the peak memory of the processes of one session, from a thread."""

    def __init__(self, session: int) -> None:
        self._session = session
        self._kib: dict[int, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()

    def stop(self) -> tuple[float | None, float | None, float | None]:
        self._over.set()
        self._thread.join()
        total = sum(self._kib.values()) or None
        own = self._kib.pop(self._session, None)
        child = max(self._kib.values(), default=None)
        return tuple(None if kib is None else kib / 1024 for kib in (own, child, total))  # type: ignore[return-value]

    def _sample(self) -> None:
        known, turn = {self._session}, 0
        while not self._over.wait(SAMPLE_SECONDS):
            turn += 1
            if turn % SAMPLES_A_SEARCH == 0:
                known |= _session(self._session)
            for process in known:
                if kib := _peak_kib(process):
                    self._kib[process] = kib


def _session(session: int) -> set[int]:
    """The processes of a session. The sixth field of stat is its number; the second may hold anything in brackets."""
    found = set()
    for process in filter(str.isdigit, os.listdir(PROC)):
        with suppress(OSError):  # it is over by now
            if int((PROC / process / "stat").read_text().rpartition(")")[2].split()[3]) == session:
                found.add(int(process))
    return found


def _peak_kib(process: int) -> int | None:
    with suppress(OSError):  # it is over by now
        _, found, rest = (PROC / str(process) / "status").read_text().partition("VmHWM:")
        return int(rest.split()[0]) if found else None
    return None


def watched(
    command: Sequence[str | Path],
    *,
    most_seconds: float,
    environment: Mapping[str, str],
    stdin: str | Path = os.devnull,
    codes: Collection[int] = (0,),
) -> Watched:
    """The command's end, with `environment` on top of ours."""
    used, started = _cpu_seconds(), time.perf_counter()
    with open(stdin, "rb") as read:
        process = subprocess.Popen(  # noqa: S603 - our own lists
            command,
            stdin=read,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    peaks = _Peaks(process.pid) if PROC.exists() else None
    late = threading.Event()

    def end() -> None:
        late.set()
        with suppress(ProcessLookupError):  # it has just ended
            os.killpg(process.pid, signal.SIGKILL)

    # communicate(timeout=...) checks the clock only from time to time, which would round the measured time.
    timer = threading.Timer(most_seconds, end)
    timer.start()
    try:
        printed, errors = process.communicate()
        seconds = time.perf_counter() - started
    finally:
        timer.cancel()
        if process.poll() is None:
            end()
            process.wait()
        peaks_found = peaks.stop() if peaks else (None, None, None)
    if late.is_set():
        raise CommandFailed(f"not done after {most_seconds:g} s")
    if process.returncode not in codes:
        lines = errors.strip().splitlines() or ["no message"]
        raise CommandFailed(f"ended with {process.returncode}: {lines[-1][:_TOLD]}")
    return Watched(seconds, printed, *peaks_found, cpu_seconds=_cpu_seconds() - used)


def _cpu_seconds() -> float:
    """Of the processes that we have waited for, and those that these have."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
