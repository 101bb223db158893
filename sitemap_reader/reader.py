"""SitemapReader, and the functions that do the same without a loop: a target in, a stream of URL records out.

Nothing here configures logging or keeps global state.
"""

from __future__ import annotations

from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, TypeVar, Unpack

import attrs

from .bridge import call
from .callbacks import Listening, carried
from .crawl.feedchild import feedparser_fallback
from .crawl.fetch import AiohttpFetcher
from .crawl.replay import Recorder
from .crawl.run import Run
from .crawl.sieve import AsLines
from .crawl.workers import workers_for
from .errors import UsageError
from .jsonl import Lines
from .ledger import Ledger
from .limits import Limits
from .read.scope import MODES
from .seen import Seen
from .streams import AsyncUrlStream, LineStream, UrlStream, batches_of
from .targets import Target, find_target
from .version import __version__
from .walk.frontier import Frontier, Plan
from .walk.selection import make_patterns, make_selection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType

    import aiohttp

    from .crawl.fetch import Fetcher
    from .crawl.workers import Workers
    from .ledger import Progress
    from .read.fallback import FeedFallback
    from .read.scope import Mode
    from .records import Candidate, Item, Outcome, SitemapRef
    from .walk.discovery import Probe
    from .walk.selection import Pattern
    from .walk.window import Moment, Undated

Heard = TypeVar("Heard")

USER_AGENT = f"sitemap-reader/{__version__}"
PROBES = ("auto", "always", "never")


class ReaderOptions(TypedDict, total=False):
    """The keywords of SitemapReader, for the functions that pass them on."""

    user_agent: str
    headers: Mapping[str, str] | Iterable[tuple[str, str]]
    scope: Mode
    probe: Probe
    obey_robots: bool
    allow_private: bool
    proxy: str | None
    concurrency: int
    per_host: int
    limits: Limits
    session: aiohttp.ClientSession | None
    fetcher: Fetcher | None
    extras: bool
    feed_fallback: FeedFallback | None
    record: str | Path | None


