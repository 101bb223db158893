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
from .authority import Proofs
from .blocked import ABSENT, REFUSED, Walls, hides_names, is_refusal, take_page, with_remedy
from .deferred import Held
from .document_request import Answer, Arrived, Failed, Finished, Head, Register, Site, Visit
from .events import Telling
from .host_queue import Hosts, backoff
from .links import Listings
from .plan import Plan
from .responses import Follow, Read, Refuse, Settle, Unchanged, judge
from .revalidation import Recall
from .robots_policy import Permission
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
        self._telling = Telling()
        self._hosts = Hosts(plan.per_host)
        origins = [each for seed in seeds for each in seed.origins]
        self._permission = Permission(plan, self._hosts, self._telling, origins)
        self._register = Register()
        self._proofs = Proofs(plan.scope, self._register)
        self._listings = Listings(plan, self._register, self._proofs, self._permission, self._telling, self._admit)
        self._recall = Recall(plan.memory, self._proofs, self._listings.enter)
        self._held = Held(plan, self._proofs, self._listings, self._telling, self._queue)
        self._walls = Walls(self._telling, self._held)
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
        return self._permission.longest_delay()

    def rules(self, url: str) -> Rules | None:
        """What the robots.txt of a URL's host says; None where it was not read, or is not obeyed."""
        return self._permission.rules(url)

    @property
    def done(self) -> bool:
        """No answer is awaited, nothing waits, and nothing is held back."""
        return self._is_idle and self._held.is_empty

    @property
    def awaits_answers(self) -> bool:
        """Some visits have started and not ended."""
        return bool(self.in_flight or self._at_work)

    def next_requests(self, now: float) -> list[Visit]:
        """The visits that may start now, within the caps of the plan; each must be answered."""
        for visit, outcome in self._recall.go_on(_RECALLED_A_TURN):
            self._finished(visit, Finished(outcome))
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

    def receive(self, visit: Visit, answer: Answer, now: float, today: datetime) -> bool:
        """Takes in what came of a visit. For a Head: whether to read the body."""
        if isinstance(answer, SitemapRef):
            self._listings.enter(visit, answer)
            return True
        if isinstance(answer, Head):
            return self._head(visit, answer, now, today)
        if isinstance(answer, Arrived):
            self._arrive(visit)
            return False
        self._release(visit)
        if isinstance(answer, Failed):
            self._failed(visit, answer, now)
        else:
            self._finished(visit, answer)
        return False

    def take(self) -> list[Problem | Outcome]:
        """What the walk itself has to say since the last call."""
        return self._telling.take()

    def note_withheld(self, visit: Visit) -> None:
        """Headers that the caller gives are not sent with this visit, as it is http."""
        start = origin(visit.url)
        message = f"headers and credentials are not sent to {start}, which is not https; give it as TARGET to send them"
        self._telling.note(visit, "F16", message)

    def abandon(self) -> list[Problem | Outcome]:
        """Nothing more will be asked: the ends of the documents that were held back, as they stand."""
        for site in self.sites:
            self._walls.report_page(self._hosts.of(site.origin).robots_visit)
        for index in self._listings.dates.abandon():
            self._hold(index)
        self._held.abandon()
        return self.take()

    def tries_again(self, visit: Visit, failed: Failed) -> bool:
        """Whether a failure leads to another try."""
        return failed.transient and visit.tries < self._limits.tries + (_TRIES_OF_OURS if failed.is_ours else 0)

    # --- starting ---

    @property
    def _is_settled(self) -> bool:
        """All that could be decided without another answer is."""
        return self._proofs.is_settled and self._recall.is_idle and self._listings.dates.is_idle

    @property
    def _is_idle(self) -> bool:
        return self._is_settled and not self.awaits_answers and self._hosts.is_idle

    @property
    def _gathers_proofs(self) -> bool:
        """A document may be named by several sites' robots.txt: it is read when all of them have had their say."""
        return any(site.awaits_robots for site in self.sites)

    def _start(self, now: float) -> list[Visit]:
        started: list[Visit] = []
        if not self._listings.settle(_HANDED_DOWN_A_TURN):
            return started  # a document that does not hold yet what it may would be read twice
        effort = 0
        startable = self._hosts.startable(now, robots_only=self._gathers_proofs)
        while self.in_flight < self.plan.concurrency and effort < _EFFORT_A_TURN and (found := next(startable, None)):
            host, visit = found
            effort += _EFFORT_OF_A_VISIT + (host.rules.effort(visit.url) if host.rules else 0)
            if self._permitted(host, visit):
                host.pace.started(now)
                self.in_flight += 1
                visit.tries += 1
                visit.headers = self._recall.conditions(visit)
                started.append(visit)
        return started

    def _open_site(self, site: Site) -> None:
        """robots.txt first: what it proves and permits decides on all the rest."""
        document = site.seed.document
        if document is None:
            self._permission.ask(self._hosts.of(site.origin), site)
        elif document not in self._register:
            self._add_candidate(document, "given", site)

    def _add_candidate(self, url: str, why: Why, site: Site) -> None:
        visit = Visit(url, url, why)
        # It held a sitemap once, or is a guess that stands for all that its host has.
        visit.aloud = url in self.plan.memory.names or bool(self._hosts.of(url).too_slow)
        site.expect(visit)
        self._register.add(visit)
        self._admit(visit)

    def _admit(self, visit: Visit) -> None:
        """A document that is named for the first time."""
        if not self._recall.skips(visit):
            self._queue(visit)

    def _queue(self, visit: Visit) -> None:
        host = self._hosts.of(visit.url)
        if host.given_up:
            if host.robots_visit is not None:  # which may have been asked for proof only, so far
                self._telling.speak_up(host.robots_visit)
            self._fail(visit, "F04", host.given_up, severity="info")  # the reason has been reported
            return
        if not visit.is_robots:
            self._permission.learn_rules(host)
        self._hosts.add(visit)

    def _permitted(self, host: Host, visit: Visit) -> bool:
        limit = self._limits.max_site_bytes
        if self._bytes > limit:
            self._fail(visit, "S16", f"more than {limit:,} bytes decoded: not read; {advice('max_site_bytes')}")
            return False
        refusal = self._permission.refusal(host, visit)
        if refusal:
            self._fail(visit, refusal.code, refusal.message, severity=refusal.severity)
        return refusal is None

    def _arrive(self, visit: Visit) -> None:
        """The next request may go; but a host has a bounded number of these too, as each is held in memory."""
        host = self._hosts.of(visit.url)
        if not visit.is_at_work and host.at_work < self.plan.per_host:
            self._release(visit)
            visit.is_at_work = True
            host.at_work += 1
            self._at_work += 1

    def _release(self, visit: Visit) -> None:
        host = self._hosts.of(visit.url)
        if visit.is_at_work:
            visit.is_at_work = False
            host.at_work -= 1
            self._at_work -= 1
        else:
            self.in_flight -= 1
            host.pace.finished()
            self._hosts.rouse(host)

    # --- answers ---

    def _head(self, visit: Visit, head: Head, now: float, today: datetime) -> bool:
        visit.status = head.status
        step = judge(visit, head, self._limits, today)
        if isinstance(step, Read):
            visit.etag, visit.last_modified = head.headers.get("etag"), head.headers.get("last-modified")
            if visit.is_robots and visit.redirects:
                self._permission.share(visit)
            if visit.reached is None:  # a reading that goes on keeps what it began with: its items are counted
                visit.holds = self._proofs.of(visit)
            visit.read_at = today
            return True
        self._release(visit)
        if isinstance(step, Unchanged):
            self._recall.confirm(visit, head.headers)
        elif isinstance(step, Follow):
            self._move(visit, step.target)
        elif isinstance(step, Settle):
            self._finish(visit, self._permission.settle(visit, step))
        else:
            self._refused(visit, step, now)
        return False

    def _refused(self, visit: Visit, refusal: Refuse, now: float) -> None:
        host = self._hosts.of(visit.url)
        if refusal.give_up:
            self._give_up(host, visit, refusal.message)
            return
        host.pace.hold(now + refusal.hold_seconds)
        self._failed(visit, Failed(refusal.code, refusal.message, refusal.transient), now)

    def _failed(self, visit: Visit, failed: Failed, now: float) -> None:
        if visit.is_robots and visit.status is None and any(site.other_origins for site in visit.sites):
            self._permission.ask_elsewhere(visit, failed)
            for alias in visit.aliases:
                alias.alias_of = None
                self._queue(alias)
            for site in visit.sites:
                self._catch_up(site)
        elif self.tries_again(visit, failed):
            visit.not_before = now + backoff(visit.tries, self._jitter())
            self._queue(visit)
        else:
            self._fail(visit, failed.code, failed.message, failed.outcome)

    def _catch_up(self, site: Site) -> None:
        """The robots.txt that a site waits for may have been read before, on another's account."""
        robots = self._hosts.of(site.origin).robots_visit
        if robots and robots.outcome:
            self._listings.enter_anew(robots)
            self._go_on(robots, site, robots.outcome)

    def _give_up(self, host: Host, visit: Visit, why: str) -> None:
        """The host asks for more patience than the user has: it is left alone for the rest of the walk."""
        host.given_up = f"{host.origin} was given up: {why}"
        host.rules = host.rules or disallow_all(host.given_up)
        visit.aloud = visit.aloud or not visit.is_robots
        waiting = self._hosts.drain(host)
        self._fail(visit, "F04", host.given_up)
        for each in waiting:
            self._fail(each, "F04", host.given_up, severity="info")

    def _move(self, visit: Visit, target: str) -> None:
        """To where a redirect points, unless that is being read for itself."""
        self._telling.note(visit, "F03", f"redirected to {target}")
        visit.redirects.append(visit.url)
        visit.url, visit.tries = target, 0
        if visit.is_robots:
            known = self._permission.asked_at(target)
        else:
            known = self._register.get(target) or self._listings.robots_at(target, visit)
        if known is None or known is visit or (visit.is_robots and known.waits_for(visit)):
            if not visit.is_robots:
                self._register.add_name(target, visit)
            self._queue(visit)
        elif visit.is_robots:
            self._stand_for(visit, known)
        else:
            self._listings.enter_alias(visit, known)
            if known.waits_for(visit):
                visit.url = visit.redirects.pop()  # it leads nowhere, and is an alias of nothing
                self._fail(visit, "F04", f"redirect loop: {visit.asked} and {known.asked} redirect to each other")
                return
            self._stand_for(visit, known)

    def _stand_for(self, alias: Visit, known: Visit) -> None:
        """The end of the known one is that of its alias, too."""
        alias.alias_of = known
        if known.outcome is None:
            known.aliases.append(alias)
        elif alias.is_robots:
            self._end_alias(alias, known.outcome)
        else:
            self._finish(alias, _of_alias(known.outcome))

    # --- ends ---

    def _finished(self, visit: Visit, finished: Finished) -> None:
        if visit.is_robots:
            self._set_rules(visit, finished.rules, is_page=take_page(finished.outcome))
        elif visit.is_index and not visit.again and self._register.is_in_index(visit):
            self._telling.note(visit, "S04", "an index within an index; the protocol allows none")
        self._finish(visit, finished.outcome)

    def _set_rules(self, robots: Visit, rules: Rules | None, *, is_page: bool, was_read: bool = True) -> None:
        self._permission.set_rules(robots, rules or ALLOW_ALL)
        robots.is_page = is_page
        if was_read and robots.sites and not robots.named and not robots.is_page:
            self._telling.note(robots, "F09", "robots.txt names no sitemap")
        elif robots.is_page and not robots.sites:
            self._walls.report_page(robots)

    def _fail(
        self,
        visit: Visit,
        code: str,
        message: str,
        outcome: Outcome | None = None,
        *,
        severity: Severity | None = None,
    ) -> None:
        host = self._hosts.of(visit.asked)
        text = f"{message} (listed in {visit.listed_at})" if visit.listed_at else message
        if visit.is_robots:
            text = self._permission.failure(visit, message, closes_host=True)
        elif visit.is_guess and is_refusal(visit, code) and not host.blocked:
            visit.aloud, text = True, with_remedy(message, visit.status)
        elif visit.why == "given" and code == "F01" and visit.status in REFUSED:
            text = with_remedy(message, visit.status)
        self._telling.note(visit, code, text, severity=severity)
        # One message for the host: what is guessed later fares no better.
        host.blocked = host.blocked or (not visit.is_guess and is_refusal(visit, code))
        if visit.is_robots:
            self._permission.lose_rules(visit, message)
        if outcome is None and visit.reached:
            outcome = visit.reached.outcome
        outcome = outcome or Outcome(format=Format.ROBOTS.value if visit.is_robots else None)
        outcome.complete = False
        if visit.is_robots:
            take_page(outcome)  # of a page that broke off, the failure is reported
        self._finish(visit, outcome)

    def _finish(self, visit: Visit, outcome: Outcome) -> None:
        self._bytes += outcome.bytes_decoded
        if visit.again:
            self._held.end_again(visit, outcome)
            return
        self._end(visit, outcome)
        for alias in visit.aliases:
            self._end_alias(alias, outcome)

    def _end_alias(self, first: Visit, outcome: Outcome) -> None:
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

    def _end(self, visit: Visit, outcome: Outcome) -> None:
        self._telling.settle(visit, outcome)
        waits = self._listings.dates.ended(visit, outcome)
        if not (waits or visit.is_page):
            self._hold(visit)
        self.documents_done += not visit.is_robots
        for site in visit.sites:
            self._go_on(visit, site, outcome)

    def _hold(self, visit: Visit) -> None:
        """Nothing more comes up of a document but, perhaps, a proof."""
        assert visit.outcome is not None  # noqa: S101 - for the type checker: it has ended
        self._held.end(visit, visit.outcome)

    def _go_on(self, visit: Visit, site: Site, outcome: Outcome) -> None:
        """Discovery hears of the end of a candidate, and may have a guess."""
        site.awaits_robots = False
        if visit is not self._hosts.of(site.origin).robots_visit:
            site.settled(outcome)
            if visit.is_guess and outcome.format == Format.HTML:
                site.pages.append(visit)
        elif not outcome.complete:
            self._permission.end_first(site)
        if visit.why == "well-known" and not (visit.is_guess or outcome.complete):
            site.list_candidate(outcome)
        if not self._permission.is_lost(site, visit):
            while (guess := site.next_guess()) is not None:
                if guess not in self._register and not self.plan.no_follow.find_in(guess):
                    self._add_candidate(guess, "well-known", site)
                    return
        if not site.pending and not site.is_over:
            self._walls.end(site, self._hosts.of(site.origin))


def _of_alias(outcome: Outcome) -> Outcome:
    """That of a document which turned out to be another one: nothing of it is read twice."""
    return Outcome(format=outcome.format, complete=outcome.complete)
