"""run_watch(): a Watcher with its sinks and its server, from the start to an orderly end.

At stop() or a signal, visits are cancelled, and what is logged is delivered, in less than 10 seconds.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Final

import attrs

from ..client.summary import count_of
from .delivery import Delivery
from .pings import PingReceiver, robots_reader
from .server import serve
from .tasks import end

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .delivery import DeadLetters
    from .pings import Accept
    from .sinks import Sink
    from .watcher import Watcher

STOP_SECONDS: Final = 6.0  # from stop() until deliveries that are under way are cancelled
_LEAST_DRAIN_SECONDS: Final = 1.0  # for deliveries, also where visits ended late
_SECOND_SIGNAL_SECONDS: Final = 1.0


@attrs.frozen
class ServerPlan:
    """The server of a watch: the fields are the arguments of server.serve(); `accept` is that of PingReceiver."""

    listen: str
    accept: Accept = "known"
    token: str | None = None
    hosts: tuple[str, ...] = ()
    behind_proxy: bool = False


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
            read_robots = robots_reader(plan.reader.fetcher) if server.accept == "verified" else None
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
            await asyncio.gather(*(delivery.drain(left) for delivery in deliveries))
            await end(background)


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
