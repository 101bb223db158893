"""A site's sitemaps as a state machine, without a socket or a clock (as h11 is for HTTP).

In: seeds, then the Answers to each DocumentRequest in order: its Head, each SitemapRef in the body, perhaps Arrived,
and last Failed or Finished. Out: next_requests(), the requests that may be made now, and take(), the Problems and
Outcomes of the crawl itself. Retries, redirects, robots.txt, politeness and limits are decided here. Of what is parsed,
only Sitemap lines and rules of robots.txt, children of indexes and dates come back here.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import attrs

from ..model.limits import advice
from ..model.records import Outcome, SitemapRef, Why
from ..parser.content.sniff import Format
from ..parser.normalise.urls import origin
from .authority import Authorities, DeferredDocuments
from .document_request import Answer, Arrived, DocumentRequest, Failed, Finished, Head, KnownDocuments, SiteDiscovery
from .events import Events
from .host_queue import HostQueues, backoff
from .links import Links
from .plan import Plan
from .responses import (
    ABSENT,
    REFUSED,
    Follow,
    Read,
    Refuse,
    Settle,
    Unchanged,
    hides_sitemap_lines,
    is_refusal,
    judge,
    remove_page_problem,
    with_remedy,
)
from .revalidation import Revalidator
from .robots_policy import BlockPages, RobotsPolicy
from .robots_rules import ALLOW_ALL, disallow_all

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from ..model.problems import Problem, Severity
    from .host_queue import HostQueue
    from .robots_policy import CrawlDelay
    from .robots_rules import Rules
    from .seeds import Seed

__all__ = ["Frontier", "Plan"]

# The work of one call, as robots_rules.Rules.effort() counts it: the caller has other things to do in between. Of a
# hundred thousand documents that robots.txt forbids none is in flight, and nothing else would end the call.
_EFFORT_PER_CALL = 20_000_000
_EFFORT_PER_REQUEST = 10_000
_DEFERRED_PER_CALL = 1_000
_UNCHANGED_PER_CALL = 256
_DATED_PER_CALL = 2_000
_PROPAGATED_PER_CALL = 2_000


class Frontier:
    """Decides which document to request next: `next_requests(now)` and `receive(request, answer, now, today)`, until
    `done`.

    `now` is the seconds of any clock that only grows; `today` the wall-clock time, for Retry-After dates.
    """

    def __init__(self, seeds: Sequence[Seed], plan: Plan, *, jitter: Callable[[], float] | None = None) -> None:
        self.plan = plan
        self.sites = [SiteDiscovery.start(seed, plan.probe) for seed in seeds]
        self.in_flight = 0  # requests
        self._processing = 0  # documents that have arrived and are still being parsed
        self.documents_done = 0
        self._limits = plan.limits
        self._jitter = jitter or random.Random().random  # noqa: S311 - spreads retries, guards nothing
        self._events = Events()
        self._hosts = HostQueues(plan.per_host)
        origins = [each for seed in seeds for each in seed.origins]
        self._policy = RobotsPolicy(plan, self._hosts, self._events, origins)
        self._documents = KnownDocuments()
        self._authorities = Authorities(plan.scope, self._documents)
        self._links = Links(plan, self._documents, self._authorities, self._policy, self._events, self._admit)
        self._revalidator = Revalidator(plan.cache, self._authorities, self._links.add)
        self._deferred = DeferredDocuments(
            self._authorities, self._events, self._links.drop_unverified, self._queue, descend=plan.descend
        )
        self._block_pages = BlockPages(plan, self._events, self._deferred.end)
        self._bytes = 0
        # Documents last: a robots.txt that is requested on their account serves no discovery.
        for site in sorted(self.sites, key=lambda site: site.seed.document is not None):
            self._open_site(site)

    # --- the interface ---

    @property
    def documents_known(self) -> int:
        """How many documents were listed or probed so far, read or not."""
        return self._documents.count

    @property
    def checked(self) -> int:
        """How many samples confirmed that the older children of their index may be skipped."""
        return self._links.dates.checked

    @property
    def pruned(self) -> Counter[str]:
        """Children that the caller's filters exclude: reason -> count."""
        return self._links.pruned

    def longest_crawl_delay(self) -> CrawlDelay | None:
        """The Crawl-delay that makes the crawl take longest, if there is one."""
        return self._policy.longest_delay()

    def rules(self, url: str) -> Rules | None:
        """The rules in the robots.txt of a URL's host; None where it was not read, or is not obeyed."""
        return self._policy.rules(url)

    @property
    def done(self) -> bool:
        """Whether no answer is awaited, and no document waits or is deferred."""
        return self._is_idle and self._deferred.is_empty

    @property
    def awaits_answers(self) -> bool:
        """Whether some requests have started and not ended."""
        return bool(self.in_flight or self._processing)

    def next_requests(self, now: float) -> list[DocumentRequest]:
        """The requests that may start now, within the limits of the plan; each must be answered."""
        for request, outcome in self._revalidator.go_on(_UNCHANGED_PER_CALL):
            self._finished(request, Finished(outcome))
        for index in self._links.dates.go_on(_DATED_PER_CALL):
            self._end_document(index)
        started = self._start(now)
        if self._is_idle and not self._deferred.is_empty:
            self._deferred.settle(_DEFERRED_PER_CALL)
            started = self._start(now)
        return started

    def wait(self, now: float) -> float | None:
        """Seconds until next_requests() may return some; None if only an answer can change that."""
        if not self._is_settled or (self._is_idle and not self._deferred.is_empty):
            return 0.0
        if self.in_flight >= self.plan.concurrency:
            return None
        return self._hosts.wait(now, robots_only=self._awaits_robots)

    def receive(self, request: DocumentRequest, answer: Answer, now: float, today: datetime) -> bool:
        """Takes an answer to a request. Returns, for a Head, whether to read the body; ignore it for others."""
        if isinstance(answer, SitemapRef):
            self._links.add(request, answer)
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
        """The events of the crawl itself since the last call."""
        return self._events.take()

    def note_withheld(self, request: DocumentRequest) -> None:
        """Reports that the caller's headers are not sent with this request, as it is http."""
        start = origin(request.url)
        message = f"headers and credentials are not sent to {start}, which is not https; give it as TARGET to send them"
        self._events.note(request, "F16", message)

    def abandon(self) -> list[Problem | Outcome]:
        """Ends the deferred documents as they are, when nothing more is requested; returns the last events."""
        for site in self.sites:
            self._block_pages.report_page(self._hosts.for_url(site.origin).robots_request)
        for index in self._links.dates.abandon():
            self._end_document(index)
        self._deferred.abandon()
        return self.take()

    def tries_again(self, request: DocumentRequest, failed: Failed) -> bool:
        """Whether a failure leads to another try."""
        return failed.transient and request.tries < self._limits.tries

    # --- starting requests ---

    @property
    def _is_settled(self) -> bool:
        """Whether nothing can be decided without another answer."""
        return self._authorities.is_propagated and self._revalidator.is_idle and self._links.dates.is_idle

    @property
    def _is_idle(self) -> bool:
        return self._is_settled and not self.awaits_answers and self._hosts.is_idle

    @property
    def _awaits_robots(self) -> bool:
        """Whether a site's robots.txt is missing: a document is read when all that may name it have been read."""
        return any(site.awaits_robots for site in self.sites)

    def _start(self, now: float) -> list[DocumentRequest]:
        started: list[DocumentRequest] = []
        if not self._links.settle(_PROPAGATED_PER_CALL):
            return started  # a document that has not all its authorities yet would be read twice
        effort = 0
        ready = self._hosts.pop_ready(now, robots_only=self._awaits_robots)
        while self.in_flight < self.plan.concurrency and effort < _EFFORT_PER_CALL and (found := next(ready, None)):
            host, request = found
            effort += _EFFORT_PER_REQUEST + (host.rules.effort(request.url) if host.rules else 0)
            if self._permitted(host, request):
                host.pace.started(now)
                self.in_flight += 1
                request.tries += 1
                request.headers = self._revalidator.conditions(request)
                started.append(request)
        return started

    def _open_site(self, site: SiteDiscovery) -> None:
        """Requests robots.txt first: its rules and Sitemap lines decide on all the rest."""
        document = site.seed.document
        if document is None:
            self._policy.request(self._hosts.for_url(site.origin), site)
        elif document not in self._documents:
            self._add_candidate(document, "given", site)

    def _add_candidate(self, url: str, why: Why, site: SiteDiscovery) -> None:
        request = DocumentRequest(url, url, why)
        # It was a sitemap once, or is the probe that stands for all on a host with too long a Crawl-delay.
        request.reports_failure = url in self.plan.cache.names or bool(self._hosts.for_url(url).delay_error)
        site.add_candidate(request)
        self._documents.add(request)
        self._admit(request)

    def _admit(self, request: DocumentRequest) -> None:
        """Queues a document that is listed for the first time, unless it is known to be unchanged."""
        if not self._revalidator.skips(request):
            self._queue(request)

    def _queue(self, request: DocumentRequest) -> None:
        host = self._hosts.for_url(request.url)
        if host.skip_failure:
            if host.robots_request is not None:  # which may have been requested for verification only, so far
                self._events.report_probe(host.robots_request)
            self._fail(request, host.skip_failure, severity="info")  # the reason has been reported
            return
        if not request.is_robots:
            self._policy.ensure_rules(host)
        self._hosts.add(request)

    def _permitted(self, host: HostQueue, request: DocumentRequest) -> bool:
        limit = self._limits.max_site_bytes
        if self._bytes > limit:
            message, remedy = f"more than {limit:,} bytes decoded: not read", advice("max_site_bytes")
            self._fail(request, Failed("S16", message, transient=False, remedy=remedy))
            return False
        refusal = self._policy.refusal(host, request)
        if refusal:
            self._fail(request, Failed(refusal.code, refusal.message, transient=False), severity=refusal.severity)
        return refusal is None

    def _arrive(self, request: DocumentRequest) -> None:
        """Frees the slot of a request whose document is still being parsed; a bounded number of those per host, as
        each is held in memory.
        """
        host = self._hosts.for_url(request.url)
        if not request.is_processing and host.processing < self.plan.per_host:
            self._release(request)
            request.is_processing = True
            host.processing += 1
            self._processing += 1

    def _release(self, request: DocumentRequest) -> None:
        host = self._hosts.for_url(request.url)
        if request.is_processing:
            request.is_processing = False
            host.processing -= 1
            self._processing -= 1
        else:
            self.in_flight -= 1
            host.pace.finished()
            self._hosts.wake(host)

    # --- answers ---

    def _head(self, request: DocumentRequest, head: Head, now: float, today: datetime) -> bool:
        request.status = head.status
        step = judge(request, head, self._limits, today)
        if isinstance(step, Read):
            request.etag, request.last_modified = head.headers.get("etag"), head.headers.get("last-modified")
            if request.is_robots and request.redirects:
                self._policy.share(request)
            if request.resume is None:  # a resumed reading keeps its scope: its items are counted
                request.authorities = self._authorities.authorities_of(request)
            request.read_at = today
            return True
        self._release(request)
        if isinstance(step, Unchanged):
            self._revalidator.confirm(request, head.headers)
        elif isinstance(step, Follow):
            self._redirect(request, step.target)
        elif isinstance(step, Settle):
            self._finish(request, self._policy.settle(request, step))
        else:
            self._refused(request, step, now)
        return False

    def _refused(self, request: DocumentRequest, refusal: Refuse, now: float) -> None:
        host = self._hosts.for_url(request.url)
        if refusal.skip_host:
            self._skip_host(host, request, refusal.failed)
            return
        host.pace.pause(now + refusal.pause_seconds)
        self._failed(request, refusal.failed, now)

    def _failed(self, request: DocumentRequest, failed: Failed, now: float) -> None:
        if request.is_robots and request.status is None and any(site.other_origins for site in request.sites):
            self._policy.request_at_next_origin(request, failed)
            for alias in request.aliases:
                alias.alias_of = None
                self._queue(alias)
            for site in request.sites:
                self._catch_up(site)
        elif self.tries_again(request, failed):
            request.not_before = now + backoff(request.tries, self._jitter())
            self._queue(request)
        else:
            self._fail(request, failed)

    def _catch_up(self, site: SiteDiscovery) -> None:
        """The robots.txt at a site's next origin may have been read before, on another account."""
        robots = self._hosts.for_url(site.origin).robots_request
        if robots and robots.outcome:
            self._links.add_lines_again(robots)
            self._continue_discovery(robots, site, robots.outcome)

    def _skip_host(self, host: HostQueue, request: DocumentRequest, failed: Failed) -> None:
        """The host asks for a longer wait than the limit: it is skipped for the rest of the crawl."""
        failed = host.skip_failure = attrs.evolve(failed, message=f"{host.origin} is skipped: {failed.message}")
        host.rules = host.rules or disallow_all(failed.text)
        request.reports_failure = request.reports_failure or not request.is_robots
        waiting = self._hosts.drain(host)
        self._fail(request, failed)
        for each in waiting:
            self._fail(each, failed, severity="info")

    def _redirect(self, request: DocumentRequest, target: str) -> None:
        """Requests the target of a redirect, unless that is a document of its own: then this one is its alias."""
        self._events.note(request, "F03", f"redirected to {target}")
        request.redirects.append(request.url)
        request.url, request.tries = target, 0
        if request.is_robots:
            known = self._policy.requested_at(target)
        else:
            known = self._documents.get(target) or self._links.robots_at(target, request)
        if known is None or known is request or (request.is_robots and known.is_alias_of(request)):
            if not request.is_robots:
                self._documents.add_url(target, request)
            self._queue(request)
        elif request.is_robots:
            self._make_alias(request, known)
        else:
            self._links.add_alias(request, known)
            if known.is_alias_of(request):
                request.url = request.redirects.pop()  # a loop, so it is an alias of nothing
                urls = f"{request.original_url} and {known.original_url}"
                self._fail(request, Failed("F04", f"redirect loop: {urls} redirect to each other", transient=False))
                return
            self._make_alias(request, known)

    def _make_alias(self, alias: DocumentRequest, known: DocumentRequest) -> None:
        """The alias ends when the known document does."""
        alias.alias_of = known
        if known.outcome is None:
            known.aliases.append(alias)
        elif alias.is_robots:
            self._end_aliases(alias, known.outcome)
        else:
            self._finish(alias, _alias_outcome(known.outcome))

    # --- ends ---

    def _finished(self, request: DocumentRequest, finished: Finished) -> None:
        if request.is_robots:
            self._set_rules(request, finished.rules, is_page=remove_page_problem(finished.outcome))
        elif request.is_index and not request.reread and self._documents.is_in_index(request):
            self._events.note(request, "S04", "an index within an index; the protocol allows none")
        self._finish(request, finished.outcome)

    def _set_rules(self, robots: DocumentRequest, rules: Rules | None, *, is_page: bool, was_read: bool = True) -> None:
        self._policy.set_rules(robots, rules or ALLOW_ALL)
        robots.is_page = is_page
        if was_read and robots.sites and not robots.sitemap_lines and not robots.is_page:
            self._events.note(robots, "F09", "robots.txt names no sitemap")
        elif robots.is_page and not robots.sites:
            self._block_pages.report_page(robots)

    def _fail(self, request: DocumentRequest, failed: Failed, *, severity: Severity | None = None) -> None:
        host, code, outcome = self._hosts.for_url(request.original_url), failed.code, failed.outcome
        text = f"{failed.text} (listed in {request.listed_at})" if request.listed_at else failed.text
        if request.is_robots:
            text = self._policy.failure_message(request, failed, closes_host=True)
        elif request.is_probe and is_refusal(request, code) and not host.is_blocked:
            request.reports_failure, text = True, with_remedy(failed, request.status, self.plan)
        elif request.why == "given" and code == "F01" and request.status in REFUSED:
            text = with_remedy(failed, request.status, self.plan)
        self._events.note(request, code, text, severity=severity)
        # One message per host: further probes fail in the same way.
        host.is_blocked = host.is_blocked or (not request.is_probe and is_refusal(request, code))
        if request.is_robots:
            self._policy.disallow(request, failed.text)
        if outcome is None and request.resume:
            outcome = request.resume.outcome
        outcome = outcome or Outcome(format=Format.ROBOTS.value if request.is_robots else None)
        outcome.complete = False
        if request.is_robots:
            remove_page_problem(outcome)  # of a page that broke off, the failure is reported
        self._finish(request, outcome)

    def _finish(self, request: DocumentRequest, outcome: Outcome) -> None:
        self._bytes += outcome.bytes_decoded
        if request.reread:
            self._deferred.end_reread(request, outcome)
            return
        self._end(request, outcome)
        for alias in request.aliases:
            self._end_aliases(alias, outcome)

    def _end_aliases(self, first: DocumentRequest, outcome: Outcome) -> None:
        """Ends an alias of a document with this outcome, and the aliases of that alias."""
        due = [first]
        while due:  # a list, as aliases may have aliases to any depth
            alias = due.pop()
            known = alias.alias_of
            if alias.is_robots and known is not None:
                for ref in known.sitemap_lines:
                    self._links.add(alias, ref)
                rules = self._hosts.for_url(known.original_url).rules
                was_read = outcome.complete and known.status not in (None, *ABSENT)
                is_page = known.is_page or hides_sitemap_lines(outcome)
                self._set_rules(alias, rules, is_page=is_page, was_read=was_read)
            self._end(alias, _alias_outcome(outcome))
            due += alias.aliases

    def _end(self, request: DocumentRequest, outcome: Outcome) -> None:
        self._events.set_outcome(request, outcome)
        waits = self._links.dates.ended(request, outcome)
        if not (waits or request.is_page):
            self._end_document(request)
        self.documents_done += not request.is_robots
        for site in request.sites:
            self._continue_discovery(request, site, outcome)

    def _end_document(self, request: DocumentRequest) -> None:
        """Reports the end of a document, or defers it if robots.txt verification could still change its outcome."""
        assert request.outcome is not None  # noqa: S101 - for the type checker: it has ended
        self._deferred.end(request, request.outcome)

    def _continue_discovery(self, request: DocumentRequest, site: SiteDiscovery, outcome: Outcome) -> None:
        """A candidate or the robots.txt of a site has ended: requests the next probe, or ends the discovery."""
        site.awaits_robots = False
        if request is not self._hosts.for_url(site.origin).robots_request:
            site.candidate_ended(outcome)
            if request.is_probe and outcome.format == Format.HTML:
                site.html_pages.append(request)
        elif not outcome.complete:
            self._policy.report_first_failure(site)
        if request.why == "well-known" and not (request.is_probe or outcome.complete):
            site.report_candidate(outcome)
        if not self._policy.rules_out_probes(site, request):
            while (url := site.next_probe()) is not None:
                if url not in self._documents and not self.plan.no_follow.find_in(url):
                    self._add_candidate(url, "well-known", site)
                    return
        if not site.pending and not site.has_ended:
            self._block_pages.end_discovery(site, self._hosts.for_url(site.origin))


def _alias_outcome(outcome: Outcome) -> Outcome:
    """The outcome of an alias of another document: its entries are those of that document, and not counted twice."""
    return Outcome(format=outcome.format, complete=outcome.complete)
