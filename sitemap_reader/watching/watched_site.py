"""WatchedSite: what a watch knows of one site: its documents in the schedule, its failures, its status.

Times are seconds since 1970, UTC.

SiteStatus and others: what a running watch reports of itself, as JSON for the server.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from heapq import nlargest, nsmallest
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any, Final, Literal, get_args
from zlib import crc32

import attrs

from ..client.summary import count_of
from ..frontier.host_queue import MAX_RETRY_AFTER_SECONDS
from ..model.errors import UsageError, masked, printable
from ..parser.content.sniff import FEEDS, Format
from ..parser.normalise.dates import TIMED
from ..parser.normalise.urls import is_robots_txt
from ..serialize.jsonl import stamp
from .rates import ChangeRate, SignalRecord, prior_for, prior_of_dates

if TYPE_CHECKING:
    from ..client.targets import Target
    from ..model.problems import Problem
    from ..model.records import SitemapRef
    from ..state.documents import StoredDocument
    from .schedule import Schedule
    from .visit import Finding, Visit


SiteOrder = Literal["site", "next_visit", "last_visit", "last_change", "changes", "faults"]
ORDERS: tuple[SiteOrder, ...] = get_args(SiteOrder)
MAX_SITES = 1_000  # of one answer


@attrs.frozen
class Fault:
    """A problem of the last visit."""

    code: str
    message: str


@attrs.frozen
class SiteStatus:
    """One watched site; times are in UTC."""

    site: str
    documents: int = 0
    urls: int = 0
    next_visit: datetime | None = None
    last_visit: datetime | None = None
    last_change: datetime | None = None
    new: int = 0  # of the last 24 hours, as the next four
    updated: int = 0
    removed: int = 0
    first_reading: int = 0  # URLs of documents that were read for the first time, as in WatchedChange; none is in `new`
    requests: int = 0
    failing_since: datetime | None = None  # when the visits began to fail
    backoff_until: datetime | None = None  # no request before
    visiting_since: datetime | None = None  # None: no visit is under way
    pings_held_until: datetime | None = None  # when the next ping brings a visit, if not at once
    pings_held_because: str | None = None
    faults: tuple[Fault, ...] = ()  # newest first, and few


@attrs.frozen
class SiteVisit:
    """A visit of a site that has ended: its requests, and the URLs that changed since the visit before."""

    site: str
    requests: int
    new: int
    updated: int
    removed: int
    first_reading: int  # URLs of documents that were read for the first time; none is in `new`
    documents: int = 0  # that the watch knows of the site
    failures: int = 0  # visits in a row that failed; 0 if this one did not
    cause: str | None = None  # why it failed


@attrs.frozen
class SiteQuery:
    """Which sites to report: `limit` of them from `offset` on, of those whose name has `contains`, in an order.

    The newest or largest come first, but the soonest of `next_visit`, and of `faults` the failing sites; `reverse`
    turns any order round. UsageError for an unknown order, or numbers out of range.
    """

    order: SiteOrder = "site"
    reverse: bool = False
    contains: str = ""
    only_faults: bool = False
    offset: int = 0
    limit: int = 100

    def __attrs_post_init__(self) -> None:
        if self.order not in ORDERS:
            raise UsageError(f"order {self.order!r} is unknown: give one of {', '.join(ORDERS)}")
        if not (self.offset >= 0 and 1 <= self.limit <= MAX_SITES):
            raise UsageError(f"give an offset of at least 0, and a limit from 1 to {MAX_SITES:,}")


@attrs.frozen
class SitePage:
    """The sites that a SiteQuery selects."""

    sites: tuple[SiteStatus, ...]
    total: int  # of all pages


# Ascending; a missing time is last.
_KEYS: Mapping[SiteOrder, Callable[[SiteStatus], Any]] = {
    "site": lambda status: (),
    "next_visit": lambda status: _by_time(status.next_visit),
    "last_visit": lambda status: _by_time(status.last_visit, -1),
    "last_change": lambda status: _by_time(status.last_change, -1),
    "changes": lambda status: -(status.new + status.updated + status.removed),
    "faults": lambda status: (status.failing_since is None, -len(status.faults)),
}


def select_sites(statuses: Iterable[SiteStatus], query: SiteQuery) -> SitePage:
    text = query.contains.casefold()
    found = [
        status
        for status in statuses
        if text in status.site.casefold() and (status.faults or status.failing_since or not query.only_faults)
    ]
    key = _KEYS[query.order]
    best = nlargest if query.reverse else nsmallest  # without sorting all of a million
    page = best(query.offset + query.limit, found, key=lambda status: (key(status), status.site))
    return SitePage(tuple(page[query.offset :]), len(found))


def _by_time(moment: datetime | None, sign: int = 1) -> tuple[bool, float]:
    return moment is None, sign * moment.timestamp() if moment else 0.0


@attrs.frozen
class SinkStatus:
    """How far a sink is behind the log."""

    name: str  # without secrets, and in a Health without a folder
    lag_changes: int = 0
    lag_seconds: float = 0.0  # since the oldest of these changes was found
    fault: str | None = None  # why the last delivery failed
    delivered: int = 0  # changes, since the start
    failures: int = 0
    dead_letters: int = 0  # rejected entries that were skipped


@attrs.frozen
class Totals:
    """Numbers over all sites."""

    sites: int = 0
    documents: int = 0
    urls: int = 0
    failing: int = 0  # sites
    not_visited: int = 0  # sites that no visit has come to yet
    budget_per_hour: float | None = None
    requests_last_hour: int = 0
    new: int = 0  # of the last 24 hours, as the next three
    updated: int = 0
    removed: int = 0
    first_reading: int = 0  # as in SiteStatus
    sinks: tuple[SinkStatus, ...] = ()
    faults: tuple[str, ...] = ()  # why the watch does not work


@attrs.frozen
class Counters:
    """Counts since the start of the process, by a few fixed labels."""

    requests: Counter[str] = attrs.field(factory=Counter, converter=Counter)  # by status class: 2xx, 304, …, failed
    visits: Counter[str] = attrs.field(factory=Counter, converter=Counter)  # changed, unchanged, failed
    changes: Counter[str] = attrs.field(factory=Counter, converter=Counter)  # new, updated, removed, first_reading


@attrs.frozen
class Health:
    """Whether the watch works, for anyone: without paths. `faults` say why not; Totals have the details."""

    faults: tuple[str, ...] = ()
    last_visit: datetime | None = None
    sinks: tuple[SinkStatus, ...] = ()


def json_object(value: Any) -> dict[str, Any]:
    """An attrs object of this module as JSON object: times as in records, texts printable and without logins."""
    return {name: _json_value(each) for name, each in attrs.asdict(value, recurse=False).items()}


def _json_value(value: Any) -> Any:
    if isinstance(value, str):
        return masked(printable(value))
    if isinstance(value, tuple):
        return [_json_value(each) for each in value]
    if attrs.has(type(value)):
        return json_object(value)
    return stamp(value) if hasattr(value, "isoformat") else value


BACKOFF_SECONDS: Final = 300.0
MAX_BACKOFF_SECONDS: Final = 24 * 3600.0
_ROBOTS_SECONDS: Final = 24 * 3600.0  # RFC 9309 2.4: a robots.txt may be used for a day
_MAX_FAULTS: Final = 20
_MAX_FAILURES: Final = 1_000_000
_DATED: Final = FEEDS | {"news"}  # their entries are listed as they are published
_MAX_PAUSE_SECONDS: Final = MAX_RETRY_AFTER_SECONDS  # also of a backoff with its jitter, and a Crawl-delay
# The fields of WatchedSite that are stored.
_STORED: Final = ("added_at", "visited_at", "changed_at", "failing_since", "failures", "paused_until", "robots_at")


@attrs.define(eq=False)
class _Document:
    """A document of the site in the schedule."""

    url: str
    format: str | None
    complete: bool
    listed: float | None = None  # what its index stated when it was last looked at, or signalled since
    entries: int = 0
    was_rescoped: bool = False  # requested as its scope has changed; no second time until robots.txt is read again


@attrs.define(eq=False)
class WatchedSite:
    """A site, whose documents are those in `schedule` with the keys (name, URL)."""

    name: str  # in the state
    target: Target
    schedule: Schedule = attrs.field(repr=False)
    # sites that share it share one budget, and are visited in turn
    domain: str = attrs.field(default=attrs.Factory(lambda self: self.target.domain, takes_self=True))
    documents: dict[str, _Document] = attrs.field(factory=dict, repr=False)
    added_at: float | None = None  # by a ping; None: it is one of the targets
    visited_at: float | None = None
    changed_at: float | None = None
    failing_since: float | None = None
    failures: int = 0
    paused_until: float = 0.0
    host_paused_until: float = 0.0  # without the backoff, which is its own: other sites of the domain may be visited
    robots_at: float = 0.0  # when robots.txt and the well-known paths were last looked at
    refreshes: bool = False  # the next visit requests robots.txt anew
    was_pinged: bool = False
    left: set[str] = attrs.field(factory=set, repr=False)  # what a visit had no time for: the next one is for that
    hung: set[str] = attrs.field(factory=set, repr=False)  # requested when the time was over, and not read since
    pinged_meanwhile: set[str] = attrs.field(factory=set, repr=False)  # documents, during a visit
    visiting_since: float | None = None
    timer: int = -1  # the number of its timer in the watcher
    faults: dict[str, list[Problem]] = attrs.field(factory=dict, repr=False)
    error: str | None = None
    day: DayCounts = attrs.field(factory=lambda: DayCounts(), repr=False)

    @property
    def urls(self) -> int:
        """The number of URLs that its sitemaps list, each as often as it is listed."""
        return sum(document.entries for document in self.documents.values())

    @property
    def next_robots(self) -> float:
        """When the site is visited even if no document is due: to look for new sitemaps."""
        due = self.robots_at + self._robots_seconds if self.robots_at and not self.refreshes else 0.0
        return max(due, self.paused_until)

    def robots_since(self, now: datetime) -> datetime:
        """The time from which a stored robots.txt may be used."""
        return now if self.refreshes else now - timedelta(seconds=self._robots_seconds)

    @property
    def _robots_seconds(self) -> float:
        """From 18 to 24 hours, by the name of the site: else all sites of a new watch would be due at once each day."""
        return _ROBOTS_SECONDS * (0.75 + 0.25 * (crc32(self.name.encode("utf-8", "surrogatepass")) / 2**32))

    def key(self, url: str) -> tuple[str, str]:
        return self.name, url

    def ping(self, url: str, now: float) -> None:
        """Takes a ping: its document is due at once, unless too many of those of the site were wrong."""
        self.was_pinged = True
        if self.left:
            self.left.add(url)
        self.schedule.ping(self.key(url), now, self._pings)

    def take_pings(self, now: float) -> None:
        """Takes the pings that came during a visit, which may have requested their documents before."""
        while self.pinged_meanwhile:
            self.ping(self.pinged_meanwhile.pop(), now)

    @property
    def _pings(self) -> tuple[str, str]:
        """The source in the schedule of its pings: those of another site of the domain say nothing of it."""
        return "ping", self.name

    def load(
        self, values: Mapping[str, Any], documents: Iterable[tuple[StoredDocument, Mapping[str, Any]]], now: float
    ) -> None:
        """Continues with stored values; those of a wrong type are ignored."""
        # Times in the future, as of a clock that was wrong, count as `now`: else no visit would be made until then.
        for name in _STORED:
            value = values.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
                latest = _MAX_FAILURES if name == "failures" else now
                if name == "paused_until":
                    latest += _MAX_PAUSE_SECONDS
                setattr(self, name, type(getattr(self, name) or 0.0)(min(value, latest)))
        if "pings" in values:
            self.was_pinged = True
            self.schedule.set_source(self._pings, SignalRecord.from_json(values["pings"]))
        for stored, own in documents:
            rate = ChangeRate.from_json(own.get("rate"), prior_for(stored.format or ""))
            looked_at = -inf if stored.looked_at is None else min(stored.looked_at.timestamp(), now)
            listed = None if stored.lastmod is None else stored.lastmod.timestamp()
            document = _Document(stored.url, stored.format, stored.complete, listed, stored.entries)
            self._add(document, rate, looked_at, _index_of(stored.parents))
            if stored.format == Format.INDEX:
                self.schedule.set_source(self.key(stored.url), SignalRecord.from_json(own.get("signals")))
        self.postpone()

    def _add(self, document: _Document, rate: ChangeRate, looked_at: float, parent: str) -> None:
        self.documents[document.url] = document
        source = self.key(parent) if parent else None
        self.schedule.add(self.key(document.url), self.domain, rate, looked_at, source=source)

    def learn(self, visit: Visit, signals: Signals, due: Collection[str], now: float) -> dict[str, dict[str, Any]]:
        """Takes the result of a visit whose end_visit() says so; returns the values to store, by document."""
        changed: dict[str, dict[str, Any]] = {}
        for url, finding in visit.findings.items():
            is_new = url not in self.documents
            if is_new:
                self._add_found(url, finding, visit, signals, now)
            elif finding.was_requested or url in due:
                self._look(self.documents[url], finding, signals, now)
            if is_new or finding.was_requested:
                changed[url] = {"rate": self.schedule.rate(self.key(url)).to_json()}
                if self.documents[url].format == Format.INDEX:
                    changed[url]["signals"] = self.schedule.source(self.key(url)).to_json()
        left = (signals.wanted | {*due}) - visit.findings.keys() if visit.is_over_time else set()
        for url in (visit.postponed | left) - self.documents.keys() - visit.findings.keys():
            listing = signals.listings.get(url)
            if listing is not None:  # never requested, as the budget did not permit it; else a well-known path
                document = _Document(url, None, complete=False, listed=_lastmod(listing))
                self._add(document, ChangeRate(prior_for("")), -inf, _parent(listing))
        if visit.has_ended:
            for url in self.documents.keys() - visit.findings.keys() - visit.postponed:  # no longer listed
                del self.documents[url]
                self.schedule.remove(self.key(url))
        # The next visit is for those that are left; a request without an answer gets one more such visit, and no third.
        hung, known = left & signals.requested, self.documents.keys()
        self.left = (left - (hung & self.hung)) & known
        self.hung = ((self.hung - visit.findings.keys()) | hung) & known
        return changed

    def _add_found(self, url: str, finding: Finding, visit: Visit, signals: Signals, now: float) -> None:
        found, listing = finding.document, signals.listings.get(url)
        kind = "news" if finding.is_news else found.format or ""
        listed = _lastmod(listing)
        by_dates = prior_of_dates(finding.moments, now) if kind in _DATED else None
        prior = by_dates or prior_for(
            kind,
            is_news=finding.is_news,
            max_age_seconds=visit.fetcher.max_ages.get(url) if visit.fetcher else None,
            age_seconds=None if listed is None else now - listed,
        )
        looked_at = now if finding.was_requested else -inf
        document = _Document(url, found.format, found.complete, listed, found.entries)
        self._add(document, ChangeRate(prior), looked_at, _parent(listing))

    def _look(self, document: _Document, finding: Finding, signals: Signals, now: float) -> None:
        found, key = finding.document, self.key(document.url)
        document.format, document.complete, document.entries = found.format, found.complete, found.entries
        if document.url in signals.listings:
            document.listed = _lastmod(signals.listings[document.url])
        if found.format == Format.INDEX:
            moments = signals.of_index.get(document.url, [])
            known = [at for at in moments if at is not None]
            all_known = len(known) == len(moments)
            self.schedule.looked(
                key,
                now,
                changed=bool(moments),
                moments=known if all_known else (),
                count=None if all_known else float(len(moments)),
            )
        else:
            self.schedule.looked(key, now, changed=finding.changes > 0, moments=finding.moments)

    def end_visit(self, visit: Visit, now: float, jitter: float) -> bool:
        """Decides when the next one may begin; whether to learn() from this one, also if its time was over."""
        fetcher = visit.fetcher
        self.visited_at, self.error = now, visit.error
        self.left = self.left if visit.is_over_time else set()
        self._note_faults(visit)
        changes = visit.changes
        if changes["new"] or changes["updated"] or changes["removed"]:
            self.changed_at = now
        self.day.add(now, (*changes.values(), fetcher.requests if fetcher else 0))
        all_failed = fetcher and fetcher.requests and fetcher.failures >= fetcher.requests
        is_lost = visit.error is not None or visit.is_blocked or all_failed
        failed = is_lost or visit.is_over_time
        retry_after = fetcher.retry_after if fetcher else 0.0
        last = max(fetcher.last_request.values(), default=0.0) if fetcher else 0.0
        until = max(now + retry_after if retry_after else 0.0, last + (visit.crawl_delay or 0.0))
        latest = now + _MAX_PAUSE_SECONDS
        self.host_paused_until = min(until, latest)
        if failed:
            self.failing_since = self.failing_since or now
            self.failures = 1 if not is_lost and visit.has_read else self.failures + 1
            backoff = min(BACKOFF_SECONDS * 2.0 ** min(self.failures - 1, 20), MAX_BACKOFF_SECONDS)
            until = max(until, now + backoff * (0.75 + jitter / 2))
        elif fetcher and fetcher.requests:
            self.failing_since, self.failures = None, 0
        if not failed and visit.has_ended and fetcher:
            if fetcher.stored_at is not None:  # of a visit after which the process was killed
                self.robots_at = max(self.robots_at, min(fetcher.stored_at, now))
            else:
                self.robots_at, self.refreshes = now, False
                for document in self.documents.values():
                    document.was_rescoped = False
        self.paused_until = min(until, latest)
        return not is_lost and (visit.is_over_time or (visit.has_ended and not self.failures))

    def postpone(self) -> None:
        for url in self.documents:
            self.schedule.postpone(self.key(url), self.paused_until)

    def _note_faults(self, visit: Visit) -> None:
        for url, finding in visit.findings.items():
            if finding.was_requested:
                self.faults.pop(url, None)
        for url in [url for url in self.faults if url not in self.documents and visit.has_ended]:
            del self.faults[url]
        for problem in visit.faults:
            self.faults.setdefault(problem.sitemap or "", []).append(problem)
        while len(self.faults) > _MAX_FAULTS:
            del self.faults[next(iter(self.faults))]

    def values(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in _STORED if getattr(self, name)}
        return values | ({"pings": self.schedule.source(self._pings).to_json()} if self.was_pinged else {})

    def next_visit(self, now: float, waiting: Mapping[str, float]) -> datetime | None:
        """When the site will be visited, as far as is known now; `waiting` is that of the schedule."""
        dues = [self.schedule.due_at(self.key(url), now) for url in self.documents]
        allowed_at = max(self.paused_until, self.schedule.available_at(self.domain, now), waiting.get(self.domain, now))
        return _moment(max(min([*dues, self.next_robots]), allowed_at))

    def status(self, now: float) -> SiteStatus:
        new, updated, removed, first_reading, requests = self.day.totals(now)
        newest = chain.from_iterable(reversed(self.faults.values()))
        held_until = self.schedule.pings_held_until(self._pings, now) if self.was_pinged else None
        held_because = None
        if held_until is not None:
            record = self.schedule.source(self._pings)
            wrong, pings = record.signals - record.right, count_of(round(record.signals), "ping")
            held_because = f"nothing had changed after {wrong:.0f} of the last {pings}"
        return SiteStatus(
            self.target.name,
            len(self.documents),
            self.urls,
            last_visit=_moment(self.visited_at),
            last_change=_moment(self.changed_at),
            new=new,
            updated=updated,
            removed=removed,
            first_reading=first_reading,
            requests=requests,
            failing_since=_moment(self.failing_since),
            backoff_until=_moment(self.paused_until) if self.failures and self.paused_until > now else None,
            visiting_since=_moment(self.visiting_since),
            pings_held_until=_moment(held_until),
            pings_held_because=held_because,
            faults=(
                *([Fault("error", self.error)] if self.error else []),
                *(Fault(each.code, each.message) for each in newest),
            ),
        )


@attrs.define
class DayCounts:
    """Counts of the last 24 hours: those of Visit.changes, and requests; 48 bytes for each hour with a visit."""

    _rows: array[int] = attrs.field(factory=lambda: array("q"))  # hour since 1970, and its five counts

    def add(self, now: float, counts: tuple[int, ...]) -> None:
        hour = int(now // 3600)
        while self._rows and self._rows[0] <= hour - 24:
            del self._rows[:6]
        if not self._rows or self._rows[-6] != hour:
            self._rows.extend((hour, 0, 0, 0, 0, 0))
        for place, number in enumerate(counts, -5):
            self._rows[place] += number

    def totals(self, now: float) -> tuple[int, ...]:
        first = int(now // 3600) - 24
        recent = [start for start in range(0, len(self._rows), 6) if self._rows[start] > first]
        return tuple(sum(self._rows[start + place] for start in recent) for place in range(1, 6))


@attrs.define
class Signals:
    """Decides which documents a visit requests, and collects what indexes signal meanwhile."""

    site: WatchedSite
    due: Collection[str]
    now: float
    probes: bool  # documents that nothing lists are requested, too
    listings: dict[str, SitemapRef] = attrs.field(factory=dict)  # of each document
    # index -> times of the changes that it signalled; None: it states none
    of_index: dict[str, list[float | None]] = attrs.field(factory=dict)
    wanted: set[str] = attrs.field(factory=set)  # documents that are to be requested
    requested: set[str] = attrs.field(factory=set)  # URLs

    def is_due(self, url: str, listing: SitemapRef | None, is_known: bool) -> bool:
        """Whether to request a document; reserves each request that is not among the `due` ones."""
        is_due = self._is_due(url, listing, is_known)
        if is_due:
            self.wanted.add(url)
        return is_due

    def _is_due(self, url: str, listing: SitemapRef | None, is_known: bool) -> bool:
        if listing is not None:
            self.listings[url] = listing
        document = self.site.documents.get(url)
        if document is None:
            self._signal(listing, _lastmod(listing))
            return (listing is not None or self.probes) and self._take()
        self._compare(document, listing)
        if self.site.left and url not in self.site.left and (is_known or url in self.site.hung):
            return False  # it would take the time of those again; others that are not known may lead to them
        if url in self.due:
            return True
        if document.complete and not is_known and not document.was_rescoped:
            document.was_rescoped = self._take()
            return document.was_rescoped
        return self.site.schedule.is_due(self.site.key(url), self.now) and self._take()

    def on_request(self, url: str) -> None:
        """Counts a request: of a document, robots.txt, a redirect, another try."""
        self.requested.add(url)
        self.site.schedule.requests_made(self.site.domain, 1, self.now)

    def _take(self) -> bool:
        return self.site.schedule.take(self.site.domain, self.now)

    def _compare(self, document: _Document, listing: SitemapRef | None) -> None:
        lastmod = _lastmod(listing)
        if listing is None or lastmod is None or lastmod == document.listed:
            return
        was_listed, document.listed = document.listed is not None, lastmod
        if not was_listed or not listing.sitemap:
            return
        at = lastmod if listing.lastmod_precision in TIMED else None
        source = self.site.key(listing.sitemap)
        if self.site.schedule.signal(self.site.key(document.url), self.now, source, at):
            self._signal(listing, at)

    def _signal(self, listing: SitemapRef | None, at: float | None) -> None:
        if listing is not None and listing.sitemap:
            self.of_index.setdefault(listing.sitemap, []).append(at)


def _lastmod(listing: SitemapRef | None) -> float | None:
    return listing.lastmod.timestamp() if listing is not None and listing.lastmod is not None else None


def _parent(listing: SitemapRef | None) -> str:
    """The index that lists a document; empty if robots.txt does, or nothing."""
    return _index_of([listing.sitemap] if listing is not None and listing.sitemap else [])


def _index_of(parents: Sequence[str]) -> str:
    return next((parent for parent in parents if not is_robots_txt(parent)), "")


def _moment(seconds: float | None) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None