class SitemapReader:
    """Reads sites. One reader may read several, one after the other or at once; it owns their connections.

    `scope` is protocol, host, domain or any. `probe` says when well-known paths are tried: auto (where robots.txt
    names no sitemap), always, never. `headers` go with every request. `allow_private` permits private, loopback
    and link-local addresses. `obey_robots=False` fetches what robots.txt forbids. `record` is a folder that every
    answer is written to, to be read again as a target. An own `session` needs guarded_connector(); an own
    `fetcher` replaces the network altogether. `extras`: elements that no field is for come out too, in
    UrlRecord.extras. `feed_fallback` reads feeds that the streaming parser gets nothing from. UsageError for values
    that cannot be.
    """

    def __init__(
        self,
        *,
        user_agent: str = USER_AGENT,
        headers: Mapping[str, str] | Iterable[tuple[str, str]] = (),
        scope: Mode = "protocol",
        probe: Probe = "auto",
        obey_robots: bool = True,
        allow_private: bool = False,
        proxy: str | None = None,
        concurrency: int = 16,
        per_host: int = 4,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        session: aiohttp.ClientSession | None = None,
        fetcher: Fetcher | None = None,
        extras: bool = False,
        feed_fallback: FeedFallback | None = feedparser_fallback,
        record: str | Path | None = None,
    ) -> None:
        _one_of("scope", scope, MODES)
        _one_of("probe", probe, PROBES)
        if record == "":  # as of a shell's variable that is not set: it would be the folder one is in
            raise UsageError("record is the name of a folder, and empty; leave it out, or name one")
        _at_least_one(concurrency=concurrency, per_host=per_host, tries=limits.tries)
        self._plan = Plan(
            scope=scope,
            probe=probe,
            obey_robots=obey_robots,
            user_agent=user_agent,
            concurrency=concurrency,
            per_host=per_host,
            limits=limits,
        )
        self._network = AiohttpFetcher(
            user_agent=user_agent,
            headers=headers,
            limits=limits,
            allow_private=allow_private,
            proxy=proxy,
            session=session,
        )
        self._fetcher: Fetcher = fetcher or self._network
        self._extras = extras
        self._fallback = feed_fallback
        self._record = Path(record) if record is not None else None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections; a session of your own stays open."""
        await self._network.close()

    def urls(
        self,
        target: str | Path,
        *,
        since: Moment | None = None,
        until: Moment | None = None,
        undated: Undated = "keep",
        include: Pattern | Iterable[Pattern] | None = None,
        exclude: Pattern | Iterable[Pattern] | None = None,
        follow: Callable[[SitemapRef], bool] | Pattern | Iterable[Pattern] | None = None,
        no_follow: Pattern | Iterable[Pattern] | None = None,
        unique: bool | Seen = False,
        on_outcome: Callable[[Outcome], None] | None = None,
        on_item: Callable[[Item], None] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        show_progress: bool = False,
    ) -> AsyncUrlStream:
        """Every URL of a site, a document or a replay folder, as it is read.

        Which URLs: `since` and `until` are dates, datetimes, ages (timedelta, "7d") or text; a lastmod matches if the
        period that it states overlaps; `undated` URLs are kept or dropped. `include` and `exclude` are regular
        expressions (one or several) that are searched for in the URL. `unique` gives each URL once, however many
        listings it has; a Seen does so over all streams that share it.

        Which sitemaps: `since` also leaves out those that their index calls older. `follow` decides on the children of
        an index, as a function of the SitemapRef or as regular expressions of which one must be found in its URL;
        sitemaps that `no_follow` finds are never read, also if robots.txt names them.

        `on_outcome` hears of each document as it ends, `on_item` of everything that is not a URL, `on_progress` how far
        the reading is. What one of them raises ends the reading, and reaches whoever iterates as it is.
        `show_progress` shows a bar: a widget in a notebook, a line on a terminal, elsewhere nothing.
        """
        asked = _Asked(since, until, undated, include, exclude, follow, no_follow, unique, on_outcome, on_item)
        return AsyncUrlStream(
            *self._reading(target, asked), on_progress=asked.hears(on_progress), show_progress=show_progress
        )

    async def discover(
        self, target: str | Path, *, on_item: Callable[[Item], None] | None = None
    ) -> list[Candidate]:
        """Where the target's sitemaps are, and why that is known; reads no more of each than its beginning.

        What robots.txt names or the target itself is always listed; well-known paths only if they hold a sitemap.
        `on_item` hears of the problems and the outcomes.
        """
        run = self._run(find_target(target), peek=True, descend=False)
        async with aclosing(batches_of(run)) as batches:
            async for batch in batches:
                for item in batch:
                    if on_item and not isinstance(item, Lines):  # nobody asked for any
                        on_item(item)
        return [candidate for site in run.frontier.sites for candidate in site.candidates]

    def _reading(
        self,
        target: str | Path,
        asked: _Asked,
        *,
        as_lines: AsLines | None = None,
        workers: Workers | None = None,
    ) -> tuple[str, Run, Ledger]:
        """What a stream is made of."""
        plan = asked.plan(datetime.now(UTC))
        found = find_target(target)
        return found.name, self._run(found, as_lines=as_lines, workers=workers, **plan), asked.ledger()

    def _run(
        self,
        target: Target,
        *,
        peek: bool = False,
        as_lines: AsLines | None = None,
        workers: Workers | None = None,
        **changes: Any,
    ) -> Run:
        plan = attrs.evolve(self._plan, **changes)
        fetcher = target.replay or self._fetcher
        if self._record is not None:
            fetcher = Recorder(fetcher, self._record, [seed.target for seed in target.seeds])
        return Run(
            Frontier(target.seeds, plan),
            fetcher,
            extras=self._extras,
            feed_fallback=self._fallback,
            peek=peek,
            patient=target.replay is None,
            as_lines=as_lines,
            workers=workers,
        )


@attrs.frozen
class _Asked:
    """What a caller of urls() asks for, as he put it."""

    since: Moment | None
    until: Moment | None
    undated: Undated
    include: Pattern | Iterable[Pattern] | None
    exclude: Pattern | Iterable[Pattern] | None
    follow: Callable[[SitemapRef], bool] | Pattern | Iterable[Pattern] | None
    no_follow: Pattern | Iterable[Pattern] | None
    unique: bool | Seen
    on_outcome: Callable[[Outcome], None] | None
    on_item: Callable[[Item], None] | None
    most: int | None = None
    _listening: Listening = attrs.field(factory=Listening, init=False)

    def plan(self, now: datetime) -> dict[str, Any]:
        """Fields of Plan; UsageError for what cannot be."""
        return {
            "selection": make_selection(
                now,
                since=self.since,
                until=self.until,
                undated=self.undated,
                include=self.include,
                exclude=self.exclude,
            ),
            "follow": self._follow(),
            "no_follow": make_patterns("no_follow", self.no_follow),
        }

    def ledger(self) -> Ledger:
        """A ledger that tells whom it was asked to tell."""
        seen = (Seen() if self.unique else None) if isinstance(self.unique, bool) else self.unique
        return Ledger(self.hears(self.on_outcome), self.hears(self.on_item), seen=seen, most=self.most)

    def hears(self, function: Callable[[Heard], None] | None) -> Callable[[Heard], None] | None:
        """One of the functions that only hear, guarded together with the others."""
        return function and self._listening.guarded(function)

    def _follow(self) -> Callable[[SitemapRef], bool] | None:
        if callable(self.follow):
            return carried(self.follow)
        patterns = make_patterns("follow", self.follow)
        return (lambda ref: patterns.find_in(ref.loc)) if patterns else None


def _one_of(name: str, value: str, allowed: Iterable[str]) -> None:
    if value not in allowed:
        raise UsageError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


def _at_least_one(**numbers: int) -> None:
    for name, number in numbers.items():
        if number < 1:
            raise UsageError(f"{name} must be 1 or more, not {number}")


def urls(
    target: str | Path,
    *,
    since: Moment | None = None,
    until: Moment | None = None,
    undated: Undated = "keep",
    include: Pattern | Iterable[Pattern] | None = None,
    exclude: Pattern | Iterable[Pattern] | None = None,
    follow: Callable[[SitemapRef], bool] | Pattern | Iterable[Pattern] | None = None,
    no_follow: Pattern | Iterable[Pattern] | None = None,
    unique: bool | Seen = False,
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
    asked = _Asked(since, until, undated, include, exclude, follow, no_follow, unique, on_outcome, on_item)
    return UrlStream(
        *reader._reading(target, asked),
        close=reader.close,
        on_wait=on_wait,
        on_progress=asked.hears(on_progress),
        show_progress=show_progress,
    )


def lines(
    target: str | Path,
    *,
    site: str | None = None,
    jobs: int | None = None,
    most: int | None = None,
    since: Moment | None = None,
    until: Moment | None = None,
    undated: Undated = "keep",
    include: Pattern | Iterable[Pattern] | None = None,
    exclude: Pattern | Iterable[Pattern] | None = None,
    follow: Callable[[SitemapRef], bool] | Pattern | Iterable[Pattern] | None = None,
    no_follow: Pattern | Iterable[Pattern] | None = None,
    unique: bool | Seen = False,
    on_item: Callable[[Item], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_wait: Callable[[], None] | None = None,
    **options: Unpack[ReaderOptions],
) -> LineStream:
    """urls() as JSON lines, many at a time: for who only writes them. `site` is a key that each of them gets.

    `jobs` processes read them, None: as many as there are cores, once the site proves large; 1 is this one alone. No
    more than `most` lines are given.
    """
    if jobs is not None:
        _at_least_one(jobs=jobs)
    reader = _own_reader(options)
    asked = _Asked(since, until, undated, include, exclude, follow, no_follow, unique, None, on_item, most)
    return LineStream(
        *reader._reading(target, asked, as_lines=AsLines(site), workers=workers_for(jobs)),
        close=reader.close,
        on_wait=on_wait,
        on_progress=asked.hears(on_progress),
    )


def discover(
    target: str | Path, *, on_item: Callable[[Item], None] | None = None, **options: Unpack[ReaderOptions]
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
