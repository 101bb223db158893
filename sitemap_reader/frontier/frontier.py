"""A site's sitemaps as a state machine, without a socket or a clock.

In: seeds, then the answer to each Visit. Out: next_requests(), the Visits that may be made now, and take(), the
Problems and Outcomes of the walk itself. It knows when to try again and where to go on. What an index lists comes back
into it as new Visits; nowhere else does anything feed back.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from ..model.limits import advice
from ..model.records import Outcome, SitemapRef, Why
from ..parser.content.sniff import Format
from ..parser.normalise.urls import origin
from .authority import Authorities
from .blocked import ABSENT, REFUSED, BlockPages, hides_names, is_refusal, take_page, with_remedy
from .deferred import DeferredDocuments
from .document_request import Answer, Arrived, DocumentRequest, Failed, Finished, Head, KnownDocuments, Site
from .events import Events
from .host_queue import Hosts, backoff
from .links import Listings
from .plan import Plan
from .responses import Follow, Read, Refuse, Settle, Unchanged, judge
from .revalidation import Revalidator
from .robots_policy import RobotsPolicy
from .robots_rules import ALLOW_ALL, disallow_all

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from ..model.problems import Problem, Severity
    from .host_queue import Host
    from .robots_policy import Delay
    from .robots_rules import Rules
    from .seeds import Seed

__all__ = ["Frontier", "Plan"]

# What is done in one call, as robots.Rules count it: whoever drives the walk has other things to do in between. Of
# a hundred thousand documents that robots.txt forbids, none is in flight, and nothing else would end the call.
_EFFORT_A_TURN = 20_000_000
_EFFORT_OF_A_VISIT = 10_000
_HELD_A_TURN = 1_000
_RECALLED_A_TURN = 256
_DATED_A_TURN = 2_000
_HANDED_DOWN_A_TURN = 2_000
# How many more tries a document has that failed through a fault of ours.
_TRIES_OF_OURS = 3


class Frontier:
    """`next_requests(now)` and `receive(visit, answer, now, today)`, until `done`.

    `now` is any clock's seconds that only grow; `today` the calendar's time, for Retry-After dates.
    """

    def __init__(self, seeds: Sequence[Seed], plan: Plan, *, jitter: Callable[[], float] | None = None) -> None:
        self.plan = plan
        self.sites = [Site.of(seed, plan.probe) for seed in seeds]
        self.in_flight = 0  # requests
        self._at_work = 0  # documents whose request is over, but not they
        self.documents_done = 0
        self._limits = plan.limits
        self._jitter = jitter or random.Random().random  # noqa: S311 - spreads retries, guards nothing
        self._events = Events()
        self._hosts = Hosts(plan.per_host)
        origins = [each for seed in seeds for each in seed.origins]
        self._policy = RobotsPolicy(plan, self._hosts, self._events, origins)
        self._register = KnownDocuments()
        self._authorities = Authorities(plan.scope, self._register)
        self._listings = Listings(plan, self._register, self._authorities, self._policy, self._events, self._admit)
        self._recall = Revalidator(plan.memory, self._authorities, self._listings.enter)
        self._held = DeferredDocuments(plan, self._authorities, self._listings, self._events, self._queue)
        self._walls = BlockPages(self._events, self._held)
        self._bytes = 0
        # Documents last: a robots.txt that is asked for on their account serves no discovery.
        for site in sorted(self.sites, key=lambda site: site.seed.document is not None):
            self._open_site(site)

    # --- the outside ---

    @property
    def documents_known(self) -> int:
        """How many documents were named or guessed so far, read or not."""
        return self._register.documents

    @property
    def checked(self) -> int:
        """Children that were read to see whether others may be skipped by their date, and which confirmed it."""
        return self._listings.dates.checked

    @property
    def pruned(self) -> Counter[str]:
        """Children that are not asked for at the caller's wish: reason -> count."""
        return self._listings.pruned

    def delay(self) -> Delay | None:
        """The Crawl-delay that makes this walk take longest, if there is one."""
        return self._policy.longest_delay()

    def rules(self, url: str) -> Rules | None:
        """What the robots.txt of a URL's host says; None where it was not read, or is not obeyed."""
        return self._policy.rules(url)

    @property
    def done(self) -> bool:
        """No answer is awaited, nothing waits, and nothing is held back."""
        return self._is_idle and self._held.is_empty

    @property
    def awaits_answers(self) -> bool:
        """Some visits have started and not ended."""
        return bool(self.in_flight or self._at_work)

    def next_requests(self, now: float) -> list[DocumentRequest]:
        """The visits that may start now, within the caps of the plan; each must be answered."""
        for request, outcome in self._recall.go_on(_RECALLED_A_TURN):
            self._finished(request, Finished(outcome))
        for index in self._listings.dates.go_on(_DATED_A_TURN):
            self._hold(index)
        started = self._start(now)
        if self._is_idle and not self._held.is_empty:
            self._held.settle(_HELD_A_TURN)
            started = self._start(now)
        return started

    def wait(self, now: float) -> float | None:
        """Seconds until next_requests() is worth asking again; None if only an answer can change that."""
        if not self._is_settled or (self._is_idle and not self._held.is_empty):
            return 0.0
        if self.in_flight >= self.plan.concurrency:
            return None
        return self._hosts.wait(now, robots_only=self._gathers_proofs)

    def receive(self, request: DocumentRequest, answer: Answer, now: float, today: datetime) -> bool:
        """Takes in what came of a visit. For a Head: whether to read the body."""
        if isinstance(answer, SitemapRef):
            self._listings.enter(request, answer)
            return True
        if isinstance(answer, Head):
            return self._head(request, answer, now, today)
        if isinstance(answer, Arrived):
            self._arrive(request)
            return False
        self._release(request)
        if isinstance(answer, Failed):
            self._failed(request, answer, now)
        else:
            self._finished(request, answer)
        return False

    def take(self) -> list[Problem | Outcome]:
        """What the walk itself has to say since the last call."""
        return self._events.take()

    def note_withheld(self, request: DocumentRequest) -> None:
        """Headers that the caller gives are not sent with this visit, as it is http."""
        start = origin(request.url)
        message = f"headers and credentials are not sent to {start}, which is not https; give it as TARGET to send them"
        self._events.note(request, "F16", message)

    def abandon(self) -> list[Problem | Outcome]:
        """Nothing more will be asked: the ends of the documents that were held back, as they stand."""
        for site in self.sites:
            self._walls.report_page(self._hosts.of(site.origin).robots_request)
        for index in self._listings.dates.abandon():
            self._hold(index)
        self._held.abandon()
        return self.take()

    def tries_again(self, request: DocumentRequest, failed: Failed) -> bool:
        """Whether a failure leads to another try."""
        return failed.transient and request.tries < self._limits.tries + (_TRIES_OF_OURS if failed.is_ours else 0)

    # --- starting ---

    @property
    def _is_settled(self) -> bool:
        """All that could be decided without another answer is."""
        return self._authorities.is_settled and self._recall.is_idle and self._listings.dates.is_idle

    @property
    def _is_idle(self) -> bool:
        return self._is_settled and not self.awaits_answers and self._hosts.is_idle

    @property
    def _gathers_proofs(self) -> bool:
        """A document may be named by several sites' robots.txt: it is read when all of them have had their say."""
        return any(site.awaits_robots for site in self.sites)

    def _start(self, now: float) -> list[DocumentRequest]:
        started: list[DocumentRequest] = []
        if not self._listings.settle(_HANDED_DOWN_A_TURN):
            return started  # a document that does not hold yet what it may would be read twice
        effort = 0
        startable = self._hosts.startable(now, robots_only=self._gathers_proofs)
        while self.in_flight < self.plan.concurrency and effort < _EFFORT_A_TURN and (found := next(startable, None)):
            host, request = found
            effort += _EFFORT_OF_A_VISIT + (host.rules.effort(request.url) if host.rules else 0)
            if self._permitted(host, request):
                host.pace.started(now)
                self.in_flight += 1
                request.tries += 1
                request.headers = self._recall.conditions(request)
                started.append(request)
        return started

    def _open_site(self, site: Site) -> None:
        """robots.txt first: what it proves and permits decides on all the rest."""
        document = site.seed.document
        if document is None:
            self._policy.ask(self._hosts.of(site.origin), site)
        elif document not in self._register:
            self._add_candidate(document, "given", site)

    def _add_candidate(self, url: str, why: Why, site: Site) -> None:
        request = DocumentRequest(url, url, why)
        # It held a sitemap once, or is a guess that stands for all that its host has.
        request.is_reported = url in self.plan.memory.names or bool(self._hosts.of(url).too_slow)
        site.expect(request)
        self._register.add(request)
        self._admit(request)

    def _admit(self, request: DocumentRequest) -> None:
        """A document that is named for the first time."""
        if not self._recall.skips(request):
            self._queue(request)

    def _queue(self, request: DocumentRequest) -> None:
        host = self._hosts.of(request.url)
        if host.given_up:
            if host.robots_request is not None:  # which may have been asked for proof only, so far
                self._events.report_guess(host.robots_request)
            self._fail(request, "F04", host.given_up, severity="info")  # the reason has been reported
            return
        if not request.is_robots:
            self._policy.learn_rules(host)
        self._hosts.add(request)

    def _permitted(self, host: Host, request: DocumentRequest) -> bool:
        limit = self._limits.max_site_bytes
        if self._bytes > limit:
            self._fail(request, "S16", f"more than {limit:,} bytes decoded: not read; {advice('max_site_bytes')}")
            return False
        refusal = self._policy.refusal(host, request)
        if refusal:
            self._fail(request, refusal.code, refusal.message, severity=refusal.severity)
        return refusal is None

    def _arrive(self, request: DocumentRequest) -> None:
        """The next request may go; but a host has a bounded number of these too, as each is held in memory."""
        host = self._hosts.of(request.url)
        if not request.is_at_work and host.at_work < self.plan.per_host:
            self._release(request)
            request.is_at_work = True
            host.at_work += 1
            self._at_work += 1

    def _release(self, request: DocumentRequest) -> None:
        host = self._hosts.of(request.url)
        if request.is_at_work:
            request.is_at_work = False
            host.at_work -= 1
            self._at_work -= 1
        else:
            self.in_flight -= 1
            host.pace.finished()
            self._hosts.rouse(host)

    # --- answers ---

    def _head(self, request: DocumentRequest, head: Head, now: float, today: datetime) -> bool:
        request.status = head.status
        step = judge(request, head, self._limits, today)
        if isinstance(step, Read):
            request.etag, request.last_modified = head.headers.get("etag"), head.headers.get("last-modified")
            if request.is_robots and request.redirects:
                self._policy.share(request)
            if request.reached is None:  # a reading that goes on keeps what it began with: its items are counted
                request.holds = self._authorities.of(request)
            request.read_at = today
            return True
        self._release(request)
        if isinstance(step, Unchanged):
            self._recall.confirm(request, head.headers)
        elif isinstance(step, Follow):
            self._move(request, step.target)
        elif isinstance(step, Settle):
            self._finish(request, self._policy.settle(request, step))
        else:
            self._refused(request, step, now)
        return False

    def _refused(self, request: DocumentRequest, refusal: Refuse, now: float) -> None:
        host = self._hosts.of(request.url)
        if refusal.give_up:
            self._give_up(host, request, refusal.message)
            return
        host.pace.hold(now + refusal.hold_seconds)
        self._failed(request, Failed(refusal.code, refusal.message, refusal.transient), now)

    def _failed(self, request: DocumentRequest, failed: Failed, now: float) -> None:
        if request.is_robots and request.status is None and any(site.other_origins for site in request.sites):
            self._policy.ask_elsewhere(request, failed)
            for alias in request.aliases:
                alias.alias_of = None
                self._queue(alias)
            for site in request.sites:
                self._catch_up(site)
        elif self.tries_again(request, failed):
            request.not_before = now + backoff(request.tries, self._jitter())
            self._queue(request)
        else:
            self._fail(request, failed.code, failed.message, failed.outcome)

    def _catch_up(self, site: Site) -> None:
        """The robots.txt that a site waits for may have been read before, on another's account."""
        robots = self._hosts.of(site.origin).robots_request
        if robots and robots.outcome:
            self._listings.enter_anew(robots)
            self._go_on(robots, site, robots.outcome)

    def _give_up(self, host: Host, request: DocumentRequest, why: str) -> None:
        """The host asks for more patience than the user has: it is left alone for the rest of the walk."""
        host.given_up = f"{host.origin} was given up: {why}"
        host.rules = host.rules or disallow_all(host.given_up)
        request.is_reported = request.is_reported or not request.is_robots
        waiting = self._hosts.drain(host)
        self._fail(request, "F04", host.given_up)
        for each in waiting:
            self._fail(each, "F04", host.given_up, severity="info")

    def _move(self, request: DocumentRequest, target: str) -> None:
        """To where a redirect points, unless that is being read for itself."""
        self._events.note(request, "F03", f"redirected to {target}")
        request.redirects.append(request.url)
        request.url, request.tries = target, 0
        if request.is_robots:
            known = self._policy.asked_at(target)
        else:
            known = self._register.get(target) or self._listings.robots_at(target, request)
        if known is None or known is request or (request.is_robots and known.waits_for(request)):
            if not request.is_robots:
                self._register.add_name(target, request)
            self._queue(request)
        elif request.is_robots:
            self._stand_for(request, known)
        else:
            self._listings.enter_alias(request, known)
            if known.waits_for(request):
                request.url = request.redirects.pop()  # it leads nowhere, and is an alias of nothing
                self._fail(request, "F04", f"redirect loop: {request.asked} and {known.asked} redirect to each other")
                return
            self._stand_for(request, known)

    def _stand_for(self, alias: DocumentRequest, known: DocumentRequest) -> None:
        """The end of the known one is that of its alias, too."""
        alias.alias_of = known
        if known.outcome is None:
            known.aliases.append(alias)
        elif alias.is_robots:
            self._end_alias(alias, known.outcome)
        else:
            self._finish(alias, _of_alias(known.outcome))

    # --- ends ---

    def _finished(self, request: DocumentRequest, finished: Finished) -> None:
        if request.is_robots:
            self._set_rules(request, finished.rules, is_page=take_page(finished.outcome))
        elif request.is_index and not request.again and self._register.is_in_index(request):
            self._events.note(request, "S04", "an index within an index; the protocol allows none")
        self._finish(request, finished.outcome)

    def _set_rules(self, robots: DocumentRequest, rules: Rules | None, *, is_page: bool, was_read: bool = True) -> None:
        self._policy.set_rules(robots, rules or ALLOW_ALL)
        robots.is_page = is_page
        if was_read and robots.sites and not robots.named and not robots.is_page:
            self._events.note(robots, "F09", "robots.txt names no sitemap")
        elif robots.is_page and not robots.sites:
            self._walls.report_page(robots)

    def _fail(
        self,
        request: DocumentRequest,
        code: str,
        message: str,
        outcome: Outcome | None = None,
        *,
        severity: Severity | None = None,
    ) -> None:
        host = self._hosts.of(request.asked)
        text = f"{message} (listed in {request.listed_at})" if request.listed_at else message
        if request.is_robots:
            text = self._policy.failure(request, message, closes_host=True)
        elif request.is_guess and is_refusal(request, code) and not host.blocked:
            request.is_reported, text = True, with_remedy(message, request.status)
        elif request.why == "given" and code == "F01" and request.status in REFUSED:
            text = with_remedy(message, request.status)
        self._events.note(request, code, text, severity=severity)
        # One message for the host: what is guessed later fares no better.
        host.blocked = host.blocked or (not request.is_guess and is_refusal(request, code))
        if request.is_robots:
            self._policy.lose_rules(request, message)
        if outcome is None and request.reached:
            outcome = request.reached.outcome
        outcome = outcome or Outcome(format=Format.ROBOTS.value if request.is_robots else None)
        outcome.complete = False
        if request.is_robots:
            take_page(outcome)  # of a page that broke off, the failure is reported
        self._finish(request, outcome)

    def _finish(self, request: DocumentRequest, outcome: Outcome) -> None:
        self._bytes += outcome.bytes_decoded
        if request.again:
            self._held.end_again(request, outcome)
            return
        self._end(request, outcome)
        for alias in request.aliases:
            self._end_alias(alias, outcome)

    def _end_alias(self, first: DocumentRequest, outcome: Outcome) -> None:
        due = [first]
        while due:  # a list, as aliases may have aliases to any depth
            alias = due.pop()
            known = alias.alias_of
            if alias.is_robots and known is not None:
                for ref in known.named:
                    self._listings.enter(alias, ref)
                rules = self._hosts.of(known.asked).rules
                was_read = outcome.complete and known.status not in (None, *ABSENT)
                self._set_rules(alias, rules, is_page=known.is_page or hides_names(outcome), was_read=was_read)
            self._end(alias, _of_alias(outcome))
            due += alias.aliases

    def _end(self, request: DocumentRequest, outcome: Outcome) -> None:
        self._events.settle(request, outcome)
        waits = self._listings.dates.ended(request, outcome)
        if not (waits or request.is_page):
            self._hold(request)
        self.documents_done += not request.is_robots
        for site in request.sites:
            self._go_on(request, site, outcome)

    def _hold(self, request: DocumentRequest) -> None:
        """Nothing more comes up of a document but, perhaps, a proof."""
        assert request.outcome is not None  # noqa: S101 - for the type checker: it has ended
        self._held.end(request, request.outcome)

    def _go_on(self, request: DocumentRequest, site: Site, outcome: Outcome) -> None:
        """Discovery hears of the end of a candidate, and may have a guess."""
        site.awaits_robots = False
        if request is not self._hosts.of(site.origin).robots_request:
            site.settled(outcome)
            if request.is_guess and outcome.format == Format.HTML:
                site.pages.append(request)
        elif not outcome.complete:
            self._policy.end_first(site)
        if request.why == "well-known" and not (request.is_guess or outcome.complete):
            site.list_candidate(outcome)
        if not self._policy.is_lost(site, request):
            while (guess := site.next_guess()) is not None:
                if guess not in self._register and not self.plan.no_follow.find_in(guess):
                    self._add_candidate(guess, "well-known", site)
                    return
        if not site.pending and not site.is_over:
            self._walls.end(site, self._hosts.of(site.origin))


def _of_alias(outcome: Outcome) -> Outcome:
    """That of a document which turned out to be another one: nothing of it is read twice."""
    return Outcome(format=outcome.format, complete=outcome.complete)
