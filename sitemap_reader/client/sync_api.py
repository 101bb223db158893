"""The API without asyncio: urls(), changes() and discover(), which also work inside a running event loop."""

from __future__ import annotations

import asyncio
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from ..model.options import part_of
from .keywords import UrlQuery, checked_keywords
from .options import ChangesOptions, DiscoverOptions, ItemOptions, QueryOptions, ReaderOptions, SyncOptions, UrlsOptions
from .reader import SitemapReader
from .streams import ChangeRun, CrawlRun, Stream
from .thread_bridge import Bridge

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
    from pathlib import Path

    from ..frontier.robots_rules import Rules
    from ..model.records import Candidate, Change, UrlRecord
    from ..model.url_batch import UrlBatch
    from ..pipeline.document_parser import Batch
    from ..pipeline.page_fetcher import PageResponse
    from ..state.diff_rules import ChangePiece
    from .targets import Target

Output = TypeVar("Output")


@checked_keywords(UrlsOptions)
def urls(target: str | Path | Target, **options: Unpack[UrlsOptions]) -> Stream[UrlRecord]:
    """A stream of every URL of a site, a document or a recording, each yielded as soon as it is read.

    `target` is a host, a URL, or a folder or WARC file that `record` has written. Needs no event loop, and works inside
    a running one: a thread reads while the stream is iterated; the end of the stream or of its `with` block joins it.
    An exception in a callback ends the run, and is raised to the caller unchanged. SitemapReader.urls() is for asyncio.
    """
    return _stream(*_crawl_run(target, options), CrawlRun.records, options)


def url_batches(target: str | Path | Target, **options: Unpack[UrlsOptions]) -> Stream[UrlBatch]:
    """urls() as UrlBatches, many URLs at a time."""
    return _stream(*_crawl_run(target, options), CrawlRun.pieces, options)


def batches(target: str | Path | Target, **options: Unpack[UrlsOptions]) -> Stream[Batch]:
    """The batches of a crawl: UrlBatches, references, problems and outcomes, in document order."""
    return _stream(*_crawl_run(target, options), CrawlRun.items, options)


def page_responses(
    target: Target,
    urls: Sequence[str],
    rules_of: Callable[[str], Rules | None],
    *,
    on_wait: Callable[[], None] = lambda: None,
    **options: Unpack[ReaderOptions],
) -> Generator[PageResponse]:
    """The responses for pages of a target, as they come; closing the iterator cancels the pending requests."""
    reader = SitemapReader(**options)  # a `fetcher` is used on another event loop than for the sitemaps

    async def fetch(put: Callable[[PageResponse], Awaitable[None]]) -> None:
        async with reader:
            await reader.page_fetcher(target, rules_of).run(urls, put)

    with closing(Bridge(fetch)) as bridge:
        yield from bridge.batches(on_wait)


@checked_keywords(ChangesOptions)
def changes(target: str | Path | Target, **options: Unpack[ChangesOptions]) -> Stream[Change]:
    """A stream of the URLs that are new, updated or removed since the last run, by the record in `state`.

    SitemapReader.changes() is the same for asyncio, and its help has the rules. A thread reads while the stream is
    iterated; the end of the stream or of its `with` block joins it, and closes a state that was given as a path.
    """
    return _stream(*_change_run(target, options), ChangeRun.changes, options)


def change_pieces(target: str | Path | Target, **options: Unpack[ChangesOptions]) -> Stream[ChangePiece]:
    """changes(), many at a time: new URLs as UrlBatches, the others as lists."""
    return _stream(*_change_run(target, options), ChangeRun.pieces, options)


@checked_keywords(DiscoverOptions)
def discover(target: str | Path | Target, **options: Unpack[DiscoverOptions]) -> list[Candidate]:
    """Where the target's sitemaps are, and how each was found; reads no more of each than its beginning.

    What robots.txt names and the target itself are always listed; well-known paths only if they hold a sitemap, or if
    the host refused them or robots.txt: then with the status, and a `problem`. Callbacks run in another thread.
    """
    reader = reader_of(options)

    async def find(put: Callable[[list[Candidate]], Awaitable[None]]) -> None:
        async with reader:
            await put(await reader.discover(target, **part_of(ItemOptions, options)))

    with closing(Bridge(find)) as bridge:
        for candidates in bridge.batches(on_wait=lambda: None):
            return candidates
    raise asyncio.CancelledError


def _crawl_run(target: str | Path | Target, options: UrlsOptions) -> tuple[CrawlRun, SitemapReader]:
    reader = reader_of(options)
    return reader.crawl_run(target, UrlQuery(**part_of(QueryOptions, options))), reader


def _change_run(target: str | Path | Target, options: ChangesOptions) -> tuple[ChangeRun, SitemapReader]:
    reader = reader_of(options)
    return reader.change_run(target, options["state"], part_of(SyncOptions, options)), reader


def _stream(
    run: CrawlRun,
    reader: SitemapReader,
    view: Callable[[Any, Batch | None], Iterator[Output]],
    options: UrlsOptions | ChangesOptions,
) -> Stream[Output]:
    return Stream(run, partial(view, run), reader.close, options.get("on_wait"))


def reader_of(options: Mapping[str, object]) -> SitemapReader:
    return SitemapReader(**part_of(ReaderOptions, options))
