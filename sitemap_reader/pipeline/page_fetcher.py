"""Fetches pages politely on asyncio: URLs in, a PageResponse for each out, as they end.

Pages are documents of a frontier that are not parsed: its robots.txt, queues, delays, redirects and retries hold. One
GET is sent for each URL, not counting retries: a HEAD before it would double the requests for HTML pages, and some
servers answer HEAD differently. Only HTML with a 2xx status is read, up to `max_body_bytes`; of other bodies no more
than keeps the connection. A redirect is reported, and followed within the site for its last status; each URL on the way
is requested once, however many pages lead there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING

import attrs

from ..fetch.request_headers import domain_of
from ..frontier.documents import Failed, Finished, Head, Listed
from ..frontier.frontier import Frontier
from ..frontier.responses import REDIRECTS, Follow, is_html, is_success, judge
from ..frontier.robots_rules import parse_rules
from ..model.errors import FetchError
from ..model.limits import KIB, Limits
from ..model.records import Outcome
from ..parser.content.codings import Decompressor
from ..parser.content.sniff import Format
from ..parser.normalise.urls import clean_url, origin, without_userinfo
from .crawl import RequestTimer, failure_of, in_use, paced_response, slot_for
from .debug_log import VerdictLog
from .pacing import DocumentTimeouts, loop_seconds

if TYPE_CHECKING:
    from ..fetch.client import Fetcher, Response
    from ..fetch.request_headers import RequestHeaders
    from ..frontier.documents import Answer, DocumentRequest
    from ..frontier.plan import Plan
    from ..frontier.robots_rules import Rules
    from ..parser.content.codings import DecodeFault
    from .pacing import Pacing, Slot

MAX_BODY_BYTES = 256 * KIB
MAX_HOPS = 10  # as many as Google follows
# The rest of a short body is read, so that its connection can be used again.
_DRAINED_BYTES = 64 * KIB
_WAITING_PAGES = 5_000  # in the frontier


@attrs.frozen
class PageResponse:
    """The answer to the request for a page."""

    url: str
    status: int | None = None  # None: no answer; see `failure`
    headers: Mapping[str, str] = attrs.field(factory=dict)  # names are lower-case
    body: bytes = attrs.field(default=b"", repr=False)  # decompressed; empty unless it is HTML with a 2xx status
    is_whole: bool = False  # it is not cut
    is_empty: bool = False  # it has ended without a byte
    undecodable: str | None = None  # its Content-Encoding, if none of it could be decoded
    body_bytes: int = 0  # received
    seconds: float = 0.0
    failure: Failed | None = None  # F02 robots.txt, F14 an unreadable one, F13 private, F15 Crawl-delay, F18 busy, F04
    target: str | None = None  # where it redirects, also where that is a loop
    final_url: str | None = None  # behind all redirects within the site, of which MAX_HOPS are followed
    final_status: int | None = None  # None: it was not requested


@attrs.define(eq=False, repr=False, slots=False)
class PageFetcher:
    """Fetches pages with run(), once."""

    _fetcher: Fetcher
    _plan: Plan
    _rules_of: Callable[[str], Rules | None] = lambda url: None  # of a URL's host, if its robots.txt was read before
    _headers: RequestHeaders | None = None
    _polite: bool = True  # False is for replays: delays are skipped
    _pacing: Pacing | None = None
    max_body_bytes: int = MAX_BODY_BYTES
    _clock: Callable[[], float] = loop_seconds
    _frontier: Frontier = attrs.field(init=False)
    _pages: frozenset[str] = attrs.field(default=frozenset(), init=False)
    _answers: dict[str, PageResponse] = attrs.field(factory=dict, init=False)  # by the URL that was requested
    # By the URL of a document: why it has no answer, and the pages that wait for its end.
    _failures: dict[str, Failed] = attrs.field(factory=dict, init=False)
    _waiting: dict[str, list[str]] = attrs.field(factory=dict, init=False)
    _timer: RequestTimer = attrs.field(init=False)
    _verdict_log: VerdictLog = attrs.field(init=False)
    _tasks: asyncio.TaskGroup = attrs.field(factory=asyncio.TaskGroup, init=False)
    _put: Callable[[PageResponse], Awaitable[None]] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        limits = attrs.evolve(self._plan.limits, max_redirects=MAX_HOPS)
        self._frontier = Frontier((), attrs.evolve(self._plan, descend=False, limits=limits))
        self._timer = RequestTimer(self._clock, skips_delays=not self._polite)
        self._verdict_log = VerdictLog(self._frontier)

    async def run(self, urls: Sequence[str], put: Callable[[PageResponse], Awaitable[None]]) -> None:
        """Fetches the URLs, in their order on each host; `put` takes the responses. Cancelling cancels requests."""
        self._put = put
        self._pages = frozenset(urls)
        rest, frontier = iter(dict.fromkeys(urls)), self._frontier
        with in_use(self._pacing):
            async with self._tasks:
                while True:
                    self._timer.clear()
                    now = self._timer.now()
                    added = [*islice(rest, max(_WAITING_PAGES - len(self._waiting), 0))]
                    for url in added:
                        await self._add(url, now)
                    await self._handle_events()
                    for request in frontier.next_requests(now):
                        self._tasks.create_task(self._request(request))
                    await self._handle_events()
                    if not frontier.done:
                        await self._timer.wait(frontier.wait(now), awaits_answers=frontier.awaits_answers)
                    elif not added:
                        break

    async def _add(self, url: str, now: float) -> None:
        rules = self._rules_of(f"{origin(url)}/") if self._plan.obey_robots is not False else None
        if rules is not None:
            host = self._frontier.hosts.for_url(url)
            self._frontier.policy.set_known_rules(host, rules, now)  # its sitemaps were read just before
        document = self._frontier.add(url)
        if document.state == "reported":  # redirects have led there
            await self._end(url, document.outcome)
        else:
            self._waiting.setdefault(document.original_url, []).append(url)

    async def _handle_events(self) -> None:
        if self._pacing is not None:
            self._pacing.learn(self._frontier.hosts.take_changed())
        self._verdict_log.look()
        while events := self._frontier.take():  # answers come while `put` waits
            for event in events:
                if isinstance(event, Listed):
                    self._frontier.request(event)
                elif isinstance(event, Outcome) and event.format != Format.ROBOTS:
                    for url in self._waiting.pop(event.url or "", ()):
                        await self._end(url, event)

    async def _request(self, request: DocumentRequest) -> None:
        host = self._frontier.hosts.for_url(request.url)
        async with slot_for(self._pacing, host, request.document) as slot:
            await self._send(request, slot)

    async def _send(self, request: DocumentRequest, slot: Slot | None) -> None:
        limits, url, is_robots = self._plan.limits, without_userinfo(request.url), request.document.is_robots
        started = self._clock()
        timeouts = DocumentTimeouts(request.network_seconds, limits, self._clock, lambda wire_bytes: None)
        head: Head | None = None
        body = _Body(limits.max_robots_bytes if is_robots else self.max_body_bytes)
        failure: Failed | None = None
        headers: Mapping[str, str] = request.cookies.header(request.url)
        if self._headers is not None:
            headers = self._headers.headers_for(url, headers)
        try:
            async with paced_response(self._fetcher, request, headers, timeouts, slot) as (response, chunks):
                head = Head(response.status, response.headers, timeouts.seconds)
                is_page = url in self._pages and is_success(response.status) and is_html(response.headers)
                await body.read(response, chunks, is_wanted=is_robots or is_page)
        except FetchError as error:
            failure = failure_of(error, timeouts)
        if head is None or (failure is not None and (is_robots or self._frontier.tries_again(request, failure))):
            assert failure is not None  # noqa: S101 - for the type checker
            if head is None or not is_robots:
                self._failures[request.document.original_url] = failure
            self._answer(request, failure)
            return
        if is_robots:
            self._failures.pop(request.document.original_url, None)
        step = judge(request, head, self._frontier.plan.limits, datetime.now(UTC))
        target = step.target if isinstance(step, Follow) else None
        location = head.headers.get("location") if head.status in REDIRECTS else None
        if not is_robots:
            self._answers[request.url] = PageResponse(
                request.url,
                head.status,
                head.headers,
                body.content,
                body.is_whole,
                body.is_ended and body.received == 0,
                body.undecodable,
                body.received,
                self._clock() - started,
                target=clean_url(location, request.url).url if location else None,
            )
        if target is not None and not is_robots and domain_of(target) != domain_of(request.url):
            self._answer(request, Failed("F03", "redirected to another site", transient=False))
        elif self._answer(request, head):
            rules, outcome = None, Outcome()
            if is_robots:
                rules = parse_rules(body.content.decode("utf-8", "replace"), self._plan.user_agent)
                outcome = Outcome(format=Format.ROBOTS.value)
            self._answer(request, Finished(outcome, rules))

    def _answer(self, request: DocumentRequest, answer: Answer) -> bool:
        self._timer.wake()
        return self._frontier.receive(request, answer, self._timer.now(), datetime.now(UTC))

    async def _end(self, url: str, outcome: Outcome | None) -> None:
        answer = self._answers.get(url)
        host = self._frontier.hosts.for_url(url)
        if answer is None or answer.status == HTTPStatus.TOO_MANY_REQUESTS or host.skip_failure:
            await self._put(PageResponse(url, failure=self._failure(outcome), final_url=url))
            return
        final, status = self._last(answer)
        self._answers[url] = attrs.evolve(answer, headers={}, body=b"")  # pages that redirect there need no more
        await self._put(attrs.evolve(answer, final_url=final, final_status=status))

    def _last(self, answer: PageResponse) -> tuple[str, int | None]:
        """The URL at which the redirects of a page end, and its status; None where that was not requested."""
        way = [answer.url]
        while answer.target is not None and answer.target not in way and len(way) <= MAX_HOPS:
            way.append(answer.target)
            found = self._answers.get(answer.target)
            if found is None:
                return answer.target, None
            answer = found
        return answer.url, answer.status

    def _failure(self, outcome: Outcome | None) -> Failed:
        outcome = outcome or Outcome()
        problem = next((each for each in outcome.samples if each.severity != "warning"), None)
        failed = self._failures.get(outcome.url or "")
        if problem is not None and failed is None:
            failed = Failed(problem.code, problem.message, transient=False, remedy="")
        failed = failed or Failed("F04", "no answer", transient=False)
        skipped = self._frontier.hosts.for_url(outcome.final_url).skip_failure if outcome.final_url else None
        if self._frontier.hosts.skips_all is not None:
            return attrs.evolve(failed, code="F04")  # no page of any host can be seen
        if skipped is not None:
            return attrs.evolve(failed, code="F01")  # the host answers, but the page was not seen
        is_unknown = failed.code == "F02" and problem is not None and problem.severity == "notice"
        if not is_unknown:
            return failed
        # A robots.txt that could not be read forbids for now, and states nothing about the page; if the host did not
        # respond to that request, it does not to the one for the page.
        robots = self._frontier.hosts.for_url(outcome.final_url or outcome.url or "").robots_txt
        silent = None if robots is None else self._failures.get(robots.original_url)
        return silent or attrs.evolve(failed, code="F14")


@attrs.define
class _Body:
    """The beginning of a body, decompressed; the other fields as in PageResponse, with `received` as `body_bytes`."""

    max_bytes: int
    content: bytes = b""
    is_whole: bool = False
    is_ended: bool = False
    undecodable: str | None = None
    received: int = 0

    async def read(self, response: Response, chunks: AsyncIterator[bytes], *, is_wanted: bool) -> None:
        """Reads a body that is wanted up to max_bytes, and the rest, or one that is not, if it is short."""
        coding = response.headers.get("content-encoding", "").strip().lower()
        faults: list[DecodeFault] = []
        decompressor = Decompressor(Limits(max_decoded_bytes=max(self.max_bytes, 1)), coding, faults)
        self.undecodable = decompressor.unread_encoding if is_wanted else None
        is_wanted = is_wanted and self.undecodable is None and self.max_bytes > 0
        drained = 0
        async for chunk in chunks:
            self.received += len(chunk)
            if is_wanted and not decompressor.stopped:
                self.content += b"".join(decompressor.feed(chunk))
            else:
                drained += len(chunk)
            # Compressed data may yield nothing, however much of it there is.
            if drained > _DRAINED_BYTES or self.received > self.max_bytes + _DRAINED_BYTES:
                break
        else:
            self.is_ended = True
            self.is_whole = is_wanted and drained == 0
        if is_wanted:  # what comes before a fault counts
            self.content += b"".join(decompressor.close())
            self.is_whole = self.is_whole and not faults and len(self.content) < self.max_bytes
            is_encoded = coding not in ("", "identity") and self.received > 0
            if is_encoded and not (decompressor.has_opened and (self.content or not faults)):
                self.content, self.is_whole, self.undecodable = b"", False, coding
