"""Crawler makes the crawls of targets; urls(), changes() and discover() read one without asyncio.

The latter also work inside a running event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, closing, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, Unpack
from weakref import ref

import attrs

from ..fetch.client import AiohttpFetcher, Response
from ..fetch.host_map import HostMap, MappedFetcher
from ..fetch.proxies import proxy_function
from ..fetch.request_headers import RequestHeaders, make_headers
from ..frontier.frontier import Frontier
from ..frontier.plan import Plan
from ..frontier.revalidation import DocumentCache
from ..model.errors import FetchError, UsageError
from ..model.options import part_of, with_defaults
from ..model.url_batch import UrlBatch
from ..pipeline.crawl import CallbackError, Crawl, require_asyncio
from ..pipeline.feedparser_process import feedparser_fallback
from ..pipeline.pacing import Pacing
from ..pipeline.page_fetcher import PageFetcher
from ..version import USER_AGENT
from .keywords import UrlQuery, called_in_crawl, checked_keywords, is_async, policy_in_crawl
from .options import (
    ChangesOptions,
    DiscoverOptions,
    QueryOptions,
    ReaderOptions,
    SessionOptions,
    StateSyncOptions,
    SyncOptions,
    UrlsOptions,
)
from .progressbar import ProgressBar
from .streams import Bridge, ChangeRun, ChangeStream, CrawlRun, LoopThread, PieceStream, Stream
from .targets import Target, find_target, read_netrc, recorder

if TYPE_CHECKING:
    from ..fetch.client import Fetcher
    from ..frontier.plan import Seed
    from ..frontier.revalidation import StoredDocuments
    from ..frontier.robots_rules import Rules
    from ..model.records import Candidate, Item, SitemapRef, UrlRecord
    from ..pipeline.document_parser import Batch
    from ..pipeline.executor import ParseExecutor
    from ..pipeline.page_fetcher import PageResponse
    from ..state.documents import StoredDocument
    from ..state.state import State
    from ..state.sync import StateSync, SyncPlan
    from .summary import Progress


_CLOSED_EARLY = "the reader was closed before it had found the sitemaps"
_OF_NETWORK = ("proxy", "cacert", "insecure", "session")
_TLS_LOG = logging.getLogger("sitemap_reader.tls")


class Crawler:
    """What the streams of one reader share: its settings, connections, headers and pacing.

    It belongs to the event loop in which it was first used.
    """

    def __init__(self, **options: Unpack[SessionOptions]) -> None:
        """Opens no connection yet. UsageError for values that are not allowed."""
        given = with_defaults(SessionOptions, {"feed_fallback": feedparser_fallback, **options})
        record, session, fetcher, limits = given["record"], given["session"], given["fetcher"], given["limits"]
        if record == "":  # an unset shell variable; Path("") is the working directory
            raise UsageError(
                "record is the name of a folder or a WARC file, and empty", remedy="leave it out, or name one"
            )
        own_fetcher = None if fetcher is None else _CallersFetcher(_checked_fetcher(fetcher))
        for name in _OF_NETWORK if fetcher is not None else ():
            if given[name]:  # type: ignore[literal-required]
                raise UsageError(f"{name} is for the network, which `fetcher` replaces", remedy="set it up there")
        user_agent = given["user_agent"]
        if session is not None and user_agent == USER_AGENT:
            user_agent = getattr(session, "headers", {}).get("User-Agent", USER_AGENT)
        self._plan = Plan(
            scope=given["scope"],
            probe=given["probe"],
            obey_robots=policy_in_crawl(given["obey_robots"]),
            user_agent=user_agent,
            sends_user_agent=fetcher is None,
            concurrency=given["concurrency"],
            per_host=given["per_host"],
            delay_seconds=float(given["delay"]),
            extras=given["extras"],
            limits=limits,
        )
        self._pacing = Pacing(self._plan)
        # No WeakSet, which cannot be iterated while another thread, of a Reader, adds to it.
        self._crawls: set[ref[Crawl]] = set()
        self._network = AiohttpFetcher(
            user_agent=user_agent,
            limits=limits,
            allow_private=given["allow_private"],
            proxy=called_in_crawl(proxy_function(given["proxy"])) if callable(given["proxy"]) else given["proxy"],
            cacert=given["cacert"],
            insecure=given["insecure"],
            session=session,
        )
        if given["insecure"]:
            _TLS_LOG.warning("TLS certificates are not verified (insecure=True)")
        self._headers = make_headers(given["headers"], given["auth"], read_netrc(given["netrc"]))
        self.fetcher: Fetcher = own_fetcher or self._network  # what sends the requests of this reader
        self._fallback, self._base = given["feed_fallback"], given["base"]
        self._record = Path(record) if record is not None else None
        self._host_map = HostMap.of(given["host_map"])

    def __str__(self) -> str:
        plan = self._plan
        delay = f", {plan.delay_seconds:g} s between them" if plan.delay_seconds else ""
        return f"up to {plan.concurrency:,} requests at once, {plan.per_host:,} to a host{delay}"

    async def __aenter__(self) -> Self:
        require_asyncio()
        await self._network.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the crawls, and closes the connections; a session of the caller stays open."""
        try:
            crawls = [each() for each in self._crawls.copy()]
            await asyncio.gather(*(crawl.stop() for crawl in crawls if crawl is not None))
        finally:  # also where this is cancelled meanwhile
            await self._network.close()

    async def discover(
        self, target: str | Path | Target, on_item: Callable[[Item], None] | None = None
    ) -> list[Candidate]:
        """The candidates of a target, as discover() returns them."""
        crawl = self._crawl(find_target(target, self._base), {"sniff_only": True, "descend": False})
        async with aclosing(crawl.batches()) as batches:
            async for batch in batches:
                for item in batch:
                    if on_item and not isinstance(item, UrlBatch):  # there are none
                        on_item(item)
        if crawl.is_stopped:
            raise UsageError(_CLOSED_EARLY)
        if crawl.over_time:
            crawl.frontier.report_unread(crawl.over_time)
        return [candidate for site in crawl.frontier.sites for candidate in site.candidates]

    def crawl_run(
        self,
        target: str | Path | Target,
        query: UrlQuery,
        *,
        already_read: Mapping[str, str] | None = None,
        select_children: Callable[[list[SitemapRef]], Iterable[SitemapRef]] | None = None,
    ) -> CrawlRun:
        """The run of a stream of URLs. What `already_read` has (URL -> format) is not requested again.

        `select_children` gets all children of an index, and returns those to read.
        """
        found = find_target(target, self._base)
        crawl = self._crawl(
            found,
            query.plan_fields(datetime.now(UTC)),
            stored=DocumentCache(already_read=already_read or {}),
            select_children=select_children,
        )
        return CrawlRun(found.name, crawl, query.summary_builder(), *_progress(query))

    def change_run(self, target: str | Path | Target, options: StateSyncOptions) -> ChangeRun:
        """The run of a stream of changes; the state is open from here on."""
        rest: Any = {**options}
        return self.run_sync(self.open_sync(target, rest.pop("state"), rest))

    def open_sync(self, target: str | Path | Target, state: State | str | Path, options: SyncOptions) -> OpenSync:
        """Opens a state for the sync of a target; `options` may have all fields of SyncPlan.

        It reads the state, and run_sync() does not: a caller with a thread for its state calls this one there.
        """
        from ..state.state import site_name  # here: reading alone needs no database
        from ..state.sync import StateSync

        rest: dict[str, Any] = {**options}
        on_document, plan = rest.pop("on_document", None), make_sync_plan(rest)
        query = UrlQuery(**rest)
        found = find_target(target, self._base)
        plan_fields = query.plan_fields(plan.clock())
        state_sync = StateSync(state, site_name(found.seeds), self.state_settings(query), plan)
        # A recording has to be whole, so no request of it is conditional.
        with state_sync.closed_on_error():
            cache = state_sync.cache(knows_documents=self._record is None)
        return OpenSync(found, query, plan_fields, state_sync, cache, on_document)

    def run_sync(
        self,
        sync: OpenSync,
        *,
        fetcher: Fetcher | None = None,
        stored: StoredDocuments | None = None,
        executor: ParseExecutor | None = None,
        ends_pauses: bool = False,
        select_children: Callable[[list[SitemapRef]], Iterable[SitemapRef]] | None = None,
    ) -> ChangeRun:
        """The ChangeRun of a sync that was opened.

        `fetcher` and `stored` take the place of fetcher_of() its target and of its cache; `executor` is one that the
        caller closes. `ends_pauses`: the caller has waited for the Retry-After of earlier runs, by a clock of its own,
        and nothing else uses this crawler. `select_children` is as in crawl_run().
        """
        if ends_pauses:
            self._pacing.end_pauses(each for seed in sync.target.seeds for each in seed.origins)
        with sync.state_sync.closed_on_error():
            plan = {**sync.plan_fields, "former_sitemaps": sync.cache.names}
            crawl = self._crawl(
                sync.target,
                plan,
                fetcher=fetcher,
                stored=stored or sync.cache,
                executor=executor,
                select_children=select_children,
            )
        return ChangeRun(
            sync.target.name,
            crawl,
            sync.query.summary_builder(),
            *_progress(sync.query),
            state_sync=sync.state_sync,
            on_document=sync.query.guarded(sync.on_document),
        )

    def page_fetcher(self, target: Target, rules_of: Callable[[str], Rules | None]) -> PageFetcher:
        """The PageFetcher for pages of a target; `rules_of` returns the rules of hosts that were read before."""
        is_replay = target.replay is not None
        return PageFetcher(
            target.pages or self._mapped_fetcher,
            attrs.evolve(self._plan, is_recording=is_replay),
            rules_of,
            None if is_replay else self._request_headers(self._seeds_of(target)),
            polite=not is_replay,
            pacing=None if is_replay else self._pacing,
        )

    def state_settings(self, query: UrlQuery) -> dict[str, Any]:
        """The settings under which a state was written, as JSON values; with others nothing can be compared with it."""
        return {"scope": self._plan.scope, "extras": self._plan.extras, **query.settings()}

    def _crawl(
        self,
        target: Target,
        plan_fields: Mapping[str, Any],
        *,
        fetcher: Fetcher | None = None,
        stored: StoredDocuments | None = None,
        select_children: Callable[[list[SitemapRef]], Iterable[SitemapRef]] | None = None,
        executor: ParseExecutor | None = None,
    ) -> Crawl:
        plan = attrs.evolve(self._plan, is_recording=target.replay is not None, **plan_fields)
        if self._host_map and target.replay:
            name = target.local or target.name
            raise UsageError.of(
                "{host_map=} is for requests, and {name} is read from the disk: leave it out", name=name
            )
        seeds = self._seeds_of(target)
        fetcher = fetcher or self.fetcher_of(target)
        if self._record is not None:
            fetcher = recorder(fetcher, self._record, target)
        crawl = Crawl(
            Frontier(seeds, plan),
            fetcher,
            feed_fallback=self._fallback,
            polite=target.replay is None,
            reported=target.reported,
            headers=None if target.replay else self._request_headers(seeds),
            shared_executor=executor,
            pacing=None if target.replay else self._pacing,
            stored=stored or DocumentCache(),
            select_children=select_children,
        )
        self._crawls.add(ref(crawl, self._crawls.discard))
        return crawl

    def fetcher_of(self, target: Target) -> Fetcher:
        """What its documents are fetched with: the recording that it is, or the network."""
        return target.replay or self._mapped_fetcher

    @property
    def _mapped_fetcher(self) -> Fetcher:
        return MappedFetcher(self.fetcher, self._host_map) if self._host_map else self.fetcher

    def _seeds_of(self, target: Target) -> tuple[Seed, ...]:
        return self._host_map.seeds(target.seeds) if self._host_map else target.seeds

    def _request_headers(self, seeds: Sequence[Seed]) -> RequestHeaders:
        if self._host_map is None:
            return RequestHeaders(self._headers, seeds)
        return RequestHeaders(self._headers, self._host_map.real_seeds(seeds), self._host_map.credentials_url)


