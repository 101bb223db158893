"""The API without asyncio: urls(), changes() and discover(), which also work inside a running event loop.

In: a target, and the keywords of SitemapReader and of its method. Out: a stream for `for`, read in a thread of its own;
for the command line also streams of JSON lines and of batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import attrs

from ..model.errors import UsageError
from ..pipeline.document_parser import LineOptions
from .keywords import CHANGES_KEYWORDS, ReaderOptions, checked_keywords
from .query import Query
from .reader import SitemapReader
from .streams import BatchStream, LineStream, UrlStream
from .thread_bridge import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime
    from pathlib import Path

    from ..frontier.filters import Moment, Pattern, Undated
    from ..frontier.revalidation import Trust
    from ..model.records import Candidate, Item, Outcome, SitemapRef
    from ..serialize.jsonl import On
    from ..state.documents import StoredDocument
    from ..state.state import State
    from .dedupe import UrlSet
    from .streams import ChangeLineStream, ChangeRun, ChangeStream
    from .summary import Progress
    from .targets import Target


@checked_keywords(ReaderOptions)
def urls(
    target: str | Path | Target,
    *,
    since: Moment | None = None,
    until: Moment | None = None,
    undated: Undated = "keep",
    trust_lastmod: Trust = "auto",
    include: Pattern | Iterable[Pattern] | None = None,
    exclude: Pattern | Iterable[Pattern] | None = None,
    follow: Callable[[SitemapRef], bool] | Pattern | Iterable[Pattern] | None = None,
    no_follow: Pattern | Iterable[Pattern] | None = None,
    unique: bool | UrlSet = False,
    on_outcome: Callable[[Outcome], None] | None = None,
    on_item: Callable[[Item], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    show_progress: bool = False,
    on_wait: Callable[[], None] | None = None,
    **options: Unpack[ReaderOptions],
) -> UrlStream:
    """A stream of every URL of a site, a document or a recording, each yielded as soon as it is read.

    `target` is a host, a URL, or a folder or WARC file that `record` has written. Needs no event loop, and works inside
    a running one: a thread reads while the stream is iterated; the end of the stream or of its `with` block joins it.
    An exception in a callback ends the run, and is raised to the caller unchanged. SitemapReader.urls() is for asyncio.
    """
    reader = _own_reader(options)
    filters = (since, until, undated, trust_lastmod, include, exclude, follow, no_follow, unique)
    query = Query(*filters, on_outcome, on_item, on_progress, show_progress)
    return UrlStream(reader.crawl_run(target, query), reader.close, on_wait)


def lines(
    target: str | Path | Target,
    *,
    site: str | None = None,
    limit: int | None = None,
    since: Moment | None = None,
    until: Moment | None = None,
    undated: Undated = "keep",
    trust_lastmod: Trust = "auto",
    include: Pattern | Iterable[Pattern] | None = None,
    exclude: Pattern | Iterable[Pattern] | None = None,
    follow: Callable[[SitemapRef], bool] | Pattern | Iterable[Pattern] | None = None,
    no_follow: Pattern | Iterable[Pattern] | None = None,
    unique: bool | UrlSet = False,
    on_item: Callable[[Item], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    show_progress: bool = False,
    on_wait: Callable[[], None] | None = None,
    **options: Unpack[ReaderOptions],
) -> LineStream:
    """urls() as JSON lines, many at a time; `site` becomes a key of each line, `limit` is the most URLs to yield."""
    reader = _own_reader(options)
    filters = (since, until, undated, trust_lastmod, include, exclude, follow, no_follow, unique)
    query = Query(*filters, on_item=on_item, on_progress=on_progress, show_progress=show_progress, limit=limit)
    run = reader.crawl_run(target, query, as_lines=LineOptions(site))
    return LineStream(run, reader.close, on_wait)


def batches(
    target: str | Path | Target,
    *,
    on_outcome: Callable[[Outcome], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    show_progress: bool = False,
    on_wait: Callable[[], None] | None = None,
    **options: Unpack[ReaderOptions],
) -> BatchStream:
    """The batches of a crawl: records or UrlBatches of many URLs, references, problems and outcomes."""
    reader = _own_reader(options)
    query = Query(on_outcome=on_outcome, on_progress=on_progress, show_progress=show_progress)
    return BatchStream(reader.crawl_run(target, query, as_entries=True), reader.close, on_wait)


class ChangesOptions(ReaderOptions, total=False):
    """The keywords of SitemapReader and of its changes(), without `state`."""

    trust_lastmod: Trust
    full: bool
    dry_run: bool
    on: On
    accept_removals: bool
    include: Pattern | Iterable[Pattern] | None
    exclude: Pattern | Iterable[Pattern] | None
    follow: Callable[[SitemapRef], bool] | Pattern | Iterable[Pattern] | None
    no_follow: Pattern | Iterable[Pattern] | None
    on_outcome: Callable[[Outcome], None] | None
    on_item: Callable[[Item], None] | None
    on_document: Callable[[StoredDocument], None] | None
    on_progress: Callable[[Progress], None] | None
    show_progress: bool
    clock: Callable[[], datetime]


@checked_keywords(ChangesOptions, meanings=CHANGES_KEYWORDS)
def changes(
    target: str | Path | Target,
    *,
    state: State | str | Path,
    on_wait: Callable[[], None] | None = None,
    **options: Unpack[ChangesOptions],
) -> ChangeStream:
    """A stream of the URLs that are new, updated or removed since the last run, by the record in `state`.

    SitemapReader.changes() is the same for asyncio, and its help has the rules. A thread reads while the stream is
    iterated; the end of the stream or of its `with` block joins it, and closes a state that was given as a path.
    """
    from .streams import ChangeStream  # here: reading alone needs no database

    run, reader = _change_run(target, state, options)
    return ChangeStream(run, reader.close, on_wait)


def change_lines(
    target: str | Path | Target,
    *,
    state: State | str | Path,
    site: str | None = None,
    on_wait: Callable[[], None] | None = None,
    **options: Unpack[ChangesOptions],
) -> ChangeLineStream:
    """changes() as JSON lines, many at a time; `site` becomes a key of each line."""
    from .streams import ChangeLineStream

    run, reader = _change_run(target, state, options, site=site)
    return ChangeLineStream(run, reader.close, on_wait)


def _change_run(
    target: str | Path | Target, state: State | str | Path, options: ChangesOptions, **more: Any
) -> tuple[ChangeRun, SitemapReader]:
    """The ChangeRun and its reader; each option goes to the reader, the sync plan or the query."""
    from ..state.sync import SyncPlan

    given: dict[str, Any] = {**options}
    reading = {name: given.pop(name) for name in ReaderOptions.__annotations__ if name in given}
    planned = {name: given.pop(name) for name in attrs.fields_dict(SyncPlan) if name in given}
    on_document = given.pop("on_document", None)
    reader = _own_reader(reading)  # type: ignore[arg-type]
    return reader.change_run(target, Query(**given), state, SyncPlan(**planned), on_document, **more), reader


@checked_keywords(ReaderOptions)
def discover(
    target: str | Path | Target, *, on_item: Callable[[Item], None] | None = None, **options: Unpack[ReaderOptions]
) -> list[Candidate]:
    """Where the target's sitemaps are, and how each was found; reads no more of each than its beginning.

    What robots.txt names and the target itself are always listed; well-known paths only if they hold a sitemap, or if
    the host refused them or robots.txt: then with the status, and a `problem`. Callbacks run in another thread.
    """
    reader = _own_reader(options)

    async def run() -> list[Candidate]:
        async with reader:
            return await reader.discover(target, on_item=on_item)

    return run_in_thread(run)


def _own_reader(options: ReaderOptions) -> SitemapReader:
    """A reader for the event loop of another thread; UsageError for a session, which belongs to the caller's loop."""
    if options.get("session") is not None:
        raise UsageError("session belongs to the loop that made it: use `async with SitemapReader(session=...)`")
    return SitemapReader(**options)
