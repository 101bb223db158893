"""watch(): changes of many sites as they are found, for a `for` loop or, of a SitemapReader, for `async for`; and the
parts of a watch from its keywords."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, closing, suppress
from contextvars import ContextVar
from datetime import timedelta
from inspect import GEN_CLOSED, GEN_SUSPENDED, getgeneratorstate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self, Unpack, cast

import attrs

from ..client.crawler import Crawler, crawler_of
from ..client.keywords import UrlQuery, checked_keywords
from ..client.options import PatternOptions, SyncOptions
from ..client.streams import Answer, Bridge
from ..client.summary import count_of
from ..client.targets import site_target
from ..model.errors import StateError, UsageError
from ..model.options import part_of, with_defaults
from ..pipeline.crawl import first_failure
from ..scale.folder import part_name
from ..scale.hosts import domain_of, read_hosts, shard_of
from ..serialize.jsonl import from_json
from ..state.state import State, site_name
from ..state.sync import settings_difference
from .budget import Budget
from .change_feed import end, first_of
from .delivery import Delivery
from .options import BudgetOptions, DeliveryOptions, ReaderWatchOptions, WatchOptions
from .pings import PingReceiver, ping_url, robots_reader
from .server import ServerPlan, check_token, parse_listen, serve
from .sinks import DeliveryFailed, sinks_of
from .watcher import KEEP_LOG, Watcher, WatchPlan

if TYPE_CHECKING:
    from ..client.targets import Target
    from ..model.records import WatchedChange
    from ..scale.hosts import HostList
    from ..state.state import LogEntry
    from .delivery import DeadLetters
    from .sinks import Sink
    from .watched_site import SiteStatus, SiteVisit, Totals


STOP_SECONDS: Final = 6.0  # from stop() until deliveries that are under way are cancelled
_LEAST_DRAIN_SECONDS: Final = 1.0  # for deliveries, also where visits ended late
_SECOND_SIGNAL_SECONDS: Final = 1.0


@attrs.define
class SinkPlan:
    """A sink, and where the entries go that its receiver rejects; None: they are tried without end."""

    sink: Sink
    dead_letters: DeadLetters | None = None


async def run_watch(
    watcher: Watcher,
    sinks: Sequence[SinkPlan],
    server: ServerPlan | None = None,
    *,
    report: Callable[[str], object] = lambda text: None,
    handles_signals: bool = False,
) -> None:
    """Runs the watch until watcher.stop(), or with `handles_signals`, as the last act of a process, until SIGINT or
    SIGTERM.

    BrokenPipeError where the reader of stdout has ended; StateError where the state cannot be read.
    """
    async with watcher, AsyncExitStack() as stack:
        if handles_signals:
            stack.enter_context(_StoppedBySignals(watcher))
        plan = watcher.plan
        deliveries = [
            Delivery(watcher.feed, each.sink, each.dead_letters, report=report, sleep=plan.sleep, clock=plan.clock)
            for each in sinks
        ]
        for delivery in deliveries:
            await watcher.feed.cursor(delivery.sink.name)  # before the first visit: a new sink receives its changes
        watcher.deliveries, watcher.report = deliveries, report
        sites, budget = watcher.watched, plan.budget
        documents = count_of(sum(len(site.documents) for site in sites), "sitemap")
        limits = f"up to {budget.per_hour:,.0f} requests an hour, {budget.host_rate:,.0f} a domain"
        report(f"watching {count_of(len(sites), 'site')}, {documents} known; {limits}")
        background = [delivery.start() for delivery in deliveries]
        if server is not None:
            read_robots = robots_reader(plan.crawler.fetcher) if server.accept == "verified" else None
            pings = PingReceiver(watcher.knows, watcher.ping, accept=server.accept, read_robots=read_robots)
            options = attrs.asdict(server, filter=attrs.filters.exclude("listen", "accept"))
            address = await stack.enter_async_context(serve(watcher, pings, server.listen, report=report, **options))
            report(f"listening on {address.url}")
            background.append(asyncio.create_task(pings.run()))
        visiting = asyncio.create_task(watcher.run())
        try:
            pending = {visiting, *background}
            while not visiting.done():
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()  # raises what one of the others has raised
        finally:
            watcher.stop()
            await asyncio.gather(visiting, return_exceptions=True)
            left = max(STOP_SECONDS - watcher.stopping_seconds, _LEAST_DRAIN_SECONDS)
            drained = await asyncio.gather(*(each.drain(left) for each in deliveries), return_exceptions=True)
            await end(background)
        for error in drained:
            if isinstance(error, BaseException):
                raise error
        for task in background:
            if not task.cancelled():
                task.result()


class _StoppedBySignals:
    """A context in which SIGINT and SIGTERM stop a watch; one that comes a second later or more ends the process.

    `timeout` and some supervisors send a signal twice.
    """

    _SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._loop = asyncio.get_running_loop()
        self._stopped_at: float | None = None

    def __enter__(self) -> None:
        for number in self._SIGNALS:
            try:
                self._loop.add_signal_handler(number, self._handle, number)
            except NotImplementedError:  # Windows
                signal.signal(number, lambda number, _: self._loop.call_soon_threadsafe(self._handle, number))

    def __exit__(self, *exc_info: object) -> None:
        for number in self._SIGNALS:
            with suppress(NotImplementedError):
                self._loop.remove_signal_handler(number)
            if self._stopped_at is not None:
                signal.signal(number, signal.SIG_IGN)  # the process is about to end

    def _handle(self, number: int) -> None:
        now = self._loop.time()
        if self._stopped_at is None:
            self._stopped_at = now
            self._watcher.stop()
        elif now - self._stopped_at >= _SECOND_SIGNAL_SECONDS:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)


_LOG = logging.getLogger("sitemap_reader.watch")
_OVER = "this watch has ended: call watch() for another one, which continues behind it"
_UNDER_WAY = "this watch is under way, in a loop or by run(): call watch() for another one"

_SHARD = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


@checked_keywords(WatchOptions)
def watch(hosts: str | Path | Iterable[str], **options: Unpack[WatchOptions]) -> WatchStream:
    """Changes of sites as they are found, without end: close the stream, or leave its `with` block.

    `hosts` is a file with one a line, or the hosts themselves. Each sitemap is requested again when that pays: by how
    often it has changed so far, what its index states, and the budgets.

    Changes are delivered at least once. A change counts as delivered when the next one is requested, and the one in
    hand also by a `break` out of the `with` block or by close(): a later run with the same `name` continues behind it.
    It comes again where an exception, such as KeyboardInterrupt, leaves the block. After a kill the changes of one
    entry, those of a sitemap, up to 1,000, may come again.

    An exception of the caller's own code, as of a fetcher, a sink or `follow`, and an internal error end the watch, and
    are raised in the loop or by run(). UsageError for values that are not allowed; StateError, at once, for a file that
    cannot be used.
    """
    return WatchStream(_make_parts(hosts, options, crawler_of(options)))


def watch_with(crawler: Crawler, hosts: str | Path | Iterable[str], options: ReaderWatchOptions) -> AsyncWatchStream:
    """SitemapReader.watch(), with its crawler."""
    return AsyncWatchStream(_make_parts(hosts, options, crawler, owns_crawler=False))


# The parts of the watch that the current task is of, such as one that calls a sink.
_CURRENT: ContextVar[_WatchParts | None] = ContextVar("current watch", default=None)


@attrs.define(eq=False)
class _WatchParts:
    """A watch, and where its changes go: to the loop of the caller, and to sinks."""

    watcher: Watcher
    sinks: Sequence[Sink]
    loop_sink: _LoopSink
    server: ServerPlan | None
    phase: Literal["not begun", "under way", "ended"] = "not begun"

    async def run(self) -> None:
        _CURRENT.set(self)
        used = [self.loop_sink] if self.loop_sink.is_used else []
        plans = [SinkPlan(sink) for sink in (*used, *self.sinks)]
        self.phase = "under way"
        try:
            await run_watch(self.watcher, plans, self.server, report=_LOG.debug)
        finally:
            self.phase = "ended"

    def stop(self) -> None:
        self.watcher.stop()
        self.loop_sink.stopped.set()

    def close(self) -> None:
        self.watcher.close_state()
        self.phase = "ended"


def _make_parts(
    hosts: str | Path | Iterable[str],
    options: WatchOptions | ReaderWatchOptions,
    crawler: Crawler,
    *,
    owns_crawler: bool = True,
) -> _WatchParts:
    given = with_defaults(DeliveryOptions, part_of(DeliveryOptions, options))
    sinks, server = sinks_of(given["sinks"], given["name"]), given["listen"]
    server = ServerPlan(server) if isinstance(server, str) else server
    if server is not None:
        check_token(server.token, parse_listen(server.listen))
    watcher = make_watcher(
        read_hosts(hosts),
        options["state"],
        crawler,
        on_visit=given["on_visit"],
        owns_crawler=owns_crawler,
        **part_of(BudgetOptions, options),
    )
    return _WatchParts(watcher, sinks, _LoopSink(watcher, given["name"]), server)


def make_watcher(
    hosts: HostList,
    state: str | Path,
    crawler: Crawler,
    *,
    keep_log: timedelta = KEEP_LOG,
    survives_errors: bool = False,
    on_visit: Callable[[SiteVisit], None] | None = None,
    owns_crawler: bool = True,
    **options: Unpack[BudgetOptions],
) -> Watcher:
    """A Watcher, and its state, which is open from here on; `keep_log`, and what follows, are of WatchPlan."""
    given = with_defaults(BudgetOptions, options)
    if given["sites_at_once"] < 1:
        raise UsageError(
            f"at most {given['sites_at_once']} sites at once are none", keyword="sites_at_once", remedy="give 1 or more"
        )
    sync = part_of(SyncOptions, options)
    settings = crawler.state_settings(UrlQuery(**part_of(PatternOptions, options)))
    plan = WatchPlan(
        Budget(given["budget"], given["host_budget"], given["least_interval"]),
        crawler,
        sync,
        given["sites_at_once"],
        keep_log,
        on_visit,
        owns_crawler=owns_crawler,
        survives_errors=survives_errors,
    )
    targets, path = _of_shard(hosts, state, given["shard"])
    opened = State(path, create=True, shared_by=max(2, given["sites_at_once"]))
    try:
        known = opened.settings()
        for name in (site_name(target.seeds) for target in targets):
            # What was read with other settings before cannot be compared.
            if difference := settings_difference(known.get(name, settings), settings):
                remedy = "give the same options, or name another state"
                raise UsageError(f"{name} in {opened.name} {difference}", remedy=remedy)
    except BaseException:
        opened.close()
        raise
    return Watcher(targets, opened, plan)


def _of_shard(hosts: HostList, state: str | Path, shard: str | None) -> tuple[list[Target], Path]:
    if shard is None:
        return [site_target(target) for target in hosts.targets], Path(state)
    match = _SHARD.fullmatch(shard)
    number, shards = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= shards:
        raise UsageError(
            f"{shard!r} is not a part of the hosts", keyword="shard", remedy="write the third of sixteen parts as 3/16"
        )
    targets = [each for each in hosts.targets if shard_of(domain_of(each), shards) == number - 1]
    folder = Path(state)
    if folder.is_file():
        raise UsageError(
            f"{folder} is a file; with shards the state is a folder, with a file for each", keyword="shard"
        )
    folder.mkdir(parents=True, exist_ok=True)
    last = max((path.stem for path in folder.glob("part-*.sqlite")), default="")
    if last >= part_name(shards):
        raise UsageError(
            f"{folder} has {last}.sqlite, so its hosts are divided into more parts than {shards}", keyword="shard"
        )
    return [site_target(target) for target in targets], folder / f"{part_name(number - 1)}.sqlite"


class WatchInfo:
    """What a watch says of itself, before, during and after it."""

    _parts: _WatchParts

    def _ask(self, question: Callable[[], Answer]) -> Answer:
        """The answer of the watch, in its event loop."""
        return question()

    def __repr__(self) -> str:
        sites = count_of(self._parts.watcher.listed_sites, "site")
        return f"<{type(self).__name__} of {sites}, {self._parts.phase}>"

    @property
    def totals(self) -> Totals:
        """Numbers over all sites: how many there are, and fail, URLs, requests, changes of the last 24 hours, sinks."""
        totals, own = self._ask(self._parts.watcher.totals), self._parts.loop_sink.name
        # The loop fails only in that it is closed.
        sinks = [attrs.evolve(each, fault=None) if each.name == own else each for each in totals.sinks]
        return attrs.evolve(totals, sinks=tuple(sinks))

    @property
    def sites(self) -> tuple[SiteStatus, ...]:
        """The sites by name, each with its last and next visit, its changes of the last 24 hours and its faults."""
        return self._ask(lambda: self._parts.watcher.statuses())

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the watch does not work at present: the state, or a sink; () if it does. Those of a site: `sites`."""
        totals = self.totals
        return (*totals.faults, *(f"{sink.name}: {sink.fault}" for sink in totals.sinks if sink.fault is not None))

    def ping(self, url: str) -> bool:
        """Visits the sitemap at this URL soon, within the budget; False if no watched site is known to list it.

        False, too, once the watch is ending. UsageError for what is no http or https URL.
        """
        clean = ping_url(str(url))
        if clean is None:
            raise UsageError(f"{url} is not the URL of a sitemap", remedy="give one of http or https, without a login")
        return self._ask(lambda: self._parts.watcher.revisit(clean))


