"""robots.txt as policy: which hosts' robots.txt to request, and what its rules, or the caller's policy, allow there.

The Sitemap lines are not read here: see links.py.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Literal

import attrs

from ..model.errors import UsageError
from ..model.limits import MOST_CRAWL_DELAY_SECONDS, advice
from ..model.problems import report
from ..model.records import PROBED, Outcome
from ..parser.content.sniff import Format
from ..parser.normalise.scope import verified_prefixes
from ..parser.normalise.urls import host as host_of
from ..parser.normalise.urls import is_robots_txt, origin, registrable_domain, without_userinfo
from .documents import Document, Failed, RobotsVerdict
from .plan import WELL_KNOWN
from .responses import NO_ROBOTS, allow_listing, failure_of_both_schemes, is_refusal, wall_at, with_remedy
from .robots_rules import ALLOW_ALL, Rules, disallow_all

if TYPE_CHECKING:
    from ..model.problems import Severity
    from ..parser.dialects.robots import RobotsBody
    from .documents import Events, RobotsEffect, SiteDiscovery
    from .host_queue import HostQueue, HostQueues
    from .plan import Plan
    from .responses import RulesByStatus
    from .robots_rules import RobotsPolicy

_WALL = "a bot wall, or what this host sends for missing files"
# Of a recording, or of files, nothing is requested: the limit is one of memory.
_RECORDED_HOSTS = 1_000
# Bodies in place of a robots.txt, as in messages.
_BODIES: dict[RobotsBody, str] = {
    "rules": "a robots.txt",
    "html": "an HTML page",
    "other": "a body without a rule or a Sitemap line",
    "empty": "an empty body",
    "comments": "comments alone",
}


@attrs.frozen
class CrawlDelay:
    """A host with a Crawl-delay, and how many of its documents wait for their turn."""

    host: str
    delay_seconds: float
    documents: int

    @property
    def seconds_left(self) -> float:
        """How long those documents take at least; more may be found."""
        return self.delay_seconds * self.documents


@attrs.define(eq=False, repr=False)
class HostRobots:
    """Gives each of the `hosts` its rules as soon as its robots.txt is known."""

    _plan: Plan
    _hosts: HostQueues
    _events: Events
    _origins: Collection[str]  # of the seeds
    _verification_hosts: int = 0
    _delayed: list[HostQueue] = attrs.field(factory=list)

    @property
    def _policy(self) -> RobotsPolicy | None:
        """The caller's, in place of the rules."""
        return None if isinstance(self._plan.obey_robots, bool) else self._plan.obey_robots

    def request(self, host: HostQueue, site: SiteDiscovery | None = None) -> None:
        """Requests a host's robots.txt, once; the discovery of `site` waits for it."""
        robots = self._robots(host)
        self._events.report_probe(robots)
        if site:
            site.awaits_robots = True
            robots.sites += (site,)

    def request_for_verification(self, url: str) -> bool:
        """Requests the robots.txt of a URL's host only for its Sitemap lines; False beyond max_proof_hosts hosts."""
        # An index may list any number of foreign hosts.
        most = self._plan.limits.max_proof_hosts * (_RECORDED_HOSTS if self._plan.is_recording else 1)
        if self._verification_hosts >= most and url not in self._hosts:
            return False
        host = self._hosts.for_url(url)
        if host.robots_txt is None and not host.skip_failure:
            self._verification_hosts += 1
            self._robots(host)
        return True

    def request_for_drops(self, document: Document, origins: Iterable[str]) -> None:
        """Requests the robots.txt of those of the origins that have the registrable domain of a document."""
        # It has dropped URLs there. Hosts of other domains are not requested: shared sitemaps list thousands.
        for each in origins:
            url = f"{each}/"
            if registrable_domain(host_of(url)) == registrable_domain(host_of(document.url)):
                self.request_for_verification(url)

    def _robots(self, host: HostQueue) -> Document:
        if host.robots_txt is None:
            url = host.origin + "/robots.txt"
            host.robots_txt = Document(url, "well-known", is_robots=True)
            self._hosts.add(host.robots_txt)
        return host.robots_txt

    def robots_at(self, url: str) -> Document | None:
        """The robots.txt that a document lists or redirects to, requested once; None for another document."""
        place = without_userinfo(url)
        if not is_robots_txt(place):
            return None
        host = self._hosts.for_url(place)
        return None if host.skip_failure and host.robots_txt is None else self._robots(host)

    def requested_at(self, url: str) -> Document | None:
        robots = self._hosts.for_url(url).robots_txt if url in self._hosts else None
        return robots if robots is not None and robots.original_url == url else None

    def share(self, robots: Document) -> None:
        """Uses a robots.txt that was redirected to another host of the same domain for that host, too."""
        host = self._hosts.for_url(robots.url)
        if host.robots_txt is not None or robots.url != f"{host.origin}/robots.txt":
            return
        if robots.url.startswith(verified_prefixes(robots.original_url, robots.url)):
            host.robots_txt = robots

    def queue(self, document: Document, step: Literal["request", "queue"] = "queue") -> None:
        """Queues a document at its host, by a step of its life."""
        # That host's robots.txt is requested first where it is obeyed, and always at the origins of the seeds, for its
        # Sitemap lines.
        document.take(step)
        host = self._hosts.for_url(document.url)
        if host.skip_failure:
            if host.robots_txt is not None:  # which may have been requested for verification only, so far
                self._events.report_probe(host.robots_txt)
        elif not document.is_robots:
            if self._plan.obey_robots is not False or host.origin in self._origins:
                self.request(host)
            else:
                host.rules = ALLOW_ALL
        self._hosts.add(document)

    def request_at_next_origin(self, robots: Document, failed: Failed) -> None:
        """A bare host is tried over https, then http: https did not answer at all."""
        problem = report(failed.code, failed.message, sitemap=robots.original_url, remedy=failed.remedy)
        failure = Outcome(format=Format.ROBOTS.value, complete=False, problems={failed.code: 1}, samples=(problem,))
        robots.take("end")
        self._events.set_outcome(robots, failure)
        # Documents listed at the first origin need its robots.txt: it is requested anew for them.
        host = self._hosts.for_url(robots.original_url)
        host.robots_txt = None
        if host.documents:
            self.request(host)
        next(site for site in robots.sites if site.other_origins).first_failure = robots, failed  # reported once
        for site in robots.sites:
            site.origin = site.other_origins.pop(0) if site.other_origins else site.origin
            self.request(self._hosts.for_url(site.origin), site)

    def _first_failure(self, site: SiteDiscovery) -> tuple[Document, Failed] | None:
        """The failure of a bare host's first origin, unless its robots.txt is requested anew and has its own end."""
        first = site.first_failure
        if first is None or self._hosts.for_url(first[0].original_url).robots_txt is not None:
            return None
        return first

    def report_first_failure(self, site: SiteDiscovery, *, is_alone: bool = False) -> None:
        """Reports that failure, if there is one: its robots.txt is not requested a second time.

        Unless it `is_alone`, the message of the next origin's robots.txt has both failures.
        """
        first = self._first_failure(site)
        if first is None:
            return
        (robots, failed), outcome = first, first[0].outcome
        assert outcome is not None  # noqa: S101 - for the type checker: it has ended
        if is_alone:
            both = attrs.evolve(failed, message=f"{failed.message}; discovery over http finds no sitemap")
            told = with_remedy(both, robots.received, self._plan)
            outcome.samples = (report(told.code, told.message, sitemap=robots.original_url, remedy=told.remedy),)
            site.report_candidate(outcome)
        self._events.report_first_failure(outcome, with_samples=is_alone)
        self._hosts.for_url(robots.original_url).robots_txt = robots
        self.disallow(robots, failed.text)

    def failure(self, robots: Document, failed: Failed, *, closes_host: bool) -> Failed:
        """Why a robots.txt could not be read, with a remedy: one failure for all origins that were tried."""
        for _, first in filter(None, map(self._first_failure, robots.sites)):
            failed = failure_of_both_schemes(first, failed, robots.status)
        closes_host = closes_host and self._plan.obey_robots is True
        return with_remedy(failed, robots.received, self._plan, closes_host=closes_host)

    def rules(self, url: str) -> Rules | None:
        """The rules in the robots.txt of a URL's host, also where it is not obeyed; None where it was not read."""
        rules = self._hosts.for_url(url).stated_rules if url in self._hosts else None
        return None if rules is None or rules.why else rules

    def texts(self) -> dict[str, str]:
        """Origin -> its robots.txt, of all that could be read; empty for one that is missing."""
        stated = ((host.origin, host.stated_rules) for host in self._hosts)
        return {start: rules.text for start, rules in stated if rules is not None and rules.why is None}

    def refusal(self, host: HostQueue, document: Document) -> Failed | None:
        if host.delay_error and not document.is_robots:
            # The error is that of robots.txt.
            return Failed("F15", f"not read: {host.delay_error}", transient=False, severity="notice")
        if document.is_robots or host.rules is None or (message := self._refusal(host, document.url)) is None:
            return None
        # That a robots.txt cannot be read has been reported, with the reason.
        severity: Severity | None = "notice" if host.rules.why else None
        return Failed("F02", f"forbidden by {message}", transient=False, severity=severity)

    def _refusal(self, host: HostQueue, url: str) -> str | None:
        """What forbids a URL of a host; None where it is allowed."""
        rules = host.rules or ALLOW_ALL
        if self._policy is not None:
            allowed: object = self._policy.allows(without_userinfo(url), rules)
            if allowed not in (True, False):
                raise UsageError(f"obey_robots.allows() returned {allowed!r:.60}", remedy="let it return True or False")
            return None if allowed else "the robots policy"
        why = rules.refusal(url)
        return None if why is None else f"{host.origin}/robots.txt" + (f" ({why})" if why else "")

    def rules_out_probes(self, site: SiteDiscovery, document: Document) -> bool:
        """Whether probes are useless: the host never answered, answers 429, is disallowed, or is skipped."""
        host = self._hosts.for_url(site.origin)
        if host.delay_error:  # the first probe stands for what is not read
            return document is not host.robots_txt or bool(document.sitemap_lines)
        unanswered = document is host.robots_txt and document.status is None
        is_guess = document.why in PROBED and not document.serves_discovery
        is_busy = is_guess and document.status == HTTPStatus.TOO_MANY_REQUESTS
        is_closed = self._policy is None and host.rules is not None and host.rules.why is not None
        return unanswered or is_busy or is_closed or host.skip_failure is not None

    def set_rules(self, robots: Document, rules: Rules, body: RobotsBody | None = None) -> None:
        """Sets rules and pace of the host of a robots.txt, and of the one that it was redirected to."""
        # If its `body` has no line of a robots.txt, end_discovery() decides what that means.
        robots.robots_body, robots.awaits_verdict = body, body not in (None, "rules") and bool(robots.sites)
        rules = attrs.evolve(rules, status=rules.status or robots.status)
        obeyed = ALLOW_ALL if self._plan.obey_robots is False else rules
        errors: dict[float | None, str | None] = {}
        first, final = self._hosts.for_url(robots.original_url), self._hosts.for_url(robots.url)
        for host in (first, final) if final.robots_txt is robots and final is not first else (first,):
            host.stated_rules, host.rules = rules, obeyed
            host.crawl_delay = delay = self._delay(host, obeyed)
            if delay not in errors:
                errors[delay] = self._delay_error(robots, delay)
            error = errors[delay]
            host.delay_error = f"{host.origin}: {error}" if error else None
            self._events.decide(RobotsVerdict, host.origin, *self._effect(robots, obeyed), delay)
            if delay and not error:
                self._hosts.slow_down(host, delay)
                self._delayed.append(host)
            self._hosts.wake(host)
        if body is not None and not robots.awaits_verdict:
            self.report_body(robots)

    def _effect(self, robots: Document, rules: Rules) -> tuple[RobotsEffect, str]:
        """What the rules of a robots.txt permit, and why."""
        if rules.why:
            return "disallow", rules.why
        if rules.text:
            return "rules", ""
        if not self._plan.obey_robots:
            return "allow", "obey_robots=False"
        return "allow", f"robots.txt answered {robots.status}" if robots.status else ""

    def set_known_rules(self, host: HostQueue, rules: Rules, now: float) -> None:
        """Sets the rules of a host whose robots.txt was read by another crawl, which ends now: it is not requested."""
        if host.robots_txt is None:
            host.robots_txt = Document(f"{host.origin}/robots.txt", "well-known", is_robots=True, state="reported")
            self.set_rules(host.robots_txt, rules)
            host.pace.last_start = now

    def _delay(self, host: HostQueue, rules: Rules) -> float | None:
        if self._policy is None:
            return rules.delay_seconds
        delay: object = self._policy.crawl_delay(f"{host.origin}/", rules)
        if delay is None:
            return None
        if isinstance(delay, int | float) and 0 <= delay < math.inf:
            return float(delay)
        raise UsageError(f"crawl_delay() of a robots policy returns seconds, or None, not {delay!r:.60}")

    def _delay_error(self, robots: Document, delay: float | None) -> str | None:
        """Reports a Crawl-delay over the limit, and returns the message; a recording is read all the same."""
        limit = self._plan.limits.max_crawl_delay_seconds
        if delay is None or delay <= limit:
            return None
        error = f"Crawl-delay of {_number(delay)} s is over {_number(limit)} s"
        if self._plan.is_recording:
            self._events.note(robots, "F15", f"{error}: read only because this is a recording", severity="notice")
            return None
        remedy = advice("max_crawl_delay_seconds", "wait for it")
        if delay > MOST_CRAWL_DELAY_SECONDS:
            remedy = f"{NO_ROBOTS} reads it without"
        self._events.note(robots, "F15", f"{error}: nothing on this host is fetched", remedy=remedy)
        return error

    def longest_delay(self) -> CrawlDelay | None:
        """The host whose Crawl-delay makes the crawl take longest; None where no document waits for one."""
        delays = (CrawlDelay(host.origin, host.pace.delay_seconds, len(host.documents)) for host in self._delayed)
        return max((each for each in delays if each.documents), key=lambda each: each.seconds_left, default=None)

    def set_rules_by_status(self, robots: Document, step: RulesByStatus) -> Outcome:
        """The outcome of a robots.txt that is missing, or is taken for missing."""
        # Only a seed's own robots.txt has Sitemap lines to miss.
        is_blocked = step.refusal is not None and bool(robots.sites)
        if step.refusal is not None and is_blocked:
            self._hosts.for_url(robots.original_url).is_blocked = True
            failed = Failed(step.refusal, str(step.message), transient=False)
            final = self.failure(robots, failed, closes_host=False)
            self._events.note(robots, final.code, final.message, remedy=final.remedy)
        elif step.message:
            message = f"robots.txt is treated as missing, everything is allowed: {step.message}"
            self._events.note(robots, "F14", message, severity="notice" if step.refusal else None)
        self.set_rules(robots, step.rules)
        return Outcome(format=Format.ROBOTS.value, complete=not is_blocked)

    def disallow(self, robots: Document, why: str) -> None:
        """RFC 9309 2.3.1.4: while robots.txt is unreachable, all is disallowed; `why` it is."""
        self.set_rules(robots, disallow_all(f"robots.txt: {why}"))

    # --- pages with status 200 in place of a robots.txt or of sitemaps ---

    def end_discovery(self, site: SiteDiscovery) -> Document | None:
        """Nothing is left to request on the site's account; the robots.txt that awaited this and ends by it."""
        # If a sitemap was found, a page in place of robots.txt is a warning, and one at a well-known path is not
        # reported. If none was found, a wall is an error.
        site.has_ended = True
        host = self._hosts.for_url(site.origin)
        if not (site.has_sitemap or site.candidates or host.delay_error):
            # What answers over http need not be the site: its sitemaps may be over https.
            self.report_first_failure(site, is_alone=True)
        robots, sites = host.robots_txt, [site]
        ended = None
        if robots is not None and robots.awaits_verdict:
            sites, ended = [*robots.sites], robots
            if not all(each.has_ended for each in sites):
                return None
        probes = [probe for each in sites for probe in each.probes]
        is_judged = not (host.is_blocked or any(each.has_sitemap for each in sites))
        wall = wall_at(robots, probes) if is_judged else None
        page = site.start_page
        if is_judged and page is not None and self._hides_links(page):
            self._events.report_probe(page)
            assert page.outcome is not None  # noqa: S101 - for the type checker: it has ended
            site.report_candidate(page.outcome)
        for probe in probes if is_judged else ():
            if probe.last_alias.received.sitemap_format is not None and probe.outcome is not None:
                self._events.report_probe(probe)
                site.report_candidate(probe.outcome)
        if ended is not None:
            self.report_body(ended, is_wall=wall == "robots")
        if wall == "paths" and not site.candidates:
            page = probes[0]
            assert page.outcome is not None  # noqa: S101 - for the type checker: it has ended
            message = f"{_BODIES['html']} where a sitemap should be, at every well-known path: {_WALL}"
            problem = report("F05", message, sitemap=page.original_url, remedy=allow_listing(self._plan))
            page.outcome.samples = (problem, *(each for each in page.outcome.samples if each.code != "F05"))
            self._events.report_probe(page)
            site.report_candidate(page.outcome)
        return ended if ended is not None and ended.outcome else None

    def _hides_links(self, page: Document) -> bool:
        """Whether a start page that was refused may have linked to what an earlier crawl read of the site."""
        outcome = page.outcome
        is_refused = outcome is not None and not outcome.complete and all(map(is_refusal, outcome.problems))
        return is_refused and any(url.startswith(f"{origin(page.url)}/") for url in self._plan.former_sitemaps)

    def report_body(self, robots: Document, *, is_wall: bool = False) -> None:
        """Reports what is wrong with the body of a robots.txt; no failure to read it."""
        body = robots.robots_body or "rules"
        robots.awaits_verdict = False
        what = f"{_BODIES[body]} where a robots.txt should be"
        if is_wall:
            code, message = "F05" if body == "html" else "F17", f"{what}, and no sitemap at a well-known path: {_WALL}"
            self._events.note(robots, code, message, remedy=allow_listing(self._plan))
            if robots.outcome is not None:
                robots.outcome.complete = False
                for site in robots.sites:
                    site.report_candidate(robots.outcome)
        elif body == "html":
            self._events.note(robots, "F05", what, severity="warning")
        elif body == "other":
            message = f"robots.txt is treated as missing, everything is allowed: {what}"
            self._events.note(robots, "F14", message, severity=None if robots.sites else "notice")
        elif robots.sites and not robots.sitemap_lines:
            host, more, remedy = self._hosts.for_url(robots.original_url), "", None
            if self._refusal(host, f"{robots.sites[0].origin}{WELL_KNOWN[0]}") is not None:
                more = f", and {'' if self._policy is None else 'the robots policy '}forbids {WELL_KNOWN[0]}"
                remedy = f"{NO_ROBOTS} tries it anyway"
            self._events.note(robots, "F09", f"robots.txt names no sitemap{more}", remedy=remedy)


def _number(number: float) -> str:
    """`3,600`, `30.5`."""
    return f"{number:,.1f}".removesuffix(".0")
