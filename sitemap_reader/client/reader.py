"""SitemapReader: a target in, a stream of URL records or of changes out. blocking.py does the same without a loop.

Nothing here configures logging or keeps global state.
"""

from __future__ import annotations

import logging
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, get_args

import attrs

from ..fetch.client import AiohttpFetcher
from ..frontier.frontier import Frontier, Plan
from ..frontier.revalidation import DocumentCache, Trust
from ..frontier.seeds import RequestHeaders, make_headers
from ..model.errors import UsageError
from ..model.limits import Limits, checked_limits
from ..parser.normalise.scope import SCOPE_MODES
from ..pipeline.crawl import Crawl
from ..pipeline.document_parser import LineOptions, UrlGroup
from ..pipeline.feedparser_process import feedparser_fallback
from ..serialize.jsonl import COMPARED
from ..version import __version__
from .progressbar import ProgressBar
from .query import Asked, Names, checked_keywords, one_of
from .streams import AsyncUrlStream, Walk, batches_of
from .targets import Target, find_target, read_netrc, recorder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import TracebackType

    import aiohttp

    from ..fetch.client import Fetcher
    from ..frontier.filters import Moment, Pattern, Undated
    from ..frontier.seeds import Logins, Probe, Seed
    from ..model.records import Candidate, Item, Outcome, SitemapRef
    from ..parser.dialects.feed_fallback import FeedFallback
    from ..parser.normalise.scope import ScopeMode
    from ..pipeline.worker_pool import WorkerPool
    from ..serialize.jsonl import On
    from ..state.documents import StoredDocument
    from ..state.state import State
    from ..state.sync import SyncPlan
    from .dedupe import UrlSet
    from .streams import AsyncChangeStream, ChangeWalk
    from .summary import Progress

USER_AGENT = f"sitemap-reader/{__version__}"
PROBES = ("auto", "always", "never")

_TLS_LOG = logging.getLogger("sitemap_reader.tls")
_TLS_LOG.addHandler(logging.NullHandler())  # else Python prints it where logging is not configured


class ReaderOptions(TypedDict, total=False):
    """The keywords of SitemapReader, for the functions that pass them on."""

    user_agent: str
    headers: Mapping[str, str] | Iterable[tuple[str, str]]
    scope: ScopeMode
    probe: Probe
    obey_robots: bool
    allow_private: bool
    auth: str | tuple[str, str] | None
    netrc: bool | str | Path | Logins
    proxy: str | None
    cacert: str | Path | None
    insecure: bool
    concurrency: int
    per_host: int
    limits: Limits
    session: aiohttp.ClientSession | None
    fetcher: Fetcher | None
    extras: bool
    feed_fallback: FeedFallback | None
    record: str | Path | None


def _sync_keywords() -> list[str]:
    from ..state.sync import SyncPlan  # here: reading alone needs no database

    return [*attrs.fields_dict(SyncPlan), "state", "on_document"]


_OF_METHODS: dict[str, Names] = {"its urls()": lambda: attrs.fields_dict(Asked), "its changes()": _sync_keywords}
_OF_READER: dict[str, Names] = {"SitemapReader": lambda: ReaderOptions.__annotations__}


