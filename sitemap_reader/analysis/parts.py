"""Parts: what sites, sitemap files, states and harvests hold, as tables with their time and notes; joined to Snapshots.

Parts of one time are one state; where several states are known, each URL gets the time of the first that lists it.
Tables are joined without a copy of their columns.

- Sites are read at once by one SitemapReader and one event loop in a thread, as many as its limits allow; the others
  wait, and take no memory. Sites of one registrable domain are read one after the other, as the limits are of a host.
  Interrupted, each Part has what was read by then. A site that cannot be read is a note.
- A sitemap file has no URL: its path stands in its place, relative URLs in it cannot be resolved, and the children of
  an index are the files that lie at their places, or have their names. A file that cannot be read is a note.
- Shards of a harvest that are not done are a note.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections import Counter
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate, chain, compress, count, islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote, urlsplit

import attrs

from ..client.crawler import crawler_of
from ..client.keywords import UrlQuery
from ..client.options import QueryOptions, ReaderOptions
from ..client.progressbar import ProgressBar
from ..client.streams import Bridge
from ..client.summary import Progress, SummaryBuilder, count_of
from ..model.columns import SUBSECOND
from ..model.errors import ReadError, UsageError
from ..model.limits import CHUNK_BYTES, Limits
from ..model.messages import Message
from ..model.options import part_of, with_defaults
from ..model.problems import Problem, report
from ..model.records import Outcome, SitemapRef
from ..model.url_batch import changefreq_of, precision_of
from ..parser.content.sniff import Format
from ..parser.normalise.scope import SCOPE_MODES
from ..parser.normalise.urls import registrable_domain
from ..parser.parser import SitemapParser
from ..pipeline.feedparser_process import feedparser_fallback
from ..scale.folder import HarvestFolder
from ..scale.folder import tables as fields_of_tables
from ..serialize.arrow import arrow_schema, require_pyarrow
from ..serialize.jsonl import stamp
from ..serialize.schema import all_fields, fields_of
from ..state.rows import unpack_stated
from ..state.state import State, site_name
from .notes import MAX_NAMED, filter_text, name_first, omissions
from .snapshot import Snapshot
from .tables import (
    FIRST_SEEN,
    READ_AT,
    SnapshotMetadata,
    TableBuilder,
    Tables,
    loaded,
    main_host,
    read_table,
    site_label,
    with_site,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

    from ..client.streams import CrawlRun
    from ..client.targets import Target
    from ..model.records import Item
    from ..model.url_batch import BatchItem
    from ..parser.normalise.scope import ScopeMode
    from ..pipeline.document_parser import Batch
    from ..state.documents import StoredDocument
    from ..state.state import StoredColumns, StoredRun
    from .archive import PageNumbers


@attrs.frozen
class Part:
    """Tables of one source at one time. `group` numbers the argument that named it: the URLs of each are one site.

    `roots`, of sitemap files: each file -> the index above it that no other lists; itself without one.
    """

    tables: Tables
    metadata: SnapshotMetadata
    group: int = 0
    roots: Mapping[str, str] = attrs.field(factory=dict)

    def move(self, group: int, time: dict[str, Any]) -> Part:
        return attrs.evolve(self, group=group, metadata=attrs.evolve(self.metadata, **time))

    def change(self, change: Callable[[Any], Any]) -> Part:
        """With each of its tables changed."""
        tables = self.tables.urls, self.tables.sitemaps, self.tables.problems
        return attrs.evolve(self, tables=Tables(*map(change, tables)))


def combine(
    parts: Sequence[Part],
    *,
    name: str,
    site: str | None,
    by_time: bool = False,
    is_partial: bool = False,
    notes: Sequence[str] = (),
) -> Snapshot:
    """The Snapshot of all parts, in the order of their groups; `by_time`: of the newest state, the others `earlier`.

    `site` names the sites that have no name; without it, each group is named after the most frequent host of its newest
    parts. `notes` are about all of them; `is_partial`: something that is not among the parts could not be read.
    """
    parts = sorted(parts, key=lambda part: part.group)
    times = sorted({part.metadata.at for part in parts if part.metadata.at}) if by_time else []
    states = [[part for part in parts if part.metadata.at == time] for time in times] if len(times) > 1 else [parts]
    # Group -> the most frequent host of its rows without a site in the newest state that has one.
    hosts: dict[int, str | None] = {part.group: None for state in states for part in state}
    for state in reversed(states):
        for group in [group for group, host in hosts.items() if host is None]:
            of_group = [part.tables for part in state if part.group == group]
            hosts[group] = main_host(join_tables(of_group).urls) if of_group else None
    if len(hosts) > 1:
        states = [
            [part.change(partial(with_site, site=site or hosts[part.group])) for part in state] for state in states
        ]
    # The rows of a single group keep their nulls: it is named after a host, and not by the caller.
    main = next(iter(hosts.values()), None)
    states = _with_newest_of_each_site(_with_last_names(states))
    tables = [join_tables([part.tables for part in state]) for state in states]
    numbers: PageNumbers | None = None
    if len(states) > 1:
        tables, numbers, more = _compare_states([state[0].metadata.at for state in states], tables)
        notes = [*notes, *more]
    snapshots: list[Snapshot] = []
    for state, joined in zip(states, tables, strict=True):
        is_newest = state is states[-1]
        metadata = _join_metadata(state, notes if is_newest else (), is_partial=is_partial)
        metadata = attrs.evolve(metadata, moves=numbers.moves if numbers else None)
        title = name if is_newest else f"{name} ({stamp(metadata.at)})"
        snapshots.append(Snapshot(title, partial(loaded, joined), metadata, site=site, main_host=main))
    snapshots[-1].earlier, snapshots[-1]._numbers = (*snapshots[:-1],), numbers
    return snapshots[-1]


def join_tables(tables: Sequence[Tables]) -> Tables:
    """The rows of all, in their order; a column that only some have is null for the others."""
    import pyarrow as pa

    tables = tables or [TableBuilder().tables()]
    joined = [
        pa.concat_tables([getattr(each, name) for each in tables], promote_options="default")
        for name in attrs.fields_dict(Tables)
    ]
    return Tables(*joined) if len(tables) > 1 else tables[0]


def _join_metadata(parts: Sequence[Part], notes: Sequence[str], *, is_partial: bool) -> SnapshotMetadata:
    """What holds for all parts: from the first beginning to the last end; unknown where it is unknown for one."""
    metadata = [part.metadata for part in parts]
    starts, ends = [each.at for each in metadata if each.at], [each.until for each in metadata if each.until]
    is_known = len(starts) == len(metadata)
    states = [each.complete for each in metadata] + [False] * is_partial
    robots = [each.robots for each in metadata if each.robots is not None]
    all_notes = dict.fromkeys([*notes, *(note for each in metadata for note in each.notes)])
    return SnapshotMetadata(
        at=min(starts, default=None) if is_known else None,
        until=max(ends, default=None) if is_known else None,
        is_day=any(each.is_day for each in metadata),
        complete=False if False in states or not states else None if None in states else True,
        choice="; ".join(dict.fromkeys(each.choice for each in metadata if each.choice)) or None,
        notes=tuple(all_notes),
        robots=dict(chain.from_iterable(each.items() for each in robots)) if robots else None,
    )


def _with_newest_of_each_site(groups: list[list[Part]]) -> list[list[Part]]:
    """The states, oldest first; parts of a site that the last one lacks are moved there from its own last state."""
    *earlier, newest = groups
    present = {site for part in newest for site in _sites(part)}
    for group in reversed(earlier):
        moved = [part for part in group if present.isdisjoint(_sites(part))]
        present |= {site for part in moved for site in _sites(part)}
        newest = [*newest, *moved]
        group[:] = [part for part in group if all(part is not each for each in moved)]
    return [*filter(None, earlier), sorted(newest, key=lambda part: part.group)]


def _sites(part: Part) -> list[str | None]:
    sites: list[str | None] = part.tables.urls["site"].unique().to_pylist()
    return sites


# --- several states --------------------------------------------------------------------------------------------------


def _with_last_names(states: list[list[Part]]) -> list[list[Part]]:
    """The states, with the last name of a site that goes on under another one, as after a move to another host."""
    if len(states) < 2 or all(_sites(part) == [None] for state in states for part in state):
        return states
    from .archive import find_renames, rename_sites

    names = find_renames([join_tables([part.tables for part in state]).urls for state in states])
    return [[part.change(partial(rename_sites, names=names)) for part in state] for state in states]


def _compare_states(
    moments: Sequence[datetime | None], states: Sequence[Tables]
) -> tuple[list[Tables], PageNumbers, list[str]]:
    """The tables of each state, oldest first, with the time of the first one that lists a page as FIRST_SEEN.

    It is null where that is the oldest state of the site. Also the numbers of the pages, and a note for each move.
    """
    import pyarrow as pa

    from .archive import number_pages

    numbers = number_pages([tables.urls for tables in states])
    first = numbers.first_states()
    is_known = first > numbers.first_of_site()
    times = pa.array(moments, pa.timestamp("us", "UTC"))
    found = []
    for tables, pages in zip(states, numbers.pages, strict=True):
        seen = times.take(pa.array(first[pages], mask=~is_known[pages]))
        others = tables.urls.drop_columns([FIRST_SEEN]) if FIRST_SEEN in tables.urls.column_names else tables.urls
        found.append(attrs.evolve(tables, urls=others.append_column(FIRST_SEEN, pa.chunked_array([seen]))))
    notes = [
        f"{old} moved to {new} between {moments[number - 1]:%Y-%m-%d} and {moments[number]:%Y-%m-%d}: pages with the "
        "same path are the same"
        for (old, new), number in zip(numbers.moves.items(), numbers.moved_in.values(), strict=True)
    ]
    return found, numbers, notes or [*_new_origins(states[0].urls, states[-1].urls)]


def _new_origins(first: Any, last: Any) -> Iterator[str]:
    """A note for each site whose URLs mostly begin with another scheme, or with `www.`, than in the first state."""
    before = _main_origins(first)
    for site, new in _main_origins(last).items():
        old = before.get(site, new)
        if old != new:
            yield f"URLs began with {old} at first, and begin with {new} now: pages with the same path are the same"


def _main_origins(urls: Any) -> dict[str | None, str]:
    """Site -> the scheme and host of most of its URLs, of a sample."""
    from pyarrow import compute

    sample = urls.select(["site", "loc"]).take([*range(0, len(urls), len(urls) // _SAMPLE_ROWS + 1)])
    origins = compute.struct_field(compute.extract_regex(sample["loc"], "^(?P<origin>[^/]*//[^/?#]*)"), "origin")
    counts = Counter(zip(sample["site"].to_pylist(), origins.fill_null("").to_pylist(), strict=True))
    return dict(key for key, _ in reversed(counts.most_common()))  # of a site, the last counts


_SAMPLE_ROWS = 10_000


# --- sites ---------------------------------------------------------------------------------------------------------

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
    progress: Progress = attrs.field(factory=Progress)  # at the end of the run
    ending: ExitStack = attrs.field(factory=ExitStack)

    def add_item(self, item: Item) -> None:
        self.builder.add_item(item, self.name)

    def end(self, run: CrawlRun) -> None:
        """Also where the run was stopped."""
        self.run, self.progress = None, run.progress()
        builder, recorded = run.summary_builder, self.target.recorded
        began, ended = recorded or run.began, recorded or datetime.now(UTC)
        texts = run.crawl.frontier.policy.texts()
        known = {start: text for start, text in texts.items() if self.target.knows(f"{start}/robots.txt")}
        sums = accumulate(map(len, known.values()))
        robots = dict(compress(known.items(), (sum <= _MAX_ROBOTS_CHARACTERS for sum in sums)))
        self.metadata = SnapshotMetadata(began, ended, complete=run.complete, choice=self.choice, robots=robots)
        self.notes = [*omissions(run.summary(), builder.outcomes, builder.problems)]


# Of all hosts together; beyond them a robots.txt is not known.
_MAX_ROBOTS_CHARACTERS = 8_000_000


@attrs.frozen
class CrawledSites:
    """`failures` say why sites were not read; `notes` of several begin with the name of the site."""

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
    """The `group` of each Part is the place of its target. UsageError before anything is read."""
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
    failures = [site.failure for site in sites if site.failure]
    notes = [STOPPED] * is_stopped + [*map(str, failures)]
    parts = []
    for number, site in enumerate(sites):
        if site.metadata is not None and not site.failure:
            parts.append(Part(site.builder.tables(), site.metadata, number))
            notes += [f"{site.name}: {note}" if len(sites) > 1 else note for note in site.notes]
    names = [site.name for site in sites if site.metadata is not None]
    return CrawledSites(names, parts, notes, failures, is_stopped)


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
        groups: dict[object, list[_Site]] = {}
        for number, site in enumerate(sites):
            domain = number if site.target.replay else site.target.domain  # a recording has no host to protect
            groups.setdefault(domain, []).append(site)
        self._groups = [*groups.values()]
        given = with_defaults(ReaderOptions, part_of(ReaderOptions, options))
        # As many as leave each the requests at once that one host may have.
        at_once = max(1, min(len(self._groups), given["concurrency"] // given["per_host"]))
        self._at_once = 1 if given["record"] else at_once
        self._crawler, self._query = crawler_of(options), UrlQuery(**part_of(QueryOptions, options))
        self._query.plan_fields(datetime.now(UTC))

    def read(self) -> None:
        """An exception ends all requests; sites that were not read to their end still have a run."""
        bridge: Bridge[tuple[_Site, CrawlRun, Batch | None]] = Bridge(self._pump)
        with ExitStack() as stack:
            for site in self._sites:
                stack.push(site.ending)
            stack.enter_context(closing(bridge))  # ended before the runs: it joins the thread that feeds them
            for site, run, batch in bridge.batches(self._wait):
                if site.run is None:
                    self._begin(site, run)
                if batch is None:
                    self._end(site, run)
                    continue
                for urls in run.pieces(batch):
                    site.builder.add_urls(urls, site.name)

    # --- in the thread of the loop ---

    async def _pump(self, put: Callable[[Any], Awaitable[None]]) -> None:
        waiting = iter(self._groups)
        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(self._at_once):
                    tasks.create_task(self._read_some(waiting, put))
        finally:
            await self._crawler.close()

    async def _read_some(self, waiting: Iterator[list[_Site]], put: Callable[[Any], Awaitable[None]]) -> None:
        for group in waiting:
            for site in group:
                await self._read_site(site, put)

    async def _read_site(self, site: _Site, put: Callable[[Any], Awaitable[None]]) -> None:
        run = self._crawler.crawl_run(site.target, self._query.changed(on_item=site.add_item))
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
        site.run = run
        site.ending.enter_context(run.reading())

    def _end(self, site: _Site, run: CrawlRun) -> None:
        site.ending.close()
        try:
            run.end()
        except ReadError as failure:
            site.failure = failure
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
        parts = [site.run.progress() if site.run else site.progress for site in self._sites]
        delays = [part.delay for part in parts if part.delay]
        waits = tuple(wait for part in parts for wait in part.waits)
        total = Progress(delay=max(delays, key=lambda delay: delay.seconds_left, default=None), waits=waits)
        for name in ("documents_done", "documents_known", "urls", "bytes_wire", "retries"):
            setattr(total, name, sum(getattr(part, name) for part in parts))
        return total


# --- sitemap files -------------------------------------------------------------------------------------------------

# What may stand between other words and the name of a child.
_JOINT = re.compile(r"[^A-Za-z0-9]")


@attrs.frozen
class FileOptions:
    """`scope` None is "any", `site` its host, or else the most frequent one.

    `with_children`: also the files that an index lists, where they lie beside it.
    """

    scope: ScopeMode | None = None
    site: str | None = None
    with_children: bool = False
    extras: bool = False
    limits: Limits = Limits()  # noqa: RUF009 - frozen

    def __attrs_post_init__(self) -> None:
        if self.scope is not None and self.scope not in SCOPE_MODES:
            raise UsageError(keyword="scope", value=self.scope, allowed=f"one of {', '.join(SCOPE_MODES)}")


def read_sitemaps(paths: Sequence[Path], options: FileOptions) -> Part:
    """The sitemaps, in the order given. NothingReadable or NothingFound where there is no sitemap."""
    part = _Reading(options, {}).read(paths)
    if options.scope in (None, "any"):
        return part
    main = options.site or main_host(part.tables.urls)
    named = part if options.site else name_domains([part], "")[0][0]
    files = zip(*(named.tables.sitemaps[name].to_pylist() for name in ("url", "site")), strict=True)
    return _Reading(options, {file: site or main for file, site in files}).read(paths)


class _Reading:
    """`sites`: file -> the host whose URLs are in the scope; all are for a file that it lacks."""

    def __init__(self, options: FileOptions, sites: Mapping[str, str | None]) -> None:
        self._options = options
        self._sites = sites
        self._builder = TableBuilder()
        self._summary_builder = SummaryBuilder(on_item=self._add_item)
        self._children: dict[str, None] = {}  # the locs of the sitemaps that the last file lists
        self._outcomes: dict[str, Outcome] = {}  # by file

    def read(self, paths: Sequence[Path]) -> Part:
        waiting, parents = [*paths], {path: dict[str, None]() for path in paths}
        tree, folders, absent = FileTree(), set[Path](), list[tuple[Path, str]]()
        tree.add(paths)
        for path in waiting:  # grows where an index has children
            self._children = {}
            self._read_file(path)
            if self._children and self._options.with_children:
                tree.add(_files_near(path, self._children, folders, paths[0].parent))
            for loc, child in tree.find(path, self._children).items():
                if child is None:
                    absent.append((path, loc))
                    continue
                if child not in parents:
                    parents[child] = {}
                    waiting.append(child)
                parents[child][str(path)] = None
        if verdict := self._summary_builder.verdict(", ".join(map(str, paths[:MAX_NAMED]))):
            raise verdict
        listed = {str(path): [*above] for path, above in parents.items()}
        for name, outcome in self._outcomes.items():
            outcome.parents = listed[name]
            self._builder.add_item(outcome)
        builder = self._summary_builder
        notes = [*omissions(builder.summary(), builder.outcomes, builder.problems), *_absence(absent)]
        metadata = SnapshotMetadata(complete=builder.complete and not absent, notes=tuple(notes))
        return Part(self._builder.tables(), metadata, roots=_roots(listed))

    def _read_file(self, path: Path) -> None:
        site = self._sites.get(str(path))
        parser = SitemapParser(
            name=str(path),
            scope=(self._options.scope or "any") if site else "any",
            child_scope="any",
            authorities=(f"http://{site}/", f"https://{site}/") if site else (),
            limits=self._options.limits,
            extras=self._options.extras,
            feed_fallback=feedparser_fallback,
        )
        failed: Problem | None = None
        try:
            with path.open("rb") as file:
                while not parser.stopped and (chunk := file.read(CHUNK_BYTES)):
                    self._add(chain.from_iterable(parser.batches(chunk)))
            self._add(chain.from_iterable(parser.closing()))
        except OSError as exc:
            message = f"{exc.strerror or exc}; give a file that you may read"
            failed = report("F04", message, sitemap=str(path))
            self._add([*chain.from_iterable(parser.closing(cut=True)), failed])
        outcome = attrs.evolve(parser.outcome, final_url=str(path))
        if failed:
            problems, samples = {**outcome.problems, failed.code: 1}, (failed, *outcome.samples)
            outcome = attrs.evolve(outcome, complete=False, problems=problems, samples=samples)
        self._add([outcome])

    def _add(self, items: Iterable[BatchItem]) -> None:
        for urls in self._summary_builder.record(items):
            self._builder.add_urls(self._summary_builder.count_batch(urls))

    def _add_item(self, item: object) -> None:
        if isinstance(item, SitemapRef):
            self._children[item.loc] = None
        elif isinstance(item, Outcome):
            self._outcomes[str(item.final_url)] = item
        else:
            self._builder.add_item(item)  # type: ignore[arg-type] # any other item


def _roots(parents: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """File -> the file that is reached by the first parent of each."""
    roots: dict[str, str] = {}
    for file in parents:
        path = {file: None}
        while file not in roots and (above := next(iter(parents[file]), file)) not in path:
            path[file := above] = None
        roots |= dict.fromkeys(path, roots.get(file, file))
    return roots


# --- the children of an index ----------------------------------------------------------------------------------------


_Layout: TypeAlias = "tuple[str, tuple[str, ...]]"  # a folder, and the segments of a URL that are above it


class FileTree:
    """Finds the children of an index among files, by their places and names. A suffix .gz, and case do not matter.

    In a mirror a child lies where its URL says, below the folder of the index or one above it: it is found by the end
    of its URL, of two segments or the whole path. Only where no other folder than that of the index has a child do
    names decide: the name may stand behind other words, as those of a folder: `maps__de.xml`.
    """

    def __init__(self) -> None:
        self._places: dict[str, Path] = {}
        self._names: dict[str, list[Path]] = {}
        self._ends: dict[str, list[Path]] = {}

    def add(self, files: Iterable[Path]) -> None:
        for file in files:
            if self._places.setdefault(_bare(str(file)), file) is not file:
                continue
            name = _bare(file.name)
            self._names.setdefault(name, []).append(file)
            for match in _JOINT.finditer(name):
                self._ends.setdefault(name[match.end() :], []).append(file)

    def find(self, index: Path, locs: Iterable[str]) -> dict[str, Path | None]:
        """The file of each child, which is that of no other; None where there is none.

        >>> from pathlib import Path
        >>> def find(index, files, *children):
        ...     tree = FileTree()
        ...     tree.add(map(Path, files))
        ...     found = tree.find(Path(index), [f"https://a.example/{child}.xml" for child in children])
        ...     return [path and path.as_posix() for path in found.values()]
        >>> find("m/index.xml", ["m/a/map.xml", "m/b/map.xml.gz"], "a/map", "b/map", "c/map")
        ['m/a/map.xml', 'm/b/map.xml.gz', None]
        >>> find("index.xml", ["maps__pages-2.xml", "pages12.xml", "de/news.xml"], "pages-2", "12", "news")
        ['maps__pages-2.xml', None, 'de/news.xml']
        """
        segments = {loc: _segments(loc) for loc in locs}
        found: dict[str, Path] = {}
        taken = {index}
        layouts: dict[_Layout, None] = {}

        def add(loc: str, file: Path | None) -> bool:
            if file is None or file in taken:
                return False
            found[loc] = file
            taken.add(file)
            return True

        for is_last in (False, True):  # by the layouts that were found
            for loc in [loc for loc in segments if loc not in found]:
                names = segments[loc]
                possible = chain(layouts, [] if is_last else _layouts(index, names))
                hits = (layout for layout in possible if add(loc, self._at(layout, names)))
                layouts |= dict.fromkeys(islice(hits, 1))
        if all(file.parent == index.parent for file in found.values()):
            for loc in [loc for loc in segments if loc not in found]:
                add(loc, self._with_name(segments[loc], index))
        return {loc: found.get(loc) for loc in segments}

    def _at(self, layout: _Layout, names: Sequence[str]) -> Path | None:
        folder, above = layout
        keys = _keys(folder + "/".join(names[len(above) :])) if names[: len(above)] == above else ()
        return next((self._places[key] for key in keys if key in self._places), None)

    def _with_name(self, names: Sequence[str], index: Path) -> Path | None:
        """The file beside the index, or the only one elsewhere."""
        for key in chain.from_iterable(map(_keys, names[-1:])):
            files = self._names.get(key) or self._ends.get(key) or []
            beside = [file for file in files if file.parent == index.parent]
            if len(files) == 1 or beside:
                return (beside or files)[0]
        return None


def _segments(loc: str) -> tuple[str, ...]:
    """The host and the segments of the path, the last with the query; none where they are no names of files."""
    parts = urlsplit(loc)
    *names, last = (parts.netloc, *map(unquote, parts.path.strip("/").split("/")))
    if any(name in ("", ".", "..") or "/" in name for name in (*names, last)):
        return ()
    return (*names, f"{last}?{parts.query}" if parts.query else last)


def _layouts(index: Path, names: tuple[str, ...]) -> Iterator[_Layout]:
    """Where a child may lie: that with most segments of its URL first."""
    folders = [f"{folder.as_posix()}/".removeprefix("./").replace("//", "/") for folder in index.parents]
    return ((folder, names[:start]) for start in range(max(2, len(names) - 1)) for folder in folders)


def _files_near(index: Path, locs: Iterable[str], folders: set[Path], top: Path) -> Iterator[Path]:
    """The files beside the index, unless its folder is among `folders`, and those below `top` at the places of `locs`.

    `folders` gets the one of the index.
    """
    if index.parent not in folders:
        folders.add(index.parent)
        yield from (file for file in sorted(index.parent.iterdir()) if file.is_file())
    above = [folder for folder in index.parents if folder.is_relative_to(top)]
    for names in map(_segments, locs):
        for folder, start in product(above, range(len(names) - 1)):
            file = os.path.join(folder, *names[start:])
            places = (file, file.partition("?")[0], f"{file}.gz", file.removesuffix(".gz"))
            yield from map(Path, filter(os.path.isfile, dict.fromkeys(places)))


def _keys(name: str) -> tuple[str, str]:
    """How files of this name are found: with and without a query."""
    return _bare(name), _bare(name.partition("?")[0])


def _bare(name: str) -> str:
    return name.lower().removesuffix(".gz")


def _absence(absent: Sequence[tuple[Path, str]]) -> Iterator[str]:
    """`2 sitemaps of maps/index.xml are not among the files: https://a.example/1.xml; https://a.example/2.xml`."""
    if absent:
        indexes = [*dict.fromkeys(str(index) for index, _ in absent)]
        of = indexes[0] if len(indexes) == 1 else f"{len(indexes):,} indexes"
        verb = "is" if len(absent) == 1 else "are"
        locs = name_first([loc for _, loc in absent])
        yield f"{count_of(len(absent), 'sitemap')} of {of} {verb} not among the files: {locs}"


# --- sites of files --------------------------------------------------------------------------------------------------


def name_domains(parts: Sequence[Part], name: str) -> tuple[list[Part], list[str]]:
    """The Parts of one group, which has this name, and notes on their hosts.

    Where the main hosts of files are of several registrable domains, each of these is a site; the files below one index
    are taken together, as the shops of many countries are. Rows that have a site keep it.
    """
    if sum(len({*part.roots.values()}) or 1 for part in parts) < 2:
        return [*parts], []
    hosts: dict[tuple[int, str | None], Counter[str]] = {}  # number of the Part, root -> rows of each host
    for number, part in enumerate(parts):
        for file, host, rows in _host_counts(part.tables.urls):
            hosts.setdefault((number, part.roots.get(file or "")), Counter())[host] += rows
    main = {key: counts.most_common(1)[0][0] for key, counts in hosts.items()}
    domains: dict[str, Counter[str]] = {}
    for key, counts in hosts.items():
        domains.setdefault(registrable_domain(main[key]), Counter()).update(counts)
    sites = {
        domain: next(host for host, _ in counts.most_common() if registrable_domain(host) == domain)
        for domain, counts in domains.items()
    }
    names = {key: sites[registrable_domain(host)] for key, host in main.items()}
    mains = Counter(site for site, _ in {(names[key], host.removeprefix("www.")): None for key, host in main.items()})
    notes = [f"{len(sites):,} domains in {name}: each is a site"] if len(sites) > 1 else []
    several = [f"{site} has files of {count:,} hosts" for site, count in mains.items() if count > 1]
    notes += [f'{name_first(several, ", ")}: by="host" counts each'] if several else []
    if len(sites) < 2:
        return [*parts], notes
    largest = sites[max(domains, key=lambda domain: domains[domain].total())]
    return [_name_files(part, number, names, largest) for number, part in enumerate(parts)], notes


def _name_files(part: Part, number: int, names: Mapping[tuple[int, str | None], str], default: str) -> Part:
    import pyarrow as pa
    from pyarrow import compute

    def with_names(table: Any) -> Any:
        files = table["sitemap" if "sitemap" in table.column_names else "url"].combine_chunks().dictionary_encode()
        roots = map(part.roots.get, files.dictionary.to_pylist())
        sites = pa.array([names.get((number, root), default) for root in roots], pa.string()).take(files.indices)
        place = table.schema.get_field_index("site")
        site = compute.coalesce(table["site"], sites, names.get((number, None), default))
        return table.set_column(place, table.schema.field("site"), site)

    return part.change(with_names)


def _host_counts(urls: Any) -> list[tuple[str | None, str, int]]:
    """(sitemap, host, number of URLs) of the rows without a site, in the order of their first rows."""
    import numpy as np
    import pyarrow as pa

    from .url_parts import hosts_of

    rows = urls.select(["sitemap", "loc", "site"])
    rows = rows.filter(rows["site"].is_null()) if rows["site"].null_count < len(rows) else rows
    rows = rows.append_column("host", hosts_of(rows["loc"])).append_column("row", pa.array(np.arange(len(rows))))
    # The order of groups is another one where their hashes collide: of 1 in 70 names of files, also without threads.
    groups = rows.group_by(["sitemap", "host"]).aggregate([([], "count_all"), ("row", "min")]).sort_by("row_min")
    counts = groups.to_pylist()
    return [(row["sitemap"], row["host"], row["count_all"]) for row in counts if row["host"] is not None]


# --- states of sync ------------------------------------------------------------------------------------------------

_NO_NESTED = "a state has no images, videos, news, alternates or extras: these columns are empty"


def read_state(path: str | os.PathLike[str]) -> Part:
    """The sites of a state file, as sync last saw them; the metadata has the end of the last run.

    Sites are named as by snapshot(). `first_seen` is the start of the run that first listed the URL; null for those
    that were there before the first complete run ended, or before the state recorded this. Images and other nested
    values are null. StateError where the file cannot be used.
    """
    require_pyarrow("a Snapshot needs", "analysis")
    import pyarrow as pa

    urls = arrow_schema(all_fields()).append(pa.field(FIRST_SEEN, pa.timestamp("us", "UTC")))
    sitemaps = arrow_schema(fields_of(Outcome))
    with State(path) as state:
        last_runs = {run.site: run for run in reversed(state.runs())}
        sites = sorted(last_runs)
        batches = [_batch(columns, site, urls) for site in sites for columns in state.columns(site)]
        rows = [_sitemap_row(document, site) for site in sites for document in state.documents(site)]
        choices = dict.fromkeys(filter(None, map(filter_text, state.settings().values())))
        notes = [*_notes(last_runs)] + [_NO_NESTED] * state.has_nested()
    tables = Tables(
        pa.Table.from_batches(batches, urls),
        pa.Table.from_pylist(rows, sitemaps),
        arrow_schema(fields_of(Problem)).empty_table(),
    )
    at = max((run.ended or run.started for run in last_runs.values()), default=None)
    complete = all(run.complete for run in last_runs.values()) if last_runs else None
    return Part(tables, SnapshotMetadata(at, at, False, complete, "; ".join(choices) or None, tuple(notes)))


def _notes(last_runs: dict[str, StoredRun]) -> Iterator[str]:
    for name, run in sorted(last_runs.items()):
        site = site_label(name)
        if run.ended is None:
            yield f"{site}: the last run was stopped before its end"
        elif run.held_back:
            yield f"{site}: {count_of(run.held_back, 'URL')} no longer listed, removal held back: not in these tables"
        elif not run.complete:
            yield f"{site}: not every sitemap could be read in the last run"


def _sitemap_row(document: StoredDocument, site: str) -> dict[str, Any]:
    """What a state knows of a document, as columns of an outcome; of an index it does not count the entries."""
    entries = None if document.format == Format.INDEX else document.entries
    names = ("url", "format", "complete", "etag", "last_modified", "sha256")
    stored = {name: getattr(document, name) for name in names}
    return {**stored, "parents": document.parents, "entries": entries, "kept": entries, "site": site_label(site)}


def _batch(columns: StoredColumns, site: str, schema: Any) -> Any:
    import pyarrow as pa

    numbers, precisions, changefreqs, priorities = zip(*map(unpack_stated, columns.stated), strict=True)
    units = [1 if precision == SUBSECOND else 1_000_000 for precision in precisions]  # in microseconds
    values: dict[str, Any] = {
        "loc": columns.locs,
        FIRST_SEEN: columns.first_seen,
        "lastmod": [each and each * unit for each, unit in zip(numbers, units, strict=True)],
        "lastmod_precision": [*map(precision_of, precisions)],
        "changefreq": [*map(changefreq_of, changefreqs)],
        "priority": priorities,
    }
    constants = {"site": site_label(site), "sitemap": columns.sitemap}

    def array(name: str, kind: Any) -> Any:
        if name in values:
            return pa.array(values[name], kind)
        return pa.repeat(pa.scalar(constants.get(name), kind), len(numbers))

    return pa.record_batch([array(field.name, field.type) for field in schema], schema=schema)


# --- harvests -------------------------------------------------------------------------------------------------------


def read_harvest(path: Path) -> Part:
    """A harvest with a state has changes in its tables: then those of its states are read."""
    import pyarrow as pa

    folder = HarvestFolder(path)
    plan = folder.plan()
    if plan is None:  # it was removed meanwhile
        raise UsageError(f"there is no harvest in {path}")
    pending = folder.pending_shards(plan.shards)
    done = [shard for shard in range(plan.shards) if shard not in {*pending}]
    names = [*attrs.fields_dict(Tables)]
    tables = [
        read_state(folder.state(shard)).tables
        if plan.has_state
        else Tables(*(read_table(folder.table(name, shard), name) for name in names))
        for shard in done
    ]
    fields = fields_of_tables(of_changes=False)["hosts"]
    rows = [read_table(folder.table("hosts", shard), "hosts", fields) for shard in done]
    hosts = pa.concat_tables([arrow_schema(fields).empty_table(), *rows])
    started = datetime.fromisoformat(plan.started)
    missing = Message.of(
        "{pending} of {shards:,} not done: a harvest with {resume=True} reads them",
        pending=count_of(len(pending), "shard"),
        shards=plan.shards,
    )
    metadata = SnapshotMetadata(
        at=started,
        until=_end(hosts) or started,
        complete=False if pending else None,
        choice=filter_text(plan.settings),
        notes=(missing,) if pending else (),
    )
    return Part(_with_read_at(join_tables(tables), hosts), metadata)


def _end(hosts: Any) -> datetime | None:
    """When the last host was done; None if that is unknown, as of what an older version has written."""
    import pyarrow as pa
    from pyarrow import compute

    seconds = compute.round(compute.multiply(hosts["seconds"], 1e6)).cast(pa.int64())
    end: datetime | None = compute.max(compute.add(hosts[READ_AT], seconds.cast(pa.duration("us")))).as_py()
    return end


def _with_read_at(tables: Tables, hosts: Any) -> Tables:
    """The tables with the time when the reading of each site began; unchanged if no host states one."""
    from pyarrow import compute

    def with_time(table: Any) -> Any:
        rows = compute.index_in(table["site"], hosts["site"].combine_chunks())
        return table.append_column(READ_AT, hosts[READ_AT].take(rows))

    if hosts[READ_AT].null_count == len(hosts):
        return tables
    return attrs.evolve(tables, urls=with_time(tables.urls), sitemaps=with_time(tables.sitemaps))
