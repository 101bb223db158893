"""The hosts of a walk, and what their robots.txt files let us do there.

In: hosts to ask, and what became of a robots.txt. Out: Visits that ask for it, in their host's queue; who may be asked
for what, and how fast. What a robots.txt names is not its business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..problems import report
from ..read.sniff import Format
from ..read.urls import origin
from ..records import Outcome
from .hosts import Host
from .pacing import HostPace
from .robots import ALLOW_ALL, Rules, disallow_all, parse_rules
from .visit import Visit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .plan import Plan
    from .sites import Site
    from .telling import Telling
    from .visit import Failed

# Hosts that are asked for robots.txt only because an index lists a sitemap there: perhaps they prove it. An index may
# list any number of hosts that are not its own.
MAX_PROOF_HOSTS = 100


class Permission:
    """Hosts by origin, each with its rules as soon as its robots.txt is known. `origins` are those of the sites."""

    def __init__(self, plan: Plan, telling: Telling, origins: Iterable[str]) -> None:
        self.hosts: dict[str, Host] = {}
        self._plan = plan
        self._telling = telling
        self._origins = frozenset(origins)
        self._proof_hosts = 0

    def host(self, url: str) -> Host:
        """The host of a URL or an origin."""
        key = origin(url + "/")
        host = self.hosts.get(key)
        if host is None:
            host = self.hosts[key] = Host(key, HostPace(self._plan.per_host))
        return host

    @property
    def is_idle(self) -> bool:
        """Nothing waits for any host."""
        return not any(host.waiting or host.robots for host in self.hosts.values())

    def wait(self, now: float, *, robots_only: bool) -> float | None:
        """Seconds until some host may be asked for something; None if only an answer can change that."""
        waits = (host.wait(now, robots_only=robots_only) for host in self.hosts.values())
        return min((wait for wait in waits if wait is not None), default=None)

    # --- asking ---

    def ask(self, host: Host, site: Site | None = None) -> None:
        """Its robots.txt, once; a `site` waits for it."""
        robots = self._robots(host)
        robots.aloud = True
        if site:
            site.awaits_robots = True
            robots.sites.append(site)

    def ask_for_proof(self, url: str) -> None:
        """The robots.txt of a host that nobody needs anything else of: it is no news if it fails or proves nothing."""
        if self._proof_hosts >= MAX_PROOF_HOSTS:
            return
        host = self.host(url)
        if host.robots_visit is None and not host.given_up:
            self._proof_hosts += 1
            self._robots(host)

    def _robots(self, host: Host) -> Visit:
        if host.robots_visit is None:
            url = host.origin + "/robots.txt"
            host.robots_visit = Visit(url, url, "well-known", is_robots=True)
            host.add(host.robots_visit)
        return host.robots_visit

    def learn_rules(self, host: Host) -> None:
        """Who does not obey robots.txt still reads that of a site, for what it names and proves."""
        if self._plan.obey_robots or host.origin in self._origins:
            self.ask(host)
        else:
            host.rules = ALLOW_ALL

    def ask_elsewhere(self, robots: Visit, failed: Failed) -> None:
        """A bare host is https, then http: this one did not answer at all."""
        failure = Outcome(format=Format.ROBOTS, complete=False)
        robots.tally.add(report(failed.code, failed.message, sitemap=robots.asked))
        self._telling.settle(robots, failure)
        # Documents that somebody names over there have it asked anew.
        host = self.host(robots.asked)
        host.robots_visit = None
        if host.waiting:
            self.ask(host)
        for site in robots.sites:
            site.first_failure = failure
            site.origin = site.other_origins.pop(0) if site.other_origins else site.origin
            self.ask(self.host(site.origin), site)

    # --- what came of it ---

    def refusal(self, host: Host, visit: Visit) -> str | None:
        """Why a document may not be asked for, if it may not."""
        if visit.is_robots or host.rules is None or host.rules.allows(visit.url):
            return None
        why = f" ({host.rules.why})" if host.rules.why else ""
        return f"forbidden by {host.origin}/robots.txt{why}"

    def is_lost(self, site: Site, visit: Visit) -> bool:
        """Whether to guess is no use: the host has never answered, may not be asked, or was given up."""
        host = self.host(site.origin)
        unanswered = visit.is_robots and visit.status is None
        return unanswered or bool(host.given_up or (host.rules and host.rules.why))

    def read_rules(self, robots: Visit, text: str) -> None:
        """The robots.txt has come: this is its text."""
        self.set_rules(robots, parse_rules(text, self._plan.user_agent))

    def set_rules(self, robots: Visit, rules: Rules) -> None:
        """Permission and pace of the host whose robots.txt was asked for."""
        host = self.host(robots.asked)
        host.rules = rules if self._plan.obey_robots else ALLOW_ALL
        delay, limit = host.rules.delay_seconds, self._plan.limits.max_crawl_delay_seconds
        if delay is not None and delay > limit:
            self._telling.note(robots, "F15", f"Crawl-delay of {delay:,.0f} s: {limit:,.0f} s are kept")
        if delay:
            host.pace.delay_seconds = min(delay, limit)

    def lose_rules(self, robots: Visit, why: str) -> None:
        """RFC 9309 2.3.1.4: unreachable means that all is disallowed."""
        message = "nothing on this host is fetched, except with --no-robots (obey_robots=False)"
        if not self._plan.obey_robots:
            message = "it is not obeyed, and what it names is not known"
        self._telling.note(robots, "F14", f"robots.txt is unreachable: {message}")
        self.set_rules(robots, disallow_all(f"robots.txt: {why}"))
