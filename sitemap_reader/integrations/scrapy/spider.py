"""Scrapy's SitemapSpider with this package's reading; all that it fetches goes through Scrapy's downloader.

Proxies, throttling, cache and the other settings apply. Redirects and retries are left to the sitemap crawl.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs
from scrapy import Request, signals
from scrapy.exceptions import CloseSpider, IgnoreRequest
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.spiders import SitemapSpider
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.misc import load_object

from ...client.crawler import Crawler as SiteCrawler
from ...client.keywords import UrlQuery
from ...client.streams import ChangeRun, CrawlRun
from ...client.summary import CrawlLog
from ...client.targets import Target
from ...fetch.client import Response, response_headers
from ...frontier.plan import parse_target
from ...model.errors import FetchError, StateError, UsageError
from ...model.limits import CHUNK_BYTES, Limits
from ...model.problems import Problem
from ...model.records import Change, SitemapRef, UrlRecord
from ...parser.normalise.urls import is_web_url
from .items import CHANGE, RECORD, entry_of

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response as Answer
    from scrapy.settings import BaseSettings

    from ...client.options import SyncOptions
    from ...frontier.plan import Moment
    from ...frontier.revalidation import Trust
    from ...model.records import Item
    from ...parser.normalise.scope import ScopeMode
    from ...pipeline.document_parser import Batch

_Items = Iterable[UrlRecord | Change]

# Key in the meta of a request for a sitemap or a robots.txt of the sitemap crawl.
OURS = "sitemap_reader"
_META = {
    OURS: True,
    "dont_redirect": True,  # URL scope depends on the target of a redirect
    "dont_retry": True,  # the sitemap crawl counts tries, and honours Retry-After
    "dont_obey_robotstxt": True,  # it does, and reports what is disallowed
    "download_fail_on_dataloss": False,  # a truncated body is read as far as it goes
}
_DATA_LOSS = "dataloss"  # Scrapy's flag for a body that is shorter than it should be
_GZIP_ENCODINGS = {b"gzip", b"x-gzip"}


class DownloaderFetcher:
    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._transient = tuple(load_object(each) for each in crawler.settings.getlist("RETRY_EXCEPTIONS"))

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        """One GET by way of Scrapy. The whole body is in memory, as with all that Scrapy downloads."""
        request_headers = {"Accept-Encoding": "gzip", **headers}
        try:
            # Scrapy's cache stores the headers of a request: those that hold a login must not get there.
            holds_login = any(name.lower() == "authorization" for name in headers)
            meta = {**_META, "dont_cache": True} if holds_login else {**_META}
            request = Request(url, headers=request_headers, meta=meta)
            answer = await self._crawler.engine.download_async(request)
        except IgnoreRequest as exc:
            message = f"Scrapy does not fetch it: {str(exc) or 'a downloader middleware refuses the request'}"
            remedy = "check allowed_domains and the downloader middlewares"
            raise FetchError(message, transient=False, remedy=remedy) from exc
        except Exception as exc:  # a downloader handler may raise anything: it is why there is no answer
            # Of one with `reasons` (Twisted's failures) the text is that of the first.
            reasons = getattr(exc, "reasons", None)
            first = getattr(reasons[0], "value", reasons[0]) if reasons else exc
            text = f"{type(first).__name__}: {first}" if str(first) else type(first).__name__
            raise FetchError(text, transient=isinstance(exc, self._transient)) from exc
        names = ((name.decode("latin-1"), values) for name, values in answer.headers.items())
        pairs = ((name, each.decode("utf-8", "surrogateescape")) for name, values in names for each in values)
        yield Response(answer.status, response_headers(pairs), _chunks(answer), url)


async def _chunks(answer: Answer) -> AsyncIterator[bytes]:
    body = answer.body
    for start in range(0, len(body), CHUNK_BYTES):
        yield body[start : start + CHUNK_BYTES]
    if _DATA_LOSS in answer.flags:
        raise FetchError(f"the connection broke off after {len(body):,} bytes")


class SitemapDownloads:
    """Downloader middleware, between HttpCompressionMiddleware and the downloader.

    Sitemaps stay compressed: decompressed there, a truncated one would look complete. The sitemap crawl and
    Scrapy's RobotsTxtMiddleware share the response to a robots.txt that either has requested.
    """

    PRIORITY = 595

    def __init__(self) -> None:
        # URL -> whether the crawl requested it, and the answer; None if each must request it itself.
        self._robots: dict[str, tuple[bool, asyncio.Future[Answer | None]]] = {}

    async def process_request(self, request: Request) -> Answer | None:
        """The robots.txt that the other one was given."""
        if not _is_robots(request):
            return None
        if request.url not in self._robots:
            self._robots[request.url] = _is_ours(request), asyncio.get_running_loop().create_future()
            return None
        is_ours, answer = self._robots[request.url]
        given = await answer if is_ours is not _is_ours(request) else None
        return given and given.replace(flags=[*given.flags, OURS])

    def process_response(self, request: Request, response: Answer) -> Answer:
        """Keeps a robots.txt for the other one; takes from a packed sitemap the header that has it unpacked."""
        is_final = response.status < 500 and response.status != 429  # a retry would be no use
        self._share(request, response if is_final else None)
        if _is_ours(request):
            encodings = {each.strip().lower() for each in response.headers.getlist("Content-Encoding")}
            if encodings and encodings <= _GZIP_ENCODINGS:
                del response.headers["Content-Encoding"]
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Without an answer there is nothing to share."""
        self._share(request, None)

    def _share(self, request: Request, answer: Answer | None) -> None:
        if _is_robots(request) and request.url in self._robots and not self._robots[request.url][1].done():
            # A copy, as the first one goes on its way, and is changed there.
            self._robots[request.url][1].set_result(answer and answer.copy())


