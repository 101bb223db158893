"""A watch that runs for long: `python -m benchmarks.watch_soak [--minutes 60] [--sites 10000] [--speed 100]`.

Sites on loopback, each with a few sitemaps that change as a Poisson process or once a day; some sites fail for hours,
some are slow, move by a redirect, or lose sitemaps and URLs. A first process visits each site once, as fast as it can;
then this one continues with its state, as after a restart. Each minute a line is printed: memory, visits, requests,
changes, delays, the lag of a file sink, the sizes of state and log. A slope of memory, after the first 10 minutes or
a third of the time, over --most-slope MB a simulated day ends the program with 1; else the last line begins with "ok".
--profile FILE: writes what cProfile finds of the event loop's thread.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import json
import multiprocessing
import random
import resource
import statistics
import sys
import tempfile
import time
from bisect import bisect_right
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import attrs

from sitemap_reader.client import Crawler, site_target
from sitemap_reader.state import State
from sitemap_reader.watching import Budget, FileSink, SinkPlan, Watcher, WatchPlan, run_watch

from .simulated_web import FastClock, Page, fast_session, served, sitemap_index, url_entry, urlset
from .tables import aligned

if TYPE_CHECKING:
    from sitemap_reader.state import LogEntry
    from sitemap_reader.watching import SiteVisit

HOUR, DAY = 3600.0, 86_400.0
PAST_DAYS, LATER_DAYS = 20, 20  # of changes, before and after the start of the run
KINDS = {"plain": 0.4, "index": 0.3, "feed": 0.1, "redirect": 0.05, "removing": 0.05, "slow": 0.04, "failing": 0.04,
         "vanishing": 0.02}  # fmt: skip
MEDIAN_HOURS, SIGMA = 24.0, 1.3  # between the changes of a document
LISTED = 25  # URLs of a document
SLOW_SECONDS = 0.7
FIRST_MINUTES = 10
HEADINGS = ["min", "days", "RSS MB", "visits", "requests", "changes", "mean delay h", "p95 h", "lag", "state MB",
            "log", "CPU ms/visit", "objects", "behind"]  # fmt: skip


# --- the sites ---


@attrs.frozen
class SoakSite:
    """A site whose pages follow from its number and the time."""

    number: int
    kind: str
    origin: str
    epoch: float

    def page(self, path: str, now: float) -> Page:
        seconds = SLOW_SECONDS if self.kind == "slow" else 0.0
        if self.kind == "failing" and (now + self.number * HOUR) % DAY < 6 * HOUR:
            return Page(status=500)
        name = path[1:]
        if name == "robots.txt":
            start = {"index": "index.xml", "feed": "feed.rss"}.get(self.kind, "sitemap.xml")
            text = f"User-agent: *\nDisallow: /private/\nSitemap: {self.origin}/{start}\n"
            return Page(text.encode(), media="text/plain", seconds=seconds)
        if self.kind == "redirect" and name == "sitemap.xml":
            return Page(status=301, location=f"{self.origin}/maps/now.xml")
        if name == "index.xml" and self.kind == "index":
            children = {f"{self.origin}/{child}": self._changed_at(child, now) for child in self._children()}
            body = sitemap_index(children)
            return Page(body, etag=f'"{crc32(body)}"')
        if name not in self._documents(now):
            return Page(status=404)
        return attrs.evolve(self._document(name, now), seconds=seconds)

    def _children(self) -> list[str]:
        return [f"part{number}.xml" for number in range(2 + self.number % 3)]

    def _documents(self, now: float) -> list[str]:
        """A vanishing site has no sitemap on every third day."""
        if self.kind == "vanishing" and (now // DAY + self.number) % 3 == 0:
            return []
        single = {"feed": "feed.rss", "redirect": "maps/now.xml"}.get(self.kind, "sitemap.xml")
        return self._children() if self.kind == "index" else [single]

    def _changed_at(self, name: str, now: float) -> float | None:
        times = _times(self.epoch, self.number, name)
        changes = bisect_right(times, now)
        return times[changes - 1] if changes else None

    def _document(self, name: str, now: float) -> Page:
        """The latest changes; each is a URL that has the time of its publication in milliseconds."""
        times = _times(self.epoch, self.number, name)
        changes = bisect_right(times, now)
        listed = times[max(0, changes - (5 if self.kind == "removing" else LISTED)) : changes]
        etag = f'"{changes}"'
        if name == "feed.rss":
            items = [f"<item><link>{self.origin}/{at * 1000:.0f}</link></item>" for at in listed]
            head = f"<rss version='2.0'><channel><title>n</title><link>{self.origin}/</link>"
            return Page(f"{head}{''.join(items)}</channel></rss>".encode(), media="application/rss+xml", etag=etag)
        dated = self.number % 2 == 0
        fixed = [url_entry(f"{self.origin}/{name}/about{number}") for number in range(5)]
        entries = [url_entry(f"{self.origin}/{name}/{at * 1000:.0f}", at if dated else None) for at in listed]
        return Page(urlset(fixed + entries), etag=etag)


@lru_cache(40_000)
def _times(epoch: float, number: int, name: str) -> list[float]:
    """When a document changes, from the epoch on."""
    dice = random.Random(f"{number}/{name}")  # noqa: S311
    now = epoch
    period = HOUR * MEDIAN_HOURS * dice.lognormvariate(0, SIGMA)
    is_daily, phase = dice.random() < 0.2, dice.random() * DAY
    times = []
    while now < epoch + (PAST_DAYS + LATER_DAYS) * DAY:
        now += DAY if is_daily else dice.expovariate(1 / period)
        times.append(now + phase if is_daily else now)
    return times


@attrs.frozen
class SoakWeb:
    """All sites, by their number; called with a host, a path and a time it returns a page."""

    epoch: float

    def site(self, number: int, port: int) -> SoakSite:
        dice = random.Random(number)  # noqa: S311
        kind = dice.choices([*KINDS], [*KINDS.values()])[0]
        return SoakSite(number, kind, f"http://s{number}.test:{port}", self.epoch)

    def __call__(self, host: str, path: str, now: float) -> Page:
        name, _, port = host.partition(":")
        return self.site(int(name[1:].partition(".")[0]), int(port)).page(path, now)


# --- the watch ---


@attrs.define
class Delays:
    """Seconds from each change to its delivery, of changes since `since`."""

    clock: FastClock
    since: float
    seconds: list[float] = attrs.field(factory=list)

    def note(self, entry: LogEntry) -> None:
        now = self.clock.now()
        for line in entry.lines.splitlines():
            change = json.loads(line)
            at = change["loc"].rpartition("/")[2]
            if change["change"] == "new" and at.isdecimal() and int(at) / 1000 > self.since:
                self.seconds.append(now - int(at) / 1000)

    def take(self) -> list[float]:
        taken, self.seconds = self.seconds, []
        return taken


class TimedFile(FileSink):
    """A file sink that notes the delays."""

    def __init__(self, path: Path, delays: Delays) -> None:
        super().__init__(path)
        self._delays = delays

    async def deliver(self, entry: LogEntry) -> None:
        """As FileSink."""
        await super().deliver(entry)
        self._delays.note(entry)


@attrs.frozen
class Soak:
    """What both processes need."""

    web: SoakWeb
    sites: int
    port: int
    clock: FastClock
    folder: Path
    budget: float
    at_once: int

    def watcher(self, budget: float, session: Any) -> Watcher:
        targets = [site_target(self.web.site(number, self.port).origin + "/") for number in range(self.sites)]
        crawler = Crawler(session=session, allow_private=True)
        plan = WatchPlan(
            Budget(budget, 100.0), crawler, sites_at_once=self.at_once, clock=self.clock, sleep=self.clock.sleep
        )
        state = State(self.folder / "sites.sqlite", create=True, shared_by=self.at_once)
        return Watcher(targets, state, plan)


def rss_mb() -> float:
    """The memory of this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def visit_all_once(soak: Soak) -> None:
    """Visits each site once, and prints what that takes."""
    asyncio.run(_visit_all_once(soak))


