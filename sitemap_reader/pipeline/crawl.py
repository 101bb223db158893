"""Drives a frontier with a fetcher on asyncio: seeds in, batches of items out.

A batch holds UrlBatches, SitemapRefs, Problems and Outcomes; those of one document keep its order. A consumer that does
not take the batches makes the network wait.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    aclosing,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from contextvars import Context, copy_context
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

import attrs

from ..frontier.documents import Arrived, DocumentRequest, Failed, Finished, Head, Listed
from ..frontier.responses import NO_ROBOTS
from ..frontier.revalidation import NOT_READ, DocumentCache
from ..frontier.robots_rules import parse_rules
from ..model.errors import FORESEEN, DocumentChanged, FetchError, UsageError, internal_problem
from ..model.limits import advice
from ..model.problems import report
from ..model.records import Outcome, SitemapRef
from ..parser.normalise.urls import without_userinfo
from .debug_log import VerdictLog, is_on, log_end, log_request, log_response, log_skip, log_wait
from .document_parser import Batch, DocumentParser, ParserItems, sitemap_format
from .executor import ParseExecutor, run_fallback
from .out_of_scope import OutOfScopeUrls
from .pacing import DocumentTimeouts, Stopwatch, loop_seconds, unnoticed

if TYPE_CHECKING:
    from ..fetch.client import Fetcher, Response
    from ..fetch.request_headers import RequestHeaders
    from ..frontier.documents import Answer, Document, Event
    from ..frontier.frontier import Frontier
    from ..frontier.host_queue import HostQueue, Wait
    from ..frontier.revalidation import CachedDocument, StoredDocuments
    from ..frontier.robots_policy import CrawlDelay
    from ..model.problems import Problem
    from ..model.url_batch import BatchItem
    from ..parser.dialects.feed_fallback import FeedFallback
    from .pacing import Pacing, Slot, Waiting

# How many batches may wait for the consumer.
WAITING_BATCHES = 4
# How many links of an index go to the frontier in one turn of the loop: each takes some tens of microseconds.
_SLICE_ITEMS = 256
# Bodies of fewer bytes are parsed as a whole, for which their request need not be open.
_SMALL_BYTES = 32 * 1024
# Between two looks at the time of the crawl.
_LOOK_SECONDS = 0.1
# Of the body of an error, which may be the sitemap: its root element is at the beginning.
_ERROR_BYTES = 16 * 1024
_ERROR_SECONDS = 5.0
_SHORT_NUMBER = re.compile("[0-9]{1,9}")


@attrs.define(eq=False, repr=False, slots=False)
class Crawl:
    """One crawl, from its seeds to its end: run() passes its batches on, or batches() yields them, once.

    After Limits.site_seconds the crawl ends: requests are cancelled, and their documents have no Outcome. By stop() it
    ends in the same way, without a Problem.
    """

    frontier: Frontier
    _fetcher: Fetcher
    _feed_fallback: FeedFallback | None = None
    _polite: bool = True  # False is for replays: delays are skipped, in their order
    _reported: Sequence[Problem | Outcome] = ()  # come first
    _headers: RequestHeaders | None = None
    _clock: Callable[[], float] = loop_seconds
    _shared_executor: ParseExecutor | None = None  # of the caller, who closes it
    _pacing: Pacing | None = None
    # takes the place of requests, or is confirmed by a 304
    _stored: StoredDocuments = attrs.field(factory=DocumentCache)
    # gets those of an index when a try ends, and returns those to read
    _select_children: Callable[[list[SitemapRef]], Iterable[SitemapRef]] | None = None
    bytes_wire: int = attrs.field(default=0, init=False)
    over_time: Problem | None = attrs.field(default=None, init=False)  # its last item, if the time was over
    _stopping: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)
    _has_ended: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)  # all its requests
    _loop: asyncio.AbstractEventLoop | None = attrs.field(default=None, init=False)  # on which they run
    _has_noted_withheld: bool = attrs.field(default=False, init=False)
    _executor: ParseExecutor = attrs.field(init=False)
    _put: Callable[[Batch], Awaitable[None]] = attrs.field(init=False)
    _context: Context = attrs.field(init=False)
    _timer: RequestTimer = attrs.field(init=False)
    _watch: Stopwatch = attrs.field(init=False)
    _most_seconds: float = attrs.field(init=False)
    _verdict_log: VerdictLog = attrs.field(init=False)
    _slot_waits: dict[Callable[[float], Wait], None] = attrs.field(factory=dict, init=False)  # of slots of the pacing
    # Those of the frontier, and when they were looked at: by the clock of the frontier, and by the monotonic one.
    _own_waits: tuple[Wait, ...] = attrs.field(default=(), init=False)
    _looked_now: float = attrs.field(default=0.0, init=False)
    _looked_at: float = attrs.field(default=0.0, init=False)
    _logged_waits: Collection[tuple[str, str, float]] = attrs.field(default=(), init=False)
    _time_remedy: str = attrs.field(default=advice("site_seconds"), init=False)
    _unselected: dict[DocumentRequest, list[SitemapRef]] = attrs.field(factory=dict, init=False)
    _out_of_scope: OutOfScopeUrls = attrs.field(init=False)
    _tasks: asyncio.TaskGroup = attrs.field(factory=asyncio.TaskGroup, init=False)

    def __attrs_post_init__(self) -> None:
        self._executor = self._shared_executor or ParseExecutor()
        self._out_of_scope = OutOfScopeUrls(self.frontier)
        self._timer = RequestTimer(self._clock, skips_delays=not self._polite)
        self._watch = Stopwatch(self._clock)
        self._most_seconds = self.frontier.plan.limits.site_seconds
        self._verdict_log = VerdictLog(self.frontier)

    def end_after(self, seconds: float, remedy: str) -> None:
        """Sets another limit in place of Limits.site_seconds, if it is lower; `remedy` says how to raise it."""
        if seconds < self._most_seconds:
            self._most_seconds, self._time_remedy = seconds, remedy

    def delay(self) -> CrawlDelay | None:
        """The Crawl-delay that slows the crawl most, or None if there is none or it is not kept."""
        return self.frontier.policy.longest_delay() if self._polite else None

    def waits(self) -> tuple[Wait, ...]:
        """What the next requests wait for, if that is no answer to a request of this crawl; for any thread."""
        passed = time.monotonic() - self._looked_at
        own = (attrs.evolve(each, seconds=max((each.seconds or 0.0) - passed, 0.0)) for each in self._own_waits)
        found = [*own, *(wait(self._looked_now + passed) for wait in [*self._slot_waits])]
        return tuple({(each.host, each.reason): each for each in found}.values())

    def batches(self) -> CrawlBatches:
        """The items of the crawl as they come, for `async for`; a caller that stops before the end has to close it."""
        return CrawlBatches(self)

    async def run(self, put: Callable[[Batch], Awaitable[None]]) -> None:
        """Runs the crawl to its end; `put` takes its batches, and may wait. Cancelling cancels requests."""
        self._put = put
        # A request may be started while another response is open: a trace must not take that for its parent.
        self._context = copy_context()
        try:
            with in_use(self._pacing):
                await self._crawl()
        finally:
            if self._shared_executor is None:
                await self._executor.close()

    async def stop(self) -> None:
        """Ends the crawl as at the end of its time, as its reader is closed; returns when its requests have ended."""
        if self._has_ended.is_set() or self._loop not in (None, asyncio.get_running_loop()):
            return
        self._stopping.set()
        if self._loop is not None:
            await self._has_ended.wait()

    @property
    def is_stopped(self) -> bool:
        return self._stopping.is_set()

    @property
    def is_cut(self) -> bool:
        return self.is_stopped or self.over_time is not None

    async def _crawl(self) -> None:
        await self._emit(self._reported)
        self._watch.start()
        self._loop = asyncio.get_running_loop()
        try:
            async with self._tasks:
                deadline = self._tasks.create_task(self._end_in_time())
                await self._start_all()
                deadline.cancel()
        except* _Cut:
            if not self.is_stopped:
                target = self.frontier.sites[0].seed.target if self.frontier.sites else None
                message = f"after {self._most_seconds:g} s of waiting: reading stops here"
                self.over_time = report("S16", message, sitemap=target, remedy=self._time_remedy)
        finally:
            self._own_waits = ()
            self._has_ended.set()
        await self._emit_reports(self.frontier.take())
        await self._emit([self.over_time] if self.over_time else ())

    async def _start_all(self) -> None:
        frontier = self.frontier
        while not frontier.done:
            self._verdict_log.look()
            self._timer.clear()
            now = self._timer.now()
            self._start_requests(now)
            await self._handle_events()
            if not frontier.done:
                seconds = frontier.wait(now)
                if seconds is None and not frontier.awaits_answers:
                    raise RuntimeError("the crawl makes no progress: please report the site")
                self._look_at_waits()
                await self._timer.wait(seconds, awaits_answers=frontier.awaits_answers)

    async def _end_in_time(self) -> None:
        """Raises _Cut, which cancels all requests, once the crawl has taken its time or stop() was called."""
        while (left := self._most_seconds - self._watch.look()) > 0 and not self.is_stopped:
            with suppress(TimeoutError):
                async with asyncio.timeout(None if math.isinf(left) else min(max(left, 0.01), _LOOK_SECONDS)):
                    await self._stopping.wait()
        raise _Cut

    def abandon(self) -> Iterator[Batch]:
        """Ends the documents that wait, when nothing more is requested; the last items."""
        yield from self._out_of_scope.with_kept(reports_of(self.frontier.abandon()), regains=False)
        self._out_of_scope.close()

    async def _handle_events(self) -> None:
        while events := self.frontier.take():
            for event in events:
                if isinstance(event, Listed):
                    known = self._stored.skipped(event, self.frontier.authorities_of(event.document))
                    if known is None:
                        self.frontier.request(event)
                    else:
                        if is_on():
                            what = "not due" if known is NOT_READ else "unchanged since it was read"
                            log_skip(event.url, "state", what, event.ref)
                        await self._end_unchanged(self.frontier.skip(event), known)
            await self._emit_reports(events)

    async def _end_unchanged(self, request: DocumentRequest, known: CachedDocument) -> None:
        """Gives what is stored of a document to the frontier, in place of its body."""
        await self._list(request, known.children)
        self._notify_frontier(request, Finished(known.outcome))

    async def _emit_reports(self, events: Iterable[Event]) -> None:
        self._verdict_log.look()
        for event in events:
            if isinstance(event, Outcome) and is_on():
                log_end(event)
        for batch in self._out_of_scope.with_kept(reports_of(events)):
            await self._emit(batch)

    async def _emit_due(
        self, request: DocumentRequest, parser: DocumentParser, batch: ParserItems, *, final: bool = False
    ) -> None:
        await self._emit(self._out_of_scope.keep(request.document, parser.due(batch, final=final), final=final))

    async def _emit(self, items: Iterable[BatchItem]) -> None:
        if batch := [*items]:
            with self._watch.paused():  # as for document_seconds, the time of the consumer does not count
                await self._put(batch)

    def _start_requests(self, now: float) -> None:
        for request in self.frontier.next_requests(now):
            self._tasks.create_task(self._request(request), context=self._context.copy())

    def _notify_frontier(self, request: DocumentRequest, answer: Answer) -> bool:
        is_wanted = self.frontier.receive(request, answer, self._timer.now(), datetime.now(UTC))
        if not is_wanted:  # else no other request may start on account of it
            self._timer.wake()
        if self._pacing is not None:
            self._pacing.learn(self.frontier.hosts.take_changed())
        return is_wanted

    @contextmanager
    def _waiting(self, until: Callable[[], float], wait: Callable[[float], Wait]) -> Iterator[None]:
        self._slot_waits[wait] = None
        self._look_at_waits()
        try:
            with self._watch.waiting(until):
                yield
        finally:
            del self._slot_waits[wait]

    def _look_at_waits(self) -> None:
        now = self._timer.now()
        self._own_waits = tuple(self.frontier.waits(now)) if self._polite else ()
        self._looked_now, self._looked_at = now, time.monotonic()
        if is_on():
            ends = {(each.host, each.reason, round(now + (each.seconds or 0.0), 1)): each for each in self.waits()}
            for end in ends.keys() - self._logged_waits:
                log_wait(ends[end])
            self._logged_waits = ends.keys()

    async def _request(self, request: DocumentRequest) -> None:
        host, watch = self.frontier.hosts.for_url(request.url), self._watch
        with watch.request():
            async with slot_for(self._pacing, host, request.document, self._waiting) as slot:
                if not self.is_stopped:
                    await self._send(request, slot)

    async def _send(self, request: DocumentRequest, slot: Slot | None) -> None:
        started = self._clock()
        parser: DocumentParser | None = None
        answer: Failed | Finished
        goes_on = True
        timeouts = DocumentTimeouts(
            request.network_seconds, self.frontier.plan.limits, self._clock, self._count_wire_bytes
        )
        known = self._stored.confirmed(request, self.frontier.authorities_of(request.document))
        headers = self._headers_for(request, {} if known is None else known.conditions)
        try:
            async with paced_response(self._fetcher, request, headers, timeouts, slot) as (response, chunks):
                head = await self._head(request, response, chunks, timeouts)
                sent_login = any(name.lower() == "authorization" for name in headers)
                head = attrs.evolve(head, is_conditional=known is not None, sent_login=sent_login)
                goes_on = self._notify_frontier(request, head)
                if not goes_on:
                    return
                if known is not None and head.status == HTTPStatus.NOT_MODIFIED:
                    goes_on = False
                    return await self._end_unchanged(request, known)
                asks_fallback = self._feed_fallback is not None
                parser = DocumentParser(request, self.frontier.plan, response.headers, asks_fallback=asks_fallback)
                body = self._collected(request, parser, chunks) if _is_small(response) else chunks
                async with aclosing(self._executor.parse(parser, body)) as batches:
                    async for batch in batches:
                        await self._pass_on(request, parser, batch)
            if parser.lists_pages and not parser.is_last:
                self._notify_frontier(request, Arrived())
            answer = await self._finished(request, parser)
        except FetchError as error:
            if not goes_on:  # the answer is known: that leaving the response failed changes nothing
                return
            answer = await self._failed(request, parser, failure_of(error, timeouts))
        except DocumentChanged as error:
            answer = Failed("F04", str(error), transient=False)
        except (*FORESEEN, CallbackError):
            raise
        except Exception as error:
            answer = await self._broken(request, parser, internal_problem(error))
        finally:
            if parser is not None:
                parser.release()
        read = answer.read if isinstance(answer, Failed) else answer
        if read:
            read.outcome.seconds = round(self._clock() - started, 3)
        await self._list_selected(request)
        self._notify_frontier(request, answer)

    async def _head(
        self, request: DocumentRequest, response: Response, chunks: AsyncIterator[bytes], timeouts: DocumentTimeouts
    ) -> Head:
        """The head of a response; of an error with what its body is, of which only the beginning is read."""
        found = None
        if 400 <= response.status <= 599 and not request.document.serves_discovery:
            start = bytearray()
            with suppress(FetchError, TimeoutError):  # what came before counts
                async with asyncio.timeout(_ERROR_SECONDS):
                    async for chunk in chunks:
                        start += chunk
                        if len(start) >= _ERROR_BYTES:
                            break
            is_cut = len(start) >= _ERROR_BYTES
            found = sitemap_format(bytes(start[:_ERROR_BYTES]), response.headers, is_cut=is_cut)
        return Head(response.status, response.headers, timeouts.seconds, found)

    def _headers_for(self, request: DocumentRequest, conditions: Mapping[str, str]) -> Mapping[str, str]:
        own = {**conditions, **request.cookies.header(request.url)}
        if self._headers is None:
            return own
        if not self._has_noted_withheld and self._headers.withholds(request.url):
            self._has_noted_withheld = True
            self.frontier.note_withheld(request)
        return self._headers.headers_for(request.url, own)

    async def _collected(
        self, request: DocumentRequest, parser: DocumentParser, chunks: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        """Yields a small body as a whole; the next request is sent before this body is parsed."""
        body = b""
        try:
            async for chunk in chunks:
                body += chunk
                if len(body) >= _SMALL_BYTES:  # longer than its Content-Length
                    yield body
                    body = b""
        except Exception:  # fetch() of a fetcher may convert it to a FetchError only when the response is left
            yield body
            raise
        self._notify_frontier(request, Arrived())
        self._start_requests(self._timer.now())
        await asyncio.sleep(0)
        parser.is_last = True
        yield body

    async def _pass_on(
        self, request: DocumentRequest, parser: DocumentParser, batch: ParserItems, *, final: bool = False
    ) -> None:
        """Gives the links of a batch to the frontier, in slices, so that other tasks have their turn; emits items."""
        refs = [item for item in batch if isinstance(item, SitemapRef)]
        if self._select_children is None or request.document.serves_discovery:
            await self._list(request, refs)
        elif refs:
            self._unselected.setdefault(request, []).extend(refs)
        await self._emit_due(request, parser, batch, final=final)

    async def _list_selected(self, request: DocumentRequest) -> None:
        refs = self._unselected.pop(request, None)
        if refs is not None and self._select_children is not None:
            selected = [*self._select_children(refs)]
            if len(selected) < len(refs):
                self.frontier.pruned["filter"] += len(refs) - len(selected)
                if is_on():
                    kept = set(map(id, selected))
                    for ref in refs:
                        if id(ref) not in kept:
                            log_skip(ref.loc, "filter", "", ref)
            await self._list(request, selected)

    async def _list(self, request: DocumentRequest, refs: Sequence[SitemapRef]) -> None:
        for start in range(0, len(refs), _SLICE_ITEMS):
            now, today = self._timer.now(), datetime.now(UTC)
            for ref in refs[start : start + _SLICE_ITEMS]:
                self.frontier.receive(request, ref, now, today)
            self._timer.wake()
            await asyncio.sleep(0)

    async def _finished(self, request: DocumentRequest, parser: DocumentParser) -> Finished:
        await self._end(request, parser)
        if parser.is_shorter:
            raise DocumentChanged("the document became shorter between two tries; the records read before are kept")
        if not request.document.is_robots:
            return parser.result
        if parser.robots_fault:  # as if it was not answered: it may forbid all (RFC 9309 2.3.1.4)
            raise FetchError(parser.robots_fault, transient=False, remedy=f"go on with {NO_ROBOTS}")
        rules = await self._executor.run(parser, parse_rules, parser.robots_text, self.frontier.plan.user_agent)
        return attrs.evolve(parser.result, rules=rules, robots_body=parser.robots_body)

    async def _end(self, request: DocumentRequest, parser: DocumentParser, *, cut: bool = False) -> None:
        batch = [] if parser.has_ended and not cut else await self._executor.run(parser, parser.end, cut=cut)
        if parser.fallback_request and self._feed_fallback is not None:
            await self._pass_on(request, parser, batch)
            self._notify_frontier(request, Arrived())
            limits = self.frontier.plan.limits
            answer = await run_fallback(self._feed_fallback, *parser.fallback_request, limits=limits)
            batch = await self._executor.run(parser, parser.finish, answer)
        await self._pass_on(request, parser, batch, final=True)

    def _count_wire_bytes(self, wire_bytes: int) -> None:
        self.bytes_wire += wire_bytes

    async def _failed(self, request: DocumentRequest, parser: DocumentParser | None, failed: Failed) -> Failed:
        """Ends a try that broke off. A retry continues where it ended; without one, what arrived is the document."""
        if parser is None or not parser.has_caught_up:
            return failed
        if self.frontier.tries_again(request, failed):
            return attrs.evolve(failed, resume=parser.resume_point if parser.has_emitted else None)
        await self._end(request, parser, cut=True)
        return attrs.evolve(failed, read=parser.result)

    async def _broken(self, request: DocumentRequest, parser: DocumentParser | None, problem: Problem) -> Failed:
        """Ends a document whose reading has raised an internal error: what was read before it is kept."""
        failed = Failed(problem.code, problem.message, transient=False)
        if parser is None:
            return failed
        await self._emit_due(request, parser, [], final=True)
        return attrs.evolve(failed, read=parser.result)


def require_asyncio() -> None:
    """UsageError outside an event loop of asyncio, as on trio."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        message = "SitemapReader needs asyncio, of which no event loop runs here"
        remedy = "read with sr.urls() or sr.Reader, on trio in a thread (trio.to_thread.run_sync)"
        raise UsageError(message, remedy=remedy) from None


