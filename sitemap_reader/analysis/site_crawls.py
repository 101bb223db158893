"""Reads sites for snapshot(), several at once: Targets and keywords in; a Part of each site out, in the order given.

One SitemapReader and one event loop in a thread read as many sites at once as its limits allow; the others wait, and
take no memory. Sites of one registrable domain are read one after the other, as the limits are of a host. Interrupted,
each Part has what was read by then. A site that cannot be read is a note.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any

import attrs

from ..client.keywords import UrlQuery
from ..client.options import QueryOptions, ReaderOptions
from ..client.progressbar import ProgressBar
from ..client.summary import Progress
from ..client.sync_api import reader_of
from ..client.thread_bridge import Bridge
from ..model.errors import ReadError
from ..model.options import part_of, with_defaults
from .notes import filter_text, omissions
from .states import Part
from .tables import SnapshotMetadata, TableBuilder, site_label

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from ..client.streams import CrawlRun
    from ..client.targets import Target
    from ..model.records import Item
    from ..pipeline.document_parser import Batch

STOPPED = "stopped before the end: only what was read until then is here"


@attrs.define(eq=False)
class _Site:
    """A site, what is read of it, and its run while it is read; `metadata` is None before its end."""

    name: str
    target: Target
    choice: str | None
    builder: TableBuilder = attrs.field(factory=TableBuilder)
    metadata: SnapshotMetadata | None = None
    notes: list[str] = attrs.field(factory=list)
    failure: ReadError | None = None
    run: CrawlRun | None = None
    ending: ExitStack = attrs.field(factory=ExitStack)

    def add_item(self, item: Item) -> None:
        self.builder.add_item(item, self.name)

    def begin(self, run: CrawlRun) -> None:
        self.run = run
        self.ending.enter_context(run.reading())

    def add(self, run: CrawlRun, batch: Batch) -> None:
        for urls in run.pieces(batch):
            self.builder.add_urls(urls, self.name)

    def end(self, run: CrawlRun) -> None:
        """Takes what the run states at its end, or where it was stopped; the run is not kept."""
        self.run = None
        builder, recorded = run.summary_builder, self.target.recorded
        began, ended = recorded or run.began, recorded or datetime.now(UTC)
        self.metadata = SnapshotMetadata(began, ended, complete=run.complete, choice=self.choice)
        self.notes = [*omissions(run.summary(), builder.outcomes, builder.problems)]


@attrs.frozen
class CrawledSites:
    """The Parts of the sites that were read, and whether the reading was stopped; `failures` say why others were not.

    `notes` are those of the whole: with the name of the site in front if there are several.
    """

    names: Sequence[str]
    parts: Sequence[Part]
    notes: Sequence[str]
    failures: Sequence[ReadError]
    is_stopped: bool


def read_sites(
    targets: Sequence[Target],
    *,
    on_progress: Callable[[Progress], None] | None,
    show_progress: bool,
    options: dict[str, Any],
) -> CrawledSites:
    """Reads the sites at once; the `group` of each Part is the place of its target.

    With `record`, one is read after the other. UsageError, before anything is read, for values that are not allowed.
    """
    from ..state.state import site_name

    choice = filter_text(options)
    sites = [_Site(site_label(site_name(target.seeds)), target, choice) for target in targets]
    crawls = _SiteCrawls(sites, on_progress, show_progress, options)
    is_stopped = False
    try:
        crawls.read()
    except KeyboardInterrupt:
        is_stopped = True
    for site in sites:
        if site.run is not None:
            site.end(site.run)
    return _crawled(sites, is_stopped=is_stopped)


class _SiteCrawls:
    """Reads sites at once: their CrawlRuns are made in the thread of the loop, and read in that of the caller."""

    def __init__(
        self,
        sites: Sequence[_Site],
        on_progress: Callable[[Progress], None] | None,
        show_progress: bool,
        options: dict[str, Any],
    ) -> None:
        self._sites = sites
        self._on_progress, self._show_progress = on_progress, show_progress
        self._groups = _groups_by_domain(sites)
        given = with_defaults(ReaderOptions, part_of(ReaderOptions, options))
        # As many as leave each the requests at once that one host may have.
        at_once = max(1, min(len(self._groups), given["concurrency"] // given["per_host"]))
        self._at_once = 1 if given["record"] else at_once
        self._reader, self._query = reader_of(options), UrlQuery(**part_of(QueryOptions, options))
        self._query.plan_fields(datetime.now(UTC))
        self._finished = Progress()

    def read(self) -> None:
        """Reads all sites. An exception ends all requests; sites that were not read to their end still have a run."""
        bridge: Bridge[tuple[_Site, CrawlRun, Batch | None]] = Bridge(self._pump)
        with ExitStack() as stack:
            for site in self._sites:
                stack.push(site.ending)
            stack.enter_context(closing(bridge))  # ended before the runs: it joins the thread that feeds them
            for site, run, batch in bridge.batches(self._wait):
                if site.run is None:
                    self._begin(site, run)
                if batch is not None:
                    site.add(run, batch)
                else:
                    self._end(site, run)

    # --- in the thread of the loop ---

    async def _pump(self, put: Callable[[Any], Awaitable[None]]) -> None:
        waiting = iter(self._groups)
        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(self._at_once):
                    tasks.create_task(self._read_some(waiting, put))
        finally:
            await self._reader.close()

    async def _read_some(self, waiting: Iterator[list[_Site]], put: Callable[[Any], Awaitable[None]]) -> None:
        for group in waiting:
            for site in group:
                await self._read_site(site, put)

    async def _read_site(self, site: _Site, put: Callable[[Any], Awaitable[None]]) -> None:
        run = self._reader.crawl_run(site.target, self._query.changed(on_item=site.add_item))
        await put((site, run, []))
        await run.crawl.run(lambda batch: put((site, run, batch)))
        await put((site, run, None))

    # --- in the thread of the caller ---

    def _begin(self, site: _Site, run: CrawlRun) -> None:
        if self._show_progress:
            taken = {other.bar.position for other in self._runs() if other.bar}
            noun = "sitemaps" if len(self._sites) == 1 else f"{site.name}: sitemaps"
            run.bar = ProgressBar(noun, position=next(each for each in count() if each not in taken))
        if (on_progress := self._on_progress) is not None:
            run.on_progress = lambda _: on_progress(self._progress())
        site.begin(run)

    def _end(self, site: _Site, run: CrawlRun) -> None:
        site.ending.close()
        try:
            run.end()
        except ReadError as failure:
            site.failure = failure
        _add_progress(self._finished, run.progress())
        site.end(run)
        site.notes += [STOPPED] * run.is_stopped

    def _wait(self) -> None:
        for run in self._runs():
            run.show_progress()
        if self._on_progress is not None:
            self._on_progress(self._progress())

    def _runs(self) -> list[CrawlRun]:
        return [site.run for site in self._sites if site.run is not None]

    def _progress(self) -> Progress:
        """The sums over all sites so far; `delay` is the longest."""
        total = attrs.evolve(self._finished)
        for run in self._runs():
            _add_progress(total, run.progress())
        return total


def _groups_by_domain(sites: Sequence[_Site]) -> list[list[_Site]]:
    """The sites, those of one registrable domain together; recordings have no host to protect."""
    groups: dict[object, list[_Site]] = {}
    for number, site in enumerate(sites):
        domain = number if site.target.replay else site.target.domain
        groups.setdefault(domain, []).append(site)
    return [*groups.values()]


def _add_progress(total: Progress, part: Progress) -> None:
    total.documents_done += part.documents_done
    total.documents_known += part.documents_known
    total.urls += part.urls
    total.bytes_wire += part.bytes_wire
    delays = [delay for delay in (total.delay, part.delay) if delay is not None]
    total.delay = max(delays, key=lambda delay: delay.seconds_left, default=None)


def _crawled(sites: Sequence[_Site], *, is_stopped: bool) -> CrawledSites:
    failures = [site.failure for site in sites if site.failure]
    notes = [STOPPED] * is_stopped + [*map(str, failures)]
    parts = []
    for number, site in enumerate(sites):
        if site.metadata is not None and not site.failure:
            parts.append(Part(site.builder.tables(), site.metadata, number))
            notes += [f"{site.name}: {note}" if len(sites) > 1 else note for note in site.notes]
    names = [site.name for site in sites if site.metadata is not None]
    return CrawledSites(names, parts, notes, failures, is_stopped)
