"""What SitemapReader does, without a loop of one's own, also inside a running one: reading goes on in a thread.

In: a target, and the keywords of SitemapReader and of its method. Out: the same, by `for`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import attrs

from ..model.errors import UsageError
from ..pipeline.document_parser import LineOptions
from ..pipeline.worker_pool import pool_for_jobs
from .query import Asked, checked_keywords
from .reader import ReaderOptions, SitemapReader, at_least_one
from .streams import BatchStream, LineStream, UrlStream
from .thread_bridge import call

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
    from .streams import ChangeLineStream, ChangeStream, ChangeWalk
    from .summary import Progress
    from .targets import Target


def _reader_keywords() -> Iterable[str]:
    return ReaderOptions.__annotations__


@checked_keywords(_reader_keywords)
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
    """SitemapReader.urls() without a loop of one's own, also inside a running one; `options` are SitemapReader's.

    Reading goes on in a thread while the stream is iterated; leaving its block, or its end, joins that thread.
    `on_wait` is called a few times a second while there is nothing to iterate over.
    """
    reader = _own_reader(options)
    filters = (since, until, undated, trust_lastmod, include, exclude, follow, no_follow, unique)
    asked = Asked(*filters, on_outcome, on_item, on_progress, show_progress)
    return UrlStream(reader.walk(target, asked), reader.close, on_wait)


def lines(
    target: str | Path | Target,
    *,
    site: str | None = None,
    jobs: int | None = None,
    most: int | None = None,
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
    """urls() as JSON lines, many at a time: for who only writes them. `site` is a key that each of them gets.

    `jobs` processes read them, None: as many as there are cores, once the site proves large; 1 is this one alone. No
    more than `most` lines are given.
    """
    at_least_one(jobs=jobs)
    reader = _own_reader(options)
    filters = (since, until, undated, trust_lastmod, include, exclude, follow, no_follow, unique)
    asked = Asked(*filters, on_item=on_item, on_progress=on_progress, show_progress=show_progress, most=most)
    walk = reader.walk(target, asked, as_lines=LineOptions(site), workers=pool_for_jobs(jobs))
    return LineStream(walk, reader.close, on_wait)


def batches(
    target: str | Path | Target,
    *,
    jobs: int | None = None,
    on_outcome: Callable[[Outcome], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    show_progress: bool = False,
    on_wait: Callable[[], None] | None = None,
    **options: Unpack[ReaderOptions],
) -> BatchStream:
    """All that urls() reads and tells, many URLs of a sitemap at a time; `jobs` as in lines()."""
    at_least_one(jobs=jobs)
    reader = _own_reader(options)
    asked = Asked(on_outcome=on_outcome, on_progress=on_progress, show_progress=show_progress)
    return BatchStream(reader.walk(target, asked, as_entries=True, workers=pool_for_jobs(jobs)), reader.close, on_wait)


class ChangesOptions(ReaderOptions, total=False):
    """The keywords of SitemapReader and of its changes(), but for `state`."""

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


@checked_keywords(lambda: ChangesOptions.__annotations__)
def changes(
    target: str | Path | Target,
    *,
    state: State | str | Path,
    on_wait: Callable[[], None] | None = None,
    **options: Unpack[ChangesOptions],
) -> ChangeStream:
    """SitemapReader.changes() without a loop of one's own; `options` are its keywords, and those of SitemapReader.

    Reading goes on in a thread while the stream is iterated; leaving its block, or its end, joins that thread, and
    closes a state that was named by its file. `on_wait` is as in urls().
    """
    from .streams import ChangeStream  # here: who only reads needs no database

    walk, reader = _change_walk(target, state, options)
    return ChangeStream(walk, reader.close, on_wait)


def change_lines(
    target: str | Path | Target,
    *,
    state: State | str | Path,
    site: str | None = None,
    jobs: int | None = None,
    on_wait: Callable[[], None] | None = None,
    **options: Unpack[ChangesOptions],
) -> ChangeLineStream:
    """changes() as JSON lines, many at a time; `site` and `jobs` are as in lines()."""
    from .streams import ChangeLineStream

    at_least_one(jobs=jobs)
    walk, reader = _change_walk(target, state, options, site=site, workers=pool_for_jobs(jobs))
    return ChangeLineStream(walk, reader.close, on_wait)


def _change_walk(
    target: str | Path | Target, state: State | str | Path, options: ChangesOptions, **more: Any
) -> tuple[ChangeWalk, SitemapReader]:
    """Hands each option on to whom it is for."""
    from ..state.sync import SyncPlan

    given: dict[str, Any] = {**options}
    reading = {name: given.pop(name) for name in ReaderOptions.__annotations__ if name in given}
    planned = {name: given.pop(name) for name in attrs.fields_dict(SyncPlan) if name in given}
    on_document = given.pop("on_document", None)
    reader = _own_reader(reading)  # type: ignore[arg-type]
    return reader.change_walk(target, Asked(**given), state, SyncPlan(**planned), on_document, **more), reader


@checked_keywords(_reader_keywords)
def discover(
    target: str | Path | Target, *, on_item: Callable[[Item], None] | None = None, **options: Unpack[ReaderOptions]
) -> list[Candidate]:
    """SitemapReader.discover() without a loop of one's own; `options` are SitemapReader's.

    `on_item` is called from another thread.
    """
    reader = _own_reader(options)

    async def ask() -> list[Candidate]:
        async with reader:
            return await reader.discover(target, on_item=on_item)

    return call(ask)


def _own_reader(options: ReaderOptions) -> SitemapReader:
    """A reader for a loop in a thread of its own, where a session of the caller's loop is of no use."""
    if options.get("session") is not None:
        raise UsageError("session belongs to the loop that made it: use `async with SitemapReader(session=...)`")
    return SitemapReader(**options)