class WatchStream(WatchInfo):
    """WatchedChanges for one `for` loop, which a thread finds meanwhile; the end of a `with` block ends the thread.

    run() delivers to the sinks alone, without a loop. What raises in the thread, such as a fetcher of the caller, ends
    the watch, and is raised in the loop, by run(), or at the end of the block.
    """

    def __init__(self, parts: _WatchParts) -> None:
        self._parts = parts
        self._loop_sink = parts.loop_sink
        self._bridge = Bridge(self._run, stop=parts.stop)
        self._in_use = threading.Lock()  # by the loop, or by run()
        self._changes = self._read()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: object, *exc_info: object) -> None:
        if exc_type is None:
            self.close()
        else:
            self._end(is_handled=False)

    def __iter__(self) -> Iterator[WatchedChange]:
        if self._loop_sink.has_ended or getgeneratorstate(self._changes) == GEN_CLOSED:
            raise UsageError(_OVER)
        return self._changes

    def __next__(self) -> WatchedChange:
        return next(self._changes)

    def run(self) -> None:
        """Delivers changes to the sinks until close() is called, in another thread or by a signal handler.

        KeyboardInterrupt ends it in the same order, and is raised. UsageError during another run(), or a loop.
        """
        with closing(self._entries()) as entries:
            for _ in entries:
                pass

    def close(self) -> None:
        """Ends the watch: cancels its visits, delivers to the sinks what is logged, closes them, then the state.

        Takes up to 10 seconds, and joins the thread: the state is locked until then. The change that the loop has in
        hand counts as delivered. May be called twice, from any thread, by a signal handler, and while run() is under
        way; from a sink it returns at once, and the watch ends soon. What ended the watch, such as an exception of a
        sink, is raised here, unless a loop or run() that is under way raises it.
        """
        self._end(is_handled=True)
        if not self._in_use.locked() or getgeneratorstate(self._changes) == GEN_SUSPENDED:
            self._bridge.raise_error()

    def _ask(self, question: Callable[[], Answer]) -> Answer:
        return self._bridge.ask(question)

    def _end(self, *, is_handled: bool) -> None:
        self._loop_sink.end(is_handled=is_handled)
        self._bridge.close()
        if not self._bridge.is_running:  # else it is called from a thread of the watch, which closes the state itself
            self._parts.close()

    def _read(self) -> Generator[WatchedChange]:
        self._loop_sink.is_used = True
        with closing(self._entries()) as entries:
            for lines in entries:
                yield from self._loop_sink.changes(lines)
                if self._loop_sink.has_ended:
                    break
                self._bridge.call(self._loop_sink.taken.set)
        self._bridge.raise_error()  # after a close() in another thread

    def _entries(self) -> Generator[Any, None, None]:
        """What the thread passes on, for one reader at a time: a second thread would use the same state."""
        if not self._in_use.acquire(blocking=False):
            raise UsageError(_UNDER_WAY)
        try:
            with closing(self._bridge):
                yield from self._bridge.batches(lambda: None)
        finally:
            self._in_use.release()

    async def _run(self, put: Callable[[Any], Awaitable[None]]) -> None:
        self._loop_sink.put = put
        await self._parts.run()


