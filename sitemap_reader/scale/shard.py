"""harvest_shard(): reads one shard of a harvest, on a worker of any engine.

A Shard is a value that is sent to the worker: its folder, its number, and a HarvestConfig, checked keywords of
harvest(). Several hosts are read at once, those of one registrable domain one after the other. A shard that has a
manifest is not read again; one that fails leaves no files. An error of one host is a verdict in its row; an error of
this machine (files, memory) is raised.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, aclosing, suppress
from datetime import UTC, datetime
from errno import EMFILE, ENFILE, ENOMEM, ENOSPC
from socket import gethostname
from typing import TYPE_CHECKING, Any

import attrs

from ..client.crawler import Crawler
from ..client.keywords import UrlQuery
from ..client.options import FilterOptions, ReaderOptions
from ..client.streams import ChangeRun
from ..client.summary import held_back_text
from ..client.targets import read_netrc, site_target
from ..frontier.plan import make_window
from ..model.errors import NothingFound, StateError, UsageError, internal_error
from ..model.limits import Limits
from ..model.options import one_of_types, part_of, with_defaults
from ..model.problems import report
from ..pipeline.crawl import first_failure
from ..pipeline.executor import ThreadPool
from ..serialize.jsonl import stamp
from .folder import NAMED, SUMS, HostRow, ShardWriter
from .hosts import by_domain
from .options import HostOptions
from .report import ShardProgress

if TYPE_CHECKING:
    from ..client.streams import CrawlRun
    from ..pipeline.document_parser import Batch
    from ..state.diff_rules import ChangePiece
    from .folder import HarvestFolder, HostVerdict


@attrs.frozen
class _HostReader:
    """Reads one host into the shard's files, with limits on its time and URLs.

    The time limit is that of Limits.site_seconds: it does not count while others of the shard are written. All that
    touches files runs in `worker_thread`.
    """

    _target: str
    _domain: str
    _config: HarvestConfig
    _writer: ShardWriter
    _worker_thread: ThreadPool
    _progress: ShardProgress

    async def read(self) -> HostRow:
        started, read_at = time.monotonic(), datetime.now(UTC)
        async with Crawler(**self._config.reader_options) as crawler:
            run = await self._worker_thread.run(self._crawl_run, crawler)
            run.crawl.end_after(self._config.hosts["host_seconds"], _remedy("host_seconds"))
            verdict, why = await self._read_run(run)
        summary = run.summary()
        return HostRow(
            self._target,
            self._domain,
            verdict,
            why,
            urls=summary.urls,
            sitemaps=summary.sitemaps,
            problems=summary.problems,
            bytes_wire=run.progress().bytes_wire,
            read_at=read_at,
            seconds=round(time.monotonic() - started, 3),
        )

    def _crawl_run(self, crawler: Crawler) -> CrawlRun:
        options: dict[str, Any] = {**self._config.filters}
        options["on_item"] = lambda item: self._writer.add_item(item, self._target)
        site, state = site_target(self._target), self._writer.state
        if state is None:
            return crawler.crawl_run(site, UrlQuery(**options))
        options["accept_removals"] = self._config.hosts["accept_removals"]
        return crawler.change_run(site, {"state": state, **options})  # type: ignore[typeddict-item] # with these keys

    async def _read_run(self, run: CrawlRun) -> tuple[HostVerdict, str | None]:
        ending = ExitStack()
        ending.enter_context(run.reading())
        try:
            left = await self._read_all_batches(run)
            if left is None:
                await self._worker_thread.run(self._write, run.pieces(None))
        finally:
            await asyncio.shield(self._worker_thread.run(ending.close))  # also where the host is skipped meanwhile
        return left or _verdict(run)

    async def _read_all_batches(self, run: CrawlRun) -> tuple[HostVerdict, str] | None:
        """The verdict where the host is skipped or has failed, else None."""
        async with aclosing(run.crawl.batches()) as batches:
            while True:
                try:
                    batch = await anext(batches)
                except StopAsyncIteration:
                    return ("given_up", run.crawl.over_time.message) if run.crawl.over_time else None
                except Exception as exc:
                    # This machine is out of memory, disk space or open files.
                    if isinstance(exc, MemoryError) or getattr(exc, "errno", None) in (EMFILE, ENFILE, ENOMEM, ENOSPC):
                        raise
                    # A defect in reading one host must not end the shard.
                    return "failed", internal_error(exc)
                await self._worker_thread.run(self._write_batch, run, batch)
                if self._progress.urls > self._config.hosts["host_urls"]:
                    message = f"after {self._progress.urls:,} URLs: reading stops here; {_remedy('host_urls')}"
                    await self._worker_thread.run(run.count, [report("S16", message, sitemap=self._target)])
                    return "given_up", message

    def _write_batch(self, run: CrawlRun, batch: Batch) -> None:
        self._write(run.pieces(batch))
        progress = run.progress()
        self._progress.urls, self._progress.bytes_wire = progress.urls, progress.bytes_wire

    def _write(self, pieces: Iterator[ChangePiece]) -> None:
        for piece in pieces:
            self._writer.add_urls(piece, self._target)


def _remedy(option: str) -> str:
    return f"raise {option} (--{option.replace('_', '-')}) to go on"


def _verdict(run: CrawlRun) -> tuple[HostVerdict, str | None]:
    """The verdict on a host that was read to its end, and why."""
    run.has_ended = True
    summary, error = run.summary(), run.verdict()
    if error is not None:
        if isinstance(error, NothingFound):
            return "nothing", str(error)
        return ("blocked" if run.summary_builder.blocked else "unreadable"), str(error)
    held_back = run.state_sync.counts.held_back if isinstance(run, ChangeRun) else 0
    if held_back:
        return "partial", held_back_text(held_back)
    if not summary.complete:
        return "partial", summary.missing()
    if summary.urls or summary.dropped or summary.unwanted or summary.pruned or summary.not_modified:
        return "complete", None
    return "nothing", "its sitemaps list no URL"


# Between reports of progress.
PROGRESS_SECONDS = 1.0


def harvest_shard(shard: Shard, on_progress: Callable[[ShardProgress], None] | None = None) -> dict[str, Any]:
    """Reads the hosts of a shard of plan_harvest() into its Parquet files, in this process, and returns its manifest.

    The manifest is a dict of JSON values, also written to manifests/: `shard`, its number; `hosts` and `verdicts`;
    counts of `urls`, `sitemaps`, `problems` and `bytes_wire`; `rows` and `bytes` of each file; `seconds`.

    It can be called again, and by several workers at once. A shard that is done is not read again. Files appear in the
    folder when all of the shard are complete, so that a worker that dies leaves none; a later call begins the shard
    anew, and ends an earlier one that still runs, within seconds, by HarvestCancelled.

    The limit on open files is raised to the maximum of this process, as each connection is one. `on_progress` is called
    each second. UsageError where the folder is not there; OSError or StateError where files cannot be written;
    HarvestCancelled where another call, or a resumed harvest, has taken the shard over.
    """
    one_of_types("a shard of plan_harvest()", Shard)("shard", shard)
    folder = shard.folder
    if not folder.path.is_dir():
        raise UsageError(f"{gethostname()} sees no folder {folder.path}: all workers must see it under the same name")
    _permit_many_files()
    return folder.manifest(shard.number) or _run(_ShardReader(shard, on_progress).read())


def _permit_many_files() -> None:
    """Raises the limit on open files, often 1,024, to the maximum: each connection is one."""
    if sys.platform == "win32":
        return
    import resource

    with suppress(OSError, ValueError):
        _, maximum = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (maximum, maximum))


def _run(reading: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    """Runs it on an event loop; where one runs already, as in a notebook, on one in another thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(reading)
    with ThreadPoolExecutor(1, "sitemap-reader-shard") as thread:
        return thread.submit(asyncio.run, reading).result()