@attrs.frozen
class OpenSync:
    """A sync whose state is open: its target and filters, and the `cache` of what the state knows of its documents."""

    target: Target
    query: UrlQuery
    plan_fields: Mapping[str, Any]
    state_sync: StateSync
    cache: DocumentCache
    on_document: Callable[[StoredDocument], None] | None


def _checked_fetcher(fetcher: Fetcher) -> Fetcher:
    if isinstance(fetcher, type):
        raise UsageError(f"fetcher is an object, and not a class: give fetcher={fetcher.__name__}(…)")
    if not callable(getattr(fetcher, "fetch", None)):
        needed = "a method fetch(url, headers), an async context manager that gives a Response: see sr.fetch.Fetcher"
        raise UsageError(f"a fetcher has {needed}; this {type(fetcher).__name__} has none")
    if is_async(fetcher.fetch):
        raise UsageError(
            f"{type(fetcher).__name__}.fetch needs @asynccontextmanager: `async with` uses what it returns"
        )
    return fetcher


def _check_response(response: object, fetcher: Fetcher) -> None:
    for name, kind in {"status": int, "headers": Mapping, "chunks": AsyncIterable}.items():
        value = getattr(response, name, None)
        if not isinstance(value, kind):
            given = f"{name} of type {type(value).__name__}" if hasattr(response, name) else f"no {name}"
            reason = f"{type(fetcher).__name__}.fetch() gave a {type(response).__name__} with {given}"
            fields = "a status that is a number, headers that are a mapping, chunks that are an async iterator"
            raise UsageError(reason, remedy=f"yield a sr.fetch.Response with {fields}")


