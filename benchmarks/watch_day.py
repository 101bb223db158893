"""A day of a news site, watched at 60 times speed: `python -m benchmarks.watch_day [--speed 60] [--hours 24]`.

Two hosts on loopback: a newsroom (an index of a news sitemap, sections and a daily archive; a feed; documents that its
robots.txt forbids) and a small site with a Crawl-delay. It is known when each article was published. Beside the delays
of the watch are those of as many requests to the newsroom by other policies. `fixed`: its documents one after the
other, at equal intervals. `known rates`: each document by the square root of its true rate at that hour, as if each
listed URLs of its own. `optimum`: nothing but the news sitemap, which lists all, by the rate of the hour. Delays are
in minutes of the simulated day.

The articles follow the hours of a newsroom, or with --times FILE... the hours of the lastmods in those sitemaps.
Requests over the budget, forbidden ones, a robots.txt requested twice within 18 hours, a change that is missing or a
delay over that of fixed intervals ends the program with 1; else the last line begins with "ok".
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

import sitemap_reader as sr
from sitemap_reader.client import Crawler, site_target
from sitemap_reader.state import State
from sitemap_reader.watching import Budget, FileSink, SinkPlan, Watcher, WatchPlan, run_watch

from .simulated_web import FastClock, Page, fast_session, served, sitemap_index, url_entry, urlset
from .tables import aligned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sitemap_reader.state import LogEntry

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
# Articles by hour of the day, UTC: few at night, a morning edition, a long afternoon.
NEWSROOM = (2, 1, 1, 1, 2, 5, 10, 14, 15, 14, 14, 13, 12, 13, 14, 15, 15, 14, 12, 9, 7, 6, 5, 3)
ARTICLES = 240  # a day
DAYS_BEFORE = 8
SECTIONS = ("politics", "economy", "sports", "culture", "science")
NEWS_DAYS = 2  # as the news protocol wants it
LISTED = {"feed": 20, "section": 100}
ARCHIVES = 7
UPDATED = 0.3  # of the articles, once, an hour later on the average
CRAWL_DELAY = 1
BURST = 1.25  # the part of an hour's budget that an hour may have after an idle quarter
WARM_HOURS = 2.0  # that are not counted: the watch knows nothing yet
NEWS, SMALL = "news.test", "small.test"
NEWS_NAMESPACE = 'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
FORBIDDEN = ("/internal/staff.xml", "/sitemaps/drafts.xml")


# --- the sites ---


@attrs.frozen
class Article:
    """When it was published, and when it was last updated, if it was."""

    number: int
    at: float
    updated_at: float
    section: str

    def lastmod(self, now: float) -> float:
        return self.updated_at if self.updated_at <= now else self.at


def make_articles(start: float, days: float, hours: Sequence[float]) -> list[Article]:
    """Articles from DAYS_BEFORE days before a start on, in the order of their publication."""
    dice = random.Random(1)  # noqa: S311
    articles, now = [], start - DAYS_BEFORE * DAY
    most = max(hours)
    while now < start + days * DAY:
        now += dice.expovariate(ARTICLES / DAY * 24 * most / sum(hours))
        if dice.random() < hours[int(now % DAY // HOUR)] / most:  # thinning of the largest rate
            updated = now + dice.expovariate(1 / HOUR) if dice.random() < UPDATED else float("inf")
            articles.append(Article(len(articles), now, updated, dice.choice(SECTIONS)))
    return articles


class Newsroom:
    """The pages of both hosts at a time; a function that the process of the server can import."""

    def __init__(self, start: float, days: float, hours: Sequence[float]) -> None:
        self.start = start
        self.articles = make_articles(start, days, hours)
        self._times = [article.at for article in self.articles]

    def __call__(self, host: str, path: str, now: float) -> Page:
        page = self._page(host, path, now)
        return attrs.evolve(page, etag=f'"{hash(page.body)}"') if page.body else page

    def _page(self, host: str, path: str, now: float) -> Page:
        origin, name = f"http://{host}", path[1:]
        if path == "/robots.txt":
            return Page(self._robots(origin, host).encode(), media="text/plain")
        if host.startswith(SMALL):
            return self._small(origin, name, now)
        if name == "index.xml":
            return Page(sitemap_index({f"{origin}{path}": at for path, at in self._children(now).items()}))
        if name == "feed.rss":
            return Page(self._feed(origin, now), media="application/rss+xml")
        if path not in self._children(now):
            return Page(status=404)
        listed = self.listed(path, now)
        entries = [url_entry(f"{origin}/{each.number}", each.lastmod(now), _news(each, path)) for each in listed]
        return Page(urlset(entries).replace(b"<urlset ", f"<urlset {NEWS_NAMESPACE} ".encode(), 1))

    def _robots(self, origin: str, host: str) -> str:
        if host.startswith(SMALL):
            return f"User-agent: *\nCrawl-delay: {CRAWL_DELAY}\nSitemap: {origin}/index.xml\n"
        forbidden = "".join(f"Disallow: {path.rpartition('/')[0]}/\n" for path in FORBIDDEN)
        return f"User-agent: *\n{forbidden}Sitemap: {origin}/index.xml\nSitemap: {origin}/feed.rss\n"

    def _small(self, origin: str, name: str, now: float) -> Page:
        """Four sitemaps, to each of which a URL is added every six hours."""
        names = [f"part{number}.xml" for number in range(4)]
        if name == "index.xml":
            return Page(sitemap_index(dict.fromkeys((f"{origin}/{each}" for each in names), None)))
        if name not in names:
            return Page(status=404)
        return Page(urlset([url_entry(f"{origin}/{name}/{n}") for n in range(int(now // (6 * HOUR)) % 10_000)[-50:]]))

    def _children(self, now: float) -> dict[str, float | None]:
        midnights = [now // DAY * DAY - day * DAY for day in range(ARCHIVES)]
        newest = [self.listed("/news.xml", now), *(self.listed(_section(each), now) for each in SECTIONS)]
        dates = [max((each.lastmod(now) for each in listed), default=None) for listed in newest]
        children = dict(zip(["/news.xml", *map(_section, SECTIONS)], dates, strict=True))
        children |= {_archive(midnight): midnight for midnight in midnights}
        return children | dict.fromkeys(FORBIDDEN, now)

    def listed(self, path: str, now: float) -> list[Article]:
        """The articles of a document."""
        known = bisect_right(self._times, now)
        if path == "/feed.rss":
            return self.articles[known - LISTED["feed"] : known]
        if path == "/news.xml":
            return self.articles[bisect_left(self._times, now - NEWS_DAYS * DAY) : known]
        if path.startswith("/archive/"):
            day = datetime.fromisoformat(f"{path[9:19]}T00:00:00+00:00").timestamp()
            return self.articles[bisect_left(self._times, day - DAY) : bisect_left(self._times, day)]
        return [each for each in self.articles[:known] if _section(each.section) == path][-LISTED["section"] :]

    def _feed(self, origin: str, now: float) -> bytes:
        listed = self.listed("/feed.rss", now)
        items = "".join(f"<item><link>{origin}/{each.number}</link></item>" for each in listed)
        return f'<rss version="2.0"><channel><title>News</title><ttl>15</ttl>{items}</channel></rss>'.encode()


def _section(name: str) -> str:
    return f"/sections/{name}.xml"


def _archive(midnight: float) -> str:
    """That of the day before a midnight."""
    return f"/archive/{datetime.fromtimestamp(midnight, UTC):%Y-%m-%d}.xml"


def _news(article: Article, path: str) -> str:
    if path != "/news.xml":
        return ""
    at = datetime.fromtimestamp(article.at, UTC).isoformat()
    publication = "<news:publication><news:name>News</news:name><news:language>en</news:language></news:publication>"
    date = f"<news:publication_date>{at}</news:publication_date>"
    return f"<news:news>{publication}{date}<news:title>{article.number}</news:title></news:news>"


# --- the watch ---


class TimedFile(FileSink):
    """A file sink that notes when each entry is on the disk: (kind, loc) -> times of log and of delivery."""

    def __init__(self, path: Path, clock: FastClock) -> None:
        super().__init__(path)
        self._clock = clock
        self.times: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)

    async def deliver(self, entry: LogEntry) -> None:
        """As FileSink."""
        await super().deliver(entry)
        now = self._clock.now()
        for line in entry.lines.splitlines():
            change = json.loads(line)
            self.times[change["change"], change["loc"]].append((entry.at.timestamp(), now))


async def watch(folder: Path, port: int, clock: FastClock, hours: float, budget: Budget) -> TimedFile:
    """Watches both hosts for so many simulated hours."""
    async with fast_session() as session:
        crawler = Crawler(session=session, allow_private=True)
        plan = WatchPlan(budget, crawler, clock=clock, sleep=clock.sleep)
        targets = [site_target(f"http://{host}:{port}/") for host in (NEWS, SMALL)]
        watcher = Watcher(targets, State(folder / "sites.sqlite", create=True, shared_by=50), plan)
        sink = TimedFile(folder / "changes.jsonl", clock)
        task = asyncio.create_task(run_watch(watcher, [SinkPlan(sink)], report=lambda text: print(text, flush=True)))
        await asyncio.wait({task, asyncio.create_task(clock.sleep(hours * HOUR))}, return_when=asyncio.FIRST_COMPLETED)
        watcher.stop()
        await task
    return sink


# --- the figures ---


def delays_of(articles: Iterable[Article], looks: dict[str, list[float]], room: Newsroom) -> list[float]:
    """Seconds from each publication to the first look at a document that lists the article then."""
    found = []
    for article in articles:
        paths = [path for path in looks if path in ("/news.xml", "/feed.rss", _section(article.section))]
        firsts = []
        for path in paths:
            later = bisect_left(looks[path], article.at)
            firsts += [at for at in looks[path][later : later + 1] if article in room.listed(path, at)]
        if firsts:
            found.append(min(firsts) - article.at)
    return found


def fixed_looks(room: Newsroom, start: float, end: float, requests: int) -> dict[str, list[float]]:
    """All permitted documents one after the other, in equal intervals."""
    paths = ["/index.xml", "/feed.rss", *(path for path in room._children(start) if path not in FORBIDDEN)]
    looks = defaultdict(list)
    for number in range(requests):
        looks[paths[number % len(paths)]].append(start + (number + 1) * (end - start) / requests)
    return looks


def known_looks(
    hours: Sequence[float], start: float, end: float, requests: int, rates: dict[str, float]
) -> dict[str, list[float]]:
    """Looks by the square root of the rates of changes, which are given by document, and vary with the hours."""
    sum_of_roots = sum(rate**0.5 for rate in rates.values())
    return {
        path: _looks(hours, start, end, requests * rate**0.5 / sum_of_roots, number / len(rates))
        for number, (path, rate) in enumerate(rates.items())
    }


def _looks(hours: Sequence[float], start: float, end: float, requests: float, phase: float) -> list[float]:
    steps = [start + number * MINUTE / 4 for number in range(int((end - start) / (MINUTE / 4)) + 1)]
    weights = [hours[int(at % DAY // HOUR)] ** 0.5 for at in steps]
    looks, so_far, share = [], 0.0, sum(weights) / requests
    for at, weight in zip(steps, weights, strict=True):
        so_far += weight
        if so_far >= share * (len(looks) + 1 - phase):
            looks.append(at)
    return looks


def in_minutes(name: str, seconds: Sequence[float]) -> list[str]:
    ordered = sorted(seconds)
    if not ordered:
        return [name, "0", "-", "-", "-"]
    p95 = ordered[int(0.95 * (len(ordered) - 1))]
    numbers = (statistics.fmean(ordered), statistics.median(ordered), p95)
    return [name, f"{len(ordered):,}", *(f"{each / MINUTE:.1f}" for each in numbers)]


def most_in_an_hour(times: Sequence[float]) -> int:
    """The most requests in any 3,600 s."""
    return max((number - bisect_left(times, at - HOUR) for number, at in enumerate(times, 1)), default=0)


@attrs.frozen
class Access:
    """A line of the access log."""

    at: float
    host: str
    path: str
    status: int

    @classmethod
    def of_line(cls, line: str) -> Access:
        at, host, path, status = line.split()
        return cls(float(at), host.partition(":")[0], path, int(status))


def faults_of(log: Sequence[Access], budget: Budget) -> list[str]:
    """What the requests must not be."""
    faults = []
    times: dict[str, list[float]] = defaultdict(list)
    for each in log:
        times[each.host].append(each.at)
        if each.path in FORBIDDEN:
            faults.append(f"{each.host}{each.path} is forbidden, and was requested")
    for name, most, budgeted in [
        ("both hosts", most_in_an_hour([each.at for each in log]), budget.per_hour),
        *((host, most_in_an_hour(times[host]), budget.host_rate) for host in times),
    ]:
        print(f"{name}: {most} requests in the busiest hour, of a budget of {budgeted:g}")
        if most > budgeted * BURST:
            faults.append(f"{name}: {most} requests in an hour are over the budget of {budgeted:g}")
    for host in times:
        robots = [each.at for each in log if each.host == host and each.path == "/robots.txt"]
        print(f"{host}: robots.txt requested {len(robots)} times")
        faults += [f"{host}: robots.txt again after {b - a:.0f} s" for a, b in pairwise(robots) if b - a < 18 * HOUR]
    return faults


def crawl_delay_faults(log: Sequence[Access]) -> list[str]:
    """A visit waits for real seconds, the next visit for those of the clock, which are fewer."""
    gaps = [later.at - each.at for each, later in pairwise([one for one in log if one.host == SMALL])]
    print(f"{SMALL}: Crawl-delay {CRAWL_DELAY} s, at least {min(gaps, default=0):.0f} s between two requests")
    return [f"{SMALL}: only {gap:.2f} s between two requests" for gap in gaps if gap < CRAWL_DELAY]


def hours_of(files: Sequence[str]) -> Sequence[float]:
    """Changes by hour of the day, from the lastmods with a time in sitemap files."""
    counts: Counter[int] = Counter()
    for file in files:
        for record in sr.parse(Path(file).read_bytes(), url="https://example.com/sitemap.xml", scope="any").urls:
            if record.lastmod and record.lastmod_precision in ("minute", "second", "subsecond"):
                counts[record.lastmod.astimezone(UTC).hour] += 1
    return [counts[hour] + 0.5 for hour in range(24)]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.watch_day", description=__doc__)
    parser.add_argument("--speed", type=float, default=60)
    parser.add_argument("--hours", type=float, default=24, help="simulated ones (default: 24)")
    parser.add_argument("--budget", type=float, default=60, help="requests an hour (default: 60)")
    parser.add_argument("--host-budget", type=float, default=40, help="requests an hour to a host (default: 40)")
    parser.add_argument("--times", nargs="*", default=[], metavar="FILE", help="sitemaps, for the hours of changes")
    return parser.parse_args()


def report(room: Newsroom, sink: TimedFile, log: list[Access], hours: Sequence[float], end: float) -> list[str]:
    """Prints the delays; the faults."""
    since = room.start + WARM_HOURS * HOUR
    port_of: Callable[[str], str] = lambda loc: loc.rpartition("/")[2]  # noqa: E731
    new = {port_of(loc): times for (kind, loc), times in sink.times.items() if kind == "new" and NEWS in loc}
    updated = {port_of(loc): times for (kind, loc), times in sink.times.items() if kind == "updated" and NEWS in loc}
    window = [each for each in room.articles if since <= each.at < end - 2 * HOUR]
    requests = sum(each.host == NEWS and since <= each.at < end for each in log)
    logged = [new[str(each.number)][0][0] - each.at for each in window if str(each.number) in new]
    delivered = [new[str(each.number)][0][1] - each.at for each in window if str(each.number) in new]
    changed = [each for each in room.articles if since <= each.updated_at < end - 2 * HOUR]
    logs = {number: [*times, *updated.get(number, ())] for number, times in new.items()}  # new after the update: both
    found = [
        min((at for at, _ in logs.get(str(each.number), ()) if at >= each.updated_at), default=0) - each.updated_at
        for each in changed
    ]
    fixed = delays_of(window, fixed_looks(room, since, end, requests), room)
    all_rates = dict.fromkeys(("/news.xml", "/feed.rss", "/index.xml"), 1.0)
    all_rates |= dict.fromkeys(map(_section, SECTIONS), 1 / len(SECTIONS))
    all_rates |= {path: 1 / ARTICLES for path in room._children(end) if path.startswith("/archive/")}
    known = delays_of(window, known_looks(hours, since, end, requests, all_rates), room)
    best = delays_of(window, known_looks(hours, since, end, requests, {"/news.xml": 1.0}), room)
    rows = [
        ["delay, simulated minutes", "changes", "mean", "median", "p95"],
        in_minutes("new: in the log", logged),
        in_minutes("new: delivered to the file", delivered),
        in_minutes("updated: in the log", [each for each in found if each >= 0]),
        in_minutes(f"fixed intervals, {requests} requests", fixed),
        in_minutes(f"known rates, {requests} requests", known),
        in_minutes(f"optimum, {requests} requests", best),
    ]
    print(aligned(rows))
    lost = len(window) - len(logged)
    unknown = sum(each < 0 for each in found)
    print(f"of {len(window)} new articles {lost} are not in the log, of {len(changed)} updates {unknown}")
    faults = [f"{lost} articles and {unknown} updates are not in the log"] * bool(lost or unknown)
    repeated = sum(len(times) > 1 for times in new.values())
    faults += [f"{repeated} articles are new more than once"] * bool(repeated)
    if logged and statistics.fmean(logged) > statistics.fmean(fixed):
        faults.append("the watch is slower than fixed intervals")
    return faults


def main() -> int:
    chosen = options()
    hours = hours_of(chosen.times) if chosen.times else NEWSROOM
    budget = Budget(chosen.budget, chosen.host_budget)
    clock = FastClock.start(chosen.speed, chosen.hours)
    room = Newsroom(clock.now(), chosen.hours / 24 + 1, hours)
    with tempfile.TemporaryDirectory() as folder:
        access = Path(folder) / "access.log"
        with served(room, clock, access) as port:
            sink = asyncio.run(watch(Path(folder), port, clock, chosen.hours, budget))
            end = clock.now()
        log = [*map(Access.of_line, access.read_text().splitlines())]
    faults = report(room, sink, log, hours, end) + faults_of(log, budget) + crawl_delay_faults(log)
    counts = Counter(f"{each.host}{each.path}" for each in log)
    print(aligned([["requests", "document"], *([str(n), path] for path, n in counts.most_common())]))
    print(f"{len(log)} requests in {chosen.hours:g} h: {len(log) / chosen.hours:.1f} an hour")
    for fault in faults:
        print(fault, file=sys.stderr)
    if not faults:
        print(f"ok  {len(log)} requests, none forbidden or over the budget")
    return int(bool(faults))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