class _ShardReader:
    def __init__(self, shard: Shard, on_progress: Callable[[ShardProgress], None] | None) -> None:
        self._folder = shard.folder
        self._number = shard.number
        self._config = shard.config
        self._on_progress = on_progress or (lambda progress: None)
        self._domains = by_domain(shard.hosts)
        # All hosts write their files, and use the state, in this one thread.
        self._worker_thread = ThreadPool("sitemap-reader-parts")
        self._running: dict[str, ShardProgress] = {}
        # The manifest so far: of the hosts that are done.
        self._totals: dict[str, Any] = {"hosts": 0, "verdicts": {}, **dict.fromkeys(SUMS, 0), "given_up": []}

    async def read(self) -> dict[str, Any]:
        started = time.monotonic()
        shared_by = self._config.hosts["hosts_at_once"] if self._config.hosts["state"] else None
        writer = ShardWriter(self._folder, self._number, state_shared_by=shared_by)
        try:
            await self._read_all(writer)
            seconds = round(time.monotonic() - started, 3)
            return await self._worker_thread.run(writer.publish, {**self._totals, "seconds": seconds})
        except (OSError, StateError):
            if writer.is_gone:  # the folder was removed: the error is not the disk's
                raise self._folder.cancelled() from None
            raise
        finally:
            try:
                await self._worker_thread.run(writer.close)  # after what skipped hosts have queued
            finally:
                await self._worker_thread.close()

    async def _read_all(self, writer: ShardWriter) -> None:
        # Largest domains first, as their hosts are read one after the other.
        waiting = iter(sorted(self._domains.items(), key=lambda each: -len(each[1])))
        try:
            async with asyncio.TaskGroup() as ticking:
                ticks = ticking.create_task(self._report_regularly(writer))
                async with asyncio.TaskGroup() as tasks:
                    for _ in range(min(self._config.hosts["hosts_at_once"], len(self._domains))):
                        tasks.create_task(self._read_some(writer, waiting))
                ticks.cancel()
        except ExceptionGroup as group:  # except* of Python 3.11.2 makes a group of it again
            raise first_failure(group) from None  # all others were cancelled
        self._on_progress(self._progress())

    async def _read_some(self, writer: ShardWriter, waiting: Iterable[tuple[str, list[str]]]) -> None:
        for domain, targets in waiting:
            for target in targets:
                progress = self._running[target] = ShardProgress()
                row = await _HostReader(target, domain, self._config, writer, self._worker_thread, progress).read()
                await self._worker_thread.run(writer.add_host, row)
                del self._running[target]  # from here on it counts in _totals
                totals, verdicts = self._totals, self._totals["verdicts"]
                totals["hosts"] += 1
                verdicts[row.verdict] = verdicts.get(row.verdict, 0) + 1
                for name in SUMS:
                    totals[name] += getattr(row, name)
                if row.verdict in NAMED:
                    totals["given_up"].append({"site": row.site, "verdict": row.verdict, "why": row.why})

    def _progress(self) -> ShardProgress:
        progress = ShardProgress.of(self._totals)
        for running in self._running.values():
            progress.urls += running.urls
            progress.bytes_wire += running.bytes_wire
        return progress

    async def _report_regularly(self, writer: ShardWriter) -> None:
        """Also checks that this attempt still has the shard."""
        while True:
            self._on_progress(self._progress())
            await asyncio.sleep(PROGRESS_SECONDS)
            writer.check()


