"""Several sites read at once: targets and the keywords of urls() in; the UrlBatches of each, as they come, out.

One SitemapReader and one event loop in a thread read as many sites at once as its limits allow; the others wait, and
take no memory. Sites of one registrable domain are read one after the other, as the limits are of a host.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import attrs

from ..model.options import part_of, with_defaults
from .options import QueryOptions, ReaderOptions
from .progressbar import ProgressBar
from .query import UrlQuery
from .summary import Progress
from .sync_api import reader_of
from .thread_bridge import Bridge

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence

    from ..model.records import Item
    from ..model.url_batch import UrlBatch
    from .streams import CrawlRun
    from .targets import Target


class SitesReader:
    """Reads sites at once, each as a CrawlRun; `numbers` of sites are their places in `targets`.

    With `record`, one is read after the other. UsageError, before anything is read, for values that are not allowed.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        names: Sequence[str],
        *,
        on_item: Callable[[int, Item], None],
        on_progress: Callable[[Progress], None] | None = None,
        show_progress: bool = False,
        **options: Any,
    ) -> None:
        self._targets, self._names = targets, names
        self._groups = _groups_by_domain(targets)
        given = with_defaults(ReaderOptions, part_of(ReaderOptions, options))
        # As many as leave each the requests at once that one host may have.
        at_once = max(1, min(len(self._groups), given["concurrency"] // given["per_host"]))
        self._at_once = 1 if given["record"] else at_once
        self._reader, self._query = reader_of(options), UrlQuery(**part_of(QueryOptions, options))
        self._query.plan_fields(datetime.now(UTC))
        self._on_item, self._on_progress = on_item, on_progress
        self._show_progress = show_progress
        self._finished = Progress()
        self._endings: dict[int, ExitStack] = {}
        self.runs: dict[int, CrawlRun] = {}  # those that have begun, and not ended

    def batches(self) -> Generator[tuple[int, CrawlRun, UrlBatch | None], None, None]:
        """(number, run, URLs) as they come, once; None in place of URLs where a site has ended.

        Closing it, or an exception, ends all requests; `runs` then has the sites that were not read to their end.
        """
        bridge = Bridge(self._pump)
        with ExitStack() as stack:
            stack.callback(self._end_all)
            stack.enter_context(closing(bridge))  # before the runs: it joins the thread that feeds them
            events: Iterator[Any] = bridge.batches(self._wait)  # what _read_some() puts
            for event in events:
                yield from self._handle(*event)

    def progress(self) -> Progress:
        """The sums over all sites so far; `delay` is the longest."""
        total = attrs.evolve(self._finished)
        for run in self.runs.values():
            _add_progress(total, run.progress())
        return total

    # --- in the thread of the loop ---

    async def _pump(self, put: Callable[[Any], Awaitable[None]]) -> None:
        waiting = iter(self._groups)
        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(self._at_once):
                    tasks.create_task(self._read_some(waiting, put))
        finally:
            await self._reader.close()

    async def _read_some(self, waiting: Iterator[list[int]], put: Callable[[Any], Awaitable[None]]) -> None:
        for group in waiting:
            for number in group:
                await self._read_site(number, put)

    async def _read_site(self, number: int, put: Callable[[Any], Awaitable[None]]) -> None:
        query = self._query.changed(on_item=partial(self._on_item, number))
        run = self._reader.crawl_run(self._targets[number], query)
        await put((number, run, ()))
        await run.crawl.run(lambda batch: put((number, run, batch)))
        await put((number, run, None))

    # --- in the thread of the caller ---

    def _handle(self, number: int, run: CrawlRun, batch: Any) -> Iterator[tuple[int, CrawlRun, UrlBatch | None]]:
        if number not in self.runs:
            self._begin(number, run)
        if batch is not None:
            for urls in run.url_batches(batch):
                yield number, run, urls
            return
        run.has_ended = True
        run.report_progress()
        self._endings.pop(number).close()
        del self.runs[number]
        _add_progress(self._finished, run.progress())
        yield number, run, None

    def _begin(self, number: int, run: CrawlRun) -> None:
        if self._show_progress:
            taken = {other.bar.position for other in self.runs.values() if other.bar}
            noun = "sitemaps" if len(self._targets) == 1 else f"{self._names[number]}: sitemaps"
            run.bar = ProgressBar(noun, position=next(each for each in count() if each not in taken))
        if (on_progress := self._on_progress) is not None:
            run.on_progress = lambda _: on_progress(self.progress())
        self.runs[number] = run
        self._endings[number] = ExitStack()
        self._endings[number].enter_context(run.reading())

    def _wait(self) -> None:
        for run in self.runs.values():
            run.show_progress()
        if self._on_progress is not None:
            self._on_progress(self.progress())

    def _end_all(self) -> None:
        with ExitStack() as stack:
            for ending in self._endings.values():
                stack.push(ending)
            self._endings = {}


def _groups_by_domain(targets: Sequence[Target]) -> list[list[int]]:
    """The numbers of the targets, those of one registrable domain together; recordings have no host to protect."""
    groups: dict[object, list[int]] = {}
    for number, target in enumerate(targets):
        domain = number if target.replay else target.domain
        groups.setdefault(domain, []).append(number)
    return [*groups.values()]


def _add_progress(total: Progress, part: Progress) -> None:
    total.documents_done += part.documents_done
    total.documents_known += part.documents_known
    total.urls += part.urls
    total.bytes_wire += part.bytes_wire
    delays = [delay for delay in (total.delay, part.delay) if delay is not None]
    total.delay = max(delays, key=lambda delay: delay.seconds_left, default=None)
