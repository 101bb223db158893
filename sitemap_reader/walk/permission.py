"""The hosts of a walk, and what their robots.txt files let us do there.

In: hosts to ask, and what became of a robots.txt. Out: Visits that ask for it, in their host's queue; who may be asked
for what, and how fast. What a robots.txt names is not its business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from ..limits import MOST_CRAWL_DELAY_SECONDS, advice
from ..problems import report
from ..read.sniff import Format
from ..records import Outcome
from .robots import ALLOW_ALL, Rules, disallow_all
from .visit import Visit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..problems import Severity
    from .hosts import Host, Hosts
    from .plan import Plan
    from .sites import Site
    from .telling import Telling
    from .visit import Failed


@attrs.frozen
class Refusal:
    """Why a document is not asked for: a Problem's code, message and severity, None for that of the code."""

    code: str
    message: str
    severity: Severity | None = None


@attrs.frozen
class Delay:
    """A host with a Crawl-delay, and how many of its documents wait for their turn by now."""

    host: str
    delay_seconds: float
    documents: int

    @property
    def seconds_left(self) -> float:
        """How long those documents take at least; others may yet be found."""
        return self.delay_seconds * self.documents


class Permission:
    """Gives each of the `hosts` its rules as soon as its robots.txt is known. `origins` are those of the sites."""

    def __init__(self, plan: Plan, hosts: Hosts, telling: Telling, origins: Iterable[str]) -> None:
        self._plan = plan
        self._hosts = hosts
        self._telling = telling
        self._origins = frozenset(origins)
        self._proof_hosts = 0
        self._delayed: list[Host] = []

    # --- asking ---

    def ask(self, host: Host, site: Site | None = None) -> None:
        """Its robots.txt, once; a `site` waits for it."""
        robots = self._robots(host)
        self._telling.speak_up(robots)
        if site:
            site.awaits_robots = True
            robots.sites.append(site)

    def ask_for_proof(self, url: str) -> bool:
        """The robots.txt of a host that nobody needs anything else of: it is no news if it fails or proves nothing.

        False where so many hosts were asked already that this one is not.
        """
        # An index may list any number of hosts that are not its own.
        if self._proof_hosts >= self._plan.limits.max_proof_hosts and url not in self._hosts:
            return False
        host = self._hosts.of(url)
        if host.robots_visit is None and not host.given_up:
            self._proof_hosts += 1
            self._robots(host)
        return True

    def _robots(self, host: Host) -> Visit:
        if host.robots_visit is None:
            url = host.origin + "/robots.txt"
            host.robots_visit = Visit(url, url, "well-known", is_robots=True)
            self._hosts.add(host.robots_visit)
        return host.robots_visit

    def learn_rules(self, host: Host) -> None:
        """Who does not obey robots.txt still reads that of a site, for what it names and proves."""
        if self._plan.obey_robots or host.origin in self._origins:
            self.ask(host)
        else:
            host.rules = ALLOW_ALL

    def ask_elsewhere(self, robots: Visit, failed: Failed) -> None:
        """A bare host is https, then http: this one did not answer at all."""
        failure = Outcome(format=Format.ROBOTS.value, complete=False)
        robots.tally.add(report(failed.code, failed.message, sitemap=robots.asked))
        self._telling.settle(robots, failure)
        # Documents that somebody names over there have it asked anew.
        host = self._hosts.of(robots.asked)
        host.robots_visit = None
        if host.waiting:
            self.ask(host)
        next(site for site in robots.sites if site.other_origins).first_failure = failure  # one of them tells of it
        for site in robots.sites:
            site.origin = site.other_origins.pop(0) if site.other_origins else site.origin
            self.ask(self._hosts.of(site.origin), site)

    def tell_of_first(self, site: Site, later: Outcome) -> None:
        """Neither of a bare host's origins could be read; one that is asked anew has an end of its own."""
        first = site.first_failure
        if first is not None and self._hosts.of(str(first.url)).robots_visit is None:
            self._telling.add_earlier(first, later)

    # --- what came of it ---

    def rules(self, url: str) -> Rules | None:
        """What the robots.txt of a URL's host says; None where it was not read, or is not obeyed."""
        if url not in self._hosts or not self._plan.obey_robots:
            return None
        rules = self._hosts.of(url).rules
        return None if rules is None or rules.why else rules

    def refusal(self, host: Host, visit: Visit) -> Refusal | None:
        """Why a document may not be asked for, if it may not."""
        if host.too_slow and not visit.is_robots:
            return Refusal("F15", f"not read: {host.too_slow}", "info")  # the error is that of robots.txt
        if visit.is_robots or host.rules is None or (why := host.rules.refusal(visit.url)) is None:
            return None
        return Refusal("F02", f"forbidden by {host.origin}/robots.txt" + (f" ({why})" if why else ""))

    def is_lost(self, site: Site, visit: Visit) -> bool:
        """Whether to guess is no use: the host has never answered, may not be asked, or was given up."""
        host = self._hosts.of(site.origin)
        if host.too_slow:  # the first guess stands for what is not read
            return not visit.is_robots or bool(visit.named)
        unanswered = visit.is_robots and visit.status is None
        return unanswered or bool(host.given_up or (host.rules and host.rules.why))

    def set_rules(self, robots: Visit, rules: Rules) -> None:
        """Permission and pace of the host whose robots.txt was asked for."""
        host = self._hosts.of(robots.asked)
        host.rules = rules if self._plan.obey_robots else ALLOW_ALL
        delay, limit = host.rules.delay_seconds, self._plan.limits.max_crawl_delay_seconds
        if delay is not None and delay > limit:
            self._tell_too_slow(host, robots, f"Crawl-delay of {_number(delay)} s is over {_number(limit)} s", delay)
        if delay and not host.too_slow:
            host.pace.delay_seconds = delay
            self._delayed.append(host)
        self._hosts.rouse(host)

    def _tell_too_slow(self, host: Host, robots: Visit, why: str, delay: float) -> None:
        """Nothing but robots.txt is fetched there; a recording is read all the same."""
        if self._plan.is_recording:
            self._telling.note(robots, "F15", f"{why}: only as a recording is this host read", severity="info")
            return
        host.too_slow = f"{host.origin}: {why}"
        remedy = advice("max_crawl_delay_seconds", "wait for it")
        if delay > MOST_CRAWL_DELAY_SECONDS:
            remedy = "--no-robots (obey_robots=False) reads it without"
        self._telling.note(robots, "F15", f"{why}: nothing on this host is fetched; {remedy}")

    def longest_delay(self) -> Delay | None:
        """The host whose Crawl-delay makes this walk take longest; None where none does."""
        delays = (Delay(host.origin, host.pace.delay_seconds or 0.0, len(host.waiting)) for host in self._delayed)
        return max((each for each in delays if each.documents), key=lambda each: each.seconds_left, default=None)

    def lose_rules(self, robots: Visit, code: str, why: str) -> None:
        """RFC 9309 2.3.1.4: unreachable means that all is disallowed. `code` and `why` are those of the failure."""
        message = "nothing on this host is fetched, except with --no-robots (obey_robots=False)"
        if remedy := self._remedy(robots, code):
            message = f"nothing on this host is fetched, with or without --no-robots; {remedy}"
        elif not self._plan.obey_robots:
            message = "it is not obeyed, and what it names is not known"
        self._telling.note(robots, "F14", f"robots.txt is unreachable: {message}")
        self.set_rules(robots, disallow_all(f"robots.txt: {why}"))

    def _remedy(self, robots: Visit, code: str) -> str | None:
        """What helps where documents would fare as their robots.txt did, obeyed or not."""
        host = self._hosts.of(robots.asked)
        if host.given_up:
            return advice("max_wait_seconds", "wait for it")
        if code == "F13" and host is self._hosts.of(robots.url):  # and not where a redirect led
            return "--allow-private (allow_private=True) permits its address"
        return advice("max_site_bytes") if code == "S16" else None


def _number(number: float) -> str:
    """`3,600`, `30.5`."""
    return f"{number:,.1f}".removesuffix(".0")
