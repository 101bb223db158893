"""SitemapReader, for asyncio, and Reader, for programs without it: several sites with one network and one pacing.

Both make streams from the runs of a Crawler; a Reader reads them all on one event loop in a thread.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack

from .client.crawler import Crawler, discover_in_thread
from .client.keywords import UrlQuery, checked_keywords
from .client.options import (
    ItemOptions,
    QueryOptions,
    ReaderOptions,
    SessionOptions,
    StateSyncOptions,
    StreamChangesOptions,
    StreamUrlsOptions,
)
from .client.streams import AsyncChangeStream, AsyncStream, ChangeStream, LoopThread, Stream
from .model.options import part_of
from .watching.options import ReaderWatchOptions

if TYPE_CHECKING:
    from .client.targets import Target
    from .model.records import Candidate, UrlRecord
    from .watching.api import AsyncWatchStream

_METHOD_KEYWORDS = {
    "its urls()": QueryOptions.__annotations__,
    "its changes()": StateSyncOptions.__annotations__,
    "its watch()": ReaderWatchOptions.__annotations__,
}
_READER_KEYWORDS = {"SitemapReader": SessionOptions.__annotations__}
_SYNC_READER_KEYWORDS = {"Reader": ReaderOptions.__annotations__}


class SitemapReader:
    """Reads sites with asyncio: `async with SitemapReader() as reader`, then reader.urls(), changes() or discover().

    One reader may read several sites, one after the other or at once; it owns their connections, and belongs to the
    event loop in which it was first used. `concurrency`, `per_host`, `delay`, and each Crawl-delay and Retry-After hold
    for all its streams together. A stream that is not read on keeps others waiting for a second at most.
    """

    @checked_keywords(SessionOptions, elsewhere=_METHOD_KEYWORDS)
    def __init__(self, **options: Unpack[SessionOptions]) -> None:
        """Opens no connection yet. UsageError for values that are not allowed."""
        self.crawler = Crawler(**options)  # for the adapters of this package
        self._watches: weakref.WeakSet[AsyncWatchStream] = weakref.WeakSet()

    def __dir__(self) -> list[str]:  # as completion shows it
        return [*({*super().__dir__()} - {"crawler"})]

    def __repr__(self) -> str:
        return f"<SitemapReader: {self.crawler}>"

    async def __aenter__(self) -> Self:
        await self.crawler.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the streams, which are not complete then, and closes the connections; a session of your own stays open.

        Watches end as by their own close(), which may raise. A stream that is made later opens connections again, and
        closes them at its end.
        """
        closing = (watch.close() for watch in [*self._watches])
        try:
            ended = await asyncio.gather(*closing, return_exceptions=True)
        finally:
            await self.crawler.close()
        if error := next(filter(None, ended), None):
            raise error

    @checked_keywords(QueryOptions, elsewhere=_READER_KEYWORDS)
    def urls(self, target: str | Path | Target, **query: Unpack[QueryOptions]) -> AsyncStream[UrlRecord]:
        """A stream of every URL of a site, a document or a recording, each yielded as soon as it is read.

        `target` is a host, a URL, or a folder or WARC file that `record` has written; with `base` a folder or a file.
        An exception in a callback ends the run, and is raised to the caller unchanged.
        """
        return AsyncStream(self.crawler.crawl_run(target, UrlQuery(**query)))

    @checked_keywords(StateSyncOptions, elsewhere=_READER_KEYWORDS)
    def changes(self, target: str | Path | Target, **options: Unpack[StateSyncOptions]) -> AsyncChangeStream:
        """A stream of the URLs that are new, updated or removed since the last run, by the record in `state`.

        Sitemaps that are unchanged are not read again. A URL that is new in a run is reported once, by the first
        listing that is read; a newer one in the same run changes the state alone. A URL that moves to another sitemap
        is no change. A URL is removed when no document lists it any more and all of them were read whole, or are
        unchanged; never for having left a feed or a news sitemap. A sitemap that is not found counts as gone a day
        later, or when an index that was read whole does not list it.

        `include`, `exclude`, `follow`, `no_follow` and the reader's `scope` have to be the same in each run; others
        need `full`. A change is delivered when the next one is requested, one of a list of batches() when the next list
        is, and with `ack="manual"` by commit(); what was not delivered is found again in the next run. StateError, at
        once, for a file that cannot be used.
        """
        return AsyncChangeStream(self.crawler.change_run(target, options))

    @checked_keywords(ItemOptions, elsewhere=_READER_KEYWORDS)
    async def discover(self, target: str | Path | Target, **options: Unpack[ItemOptions]) -> list[Candidate]:
        """Where the target's sitemaps are, and how each was found; reads no more of each than its beginning.

        What robots.txt names and the target itself are always listed; links of the start page and well-known paths only
        if they hold a sitemap, or if the host refused them or robots.txt: then with the status, and a `problem`.
        """
        return await self.crawler.discover(target, options.get("on_item"))

    @checked_keywords(ReaderWatchOptions, elsewhere=_READER_KEYWORDS)
    def watch(self, hosts: str | Path | Iterable[str], **options: Unpack[ReaderWatchOptions]) -> AsyncWatchStream:
        """Changes of sites as they are found, without end, as sr.watch() finds them: its help has the rules.

        For `async with` and `async for`. Visits, sinks and callbacks run in the caller's event loop, with the
        connections of this reader, which stays open. StateError, at once, for a file that cannot be used.
        """
        from .watching.api import watch_with  # here: reading needs no server

        watch = watch_with(self.crawler, hosts, options)
        self._watches.add(watch)
        return watch