async def _visit_all_once(soak: Soak) -> None:
    before, started = rss_mb(), time.monotonic()
    async with fast_session() as session:
        slow = attrs.evolve(soak, clock=FastClock(soak.clock(), time.time(), 0.01))  # no site is due a second time
        watcher = slow.watcher(1e9, session)
        visited: set[str] = set()
        is_over = asyncio.Event()

        def note(visit: SiteVisit) -> None:
            visited.add(visit.site)
            if len(visited) == soak.sites:
                is_over.set()

        watcher.plan = attrs.evolve(watcher.plan, sleep=asyncio.sleep, on_visit=note)
        made = rss_mb()
        task = asyncio.create_task(run_watch(watcher, []))
        await asyncio.wait({task, asyncio.create_task(is_over.wait())}, return_when=asyncio.FIRST_COMPLETED)
        visits, requests = (sum(counts.values()) for counts in (watcher.counters.visits, watcher.counters.requests))
        watcher.stop()
        await task
    seconds, cpu = time.monotonic() - started, time.process_time()
    documents = sum(len(site.documents) for site in watcher.watched)
    print(
        f"first visits: {visits:,} visits, {requests:,} requests, {documents:,} documents in {seconds:.0f} s; "
        f"{cpu / visits * 1000:.1f} ms CPU a visit, {cpu / requests * 1000:.1f} a request; RSS {before:.0f} MB, "
        f"{made:.0f} with the sites, {rss_mb():.0f} at the end; state {state_mb(soak):.1f} MB, "
        f"{state_mb(soak) * 2**20 / max(documents, 1):.0f} bytes a document",
        flush=True,
    )


def state_mb(soak: Soak) -> float:
    """The size of the state, with its journal."""
    return sum(path.stat().st_size for path in soak.folder.glob("sites.sqlite*")) / 2**20


