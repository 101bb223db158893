"""Scrapy's downloader as a Fetcher, and the downloader middleware that goes with it.

Proxies, throttling, cache and the other settings apply. Redirects and retries are left to the sitemap crawl.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.misc import load_object

from ...fetch.client import Response, response_headers
from ...model.errors import FetchError
from ...model.limits import CHUNK_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from scrapy.crawler import Crawler
    from scrapy.http import Response as Answer

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