class CrawlBatches(AsyncIterator[Batch]):
    """The batches of a crawl for one `async for`, of which at most 4 wait for it; aclose() cancels all requests.

    No generator: at the end of a loop asyncio closes all async generators at once, and one inside another twice.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._queue: asyncio.Queue[Batch | None] = asyncio.Queue(WAITING_BATCHES)
        self._task: asyncio.Task[None] | None = None

    async def __anext__(self) -> Batch:
        if self._task is None:
            require_asyncio()
            self._task = asyncio.create_task(self._run())
        if self._task.done() and self._queue.empty():
            raise StopAsyncIteration
        batch = await self._queue.get()
        if batch is not None:
            return batch
        try:
            await self._task
        except (BaseExceptionGroup, CallbackError) as error:
            failure = first_failure(error)
        else:
            raise StopAsyncIteration
        raise failure  # outside of the except block: it keeps its own cause and context

    async def _run(self) -> None:
        """Runs the crawl, then puts None as the end of the batches, unless it is cancelled."""
        try:
            await self._crawl.run(self._queue.put)
        except asyncio.CancelledError:
            raise
        except BaseException:
            await self._queue.put(None)
            raise
        await self._queue.put(None)

    async def aclose(self) -> None:
        """Cancels the pending requests. May be called twice."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


