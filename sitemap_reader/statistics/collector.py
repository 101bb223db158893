"""Counts the items of a crawl or a dump in one pass, in bounded memory, except for 8 bytes of each distinct loc.

RobotsStatistics: how many of the listed URLs robots.txt permits to crawlers, and the sections of the others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs

from ..client.summary import UrlSet
from ..model.columns import NESTED
from ..model.problems import Problem
from ..model.records import EXTENSIONS, NO_EXTENSIONS, Outcome
from ..model.url_batch import UrlBatch, changefreq_of
from ..parser.content.sniff import Format
from .facts import Fact, LastmodStatistics, TopCounts, facts, share
from .sections import SectionCounts

if TYPE_CHECKING:
    from ..frontier.robots_rules import AgentRules, GroupRules
    from ..model.url_batch import BatchItem


# In what Rules.effort() counts; beyond it URLs are not checked.
_BUDGET = 2_000_000_000
# URLs that wait for the robots.txt of their host, which may be read later.
_MOST_WAITING = 100_000
_TOP_SECTIONS = 5


class RobotsStatistics:
    """Counts URLs by crawler with add(); facts() judges those whose robots.txt was read after them."""

    def __init__(self, robots: AgentRules) -> None:
        self._robots = robots
        self._left = _BUDGET
        self._counts = {name: Counter[str]() for name in robots.agents}
        self._sections = {name: SectionCounts() for name in robots.agents}
        self._waiting: list[tuple[UrlBatch, str, Sequence[int]]] = []
        self._waiting_urls = 0

    def add(self, urls: UrlBatch) -> None:
        for start, places in urls.origins:
            groups = self._robots.groups(start)
            if groups is not None:
                self._judge(urls, start, places, groups)
            elif self._waiting_urls < _MOST_WAITING:
                self._waiting_urls += len(places)
                self._waiting.append((urls, start, places))
            else:
                self._count(self._robots.agents, "not checked", len(places))

    def _judge(self, urls: UrlBatch, start: str, places: Sequence[int], groups: Sequence[GroupRules]) -> None:
        likely = self._robots.suspects(start, urls, places)
        for group in groups:
            suspects = [index for index in likely if group.whole_site is None and group.may_disallow(urls.locs[index])]
            cost = sum(group.effort(urls.locs[index]) for index in suspects)
            if cost > self._left:
                self._count(group.agents, "not checked", len(places))
                continue
            self._left -= cost
            disallowed = [index for index in suspects if group.disallows(urls.locs[index])]
            if group.whole_site is not None:
                disallowed = [*places]
            self._count(group.agents, "allowed", len(places) - len(disallowed))
            self._count(group.agents, "disallowed", len(disallowed))
            if disallowed:
                among = {*disallowed}
                found = urls.only([index in among for index in range(len(urls))])
                for name in group.agents:
                    self._sections[name].add(found)

    def _count(self, agents: Sequence[str], what: str, count: int) -> None:
        for name in agents:
            self._counts[name][what] += count

    def facts(self, urls: int) -> Iterator[Fact]:
        waiting, self._waiting = self._waiting, []
        for batch, start, places in waiting:
            groups = self._robots.groups(start)
            if groups is None:
                self._count(self._robots.agents, "not checked", len(places))
            else:
                self._judge(batch, start, places, groups)
        for name, counts in self._counts.items():
            for what in ("allowed", "disallowed", "not checked"):
                if counts[what] or what != "not checked":
                    yield Fact(f"robots.txt {name}", what, counts[what], share(counts[what], urls))
            sections = self._sections[name].sections()
            yield from sections.facts(f"robots.txt {name} disallowed", _TOP_SECTIONS, urls)


MAX_DEPTH = 5
# Extensions of which a URL may have several.
_COUNTED = tuple(name for name, blank in zip(EXTENSIONS, NO_EXTENSIONS, strict=True) if blank == ())
# Host and path; credentials are no part of a host.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#]*@)?([^/?#]*)([^?#]*)")


class UrlStatistics:
    """Each group of facts takes the number of URLs."""

    def __init__(self) -> None:
        self._locs, self._sitemaps, self._names = UrlSet(), UrlSet(), UrlSet()
        self._hosts, self._codes = TopCounts(), TopCounts()
        self._sections = SectionCounts()
        self._changefreqs, self._priorities = TopCounts(), TopCounts()
        self._depths: Counter[int] = Counter()
        self._having: Counter[str] = Counter()
        self._items: Counter[str] = Counter()

    def add(self, urls: UrlBatch) -> None:
        if urls.sitemap is not None:
            self._sitemaps.add(urls.sitemap)
        self._sections.add(urls)
        for loc in urls.locs:
            self._locs.add(loc)
        places = [match.groups() for match in map(_URL.match, urls.locs) if match is not None]
        hosts = Counter(host for host, _ in places)
        for host in hosts:
            self._names.add(host)
        self._hosts.update(hosts)
        inside = [path.strip("/") for _, path in places]
        self._depths.update([min(path.count("/") + 1, MAX_DEPTH) if path else 0 for path in inside])
        for name in NESTED:
            counts = urls.counts(name)
            self._having[name] += len(counts) - counts.count(0)
            if name in _COUNTED:
                self._items[name] += sum(counts)
        listed = urls.lists("alternates", "hreflang")
        self._codes.update(code for _, (codes,) in listed for code in {*codes} if code is not None)
        for code, count in _stated(urls.changefreqs):
            self._changefreqs.add(changefreq_of(code) or "", count)
        for priority, count in _stated(urls.priorities):
            self._priorities.add(format(priority, "g"), count)

    def counts(self, urls: int) -> Iterator[Fact]:
        repeated = urls - len(self._locs)
        yield Fact("urls", "listed", urls)
        yield Fact("urls", "repeated", repeated, share(repeated, urls))
        yield Fact("urls", "in sitemaps", len(self._sitemaps))
        yield Fact("urls", "on hosts", len(self._names))
        yield from facts("urls with", _nonzero(self._having, NESTED), urls)

    def items(self, urls: int) -> Iterator[Fact]:
        return facts("items", _nonzero(self._items, _COUNTED))

    def hosts(self, urls: int) -> Iterator[Fact]:
        return self._hosts.facts("hosts", 3, urls)

    def sections(self, urls: int) -> Iterator[Fact]:
        yield from self._sections.sections().facts("sections", 10, urls)
        names = {MAX_DEPTH: f"{MAX_DEPTH} and more"}
        depths = [(names.get(depth, str(depth)), count) for depth, count in sorted(self._depths.items())]
        yield from facts("depth", depths, urls)

    def codes(self, urls: int) -> Iterator[Fact]:
        """URLs by hreflang; without `other`, as a URL has several."""
        return facts("hreflang", self._codes.top(10), urls)

    def hints(self, urls: int) -> Iterator[Fact]:
        yield from self._changefreqs.facts("changefreq", 7, urls, missing="none")
        yield from self._priorities.facts("priority", 5, urls, order=lambda pair: -float(pair[0]), missing="none")


def _nonzero(counts: Counter[str], names: tuple[str, ...]) -> list[tuple[str, int]]:
    return [(name, counts[name]) for name in names if counts[name]]


def _stated(column: Sequence[Any]) -> Iterator[tuple[Any, int]]:
    return ((value, count) for value, count in Counter(column).items() if value is not None)


_STATES = ("complete", "partial", "failed")


@attrs.frozen
class _Document:
    format: str
    state: str
    bytes_decoded: int
    dropped: Mapping[str, int]
    is_alias: bool


class RunStatistics:
    """Counts documents by final URL, so that redirects to one document count once, and problems."""

    def __init__(self) -> None:
        self._documents: dict[str, _Document] = {}
        self._robots_failed = 0
        self._has_run = False
        self._reported, self._on_urls = TopCounts(), TopCounts()

    def __bool__(self) -> bool:
        return self._has_run

    def add_outcome(self, outcome: Outcome) -> None:
        self._has_run = True
        if outcome.format == Format.ROBOTS:
            self._robots_failed += not outcome.complete
            return
        key = outcome.final_url or outcome.url or f"{len(self._documents)}"
        state = "complete" if outcome.complete else "partial" if outcome.entries else "failed"
        known = self._documents.get(key)
        if known is None or known.is_alias:
            is_alias = key != outcome.url
            self._documents[key] = _Document(
                outcome.format or "unknown", state, outcome.bytes_decoded, outcome.dropped, is_alias
            )

    def add_problem(self, problem: Problem) -> None:
        self._has_run = True
        self._reported.add(problem.code)

    def add_urls(self, urls: UrlBatch) -> None:
        for problems in urls.problems.values():
            self._on_urls.update(problem.code for problem in problems)

    def dropped(self, urls: int) -> Iterator[Fact]:
        dropped = TopCounts()
        for document in self._documents.values():
            for reason, count in document.dropped.items():
                dropped.add(reason, count)
        return dropped.facts("urls dropped", 5)

    def documents(self, urls: int) -> Iterator[Fact]:
        states, formats, sizes = TopCounts(), TopCounts(), TopCounts()
        for document in self._documents.values():
            states.add(document.state)
            formats.add(document.format)
            if document.bytes_decoded:
                sizes.add(document.format, document.bytes_decoded)
        yield from states.facts("sitemaps", len(_STATES), states.total, order=lambda pair: _STATES.index(pair[0]))
        if self._robots_failed:
            yield Fact("sitemaps", "robots.txt failed", self._robots_failed)
        yield from formats.facts("sitemaps format", 5, formats.total)
        yield from sizes.facts("sitemaps bytes", 5, sizes.total)

    def problems(self, urls: int) -> Iterator[Fact]:
        # The lines of a run include the problems of its URLs.
        return (self._reported if self else self._on_urls).facts("problems", 10)


class Statistics:
    """Counts items with add(); facts() are their numbers. Ages are relative to `now`, which is aware.

    `clock` returns the present time, for the URLs of a site that is being read; else the time of reading is unknown.
    `robots` counts what robots.txt permits, if that is wanted.
    """

    def __init__(
        self, now: datetime, clock: Callable[[], datetime] | None = None, robots: RobotsStatistics | None = None
    ) -> None:
        self.urls = 0
        self.robots = robots
        self._url_statistics = UrlStatistics()
        self._lastmods = LastmodStatistics(now, clock)
        self._runs = RunStatistics()

    def add(self, item: BatchItem) -> None:
        """References are ignored."""
        if isinstance(item, UrlBatch):
            self.urls += len(item)
            self._url_statistics.add(item)
            self._lastmods.add(item)
            self._runs.add_urls(item)
            if self.robots is not None:
                self.robots.add(item)
        elif isinstance(item, Outcome):
            self._runs.add_outcome(item)
            self._lastmods.end_sitemap(item.url, item.seconds or 0.0)
        elif isinstance(item, Problem):
            self._runs.add_problem(item)

    def facts(self) -> list[Fact]:
        urls, runs = self._url_statistics, self._runs
        if not self.urls:
            groups: tuple[Callable[[int], Iterator[Fact]], ...] = (runs.dropped, runs.documents, runs.problems)
        else:
            groups = (
                urls.counts,
                runs.dropped,
                urls.items,
                urls.hosts,
                runs.documents,
                self._lastmods.facts,
                urls.hints,
                urls.sections,
                urls.codes,
                *((self.robots.facts,) if self.robots is not None else ()),
                runs.problems,
            )
        return [fact for group in groups for fact in group(self.urls)]
