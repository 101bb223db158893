"""A site's sitemaps as a state machine, without a socket or a clock (as h11 is for HTTP).

Seeds go in, then the Answers to each DocumentRequest in order: its Head, each SitemapRef in the body, perhaps Arrived,
and last Failed or Finished. Out come next_requests(), the requests that may be made now, and take(), the events: Listed
documents, which the caller requests or skips, and the Problems and Outcomes of the crawl itself. Nothing here calls the
caller. Retries, redirects, robots.txt, politeness and limits are decided here. Of what is parsed, only Sitemap lines
and rules of robots.txt, children of indexes and dates come back here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs

from ..model.errors import UsageError
from ..model.limits import advice
from ..model.options import one_of_types
from ..model.records import PROBED, Outcome, SitemapRef, Why
from ..parser.content.sniff import SITEMAP_FORMATS, Format
from ..parser.normalise.urls import origin
from ..parser.parser import SitemapParser
from .documents import (
    Answer,
    Arrived,
    Document,
    DocumentRequest,
    Events,
    Failed,
    Finished,
    Head,
    KnownDocuments,
    Received,
    Retry,
    SiteDiscovery,
    Skip,
    listing_place,
    lower_case_names,
)
from .host_queue import HostQueues, backoff
from .links import Authorities, Links, WaitingDocuments
from .plan import Seed
from .responses import REFUSED, Follow, RulesByStatus, code_of, is_refusal, judge, with_remedy
from .robots_policy import HostRobots
from .robots_rules import ALLOW_ALL, disallow_all, parse_rules

if TYPE_CHECKING:
    from ..model.problems import Problem
    from ..parser.normalise.scope import Scope
    from .documents import Event, Listed, SkipReason, Verdict
    from .host_queue import HostQueue, Wait
    from .plan import Plan

# The work of one call, as robots_rules.Rules.effort() counts it: the caller has other things to do in between. Of a
# hundred thousand documents that robots.txt forbids none is in flight, and nothing else would end the call.
_EFFORT_PER_CALL = 20_000_000
_EFFORT_PER_REQUEST = 10_000
_DECIDED_PER_CALL = 1_000
_DATED_PER_CALL = 2_000
_PROPAGATED_PER_CALL = 2_000

# Code of the failure of a document that was not requested -> why; else it is because of its host.
_SKIPPED_BY: dict[str, SkipReason] = {"F02": "robots", "S16": "limit"}
# Answer -> the states of a document in which it can be received.
_READING = frozenset({"reading", "arrived", "unchanged"})
_ANSWERED_IN: dict[type, frozenset[str]] = {
    Head: frozenset({"requested"}),
    SitemapRef: _READING,
    Arrived: frozenset({"reading", "arrived"}),
    Finished: _READING,
    Failed: frozenset({"requested", "reading", "arrived"}),
}


class Frontier:
    """Decides which document to request next: until it is `done`, make each of next_requests(), receive() the answers,
    and handle each event of take(); request() or skip() answers one that is Listed.

    `now` is the seconds of any clock that only grows; `today` the wall-clock time, for Retry-After dates. `pruned`
    counts the children that the caller's filters exclude, by reason.
    """

    def __init__(self, seeds: Sequence[Seed], plan: Plan, *, jitter: Callable[[], float] | None = None) -> None:
        for seed in seeds:
            one_of_types("what parse_target() returns", Seed)("a seed", seed)
        self.plan = plan
        self.sites = [SiteDiscovery(seed, plan.probe) for seed in seeds]
        self.in_flight = 0  # requests
        self.documents_done = 0
        self.retries = 0
        self._processing = 0  # documents that have arrived, or are unchanged, and have not ended
        self._limits = plan.limits
        self._jitter = jitter or random.SystemRandom().random  # its state costs nothing, and is not the caller's
        self._events = events = Events()
        self.hosts = HostQueues(plan.per_host, plan.delay_seconds)
        origins = frozenset(each for seed in seeds for each in seed.origins)
        self.policy = policy = HostRobots(plan, self.hosts, events, origins)
        self._documents = KnownDocuments()
        self._authorities = authorities = Authorities(plan.scope, self._documents)
        self._links = Links(plan, self._documents, authorities, policy, events)
        self.pruned = self._links.pruned
        self._waiting = WaitingDocuments(plan, authorities, self._links, policy, events)
        self._redirected: list[tuple[Document, Follow]] = []  # they wait until all else has been read
        self._bytes = 0
        # Documents last: a robots.txt that is requested on their account serves no discovery.
        for site in sorted(self.sites, key=lambda site: site.seed.document is not None):
            if site.seed.document is None:  # robots.txt first: its rules and Sitemap lines decide on all the rest
                self.policy.request(self.hosts.for_url(site.origin), site)
            elif site.seed.document not in self._documents:
                self._add_candidate(site.seed.document, "given", site)

    @property
    def documents_known(self) -> int:
        """How many documents were listed or probed so far, read or not."""
        return self._documents.count

    @property
    def checked(self) -> int:
        """How many samples confirmed that the older children of their index may be skipped."""
        return self._links.dates.checked

    @property
    def done(self) -> bool:
        return self._is_idle and not self._has_waiting

    @property
    def awaits_answers(self) -> bool:
        """Whether the caller owes an answer: some requests have not ended, or Listed documents are not decided on."""
        return bool(self.in_flight or self._processing or self._events.unanswered)

    def next_requests(self, now: float) -> list[DocumentRequest]:
        """The requests that may start now, within the limits of the plan; each must be answered."""
        for document, failed in self.hosts.pop_skipped(robots_only=self._awaits_robots):
            self._fail(document, failed)
        for index in self._links.decide_waiting(_DATED_PER_CALL):
            self._waiting.end(index)
        started = self._start(now)
        if self._is_idle and self._settle():
            started = self._start(now)
        if self._is_idle and not self._waiting.is_empty:
            self._waiting.decide(_DECIDED_PER_CALL)
            started = self._start(now)
        return started

    def wait(self, now: float) -> float | None:
        """Seconds until next_requests() may return some; None if only an answer to a request can change that."""
        if self._events.unanswered or not self._is_decided or (self._is_idle and self._has_waiting):
            return 0.0
        if self.in_flight >= self.plan.concurrency:
            return None
        return self.hosts.wait(now, robots_only=self._awaits_robots)

    def request(self, listed: Listed) -> None:
        """Has a Listed document requested, when its host allows it."""
        self.policy.queue(listed.document, "request")
        self._events.unanswered -= 1

    def skip(self, listed: Listed) -> DocumentRequest:
        """Skips a Listed document; the answer to the result is what is stored of it: each child, and Finished."""
        listed.document.take("skip")
        self._events.unanswered -= 1
        self._processing += 1
        return listed.document.request

    def add(self, url: str) -> Document:
        """The document at a URL that was found elsewhere; if it was not known, it is Listed."""
        known = self._documents.get(url)
        if known is None:
            known = Document(url, "given")
            self._links.add_document(known)
        return known

    def authorities_of(self, document: Document) -> tuple[str, ...]:
        """The URL prefixes that a document may list besides its own directory, by what is known now."""
        return self._authorities.of(document)

    def scope_of(self, document: Document, authorities: tuple[str, ...] | None = None) -> Scope:
        """The URLs that a document may list, by what is known now, or with the authorities of an earlier time.

        When its Outcome comes it grows no more: what was dropped as out of scope may be in scope by then.
        """
        return self._authorities.scope_of(document, authorities)

    def receive(self, request: DocumentRequest, answer: Answer, now: float, today: datetime) -> bool:
        """Takes an answer to a request. Returns, for a Head, whether more answers follow; ignore it for others.

        Those are what the body lists, and Finished or Failed; after a conditional 304, what is stored, as for skip().
        """
        document = request.document
        if document.state not in _ANSWERED_IN.get(type(answer), ()):
            raise UsageError(f"{request.url} is {document.state}: no {type(answer).__name__} can be received for it")
        if isinstance(answer, SitemapRef):
            self._links.add(document, answer)
            return True
        if isinstance(answer, Head):
            return self._head(document, answer, now, today)
        if isinstance(answer, Arrived):
            self._arrive(document)
            return False
        self._release(document)
        if isinstance(answer, Failed):
            self._failed(document, answer, now)
        else:
            if document.is_robots:
                self.policy.set_rules(document, answer.rules or ALLOW_ALL, answer.robots_body)
            self._finish(document, answer)
        return False

    def parser(self, request: DocumentRequest, headers: Mapping[str, str]) -> SitemapParser:
        """A parser for the body of an answer with these headers (names in any case), by the plan's scope and limits."""
        return make_parser(request, lower_case_names(headers), self.plan)

    def finished(self, request: DocumentRequest, parser: SitemapParser) -> Finished:
        """The last answer to a request, when its parser() has been closed."""
        rules = parse_rules(parser.robots_text, self.plan.user_agent) if request.document.is_robots else None
        return Finished(parser.outcome, rules, dropped_origins=parser.dropped_origins, robots_body=parser.robots_body)

    def take(self) -> list[Event]:
        return self._events.take()

    def take_verdicts(self, *, are_wanted: bool) -> list[Verdict]:
        """What was decided since the last call and is no Event, for a log; nothing is kept unless `are_wanted`."""
        return self._events.take_verdicts(are_wanted=are_wanted)

    def waits(self, now: float) -> Iterator[Wait]:
        """What hosts wait for before their next request, where that is a time and no answer."""
        return self.hosts.waits(now)

    def note_withheld(self, request: DocumentRequest) -> None:
        """Reports that the caller's headers are not sent with this request, as it is http."""
        start = origin(request.url)
        message = f"headers and credentials are not sent to {start}, which is not https; give it as TARGET to send them"
        self._events.note(request.document, "F16", message)

    def abandon(self) -> list[Event]:
        """Ends the waiting documents as they are, when nothing more is requested; returns the last events."""
        for site in self.sites:
            robots = self.hosts.for_url(site.origin).robots_txt
            if robots is not None and robots.awaits_verdict:
                self.policy.report_body(robots)
                if robots.outcome:
                    self._waiting.end(robots)
        for index in self._links.dates.abandon():
            self._waiting.end(index)
        self._links.report_deep()
        self._waiting.abandon()
        return self.take()

    def report_unread(self, problem: Problem) -> None:
        """Adds what has not ended, with the problem that kept it, to what the discovery found."""
        # A robots.txt, and a probe unless its host has refused others, are listed as where they fail.
        robots = (self.hosts.for_url(site.origin).robots_txt for site in self.sites)
        for document in dict.fromkeys([*filter(None, robots), *self._documents]):
            is_reported = document.is_probe and self.hosts.for_url(document.original_url).is_blocked
            if document.outcome is None and not is_reported:
                unread = Outcome(url=document.original_url, why=document.why, samples=(problem,))
                for site in document.sites:
                    site.report_candidate(unread)

    def tries_again(self, request: DocumentRequest, failed: Failed) -> bool:
        most = 1 if request.document.is_start_page else self._limits.tries
        return failed.transient and request.tries < most

    @property
    def _is_decided(self) -> bool:
        """Whether nothing can be decided without another answer."""
        is_decided = self._authorities.is_propagated and self._links.dates.is_idle
        return is_decided and not self.hosts.has_skipped(robots_only=self._awaits_robots)

    @property
    def _is_idle(self) -> bool:
        return self._is_decided and not self.awaits_answers and self.hosts.is_idle

    @property
    def _has_waiting(self) -> bool:
        return bool(self._redirected or self._links.has_deep or not self._waiting.is_empty)

    def _settle(self) -> bool:
        """Decides what depends on all that is read before; whether there was anything to decide.

        That is for which of several redirects a document is read, and which indexes are too deep.
        """
        redirected, self._redirected = self._redirected, []
        for document, step in sorted(redirected, key=lambda each: each[0].original_url):
            self._follow(document, step)
        return bool(redirected) or self._links.decide_deep()

    @property
    def _awaits_robots(self) -> bool:
        """Whether a site's robots.txt is missing: a document is read when all that may name it have been read."""
        return any(site.awaits_robots for site in self.sites)

    def _start(self, now: float) -> list[DocumentRequest]:
        started: list[DocumentRequest] = []
        if not self._links.propagate(_PROPAGATED_PER_CALL):
            return started  # each document is read with all its authorities
        effort = 0
        ready = self.hosts.pop_ready(now, robots_only=self._awaits_robots)
        while self.in_flight < self.plan.concurrency and effort < _EFFORT_PER_CALL and (found := next(ready, None)):
            host, document = found
            effort += _EFFORT_PER_REQUEST + (host.rules.effort(document.url) if host.rules else 0)
            if self._permitted(host, document):
                host.pace.started(now)
                self.in_flight += 1
                document.take("start")
                document.ask(tries=document.request.tries + 1)
                started.append(document.request)
        return started

    def _add_candidate(self, url: str, why: Why, site: SiteDiscovery) -> None:
        document = Document(url, why)
        # It was a sitemap once, or is the probe that stands for all on a host with too long a Crawl-delay.
        if url in self.plan.former_sitemaps or self.hosts.for_url(url).delay_error:
            self._events.report_probe(document)
        site.add_candidate(document)
        self._links.add_document(document)

    def _permitted(self, host: HostQueue, document: Document) -> bool:
        limit = self._limits.max_site_bytes
        if self._bytes > limit:
            message, remedy = f"more than {limit:,} bytes decoded: not read", advice("max_site_bytes")
            self._fail(document, Failed("S16", message, transient=False, remedy=remedy))
            return False
        refusal = self.policy.refusal(host, document)
        if refusal:
            self._fail(document, refusal)
        return refusal is None

    def _arrive(self, document: Document) -> None:
        """Frees the slot of a request whose document is still being parsed; of some per host: each is in memory."""
        host = self.hosts.for_url(document.url)
        if document.state == "reading" and host.processing < self.plan.per_host:
            self._release(document)
            document.take("arrive")
            self._processing += 1
            host.processing += 1

    def _release(self, document: Document) -> None:
        """Frees what a document holds that has come to its end: the slot of its request, or the one after that."""
        host = self.hosts.for_url(document.url)
        if document.state == "unchanged":
            self._processing -= 1
        elif document.state == "arrived":
            self._processing -= 1
            host.processing -= 1
        else:
            self.in_flight -= 1
            host.pace.finished()
            self.hosts.wake(host)

    def _head(self, document: Document, head: Head, now: float, today: datetime) -> bool:
        request, step = document.request, judge(document.request, head, self._limits, today)
        before, headers = document.received, head.headers
        if step in ("read", "unchanged"):
            read_at = today if step == "read" else before.read_at
            document.received = Received(head.status, headers.get("etag"), headers.get("last-modified"), read_at)
        else:
            document.received = attrs.evolve(
                before, status=head.status, sitemap_format=head.sitemap_format, sent_login=head.sent_login
            )
        if step == "read":
            document.take("read")
            if document.is_robots and request.redirects:
                self.policy.share(document)
            if request.resume is None:  # a resumed reading keeps its scope: its items are counted
                document.authorities = self._authorities.of(document)
            return True
        self._release(document)
        document.ask(network_seconds=request.network_seconds + head.network_seconds)
        if step == "unchanged":
            document.take("304")
            self._processing += 1
            document.authorities = self._authorities.of(document)
            return True
        if isinstance(step, Follow):
            self._redirect(document, step)
        elif isinstance(step, RulesByStatus):
            self._finish(document, Finished(self.policy.set_rules_by_status(document, step)))
        else:
            if step.pause_seconds:
                host = self.hosts.for_url(document.url)
                self.hosts.pause(host, now + step.pause_seconds, head.status, step.pause_reason)
            if step.skip_host:
                self._skip_host(self.hosts.for_url(document.url), document, step.failed)
            else:
                self._failed(document, step.failed, now)
        return False

    def _failed(self, document: Document, failed: Failed, now: float) -> None:
        request = document.request
        if not failed.is_sent:
            document.ask(tries=0)
        if failed.of_proxy:
            is_first, skipped = self.hosts.skips_all is None, attrs.evolve(failed, severity="notice")
            if is_first:  # the reason is reported once, whatever it was that was requested
                self._events.report_probe(document)
            self.hosts.skip_all(skipped)
            self._fail(document, failed if is_first else skipped)
        elif document.is_robots and document.status is None and any(site.other_origins for site in document.sites):
            self.policy.request_at_next_origin(document, failed)
            for alias in document.aliases:
                alias.alias_of = None
                self.policy.queue(alias)
            for site in document.sites:
                self._catch_up(site)
        elif self.tries_again(request, failed):
            document.ask(
                not_before=now + backoff(request.tries, self._jitter()),
                network_seconds=request.network_seconds + failed.network_seconds,
                resume=failed.resume or request.resume,
                retries=request.retries + 1,
            )
            self.policy.queue(document)
            self.retries += 1
            starts_at = max(document.request.not_before, self.hosts.for_url(document.url).pace.paused_until)
            self._events.decide(Retry, request.url, request.tries, starts_at - now, failed.message)
        else:
            self._fail(document, failed)

    def _catch_up(self, site: SiteDiscovery) -> None:
        """The robots.txt at a site's next origin may have been read before, on another account."""
        robots = self.hosts.for_url(site.origin).robots_txt
        if robots and robots.outcome:
            self._links.add_lines_again(robots)
            self._continue_discovery(robots, site, robots.outcome)

    def _skip_host(self, host: HostQueue, document: Document, failed: Failed) -> None:
        """The host asks for a longer wait than the limit: it is skipped for the rest of the crawl."""
        failed = attrs.evolve(failed, message=f"{host.origin} is skipped: {failed.message}")
        host.rules = host.rules or disallow_all(failed.text)
        if not document.is_robots:
            self._events.report_probe(document)
        self.hosts.skip(host, attrs.evolve(failed, severity="notice"))  # the reason is reported once
        self._fail(document, failed)

    def _redirect(self, document: Document, step: Follow) -> None:
        self._events.note(document, "F03", f"redirected to {step.target}")
        if document.serves_discovery or not self.plan.descend:
            self._follow(document, step)
        else:
            self._redirected.append((document, step))

    def _follow(self, document: Document, step: Follow) -> None:
        """Requests the target of a redirect, unless that is a document of its own: then this one is its alias."""
        before, target = document.request, step.target
        document.ask(url=target, redirects=(*before.redirects, before.url), cookies=step.cookies, tries=0)
        if document.is_robots:
            known = self.policy.requested_at(target)
        elif document.is_start_page:
            known = None
        else:
            known = self._documents.get(target) or self._links.robots_at(target, document)
        if known is None or known is document or (document.is_robots and known.is_alias_of(document)):
            if not document.serves_discovery:
                self._documents.add_url(target, document)
            self.policy.queue(document)
            return
        if not document.is_robots:
            self._links.add_alias(document, known)
            if known.is_alias_of(document):
                document.request = before  # a loop, so it is an alias of nothing
                urls = f"{document.original_url} and {known.original_url}"
                self._fail(document, Failed("F04", f"redirect loop: {urls} redirect to each other", transient=False))
                return
        self._make_alias(document, known)

    def _make_alias(self, alias: Document, known: Document) -> None:
        alias.take("wait")
        alias.alias_of = known
        if known.outcome is None:
            known.aliases = known.aliases or []
            known.aliases.append(alias)
        elif alias.is_robots:
            self._end_aliases(alias, known.outcome)
        else:
            self._finish(alias, Finished(_alias_outcome(known.outcome)))

    def _fail(self, document: Document, failed: Failed) -> None:
        host, code, read = self.hosts.for_url(document.original_url), failed.code, failed.read
        place = listing_place(document.listed)
        if document.state == "queued":
            self._events.decide(Skip, document.url, _SKIPPED_BY.get(code, "host"), failed.message, document.listed)
        final = failed
        if document.is_robots:
            final = self.policy.failure(document, failed, closes_host=True)
        elif document.is_probe and not document.is_start_page and is_refusal(code) and not host.is_blocked:
            self._events.report_probe(document)
            final = with_remedy(failed, document.received, self.plan)
        elif document.why == "given" and document.status in REFUSED and code == code_of(document.status):
            final = with_remedy(failed, document.received, self.plan)
        listed = place if final is failed else None
        self._events.note(document, code, final.message, severity=failed.severity, remedy=final.remedy, listed=listed)
        # One message per host: further probes fail in the same way.
        host.is_blocked = host.is_blocked or (not document.is_probe and is_refusal(code))
        if document.is_robots:
            self.policy.disallow(document, failed.text)
        if read is None and document.request.resume:
            read = document.request.resume.read
        read = read or Finished(Outcome(format=Format.ROBOTS.value if document.is_robots else None))
        read.outcome.complete = False
        self._finish(document, read)

    def _finish(self, document: Document, finished: Finished) -> None:
        document.take("end")
        outcome, document.dates = finished.outcome, finished.dates
        self._bytes += outcome.bytes_decoded
        self.policy.request_for_drops(document, finished.dropped_origins)
        self._end(document, outcome)
        for alias in document.aliases:
            self._end_aliases(alias, outcome)

    def _end_aliases(self, first: Document, outcome: Outcome) -> None:
        """Ends an alias of a document with this outcome, and the aliases of that alias."""
        due = [first]
        while due:  # a list, as aliases may have aliases to any depth
            alias = due.pop()
            known = alias.alias_of
            if alias.is_robots and known is not None:
                for ref in known.sitemap_lines:
                    self._links.add(alias, ref)
                rules = self.hosts.for_url(known.original_url).stated_rules
                self.policy.set_rules(alias, rules or ALLOW_ALL, known.robots_body)
            alias.take("end")
            self._end(alias, _alias_outcome(outcome))
            due += alias.aliases

    def _end(self, document: Document, outcome: Outcome) -> None:
        self._events.set_outcome(document, outcome)
        waits = self._links.dates.ended(document, outcome)
        if not (waits or document.awaits_verdict):
            self._waiting.end(document)
        self.documents_done += not document.serves_discovery
        if document.is_robots:
            self._links.end_lines(document)
        for site in document.sites:
            self._continue_discovery(document, site, outcome)

    def _continue_discovery(self, document: Document, site: SiteDiscovery, outcome: Outcome) -> None:
        """A candidate or the robots.txt of a site has ended: requests the next probe, or ends the discovery."""
        site.awaits_robots = False
        if document.is_start_page:
            site.pending -= 1
            for ref in self._links.of_start_page(document):
                self._add_candidate(ref.loc, "link", site)
        elif document is not self.hosts.for_url(site.origin).robots_txt:
            site.candidate_ended(outcome)
            if document.why in PROBED and not (outcome.format in SITEMAP_FORMATS or "F02" in outcome.problems):
                site.probes.append(document)
        elif not outcome.complete:
            self.policy.report_first_failure(site)
        if document.why in PROBED and not (document.is_probe or outcome.complete):
            site.report_candidate(outcome)
        if not self.policy.rules_out_probes(site, document):
            # On a host with too long a Crawl-delay a well-known path stands for what is not read.
            if site.needs_probe and not (site.start_page or self.hosts.for_url(site.origin).delay_error):
                self._request_start_page(site)
                return
            while (url := site.next_probe()) is not None:
                if self._links.may_probe(SitemapRef(url)):
                    self._add_candidate(url, "well-known", site)
                    return
        if not site.pending and not site.has_ended:
            robots = self.policy.end_discovery(site)
            if robots is not None:
                self._waiting.end(robots)

    def _request_start_page(self, site: SiteDiscovery) -> None:
        page = Document(site.start_url, "well-known", is_start_page=True, sites=(site,))
        site.start_page = page
        site.pending += 1
        self.policy.queue(page, "request")


def make_parser(request: DocumentRequest, headers: Mapping[str, str], plan: Plan, **options: Any) -> SitemapParser:
    """Frontier.parser(); `options` are more keywords of SitemapParser."""
    document = request.document
    return SitemapParser(
        url=document.original_url,
        final_url=request.url,
        content_type=None if document.is_robots else headers.get("content-type"),
        content_encoding=headers.get("content-encoding"),
        scope=plan.scope,
        authorities=document.authorities,
        child_scope="any",  # the frontier decides: it knows about robots.txt files of other hosts
        limits=plan.limits,
        extras=plan.extras,
        start_page=document.is_start_page,
        _reports_robots_page=False,  # the frontier does: it knows what else was found
        **options,
    )


def _alias_outcome(outcome: Outcome) -> Outcome:
    """The outcome of an alias of another document: its entries are those of that document, and not counted twice."""
    return Outcome(format=outcome.format, complete=outcome.complete)
