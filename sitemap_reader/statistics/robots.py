"""RobotsStatistics: how many of the listed URLs robots.txt permits to crawlers, and the sections of the others."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .facts import Fact, share
from .sections import SectionCounts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..frontier.robots_agents import AgentRules, GroupRules
    from ..model.url_batch import UrlBatch

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