class _Cut(Exception):
    """The time for the site is over, or the reader was closed."""


class CallbackError(Exception):
    """Carries the exception of a callback out of the crawl; first_failure() unwraps it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def first_failure(failure: BaseException) -> BaseException:
    """The first exception, without the groups and CallbackErrors around it."""
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure.error if isinstance(failure, CallbackError) else failure


def _is_small(response: Response) -> bool:
    length = response.headers.get("content-length", "")
    return _SHORT_NUMBER.fullmatch(length) is not None and int(length) < _SMALL_BYTES


@attrs.define(eq=False, repr=False)
class RequestTimer:
    """The time by which requests start, and the wait for the next one.

    wait() ends early when wake() is called after the last clear(). With `skips_delays`, for replays, it adds a delay to
    now() in place of waiting.
    """

    _clock: Callable[[], float]
    _skips_delays: bool = attrs.field(kw_only=True)
    _skipped_seconds: float = attrs.field(default=0.0, init=False)
    _wake: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)

    def now(self) -> float:
        """The clock's time in seconds, plus the delays that were skipped."""
        return self._clock() + self._skipped_seconds

    def clear(self) -> None:
        self._wake.clear()

    def wake(self) -> None:
        self._wake.set()

    async def wait(self, seconds: float | None, *, awaits_answers: bool) -> None:
        """Waits so many seconds, or until wake() if that is None; an awaited answer has no delay to be skipped."""
        if seconds and self._skips_delays and not awaits_answers:
            self._skipped_seconds += seconds
            return
        with suppress(TimeoutError):  # the next request is due
            async with asyncio.timeout(seconds):
                await self._wake.wait()