class _CallersFetcher:
    """Makes CallbackErrors of exceptions but FetchErrors: as they are, they would end one document each (S17)."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        ours: BaseException | None = None  # raised by the block
        try:
            async with self._fetcher.fetch(url, headers) as response:
                _check_response(response, self._fetcher)
                chunks = _CallersChunks(aiter(response.chunks))
                try:
                    yield Response(response.status, response.headers, chunks, url)
                except BaseException as error:
                    ours = None if error is chunks.error else error
                    raise  # as it is: fetch() may convert it
        except FetchError:
            raise
        except Exception as error:
            if error is ours:
                raise
            raise CallbackError(error) from error


@attrs.define(eq=False)
class _CallersChunks(AsyncIterator[bytes]):
    """The chunks of a response, and the exception that they ended with."""

    _chunks: AsyncIterator[bytes]
    error: Exception | None = attrs.field(default=None, init=False)

    async def __anext__(self) -> bytes:
        try:
            chunk = await anext(self._chunks)
            if not isinstance(chunk, bytes | bytearray | memoryview):
                raise UsageError(f"the chunks of a Response are bytes, not {type(chunk).__name__}")
            return chunk
        except StopAsyncIteration:
            raise
        except Exception as error:
            self.error = error
            raise


def _progress(query: UrlQuery) -> tuple[Callable[[Progress], None] | None, ProgressBar | None]:
    return query.guarded(query.options["on_progress"]), ProgressBar() if query.options["show_progress"] else None


def make_sync_plan(options: dict[str, Any]) -> SyncPlan:
    """Takes the fields of a SyncPlan out of `options`; UsageError for values that are not allowed."""
    from ..state.sync import SyncPlan  # here: reading alone needs no database

    with_defaults(SyncOptions, part_of(SyncOptions, options))  # its checks
    given = {name: options.pop(name) for name in attrs.fields_dict(SyncPlan) if name in options}
    return SyncPlan(**given)


@checked_keywords(UrlsOptions)
def urls(target: str | Path | Target, **options: Unpack[UrlsOptions]) -> Stream[UrlRecord]:
    """A stream of every URL of a site, a document or a recording, each yielded as soon as it is read.

    `target` is a host, a URL, or a folder or WARC file that `record` has written. Needs no event loop, and works inside
    a running one: a thread reads while the stream is iterated; the end of the stream or of its `with` block joins it.
    An exception in a callback ends the run, and is raised to the caller unchanged. Reader reads several sites with one
    thread and its connections; SitemapReader is for asyncio.
    """
    return Stream(*_url_stream(target, options))


def url_batches(target: str | Path | Target, **options: Unpack[UrlsOptions]) -> Stream[UrlBatch]:
    """urls() as UrlBatches, many URLs at a time."""
    return Stream(*_url_stream(target, options), view=CrawlRun.pieces)


def batches(target: str | Path | Target, **options: Unpack[UrlsOptions]) -> Stream[Batch]:
    """The batches of a crawl: UrlBatches, references, problems and outcomes, in document order."""
    return Stream(*_url_stream(target, options), view=CrawlRun.items)


def page_responses(
    target: Target,
    urls: Sequence[str],
    rules_of: Callable[[str], Rules | None],
    *,
    on_wait: Callable[[], None] = lambda: None,
    **options: Unpack[ReaderOptions],
) -> Generator[PageResponse]:
    """The responses for pages of a target, as they come; closing the iterator cancels the pending requests."""
    crawler = Crawler(**options)  # a `fetcher` is used on another event loop than for the sitemaps

    async def fetch(put: Callable[[PageResponse], Awaitable[None]]) -> None:
        async with crawler:
            await crawler.page_fetcher(target, rules_of).run(urls, put)

    with closing(Bridge(fetch)) as bridge:
        yield from bridge.batches(on_wait)


@checked_keywords(ChangesOptions)
def changes(target: str | Path | Target, **options: Unpack[ChangesOptions]) -> ChangeStream:
    """A stream of the URLs that are new, updated or removed since the last run, by the record in `state`.

    SitemapReader.changes() is the same for asyncio, and its help has the rules. A thread reads while the stream is
    iterated; the end of the stream or of its `with` block joins it, and closes a state that was given as a path.
    """
    return ChangeStream(*_change_stream(target, options))


def change_pieces(target: str | Path | Target, **options: Unpack[ChangesOptions]) -> PieceStream:
    """changes(), many at a time: new URLs as UrlBatches, the others as lists."""
    return PieceStream(*_change_stream(target, options), view=ChangeRun.pieces)


@checked_keywords(DiscoverOptions)
def discover(target: str | Path | Target, **options: Unpack[DiscoverOptions]) -> list[Candidate]:
    """Where the target's sitemaps are, and how each was found; reads no more of each than its beginning.

    What robots.txt names and the target itself are always listed; links of the start page and well-known paths only if
    they hold a sitemap, or if the host refused them or robots.txt: then with the status, and a `problem`. Callbacks run
    in another thread.
    """
    return discover_in_thread(crawler_of(options), target, options.get("on_item"))


def discover_in_thread(
    crawler: Crawler,
    target: str | Path | Target,
    on_item: Callable[[Item], None] | None,
    loop: LoopThread | None = None,
) -> list[Candidate]:
    """The candidates of a target, found in a thread of its own or in a `loop`, which then owns the crawler."""

    async def find(put: Callable[[list[Candidate]], Awaitable[None]]) -> None:
        async with crawler if loop is None else nullcontext():
            await put(await crawler.discover(target, on_item))

    with closing(Bridge(find, loop=loop)) as bridge:
        for candidates in bridge.batches(on_wait=lambda: None):
            return candidates
    raise UsageError(_CLOSED_EARLY)


# What a stream of its own thread takes: a run, what ends with it, and on_wait.
_StreamParts: TypeAlias = tuple[Any, Callable[[], Awaitable[None]], Callable[[], None] | None]


def _url_stream(target: str | Path | Target, options: UrlsOptions) -> _StreamParts:
    crawler = crawler_of(options)
    return crawler.crawl_run(target, UrlQuery(**part_of(QueryOptions, options))), crawler.close, options.get("on_wait")


def _change_stream(target: str | Path | Target, options: ChangesOptions) -> _StreamParts:
    crawler = crawler_of(options)
    run = crawler.change_run(target, part_of(StateSyncOptions, options))
    return run, crawler.close, options.get("on_wait")


def crawler_of(options: Mapping[str, object]) -> Crawler:
    return Crawler(**part_of(ReaderOptions, options))