class SitemapReader:
    """Reads sites. One reader may read several, one after the other or at once; it owns their connections.

    `scope` is protocol, host, domain or any. `probe` says when well-known paths are tried: auto (where robots.txt
    names no sitemap), always, never. `allow_private` permits private, loopback and link-local addresses.
    `obey_robots=False` fetches what robots.txt forbids. `record` is a folder, or a file named .warc or .warc.gz, that
    every answer is written to, to be read again as a target. An own `session` needs guarded_connector(); an own
    `fetcher` replaces the network altogether. `extras`: elements that no field is for come out too, in
    UrlRecord.extras. `feed_fallback` reads feeds that the streaming parser gets nothing from. UsageError for values
    that cannot be.

    `headers`, and `auth` ("user:password", or a pair) for basic authentication, go to the registrable domain of the
    target alone, and never over http where the target is https; a User-Agent goes everywhere. `user:password@` in a
    target goes to its very host. `netrc=True` takes logins from the file that $NETRC names or from ~/.netrc, or
    `netrc` names the file: each goes to its host, over https, or over http where the target is that host on http.
    `cacert` is a PEM file of certificates that are trusted in place of the system's; `insecure=True` looks at none.
    """

    @checked_keywords(elsewhere=_OF_METHODS)
    def __init__(
        self,
        *,
        user_agent: str = USER_AGENT,
        headers: Mapping[str, str] | Iterable[tuple[str, str]] = (),
        scope: ScopeMode = "protocol",
        probe: Probe = "auto",
        obey_robots: bool = True,
        allow_private: bool = False,
        auth: str | tuple[str, str] | None = None,
        netrc: bool | str | Path | Logins = False,
        proxy: str | None = None,
        cacert: str | Path | None = None,
        insecure: bool = False,
        concurrency: int = 16,
        per_host: int = 4,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        session: aiohttp.ClientSession | None = None,
        fetcher: Fetcher | None = None,
        extras: bool = False,
        feed_fallback: FeedFallback | None = feedparser_fallback,
        record: str | Path | None = None,
    ) -> None:
        one_of("scope", scope, SCOPE_MODES)
        one_of("probe", probe, PROBES)
        if record == "":  # as of a shell's variable that is not set: it would be the folder one is in
            raise UsageError("record is the name of a folder or a WARC file, and empty; leave it out, or name one")
        at_least_one(concurrency=concurrency, per_host=per_host, tries=checked_limits(limits).tries)
        if fetcher is not None:
            _check_fetcher(fetcher)
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
            limits=limits,
            allow_private=allow_private,
            proxy=proxy,
            cacert=cacert,
            insecure=insecure,
            session=session,
        )
        if insecure:
            _TLS_LOG.warning("TLS certificates are not verified (insecure=True)")
        self._headers = make_headers(headers, auth, read_netrc(netrc))
        self._fetcher: Fetcher = fetcher or self._network
        self._extras = extras
        self._fallback = feed_fallback
        self._record = Path(record) if record is not None else None

    async def __aenter__(self) -> Self:
        await self._network.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections; a session of your own stays open."""
        await self._network.close()

    @checked_keywords(elsewhere=_OF_READER)
    def urls(
        self,
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
    ) -> AsyncUrlStream:
        """Every URL of a site, a document or a recording, as it is read.

        Which URLs: `since` and `until` are dates, datetimes, ages (timedelta, "7d") or text; a lastmod matches if the
        period that it states overlaps; `undated` URLs are kept or dropped. `include` and `exclude` are regular
        expressions (one or several) that are searched for in the URL. `unique` gives each URL once, however many
        listings it has; a Seen does so over all streams that share it.

        Which sitemaps: `since` also skips those that their index calls older, and `trust_lastmod` says when. With
        "auto" up to three of them are read first; where a URL of one is newer than the index says, or has no lastmod
        and undated URLs are kept, none of that index is skipped (D05). "always" skips them at once, "never" none of
        them. `summary.pruned["since"]` counts those that were skipped, `summary.checked` those that were read for it.
        `follow` decides on the children of an index, as a function of the SitemapRef or as regular expressions of which
        one must be found in its URL; sitemaps that `no_follow` finds are never read, also if robots.txt names them.

        `on_outcome` hears of each document as it ends, `on_item` of everything that is not a URL, `on_progress` how far
        the reading is. What one of them raises ends the reading, and reaches whoever iterates as it is.
        `show_progress` shows a bar: a widget in a notebook, a line on a terminal, elsewhere nothing.
        """
        filters = (since, until, undated, trust_lastmod, include, exclude, follow, no_follow, unique)
        return AsyncUrlStream(self.walk(target, Asked(*filters, on_outcome, on_item, on_progress, show_progress)))

    @checked_keywords(elsewhere=_OF_READER)
    def changes(
        self,
        target: str | Path | Target,
        *,
        state: State | str | Path,
        trust_lastmod: Trust = "auto",
        full: bool = False,
        dry_run: bool = False,
        on: On = "any",
        accept_removals: bool = False,
        include: Pattern | Iterable[Pattern] | None = None,
        exclude: Pattern | Iterable[Pattern] | None = None,
        follow: Callable[[SitemapRef], bool] | Pattern | Iterable[Pattern] | None = None,
        no_follow: Pattern | Iterable[Pattern] | None = None,
        on_outcome: Callable[[Outcome], None] | None = None,
        on_item: Callable[[Item], None] | None = None,
        on_document: Callable[[StoredDocument], None] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        show_progress: bool = False,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> AsyncChangeStream:
        """What is new, updated and removed since the last time, by what `state` remembers of it.

        `state` is the name of a file, which is made if there is none, or an open State. A document that the site says
        is unchanged is not read: it is asked for under conditions (ETag, Last-Modified), and not even that where
        `trust_lastmod` is "always" and its index states the same lastmod as before, or "auto" and the index has proved
        honest; "never" always asks. `full` reads all anew. `dry_run` leaves the state as it is. `on="lastmod"` calls a
        URL updated only if its lastmod is another.

        A URL that is new in a run is reported once, by the first listing that is read; a newer one in the same run
        changes the state alone. A URL that moves to another sitemap is no change. One is removed when no document lists
        it any more and all of them were read whole, or are unchanged; never for having left a feed or a news sitemap.
        More than 1,000 that are more than half are held back, with an X01, unless `accept_removals`. A sitemap that is
        not found counts as gone a day later, or when an index that was read whole does not list it.

        `include`, `exclude`, `follow` and `no_follow` are as in urls(), and the same each time, as is the reader's
        `scope`: others need `full`. `on_document` hears how each document is stored, with what its dates are worth. The
        `clock` tells the time, aware. Other functions are as in urls().

        A change is delivered when the next one is asked for; what was not is found again next time. StateError, at
        once, for a file that cannot be used.
        """
        from ..state.sync import SyncPlan  # here: reading alone needs no database
        from .streams import AsyncChangeStream

        asked = Asked(
            include=include,
            exclude=exclude,
            follow=follow,
            no_follow=no_follow,
            on_outcome=on_outcome,
            on_item=on_item,
            on_progress=on_progress,
            show_progress=show_progress,
        )
        plan = SyncPlan(trust_lastmod, full, dry_run, on, accept_removals, clock)
        return AsyncChangeStream(self.change_walk(target, asked, state, plan, on_document))

    @checked_keywords(elsewhere=_OF_READER)
    async def discover(
        self, target: str | Path | Target, *, on_item: Callable[[Item], None] | None = None
    ) -> list[Candidate]:
        """Where the target's sitemaps are, and why that is known; reads no more of each than its beginning.

        What robots.txt names or the target itself is always listed; well-known paths only if they hold a sitemap or,
        as robots.txt itself, if the host refused them: with the status, and a `problem`.
        `on_item` hears of the problems and the outcomes.
        """
        run = self._run(find_target(target), peek=True, descend=False)
        async with aclosing(batches_of(run)) as batches:
            async for batch in batches:
                for item in batch:
                    if on_item and not isinstance(item, UrlGroup):  # nobody asked for any
                        on_item(item)
        return [candidate for site in run.frontier.sites for candidate in site.candidates]

    def walk(
        self,
        target: str | Path | Target,
        asked: Asked,
        *,
        as_lines: LineOptions | None = None,
        as_entries: bool = False,
        workers: WorkerPool | None = None,
        frontier: Callable[[Sequence[Seed], Plan], Frontier] = Frontier,
        settled: Mapping[str, str] | None = None,
    ) -> Walk:
        """What a stream is made of; `settled` documents (URL -> format) are not asked for again: see Memory."""
        plan = asked.plan(datetime.now(UTC))
        found = find_target(target)
        run = self._run(
            found,
            as_lines=as_lines,
            as_entries=as_entries,
            workers=workers,
            frontier=frontier,
            cache=DocumentCache(settled=settled or {}),
            **plan,
        )
        return Walk(found.name, run, asked.ledger(), asked.hears(asked.on_progress), _bar(asked))

    def change_walk(
        self,
        target: str | Path | Target,
        asked: Asked,
        state: State | str | Path,
        plan: SyncPlan,
        on_document: Callable[[StoredDocument], None] | None,
        *,
        site: str | None = None,
        workers: WorkerPool | None = None,
    ) -> ChangeWalk:
        """What a stream of changes is made of; the state is open from here on."""
        from ..state.state import site_name
        from ..state.sync import StateSync
        from .streams import ChangeWalk

        check_plan(plan)
        found = find_target(target)
        wanted = asked.plan(plan.clock())
        following = StateSync(state, site_name(found.seeds), self.followed(asked), plan)
        try:
            # What is recorded is to be whole, so nothing is asked for under conditions.
            memory = following.memory(knows_documents=self._record is None)
            run = self._run(found, as_entries=True, workers=workers, cache=memory, **wanted)
        except BaseException:
            following.close()
            raise
        return ChangeWalk(
            found.name,
            run,
            asked.ledger(),
            asked.hears(asked.on_progress),
            _bar(asked),
            following=following,
            on_document=asked.hears(on_document),
            site=site,
        )

    def followed(self, asked: Asked) -> dict[str, Any]:
        """What a state is good for, as JSON can hold it: by other settings nothing could be compared with it."""
        return {"scope": self._plan.scope, "extras": self._extras, **asked.settings()}

    def _run(
        self,
        target: Target,
        *,
        peek: bool = False,
        as_lines: LineOptions | None = None,
        as_entries: bool = False,
        workers: WorkerPool | None = None,
        frontier: Callable[[Sequence[Seed], Plan], Frontier] = Frontier,
        **changes: Any,
    ) -> Crawl:
        plan = attrs.evolve(self._plan, is_recording=target.replay is not None, **changes)
        fetcher = target.replay or self._fetcher
        if self._record is not None:
            fetcher = recorder(fetcher, self._record, target)
        return Crawl(
            frontier(target.seeds, plan),
            fetcher,
            extras=self._extras,
            feed_fallback=self._fallback,
            sniff_only=peek,
            polite=target.replay is None,
            as_lines=as_lines,
            as_entries=as_entries,
            workers=workers,
            reported=target.told,
            headers=None if target.replay else RequestHeaders(self._headers, target.seeds),
        )


def _check_fetcher(fetcher: object) -> None:
    """UsageError for what cannot fetch."""
    if isinstance(fetcher, type):
        raise UsageError(f"fetcher is an object, and not a class: give fetcher={fetcher.__name__}(…)")
    if not callable(getattr(fetcher, "fetch", None)):
        needed = "a method fetch(url, headers), an async context manager that gives a Response: see sr.fetch.Fetcher"
        raise UsageError(f"a fetcher has {needed}; this {type(fetcher).__name__} has none")


def _bar(asked: Asked) -> ProgressBar | None:
    return ProgressBar() if asked.show_progress else None


def check_plan(plan: SyncPlan) -> None:
    """UsageError for what no run can do."""
    one_of("trust_lastmod", plan.trust_lastmod, get_args(Trust))
    one_of("on", plan.on, COMPARED)


def at_least_one(**numbers: int | None) -> None:
    """UsageError for what is none; None is what nobody gave."""
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise UsageError(f"{name} must be 1 or more, not {number}")