def reports_of(events: Iterable[Event]) -> Iterator[Problem | Outcome]:
    return (event for event in events if not isinstance(event, Listed))


def failure_of(error: FetchError, timeouts: DocumentTimeouts) -> Failed:
    return Failed(
        error.code,
        error.message,
        error.transient,
        remedy=error.remedy,
        network_seconds=timeouts.seconds,
        of_proxy=error.of_proxy,
        is_sent=error.is_sent,
    )


def in_use(pacing: Pacing | None) -> AbstractContextManager[None]:
    """A context around a crawl: UsageError while its reader is used on another event loop."""
    return nullcontext() if pacing is None else pacing.in_use()


def slot_for(
    pacing: Pacing | None, host: HostQueue, document: Document, waiting: Waiting = unnoticed
) -> AbstractAsyncContextManager[Slot | None]:
    """Waits for the slot of a request; None where there is no network to protect."""
    return nullcontext() if pacing is None else pacing.slot(host, is_robots=document.is_robots, waiting=waiting)


@asynccontextmanager
async def paced_response(
    fetcher: Fetcher,
    request: DocumentRequest,
    headers: Mapping[str, str],
    timeouts: DocumentTimeouts,
    slot: Slot | None,
) -> AsyncIterator[tuple[Response, AsyncIterator[bytes]]]:
    """Opens a response, and yields it with its chunks: they are timed, hold the slot, and are closed with the block."""
    if slot is not None and slot.refusal is not None:
        yield slot.refusal, slot.refusal.chunks
        return
    status, cause, is_logged = None, "", is_on()
    if is_logged:
        log_request(request, headers)
    try:
        async with AsyncExitStack() as opened:
            opening = opened.enter_async_context(fetcher.fetch(without_userinfo(request.url), headers))
            response = await timeouts.head(opening)
            status = response.status
            chunks = timeouts.chunks(response.chunks)
            paced = chunks if slot is None else slot.chunks(chunks)
            opened.push_async_callback(paced.aclose)
            yield response, paced
    except BaseException as error:
        cause = str(error) or type(error).__name__
        raise
    finally:
        if is_logged:
            log_response(request, status, timeouts, cause)
        if slot is not None:
            slot.end()
