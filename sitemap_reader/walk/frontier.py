"""A site's sitemaps as a state machine, without a socket or a clock.

In: seeds, then the answer to each Visit. Out: next_requests(), the Visits that may be made now, and take(), the
Problems and Outcomes of the walk itself. It knows what was seen, who listed what, how deep, what each document may
speak for, whom robots.txt permits, and when to try again. This is the only place where an index feeds back.
"""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

import attrs

from ..limits import Limits
from ..problems import Problem, report
from ..read.scope import Mode, Scope, host_authorities, proof_authorities
from ..read.sniff import SITEMAP_FORMATS, Format
from ..read.urls import clean_url, directory, origin
from ..records import Outcome, SitemapRef
from .hosts import Host
from .pacing import HostPace, backoff, retry_after
from .robots import ALLOW_ALL, Rules, disallow_all, parse_rules, rules_for_status
from .sites import Site
from .visit import Answer, Failed, Finished, Head, Visit
from .window import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .discovery import Probe, Seed

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_BUSY = frozenset({429, 503})


@attrs.frozen
class Plan:
    """What a walk is to do; the same for all its sites."""

    scope: Mode = "protocol"
    window: Window = Window()
    probe: Probe = "auto"
    obey_robots: bool = True
    follow: Callable[[SitemapRef], bool] | None = None
    user_agent: str = "sitemap-reader"
    concurrency: int = 16
    per_host: int = 4
    descend: bool = True  # False: the candidates only, not their children
    limits: Limits = Limits()


