"""The delay until changes are found, at equal requests: `python -m benchmarks.watching_sites [--full] [--history DIR]`.

A simulation with known truth: documents with the times of their changes come in; for each policy of revisiting them the
delay from a change to the look that finds it comes out. sitemap_reader.watch's own rates and schedule are one policy.

- fixed: every document after the same time.
- double/halve: twice the interval after an unchanged document, half of it after a changed one, between bounds. Of a
  grid of bounds and first intervals the best is shown.
- schedule: what a watch does. It also pays for its looks at indexes, from the same budget.
- known: the schedule with the true rates, hours and accuracy of indexes instead of estimates.

The sites are generated: Poisson processes, daily builds, bursts and office hours, with rates that differ by orders of
magnitude. Indexes are accurate, state the current time for all children, or do not exist; half of the documents state
times in their lastmods. With --history the documents are the sections of a real site, from a folder of its archived
sitemaps (`2026-01-15T104346.xml.gz`).
"""

from __future__ import annotations

import argparse
import gzip
import math
import random
import statistics
import sys
import time
from array import array
from bisect import bisect_right
from collections import defaultdict
from datetime import UTC, datetime
from heapq import heapify, heappop, heappush
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

import sitemap_reader as sr
from sitemap_reader.watching import DAY, HOUR, Budget, ChangeRate, Prior, Schedule, SignalRecord, prior_for

from .tables import aligned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FULL_SITES, SITES = 5000, 200
DAYS, WARM_DAYS = 60, 20
MEAN_INTERVALS_HOURS = (6, 24, 72)
INDEXES = ("accurate", "lying", "absent")
DOUBLING_LEAST, DOUBLING_MOST = (0.01, 0.1), (1.1, 1.5, 2.5, 5.0, 10.0, 25.0)  # times the even interval


# --- sites with known changes ---


@attrs.frozen
class Document:
    """A sitemap, and when it changes; `profile` are the true weights of the hours, `per_second` the true rate."""

    site: int
    kind: str
    index: str  # one of INDEXES
    has_times: bool
    changes: list[float]
    per_second: float
    profile: tuple[float, ...] | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """The columns to which its delays count."""
        return ("all", self.kind, f"index {self.index}")


def poisson(rng: random.Random, per_second: float, end: float) -> Iterator[float]:
    now = rng.expovariate(per_second)
    while now < end:
        yield now
        now += rng.expovariate(per_second)


def steady(rng: random.Random, pace: float, end: float) -> tuple[list[float], tuple[float, ...] | None]:
    return [*poisson(rng, min(pace / (72 * HOUR), 2 / HOUR), end)], None


def daily(rng: random.Random, pace: float, end: float) -> tuple[list[float], tuple[float, ...] | None]:
    """Builds at one to four times of the day, some of them without a change."""
    times = [rng.uniform(0, DAY) for _ in range(rng.choice([1, 1, 1, 2, 4]))]
    lag, chance = rng.choice([60, 360, 1800]), rng.choice([0.3, 0.9, 1.0])
    found = (day * DAY + at + abs(rng.gauss(0, lag)) for day in range(int(end / DAY)) for at in times)
    weights = [0.0] * 24
    for at in times:
        for part in range(1000):
            weights[int((at + lag * 3 * (part + 0.5) / 1000) / HOUR) % 24] += math.exp(-((part * 3 / 1000) ** 2) / 2)
    return sorted(at for at in found if rng.random() < chance * pace and at < end), tuple(weights)


def bursts(rng: random.Random, pace: float, end: float) -> tuple[list[float], tuple[float, ...] | None]:
    """Some nine changes within hours, then none for days."""
    found, now, within = [], 0.0, rng.lognormvariate(math.log(HOUR / 2), 0.7)
    while now < end:
        now += rng.expovariate(pace / (200 * HOUR))
        for _ in range(1 + int(rng.expovariate(1 / 8))):
            found.append(now)
            now += rng.expovariate(1 / within)
    return [at for at in found if at < end], None


