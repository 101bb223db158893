"""Visit: one look at a site: requests the documents that are due, stores and logs what changed.

It is a sync in which documents that are not due are skipped, so that discovery, scope, robots.txt, redirects,
politeness and moves between sitemaps are those of a sync. Each document is stored and logged in one transaction.
VisitFetcher is its network: it answers robots.txt from earlier visits, counts requests and notes headers.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import ExitStack, aclosing, asynccontextmanager
from datetime import datetime
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar

import attrs

from ..fetch.client import Response
from ..fetch.replay import AsyncChunks
from ..frontier.host_queue import retry_after
from ..frontier.lastmod_trust import TRUSTED_SCORE
from ..frontier.responses import BUSY, NO_DOCUMENT, REFUSED, hides_sitemap_lines
from ..frontier.revalidation import NOT_READ
from ..model.errors import FetchError, StateError, internal_error
from ..model.problems import Problem
from ..model.records import ChangeCounts
from ..model.url_batch import UrlBatch
from ..parser.normalise.dates import TIMED
from ..parser.normalise.urls import clean_url, is_robots_txt, origin
from ..pipeline.crawl import first_failure
from ..serialize.jsonl import changes_of
from ..state.state import StoredResponse

if TYPE_CHECKING:
    from ..client.crawler import Crawler, OpenSync
    from ..client.streams import ChangeRun
    from ..client.targets import Target
    from ..fetch.client import Fetcher
    from ..frontier.documents import DocumentRequest, Listed
    from ..frontier.revalidation import CachedDocument, DocumentCache
    from ..model.records import Item, SitemapRef
    from ..pipeline.document_parser import Batch
    from ..pipeline.executor import ParseExecutor, ThreadPool
    from ..state.diff_rules import ChangePiece
    from ..state.documents import StoredDocument
    from ..state.state import ChangeLog, State, WatchData

# URL, its listing if there is one, whether it is stored with the same scope -> whether to request it now
DueTest: TypeAlias = "Callable[[str, SitemapRef | None, bool], bool]"
Params = ParamSpec("Params")
Result = TypeVar("Result")

# Times of changes that are noted of one document: as many as Google's news sitemaps may list.
_MAX_MOMENTS = 1_000
# Faults that are kept of one visit.
_MAX_FAULTS = 5
_KEPT_HEADERS = ("content-type", "content-encoding", "location")
_MAX_AGE = re.compile(r"(?:^|[\s,])(?:s-maxage|max-age)\s*=\s*\"?(\d{1,9})", re.IGNORECASE)


@attrs.define
class Finding:
    """What a visit found of one document."""

    document: StoredDocument
    was_requested: bool = False  # False: skipped, as its index states that it has not changed
    changes: int = 0
    moments: list[float] = attrs.field(factory=list)  # when it changed, if stated
    is_news: bool = False  # a changed URL of it has news


class StateFailed(Exception):
    """A StateError of the watch's own state, `error`; one of the caller's code is raised as it is."""

    def __init__(self, error: StateError) -> None:
        super().__init__(error)
        self.error = error


@attrs.frozen
class Stores:
    """The state of a watch, and all that writes to it; only `thread` may use them, one call after the other.

    Visits use run(): one of their calls waits for the thread at a time, so that a sink does not wait for all of them.
    """

    state: State
    log: ChangeLog
    data: WatchData
    thread: ThreadPool
    executor: ParseExecutor  # parses the documents of all visits
    _turn: asyncio.Lock = attrs.field(factory=asyncio.Lock, init=False)

    async def run(self, function: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs) -> Result:
        """Returns the result of a call in the thread. StateFailed where the state cannot be read or written."""
        async with self._turn:
            try:
                return await self.thread.run(function, *args, **kwargs)
            except StateError as exc:
                raise StateFailed(exc) from exc


@attrs.define(eq=False, slots=False)
class Visit:
    """One visit of a site; run() makes it, and its fields have the result, also of one that was cancelled."""

    _crawler: Crawler
    _target: Target
    _name: str  # of the site in the state
    _stores: Stores
    _clock: Callable[[], datetime]
    _is_due: DueTest
    _on_request: Callable[[str], None]
    _options: Mapping[str, Any]  # keywords of changes()
    _since: datetime = attrs.field(kw_only=True)  # a robots.txt is requested unless its response is stored since then
    _ends_pauses: bool = attrs.field(default=False, kw_only=True)  # as in Crawler.run_sync()
    _survives_errors: bool = attrs.field(default=False, kw_only=True)  # an exception becomes `error`
    findings: dict[str, Finding] = attrs.field(factory=dict, init=False)  # of documents that were due
    postponed: set[str] = attrs.field(factory=set, init=False)  # the others that are listed
    faults: list[Problem] = attrs.field(factory=list, init=False)  # the first problems
    counts: ChangeCounts = attrs.field(factory=ChangeCounts, init=False)  # the changes that were stored
    first_reading: int = attrs.field(default=0, init=False)  # so many of the new ones are of a first reading
    error: str | None = attrs.field(default=None, init=False)  # an internal one
    crawl_delay: float | None = attrs.field(default=None, init=False)
    has_ended: bool = attrs.field(default=False, init=False)
    is_over_time: bool = attrs.field(default=False, init=False)  # Limits.site_seconds
    is_blocked: bool = attrs.field(default=False, init=False)  # refused, or a bot wall; nothing was read
    has_read: bool = attrs.field(default=False, init=False)  # a sitemap was requested, and read
    fetcher: VisitFetcher | None = attrs.field(default=None, init=False)
    _next: _Changes = attrs.field(factory=lambda: _Changes(), init=False)

    @property
    def changes(self) -> dict[str, int]:
        """The numbers of URLs by what became of them; those of a first reading are not among the new ones."""
        new = self.counts.new - self.first_reading
        of_kinds = {"new": new, "updated": self.counts.updated, "removed": self.counts.removed}
        return {**of_kinds, "first_reading": self.first_reading}

    async def run(self) -> None:
        """Makes the visit. StateFailed where the state cannot be written: then nothing of its last document is."""
        sync, responses = await self._stores.run(self._open)
        starts = {f"{each}{seed.base_path}/" for seed in sync.target.seeds for each in seed.origins}
        fetcher = self._crawler.fetcher_of(sync.target)
        self.fetcher = VisitFetcher(fetcher, responses, self._clock, self._on_request, starts)
        self.postponed = sync.state_sync.postponed
        run = self._crawler.run_sync(
            sync,
            fetcher=self.fetcher,
            stored=DueDocuments(sync.cache, self._is_due, self.postponed),
            executor=self._stores.executor,
            ends_pauses=self._ends_pauses,
        )
        ending = ExitStack()
        ending.enter_context(run.reading())
        try:
            async with aclosing(run.crawl.batches()) as batches:
                async for batch in batches:
                    await self._stores.run(self._apply, run, batch)
            await self._stores.run(self._finish, run, ending)
            self.is_over_time = run.crawl.over_time is not None
            self.has_ended = not self.is_over_time
        except Exception as exc:
            if isinstance(exc, StateFailed) or not self._survives_errors:
                raise
            self.error = internal_error(first_failure(exc))
        finally:
            hosts = run.crawl.frontier.hosts
            delays = (hosts.for_url(f"{seed.origins[0]}/").crawl_delay for seed in self._target.seeds)
            self.crawl_delay = max(filter(None, delays), default=None)
            if not self.has_ended:
                await asyncio.shield(self._stores.thread.run(ending.close))  # also where this is cancelled meanwhile

    def _open(self) -> tuple[OpenSync, dict[str, StoredResponse]]:
        now, responses = self._clock(), self._stores.data.responses(self._name, self._since)
        # A time in the future, of a clock that was wrong, would keep a robots.txt in use until then.
        stored = {url: response for url, response in responses.items() if response.at <= now}
        options: Any = {**self._options, "clock": self._clock}
        options |= {"on_document": self._end_document, "on_item": self._note_fault}
        with self._stores.log.transaction():
            # It commits the row of the site, which a later rollback must not take.
            return self._crawler.open_sync(self._target, self._stores.state, options), stored

    def _apply(self, run: ChangeRun, batch: Batch) -> None:
        with self._stores.log.transaction():
            first_reading = self._log(run, batch)
        self._note_commit(run, first_reading)

    def _finish(self, run: ChangeRun, ending: ExitStack) -> None:
        with self._stores.log.transaction():
            first_reading = self._log(run, None)
        self._note_commit(run, first_reading)
        ending.close()
        self.is_blocked = run.summary_builder.blocked and run.verdict() is not None
        self.has_read = run.summary_builder.has_read
        pages = [outcome for outcome in run.summary_builder.outcomes if hides_sitemap_lines(outcome)]
        if pages:  # a bot wall may be gone at the next visit
            urls = {url for outcome in pages for url in (outcome.url, outcome.final_url) if url}
            self._stores.data.forget_responses(self._name, urls)

    def _log(self, run: ChangeRun, batch: Batch | None) -> int:
        """Logs the changes of a batch; returns how many are of a first reading."""
        first_reading = 0
        for piece in run.pieces(batch):
            is_first = isinstance(piece, UrlBatch) and run.state_sync.is_first_reading
            count = self._stores.log.append(piece, self._target.name, self._clock(), first_reading=is_first)
            self._next.count += count
            self._next.add(piece)
            first_reading += count * is_first
        return first_reading

    def _note_commit(self, run: ChangeRun, first_reading: int) -> None:
        self.counts = attrs.evolve(run.state_sync.counts)
        self.first_reading += first_reading
        assert self.fetcher is not None  # noqa: S101 - for the type checker: set by _begin()
        responses, self.fetcher.new_responses = self.fetcher.new_responses, []
        for response in responses:  # in this order: the last one of a URL, behind its cookie, is kept
            self._stores.data.keep_response(self._name, response)

    def _end_document(self, document: StoredDocument) -> None:
        score = document.lastmod_trust.score
        is_trusted = score is not None and score >= TRUSTED_SCORE
        was_requested = document.looked_at is not None and document.looked_at == document.last_seen
        changes, self._next = self._next, _Changes()
        moments = changes.moments if is_trusted else []
        self.findings[document.url] = Finding(document, was_requested, changes.count, moments, changes.has_news)

    def _note_fault(self, item: Item) -> None:
        if isinstance(item, Problem) and item.severity != "notice" and len(self.faults) < _MAX_FAULTS:
            self.faults.append(item)


@attrs.frozen
class DueDocuments:
    """The stored documents of a site, and whether each document `is_due`: one that is not takes no request.

    It ends like one that is unchanged; if it is not known, without an entry and incomplete. Those go to `postponed`.
    """

    _cache: DocumentCache
    _is_due: DueTest
    _postponed: set[str]

    def skipped(self, listed: Listed, authorities: tuple[str, ...]) -> CachedDocument | None:
        found = self._cache.skipped(listed, authorities)
        if found is not None:
            return found
        known = self._cache.known(listed.url, authorities)
        if self._is_due(listed.url, listed.ref, known is not None):
            return None
        self._postponed.add(listed.url)
        return known or NOT_READ

    def confirmed(self, request: DocumentRequest, authorities: tuple[str, ...]) -> CachedDocument | None:
        return self._cache.confirmed(request, authorities)


@attrs.define
class _Changes:
    """The changes of the document that ends next."""

    count: int = 0
    moments: list[float] = attrs.field(factory=list)
    has_news: bool = False

    def add(self, piece: ChangePiece) -> None:
        for change in islice(changes_of(piece), _MAX_MOMENTS - len(self.moments)):
            record = change.record
            self.has_news = self.has_news or record.news is not None
            if change.change != "removed" and record.lastmod and record.lastmod_precision in TIMED:
                self.moments.append(record.lastmod.timestamp())


@attrs.define(eq=False, repr=False)
class VisitFetcher:
    """A Fetcher that answers from `stored` (URL -> response) and for the rest from another one; times are in UTC."""

    _fetcher: Fetcher
    _stored: Mapping[str, StoredResponse]
    _clock: Callable[[], datetime]
    _on_request: Callable[[str], None]
    _start_pages: set[str]  # and the URLs to which these redirect
    new_responses: list[StoredResponse] = attrs.field(factory=list, init=False)  # of robots.txt and start pages
    stored_at: float | None = attrs.field(default=None, init=False)  # when the oldest stored one in use was received
    requests: int = attrs.field(default=0, init=False)  # that were sent
    statuses: Counter[str] = attrs.field(factory=Counter, init=False)  # the responses by class
    failures: int = attrs.field(default=0, init=False)  # no response, refused, server error
    max_ages: dict[str, float] = attrs.field(factory=dict, init=False)  # URL -> seconds of Cache-Control
    retry_after: float = attrs.field(default=0.0, init=False)  # the longest, in seconds
    last_request: dict[str, float] = attrs.field(factory=dict, init=False)  # by origin

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        stored = self._stored.get(url)
        if stored is not None:
            at = stored.at.timestamp()
            self.stored_at = at if self.stored_at is None else min(at, self.stored_at)
            yield Response(stored.status, stored.headers, AsyncChunks((stored.body,)), url)
            return
        self.requests += 1
        self.last_request[origin(url)] = self._clock().timestamp()
        self._on_request(url)
        try:
            async with self._fetcher.fetch(url, headers) as response:
                self._note(url, response)
                async with aclosing(self._passed_on(url, response)) as chunks:
                    yield attrs.evolve(response, chunks=chunks)
        except FetchError:
            self.failures += 1
            self.statuses["failed"] += 1
            raise

    def _note(self, url: str, response: Response) -> None:
        now, status = self._clock(), response.status
        self.statuses["304" if status == HTTPStatus.NOT_MODIFIED else f"{status // 100}xx"] += 1
        if status in BUSY:
            self.retry_after = max(self.retry_after, retry_after(response.headers.get("retry-after"), now) or 0.0)
        self.failures += status in REFUSED | NO_DOCUMENT or status >= HTTPStatus.INTERNAL_SERVER_ERROR
        if self._is_kept(url) and status in range(300, 500) and status not in REFUSED:
            self._keep(url, response, b"")  # its body is not read
            if url in self._start_pages and (target := clean_url(response.headers.get("location", ""), url).url):
                self._start_pages.add(target)
        if found := _MAX_AGE.search(response.headers.get("cache-control", "")):
            self.max_ages[url] = float(found[1])

    async def _passed_on(self, url: str, response: Response) -> AsyncGenerator[bytes, None]:
        """The body; of a robots.txt or a start page a copy is kept once it has been read to its end."""
        is_kept, body = self._is_kept(url), bytearray()
        async for chunk in response.chunks:
            if is_kept:
                body += chunk
            yield chunk
        if is_kept:
            self._keep(url, response, bytes(body))

    def _is_kept(self, url: str) -> bool:
        return is_robots_txt(url) or url in self._start_pages

    def _keep(self, url: str, response: Response, body: bytes) -> None:
        headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
        self.new_responses.append(StoredResponse(url, self._clock(), response.status, headers, body))
