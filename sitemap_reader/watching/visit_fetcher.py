"""VisitFetcher: the network of one visit: answers robots.txt from earlier visits, counts requests, notes headers.

In: requests of a crawl. Out: their responses; what the watch learns from them.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import aclosing, asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

import attrs

from ..fetch.client import Response
from ..fetch.replay import AsyncChunks
from ..frontier.host_queue import retry_after
from ..frontier.responses import NO_DOCUMENT, REFUSED
from ..model.errors import FetchError, UsageError
from ..parser.normalise.urls import is_robots_txt, origin
from ..state.watch_data import StoredResponse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
    from datetime import datetime

    from ..fetch.client import Fetcher

_KEPT_HEADERS = ("content-type", "content-encoding", "location")
_MAX_AGE = re.compile(r"(?:^|[\s,])(?:s-maxage|max-age)\s*=\s*\"?(\d{1,9})", re.IGNORECASE)
_BUSY = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})


@attrs.define(eq=False, repr=False)
class VisitFetcher:
    """A Fetcher that answers from `stored` (URL -> response) and for the rest from another one.

    `new_responses` are those to store: of robots.txt, but for refusals and server errors, which may be over at the next
    visit. `stored_at` is when the oldest stored one that was used had been received. `requests` counts what was sent,
    `statuses` the responses by class, `failures` those without a response, refused or answered with a server error.
    `max_ages` has the seconds of Cache-Control by URL, `retry_after` is the longest in seconds of a Retry-After,
    `last_request` the time of the last request to each origin. Times are seconds since 1970, UTC.
    """

    _fetcher: Fetcher
    _stored: Mapping[str, StoredResponse]
    _clock: Callable[[], datetime]
    _on_request: Callable[[str], None]
    new_responses: list[StoredResponse] = attrs.field(factory=list, init=False)
    stored_at: float | None = attrs.field(default=None, init=False)
    requests: int = attrs.field(default=0, init=False)
    statuses: Counter[str] = attrs.field(factory=Counter, init=False)
    failures: int = attrs.field(default=0, init=False)
    max_ages: dict[str, float] = attrs.field(factory=dict, init=False)
    retry_after: float = attrs.field(default=0.0, init=False)
    last_request: dict[str, float] = attrs.field(factory=dict, init=False)

    @asynccontextmanager
    async def fetch(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        """Opens the stored response, or requests it; as Fetcher.fetch()."""
        stored = self._stored.get(url)
        if stored is not None:
            at = stored.at.timestamp()
            self.stored_at = at if self.stored_at is None else min(at, self.stored_at)
            yield Response(stored.status, stored.headers, AsyncChunks(iter([stored.body])), url)
            return
        self._count(url)
        try:
            async with self._fetcher.fetch(url, headers) as response:
                if not isinstance(response.status, int):
                    raise UsageError(f"the status of a Response is a whole number, not {response.status!r:.60}")
                self._note(url, response)
                async with aclosing(self._passed_on(url, response)) as chunks:
                    yield attrs.evolve(response, chunks=chunks)
        except FetchError:
            self.failures += 1
            self.statuses["failed"] += 1
            raise

    def _count(self, url: str) -> None:
        self.requests += 1
        self.last_request[origin(url)] = self._clock().timestamp()
        self._on_request(url)

    def _note(self, url: str, response: Response) -> None:
        now, status = self._clock(), response.status
        self.statuses["304" if status == HTTPStatus.NOT_MODIFIED else f"{status // 100}xx"] += 1
        if response.status in _BUSY:
            self.retry_after = max(self.retry_after, retry_after(response.headers.get("retry-after"), now) or 0.0)
        self.failures += status in REFUSED | NO_DOCUMENT or status >= HTTPStatus.INTERNAL_SERVER_ERROR
        if is_robots_txt(url) and response.status in range(300, 500) and response.status not in REFUSED:
            self._keep(url, response, b"")  # its body is not read
        if found := _MAX_AGE.search(response.headers.get("cache-control", "")):
            self.max_ages[url] = float(found[1])

    async def _passed_on(self, url: str, response: Response) -> AsyncGenerator[bytes, None]:
        """The body; of a robots.txt a copy is kept once it has been read to its end.

        UsageError for chunks of a caller's fetcher that are not bytes: else it would be an internal error of a site.
        """
        is_kept, body = is_robots_txt(url), bytearray()
        async for chunk in response.chunks:
            if not isinstance(chunk, bytes | bytearray | memoryview):
                raise UsageError(f"the chunks of a Response are bytes, not {type(chunk).__name__}")
            if is_kept:
                body += chunk
            yield chunk
        if is_kept:
            self._keep(url, response, bytes(body))

    def _keep(self, url: str, response: Response, body: bytes) -> None:
        headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
        self.new_responses.append(StoredResponse(url, self._clock(), response.status, headers, body))
