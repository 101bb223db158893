"""Fetches pages politely on asyncio: URLs in, a PageResponse for each out, as they end.

Sends one GET for each URL, not counting retries: a HEAD before it would double the requests for HTML pages, and some
servers answer HEAD differently. Only HTML with a 2xx status is read, up to `max_body_bytes`; of other bodies no more
than keeps the connection. A redirect is reported, and followed within the site for its last status; each URL on the way
is requested once, however many pages lead there.

The queues, delays, retries and rules are those of frontier/. The Frontier itself does not serve here: to it, each URL
is a sitemap, which it reports on and keeps in memory to the end.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, Any

import attrs

from ..fetch.request_headers import domain_of
from ..frontier.document_request import Document, Failed, Head
from ..frontier.host_queue import HostQueues, backoff
from ..frontier.responses import Follow, Refuse, RulesByStatus, is_html, is_success, judge
from ..frontier.robots_rules import ALLOW_ALL, disallow_all, parse_rules
from ..model.errors import FetchError
from ..model.limits import KIB, Limits, advice
from ..parser.content.codings import Decompressor
from ..parser.normalise.urls import without_userinfo
from .crawl import RequestTimer, failure_of, in_use, paced_response, slot_for
from .timeouts import DocumentTimeouts, loop_seconds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from ..fetch.client import Fetcher, Response
    from ..fetch.request_headers import RequestHeaders
    from ..frontier.host_queue import HostQueue
    from ..frontier.plan import Plan
    from ..frontier.robots_rules import Rules
    from ..parser.content.gzip import DecodeFault
    from .pacing import Pacing, Slot

MAX_BODY_BYTES = 256 * KIB
MAX_HOPS = 5
# The rest of a short body is read, so that its connection can be used again.
_DRAINED_BYTES = 64 * KIB
_WAITING_URLS = 5_000  # in the queues of hosts
_EFFORT_PER_TURN = 20_000_000  # as Rules.effort() counts


@attrs.frozen
class PageResponse:
    """The answer to the request for a page.

    `status` is None without an answer; then `failure` states why: F02 is robots.txt, F14 one that could not be read,
    F13 a private address, F15 a Crawl-delay over the limit, F18 a host that limits requests, F04 anything else.
    `headers` have lower-case names. `body` is decompressed, and empty unless it is HTML with a 2xx status; `is_whole`:
    it is not cut; `undecodable`: its Content-Encoding, if none of it could be decoded. `body_bytes` counts what was
    received. `target` is where it redirects, None if it does not; `final_url` and `final_status` are those at the end
    of all redirects within the site, of which MAX_HOPS are followed; the status is None where that end was not
    requested.
    """

    url: str
    status: int | None = None
    headers: Mapping[str, str] = attrs.field(factory=dict)
    body: bytes = attrs.field(default=b"", repr=False)
    is_whole: bool = False
    undecodable: str | None = None
    body_bytes: int = 0
    seconds: float = 0.0
    failure: Failed | None = None
    target: str | None = None
    final_url: str | None = None
    final_status: int | None = None


@attrs.define
class _Node:
    """A URL that was queued; `is_done` once its answer, or the lack of one, is final."""

    is_page: bool  # its response is to be returned
    is_done: bool = False
    status: int | None = None
    target: str | None = None


@attrs.define
class _Redirected:
    """A page whose redirects are being followed: at `url`, after `hops`."""

    response: PageResponse
    url: str
    hops: tuple[str, ...] = ()


@attrs.define(eq=False, repr=False, slots=False)
class PageFetcher:
    """Fetches pages with run(), once. `rules_of` returns the rules of a URL's host if its robots.txt was read before.

    `headers` decides which of the caller's headers a request gets. `polite=False` is for replays: delays are skipped.
    `pacing` has the slots of the reader.
    """

    _fetcher: Fetcher
    _plan: Plan
    _rules_of: Callable[[str], Rules | None] = lambda url: None
    _headers: RequestHeaders | None = None
    _polite: bool = True
    _pacing: Pacing | None = None
    max_body_bytes: int = MAX_BODY_BYTES
    _clock: Callable[[], float] = loop_seconds
    _hosts: HostQueues = attrs.field(init=False)
    _nodes: dict[str, _Node] = attrs.field(factory=dict, init=False)
    _waiting: dict[str, list[_Redirected]] = attrs.field(factory=dict, init=False)
    _queued: int = attrs.field(default=0, init=False)
    _in_flight: int = attrs.field(default=0, init=False)
    _timer: RequestTimer = attrs.field(init=False)
    _tasks: asyncio.TaskGroup = attrs.field(factory=asyncio.TaskGroup, init=False)
    _pages: frozenset[str] = attrs.field(default=frozenset(), init=False)
    _put: Callable[[PageResponse], Awaitable[None]] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._hosts = HostQueues(self._plan.per_host, self._plan.delay_seconds)
        self._timer = RequestTimer(self._clock, skips_delays=not self._polite)

    async def run(self, urls: Sequence[str], put: Callable[[PageResponse], Awaitable[None]]) -> None:
        """Fetches the URLs, in their order on each host; `put` takes the responses. Cancelling cancels requests."""
        self._put = put
        self._pages = frozenset(urls)
        rest = iter(urls)
        with in_use(self._pacing):
            async with self._tasks:
                while True:
                    self._timer.clear()
                    now = self._timer.now()
                    for url in islice(rest, max(_WAITING_URLS - self._queued, 0)):
                        self._queue(url, now)
                    await self._start(now)
                    if self._in_flight == 0 and self._hosts.is_idle and not self._queued:
                        break
                    is_full = self._in_flight >= self._plan.concurrency
                    seconds = None if is_full else self._hosts.wait(now, robots_only=False)
                    await self._timer.wait(seconds, awaits_answers=bool(self._in_flight))

    # --- queues ---

    def _queue(self, url: str, now: float) -> None:
        """Queues a URL once; its host's robots.txt before it, unless its rules are known."""
        if url in self._nodes:
            return
        self._nodes[url] = _Node(url in self._pages)
        self._queued += 1
        place = self._hosts.for_url(url)
        if place.rules is None and place.robots_txt is None and not place.skip_failure:
            self._find_rules(place, now)
        self._hosts.add(Document(url, "given"))

    def _find_rules(self, place: HostQueue, now: float) -> None:
        known = self._rules_of(f"{place.origin}/") if self._plan.obey_robots else ALLOW_ALL
        if known is None:
            place.robots_txt = Document(f"{place.origin}/robots.txt", "well-known", is_robots=True)
            self._hosts.add(place.robots_txt)
            return
        place.pace.last_start = now  # its sitemaps were read just before
        self._set_rules(place, known)

    def _set_rules(self, place: HostQueue, rules: Rules) -> None:
        place.rules = rules
        delay, limit = rules.delay_seconds, self._plan.limits.max_crawl_delay_seconds
        if delay and delay > limit and not self._plan.is_recording:
            message = f"Crawl-delay of {delay:,g} s is over {limit:,g} s"
            self._hosts.skip(place, Failed("F15", message, remedy=advice("max_crawl_delay_seconds", "wait for it")))
        elif delay:
            self._hosts.slow_down(place, delay)
        self._hosts.wake(place)

    async def _start(self, now: float) -> None:
        """Starts the requests that may start now; ends those that may not be made at all."""
        if self._pacing is not None:
            self._pacing.learn(self._hosts.take_changed())
        effort = 0
        ready = self._hosts.pop_ready(now, robots_only=False)
        while self._in_flight < self._plan.concurrency and effort < _EFFORT_PER_TURN and (found := next(ready, None)):
            place, document = found
            rules = place.rules
            if not document.is_robots and rules is not None:
                effort += rules.effort(document.url)
                reason = rules.refusal(document.url)
                if reason is not None:
                    message = f"forbidden by {place.origin}/robots.txt" + (f" ({reason})" if reason else "")
                    # A robots.txt that could not be read forbids for now, and states nothing about the page.
                    await self._end(document, failure=Failed("F14" if reason else "F02", message, transient=False))
                    continue
            place.pace.started(now)
            self._in_flight += 1
            document.ask(tries=document.request.tries + 1)
            self._tasks.create_task(self._request(place, document))
        if effort >= _EFFORT_PER_TURN:
            self._timer.wake()
            await asyncio.sleep(0)
        for document, failed in self._hosts.pop_skipped(robots_only=False):
            if document.is_robots:
                self._end_robots(document, None, _Body(0), failed)
            else:
                await self._end(document, failure=failed)

    # --- requests ---

    async def _request(self, place: HostQueue, document: Document) -> None:
        async with slot_for(self._pacing, place, document) as slot:
            await self._send(place, document, slot)

    async def _send(self, place: HostQueue, document: Document, slot: Slot | None) -> None:
        limits, url = self._plan.limits, without_userinfo(document.url)
        started = self._clock()
        timeouts = DocumentTimeouts(document.request.network_seconds, limits, self._clock, lambda wire_bytes: None)
        head: Head | None = None
        body = _Body(limits.max_robots_bytes if document.is_robots else self.max_body_bytes)
        failure: Failed | None = None
        headers = document.request.cookies.header(document.url)
        if self._headers is not None:
            headers = self._headers.headers_for(url, headers)
        fetch = partial(self._fetcher.fetch, url, headers)
        try:
            async with paced_response(fetch, timeouts, slot) as (response, chunks):
                head = Head(response.status, response.headers, timeouts.seconds)
                is_page = is_success(response.status) and is_html(response.headers)
                is_wanted = document.is_robots or (self._nodes[document.url].is_page and is_page)
                await body.read(response, chunks, is_wanted=is_wanted)
        except FetchError as error:
            failure = failure_of(error, timeouts)
        finally:
            self._in_flight -= 1
            place.pace.finished()
            self._hosts.wake(place)
            self._timer.wake()
        document.ask(network_seconds=document.request.network_seconds + timeouts.seconds)
        await self._decide(place, document, head, body, failure, self._clock() - started)

    async def _decide(
        self, place: HostQueue, document: Document, head: Head | None, body: _Body, failure: Failed | None, spent: float
    ) -> None:
        now, limits = self._timer.now(), self._plan.limits
        step = None if head is None else judge(document.request, head, limits, datetime.now(UTC))
        if head is not None and isinstance(step, Refuse):
            failure = step.failed
            if step.skip_host:
                failure = attrs.evolve(failure, code="F01")  # it answers, but the page was not seen
                self._hosts.skip(place, failure)
            self._hosts.pause(place, now + step.pause_seconds, head.status)
        if failure is not None and failure.of_proxy:
            failure = attrs.evolve(failure, code="F04")  # no page of any host can be seen
            self._hosts.skip_all(failure)
        can_retry = failure is not None and failure.transient and document.request.tries < limits.tries
        if can_retry and not place.skip_failure:
            document.ask(not_before=now + backoff(document.request.tries, 0.5))
            self._hosts.add(document)
        elif document.is_robots:
            self._end_robots(document, step, body, failure)
        elif head is None or head.status == HTTPStatus.TOO_MANY_REQUESTS or place.skip_failure:
            await self._end(document, failure=failure, seconds=spent)
        else:
            target = step.target if isinstance(step, Follow) else None
            await self._end(document, head=head, body=body, target=target, seconds=spent)

    def _end_robots(self, document: Document, step: Any, body: _Body, failure: Failed | None) -> None:
        if isinstance(step, Follow):
            redirects = (*document.request.redirects, document.url)
            document.ask(url=step.target, redirects=redirects, cookies=step.cookies, tries=0)
            self._hosts.add(document)
            return
        if isinstance(step, RulesByStatus):
            rules = step.rules
        elif failure is not None:
            rules = disallow_all(f"robots.txt: {failure.message}")  # RFC 9309 2.3.1.4
        else:
            rules = parse_rules(body.content.decode("utf-8", "replace"), self._plan.user_agent)
        self._set_rules(self._hosts.for_url(document.original_url), rules)

    # --- ends ---

    async def _end(
        self,
        document: Document,
        *,
        head: Head | None = None,
        body: _Body | None = None,
        target: str | None = None,
        failure: Failed | None = None,
        seconds: float = 0.0,
    ) -> None:
        url = document.original_url
        node = self._nodes[url]
        node.is_done, node.target = True, target
        self._queued -= 1
        ended = self._waiting.pop(url, [])
        if head is not None:
            node.status = head.status
        if node.is_page:
            response = PageResponse(url, node.status, seconds=seconds, failure=failure, target=target)
            if head is not None and body is not None:
                response = attrs.evolve(
                    response,
                    headers=head.headers,
                    body=body.content,
                    is_whole=body.is_whole,
                    undecodable=body.undecodable,
                    body_bytes=body.received,
                )
            ended.append(_Redirected(response, url))
        for page in ended:
            await self._follow(page)
        self._timer.wake()

    async def _follow(self, page: _Redirected) -> None:
        """Returns a page whose redirects have ended; else it waits for the next of them."""
        while True:
            node = self._nodes.get(page.url)
            if node is None:
                self._queue(page.url, self._timer.now())
            if node is None or not node.is_done:
                self._waiting.setdefault(page.url, []).append(page)
                self._timer.wake()
                return
            target = node.target
            is_end = target is None or target in page.hops or len(page.hops) >= MAX_HOPS
            if target is None or is_end:
                await self._put(attrs.evolve(page.response, final_url=page.url, final_status=node.status))
                return
            if domain_of(target) != domain_of(page.response.url):
                await self._put(attrs.evolve(page.response, final_url=target))
                return
            page.hops = (*page.hops, page.url)
            page.url = target


@attrs.define
class _Body:
    """The beginning of a body, decompressed; the other fields as in PageResponse, with `received` as `body_bytes`."""

    max_bytes: int
    content: bytes = b""
    is_whole: bool = False
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
            self.is_whole = is_wanted and drained == 0
        if is_wanted:  # what comes before a fault counts
            self.content += b"".join(decompressor.close())
            self.is_whole = self.is_whole and not faults and len(self.content) < self.max_bytes
            is_encoded = coding not in ("", "identity") and self.received > 0
            if is_encoded and not (decompressor.has_opened and (self.content or not faults)):
                self.content, self.is_whole, self.undecodable = b"", False, coding
