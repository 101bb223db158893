"""`watch`: visits sites without end, and delivers their changes to sinks."""

from __future__ import annotations

import asyncio
import os
import queue
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from io import FileIO
from typing import TYPE_CHECKING, Any, TextIO

import attrs

from ..client.crawler import crawler_of
from ..client.targets import read_target_list
from ..model.errors import UsageError
from ..model.options import part_of
from ..model.problems import count_of
from ..scale.hosts import read_hosts
from ..serialize.dumps import STDIN, is_dump_name
from ..watching.api import SinkPlan, make_watcher, run_watch
from ..watching.delivery import DeadLetters, redeliver
from ..watching.options import BudgetOptions
from ..watching.server import TOKEN_VARIABLE, ServerPlan
from ..watching.sinks import Rotation, WebhookSink, names_file, sink_for
from .exits import Exit
from .messages import Console, bytes_on_stdin
from .options import parse_size

if TYPE_CHECKING:
    from ..scale.hosts import HostList
    from ..watching.watched_site import SiteVisit

_KINDS = {"new": "new", "updated": "updated", "removed": "removed", "first_reading": "in a first reading"}
_SECRETS = "SITEMAP_READER_WEBHOOK_SECRET"
_MAX_WAITING_LINES = 1_000  # for a stderr that is not read
_LAST_LINES_SECONDS = 1.0  # in which the last lines are written at the end of the watch


@contextmanager
def unblocked_stderr() -> Iterator[None]:
    """In this block nothing that is written to sys.stderr waits for its reader, not even logging or warnings.

    A pipe that is not read would block the event loop, and so the server, all sinks and the handling of signals.
    """
    stderr: Any = sys.stderr
    try:
        lines = _Lines(stderr, FileIO(stderr.fileno(), "w", closefd=False))
    except (OSError, ValueError, AttributeError):  # closed, or no file
        yield
        return
    thread = threading.Thread(target=lines.pass_on, name="stderr", daemon=True)
    thread.start()
    sys.stderr = lines
    try:
        yield
    finally:
        sys.stderr = stderr
        if lines.put(None):
            thread.join(_LAST_LINES_SECONDS)


@attrs.define
class _Lines:
    """A text stream that takes lines without waiting; more than _MAX_WAITING_LINES are lost, and counted."""

    _stderr: TextIO
    _target: FileIO  # of the same file: Python needs the lock of sys.stderr at its end, also while a write waits
    _waiting: queue.Queue[str | None] = attrs.field(factory=lambda: queue.Queue(_MAX_WAITING_LINES), init=False)
    _begun: str = attrs.field(default="", init=False)  # a line without its end
    _lost: int = attrs.field(default=0, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stderr, name)  # isatty(), encoding and others

    def write(self, text: str) -> int:
        with self._lock:
            *lines, self._begun = (self._begun + text).split("\n")
            for line in lines:
                self._lost += not self.put(f"{line}\n")
        return len(text)

    def flush(self) -> None:
        """Each line is written at once."""

    def put(self, line: str | None) -> bool:
        """Whether the line waits from now on: not while stderr is full. None ends pass_on()."""
        try:
            self._waiting.put_nowait(line)
        except queue.Full:
            return False
        return True

    def pass_on(self) -> None:
        """Writes the lines as they come, until None."""
        while (line := self._waiting.get()) is not None:
            with self._lock:
                lost, self._lost = self._lost, 0
            line += f"note {lost:,} messages were lost, as stderr was full\n" if lost else ""
            with suppress(OSError):  # closed, or a full disk: the data matters more
                self._target.write(line.encode(self._stderr.encoding, "replace"))


