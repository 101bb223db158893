"""Watcher: visits the sites of a watch, each when it pays, until it is stopped.

Visits run at once in one event loop, those of one registrable domain one after the other; one thread uses the state.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from ..client.targets import site_target
from ..model.errors import StateError, UsageError
from ..parser.normalise.urls import host, registrable_domain
from ..pipeline.executor import ParseExecutor, ThreadPool
from ..state.state import ChangeLog, State, WatchData, site_name
from .budget import SITES_AT_ONCE
from .change_feed import ChangeFeed, end, first_of
from .schedule import Schedule
from .visit import StateFailed, Stores, Visit
from .watched_site import (
    Counters,
    Health,
    Signals,
    SinkStatus,
    SitePage,
    SiteQuery,
    SiteStatus,
    SiteVisit,
    Totals,
    WatchedSite,
    select_sites,
)

if TYPE_CHECKING:
    from ..client.crawler import Crawler
    from ..client.targets import Target
    from .budget import Budget
    from .delivery import Delivery
    from .pings import Ping

MAX_ADDED_SITES: Final = 10_000  # by pings
KEEP_LOG: Final = timedelta(days=7)
STATE_RETRY_SECONDS: Final = 30.0
STATE_FAULT: Final = "the state cannot be read or written"
SINK_FAULT: Final = "its changes are not delivered at present"
_PRUNE_SECONDS: Final = 3600.0
_MAX_SLEEP_SECONDS: Final = 60.0  # a longer sleep could outlast a change of the system's clock


@attrs.frozen
class WatchPlan:
    """The settings of a watch."""

    budget: Budget
    crawler: Crawler
    options: Mapping[str, Any] = attrs.field(factory=dict)  # keywords of changes()
    sites_at_once: int = SITES_AT_ONCE
    keep_log: timedelta = KEEP_LOG  # how long the log keeps changes that all sinks have received
    on_visit: Callable[[SiteVisit], None] | None = None  # called after each
    owns_crawler: bool = True  # which is closed at the end of the watch
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)  # aware
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    survives_errors: bool = False  # an internal error fails its site, and does not end the watch


class Watcher:
    """Use it as an async context manager, then run(); stop() ends that. `feed` has the changes."""

    def __init__(self, targets: Iterable[Target], state: State, plan: WatchPlan) -> None:
        """`state` is open, created with shared_by > 1, and belongs to the watcher until it is closed."""
        self.plan = plan
        self.deliveries: list[Delivery] = []  # the log keeps what they have not delivered
        self.report: Callable[[str], object] = lambda text: None  # receives messages
        self._targets = [*targets]
        self._state = state
        self._thread = ThreadPool("sitemap-reader-state")
        self._executor = ParseExecutor()
        self._stores: Stores
        self._schedule = Schedule(plan.budget)
        self._sites: dict[str, WatchedSite] = {}
        self._by_domain: dict[str, list[WatchedSite]] = {}
        self._timers: list[tuple[float, int, WatchedSite]] = []
        self._order = count()
        self._running: dict[str, asyncio.Task[None]] = {}  # by domain
        self._wake = asyncio.Event()
        self._stopped_at: float | None = None  # of time.monotonic()
        self._error: BaseException | None = None
        self._state_error: str | None = None
        self._pauses_until = 0.0
        self._last_visit: datetime | None = None
        self._requests: deque[tuple[float, int]] = deque()  # of the last hour
        self.counters = Counters()
        self.feed: ChangeFeed

    async def __aenter__(self) -> Watcher:
        log = await self._thread.run(self._open)
        self.feed = ChangeFeed(log, self._thread, self.plan.clock)
        return self

    def _open(self) -> ChangeLog:
        self._state.commit()  # begins a transaction
        self._stores = Stores(self._state, ChangeLog(self._state), WatchData(self._state), self._thread, self._executor)
        known = self._stores.data.sites()
        added = [site_target(name) for name, values in known.items() if values.get("added_at")]
        for target in [*self._targets, *added]:
            site = self._add_site(target)
            if site is not None and site.name in known:
                site.load(known[site.name], self._stores.data.documents(site.name), self._now())
        return self._stores.log

    def _add_site(self, target: Target) -> WatchedSite | None:
        name = site_name(target.seeds)
        if name in self._sites:
            return None
        site = self._sites[name] = WatchedSite(name, target, self._schedule)
        self._by_domain.setdefault(site.domain, []).append(site)
        return site

    async def __aexit__(self, *exc_info: object) -> None:
        await end(self._running.values())
        if self.plan.owns_crawler:
            await self.plan.crawler.close()
        await self._executor.close()
        await self._thread.close()
        self.close_state()

    def close_state(self) -> None:
        self._state.close()

    async def run(self) -> None:
        """Visits sites until stop() is called; then ends the visits that are under way."""
        for site in self._sites.values():
            self._set_timer(site, site.next_robots)
        async with asyncio.TaskGroup() as tasks:
            upkeep = tasks.create_task(self._keep_up())
            while self._stopped_at is None:
                self._wake.clear()
                now = self._now()
                if now >= self._pauses_until:
                    self._start_visits(now)
                await first_of(self.plan.sleep(self._seconds_to_wait(self._now())), self._wake.wait())
            upkeep.cancel()
        await end(self._running.values())
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Ends run() soon: no more visit begins, and those under way are cancelled after their current document."""
        self._stopped_at = self._stopped_at or time.monotonic()
        self._wake.set()

    @property
    def listed_sites(self) -> int:
        """How many sites were given, each once."""
        return len(self._targets)

    @property
    def stopping_seconds(self) -> float:
        """How long ago stop() was called first; 0 if it was not."""
        return 0.0 if self._stopped_at is None else time.monotonic() - self._stopped_at

    def _seconds_to_wait(self, now: float) -> float:
        if now < self._pauses_until:
            return self._pauses_until - now
        if len(self._running) >= self.plan.sites_at_once:
            return _MAX_SLEEP_SECONDS
        timer, due = self._timers[0][0] if self._timers else inf, self._schedule.next_due(now)
        first = timer if due is None else min(timer, due)
        return min(max(first - now, 0.05), _MAX_SLEEP_SECONDS)

    def _start_visits(self, now: float) -> None:
        """Starts the visits whose time has come: documents that are due first, then robots.txt and new sites."""
        free = self.plan.sites_at_once - len(self._running)
        for domain, keys in self._schedule.pop_due(now, free) if free > 0 else ():
            due: dict[str, set[str]] = {}
            for key in keys:
                name, url = cast("tuple[str, str]", key)
                due.setdefault(name, set()).add(url)
            self._start(domain, [(self._sites[name], urls) for name, urls in due.items()])
        while self._timers and self._timers[0][0] <= now and len(self._running) < self.plan.sites_at_once:
            _, number, site = heappop(self._timers)
            if number != site.timer:  # a later one has replaced it
                continue
            allowed_at = self._schedule.available_at(site.domain, now)
            if site.next_robots > now:  # it was visited meanwhile
                self._set_timer(site, site.next_robots)
            elif site.domain in self._running or allowed_at > now:
                self._set_timer(site, max(allowed_at, now + 1.0))
            else:
                self._schedule.begin_visit(site.domain)
                self._start(site.domain, [(site, set())])

    def _set_timer(self, site: WatchedSite, at: float) -> None:
        site.timer = next(self._order)
        heappush(self._timers, (at, site.timer, site))

    def _start(self, domain: str, visits: list[tuple[WatchedSite, set[str]]]) -> None:
        task = self._running[domain] = asyncio.create_task(self._visit_domain(visits))
        task.add_done_callback(lambda _: self._end_domain(domain, visits))

    def _end_domain(self, domain: str, visits: list[tuple[WatchedSite, set[str]]]) -> None:
        now, task = self._now(), self._running.pop(domain)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._error = self._error or error
            self.stop()
        self._schedule.pause(domain, max(site.host_paused_until for site, _ in visits))
        self._schedule.end_visit(domain, now, retry_at=now + 1.0)
        for site, _ in visits:
            if site.failures:
                site.postpone()
        for site in self._by_domain[domain]:
            site.take_pings(now)
        for site in [site for site, due in visits if not due]:
            self._set_timer(site, max(site.next_robots, now + 1.0))
        self._wake.set()

    async def _visit_domain(self, visits: list[tuple[WatchedSite, set[str]]]) -> None:
        try:
            for site, due in visits:
                await self._visit(site, due)
        except StateFailed as exc:
            self._pauses_until = self._now() + STATE_RETRY_SECONDS
            if self._state_error is None:
                self.report(f"{exc.error}; until then no site is visited")
            self._state_error = str(exc.error)

    async def _visit(self, site: WatchedSite, due: set[str]) -> None:
        """Visits a site, and learns from it; a cancelled visit has stored the documents that had ended."""
        site.visiting_since = started = self._now()
        signals = Signals(site, due, started, probes=not due or site.refreshes)
        visit = Visit(
            self.plan.crawler,
            site.target,
            site.name,
            self._stores,
            self.plan.clock,
            signals.is_due,
            signals.on_request,
            self.plan.options,
            since=site.robots_since(self.plan.clock()),
            ends_pauses=self.plan.owns_crawler,  # the schedule has waited for those of its hosts
            survives_errors=self.plan.survives_errors,
        )
        try:
            await visit.run()
        finally:
            site.visiting_since = None
            self.feed.notify()
        now = self._now()
        learns = site.end_visit(visit, now, random.random())  # noqa: S311 - spreads visits, guards nothing
        documents = site.learn(visit, signals, due, now) if learns else {}
        self._count(visit, now)
        if self.plan.on_visit is not None:
            self.plan.on_visit(_report(site, visit))
        await self._stores.run(self._stores.data.save, site.name, site.values(), documents)
        if self._state_error is not None:
            self.report(f"{self._state.name} can be written again: sites are visited")
        self._state_error = None

    def _count(self, visit: Visit, now: float) -> None:
        self._last_visit = self.plan.clock()
        changes, fetcher = visit.changes, visit.fetcher
        result = "changed" if any(changes.values()) else "unchanged" if visit.has_ended else "failed"
        self.counters.visits[result] += 1
        self.counters.changes.update(changes)
        if fetcher is not None:
            self.counters.requests.update(fetcher.statuses)
            self._requests.append((now, fetcher.requests))
        while self._requests[0][0] < now - 3600:
            self._requests.popleft()

    async def _keep_up(self) -> None:
        while True:
            sinks = [delivery.sink.name for delivery in self.deliveries]
            with suppress(StateError):  # reported by the next visit
                await self.feed.prune(self.plan.clock() - self.plan.keep_log, sinks)
            await self.plan.sleep(_PRUNE_SECONDS)

    def _now(self) -> float:
        return self.plan.clock().timestamp()

    @property
    def is_busy(self) -> bool:
        """Whether a visit is under way, or has just ended."""
        return bool(self._running) or self._wake.is_set()

    @property
    def watched(self) -> list[WatchedSite]:
        return [*self._sites.values()]

    def health(self) -> Health:
        """Whether the watch works, without a look at the disk."""
        faults = () if self._state_error is None else (STATE_FAULT,)
        sinks = [
            attrs.evolve(status, name=getattr(each.sink, "public_name", status.name), fault=status.fault and SINK_FAULT)
            for each, status in zip(self.deliveries, self._sinks(), strict=True)
        ]
        return Health(faults, self._last_visit, tuple(sinks))

    def _sinks(self) -> tuple[SinkStatus, ...]:
        return tuple(
            SinkStatus(
                each.sink.name,
                each.lag_changes,
                each.lag_seconds,
                each.status.last_error if each.status.is_failing or each.status.is_stopped else None,
                each.status.delivered,
                each.status.failures,
                each.status.dead_letters,
            )
            for each in self.deliveries
        )

    def totals(self) -> Totals:
        now = self._now()
        days = [site.day.totals(now) for site in self._sites.values()]
        new, updated, removed, first_reading = (sum(day[place] for day in days) for place in range(4))
        return Totals(
            sites=len(self._sites),
            documents=len(self._schedule),
            urls=sum(site.urls for site in self._sites.values()),
            failing=sum(site.failures > 0 for site in self._sites.values()),
            budget_per_hour=self.plan.budget.per_hour,
            requests_last_hour=sum(number for at, number in self._requests if at >= now - 3600),
            new=new,
            updated=updated,
            removed=removed,
            first_reading=first_reading,
            not_visited=sum(site.visited_at is None for site in self._sites.values()),
            sinks=self._sinks(),
            faults=() if self._state_error is None else (self._state_error,),
        )

    def sites(self, query: SiteQuery) -> SitePage:
        """A page of the sites; see select_sites()."""
        now = self._now()
        sites = {site.target.name: site for site in self._sites.values()}
        waiting = self._schedule.waiting(now)

        def planned(status: SiteStatus) -> SiteStatus:
            return attrs.evolve(status, next_visit=sites[status.site].next_visit(now, waiting))

        statuses = (site.status(now) for site in sites.values())
        if query.order == "next_visit":
            return select_sites(map(planned, statuses), query)
        page = select_sites(statuses, query)  # the next visit takes longest to compute
        return attrs.evolve(page, sites=tuple(map(planned, page.sites)))

    def statuses(self) -> tuple[SiteStatus, ...]:
        """All sites by name."""
        now = self._now()
        waiting = self._schedule.waiting(now)
        sites = sorted(self._sites.values(), key=lambda site: site.target.name)
        return tuple(attrs.evolve(site.status(now), next_visit=site.next_visit(now, waiting)) for site in sites)

    async def knows(self, url: str) -> bool:
        return self._site_of(url) is not None

    def _site_of(self, url: str) -> WatchedSite | None:
        sites = self._by_domain.get(registrable_domain(host(url)), ())
        return next((site for site in sites if url in site.documents), None)

    async def ping(self, ping: Ping) -> None:
        """Visits a known document at once; of an unknown one, which robots.txt names, watches the site."""
        if not self.revisit(ping.url):
            self._visit_unknown(ping.url, self._now())
            self._wake.set()

    def revisit(self, url: str) -> bool:
        """Visits a document soon; False if no watched site is known to list it, or the watch is ending."""
        # The visit keeps to the budget and to the delays of the host, and waits while too many pings were wrong.
        site = self._site_of(url)
        if site is None or self._stopped_at is not None:
            return False
        site.pinged_meanwhile.add(url)
        if site.domain not in self._running:
            site.take_pings(self._now())
        self._wake.set()
        return True

    def _visit_unknown(self, url: str, now: float) -> None:
        """Looks for new sitemaps on the watched sites of the domain; if there are none, watches this one."""
        sites = self._by_domain.get(registrable_domain(host(url)), [])
        if not sites and len(self._sites) < len(self._targets) + MAX_ADDED_SITES:
            with suppress(UsageError):
                added = self._add_site(site_target(url))
                if added is not None:
                    added.added_at, sites = now, [added]
        for site in sites:
            site.refreshes = True
            self._set_timer(site, max(now, site.paused_until))


def _report(site: WatchedSite, visit: Visit) -> SiteVisit:
    cause = visit.error or next(map(str, visit.faults), "no request succeeded")
    return SiteVisit(
        site.target.name,
        visit.fetcher.requests if visit.fetcher else 0,
        **visit.changes,
        documents=len(site.documents),
        failures=site.failures,
        cause=cause if site.failures else None,
    )