class Frontier:
    """`next_requests(now)` and `receive(visit, answer, now, today)`, until `done`.

    `now` is any clock's seconds that only grow; `today` the calendar's time, for Retry-After dates.
    """

    def __init__(self, seeds: Sequence[Seed], plan: Plan, *, jitter: Callable[[], float] | None = None) -> None:
        self.plan = plan
        self.sites = [Site.of(seed, plan.probe) for seed in seeds]
        self.pruned: Counter[str] = Counter()  # children not asked for: reason -> count
        self.in_flight = 0
        self.documents_known = 0
        self.documents_done = 0
        self._limits = plan.limits
        self._jitter = jitter or random.Random().random  # noqa: S311 - spreads retries, guards nothing
        self._hosts: dict[str, Host] = {}
        self._visits: dict[str, Visit] = {}
        self._proofs: dict[str, tuple[str, ...]] = {}
        self._out: list[Problem | Outcome] = []
        self._bytes = 0
        for site in self.sites:
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
            while self.in_flight < self.plan.concurrency and (visit := host.next(now)):
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
        waits = [wait for host in self._hosts.values() if (wait := host.wait(now)) is not None]
        return min(waits, default=None)

    def receive(self, visit: Visit, answer: Answer, now: float, today: datetime) -> bool:
        """Takes in what came of a visit. For a Head: whether to read the body."""
        if isinstance(answer, SitemapRef):
            self._child(visit, answer)
            return True
        if isinstance(answer, Head):
            return self._head(visit, answer, now, today)
        self._release(visit, now)
        if isinstance(answer, Failed):
            self._try_again_or_fail(visit, answer, now)
        else:
            self._finished(visit, answer)
        return False

    def take(self) -> list[Problem | Outcome]:
        """What the walk itself has to say since the last call."""
        out, self._out = self._out, []
        return out

    def authorities(self, visit: Visit) -> tuple[str, ...]:
        """What a document may speak for besides its own directory, by all that is known now."""
        proven = self._proofs.get(visit.asked, ()) + self._proofs.get(visit.url, ())
        if visit.why in ("given", "well-known"):
            proven += proof_authorities(visit.asked, visit.url)
        return tuple(dict.fromkeys(visit.authorities + proven))

    def tries_again(self, visit: Visit, failed: Failed) -> bool:
        """Whether a failure leads to another try. What has been given out is not asked for twice."""
        return failed.transient and not failed.given and visit.tries < self._limits.tries

    # --- starting ---

    def _open_site(self, site: Site) -> None:
        """robots.txt first; what it proves and permits decides on all the rest."""
        host = self._host(site.origin)
        if site.seed.document:
            visit = Visit(site.seed.document, site.seed.document, "given", site=site)
            site.pending += 1
            self._add(visit)
            self._ask_robots(host, None)
        else:
            self._ask_robots(host, site)

    def _host(self, origin_: str) -> Host:
        host = self._hosts.get(origin_)
        if host is None:
            host = self._hosts[origin_] = Host(origin_, HostPace(self.plan.per_host))
        return host

    def _ask_robots(self, host: Host, site: Site | None) -> None:
        if host.robots_asked:
            return
        host.robots_asked = True
        url = host.origin + "/robots.txt"
        host.add(Visit(url, url, "well-known", is_robots=True, site=site))

    def _add(self, visit: Visit) -> None:
        """A new document: known from now on, and waiting for its host."""
        if len(self._visits) >= self._limits.max_documents:
            self._refuse_document(visit)
            return
        self._visits[visit.asked] = visit
        self.documents_known += 1
        self._queue(visit)

    def _queue(self, visit: Visit) -> None:
        host = self._host(origin(visit.url))
        if host.given_up:
            self._fail(visit, "F04", host.given_up)
            return
        host.add(visit)
        if visit.is_robots or host.rules is not None:
            return
        if self.plan.obey_robots or any(host.origin == site.origin for site in self.sites):
            self._ask_robots(host, None)
        else:
            host.rules = ALLOW_ALL

    def _refuse_document(self, visit: Visit) -> None:
        limit = self._limits.max_documents
        message = f"more than {limit:,} documents: not read; raise max_documents to go on"
        self.documents_known += 1
        self._fail(visit, "S16", message)

    def _permitted(self, host: Host, visit: Visit) -> bool:
        if self._bytes > self._limits.max_site_bytes:
            limit = self._limits.max_site_bytes
            self._fail(visit, "S16", f"more than {limit:,} bytes decoded: not read; raise max_site_bytes to go on")
            return False
        if visit.is_robots or host.rules is None or host.rules.allows(visit.url):
            return True
        why = f" ({host.rules.why})" if host.rules.why else ""
        self._fail(visit, "F02", f"forbidden by {host.origin}/robots.txt{why}")
        return False

    def _release(self, visit: Visit, now: float) -> None:
        self.in_flight -= 1
        self._host(origin(visit.url)).pace.finished(now)

    # --- answers ---

    def _head(self, visit: Visit, head: Head, now: float, today: datetime) -> bool:
        visit.status = head.status
        if head.status in _REDIRECTS and "location" in head.headers:
            self._release(visit, now)
            self._redirected(visit, head.headers["location"])
            return False
        if visit.is_robots and head.status not in _BUSY and not 500 <= head.status <= 599:
            return self._robots_head(visit, head.status, now)
        if 200 <= head.status <= 299 and head.status != HTTPStatus.PARTIAL_CONTENT:
            visit.etag = head.headers.get("etag")
            visit.last_modified = head.headers.get("last-modified")
            return True
        self._release(visit, now)
        self._refused(visit, head, now, today)
        return False

    def _robots_head(self, visit: Visit, status: int, now: float) -> bool:
        rules = rules_for_status(status)
        if not isinstance(rules, Rules):
            return True
        self._release(visit, now)
        self._robots_known(visit, rules)
        self._finish(visit, Outcome(format=Format.ROBOTS, complete=True))
        return False

    def _refused(self, visit: Visit, head: Head, now: float, today: datetime) -> None:
        """Not 2xx: to be tried again, or the end."""
        message = _status_text(head.status)
        host = self._host(origin(visit.url))
        transient = head.status >= 500 or head.status == HTTPStatus.TOO_MANY_REQUESTS
        if head.status in _BUSY:
            asked = retry_after(head.headers.get("retry-after"), today)
            if asked is not None and asked > self._limits.max_wait_seconds:
                self._give_up(host, visit, f"{message}, Retry-After {asked:,.0f} s is over max_wait_seconds")
                return
            if asked is not None:
                host.pace.hold(now + asked)
        self._try_again_or_fail(visit, Failed("F01", message, transient), now)

    def _try_again_or_fail(self, visit: Visit, failed: Failed, now: float) -> None:
        site = visit.site
        if visit.is_robots and site and site.other_origins and failed.code == "F04":
            self._other_origin(visit, site, failed)
        elif self.tries_again(visit, failed):
            visit.not_before = now + backoff(visit.tries, self._jitter())
            self._queue(visit)
        else:
            self._fail(visit, failed.code, failed.message, failed.outcome)

    def _other_origin(self, visit: Visit, site: Site, failed: Failed) -> None:
        """A bare host is https, then http: this one did not answer at all."""
        self._note(visit, failed.code, failed.message)
        visit.held, problems = [], visit.held
        site.first_failure = site.first_failure or self._outcome(visit, Outcome(complete=False), problems)
        site.origin = site.other_origins.pop(0)
        self._ask_robots(self._host(site.origin), site)

    def _give_up(self, host: Host, visit: Visit, why: str) -> None:
        """The host asks for more patience than the user has: it is left alone for the rest of the walk."""
        host.given_up = f"{host.origin} was given up: {why}"
        host.rules = host.rules or disallow_all(host.given_up)
        for each in [visit, *host.drain()]:
            self._fail(each, "F04", host.given_up)

    def _redirected(self, visit: Visit, location: str) -> None:
        target = clean_url(location, visit.url).url
        limit = self._limits.max_robots_redirects if visit.is_robots else self._limits.max_redirects
        visit.redirects.append(visit.url)
        if target is None:
            self._fail(visit, "F04", f"redirected to {location[:200]!r}, which is no http or https URL")
        elif target in visit.redirects:
            self._fail(visit, "F04", f"redirect loop: {' -> '.join([*visit.redirects, target])[:500]}")
        elif len(visit.redirects) > limit:
            self._fail(visit, "F04", f"more than {limit} redirects")
        else:
            self._move(visit, target)

    def _move(self, visit: Visit, target: str) -> None:
        self._note(visit, "F03", f"redirected to {target}")
        visit.url, visit.tries = target, 0
        known = self._visits.get(target)
        if known is not None and known is not visit:
            known.parents.append(visit.asked)
            self._finish(visit, Outcome(complete=True))
            return
        if not visit.is_robots:
            self._visits[target] = visit
        self._queue(visit)

    # --- robots.txt ---

    def _robots_known(self, visit: Visit, rules: Rules) -> None:
        """Permission and pace for the host, and word to its discovery."""
        host = self._host(origin(visit.asked))
        host.rules = rules if self.plan.obey_robots else ALLOW_ALL
        delay = host.rules.delay_seconds
        limit = self._limits.max_crawl_delay_seconds
        if delay is not None and delay > limit:
            self._note(visit, "F15", f"Crawl-delay of {delay:,.0f} s: {limit:,.0f} s are kept")
        if delay:
            host.pace.delay_seconds = min(delay, limit)

    def _robots_read(self, visit: Visit, finished: Finished) -> None:
        self._robots_known(visit, parse_rules(finished.text, self.plan.user_agent))
        if visit.site and not visit.children and finished.outcome.status is None:
            self._note(visit, "F09", "robots.txt names no sitemap")

    def _robots_lost(self, visit: Visit, why: str) -> None:
        """RFC 9309 2.3.1.4: unreachable means that all is disallowed."""
        self._note(visit, "F14", "robots.txt is unreachable: nothing on this host may be fetched (--no-robots does)")
        self._robots_known(visit, disallow_all(f"robots.txt: {why}"))

    def _named_by_robots(self, visit: Visit, ref: SitemapRef) -> None:
        """A Sitemap line: proof for the whole host, and a candidate where the site is ours."""
        visit.children.add(ref.loc)
        proof = proof_authorities(visit.asked, visit.url)
        self._proofs[ref.loc] = tuple(dict.fromkeys(self._proofs.get(ref.loc, ()) + proof))
        site = visit.site
        if site is None:
            return
        known = self._visits.get(ref.loc)
        if known is not None:
            known.parents.append(visit.asked)
            return
        child = Visit(ref.loc, ref.loc, "robots", parents=[visit.asked], listed_at=_place(ref), site=site)
        site.pending += 1
        self._add(child)

    # --- children of an index ---

    def _child(self, visit: Visit, ref: SitemapRef) -> None:
        if visit.is_robots:
            self._named_by_robots(visit, ref)
            return
        visit.is_index = True
        if not self.plan.descend:
            return
        known = self._visits.get(ref.loc)
        if known is not None:
            self._listed_again(visit, ref, known)
        elif self._wanted(visit, ref):
            visit.children.add(ref.loc)
            child = Visit(ref.loc, ref.loc, "index", depth=visit.depth + 1, authorities=ref.authorities)
            child.parents, child.listed_at = [visit.asked], _place(ref)
            self._add(child)

    def _listed_again(self, visit: Visit, ref: SitemapRef, known: Visit) -> None:
        if known is visit or self._is_above(known, visit):
            self._note(visit, "S05", f"{ref.loc} lists itself, by way of this index: not followed", ref)
        elif ref.loc in visit.children:
            self._note(visit, "S12", f"{ref.loc} is listed twice", ref)
        if visit.asked not in known.parents:
            known.parents.append(visit.asked)
        visit.children.add(ref.loc)

    def _is_above(self, known: Visit, visit: Visit) -> bool:
        """Is `known` among the parents of `visit`, at any distance?"""
        seen: set[str] = set()
        above = list(visit.parents)
        while above:
            url = above.pop()
            parent = self._visits.get(url)
            if parent is known:
                return True
            if parent is not None and url not in seen:
                seen.add(url)
                above += parent.parents
        return False

    def _wanted(self, visit: Visit, ref: SitemapRef) -> bool:
        """Whether a child is to be read; says why not, unless the caller asked for that."""
        plan = self.plan
        if plan.window.prunes(ref):
            self.pruned["since"] += 1
            return False
        if plan.follow is not None and not plan.follow(ref):
            self.pruned["follow"] += 1
            return False
        if visit.depth + 1 > self._limits.max_index_depth:
            limit = self._limits.max_index_depth
            visit.missing = True
            message = f"{ref.loc} lies deeper than {limit} indexes: not read; raise max_index_depth to go on"
            self._note(visit, "S14", message, ref)
            return False
        reason = Scope(plan.scope, (*ref.authorities, *self._proofs.get(ref.loc, ()))).reason(ref.loc)
        if reason in ("host", "scheme", "port"):
            self._note(visit, "U04", f"{ref.loc} is on another {reason}, without proof: not read", ref)
            return False
        if not ref.loc.startswith(directory(visit.url)):
            self._note(visit, "S13", f"{ref.loc} is above the index's directory: read all the same", ref)
        return True

    # --- ends ---

    def _fail(self, visit: Visit, code: str, message: str, outcome: Outcome | None = None) -> None:
        if visit.listed_at:
            message += f" (listed in {visit.listed_at})"
        self._note(visit, code, message)
        if visit.is_robots:
            self._robots_lost(visit, message)
        outcome = outcome or Outcome(format=Format.ROBOTS if visit.is_robots else None)
        outcome.complete = False
        self._finish(visit, outcome)

    def _finished(self, visit: Visit, finished: Finished) -> None:
        if visit.is_robots:
            self._robots_read(visit, finished)
        elif visit.is_index and any(self._was_index(parent) for parent in visit.parents):
            self._note(visit, "S04", "an index within an index; the protocol allows none")
        self._finish(visit, finished.outcome)

    def _was_index(self, url: str) -> bool:
        parent = self._visits.get(url)
        return parent is not None and parent.is_index

    def _finish(self, visit: Visit, outcome: Outcome) -> None:
        visit.outcome = self._outcome(visit, outcome, visit.held)
        self._bytes += outcome.bytes_decoded
        if not visit.is_robots:
            self.documents_done += 1
        if not (visit.is_guess and outcome.format not in SITEMAP_FORMATS):
            self._out += [*visit.held, outcome]
        visit.held = []
        if visit.site:
            self._tell_site(visit, visit.site, outcome)

    def _tell_site(self, visit: Visit, site: Site, outcome: Outcome) -> None:
        if visit.is_robots:
            if not outcome.complete and site.first_failure:
                self._out += [*site.first_failure.samples, site.first_failure]
        else:
            site.settled(outcome, next(iter(outcome.problems), None))
        guess = None if visit.is_robots and not outcome.complete else site.next_guess()
        while guess is not None:
            site.pending += 1
            if guess not in self._visits:
                self._add(Visit(guess, guess, "well-known", site=site))
                return
            site.pending -= 1
            guess = site.next_guess()

    def _outcome(self, visit: Visit, outcome: Outcome, problems: list[Problem]) -> Outcome:
        """The parser's outcome with what only the walk knows."""
        outcome.url, outcome.final_url = visit.asked, visit.url
        outcome.parents, outcome.why, outcome.status = visit.parents, visit.why, visit.status
        outcome.etag, outcome.last_modified = visit.etag, visit.last_modified
        outcome.complete = outcome.complete and not visit.missing
        for code, count in visit.tally.counts.items():
            outcome.problems[code] = outcome.problems.get(code, 0) + count
        outcome.samples = (*outcome.samples, *visit.tally.samples)
        return outcome

    def _note(self, visit: Visit, code: str, message: str, ref: SitemapRef | None = None) -> None:
        """A Problem of the visit; of a guess it is held back until the guess proves right."""
        line = ref.line if ref else None
        problem = report(code, message, sitemap=visit.asked, line=line, raw=ref.loc if ref else None)
        visit.tally.add(problem)
        if visit.is_guess or (visit.is_robots and visit.site):
            visit.held.append(problem)
        else:
            self._out.append(problem)


def _place(ref: SitemapRef) -> str | None:
    if ref.sitemap is None:
        return None
    return ref.sitemap if ref.line is None else f"{ref.sitemap}:{ref.line}"


def _status_text(status: int) -> str:
    """`404 Not Found`; a number that nobody has defined stands alone."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