# Keywords of SitemapReader that cannot be sent to another process.
_NOT_SENT = ("fetcher", "record")
# Keywords that may be functions, or an object with some, and what to give in place of these.
_NOT_COMPARED = {"follow": "patterns", "no_follow": "patterns", "obey_robots": "True or False"}


@attrs.frozen
class HarvestConfig:
    """How hosts are read: the keywords of SitemapReader, the filters of urls(), and limits on each host."""

    # Not in repr(): they may hold passwords, and a failing worker logs its arguments.
    reader_options: ReaderOptions = attrs.field(repr=False)
    filters: FilterOptions
    hosts: HostOptions

    def followed(self) -> dict[str, Any]:
        """The settings that must stay the same for a state to be used again, as JSON values."""
        settings = Crawler(**self.reader_options).state_settings(UrlQuery(**self.filters))
        return {"state": self.hosts["state"], **settings}

    def settings(self) -> dict[str, Any]:
        """All settings that the rows depend on."""
        filters, reader = with_defaults(FilterOptions, self.filters), with_defaults(ReaderOptions, self.reader_options)
        dates = {name: _text_of(value) for name, value in filters.items() if name in ("since", "until", "undated")}
        if "trust_lastmod" in self.filters:
            dates["trust_lastmod"] = self.filters["trust_lastmod"]
        limits = attrs.asdict(reader["limits"])
        reader_options = {
            "probe": reader["probe"],
            "obey_robots": reader["obey_robots"],
            "limits": [f"{name}={value}" for name, value in limits.items() if value != getattr(Limits(), name)],
        }
        return {**self.followed(), **dates, **reader_options}

    def dates(self, now: datetime) -> dict[str, str | None]:
        """`since` and `until` as timestamps: an age such as "7d" counts from `now`, for all shards."""
        given = with_defaults(FilterOptions, self.filters)
        window = make_window(given["since"], given["until"], given["undated"], now)
        return {"since": stamp(window.since), "until": stamp(window.until)}

    def with_dates(self, dates: dict[str, str | None]) -> HarvestConfig:
        moments: Any = {name: text and datetime.fromisoformat(text) for name, text in dates.items()}
        return attrs.evolve(self, filters={**self.filters, **moments})