def _is_ours(request: Request) -> bool:
    return bool(request.meta.get(OURS))


def _is_robots(request: Request) -> bool:
    return bool(request.meta.get("dont_obey_robotstxt")) and urlsplit(request.url).path.endswith("/robots.txt")


class StatsReporter:
    """Reports problems to the log and the stats of a crawler: report() each item, end() after the last.

    Stats are named `sitemap/problems/F01` and so on. A spider that is closed before calls end() too.
    """

    def __init__(self, spider: Spider) -> None:
        self.run: CrawlRun | None = None
        self._stats = spider.crawler.stats
        self._logger = spider.logger
        self._log = CrawlLog(spider.logger)
        spider.crawler.signals.connect(self._close, signals.spider_closed)

    def report(self, item: Item) -> None:
        self._log.report(item)
        if isinstance(item, Problem):
            self.count(f"problems/{item.code}")

    def count(self, name: str, number: int = 1) -> None:
        self._stats.inc_value(f"sitemap/{name}", number)

    def end(self, *, is_whole: bool = True) -> None:
        """The verdict is reported if the crawl came to its end."""
        run, self.run = self.run, None
        if run is None:
            return
        run.has_ended = is_whole
        summary = run.summary()
        self._log.end(summary, run.verdict() if is_whole else None)
        self.count("urls", summary.urls)
        self.count("sitemaps", summary.sitemaps)
        self.count("sitemaps_incomplete", summary.failed + summary.incomplete)
        if isinstance(run, ChangeRun):
            counts = run.state_sync.counts
            for name in ("new", "updated", "removed"):
                self.count(name, getattr(counts, name))
        for what in ("dropped", "unwanted", "pruned"):
            for reason, number in getattr(summary, what).items():
                self.count(f"{what}/{reason}", number)

    def _close(self) -> None:
        if self.run is not None:
            self._logger.info("the spider was closed before all of its sitemaps were read")
        self.end(is_whole=False)


_SEPARATORS = re.compile(r"[\s,]+")
# The time in Scrapy's queues would count as network time: DOWNLOAD_TIMEOUT applies instead.
_UNTIMED: dict[str, Any] = dict.fromkeys(
    ("connect_seconds", "read_seconds", "document_seconds", "site_seconds"), math.inf
) | {"min_bytes_per_second": 0}
_MAX_PER_HOST = 4