async def watch(soak: Soak, minutes: float, profile: str | None) -> list[list[float]]:
    """Watches for so many minutes; a row each minute."""
    rows: list[list[float]] = []
    delays = Delays(soak.clock, soak.clock.now())
    base = rss_mb()
    async with fast_session() as session:
        watcher = soak.watcher(soak.budget, session)
        sink = TimedFile(soak.folder / "changes.jsonl", delays)
        task = asyncio.create_task(run_watch(watcher, [SinkPlan(sink)]))
        while not hasattr(watcher, "feed") or not watcher.deliveries:
            await asyncio.sleep(0.1)
            if task.done():
                task.result()
        print(f"restarted: RSS {base:.0f} MB, {rss_mb():.0f} with the sites and the documents", flush=True)
        profiler = cProfile.Profile() if profile else None
        if profiler:
            profiler.enable()
        started, last = time.monotonic(), _Sample.of(watcher)
        for minute in range(1, round(minutes) + 1):
            await asyncio.sleep(max(0.0, started + minute * 60 - time.monotonic()))
            if task.done():
                task.result()
            sample = _Sample.of(watcher)
            rows.append(_row(soak, watcher, minute, sample.since(last), delays.take()))
            print("  ".join(f"{cell:>9}" for cell in _cells(rows[-1])), flush=True)
            last = sample
        if profiler and profile:
            profiler.disable()
            profiler.dump_stats(profile)
        watcher.stop()
        await task
    return rows


@attrs.frozen
class _Sample:
    visits: int
    requests: int
    changes: int
    cpu: float

    @classmethod
    def of(cls, watcher: Watcher) -> _Sample:
        counts = watcher.counters
        numbers = (sum(each.values()) for each in (counts.visits, counts.requests, counts.changes))
        return cls(*numbers, time.process_time())

    def since(self, other: _Sample) -> _Sample:
        fields = zip(attrs.astuple(self), attrs.astuple(other), strict=True)
        return _Sample(*(mine - theirs for mine, theirs in fields))


def _row(soak: Soak, watcher: Watcher, minute: int, sample: _Sample, delays: list[float]) -> list[float]:
    gc.collect()
    hours = sorted(each / HOUR for each in delays) or [0.0]
    waiting = sum(site.next_robots < soak.clock.now() - HOUR for site in watcher.watched)
    return [
        minute,
        minute * 60 * soak.clock.speed / DAY,
        rss_mb(),
        sample.visits,
        sample.requests,
        sample.changes,
        statistics.fmean(hours),
        hours[int(0.95 * (len(hours) - 1))],
        sum(each.lag_changes for each in watcher.deliveries),
        state_mb(soak),
        watcher.feed.last_seq,
        sample.cpu / max(sample.visits, 1) * 1000,
        len(gc.get_objects()),
        waiting,
    ]


def _cells(row: list[float]) -> list[str]:
    return [f"{cell:,}" if isinstance(cell, int) else f"{cell:.2f}" for cell in row]


def slope(rows: list[list[float]]) -> float:
    """MB a simulated day, by least squares, after the first minutes."""
    late = rows[min(FIRST_MINUTES, len(rows) // 3) :]
    if len(late) < 2:
        return 0.0
    return statistics.linear_regression([row[1] for row in late], [row[2] for row in late]).slope


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.watch_soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="real ones (default: 60)")
    parser.add_argument("--sites", type=int, default=10_000)
    parser.add_argument("--speed", type=float, default=100)
    parser.add_argument("--budget", type=float, default=2_000, help="requests an hour (default: 2,000)")
    parser.add_argument("--at-once", type=int, default=50, metavar="SITES")
    parser.add_argument("--most-slope", type=float, default=1.0, metavar="MB", help="a simulated day (default: 1)")
    parser.add_argument("--profile", metavar="FILE")
    return parser.parse_args()


def main() -> int:
    chosen = options()
    hours = chosen.minutes / 60 * chosen.speed
    clock = FastClock.start(chosen.speed, hours + 24)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        web = SoakWeb(clock.now() - PAST_DAYS * DAY)
        with served(web, clock, work / "access.log") as port:
            soak = Soak(web, chosen.sites, port, clock, work, chosen.budget, chosen.at_once)
            first = multiprocessing.get_context("spawn").Process(target=visit_all_once, args=(soak,))
            first.start()
            first.join()
            if first.exitcode:
                return 1
            rows = asyncio.run(watch(soak, chosen.minutes, chosen.profile))
    print(aligned([HEADINGS, *map(_cells, rows)]))
    found = slope(rows)
    visits, cpu = sum(row[3] for row in rows), sum(row[3] * row[11] for row in rows)
    print(f"memory: {found:+.2f} MB a simulated day; CPU: {cpu / max(visits, 1):.1f} ms a visit")
    if found > chosen.most_slope:
        print(f"memory grows by more than {chosen.most_slope:g} MB a simulated day", file=sys.stderr)
        return 1
    print(f"ok  {chosen.sites:,} sites, {visits:,.0f} visits in {rows[-1][1] if rows else 0:.1f} simulated days")
    return 0


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