@unblocked_stderr()
def run(
    *,
    hosts: Sequence[str],
    state: str,
    sinks: Sequence[str],
    rotate: str | None,
    gzip: bool,
    dead_letter_hours: int,
    redeliver: bool,
    keep_days: int,
    listen: str | None,
    accept: Any,
    server_names: Sequence[str],
    behind_proxy: bool,
    quiet: bool,
    verbose: bool,
    **watching: Any,
) -> Exit:
    """Watches the hosts until a signal; `watching` are keywords of watch()."""
    console = Console(quiet=quiet, verbose=verbose)
    plans = _sink_plans(sinks or ([] if listen else ["-"]), state, _rotation(rotate, gzip=gzip), dead_letter_hours)
    if redeliver:
        return asyncio.run(_redeliver(plans, console))
    if not hosts:
        raise UsageError("give HOSTS: hosts such as example.com, or a file with one a line")
    server = None
    if listen is not None:
        token = os.environ.get(TOKEN_VARIABLE) or None
        server = ServerPlan(listen, accept, token, tuple(server_names), behind_proxy)
    listed = _read_hosts(hosts)
    for number, why in listed.refused:
        console.error(f"host {number}: {why}")
    on_visit = partial(_show_visit, console)
    keep_log = timedelta(days=keep_days)
    watcher = make_watcher(
        listed,
        state,
        crawler_of(watching),
        keep_log=keep_log,
        on_visit=on_visit,
        survives_errors=True,
        **part_of(BudgetOptions, watching),
    )
    try:
        asyncio.run(run_watch(watcher, plans, server, report=console.note, handles_signals=True))
    except BrokenPipeError:
        if "-" not in sinks and sinks:
            raise
    counts = watcher.counters
    changes = ", ".join(_in_words(counts.changes) or ["no change"])
    visits, requests = counts.visits.total(), counts.requests.total()
    ending = f"{changes}; {count_of(visits, 'visit')}, {count_of(requests, 'request')}"
    return console.end(ending, None, [Exit.COMPLETE])


def _read_hosts(named: Sequence[str]) -> HostList:
    hosts: list[str] = []
    for name in named:
        if name == STDIN:
            hosts += [each for _, each in read_target_list(bytes_on_stdin())]
        elif is_dump_name(name):  # a file, or the name of one that is missing
            hosts += read_hosts(name).targets
        else:
            hosts.append(name)
    return read_hosts(hosts)


def _rotation(when: str | None, *, gzip: bool) -> Rotation | None:
    if when is None and not gzip:
        return None
    size = None if when in (None, "daily") else parse_size(when)
    if when not in (None, "daily") and size is None:
        raise UsageError(f"--rotate: {when!r} is neither daily nor a size", remedy="write it as daily, 100M or 1G")
    return Rotation(size, is_daily=when == "daily", is_compressed=gzip)


def _sink_plans(names: Sequence[str], state: str, rotation: Rotation | None, hours: int) -> list[SinkPlan]:
    secrets = os.environ.get(_SECRETS, "").split()
    plans = []
    for name in dict.fromkeys(names):
        sink = sink_for(name, secrets=secrets, rotation=rotation if names_file(name) else None)
        letters = DeadLetters.beside(state, sink.name, max_hours=hours)
        plans.append(SinkPlan(sink, letters if isinstance(sink, WebhookSink) else None))
    if rotation is not None and not any(map(names_file, names)):
        raise UsageError("--rotate: only a file is rotated: name one (--to FILE)")
    return plans


async def _redeliver(plans: Sequence[SinkPlan], console: Console) -> Exit:
    """Delivers dead letters once more; PARTIAL if some could not be delivered."""
    letters = [plan for plan in plans if plan.dead_letters is not None]
    if not letters:
        raise UsageError("--redeliver: only webhooks have dead letters: name one (--webhook URL)")
    failed = 0
    for plan in letters:
        assert plan.dead_letters is not None  # noqa: S101 - for the type checker
        done = await redeliver(plan.dead_letters, plan.sink)
        failed += done.failed
        console.note(f"{plan.sink.name}: {done.delivered:,} delivered, {done.failed:,} failed")
    return Exit.PARTIAL if failed else Exit.COMPLETE


def _in_words(changes: Mapping[str, int]) -> list[str]:
    return [f"{changes[kind]:,} {words}" for kind, words in _KINDS.items() if changes[kind]]


def _show_visit(console: Console, visit: SiteVisit) -> None:
    """Prints a line with what a visit found, if verbose; and once why a site of which nothing is known fails."""
    parts = [count_of(visit.requests, "request"), *_in_words({kind: getattr(visit, kind) for kind in _KINDS})]
    if visit.failures:
        again = f" ({visit.failures:,} times in a row)" if visit.failures > 1 else ""
        parts.append(f"fails{again}: {visit.cause}")
        if not visit.documents:
            console.error(f"{visit.site} cannot be read, and is tried again later: {visit.cause}")
    console.detail(f"{visit.site}: {', '.join(parts)}")