class AsyncWatchStream(WatchInfo):
    """WatchedChanges for one `async for`; the end of its `async with` block ends the watch.

    run() delivers to the sinks alone, without a loop. What raises in the watch, such as a fetcher of the caller, ends
    it, and is raised in the loop, by run(), or at the end of the block.
    """

    def __init__(self, parts: _WatchParts) -> None:
        self._parts = parts
        self._loop_sink = parts.loop_sink
        self._watch: asyncio.Task[None] | None = None
        self._has_raised = False  # what ended it
        self._changes = self._read()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, exc_type: object, *exc_info: object) -> None:
        if exc_type is None:
            await self.close()
        else:
            await self._end(is_handled=False)

    def __aiter__(self) -> AsyncIterator[WatchedChange]:
        if self._loop_sink.has_ended:
            raise UsageError(_OVER)
        return self._changes

    async def __anext__(self) -> WatchedChange:
        return await anext(self._changes)

    async def run(self) -> None:
        """Delivers changes to the sinks until close() is called, or the task is cancelled."""
        watch = self._begin()
        try:
            await asyncio.wait([watch])
        finally:
            await self._end(is_handled=False)
        self._raise_error()

    async def close(self) -> None:
        """Ends the watch: cancels its visits, delivers to the sinks what is logged, closes them, then the state.

        Takes up to 10 seconds. The change that the loop has in hand counts as delivered. May be called twice, and while
        run() or a loop is under way, which then ends; from a sink, or a task that it has started, it returns at once,
        and the watch ends soon. What ended the watch, such as an exception of a sink, is raised here, unless the loop
        or run() has raised it.
        """
        await self._end(is_handled=True)
        with suppress(asyncio.CancelledError):  # of the watch, which has ended by that
            self._raise_error()

    aclose = close  # for contextlib.aclosing()

    def _begin(self) -> asyncio.Task[None]:
        if self._watch is not None:
            raise UsageError(_UNDER_WAY)
        self._watch = asyncio.create_task(self._parts.run())
        return self._watch

    async def _end(self, *, is_handled: bool) -> None:
        self._loop_sink.end(is_handled=is_handled)
        self._parts.stop()
        if self._watch is None:
            self._parts.close()
        elif _CURRENT.get() is not self._parts:  # else the watch waits for the caller
            await asyncio.wait([self._watch])

    def _raise_error(self) -> None:
        """Raises what ended the watch; once."""
        if self._watch is None or not self._watch.done() or self._has_raised:
            return
        self._has_raised = True
        if self._watch.cancelled():
            raise asyncio.CancelledError
        if (error := self._watch.exception()) is not None:
            raise first_failure(error)

    async def _read(self) -> AsyncGenerator[WatchedChange]:
        entries: asyncio.Queue[list[bytes]] = asyncio.Queue(1)
        watch = self._begin()  # it begins with the next await
        self._loop_sink.is_used, self._loop_sink.put = True, entries.put
        try:
            while (lines := await _next_entry(entries, watch)) is not None:
                for change in self._loop_sink.changes(lines):
                    yield change
                if self._loop_sink.has_ended:
                    break
                self._loop_sink.taken.set()
        finally:
            await self._end(is_handled=False)
        self._raise_error()


