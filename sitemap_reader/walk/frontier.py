"""A site's sitemaps as a state machine, without a socket or a clock.

In: seeds, then the answer to each Visit. Out: next_requests(), the Visits that may be made now, and take(), the
Problems and Outcomes of the walk itself. It knows what was seen, who listed what, what each document may speak for,
whom robots.txt permits, and when to try again. This is the only place where an index feeds back.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import attrs

from ..limits import Limits
from ..problems import Problem, report
from ..read.scope import Mode, proof_authorities
from ..read.sniff import Format
from ..read.urls import origin
from ..records import Outcome, SitemapRef, Why
from .answers import Follow, Read, Refuse, Settle, judge
from .children import ChildRules
from .hosts import Host
from .pacing import HostPace, backoff
from .register import Register
from .robots import ALLOW_ALL, Rules, disallow_all, parse_rules
from .sites import Site
from .telling import Telling, place
from .visit import Answer, Failed, Finished, Head, Visit
from .window import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from .discovery import Probe, Seed


@attrs.frozen
class Plan:
    """What a walk is to do; the same for all its sites."""

    scope: Mode = "protocol"
    window: Window = attrs.field(factory=Window)
    probe: Probe = "auto"
    obey_robots: bool = True
    follow: Callable[[SitemapRef], bool] | None = None
    user_agent: str = "sitemap-reader"
    concurrency: int = 16
    per_host: int = 4
    descend: bool = True  # False: the candidates only, not their children
    limits: Limits = attrs.field(factory=Limits)


class Frontier:
    """`next_requests(now)` and `receive(visit, answer, now, today)`, until `done`.

    `now` is any clock's seconds that only grow; `today` the calendar's time, for Retry-After dates.
    """

    def __init__(self, seeds: Sequence[Seed], plan: Plan, *, jitter: Callable[[], float] | None = None) -> None:
        self.plan = plan
        self.sites = [Site.of(seed, plan.probe) for seed in seeds]
        self.pruned: Counter[str] = Counter()  # children not asked for: reason -> count
        self.in_flight = 0
        self.documents_known = 0  # named or guessed so far, read or not
        self.documents_done = 0
        self._limits = plan.limits
        self._child_rules = ChildRules(plan.scope, plan.window, plan.follow, plan.limits)
        self._jitter = jitter or random.Random().random  # noqa: S311 - spreads retries, guards nothing
        self._hosts: dict[str, Host] = {}
        self._register = Register()
        self._proofs: dict[str, tuple[str, ...]] = {}
        self._telling = Telling()
        self._bytes = 0
        # Documents last: a robots.txt that is asked for on their account serves no discovery.
        for site in sorted(self.sites, key=lambda site: site.seed.document is not None):
            self._open_site(site)

    # --- the outside ---

    @property
    def done(self) -> bool:
        """Nothing is in flight and nothing waits."""
        return not self.in_flight and not any(host.waiting or host.robots for host in self._hosts.values())

    def next_requests(self, now: float) -> list[Visit]:
        """The visits that may start now, within the caps of the plan; each must be answered."""
        started: list[Visit] = []
        for host in list(self._hosts.values()):
            while self.in_flight < self.plan.concurrency and (
                visit := host.next(now, robots_only=self._gathers_proofs)
            ):
                if self._permitted(host, visit):
                    host.pace.started(now)
                    self.in_flight += 1
                    visit.tries += 1
                    started.append(visit)
        return started

    def wait(self, now: float) -> float | None:
        """Seconds until next_requests() is worth asking again; None if only an answer can change that."""
        if self.in_flight >= self.plan.concurrency:
            return None
        robots_only = self._gathers_proofs
        waits = (host.wait(now, robots_only=robots_only) for host in self._hosts.values())
        return min((wait for wait in waits if wait is not None), default=None)

    def receive(self, visit: Visit, answer: Answer, now: float, today: datetime) -> bool:
        """Takes in what came of a visit. For a Head: whether to read the body."""
        if isinstance(answer, SitemapRef):
            self._listed(visit, answer)
            return True
        if isinstance(answer, Head):
            return self._head(visit, answer, now, today)
        self._release(visit)
        if isinstance(answer, Failed):
            self._failed(visit, answer, now)
        else:
            self._finished(visit, answer)
        return False

    def take(self) -> list[Problem | Outcome]:
        """What the walk itself has to say since the last call."""
        return self._telling.take()

    def authorities(self, visit: Visit) -> tuple[str, ...]:
        """What a document may speak for besides its own directory, by all that is known now."""
        proven = self._proofs.get(visit.asked, ()) + self._proofs.get(visit.url, ())
        if visit.why in ("given", "well-known"):
            proven += proof_authorities(visit.asked, visit.url)
        return tuple(dict.fromkeys(visit.authorities + proven))

    def tries_again(self, visit: Visit, failed: Failed) -> bool:
        """Whether a failure leads to another try."""
        return failed.transient and visit.tries < self._limits.tries

    # --- starting ---

    @property
    def _gathers_proofs(self) -> bool:
        """A document may be named by several sites' robots.txt: it is read when all of them have had their say."""
        return any(site.awaits_robots for site in self.sites)

    def _open_site(self, site: Site) -> None:
        """robots.txt first: what it proves and permits decides on all the rest."""
        document = site.seed.document
        if document is None:
            self._ask_robots(self._host(site.origin), site)
        elif document not in self._register:
            self._add_candidate(document, "given", site)

    def _host(self, origin_: str) -> Host:
        host = self._hosts.get(origin_)
        if host is None:
            host = self._hosts[origin_] = Host(origin_, HostPace(self.plan.per_host))
        return host

    def _ask_robots(self, host: Host, site: Site | None = None) -> None:
        if host.robots_visit is None:
            url = host.origin + "/robots.txt"
            host.robots_visit = Visit(url, url, "well-known", is_robots=True)
            host.add(host.robots_visit)
        if site:
            site.awaits_robots = True
            host.robots_visit.sites.append(site)

    def _add(self, visit: Visit) -> None:
        """A new document: known from now on, and waiting for its host."""
        self._register.add(visit.asked, visit)
        self.documents_known += 1
        self._queue(visit)

    def _add_candidate(self, url: str, why: Why, site: Site) -> None:
        visit = Visit(url, url, why)
        site.expect(visit)
        self._add(visit)

    def _queue(self, visit: Visit) -> None:
        host = self._host(origin(visit.url))
        if host.given_up:
            self._fail(visit, "F04", host.given_up)
            return
        if host.rules is None and not visit.is_robots:
            self._learn_rules(host)
        host.add(visit)

    def _learn_rules(self, host: Host) -> None:
        """Who does not obey robots.txt still reads that of a site, for what it names and proves."""
        of_a_site = any(host.origin == origin_ for site in self.sites for origin_ in site.seed.origins)
        if self.plan.obey_robots or of_a_site:
            self._ask_robots(host)
        else:
            host.rules = ALLOW_ALL

    def _permitted(self, host: Host, visit: Visit) -> bool:
        limit = self._limits.max_site_bytes
        if self._bytes > limit:
            self._fail(visit, "S16", f"more than {limit:,} bytes decoded: not read; raise max_site_bytes to go on")
            return False
        if visit.is_robots or host.rules is None or host.rules.allows(visit.url):
            return True
        why = f" ({host.rules.why})" if host.rules.why else ""
        self._fail(visit, "F02", f"forbidden by {host.origin}/robots.txt{why}")
        return False

    def _release(self, visit: Visit) -> None:
        self.in_flight -= 1
        self._host(origin(visit.url)).pace.finished()

    # --- answers ---

    def _head(self, visit: Visit, head: Head, now: float, today: datetime) -> bool:
        visit.status = head.status
        step = judge(visit, head, self._limits, today)
        if isinstance(step, Read):
            visit.etag, visit.last_modified = head.headers.get("etag"), head.headers.get("last-modified")
            return True
        self._release(visit)
        if isinstance(step, Follow):
            self._move(visit, step.target)
        elif isinstance(step, Settle):
            if step.message:
                self._telling.note(visit, "F14", step.message)
            self._rules_known(visit, step.rules)
            self._finish(visit, Outcome(format=Format.ROBOTS))
        else:
            self._refused(visit, step, now)
        return False

    def _refused(self, visit: Visit, refusal: Refuse, now: float) -> None:
        host = self._host(origin(visit.url))
        if refusal.give_up:
            self._give_up(host, visit, refusal.message)
            return
        host.pace.hold(now + refusal.hold_seconds)
        self._failed(visit, Failed(refusal.code, refusal.message, refusal.transient), now)

    def _failed(self, visit: Visit, failed: Failed, now: float) -> None:
        if visit.is_robots and visit.status is None and any(site.other_origins for site in visit.sites):
            self._other_origin(visit, failed)
        elif self.tries_again(visit, failed):
            visit.not_before = now + backoff(visit.tries, self._jitter())
            self._queue(visit)
        else:
            self._fail(visit, failed.code, failed.message, failed.outcome)

    def _other_origin(self, visit: Visit, failed: Failed) -> None:
        """A bare host is https, then http: this one did not answer at all."""
        failure = Outcome(format=Format.ROBOTS, complete=False)
        visit.tally.add(report(failed.code, failed.message, sitemap=visit.asked))
        self._telling.settle(visit, failure)
        # Documents that somebody names over there have it asked anew.
        host = self._host(origin(visit.asked))
        host.robots_visit = None
        if host.waiting:
            self._ask_robots(host)
        for site in visit.sites:
            site.first_failure = failure
            site.origin = site.other_origins.pop(0) if site.other_origins else site.origin
            self._ask_robots(self._host(site.origin), site)

    def _give_up(self, host: Host, visit: Visit, why: str) -> None:
        """The host asks for more patience than the user has: it is left alone for the rest of the walk."""
        host.given_up = f"{host.origin} was given up: {why}"
        host.rules = host.rules or disallow_all(host.given_up)
        visit.aloud = True
        for each in [visit, *host.drain()]:
            self._fail(each, "F04", host.given_up)

    def _move(self, visit: Visit, target: str) -> None:
        """To where a redirect points, unless that is being read for itself."""
        self._telling.note(visit, "F03", f"redirected to {target}")
        visit.redirects.append(visit.url)
        visit.url, visit.tries = target, 0
        known = self._register.get(target)
        if visit.is_robots or known is None or known is visit:
            if not visit.is_robots:
                self._register.add(target, visit)
            self._queue(visit)
        else:
            known.add_parent(visit.asked)
            if known.outcome:
                self._finish_alias(visit, known.outcome)
            elif known.waits_for(visit):
                self._fail(visit, "F04", f"redirect loop: {visit.asked} and {known.asked} redirect to each other")
            else:
                known.aliases.append(visit)

    def _finish_alias(self, visit: Visit, outcome: Outcome) -> None:
        """A document that is another one, which has come to its end: nothing of it is read twice."""
        self._finish(visit, Outcome(format=outcome.format, complete=outcome.complete))

    # --- robots.txt ---

    def _rules_known(self, visit: Visit, rules: Rules) -> None:
        """Permission and pace of the host whose robots.txt was asked for."""
        host = self._host(origin(visit.asked))
        host.rules = rules if self.plan.obey_robots else ALLOW_ALL
        delay, limit = host.rules.delay_seconds, self._limits.max_crawl_delay_seconds
        if delay is not None and delay > limit:
            self._telling.note(visit, "F15", f"Crawl-delay of {delay:,.0f} s: {limit:,.0f} s are kept")
        if delay:
            host.pace.delay_seconds = min(delay, limit)

    def _rules_lost(self, visit: Visit, why: str) -> None:
        """RFC 9309 2.3.1.4: unreachable means that all is disallowed."""
        message = "nothing on this host is fetched, except with --no-robots (obey_robots=False)"
        if not self.plan.obey_robots:
            message = "it is not obeyed, and what it names is not known"
        self._telling.note(visit, "F14", f"robots.txt is unreachable: {message}")
        self._rules_known(visit, disallow_all(f"robots.txt: {why}"))

    def _named_by_robots(self, visit: Visit, ref: SitemapRef) -> None:
        """A Sitemap line: proof for the whole host, and a candidate where the site is ours."""
        visit.children.add(ref.loc)
        proven = self._proofs.get(ref.loc, ()) + proof_authorities(visit.asked, visit.url)
        self._proofs[ref.loc] = tuple(dict.fromkeys(proven))
        known = self._register.get(ref.loc)
        if known is None and visit.sites and self._has_room(visit, ref):
            known = Visit(ref.loc, ref.loc, "robots", listed_at=place(ref))
            self._add(known)
        if known is not None:
            known.add_parent(visit.asked)
            for site in visit.sites:
                site.expect(known)

    # --- children of an index ---

    def _listed(self, visit: Visit, ref: SitemapRef) -> None:
        if visit.is_robots:
            self._named_by_robots(visit, ref)
            return
        visit.is_index = True
        known = self._register.get(ref.loc)
        if known is not None:
            self._listed_again(visit, ref, known)
        elif ref.loc in visit.children:
            self._telling.note(visit, "S12", f"{ref.loc} is listed twice", ref)
        elif self.plan.descend and self._wanted(visit, ref):
            child = Visit(ref.loc, ref.loc, "index", depth=visit.depth + 1, authorities=ref.authorities)
            child.listed_at = place(ref)
            child.add_parent(visit.asked)
            self._add(child)
        visit.children.add(ref.loc)

    def _listed_again(self, visit: Visit, ref: SitemapRef, known: Visit) -> None:
        if self._register.is_above(known, visit):
            self._telling.note(visit, "S05", f"{ref.loc} lists itself, by way of this index: not followed", ref)
        elif ref.loc in visit.children:
            self._telling.note(visit, "S12", f"{ref.loc} is listed twice", ref)
        known.add_parent(visit.asked)

    def _wanted(self, visit: Visit, ref: SitemapRef) -> bool:
        verdict = self._child_rules.judge(visit, ref, self._proofs.get(ref.loc, ()))
        visit.missing = visit.missing or verdict.missing
        if verdict.pruned:
            self.pruned[verdict.pruned] += 1
        if verdict.code:
            self._telling.note(visit, verdict.code, verdict.message, ref)
        return verdict.read and self._has_room(visit, ref)

    def _has_room(self, visit: Visit, ref: SitemapRef) -> bool:
        """Whether one document more may be read; the first that may not is named, for all behind it."""
        limit = self._limits.max_documents
        if self.documents_known < limit:
            return True
        if "S16" not in visit.tally.counts:
            message = f"{ref.loc} and what is listed behind it is not read: there are more than {limit:,} documents"
            self._telling.note(visit, "S16", f"{message}; raise max_documents to go on", ref)
        visit.missing = True
        return False

    # --- ends ---

    def _finished(self, visit: Visit, finished: Finished) -> None:
        if visit.is_robots:
            self._rules_known(visit, parse_rules(finished.text, self.plan.user_agent))
            if visit.sites and not visit.children:
                self._telling.note(visit, "F09", "robots.txt names no sitemap")
        elif visit.is_index and self._register.is_in_index(visit):
            self._telling.note(visit, "S04", "an index within an index; the protocol allows none")
        self._finish(visit, finished.outcome)

    def _fail(self, visit: Visit, code: str, message: str, outcome: Outcome | None = None) -> None:
        listed = f" (listed in {visit.listed_at})" if visit.listed_at else ""
        self._telling.note(visit, code, message + listed)
        if visit.is_robots:
            self._rules_lost(visit, message)
        if outcome is None and visit.reached:
            outcome = visit.reached.outcome
        outcome = outcome or Outcome(format=Format.ROBOTS if visit.is_robots else None)
        outcome.complete = False
        self._finish(visit, outcome)

    def _finish(self, visit: Visit, outcome: Outcome) -> None:
        self._telling.finish(visit, outcome)
        self._bytes += outcome.bytes_decoded
        self.documents_done += not visit.is_robots
        for alias in visit.aliases:
            self._finish_alias(alias, outcome)
        for site in visit.sites:
            self._go_on(visit, site, outcome)

    def _go_on(self, visit: Visit, site: Site, outcome: Outcome) -> None:
        """Discovery hears of the end of a candidate, and may have a guess."""
        site.awaits_robots = False
        if not visit.is_robots:
            site.settled(outcome)
        elif not outcome.complete and site.first_failure:
            self._telling.add_earlier(site.first_failure, outcome)
        if _is_lost(visit, self._host(site.origin)):
            return
        while (guess := site.next_guess()) is not None:
            if guess not in self._register:
                self._add_candidate(guess, "well-known", site)
                return


def _is_lost(visit: Visit, host: Host) -> bool:
    """Whether to guess is no use: the host has never answered, may not be asked, or was given up."""
    unanswered = visit.is_robots and visit.status is None
    return unanswered or bool(host.given_up or (host.rules and host.rules.why))