@attrs.frozen
class Shard:
    """A part of the hosts of a harvest, made by plan_harvest(); it can be pickled. `number` counts from 0.

    It has the headers and logins of the harvest, which its folder has not.
    """

    folder: HarvestFolder
    number: int
    config: HarvestConfig

    @property
    def hosts(self) -> list[str]:
        """Its hosts, as they were listed."""
        return self.folder.targets(self.number)


def make_config(options: Mapping[str, Any]) -> HarvestConfig:
    # An iterator can be read once.
    given: Any = {name: tuple(each) if hasattr(each, "__next__") else each for name, each in options.items()}
    for name in _NOT_SENT:
        if given.get(name) is not None:
            raise UsageError(f"{name} belongs to one process, and a harvest reads in others: leave it out")
    for name, instead in _NOT_COMPARED.items():
        if callable(given.get(name)) or hasattr(given.get(name), "allows"):
            raise UsageError(f"{name} is code, which cannot be compared when the harvest is resumed: give {instead}")
    if given.get("netrc"):  # workers need not have the file
        given["netrc"] = read_netrc(given["netrc"])
    hosts = with_defaults(HostOptions, part_of(HostOptions, given))
    if hosts["accept_removals"] and not hosts["state"]:
        raise UsageError("accept_removals says what to do with removals, which only a harvest with a state finds")
    if hosts["state"] and any(given.get(name) is not None for name in ("since", "until")):
        raise UsageError("since and until choose by date, and a state by what has changed: give one of them")
    config = HarvestConfig(part_of(ReaderOptions, given), part_of(FilterOptions, given), hosts)
    UrlQuery(**config.filters).plan_fields(datetime.now(UTC))
    Crawler(**config.reader_options)  # raises for wrong keywords here, not in each host
    return config


def _text_of(value: Any) -> str | None:
    return value if value is None else stamp(value) if isinstance(value, datetime) else str(value)