def office(rng: random.Random, pace: float, end: float) -> tuple[list[float], tuple[float, ...] | None]:
    """Eight hours a day, five days a week."""
    opens = rng.uniform(0, DAY)
    per_second = min(pace / (48 * HOUR), 1 / HOUR)
    found = poisson(rng, per_second * 3 * 7 / 5, end)
    inside = [at for at in found if (at - opens) % DAY < DAY / 3 and (at - opens) // DAY % 7 < 5]
    return inside, tuple(max(0.0, min(1.0, 8 - (h - opens / HOUR) % 24)) for h in range(24))


KINDS = {"poisson": steady, "daily": daily, "bursts": bursts, "office": office}


def generated(sites: int, seed: int = 1) -> list[Document]:
    """One to eight documents a site: the first has what is new, the others are older parts, which change less.

    The paces of sites spread over orders of magnitude, and so do those of older parts within a site.
    """
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    documents, end = list[Document](), DAYS * DAY
    for site in range(sites):
        kind, index = [*KINDS][site % len(KINDS)], INDEXES[site // len(KINDS) % len(INDEXES)]
        pace, has_times = rng.lognormvariate(0, 1.7), rng.random() < 0.5
        for part in range(rng.randint(1, 8)):
            factor = rng.lognormvariate(-2.5, 1.5) if part else 1.0
            changes, profile = KINDS[kind](rng, factor if kind == "daily" else pace * factor, end)
            rate = max(len(changes), 0.2) / end
            documents.append(Document(site, kind, index, has_times, changes, rate, profile))
    return documents


def archived(folder: Path) -> tuple[list[Document], float]:
    """The sections of a real site as documents, each with the times of the states in which it differs; and the end.

    A lastmod between two states is the time of a change; without one it is the time of the later state.
    """
    states = sorted(folder.glob("*T*.xml.gz"))
    if not states:
        raise SystemExit(f"{folder} has no files such as 2026-01-15T104346.xml.gz")
    times = [datetime.strptime(path.name[:17], "%Y-%m-%dT%H%M%S").replace(tzinfo=UTC).timestamp() for path in states]
    start, sections = times[0], [_sections(path) for path in states]
    changes = defaultdict[str, list[float]](list)
    for (before, after), (earlier, at) in zip(pairwise(sections), pairwise(times), strict=True):
        for name in before.keys() | after.keys():
            new = after.get(name, set()) - before.get(name, set())
            if new or before.get(name) != after.get(name):
                stated = {lastmod for _, lastmod in new if lastmod is not None and earlier < lastmod <= at}
                changes[name] += [each - start for each in sorted(stated or {at})]
    end = times[-1] - start
    names = sorted({name for section in sections for name in section})
    return [
        Document(0, "section", "absent", False, changes[name], max(len(changes[name]), 0.2) / end) for name in names
    ], end


def _sections(path: Path) -> dict[str, set[tuple[str, float | None]]]:
    """The first three folders of the URLs -> their URLs with lastmods."""
    found = defaultdict[str, set[tuple[str, float | None]]](set)
    document = sr.parse(gzip.decompress(path.read_bytes()), url="https://example.com/sitemap.xml", scope="any")
    for record in document.urls:
        lastmod = record.lastmod.timestamp() if record.lastmod else None
        found["/".join(record.loc.split("/")[3:6])].add((record.loc, lastmod))
    return found


# --- policies ---


@attrs.define
class Result:
    """The delays of the changes after the warm-up, by class, and the requests then."""

    delays: dict[str, list[float]] = attrs.field(factory=lambda: defaultdict(list))
    requests: int = 0

    def add(self, document: Document, found_at: float, since: float, warm: float) -> int:
        """Counts a look; the number of changes that it found."""
        self.requests += found_at >= warm
        first, last = bisect_right(document.changes, since), bisect_right(document.changes, found_at)
        late = [found_at - at for at in document.changes[first:last] if at >= warm]
        for name in document.classes if late else ():
            self.delays[name] += late
        return last - first

    def mean(self, name: str = "all") -> float:
        return statistics.fmean(self.delays[name]) / HOUR

    def p95(self, name: str = "all") -> float:
        return sorted(self.delays[name])[int(0.95 * len(self.delays[name]))] / HOUR


@attrs.frozen
class Trial:
    """Documents, the time of the trial, of which `warm` is not measured, and the requests an hour."""

    documents: list[Document]
    end: float
    warm: float
    per_hour: float

    def finish(self, result: Result, looked: list[float]) -> Result:
        """Adds the changes that were not found until the end."""
        made = result.requests
        for document, since in zip(self.documents, looked, strict=True):
            result.add(document, self.end, since, self.warm)
        result.requests = made
        return result

    def by_intervals(self, interval: float, change: Callable[[float, int], float]) -> Result:
        """Looks after intervals, each changed by what the look found; at most the budget, by the time they are due."""
        result, spacing, free = Result(), HOUR / self.per_hour, 0.0
        intervals, looked = [interval] * len(self.documents), [0.0] * len(self.documents)
        due = [(interval * (0.61803 * number % 1), number) for number in range(len(self.documents))]
        heapify(due)
        while due:
            at, number = heappop(due)
            now = max(at, free)
            if now >= self.end:
                break
            free = max(free, now - HOUR) + spacing
            found = result.add(self.documents[number], now, looked[number], self.warm)
            looked[number], intervals[number] = now, change(intervals[number], found)
            heappush(due, (now + intervals[number], number))
        return self.finish(result, looked)

    def fixed(self) -> Result:
        interval = len(self.documents) / self.per_hour * HOUR
        return self.by_intervals(interval, lambda same, _: same)

    def doubling(self) -> Result:
        even = len(self.documents) / self.per_hour * HOUR
        results = [
            self.by_intervals(even * first, _doubling(even * least, even * most))
            for least, most, first in product(DOUBLING_LEAST, DOUBLING_MOST, (0.5, 1.0))
        ]
        return min(results, key=Result.mean)

    def scheduled(self, *, known: bool = False) -> Result:
        return Watch(self, known).run()


def _doubling(least: float, most: float) -> Callable[[float, int], float]:
    return lambda interval, found: min(max(interval * (0.5 if found else 2.0), least), most)


@attrs.define
class KnownRate(ChangeRate):
    """A true rate, which checks do not change."""

    def reset(self) -> None:
        """Changes nothing."""

    def observe(self, *_: object, **__: object) -> None:
        """Changes nothing."""

    def move_to(self, *_: object) -> None:
        """Changes nothing."""


def known_rate(document: Document) -> ChangeRate:
    rate = KnownRate(Prior(document.per_second * 1e9, 1e9))
    if document.profile is not None:
        total = sum(document.profile)
        rate.hours = array("f", (weight / total * 1e4 for weight in document.profile))
    return rate


class Watch:
    """The schedule of a watch, with simulated requests."""

    def __init__(self, trial: Trial, known: bool) -> None:
        self.trial, self.known = trial, known
        self.schedule = Schedule(Budget(trial.per_hour))
        self.result = Result()
        self.looked = [0.0] * len(trial.documents)
        self.children = defaultdict[str, list[int]](list)
        self.stated = [-1] * len(trial.documents)  # changes that the index had stated when it was last looked at
        for number, document in enumerate(trial.documents):
            index = f"index {document.site}" if document.index != "absent" else None
            rate = known_rate(document) if known else ChangeRate(prior_for("urlset"))
            if known and index:
                right = 1e6 * (document.index == "accurate")
                self.schedule.set_source(index, KnownRecord(1e6, right, 1e6, right))
            self.schedule.add(number, str(document.site), rate, -math.inf, source=index)
            if index:
                self.children[index].append(number)
        for index, children in self.children.items():
            first = trial.documents[children[0]]
            total = sum(trial.documents[number].per_second for number in children)
            true = KnownRate(Prior(total * 1e9 if first.index == "accurate" else 1e-3, 1e9))
            rate = true if known else ChangeRate(prior_for("index"))
            self.schedule.add(index, str(first.site), rate, -math.inf)

    def run(self) -> Result:
        now = 0.0
        while True:
            due = self.schedule.next_due(now)
            now = max(due, now) if due is not None else math.inf
            if now >= self.trial.end:
                return self.trial.finish(self.result, self.looked)
            for host, keys in self.schedule.pop_due(now):
                self._visit(host, [*keys], now)
                self.schedule.end_visit(host, now)

    def _visit(self, host: str, keys: list[object], now: float) -> None:
        reserved = len(keys)
        for number, key in enumerate(keys):  # a look at an index adds some
            if number >= reserved and not self.schedule.take(host, now):
                return
            self.schedule.requests_made(host, 1, now)
            if isinstance(key, int):
                self._look(key, now)
            else:
                self._look_at_index(str(key), now)
                children = self.children[str(key)]
                keys += [each for each in children if each not in keys and self.schedule.is_due(each, now)]

    def _look(self, number: int, now: float) -> None:
        document, since = self.trial.documents[number], self.looked[number]
        found = self.result.add(document, now, since, self.trial.warm)
        first = bisect_right(document.changes, since)
        moments = document.changes[first : first + found] if document.has_times else []
        self.schedule.looked(number, now, changed=found > 0, moments=moments)
        self.looked[number] = now

    def _look_at_index(self, index: str, now: float) -> None:
        self.result.requests += now >= self.trial.warm
        times, trusted = [], False
        for number in self.children[index]:
            document = self.trial.documents[number]
            stated = bisect_right(document.changes, now)
            is_new = self.stated[number] < 0  # a first look has nothing to compare with
            if not is_new and (document.index == "lying" or stated > self.stated[number]):
                at = now if document.index == "lying" else document.changes[stated - 1]
                trusted |= self.schedule.signal(number, now, index, at)
                times.append(at)
            self.stated[number] = stated
        self.schedule.looked(index, now, changed=trusted, moments=times if trusted else ())


class KnownRecord(SignalRecord):
    """The true accuracy of an index, which checks do not change."""

    def add(self, *_: object, **__: object) -> None:
        """Changes nothing."""


# --- the program ---


def compared(trial: Trial) -> list[list[str]]:
    """The rows of one budget."""
    policies = {
        "fixed": trial.fixed,
        "double/halve": trial.doubling,
        "schedule": trial.scheduled,
        "known": lambda: trial.scheduled(known=True),
    }
    rows = []
    results: dict[str, Result] = {}
    for name, policy in policies.items():
        began = time.process_time()
        result = results[name] = policy()
        per_hour = result.requests / (trial.end - trial.warm) * HOUR
        print(f"{name}: {time.process_time() - began:.0f} s", file=sys.stderr, flush=True)
        classes = sorted(set(result.delays) - {"all"})
        means = [f"{result.mean(each):.2f}" for each in classes]
        ratio = results["fixed"].mean() / result.mean()
        rows.append([name, f"{per_hour:.0f}", f"{result.mean():.2f}", f"{result.p95():.1f}", f"{ratio:.2f}", *means])
    return [["policy", "requests/h", "mean h", "p95 h", "fixed/this", *classes], *rows]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.watching_sites", description=__doc__.partition("\n")[0])
    parser.add_argument("--full", action="store_true", help=f"{FULL_SITES:,} sites instead of {SITES}")
    parser.add_argument("--history", type=Path, metavar="DIR", help="also the archived states of a site, in a folder")
    parser.add_argument("--intervals", type=float, nargs="+", default=MEAN_INTERVALS_HOURS, help="hours, of the budget")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sets = {"generated": (generated(FULL_SITES if options.full else SITES, options.seed), DAYS * DAY, WARM_DAYS * DAY)}
    if options.history:
        documents, end = archived(options.history)
        sets["archived"] = (documents, end, end / 4)
    for name, (documents, end, warm) in sets.items():
        changes = sum(len(document.changes) for document in documents)
        print(f"{name}: {len(documents):,} documents, {changes:,} changes in {end / DAY:.0f} days")
        for hours in options.intervals:
            print(f"\na request for each document every {hours:g} h")
            print(aligned(compared(Trial(documents, end, warm, len(documents) / hours))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
