"""A watch for tests of its server: sites, counters and a log of changes that a test fills."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import attrs

from sitemap_reader import Change, UrlRecord
from sitemap_reader.pipeline import ThreadPool
from sitemap_reader.state import ChangeLog, State
from sitemap_reader.watching import (
    ChangeFeed,
    Counters,
    Health,
    Ping,
    SitePage,
    SiteQuery,
    SiteStatus,
    Totals,
    select_sites,
)

NOW = datetime(2026, 11, 27, 8, 0, tzinfo=UTC)
SITEMAP = "https://example.com/sitemap.xml"


@attrs.define
class FakeWatcher:
    """Implements the Watcher protocol; `pings` has those that it received."""

    feed: ChangeFeed
    log: ChangeLog
    state: State
    thread: ThreadPool
    statuses: list[SiteStatus] = attrs.field(factory=list)
    known: set[str] = attrs.field(factory=set)
    pings: list[Ping] = attrs.field(factory=list)
    counters: Counters = attrs.field(factory=Counters)
    numbers: Totals = attrs.field(factory=Totals)
    report: Health = attrs.field(factory=Health)

    def health(self) -> Health:
        return self.report

    def totals(self) -> Totals:
        return self.numbers

    def sites(self, query: SiteQuery) -> SitePage:
        return select_sites(self.statuses, query)

    async def knows(self, url: str) -> bool:
        return url in self.known

    async def ping(self, ping: Ping) -> None:
        self.pings.append(ping)

    async def change(
        self, *locs: str, site: str = "example.com", at: datetime = NOW, first_reading: bool = False
    ) -> None:
        """Logs these URLs as new, in one entry."""
        changes = [Change("new", UrlRecord(loc, sitemap=SITEMAP)) for loc in locs]

        def append() -> None:
            self.log.append(changes, site, at, first_reading=first_reading)
            self.state.commit()

        await self.thread.run(append)
        self.feed.notify()

    async def change_many(self, entries: Iterable[int], at: datetime = NOW) -> None:
        """Logs entries with so many URLs each."""
        for entry, count in enumerate(entries):
            await self.change(*(f"https://example.com/{entry}/{number}" for number in range(count)), at=at)


@asynccontextmanager
async def fake_watcher() -> AsyncIterator[FakeWatcher]:
    thread = ThreadPool("state")

    def opened() -> tuple[State, ChangeLog]:
        state = State("", scratch=True)
        return state, ChangeLog(state)

    state, log = await thread.run(opened)
    try:
        yield FakeWatcher(ChangeFeed(log, thread, lambda: NOW), log, state, thread)
    finally:
        await thread.run(state.close)
        await thread.close()