class Reader:
    """Reads several sites without asyncio: `with Reader() as reader`, then reader.urls(), changes() or discover().

    They take what sr.urls(), sr.changes() and sr.discover() do, but all streams of a reader use one thread and its
    connections, and its limits hold for them together, as of a SitemapReader. Several threads may use it.
    """

    @checked_keywords(ReaderOptions)
    def __init__(self, **options: Unpack[ReaderOptions]) -> None:
        """Starts no thread yet. UsageError for values that are not allowed."""
        self._crawler = Crawler(**options)
        self._loop = LoopThread(self._crawler.close)
        weakref.finalize(self, self._loop.close)  # also at the exit of the interpreter

    def __repr__(self) -> str:
        return f"<Reader{', closed' if self._loop.is_closed else ''}: {self._crawler}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the streams, which are not complete then, closes the connections, and joins the thread.

        May be called twice. What a stream has read until then still comes. One that is made later raises UsageError.
        """
        self._loop.close()

    @checked_keywords(StreamUrlsOptions, elsewhere=_SYNC_READER_KEYWORDS)
    def urls(self, target: str | Path | Target, **options: Unpack[StreamUrlsOptions]) -> Stream[UrlRecord]:
        """As sr.urls(): a stream of every URL of a site, a document or a recording."""
        run = self._crawler.crawl_run(target, UrlQuery(**part_of(QueryOptions, options)))
        return Stream(run, on_wait=options.get("on_wait"), loop=self._loop)

    @checked_keywords(StreamChangesOptions, elsewhere=_SYNC_READER_KEYWORDS)
    def changes(self, target: str | Path | Target, **options: Unpack[StreamChangesOptions]) -> ChangeStream:
        """As sr.changes(): a stream of the URLs that are new, updated or removed since the last run."""
        run = self._crawler.change_run(target, part_of(StateSyncOptions, options))
        return ChangeStream(run, on_wait=options.get("on_wait"), loop=self._loop)

    @checked_keywords(ItemOptions, elsewhere=_SYNC_READER_KEYWORDS)
    def discover(self, target: str | Path | Target, **options: Unpack[ItemOptions]) -> list[Candidate]:
        """As sr.discover(): where the target's sitemaps are, and how each was found."""
        return discover_in_thread(self._crawler, target, options.get("on_item"), self._loop)