async def _next_entry(entries: asyncio.Queue[list[bytes]], watch: asyncio.Task[None]) -> list[bytes] | None:
    """The lines of the next entry; None at the end of the watch."""
    entry = asyncio.create_task(entries.get())
    try:
        await asyncio.wait([entry, watch], return_when=asyncio.FIRST_COMPLETED)
        return entry.result() if entry.done() else None
    finally:
        entry.cancel()


class _LoopSink:
    """Passes entries to the loop of the caller, one by one; each is delivered when the loop asks for the next one.

    changes() and end() are called in the threads of the caller, all others in that of the watch.
    """

    def __init__(self, watcher: Watcher, name: str) -> None:
        self.name = name
        self.is_used = False
        self.put: Callable[[Any], Awaitable[None]]
        self._watcher = watcher
        # `taken`: the loop has consumed an entry.
        self.taken, self.stopped = asyncio.Event(), asyncio.Event()
        # A change passes, and the end is decided, under the lock: so each change is either confirmed, or comes again.
        self._lock = threading.RLock()  # a signal handler may call end() inside changes()
        self.has_ended = False
        self._in_hand = self._consumed = -1  # numbers of changes; -1 is none

    def changes(self, lines: Iterable[bytes]) -> Iterator[WatchedChange]:
        for line in lines:
            change = cast("WatchedChange", from_json(line))
            with self._lock:
                if self.has_ended:
                    return
                self._in_hand = change.seq
            yield change
            self._consumed = change.seq

    def end(self, *, is_handled: bool) -> None:
        """Lets no more changes pass; `is_handled`: the one that the loop has in hand is delivered."""
        with self._lock:
            if is_handled and not self.has_ended:
                self._consumed = self._in_hand
            self.has_ended = True

    async def deliver(self, entry: LogEntry) -> None:
        """Returns when the loop has consumed the entry; DeliveryFailed, for good, where the stream ends before that."""
        if self._consumed < 0:
            try:
                self._consumed = self._in_hand = await self._watcher.feed.cursor(self.name)
            except StateError as exc:
                if not exc.is_unwritable:
                    raise
                raise DeliveryFailed(str(exc)) from exc
        self.taken.clear()
        if not self.stopped.is_set():
            await self.put(entry.lines.splitlines()[max(0, self._consumed + 1 - entry.first_seq) :])
        if not await first_of(self.taken.wait(), self.stopped.wait()):
            raise DeliveryFailed("the stream was closed", is_permanent=True)

    async def close(self) -> None:
        """Records how far the loop has come, also inside an entry."""
        if self._consumed >= 0:
            with suppress(StateError):  # on a full disk the changes come again
                await self._watcher.feed.move_cursor(self.name, self._consumed)