class SitemapReaderSpider(SitemapSpider):
    """Scrapy's SitemapSpider with this package's reading: write it as one, and change the base class.

    As there: `sitemap_urls` (robots.txt files, indexes, sitemaps), `sitemap_rules`, `sitemap_follow`,
    `sitemap_alternate_links` and `sitemap_filter(entries)`, which is called for each document, with dicts of what it
    states as text; here they have their record under "sitemap_record" too. Beside them:

    - `sites`: hosts or URLs whose sitemaps are to be found, by robots.txt, links and well-known paths.
    - `sitemap_since`: a date, or an age such as "7d": only pages with a lastmod since then, or without any.
    - `sitemap_trust_lastmod`: whether sitemaps are skipped that their index calls older than that: auto (where up to
      three of them, read first, confirm it), always, never.
    - `sitemap_scope`: protocol (the URL scope of a sitemap), host, domain or any.
    - `sitemap_state`: a file with what earlier crawls found: only pages that are new or updated since the last one,
      with the Change in `meta["sitemap_change"]`; those that were removed go to `sitemap_removed(change)`. A page is
      delivered when its callback has ended, or its download has failed for good, and comes again in the next crawl
      otherwise.
    - `sitemap_failed(failure)`: a method of yours, the errback of the requests for pages.
    - `sitemap_limits`: Limits; its seconds are not used, as DOWNLOAD_TIMEOUT and RETRY_TIMES count.

    `-a sites=example.com,example.org` and `-a sitemap_since=7d` set them on the command line. Requests are yielded as
    Scrapy schedules them, so that memory does not grow with their number, and carry the UrlRecord in
    `meta["sitemap_record"]`. Problems are logged, and counted in the stats: `sitemap/problems/F01` and so on.
    """

    sites: str | Sequence[str] = ()
    sitemap_since: Moment | None = None
    sitemap_trust_lastmod: Trust = "auto"
    sitemap_scope: ScopeMode = "protocol"
    sitemap_limits: Limits = Limits()
    sitemap_state: str | Path | None = None
    sitemap_failed: Callable[[Any], Any] | None = None  # with an errback that does nothing, Scrapy would log no failure

    def sitemap_removed(self, change: Change) -> None:
        """Called with each page that is not listed any more, with a `sitemap_state`; does nothing by itself."""

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Adds the middleware that keeps sitemaps packed, and robots.txt files from being requested twice."""
        super().update_settings(settings)
        name = "DOWNLOADER_MIDDLEWARES"
        middlewares = {SitemapDownloads: SitemapDownloads.PRIORITY, **settings.getdict(name)}
        # Scrapy's command line merges its own settings behind this: what has the priority of defaults would be lost.
        settings.set(name, middlewares, max(settings.getpriority(name) or 0, SETTINGS_PRIORITIES["spider"]))

    async def start(self) -> AsyncIterator[Any]:
        """A Request for each page, as fast as Scrapy schedules them."""
        reporter = StatsReporter(self)
        ended: list[str | None] = []  # documents, by URL
        try:
            reporter.run = run = self._crawl_run(reporter, ended)
        except (UsageError, StateError) as exc:
            self.logger.error("%s", exc)
            raise CloseSpider("sitemap_usage") from exc
        async with aclosing(self._records(run, ended)) as parts:
            async for records in parts:
                for request in self._requests(records, reporter):
                    if self.crawler.engine.needs_backout():
                        await self.crawler.signals.wait_for(signals.scheduler_empty)
                    yield request
        reporter.end()

    # --- reading ---

    def _crawl_run(self, reporter: StatsReporter, ended: list[str | None]) -> CrawlRun:
        """All targets in one crawl, so that what several of them list is fetched once."""
        if not is_asyncio_available():
            raise UsageError("TWISTED_REACTOR is none of asyncio's: leave it as Scrapy has it by default")
        settings = self.crawler.settings
        names = [*_names("sitemap_urls", self.sitemap_urls), *_names("sites", self.sites)]
        if not names:
            raise UsageError("there is nothing to read: give the spider sitemap_urls, or sites")
        retries = settings.getint("RETRY_TIMES") if settings.getbool("RETRY_ENABLED") else 0
        site_crawler = SiteCrawler(
            fetcher=DownloaderFetcher(self.crawler),
            user_agent=str(settings["ROBOTSTXT_USER_AGENT"] or settings["USER_AGENT"]),
            scope=self.sitemap_scope,
            obey_robots=settings.getbool("ROBOTSTXT_OBEY"),
            concurrency=max(1, settings.getint("CONCURRENT_REQUESTS") // 2),  # else pages would wait for sitemaps
            per_host=max(1, min(_MAX_PER_HOST, settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN"))),
            limits=attrs.evolve(self.sitemap_limits, tries=retries + 1, **_UNTIMED),
        )
        seeds = tuple(parse_target(name) for name in names)
        target = Target(", ".join(seed.target for seed in seeds), seeds)
        children = partial(self._children, reporter=reporter)
        if self.sitemap_state is not None:
            if self.sitemap_since is not None:
                raise UsageError("sitemap_since cannot be combined with sitemap_state, which has what was read before")
            sync = site_crawler.open_sync(target, self.sitemap_state, self._sync_options(reporter))
            run = site_crawler.run_sync(sync, select_children=children)
            run.before_delivery = self._wait_for_pages
            return run
        query = UrlQuery(
            since=self.sitemap_since,
            trust_lastmod=self.sitemap_trust_lastmod,
            on_item=reporter.report,
            on_outcome=(lambda outcome: ended.append(outcome.url)) if self._filters else None,
        )
        return site_crawler.crawl_run(target, query, select_children=children)

    def _sync_options(self, reporter: StatsReporter) -> SyncOptions:
        options: SyncOptions = {"trust_lastmod": self.sitemap_trust_lastmod, "on_item": reporter.report}
        # What a sitemap_follow selects cannot be compared with what another one did; a filter may change the URLs.
        return options if self._filters else {**options, "follow": [each.pattern for each in self._follow]}

    async def _records(self, run: CrawlRun, ended: list[str | None]) -> AsyncGenerator[_Items, None]:
        """Records as they come; all of a document at once, at its end, if `sitemap_filter` is overridden.

        With a state the changes of a document, at its end.
        """
        documents: defaultdict[str | None, list[UrlRecord]] = defaultdict(list)
        with run.reading():
            try:
                async with aclosing(run.crawl.batches()) as batches:
                    batch: Batch | None = []
                    while batch is not None:
                        batch = await anext(batches, None)
                        parts = run.parts(batch)
                        while (part := await run.next_part(parts)) is not None:
                            if self.sitemap_state is not None:
                                yield [*self._listed(part)]
                            elif not self._filters:
                                yield part
                            else:
                                for record in part:
                                    documents[record.sitemap].append(record)
                        for url in ended:
                            yield documents.pop(url, ())
                        ended.clear()
                for records in documents.values():
                    yield records
            finally:
                await run.close()  # before the state is closed: its thread may still use it

    async def _wait_for_pages(self) -> None:
        """Until the callbacks of all requests so far have ended: only then the changes count as delivered."""
        # Not when they are in a JOBDIR: after a kill, Scrapy cannot continue with its queue.
        while (slot := self.crawler.engine._slot) is not None:
            is_busy = any(RECORD in request.meta for request in slot.inprogress)
            if not (is_busy or slot.scheduler.has_pending_requests()):
                return
            await self.crawler.signals.wait_for(signals.scheduler_empty)  # sent again after each request that ends

    @property
    def _filters(self) -> bool:
        return type(self).sitemap_filter is not SitemapSpider.sitemap_filter

    def _children(self, refs: Iterable[SitemapRef], reporter: StatsReporter) -> Iterator[SitemapRef]:
        """The children of an index that `sitemap_filter` and `sitemap_follow` select."""
        with self._isolated_filter(reporter):
            for entry in self.sitemap_filter(map(entry_of, refs)):
                ref, loc = entry.get(RECORD), entry["loc"]
                if isinstance(ref, SitemapRef) and any(each.search(loc) for each in self._follow):
                    yield ref if ref.loc == loc else attrs.evolve(ref, loc=loc)

    # --- requests ---

    def _requests(self, items: _Items, reporter: StatsReporter) -> Iterator[Request]:
        without_rule = 0
        with self._isolated_filter(reporter) if self._filters else nullcontext():  # an error of ours is no filter's
            for loc, record, change in self._pages(items):
                callback = next((callback for pattern, callback in self._cbs if pattern.search(loc)), None)
                if callback is None:
                    without_rule += 1
                elif change is None:
                    yield Request(loc, callback, meta={RECORD: record}, errback=self.sitemap_failed)
                elif self._is_allowed(loc):
                    # Scrapy drops a URL that an earlier run of the JOBDIR has requested; without that filter it does
                    # not look at allowed_domains either.
                    meta = {RECORD: record, CHANGE: change}
                    yield Request(loc, callback, meta=meta, errback=self.sitemap_failed, dont_filter=True)
        reporter.count("no_rule", without_rule)

    def _is_allowed(self, loc: str) -> bool:
        """Whether its host is one of `allowed_domains`, or below one."""
        domains, host = getattr(self, "allowed_domains", ()), urlsplit(loc).hostname or ""
        return not domains or any(f".{host}".endswith(f".{domain.lower()}") for domain in domains)

    def _listed(self, changes: Iterable[Change]) -> Iterator[Change]:
        """The changes without those of removed pages, which go to sitemap_removed()."""
        for change in changes:
            if change.change == "removed":
                self.sitemap_removed(change)
            else:
                yield change

    def _pages(self, items: _Items) -> Iterator[tuple[str, Any, Any]]:
        """Locations with their records and changes, as `sitemap_filter` and `sitemap_alternate_links` select."""
        if not (self._filters or self.sitemap_alternate_links):
            for item in items:
                yield (item.record.loc, item.record, item) if isinstance(item, Change) else (item.loc, item, None)
            return
        for entry in self.sitemap_filter(map(entry_of, items)):
            alternates = entry.get("alternate", ()) if self.sitemap_alternate_links else ()
            for loc in (entry["loc"], *filter(is_web_url, alternates)):  # not those into apps
                yield loc, entry.get(RECORD), entry.get(CHANGE)

    @contextmanager
    def _isolated_filter(self, reporter: StatsReporter) -> Iterator[None]:
        """An error in what `sitemap_filter` does or gives costs the rest of its document, as in Scrapy's own spider."""
        try:
            yield
        except Exception:
            self.logger.exception("sitemap_filter failed: the rest of its sitemap is left out")
            reporter.count("filter_errors")


def _names(name: str, value: str | Iterable[str]) -> list[str]:
    names = _SEPARATORS.split(value) if isinstance(value, str) else value
    with suppress(TypeError):
        return [each for each in names if each]
    raise UsageError(f"{name} must be URLs, or hosts, not {value!r}")
