"""The hosts of a walk, and what their robots.txt files let us do there.

In: hosts to ask, and what became of a robots.txt. Out: Visits that ask for it, in their host's queue; who may be asked
for what, and how fast. What a robots.txt names is not its business.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import attrs

from ..model.limits import MOST_CRAWL_DELAY_SECONDS, advice
from ..model.problems import report
from ..model.records import Outcome
from ..parser.content.sniff import Format
from ..parser.normalise.scope import verified_prefixes
from ..parser.normalise.urls import origin, without_userinfo
from .blocked import of_both_schemes, with_remedy
from .document_request import DocumentRequest
from .robots_rules import ALLOW_ALL, Rules, disallow_all

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model.problems import Severity
    from .document_request import Failed, Site
    from .events import Events
    from .host_queue import Host, Hosts
    from .plan import Plan
    from .responses import Settle


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


class RobotsPolicy:
    """Gives each of the `hosts` its rules as soon as its robots.txt is known. `origins` are those of the sites."""

    def __init__(self, plan: Plan, hosts: Hosts, events: Events, origins: Iterable[str]) -> None:
        self._plan = plan
        self._hosts = hosts
        self._events = events
        self._origins = frozenset(origins)
        self._proof_hosts = 0
        self._delayed: list[Host] = []

    # --- asking ---

    def ask(self, host: Host, site: Site | None = None) -> None:
        """Its robots.txt, once; a `site` waits for it."""
        robots = self._robots(host)
        self._events.report_guess(robots)
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
        if host.robots_request is None and not host.given_up:
            self._proof_hosts += 1
            self._robots(host)
        return True

    def _robots(self, host: Host) -> DocumentRequest:
        if host.robots_request is None:
            url = host.origin + "/robots.txt"
            host.robots_request = DocumentRequest(url, url, "well-known", is_robots=True)
            self._hosts.add(host.robots_request)
        return host.robots_request

    def robots_at(self, url: str) -> DocumentRequest | None:
        """The robots.txt that a document lists or redirects to, asked for once; None where it is another document."""
        place = without_userinfo(url)
        if place != f"{origin(place)}/robots.txt":
            return None
        host = self._hosts.of(place)
        return None if host.given_up and host.robots_request is None else self._robots(host)

    def asked_at(self, url: str) -> DocumentRequest | None:
        """The visit that asks for the robots.txt at a URL on its host's own account, if there is one."""
        robots = self._hosts.of(url).robots_request if url in self._hosts else None
        return robots if robots is not None and robots.asked == url else None

    def share(self, robots: DocumentRequest) -> None:
        """It was redirected, and is read at the place of another host's: within one domain it is that one, too."""
        host = self._hosts.of(robots.url)
        if host.robots_request is not None or robots.url != f"{host.origin}/robots.txt":
            return
        if robots.url.startswith(verified_prefixes(robots.asked, robots.url)):
            host.robots_request = robots

    def learn_rules(self, host: Host) -> None:
        """Who does not obey robots.txt still reads that of a site, for what it names and proves."""
        if self._plan.obey_robots or host.origin in self._origins:
            self.ask(host)
        else:
            host.rules = ALLOW_ALL

    def ask_elsewhere(self, robots: DocumentRequest, failed: Failed) -> None:
        """A bare host is https, then http: this one did not answer at all."""
        failure = Outcome(format=Format.ROBOTS.value, complete=False)
        robots.tally.add(report(failed.code, failed.message, sitemap=robots.asked))
        self._events.settle(robots, failure)
        # Documents that somebody names over there have it asked anew.
        host = self._hosts.of(robots.asked)
        host.robots_request = None
        if host.waiting:
            self.ask(host)
        next(site for site in robots.sites if site.other_origins).first_failure = robots  # one of them tells of it
        for site in robots.sites:
            site.origin = site.other_origins.pop(0) if site.other_origins else site.origin
            self.ask(self._hosts.of(site.origin), site)

    def first_failure(self, site: Site) -> Outcome | None:
        """Of a bare host whose first origin gave no answer: that; one that is asked anew has an end of its own."""
        first = site.first_failure
        return first.outcome if first is not None and self._hosts.of(first.asked).robots_request is None else None

    def end_first(self, site: Site) -> None:
        """Reports that failure, if there is one: its robots.txt is not asked for a second time."""
        robots, failure = site.first_failure, self.first_failure(site)
        if robots is not None and failure is not None:
            self._events.add_earlier(failure)
            self._hosts.of(robots.asked).robots_request = robots
            self.lose_rules(robots, failure.samples[0].message)

    def failure(self, robots: DocumentRequest, message: str, *, closes_host: bool) -> str:
        """Why a robots.txt could not be read, with what helps: one message for the host, whatever was tried."""
        for first in filter(None, map(self.first_failure, robots.sites)):
            message = of_both_schemes(first.samples[0].message, message, robots.status)
        return with_remedy(message, robots.status, closes_host=closes_host and self._plan.obey_robots)

    # --- what came of it ---

    def rules(self, url: str) -> Rules | None:
        """What the robots.txt of a URL's host says; None where it was not read, or is not obeyed."""
        if url not in self._hosts or not self._plan.obey_robots:
            return None
        rules = self._hosts.of(url).rules
        return None if rules is None or rules.why else rules

    def refusal(self, host: Host, request: DocumentRequest) -> Refusal | None:
        """Why a document may not be asked for, if it may not."""
        if host.too_slow and not request.is_robots:
            return Refusal("F15", f"not read: {host.too_slow}", "info")  # the error is that of robots.txt
        if request.is_robots or host.rules is None or (why := host.rules.refusal(request.url)) is None:
            return None
        # That a robots.txt cannot be read has been reported, with the reason.
        severity: Severity | None = "info" if host.rules.why else None
        return Refusal("F02", f"forbidden by {host.origin}/robots.txt" + (f" ({why})" if why else ""), severity)

    def is_lost(self, site: Site, request: DocumentRequest) -> bool:
        """Whether to guess is no use: the host never answered, answers 429, may not be asked, or was skipped."""
        host = self._hosts.of(site.origin)
        if host.too_slow:  # the first guess stands for what is not read
            return request is not host.robots_request or bool(request.named)
        unanswered = request is host.robots_request and request.status is None
        is_busy = (
            not request.is_robots and request.why == "well-known" and request.status == HTTPStatus.TOO_MANY_REQUESTS
        )
        return unanswered or is_busy or bool(host.given_up or (host.rules and host.rules.why))

    def set_rules(self, robots: DocumentRequest, rules: Rules) -> None:
        """Permission and pace of the host whose robots.txt was asked for."""
        rules = rules if self._plan.obey_robots else ALLOW_ALL
        delay = rules.delay_seconds
        why = self._too_slow(robots, delay)
        asked, final = self._hosts.of(robots.asked), self._hosts.of(robots.url)
        for host in (asked, final) if final.robots_request is robots and final is not asked else (asked,):
            host.rules = rules
            host.too_slow = f"{host.origin}: {why}" if why else None
            if delay and not why:
                host.pace.delay_seconds = delay
                self._delayed.append(host)
            self._hosts.rouse(host)

    def _too_slow(self, robots: DocumentRequest, delay: float | None) -> str | None:
        """Why nothing but robots.txt is fetched, which is reported here; a recording is read all the same."""
        limit = self._plan.limits.max_crawl_delay_seconds
        if delay is None or delay <= limit:
            return None
        why = f"Crawl-delay of {_number(delay)} s is over {_number(limit)} s"
        if self._plan.is_recording:
            self._events.note(robots, "F15", f"{why}: only as a recording is this host read", severity="info")
            return None
        remedy = advice("max_crawl_delay_seconds", "wait for it")
        if delay > MOST_CRAWL_DELAY_SECONDS:
            remedy = "--no-robots (obey_robots=False) reads it without"
        self._events.note(robots, "F15", f"{why}: nothing on this host is fetched; {remedy}")
        return why

    def longest_delay(self) -> Delay | None:
        """The host whose Crawl-delay makes this walk take longest; None where none does."""
        delays = (Delay(host.origin, host.pace.delay_seconds or 0.0, len(host.waiting)) for host in self._delayed)
        return max((each for each in delays if each.documents), key=lambda each: each.seconds_left, default=None)

    def settle(self, robots: DocumentRequest, step: Settle) -> Outcome:
        """One that is missing, or is taken for missing: what it would name is missed by its own sites only."""
        is_blocked = step.refused and bool(robots.sites)
        if is_blocked:
            self._hosts.of(robots.asked).blocked = True
            self._events.note(robots, "F01", self.failure(robots, str(step.message), closes_host=False))
        elif step.message:
            message = f"robots.txt is taken for missing, all is allowed: {step.message}"
            self._events.note(robots, "F14", message, severity="info" if step.refused else None)
        self.set_rules(robots, step.rules)
        return Outcome(format=Format.ROBOTS.value, complete=not is_blocked)

    def lose_rules(self, robots: DocumentRequest, why: str) -> None:
        """RFC 9309 2.3.1.4: unreachable means that all is disallowed; `why` it is."""
        self.set_rules(robots, disallow_all(f"robots.txt: {why}"))


def _number(number: float) -> str:
    """`3,600`, `30.5`."""
    return f"{number:,.1f}".removesuffix(".0")
